/* SPDX-License-Identifier: Apache-2.0 */
#include "bulk.h"

#include <stdlib.h>

#include "atomic.h"
#include "families.h"

struct emu_bulks {
  uint32_t committed[EMU_LANES]; /* groups */
  emu_bulk *list;                /* of groups that were not waited for to their end, newest first */
};

/* One piece of an operation; or, with count 0, its reading. */
typedef struct piece {
  emu_event event;
  emu_bulk *op;
  uint32_t first, count; /* runs */
} piece;

/* ---- Life ------------------------------------------------------------------------------------------------- */

emu_bulk *emu_bulk_begin(emu_warp *warp, const emu_step *step, unsigned lane)
{
  emu_bulk *op = calloc(1, sizeof *op);
  if (op == NULL) {
    emu_fault(warp, step, lane, EMU_OUT_OF_MEMORY, "no memory for a bulk operation");
    return NULL;
  }
  *op = (emu_bulk){.users = 1, .warp = warp, .step = step, .lane = lane, .agent = emu_agent_take(warp, lane)};
  return op;
}

static void give(emu_bulk *op)
{
  if (--op->users == 0) {
    free(op->data);
    free(op->runs);
    free(op);
  }
}

void emu_bulk_abandon(emu_bulk *op)
{
  give(op);
}

static bool no_memory(emu_bulk *op)
{
  emu_fault(op->warp, op->step, op->lane, EMU_OUT_OF_MEMORY, "no memory for a bulk operation");
  return false;
}

bool emu_bulk_add(emu_bulk *op, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
  if (op->num_runs == op->room) {
    const uint32_t room = op->room == 0 ? 16 : 2 * op->room;
    emu_bulk_run *grown = realloc(op->runs, room * sizeof *grown);
    if (grown == NULL) {
      return no_memory(op);
    }
    op->runs = grown;
    op->room = room;
  }
  op->runs[op->num_runs++] = (emu_bulk_run){to, from, bytes};
  op->bytes += bytes;
  return true;
}

/* ---- Its accesses ----------------------------------------------------------------------------------------- */

bool emu_bulk_aligned(emu_bulk *op, const char *what, uint64_t address, uint32_t to)
{
  if (address % to != 0) {
    emu_fault(op->warp, op->step, op->lane, EMU_MISALIGNED_ADDRESS,
              "misaligned: the %s of a bulk operation at 0x%llx: a multiple of %u is wanted", what,
              (unsigned long long)address, to);
    return false;
  }
  return true;
}

static bool shared_state(emu_bulk *op, const emu_block *block, uint32_t offset, uint64_t address, uint32_t bytes,
                         emu_race_kind kind)
{
  uint8_t *states = block->shared_states + offset;
  if (emu_all_state(states, bytes, EMU_BYTE_WRITTEN)) {
    return true;
  }
  for (uint32_t i = 0; i < bytes; i++) {
    if (states[i] == EMU_BYTE_BARRIER) {
      emu_fault(op->warp, op->step, op->lane, EMU_ILLEGAL_INSTRUCTION, "a bulk operation on the mbarrier at 0x%llx",
                (unsigned long long)(address + i));
      return false;
    }
    if (states[i] != EMU_BYTE_WRITTEN && kind != EMU_RACE_WRITE) {
      emu_fault(op->warp, op->step, op->lane, EMU_ILLEGAL_ADDRESS,
                "uninitialised: a bulk operation on shared memory at 0x%llx that was never written",
                (unsigned long long)(address + i));
      return false;
    }
  }
  memset(states, EMU_BYTE_WRITTEN, bytes);
  return true;
}

/* Where they are, after the checks that do not depend on what they hold. at_out: the block and the offset in it. */
static uint8_t *shared_place(emu_bulk *op, emu_space space, uint64_t address, uint32_t bytes, emu_race_kind kind,
                             bool is_async_proxy, emu_mbarrier *at_out)
{
  emu_warp *warp = op->warp;
  uint32_t offset = 0;
  emu_block *block = emu_shared_find(warp, space, address, bytes, &offset);
  if (block == NULL) {
    emu_fault(warp, op->step, op->lane, EMU_ILLEGAL_ADDRESS,
              "out of bounds: bulk operation on %u bytes of shared memory at 0x%llx", bytes,
              (unsigned long long)address);
    return NULL;
  }
  if (!emu_shared_alive(warp, op->step, op->lane, block, address)) {
    return NULL;
  }
  emu_race *race = warp->block->race;
  if (kind != EMU_RACE_READ && emu_race_clock(race, op->agent.row) == op->agent.clock) {
    emu_race_tick(race, op->agent.row);
  }
  emu_race_conflict with;
  const emu_race_by by = {op->agent.row, op->agent.lane, warp->index, op->lane, is_async_proxy};
  if (!emu_race_access_of(block->race, race, by, offset, bytes, kind, &with)) {
    emu_report_race(warp, op->step, op->lane, &with, address, kind == EMU_RACE_READ ? EMU_READ : EMU_WRITE);
    return NULL;
  }
  at_out->block = block;
  at_out->offset = offset;
  return block->shared + offset;
}

