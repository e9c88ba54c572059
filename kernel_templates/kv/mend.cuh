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
  bool is_doubtful = !has_near_groups<K>(scales, row_byte) && !is_masked;
  group_factors<K> factors = near_group_factors<K>(scales, row_byte);
#pragma unroll
  for (unsigned group = 0; group < K::num_groups; group++) {
    smem.group_factor[group][row] = factors.of(group);
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

/* From bf16 at a shared address and its neighbour. factor: a power of two. */
__device__ __forceinline__ tail_pair load_tail_pair(unsigned address, float factor)
{
  ptx::words4 x[2] = {ptx::ld_shared_v4(address), ptx::ld_shared_v4(address ^ 16)};
  unsigned factors = ptx::prmt<0x3232>(__float_as_uint(factor)); /* as bf16 */
  tail_pair pair;
#pragma unroll
  for (unsigned i = 0; i < 4; i++) {
    unsigned first = x[i / 2].w[i % 2 * 2], second = x[i / 2].w[i % 2 * 2 + 1];
    first = narrow_tail(first, factors);
    second = narrow_tail(second, factors);
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

__device__ __forceinline__ bool is_too_large(const tail_pair &pair)
{
  unsigned seen = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; i++) {
    seen = note_too_large(pair.even.w[i], note_too_large(pair.odd.w[i], seen));
  }
  return has_too_large(seen);
}

template <class K>
__device__ __forceinline__ unsigned tail_address(const smem_plan &smem, unsigned row, unsigned pair)
{
  return ptx::shared_address(smem.rows) + k_layout::unit_offset(row, code_units<K> + 2 * pair);
}

/* Rows whose tails a quad of lanes converts at a time: as many as leave registers to Q on its way. */
constexpr unsigned quad_rows = exact_softmax && pass_rows <= 64 ? 2 : 1;

/* A lane's part of a row's tail. */
struct converted_tail {
  tail_pair pair;
  unsigned row, address;
  float factor;       /* 0 where the row is none, negative where it waits to be mended */
  unsigned too_large; /* not 0: an element of the row does not fit f16 */
};

/* i: of num_rows rows from first_row on. */
template <class K>
__device__ __forceinline__ converted_tail convert_tail(const smem_plan &smem, unsigned first_row, unsigned num_rows,
                                                       unsigned i)
{
  static_assert(tail_pairs<K> == 4, "a quad of lanes has a row's tail");
  unsigned lane = threadIdx.x % warp_size;
  bool has_row = i < num_rows;
  converted_tail tail;
  tail.row = first_row + (has_row ? i : threadIdx.x / warp_size);
  tail.address = tail_address<K>(smem, tail.row, lane % 4);
  float factor = smem.figures.of_rows.tail_factor[tail.row];
  tail.pair = load_tail_pair(tail.address, factor);
  tail.factor = has_row ? factor : 0.0f;
  tail.too_large = __ballot_sync(0xffffffffu, is_too_large(tail.pair)) >> (lane & ~3u) & 15;
  return tail;
}

/* The tails of the rows that this warp has copied and whose scales its lanes have stored, of num_rows from first_row
 * on. A row with an element that is too large is left as it is, to be mended. */
template <class K>
__device__ __forceinline__ void convert_tails(smem_plan &smem, unsigned first_row, unsigned num_rows)
{
  constexpr unsigned rows_at_once = warp_size / 4 * num_warps;
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
#pragma unroll 1
  for (unsigned first = 0; first < num_rows; first += quad_rows * rows_at_once) {
    converted_tail tails[quad_rows];
    __syncwarp(); /* what the other lanes copied and stored is there */
#pragma unroll
    for (unsigned k = 0; k < quad_rows; k++) {
      tails[k] = convert_tail<K>(smem, first_row, num_rows, first + k * rows_at_once + lane / 4 * num_warps + warp);
    }
    __syncwarp(); /* every lane has read what others write */
#pragma unroll
    for (unsigned k = 0; k < quad_rows; k++) {
      const converted_tail &tail = tails[k];
      if (tail.factor > 0.0f && tail.too_large == 0) {
        store_tail_pair(tail.address, tail.pair);
      } else if (tail.factor > 0.0f && lane % 4 == 0) {
        smem.figures.of_rows.tail_factor[tail.row] = -tail.factor;
        atomicOr(&smem.needs_mending, mending_bit(tail.row));
      }
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
