/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "test_main.h"

#include "launch.h"
#include "recording_cuda.h"
#include "swa_params.h"

static const recording_cuda *cuda;
static sj_cuda_api api;

typedef struct fixture {
  struct swa_jit_kernel kernel;
  swa_jit_decode_args args;
} fixture;

/* An address that no test may follow. */
static void *address(uintptr_t value)
{
  return (void *)value;
}

/* A kernel of head_dim 512, head_group 16 and window 128 on one device, loaded; and arguments that are right:
 * 5 tokens, 40 heads, 10 blocks of 64 slots, packed. */
static int begin(void **state)
{
  static fixture fixture_storage;
  fixture *f = &fixture_storage;
  *state = f;
  memset(f, 0, sizeof *f);
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
  f->kernel.config = (swa_jit_config)SWA_JIT_CONFIG_INIT;
  f->kernel.config.arch = SWA_JIT_ARCH_SM_90A;
  f->kernel.plan = (sj_tile_plan){.num_warps = 4, .shared_memory_bytes = 150000};
  bool refused;
  if (sj_load_make(&api, f->kernel.arch, &f->kernel.plan, "swa_decode", "\177ELF", &refused, &f->kernel.loaded)
      != SWA_JIT_OK) {
    return -1;
  }
  f->args = (swa_jit_decode_args)SWA_JIT_DECODE_ARGS_INIT;
  f->args.num_tokens = 5;
  f->args.num_heads = 40;
  f->args.block_size = 64;
  f->args.num_blocks = 10;
  f->args.q = address(0x10000010);
  f->args.kv = address(0x20000020);
  f->args.inv_scale = address(0x30000004);
  f->args.indices = address(0x40000004);
  f->args.lens = address(0x50000004);
  f->args.out = address(0x60000030);
  f->args.lse = address(0x70000004);
  f->args.scale = 0.25f;
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
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, NULL), expected);
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
  swa_jit_status status = sj_launch_decode(&f->kernel, &f->args, NULL);
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
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, stream), SWA_JIT_OK);
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
  expected.window.indices_token_stride = 128;
  expected.out_token_stride = 40 * 512;
  expected.out_head_stride = 512;
  expected.lse_token_stride = 40;
  expected.num_tokens = 5;
  expected.num_heads = 40;
  expected.num_kv_heads = 1;
  expected.kv_head_heads = 40;
  expected.kv_head_groups = 3;
  expected.lse_head_stride = 1;
  expected.window.pool.scale = 1.0f;
  expected.window.block_size = 64;
  expected.window.num_slots = 640;
  expected.scale = 0.25f;
  assert_memory_equal(launch->params, &expected, sizeof expected);
}

static void launch_with_strides_passes_each_on(void **state)
{
  fixture *f = *state;
  f->args.q_token_stride = 40 * 1024;
  f->args.q_head_stride = 520;
  f->args.block_stride_bytes = 64 * 528 + 16;
  f->args.slot_stride_bytes = 528;
  f->args.indices_token_stride = 131;
  f->args.out_token_stride = 40 * 2048;
  f->args.out_head_stride = 528;
  f->args.lse_token_stride = 41;
  swa_params params = assert_launched(f);
  assert_int_equal(params.q_token_stride, 40 * 1024);
  assert_int_equal(params.q_head_stride, 520);
  assert_int_equal(params.window.pool.block_stride_bytes, 64 * 528 + 16);
  assert_int_equal(params.window.pool.slot_stride_bytes, 528);
  assert_int_equal(params.window.indices_token_stride, 131);
  assert_int_equal(params.out_token_stride, 40 * 2048);
  assert_int_equal(params.out_head_stride, 528);
  assert_int_equal(params.lse_token_stride, 41);
}

static void launch_with_padded_slots_packs_the_blocks_by_them(void **state)
{
  fixture *f = *state;
  f->args.slot_stride_bytes = 640;
  assert_int_equal(assert_launched(f).window.pool.block_stride_bytes, 64 * 640);
}

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

static void launch_of_no_tokens_is_a_success_without_a_launch(void **state)
{
  fixture *f = *state;
  unsigned calls = cuda->num_calls(NULL);
  f->args = (swa_jit_decode_args)SWA_JIT_DECODE_ARGS_INIT;
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, NULL), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls(NULL), calls);
}

