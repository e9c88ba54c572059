/* SPDX-License-Identifier: Apache-2.0 */
/* Cubin -> CUlibrary and CUkernel, attributes set for every device that runs it. */
#ifndef SJ_LOAD_H
#define SJ_LOAD_H

#include "arch.h"
#include "cuda_api.h"
#include "tile_plan.h"

typedef struct sj_loaded {
  sj_cu_library library;
  sj_cu_kernel kernel; /* cuLaunchKernel takes it as a function, in any context (CUDA driver API, cuLaunchKernel) */
} sj_loaded;

/* NO_DEVICE when no device runs arch; UNSUPPORTED: driver too old for the cubin (said before loading), or no such device has the
 * shared memory; CUDA_ERROR. Nothing is left loaded on failure. Loads into the current context too, if there is one. */
swa_jit_status sj_load_make(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan, const void *cubin,
                            sj_loaded *loaded_out);
void sj_load_finish(const sj_cuda_api *api, sj_loaded *loaded);

/* The current context's device, else device 0. */
swa_jit_status sj_load_native_arch(const sj_cuda_api *api, const sj_arch **arch_out);

#endif
