/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be compiled: the configurations that the command line means, each once. */
#ifndef WARM_PLAN_H
#define WARM_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"
#include "swa_jit/swa_jit.h"

typedef enum warm_state {
  WARM_WAITING = 0,
  WARM_HIT,      /* the store held it */
  WARM_COMPILED, /* compiled and stored */
  WARM_MISSING,  /* dry run: it would be compiled */
  WARM_REFUSED,  /* its architecture cannot serve it */
  WARM_FAILED,
  WARM_STOPPED /* a signal came before it was done */
} warm_state;

typedef struct warm_job {
  swa_jit_config config;
  char text[512];       /* the configuration's, whole */
  uint32_t picks_heads; /* of a preset: query heads of a KV head to pick head_group and kv_tile for; 0: they are set */
  bool is_demanded;     /* a line of --from: a refusal fails the command */
  bool lacks_ptx;       /* the store holds the kernel, and not the PTX that it shall keep beside it */
  warm_state state;
  char *reason;             /* of a refusal or failure; malloc'd */
  char *file_name;          /* of the store's entry; malloc'd */
  swa_jit_kernel_info info; /* of a hit or compile; without its texts */
} warm_job;

typedef struct warm_plan {
  warm_job *jobs;
  size_t num_jobs;
  size_t capacity;
} warm_plan;

/* Ends a job as failed, for this thread's last message and the status that came with it. */
void warm_job_fail(warm_job *job, swa_jit_status status);

/* From the lists, the preset or the file. False with the reason printed: the tool ends with status 2. */
bool warm_plan_make(const warm_options *options, warm_plan *plan_out);

/* Replaces "native" by the device's architecture, picks what presets leave open, joins equal configurations and marks
 * what is refused. False with the reason printed when there is no device to ask: the tool ends with status 1. */
bool warm_plan_settle(warm_plan *plan, swa_jit_lib *lib);

/* How many jobs are in a state. */
size_t warm_plan_count(const warm_plan *plan, warm_state state);

/* After the work: nothing failed. Refused combinations of lists are expected, unless nothing else is left; a
 * refused line of --from was asked for. */
bool warm_plan_is_good(const warm_plan *plan);

void warm_plan_finish(warm_plan *plan);

#endif
