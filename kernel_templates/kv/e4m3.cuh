/* SPDX-License-Identifier: Apache-2.0 */
/* KV format e4m3: dims e4m3 bytes a slot and one scale for the whole pool, which is a launch argument. */
#ifndef SWA_KV_E4M3_CUH
#define SWA_KV_E4M3_CUH

#include "e4m3_codes.cuh"
#include "format.cuh"

namespace swa::kv
{
template <unsigned dims>
struct e4m3 : codes, ungrouped {
  static constexpr unsigned data_bytes = dims, copied_bytes = whole_chunks(dims), code_dims = dims;
  using row_scales = float;

  static __device__ __forceinline__ row_scales load_scales(const swa_pool &pool, const row_place &)
  {
    return pool.scale;
  }

  static __device__ __forceinline__ float row_scale(row_scales scales)
  {
    return scales;
  }
};
} // namespace swa::kv

#endif
