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
  /* worked out ahead */
  unsigned window_reciprocal;       /* see block_of */
  const index_type *window_indices; /* the token's row, or null: see window_indices() */
};

/* lens: null where a scope is always full. */
template <unsigned size>
__device__ __forceinline__ unsigned load_len(const void *lens, unsigned token)
{
  lens_type len = static_cast<const lens_type *>(lens)[token];
  return len <= 0 ? 0 : len >= static_cast<lens_type>(size) ? size : static_cast<unsigned>(len);
}

__device__ __forceinline__ const index_type *index_row(const swa_scope &scope, const swa_pool &pool, unsigned token)
{
  return static_cast<const index_type *>(pool.indices) + token * scope.indices_token_stride;
}

/* Rows wait for len, then for an index, then for their own addresses. Few heads work out what these take while len is
 * on its way; the compiler by itself would do it behind. In clusters an index's address is faster where it is used. */
constexpr bool plans_ahead = exact_softmax && pass_rows == mma_m;

__device__ __forceinline__ const index_type *index_row_ahead(const swa_params &params, unsigned token)
{
  const index_type *row = index_row(params.window, params.window.pool, token);
  if constexpr (plans_ahead && cluster_ctas == 1) {
    unsigned long long address = __cvta_generic_to_global(row);
    asm volatile("mov.u64 %0, %0;" : "+l"(address));
    row = static_cast<const index_type *>(__cvta_global_to_generic(address));
  }
  return plans_ahead ? row : nullptr;
}

/* The token's row. */
__device__ __forceinline__ const index_type *window_indices(const swa_params &params, const cta_plan &plan)
{
  return plans_ahead ? plan.window_indices : index_row(params.window, params.window.pool, plan.token);
}

/* The longer half of a slot's division by block_size. */
__device__ __forceinline__ unsigned reciprocal_ahead(unsigned block_size)
{
  unsigned reciprocal = 0;
  if constexpr (plans_ahead) {
    asm volatile("div.u32 %0, %1, %2;" : "=r"(reciprocal) : "r"(0xffffffffu), "r"(block_size));
  }
  return reciprocal;
}

/* reciprocal * block_size lies between 2^32 - 1 - block_size and 2^32 - 1, so for a slot below 2^31 the estimate is
 * right or one too small. */
__device__ __forceinline__ unsigned block_of(unsigned slot, unsigned block_size, unsigned reciprocal)
{
  if constexpr (!plans_ahead) {
    return slot / block_size;
  }
  unsigned block = __umulhi(slot, reciprocal);
  return slot - block * block_size < block_size ? block : block + 1;
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
  plan.window_indices = index_row_ahead(params, plan.token);
  plan.window_reciprocal = reciprocal_ahead(params.window.block_size);
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
  const index_type *row = index_row(scope, scope.pool, token);
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
__device__ __forceinline__ index_type load_index(const index_type *row, unsigned len, unsigned position)
{
  return position < len ? row[position] : -1;
}

__device__ __forceinline__ unsigned slot_of(const swa_scope &scope, index_type index)
{
  return index < 0 || index >= static_cast<index_type>(scope.num_slots) ? masked_slot : static_cast<unsigned>(index);
}

/* Of an unmasked slot: where its row begins, and what its scales are found by. */
__device__ __forceinline__ const char *place_row(const swa_params &params, const swa_scope &scope, const swa_pool &pool,
                                                 const cta_plan &plan, unsigned slot, kv::row_place &at)
{
  unsigned block = block_of(slot, scope.block_size, plan.window_reciprocal); /* the window's, if it is one */
  at.block_size = scope.block_size;
  at.slot_in_block = slot - block * scope.block_size;
  at.block = static_cast<const char *>(pool.kv) + block * pool.block_stride_bytes;
  at.scale_index = static_cast<long long>(slot) * params.num_kv_heads + plan.kv_head;
  return at.block + at.slot_in_block * pool.slot_stride_bytes + plan.kv_head * pool.kv_head_stride_bytes;
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
