/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

/* pick.c with a plan of the test's in place of sj_tile_plan_make: today's table
 * never names a choice that the real one refuses, so what happens then needs
 * one that does. */
#define sj_tile_plan_make plan_within_limit
#include "pick.c" // NOLINT(bugprone-suspicious-include)
#undef sj_tile_plan_make

swa_jit_status sj_tile_plan_make(const swa_jit_config *config, const sj_arch *arch, sj_tile_plan *plan_out);

static uint32_t largest_product = UINT32_MAX; /* of head_group and kv_tile */

swa_jit_status plan_within_limit(const swa_jit_config *config, const sj_arch *arch, sj_tile_plan *plan_out)
{
  if (config->head_group * config->kv_tile > largest_product) {
    return sj_fail(SWA_JIT_UNSUPPORTED, "%u does not fit", config->head_group * config->kv_tile);
  }
  return sj_tile_plan_make(config, arch, plan_out);
}

static const sj_config_field *find(const char *name)
{
  const sj_config_field *field = sj_config_field_find(name, strlen(name));
  assert_non_null(field);
  return field;
}

static swa_jit_config pick(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms)
{
  swa_jit_config picked = *config;
  assert_int_equal(sj_pick_make(num_tokens, num_heads, num_sms, &picked), SWA_JIT_OK);
  return picked;
}

/* Whether any head_group and kv_tile fit the configuration's architecture. */
static bool is_possible(const swa_jit_config *config)
{
  const sj_config_field *group = find("head_group");
  const sj_config_field *tile = find("kv_tile");
  for (unsigned g = 0; g < group->num_values; g++) {
    for (unsigned t = 0; t < tile->num_values; t++) {
      swa_jit_config tried = *config;
      sj_tile_plan plan;
      tried.head_group = group->values[g];
      tried.kv_tile = tile->values[t];
      if (sj_tile_plan_make(&tried, sj_arch_find(tried.arch), &plan) == SWA_JIT_OK) {
        return true;
      }
    }
  }
  return false;
}

static void check_problem(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads)
{
  swa_jit_config picked = *config;
  const swa_jit_status status = sj_pick_make(num_tokens, num_heads, 0, &picked);
  if (!is_possible(config)) {
    assert_int_equal(status, SWA_JIT_UNSUPPORTED);
    assert_true(sj_config_equal(&picked, config));
    return;
  }
  assert_int_equal(status, SWA_JIT_OK);
  swa_jit_config taken;
  sj_tile_plan plan;
  assert_int_equal(sj_config_take(&picked, &taken), SWA_JIT_OK);
  assert_int_equal(sj_tile_plan_make(&picked, sj_arch_find(picked.arch), &plan), SWA_JIT_OK);
  picked.head_group = config->head_group;
  picked.kv_tile = config->kv_tile;
  picked.cluster_size = config->cluster_size;
  assert_true(sj_config_equal(&picked, config)); /* only the three fields are written */
}

static void table_of_each_architecture_ascends_and_ends_without_limit(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_ROWS; i++) {
    const bool is_last = i + 1 == NUM_ROWS || rows[i + 1].arch != rows[i].arch;
    const bool is_last_cluster = !is_last && rows[i].cluster_size != 0 && rows[i + 1].cluster_size == 0;
    assert_true(is_last == (rows[i].max_token_heads == SJ_PICK_NO_LIMIT));
    assert_true(is_last || rows[i].num_sms == rows[i + 1].num_sms);
    assert_true(is_last || is_last_cluster || rows[i].max_token_heads < rows[i + 1].max_token_heads);
    assert_true(is_last ? rows[i].cluster_size == 0 : rows[i].cluster_size != 0 || rows[i + 1].cluster_size == 0);
    for (unsigned before = 0; is_last && before < i; before++) {
      assert_true(rows[before].arch != rows[i].arch || rows[before].max_token_heads < rows[i].max_token_heads);
    }
    swa_jit_config config = SWA_JIT_CONFIG_INIT, taken;
    sj_tile_plan plan;
    config.arch = rows[i].arch;
    config.head_group = rows[i].head_group;
    config.kv_tile = rows[i].kv_tile;
    config.cluster_size = rows[i].cluster_size;
    assert_true(rows[i].num_sms > 0);
    assert_int_equal(sj_config_take(&config, &taken), SWA_JIT_OK);
    assert_int_equal(sj_tile_plan_make(&taken, sj_arch_find(taken.arch), &plan), SWA_JIT_OK);
  }
}

