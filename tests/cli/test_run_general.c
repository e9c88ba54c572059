/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-run's problems of the general form: generated, from files, and pools that it writes. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_formats.h"
#include "reference.h"
#include "run_stand_in.h"
#include "scope.h"
#include "temp_dir.h"
#include "test_main.h"
#include "verify.h"
#include "write_pool.h"

static const char *const format_names[] = {"e4m3_slot", "e4m3", "bf16", "footer_584", "footer_528"};
enum { NUM_FORMATS = sizeof format_names / sizeof format_names[0], FOOTER_DIM = SJ_REFERENCE_FOOTER_DIM };

static bool is_footer(const char *format)
{
  return strncmp(format, "footer", 6) == 0;
}

/* Both scopes, of one format. */
static run_options options_of(const char *format)
{
  run_options options = small_options();
  options.kv_format = options.extra_format = format;
  options.head_dim = is_footer(format) ? FOOTER_DIM : HEAD_DIM;
  options.extra_size = 30;
  options.extra_block_size = 2;
  options.with_sinks = true;
  options.soft_cap = 4.0;
  return options;
}

/* gpt-oss's form. */
static run_options options_of_own_v(void)
{
  run_options options = small_options();
  options.kv_format = "bf16";
  options.num_heads = 6;
  options.num_kv_heads = 2;
  options.head_dim_v = 64;
  options.with_sinks = true;
  return options;
}

/* ---- generated -------------------------------------------------------------------------------------------- */

static double row_rms(const sj_reference_pool *pool, int64_t slot, uint32_t kv_head)
{
  double row[FOOTER_DIM];
  double sum = 0.0;
  double scale = sj_reference_pool_row(pool, slot, kv_head, row);
  for (uint32_t d = 0; d < pool->head_dim; d++) {
    sum += scale * row[d] * scale * row[d];
  }
  return sqrt(sum / pool->head_dim);
}

static void assert_unit_rms(const sj_reference_pool *pool, int64_t num_slots)
{
  for (int64_t slot = 0; slot < num_slots; slot++) {
    for (uint32_t kv_head = 0; kv_head < pool->num_kv_heads; kv_head++) {
      assert_true(fabs(row_rms(pool, slot, kv_head) - 1.0) < 0.03);
    }
  }
}

static void rows_of_every_format_have_unit_rms(void **state)
{
  (void)state;
  for (int i = 0; i < NUM_FORMATS; i++) {
    run_options options = options_of(format_names[i]);
    run_problem problem = make(&options);
    swa_jit_decode_args args;
    run_problem_args(&problem, NULL, &args);
    sj_reference_scope window = sj_reference_window(&problem.config, &args);
    sj_reference_scope extra = sj_reference_extra(&problem.config, &args);
    assert_unit_rms(&window.k, window.num_slots);
    assert_unit_rms(&extra.k, extra.num_slots);
    run_problem_finish(&problem);
  }
}

static void rows_of_kv_heads_and_of_v_differ_and_have_unit_rms(void **state)
{
  run_options options = options_of_own_v();
  run_problem problem = make(&options);
  swa_jit_decode_args args;
  double first[FOOTER_DIM], second[FOOTER_DIM], v[FOOTER_DIM];
  (void)state;
  run_problem_args(&problem, NULL, &args);
  sj_reference_scope window = sj_reference_window(&problem.config, &args);
  assert_true(window.has_v);
  assert_unit_rms(&window.k, window.num_slots);
  assert_unit_rms(&window.v, window.num_slots);
  sj_reference_pool_row(&window.k, 5, 0, first);
  sj_reference_pool_row(&window.k, 5, 1, second);
  sj_reference_pool_row(&window.v, 5, 0, v);
  assert_memory_not_equal(first, second, 64 * sizeof *first);
  assert_memory_not_equal(first, v, 64 * sizeof *first);
  run_problem_finish(&problem);
}

