/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows with scales by group: the factors of their groups, their tails, and their mending.
 *
 * A row's scale follows its largest scale byte, and its tail of bf16 elements is brought to that unit and to f16 where
 * it lies, so that it is multiplied as it is. That is right as long as the group of that byte has a code that is not 0,
 * bytes lie near each other, and the tail is not much larger than the codes: so with every row that a quantiser wrote.
 * A byte far below another is seen when the row's scales arrive, a tail that is too large when it is converted. Such a
 * row is mended before it is used: its scale is made to follow what it holds.
 */
#ifndef SWA_KV_MEND_CUH
#define SWA_KV_MEND_CUH

#include "../ptx/convert.cuh"
#include "../smem_plan.cuh"
#include "../softmax.cuh"
#include "row_byte.cuh"

namespace swa::kv
{
//: if with_groups
/* Of the stage that a row lies in; exact softmax has one for all rows. */
__device__ __forceinline__ unsigned mending_bit(unsigned row)
{
  return exact_softmax ? 1u : 1u << row / kv_tile;
}

/* Of a row whose scales have arrived. tail_factor of a row that waits to be mended is negative. */
template <class K>
__device__ __forceinline__ void store_groups(smem_plan &smem, unsigned row, const typename K::row_scales &scales,
                                             bool is_masked)
{
  unsigned row_byte = K::row_byte(scales);
  bool is_doubtful = false;
#pragma unroll
  for (unsigned group = 0; group < K::num_groups; group++) {
    is_doubtful |= is_far_below(scales.of(group), row_byte);
  }
  is_doubtful &= !is_masked;
#pragma unroll
  for (unsigned group = 0; group < K::num_groups; group++) {
    smem.group_factor[group][row] = static_cast<unsigned short>(group_factor(scales.of(group), row_byte));
  }
  float tail_factor = __uint_as_float((254 - row_byte) << 23);
  smem.figures.of_rows.tail_factor[row] = is_doubtful ? -tail_factor : tail_factor;
#pragma unroll
  for (unsigned word = 0; word < sizeof(scales) / 4; word++) {
    smem.figures.of_rows.scale_bytes[word][row] = scales.w[word];
  }
  if (is_doubtful) {
    atomicOr(&smem.needs_mending, mending_bit(row));
  }
}

/* A group's scale byte, as store_groups left it. */
__device__ __forceinline__ unsigned stored_byte(const smem_plan &smem, unsigned row, unsigned group)
{
  return smem.figures.of_rows.scale_bytes[group / 4][row] >> group % 4 * 8 & 255;
}

template <class K>
__device__ __forceinline__ unsigned true_row_byte(const smem_plan &smem, unsigned row)
{
  typename K::row_scales scales;
#pragma unroll
  for (unsigned word = 0; word < sizeof(scales) / 4; word++) {
    scales.w[word] = smem.figures.of_rows.scale_bytes[word][row];
  }
  return true_row_byte<K, k_layout>(smem.rows[0], row, scales);
}

/* 16 elements of a tail as f16 in the row's unit. Even elements come first: column tiles of values are then as of
 * codes, see mma/mma_sync.cuh. */
struct tail_pair {
  ptx::words4 even, odd;
};

/* From bf16 at a shared address and its neighbour. */
__device__ __forceinline__ tail_pair load_tail_pair(unsigned address, float factor)
{
  ptx::words4 x[2] = {ptx::ld_shared_v4(address), ptx::ld_shared_v4(address ^ 16)};
  tail_pair pair;
#pragma unroll
  for (unsigned i = 0; i < 4; i++) {
    unsigned first = x[i / 2].w[i % 2 * 2], second = x[i / 2].w[i % 2 * 2 + 1];
    first = ptx::cvt_f16x2(ptx::low_of_bf16x2(first) * factor, ptx::high_of_bf16x2(first) * factor);
    second = ptx::cvt_f16x2(ptx::low_of_bf16x2(second) * factor, ptx::high_of_bf16x2(second) * factor);
    pair.even.w[i] = ptx::prmt<0x5410>(first, second);
    pair.odd.w[i] = ptx::prmt<0x7632>(first, second);
  }
  return pair;
}

__device__ __forceinline__ void store_tail_pair(unsigned address, const tail_pair &pair)
{
  ptx::st_shared_v4(address, pair.even);
  ptx::st_shared_v4(address ^ 16, pair.odd);
}

/* Whether any element is infinite or NaN: then its exponent is all ones. */
__device__ __forceinline__ bool is_too_large(const tail_pair &pair)
{
  unsigned carries = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; i++) {
    carries |= (pair.even.w[i] & 0x7c007c00u) + 0x04000400u;
    carries |= (pair.odd.w[i] & 0x7c007c00u) + 0x04000400u;
  }
  return (carries & 0x80008000u) != 0;
}

