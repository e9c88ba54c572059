/* SPDX-License-Identifier: Apache-2.0 */
/* The judge itself: the reference behind a table of host memory passes, and each planted fault is found. */
#include "test_main.h"

#include <string.h>

#include "grid.h"
#include "legal.h"
#include "planted.h"

static void reference_in_all_patterns_passes(void **state)
{
  static const char *const texts[] = {
      "num_tokens=14 num_heads=3 lens=edges scores=m20 head_dim=128",
      "num_tokens=14 num_heads=3 lens=edges lens_type=int64 index_type=int64 slots=masked_some head_dim=64",
      "num_heads=2 codes=nan num_tokens=5 head_dim=64 lens=uniform",
      "num_heads=2 scales=inf num_tokens=5 head_dim=64 lens=one",
      "num_heads=2 scales=nan scale_type=bfloat16 num_tokens=5 head_dim=64",
      "num_heads=2 scales=special codes=all num_tokens=14 lens=one",
      "num_heads=2 codes=all exact=1 num_tokens=30 lens=one",
      "num_heads=4 q_exponent=100 num_tokens=3 head_dim=64 lens=uniform",
      "num_heads=3 q_layout=heads_outside out_layout=padded lse_gap=2 index_gap=3 head_dim=64 block_gap=48 slot_gap=16",
      "num_heads=1 num_blocks=0 head_dim=64",
      "num_tokens=0",
      "num_heads=1 head_dim=64 block_size=64 num_blocks=2080 block_gap=1035584 num_tokens=2",
  };
  decode_verdict verdict;

  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (planted_run(FAULT_NONE, texts[i], &verdict) != DECODE_PASSED) {
      fail_msg("%s: %s", texts[i], verdict.fault);
    }
  }
}

static void faults_of_masking_are_found(void **state)
{
  const char *edges = "num_heads=2 num_tokens=14 lens=edges head_dim=64 scores=m5";

  (void)state;
  assert_found(FAULT_COUNTS_EMPTY_POSITIONS, edges, "out[");
  assert_found(FAULT_IGNORES_LEN, "num_heads=2 num_tokens=6 lens=uniform head_dim=64", "out[");
  assert_found(FAULT_CLAMPS_MASKED_SLOTS, "num_heads=2 slots=masked_half head_dim=64", "out[");
  assert_found(FAULT_CUTS_INDICES_TO_32_BITS, "num_heads=2 slots=masked_some index_type=int64 head_dim=64", "out[");
  assert_found(FAULT_LEAVES_EMPTY_ROWS, edges, "0xa5a5");
  assert_found(FAULT_NAN_FOR_EMPTY_ROWS, edges, "no unmasked position");
  assert_found(FAULT_LSE_POSITIVE_INFINITY, edges, "LSE");
}

static void faults_of_addresses_are_found(void **state)
{
  const char *strided =
      "num_tokens=3 num_heads=3 head_dim=64 block_gap=4096 q_layout=slice out_layout=padded lse_gap=2";

  (void)state;
  assert_found(FAULT_IGNORES_BLOCK_STRIDE, strided, "out[");
  assert_found(FAULT_IGNORES_Q_STRIDES, strided, "out[");
  assert_found(FAULT_WRITES_BEHIND_A_ROW, strided, "outside its rows");
  assert_found(FAULT_WRITES_BEFORE_OUT, strided, "byte -2 from its start");
  assert_found(FAULT_WRITES_LSE_GAP, strided, "lse: byte");
  assert_found(FAULT_LEAVES_LAST_HEAD, strided, "head 2");
}

static void faults_of_numbers_are_found(void **state)
{
  const char *usual = "num_heads=4 num_tokens=4 head_dim=64 scores=m5";

  (void)state;
  assert_found(FAULT_SWALLOWS_NAN, "num_heads=2 num_tokens=3 head_dim=64 codes=nan", "not nan");
  assert_found(FAULT_SPREADS_NAN, "num_heads=2 num_tokens=3 head_dim=64 codes=nan", "token 0 head 0");
  assert_found(FAULT_LSE_TO_BASE_2, usual, "LSE");
  assert_found(FAULT_SLIGHTLY_TOO_LARGE, usual, "relative error");
  assert_found(FAULT_ONE_ELEMENT, usual, "token 1 head 0: out[63]");
  assert_found(FAULT_ONE_BIT, "num_heads=4 head_dim=64 codes=all exact=1 lens=one", "head 3: out[5]");
}