static void extra_scopes_share_a_pool_of_65536_slots(void **state)
{
  run_options options = options_of("e4m3");
  run_problem problem;
  (void)state;
  options.extra_size = 8192;
  options.extra_block_size = 64;
  options.num_tokens = 1000;
  assert_int_equal(run_problem_make(&options, &problem), RUN_GOOD);
  assert_int_equal(problem.pools[RUN_POOL_EXTRA].num_blocks, 1024);
  run_problem_finish(&problem);
}

static void dimensions_that_do_not_fit_each_other_are_refused(void **state)
{
  run_problem problem;
  run_options options = options_of_own_v();
  (void)state;
  options.num_kv_heads = 4; /* of 6 heads */
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE);
  options = options_of("footer_584");
  options.num_kv_heads = 3;
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE);
  options = options_of("footer_584");
  options.extra_block_size = 3; /* blocks of 1,752 bytes */
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE);
  options = options_of("e4m3");
  options.num_heads = 4;
  options.num_kv_heads = 2; /* beside an extra scope */
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE);
}

static void bytes_moved_count_both_scopes_and_all_kv_heads(void **state)
{
  run_options options = options_of("footer_584");
  run_problem problem = make(&options);
  int64_t *lens = problem.tensors[RUN_LENS].data;
  int64_t *extra_lens = problem.tensors[RUN_EXTRA_LENS].data;
  (void)state;
  for (int token = 0; token < NUM_TOKENS; token++) {
    lens[token] = token == 0 ? 3 : 0;
    extra_lens[token] = token == 1 ? 7 : 0;
  }
  double fixed = 2.0 * 2.0 * NUM_TOKENS * NUM_HEADS * FOOTER_DIM + 4.0 * NUM_TOKENS * NUM_HEADS + 2 * 8.0 * NUM_TOKENS
                 + 4.0 * NUM_HEADS;
  assert_true(run_problem_bytes_moved(&problem) == fixed + 10 * (584 + 4.0));
  run_problem_finish(&problem);
  options = options_of_own_v();
  problem = make(&options);
  memset(problem.tensors[RUN_LENS].data, 0, problem.tensors[RUN_LENS].bytes);
  double empty = run_problem_bytes_moved(&problem);
  ((int64_t *)problem.tensors[RUN_LENS].data)[0] = 1;
  assert_true(run_problem_bytes_moved(&problem) == empty + 4.0 + 2 * (HEAD_DIM + 64) * 2.0);
  run_problem_finish(&problem);
}

/* ---- judgement -------------------------------------------------------------------------------------------- */

/* Writes the reference itself, rounded, as the results. */
static void write_truth(run_problem *problem)
{
  swa_jit_decode_args args;
  uint32_t dim = run_problem_out_dim(problem);
  size_t num_rows = (size_t)problem->num_tokens * problem->num_heads;
  double *out = calloc(num_rows * dim, sizeof *out);
  double *lse = calloc(num_rows, sizeof *lse);
  assert_non_null(out);
  assert_non_null(lse);
  run_problem_args(problem, NULL, &args);
  sj_reference_decode(&problem->config, &args, 1, out, lse);
  for (size_t i = 0; i < num_rows * dim; i++) {
    ((uint16_t *)problem->tensors[RUN_OUT].data)[i] = sj_reference_bf16_from_double(out[i]);
  }
  for (size_t i = 0; i < num_rows; i++) {
    ((float *)problem->tensors[RUN_LSE].data)[i] = (float)lse[i];
  }
  free(out);
  free(lse);
}

static void check_truth(const run_options *options)
{
  run_problem problem = make(options);
  run_verdict verdict;
  write_truth(&problem);
  run_verify(&problem, &verdict);
  assert_true(verdict.is_good);
  assert_true(verdict.lse_error < 1e-6);
  problem.soft_cap *= 0.5f; /* another problem has other results */
  ((float *)problem.tensors[RUN_SINKS].data)[0] += 1.0f;
  run_verify(&problem, &verdict);
  assert_false(verdict.is_good);
  run_problem_finish(&problem);
}

