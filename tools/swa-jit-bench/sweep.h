/* SPDX-License-Identifier: Apache-2.0 */
/* All times on the device: for each number of heads and of tokens a copy, the floors and every kernel. */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "kernels.h"
#include "options.h"
#include "swa_jit/swa_jit.h"
#include "tensors.h"
#include "timing.h"

typedef enum bench_state { BENCH_HELD, BENCH_REFUSED /* does not fit the architecture */, BENCH_FAILED } bench_state;

typedef struct bench_kernel {
  swa_jit_config config;
  uint32_t num_splits; /* of its launches; 0: it has no splits; SJ_SPLITS_PICK */
  const swa_jit_kernel *kernel;
  bench_state state;
  char message[600]; /* why it is not held */
} bench_kernel;

typedef struct bench_point {
  bench_step step;
  uint64_t traffic; /* bytes that a decode must move */
  double us_copy;   /* of a copy that moves as many */
  double us_floor;  /* of the best floor */
  bench_floor floor;
  double *us_ours; /* by kernel; 0 where it was not measured */
} bench_point;

typedef struct bench_sweep {
  const bench_options *options;
  sj_device *device;
  const char *arch;
  bench_kernel *kernels;
  uint32_t num_kernels;
  bench_point *points;
  uint32_t num_points;
  sj_address workspace; /* of all launches in splits; 0: there are none */
  uint64_t workspace_bytes;
} bench_sweep;

/* Gets every kernel, several at once. False when one failed or none is held; their messages say why. */
bool bench_sweep_prepare(sj_device *device, swa_jit_lib *lib, uint32_t arch, const bench_options *options,
                         bench_sweep *sweep_out);
/* False: timing->message says why. */
bool bench_sweep_measure(bench_sweep *sweep, const bench_kernels *own, const bench_tensors *tensors,
                         bench_timing *timing);
void bench_sweep_finish(bench_sweep *sweep);

/* Whether a kernel does a step without needless work: it is held, and no smaller head_group of the options holds all
 * query heads of a KV head. */
bool bench_sweep_serves(const bench_sweep *sweep, const bench_kernel *kernel, bench_step step);

/* The fastest kernel measured at a point, of one head_group or, for 0, of all; NULL if there is none. */
const bench_kernel *bench_sweep_best(const bench_sweep *sweep, const bench_point *point, uint32_t head_group,
                                     double *us_out);

/* The same of the kernels without splits and clusters alone. */
const bench_kernel *bench_sweep_best_plain(const bench_sweep *sweep, const bench_point *point);

/* num_splits of a kernel's launch for a step: as given, or as picked. */
uint32_t bench_sweep_num_splits(const bench_sweep *sweep, const bench_kernel *kernel, bench_step step);

/* Arguments of a decode of one set, without splits. */
void bench_sweep_args(const bench_tensors *tensors, bench_step step, uint32_t set, bool lse,
                      swa_jit_decode_args *args_out);

#endif
