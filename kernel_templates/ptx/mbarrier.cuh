/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers. PTX ISA 8.x, sections bar.sync, mbarrier.init and mbarrier.test_wait (sm_80 has no try_wait). */
#ifndef SWA_PTX_MBARRIER_CUH
#define SWA_PTX_MBARRIER_CUH

namespace swa::ptx
{
__device__ __forceinline__ void bar_sync(unsigned barrier, unsigned threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ __forceinline__ void mbarrier_init(unsigned barrier, unsigned arrivals)
{
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ bool mbarrier_test_wait_parity(unsigned barrier, unsigned parity)
{
  unsigned done;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "}"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done != 0;
}
} // namespace swa::ptx

#endif
