/* SPDX-License-Identifier: Apache-2.0 */
/* The state of tensor memory: making it, and whose columns are whose. */
#include "tensor_memory.h"

#include <stdlib.h>

enum { CELLS = EMU_TENSOR_LANES * EMU_TENSOR_COLUMNS };

int emu_tensor_make(emu_block *block)
{
  if (!block->kernel->uses_tensor_memory) {
    return EMU_OK;
  }
  struct emu_tensor *tensor = calloc(1, sizeof *tensor);
  block->tensor = tensor;
  if (tensor == NULL) {
    return EMU_OUT_OF_MEMORY;
  }
  tensor->cells = calloc(CELLS, sizeof *tensor->cells);
  tensor->written = calloc(CELLS, sizeof *tensor->written);
  return tensor->cells == NULL || tensor->written == NULL ? EMU_OUT_OF_MEMORY : EMU_OK;
}

void emu_tensor_start(emu_block *block)
{
  struct emu_tensor *tensor = block->tensor;
  if (tensor == NULL) {
    return;
  }
  memset(tensor->written, 0, CELLS);
  tensor->owned = tensor->neighbour = 0;
  tensor->num_grants = tensor->last_count = 0;
  tensor->neighbour_drawn = tensor->relinquished = false;
  tensor->pair = (emu_tensor_pair){0};
  for (uint32_t w = 0; w < EMU_MAX_WARPS; w++) {
    tensor->loads[w].count = 0;
  }
  emu_tensor_order_start(block);
}

void emu_tensor_end(emu_block *block)
{
  const struct emu_tensor *tensor = block->tensor;
  if (tensor != NULL && tensor->num_grants > 0 && block->live_warps == 0) {
    const emu_tensor_grant *grant = &tensor->grants[0];
    emu_fault(grant->warp, grant->step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "tensor memory not freed: the block ended with columns %u to %u, which it got here", grant->first,
              grant->first + grant->count - 1);
  }
}

void emu_tensor_free(emu_block *block)
{
  struct emu_tensor *tensor = block->tensor;
  if (tensor == NULL) {
    return;
  }
  emu_tensor_order_free(block);
  for (uint32_t w = 0; w < EMU_MAX_WARPS; w++) {
    free(tensor->loads[w].steps);
  }
  free(tensor->cells);
  free(tensor->written);
  free(tensor);
  block->tensor = NULL;
}

emu_block *emu_tensor_peer(const emu_block *block)
{
  const uint32_t rank = block->cluster_rank ^ 1;
  return rank < block->cluster->num_blocks ? &block->cluster->blocks[rank] : NULL;
}

bool emu_tensor_owned(emu_warp *warp, const emu_step *step, unsigned lane, emu_block *block, uint32_t first_column,
                      uint32_t count)
{
  if (first_column >= EMU_TENSOR_COLUMNS || count > EMU_TENSOR_COLUMNS - first_column) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS, "out of bounds: columns %u to %u of tensor memory, which has %d",
              first_column, first_column + count - 1, EMU_TENSOR_COLUMNS);
    return false;
  }
  for (uint32_t column = first_column; column < first_column + count; column++) {
    if ((block->tensor->owned >> (column / EMU_TENSOR_UNIT) & 1) == 0) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
                "out of bounds: columns %u to %u of tensor memory%s, of which column %u is not allocated", first_column,
                first_column + count - 1, block == warp->block ? "" : " of the peer block", column);
      return false;
    }
  }
  return true;
}

bool emu_tensor_is_written(emu_warp *warp, const emu_step *step, unsigned lane, emu_block *block,
                           const emu_tensor_part *part)
{
  for (uint32_t row = 0; row < EMU_TENSOR_LANES; row++) {
    if (!emu_tensor_has_lane(part, row)) {
      continue;
    }
    const uint8_t *written = &block->tensor->written[(size_t)row * EMU_TENSOR_COLUMNS];
    for (uint32_t column = part->first; column < part->end; column++) {
      if (written[column] == 0) {
        emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
                  "uninitialised: read of tensor memory at lane %u, column %u%s that was never written", row, column,
                  block == warp->block ? "" : " of the peer block");
        return false;
      }
    }
  }
  return true;
}

void emu_tensor_mark_written(emu_block *block, const emu_tensor_part *part)
{
  for (uint32_t row = 0; row < EMU_TENSOR_LANES; row++) {
    if (emu_tensor_has_lane(part, row)) {
      memset(&block->tensor->written[(size_t)row * EMU_TENSOR_COLUMNS + part->first], 1, part->end - part->first);
    }
  }
}

const emu_step *emu_tensor_pending_load(const emu_warp *warp, const emu_slot *slot)
{
  if (warp->block->tensor == NULL) {
    return NULL;
  }
  const emu_tensor_loads *loads = &warp->block->tensor->loads[warp->index];
  for (uint32_t i = loads->count; i > 0; i--) {
    const emu_step *step = loads->steps[i - 1];
    for (unsigned d = 0; d < step->num_dst; d++) {
      if (step->dst[d].reg == slot->reg) {
        return step;
      }
    }
  }
  return NULL;
}
