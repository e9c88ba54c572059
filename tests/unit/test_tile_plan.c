/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "config.h"
#include "status.h"
#include "tile_plan.h"

static swa_jit_config make_config(uint32_t head_dim, uint32_t head_group, uint32_t kv_tile, uint32_t window_size)
{
  swa_jit_config config;
  sj_config_init(&config);
  config.head_dim = head_dim;
  config.head_group = head_group;
  config.kv_tile = kv_tile;
  config.window_size = window_size;
  return config;
}

static sj_tile_plan plan_of(const swa_jit_config *config, uint32_t arch)
{
  sj_tile_plan plan;
  assert_int_equal(sj_tile_plan_make(config, sj_arch_find(arch), &plan), SWA_JIT_OK);
  return plan;
}

/* The bytes of struct smem_plan (kernel_templates/smem_plan.cuh), added up by hand. */
static void defaults_take_the_shared_memory_added_up_by_hand(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 16, 16, 128);
  sj_tile_plan plan = plan_of(&config, SWA_JIT_ARCH_SM_100A);
  uint32_t bytes = 128 * 512; /* rows */
  bytes += 16 * 512 * 2;      /* Q, more than the weights in its place */
  bytes += 128 * 16;          /* columns */
  bytes += 16 * 8 * (4 + 4);  /* tops and sums of 16 heads x 8 warps */
  bytes += 16 * 4;            /* a head's round */
  bytes += 3 * 4;             /* last round, flags of NaN codes and of unmasked positions */
  assert_int_equal(plan.shared_memory_bytes, (bytes + 127) / 128 * 128);
  assert_int_equal(plan.exact_softmax, 1);
  assert_int_equal(plan.num_warps, 8);
  assert_int_equal(plan.num_stages, 8);
  assert_int_equal(plan.padded_window, 128);
}

static void weights_count_where_they_outgrow_q(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 128, 128, 128);
  sj_tile_plan plan = plan_of(&config, SWA_JIT_ARCH_SM_90A);
  uint32_t bytes = 128 * 512 + 128 * 128 * 2 + 128 * 16 + 128 * 4 * (4 + 4) + 128 * 4 + 3 * 4;
  assert_int_equal(plan.q_stages, 2);
  assert_int_equal(plan.shared_memory_bytes, (bytes + 127) / 128 * 128);
}

/* To the last 128 bytes. */
static void two_ctas_of_128_heads_of_footer_584_fit_a_multiprocessor(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 128, 128, 128);
  config.kv_format = SWA_JIT_KV_FOOTER_584;
  config.sinks = 1;
  sj_tile_plan plan = plan_of(&config, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(plan.exact_softmax, 1);
  assert_int_equal(plan.shared_memory_bytes, 115584);
  assert_int_equal(plan.min_ctas_per_sm, 2);
}

/* 64 heads take Q in turns of two chunks, and of one where shared memory is short: softmax stays exact. */
static void turns_of_q_shrink_before_softmax_goes_online(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 64, 64, 128);
  sj_tile_plan plan = plan_of(&config, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(plan.q_stages, 4);
  assert_int_equal(plan.exact_softmax, 1);
  plan = plan_of(&config, SWA_JIT_ARCH_SM_89);
  assert_int_equal(plan.q_stages, 2);
  assert_int_equal(plan.exact_softmax, 1);
}

static void check_invariants(const swa_jit_config *config, const sj_arch *arch, const sj_tile_plan *plan)
{
  uint32_t pass_rows = (plan->pass_heads + 15) / 16 * 16;
  assert_true(plan->shared_memory_bytes <= arch->shared_memory_bytes);
  assert_true(plan->min_ctas_per_sm * (plan->shared_memory_bytes + 1024) <= arch->shared_memory_per_sm
              || plan->min_ctas_per_sm == 1);
  assert_int_equal(plan->num_warps, plan->score_warps_m * plan->score_warps_n);
  assert_int_equal(plan->num_warps, plan->value_warps_m * plan->value_warps_n);
  assert_int_equal(config->kv_tile % plan->num_warps, 0);
  assert_int_equal(pass_rows % (16 * plan->score_warps_m), 0);
  assert_int_equal(pass_rows % (16 * plan->value_warps_m), 0);
  assert_int_equal(config->head_group % plan->pass_heads, 0);
  assert_int_equal(plan->padded_window % config->kv_tile, 0);
  assert_in_range(plan->padded_window - config->window_size, 0, config->kv_tile - 1);
  assert_int_equal(plan->row_bytes % 128, 0);
  assert_true(plan->row_bytes >= config->head_dim);
  if (plan->exact_softmax) {
    assert_int_equal(plan->pass_heads, config->head_group);
    assert_int_equal(plan->num_stages * config->kv_tile, plan->padded_window);
  } else {
    assert_in_range(plan->num_stages, 1, 4);
    assert_int_equal(plan->q_stages, (config->head_dim + 63) / 64);
  }
}

