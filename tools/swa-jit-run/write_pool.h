/* SPDX-License-Identifier: Apache-2.0 */
/* --write-pool: rows of floats to a pool of a KV format. */
#ifndef RUN_WRITE_POOL_H
#define RUN_WRITE_POOL_H

#include "problem.h"

/* Prints what is wrong, or what was written. */
run_outcome run_write_pool(const run_options *options);

#endif
