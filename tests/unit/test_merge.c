/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "test_main.h"

#include "launch.h"
#include "merge.h"
#include "recording_cuda.h"
#include "swa_merge_params.h"

static const recording_cuda *cuda;
static sj_cuda_api api;

typedef struct fixture {
  struct swa_jit_kernel kernel;
  swa_jit_merge_args args;
} fixture;

/* An address that no test may follow. */
static void *address(uintptr_t value)
{
  return (void *)value;
}

/* A merge kernel on one device, loaded; and arguments that are right: 2 parts of 5 tokens, 40 heads, 192 elements. */
static int begin(void **state)
{
  static fixture fixture_storage;
  fixture *f = &fixture_storage;
  *state = f;
  memset(f, 0, sizeof *f);
  cuda->reset();
  cuda->set_params_bytes(sizeof(swa_merge_params));
  if (sj_cuda_api_open(CUDA_RECORDING, NULL, &api) != SWA_JIT_OK) {
    return -1;
  }
  f->kernel.cuda = &api;
  f->kernel.arch = sj_arch_find(SWA_JIT_ARCH_SM_90A);
  f->kernel.config = (swa_jit_config)SWA_JIT_CONFIG_INIT;
  f->kernel.config.arch = SWA_JIT_ARCH_SM_90A;
  f->kernel.config.kernel = SWA_JIT_KERNEL_MERGE;
  bool refused;
  if (sj_tile_plan_make(&f->kernel.config, f->kernel.arch, &f->kernel.plan) != SWA_JIT_OK
      || sj_load_make(&api, f->kernel.arch, &f->kernel.plan, "swa_merge", "\177ELF", &refused, &f->kernel.loaded)
             != SWA_JIT_OK) {
    return -1;
  }
  f->args = (swa_jit_merge_args)SWA_JIT_MERGE_ARGS_INIT;
  f->args.num_parts = 2;
  f->args.num_tokens = 5;
  f->args.num_heads = 40;
  f->args.head_dim = 192;
  f->args.outs[0] = address(0x10000010);
  f->args.outs[1] = address(0x20000020);
  f->args.lses[0] = address(0x30000004);
  f->args.lses[1] = address(0x40000008);
  f->args.out = address(0x50000030);
  f->args.lse = address(0x6000000c);
  f->args.sinks = address(0x70000004);
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

static void assert_refused(const fixture *f, const char *first_part, const char *second_part)
{
  unsigned calls = cuda->num_calls(NULL);
  assert_int_equal(sj_merge_launch(&f->kernel, &f->args, NULL), SWA_JIT_INVALID);
  assert_message_has(first_part);
  assert_message_has(second_part);
  assert_int_equal(cuda->num_calls(NULL), calls);
}

/* Launches and returns the parameter that the driver was given. */
static swa_merge_params assert_launched(const fixture *f)
{
  swa_merge_params params;
  unsigned launches = cuda->num_launches();
  if (sj_merge_launch(&f->kernel, &f->args, NULL) != SWA_JIT_OK) {
    fail_msg("%s", sj_message());
  }
  assert_int_equal(cuda->num_launches(), launches + 1);
  memcpy(&params, cuda->get_launch(launches)->params, sizeof params);
  return params;
}

static void merge_packed_gives_the_driver_exactly_this(void **state)
{
  fixture *f = *state;
  void *stream = cuda->get_stream(0);
  assert_int_equal(sj_merge_launch(&f->kernel, &f->args, stream), SWA_JIT_OK);
  const recorded_launch *launch = cuda->get_launch(0);
  assert_ptr_equal(launch->kernel, f->kernel.loaded.kernel);
  assert_int_equal(launch->grid[0], 5);
  assert_int_equal(launch->grid[1], 8); /* 40 heads of 24 threads each, in CTAs of 128 */
  assert_int_equal(launch->grid[2], 1);
  assert_int_equal(launch->block[0], 128);
  assert_int_equal(launch->block[1], 1);
  assert_int_equal(launch->block[2], 1);
  assert_int_equal(launch->shared_bytes, 0);
  assert_ptr_equal(launch->stream, stream);
  assert_false(launch->has_extra);
  swa_merge_params expected;
  memset(&expected, 0, sizeof expected);
  for (unsigned i = 0; i < 2; i++) {
    expected.outs[i] = f->args.outs[i];
    expected.lses[i] = f->args.lses[i];
  }
  expected.out = f->args.out;
  expected.lse = f->args.lse;
  expected.sinks = f->args.sinks;
  expected.outs_token_stride = expected.out_token_stride = 40 * 192;
  expected.outs_head_stride = expected.out_head_stride = 192;
  expected.lses_token_stride = expected.lse_token_stride = 40;
  expected.lses_head_stride = expected.lse_head_stride = 1;
  expected.num_parts = 2;
  expected.num_heads = 40;
  expected.row_units = 24;
  expected.parts_lse_factor = expected.lse_factor = 1.0f;
  expected.parts_empty_lse = expected.empty_lse = -INFINITY;
  assert_memory_equal(launch->params, &expected, sizeof expected);
}

static void merge_strides_given_are_passed_on(void **state)
{
  fixture *f = *state;
  f->args.outs_token_stride = 8008;
  f->args.outs_head_stride = 200;
  f->args.lses_token_stride = 1;
  f->args.lses_head_stride = 5;
  f->args.out_token_stride = 200;
  f->args.out_head_stride = 1000;
  f->args.lse_token_stride = 1;
  f->args.lse_head_stride = 7;
  swa_merge_params params = assert_launched(f);
  assert_int_equal(params.outs_token_stride, 8008);
  assert_int_equal(params.outs_head_stride, 200);
  assert_int_equal(params.lses_token_stride, 1);
  assert_int_equal(params.lses_head_stride, 5);
  assert_int_equal(params.out_token_stride, 200);
  assert_int_equal(params.out_head_stride, 1000);
  assert_int_equal(params.lse_token_stride, 1);
  assert_int_equal(params.lse_head_stride, 7);
}

static void merge_token_strides_follow_the_head_strides_given(void **state)
{
  fixture *f = *state;
  f->args.outs_head_stride = 200;
  f->args.lses_head_stride = 3;
  f->args.out_head_stride = 208;
  f->args.lse_head_stride = 2;
  swa_merge_params params = assert_launched(f);
  assert_int_equal(params.outs_token_stride, 40 * 200);
  assert_int_equal(params.lses_token_stride, 40 * 3);
  assert_int_equal(params.out_token_stride, 40 * 208);
  assert_int_equal(params.lse_token_stride, 40 * 2);
}

static void merge_forms_become_factors_and_empty_values(void **state)
{
  fixture *f = *state;
  f->args.parts_form = SWA_JIT_LSE_BASE_2 | SWA_JIT_LSE_EMPTY_PLUS_INFINITY;
  swa_merge_params params = assert_launched(f);
  assert_true(params.parts_lse_factor == (float)log(2.0));
  assert_true(params.parts_empty_lse == INFINITY);
  assert_true(params.lse_factor == 1.0f && params.empty_lse == -INFINITY && params.lse_with_sink == 0);
  f->args.parts_form = 0;
  f->args.lse_form = SWA_JIT_LSE_BASE_2 | SWA_JIT_LSE_EMPTY_PLUS_INFINITY | SWA_JIT_LSE_WITH_SINK;
  params = assert_launched(f);
  assert_true(params.parts_lse_factor == 1.0f && params.parts_empty_lse == -INFINITY);
  assert_true(params.lse_factor == (float)(1.0 / log(2.0)) && params.empty_lse == INFINITY);
  assert_int_equal(params.lse_with_sink, 1);
}

static void merge_of_one_to_eight_parts_passes_each(void **state)
{
  fixture *f = *state;
  for (unsigned i = 0; i < 8; i++) {
    f->args.outs[i] = address(0x1000 * (i + 1));
    f->args.lses[i] = address(0x100000 * (i + 1));
  }
  for (f->args.num_parts = 1; f->args.num_parts <= 8; f->args.num_parts++) {
    swa_merge_params params = assert_launched(f);
    assert_int_equal(params.num_parts, f->args.num_parts);
    for (unsigned i = 0; i < 8; i++) {
      assert_ptr_equal(params.outs[i], i < f->args.num_parts ? f->args.outs[i] : NULL);
      assert_ptr_equal(params.lses[i], i < f->args.num_parts ? f->args.lses[i] : NULL);
    }
  }
}

static void merge_without_lse_and_sinks_passes_null(void **state)
{
  fixture *f = *state;
  f->args.lse = NULL;
  f->args.lse_head_stride = -1; /* of a tensor that is not there */
  f->args.sinks = NULL;
  swa_merge_params params = assert_launched(f);
  assert_null(params.lse);
  assert_null(params.sinks);
}

/* The longest row is a CTA, so that the most heads are the most CTAs along y. */
static void merge_of_most_tokens_heads_and_elements_fits_the_grid(void **state)
{
  fixture *f = *state;
  f->args.num_tokens = INT32_MAX;
  f->args.num_heads = 65535;
  f->args.head_dim = 1024;
  for (unsigned i = 0; i < 2; i++) { /* 2^58 bytes a tensor */
    f->args.outs[i] = address((uintptr_t)(1 + i) << 60);
    f->args.lses[i] = address((uintptr_t)(3 + i) << 60);
  }
  f->args.out = address((uintptr_t)5 << 60);
  f->args.lse = address((uintptr_t)6 << 60);
  assert_launched(f);
  assert_int_equal(cuda->get_launch(0)->grid[0], INT32_MAX);
  assert_int_equal(cuda->get_launch(0)->grid[1], 65535);
  f->args.num_heads = 1;
  f->args.head_dim = 8;
  assert_launched(f);
  assert_int_equal(cuda->get_launch(1)->grid[1], 1);
}

static void merge_of_no_tokens_is_a_success_without_a_launch(void **state)
{
  fixture *f = *state;
  unsigned calls = cuda->num_calls(NULL);
  f->args = (swa_jit_merge_args)SWA_JIT_MERGE_ARGS_INIT;
  assert_int_equal(sj_merge_launch(&f->kernel, &f->args, NULL), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls(NULL), calls);
}

static void merge_counts_out_of_range_are_refused(void **state)
{
  static const struct {
    size_t offset;
    uint32_t value;
    const char *message;
    const char *limit;
  } cases[] = {
      {offsetof(swa_jit_merge_args, num_parts), 0, "num_parts is 0", "use 1 to 8"},
      {offsetof(swa_jit_merge_args, num_parts), 9, "num_parts is 9", "merge more in several calls"},
      {offsetof(swa_jit_merge_args, num_tokens), 0x80000000u, "num_tokens is 2147483648", "split the call"},
      {offsetof(swa_jit_merge_args, num_heads), 0, "num_heads is 0", "use 1 to 65535"},
      {offsetof(swa_jit_merge_args, num_heads), 65536, "num_heads is 65536", "use 1 to 65535"},
      {offsetof(swa_jit_merge_args, head_dim), 0, "head_dim is 0", "multiple of 8 from 8 to 1024"},
      {offsetof(swa_jit_merge_args, head_dim), 100, "head_dim is 100", "multiple of 8 from 8 to 1024"},
      {offsetof(swa_jit_merge_args, head_dim), 1032, "head_dim is 1032", "multiple of 8 from 8 to 1024"},
      {offsetof(swa_jit_merge_args, flags), 2, "flags is 2", "the bits that it may have are 1"},
      {offsetof(swa_jit_merge_args, parts_form), 8, "parts_form is 8", "the bits that it may have are 5"},
      {offsetof(swa_jit_merge_args, parts_form), 3, "parts_form is 3", "the sink would count once a part"},
      {offsetof(swa_jit_merge_args, lse_form), 8, "lse_form is 8", "the bits that it may have are 7"},
  };
  fixture *f = *state;
  const swa_jit_merge_args right = f->args;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    memcpy((char *)&f->args + cases[i].offset, &cases[i].value, sizeof cases[i].value);
    assert_refused(f, cases[i].message, cases[i].limit);
    f->args = right;
  }
}

