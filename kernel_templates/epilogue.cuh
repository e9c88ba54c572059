/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogue: values normalised, rounded and stored; LSE. */
#ifndef SWA_EPILOGUE_CUH
#define SWA_EPILOGUE_CUH

#include "heads.cuh"
#include "mma/mma_sync.cuh"

namespace swa
{
/* Sum of a row's exponentials, once every warp's is in shared memory: NaN if a NaN code was seen. */
__device__ __forceinline__ float row_total(const smem_plan &smem, unsigned row)
{
  per_warp each = smem.figures.of_heads.sum[row];
  float total = each.of[0];
#pragma unroll
  for (unsigned n = 1; n < score_warps_n; n++) {
    total += each.of[n];
  }
  return k_has_nan_codes_apart && smem.has_nan_code != 0 ? __int_as_float(0x7fffffff) : total;
}

__device__ __forceinline__ bool is_stored_row(const cta_plan &plan, const smem_plan &smem, unsigned first_head,
                                              unsigned row, unsigned round)
{
  return (first_head + row < plan.num_heads) & (!has_rounds | (smem.row_round[row] == round));
}

//: if with_sinks
/* A thread's row's sink to shared memory, where the epilogue finds it behind many barriers. */
__device__ __forceinline__ void store_sink(smem_plan &smem, float sink)
{
  if (threadIdx.x < pass_rows) {
    smem.sink[threadIdx.x] = sink;
  }
}
//: end

__device__ __forceinline__ float row_top_of(const smem_plan &smem, unsigned row)
{
  return exact_softmax ? shared_row_top(smem, row) : smem.figures.of_heads.top[row].of[0];
}

/* The row's sum as out is divided by it. */
__device__ __forceinline__ float row_divisor(const smem_plan &smem, unsigned row)
{
  float total = row_total(smem, row);
  //: if with_sinks
  total += ptx::ex2(smem.sink[row] - subtracted_of(row_top_of(smem, row)));
  //: end
  return total;
}

//: if with_lse
/* One thread a row. Online softmax has left the row's top with its first warp's. */
__device__ __forceinline__ void store_lse(const swa_params &params, const cta_plan &plan, const smem_plan &smem,
                                          unsigned first_head, unsigned round)
{
  unsigned row = threadIdx.x;
  if (params.lse != nullptr && row < pass_heads && is_stored_row(plan, smem, first_head, row, round)) {
    float lse = (subtracted_of(row_top_of(smem, row)) + ptx::lg2(row_total(smem, row))) * ln_2;
    //: if with_sinks
    if ((params.lse_form & lse_with_sink) != 0 && params.sinks != nullptr) {
      lse = add_sink(lse, params.sinks[plan.first_head + first_head + row]);
    }
    //: end
    write_lse(params, plan, first_head + row, lse);
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
      bool is_stored = (row < pass_heads) & is_stored_row(plan, smem, first_head, row, round);
      factors.stored |= (is_stored ? 1u : 0u) << (m * 2 + half);
      factors.of[m][half] = ptx::rcp(row_divisor(smem, row));
    }
  }
  return factors;
}

//: if with_codes
/* Of rows of codes: element order within a slice is 4 q .. 4 q + 3 of the first and of the second 16, see value_tiles:
 * a quad stores 32 bytes side by side, all of a sector. */
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
//: end

//: if without_codes
/* Of rows of bf16: elements 8 t + 2 q and the next of each column tile t. */
__device__ __forceinline__ void store_bf16_slice_row(const float (&tiles)[4][4], unsigned half, float factor,
                                                     bool is_stored, char *out)
{
#pragma unroll
  for (unsigned t = 0; t < 4; t++) {
    unsigned packed = ptx::cvt_bf16x2(tiles[t][2 * half] * factor, tiles[t][2 * half + 1] * factor);
    if (is_stored) {
      ptx::st_global_u32(out + t * 16, packed);
    }
  }
}
//: end

__device__ __forceinline__ void store_values(const swa_params &params, const cta_plan &plan, const mma::value_warp &w,
                                             const row_factors &factors, unsigned first_head, unsigned batch,
                                             const mma::value_tiles &tiles)
{
  char *out = out_row(params, plan, first_head + w.first_row + w.g) + mma::warp_slice(w, batch) * slice_dims * 2
              + w.q * (v_format::is_bf16 ? 4 : 8);
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      bool is_stored = (factors.stored >> (m * 2 + half) & 1) != 0;
#pragma unroll
      for (unsigned s = 0; s < batch_slices; s++) {
        bool has_slice = num_slices % value_warps_n == 0 || mma::warp_slice(w, batch + s) < num_slices;
        bool stores = is_stored && has_slice;
        //: if without_codes
        store_bf16_slice_row(tiles.v[m][s], half, factors.of[m][half], stores, out + s * slice_dims * 2);
        //: end
        //: if with_codes
        store_slice_row(tiles.v[m][s], half, factors.of[m][half], stores, out + s * slice_dims * 2);
        //: end
      }
      out += 16 * params.out_head_stride;
    }
  }
}
} // namespace swa

#endif
