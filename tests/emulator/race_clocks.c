/* SPDX-License-Identifier: Apache-2.0 */
#include "race_clocks.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = EMU_CLOCK_LANES };

static emu_clocks *make_clocks(emu_clock_pool *pool)
{
  if (pool->num_kept > 0) {
    return pool->kept[--pool->num_kept];
  }
  const size_t words = (size_t)pool->rows * (LANES + 1);
  emu_clocks *made = malloc(sizeof *made + words * sizeof(uint32_t));
  if (made == NULL) {
    pool->failed = true;
    return NULL;
  }
  made->rows = pool->rows;
  made->least = (uint32_t *)(made + 1);
  made->clocks = made->least + pool->rows;
  return made;
}

emu_clocks *emu_clocks_copy(emu_clock_pool *pool, const emu_clocks *from)
{
  emu_clocks *made = make_clocks(pool);
  if (made != NULL) {
    made->owners = 1;
    const size_t size = (size_t)pool->rows * (LANES + 1) * sizeof(uint32_t);
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

void emu_clocks_give(emu_clock_pool *pool, emu_clocks *clocks)
{
  if (clocks == NULL || --clocks->owners > 0) {
    return;
  }
  if (pool->num_kept < EMU_KEPT_CLOCKS) {
    pool->kept[pool->num_kept++] = clocks;
  } else {
    free(clocks);
  }
}

void emu_clocks_find_least(emu_clocks *clocks, uint32_t row)
{
  uint32_t least = UINT32_MAX;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    const uint32_t clock = clocks->clocks[row * LANES + lane];
    least = clock < least ? clock : least;
  }
  clocks->least[row] = least;
}

bool emu_clocks_know_all(const emu_clocks *clocks, const emu_clocks *other)
{
  uint32_t missing = 0;
  for (uint32_t i = 0; i < clocks->rows * LANES; i++) {
    missing |= (uint32_t)(clocks->clocks[i] < other->clocks[i]);
  }
  return missing == 0;
}

void emu_clocks_join(emu_clocks *into, const emu_clocks *from)
{
  for (uint32_t i = 0; i < into->rows * LANES; i++) {
    into->clocks[i] = into->clocks[i] > from->clocks[i] ? into->clocks[i] : from->clocks[i];
  }
  for (uint32_t row = 0; row < into->rows; row++) {
    emu_clocks_find_least(into, row);
  }
}

emu_clocks *emu_clocks_own(emu_clock_pool *pool, emu_clocks **handle)
{
  if (*handle == NULL || (*handle)->owners > 1) {
    emu_clocks *made = emu_clocks_copy(pool, *handle);
    if (made == NULL) {
      return NULL;
    }
    emu_clocks_give(pool, *handle);
    *handle = made;
  }
  return *handle;
}

void emu_clocks_meet(emu_clocks *into, const emu_clocks *with)
{
  for (uint32_t i = 0; i < into->rows * LANES; i++) {
    into->clocks[i] = into->clocks[i] < with->clocks[i] ? into->clocks[i] : with->clocks[i];
  }
  for (uint32_t row = 0; row < into->rows; row++) {
    emu_clocks_find_least(into, row);
  }
}

void emu_clocks_set(emu_clocks *into, uint32_t row, uint32_t lane, uint32_t clock)
{
  uint32_t *at = &into->clocks[row * LANES + lane];
  if (*at < clock) {
    *at = clock;
    emu_clocks_find_least(into, row);
  }
}

void emu_clock_pool_free(emu_clock_pool *pool)
{
  for (uint32_t i = 0; i < pool->num_kept; i++) {
    free(pool->kept[i]);
  }
  pool->num_kept = 0;
}
