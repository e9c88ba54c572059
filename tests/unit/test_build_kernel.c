/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of the pipeline, against stand-ins for NVRTC and libcuda. */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "build_fixture.h"
#include "recording_cuda.h"
#include "test_main.h"

enum { NUM_THREADS = 8 };

static const recording_cuda *cuda;

static void open_faked(build_fixture *fixture, const char *folder, uint32_t flags)
{
  build_fixture_open(fixture, folder, flags, NULL);
  build_fixture_fake(fixture, (fake_nvrtc_plan){0});
}

static void kernel_first_time_is_compiled_and_loaded(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  struct swa_jit_kernel *again = NULL;
  open_faked(&fixture, *state, 0);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_non_null(kernel->loaded.kernel);
  assert_ptr_equal(kernel->cuda, &fixture.lib->cuda);
  assert_true(kernel->constants.launch_kernel == kernel->cuda->launch_kernel);
  assert_int_equal(kernel->constants.num_threads, 32 * kernel->plan.num_warps);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_true(kernel->info.get_ns > 0);
  assert_int_equal(fixture.lib->stats.loads, 1);
  unsigned num_calls = cuda->num_calls(NULL);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
  assert_ptr_equal(again, kernel);
  assert_int_equal(cuda->num_calls(NULL), num_calls + 1); /* a held kernel asks the driver for the context only */
  assert_string_equal(cuda->get_call(num_calls), "cuCtxGetCurrent");
  assert_int_equal(cuda->num_loaded(), 1);
  build_fixture_close(&fixture);
  assert_int_equal(cuda->num_loaded(), 0);
}

/* Two contexts of the architecture and one of another: each is loaded into, or found to be no use, only once. */
static void kernel_held_is_loaded_into_each_further_context_once(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  struct swa_jit_kernel *again = NULL;
  open_faked(&fixture, *state, 0);
  cuda->set_num_devices(3);
  cuda->set_device(2, 10, 0, 232448);
  cuda->set_current(0);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_false(cuda->is_function_loaded(kernel->loaded.kernel, 1));
  sj_fail(SWA_JIT_INVALID, "before");
  for (int i = 1; i < 3; i++) {
    cuda->set_current(i);
    assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
    assert_ptr_equal(again, kernel);
    unsigned num_calls = cuda->num_calls(NULL);
    assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
    assert_int_equal(cuda->num_calls(NULL), num_calls + 2);
  }
  assert_string_equal(sj_message(), "before");
  assert_true(cuda->is_function_loaded(kernel->loaded.kernel, 1));
  assert_false(cuda->is_function_loaded(kernel->loaded.kernel, 2));
  assert_int_equal(fixture.lib->stats.loads, 1);
  build_fixture_close(&fixture);
}

static void kernel_that_a_further_context_has_no_room_for_is_a_cuda_error_there_only(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  struct swa_jit_kernel *again = NULL;
  open_faked(&fixture, *state, 0);
  cuda->set_num_devices(2);
  cuda->set_current(0);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  cuda->set_current(1);
  cuda->fail_function("cuFuncLoad", 1, SJ_CU_ERROR_OUT_OF_MEMORY);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &again), SWA_JIT_CUDA_ERROR);
  assert_null(again);
  assert_non_null(strstr(sj_message(), "cuFuncLoad failed: CUDA_ERROR_OUT_OF_MEMORY"));
  cuda->set_current(0);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
  cuda->set_current(1);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
  assert_true(cuda->is_function_loaded(kernel->loaded.kernel, 1));
  build_fixture_close(&fixture);
}

static void kernel_stored_is_loaded_without_a_compiler(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_STORE);
  assert_int_equal(fixture.lib->stats.loads, 1);
  build_fixture_close(&fixture);
}

static void kernel_after_its_cubin_keeps_the_first_calls_time(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, 0);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  uint64_t get_ns = kernel->info.get_ns;
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.get_ns, get_ns);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  build_fixture_close(&fixture);
}

static void kernel_without_driver_is_no_driver_before_compiling(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, 0);
  free(fixture.lib->options.cuda_path);
  fixture.lib->options.cuda_path = strdup("/nonexistent/libcuda.so");
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_DRIVER);
  assert_non_null(strstr(sj_message(), "/nonexistent/libcuda.so"));
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_ANY), 0);
  build_fixture_close(&fixture);
}

