/* SPDX-License-Identifier: Apache-2.0 */
/* One decode step's tensors on the host, from the user's files or generated. */
#ifndef RUN_PROBLEM_H
#define RUN_PROBLEM_H

#include "npy.h"
#include "options.h"
#include "swa_jit/swa_jit.h"

typedef struct run_tensor {
  void *data;
  size_t bytes;
} run_tensor;

typedef struct run_problem {
  swa_jit_config config; /* arch, head_group and kv_tile are set later */
  uint32_t num_tokens;
  uint32_t num_heads;
  uint32_t block_size;
  uint64_t num_blocks;
  float scale;
  uint64_t seed;                     /* 0: the user's data */
  run_tensor inputs[RUN_NUM_INPUTS]; /* data NULL until loaded or generated */
  sj_npy files[RUN_NUM_INPUTS];
  run_tensor out; /* bf16 [num_tokens, num_heads, head_dim] */
  run_tensor lse; /* float [num_tokens, num_heads]; NULL without LSE */
} run_problem;

typedef enum run_outcome { RUN_GOOD = 0, RUN_BAD = 1, RUN_WRONG_USE = 2 } run_outcome;

/* Dimensions and types; reads the user's files. Generated data is not made yet. Prints what is wrong. */
run_outcome run_problem_make(const run_options *given, run_problem *problem_out);

/* The generated data, where there are no files. */
void run_problem_generate(run_problem *problem);

/* Room for the results. */
void run_problem_make_results(run_problem *problem);

/* The arguments of the public call, with host pointers. */
void run_problem_args(const run_problem *problem, swa_jit_decode_args *args_out);

/* What one step has to move: queries, results, indices and lens as far as they are read, and each row attended to. */
double run_problem_bytes_moved(const run_problem *problem);

void run_problem_finish(run_problem *problem);

#endif
