/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_log.h"
#include "options.h"
#include "status.h"

static const char *const variables[] = {
    "SWA_JIT_CACHE_DIR",    "XDG_CACHE_HOME",      "HOME",
    "SWA_JIT_NVRTC",        "SWA_JIT_CUDA",        "SWA_JIT_DUMP_DIR",
    "SWA_JIT_RECORD",       "VIRTUAL_ENV",         "SWA_JIT_NO_COMPILE",
    "SWA_JIT_READ_ONLY",    "SWA_JIT_CACHE_PATH",  "SWA_JIT_FOREIGN_OWNER",
    "SWA_JIT_GROUP_SHARED", "SWA_JIT_CACHE_LIMIT", "SWA_JIT_KEEP_PTX",
    "SWA_JIT_USE_PTX",
};

static capture_log capture;

/* Each test begins with none of the variables, and a log. */
static int set_up(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
    unsetenv(variables[i]);
  }
  capture_log_init(&capture, SWA_JIT_LOG_DEBUG);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  capture_log_finish(&capture);
  return 0;
}

static swa_jit_options given_with_log(void)
{
  swa_jit_options given = SWA_JIT_OPTIONS_INIT;
  given.log = capture_log_write;
  given.log_data = &capture;
  return given;
}

/* The store's folder for the present environment and NULL options. */
static void expect_cache_dir(const char *expected)
{
  sj_options options;
  assert_int_equal(sj_options_make(NULL, &options), SWA_JIT_OK);
  if (expected == NULL) {
    assert_null(options.cache_dir);
  } else {
    assert_non_null(options.cache_dir);
    assert_string_equal(options.cache_dir, expected);
  }
  assert_false(options.cache_dir_from_call);
  sj_options_finish(&options);
}

static void options_null_give_the_defaults(void **state)
{
  (void)state;
  setenv("HOME", "/home/someone", 1);
  sj_options options;
  assert_int_equal(sj_options_make(NULL, &options), SWA_JIT_OK);
  assert_null(options.log.write);
  assert_int_equal(options.log.level, SWA_JIT_LOG_INFO);
  assert_int_equal(options.flags, 0);
  assert_int_equal(options.lock_wait_ms, 60000);
  assert_string_equal(options.cache_dir, "/home/someone/.cache/swa-jit");
  assert_false(options.cache_dir_from_call);
  assert_null(options.nvrtc_path);
  assert_null(options.cuda_path);
  assert_null(options.dump_dir);
  assert_null(options.record_path);
  assert_null(options.virtual_env);
  sj_options_finish(&options);
  assert_null(options.cache_dir);
}

static void options_fields_win_over_the_environment(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
    setenv(variables[i], "/from/environment", 1);
  }
  setenv("SWA_JIT_NO_COMPILE", "0", 1);
  setenv("SWA_JIT_READ_ONLY", "0", 1);
  setenv("SWA_JIT_FOREIGN_OWNER", "0", 1);
  setenv("SWA_JIT_GROUP_SHARED", "0", 1);
  setenv("SWA_JIT_KEEP_PTX", "0", 1);
  setenv("SWA_JIT_USE_PTX", "0", 1);
  setenv("SWA_JIT_CACHE_LIMIT", "1G", 1);
  swa_jit_options given = given_with_log();
  given.flags = SWA_JIT_FLAG_SAME_COMPILER;
  given.log_level = SWA_JIT_LOG_WARN;
  given.lock_wait_ms = 5;
  given.cache_dir = "relative/cache";
  given.cache_path = "/a:/b";
  given.nvrtc_path = "/call/nvrtc";
  given.cuda_path = "/call/cuda";
  given.dump_dir = "/call/dump";
  given.record_path = "/call/record";
  sj_options options;
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_ptr_equal(options.log.write, capture_log_write);
  assert_ptr_equal(options.log.data, &capture);
  assert_int_equal(options.log.level, SWA_JIT_LOG_WARN);
  assert_int_equal(options.flags, SWA_JIT_FLAG_SAME_COMPILER);
  assert_int_equal(options.lock_wait_ms, 5);
  assert_string_equal(options.cache_dir, "relative/cache");
  assert_true(options.cache_dir_from_call);
  assert_string_equal(options.cache_path, "/a:/b");
  assert_true(options.cache_path_from_call);
  assert_string_equal(options.nvrtc_path, "/call/nvrtc");
  assert_string_equal(options.cuda_path, "/call/cuda");
  assert_string_equal(options.dump_dir, "/call/dump");
  assert_string_equal(options.record_path, "/call/record");
  assert_string_equal(options.virtual_env, "/from/environment");
  sj_options_finish(&options);
}

