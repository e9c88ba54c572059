/* SPDX-License-Identifier: Apache-2.0 */
/* Gather of a cluster's CTA: whole rows of its own positions, and of every position its part of head_dim. A warp has
 * four rows of the former, 8 positions apart, and 16 positions side by side of the latter; one index load by its lanes
 * serves both. Masked rows are filled with zeros. */
#ifndef SWA_CLUSTER_GATHER_CUH
#define SWA_CLUSTER_GATHER_CUH

#include "../plan.cuh"
#include "../ptx/cp_async.cuh"
#include "smem.cuh"

namespace swa::cluster
{
constexpr unsigned warp_rows = own_positions / num_warps;
constexpr unsigned warp_columns = positions / num_warps;
constexpr unsigned row_lanes = head_dim / 16, column_lanes = own_dims / 16;
static_assert(row_lanes == warp_size && warp_columns == 16 && warp_rows <= 16, "lanes 0 to 15 have columns, then rows");

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
  return load_index(params.window, params.window.pool, plan.token, plan.len, position);
}

/* Of lane `from`. */
__device__ __forceinline__ const char *source_of(const char *source, unsigned from)
{
  return reinterpret_cast<const char *>(
      __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(source), static_cast<int>(from)));
}

__device__ __forceinline__ void copy_rows(cta_smem &smem, const char *source, unsigned masked_lanes)
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  unsigned target = ptx::shared_address(smem.rows) + row_layout::unit_offset(warp, lane);
#pragma unroll
  for (unsigned i = 0; i < warp_rows; i++) {
    unsigned from = warp_columns + i;
    ptx::cp_async_16(target + i * num_warps * head_dim, source_of(source, from) + lane * 16,
                     (masked_lanes >> from & 1) != 0 ? 0 : 16);
  }
}

__device__ __forceinline__ void copy_columns(cta_smem &smem, const char *source, unsigned masked_lanes)
{
  constexpr unsigned rows_at_once = warp_size / column_lanes;
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size, unit = lane % column_lanes;
#pragma unroll
  for (unsigned i = 0; i < warp_columns; i += rows_at_once) {
    unsigned from = i + lane / column_lanes;
    ptx::cp_async_16(ptx::shared_address(smem.columns) + column_layout::unit_offset(warp * warp_columns + from, unit),
                     source_of(source, from) + cta_rank() * own_dims + unit * 16,
                     (masked_lanes >> from & 1) != 0 ? 0 : 16);
  }
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
    source = place_row(params, params.window, params.window.pool, plan.kv_head, slot, at);
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
  }
}
} // namespace swa::cluster

#endif