static void pick_at_a_rows_limit_takes_it_and_above_the_next(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_ROWS; i++) {
    if (rows[i].max_token_heads != SJ_PICK_NO_LIMIT) {
      swa_jit_config config = SWA_JIT_CONFIG_INIT;
      config.arch = rows[i].arch;
      const uint32_t num_tokens = rows[i].max_token_heads / 128;
      config.splits = rows[i].cluster_size == 0; /* for whom clusters are not */
      const swa_jit_config at = pick(&config, num_tokens, 128, rows[i].num_sms);
      if (rows[i].cluster_size != 0) {
        assert_int_equal(at.cluster_size, rows[i].cluster_size);
        continue;
      }
      assert_int_equal(at.head_group, rows[i].head_group);
      assert_int_equal(at.kv_tile, rows[i].kv_tile);
      const swa_jit_config above = pick(&config, num_tokens + 1, 128, rows[i].num_sms);
      assert_int_equal(above.head_group, rows[i + 1].head_group);
      assert_int_equal(above.kv_tile, rows[i + 1].kv_tile);
    }
  }
}

static void pick_for_any_problem_fits_its_architecture(void **state)
{
  (void)state;
  static const uint32_t windows[] = {1, 16, 100, 128, 1024, 8192};
  static const uint32_t tokens[] = {1, 64, 4096, UINT32_MAX};
  static const uint32_t heads[] = {1, 8, 128, UINT32_MAX};
  const sj_config_field *head_dim = find("head_dim");
  const sj_arch *arch = NULL;
  for (unsigned a = 0; (arch = sj_arch_at(a)) != NULL; a++) {
    for (unsigned d = 0; d < head_dim->num_values; d++) {
      for (size_t w = 0; w < sizeof windows / sizeof windows[0]; w++) {
        swa_jit_config config = SWA_JIT_CONFIG_INIT;
        config.arch = arch->id;
        config.head_dim = head_dim->values[d];
        config.window_size = windows[w];
        for (size_t i = 0; i < 16; i++) {
          check_problem(&config, tokens[i / 4], heads[i % 4]);
        }
      }
    }
  }
}

static void pick_for_few_heads_takes_no_wider_group_than_needed(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  static const uint32_t cases[][2] = {{1, 8}, {8, 8}, {9, 16}, {16, 16}, {17, 32}, {64, 64}, {65, 128}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_true(pick(&config, 100000, cases[i][0], 0).head_group <= cases[i][1]);
  }
}

static void pick_for_a_short_window_takes_no_longer_tile_than_needed(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  static const uint32_t cases[][2] = {{1, 16}, {16, 16}, {17, 32}, {32, 32}, {33, 64}, {64, 64}, {65, 128}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    config.window_size = cases[i][0];
    assert_true(pick(&config, 100000, 128, 0).kv_tile <= cases[i][1]);
  }
}

static void pick_of_query_heads_of_a_kv_head_takes_the_least_group_that_holds_them(void **state)
{
  (void)state;
  /* head_dim, head_dim_v, window_size, query heads of a KV head, head_group: gpt-oss, MiMo-V2, Gemma 2, Step-3 */
  static const uint32_t models[][5] = {
      {64, 64, 128, 8, 8}, {192, 128, 128, 8, 8}, {256, 256, 4096, 2, 8}, {128, 128, 512, 12, 16}};
  static const uint32_t archs[] = {SWA_JIT_ARCH_SM_80, SWA_JIT_ARCH_SM_90A, SWA_JIT_ARCH_SM_100A, SWA_JIT_ARCH_SM_120A};
  for (size_t i = 0; i < 16; i++) {
    const uint32_t *model = models[i / 4];
    swa_jit_config config = SWA_JIT_CONFIG_INIT;
    config.arch = archs[i % 4];
    config.head_dim = model[0];
    config.head_dim_v = model[1];
    config.window_size = model[2];
    config.kv_format = SWA_JIT_KV_BF16;
    check_problem(&config, 1, model[3]);
    assert_int_equal(pick(&config, 100000, model[3], 0).head_group, model[4]);
  }
}