uint8_t *emu_bulk_shared(emu_bulk *op, emu_space space, uint64_t address, uint32_t bytes, emu_race_kind kind)
{
  emu_mbarrier at;
  uint8_t *place = shared_place(op, space, address, bytes, kind, !op->is_generic, &at);
  return place != NULL && shared_state(op, at.block, at.offset, address, bytes, kind) ? place : NULL;
}

bool emu_bulk_barrier(emu_bulk *op, uint64_t address, emu_mbarrier *found)
{
  enum { BYTES = 8 };
  if (!emu_bulk_aligned(op, "mbarrier", address, BYTES)) {
    return false;
  }
  uint8_t *word = shared_place(op, EMU_SHARED_CLUSTER, address, BYTES, EMU_RACE_ATOMIC, false, found);
  if (word == NULL) {
    return false;
  }
  if (!emu_all_state(found->block->shared_states + found->offset, BYTES, EMU_BYTE_BARRIER)) {
    emu_fault(op->warp, op->step, op->lane, EMU_ILLEGAL_INSTRUCTION, "no mbarrier was initialised at 0x%llx",
              (unsigned long long)address);
    return false;
  }
  found->word = (uint64_t *)(void *)word;
  return true;
}

uint8_t *emu_bulk_global(emu_bulk *op, uint64_t address, uint32_t bytes, bool is_write)
{
  return emu_access_bytes(op->warp, op->step, op->lane, EMU_GLOBAL, address, bytes, is_write ? EMU_WRITE : EMU_READ);
}

/* ---- What happens ----------------------------------------------------------------------------------------- */

static void read_all(emu_bulk *op)
{
  uint64_t at = 0;
  for (uint32_t i = 0; i < op->num_runs && !op->is_read; i++) {
    memcpy(op->data + at, op->runs[i].from, op->runs[i].bytes);
    at += op->runs[i].bytes;
  }
  op->is_read = true;
}

static void write_run(const emu_bulk *op, const emu_bulk_run *run, const uint8_t *data)
{
  const uint32_t size = op->type == 0 ? 0 : emu_atomic_size(op->type);
  if (size == 0) {
    memcpy(run->to, data, run->bytes);
    return;
  }
  for (uint32_t at = 0; at < run->bytes; at += size) {
    uint64_t value = 0;
    memcpy(&value, data + at, size);
    emu_atomic_reduce(run->to + at, op->operation, op->type, value);
  }
}

/* An mbarrier that is no longer one when bytes for it arrive. */
static bool barrier_is_there(const emu_bulk *op)
{
  if (emu_all_state(op->at.block->shared_states + op->at.offset, 8, EMU_BYTE_BARRIER)) {
    return true;
  }
  emu_fault(op->warp, op->step, op->lane, EMU_ILLEGAL_INSTRUCTION,
            "a bulk operation completes at the mbarrier at offset 0x%x of block %u, which is none any more",
            op->at.offset, op->at.block->cluster_rank);
  return false;
}

static void piece_happens(emu_event *event, uint32_t lanes)
{
  piece *made = (piece *)event;
  emu_bulk *op = made->op;
  uint64_t at = 0, bytes = 0;
  (void)lanes;
  read_all(op);
  for (uint32_t i = 0; i < made->first + made->count; i++) {
    if (i >= made->first) {
      write_run(op, &op->runs[i], op->data + at);
      bytes += op->runs[i].bytes;
    }
    at += op->runs[i].bytes;
  }
  op->pieces_left -= made->count > 0 || op->num_runs == 0;
  if (op->has_barrier && barrier_is_there(op)) {
    if (op->pieces_left == 0) {
      emu_mbarrier_publish_of(&op->at, op->warp->block, op->agent.row, op->agent.lane, op->agent.clock + 1);
    }
    emu_mbarrier_transact(op->warp, op->step, op->lane, &op->at, -(int64_t)bytes);
  }
  give(op);
}

static void reading_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  read_all(((piece *)event)->op);
  give(((piece *)event)->op);
}

static void drop(emu_event *event)
{
  give(((piece *)event)->op);
}

/* ---- Issue ------------------------------------------------------------------------------------------------ */

static bool add_event(emu_bulk *op, uint32_t first, uint32_t count, bool is_reading)
{
  piece *made =
      emu_event_add(op->warp, op->step, 1u << op->lane, sizeof *made, is_reading ? EMU_EVENT_BULK_READ : EMU_EVENT_BULK,
                    is_reading ? reading_happens : piece_happens);
  if (made == NULL) {
    return false;
  }
  made->op = op;
  made->first = first;
  made->count = count;
  made->event.drop = drop;
  op->users++;
  return true;
}

