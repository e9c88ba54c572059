/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Q of a pass into shared memory, in the order in which mma fragments are read: for each chunk of 64 elements,
 * head tile and k-step, 16 bytes a lane. A thread holds the same 8 elements of rows g and g + 8: the fragments of
 * two k-steps. K-step s of a chunk pairs elements 16 q + 4 s .. + 3, because that is how a thread meets the bytes
 * of a KV row (mma/mma_sync.cuh).
 *
 * Q becomes f16 on the way, which keeps every bit of a bf16 from 2^-14 to 65504 and an absolute 2^-25 below.
 * Larger elements become infinite and make products that are not finite: then the pass's scores are made again
 * with "wide" Q, each row multiplied by a power of two that brings its largest element to f16's top, and the
 * scores divided by it.
 */
#ifndef SWA_LOAD_Q_CUH
#define SWA_LOAD_Q_CUH

#include "plan.cuh"
#include "ptx/load_store.cuh"
#include "smem_plan.cuh"

namespace swa
{
constexpr unsigned q_chunk_pairs = pass_rows / mma_m * 64;         /* units of work of a chunk */
constexpr unsigned q_load_chunks = q_is_resident ? num_chunks : 1; /* loaded at once */
constexpr unsigned q_load_pairs = q_load_chunks * q_chunk_pairs;
constexpr unsigned q_thread_pairs = (q_load_pairs + num_threads - 1) / num_threads;

struct q_pair {
  ptx::words4 low, high; /* rows g and g + 8 */
};

/* What a thread has on its way from global to shared memory. */
struct q_load {
  q_pair pair[q_thread_pairs];
};

/* Where Q takes turns, the warps that share rows load them, so that only they wait for each other. */
constexpr unsigned q_group_threads = score_warps_n * warp_size;
constexpr bool q_is_grouped = !q_is_resident && q_chunk_pairs % num_threads == 0;

/* A thread's pairs are units (64 pairs: a head tile's chunk) apart: i-th chunk and tile from its first. */
constexpr unsigned q_tiles = pass_rows / mma_m;
constexpr unsigned q_unit_step = (q_is_grouped ? q_group_threads : num_threads) / 64;
static_assert(q_unit_step % q_tiles == 0 || q_tiles % q_unit_step == 0, "a thread keeps its place in a unit");

__device__ __forceinline__ constexpr unsigned q_chunk_of(unsigned i)
{
  return i * q_unit_step / q_tiles;
}
__device__ __forceinline__ constexpr unsigned q_row_of(unsigned i)
{
  return i * q_unit_step % q_tiles * mma_m;
}

constexpr unsigned q_step_bytes = 512; /* 32 lanes' fragments of a head tile's k-step */
constexpr unsigned q_tile_bytes = 4 * q_step_bytes;
constexpr unsigned q_stage_bytes = q_tiles * q_tile_bytes;

/* Byte offset of a lane's fragment in a k-step; in the later two steps of a chunk lanes are mixed, so that stores
 * spread over the banks as loads do. */
constexpr unsigned q_mixed_lanes = 4;
__device__ __forceinline__ unsigned q_lane_offset(unsigned step, unsigned lane)
{
  return (lane ^ step / 2 * q_mixed_lanes) * 16;
}

/* Two bf16 to f16. */
__device__ __forceinline__ unsigned narrow_q(unsigned bf16x2)
{
  return ptx::cvt_f16x2(__uint_as_float(bf16x2 << 16), __uint_as_float(bf16x2 & 0xffff0000u));
}

/* The same, times factor. */
__device__ __forceinline__ unsigned narrow_wide_q(unsigned bf16x2, float factor)
{
  return ptx::cvt_f16x2(__uint_as_float(bf16x2 << 16) * factor, __uint_as_float(bf16x2 & 0xffff0000u) * factor);
}

/* 1 / unit, of a power of two: its exponent negated. */
__device__ __forceinline__ float inverse_unit(float unit)
{
  return __int_as_float(0x7f000000 - __float_as_int(unit));
}

__device__ __forceinline__ void narrow_pair(const smem_plan &smem, unsigned row, q_pair &pair)
{
  if (smem.q_is_wide) {
    float low = inverse_unit(smem.q_unit[row]), high = inverse_unit(smem.q_unit[row + 8]);
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
      pair.low.w[i] = narrow_wide_q(pair.low.w[i], low);
      pair.high.w[i] = narrow_wide_q(pair.high.w[i], high);
    }
  } else {
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
      pair.low.w[i] = narrow_q(pair.low.w[i]);
      pair.high.w[i] = narrow_q(pair.high.w[i]);
    }
  }
}

/* A thread's place, worked out once. */
struct q_thread {
  const char *source; /* the pass's first row, at this thread's elements of its first chunk */
  unsigned first_dim;
  unsigned first_row; /* of the pass's heads; with it goes the one 8 below */
  unsigned target;    /* shared address of its first fragment */
};

