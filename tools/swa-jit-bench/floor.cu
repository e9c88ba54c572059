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
constexpr int num_warps = num_threads / 32;

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

/* Row l of a warp is position l * num_warps + warp: one load by its lanes gives the slots of 32 rows. */
__device__ void gather_rows(uint4 *shared, const uint4 *kv, const int *indices)
{
  int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  for (int first = 0; first < WINDOW_SIZE; first += num_threads) {
    int position = first + lane * num_warps + warp;
    int slot = position < WINDOW_SIZE ? indices[position] : 0;
#pragma unroll 16
    for (int l = 0; l < 32 && first + l * num_warps + warp < WINDOW_SIZE; l++) {
      long long source = static_cast<long long>(__shfl_sync(0xffffffffu, slot, l)) * kv_chunks;
      int row = first + l * num_warps + warp;
      for (int chunk = lane; chunk < kv_chunks; chunk += 32) {
        copy_async(shared + row * kv_chunks + chunk, kv + source + chunk);
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
#pragma unroll 8
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
