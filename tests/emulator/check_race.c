/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory is cut in cells of 16 bytes. A cell keeps the accesses that some later access could still race with:
 * the last writes, and the reads since. One entry stands for all lanes of a row that did the same at the same clock. */
#include "race_core.h"

#include <stdlib.h>
#include <string.h>

/* Clock 1 is before a thread's first access: who knows of it knows that the thread has begun. */
enum { CELL = 16, LANES = EMU_CLOCK_LANES, BEGUN = 1, FIRST_CLOCK };

typedef struct entry {
  uint32_t lanes;
  uint32_t clock;
  uint16_t bytes; /* a bit a byte of the cell */
  uint16_t row;
  uint8_t kind;
} entry;

struct emu_race_cell {
  uint32_t generation;
  uint16_t count, room;
  entry *entries;
};
typedef struct emu_race_cell cell;
typedef emu_race_core core;

/* The block of a row, and its row there. */
static uint32_t block_of(const emu_race *race, uint32_t row, uint32_t *row_out)
{
  const uint32_t warps = race->num_warps, all = race->core->num_warps;
  if (row < 2 * all) {
    *row_out = row % all % warps + (row < all ? 0 : warps);
    return row % all / warps;
  }
  *row_out = 2 * warps + (row - 2 * all) % race->num_extra;
  return (row - 2 * all) / race->num_extra;
}

/* ---- Making ----------------------------------------------------------------------------------------------- */

static bool make_core(core *race, uint32_t rows, bool with_proxy)
{
  race->pool.rows = rows;
  if (with_proxy) {
    race->proxy_row = race->pool.rows;
    race->pool.rows += 2 * race->num_warps;
  }
  const size_t threads = (size_t)race->num_warps * LANES;
  race->clocks = calloc(race->pool.rows, sizeof *race->clocks);
  race->known = calloc(threads, sizeof(emu_clocks *));
  race->fenced = calloc(threads, sizeof(emu_clocks *));
  race->unfenced = calloc(threads, sizeof(emu_clocks *));
  race->cells = calloc(race->num_cells, sizeof *race->cells);
  return race->clocks != NULL && race->known != NULL && race->fenced != NULL && race->unfenced != NULL
         && race->cells != NULL;
}

bool emu_race_make_all(emu_race **made_out, uint32_t num_blocks, uint32_t num_warps, uint32_t extra_rows,
                       bool with_proxy, uint32_t shared_bytes)
{
  core *shared = calloc(1, sizeof *shared);
  if (shared == NULL) {
    return false;
  }
  const uint32_t cells = shared_bytes / CELL + 1;
  shared->num_blocks = num_blocks;
  shared->num_warps = num_blocks * num_warps;
  shared->num_cells = num_blocks * cells;
  bool good = true;
  for (uint32_t b = 0; b < num_blocks; b++) {
    made_out[b] = calloc(1, sizeof **made_out);
    if (made_out[b] != NULL) {
      *made_out[b] = (emu_race){shared, b, num_warps, extra_rows, cells};
      shared->num_views++;
    }
    good = good && made_out[b] != NULL;
  }
  if (shared->num_views == 0) {
    free(shared);
    return false;
  }
  if (make_core(shared, num_blocks * (2 * num_warps + extra_rows), with_proxy) && good) {
    return true;
  }
  for (uint32_t b = 0; b < num_blocks; b++) {
    emu_race_free(made_out[b]);
    made_out[b] = NULL;
  }
  return false;
}

emu_race *emu_race_make(uint32_t num_warps, uint32_t extra_rows, bool with_proxy, uint32_t shared_bytes)
{
  emu_race *made = NULL;
  return emu_race_make_all(&made, 1, num_warps, extra_rows, with_proxy, shared_bytes) ? made : NULL;
}

uint32_t emu_race_extra_row(const emu_race *race)
{
  return 2 * race->num_warps;
}

static void drop_each(core *race, emu_clocks **list)
{
  for (uint32_t i = 0; list != NULL && i < race->num_warps * LANES; i++) {
    emu_clocks_give(&race->pool, list[i]);
    list[i] = NULL;
  }
}

static void drop_all(core *race)
{
  drop_each(race, race->known);
  drop_each(race, race->fenced);
  drop_each(race, race->unfenced);
}

static void free_core(core *race)
{
  drop_all(race);
  for (uint32_t i = 0; race->cells != NULL && i < race->num_cells; i++) {
    free(race->cells[i].entries);
  }
  emu_clock_pool_free(&race->pool);
  free(race->cells);
  free(race->known);
  free(race->fenced);
  free(race->unfenced);
  free(race->clocks);
  free(race);
}

