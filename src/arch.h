/* SPDX-License-Identifier: Apache-2.0 */
/* Architectures as data: what validation, compiling and loading need to know of each. */
#ifndef SJ_ARCH_H
#define SJ_ARCH_H

#include <stdbool.h>

#include "swa_jit/swa_jit.h"

typedef struct sj_arch {
  uint32_t id;                  /* swa_jit_arch */
  const char *name;             /* "sm_100a": NVRTC's --gpu-architecture and the key's spelling */
  uint32_t shared_memory_bytes; /* most dynamic shared memory that a CTA can opt in to, on the device it is named for */
  uint32_t shared_memory_per_sm; /* bytes, of a multiprocessor */
  uint32_t registers_per_sm;
  uint32_t usual_num_sms; /* for swa_jit_pick when the caller does not know */
  uint32_t min_nvrtc;     /* major * 1000 + minor * 10 of the first NVRTC that makes its cubins */
  uint32_t min_driver;    /* first CUDA driver version (cuDriverGetVersion) that loads its cubins */
} sj_arch;

/* NULL if the number is no architecture (NATIVE included). */
const sj_arch *sj_arch_find(uint32_t id);

/* By name, "sm_90a"; NULL if unknown. Plain "sm_90", "sm_100", ... are unknown: their cubins lack the a-features. */
const sj_arch *sj_arch_find_name(const char *name);

/* A name of that many bytes, "native" included, to its swa_jit_arch. INVALID with the list of what is known, or with
 * the suffixed name when only the suffix lacks. */
swa_jit_status sj_arch_read_name(const char *name, size_t length, uint32_t *id_out);

/* The i-th architecture, NULL past the end. */
const sj_arch *sj_arch_at(unsigned index);

/* "sm_80, sm_89, ..." for messages. */
const char *sj_arch_list(void);

/* The best architecture for a device's compute capability, NULL if none runs there. */
const sj_arch *sj_arch_for_device(int major, int minor);

/* Whether a cubin of arch runs on a device of that compute capability. */
bool sj_arch_runs_on(const sj_arch *arch, int major, int minor);

/* Whether the PTX of arch runs there, compiled by the driver: never that of an a-target, which is for one target. */
bool sj_arch_ptx_runs_on(const sj_arch *arch, int major, int minor);

/* For a device newer than every architecture here, the one whose PTX serves it best; NULL for any other device.
 * shared_memory_bytes: what a CTA can opt in to there. */
const sj_arch *sj_arch_for_newer_device(int major, int minor, uint32_t shared_memory_bytes);

#endif
