/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies of 16 bytes, global to shared. PTX ISA 8.x, sections cp.async, cp.async.commit_group and
 * cp.async.wait_group. */
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

/* This thread's copies since the last call are one group. */
__device__ __forceinline__ void cp_async_commit_group()
{
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until all but this thread's latest `most_pending` groups have landed. */
template <unsigned most_pending>
__device__ __forceinline__ void cp_async_wait_group()
{
  asm volatile("cp.async.wait_group %0;" ::"n"(most_pending) : "memory");
}
} // namespace swa::ptx

#endif
