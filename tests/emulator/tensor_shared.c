/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory as products and copies read it: 16 bytes at a time, in the async proxy (PTX ISA 9.7.16.6.5). */
#include "smem_matrix.h"
#include "tensor_memory.h"

bool emu_tensor_read_shared(const emu_tensor_op *op, emu_block *block, uint32_t address, const char *which)
{
  emu_warp *warp = op->warp;
  const unsigned long long whole = (unsigned long long)block->cluster_rank << 24 | address;
  uint32_t offset = 0;
  if (emu_shared_find(warp, EMU_SHARED_CLUSTER, whole, EMU_CHUNK, &offset) == NULL) {
    emu_fault(warp, op->step, op->lane, EMU_ILLEGAL_ADDRESS,
              "out of bounds: %s is at 0x%llx of shared memory by its descriptor", which, whole);
    return false;
  }
  const uint8_t *states = block->shared_states + offset;
  if (!emu_all_state(states, EMU_CHUNK, EMU_BYTE_WRITTEN)) {
    const bool is_barrier = memchr(states, EMU_BYTE_BARRIER, EMU_CHUNK) != NULL;
    emu_fault(warp, op->step, op->lane, EMU_ILLEGAL_ADDRESS,
              is_barrier ? "%s is at 0x%llx of shared memory by its descriptor, which is an mbarrier"
                         : "uninitialised: %s is at 0x%llx of shared memory by its descriptor, which was never written",
              which, whole);
    return false;
  }
  emu_race_conflict with;
  const emu_race_by by = {emu_tensor_agent_row(op), op->agent % EMU_LANES, warp->index, op->lane, true};
  if (!emu_race_read_in_order(block->race, warp->block->race, by, offset, EMU_CHUNK, &with)) {
    emu_report_race(warp, op->step, op->lane, &with, whole, EMU_READ);
    return false;
  }
  return true;
}

emu_block *emu_tensor_ready_peer(emu_warp *warp, const emu_step *step, unsigned lane)
{
  emu_block *peer = emu_tensor_peer(warp->block);
  if (peer == NULL) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
              "cta_group::2 in a cluster of %u blocks: the block has no peer", warp->block->cluster->num_blocks);
  } else if (peer->live_warps == 0) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "cta_group::2, and the peer block has ended");
    peer = NULL;
  }
  return peer;
}
