/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory of a CTA, as one struct. src/tile_plan.c computes its size; an assertion keeps them equal. */
#ifndef SWA_SMEM_PLAN_CUH
#define SWA_SMEM_PLAN_CUH

#include "kv/e4m3_slot.cuh"
#include "swa_config.cuh"

namespace swa
{
/* A row of weights is padded by 16 bytes, so that the eight rows of an ldmatrix lie in different banks. */
constexpr unsigned weight_row_elems = span_positions + 8;
constexpr unsigned weight_parts = v_format::is_bf16 ? 2 : 1; /* a bf16 weight and what it leaves */

/* Q in the order of mma fragments: [chunk][head tile][k-step][lane], 16 bytes a lane; see load_q.cuh. */
constexpr unsigned q_words = q_stages * (pass_rows / mma_m) * q_tile_chunk_words;

/* Exact softmax needs Q no more when it makes weights; online softmax comes back to Q with the next tile. */
struct separate_q_and_weights {
  unsigned q[q_words];
  unsigned short weights[weight_parts][pass_rows][weight_row_elems]; /* f16, or bf16 */
};
union overlaid_q_and_weights {
  unsigned q[q_words];
  unsigned short weights[weight_parts][pass_rows][weight_row_elems];
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
  float scale;        /* of K's row; 0 where masked */
  float bias;         /* 0, or -infinity where masked */
  float log;          /* log2 of weight_scale's magnitude, bounded, see softmax.cuh */
  float weight_scale; /* of V's row; 0 where masked */
};

/* A figure of each warp that shares a row, read 16 bytes at a time. */
struct alignas(16) per_warp {
  float of[score_warps_n];
};

constexpr bool k_has_nan_codes_apart = kv::has_nan_codes_apart && !k_format::is_bf16;

/* Rows whose codes have scales by group. */
constexpr unsigned num_groups =
    k_format::num_groups > extra_format::num_groups ? k_format::num_groups : extra_format::num_groups;
constexpr unsigned num_scale_words = (num_groups + 3) / 4;

struct alignas(128) smem_plan {
  unsigned char rows[stage_rows][row_bytes]; /* KV rows as they lie in the cache, 16-byte units swizzled */
  //: if with_own_v
  unsigned char v_rows[stage_rows][v_row_bytes];
  //: end
  q_or_weights heads;
  column_info column[stage_rows];
  per_warp row_top[pass_rows]; /* over each warp's columns, see softmax.cuh */
  per_warp row_sum[pass_rows];
  //: if with_groups
  unsigned short group_factor[num_groups][stage_rows]; /* f16, see kv/e8m0.cuh */
  unsigned scale_bytes[num_scale_words][stage_rows];   /* as loaded, for kv/mend.cuh */
  float tail_factor[stage_rows];                       /* one over the row's scale */
  //: end
  float row_correction[pass_rows]; /* online softmax: factor for the values so far */
  //: if with_sinks
  float sink[pass_rows]; /* in units of log2 */
  //: end
  unsigned row_round[pass_rows]; /* in which a row's results are right, see load_q.cuh */
  unsigned last_round;
  unsigned has_nan_code; /* an unmasked row holds a NaN code */
  unsigned has_position; /* a row is unmasked */
  //: if with_groups
  unsigned needs_mending; /* a bit a stage: a row's scale bytes are far apart, or its tail is too large */
  //: end
};
static_assert(sizeof(smem_plan) == shared_memory_bytes, "src/tile_plan.c computes another size");

/* Byte offset of a row's 16-byte unit. Bits of the row's number are put into the unit's, which spreads both access
 * patterns over all banks: two rows x four units (scores) and eight rows x one unit (values). Where rows are whole
 * multiples of 128 bytes, units of eight are swizzled; where they are odd multiples of 64, which by itself moves every
 * other row to the other half of the banks, units of four. Rows that are equal modulo 8 and units that are equal modulo
 * 8 are swizzled alike, so a thread works out one offset and adds constants to it. */
template <unsigned stride>
struct row_layout {
  static_assert(stride % 64 == 0, "a row is whole halves of the banks");
  static constexpr bool is_odd = stride % 128 != 0;
  static constexpr unsigned stride_bytes = stride;

  static __device__ __forceinline__ unsigned unit_offset(unsigned row, unsigned unit)
  {
    unsigned swizzle = is_odd ? row >> 1 & 3 : (row & 1) << 2 | (row & 2) | (row >> 2 & 1);
    return row * stride + (unit ^ swizzle) * 16;
  }

  /* From a thread's address of chunk 0 to that of another chunk of 64 bytes. */
  static __device__ __forceinline__ unsigned chunk_address(unsigned address, unsigned chunk)
  {
    return is_odd ? address + chunk * 64 : (address ^ chunk % 2 * 64) + chunk / 2 * 128;
  }
};
using k_layout = row_layout<row_bytes>;
using v_layout = row_layout<has_own_v ? v_row_bytes : row_bytes>;
constexpr unsigned swizzle_rows = 8;
} // namespace swa

#endif
