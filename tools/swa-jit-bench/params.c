/* SPDX-License-Identifier: Apache-2.0 */
#include "params.h"

static swa_pool make_pool(const bench_pool *pool, const void *rows, const void *inv_scale, const void *indices)
{
  return (swa_pool){.kv = rows,
                    .inv_scale = inv_scale,
                    .indices = indices,
                    .block_stride_bytes = (long long)pool->block_bytes,
                    .slot_stride_bytes = (long long)pool->num_kv_heads * pool->row_bytes,
                    .kv_head_stride_bytes = pool->row_bytes,
                    .scale = 1.0f};
}

void bench_params_make(const bench_tensors *tensors, const swa_jit_decode_args *args, uint32_t head_group,
                       swa_params *params_out)
{
  const bench_pool *k = &tensors->k;
  uint32_t kv_head_heads = args->num_heads / k->num_kv_heads;
  long long row = tensors->head_dim;
  long long out_row = tensors->out_dim;
  *params_out = (swa_params){.q = args->q,
                             .out = args->out,
                             .lse = args->lse,
                             .sinks = args->sinks,
                             .q_token_stride = row * args->num_heads,
                             .q_head_stride = row,
                             .out_token_stride = out_row * args->num_heads,
                             .out_head_stride = out_row,
                             .lse_token_stride = args->lse != NULL ? args->num_heads : 0,
                             .lse_head_stride = args->lse != NULL,
                             .num_splits = 1,
                             .num_tokens = args->num_tokens,
                             .num_heads = args->num_heads,
                             .num_kv_heads = k->num_kv_heads,
                             .kv_head_heads = kv_head_heads,
                             .kv_head_groups = (kv_head_heads + head_group - 1) / head_group,
                             .scale = args->scale,
                             .soft_cap = args->soft_cap};
  params_out->window = (swa_scope){.pool = make_pool(k, args->kv, args->inv_scale, args->indices),
                                   .lens = args->lens,
                                   .indices_token_stride = tensors->window_size,
                                   .block_size = k->block_size,
                                   .num_slots = k->num_slots};
  if (tensors->v.num_slots != 0) {
    params_out->v = make_pool(&tensors->v, args->v, args->v_inv_scale, args->indices);
  }
  if (tensors->extra.num_slots != 0) {
    params_out->extra =
        (swa_scope){.pool = make_pool(&tensors->extra, args->extra_kv, args->extra_inv_scale, args->extra_indices),
                    .indices_token_stride = tensors->extra_size,
                    .block_size = tensors->extra.block_size,
                    .num_slots = tensors->extra.num_slots};
  }
}
