/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a product by a pair of blocks, see test_tcgen05_pair.c: each loads its half of A's rows and of B's, a
 * thread of the first multiplies both (M = 256), and each reads its rows of D. The macros leave something out. */
enum { M = 256, N = 128, TILE = 64, TILES = 5, K = TILE * TILES, A_BYTES = M / 2 * 128, STAGE = A_BYTES + N / 2 * 128 };
#ifndef MASK
#define MASK 3
#endif

__device__ u32 of_block(u32 address, u32 rank)
{
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

__device__ void arrive_there(u32 bar)
{
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}

__device__ void wait_for_all(u32 bar, u32 parity)
{
  asm volatile("{\n.reg .pred p;\nAGAIN:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra AGAIN;\n}" ::"r"(bar),
               "r"(parity)
               : "memory");
}

__device__ void commit_both(u32 bar)
{
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
      "h"((u16)MASK)
      : "memory");
}

__device__ void meet()
{
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ void issue(u32 full, u32 empty, u32 done, u32 tensor, u32 stages)
{
  for (int t = 0; t < TILES; t++) {
    wait_for_all(full + 8 * (t % 2), t / 2 & 1);
    after();
    const u32 at = stages + t % 2 * STAGE;
    for (int k = 0; k < TILE / 16; k++) {
      multiply(tensor, descriptor(at + 32 * k), descriptor(at + A_BYTES + 32 * k), instruction(M, N, 0),
               t > 0 || k > 0);
    }
    commit_both(empty + 8 * (t % 2));
  }
  commit_both(done);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160) product_pair(unsigned char *data)
{
  extern __shared__ __align__(1024) unsigned char shared[];
  const u16 *const a = (const u16 *)data, *const b = a + M * K;
  float *const d = (float *)(b + N * K);
  const int thread = threadIdx.x, warp = thread / 32, rank = blockIdx.x % 2;
  u32 *const column = (u32 *)shared;
  const u32 full = shared_address(shared) + 16, empty = full + 16, done = full + 32;
  unsigned char *const stages = shared + 1024;
  if (thread == 0) {
    for (int i = 0; i < 2; i++) {
#ifdef HALF_FULL
      init(full + 8 * i, 128);
#else
      init(full + 8 * i, 256);
#endif
      init(empty + 8 * i, 1);
    }
    init(done, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 4) {
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(shared_address(column))
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
  }
  before();
  meet();
  after();
  const u32 tensor = *(volatile u32 *)column;
  if (warp < 4) {
    for (int t = 0; t < TILES; t++) {
      wait(empty + 8 * (t % 2), (t / 2 & 1) ^ 1);
      unsigned char *const to = stages + t % 2 * STAGE;
      fill(to, a + rank * (M / 2) * K + t * TILE, K, M / 2, thread, 128);
      fill(to + A_BYTES, b + rank * (N / 2) * K + t * TILE, K, N / 2, thread, 128);
      proxy_fence();
      arrive_there(of_block(full + 8 * (t % 2), 0));
    }
#ifndef NO_DONE_WAIT
    wait(done, 0);
#endif
    after();
    store_rows(d + (rank * (M / 2) + thread) * N, tensor + (warp << 21), N);
    before();
  } else if (thread == 128 && rank == 0) {
    issue(full, empty, done, tensor, shared_address(stages));
  }
  __syncwarp();
  meet();
  if (warp == 4) {
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 128;" ::"r"(tensor));
  }
}
