/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a KV format is to the kernel: a struct over the number of elements of its rows, in a file of its own.
 *
 *   is_bf16       rows are bf16 and operands as they lie; else codes and f16 operands
 *   data_bytes    of a row in the cache
 *   copied_bytes  of a row in shared memory: whole chunks; what lies past data_bytes is zero-filled
 *   num_groups    of codes that share a scale within the row; 0: the row has one scale
 *   group_dims    codes of a group
 *   code_dims     codes of a row; a tail of bf16 elements may follow them
 *   row_scales    the scales of a row as they are loaded
 *   load_scales   them, of a slot
 *   row_scale     what every score and weight of the row is multiplied by
 */
#ifndef SWA_KV_FORMAT_CUH
#define SWA_KV_FORMAT_CUH

#include "../swa_config.cuh"

namespace swa::kv
{
#if __CUDA_ARCH__ >= 890
constexpr bool has_nan_codes_apart = false;
#else
constexpr bool has_nan_codes_apart = true; /* NaN codes do not become NaN by themselves */
#endif

/* Where a slot's row lies, and what its scales are found by. */
struct row_place {
  const char *block;      /* the block's first byte */
  unsigned slot_in_block; /* of block_size */
  unsigned block_size;
  long long scale_index; /* slot * num_kv_heads + KV head */
};

__device__ constexpr unsigned whole_chunks(unsigned dims)
{
  return (dims + chunk_dims - 1) / chunk_dims * chunk_dims;
}

template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

/* Units of 16 bytes of a row: of codes, and pairs of them of the tail that follows. */
template <class F>
constexpr unsigned code_units = F::is_bf16 ? F::copied_bytes / 16 : (F::code_dims + 15) / 16;
template <class F>
constexpr unsigned tail_pairs = F::num_groups == 0 ? 0 : (F::copied_bytes / 16 - code_units<F>) / 2;

/* Of formats whose rows have one scale. */
struct ungrouped {
  static constexpr unsigned num_groups = 0, group_dims = 0;
};
} // namespace swa::kv

#endif
