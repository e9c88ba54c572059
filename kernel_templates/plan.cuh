/* SPDX-License-Identifier: Apache-2.0 */
/* Plan: which token and heads this CTA has, how many positions of each scope, and where a slot's row lies. */
#ifndef SWA_PLAN_CUH
#define SWA_PLAN_CUH

#include "kv/format.cuh"
#include "ptx/load_store.cuh"
#include "swa_config.cuh"

namespace swa
{
struct cta_plan {
  unsigned token;
  unsigned kv_head;
  unsigned first_head;
  unsigned num_heads; /* of this CTA: head_group, less at the end of a KV head's heads */
  unsigned len;       /* positions of the window, 0 to window_size */
  unsigned extra_len; /* of the extra scope, 0 to extra_size */
  unsigned split;     /* of the CTAs that share the token's tiles */
};

/* lens: null where a scope is always full. */
template <unsigned size>
__device__ __forceinline__ unsigned load_len(const void *lens, unsigned token)
{
  lens_type len = static_cast<const lens_type *>(lens)[token];
  return len <= 0 ? 0 : len >= static_cast<lens_type>(size) ? size : static_cast<unsigned>(len);
}

/* A cluster's CTAs are side by side, with one token. */
__device__ __forceinline__ unsigned cta_token()
{
  return blockIdx.x / cluster_ctas;
}

__device__ __forceinline__ cta_plan make_plan(const swa_params &params)
{
  cta_plan plan;
  plan.token = cta_token();
  plan.kv_head = blockIdx.z;
  plan.split = 0;
  //: if with_splits
  plan.kv_head = blockIdx.z / params.num_splits;
  plan.split = blockIdx.z - plan.kv_head * params.num_splits;
  //: end
  plan.first_head = plan.kv_head * params.kv_head_heads + blockIdx.y * head_group;
  plan.num_heads = min(head_group, params.kv_head_heads - blockIdx.y * head_group);
  plan.len = load_len<window_size>(params.window.lens, plan.token);
  plan.extra_len = 0;
  //: if with_extra
  plan.extra_len = params.extra.lens == nullptr ? extra_size : load_len<extra_size>(params.extra.lens, plan.token);
  //: end
  return plan;
}

template <unsigned size>
__device__ __forceinline__ void prefetch_index_row(const swa_scope &scope, unsigned token)
{
  constexpr unsigned line_elems = 128 / sizeof(index_type), lines = size / line_elems + 1;
  const index_type *row = static_cast<const index_type *>(scope.pool.indices) + token * scope.indices_token_stride;
  if (threadIdx.x < lines) {
    ptx::prefetch_global_l2(row + min(threadIdx.x * line_elems, size - 1));
  }
}

/* Brings the token's row of indices, a line of it a thread, towards the SM while lens is on its way. A prefetch reads
 * nothing: what lies past len has no effect. */
__device__ __forceinline__ void prefetch_indices(const swa_params &params, unsigned token)
{
  prefetch_index_row<window_size>(params.window, token);
  //: if with_extra
  prefetch_index_row<extra_size>(params.extra, token);
  //: end
}

constexpr unsigned masked_slot = 0xffffffffu;

/* The index of a position, -1 at or past len, which is not read. What is made of it comes later, so that other loads
 * can be on their way too. */
__device__ __forceinline__ index_type load_index(const swa_scope &scope, const swa_pool &pool, unsigned token,
                                                 unsigned len, unsigned position)
{
  const index_type *row = static_cast<const index_type *>(pool.indices) + token * scope.indices_token_stride;
  return position < len ? row[position] : -1;
}

__device__ __forceinline__ unsigned slot_of(const swa_scope &scope, index_type index)
{
  return index < 0 || index >= static_cast<index_type>(scope.num_slots) ? masked_slot : static_cast<unsigned>(index);
}

/* Of an unmasked slot: where its row begins, and what its scales are found by. */
__device__ __forceinline__ const char *place_row(const swa_params &params, const swa_scope &scope, const swa_pool &pool,
                                                 unsigned kv_head, unsigned slot, kv::row_place &at)
{
  unsigned block = slot / scope.block_size;
  at.block_size = scope.block_size;
  at.slot_in_block = slot - block * scope.block_size;
  at.block = static_cast<const char *>(pool.kv) + block * pool.block_stride_bytes;
  at.scale_index = static_cast<long long>(slot) * params.num_kv_heads + kv_head;
  return at.block + at.slot_in_block * pool.slot_stride_bytes + kv_head * pool.kv_head_stride_bytes;
}

__device__ __forceinline__ const char *q_row(const swa_params &params, const cta_plan &plan, unsigned head)
{
  return static_cast<const char *>(params.q)
         + 2 * (plan.token * params.q_token_stride + (plan.first_head + head) * params.q_head_stride);
}

__device__ __forceinline__ char *out_row(const swa_params &params, const cta_plan &plan, unsigned head)
{
  return static_cast<char *>(params.out)
         + 2 * (plan.token * params.out_token_stride + (plan.first_head + head) * params.out_head_stride);
}
} // namespace swa

#endif
