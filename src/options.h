/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's options, checked and merged with the environment: the only reader of the environment. */
#ifndef SJ_OPTIONS_H
#define SJ_OPTIONS_H

#include <stdbool.h>

#include "log.h"

typedef struct sj_options { /* immutable after open; every string malloc'd or NULL */
  sj_log log;
  uint32_t flags;
  uint32_t lock_wait_ms;
  char *cache_dir;            /* NULL: memory only (no HOME, or NO_STORE) */
  bool cache_dir_from_call;   /* options->cache_dir named it: trouble is an error, not a warning */
  char *home;                 /* HOME, when cache_dir lies below it for want of another; else NULL */
  char *cache_path;           /* NULL: no read-only folders */
  bool cache_path_from_call;  /* as cache_dir_from_call */
  uint64_t cache_limit_bytes; /* UINT64_MAX: none */
  char *nvrtc_path, *cuda_path, *dump_dir, *record_path;
  char *virtual_env; /* VIRTUAL_ENV, for the wheels' search */
} sj_options;

/* OK, INVALID (unknown flag bits, unknown log level), NEWER, OUT_OF_MEMORY. */
swa_jit_status sj_options_make(const swa_jit_options *given, sj_options *options_out);
void sj_options_finish(sj_options *options);

#endif
