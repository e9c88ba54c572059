/* SPDX-License-Identifier: Apache-2.0 */
/* A case that lies on the device, for checks that launch it in their own way. */
#ifndef TRIAL_H
#define TRIAL_H

#include "gpu.h"

typedef struct trial {
  decode_data data;
  decode_problem problem;
} trial;

/* False: gpu->message says why, and there is nothing to free. */
bool trial_make(gpu *gpu, const char *text, trial *trial_out);
/* All zeros are allowed. */
void trial_free(trial *trial);

/* Writes out's and LSE's poison again. */
bool trial_poison(gpu *gpu, trial *trial);

/* Reads what a launch has left and compares it with the reference. */
decode_result trial_judge(gpu *gpu, trial *trial, decode_verdict *verdict);
/* Launches, waits and judges. */
decode_result trial_run(gpu *gpu, trial *trial, decode_verdict *verdict);

#endif
