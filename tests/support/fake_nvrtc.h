/* SPDX-License-Identifier: Apache-2.0 */
/* An sj_nvrtc_api table that compiles nothing: it counts its calls, makes the n-th one fail and answers with what the
 * plan says. A table's functions carry no context, so the plan is one for the process: start it anew in each test. */
#ifndef SJ_FAKE_NVRTC_H
#define SJ_FAKE_NVRTC_H

#include "nvrtc_api.h"

typedef enum fake_nvrtc_call {
  FAKE_NVRTC_ANY,
  FAKE_NVRTC_CREATE_PROGRAM,
  FAKE_NVRTC_DESTROY_PROGRAM,
  FAKE_NVRTC_COMPILE_PROGRAM,
  FAKE_NVRTC_GET_LOG_SIZE,
  FAKE_NVRTC_GET_LOG,
  FAKE_NVRTC_GET_CUBIN_SIZE,
  FAKE_NVRTC_GET_CUBIN,
  FAKE_NVRTC_GET_PTX_SIZE,
  FAKE_NVRTC_GET_PTX,
  FAKE_NVRTC_GET_NUM_ARCHS,
  FAKE_NVRTC_GET_ARCHS,
  FAKE_NVRTC_NUM_CALLS
} fake_nvrtc_call;

typedef struct fake_nvrtc_plan {
  fake_nvrtc_call call;  /* which calls count towards nth */
  unsigned nth;          /* 1 for the first; 0: none fails */
  int result;            /* what the failing call returns */
  const char *log;       /* NULL: the report of a compile that went well */
  uint32_t version_code; /* 0: 13000 */
  unsigned compile_ms;   /* how long a compile takes */
  int empty_cubin;       /* 1: the compile succeeds and its cubin has 0 bytes */
  int last_arch;         /* the highest number among the supported architectures; 0: all */
  int cubin_of_source;   /* 1: each source gives a cubin of its own, the same each time */
  size_t cubin_bytes;    /* how large a cubin is, where that is more than the smallest */
} fake_nvrtc_plan;

/* Sets the plan, zeroes the counts and returns a table, whose version_code is the plan's. */
sj_nvrtc_api fake_nvrtc_start(fake_nvrtc_plan plan);

unsigned fake_nvrtc_count(fake_nvrtc_call call); /* calls since start, those that failed included */
unsigned fake_nvrtc_num_programs(void);          /* created and not destroyed */
int fake_nvrtc_has_failed(void);

/* The options of the last compile, parted by blanks. */
const char *fake_nvrtc_options(void);

/* What every compile gives (but for cubin_of_source): an image with the frame of a cubin. */
const void *fake_nvrtc_cubin(size_t *count_out);

#define FAKE_NVRTC_PTX "// no instructions\n.version 8.0\n.target sm_80\n"
#define FAKE_NVRTC_REGISTERS 40
#define FAKE_NVRTC_SPILL_STORES 8
#define FAKE_NVRTC_SPILL_LOADS 12

#endif
