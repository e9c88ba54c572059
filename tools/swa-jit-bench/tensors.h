/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs that launches rotate over: sets of q, out, indices and LSE, carved anew from the same memory for each
 * step, beside one pool for K, for V and for the extra scope. */
#ifndef BENCH_TENSORS_H
#define BENCH_TENSORS_H

#include "options.h"
#include "pool.h"

typedef struct bench_tensors {
  uint32_t head_dim, out_dim, window_size, extra_size;
  bench_pool k, v, extra; /* v and extra: num_slots 0 where there is none */
  sj_address q, out, indices, extra_indices, lens, lse, sinks;
  uint64_t q_bytes, out_bytes;      /* of all sets */
  uint64_t num_rows, num_lses;      /* of indices; of LSE */
  uint32_t most_tokens, most_heads; /* of a step */
  float soft_cap;
  bool has_sinks;
} bench_tensors;

/* What a step's launches differ by. */
typedef struct bench_step {
  uint32_t num_tokens, num_heads;
} bench_step;

/* Shapes for the steps of options, without memory. */
void bench_tensors_plan(const bench_options *options, bench_tensors *tensors_out);
/* Allocates and fills all inputs of a plan. False: device->message says why. */
bool bench_tensors_make(sj_device *device, bench_tensors *tensors);
void bench_tensors_free(sj_device *device, bench_tensors *tensors);

/* How many sets the launches of a step rotate over. */
uint32_t bench_tensors_num_sets(const bench_tensors *tensors, bench_step step);

/* One set's addresses. */
typedef struct bench_set {
  sj_address q, out, indices, extra_indices, lse;
} bench_set;

bench_set bench_tensors_set(const bench_tensors *tensors, bench_step step, uint32_t set);

/* Bytes that one decode must move: q, its rows of KV with footers, indices and out. */
uint64_t bench_tensors_traffic(const bench_tensors *tensors, bench_step step);

#endif
