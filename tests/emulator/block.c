/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a cluster, run together by one thread of the host: their memories, their warps' beginnings, and the
 * scheduler, which draws the warp to run, for how long, and now and then lets some warps starve. */
#include "exec.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "tensor_memory.h"

enum { MAX_SLICE = 96, STUCK_ROUNDS = 20000, STARVE_EVERY = 64 };

/* ---- Making ----------------------------------------------------------------------------------------------- */

/* Walks one large piece of memory; with room NULL only counts. */
typedef struct emu_carver {
  uint8_t *room;
  size_t used;
} emu_carver;

static void *carve(emu_carver *from, size_t size)
{
  void *at = from->room == NULL ? NULL : from->room + from->used;
  from->used += (size + 63) / 64 * 64;
  return at;
}

static void carve_warp(emu_carver *from, const emu_kernel *kernel, emu_warp *warp)
{
  uint8_t *registers = carve(from, kernel->register_bytes);
  uint8_t *specials = carve(from, kernel->special_bytes);
  uint32_t *written = carve(from, kernel->num_written * sizeof(uint32_t));
  if (from->room != NULL) {
    warp->banks[EMU_BANK_REGISTERS] = registers;
    warp->banks[EMU_BANK_CONSTANTS] = kernel->constants;
    warp->banks[EMU_BANK_SPECIALS] = specials;
    warp->written = written;
  }
}

static void carve_block(emu_carver *from, emu_grid *grid, emu_block *block, emu_warp *warps)
{
  const emu_kernel *kernel = grid->kernel;
  const uint32_t threads = grid->launch->block[0] * grid->launch->block[1] * grid->launch->block[2];
  const uint32_t num_warps = (threads + EMU_LANES - 1) / EMU_LANES;
  const uint32_t shared = kernel->info.static_shared + grid->launch->dynamic_shared;
  emu_block made = {.grid = grid, .kernel = kernel, .num_threads = threads, .num_warps = num_warps, .warps = warps};
  made.shared_bytes = shared;
  made.shared = carve(from, shared + 64u);
  made.shared_states = carve(from, shared + 64u);
  made.local = carve(from, (size_t)threads * kernel->info.local_bytes + 64u);
  made.local_states = carve(from, (size_t)threads * kernel->info.local_bytes + 64u);
  emu_warp counted;
  for (uint32_t w = 0; w < num_warps; w++) {
    carve_warp(from, kernel, from->room == NULL ? &counted : &warps[w]);
  }
  if (from->room != NULL) {
    *block = made;
  }
}

static void carve_all(emu_carver *from, emu_grid *grid, emu_cluster *cluster, emu_warp *warps, uint32_t warps_each)
{
  for (uint32_t b = 0; b < cluster->num_blocks; b++) {
    carve_block(from, grid, from->room == NULL ? NULL : &cluster->blocks[b], &warps[(size_t)b * warps_each]);
  }
}

/* What follows asynchronous operations and races; false: no memory. */
static bool make_checks(emu_cluster *cluster, uint32_t warps_each)
{
  bool good = true;
  for (uint32_t b = 0; b < cluster->num_blocks; b++) {
    cluster->blocks[b].cluster = cluster;
    cluster->blocks[b].cluster_rank = b;
    good = emu_async_make(&cluster->blocks[b]) == EMU_OK && good;
  }
  emu_race *races[EMU_MAX_CLUSTER];
  const emu_kernel *kernel = cluster->grid->kernel;
  const uint32_t rows = EMU_EXTRA_AGENT_ROWS + (kernel->uses_tensor_memory ? EMU_TENSOR_AGENT_ROWS : 0u);
  good = good
         && emu_race_make_all(races, cluster->num_blocks, warps_each, rows, kernel->uses_async_proxy,
                              cluster->blocks[0].shared_bytes);
  for (uint32_t b = 0; b < cluster->num_blocks && good; b++) {
    cluster->blocks[b].race = races[b];
  }
  return good;
}

int emu_cluster_make(emu_grid *grid, emu_cluster *cluster)
{
  const uint32_t *size = grid->launch->block;
  const uint32_t warps_each = (size[0] * size[1] * size[2] + EMU_LANES - 1) / EMU_LANES;
  *cluster = (emu_cluster){.grid = grid, .num_blocks = grid->cluster[0] * grid->cluster[1] * grid->cluster[2]};
  cluster->num_warps = cluster->num_blocks * warps_each;
  cluster->blocks = calloc(cluster->num_blocks, sizeof *cluster->blocks);
  emu_warp *warps = calloc(cluster->num_warps, sizeof *warps);
  cluster->warps = calloc(cluster->num_warps, sizeof *cluster->warps);
  emu_carver counting = {NULL, 0};
  carve_all(&counting, grid, cluster, warps, warps_each);
  cluster->room = aligned_alloc(64, counting.used + 64);
  if (cluster->blocks == NULL || warps == NULL || cluster->warps == NULL || cluster->room == NULL) {
    free(warps);
    emu_cluster_free(cluster);
    return EMU_OUT_OF_MEMORY;
  }
  emu_carver real = {cluster->room, 0};
  carve_all(&real, grid, cluster, warps, warps_each);
  for (uint32_t w = 0; w < cluster->num_warps; w++) {
    cluster->warps[w] = &warps[w];
    warps[w].block = &cluster->blocks[w / warps_each];
    warps[w].index = w % warps_each;
  }
  if (!make_checks(cluster, warps_each)) {
    emu_cluster_free(cluster);
    return EMU_OUT_OF_MEMORY;
  }
  return EMU_OK;
}