void emu_race_free(emu_race *race)
{
  if (race != NULL) {
    if (--race->core->num_views == 0) {
      free_core(race->core);
    }
    free(race);
  }
}

void emu_race_reset(emu_race *view)
{
  core *race = view->core;
  drop_all(race);
  emu_clocks *nothing = emu_clocks_copy(&race->pool, NULL);
  if (nothing == NULL) {
    return;
  }
  for (uint32_t i = 0; i < race->num_warps * LANES; i++) {
    race->known[i] = emu_clocks_share(nothing);
  }
  emu_clocks_give(&race->pool, nothing);
  for (uint32_t row = 0; row < race->pool.rows; row++) {
    race->clocks[row] = FIRST_CLOCK;
  }
  for (uint32_t i = 0; i < race->num_cells; i++) {
    race->cells[i].count = 0;
  }
}

/* ---- Accesses --------------------------------------------------------------------------------------------- */

/* The lanes of an entry that are not ordered before what is known; row: the entry's, or what stands for it. */
static uint32_t unordered(const emu_clocks *known, const entry *old, uint32_t row, uint32_t lanes)
{
  if (known->least[row] >= old->clock) {
    return 0;
  }
  const uint32_t *clocks = &known->clocks[row * LANES];
  uint32_t found = 0;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    found |= (uint32_t)(clocks[lane] < old->clock) << lane;
  }
  return found & lanes;
}

/* Accesses of threads from before the last barrier of all are ordered; those of async agents may not be, nor are
 * threads' writes for the async proxy. */
static void refresh(const core *race, cell *at)
{
  uint16_t kept = 0;
  for (uint16_t i = 0; i < at->count; i++) {
    if (at->entries[i].row >= race->num_warps || (race->proxy_row != 0 && at->entries[i].kind != EMU_RACE_READ)) {
      at->entries[kept++] = at->entries[i];
    }
  }
  at->count = kept;
  at->generation = race->generation;
}

static entry *add_entry(core *race, cell *at)
{
  if (at->count == at->room) {
    const uint16_t room = at->room == 0 ? 8 : (uint16_t)(2 * at->room);
    entry *grown = room > 32768 ? NULL : realloc(at->entries, room * sizeof *grown);
    if (grown == NULL) {
      race->pool.failed = true;
      return NULL;
    }
    at->entries = grown;
    at->room = room;
  }
  return &at->entries[at->count++];
}

static emu_race_conflict conflict_with(const entry *old, uint32_t lanes, bool lacks_proxy_fence)
{
  return (emu_race_conflict){.row = old->row,
                             .lane = (uint32_t)__builtin_ctz(lanes),
                             .kind = (emu_race_kind)old->kind,
                             .lacks_proxy_fence = lacks_proxy_fence};
}

static bool access_cell(core *race, cell *at, const emu_race_by *by, const emu_clocks *known, uint16_t bytes,
                        emu_race_kind kind, emu_race_conflict *conflict_out)
{
  if (at->generation != race->generation) {
    refresh(race, at);
  }
  const uint32_t clock = race->clocks[by->row];
  entry *same = NULL;
  uint16_t kept = 0;
  for (uint16_t i = 0; i < at->count; i++) {
    entry *old = &at->entries[i];
    const bool conflicts = (old->bytes & bytes) != 0 && (old->kind != kind || kind == EMU_RACE_WRITE);
    if (conflicts) {
      /* A write by a thread or its cp.async is known to the async proxy from the fence on that the writer, or who knew
       * of it, made. */
      const bool by_proxy = by->is_async_proxy && old->row < 2 * race->num_warps && old->kind != EMU_RACE_READ;
      uint32_t others = old->lanes;
      others &= old->row == by->row ? ~(1u << by->lane) : ~0u;
      others &= old->row == by->warp && !by_proxy ? ~(1u << by->known_lane) : ~0u;
      const uint32_t row = by_proxy ? race->proxy_row + old->row : old->row;
      const uint32_t bad = others == 0 ? 0 : unordered(known, old, row, others);
      if (bad != 0) {
        const bool lacks_proxy_fence = by_proxy && unordered(known, old, old->row, others) == 0;
        *conflict_out = conflict_with(old, bad, lacks_proxy_fence);
        return false;
      }
      if (kind == EMU_RACE_WRITE && (old->bytes & ~bytes) == 0) {
        continue; /* who is ordered behind the new one is ordered behind this */
      }
    }
    const bool is_in_order = by->row < race->num_warps || by->warp == UINT32_MAX;
    if (old->row == by->row && is_in_order && old->kind == kind && old->clock < clock && (old->bytes & ~bytes) == 0) {
      old->lanes &= ~(1u << by->lane); /* a later access stands for an earlier one */
      if (old->lanes == 0) {
        continue;
      }
    }
    at->entries[kept] = *old;
    if (old->row == by->row && old->clock == clock && old->bytes == bytes && old->kind == kind) {
      same = &at->entries[kept];
    }
    kept++;
  }
  at->count = kept;
  if (same != NULL) {
    same->lanes |= 1u << by->lane;
    return true;
  }
  entry *made = add_entry(race, at);
  if (made != NULL) {
    *made = (entry){1u << by->lane, clock, bytes, (uint16_t)by->row, (uint8_t)kind};
  }
  return true;
}

