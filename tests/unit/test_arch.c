/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "arch.h"
#include "status.h"

static void table_every_row_is_found_by_number_and_name(void **state)
{
  (void)state;
  unsigned num_archs = 0;
  const sj_arch *arch = NULL;
  for (; (arch = sj_arch_at(num_archs)) != NULL; num_archs++) {
    assert_ptr_equal(sj_arch_find(arch->id), arch);
    assert_ptr_equal(sj_arch_find_name(arch->name), arch);
    uint32_t id = 0;
    assert_int_equal(sj_arch_read_name(arch->name, strlen(arch->name), &id), SWA_JIT_OK);
    assert_int_equal(id, arch->id);
  }
  assert_int_equal(num_archs, 6);
  assert_null(sj_arch_at(UINT32_MAX));
}

static void table_figures_are_possible(void **state)
{
  (void)state;
  const sj_arch *arch = NULL;
  for (unsigned i = 0; (arch = sj_arch_at(i)) != NULL; i++) {
    /* One CTA alone on a multiprocessor loses the 1 KiB that the system keeps of each. */
    assert_int_equal(arch->shared_memory_bytes, arch->shared_memory_per_sm - 1024);
    assert_int_equal(arch->shared_memory_per_sm % 1024, 0);
    assert_int_equal(arch->registers_per_sm, 65536);
    assert_true(arch->usual_num_sms > 0);
    assert_true(arch->min_nvrtc >= 11020 && arch->min_nvrtc < 14000);
    assert_true(arch->min_driver >= 11000 && arch->min_driver <= arch->min_nvrtc);
  }
}

static void table_known_figures_are_the_vendors(void **state)
{
  (void)state;
  const sj_arch *hopper = sj_arch_find(SWA_JIT_ARCH_SM_90A);
  assert_int_equal(hopper->shared_memory_bytes, 232448); /* 227 KiB */
  assert_int_equal(hopper->usual_num_sms, 132);
  assert_int_equal(sj_arch_find(SWA_JIT_ARCH_SM_80)->shared_memory_bytes, 166912);   /* 163 KiB */
  assert_int_equal(sj_arch_find(SWA_JIT_ARCH_SM_120A)->shared_memory_bytes, 101376); /* 99 KiB */
  assert_int_equal(sj_arch_find(SWA_JIT_ARCH_SM_100A)->min_nvrtc, 12080);
  assert_int_equal(sj_arch_find(SWA_JIT_ARCH_SM_103A)->min_nvrtc, 12090);
}

static void number_unknown_finds_nothing(void **state)
{
  (void)state;
  static const uint32_t numbers[] = {SWA_JIT_ARCH_NATIVE, 1, 75, 86, 91, 110, 121, UINT32_MAX};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    assert_null(sj_arch_find(numbers[i]));
  }
}

static void name_native_is_read_as_native(void **state)
{
  (void)state;
  uint32_t id = 99;
  assert_int_equal(sj_arch_read_name("native", 6, &id), SWA_JIT_OK);
  assert_int_equal(id, SWA_JIT_ARCH_NATIVE);
}

static void name_unknown_is_invalid_with_the_list(void **state)
{
  (void)state;
  static const char *const names[] = {"",   "sm_",         "sm_75",    "sm_90a ", "SM_90A",
                                      "90", "compute_90a", "sm_100aa", "nativ"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    uint32_t id = 99;
    assert_null(sj_arch_find_name(names[i]));
    assert_int_equal(sj_arch_read_name(names[i], strlen(names[i]), &id), SWA_JIT_INVALID);
    assert_int_equal(id, 99);
    assert_non_null(strstr(sj_message(), sj_arch_list()));
  }
}

static void name_without_suffix_is_invalid_and_names_the_suffixed(void **state)
{
  (void)state;
  static const char *const names[][2] = {
      {"sm_90", "use sm_90a;"}, {"sm_100", "use sm_100a;"}, {"sm_103", "use sm_103a;"}, {"sm_120", "use sm_120a;"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    uint32_t id = 99;
    assert_null(sj_arch_find_name(names[i][0]));
    assert_int_equal(sj_arch_read_name(names[i][0], strlen(names[i][0]), &id), SWA_JIT_INVALID);
    assert_non_null(strstr(sj_message(), names[i][1]));
  }
}

static void list_names_every_architecture(void **state)
{
  (void)state;
  char list[128] = "";
  size_t length = 0;
  const sj_arch *arch = NULL;
  for (unsigned i = 0; (arch = sj_arch_at(i)) != NULL; i++) {
    length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i == 0 ? "" : ", ", arch->name);
  }
  assert_string_equal(sj_arch_list(), list);
}