static void pick_for_two_scopes_fits_and_is_as_long_as_the_longer(void **state)
{
  (void)state;
  static const uint32_t formats[] = {SWA_JIT_KV_E4M3_SLOT, SWA_JIT_KV_FOOTER_584, SWA_JIT_KV_FOOTER_528};
  static const uint32_t sizes[] = {16, 512, 8192};
  const sj_arch *arch = NULL;
  for (unsigned a = 0; (arch = sj_arch_at(a)) != NULL; a++) {
    for (size_t i = 0; i < 9; i++) {
      swa_jit_config config = SWA_JIT_CONFIG_INIT;
      config.arch = arch->id;
      config.window_size = 16;
      config.kv_format = config.extra_format = formats[i / 3];
      config.extra_size = sizes[i % 3];
      config.sinks = 1;
      for (uint32_t num_heads = 8; num_heads <= 128; num_heads *= 2) {
        check_problem(&config, 1, num_heads);
        check_problem(&config, 4096, num_heads);
      }
      assert_true(sizes[i % 3] > 16 || pick(&config, 1, 64, 0).kv_tile == 16);
    }
  }
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.window_size = 16;
  config.extra_size = 512;
  assert_true(pick(&config, 1, 64, 0).kv_tile > 16);
}

static void pick_for_splits_fits_and_leaves_them_as_they_are(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.kv_format = config.extra_format = SWA_JIT_KV_FOOTER_584;
  config.extra_size = 1024;
  const sj_arch *arch = NULL;
  for (unsigned a = 0; (arch = sj_arch_at(a)) != NULL; a++) {
    config.arch = arch->id;
    for (config.splits = 0; config.splits <= 1; config.splits++) {
      check_problem(&config, 1, 128);
      check_problem(&config, 256, 128);
      assert_int_equal(pick(&config, 1, 128, 0).splits, config.splits);
    }
  }
}

/* One stage in shared memory is filled only when the work on it has ended. */
static void pick_of_a_tile_that_fits_once_takes_one_that_fits_twice(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.head_dim = config.head_dim_v = 256;
  config.kv_format = SWA_JIT_KV_BF16;
  config.window_size = 4096;
  sj_tile_plan plan;
  config.head_group = 8;
  config.kv_tile = 128;
  assert_int_equal(sj_tile_plan_make(&config, sj_arch_find(config.arch), &plan), SWA_JIT_OK);
  assert_int_equal(plan.num_stages, 1);
  const swa_jit_config picked = pick(&config, 1, 2, 0);
  assert_int_equal(picked.kv_tile, 64);
  assert_int_equal(sj_tile_plan_make(&picked, sj_arch_find(config.arch), &plan), SWA_JIT_OK);
  assert_true(plan.num_stages >= 2);
}

/* ---- clusters ------------------------------------------------------------------------------------------------- */

static const pick_row cluster_rows[] = {
    {SWA_JIT_ARCH_SM_90A, 132, 4 * 128, 8, 128, 4},
    {SWA_JIT_ARCH_SM_90A, 132, 16 * 128, 16, 128, 4},
    {SWA_JIT_ARCH_SM_90A, 132, 8 * 128, 16, 64, 0},
    {SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 64, 64, 0},
};
static const pick_table cluster_table = {cluster_rows, sizeof cluster_rows / sizeof cluster_rows[0]};

/* Of sm_90a, with what differs from the defaults. cluster_size goes in as what no struct should hold. */
static swa_jit_config pick_cluster(const char *text, uint32_t num_tokens, uint32_t num_heads)
{
  swa_jit_config config;
  assert_int_equal(sj_config_from_text(text, &config), SWA_JIT_OK);
  config.arch = config.arch == SWA_JIT_ARCH_SM_100A ? SWA_JIT_ARCH_SM_90A : config.arch;
  config.cluster_size = 77;
  assert_int_equal(pick_of(&cluster_table, num_tokens, num_heads, 132, &config), SWA_JIT_OK);
  swa_jit_config taken;
  sj_tile_plan plan;
  assert_int_equal(sj_config_take(&config, &taken), SWA_JIT_OK);
  assert_int_equal(sj_tile_plan_make(&taken, sj_arch_find(taken.arch), &plan), SWA_JIT_OK);
  return config;
}

