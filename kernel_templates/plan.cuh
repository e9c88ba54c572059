/* SPDX-License-Identifier: Apache-2.0 */
/* Plan: which token and heads this CTA has, how many positions, and where a slot's row lies. */
#ifndef SWA_PLAN_CUH
#define SWA_PLAN_CUH

#include "ptx/load_store.cuh"
#include "swa_config.cuh"

namespace swa
{
struct cta_plan {
  unsigned token;
  unsigned first_head;
  unsigned num_heads; /* of this CTA: head_group, less at the end of num_heads */
  unsigned len;       /* positions, 0 to window_size */
};

__device__ __forceinline__ cta_plan make_plan(const swa_params &params)
{
  cta_plan plan;
  plan.token = blockIdx.x;
  plan.first_head = blockIdx.y * head_group;
  plan.num_heads = min(head_group, params.num_heads - plan.first_head);
  lens_type len = static_cast<const lens_type *>(params.window.lens)[plan.token];
  plan.len = len <= 0 ? 0 : len >= static_cast<lens_type>(window_size) ? window_size : static_cast<unsigned>(len);
  return plan;
}

/* Brings the token's row of indices, a line of it a thread, towards the SM while lens is on its way. A prefetch reads
 * nothing: what lies past len has no effect. */
__device__ __forceinline__ void prefetch_indices(const swa_params &params, unsigned token)
{
  constexpr unsigned line_elems = 128 / sizeof(index_type), lines = window_size / line_elems + 1;
  const index_type *row =
      static_cast<const index_type *>(params.window.pool.indices) + token * params.window.indices_token_stride;
  if (threadIdx.x < lines) {
    ptx::prefetch_global_l2(row + min(threadIdx.x * line_elems, window_size - 1));
  }
}

constexpr unsigned masked_slot = 0xffffffffu;

/* The index of a position, -1 at or past len, which is not read. What is made of it comes later, so that other loads
 * can be on their way too. */
__device__ __forceinline__ index_type load_index(const swa_params &params, const cta_plan &plan, unsigned position)
{
  const index_type *row =
      static_cast<const index_type *>(params.window.pool.indices) + plan.token * params.window.indices_token_stride;
  return position < plan.len ? row[position] : -1;
}

__device__ __forceinline__ unsigned slot_of(const swa_params &params, index_type index)
{
  return index < 0 || index >= static_cast<index_type>(params.window.num_slots) ? masked_slot
                                                                                : static_cast<unsigned>(index);
}

/* Where an unmasked slot's row begins, in bytes from kv. */
__device__ __forceinline__ long long slot_offset(const swa_params &params, unsigned slot)
{
  unsigned block = slot / params.window.block_size;
  unsigned slot_in_block = slot - block * params.window.block_size;
  return block * params.window.pool.block_stride_bytes + slot_in_block * params.window.pool.slot_stride_bytes;
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
