/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a cluster's CTA: all heads and positions, its part of head_dim. Each warp has 16 elements of it. */
#ifndef SWA_CLUSTER_VALUES_CUH
#define SWA_CLUSTER_VALUES_CUH

#include "../heads.cuh"
#include "../ptx/convert.cuh"
#include "../ptx/mma_sync.cuh"
#include "smem.cuh"

namespace swa::cluster
{
/* A thread's rows, g and g + 8, over all units. */
struct row_totals {
  unsigned factor[2][num_units]; /* of a unit's weights, twice in an f16x2 */
  float subtracted[2];           /* what the row's scores are reduced by */
  float sum[2];
  bool has_position;
};

__device__ __forceinline__ row_totals make_totals(const cta_smem &smem)
{
  row_totals totals;
  unsigned marks = 0;
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    unit_figure figure[num_units];
    float top = minus_infinity();
#pragma unroll
    for (unsigned u = 0; u < num_units; u += 2) {
      ptx::words4 x = ptx::ld_shared_v4(ptx::shared_address(&smem.figure[threadIdx.x % warp_size / 4 + half * 8][u]));
      figure[u] = unit_figure{__uint_as_float(x.w[0]), __uint_as_float(x.w[1])};
      figure[u + 1] = unit_figure{__uint_as_float(x.w[2]), __uint_as_float(x.w[3])};
      marks |= (x.w[1] ^ 0x80000000u) | (x.w[3] ^ 0x80000000u);
      top = fmaxf(top, fmaxf(figure[u].top, figure[u + 1].top));
    }
    float base = top == minus_infinity() ? 0.0f : top;
    totals.subtracted[half] = subtracted_of(top);
    totals.sum[half] = 0.0f;
#pragma unroll
    for (unsigned u = 0; u < num_units; u++) {
      float factor = ptx::ex2(figure[u].top - base);
      totals.sum[half] += figure[u].sum * factor;
      totals.factor[half][u] = ptx::cvt_f16x2(factor, factor);
    }
  }
  totals.has_position = marks != 0;
  return totals;
}

/* Sums of the values of 16 elements: even ones and odd ones. */
struct value_tiles {
  float even[4], odd[4];
};

__device__ __forceinline__ value_tiles make_values(const cta_smem &smem, const row_totals &totals)
{
  value_tiles tiles = {};
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  unsigned columns = ptx::shared_address(smem.columns) + column_layout::unit_offset(lane, warp);
  unsigned weights = ptx::shared_address(&smem.weights[lane % 16][lane / 16 * 8]);
#pragma unroll
  for (unsigned u = 0; u < num_units; u += 2) {
    ptx::words4 codes = ptx::ldmatrix_x4_trans(columns + u * unit_positions * own_dims);
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
      ptx::words4 a = ptx::ldmatrix_x4(weights + (u + i) * unit_positions * 2);
#pragma unroll
      for (unsigned k = 0; k < 4; k++) {
        a.w[k] = ptx::mul_f16x2(a.w[k], totals.factor[k % 2][u + i]);
      }
      unsigned even[2], odd[2];
#pragma unroll
      for (unsigned k = 0; k < 2; k++) {
        v_format::widen_v(ptx::prmt<0x3120>(codes.w[2 * i + k]), even[k], odd[k]);
      }
      ptx::mma_m16n8k16_f16(tiles.even, a.w[0], a.w[1], a.w[2], a.w[3], even[0], even[1]);
      ptx::mma_m16n8k16_f16(tiles.odd, a.w[0], a.w[1], a.w[2], a.w[3], odd[0], odd[1]);
    }
  }
  return tiles;
}

//: if with_lse
/* By the first CTA's first warp, a thread of each quad. */
__device__ __forceinline__ void store_lse(const swa_params &params, const cta_plan &plan, const row_totals &totals)
{
  if (params.lse == nullptr || cta_rank() != 0 || threadIdx.x >= warp_size || threadIdx.x % 4 != 0) {
    return;
  }
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    unsigned head = threadIdx.x / 4 + half * 8;
    if (head < plan.num_heads) {
      float lse = (totals.subtracted[half] + ptx::lg2(totals.sum[half])) * ln_2;
      //: if with_sinks
      if ((params.lse_form & lse_with_sink) != 0 && params.sinks != nullptr) {
        lse = add_sink(lse, params.sinks[plan.first_head + head]);
      }
      //: end
      write_lse(params, plan, head, lse);
    }
  }
}
//: end

__device__ __forceinline__ void store_values(const swa_params &params, const cta_plan &plan, const row_totals &totals,
                                             const float (&sink)[2], const value_tiles &tiles)
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    float divisor = totals.sum[half];
    //: if with_sinks
    divisor += ptx::ex2(sink[half] - totals.subtracted[half]);
    //: end
    float factor = ptx::rcp(divisor);
    unsigned head = lane / 4 + half * 8;
    if (head < plan.num_heads) {
      char *out = out_row(params, plan, head) + 2 * (cta_rank() * own_dims + warp * warp_dims + lane % 4 * 4);
      ptx::st_global_v2(out, ptx::cvt_bf16x2(tiles.even[2 * half] * factor, tiles.odd[2 * half] * factor),
                        ptx::cvt_bf16x2(tiles.even[2 * half + 1] * factor, tiles.odd[2 * half + 1] * factor));
    }
  }
}
} // namespace swa::cluster

#endif
