/* SPDX-License-Identifier: Apache-2.0 */
/* What a device wrote, kept on file, for another device of the same architecture to be compared with: of each case up
 * to eight rows, of each row its LSE and 32 elements. */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdio.h>

#include "data.h"

/* Of an element, in bf16 steps at the row's largest one that is kept; of LSE, less beside one of more than 1. */
#define RESULTS_STEPS_LIMIT 1.0
#define RESULTS_LSE_LIMIT 1e-5

typedef struct results {
  FILE *to;       /* where they are written; NULL: they are compared */
  uint8_t *bytes; /* of the file that they are compared with */
  size_t size, next;
  uint64_t num_cases, num_missing, num_elements, num_different;
  double worst_steps, worst_lse;
  char fault[200];
} results;

/* One of the paths is NULL. False: results->fault says why. */
bool results_open(const char *write, const char *compare, results *results_out);
/* False: the file could not be written whole. */
bool results_close(results *results);

/* After a launch whose out and LSE lie in data. NULL, or what is wrong: too far away, not written. A case that is newer
 * than the file is counted as missing. */
const char *results_take(results *results, const decode_data *data);

#endif
