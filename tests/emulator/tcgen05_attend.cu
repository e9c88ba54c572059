/* SPDX-License-Identifier: Apache-2.0 */
/* The two products of attention without the softmax between them, see test_tcgen05_attend.c: for each tile of 64 rows
 * of keys, S = Q K^T, P = S / 8 as bf16, O += P K. Roles: warps 0 to 3 turn S into P, a thread of warp 4 issues the
 * products, warp 5 loads keys. S and P have two places each in tensor memory, keys two in shared memory; P is the left
 * operand from tensor memory, and the same keys are K-major for S and MN-major for O. The macros leave something
 * out. */
enum { HEADS = 128, DIM = 64, KEYS = 64, TILES = 6, ROW_BYTES = 2 * DIM };
/* Columns of tensor memory. */
enum { O_AT = 0, S_AT = 64, P_AT = 192, COLUMNS = 256 };
/* Bytes of shared memory, from the swizzle patterns' boundary on. */
enum { Q_AT = 1024, K_AT = Q_AT + HEADS * ROW_BYTES, K_BYTES = KEYS * ROW_BYTES };

__device__ void multiply_tensor(u32 d, u32 a, u64 b, u32 how, u32 adds)
{
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n}" ::"r"(d),
               "r"(a), "l"(b), "r"(how), "r"(adds)
               : "memory");
}

struct bars {
  u32 k_full, k_empty, s_full, p_full, done;
};

__device__ void load_keys(const bars &at, unsigned char *shared, const u16 *keys, int lane)
{
  for (int t = 0; t < TILES; t++) {
    const u32 stage = t % 2, turn = t / 2 & 1;
#ifndef NO_K_EMPTY
    wait(at.k_empty + 8 * stage, turn ^ 1);
#endif
    fill(shared + K_AT + stage * K_BYTES, keys + t * KEYS * DIM, DIM, KEYS, lane, 32);
    proxy_fence();
    arrive(at.k_full + 8 * stage);
  }
}

__device__ void issue_scores(const bars &at, u32 tensor, u32 shared, int t)
{
  const u32 stage = t % 2, keys = shared + K_AT + stage * K_BYTES;
#ifndef NO_K_FULL
  wait(at.k_full + 8 * stage, t / 2 & 1);
#endif
  for (int k = 0; k < DIM / 16; k++) {
    multiply(tensor + S_AT + stage * KEYS, descriptor(shared + Q_AT + 32 * k), descriptor(keys + 32 * k),
             instruction(HEADS, KEYS, 0), k > 0);
  }
  commit(at.s_full + 8 * stage);
}

__device__ void issue_values(const bars &at, u32 tensor, u32 shared, int t)
{
  const u32 stage = t % 2, keys = shared + K_AT + stage * K_BYTES;
#ifndef NO_P_WAIT
  wait(at.p_full + 8 * stage, t / 2 & 1);
#endif
  after();
  for (int k = 0; k < KEYS / 16; k++) { /* 16 rows of keys: two patterns of eight */
    multiply_tensor(tensor + O_AT, tensor + P_AT + stage * 32 + 8 * k, descriptor(keys + 2048 * k),
                    instruction(HEADS, DIM, 1), t > 0 || k > 0);
  }
  commit(at.k_empty + 8 * stage);
}

__device__ void issue(const bars &at, u32 tensor, u32 shared)
{
  issue_scores(at, tensor, shared, 0);
  for (int t = 0; t < TILES; t++) {
    if (t + 1 < TILES) {
      issue_scores(at, tensor, shared, t + 1);
    }
    issue_values(at, tensor, shared, t);
  }
  commit(at.done);
}

__device__ u32 pair(u32 low, u32 high)
{
  u32 both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
      : "=r"(both)
      : "f"(__uint_as_float(high) * 0.125f), "f"(__uint_as_float(low) * 0.125f));
  return both;
}

/* A warp's 32 rows; eight columns of S become four of P. */
__device__ void convert(const bars &at, u32 tensor, int warp)
{
  const u32 rows = tensor + (warp << 21);
  for (int t = 0; t < TILES; t++) {
    const u32 stage = t % 2;
#ifndef NO_S_WAIT
    wait(at.s_full + 8 * stage, t / 2 & 1); /* all issued before is over too: the product that read P's place last */
#endif
    after();
    for (u32 first = 0; first < KEYS; first += 8) {
      u32 r[8];
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                   : "r"(rows + S_AT + stage * KEYS + first));
      asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
      asm volatile(
          "tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};" ::"r"(rows + P_AT + stage * 32 + first / 2),
          "r"(pair(r[0], r[1])), "r"(pair(r[2], r[3])), "r"(pair(r[4], r[5])), "r"(pair(r[6], r[7]))
          : "memory");
    }
#ifndef NO_ST_WAIT
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
#endif
    before();
    arrive(at.p_full + 8 * stage);
  }
}

extern "C" __global__ void __launch_bounds__(192) attend(unsigned char *data)
{
  extern __shared__ __align__(1024) unsigned char shared[];
  const u16 *const q = (const u16 *)data, *const keys = q + HEADS * DIM;
  float *const o = (float *)(keys + TILES * KEYS * DIM);
  const int thread = threadIdx.x, warp = thread / 32;
  u32 *const column = (u32 *)shared;
  const u32 first = shared_address(shared) + 16;
  const bars at = {first, first + 16, first + 32, first + 48, first + 64};
  if (thread == 0) {
    for (u32 stage = 0; stage < 2; stage++) {
      init(at.k_full + 8 * stage, 32);
      init(at.k_empty + 8 * stage, 1);
      init(at.s_full + 8 * stage, 1);
      init(at.p_full + 8 * stage, HEADS);
    }
    init(at.done, 1);
  }
  if (warp == 4) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(shared_address(column))
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  fill(shared + Q_AT, q, DIM, HEADS, thread, 192);
  proxy_fence();
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  after();
  const u32 tensor = *(volatile u32 *)column;
  if (warp < 4) {
    convert(at, tensor, warp);
    wait(at.done, 0);
    after();
    store_rows(o + thread * DIM, tensor + (warp << 21) + O_AT, DIM);
  } else if (thread == 128) {
    issue(at, tensor, shared_address(shared));
  } else if (warp == 5) {
    load_keys(at, shared, keys, thread % 32);
  }
  __syncthreads();
  if (warp == 4) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(tensor));
  }
}
