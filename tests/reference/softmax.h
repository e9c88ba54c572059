/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of one head in plain C doubles in its general form: positions of any number of scopes, a soft cap, a sink,
 * the conventions of LSE, and the merge of parts. */
#ifndef SJ_REFERENCE_SOFTMAX_H
#define SJ_REFERENCE_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

/* c * tanh(score / c); score itself when c is 0. */
double sj_reference_soft_cap(double score, double cap);

/* One head's scores and values. */
typedef struct sj_reference_row {
  const double *scores; /* of the unmasked positions, of all scopes */
  const double *values; /* [count, head_dim_v] */
  uint32_t count;
  uint32_t head_dim_v;
  const float *sink; /* the head's logit, not scaled; NULL: none */
} sj_reference_row;

/* out: head_dim_v values, 0 with no position whatever the sink. The sink adds exp(sink) to the sum and nothing to the
 * values: +infinity makes out 0, NaN makes it NaN. Returns ln of the sum without the sink: -infinity with no position.
 * NaN and infinities of scores go where the formula takes them. */
double sj_reference_softmax(const sj_reference_row *row, double *out);

/* How an engine wants its LSE (docs of each; the seed of them all is ln of the sum, without the sink, -infinity). */
typedef struct sj_reference_lse_form {
  bool is_base_2;
  bool has_sink;
  bool is_plus_infinity_when_empty;
} sj_reference_lse_form;

/* lse: as sj_reference_softmax returns it. */
double sj_reference_lse_in_form(double lse, bool is_empty, const float *sink, sj_reference_lse_form form);

/* One head of several parts: outs [num_parts, head_dim_v] without a sink, and their lses, to one. Parts with LSE
 * -infinity have no weight; out is 0 and the result -infinity where all have it. Returns the LSE without the sink. */
double sj_reference_merge(const double *outs, const double *lses, uint32_t num_parts, uint32_t head_dim_v,
                          const float *sink, double *out);

#endif
