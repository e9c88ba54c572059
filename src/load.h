/* SPDX-License-Identifier: Apache-2.0 */
/* Cubin -> CUlibrary and CUkernel, attributes set for every device that runs it; and its CUfunction in each context
 * that was current when it was loaded or asked for. */
#ifndef SJ_LOAD_H
#define SJ_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "arch.h"
#include "cuda_api.h"
#include "tile_plan.h"

enum { SJ_MAX_LOADED_CONTEXTS = 8 };

typedef struct sj_loaded_context {
  unsigned long long id;   /* cuCtxGetId's: never given twice, as the address of a destroyed context may be */
  sj_cu_function function; /* NULL: the context's device does not run the kernel */
} sj_loaded_context;

typedef struct sj_loaded {
  _Atomic int num_contexts; /* release, acquire: so many are set; they change no more */
  bool is_ptx;              /* compiled by the driver, also for devices that are newer than any cubin */
  sj_loaded_context contexts[SJ_MAX_LOADED_CONTEXTS];
  sj_cu_library library;
  sj_cu_kernel kernel; /* cuLaunchKernel takes it as a function, in any context (CUDA driver API, cuLaunchKernel) */
} sj_loaded;

/* NO_DEVICE when no device runs arch; UNSUPPORTED: driver too old for arch (said before loading), or no such device
 * has the shared memory; CUDA_ERROR. Nothing is left loaded on failure. Loads into the current context too, if there
 * is one, as sj_load_add_context. *image_refused_out (not NULL, always written): the CUDA_ERROR means that the driver
 * refused the cubin itself (no valid image, no code for the device, no kernel_name in it). When the cubin came from the
 * store, the caller then gets another one and calls again; a cubin just compiled that is refused is
 * the final answer. */
swa_jit_status sj_load_make(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan,
                            const char *kernel_name, const void *cubin, bool *image_refused_out, sj_loaded *loaded_out);

/* The same with zero-terminated PTX of arch, for the devices that run it. */
swa_jit_status sj_load_make_ptx(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan,
                                const char *kernel_name, const char *ptx, bool *image_refused_out,
                                sj_loaded *loaded_out);

/* Whether a device here that no cubin is for would run the PTX of arch. */
bool sj_load_wants_ptx(const sj_cuda_api *api, const sj_arch *arch);

/* Whether what is loaded of arch runs on that compute capability. */
bool sj_load_runs_on(const sj_arch *arch, bool is_ptx, int major, int minor);

/* Loads into the current context what sj_load_make loaded, and remembers its function there, or that the context's
 * device does not run the kernel, so that no later call tries again. Does nothing unless sj_load_lacks_context. One
 * thread at a time. CUDA_ERROR: nothing is remembered. */
swa_jit_status sj_load_add_context(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan,
                                   sj_loaded *loaded);

/* Whether a context is current that is not remembered and could be; false also where the driver gives no id of it or 8
 * are remembered: without a function a launch takes the CUkernel, which is only slower. Lock-free; asks the driver
 * twice at most: for the context, as only one that is there can be asked for its id, and for the id. */
bool sj_load_lacks_context(const sj_cuda_api *api, const sj_loaded *loaded);

/* The function in the context of that id, which is not the first that is remembered; NULL where none is. Lock-free. */
sj_cu_function sj_load_find_further(const sj_loaded *loaded, int num_contexts, unsigned long long id);

/* The function in the current context; NULL where none is remembered. Lock-free; asks the driver once at most. Inline:
 * a launch is the hot path, and most processes have one context. */
static inline sj_cu_function sj_load_find_function(const sj_cuda_api *api, const sj_loaded *loaded)
{
  const int num_contexts = atomic_load_explicit(&loaded->num_contexts, memory_order_acquire);
  unsigned long long id = 0;
  if (num_contexts == 0 || api->ctx_get_id == NULL || api->ctx_get_id(NULL, &id) != SJ_CU_SUCCESS) {
    return NULL;
  }
  return loaded->contexts[0].id == id ? loaded->contexts[0].function : sj_load_find_further(loaded, num_contexts, id);
}

/* Unloads and zeroes; a struct of zeros is fine. Needs no current context. */
void sj_load_finish(const sj_cuda_api *api, sj_loaded *loaded);

/* The best architecture for the current context's device, else for device 0; with_ptx: for a newer device one whose PTX
 * runs on it. UNSUPPORTED when there is none. */
swa_jit_status sj_load_native_arch(const sj_cuda_api *api, bool with_ptx, const sj_arch **arch_out);

#endif
