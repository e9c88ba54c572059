/* SPDX-License-Identifier: Apache-2.0 */
/* Results on file. Of a case with a bound all are kept. Of an exact one a digest for each 1024 threads and a few
 * results, unless all are asked for. */
#ifndef GOLDEN_RECORD_H
#define GOLDEN_RECORD_H

#include <stdio.h>

#include "cases.h"

typedef struct golden_file {
  uint8_t *bytes;
  size_t size;
  size_t num_records;
  size_t next; /* where the record after the last one found begins */
} golden_file;

/* False: a message is printed. */
bool golden_write_head(FILE *to, size_t num_records);
/* results: [result][thread]. */
bool golden_write(FILE *to, const golden_case *one, const uint64_t *results, bool all);

bool golden_read(const char *path, golden_file *file_out);
void golden_release(golden_file *file);

typedef enum golden_answer { GOLDEN_SAME, GOLDEN_DIFFERENT, GOLDEN_MISSING } golden_answer;
/* Prints what differs, up to a few results. worst_out: the largest distance of a case with a bound, in its units. */
golden_answer golden_compare(golden_file *file, const golden_case *one, const uint64_t *words, const uint64_t *results,
                             double *worst_out);

#endif