__device__ __forceinline__ q_thread make_q_thread(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                  unsigned first_head)
{
  unsigned group = q_is_grouped ? threadIdx.x / q_group_threads : 0;
  unsigned in_group = q_is_grouped ? threadIdx.x % q_group_threads : threadIdx.x;
  unsigned unit = group * q_thread_pairs * q_unit_step + in_group / 64;
  unsigned chunk = unit / q_tiles, tile = unit % q_tiles;
  unsigned g = in_group / 8 % 8, q = in_group / 2 % 4, half = in_group % 2;
  q_thread at;
  at.first_dim = chunk * chunk_dims + q * 16 + half * 8;
  at.source = q_row(params, plan, first_head) + 2 * at.first_dim;
  at.first_row = tile * mma_m + g;
  at.target = ptx::shared_address(smem.heads.q) + chunk * q_stage_bytes + tile * q_tile_bytes + half * 2 * q_step_bytes
              + q_lane_offset(half * 2, g * 4 + q);
  return at;
}

__device__ __forceinline__ bool has_q_pair(unsigned i)
{
  return q_load_pairs % num_threads == 0 || i * num_threads + threadIdx.x < q_load_pairs;
}

/* num_heads: of the pass. Rows past them repeat the last one: their results are never stored. */
__device__ __forceinline__ void start_q(const swa_params &params, const q_thread &at, unsigned num_heads,
                                        unsigned first_chunk, q_load &load)
{
  long long row_bytes = 2 * params.q_head_stride;
#pragma unroll
  for (unsigned i = 0; i < q_thread_pairs; i++) {
    unsigned chunk = first_chunk + q_chunk_of(i), row = at.first_row + q_row_of(i);
    const char *source = at.source + chunk * (2 * chunk_dims);
    load.pair[i] = q_pair{};
    if (has_q_pair(i) && (head_dim % chunk_dims == 0 || at.first_dim + chunk * chunk_dims < head_dim)) {
      load.pair[i].low = ptx::ld_global_nc_v4(source + min(row, num_heads - 1) * row_bytes);
      load.pair[i].high = ptx::ld_global_nc_v4(source + min(row + 8, num_heads - 1) * row_bytes);
    }
  }
}

__device__ __forceinline__ void store_q(const smem_plan &smem, const q_thread &at, unsigned first_stage,
                                        const q_load &load)
{
#pragma unroll
  for (unsigned i = 0; i < q_thread_pairs; i++) {
    if (has_q_pair(i)) {
      q_pair pair = load.pair[i];
      narrow_pair(smem, at.first_row + q_row_of(i), pair);
      unsigned target =
          at.target + first_stage * q_stage_bytes + q_chunk_of(i) * q_stage_bytes + q_row_of(i) / mma_m * q_tile_bytes;
      ptx::st_shared_v4(target, ptx::words4{{pair.low.w[0], pair.high.w[0], pair.low.w[1], pair.high.w[1]}});
      ptx::st_shared_v4(target + q_step_bytes,
                        ptx::words4{{pair.low.w[2], pair.high.w[2], pair.low.w[3], pair.high.w[3]}});
    }
  }
}

/* Until the warps that share this warp's rows of Q are here. */
__device__ __forceinline__ void sync_q_group()
{
  if constexpr (q_is_grouped) {
    ptx::bar_sync(1 + threadIdx.x / q_group_threads, q_group_threads);
  } else {
    __syncthreads();
  }
}

/* The unit of each row of wide Q: a power of two that its largest finite element is below 2^15 of. The caller's
 * next barrier makes Q wide for all. */
__device__ __forceinline__ void measure_wide_q(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                               unsigned first_head)
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  if (threadIdx.x == 0) {
    smem.q_is_wide = 1;
  }
  for (unsigned row = warp; row < pass_rows; row += num_warps) {
    unsigned largest = 0;
    for (unsigned dim = lane * 8; dim < head_dim; dim += warp_size * 8) {
      unsigned head = min(first_head + row, plan.num_heads - 1);
      ptx::words4 elements = ptx::ld_global_nc_v4(q_row(params, plan, head) + 2 * dim);
#pragma unroll
      for (unsigned i = 0; i < 8; i++) {
        unsigned magnitude = elements.w[i / 2] >> i % 2 * 16 & 0x7fffu;
        largest = magnitude < 0x7f80u ? max(largest, magnitude) : largest;
      }
    }
    largest = __reduce_max_sync(0xffffffffu, largest);
    int exponent = max(static_cast<int>(largest >> 7) - 127 - 14, 0);
    if (lane == 0) {
      smem.q_unit[row] = __int_as_float((exponent + 127) << 23);
    }
  }
}
} // namespace swa

#endif
