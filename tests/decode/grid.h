/* SPDX-License-Identifier: Apache-2.0 */
/* The cases every device is put through. */
#ifndef DECODE_GRID_H
#define DECODE_GRID_H

#include "case.h"

typedef struct decode_lines {
  const char *const *lines; /* texts of cases */
  size_t count;
} decode_lines;

/* Each stands for a kind of fault that such kernels have had. */
decode_lines decode_grid_special(void);
/* Pools of more than 2 and 4 GiB, and the most tokens and heads: for devices with the memory and speed for it. */
decode_lines decode_grid_large(void);
/* A few small ones that together reach every path: for checkers that slow a kernel down a hundredfold. */
decode_lines decode_grid_reduced(void);

/* The general form: the KV formats; sinks; the forms and layouts of LSE; KV heads, V's own pool and the soft cap; the
 * extra scope. */
decode_lines decode_grid_formats(void);
decode_lines decode_grid_sinks(void);
decode_lines decode_grid_lse_forms(void);
decode_lines decode_grid_grouped(void);
decode_lines decode_grid_extra(void);
decode_lines decode_grid_splits(void);
/* A token shared by a cluster's CTAs. */
decode_lines decode_grid_clusters(void);

/* Every head_dim x head_group x kv_tile, 0 to count - 1, each with another window, pattern and types. */
size_t decode_grid_num_tilings(void);
void decode_grid_tiling(size_t at, decode_case *which_out);

/* A case drawn at random; seed decides all of it. */
void decode_grid_random(uint32_t seed, decode_case *which_out);
/* The same with options of the general form. */
void decode_grid_random_general(uint32_t seed, decode_case *which_out);
/* One that clusters take. */
void decode_grid_random_clusters(uint32_t seed, decode_case *which_out);

#endif
