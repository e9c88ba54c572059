/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcuda-recording.so: a stand-in for libcuda, to be named in swa_jit_options.cuda_path. It has every driver entry
 * that src/cuda_api.c looks up, and pretend devices. It runs nothing: it keeps each call and each launch, refuses
 * what the driver would refuse (no context, a kernel that was unloaded, shared memory that was not asked for), and
 * makes chosen calls fail. Numbers and rules are spelled here anew, so that a wrong one in src/ does not go
 * unnoticed.
 *
 * A test opens the file itself, too (recording_cuda_open), and steers it by the table of controls. The state is the
 * process's: reset it at the start of each test. Any thread may call; contexts are current per thread, as in the
 * driver.
 */
#ifndef SJ_RECORDING_CUDA_H
#define SJ_RECORDING_CUDA_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
  RECORDING_MAX_DEVICES = 8,
  RECORDING_MAX_CALLS = 1024,   /* as many names are kept; all are counted */
  RECORDING_MAX_LAUNCHES = 64,  /* as many launches are kept, the first; all are counted */
  RECORDING_PARAMS_BYTES = 512, /* most bytes kept of a kernel's parameter */
  RECORDING_COUNTS_NONE = -1    /* for set_num_devices: cuInit succeeds and cuDeviceGetCount says 0 */
};

typedef struct recorded_launch {
  const void *kernel;   /* launched, or that of the function launched */
  const void *function; /* as given: the kernel's handle, or its function in a context */
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  const void *stream;
  bool has_extra;
  bool is_extended;  /* by cuLaunchKernelEx */
  bool is_dependent; /* its attribute of programmatic stream serialization is set */
  int device;        /* the ordinal on which it would have run */
  unsigned char params[RECORDING_PARAMS_BYTES];
} recorded_launch;

typedef struct recording_cuda {
  /* One device of compute capability 9.0 with 232,448 bytes, driver 13.0, no current context in this thread, no faults,
   * nothing recorded, a parameter of 0 bytes. Forgets what is loaded. */
  void (*reset)(void);
  void (*set_num_devices)(int count);
  void (*set_device)(int ordinal, int major, int minor, int shared_memory_bytes);
  void (*set_driver_version)(int version);
  void (*set_image_major)(int major); /* images loaded from now on run only on devices of this major; 0: on all */
  void (*refuse_images)(bool cubins, bool ptx); /* as no binary for the device; until reset */
  void (*set_params_bytes)(size_t count);       /* of the kernel's parameter, copied at each launch */
  void (*set_current)(int ordinal);             /* this thread's context; -1: none */
  void *(*get_stream)(int ordinal);             /* a stream of that device's context */
  void (*renew_context)(int ordinal);           /* destroys that device's context; the next one has its address */

  /* Faults, counted from the call that sets them; a new one replaces the last. result is what the call returns. */
  void (*fail_call)(unsigned nth, int result);
  void (*fail_from)(unsigned nth, int result); /* that call and every later one */
  void (*fail_function)(const char *name, unsigned nth, int result);
  bool (*has_failed)(void);

  unsigned (*num_calls)(const char *name); /* NULL: of all */
  const char *(*get_call)(unsigned index); /* NULL past the end */
  unsigned (*num_loaded)(void);            /* libraries loaded and not unloaded */
  unsigned (*num_loads)(void);             /* successful loads */
  unsigned (*num_launches)(void);          /* successful launches */
  const recorded_launch *(*get_launch)(unsigned index);
  int (*get_shared_limit)(const void *kernel, int ordinal); /* set by cuKernelSetAttribute; 0: never */
  bool (*is_function_loaded)(const void *kernel, int ordinal);
  const void *(*get_function)(const void *kernel, int ordinal); /* in that device's context */
  int (*get_depth)(void);                                       /* contexts on this thread's stack */
} recording_cuda;

typedef const recording_cuda *(*recording_cuda_controls_fn)(void);

/* The controls of the stand-in at path; NULL if it cannot be opened. It stays open until the process ends. */
static inline const recording_cuda *recording_cuda_open(const char *path)
{
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library == NULL ? NULL : dlsym(library, "recording_cuda_controls");
  recording_cuda_controls_fn controls = NULL;
  memcpy(&controls, &symbol, sizeof controls);
  return controls == NULL ? NULL : controls();
}

#endif
