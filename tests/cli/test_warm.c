/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-warm's plan, work and exit status over a stand-in for the library. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch.h"
#include "config.h"
#include "pick.h"
#include "pick_splits.h"
#include "presets.h"
#include "print.h"
#include "status.h"
#include "temp_dir.h"
#include "test_main.h"
#include "warm_stand_in.h"
#include "work.h"

/* ---- helpers ---------------------------------------------------------------------------------------------- */

static void compile(warm_plan *plan, const warm_options *options)
{
  sj_progress progress;
  FILE *nowhere = fopen("/dev/null", "w");
  assert_non_null(nowhere);
  sj_progress_init(&progress, nowhere, false, plan->num_jobs);
  assert_true(warm_plan_settle(plan, NULL));
  warm_work_check_store(plan, NULL);
  warm_work_compile(plan, options, NULL, &progress);
  sj_progress_finish(&progress);
  fclose(nowhere);
}

static warm_options lists(const char *head_group, const char *kv_tile)
{
  warm_options options = {.jobs = 2};
  options.lists[WARM_HEAD_GROUP] = head_group;
  options.lists[WARM_KV_TILE] = kv_tile;
  return options;
}

/* ---- plans ------------------------------------------------------------------------------------------------ */

static void lists_are_multiplied(void **state)
{
  warm_options options = lists("16,32,64", "16,64");
  warm_plan plan;
  (void)state;
  options.lists[WARM_ARCH] = "sm_100a,sm_90a";
  assert_true(warm_plan_make(&options, &plan));
  assert_true(warm_plan_settle(&plan, NULL));
  assert_int_equal(plan.num_jobs, 12);
  for (size_t i = 0; i < plan.num_jobs; i++) {
    assert_int_equal(plan.jobs[i].config.arch, i < 6 ? 100 : 90);
    assert_int_equal(plan.jobs[i].config.head_group, 16u << (i % 6 / 2));
    assert_int_equal(plan.jobs[i].config.kv_tile, i % 2 == 0 ? 16 : 64);
    assert_false(plan.jobs[i].is_demanded);
  }
  warm_plan_finish(&plan);
}

static void values_given_twice_are_joined(void **state)
{
  warm_options options = lists("16,16", "16,32,16");
  warm_plan plan;
  (void)state;
  assert_true(warm_plan_make(&options, &plan));
  assert_int_equal(plan.num_jobs, 6);
  assert_true(warm_plan_settle(&plan, NULL));
  assert_int_equal(plan.num_jobs, 2);
  warm_plan_finish(&plan);
}

static void product_beyond_the_limit_is_refused(void **state)
{
  char windows[64 * 1024] = "1";
  warm_options options = lists(NULL, NULL);
  warm_plan plan;
  (void)state;
  for (int i = 2; i <= 4097; i++) {
    size_t length = strlen(windows);
    snprintf(windows + length, sizeof windows - length, ",%d", i);
  }
  options.lists[WARM_WINDOW_SIZE] = windows;
  assert_false(warm_plan_make(&options, &plan));
}

static void native_is_the_device_and_fails_without_one(void **state)
{
  warm_options options = lists(NULL, NULL);
  warm_plan plan;
  (void)state;
  options.lists[WARM_ARCH] = "native,sm_90a";
  warm_stand_in.has_device = false;
  assert_true(warm_plan_make(&options, &plan));
  assert_false(warm_plan_settle(&plan, NULL));
  warm_plan_finish(&plan);
  warm_stand_in.has_device = true;
  assert_true(warm_plan_make(&options, &plan));
  assert_true(warm_plan_settle(&plan, NULL));
  assert_int_equal(plan.num_jobs, 1); /* the device's is the one named */
  assert_int_equal(plan.jobs[0].config.arch, SWA_JIT_ARCH_SM_90A);
  warm_plan_finish(&plan);
}

static bool holds(const warm_plan *plan, const swa_jit_config *config)
{
  for (size_t i = 0; i < plan->num_jobs; i++) {
    if (sj_config_equal(&plan->jobs[i].config, config)) {
      return true;
    }
  }
  return false;
}

/* Whether a launch of num_tokens is served by such a kernel: one of splits by more than one. */
static bool is_served(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads)
{
  uint32_t num_splits = 0;
  assert_int_equal(swa_jit_pick_splits(config, num_tokens, num_heads, 0, 0, &num_splits), SWA_JIT_OK);
  return config->splits == 0 || num_splits > 1;
}

