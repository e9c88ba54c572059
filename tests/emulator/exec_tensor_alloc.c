/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05.alloc, dealloc and relinquish_alloc_permit, PTX ISA 9.7.16.7. Another block may sit on the same SM: now and
 * then one has some of the columns when the first are asked for, so that addresses begin anywhere and who wants those
 * columns has to wait. */
#include "families.h"
#include "tensor_memory.h"

static const char wants_columns[] = "columns of tensor memory";
static const char wants_peer[] = "the peer block's warp at a collective tcgen05 instruction";

static void wake(emu_block *block)
{
  for (uint32_t w = 0; w < block->num_warps; w++) {
    emu_warp *warp = &block->warps[w];
    for (uint32_t g = 0; g < warp->num_groups; g++) {
      emu_group *group = &warp->groups[g];
      if (group->state == EMU_WAITING && (group->why == wants_columns || group->why == wants_peer)) {
        group->state = EMU_READY;
        group->is_resumed = 1;
      }
    }
  }
  emu_progress(block->cluster);
}

static emu_next wait_for(emu_warp *warp, const char *what)
{
  warp->group->state = EMU_WAITING;
  warp->group->why = what;
  return EMU_BLOCK;
}

/* ---- Which columns ---------------------------------------------------------------------------------------- */

static uint32_t units_mask(uint32_t first, uint32_t count)
{
  const uint32_t units = count / EMU_TENSOR_UNIT;
  return ((1u << units) - 1) << (first / EMU_TENSOR_UNIT);
}

/* A place for a power of two of columns among those that are not taken, any of them; EMU_TENSOR_COLUMNS: none. It is
 * aligned to its size: as sizes never rise, what is free can be had. */
static uint32_t draw_place(emu_cluster *cluster, uint32_t taken, uint32_t count)
{
  uint32_t places[EMU_TENSOR_UNITS];
  unsigned found = 0;
  for (uint32_t first = 0; first < EMU_TENSOR_COLUMNS; first += count) {
    if ((taken & units_mask(first, count)) == 0) {
      places[found++] = first;
    }
  }
  return found == 0 ? EMU_TENSOR_COLUMNS : places[emu_random_below(cluster, found)];
}

typedef struct neighbour {
  emu_event event;
  emu_block *block;
} neighbour;

static void neighbour_ends(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  emu_block *block = ((neighbour *)event)->block;
  block->tensor->neighbour = 0;
  wake(block);
  emu_block *peer = emu_tensor_peer(block);
  if (peer != NULL) {
    wake(peer);
  }
}

static bool draw_neighbour(emu_warp *warp, const emu_step *step)
{
  struct emu_tensor *tensor = warp->block->tensor;
  emu_cluster *cluster = warp->block->cluster;
  if (tensor->neighbour_drawn || emu_random_below(cluster, 2) == 0) {
    tensor->neighbour_drawn = true;
    return true;
  }
  tensor->neighbour_drawn = true;
  neighbour *made = emu_event_add(warp, step, 1, sizeof *made, EMU_EVENT_TENSOR_OTHER, neighbour_ends);
  if (made == NULL) {
    return false;
  }
  made->block = warp->block;
  const uint32_t count = (uint32_t)EMU_TENSOR_UNIT << emu_random_below(cluster, 4);
  tensor->neighbour = units_mask(draw_place(cluster, 0, count), count);
  return true;
}

/* ---- alloc ------------------------------------------------------------------------------------------------ */

/* The operand that all lanes must give alike. */
static bool same_in_all(emu_warp *warp, const emu_step *step, unsigned source, uint32_t *value_out)
{
  const uint32_t *values = emu_in32(warp, &step->src[source]);
  for (uint32_t lane = 1; lane < EMU_LANES; lane++) {
    if (values[lane] != values[0]) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "lanes give different operands: 0x%x and 0x%x", values[0],
                values[lane]);
      return false;
    }
  }
  *value_out = values[0];
  return true;
}

static bool whole_warp(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (active != EMU_ALL_LANES) {
    emu_fault(warp, step, (unsigned)__builtin_ctz(~active), EMU_ILLEGAL_INSTRUCTION,
              "all 32 lanes of the warp are wanted here: 0x%08x are", active);
    return false;
  }
  return true;
}

static bool good_count(emu_warp *warp, const emu_step *step, uint32_t count)
{
  if (count < EMU_TENSOR_UNIT || count > EMU_TENSOR_COLUMNS || (count & (count - 1)) != 0) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "%u columns of tensor memory: a power of two from 32 to 512 is wanted", count);
    return false;
  }
  return true;
}

