/* SPDX-License-Identifier: Apache-2.0 */
/* What a case's data hold: poison where nothing is selected, rows as engines write them, patterns in full. */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "data.h"
#include "kv_formats.h"
#include "positions.h"
#include "reference.h"
#include "rows.h"

static void make(const char *text, decode_data *data)
{
  decode_case which;
  const char *bad;

  assert_true(decode_case_from_text(text, &which, &bad));
  assert_true(decode_data_make(&which, data));
}

/* The row of a slot and KV head with its scale. */
static void read_row(const decode_data *data, enum decode_pool_kind kind, uint64_t slot, uint32_t kv_head, double *row)
{
  sj_reference_scope scope = kind == DECODE_POOL_EXTRA ? sj_reference_extra(&data->config, &data->args)
                                                       : sj_reference_window(&data->config, &data->args);
  const sj_reference_pool *pool = kind == DECODE_POOL_V ? &scope.v : &scope.k;
  double scale = sj_reference_pool_row(pool, (int64_t)slot, kv_head, row);

  for (uint32_t d = 0; d < pool->head_dim; d++) {
    row[d] *= scale;
  }
}

/* Counts slots whose rows are finite, and demands NaN throughout of all others. */
static uint32_t count_clean_slots(const decode_data *data, enum decode_pool_kind kind)
{
  const decode_pool *pool = &data->pools[kind];
  uint8_t selected[2048] = {0};
  uint32_t count = 0;

  assert_true(pool->num_slots <= sizeof selected);
  decode_positions_mark(data, kind, selected);
  for (uint64_t slot = 0; slot < pool->num_slots; slot++) {
    for (uint32_t kv_head = 0; kv_head < pool->num_kv_heads; kv_head++) {
      double row[512];

      read_row(data, kind, slot, kv_head, row);
      for (uint32_t d = 0; d < pool->head_dim; d++) {
        assert_true(isnan(row[d]) == (selected[slot] == 0));
      }
    }
    count += selected[slot];
  }
  return count;
}

/* Reports 32, 33: what must not be read is NaN, so that a weight of 0 does not hide it. */
static void slots_that_nothing_selects_are_nan(void **state)
{
  static const char *const texts[] = {
      "num_heads=2 num_tokens=3 lens=uniform slots=masked_some kv_format=e4m3 head_dim=64",
      "num_heads=2 num_tokens=3 lens=uniform slots=masked_some kv_format=e4m3_slot scale_type=bfloat16 head_dim=64",
      "num_heads=2 num_tokens=3 lens=uniform slots=masked_some kv_format=bf16 head_dim=64",
      "num_heads=2 num_tokens=3 lens=uniform slots=masked_some kv_format=footer_584 block_size=7 num_blocks=90 "
      "block_gap=8",
      "num_heads=2 num_tokens=3 lens=uniform slots=masked_some kv_format=footer_528 block_gap=512",
      "num_heads=4 num_kv_heads=2 head_dim=64 head_dim_v=96 v_indices=own slots=masked_some kv_layout=padded",
      "num_heads=4 num_kv_heads=2 head_dim=64 head_dim_v=96 kv_format=bf16 kv_layout=heads_outside v_slot_gap=16",
      "num_heads=2 extra_size=50 kv_format=footer_584 extra_format=footer_528 extra_block_size=3 extra_num_blocks=90 "
      "extra_lens=uniform slots=masked_some",
  };

  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    decode_data data;

    make(texts[i], &data);
    for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
      uint32_t count = data.pools[kind].num_slots != 0 ? count_clean_slots(&data, kind) : 0;

      assert_true(data.pools[kind].num_slots == 0 || (count > 20 && count < data.pools[kind].num_slots));
    }
    decode_data_free(&data);
  }
}

/* As engines quantise: no code is worth more than 448 times its group's scale, and the next scale down would not do. */
static void real_footers_use_their_codes_range(void **state)
{
  decode_data data;
  uint8_t selected[1024] = {0};
  uint32_t groups = 0;

  (void)state;
  make("num_heads=1 num_tokens=2 kv_format=footer_584 block_gap=64", &data);
  decode_positions_mark(&data, DECODE_POOL_K, selected);
  for (uint64_t slot = 0; slot < 1024; slot++) {
    const uint8_t *row = data.pools[DECODE_POOL_K].rows + decode_pool_row_offset(&data.pools[DECODE_POOL_K], slot, 0);

    for (int g = 0; g < 7 && selected[slot] != 0; g++) {
      double largest = 0.0;

      for (int d = 0; d < 64; d++) {
        largest = fmax(largest, fabs(sj_reference_e4m3(row[64 * g + d])));
      }
      assert_true(largest >= 208.0 && largest <= 448.0); /* half of 448 less a code's rounding */
      groups++;
    }
  }
  assert_true(groups > 7 * 100);
  decode_data_free(&data);
}