static void truth_of_the_general_form_is_good(void **state)
{
  (void)state;
  for (int i = 0; i < NUM_FORMATS; i++) {
    run_options options = options_of(format_names[i]);
    options.lse_form = (uint32_t)i; /* every form with it */
    check_truth(&options);
  }
  run_options options = options_of_own_v();
  options.lse_form = SWA_JIT_LSE_EMPTY_PLUS_INFINITY;
  check_truth(&options);
}

/* ---- pools written, files read ---------------------------------------------------------------------------- */

enum { ROWS = 12, ROWS_BLOCK = 4 };

/* Rows of very different sizes. */
static float value_at(uint64_t row, uint32_t d)
{
  return (float)((d % 2 == 0 ? 1.0 : -1.0) * (1.0 + (double)((row + d) % 11)) * exp2((double)(row % 5) - 2.0));
}

static char *write_rows(const char *folder, const uint64_t *shape, unsigned num_dims)
{
  char *path = temp_dir_join(folder, "rows.npy");
  char message[300];
  uint64_t count = 1;
  for (unsigned i = 0; i < num_dims; i++) {
    count *= shape[i];
  }
  float *values = calloc(count, sizeof *values);
  assert_non_null(values);
  for (uint64_t i = 0; i < count; i++) {
    values[i] = value_at(i / shape[num_dims - 1], (uint32_t)(i % shape[num_dims - 1]));
  }
  assert_true(sj_npy_write(path, "<f4", shape, num_dims, values, count * sizeof *values, message, sizeof message));
  free(values);
  return path;
}

/* run_write_pool without what it prints. */
static run_outcome write_quietly(const run_options *options)
{
  assert_int_equal(fflush(stdout), 0);
  int kept = dup(STDOUT_FILENO);
  int nowhere = open("/dev/null", O_WRONLY);
  assert_true(kept >= 0 && nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0);
  run_outcome outcome = run_write_pool(options);
  assert_int_equal(fflush(stdout), 0);
  assert_true(dup2(kept, STDOUT_FILENO) >= 0);
  close(kept);
  close(nowhere);
  return outcome;
}

static sj_npy read_npy(const char *path)
{
  sj_npy file;
  char message[300];
  if (!sj_npy_read(path, &file, message, sizeof message)) {
    fail_msg("%s", message);
  }
  return file;
}

/* Each element within its format's rounding, the scale of its row known. */
static void assert_row(const char *format, const sj_npy *pool, const sj_npy *scales, uint64_t slot, uint32_t dim)
{
  double row[FOOTER_DIM];
  uint32_t kv_format = is_footer(format) ? (format[8] == '8' ? SWA_JIT_KV_FOOTER_584 : SWA_JIT_KV_FOOTER_528)
                       : strcmp(format, "bf16") == 0 ? SWA_JIT_KV_BF16
                                                     : SWA_JIT_KV_E4M3;
  double scale = scales->data != NULL ? (double)((const float *)scales->data)[slot] : 11.0 * 4.0 / 448.0;
  const uint8_t *block = (const uint8_t *)pool->data + slot / ROWS_BLOCK * (pool->data_bytes / (ROWS / ROWS_BLOCK));
  sj_reference_read_row(kv_format, block, ROWS_BLOCK, slot % ROWS_BLOCK, 0, dim, scale, row);
  for (uint32_t d = 0; d < dim; d++) {
    double value = (double)value_at(slot, d);
    assert_true(fabs(row[d] - value) <= fabs(value) / 15.0 + scale / 1000.0);
  }
}