static bool access_range(emu_race *memory, const emu_race_by *by, const emu_clocks *known, uint32_t offset,
                         uint32_t size, emu_race_kind kind, emu_race_conflict *conflict_out)
{
  core *race = memory->core;
  cell *cells = &race->cells[(size_t)memory->block * memory->num_cells];
  uint32_t at = offset;
  while (at < offset + size) {
    const uint32_t in_cell = at % CELL;
    const uint32_t end = offset + size - at < CELL - in_cell ? in_cell + offset + size - at : CELL;
    const uint16_t bytes = (uint16_t)((0xffffu >> (CELL - (end - in_cell))) << in_cell);
    if (!access_cell(race, &cells[at / CELL], by, known, bytes, kind, conflict_out)) {
      conflict_out->block = block_of(memory, conflict_out->row, &conflict_out->row);
      return false;
    }
    at += end - in_cell;
  }
  return true;
}

bool emu_race_access_of(emu_race *memory, const emu_race *actor, emu_race_by by, uint32_t offset, uint32_t size,
                        emu_race_kind kind, emu_race_conflict *conflict_out)
{
  const core *race = memory->core;
  if (race->pool.failed) {
    return true;
  }
  by.row = emu_race_row(actor, by.row);
  by.warp = emu_race_row(actor, by.warp);
  return access_range(memory, &by, race->known[by.warp * LANES + by.known_lane], offset, size, kind, conflict_out);
}

bool emu_race_access_as(emu_race *race, uint32_t row, uint32_t lane, const emu_clocks *known, uint32_t offset,
                        uint32_t size, emu_race_kind kind, emu_race_conflict *conflict_out)
{
  const emu_race_by by = {emu_race_row(race, row), lane, UINT32_MAX, 0, true};
  return race->core->pool.failed || access_range(race, &by, known, offset, size, kind, conflict_out);
}

bool emu_race_read_in_order(emu_race *memory, const emu_race *actor, emu_race_by by, uint32_t offset, uint32_t size,
                            emu_race_conflict *conflict_out)
{
  const emu_clocks *known = actor->core->known[emu_race_row(actor, by.warp) * LANES + by.known_lane];
  by.row = emu_race_row(actor, by.row);
  by.warp = UINT32_MAX;
  return memory->core->pool.failed || access_range(memory, &by, known, offset, size, EMU_RACE_READ, conflict_out);
}

bool emu_race_access(emu_race *race, emu_race_by by, uint32_t offset, uint32_t size, emu_race_kind kind,
                     emu_race_conflict *conflict_out)
{
  return emu_race_access_of(race, race, by, offset, size, kind, conflict_out);
}

static bool is_foreign(const core *race, const emu_race *memory, uint32_t row)
{
  return row >= 2 * race->num_warps || row % race->num_warps / memory->num_warps != memory->block;
}

/* What any thread of a block knows when it has ended. */
static emu_clocks *known_in_block(const emu_race *memory)
{
  core *race = memory->core;
  emu_clocks *all = emu_clocks_copy(&race->pool, NULL);
  const emu_clocks *last = NULL;
  for (uint32_t i = 0; i < memory->num_warps * LANES && all != NULL; i++) {
    const emu_clocks *known = race->known[memory->block * memory->num_warps * LANES + i];
    if (known != last) {
      emu_clocks_join(all, known);
      last = known;
    }
  }
  return all;
}