static void preset_holds_whatever_is_picked(void **state)
{
  static const char *const archs = "sm_80,sm_89,sm_90a,sm_100a,sm_103a,sm_120a";
  (void)state;
  for (unsigned at = 0; warm_shape_at(at) != NULL; at++) {
    const warm_shape *shape = warm_shape_at(at);
    warm_options options = {.preset = shape->preset, .jobs = 1};
    warm_plan plan;
    swa_jit_config asked = SWA_JIT_CONFIG_INIT;
    char text[512];
    options.lists[WARM_ARCH] = archs;
    snprintf(text, sizeof text, "%s kv_format=%s extra_format=%s", shape->fields, shape->kv_format,
             strstr(shape->fields, "extra_size") != NULL ? shape->kv_format : "e4m3_slot");
    assert_int_equal(sj_config_from_text(text, &asked), SWA_JIT_OK);
    assert_true(warm_plan_make(&options, &plan));
    assert_true(warm_plan_settle(&plan, NULL));
    for (unsigned i = 0; sj_arch_at(i) != NULL; i++) {
      for (uint32_t devices = 1; devices <= 16 && shape->num_heads != 0; devices *= 2) {
        uint32_t num_kv_heads = shape->num_kv_heads / devices;
        uint32_t num_heads = shape->num_heads / devices / (num_kv_heads != 0 ? num_kv_heads : 1);
        for (uint32_t num_tokens = 1; num_heads != 0 && num_tokens < 100000; num_tokens += 1 + num_tokens / 8) {
          swa_jit_config config = asked;
          config.arch = sj_arch_at(i)->id;
          if (sj_pick_make(num_tokens, num_heads, 0, &config) == SWA_JIT_OK && is_served(&config, num_tokens, num_heads)
              && !holds(&plan, &config)) {
            fail_msg("%s: %u tokens, %u heads on %s: head_group %u, kv_tile %u is not in the preset", shape->preset,
                     num_tokens, num_heads, sj_arch_at(i)->name, config.head_group, config.kv_tile);
          }
        }
      }
    }
    warm_plan_finish(&plan);
  }
}

static void preset_has_each_configuration_once_and_takes_the_other_lists(void **state)
{
  warm_options options = {.preset = "gemma2", .jobs = 1};
  warm_plan plan;
  (void)state;
  options.lists[WARM_ARCH] = "sm_90a,sm_90a";
  options.lists[WARM_KV_FORMAT] = "bf16,e4m3";
  options.lists[WARM_LENS_TYPE] = "int64";
  assert_true(warm_plan_make(&options, &plan));
  assert_true(warm_plan_settle(&plan, NULL));
  assert_int_equal(plan.num_jobs,
                   8); /* two head_dims, two formats, with splits or not; 8 heads of 4 KV heads are as 16 of 8 */
  for (size_t i = 0; i < plan.num_jobs; i++) {
    assert_int_equal(plan.jobs[i].config.lens_type, SWA_JIT_INT64);
    assert_int_equal(plan.jobs[i].config.window_size, 4096);
    assert_int_equal(plan.jobs[i].config.soft_cap, 1);
    for (size_t other = 0; other < i; other++) {
      assert_string_not_equal(plan.jobs[i].text, plan.jobs[other].text);
    }
  }
  warm_plan_finish(&plan);
}

