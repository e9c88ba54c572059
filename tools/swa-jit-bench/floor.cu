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
  constexpr int warp_rows = (WINDOW_SIZE + num_warps - 1) / num_warps, step_rows = warp_rows < 32 ? warp_rows : 32;
  int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (int first = 0; first < warp_rows; first += step_rows) {
    int position = (first + lane) * num_warps + warp;
    int slot = position < WINDOW_SIZE ? indices[position] : 0;
#pragma unroll
    for (int l = 0; l < step_rows; l++) {
      int row = (first + l) * num_warps + warp;
      const uint4 *source = kv + static_cast<long long>(__shfl_sync(0xffffffffu, slot, l)) * kv_chunks;
      if (WINDOW_SIZE % (step_rows * num_warps) == 0 || row < WINDOW_SIZE) {
        for (int chunk = lane; chunk < kv_chunks; chunk += 32) {
          copy_async(shared + row * kv_chunks + chunk, source + chunk);
        }
      }
    }
  }
}

/* chunks of q in, the KV rows in, as many chunks of out. num_chunks: known when compiled, or 0. */
template <int num_chunks>
__device__ void move_chunks(uint4 *shared, const uint4 *q, const uint4 *kv, const int *indices, uint4 *out, int chunks)
{
  int end = num_chunks != 0 ? num_chunks : chunks;
#pragma unroll(num_chunks != 0 ? num_chunks / num_threads : 1)
  for (int i = static_cast<int>(threadIdx.x); i < end; i += num_threads) {
    copy_async(shared + i, q + i);
  }
  gather_rows(shared + end, kv, indices);
  wait_for_copies(); /* each thread stores the chunks that it loaded: no barrier is needed */
#pragma unroll(num_chunks != 0 ? num_chunks / num_threads : 1)
  for (int i = static_cast<int>(threadIdx.x); i < end; i += num_threads) {
    out[i] = shared[i];
  }
}

template <int head_group>
__device__ void move(const uint4 *q, const uint4 *kv, const int *indices, uint4 *out, unsigned num_heads)
{
  constexpr int group_chunks = head_group * q_chunks;
  extern __shared__ uint4 shared[]; /* q rows, then window_size KV rows */
  unsigned token = blockIdx.y, head = blockIdx.x * head_group;
  long long offset = (static_cast<long long>(token) * num_heads + head) * q_chunks;
  const int *row = indices + static_cast<long long>(token) * WINDOW_SIZE;
  if (num_heads - head >= head_group) {
    constexpr int whole = group_chunks % num_threads == 0 ? group_chunks : 0;
    move_chunks<whole>(shared, q + offset, kv, row, out + offset, group_chunks);
  } else {
    move_chunks<0>(shared, q + offset, kv, row, out + offset, static_cast<int>(num_heads - head) * q_chunks);
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
