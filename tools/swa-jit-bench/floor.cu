/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that decode is measured against. bench_floor_<head_group> makes the loads and stores of a decode step and
 * no arithmetic: one CTA per (head group, token) gathers the group's q rows and the token's KV rows into shared memory
 * by 16-byte cp.async, waits once, and stores as many bytes as out has. bench_copy reads and writes what it is told.
 * Compiled at run time; head_dim and window_size are macros of the compile. NVRTC has no headers: built-in types only.
 */
#ifndef HEAD_DIM
#define HEAD_DIM 512
#endif
#ifndef WINDOW_SIZE
#define WINDOW_SIZE 128
#endif

namespace bench
{

constexpr int num_threads = 256;
constexpr int q_chunks = HEAD_DIM * 2 / 16; /* 16-byte chunks of a q or out row */
constexpr int kv_chunks = HEAD_DIM / 16;    /* of a KV row */
constexpr int batch = 16;                   /* slots that a thread loads before it uses the first */

/* PTX ISA, "Data Movement and Conversion Instructions: cp.async" */
__device__ void copy_async(uint4 *shared, const uint4 *global)
{
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
}

__device__ void wait_for_copies()
{
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/* indices: the token's row. Slots are loaded a batch ahead of the copies that need them. */
__device__ void gather_rows(uint4 *shared, const uint4 *kv, const int *indices)
{
  constexpr int total = WINDOW_SIZE * kv_chunks;
  for (int first = static_cast<int>(threadIdx.x); first < total; first += batch * num_threads) {
    int slots[batch];
#pragma unroll
    for (int i = 0; i < batch; i++) {
      int chunk = first + i * num_threads;
      slots[i] = chunk < total ? indices[chunk / kv_chunks] : 0;
    }
#pragma unroll
    for (int i = 0; i < batch; i++) {
      int chunk = first + i * num_threads;
      if (chunk < total) {
        copy_async(shared + chunk, kv + static_cast<long long>(slots[i]) * kv_chunks + chunk % kv_chunks);
      }
    }
  }
}

template <int head_group>
__device__ void move(const uint4 *q, const uint4 *kv, const int *indices, uint4 *out, unsigned num_heads)
{
  extern __shared__ uint4 shared[]; /* head_group q rows, then window_size KV rows */
  unsigned token = blockIdx.y;
  unsigned head = blockIdx.x * head_group;
  unsigned heads = num_heads - head < head_group ? num_heads - head : head_group;
  long long offset = (static_cast<long long>(token) * num_heads + head) * q_chunks;
  for (unsigned i = threadIdx.x; i < heads * q_chunks; i += num_threads) {
    copy_async(shared + i, q + offset + i);
  }
  gather_rows(shared + head_group * q_chunks, kv, indices + static_cast<long long>(token) * WINDOW_SIZE);
  wait_for_copies(); /* each thread stores the chunks that it loaded: no barrier is needed */
  for (unsigned i = threadIdx.x; i < heads * q_chunks; i += num_threads) {
    out[offset + i] = shared[i];
  }
}

} // namespace bench

#define BENCH_FLOOR(head_group)                                                                                        \
  extern "C" __global__ void __launch_bounds__(bench::num_threads)                                                     \
      bench_floor_##head_group(const uint4 *q, const uint4 *kv, const int *indices, uint4 *out, unsigned num_heads)    \
  {                                                                                                                    \
    bench::move<head_group>(q, kv, indices, out, num_heads);                                                           \
  }

BENCH_FLOOR(16)
BENCH_FLOOR(32)
BENCH_FLOOR(64)
BENCH_FLOOR(128)

/* num_chunks of 16 bytes; four loads of each thread are in flight before its first store. */
extern "C" __global__ void __launch_bounds__(bench::num_threads)
    bench_copy(const uint4 *from, uint4 *to, unsigned long long num_chunks)
{
  constexpr int unroll = 4;
  unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * unroll * bench::num_threads + threadIdx.x;
  uint4 held[unroll];
#pragma unroll
  for (int i = 0; i < unroll; i++) {
    unsigned long long at = first + i * bench::num_threads;
    held[i] = at < num_chunks ? from[at] : uint4{};
  }
#pragma unroll
  for (int i = 0; i < unroll; i++) {
    unsigned long long at = first + i * bench::num_threads;
    if (at < num_chunks) {
      to[at] = held[i];
    }
  }
}