static void every_configuration_fits_every_architecture(void **state)
{
  (void)state;
  static const uint32_t head_dims[] = {64, 96, 128, 192, 256, 512}, head_groups[] = {8, 16, 32, 64, 128};
  static const uint32_t kv_tiles[] = {16, 32, 64, 128}, windows[] = {1, 16, 17, 100, 128, 129, 500, 2048, 8192};
  unsigned num_plans = 0;
  for (unsigned a = 0; sj_arch_at(a) != NULL; a++) {
    for (unsigned i = 0; i < 6 * 5 * 4 * 9; i++) {
      swa_jit_config config =
          make_config(head_dims[i % 6], head_groups[i / 6 % 5], kv_tiles[i / 30 % 4], windows[i / 120]);
      sj_tile_plan plan;
      assert_int_equal(sj_tile_plan_make(&config, sj_arch_at(a), &plan), SWA_JIT_OK);
      check_invariants(&config, sj_arch_at(a), &plan);
      num_plans++;
    }
  }
  assert_int_equal(num_plans, 6 * 1080);
}

static void window_that_shared_memory_cannot_hold_is_online(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 16, 64, 8192);
  assert_int_equal(plan_of(&config, SWA_JIT_ARCH_SM_90A).exact_softmax, 0);
  config.window_size = 384; /* 192 KiB of rows: sm_90a has 227 KiB, sm_120a 99 */
  assert_int_equal(plan_of(&config, SWA_JIT_ARCH_SM_90A).exact_softmax, 1);
  assert_int_equal(plan_of(&config, SWA_JIT_ARCH_SM_120A).exact_softmax, 0);
}

static void online_pass_has_few_heads_where_memory_is_short(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 128, 128, 1000);
  assert_int_equal(plan_of(&config, SWA_JIT_ARCH_SM_90A).pass_heads, 64);
  assert_int_equal(plan_of(&config, SWA_JIT_ARCH_SM_89).pass_heads, 16);
}