static void launch_without_blocks_needs_no_pool(void **state)
{
  fixture *f = *state;
  f->args.num_blocks = 0;
  f->args.kv = NULL;
  f->args.inv_scale = NULL;
  swa_params params = assert_launched(f);
  assert_int_equal(params.window.num_slots, 0);
  assert_null(params.window.pool.kv);
  f->args.num_blocks = 1;
  assert_refused(f, SWA_JIT_INVALID, "kv is NULL", "device address");
}

static void launch_with_most_slots_passes_their_number(void **state)
{
  fixture *f = *state;
  f->args.block_size = INT32_MAX;
  f->args.num_blocks = 1;
  assert_int_equal(assert_launched(f).window.num_slots, INT32_MAX);
  f->args.block_size = 1;
  f->args.num_blocks = INT32_MAX;
  assert_int_equal(assert_launched(f).window.num_slots, INT32_MAX);
}

static void launch_with_any_scale_passes_its_bits(void **state)
{
  fixture *f = *state;
  const float scales[] = {0.0f, -0.0f, -3.5f, INFINITY, NAN, 1e-45f};
  for (size_t i = 0; i < sizeof scales / sizeof scales[0]; ++i) {
    f->args.scale = scales[i];
    swa_params params = assert_launched(f);
    assert_memory_equal(&params.scale, &scales[i], sizeof(float));
  }
}

static void launch_without_lse_passes_null(void **state)
{
  fixture *f = *state;
  f->args.lse = NULL;
  f->args.lse_token_stride = 1; /* of a tensor that is not there */
  assert_null(assert_launched(f).lse);
  f->kernel.config.lse = 0;
  assert_null(assert_launched(f).lse);
}

static void launch_with_lse_of_a_kernel_without_is_unsupported(void **state)
{
  fixture *f = *state;
  f->kernel.config.lse = 0;
  assert_refused(f, SWA_JIT_UNSUPPORTED, "lse is given", "lse=1");
}

static void launch_of_heads_outside_tokens_is_legal(void **state)
{
  fixture *f = *state;
  f->args.q_token_stride = 512;
  f->args.q_head_stride = 5 * 512;
  f->args.out_token_stride = 512;
  f->args.out_head_stride = 5 * 512;
  assert_int_equal(assert_launched(f).out_head_stride, 5 * 512);
  f->args.out_head_stride -= 8;
  assert_refused(f, SWA_JIT_INVALID, "out rows overlap", "2560 or more");
}

static void launch_with_overlapping_out_rows_is_refused(void **state)
{
  fixture *f = *state;
  f->args.out_token_stride = 40 * 512 - 8;
  assert_refused(f, SWA_JIT_INVALID, "out rows overlap", "out_token_stride must be 20480 or more");
  f->args.out_token_stride = 39 * 1024 + 512; /* the least for heads this far apart */
  f->args.out_head_stride = 1024;
  assert_launched(f);
  f->args.out_token_stride -= 8;
  assert_refused(f, SWA_JIT_INVALID, "out rows overlap", "out_token_stride must be 40448 or more");
}

static void launch_with_overlapping_q_and_index_rows_is_legal(void **state)
{
  fixture *f = *state;
  f->args.q_token_stride = 8;
  f->args.indices_token_stride = 1;
  assert_int_equal(assert_launched(f).window.indices_token_stride, 1);
}

/* A stride over an extent of 1 leads nowhere. */
static void launch_with_one_of_each_ignores_what_the_strides_say(void **state)
{
  fixture *f = *state;
  f->args.num_tokens = 1;
  f->args.num_heads = 1;
  f->args.num_blocks = 1;
  f->args.block_size = 1;
  f->args.q_token_stride = f->args.q_head_stride = -8;
  f->args.out_token_stride = f->args.out_head_stride = INT64_MIN;
  f->args.block_stride_bytes = f->args.slot_stride_bytes = 16;
  f->args.indices_token_stride = -1;
  f->args.lse_token_stride = -1;
  assert_int_equal(assert_launched(f).num_heads, 1);
  f->args.out_head_stride = 4;
  assert_refused(f, SWA_JIT_INVALID, "out_head_stride is 4", "multiple of 8");
}

