/* SPDX-License-Identifier: Apache-2.0 */
/* The results against the float64 reference. */
#ifndef RUN_VERIFY_H
#define RUN_VERIFY_H

#include "problem.h"

#define RUN_OUT_LIMIT 3e-3 /* of ||out - reference|| / ||reference|| of a head */
#define RUN_LSE_LIMIT 1e-3 /* of |lse - reference| */

typedef struct run_verdict {
  double out_error; /* the largest of all heads; infinite where a NaN, an infinity or a zero row differs */
  double lse_error;
  uint32_t worst_token, worst_head; /* of out_error */
  bool is_good;                     /* both within their limits */
} run_verdict;

void run_verify(const run_problem *problem, run_verdict *verdict_out);

/* ||out - reference|| / ||reference|| of one head, as above. Public for its test. */
double run_verify_row(const uint16_t *out, const double *reference, uint32_t head_dim);

#endif
