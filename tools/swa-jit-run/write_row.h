/* SPDX-License-Identifier: Apache-2.0 */
/* A row into a pool, quantised as engines do. */
#ifndef RUN_WRITE_ROW_H
#define RUN_WRITE_ROW_H

#include "problem.h"

/* rows: the pool; scales: of e4m3_slot, of scale_type, made here from the row; pool->scale is that of an e4m3 pool. */
void run_write_row(const run_pool *pool, void *rows, void *scales, uint32_t scale_type, uint64_t slot, uint32_t kv_head,
                   const double *row);

#endif
