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

swa_jit_status swa_jit_config_check(const swa_jit_config *config, uint32_t *shared_memory_bytes_out)
{
  (void)shared_memory_bytes_out;
  return config->kv_tile == 64 ? sj_fail(SWA_JIT_UNSUPPORTED, "too much shared memory") : SWA_JIT_OK;
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
  assert_int_equal(options.num_heads, 128);
  assert_int_equal(options.head_dim, 512);
  assert_int_equal(options.window_size, 128);
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

/* ---- sets, medians, choice -------------------------------------------------------------------------------- */

static void sets_rotate_over_400_mb_without_overlap(void **state)
{
  static const uint32_t tokens[] = {1, 8, 64, 1024, 4096};
  const bench_tensors t = {.num_heads = 128, .head_dim = 512, .window_size = 128, .q = 1 << 20, .indices = 1 << 20};
  (void)state;
  for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
    uint32_t sets = bench_tensors_num_sets(&t, tokens[i]);
    uint64_t bytes = (uint64_t)tokens[i] * 128 * 512 * 2;
    bench_set first = bench_tensors_set(&t, tokens[i], 0);
    bench_set last = bench_tensors_set(&t, tokens[i], sets - 1);
    assert_in_range(sets, 2, 1000);
    assert_int_equal(last.q - first.q, (uint64_t)(sets - 1) * bytes);
    assert_int_equal(last.indices - first.indices, (uint64_t)(sets - 1) * tokens[i] * 128 * 4);
    assert_true(sets == 1000 || 2 * (uint64_t)sets * bytes >= 390u << 20);
  }
  assert_int_equal(bench_tensors_traffic(&t, 1), 2 * 131072 + 128 * 516); /* q, out, rows and indices */
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
  sweep->num_points = 2;
  sweep->points = calloc(2, sizeof *sweep->points);
  assert_non_null(sweep->points);
  for (int i = 0; i < 2; i++) {
    sweep->points[i] =
        (bench_point){.num_tokens = options->tokens.values[i], .us_copy = 2.0 + 8 * i, .us_floor = 2.5 + 10 * i};
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

static void csv_has_a_line_for_each_held_kernel(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "bench.csv");
  make_sweep(&sweep, &options, &device);
  assert_true(bench_print_csv(&sweep, path));
  char *text = read_back(path);
  assert_string_equal(text, "device,arch,num_sms,num_tokens,num_heads,head_dim,window_size,head_group,kv_tile,us_ours,"
                            "us_floor,us_copy\n"
                            "\"A 'device' <1>\",sm_90a,132,1,128,512,128,16,16,4.000,2.500,2.000\n"
                            "\"A 'device' <1>\",sm_90a,132,1,128,512,128,16,32,3.500,2.500,2.000\n"
                            "\"A 'device' <1>\",sm_90a,132,1,128,512,128,128,32,6.000,2.500,2.000\n"
                            "\"A 'device' <1>\",sm_90a,132,100,128,512,128,16,16,40.000,12.500,10.000\n"
                            "\"A 'device' <1>\",sm_90a,132,100,128,512,128,16,32,50.000,12.500,10.000\n"
                            "\"A 'device' <1>\",sm_90a,132,100,128,512,128,128,32,30.000,12.500,10.000\n");
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
  options.num_heads = options.num_slots = options.replays = 1;
  device.num_sms = 1;
  text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, ", 1 SM, "), 1);
  assert_int_equal(count_of(text, "; 1 head, "), 1);
  assert_int_equal(count_of(text, ", 1 slot; median of 1 replay\n"), 1);
  free(text);
  assert_true(bench_plot_write(&sweep, path));
  text = read_back(path);
  assert_int_equal(count_of(text, ": 1 head, head_dim 512"), 1);
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
      cmocka_unit_test(sets_rotate_over_400_mb_without_overlap),
      cmocka_unit_test(median_of_an_even_number_is_the_middle_pair),
      cmocka_unit_test(best_kernel_is_the_fastest_that_is_held),
      cmocka_unit_test(kernels_that_do_not_fit_are_left_out_and_failures_end_the_run),
      cmocka_unit_test_setup_teardown(csv_has_a_line_for_each_held_kernel, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(json_has_ratios_and_the_host_only_when_measured, temp_dir_setup,
                                      temp_dir_teardown),
      cmocka_unit_test_setup_teardown(svg_has_a_line_for_floor_copy_and_each_group, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(counts_of_one_are_singular, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(file_that_cannot_be_written_is_told, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test(nvrtc_that_is_missing_is_told),
  };

  return SJ_TEST_RUN(tests);
}
