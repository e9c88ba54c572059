/* SPDX-License-Identifier: Apache-2.0 */
#include "dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_log.h"
#include "failing_os.h"
#include "temp_dir.h"
#include "test_main.h"

static const sj_key key = {.file_name = "swa_decode-sm_100a-hd512-00ff.cubin"};

static void write_bytes_stand_under_the_entrys_name(void **state)
{
  char *path = temp_dir_join(*state, "swa_decode-sm_100a-hd512-00ff.ptx");
  char *bytes = NULL;
  size_t count = 0;
  sj_dump_write(sj_os_system(), NULL, *state, &key, ".ptx", "older and longer", 16);
  sj_dump_write(sj_os_system(), NULL, *state, &key, ".ptx", "text", 4);
  assert_true(temp_dir_read(path, &bytes, &count));
  assert_int_equal(count, 4);
  assert_memory_equal(bytes, "text", 4);
  assert_int_equal(temp_dir_count(*state, ""), 1);
  free(bytes);
  free(path);
}

static void write_without_folder_or_bytes_makes_nothing(void **state)
{
  const sj_os *os = failing_os_start((failing_os_plan){0});
  sj_dump_write(os, NULL, NULL, &key, ".ptx", "text", 4);
  sj_dump_write(os, NULL, *state, &key, ".ptx", NULL, 0);
  assert_int_equal(failing_os_count(FAILING_OS_ANY), 0);
}

static void write_each_call_failing_is_one_warning(void **state)
{
  static const failing_os_call calls[] = {FAILING_OS_OPENAT, FAILING_OS_WRITE};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    capture_log capture;
    capture_log_init(&capture, SWA_JIT_LOG_DEBUG);
    const sj_os *os = failing_os_start((failing_os_plan){.call = calls[i], .nth = 1, .error = ENOSPC});
    sj_dump_write(os, &capture.log, *state, &key, ".cu", "text", 4);
    assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_WARN), 1);
    assert_true(capture_log_has(&capture, "swa_decode-sm_100a-hd512-00ff.cu"));
    assert_true(capture_log_has(&capture, "No space left"));
    assert_int_equal(failing_os_count(FAILING_OS_CLOSE), calls[i] == FAILING_OS_WRITE);
    capture_log_finish(&capture);
  }
}

static void write_cut_short_and_interrupted_is_whole(void **state)
{
  char *path = temp_dir_join(*state, "swa_decode-sm_100a-hd512-00ff.log");
  char *bytes = NULL;
  size_t count = 0;
  const sj_os *os =
      failing_os_start((failing_os_plan){.call = FAILING_OS_WRITE, .nth = 2, .error = EINTR, .most_bytes = 3});
  sj_dump_write(os, NULL, *state, &key, ".log", "0123456789", 10);
  assert_true(temp_dir_read(path, &bytes, &count));
  assert_int_equal(count, 10);
  assert_memory_equal(bytes, "0123456789", 10);
  free(bytes);
  free(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(write_bytes_stand_under_the_entrys_name, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(write_without_folder_or_bytes_makes_nothing, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(write_each_call_failing_is_one_warning, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(write_cut_short_and_interrupted_is_whole, temp_dir_setup, temp_dir_teardown),
  };
  return SJ_TEST_RUN(tests);
}
