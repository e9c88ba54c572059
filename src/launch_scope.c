/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_scope.h"

/* A pool's arguments by name. */
typedef struct pool_names {
  const char *kv, *block_stride, *slot_stride, *head_stride, *inv_scale, *indices;
} pool_names;

static const pool_names window_names = {
    "kv", "block_stride_bytes", "slot_stride_bytes", "kv_head_stride_bytes", "inv_scale", "indices"};
static const pool_names v_names = {
    "v", "v_block_stride_bytes", "v_slot_stride_bytes", "v_head_stride_bytes", "v_inv_scale", "v_indices"};
static const pool_names extra_names = {"extra_kv",
                                       "extra_block_stride_bytes",
                                       "extra_slot_stride_bytes",
                                       "", /* one KV head: no such stride */
                                       "extra_inv_scale",
                                       "extra_indices"};

static swa_jit_status check_scales(sj_launch_call *call, const pool_names *names, const sj_pool_shape *shape,
                                   const swa_pool *pool)
{
  if (shape->format != SWA_JIT_KV_E4M3_SLOT) {
    return SWA_JIT_OK;
  }
  const unsigned scale_bytes = sj_launch_scale_bytes(call->config);
  long long num_scales = (long long)shape->num_blocks * shape->block_size * shape->num_kv_heads;
  sj_launch_note_input(call, names->inv_scale, pool->inv_scale, num_scales * scale_bytes);
  return sj_tensor_check_address(names->inv_scale, pool->inv_scale, scale_bytes);
}

static swa_jit_status check_stride(const char *name, long long stride, long long extent, long long minimum)
{
  return sj_tensor_is_stride(stride, SJ_ROW_ALIGNMENT, extent, minimum)
             ? SWA_JIT_OK
             : sj_tensor_fail_stride(name, stride, SJ_ROW_ALIGNMENT, SJ_ROW_ALIGNMENT, minimum);
}

/* *slot_bytes_out: from the first KV head's row to the end of the last one's. */
static swa_jit_status check_slots(const pool_names *names, const sj_pool_shape *shape, const swa_pool *pool,
                                  long long *slot_bytes_out)
{
  swa_jit_status status =
      check_stride(names->slot_stride, pool->slot_stride_bytes, shape->block_size, shape->row_bytes);
  *slot_bytes_out = shape->row_bytes;
  if (status == SWA_JIT_OK && shape->num_kv_heads > 1
      && !sj_tensor_find_reach(shape->num_kv_heads, pool->kv_head_stride_bytes, 1, 0, shape->row_bytes, 1,
                               slot_bytes_out)) {
    return sj_tensor_fail_reach(names->head_stride, pool->kv_head_stride_bytes, shape->num_kv_heads, NULL, 0, 1);
  }
  return status;
}

/* *block_bytes_out: of the block, which is of one piece. */
static swa_jit_status check_footer(const pool_names *names, const sj_pool_shape *shape, const swa_pool *pool,
                                   long long *block_bytes_out)
{
  const long long bytes = shape->block_size * (shape->row_bytes + shape->footer_bytes);
  if (pool->slot_stride_bytes != shape->row_bytes) {
    return sj_fail(SWA_JIT_INVALID,
                   "%s is %lld: a footer block's data rows of %lld bytes lie side by side, and its scale rows behind "
                   "them; pass 0",
                   names->slot_stride, pool->slot_stride_bytes, shape->row_bytes);
  }
  if (pool->block_stride_bytes == bytes && bytes % SJ_ROW_ALIGNMENT != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "%s is %lld, that of packed blocks of %u slots: it must be a multiple of %d; pad the blocks, and "
                   "pass their stride",
                   names->block_stride, bytes, shape->block_size, SJ_ROW_ALIGNMENT);
  }
  *block_bytes_out = bytes;
  return SWA_JIT_OK;
}

/* A block is num_parts parts of part_bytes: its slots, or a footer block's one piece. */
static swa_jit_status check_blocks(sj_launch_call *call, const pool_names *names, const sj_pool_shape *shape,
                                   const swa_pool *pool, long long num_parts, long long part_bytes)
{
  const long long num_blocks = (long long)shape->num_blocks;
  long long bytes;
  if (!sj_tensor_find_reach(num_blocks, pool->block_stride_bytes, num_parts, pool->slot_stride_bytes, part_bytes, 1,
                            &bytes)) {
    return sj_tensor_fail_reach(names->block_stride, pool->block_stride_bytes, num_blocks, names->slot_stride,
                                pool->slot_stride_bytes, num_parts);
  }
  sj_launch_note_input(call, names->kv, pool->kv, bytes);
  return check_stride(names->block_stride, pool->block_stride_bytes, num_blocks,
                      (num_parts - 1) * pool->slot_stride_bytes + part_bytes);
}

