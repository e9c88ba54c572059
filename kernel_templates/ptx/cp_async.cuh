/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies of 16 bytes, global to shared. PTX ISA 8.x, sections cp.async and cp.async.mbarrier.arrive. */
#ifndef SWA_PTX_CP_ASYNC_CUH
#define SWA_PTX_CP_ASYNC_CUH

namespace swa::ptx
{
/* source_bytes 16, or 0: then the source is not read and 16 zero bytes arrive. */
__device__ __forceinline__ void cp_async_16(unsigned shared, const void *global, unsigned source_bytes)
{
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(source_bytes)
               : "memory");
}

/* One of the barrier's expected arrivals, made when this thread's copies so far have landed. */
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(unsigned barrier)
{
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
} // namespace swa::ptx

#endif