static void pool_written_of_every_format_holds_the_rows(void **state)
{
  char *pool_path = temp_dir_join(*state, "pool.npy");
  char *scales_path = temp_dir_join(*state, "scales.npy");
  for (int i = 0; i < NUM_FORMATS; i++) {
    uint32_t dim = is_footer(format_names[i]) ? FOOTER_DIM : 64;
    char *from = write_rows(*state, (const uint64_t[]){ROWS, dim}, 2);
    run_options options = small_options();
    options.kv_format = format_names[i];
    options.block_size = ROWS_BLOCK;
    options.write_pool = pool_path;
    options.from = from;
    options.write_inv_scale = i == 0 ? scales_path : NULL;
    assert_int_equal(write_quietly(&options), RUN_GOOD);
    sj_npy pool = read_npy(pool_path);
    sj_npy scales = {0};
    if (i == 0) {
      scales = read_npy(scales_path);
      assert_int_equal(scales.num_elements, ROWS);
    }
    assert_int_equal(pool.num_dims, 3);
    assert_int_equal(pool.shape[0], ROWS / ROWS_BLOCK);
    assert_int_equal(pool.shape[1], ROWS_BLOCK);
    assert_int_equal(pool.shape[2], i == 3 ? 584 : i == 4 ? 528 : 64);
    for (uint64_t slot = 0; slot < ROWS; slot++) {
      assert_row(format_names[i], &pool, &scales, slot, dim);
    }
    sj_npy_finish(&pool);
    sj_npy_finish(&scales);
    free(from);
  }
  free(pool_path);
  free(scales_path);
}

static void rows_that_make_no_pool_are_refused(void **state)
{
  char *pool_path = temp_dir_join(*state, "pool.npy");
  char *from = write_rows(*state, (const uint64_t[]){ROWS, 64}, 2);
  run_options options = small_options();
  options.write_pool = pool_path;
  options.from = from;
  options.kv_format = "bf16";
  options.block_size = 5; /* 12 rows */
  assert_int_equal(write_quietly(&options), RUN_BAD);
  options.block_size = ROWS_BLOCK;
  options.kv_format = "footer_528"; /* of 64 elements */
  assert_int_equal(write_quietly(&options), RUN_BAD);
  free(from);
  from = write_rows(*state, (const uint64_t[]){3, 4, 2, FOOTER_DIM}, 4);
  options.from = from;
  assert_int_equal(write_quietly(&options), RUN_BAD); /* two KV heads */
  options.kv_format = "bf16";
  assert_int_equal(write_quietly(&options), RUN_GOOD);
  float *rows = NULL;
  size_t size = 0;
  assert_true(temp_dir_read(from, (char **)&rows, &size));
  rows[size / sizeof *rows - 1] = NAN;
  assert_true(temp_dir_write(from, rows, size));
  assert_int_equal(write_quietly(&options), RUN_BAD);
  free(rows);
  free(from);
  free(pool_path);
}

