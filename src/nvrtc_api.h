/* SPDX-License-Identifier: Apache-2.0 */
/* libnvrtc, opened at run time: one table of pointers, the candidates tried, its version. The table is the seam for
 * tests. Types are spelled here: the vendor's header is not needed to build. */
#ifndef SJ_NVRTC_API_H
#define SJ_NVRTC_API_H

#include <stdbool.h>
#include <stddef.h>

#include "log.h"
#include "status.h"
#include "text.h"

typedef struct sj_nvrtc_program_handle *sj_nvrtc_program; /* opaque: nvrtcProgram */

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

/* path: the explicit option (then no other candidate is tried, and its version is the caller's affair), or NULL for the
 * search: an already loaded copy, then the places of sj_nvrtc_add_places. A copy that cannot be used is passed over in
 * a search and is an error when explicit; one older than min_version (as version_code; 0: any) is passed over, too.
 * UNSUPPORTED when only older ones were found, else NO_COMPILER; with the version needed, and what was tried with its
 * version or why it failed. */
swa_jit_status sj_nvrtc_api_open(const char *path, const char *virtual_env, uint32_t min_version, const sj_log *log,
                                 sj_nvrtc_api *api_out);
void sj_nvrtc_api_close(sj_nvrtc_api *api);

/* The places of the search, one a line, in order: plain sonames (newest CUDA first), toolkit folders
 * (/usr/local/cuda*), Python wheels' folders (nvidia/cu13/lib, nvidia/cuda_nvrtc/lib) under virtual_env (or NULL) and
 * the usual prefixes. A place with a slash is a glob(3) pattern; the newest of what it matches comes first. */
void sj_nvrtc_add_places(const char *virtual_env, sj_text *places);

typedef struct sj_nvrtc_search {
  uint32_t min_version;
  const sj_log *log;
  sj_text tried;  /* what was passed over and why, one a line, each copy once */
  bool found_old; /* a copy was passed over for its version only */
} sj_nvrtc_search;

/* The first usable copy of places. false: none. */
bool sj_nvrtc_api_open_place(const char *places, sj_nvrtc_search *search, sj_nvrtc_api *api_out);

#endif
