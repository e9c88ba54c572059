/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that decode is measured against. bench_floor_<head_group>_<CTAs of an SM> makes the loads and stores of a
 * decode step and no arithmetic: a CTA takes a head group of a KV head of a token, gathers the group's q rows and the
 * token's rows of every pool into shared memory by cp.async, and stores as many bytes as out has. Rows that do not fit
 * go through a ring, each stage loaded anew once it has landed. Several CTAs may share a token's positions: each loads
 * all of q, its share of the rows, and stores its share of out. A scale a slot is not loaded; footers are.
 * bench_copy reads and writes what it is told.
 *
 * Compiled at run time; the shapes are macros of the compile. NVRTC has no headers: built-in types only.
 */
#ifndef HEAD_DIM /* the usual problem */
#define HEAD_DIM 512
#define OUT_DIM 512
#define NUM_KV_HEADS 1
#define SHARED_BYTES 232448 /* most of a CTA */
#define WINDOW_SIZE 128
#define K_ROW_BYTES 512
#define K_SCALE_BYTES 0 /* of a scale row; 0: no footer */
#define K_BLOCK_SIZE 64
#define K_BLOCK_BYTES 32768
#define V_ROW_BYTES 0 /* no pool of V's own */
#define V_BLOCK_BYTES 0
#define EXTRA_SIZE 0 /* no extra scope */
#define EXTRA_ROW_BYTES 0
#define EXTRA_SCALE_BYTES 0
#define EXTRA_BLOCK_SIZE 1
#define EXTRA_BLOCK_BYTES 0
#endif

namespace bench
{

constexpr int num_threads = 256, num_warps = num_threads / 32;
constexpr int q_chunks = HEAD_DIM * 2 / 16, out_chunks = OUT_DIM * 2 / 16; /* 16-byte chunks of a row */
constexpr int stage_rows = 8;                                              /* of a warp's stage of the ring */
constexpr int round_rows = 32;                                             /* of a warp, whose indices are one load */

template <int row_bytes_, int scale_bytes_, int block_size_, long long block_bytes_>
struct pool {
  static constexpr int row_bytes = row_bytes_, scale_bytes = scale_bytes_, block_size = block_size_;
  static constexpr long long block_bytes = block_bytes_;
  static constexpr int stage_bytes = stage_rows * (row_bytes + scale_bytes);
};
using k_pool = pool<K_ROW_BYTES, K_SCALE_BYTES, K_BLOCK_SIZE, K_BLOCK_BYTES>;
using v_pool = pool<V_ROW_BYTES, 0, K_BLOCK_SIZE, V_BLOCK_BYTES>;
using extra_pool = pool<EXTRA_ROW_BYTES, EXTRA_SCALE_BYTES, EXTRA_BLOCK_SIZE, EXTRA_BLOCK_BYTES>;
using no_pool = pool<0, 0, 1, 0>;

__device__ constexpr int larger(int a, int b)
{
  return a > b ? a : b;
}

/* How often a warp fills a stage for so many positions. */
__device__ constexpr int count_stages(int positions)
{
  return ((positions + num_warps - 1) / num_warps + stage_rows - 1) / stage_rows;
}

constexpr int stage_bytes = larger(k_pool::stage_bytes, larger(v_pool::stage_bytes, extra_pool::stage_bytes));
constexpr int all_stages = count_stages(WINDOW_SIZE) * (V_ROW_BYTES != 0 ? 2 : 1) + count_stages(EXTRA_SIZE);

/* Stages of each warp's ring; 0: a CTA's share of the memory does not hold one. kernels.c has the same. */
__device__ constexpr int ring_stages(int head_group, int ctas)
{
  int bytes = (ctas == 1 ? SHARED_BYTES : (SHARED_BYTES + 1024) / 2 - 1024) - head_group * q_chunks * 16;
  int stages = bytes < 0 ? 0 : bytes / (num_warps * stage_bytes);
  return stages < all_stages ? stages : all_stages;
}

/* PTX ISA, "Data Movement and Conversion Instructions: cp.async" */
template <int bytes>
__device__ void copy_async(unsigned shared, const char *global)
{
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(bytes) : "memory");
  }
}