static void merge_with_a_null_or_misaligned_pointer_is_refused(void **state)
{
  static const struct {
    const char *name;
    size_t offset;
    unsigned alignment;
    bool may_be_null;
  } pointers[] = {
      {"outs[0]", offsetof(swa_jit_merge_args, outs), 16, false},
      {"outs[1]", offsetof(swa_jit_merge_args, outs) + sizeof(void *), 16, false},
      {"lses[0]", offsetof(swa_jit_merge_args, lses), 4, false},
      {"lses[1]", offsetof(swa_jit_merge_args, lses) + sizeof(float *), 4, false},
      {"out", offsetof(swa_jit_merge_args, out), 16, false},
      {"lse", offsetof(swa_jit_merge_args, lse), 4, true},
      {"sinks", offsetof(swa_jit_merge_args, sinks), 4, true},
  };
  fixture *f = *state;
  const swa_jit_merge_args right = f->args;
  for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
    char expected[64];
    char limit[64];
    void *wrong = NULL;
    memcpy((char *)&f->args + pointers[i].offset, &wrong, sizeof wrong);
    if (!pointers[i].may_be_null) {
      snprintf(expected, sizeof expected, "%s is NULL", pointers[i].name);
      assert_refused(f, expected, "device address");
    }
    snprintf(limit, sizeof limit, "multiple of %u bytes", pointers[i].alignment);
    for (unsigned off = 1; off < pointers[i].alignment; off *= 2) {
      wrong = address(0x1000 + off);
      memcpy((char *)&f->args + pointers[i].offset, &wrong, sizeof wrong);
      snprintf(expected, sizeof expected, "%s is 0x10", pointers[i].name);
      assert_refused(f, expected, limit);
    }
    f->args = right;
  }
  f->args.outs[2] = address(1); /* of a part that is not there */
  assert_launched(f);
}