static void launch_with_a_null_or_misaligned_pointer_is_refused(void **state)
{
  static const struct {
    const char *name;
    size_t offset;
    unsigned alignment;
    bool may_be_null;
  } pointers[] = {
      {"q", offsetof(swa_jit_decode_args, q), 16, false},
      {"kv", offsetof(swa_jit_decode_args, kv), 16, false},
      {"inv_scale", offsetof(swa_jit_decode_args, inv_scale), 4, false},
      {"indices", offsetof(swa_jit_decode_args, indices), 4, false},
      {"lens", offsetof(swa_jit_decode_args, lens), 4, false},
      {"out", offsetof(swa_jit_decode_args, out), 16, false},
      {"lse", offsetof(swa_jit_decode_args, lse), 4, true},
  };
  fixture *f = *state;
  const swa_jit_decode_args right = f->args;
  for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; ++i) {
    char expected[64];
    char limit[64];
    void *wrong = NULL;
    memcpy((char *)&f->args + pointers[i].offset, &wrong, sizeof wrong);
    if (!pointers[i].may_be_null) {
      snprintf(expected, sizeof expected, "%s is NULL", pointers[i].name);
      assert_refused(f, SWA_JIT_INVALID, expected, "device address");
    }
    snprintf(limit, sizeof limit, "multiple of %u bytes", pointers[i].alignment);
    for (unsigned off = 1; off < pointers[i].alignment; off *= 2) {
      wrong = address(0x1000 + off);
      memcpy((char *)&f->args + pointers[i].offset, &wrong, sizeof wrong);
      snprintf(expected, sizeof expected, "%s is 0x10", pointers[i].name);
      assert_refused(f, SWA_JIT_INVALID, expected, limit);
    }
    f->args = right;
  }
  assert_launched(f);
}

static void launch_with_wide_integers_and_narrow_scales_checks_their_alignment(void **state)
{
  fixture *f = *state;
  f->kernel.config.index_type = SWA_JIT_INT64;
  assert_refused(f, SWA_JIT_INVALID, "indices is 0x40000004", "multiple of 8 bytes");
  f->args.indices = address(0x40000008);
  f->kernel.config.lens_type = SWA_JIT_INT64;
  assert_refused(f, SWA_JIT_INVALID, "lens is 0x50000004", "multiple of 8 bytes");
  f->args.lens = address(0x50000008);
  f->kernel.config.scale_type = SWA_JIT_BFLOAT16;
  f->args.inv_scale = address(0x30000002);
  assert_launched(f);
  f->args.inv_scale = address(0x30000001);
  assert_refused(f, SWA_JIT_INVALID, "inv_scale is 0x30000001", "multiple of 2 bytes");
}

typedef struct stride_case {
  const char *name;
  size_t offset;
  int64_t wrong;
  const char *limit;
} stride_case;

#define STRIDE(field, wrong, limit)                                                                                    \
  {                                                                                                                    \
#field, offsetof(swa_jit_decode_args, field), wrong, limit                                                         \
  }

