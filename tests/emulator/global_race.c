/* SPDX-License-Identifier: Apache-2.0 */
#include "global_race.h"

#include <pthread.h>
#include <stdlib.h>

#include "async.h"
#include "race_core.h"

enum { CELL = 16, PAGE_CELLS = 256, BUCKETS = 4096, STRIPES = 64, MAX_READERS = 8 };

typedef struct entry {
  uint32_t cluster, lanes, clock;
  uint16_t row, bytes;
  uint8_t kind;
} entry;

typedef struct cell {
  uint16_t count, room;
  entry *entries;
} cell;

typedef struct page {
  struct page *next;
  uint64_t number;
  cell cells[PAGE_CELLS];
} page;

/* What is known of other clusters: of each the clocks of its warps' lanes. Never changed once it is shared. */
typedef struct news {
  uint32_t owners, count;
  struct item {
    uint32_t cluster, num_clocks;
    uint32_t *clocks;
  } items[];
} news;

/* An address that strong accesses use. */
typedef struct variable {
  struct variable *next;
  const uint8_t *at;
  news *released;
} variable;

struct emu_global_race {
  pthread_mutex_t stripes[STRIPES];
  page *pages[BUCKETS];
  pthread_mutex_t lock; /* of variables and of the owners of news */
  variable *variables[BUCKETS];
};

/* What a warp has heard of, in order. */
struct emu_heard {
  news **list;
  uint32_t count, room;
};

emu_global_race *emu_global_race_make(void)
{
  emu_global_race *race = calloc(1, sizeof *race);
  for (unsigned i = 0; race != NULL && i < STRIPES; i++) {
    pthread_mutex_init(&race->stripes[i], NULL);
  }
  if (race != NULL) {
    pthread_mutex_init(&race->lock, NULL);
  }
  return race;
}

static void give(news *of)
{
  if (of != NULL && --of->owners == 0) {
    for (uint32_t i = 0; i < of->count; i++) {
      free(of->items[i].clocks);
    }
    free(of);
  }
}

static void free_page(page *of)
{
  for (unsigned i = 0; i < PAGE_CELLS; i++) {
    free(of->cells[i].entries);
  }
  free(of);
}

void emu_global_race_free(emu_global_race *race)
{
  for (unsigned i = 0; race != NULL && i < BUCKETS; i++) {
    for (page *at = race->pages[i], *next; at != NULL; at = next) {
      next = at->next;
      free_page(at);
    }
    for (variable *at = race->variables[i], *next; at != NULL; at = next) {
      next = at->next;
      give(at->released);
      free(at);
    }
  }
  for (unsigned i = 0; race != NULL && i < STRIPES; i++) {
    pthread_mutex_destroy(&race->stripes[i]);
  }
  if (race != NULL) {
    pthread_mutex_destroy(&race->lock);
  }
  free(race);
}

/* ---- What threads have heard of --------------------------------------------------------------------------- */

static uint32_t thread_row(const emu_warp *warp)
{
  return emu_race_row(warp->block->race, warp->index);
}

/* How many of a warp's readings the thread knows of, effective ones. */
static uint32_t acquired(const emu_warp *warp, unsigned lane, const emu_block *block, uint32_t of_warp)
{
  const emu_race *race = block->race;
  const uint32_t row = emu_race_row(race, emu_race_extra_row(race) + EMU_ACQUIRED_ROW);
  return race->core->known[thread_row(warp) * EMU_LANES + lane]->clocks[row * EMU_LANES + of_warp];
}

static bool tells(const news *of, uint32_t cluster, uint32_t agent, uint32_t clock)
{
  for (uint32_t i = 0; i < of->count; i++) {
    if (of->items[i].cluster == cluster) {
      return of->items[i].clocks[agent] >= clock;
    }
  }
  return false;
}

/* Whether a thread of another cluster up to a clock is before this one, by anything that it has acquired. */
static bool is_before(const emu_warp *warp, unsigned lane, uint32_t cluster, uint32_t agent, uint32_t clock)
{
  const emu_cluster *own = warp->block->cluster;
  for (uint32_t w = 0; w < own->num_warps; w++) {
    const struct emu_heard *heard = own->warps[w]->heard;
    const uint32_t count = heard == NULL ? 0 : acquired(warp, lane, own->warps[w]->block, own->warps[w]->index);
    for (uint32_t i = 0; i < count && i < heard->count; i++) {
      if (tells(heard->list[i], cluster, agent, clock)) {
        return true;
      }
    }
  }
  return false;
}

