/* SPDX-License-Identifier: Apache-2.0 */
/* The sixteen barriers of a block, and fences. */
#include "async.h"
#include "families.h"
#include "global_race.h"
#include "lanes.h"

enum { SYNC, ARRIVE, RED_AND, RED_OR, RED_POPC };

static bool all_warps(const emu_block *block, uint32_t warps)
{
  for (uint32_t w = 0; w < block->num_warps; w++) {
    if (block->warps[w].live != 0 && (warps >> w & 1) == 0) {
      return false;
    }
  }
  return true;
}

/* Nobody ended, and everybody waited: nothing from before can race with what comes. */
static bool orders_all(const emu_block *block, const emu_barrier *barrier)
{
  uint32_t lanes = 0;
  for (uint32_t w = 0; w < block->num_warps; w++) {
    lanes += (uint32_t)__builtin_popcount(block->warps[w].live);
  }
  return lanes == block->num_threads && all_warps(block, barrier->waiting_warps);
}

static void complete(emu_block *block, unsigned id)
{
  emu_barrier *barrier = &block->barriers[id];
  for (uint32_t w = 0; w < block->num_warps; w++) {
    emu_warp *warp = &block->warps[w];
    for (uint32_t g = 0; g < warp->num_groups; g++) {
      emu_group *group = &warp->groups[g];
      if (group->state == EMU_WAITING && group->wait_barrier == id + 1) {
        emu_race_acquire(block->race, w, group->lanes, barrier->clocks);
        group->state = EMU_READY;
        group->is_resumed = 1;
        group->wait_barrier = 0;
        group->result = barrier->reduction;
      }
    }
  }
  if (orders_all(block, barrier)) {
    emu_race_forget(block->race);
  }
  emu_clocks_drop(&barrier->clocks);
  *barrier = (emu_barrier){0};
  emu_progress(block->cluster);
}

/* expected 0: all live warps. */
static bool is_complete(const emu_block *block, const emu_barrier *barrier)
{
  return barrier->arrived_warps != 0
         && (barrier->expected != 0 ? barrier->arrived >= barrier->expected : all_warps(block, barrier->arrived_warps));
}

void emu_barriers_warp_ended(emu_block *block)
{
  for (unsigned id = 0; id < EMU_BARRIERS; id++) {
    if (block->barriers[id].expected == 0 && is_complete(block, &block->barriers[id])) {
      complete(block, id);
    }
  }
}

static void reduce(emu_barrier *barrier, unsigned operation, uint32_t lanes, uint32_t active, bool first)
{
  const bool all = (lanes & active) == active, any = (lanes & active) != 0;
  if (operation == RED_AND) {
    barrier->reduction = first ? all : barrier->reduction && all;
  } else if (operation == RED_OR) {
    barrier->reduction = first ? any : barrier->reduction || any;
  } else if (operation == RED_POPC) {
    barrier->reduction = (first ? 0 : barrier->reduction) + (uint32_t)__builtin_popcount(lanes & active);
  }
}

/* The barrier's number and count, checked; false after emu_fault. */
static bool read_operands(emu_warp *warp, const emu_step *step, uint32_t active, bool has_count, uint32_t *id_out,
                          uint32_t *count_out)
{
  const uint32_t lane = (uint32_t)__builtin_ctz(active);
  const uint32_t id = emu_in32(warp, &step->src[0])[lane];
  const uint32_t count = has_count ? emu_in32(warp, &step->src[1])[lane] : 0;
  if (id >= EMU_BARRIERS) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "barrier %u: a block has %d", id, EMU_BARRIERS);
    return false;
  }
  if (has_count && (count == 0 || count % EMU_LANES != 0)) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a barrier of %u threads: a multiple of 32 is wanted", count);
    return false;
  }
  const emu_barrier *barrier = &warp->block->barriers[id];
  if (barrier->arrived_warps != 0 && barrier->expected != count) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
              "barrier %u is for %u threads here, and for %u for who is there already (0: all)", id, count,
              barrier->expected);
    return false;
  }
  if ((barrier->arrived_warps >> warp->index & 1) != 0) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "the warp is at barrier %u already", id);
    return false;
  }
  *id_out = id;
  *count_out = count;
  return true;
}

