/* SPDX-License-Identifier: Apache-2.0 */
/* Which handle a launch gives the driver: the current context's function, or the kernel's own. */
#include <pthread.h>
#include <string.h>

#include "test_main.h"

#include "launch.h"
#include "launch_args_fixture.h"
#include "recording_cuda.h"

enum { NUM_DEVICES = 3, NUM_THREADS = 6, NUM_LAUNCHES = 50 };

static const recording_cuda *cuda;
static sj_cuda_api api;
static struct swa_jit_kernel kernel;
static launch_args_way way; /* of all tests */
static const char *config_text;

/* Three devices, the kernel loaded in the context of the first, which stays current. */
static int begin(void **state)
{
  bool refused;
  (void)state;
  cuda->reset();
  cuda->set_num_devices(NUM_DEVICES);
  cuda->set_params_bytes(sizeof(swa_params));
  cuda->set_current(0);
  if (sj_cuda_api_open(CUDA_RECORDING, NULL, &api) != SWA_JIT_OK) {
    return -1;
  }
  memset(&kernel, 0, sizeof kernel);
  kernel.cuda = &api;
  kernel.arch = sj_arch_find(SWA_JIT_ARCH_SM_90A);
  config_text = "arch=sm_90a";
  assert_int_equal(sj_config_from_text(config_text, &kernel.config), SWA_JIT_OK);
  kernel.plan = (sj_tile_plan){.num_warps = 4, .shared_memory_bytes = 150000};
  kernel.constants = sj_launch_constants_make(&api, &kernel.config, &kernel.plan);
  return sj_load_make(&api, kernel.arch, &kernel.plan, "swa_decode", "\177ELF", &refused, &kernel.loaded) == SWA_JIT_OK
             ? 0
             : -1;
}

static int end(void **state)
{
  (void)state;
  sj_load_finish(&api, &kernel.loaded);
  sj_cuda_api_close(&api);
  return 0;
}

static swa_jit_status decode_with(swa_jit_stream stream, uint32_t flags)
{
  launch_args_fixture right;
  launch_args_begin(&right, config_text);
  launch_args_choose_way(&right, way);
  right.args.flags = flags;
  return swa_jit_decode(&kernel, &right.args, stream);
}

static swa_jit_status decode(swa_jit_stream stream)
{
  return decode_with(stream, 0);
}

static void add_current(void)
{
  assert_int_equal(sj_load_add_context(&api, kernel.arch, &kernel.plan, &kernel.loaded), SWA_JIT_OK);
}

/* Launches with these calls of the driver, the last of them with the given handle on that device. */
static void assert_launched(swa_jit_stream stream, unsigned num_calls, const void *function, int device)
{
  unsigned calls = cuda->num_calls(NULL);
  unsigned launches = cuda->num_launches();
  swa_jit_status status = decode(stream);
  if (status != SWA_JIT_OK) {
    fail_msg("%s", sj_message());
  }
  assert_int_equal(cuda->num_calls(NULL), calls + num_calls);
  assert_int_equal(cuda->num_launches(), launches + 1);
  assert_ptr_equal(cuda->get_launch(launches)->function, function);
  assert_int_equal(cuda->get_launch(launches)->device, device);
}

static const void *function_of(int ordinal)
{
  return cuda->get_function(kernel.loaded.kernel, ordinal);
}

static void launch_in_a_remembered_context_uses_its_function(void **state)
{
  (void)state;
  assert_launched(NULL, 2, function_of(0), 0);
  assert_launched(cuda->get_stream(0), 2, function_of(0), 0);
  cuda->set_current(1);
  add_current();
  assert_launched(NULL, 2, function_of(1), 1);
  cuda->set_current(0);
  assert_launched(NULL, 2, function_of(0), 0);
}

/* All but the handle is alike. */
static void launch_by_the_function_and_by_the_kernel_is_the_same(void **state)
{
  (void)state;
  static const char *const configs[] = {"arch=sm_90a", "arch=sm_90a kv_tile=128 cluster_size=4",
                                        "arch=sm_90a kv_format=bf16 head_dim=64 head_group=8 kv_tile=64"};
  for (unsigned i = 0; i < sizeof configs / sizeof configs[0]; ++i) {
    config_text = configs[i];
    assert_int_equal(sj_config_from_text(config_text, &kernel.config), SWA_JIT_OK);
    kernel.constants = sj_launch_constants_make(&api, &kernel.config, &kernel.plan);
    cuda->set_current(0);
    assert_launched(NULL, 2, function_of(0), 0);
    cuda->set_current(1);
    assert_launched(NULL, 2, kernel.loaded.kernel, 1);
    recorded_launch by_kernel = *cuda->get_launch(2 * i + 1);
    const recorded_launch *by_function = cuda->get_launch(2 * i);
    by_kernel.function = by_function->function;
    by_kernel.device = by_function->device;
    assert_memory_equal(&by_kernel, by_function, sizeof by_kernel);
  }
}

