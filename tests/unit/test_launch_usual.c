/* SPDX-License-Identifier: Apache-2.0 */
/* What the usual way finds right is right, and of what is wrong nothing gets through: each of its terms in turn.
 * Arguments at random are test_launch_plain.c's. */
#include <string.h>

#include "test_main.h"

#include "launch_args_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static launch_args_fixture fixture;

/* At addresses as a device has them, far from each other; 5 tokens, 40 heads, 10 blocks of 64 slots. */
static launch_args_fixture *begin(const char *config_text)
{
  launch_args_begin(&fixture, config_text);
  swa_jit_decode_args *args = &fixture.args;
  args->q = launch_args_address(0x7f0000000000);
  args->kv = launch_args_address(0x7f0100000000);
  args->inv_scale = launch_args_address(0x7f0200000000);
  args->indices = launch_args_address(0x7f0300000000);
  args->lens = launch_args_address(0x7f0400000004);
  args->out = launch_args_address(0x7f8000000000);
  args->lse = NULL;
  args->sinks = NULL;
  return &fixture;
}

static void set_address(const void **address_out, uint64_t value)
{
  *address_out = launch_args_address(value);
}

typedef struct row {
  size_t offset, bytes;
  uint64_t value;
  const char *refused; /* part of the message; NULL: right, but not usual */
} row;

#define ROW(field, value, refused)                                                                                     \
  {                                                                                                                    \
    offsetof(swa_jit_decode_args, field), sizeof(((swa_jit_decode_args *)NULL)->field), (uint64_t)(value), refused     \
  }

static void assert_each_is_odd(const char *config_text, const row *rows, size_t num_rows)
{
  for (size_t i = 0; i < num_rows; i++) {
    launch_args_fixture *f = begin(config_text);
    assert_true(launch_args_is_usual(f));
    launch_args_set(f, rows[i].offset, &rows[i].value, rows[i].bytes);
    if (launch_args_is_usual(f)) {
      fail_msg("row %zu is usual", i);
    }
    if (rows[i].refused != NULL) {
      launch_args_assert_refused(f, SWA_JIT_INVALID, rows[i].refused, "");
    } else {
      launch_args_make(f);
    }
  }
}

static void counts_that_are_wrong_are_odd(void **state)
{
  (void)state;
  static const row rows[] = {
      ROW(num_tokens, UINT32_C(1) << 31, "num_tokens is 2147483648"),
      ROW(num_heads, 0, "num_heads is 0"),
      ROW(num_heads, 65535 * 16 + 1, "num_heads is 1048561"),
      ROW(block_size, 0, "block_size is 0"),
      ROW(num_blocks, 0, NULL),
      ROW(num_blocks, (UINT64_C(1) << 31) / 64, "too many slots"),
      ROW(num_blocks, UINT64_C(1) << 58, "too many slots"), /* times 64 is 0 in 64 bits */
      ROW(num_blocks, UINT64_MAX, "too many slots"),
  };
  static const row head_rows[] = {ROW(num_heads, 65535 * 8 + 1, "num_heads is 524281")}; /* no stride is too long */
  assert_each_is_odd("", rows, COUNT(rows));
  assert_each_is_odd("kv_format=bf16 head_dim=64 head_group=8", head_rows, COUNT(head_rows));
}

/* With so many, only far from the others. */
static void slots_of_more_than_31_bits_are_odd(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.kv = launch_args_address(UINT64_C(1) << 50);
  f->args.inv_scale = launch_args_address(UINT64_C(1) << 51);
  f->args.num_blocks = (UINT64_C(1) << 31) / 64 - 1;
  assert_true(launch_args_is_usual(f));
  f->args.num_blocks++;
  assert_false(launch_args_is_usual(f));
  launch_args_assert_refused(f, SWA_JIT_INVALID, "too many slots", "");
}

