/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual arguments -> the kernel's parameter, the quickest way: one pool with one KV head. After each launch the
 * driver has had the processor's caches to itself, so that what this costs is its length. Hence no conditions: what
 * must be 0, or below a power of two, is or-ed, what must not be less than another is counted, and one test at the end
 * tells. Nothing has words: what is not plainly right goes to launch_plain, and from there to launch_args.
 *
 * Counts are below 2^31, strides below 2^28 elements or 2^31 bytes, and addresses at most 2^62, or they are not usual:
 * so no product or sum leaves 63 bits once all was looked at, and until then it may wrap.
 */
#ifndef SJ_LAUNCH_USUAL_H
#define SJ_LAUNCH_USUAL_H

#include <stddef.h>
#include <string.h>

#include "launch_constants.h"
#include "launch_fill.h"

enum { SJ_USUAL_ELEMENTS_BITS = 28, SJ_USUAL_NUMBER_BITS = 31, SJ_USUAL_ADDRESS_BITS = 62 };
enum { SJ_USUAL_ALIGNMENT = 8 }; /* bytes, of indices and scales, whatever their type */

typedef struct sj_usual {
  uint64_t odd;  /* not 0: something is not plainly right; the parameter is undefined */
  uint64_t rest; /* not 0: there is something else that few launches have, neither looked at nor filled in */
} sj_usual;

/* Over all arguments. */
typedef struct sj_usual_sum {
  uint64_t odd;       /* what is not 0 and how many comparisons failed, added up: too little to wrap */
  uint64_t addresses; /* or-ed, less 1, so that 0 shows */
  uint64_t sixteens;  /* or-ed: multiples of 16 */
  uint64_t elements;  /* or-ed: strides in elements */
  uint64_t numbers;   /* or-ed: counts, and strides in bytes */
  uint64_t apart;     /* of rows before footers, which are to lie side by side */
} sj_usual_sum;

/* The compiler is to have the value here, as it is: neither by jumps nor, summed up in another order, later. */
SJ_INLINE uint64_t sj_usual_settled(uint64_t value)
{
  __asm__("" : "+r"(value));
  return value;
}

SJ_INLINE uint64_t sj_usual_stride_or(int64_t given, uint64_t packed)
{
  return sj_usual_settled(given != 0 ? (uint64_t)given : packed);
}

SJ_INLINE void sj_usual_or(uint64_t *sum, uint64_t bits)
{
  *sum = sj_usual_settled(*sum | bits);
}

SJ_INLINE void sj_usual_add(sj_usual_sum *sum, uint64_t odd)
{
  sum->odd = sj_usual_settled(sum->odd + odd);
}

