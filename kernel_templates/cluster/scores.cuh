/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores of a cluster's CTA: four warps share a unit of its positions, each with a quarter of head_dim, for which it
 * has Q in registers, in the order in which a thread meets the codes of a row (load_q.cuh).
 *
 * Q becomes f16 as in load_q.cuh, and what f16 cannot hold makes products that are not finite here too. But no other
 * warp need multiply again: the one that meets them does so with Q times 2^-14, and again, and leaves the round in
 * which each row came out finite with its sums.
 */
#ifndef SWA_CLUSTER_SCORES_CUH
#define SWA_CLUSTER_SCORES_CUH

#include "../plan.cuh"
#include "../ptx/convert.cuh"
#include "../ptx/mma_sync.cuh"
#include "groups.cuh"

namespace swa::cluster
{
struct score_warp {
  unsigned unit; /* of this CTA's */
  unsigned part; /* of head_dim */
  unsigned g, q;
};

__device__ __forceinline__ score_warp make_score_warp()
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  return score_warp{warp / unit_warps, warp % unit_warps, lane / 4, lane % 4};
}

/* Elements 16 q to 16 q + 15 of rows g and g + 8, of each of the warp's chunks: bf16, then f16. */
struct q_words {
  ptx::words4 row[2][warp_chunks][2];
};

__device__ __forceinline__ void load_q(const swa_params &params, const cta_plan &plan, const score_warp &w, q_words &q)
{
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    unsigned head = w.g + half * 8;
    const char *source = q_row(params, plan, head) + 2 * (w.part * warp_chunks * chunk_dims + w.q * 16);
#pragma unroll
    for (unsigned i = 0; i < 2 * warp_chunks; i++) {
      ptx::words4 &words = q.row[half][i / 2][i % 2];
      words = ptx::words4{};
      if (half * 8 < head_group && head < plan.num_heads) {
        words = ptx::ld_global_nc_v4(source + i / 2 * (2 * chunk_dims) + i % 2 * 16);
      }
    }
  }
}

/* Round r multiplies Q by 2^(-14 r): eight at most bring the largest bf16 below 65504. */
constexpr unsigned round_exponent = 14, last_round = 8;

__device__ __forceinline__ void narrow_q(q_words &q, unsigned round)
{
  unsigned factor = (127 - round * round_exponent) * 0x00800080u;
#pragma unroll
  for (unsigned i = 0; i < 4 * warp_chunks; i++) {
    ptx::words4 &words = q.row[i / (2 * warp_chunks)][i / 2 % warp_chunks][i % 2];
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
      unsigned word = round == 0 ? words.w[k] : ptx::mul_bf16x2(words.w[k], factor);
      words.w[k] = ptx::cvt_f16x2(ptx::low_of_bf16x2(word), ptx::high_of_bf16x2(word));
    }
  }
}

/* A thread's products: of rows g and g + 8, and of columns 2 q, 2 q + 1 and those 8 on of the unit. */
struct products {
  float of[2][2][2]; /* [row][column tile][column] */
};

/* A thread's fragments of a chunk, of two KV rows: by step, elements 16 q + 4 step on. */
struct row_fragments {
  unsigned b[2][4][2];
};

/* source: of the chunk's bytes that the thread has of the first row. */
__device__ __forceinline__ void load_codes(const cta_smem &smem, const score_warp &w, unsigned source,
                                           [[maybe_unused]] unsigned chunk, row_fragments &fragments)
{
#pragma unroll
  for (unsigned n = 0; n < 2; n++) {
    ptx::words4 codes = ptx::ld_shared_v4(source + n * mma_n * row_bytes);
    //: if with_groups
    unsigned group = ((w.part * warp_chunks + chunk) * chunk_dims + w.q * 16) / group_dims;
    unsigned factor = own_factor_of(smem, group, w.unit * unit_positions + n * mma_n + w.g);
    //: end
#pragma unroll
    for (unsigned step = 0; step < 4; step++) {
      unsigned(&b)[2] = fragments.b[n][step];
      k_format::widen(codes.w[step], b[0], b[1]);
      //: if with_groups
      b[0] = ptx::mul_f16x2(b[0], factor);
      b[1] = ptx::mul_f16x2(b[1], factor);
      //: end
    }
  }
}

