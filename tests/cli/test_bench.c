/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-bench's options, sets, floors, arguments and choice over a stand-in for the library; no device is touched. */
#include <stdlib.h>
#include <string.h>

#include "bench_stand_in.h"
#include "launch_args.h"
#include "params.h"
#include "status.h"
#include "test_main.h"

/* ---- options ---------------------------------------------------------------------------------------------- */

static void options_by_default_span_1_to_4096_tokens(void **state)
{
  char *argv[] = {"swa-jit-bench", NULL};
  bench_options options;
  (void)state;
  assert_int_equal(bench_options_read(1, argv, &options), SJ_CLI_RUN);
  assert_int_equal(options.tokens.count, 10);
  assert_int_equal(options.tokens.values[0], 1);
  assert_int_equal(options.tokens.values[9], 4096);
  assert_int_equal(options.head_groups.count, 4);
  assert_int_equal(options.kv_tiles.count, 3);
  assert_int_equal(options.num_splits.count, 1);
  assert_int_equal(options.num_splits.values[0], 0);
  assert_int_equal(options.cluster_sizes.count, 1);
  assert_int_equal(options.cluster_sizes.values[0], 0);
  assert_int_equal(options.replays, 12);
  assert_int_equal(options.num_heads.count, 1);
  assert_int_equal(options.num_heads.values[0], 128);
  assert_int_equal(options.config.head_dim, 512);
  assert_int_equal(options.config.window_size, 128);
  assert_int_equal(options.config.kv_format, SWA_JIT_KV_E4M3_SLOT);
  assert_int_equal(options.config.extra_size, 0);
}

static void quick_measures_less_but_keeps_what_is_named(void **state)
{
  bench_options options;
  (void)state;
  assert_int_equal(READ(&options, "--quick"), SJ_CLI_RUN);
  assert_int_equal(options.tokens.count, 5);
  assert_int_equal(options.replays, 5);
  assert_int_equal(READ(&options, "--quick", "--tokens", "7", "--replays=9", "--head-group", "8,128"), SJ_CLI_RUN);
  assert_int_equal(options.tokens.count, 1);
  assert_int_equal(options.tokens.values[0], 7);
  assert_int_equal(options.replays, 9);
  assert_int_equal(options.head_groups.values[1], 128);
}

static void options_out_of_range_are_refused(void **state)
{
  bench_options options;
  (void)state;
  assert_int_equal(READ(&options, "--tokens", "0"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--tokens", "1,65536"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--head-group", "256"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--kv-tile", "16,x"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--num-splits", "1,257"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--num-splits", "most"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "0,2"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "four"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--replays", "0"), SJ_CLI_WRONG);
}

static void options_of_the_general_form_make_the_configuration(void **state)
{
  bench_options options;
  (void)state;
  assert_int_equal(READ(&options, "--kv-format", "footer_584", "--sinks", "1", "--extra-size", "512", "--soft-cap",
                        "30", "--num-heads", "8,16,128"),
                   SJ_CLI_RUN);
  assert_int_equal(options.config.kv_format, SWA_JIT_KV_FOOTER_584);
  assert_int_equal(options.config.extra_format, SWA_JIT_KV_FOOTER_584); /* --kv-format's */
  assert_int_equal(options.config.extra_size, 512);
  assert_int_equal(options.config.sinks, 1);
  assert_int_equal(options.config.soft_cap, 1);
  assert_int_equal(options.num_heads.count, 3);
  assert_int_equal(options.head_groups.values[0], 8); /* for the steps of 8 and 16 heads */
  assert_int_equal(READ(&options, "--kv-format", "bf16", "--head-dim", "192", "--head-dim-v", "128", "--num-heads",
                        "64", "--num-kv-heads", "8"),
                   SJ_CLI_RUN);
  assert_int_equal(options.config.head_dim_v, 128);
  assert_int_equal(options.config.soft_cap, 0);
}