static void tokens_of_more_ctas_than_a_grid_has_are_odd(void **state)
{
  (void)state;
  for (uint32_t cluster_size = 0; cluster_size <= 4; cluster_size += 4) {
    launch_args_fixture *f = begin("kv_tile=128 lse=0");
    const uint32_t most = INT32_MAX / (cluster_size != 0 ? cluster_size : 1);
    f->config.cluster_size = cluster_size;
    f->args.num_heads = 1;
    f->args.q = launch_args_address(UINT64_C(1) << 50);
    f->args.out = launch_args_address(UINT64_C(1) << 51);
    f->args.indices = launch_args_address(UINT64_C(1) << 52);
    f->args.lens = launch_args_address(UINT64_C(1) << 53);
    f->args.num_tokens = most;
    assert_true(launch_args_is_usual(f));
    f->args.num_tokens++;
    assert_false(launch_args_is_usual(f));
    launch_args_assert_refused(f, SWA_JIT_INVALID, "num_tokens is", "the most is");
  }
}

/* They launch nothing. The second time where no overlap is seen: tensors of -1 tokens end before they begin. */
static void no_tokens_are_odd(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.num_tokens = 0;
  assert_false(launch_args_is_usual(f));
  f->args.q = (char *)f->args.out + 256;
  f->args.q_token_stride = 2 * 40 * 512;
  f->args.indices = (char *)f->args.out + 4096;
  f->args.indices_token_stride = 1 << 20;
  f->args.lens = f->args.out;
  assert_false(launch_args_is_usual(f));
}

static void addresses_that_are_wrong_are_odd(void **state)
{
  (void)state;
  static const row rows[] = {
      ROW(q, 0, "q is NULL"),
      ROW(q, 0x7f0000000008, "q is 0x7f0000000008"),
      ROW(q, (UINT64_C(1) << 62) + 16, NULL),
      ROW(kv, 0, "kv is NULL"),
      ROW(kv, 0x7f0100000008, "kv is 0x7f0100000008"),
      ROW(kv, (UINT64_C(1) << 62) + 16, NULL),
      ROW(inv_scale, 0, "inv_scale is NULL"),
      ROW(inv_scale, 0x7f0200000002, "inv_scale is 0x7f0200000002"),
      ROW(inv_scale, 0x7f0200000004, NULL),
      ROW(inv_scale, (UINT64_C(1) << 62) + 16, NULL),
      ROW(indices, 0, "indices is NULL"),
      ROW(indices, 0x7f0300000002, "indices is 0x7f0300000002"),
      ROW(indices, 0x7f0300000004, NULL),
      ROW(indices, (UINT64_C(1) << 62) + 16, NULL),
      ROW(lens, 0, "lens is NULL"),
      ROW(lens, 0x7f0400000002, "lens is 0x7f0400000002"),
      ROW(lens, (UINT64_C(1) << 62) + 16, NULL),
      ROW(out, 0, "out is NULL"),
      ROW(out, 0x7f8000000008, "out is 0x7f8000000008"),
      ROW(out, (UINT64_C(1) << 62) + 16, NULL),
  };
  assert_each_is_odd("", rows, COUNT(rows));
  static const row of_eight[] = {ROW(lens, 0x7f0400000004, "lens is 0x7f0400000004")};
  launch_args_fixture *f = begin("lens_type=int64");
  assert_false(launch_args_is_usual(f)); /* lens as begin places it */
  launch_args_set(f, of_eight[0].offset, &of_eight[0].value, of_eight[0].bytes);
  launch_args_assert_refused(f, SWA_JIT_INVALID, of_eight[0].refused, "multiple of 8 bytes");
}

