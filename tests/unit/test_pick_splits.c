/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "test_main.h"

/* pick_splits.c with a plan of the test's in place of sj_tile_plan_make: how many CTAs a multiprocessor holds is the
 * kernel's business and changes with it. */
#define sj_tile_plan_make plan_of_test
#include "pick_splits.c" // NOLINT(bugprone-suspicious-include)
#undef sj_tile_plan_make

static uint32_t ctas_per_sm = 1; /* 0: nothing fits */

swa_jit_status plan_of_test(const swa_jit_config *config, const sj_arch *arch, sj_tile_plan *plan_out)
{
  (void)config;
  (void)arch;
  *plan_out = (sj_tile_plan){.min_ctas_per_sm = ctas_per_sm};
  return ctas_per_sm != 0 ? SWA_JIT_OK : sj_fail(SWA_JIT_UNSUPPORTED, "it does not fit");
}

static swa_jit_config config_of(uint32_t window_size, uint32_t extra_size, uint32_t kv_tile)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.window_size = window_size;
  config.extra_size = extra_size;
  config.kv_tile = kv_tile;
  config.splits = 1;
  return config;
}

static swa_jit_decode_args counts_of(uint32_t num_tokens, uint32_t num_heads, uint32_t num_kv_heads)
{
  swa_jit_decode_args counts = SWA_JIT_DECODE_ARGS_INIT;
  counts.num_tokens = num_tokens;
  counts.num_heads = num_heads;
  counts.num_kv_heads = num_kv_heads;
  return counts;
}

static uint32_t pick(const swa_jit_config *config, const swa_jit_decode_args *counts, uint32_t num_sms)
{
  uint32_t num_splits = 0;
  if (sj_pick_splits_make(config, counts, num_sms, &num_splits) != SWA_JIT_OK) {
    fail_msg("%s", sj_message());
  }
  return num_splits;
}

