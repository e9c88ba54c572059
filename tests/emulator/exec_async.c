/* SPDX-License-Identifier: Apache-2.0 */
/* cp.async and its groups. The copies of one instruction are an event, of which lanes may happen apart. The bytes are
 * written in the name of the lane's async agent: who reads them without having waited races with it. */
#include <stdlib.h>

#include "async.h"
#include "families.h"
#include "lanes.h"

enum { MAX_COPY = 16 };

typedef struct copy {
  emu_event event;
  uint32_t clock; /* of the agents' row */
  uint32_t group[EMU_LANES];
  uint8_t *to[EMU_LANES];
  const uint8_t *from[EMU_LANES];
  uint8_t bytes[EMU_LANES]; /* of the source; the rest is zero */
  uint8_t size;
  uint8_t is_early; /* the source is read when the copy is issued */
  uint8_t data[EMU_LANES][MAX_COPY];
} copy;

struct emu_copies {
  uint32_t committed[EMU_LANES];               /* groups */
  uint32_t clocks[EMU_LANES][EMU_COPY_GROUPS]; /* of the agents at the end of each of the last groups */
};

static uint32_t agent_row(const emu_warp *warp)
{
  return warp->block->num_warps + warp->index;
}

void emu_copies_start(emu_warp *warp)
{
  if (warp->copies != NULL) {
    memset(warp->copies, 0, sizeof *warp->copies);
  }
}

void emu_copies_free(emu_warp *warp)
{
  free(warp->copies);
  warp->copies = NULL;
}

static struct emu_copies *copies_of(emu_warp *warp, const emu_step *step)
{
  if (warp->copies == NULL) {
    warp->copies = calloc(1, sizeof *warp->copies);
    if (warp->copies == NULL) {
      emu_fault(warp, step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory for groups of copies");
    }
  }
  return warp->copies;
}

/* ---- Copies ----------------------------------------------------------------------------------------------- */

static void copy_happens(emu_event *event, uint32_t lanes)
{
  copy *made = (copy *)event;
  EMU_FOR_LANES(lane, lanes)
  {
    if (made->bytes[lane] > 0) { /* otherwise there is no source */
      memcpy(made->to[lane], made->is_early ? made->data[lane] : made->from[lane], made->bytes[lane]);
    }
    memset(made->to[lane] + made->bytes[lane], 0, made->size - (size_t)made->bytes[lane]);
  }
}

/* All copies of these lanes that a limit on their group allows happen. */
static void copies_happen(emu_warp *warp, uint32_t lanes, const uint32_t first_group_left[EMU_LANES])
{
  emu_cluster *cluster = warp->block->cluster;
  for (emu_event *event = cluster->events; event != NULL;) {
    emu_event *next = event->next;
    if (event->warp == warp && event->kind == EMU_EVENT_COPY) {
      uint32_t chosen = 0;
      EMU_FOR_LANES(lane, lanes & event->lanes)
      {
        const bool goes = first_group_left == NULL || ((copy *)event)->group[lane] < first_group_left[lane];
        chosen |= (uint32_t)goes << lane;
      }
      if (chosen != 0) {
        emu_event_happen(cluster, event, chosen);
      }
    }
    event = next;
  }
}

static bool destination(emu_warp *warp, const emu_step *step, copy *made, uint32_t lane, uint32_t size)
{
  const uint64_t address = emu_address(warp, step, &step->src[0], lane);
  uint32_t offset = 0;
  emu_block *block = emu_shared_find(warp, EMU_SHARED, address, size, &offset);
  if ((address & (size - 1)) != 0) {
    emu_fault(warp, step, lane, EMU_MISALIGNED_ADDRESS, "misaligned: copy of %u bytes to shared memory at 0x%llx", size,
              (unsigned long long)address);
    return false;
  }
  if (block == NULL) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS, "out of bounds: copy of %u bytes to shared memory at 0x%llx", size,
              (unsigned long long)address);
    return false;
  }
  emu_race_conflict with;
  if (!emu_race_access(block->race, (emu_race_by){agent_row(warp), lane, warp->index, lane, false}, offset, size,
                       EMU_RACE_WRITE, &with)) {
    emu_report_race(warp, step, lane, &with, address, EMU_WRITE);
    return false;
  }
  for (uint32_t i = 0; i < size; i++) {
    if (block->shared_states[offset + i] == EMU_BYTE_BARRIER) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a copy over the mbarrier at 0x%llx",
                (unsigned long long)address);
      return false;
    }
  }
  memset(block->shared_states + offset, EMU_BYTE_WRITTEN, size);
  made->to[lane] = block->shared + offset;
  return true;
}

