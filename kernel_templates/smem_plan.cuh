/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory of a CTA, as one struct. src/tile_plan.c computes its size; an assertion keeps them equal. */
#ifndef SWA_SMEM_PLAN_CUH
#define SWA_SMEM_PLAN_CUH

#include "swa_config.cuh"

namespace swa
{
/* A row of weights is padded by 16 bytes, so that the eight rows of an ldmatrix lie in different banks. */
constexpr unsigned weight_row_elems = span_positions + 8;

/* Q in the order of mma fragments: [chunk][head tile][k-step][lane], 16 bytes a lane; see load_q.cuh. */
constexpr unsigned q_words = q_stages * (pass_rows / mma_m) * q_tile_chunk_words;

/* Exact softmax needs Q no more when it makes weights; online softmax comes back to Q with the next tile. */
struct separate_q_and_weights {
  unsigned q[q_words];
  unsigned short weights[pass_rows][weight_row_elems]; /* f16 */
};
union overlaid_q_and_weights {
  unsigned q[q_words];
  unsigned short weights[pass_rows][weight_row_elems];
};
template <bool is_exact>
struct q_or_weights_of {
  using type = separate_q_and_weights;
};
template <>
struct q_or_weights_of<true> {
  using type = overlaid_q_and_weights;
};
using q_or_weights = q_or_weights_of<exact_softmax != 0>::type;

/* What a position's column of scores is multiplied by. */
struct alignas(16) column_info {
  float scale; /* inv_scale; 0 where masked */
  float bias;  /* 0, or -infinity where masked */
  float log;   /* log2 of the scale's magnitude, bounded, see softmax.cuh */
  float unused;
};

/* A figure of each warp that shares a row, read 16 bytes at a time. */
struct alignas(16) per_warp {
  float of[score_warps_n];
};

struct alignas(128) smem_plan {
  unsigned char rows[stage_rows][row_bytes]; /* KV rows as they lie in the cache, 16-byte units swizzled */
  q_or_weights heads;
  column_info column[stage_rows];
  per_warp row_top[pass_rows]; /* over each warp's columns, see softmax.cuh */
  per_warp row_sum[pass_rows];
  float row_correction[pass_rows];            /* online softmax: factor for the values so far */
  unsigned row_round[pass_rows];              /* in which a row's results are right, see load_q.cuh */
  unsigned long long tile_landed[num_stages]; /* mbarriers: a tile's rows are there */
  unsigned last_round;
  unsigned has_nan_code; /* an unmasked row holds a NaN code */
};
static_assert(sizeof(smem_plan) == shared_memory_bytes, "src/tile_plan.c computes another size");

/* Byte offset of a row's 16-byte unit. Bits of the row's number are reversed into the unit's, which spreads both
 * access patterns over all banks: two rows x four units (scores) and eight rows x one unit (values). Rows that are
 * equal modulo 8 and units that are equal modulo 8 are swizzled alike, so a thread works out one offset and adds
 * constants to it. */
__device__ __forceinline__ unsigned row_unit_offset(unsigned row, unsigned unit)
{
  unsigned swizzle = (row & 1) << 2 | (row & 2) | (row >> 2 & 1);
  return row * row_bytes + (unit ^ swizzle) * 16;
}
constexpr unsigned swizzle_rows = 8;
} // namespace swa

#endif
