/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered source -> cubin, log and resource figures. Knows NVRTC through its table only. */
#ifndef SJ_COMPILE_H
#define SJ_COMPILE_H

#include <stdbool.h>

#include "arch.h"
#include "nvrtc_api.h"

#define SJ_MAX_COMPILE_OPTIONS 12

typedef enum sj_compile_ptx {
  SJ_COMPILE_PTX_NONE,
  SJ_COMPILE_PTX_WISHED, /* for a dump: without it the compile succeeds, with a warning in the log */
  SJ_COMPILE_PTX_ALONE   /* and no cubin: a compile without ptxas, so without its figures. The same bytes */
} sj_compile_ptx;

typedef struct sj_compiled {
  void *cubin; /* malloc'd */
  size_t cubin_bytes;
  char *ptx; /* malloc'd, zero-terminated; NULL unless asked for and had */
  char *log; /* malloc'd, zero-terminated, "" if the compiler said nothing; set after a failed compile too */
  uint32_t num_registers, spill_store_bytes, spill_load_bytes; /* from ptxas's report in the log */
  uint32_t nvrtc_version;
  uint64_t compile_ns;
  bool is_source_at_fault; /* a failed compile that will fail again: the log blames a line, and no shortage */
} sj_compiled;

/* The options of an architecture, NULL-terminated, in a fixed order; they are part of the key. Returns the count. */
unsigned sj_compile_options(const sj_arch *arch, char storage[64], const char *options_out[SJ_MAX_COMPILE_OPTIONS]);

/* kernel_name: of the kernel in source. UNSUPPORTED when this NVRTC is too old for arch, said before compiling;
 * COMPILE_FAILED, only when the compiler found the source wrong, with its lines (the numbered source around the first
 * goes to log); NO_COMPILER when the compiler itself is broken (its own files, its environment): another attempt may
 * succeed; OUT_OF_MEMORY. *compiled_out is to be finished in every case. */
swa_jit_status sj_compile_run(const sj_nvrtc_api *api, const sj_arch *arch, const char *kernel_name, const char *source,
                              sj_compile_ptx ptx, const sj_log *log, sj_compiled *compiled_out);
void sj_compiled_finish(sj_compiled *compiled);

#endif
