/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls about a configuration, which need no library object. */
#include "swa_jit/swa_jit.h"

#include <string.h>

#include "test_main.h"

static swa_jit_config hopper_config(void)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  return config;
}

static void config_check_tells_shared_memory_and_refuses_native(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  uint32_t bytes = 0;
  assert_int_equal(swa_jit_config_check(&config, &bytes), SWA_JIT_OK);
  assert_true(bytes > 0);
  assert_int_equal(swa_jit_config_check(&config, NULL), SWA_JIT_OK);
  config.arch = SWA_JIT_ARCH_NATIVE;
  bytes = 7;
  assert_int_equal(swa_jit_config_check(&config, &bytes), SWA_JIT_INVALID);
  assert_int_equal(bytes, 7);
  assert_non_null(strstr(swa_jit_message(), "native"));
  assert_int_equal(swa_jit_config_check(NULL, &bytes), SWA_JIT_INVALID);
}

/* The size rule, for a configuration; the other structs go through the same function. */
static void config_of_another_size_follows_the_rule(void **state)
{
  (void)state;
  struct {
    swa_jit_config config;
    uint32_t tail[2];
  } newer = {.config = SWA_JIT_CONFIG_INIT};
  newer.config.size = sizeof newer;
  assert_int_equal(swa_jit_config_check(&newer.config, NULL), SWA_JIT_OK);
  newer.tail[1] = 1;
  assert_int_equal(swa_jit_config_check(&newer.config, NULL), SWA_JIT_NEWER);
  newer.config.size = sizeof newer.config - 1;
  assert_int_equal(swa_jit_config_check(&newer.config, NULL), SWA_JIT_INVALID);
  newer.config.size = 0;
  assert_int_equal(swa_jit_config_check(&newer.config, NULL), SWA_JIT_INVALID);
}

static void config_text_goes_both_ways(void **state)
{
  (void)state;
  swa_jit_config config = hopper_config();
  swa_jit_config read = {.size = sizeof read};
  char text[512];
  assert_int_equal(swa_jit_config_to_text(&config, text, sizeof text), SWA_JIT_OK);
  assert_int_equal(swa_jit_config_from_text(text, &read), SWA_JIT_OK);
  assert_memory_equal(&read, &config, sizeof config);
  assert_int_equal(swa_jit_config_to_text(NULL, text, sizeof text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_config_to_text(&config, NULL, 0), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_config_to_text(&config, text, 4), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_config_from_text(NULL, &read), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_config_from_text("", NULL), SWA_JIT_INVALID);
}

static void arch_names_go_both_ways(void **state)
{
  (void)state;
  uint32_t arch = 7;
  assert_string_equal(swa_jit_arch_name(SWA_JIT_ARCH_SM_100A), "sm_100a");
  assert_null(swa_jit_arch_name(SWA_JIT_ARCH_NATIVE));
  assert_null(swa_jit_arch_name(1234));
  assert_int_equal(swa_jit_arch_from_name("sm_90a", &arch), SWA_JIT_OK);
  assert_int_equal(arch, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(swa_jit_arch_from_name("native", &arch), SWA_JIT_OK);
  assert_int_equal(arch, SWA_JIT_ARCH_NATIVE);
  arch = 7;
  assert_int_equal(swa_jit_arch_from_name("sm_100", &arch), SWA_JIT_INVALID);
  assert_int_equal(arch, 7);
  assert_non_null(strstr(swa_jit_message(), "sm_100a"));
  assert_int_equal(swa_jit_arch_from_name(NULL, &arch), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_arch_from_name("sm_80", NULL), SWA_JIT_INVALID);
}

static void pick_sets_three_fields_to_legal_values(void **state)
{
  (void)state;
  swa_jit_config config = hopper_config();
  config.head_group = 0; /* what is picked may hold anything */
  config.kv_tile = 12345;
  config.cluster_size = 99;
  assert_int_equal(swa_jit_pick(1, 128, 0, &config), SWA_JIT_OK);
  assert_int_equal(swa_jit_config_check(&config, NULL), SWA_JIT_OK);
  assert_int_equal(config.arch, SWA_JIT_ARCH_SM_90A);
}

static void pick_bad_arguments_are_invalid_and_change_nothing(void **state)
{
  (void)state;
  swa_jit_config config = hopper_config();
  const swa_jit_config before = config;
  assert_int_equal(swa_jit_pick(0, 128, 0, &config), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_pick(1, 0, 0, &config), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_pick(1, 128, 0, NULL), SWA_JIT_INVALID);
  assert_memory_equal(&config, &before, sizeof config);
  config.head_dim = 100;
  assert_int_equal(swa_jit_pick(1, 128, 0, &config), SWA_JIT_INVALID);
  config = before;
  config.arch = SWA_JIT_ARCH_NATIVE;
  assert_int_equal(swa_jit_pick(1, 128, 0, &config), SWA_JIT_INVALID);
  config = before;
  config.size = 4;
  assert_int_equal(swa_jit_pick(1, 128, 0, &config), SWA_JIT_INVALID);
}

static void pick_splits_gives_a_number_for_a_launch(void **state)
{
  (void)state;
  swa_jit_config config = hopper_config();
  uint32_t num_splits = 0;
  assert_int_equal(swa_jit_pick_splits(&config, 1, 128, 0, 0, &num_splits), SWA_JIT_OK);
  assert_int_equal(num_splits, 1);
  config.splits = 1;
  config.window_size = 8192;
  assert_int_equal(swa_jit_pick_splits(&config, 1, 128, 0, 0, &num_splits), SWA_JIT_OK);
  assert_in_range(num_splits, 2, 256);
}

static void pick_splits_bad_arguments_are_told_and_change_nothing(void **state)
{
  (void)state;
  swa_jit_config config = hopper_config();
  uint32_t num_splits = 77;
  assert_int_equal(swa_jit_pick_splits(&config, 1, 128, 0, 0, NULL), SWA_JIT_INVALID);
  assert_non_null(strstr(swa_jit_message(), "num_splits_out is NULL"));
  assert_int_equal(swa_jit_pick_splits(NULL, 1, 128, 0, 0, &num_splits), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_pick_splits(&config, 1, 0, 0, 0, &num_splits), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_pick_splits(&config, 1, 128, 3, 0, &num_splits), SWA_JIT_INVALID);
  config.arch = SWA_JIT_ARCH_NATIVE;
  assert_int_equal(swa_jit_pick_splits(&config, 1, 128, 0, 0, &num_splits), SWA_JIT_INVALID);
  config = hopper_config();
  config.size = 4;
  assert_int_equal(swa_jit_pick_splits(&config, 1, 128, 0, 0, &num_splits), SWA_JIT_INVALID);
  assert_int_equal(num_splits, 77);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(config_check_tells_shared_memory_and_refuses_native),
      cmocka_unit_test(config_of_another_size_follows_the_rule),
      cmocka_unit_test(config_text_goes_both_ways),
      cmocka_unit_test(arch_names_go_both_ways),
      cmocka_unit_test(pick_sets_three_fields_to_legal_values),
      cmocka_unit_test(pick_bad_arguments_are_invalid_and_change_nothing),
      cmocka_unit_test(pick_splits_gives_a_number_for_a_launch),
      cmocka_unit_test(pick_splits_bad_arguments_are_told_and_change_nothing),
  };
  return SJ_TEST_RUN(tests);
}
