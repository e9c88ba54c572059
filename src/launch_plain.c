/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this costs is how many lines of code a launch reads again after the driver has had the processor's caches to
 * itself. So each tensor is filled in and looked at in one go, what must be 0 is or-ed, extents are compared in a loop,
 * nothing has words, and what few launches have lies in functions of its own.
 *
 * Counts are below 2^31, strides below 2^28 elements or 2^31 bytes, and addresses below 2^62, or they are not plain: so
 * no product or sum leaves 63 bits once all was looked at, and until then it may wrap.
 */
#include "launch_plain.h"

#include <float.h>

#include "launch_usual.h"
#include "workspace.h"

#define SJ_APART static __attribute__((noinline))

enum { ELEMENT_STRIDE_BITS = 28, BYTE_STRIDE_BITS = 31, COUNT_BITS = 31, ADDRESS_BITS = 62 };
enum { MAX_EXTENTS = 16 }; /* q; rows, scales and indices of three pools; two lens; sinks; out, lse, workspace */
enum { ROW_ELEMENTS = SJ_ROW_ALIGNMENT / SJ_BF16_BYTES };
enum { NOT_PLAIN = 0 }; /* in place of a number of extents */

/* A launch's arguments, and what they come to. */
typedef struct launch {
  const swa_jit_config *config;
  const swa_jit_decode_args *args;
  swa_params *params;
} launch;

/* What it reads or writes. */
typedef struct extent {
  uint64_t begin, end;
} extent;

/* 0, or what of the address is not plain. */
SJ_INLINE uint64_t odd_address(const void *address, unsigned alignment)
{
  return ((uintptr_t)address >> ADDRESS_BITS) | ((uintptr_t)address & (alignment - 1));
}

/* 0, or what of one of the or-ed strides is not; a negative one is not plain. */
SJ_INLINE uint64_t odd_strides(uint64_t strides, unsigned bits, unsigned multiple)
{
  return (strides >> bits) | (strides & (multiple - 1));
}

SJ_INLINE unsigned take(extent *all, unsigned num, const void *address, uint64_t bytes)
{
  all[num].begin = (uintptr_t)address;
  all[num].end = (uintptr_t)address + bytes;
  return num + 1;
}

/* It overlaps nothing that was taken before. */
SJ_INLINE unsigned take_written(extent *all, unsigned num, const void *address, uint64_t bytes)
{
  const uint64_t begin = (uintptr_t)address;
  const uint64_t end = begin + bytes;
  for (unsigned i = 0; i < num; i++) {
    if (begin < all[i].end && all[i].begin < end) {
      return NOT_PLAIN;
    }
  }
  return take(all, num, address, bytes);
}

/* ---- counts and options ------------------------------------------------------------------------------------ */

SJ_INLINE bool are_slots(uint64_t num_blocks, uint32_t block_size)
{
  return (num_blocks | num_blocks * block_size) >> COUNT_BITS == 0 && block_size != 0;
}

/* With as many CTAs. */
SJ_INLINE bool are_tokens(const swa_jit_config *config, uint64_t num_tokens)
{
  return (num_tokens | num_tokens * config->cluster_size) >> COUNT_BITS == 0;
}

SJ_APART bool are_kv_heads(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  return args->num_heads % args->num_kv_heads == 0 && args->num_kv_heads <= SJ_MAX_GRID_YZ && config->extra_size == 0
         && config->kv_format != SWA_JIT_KV_FOOTER_584 && config->kv_format != SWA_JIT_KV_FOOTER_528;
}

SJ_INLINE bool has_options(const swa_jit_decode_args *args)
{
  return (args->lse_form | args->flags | (args->num_splits & ~UINT32_C(1))) != 0 || args->soft_cap != 0.0f;
}

SJ_APART bool are_options(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  const bool is_soft_cap = args->soft_cap > 0.0f && args->soft_cap <= FLT_MAX && config->soft_cap != 0;
  const bool are_splits = config->splits != 0 && args->num_splits <= SJ_MAX_SPLITS
                          && (uint64_t)args->num_splits * sj_launch_or_1(args->num_kv_heads) <= SJ_MAX_GRID_YZ;
  return (args->lse_form & ~(uint32_t)SJ_LSE_FORM_BITS) == 0 && (args->flags & ~(uint32_t)SWA_JIT_DECODE_DEPENDENT) == 0
         && (args->soft_cap == 0.0f || is_soft_cap) && (args->num_splits <= 1 || are_splits);
}

SJ_INLINE bool are_counts(launch l)
{
  const swa_jit_decode_args *args = l.args;
  sj_fill_counts(l.config, args, l.params);
  sj_fill_options(args, l.params);
  return are_tokens(l.config, args->num_tokens) && are_slots(args->num_blocks, args->block_size)
         && args->num_heads - 1 < SJ_MAX_GRID_YZ * l.config->head_group /* not 0 either */
         && (!SJ_UNLIKELY(args->num_kv_heads > 1) || are_kv_heads(l.config, args))
         && (!SJ_UNLIKELY(has_options(args)) || are_options(l.config, args));
}