static void assert_picked(swa_jit_config picked, uint32_t head_group, uint32_t kv_tile, uint32_t cluster_size)
{
  assert_int_equal(picked.head_group, head_group);
  assert_int_equal(picked.kv_tile, kv_tile);
  assert_int_equal(picked.cluster_size, cluster_size);
}

static void pick_of_few_tokens_takes_the_clusters_that_were_measured(void **state)
{
  (void)state;
  assert_picked(pick_cluster("", 4, 128), 8, 128, 4);
  assert_picked(pick_cluster("", 5, 128), 16, 128, 4);
  assert_picked(pick_cluster("kv_format=e4m3 sinks=1 soft_cap=1", 16, 128), 16, 128, 4);
  assert_picked(pick_cluster("", 17, 128), 64, 64, 0);
  assert_picked(pick_cluster("", 16, 8), 8, 128, 4);
  assert_picked(pick_cluster("kv_format=footer_584", 16, 128), 16, 128, 4);
  assert_picked(pick_cluster("arch=sm_120a", 16, 128), 16, 128, 4);
  /* 128 clusters are most: of 8 heads each, and of 17 two. */
  assert_picked(pick_cluster("", 128, 8), 8, 128, 4);
  assert_int_equal(pick_cluster("", 129, 8).cluster_size, 0);
  assert_picked(pick_cluster("", 64, 17), 16, 128, 4);
  assert_int_equal(pick_cluster("", 65, 17).cluster_size, 0);
}

/* Their tile is of 128 positions however short the window. */
static void pick_of_clusters_for_a_short_window_keeps_their_tile(void **state)
{
  (void)state;
  assert_picked(pick_cluster("window_size=1", 5, 128), 16, 128, 4);
  assert_picked(pick_cluster("window_size=100", 5, 128), 16, 128, 4);
  assert_picked(pick_cluster("window_size=16", 17, 128), 64, 16, 0);
}

static void pick_where_clusters_do_not_go_is_as_if_there_were_none(void **state)
{
  static const char *const texts[] = {
      "window_size=129", "head_dim=256",  "kv_format=bf16", "splits=1",
      "head_dim_v=512",  "extra_size=64", "arch=sm_89",     "arch=sm_80",
  };
  (void)state;
  sj_fail(SWA_JIT_INVALID, "an earlier failure");
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    assert_picked(pick_cluster(texts[i], 5, 128), 16, 64, 0);
    assert_string_equal(sj_message(), "an earlier failure"); /* that of clusters is none of the call's */
    assert_int_equal(pick_cluster(texts[i], 9, 128).cluster_size, 0);
    assert_true(pick_cluster(texts[i], 9, 128).head_group > 16);
  }
}

static void pick_depends_on_the_load_of_a_multiprocessor(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  for (uint32_t num_tokens = 1; num_tokens <= 4096; num_tokens *= 2) {
    const swa_jit_config base = pick(&config, num_tokens, 128, 132);
    const swa_jit_config twice = pick(&config, 2 * num_tokens, 128, 264);
    assert_true(sj_config_equal(&base, &twice));
    const swa_jit_config usual = pick(&config, num_tokens, 128, 0);
    assert_true(sj_config_equal(&base, &usual));
  }
  /* A group of few heads fills the device at one token, and reads each row
   * eight times too often at many. */
  assert_true(pick(&config, 4096, 128, 132).head_group > pick(&config, 1, 128, 132).head_group);
  /* The same tokens are a small problem for many multiprocessors, and a large
   * one for few. */
  assert_true(pick(&config, 256, 128, 1).head_group > pick(&config, 256, 128, UINT32_MAX).head_group);
  /* 2^62 pairs of token and head: times 132 that is 0 in 64 bits. */
  assert_int_equal(pick(&config, 1u << 31, 1u << 31, 132).head_group, pick(&config, 4096, 128, 1).head_group);
}