/* The cases that are meant to meet every scale byte but NaN do. */
static void all_scale_bytes_are_selected(void **state)
{
  static const char *const texts[] = {
      "kv_format=footer_584 num_tokens=300 num_heads=3 lens=one scale_bytes=all exact=1 seed=1211",
      "kv_format=footer_528 num_tokens=300 num_heads=3 lens=one scale_bytes=all exact=1 seed=1311",
  };

  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    decode_data data;
    uint8_t selected[1024] = {0};
    uint32_t seen[256] = {0};

    make(texts[i], &data);
    const decode_pool *pool = &data.pools[DECODE_POOL_K];
    decode_positions_mark(&data, DECODE_POOL_K, selected);
    for (uint64_t slot = 0; slot < 1024; slot++) {
      const uint8_t *scales = pool->rows + decode_pool_scale_row_offset(pool, slot);

      for (int g = 0; g < (i == 0 ? 7 : 16) && selected[slot] != 0; g++) {
        seen[scales[g]]++;
      }
    }
    for (int byte = 0; byte < 255; byte++) {
      assert_true(seen[byte] > 0);
    }
    assert_int_equal(seen[255], 0);
    decode_data_free(&data);
  }
}

/* Of a special slot the NaN lies in one KV head, in K or in V. */
static void nan_lies_in_one_kv_head_of_one_pool(void **state)
{
  decode_data data;
  uint8_t selected[2][1024] = {{0}, {0}};
  uint32_t rows_with_nan[2] = {0, 0};

  (void)state;
  make("num_heads=4 num_kv_heads=4 head_dim=64 head_dim_v=64 codes=nan num_tokens=40", &data);
  for (unsigned kind = DECODE_POOL_K; kind <= DECODE_POOL_V; kind++) {
    decode_positions_mark(&data, kind, selected[kind]);
  }
  for (uint64_t slot = 0; slot < 1024; slot++) {
    uint32_t here = 0;

    for (uint32_t at = 0; at < 8 && selected[0][slot] != 0; at++) {
      double row[64];
      double sum = 0.0;

      read_row(&data, at % 2, slot, at / 2, row);
      for (int d = 0; d < 64; d++) {
        sum += row[d];
      }
      here += isnan(sum) != 0;
      rows_with_nan[at % 2] += isnan(sum) != 0;
    }
    assert_int_equal(here, selected[0][slot] != 0 && slot % 16 == 15);
  }
  assert_true(rows_with_nan[0] > 3 && rows_with_nan[1] > 3);
  decode_data_free(&data);
}

static void masked_positions_of_v_leave_k_unread(void **state)
{
  decode_data data;
  uint8_t selected[1024] = {0};
  sj_reference_scope scope;
  uint32_t masked_by_v = 0;

  (void)state;
  make("num_heads=2 num_kv_heads=2 head_dim=64 head_dim_v=64 v_indices=own slots=masked_some num_tokens=1", &data);
  scope = sj_reference_window(&data.config, &data.args);
  decode_positions_mark(&data, DECODE_POOL_K, selected);
  for (uint32_t j = 0; j < 128; j++) {
    int32_t k = ((const int32_t *)scope.k.indices)[j];
    int32_t v = ((const int32_t *)scope.v.indices)[j];

    assert_true(k != v || k < 0 || k >= 1024);
    if (k >= 0 && k < 1024 && (v < 0 || v >= 1024)) {
      masked_by_v++;
    }
  }
  assert_true(masked_by_v > 5);
  decode_data_free(&data);
}

/* A row of q, of the pools and of indices is the same whatever else a case has: heads can be compared between cases. */
static void data_of_fewer_heads_are_the_first_of_more(void **state)
{
  decode_data few;
  decode_data many;

  (void)state;
  make("head_dim=64 num_heads=8 extra_size=20 sinks=special", &few);
  make("head_dim=64 num_heads=40 extra_size=20 sinks=special", &many);
  for (unsigned i = DECODE_KV; i < DECODE_OUT; i++) {
    size_t size = few.tensors[i].size;

    assert_true(size == many.tensors[i].size || i == DECODE_SINKS);
    assert_true(size == 0 || memcmp(few.tensors[i].bytes, many.tensors[i].bytes, size) == 0);
  }
  for (size_t token = 0; token < 2; token++) {
    assert_memory_equal((const uint16_t *)few.args.q + token * 8 * 64, (const uint16_t *)many.args.q + token * 40 * 64,
                        sizeof(uint16_t) * 8 * 64);
  }
  decode_data_free(&few);
  decode_data_free(&many);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_that_nothing_selects_are_nan),
      cmocka_unit_test(real_footers_use_their_codes_range),
      cmocka_unit_test(all_scale_bytes_are_selected),
      cmocka_unit_test(nan_lies_in_one_kv_head_of_one_pool),
      cmocka_unit_test(masked_positions_of_v_leave_k_unread),
      cmocka_unit_test(data_of_fewer_heads_are_the_first_of_more),
  };

  return SJ_TEST_RUN(tests);
}
