/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a row of any KV format from random numbers. */
#ifndef DECODE_ROWS_H
#define DECODE_ROWS_H

#include "case.h"
#include "random.h"

typedef struct row_place {
  uint8_t *row;
  uint8_t *scales; /* of a footer */
  uint32_t kv_format;
  uint32_t head_dim;
  uint32_t number; /* of the row: patterns in turn go by it */
  bool special;    /* the row carries the case's NaN or is its row of zeros */
} row_place;

void row_write(const decode_case *which, const row_place *place, random_stream *random, const double *base);

/* Mean of the scores that a case asks for. */
double row_mean_score(const decode_case *which);

#endif
