/* SPDX-License-Identifier: Apache-2.0 */
/* A case's pools of KV rows on the host: where rows lie, and what is written there. Rows of slots that no unmasked
 * position selects are NaN, their scales too. */
#ifndef DECODE_POOL_H
#define DECODE_POOL_H

#include "case.h"

enum decode_pool_kind { DECODE_POOL_K, DECODE_POOL_V, DECODE_POOL_EXTRA, DECODE_NUM_POOLS };

typedef struct decode_pool {
  enum decode_pool_kind kind;
  uint32_t kv_format;
  uint32_t head_dim;
  uint32_t num_kv_heads;
  uint32_t block_size;
  uint64_t num_slots; /* 0 also where the case has no such pool */
  uint32_t row_bytes;
  uint32_t scale_row_bytes; /* of a footer; 0: none */
  size_t head_stride;
  size_t slot_stride;
  size_t block_stride;
  size_t bytes;            /* from the first byte of a row or footer to the last */
  uint32_t num_candidates; /* slots that positions may name; the only ones initialised in a large pool */
  uint8_t *rows;           /* reserved; only what is written uses memory */
  void *inv_scale;         /* [num_slots, num_kv_heads]; e4m3_slot only */
} decode_pool;

/* The pool's geometry; no memory yet. */
void decode_pool_plan(const decode_case *which, enum decode_pool_kind kind, decode_pool *pool_out);
bool decode_pool_allocate(decode_pool *pool);
void decode_pool_free(decode_pool *pool);

/* Bytes of inv_scale; 0 for formats without. */
size_t decode_pool_inv_scale_bytes(const decode_case *which, const decode_pool *pool);

/* Whether only the candidates' rows are initialised. */
bool decode_pool_is_sparse(const decode_pool *pool);
uint64_t decode_pool_slot(const decode_pool *pool, uint32_t candidate);
/* The reverse; slot must be a candidate's. */
uint32_t decode_pool_candidate(const decode_pool *pool, uint64_t slot);

/* Where a slot's row of a KV head lies, and its scale row in the footer. */
size_t decode_pool_row_offset(const decode_pool *pool, uint64_t slot, uint32_t kv_head);
size_t decode_pool_scale_row_offset(const decode_pool *pool, uint64_t slot);

/* Some candidates carry the case's NaN, infinity or zeros: odd tokens select one of them once, even ones never. Their
 * number is 1 in 16: 15, 31, ... */
bool decode_pool_has_special(const decode_case *which, const decode_pool *pool);
bool decode_pool_is_special(const decode_case *which, const decode_pool *pool, uint32_t candidate);

/* The scale of all of an e4m3 pool. */
float decode_pool_scale(const decode_case *which, enum decode_pool_kind kind);

/* Fills rows and scales; selected has a byte for each candidate, 1 where an unmasked position selects it. base: 512
 * numbers, the direction along which q and K are shifted to move the mean of scores. */
void decode_pool_fill(const decode_case *which, decode_pool *pool, const uint8_t *selected, const double *base);

#endif