static void kernel_of_another_architecture_is_no_device_and_its_cubin_stays(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, 0);
  fixture.config.arch = SWA_JIT_ARCH_SM_100A;
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_DEVICE);
  assert_null(kernel);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  build_fixture_close(&fixture);
}

static void kernel_whose_stored_cubin_is_refused_is_compiled_anew(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *early = NULL;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  open_faked(&fixture, *state, 0);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &early), SWA_JIT_OK);
  const void *early_cubin = early->cubin;
  size_t cubin_bytes = early->cubin_bytes;
  sj_fail(SWA_JIT_INVALID, "before");
  cuda->fail_function("cuLibraryLoadData", 1, SJ_CU_ERROR_INVALID_IMAGE);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_string_equal(sj_message(), "before");
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_true(strlen(kernel->info.miss_reason) > 0);
  assert_true(kernel->info.get_ns > 0);
  assert_ptr_not_equal(kernel->cubin, early_cubin);
  assert_memory_equal(early_cubin, kernel->cubin, cubin_bytes); /* what was handed out is still there */
  assert_int_equal(fixture.lib->stats.compiles, 1);
  assert_int_equal(fixture.lib->stats.store_set_aside, 0);
  assert_int_equal(fixture.lib->stats.store_writes, 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".bad-"), 0);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 2); /* the refused one is another driver's */
  assert_true(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN) > 0);
  assert_int_equal(cuda->num_loaded(), 1);
  build_fixture_close(&fixture);
}

static void kernel_refused_although_just_compiled_is_a_cuda_error(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  open_faked(&fixture, *state, 0);
  cuda->fail_function("cuLibraryLoadData", 1, SJ_CU_ERROR_INVALID_IMAGE);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_CUDA_ERROR);
  assert_null(kernel);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  assert_int_equal(fixture.lib->stats.store_set_aside, 0);
  build_fixture_close(&fixture);
}

static void kernel_refused_where_compiling_is_off_is_a_cuda_error_and_its_entry_stays(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  open_faked(&fixture, *state, SWA_JIT_FLAG_NO_COMPILE);
  cuda->fail_function("cuLibraryLoadData", 1, SJ_CU_ERROR_INVALID_IMAGE);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_CUDA_ERROR);
  assert_int_equal(fixture.lib->stats.store_set_aside, 0);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  build_fixture_close(&fixture);
}

/* Without a compile nothing could take the refused entry's place, and another machine's driver may take it. */
static void kernel_refused_where_no_compile_succeeds_keeps_its_entry(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, 0, NULL);
  cuda->fail_function("cuLibraryLoadData", 1, SJ_CU_ERROR_INVALID_IMAGE);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "the driver refused the stored entry"));
  assert_null(strstr(sj_message(), "does not hold"));
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.version_code = 11070});
  cuda->fail_function("cuLibraryLoadData", 1, SJ_CU_ERROR_INVALID_IMAGE);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_UNSUPPORTED);
  assert_null(kernel);
  assert_int_equal(fixture.lib->stats.store_set_aside, 0);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".bad-"), 0);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 1);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_STORE);
  build_fixture_close(&fixture);
}

/* Fills the store with the cubin and its PTX; then the driver refuses the cubin once, or everything. */
static swa_jit_status get_refused(build_fixture *fixture, void **state, uint32_t flags, bool refuses_all,
                                  struct swa_jit_kernel **kernel_out)
{
  struct swa_jit_kernel *warm = NULL;
  open_faked(fixture, *state, SWA_JIT_FLAG_KEEP_PTX);
  assert_int_equal(sj_build_cubin(fixture->lib, &fixture->config, &warm), SWA_JIT_OK);
  build_fixture_close(fixture);
  open_faked(fixture, *state, flags);
  if (refuses_all) {
    cuda->refuse_images(true, true);
  } else {
    cuda->fail_function("cuLibraryLoadData", 1, SJ_CU_ERROR_NO_BINARY_FOR_GPU);
  }
  return sj_build_kernel(fixture->lib, &fixture->config, kernel_out);
}

