/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device as the tools need it: memory, copies, streams, events, graphs and small modules. libcuda is
 * opened at run time, and cuda.h is not needed. The library itself does none of this: its callers own memory and
 * streams. Used by swa-jit-run and swa-jit-bench, from one thread.
 *
 * Calls return true, or false with the reason in device->message. Handles from another device object are not
 * checked. */
#ifndef SJ_DEVICE_H
#define SJ_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CUstream_st *sj_stream; /* the same type as swa_jit_stream */
typedef struct CUevent_st *sj_event;
typedef struct CUgraphExec_st *sj_graph;
typedef struct CUmod_st *sj_module;
typedef struct CUfunc_st *sj_function;
typedef uint64_t sj_address; /* of device memory; 0: none */

typedef enum sj_presence {
  SJ_DEVICE_PRESENT = 0,
  SJ_DEVICE_ABSENT = 1, /* no libcuda in the usual places, or it reports no device: message says which */
  SJ_DEVICE_BROKEN = 2  /* a libcuda that was named cannot be used, or the driver fails */
} sj_presence;

struct sj_device_api;

typedef struct sj_device {
  struct sj_device_api *api;
  int ordinal;
  char name[128];
  int major, minor; /* compute capability */
  int num_sms;
  int l2_bytes;
  int shared_bytes; /* most of a CTA */
  size_t memory_bytes;
  int driver_version; /* 13000: serves CUDA 13.0 */
  char message[512];
} sj_device;

/* Opens device 0 with its primary context current in this thread. cuda_path: the libcuda to open; NULL: the
 * environment's SWA_JIT_CUDA as the library reads it, else the usual names. *device needs no preparation, and is
 * closed unless PRESENT. */
sj_presence sj_device_open(const char *cuda_path, sj_device *device);
void sj_device_close(sj_device *device);
/* Waits for all work of the context; the place where a kernel's fault comes to light. */
bool sj_device_wait(sj_device *device);

bool sj_device_alloc(sj_device *device, size_t bytes, sj_address *address_out); /* at least 256-byte aligned */
void sj_device_free(sj_device *device, sj_address address);                     /* 0 is allowed */
/* Copies and fills have ended when the call returns. */
bool sj_device_write(sj_device *device, sj_address to, const void *from, size_t bytes);
bool sj_device_read(sj_device *device, void *to, sj_address from, size_t bytes);
bool sj_device_fill(sj_device *device, sj_address to, uint8_t value, size_t bytes);

bool sj_stream_create(sj_device *device, sj_stream *stream_out); /* not tied to the default stream */
void sj_stream_destroy(sj_device *device, sj_stream stream);
bool sj_stream_wait(sj_device *device, sj_stream stream);

bool sj_event_create(sj_device *device, sj_event *event_out);
void sj_event_destroy(sj_device *device, sj_event event);
bool sj_event_record(sj_device *device, sj_event event, sj_stream stream);
/* Waits for end, then gives the time between two recorded events in microseconds. */
bool sj_event_elapsed_us(sj_device *device, sj_event begin, sj_event end, double *us_out);

/* What is launched on stream between begin and end becomes a graph instead. After a failed launch in between, end
 * must still be called: the stream stays in capture otherwise. */
bool sj_graph_begin(sj_device *device, sj_stream stream);
bool sj_graph_end(sj_device *device, sj_stream stream, sj_graph *graph_out);
bool sj_graph_launch(sj_device *device, sj_graph graph, sj_stream stream);
void sj_graph_destroy(sj_device *device, sj_graph graph);

/* A cubin or zero-terminated PTX, for the tools' own kernels. */
bool sj_module_load(sj_device *device, const void *image, sj_module *module_out);
void sj_module_unload(sj_device *device, sj_module module);
/* dynamic_shared_bytes: the most that a launch of it will ask for. */
bool sj_module_function(sj_device *device, sj_module module, const char *name, unsigned dynamic_shared_bytes,
                        sj_function *function_out);
/* params: one pointer to each argument. */
bool sj_function_launch(sj_device *device, sj_function function, const unsigned grid[3], unsigned num_threads,
                        unsigned dynamic_shared_bytes, sj_stream stream, void **params);
/* The driver's own cuLaunchKernel, for who times it. */
typedef int sj_launch_call(sj_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, sj_stream stream, void **params,
                           void **extra);
sj_launch_call *sj_device_launch_call(const sj_device *device);

#endif
