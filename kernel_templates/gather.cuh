/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather: slots to row addresses and masks, rows into shared memory. Row l of a warp is position l * num_warps +
 * warp of the span, so that one index load by its lanes serves 32 rows and tiles fill in order. Masked rows are
 * filled with zeros.
 */
#ifndef SWA_GATHER_CUH
#define SWA_GATHER_CUH

#include "kv/e4m3_slot.cuh"
#include "plan.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/load_store.cuh"
#include "ptx/mbarrier.cuh"
#include "smem_plan.cuh"
#include "softmax.cuh"

namespace swa
{
constexpr unsigned row_units = copied_row_bytes / 16;
constexpr unsigned lanes_per_row = row_units <= 4 ? 4 : row_units <= 8 ? 8 : row_units <= 16 ? 16 : 32;
constexpr unsigned rows_per_copy = warp_size / lanes_per_row;
constexpr unsigned warp_tile_rows = kv_tile / num_warps;
constexpr unsigned round_positions = warp_size * num_warps;

/* A lane's row's column of scores, while its scale is on its way. */
struct pending_column {
  unsigned column; /* no_column: none */
  float scale;
  bool is_masked;
};
constexpr unsigned no_column = 0xffffffffu;

__device__ __forceinline__ void store_column(smem_plan &smem, const pending_column &pending)
{
  if (pending.column != no_column) {
    float bias = pending.is_masked ? -__int_as_float(0x7f800000) : 0.0f;
    float log = fminf(fmaxf(ptx::lg2(fabsf(pending.scale)), least_scale_log), largest_scale_log);
    smem.column[pending.column] = column_info{pending.scale, bias, log, 0.0f};
  }
}

/* Copies `positions` rows, from position `first` on, to shared rows `shared_row` and up (both whole tiles), and makes
 * one arrival a tile on its barrier. slot: of position first + lane * num_warps + warp. */
template <unsigned positions>
__device__ __forceinline__ pending_column gather_rows(const swa_params &params, smem_plan &smem, unsigned slot,
                                                      unsigned shared_row)
{
  static_assert(positions <= round_positions && positions % kv_tile == 0, "at most 32 rows a warp, whole tiles");
  static_assert(num_warps % swizzle_rows == 0, "a warp's rows are swizzled alike");
  constexpr unsigned warp_rows = positions / num_warps;
  constexpr unsigned group_rows = 8 * rows_per_copy; /* of a warp, unrolled */
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  pending_column pending = {lane < warp_rows ? shared_row + lane * num_warps + warp : no_column, 0.0f,
                            slot == masked_slot};
  const char *source = static_cast<const char *>(params.window.pool.kv);
  if (slot != masked_slot) {
    source += slot_offset(params, slot);
    pending.scale = kv::slot_scale(params.window.pool.inv_scale, slot);
  }
  unsigned masked_rows = __ballot_sync(0xffffffffu, slot == masked_slot);
  unsigned row_in_copy = lane / lanes_per_row, unit = lane % lanes_per_row;
  bool has_unit = row_units == lanes_per_row || unit < row_units;
  bool is_padding = head_dim != copied_row_bytes && unit * 16 >= head_dim;
  unsigned target = ptx::shared_address(smem.rows) + row_unit_offset(shared_row + row_in_copy * num_warps + warp, unit);

#pragma unroll 1
  for (unsigned first = 0; first < warp_rows; first += group_rows) {
#pragma unroll
    for (unsigned copied = 0; copied < group_rows; copied += rows_per_copy) {
      unsigned row = first + copied + row_in_copy;
      const char *row_source = reinterpret_cast<const char *>(
          __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(source), row % warp_size));
      if ((warp_rows % group_rows == 0 || row < warp_rows) && has_unit) {
        ptx::cp_async_16(target + (first + copied) * num_warps * row_bytes, row_source + unit * 16,
                         is_padding || (masked_rows >> row % warp_size & 1) != 0 ? 0 : 16);
      }
    }
    unsigned end = min(first + group_rows, warp_rows);
#pragma unroll 1
    for (unsigned tile = first / warp_tile_rows; (tile + 1) * warp_tile_rows <= end; tile++) {
      ptx::cp_async_mbarrier_arrive_noinc(ptx::shared_address(&smem.tile_landed[shared_row / kv_tile + tile]));
    }
  }
  return pending;
}

/* The index of this lane's row of a span that begins at position first. */
__device__ __forceinline__ index_type load_lane_index(const swa_params &params, const cta_plan &plan, unsigned first)
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  return load_index(params, plan, first + lane * num_warps + warp);
}

__device__ __forceinline__ void init_tile_barriers(smem_plan &smem)
{
  for (unsigned stage = threadIdx.x; stage < num_stages; stage += num_threads) {
    ptx::mbarrier_init(ptx::shared_address(&smem.tile_landed[stage]), num_threads);
  }
}

__device__ __forceinline__ void wait_tile(smem_plan &smem, unsigned stage, unsigned parity)
{
  while (!ptx::mbarrier_test_wait_parity(ptx::shared_address(&smem.tile_landed[stage]), parity)) {
  }
  __syncwarp(); /* matrix loads and products want the whole warp */
}

/* Until every tile that this warp's columns lie in has landed. */
__device__ __forceinline__ void wait_columns(smem_plan &smem, const score_warp &w)
{
  unsigned end = min(w.first_column + score_n_tiles * mma_n, padded_window);
  for (unsigned tile = w.first_column / kv_tile; tile * kv_tile < end; tile++) {
    wait_tile(smem, tile, 0);
  }
}

/* The whole window, for exact softmax. index: of this lane's first row. The last column of each lane is the caller's
 * to store. */
__device__ __forceinline__ pending_column gather_window(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                        index_type index, bool &has_position)
{
  constexpr unsigned rest = padded_window % round_positions;
  constexpr unsigned last = rest != 0 ? rest : round_positions;
  unsigned first = 0;
#pragma unroll 1
  for (; first + last < padded_window; first += round_positions) {
    index_type next_index = load_lane_index(params, plan, first + round_positions);
    unsigned slot = slot_of(params, index);
    has_position |= slot != masked_slot;
    store_column(smem, gather_rows<round_positions>(params, smem, slot, first));
    index = next_index;
  }
  unsigned slot = slot_of(params, index);
  has_position |= slot != masked_slot;
  return gather_rows<last>(params, smem, slot, first);
}
} // namespace swa

#endif