void emu_cluster_free(emu_cluster *cluster)
{
  for (uint32_t b = 0; cluster->blocks != NULL && b < cluster->num_blocks; b++) {
    emu_block *block = &cluster->blocks[b];
    for (unsigned i = 0; i < EMU_BARRIERS; i++) {
      emu_clocks_drop(&block->barriers[i].clocks);
    }
    if (block->cluster != NULL) {
      emu_async_free(block);
    }
    emu_race_free(block->race);
  }
  emu_cluster_barrier_start(cluster);
  if (cluster->warps != NULL) {
    free(cluster->warps[0]); /* the array of all */
  }
  free(cluster->warps);
  free(cluster->blocks);
  free(cluster->room);
  *cluster = (emu_cluster){0};
}

/* ---- Beginning -------------------------------------------------------------------------------------------- */

static uint64_t block_special(const emu_block *block, uint32_t special, unsigned c)
{
  const emu_grid *grid = block->grid;
  const uint32_t *cluster = grid->cluster;
  const uint32_t in_cluster = block->id[c] % cluster[c];
  switch (special) {
  case PTX_NTID:
    return grid->launch->block[c];
  case PTX_CTAID:
    return block->id[c];
  case PTX_NCTAID:
    return grid->launch->grid[c];
  case PTX_CLUSTERID:
    return block->id[c] / cluster[c];
  case PTX_NCLUSTERID:
    return grid->launch->grid[c] / cluster[c];
  case PTX_CLUSTER_CTAID:
    return in_cluster;
  case PTX_CLUSTER_NCTAID:
    return cluster[c];
  case PTX_CLUSTER_CTARANK:
    return block->cluster_rank;
  case PTX_CLUSTER_NCTARANK:
    return block->cluster->num_blocks;
  case PTX_IS_EXPLICIT_CLUSTER:
    return grid->launch->cluster[0] != 0 || grid->kernel->info.required_cluster[0] != 0;
  case PTX_NWARPID:
    return block->num_warps;
  case PTX_SMID:
    return block->linear % grid->device->num_sms;
  case PTX_NSMID:
    return grid->device->num_sms;
  case PTX_DYNAMIC_SMEM_SIZE:
    return grid->launch->dynamic_shared;
  case PTX_TOTAL_SMEM_SIZE:
    return block->shared_bytes + grid->device->shared_reserved;
  default:
    return 0;
  }
}

static uint64_t lane_special(const emu_warp *warp, uint32_t special, unsigned c, unsigned lane)
{
  const uint32_t *size = warp->block->grid->launch->block;
  const uint32_t thread = warp->index * EMU_LANES + lane;
  switch (special) {
  case PTX_TID:
    return c == 0 ? thread % size[0] : c == 1 ? thread / size[0] % size[1] : thread / size[0] / size[1];
  case PTX_LANEID:
    return lane;
  case PTX_WARPID:
    return warp->index;
  case PTX_LANEMASK_EQ:
    return 1u << lane;
  case PTX_LANEMASK_LE:
    return 0xffffffffu >> (31 - lane);
  case PTX_LANEMASK_LT:
    return (1u << lane) - 1;
  case PTX_LANEMASK_GE:
    return 0xffffffffu << lane;
  case PTX_LANEMASK_GT:
    return 0xffffffffu << lane << 1;
  default:
    return block_special(warp->block, special, c);
  }
}

static void fill_specials(emu_warp *warp)
{
  const emu_kernel *kernel = warp->block->kernel;
  for (uint32_t i = 0; i < kernel->num_specials; i++) {
    const emu_used_special *used = &kernel->specials[i];
    uint8_t *at = warp->banks[EMU_BANK_SPECIALS] + used->offset;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
      const uint64_t value = used->is_address ? used->address + ((uint64_t)warp->block->cluster_rank << 24)
                                              : lane_special(warp, used->special, used->component, lane);
      if (used->is_address ? used->component == 8 : used->special == PTX_GRIDID) {
        ((uint64_t *)(void *)at)[lane] = value;
      } else if (used->special < PTX_CLOCK) {
        ((uint32_t *)(void *)at)[lane] = (uint32_t)value;
      }
    }
  }
}