void emu_heard_start(emu_block *block)
{
  for (uint32_t w = 0; w < block->num_warps; w++) {
    struct emu_heard *heard = block->warps[w].heard;
    emu_global_race *race = block->grid->races;
    if (heard != NULL) {
      if (race != NULL) {
        pthread_mutex_lock(&race->lock);
      }
      for (uint32_t i = 0; i < heard->count; i++) {
        give(heard->list[i]);
      }
      if (race != NULL) {
        pthread_mutex_unlock(&race->lock);
      }
      free(heard->list);
      free(heard);
      block->warps[w].heard = NULL;
    }
  }
}

/* ---- Accesses --------------------------------------------------------------------------------------------- */

static uint32_t unordered(const emu_warp *warp, unsigned lane, const entry *old)
{
  const uint32_t own = thread_row(warp), warps = warp->block->num_warps;
  const bool is_near = old->cluster == warp->block->cluster->number;
  uint32_t found = 0;
  if (is_near && old->row / warps == own / warps) {
    return 0; /* threads of one block are not followed here */
  }
  EMU_FOR_LANES(other, old->lanes)
  {
    const uint32_t agent = (uint32_t)old->row * EMU_LANES + other;
    const bool is_ordered = is_near
                                ? warp->block->race->core->known[own * EMU_LANES + lane]->clocks[agent] >= old->clock
                                : is_before(warp, lane, old->cluster, agent, old->clock);
    found |= (uint32_t)!is_ordered << other;
  }
  return found;
}

static cell *find_cell(emu_global_race *race, uint64_t number)
{
  const uint64_t page_number = number / PAGE_CELLS;
  page **first = &race->pages[page_number % BUCKETS];
  page *at = *first;
  while (at != NULL && at->number != page_number) {
    at = at->next;
  }
  if (at == NULL) {
    at = calloc(1, sizeof *at);
    if (at == NULL) {
      return NULL;
    }
    at->number = page_number;
    at->next = *first;
    *first = at;
  }
  return &at->cells[number % PAGE_CELLS];
}

/* Room for one more; of too many readers the first is forgotten: a race may then go unseen. */
static entry *add_entry(cell *at)
{
  uint16_t readers = 0, first = UINT16_MAX;
  for (uint16_t i = 0; i < at->count; i++) {
    if (at->entries[i].kind == EMU_RACE_READ) {
      first = first == UINT16_MAX ? i : first;
      readers++;
    }
  }
  if (readers >= MAX_READERS) {
    return &at->entries[first];
  }
  if (at->count == at->room) {
    const uint16_t room = at->room == 0 ? 2 : (uint16_t)(2 * at->room);
    entry *grown = room > 16384 ? NULL : realloc(at->entries, room * sizeof *grown);
    if (grown == NULL) {
      return NULL;
    }
    at->entries = grown;
    at->room = room;
  }
  return &at->entries[at->count++];
}

/* The earlier access that this one races with in bad_out; false when there is one. same: it writes what is there
 * already, so that two writes do no harm to each other. */
static bool access_cell(emu_warp *warp, unsigned lane, cell *at, uint16_t bytes, emu_race_kind kind, bool same,
                        entry *bad_out)
{
  const uint32_t row = thread_row(warp), clock = warp->block->race->core->clocks[row];
  const uint32_t cluster = warp->block->cluster->number;
  uint16_t kept = 0;
  bool is_there = false;
  for (uint16_t i = 0; i < at->count; i++) {
    entry *old = &at->entries[i];
    const bool is_own = old->cluster == cluster && old->row == row;
    if ((old->bytes & bytes) != 0 && (old->kind != kind || kind == EMU_RACE_WRITE)) {
      const uint32_t bad = unordered(warp, lane, old);
      if (bad != 0 && !(same && old->kind == kind)) {
        *bad_out = *old;
        bad_out->lanes = bad;
        return false;
      }
      if (kind == EMU_RACE_WRITE && (old->bytes & ~bytes) == 0 && bad == 0) {
        continue;
      }
    }
    if (is_own && old->kind == kind && old->bytes == bytes && old->clock == clock) {
      old->lanes |= 1u << lane;
      is_there = true;
    } else if (is_own && old->kind == kind && (old->bytes & ~bytes) == 0) {
      old->lanes &= ~(1u << lane);
      if (old->lanes == 0) {
        continue;
      }
    }
    at->entries[kept++] = *old;
  }
  at->count = kept;
  entry *made = is_there ? NULL : add_entry(at);
  if (made != NULL) {
    *made = (entry){cluster, 1u << lane, clock, (uint16_t)row, bytes, (uint8_t)kind};
  }
  return true;
}