bool emu_race_used_at_end(emu_race *memory, uint32_t *offset_out, emu_race_conflict *conflict_out)
{
  core *race = memory->core;
  emu_clocks *known = race->pool.failed ? NULL : known_in_block(memory);
  bool found = false;
  for (uint32_t c = 0; c < memory->num_cells && known != NULL && !found; c++) {
    const cell *at = &race->cells[(size_t)memory->block * memory->num_cells + c];
    for (uint16_t i = 0; i < at->count && !found; i++) {
      const entry *old = &at->entries[i];
      const uint32_t bad = is_foreign(race, memory, old->row) ? unordered(known, old, old->row, old->lanes) : 0;
      if (bad != 0) {
        *offset_out = c * CELL + (uint32_t)__builtin_ctz(old->bytes);
        *conflict_out = conflict_with(old, bad, false);
        conflict_out->block = block_of(memory, old->row, &conflict_out->row);
        found = true;
      }
    }
  }
  emu_clocks_give(&race->pool, known);
  return found;
}

/* ---- Order ------------------------------------------------------------------------------------------------ */

/* Joins what the lanes know and did. */
static void gather(core *race, uint32_t warp, uint32_t lanes, emu_clocks *into)
{
  const emu_clocks *last = NULL;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    if ((lanes >> lane & 1) == 0) {
      continue;
    }
    const emu_clocks *known = race->known[warp * LANES + lane];
    if (known != last) {
      emu_clocks_join(into, known);
      last = known;
    }
    into->clocks[warp * LANES + lane] = race->clocks[warp];
  }
  emu_clocks_find_least(into, warp);
}

void emu_race_release(emu_race *view, uint32_t warp, uint32_t lanes, emu_clocks **into)
{
  core *race = view->core;
  emu_clocks *to = race->pool.failed ? NULL : emu_clocks_own(&race->pool, into);
  if (to != NULL) {
    warp = emu_race_row(view, warp);
    gather(race, warp, lanes, to);
    race->clocks[warp]++;
  }
}

static void set_known(core *race, uint32_t warp, uint32_t lane, emu_clocks *clocks)
{
  emu_clocks **at = &race->known[warp * LANES + lane];
  emu_clocks *old = *at;
  *at = emu_clocks_share(clocks);
  emu_clocks_give(&race->pool, old);
}

/* The lanes learn what is in from; warp: of all blocks. */
static void acquire(core *race, uint32_t warp, uint32_t lanes, emu_clocks *from)
{
  uint32_t rest = lanes;
  while (rest != 0) {
    const uint32_t first = (uint32_t)__builtin_ctz(rest);
    emu_clocks *old = emu_clocks_share(race->known[warp * LANES + first]);
    emu_clocks *learned = NULL;
    if (emu_clocks_know_all(old, from)) {
      learned = emu_clocks_share(old);
    } else if (emu_clocks_know_all(from, old)) {
      learned = emu_clocks_share(from);
    } else {
      learned = emu_clocks_copy(&race->pool, old);
      if (learned != NULL) {
        emu_clocks_join(learned, from);
      }
    }
    for (uint32_t lane = first; lane < LANES && learned != NULL; lane++) {
      if ((rest >> lane & 1) != 0 && race->known[warp * LANES + lane] == old) {
        set_known(race, warp, lane, learned);
        rest &= ~(1u << lane);
      }
    }
    rest &= ~(1u << first);
    emu_clocks_give(&race->pool, learned);
    emu_clocks_give(&race->pool, old);
  }
}

void emu_race_acquire(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks *from)
{
  if (from != NULL && !race->core->pool.failed) {
    acquire(race->core, emu_race_row(race, warp), lanes, from);
  }
}

void emu_race_sync_lanes(emu_race *view, uint32_t warp, uint32_t lanes)
{
  core *race = view->core;
  emu_clocks *all = NULL;
  emu_race_release(view, warp, lanes, &all);
  for (uint32_t lane = 0; lane < LANES && all != NULL; lane++) {
    if ((lanes >> lane & 1) != 0) {
      set_known(race, emu_race_row(view, warp), lane, all);
    }
  }
  emu_clocks_give(&race->pool, all);
}

void emu_race_forget(emu_race *race)
{
  if (race->core->num_blocks == 1) {
    race->core->generation++;
  }
}

/* ---- Fences ----------------------------------------------------------------------------------------------- */

