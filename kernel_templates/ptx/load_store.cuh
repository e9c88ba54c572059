/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and prefetches. PTX ISA 8.x, sections ld, ld.global.nc, st, prefetch, ldmatrix. */
#ifndef SWA_PTX_LOAD_STORE_CUH
#define SWA_PTX_LOAD_STORE_CUH

namespace swa::ptx
{
struct alignas(16) words4 {
  unsigned w[4];
};

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ words4 ld_global_nc_v4(const void *address)
{
  words4 r;
  asm volatile("ld.global.nc.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
               : "l"(address));
  return r;
}

/* From L2: what another SM wrote in this launch. */
__device__ __forceinline__ words4 ld_global_cg_v4(const void *address)
{
  words4 r;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
               : "l"(address)
               : "memory");
  return r;
}

__device__ __forceinline__ void st_global_v4(void *address, const words4 &value)
{
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.w[0]), "r"(value.w[1]),
               "r"(value.w[2]), "r"(value.w[3])
               : "memory");
}

__device__ __forceinline__ void st_global_v2(void *address, unsigned x, unsigned y)
{
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(x), "r"(y) : "memory");
}

__device__ __forceinline__ void st_global_u32(void *address, unsigned value)
{
  asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void prefetch_global_l2(const void *address)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

__device__ __forceinline__ words4 ld_shared_v4(unsigned address)
{
  words4 r;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
               : "r"(address)
               : "memory");
  return r;
}

struct alignas(8) words2 {
  unsigned w[2];
};

__device__ __forceinline__ words2 ld_shared_v2(unsigned address)
{
  words2 r;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(r.w[0]), "=r"(r.w[1]) : "r"(address) : "memory");
  return r;
}

__device__ __forceinline__ void st_shared_u32(unsigned address, unsigned value)
{
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void st_shared_v4(unsigned address, const words4 &value)
{
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.w[0]), "r"(value.w[1]),
               "r"(value.w[2]), "r"(value.w[3])
               : "memory");
}

/* Four 8x8 matrices of 16-bit elements; lane i gives the address of row i. */
__device__ __forceinline__ words4 ldmatrix_x4(unsigned address)
{
  words4 r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
               : "r"(address)
               : "memory");
  return r;
}

__device__ __forceinline__ words4 ldmatrix_x4_trans(unsigned address)
{
  words4 r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
               : "r"(address)
               : "memory");
  return r;
}
} // namespace swa::ptx

#endif
