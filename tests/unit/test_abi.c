/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "abi.h"
#include "status.h"

enum { FIRST = 12, KNOWN = 16 };

/* A struct of that size whose bytes behind the size are zero, but the one at set_byte when it is not 0. */
static swa_jit_status check(uint32_t size, size_t set_byte)
{
  _Alignas(uint32_t) unsigned char bytes[64] = {0};
  memcpy(bytes, &size, sizeof size);
  if (set_byte != 0) {
    bytes[set_byte] = 1;
  }
  return sj_abi_check(bytes, FIRST, KNOWN, "swa_jit_thing");
}

static void size_of_each_kind_gives_the_rules_status(void **state)
{
  (void)state;
  static const struct {
    uint32_t size, set_byte;
    swa_jit_status expected;
  } rows[] = {
      {0, 0, SWA_JIT_INVALID},
      {4, 0, SWA_JIT_INVALID},
      {FIRST - 1, 0, SWA_JIT_INVALID},
      {FIRST, 0, SWA_JIT_OK},
      {FIRST, FIRST, SWA_JIT_OK}, /* a byte behind an older struct is not read */
      {FIRST + 1, 0, SWA_JIT_OK},
      {KNOWN, 0, SWA_JIT_OK},
      {KNOWN, KNOWN - 1, SWA_JIT_OK}, /* known fields may be set */
      {KNOWN, KNOWN, SWA_JIT_OK},     /* behind the struct */
      {KNOWN + 1, 0, SWA_JIT_OK},
      {KNOWN + 1, KNOWN, SWA_JIT_NEWER},
      {64, 0, SWA_JIT_OK},
      {64, KNOWN, SWA_JIT_NEWER},
      {64, 63, SWA_JIT_NEWER},
      {4097, 0, SWA_JIT_INVALID}, /* no struct is so large: nothing behind the 64 bytes may be read */
      {UINT32_MAX, 0, SWA_JIT_INVALID},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(check(rows[i].size, rows[i].set_byte), rows[i].expected);
  }
}

static void struct_null_is_invalid_and_named(void **state)
{
  (void)state;
  assert_int_equal(sj_abi_check(NULL, FIRST, KNOWN, "swa_jit_thing"), SWA_JIT_INVALID);
  assert_string_equal(sj_message(), "swa_jit_thing is NULL: pass a struct that its initialiser filled");
}

static void messages_say_value_limit_and_remedy(void **state)
{
  (void)state;
  assert_int_equal(check(8, 0), SWA_JIT_INVALID);
  assert_string_equal(sj_message(),
                      "swa_jit_thing.size is 8: at least 12 is needed; fill the struct with its initialiser");
  assert_int_equal(check(40, 20), SWA_JIT_NEWER);
  assert_string_equal(sj_message(), "swa_jit_thing.size is 40 and byte 20 is set: this library knows 16 bytes; update "
                                    "it, or leave the newer fields zero");
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(size_of_each_kind_gives_the_rules_status),
      cmocka_unit_test(struct_null_is_invalid_and_named),
      cmocka_unit_test(messages_say_value_limit_and_remedy),
  };
  return SJ_TEST_RUN(tests);
}
