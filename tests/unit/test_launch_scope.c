/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch attends to: the window, V's own pool, the extra scope. */
#include <string.h>

#include "test_main.h"

#include "launch_args_fixture.h"
#include "launch_scope.h"

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

/* ---- the window's pool ---------------------------------------------------------------------------------------- */

static void window_is_passed_on(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.kv_scale = 0.5f;
  const swa_params params = launch_args_make(f);
  assert_ptr_equal(params.window.pool.kv, f->args.kv);
  assert_ptr_equal(params.window.pool.inv_scale, f->args.inv_scale);
  assert_ptr_equal(params.window.pool.indices, f->args.indices);
  assert_ptr_equal(params.window.lens, f->args.lens);
  assert_int_equal(params.window.indices_token_stride, 128);
  assert_int_equal(params.window.block_size, 64);
  assert_int_equal(params.window.num_slots, 640);
  assert_true(params.window.pool.scale == 0.5f);
  assert_int_equal(params.window.pool.reserved, 0);
  const swa_scope no_scope = {0};
  const swa_pool no_pool = {0};
  assert_memory_equal(&params.extra, &no_scope, sizeof no_scope);
  assert_memory_equal(&params.v, &no_pool, sizeof no_pool);
}

static void window_of_each_format_is_packed_by_its_rows(void **state)
{
  (void)state;
  static const struct {
    const char *config;
    uint32_t num_kv_heads, block_size;
    long long head_stride, slot_stride, block_stride;
  } rows[] = {
      {"", 0, 64, 512, 512, 64 * 512},
      {"head_dim=96", 1, 53, 96, 96, 53 * 96},
      {"head_dim=64", 8, 16, 64, 8 * 64, 16 * 8 * 64},
      {"kv_format=e4m3", 0, 64, 512, 512, 64 * 512},
      {"kv_format=e4m3 head_dim=128", 4, 1, 128, 4 * 128, 4 * 128},
      {"kv_format=bf16", 0, 64, 1024, 1024, 64 * 1024},
      {"kv_format=bf16 head_dim=192", 5, 3, 384, 5 * 384, 3 * 5 * 384},
      {"kv_format=footer_584", 0, 64, 576, 576, 37376},
      {"kv_format=footer_584", 1, 2, 576, 576, 2 * 584},
      {"kv_format=footer_528", 0, 32, 512, 512, 16896},
      {"kv_format=footer_528", 0, 53, 512, 512, 53 * 528},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    launch_args_fixture *f = begin(rows[i].config);
    f->args.num_kv_heads = rows[i].num_kv_heads;
    f->args.block_size = rows[i].block_size;
    const swa_params params = launch_args_make(f);
    assert_int_equal(params.window.pool.kv_head_stride_bytes, rows[i].head_stride);
    assert_int_equal(params.window.pool.slot_stride_bytes, rows[i].slot_stride);
    assert_int_equal(params.window.pool.block_stride_bytes, rows[i].block_stride);
  }
}

static void window_with_padded_slots_packs_the_blocks_by_them(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.slot_stride_bytes = 640;
  assert_int_equal(launch_args_make(f).window.pool.block_stride_bytes, 64 * 640);
}

static void window_without_scales_a_slot_needs_none(void **state)
{
  (void)state;
  static const char *const formats[] = {"kv_format=e4m3", "kv_format=bf16", "kv_format=footer_584",
                                        "kv_format=footer_528"};
  for (size_t i = 0; i < COUNT(formats); ++i) {
    launch_args_fixture *f = begin(formats[i]);
    assert_null(f->args.inv_scale);
    launch_args_make(f);
    f->args.inv_scale = launch_args_address(1); /* not read: not checked */
    launch_args_make(f);
  }
}

static void window_without_blocks_needs_no_pool(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.num_blocks = 0;
  f->args.kv = NULL;
  f->args.inv_scale = NULL;
  const swa_params params = launch_args_make(f);
  assert_int_equal(params.window.num_slots, 0);
  assert_null(params.window.pool.kv);
  f->args.num_blocks = 1;
  assert_invalid("kv is NULL", "device address");
}

