/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's entry points as test_driver calls them, whoever's driver it is. */
#ifndef EMU_DRIVER_CALLS_H
#define EMU_DRIVER_CALLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct launch_attribute {
  int id;
  char padding[4];
  union {
    int number;
    unsigned cluster[3];
    char room[64];
  } value;
} launch_attribute;

typedef struct launch_config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  launch_attribute *attributes;
  unsigned num_attributes;
} launch_config;

/* One line a call: result type, name in the table, symbol, parameters. */
#define DRIVER_CALLS(X)                                                                                                \
  X(init, cuInit, (unsigned))                                                                                          \
  X(driver_version, cuDriverGetVersion, (int *))                                                                       \
  X(error_name, cuGetErrorName, (int, const char **))                                                                  \
  X(error_string, cuGetErrorString, (int, const char **))                                                              \
  X(device_count, cuDeviceGetCount, (int *))                                                                           \
  X(device_get, cuDeviceGet, (int *, int))                                                                             \
  X(device_name, cuDeviceGetName, (char *, int, int))                                                                  \
  X(device_total, cuDeviceTotalMem_v2, (size_t *, int))                                                                \
  X(device_attribute, cuDeviceGetAttribute, (int *, int, int))                                                         \
  X(primary_retain, cuDevicePrimaryCtxRetain, (void **, int))                                                          \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (int))                                                              \
  X(ctx_create, cuCtxCreate_v2, (void **, unsigned, int))                                                              \
  X(ctx_destroy, cuCtxDestroy_v2, (void *))                                                                            \
  X(ctx_set, cuCtxSetCurrent, (void *))                                                                                \
  X(ctx_get, cuCtxGetCurrent, (void **))                                                                               \
  X(ctx_push, cuCtxPushCurrent_v2, (void *))                                                                           \
  X(ctx_pop, cuCtxPopCurrent_v2, (void **))                                                                            \
  X(ctx_id, cuCtxGetId, (void *, unsigned long long *))                                                                \
  X(ctx_device, cuCtxGetDevice, (int *))                                                                               \
  X(ctx_wait, cuCtxSynchronize, (void))                                                                                \
  X(alloc, cuMemAlloc_v2, (uint64_t *, size_t))                                                                        \
  X(release, cuMemFree_v2, (uint64_t))                                                                                 \
  X(host_alloc, cuMemHostAlloc, (void **, size_t, unsigned))                                                           \
  X(host_free, cuMemFreeHost, (void *))                                                                                \
  X(write, cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                                          \
  X(read, cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                                                 \
  X(write_async, cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))                                       \
  X(read_async, cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))                                              \
  X(move, cuMemcpyDtoD_v2, (uint64_t, uint64_t, size_t))                                                               \
  X(fill8, cuMemsetD8_v2, (uint64_t, unsigned char, size_t))                                                           \
  X(fill16, cuMemsetD16_v2, (uint64_t, unsigned short, size_t))                                                        \
  X(fill32, cuMemsetD32_v2, (uint64_t, unsigned, size_t))                                                              \
  X(fill32_async, cuMemsetD32Async, (uint64_t, unsigned, size_t, void *))                                              \
  X(pointer_attribute, cuPointerGetAttribute, (void *, int, uint64_t))                                                 \
  X(stream_create, cuStreamCreate, (void **, unsigned))                                                                \
  X(stream_destroy, cuStreamDestroy_v2, (void *))                                                                      \
  X(stream_wait, cuStreamSynchronize, (void *))                                                                        \
  X(stream_query, cuStreamQuery, (void *))                                                                             \
  X(stream_ctx, cuStreamGetCtx, (void *, void **))                                                                     \
  X(stream_wait_event, cuStreamWaitEvent, (void *, void *, unsigned))                                                  \
  X(begin_capture, cuStreamBeginCapture_v2, (void *, int))                                                             \
  X(end_capture, cuStreamEndCapture, (void *, void **))                                                                \
  X(is_capturing, cuStreamIsCapturing, (void *, int *))                                                                \
  X(event_create, cuEventCreate, (void **, unsigned))                                                                  \
  X(event_destroy, cuEventDestroy_v2, (void *))                                                                        \
  X(event_record, cuEventRecord, (void *, void *))                                                                     \
  X(event_wait, cuEventSynchronize, (void *))                                                                          \
  X(event_query, cuEventQuery, (void *))                                                                               \
  X(event_elapsed, cuEventElapsedTime, (float *, void *, void *))                                                      \
  X(instantiate, cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                                   \
  X(graph_launch, cuGraphLaunch, (void *, void *))                                                                     \
  X(exec_destroy, cuGraphExecDestroy, (void *))                                                                        \
  X(graph_destroy, cuGraphDestroy, (void *))                                                                           \
  X(library_load, cuLibraryLoadData,                                                                                   \
    (void **, const void *, const int *, void *const *, unsigned, const int *, void *const *, unsigned))               \
  X(library_unload, cuLibraryUnload, (void *))                                                                         \
  X(library_kernel, cuLibraryGetKernel, (void **, void *, const char *))                                               \
  X(kernel_function, cuKernelGetFunction, (void **, void *))                                                           \
  X(kernel_get, cuKernelGetAttribute, (int *, int, void *, int))                                                       \
  X(kernel_set, cuKernelSetAttribute, (int, int, void *, int))                                                         \
  X(module_load, cuModuleLoadData, (void **, const void *))                                                            \
  X(module_unload, cuModuleUnload, (void *))                                                                           \
  X(module_function, cuModuleGetFunction, (void **, void *, const char *))                                             \
  X(func_get, cuFuncGetAttribute, (int *, int, void *))                                                                \
  X(func_set, cuFuncSetAttribute, (void *, int, int))                                                                  \
  X(func_load, cuFuncLoad, (void *))                                                                                   \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t))                              \
  X(proc_address, cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))                                  \
  X(encode_tiled, cuTensorMapEncodeTiled,                                                                              \
    (void *, unsigned, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *,       \
     unsigned, unsigned, unsigned, unsigned))                                                                          \
  X(replace_address, cuTensorMapReplaceAddress, (void *, void *))                                                      \
  X(launch, cuLaunchKernel,                                                                                            \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))          \
  X(launch_ex, cuLaunchKernelEx, (const launch_config *, void *, void **, void **))

typedef struct driver_calls {
#define DRIVER_MEMBER(member, symbol, parameters) int(*member) parameters;
  DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} driver_calls;

#endif