static void merge_with_a_wrong_stride_names_it_and_its_limit(void **state)
{
#define STRIDE(field, wrong, limit)                                                                                    \
  {                                                                                                                    \
#field, offsetof(swa_jit_merge_args, field), wrong, limit                                                          \
  }
  static const struct {
    const char *name;
    size_t offset;
    int64_t wrong;
    const char *limit;
  } cases[] = {
      STRIDE(outs_token_stride, 7684, "multiple of 8"),
      STRIDE(outs_token_stride, -8, "the least is 8"),
      STRIDE(outs_head_stride, 184, "the least is 192"),
      STRIDE(lses_token_stride, -1, "the least is 1"),
      STRIDE(lses_head_stride, -1, "the least is 1"),
      STRIDE(out_token_stride, 7684, "multiple of 8"),
      STRIDE(out_token_stride, 7672, "out rows overlap"),
      STRIDE(out_head_stride, 184, "the least is 192"),
      STRIDE(lse_token_stride, 39, "lse rows overlap"),
      STRIDE(lse_head_stride, -1, "the least is 1"),
      STRIDE(outs_head_stride, INT64_MAX - 7, "past 2^63 - 1 bytes"),
      STRIDE(lses_head_stride, INT64_MAX, "past 2^63 - 1 bytes"),
      STRIDE(out_head_stride, INT64_MAX / 16 / 8 * 8, "past 2^63 - 1 bytes"),
      STRIDE(lse_token_stride, INT64_MAX, "past 2^63 - 1 bytes"),
  };
#undef STRIDE
  fixture *f = *state;
  const swa_jit_merge_args right = f->args;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    memcpy((char *)&f->args + cases[i].offset, &cases[i].wrong, sizeof cases[i].wrong);
    assert_refused(f, cases[i].name, cases[i].limit);
    f->args = right;
  }
}

