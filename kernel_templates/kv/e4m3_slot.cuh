/* SPDX-License-Identifier: Apache-2.0 */
/* KV format e4m3_slot: dims e4m3 bytes a slot and one scale a slot. The scale multiplies the whole row, so it goes to
 * the score and to the weight: an element is only widened. */
#ifndef SWA_KV_E4M3_SLOT_CUH
#define SWA_KV_E4M3_SLOT_CUH

#include "e4m3_codes.cuh"
#include "format.cuh"

namespace swa::kv
{
template <unsigned dims>
struct e4m3_slot : codes, ungrouped {
  static constexpr unsigned data_bytes = dims, copied_bytes = whole_chunks(dims), code_dims = dims;
  using row_scales = float;

  static __device__ __forceinline__ row_scales load_scales(const swa_pool &pool, const row_place &at)
  {
    if constexpr (scale_is_bf16) {
      return __uint_as_float(static_cast<unsigned>(static_cast<const unsigned short *>(pool.inv_scale)[at.scale_index])
                             << 16);
    } else {
      return static_cast<const float *>(pool.inv_scale)[at.scale_index];
    }
  }

  static __device__ __forceinline__ float row_scale(row_scales scales)
  {
    return scales;
  }
};
} // namespace swa::kv

#endif
