/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of KV rows in device memory, of any format: packed blocks, each padded to a multiple of 16 bytes. */
#ifndef BENCH_POOL_H
#define BENCH_POOL_H

#include "device.h"
#include "swa_jit/swa_jit.h"

enum { BENCH_PATTERN_BYTES = 8 << 20 /* random bytes that are repeated through large tensors */ };

typedef struct bench_pool {
  uint32_t kv_format; /* swa_jit_kv_format */
  uint32_t head_dim;
  uint32_t num_kv_heads;
  uint32_t block_size;
  uint32_t num_slots; /* whole blocks; 0: there is no such pool */
  uint32_t row_bytes;
  uint32_t scale_row_bytes; /* of a footer; 0: none */
  uint64_t block_bytes;
  sj_address rows;
  sj_address inv_scale; /* float32 a slot and KV head; 0: the format has none */
} bench_pool;

/* A pool's shape, without memory. num_slots 0: the least power of two that makes least_bytes of rows. */
bench_pool bench_pool_plan(uint32_t kv_format, uint32_t head_dim, uint32_t num_kv_heads, uint32_t block_size,
                           uint64_t num_slots, uint64_t least_bytes);

/* Allocates, and fills with finite numbers: elements nearly normal, scales of slots 0.5 to 1.5, scale bytes 2^-5 to
 * 2^-3. False: device->message says why. A plan without slots is a success. */
bool bench_pool_make(sj_device *device, bench_pool *pool, uint64_t *random);
void bench_pool_free(sj_device *device, bench_pool *pool);

/* Writes the pattern from to as often as it takes. */
bool bench_pool_repeat(sj_device *device, sj_address to, uint64_t bytes, const void *pattern, uint64_t pattern_bytes);

/* Bytes that the positions of one slot read: rows of all KV heads, and a footer's scale row. */
uint64_t bench_pool_slot_bytes(const bench_pool *pool);

/* xorshift64, and from it a number that is nearly normal with deviation 1. */
uint64_t bench_random_next(uint64_t *state);
float bench_random_normal(uint64_t *state);

#endif
