/* SPDX-License-Identifier: Apache-2.0 */
/* Thread block clusters: their barrier, and stores to the shared memory of another CTA of which an mbarrier there
 * hears. PTX ISA 8.x, sections barrier.cluster, mapa, st.async, mbarrier, fence.mbarrier_init; sm_90 on. */
#ifndef SWA_PTX_CLUSTER_CUH
#define SWA_PTX_CLUSTER_CUH

#include "load_store.cuh"

namespace swa::ptx
{
/* Relaxed: what must be seen behind the barrier has a fence of its own. */
__device__ __forceinline__ void barrier_cluster_arrive_relaxed()
{
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void barrier_cluster_wait()
{
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* A shared address as it is in CTA `rank` of the cluster. */
__device__ __forceinline__ unsigned mapa(unsigned shared, unsigned rank)
{
  unsigned r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(shared), "r"(rank));
  return r;
}

/* One arrival, and so many bytes, complete its first phase. The whole cluster may use it once past the barrier. */
__device__ __forceinline__ void mbarrier_init_expecting(unsigned mbarrier, unsigned bytes)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(mbarrier) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mbarrier), "r"(bytes) : "memory");
}

/* Until its first phase is complete; what other CTAs stored can then be read. */
__device__ __forceinline__ void mbarrier_wait_cluster(unsigned mbarrier)
{
  unsigned is_done;
  do {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], 0;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}"
                 : "=r"(is_done)
                 : "r"(mbarrier)
                 : "memory");
  } while (is_done == 0);
}

/* 16 and 8 bytes to an address that mapa gave, told to an mbarrier of the same CTA. */
__device__ __forceinline__ void st_async_v4(unsigned address, const words4 &value, unsigned mbarrier)
{
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "r"(value.w[0]), "r"(value.w[1]), "r"(value.w[2]), "r"(value.w[3]), "r"(mbarrier)
      : "memory");
}

__device__ __forceinline__ void st_async_v2(unsigned address, unsigned x, unsigned y, unsigned mbarrier)
{
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(address),
               "r"(x), "r"(y), "r"(mbarrier)
               : "memory");
}
} // namespace swa::ptx

#endif
