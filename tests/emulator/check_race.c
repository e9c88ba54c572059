/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory is cut in cells of 16 bytes. A cell keeps the accesses that some later access could still race with:
 * the last writes, and the reads since. One entry stands for all lanes of a row that did the same at the same clock. */
#include "check_race.h"

#include <stdlib.h>
#include <string.h>

enum { CELL = 16, LANES = 32, KEPT_OBJECTS = 256 };

typedef struct entry {
  uint32_t lanes;
  uint32_t clock;
  uint16_t bytes; /* a bit a byte of the cell */
  uint8_t row, kind;
} entry;

typedef struct cell {
  uint32_t generation;
  uint16_t count, room;
  entry *entries;
} cell;

struct emu_race {
  uint32_t num_warps, rows, num_cells;
  uint32_t generation; /* rises with each barrier of all threads */
  uint32_t *clocks;    /* [row] */
  emu_clocks **known;  /* [warp * 32 + lane] */
  cell *cells;
  emu_clocks *kept[KEPT_OBJECTS]; /* unused ones */
  uint32_t num_kept;
  bool failed;        /* no memory: from now on nothing is found */
  uint32_t proxy_row; /* the first of num_warps rows: what the async proxy may know of the warps; 0: no such rows */
};

/* ---- What is known ---------------------------------------------------------------------------------------- */

static emu_clocks *make_clocks(emu_race *race)
{
  if (race->num_kept > 0) {
    return race->kept[--race->num_kept];
  }
  const size_t words = (size_t)race->rows * (LANES + 1);
  emu_clocks *made = malloc(sizeof *made + words * sizeof(uint32_t));
  if (made == NULL) {
    race->failed = true;
    return NULL;
  }
  made->rows = race->rows;
  made->least = (uint32_t *)(made + 1);
  made->clocks = made->least + race->rows;
  return made;
}

static emu_clocks *copy_clocks(emu_race *race, const emu_clocks *from)
{
  emu_clocks *made = make_clocks(race);
  if (made != NULL) {
    made->owners = 1;
    const size_t size = (size_t)race->rows * (LANES + 1) * sizeof(uint32_t);
    if (from != NULL) {
      memcpy(made->least, from->least, size);
    } else {
      memset(made->least, 0, size);
    }
  }
  return made;
}

emu_clocks *emu_clocks_share(emu_clocks *clocks)
{
  if (clocks != NULL) {
    clocks->owners++;
  }
  return clocks;
}

void emu_clocks_drop(emu_clocks **clocks)
{
  if (*clocks != NULL && --(*clocks)->owners == 0) {
    free(*clocks);
  }
  *clocks = NULL;
}

static void drop(emu_race *race, emu_clocks *clocks)
{
  if (clocks == NULL || --clocks->owners > 0) {
    return;
  }
  if (race->num_kept < KEPT_OBJECTS) {
    race->kept[race->num_kept++] = clocks;
  } else {
    free(clocks);
  }
}

static void find_least(emu_clocks *clocks, uint32_t row)
{
  uint32_t least = UINT32_MAX;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    const uint32_t clock = clocks->clocks[row * LANES + lane];
    least = clock < least ? clock : least;
  }
  clocks->least[row] = least;
}

static bool knows_all(const emu_clocks *clocks, const emu_clocks *other)
{
  uint32_t missing = 0;
  for (uint32_t i = 0; i < clocks->rows * LANES; i++) {
    missing |= (uint32_t)(clocks->clocks[i] < other->clocks[i]);
  }
  return missing == 0;
}

static void join(emu_clocks *into, const emu_clocks *from)
{
  for (uint32_t i = 0; i < into->rows * LANES; i++) {
    into->clocks[i] = into->clocks[i] > from->clocks[i] ? into->clocks[i] : from->clocks[i];
  }
  for (uint32_t row = 0; row < into->rows; row++) {
    find_least(into, row);
  }
}

/* The handle's own, to change. */
static emu_clocks *own(emu_race *race, emu_clocks **handle)
{
  if (*handle == NULL || (*handle)->owners > 1) {
    emu_clocks *made = copy_clocks(race, *handle);
    if (made == NULL) {
      return NULL;
    }
    drop(race, *handle);
    *handle = made;
  }
  return *handle;
}

/* ---- Making ----------------------------------------------------------------------------------------------- */

