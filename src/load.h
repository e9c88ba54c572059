/* SPDX-License-Identifier: Apache-2.0 */
/* Cubin -> CUlibrary and CUkernel, attributes set for every device that runs it. */
#ifndef SJ_LOAD_H
#define SJ_LOAD_H

#include <stdbool.h>

#include "arch.h"
#include "cuda_api.h"
#include "tile_plan.h"

typedef struct sj_loaded {
  sj_cu_library library;
  sj_cu_kernel kernel; /* cuLaunchKernel takes it as a function, in any context (CUDA driver API, cuLaunchKernel) */
} sj_loaded;

/* NO_DEVICE when no device runs arch; UNSUPPORTED: driver too old for arch (said before loading), or no such device
 * has the shared memory; CUDA_ERROR. Nothing is left loaded on failure. Loads into the current context too, if there
 * is one. *image_refused_out (not NULL, always written): the CUDA_ERROR means that the driver refused the cubin
 * itself (no valid image, no code for the device, no swa_decode in it). When the cubin came from the store, the
 * caller then sets the entry aside, compiles once and calls again; a cubin just compiled that is refused is the
 * final answer. */
swa_jit_status sj_load_make(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan, const void *cubin,
                            bool *image_refused_out, sj_loaded *loaded_out);

/* Unloads and zeroes; a struct of zeros is fine. Needs no current context. */
void sj_load_finish(const sj_cuda_api *api, sj_loaded *loaded);

/* The best architecture for the current context's device, else for device 0. UNSUPPORTED when none here runs on it. */
swa_jit_status sj_load_native_arch(const sj_cuda_api *api, const sj_arch **arch_out);

#endif
