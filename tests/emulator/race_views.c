/* SPDX-License-Identifier: Apache-2.0 */
/* What fences of one kind of memory or for another proxy do: they order that kind's rows, and leave the others. */
#include "race_core.h"

#include <stddef.h>

enum { LANES = EMU_CLOCK_LANES };

void emu_race_learn_lanes(emu_race *view, uint32_t warp, uint32_t lanes, uint32_t row, uint32_t agent_lane,
                          uint32_t clock)
{
  emu_race_core *race = view->core;
  emu_clocks **known = &race->known[(size_t)emu_race_row(view, warp) * LANES];
  emu_clocks *before = NULL; /* of the last lane that learned: who knew the same shares what it knows now */
  emu_clocks *after = NULL;
  for (uint32_t lane = 0; lane < LANES && !race->pool.failed; lane++) {
    if ((lanes >> lane & 1) == 0) {
      continue;
    }
    if (before != NULL && known[lane] == before) {
      emu_clocks_give(&race->pool, known[lane]);
      known[lane] = emu_clocks_share(after);
      continue;
    }
    emu_clocks_give(&race->pool, before);
    before = emu_clocks_share(known[lane]);
    emu_race_learn(view, warp, lane, row, agent_lane, clock);
    after = known[lane];
  }
  emu_clocks_give(&race->pool, before);
}

emu_clocks *emu_race_view(emu_race *view, uint32_t warp, uint32_t lane)
{
  emu_race_core *race = view->core;
  const size_t thread = (size_t)emu_race_row(view, warp) * LANES + lane;
  const emu_clocks *heard = race->unfenced[thread];
  if (heard == NULL || race->pool.failed) {
    return emu_clocks_share(race->known[thread]);
  }
  emu_clocks *made = emu_clocks_copy(&race->pool, race->known[thread]);
  if (made != NULL) {
    emu_clocks_join(made, heard);
  }
  return made;
}

void emu_race_fence_rows(emu_race *view, uint32_t warp, uint32_t lanes, uint32_t first_row, uint32_t count)
{
  emu_race_core *race = view->core;
  for (uint32_t lane = 0; lane < LANES && !race->pool.failed; lane++) {
    const size_t thread = (size_t)emu_race_row(view, warp) * LANES + lane;
    emu_clocks *to = (lanes >> lane & 1) == 0 ? NULL : emu_clocks_own(&race->pool, &race->fenced[thread]);
    for (uint32_t block = 0; block < race->num_blocks && to != NULL; block++) {
      emu_race of = *view;
      of.block = block;
      for (uint32_t row = emu_race_row(&of, first_row); row < emu_race_row(&of, first_row) + count; row++) {
        for (uint32_t agent = 0; agent < LANES; agent++) {
          emu_clocks_set(to, row, agent, race->known[thread]->clocks[row * LANES + agent]);
        }
      }
    }
  }
}

uint32_t emu_clocks_at(const emu_clocks *clocks, const emu_race *race, uint32_t row, uint32_t agent_lane)
{
  return clocks->clocks[emu_race_row(race, row) * LANES + agent_lane];
}

void emu_race_proxy_fence(emu_race *view, uint32_t warp, uint32_t lanes)
{
  emu_race_core *race = view->core;
  warp = emu_race_row(view, warp);
  if (race->pool.failed || race->proxy_row == 0) {
    return;
  }
  for (uint32_t lane = 0; lane < LANES; lane++) {
    emu_clocks *to =
        (lanes >> lane & 1) == 0 ? NULL : emu_clocks_own(&race->pool, &race->known[(size_t)warp * LANES + lane]);
    if (to == NULL) {
      continue;
    }
    const size_t first = (size_t)race->proxy_row * LANES;
    for (uint32_t i = 0; i < 2 * race->num_warps * LANES; i++) {
      to->clocks[first + i] = to->clocks[i] > to->clocks[first + i] ? to->clocks[i] : to->clocks[first + i];
    }
    to->clocks[first + warp * LANES + lane] = race->clocks[warp];
    for (uint32_t row = 0; row < 2 * race->num_warps; row++) {
      emu_clocks_find_least(to, race->proxy_row + row);
    }
  }
  race->clocks[warp]++;
}