static void launch_with_a_wrong_stride_names_it_and_its_limit(void **state)
{
  static const stride_case cases[] = {
      STRIDE(q_token_stride, 20484, "multiple of 8"),
      STRIDE(q_token_stride, -8, "the least is 8"),
      STRIDE(q_head_stride, 516, "multiple of 8"),
      STRIDE(q_head_stride, 504, "the least is 512"),
      STRIDE(q_head_stride, -512, "the least is 512"),
      STRIDE(block_stride_bytes, 32776, "multiple of 16"),
      STRIDE(block_stride_bytes, 32752, "the least is 32768"),
      STRIDE(slot_stride_bytes, 520, "multiple of 16"),
      STRIDE(slot_stride_bytes, 496, "the least is 512"),
      STRIDE(slot_stride_bytes, -512, "the least is 512"),
      STRIDE(indices_token_stride, -1, "the least is 1"),
      STRIDE(out_token_stride, 20484, "multiple of 8"),
      STRIDE(out_token_stride, 504, "the least is 512"),
      STRIDE(out_head_stride, 516, "multiple of 8"),
      STRIDE(out_head_stride, 504, "the least is 512"),
      STRIDE(lse_token_stride, 39, "the least is 40"),
      STRIDE(q_token_stride, INT64_MAX - 7, "past 2^63 - 1 bytes"),
      STRIDE(q_token_stride, INT64_MAX / 8 - 7, "past 2^63 - 1 bytes"), /* only as bytes, not as elements */
      STRIDE(q_head_stride, INT64_MAX / 64 / 8 * 8, "past 2^63 - 1 bytes"),
      STRIDE(block_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
      STRIDE(slot_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
      STRIDE(indices_token_stride, INT64_MAX, "past 2^63 - 1 bytes"),
      STRIDE(out_token_stride, INT64_MAX - 7, "past 2^63 - 1 bytes"),
      STRIDE(out_head_stride, INT64_MAX / 64 / 8 * 8, "past 2^63 - 1 bytes"),
      STRIDE(lse_token_stride, INT64_MAX, "past 2^63 - 1 bytes"),
  };
  fixture *f = *state;
  const swa_jit_decode_args right = f->args;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    char expected[96];
    memcpy((char *)&f->args + cases[i].offset, &cases[i].wrong, sizeof cases[i].wrong);
    snprintf(expected, sizeof expected, "%s ", cases[i].name);
    assert_refused(f, SWA_JIT_INVALID, expected, cases[i].limit);
    f->args = right;
  }
}

/* The last row of a block ends it: nothing behind it need be there. */
static void launch_with_the_tightest_block_stride_is_legal(void **state)
{
  fixture *f = *state;
  f->args.slot_stride_bytes = 1024;
  f->args.block_stride_bytes = 63 * 1024 + 512;
  assert_launched(f);
  f->args.block_stride_bytes -= 16;
  assert_refused(f, SWA_JIT_INVALID, "block_stride_bytes is 65008", "the least is 65024");
}

/* Two rows, the second of which would just end past the last byte that an address can reach. */
static void launch_with_a_row_across_the_last_address_is_refused(void **state)
{
  fixture *f = *state;
  f->args.block_size = 1;
  f->args.num_blocks = 2;
  f->args.block_stride_bytes = INT64_MAX - 15;
  assert_refused(f, SWA_JIT_INVALID, "block_stride_bytes 9223372036854775792", "past 2^63 - 1 bytes");
  f->args.block_stride_bytes = INT64_MAX - 15 - 512;
  assert_launched(f);
  f->args.block_stride_bytes = 0;
  f->args.block_size = 2;
  f->args.slot_stride_bytes = INT64_MAX / 2 + 1; /* a packed block stride would be 2^63 */
  assert_refused(f, SWA_JIT_INVALID, "block_stride_bytes 9223372036854775792", "past 2^63 - 1 bytes");
}

static void launch_with_a_wrong_count_names_it_and_its_limit(void **state)
{
  fixture *f = *state;
  const swa_jit_decode_args right = f->args;
  f->args.num_tokens = (uint32_t)INT32_MAX + 1;
  assert_refused(f, SWA_JIT_INVALID, "num_tokens is 2147483648", "2^31 - 1");
  f->args = right;
  f->args.num_heads = 0;
  assert_refused(f, SWA_JIT_INVALID, "num_heads is 0", "1 to 1048560");
  f->args.num_heads = 65535 * 16 + 1;
  assert_refused(f, SWA_JIT_INVALID, "num_heads is 1048561", "1 to 1048560");
  f->args = right;
  f->args.block_size = 0;
  assert_refused(f, SWA_JIT_INVALID, "block_size is 0", "1 slot");
  f->args.block_size = 2;
  f->args.num_blocks = 1u << 30;
  assert_refused(f, SWA_JIT_INVALID, "num_blocks 1073741824 times block_size 2", "2^31 - 1");
  f->args.num_blocks = UINT64_MAX;
  assert_refused(f, SWA_JIT_INVALID, "num_blocks 18446744073709551615", "2^31 - 1");
}

static void launch_with_a_wrong_struct_is_refused_before_anything_else(void **state)
{
  fixture *f = *state;
  f->args.num_tokens = 0;
  f->args.reserved = 3;
  assert_refused(f, SWA_JIT_INVALID, "reserved is 3", "must be 0");
  f->args.size = 8;
  assert_refused(f, SWA_JIT_INVALID, "swa_jit_decode_args.size is 8", "320");
  assert_int_equal(sj_launch_decode(&f->kernel, NULL, NULL), SWA_JIT_INVALID);
  assert_message_has("swa_jit_decode_args is NULL");
  assert_int_equal(sj_launch_decode(NULL, &f->args, NULL), SWA_JIT_INVALID);
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
  assert_int_equal(sj_launch_decode(&f->kernel, &larger.args, NULL), SWA_JIT_OK);
  larger.later_field = 1;
  assert_int_equal(sj_launch_decode(&f->kernel, &larger.args, NULL), SWA_JIT_NEWER);
  assert_int_equal(cuda->num_launches(), 1);
}

static void launch_on_a_stream_of_another_architecture_names_both(void **state)
{
  fixture *f = *state;
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, cuda->get_stream(1)), SWA_JIT_WRONG_DEVICE);
  assert_message_has("sm_90a");
  assert_message_has("stream's device has compute capability 10.0 (sm_100a)");
  assert_int_equal(cuda->get_depth(), 1);
  cuda->set_current(1);
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, NULL), SWA_JIT_WRONG_DEVICE);
  assert_message_has("current context's device has compute capability 10.0");
  assert_int_equal(cuda->num_launches(), 0);
}

