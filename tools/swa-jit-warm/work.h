/* SPDX-License-Identifier: Apache-2.0 */
/* The compiles, by worker processes (crew.h), and what needs none. */
#ifndef WARM_WORK_H
#define WARM_WORK_H

#include "plan.h"
#include "progress.h"

/* Makes the folders that the dumps go to. False with the reason printed. */
bool warm_work_prepare(const warm_options *options);

/* Before the first compile: where the store takes no entries, what it does not hold ends as failed. */
void warm_work_check_store(warm_plan *plan, swa_jit_lib *lib);

/* Gets every waiting configuration from the store or the compiler. Each job ends as hit, compiled or failed; as
 * stopped when a signal came first. */
void warm_work_compile(warm_plan *plan, const warm_options *options, swa_jit_lib *lib, sj_progress *progress);

/* Dry run: each job ends as hit, missing or failed. */
void warm_work_look(warm_plan *plan, swa_jit_lib *lib);

#endif
