/* SPDX-License-Identifier: Apache-2.0 */
/* What swa-jit-run's parts ask of the library, and a small problem for their tests. */
#ifndef RUN_STAND_IN_H
#define RUN_STAND_IN_H

#include "problem.h"

enum { NUM_TOKENS = 8, NUM_HEADS = 3, HEAD_DIM = 128, WINDOW = 20, BLOCK = 8 };

run_options small_options(void);

/* Generated, with room for the results. */
run_problem make(const run_options *options);

#endif
