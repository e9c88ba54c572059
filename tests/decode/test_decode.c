/* SPDX-License-Identifier: Apache-2.0 */
/* The judge itself: the reference behind a table of host memory passes, and each planted fault is found. */
#include "test_main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "grid.h"
#include "legal.h"
#include "reference.h"

typedef enum fault {
  FAULT_NONE,
  FAULT_COUNTS_EMPTY_POSITIONS, /* positions beyond len enter the sum with score 0 */
  FAULT_CLAMPS_MASKED_SLOTS,    /* -1 reads slot 0 */
  FAULT_IGNORES_LEN,
  FAULT_IGNORES_BLOCK_STRIDE,
  FAULT_IGNORES_Q_STRIDES,
  FAULT_CUTS_INDICES_TO_32_BITS,
  FAULT_LEAVES_EMPTY_ROWS,
  FAULT_LEAVES_LAST_HEAD,
  FAULT_NAN_FOR_EMPTY_ROWS,
  FAULT_SWALLOWS_NAN,
  FAULT_SPREADS_NAN,
  FAULT_LSE_TO_BASE_2,
  FAULT_LSE_POSITIVE_INFINITY,
  FAULT_SLIGHTLY_TOO_LARGE,
  FAULT_ONE_ELEMENT,
  FAULT_ONE_BIT,
  FAULT_WRITES_BEHIND_A_ROW,
  FAULT_WRITES_BEFORE_OUT,
  FAULT_WRITES_LSE_GAP
} fault;

typedef struct host {
  fault planted;
  const char *message;
} host;

static bool host_alloc(void *data, size_t bytes, uint64_t *address_out)
{
  (void)data;
  *address_out = (uint64_t)(uintptr_t)malloc(bytes);
  return *address_out != 0;
}

static void host_release(void *data, uint64_t address)
{
  (void)data;
  free((void *)(uintptr_t)address);
}

static bool host_write(void *data, uint64_t to, const void *from, size_t bytes)
{
  (void)data;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return true;
}

static bool host_read(void *data, void *to, uint64_t from, size_t bytes)
{
  (void)data;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return true;
}

static const char *host_message(void *data)
{
  return ((host *)data)->message;
}

/* Copies what the fault changes of the inputs; the copies are freed by the caller. */
static void change_inputs(fault planted, const swa_jit_config *config, swa_jit_decode_args *args, void *copies[2])
{
  size_t positions = (size_t)args->num_tokens * config->window_size;
  int32_t *lens = malloc(args->num_tokens * sizeof *lens + 1);
  int32_t *indices = malloc(positions * sizeof *indices + 1);

  copies[0] = lens;
  copies[1] = indices;
  if (planted == FAULT_IGNORES_LEN) { /* rows end at the last len: int32 only */
    for (uint32_t i = 0; i < args->num_tokens; i++) {
      lens[i] = i + 1 < args->num_tokens ? INT32_MAX : ((const int32_t *)args->lens)[i];
    }
    args->lens = lens;
  } else if (planted == FAULT_CLAMPS_MASKED_SLOTS) {
    for (size_t i = 0; i < positions; i++) {
      indices[i] = ((const int32_t *)args->indices)[i] == -1 ? 0 : ((const int32_t *)args->indices)[i];
    }
    args->indices = indices;
  } else if (planted == FAULT_IGNORES_BLOCK_STRIDE) {
    args->block_stride_bytes = 0;
  } else if (planted == FAULT_IGNORES_Q_STRIDES) {
    args->q_token_stride = args->q_head_stride = 0;
  }
}

static void change_cut_indices(const swa_jit_config *config, swa_jit_decode_args *args)
{
  int64_t *indices = (int64_t *)(uintptr_t)args->indices;

  for (uint32_t token = 0; token < args->num_tokens; token++) {
    uint32_t len = sj_reference_len(config, args, token);

    for (uint32_t j = 0; j < len; j++) {
      indices[(size_t)token * config->window_size + j] = (int32_t)indices[(size_t)token * config->window_size + j];
    }
  }
}

static bool has_empty_positions(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token)
{
  return sj_reference_len(config, args, token) < config->window_size;
}

/* Changes one head's exact result in the way of the fault. */
static void change_head(fault planted, const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                        double *out, double *lse)
{
  bool empty = isinf(*lse) && *lse < 0;
  double extra = config->window_size - (double)sj_reference_len(config, args, token);

  for (uint32_t d = 0; d < sj_reference_out_dim(config); d++) {
    if (planted == FAULT_COUNTS_EMPTY_POSITIONS && has_empty_positions(config, args, token)) {
      out[d] = empty ? 0.0 : out[d] / (1.0 + extra * exp(-*lse));
    } else if (planted == FAULT_NAN_FOR_EMPTY_ROWS && empty) {
      out[d] = NAN;
    } else if (planted == FAULT_SWALLOWS_NAN && isnan(out[d])) {
      out[d] = 0.0;
    } else if (planted == FAULT_SPREADS_NAN && token == 0) {
      out[d] = NAN;
    } else if (planted == FAULT_SLIGHTLY_TOO_LARGE) {
      out[d] *= 1.003;
    }
  }
  if (planted == FAULT_ONE_ELEMENT && token == 1) {
    out[config->head_dim - 1] += 0.05;
  } else if (planted == FAULT_LSE_TO_BASE_2) {
    *lse /= log(2.0);
  } else if (planted == FAULT_LSE_POSITIVE_INFINITY && empty) {
    *lse = INFINITY;
  }
}

