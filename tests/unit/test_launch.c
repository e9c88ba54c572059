/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver is told of a launch; the parameter's contents are test_launch_args.c's. */
#include <string.h>

#include "test_main.h"

#include "launch.h"
#include "launch_args_fixture.h"
#include "recording_cuda.h"
#include "workspace.h"

static const recording_cuda *cuda;
static sj_cuda_api api;
static launch_args_way way; /* of all tests */

typedef struct fixture {
  struct swa_jit_kernel kernel;
  swa_jit_decode_args args;
} fixture;

/* What a kernel that is loaded has worked out. */
static void work_out(fixture *f)
{
  f->kernel.constants = sj_launch_constants_make(&api, &f->kernel.config, &f->kernel.plan);
}

/* A configuration's arguments, as launch_args_begin gives them. */
static void configure(fixture *f, const char *config_text)
{
  launch_args_fixture right;
  launch_args_begin(&right, config_text);
  launch_args_choose_way(&right, way);
  f->kernel.config = right.config;
  f->args = right.args;
  work_out(f);
}

/* A kernel of the default configuration on one device, loaded; and arguments that are right. */
static int begin(void **state)
{
  static fixture fixture_storage;
  fixture *f = &fixture_storage;
  *state = f;
  memset(f, 0, sizeof *f);
  configure(f, "arch=sm_90a");
  cuda->reset();
  cuda->set_num_devices(2);
  cuda->set_device(1, 10, 0, 232448);
  cuda->set_image_major(9);
  cuda->set_params_bytes(sizeof(swa_params));
  if (sj_cuda_api_open(CUDA_RECORDING, NULL, &api) != SWA_JIT_OK) {
    return -1;
  }
  f->kernel.cuda = &api;
  f->kernel.arch = sj_arch_find(SWA_JIT_ARCH_SM_90A);
  f->kernel.plan = (sj_tile_plan){.num_warps = 4, .shared_memory_bytes = 150000};
  work_out(f);
  bool refused;
  if (sj_load_make(&api, f->kernel.arch, &f->kernel.plan, "swa_decode", "\177ELF", &refused, &f->kernel.loaded)
      != SWA_JIT_OK) {
    return -1;
  }
  cuda->set_current(0);
  return 0;
}

static int end(void **state)
{
  fixture *f = *state;
  sj_load_finish(&api, &f->kernel.loaded);
  sj_cuda_api_close(&api);
  return 0;
}

static void assert_message_has(const char *part)
{
  if (strstr(sj_message(), part) == NULL) {
    fail_msg("no \"%s\" in: %s", part, sj_message());
  }
}

static void assert_refused(const fixture *f, swa_jit_status expected, const char *first_part, const char *second_part)
{
  unsigned calls = cuda->num_calls(NULL);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, NULL), expected);
  assert_message_has(first_part);
  assert_message_has(second_part);
  assert_int_equal(cuda->num_calls(NULL), calls);
}

/* Launches and returns the parameter that the driver was given. */
static swa_params assert_launched(const fixture *f)
{
  swa_params params;
  unsigned calls = cuda->num_calls(NULL);
  unsigned launches = cuda->num_launches();
  swa_jit_status status = swa_jit_decode(&f->kernel, &f->args, NULL);
  if (status != SWA_JIT_OK) {
    fail_msg("%s", sj_message());
  }
  assert_int_equal(cuda->num_calls(NULL), calls + 1); /* without a context's function it is one call */
  assert_int_equal(cuda->num_launches(), launches + 1);
  memcpy(&params, cuda->get_launch(launches)->params, sizeof params);
  return params;
}

