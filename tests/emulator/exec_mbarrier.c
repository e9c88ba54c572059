/* SPDX-License-Identifier: Apache-2.0 */
/* The mbarrier instructions of shared::cta and of shared::cluster. */
#include "async.h"
#include "families.h"
#include "lanes.h"

/* arg: the space, in the row. */
static emu_space space_of(const emu_step *step)
{
  return (emu_space)step->arg;
}

static emu_next init(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *counts = emu_in32(warp, &step->src[1]);
  EMU_FOR_LANES(lane, active)
  {
    if (!emu_mbarrier_init(warp, step, lane, space_of(step), emu_address(warp, step, &step->src[0], lane),
                           counts[lane])) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

static emu_next inval(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    if (!emu_mbarrier_inval(warp, step, lane, space_of(step), emu_address(warp, step, &step->src[0], lane))) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- Arrivals --------------------------------------------------------------------------------------------- */

static bool find_all(emu_warp *warp, const emu_step *step, uint32_t active, emu_mbarrier at[EMU_LANES])
{
  EMU_FOR_LANES(lane, active)
  {
    if (!emu_mbarrier_find(warp, step, lane, space_of(step), emu_address(warp, step, &step->src[0], lane), &at[lane])) {
      return false;
    }
  }
  return true;
}

/* Lanes that arrive at the same mbarrier release together. */
static void release_all(emu_warp *warp, uint32_t active, const emu_mbarrier at[EMU_LANES], bool is_relaxed)
{
  uint32_t rest = active;
  while (rest != 0) {
    const uint32_t first = (uint32_t)__builtin_ctz(rest);
    uint32_t together = 0;
    EMU_FOR_LANES(lane, rest)
    {
      together |= (uint32_t)(at[lane].word == at[first].word) << lane;
    }
    (is_relaxed ? emu_mbarrier_release_fenced : emu_mbarrier_release)(warp, together, &at[first]);
    rest &= ~together;
  }
}

/* Relaxed ones release what a fence has. The count stands behind the address; of expect_tx it is bytes. */
static emu_next arrive(emu_warp *warp, const emu_step *step, uint32_t active, bool expects, bool drops)
{
  emu_mbarrier at[EMU_LANES];
  if (!find_all(warp, step, active, at)) {
    return EMU_FAULT;
  }
  release_all(warp, active, at, step->mods[0] == 2);
  EMU_FOR_LANES(lane, active)
  {
    const uint32_t number = step->num_src > 1 ? emu_in32(warp, &step->src[1])[lane] : 1;
    uint64_t state = 0;
    if (expects && !emu_mbarrier_transact(warp, step, lane, &at[lane], number)) {
      return EMU_FAULT;
    }
    if (drops && !emu_mbarrier_drop(warp, step, lane, &at[lane], expects ? 1 : number)) {
      return EMU_FAULT;
    }
    if (!emu_mbarrier_arrive(warp, step, lane, &at[lane], expects ? 1 : number, &state)) {
      return EMU_FAULT;
    }
    if (step->num_dst > 0) {
      emu_set_lane(warp, &step->dst[0], lane, state);
    }
  }
  return EMU_NEXT;
}

static emu_next plain_arrive(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return arrive(warp, step, active, false, false);
}

static emu_next arrive_expect_tx(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return arrive(warp, step, active, true, false);
}

static emu_next arrive_drop(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return arrive(warp, step, active, false, true);
}

static emu_next arrive_drop_expect_tx(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return arrive(warp, step, active, true, true);
}

/* An arrival that leaves the phase's end to others: nocomplete. */
static emu_next arrive_nocomplete(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    emu_mbarrier at;
    if (!emu_mbarrier_find(warp, step, lane, space_of(step), emu_address(warp, step, &step->src[0], lane), &at)) {
      return EMU_FAULT;
    }
    const uint32_t count = emu_in32(warp, &step->src[1])[lane];
    if (count >= emu_mbarrier_pending(*at.word)) {
      return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "arrive.noComplete of %u would end the phase", count);
    }
  }
  return arrive(warp, step, active, false, false);
}

static emu_next expect_tx(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *bytes = emu_in32(warp, &step->src[1]);
  emu_mbarrier at[EMU_LANES];
  if (!find_all(warp, step, active, at)) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    if (!emu_mbarrier_transact(warp, step, lane, &at[lane], bytes[lane])) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

static emu_next complete_tx(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *bytes = emu_in32(warp, &step->src[1]);
  emu_mbarrier at[EMU_LANES];
  if (!find_all(warp, step, active, at)) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    if (!emu_mbarrier_transact(warp, step, lane, &at[lane], -(int64_t)bytes[lane])) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- Waiting ---------------------------------------------------------------------------------------------- */

/* try_wait may give up at any time: it looks once, and others run. by_parity: the phase by its parity, else by the
 * state that an arrival gave. */
static emu_next look(emu_warp *warp, const emu_step *step, uint32_t active, bool by_parity)
{
  uint32_t found = 0;
  EMU_FOR_LANES(lane, active)
  {
    emu_mbarrier at;
    const uint64_t address = emu_address(warp, step, &step->src[0], lane);
    if (!emu_mbarrier_find(warp, step, lane, space_of(step), address, &at)) {
      return EMU_FAULT;
    }
    const uint64_t which = emu_lane(warp, &step->src[1], lane);
    const bool parity = by_parity ? (which & 1) != 0 : emu_mbarrier_parity(which);
    if (by_parity && which > 1) {
      return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a parity of %llu", (unsigned long long)which);
    }
    if (emu_mbarrier_test(warp, lane, &at, parity, step->mods[0] == 2)) {
      found |= 1u << lane;
    } else {
      warp->group->why = "a phase of the mbarrier at";
      warp->group->wait_address = address;
    }
  }
  emu_out_pred(warp, &step->dst[0], active, found);
  return found == active ? EMU_NEXT : EMU_YIELD;
}

static emu_next look_parity(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return look(warp, step, active, true);
}

static emu_next look_state(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return look(warp, step, active, false);
}

static emu_next pending_count(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    emu_out32(warp, &step->dst[0])[lane] = emu_mbarrier_pending(emu_in64(warp, &step->src[0])[lane]);
  }
  return EMU_NEXT;
}

/* ---- Fences of this kind ---------------------------------------------------------------------------------- */

/* Choice: a state space; of global memory's proxies nothing is followed. */
static emu_next fence(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (step->mods[0] != 1) {
    emu_race_proxy_fence(warp->block->race, warp->index, active);
  }
  return EMU_NEXT;
}

/* arg 1: an acquire fence, which learns first; otherwise what is released goes through the proxies. */
static emu_next one_way_fence(emu_warp *warp, const emu_step *step, uint32_t active)
{
  emu_race *race = warp->block->race;
  if (step->arg == 1) {
    emu_race_fence(race, warp->index, active);
  }
  emu_race_proxy_fence(race, warp->index, active);
  if (step->arg == 0) {
    emu_race_fence(race, warp->index, active);
  }
  return EMU_NEXT;
}

/* What it orders beyond prior inits is not told apart. */
static emu_next init_fence(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  emu_race_fence(warp->block->race, warp->index, active);
  return EMU_NEXT;
}

static emu_next nothing(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)warp;
  (void)step;
  (void)active;
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg, arch)                                                                    \
  {                                                                                                                    \
    pattern, operands, function, 0, arg, arch                                                                          \
  }
/* The words release and relaxed, and the scope, stand in front of the space. */
#define ORDER ".release|relaxed?.cta|cluster?"
#define ACQUIRE ".acquire|relaxed?.cta|cluster?"
#define SPACES(op, order, operands, function, arch)                                                                    \
  ROW(op order ".b64", operands, function, EMU_GENERIC, arch),                                                         \
      ROW(op order ".shared|shared::cta.b64", operands, function, EMU_SHARED, arch)
/* With a state as the result, or with a sink, or without one: of the cluster's other blocks there is no state. */
#define ARRIVE(op, operands, function, arch)                                                                           \
  SPACES(op, ORDER, "=l " operands, function, arch),                                                                   \
      ROW(op ORDER ".shared::cluster.b64", "=l " operands, function, EMU_SHARED_CLUSTER, 90),                          \
      ROW(op ORDER ".shared::cluster.b64", operands, function, EMU_SHARED_CLUSTER, 90)

static const emu_row rows[] = {
    SPACES("mbarrier.init", "", "a w", init, 80),
    SPACES("mbarrier.inval", "", "a", inval, 80),
    ARRIVE("mbarrier.arrive", "a w?", plain_arrive, 80),
    ARRIVE("mbarrier.arrive.expect_tx", "a w", arrive_expect_tx, 90),
    ARRIVE("mbarrier.arrive_drop", "a w?", arrive_drop, 80),
    ARRIVE("mbarrier.arrive_drop.expect_tx", "a w", arrive_drop_expect_tx, 90),
    SPACES("mbarrier.arrive.noComplete", ORDER, "=l a w", arrive_nocomplete, 80),
    SPACES("mbarrier.expect_tx", ".relaxed?.cta|cluster?", "a w", expect_tx, 90),
    ROW("mbarrier.expect_tx.relaxed?.cta|cluster?.shared::cluster.b64", "a w", expect_tx, EMU_SHARED_CLUSTER, 90),
    SPACES("mbarrier.complete_tx", ".relaxed?.cta|cluster?", "a w", complete_tx, 90),
    ROW("mbarrier.complete_tx.relaxed?.cta|cluster?.shared::cluster.b64", "a w", complete_tx, EMU_SHARED_CLUSTER, 90),
    SPACES("mbarrier.test_wait", ACQUIRE, "=p a l", look_state, 80),
    SPACES("mbarrier.test_wait.parity", ACQUIRE, "=p a w", look_parity, 80),
    SPACES("mbarrier.try_wait", ACQUIRE, "=p a l w?", look_state, 90),
    SPACES("mbarrier.try_wait.parity", ACQUIRE, "=p a w w?", look_parity, 90),
    ROW("mbarrier.pending_count.b64", "=w l", pending_count, 0, 80),
    ROW("fence.mbarrier_init.release.cluster", "", init_fence, 0, 90),
    ROW("fence.proxy.alias", "", nothing, 0, 70),
    ROW("fence.proxy.async.global|shared::cta|shared::cluster?", "", fence, 0, 90),
    ROW("membar.proxy.alias", "", nothing, 0, 70),
    ROW("membar.proxy.async.global|shared::cta|shared::cluster?", "", fence, 0, 90),
    ROW("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "", one_way_fence, 1, 90),
    ROW("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", "", one_way_fence, 0, 90),
};

EMU_FAMILY(emu_family_mbarrier, rows);