emu_race *emu_race_make(uint32_t num_warps, uint32_t extra_rows, bool with_proxy, uint32_t shared_bytes)
{
  emu_race *race = calloc(1, sizeof *race);
  if (race == NULL) {
    return NULL;
  }
  race->num_warps = num_warps;
  race->rows = 2 * num_warps + extra_rows;
  if (with_proxy) {
    race->proxy_row = race->rows;
    race->rows += num_warps;
  }
  race->num_cells = shared_bytes / CELL + 1;
  race->clocks = calloc(race->rows, sizeof *race->clocks);
  race->known = calloc((size_t)num_warps * LANES, sizeof(emu_clocks *));
  race->cells = calloc(race->num_cells, sizeof *race->cells);
  if (race->clocks == NULL || race->known == NULL || race->cells == NULL) {
    emu_race_free(race);
    return NULL;
  }
  return race;
}

uint32_t emu_race_extra_row(const emu_race *race)
{
  return 2 * race->num_warps;
}

static void drop_known(emu_race *race)
{
  for (uint32_t i = 0; race->known != NULL && i < race->num_warps * LANES; i++) {
    drop(race, race->known[i]);
    race->known[i] = NULL;
  }
}

void emu_race_free(emu_race *race)
{
  if (race == NULL) {
    return;
  }
  drop_known(race);
  for (uint32_t i = 0; race->cells != NULL && i < race->num_cells; i++) {
    free(race->cells[i].entries);
  }
  for (uint32_t i = 0; i < race->num_kept; i++) {
    free(race->kept[i]);
  }
  free(race->cells);
  free(race->known);
  free(race->clocks);
  free(race);
}