static void launch_packed_gives_the_driver_exactly_this(void **state)
{
  fixture *f = *state;
  void *stream = cuda->get_stream(0);
  unsigned calls = cuda->num_calls(NULL);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, stream), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls(NULL), calls + 1);
  const recorded_launch *launch = cuda->get_launch(0);
  assert_ptr_equal(launch->kernel, f->kernel.loaded.kernel);
  assert_int_equal(launch->grid[0], 5);
  assert_int_equal(launch->grid[1], 3); /* 40 heads in groups of 16 */
  assert_int_equal(launch->grid[2], 1);
  assert_int_equal(launch->block[0], 128);
  assert_int_equal(launch->block[1], 1);
  assert_int_equal(launch->block[2], 1);
  assert_int_equal(launch->shared_bytes, 150000);
  assert_ptr_equal(launch->stream, stream);
  assert_false(launch->has_extra);
  assert_false(launch->is_extended);
  swa_params expected;
  memset(&expected, 0, sizeof expected);
  expected.q = f->args.q;
  expected.window.pool.kv = f->args.kv;
  expected.window.pool.inv_scale = f->args.inv_scale;
  expected.window.pool.indices = f->args.indices;
  expected.window.lens = f->args.lens;
  expected.out = f->args.out;
  expected.lse = f->args.lse;
  expected.q_token_stride = 40 * 512;
  expected.q_head_stride = 512;
  expected.window.pool.block_stride_bytes = 64 * 512;
  expected.window.pool.slot_stride_bytes = 512;
  expected.window.pool.kv_head_stride_bytes = 512;
  expected.window.indices_token_stride = 128;
  expected.out_token_stride = 40 * 512;
  expected.out_head_stride = 512;
  expected.lse_token_stride = f->args.lse != NULL ? 40 : 0;
  expected.num_tokens = 5;
  expected.num_heads = 40;
  expected.num_splits = 1;
  expected.num_kv_heads = 1;
  expected.kv_head_heads = 40;
  expected.kv_head_groups = 3;
  expected.lse_head_stride = f->args.lse != NULL;
  expected.window.pool.scale = 1.0f;
  expected.window.block_size = 64;
  expected.window.num_slots = 640;
  expected.scale = 0.25f;
  assert_memory_equal(launch->params, &expected, sizeof expected);
}

/* Report 41: a number of tokens that is too large for the dimension of the grid that has it. */
static void launch_of_most_tokens_and_heads_fits_the_grid(void **state)
{
  fixture *f = *state;
  f->args.num_tokens = INT32_MAX;
  f->args.num_heads = 65535 * 16;
  assert_launched(f);
  assert_int_equal(cuda->get_launch(0)->grid[0], INT32_MAX);
  assert_int_equal(cuda->get_launch(0)->grid[1], 65535);
}

static void launch_of_fewer_heads_than_a_group_has_one_group(void **state)
{
  fixture *f = *state;
  f->args.num_heads = 8;
  assert_launched(f);
  assert_int_equal(cuda->get_launch(0)->grid[1], 1);
}

/* Each KV head's query heads have groups of their own. */
static void launch_of_many_kv_heads_has_the_groups_of_each(void **state)
{
  fixture *f = *state;
  configure(f, "kv_format=bf16 head_dim=64 sinks=1");
  f->args.num_heads = 96;
  f->args.num_kv_heads = 4;
  const swa_params params = assert_launched(f);
  assert_int_equal(params.kv_head_groups, 2); /* 24 heads in groups of 16 */
  assert_int_equal(cuda->get_launch(0)->grid[1], 2);
  assert_int_equal(cuda->get_launch(0)->grid[2], 4);
}

static void launch_of_two_scopes_gives_the_driver_both(void **state)
{
  fixture *f = *state;
  configure(f, "kv_format=footer_584 extra_size=512 extra_format=footer_584 sinks=1");
  const swa_params params = assert_launched(f);
  assert_ptr_equal(params.window.pool.kv, f->args.kv);
  assert_ptr_equal(params.extra.pool.kv, f->args.extra_kv);
  assert_ptr_equal(params.sinks, f->args.sinks);
}

static void launch_with_wrong_arguments_does_not_reach_the_driver(void **state)
{
  fixture *f = *state;
  f->args.out = launch_args_address(8);
  assert_refused(f, SWA_JIT_INVALID, "out is 0x8", "multiple of 16 bytes");
}

