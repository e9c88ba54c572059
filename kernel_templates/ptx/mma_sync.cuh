/* SPDX-License-Identifier: Apache-2.0 */
/* Warp-wide matrix product. PTX ISA 8.x, section mma.sync, m16n8k16 with fp32 sums. */
#ifndef SWA_PTX_MMA_SYNC_CUH
#define SWA_PTX_MMA_SYNC_CUH

namespace swa::ptx
{
/* c += a * b. With g = lane / 4 and q = lane % 4: a holds rows g, g + 8, g, g + 8 at k = 2q, 2q, 2q + 8, 2q + 8; b
 * holds column g at k = 2q and 2q + 8; c holds row g at columns 2q, 2q + 1, then row g + 8 at the same. */
__device__ __forceinline__ void mma_m16n8k16_f16(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                 unsigned b0, unsigned b1)
{
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* The same of bf16. */
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                  unsigned b0, unsigned b1)
{
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* Either, by the operands. */
template <bool is_bf16>
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                             unsigned b0, unsigned b1)
{
  if constexpr (is_bf16) {
    mma_m16n8k16_bf16(c, a0, a1, a2, a3, b0, b1);
  } else {
    mma_m16n8k16_f16(c, a0, a1, a2, a3, b0, b1);
  }
}
} // namespace swa::ptx

#endif
