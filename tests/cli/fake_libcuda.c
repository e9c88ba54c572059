/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda for machines without a device: one of compute capability 9.0 whose memory is the host's and whose decode
 * and merge kernels are the float64 reference (fake_launch.c). It has no other kernel. What is captured is looked at,
 * whatever the kernel; a graph's replay runs it only with FAKE_CUDA_GRAPHS=run, and is empty otherwise.
 * FAKE_CUDA_FAULT spoils one thing: wrong, lse: a result of token 1, head 0. unwritten, past: the last element, the one
 * behind it. alone: the last bit of an element, where a launch has one token. early: a dependent launch does not wait
 * for the one before. launch, sync, memory, init: that call fails. */
#include <time.h>

#include "fake_call.h"

enum { SM_COUNT = 16, L2_BYTES = 38, MAJOR = 75, MINOR = 76, SHARED_OPTIN = 97 };

typedef struct fake_event {
  struct timespec time;
} fake_event;

static int something; /* what handles point to */
static void *current_context;

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
  fake_launch_finish();
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
  fake_launch_finish();
  free((void *)(uintptr_t)address);
  return SUCCESS;
}

CALL(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
  fake_launch_finish();
  memcpy((void *)(uintptr_t)to, from, bytes);
  return SUCCESS;
}

CALL(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
  fake_launch_finish();
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return SUCCESS;
}

CALL(cuMemsetD8_v2, uint64_t to, unsigned char value, size_t bytes)
{
  fake_launch_finish();
  memset((void *)(uintptr_t)to, value, bytes);
  return SUCCESS;
}

/* ---- streams and events ----------------------------------------------------------------------------------- */

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
  fake_launch_finish();
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