static void kernel_refused_where_compiling_is_off_is_loaded_from_kept_ptx(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  assert_int_equal(get_refused(&fixture, state, SWA_JIT_FLAG_NO_COMPILE, false, &kernel), SWA_JIT_OK);
  assert_true(kernel->loaded.is_ptx);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  assert_int_equal(fixture.lib->stats.loads, 1);
  assert_int_equal(fixture.lib->stats.store_set_aside, 0);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 1);
  assert_true(capture_log_has(&fixture.log, "the driver takes no cubin for sm_90a"));
  assert_int_equal(cuda->num_loaded(), 1);
  build_fixture_close(&fixture);
}

/* A cubin that may be had is better: the driver does not compile it at each start. */
static void kernel_refused_with_ptx_kept_is_compiled_anew_where_that_can_be(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  assert_int_equal(get_refused(&fixture, state, 0, false, &kernel), SWA_JIT_OK);
  assert_false(kernel->loaded.is_ptx);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  build_fixture_close(&fixture);
}

static void kernel_whose_ptx_is_refused_too_fails_and_says_both(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  assert_int_equal(get_refused(&fixture, state, SWA_JIT_FLAG_NO_COMPILE, true, &kernel), SWA_JIT_CUDA_ERROR);
  assert_null(kernel);
  assert_non_null(strstr(sj_message(), "refused the image"));
  assert_non_null(strstr(sj_message(), "The PTX that is kept does not help: "));
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".bad-"), 0);
  assert_int_equal(cuda->num_loaded(), 0);
  build_fixture_close(&fixture);
}

/* A driver that takes no cubin at all, process after process: one compile, and no file more. */
static void kernel_whose_every_cubin_is_refused_is_not_compiled_at_each_start(void **state)
{
  enum { NUM_STARTS = 4 };
  for (unsigned i = 0; i < NUM_STARTS; i++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    open_faked(&fixture, *state, SWA_JIT_FLAG_KEEP_PTX);
    cuda->refuse_images(true, false);
    assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    assert_true(kernel->loaded.is_ptx);
    assert_int_equal(fixture.lib->stats.compiles, i < 2); /* the second start makes one for this driver */
    assert_int_equal(temp_dir_count(fixture.cache_dir, ".bad-"), 0);
    assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), i < 1 ? 1 : 2);
    build_fixture_close(&fixture);
  }
}

/* A device out of memory says nothing about the entry. */
static void kernel_that_cannot_be_loaded_for_other_reasons_keeps_its_entry(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  open_faked(&fixture, *state, 0);
  cuda->fail_function("cuLibraryLoadData", 1, 2 /* out of memory */);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_CUDA_ERROR);
  assert_int_equal(fixture.lib->stats.store_set_aside, 0);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_STORE);
  build_fixture_close(&fixture);
}

/* Each driver call of a first kernel_get in turn: a status, nothing left loaded, and the next call succeeds. */
static void kernel_each_driver_call_failing_is_cured_by_the_next_call(void **state)
{
  unsigned num_failures = 0;
  for (unsigned nth = 1;; nth++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    open_faked(&fixture, *state, SWA_JIT_FLAG_NO_STORE);
    cuda->fail_call(nth, 999);
    swa_jit_status status = sj_build_kernel(fixture.lib, &fixture.config, &kernel);
    bool has_failed = cuda->has_failed();
    if (status != SWA_JIT_OK) {
      num_failures++;
      assert_null(kernel);
      assert_int_equal(cuda->num_loaded(), 0);
      assert_int_equal(sj_build_kernel(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    }
    build_fixture_close(&fixture);
    if (!has_failed) { /* all calls of a kernel_get were tried: this one fell to the unloading */
      assert_int_equal(status, SWA_JIT_OK);
      break;
    }
    assert_int_equal(cuda->num_loaded(), 0);
  }
  assert_true(num_failures > 0);
}

typedef struct asker {
  build_fixture *fixture;
  int device; /* whose context is current in the thread; -1: none */
  struct swa_jit_kernel *kernel;
  swa_jit_status status;
} asker;

static void *ask_kernel(void *argument)
{
  asker *self = argument;
  cuda->set_current(self->device);
  self->status = sj_build_kernel(self->fixture->lib, &self->fixture->config, &self->kernel);
  return NULL;
}

static void kernel_many_threads_load_once(void **state)
{
  build_fixture fixture;
  pthread_t threads[NUM_THREADS];
  asker askers[NUM_THREADS];
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.compile_ms = 50});
  for (int i = 0; i < NUM_THREADS; i++) {
    askers[i] = (asker){.fixture = &fixture, .device = -1};
    assert_int_equal(pthread_create(&threads[i], NULL, ask_kernel, &askers[i]), 0);
  }
  for (int i = 0; i < NUM_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(askers[i].status, SWA_JIT_OK);
    assert_ptr_equal(askers[i].kernel, askers[0].kernel);
  }
  assert_int_equal(fixture.lib->stats.compiles, 1);
  assert_int_equal(fixture.lib->stats.loads, 1);
  assert_int_equal(cuda->num_loads(), 1);
  build_fixture_close(&fixture);
}