/* Report 12. */
static void launch_of_no_tokens_is_a_success_without_a_launch(void **state)
{
  fixture *f = *state;
  unsigned calls = cuda->num_calls(NULL);
  f->args = (swa_jit_decode_args)SWA_JIT_DECODE_ARGS_INIT;
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, NULL), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls(NULL), calls);
}

static void launch_with_a_wrong_struct_is_refused_before_anything_else(void **state)
{
  fixture *f = *state;
  f->args.num_tokens = 0;
  f->args.size = 8;
  assert_refused(f, SWA_JIT_INVALID, "swa_jit_decode_args.size is 8", "336");
  assert_int_equal(swa_jit_decode(&f->kernel, NULL, NULL), SWA_JIT_INVALID);
  assert_message_has("swa_jit_decode_args is NULL");
  assert_int_equal(swa_jit_decode(NULL, &f->args, NULL), SWA_JIT_INVALID);
  assert_message_has("kernel is NULL");
}

static void launch_with_a_larger_struct_depends_on_its_tail(void **state)
{
  fixture *f = *state;
  struct {
    swa_jit_decode_args args;
    uint32_t later_field;
    uint32_t padding;
  } larger = {f->args, 0, 0};
  larger.args.size = sizeof larger;
  assert_int_equal(swa_jit_decode(&f->kernel, &larger.args, NULL), SWA_JIT_OK);
  larger.later_field = 1;
  assert_int_equal(swa_jit_decode(&f->kernel, &larger.args, NULL), SWA_JIT_NEWER);
  assert_int_equal(cuda->num_launches(), 1);
}

static void launch_on_a_stream_of_another_architecture_names_both(void **state)
{
  fixture *f = *state;
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, cuda->get_stream(1)), SWA_JIT_WRONG_DEVICE);
  assert_message_has("sm_90a");
  assert_message_has("stream's device has compute capability 10.0 (sm_100a)");
  assert_int_equal(cuda->get_depth(), 1);
  cuda->set_current(1);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, NULL), SWA_JIT_WRONG_DEVICE);
  assert_message_has("current context's device has compute capability 10.0");
  assert_int_equal(cuda->num_launches(), 0);
}

static void launch_without_a_current_context_says_what_to_do(void **state)
{
  fixture *f = *state;
  cuda->set_current(-1);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
  assert_message_has("cuLaunchKernel failed: CUDA_ERROR_INVALID_CONTEXT");
  assert_message_has("make a context current");
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, cuda->get_stream(0)), SWA_JIT_OK);
}

static void launch_that_the_driver_refuses_gives_its_reason(void **state)
{
  fixture *f = *state;
  cuda->fail_function("cuLaunchKernel", 1, 1);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
  assert_string_equal(sj_message(), "cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (1, the stand-in's reason)");
  assert_launched(f);
}

/* Each call of the search for the reason fails in turn: the launch's own error is told, the stack is as before. */
static void launch_refused_with_each_later_call_failing_still_reports(void **state)
{
  fixture *f = *state;
  static const char *const calls[] = {"cuStreamGetCtx", "cuCtxPushCurrent_v2", "cuCtxGetDevice",
                                      "cuDeviceGetAttribute"};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    cuda->fail_function(calls[i], 1, 999);
    assert_int_equal(swa_jit_decode(&f->kernel, &f->args, cuda->get_stream(1)), SWA_JIT_CUDA_ERROR);
    assert_true(cuda->has_failed());
    assert_message_has("cuLaunchKernel failed: CUDA_ERROR_NO_BINARY_FOR_GPU");
    assert_int_equal(cuda->get_depth(), 1);
  }
  cuda->fail_from(1, 999);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
  assert_message_has("cuLaunchKernel failed: an error without a name (999");
  cuda->fail_call(0, 0);
  assert_launched(f);
}

