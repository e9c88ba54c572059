/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions and elementary functions. PTX ISA 8.x, sections prmt, mul (f16x2), fma (bf16x2), cvt, ex2, lg2, rcp. */
#ifndef SWA_PTX_CONVERT_CUH
#define SWA_PTX_CONVERT_CUH

namespace swa::ptx
{
/* Four bytes chosen from value by the selector's nibbles; a nibble with bit 3 set repeats its byte's sign. */
template <unsigned selector>
__device__ __forceinline__ unsigned prmt(unsigned value)
{
  unsigned r;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(r) : "r"(value), "n"(selector));
  return r;
}

/* Of two values: nibbles 0 to 3 choose from low, 4 to 7 from high. */
template <unsigned selector>
__device__ __forceinline__ unsigned prmt(unsigned low, unsigned high)
{
  unsigned r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "n"(selector));
  return r;
}

__device__ __forceinline__ unsigned mul_f16x2(unsigned a, unsigned b)
{
  unsigned r;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}

__device__ __forceinline__ unsigned mul_bf16x2(unsigned a, unsigned b)
{
  unsigned r;
  /* mul.bf16x2 came with sm_90. */
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0x80008000u));
  return r;
}

#if __CUDA_ARCH__ >= 890
/* Bytes 0 and 1 of e4m3 to low, bytes 2 and 3 to high, exactly; NaN codes become NaN. The instruction takes either half
 * of a register, so no shift is needed. */
__device__ __forceinline__ void cvt_f16x2_e4m3x4(unsigned word, unsigned &low, unsigned &high)
{
  asm("{\n"
      ".reg .b16 first, second;\n"
      "mov.b32 {first, second}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, first;\n"
      "cvt.rn.f16x2.e4m3x2 %1, second;\n"
      "}"
      : "=r"(low), "=r"(high)
      : "r"(word));
}

/* The same of bytes 0 and 2 to low, bytes 1 and 3 to high. */
__device__ __forceinline__ void cvt_f16x2_e4m3x4_of_pairs(unsigned word, unsigned &low, unsigned &high)
{
  asm("{\n"
      ".reg .b32 even_odd;\n"
      ".reg .b16 first, second;\n"
      "prmt.b32 even_odd, %2, 0, 0x3120;\n"
      "mov.b32 {first, second}, even_odd;\n"
      "cvt.rn.f16x2.e4m3x2 %0, first;\n"
      "cvt.rn.f16x2.e4m3x2 %1, second;\n"
      "}"
      : "=r"(low), "=r"(high)
      : "r"(word));
}
#endif

/* Two floats rounded to nearest even; low comes first in memory. */
__device__ __forceinline__ unsigned cvt_f16x2(float low, float high)
{
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

__device__ __forceinline__ unsigned cvt_bf16x2(float low, float high)
{
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

__device__ __forceinline__ float ex2(float x)
{
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

__device__ __forceinline__ float lg2(float x)
{
  float r;
  asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

__device__ __forceinline__ float rcp(float x)
{
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/* The elements of a bf16x2, as floats. */
__device__ __forceinline__ float low_of_bf16x2(unsigned x)
{
  return __uint_as_float(x << 16);
}
__device__ __forceinline__ float high_of_bf16x2(unsigned x)
{
  return __uint_as_float(x & 0xffff0000u);
}
} // namespace swa::ptx

#endif
