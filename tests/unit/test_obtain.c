/* SPDX-License-Identifier: Apache-2.0 */
/* What one library object leaves for the next: failed compiles, PTX, cubins for a driver that refuses others. The usual
 * way to a cubin: test_build.c. */
#include "test_main.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build.h"
#include "build_fixture.h"
#include "recording_cuda.h"

enum { ERROR_COMPILATION = 6 };

static const recording_cuda *cuda;

static void open_faked(build_fixture *fixture, const char *folder, uint32_t flags, fake_nvrtc_plan plan)
{
  build_fixture_open(fixture, folder, flags, NULL);
  build_fixture_fake(fixture, plan);
  cuda = recording_cuda_open(CUDA_RECORDING);
  assert_non_null(cuda);
}

/* ---- Failed compiles ------------------------------------------------------------------------------------------ */

static swa_jit_status fail_once(const char *folder, const char *log, uint32_t version)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  fake_nvrtc_plan plan = {.call = FAKE_NVRTC_COMPILE_PROGRAM, .nth = 1, .result = ERROR_COMPILATION, .log = log};
  plan.version_code = version;
  open_faked(&fixture, folder, 0, plan);
  swa_jit_status status = sj_build_cubin(fixture.lib, &fixture.config, &kernel);
  build_fixture_close(&fixture);
  return status;
}

static void failure_of_the_source_is_not_compiled_by_the_next_object(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  const char *log = NULL;
  assert_int_equal(fail_once(*state, "x(1): error: a reason\n", 13000), SWA_JIT_COMPILE_FAILED);
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_COMPILE_PROGRAM), 1);
  open_faked(&fixture, *state, 0, (fake_nvrtc_plan){0});
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_COMPILE_FAILED);
    assert_non_null(strstr(sj_message(), "a reason"));
    assert_non_null(strstr(sj_message(), ".failed"));
    assert_int_equal(sj_build_log(fixture.lib, &fixture.config, &log), SWA_JIT_OK);
    assert_string_equal(log, "x(1): error: a reason\n");
    assert_non_null(strstr(sj_message(), ".failed")); /* as it was */
  }
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_COMPILE_PROGRAM), 0);
  assert_int_equal(fixture.lib->stats.failures_remembered, 1);
  assert_int_equal(fixture.lib->stats.compile_failures, 0);
  build_fixture_close(&fixture);
}

static void failure_is_forgotten_with_another_compiler_and_after_a_success(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  assert_int_equal(fail_once(*state, "ptxas /tmp/x, line 5; error   : a reason\n", 13000), SWA_JIT_COMPILE_FAILED);
  open_faked(&fixture, *state, 0, (fake_nvrtc_plan){.version_code = 13010});
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".failed"), 1);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".failed"), 0);
  build_fixture_close(&fixture);
}

/* In the object that compiled. What the surroundings caused has no log to keep: its status tells. */
static void failure_has_the_compilers_log(void **state)
{
  static const struct {
    const char *log;
    swa_jit_status status;
  } rows[] = {{"x(1): error: a reason\n", SWA_JIT_OK}, {"ptxas error   : out of memory\n", SWA_JIT_COMPILE_FAILED}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    build_fixture fixture;
    fake_nvrtc_plan plan = {
        .call = FAKE_NVRTC_COMPILE_PROGRAM, .nth = 1, .result = ERROR_COMPILATION, .log = rows[i].log};
    const char *log = "untouched", *again = NULL;
    open_faked(&fixture, *state, SWA_JIT_FLAG_NO_STORE, plan);
    assert_int_equal(sj_build_log(fixture.lib, &fixture.config, &log), rows[i].status);
    assert_string_equal(log, rows[i].status == SWA_JIT_OK ? rows[i].log : "untouched");
    assert_int_equal(sj_build_log(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
    assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_COMPILE_PROGRAM), rows[i].status == SWA_JIT_OK ? 1 : 2);
    if (rows[i].status == SWA_JIT_OK) {
      assert_ptr_equal(log, again); /* the library's for its life */
    }
    build_fixture_close(&fixture);
  }
}

/* The same result of the compiler, for what may be cured before the next compile. */
static void failure_of_the_surroundings_is_not_remembered(void **state)
{
  static const char *const logs[] = {"",
                                     "ptxas fatal   : Memory allocation failure\n",
                                     "ptxas error   : out of memory\n",
                                     "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.\n",
                                     "x(1): catastrophic error: cannot open file \"y\"\n",
                                     "ptxas error   : Internal error\n"};
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    fake_nvrtc_plan plan = {.call = FAKE_NVRTC_COMPILE_PROGRAM, .nth = 1, .result = ERROR_COMPILATION, .log = logs[i]};
    open_faked(&fixture, *state, 0, plan);
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_COMPILE_FAILED);
    assert_int_equal(temp_dir_count(fixture.cache_dir, ".failed"), 0);
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK); /* nor by this object */
    build_fixture_empty_store(&fixture);
    build_fixture_close(&fixture);
  }
}