static void options_unset_take_the_environment(void **state)
{
  (void)state;
  setenv("SWA_JIT_CACHE_DIR", "/e/cache", 1);
  setenv("SWA_JIT_CACHE_PATH", "/e/layer", 1);
  setenv("SWA_JIT_NVRTC", "/e/nvrtc", 1);
  setenv("SWA_JIT_CUDA", "/e/cuda", 1);
  setenv("SWA_JIT_DUMP_DIR", "/e/dump", 1);
  setenv("SWA_JIT_RECORD", "/e/record", 1);
  setenv("VIRTUAL_ENV", "/e/venv", 1);
  sj_options options;
  assert_int_equal(sj_options_make(NULL, &options), SWA_JIT_OK);
  assert_string_equal(options.cache_dir, "/e/cache");
  assert_false(options.cache_dir_from_call);
  assert_string_equal(options.cache_path, "/e/layer");
  assert_false(options.cache_path_from_call);
  assert_string_equal(options.nvrtc_path, "/e/nvrtc");
  assert_string_equal(options.cuda_path, "/e/cuda");
  assert_string_equal(options.dump_dir, "/e/dump");
  assert_string_equal(options.record_path, "/e/record");
  assert_string_equal(options.virtual_env, "/e/venv");
  setenv("SWA_JIT_NVRTC", "/later", 1);
  assert_string_equal(options.nvrtc_path, "/e/nvrtc"); /* a copy: what is set later does not count */
  sj_options_finish(&options);
}

static void variable_empty_counts_as_unset(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
    setenv(variables[i], "", 1);
  }
  swa_jit_options given = given_with_log();
  sj_options options;
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_null(options.cache_dir);
  assert_null(options.nvrtc_path);
  assert_null(options.cuda_path);
  assert_null(options.dump_dir);
  assert_null(options.record_path);
  assert_null(options.virtual_env);
  assert_int_equal(options.flags, 0);
  sj_options_finish(&options);
}

static void cache_dir_is_the_first_usable_of_three(void **state)
{
  (void)state;
  setenv("HOME", "/h", 1);
  expect_cache_dir("/h/.cache/swa-jit");
  setenv("HOME", "/", 1);
  expect_cache_dir("/.cache/swa-jit");
  setenv("XDG_CACHE_HOME", "/x", 1);
  expect_cache_dir("/x/swa-jit");
  setenv("SWA_JIT_CACHE_DIR", "/s", 1);
  expect_cache_dir("/s");
  setenv("SWA_JIT_CACHE_DIR", "here", 1); /* its owner says so: a relative one is taken */
  expect_cache_dir("here");
}

static void cache_dir_of_a_relative_xdg_cache_home_is_ignored(void **state)
{
  (void)state;
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/h", 1);
  expect_cache_dir("/h/.cache/swa-jit");
}

static void cache_dir_without_a_home_is_memory_only_with_one_warning(void **state)
{
  (void)state;
  static const char *const homes[] = {NULL, "", "relative", "~"};
  for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
    homes[i] == NULL ? unsetenv("HOME") : setenv("HOME", homes[i], 1);
    capture_log_clear(&capture);
    swa_jit_options given = given_with_log();
    sj_options options;
    assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
    assert_null(options.cache_dir);
    assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_WARN), 1);
    assert_true(capture_log_has(&capture, "SWA_JIT_CACHE_DIR"));
    sj_options_finish(&options);
  }
}

static void cache_dir_with_no_store_is_none_without_a_warning(void **state)
{
  (void)state;
  setenv("SWA_JIT_CACHE_DIR", "/s", 1);
  swa_jit_options given = given_with_log();
  given.flags = SWA_JIT_FLAG_NO_STORE;
  given.cache_dir = "/call";
  sj_options options;
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_null(options.cache_dir);
  assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_WARN), 0);
  sj_options_finish(&options);
}

