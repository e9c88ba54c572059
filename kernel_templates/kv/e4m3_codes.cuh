/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e4m3 bytes to f16 (OCP 8-bit floating point specification, 2023, E4M3: no infinity, NaN is 0x7f and 0xff), which is
 * exact; for every KV format that has them.
 *
 * Where there is no instruction for it (before sm_89): an e4m3 byte's sign, exponent and mantissa, moved to an
 * f16's places, are its value * 2^-8 (biases 7 and 15), subnormals too. One product by 2^8 is exact for the 254
 * finite codes; the two NaN codes come out as +-480, so they are looked for apart. Where K and V share a row the
 * caller makes the token NaN: such a row reaches every score of its position and by the sum every element of every
 * head. In a row of V alone a NaN code is mended where it stands.
 */
#ifndef SWA_KV_E4M3_CODES_CUH
#define SWA_KV_E4M3_CODES_CUH

#include "../ptx/convert.cuh"
#include "../swa_config.cuh"

namespace swa::kv
{
//: if with_codes
/* Bit 7 of a byte of the result is set where word's byte is a NaN code. */
__device__ __forceinline__ unsigned nan_codes_of(unsigned word)
{
  return (word & 0x7f7f7f7fu) + 0x01010101u;
}
constexpr unsigned nan_code_bits = 0x80808080u;

struct codes {
  static constexpr bool is_bf16 = false;

  /* Bytes 0 and 1 to low, bytes 2 and 3 to high, as f16x2. */
  static __device__ __forceinline__ void widen(unsigned word, unsigned &low, unsigned &high)
  {
#if __CUDA_ARCH__ >= 890
    ptx::cvt_f16x2_e4m3x4(word, low, high);
#else
    constexpr unsigned f16x2_two_pow_8 = 0x5c005c00u;
    /* Each byte below its own sign, eight times: a shift then brings both to an f16's places. */
    low = ptx::mul_f16x2((ptx::prmt<0x9180>(word) << 7) & 0xbf80bf80u, f16x2_two_pow_8);
    high = ptx::mul_f16x2((ptx::prmt<0xb3a2>(word) << 7) & 0xbf80bf80u, f16x2_two_pow_8);
#endif
  }

  /* Of V, bytes 0 and 2 to low, bytes 1 and 3 to high: a transposing load has pairs of a row's bytes side by side. */
  static __device__ __forceinline__ void widen_v(unsigned word, unsigned &low, unsigned &high)
  {
#if __CUDA_ARCH__ >= 890
    ptx::cvt_f16x2_e4m3x4_of_pairs(word, low, high);
#else
    word = ptx::prmt<0x3120>(word);
    widen(word, low, high);
#endif
    if constexpr (has_nan_codes_apart && has_own_v) {
      unsigned nan = nan_codes_of(word) & nan_code_bits;
      if (nan != 0) {
        low |= ((nan & 0x80u) != 0 ? 0x7fffu : 0u) | ((nan & 0x8000u) != 0 ? 0x7fff0000u : 0u);
        high |= ((nan & 0x800000u) != 0 ? 0x7fffu : 0u) | ((nan & 0x80000000u) != 0 ? 0x7fff0000u : 0u);
      }
    }
  }

  static __device__ __forceinline__ unsigned nan_codes(unsigned word)
  {
    return nan_codes_of(word) & nan_code_bits;
  }
};
//: end
} // namespace swa::kv

#endif
