/* SPDX-License-Identifier: Apache-2.0 */
/* The library object, and the pipeline that fills a kernel's entry: plan, render, key, store, compile, store, load.
 * Each step is another file's; this one is their order, the one flight per key and what is remembered. */
#ifndef SJ_BUILD_H
#define SJ_BUILD_H

#include "kernel_table.h"
#include "nvrtc_api.h"
#include "options.h"

struct swa_jit_lib {
  sj_options options;
  const sj_os *os;
  sj_stats stats;
  sj_store store;
  sj_kernel_table *table;
  pthread_mutex_t vendor_mutex; /* opening libnvrtc and libcuda, once each */
  _Atomic int has_nvrtc, has_cuda;
  sj_nvrtc_api nvrtc;
  sj_cuda_api cuda;
};

/* The entry of a configuration with plan, source and key made. */
swa_jit_status sj_build_describe(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out);
/* ... with its cubin, from the store or compiled. */
swa_jit_status sj_build_cubin(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out);
/* ... loaded, ready to launch. */
swa_jit_status sj_build_kernel(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out);

/* libnvrtc and libcuda, opened on first need and kept. A failure is not remembered: the next call tries again. */
swa_jit_status sj_build_open_nvrtc(swa_jit_lib *lib, const sj_nvrtc_api **api_out);
swa_jit_status sj_build_open_cuda(swa_jit_lib *lib, const sj_cuda_api **api_out);

#endif
