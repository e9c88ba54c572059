/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

static void add_to_empty_text_is_terminated(void **state)
{
  (void)state;
  sj_text text = {0};
  sj_text_add(&text, "");
  assert_non_null(text.data);
  assert_string_equal(text.data, "");
  assert_int_equal(text.length, 0);
  sj_text_finish(&text);
  assert_null(text.data);
}

static void add_many_grows_and_keeps_all(void **state)
{
  (void)state;
  sj_text text = {0};
  for (unsigned i = 0; i < 1000; i++) {
    sj_text_add_format(&text, "%03u", i);
    sj_text_add(&text, ",");
    assert_int_equal(text.length, 4 * (i + 1));
    assert_true(text.capacity > text.length);
    assert_int_equal(text.data[text.length], 0);
  }
  assert_memory_equal(text.data, "000,001,002,", 12);
  assert_string_equal(text.data + 3996, "999,");
  assert_false(text.failed);
  sj_text_finish(&text);
}

static void add_bytes_with_zeros_keeps_them(void **state)
{
  (void)state;
  sj_text text = {0};
  sj_text_add_bytes(&text, "a\0b", 3);
  sj_text_add_bytes(&text, NULL, 0);
  assert_int_equal(text.length, 3);
  assert_memory_equal(text.data, "a\0b", 4);
  sj_text_finish(&text);
}

static void add_format_of_each_length_is_whole(void **state)
{
  (void)state;
  for (int width = 0; width < 300; width++) {
    sj_text text = {0};
    sj_text_add(&text, "x");
    sj_text_add_format(&text, "%*d", width + 1, 7);
    assert_int_equal(text.length, width + 2);
    assert_int_equal(text.data[width + 1], '7');
    sj_text_finish(&text);
  }
}

static void add_too_much_fails_and_stays_failed(void **state)
{
  (void)state;
  sj_text text = {0};
  sj_text_add(&text, "kept");
  sj_text_add_bytes(&text, "x", SIZE_MAX - 2);
  assert_true(text.failed);
  sj_text_add(&text, "ignored");
  assert_int_equal(text.length, 4);
  assert_null(sj_text_take(&text));
  assert_null(text.data);
  assert_false(text.failed);
}

static void take_gives_the_buffer_away(void **state)
{
  (void)state;
  sj_text text = {0};
  assert_null(sj_text_take(&text));
  sj_text_add(&text, "abc");
  char *data = sj_text_take(&text);
  assert_string_equal(data, "abc");
  assert_null(text.data);
  assert_int_equal(text.length, 0);
  free(data);
}

static void read_u64_accepts_digits_only(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    bool ok;
    uint64_t value;
  } cases[] = {
      {"0", true, 0},
      {"007", true, 7},
      {"18446744073709551615", true, UINT64_MAX},
      {"18446744073709551616", false, 0},
      {"28446744073709551615", false, 0},
      {"99999999999999999999999999", false, 0},
      {"", false, 0},
      {"-1", false, 0},
      {"+1", false, 0},
      {" 1", false, 0},
      {"1 ", false, 0},
      {"1.0", false, 0},
      {"0x10", false, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t value = 4711;
    assert_int_equal(sj_text_read_u64(cases[i].text, strlen(cases[i].text), &value), cases[i].ok);
    assert_true(value == (cases[i].ok ? cases[i].value : 4711));
  }
}

static void read_u64_reads_no_further_than_length(void **state)
{
  (void)state;
  uint64_t value = 0;
  assert_true(sj_text_read_u64("1234", 2, &value));
  assert_int_equal(value, 12);
}

