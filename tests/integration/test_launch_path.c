/* SPDX-License-Identifier: Apache-2.0 */
/* From a configuration to the bytes that the driver is handed, through the public interface: a real compile, the
 * stand-in for libcuda, each of its calls failing in turn. The kernel is compiled once; the tests share its store. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test_main.h"

#include "recording_cuda.h"
#include "swa_jit/swa_jit.h"
#include "swa_params.h"
#include "temp_dir.h"

static const recording_cuda *cuda;
static char *store_path;

/* A library object over the shared store and the stand-in, which is reset: two devices, of 9.0 and 10.0, and the
 * context of the first is current. */
static swa_jit_lib *start(void)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_lib *lib = NULL;
  options.cuda_path = CUDA_RECORDING;
  options.cache_dir = store_path;
  cuda->reset();
  cuda->set_num_devices(2);
  cuda->set_device(1, 10, 0, 232448);
  cuda->set_image_major(9);
  cuda->set_params_bytes(sizeof(swa_params));
  cuda->set_current(0);
  assert_int_equal(swa_jit_open(&options, &lib), SWA_JIT_OK);
  return lib;
}

/* Closes, after which the driver holds nothing. */
static void finish(swa_jit_lib *lib)
{
  swa_jit_close(&lib);
  assert_null(lib);
  assert_int_equal(cuda->num_loaded(), 0);
}

static swa_jit_config make_config(void)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  return config;
}

static swa_jit_status get_kernel(swa_jit_lib *lib, const swa_jit_kernel **kernel_out)
{
  swa_jit_config config = make_config();
  return swa_jit_kernel_get(lib, &config, kernel_out);
}

static const swa_jit_kernel *take_kernel(swa_jit_lib *lib)
{
  const swa_jit_kernel *kernel = NULL;
  swa_jit_status status = get_kernel(lib, &kernel);
  if (status != SWA_JIT_OK) {
    fail_msg("%s: %s", swa_jit_status_name(status), swa_jit_message());
  }
  assert_non_null(kernel);
  return kernel;
}

static void *address(uintptr_t value)
{
  return (void *)value;
}

static swa_jit_decode_args make_args(void)
{
  swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;
  args.num_tokens = 70000;
  args.num_heads = 40;
  args.block_size = 53;
  args.num_blocks = 1000;
  args.q = address(0x7f0000000010);
  args.q_token_stride = 48 * 520;
  args.q_head_stride = 520;
  args.kv = address(0x7f0100000020);
  args.block_stride_bytes = 53 * 528 + 32;
  args.slot_stride_bytes = 528;
  args.inv_scale = address(0x7f0200000004);
  args.indices = address(0x7f0300000004);
  args.indices_token_stride = 192;
  args.lens = address(0x7f0400000004);
  args.out = address(0x7f0500000030);
  args.out_head_stride = 1024;
  args.out_token_stride = 40 * 1024 + 64;
  args.lse = address(0x7f0700000004);
  args.lse_token_stride = 128;
  args.scale = 0.044194173824159216f;
  return args;
}

static swa_params expected_params(void)
{
  swa_params params;
  memset(&params, 0, sizeof params);
  params.q = address(0x7f0000000010);
  params.window.pool.kv = address(0x7f0100000020);
  params.window.pool.inv_scale = address(0x7f0200000004);
  params.window.pool.indices = address(0x7f0300000004);
  params.window.lens = address(0x7f0400000004);
  params.out = address(0x7f0500000030);
  params.lse = address(0x7f0700000004);
  params.q_token_stride = 24960;
  params.q_head_stride = 520;
  params.window.pool.block_stride_bytes = 28016;
  params.window.pool.slot_stride_bytes = 528;
  params.window.pool.kv_head_stride_bytes = 512;
  params.window.indices_token_stride = 192;
  params.out_token_stride = 41024;
  params.out_head_stride = 1024;
  params.lse_token_stride = 128;
  params.num_tokens = 70000;
  params.num_heads = 40;
  params.num_splits = 1;
  params.num_kv_heads = 1;
  params.kv_head_heads = 40;
  params.kv_head_groups = 3;
  params.lse_head_stride = 1;
  params.window.pool.scale = 1.0f;
  params.window.block_size = 53;
  params.window.num_slots = 53000;
  params.scale = 0.044194173824159216f;
  return params;
}