static void switches_set_their_flag_when_on(void **state)
{
  (void)state;
  static const struct {
    const char *value;
    bool is_on;
    unsigned num_warnings;
  } rows[] = {{"1", true, 0}, {"0", false, 0}, {"", false, 0}, {"yes", true, 1}, {"00", true, 1}};
  static const struct {
    const char *name;
    uint32_t flag;
    bool is_permission; /* what is neither 1 nor 0 must not grant it */
  } switches[] = {{"SWA_JIT_NO_COMPILE", SWA_JIT_FLAG_NO_COMPILE, false},
                  {"SWA_JIT_READ_ONLY", SWA_JIT_FLAG_READ_ONLY, false},
                  {"SWA_JIT_KEEP_PTX", SWA_JIT_FLAG_KEEP_PTX, false},
                  {"SWA_JIT_USE_PTX", SWA_JIT_FLAG_USE_PTX, true},
                  {"SWA_JIT_FOREIGN_OWNER", SWA_JIT_FLAG_FOREIGN_OWNER, true},
                  {"SWA_JIT_GROUP_SHARED", SWA_JIT_FLAG_GROUP_SHARED, true}};
  setenv("HOME", "/h", 1);
  for (size_t s = 0; s < sizeof switches / sizeof switches[0]; s++) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      setenv(switches[s].name, rows[i].value, 1);
      capture_log_clear(&capture);
      swa_jit_options given = given_with_log();
      given.flags = SWA_JIT_FLAG_SAME_COMPILER;
      sj_options options;
      assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
      bool is_on = rows[i].is_on && !(switches[s].is_permission && rows[i].num_warnings > 0);
      assert_int_equal(options.flags, SWA_JIT_FLAG_SAME_COMPILER | (is_on ? switches[s].flag : 0));
      assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_WARN), rows[i].num_warnings);
      sj_options_finish(&options);
    }
    unsetenv(switches[s].name);
  }
}

static void switch_off_does_not_clear_the_callers_flag(void **state)
{
  (void)state;
  setenv("SWA_JIT_READ_ONLY", "0", 1);
  swa_jit_options given = SWA_JIT_OPTIONS_INIT;
  given.flags = SWA_JIT_FLAG_READ_ONLY;
  sj_options options;
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_int_equal(options.flags, SWA_JIT_FLAG_READ_ONLY);
  sj_options_finish(&options);
}

/* Of what is opened later: the working folder may be another then. */
static void options_relative_paths_become_absolute(void **state)
{
  (void)state;
  static char longest[4090];
  setenv("HOME", "/h", 1);
  setenv("VIRTUAL_ENV", "venv", 1);
  swa_jit_options given = given_with_log();
  given.nvrtc_path = "./libnvrtc.so";
  given.cuda_path = "libcuda.so.1"; /* the loader's to find */
  given.dump_dir = "dump";
  given.record_path = "/absolute/record";
  sj_options options;
  int before = open(".", O_RDONLY | O_DIRECTORY);
  assert_int_equal(chdir("/"), 0);
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_string_equal(options.nvrtc_path, "/./libnvrtc.so");
  assert_string_equal(options.cuda_path, "libcuda.so.1");
  assert_string_equal(options.dump_dir, "/dump");
  assert_string_equal(options.record_path, "/absolute/record");
  assert_string_equal(options.virtual_env, "/venv");
  sj_options_finish(&options);
  /* What would be too long for a system call stays as it is. */
  memset(longest, 'x', sizeof longest - 1);
  given.record_path = longest;
  assert_int_equal(chdir("/usr/lib"), 0);
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_string_equal(options.record_path, longest);
  assert_string_equal(options.dump_dir, "/usr/lib/dump");
  sj_options_finish(&options);
  assert_int_equal(fchdir(before), 0);
  close(before);
}

static void options_wrong_are_invalid_and_output_untouched(void **state)
{
  (void)state;
  static const swa_jit_options base = SWA_JIT_OPTIONS_INIT;
  swa_jit_options rows[9];
  for (size_t i = 0; i < 9; i++) {
    rows[i] = base;
  }
  rows[0].flags = 0x10000;
  rows[1].flags = 0x80000001u;
  rows[2].log_level = SWA_JIT_LOG_DEBUG + 1;
  rows[3].cache_dir = "";
  rows[4].nvrtc_path = "";
  rows[5].cuda_path = "";
  rows[6].dump_dir = "";
  rows[7].record_path = "";
  rows[8].size = 8;
  static const char *const messages[] = {
      "swa_jit_options.flags is 0x10000: this library knows the bits 0x3ff; clear the others",
      "swa_jit_options.flags is 0x80000001: this library knows the bits 0x3ff; clear the others",
      "swa_jit_options.log_level is 5: use 0 (the default) to 4",
      "swa_jit_options.cache_dir is \"\": give a path, or NULL for the default",
      "swa_jit_options.nvrtc_path is \"\": give a path, or NULL for the default",
      "swa_jit_options.cuda_path is \"\": give a path, or NULL for the default",
      "swa_jit_options.dump_dir is \"\": give a path, or NULL for the default",
      "swa_jit_options.record_path is \"\": give a path, or NULL for the default",
      "swa_jit_options.size is 8: at least 72 is needed; fill the struct with its initialiser",
  };
  for (size_t i = 0; i < 9; i++) {
    sj_options options;
    memset(&options, 0x5a, sizeof options);
    assert_int_equal(sj_options_make(&rows[i], &options), SWA_JIT_INVALID);
    assert_string_equal(sj_message(), messages[i]);
    assert_int_equal(options.flags, 0x5a5a5a5a);
  }
}

