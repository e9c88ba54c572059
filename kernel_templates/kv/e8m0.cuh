/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scale bytes of the footer formats: a byte b is 2^(b - 127), 255 is NaN (OCP Microscaling Formats 1.0, E8M0).
 *
 * A row's scale is the power of two of its largest byte, from 2^-126 to 2^126 so that its reciprocal is a float. A
 * group's elements are multiplied, as f16, by what is left of their own scale: a power of two, so that the product is
 * exact down to f16's least step, 2^-24 of the row's scale. Bytes that do not follow the sizes of their groups are
 * seen, and the row is mended, see mend.cuh.
 */
#ifndef SWA_KV_E8M0_CUH
#define SWA_KV_E8M0_CUH

#include "e4m3_codes.cuh"
#include "format.cuh"

namespace swa::kv
{
//: if with_groups
constexpr unsigned e8m0_nan = 255, least_row_byte = 1, largest_row_byte = 253;

/* The scale bytes of a row, in the order of its groups. */
template <unsigned num_words>
struct scale_bytes {
  unsigned w[num_words];

  __device__ __forceinline__ unsigned of(unsigned group) const
  {
    return w[group / 4] >> group % 4 * 8 & 255;
  }
};

/* Bytes of a footer format's row of data, then of scales; and the groups of its codes. */
template <unsigned row_bytes_, unsigned num_groups_, unsigned group_dims_, unsigned num_words>
struct footer : codes {
  static constexpr unsigned data_bytes = row_bytes_, copied_bytes = row_bytes_;
  static constexpr unsigned num_groups = num_groups_, group_dims = group_dims_, code_dims = num_groups * group_dims;
  using row_scales = scale_bytes<num_words>;

  static __device__ __forceinline__ row_scales load_scales(const swa_pool &, const row_place &at)
  {
    const char *scale_rows = at.block + static_cast<long long>(at.block_size) * data_bytes;
    return reinterpret_cast<const row_scales *>(scale_rows)[at.slot_in_block];
  }

  /* The largest byte that is not NaN. */
  static __device__ __forceinline__ unsigned row_byte(const row_scales &scales)
  {
    unsigned largest = least_row_byte;
#pragma unroll
    for (unsigned group = 0; group < num_groups; group++) {
      unsigned byte = scales.of(group);
      largest = max(largest, byte == e8m0_nan ? least_row_byte : byte);
    }
    return min(largest, largest_row_byte);
  }

  static __device__ __forceinline__ float row_scale(const row_scales &scales)
  {
    return __uint_as_float(row_byte(scales) << 23);
  }
};

/* The f16 that a group's elements are multiplied by: a power of two, which the conversion makes 0 below f16's least. */
__device__ __forceinline__ unsigned group_factor(unsigned byte, unsigned row_byte)
{
  int exponent = min(max(static_cast<int>(byte) - static_cast<int>(row_byte), -30), 15);
  unsigned bits = byte == e8m0_nan ? 0x7fffffffu : static_cast<unsigned>(exponent + 127) << 23;
  return ptx::cvt_f16x2(__uint_as_float(bits), 0.0f);
}

/* Whether a group's factor leaves e4m3's least step below f16's. */
__device__ __forceinline__ bool is_far_below(unsigned byte, unsigned row_byte)
{
  return byte + 15 < row_byte;
}
//: end
} // namespace swa::kv

#endif
