/* SPDX-License-Identifier: Apache-2.0 */
/* Gather of a cluster's CTA: whole rows of its own positions, and of every position its part of head_dim. A warp has
 * four rows of the former, 8 positions apart, and 16 positions side by side of the latter; one index load by its lanes
 * serves both. Masked rows are filled with zeros. */
#ifndef SWA_CLUSTER_GATHER_CUH
#define SWA_CLUSTER_GATHER_CUH

#include "../plan.cuh"
#include "../ptx/cp_async.cuh"
#include "groups.cuh"
#include "smem.cuh"

namespace swa::cluster
{
constexpr unsigned warp_rows = own_positions / num_warps;
constexpr unsigned warp_columns = positions / num_warps;
static_assert(warp_columns == 16 && warp_rows <= 16, "lanes 0 to 15 have columns, then rows");

/* Of its warp_rows, which row a lane past the columns has; others repeat one. */
__device__ __forceinline__ unsigned lane_row()
{
  return threadIdx.x % warp_size % warp_rows * num_warps + threadIdx.x / warp_size;
}

__device__ __forceinline__ bool is_column_lane()
{
  return threadIdx.x % warp_size < warp_columns;
}

__device__ __forceinline__ index_type load_lane_index(const swa_params &params, const cta_plan &plan)
{
  unsigned position = is_column_lane() ? threadIdx.x / warp_size * warp_columns + threadIdx.x % warp_size
                                       : cta_rank() * own_positions + lane_row();
  return load_index(window_indices(params, plan), plan.len, position);
}

/* Of lane `from`. */
__device__ __forceinline__ const char *source_of(const char *source, unsigned from)
{
  return reinterpret_cast<const char *>(
      __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(source), static_cast<int>(from)));
}

/* Units first_unit to first_unit + units, a power of two, of the rows of warp_rows lanes from first_lane on; of row i
 * to shared row first_row + i * row_step, from byte `offset` of the row on. */
template <unsigned first_unit, unsigned units, unsigned num_rows, unsigned row_step, class Layout>
__device__ __forceinline__ void copy_units(unsigned target_rows, const char *source, unsigned first_lane,
                                           unsigned first_row, unsigned offset, unsigned masked_lanes)
{
  constexpr unsigned rows_at_once = warp_size / units < num_rows ? warp_size / units : num_rows;
  unsigned lane = threadIdx.x % warp_size, unit = first_unit + lane % units;
#pragma unroll
  for (unsigned i = 0; i < num_rows; i += rows_at_once) {
    unsigned row = i + lane / units % rows_at_once, from = first_lane + row;
    const char *row_source = source_of(source, from) + offset + unit * 16;
    if (units * rows_at_once == warp_size || lane < units * rows_at_once) {
      ptx::cp_async_16(target_rows + Layout::unit_offset(first_row + row * row_step, unit), row_source,
                       (masked_lanes >> from & 1) != 0 ? 0 : 16);
    }
  }
}

__device__ __forceinline__ void copy_rows(cta_smem &smem, const char *source, unsigned masked_lanes)
{
  unsigned target = ptx::shared_address(smem.rows), warp = threadIdx.x / warp_size;
  copy_units<0, warp_size, warp_rows, num_warps, k_layout>(target, source, warp_columns, warp, 0, masked_lanes);
  //: if with_tail
  copy_units<warp_size, row_bytes / 16 - warp_size, warp_rows, num_warps, k_layout>(target, source, warp_columns, warp,
                                                                                    0, masked_lanes);
  //: end
}

__device__ __forceinline__ void copy_columns(cta_smem &smem, const char *source, unsigned masked_lanes)
{
  unsigned target = ptx::shared_address(smem.columns), first = threadIdx.x / warp_size * warp_columns;
  unsigned offset = cta_rank() * own_dims;
  copy_units<0, own_dims / 16, warp_columns, 1, column_layout>(target, source, 0, first, offset, masked_lanes);
  //: if with_tail
  if (cta_rank() == cluster_ctas - 1) {
    copy_units<own_dims / 16, (column_bytes - own_dims) / 16, warp_columns, 1, column_layout>(target, source, 0, first,
                                                                                              offset, masked_lanes);
  }
  //: end
}

/* Starts the copies, a group of rows and one of columns; the scales of this CTA's rows are there behind a barrier. */
__device__ __forceinline__ void gather(const swa_params &params, const cta_plan &plan, cta_smem &smem, index_type index)
{
  unsigned slot = slot_of(params.window, index);
  bool is_masked = slot == masked_slot;
  const char *source = static_cast<const char *>(params.window.pool.kv);
  k_format::row_scales scales = {};
  if (!is_masked) {
    kv::row_place at;
    source = place_row(params, params.window, params.window.pool, plan, slot, at);
    if (!is_column_lane()) {
      scales = k_format::load_scales(params.window.pool, at);
    }
  }
  unsigned masked_lanes = __ballot_sync(0xffffffffu, is_masked);
  copy_rows(smem, source, masked_lanes);
  ptx::cp_async_commit_group();
  copy_columns(smem, source, masked_lanes);
  ptx::cp_async_commit_group();
  unsigned lane = threadIdx.x % warp_size;
  if (lane >= warp_columns && lane < warp_columns + warp_rows) {
    float scale = k_format::row_scale(scales);
    smem.column[lane_row()] = make_column(scale, scale, is_masked);
    //: if with_groups
    store_groups(smem, lane_row(), scales, is_masked);
    //: end
  }
}
} // namespace swa::cluster

#endif
