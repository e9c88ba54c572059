/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a product, see test_tcgen05_gemm.c. The macros leave something out, or do it wrong. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
enum { M = 128, N = 128, TILE = 64, TILES = 5, K = TILE * TILES, STAGE = 32768 };
#ifndef PHASE
#define PHASE(t) (((t) / 2 & 1) ^ 1)
#endif
#ifndef SWIZZLE
#define SWIZZLE 2ull
#endif
#ifndef ACCUMULATE
#define ACCUMULATE(t, k) ((t) > 0 || (k) > 0)
#endif
__device__ u32 shared_address(const void *at)
{
  return (u32)__cvta_generic_to_shared(at);
}
__device__ void init(u32 bar, u32 count)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ void arrive(u32 bar)
{
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ void wait(u32 bar, u32 parity)
{
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra AGAIN;\n}" ::"r"(bar),
               "r"(parity)
               : "memory");
}
__device__ void commit(u32 bar)
{
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
__device__ void before()
{
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ void after()
{
#ifndef NO_AFTER
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
#endif
}
__device__ u64 descriptor(u32 address)
{
  return (u64)((address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 46 | SWIZZLE << 61;
}
__device__ void multiply(u32 d, u64 a, u64 b, u32 how, u32 adds)
{
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d),
               "l"(a), "l"(b), "r"(how), "r"(adds)
               : "memory");
}
/* 64 columns of 128 rows, 16 bytes a thread and turn. */
__device__ void fill(unsigned char *to, const u16 *from, int thread)
{
  for (int i = thread; i < 128 * 8; i += 128) {
    const int row = i / 8, chunk = i % 8;
    *(uint4 *)(to + row * 128 + ((chunk ^ row % 8) * 16)) = *(const uint4 *)(from + row * K + chunk * 8);
  }
}
extern "C" __global__ void __launch_bounds__(160) gemm(unsigned char *data)
{
  extern __shared__ __align__(1024) unsigned char shared[];
  const u16 *a = (const u16 *)data, *b = a + M * K;
  float *d = (float *)(b + N * K);
  const int thread = threadIdx.x, warp = thread / 32;
  u32 *const column = (u32 *)shared;
  const u32 bars = shared_address(shared) + 16, full = bars, empty = bars + 16, done = bars + 32;
  unsigned char *const stages = shared + 1024;
  if (thread == 0) {
    for (int i = 0; i < 2; i++) {
      init(full + 8 * i, 128);
      init(empty + 8 * i, 1);
    }
    init(done, 1);
  }
  if (warp == 4) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(shared_address(column))
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  before();
  __syncthreads();
  after();
  const u32 tensor = *(volatile u32 *)column;
  if (warp < 4) {
    for (int t = 0; t < TILES; t++) {
#ifndef NO_EMPTY_WAIT
      wait(empty + 8 * (t % 2), PHASE(t));
#endif
      fill(stages + t % 2 * STAGE, a + t * TILE, thread);
      fill(stages + t % 2 * STAGE + 16384, b + t * TILE, thread);
#ifndef NO_PROXY_FENCE
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
      arrive(full + 8 * (t % 2));
    }
#ifndef NO_DONE_WAIT
    wait(done, 0);
#endif
    after();
    for (int first = 0; first < N; first += 8) {
      u32 r[8];
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                   : "r"(tensor + (warp << 21) + first));
#ifndef NO_LD_WAIT
      asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#endif
      for (int i = 0; i < 8; i++) {
        d[thread * N + first + i] = __uint_as_float(r[i]);
      }
    }
    before();
  } else if (thread == 128) {
    const u32 how = 1u << 4 | 1u << 7 | 1u << 10 | (N / 8) << 17 | (M / 16) << 24;
    for (int t = 0; t < TILES; t++) {
#ifndef NO_FULL_WAIT
      wait(full + 8 * (t % 2), t / 2 & 1);
#endif
      after();
      const u32 at = shared_address(stages + t % 2 * STAGE);
      for (int k = 0; k < TILE / 16; k++) {
        multiply(tensor, descriptor(at + 32 * k), descriptor(at + 16384 + 32 * k), how, ACCUMULATE(t, k));
      }
#ifdef EARLY_DONE
      if (t == TILES - 2) {
        commit(done);
      }
#endif
      commit(empty + 8 * (t % 2));
    }
#ifndef EARLY_DONE
    commit(done);
#endif
  }
  __syncthreads();
#ifndef NO_FREE
  if (warp == 4) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(tensor));
  }
#endif
}
