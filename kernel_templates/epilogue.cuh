/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogue: sums and maxima to 1 / l and LSE; values normalised, rounded and stored. */
#ifndef SWA_EPILOGUE_CUH
#define SWA_EPILOGUE_CUH

#include "mma/mma_sync.cuh"

namespace swa
{
/* Sum of the exponentials of a row: NaN if a NaN code was seen. */
__device__ __forceinline__ float row_total(const smem_plan &smem, unsigned row)
{
  float total = 0.0f;
#pragma unroll
  for (unsigned n = 0; n < score_warps_n; n++) {
    total += smem.row_sum[n][row];
  }
  return smem.has_nan_code ? __int_as_float(0x7fffffff) : total;
}

/* Once every warp's sums are in shared memory, one thread a row: row_unit becomes what takes the row's sum of
 * values to out, the weights' unit over l (0 for a row with no unmasked position, whose out is 0); LSE is stored.
 * The running maximum of online softmax is in row_peak[0]. */
__device__ __forceinline__ void finish_rows(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                            unsigned first_head)
{
  unsigned row = threadIdx.x;
  if (row >= pass_rows) {
    return;
  }
  float total = row_total(smem, row);
  //: if with_lse
  if (params.lse != nullptr && row < pass_heads && first_head + row < plan.num_heads) {
    float max = exact_softmax ? shared_row_peaks(smem, row).max : smem.row_peak[0][row].max;
    float lse = total == 0.0f ? minus_infinity() : (max + ptx::lg2(total)) * ln_2;
    params.lse[plan.token * params.lse_token_stride + plan.first_head + first_head + row] = lse;
  }
  //: end
  smem.row_unit[row] = total == 0.0f ? 0.0f : smem.row_unit[row] * (1.0f / total);
}

/* Element order within a slice is 4 q .. 4 q + 3 of the first and of the second 16, see value_tiles: a quad stores 32
 * bytes side by side, all of a sector. */
__device__ __forceinline__ void store_slice_row(const float (&tiles)[4][4], unsigned half, float factor, char *out)
{
#pragma unroll
  for (unsigned b = 0; b < 2; b++) {
    const float(&even)[4] = tiles[2 * b], (&odd)[4] = tiles[2 * b + 1];
    ptx::st_global_v2(out + b * 32, ptx::cvt_bf16x2(even[2 * half] * factor, odd[2 * half] * factor),
                      ptx::cvt_bf16x2(even[2 * half + 1] * factor, odd[2 * half + 1] * factor));
  }
}

__device__ __forceinline__ void store_values(const swa_params &params, const cta_plan &plan, const smem_plan &smem,
                                             const mma::value_warp &w, unsigned first_head, unsigned batch,
                                             const mma::value_tiles &tiles)
{
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
      if (row >= pass_heads || first_head + row >= plan.num_heads) {
        continue;
      }
      float factor = smem.row_unit[row];
      char *out = out_row(params, plan, first_head + row) + w.q * 8;
#pragma unroll
      for (unsigned s = 0; s < batch_slices; s++) {
        unsigned slice = mma::warp_slice(w, batch + s);
        if (num_slices % value_warps_n == 0 || slice < num_slices) {
          store_slice_row(tiles.v[m][s], half, factor, out + slice * slice_dims * 2);
        }
      }
    }
  }
}

/* A token with no position: out is 0, LSE -infinity. */
__device__ __forceinline__ void store_empty(const swa_params &params, const cta_plan &plan)
{
  constexpr unsigned units = head_dim * 2 / 16;
  for (unsigned i = threadIdx.x; i < plan.num_heads * units; i += num_threads) {
    ptx::st_global_v4(out_row(params, plan, i / units) + i % units * 16, ptx::words4{});
  }
  //: if with_lse
  for (unsigned head = threadIdx.x; params.lse != nullptr && head < plan.num_heads; head += num_threads) {
    params.lse[plan.token * params.lse_token_stride + plan.first_head + head] = minus_infinity();
  }
  //: end
}
} // namespace swa

#endif