static void pick_with_a_count_of_zero_is_invalid(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.head_group = 0;
  assert_int_equal(sj_pick_make(0, 128, 0, &config), SWA_JIT_INVALID);
  assert_string_equal(sj_message(), "num_tokens is 0 and num_heads is 128: both must be at least 1");
  assert_int_equal(sj_pick_make(1, 0, 0, &config), SWA_JIT_INVALID);
  assert_int_equal(config.head_group, 0);
}

static void pick_for_native_is_invalid(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_NATIVE;
  assert_int_equal(sj_pick_make(1, 128, 0, &config), SWA_JIT_INVALID);
  assert_non_null(strstr(sj_message(), "swa_jit_arch_native"));
}

static void pick_for_the_merge_kernel_is_invalid(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  const swa_jit_config before = config;
  assert_int_equal(sj_pick_make(1, 1, 132, &config), SWA_JIT_INVALID);
  assert_non_null(strstr(sj_message(), "kernel is merge"));
  assert_memory_equal(&config, &before, sizeof config);
}

static void pick_of_a_choice_that_does_not_fit_takes_a_smaller_tile_then_group(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.window_size = 8192;
  const swa_jit_config free_choice = pick(&config, 4096, 128, 0);
  largest_product = free_choice.head_group * free_choice.kv_tile / 2;
  swa_jit_config picked = pick(&config, 4096, 128, 0);
  assert_int_equal(picked.head_group, free_choice.head_group);
  assert_int_equal(picked.kv_tile, free_choice.kv_tile / 2);
  largest_product = free_choice.head_group * 16 / 2;
  picked = pick(&config, 4096, 128, 0);
  assert_int_equal(picked.head_group, free_choice.head_group / 2);
  assert_int_equal(picked.kv_tile, 16);
  largest_product = UINT32_MAX;
}

static void pick_where_nothing_fits_is_unsupported_with_the_smallest_figure(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  largest_product = 0;
  assert_int_equal(sj_pick_make(4096, 128, 0, &config), SWA_JIT_UNSUPPORTED);
  assert_string_equal(sj_message(), "128 does not fit");
  assert_int_equal(config.head_group, 16);
  assert_int_equal(config.kv_tile, 16);
  largest_product = UINT32_MAX;
}

static void pick_that_succeeds_leaves_the_threads_message(void **state)
{
  (void)state;
  sj_fail(SWA_JIT_INVALID, "an earlier failure");
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  largest_product = 128;
  pick(&config, 4096, 128, 0);
  assert_string_equal(sj_message(), "an earlier failure");
  largest_product = UINT32_MAX;
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(table_of_each_architecture_ascends_and_ends_without_limit),
      cmocka_unit_test(pick_at_a_rows_limit_takes_it_and_above_the_next),
      cmocka_unit_test(pick_for_any_problem_fits_its_architecture),
      cmocka_unit_test(pick_for_few_heads_takes_no_wider_group_than_needed),
      cmocka_unit_test(pick_for_a_short_window_takes_no_longer_tile_than_needed),
      cmocka_unit_test(pick_of_query_heads_of_a_kv_head_takes_the_least_group_that_holds_them),
      cmocka_unit_test(pick_for_two_scopes_fits_and_is_as_long_as_the_longer),
      cmocka_unit_test(pick_for_splits_fits_and_leaves_them_as_they_are),
      cmocka_unit_test(pick_of_a_tile_that_fits_once_takes_one_that_fits_twice),
      cmocka_unit_test(pick_of_few_tokens_takes_the_clusters_that_were_measured),
      cmocka_unit_test(pick_of_clusters_for_a_short_window_keeps_their_tile),
      cmocka_unit_test(pick_where_clusters_do_not_go_is_as_if_there_were_none),
      cmocka_unit_test(pick_depends_on_the_load_of_a_multiprocessor),
      cmocka_unit_test(pick_with_a_count_of_zero_is_invalid),
      cmocka_unit_test(pick_for_native_is_invalid),
      cmocka_unit_test(pick_for_the_merge_kernel_is_invalid),
      cmocka_unit_test(pick_of_a_choice_that_does_not_fit_takes_a_smaller_tile_then_group),
      cmocka_unit_test(pick_where_nothing_fits_is_unsupported_with_the_smallest_figure),
      cmocka_unit_test(pick_that_succeeds_leaves_the_threads_message),
  };
  return SJ_TEST_RUN(tests);
}
