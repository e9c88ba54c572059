/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_merge.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "reference.h"
#include "softmax.h"

/* One head's parts, as the reference takes them. */
static void read_parts(const swa_merge_params *params, uint32_t token, uint32_t head, uint32_t dim, double *outs,
                       double *lses)
{
  for (uint32_t i = 0; i < params->num_parts; i++) {
    const uint16_t *out =
        (const uint16_t *)params->outs[i] + token * params->outs_token_stride + head * params->outs_head_stride;
    double lse = (double)params->lses[i][token * params->lses_token_stride + head * params->lses_head_stride];
    bool is_empty = lse == -(double)INFINITY || lse == (double)params->parts_empty_lse;
    lses[i] = is_empty ? -(double)INFINITY : lse * (double)params->parts_lse_factor;
    for (uint32_t d = 0; d < dim; d++) {
      outs[i * dim + d] = is_empty ? 0.0 : sj_reference_bf16(out[d]);
    }
  }
}

static void write_lse(const swa_merge_params *params, uint32_t token, uint32_t head, double lse)
{
  const sj_reference_lse_form form = {.is_base_2 = params->lse_factor != 1.0f,
                                      .has_sink = params->lse_with_sink != 0,
                                      .is_plus_infinity_when_empty = params->empty_lse > 0.0f};
  const float *sink = params->sinks != NULL ? &params->sinks[head] : NULL;
  if (params->lse != NULL) {
    params->lse[token * params->lse_token_stride + head * params->lse_head_stride] =
        (float)sj_reference_lse_in_form(lse, lse == -(double)INFINITY, sink, form);
  }
}

static void merge_head(const swa_merge_params *params, uint32_t token, uint32_t head, double *rows)
{
  uint32_t dim = params->row_units * 8;
  double lses[SWA_MERGE_MAX_PARTS];
  double *whole = rows + SWA_MERGE_MAX_PARTS * (size_t)dim;
  const float *sink = params->sinks != NULL ? &params->sinks[head] : NULL;
  uint16_t *out = (uint16_t *)params->out + token * params->out_token_stride + head * params->out_head_stride;
  read_parts(params, token, head, dim, rows, lses);
  double lse = sj_reference_merge(rows, lses, params->num_parts, dim, sink, whole);
  for (uint32_t d = 0; d < dim; d++) {
    out[d] = sj_reference_bf16_from_double(whole[d]);
  }
  write_lse(params, token, head, lse);
}

const char *fake_merge_run(const swa_merge_params *params, uint32_t num_tokens)
{
  double *rows = calloc((SWA_MERGE_MAX_PARTS + 1) * 8 * (size_t)params->row_units, sizeof *rows);
  if (rows == NULL) {
    return "no memory";
  }
  for (uint32_t token = 0; token < num_tokens; token++) {
    for (uint32_t head = 0; head < params->num_heads; head++) {
      merge_head(params, token, head, rows);
    }
  }
  free(rows);
  return NULL;
}
