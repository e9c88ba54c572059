/* SPDX-License-Identifier: Apache-2.0 */
/* What swa-jit-warm says. */
#ifndef WARM_PRINT_H
#define WARM_PRINT_H

#include "json.h"
#include "plan.h"

/* A configuration's text for a row: the first five fields, of a merge the first, and of the others those that differ
 * from the default. */
void warm_print_short(const char *config_text, char text_out[512]);

/* A finished job in one line, malloc'd: "compiled sm_100a head_dim=512 ... in 310 ms". */
char *warm_print_step(const warm_job *job);

/* Table or JSON to standard output. seconds: of the whole work. */
void warm_print_table(const warm_plan *plan, double seconds);
void warm_print_dry_table(const warm_plan *plan);
void warm_print_json(const warm_plan *plan, warm_command command, double seconds);

/* --check: what is missing, and how much. */
void warm_print_check(const warm_plan *plan);

/* Parts of JSON: a job's object, left open, and the members that count the states. */
void warm_json_open_job(sj_json *json, const warm_job *job);
void warm_json_counts(sj_json *json, const warm_plan *plan);

/* Each refusal and failure with its reason, to standard error; failures only when is_quiet. */
void warm_print_reasons(const warm_plan *plan, bool is_quiet);

#endif
