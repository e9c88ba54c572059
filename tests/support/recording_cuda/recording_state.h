/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in's two files share: driver.c is the driver's side, controls.c the test's. */
#ifndef SJ_RECORDING_STATE_H
#define SJ_RECORDING_STATE_H

#include <pthread.h>

#include "recording_cuda.h"

/* What this build pretends to be: 11000 lacks the library calls (CUDA 12.0), 12000 lacks cuFuncLoad (12.4). */
#ifndef RECORDING_RELEASE
#define RECORDING_RELEASE 13000
#endif

/* Declares and defines an exported function. */
#define EXPORT(type, name, ...)                                                                                        \
  __attribute__((visibility("default"))) type name(__VA_ARGS__);                                                       \
  type name(__VA_ARGS__)

enum { MAX_LIBRARIES = 64, MAX_DEPTH = 8 };

typedef struct pretend_device {
  int major, minor, shared_bytes;
} pretend_device;

typedef struct pretend_context { /* also the stream of that device */
  int ordinal;
  unsigned long long id; /* of a context: never given twice */
} pretend_context;

typedef struct pretend_library pretend_library;

typedef struct pretend_function {
  unsigned long long context_id; /* 0: cuKernelGetFunction has not given it out */
  bool is_loaded;
} pretend_function;

typedef struct pretend_kernel {
  pretend_library *library;
  int shared_limit[RECORDING_MAX_DEVICES];
  pretend_function functions[RECORDING_MAX_DEVICES]; /* in each device's context */
} pretend_kernel;

struct pretend_library {
  bool is_live;
  int image_major;
  pretend_kernel kernel;
};

typedef struct recording_state {
  bool is_initialized;
  int num_devices;
  pretend_device devices[RECORDING_MAX_DEVICES];
  int driver_version;
  int image_major;
  bool refuses_cubins, refuses_ptx;
  size_t params_bytes;
  pretend_library libraries[MAX_LIBRARIES];
  unsigned next_library; /* handles are used in turn, so that a stale one is noticed */
  unsigned num_loads;
  const char *calls[RECORDING_MAX_CALLS];
  unsigned num_calls;
  recorded_launch launches[RECORDING_MAX_LAUNCHES];
  unsigned num_launches;
  const char *fault_name; /* NULL: any */
  unsigned fault_nth;     /* calls to go; 0: no fault */
  int fault_result;
  bool fault_stays;
  bool has_failed;
} recording_state;

extern recording_state recording;
extern pthread_mutex_t recording_mutex;
extern pretend_context recording_contexts[RECORDING_MAX_DEVICES];
extern pretend_context recording_streams[RECORDING_MAX_DEVICES];
extern _Thread_local pretend_context *recording_stack[MAX_DEPTH];
extern _Thread_local int recording_depth;

/* The kernel behind a handle; NULL if it is none, or its library was unloaded. */
pretend_kernel *recording_find_kernel(const void *handle);
/* The kernel of a function, with the device whose context it is of; NULL as above, or if that context is gone. */
pretend_kernel *recording_find_function(const void *handle, int *ordinal_out);

#endif
