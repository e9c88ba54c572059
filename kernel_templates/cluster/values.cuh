/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a cluster's CTA: all heads and positions, its part of head_dim. Each warp has 16 elements of it. */
#ifndef SWA_CLUSTER_VALUES_CUH
#define SWA_CLUSTER_VALUES_CUH

#include "../heads.cuh"
#include "../ptx/convert.cuh"
#include "../ptx/mma_sync.cuh"
#include "groups.cuh"
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

/* Sums of the values of 16 elements: of codes even ones and odd ones, of a tail the first 8 and the next. */
struct value_tiles {
  float of[2][4];
};

__device__ __forceinline__ ptx::words4 load_weights(const cta_smem &smem, const row_totals &totals, unsigned unit)
{
  unsigned lane = threadIdx.x % warp_size;
  ptx::words4 a =
      ptx::ldmatrix_x4(ptx::shared_address(&smem.weights[lane % 16][lane / 16 * 8]) + unit * unit_positions * 2);
#pragma unroll
  for (unsigned k = 0; k < 4; k++) {
    a.w[k] = ptx::mul_f16x2(a.w[k], totals.factor[k % 2][unit]);
  }
  return a;
}

//: if with_groups
/* Of the warp's group and a thread's positions of a unit: 2 q, 2 q + 1, and those 8 on. */
struct position_factors {
  unsigned of[2];
};

__device__ __forceinline__ position_factors load_factors(const cta_smem &smem, unsigned unit)
{
  unsigned group = threadIdx.x / warp_size * warp_dims / group_dims;
  const unsigned *pairs =
      reinterpret_cast<const unsigned *>(&smem.factor[group][unit * unit_positions + threadIdx.x % 4 * 2]);
  return position_factors{pairs[0], pairs[4]};
}
//: end

__device__ __forceinline__ value_tiles make_values(const cta_smem &smem, const row_totals &totals)
{
  value_tiles tiles = {};
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  unsigned columns = ptx::shared_address(smem.columns) + column_layout::unit_offset(lane, warp);
#pragma unroll
  for (unsigned u = 0; u < num_units; u += 2) {
    ptx::words4 codes = ptx::ldmatrix_x4_trans(columns + u * unit_positions * column_bytes);
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
      ptx::words4 a = load_weights(smem, totals, u + i);
      unsigned b[2][2];
      //: if with_groups
      position_factors factors = load_factors(smem, u + i);
      //: end
#pragma unroll
      for (unsigned k = 0; k < 2; k++) {
        v_format::widen_v(codes.w[2 * i + k], b[0][k], b[1][k]);
        //: if with_groups
        b[0][k] = ptx::mul_f16x2(b[0][k], factors.of[k]);
        b[1][k] = ptx::mul_f16x2(b[1][k], factors.of[k]);
        //: end
      }
#pragma unroll
      for (unsigned t = 0; t < 2; t++) {
        ptx::mma_m16n8k16_f16(tiles.of[t], a.w[0], a.w[1], a.w[2], a.w[3], b[t][0], b[t][1]);
      }
    }
  }
  return tiles;
}

//: if with_tail
/* Whether the warp's elements are of the tail: those of the last CTA's last warps. */
constexpr unsigned code_warps = (k_format::code_dims - (cluster_ctas - 1) * own_dims) / warp_dims;
__device__ __forceinline__ bool has_tail_columns()
{
  return cta_rank() == cluster_ctas - 1 && threadIdx.x / warp_size >= code_warps;
}

__device__ __forceinline__ value_tiles make_tail_values(const cta_smem &smem, const row_totals &totals)
{
  value_tiles tiles = {};
  unsigned lane = threadIdx.x % warp_size,
           unit_16 = code_warps + (threadIdx.x / warp_size - code_warps) * 2 + lane / 16;
  unsigned columns = ptx::shared_address(smem.columns) + column_layout::unit_offset(lane % 16, unit_16);
#pragma unroll
  for (unsigned u = 0; u < num_units; u++) {
    ptx::words4 x = ptx::ldmatrix_x4_trans(columns + u * unit_positions * column_bytes);
    ptx::words4 a = load_weights(smem, totals, u);
    position_factors factors = load_factors(smem, u);
#pragma unroll
    for (unsigned t = 0; t < 2; t++) {
      ptx::mma_m16n8k16_f16(tiles.of[t], a.w[0], a.w[1], a.w[2], a.w[3], kv::narrow_tail(x.w[2 * t], factors.of[0]),
                            kv::narrow_tail(x.w[2 * t + 1], factors.of[1]));
    }
  }
  return tiles;
}
//: end

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

__device__ __forceinline__ void store_values(const swa_params &params, const cta_plan &plan,
                                             [[maybe_unused]] const cta_smem &smem, const row_totals &totals,
                                             const value_tiles &tiles)
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    float divisor = totals.sum[half];
    //: if with_sinks
    divisor += ptx::ex2(smem.sink[lane / 4 + half * 8] - totals.subtracted[half]);
    //: end
    float factor = ptx::rcp(divisor);
    unsigned head = lane / 4 + half * 8;
    if (head < plan.num_heads) {
      char *out = out_row(params, plan, head) + 2 * (cta_rank() * own_dims + warp * warp_dims);
      const float(&first)[4] = tiles.of[0], (&second)[4] = tiles.of[1];
      //: if with_tail
      if (has_tail_columns()) {
        ptx::st_global_u32(out + lane % 4 * 4, ptx::cvt_bf16x2(first[2 * half] * factor, first[2 * half + 1] * factor));
        ptx::st_global_u32(out + lane % 4 * 4 + 16,
                           ptx::cvt_bf16x2(second[2 * half] * factor, second[2 * half + 1] * factor));
        continue;
      }
      //: end
      ptx::st_global_v2(out + lane % 4 * 8, ptx::cvt_bf16x2(first[2 * half] * factor, second[2 * half] * factor),
                        ptx::cvt_bf16x2(first[2 * half + 1] * factor, second[2 * half + 1] * factor));
    }
  }
}
} // namespace swa::cluster

#endif
