/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-bench's command line. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "splits.h"
#include "swa_jit/swa_jit.h"

enum { BENCH_MOST_VALUES = 64 };

typedef struct bench_list {
  uint32_t values[BENCH_MOST_VALUES];
  uint32_t count;
} bench_list;

typedef struct bench_options {
  bench_list tokens;
  bench_list num_heads;
  bench_list head_groups;
  bench_list kv_tiles;
  bench_list num_splits; /* 0: a kernel without splits; SJ_SPLITS_PICK */
  bench_list cluster_sizes;
  swa_jit_config config; /* of every kernel, but for arch, head_group, kv_tile, splits and cluster_size */
  uint64_t num_kv_heads;
  uint64_t head_dim;
  uint64_t window_size;
  uint64_t block_size;
  uint64_t num_slots; /* of each pool; 0: enough that it takes 400 MB */
  uint64_t head_dim_v;
  uint64_t sinks;
  double soft_cap;
  uint64_t extra_size;
  uint64_t extra_block_size;
  const char *kv_format;    /* a name */
  const char *extra_format; /* a name; NULL: there is no extra scope */
  uint64_t replays;         /* of each graph; the median counts */
  bool lse;
  bool quick;
  bool host;
  bool every; /* print every kernel, not the best alone */
  const char *csv;
  const char *json;
  const char *svg;
  const char *cache_dir;
  const char *nvrtc;
} bench_options;

extern const sj_cli bench_cli;

/* Whether there is a kernel of clusters with these: else the sweep has none. */
bool bench_options_do_cluster(uint32_t head_group, uint32_t kv_tile, uint32_t num_splits);

sj_cli_outcome bench_options_read(int argc, char **argv, bench_options *options_out);

#endif