static void launch_gives_the_driver_exactly_the_arguments(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  const swa_jit_kernel *kernel = take_kernel(lib);
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  assert_int_equal(swa_jit_kernel_get_info(kernel, &info), SWA_JIT_OK);
  assert_int_equal(info.origin, SWA_JIT_ORIGIN_STORE);
  swa_jit_decode_args args = make_args();
  void *stream = cuda->get_stream(0);
  unsigned calls = cuda->num_calls(NULL);
  assert_int_equal(swa_jit_decode(kernel, &args, stream), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls(NULL), calls + 2);
  assert_string_equal(cuda->get_call(calls), "cuCtxGetId");
  const recorded_launch *launch = cuda->get_launch(0);
  assert_ptr_equal(launch->function, cuda->get_function(launch->kernel, 0));
  const unsigned grid[3] = {70000, 3, 1};
  const unsigned block[3] = {info.num_threads, 1, 1};
  const swa_params params = expected_params();
  assert_memory_equal(launch->grid, grid, sizeof grid);
  assert_memory_equal(launch->block, block, sizeof block);
  assert_int_equal(launch->shared_bytes, info.shared_memory_bytes);
  assert_ptr_equal(launch->stream, stream);
  assert_false(launch->has_extra);
  assert_memory_equal(launch->params, &params, sizeof params);
  finish(lib);
}

/* The same through the other call of the driver. */
static void launch_dependent_gives_the_driver_the_same_and_the_attribute(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  const swa_jit_kernel *kernel = take_kernel(lib);
  swa_jit_decode_args args = make_args();
  args.flags = SWA_JIT_DECODE_DEPENDENT;
  assert_int_equal(swa_jit_decode(kernel, &args, cuda->get_stream(0)), SWA_JIT_OK);
  const recorded_launch *launch = cuda->get_launch(0);
  const swa_params params = expected_params();
  assert_true(launch->is_dependent);
  assert_ptr_equal(launch->function, cuda->get_function(launch->kernel, 0));
  assert_memory_equal(launch->params, &params, sizeof params);
  finish(lib);
}

static void kernel_is_prepared_for_its_devices_and_the_current_context(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  const swa_jit_kernel *kernel = take_kernel(lib);
  swa_jit_decode_args args = make_args();
  assert_int_equal(swa_jit_decode(kernel, &args, NULL), SWA_JIT_OK);
  const recorded_launch *launch = cuda->get_launch(0);
  assert_int_equal(launch->device, 0);
  assert_int_equal(cuda->get_shared_limit(launch->kernel, 0), launch->shared_bytes);
  assert_int_equal(cuda->get_shared_limit(launch->kernel, 1), 0);
  assert_true(cuda->is_function_loaded(launch->kernel, 0));
  assert_int_equal(cuda->get_depth(), 1);
  finish(lib);
}

static void kernel_asked_for_twice_is_loaded_once(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  const swa_jit_kernel *kernel = take_kernel(lib);
  unsigned calls = cuda->num_calls(NULL);
  assert_ptr_equal(take_kernel(lib), kernel);
  assert_int_equal(cuda->num_calls(NULL), calls + 2);
  assert_string_equal(cuda->get_call(calls), "cuCtxGetCurrent");
  assert_string_equal(cuda->get_call(calls + 1), "cuCtxGetId");
  assert_int_equal(cuda->num_loads(), 1);
  finish(lib);
}

typedef struct asker {
  pthread_t thread;
  swa_jit_lib *lib;
  const swa_jit_kernel *kernel;
  swa_jit_status status;
} asker;

