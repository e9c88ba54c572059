/* SPDX-License-Identifier: Apache-2.0 */
/* The library object: what swa_jit_open makes and every later call works with. */
#ifndef SJ_LIB_H
#define SJ_LIB_H

#include "kernel_table.h"
#include "nvrtc_api.h"
#include "options.h"

typedef struct sj_opened_nvrtc {
  sj_nvrtc_api api;
  struct sj_opened_nvrtc *next; /* opened later, as api was too old for an architecture */
} sj_opened_nvrtc;

struct swa_jit_lib {
  sj_options options;
  const sj_os *os;
  sj_stats stats;
  sj_store store;
  swa_jit_status store_status; /* why there is no store although a folder was wanted; OK otherwise */
  swa_jit_store_info store_info;
  char *store_folder, *store_reason; /* of store_info; NULL: "" */
  sj_kernel_table *table;
  pthread_mutex_t vendor_mutex; /* opening libnvrtc and libcuda */
  sj_opened_nvrtc *nvrtc;       /* under vendor_mutex; nodes stay until close, so that threads may go on using one */
  _Atomic int has_cuda;
  sj_cuda_api cuda;
};

/* given: NULL for the defaults. A store that cannot be used is a warning, unless the call named its folder.
 * Returns: as swa_jit_open. A failure is logged here, once the options are read: no object is left to log with. */
swa_jit_status sj_lib_open(const swa_jit_options *given, const sj_os *os, swa_jit_lib **lib_out);
void sj_lib_close(swa_jit_lib *lib);

/* Whether the store takes entries now: sj_store_check, or STORE_ERROR with the reason why there is no store. */
swa_jit_status sj_lib_check_store(swa_jit_lib *lib);

/* What became of the folder that is written when the object was opened. Strings live as long as the object. */
const swa_jit_store_info *sj_lib_store_info(const swa_jit_lib *lib);

bool sj_lib_has_flag(const swa_jit_lib *lib, uint32_t flag);

/* libnvrtc and libcuda, opened on first need and kept. A failure is not remembered: the next call tries again.
 * min_version: as of sj_nvrtc_api_open. The first opened that is new enough, always the same one for a min_version;
 * the one that the options name, whatever its version. Returns: as sj_nvrtc_api_open; OUT_OF_MEMORY. */
swa_jit_status sj_lib_open_nvrtc(swa_jit_lib *lib, uint32_t min_version, const sj_nvrtc_api **api_out);
swa_jit_status sj_lib_open_cuda(swa_jit_lib *lib, const sj_cuda_api **api_out);

#endif
