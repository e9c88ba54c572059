/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-run's data and its judgement, without a device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "run_stand_in.h"
#include "test_main.h"
#include "verify.h"

/* ---- generated data --------------------------------------------------------------------------------------- */

static double row_rms(const run_problem *problem, uint64_t slot, double scale)
{
  double sum = 0.0;
  for (int d = 0; d < HEAD_DIM; d++) {
    double value =
        scale * sj_reference_e4m3(((const uint8_t *)problem->tensors[RUN_KV].data)[slot * HEAD_DIM + (uint64_t)d]);
    sum += value * value;
  }
  return sqrt(sum / HEAD_DIM);
}

static void rows_have_unit_rms_and_use_the_whole_range(void **state)
{
  static const char *const types[] = {"float32", "bfloat16"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    run_options options = small_options();
    options.scale_type = types[i];
    run_problem problem = make(&options);
    for (uint64_t slot = 0; slot < problem.pools[RUN_POOL_K].num_blocks * BLOCK; slot++) {
      const void *scales = problem.tensors[RUN_INV_SCALE].data;
      double scale =
          i == 0 ? (double)((const float *)scales)[slot] : sj_reference_bf16(((const uint16_t *)scales)[slot]);
      int largest = 0;
      for (uint64_t d = 0; d < HEAD_DIM; d++) {
        int code = ((const uint8_t *)problem.tensors[RUN_KV].data)[slot * HEAD_DIM + d] & 0x7F;
        largest = code > largest ? code : largest;
      }
      assert_true(fabs(row_rms(&problem, slot, scale) - 1.0) < 0.02);
      assert_int_equal(largest, 0x7E); /* 448: the scale is the row's maximum over it */
    }
    run_problem_finish(&problem);
  }
}

static void queries_have_unit_rms(void **state)
{
  run_options options = small_options();
  run_problem problem = make(&options);
  const uint16_t *q = problem.tensors[RUN_Q].data;
  (void)state;
  for (int row = 0; row < NUM_TOKENS * NUM_HEADS; row++) {
    double sum = 0.0;
    double mean = 0.0;
    for (int d = 0; d < HEAD_DIM; d++) {
      double value = sj_reference_bf16(q[row * HEAD_DIM + d]);
      sum += value * value;
      mean += value / HEAD_DIM;
    }
    assert_true(fabs(sqrt(sum / HEAD_DIM) - 1.0) < 0.01);
    assert_true(fabs(mean) < 0.5); /* five deviations of a mean of 128 */
  }
  run_problem_finish(&problem);
}

static void windows_are_runs_of_distinct_slots_in_the_pool(void **state)
{
  run_options options = small_options();
  run_problem problem = make(&options);
  const int32_t *indices = problem.tensors[RUN_INDICES].data;
  const int64_t *lens = problem.tensors[RUN_LENS].data;
  int64_t num_slots = (int64_t)problem.pools[RUN_POOL_K].num_blocks * BLOCK;
  unsigned char *used = calloc((size_t)num_slots, 1);
  (void)state;
  assert_non_null(used);
  for (int token = 0; token < NUM_TOKENS; token++) {
    assert_true(token % 4 == 3 ? lens[token] >= 1 && lens[token] <= WINDOW : lens[token] == WINDOW);
    for (int i = 0; i < WINDOW; i++) {
      int32_t slot = indices[token * WINDOW + i];
      assert_true(slot >= 0 && slot < num_slots);
      assert_int_equal(used[slot], 0);
      used[slot] = 1;
      if (i > 0 && slot % BLOCK != 0) { /* within a block positions lie side by side */
        assert_int_equal(indices[token * WINDOW + i - 1], slot - 1);
      }
    }
  }
  free(used);
  run_problem_finish(&problem);
}

static void data_is_the_same_for_a_seed_and_differs_for_another(void **state)
{
  run_options options = small_options();
  run_problem first = make(&options);
  run_problem again = make(&options);
  options.seed = 2;
  run_problem other = make(&options);
  (void)state;
  for (int i = 0; i <= RUN_LENS; i++) {
    assert_memory_equal(first.tensors[i].data, again.tensors[i].data, first.tensors[i].bytes);
    assert_memory_not_equal(first.tensors[i].data, other.tensors[i].data, first.tensors[i].bytes);
  }
  run_problem_finish(&first);
  run_problem_finish(&again);
  run_problem_finish(&other);
}

static void pool_that_is_too_small_is_shared(void **state)
{
  run_options options = small_options();
  options.num_blocks = 2;
  run_problem problem = make(&options);
  const int32_t *indices = problem.tensors[RUN_INDICES].data;
  (void)state;
  for (int i = 0; i < NUM_TOKENS * WINDOW; i++) {
    assert_true(indices[i] >= 0 && indices[i] < 2 * BLOCK);
  }
  run_problem_finish(&problem);
}

static void dimensions_out_of_range_are_refused(void **state)
{
  run_options options = small_options();
  run_problem problem;
  (void)state;
  options.head_dim = 100;
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE);
  options = small_options();
  options.window_size = 8193;
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE);
  options = small_options();
  options.num_blocks = 1u << 28;
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE); /* 2^31 slots */
  options = small_options();
  options.index_type = "int16";
  assert_int_equal(run_problem_make(&options, &problem), RUN_WRONG_USE);
}

