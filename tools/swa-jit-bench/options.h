/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-bench's command line. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"

enum { BENCH_MOST_VALUES = 64 };

typedef struct bench_list {
  uint32_t values[BENCH_MOST_VALUES];
  uint32_t count;
} bench_list;

typedef struct bench_options {
  bench_list tokens;
  bench_list head_groups;
  bench_list kv_tiles;
  uint64_t num_heads;
  uint64_t head_dim;
  uint64_t window_size;
  uint64_t replays; /* of each graph; the median counts */
  uint64_t num_slots;
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

sj_cli_outcome bench_options_read(int argc, char **argv, bench_options *options_out);

#endif
