/* SPDX-License-Identifier: Apache-2.0 */
/* mbarriers. Their state is in shared memory: 20 bits of arrivals pending, 20 of those expected in a phase, 21 of the
 * transaction count, and the phase's parity on top. What arriving threads know is kept beside. */
#include <stdlib.h>

#include "async.h"

enum { COUNT_BITS = 20, MAX_COUNT = (1 << COUNT_BITS) - 1 };

typedef struct known {
  uint32_t offset;
  emu_clocks *coming; /* of who has arrived, of all phases */
  emu_clocks *done;   /* as it was at the end of the last phase */
} known;

struct emu_mbarriers {
  known *list;
  uint32_t count, room;
};

/* ---- The state -------------------------------------------------------------------------------------------- */

typedef struct fields {
  uint32_t pending, expected;
  int32_t bytes;
  bool parity;
} fields;

static fields unpack(uint64_t word)
{
  return (fields){.pending = (uint32_t)(word & MAX_COUNT),
                  .expected = (uint32_t)(word >> COUNT_BITS & MAX_COUNT),
                  .bytes = (int32_t)((int64_t)(word << 3) >> 43),
                  .parity = (word >> 63) != 0};
}

static uint64_t pack(fields of)
{
  return (uint64_t)of.pending | (uint64_t)of.expected << COUNT_BITS
         | ((uint64_t)(uint32_t)of.bytes & 0x1fffff) << (2 * COUNT_BITS) | (uint64_t)of.parity << 63;
}

/* ---- What is known ---------------------------------------------------------------------------------------- */

static known *known_of(emu_block *block, uint32_t offset)
{
  struct emu_mbarriers *all = block->mbarriers;
  for (uint32_t i = 0; i < all->count; i++) {
    if (all->list[i].offset == offset) {
      return &all->list[i];
    }
  }
  if (all->count == all->room) {
    const uint32_t room = all->room == 0 ? 32 : 2 * all->room;
    known *grown = realloc(all->list, room * sizeof *grown);
    if (grown == NULL) {
      return NULL;
    }
    all->list = grown;
    all->room = room;
  }
  all->list[all->count] = (known){offset, NULL, NULL};
  return &all->list[all->count++];
}

static void forget(emu_block *block)
{
  struct emu_mbarriers *all = block->mbarriers;
  for (uint32_t i = 0; i < all->count; i++) {
    emu_clocks_drop(&all->list[i].coming);
    emu_clocks_drop(&all->list[i].done);
  }
  all->count = 0;
}

int emu_mbarriers_make(emu_block *block)
{
  block->mbarriers = calloc(1, sizeof *block->mbarriers);
  return block->mbarriers == NULL ? EMU_OUT_OF_MEMORY : EMU_OK;
}

void emu_mbarriers_start(emu_block *block)
{
  forget(block);
}

void emu_mbarriers_free(emu_block *block)
{
  if (block->mbarriers != NULL) {
    forget(block);
    free(block->mbarriers->list);
    free(block->mbarriers);
  }
  block->mbarriers = NULL;
}

/* ---- Use -------------------------------------------------------------------------------------------------- */

static bool find(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                 emu_access_kind kind, emu_mbarrier *found)
{
  uint8_t *at = emu_access(warp, step, lane, space, address, 8, kind);
  if (at == NULL) {
    return false;
  }
  if (space == EMU_GENERIC && emu_generic(address, &address) != EMU_SHARED_CLUSTER) {
    emu_fault(warp, step, lane, EMU_INVALID_ADDRESS_SPACE, "an mbarrier at 0x%llx, which is no shared memory",
              (unsigned long long)address);
    return false;
  }
  found->block = emu_shared_find(warp, EMU_SHARED_CLUSTER, address, 8, &found->offset);
  found->word = (uint64_t *)(void *)at;
  return found->block != NULL;
}

bool emu_mbarrier_find(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                       emu_mbarrier *found)
{
  return find(warp, step, lane, space, address, EMU_BARRIER_USE, found);
}

bool emu_mbarrier_init(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                       uint32_t count)
{
  emu_mbarrier at;
  if (count == 0 || count > MAX_COUNT) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "an mbarrier for %u arrivals: 1 to %d", count, MAX_COUNT);
    return false;
  }
  if (!find(warp, step, lane, space, address, EMU_BARRIER_INIT, &at)) {
    return false;
  }
  *at.word = pack((fields){.pending = count, .expected = count});
  known *beside = known_of(at.block, at.offset);
  if (beside != NULL) {
    emu_clocks_drop(&beside->coming);
    emu_clocks_drop(&beside->done);
  }
  return true;
}