/* Where registers are left for two CTAs a multiprocessor, two stages are enough; a pass of 64 heads has all of them. */
static void online_stages_leave_room_for_a_second_cta(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 16, 64, 1000);
  sj_tile_plan few = plan_of(&config, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(few.num_stages, 2);
  assert_int_equal(few.min_ctas_per_sm, 2);
  config.head_group = 64;
  sj_tile_plan many = plan_of(&config, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(many.num_stages, 4);
  assert_int_equal(many.min_ctas_per_sm, 1);
  config.head_dim = 64; /* so small that two would fit into shared memory */
  assert_int_equal(plan_of(&config, SWA_JIT_ARCH_SM_90A).min_ctas_per_sm, 1);
}

static void architecture_without_room_is_unsupported_with_the_figures(void **state)
{
  (void)state;
  sj_arch small = *sj_arch_find(SWA_JIT_ARCH_SM_89);
  swa_jit_config config = make_config(512, 16, 128, 128);
  sj_tile_plan plan = {.num_warps = 77};
  small.shared_memory_bytes = 49152;
  assert_int_equal(sj_tile_plan_make(&config, &small, &plan), SWA_JIT_UNSUPPORTED);
  assert_non_null(strstr(sj_message(), "49152"));
  assert_non_null(strstr(sj_message(), "use a smaller kv_tile"));
  assert_int_equal(plan.num_warps, 77);
}

static swa_jit_config make_cluster_config(uint32_t head_group, uint32_t window_size, uint32_t kv_format)
{
  swa_jit_config config = make_config(512, head_group, 128, window_size);
  config.kv_format = kv_format;
  config.cluster_size = 4;
  return config;
}

/* The bytes of struct cta_smem (kernel_templates/cluster/smem.cuh), added up by hand. */
static void clusters_take_the_shared_memory_added_up_by_hand(void **state)
{
  (void)state;
  swa_jit_config config = make_cluster_config(16, 128, SWA_JIT_KV_E4M3_SLOT);
  sj_tile_plan plan = plan_of(&config, SWA_JIT_ARCH_SM_90A);
  uint32_t bytes = 32 * 512;    /* a quarter of the rows */
  bytes += 128 * 128;           /* a quarter of each row */
  bytes += 16 * (128 + 8) * 2;  /* weights of all positions */
  bytes += 16 * (8 + 2) * 8;    /* tops and sums of their 8 units */
  bytes += 2 * 4 * 2 * 32 * 16; /* two own units, each in four parts */
  bytes += 2 * 4 * 2 * 32;      /* rounds of these */
  bytes += 32 * 16;             /* columns */
  bytes += 8 + 2 * 4;           /* mbarrier, parts with rounds */
  assert_int_equal(plan.shared_memory_bytes, (bytes + 127) / 128 * 128);

  config.kv_format = SWA_JIT_KV_FOOTER_584;
  plan = plan_of(&config, SWA_JIT_ARCH_SM_90A);
  bytes += 32 * 64 + 128 * 64; /* half a row of codes more, of each: a tail */
  bytes += 8 * 32 * 2;         /* factors of seven groups and the tail, of own rows */
  bytes += 2 * 128 * 2;        /* of two groups, of all */
  bytes += 32 * 8 + 32;        /* scale bytes; which rows are doubtful */
  assert_int_equal(plan.shared_memory_bytes, (bytes + 127) / 128 * 128);
}

/* 8 heads are padded to 16, and no window is shorter than the cluster's positions: one plan for all. */
static void clusters_have_one_plan_from_sm_90a_on(void **state)
{
  (void)state;
  static const uint32_t windows[] = {1, 16, 33, 127, 128};
  static const uint32_t formats[] = {SWA_JIT_KV_E4M3_SLOT, SWA_JIT_KV_E4M3};
  unsigned num_plans = 0;
  for (unsigned a = 0; sj_arch_at(a) != NULL; a++) {
    const sj_arch *arch = sj_arch_at(a);
    for (unsigned i = 0; i < 20 && arch->id >= SWA_JIT_ARCH_SM_90A; i++) {
      swa_jit_config config = make_cluster_config(i % 2 == 0 ? 8 : 16, windows[i / 4], formats[i / 2 % 2]);
      sj_tile_plan plan = plan_of(&config, arch->id);
      check_invariants(&config, arch, &plan);
      assert_int_equal(plan.exact_softmax, 1);
      assert_int_equal(plan.num_warps, 8);
      assert_int_equal(plan.min_ctas_per_sm, 2);
      assert_int_equal(plan.padded_window, 128);
      assert_int_equal(plan.pass_heads, config.head_group);
      assert_int_equal(plan.q_stages, 8);
      assert_int_equal(plan.row_bytes, 512);
      assert_int_equal(plan.v_row_bytes, 0);
      num_plans++;
    }
  }
  assert_int_equal(num_plans, 4 * 20);
}

static void clusters_before_sm_90a_are_unsupported_with_the_remedy(void **state)
{
  (void)state;
  static const struct {
    uint32_t arch;
    const char *message;
  } rows[] = {
      {SWA_JIT_ARCH_SM_80, "cluster_size 4 on sm_80: thread block clusters come with sm_90a; set cluster_size to 0"},
      {SWA_JIT_ARCH_SM_89, "cluster_size 4 on sm_89: thread block clusters come with sm_90a; set cluster_size to 0"},
  };
  swa_jit_config config = make_cluster_config(16, 128, SWA_JIT_KV_E4M3_SLOT);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    sj_tile_plan plan;
    assert_int_equal(sj_tile_plan_make(&config, sj_arch_find(rows[i].arch), &plan), SWA_JIT_UNSUPPORTED);
    assert_string_equal(sj_message(), rows[i].message);
  }
}

/* Whatever the other fields say: of a merge they are not read. */
static void merge_needs_threads_and_nothing_else(void **state)
{
  (void)state;
  swa_jit_config config = make_config(512, 128, 128, 8192);
  config.kernel = SWA_JIT_KERNEL_MERGE;
  const sj_tile_plan expected = {.num_warps = 4};
  for (unsigned i = 0; sj_arch_at(i) != NULL; i++) {
    sj_tile_plan plan = plan_of(&config, sj_arch_at(i)->id);
    assert_memory_equal(&plan, &expected, sizeof plan);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_take_the_shared_memory_added_up_by_hand),
      cmocka_unit_test(weights_count_where_they_outgrow_q),
      cmocka_unit_test(two_ctas_of_128_heads_of_footer_584_fit_a_multiprocessor),
      cmocka_unit_test(turns_of_q_shrink_before_softmax_goes_online),
      cmocka_unit_test(every_configuration_fits_every_architecture),
      cmocka_unit_test(window_that_shared_memory_cannot_hold_is_online),
      cmocka_unit_test(online_pass_has_few_heads_where_memory_is_short),
      cmocka_unit_test(online_stages_leave_room_for_a_second_cta),
      cmocka_unit_test(architecture_without_room_is_unsupported_with_the_figures),
      cmocka_unit_test(clusters_take_the_shared_memory_added_up_by_hand),
      cmocka_unit_test(clusters_have_one_plan_from_sm_90a_on),
      cmocka_unit_test(clusters_before_sm_90a_are_unsupported_with_the_remedy),
      cmocka_unit_test(merge_needs_threads_and_nothing_else),
  };
  return SJ_TEST_RUN(tests);
}