/* ---- inputs ------------------------------------------------------------------------------------------------ */

/* Rows at [tokens, heads]: from the first row to the end of the last, in elements. */
SJ_INLINE uint64_t reach(const swa_jit_decode_args *args, uint64_t token_stride, uint64_t head_stride, uint64_t row)
{
  return (args->num_tokens - UINT64_C(1)) * token_stride + (args->num_heads - UINT64_C(1)) * head_stride + row;
}

/* The first. */
SJ_INLINE unsigned take_q(launch l, extent *all)
{
  sj_fill_q(l.config, l.args, l.params);
  const uint64_t token_stride = (uint64_t)l.params->q_token_stride, head_stride = (uint64_t)l.params->q_head_stride;
  const uint32_t row = l.config->head_dim;
  const uint64_t odd = odd_strides(token_stride | head_stride, ELEMENT_STRIDE_BITS, ROW_ELEMENTS)
                       | odd_address(l.args->q, SJ_ROW_ALIGNMENT);
  if (odd != 0 || l.args->q == NULL || head_stride < row) {
    return NOT_PLAIN;
  }
  return take(all, 0, l.args->q, SJ_BF16_BYTES * reach(l.args, token_stride, head_stride, row));
}

SJ_INLINE unsigned take_scales(launch l, extent *all, unsigned num, sj_pool_shape shape, const void *scales)
{
  const unsigned bytes = sj_launch_scale_bytes(l.config);
  if (odd_address(scales, bytes) != 0 || scales == NULL) {
    return NOT_PLAIN;
  }
  return take(all, num, scales, shape.num_blocks * shape.block_size * shape.num_kv_heads * bytes);
}

/* Strides are filled in. */
SJ_INLINE unsigned take_pool(launch l, extent *all, unsigned num, sj_pool_shape shape, const swa_pool *pool)
{
  const uint64_t block_stride = (uint64_t)pool->block_stride_bytes, slot_stride = (uint64_t)pool->slot_stride_bytes;
  const uint64_t head_stride = (uint64_t)pool->kv_head_stride_bytes, row_bytes = (uint64_t)shape.row_bytes;
  const uint64_t block_bytes = (shape.block_size - UINT64_C(1)) * slot_stride
                               + (shape.num_kv_heads - UINT64_C(1)) * head_stride + row_bytes
                               + shape.block_size * (uint64_t)shape.footer_bytes;
  const uint64_t odd = odd_strides(block_stride | slot_stride | head_stride, BYTE_STRIDE_BITS, SJ_ROW_ALIGNMENT)
                       | odd_address(pool->kv, SJ_ROW_ALIGNMENT);
  if (odd != 0 || pool->kv == NULL || head_stride < row_bytes || slot_stride < row_bytes || block_stride < block_bytes
      || (shape.footer_bytes != 0 && slot_stride != row_bytes)) {
    return NOT_PLAIN;
  }
  num = take(all, num, pool->kv, (shape.num_blocks - 1) * block_stride + block_bytes);
  return shape.format == SWA_JIT_KV_E4M3_SLOT ? take_scales(l, all, num, shape, pool->inv_scale) : num;
}

/* How much of the last row is read only lens tells. */
SJ_INLINE unsigned take_indices(launch l, extent *all, unsigned num, const void *indices, long long token_stride)
{
  const unsigned index_bytes = sj_launch_int_bytes(l.config->index_type);
  const uint64_t stride = (uint64_t)token_stride;
  if ((odd_strides(stride, ELEMENT_STRIDE_BITS, 1) | odd_address(indices, index_bytes)) != 0 || indices == NULL) {
    return NOT_PLAIN;
  }
  return take(all, num, indices, (l.args->num_tokens - UINT64_C(1)) * stride * index_bytes);
}

SJ_INLINE unsigned take_lens(launch l, extent *all, unsigned num, const void *lens)
{
  const unsigned lens_bytes = sj_launch_int_bytes(l.config->lens_type);
  if (odd_address(lens, lens_bytes) != 0 || lens == NULL) {
    return NOT_PLAIN;
  }
  return take(all, num, lens, (uint64_t)l.args->num_tokens * lens_bytes);
}

SJ_INLINE unsigned take_window(launch l, extent *all, unsigned num, sj_pool_shape shape)
{
  swa_scope *window = &l.params->window;
  sj_fill_window(l.config, l.args, shape, window);
  num = take_indices(l, all, num, l.args->indices, window->indices_token_stride);
  num = num != NOT_PLAIN ? take_lens(l, all, num, l.args->lens) : num;
  return num != NOT_PLAIN && shape.num_blocks != 0 ? take_pool(l, all, num, shape, &window->pool) : NOT_PLAIN;
}