/* The address of a copy of nothing is not looked at. */
static bool source(emu_warp *warp, const emu_step *step, copy *made, uint32_t lane, uint32_t size)
{
  uint64_t bytes = size;
  if (step->num_src > 3 && step->src[3].size == 0) {
    bytes = (emu_in_pred(warp, &step->src[3]) >> lane & 1) != 0 ? 0 : size; /* ignore-src */
  } else if (step->num_src > 3 && step->src[3].size != 8) {
    bytes = emu_lane(warp, &step->src[3], lane);
  } else if (step->num_src > 3 && step->src[3].bank == EMU_BANK_CONSTANTS) {
    bytes = emu_lane(warp, &step->src[3], lane);
  }
  if (bytes > size) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a copy of %u bytes with %llu of the source", size,
              (unsigned long long)bytes);
    return false;
  }
  made->bytes[lane] = (uint8_t)bytes;
  if (bytes == 0) {
    return true;
  }
  const uint64_t address = emu_lane(warp, &step->src[1], lane) + (uint64_t)step->offset2;
  if ((address & (size - 1)) != 0) {
    emu_fault(warp, step, lane, EMU_MISALIGNED_ADDRESS, "misaligned: copy of %u bytes from 0x%llx", size,
              (unsigned long long)address);
    return false;
  }
  made->from[lane] = emu_access_bytes(warp, step, lane, EMU_GLOBAL, address, (uint32_t)bytes, EMU_READ);
  if (made->from[lane] == NULL) {
    return false;
  }
  if (made->is_early) {
    memcpy(made->data[lane], made->from[lane], bytes);
  }
  return true;
}

/* [to], [from], size {, bytes of the source | predicate that ignores it} {, cache policy}. arg: 1 for .cg. */
static emu_next cp_async(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t size = (uint32_t)emu_lane(warp, &step->src[2], 0);
  if (step->arg == 1 ? size != 16 : size != 4 && size != 8 && size != 16) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "a copy of %u bytes", size);
  }
  struct emu_copies *copies = copies_of(warp, step);
  copy *made = copies == NULL ? NULL : emu_event_add(warp, step, active, sizeof *made, EMU_EVENT_COPY, copy_happens);
  if (made == NULL) {
    return EMU_FAULT;
  }
  emu_race *race = warp->block->race;
  made->size = (uint8_t)size;
  made->clock = emu_race_clock(race, agent_row(warp));
  made->is_early = emu_random_below(warp->block->cluster, 2) == 0;
  uint32_t good = 0;
  EMU_FOR_LANES(lane, active)
  {
    if (!destination(warp, step, made, lane, size) || !source(warp, step, made, lane, size)) {
      made->event.lanes = good;
      return EMU_FAULT;
    }
    good |= 1u << lane;
    made->group[lane] = copies->committed[lane];
  }
  emu_race_tick(race, agent_row(warp));
  return EMU_NEXT;
}

static emu_next commit_group(emu_warp *warp, const emu_step *step, uint32_t active)
{
  struct emu_copies *copies = copies_of(warp, step);
  if (copies == NULL) {
    return EMU_FAULT;
  }
  const uint32_t clock = emu_race_clock(warp->block->race, agent_row(warp)) - 1;
  EMU_FOR_LANES(lane, active)
  {
    copies->clocks[lane][copies->committed[lane]++ % EMU_COPY_GROUPS] = clock;
  }
  return EMU_NEXT;
}

