/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory.h"
#include "reference.h"

enum { MAX_CHUNK_ELEMENTS = 1 << 23 }; /* of the reference's results at a time: 64 MiB */

/* Whether both are the same infinity, or both NaN. */
static bool is_same_special(double a, double b)
{
  return isnan(a) ? isnan(b) : isinf(a) && a == b;
}

double run_verify_row(const uint16_t *out, const double *reference, uint32_t head_dim)
{
  double error = 0.0;
  double norm = 0.0;
  for (uint32_t d = 0; d < head_dim; d++) {
    double value = sj_reference_bf16(out[d]);
    double rounded = sj_reference_bf16(sj_reference_bf16_from_double(reference[d]));
    if (is_same_special(value, rounded)) {
      continue;
    }
    if (!isfinite(value) || !isfinite(reference[d])) {
      return INFINITY;
    }
    error += (value - reference[d]) * (value - reference[d]);
    norm += reference[d] * reference[d];
  }
  if (norm == 0.0) {
    return error == 0.0 ? 0.0 : INFINITY;
  }
  return sqrt(error / norm);
}

static double lse_difference(double value, double reference)
{
  if (is_same_special(value, reference)) {
    return 0.0;
  }
  return isfinite(value) && isfinite(reference) ? fabs(value - reference) : INFINITY;
}

static void verify_head(const run_problem *problem, uint32_t token, uint32_t head, const double *out, double lse,
                        run_verdict *verdict)
{
  uint32_t head_dim = run_problem_out_dim(problem);
  uint64_t row = (uint64_t)token * problem->num_heads + head;
  double error = run_verify_row((const uint16_t *)problem->tensors[RUN_OUT].data + row * head_dim, out, head_dim);
  if (error > verdict->out_error) {
    verdict->out_error = error;
    verdict->worst_token = token;
    verdict->worst_head = head;
  }
  if (problem->tensors[RUN_LSE].data != NULL) {
    verdict->lse_error =
        fmax(verdict->lse_error, lse_difference((double)((const float *)problem->tensors[RUN_LSE].data)[row], lse));
  }
}

/* The arguments of num_tokens tokens from the first on. */
static swa_jit_decode_args slice(const run_problem *problem, uint32_t first, uint32_t num_tokens)
{
  static const enum run_input by_token[] = {RUN_Q,         RUN_INDICES,       RUN_LENS,
                                            RUN_V_INDICES, RUN_EXTRA_INDICES, RUN_EXTRA_LENS};
  swa_jit_decode_args args;
  void *pointers[RUN_NUM_TENSORS];
  for (int i = 0; i < RUN_NUM_TENSORS; i++) {
    pointers[i] = problem->tensors[i].data;
  }
  for (size_t i = 0; i < sizeof by_token / sizeof by_token[0]; i++) {
    const run_tensor *tensor = &problem->tensors[by_token[i]];
    if (tensor->bytes != 0) {
      pointers[by_token[i]] = (char *)tensor->data + first * (tensor->bytes / problem->num_tokens);
    }
  }
  run_problem_args(problem, pointers, &args);
  args.num_tokens = num_tokens;
  return args;
}

void run_verify(const run_problem *problem, run_verdict *verdict_out)
{
  run_verdict verdict = {0};
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t head_dim = run_problem_out_dim(problem);
  size_t token_elements = (size_t)problem->num_heads * head_dim;
  uint32_t chunk = (uint32_t)(token_elements < MAX_CHUNK_ELEMENTS ? MAX_CHUNK_ELEMENTS / token_elements : 1);
  chunk = chunk < problem->num_tokens ? chunk : problem->num_tokens;
  double *out = sj_memory_get(chunk * token_elements, sizeof *out);
  double *lse = sj_memory_get((size_t)chunk * problem->num_heads, sizeof *lse);
  for (uint32_t first = 0; first < problem->num_tokens; first += chunk) {
    uint32_t count = problem->num_tokens - first < chunk ? problem->num_tokens - first : chunk;
    swa_jit_decode_args args = slice(problem, first, count);
    sj_reference_decode(&problem->config, &args, online > 0 ? (unsigned)online : 1, out, lse);
    for (uint32_t i = 0; i < count * problem->num_heads; i++) {
      verify_head(problem, first + i / problem->num_heads, i % problem->num_heads, out + (size_t)i * head_dim, lse[i],
                  &verdict);
    }
  }
  free(out);
  free(lse);
  verdict.is_good = verdict.out_error <= RUN_OUT_LIMIT && verdict.lse_error <= RUN_LSE_LIMIT;
  *verdict_out = verdict;
}
