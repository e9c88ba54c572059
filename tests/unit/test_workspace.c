/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace of splits: sizes worked out by hand from the layout in kernel_templates/splits.cuh. */
#include "test_main.h"

#include "arch.h"
#include "config.h"
#include "workspace.h"

static sj_tile_plan plan_of(const char *text, swa_jit_config *config_out)
{
  sj_tile_plan plan;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  assert_int_equal(sj_config_from_text(text, &config), SWA_JIT_OK);
  assert_int_equal(sj_config_take(&config, config_out), SWA_JIT_OK);
  assert_int_equal(sj_tile_plan_make(config_out, sj_arch_find(config_out->arch), &plan), SWA_JIT_OK);
  return plan;
}

enum { COUNTS = 4 * 65536 /* of all units that there may be, in every workspace */ };

static void workspace_of_one_unit_has_counts_rows_and_values(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan = plan_of("arch=sm_90a head_group=16 kv_tile=64 splits=1", &config);
  /* 16 rows of 16 bytes; 16 heads x 512 values of 4 bytes */
  assert_int_equal(sj_workspace_bytes(&config, &plan, 1, 1), COUNTS + 256 + 32768);
  assert_int_equal(sj_workspace_bytes(&config, &plan, 1, 3), COUNTS + 3 * (256 + 32768));
  assert_int_equal(sj_workspace_bytes(&config, &plan, 5, 3), COUNTS + 15 * (256 + 32768));
}

static void workspace_of_more_heads_than_a_pass_has_a_unit_a_pass(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan = plan_of("arch=sm_90a head_group=128 kv_tile=64 splits=1", &config);
  const uint64_t num_passes = 128 / plan.pass_heads;
  assert_true(num_passes > 1);
  assert_int_equal(sj_workspace_units(&config, &plan, 2), 2 * num_passes);
  assert_int_equal(sj_workspace_bytes(&config, &plan, 2 * num_passes, 4),
                   COUNTS + 2 * num_passes * 4 * plan.pass_heads * (16 + 512 * 4));
}

/* V's rows are what is summed; a warp's share of them is whole slices of 32. */
static void workspace_follows_the_rows_of_v(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan =
      plan_of("arch=sm_90a head_dim=192 head_dim_v=128 head_group=8 kv_tile=64 kv_format=bf16 splits=1", &config);
  /* 4 slices over 8 warps: each has room for one */
  assert_int_equal(sj_workspace_bytes(&config, &plan, 1, 2), COUNTS + 2 * (256 + 16 * 8 * 32 * 4));
}

static void workspace_of_many_splits_is_more_than_32_bits(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan = plan_of("arch=sm_90a head_group=16 kv_tile=64 splits=1", &config);
  assert_true(sj_workspace_bytes(&config, &plan, SJ_MAX_UNITS, SJ_MAX_SPLITS)
              == COUNTS + UINT64_C(33024) * SJ_MAX_UNITS * SJ_MAX_SPLITS);
}

/* What one launch writes must not be where another one expects its counts to be 0. */
static void workspace_of_any_two_launches_keeps_counts_apart_from_parts(void **state)
{
  (void)state;
  static const uint64_t units[] = {1, 2, 3, 4, 5, 64, 1001, SJ_MAX_UNITS};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    const uint64_t offset = sj_workspace_offset(units[i]);
    const uint64_t parts = offset + (units[i] * 4 + 15) / 16 * 16; /* splits.cuh: behind the counts, on 16 bytes */
    assert_int_equal(parts, COUNTS);
    assert_int_equal(offset % 16, 0);
  }
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(workspace_of_one_unit_has_counts_rows_and_values),
      cmocka_unit_test(workspace_of_more_heads_than_a_pass_has_a_unit_a_pass),
      cmocka_unit_test(workspace_follows_the_rows_of_v),
      cmocka_unit_test(workspace_of_many_splits_is_more_than_32_bits),
      cmocka_unit_test(workspace_of_any_two_launches_keeps_counts_apart_from_parts),
  };
  return SJ_TEST_RUN(tests);
}