static void launch_of_clusters_has_four_ctas_a_token(void **state)
{
  fixture *f = *state;
  configure(f, "arch=sm_90a kv_tile=128 cluster_size=4");
  const swa_params params = assert_launched(f);
  assert_int_equal(cuda->get_launch(0)->grid[0], 4 * 5);
  assert_int_equal(cuda->get_launch(0)->grid[1], 3);
  assert_int_equal(cuda->get_launch(0)->grid[2], 1);
  assert_int_equal(params.num_tokens, 5);
  f->args.num_tokens = INT32_MAX / 4 + 1;
  assert_refused(f, SWA_JIT_INVALID, "num_tokens is 536870912: the most is 536870911", "cluster_size=0");
}

/* ---- splits ----------------------------------------------------------------------------------------------------- */

/* A kernel of splits with its plan, and arguments with a workspace that is large enough. */
static uint64_t configure_splits(fixture *f, uint32_t num_splits)
{
  uint64_t bytes = 0;
  configure(f, "arch=sm_90a kv_tile=64 splits=1");
  assert_int_equal(sj_tile_plan_make(&f->kernel.config, f->kernel.arch, &f->kernel.plan), SWA_JIT_OK);
  f->kernel.plan.shared_memory_bytes = 150000; /* what the kernel was loaded with */
  work_out(f);
  f->args.num_splits = num_splits;
  assert_int_equal(sj_launch_workspace_bytes(&f->kernel, &f->args, &bytes), SWA_JIT_OK);
  f->args.workspace = launch_args_address(UINT64_C(1) << 50);
  f->args.workspace_bytes = bytes;
  return bytes;
}

static void launch_in_splits_has_ctas_for_each_and_a_workspace(void **state)
{
  fixture *f = *state;
  configure_splits(f, 7);
  const swa_params params = assert_launched(f);
  assert_int_equal(cuda->get_launch(0)->grid[0], 5);
  assert_int_equal(cuda->get_launch(0)->grid[1], 3);
  assert_int_equal(cuda->get_launch(0)->grid[2], 7);
  assert_int_equal(params.num_splits, 7);
  const uint64_t num_units = 5 * 3 * (16 / f->kernel.plan.pass_heads);
  assert_int_equal((uint64_t)(uintptr_t)params.workspace, (UINT64_C(1) << 50) + sj_workspace_offset(num_units));
}

static void launch_in_splits_without_their_workspace_is_refused(void **state)
{
  fixture *f = *state;
  const uint64_t bytes = configure_splits(f, 7);
  char needed[64];
  snprintf(needed, sizeof needed, "this launch needs %llu", (unsigned long long)bytes);
  f->args.workspace_bytes = bytes - 1;
  assert_refused(f, SWA_JIT_INVALID, "workspace_bytes is", needed);
  f->args.workspace = NULL;
  assert_refused(f, SWA_JIT_INVALID, "workspace", "NULL");
  f->args.workspace = launch_args_address(8);
  assert_refused(f, SWA_JIT_INVALID, "workspace is 0x8", "multiple of 16 bytes");
}

/* Counts have room for so many units; without splits there is no such limit. */
static void launch_of_more_units_than_a_workspace_counts_is_refused(void **state)
{
  fixture *f = *state;
  uint64_t bytes = 1;
  configure_splits(f, 2);
  f->args.num_heads = 16;
  f->args.num_tokens = SJ_MAX_UNITS;
  assert_int_equal(sj_launch_workspace_bytes(&f->kernel, &f->args, &f->args.workspace_bytes), SWA_JIT_OK);
  assert_launched(f);
  f->args.num_tokens++;
  assert_refused(f, SWA_JIT_INVALID, "num_tokens 65537 and num_heads 16 make 65537 units", "at most 65536");
  assert_int_equal(sj_launch_workspace_bytes(&f->kernel, &f->args, &bytes), SWA_JIT_INVALID);
  assert_int_equal(bytes, 1);
  configure(f, "arch=sm_90a");
  f->args.num_tokens = SJ_MAX_UNITS + 1;
  assert_int_equal(sj_launch_workspace_bytes(&f->kernel, &f->args, &bytes), SWA_JIT_OK);
  assert_int_equal(bytes, 0);
}

/* ---- programmatic dependent launch ------------------------------------------------------------------------------ */

