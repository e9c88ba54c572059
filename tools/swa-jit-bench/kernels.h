/* SPDX-License-Identifier: Apache-2.0 */
/* The bench's own kernels (floor.cu): compiled with NVRTC, loaded onto the device. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include "device.h"
#include "tensors.h"

enum {
  BENCH_NUM_GROUPS = 5,
  BENCH_MOST_CTAS = 2, /* of an SM: a CTA has all of its shared memory, or half */
  BENCH_MOST_SPLITS = 16,
  BENCH_THREADS = 256 /* of a CTA, as in floor.cu */
};
extern const uint32_t bench_floor_groups[BENCH_NUM_GROUPS];

typedef struct bench_kernels {
  sj_module module;
  sj_function copy;
  sj_function floors[BENCH_MOST_CTAS][BENCH_NUM_GROUPS]; /* by ctas - 1 and group; NULL: it does not fit */
  uint32_t stages[BENCH_MOST_CTAS][BENCH_NUM_GROUPS];    /* of the ring */
  uint32_t stage_bytes;
  char message[1024];
} bench_kernels;

/* nvrtc_path NULL: SWA_JIT_NVRTC, else the usual names. arch: "sm_90a". tensors: a plan. False: message says why. */
bool bench_kernels_load(sj_device *device, const char *nvrtc_path, const char *arch, const bench_tensors *tensors,
                        bench_kernels *kernels_out);
void bench_kernels_unload(sj_device *device, bench_kernels *kernels);

typedef struct bench_floor {
  uint32_t group;      /* index into bench_floor_groups */
  uint32_t ctas;       /* of an SM, whose shared memory they part */
  uint32_t num_splits; /* CTAs that share the positions of a token and head group */
} bench_floor;

/* Whether a floor may be a step's best: no smaller group holds all query heads of a KV head, half of the memory is
 * less than is needed, and positions are shared only if there are more than 256 and SMs are idle otherwise. */
bool bench_kernels_has_floor(const sj_device *device, const bench_kernels *kernels, const bench_tensors *tensors,
                             bench_step step, bench_floor floor);

bool bench_kernels_floor(sj_device *device, const bench_kernels *kernels, const bench_tensors *tensors, bench_step step,
                         uint32_t set, bench_floor floor, sj_stream stream);

/* num_bytes: read, and as many written; a multiple of 16. */
bool bench_kernels_copy(sj_device *device, const bench_kernels *kernels, sj_address from, sj_address to,
                        uint64_t num_bytes, sj_stream stream);

/* The macros of floor.cu for a problem, as NVRTC's options. */
enum { BENCH_NUM_MACROS = 16, BENCH_MACRO_SIZE = 48 };
void bench_kernels_macros(const bench_tensors *tensors, uint32_t shared_bytes,
                          char macros_out[BENCH_NUM_MACROS][BENCH_MACRO_SIZE]);

#endif
