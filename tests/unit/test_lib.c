/* SPDX-License-Identifier: Apache-2.0 */
#include "lib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_fixture.h"
#include "store_parts.h"
#include "test_main.h"

static void open_with_folder_makes_the_store(void **state)
{
  build_fixture fixture;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(access(fixture.cache_dir, F_OK), 0);
  assert_true(fixture.lib->store.dir_fd >= 0);
  assert_int_equal(fixture.lib->store_status, SWA_JIT_OK);
  assert_false(sj_lib_has_flag(fixture.lib, SWA_JIT_FLAG_READ_ONLY));
  build_fixture_close(&fixture);
}

static void open_opens_no_vendor_library(void **state)
{
  build_fixture fixture;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_null(fixture.lib->nvrtc);
  assert_int_equal(fixture.lib->has_cuda, 0);
  build_fixture_close(&fixture);
}

static void open_named_folder_that_is_a_file_fails_and_is_logged(void **state)
{
  char *path = temp_dir_join(*state, "file");
  capture_log capture;
  swa_jit_lib *lib = NULL;
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  assert_true(temp_dir_write(path, "x", 1));
  capture_log_init(&capture, SWA_JIT_LOG_DEBUG);
  options.cache_dir = path;
  options.log = capture_log_write;
  options.log_data = &capture;
  assert_int_equal(sj_lib_open(&options, sj_os_system(), &lib), SWA_JIT_STORE_ERROR);
  assert_null(lib);
  assert_non_null(strstr(sj_message(), path));
  assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_ERROR), 1);
  capture_log_finish(&capture);
  free(path);
}

static void open_default_folder_that_is_a_file_is_a_warning(void **state)
{
  char *path = temp_dir_join(*state, "file");
  build_fixture fixture;
  assert_true(temp_dir_write(path, "x", 1));
  assert_int_equal(setenv("SWA_JIT_CACHE_DIR", path, 1), 0);
  build_fixture_open_in(&fixture, NULL, 0, NULL, NULL);
  assert_int_equal(unsetenv("SWA_JIT_CACHE_DIR"), 0);
  assert_int_equal(fixture.lib->store.dir_fd, -1);
  assert_int_equal(fixture.lib->store_status, SWA_JIT_STORE_ERROR);
  assert_int_equal(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN), 1);
  build_fixture_close(&fixture);
  free(path);
}

static void open_without_any_folder_is_memory_only(void **state)
{
  (void)state;
  build_fixture fixture;
  build_fixture_open_in(&fixture, NULL, 0, NULL, NULL);
  assert_int_equal(fixture.lib->store.dir_fd, -1);
  assert_int_equal(fixture.lib->store_status, SWA_JIT_OK);
  build_fixture_close(&fixture);
}

/* HOME=/nonexistent is what a system says of users who shall have none; root could make it. */
static void open_with_a_home_that_does_not_exist_makes_nothing(void **state)
{
  char *home = temp_dir_join(*state, "home");
  build_fixture fixture;
  for (int is_there = 0; is_there < 2; is_there++) {
    assert_true(!is_there || mkdir(home, 0700) == 0);
    assert_int_equal(setenv("HOME", home, 1), 0);
    build_fixture_open_in(&fixture, NULL, 0, NULL, NULL);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(fixture.lib->store_status, is_there ? SWA_JIT_OK : SWA_JIT_STORE_ERROR);
    assert_int_equal(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN), !is_there);
    assert_int_equal(access(home, F_OK), is_there ? 0 : -1);
    if (!is_there) {
      assert_true(capture_log_has(&fixture.log, home));
      assert_int_equal(sj_lib_check_store(fixture.lib), SWA_JIT_STORE_ERROR);
      assert_int_equal(access(home, F_OK), -1);
    }
    build_fixture_close(&fixture);
  }
  free(home);
}

static void expect_info(const swa_jit_lib *lib, uint32_t state, const char *folder, const char *reason)
{
  const swa_jit_store_info *info = sj_lib_store_info(lib);
  assert_int_equal(info->size, sizeof *info);
  assert_int_equal(info->state, state);
  assert_string_equal(info->folder, folder);
  assert_non_null(strstr(info->reason, reason));
  assert_int_equal(info->reason[0] == '\0', reason[0] == '\0');
}