static bool may_alloc(emu_warp *warp, const emu_step *step, uint32_t count)
{
  const struct emu_tensor *tensor = warp->block->tensor;
  if (!good_count(warp, step, count)) {
    return false;
  }
  if (tensor->relinquished) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "alloc after the block's relinquish_alloc_permit");
    return false;
  }
  if (tensor->last_count != 0 && count > tensor->last_count) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "alloc of %u columns after one of %u: the number may not rise", count, tensor->last_count);
    return false;
  }
  return true;
}

/* The columns are the block's, and all lanes of the warp may read the address. */
static bool grant(emu_warp *warp, const emu_step *step, uint32_t first, uint32_t count)
{
  struct emu_tensor *tensor = warp->block->tensor;
  tensor->owned |= units_mask(first, count);
  tensor->grants[tensor->num_grants++] = (emu_tensor_grant){first, count, warp, step};
  tensor->last_count = count;
  emu_space space = step->arg == 0 ? EMU_GENERIC : EMU_SHARED;
  uint64_t address = emu_address(warp, step, &step->src[0], 0);
  if (space == EMU_GENERIC && emu_generic(address, &address) != EMU_SHARED_CLUSTER) {
    emu_fault(warp, step, 0, EMU_INVALID_ADDRESS_SPACE, "alloc to 0x%llx, which is no shared memory",
              (unsigned long long)address);
    return false;
  }
  emu_race *race = warp->block->race;
  emu_race_sync_lanes(race, warp->index, EMU_ALL_LANES); /* in order with the lanes' own accesses */
  uint8_t *to = emu_access(warp, step, 0, EMU_SHARED, address, 4, EMU_WRITE);
  if (to == NULL) {
    return false;
  }
  memcpy(to, &first, 4);
  emu_race_sync_lanes(race, warp->index, EMU_ALL_LANES);
  return true;
}

static emu_next alloc(emu_warp *warp, const emu_step *step, uint32_t active)
{
  struct emu_tensor *tensor = warp->block->tensor;
  uint32_t count = 0;
  if (!whole_warp(warp, step, active) || !same_in_all(warp, step, 1, &count)
      || (!warp->group->is_resumed && (!may_alloc(warp, step, count) || !draw_neighbour(warp, step)))) {
    return EMU_FAULT;
  }
  const uint32_t first = draw_place(warp->block->cluster, tensor->owned | tensor->neighbour, count);
  if (first == EMU_TENSOR_COLUMNS) {
    return wait_for(warp, wants_columns);
  }
  return grant(warp, step, first, count) ? EMU_NEXT : EMU_FAULT;
}

/* ---- dealloc ---------------------------------------------------------------------------------------------- */

static bool release(emu_warp *warp, const emu_step *step, uint32_t first, uint32_t count)
{
  struct emu_tensor *tensor = warp->block->tensor;
  uint32_t at = 0;
  while (at < tensor->num_grants && (tensor->grants[at].first != first || tensor->grants[at].count != count)) {
    at++;
  }
  if (at == tensor->num_grants) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "dealloc of %u columns at 0x%08x, which no alloc of the block gave", count, first);
    return false;
  }
  emu_tensor_op op;
  const emu_tensor_part all = {{~0u, ~0u, ~0u, ~0u}, first, first + count};
  if (!emu_tensor_op_begin(warp, step, 0, EMU_TENSOR_FREE, &op) || !emu_tensor_access(warp->block, &op, &all, true)) {
    return false;
  }
  emu_tensor_forget(warp->block, &all);
  tensor->owned &= ~units_mask(first, count);
  tensor->grants[at] = tensor->grants[--tensor->num_grants];
  wake(warp->block);
  return true;
}

static emu_next dealloc(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t first = 0, count = 0;
  if (!whole_warp(warp, step, active) || !same_in_all(warp, step, 0, &first) || !same_in_all(warp, step, 1, &count)
      || !good_count(warp, step, count)) {
    return EMU_FAULT;
  }
  return release(warp, step, first, count) ? EMU_NEXT : EMU_FAULT;
}

/* ---- Of a pair of blocks ---------------------------------------------------------------------------------- */