static void start_warp(emu_warp *warp)
{
  const emu_block *block = warp->block;
  const uint32_t first = warp->index * EMU_LANES;
  const uint32_t lanes = block->num_threads - first;
  warp->live = lanes >= EMU_LANES ? EMU_ALL_LANES : (1u << lanes) - 1;
  warp->num_groups = 1;
  warp->groups[0] = (emu_group){.lanes = warp->live, .state = EMU_READY};
  warp->steps = warp->thread_steps = 0;
  warp->is_starved = 0;
  warp->carry = warp->carry_written = 0;
  warp->cluster_arrived = warp->cluster_passed = 0;
  memset(warp->written, 0, block->kernel->num_written * sizeof(uint32_t));
  warp->written[0] = EMU_ALL_LANES;
  fill_specials(warp);
}

static void start_block(emu_block *block, const uint32_t first[3])
{
  const emu_grid *grid = block->grid;
  const uint32_t *cluster = grid->cluster, *size = grid->launch->grid;
  const uint32_t rank = block->cluster_rank;
  block->id[0] = first[0] + rank % cluster[0];
  block->id[1] = first[1] + rank / cluster[0] % cluster[1];
  block->id[2] = first[2] + rank / cluster[0] / cluster[1];
  block->linear = block->id[0] + size[0] * (block->id[1] + size[1] * block->id[2]);
  block->live_warps = block->num_warps;
  memset(block->shared_states, EMU_BYTE_UNWRITTEN, block->shared_bytes);
  memset(block->local_states, EMU_BYTE_UNWRITTEN, (size_t)block->num_threads * block->kernel->info.local_bytes);
  for (unsigned i = 0; i < EMU_BARRIERS; i++) {
    emu_clocks_drop(&block->barriers[i].clocks);
    block->barriers[i] = (emu_barrier){0};
  }
  if (rank == 0) {
    emu_race_reset(block->race);
  }
  emu_async_start(block);
  for (uint32_t w = 0; w < block->num_warps; w++) {
    start_warp(&block->warps[w]);
  }
}

void emu_cluster_start(emu_cluster *cluster, uint64_t number)
{
  const emu_grid *grid = cluster->grid;
  const uint32_t *size = grid->cluster;
  const uint64_t across = grid->launch->grid[0] / size[0], down = grid->launch->grid[1] / size[1];
  const uint32_t first[3] = {(uint32_t)(number % across) * size[0], (uint32_t)(number / across % down) * size[1],
                             (uint32_t)(number / across / down) * size[2]};
  cluster->random = (grid->seed + number * 0x9e3779b97f4a7c15ull) * 0xd1342543de82ef95ull + 1;
  for (unsigned i = 0; i < 4; i++) {
    emu_random(cluster);
  }
  cluster->progress = cluster->clock = 0;
  cluster->next_due = UINT64_MAX;
  cluster->number = (uint32_t)number;
  emu_cluster_barrier_start(cluster);
  for (uint32_t b = 0; b < cluster->num_blocks; b++) {
    start_block(&cluster->blocks[b], first);
  }
}

/* ---- Running ---------------------------------------------------------------------------------------------- */

static bool is_over(const emu_cluster *cluster)
{
  for (uint32_t b = 0; b < cluster->num_blocks; b++) {
    if (cluster->blocks[b].live_warps > 0) {
      return false;
    }
  }
  return true;
}

static void draw_starved(emu_cluster *cluster)
{
  const unsigned mode = emu_random_below(cluster, 4);
  const unsigned one = emu_random_below(cluster, cluster->num_warps);
  for (uint32_t w = 0; w < cluster->num_warps; w++) {
    cluster->warps[w]->is_starved = mode == 0   ? w == one
                                    : mode == 1 ? w != one
                                    : mode == 2 ? emu_random_below(cluster, 2) != 0
                                                : 0;
  }
}

/* Runs some warp; from a drawn one on, those that do not starve first. */
static bool run_some(emu_cluster *cluster, bool spinners_too)
{
  const unsigned first = emu_random_below(cluster, cluster->num_warps);
  const unsigned budget = 1 + emu_random_below(cluster, MAX_SLICE);
  for (unsigned pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < cluster->num_warps; i++) {
      const uint32_t w = first + i < cluster->num_warps ? first + i : first + i - cluster->num_warps;
      emu_warp *warp = cluster->warps[w];
      if (warp->live != 0 && warp->is_starved == pass && emu_warp_run(warp, budget, spinners_too)) {
        return true;
      }
    }
  }
  return false;
}

void emu_cluster_run(emu_cluster *cluster)
{
  unsigned rounds = 0, stuck = 0;
  while (!is_over(cluster) && atomic_load_explicit(&cluster->grid->result, memory_order_relaxed) == EMU_OK) {
    if (rounds++ % STARVE_EVERY == 0) {
      draw_starved(cluster);
    }
    if (cluster->clock >= cluster->next_due) {
      emu_async_due(cluster);
    }
    if (run_some(cluster, false)) {
      stuck = 0;
      continue;
    }
    /* Everybody waits or has looked in vain: what is under way may no longer be late. */
    if (emu_async_force(cluster)) {
      continue;
    }
    if (stuck++ > STUCK_ROUNDS || !run_some(cluster, true)) {
      emu_report_deadlock(cluster);
      return;
    }
  }
  for (uint32_t b = 0; b < cluster->num_blocks; b++) {
    emu_async_end(&cluster->blocks[b]);
  }
}
