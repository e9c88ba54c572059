/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax over the scores that the warps hold in registers (fragment layout of ptx/mma_sync.cuh): raw products
 * become weights in shared memory, and each row's maximum and sum are kept. Scores are in units of log2, so that
 * exp is ex2. A row whose every position is masked has maximum -infinity; it is replaced by 0 where it is
 * subtracted.
 *
 * A weight is p * inv_scale, and inv_scale may be anything; weights are f16. So a row's weights are stored in a
 * unit of their own, a power of two near the row's largest weight (row_unit), which the epilogue multiplies back.
 */
#ifndef SWA_SOFTMAX_CUH
#define SWA_SOFTMAX_CUH

#include "ptx/convert.cuh"
#include "smem_plan.cuh"

namespace swa
{
constexpr float log2_e = 1.4426950408889634f;
constexpr float ln_2 = 0.6931471805599453f;

struct score_tiles {
  float s[score_m_tiles][score_n_tiles][4];
};

/* Of the rows g and g + 8 of each of a warp's head tiles; the maximum is identical across the row's threads, the
 * sum is each thread's part. */
struct row_state {
  float max[score_m_tiles][2];
  float top[score_m_tiles][2]; /* log2 of the unit of the weights */
  float sum[score_m_tiles][2];
};

__device__ __forceinline__ float minus_infinity()
{
  return -__int_as_float(0x7f800000);
}

__device__ __forceinline__ void init_rows(row_state &state)
{
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      state.max[m][half] = minus_infinity();
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

__device__ __forceinline__ float quad_max(float x)
{
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/* Products with wide Q, brought back: each row's by its unit. */
__device__ __forceinline__ void restore_wide_products(const smem_plan &smem, const score_warp &w, score_tiles &tiles)
{
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      float unit = smem.q_unit[w.first_row + m * mma_m + half * 8 + w.g];
#pragma unroll
      for (unsigned n = 0; n < score_n_tiles; n++) {
        tiles.s[m][n][2 * half] *= unit;
        tiles.s[m][n][2 * half + 1] *= unit;
      }
    }
  }
}

/* Raw products to scores, and each row's maxima over the warp's columns to shared memory. */
__device__ __forceinline__ void scale_scores(smem_plan &smem, const score_warp &w, unsigned shared_row,
                                             float scale_log2, score_tiles &tiles)
{
  float max[score_m_tiles][2], top[score_m_tiles][2];
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
    max[m][0] = max[m][1] = top[m][0] = top[m][1] = minus_infinity();
  }
#pragma unroll
  for (unsigned n = 0; n < score_n_tiles; n++) {
    if (!has_columns(w, n)) {
#pragma unroll
      for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
          tiles.s[m][n][i] = minus_infinity();
        }
      }
      continue;
    }
    unsigned column = shared_row + w.first_column + n * mma_n + 2 * w.q;
#pragma unroll
    for (unsigned j = 0; j < 2; j++) {
      column_info info = smem.column[column + j];
      float scale = info.scale * scale_log2;
#pragma unroll
      for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
          /* A masked product is 0 * scale_log2, NaN where the caller's scale is not finite: choose, don't add. */
          float s = info.bias == 0.0f ? tiles.s[m][n][2 * half + j] * scale : info.bias;
          tiles.s[m][n][2 * half + j] = s;
          max[m][half] = fmaxf(max[m][half], s);
          top[m][half] = fmaxf(top[m][half], s + info.log);
        }
      }
    }
  }
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      float row_max = quad_max(max[m][half]), row_top = quad_max(top[m][half]);
      if (w.q == 0) {
        unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
        smem.row_peak[w.n][row] = row_peaks{row_max, row_top};
      }
    }
  }
}

/* Largest of what the warps that share a row left in shared memory. */
__device__ __forceinline__ row_peaks shared_row_peaks(const smem_plan &smem, unsigned row)
{
  row_peaks peaks = smem.row_peak[0][row];
#pragma unroll
  for (unsigned n = 1; n < score_warps_n; n++) {
    row_peaks other = smem.row_peak[n][row];
    peaks = row_peaks{fmaxf(peaks.max, other.max), fmaxf(peaks.top, other.top)};
  }
  return peaks;
}

/* What a thread's rows subtract from scores and multiply weights by. */
struct row_shift {
  float subtracted, to_unit;
};

/* Brings a row's state to the span's maxima, which every warp has left in shared memory. */
__device__ __forceinline__ row_shift advance_row(smem_plan &smem, const score_warp &w, unsigned row, float &row_max,
                                                 float &row_top, float &row_sum)
{
  row_peaks peaks = shared_row_peaks(smem, row);
  float max = fmaxf(row_max, peaks.max);
  float subtracted = max == minus_infinity() ? 0.0f : max;
  /* Within 2^126 of the largest p, so that the factor to and from the unit is a normal float. */
  float top = fminf(fmaxf(fmaxf(row_top, peaks.top), subtracted - 126.0f), subtracted + 126.0f);
  if (w.n == 0 && w.q == 0) {
    smem.row_unit[row] = ptx::ex2(top - subtracted);
    if constexpr (!exact_softmax) {
      /* At most 1: the top only rises, but for the first tile, before which there are no values. */
      smem.row_correction[row] = fminf(ptx::ex2(row_top - top), 1.0f);
    }
  }
  if constexpr (!exact_softmax) {
    row_sum *= ptx::ex2(row_max - subtracted);
  }
  row_max = max;
  row_top = top;
  return row_shift{subtracted, ptx::ex2(subtracted - top)};
}

/* Scores to weights, after every warp's maxima are in shared memory. */
__device__ __forceinline__ void make_weights(smem_plan &smem, const score_warp &w, unsigned shared_row,
                                             const score_tiles &tiles, row_state &state)
{
  row_shift shift[score_m_tiles][2];
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
      shift[m][half] = advance_row(smem, w, row, state.max[m][half], state.top[m][half], state.sum[m][half]);
    }
  }
#pragma unroll
  for (unsigned n = 0; n < score_n_tiles; n++) {
    if (!has_columns(w, n)) {
      continue;
    }
    unsigned column = w.first_column + n * mma_n + 2 * w.q;
    float scale0 = smem.column[shared_row + column].scale, scale1 = smem.column[shared_row + column + 1].scale;
#pragma unroll
    for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
      for (unsigned half = 0; half < 2; half++) {
        const row_shift &by = shift[m][half];
        float p0 = ptx::ex2(tiles.s[m][n][2 * half] - by.subtracted);
        float p1 = ptx::ex2(tiles.s[m][n][2 * half + 1] - by.subtracted);
        state.sum[m][half] += p0 + p1;
        unsigned packed = ptx::cvt_f16x2(p0 * (scale0 * by.to_unit), p1 * (scale1 * by.to_unit));
        unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
        ptx::st_shared_u32(ptx::shared_address(&smem.heads.weights[row][column]), packed);
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
        smem.row_sum[w.n][row] = sum;
        if (!exact_softmax && w.n == 0) {
          smem.row_peak[0][row].max = state.max[m][half];
        }
      }
    }
  }
}
} // namespace swa

#endif
