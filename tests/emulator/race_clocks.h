/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody knows of all agents (check_race.h): objects with several owners, as threads mostly know the same. */
#ifndef EMU_RACE_CLOCKS_H
#define EMU_RACE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum { EMU_CLOCK_LANES = 32, EMU_KEPT_CLOCKS = 256 };

/* What somebody knows: a clock an agent. Who holds one of several owners must not change it. */
typedef struct emu_clocks {
  uint32_t owners;
  uint32_t rows;
  uint32_t *least;  /* [row]: the least of the row */
  uint32_t *clocks; /* [row * 32 + lane] */
} emu_clocks;

typedef struct emu_clock_pool {
  uint32_t rows;
  emu_clocks *kept[EMU_KEPT_CLOCKS]; /* unused ones */
  uint32_t num_kept;
  bool failed; /* no memory: from now on nothing is found */
} emu_clock_pool;

void emu_clock_pool_free(emu_clock_pool *pool);
/* from NULL: knows nothing. NULL: no memory. */
emu_clocks *emu_clocks_copy(emu_clock_pool *pool, const emu_clocks *from);
/* One owner less; for the pool to use again. */
void emu_clocks_give(emu_clock_pool *pool, emu_clocks *clocks);
/* The handle's own, to change; NULL: no memory. */
emu_clocks *emu_clocks_own(emu_clock_pool *pool, emu_clocks **handle);
/* Another owner of the same; and one less. */
emu_clocks *emu_clocks_share(emu_clocks *clocks);
void emu_clocks_drop(emu_clocks **clocks);

void emu_clocks_find_least(emu_clocks *clocks, uint32_t row);
bool emu_clocks_know_all(const emu_clocks *clocks, const emu_clocks *other);
void emu_clocks_join(emu_clocks *into, const emu_clocks *from);
/* What both know is left in the first. */
void emu_clocks_meet(emu_clocks *into, const emu_clocks *with);
void emu_clocks_set(emu_clocks *into, uint32_t row, uint32_t lane, uint32_t clock);

#endif
