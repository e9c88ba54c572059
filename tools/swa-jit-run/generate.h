/* SPDX-License-Identifier: Apache-2.0 */
/* Data with the statistics of a served model's. Called by problem.c. */
#ifndef RUN_GENERATE_H
#define RUN_GENERATE_H

#include "problem.h"

/* Fills the inputs, which have their sizes. The same seed and dimensions give the same data. */
void run_generate(run_problem *problem);

#endif
