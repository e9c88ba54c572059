/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front of libcuda-emulator.so: the CUDA driver API over the machine of machine.h. What a driver_*.c file has:
 *
 *   driver_error     results, their names and texts; the reason of a thread's last failure
 *   driver_state     the lock of every call, the objects behind handles, the thread's contexts
 *   driver_device    cuInit, versions, the device and its attributes
 *   driver_context   primary and own contexts
 *   driver_memory    allocations, pointer attributes
 *   driver_copy      copies and fills
 *   driver_module    libraries, modules, kernels, functions and their attributes
 *   driver_launch    the checks of a launch
 *   driver_occupancy what fits a multiprocessor
 *   driver_queue     the order in which work runs
 *   driver_stream    streams and events
 *   driver_graph     capture, graphs, replay
 *   driver_symbols   cuGetProcAddress
 *   driver_tensor    tensor maps
 *
 * Work that is put on a stream runs when somebody waits for it, not before: as late as a device may be. Every call
 * takes one lock. Handles are addresses of objects that are looked up, so that a stale one is an error and no crash.
 */
#ifndef EMU_DRIVER_H
#define EMU_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver_error.h"
#include "machine.h"

/* ---- objects ---------------------------------------------------------------------------------------------- */

typedef enum emu_kind {
  EMU_CONTEXT = 1,
  EMU_STREAM,
  EMU_EVENT,
  EMU_LIBRARY, /* modules too */
  EMU_KERNEL,
  EMU_FUNCTION,
  EMU_GRAPH,
  EMU_GRAPH_EXEC
} emu_kind;

/* The first member of each object. Never reused while anybody may hold the handle: see emu_object_retire. */
typedef struct emu_object {
  emu_kind kind;
  uint64_t id; /* never given twice */
  struct emu_object *next;
} emu_object;

typedef struct emu_op emu_op;
typedef struct emu_context emu_context;
typedef struct emu_graph emu_graph;

typedef struct emu_stream {
  emu_object object;
  emu_context *context;
  bool is_default; /* the legacy stream, which waits for all that do not say otherwise, and they for it */
  bool is_non_blocking;
  int priority;
  emu_op *first, **end;
  emu_graph *capture;    /* that the stream's work becomes; NULL: none */
  uint64_t num_captured; /* operations of this stream in it */
  bool is_capture_origin;
  bool is_capture_joined; /* of another stream: the origin waits for its last operation */
} emu_stream;

struct emu_context {
  emu_object object;
  bool is_primary;
  unsigned num_retained; /* of the primary one */
  unsigned flags;
  int error;         /* that an earlier kernel has left, of every later call */
  char report[2048]; /* what that kernel did */
  emu_stream *default_stream, *thread_stream;
};

typedef struct emu_event {
  emu_object object;
  emu_context *context;
  bool has_timing;
  bool is_recorded;
  uint64_t stream_id;  /* where it was recorded last; 0: it has happened */
  uint64_t order;      /* of that record */
  uint64_t ns;         /* when it happened */
  uint64_t capture_id; /* of the graph that it was recorded into; 0: none. order is then the stream's num_captured */
} emu_event;

typedef struct emu_library {
  emu_object object;
  emu_module *module;
  uint64_t context_id; /* of a module; 0: a library, for every context */
  unsigned num_users;  /* launches that are queued or part of a graph */
  bool is_unloaded;
} emu_library;

typedef struct emu_loaded_kernel {
  emu_object object;
  emu_library *library;
  const emu_kernel *kernel;
  emu_kernel_info info;
  int dynamic_shared_limit; /* set by the caller */
  int carveout;
  bool allows_large_clusters;
} emu_loaded_kernel;

typedef struct emu_function {
  emu_object object;
  emu_loaded_kernel *kernel;
  uint64_t context_id;
} emu_function;

/* ---- work ------------------------------------------------------------------------------------------------- */

typedef enum emu_op_kind {
  EMU_OP_LAUNCH,
  EMU_OP_COPY,
  EMU_OP_FILL,
  EMU_OP_RECORD,
  EMU_OP_WAIT,
  EMU_OP_HOST
} emu_op_kind;

typedef struct emu_op_launch {
  emu_library *library; /* kept while the launch is */
  emu_launch launch;    /* params are the op's own */
  bool is_dependent;    /* programmatic dependent launch: may begin before the one before it has ended */
} emu_op_launch;

/* One of to_host, from_host is not NULL, or neither. bytes of width value are repeated by a fill. */
typedef struct emu_op_copy {
  uint64_t to, from;
  void *to_host;
  const void *from_host;
  size_t bytes;
  uint32_t value;
  unsigned width;
} emu_op_copy;

