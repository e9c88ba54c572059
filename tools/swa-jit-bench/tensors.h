/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs that launches rotate over: sets of q, out, indices and lens, carved anew from the same memory for each
 * number of tokens, beside one KV pool. */
#ifndef BENCH_TENSORS_H
#define BENCH_TENSORS_H

#include "device.h"
#include "options.h"

typedef struct bench_tensors {
  uint32_t num_heads, head_dim, window_size, num_slots;
  sj_address q, out, indices, lens, lse, kv, inv_scale;
  uint64_t q_bytes; /* of all sets; out has as many */
} bench_tensors;

/* Allocates for the numbers of tokens of options and fills all inputs. False: device->message says why. */
bool bench_tensors_make(sj_device *device, const bench_options *options, bench_tensors *tensors_out);
void bench_tensors_free(sj_device *device, bench_tensors *tensors);

/* How many sets of num_tokens tokens the launches rotate over. */
uint32_t bench_tensors_num_sets(const bench_tensors *tensors, uint32_t num_tokens);

/* One set's addresses. */
typedef struct bench_set {
  sj_address q, out, indices, lse;
} bench_set;

bench_set bench_tensors_set(const bench_tensors *tensors, uint32_t num_tokens, uint32_t set);

/* Bytes that one decode of num_tokens tokens must move: q, its rows of KV, indices and out. */
uint64_t bench_tensors_traffic(const bench_tensors *tensors, uint32_t num_tokens);

#endif