/* The same launch, told by the other call. Report 48. */
static void launch_dependent_has_the_attribute_and_all_else_alike(void **state)
{
  fixture *f = *state;
  void *stream = cuda->get_stream(0);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, stream), SWA_JIT_OK);
  f->args.flags = SWA_JIT_DECODE_DEPENDENT;
  unsigned calls = cuda->num_calls(NULL);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, stream), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls(NULL), calls + 1);
  assert_string_equal(cuda->get_call(calls), "cuLaunchKernelEx");
  recorded_launch plain = *cuda->get_launch(0);
  const recorded_launch *launch = cuda->get_launch(1);
  assert_true(launch->is_extended);
  assert_true(launch->is_dependent);
  plain.is_extended = plain.is_dependent = true;
  assert_memory_equal(launch, &plain, sizeof plain);
}

static void launch_dependent_before_sm_90a_is_a_plain_one(void **state)
{
  fixture *f = *state;
  static const uint32_t plain[] = {SWA_JIT_ARCH_SM_80, SWA_JIT_ARCH_SM_89};
  static const uint32_t dependent[] = {SWA_JIT_ARCH_SM_90A, SWA_JIT_ARCH_SM_100A, SWA_JIT_ARCH_SM_120A};
  f->args.flags = SWA_JIT_DECODE_DEPENDENT;
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; ++i) {
    f->kernel.arch = sj_arch_find(plain[i]);
    assert_launched(f);
    assert_false(cuda->get_launch(cuda->num_launches() - 1)->is_extended);
  }
  for (size_t i = 0; i < sizeof dependent / sizeof dependent[0]; ++i) {
    f->kernel.arch = sj_arch_find(dependent[i]);
    assert_launched(f);
    assert_true(cuda->get_launch(cuda->num_launches() - 1)->is_dependent);
  }
}

static void launch_dependent_that_the_driver_refuses_names_the_call(void **state)
{
  fixture *f = *state;
  f->args.flags = SWA_JIT_DECODE_DEPENDENT;
  cuda->fail_function("cuLaunchKernelEx", 1, 1);
  assert_int_equal(swa_jit_decode(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
  assert_string_equal(sj_message(), "cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE (1, the stand-in's reason)");
  assert_int_equal(cuda->num_calls("cuLaunchKernel"), 0);
  assert_launched(f);
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
      TEST(launch_packed_gives_the_driver_exactly_this),
      TEST(launch_of_most_tokens_and_heads_fits_the_grid),
      TEST(launch_of_fewer_heads_than_a_group_has_one_group),
      TEST(launch_of_many_kv_heads_has_the_groups_of_each),
      TEST(launch_of_two_scopes_gives_the_driver_both),
      TEST(launch_with_wrong_arguments_does_not_reach_the_driver),
      TEST(launch_of_no_tokens_is_a_success_without_a_launch),
      TEST(launch_with_a_wrong_struct_is_refused_before_anything_else),
      TEST(launch_with_a_larger_struct_depends_on_its_tail),
      TEST(launch_on_a_stream_of_another_architecture_names_both),
      TEST(launch_without_a_current_context_says_what_to_do),
      TEST(launch_that_the_driver_refuses_gives_its_reason),
      TEST(launch_refused_with_each_later_call_failing_still_reports),
      TEST(launch_of_clusters_has_four_ctas_a_token),
      TEST(launch_in_splits_has_ctas_for_each_and_a_workspace),
      TEST(launch_in_splits_without_their_workspace_is_refused),
      TEST(launch_of_more_units_than_a_workspace_counts_is_refused),
      TEST(launch_dependent_has_the_attribute_and_all_else_alike),
      TEST(launch_dependent_before_sm_90a_is_a_plain_one),
      TEST(launch_dependent_that_the_driver_refuses_names_the_call),
  };
  int num_failed = 0;
  for (way = LAUNCH_ARGS_CHECKED; way < LAUNCH_ARGS_NUM_WAYS; way++) {
    num_failed += SJ_TEST_RUN(tests);
  }
  return num_failed == 0 ? 0 : 1;
}