static void launch_in_a_context_never_seen_uses_the_kernel(void **state)
{
  (void)state;
  cuda->set_current(1);
  assert_launched(NULL, 2, kernel.loaded.kernel, 1);
  assert_launched(cuda->get_stream(1), 2, kernel.loaded.kernel, 1);
  assert_int_equal(kernel.loaded.num_contexts, 1);
}

static void launch_without_a_context_uses_the_kernel_in_the_streams(void **state)
{
  (void)state;
  cuda->set_current(-1);
  assert_launched(cuda->get_stream(0), 2, kernel.loaded.kernel, 0);
}

/* Report 58: device 0 is the current one, stream and data are of device 1; and the reverse. */
static void launch_on_a_stream_of_another_context_uses_the_kernel_there(void **state)
{
  (void)state;
  assert_launched(cuda->get_stream(1), 3, kernel.loaded.kernel, 1);
  cuda->set_current(1);
  add_current();
  assert_launched(cuda->get_stream(0), 3, kernel.loaded.kernel, 0);
  assert_launched(cuda->get_stream(1), 2, function_of(1), 1);
}

static void launch_in_a_context_at_a_destroyed_ones_address_uses_the_kernel(void **state)
{
  (void)state;
  cuda->renew_context(0);
  assert_launched(NULL, 2, kernel.loaded.kernel, 0);
  add_current();
  assert_launched(NULL, 2, function_of(0), 0);
}

static void launch_beyond_the_most_contexts_uses_the_kernel(void **state)
{
  (void)state;
  cuda->set_current(1);
  for (int i = 1; i < SJ_MAX_LOADED_CONTEXTS; ++i) {
    cuda->renew_context(1);
    add_current();
  }
  assert_launched(NULL, 2, function_of(1), 1);
  cuda->set_current(2);
  add_current();
  assert_launched(NULL, 2, kernel.loaded.kernel, 2);
  cuda->set_current(0);
  assert_launched(NULL, 2, function_of(0), 0);
}

static void launch_where_the_driver_has_no_context_id_uses_the_kernel(void **state)
{
  (void)state;
  bool refused;
  sj_load_finish(&api, &kernel.loaded);
  api.ctx_get_id = NULL;
  kernel.constants = sj_launch_constants_make(&api, &kernel.config, &kernel.plan);
  assert_int_equal(sj_load_make(&api, kernel.arch, &kernel.plan, "swa_decode", "\177ELF", &refused, &kernel.loaded),
                   SWA_JIT_OK);
  assert_launched(NULL, 1, kernel.loaded.kernel, 0);
}

static void launch_with_the_context_id_failing_uses_the_kernel(void **state)
{
  (void)state;
  cuda->fail_function("cuCtxGetId", 1, 999);
  assert_launched(NULL, 2, kernel.loaded.kernel, 0);
  assert_true(cuda->has_failed());
  assert_launched(NULL, 2, function_of(0), 0);
}

/* The errors of a function in the wrong context, and no others: a launch that failed otherwise is not made again. */
static void launch_refused_for_the_context_is_made_again_by_the_kernel(void **state)
{
  (void)state;
  static const int others[] = {1, 2, 209, 700, 719, 999};
  cuda->fail_function("cuLaunchKernel", 1, 400);
  assert_launched(NULL, 3, kernel.loaded.kernel, 0);
  cuda->fail_function("cuLaunchKernel", 1, 201);
  assert_launched(NULL, 3, kernel.loaded.kernel, 0);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
    unsigned launches = cuda->num_calls("cuLaunchKernel");
    cuda->fail_function("cuLaunchKernel", 1, others[i]);
    assert_int_equal(decode(NULL), SWA_JIT_CUDA_ERROR);
    assert_int_equal(cuda->num_calls("cuLaunchKernel"), launches + 1);
  }
}

static void launch_dependent_takes_the_same_handles(void **state)
{
  (void)state;
  assert_int_equal(decode_with(NULL, SWA_JIT_DECODE_DEPENDENT), SWA_JIT_OK);
  assert_ptr_equal(cuda->get_launch(0)->function, function_of(0));
  assert_int_equal(decode_with(cuda->get_stream(1), SWA_JIT_DECODE_DEPENDENT), SWA_JIT_OK);
  assert_ptr_equal(cuda->get_launch(1)->function, kernel.loaded.kernel);
  assert_true(cuda->get_launch(1)->is_dependent);
  assert_int_equal(cuda->num_calls("cuLaunchKernelEx"), 3);
  assert_int_equal(cuda->num_calls("cuLaunchKernel"), 0);
}