/* Both warps are there: the peer's, or NULL after a fault or while it is not. */
static emu_tensor_pair *meet(emu_warp *warp, const emu_step *step, uint32_t first, uint32_t count, emu_next *next)
{
  emu_block *peer = emu_tensor_peer(warp->block);
  *next = EMU_FAULT;
  if (peer == NULL) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "cta_group::2 in a cluster of %u blocks: the block has no peer", warp->block->cluster->num_blocks);
    return NULL;
  }
  struct emu_tensor *tensor = warp->block->tensor;
  if (tensor->pair.warp != NULL && tensor->pair.warp != warp) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "warp %u of the block is at a collective tcgen05 instruction already", tensor->pair.warp->index);
    return NULL;
  }
  tensor->pair = (emu_tensor_pair){.warp = warp, .step = step, .first = first, .count = count};
  emu_tensor_pair *other = &peer->tensor->pair;
  if (other->warp == NULL || other->is_done) {
    if (peer->live_warps == 0) {
      emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "cta_group::2, and the peer block has ended");
      return NULL;
    }
    *next = wait_for(warp, wants_peer);
    return NULL;
  }
  if (other->step->exec != step->exec || other->count != count || other->first != first) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "the peer block's warp is at PTX line %u with %u columns, this one has %u", other->step->from->place.line,
              other->count, count);
    return NULL;
  }
  return other;
}

/* The pair is over for both. */
static emu_next part(emu_warp *warp, emu_tensor_pair *other)
{
  warp->block->tensor->pair.warp = NULL;
  other->is_done = true;
  wake(other->warp->block);
  return EMU_NEXT;
}

/* The peer's warp has done it for both. */
static bool is_done(emu_warp *warp)
{
  emu_tensor_pair *pair = &warp->block->tensor->pair;
  if (!warp->group->is_resumed || !pair->is_done || pair->warp != warp) {
    return false;
  }
  *pair = (emu_tensor_pair){0};
  return true;
}

static emu_next alloc_pair(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t count = 0;
  emu_next next;
  if (is_done(warp)) {
    return EMU_NEXT;
  }
  if (!whole_warp(warp, step, active) || !same_in_all(warp, step, 1, &count)
      || (!warp->group->is_resumed && (!may_alloc(warp, step, count) || !draw_neighbour(warp, step)))) {
    return EMU_FAULT;
  }
  emu_tensor_pair *other = meet(warp, step, 0, count, &next);
  if (other == NULL) {
    return next;
  }
  const struct emu_tensor *own = warp->block->tensor, *its = other->warp->block->tensor;
  const uint32_t taken = own->owned | own->neighbour | its->owned | its->neighbour;
  const uint32_t first = draw_place(warp->block->cluster, taken, count);
  if (first == EMU_TENSOR_COLUMNS) {
    return wait_for(warp, wants_columns);
  }
  return grant(warp, step, first, count) && grant(other->warp, other->step, first, count) ? part(warp, other)
                                                                                          : EMU_FAULT;
}

static emu_next dealloc_pair(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t first = 0, count = 0;
  emu_next next;
  if (is_done(warp)) {
    return EMU_NEXT;
  }
  if (!whole_warp(warp, step, active) || !same_in_all(warp, step, 0, &first) || !same_in_all(warp, step, 1, &count)
      || !good_count(warp, step, count)) {
    return EMU_FAULT;
  }
  emu_tensor_pair *other = meet(warp, step, first, count, &next);
  if (other == NULL) {
    return next;
  }
  return release(warp, step, first, count) && release(other->warp, other->step, first, count) ? part(warp, other)
                                                                                              : EMU_FAULT;
}

static emu_next relinquish(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (!whole_warp(warp, step, active)) {
    return EMU_FAULT;
  }
  warp->block->tensor->relinquished = true;
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg)                                                                          \
  {                                                                                                                    \
    pattern, operands, function, EMU_ROW_ALIGNED | EMU_ROW_TENSOR, arg, 100 | 128                                      \
  }

/* arg: the address is one of shared memory. */
static const emu_row rows[] = {
    ROW("tcgen05.alloc.cta_group::1.sync.aligned.b32", "a w", alloc, 0),
    ROW("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "a w", alloc, 1),
    ROW("tcgen05.alloc.cta_group::2.sync.aligned.b32", "a w", alloc_pair, 0),
    ROW("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32", "a w", alloc_pair, 1),
    ROW("tcgen05.dealloc.cta_group::1.sync.aligned.b32", "w w", dealloc, 0),
    ROW("tcgen05.dealloc.cta_group::2.sync.aligned.b32", "w w", dealloc_pair, 0),
    ROW("tcgen05.relinquish_alloc_permit.cta_group::1|cta_group::2.sync.aligned", "", relinquish, 0),
};

EMU_FAMILY(emu_family_columns, rows);