/* ---- PTX ------------------------------------------------------------------------------------------------------ */

static void ptx_is_kept_beside_the_cubin_when_asked_for(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, SWA_JIT_FLAG_KEEP_PTX, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".ptx"), 1);
  build_fixture_close(&fixture);
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_COMPILE, NULL);
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_string_equal(kernel->ptx, FAKE_NVRTC_PTX);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  build_fixture_close(&fixture);
}

/* Of a device newer than every architecture. */
static swa_jit_status get_on_newer_device(build_fixture *fixture, struct swa_jit_kernel **kernel_out)
{
  cuda->set_device(0, 13, 0, 232448);
  fixture->config.arch = SWA_JIT_ARCH_NATIVE;
  return sj_build_kernel(fixture->lib, &fixture->config, kernel_out);
}

static void newer_device_runs_the_ptx_of_an_older_architecture(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  struct swa_jit_kernel *again = NULL;
  open_faked(&fixture, *state, SWA_JIT_FLAG_KEEP_PTX, (fake_nvrtc_plan){0});
  assert_int_equal(get_on_newer_device(&fixture, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->arch->id, SWA_JIT_ARCH_SM_80);
  assert_true(kernel->loaded.is_ptx);
  assert_int_equal(cuda->num_loaded(), 1);
  assert_int_equal(get_on_newer_device(&fixture, &again), SWA_JIT_OK);
  assert_ptr_equal(again, kernel);
  build_fixture_close(&fixture);
  /* Another process, without a compiler. */
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_KEEP_PTX, NULL);
  assert_int_equal(get_on_newer_device(&fixture, &kernel), SWA_JIT_OK);
  assert_true(kernel->loaded.is_ptx);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  build_fixture_close(&fixture);
}

static void newer_device_without_the_option_is_told_of_it(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, 0, (fake_nvrtc_plan){0});
  assert_int_equal(get_on_newer_device(&fixture, &kernel), SWA_JIT_UNSUPPORTED);
  assert_non_null(strstr(sj_message(), "SWA_JIT_FLAG_KEEP_PTX"));
  fixture.config.arch = SWA_JIT_ARCH_SM_80;
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_DEVICE);
  assert_non_null(strstr(sj_message(), "SWA_JIT_KEEP_PTX=1"));
  fixture.config.arch = SWA_JIT_ARCH_SM_90A; /* whose PTX runs nowhere else */
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_DEVICE);
  assert_null(strstr(sj_message(), "PTX"));
  build_fixture_close(&fixture);
}

/* ---- PTX in place of a cubin ---------------------------------------------------------------------------------- */

static void assert_is_ptx(const struct swa_jit_kernel *kernel)
{
  assert_string_equal(kernel->cubin, FAKE_NVRTC_PTX); /* with a zero behind it, as the driver wants it */
  assert_int_equal(kernel->cubin_bytes, strlen(FAKE_NVRTC_PTX));
  assert_int_equal(kernel->info.cubin_bytes, strlen(FAKE_NVRTC_PTX));
  assert_non_null(strstr(kernel->info.file_name, ".ptx"));
  assert_non_null(strstr(kernel->info.key_text, "product:3=ptx\n"));
}

static void ptx_used_is_compiled_stored_and_loaded_and_no_cubin_is(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, SWA_JIT_FLAG_USE_PTX, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_is_ptx(kernel);
  assert_int_equal(kernel->info.num_registers, 0); /* ptxas has not run */
  assert_true(kernel->loaded.is_ptx);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_string_equal(kernel->ptx, FAKE_NVRTC_PTX);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".ptx"), 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 0);
  build_fixture_close(&fixture);
  /* Another process, without a compiler. */
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_USE_PTX | SWA_JIT_FLAG_NO_COMPILE, NULL);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_is_ptx(kernel);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_STORE);
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_string_equal(kernel->ptx, FAKE_NVRTC_PTX);
  build_fixture_close(&fixture);
  /* One that wants a cubin has to make it. */
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_COMPILE, NULL);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  build_fixture_close(&fixture);
}

static void ptx_used_is_that_kept_beside_a_cubin(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  bool held = false;
  open_faked(&fixture, *state, SWA_JIT_FLAG_KEEP_PTX, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  build_fixture_close(&fixture);
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_USE_PTX | SWA_JIT_FLAG_NO_COMPILE, NULL);
  assert_int_equal(sj_build_is_stored(fixture.lib, &fixture.config, &kernel, &held), SWA_JIT_OK);
  assert_true(held);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_is_ptx(kernel);
  assert_int_equal(kernel->info.num_registers, FAKE_NVRTC_REGISTERS); /* of the cubin */
  build_fixture_close(&fixture);
}

