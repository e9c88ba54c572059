/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_log.h"
#include "config.h"
#include "failing_os.h"
#include "record.h"
#include "status.h"
#include "temp_dir.h"

typedef struct recording {
  char *folder, *path;
  capture_log capture;
} recording;

static int setup(void **state)
{
  static recording made;
  void *folder = NULL;
  if (temp_dir_setup(&folder) != 0) {
    return -1;
  }
  made.folder = folder;
  made.path = temp_dir_join(folder, "configurations");
  capture_log_init(&made.capture, SWA_JIT_LOG_DEBUG);
  *state = &made;
  return 0;
}

static int teardown(void **state)
{
  recording *made = *state;
  void *folder = made->folder;
  free(made->path);
  capture_log_finish(&made->capture);
  return temp_dir_teardown(&folder);
}

static void add(recording *made, const sj_os *os, uint32_t window_size)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.window_size = window_size;
  sj_record_add(os, &made->capture.log, made->path, &config);
}

/* The window sizes on the file's lines, each read back as a configuration. Returns the number of lines. */
static unsigned read_back(const recording *made, uint32_t *sizes_out, unsigned most)
{
  char *text = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(made->path, &text, &count));
  unsigned num_lines = 0;
  for (char *line = text; *line != '\0';) {
    char *newline = strchr(line, '\n');
    assert_non_null(newline);
    *newline = '\0';
    swa_jit_config config;
    assert_int_equal(sj_config_from_text(line, &config), SWA_JIT_OK);
    assert_true(num_lines < most);
    sizes_out[num_lines++] = config.window_size;
    line = newline + 1;
  }
  free(text);
  return num_lines;
}

static void add_writes_lines_that_read_back(void **state)
{
  recording *made = *state;
  for (uint32_t i = 1; i <= 3; i++) {
    add(made, sj_os_system(), 100 * i);
  }
  uint32_t sizes[8];
  assert_int_equal(read_back(made, sizes, 8), 3);
  assert_int_equal(sizes[0], 100);
  assert_int_equal(sizes[2], 300);
  assert_int_equal(capture_log_count(&made->capture, SWA_JIT_LOG_WARN), 0);
}

static void add_from_many_processes_keeps_lines_whole(void **state)
{
  recording *made = *state;
  pid_t children[4];
  for (uint32_t i = 0; i < 4; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      for (uint32_t k = 0; k < 50; k++) {
        add(made, sj_os_system(), 1000 * i + k + 1);
      }
      _exit(0);
    }
  }
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
  }
  uint32_t sizes[256];
  bool seen[4000] = {false};
  assert_int_equal(read_back(made, sizes, 256), 200);
  for (unsigned i = 0; i < 200; i++) {
    assert_false(seen[sizes[i]]);
    seen[sizes[i]] = true;
  }
}

static void add_with_each_call_failing_is_one_warning(void **state)
{
  recording *made = *state;
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    capture_log_clear(&made->capture);
    add(made, failing_os_start((failing_os_plan){.nth = nth, .error = ENOSPC}), 128);
    has_failed = failing_os_has_failed();
    assert_int_equal(capture_log_count(&made->capture, SWA_JIT_LOG_WARN), has_failed);
    assert_true(!has_failed || capture_log_has(&made->capture, strerror(ENOSPC)));
    assert_true(!has_failed || capture_log_has(&made->capture, made->path));
  }
}

static void add_with_interrupted_calls_writes_one_line(void **state)
{
  recording *made = *state;
  add(made, failing_os_start((failing_os_plan){.call = FAILING_OS_OPENAT, .nth = 1, .error = EINTR}), 1);
  add(made, failing_os_start((failing_os_plan){.call = FAILING_OS_WRITE, .nth = 1, .error = EINTR}), 2);
  uint32_t sizes[4];
  assert_int_equal(read_back(made, sizes, 4), 2);
  assert_int_equal(capture_log_count(&made->capture, SWA_JIT_LOG_WARN), 0);
}

static void add_of_cut_line_says_so(void **state)
{
  recording *made = *state;
  add(made, failing_os_start((failing_os_plan){.most_bytes = 5}), 128);
  assert_true(capture_log_has(&made->capture, "cut"));
}

static void add_to_what_cannot_be_written_is_a_warning(void **state)
{
  recording *made = *state;
  assert_int_equal(mkfifo(made->path, 0600), 0); /* nobody reads it: a plain open would wait for ever */
  add(made, sj_os_system(), 128);
  assert_int_equal(capture_log_count(&made->capture, SWA_JIT_LOG_WARN), 1);
  assert_int_equal(unlink(made->path), 0);
  assert_int_equal(mkdir(made->path, 0700), 0);
  add(made, sj_os_system(), 128);
  assert_int_equal(capture_log_count(&made->capture, SWA_JIT_LOG_WARN), 2);
}

static void add_of_nameless_configuration_leaves_the_message(void **state)
{
  recording *made = *state;
  sj_fail(SWA_JIT_INVALID, "the caller's own");
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.kv_format = 99;
  sj_record_add(sj_os_system(), &made->capture.log, made->path, &config);
  assert_int_equal(capture_log_count(&made->capture, SWA_JIT_LOG_WARN), 1);
  assert_string_equal(sj_message(), "the caller's own");
  assert_int_not_equal(access(made->path, F_OK), 0);
}

static void add_beyond_the_file_size_limit_lives(void **state)
{
  recording *made = *state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct rlimit limit = {.rlim_cur = 10, .rlim_max = 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    add(made, sj_os_system(), 128);
    _exit(capture_log_has(&made->capture, "ulimit -f") ? 0 : 1);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(add_writes_lines_that_read_back),
      TEST(add_from_many_processes_keeps_lines_whole),
      TEST(add_with_each_call_failing_is_one_warning),
      TEST(add_with_interrupted_calls_writes_one_line),
      TEST(add_of_cut_line_says_so),
      TEST(add_to_what_cannot_be_written_is_a_warning),
      TEST(add_of_nameless_configuration_leaves_the_message),
      TEST(add_beyond_the_file_size_limit_lives),
  };
  return SJ_TEST_RUN(tests);
}
