/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a product, see test_tcgen05_gemm.c. The macros leave something out, or do it wrong. */
enum { M = 128, N = 128, TILE = 64, TILES = 5, K = TILE * TILES, STAGE = 32768 };
#ifndef PHASE
#define PHASE(t) (((t) / 2 & 1) ^ 1)
#endif
#ifndef ACCUMULATE
#define ACCUMULATE(t, k) ((t) > 0 || (k) > 0)
#endif

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
      fill(stages + t % 2 * STAGE, a + t * TILE, K, 128, thread, 128);
      fill(stages + t % 2 * STAGE + 16384, b + t * TILE, K, 128, thread, 128);
      proxy_fence();
      arrive(full + 8 * (t % 2));
    }
#ifndef NO_DONE_WAIT
    wait(done, 0);
#endif
    after();
    store_rows(d + thread * N, tensor + (warp << 21), N);
    before();
  } else if (thread == 128) {
    for (int t = 0; t < TILES; t++) {
#ifndef NO_FULL_WAIT
      wait(full + 8 * (t % 2), t / 2 & 1);
#endif
      after();
      const u32 at = shared_address(stages + t % 2 * STAGE);
      for (int k = 0; k < TILE / 16; k++) {
        multiply(tensor, descriptor(at + 32 * k), descriptor(at + 16384 + 32 * k), instruction(M, N, 0),
                 ACCUMULATE(t, k));
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
