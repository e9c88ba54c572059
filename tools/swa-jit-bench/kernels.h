/* SPDX-License-Identifier: Apache-2.0 */
/* The bench's own kernels (floor.cu): compiled with NVRTC, loaded onto the device. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include "device.h"

enum { BENCH_NUM_FLOORS = 4, BENCH_THREADS = 256 /* of a CTA, as in floor.cu */ };
extern const uint32_t bench_floor_groups[BENCH_NUM_FLOORS];

typedef struct bench_floor {
  sj_function function; /* NULL: its rows do not fit into the device's shared memory */
  unsigned shared_bytes;
} bench_floor;

typedef struct bench_kernels {
  sj_module module;
  sj_function copy;
  bench_floor floors[BENCH_NUM_FLOORS]; /* by bench_floor_groups */
  char message[1024];
} bench_kernels;

/* nvrtc_path NULL: SWA_JIT_NVRTC, else the usual names. arch: "sm_90a". False: message says why. */
bool bench_kernels_load(sj_device *device, const char *nvrtc_path, const char *arch, uint32_t head_dim,
                        uint32_t window_size, bench_kernels *kernels_out);
void bench_kernels_unload(sj_device *device, bench_kernels *kernels);

/* num_bytes: read, and as many written; a multiple of 16. */
bool bench_kernels_copy(sj_device *device, const bench_kernels *kernels, sj_address from, sj_address to,
                        uint64_t num_bytes, sj_stream stream);

#endif
