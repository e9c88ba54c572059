/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_main.h"

#include "capture_log.h"
#include "cuda_api.h"
#include "recording_cuda.h"
#include "temp_dir.h"

static const recording_cuda *cuda;

static void assert_message_has(const char *part)
{
  if (strstr(sj_message(), part) == NULL) {
    fail_msg("no \"%s\" in: %s", part, sj_message());
  }
}

/* Opens path, which must fail with status and leave the table as it was. */
static void assert_open_fails(const char *path, swa_jit_status expected)
{
  static const char untouched[sizeof(sj_cuda_api)];
  sj_cuda_api api;
  memset(&api, 0, sizeof api);
  assert_int_equal(sj_cuda_api_open(path, NULL, &api), expected);
  assert_memory_equal(&api, untouched, sizeof api);
}

static void open_stand_in_fills_the_table(void **state)
{
  (void)state;
  cuda->reset();
  cuda->set_num_devices(3);
  capture_log log;
  capture_log_init(&log, SWA_JIT_LOG_DEBUG);
  sj_cuda_api api;
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING, &log.log, &api), SWA_JIT_OK);
  void *const *pointers = (void *const *)&api;
  for (size_t i = 0; i < offsetof(sj_cuda_api, library) / sizeof(void *); ++i) {
    assert_non_null(pointers[i]);
  }
  assert_non_null(api.library);
  assert_string_equal(api.path, CUDA_RECORDING);
  assert_int_equal(api.driver_version, 13000);
  assert_int_equal(api.num_devices, 3);
  assert_true(capture_log_has(&log, "CUDA 13.0, 3 devices"));
  sj_cuda_api_close(&api);
  assert_null(api.library);
  assert_null(api.launch_kernel);
  sj_cuda_api_close(&api);
  capture_log_finish(&log);
}

static void open_twice_works(void **state)
{
  (void)state;
  cuda->reset();
  sj_cuda_api api;
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(sj_cuda_api_open(CUDA_RECORDING, NULL, &api), SWA_JIT_OK);
    sj_cuda_api_close(&api);
  }
  assert_int_equal(cuda->num_calls("cuInit"), 2);
}

static void open_missing_file_says_what_was_tried(void **state)
{
  char *path = temp_dir_join(*state, "libcuda.so.1");
  assert_open_fails(path, SWA_JIT_NO_DRIVER);
  assert_message_has(path);
  assert_message_has("SWA_JIT_CUDA");
  assert_message_has("No such file");
  assert_null(strstr(sj_message(), "/usr/lib/wsl"));
  free(path);
}

static void open_file_that_is_no_library_gives_the_loaders_reason(void **state)
{
  char *path = temp_dir_join(*state, "libcuda.so.1");
  assert_true(temp_dir_write(path, "text", 4));
  assert_open_fails(path, SWA_JIT_NO_DRIVER);
  assert_message_has(path);
  free(path);
}

static void open_another_library_names_the_missing_symbol(void **state)
{
  (void)state;
  assert_open_fails("libm.so.6", SWA_JIT_NO_DRIVER);
  assert_message_has("libm.so.6 has no cuInit");
}

static void open_driver_before_cuda_12_names_the_missing_call(void **state)
{
  (void)state;
  assert_open_fails(CUDA_RECORDING_11, SWA_JIT_NO_DRIVER);
  assert_message_has("cuLibraryLoadData");
  assert_message_has("update the NVIDIA driver");
}

static void open_driver_before_cuda_12_4_leaves_the_optional_call_null(void **state)
{
  (void)state;
  sj_cuda_api api;
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING_12, NULL, &api), SWA_JIT_OK);
  assert_null(api.func_load);
  assert_non_null(api.launch_kernel);
  assert_int_equal(api.driver_version, 12000);
  sj_cuda_api_close(&api);
}

static void open_driver_of_cuda_12_0_has_the_context_id(void **state)
{
  (void)state;
  sj_cuda_api api;
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING_12, NULL, &api), SWA_JIT_OK);
  assert_non_null(api.ctx_get_id);
  sj_cuda_api_close(&api);
}

static void open_file_in_a_stubs_folder_is_refused(void **state)
{
  char *folder = temp_dir_join(*state, "stubs");
  char *path = temp_dir_join(folder, "libcuda.so");
  char *bytes;
  size_t count;
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_true(temp_dir_read(CUDA_RECORDING, &bytes, &count));
  assert_true(temp_dir_write(path, bytes, count));
  assert_open_fails(path, SWA_JIT_NO_DRIVER);
  assert_message_has("is the toolkit's stub");
  free(bytes);
  free(path);
  free(folder);
}

static void open_stub_elsewhere_is_refused(void **state)
{
  (void)state;
  cuda->reset();
  cuda->fail_function("cuInit", 1, 34);
  assert_open_fails(CUDA_RECORDING, SWA_JIT_NO_DRIVER);
  assert_message_has("is the toolkit's stub");
}

static void open_without_device_is_no_device(void **state)
{
  (void)state;
  cuda->reset();
  cuda->set_num_devices(0);
  assert_open_fails(CUDA_RECORDING, SWA_JIT_NO_DEVICE);
  assert_message_has("CUDA_VISIBLE_DEVICES");
  cuda->set_num_devices(RECORDING_COUNTS_NONE);
  assert_open_fails(CUDA_RECORDING, SWA_JIT_NO_DEVICE);
  assert_message_has("counts 0 devices");
}