template <class K>
constexpr unsigned code_units = K::code_dims / 16;
template <class K>
constexpr unsigned tail_pairs = (K::copied_bytes / 16 - code_units<K>) / 2;

template <class K>
__device__ __forceinline__ unsigned tail_address(const smem_plan &smem, unsigned row, unsigned pair)
{
  return ptx::shared_address(smem.rows) + k_layout::unit_offset(row, code_units<K> + 2 * pair);
}

/* The tails of the rows that this warp has copied and whose scales its lanes have stored, of num_rows from first_row
 * on. A row with an element that is too large is left as it is, to be mended. */
template <class K>
__device__ __forceinline__ void convert_tails(smem_plan &smem, unsigned first_row, unsigned num_rows)
{
  static_assert(tail_pairs<K> == 4, "a quad of lanes has a row's tail");
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size, quad = lane & ~3u;
#pragma unroll 1
  for (unsigned first = 0; first < num_rows; first += warp_size / 4 * num_warps) {
    __syncwarp(); /* what the other lanes copied and stored is there */
    unsigned i = first + lane / 4 * num_warps + warp;
    bool has_row = i < num_rows;
    unsigned row = first_row + (has_row ? i : warp), address = tail_address<K>(smem, row, lane % 4);
    float factor = smem.figures.of_rows.tail_factor[row];
    tail_pair pair = load_tail_pair(address, factor);
    bool is_left = (__ballot_sync(0xffffffffu, is_too_large(pair)) >> quad & 15) != 0;
    __syncwarp(); /* the quad has read what its first lane may write */
    if (has_row && factor > 0.0f && !is_left) {
      store_tail_pair(address, pair);
    } else if (has_row && factor > 0.0f && lane % 4 == 0) {
      smem.figures.of_rows.tail_factor[row] = -factor;
      atomicOr(&smem.needs_mending, mending_bit(row));
    }
  }
}

/* Rare: loops keep it short. */
template <class K>
__device__ __forceinline__ void mend_row(smem_plan &smem, unsigned row)
{
  unsigned row_byte = true_row_byte<K>(smem, row);
#pragma unroll 1
  for (unsigned group = 0; group < K::num_groups; group++) {
    unsigned factor = group_factor(stored_byte(smem, row, group), row_byte);
    smem.group_factor[group][row] = static_cast<unsigned short>(factor);
  }
  float tail_factor = __uint_as_float((254 - row_byte) << 23);
  smem.figures.of_rows.tail_factor[row] = tail_factor;
  float scale = __uint_as_float(row_byte << 23);
  smem.column[row] = make_column(scale, scale, false);
#pragma unroll 1
  for (unsigned pair = 0; pair < tail_pairs<K>; pair++) {
    unsigned address = tail_address<K>(smem, row, pair);
    store_tail_pair(address, load_tail_pair(address, tail_factor));
  }
}

/* Mends what waits for it of num_rows rows from first_row on, a stage's or all of exact softmax, by all threads. They
 * see the same bit: rows are marked before the barrier that they have passed, or after another. */
template <class K>
__device__ __forceinline__ void mend_rows(smem_plan &smem, unsigned first_row, unsigned num_rows)
{
  if ((smem.needs_mending & mending_bit(first_row)) != 0) {
#pragma unroll 1
    for (unsigned row = first_row + threadIdx.x; row < first_row + num_rows; row += num_threads) {
      if (smem.figures.of_rows.tail_factor[row] < 0.0f) {
        mend_row<K>(smem, row);
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAnd(&smem.needs_mending, ~mending_bit(first_row));
    }
  }
}
//: end
} // namespace swa::kv

#endif
