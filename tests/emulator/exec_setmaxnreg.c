/* SPDX-License-Identifier: Apache-2.0 */
/* setmaxnreg: a warp's registers come from its block's pool and go back to it. The pool is empty when a block begins;
 * a kernel that was not told how many registers it may have is left as it is. */
#include "families.h"
#include "lanes.h"
#include "warpgroup.h"

enum { DECREASE = 2, LEAST = 24, MOST = 256, STEP = 8 };

/* By .maxnreg, or by what a block of the largest size leaves; 0: neither is said. */
static uint32_t registers_at_launch(const emu_block *block)
{
  const ptx_kernel *from = block->kernel->from;
  const uint32_t *size = from->max_threads;
  const uint64_t threads = (uint64_t)size[0] * size[1] * size[2];
  uint64_t most = MOST;
  if (threads == 0 && from->max_registers == 0) {
    return 0;
  }
  if (threads != 0) {
    const uint64_t blocks = from->min_blocks == 0 ? 1 : from->min_blocks;
    const uint64_t share = block->grid->device->registers_per_sm / (threads * blocks);
    most = share < most ? share : most;
  }
  if (from->max_registers != 0 && from->max_registers < most) {
    most = from->max_registers;
  }
  return (uint32_t)(most / STEP * STEP);
}

/* After one setmaxnreg the warps must meet before the next: that all have executed it must be known here. */
static bool have_met(emu_warp *warp, const emu_step *step)
{
  const uint64_t last = warp->products == NULL ? 0 : warp->products->last_setmaxnreg;
  const uint32_t first = warp->index / EMU_GROUP_WARPS * EMU_GROUP_WARPS;
  const emu_block *block = warp->block;
  for (uint32_t w = first; last != 0 && w < first + EMU_GROUP_WARPS; w++) {
    const struct emu_products *other = block->warps[w].products;
    if (w != warp->index
        && (other == NULL || other->last_setmaxnreg < last
            || (other->last_setmaxnreg == last
                && !emu_race_knows(block->race, warp->index, 0, w, 0, other->setmaxnreg_clock)))) {
      emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
                "this warp and warp %u have not met since their last setmaxnreg", w);
      return false;
    }
  }
  return true;
}

static bool begin(emu_warp *warp, const emu_step *step, uint32_t active, uint32_t wanted)
{
  if (wanted < LEAST || wanted > MOST || wanted % STEP != 0) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u registers: a multiple of %d from %d to %d is wanted",
              wanted, STEP, LEAST, MOST);
    return false;
  }
  const emu_agreed agreed = {.step = step};
  if (!have_met(warp, step) || emu_warpgroup_arrive(warp, &agreed, false, active) == NULL) {
    return false;
  }
  struct emu_products *products = warp->products;
  products->last_setmaxnreg = products->position;
  products->setmaxnreg_clock = emu_race_clock(warp->block->race, warp->index);
  if (products->num_registers == 0) {
    products->num_registers = registers_at_launch(warp->block);
  }
  emu_warpgroup_trim(emu_warpgroup_of(warp));
  return true;
}

/* Choices: inc|dec. */
static emu_next setmaxnreg(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint64_t operand = emu_lane(warp, &step->src[0], 0);
  const uint32_t wanted = operand > MOST ? MOST + 1 : (uint32_t)operand;
  if (!warp->group->is_resumed && !begin(warp, step, active, wanted)) {
    return EMU_FAULT;
  }
  struct emu_products *products = warp->products;
  uint32_t *pool = &warp->block->warpgroups->free_registers;
  const uint32_t have = products->num_registers;
  const bool decreases = step->mods[0] == DECREASE;
  if (have == 0) {
    return EMU_NEXT;
  }
  if (decreases ? have < wanted : have > wanted) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "the warp has %u registers a thread: %s to %u",
                     have, decreases ? "no decrease" : "no increase", wanted);
  }
  if (decreases) {
    *pool += (have - wanted) * EMU_LANES;
    emu_warpgroup_wake(warp->block, 0, warp->block->num_warps, EMU_WAIT_REGISTERS);
  } else if (*pool < (wanted - have) * EMU_LANES) {
    warp->group->state = EMU_WAITING;
    warp->group->wait_barrier = EMU_WAIT_REGISTERS;
    warp->group->why = "registers of the block's pool";
    return EMU_BLOCK;
  } else {
    *pool -= (wanted - have) * EMU_LANES;
  }
  products->num_registers = wanted;
  return EMU_NEXT;
}

#define ROW(arch)                                                                                                      \
  {                                                                                                                    \
    "setmaxnreg.inc|dec.sync.aligned.u32", "c", setmaxnreg, EMU_ROW_ALIGNED, 0, (arch) | 128                           \
  }

static const emu_row rows[] = {ROW(90), ROW(100)};

EMU_FAMILY(emu_family_budget, rows);
