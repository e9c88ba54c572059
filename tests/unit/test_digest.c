/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "digest.h"

static void hex_of_known_bytes_is_the_published_value(void **state)
{
  (void)state;
  /* XXH3_128bits with seed 0: `xxhsum -H2` prints the same. */
  static const struct {
    const char *text, *hex;
  } cases[] = {
      {"", "99aa06d3014798d86001c324468d497f"},
      {"a", "a96faf705af16834e6c632b61e964e1f"},
      {"abc", "06b05ab6733a618578af5f94892f3950"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t bytes[SJ_DIGEST_BYTES];
    char hex[SJ_DIGEST_HEX_SIZE];
    sj_digest_make(cases[i].text, strlen(cases[i].text), bytes);
    sj_digest_hex(bytes, hex);
    assert_string_equal(hex, cases[i].hex);
  }
}

static void digest_of_any_changed_bit_differs(void **state)
{
  (void)state;
  uint8_t text[300];
  for (size_t i = 0; i < sizeof text; i++) {
    text[i] = (uint8_t)(i * 7);
  }
  uint8_t first[SJ_DIGEST_BYTES];
  sj_digest_make(text, sizeof text, first);
  for (size_t bit = 0; bit < 8 * sizeof text; bit++) {
    text[bit / 8] ^= (uint8_t)(1u << bit % 8);
    uint8_t other[SJ_DIGEST_BYTES];
    sj_digest_make(text, sizeof text, other);
    assert_memory_not_equal(first, other, SJ_DIGEST_BYTES);
    text[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
}

static void digest_depends_on_length(void **state)
{
  (void)state;
  static const uint8_t zeros[64];
  uint8_t previous[SJ_DIGEST_BYTES] = {0};
  for (size_t count = 0; count <= sizeof zeros; count++) {
    uint8_t bytes[SJ_DIGEST_BYTES];
    sj_digest_make(zeros, count, bytes);
    assert_memory_not_equal(previous, bytes, SJ_DIGEST_BYTES);
    memcpy(previous, bytes, sizeof previous);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hex_of_known_bytes_is_the_published_value),
      cmocka_unit_test(digest_of_any_changed_bit_differs),
      cmocka_unit_test(digest_depends_on_length),
  };
  return SJ_TEST_RUN(tests);
}