static void options_of_a_newer_caller_follow_the_rule(void **state)
{
  (void)state;
  struct {
    swa_jit_options options;
    uint64_t newer;
  } given = {SWA_JIT_OPTIONS_INIT, 0};
  given.options.size = sizeof given;
  sj_options options;
  assert_int_equal(sj_options_make(&given.options, &options), SWA_JIT_OK);
  sj_options_finish(&options);
  given.newer = 1;
  assert_int_equal(sj_options_make(&given.options, &options), SWA_JIT_NEWER);
}

static void options_macro_sets_every_field_to_its_default(void **state)
{
  (void)state;
  const swa_jit_options macro = SWA_JIT_OPTIONS_INIT;
  assert_int_equal(macro.size, sizeof macro);
  assert_int_equal(macro.flags, 0);
  assert_int_equal(macro.log_level, SWA_JIT_LOG_DEFAULT);
  assert_int_equal(macro.lock_wait_ms, 0);
  assert_null(macro.log);
  assert_null(macro.log_data);
  assert_null(macro.cache_dir);
  assert_null(macro.nvrtc_path);
  assert_null(macro.cuda_path);
  assert_null(macro.dump_dir);
  assert_null(macro.record_path);
  assert_null(macro.cache_path);
  assert_true(macro.cache_limit_bytes == 0);
}

static void cache_limit_is_read_with_its_unit(void **state)
{
  (void)state;
  static const struct {
    const char *value;
    uint64_t bytes;
    unsigned num_warnings;
  } rows[] = {
      {"", UINT64_C(4) << 30, 0},
      {"1", 1, 0},
      {"300K", 300 << 10, 0},
      {"20M", 20 << 20, 0},
      {"7G", UINT64_C(7) << 30, 0},
      {"2T", UINT64_C(2) << 40, 0},
      {"18446744073709551615T", UINT64_MAX, 0},
      {"none", UINT64_MAX, 0},
      {"0", UINT64_C(4) << 30, 1},
      {"G", UINT64_C(4) << 30, 1},
      {"5GB", UINT64_C(4) << 30, 1},
      {"-1", UINT64_C(4) << 30, 1},
      {"99999999999999999999", UINT64_C(4) << 30, 1},
  };
  setenv("HOME", "/h", 1);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    setenv("SWA_JIT_CACHE_LIMIT", rows[i].value, 1);
    capture_log_clear(&capture);
    swa_jit_options given = given_with_log();
    sj_options options;
    assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
    assert_true(options.cache_limit_bytes == rows[i].bytes);
    assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_WARN), rows[i].num_warnings);
    sj_options_finish(&options);
    given.cache_limit_bytes = 12345;
    assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
    assert_true(options.cache_limit_bytes == 12345);
    sj_options_finish(&options);
  }
}

static void cache_path_empty_in_the_call_means_none(void **state)
{
  (void)state;
  setenv("HOME", "/h", 1);
  setenv("SWA_JIT_CACHE_PATH", "/layer", 1);
  swa_jit_options given = given_with_log();
  sj_options options;
  given.cache_path = "";
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_null(options.cache_path);
  sj_options_finish(&options);
  given.cache_path = NULL;
  given.flags = SWA_JIT_FLAG_NO_STORE;
  assert_int_equal(sj_options_make(&given, &options), SWA_JIT_OK);
  assert_null(options.cache_path);
  sj_options_finish(&options);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  static const struct CMUnitTest tests[] = {
      TEST(options_null_give_the_defaults),
      TEST(options_fields_win_over_the_environment),
      TEST(options_unset_take_the_environment),
      TEST(options_relative_paths_become_absolute),
      TEST(variable_empty_counts_as_unset),
      TEST(cache_dir_is_the_first_usable_of_three),
      TEST(cache_dir_of_a_relative_xdg_cache_home_is_ignored),
      TEST(cache_dir_without_a_home_is_memory_only_with_one_warning),
      TEST(cache_dir_with_no_store_is_none_without_a_warning),
      TEST(switches_set_their_flag_when_on),
      TEST(switch_off_does_not_clear_the_callers_flag),
      TEST(options_wrong_are_invalid_and_output_untouched),
      TEST(options_of_a_newer_caller_follow_the_rule),
      TEST(options_macro_sets_every_field_to_its_default),
      TEST(cache_path_empty_in_the_call_means_none),
      TEST(cache_limit_is_read_with_its_unit),
  };
  return SJ_TEST_RUN(tests);
}