static void strides_that_are_wrong_are_odd(void **state)
{
  (void)state;
  static const row rows[] = {
      ROW(q_head_stride, 504, "q_head_stride is 504"),
      ROW(q_head_stride, 516, "q_head_stride is 516"),
      ROW(q_head_stride, INT64_MIN, "q_head_stride is -9223372036854775808"),
      ROW(q_token_stride, 40 * 512 + 4, "q_token_stride is 20484"),
      ROW(q_token_stride, -8, "q_token_stride is -8"),
      ROW(q_token_stride, 1 << 28, NULL),
      ROW(out_head_stride, 504, "out_head_stride is 504"),
      ROW(out_head_stride, 516, "out_head_stride is 516"),
      ROW(out_head_stride, -8, "out_head_stride is -8"),
      ROW(out_head_stride, 520, "out rows overlap"), /* the packed token stride knows nothing of it */
      ROW(out_token_stride, 40 * 512 + 4, "out_token_stride is 20484"),
      ROW(out_token_stride, 40 * 512 - 8, "out rows overlap"),
      ROW(out_token_stride, 1 << 28, NULL),
      ROW(indices_token_stride, -1, "indices_token_stride is -1"),
      ROW(indices_token_stride, 1 << 28, NULL),
      ROW(slot_stride_bytes, 496, "slot_stride_bytes is 496"),
      ROW(slot_stride_bytes, 520, "slot_stride_bytes is 520"),
      ROW(slot_stride_bytes, -512, "slot_stride_bytes is -512"),
      ROW(block_stride_bytes, 64 * 512 - 16, "block_stride_bytes is 32752"),
      ROW(block_stride_bytes, 64 * 512 + 8, "block_stride_bytes is 32776"),
      ROW(block_stride_bytes, -32768, "block_stride_bytes"),
      ROW(block_stride_bytes, UINT64_C(1) << 31, NULL),
      ROW(kv_head_stride_bytes, 520, "kv_head_stride_bytes is 520"),
  };
  assert_each_is_odd("", rows, COUNT(rows));
}

/* Each is seen by itself: a block is large enough for its slots only if that is not so. */
static void slot_strides_that_are_wrong_are_odd_whatever_the_block_stride(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.block_stride_bytes = 64 * 512;
  f->args.slot_stride_bytes = 496;
  assert_false(launch_args_is_usual(f));
  launch_args_assert_refused(f, SWA_JIT_INVALID, "slot_stride_bytes is 496", "the least is 512");
  f->args.slot_stride_bytes = INT64_MIN + 512; /* twice it is 1024 in 64 bits */
  f->args.block_stride_bytes = 2048;
  f->args.block_size = 3;
  assert_false(launch_args_is_usual(f));
  launch_args_assert_refused(f, SWA_JIT_INVALID, "slot_stride_bytes is -9223372036854775296", "");
}

static void footer_blocks_that_are_wrong_are_odd(void **state)
{
  (void)state;
  static const row rows[] = {
      ROW(block_size, 63, "block_stride_bytes is 36792"), /* packed, no multiple of 16 */
      ROW(block_stride_bytes, 64 * 584 - 16, "block_stride_bytes is 37360"),
      ROW(slot_stride_bytes, 592, "slot_stride_bytes is 592"),
      ROW(slot_stride_bytes, 560, "slot_stride_bytes is 560"),
      ROW(slot_stride_bytes, 576 + (INT64_C(1) << 61), "slot_stride_bytes is"), /* 8 times too much is 0 in 64 bits */
  };
  assert_each_is_odd("kv_format=footer_584", rows, COUNT(rows));
  launch_args_fixture *f = begin("kv_format=footer_584");
  f->args.num_blocks = 1;
  f->args.block_size = 63; /* a single block's stride is rounded up */
  assert_false(launch_args_is_usual(f));
  launch_args_make(f);
  f->args.block_stride_bytes = 64 * 584;
  f->args.slot_stride_bytes = 576;
  f->args.num_blocks = 2;
  assert_true(launch_args_is_usual(f));
  f = begin("kv_format=footer_584"); /* behind the last slot's row there are footers */
  f->args.out = (char *)f->args.kv + 10 * 64 * 584;
  f->args.out = (char *)f->args.out - (uintptr_t)f->args.out % 16;
  assert_true(launch_args_is_usual(f));
  f->args.out = (char *)f->args.out - 16;
  assert_false(launch_args_is_usual(f));
  launch_args_assert_refused(f, SWA_JIT_INVALID, "out overlaps kv", "");
}

