/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_memory.h"
#include "bulk.h"
#include "global_race.h"

#include <stdlib.h>

#include "warpgroup.h"

/* When it happens of itself: soon, later, or only when it must. */
static uint64_t draw_due(emu_cluster *cluster)
{
  switch (emu_random_below(cluster, 8)) {
  case 0:
    return cluster->clock + emu_random_below(cluster, 64);
  case 1:
    return cluster->clock + emu_random_below(cluster, 4096);
  case 2:
    return cluster->clock + emu_random_below(cluster, 100000);
  default:
    return UINT64_MAX;
  }
}

void *emu_event_add(emu_warp *warp, const emu_step *step, uint32_t lanes, size_t size, uint8_t kind,
                    void (*happen)(emu_event *event, uint32_t lanes))
{
  emu_cluster *cluster = warp->block->cluster;
  emu_event *event = calloc(1, size);
  if (event == NULL) {
    emu_fault(warp, step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory for an asynchronous operation");
    return NULL;
  }
  *event =
      (emu_event){.due = draw_due(cluster), .warp = warp, .step = step, .lanes = lanes, .kind = kind, .happen = happen};
  emu_event **end = &cluster->events;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = event;
  if (event->due < cluster->next_due) {
    cluster->next_due = event->due;
  }
  return event;
}

void emu_event_happen(emu_cluster *cluster, emu_event *event, uint32_t lanes)
{
  lanes &= event->lanes;
  event->lanes &= ~lanes;
  if (lanes != 0) {
    event->happen(event, lanes);
  }
  if (event->lanes != 0) {
    return;
  }
  emu_event **at = &cluster->events;
  while (*at != NULL && *at != event) {
    at = &(*at)->next;
  }
  if (*at == event) {
    *at = event->next;
    free(event);
  }
}

/* The first that the thread knows to be done, from behind the last taken. If there is none, the next: then a race may
 * go unseen. */
emu_agent emu_agent_take(emu_warp *warp, unsigned lane)
{
  emu_block *block = warp->block;
  const uint32_t first = emu_race_extra_row(block->race) + EMU_BULK_AGENT_ROW;
  uint32_t found = block->next_agent % EMU_AGENTS;
  for (uint32_t i = 0; i < EMU_AGENTS; i++) {
    const uint32_t n = (block->next_agent + i) % EMU_AGENTS;
    if (block->agents[n] == 0
        || emu_race_knows(block->race, warp->index, lane, first + n / EMU_LANES, n % EMU_LANES, block->agents[n])) {
      found = n;
      break;
    }
  }
  const uint32_t row = first + found / EMU_LANES;
  block->next_agent = found + 1;
  block->agents[found] = emu_race_clock(block->race, row) + 1;
  return (emu_agent){row, found % EMU_LANES, block->agents[found] - 1};
}

void emu_async_due(emu_cluster *cluster)
{
  for (;;) {
    emu_event *event = cluster->events;
    cluster->next_due = UINT64_MAX;
    while (event != NULL && event->due > cluster->clock) {
      cluster->next_due = event->due < cluster->next_due ? event->due : cluster->next_due;
      event = event->next;
    }
    if (event == NULL) {
      return;
    }
    emu_event_happen(cluster, event, EMU_ALL_LANES);
  }
}

bool emu_async_force(emu_cluster *cluster)
{
  unsigned count = 0;
  for (const emu_event *event = cluster->events; event != NULL; event = event->next) {
    count++;
  }
  if (count == 0) {
    return false;
  }
  emu_event *event = cluster->events;
  for (unsigned skip = emu_random_below(cluster, count); skip > 0; skip--) {
    event = event->next;
  }
  emu_event_happen(cluster, event, EMU_ALL_LANES);
  return true;
}

int emu_async_make(emu_block *block)
{
  int result = emu_tensor_make(block);
  result = result != EMU_OK ? result : emu_mbarriers_make(block);
  return result != EMU_OK ? result : emu_warpgroups_make(block);
}

void emu_async_start(emu_block *block)
{
  emu_mbarriers_start(block);
  emu_tensor_start(block);
  memset(block->agents, 0, sizeof block->agents);
  emu_heard_start(block);
  emu_warpgroups_start(block);
  for (uint32_t w = 0; w < block->num_warps; w++) {
    emu_copies_start(&block->warps[w]);
    emu_bulks_start(&block->warps[w]);
  }
}

void emu_async_end(emu_block *block)
{
  emu_cluster *cluster = block->cluster;
  for (emu_event *event = cluster->events; event != NULL;) {
    if (event->warp->block == block) {
      emu_event_happen(cluster, event, EMU_ALL_LANES);
      event = cluster->events; /* others may have gone with it */
    } else {
      event = event->next;
    }
  }
  emu_tensor_end(block);
}

void emu_async_free(emu_block *block)
{
  emu_cluster *cluster = block->cluster;
  for (emu_event *event = cluster->events; event != NULL;) {
    emu_event *next = event->next;
    if (event->drop != NULL) {
      event->drop(event);
    }
    free(event);
    event = next;
  }
  cluster->events = NULL;
  emu_heard_start(block);
  for (uint32_t w = 0; w < block->num_warps; w++) {
    emu_copies_free(&block->warps[w]);
    emu_bulks_free(&block->warps[w]);
  }
  emu_tensor_free(block);
  emu_mbarriers_free(block);
  emu_warpgroups_free(block);
}
