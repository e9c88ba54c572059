/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of groups where codes become operands (kv/e8m0.cuh): in scores of each row's chunk, in values of a thread's
 * positions and its warp's slices, where they go to the codes or to the weights. */
#ifndef SWA_MMA_FACTORS_CUH
#define SWA_MMA_FACTORS_CUH

#include "../ptx/convert.cuh"
#include "../ptx/load_store.cuh"
#include "../smem_plan.cuh"
#include "../softmax.cuh"

namespace swa::mma
{
/* What the codes of a chunk are multiplied by: a factor a row, twice in a word. */
struct chunk_factors {
  unsigned n[score_n_tiles];
};

template <class K>
__device__ __forceinline__ chunk_factors load_chunk_factors(const smem_plan &smem, const score_warp &w,
                                                            unsigned shared_row, unsigned chunk)
{
  chunk_factors factors = {};
  //: if with_groups
  if constexpr (K::num_groups != 0) {
    unsigned group = (chunk * chunk_dims + w.q * 16) / K::group_dims;
    const unsigned short *row = &smem.group_factor[group][shared_row + w.first_column + w.g];
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
      factors.n[n] = has_columns(w, n) ? row[n * mma_n] * 0x10001u : 0;
    }
  }
  //: end
  return factors;
}

/* A thread's weights of a k-step, as operands. */
struct step_weights {
  ptx::words4 fragment[weight_parts][value_m_tiles];
};

/* Where all of a warp's slices are of one group, its factors go to the weights if these are fewer than the codes. */
constexpr unsigned least_scaled_dims = value_m_tiles < 2 * batch_slices ? batch_slices * slice_dims : head_dim_v + 1;
template <class V>
constexpr bool scales_weights = V::group_dims >= least_scaled_dims;

//: if with_groups
/* What the codes of a thread's positions of a k-step and slice are multiplied by: of 2 q, 2 q + 1, and of those 8 on.
 * */
template <class V>
__device__ __forceinline__ void load_slice_factors(const smem_plan &smem, unsigned slice, unsigned position,
                                                   unsigned &factor0, unsigned &factor1)
{
  if constexpr (V::num_groups != 0) {
    const unsigned short *factors = smem.group_factor[slice * slice_dims / V::group_dims];
    const unsigned *pairs = reinterpret_cast<const unsigned *>(factors + position);
    factor0 = pairs[0];
    factor1 = pairs[4];
  }
}

__device__ __forceinline__ void scale_weights(unsigned factor0, unsigned factor1, step_weights &weights)
{
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
      unsigned &word = weights.fragment[0][m].w[i];
      word = ptx::mul_f16x2(word, i < 2 ? factor0 : factor1);
    }
  }
}
//: end
} // namespace swa::mma

#endif
