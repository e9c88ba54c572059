/* SPDX-License-Identifier: Apache-2.0 */
/* The way through the text: branches, ends, and what asks the hardware for nothing that is modelled. */
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
    /* Kernels of a stream run one behind the other here: the one before has always ended. */
    ROW("griddepcontrol.wait", "", nothing, 0, 90),
    ROW("griddepcontrol.launch_dependents", "", nothing, 0, 90),
};

EMU_FAMILY(emu_family_control, rows);
