/* SPDX-License-Identifier: Apache-2.0 */
/* The barrier of a cluster, and the end of its blocks. Lanes arrive and wait one by one; an aligned instruction has
 * made them come together. */
#include <stdio.h>

#include "async.h"
#include "families.h"
#include "lanes.h"

enum { CLUSTER_BARRIER = EMU_BARRIERS + 1 }; /* in group->wait_barrier */

void emu_cluster_barrier_start(emu_cluster *cluster)
{
  emu_clocks_drop(&cluster->barrier.coming);
  emu_clocks_drop(&cluster->barrier.done);
}

/* ---- The barrier ------------------------------------------------------------------------------------------ */

/* All threads that have not ended have arrived, and there is one. */
static bool is_complete(const emu_cluster *cluster)
{
  uint32_t any = 0;
  for (uint32_t w = 0; w < cluster->num_warps; w++) {
    const emu_warp *warp = cluster->warps[w];
    if ((warp->live & ~warp->cluster_arrived) != 0) {
      return false;
    }
    any |= warp->live;
  }
  return any != 0;
}

static void complete(emu_cluster *cluster)
{
  for (uint32_t w = 0; w < cluster->num_warps; w++) {
    emu_warp *warp = cluster->warps[w];
    warp->cluster_passed |= warp->cluster_arrived;
    warp->cluster_arrived = 0;
    for (uint32_t g = 0; g < warp->num_groups; g++) {
      emu_group *group = &warp->groups[g];
      if (group->state == EMU_WAITING && group->wait_barrier == CLUSTER_BARRIER) {
        group->state = EMU_READY;
        group->is_resumed = 1;
        group->wait_barrier = 0;
      }
    }
  }
  emu_clocks_drop(&cluster->barrier.done);
  cluster->barrier.done = cluster->barrier.coming;
  cluster->barrier.coming = NULL;
  emu_progress(cluster);
}

void emu_cluster_barrier_lanes_ended(emu_cluster *cluster)
{
  if (is_complete(cluster)) {
    complete(cluster);
  }
}

static emu_next arrive(emu_warp *warp, const emu_step *step, uint32_t active)
{
  emu_cluster *cluster = warp->block->cluster;
  const uint32_t again = active & (warp->cluster_arrived | warp->cluster_passed);
  if (again != 0) {
    return emu_fault(warp, step, (unsigned)__builtin_ctz(again), EMU_ILLEGAL_INSTRUCTION,
                     "arrives at the cluster's barrier again without having waited");
  }
  /* Choice: release, relaxed. */
  const bool is_relaxed = step->mods[0] == 2;
  (is_relaxed ? emu_race_release_fenced : emu_race_release)(warp->block->race, warp->index, active,
                                                            &cluster->barrier.coming);
  warp->cluster_arrived |= active;
  if (is_complete(cluster)) {
    complete(cluster);
  }
  return EMU_NEXT;
}

static emu_next wait_all(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t strange = active & ~(warp->cluster_arrived | warp->cluster_passed);
  if (strange != 0) {
    return emu_fault(warp, step, (unsigned)__builtin_ctz(strange), EMU_ILLEGAL_INSTRUCTION,
                     "waits at the cluster's barrier without having arrived");
  }
  if ((active & warp->cluster_arrived) != 0) {
    warp->group->state = EMU_WAITING;
    warp->group->wait_barrier = CLUSTER_BARRIER;
    warp->group->why = "the barrier of its cluster";
    return EMU_BLOCK;
  }
  emu_race_acquire(warp->block->race, warp->index, active, warp->block->cluster->barrier.done);
  warp->cluster_passed &= ~active;
  return EMU_NEXT;
}

/* ---- The end of a block ----------------------------------------------------------------------------------- */

bool emu_block_may_end(emu_warp *warp, const emu_step *step)
{
  emu_block *block = warp->block;
  emu_race_conflict with;
  uint32_t offset = 0;
  if (block->cluster->num_blocks == 1 && !block->kernel->uses_async_proxy) {
    return true;
  }
  if (!emu_race_used_at_end(block->race, &offset, &with)) {
    return true;
  }
  char by[96];
  if (with.row >= block->num_warps) {
    snprintf(by, sizeof by, "an asynchronous operation");
  } else {
    snprintf(by, sizeof by, "warp %u lane %u of block %u of the cluster", with.row, with.lane, with.block);
  }
  emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_ADDRESS,
            "the block has ended, and its shared memory at 0x%x may still be %s by %s", EMU_SHARED_BASE + offset,
            with.kind == EMU_RACE_READ ? "read" : "written", by);
  return false;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

static const emu_row rows[] = {
    {"barrier.cluster.arrive.release|relaxed?.aligned", "", arrive, EMU_ROW_ALIGNED, 0, 90},
    {"barrier.cluster.arrive.release|relaxed?", "", arrive, 0, 0, 90},
    {"barrier.cluster.wait.acquire?.aligned", "", wait_all, EMU_ROW_ALIGNED, 0, 90},
    {"barrier.cluster.wait.acquire?", "", wait_all, 0, 0, 90},
};

EMU_FAMILY(emu_family_cluster, rows);
