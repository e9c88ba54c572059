/* SPDX-License-Identifier: Apache-2.0 */
/* A warp's lanes are parted into groups, each at one instruction. A branch parts a group, and groups that meet are
 * one again. Which group runs is drawn, with a preference for the one that is furthest behind. */
#include "tensor_memory.h"
#include "warpgroup.h"

static void drop_group(emu_warp *warp, emu_group *group)
{
  *group = warp->groups[--warp->num_groups];
}

static bool may_merge(const emu_group *group)
{
  return group->state != EMU_WAITING && !group->is_resumed;
}

/* Joins all groups that stand where this one stands. */
static void merge_into(emu_warp *warp, emu_group *group)
{
  for (uint32_t i = 0; i < warp->num_groups; i++) {
    emu_group *other = &warp->groups[i];
    if (other == group || other->pc != group->pc || !may_merge(other)) {
      continue;
    }
    group->lanes |= other->lanes;
    const bool moves = group == &warp->groups[warp->num_groups - 1];
    drop_group(warp, other);
    if (moves) {
      group = other; /* the last one took the dropped one's place */
    }
    i--;
  }
  warp->group = group;
}

void emu_branch(emu_warp *warp, uint32_t lanes, uint32_t target)
{
  emu_group *group = warp->group;
  const uint32_t rest = group->lanes & ~lanes;
  if (rest != 0) {
    emu_group *made = &warp->groups[warp->num_groups++];
    *made = (emu_group){.lanes = rest, .pc = group->pc + 1, .state = EMU_READY};
  }
  group->lanes = lanes;
  group->pc = target;
  group->is_resumed = 0;
}

void emu_exit_lanes(emu_warp *warp, uint32_t lanes)
{
  emu_group *group = warp->group;
  const emu_step *step = &warp->block->kernel->steps[group->pc];
  warp->live &= ~lanes;
  group->lanes &= ~lanes;
  group->pc++;
  if (group->lanes == 0) {
    drop_group(warp, group);
  }
  emu_progress(warp->block->cluster);
  if (warp->live == 0) {
    warp->block->live_warps--;
    emu_warpgroup_warp_ended(warp, step);
    emu_barriers_warp_ended(warp->block);
  }
  emu_cluster_barrier_lanes_ended(warp->block->cluster);
}

void emu_progress(emu_cluster *cluster)
{
  cluster->progress++;
}

bool emu_group_is_spinning(const emu_warp *warp, const emu_group *group)
{
  return group->spun_at == warp->block->cluster->progress + 1;
}

uint64_t emu_random(emu_cluster *cluster)
{
  cluster->random = cluster->random * 6364136223846793005ull + 1442695040888963407ull;
  return cluster->random ^ cluster->random >> 29;
}

/* ---- Instructions that wait for other lanes of the warp --------------------------------------------------- */

/* The lanes that must be there; false when the group's own lanes disagree, or are not among them. */
static bool members_of(emu_warp *warp, const emu_step *step, uint32_t active, uint32_t *members_out)
{
  if ((step->flags & EMU_ROW_ALIGNED) != 0) {
    *members_out = warp->live;
    return true;
  }
  const uint32_t *masks = emu_in32(warp, &step->src[step->num_src - 1]);
  const uint32_t first = masks[__builtin_ctz(active)];
  EMU_FOR_LANES(lane, active)
  {
    if (masks[lane] != first || (first >> lane & 1) == 0) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                (first >> lane & 1) == 0 ? "the lane is not in its own member mask 0x%08x"
                                         : "lanes of one instruction give different member masks: 0x%08x and others",
                first);
      return false;
    }
  }
  *members_out = first & warp->live;
  return true;
}

/* Whether a group waits at an instruction that lanes may come to anywhere, with this mask. */
static bool waits_elsewhere(const emu_warp *warp, const emu_group *group, uint32_t mask)
{
  const emu_step *step = &warp->block->kernel->steps[group->pc];
  return group->state == EMU_CONVERGING && (step->flags & EMU_ROW_ANYWHERE) != 0
         && emu_in32(warp, &step->src[step->num_src - 1])[__builtin_ctz(group->lanes)] == mask;
}

/* Lets the groups go that wait elsewhere for the running one, when with it all are there. */
static bool meet_elsewhere(emu_warp *warp, const emu_step *step, uint32_t active, uint32_t members)
{
  const uint32_t mask = emu_in32(warp, &step->src[step->num_src - 1])[__builtin_ctz(active)];
  uint32_t there = active;
  for (uint32_t i = 0; i < warp->num_groups; i++) {
    there |= waits_elsewhere(warp, &warp->groups[i], mask) ? warp->groups[i].lanes : 0;
  }
  if ((members & ~there) != 0) {
    return false;
  }
  for (uint32_t i = 0; i < warp->num_groups; i++) {
    emu_group *group = &warp->groups[i];
    if (group != warp->group && waits_elsewhere(warp, group, mask)) {
      group->state = EMU_READY;
      group->is_resumed = 1;
    }
  }
  emu_race_sync_lanes(warp->block->race, warp->index, members);
  return true;
}