void emu_race_reset(emu_race *race)
{
  drop_known(race);
  emu_clocks *nothing = copy_clocks(race, NULL);
  if (nothing == NULL) {
    return;
  }
  for (uint32_t i = 0; i < race->num_warps * LANES; i++) {
    race->known[i] = emu_clocks_share(nothing);
  }
  drop(race, nothing);
  for (uint32_t row = 0; row < race->rows; row++) {
    race->clocks[row] = 1;
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
static void refresh(const emu_race *race, cell *at)
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

static entry *add_entry(emu_race *race, cell *at)
{
  if (at->count == at->room) {
    const uint16_t room = at->room == 0 ? 8 : (uint16_t)(2 * at->room);
    entry *grown = room > 32768 ? NULL : realloc(at->entries, room * sizeof *grown);
    if (grown == NULL) {
      race->failed = true;
      return NULL;
    }
    at->entries = grown;
    at->room = room;
  }
  return &at->entries[at->count++];
}

static bool access_cell(emu_race *race, cell *at, const emu_race_by *by, uint16_t bytes, emu_race_kind kind,
                        emu_race_conflict *conflict_out)
{
  if (at->generation != race->generation) {
    refresh(race, at);
  }
  const emu_clocks *known = race->known[by->warp * LANES + by->known_lane];
  const uint32_t clock = race->clocks[by->row];
  entry *same = NULL;
  uint16_t kept = 0;
  for (uint16_t i = 0; i < at->count; i++) {
    entry *old = &at->entries[i];
    const bool conflicts = (old->bytes & bytes) != 0 && (old->kind != kind || kind == EMU_RACE_WRITE);
    if (conflicts) {
      /* A thread's write is known to the async proxy from the fence on that the writer, or who knew of it, made. */
      const bool by_proxy = by->is_async_proxy && old->row < race->num_warps && old->kind != EMU_RACE_READ;
      uint32_t others = old->lanes;
      others &= old->row == by->row ? ~(1u << by->lane) : ~0u;
      others &= old->row == by->warp && !by_proxy ? ~(1u << by->known_lane) : ~0u;
      const uint32_t row = by_proxy ? race->proxy_row + old->row : old->row;
      const uint32_t bad = others == 0 ? 0 : unordered(known, old, row, others);
      if (bad != 0) {
        *conflict_out = (emu_race_conflict){old->row, (uint32_t)__builtin_ctz(bad), (emu_race_kind)old->kind};
        return false;
      }
      if (kind == EMU_RACE_WRITE && (old->bytes & ~bytes) == 0) {
        continue; /* who is ordered behind the new one is ordered behind this */
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
    *made = (entry){1u << by->lane, clock, bytes, (uint8_t)by->row, (uint8_t)kind};
  }
  return true;
}

bool emu_race_access(emu_race *race, emu_race_by by, uint32_t offset, uint32_t size, emu_race_kind kind,
                     emu_race_conflict *conflict_out)
{
  if (race->failed) {
    return true;
  }
  uint32_t at = offset;
  while (at < offset + size) {
    const uint32_t in_cell = at % CELL;
    const uint32_t end = offset + size - at < CELL - in_cell ? in_cell + offset + size - at : CELL;
    const uint16_t bytes = (uint16_t)((0xffffu >> (CELL - (end - in_cell))) << in_cell);
    if (!access_cell(race, &race->cells[at / CELL], &by, bytes, kind, conflict_out)) {
      return false;
    }
    at += end - in_cell;
  }
  return true;
}

/* ---- Order ------------------------------------------------------------------------------------------------ */

static void set_clock(emu_clocks *into, uint32_t row, uint32_t lane, uint32_t clock)
{
  uint32_t *at = &into->clocks[row * LANES + lane];
  if (*at < clock) {
    *at = clock;
    find_least(into, row);
  }
}

/* Joins what the lanes know and did. */
static void gather(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks *into)
{
  const emu_clocks *last = NULL;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    if ((lanes >> lane & 1) == 0) {
      continue;
    }
    const emu_clocks *known = race->known[warp * LANES + lane];
    if (known != last) {
      join(into, known);
      last = known;
    }
    into->clocks[warp * LANES + lane] = race->clocks[warp];
  }
  find_least(into, warp);
}

void emu_race_release(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks **into)
{
  emu_clocks *to = race->failed ? NULL : own(race, into);
  if (to != NULL) {
    gather(race, warp, lanes, to);
    race->clocks[warp]++;
  }
}

static void set_known(emu_race *race, uint32_t warp, uint32_t lane, emu_clocks *clocks)
{
  emu_clocks **at = &race->known[warp * LANES + lane];
  emu_clocks *old = *at;
  *at = emu_clocks_share(clocks);
  drop(race, old);
}

void emu_race_acquire(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks *from)
{
  if (from == NULL || race->failed) {
    return;
  }
  uint32_t rest = lanes;
  while (rest != 0) {
    const uint32_t first = (uint32_t)__builtin_ctz(rest);
    emu_clocks *old = emu_clocks_share(race->known[warp * LANES + first]);
    emu_clocks *learned = NULL;
    if (knows_all(old, from)) {
      learned = emu_clocks_share(old);
    } else if (knows_all(from, old)) {
      learned = emu_clocks_share(from);
    } else {
      learned = copy_clocks(race, old);
      if (learned != NULL) {
        join(learned, from);
      }
    }
    for (uint32_t lane = first; lane < LANES && learned != NULL; lane++) {
      if ((rest >> lane & 1) != 0 && race->known[warp * LANES + lane] == old) {
        set_known(race, warp, lane, learned);
        rest &= ~(1u << lane);
      }
    }
    rest &= ~(1u << first);
    drop(race, learned);
    drop(race, old);
  }
}

void emu_race_sync_lanes(emu_race *race, uint32_t warp, uint32_t lanes)
{
  emu_clocks *all = NULL;
  emu_race_release(race, warp, lanes, &all);
  for (uint32_t lane = 0; lane < LANES && all != NULL; lane++) {
    if ((lanes >> lane & 1) != 0) {
      set_known(race, warp, lane, all);
    }
  }
  drop(race, all);
}

void emu_race_forget(emu_race *race)
{
  race->generation++;
}

/* ---- Async agents ----------------------------------------------------------------------------------------- */

uint32_t emu_race_clock(const emu_race *race, uint32_t row)
{
  return race->clocks[row];
}

void emu_race_tick(emu_race *race, uint32_t row)
{
  race->clocks[row]++;
}

void emu_race_publish(emu_race *race, uint32_t row, uint32_t lane, uint32_t clock, emu_clocks **into)
{
  emu_clocks *to = race->failed ? NULL : own(race, into);
  if (to != NULL) {
    set_clock(to, row, lane, clock);
  }
}

void emu_race_learn(emu_race *race, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane, uint32_t clock)
{
  emu_clocks **at = &race->known[warp * LANES + lane];
  if (race->failed || (*at)->clocks[row * LANES + agent_lane] >= clock) {
    return;
  }
  emu_clocks *to = own(race, at);
  if (to != NULL) {
    set_clock(to, row, agent_lane, clock);
  }
}

void emu_race_proxy_fence(emu_race *race, uint32_t warp, uint32_t lanes)
{
  if (race->failed || race->proxy_row == 0) {
    return;
  }
  for (uint32_t lane = 0; lane < LANES; lane++) {
    emu_clocks *to = (lanes >> lane & 1) == 0 ? NULL : own(race, &race->known[warp * LANES + lane]);
    if (to == NULL) {
      continue;
    }
    const size_t first = (size_t)race->proxy_row * LANES;
    for (uint32_t i = 0; i < race->num_warps * LANES; i++) {
      to->clocks[first + i] = to->clocks[i] > to->clocks[first + i] ? to->clocks[i] : to->clocks[first + i];
    }
    to->clocks[first + warp * LANES + lane] = race->clocks[warp];
    for (uint32_t row = 0; row < race->num_warps; row++) {
      find_least(to, race->proxy_row + row);
    }
  }
  race->clocks[warp]++;
}