static void bytes_moved_count_each_row_attended_to(void **state)
{
  run_options options = small_options();
  run_problem problem = make(&options);
  int64_t *lens = problem.tensors[RUN_LENS].data;
  int32_t *indices = problem.tensors[RUN_INDICES].data;
  double fixed = 2.0 * 2.0 * NUM_TOKENS * NUM_HEADS * HEAD_DIM + 4.0 * NUM_TOKENS * NUM_HEADS + 8.0 * NUM_TOKENS;
  (void)state;
  for (int token = 0; token < NUM_TOKENS; token++) {
    lens[token] = token == 0 ? 3 : token == 1 ? 100 : 0; /* 100 is the window's 20 */
  }
  indices[1] = -1; /* masked: its row is not read */
  assert_true(run_problem_bytes_moved(&problem) == fixed + 23 * 4.0 + 22 * (HEAD_DIM + 4.0));
  run_problem_finish(&problem);
}

/* ---- judgement -------------------------------------------------------------------------------------------- */

/* Writes the reference itself, rounded, as the results. */
static void write_truth(run_problem *problem)
{
  swa_jit_decode_args args;
  size_t num_rows = (size_t)problem->num_tokens * problem->num_heads;
  double *out = calloc(num_rows * HEAD_DIM, sizeof *out);
  double *lse = calloc(num_rows, sizeof *lse);
  assert_non_null(out);
  assert_non_null(lse);
  run_problem_args(problem, NULL, &args);
  sj_reference_decode(&problem->config, &args, 1, out, lse);
  for (size_t i = 0; i < num_rows * HEAD_DIM; i++) {
    ((uint16_t *)problem->tensors[RUN_OUT].data)[i] = sj_reference_bf16_from_double(out[i]);
  }
  for (size_t i = 0; i < num_rows; i++) {
    ((float *)problem->tensors[RUN_LSE].data)[i] = (float)lse[i];
  }
  free(out);
  free(lse);
}

static void truth_is_good(void **state)
{
  run_options options = small_options();
  run_problem problem = make(&options);
  run_verdict verdict;
  (void)state;
  ((int64_t *)problem.tensors[RUN_LENS].data)[2] = 0; /* a token without positions: 0 and -infinity */
  write_truth(&problem);
  run_verify(&problem, &verdict);
  assert_true(verdict.is_good);
  assert_true(verdict.out_error > 0.0 && verdict.out_error < 3e-3); /* the rounding to bf16 */
  assert_true(verdict.lse_error < 1e-6);
  run_problem_finish(&problem);
}

static void fault_in_one_head_is_found_and_placed(void **state)
{
  run_options options = small_options();
  run_problem problem = make(&options);
  uint16_t *out = problem.tensors[RUN_OUT].data;
  run_verdict verdict;
  (void)state;
  write_truth(&problem);
  for (int d = 0; d < HEAD_DIM; d++) { /* 1 % off */
    uint16_t *value = &out[(5 * NUM_HEADS + 2) * HEAD_DIM + d];
    *value = sj_reference_bf16_from_double(1.01 * sj_reference_bf16(*value));
  }
  run_verify(&problem, &verdict);
  assert_false(verdict.is_good);
  assert_int_equal(verdict.worst_token, 5);
  assert_int_equal(verdict.worst_head, 2);
  assert_true(verdict.out_error > 5e-3 && verdict.out_error < 2e-2);
  run_problem_finish(&problem);
}

static void fault_in_lse_is_found(void **state)
{
  run_options options = small_options();
  run_problem problem = make(&options);
  run_verdict verdict;
  (void)state;
  write_truth(&problem);
  ((float *)problem.tensors[RUN_LSE].data)[7] += 2e-3f;
  run_verify(&problem, &verdict);
  assert_false(verdict.is_good);
  assert_true(fabs(verdict.lse_error - 2e-3) < 1e-5);
  ((float *)problem.tensors[RUN_LSE].data)[7] = INFINITY;
  run_verify(&problem, &verdict);
  assert_true(isinf(verdict.lse_error));
  run_problem_finish(&problem);
}

static void nan_passes_only_where_the_reference_has_it(void **state)
{
  const double numbers[2] = {1.0, -2.0};
  const double with_nan[2] = {1.0, NAN};
  const double zeros[2] = {0.0, 0.0};
  const double infinite[2] = {INFINITY, 1.0};
  (void)state;
  assert_true(run_verify_row((const uint16_t[]){0x3F80, 0xC000}, numbers, 2) == 0.0);
  assert_true(isinf(run_verify_row((const uint16_t[]){0x3F80, 0x7FFF}, numbers, 2)));
  assert_true(run_verify_row((const uint16_t[]){0x3F80, 0x7FFF}, with_nan, 2) == 0.0);
  assert_true(isinf(run_verify_row((const uint16_t[]){0x3F80, 0xC000}, with_nan, 2)));
  assert_true(run_verify_row((const uint16_t[]){0x0000, 0x8000}, zeros, 2) == 0.0);
  assert_true(isinf(run_verify_row((const uint16_t[]){0x0000, 0x0001}, zeros, 2)));
  assert_true(run_verify_row((const uint16_t[]){0x7F80, 0x3F80}, infinite, 2) == 0.0);
  assert_true(isinf(run_verify_row((const uint16_t[]){0xFF80, 0x3F80}, infinite, 2)));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_have_unit_rms_and_use_the_whole_range),
      cmocka_unit_test(queries_have_unit_rms),
      cmocka_unit_test(windows_are_runs_of_distinct_slots_in_the_pool),
      cmocka_unit_test(data_is_the_same_for_a_seed_and_differs_for_another),
      cmocka_unit_test(pool_that_is_too_small_is_shared),
      cmocka_unit_test(dimensions_out_of_range_are_refused),
      cmocka_unit_test(bytes_moved_count_each_row_attended_to),
      cmocka_unit_test(truth_is_good),
      cmocka_unit_test(fault_in_one_head_is_found_and_placed),
      cmocka_unit_test(fault_in_lse_is_found),
      cmocka_unit_test(nan_passes_only_where_the_reference_has_it),
  };
  return SJ_TEST_RUN(tests);
}
