/* SPDX-License-Identifier: Apache-2.0 */
/* Counts, q, out, lse, options, and what may not overlap; the scopes are test_launch_scope.c's. */
#include <math.h>
#include <string.h>

#include "test_main.h"

#include "launch_args.h"
#include "launch_args_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static launch_args_fixture fixture;

static launch_args_fixture *begin(const char *config_text)
{
  launch_args_begin(&fixture, config_text);
  return &fixture;
}

static void assert_invalid(const char *first_part, const char *second_part)
{
  launch_args_assert_refused(&fixture, SWA_JIT_INVALID, first_part, second_part);
}

/* ---- counts --------------------------------------------------------------------------------------------------- */

static void count_that_is_wrong_is_refused_with_its_limit(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  const swa_jit_decode_args right = f->args;
  f->args.num_tokens = (uint32_t)INT32_MAX + 1;
  assert_invalid("num_tokens is 2147483648", "2^31 - 1");
  f->args = right;
  f->args.num_heads = 0;
  assert_invalid("num_heads is 0", "1 to 1048560");
  f->args.num_heads = 65535 * 16 + 1;
  assert_invalid("num_heads is 1048561", "1 to 1048560");
  f->args = right;
  f->args.block_size = 0;
  assert_invalid("block_size is 0", "1 slot");
  f->args.block_size = 2;
  f->args.num_blocks = 1u << 30;
  assert_invalid("num_blocks 1073741824 times block_size 2", "2^31 - 1");
  f->args.num_blocks = UINT64_MAX;
  assert_invalid("num_blocks 18446744073709551615", "2^31 - 1");
}

/* The grid's x is of their CTAs. */
static void tokens_of_clusters_are_a_quarter_as_many(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("kv_tile=128 cluster_size=4");
  uint64_t num_ctas = 0;
  f->args.num_tokens = INT32_MAX / 4;
  assert_int_equal(sj_launch_args_count(&f->config, &f->args, &num_ctas), SWA_JIT_OK);
  f->args.num_tokens++;
  assert_invalid("num_tokens is 536870912: the most is 536870911 with the kernel's cluster_size of 4",
                 "split the call, or get the kernel of cluster_size=0");
  f->args.num_tokens = UINT32_MAX;
  assert_invalid("num_tokens is 4294967295: the most is 2^31 - 1", "split the call");
}

static void kv_heads_share_the_query_heads_in_groups(void **state)
{
  (void)state;
  static const struct {
    uint32_t num_heads, num_kv_heads, kv_heads, kv_head_heads, kv_head_groups;
  } rows[] = {
      {40, 0, 1, 40, 3}, {40, 1, 1, 40, 3}, {40, 8, 8, 5, 1},  {40, 40, 40, 1, 1},
      {96, 8, 8, 12, 1}, {64, 2, 2, 32, 2}, {66, 2, 2, 33, 3}, {8, 1, 1, 8, 1},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    launch_args_fixture *f = begin("kv_format=bf16 head_dim=64");
    f->args.num_heads = rows[i].num_heads;
    f->args.num_kv_heads = rows[i].num_kv_heads;
    const swa_params params = launch_args_make(f);
    assert_int_equal(params.num_heads, rows[i].num_heads);
    assert_int_equal(params.num_kv_heads, rows[i].kv_heads);
    assert_int_equal(params.kv_head_heads, rows[i].kv_head_heads);
    assert_int_equal(params.kv_head_groups, rows[i].kv_head_groups);
  }
}

static void kv_heads_for_each_head_group_round_up(void **state)
{
  (void)state;
  static const uint32_t groups[] = {8, 16, 32, 64, 128};
  for (size_t i = 0; i < COUNT(groups); ++i) {
    launch_args_fixture *f = begin("");
    f->config.head_group = groups[i];
    for (uint32_t heads = 1; heads <= 300; ++heads) {
      f->args.num_heads = heads;
      assert_int_equal(launch_args_make(f).kv_head_groups, (heads + groups[i] - 1) / groups[i]);
    }
  }
}

