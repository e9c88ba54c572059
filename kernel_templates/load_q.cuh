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

struct q_place {
  unsigned chunk, tile, g, q, half;
  bool is_there;
};

/* Where Q takes turns, the warps that share rows load them, so that only they wait for each other. */
constexpr unsigned q_group_threads = score_warps_n * warp_size;
constexpr bool q_is_grouped = !q_is_resident && q_chunk_pairs % num_threads == 0;

__device__ __forceinline__ q_place place_q(unsigned i)
{
  unsigned pair = i * num_threads + threadIdx.x;
  if constexpr (q_is_grouped) {
    unsigned group = threadIdx.x / q_group_threads;
    pair = (group * q_thread_pairs + i) * q_group_threads + threadIdx.x % q_group_threads;
  }
  unsigned in_chunk = pair % q_chunk_pairs;
  bool is_there = q_load_pairs % num_threads == 0 || pair < q_load_pairs;
  return q_place{pair / q_chunk_pairs, in_chunk / 64, in_chunk / 8 % 8, in_chunk / 2 % 4, in_chunk % 2, is_there};
}

/* Rows past the CTA's heads repeat its last head: their results are never stored. */
__device__ __forceinline__ const char *q_source(const swa_params &params, const cta_plan &plan, unsigned head,
                                                unsigned dim)
{
  return q_row(params, plan, min(head, plan.num_heads - 1)) + 2 * dim;
}

__device__ __forceinline__ void start_q(const swa_params &params, const cta_plan &plan, unsigned first_head,
                                        unsigned first_chunk, q_load &load)
{
#pragma unroll
  for (unsigned i = 0; i < q_thread_pairs; i++) {
    q_place at = place_q(i);
    unsigned dim = (first_chunk + at.chunk) * chunk_dims + at.q * 16 + at.half * 8;
    unsigned head = first_head + at.tile * mma_m + at.g;
    load.pair[i] = q_pair{};
    if (at.is_there && (head_dim % chunk_dims == 0 || dim < head_dim)) {
      load.pair[i].low = ptx::ld_global_nc_v4(q_source(params, plan, head, dim));
      load.pair[i].high = ptx::ld_global_nc_v4(q_source(params, plan, head + 8, dim));
    }
  }
}

constexpr unsigned q_step_bytes = 512; /* 32 lanes' fragments of a head tile's k-step */
constexpr unsigned q_tile_bytes = 4 * q_step_bytes;
constexpr unsigned q_stage_bytes = pass_rows / mma_m * q_tile_bytes;

/* Byte offset of a lane's fragment in a k-step; in the later two steps of a chunk lanes are mixed, so that stores
 * spread over the banks as loads do. */
__device__ __forceinline__ unsigned q_lane_offset(unsigned step, unsigned lane)
{
  return (lane ^ (step / 2 * 4)) * 16;
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

__device__ __forceinline__ void narrow_pair(const smem_plan &smem, unsigned row, q_pair &pair)
{
  if (smem.q_is_wide) {
    float low = 1.0f / smem.q_unit[row], high = 1.0f / smem.q_unit[row + 8];
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

__device__ __forceinline__ void store_q(smem_plan &smem, unsigned first_stage, const q_load &load)
{
  unsigned base = ptx::shared_address(smem.heads.q) + first_stage * q_stage_bytes;
#pragma unroll
  for (unsigned i = 0; i < q_thread_pairs; i++) {
    q_place at = place_q(i);
    q_pair pair = load.pair[i];
    if (at.is_there) {
      narrow_pair(smem, at.tile * mma_m + at.g, pair);
      unsigned target = base + at.chunk * q_stage_bytes + at.tile * q_tile_bytes + at.half * 2 * q_step_bytes
                        + q_lane_offset(at.half * 2, at.g * 4 + at.q);
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
      ptx::words4 elements = ptx::ld_global_nc_v4(q_source(params, plan, first_head + row, dim));
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
