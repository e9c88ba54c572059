/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-run's command line. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "splits.h"

enum run_input {
  RUN_Q,
  RUN_KV,
  RUN_INV_SCALE,
  RUN_INDICES,
  RUN_LENS,
  RUN_SINKS,
  RUN_V,
  RUN_V_INV_SCALE,
  RUN_V_INDICES,
  RUN_EXTRA_KV,
  RUN_EXTRA_INV_SCALE,
  RUN_EXTRA_INDICES,
  RUN_EXTRA_LENS,
  RUN_NUM_INPUTS
};

typedef enum run_mode {
  RUN_GENERATED, /* a step on generated data */
  RUN_FILES,     /* a step on the user's files */
  RUN_WRITE_POOL /* no step: rows to a pool */
} run_mode;

typedef enum run_place {
  RUN_ANYWHERE, /* a GPU, or the emulator where there is none */
  RUN_ON_GPU,
  RUN_ON_EMULATOR
} run_place;

typedef struct run_options {
  run_mode mode;
  const char *device; /* as it was given; NULL: anywhere */
  run_place place;
  const char *emulator_arch; /* the emulator's device; NULL: it has none of --arch */
  const char *arch;          /* NULL: the device's, or sm_100a without one */
  uint64_t head_group;       /* 0: swa_jit_pick's */
  uint64_t kv_tile;          /* 0: swa_jit_pick's */
  uint64_t cluster_size;     /* 0 when not has_cluster_size */
  bool has_cluster_size;     /* else swa_jit_pick's, or 0 beside a head_group or kv_tile of the user's */
  const char *num_splits_text;
  uint32_t num_splits; /* 0: a kernel without splits; SJ_SPLITS_PICK */
  bool no_lse;         /* a kernel without LSE */
  double scale;        /* 0 when not has_scale */
  bool has_scale;      /* else 1 / sqrt(head_dim) */
  double soft_cap;     /* 0: none */
  const char *lse_form_names;
  uint32_t lse_form; /* SWA_JIT_LSE_... */
  bool dependent;
  const char *kv_format;
  const char *extra_format; /* NULL: there is no extra scope */
  uint64_t num_tokens;      /* from here to seed: generated data */
  uint64_t num_heads;
  uint64_t num_kv_heads;
  uint64_t head_dim;
  uint64_t head_dim_v; /* 0: V is K's row */
  uint64_t window_size;
  uint64_t block_size;
  uint64_t num_blocks; /* 0: what the tokens' windows need */
  uint64_t extra_size;
  uint64_t extra_block_size;
  uint64_t extra_num_blocks; /* 0: what the tokens' extra scopes need, within reason */
  bool with_sinks;
  const char *index_type;
  const char *lens_type;
  const char *scale_type;
  uint64_t seed;
  const char *inputs[RUN_NUM_INPUTS]; /* the user's files */
  double kv_scale, v_scale, extra_scale;
  const char *write_pool;
  const char *from;
  const char *write_inv_scale;
  const char *out;
  const char *lse;
  bool no_check;
  uint64_t repeat; /* 0: as many as the device is good for */
  const char *cache_dir;
  const char *nvrtc;
  const char *cuda;
  bool json;
} run_options;

extern const sj_cli run_cli;

/* Reads the command line, checks what goes together and fills the defaults in. */
sj_cli_outcome run_options_read(int argc, char **argv, run_options *options_out);

#endif