/* After the window. */
SJ_APART unsigned take_v(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params, extent *all,
                         unsigned num)
{
  const launch l = {config, args, params};
  const sj_pool_shape shape = sj_launch_v_shape(config, args);
  sj_fill_v(args, shape, &params->v);
  num = take_pool(l, all, num, shape, &params->v);
  return num != NOT_PLAIN && args->v_indices != NULL
             ? take_indices(l, all, num, args->v_indices, params->window.indices_token_stride)
             : num;
}

SJ_APART unsigned take_extra(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params,
                             extent *all, unsigned num)
{
  const launch l = {config, args, params};
  const sj_pool_shape shape = sj_launch_extra_shape(config, args);
  sj_fill_extra(config, args, shape, &params->extra);
  if (!are_slots(shape.num_blocks, shape.block_size)) {
    return NOT_PLAIN;
  }
  num = take_indices(l, all, num, args->extra_indices, params->extra.indices_token_stride);
  num = num != NOT_PLAIN && args->extra_lens != NULL ? take_lens(l, all, num, args->extra_lens) : num;
  return num != NOT_PLAIN && shape.num_blocks != 0 ? take_pool(l, all, num, shape, &params->extra.pool) : num;
}

SJ_APART unsigned take_sinks(const swa_jit_config *config, const swa_jit_decode_args *args, extent *all, unsigned num)
{
  if (config->sinks == 0 || odd_address(args->sinks, sizeof(float)) != 0) {
    return NOT_PLAIN;
  }
  return take(all, num, args->sinks, args->num_heads * sizeof(float));
}

/* ---- outputs ----------------------------------------------------------------------------------------------- */

/* Plain are heads within tokens. */
SJ_INLINE bool are_apart(const swa_jit_decode_args *args, uint64_t token_stride, uint64_t head_stride, uint64_t row)
{
  return head_stride >= row && token_stride >= (args->num_heads - UINT64_C(1)) * head_stride + row;
}

SJ_INLINE unsigned take_out(launch l, extent *all, unsigned num)
{
  sj_fill_out(l.config, l.args, l.params);
  const uint64_t token_stride = (uint64_t)l.params->out_token_stride;
  const uint64_t head_stride = (uint64_t)l.params->out_head_stride;
  const uint32_t row = sj_launch_out_dim(l.config);
  const uint64_t odd = odd_strides(token_stride | head_stride, ELEMENT_STRIDE_BITS, ROW_ELEMENTS)
                       | odd_address(l.args->out, SJ_ROW_ALIGNMENT);
  if (odd != 0 || l.args->out == NULL || !are_apart(l.args, token_stride, head_stride, row)) {
    return NOT_PLAIN;
  }
  return take_written(all, num, l.args->out, SJ_BF16_BYTES * reach(l.args, token_stride, head_stride, row));
}

SJ_APART unsigned take_lse(const swa_jit_config *config, const swa_jit_decode_args *args, const swa_params *params,
                           extent *all, unsigned num)
{
  const uint64_t token_stride = (uint64_t)params->lse_token_stride, head_stride = (uint64_t)params->lse_head_stride;
  const uint64_t odd =
      odd_strides(token_stride | head_stride, ELEMENT_STRIDE_BITS, 1) | odd_address(args->lse, sizeof(float));
  if (odd != 0 || config->lse == 0 || !are_apart(args, token_stride, head_stride, 1)) {
    return NOT_PLAIN;
  }
  return take_written(all, num, args->lse, sizeof(float) * reach(args, token_stride, head_stride, 1));
}

/* How large it has to be, and its alignment, is checked with the plan. */
SJ_APART unsigned take_workspace(const swa_jit_decode_args *args, extent *all, unsigned num)
{
  if (((uintptr_t)args->workspace | args->workspace_bytes) >> ADDRESS_BITS != 0 || args->workspace == NULL) {
    return NOT_PLAIN;
  }
  return take_written(all, num, args->workspace, args->workspace_bytes);
}

/* ---- all --------------------------------------------------------------------------------------------------- */

/* Besides out. */
SJ_INLINE unsigned take_further_outputs(launch l, extent *all, unsigned num)
{
  sj_fill_lse(l.args, l.params);
  if (num != NOT_PLAIN && l.args->lse != NULL) {
    num = take_lse(l.config, l.args, l.params, all, num);
  }
  if (num != NOT_PLAIN && l.config->splits != 0) {
    num = take_workspace(l.args, all, num);
  }
  return num;
}