static void pick_follows_the_rule(void **state)
{
  (void)state;
  static const struct {
    uint32_t window_size, extra_size, kv_tile, num_tokens, num_heads, num_sms, ctas_per_sm, expected;
  } cases[] = {
      /* 8 CTAs of 16 heads a token: 16 splits fill 132 multiprocessors, and 1,152 positions are 9 times 128 */
      {128, 1024, 16, 1, 128, 132, 1, 9},
      {128, 1024, 32, 1, 128, 132, 1, 9},
      {128, 1024, 64, 1, 128, 132, 1, 9},
      {128, 1024, 128, 1, 128, 132, 1, 9},
      {128, 1024, 64, 1, 128, 0, 1, 9},    /* sm_90a has 132 */
      {128, 1024, 64, 2, 128, 132, 1, 6},  /* 8 fit: shares of 3 of 18 tiles, which 6 have too */
      {128, 1024, 128, 2, 128, 132, 1, 5}, /* 8 fit: shares of 2 of 9 tiles */
      {128, 1024, 64, 4, 128, 132, 1, 4},  /* 4.1 */
      {128, 1024, 64, 8, 128, 132, 1, 2},
      {128, 1024, 64, 9, 128, 132, 1, 1}, /* 1.8 */
      {128, 1024, 64, 16, 128, 132, 1, 1},
      {128, 1024, 64, 17, 128, 132, 1, 1}, /* more CTAs than places */
      {128, 1024, 64, 8, 128, 132, 2, 4},  /* twice the places: shares of 5 of 18 tiles */
      {128, 1024, 64, 8, 128, 66, 2, 2},
      {128, 1024, 64, 8, 100, 132, 1, 2}, /* 7 CTAs */
      {128, 1024, 64, 8, 96, 132, 1, 2},
      {128, 1024, 64, 8, 64, 132, 1, 4},
      {128, 1024, 64, 1, 1, 132, 1, 9},
      {128, 1024, 64, 1, 128, 1, 1, 1},
      /* few positions */
      {128, 0, 64, 1, 128, 132, 1, 1},
      {129, 0, 64, 1, 128, 132, 1, 1}, /* 3 tiles */
      {193, 0, 64, 1, 128, 132, 1, 2},
      {129, 0, 128, 1, 128, 132, 1, 2},
      {1, 1, 16, 1, 128, 132, 1, 1},
      {1, 1, 128, 1, 128, 132, 1, 2},
      /* many */
      {8192, 0, 16, 1, 16, 100000, 1, 64},
      {8192, 8192, 128, 1, 16, UINT32_MAX, 2, 128},
      {8192, 8192, 16, INT32_MAX, 16, UINT32_MAX, 1, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const swa_jit_config config = config_of(cases[i].window_size, cases[i].extra_size, cases[i].kv_tile);
    const swa_jit_decode_args counts = counts_of(cases[i].num_tokens, cases[i].num_heads, 0);
    ctas_per_sm = cases[i].ctas_per_sm;
    const uint32_t picked = pick(&config, &counts, cases[i].num_sms);
    if (picked != cases[i].expected) {
      fail_msg("case %zu: %u, not %u", i, picked, cases[i].expected);
    }
  }
  ctas_per_sm = 1;
}

/* A KV head's query heads have CTAs of their own. */
static void pick_counts_the_groups_of_each_kv_head(void **state)
{
  (void)state;
  swa_jit_config config = config_of(4096, 0, 64);
  config.head_dim = config.head_dim_v = 128;
  config.kv_format = SWA_JIT_KV_BF16;
  const swa_jit_decode_args one = counts_of(1, 32, 1);
  const swa_jit_decode_args eight = counts_of(1, 32, 8);
  assert_int_equal(pick(&config, &one, 132), 32);
  assert_int_equal(pick(&config, &eight, 132), 16); /* 8 CTAs of 4 heads */
}

static void pick_of_most_kv_heads_is_legal_for_a_launch(void **state)
{
  (void)state;
  swa_jit_config config = config_of(8192, 0, 64);
  config.head_dim = config.head_dim_v = 64;
  config.kv_format = SWA_JIT_KV_BF16;
  swa_jit_decode_args counts = counts_of(1, 65535, 65535);
  assert_int_equal(pick(&config, &counts, UINT32_MAX), 1);
  counts = counts_of(1, 21845, 21845);
  counts.num_splits = pick(&config, &counts, UINT32_MAX);
  assert_int_equal(counts.num_splits, 3);
  uint64_t num_ctas = 0;
  assert_int_equal(sj_launch_args_count(&config, &counts, &num_ctas), SWA_JIT_OK);
}

/* Whatever the figures that the rule is fitted by. */
static void pick_of_any_problem_keeps_the_rules_promises(void **state)
{
  (void)state;
  static const uint32_t sizes[] = {1, 100, 128, 512, 1024, 8192};
  static const uint32_t tiles[] = {16, 32, 64, 128};
  for (size_t i = 0; i < 6 * 6 * 4; i++) {
    const uint32_t kv_tile = tiles[i % 4];
    const uint32_t window_size = sizes[i / 4 % 6];
    const uint32_t extra_size = sizes[i / 24] - 1;
    const swa_jit_config config = config_of(window_size, extra_size, kv_tile);
    const uint64_t num_tiles = divide_up(window_size, kv_tile) + divide_up(extra_size, kv_tile);
    uint32_t before = SJ_MAX_SPLITS;
    for (uint32_t num_tokens = 1; num_tokens <= 256; num_tokens++) {
      const swa_jit_decode_args counts = counts_of(num_tokens, 64, 1);
      const uint32_t picked = pick(&config, &counts, 132);
      const uint64_t share = divide_up(num_tiles, picked);
      assert_in_range(picked, 1, before); /* never more for more tokens */
      assert_true(picked == 1 || picked * num_tokens * 4 <= 132);
      assert_true(picked == 1 || share * kv_tile >= LEAST_POSITIONS);
      assert_true((picked - 1) * share < num_tiles); /* the last has a tile */
      assert_int_equal(pick(&config, &counts, 132), picked);
      before = picked;
    }
  }
}

static void pick_without_splits_or_tokens_is_1(void **state)
{
  (void)state;
  swa_jit_config config = config_of(128, 1024, 64);
  const swa_jit_decode_args none = counts_of(0, 128, 1);
  const swa_jit_decode_args one = counts_of(1, 128, 1);
  assert_int_equal(pick(&config, &none, 132), 1);
  assert_true(pick(&config, &one, 132) > 1);
  config.splits = 0;
  assert_int_equal(pick(&config, &one, 132), 1);
}

static void assert_refused(const swa_jit_config *config, const swa_jit_decode_args *counts, swa_jit_status expected,
                           const char *part)
{
  uint32_t num_splits = 77;
  assert_int_equal(sj_pick_splits_make(config, counts, 132, &num_splits), expected);
  assert_non_null(strstr(sj_message(), part));
  assert_int_equal(num_splits, 77);
}

static void pick_of_what_a_launch_refuses_is_refused(void **state)
{
  (void)state;
  swa_jit_config config = config_of(128, 1024, 64);
  swa_jit_decode_args counts = counts_of(1, 0, 1);
  assert_refused(&config, &counts, SWA_JIT_INVALID, "num_heads is 0");
  counts = counts_of(UINT32_MAX, 128, 1);
  assert_refused(&config, &counts, SWA_JIT_INVALID, "num_tokens is 4294967295");
  counts = counts_of(1, 128, 2);
  assert_refused(&config, &counts, SWA_JIT_INVALID, "num_kv_heads is 2"); /* beside an extra scope */
  config.splits = 0;                                                      /* the same without splits */
  assert_refused(&config, &counts, SWA_JIT_INVALID, "num_kv_heads is 2");
  counts = counts_of(1, 128, 1);
  ctas_per_sm = 0;
  assert_refused(&config, &counts, SWA_JIT_UNSUPPORTED, "it does not fit");
  ctas_per_sm = 1;
  config = (swa_jit_config)SWA_JIT_CONFIG_INIT;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  assert_refused(&config, &counts, SWA_JIT_INVALID, "kernel is merge");
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(pick_follows_the_rule),
      cmocka_unit_test(pick_counts_the_groups_of_each_kv_head),
      cmocka_unit_test(pick_of_most_kv_heads_is_legal_for_a_launch),
      cmocka_unit_test(pick_of_any_problem_keeps_the_rules_promises),
      cmocka_unit_test(pick_without_splits_or_tokens_is_1),
      cmocka_unit_test(pick_of_what_a_launch_refuses_is_refused),
  };
  return SJ_TEST_RUN(tests);
}