static void device_of_each_capability_gets_its_best_architecture(void **state)
{
  (void)state;
  static const struct {
    int major, minor;
    const char *expected; /* NULL: nothing runs there */
  } rows[] = {
      {7, 0, NULL},    {7, 5, NULL},       {8, 0, "sm_80"},  {8, 6, "sm_80"},    {8, 7, "sm_80"},
      {8, 8, "sm_80"}, {8, 9, "sm_89"},    {9, 0, "sm_90a"}, {9, 1, NULL},       {10, 0, "sm_100a"},
      {10, 1, NULL},   {10, 3, "sm_103a"}, {11, 0, NULL},    {12, 0, "sm_120a"}, {12, 1, NULL},
      {0, 0, NULL},    {0, 90, NULL},      {9, 10, NULL},    {8, 20, "sm_89"},   {-1, 0, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const sj_arch *arch = sj_arch_for_device(rows[i].major, rows[i].minor);
    if (rows[i].expected == NULL) {
      assert_null(arch);
    } else {
      assert_non_null(arch);
      assert_string_equal(arch->name, rows[i].expected);
      assert_true(sj_arch_runs_on(arch, rows[i].major, rows[i].minor));
    }
  }
}

static void cubin_of_each_architecture_runs_where_the_vendor_says(void **state)
{
  (void)state;
  const sj_arch *ampere = sj_arch_find(SWA_JIT_ARCH_SM_80);
  assert_true(sj_arch_runs_on(ampere, 8, 0));
  assert_true(sj_arch_runs_on(ampere, 8, 9)); /* a later minor version of the same major one */
  assert_false(sj_arch_runs_on(ampere, 9, 0));
  const sj_arch *ada = sj_arch_find(SWA_JIT_ARCH_SM_89);
  assert_true(sj_arch_runs_on(ada, 8, 9));
  assert_false(sj_arch_runs_on(ada, 8, 6));
  const sj_arch *blackwell = sj_arch_find(SWA_JIT_ARCH_SM_100A);
  assert_true(sj_arch_runs_on(blackwell, 10, 0));
  assert_false(sj_arch_runs_on(blackwell, 10, 3)); /* an a-target is for one capability */
  assert_false(sj_arch_runs_on(sj_arch_find(SWA_JIT_ARCH_SM_120A), 12, 1));
}

static void ptx_runs_on_newer_devices_unless_it_is_an_a_targets(void **state)
{
  (void)state;
  static const struct {
    uint32_t arch;
    int major, minor;
    bool runs;
  } rows[] = {
      {SWA_JIT_ARCH_SM_80, 7, 5, false},    {SWA_JIT_ARCH_SM_80, 8, 0, true},     {SWA_JIT_ARCH_SM_80, 13, 2, true},
      {SWA_JIT_ARCH_SM_89, 8, 8, false},    {SWA_JIT_ARCH_SM_89, 11, 0, true},    {SWA_JIT_ARCH_SM_89, 8, -1, false},
      {SWA_JIT_ARCH_SM_90A, 9, 0, false},   {SWA_JIT_ARCH_SM_90A, 13, 0, false},  {SWA_JIT_ARCH_SM_100A, 13, 0, false},
      {SWA_JIT_ARCH_SM_103A, 13, 0, false}, {SWA_JIT_ARCH_SM_120A, 13, 0, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_true(sj_arch_ptx_runs_on(sj_arch_find(rows[i].arch), rows[i].major, rows[i].minor) == rows[i].runs);
  }
}

static void newer_device_gets_the_ptx_that_fits_its_memory(void **state)
{
  (void)state;
  assert_int_equal(sj_arch_for_newer_device(13, 0, 232448)->id, SWA_JIT_ARCH_SM_80);
  assert_int_equal(sj_arch_for_newer_device(12, 1, 101376)->id, SWA_JIT_ARCH_SM_89);
  assert_null(sj_arch_for_newer_device(12, 1, 65536));
  assert_null(sj_arch_for_newer_device(9, 0, 232448)); /* it has its own */
  assert_null(sj_arch_for_newer_device(7, 5, 232448));
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(ptx_runs_on_newer_devices_unless_it_is_an_a_targets),
      cmocka_unit_test(newer_device_gets_the_ptx_that_fits_its_memory),
      cmocka_unit_test(table_every_row_is_found_by_number_and_name),
      cmocka_unit_test(table_figures_are_possible),
      cmocka_unit_test(table_known_figures_are_the_vendors),
      cmocka_unit_test(number_unknown_finds_nothing),
      cmocka_unit_test(name_native_is_read_as_native),
      cmocka_unit_test(name_unknown_is_invalid_with_the_list),
      cmocka_unit_test(name_without_suffix_is_invalid_and_names_the_suffixed),
      cmocka_unit_test(list_names_every_architecture),
      cmocka_unit_test(device_of_each_capability_gets_its_best_architecture),
      cmocka_unit_test(cubin_of_each_architecture_runs_where_the_vendor_says),
  };
  return SJ_TEST_RUN(tests);
}