static void give_result(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t result = warp->group->result;
  if (step->arg == RED_POPC) {
    EMU_FOR_LANES(lane, active)
    {
      emu_out32(warp, &step->dst[0])[lane] = result;
    }
  } else if (step->arg == RED_AND || step->arg == RED_OR) {
    emu_out_pred(warp, &step->dst[0], active, result != 0 ? EMU_ALL_LANES : 0);
  }
}

/* bar.sync a {, b}; bar.arrive a, b; bar.red d, a {, b}, p. */
static emu_next barrier(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (warp->group->is_resumed) {
    give_result(warp, step, active);
    return EMU_NEXT;
  }
  const bool reduces = step->arg >= RED_AND;
  const bool has_count = step->num_src > (reduces ? 2 : 1);
  uint32_t id = 0, count = 0;
  if (!read_operands(warp, step, active, has_count, &id, &count)) {
    return EMU_FAULT;
  }
  emu_block *block = warp->block;
  emu_barrier *at = &block->barriers[id];
  if (reduces) {
    reduce(at, step->arg, emu_in_pred(warp, &step->src[step->num_src - 1]), active, at->arrived_warps == 0);
  }
  at->expected = count;
  at->arrived += EMU_LANES;
  at->arrived_warps |= 1u << warp->index;
  emu_race_release(block->race, warp->index, active, &at->clocks);
  if (at->expected != 0 && at->arrived > at->expected) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "barrier %u is for %u threads, and more come", id,
                     count);
  }
  if (step->arg != ARRIVE) {
    at->waiting_warps |= 1u << warp->index;
    warp->group->state = EMU_WAITING;
    warp->group->wait_barrier = id + 1;
    warp->group->why = "a barrier";
  }
  if (is_complete(block, at)) {
    complete(block, id);
  }
  return step->arg == ARRIVE ? EMU_NEXT : EMU_BLOCK;
}

/* ---- Fences ----------------------------------------------------------------------------------------------- */

/* Memory is one and each access whole: order needs no doing but for the race check. */
static emu_next fence(emu_warp *warp, const emu_step *step, uint32_t active)
{
  emu_race_fence(warp->block->race, warp->index, active);
  if (step->arg != 0 ? step->mods[0] > 1 : step->mods[1] > 2) { /* gpu, sys */
    emu_strong_fence(warp, active);
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, flags, arg, arch)                                                             \
  {                                                                                                                    \
    pattern, operands, function, flags, arg, arch                                                                      \
  }
#define BARRIER(op, rest)                                                                                              \
  ROW(op ".cta?.sync" rest, "w w?", barrier, EMU_ROW_ALIGNED, SYNC, 0),                                                \
      ROW(op ".cta?.arrive" rest, "w w", barrier, EMU_ROW_ALIGNED, ARRIVE, 0),                                         \
      ROW(op ".cta?.red.and" rest ".pred", "=p w p", barrier, EMU_ROW_ALIGNED, RED_AND, 0),                            \
      ROW(op ".cta?.red.or" rest ".pred", "=p w p", barrier, EMU_ROW_ALIGNED, RED_OR, 0),                              \
      ROW(op ".cta?.red.popc" rest ".u32", "=w w p", barrier, EMU_ROW_ALIGNED, RED_POPC, 0),                           \
      ROW(op ".cta?.red.and" rest ".pred", "=p w w p", barrier, EMU_ROW_ALIGNED, RED_AND, 0),                          \
      ROW(op ".cta?.red.or" rest ".pred", "=p w w p", barrier, EMU_ROW_ALIGNED, RED_OR, 0),                            \
      ROW(op ".cta?.red.popc" rest ".u32", "=w w w p", barrier, EMU_ROW_ALIGNED, RED_POPC, 0)

static const emu_row rows[] = {
    BARRIER("bar", ""),
    BARRIER("barrier", ".aligned?"),
    ROW("membar.cta|gl|sys", "", fence, 0, 1, 0),
    ROW("fence.sc|acq_rel|acquire|release?.cta|cluster|gpu|sys", "", fence, 0, 0, 70),
    ROW("fence.acquire.sync_restrict::shared::cluster.cluster", "", fence, 0, 0, 90),
    ROW("fence.release.sync_restrict::shared::cta.cluster", "", fence, 0, 0, 90),
};

EMU_FAMILY(emu_family_barrier, rows);