static void open_without_creating_makes_no_folder_and_is_no_trouble(void **state)
{
  static const uint32_t flags[] = {SWA_JIT_FLAG_NO_CREATE, SWA_JIT_FLAG_NO_CREATE | SWA_JIT_FLAG_READ_ONLY};
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    build_fixture fixture;
    build_fixture_open(&fixture, *state, flags[i], NULL);
    assert_int_equal(access(fixture.cache_dir, F_OK), -1);
    assert_int_equal(fixture.lib->store.dir_fd, -1);
    assert_int_equal(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN), 0);
    expect_info(fixture.lib, SWA_JIT_STORE_MISSING, fixture.cache_dir, "does not exist");
    assert_int_equal(sj_lib_check_store(fixture.lib), SWA_JIT_STORE_ERROR);
    assert_int_equal(access(fixture.cache_dir, F_OK), -1);
    build_fixture_close(&fixture);
  }
}

/* Nor is one that was there made again. */
static void folder_removed_is_not_made_again_without_creating(void **state)
{
  build_fixture fixture;
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_close(&fixture);
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_CREATE, NULL);
  expect_info(fixture.lib, SWA_JIT_STORE_OPEN, fixture.cache_dir, "");
  assert_int_equal(rmdir(fixture.cache_dir), 0);
  assert_false(sj_store_make_folder_again(&fixture.lib->store));
  assert_int_equal(access(fixture.cache_dir, F_OK), -1);
  build_fixture_close(&fixture);
}

static void info_tells_what_became_of_the_folder(void **state)
{
  char *path = temp_dir_join(*state, "file");
  build_fixture fixture;
  assert_true(temp_dir_write(path, "x", 1));
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_KEEP_PTX, NULL);
  expect_info(fixture.lib, SWA_JIT_STORE_OPEN, fixture.cache_dir, "");
  assert_int_equal(sj_lib_store_info(fixture.lib)->flags, SWA_JIT_FLAG_KEEP_PTX);
  assert_true(sj_lib_store_info(fixture.lib)->cache_limit_bytes == UINT64_C(4) << 30);
  build_fixture_close(&fixture);
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_STORE, NULL);
  expect_info(fixture.lib, SWA_JIT_STORE_NONE, "", "none is wanted");
  build_fixture_close(&fixture);
  assert_int_equal(setenv("SWA_JIT_CACHE_DIR", path, 1), 0);
  assert_int_equal(setenv("SWA_JIT_READ_ONLY", "1", 1), 0);
  build_fixture_open_in(&fixture, NULL, SWA_JIT_FLAG_NO_CREATE, NULL, NULL);
  expect_info(fixture.lib, SWA_JIT_STORE_REFUSED, path, "Not a directory");
  assert_int_equal(sj_lib_store_info(fixture.lib)->flags, SWA_JIT_FLAG_READ_ONLY | SWA_JIT_FLAG_NO_CREATE);
  assert_int_equal(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN), 1);
  build_fixture_close(&fixture);
  assert_int_equal(unlink(path), 0);
  build_fixture_open_in(&fixture, NULL, 0, NULL,
                        NULL); /* read-only by the environment: nothing is made, and it is told */
  expect_info(fixture.lib, SWA_JIT_STORE_MISSING, path, "does not exist");
  assert_int_equal(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN), 1);
  assert_int_equal(unsetenv("SWA_JIT_CACHE_DIR"), 0);
  assert_int_equal(unsetenv("SWA_JIT_READ_ONLY"), 0);
  build_fixture_close(&fixture);
  free(path);
}

static void check_store_of_a_folder_is_ok_and_leaves_nothing(void **state)
{
  build_fixture fixture;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_lib_check_store(fixture.lib), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ""), 0);
  build_fixture_close(&fixture);
}

static void check_store_without_any_says_why(void **state)
{
  char *path = temp_dir_join(*state, "file");
  build_fixture fixture;
  build_fixture_open_in(&fixture, NULL, SWA_JIT_FLAG_NO_STORE, NULL, NULL);
  assert_int_equal(sj_lib_check_store(fixture.lib), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), "clear SWA_JIT_FLAG_NO_STORE"));
  build_fixture_close(&fixture);
  build_fixture_open_in(&fixture, NULL, 0, NULL, NULL);
  assert_int_equal(sj_lib_check_store(fixture.lib), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), "set SWA_JIT_CACHE_DIR"));
  build_fixture_close(&fixture);
  assert_true(temp_dir_write(path, "x", 1));
  assert_int_equal(setenv("SWA_JIT_CACHE_DIR", path, 1), 0);
  build_fixture_open_in(&fixture, NULL, 0, NULL, NULL);
  assert_int_equal(unsetenv("SWA_JIT_CACHE_DIR"), 0);
  assert_int_equal(sj_lib_check_store(fixture.lib), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), path));
  assert_non_null(strstr(sj_message(), strerror(ENOTDIR)));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(sj_lib_check_store(fixture.lib), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), "open the library anew"));
  build_fixture_close(&fixture);
  free(path);
}