bool emu_mbarrier_inval(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address)
{
  emu_mbarrier at;
  if (!find(warp, step, lane, space, address, EMU_BARRIER_USE, &at)) {
    return false;
  }
  memset(at.block->shared_states + at.offset, EMU_BYTE_UNWRITTEN, 8);
  return true;
}

static void end_phase_if_over(const emu_mbarrier *at, fields *now)
{
  if (now->pending != 0 || now->bytes != 0) {
    return;
  }
  now->pending = now->expected;
  now->parity = !now->parity;
  known *beside = known_of(at->block, at->offset);
  if (beside != NULL) {
    emu_clocks_drop(&beside->done);
    beside->done = emu_clocks_share(beside->coming);
  }
  emu_progress(at->block->cluster);
}

void emu_mbarrier_release(emu_warp *warp, uint32_t lanes, const emu_mbarrier *at)
{
  known *beside = known_of(at->block, at->offset);
  if (beside != NULL) {
    emu_race_release(warp->block->race, warp->index, lanes, &beside->coming);
  }
}

void emu_mbarrier_release_fenced(emu_warp *warp, uint32_t lanes, const emu_mbarrier *at)
{
  known *beside = known_of(at->block, at->offset);
  if (beside != NULL) {
    emu_race_release_fenced(warp->block->race, warp->index, lanes, &beside->coming);
  }
}

bool emu_mbarrier_arrive(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at, uint32_t count,
                         uint64_t *state_out)
{
  fields now = unpack(*at->word);
  if (count == 0 || count > now.pending) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
              "%u arrivals at an mbarrier of which %u are pending (%u a phase)", count, now.pending, now.expected);
    return false;
  }
  if (state_out != NULL) {
    *state_out = *at->word;
  }
  now.pending -= count;
  end_phase_if_over(at, &now);
  *at->word = pack(now);
  return true;
}

bool emu_mbarrier_transact(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at, int64_t bytes)
{
  fields now = unpack(*at->word);
  const int64_t sum = now.bytes + bytes;
  if (sum < -MAX_COUNT || sum > MAX_COUNT) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "an mbarrier's transaction count of %lld: at most %d",
              (long long)sum, MAX_COUNT);
    return false;
  }
  now.bytes = (int32_t)sum;
  end_phase_if_over(at, &now);
  *at->word = pack(now);
  return true;
}

bool emu_mbarrier_drop(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at, uint32_t count)
{
  fields now = unpack(*at->word);
  if (count > now.expected) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "%u arrivals dropped from an mbarrier of %u", count,
              now.expected);
    return false;
  }
  now.expected -= count;
  *at->word = pack(now);
  return true;
}

bool emu_mbarrier_expect_arrival(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at)
{
  fields now = unpack(*at->word);
  if (now.pending == MAX_COUNT) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "more than %d arrivals pending at an mbarrier", MAX_COUNT);
    return false;
  }
  now.pending++;
  *at->word = pack(now);
  return true;
}

void emu_mbarrier_publish_of(const emu_mbarrier *at, const emu_block *actor, uint32_t row, uint32_t agent_lane,
                             uint32_t clock)
{
  known *beside = known_of(at->block, at->offset);
  if (beside != NULL) {
    emu_race_publish(actor->race, row, agent_lane, clock, &beside->coming);
  }
}

void emu_mbarrier_publish(const emu_mbarrier *at, uint32_t row, uint32_t agent_lane, uint32_t clock)
{
  emu_mbarrier_publish_of(at, at->block, row, agent_lane, clock);
}

bool emu_mbarrier_test(emu_warp *warp, unsigned lane, const emu_mbarrier *at, bool parity, bool is_relaxed)
{
  if (unpack(*at->word).parity == parity) {
    return false;
  }
  const known *beside = known_of(at->block, at->offset);
  if (beside != NULL && is_relaxed) {
    emu_race_hear(warp->block->race, warp->index, lane, beside->done);
  } else if (beside != NULL) {
    emu_race_acquire(warp->block->race, warp->index, 1u << lane, beside->done);
  }
  return true;
}

bool emu_mbarrier_parity(uint64_t state)
{
  return unpack(state).parity;
}

uint32_t emu_mbarrier_pending(uint64_t state)
{
  return unpack(state).pending;
}
