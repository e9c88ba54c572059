/* SPDX-License-Identifier: Apache-2.0 */
/* What every kernel does with its heads apart from their products: sinks, LSE, tokens without a position. */
#ifndef SWA_HEADS_CUH
#define SWA_HEADS_CUH

#include "column.cuh"
#include "plan.cuh"
#include "ptx/load_store.cuh"

namespace swa
{
//: if with_sinks
/* A head's sink in units of log2; none: -infinity. */
__device__ __forceinline__ float load_sink(const swa_params &params, const cta_plan &plan, unsigned head)
{
  return params.sinks == nullptr || head >= plan.num_heads ? minus_infinity()
                                                           : params.sinks[plan.first_head + head] * log2_e;
}
//: end

//: if with_lse
constexpr unsigned lse_base_2 = 1, lse_with_sink = 2, lse_empty_plus_infinity = 4; /* as in swa_jit.h */

/* lse: in natural units. */
__device__ __forceinline__ void write_lse(const swa_params &params, const cta_plan &plan, unsigned head, float lse)
{
  params.lse[plan.token * params.lse_token_stride + (plan.first_head + head) * params.lse_head_stride] =
      (params.lse_form & lse_base_2) != 0 ? lse * log2_e : lse;
}

//: if with_sinks
/* ln of e^lse + e^sink, without an overflow on the way. */
__device__ __forceinline__ float add_sink(float lse, float sink)
{
  float larger = fmaxf(lse, sink), less = (fminf(lse, sink) - larger) * log2_e;
  float rest = lse == sink ? ln_2 : ptx::lg2(1.0f + ptx::ex2(less)) * ln_2; /* no infinity less itself */
  return lse != lse || sink != sink ? lse + sink : larger + rest;
}
//: end

/* Of a token with no position. */
__device__ __forceinline__ void store_empty_lse(const swa_params &params, const cta_plan &plan, unsigned first_head,
                                                unsigned num_heads)
{
  unsigned head = first_head + threadIdx.x;
  if (params.lse != nullptr && threadIdx.x < num_heads) {
    float lse = (params.lse_form & lse_empty_plus_infinity) != 0 ? -minus_infinity() : minus_infinity();
    write_lse(params, plan, head, lse);
  }
}
//: end

/* A token with no position: out is 0. num_heads of this CTA's heads, from first_head on. */
__device__ __forceinline__ void store_empty(const swa_params &params, const cta_plan &plan, unsigned first_head,
                                            unsigned num_heads)
{
  constexpr unsigned units = head_dim_v * 2 / 16;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < num_heads * units; i += num_threads) {
    ptx::st_global_v4(out_row(params, plan, first_head + i / units) + i % units * 16, ptx::words4{});
  }
  //: if with_lse
  store_empty_lse(params, plan, first_head, num_heads);
  //: end
}
} // namespace swa

#endif