static void open_each_failing_call_is_named(void **state)
{
  (void)state;
  static const char *const calls[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount"};
  sj_cuda_api api;
  unsigned nth = 1;
  for (;; ++nth) {
    cuda->reset();
    cuda->fail_call(nth, 999);
    swa_jit_status status = sj_cuda_api_open(CUDA_RECORDING, NULL, &api);
    if (!cuda->has_failed()) {
      assert_int_equal(status, SWA_JIT_OK);
      sj_cuda_api_close(&api);
      break;
    }
    assert_int_equal(status, SWA_JIT_CUDA_ERROR);
    assert_message_has("CUDA_ERROR_UNKNOWN");
    assert_true(nth <= sizeof calls / sizeof calls[0]);
    assert_message_has(calls[nth - 1]);
  }
  assert_int_equal(nth, sizeof calls / sizeof calls[0] + 1);
}

/* In a child, which may meet this machine's own driver. */
static int search_in_child(void)
{
  sj_cuda_api api;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  swa_jit_status status = sj_cuda_api_open(NULL, NULL, &api);
  if (driver != NULL) {
    return status == SWA_JIT_NO_DRIVER && strstr(sj_message(), "tried") != NULL;
  }
  static const char *const expected[] = {"\n  libcuda.so.1: not loaded yet",
                                         "\n  libcuda.so: not loaded yet",
                                         "\n  libcuda.so.1: cannot open",
                                         "\n  /usr/lib/x86_64-linux-gnu/libcuda.so.1: ",
                                         "\n  /usr/lib/wsl/lib/libcuda.so.1: ",
                                         "\n  /usr/local/nvidia/lib64/libcuda.so.1: ",
                                         "\n  /usr/local/cuda/compat/libcuda.so.1: "};
  if (status != SWA_JIT_NO_DRIVER) {
    return 0; /* a driver in one of the folders only */
  }
  int num_missing = 0;
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
    num_missing += strstr(sj_message(), expected[i]) == NULL;
  }
  return num_missing != 0;
}

static void open_without_path_searches_the_usual_places(void **state)
{
  (void)state;
  int child_status = -1;
  pid_t child = fork();
  if (child == 0) {
    _exit(search_in_child());
  }
  assert_int_equal(waitpid(child, &child_status, 0), child);
  assert_int_equal(child_status, 0);
}

/* Last of all: from here on the loader knows a libcuda.so.1 in this process. */
static void open_without_path_finds_a_loaded_copy(void **state)
{
  (void)state;
  const recording_cuda *loaded = recording_cuda_open(CUDA_RECORDING_SONAME);
  assert_non_null(loaded);
  loaded->set_num_devices(5);
  sj_cuda_api api;
  assert_int_equal(sj_cuda_api_open(NULL, NULL, &api), SWA_JIT_OK);
  assert_string_equal(api.path, CUDA_RECORDING_SONAME);
  assert_int_equal(api.num_devices, 5);
  sj_cuda_api_close(&api);
}

static void fail_known_error_gives_call_name_reason_and_remedy(void **state)
{
  (void)state;
  cuda->reset();
  sj_cuda_api api;
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING, NULL, &api), SWA_JIT_OK);
  assert_int_equal(sj_cuda_fail(&api, "cuSomeCall", 2), SWA_JIT_CUDA_ERROR);
  assert_string_equal(sj_message(),
                      "cuSomeCall failed: CUDA_ERROR_OUT_OF_MEMORY (2, the stand-in's reason): free device "
                      "memory");
  assert_int_equal(sj_cuda_fail(&api, "cuSomeCall", 1), SWA_JIT_CUDA_ERROR);
  assert_string_equal(sj_message(), "cuSomeCall failed: CUDA_ERROR_INVALID_VALUE (1, the stand-in's reason)");
  sj_cuda_api_close(&api);
}

static void fail_error_that_the_driver_cannot_name_gives_its_number(void **state)
{
  (void)state;
  cuda->reset();
  sj_cuda_api api;
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING, NULL, &api), SWA_JIT_OK);
  assert_int_equal(sj_cuda_fail(&api, "cuSomeCall", 12345), SWA_JIT_CUDA_ERROR);
  assert_string_equal(sj_message(), "cuSomeCall failed: an error without a name (12345, the driver gives no text)");
  cuda->fail_from(1, 999);
  assert_int_equal(sj_cuda_fail(&api, "cuSomeCall", 201), SWA_JIT_CUDA_ERROR);
  assert_message_has("cuSomeCall failed: an error without a name (201, the driver gives no text): make a context");
  sj_cuda_api_close(&api);
}

int main(void)
{
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL) {
    fprintf(stderr, "cannot open %s: build it first\n", CUDA_RECORDING);
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(open_stand_in_fills_the_table),
      cmocka_unit_test(open_twice_works),
      cmocka_unit_test_setup_teardown(open_missing_file_says_what_was_tried, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(open_file_that_is_no_library_gives_the_loaders_reason, temp_dir_setup,
                                      temp_dir_teardown),
      cmocka_unit_test(open_another_library_names_the_missing_symbol),
      cmocka_unit_test(open_driver_before_cuda_12_names_the_missing_call),
      cmocka_unit_test(open_driver_before_cuda_12_4_leaves_the_optional_call_null),
      cmocka_unit_test(open_driver_of_cuda_12_0_has_the_context_id),
      cmocka_unit_test_setup_teardown(open_file_in_a_stubs_folder_is_refused, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test(open_stub_elsewhere_is_refused),
      cmocka_unit_test(open_without_device_is_no_device),
      cmocka_unit_test(open_each_failing_call_is_named),
      cmocka_unit_test(fail_known_error_gives_call_name_reason_and_remedy),
      cmocka_unit_test(fail_error_that_the_driver_cannot_name_gives_its_number),
      cmocka_unit_test(open_without_path_searches_the_usual_places),
      cmocka_unit_test(open_without_path_finds_a_loaded_copy),
  };
  return SJ_TEST_RUN(tests);
}
