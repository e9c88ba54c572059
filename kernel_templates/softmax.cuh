/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax over the scores that the warps hold in registers (fragment layout of ptx/mma_sync.cuh): raw products
 * become weights in shared memory, and what each row subtracts and sums up is kept. Scores are in units of log2, so
 * that exp is ex2. What a weight is: column.cuh.
 */
#ifndef SWA_SOFTMAX_CUH
#define SWA_SOFTMAX_CUH

#include "column.cuh"
#include "ptx/convert.cuh"
#include "ptx/load_store.cuh"
#include "smem_plan.cuh"

namespace swa
{
struct score_tiles {
  float s[score_m_tiles][score_n_tiles][4];
};

/* Of the rows g and g + 8 of each of a warp's head tiles: the top is identical across the row's threads, the sum is
 * each thread's part. */
struct row_state {
  float top[score_m_tiles][2];
  float sum[score_m_tiles][2];
};

__device__ __forceinline__ void init_rows(row_state &state)
{
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      state.top[m][half] = minus_infinity();
      state.sum[m][half] = 0.0f;
    }
  }
}

struct score_warp {
  unsigned first_row;    /* of the pass's heads */
  unsigned first_column; /* of the span */
  unsigned n;            /* index among the warps that share the rows */
  unsigned g, q;
};

__device__ __forceinline__ score_warp make_score_warp()
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  score_warp w;
  w.first_row = warp / score_warps_n * score_m_tiles * mma_m;
  w.n = warp % score_warps_n;
  w.first_column = w.n * score_n_tiles * mma_n;
  w.g = lane / 4;
  w.q = lane % 4;
  return w;
}

/* Whether the columns of a warp's n-th tile exist: the last warp's share may reach past the span. */
__device__ __forceinline__ bool has_columns(const score_warp &w, unsigned n)
{
  return span_positions % (mma_n * score_warps_n) == 0 || w.first_column + n * mma_n < span_positions;
}

/* Raw products to scores, and each row's top over the warp's columns to shared memory. */
__device__ __forceinline__ void scale_scores(smem_plan &smem, const score_warp &w, unsigned shared_row,
                                             float scale_log2, float factor, [[maybe_unused]] float soft_cap,
                                             score_tiles &tiles)
{
  float top[score_m_tiles][2];
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
    top[m][0] = top[m][1] = minus_infinity();
  }
#pragma unroll
  for (unsigned n = 0; n < score_n_tiles; n++) {
#pragma unroll
    for (unsigned j = 0; j < 2; j++) {
      column_info column = {0.0f, minus_infinity(), 0.0f, 0.0f};
      if (has_columns(w, n)) {
        column = smem.column[shared_row + w.first_column + n * mma_n + 2 * w.q + j];
      }
      float scale = column.scale * factor * scale_log2; /* in this order neither masked nor small scales overflow */
#pragma unroll
      for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
          float s = tiles.s[m][n][2 * half + j];
          //: if with_soft_cap
          s = soft_cap != 0.0f ? cap_score(s * scale, soft_cap) : s * scale;
          //: end
          s = fmaf(s, with_soft_cap ? 1.0f : scale, column.bias);
          tiles.s[m][n][2 * half + j] = s;
          top[m][half] = fmaxf(top[m][half], s + column.log);
        }
      }
    }
  }
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      float x = fmaxf(top[m][half], __shfl_xor_sync(0xffffffffu, top[m][half], 1));
      x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
      if (w.q == 0) {
        smem.figures.of_heads.top[w.first_row + m * mma_m + half * 8 + w.g].of[w.n] = x;
      }
    }
  }
}

/* Largest of what the warps that share a row left in shared memory. */
__device__ __forceinline__ float shared_row_top(const smem_plan &smem, unsigned row)
{
  per_warp each = smem.figures.of_heads.top[row];
  float top = each.of[0];
#pragma unroll
  for (unsigned n = 1; n < score_warps_n; n++) {
    top = fmaxf(top, each.of[n]);
  }
  return top;
}

//: if with_online_softmax
/* Online softmax: brings a row's state to a span's top. */
__device__ __forceinline__ void advance_row(smem_plan &smem, const score_warp &w, unsigned row, float &row_top,
                                            float &row_sum)
{
  float top = fmaxf(row_top, shared_row_top(smem, row));
  float correction = ptx::ex2(row_top - (top == minus_infinity() ? 0.0f : top));
  row_top = top;
  row_sum *= correction;
  if (w.n == 0 && w.q == 0) {
    smem.row_correction[row] = correction;
  }
}
//: end

/* Two weights as operands: f16, or a bf16 and another of what it leaves. */
__device__ __forceinline__ void store_weights(unsigned target, float w0, float w1)
{
  if constexpr (v_format::is_bf16) {
    unsigned high = ptx::cvt_bf16x2(w0, w1);
    ptx::st_shared_u32(target, high);
    ptx::st_shared_u32(target + pass_rows * weight_row_elems * 2,
                       ptx::cvt_bf16x2(w0 - ptx::low_of_bf16x2(high), w1 - ptx::high_of_bf16x2(high)));
  } else {
    ptx::st_shared_u32(target, ptx::cvt_f16x2(w0, w1));
  }
}

/* Scores to weights, after every warp's tops are in shared memory. */
__device__ __forceinline__ void make_weights(smem_plan &smem, const score_warp &w, unsigned shared_row,
                                             const score_tiles &tiles, row_state &state)
{
  float subtracted[score_m_tiles][2];
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
      //: if with_exact_softmax
      state.top[m][half] = shared_row_top(smem, row);
      //: end
      //: if with_online_softmax
      advance_row(smem, w, row, state.top[m][half], state.sum[m][half]);
      //: end
      subtracted[m][half] = subtracted_of(state.top[m][half]);
    }
  }
  unsigned target = first_weight_unit(ptx::shared_address(&smem.heads.weights[0][w.first_row + w.g][2 * w.q]), w.g, 0);
#pragma unroll
  for (unsigned n = 0; n < score_n_tiles; n++) {
    if (!has_columns(w, n)) {
      continue;
    }
    unsigned column = shared_row + w.first_column + n * mma_n + 2 * w.q;
    unsigned unit = weight_unit(target, w.first_column + n * mma_n);
    float scale0 = smem.column[column].weight_scale, scale1 = smem.column[column + 1].weight_scale;
#pragma unroll
    for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
      for (unsigned half = 0; half < 2; half++) {
        float p0 = ptx::ex2(tiles.s[m][n][2 * half] - subtracted[m][half]);
        float p1 = ptx::ex2(tiles.s[m][n][2 * half + 1] - subtracted[m][half]);
        state.sum[m][half] += p0 + p1;
        store_weights(unit + (m * mma_m + half * 8) * weight_row_elems * 2, p0 * scale0, p1 * scale1);
      }
    }
  }
}

/* Each row's sum over the warp's columns to shared memory, for the epilogue. */
__device__ __forceinline__ void publish_sums(smem_plan &smem, const score_warp &w, const row_state &state)
{
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      float sum = state.sum[m][half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
      if (w.q == 0) {
        smem.figures.of_heads.sum[row].of[w.n] = sum;
        if (!exact_softmax && w.n == 0) {
          smem.figures.of_heads.top[row].of[0] = state.top[m][half];
        }
      }
    }
  }
}
} // namespace swa

#endif
