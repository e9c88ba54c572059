/* SPDX-License-Identifier: Apache-2.0 */
/* The scale of a row with scales by group, by what the row holds, for rows whose bytes do not tell. */
#ifndef SWA_KV_ROW_BYTE_CUH
#define SWA_KV_ROW_BYTE_CUH

#include "e8m0.cuh"

namespace swa::kv
{
//: if with_groups
/* The byte of a row in shared memory: the largest of a group that is not all zeros, and large enough for the tail to
 * stay below f16's largest. */
template <class K, class Layout>
__device__ __forceinline__ unsigned true_row_byte(const unsigned char *rows, unsigned row,
                                                  const typename K::row_scales &scales)
{
  unsigned row_byte = least_row_byte;
#pragma unroll 1
  for (unsigned at = 0; at < K::copied_bytes / 4; at++) {
    unsigned word = *reinterpret_cast<const unsigned *>(rows + Layout::unit_offset(row, at / 4) + at % 4 * 4);
    if (at * 4 < K::code_dims) {
      unsigned byte = scales.of(at * 4 / K::group_dims);
      row_byte = max(row_byte, (word & 0x7f7f7f7fu) == 0 || byte == e8m0_nan ? 0 : byte);
    } else {
      unsigned low = word >> 7 & 255, high = word >> 23 & 255; /* exponents: a number is below 2^(exponent - 126) */
      unsigned exponent = max(low == 255 ? 0 : low, high == 255 ? 0 : high);
      row_byte = max(row_byte, exponent < 14 ? 0 : exponent - 14);
    }
  }
  return min(row_byte, largest_row_byte);
}
//: end
} // namespace swa::kv

#endif