static swa_jit_status check_pool(sj_launch_call *call, const pool_names *names, const sj_pool_shape *shape,
                                 const swa_pool *pool)
{
  const bool is_footer = shape->footer_bytes != 0;
  long long part_bytes = 0;
  if (shape->num_blocks == 0) {
    return SWA_JIT_OK; /* no slot exists: nothing of the pool is read */
  }
  swa_jit_status status = sj_tensor_check_address(names->kv, pool->kv, SJ_ROW_ALIGNMENT);
  if (status == SWA_JIT_OK) {
    status = check_scales(call, names, shape, pool);
  }
  if (status == SWA_JIT_OK) {
    status = check_stride(names->head_stride, pool->kv_head_stride_bytes, shape->num_kv_heads, shape->row_bytes);
  }
  if (status == SWA_JIT_OK) {
    status = is_footer ? check_footer(names, shape, pool, &part_bytes) : check_slots(names, shape, pool, &part_bytes);
  }
  return status == SWA_JIT_OK ? check_blocks(call, names, shape, pool, is_footer ? 1 : shape->block_size, part_bytes)
                              : status;
}

/* ---- scopes ------------------------------------------------------------------------------------------------ */

static swa_jit_status check_indices(sj_launch_call *call, const char *name, const void *indices,
                                    const char *stride_name, long long stride, uint32_t scope_size)
{
  const unsigned index_bytes = sj_launch_int_bytes(call->config->index_type);
  const long long num_tokens = call->args->num_tokens;
  long long bytes;
  swa_jit_status status = sj_tensor_check_address(name, indices, index_bytes);
  if (status == SWA_JIT_OK && !sj_tensor_is_stride(stride, 1, num_tokens, 1)) {
    return sj_tensor_fail_stride(stride_name, stride, 1, index_bytes, 1);
  }
  if (status == SWA_JIT_OK && !sj_tensor_find_reach(num_tokens, stride, 1, 0, scope_size, index_bytes, &bytes)) {
    return sj_tensor_fail_reach(stride_name, stride, num_tokens, NULL, 0, 1);
  }
  if (status == SWA_JIT_OK) { /* how much of the last row is read, and so has to be there, only lens tells */
    sj_launch_note_input(call, name, indices, (num_tokens - 1) * stride * index_bytes);
  }
  return status;
}

static swa_jit_status check_lens(sj_launch_call *call, const char *name, const void *lens)
{
  unsigned lens_bytes = sj_launch_int_bytes(call->config->lens_type);
  sj_launch_note_input(call, name, lens, (long long)call->args->num_tokens * lens_bytes);
  return sj_tensor_check_address(name, lens, lens_bytes);
}

swa_jit_status sj_launch_check_window(sj_launch_call *call)
{
  const swa_scope *scope = &call->params->window;
  const sj_pool_shape shape = sj_launch_window_shape(call->config, call->args);
  swa_jit_status status = check_pool(call, &window_names, &shape, &scope->pool);
  if (status == SWA_JIT_OK) {
    status = check_indices(call, window_names.indices, scope->pool.indices, "indices_token_stride",
                           scope->indices_token_stride, call->config->window_size);
  }
  return status == SWA_JIT_OK ? check_lens(call, "lens", scope->lens) : status;
}

swa_jit_status sj_launch_check_v(sj_launch_call *call)
{
  const swa_pool *pool = &call->params->v;
  const sj_pool_shape shape = sj_launch_v_shape(call->config, call->args);
  swa_jit_status status = check_pool(call, &v_names, &shape, pool);
  if (status == SWA_JIT_OK && call->args->v_indices != NULL) {
    status = check_indices(call, v_names.indices, pool->indices, "indices_token_stride",
                           call->params->window.indices_token_stride, call->config->window_size);
  }
  return status;
}

swa_jit_status sj_launch_check_extra(sj_launch_call *call)
{
  const swa_scope *scope = &call->params->extra;
  const sj_pool_shape shape = sj_launch_extra_shape(call->config, call->args);
  swa_jit_status status = check_pool(call, &extra_names, &shape, &scope->pool);
  if (status == SWA_JIT_OK) {
    status = check_indices(call, extra_names.indices, scope->pool.indices, "extra_indices_token_stride",
                           scope->indices_token_stride, call->config->extra_size);
  }
  return status == SWA_JIT_OK && scope->lens != NULL ? check_lens(call, "extra_lens", scope->lens) : status;
}