struct emu_op {
  emu_op *next;
  emu_op_kind kind;
  uint64_t order; /* among all of the process */
  void *owned;    /* params, or bytes that the caller may change after its call; freed with the op */
  union {
    emu_op_launch launch;
    emu_op_copy copy;
    struct {
      uint64_t event_id, stream_id, order;
    } mark; /* RECORD: the event; WAIT: until that stream has reached order */
    struct {
      void (*call)(void *data);
      void *data;
    } host;
  } of;
};

struct emu_graph {
  emu_object object;
  bool is_open;   /* streams are captured into it */
  bool is_broken; /* by a call that a capture does not allow */
  int mode;       /* of the capture, with the thread that began it */
  pthread_t thread;
  emu_op *first, **end;
};

/* ---- driver_state ----------------------------------------------------------------------------------------- */

/* Declares and defines an exported entry point. */
#define CALL(name, ...)                                                                                                \
  __attribute__((visibility("default"))) int name(__VA_ARGS__);                                                        \
  int name(__VA_ARGS__)

/* Every entry point is one of these around its work. emu_enter: NOT_INITIALIZED before cuInit. emu_enter_context: and
 * INVALID_CONTEXT without a current one, and the error that an earlier kernel left there. On failure the lock is not
 * held; on success emu_leave gives it back and returns result. */
int emu_enter(void);
int emu_enter_context(emu_context **context_out);
int emu_leave(int result);

const emu_device *emu_state_device(void);

/* A zeroed object of size bytes, registered; NULL: no memory. */
void *emu_object_make(emu_kind kind, size_t size);
/* The object behind a handle; NULL: there is none of that kind. */
void *emu_object_find(emu_kind kind, const void *handle);
void *emu_object_find_id(emu_kind kind, uint64_t id);
/* Takes the object off the register and frees it. */
void emu_object_retire(void *object);
/* Calls each for all of a kind; each may retire what it is given. */
void emu_object_each(emu_kind kind, void (*each)(void *object, void *data), void *data);

/* This thread's contexts. */
emu_context *emu_current(void); /* NULL: none, or one that was destroyed */
int emu_current_set(emu_context *context);
int emu_current_push(emu_context *context);
emu_context *emu_current_pop(void);

uint64_t emu_now_ns(void);

/* ---- driver_queue ----------------------------------------------------------------------------------------- */

emu_op *emu_op_make(emu_op_kind kind);
emu_op *emu_op_copy_of(const emu_op *op); /* with what it owns; NULL: no memory */
void emu_op_free(emu_op *op);

/* Puts op, which is taken whatever comes, behind the stream's others, or into the graph that the stream is captured
 * into. op NULL: no memory. */
int emu_stream_add(emu_stream *stream, emu_op *op);
/* Runs what stands on the stream, to the end or until order is passed; the first error. A stream in capture must not
 * be waited for. */
int emu_stream_finish(emu_stream *stream);
int emu_stream_run_to(emu_stream *stream, uint64_t order);
bool emu_stream_run_one(emu_stream *stream, int *result_out); /* false: nothing stood there */
int emu_context_finish(emu_context *context);
/* As a call on the default stream that waits: runs what that has to wait for. */
int emu_default_finish(emu_context *context);

/* ---- parts that others need ------------------------------------------------------------------------------- */

/* The stream of a handle in the context: NULL and 1 are the default one, 2 the thread's. NULL: none. */
emu_stream *emu_stream_find(emu_context *context, const void *handle);
emu_stream *emu_stream_make(emu_context *context);
void emu_stream_destroy(emu_stream *stream);

emu_context *emu_context_make(unsigned flags);
int emu_context_destroy(emu_context *context);

/* For a call that waits or allocates: refused, and the capture broken, while this thread or, by its mode, any
 * captures. */
int emu_capture_guard(void);

/* Executes; the device's error, with the report as the context's reason. */
int emu_launch_execute(emu_op *const *chain, unsigned count);
int emu_copy_execute(const emu_op_copy *copy);
int emu_fill_execute(const emu_op_copy *fill);

/* Whether all of the range is device memory. */
bool emu_memory_has(uint64_t address, size_t bytes);
bool emu_memory_is_pinned(const void *host, size_t bytes);

/* The kernel of a CUfunction, or of a CUkernel that is given as one; NULL: none that can run in the context. */
emu_loaded_kernel *emu_function_find(const void *handle, const emu_context *context);

/* Lets a library go that was unloaded while launches of it were queued. */
void emu_library_release(emu_library *library);
/* Unloads the modules of a context. */
void emu_module_drop_context(uint64_t context_id);
void emu_memory_drop_context(uint64_t context_id);

/* Of the dynamic shared memory of a launch without cuFuncSetAttribute: what static shared memory leaves of 48 KiB. */
int emu_kernel_dynamic_limit(const emu_loaded_kernel *kernel);

#endif
