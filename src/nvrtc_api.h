/* SPDX-License-Identifier: Apache-2.0 */
/* libnvrtc, opened at run time: one table of pointers, the candidates tried, its version. The table is the seam for
 * tests. Types are spelled here: the vendor's header is not needed to build. */
#ifndef SJ_NVRTC_API_H
#define SJ_NVRTC_API_H

#include <stddef.h>

#include "log.h"
#include "status.h"

typedef struct _nvrtcProgram *sj_nvrtc_program;

typedef struct sj_nvrtc_api {
  int (*version)(int *major, int *minor);
  const char *(*get_error_string)(int result);
  int (*create_program)(sj_nvrtc_program *program, const char *source, const char *name, int num_headers,
                        const char *const *headers, const char *const *include_names);
  int (*destroy_program)(sj_nvrtc_program *program);
  int (*compile_program)(sj_nvrtc_program program, int num_options, const char *const *options);
  int (*get_program_log_size)(sj_nvrtc_program program, size_t *size);
  int (*get_program_log)(sj_nvrtc_program program, char *log);
  int (*get_cubin_size)(sj_nvrtc_program program, size_t *size);
  int (*get_cubin)(sj_nvrtc_program program, char *cubin);
  int (*get_ptx_size)(sj_nvrtc_program program, size_t *size);
  int (*get_ptx)(sj_nvrtc_program program, char *ptx);
  int (*get_num_supported_archs)(int *count);
  int (*get_supported_archs)(int *archs);
  void *library;          /* dlopen handle */
  void *builtins_library; /* libnvrtc-builtins, opened first by absolute path; may be NULL */
  char path[512];         /* what was opened */
  uint32_t version_code;  /* major * 1000 + minor * 10 */
} sj_nvrtc_api;

/* path: the explicit option (then no other candidate is tried), or NULL for the search: an already loaded copy, plain
 * sonames for CUDA 13 and 12, CUDA_HOME-less toolkit folders (/usr/local/cuda*), Python wheels' folders (nvidia/cu13/lib,
 * nvidia/cuda_nvrtc/lib under the usual site-packages folders and under a VIRTUAL_ENV handed in search_env).
 * NO_COMPILER with the list of what was tried and why each failed, or the symbol that is missing. */
swa_jit_status sj_nvrtc_api_open(const char *path, const char *virtual_env, const sj_log *log, sj_nvrtc_api *api_out);
void sj_nvrtc_api_close(sj_nvrtc_api *api);

#endif
