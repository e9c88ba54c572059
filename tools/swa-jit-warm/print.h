/* SPDX-License-Identifier: Apache-2.0 */
/* What swa-jit-warm says. */
#ifndef WARM_PRINT_H
#define WARM_PRINT_H

#include "plan.h"

/* A finished job in one line, malloc'd: "compiled sm_100a head_dim=512 ... in 310 ms". */
char *warm_print_step(const warm_job *job);

/* Table or JSON to standard output. seconds: of the whole work. */
void warm_print_table(const warm_plan *plan, double seconds);
void warm_print_dry_table(const warm_plan *plan);
void warm_print_json(const warm_plan *plan, double seconds);

/* Each refusal and failure with its reason, to standard error; failures only when is_quiet. */
void warm_print_reasons(const warm_plan *plan, bool is_quiet);

#endif
