/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda for the cases of swa-jit-run and swa-jit-bench: one device of compute capability 9.0 whose memory is the
 * host's and whose decode kernel is the float64 reference (fake_kernel.c). It has no other kernel. What is captured
 * into a graph is looked at, whatever the kernel, and not run: a graph is empty.
 * FAKE_CUDA_FAULT spoils one thing: wrong, lse: a result of token 1, head 0. unwritten, past: the last element, the one
 * behind it. launch, sync, memory, init: that call fails. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_kernel.h"

enum { SUCCESS = 0, ERROR_MEMORY = 2, ERROR_UNKNOWN = 999, ERROR_LAUNCH = 719 };
enum { SM_COUNT = 16, L2_BYTES = 38, MAJOR = 75, MINOR = 76, SHARED_OPTIN = 97 };

/* Declares, for the compiler's sake, and begins the definition of a driver call. */
#define CALL(name, ...)                                                                                                \
  __attribute__((visibility("default"))) int name(__VA_ARGS__);                                                        \
  int name(__VA_ARGS__)

typedef struct fake_event {
  struct timespec time;
} fake_event;

static int something; /* what handles point to */
static int other_kernel;
static void *current_context;
static int is_capturing;

static int has_fault(const char *name)
{
  const char *fault = getenv("FAKE_CUDA_FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

/* ---- device and context ----------------------------------------------------------------------------------- */

CALL(cuInit, unsigned flags)
{
  (void)flags;
  return has_fault("init") ? ERROR_UNKNOWN : SUCCESS;
}

CALL(cuDriverGetVersion, int *version)
{
  *version = 13000;
  return SUCCESS;
}

CALL(cuGetErrorName, int result, const char **name)
{
  *name = result == ERROR_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_FAKE";
  return SUCCESS;
}

CALL(cuGetErrorString, int result, const char **text)
{
  (void)result;
  *text = "as FAKE_CUDA_FAULT asked";
  return SUCCESS;
}

CALL(cuDeviceGetCount, int *count)
{
  *count = 1;
  return SUCCESS;
}

CALL(cuDeviceGet, int *device, int ordinal)
{
  *device = ordinal;
  return SUCCESS;
}

CALL(cuDeviceGetName, char *name, int size, int device)
{
  static const char text[] = "Fake device";
  (void)device;
  memcpy(name, text, (size_t)size < sizeof text ? (size_t)size : sizeof text);
  return SUCCESS;
}

CALL(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
  (void)device;
  *bytes = (size_t)1 << 30;
  return SUCCESS;
}

CALL(cuDeviceGetAttribute, int *value, int attribute, int device)
{
  (void)device;
  *value = attribute == SM_COUNT       ? 132
           : attribute == L2_BYTES     ? 50 << 20
           : attribute == MAJOR        ? 9
           : attribute == SHARED_OPTIN ? 227 << 10
                                       : 0;
  return SUCCESS;
}

CALL(cuDevicePrimaryCtxRetain, void **context, int device)
{
  (void)device;
  *context = &something;
  return SUCCESS;
}

CALL(cuDevicePrimaryCtxRelease_v2, int device)
{
  (void)device;
  return SUCCESS;
}

CALL(cuCtxSetCurrent, void *context)
{
  current_context = context;
  return SUCCESS;
}

CALL(cuCtxGetCurrent, void **context)
{
  *context = current_context;
  return SUCCESS;
}

CALL(cuCtxPushCurrent_v2, void *context)
{
  current_context = context;
  return SUCCESS;
}

CALL(cuCtxPopCurrent_v2, void **context)
{
  *context = current_context;
  return SUCCESS;
}

CALL(cuCtxGetDevice, int *device)
{
  *device = 0;
  return SUCCESS;
}

CALL(cuCtxSynchronize, void)
{
  return SUCCESS;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

CALL(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
  void *memory = has_fault("memory") ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = (uint64_t)(uintptr_t)memory;
  return memory != NULL ? SUCCESS : ERROR_MEMORY;
}

CALL(cuMemFree_v2, uint64_t address)
{
  free((void *)(uintptr_t)address);
  return SUCCESS;
}

CALL(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
  memcpy((void *)(uintptr_t)to, from, bytes);
  return SUCCESS;
}

CALL(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return SUCCESS;
}

CALL(cuMemsetD8_v2, uint64_t to, unsigned char value, size_t bytes)
{
  memset((void *)(uintptr_t)to, value, bytes);
  return SUCCESS;
}

/* ---- streams, events and graphs --------------------------------------------------------------------------- */

CALL(cuStreamCreate, void **stream, unsigned flags)
{
  (void)flags;
  *stream = &something;
  return SUCCESS;
}

CALL(cuStreamDestroy_v2, void *stream)
{
  (void)stream;
  return SUCCESS;
}

CALL(cuStreamSynchronize, void *stream)
{
  (void)stream;
  return has_fault("sync") ? ERROR_LAUNCH : SUCCESS;
}

CALL(cuStreamGetCtx, void *stream, void **context)
{
  (void)stream;
  *context = &something;
  return SUCCESS;
}

CALL(cuEventCreate, void **event, unsigned flags)
{
  (void)flags;
  *event = calloc(1, sizeof(fake_event));
  return *event != NULL ? SUCCESS : ERROR_MEMORY;
}

CALL(cuEventDestroy_v2, void *event)
{
  free(event);
  return SUCCESS;
}

CALL(cuEventRecord, void *event, void *stream)
{
  (void)stream;
  clock_gettime(CLOCK_MONOTONIC, &((fake_event *)event)->time);
  return SUCCESS;
}

CALL(cuEventSynchronize, void *event)
{
  (void)event;
  return SUCCESS;
}

CALL(cuEventElapsedTime, float *milliseconds, void *begin, void *end)
{
  const struct timespec *first = &((const fake_event *)begin)->time;
  const struct timespec *last = &((const fake_event *)end)->time;
  *milliseconds = 1e3f * (float)(last->tv_sec - first->tv_sec) + 1e-6f * (float)(last->tv_nsec - first->tv_nsec);
  return SUCCESS;
}

CALL(cuStreamBeginCapture_v2, void *stream, int mode)
{
  (void)stream;
  (void)mode;
  is_capturing = 1;
  return SUCCESS;
}

CALL(cuStreamEndCapture, void *stream, void **graph)
{
  (void)stream;
  is_capturing = 0;
  *graph = &something;
  return SUCCESS;
}

CALL(cuGraphInstantiateWithFlags, void **exec, void *graph, unsigned long long flags)
{
  (void)graph;
  (void)flags;
  *exec = &something;
  return SUCCESS;
}

CALL(cuGraphLaunch, void *exec, void *stream)
{
  (void)exec;
  (void)stream;
  return SUCCESS;
}

CALL(cuGraphExecDestroy, void *exec)
{
  (void)exec;
  return SUCCESS;
}

CALL(cuGraphDestroy, void *graph)
{
  (void)graph;
  return SUCCESS;
}

CALL(cuModuleLoadData, void **module, const void *image)
{
  *module = &something;
  return memcmp(image, "\177ELF", 4) == 0 ? SUCCESS : ERROR_UNKNOWN;
}

CALL(cuModuleUnload, void *module)
{
  (void)module;
  return SUCCESS;
}

CALL(cuModuleGetFunction, void **function, void *module, const char *name)
{
  (void)module;
  (void)name;
  *function = &other_kernel;
  return SUCCESS;
}

CALL(cuFuncSetAttribute, void *function, int attribute, int value)
{
  (void)function;
  (void)attribute;
  (void)value;
  return SUCCESS;
}

/* ---- kernels ---------------------------------------------------------------------------------------------- */

CALL(cuLibraryLoadData, void **library, const void *code, const int *jit_options, void *const *jit_values,
     unsigned num_jit_options, const int *library_options, void *const *library_values, unsigned num_library_options)
{
  (void)jit_options;
  (void)jit_values;
  (void)num_jit_options;
  (void)library_options;
  (void)library_values;
  (void)num_library_options;
  *library = &something;
  return memcmp(code, "\177ELF", 4) == 0 ? SUCCESS : ERROR_UNKNOWN;
}

CALL(cuLibraryUnload, void *library)
{
  (void)library;
  return SUCCESS;
}

CALL(cuLibraryGetKernel, void **kernel, void *library, const char *name)
{
  (void)library;
  *kernel = strcmp(name, "swa_decode") == 0 ? &something : &other_kernel;
  return SUCCESS;
}

CALL(cuKernelGetFunction, void **function, void *kernel)
{
  *function = kernel;
  return SUCCESS;
}

CALL(cuKernelSetAttribute, int attribute, int value, void *kernel, int device)
{
  (void)attribute;
  (void)value;
  (void)kernel;
  (void)device;
  return SUCCESS;
}

CALL(cuKernelGetAttribute, int *value, int attribute, void *kernel, int device)
{
  (void)attribute;
  (void)kernel;
  (void)device;
  *value = 0;
  return SUCCESS;
}

CALL(cuFuncLoad, void *function)
{
  (void)function;
  return SUCCESS;
}

CALL(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
     unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params, void **extra)
{
  const char *fault = getenv("FAKE_CUDA_FAULT");
  (void)grid_x;
  (void)grid_y;
  (void)grid_z;
  (void)block_x;
  (void)block_y;
  (void)block_z;
  (void)shared_bytes;
  (void)stream;
  (void)extra;
  if (has_fault("launch")) {
    return ERROR_LAUNCH;
  }
  const char *reason = NULL;
  if (is_capturing) {
    reason = function == &something ? fake_kernel_check(params[0]) : NULL;
  } else {
    reason = function == &something ? fake_kernel_run(params[0], fault != NULL ? fault : "") : "it is not swa_decode";
  }
  if (reason != NULL) {
    fprintf(stderr, "fake libcuda: the kernel cannot be run: %s\n", reason);
    return ERROR_UNKNOWN;
  }
  return SUCCESS;
}

/* CUlaunchConfig: nothing of it matters here. */
CALL(cuLaunchKernelEx, const void *config, void *function, void **params, void **extra)
{
  (void)config;
  return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra);
}
