/* SPDX-License-Identifier: Apache-2.0 */
/* The library object: what swa_jit_open makes and every later call works with. */
#ifndef SJ_LIB_H
#define SJ_LIB_H

#include "kernel_table.h"
#include "nvrtc_api.h"
#include "options.h"

struct swa_jit_lib {
  sj_options options;
  const sj_os *os;
  sj_stats stats;
  sj_store store;
  swa_jit_status store_status; /* why there is no store although a folder was wanted; OK otherwise */
  sj_kernel_table *table;
  pthread_mutex_t vendor_mutex; /* opening libnvrtc and libcuda, once each */
  _Atomic int has_nvrtc, has_cuda;
  sj_nvrtc_api nvrtc;
  sj_cuda_api cuda;
};

/* given: NULL for the defaults. A store that cannot be used is a warning, unless the call named its folder.
 * Returns: as swa_jit_open. A failure is logged here, once the options are read: no object is left to log with. */
swa_jit_status sj_lib_open(const swa_jit_options *given, const sj_os *os, swa_jit_lib **lib_out);
void sj_lib_close(swa_jit_lib *lib);

/* Whether the store takes entries now: sj_store_check, or STORE_ERROR with the reason why there is no store. */
swa_jit_status sj_lib_check_store(swa_jit_lib *lib);

bool sj_lib_has_flag(const swa_jit_lib *lib, uint32_t flag);

/* libnvrtc and libcuda, opened on first need and kept. A failure is not remembered: the next call tries again. */
swa_jit_status sj_lib_open_nvrtc(swa_jit_lib *lib, const sj_nvrtc_api **api_out);
swa_jit_status sj_lib_open_cuda(swa_jit_lib *lib, const sj_cuda_api **api_out);

#endif
