/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments -> the kernel's parameter, defaults resolved, nothing checked: any arguments. What does not fit its type
 * wraps, or becomes a stride that the checks refuse wherever it counts. Inline: the hot path fills in a tensor and
 * looks at it in one go. */
#ifndef SJ_LAUNCH_FILL_H
#define SJ_LAUNCH_FILL_H

#include <limits.h>

#include "swa_params.h"
#include "tensor.h"

_Static_assert(sizeof(swa_params) == 344, "both sides lay the parameter out alike, without padding");

/* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" */
enum { SJ_MAX_GRID_YZ = 65535 };
enum { SJ_LSE_FORM_BITS = SWA_JIT_LSE_BASE_2 | SWA_JIT_LSE_WITH_SINK | SWA_JIT_LSE_EMPTY_PLUS_INFINITY };
enum { SJ_ROW_ALIGNMENT = 16 }; /* bytes: rows are read and written 16 bytes at a time */
enum { SJ_BF16_BYTES = 2 };
/* A footer block's rows: data rows side by side, then a scale row for each slot. */
enum { SJ_DATA_584 = 576, SJ_SCALES_584 = 8, SJ_DATA_528 = 512, SJ_SCALES_528 = 16 };

/* How a pool is cut. */
typedef struct sj_pool_shape {
  uint64_t num_blocks;
  uint32_t block_size;
  uint32_t num_kv_heads;
  uint32_t format;
  long long row_bytes;
  long long footer_bytes; /* of a slot's scale row behind the block's data rows; 0: there is none */
} sj_pool_shape;

SJ_INLINE sj_pool_shape sj_launch_shape(uint32_t format, uint32_t row_elements, uint64_t num_blocks,
                                        uint32_t block_size, uint32_t num_kv_heads)
{
  sj_pool_shape shape = {num_blocks, block_size, num_kv_heads, format, row_elements, 0}; /* a byte an element */
  if (format == SWA_JIT_KV_BF16) {
    shape.row_bytes = (long long)SJ_BF16_BYTES * row_elements;
  } else if (format == SWA_JIT_KV_FOOTER_584) {
    shape.row_bytes = SJ_DATA_584;
    shape.footer_bytes = SJ_SCALES_584;
  } else if (format == SWA_JIT_KV_FOOTER_528) {
    shape.row_bytes = SJ_DATA_528;
    shape.footer_bytes = SJ_SCALES_528;
  }
  return shape;
}

/* A count that may be left out. */
SJ_INLINE uint32_t sj_launch_or_1(uint32_t count)
{
  return count + (count == 0);
}

SJ_INLINE sj_pool_shape sj_launch_window_shape(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  return sj_launch_shape(config->kv_format, config->head_dim, args->num_blocks, args->block_size,
                         sj_launch_or_1(args->num_kv_heads));
}

/* The blocks are the window's in number and size. */
SJ_INLINE sj_pool_shape sj_launch_v_shape(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  return sj_launch_shape(config->kv_format, config->head_dim_v, args->num_blocks, args->block_size,
                         sj_launch_or_1(args->num_kv_heads));
}

SJ_INLINE sj_pool_shape sj_launch_extra_shape(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  return sj_launch_shape(config->extra_format, config->head_dim, args->extra_num_blocks, args->extra_block_size, 1);
}

SJ_INLINE unsigned sj_launch_int_bytes(uint32_t type)
{
  return type == SWA_JIT_INT64 ? 8 : 4;
}

SJ_INLINE unsigned sj_launch_scale_bytes(const swa_jit_config *config)
{
  return config->scale_type == SWA_JIT_BFLOAT16 ? 2 : 4;
}

/* Elements of a row of out. */
SJ_INLINE uint32_t sj_launch_out_dim(const swa_jit_config *config)
{
  return config->head_dim_v != 0 ? config->head_dim_v : config->head_dim;
}

SJ_INLINE long long sj_fill_stride_or(int64_t given, long long packed)
{
  return given != 0 ? given : packed;
}

/* ---- scopes ------------------------------------------------------------------------------------------------ */

/* Behind its data rows a block has its scale rows. A single block's stride leads nowhere: it may be rounded up. */
SJ_INLINE long long sj_fill_packed_footer_block(sj_pool_shape shape)
{
  const long long bytes = shape.block_size * (shape.row_bytes + shape.footer_bytes);
  return shape.num_blocks == 1 ? bytes + (-bytes & (SJ_ROW_ALIGNMENT - 1)) : bytes;
}

/* Zero strides of the pool become those of packed rows. A packed block stride that overflows becomes the largest
 * multiple of 16, which is refused wherever it counts. */
SJ_INLINE void sj_fill_strides(sj_pool_shape shape, int64_t block_stride, int64_t slot_stride, int64_t head_stride,
                               swa_pool *pool)
{
  long long packed_block;
  const long long slot = sj_fill_stride_or(slot_stride, shape.num_kv_heads * shape.row_bytes);
  pool->kv_head_stride_bytes = sj_fill_stride_or(head_stride, shape.row_bytes);
  pool->slot_stride_bytes = slot;
  if (shape.footer_bytes != 0) {
    packed_block = sj_fill_packed_footer_block(shape);
  } else if (__builtin_mul_overflow(shape.block_size, slot, &packed_block)) {
    packed_block = LLONG_MAX - (SJ_ROW_ALIGNMENT - 1);
  }
  pool->block_stride_bytes = sj_fill_stride_or(block_stride, packed_block);
}