static void report(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, emu_access_kind kind,
                   const entry *bad)
{
  const emu_block *block = warp->block;
  const uint32_t warps = block->num_warps;
  emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
            "race: %s of global memory at 0x%llx is not ordered with %s by warp %u lane %u of block %u of cluster %u",
            kind == EMU_READ    ? "read"
            : kind == EMU_WRITE ? "write"
                                : "strong access",
            (unsigned long long)address,
            bad->kind == EMU_RACE_READ    ? "a read"
            : bad->kind == EMU_RACE_WRITE ? "a write"
                                          : "a strong access",
            bad->row % warps, (uint32_t)__builtin_ctz(bad->lanes), bad->row / warps, bad->cluster);
}

bool emu_global_race_access(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, uint32_t size,
                            emu_access_kind kind)
{
  emu_global_race *race = warp->block->grid->races;
  const emu_race_kind seen = kind == EMU_READ ? EMU_RACE_READ : kind == EMU_WRITE ? EMU_RACE_WRITE : EMU_RACE_ATOMIC;
  const uint64_t offset = address - EMU_GLOBAL_WINDOW;
  for (uint64_t at = offset; at < offset + size;) {
    const uint32_t in_cell = (uint32_t)(at % CELL);
    const uint32_t left = (uint32_t)(offset + size - at), count = left < CELL - in_cell ? left : CELL - in_cell;
    const uint16_t bytes = (uint16_t)((0xffffu >> (CELL - count)) << in_cell);
    pthread_mutex_t *stripe = &race->stripes[at / CELL / PAGE_CELLS % BUCKETS % STRIPES];
    entry bad;
    pthread_mutex_lock(stripe);
    cell *found = find_cell(race, at / CELL);
    uint8_t *data = emu_global_memory()->data + at;
    const uint8_t *stored = kind == EMU_WRITE && warp->stored != NULL ? warp->stored + (at - offset) : NULL;
    const bool same = stored != NULL && memcmp(data, stored, count) == 0;
    const bool good = found == NULL || access_cell(warp, lane, found, bytes, seen, same, &bad);
    if (good && stored != NULL) {
      memcpy(data, stored, count); /* for who compares: the store itself follows without the lock */
    }
    pthread_mutex_unlock(stripe);
    if (!good) {
      report(warp, step, lane, address, kind, &bad);
      return false;
    }
    at += count;
  }
  return true;
}

/* ---- Strong accesses -------------------------------------------------------------------------------------- */

bool emu_strong_begin(emu_warp *warp, const uint8_t *at)
{
  emu_global_race *race = warp->block->grid->races;
  const emu_global *memory = emu_global_memory();
  if (race == NULL || at < memory->data || (uint64_t)(at - memory->data) >= memory->size) {
    return false;
  }
  pthread_mutex_lock(&race->lock);
  return true;
}

void emu_strong_end(emu_warp *warp)
{
  pthread_mutex_unlock(&warp->block->grid->races->lock);
}

static variable *find_variable(emu_global_race *race, const uint8_t *at, bool makes)
{
  variable **first = &race->variables[(uintptr_t)at / 4 % BUCKETS];
  variable *found = *first;
  while (found != NULL && found->at != at) {
    found = found->next;
  }
  if (found == NULL && makes) {
    found = calloc(1, sizeof *found);
    if (found != NULL) {
      found->at = at;
      found->next = *first;
      *first = found;
    }
  }
  return found;
}

static bool hear(emu_warp *warp, news *of)
{
  if (warp->heard == NULL) {
    warp->heard = calloc(1, sizeof *warp->heard);
  }
  struct emu_heard *heard = warp->heard;
  if (heard == NULL) {
    return false;
  }
  if (heard->count > 0 && heard->list[heard->count - 1] == of) {
    return true;
  }
  if (heard->count == heard->room) {
    const uint32_t room = heard->room == 0 ? 8 : 2 * heard->room;
    news **grown = realloc(heard->list, room * sizeof *grown);
    if (grown == NULL) {
      return false;
    }
    heard->list = grown;
    heard->room = room;
  }
  of->owners++;
  heard->list[heard->count++] = of;
  return true;
}

void emu_strong_read(emu_warp *warp, unsigned lane, const uint8_t *at, bool is_acquire)
{
  const variable *found = find_variable(warp->block->grid->races, at, false);
  if (found == NULL || found->released == NULL || !hear(warp, found->released)) {
    return;
  }
  emu_race *race = warp->block->race;
  const uint32_t first = emu_race_extra_row(race);
  emu_race_learn(race, warp->index, lane, first + EMU_HEARD_ROW, warp->index, warp->heard->count);
  if (is_acquire) {
    emu_race_learn(race, warp->index, lane, first + EMU_ACQUIRED_ROW, warp->index, warp->heard->count);
  }
}