static void kv_heads_that_do_not_fit_are_refused(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("kv_format=bf16");
  f->args.num_kv_heads = 3;
  assert_invalid("num_kv_heads is 3: it must divide num_heads, 40", "as many query heads");
  f->args.num_kv_heads = 80;
  assert_invalid("num_kv_heads is 80: it must divide num_heads, 40", "as many query heads");
  f->args.num_heads = f->args.num_kv_heads = 65535;
  launch_args_make(f);
  f->args.num_heads = f->args.num_kv_heads = 65536;
  assert_invalid("num_kv_heads is 65536: the most is 65535", "several calls");
  static const char *const footers[] = {"kv_format=footer_584", "kv_format=footer_528"};
  for (size_t i = 0; i < COUNT(footers); ++i) {
    f = begin(footers[i]);
    f->args.num_kv_heads = 2;
    assert_invalid("num_kv_heads is 2, and the kernel's kv_format a footer one", "pass 0 or 1");
  }
  f = begin("extra_size=64");
  f->args.num_kv_heads = 2;
  assert_invalid("num_kv_heads is 2, and the kernel has an extra scope", "pass 0 or 1");
  f->args.num_kv_heads = 1;
  launch_args_make(f);
}

/* ---- q, out, lse ---------------------------------------------------------------------------------------------- */

static void rows_without_strides_are_packed(void **state)
{
  (void)state;
  swa_params params = launch_args_make(begin(""));
  assert_int_equal(params.q_token_stride, 40 * 512);
  assert_int_equal(params.q_head_stride, 512);
  assert_int_equal(params.out_token_stride, 40 * 512);
  assert_int_equal(params.out_head_stride, 512);
  assert_int_equal(params.lse_token_stride, 40);
  assert_int_equal(params.lse_head_stride, 1);
  params = launch_args_make(begin("head_dim=192 head_dim_v=128"));
  assert_int_equal(params.q_token_stride, 40 * 192);
  assert_int_equal(params.q_head_stride, 192);
  assert_int_equal(params.out_token_stride, 40 * 128);
  assert_int_equal(params.out_head_stride, 128);
}

static void rows_with_strides_have_them(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.q_token_stride = 40 * 1024;
  f->args.q_head_stride = 520;
  f->args.out_token_stride = 40 * 2048;
  f->args.out_head_stride = 528;
  f->args.lse_token_stride = 161;
  f->args.lse_head_stride = 4;
  const swa_params params = launch_args_make(f);
  assert_int_equal(params.q_token_stride, 40 * 1024);
  assert_int_equal(params.q_head_stride, 520);
  assert_int_equal(params.out_token_stride, 40 * 2048);
  assert_int_equal(params.out_head_stride, 528);
  assert_int_equal(params.lse_token_stride, 161);
  assert_int_equal(params.lse_head_stride, 4);
}

static void rows_with_a_wrong_address_are_refused(void **state)
{
  (void)state;
  static const launch_args_pointer pointers[] = {
      LAUNCH_ARGS_POINTER(q, 16, false),
      LAUNCH_ARGS_POINTER(out, 16, false),
      LAUNCH_ARGS_POINTER(lse, 4, true),
      LAUNCH_ARGS_POINTER(sinks, 4, true),
  };
  launch_args_assert_pointers_checked(begin("sinks=1"), pointers, COUNT(pointers));
}

