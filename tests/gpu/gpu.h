/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device with the library on it, as tests/decode wants a device, and the tallies of a run. */
#ifndef GPU_H
#define GPU_H

#include "check.h"
#include "device.h"
#include "results.h"

typedef struct gpu {
  sj_device device;
  swa_jit_lib *lib;
  uint32_t arch;
  sj_stream stream;
  uint64_t rounds;     /* of launches that a race could spoil; the caller's to set */
  decode_device table; /* its data is this struct */
  results *results;    /* NULL: no other device's are of interest; the caller's to set */
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

bool gpu_wait(gpu *gpu); /* for all work of the device; false: gpu->message says why */

/* Makes a graph of what launch puts on gpu->stream; a launch that fails leaves its reason in gpu->message. */
bool gpu_capture(gpu *gpu, bool (*launch)(struct gpu *g, const void *data), const void *data, sj_graph *graph_out);
bool gpu_replay(gpu *gpu, sj_graph graph); /* and waits */

typedef struct gpu_tally {
  uint64_t passed, failed, refused;
  double worst_relative, worst_step, worst_lse;
} gpu_tally;

/* Counts a result and prints a failure as one line that repeats it. */
void gpu_count(gpu_tally *tally, const char *text, decode_result result, const decode_verdict *verdict);

/* FAILED, with the reason as the verdict's fault. */
decode_result gpu_fail(decode_verdict *verdict, const char *reason);

/* What one launch cannot show, each check counted like a case. */
typedef struct gpu_check {
  const char *name;
  decode_result (*check)(struct gpu *g, decode_verdict *verdict);
} gpu_check;

void gpu_run_checks(gpu *gpu, const gpu_check *checks, size_t count, gpu_tally *tally);

/* Graphs, streams, launches that repeat. */
void gpu_check_launches(gpu *gpu, gpu_tally *tally);

/* Bits that are the same whatever else a call has: heads, tokens, a token's place among them. */
void gpu_check_independence(gpu *gpu, gpu_tally *tally);

/* Programmatic dependent launches, each of which reads what the one before it writes. */
void gpu_check_dependent(gpu *gpu, gpu_tally *tally);

/* The merges of tests/merge, each counted like a case. */
void gpu_check_merges(gpu *gpu, gpu_tally *tally);

#endif