/* Each input just before and just behind out is usual; a step nearer it overlaps. */
static void inputs_that_touch_out_are_usual_and_those_that_overlap_it_odd(void **state)
{
  (void)state;
  static const struct {
    const char *name;
    size_t offset;
    uint64_t bytes, step;
  } inputs[] = {
      {"out overlaps q", offsetof(swa_jit_decode_args, q), UINT64_C(5) * 40 * 512 * 2, 16},
      {"out overlaps kv", offsetof(swa_jit_decode_args, kv), UINT64_C(10) * 64 * 512, 16},
      {"out overlaps inv_scale", offsetof(swa_jit_decode_args, inv_scale), UINT64_C(10) * 64 * 4, 8},
      {"out overlaps indices", offsetof(swa_jit_decode_args, indices), UINT64_C(4) * 128 * 4, 8},
      {"out overlaps lens", offsetof(swa_jit_decode_args, lens), UINT64_C(5) * 4, 4},
  };
  const uint64_t out_bytes = UINT64_C(5) * 40 * 512 * 2;
  for (size_t i = 0; i < COUNT(inputs); i++) {
    launch_args_fixture *f = begin("");
    const uint64_t out = (uintptr_t)f->args.out;
    const uint64_t right[] = {out - inputs[i].bytes, out + out_bytes};
    const uint64_t wrong[] = {right[0] + inputs[i].step, out, out + inputs[i].step, right[1] - inputs[i].step};
    for (size_t n = 0; n < COUNT(right); n++) {
      launch_args_set(f, inputs[i].offset, &right[n], sizeof right[n]);
      assert_true(launch_args_is_usual(f));
    }
    for (size_t n = 0; n < COUNT(wrong); n++) {
      launch_args_set(f, inputs[i].offset, &wrong[n], sizeof wrong[n]);
      assert_false(launch_args_is_usual(f));
      launch_args_assert_refused(f, SWA_JIT_INVALID, inputs[i].name, "");
    }
  }
}

/* The indices of one token lie nowhere for certain: how many there are only lens tells. */
static void indices_of_one_token_are_odd_within_out_alone(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  const uint64_t out = (uintptr_t)f->args.out, out_bytes = UINT64_C(40) * 512 * 2;
  f->args.num_tokens = 1;
  set_address(&f->args.indices, out);
  assert_true(launch_args_is_usual(f));
  set_address(&f->args.indices, out + out_bytes);
  assert_true(launch_args_is_usual(f));
  set_address(&f->args.indices, out + 8);
  assert_false(launch_args_is_usual(f));
  launch_args_assert_refused(f, SWA_JIT_INVALID, "out overlaps indices", "");
}

/* ---- what few launches have ------------------------------------------------------------------------------------ */

static void rest_that_is_right_is_usual(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("sinks=1 soft_cap=1 splits=1");
  f->args.workspace = launch_args_address(0x7e0000000000);
  f->args.workspace_bytes = 1 << 20;
  assert_true(launch_args_is_usual(f));
  f->args.sinks = launch_args_address(0x7f0600000004);
  f->args.lse = launch_args_address(0x7f0700000004);
  f->args.lse_form = SWA_JIT_LSE_BASE_2;
  f->args.flags = SWA_JIT_DECODE_DEPENDENT;
  f->args.soft_cap = 30.0f;
  f->args.num_splits = 4;
  assert_true(launch_args_is_usual(f));
}

/* Each has to be noticed by itself, as the kernel has none of it. */
static void rest_that_the_kernel_lacks_is_not_usual(void **state)
{
  (void)state;
  static const row rows[] = {
      ROW(sinks, 0x7f0600000000, "sinks is given"),        ROW(lse, 0x7f0700000000, "lse is given"),
      ROW(soft_cap, 0x41f00000, "soft_cap is 30"),         ROW(num_splits, 2, "num_splits is 2"),
      ROW(lse_form, UINT32_C(1) << 31, "lse_form is 0x8"), ROW(flags, UINT32_C(1) << 31, "flags is 0x8"),
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const swa_jit_status status = i < 4 ? SWA_JIT_UNSUPPORTED : SWA_JIT_INVALID;
    launch_args_fixture *f = begin("lse=0");
    launch_args_set(f, rows[i].offset, &rows[i].value, rows[i].bytes);
    assert_false(launch_args_is_usual(f));
    launch_args_assert_refused(f, status, rows[i].refused, "");
  }
}

