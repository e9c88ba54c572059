/* SPDX-License-Identifier: Apache-2.0 */
/* The decode step on a device: tensors over, launch, results back, times. */
#ifndef RUN_STEP_H
#define RUN_STEP_H

#include "device.h"
#include "problem.h"

typedef struct run_step_result {
  swa_jit_kernel_info info;
  double get_us;              /* the first get: store or compiler, and load */
  double load_us;             /* of it the driver's load (swa_jit_stats) */
  double again_ns;            /* a later one: from memory */
  double launch_us;           /* host time of swa_jit_decode, median */
  uint64_t repeat;            /* of how many */
  double device_us;           /* between events around one launch, median */
  uint64_t num_unwritten_out; /* elements that still held the poison after the first launch */
  uint64_t num_unwritten_lse;
  bool wrote_past_end;      /* of out, LSE or the workspace */
  uint64_t workspace_bytes; /* 0: a kernel without splits */
} run_step_result;

/* Sets arch (0: the device's), head_group, kv_tile and cluster_size of the problem's configuration and its
 * num_splits from the options, or by swa_jit_pick and swa_jit_pick_splits. Prints what is wrong. */
run_outcome run_step_configure(run_problem *problem, const run_options *options, uint32_t arch, uint32_t num_sms);

/* Runs the step, and times it `repeat` times more; the results of the first launch are in problem->tensors. False with
 * the reason printed. */
bool run_step_launch(run_problem *problem, swa_jit_lib *lib, sj_device *device, uint64_t repeat,
                     run_step_result *step_out);

#endif