/* A bare launch has no workspace to share with the library's. */
static void host_is_measured_of_a_kernel_without_splits(void **state)
{
  bench_options options;
  (void)state;
  assert_int_equal(READ(&options, "--host", "--num-splits", "1,pick"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--host", "--num-splits", "1,pick,0"), SJ_CLI_RUN);
  assert_int_equal(options.num_splits.count, 3);
  assert_int_equal(options.num_splits.values[0], 1);
  assert_int_equal(options.num_splits.values[1], SJ_SPLITS_PICK);
}

/* Beside kernels without clusters the problem alone has to go with them; alone, there must be one. */
static void clusters_that_nothing_goes_with_are_refused(void **state)
{
  bench_options options;
  (void)state;
  assert_int_equal(READ(&options, "--cluster-size", "0,4"), SJ_CLI_RUN);
  assert_int_equal(options.cluster_sizes.count, 2);
  assert_int_equal(options.config.cluster_size, 0);
  assert_int_equal(READ(&options, "--cluster-size", "0,4", "--window-size", "129"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "0,4", "--kv-format", "bf16"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "4", "--kv-tile", "128"), SJ_CLI_RUN);
  assert_int_equal(READ(&options, "--cluster-size", "4"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "4", "--kv-tile", "128", "--head-group", "32"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "4", "--kv-tile", "128", "--num-splits", "1"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "4", "--kv-tile", "128", "--host"), SJ_CLI_WRONG);
  assert_int_equal(READ(&options, "--cluster-size", "0,4", "--kv-tile", "128", "--host"), SJ_CLI_RUN);
}

/* ---- sets, medians, choice -------------------------------------------------------------------------------- */

static void sets_rotate_over_400_mb_without_overlap(void **state)
{
  static const uint32_t tokens[] = {1, 8, 64, 1024, 4096};
  const bench_tensors t = {.head_dim = 512,
                           .out_dim = 512,
                           .window_size = 128,
                           .k = bench_pool_plan(SWA_JIT_KV_E4M3_SLOT, 512, 1, 64, 1024, 0),
                           .q = 1 << 20,
                           .indices = 1 << 20};
  (void)state;
  for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
    const bench_step step = {tokens[i], 128};
    uint32_t sets = bench_tensors_num_sets(&t, step);
    uint64_t bytes = (uint64_t)tokens[i] * 128 * 512 * 2;
    bench_set first = bench_tensors_set(&t, step, 0);
    bench_set last = bench_tensors_set(&t, step, sets - 1);
    assert_in_range(sets, 2, 1000);
    assert_int_equal(last.q - first.q, (uint64_t)(sets - 1) * bytes);
    assert_int_equal(last.indices - first.indices, (uint64_t)(sets - 1) * tokens[i] * 128 * 4);
    assert_true(sets == 1000 || 2 * (uint64_t)sets * bytes >= 390u << 20);
  }
  assert_int_equal(bench_tensors_traffic(&t, (bench_step){1, 128}),
                   2 * 131072 + 128 * 516); /* q, out, rows and indices */
}

static void traffic_counts_footers_kv_heads_and_both_scopes(void **state)
{
  bench_options options;
  bench_tensors t;
  (void)state;
  assert_int_equal(READ(&options, "--kv-format", "footer_584", "--extra-size", "512", "--extra-format", "footer_528"),
                   SJ_CLI_RUN);
  bench_tensors_plan(&options, &t);
  assert_int_equal(bench_tensors_traffic(&t, (bench_step){3, 16}),
                   3 * (2 * 16 * 1024 + 128 * (584 + 4) + 512 * (528 + 4)));
  assert_int_equal(READ(&options, "--kv-format", "bf16", "--head-dim", "192", "--head-dim-v", "128", "--num-heads",
                        "64", "--num-kv-heads", "8"),
                   SJ_CLI_RUN);
  bench_tensors_plan(&options, &t);
  assert_int_equal(bench_tensors_traffic(&t, (bench_step){1, 64}),
                   64 * (192 + 128) * 2 + 128 * (8 * (192 + 128) * 2 + 4));
}

static void pools_are_of_400_mb_and_of_whole_blocks(void **state)
{
  const bench_pool usual = bench_pool_plan(SWA_JIT_KV_E4M3_SLOT, 512, 1, 64, 0, 400 << 20);
  const bench_pool footer = bench_pool_plan(SWA_JIT_KV_FOOTER_584, 512, 1, 64, 0, 400 << 20);
  const bench_pool odd = bench_pool_plan(SWA_JIT_KV_FOOTER_584, 512, 1, 3, 100, 0);
  (void)state;
  assert_int_equal(usual.num_slots, 1 << 20);
  assert_int_equal(usual.block_bytes, 64 * 512);
  assert_int_equal(footer.num_slots, 1 << 20);
  assert_int_equal(footer.block_bytes, 64 * 584);
  assert_int_equal(odd.num_slots, 99);
  assert_int_equal(odd.block_bytes, 1760); /* of 1,752, at a multiple of 16 */
}

/* A fault here would compare with a floor that does other work. */
static void floors_are_those_that_may_be_the_best(void **state)
{
  const sj_device device = {.num_sms = 132};
  bench_options options;
  bench_kernels kernels = {.stages = {{2, 2, 2, 2, 2}, {2, 2, 2, 1, 0}}};
  bench_tensors t;
  (void)state;
  for (int group = 0; group < BENCH_NUM_GROUPS; group++) {
    kernels.floors[0][group] = kernels.floors[1][group] = (sj_function)&kernels; /* never called */
  }
  assert_int_equal(READ(&options, "--num-heads", "16"), SJ_CLI_RUN);
  bench_tensors_plan(&options, &t);
  const bench_step step = {1, 16};
  assert_true(bench_kernels_has_floor(&device, &kernels, &t, step, (bench_floor){1, 1, 1}));
  assert_true(bench_kernels_has_floor(&device, &kernels, &t, step, (bench_floor){0, 1, 1}));
  assert_false(bench_kernels_has_floor(&device, &kernels, &t, step, (bench_floor){2, 1, 1})); /* 16 hold all heads */
  assert_false(bench_kernels_has_floor(&device, &kernels, &t, step, (bench_floor){1, 2, 1})); /* needs no more memory */
  assert_false(bench_kernels_has_floor(&device, &kernels, &t, step, (bench_floor){1, 1, 2})); /* 128 positions */
  t.window_size = 1024;
  assert_true(bench_kernels_has_floor(&device, &kernels, &t, step, (bench_floor){1, 1, 16}));
  assert_false(bench_kernels_has_floor(&device, &kernels, &t, (bench_step){132, 16}, (bench_floor){1, 1, 2}));
  assert_true(bench_kernels_has_floor(&device, &kernels, &t, (bench_step){132, 128}, (bench_floor){3, 2, 1}));
  assert_false(bench_kernels_has_floor(&device, &kernels, &t, (bench_step){132, 128}, (bench_floor){0, 1, 1}));
}

/* What a step's kernel is told of the pools. */
static void arguments_hold_every_tensor_of_the_problem(void **state)
{
  bench_options options;
  bench_tensors t;
  swa_jit_decode_args args;
  (void)state;
  assert_int_equal(READ(&options, "--kv-format", "footer_584", "--extra-size", "512", "--extra-block-size", "2",
                        "--sinks", "1", "--soft-cap", "7"),
                   SJ_CLI_RUN);
  bench_tensors_plan(&options, &t);
  t.k.rows = 0x1000;
  t.extra.rows = 0x2000;
  t.sinks = 0x3000;
  t.extra_indices = 0x4000;
  bench_sweep_args(&t, (bench_step){5, 128}, 1, false, &args);
  assert_ptr_equal(args.kv, (void *)0x1000);
  assert_ptr_equal(args.extra_kv, (void *)0x2000);
  assert_ptr_equal(args.sinks, (void *)0x3000);
  assert_ptr_equal(args.extra_indices, (void *)(0x4000 + 5 * 512 * 4));
  assert_int_equal(args.block_size, 64);
  assert_int_equal(args.extra_block_size, 2);
  assert_int_equal(args.extra_block_stride_bytes, 1168);
  assert_int_equal(args.num_blocks, (1 << 20) / 64);
  assert_true(args.soft_cap == 7.0f);
  assert_null(args.lse);
  assert_null(args.v);
  assert_int_equal(READ(&options, "--kv-format", "bf16", "--head-dim", "64", "--head-dim-v", "64", "--num-heads", "64",
                        "--num-kv-heads", "8"),
                   SJ_CLI_RUN);
  bench_tensors_plan(&options, &t);
  t.v.rows = 0x5000;
  bench_sweep_args(&t, (bench_step){1, 64}, 0, true, &args);
  assert_ptr_equal(args.v, (void *)0x5000);
  assert_int_equal(args.num_kv_heads, 8);
  assert_null(args.sinks);
  assert_null(args.extra_kv);
}

/* Addresses apart from each other, as those of memory are. */
static void place_tensors(bench_tensors *t)
{
  sj_address *all[] = {&t->q,      &t->out,         &t->indices, &t->extra_indices, &t->lens,       &t->sinks,
                       &t->k.rows, &t->k.inv_scale, &t->v.rows,  &t->v.inv_scale,   &t->extra.rows, &t->extra.inv_scale,
                       &t->lse};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    *all[i] = (i + 1) << 40;
  }
}