static void *ask(void *data)
{
  asker *self = data;
  swa_jit_decode_args args = make_args();
  self->status = get_kernel(self->lib, &self->kernel);
  if (self->status == SWA_JIT_OK) {
    self->status = swa_jit_decode(self->kernel, &args, cuda->get_stream(0));
  }
  return NULL;
}

static void kernel_asked_for_by_many_threads_is_loaded_once(void **state)
{
  (void)state;
  enum { NUM_THREADS = 6 };
  asker askers[NUM_THREADS];
  swa_jit_lib *lib = start();
  for (int i = 0; i < NUM_THREADS; ++i) {
    askers[i] = (asker){.lib = lib};
    assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
  }
  for (int i = 0; i < NUM_THREADS; ++i) {
    assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
    assert_int_equal(askers[i].status, SWA_JIT_OK);
    assert_ptr_equal(askers[i].kernel, askers[0].kernel);
  }
  assert_int_equal(cuda->num_loads(), 1);
  assert_int_equal(cuda->num_calls("cuInit"), 1);
  assert_int_equal(cuda->num_launches(), NUM_THREADS);
  finish(lib);
}

static swa_jit_status get_and_decode(swa_jit_lib *lib)
{
  const swa_jit_kernel *kernel = NULL;
  swa_jit_decode_args args = make_args();
  swa_jit_status status = get_kernel(lib, &kernel);
  return status == SWA_JIT_OK ? swa_jit_decode(kernel, &args, cuda->get_stream(0)) : status;
}

/* The nth call of a first get and decode fails, and with later every one after it. True if there was such a call: then
 * the failure was told (but of cuCtxGetId, where the kernel's own handle serves), nothing stayed loaded that was not
 * handed out, and the same calls work once the driver does. */
static bool survives_failure_of(unsigned nth, bool later)
{
  swa_jit_lib *lib = start();
  unsigned calls = cuda->num_calls(NULL);
  (later ? cuda->fail_from : cuda->fail_call)(nth, 999);
  swa_jit_status status = get_and_decode(lib);
  bool has_failed = cuda->has_failed();
  bool is_told = has_failed && (later || strcmp(cuda->get_call(calls + nth - 1), "cuCtxGetId") != 0);
  assert_int_equal(status, is_told ? SWA_JIT_CUDA_ERROR : SWA_JIT_OK);
  if (is_told) {
    assert_non_null(strstr(swa_jit_message(), later ? "999" : "CUDA_ERROR_UNKNOWN"));
    assert_int_equal(cuda->num_launches(), 0);
    assert_int_equal(cuda->get_depth(), 1);
  }
  cuda->fail_call(0, 0);
  if (has_failed && !later) {
    assert_int_equal(cuda->num_loads() - cuda->num_calls("cuLibraryUnload"), cuda->num_loaded());
  }
  if (get_and_decode(lib) != SWA_JIT_OK) {
    fail_msg("after call %u failed: %s", nth, swa_jit_message());
  }
  swa_jit_close(&lib);
  /* A library whose unload the driver refused is the driver's to keep. */
  assert_true(cuda->num_loaded() <= (later ? 1 : 0));
  return has_failed;
}

static void each_driver_call_failing_is_told_and_survived(void **state)
{
  (void)state;
  unsigned nth = 1;
  while (survives_failure_of(nth, false)) {
    ++nth;
  }
  assert_true(nth > 15); /* three to open, eight for the devices, load, kernel, attribute, context, function, launch */
}

static void the_driver_failing_from_each_call_on_is_told_and_survived(void **state)
{
  (void)state;
  unsigned nth = 1;
  while (survives_failure_of(nth, true)) {
    ++nth;
  }
  assert_true(nth > 15);
}