//: if with_tail
/* Marks rows whose tail does not fit f16 in their unit. */
__device__ __forceinline__ void load_tail(cta_smem &smem, const score_warp &w, row_fragments &fragments)
{
  unsigned row = w.unit * unit_positions + w.g;
  unsigned source = ptx::shared_address(smem.rows) + k_layout::unit_offset(row, k_format::code_dims / 16 + 2 * w.q);
#pragma unroll
  for (unsigned n = 0; n < 2; n++) {
    unsigned factor = own_factor_of(smem, num_factors - 1, row + n * mma_n);
    unsigned seen = 0;
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      ptx::words4 x = ptx::ld_shared_v4((source ^ half * 16) + n * mma_n * row_bytes);
#pragma unroll
      for (unsigned i = 0; i < 4; i++) {
        unsigned &b = fragments.b[n][half * 2 + i / 2][i % 2];
        b = kv::narrow_tail(x.w[i], factor);
        seen = kv::note_too_large(b, seen);
      }
    }
    if ((__ballot_sync(0xffffffffu, kv::has_too_large(seen)) >> w.g * 4 & 15) != 0 && w.q == 0) {
      smem.is_doubtful[row + n * mma_n] = 1;
    }
  }
}
//: end

__device__ __forceinline__ products multiply(cta_smem &smem, const score_warp &w, const q_words &q)
{
  products made;
  float sums[2][2][4] = {}; /* even and odd steps apart: more products that do not wait for each other */
  unsigned row = ptx::shared_address(smem.rows) + k_layout::unit_offset(w.unit * unit_positions + w.g, w.q);
#pragma unroll
  for (unsigned chunk = 0; chunk < warp_chunks; chunk++) {
    row_fragments fragments;
    //: if with_tail
    if (chunk == warp_chunks - 1 && w.part == unit_warps - 1) {
      load_tail(smem, w, fragments);
    } else
    //: end
    {
      load_codes(smem, w, k_layout::chunk_address(row, chunk) + w.part * (warp_chunks * chunk_dims), chunk, fragments);
    }
#pragma unroll
    for (unsigned step = 0; step < 4; step++) {
      const unsigned(&low)[4] = q.row[0][chunk][step / 2].w, (&high)[4] = q.row[1][chunk][step / 2].w;
      unsigned k = step % 2 * 2;
#pragma unroll
      for (unsigned n = 0; n < 2; n++) {
        const unsigned(&b)[2] = fragments.b[n][step];
        ptx::mma_m16n8k16_f16(sums[step % 2][n], low[k], high[k], low[k + 1], high[k + 1], b[0], b[1]);
      }
    }
  }
#pragma unroll
  for (unsigned i = 0; i < 8; i++) {
    made.of[i / 4][i / 2 % 2][i % 2] = sums[0][i / 2 % 2][i / 4 * 2 + i % 2] + sums[1][i / 2 % 2][i / 4 * 2 + i % 2];
  }
  return made;
}

/* Bit i: of row i, not all are finite. */
__device__ __forceinline__ unsigned rows_not_finite(const products &made)
{
  unsigned rows = 0;
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    const float(&of)[2][2] = made.of[half];
    float none = (of[0][0] + of[0][1] + of[1][0] + of[1][1]) * 0.0f;
    rows |= none != 0.0f ? 1u << half : 0;
  }
  return rows;
}

/* Rows that are not finite, done again, to shared memory with their rounds. Rare. */
__device__ __forceinline__ void multiply_again(const swa_params &params, const cta_plan &plan, cta_smem &smem,
                                               const score_warp &w, unsigned rows, products &made)
{
  unsigned found[2] = {};
#pragma unroll 1
  for (unsigned round = 1; round <= last_round && __any_sync(0xffffffffu, rows != 0) != 0; round++) {
    q_words q;
    load_q(params, plan, w, q);
    narrow_q(q, round);
    products again = multiply(smem, w, q);
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
      float &of = made.of[i / 4][i / 2 % 2][i % 2];
      of = (rows >> (i / 4) & 1) != 0 ? again.of[i / 4][i / 2 % 2][i % 2] : of;
    }
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      found[half] = (rows >> half & 1) != 0 ? round : found[half];
    }
    rows &= rows_not_finite(again);
  }
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    smem.round[w.unit][w.part][half][threadIdx.x % warp_size] = static_cast<unsigned char>(found[half]);
  }
  if (threadIdx.x % warp_size == 0) {
    atomicOr(&smem.parts_with_rounds[w.unit], 1u << w.part);
  }
}

/* The warp's part of the unit's products to shared memory. */
__device__ __forceinline__ void make_part(const swa_params &params, const cta_plan &plan, cta_smem &smem,
                                          const score_warp &w, const q_words &q)
{
  products made = multiply(smem, w, q);
  unsigned rows = rows_not_finite(made);
  if (__any_sync(0xffffffffu, rows != 0) != 0) {
    multiply_again(params, plan, smem, w, rows, made);
  }
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    ptx::words4 part;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
      part.w[i] = __float_as_uint(made.of[half][i / 2][i % 2]);
    }
    ptx::st_shared_v4(ptx::shared_address(&smem.part[w.unit][w.part][half][threadIdx.x % warp_size]), part);
  }
}
} // namespace swa::cluster

#endif