/* Whether the running group may execute; otherwise it waits for the rest. */
static emu_next converge(emu_warp *warp, const emu_step *step, uint32_t *active)
{
  uint32_t members = 0;
  if (warp->num_groups > 1) {
    merge_into(warp, warp->group);
    *active = warp->group->lanes & (step->has_guard ? emu_in_pred(warp, &step->guard) : EMU_ALL_LANES);
  }
  if (*active == 0) {
    return EMU_NEXT;
  }
  if (!members_of(warp, step, *active, &members)) {
    return EMU_FAULT;
  }
  if ((members & ~*active) == 0
      || ((step->flags & EMU_ROW_ANYWHERE) != 0 && meet_elsewhere(warp, step, *active, members))) {
    warp->group->state = EMU_READY;
    return EMU_NEXT;
  }
  if ((members & ~warp->group->lanes) == 0 && (step->flags & EMU_ROW_ALIGNED) != 0) {
    return emu_fault(warp, step, (unsigned)__builtin_ctz(members & ~*active), EMU_ILLEGAL_INSTRUCTION,
                     "the guard parts the warp: lanes 0x%08x of 0x%08x execute an aligned instruction", *active,
                     members);
  }
  const uint32_t passed = warp->group->lanes & ~*active;
  if (passed != 0) { /* lanes that the guard keeps out go on */
    warp->group->lanes = *active;
    warp->groups[warp->num_groups++] = (emu_group){.lanes = passed, .pc = warp->group->pc + 1, .state = EMU_READY};
  }
  warp->group->state = EMU_CONVERGING;
  warp->group->why = (step->flags & EMU_ROW_ALIGNED) != 0 ? "the other lanes of its warp at an aligned instruction"
                                                          : "the other lanes of its member mask";
  return EMU_BLOCK;
}

/* ---- Steps ------------------------------------------------------------------------------------------------ */

ptx_name emu_register_name(const emu_kernel *kernel, uint32_t reg)
{
  ptx_name name = {"?", 1};
  for (uint32_t i = 0; i < kernel->from->num_symbols; i++) {
    const ptx_symbol *symbol = kernel->from->symbols[i];
    if (symbol->space == PTX_REG && symbol->index + 1 == reg) {
      name = symbol->name;
    }
  }
  return name;
}

emu_next emu_unwritten(emu_warp *warp, const emu_step *step, uint32_t lanes, const emu_slot *slot)
{
  const unsigned lane = (unsigned)__builtin_ctz(lanes);
  const ptx_name name = emu_register_name(warp->block->kernel, slot->reg);
  const emu_step *load = emu_tensor_pending_load(warp, slot);
  if (load != NULL) {
    return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                     "register %.*s is read before tcgen05.wait::ld: the load of PTX line %u need not have filled it",
                     (int)name.length, name.at, load->from->place.line);
  }
  return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "register %.*s is read and was never written",
                   (int)name.length, name.at);
}

/* Looks at the written masks of the sources and sets the results'. */
static emu_next account(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t *written = warp->written;
  uint32_t good = active;
  for (unsigned i = 0; i < step->num_src; i++) {
    good &= written[step->src[i].reg];
  }
  if (good != active && (step->flags & EMU_ROW_LAX) == 0) {
    for (unsigned i = 0; i < step->num_src; i++) {
      const uint32_t bad = active & ~written[step->src[i].reg];
      if (bad != 0) {
        return emu_unwritten(warp, step, bad, &step->src[i]);
      }
    }
  }
  for (unsigned i = 0; i < step->num_dst; i++) {
    written[step->dst[i].reg] = (written[step->dst[i].reg] & ~active) | good;
  }
  return EMU_NEXT;
}

static void read_clock(emu_warp *warp)
{
  const emu_kernel *kernel = warp->block->kernel;
  const uint64_t now = warp->block->cluster->clock * 4 + warp->steps;
  for (uint32_t i = 0; i < kernel->num_specials; i++) {
    const emu_used_special *used = &kernel->specials[i];
    uint8_t *at = warp->banks[EMU_BANK_SPECIALS] + used->offset;
    for (unsigned lane = 0; used->special >= PTX_CLOCK && lane < EMU_LANES; lane++) {
      if (used->special == PTX_CLOCK64 || used->special == PTX_GLOBALTIMER) {
        ((uint64_t *)(void *)at)[lane] = now;
      } else {
        const bool high = used->special == PTX_CLOCK_HI || used->special == PTX_GLOBALTIMER_HI;
        ((uint32_t *)(void *)at)[lane] = (uint32_t)(high ? now >> 32 : now);
      }
    }
  }
}

