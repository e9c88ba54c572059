/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-bench's options, sets, choice and files over a stand-in for the library; no device is touched. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "floor_source.h"
#include "nvrtc.h"
#include "plot.h"
#include "print.h"
#include "status.h"
#include "temp_dir.h"
#include "test_main.h"

/* ---- the stand-in: kv_tile 64 does not fit, kv_tile 128 fails to compile ---------------------------------- */

const char *swa_jit_version_text(void)
{
  return "1.2.3";
}

const char *swa_jit_message(void)
{
  return sj_message();
}

const char *swa_jit_arch_name(uint32_t arch)
{
  return arch == SWA_JIT_ARCH_SM_90A ? "sm_90a" : NULL;
}

void swa_jit_config_init_sized(swa_jit_config *config, size_t size)
{
  assert_int_equal(size, sizeof *config);
  sj_config_init(config);
}

void swa_jit_decode_args_init_sized(swa_jit_decode_args *args, size_t size)
{
  assert_int_equal(size, sizeof *args);
  static const swa_jit_decode_args usual = SWA_JIT_DECODE_ARGS_INIT;
  *args = usual;
}

swa_jit_status swa_jit_config_from_text(const char *text, swa_jit_config *config_out)
{
  return sj_config_from_text(text, config_out);
}

swa_jit_status swa_jit_config_check(const swa_jit_config *config, uint32_t *shared_memory_bytes_out)
{
  swa_jit_config taken;
  swa_jit_status status = sj_config_take(config, &taken);
  (void)shared_memory_bytes_out;
  return status != SWA_JIT_OK    ? status
         : config->kv_tile == 64 ? sj_fail(SWA_JIT_UNSUPPORTED, "too much shared memory")
                                 : SWA_JIT_OK;
}

swa_jit_status swa_jit_kernel_get(swa_jit_lib *lib, const swa_jit_config *config, const swa_jit_kernel **kernel_out)
{
  (void)lib;
  if (config->kv_tile == 128) {
    return sj_fail(SWA_JIT_COMPILE_FAILED, "a line of the compiler");
  }
  *kernel_out = NULL;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_decode(const swa_jit_kernel *kernel, const swa_jit_decode_args *args, swa_jit_stream stream)
{
  (void)kernel;
  (void)args;
  (void)stream;
  return SWA_JIT_OK;
}

/* ---- options ---------------------------------------------------------------------------------------------- */

#define READ(options, ...)                                                                                             \
  bench_options_read(sizeof((char *[]){"swa-jit-bench", __VA_ARGS__}) / sizeof(char *),                                \
                     (char *[]){"swa-jit-bench", __VA_ARGS__}, options)

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

static void median_of_an_even_number_is_the_middle_pair(void **state)
{
  double odd[] = {5.0, 1.0, 3.0};
  double even[] = {8.0, 1.0, 2.0, 4.0};
  (void)state;
  assert_true(bench_timing_median(odd, 3) == 3.0);
  assert_true(bench_timing_median(even, 4) == 3.0);
}

/* Two tokens, four kernels of which the third is refused. */
static void make_sweep(bench_sweep *sweep, bench_options *options, sj_device *device)
{
  static const double us[2][4] = {{4.0, 3.5, 0.0, 6.0}, {40.0, 50.0, 0.0, 30.0}};
  assert_int_equal(READ(options, "--tokens", "1,100", "--head-group", "16,128", "--kv-tile", "16,32"), SJ_CLI_RUN);
  memset(device, 0, sizeof *device);
  strcpy(device->name, "A \"device\" <1>");
  device->num_sms = 132;
  assert_true(bench_sweep_prepare(device, NULL, SWA_JIT_ARCH_SM_90A, options, sweep));
  assert_int_equal(sweep->num_kernels, 4);
  sweep->kernels[2].state = BENCH_REFUSED;
  sweep->num_points = 2; /* of 128 heads */
  sweep->points = calloc(2, sizeof *sweep->points);
  assert_non_null(sweep->points);
  for (int i = 0; i < 2; i++) {
    sweep->points[i] = (bench_point){
        .step = {options->tokens.values[i], 128}, .traffic = 1000, .us_copy = 2.0 + 8 * i, .us_floor = 2.5 + 10 * i};
    sweep->points[i].us_ours = malloc(sizeof us[i]);
    assert_non_null(sweep->points[i].us_ours);
    memcpy(sweep->points[i].us_ours, us[i], sizeof us[i]);
  }
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

/* ---- files ------------------------------------------------------------------------------------------------ */

static char *read_back(const char *path)
{
  char *bytes = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(path, &bytes, &count));
  return bytes;
}

static unsigned count_of(const char *text, const char *part)
{
  unsigned count = 0;
  while ((text = strstr(text, part)) != NULL) {
    count++;
    text += strlen(part);
  }
  return count;
}

#define REST ",e4m3_slot,1,0,0,0,0,,64,64,0,1000\n"

static void csv_has_a_line_for_each_kernel_measured(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "bench.csv");
  make_sweep(&sweep, &options, &device);
  assert_true(bench_print_csv(&sweep, path));
  char *text = read_back(path);
  assert_string_equal(text, "device,arch,num_sms,num_tokens,num_heads,head_dim,window_size,head_group,kv_tile,us_ours,"
                            "us_floor,us_copy,kv_format,num_kv_heads,head_dim_v,sinks,soft_cap,extra_size,"
                            "extra_format,block_size,extra_block_size,lse,bytes\n"
                            "\"A 'device' <1>\",sm_90a,132,1,128,512,128,16,16,4.000,2.500,2.000" REST
                            "\"A 'device' <1>\",sm_90a,132,1,128,512,128,16,32,3.500,2.500,2.000" REST
                            "\"A 'device' <1>\",sm_90a,132,1,128,512,128,128,32,6.000,2.500,2.000" REST
                            "\"A 'device' <1>\",sm_90a,132,100,128,512,128,16,16,40.000,12.500,10.000" REST
                            "\"A 'device' <1>\",sm_90a,132,100,128,512,128,16,32,50.000,12.500,10.000" REST
                            "\"A 'device' <1>\",sm_90a,132,100,128,512,128,128,32,30.000,12.500,10.000" REST);
  free(text);
  free(path);
  bench_sweep_finish(&sweep);
}

