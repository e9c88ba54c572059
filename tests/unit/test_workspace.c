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

static void workspace_of_one_unit_has_a_count_rows_and_values(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan = plan_of("arch=sm_90a head_group=16 kv_tile=64 splits=1", &config);
  /* 16 rows of 16 bytes; 16 heads x 512 values of 4 bytes; a count, on 16 bytes */
  assert_int_equal(sj_workspace_bytes(&config, &plan, 1, 1), 16 + 256 + 32768);
  assert_int_equal(sj_workspace_bytes(&config, &plan, 1, 3), 16 + 3 * (256 + 32768));
  assert_int_equal(sj_workspace_bytes(&config, &plan, 5, 3), 32 + 15 * (256 + 32768));
}

static void workspace_of_more_heads_than_a_pass_has_a_unit_a_pass(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan = plan_of("arch=sm_90a head_group=128 kv_tile=64 splits=1", &config);
  assert_int_equal(plan.pass_heads, 32);
  assert_int_equal(sj_workspace_bytes(&config, &plan, 2, 4), 32 + 8 * 4 * (32 * 16 + 32 * 512 * 4));
}

/* V's rows are what is summed; a warp's share of them is whole slices of 32. */
static void workspace_follows_the_rows_of_v(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan =
      plan_of("arch=sm_90a head_dim=192 head_dim_v=128 head_group=8 kv_tile=64 kv_format=bf16 splits=1", &config);
  /* 4 slices over 8 warps: each has room for one */
  assert_int_equal(sj_workspace_bytes(&config, &plan, 1, 2), 16 + 2 * (256 + 16 * 8 * 32 * 4));
}

static void workspace_of_many_tokens_is_more_than_32_bits(void **state)
{
  (void)state;
  swa_jit_config config;
  const sj_tile_plan plan = plan_of("arch=sm_90a head_group=16 kv_tile=64 splits=1", &config);
  assert_true(sj_workspace_bytes(&config, &plan, INT32_MAX, 1)
              == UINT64_C(4) * (INT32_MAX + UINT64_C(1)) + UINT64_C(33024) * INT32_MAX);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(workspace_of_one_unit_has_a_count_rows_and_values),
      cmocka_unit_test(workspace_of_more_heads_than_a_pass_has_a_unit_a_pass),
      cmocka_unit_test(workspace_follows_the_rows_of_v),
      cmocka_unit_test(workspace_of_many_tokens_is_more_than_32_bits),
  };
  return SJ_TEST_RUN(tests);
}