void emu_race_fence(emu_race *view, uint32_t warp, uint32_t lanes)
{
  core *race = view->core;
  const uint32_t row = emu_race_row(view, warp);
  for (uint32_t lane = 0; lane < LANES && !race->pool.failed; lane++) {
    emu_clocks **heard = &race->unfenced[row * LANES + lane];
    if ((lanes >> lane & 1) != 0 && *heard != NULL) {
      acquire(race, row, 1u << lane, *heard);
      emu_clocks_give(&race->pool, *heard);
      *heard = NULL;
    }
  }
  emu_clocks *all = NULL;
  emu_race_release(view, warp, lanes, &all);
  for (uint32_t lane = 0; lane < LANES && all != NULL; lane++) {
    if ((lanes >> lane & 1) != 0) {
      emu_clocks_give(&race->pool, race->fenced[row * LANES + lane]);
      race->fenced[row * LANES + lane] = emu_clocks_share(all);
    }
  }
  emu_clocks_give(&race->pool, all);
}

void emu_race_release_fenced(emu_race *view, uint32_t warp, uint32_t lanes, emu_clocks **into)
{
  core *race = view->core;
  const uint32_t row = emu_race_row(view, warp);
  for (uint32_t lane = 0; lane < LANES && !race->pool.failed; lane++) {
    const emu_clocks *known = race->fenced[row * LANES + lane];
    emu_clocks *to = (lanes >> lane & 1) == 0 ? NULL : emu_clocks_own(&race->pool, into);
    if (to != NULL) {
      emu_clocks_set(to, row, lane, BEGUN);
    }
    if (to != NULL && known != NULL) {
      emu_clocks_join(to, known);
    }
  }
}

bool emu_race_has_begun(const emu_race *race, uint32_t warp, uint32_t lane, const emu_race *other)
{
  if (race == other || race->core->pool.failed) {
    return true;
  }
  const emu_clocks *known = race->core->known[emu_race_row(race, warp) * LANES + lane];
  for (uint32_t i = 0; i < other->num_warps * LANES; i++) {
    if (known->clocks[emu_race_row(other, 0) * LANES + i] >= BEGUN) {
      return true;
    }
  }
  return false;
}

void emu_race_hear(emu_race *view, uint32_t warp, uint32_t lane, const emu_clocks *from)
{
  core *race = view->core;
  if (from != NULL && !race->pool.failed) {
    emu_clocks *to = emu_clocks_own(&race->pool, &race->unfenced[emu_race_row(view, warp) * LANES + lane]);
    if (to != NULL) {
      emu_clocks_join(to, from);
    }
  }
}

/* ---- Async agents ----------------------------------------------------------------------------------------- */

uint32_t emu_race_clock(const emu_race *race, uint32_t row)
{
  return race->core->clocks[emu_race_row(race, row)];
}

void emu_race_tick(emu_race *race, uint32_t row)
{
  race->core->clocks[emu_race_row(race, row)]++;
}

void emu_race_publish(emu_race *view, uint32_t row, uint32_t lane, uint32_t clock, emu_clocks **into)
{
  core *race = view->core;
  emu_clocks *to = race->pool.failed ? NULL : emu_clocks_own(&race->pool, into);
  if (to != NULL) {
    emu_clocks_set(to, emu_race_row(view, row), lane, clock);
  }
}

bool emu_race_knows(const emu_race *race, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane,
                    uint32_t clock)
{
  return race->core->pool.failed
         || race->core->known[emu_race_row(race, warp) * LANES + lane]
                    ->clocks[emu_race_row(race, row) * LANES + agent_lane]
                >= clock;
}

bool emu_race_knows_any(const emu_race *race, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane,
                        uint32_t clock)
{
  emu_race other = *race;
  for (other.block = 0; other.block < race->core->num_blocks && !race->core->pool.failed; other.block++) {
    const emu_clocks *known = race->core->known[emu_race_row(race, warp) * LANES + lane];
    if (known->clocks[emu_race_row(&other, row) * LANES + agent_lane] >= clock) {
      return true;
    }
  }
  return race->core->pool.failed;
}

void emu_race_learn(emu_race *view, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane, uint32_t clock)
{
  core *race = view->core;
  emu_clocks **at = &race->known[emu_race_row(view, warp) * LANES + lane];
  row = emu_race_row(view, row);
  if (race->pool.failed || (*at)->clocks[row * LANES + agent_lane] >= clock) {
    return;
  }
  emu_clocks *to = emu_clocks_own(&race->pool, at);
  if (to != NULL) {
    emu_clocks_set(to, row, agent_lane, clock);
  }
}