static void json_has_ratios_and_the_host_only_when_measured(void **state)
{
  const bench_host host = {.ns_decode = 3100.0, .ns_launch = 3050.0, .ns_beyond = 50.0, .ns_find = 20.0};
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "bench.json");
  make_sweep(&sweep, &options, &device);
  assert_true(bench_print_json(&sweep, NULL, path));
  char *text = read_back(path);
  assert_int_equal(count_of(text, "\"us_ours\""), 6);
  assert_int_equal(count_of(text, "\"ratio\": 1.6"), 1);
  assert_int_equal(count_of(text, "\"host\""), 0);
  free(text);
  assert_true(bench_print_json(&sweep, &host, path));
  text = read_back(path);
  assert_int_equal(count_of(text, "\"ns_beyond\": 50"), 1);
  free(text);
  free(path);
  bench_sweep_finish(&sweep);
}

/* Every point of every line lies between the axes. */
static void assert_inside(const char *svg)
{
  for (const char *at = svg; (at = strstr(at, "points=\"")) != NULL;) {
    at += strlen("points=\"");
    while (*at != '"') {
      char *end = NULL;
      double x = strtod(at, &end);
      assert_int_equal(*end, ',');
      double y = strtod(end + 1, &end);
      assert_true(x >= 80.0 && x <= 700.0 && y >= 70.0 && y <= 490.0);
      at = end + (*end == ' ');
    }
  }
}

static void svg_has_a_line_for_floor_copy_and_each_group(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "bench.svg");
  make_sweep(&sweep, &options, &device);
  assert_true(bench_plot_write(&sweep, path));
  char *text = read_back(path);
  assert_int_equal(count_of(text, "<polyline"), 4);
  assert_int_equal(count_of(text, ">floor</text>"), 1);
  assert_int_equal(count_of(text, ">head_group 128</text>"), 1);
  assert_int_equal(count_of(text, "<1>"), 0); /* XML would break */
  assert_int_equal(count_of(text, "nan"), 0);
  assert_inside(text);
  free(text);
  free(path);
  bench_sweep_finish(&sweep);
}