SJ_INLINE bool fill(const swa_jit_config *restrict config, const swa_jit_decode_args *restrict args,
                    swa_params *restrict params, sj_pool_shape shape, bool is_one_pool)
{
  const launch l = {config, args, params};
  extent all[MAX_EXTENTS]; /* an extent is set as it is taken */
  params->extra = (swa_scope){0};
  params->v = (swa_pool){0};
  unsigned num = are_counts(l) ? take_q(l, all) : NOT_PLAIN;
  num = num != NOT_PLAIN ? take_window(l, all, num, shape) : num;
  if (!is_one_pool) {
    num = num != NOT_PLAIN && config->head_dim_v != 0 ? take_v(config, args, params, all, num) : num;
    num = num != NOT_PLAIN && config->extra_size != 0 ? take_extra(config, args, params, all, num) : num;
  }
  num = num != NOT_PLAIN && args->sinks != NULL ? take_sinks(config, args, all, num) : num;
  num = num != NOT_PLAIN ? take_out(l, all, num) : num;
  return take_further_outputs(l, all, num) != NOT_PLAIN;
}

/* One pool of rows without footers. */
SJ_APART bool fill_one_pool(const swa_jit_config *restrict config, const swa_jit_decode_args *restrict args,
                            swa_params *restrict params)
{
  const sj_pool_shape shape = {args->num_blocks,
                               args->block_size,
                               sj_launch_or_1(args->num_kv_heads),
                               config->kv_format,
                               (long long)config->head_dim << (config->kv_format == SWA_JIT_KV_BF16),
                               0};
  return fill(config, args, params, shape, true);
}

SJ_APART bool fill_any(const swa_jit_config *restrict config, const swa_jit_decode_args *restrict args,
                       swa_params *restrict params)
{
  return fill(config, args, params, sj_launch_window_shape(config, args), false);
}

bool sj_launch_fill_plain(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params_out)
{
  const bool is_one_pool = (config->extra_size | config->head_dim_v) == 0 && config->kv_format <= SWA_JIT_KV_BF16;
  return is_one_pool ? fill_one_pool(config, args, params_out) : fill_any(config, args, params_out);
}

/* ---- what the usual way leaves ----------------------------------------------------------------------------- */

/* What it has found right. */
SJ_INLINE unsigned take_usual(const sj_launch_constants *constants, const swa_jit_decode_args *args,
                              const swa_params *params, uint64_t out_bytes, extent *all)
{
  const swa_scope *window = &params->window;
  const uint64_t q_token = sj_usual_token(args, (uint64_t)params->q_head_stride, constants->head_dim);
  const uint64_t slot_stride = (uint64_t)window->pool.slot_stride_bytes;
  const uint64_t packed_block = sj_usual_packed_block(args, constants, slot_stride);
  const uint64_t block = sj_usual_block_bytes(constants, packed_block, slot_stride);
  const uint64_t block_stride = (uint64_t)window->pool.block_stride_bytes;
  const uint64_t indices_stride = (uint64_t)window->indices_token_stride;
  unsigned num = take(all, 0, args->out, out_bytes);
  num = take(all, num, args->q, sj_usual_rows_bytes(args, (uint64_t)params->q_token_stride, q_token));
  num = take(all, num, args->kv, sj_usual_pool_bytes(args, block_stride, block));
  num = take(all, num, args->indices, sj_usual_indices_bytes(args, constants, indices_stride));
  num = take(all, num, args->lens, sj_usual_lens_bytes(args, constants));
  if (constants->scale_bytes != 0) {
    num = take(all, num, args->inv_scale, sj_usual_scales_bytes(args, constants));
  }
  return args->sinks != NULL ? take(all, num, args->sinks, args->num_heads * sizeof(float)) : num;
}

bool sj_launch_fill_rest(const sj_launch_constants *constants, const swa_jit_config *config,
                         const swa_jit_decode_args *args, swa_params *params)
{
  const uint64_t out_token = sj_usual_token(args, (uint64_t)params->out_head_stride, constants->head_dim);
  const uint64_t out_bytes = sj_usual_rows_bytes(args, (uint64_t)params->out_token_stride, out_token);
  extent all[MAX_EXTENTS];
  sj_fill_options(args, params);
  params->num_splits = sj_launch_or_1(args->num_splits);
  if (SJ_UNLIKELY(has_options(args)) && !are_options(config, args)) {
    return false;
  }
  if (args->sinks != NULL
      && (take_sinks(config, args, all, 0) == NOT_PLAIN
          || sj_usual_overlap(args->out, out_bytes - 1, (uintptr_t)args->sinks, args->num_heads * sizeof(float))
                 != 0)) {
    return false;
  }
  if (args->lse == NULL && config->splits == 0) {
    return true;
  }
  const unsigned num = take_usual(constants, args, params, out_bytes, all);
  return take_further_outputs((launch){config, args, params}, all, num) != NOT_PLAIN;
}
