/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel wrote against the reference, and what it should not have written against the poison. */
#ifndef DECODE_COMPARE_H
#define DECODE_COMPARE_H

#include "data.h"

/* Of ||out - reference|| / ||reference||, for each head. */
#define DECODE_RELATIVE_LIMIT 3e-3
#define DECODE_LSE_LIMIT 1e-3

typedef struct decode_verdict {
  uint64_t num_heads;    /* of all tokens, compared */
  uint64_t num_faults;   /* heads with a fault, and spoilt gaps */
  double worst_relative; /* over heads whose reference is finite and not 0 */
  double worst_step;     /* of |out - reference| in bf16 steps at the largest |v|; the limit is 1 */
  double worst_lse;      /* less beside an LSE of thousands, for which a float has not so many digits */
  char fault[240];       /* the first one; "" if none */
} decode_verdict;

/* data->tensors of out and lse hold what came back, guards included. reference_out: [num_tokens, num_heads, out_dim],
 * reference_lse: [num_tokens, num_heads]. False: no memory. */
bool decode_compare(const decode_data *data, const double *reference_out, const double *reference_lse,
                    decode_verdict *verdict_out);

#endif