static void merge_in_place_needs_the_same_strides(void **state)
{
  fixture *f = *state;
  f->args.out = address(0x20000020); /* the second part's */
  assert_ptr_equal(assert_launched(f).out, f->args.outs[1]);
  f->args.out_token_stride = 8000;
  assert_refused(f, "out is outs[1], and out_token_stride is 8000 where outs_token_stride is 7680", "must be the same");
  f->args.num_tokens = 1;
  assert_launched(f);
  f->args.out_head_stride = 200;
  assert_refused(f, "out is outs[1], and out_head_stride is 200 where outs_head_stride is 192", "must be the same");
  f->args.num_heads = 1;
  assert_launched(f);
}

static void merge_that_writes_over_what_it_reads_is_refused(void **state)
{
  static const struct {
    size_t written; /* the address's offset in the arguments */
    uintptr_t address;
    const char *message;
  } cases[] = {
      {offsetof(swa_jit_merge_args, lse), 0x40000008, "lse overlaps lses[1]: lse lies from 0x40000008 to 0x40000328"},
      {offsetof(swa_jit_merge_args, lse), 0x30000004 + 4 * 199, "lse overlaps lses[0]"},
      {offsetof(swa_jit_merge_args, lse), 0x20000020 - 4, "lse overlaps outs[1]"},
      {offsetof(swa_jit_merge_args, lse), 0x50000030 + 2 * 38400 - 4, "lse overlaps out"},
      {offsetof(swa_jit_merge_args, lse), 0x70000004 + 4 * 39, "lse overlaps sinks"},
      {offsetof(swa_jit_merge_args, out), 0x10000010 + 2 * 192, "out overlaps outs[0]"},
      {offsetof(swa_jit_merge_args, out), 0x40000010, "out overlaps lses[1]"},
      {offsetof(swa_jit_merge_args, out), 0x70000000, "out overlaps sinks"},
  };
  fixture *f = *state;
  const swa_jit_merge_args right = f->args;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    memcpy((char *)&f->args + cases[i].written, &cases[i].address, sizeof cases[i].address);
    assert_refused(f, cases[i].message, "memory of its own");
    f->args = right;
  }
  f->args.lse = address(0x30000004 + 4 * 200); /* right behind a part's */
  assert_launched(f);
}