static int64_t stride_or(int64_t stride, int64_t usual)
{
  return stride != 0 ? stride : usual;
}

static void store_head(fault planted, const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                       uint32_t head, const double *out, double lse)
{
  uint32_t dim = sj_reference_out_dim(config);
  int64_t token_stride = stride_or(args->out_token_stride, (int64_t)args->num_heads * dim);
  int64_t head_stride = stride_or(args->out_head_stride, dim);
  int64_t lse_head_stride = stride_or(args->lse_head_stride, 1);
  int64_t lse_token_stride = stride_or(args->lse_token_stride, args->num_heads * lse_head_stride);
  uint16_t *row = (uint16_t *)args->out + token * token_stride + head * head_stride;

  if ((planted == FAULT_LEAVES_EMPTY_ROWS && isinf(lse))
      || (planted == FAULT_LEAVES_LAST_HEAD && head + 1 == args->num_heads)) {
    return;
  }
  for (uint32_t d = 0; d < dim; d++) {
    row[d] = sj_reference_bf16_from_double(out[d]);
  }
  if (planted == FAULT_ONE_BIT && head == 3) {
    row[5] ^= 1;
  } else if (planted == FAULT_WRITES_BEHIND_A_ROW) {
    row[dim] = 0;
  } else if (planted == FAULT_WRITES_BEFORE_OUT && token + head == 0) {
    row[-1] = 0;
  }
  if (args->lse != NULL) {
    float *at = args->lse + token * lse_token_stride + head * lse_head_stride;

    *at = (float)lse;
    if (planted == FAULT_WRITES_LSE_GAP && head + 1 == args->num_heads) {
      at[1] = (float)lse;
    }
  }
}

static swa_jit_status host_decode(void *data, const swa_jit_config *config, const swa_jit_decode_args *args)
{
  fault planted = ((host *)data)->planted;
  swa_jit_decode_args changed = *args;
  void *copies[2];
  double out[512];
  double lse;

  if (config->head_dim == 192) {
    return SWA_JIT_UNSUPPORTED; /* this device knows no such rows */
  }
  if (planted == FAULT_CUTS_INDICES_TO_32_BITS) {
    change_cut_indices(config, &changed);
  }
  change_inputs(planted, config, &changed, copies);
  for (uint32_t token = 0; token < args->num_tokens; token++) {
    for (uint32_t head = 0; head < args->num_heads; head++) {
      sj_reference_head(config, &changed, token, head, out, &lse);
      change_head(planted, config, args, token, out, &lse);
      store_head(planted, config, args, token, head, out, lse);
    }
  }
  free(copies[0]);
  free(copies[1]);
  return SWA_JIT_OK;
}

static decode_result run(fault planted, const char *text, decode_verdict *verdict)
{
  host memory = {planted, "host memory"};
  const decode_device device = {.data = &memory,
                                .alloc = host_alloc,
                                .release = host_release,
                                .write = host_write,
                                .read = host_read,
                                .decode = host_decode,
                                .message = host_message,
                                .num_threads = 2};
  decode_case which;
  const char *bad;

  assert_true(decode_case_from_text(text, &which, &bad));
  return decode_check(&device, &which, verdict);
}

static void assert_found(fault planted, const char *text, const char *words)
{
  decode_verdict verdict;

  assert_int_equal(run(FAULT_NONE, text, &verdict), DECODE_PASSED);
  assert_int_equal(run(planted, text, &verdict), DECODE_FAILED);
  assert_true(verdict.num_faults > 0);
  if (strstr(verdict.fault, words) == NULL) {
    fail_msg("'%s' does not say '%s'", verdict.fault, words);
  }
}

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
    if (run(FAULT_NONE, texts[i], &verdict) != DECODE_PASSED) {
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
  assert_int_equal(run(FAULT_NONE, "head_dim=192", &verdict), DECODE_REFUSED);
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
  assert_int_equal(decode_grid_num_tilings(), 6 * 5 * 4);
}

/* A row of q, of the pool and of indices is the same whatever else a case has: heads can be compared between cases. */
static void data_of_fewer_heads_are_the_first_of_more(void **state)
{
  decode_case which;
  decode_data few;
  decode_data many;

  (void)state;
  decode_case_init(&which);
  which.head_dim = 64;
  which.num_heads = 8;
  assert_true(decode_data_make(&which, &few));
  which.num_heads = 40;
  assert_true(decode_data_make(&which, &many));
  assert_int_equal(few.tensors[DECODE_KV].size, many.tensors[DECODE_KV].size);
  assert_memory_equal(few.tensors[DECODE_KV].bytes, many.tensors[DECODE_KV].bytes, few.tensors[DECODE_KV].size);
  assert_memory_equal(few.tensors[DECODE_INDICES].bytes, many.tensors[DECODE_INDICES].bytes,
                      few.tensors[DECODE_INDICES].size);
  for (size_t token = 0; token < 2; token++) {
    assert_memory_equal((const uint16_t *)few.args.q + token * 8 * 64, (const uint16_t *)many.args.q + token * 40 * 64,
                        sizeof(uint16_t) * 8 * 64);
  }
  decode_data_free(&few);
  decode_data_free(&many);
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
      cmocka_unit_test(data_of_fewer_heads_are_the_first_of_more),
  };

  return SJ_TEST_RUN(tests);
}
