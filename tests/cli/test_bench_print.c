/* SPDX-License-Identifier: Apache-2.0 */
/* What swa-jit-bench prints and writes, over a stand-in for the library. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_stand_in.h"
#include "floor_source.h"
#include "nvrtc.h"
#include "plot.h"
#include "print.h"
#include "temp_dir.h"
#include "test_main.h"

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

#define REST ",e4m3_slot,1,0,0,0,0,,64,64,0,1000,0,0,0\n"

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
                            "extra_format,block_size,extra_block_size,lse,bytes,num_splits,splits_picked,"
                            "cluster_size\n"
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

static void clusters_stand_in_tables_csv_and_json(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "printed");
  make_sweep(&sweep, &options, &device);
  options.every = true;
  char *text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, "cluster"), 0);
  free(text);
  sweep.kernels[1].config.cluster_size = 4;
  text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, "cluster\n"), 2); /* the last column, of the best and of all */
  assert_int_equal(count_of(text, "splits"), 0);
  assert_int_equal(count_of(text, " 4\n"), 3); /* the best for a token, and that kernel's two lines */
  assert_int_equal(count_of(text, " 0\n"), 5);
  free(text);
  options.num_splits = (bench_list){{0, 8}, 2};
  text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, "splits  cluster\n"), 2);
  assert_int_equal(count_of(text, " 0        4\n"), 3);
  free(text);
  assert_true(bench_print_csv(&sweep, path));
  text = read_back(path);
  assert_int_equal(count_of(text, ",1000,0,0,4\n"), 2);
  assert_int_equal(count_of(text, ",1000,0,0,0\n"), 4);
  free(text);
  assert_true(bench_print_json(&sweep, NULL, path));
  text = read_back(path);
  assert_int_equal(count_of(text, "\"cluster_size\": 4,"), 2);
  assert_int_equal(count_of(text, "\"cluster_size\": 0,"), 4);
  free(text);
  free(path);
  bench_sweep_finish(&sweep);
}

/* The second kernel in 8 splits, the fourth in as many as are picked: 133 for a token, 2 for 100. */
static void splits_stand_in_tables_csv_and_json(void **state)
{
  bench_sweep sweep;
  bench_options options;
  sj_device device;
  char *path = temp_dir_join(*state, "printed");
  make_sweep(&sweep, &options, &device);
  char *text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, "splits"), 0);
  free(text);
  options.num_splits = (bench_list){{0, 8, SJ_SPLITS_PICK}, 3};
  options.every = true;
  sweep.kernels[1].config.splits = sweep.kernels[3].config.splits = 1;
  sweep.kernels[1].num_splits = 8;
  sweep.kernels[3].num_splits = SJ_SPLITS_PICK;
  text = print_tables(&sweep, path);
  assert_int_equal(count_of(text, "splits\n"), 2); /* the last column, of the best and of all */
  assert_int_equal(count_of(text, " 8\n"), 3);     /* the best for a token, and that kernel's two lines */
  assert_int_equal(count_of(text, "133 picked\n"), 1);
  assert_int_equal(count_of(text, "2 picked\n"), 2); /* the best for 100 tokens, and its line */
  free(text);
  assert_true(bench_print_csv(&sweep, path));
  text = read_back(path);
  assert_int_equal(count_of(text, ",1000,0,0,0\n"), 2);
  assert_int_equal(count_of(text, ",1000,8,0,0\n"), 2);
  assert_int_equal(count_of(text, ",1000,133,1,0\n"), 1);
  assert_int_equal(count_of(text, ",1000,2,1,0\n"), 1);
  free(text);
  assert_true(bench_print_json(&sweep, NULL, path));
  text = read_back(path);
  assert_int_equal(count_of(text, "\"num_splits\": 8,"), 2);
  assert_int_equal(count_of(text, "\"num_splits\": 133,"), 1);
  assert_int_equal(count_of(text, "\"splits_picked\": true"), 2);
  assert_int_equal(count_of(text, "\"splits_picked\": false"), 4);
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
      cmocka_unit_test_setup_teardown(csv_has_a_line_for_each_kernel_measured, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(json_has_ratios_and_the_host_only_when_measured, temp_dir_setup,
                                      temp_dir_teardown),
      cmocka_unit_test_setup_teardown(svg_has_a_line_for_floor_copy_and_each_group, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(counts_of_one_are_singular, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(tables_name_the_heads_and_the_problem, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(clusters_stand_in_tables_csv_and_json, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(splits_stand_in_tables_csv_and_json, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(file_that_cannot_be_written_is_told, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test(nvrtc_that_is_missing_is_told),
  };

  return SJ_TEST_RUN(tests);
}
