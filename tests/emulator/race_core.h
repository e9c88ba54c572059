/* SPDX-License-Identifier: Apache-2.0 */
/* What the race check is made of, for the files that it is in. */
#ifndef EMU_RACE_CORE_H
#define EMU_RACE_CORE_H

#include "check_race.h"

typedef struct emu_race_cell emu_race_cell;

/* What the blocks of a cluster share. Its rows: the warps of all blocks, their async agents, the further rows of all
 * blocks, and what the async proxy knows of the warps. */
typedef struct emu_race_core {
  uint32_t num_blocks, num_views;
  uint32_t num_warps, num_cells; /* of all blocks */
  uint32_t generation;           /* rises with each barrier of all threads */
  uint32_t *clocks;              /* [row] */
  emu_clocks **known;            /* [warp * 32 + lane] */
  emu_clocks **fenced;           /* [warp * 32 + lane]: what was known at the last fence; NULL: none */
  emu_clocks **unfenced;         /* [warp * 32 + lane]: what the next fence makes known; NULL: nothing */
  emu_race_cell *cells;
  emu_clock_pool pool;
  uint32_t proxy_row; /* 2 * num_warps rows: what the async proxy may know of warps and their agents; 0: no such rows */
} emu_race_core;

/* A block's part of it. */
struct emu_race {
  emu_race_core *core;
  uint32_t block, num_warps, num_extra, num_cells;
};

/* The row of a block's own row. */
static inline uint32_t emu_race_row(const emu_race *race, uint32_t row)
{
  const uint32_t warps = race->num_warps, all = race->core->num_warps;
  return row < warps       ? race->block * warps + row
         : row < 2 * warps ? all + race->block * warps + (row - warps)
                           : 2 * all + race->block * race->num_extra + (row - 2 * warps);
}

#endif