static void shape_on_more_devices_than_kv_heads_keeps_one_on_each(void **state)
{
  static const struct {
    uint32_t num_heads, num_kv_heads, heads[WARM_NUM_PARALLEL];
  } cases[] = {
      {128, 1, {128, 64, 32, 16, 8}}, {64, 8, {8, 8, 8, 8, 4}},  {8, 4, {2, 2, 2, 1, 0}},
      {96, 8, {12, 12, 12, 12, 6}},   {32, 32, {1, 1, 1, 1, 1}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const warm_shape shape = {.num_heads = cases[i].num_heads, .num_kv_heads = cases[i].num_kv_heads};
    uint32_t heads[WARM_NUM_PARALLEL];
    warm_shape_heads(&shape, heads);
    assert_memory_equal(heads, cases[i].heads, sizeof heads);
  }
}

/* The page and --help are written by hand; the table is what they tell of. */
static void every_preset_is_in_the_manual(void **state)
{
  char *page = NULL;
  size_t size = 0;
  (void)state;
  assert_true(temp_dir_read(PRESETS_PAGE, &page, &size));
  for (unsigned i = 0; warm_shape_at(i) != NULL; i++) {
    const warm_shape *shape = warm_shape_at(i);
    char row[512];
    snprintf(row, sizeof row, "\n| `%s` | %u / %u | `%s` | `%s` |", shape->preset, shape->num_heads,
             shape->num_kv_heads, shape->kv_format, shape->fields);
    if (shape->num_heads != 0 && strstr(page, row) == NULL) {
      fail_msg("docs/presets.md has no row %s", row + 1);
    }
    for (size_t option = 0; option < warm_cli.num_options; option++) {
      const char *name = warm_cli.options[option].name;
      if (name != NULL && strcmp(name, "preset") == 0) {
        assert_non_null(strstr(warm_cli.options[option].help, shape->preset));
      }
    }
  }
  free(page);
}

static void file_with_a_zero_byte_is_no_trap(void **state)
{
  static const char text[] = "arch=sm_90a\0head_dim=77\nkv_tile=32\n";
  char *path = temp_dir_join(*state, "wanted.txt");
  warm_options options = {.from = path, .jobs = 1};
  warm_plan plan;
  assert_true(temp_dir_write(path, text, sizeof text - 1));
  assert_false(warm_plan_make(&options, &plan));
  free(path);
}

/* ---- work and exit status --------------------------------------------------------------------------------- */

static void combination_refused_is_listed_and_good(void **state)
{
  warm_options options = lists("16,128", "16");
  warm_plan plan;
  (void)state;
  *warm_stand_in.num_gets = 0;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(plan.jobs[0].state, WARM_COMPILED);
  assert_int_equal(plan.jobs[1].state, WARM_REFUSED);
  assert_string_equal(plan.jobs[1].reason, "needs 9 bytes, 8 are there");
  assert_int_equal(*warm_stand_in.num_gets, 1);
  assert_true(warm_plan_is_good(&plan));
  warm_plan_finish(&plan);
}

static void plan_of_refusals_alone_is_not_good(void **state)
{
  warm_options options = lists("128", "16,32");
  warm_plan plan;
  (void)state;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(warm_plan_count(&plan, WARM_REFUSED), 2);
  assert_false(warm_plan_is_good(&plan));
  warm_plan_finish(&plan);
}

static void line_of_a_file_refused_is_not_good(void **state)
{
  static const char text[] = "head_group=16\nhead_group=128\n";
  char *path = temp_dir_join(*state, "wanted.txt");
  warm_options options = {.from = path, .jobs = 1};
  warm_plan plan;
  assert_true(temp_dir_write(path, text, sizeof text - 1));
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(plan.jobs[0].state, WARM_COMPILED);
  assert_int_equal(plan.jobs[1].state, WARM_REFUSED);
  assert_false(warm_plan_is_good(&plan));
  warm_plan_finish(&plan);
  free(path);
}

static void one_failure_among_good_leaves_the_others_done(void **state)
{
  warm_options options = lists("16", "16,32,64");
  warm_plan plan;
  (void)state;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(plan.jobs[0].state, WARM_COMPILED);
  assert_int_equal(plan.jobs[1].state, WARM_HIT);
  assert_int_equal(plan.jobs[2].state, WARM_FAILED);
  assert_string_equal(plan.jobs[2].reason, "error in line 7 (SWA_JIT_COMPILE_FAILED)");
  assert_false(warm_plan_is_good(&plan));
  warm_plan_finish(&plan);
}

static void compile_that_is_not_kept_fails(void **state)
{
  warm_options options = lists("16,8", "16,128");
  warm_plan plan;
  (void)state;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(plan.jobs[0].state, WARM_COMPILED);
  assert_int_equal(plan.jobs[1].state, WARM_FAILED);
  assert_non_null(strstr(plan.jobs[1].reason, "could not keep it (SWA_JIT_STORE_ERROR)"));
  assert_int_equal(plan.jobs[2].state, WARM_FAILED);
  assert_non_null(strstr(plan.jobs[2].reason, "no store keeps it: unset SWA_JIT_READ_ONLY"));
  warm_plan_finish(&plan);
}

static void store_that_cannot_be_written_gives_hits_and_compiles_nothing(void **state)
{
  warm_options options = lists("8,128", "16,32,64");
  warm_plan plan;
  (void)state;
  *warm_stand_in.num_gets = 0;
  warm_stand_in.is_store_unwritable = true;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  warm_stand_in.is_store_unwritable = false;
  assert_int_equal(*warm_stand_in.num_gets, 1);
  assert_int_equal(plan.jobs[0].state, WARM_FAILED);
  assert_string_equal(plan.jobs[0].reason, "not compiled, as it could not be kept: no pen (SWA_JIT_STORE_ERROR)");
  assert_int_equal(plan.jobs[1].state, WARM_HIT);
  assert_null(plan.jobs[1].reason);
  assert_int_equal(plan.jobs[2].state, WARM_FAILED);
  assert_int_equal(warm_plan_count(&plan, WARM_REFUSED), 3);
  assert_false(warm_plan_is_good(&plan));
  warm_plan_finish(&plan);
}

static void store_that_cannot_be_written_and_holds_all_is_good(void **state)
{
  warm_options options = lists("16", "32");
  warm_plan plan;
  (void)state;
  warm_stand_in.is_store_unwritable = true;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  warm_stand_in.is_store_unwritable = false;
  assert_int_equal(plan.jobs[0].state, WARM_HIT);
  assert_true(warm_plan_is_good(&plan));
  warm_plan_finish(&plan);
}

/* What the store holds without the PTX that it shall have is no hit, and its making may fail. */
static void ptx_that_a_hit_lacks_is_made(void **state)
{
  warm_options options = lists("16,32,64", "32");
  warm_plan plan;
  (void)state;
  warm_stand_in.is_ptx_kept = true;
  assert_true(warm_plan_make(&options, &plan));
  assert_true(warm_plan_settle(&plan, NULL));
  warm_work_look(&plan, NULL);
  assert_int_equal(plan.jobs[0].state, WARM_MISSING);
  assert_true(plan.jobs[0].lacks_ptx);
  assert_int_equal(plan.jobs[1].state, WARM_HIT);
  assert_false(plan.jobs[1].lacks_ptx);
  warm_plan_finish(&plan);
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  warm_stand_in.is_ptx_kept = false;
  assert_int_equal(plan.jobs[0].state, WARM_FAILED); /* there is no compiler for it */
  assert_non_null(strstr(plan.jobs[0].reason, "no NVRTC"));
  assert_int_equal(plan.jobs[1].state, WARM_HIT);
  assert_int_equal(plan.jobs[2].state, WARM_FAILED); /* the store did not take it */
  assert_non_null(strstr(plan.jobs[2].reason, "its PTX is not kept"));
  warm_plan_finish(&plan);
}

static void more_jobs_than_configurations_do_each_once(void **state)
{
  warm_options options = lists("16,32,64", "16,32");
  warm_plan plan;
  (void)state;
  options.jobs = 64;
  *warm_stand_in.num_gets = 0;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(*warm_stand_in.num_gets, 6);
  assert_int_equal(warm_plan_count(&plan, WARM_HIT), 3);
  assert_int_equal(warm_plan_count(&plan, WARM_COMPILED), 3);
  warm_plan_finish(&plan);
}

static void dump_is_named_after_the_entry(void **state)
{
  warm_options options = lists("32", "16");
  warm_plan plan;
  char *path = temp_dir_join(*state, "name-1234.cu");
  char *text = NULL;
  size_t count = 0;
  options.dump_source = *state;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(plan.jobs[0].state, WARM_COMPILED);
  assert_true(temp_dir_read(path, &text, &count));
  assert_string_equal(text, "source\n");
  warm_plan_finish(&plan);
  free(text);
  free(path);
}

static void dump_that_cannot_be_made_fails_its_job(void **state)
{
  warm_options options = lists("16", "16");
  warm_plan plan;
  char *missing = temp_dir_join(*state, "missing");
  options.dump_source = missing;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(plan.jobs[0].state, WARM_FAILED);
  assert_non_null(strstr(plan.jobs[0].reason, "missing/name-1234.cu: cannot be written: No such file"));
  warm_plan_finish(&plan);
  options.dump_source = NULL;
  options.dump_ptx = *state;
  assert_true(warm_plan_make(&options, &plan));
  compile(&plan, &options);
  assert_int_equal(plan.jobs[0].state, WARM_FAILED);
  assert_string_equal(plan.jobs[0].reason, "no NVRTC (SWA_JIT_NO_COMPILER)");
  warm_plan_finish(&plan);
  free(missing);
}

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  warm_stand_in.num_gets =
      mmap(NULL, sizeof *warm_stand_in.num_gets, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (warm_stand_in.num_gets == MAP_FAILED) {
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_are_multiplied),
      cmocka_unit_test(values_given_twice_are_joined),
      cmocka_unit_test(product_beyond_the_limit_is_refused),
      cmocka_unit_test(native_is_the_device_and_fails_without_one),
      cmocka_unit_test(preset_holds_whatever_is_picked),
      cmocka_unit_test(preset_has_each_configuration_once_and_takes_the_other_lists),
      cmocka_unit_test(shape_on_more_devices_than_kv_heads_keeps_one_on_each),
      cmocka_unit_test(every_preset_is_in_the_manual),
      IN_TEMP_DIR(file_with_a_zero_byte_is_no_trap),
      cmocka_unit_test(combination_refused_is_listed_and_good),
      cmocka_unit_test(plan_of_refusals_alone_is_not_good),
      IN_TEMP_DIR(line_of_a_file_refused_is_not_good),
      cmocka_unit_test(one_failure_among_good_leaves_the_others_done),
      cmocka_unit_test(compile_that_is_not_kept_fails),
      cmocka_unit_test(store_that_cannot_be_written_gives_hits_and_compiles_nothing),
      cmocka_unit_test(store_that_cannot_be_written_and_holds_all_is_good),
      cmocka_unit_test(ptx_that_a_hit_lacks_is_made),
      cmocka_unit_test(more_jobs_than_configurations_do_each_once),
      IN_TEMP_DIR(dump_is_named_after_the_entry),
      IN_TEMP_DIR(dump_that_cannot_be_made_fails_its_job),
  };
  return SJ_TEST_RUN(tests);
}