/* The tokens' parts and result side by side in one buffer: [tokens, 3, heads, head_dim]. */
static void merge_of_slices_of_one_buffer_is_legal(void **state)
{
  fixture *f = *state;
  const uintptr_t slice = 2 * 40 * 192;
  f->args.outs[1] = address(0x10000010 + slice);
  f->args.out = address(0x10000010 + 2 * slice);
  f->args.outs_token_stride = f->args.out_token_stride = 3 * 40 * 192;
  assert_launched(f);
  f->args.out = address(0x10000010 + 2 * slice - 16);
  assert_refused(f, "out overlaps outs[1]", "memory of its own");
}

static void merge_dependent_has_the_attribute_from_sm_90a_on(void **state)
{
  fixture *f = *state;
  f->args.flags = SWA_JIT_DECODE_DEPENDENT;
  assert_launched(f);
  assert_true(cuda->get_launch(0)->is_dependent);
  f->kernel.arch = sj_arch_find(SWA_JIT_ARCH_SM_89);
  assert_launched(f);
  assert_false(cuda->get_launch(1)->is_dependent);
}

static void merge_with_a_decode_kernel_is_refused_and_the_reverse(void **state)
{
  fixture *f = *state;
  const swa_jit_decode_args decode_args = SWA_JIT_DECODE_ARGS_INIT;
  assert_int_equal(swa_jit_decode(&f->kernel, &decode_args, NULL), SWA_JIT_INVALID);
  assert_message_has("the kernel is one of kernel=merge: pass it to swa_jit_merge");
  f->args.num_tokens = 0; /* the kernel is wrong all the same */
  f->kernel.config.kernel = SWA_JIT_KERNEL_DECODE;
  assert_refused(f, "the kernel is one of kernel=decode", "pass it to swa_jit_decode");
}

static void merge_without_kernel_or_arguments_is_refused(void **state)
{
  fixture *f = *state;
  assert_int_equal(sj_merge_launch(NULL, &f->args, NULL), SWA_JIT_INVALID);
  assert_message_has("kernel is NULL");
  assert_int_equal(sj_merge_launch(&f->kernel, NULL, NULL), SWA_JIT_INVALID);
  assert_message_has("swa_jit_merge_args");
  f->args.size = 8;
  assert_refused(f, "swa_jit_merge_args.size is 8", "");
}

static void merge_of_a_newer_struct_is_taken_while_its_tail_is_zero(void **state)
{
  fixture *f = *state;
  struct {
    swa_jit_merge_args args;
    uint64_t tail;
  } newer = {.args = f->args};
  newer.args.size = sizeof newer;
  assert_int_equal(sj_merge_launch(&f->kernel, &newer.args, NULL), SWA_JIT_OK);
  newer.tail = 1;
  assert_int_equal(sj_merge_launch(&f->kernel, &newer.args, NULL), SWA_JIT_NEWER);
}

static void merge_that_the_driver_refuses_is_a_cuda_error(void **state)
{
  fixture *f = *state;
  cuda->fail_function("cuLaunchKernel", 1, 719);
  assert_int_equal(sj_merge_launch(&f->kernel, &f->args, NULL), SWA_JIT_CUDA_ERROR);
  assert_message_has("cuLaunchKernel failed");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(merge_packed_gives_the_driver_exactly_this),
      TEST(merge_strides_given_are_passed_on),
      TEST(merge_token_strides_follow_the_head_strides_given),
      TEST(merge_forms_become_factors_and_empty_values),
      TEST(merge_of_one_to_eight_parts_passes_each),
      TEST(merge_without_lse_and_sinks_passes_null),
      TEST(merge_of_most_tokens_heads_and_elements_fits_the_grid),
      TEST(merge_of_no_tokens_is_a_success_without_a_launch),
      TEST(merge_counts_out_of_range_are_refused),
      TEST(merge_with_a_null_or_misaligned_pointer_is_refused),
      TEST(merge_with_a_wrong_stride_names_it_and_its_limit),
      TEST(merge_in_place_needs_the_same_strides),
      TEST(merge_that_writes_over_what_it_reads_is_refused),
      TEST(merge_of_slices_of_one_buffer_is_legal),
      TEST(merge_dependent_has_the_attribute_from_sm_90a_on),
      TEST(merge_with_a_decode_kernel_is_refused_and_the_reverse),
      TEST(merge_without_kernel_or_arguments_is_refused),
      TEST(merge_of_a_newer_struct_is_taken_while_its_tail_is_zero),
      TEST(merge_that_the_driver_refuses_is_a_cuda_error),
  };
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL) {
    printf("failed: %s cannot be opened\n", CUDA_RECORDING);
    return 1;
  }
  return SJ_TEST_RUN(tests);
}
