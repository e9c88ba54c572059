/* SPDX-License-Identifier: Apache-2.0 */
/* One decode step's tensors on the host, from the user's files or generated. */
#ifndef RUN_PROBLEM_H
#define RUN_PROBLEM_H

#include "npy.h"
#include "options.h"
#include "swa_jit/swa_jit.h"

enum { RUN_OUT = RUN_NUM_INPUTS, RUN_LSE, RUN_NUM_TENSORS };

typedef struct run_tensor {
  void *data;
  size_t bytes; /* 0: there is no such tensor, and NULL is passed */
} run_tensor;

enum run_pool_kind { RUN_POOL_K, RUN_POOL_V, RUN_POOL_EXTRA, RUN_NUM_POOLS };

/* A packed pool of rows. */
typedef struct run_pool {
  uint32_t kv_format; /* swa_jit_kv_format */
  uint32_t head_dim;
  uint32_t num_kv_heads;
  uint32_t block_size;
  uint64_t num_blocks; /* 0: there is no such pool */
  float scale;         /* of e4m3 */
} run_pool;

typedef struct run_problem {
  swa_jit_config config; /* arch, head_group and kv_tile are set later */
  uint32_t num_tokens;
  uint32_t num_heads;
  uint32_t num_splits; /* 0: a kernel without splits; set with head_group and kv_tile */
  run_pool pools[RUN_NUM_POOLS];
  float scale;
  float soft_cap;
  uint32_t lse_form;
  uint32_t flags;
  uint64_t seed;                       /* 0: the user's data */
  run_tensor tensors[RUN_NUM_TENSORS]; /* inputs, then out and LSE; data NULL until loaded, generated or made */
  sj_npy files[RUN_NUM_INPUTS];
} run_problem;

typedef enum run_outcome { RUN_GOOD = 0, RUN_BAD = 1, RUN_WRONG_USE = 2 } run_outcome;

/* Dimensions and types; reads the user's files. Generated data is not made yet. Prints what is wrong. */
run_outcome run_problem_make(const run_options *given, run_problem *problem_out);

/* The generated data, where there are no files. */
void run_problem_generate(run_problem *problem);

/* Room for the results. */
void run_problem_make_results(run_problem *problem);

/* The arguments of the public call. pointers: where each tensor is; NULL: on the host. */
void run_problem_args(const run_problem *problem, void *const *pointers, swa_jit_decode_args *args_out);

/* Elements of a row of out. */
uint32_t run_problem_out_dim(const run_problem *problem);

/* The tensors of a pool. */
enum run_input run_pool_rows(enum run_pool_kind kind);
enum run_input run_pool_scales(enum run_pool_kind kind);
/* Bytes of a block; of a slot with its part of a footer or its scales. */
uint64_t run_pool_block_bytes(const run_pool *pool);
uint64_t run_pool_slot_bytes(const run_pool *pool, uint32_t scale_type);

/* What one step has to move: queries, results, indices, lens and sinks as far as they are read, and each row attended
 * to. */
double run_problem_bytes_moved(const run_problem *problem);

void run_problem_finish(run_problem *problem);

#endif
