/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows with scales by group: the factors of their groups, and their mending.
 *
 * A row's scale follows its largest scale byte. That is right as long as the group of that byte has a code that is not
 * 0, bytes lie near each other, and the tail is not much larger than the codes: so with every row that a quantiser
 * wrote. A byte far below another is seen when the row's scales arrive; a tail that is too large, by products that are
 * not finite. Then all heads are done again, and rows' scales are first made to follow what the rows hold.
 */
#ifndef SWA_KV_MEND_CUH
#define SWA_KV_MEND_CUH

#include "../ptx/convert.cuh"
#include "../smem_plan.cuh"
#include "../softmax.cuh"

namespace swa::kv
{
//: if with_groups
template <class K>
__device__ __forceinline__ void store_factors(smem_plan &smem, unsigned row, const typename K::row_scales &scales,
                                              unsigned row_byte)
{
#pragma unroll
  for (unsigned group = 0; group < K::num_groups; group++) {
    smem.group_factor[group][row] = static_cast<unsigned short>(group_factor(scales.of(group), row_byte));
  }
  smem.tail_factor[row] = __uint_as_float((254 - row_byte) << 23);
}

/* Of a row whose scales have arrived. */
template <class K>
__device__ __forceinline__ void store_groups(smem_plan &smem, unsigned row, const typename K::row_scales &scales,
                                             bool is_masked)
{
  unsigned row_byte = K::row_byte(scales);
  bool is_doubtful = false;
#pragma unroll
  for (unsigned group = 0; group < K::num_groups; group++) {
    is_doubtful |= is_far_below(scales.of(group), row_byte);
  }
  store_factors<K>(smem, row, scales, row_byte);
#pragma unroll
  for (unsigned word = 0; word < sizeof(scales) / 4; word++) {
    smem.scale_bytes[word][row] = scales.w[word];
  }
  if (is_doubtful && !is_masked) {
    smem.needs_mending = 1;
  }
}

/* The byte of a row by what it holds: the largest of a group that is not all zeros, and large enough for the tail to
 * stay below f16's largest. */
template <class K>
__device__ __forceinline__ unsigned true_row_byte(const smem_plan &smem, unsigned row,
                                                  const typename K::row_scales &scales)
{
  const unsigned char *bytes = smem.rows[0];
  unsigned row_byte = least_row_byte;
#pragma unroll 1
  for (unsigned at = 0; at < K::copied_bytes / 4; at++) {
    unsigned word = *reinterpret_cast<const unsigned *>(bytes + k_layout::unit_offset(row, at / 4) + at % 4 * 4);
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

/* Rows first_row to first_row + num_rows, once they have landed. Barriers before and after are the caller's. */
template <class K>
__device__ __forceinline__ void mend_rows(smem_plan &smem, unsigned first_row, unsigned num_rows)
{
  if constexpr (K::num_groups != 0) {
#pragma unroll 1
    for (unsigned row = first_row + threadIdx.x; row < first_row + num_rows; row += num_threads) {
      column_info column = smem.column[row];
      if (column.bias == 0.0f) {
        typename K::row_scales scales;
#pragma unroll
        for (unsigned word = 0; word < sizeof(scales) / 4; word++) {
          scales.w[word] = smem.scale_bytes[word][row];
        }
        unsigned row_byte = true_row_byte<K>(smem, row, scales);
        store_factors<K>(smem, row, scales, row_byte);
        column.scale = column.weight_scale = __uint_as_float(row_byte << 23);
        column.log = fminf(fmaxf(ptx::lg2(column.scale), least_scale_log), largest_scale_log);
        smem.column[row] = column;
      }
    }
  }
}
//: end
} // namespace swa::kv

#endif