/* One kernel in the contexts of two devices of its architecture. */
static void kernel_got_in_two_contexts_is_launched_by_the_function_of_each(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  swa_jit_decode_args args = make_args();
  cuda->set_device(1, 9, 0, 232448);
  const swa_jit_kernel *kernel = take_kernel(lib);
  for (int i = 0; i < 2; ++i) {
    cuda->set_current(i);
    assert_ptr_equal(take_kernel(lib), kernel);
    assert_int_equal(swa_jit_decode(kernel, &args, NULL), SWA_JIT_OK);
    const recorded_launch *launch = cuda->get_launch((unsigned)i);
    assert_int_equal(launch->device, i);
    assert_ptr_equal(launch->function, cuda->get_function(launch->kernel, i));
  }
  assert_int_equal(swa_jit_decode(kernel, &args, cuda->get_stream(0)), SWA_JIT_OK);
  assert_int_equal(cuda->get_launch(2)->device, 0);
  assert_ptr_equal(cuda->get_launch(2)->function, cuda->get_launch(2)->kernel);
  assert_int_equal(cuda->num_loads(), 1);
  finish(lib);
}

static void stored_cubin_that_the_driver_refuses_is_compiled_again(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  cuda->fail_function("cuLibraryLoadData", 1, 200);
  assert_int_equal(swa_jit_kernel_get_info(take_kernel(lib), &info), SWA_JIT_OK);
  assert_true(cuda->has_failed());
  assert_int_equal(info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_int_equal(swa_jit_stats_get(lib, &stats), SWA_JIT_OK);
  assert_int_equal(stats.store_set_aside, 0); /* another machine's driver may take it */
  assert_int_equal(stats.compiles, 1);
  assert_int_equal(stats.loads, 1);
  finish(lib);
}

/* Report 58: the architecture that counts is that of the stream's device, not of the current one. */
static void launch_on_another_architectures_stream_is_refused_by_name(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  const swa_jit_kernel *kernel = take_kernel(lib);
  swa_jit_decode_args args = make_args();
  assert_int_equal(swa_jit_decode(kernel, &args, cuda->get_stream(1)), SWA_JIT_WRONG_DEVICE);
  assert_non_null(strstr(swa_jit_message(), "sm_90a"));
  assert_non_null(strstr(swa_jit_message(), "sm_100a"));
  assert_int_equal(swa_jit_decode(kernel, &args, cuda->get_stream(0)), SWA_JIT_OK);
  finish(lib);
}

static void kernel_of_an_absent_architecture_is_no_device_but_its_cubin_is_there(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  swa_jit_config config = make_config();
  const swa_jit_kernel *kernel = NULL;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  cuda->set_device(0, 8, 0, 166912);
  assert_int_equal(swa_jit_kernel_get(lib, &config, &kernel), SWA_JIT_NO_DEVICE);
  assert_null(kernel);
  assert_non_null(strstr(swa_jit_message(), "8.0"));
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL), SWA_JIT_OK);
  assert_true(cubin_bytes > 0);
  assert_memory_equal(cubin, "\177ELF", 4);
  finish(lib);
}

static void native_architecture_is_the_current_contexts(void **state)
{
  (void)state;
  swa_jit_lib *lib = start();
  uint32_t arch = 0;
  cuda->set_current(1);
  assert_int_equal(swa_jit_arch_native(lib, &arch), SWA_JIT_OK);
  assert_int_equal(arch, SWA_JIT_ARCH_SM_100A);
  cuda->set_current(-1);
  assert_int_equal(swa_jit_arch_native(lib, &arch), SWA_JIT_OK);
  assert_int_equal(arch, SWA_JIT_ARCH_SM_90A);
  finish(lib);
}