static void window_of_most_slots_has_their_number(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.block_size = INT32_MAX;
  f->args.num_blocks = 1;
  assert_int_equal(launch_args_make(f).window.num_slots, INT32_MAX);
  f->args.block_size = 1;
  f->args.num_blocks = INT32_MAX;
  assert_int_equal(launch_args_make(f).window.num_slots, INT32_MAX);
}

static void window_with_a_wrong_address_is_refused(void **state)
{
  (void)state;
  static const launch_args_pointer pointers[] = {
      LAUNCH_ARGS_POINTER(kv, 16, false),
      LAUNCH_ARGS_POINTER(inv_scale, 4, false),
      LAUNCH_ARGS_POINTER(indices, 4, false),
      LAUNCH_ARGS_POINTER(lens, 4, false),
  };
  launch_args_assert_pointers_checked(begin(""), pointers, COUNT(pointers));
}

static void window_of_wide_integers_and_narrow_scales_is_aligned_to_them(void **state)
{
  (void)state;
  static const launch_args_pointer pointers[] = {
      LAUNCH_ARGS_POINTER(inv_scale, 2, false),
      LAUNCH_ARGS_POINTER(indices, 8, false),
      LAUNCH_ARGS_POINTER(lens, 8, false),
  };
  launch_args_fixture *f = begin("index_type=int64 lens_type=int64 scale_type=bfloat16");
  launch_args_assert_pointers_checked(f, pointers, COUNT(pointers));
}