/* The clocks of the cluster's threads that a release of this one covers: all that it knows; or, of one without order,
 * what was known at its last fence, and what others had fenced that it knows of. False: none. */
static bool covered(const emu_warp *warp, unsigned lane, bool is_release, uint32_t *clocks)
{
  const emu_race_core *core = warp->block->race->core;
  const uint32_t self = thread_row(warp) * EMU_LANES + lane;
  const emu_clocks *known = core->known[self], *own = core->fenced[self];
  uint32_t any = 0;
  for (uint32_t i = 0; i < core->num_warps * EMU_LANES; i++) {
    const uint32_t theirs = core->fenced[i] == NULL ? 0 : core->fenced[i]->clocks[i];
    const uint32_t both = theirs < known->clocks[i] ? theirs : known->clocks[i];
    /* Lanes that fence together are entered together: of another lane only what this one knows counts. */
    const uint32_t mine = own == NULL ? 0 : own->clocks[i];
    const uint32_t seen = i == self || mine < known->clocks[i] ? mine : known->clocks[i];
    const uint32_t fenced = seen < both ? both : seen;
    clocks[i] = !is_release ? fenced : i == self ? core->clocks[self / EMU_LANES] : known->clocks[i];
    any |= clocks[i];
  }
  return any != 0;
}

static void merge(news *into, uint32_t cluster, const uint32_t *clocks, uint32_t count)
{
  uint32_t i = 0;
  while (i < into->count && into->items[i].cluster != cluster) {
    i++;
  }
  if (i == into->count) {
    uint32_t *made = calloc(count, sizeof *made);
    if (made == NULL) {
      return;
    }
    into->items[into->count++] = (struct item){cluster, count, made};
  }
  for (uint32_t c = 0; c < count; c++) {
    uint32_t *to = &into->items[i].clocks[c];
    *to = *to < clocks[c] ? clocks[c] : *to;
  }
}

static void merge_all(news *into, const news *from)
{
  for (uint32_t i = 0; from != NULL && i < from->count; i++) {
    merge(into, from->items[i].cluster, from->items[i].clocks, from->items[i].num_clocks);
  }
}

/* What the thread has acquired of others; with into NULL counts them. */
static uint32_t gather(const emu_warp *warp, unsigned lane, news *into)
{
  const emu_cluster *own = warp->block->cluster;
  uint32_t items = 0;
  for (uint32_t w = 0; w < own->num_warps; w++) {
    const struct emu_heard *heard = own->warps[w]->heard;
    const uint32_t count = heard == NULL ? 0 : acquired(warp, lane, own->warps[w]->block, own->warps[w]->index);
    for (uint32_t i = 0; i < count && i < heard->count; i++) {
      items += heard->list[i]->count;
      if (into != NULL) {
        merge_all(into, heard->list[i]);
      }
    }
  }
  return items;
}

void emu_strong_write(emu_warp *warp, unsigned lane, const uint8_t *at, bool is_release, bool is_update)
{
  emu_race_core *core = warp->block->race->core;
  const uint32_t num_clocks = core->num_warps * EMU_LANES;
  uint32_t *clocks = malloc(num_clocks * sizeof *clocks);
  const bool any = clocks != NULL && covered(warp, lane, is_release, clocks);
  variable *found = find_variable(warp->block->grid->races, at, any);
  if (found != NULL && (any || !is_update)) {
    const news *before = is_update ? found->released : NULL;
    const uint32_t items = any ? 1 + gather(warp, lane, NULL) + (before == NULL ? 0 : before->count) : 0;
    news *made = calloc(1, sizeof *made + items * sizeof made->items[0]);
    if (made != NULL && any) {
      made->owners = 1;
      merge(made, warp->block->cluster->number, clocks, num_clocks);
      merge_all(made, before);
      gather(warp, lane, made);
    }
    give(found->released);
    found->released = any ? made : NULL;
    if (!any) {
      free(made);
    }
    core->clocks[thread_row(warp)] += is_release;
  }
  free(clocks);
}

void emu_strong_fence(emu_warp *warp, uint32_t lanes)
{
  emu_race *race = warp->block->race;
  if (warp->block->grid->races == NULL) {
    return;
  }
  const uint32_t first = emu_race_extra_row(race), heard = emu_race_row(race, first + EMU_HEARD_ROW);
  EMU_FOR_LANES(lane, lanes)
  {
    for (uint32_t w = 0; w < warp->block->num_warps; w++) {
      const uint32_t count = race->core->known[thread_row(warp) * EMU_LANES + lane]->clocks[heard * EMU_LANES + w];
      emu_race_learn(race, warp->index, lane, first + EMU_ACQUIRED_ROW, w, count);
    }
  }
}
