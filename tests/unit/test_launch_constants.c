/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "test_main.h"

#include "config.h"
#include "launch_constants.h"

static int get_id(sj_cu_context context, unsigned long long *id)
{
  (void)context;
  *id = 1;
  return SJ_CU_SUCCESS;
}

static sj_launch_constants make(const char *config_text)
{
  static const sj_cuda_api api = {.ctx_get_id = get_id};
  static const sj_tile_plan plan = {.num_warps = 4, .shared_memory_bytes = 150000};
  swa_jit_config config;
  assert_int_equal(sj_config_from_text(config_text, &config), SWA_JIT_OK);
  return sj_launch_constants_make(&api, &config, &plan);
}

static void constants_of_the_default_are_these(void **state)
{
  (void)state;
  const sj_launch_constants made = make("");
  assert_true(made.ctx_get_id == get_id);
  assert_null(made.launch_kernel);
  assert_int_equal(made.args_size, sizeof(swa_jit_decode_args));
  assert_int_equal(made.shared_memory_bytes, 150000);
  assert_int_equal(made.num_threads, 128);
  assert_int_equal(made.head_dim, 512);
  assert_int_equal(made.window_size, 128);
  assert_int_equal(made.row_bytes, 512);
  assert_int_equal(made.footer_bytes, 0);
  assert_int_equal(made.group_shift, 4);
  assert_int_equal(made.index_bytes, 4);
  assert_int_equal(made.lens_bytes, 4);
  assert_int_equal(made.scale_bytes, 4);
  assert_int_equal(made.token_ctas, 1);
  assert_int_equal(made.has_splits, 0);
}

static void constants_follow_the_configuration(void **state)
{
  (void)state;
  sj_launch_constants made =
      make("kv_format=bf16 head_dim=256 head_group=8 window_size=8192 index_type=int64 splits=1");
  assert_int_equal(made.head_dim, 256);
  assert_int_equal(made.row_bytes, 512);
  assert_int_equal(made.group_shift, 3);
  assert_int_equal(made.window_size, 8192);
  assert_int_equal(made.index_bytes, 8);
  assert_int_equal(made.lens_bytes, 4);
  assert_int_equal(made.scale_bytes, 0);
  assert_int_equal(made.has_splits, 1);
  made = make("scale_type=bfloat16 lens_type=int64 kv_tile=128 cluster_size=4");
  assert_int_equal(made.scale_bytes, 2);
  assert_int_equal(made.index_bytes, 4);
  assert_int_equal(made.lens_bytes, 8);
  assert_int_equal(made.token_ctas, 4);
  made = make("kv_format=e4m3");
  assert_int_equal(made.row_bytes, 512);
  assert_int_equal(made.scale_bytes, 0);
  made = make("kv_format=footer_584");
  assert_int_equal(made.row_bytes, 576);
  assert_int_equal(made.footer_bytes, 8);
  assert_int_equal(made.scale_bytes, 0);
  made = make("kv_format=footer_528");
  assert_int_equal(made.row_bytes, 512);
  assert_int_equal(made.footer_bytes, 16);
}

static void constants_of_kernels_that_are_never_usual_are_zeros(void **state)
{
  (void)state;
  static const sj_launch_constants zeros;
  static const char *const unusual[] = {"extra_size=64", "head_dim=128 head_dim_v=64", "kernel=merge"};
  for (size_t i = 0; i < sizeof unusual / sizeof unusual[0]; ++i) {
    const sj_launch_constants made = make(unusual[i]);
    assert_memory_equal(&made, &zeros, sizeof zeros);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_of_the_default_are_these),
      cmocka_unit_test(constants_follow_the_configuration),
      cmocka_unit_test(constants_of_kernels_that_are_never_usual_are_zeros),
  };
  return SJ_TEST_RUN(tests);
}
