/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KV format e4m3_slot: head_dim e4m3 bytes a slot (OCP 8-bit floating point specification, 2023, E4M3: no
 * infinity, NaN is 0x7f and 0xff) and one scale a slot. The scale multiplies the whole row, so it goes to the
 * score and to the weight: an element is only widened to f16, which is exact.
 *
 * Where there is no instruction for it (before sm_89): an e4m3 byte's sign, exponent and mantissa, moved to an
 * f16's places, are its value * 2^-8 (biases 7 and 15), subnormals too. One product by 2^8 is exact for the 254
 * finite codes; the two NaN codes come out as +-480, so they are looked for apart and the caller makes the token
 * NaN: K and V share a row, so a NaN in it reaches every score of the position and by the sum every element of
 * every head.
 */
#ifndef SWA_KV_E4M3_SLOT_CUH
#define SWA_KV_E4M3_SLOT_CUH

#include "../ptx/convert.cuh"
#include "../swa_config.cuh"

namespace swa::kv
{
#if __CUDA_ARCH__ >= 890
constexpr bool has_nan_codes_apart = false;

/* Bytes 0 and 1 to low, bytes 2 and 3 to high, as f16x2. */
__device__ __forceinline__ void widen(unsigned word, unsigned &low, unsigned &high)
{
  ptx::cvt_f16x2_e4m3x4(word, low, high);
}
#else
constexpr bool has_nan_codes_apart = true;
constexpr unsigned f16x2_two_pow_8 = 0x5c005c00u;

__device__ __forceinline__ void widen(unsigned word, unsigned &low, unsigned &high)
{
  /* Each byte below its own sign, eight times: a shift then brings both to an f16's places. */
  low = ptx::mul_f16x2((ptx::prmt<0x9180>(word) << 7) & 0xbf80bf80u, f16x2_two_pow_8);
  high = ptx::mul_f16x2((ptx::prmt<0xb3a2>(word) << 7) & 0xbf80bf80u, f16x2_two_pow_8);
}
#endif

/* Bit 7 of a byte of the result is set where word's byte is a NaN code. */
__device__ __forceinline__ unsigned nan_codes(unsigned word)
{
  return (word & 0x7f7f7f7fu) + 0x01010101u;
}
constexpr unsigned nan_code_bits = 0x80808080u;

/* The scale of a slot. */
__device__ __forceinline__ float slot_scale(const void *inv_scale, unsigned slot)
{
  if constexpr (scale_is_bf16) {
    return __uint_as_float(static_cast<unsigned>(static_cast<const unsigned short *>(inv_scale)[slot]) << 16);
  } else {
    return static_cast<const float *>(inv_scale)[slot];
  }
}
} // namespace swa::kv

#endif
