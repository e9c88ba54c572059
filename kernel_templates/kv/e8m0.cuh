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

/* They, with 0 for what is NaN. */
template <unsigned num_words>
__device__ __forceinline__ scale_bytes<num_words> numbers_of(const scale_bytes<num_words> &scales)
{
  scale_bytes<num_words> numbers;
#pragma unroll
  for (unsigned i = 0; i < num_words; i++) {
    unsigned nan = ((scales.w[i] & 0x7f7f7f7fu) + 0x01010101u) & scales.w[i] & 0x80808080u;
    numbers.w[i] = scales.w[i] & ~((nan >> 7) * 255);
  }
  return numbers;
}

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
    row_scales numbers = numbers_of(scales);
    unsigned largest = least_row_byte;
#pragma unroll
    for (unsigned group = 0; group < num_groups; group++) {
      largest = max(largest, numbers.of(group));
    }
    return min(largest, largest_row_byte);
  }

  static __device__ __forceinline__ float row_scale(const row_scales &scales)
  {
    return __uint_as_float(row_byte(scales) << 23);
  }
};

/* The f16 that a group's elements are multiplied by, or the weights that they meet: a power of two, which the
 * conversion makes 0 below f16's least. A byte that is more than one above the row's is of a group of zeros: 2, with
 * which no weight becomes infinite. */
__device__ __forceinline__ unsigned group_factor(unsigned byte, unsigned row_byte)
{
  int exponent = min(max(static_cast<int>(byte) - static_cast<int>(row_byte), -30), 1);
  unsigned bits = byte == e8m0_nan ? 0x7fffffffu : static_cast<unsigned>(exponent + 127) << 23;
  return ptx::cvt_f16x2(__uint_as_float(bits), 0.0f);
}

/* The factors of a row's groups, f16, two to a word. */
template <class K>
struct group_factors {
  unsigned pair[(K::num_groups + 1) / 2];

  __device__ __forceinline__ unsigned short of(unsigned group) const
  {
    return static_cast<unsigned short>(pair[group / 2] >> group % 2 * 16);
  }
};

/* Whether they are the f16 that their exponents alone make. Not where a byte is NaN, whose number is 0. */
constexpr unsigned f16_bias = 15, f16_exponent_shift = 10;
template <class K>
__device__ __forceinline__ bool has_near_groups(const typename K::row_scales &scales, unsigned row_byte)
{
  typename K::row_scales numbers = numbers_of(scales);
  unsigned least = row_byte;
#pragma unroll
  for (unsigned group = 0; group < K::num_groups; group++) {
    least = min(least, numbers.of(group));
  }
  return row_byte >= f16_bias && least + f16_bias > row_byte;
}

/* Then they are right. */
template <class K>
__device__ __forceinline__ group_factors<K> near_group_factors(const typename K::row_scales &scales, unsigned row_byte)
{
  group_factors<K> factors;
#pragma unroll
  for (unsigned i = 0; i < (K::num_groups + 1) / 2; i++) {
    unsigned word = scales.w[i / 2];
    unsigned bytes = i % 2 == 0                  ? ptx::prmt<0x4140>(word)
                     : 2 * i + 1 < K::num_groups ? ptx::prmt<0x4342>(word)
                                                 : ptx::prmt<0x4242>(word);
    factors.pair[i] = (bytes + (f16_bias - row_byte) * 0x10001u) << f16_exponent_shift;
  }
  return factors;
}

/* Two elements of a tail to f16 in the row's unit, each by one over the row's scale. */
__device__ __forceinline__ unsigned narrow_tail(unsigned bf16x2, unsigned factor_bf16x2)
{
  unsigned x = ptx::mul_bf16x2(bf16x2, factor_bf16x2);
  return ptx::cvt_f16x2(ptx::low_of_bf16x2(x), ptx::high_of_bf16x2(x));
}

/* What has been seen of tails, with two elements more: whether one is infinite or NaN, whose exponent is all ones. */
__device__ __forceinline__ unsigned note_too_large(unsigned f16x2, unsigned seen)
{
  return seen | ((f16x2 & 0x7c007c00u) + 0x04000400u);
}
__device__ __forceinline__ bool has_too_large(unsigned seen)
{
  return (seen & 0x80008000u) != 0;
}
//: end
} // namespace swa::kv

#endif