static emu_next one_step(emu_warp *warp, const emu_step *step)
{
  emu_group *group = warp->group;
  uint32_t active = group->lanes;
  if (step->has_guard) {
    const uint32_t bad = active & ~warp->written[step->guard.reg];
    if (bad != 0) {
      return emu_unwritten(warp, step, bad, &step->guard);
    }
    active &= emu_in_pred(warp, &step->guard);
  }
  if ((step->flags & (EMU_ROW_ALIGNED | EMU_ROW_MEMBERS)) != 0 && !group->is_resumed) {
    if (active == 0) {
      return EMU_NEXT;
    }
    const emu_next next = converge(warp, step, &active);
    if (next != EMU_NEXT) {
      return next;
    }
  }
  if (active == 0 && (step->flags & EMU_ROW_ALWAYS) == 0) {
    return EMU_NEXT;
  }
  if (step->reads_clock) {
    read_clock(warp);
  }
  if ((step->flags & EMU_ROW_OWN) == 0) {
    if (account(warp, step, active) != EMU_NEXT) {
      return EMU_FAULT;
    }
  }
  if (warp->products != NULL && warp->products->registers != NULL && (step->flags & EMU_ROW_PRODUCT) == 0
      && !emu_products_touch(warp, step)) {
    return EMU_FAULT;
  }
  warp->steps++;
  warp->thread_steps += (unsigned)__builtin_popcount(active);
  return step->exec(warp, step, active);
}

/* Runs the drawn group until its budget is spent or it is no longer at liberty to go on. */
static unsigned run_group(emu_warp *warp, unsigned budget)
{
  const emu_step *steps = warp->block->kernel->steps;
  unsigned done = 0;
  while (done < budget) {
    emu_group *group = warp->group;
    const emu_step *step = &steps[group->pc];
    if (step->is_target && warp->num_groups > 1 && may_merge(group)) {
      merge_into(warp, group);
    }
    done++;
    switch (one_step(warp, step)) {
    case EMU_NEXT:
      group = warp->group;
      group->pc++;
      group->is_resumed = 0;
      break;
    case EMU_YIELD:
      group = warp->group;
      group->pc++;
      group->is_resumed = 0;
      group->spun_at = warp->block->cluster->progress + 1;
      return done;
    case EMU_AWAY:
      if (warp->num_groups != 1) {
        return done;
      }
      warp->group = &warp->groups[0];
      break;
    case EMU_BLOCK:
      return done;
    case EMU_FAULT:
      return done;
    }
  }
  return done;
}

/* A converging group whose missing lanes have come, or have ended, is ready again. */
static void look_at_converging(emu_warp *warp)
{
  for (uint32_t i = 0; i < warp->num_groups; i++) {
    emu_group *group = &warp->groups[i];
    if (group->state != EMU_CONVERGING) {
      continue;
    }
    const uint32_t before = warp->num_groups;
    merge_into(warp, group);
    const emu_step *step = &warp->block->kernel->steps[warp->group->pc];
    uint32_t members = warp->live;
    if ((step->flags & EMU_ROW_MEMBERS) != 0) {
      members &= emu_in32(warp, &step->src[step->num_src - 1])[__builtin_ctz(warp->group->lanes)];
    }
    warp->group->state = (members & ~warp->group->lanes) == 0 ? EMU_READY : EMU_CONVERGING;
    if (warp->num_groups != before) {
      i = UINT32_MAX; /* places have changed: from the start */
    }
  }
}

/* One of the ready groups: the one furthest behind, or any. */
static emu_group *draw_group(emu_warp *warp, bool spinners_too)
{
  emu_group *least = NULL;
  emu_group *ready[EMU_LANES];
  unsigned count = 0;
  for (uint32_t i = 0; i < warp->num_groups; i++) {
    emu_group *group = &warp->groups[i];
    if (group->state != EMU_READY || (!spinners_too && emu_group_is_spinning(warp, group))) {
      continue;
    }
    ready[count++] = group;
    if (least == NULL || group->pc < least->pc) {
      least = group;
    }
  }
  if (count > 1 && emu_random_below(warp->block->cluster, 4) == 0) {
    return ready[emu_random_below(warp->block->cluster, count)];
  }
  return least;
}

bool emu_warp_run(emu_warp *warp, unsigned budget, bool spinners_too)
{
  if (warp->num_groups > 1) {
    look_at_converging(warp);
  } else if (warp->num_groups == 1 && warp->groups[0].state == EMU_CONVERGING) {
    look_at_converging(warp);
  }
  emu_group *group = draw_group(warp, spinners_too);
  if (group == NULL) {
    return false;
  }
  warp->group = group;
  warp->block->cluster->clock += run_group(warp, budget);
  return true;
}
