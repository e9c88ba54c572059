/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls cost the host. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include "sweep.h"

typedef struct bench_host {
  double ns_decode; /* swa_jit_decode of one token */
  double ns_launch; /* cuLaunchKernel of the same cubin with the same parameter */
  double ns_beyond; /* median of the differences of neighbouring batches */
  double ns_find;   /* swa_jit_kernel_get of a held kernel */
} bench_host;

/* Of one token with num_heads heads. kernel: a held one. False: message says why. */
bool bench_host_measure(sj_device *device, swa_jit_lib *lib, const bench_kernel *kernel, const bench_tensors *tensors,
                        uint32_t num_heads, bool quick, bench_host *host_out, char *message, size_t message_size);

#endif
