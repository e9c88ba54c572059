/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogue: values normalised, rounded and stored; LSE. */
#ifndef SWA_EPILOGUE_CUH
#define SWA_EPILOGUE_CUH

#include "mma/mma_sync.cuh"

namespace swa
{
/* Sum of a row's exponentials, once every warp's is in shared memory: NaN if a NaN code was seen. */
__device__ __forceinline__ float row_total(const smem_plan &smem, unsigned row)
{
  per_warp each = smem.row_sum[row];
  float total = each.of[0];
#pragma unroll
  for (unsigned n = 1; n < score_warps_n; n++) {
    total += each.of[n];
  }
  return kv::has_nan_codes_apart && smem.has_nan_code != 0 ? __int_as_float(0x7fffffff) : total;
}

__device__ __forceinline__ bool is_stored_row(const cta_plan &plan, const smem_plan &smem, unsigned first_head,
                                              unsigned row, unsigned round)
{
  return first_head + row < plan.num_heads && smem.row_round[row] == round;
}

//: if with_lse
/* One thread a row. Online softmax has left the row's top with its first warp's. */
__device__ __forceinline__ void store_lse(const swa_params &params, const cta_plan &plan, const smem_plan &smem,
                                          unsigned first_head, unsigned round)
{
  unsigned row = threadIdx.x;
  if (params.lse != nullptr && row < pass_heads && is_stored_row(plan, smem, first_head, row, round)) {
    float top = exact_softmax ? shared_row_top(smem, row) : smem.row_top[row].of[0];
    float total = row_total(smem, row);
    params.lse[plan.token * params.lse_token_stride + plan.first_head + first_head + row] =
        (subtracted_of(top) + ptx::lg2(total)) * ln_2;
  }
}
//: end

/* What takes a thread's sums of values to out: one over the row's sum. A sum of 0 means that every score overflowed to
 * -infinity, for a token with no unmasked position does not come here: out is then NaN. */
struct row_factors {
  float of[value_m_tiles][2];
  unsigned stored; /* bit m * 2 + half: whether the row is stored */
};

__device__ __forceinline__ row_factors make_row_factors(const cta_plan &plan, const smem_plan &smem,
                                                        const mma::value_warp &w, unsigned first_head, unsigned round)
{
  row_factors factors;
  factors.stored = 0;
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
      if (row < pass_heads && is_stored_row(plan, smem, first_head, row, round)) {
        factors.stored |= 1u << (m * 2 + half);
      }
      float total = row_total(smem, row);
      factors.of[m][half] = ptx::rcp(total);
    }
  }
  return factors;
}

/* Element order within a slice is 4 q .. 4 q + 3 of the first and of the second 16, see value_tiles: a quad stores 32
 * bytes side by side, all of a sector. */
__device__ __forceinline__ void store_slice_row(const float (&tiles)[4][4], unsigned half, float factor, bool is_stored,
                                                char *out)
{
  unsigned packed[2][2];
#pragma unroll
  for (unsigned b = 0; b < 2; b++) {
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
      packed[b][i] = ptx::cvt_bf16x2(tiles[2 * b][2 * half + i] * factor, tiles[2 * b + 1][2 * half + i] * factor);
    }
  }
  if (is_stored) {
    ptx::st_global_v2(out, packed[0][0], packed[0][1]);
    ptx::st_global_v2(out + 32, packed[1][0], packed[1][1]);
  }
}

__device__ __forceinline__ void store_values(const swa_params &params, const cta_plan &plan, const mma::value_warp &w,
                                             const row_factors &factors, unsigned first_head, unsigned batch,
                                             const mma::value_tiles &tiles)
{
  char *out =
      out_row(params, plan, first_head + w.first_row + w.g) + mma::warp_slice(w, batch) * slice_dims * 2 + w.q * 8;
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      bool is_stored = (factors.stored >> (m * 2 + half) & 1) != 0;
#pragma unroll
      for (unsigned s = 0; s < batch_slices; s++) {
        bool has_slice = num_slices % value_warps_n == 0 || mma::warp_slice(w, batch + s) < num_slices;
        store_slice_row(tiles.v[m][s], half, factors.of[m][half], is_stored && has_slice, out + s * slice_dims * 2);
      }
      out += 16 * params.out_head_stride;
    }
  }
}

/* A token with no position: out is 0, LSE -infinity. */
__device__ __forceinline__ void store_empty(const swa_params &params, const cta_plan &plan)
{
  constexpr unsigned units = head_dim * 2 / 16;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < plan.num_heads * units; i += num_threads) {
    ptx::st_global_v4(out_row(params, plan, i / units) + i % units * 16, ptx::words4{});
  }
  //: if with_lse
  if (params.lse != nullptr && threadIdx.x < plan.num_heads) {
    params.lse[plan.token * params.lse_token_stride + plan.first_head + threadIdx.x] = minus_infinity();
  }
  //: end
}
} // namespace swa

#endif