static void launch_made_again_and_refused_gives_the_second_reason(void **state)
{
  (void)state;
  cuda->fail_function("cuLaunchKernel", 2, 2);
  assert_int_equal(decode(cuda->get_stream(1)), SWA_JIT_CUDA_ERROR);
  assert_non_null(strstr(sj_message(), "cuLaunchKernel failed: CUDA_ERROR_OUT_OF_MEMORY"));
  assert_int_equal(cuda->num_calls("cuLaunchKernel"), 2);
  cuda->set_image_major(9);
  end(state);
  cuda->set_device(1, 10, 0, 232448);
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING, NULL, &api), SWA_JIT_OK);
  bool refused;
  assert_int_equal(sj_load_make(&api, kernel.arch, &kernel.plan, "swa_decode", "\177ELF", &refused, &kernel.loaded),
                   SWA_JIT_OK);
  assert_int_equal(decode(cuda->get_stream(1)), SWA_JIT_WRONG_DEVICE);
  cuda->set_current(1);
  add_current();
  assert_int_equal(decode(NULL), SWA_JIT_WRONG_DEVICE); /* remembered, without a function */
  assert_int_equal(cuda->num_launches(), 0);
}

typedef struct launcher {
  pthread_t thread;
  int device;
  unsigned num_wrong;
} launcher;

/* Launches in the thread's own context while that of thread 0 is being added. */
static void *launch_often(void *data)
{
  launcher *self = data;
  cuda->set_current(self->device);
  for (int i = 0; i < NUM_LAUNCHES; ++i) {
    if (self->device == NUM_DEVICES - 1 && i == NUM_LAUNCHES / 2) {
      self->num_wrong += sj_load_add_context(&api, kernel.arch, &kernel.plan, &kernel.loaded) != SWA_JIT_OK;
    }
    self->num_wrong += decode(NULL) != SWA_JIT_OK;
  }
  return NULL;
}

static void launch_while_a_context_is_added_finds_it_or_uses_the_kernel(void **state)
{
  (void)state;
  launcher launchers[NUM_THREADS];
  for (int i = 0; i < NUM_THREADS; ++i) {
    launchers[i] = (launcher){.device = i % (NUM_DEVICES - 1)};
  }
  launchers[0].device = NUM_DEVICES - 1; /* the only one: it alone adds */
  for (int i = 0; i < NUM_THREADS; ++i) {
    assert_int_equal(pthread_create(&launchers[i].thread, NULL, launch_often, &launchers[i]), 0);
  }
  for (int i = 0; i < NUM_THREADS; ++i) {
    assert_int_equal(pthread_join(launchers[i].thread, NULL), 0);
    assert_int_equal(launchers[i].num_wrong, 0);
  }
  assert_int_equal(cuda->num_launches(), NUM_THREADS * NUM_LAUNCHES);
  assert_int_equal(cuda->num_calls("cuLaunchKernel"), NUM_THREADS * NUM_LAUNCHES);
  assert_int_equal(kernel.loaded.num_contexts, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL) {
    fprintf(stderr, "cannot open %s: build it first\n", CUDA_RECORDING);
    return 1;
  }
  const struct CMUnitTest tests[] = {
      TEST(launch_in_a_remembered_context_uses_its_function),
      TEST(launch_by_the_function_and_by_the_kernel_is_the_same),
      TEST(launch_in_a_context_never_seen_uses_the_kernel),
      TEST(launch_without_a_context_uses_the_kernel_in_the_streams),
      TEST(launch_on_a_stream_of_another_context_uses_the_kernel_there),
      TEST(launch_in_a_context_at_a_destroyed_ones_address_uses_the_kernel),
      TEST(launch_beyond_the_most_contexts_uses_the_kernel),
      TEST(launch_where_the_driver_has_no_context_id_uses_the_kernel),
      TEST(launch_with_the_context_id_failing_uses_the_kernel),
      TEST(launch_refused_for_the_context_is_made_again_by_the_kernel),
      TEST(launch_dependent_takes_the_same_handles),
      TEST(launch_made_again_and_refused_gives_the_second_reason),
      TEST(launch_while_a_context_is_added_finds_it_or_uses_the_kernel),
  };
  int num_failed = 0;
  for (way = LAUNCH_ARGS_CHECKED; way < LAUNCH_ARGS_NUM_WAYS; way++) {
    num_failed += SJ_TEST_RUN(tests);
  }
  return num_failed == 0 ? 0 : 1;
}