static void kernel_of_fields_that_do_not_fit_is_refused_before_any_work(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    swa_jit_status status;
  } rows[] = {
      {"arch=sm_90a kv_format=footer_584 head_dim=256", SWA_JIT_INVALID},
      {"arch=sm_90a extra_size=512 head_dim_v=128", SWA_JIT_INVALID},
      {"arch=sm_90a kv_format=bf16 extra_size=512", SWA_JIT_UNSUPPORTED},
      {"arch=sm_90a kernel=merge head_dim=128", SWA_JIT_INVALID},
  };
  swa_jit_lib *lib = start();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    swa_jit_config config = SWA_JIT_CONFIG_INIT;
    const swa_jit_kernel *kernel = NULL;
    assert_int_equal(swa_jit_config_from_text(rows[i].text, &config), SWA_JIT_OK);
    assert_int_equal(swa_jit_kernel_get(lib, &config, &kernel), rows[i].status);
    assert_null(kernel);
    assert_int_equal(swa_jit_config_check(&config, NULL), rows[i].status);
  }
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  assert_int_equal(swa_jit_stats_get(lib, &stats), SWA_JIT_OK);
  assert_int_equal(stats.store_hits + stats.store_misses + stats.compiles + stats.compile_failures, 0);
  assert_int_equal(cuda->num_calls(NULL), 0);
  finish(lib);
}

static void kernel_with_a_missing_driver_is_no_driver_until_it_is_there(void **state)
{
  (void)state;
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_lib *lib = NULL;
  const swa_jit_kernel *kernel = NULL;
  options.cuda_path = "/nonexistent/libcuda.so.1";
  options.cache_dir = store_path;
  assert_int_equal(swa_jit_open(&options, &lib), SWA_JIT_OK);
  assert_int_equal(get_kernel(lib, &kernel), SWA_JIT_NO_DRIVER);
  assert_null(kernel);
  assert_non_null(strstr(swa_jit_message(), "/nonexistent/libcuda.so.1"));
  swa_jit_close(&lib);
}

/* Fills the shared store. 0, or the reason's exit status. */
static int compile_once(void)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_config config = make_config();
  swa_jit_lib *lib = NULL;
  const void *cubin;
  size_t cubin_bytes;
  options.cache_dir = store_path;
  swa_jit_status status = swa_jit_open(&options, &lib);
  if (status == SWA_JIT_OK) {
    status = swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL);
  }
  if (status != SWA_JIT_OK) {
    fprintf(stderr, "%s%s\n", status == SWA_JIT_NO_COMPILER ? "skipped: " : "", swa_jit_message());
  }
  swa_jit_close(&lib);
  return status == SWA_JIT_OK ? 0 : status == SWA_JIT_NO_COMPILER ? SJ_TEST_SKIPPED : 1;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launch_gives_the_driver_exactly_the_arguments),
      cmocka_unit_test(launch_dependent_gives_the_driver_the_same_and_the_attribute),
      cmocka_unit_test(kernel_is_prepared_for_its_devices_and_the_current_context),
      cmocka_unit_test(kernel_asked_for_twice_is_loaded_once),
      cmocka_unit_test(kernel_asked_for_by_many_threads_is_loaded_once),
      cmocka_unit_test(kernel_got_in_two_contexts_is_launched_by_the_function_of_each),
      cmocka_unit_test(each_driver_call_failing_is_told_and_survived),
      cmocka_unit_test(the_driver_failing_from_each_call_on_is_told_and_survived),
      cmocka_unit_test(launch_on_another_architectures_stream_is_refused_by_name),
      cmocka_unit_test(kernel_of_an_absent_architecture_is_no_device_but_its_cubin_is_there),
      cmocka_unit_test(native_architecture_is_the_current_contexts),
      cmocka_unit_test(kernel_of_fields_that_do_not_fit_is_refused_before_any_work),
      cmocka_unit_test(kernel_with_a_missing_driver_is_no_driver_until_it_is_there),
      cmocka_unit_test(stored_cubin_that_the_driver_refuses_is_compiled_again),
  };
  void *folder = NULL;
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL || temp_dir_setup(&folder) != 0) {
    fprintf(stderr, "cannot open %s, or make a temporary folder\n", CUDA_RECORDING);
    return 1;
  }
  store_path = temp_dir_join(folder, "store");
  int result = compile_once();
  if (result == 0) {
    result = SJ_TEST_RUN(tests);
  }
  free(store_path);
  temp_dir_teardown(&folder);
  return result;
}