/* Every thread in its own context, and two for each, so that the contexts are added while others look for theirs. */
static void kernel_many_threads_in_several_contexts_load_into_each_once(void **state)
{
  enum { NUM_CONTEXTS = NUM_THREADS / 2 };
  build_fixture fixture;
  pthread_t threads[NUM_THREADS];
  asker askers[NUM_THREADS];
  open_faked(&fixture, *state, 0);
  cuda->set_num_devices(NUM_CONTEXTS);
  for (int i = 0; i < NUM_THREADS; i++) {
    askers[i] = (asker){.fixture = &fixture, .device = i % NUM_CONTEXTS};
    assert_int_equal(pthread_create(&threads[i], NULL, ask_kernel, &askers[i]), 0);
  }
  for (int i = 0; i < NUM_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(askers[i].status, SWA_JIT_OK);
  }
  for (int i = 0; i < NUM_CONTEXTS; i++) {
    cuda->set_current(i);
    assert_ptr_equal(sj_load_find_function(askers[0].kernel->cuda, &askers[0].kernel->loaded),
                     cuda->get_function(askers[0].kernel->loaded.kernel, i));
  }
  assert_int_equal(askers[0].kernel->loaded.num_contexts, NUM_CONTEXTS);
  assert_int_equal(cuda->num_calls("cuFuncLoad"), NUM_CONTEXTS);
  assert_int_equal(cuda->num_loads(), 1);
  build_fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  build_fixture_clear_environment();
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL) {
    fprintf(stderr, "%s: %s\n", CUDA_RECORDING, dlerror());
    return 1;
  }
  const struct CMUnitTest tests[] = {
      TEST(kernel_first_time_is_compiled_and_loaded),
      TEST(kernel_held_is_loaded_into_each_further_context_once),
      TEST(kernel_that_a_further_context_has_no_room_for_is_a_cuda_error_there_only),
      TEST(kernel_stored_is_loaded_without_a_compiler),
      TEST(kernel_after_its_cubin_keeps_the_first_calls_time),
      TEST(kernel_without_driver_is_no_driver_before_compiling),
      TEST(kernel_of_another_architecture_is_no_device_and_its_cubin_stays),
      TEST(kernel_whose_stored_cubin_is_refused_is_compiled_anew),
      TEST(kernel_refused_although_just_compiled_is_a_cuda_error),
      TEST(kernel_refused_where_compiling_is_off_is_a_cuda_error_and_its_entry_stays),
      TEST(kernel_refused_where_no_compile_succeeds_keeps_its_entry),
      TEST(kernel_refused_where_compiling_is_off_is_loaded_from_kept_ptx),
      TEST(kernel_refused_with_ptx_kept_is_compiled_anew_where_that_can_be),
      TEST(kernel_whose_ptx_is_refused_too_fails_and_says_both),
      TEST(kernel_whose_every_cubin_is_refused_is_not_compiled_at_each_start),
      TEST(kernel_that_cannot_be_loaded_for_other_reasons_keeps_its_entry),
      TEST(kernel_each_driver_call_failing_is_cured_by_the_next_call),
      TEST(kernel_many_threads_load_once),
      TEST(kernel_many_threads_in_several_contexts_load_into_each_once),
  };
  return SJ_TEST_RUN(tests);
}