static void rest_that_is_wrong_is_not_usual(void **state)
{
  (void)state;
  static const row rows[] = {
      ROW(sinks, 0x7f0600000002, "sinks is 0x7f0600000002"),
      ROW(sinks, 0x7f8000000000, "out overlaps sinks"),
      ROW(lse, 0x7f0700000002, "lse is 0x7f0700000002"),
      ROW(lse, 0x7f8000000000, "out overlaps lse"),
      ROW(lse, 0x7f0000000000, "lse overlaps q"),
      ROW(lse, 0x7f0100000000, "lse overlaps kv"),
      ROW(lse, 0x7f0200000000, "lse overlaps inv_scale"),
      ROW(lse, 0x7f0300000000, "lse overlaps indices"),
      ROW(lse, 0x7f0400000000, "lse overlaps lens"),
      ROW(lse, 0x7f0600000000, "lse overlaps sinks"),
      ROW(workspace, 0x7f8000000000, "workspace overlaps out"),
      ROW(workspace, 0x7f0700000000, "workspace overlaps lse"),
      ROW(workspace, 0x7f0600000000, "workspace overlaps sinks"),
      ROW(workspace, 0x7f0000000000, "workspace overlaps q"),
      ROW(num_splits, 257, "num_splits is 257"),
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    launch_args_fixture *f = begin("sinks=1 splits=1");
    f->args.sinks = launch_args_address(0x7f0600000000);
    f->args.lse = launch_args_address(0x7f0700000000);
    f->args.workspace = launch_args_address(0x7e0000000000);
    f->args.workspace_bytes = 1 << 20;
    assert_true(launch_args_is_usual(f));
    launch_args_set(f, rows[i].offset, &rows[i].value, rows[i].bytes);
    assert_false(launch_args_is_usual(f));
    launch_args_assert_refused(f, SWA_JIT_INVALID, rows[i].refused, "");
  }
}

/* A kernel with splits counts in it however many there are. */
static void workspace_of_one_split_is_looked_at(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("splits=1");
  f->args.workspace = launch_args_address(0x7e0000000000);
  f->args.workspace_bytes = 1 << 20;
  assert_true(launch_args_is_usual(f));
  f->args.workspace = f->args.out;
  assert_false(launch_args_is_usual(f));
  launch_args_assert_refused(f, SWA_JIT_INVALID, "workspace overlaps out", "");
}

static void kernels_without_slot_scales_do_not_look_at_them(void **state)
{
  (void)state;
  static const char *const configs[] = {"kv_format=e4m3", "kv_format=bf16 head_dim=64 head_group=8",
                                        "kv_format=footer_584", "kv_format=footer_528"};
  for (size_t i = 0; i < COUNT(configs); i++) {
    launch_args_fixture *f = begin(configs[i]);
    set_address(&f->args.inv_scale, (uintptr_t)f->args.out + 1);
    assert_true(launch_args_is_usual(f));
    f->args.inv_scale = NULL;
    assert_true(launch_args_is_usual(f));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_that_are_wrong_are_odd),
      cmocka_unit_test(slots_of_more_than_31_bits_are_odd),
      cmocka_unit_test(tokens_of_more_ctas_than_a_grid_has_are_odd),
      cmocka_unit_test(no_tokens_are_odd),
      cmocka_unit_test(addresses_that_are_wrong_are_odd),
      cmocka_unit_test(strides_that_are_wrong_are_odd),
      cmocka_unit_test(slot_strides_that_are_wrong_are_odd_whatever_the_block_stride),
      cmocka_unit_test(footer_blocks_that_are_wrong_are_odd),
      cmocka_unit_test(inputs_that_touch_out_are_usual_and_those_that_overlap_it_odd),
      cmocka_unit_test(indices_of_one_token_are_odd_within_out_alone),
      cmocka_unit_test(rest_that_is_right_is_usual),
      cmocka_unit_test(rest_that_the_kernel_lacks_is_not_usual),
      cmocka_unit_test(rest_that_is_wrong_is_not_usual),
      cmocka_unit_test(workspace_of_one_split_is_looked_at),
      cmocka_unit_test(kernels_without_slot_scales_do_not_look_at_them),
  };
  return SJ_TEST_RUN(tests);
}
