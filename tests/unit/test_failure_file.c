/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "failure_file.h"

static const sj_failure_view sample = {
    .nvrtc_version = 13000,
    .key_text = "format:1=1\n",
    .key_bytes = 11,
    .message = "NVRTC 13.0 refused the source",
    .message_bytes = 29,
    .log = "x(1): error: a reason\n\n1 error\n",
    .log_bytes = 31,
};

static sj_text encode(const sj_failure_view *view)
{
  sj_text text = {0};
  sj_failure_file_encode(view, &text);
  assert_false(text.failed);
  return text;
}

static void decode_of_encoded_gives_every_part_back(void **state)
{
  (void)state;
  sj_text text = encode(&sample);
  sj_failure_view view;
  assert_true(sj_failure_file_decode(text.data, text.length, &view));
  assert_int_equal(view.nvrtc_version, 13000);
  assert_int_equal(view.key_bytes, sample.key_bytes);
  assert_memory_equal(view.key_text, sample.key_text, sample.key_bytes);
  assert_int_equal(view.message_bytes, sample.message_bytes);
  assert_memory_equal(view.message, sample.message, sample.message_bytes);
  assert_int_equal(view.log_bytes, sample.log_bytes);
  assert_memory_equal(view.log, sample.log, sample.log_bytes);
  assert_ptr_equal(strstr(text.data, "swa-jit failed compile 1\nnvrtc_version=13000\n"), text.data);
  sj_text_finish(&text);
}

static void decode_of_each_cut_or_changed_file_refuses_it(void **state)
{
  (void)state;
  sj_text text = encode(&sample);
  sj_failure_view view = {.nvrtc_version = 4711};
  for (size_t i = 0; i < text.length; i++) {
    char *copy = malloc(i + 1); /* of exactly that size, for the address sanitizer */
    assert_non_null(copy);
    memcpy(copy, text.data, i);
    assert_false(sj_failure_file_decode(copy, i, &view));
    free(copy);
    text.data[i] ^= 0x04;
    assert_false(sj_failure_file_decode(text.data, text.length, &view));
    text.data[i] ^= 0x04;
  }
  assert_int_equal(view.nvrtc_version, 4711);
  assert_true(sj_failure_file_decode(text.data, text.length, &view));
  sj_text_finish(&text);
}

/* A checksum that is right does not make lengths right. */
static void decode_of_lengths_that_do_not_add_up_refuses_them(void **state)
{
  (void)state;
  static const char *const heads[] = {
      "key_bytes=12\nmessage_bytes=29\nlog_bytes=31\n", "key_bytes=11\nmessage_bytes=29\nlog_bytes=30\n",
      "key_bytes=18446744073709551615\nmessage_bytes=29\nlog_bytes=31\n",
      "key_bytes=\nmessage_bytes=29\nlog_bytes=31\n", "key_bytes=11\nlog_bytes=31\nmessage_bytes=29\n"};
  for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
    sj_text text = {0};
    sj_failure_view view;
    uint8_t digest[SJ_DIGEST_BYTES];
    char hex[SJ_DIGEST_HEX_SIZE];
    sj_text_add_format(&text, "swa-jit failed compile 1\nnvrtc_version=13000\n%s%s\n%s\n%s\n", heads[i],
                       sample.key_text, sample.message, sample.log);
    sj_digest_make(text.data, text.length, digest);
    sj_digest_hex(digest, hex);
    sj_text_add_format(&text, "%s\n", hex);
    assert_false(sj_failure_file_decode(text.data, text.length, &view));
    sj_text_finish(&text);
  }
}

static void encode_cuts_an_endless_log(void **state)
{
  (void)state;
  sj_failure_view view = sample;
  char *log = calloc(1, SJ_FAILURE_FILE_MAX_LOG + 100);
  assert_non_null(log);
  memset(log, 'x', SJ_FAILURE_FILE_MAX_LOG + 99);
  view.log = log;
  view.log_bytes = SJ_FAILURE_FILE_MAX_LOG + 99;
  sj_text text = encode(&view);
  assert_true(sj_failure_file_decode(text.data, text.length, &view));
  assert_int_equal(view.log_bytes, SJ_FAILURE_FILE_MAX_LOG);
  sj_text_finish(&text);
  free(log);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decode_of_encoded_gives_every_part_back),
      cmocka_unit_test(decode_of_each_cut_or_changed_file_refuses_it),
      cmocka_unit_test(decode_of_lengths_that_do_not_add_up_refuses_them),
      cmocka_unit_test(encode_cuts_an_endless_log),
  };
  return SJ_TEST_RUN(tests);
}
