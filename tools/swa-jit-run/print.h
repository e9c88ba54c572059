/* SPDX-License-Identifier: Apache-2.0 */
/* What swa-jit-run says. */
#ifndef RUN_PRINT_H
#define RUN_PRINT_H

#include "place.h"
#include "step.h"
#include "verify.h"

typedef struct run_report {
  const run_options *options;
  const run_problem *problem;
  const run_device *device;
  const run_step_result *step;
  const run_verdict *verdict; /* NULL: not compared */
  bool is_good;               /* everything written, nothing past the end, and the verdict good or absent */
} run_report;

/* Before a step that may take long: that there is no GPU, and what runs it in its place. */
void run_print_place(const run_options *options, const run_device *device);

void run_print_report(const run_report *report);

/* Without a device, a GPU's or the emulator's. */
void run_print_no_device(const run_options *options, const run_device *device, const swa_jit_kernel_info *info,
                         bool is_stored);

#endif