static void configuration_that_does_not_fit_is_refused(void **state)
{
  decode_verdict verdict;

  (void)state;
  assert_int_equal(planted_run(FAULT_NONE, "head_dim=192", &verdict), DECODE_REFUSED);
}

static void text_of_a_case_gives_it_back(void **state)
{
  decode_case drawn;
  decode_case read;
  char text[DECODE_CASE_TEXT_SIZE];
  const char *bad;

  (void)state;
  for (uint32_t seed = 0; seed < 1000; seed++) {
    (seed % 2 == 0 ? decode_grid_random : decode_grid_random_general)(seed, &drawn);
    decode_case_to_text(&drawn, text);
    assert_true(strlen(text) + 1 < DECODE_CASE_TEXT_SIZE);
    assert_true(decode_case_from_text(text, &read, &bad));
    assert_memory_equal(&drawn, &read, sizeof read);
  }
}

static void random_cases_are_legal(void **state)
{
  decode_case drawn;
  uint32_t drawn_formats[5] = {0};
  uint32_t drawn_options[4] = {0};

  (void)state;
  for (uint32_t seed = 0; seed < 2000; seed++) {
    (seed % 2 == 0 ? decode_grid_random : decode_grid_random_general)(seed, &drawn);
    if (decode_case_fault(&drawn) != NULL) {
      fail_msg("seed %u: %s", seed, decode_case_fault(&drawn));
    }
    drawn_formats[drawn.kv_format]++;
    drawn_options[0] += drawn.extra_size != 0;
    drawn_options[1] += drawn.head_dim_v != 0;
    drawn_options[2] += drawn.sinks == DECODE_SINKS_SPECIAL;
    drawn_options[3] += drawn.soft_cap > DECODE_CAP_NONE;
  }
  for (uint32_t seed = 0; seed < 500; seed++) {
    decode_grid_random_clusters(seed, &drawn);
    if (drawn.cluster_size != 4 || decode_case_fault(&drawn) != NULL) {
      fail_msg("seed %u in clusters: %s", seed, decode_case_fault(&drawn));
    }
  }
  for (int i = 0; i < 5; i++) {
    assert_true(drawn_formats[i] > 50);
    assert_true(i > 3 || drawn_options[i] > 100);
  }
}

static void text_with_an_unknown_word_is_refused(void **state)
{
  static const char *const texts[] = {"seed=1 lens",    "seed=1 lens=",   "seed=1 lens=half",
                                      "seed=1 bogus=2", "seed=1 seed=-1", "seed=1 seed=4294967296"};
  decode_case read;
  const char *bad = NULL;

  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    assert_false(decode_case_from_text(texts[i], &read, &bad));
    assert_ptr_equal(bad, texts[i] + 7);
  }
}

static void assert_readable(decode_lines lines)
{
  decode_case which;
  const char *bad = "";

  assert_true(lines.count > 0);
  for (size_t i = 0; i < lines.count; i++) {
    if (!decode_case_from_text(lines.lines[i], &which, &bad)) {
      fail_msg("'%s' at '%s'", lines.lines[i], bad);
    }
    if (decode_case_fault(&which) != NULL) {
      fail_msg("%s: %s", lines.lines[i], decode_case_fault(&which));
    }
  }
}

static void grids_are_readable_and_legal(void **state)
{
  (void)state;
  assert_readable(decode_grid_special());
  assert_readable(decode_grid_large());
  assert_readable(decode_grid_reduced());
  assert_readable(decode_grid_formats());
  assert_readable(decode_grid_sinks());
  assert_readable(decode_grid_lse_forms());
  assert_readable(decode_grid_grouped());
  assert_readable(decode_grid_extra());
  assert_readable(decode_grid_splits());
  assert_readable(decode_grid_clusters());
  assert_int_equal(decode_grid_num_tilings(), 6 * 5 * 4);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_in_all_patterns_passes),
      cmocka_unit_test(faults_of_masking_are_found),
      cmocka_unit_test(faults_of_addresses_are_found),
      cmocka_unit_test(faults_of_numbers_are_found),
      cmocka_unit_test(configuration_that_does_not_fit_is_refused),
      cmocka_unit_test(text_of_a_case_gives_it_back),
      cmocka_unit_test(random_cases_are_legal),
      cmocka_unit_test(text_with_an_unknown_word_is_refused),
      cmocka_unit_test(grids_are_readable_and_legal),
  };

  return SJ_TEST_RUN(tests);
}
