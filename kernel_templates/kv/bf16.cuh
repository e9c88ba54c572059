/* SPDX-License-Identifier: Apache-2.0 */
/* KV format bf16: dims bf16 elements a slot. They are operands as they lie; Q stays bf16 too, and a weight is the sum
 * of two bf16 numbers, which keeps 16 bits of it. */
#ifndef SWA_KV_BF16_CUH
#define SWA_KV_BF16_CUH

#include "format.cuh"

namespace swa::kv
{
template <unsigned dims>
struct bf16 : ungrouped {
  static constexpr bool is_bf16 = true;
  static constexpr unsigned data_bytes = 2 * dims, copied_bytes = 2 * whole_chunks(dims), code_dims = dims;
  struct row_scales {
  };

  static __device__ __forceinline__ row_scales load_scales(const swa_pool &, const row_place &)
  {
    return row_scales{};
  }

  static __device__ __forceinline__ float row_scale(row_scales)
  {
    return 1.0f;
  }
};
} // namespace swa::kv

#endif