/* Waits for all groups but the last n; arg 1: for all copies, committed or not. */
static emu_next wait_group(emu_warp *warp, const emu_step *step, uint32_t active)
{
  struct emu_copies *copies = copies_of(warp, step);
  if (copies == NULL) {
    return EMU_FAULT;
  }
  emu_race *race = warp->block->race;
  const bool all = step->arg == 1;
  const uint64_t left = all ? 0 : emu_lane(warp, &step->src[0], 0);
  uint32_t first_left[EMU_LANES] = {0};
  EMU_FOR_LANES(lane, active)
  {
    const uint32_t committed = copies->committed[lane];
    first_left[lane] = committed > left ? committed - (uint32_t)left : 0;
  }
  copies_happen(warp, active, all ? NULL : first_left);
  EMU_FOR_LANES(lane, active)
  {
    uint32_t clock = emu_race_clock(race, agent_row(warp)) - 1;
    if (!all) {
      if (first_left[lane] == 0) {
        continue;
      }
      if (left >= EMU_COPY_GROUPS) {
        return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                         "waits for all but %llu groups: the emulator keeps %d", (unsigned long long)left,
                         EMU_COPY_GROUPS);
      }
      clock = copies->clocks[lane][(first_left[lane] - 1) % EMU_COPY_GROUPS];
    }
    emu_race_learn(race, warp->index, lane, agent_row(warp), lane, clock);
  }
  return EMU_NEXT;
}

/* ---- Arrival behind copies -------------------------------------------------------------------------------- */

typedef struct arrival {
  emu_event event;
  uint32_t clock;
  emu_mbarrier at[EMU_LANES];
} arrival;

static void arrival_happens(emu_event *event, uint32_t lanes)
{
  arrival *made = (arrival *)event;
  emu_warp *warp = event->warp;
  /* Copies that were issued behind it need not happen, but may. */
  copies_happen(warp, lanes, NULL);
  EMU_FOR_LANES(lane, lanes)
  {
    emu_mbarrier_publish(&made->at[lane], agent_row(warp), lane, made->clock);
    if (!emu_mbarrier_arrive(warp, event->step, lane, &made->at[lane], 1, NULL)) {
      return;
    }
  }
}

/* arg: 1 noinc. */
static emu_next copy_arrive(emu_warp *warp, const emu_step *step, uint32_t active)
{
  arrival *made = emu_event_add(warp, step, active, sizeof *made, EMU_EVENT_ARRIVE, arrival_happens);
  if (made == NULL) {
    return EMU_FAULT;
  }
  const emu_space space = step->mods[1] == 0 ? EMU_GENERIC : EMU_SHARED;
  made->clock = emu_race_clock(warp->block->race, agent_row(warp)) - 1;
  uint32_t good = 0;
  EMU_FOR_LANES(lane, active)
  {
    if (!emu_mbarrier_find(warp, step, lane, space, emu_address(warp, step, &step->src[0], lane), &made->at[lane])
        || (step->mods[0] == 0 && !emu_mbarrier_expect_arrival(warp, step, lane, &made->at[lane]))) {
      made->event.lanes = good;
      return EMU_FAULT;
    }
    good |= 1u << lane;
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg, arch)                                                                    \
  {                                                                                                                    \
    pattern, operands, function, 0, arg, arch                                                                          \
  }
#define HINTS "L2::cache_hint?.L2::64B|L2::128B|L2::256B?"
#define COPY(op, to, arg)                                                                                              \
  ROW(op "." to ".global." HINTS, "a a c", cp_async, arg, 80),                                                         \
      ROW(op "." to ".global." HINTS, "a a c w l?", cp_async, arg, 80),                                                \
      ROW(op "." to ".global." HINTS, "a a c p l?", cp_async, arg, 80),                                                \
      ROW(op "." to ".global." HINTS, "a a c l", cp_async, arg, 80)

static const emu_row rows[] = {
    COPY("cp.async.ca", "shared|shared::cta", 0),
    COPY("cp.async.cg", "shared|shared::cta", 1),
    ROW("cp.async.commit_group", "", commit_group, 0, 80),
    ROW("cp.async.wait_group", "c", wait_group, 0, 80),
    ROW("cp.async.wait_all", "", wait_group, 1, 80),
    ROW("cp.async.mbarrier.arrive.noinc?.shared|shared::cta?.b64", "a", copy_arrive, 0, 80),
};

EMU_FAMILY(emu_family_async, rows);