static void rows_with_a_wrong_stride_are_refused(void **state)
{
  (void)state;
  static const launch_args_stride cases[] = {
      LAUNCH_ARGS_STRIDE(q_token_stride, 20484, "multiple of 8"),
      LAUNCH_ARGS_STRIDE(q_token_stride, -8, "the least is 8"),
      LAUNCH_ARGS_STRIDE(q_head_stride, 516, "multiple of 8"),
      LAUNCH_ARGS_STRIDE(q_head_stride, 504, "the least is 512"),
      LAUNCH_ARGS_STRIDE(q_head_stride, -512, "the least is 512"),
      LAUNCH_ARGS_STRIDE(out_token_stride, 20484, "multiple of 8"),
      LAUNCH_ARGS_STRIDE(out_token_stride, -8, "the least is 8"),
      LAUNCH_ARGS_STRIDE(out_token_stride, 504, "out_token_stride must be 20480 or more"),
      LAUNCH_ARGS_STRIDE(out_head_stride, 516, "multiple of 8"),
      LAUNCH_ARGS_STRIDE(out_head_stride, 504, "the least is 512"),
      LAUNCH_ARGS_STRIDE(lse_token_stride, -1, "the least is 1"),
      LAUNCH_ARGS_STRIDE(lse_head_stride, -1, "the least is 1"),
      LAUNCH_ARGS_STRIDE(lse_token_stride, 39, "lse_token_stride must be 40 or more"),
      LAUNCH_ARGS_STRIDE(q_token_stride, INT64_MAX - 7, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(q_token_stride, INT64_MAX / 8 - 7, "past 2^63 - 1 bytes"), /* only as bytes, not as elements */
      LAUNCH_ARGS_STRIDE(q_head_stride, INT64_MAX / 64 / 8 * 8, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(out_token_stride, INT64_MAX - 7, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(out_head_stride, INT64_MAX / 64 / 8 * 8, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(lse_token_stride, INT64_MAX, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(lse_head_stride, INT64_MAX, "past 2^63 - 1 bytes"),
  };
  static const launch_args_stride of_v[] = {
      LAUNCH_ARGS_STRIDE(q_head_stride, 184, "the least is 192"),
      LAUNCH_ARGS_STRIDE(out_head_stride, 120, "the least is 128"),
      LAUNCH_ARGS_STRIDE(out_token_stride, 39 * 128, "out_token_stride must be 5120 or more"),
  };
  launch_args_assert_strides_refused(begin(""), cases, COUNT(cases));
  launch_args_assert_strides_refused(begin("head_dim=192 head_dim_v=128"), of_v, COUNT(of_v));
}

/* A stride over an extent of 1 leads nowhere. */
static void rows_of_one_of_each_ignore_what_the_strides_say(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.num_tokens = 1;
  f->args.num_heads = 1;
  f->args.num_blocks = 1;
  f->args.block_size = 1;
  f->args.q_token_stride = f->args.q_head_stride = -8;
  f->args.out_token_stride = f->args.out_head_stride = INT64_MIN;
  f->args.block_stride_bytes = f->args.slot_stride_bytes = f->args.kv_head_stride_bytes = 16;
  f->args.indices_token_stride = -1;
  f->args.lse_token_stride = f->args.lse_head_stride = -1;
  assert_int_equal(launch_args_make(f).num_heads, 1);
  f->args.out_head_stride = 4;
  assert_invalid("out_head_stride is 4", "multiple of 8");
}

static void rows_of_heads_outside_tokens_are_legal(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.q_token_stride = f->args.out_token_stride = 512;
  f->args.q_head_stride = f->args.out_head_stride = 5 * 512;
  f->args.lse_token_stride = 1;
  f->args.lse_head_stride = 5;
  assert_int_equal(launch_args_make(f).lse_head_stride, 5);
  f->args.lse_head_stride = 4;
  assert_invalid("lse rows overlap", "lse_head_stride 5 or more");
  f->args.lse_head_stride = 5;
  f->args.out_head_stride -= 8;
  assert_invalid("out rows overlap", "2560 or more");
}

static void rows_of_out_that_overlap_are_refused(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.out_token_stride = 40 * 512 - 8;
  assert_invalid("out rows overlap", "out_token_stride must be 20480 or more");
  f->args.out_token_stride = 39 * 1024 + 512; /* the least for heads this far apart */
  f->args.out_head_stride = 1024;
  launch_args_make(f);
  f->args.out_token_stride -= 8;
  assert_invalid("out rows overlap", "out_token_stride must be 40448 or more");
}

static void rows_of_q_may_overlap(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.q_token_stride = 8;
  assert_int_equal(launch_args_make(f).q_token_stride, 8);
}

static void lse_without_a_token_stride_follows_its_heads(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.lse_head_stride = 3;
  assert_int_equal(launch_args_make(f).lse_token_stride, 120);
  f->args.lse_head_stride = INT64_MAX / 39; /* a packed token stride would be past 2^63 */
  assert_invalid("lse_token_stride", "past 2^63 - 1 bytes");
}

static void lse_not_wanted_is_null_with_any_stride(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.lse = NULL;
  f->args.lse_token_stride = f->args.lse_head_stride = 1; /* of a tensor that is not there */
  assert_null(launch_args_make(f).lse);
  f->config.lse = 0;
  assert_null(launch_args_make(f).lse);
}

/* ---- options --------------------------------------------------------------------------------------------------- */

static void option_values_are_passed_on(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("sinks=1 soft_cap=1");
  f->args.soft_cap = 50.0f;
  f->args.lse_form = SWA_JIT_LSE_BASE_2 | SWA_JIT_LSE_WITH_SINK | SWA_JIT_LSE_EMPTY_PLUS_INFINITY;
  f->args.flags = SWA_JIT_DECODE_DEPENDENT;
  const swa_params params = launch_args_make(f);
  assert_true(params.soft_cap == 50.0f);
  assert_ptr_equal(params.sinks, f->args.sinks);
  assert_int_equal(params.lse_form, 7);
  f->args.soft_cap = 0.0f;
  f->args.sinks = NULL;
  assert_null(launch_args_make(f).sinks);
}

static void option_scale_takes_any_float(void **state)
{
  (void)state;
  const float scales[] = {0.0f, -0.0f, -3.5f, INFINITY, NAN, 1e-45f};
  for (size_t i = 0; i < COUNT(scales); ++i) {
    launch_args_fixture *f = begin("");
    f->args.scale = scales[i];
    const swa_params params = launch_args_make(f);
    assert_memory_equal(&params.scale, &scales[i], sizeof(float));
  }
}

static void option_of_a_kernel_without_it_is_unsupported(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("lse=0");
  f->args.lse = launch_args_address(0x7000000000000004);
  launch_args_assert_refused(f, SWA_JIT_UNSUPPORTED, "lse is given, but the kernel was compiled with lse=0",
                             "get the kernel of lse=1");
  f = begin("");
  f->args.sinks = launch_args_address(0x0600000000000004);
  launch_args_assert_refused(f, SWA_JIT_UNSUPPORTED, "sinks is given, but the kernel was compiled with sinks=0",
                             "get the kernel of sinks=1");
  f = begin("");
  f->args.soft_cap = 30.0f;
  launch_args_assert_refused(f, SWA_JIT_UNSUPPORTED, "soft_cap is 30, but the kernel was compiled with soft_cap=0",
                             "get the kernel of soft_cap=1");
}

static void option_soft_cap_that_caps_nothing_sensible_is_refused(void **state)
{
  (void)state;
  static const struct {
    float value;
    const char *message;
  } rows[] = {{-1.0f, "soft_cap is -1:"}, {INFINITY, "soft_cap is inf:"}, {-INFINITY, "soft_cap is -inf:"}};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    launch_args_fixture *f = begin("soft_cap=1");
    f->args.soft_cap = rows[i].value;
    assert_invalid(rows[i].message, "a finite number above 0, or 0 for no cap");
  }
  begin("soft_cap=1")->args.soft_cap = NAN;
  assert_invalid("nan: use a finite", "0 for no cap");
}

static void option_bits_that_are_unknown_are_refused(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.lse_form = 9;
  assert_invalid("lse_form is 0x9: the bits known are 0x7", "pass 0");
  f = begin("");
  f->args.flags = 0x80000001;
  assert_invalid("flags is 0x80000001: the bits known are 0x1", "pass 0");
}

/* ---- overlaps -------------------------------------------------------------------------------------------------- */

/* Every input in turn: at out's last byte it is refused, behind it not. */
static void out_over_any_input_is_refused(void **state)
{
  (void)state;
  static const struct {
    const char *config, *name;
    size_t offset;
  } rows[] = {
      {"", "q", offsetof(swa_jit_decode_args, q)},
      {"", "kv", offsetof(swa_jit_decode_args, kv)},
      {"", "inv_scale", offsetof(swa_jit_decode_args, inv_scale)},
      {"", "indices", offsetof(swa_jit_decode_args, indices)},
      {"", "lens", offsetof(swa_jit_decode_args, lens)},
      {"sinks=1", "sinks", offsetof(swa_jit_decode_args, sinks)},
      {"head_dim_v=512", "v", offsetof(swa_jit_decode_args, v)},
      {"head_dim_v=512", "v_inv_scale", offsetof(swa_jit_decode_args, v_inv_scale)},
      {"head_dim_v=512", "v_indices", offsetof(swa_jit_decode_args, v_indices)},
      {"extra_size=64", "extra_kv", offsetof(swa_jit_decode_args, extra_kv)},
      {"extra_size=64", "extra_inv_scale", offsetof(swa_jit_decode_args, extra_inv_scale)},
      {"extra_size=64", "extra_indices", offsetof(swa_jit_decode_args, extra_indices)},
      {"extra_size=64", "extra_lens", offsetof(swa_jit_decode_args, extra_lens)},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    launch_args_fixture *f = begin(rows[i].config);
    char expected[64];
    const char *out = f->args.out;
    const void *over = out + 5 * 40 * 1024 - 16;
    const void *behind = out + 5 * 40 * 1024;
    snprintf(expected, sizeof expected, "out overlaps %s: out lies from 0x4000000000000030 to", rows[i].name);
    launch_args_set(f, rows[i].offset, &over, sizeof over);
    assert_invalid(expected, "give out memory of its own");
    launch_args_set(f, rows[i].offset, &behind, sizeof behind);
    launch_args_make(f);
  }
}

static void lse_over_an_input_or_out_is_refused(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.lse = launch_args_address((uintptr_t)f->args.indices + 16);
  assert_invalid("lse overlaps indices", "give lse memory of its own");
  f->args.lse = launch_args_address((uintptr_t)f->args.q);
  assert_invalid("lse overlaps q", "give lse memory of its own");
  f->args.lse = launch_args_address((uintptr_t)f->args.out + 1024);
  assert_invalid("out overlaps lse", "give out memory of its own");
}

/* Where nothing is given, as LSE here, nothing is overlapped. */
static void workspace_over_anything_else_is_refused(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("splits=1");
  f->args.workspace = launch_args_address(UINT64_C(1) << 50);
  f->args.workspace_bytes = 4096;
  launch_args_make(f);
  const uintptr_t written[] = {(uintptr_t)f->args.out, (uintptr_t)f->args.lse};
  const char *const names[] = {"workspace overlaps out", "workspace overlaps lse"};
  for (size_t i = 0; i < COUNT(written); ++i) {
    f->args.workspace = launch_args_address(written[i] - 4096 + 16);
    assert_invalid(names[i], "give workspace memory of its own");
  }
  f->args.workspace = launch_args_address((uintptr_t)f->args.kv);
  assert_invalid("workspace overlaps kv", "give workspace memory of its own");
  f->args.workspace_bytes = UINT64_MAX;
  assert_invalid("workspace overlaps", "give workspace memory of its own");
  f->args.workspace = NULL; /* the launch says that there is none */
  f->args.workspace_bytes = 0;
  launch_args_make(f);
}

/* A kernel without splits does not look at it. */
static void workspace_of_a_kernel_without_splits_may_be_anywhere(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.workspace = f->args.out;
  f->args.workspace_bytes = 4096;
  launch_args_make(f);
}

/* A pool without slots is not read, so it is nowhere. */
static void out_over_a_pool_that_is_not_read_is_legal(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.kv = f->args.out;
  f->args.num_blocks = 0;
  launch_args_make(f);
}

/* One buffer with q and out of a token side by side, as [T, 2, H, head_dim]. */
static void out_beside_q_in_one_buffer_is_legal(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  const char *q = f->args.q;
  f->args.q_token_stride = f->args.out_token_stride = 2 * 40 * 512;
  f->args.out = launch_args_address((uintptr_t)(q + (size_t)40 * 1024));
  launch_args_make(f);
  f->args.out = launch_args_address((uintptr_t)(q + (size_t)39 * 1024));
  assert_invalid("out overlaps q", "give out memory of its own");
  f->args.out = launch_args_address((uintptr_t)f->args.q);
  assert_invalid("out overlaps q", "give out memory of its own");
}

/* Each row of out with its LSE behind it, as a message of one row a head. */
static void lse_between_the_rows_of_out_is_legal(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.out_head_stride = 520;
  f->args.out_token_stride = 40 * 520;
  f->args.lse_head_stride = 260;
  f->args.lse_token_stride = 40 * 260;
  f->args.lse = launch_args_address((uintptr_t)f->args.out + 1024);
  launch_args_make(f);
  f->args.lse = launch_args_address((uintptr_t)f->args.out + 1020);
  assert_invalid("out overlaps lse", "give out memory of its own");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(count_that_is_wrong_is_refused_with_its_limit),
      cmocka_unit_test(tokens_of_clusters_are_a_quarter_as_many),
      cmocka_unit_test(kv_heads_share_the_query_heads_in_groups),
      cmocka_unit_test(kv_heads_for_each_head_group_round_up),
      cmocka_unit_test(kv_heads_that_do_not_fit_are_refused),
      cmocka_unit_test(rows_without_strides_are_packed),
      cmocka_unit_test(rows_with_strides_have_them),
      cmocka_unit_test(rows_with_a_wrong_address_are_refused),
      cmocka_unit_test(rows_with_a_wrong_stride_are_refused),
      cmocka_unit_test(rows_of_one_of_each_ignore_what_the_strides_say),
      cmocka_unit_test(rows_of_heads_outside_tokens_are_legal),
      cmocka_unit_test(rows_of_out_that_overlap_are_refused),
      cmocka_unit_test(rows_of_q_may_overlap),
      cmocka_unit_test(lse_without_a_token_stride_follows_its_heads),
      cmocka_unit_test(lse_not_wanted_is_null_with_any_stride),
      cmocka_unit_test(option_values_are_passed_on),
      cmocka_unit_test(option_scale_takes_any_float),
      cmocka_unit_test(option_of_a_kernel_without_it_is_unsupported),
      cmocka_unit_test(option_soft_cap_that_caps_nothing_sensible_is_refused),
      cmocka_unit_test(option_bits_that_are_unknown_are_refused),
      cmocka_unit_test(out_over_any_input_is_refused),
      cmocka_unit_test(lse_over_an_input_or_out_is_refused),
      cmocka_unit_test(workspace_over_anything_else_is_refused),
      cmocka_unit_test(workspace_of_a_kernel_without_splits_may_be_anywhere),
      cmocka_unit_test(out_over_a_pool_that_is_not_read_is_legal),
      cmocka_unit_test(out_beside_q_in_one_buffer_is_legal),
      cmocka_unit_test(lse_between_the_rows_of_out_is_legal),
  };
  return SJ_TEST_RUN(tests);
}
