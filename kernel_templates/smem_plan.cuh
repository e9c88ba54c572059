/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory of a CTA, as one struct. src/tile_plan.c computes its size; an assertion keeps them equal. */
#ifndef SWA_SMEM_PLAN_CUH
#define SWA_SMEM_PLAN_CUH

#include "column.cuh"
#include "kv/e4m3_slot.cuh"
#include "row_layout.cuh"
#include "swa_config.cuh"

namespace swa
{
/* The eight rows of an ldmatrix of weights lie in different banks. A row is padded by 16 bytes for that, or, of 128
 * heads, to which that may cost a second CTA, 16-byte units of eight are swizzled. */
constexpr bool weights_are_swizzled = pass_rows > 64 && span_positions % 64 == 0;
constexpr unsigned weight_row_elems = span_positions + (weights_are_swizzled ? 0 : 8);
constexpr unsigned weight_parts = v_format::is_bf16 ? 2 : 1; /* a bf16 weight and what it leaves */

/* Shared address of a unit of weights, `position` positions past a unit of the row's first eight, which is at address
 * `first`, swizzled. */
__device__ __forceinline__ unsigned weight_unit(unsigned first, unsigned position)
{
  unsigned offset = position * 2;
  return weights_are_swizzled ? (first ^ offset % 128) + offset / 128 * 128 : first + offset;
}
__device__ __forceinline__ unsigned first_weight_unit(unsigned row_address, unsigned row, unsigned unit)
{
  return row_address + (weights_are_swizzled ? unit ^ row % 8 : unit) * 16;
}

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

/* A figure of each warp that shares a row, read 16 bytes at a time. */
struct alignas(16) per_warp {
  float of[score_warps_n];
};

constexpr bool k_has_nan_codes_apart = kv::has_nan_codes_apart && !k_format::is_bf16;

/* Rows whose codes have scales by group. */
constexpr unsigned num_groups =
    k_format::num_groups > extra_format::num_groups ? k_format::num_groups : extra_format::num_groups;
constexpr unsigned num_scale_words = (num_groups + 3) / 4;

/* Of the rows of heads: over each warp's columns, see softmax.cuh. */
struct head_figures {
  per_warp top[pass_rows];
  per_warp sum[pass_rows];
};

//: if with_groups
/* Of KV rows, for kv/mend.cuh. */
struct row_figures {
  unsigned scale_bytes[num_scale_words][stage_rows]; /* as loaded */
  float tail_factor[stage_rows];                     /* one over the row's scale */
};
//: end

/* Exact softmax has mended all rows before there is a figure of a head; online softmax comes back to rows. */
struct separate_figures {
  head_figures of_heads;
  //: if with_groups
  row_figures of_rows;
  //: end
};
union overlaid_figures {
  head_figures of_heads;
  //: if with_groups
  row_figures of_rows;
  //: end
};
template <bool is_exact>
struct figures_of {
  using type = separate_figures;
};
template <>
struct figures_of<true> {
  using type = overlaid_figures;
};

struct alignas(128) smem_plan {
  unsigned char rows[stage_rows][row_bytes]; /* KV rows as they lie in the cache, 16-byte units swizzled */
  //: if with_own_v
  unsigned char v_rows[stage_rows][v_row_bytes];
  //: end
  q_or_weights heads;
  column_info column[stage_rows];
  figures_of<exact_softmax != 0>::type figures;
  //: if with_groups
  unsigned short group_factor[num_groups][stage_rows]; /* f16, see kv/e8m0.cuh */
  //: end
  //: if with_online_softmax
  float row_correction[pass_rows]; /* factor for the values so far */
  //: end
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

using k_layout = row_layout<row_bytes>;
using v_layout = row_layout<has_own_v ? v_row_bytes : row_bytes>;
constexpr unsigned swizzle_rows = 8;
} // namespace swa

#endif
