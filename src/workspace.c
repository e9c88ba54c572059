/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace.h"

/* Mirrors kernel_templates/splits.cuh. */
enum {
  COUNT_BYTES = 4,   /* a unit's */
  ROW_BYTES = 16,    /* struct split_row */
  SLICE_DIMS = 32,   /* of an output row, see swa_config.cuh */
  SLICE_FLOATS = 16, /* of a thread, for a head tile */
  WARP_THREADS = 32,
  MMA_M = 16
};

/* Of 32 bits, as a launch asks for it: a processor divides 64 much more slowly. */
static uint32_t divide_up(uint32_t value, uint32_t divisor)
{
  return (value + divisor - 1) / divisor;
}

uint64_t sj_workspace_units(const swa_jit_config *config, const sj_tile_plan *plan, uint64_t num_ctas)
{
  return num_ctas * divide_up(config->head_group, plan->pass_heads);
}

uint64_t sj_workspace_bytes(const swa_jit_config *config, const sj_tile_plan *plan, uint64_t num_units,
                            uint32_t num_splits)
{
  const uint32_t out_dim = config->head_dim_v != 0 ? config->head_dim_v : config->head_dim;
  const uint32_t row_tiles = divide_up(plan->pass_heads, MMA_M);
  const uint32_t warp_slices = divide_up(out_dim / SLICE_DIMS, plan->value_warps_n);
  const uint32_t thread_bytes = row_tiles / plan->value_warps_m * warp_slices * SLICE_FLOATS * (uint32_t)sizeof(float);
  const uint32_t split_bytes = row_tiles * MMA_M * ROW_BYTES + thread_bytes * plan->num_warps * WARP_THREADS;
  return (uint64_t)SJ_MAX_UNITS * COUNT_BYTES + num_units * num_splits * split_bytes;
}

uint64_t sj_workspace_offset(uint64_t num_units)
{
  return (uint64_t)SJ_MAX_UNITS * COUNT_BYTES - (num_units * COUNT_BYTES + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
}