/* Report 20: rows of another length than the pool's; here and below for footers. */
static void window_with_a_wrong_stride_is_refused(void **state)
{
  (void)state;
  static const launch_args_stride cases[] = {
      LAUNCH_ARGS_STRIDE(block_stride_bytes, 32776, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(block_stride_bytes, 32752, "the least is 32768"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, 520, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, 496, "the least is 512"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, -512, "the least is 512"),
      LAUNCH_ARGS_STRIDE(kv_head_stride_bytes, 520, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(indices_token_stride, -1, "the least is 1"),
      LAUNCH_ARGS_STRIDE(block_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(indices_token_stride, INT64_MAX, "past 2^63 - 1 bytes"),
  };
  launch_args_assert_strides_refused(begin(""), cases, COUNT(cases));
}

/* Index rows may overlap: a window that moves by one slot a token. */
static void window_with_overlapping_index_rows_is_legal(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.indices_token_stride = 1;
  assert_int_equal(launch_args_make(f).window.indices_token_stride, 1);
}

/* The last row of a block ends it: nothing behind it need be there. */
static void window_with_the_tightest_block_stride_is_legal(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.slot_stride_bytes = 1024;
  f->args.block_stride_bytes = 63 * 1024 + 512;
  launch_args_make(f);
  f->args.block_stride_bytes -= 16;
  assert_invalid("block_stride_bytes is 65008", "the least is 65024");
}

/* Two rows, the second of which would just end past the last byte that an address can reach. */
static void window_with_a_row_across_the_last_address_is_refused(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.kv = launch_args_address(0x7100000000000020); /* behind the outputs, that the rows reach over them not */
  f->args.block_size = 1;
  f->args.num_blocks = 2;
  f->args.block_stride_bytes = INT64_MAX - 15;
  assert_invalid("block_stride_bytes 9223372036854775792", "past 2^63 - 1 bytes");
  f->args.block_stride_bytes = INT64_MAX - 15 - 512;
  launch_args_make(f);
  f->args.block_stride_bytes = 0;
  f->args.block_size = 2;
  f->args.slot_stride_bytes = INT64_MAX / 2 + 1; /* a packed block stride would be 2^63 */
  assert_invalid("block_stride_bytes 9223372036854775792", "past 2^63 - 1 bytes");
}

/* ---- KV heads --------------------------------------------------------------------------------------------------- */

/* Heads within slots, and slots within heads. */
static void kv_heads_at_any_stride_are_passed_on(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("kv_format=bf16 head_dim=128");
  f->args.num_kv_heads = 8;
  f->args.kv_head_stride_bytes = 272;
  f->args.slot_stride_bytes = 8 * 272;
  f->args.block_stride_bytes = 64 * 8 * 272;
  assert_int_equal(launch_args_make(f).window.pool.kv_head_stride_bytes, 272);
  f->args.kv_head_stride_bytes = 64 * 256;
  f->args.slot_stride_bytes = 256;
  f->args.block_stride_bytes = 8 * 64 * 256;
  const swa_params params = launch_args_make(f);
  assert_int_equal(params.window.pool.kv_head_stride_bytes, 64 * 256);
  assert_int_equal(params.window.pool.slot_stride_bytes, 256);
  f->args.block_stride_bytes -= 16;
  assert_invalid("block_stride_bytes is 131056", "the least is 131072");
}

static void kv_heads_at_a_wrong_stride_are_refused(void **state)
{
  (void)state;
  static const launch_args_stride cases[] = {
      LAUNCH_ARGS_STRIDE(kv_head_stride_bytes, 264, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(kv_head_stride_bytes, 240, "the least is 256"),
      LAUNCH_ARGS_STRIDE(kv_head_stride_bytes, -256, "the least is 256"),
      LAUNCH_ARGS_STRIDE(kv_head_stride_bytes, INT64_MAX - 15, "over an extent of 8 reaches past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, 240, "the least is 256"),
      LAUNCH_ARGS_STRIDE(block_stride_bytes, 131056, "the least is 131072"),
  };
  launch_args_fixture *f = begin("kv_format=bf16 head_dim=128");
  f->args.num_kv_heads = 8;
  launch_args_assert_strides_refused(f, cases, COUNT(cases));
}

/* ---- footers ---------------------------------------------------------------------------------------------------- */

static void footer_blocks_at_any_multiple_of_16_are_legal(void **state)
{
  (void)state;
  static const long long strides[] = {37376, 37440, 37392, 1315008, 1308672};
  for (size_t i = 0; i < COUNT(strides); ++i) {
    launch_args_fixture *f = begin("kv_format=footer_584");
    f->args.block_stride_bytes = strides[i];
    f->args.slot_stride_bytes = 576;
    const swa_params params = launch_args_make(f);
    assert_int_equal(params.window.pool.block_stride_bytes, strides[i]);
    assert_int_equal(params.window.pool.slot_stride_bytes, 576);
  }
}

static void footer_blocks_at_a_wrong_stride_are_refused(void **state)
{
  (void)state;
  static const launch_args_stride cases_584[] = {
      LAUNCH_ARGS_STRIDE(block_stride_bytes, 37360, "the least is 37376"),
      LAUNCH_ARGS_STRIDE(block_stride_bytes, 37384, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(block_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, 584, "data rows of 576 bytes lie side by side"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, 592, "pass 0"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, INT64_MAX, "pass 0"),
  };
  static const launch_args_stride cases_528[] = {
      LAUNCH_ARGS_STRIDE(block_stride_bytes, 33776, "the least is 33792"),
      LAUNCH_ARGS_STRIDE(slot_stride_bytes, 528, "data rows of 512 bytes lie side by side"),
  };
  launch_args_assert_strides_refused(begin("kv_format=footer_584"), cases_584, COUNT(cases_584));
  launch_args_assert_strides_refused(begin("kv_format=footer_528"), cases_528, COUNT(cases_528));
}

/* 584 is no multiple of 16, so an odd number of slots packs to none: only a single block may lie so. */
static void footer_blocks_of_odd_sizes_need_their_stride(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("kv_format=footer_584");
  f->args.block_size = 53;
  assert_invalid("block_stride_bytes is 30952, that of packed blocks of 53 slots", "pad the blocks");
  f->args.block_stride_bytes = 53 * 584;
  assert_invalid("block_stride_bytes is 30952, that of packed blocks of 53 slots", "pad the blocks");
  f->args.block_stride_bytes = 30960;
  assert_int_equal(launch_args_make(f).window.pool.block_stride_bytes, 30960);
  f->args.block_stride_bytes = 0;
  f->args.num_blocks = 1;
  assert_int_equal(launch_args_make(f).window.pool.block_stride_bytes, 30960);
}

/* ---- V's own pool ----------------------------------------------------------------------------------------------- */

static void v_is_passed_on_and_packed_by_its_own_rows(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("kv_format=bf16 head_dim=192 head_dim_v=128");
  f->args.num_kv_heads = 8;
  f->args.v_scale = 0.5f;
  const swa_params params = launch_args_make(f);
  assert_int_equal(params.window.pool.slot_stride_bytes, 8 * 384);
  assert_ptr_equal(params.v.kv, f->args.v);
  assert_null(params.v.inv_scale);
  assert_ptr_equal(params.v.indices, f->args.indices);
  assert_int_equal(params.v.kv_head_stride_bytes, 256);
  assert_int_equal(params.v.slot_stride_bytes, 8 * 256);
  assert_int_equal(params.v.block_stride_bytes, 64 * 8 * 256);
  assert_true(params.v.scale == 0.5f);
  assert_int_equal(params.v.reserved, 0);
}

static void v_with_strides_and_indices_of_its_own_has_them(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("head_dim=128 head_dim_v=64");
  f->args.v_head_stride_bytes = 80;
  f->args.v_slot_stride_bytes = 96;
  f->args.v_block_stride_bytes = 64 * 96 + 16;
  f->args.v_indices = launch_args_address(0x0900000000000008);
  const swa_params params = launch_args_make(f);
  assert_ptr_equal(params.v.inv_scale, f->args.v_inv_scale);
  assert_ptr_equal(params.v.indices, f->args.v_indices);
  assert_int_equal(params.v.kv_head_stride_bytes, 80);
  assert_int_equal(params.v.slot_stride_bytes, 96);
  assert_int_equal(params.v.block_stride_bytes, 64 * 96 + 16);
  assert_ptr_equal(params.window.pool.indices, f->args.indices);
}

static void v_with_a_wrong_address_is_refused(void **state)
{
  (void)state;
  static const launch_args_pointer pointers[] = {
      LAUNCH_ARGS_POINTER(v, 16, false),
      LAUNCH_ARGS_POINTER(v_inv_scale, 4, false),
      LAUNCH_ARGS_POINTER(v_indices, 4, true),
  };
  launch_args_assert_pointers_checked(begin("head_dim=128 head_dim_v=128"), pointers, COUNT(pointers));
}

static void v_with_a_wrong_stride_is_refused(void **state)
{
  (void)state;
  static const launch_args_stride cases[] = {
      LAUNCH_ARGS_STRIDE(v_block_stride_bytes, 64 * 512 + 8, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(v_block_stride_bytes, 64 * 512 - 16, "the least is 32768"),
      LAUNCH_ARGS_STRIDE(v_slot_stride_bytes, 48, "the least is 64"),
      LAUNCH_ARGS_STRIDE(v_slot_stride_bytes, 520, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(v_head_stride_bytes, 48, "the least is 64"),
      LAUNCH_ARGS_STRIDE(v_head_stride_bytes, 72, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(v_head_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(v_slot_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
  };
  launch_args_fixture *f = begin("head_dim=128 head_dim_v=64");
  f->args.num_kv_heads = 8;
  launch_args_assert_strides_refused(f, cases, COUNT(cases));
}

static void v_of_a_kernel_without_is_not_looked_at(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.v = f->args.v_inv_scale = f->args.v_indices = launch_args_address(1);
  f->args.v_slot_stride_bytes = -1;
  assert_null(launch_args_make(f).v.kv);
}

/* ---- the extra scope -------------------------------------------------------------------------------------------- */

static void extra_is_passed_on_and_packed_by_its_own_format(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("kv_format=footer_528 extra_size=512 extra_format=footer_584");
  f->args.extra_scale = 0.5f;
  const swa_params params = launch_args_make(f);
  assert_ptr_equal(params.extra.pool.kv, f->args.extra_kv);
  assert_null(params.extra.pool.inv_scale);
  assert_ptr_equal(params.extra.pool.indices, f->args.extra_indices);
  assert_ptr_equal(params.extra.lens, f->args.extra_lens);
  assert_int_equal(params.extra.pool.slot_stride_bytes, 576);
  assert_int_equal(params.extra.pool.block_stride_bytes, 32 * 584);
  assert_int_equal(params.extra.indices_token_stride, 512);
  assert_int_equal(params.extra.block_size, 32);
  assert_int_equal(params.extra.num_slots, 7 * 32);
  assert_true(params.extra.pool.scale == 0.5f);
  assert_int_equal(params.extra.pool.reserved, 0);
  assert_int_equal(params.window.pool.block_stride_bytes, 64 * 528);
}

static void extra_of_each_format_is_packed_by_its_rows(void **state)
{
  (void)state;
  static const struct {
    const char *config;
    long long slot_stride, block_stride;
  } rows[] = {
      {"extra_size=8", 512, 32 * 512},
      {"extra_size=8 extra_format=e4m3 head_dim=128", 128, 32 * 128},
      {"extra_size=8 extra_format=bf16 kv_format=bf16 head_dim=64", 128, 32 * 128},
      {"extra_size=8 extra_format=footer_584", 576, 32 * 584},
      {"extra_size=8 extra_format=footer_528", 512, 32 * 528},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    const swa_params params = launch_args_make(begin(rows[i].config));
    assert_int_equal(params.extra.pool.slot_stride_bytes, rows[i].slot_stride);
    assert_int_equal(params.extra.pool.block_stride_bytes, rows[i].block_stride);
  }
}

static void extra_with_strides_of_its_own_has_them(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("extra_size=512");
  f->args.extra_slot_stride_bytes = 528;
  f->args.extra_block_stride_bytes = 32 * 528 + 16;
  f->args.extra_indices_token_stride = 640;
  const swa_params params = launch_args_make(f);
  assert_ptr_equal(params.extra.pool.inv_scale, f->args.extra_inv_scale);
  assert_int_equal(params.extra.pool.slot_stride_bytes, 528);
  assert_int_equal(params.extra.pool.block_stride_bytes, 32 * 528 + 16);
  assert_int_equal(params.extra.indices_token_stride, 640);
  assert_int_equal(params.window.indices_token_stride, 128);
}

static void extra_without_lens_or_blocks_is_legal(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("extra_size=512");
  f->args.extra_lens = NULL;
  f->args.extra_num_blocks = 0;
  f->args.extra_kv = NULL;
  f->args.extra_inv_scale = NULL;
  const swa_params params = launch_args_make(f);
  assert_null(params.extra.lens);
  assert_int_equal(params.extra.num_slots, 0);
}

static void extra_with_a_wrong_count_is_refused(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("extra_size=512");
  f->args.extra_block_size = 0;
  assert_invalid("extra_block_size is 0", "1 slot");
  f->args.extra_block_size = 2;
  f->args.extra_num_blocks = 1u << 30;
  assert_invalid("extra_num_blocks 1073741824 times extra_block_size 2", "2^31 - 1");
  f->args.extra_num_blocks = UINT64_MAX;
  assert_invalid("extra_num_blocks 18446744073709551615", "2^31 - 1");
}

static void extra_with_a_wrong_address_is_refused(void **state)
{
  (void)state;
  static const launch_args_pointer pointers[] = {
      LAUNCH_ARGS_POINTER(extra_kv, 16, false),
      LAUNCH_ARGS_POINTER(extra_inv_scale, 4, false),
      LAUNCH_ARGS_POINTER(extra_indices, 4, false),
      LAUNCH_ARGS_POINTER(extra_lens, 4, true),
  };
  static const launch_args_pointer wide[] = {
      LAUNCH_ARGS_POINTER(extra_indices, 8, false),
      LAUNCH_ARGS_POINTER(extra_lens, 8, true),
  };
  launch_args_assert_pointers_checked(begin("extra_size=512"), pointers, COUNT(pointers));
  launch_args_assert_pointers_checked(begin("extra_size=512 index_type=int64 lens_type=int64"), wide, COUNT(wide));
}

static void extra_with_a_wrong_stride_is_refused(void **state)
{
  (void)state;
  static const launch_args_stride cases[] = {
      LAUNCH_ARGS_STRIDE(extra_block_stride_bytes, 16392, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(extra_block_stride_bytes, 16368, "the least is 16384"),
      LAUNCH_ARGS_STRIDE(extra_slot_stride_bytes, 520, "multiple of 16"),
      LAUNCH_ARGS_STRIDE(extra_slot_stride_bytes, 496, "the least is 512"),
      LAUNCH_ARGS_STRIDE(extra_indices_token_stride, -1, "the least is 1"),
      LAUNCH_ARGS_STRIDE(extra_indices_token_stride, INT64_MAX, "past 2^63 - 1 bytes"),
      LAUNCH_ARGS_STRIDE(extra_block_stride_bytes, INT64_MAX - 15, "past 2^63 - 1 bytes"),
  };
  launch_args_assert_strides_refused(begin("extra_size=512"), cases, COUNT(cases));
}

static void extra_of_a_kernel_without_is_not_looked_at(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.extra_kv = f->args.extra_indices = f->args.extra_lens = launch_args_address(1);
  f->args.extra_block_size = 0;
  f->args.extra_num_blocks = UINT64_MAX;
  assert_int_equal(launch_args_make(f).extra.num_slots, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(window_is_passed_on),
      cmocka_unit_test(window_of_each_format_is_packed_by_its_rows),
      cmocka_unit_test(window_with_padded_slots_packs_the_blocks_by_them),
      cmocka_unit_test(window_without_scales_a_slot_needs_none),
      cmocka_unit_test(window_without_blocks_needs_no_pool),
      cmocka_unit_test(window_of_most_slots_has_their_number),
      cmocka_unit_test(window_with_a_wrong_address_is_refused),
      cmocka_unit_test(window_of_wide_integers_and_narrow_scales_is_aligned_to_them),
      cmocka_unit_test(window_with_a_wrong_stride_is_refused),
      cmocka_unit_test(window_with_overlapping_index_rows_is_legal),
      cmocka_unit_test(window_with_the_tightest_block_stride_is_legal),
      cmocka_unit_test(window_with_a_row_across_the_last_address_is_refused),
      cmocka_unit_test(kv_heads_at_any_stride_are_passed_on),
      cmocka_unit_test(kv_heads_at_a_wrong_stride_are_refused),
      cmocka_unit_test(footer_blocks_at_any_multiple_of_16_are_legal),
      cmocka_unit_test(footer_blocks_at_a_wrong_stride_are_refused),
      cmocka_unit_test(footer_blocks_of_odd_sizes_need_their_stride),
      cmocka_unit_test(v_is_passed_on_and_packed_by_its_own_rows),
      cmocka_unit_test(v_with_strides_and_indices_of_its_own_has_them),
      cmocka_unit_test(v_with_a_wrong_address_is_refused),
      cmocka_unit_test(v_with_a_wrong_stride_is_refused),
      cmocka_unit_test(v_of_a_kernel_without_is_not_looked_at),
      cmocka_unit_test(extra_is_passed_on_and_packed_by_its_own_format),
      cmocka_unit_test(extra_of_each_format_is_packed_by_its_rows),
      cmocka_unit_test(extra_with_strides_of_its_own_has_them),
      cmocka_unit_test(extra_without_lens_or_blocks_is_legal),
      cmocka_unit_test(extra_with_a_wrong_count_is_refused),
      cmocka_unit_test(extra_with_a_wrong_address_is_refused),
      cmocka_unit_test(extra_with_a_wrong_stride_is_refused),
      cmocka_unit_test(extra_of_a_kernel_without_is_not_looked_at),
  };
  return SJ_TEST_RUN(tests);
}
