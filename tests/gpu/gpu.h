/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device with the library on it, as tests/decode wants a device, and the tallies of a run. */
#ifndef GPU_H
#define GPU_H

#include "check.h"
#include "device.h"

typedef struct gpu {
  sj_device device;
  swa_jit_lib *lib;
  uint32_t arch;
  sj_stream stream;
  decode_device table; /* its data is this struct */
  char message[600];   /* why the last call of the table failed */
} gpu;

/* ABSENT: there is no device, gpu->message says why. cache_dir NULL: nothing is stored. */
sj_presence gpu_open(const char *cache_dir, gpu *gpu_out);
void gpu_close(gpu *gpu);

/* The kernel of a case's configuration for this device. UNSUPPORTED only when the configuration does not fit it: any
 * other reason for that status is CUDA_ERROR here. */
swa_jit_status gpu_kernel(gpu *gpu, const swa_jit_config *config, const swa_jit_kernel **kernel_out);

/* Compiles the configurations of all cases on num_threads threads; failures are met again, and told, by the cases. */
void gpu_prepare(gpu *gpu, const decode_case *cases, size_t count, unsigned num_threads);

typedef struct gpu_tally {
  uint64_t passed, failed, refused;
  double worst_relative, worst_step, worst_lse;
} gpu_tally;

/* Counts a result and prints a failure as one line that repeats it. */
void gpu_count(gpu_tally *tally, const char *text, decode_result result, const decode_verdict *verdict);

/* What one launch cannot show: graphs, streams, heads of other calls. Each is counted like a case. */
void gpu_check_launches(gpu *gpu, gpu_tally *tally);

/* The merges of tests/merge, each counted like a case. */
void gpu_check_merges(gpu *gpu, gpu_tally *tally);

#endif