static void quote_of_any_bytes_is_short_and_printable(void **state)
{
  (void)state;
  char bytes[100], quoted[SJ_QUOTE_SIZE];
  sj_text_quote("a b~", 4, quoted);
  assert_string_equal(quoted, "a b~");
  sj_text_quote("a\nb\0\x7f\xff", 6, quoted);
  assert_string_equal(quoted, "a?b???");
  sj_text_quote(NULL, 0, quoted);
  assert_string_equal(quoted, "");
  memset(bytes, 'x', sizeof bytes);
  sj_text_quote(bytes, 48, quoted);
  assert_int_equal(strlen(quoted), 48);
  assert_int_equal(quoted[47], 'x');
  sj_text_quote(bytes, 49, quoted);
  assert_int_equal(strlen(quoted), SJ_QUOTE_SIZE - 1);
  assert_string_equal(quoted + 47, "x...");
}

static void path_shown_keeps_its_beginning_and_its_end(void **state)
{
  (void)state;
  char path[4001], shown[SJ_PATH_SIZE];
  assert_string_equal(sj_text_show_path("/a path/b", shown), "/a path/b");
  memset(path, 'x', sizeof path);
  path[SJ_PATH_SIZE - 1] = '\0';
  assert_string_equal(sj_text_show_path(path, shown), path);
  path[SJ_PATH_SIZE - 1] = 'x';
  memcpy(path, "/begin", 6);
  memcpy(path + sizeof path - 5, "/end", 5);
  assert_ptr_equal(sj_text_show_path(path, shown), shown);
  assert_int_equal(strlen(shown), SJ_PATH_SIZE - 1);
  assert_memory_equal(shown, "/begin", 6);
  assert_string_equal(shown + SJ_PATH_SIZE - 5, "/end");
  assert_non_null(strstr(shown, "x...x"));
}

/* Cut between two characters, of however many bytes. */
static void path_shown_has_whole_characters(void **state)
{
  (void)state;
  static const char word[] = "\xe6\x97\xa5"; /* three bytes */
  char path[3 * 1000 + 3], shown[SJ_PATH_SIZE];
  for (size_t shift = 0; shift < 3; shift++) {
    memset(path, '/', shift);
    for (size_t at = shift; at + 3 <= shift + 3 * 999; at += 3) {
      memcpy(path + at, word, 3);
    }
    path[shift + 3 * 999] = '\0';
    sj_text_show_path(path, shown);
    const char *dots = strstr(shown, "...");
    assert_non_null(dots);
    assert_int_equal((size_t)(dots - shown) % 3, shift);
    assert_int_equal(strlen(dots + 3) % 3, 0);
    assert_memory_equal(dots + 3, word, 3);
  }
}

static void copy_of_null_is_null(void **state)
{
  (void)state;
  assert_null(sj_text_copy(NULL));
  char *copy = sj_text_copy("text");
  assert_string_equal(copy, "text");
  free(copy);
}

static void text_behind_a_prefix_is_found_only_where_it_is(void **state)
{
  (void)state;
  assert_string_equal(sj_text_behind("libx.so: cannot open", "libx.so"), "cannot open");
  assert_string_equal(sj_text_behind("libx.so.1: cannot open", "libx.so"), "libx.so.1: cannot open");
  assert_string_equal(sj_text_behind("libx.so:cannot", "libx.so"), "libx.so:cannot");
  assert_string_equal(sj_text_behind("lib", "libx.so"), "lib");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(add_to_empty_text_is_terminated),
      cmocka_unit_test(add_many_grows_and_keeps_all),
      cmocka_unit_test(add_bytes_with_zeros_keeps_them),
      cmocka_unit_test(add_format_of_each_length_is_whole),
      cmocka_unit_test(add_too_much_fails_and_stays_failed),
      cmocka_unit_test(take_gives_the_buffer_away),
      cmocka_unit_test(read_u64_accepts_digits_only),
      cmocka_unit_test(read_u64_reads_no_further_than_length),
      cmocka_unit_test(quote_of_any_bytes_is_short_and_printable),
      cmocka_unit_test(text_behind_a_prefix_is_found_only_where_it_is),
      cmocka_unit_test(path_shown_keeps_its_beginning_and_its_end),
      cmocka_unit_test(path_shown_has_whole_characters),
      cmocka_unit_test(copy_of_null_is_null),
  };
  return SJ_TEST_RUN(tests);
}