static void ptx_used_and_missing_is_told_with_the_command_that_makes_it(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state); /* a cubin is no PTX */
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_USE_PTX | SWA_JIT_FLAG_NO_COMPILE, NULL);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "SWA_JIT_USE_PTX=1 swa-jit-warm"));
  assert_non_null(strstr(sj_message(), ".ptx"));
  build_fixture_close(&fixture);
}

static void ptx_used_runs_on_newer_devices_and_on_its_own_only(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, SWA_JIT_FLAG_USE_PTX, (fake_nvrtc_plan){0});
  assert_int_equal(get_on_newer_device(&fixture, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->arch->id, SWA_JIT_ARCH_SM_80);
  fixture.config.arch = SWA_JIT_ARCH_SM_90A;
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_DEVICE);
  build_fixture_close(&fixture);
}

/* Of an NVRTC that is newer than the driver. */
static void ptx_used_that_the_driver_refuses_is_replaced_by_one_for_it(void **state)
{
  static const int refusals[] = {218 /* invalid PTX */, 222 /* unsupported PTX version */};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    open_faked(&fixture, *state, SWA_JIT_FLAG_USE_PTX, (fake_nvrtc_plan){0});
    build_fixture_empty_store(&fixture);
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    build_fixture_close(&fixture);
    open_faked(&fixture, *state, SWA_JIT_FLAG_USE_PTX, (fake_nvrtc_plan){0});
    cuda->fail_function("cuLibraryLoadData", 1, refusals[i]);
    assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_COMPILED);
    assert_int_equal(temp_dir_count(fixture.cache_dir, ".ptx"), 2);
    build_fixture_close(&fixture);
    build_fixture_open(&fixture, *state, SWA_JIT_FLAG_USE_PTX, NULL);
    cuda->fail_function("cuLibraryLoadData", 1, refusals[i]);
    assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_STORE);
    assert_is_ptx(kernel);
    build_fixture_close(&fixture);
  }
}

/* As a compile of a cubin that NVRTC cannot give. */
static void ptx_used_and_not_given_by_the_compiler_is_an_error(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, SWA_JIT_FLAG_USE_PTX,
             (fake_nvrtc_plan){.call = FAKE_NVRTC_GET_PTX, .nth = 1, .result = 11});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_null(kernel);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_is_ptx(kernel);
  build_fixture_close(&fixture);
}

/* ---- A driver that refuses a cubin ------------------------------------------------------------------------------ */

static void refused_cubin_stays_and_one_for_the_driver_is_kept_beside_it(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  open_faked(&fixture, *state, 0, (fake_nvrtc_plan){0});
  cuda->fail_function("cuLibraryLoadData", 1, 200 /* invalid image */);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".bad-"), 0);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 2);
  build_fixture_close(&fixture);
  /* The next process with that driver and no compiler; the stand-in refuses its first image again. */
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_COMPILE, NULL);
  cuda->fail_function("cuLibraryLoadData", 1, 200);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_STORE);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  assert_int_equal(fixture.lib->stats.store_set_aside, 0);
  build_fixture_close(&fixture);
  /* A driver of another version finds nothing made for it. */
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_COMPILE, NULL);
  cuda->set_driver_version(13010);
  cuda->fail_function("cuLibraryLoadData", 1, 200);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_CUDA_ERROR);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 2);
  build_fixture_close(&fixture);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  build_fixture_clear_environment();
  const struct CMUnitTest tests[] = {
      TEST(failure_of_the_source_is_not_compiled_by_the_next_object),
      TEST(failure_has_the_compilers_log),
      TEST(failure_is_forgotten_with_another_compiler_and_after_a_success),
      TEST(failure_of_the_surroundings_is_not_remembered),
      TEST(ptx_is_kept_beside_the_cubin_when_asked_for),
      TEST(newer_device_runs_the_ptx_of_an_older_architecture),
      TEST(newer_device_without_the_option_is_told_of_it),
      TEST(ptx_used_is_compiled_stored_and_loaded_and_no_cubin_is),
      TEST(ptx_used_is_that_kept_beside_a_cubin),
      TEST(ptx_used_and_missing_is_told_with_the_command_that_makes_it),
      TEST(ptx_used_runs_on_newer_devices_and_on_its_own_only),
      TEST(ptx_used_that_the_driver_refuses_is_replaced_by_one_for_it),
      TEST(ptx_used_and_not_given_by_the_compiler_is_an_error),
      TEST(refused_cubin_stays_and_one_for_the_driver_is_kept_beside_it),
  };
  return SJ_TEST_RUN(tests);
}