SJ_INLINE uint32_t sj_usual_bits(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

#define SJ_USUAL_IS_BEHIND(type, member, other)                                                                        \
  (offsetof(type, member) == offsetof(type, other) + sizeof(((type *)NULL)->other))

_Static_assert(SJ_USUAL_IS_BEHIND(swa_pool, reserved, scale) && SJ_USUAL_IS_BEHIND(swa_params, soft_cap, scale)
                   && SJ_USUAL_IS_BEHIND(swa_params, lse_form, kv_head_groups)
                   && SJ_USUAL_IS_BEHIND(swa_params, num_heads, num_tokens)
                   && SJ_USUAL_IS_BEHIND(swa_jit_decode_args, num_heads, num_tokens),
               "what is written together lies together");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a value comes before the zeros above it");

/* A value of four bytes and, in the same store, zeros in the four behind it. */
SJ_INLINE void sj_usual_put(void *at, uint64_t value)
{
  memcpy(at, &value, sizeof value);
}

/* ---- bytes that tensors reach, of strides that are filled in ----------------------------------------------- */

/* Elements of a token: from its first head's row to the end of its last one's. */
SJ_INLINE uint64_t sj_usual_token(const swa_jit_decode_args *args, uint64_t head_stride, uint64_t row)
{
  return (args->num_heads - UINT64_C(1)) * head_stride + row;
}

SJ_INLINE uint64_t sj_usual_rows_bytes(const swa_jit_decode_args *args, uint64_t token_stride, uint64_t token)
{
  return SJ_BF16_BYTES * ((args->num_tokens - UINT64_C(1)) * token_stride + token);
}

SJ_INLINE uint64_t sj_usual_packed_block(const swa_jit_decode_args *args, const sj_launch_constants *constants,
                                         uint64_t slot_stride)
{
  return args->block_size * (slot_stride + constants->footer_bytes);
}

SJ_INLINE uint64_t sj_usual_block_bytes(const sj_launch_constants *constants, uint64_t packed_block,
                                        uint64_t slot_stride)
{
  return packed_block - slot_stride + constants->row_bytes; /* the last slot is a row */
}

SJ_INLINE uint64_t sj_usual_pool_bytes(const swa_jit_decode_args *args, uint64_t block_stride, uint64_t block_bytes)
{
  return (args->num_blocks - 1) * block_stride + block_bytes;
}

SJ_INLINE uint64_t sj_usual_scales_bytes(const swa_jit_decode_args *args, const sj_launch_constants *constants)
{
  return args->num_blocks * args->block_size * constants->scale_bytes;
}

/* How much of the last row is read only lens tells. */
SJ_INLINE uint64_t sj_usual_indices_bytes(const swa_jit_decode_args *args, const sj_launch_constants *constants,
                                          uint64_t token_stride)
{
  return (args->num_tokens - UINT64_C(1)) * token_stride * constants->index_bytes;
}

SJ_INLINE uint64_t sj_usual_lens_bytes(const swa_jit_decode_args *args, const sj_launch_constants *constants)
{
  return (uint64_t)args->num_tokens * constants->lens_bytes;
}

/* ---- one tensor after the other ---------------------------------------------------------------------------- */

/* 1: they overlap. That is so if one ends behind the other's begin by less than both together are long.
 * written_last: the bytes written, less 1. */
SJ_INLINE uint64_t sj_usual_overlap(const void *written, uint64_t written_last, uint64_t read, uint64_t read_bytes)
{
  const uint64_t behind = read + read_bytes - (uintptr_t)written;
  return behind - 1 < read_bytes + written_last;
}

SJ_INLINE void sj_usual_add_rows(const void *address, uint64_t token_stride, uint64_t head_stride, uint64_t row,
                                 sj_usual_sum *sum)
{
  sj_usual_or(&sum->addresses, (uintptr_t)address - 1);
  sj_usual_or(&sum->sixteens, (uintptr_t)address);
  sj_usual_or(&sum->elements, token_stride | head_stride);
  sj_usual_add(sum, head_stride < row);
}

/* Returns the bytes of out, less 1. Its heads lie within tokens. */
SJ_INLINE uint64_t sj_usual_fill_out(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                                     swa_params *params, sj_usual_sum *sum)
{
  const uint64_t row = constants->head_dim;
  const uint64_t head_stride = sj_usual_stride_or(args->out_head_stride, row);
  const uint64_t token_stride = sj_usual_stride_or(args->out_token_stride, args->num_heads * row);
  const uint64_t token = sj_usual_token(args, head_stride, row);
  params->out = args->out;
  params->out_head_stride = (long long)head_stride;
  params->out_token_stride = (long long)token_stride;
  sj_usual_add_rows(args->out, token_stride, head_stride, row, sum);
  sj_usual_add(sum, token_stride < token);
  return sj_usual_settled(sj_usual_rows_bytes(args, token_stride, token) - 1);
}

SJ_INLINE void sj_usual_fill_q(const sj_launch_constants *constants, const swa_jit_decode_args *args, uint64_t out_last,
                               swa_params *params, sj_usual_sum *sum)
{
  const uint64_t row = constants->head_dim;
  const uint64_t head_stride = sj_usual_stride_or(args->q_head_stride, row);
  const uint64_t token_stride = sj_usual_stride_or(args->q_token_stride, args->num_heads * row);
  const uint64_t bytes = sj_usual_rows_bytes(args, token_stride, sj_usual_token(args, head_stride, row));
  params->q = args->q;
  params->q_head_stride = (long long)head_stride;
  params->q_token_stride = (long long)token_stride;
  sj_usual_add_rows(args->q, token_stride, head_stride, row, sum);
  sj_usual_add(sum, sj_usual_overlap(args->out, out_last, (uintptr_t)args->q, bytes));
  sj_usual_or(&sum->sixteens, sum->elements * SJ_BF16_BYTES); /* out's, too */
}

SJ_INLINE void sj_usual_fill_indices(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                                     uint64_t out_last, swa_scope *window, sj_usual_sum *sum)
{
  const uint64_t stride = sj_usual_stride_or(args->indices_token_stride, constants->window_size);
  window->pool.indices = args->indices;
  window->indices_token_stride = (long long)stride;
  sj_usual_or(&sum->addresses, (uintptr_t)args->indices - 1);
  sj_usual_or(&sum->sixteens, (uintptr_t)args->indices * (SJ_ROW_ALIGNMENT / SJ_USUAL_ALIGNMENT));
  sj_usual_add(sum, sj_usual_overlap(args->out, out_last, (uintptr_t)args->indices,
                                     sj_usual_indices_bytes(args, constants, stride)));
  sj_usual_add(sum, (sum->elements | stride) >> SJ_USUAL_ELEMENTS_BITS);
}

SJ_INLINE void sj_usual_fill_lens(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                                  uint64_t out_last, swa_scope *window, sj_usual_sum *sum)
{
  window->lens = args->lens;
  sj_usual_or(&sum->addresses, (uintptr_t)args->lens - 1);
  sj_usual_add(sum, (uintptr_t)args->lens & (constants->lens_bytes - 1u));
  sj_usual_add(sum, sj_usual_overlap(args->out, out_last, (uintptr_t)args->lens, sj_usual_lens_bytes(args, constants)));
}

/* Where slots have none the rows stand in for them: they are right, or odd, by themselves. */
SJ_INLINE void sj_usual_fill_scales(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                                    uint64_t out_last, sj_usual_sum *sum)
{
  const uint64_t scales = sj_usual_settled((uintptr_t)(constants->scale_bytes != 0 ? args->inv_scale : args->kv));
  sj_usual_or(&sum->addresses, scales - 1);
  sj_usual_or(&sum->sixteens, scales * (SJ_ROW_ALIGNMENT / SJ_USUAL_ALIGNMENT));
  sj_usual_add(sum, sj_usual_overlap(args->out, out_last, scales, sj_usual_scales_bytes(args, constants)));
}

/* The one KV head's stride leads nowhere: it may be anything that is aligned. */
SJ_INLINE void sj_usual_fill_pool(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                                  uint64_t out_last, swa_scope *window, sj_usual_sum *sum)
{
  const uint64_t row = constants->row_bytes, num_slots = args->num_blocks * args->block_size;
  const uint64_t head_stride = sj_usual_stride_or(args->kv_head_stride_bytes, row);
  const uint64_t slot_stride = sj_usual_stride_or(args->slot_stride_bytes, row);
  const uint64_t packed_block = sj_usual_settled(sj_usual_packed_block(args, constants, slot_stride));
  const uint64_t block_stride = sj_usual_stride_or(args->block_stride_bytes, packed_block);
  const uint64_t block_bytes = sj_usual_block_bytes(constants, packed_block, slot_stride);
  window->pool.kv = args->kv;
  window->pool.inv_scale = args->inv_scale;
  window->pool.block_stride_bytes = (long long)block_stride;
  window->pool.slot_stride_bytes = (long long)slot_stride;
  window->pool.kv_head_stride_bytes = (long long)head_stride;
  sj_usual_put(&window->pool.scale, sj_usual_bits(args->kv_scale)); /* and nothing reserved */
  window->block_size = args->block_size;
  window->num_slots = (unsigned)num_slots;
  sj_usual_or(&sum->addresses, (uintptr_t)args->kv - 1);
  sj_usual_or(&sum->sixteens, (uintptr_t)args->kv | block_stride | slot_stride | head_stride);
  sj_usual_or(&sum->numbers,
              block_stride | slot_stride | (args->block_size - UINT64_C(1)) | (args->num_blocks - 1) | num_slots);
  sj_usual_add(sum, slot_stride < row);
  sum->apart = (slot_stride - row) * constants->footer_bytes;
  sj_usual_add(sum, block_stride < block_bytes);
  sj_usual_add(sum, sj_usual_overlap(args->out, out_last, (uintptr_t)args->kv,
                                     sj_usual_pool_bytes(args, block_stride, block_bytes)));
  sj_usual_fill_scales(constants, args, out_last, sum);
}

SJ_INLINE void sj_usual_fill_counts(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                                    swa_params *params, sj_usual_sum *sum)
{
  const uint32_t last_group = (args->num_heads - 1) >> constants->group_shift; /* many for 0 heads */
  memcpy(&params->num_tokens, &args->num_tokens, 2 * sizeof args->num_tokens); /* num_heads, too */
  params->num_kv_heads = 1;
  params->kv_head_heads = args->num_heads;
  sj_usual_put(&params->kv_head_groups, last_group + 1); /* and no lse_form */
  sj_usual_add(sum, last_group >= SJ_MAX_GRID_YZ);
  sj_usual_or(&sum->numbers, (args->num_tokens - UINT64_C(1)) | (uint64_t)args->num_tokens * constants->token_ctas);
}

_Static_assert(SJ_USUAL_IS_BEHIND(swa_params, v, extra) && SJ_USUAL_IS_BEHIND(swa_params, q, v)
                   && SJ_USUAL_IS_BEHIND(swa_params, sinks, lse)
                   && SJ_USUAL_IS_BEHIND(swa_params, q_token_stride, sinks)
                   && SJ_USUAL_IS_BEHIND(swa_params, lse_head_stride, lse_token_stride)
                   && SJ_USUAL_IS_BEHIND(swa_params, workspace, lse_head_stride)
                   && SJ_USUAL_IS_BEHIND(swa_params, num_splits, workspace)
                   && SJ_USUAL_IS_BEHIND(swa_params, reserved, num_splits)
                   && SJ_USUAL_IS_BEHIND(swa_params, num_tokens, reserved),
               "what is zeroed together lies together");

/* What the usual launch has not. */
SJ_INLINE void sj_usual_fill_zeros(swa_params *params)
{
  enum { V = offsetof(swa_params, v), V_END = offsetof(swa_params, q) };
  enum { LSE = offsetof(swa_params, lse), SINKS_END = offsetof(swa_params, q_token_stride) };
  enum { STRIDES = offsetof(swa_params, lse_token_stride), RESERVED_END = offsetof(swa_params, num_tokens) };
  params->extra = (swa_scope){0};
  memset((char *)params + V, 0, V_END - V);
  memset((char *)params + LSE, 0, SINKS_END - LSE);
  memset((char *)params + STRIDES, 0, RESERVED_END - STRIDES);
  params->num_splits = 1;
}

/* ---- all --------------------------------------------------------------------------------------------------- */

/* args: of the size that constants names, with one KV head or the default. Where nothing is odd and there is no rest,
 * the arguments are what launch_args's checks accept, with the parameter that they would make. */
SJ_INLINE sj_usual sj_usual_fill(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                                 swa_params *params)
{
  sj_usual_sum sum = {0};
  const uint64_t out_last = sj_usual_fill_out(constants, args, params, &sum);
  sj_usual_fill_q(constants, args, out_last, params, &sum);
  sj_usual_fill_indices(constants, args, out_last, &params->window, &sum);
  sj_usual_fill_lens(constants, args, out_last, &params->window, &sum);
  sj_usual_fill_counts(constants, args, params, &sum);
  sj_usual_fill_zeros(params);
  sj_usual_fill_pool(constants, args, out_last, &params->window, &sum);
  sj_usual_put(&params->scale, sj_usual_bits(args->scale)); /* and no soft_cap */
  sj_usual_add(&sum, sum.addresses >> SJ_USUAL_ADDRESS_BITS);
  sj_usual_add(&sum, sum.numbers >> SJ_USUAL_NUMBER_BITS);
  sj_usual_add(&sum, sum.sixteens & (SJ_ROW_ALIGNMENT - 1));
  const uint64_t rest =
      (uintptr_t)args->lse | (uintptr_t)args->sinks
      | (args->lse_form | args->flags | args->num_splits >> 1 | sj_usual_bits(args->soft_cap) | constants->has_splits);
  return (sj_usual){sum.odd | sum.apart, rest};
}

#endif
