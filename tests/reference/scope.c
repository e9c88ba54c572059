/* SPDX-License-Identifier: Apache-2.0 */
#include "scope.h"

#include "kv_formats.h"
#include "reference.h"

static int64_t read_integer(const void *values, uint32_t type, int64_t at)
{
  return type == SWA_JIT_INT64 ? ((const int64_t *)values)[at] : ((const int32_t *)values)[at];
}

static int64_t stride_or(int64_t stride, int64_t usual)
{
  return stride != 0 ? stride : usual;
}

/* Replaces strides of 0: heads within slots within blocks, all packed; a footer block has its scale rows too. */
static void resolve_strides(sj_reference_pool *pool)
{
  int64_t row_bytes = sj_reference_row_bytes(pool->kv_format, pool->head_dim);
  pool->head_stride_bytes = stride_or(pool->head_stride_bytes, row_bytes);
  pool->slot_stride_bytes = stride_or(pool->slot_stride_bytes, pool->num_kv_heads * row_bytes);
  int64_t packed = sj_reference_find_footer(pool->kv_format) != NULL
                       ? (int64_t)sj_reference_block_bytes(pool->kv_format, pool->head_dim, pool->block_size)
                       : pool->block_size * pool->slot_stride_bytes;
  pool->block_stride_bytes = stride_or(pool->block_stride_bytes, packed);
}

static sj_reference_pool window_v(const swa_jit_config *config, const swa_jit_decode_args *args,
                                  const sj_reference_pool *k)
{
  sj_reference_pool v = *k;
  v.head_dim = config->head_dim_v;
  v.rows = args->v;
  v.block_stride_bytes = args->v_block_stride_bytes;
  v.slot_stride_bytes = args->v_slot_stride_bytes;
  v.head_stride_bytes = args->v_head_stride_bytes;
  v.inv_scale = args->v_inv_scale;
  v.scale = (double)args->v_scale;
  v.indices = args->v_indices != NULL ? args->v_indices : args->indices;
  resolve_strides(&v);
  return v;
}

sj_reference_scope sj_reference_window(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  sj_reference_scope scope = {
      .k = {.kv_format = config->kv_format,
            .head_dim = config->head_dim,
            .num_kv_heads = args->num_kv_heads != 0 ? args->num_kv_heads : 1,
            .block_size = args->block_size,
            .rows = args->kv,
            .block_stride_bytes = args->block_stride_bytes,
            .slot_stride_bytes = args->slot_stride_bytes,
            .head_stride_bytes = args->kv_head_stride_bytes,
            .inv_scale = args->inv_scale,
            .scale_type = config->scale_type,
            .scale = (double)args->kv_scale,
            .indices = args->indices},
      .has_v = config->head_dim_v != 0,
      .size = config->window_size,
      .index_type = config->index_type,
      .lens_type = config->lens_type,
      .indices_token_stride = stride_or(args->indices_token_stride, config->window_size),
      .lens = args->lens,
      .num_slots = (int64_t)(args->num_blocks * args->block_size),
  };
  resolve_strides(&scope.k);
  scope.v = scope.has_v ? window_v(config, args, &scope.k) : scope.k;
  return scope;
}

sj_reference_scope sj_reference_extra(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  sj_reference_scope scope = {
      .k = {.kv_format = config->extra_format,
            .head_dim = config->head_dim,
            .num_kv_heads = 1,
            .block_size = args->extra_block_size,
            .rows = args->extra_kv,
            .block_stride_bytes = args->extra_block_stride_bytes,
            .slot_stride_bytes = args->extra_slot_stride_bytes,
            .inv_scale = args->extra_inv_scale,
            .scale_type = config->scale_type,
            .scale = (double)args->extra_scale,
            .indices = args->extra_indices},
      .size = config->extra_size,
      .index_type = config->index_type,
      .lens_type = config->lens_type,
      .indices_token_stride = stride_or(args->extra_indices_token_stride, config->extra_size),
      .lens = args->extra_lens,
      .num_slots = (int64_t)(args->extra_num_blocks * args->extra_block_size),
  };
  resolve_strides(&scope.k);
  scope.v = scope.k;
  return scope;
}

uint32_t sj_reference_scope_len(const sj_reference_scope *scope, uint32_t token)
{
  if (scope->size == 0 || scope->lens == NULL) {
    return scope->size;
  }
  int64_t len = read_integer(scope->lens, scope->lens_type, token);
  if (len < 0) {
    return 0;
  }
  return len > scope->size ? scope->size : (uint32_t)len;
}

bool sj_reference_position(const sj_reference_scope *scope, uint32_t token, uint32_t position, int64_t *k_slot_out,
                           int64_t *v_slot_out)
{
  if (position >= sj_reference_scope_len(scope, token)) {
    return false;
  }
  int64_t at = (int64_t)token * scope->indices_token_stride + position;
  int64_t k_slot = read_integer(scope->k.indices, scope->index_type, at);
  int64_t v_slot = scope->has_v ? read_integer(scope->v.indices, scope->index_type, at) : k_slot;
  if (k_slot < 0 || k_slot >= scope->num_slots || v_slot < 0 || v_slot >= scope->num_slots) {
    return false;
  }
  *k_slot_out = k_slot;
  *v_slot_out = v_slot;
  return true;
}

static double read_inv_scale(const sj_reference_pool *pool, int64_t at)
{
  if (pool->scale_type == SWA_JIT_BFLOAT16) {
    return sj_reference_bf16(((const uint16_t *)pool->inv_scale)[at]);
  }
  return (double)((const float *)pool->inv_scale)[at];
}

double sj_reference_pool_row(const sj_reference_pool *pool, int64_t slot, uint32_t kv_head, double *row)
{
  const uint8_t *block =
      pool->rows + slot / pool->block_size * pool->block_stride_bytes + kv_head * pool->head_stride_bytes;
  sj_reference_read_row(pool->kv_format, block, pool->block_size, (uint32_t)(slot % pool->block_size),
                        pool->slot_stride_bytes, pool->head_dim, 1.0, row);
  if (pool->kv_format == SWA_JIT_KV_E4M3_SLOT) {
    return read_inv_scale(pool, slot * pool->num_kv_heads + kv_head);
  }
  return pool->kv_format == SWA_JIT_KV_E4M3 ? pool->scale : 1.0;
}
