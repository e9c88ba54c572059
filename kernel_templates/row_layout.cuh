/* SPDX-License-Identifier: Apache-2.0 */
/* How rows lie in shared memory, so that products read them without bank conflicts. */
#ifndef SWA_ROW_LAYOUT_CUH
#define SWA_ROW_LAYOUT_CUH

namespace swa
{
/* Byte offset of a row's 16-byte unit. Bits of the row's number are put into the unit's, which spreads both access
 * patterns over all banks: two rows x four units (scores) and eight rows x one unit (values). Where rows are whole
 * multiples of 128 bytes, units of eight are swizzled; where they are odd multiples of 64, which by itself moves every
 * other row to the other half of the banks, units of four. Rows that are equal modulo 8 and units that are equal modulo
 * 8 are swizzled alike, so a thread works out one offset and adds constants to it. */
template <unsigned stride>
struct row_layout {
  static_assert(stride % 64 == 0, "a row is whole halves of the banks");
  static constexpr bool is_odd = stride % 128 != 0;
  static constexpr unsigned stride_bytes = stride;

  static __device__ __forceinline__ unsigned unit_offset(unsigned row, unsigned unit)
  {
    unsigned swizzle = is_odd ? row >> 1 & 3 : (row & 1) << 2 | (row & 2) | (row >> 2 & 1);
    return row * stride + (unit ^ swizzle) * 16;
  }

  /* From a thread's address of chunk 0 to that of another chunk of 64 bytes. */
  static __device__ __forceinline__ unsigned chunk_address(unsigned address, unsigned chunk)
  {
    return is_odd ? address + chunk * 64 : (address ^ chunk % 2 * 64) + chunk / 2 * 128;
  }
};
} // namespace swa

#endif