static void launch_without_a_current_context_says_what_to_do(void **state)
{
  fixture *f = *state;
  cuda->set_current(-1);
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
  assert_message_has("cuLaunchKernel failed: CUDA_ERROR_INVALID_CONTEXT");
  assert_message_has("make a context current");
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, cuda->get_stream(0)), SWA_JIT_OK);
}

static void launch_that_the_driver_refuses_gives_its_reason(void **state)
{
  fixture *f = *state;
  cuda->fail_function("cuLaunchKernel", 1, 1);
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
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
    assert_int_equal(sj_launch_decode(&f->kernel, &f->args, cuda->get_stream(1)), SWA_JIT_CUDA_ERROR);
    assert_true(cuda->has_failed());
    assert_message_has("cuLaunchKernel failed: CUDA_ERROR_NO_BINARY_FOR_GPU");
    assert_int_equal(cuda->get_depth(), 1);
  }
  cuda->fail_from(1, 999);
  assert_int_equal(sj_launch_decode(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
  assert_message_has("cuLaunchKernel failed: an error without a name (999");
  cuda->fail_call(0, 0);
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
      TEST(launch_with_strides_passes_each_on),
      TEST(launch_with_padded_slots_packs_the_blocks_by_them),
      TEST(launch_of_most_tokens_and_heads_fits_the_grid),
      TEST(launch_of_fewer_heads_than_a_group_has_one_group),
      TEST(launch_of_no_tokens_is_a_success_without_a_launch),
      TEST(launch_without_blocks_needs_no_pool),
      TEST(launch_with_most_slots_passes_their_number),
      TEST(launch_with_any_scale_passes_its_bits),
      TEST(launch_without_lse_passes_null),
      TEST(launch_with_lse_of_a_kernel_without_is_unsupported),
      TEST(launch_of_heads_outside_tokens_is_legal),
      TEST(launch_with_overlapping_out_rows_is_refused),
      TEST(launch_with_overlapping_q_and_index_rows_is_legal),
      TEST(launch_with_one_of_each_ignores_what_the_strides_say),
      TEST(launch_with_a_null_or_misaligned_pointer_is_refused),
      TEST(launch_with_wide_integers_and_narrow_scales_checks_their_alignment),
      TEST(launch_with_a_wrong_stride_names_it_and_its_limit),
      TEST(launch_with_the_tightest_block_stride_is_legal),
      TEST(launch_with_a_row_across_the_last_address_is_refused),
      TEST(launch_with_a_wrong_count_names_it_and_its_limit),
      TEST(launch_with_a_wrong_struct_is_refused_before_anything_else),
      TEST(launch_with_a_larger_struct_depends_on_its_tail),
      TEST(launch_on_a_stream_of_another_architecture_names_both),
      TEST(launch_without_a_current_context_says_what_to_do),
      TEST(launch_that_the_driver_refuses_gives_its_reason),
      TEST(launch_refused_with_each_later_call_failing_still_reports),
  };
  return SJ_TEST_RUN(tests);
}