template <int newest>
__device__ void wait_for_all_but()
{
  asm volatile("cp.async.wait_group %0;" ::"n"(newest) : "memory");
}

__device__ const char *shuffle(const char *pointer, int lane)
{
  return reinterpret_cast<const char *>(__shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(pointer), lane));
}

/* A warp's stages. */
template <int num_stages>
struct ring {
  unsigned address; /* of this warp's first */
  int stage = 0;
  bool is_full = false;

  __device__ unsigned next()
  {
    unsigned at = address + static_cast<unsigned>(stage * num_warps * stage_bytes);
    if (num_stages < all_stages && is_full) { /* else every stage is filled once */
      wait_for_all_but<(num_stages > 0 ? num_stages - 1 : 0)>();
      __syncwarp();
    }
    stage++;
    if (stage == num_stages) {
      stage = 0;
      is_full = true;
    }
    return at;
  }
};

/* Rows first to first + count of those whose addresses the lanes hold, into a stage. */
template <class Pool>
__device__ void copy_stage(unsigned to, const char *row, const char *scales, int first, int count)
{
  constexpr int chunks = Pool::row_bytes / 16, copies = (stage_rows * chunks + 31) / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < copies; i++) {
    int at = i * 32 + lane;
    const char *source = shuffle(row, (first + at / chunks) % 32);
    if (at / chunks < count) {
      copy_async<16>(to + at * 16, source + at % chunks * 16);
    }
  }
  if constexpr (Pool::scale_bytes != 0) {
    const char *source = shuffle(scales, (first + lane) % 32);
    if (lane < count) {
      copy_async<Pool::scale_bytes>(to + stage_rows * Pool::row_bytes + lane * Pool::scale_bytes, source);
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Positions begin to end of a scope. Row l of a warp is position l * num_warps + warp: one load by its lanes gives the
 * slots of 32 rows. */
template <class K, class V, class Ring>
__device__ void gather(Ring &stages, const char *k, const char *v, const int *indices, int begin, int end, int kv_head)
{
  int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int position = begin + lane * num_warps + warp;
  int next_slot = position < end ? indices[position] : 0;
#pragma unroll 1
  for (int first = begin + warp; first < end; first += round_rows * num_warps) {
    int slot = next_slot, block = slot / K::block_size, in_block = slot % K::block_size;
    const char *k_block = k + block * K::block_bytes;
    const char *k_row = k_block + static_cast<long long>(in_block * NUM_KV_HEADS + kv_head) * K::row_bytes;
    const char *scales = k_block + static_cast<long long>(K::block_size) * K::row_bytes + in_block * K::scale_bytes;
    const char *v_row =
        v + block * V::block_bytes + static_cast<long long>(in_block * NUM_KV_HEADS + kv_head) * V::row_bytes;
    int rows = (end - first + num_warps - 1) / num_warps;
    position += round_rows * num_warps;
    next_slot = position < end ? indices[position] : 0;
#pragma unroll 1
    for (int row = 0; row < round_rows && row < rows; row += stage_rows) {
      copy_stage<K>(stages.next(), k_row, scales, row, rows - row < stage_rows ? rows - row : stage_rows);
      if constexpr (V::row_bytes != 0) {
        copy_stage<V>(stages.next(), v_row, nullptr, row, rows - row < stage_rows ? rows - row : stage_rows);
      }
    }
  }
}

struct tensors {
  const char *q, *k, *v, *extra;
  const int *indices, *extra_indices;
  uint4 *out;
  unsigned num_heads, num_splits;
};

/* The part of `size` that falls to this CTA begins here. */
__device__ int share_begin(int size, unsigned split, unsigned num_splits)
{
  return static_cast<int>(static_cast<unsigned>(size) * split / num_splits);
}

template <int num_stages>
__device__ void gather_all(const tensors &t, unsigned ring_address, unsigned token, int kv_head)
{
  unsigned split = blockIdx.z, n = t.num_splits;
  unsigned warp = threadIdx.x / 32;
  ring<num_stages> stages{ring_address + warp * static_cast<unsigned>(stage_bytes)};
  gather<k_pool, v_pool>(stages, t.k, t.v, t.indices + static_cast<long long>(token) * WINDOW_SIZE,
                         share_begin(WINDOW_SIZE, split, n), share_begin(WINDOW_SIZE, split + 1, n), kv_head);
  if constexpr (EXTRA_SIZE != 0) {
    gather<extra_pool, no_pool>(stages, t.extra, nullptr, t.extra_indices + static_cast<long long>(token) * EXTRA_SIZE,
                                share_begin(EXTRA_SIZE, split, n), share_begin(EXTRA_SIZE, split + 1, n), 0);
  }
}

/* num_heads rows of q in, the rows of KV in, as many rows of out. known_heads: num_heads, or 0: known at run time. */
template <int known_heads, int num_stages, int head_group>
__device__ void move_rows(const tensors &t, uint4 *shared, long long first_row, int num_heads, unsigned token,
                          int kv_head)
{
  constexpr bool is_whole =
      known_heads * q_chunks % num_threads == 0 && known_heads * out_chunks % num_threads == 0 && known_heads != 0;
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const char *q = t.q + first_row * q_chunks * 16;
  uint4 *out = t.out + first_row * out_chunks;
  int heads = is_whole ? known_heads : num_heads;
#pragma unroll(is_whole ? known_heads *q_chunks / num_threads : 1)
  for (int i = static_cast<int>(threadIdx.x); i < heads * q_chunks; i += num_threads) {
    copy_async<16>(address + i * 16, q + i * 16);
  }
  gather_all<num_stages>(t, address + head_group * q_chunks * 16, token, kv_head);
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (out_chunks > q_chunks) {
    __syncthreads(); /* else each thread stores chunks that it loaded */
  }
  int begin = share_begin(heads * out_chunks, blockIdx.z, t.num_splits);
  int end = share_begin(heads * out_chunks, blockIdx.z + 1, t.num_splits);
#pragma unroll(is_whole ? known_heads *out_chunks / num_threads : 1)
  for (int i = static_cast<int>(threadIdx.x); i < heads * out_chunks; i += num_threads) {
    if (i >= begin && i < end) {
      out[i] = shared[out_chunks > q_chunks ? i % (heads * q_chunks) : i];
    }
  }
}

template <int head_group, int ctas>
__device__ void move(const tensors &t)
{
  constexpr int num_stages = ring_stages(head_group, ctas);
  extern __shared__ uint4 shared[]; /* q rows, then num_stages times a stage of each warp */
  if constexpr (num_stages > 0) {
    unsigned kv_head_heads = t.num_heads / NUM_KV_HEADS;
    unsigned groups = (kv_head_heads + head_group - 1) / head_group;
    unsigned kv_head = blockIdx.x / groups, head = blockIdx.x % groups * head_group;
    long long row = static_cast<long long>(blockIdx.y) * t.num_heads + kv_head * kv_head_heads + head;
    if (kv_head_heads - head >= head_group) {
      move_rows<head_group, num_stages, head_group>(t, shared, row, head_group, blockIdx.y, static_cast<int>(kv_head));
    } else {
      move_rows<0, num_stages, head_group>(t, shared, row, static_cast<int>(kv_head_heads - head), blockIdx.y,
                                           static_cast<int>(kv_head));
    }
  }
}

} // namespace bench

#define BENCH_FLOOR(head_group, ctas)                                                                                  \
  extern "C" __global__ void __launch_bounds__(bench::num_threads, ctas)                                               \
      bench_floor_##head_group##_##ctas(const bench::tensors tensors)                                                  \
  {                                                                                                                    \
    bench::move<head_group, ctas>(tensors);                                                                            \
  }

BENCH_FLOOR(8, 1)
BENCH_FLOOR(16, 1)
BENCH_FLOOR(32, 1)
BENCH_FLOOR(64, 1)
BENCH_FLOOR(128, 1)
BENCH_FLOOR(8, 2)
BENCH_FLOOR(16, 2)
BENCH_FLOOR(32, 2)
BENCH_FLOOR(64, 2)
BENCH_FLOOR(128, 2)

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
