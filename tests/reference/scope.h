/* SPDX-License-Identifier: Apache-2.0 */
/* What a token attends to, as plain values: the window or the extra scope, with the pools that K and V come from and
 * the defaults of all strides resolved. */
#ifndef SJ_REFERENCE_SCOPE_H
#define SJ_REFERENCE_SCOPE_H

#include <stdbool.h>

#include "swa_jit/swa_jit.h"

typedef struct sj_reference_pool {
  uint32_t kv_format; /* swa_jit_kv_format */
  uint32_t head_dim;  /* of this pool's rows */
  uint32_t num_kv_heads;
  uint32_t block_size;
  const uint8_t *rows;
  int64_t block_stride_bytes;
  int64_t slot_stride_bytes;
  int64_t head_stride_bytes;
  const void *inv_scale;
  uint32_t scale_type; /* swa_jit_scale_type */
  double scale;        /* of an e4m3 pool */
  const void *indices;
} sj_reference_pool;

typedef struct sj_reference_scope {
  sj_reference_pool k;
  sj_reference_pool v; /* the same as k without a pool of V's own */
  bool has_v;          /* V has a pool of its own */
  uint32_t size;       /* most positions; 0: no such scope */
  uint32_t index_type; /* swa_jit_int_type */
  uint32_t lens_type;  /* swa_jit_int_type */
  int64_t indices_token_stride;
  const void *lens; /* NULL: size for every token */
  int64_t num_slots;
} sj_reference_scope;

sj_reference_scope sj_reference_window(const swa_jit_config *config, const swa_jit_decode_args *args);
sj_reference_scope sj_reference_extra(const swa_jit_config *config, const swa_jit_decode_args *args);

/* min(max(lens[token], 0), size) */
uint32_t sj_reference_scope_len(const sj_reference_scope *scope, uint32_t token);

/* The slots of a position of a token in both pools. False: the position is masked or beyond the token's length. */
bool sj_reference_position(const sj_reference_scope *scope, uint32_t token, uint32_t position, int64_t *k_slot_out,
                           int64_t *v_slot_out);

/* The row of a slot and KV head, less the scale that all of its elements share, which is returned: 1 for formats
 * without. It multiplies sums of elements: 0 times an infinite one is no element of a sum. */
double sj_reference_pool_row(const sj_reference_pool *pool, int64_t slot, uint32_t kv_head, double *row);

#endif
