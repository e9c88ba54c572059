/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Q of a pass into shared memory, in the order in which mma fragments are read: for each chunk of 64 elements,
 * head tile and k-step, 16 bytes a lane. A thread holds the same 8 elements of rows g and g + 8: the fragments of
 * two k-steps. K-step s of a chunk pairs elements 16 q + 4 s .. + 3, because that is how a thread meets the bytes
 * of a row of codes (mma/mma_sync.cuh); of a row of bf16 it meets 8 q .. + 7 of either half of the chunk.
 *
 * Where rows are bf16, so is Q. Else it becomes f16 on the way, which keeps every bit of a bf16 from 2^-14 to 65504 and
 * an absolute 2^-25 below. Larger elements become infinite and make products that are not finite. Rows where that
 * happens are done again, with all of Q times 2^-14, in as many rounds as it takes: eight at most bring the largest
 * bf16 below 65504.
 */
#ifndef SWA_LOAD_Q_CUH
#define SWA_LOAD_Q_CUH

#include "plan.cuh"
#include "ptx/bar_sync.cuh"
#include "ptx/load_store.cuh"
#include "smem_plan.cuh"

namespace swa
{
constexpr unsigned q_chunk_pairs = pass_rows / mma_m * 64; /* units of work of a chunk */
constexpr unsigned q_load_pairs = q_turn_chunks * q_chunk_pairs;
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
constexpr unsigned q_group_tiles = q_is_grouped ? q_tiles / (num_threads / q_group_threads) : q_tiles;
constexpr unsigned q_unit_step = (q_is_grouped ? q_group_threads : num_threads) / 64;
static_assert(q_unit_step % q_group_tiles == 0 || q_group_tiles % q_unit_step == 0,
              "a thread keeps its place in a unit");

__device__ __forceinline__ constexpr unsigned q_chunk_of(unsigned i)
{
  return i * q_unit_step / q_group_tiles;
}
__device__ __forceinline__ constexpr unsigned q_row_of(unsigned i)
{
  return i * q_unit_step % q_group_tiles * mma_m;
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

/* Round r multiplies Q by 2^(-14 r), and what divides it again the scores. */
constexpr unsigned round_exponent = 14;
constexpr unsigned last_possible_round = k_format::is_bf16 ? 0 : 8;
constexpr bool has_rounds = last_possible_round != 0;

__device__ __forceinline__ unsigned q_factor_bf16x2(unsigned round)
{
  return (127 - round * round_exponent) * 0x00800080u;
}
__device__ __forceinline__ float score_factor(unsigned round)
{
  return __uint_as_float((127 + round * round_exponent) << 23);
}

__device__ __forceinline__ void shrink_q(unsigned round, q_load &load)
{
  unsigned factor = q_factor_bf16x2(round);
#pragma unroll
  for (unsigned i = 0; i < q_thread_pairs; i++) {
#pragma unroll
    for (unsigned j = 0; j < 4; j++) {
      load.pair[i].low.w[j] = ptx::mul_bf16x2(load.pair[i].low.w[j], factor);
      load.pair[i].high.w[j] = ptx::mul_bf16x2(load.pair[i].high.w[j], factor);
    }
  }
}

/* Two bf16 to f16, where rows are codes. */
__device__ __forceinline__ unsigned narrow_q(unsigned bf16x2)
{
  if constexpr (k_format::is_bf16) {
    return bf16x2;
  }
  return ptx::cvt_f16x2(ptx::low_of_bf16x2(bf16x2), ptx::high_of_bf16x2(bf16x2));
}

/* A thread's place, worked out once. */
struct q_thread {
  const char *source; /* this thread's elements of its first chunk, of its first row or the pass's last */
  unsigned first_dim;
  unsigned first_row; /* of the pass's heads; with it goes the one 8 below */
  unsigned target;    /* shared address of its first fragment */
};

__device__ __forceinline__ q_thread make_q_thread(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                  unsigned first_head)
{
  unsigned group = q_is_grouped ? threadIdx.x / q_group_threads : 0;
  unsigned in_group = q_is_grouped ? threadIdx.x % q_group_threads : threadIdx.x;
  unsigned chunk = in_group / 64 / q_group_tiles, tile = group * q_group_tiles + in_group / 64 % q_group_tiles;
  unsigned g = in_group / 8 % 8, q = in_group / 2 % 4, half = in_group % 2;
  q_thread at;
  at.first_dim = chunk * chunk_dims + (k_format::is_bf16 ? half * 32 + q * 8 : q * 16 + half * 8);
  at.first_row = tile * mma_m + g;
  at.source = q_row(params, plan, min(first_head + at.first_row, plan.num_heads - 1)) + 2 * at.first_dim;
  at.target = ptx::shared_address(smem.heads.q) + chunk * q_stage_bytes + tile * q_tile_bytes + half * 2 * q_step_bytes
              + q_lane_offset(half * 2, g * 4 + q);
  return at;
}

__device__ __forceinline__ bool has_q_pair(unsigned i)
{
  return q_load_pairs % num_threads == 0 || i * num_threads + threadIdx.x < q_load_pairs;
}

/* num_heads: of the pass. Rows past them repeat another: their results are never stored. */
__device__ __forceinline__ void start_q(const swa_params &params, const q_thread &at, unsigned num_heads,
                                        unsigned first_chunk, q_load &load)
{
  long long row_bytes = 2 * params.q_head_stride;
#pragma unroll
  for (unsigned i = 0; i < q_thread_pairs; i++) {
    unsigned chunk = first_chunk + q_chunk_of(i), row = q_row_of(i);
    const char *source = at.source + chunk * (2 * chunk_dims);
    load.pair[i] = q_pair{};
    if (has_q_pair(i) && (head_dim % chunk_dims == 0 || at.first_dim + chunk * chunk_dims < head_dim)) {
      load.pair[i].low = ptx::ld_global_nc_v4(source + (at.first_row + row < num_heads ? row * row_bytes : 0));
      load.pair[i].high =
          ptx::ld_global_nc_v4(source + (at.first_row + row + 8 < num_heads ? (row + 8) * row_bytes : 0));
    }
  }
}

__device__ __forceinline__ void store_q(const q_thread &at, unsigned first_stage, unsigned round, q_load &load)
{
  if (has_rounds && round != 0) {
    shrink_q(round, load);
  }
#pragma unroll
  for (unsigned i = 0; i < q_thread_pairs; i++) {
    if (has_q_pair(i)) {
      const ptx::words4 &low = load.pair[i].low, &high = load.pair[i].high;
      unsigned target =
          at.target + first_stage * q_stage_bytes + q_chunk_of(i) * q_stage_bytes + q_row_of(i) / mma_m * q_tile_bytes;
#pragma unroll
      for (unsigned step = 0; step < 2; step++) {
        ptx::st_shared_v4(target + step * q_step_bytes,
                          ptx::words4{{narrow_q(low.w[2 * step]), narrow_q(high.w[2 * step]),
                                       narrow_q(low.w[2 * step + 1]), narrow_q(high.w[2 * step + 1])}});
      }
    }
  }
}

//: if with_q_in_turns
/* Until the warps that share this warp's rows of Q are here. */
__device__ __forceinline__ void sync_q_group()
{
  if constexpr (q_is_grouped) {
    ptx::bar_sync(1 + threadIdx.x / q_group_threads, q_group_threads);
  } else {
    __syncthreads();
  }
}
//: end
} // namespace swa

#endif