SJ_INLINE void sj_fill_window(const swa_jit_config *config, const swa_jit_decode_args *args, sj_pool_shape shape,
                              swa_scope *scope)
{
  scope->pool.kv = args->kv;
  scope->pool.inv_scale = args->inv_scale;
  scope->pool.indices = args->indices;
  scope->pool.scale = args->kv_scale;
  scope->pool.reserved = 0;
  scope->lens = args->lens;
  scope->indices_token_stride = sj_fill_stride_or(args->indices_token_stride, config->window_size);
  scope->block_size = args->block_size;
  scope->num_slots = (unsigned)args->num_blocks * args->block_size;
  sj_fill_strides(shape, args->block_stride_bytes, args->slot_stride_bytes, args->kv_head_stride_bytes, &scope->pool);
}

SJ_INLINE void sj_fill_v(const swa_jit_decode_args *args, sj_pool_shape shape, swa_pool *pool)
{
  pool->kv = args->v;
  pool->inv_scale = args->v_inv_scale;
  pool->indices = args->v_indices != NULL ? args->v_indices : args->indices;
  pool->scale = args->v_scale;
  pool->reserved = 0;
  sj_fill_strides(shape, args->v_block_stride_bytes, args->v_slot_stride_bytes, args->v_head_stride_bytes, pool);
}

SJ_INLINE void sj_fill_extra(const swa_jit_config *config, const swa_jit_decode_args *args, sj_pool_shape shape,
                             swa_scope *scope)
{
  scope->pool.kv = args->extra_kv;
  scope->pool.inv_scale = args->extra_inv_scale;
  scope->pool.indices = args->extra_indices;
  scope->pool.scale = args->extra_scale;
  scope->pool.reserved = 0;
  scope->lens = args->extra_lens;
  scope->indices_token_stride = sj_fill_stride_or(args->extra_indices_token_stride, config->extra_size);
  scope->block_size = args->extra_block_size;
  scope->num_slots = (unsigned)args->extra_num_blocks * args->extra_block_size;
  sj_fill_strides(shape, args->extra_block_stride_bytes, args->extra_slot_stride_bytes, 0, &scope->pool);
}

/* ---- q, out, lse, counts, options -------------------------------------------------------------------------- */

SJ_INLINE void sj_fill_q(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params)
{
  const long long heads = args->num_heads, row = config->head_dim;
  params->q = args->q;
  params->q_head_stride = sj_fill_stride_or(args->q_head_stride, row);
  params->q_token_stride = sj_fill_stride_or(args->q_token_stride, heads * row);
}

SJ_INLINE void sj_fill_out(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params)
{
  const long long heads = args->num_heads, row = sj_launch_out_dim(config);
  params->out = args->out;
  params->out_head_stride = sj_fill_stride_or(args->out_head_stride, row);
  params->out_token_stride = sj_fill_stride_or(args->out_token_stride, heads * row);
}

/* Without lse nothing reads its strides. */
SJ_INLINE void sj_fill_lse(const swa_jit_decode_args *args, swa_params *params)
{
  params->lse = args->lse;
  params->lse_head_stride = params->lse_token_stride = 0;
  if (args->lse != NULL) {
    const long long heads = args->num_heads, head_stride = sj_fill_stride_or(args->lse_head_stride, 1);
    long long packed;
    if (__builtin_mul_overflow(heads, head_stride, &packed)) {
      packed = LLONG_MAX; /* refused wherever it counts */
    }
    params->lse_head_stride = head_stride;
    params->lse_token_stride = sj_fill_stride_or(args->lse_token_stride, packed);
  }
}

SJ_INLINE void sj_fill_counts(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params)
{
  uint32_t kv_head_heads = args->num_heads;
  if (SJ_UNLIKELY(args->num_kv_heads > 1)) {
    kv_head_heads /= args->num_kv_heads;
  }
  params->num_tokens = args->num_tokens;
  params->num_heads = args->num_heads;
  params->num_kv_heads = sj_launch_or_1(args->num_kv_heads);
  params->kv_head_heads = kv_head_heads;
  /* by a shift: head_group is a power of two */
  params->kv_head_groups = ((kv_head_heads - 1) >> __builtin_ctz(config->head_group)) + 1;
  params->num_splits = sj_launch_or_1(args->num_splits);
}

SJ_INLINE void sj_fill_options(const swa_jit_decode_args *args, swa_params *params)
{
  params->sinks = args->sinks;
  params->workspace = NULL; /* a launch in splits finds its part's place later */
  params->reserved = 0;
  params->lse_form = args->lse_form;
  params->scale = args->scale;
  params->soft_cap = args->soft_cap;
}

#endif
