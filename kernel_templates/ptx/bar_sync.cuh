/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of some of a CTA's warps. PTX ISA 8.x, section bar.sync. */
#ifndef SWA_PTX_BAR_SYNC_CUH
#define SWA_PTX_BAR_SYNC_CUH

namespace swa::ptx
{
__device__ __forceinline__ void bar_sync(unsigned barrier, unsigned threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
} // namespace swa::ptx

#endif