/* Also: the library takes what the bench passes. */
static void parameter_of_the_bare_launch_is_the_librarys(void **state)
{
  static const char *const problems[][10] = {
      {"--lse"},
      {"--num-heads", "48", "--sinks", "1", "--soft-cap", "3"},
      {"--kv-format", "footer_584", "--extra-size", "512", "--block-size", "3", "--extra-block-size", "2"},
      {"--kv-format", "bf16", "--head-dim", "192", "--head-dim-v", "128", "--num-kv-heads", "8", "--num-heads", "96"},
      {"--kv-format", "e4m3_slot", "--head-dim", "64", "--head-dim-v", "64", "--num-kv-heads", "2"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
    char *argv[12] = {"swa-jit-bench"};
    int argc = 1;
    for (; argc <= 10 && problems[i][argc - 1] != NULL; argc++) {
      argv[argc] = (char *)(uintptr_t)problems[i][argc - 1];
    }
    bench_options options;
    bench_tensors t;
    swa_jit_decode_args args;
    swa_params own;
    swa_params librarys;
    assert_int_equal(bench_options_read(argc, argv, &options), SJ_CLI_RUN);
    bench_tensors_plan(&options, &t);
    place_tensors(&t);
    bench_sweep_args(&t, (bench_step){3, options.num_heads.values[0]}, 1, options.lse, &args);
    bench_params_make(&t, &args, options.config.head_group, &own);
    memset(&librarys, 0, sizeof librarys);
    if (sj_launch_args_make(&options.config, &args, &librarys) != SWA_JIT_OK) {
      fail_msg("%s", sj_message());
    }
    assert_memory_equal(&own, &librarys, sizeof own);
  }
}

static void median_of_an_even_number_is_the_middle_pair(void **state)
{
  double odd[] = {5.0, 1.0, 3.0};
  double even[] = {8.0, 1.0, 2.0, 4.0};
  (void)state;
  assert_true(bench_timing_median(odd, 3) == 3.0);
  assert_true(bench_timing_median(even, 4) == 3.0);
}

static void best_kernel_is_the_fastest_that_is_held(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  double us = 0.0;
  (void)state;
  make_sweep(&sweep, &options, &device);
  assert_ptr_equal(bench_sweep_best(&sweep, &sweep.points[0], 0, &us), &sweep.kernels[1]);
  assert_true(us == 3.5);
  assert_ptr_equal(bench_sweep_best(&sweep, &sweep.points[1], 0, &us), &sweep.kernels[3]);
  assert_ptr_equal(bench_sweep_best(&sweep, &sweep.points[1], 16, &us), &sweep.kernels[0]);
  assert_null(bench_sweep_best(&sweep, &sweep.points[1], 64, &us));
  bench_sweep_finish(&sweep);
}

static void kernels_are_of_each_group_tile_and_number_of_splits(void **state)
{
  static const uint32_t expected[][4] = {{16, 16, 0, 0}, {16, 16, 1, 8}, {16, 16, 1, SJ_SPLITS_PICK},
                                         {16, 32, 0, 0}, {16, 32, 1, 8}, {16, 32, 1, SJ_SPLITS_PICK},
                                         {32, 16, 0, 0}, {32, 16, 1, 8}, {32, 16, 1, SJ_SPLITS_PICK},
                                         {32, 32, 0, 0}, {32, 32, 1, 8}, {32, 32, 1, SJ_SPLITS_PICK}};
  bench_sweep sweep;
  bench_options options;
  sj_device device = {.num_sms = 132};
  (void)state;
  assert_int_equal(READ(&options, "--head-group", "16,32", "--kv-tile", "16,32", "--num-splits", "0,8,pick"),
                   SJ_CLI_RUN);
  assert_true(bench_sweep_prepare(&device, NULL, SWA_JIT_ARCH_SM_90A, &options, &sweep));
  assert_int_equal(sweep.num_kernels, 12);
  for (uint32_t i = 0; i < 12; i++) {
    const bench_kernel *kernel = &sweep.kernels[i];
    assert_int_equal(kernel->config.head_group, expected[i][0]);
    assert_int_equal(kernel->config.kv_tile, expected[i][1]);
    assert_int_equal(kernel->config.splits, expected[i][2]);
    assert_int_equal(kernel->num_splits, expected[i][3]);
  }
  assert_int_equal(bench_sweep_num_splits(&sweep, &sweep.kernels[0], (bench_step){2, 128}), 0);
  assert_int_equal(bench_sweep_num_splits(&sweep, &sweep.kernels[1], (bench_step){2, 128}), 8);
  assert_int_equal(bench_sweep_num_splits(&sweep, &sweep.kernels[2], (bench_step){2, 128}), 67);
  assert_int_equal(bench_sweep_num_splits(&sweep, &sweep.kernels[2], (bench_step){200, 128}), 1);
  bench_sweep_finish(&sweep);
}

static void kernels_of_clusters_are_those_that_there_are(void **state)
{
  static const uint32_t expected[][4] = {{8, 64, 0, 0},  {8, 64, 8, 0},   {8, 128, 0, 0},
                                         {8, 128, 0, 4}, {8, 128, 8, 0},  {32, 64, 0, 0},
                                         {32, 64, 8, 0}, {32, 128, 0, 0}, {32, 128, 8, 0}};
  bench_sweep sweep;
  bench_options options;
  sj_device device = {.num_sms = 132};
  (void)state;
  assert_int_equal(
      READ(&options, "--head-group", "8,32", "--kv-tile", "64,128", "--num-splits", "0,8", "--cluster-size", "0,4"),
      SJ_CLI_RUN);
  assert_false(bench_sweep_prepare(&device, NULL, SWA_JIT_ARCH_SM_90A, &options, &sweep)); /* kv_tile 128 fails */
  assert_int_equal(sweep.num_kernels, 9);
  for (uint32_t i = 0; i < 9; i++) {
    const bench_kernel *kernel = &sweep.kernels[i];
    assert_int_equal(kernel->config.head_group, expected[i][0]);
    assert_int_equal(kernel->config.kv_tile, expected[i][1]);
    assert_int_equal(kernel->num_splits, expected[i][2]);
    assert_int_equal(kernel->config.cluster_size, expected[i][3]);
  }
  bench_sweep_finish(&sweep);
}

static void best_kernel_without_splits_and_clusters_is_told_apart(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  double us = 0.0;
  (void)state;
  make_sweep(&sweep, &options, &device);
  sweep.kernels[1].num_splits = 8;
  assert_ptr_equal(bench_sweep_best(&sweep, &sweep.points[0], 0, &us), &sweep.kernels[1]);
  assert_ptr_equal(bench_sweep_best_plain(&sweep, &sweep.points[0]), &sweep.kernels[0]);
  sweep.kernels[0].num_splits = sweep.kernels[3].num_splits = SJ_SPLITS_PICK;
  assert_null(bench_sweep_best_plain(&sweep, &sweep.points[0]));
  sweep.kernels[0].num_splits = 0;
  assert_ptr_equal(bench_sweep_best_plain(&sweep, &sweep.points[0]), &sweep.kernels[0]);
  sweep.kernels[0].config.cluster_size = 4;
  assert_null(bench_sweep_best_plain(&sweep, &sweep.points[0]));
  bench_sweep_finish(&sweep);
}

static void kernels_wider_than_the_heads_are_not_measured(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device = {0};
  (void)state;
  assert_int_equal(
      READ(&options, "--head-group", "8,16,32", "--kv-tile", "16", "--num-heads", "96", "--num-kv-heads", "8"),
      SJ_CLI_RUN);
  assert_true(bench_sweep_prepare(&device, NULL, SWA_JIT_ARCH_SM_90A, &options, &sweep));
  assert_true(bench_sweep_serves(&sweep, &sweep.kernels[0], (bench_step){1, 96}));
  assert_true(bench_sweep_serves(&sweep, &sweep.kernels[1], (bench_step){1, 96}));
  assert_false(bench_sweep_serves(&sweep, &sweep.kernels[2], (bench_step){1, 96})); /* 16 hold the 12 of a KV head */
  sweep.kernels[0].state = BENCH_REFUSED;
  assert_false(bench_sweep_serves(&sweep, &sweep.kernels[0], (bench_step){1, 96}));
  bench_sweep_finish(&sweep);
}

static void kernels_that_do_not_fit_are_left_out_and_failures_end_the_run(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device = {0};
  (void)state;
  assert_int_equal(READ(&options, "--head-group", "16,32", "--kv-tile", "16,64"), SJ_CLI_RUN);
  assert_true(bench_sweep_prepare(&device, NULL, SWA_JIT_ARCH_SM_90A, &options, &sweep));
  assert_int_equal(sweep.kernels[0].state, BENCH_HELD);
  assert_int_equal(sweep.kernels[1].state, BENCH_REFUSED);
  assert_string_equal(sweep.kernels[1].message, "too much shared memory");
  bench_sweep_finish(&sweep);
  assert_int_equal(READ(&options, "--head-group", "16", "--kv-tile", "16,128"), SJ_CLI_RUN);
  assert_false(bench_sweep_prepare(&device, NULL, SWA_JIT_ARCH_SM_90A, &options, &sweep));
  assert_int_equal(sweep.kernels[1].state, BENCH_FAILED);
  bench_sweep_finish(&sweep);
  assert_int_equal(READ(&options, "--head-group", "16", "--kv-tile", "64"), SJ_CLI_RUN);
  assert_false(bench_sweep_prepare(&device, NULL, SWA_JIT_ARCH_SM_90A, &options, &sweep));
  bench_sweep_finish(&sweep);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_by_default_span_1_to_4096_tokens),
      cmocka_unit_test(quick_measures_less_but_keeps_what_is_named),
      cmocka_unit_test(options_out_of_range_are_refused),
      cmocka_unit_test(options_of_the_general_form_make_the_configuration),
      cmocka_unit_test(host_is_measured_of_a_kernel_without_splits),
      cmocka_unit_test(clusters_that_nothing_goes_with_are_refused),
      cmocka_unit_test(sets_rotate_over_400_mb_without_overlap),
      cmocka_unit_test(traffic_counts_footers_kv_heads_and_both_scopes),
      cmocka_unit_test(pools_are_of_400_mb_and_of_whole_blocks),
      cmocka_unit_test(floors_are_those_that_may_be_the_best),
      cmocka_unit_test(arguments_hold_every_tensor_of_the_problem),
      cmocka_unit_test(parameter_of_the_bare_launch_is_the_librarys),
      cmocka_unit_test(median_of_an_even_number_is_the_middle_pair),
      cmocka_unit_test(best_kernel_is_the_fastest_that_is_held),
      cmocka_unit_test(kernels_are_of_each_group_tile_and_number_of_splits),
      cmocka_unit_test(kernels_of_clusters_are_those_that_there_are),
      cmocka_unit_test(best_kernel_without_splits_and_clusters_is_told_apart),
      cmocka_unit_test(kernels_wider_than_the_heads_are_not_measured),
      cmocka_unit_test(kernels_that_do_not_fit_are_left_out_and_failures_end_the_run),
  };

  return SJ_TEST_RUN(tests);
}