static void open_each_system_call_failing_is_a_status_and_leaks_nothing(void **state)
{
  char *path = temp_dir_join(*state, "a/b");
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  options.cache_dir = path;
  for (unsigned nth = 1;; nth++) {
    swa_jit_lib *lib = NULL;
    const sj_os *os = failing_os_start((failing_os_plan){.nth = nth, .error = EIO});
    swa_jit_status status = sj_lib_open(&options, os, &lib);
    bool has_failed = failing_os_has_failed();
    if (status == SWA_JIT_OK) {
      sj_lib_close(lib);
    } else {
      assert_int_equal(status, SWA_JIT_STORE_ERROR);
      assert_null(lib);
    }
    if (!has_failed) {
      assert_int_equal(status, SWA_JIT_OK);
      break;
    }
  }
  free(path);
}

static void open_nvrtc_failure_is_not_remembered(void **state)
{
  build_fixture fixture;
  const sj_nvrtc_api *api = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_lib_open_nvrtc(fixture.lib, 0, &api), SWA_JIT_NO_COMPILER);
  free(fixture.lib->options.nvrtc_path);
  fixture.lib->options.nvrtc_path = strdup(NVRTC_FAKE);
  assert_int_equal(sj_lib_open_nvrtc(fixture.lib, 0, &api), SWA_JIT_OK);
  assert_ptr_equal(api, &fixture.lib->nvrtc->api);
  assert_int_equal(api->version_code, 13000);
  assert_string_equal(api->path, NVRTC_FAKE);
  build_fixture_close(&fixture);
}

static void open_nvrtc_named_is_final_whatever_its_version(void **state)
{
  build_fixture fixture;
  const sj_nvrtc_api *api = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  free(fixture.lib->options.nvrtc_path);
  fixture.lib->options.nvrtc_path = strdup(NVRTC_FAKE);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sj_lib_open_nvrtc(fixture.lib, 99000, &api), SWA_JIT_OK);
    assert_int_equal(api->version_code, 13000);
    assert_ptr_equal(api, &fixture.lib->nvrtc->api);
    assert_null(fixture.lib->nvrtc->next);
  }
  build_fixture_close(&fixture);
}

static void open_cuda_failure_is_not_remembered(void **state)
{
  build_fixture fixture;
  const sj_cuda_api *api = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  char *path = fixture.lib->options.cuda_path;
  fixture.lib->options.cuda_path = strdup("/nonexistent/libcuda.so");
  assert_int_equal(sj_lib_open_cuda(fixture.lib, &api), SWA_JIT_NO_DRIVER);
  free(fixture.lib->options.cuda_path);
  fixture.lib->options.cuda_path = path;
  assert_int_equal(sj_lib_open_cuda(fixture.lib, &api), SWA_JIT_OK);
  assert_ptr_equal(api, &fixture.lib->cuda);
  build_fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  build_fixture_clear_environment();
  const struct CMUnitTest tests[] = {
      TEST(open_with_folder_makes_the_store),
      TEST(open_opens_no_vendor_library),
      TEST(open_named_folder_that_is_a_file_fails_and_is_logged),
      TEST(open_default_folder_that_is_a_file_is_a_warning),
      TEST(open_without_any_folder_is_memory_only),
      TEST(open_with_a_home_that_does_not_exist_makes_nothing),
      TEST(open_without_creating_makes_no_folder_and_is_no_trouble),
      TEST(folder_removed_is_not_made_again_without_creating),
      TEST(info_tells_what_became_of_the_folder),
      TEST(check_store_of_a_folder_is_ok_and_leaves_nothing),
      TEST(check_store_without_any_says_why),
      TEST(open_each_system_call_failing_is_a_status_and_leaks_nothing),
      TEST(open_nvrtc_failure_is_not_remembered),
      TEST(open_nvrtc_named_is_final_whatever_its_version),
      TEST(open_cuda_failure_is_not_remembered),
  };
  return SJ_TEST_RUN(tests);
}
