/* SPDX-License-Identifier: Apache-2.0 */
/* The way through the text: branches, ends, and what asks the hardware for nothing that is modelled. */
#include <stdatomic.h>

#include "async.h"
#include "families.h"
#include "lanes.h"

static emu_next bra(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (active == 0) {
    return EMU_NEXT;
  }
  emu_branch(warp, active, step->target);
  return EMU_AWAY;
}

static emu_next end(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (warp->live == active && warp->block->live_warps == 1 && !emu_block_may_end(warp, step)) {
    return EMU_FAULT;
  }
  emu_exit_lanes(warp, active);
  return EMU_AWAY;
}

static emu_next trap(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return emu_fault(warp, step, (unsigned)__builtin_ctz(active), EMU_LAUNCH_FAILED, "trap");
}

/* Who waits knows that the launch before has ended, and hands that on as all that it knows. */
static emu_next wait_for_launch(emu_warp *warp, const emu_step *step, uint32_t active)
{
  emu_race *race = warp->block->race;
  (void)step;
  if (warp->block->grid->launch->chain > 1) {
    EMU_FOR_LANES(lane, active)
    {
      emu_race_learn(race, warp->index, lane, emu_race_extra_row(race) + EMU_LAUNCH_AGENT_ROW, 0, 1);
    }
  }
  return EMU_NEXT;
}

bool emu_grid_has_waited(const emu_warp *warp, unsigned lane)
{
  const emu_race *race = warp->block->race;
  return emu_race_knows_any(race, warp->index, lane, emu_race_extra_row(race) + EMU_LAUNCH_AGENT_ROW, 0, 1);
}

static emu_next launch_dependents(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  (void)active;
  atomic_store(&warp->block->grid->lets_dependents_begin, 1);
  return EMU_NEXT;
}

static emu_next nothing(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)warp;
  (void)step;
  (void)active;
  return EMU_NEXT;
}

/* Others run meanwhile. */
static emu_next pause(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)warp;
  (void)step;
  (void)active;
  return EMU_YIELD;
}

#define ROW(pattern, operands, function, flags, arch)                                                                  \
  {                                                                                                                    \
    pattern, operands, function, flags, 0, arch                                                                        \
  }

static const emu_row rows[] = {
    ROW("bra.uni?", "L", bra, EMU_ROW_ALWAYS, 0),
    ROW("ret.uni?", "", end, 0, 0), /* there are no functions to return from */
    ROW("exit", "", end, 0, 0),
    ROW("trap", "", trap, 0, 0),
    ROW("brkpt", "", trap, 0, 0),
    ROW("nanosleep.u32", "w", pause, 0, 70),
    ROW("pmevent.mask?", "c", nothing, 0, 0),
    ROW("griddepcontrol.wait", "", wait_for_launch, 0, 90),
    ROW("griddepcontrol.launch_dependents", "", launch_dependents, 0, 90),
};

EMU_FAMILY(emu_family_control, rows);