/* What bench_print_tables says on standard output, of which cmocka's own goes elsewhere meanwhile. */
static char *print_tables(const bench_sweep *sweep, const char *path)
{
  assert_int_equal(fflush(stdout), 0);
  int kept = dup(STDOUT_FILENO);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(kept >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
  bench_print_tables(sweep, NULL);
  assert_int_equal(fflush(stdout), 0);
  assert_true(dup2(kept, STDOUT_FILENO) >= 0);
  close(kept);
  close(file);
  return read_back(path);
}

static void counts_of_one_are_singular(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "printed");
  make_sweep(&sweep, &options, &device);
  char *text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, ", 132 SMs, "), 1);
  assert_int_equal(count_of(text, "; 128 heads, "), 1);
  free(text);
  options.num_heads.values[0] = 1;
  options.replays = 1;
  device.num_sms = 1;
  text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, ", 1 SM, "), 1);
  assert_int_equal(count_of(text, "; 1 head, "), 1);
  assert_int_equal(count_of(text, "; median of 1 replay\n"), 1);
  free(text);
  assert_true(bench_plot_write(&sweep, path));
  text = read_back(path);
  assert_int_equal(count_of(text, ": 1 head, head_dim 512"), 1);
  free(text);
  free(path);
  bench_sweep_finish(&sweep);
}

static void tables_name_the_heads_and_the_problem(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "printed");
  make_sweep(&sweep, &options, &device);
  char *text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, "heads  tokens"), 0);
  assert_int_equal(count_of(text, "footer_584"), 0);
  free(text);
  options.num_heads.values[1] = 8;
  options.num_heads.count = 2;
  options.kv_format = options.extra_format = "footer_584";
  options.config.kv_format = SWA_JIT_KV_FOOTER_584;
  options.extra_size = 512;
  options.sinks = 1;
  sweep.points[1].step.num_heads = 8;
  sweep.points[1].floor = (bench_floor){.group = 0, .ctas = 1, .num_splits = 4};
  text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, "; 128, 8 heads, head_dim 512, window 128, footer_584, extra scope 512 of footer_584 "
                                  "in blocks of 64, sinks; "),
                   1);
  assert_int_equal(count_of(text, "heads  tokens"), 1);
  assert_int_equal(count_of(text, "8 / 4"), 1);
  free(text);
  free(path);
  bench_sweep_finish(&sweep);
}

static void file_that_cannot_be_written_is_told(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "missing/bench");
  make_sweep(&sweep, &options, &device);
  assert_false(bench_print_csv(&sweep, path));
  assert_false(bench_print_json(&sweep, NULL, path));
  assert_false(bench_plot_write(&sweep, path));
  free(path);
  bench_sweep_finish(&sweep);
}

static void nvrtc_that_is_missing_is_told(void **state)
{
  char message[2000] = "";
  char *cubin = NULL;
  (void)state;
  assert_false(bench_nvrtc_compile("/nonexistent/libnvrtc.so", bench_floor_source, "floor.cu", NULL, 0, &cubin, message,
                                   sizeof message));
  assert_non_null(strstr(message, "/nonexistent/libnvrtc.so"));
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_by_default_span_1_to_4096_tokens),
      cmocka_unit_test(quick_measures_less_but_keeps_what_is_named),
      cmocka_unit_test(options_out_of_range_are_refused),
      cmocka_unit_test(options_of_the_general_form_make_the_configuration),
      cmocka_unit_test(sets_rotate_over_400_mb_without_overlap),
      cmocka_unit_test(traffic_counts_footers_kv_heads_and_both_scopes),
      cmocka_unit_test(pools_are_of_400_mb_and_of_whole_blocks),
      cmocka_unit_test(floors_are_those_that_may_be_the_best),
      cmocka_unit_test(arguments_hold_every_tensor_of_the_problem),
      cmocka_unit_test(median_of_an_even_number_is_the_middle_pair),
      cmocka_unit_test(best_kernel_is_the_fastest_that_is_held),
      cmocka_unit_test(kernels_wider_than_the_heads_are_not_measured),
      cmocka_unit_test(kernels_that_do_not_fit_are_left_out_and_failures_end_the_run),
      cmocka_unit_test_setup_teardown(csv_has_a_line_for_each_kernel_measured, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(json_has_ratios_and_the_host_only_when_measured, temp_dir_setup,
                                      temp_dir_teardown),
      cmocka_unit_test_setup_teardown(svg_has_a_line_for_floor_copy_and_each_group, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(counts_of_one_are_singular, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(tables_name_the_heads_and_the_problem, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(file_that_cannot_be_written_is_told, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test(nvrtc_that_is_missing_is_told),
  };

  return SJ_TEST_RUN(tests);
}