/* Saves the tensors of a generated problem, which then is read from them. */
static void save_inputs(const run_problem *problem, const char *folder, run_options *options)
{
  const swa_jit_config *config = &problem->config;
  const run_pool *pools = problem->pools;
  uint64_t num_tokens = problem->num_tokens;
  bool has_heads = pools[RUN_POOL_K].num_kv_heads > 1;
  const struct {
    enum run_input which;
    const char *type;
    unsigned num_dims;
    uint64_t shape[4];
  } files[] = {
      {RUN_Q, "<u2", 3, {num_tokens, problem->num_heads, config->head_dim}},
      {RUN_INDICES, "<i4", 2, {num_tokens, config->window_size}},
      {RUN_LENS, "<i8", 1, {num_tokens}},
      {RUN_SINKS, "<f4", 1, {problem->num_heads}},
      {RUN_EXTRA_INDICES, "<i4", 2, {num_tokens, config->extra_size}},
      {RUN_EXTRA_LENS, "<i8", 1, {num_tokens}},
      {RUN_INV_SCALE, "<f4", 2, {pools[RUN_POOL_K].num_blocks, pools[RUN_POOL_K].block_size}},
      {RUN_EXTRA_INV_SCALE, "<f4", 2, {pools[RUN_POOL_EXTRA].num_blocks, pools[RUN_POOL_EXTRA].block_size}},
  };
  char message[300];
  options->mode = RUN_FILES;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    const run_tensor *tensor = &problem->tensors[files[i].which];
    char name[32];
    snprintf(name, sizeof name, "%d.npy", files[i].which);
    char *path = tensor->bytes != 0 ? temp_dir_join(folder, name) : NULL;
    options->inputs[files[i].which] = path;
    assert_true(path == NULL
                || sj_npy_write(path, files[i].type, files[i].shape, files[i].num_dims, tensor->data, tensor->bytes,
                                message, sizeof message));
  }
  for (enum run_pool_kind kind = 0; kind < RUN_NUM_POOLS; kind++) {
    const run_pool *pool = &pools[kind];
    const run_tensor *tensor = &problem->tensors[run_pool_rows(kind)];
    bool is_bf16 = pool->kv_format == SWA_JIT_KV_BF16;
    char name[32];
    if (tensor->bytes == 0) {
      continue;
    }
    uint64_t last = run_pool_block_bytes(pool) / pool->block_size / pool->num_kv_heads / (is_bf16 ? 2 : 1);
    uint64_t shape[4] = {pool->num_blocks, pool->block_size, has_heads ? pool->num_kv_heads : last, last};
    snprintf(name, sizeof name, "%d.npy", run_pool_rows(kind));
    char *path = temp_dir_join(folder, name);
    options->inputs[run_pool_rows(kind)] = path;
    assert_true(sj_npy_write(path, is_bf16 ? "<u2" : "|u1", shape, has_heads ? 4 : 3, tensor->data, tensor->bytes,
                             message, sizeof message));
  }
  options->kv_scale = (double)pools[RUN_POOL_K].scale;
  options->extra_scale = (double)pools[RUN_POOL_EXTRA].scale;
}

static void free_inputs(run_options *options)
{
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    free((void *)(uintptr_t)options->inputs[i]);
    options->inputs[i] = NULL;
  }
}

/* A problem that is saved and read again is the same. */
static void check_files(const run_options *generated, const char *folder)
{
  run_problem problem = make(generated);
  run_problem read;
  run_options options = *generated;
  save_inputs(&problem, folder, &options);
  options.num_tokens = options.window_size = options.extra_size = 1; /* the files say it */
  options.num_kv_heads = 1;
  options.head_dim_v = 0;
  options.with_sinks = false;
  assert_int_equal(run_problem_make(&options, &read), RUN_GOOD);
  assert_memory_equal(&read.config, &problem.config, sizeof read.config);
  assert_memory_equal(read.pools, problem.pools, sizeof read.pools);
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    assert_int_equal(read.tensors[i].bytes, problem.tensors[i].bytes);
    if (read.tensors[i].bytes != 0) {
      assert_memory_equal(read.tensors[i].data, problem.tensors[i].data, read.tensors[i].bytes);
    }
  }
  free_inputs(&options);
  run_problem_finish(&read);
  run_problem_finish(&problem);
}

static void files_of_every_tensor_are_taken(void **state)
{
  for (int i = 0; i < NUM_FORMATS; i++) {
    run_options options = options_of(format_names[i]);
    check_files(&options, *state);
  }
  run_options options = options_of_own_v();
  check_files(&options, *state);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_every_format_have_unit_rms),
      cmocka_unit_test(rows_of_kv_heads_and_of_v_differ_and_have_unit_rms),
      cmocka_unit_test(extra_scopes_share_a_pool_of_65536_slots),
      cmocka_unit_test(dimensions_that_do_not_fit_each_other_are_refused),
      cmocka_unit_test(bytes_moved_count_both_scopes_and_all_kv_heads),
      cmocka_unit_test(truth_of_the_general_form_is_good),
      cmocka_unit_test_setup_teardown(pool_written_of_every_format_holds_the_rows, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(rows_that_make_no_pool_are_refused, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(files_of_every_tensor_are_taken, temp_dir_setup, temp_dir_teardown),
  };
  return SJ_TEST_RUN(tests);
}
