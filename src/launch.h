/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments -> the kernel's parameter (launch_args), grid, the driver's launch. The hot path: allocates nothing, takes
 * no lock, makes no system call of its own. */
#ifndef SJ_LAUNCH_H
#define SJ_LAUNCH_H

#include "kernel_table.h"

/* CTAs along x, y and z, each of the plan's threads and shared memory; params: the kernel's one parameter. */
typedef struct sj_launch_grid {
  unsigned x, y, z;
  void *params;
  bool is_dependent; /* may start before its predecessor in the stream has ended: sm_90a and later */
} sj_launch_grid;

/* Whether SWA_JIT_DECODE_DEPENDENT is among the flags and has an effect: before sm_90a a kernel waits for its
 * predecessor anyway. */
bool sj_launch_may_depend(const struct swa_jit_kernel *kernel, uint32_t flags);

/* Launches what was checked. WRONG_DEVICE or CUDA_ERROR. */
swa_jit_status sj_launch_kernel(const struct swa_jit_kernel *kernel, const sj_launch_grid *grid, swa_jit_stream stream);

/* swa_jit_decode is here too, not in api.c: a call more would be a cache line more. */

/* swa_jit_workspace_bytes; of the arguments only counts are read. */
swa_jit_status sj_launch_workspace_bytes(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *counts,
                                         uint64_t *bytes_out);

#endif