/* Cuts the runs into some pieces, in any order. */
static bool add_pieces(emu_bulk *op)
{
  emu_cluster *cluster = op->warp->block->cluster;
  const uint32_t most = op->num_runs < EMU_BULK_PIECES ? op->num_runs : EMU_BULK_PIECES;
  const uint32_t count = most == 0 ? 1 : 1 + emu_random_below(cluster, most);
  const uint32_t shift = emu_random_below(cluster, count);
  op->pieces_left = count;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t number = (i + shift) % count;
    const uint32_t first = op->num_runs * number / count, end = op->num_runs * (number + 1) / count;
    if (!add_event(op, first, end - first, false)) {
      return false;
    }
  }
  return true;
}

static bool issue(emu_bulk *op)
{
  emu_race *race = op->warp->block->race;
  while (emu_race_clock(race, op->agent.row) < op->agent.clock + 2) {
    emu_race_tick(race, op->agent.row);
  }
  op->data = malloc(op->bytes + 1);
  if (op->data == NULL) {
    return no_memory(op);
  }
  if (emu_random_below(op->warp->block->cluster, 4) == 0) {
    read_all(op);
  }
  return add_pieces(op);
}

bool emu_bulk_issue(emu_bulk *op, const emu_mbarrier *at)
{
  op->at = *at;
  op->has_barrier = true;
  const bool good = issue(op);
  give(op);
  return good;
}

static struct emu_bulks *bulks_of(emu_warp *warp, const emu_step *step)
{
  if (warp->bulks == NULL) {
    warp->bulks = calloc(1, sizeof *warp->bulks);
    if (warp->bulks == NULL) {
      emu_fault(warp, step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory for groups of bulk operations");
    }
  }
  return warp->bulks;
}

bool emu_bulk_issue_to_group(emu_bulk *op)
{
  struct emu_bulks *bulks = bulks_of(op->warp, op->step);
  if (bulks == NULL || !issue(op) || (!op->is_read && !add_event(op, 0, 0, true))) {
    give(op);
    return false;
  }
  op->group = bulks->committed[op->lane];
  op->next = bulks->list;
  bulks->list = op; /* which takes the user that the caller was */
  return true;
}

/* ---- Groups ----------------------------------------------------------------------------------------------- */

void emu_bulks_start(emu_warp *warp)
{
  if (warp->bulks != NULL) {
    while (warp->bulks->list != NULL) {
      emu_bulk *next = warp->bulks->list->next;
      give(warp->bulks->list);
      warp->bulks->list = next;
    }
    memset(warp->bulks, 0, sizeof *warp->bulks);
  }
}

void emu_bulks_free(emu_warp *warp)
{
  emu_bulks_start(warp);
  free(warp->bulks);
  warp->bulks = NULL;
}

static emu_next commit_group(emu_warp *warp, const emu_step *step, uint32_t active)
{
  struct emu_bulks *bulks = bulks_of(warp, step);
  if (bulks == NULL) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    bulks->committed[lane]++;
  }
  return EMU_NEXT;
}

/* All events of an operation happen; or its reading alone. */
static void force(emu_bulk *op, bool reading_only)
{
  emu_cluster *cluster = op->warp->block->cluster;
  for (emu_event *event = cluster->events; event != NULL;) {
    const bool is_ours = event->warp == op->warp
                         && (event->kind == EMU_EVENT_BULK || event->kind == EMU_EVENT_BULK_READ)
                         && ((piece *)event)->op == op;
    if (is_ours && (!reading_only || event->kind == EMU_EVENT_BULK_READ)) {
      emu_event_happen(cluster, event, EMU_ALL_LANES);
      event = cluster->events;
    } else {
      event = event->next;
    }
  }
}

/* wait_group {.read} n: choice: read. */
static emu_next wait_group(emu_warp *warp, const emu_step *step, uint32_t active)
{
  struct emu_bulks *bulks = bulks_of(warp, step);
  if (bulks == NULL) {
    return EMU_FAULT;
  }
  const bool reading_only = step->mods[0] != 0;
  const uint64_t left = emu_lane(warp, &step->src[0], 0);
  for (emu_bulk **at = &bulks->list; *at != NULL;) {
    emu_bulk *op = *at;
    const bool is_meant = (active >> op->lane & 1) != 0 && op->group + left < bulks->committed[op->lane];
    if (is_meant) {
      force(op, reading_only);
      emu_race_learn(warp->block->race, warp->index, op->lane, op->agent.row, op->agent.lane,
                     op->agent.clock + !reading_only);
    }
    if (is_meant && !reading_only) {
      *at = op->next;
      give(op);
    } else {
      at = &op->next;
    }
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

static const emu_row rows[] = {
    {"cp.async.bulk.commit_group", "", commit_group, 0, 0, 90},
    {"cp.async.bulk.wait_group.read?", "c", wait_group, 0, 0, 90},
};

EMU_FAMILY(emu_family_groups, rows);
