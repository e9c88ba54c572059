/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "capture_log.h"
#include "status.h"

static int setup(void **state)
{
  static capture_log capture;
  capture_log_init(&capture, SWA_JIT_LOG_INFO);
  *state = &capture;
  return 0;
}

static int teardown(void **state)
{
  capture_log_finish(*state);
  return 0;
}

static void line_at_each_level_is_written_up_to_the_chosen(void **state)
{
  capture_log *capture = *state;
  for (uint32_t level = SWA_JIT_LOG_ERROR; level <= SWA_JIT_LOG_DEBUG; level++) {
    sj_log_line(&capture->log, level, "level %u", level);
  }
  assert_string_equal(capture->text.data, "level 1\nlevel 2\nlevel 3\n");
  assert_int_equal(capture_log_count(capture, SWA_JIT_LOG_WARN), 1);
  assert_int_equal(capture_log_count(capture, SWA_JIT_LOG_DEBUG), 0);
}

static void line_without_a_callback_is_silent(void **state)
{
  (void)state;
  sj_log silent = {.level = SWA_JIT_LOG_DEBUG};
  sj_log_line(NULL, SWA_JIT_LOG_ERROR, "nothing");
  sj_log_line(&silent, SWA_JIT_LOG_ERROR, "nothing");
  sj_log_source(NULL, "line\n", 1, 1);
}

static void line_with_newlines_becomes_several(void **state)
{
  capture_log *capture = *state;
  sj_log_line(&capture->log, SWA_JIT_LOG_WARN, "one\ntwo\n");
  assert_int_equal(capture_log_count(capture, SWA_JIT_LOG_WARN), 2);
  assert_string_equal(capture->text.data, "one\ntwo\n");
}

static void line_too_long_is_cut(void **state)
{
  capture_log *capture = *state;
  char text[3 * SJ_MESSAGE_SIZE];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  sj_log_line(&capture->log, SWA_JIT_LOG_WARN, "%s", text);
  assert_int_equal(capture_log_count(capture, SWA_JIT_LOG_WARN), 1);
  assert_in_range(capture->text.length, SJ_MESSAGE_SIZE, 2 * SJ_MESSAGE_SIZE);
}

static void source_shows_the_line_and_its_neighbours(void **state)
{
  capture_log *capture = *state;
  sj_log_source(&capture->log, "a\nb\n\nd\ne\nf", 4, 1);
  assert_string_equal(capture->text.data, "     3 | \n>    4 | d\n     5 | e\n");
  assert_int_equal(capture_log_count(capture, SWA_JIT_LOG_ERROR), 3);
}

static void source_at_its_ends_shows_what_there_is(void **state)
{
  capture_log *capture = *state;
  sj_log_source(&capture->log, "a\nb\nc", 1, 1);
  assert_string_equal(capture->text.data, ">    1 | a\n     2 | b\n");
  capture_log_clear(capture);
  sj_log_source(&capture->log, "a\nb\nc", 3, 1);
  assert_string_equal(capture->text.data, "     2 | b\n>    3 | c\n");
  capture_log_clear(capture);
  sj_log_source(&capture->log, "a\nb\nc", 90, 2);
  assert_null(capture->text.data);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(line_at_each_level_is_written_up_to_the_chosen),
      TEST(line_without_a_callback_is_silent),
      TEST(line_with_newlines_becomes_several),
      TEST(line_too_long_is_cut),
      TEST(source_shows_the_line_and_its_neighbours),
      TEST(source_at_its_ends_shows_what_there_is),
  };
  return SJ_TEST_RUN(tests);
}
