/* SPDX-License-Identifier: Apache-2.0 */
/* What is ordered before what in tensor memory, PTX ISA 9.7.16.6. The knowledge is that of check_race.h, in rows of
 * its own: of threads' products, copies and shifts which are complete (told by tcgen05.commit through an mbarrier) and
 * which are only issued (told by before_thread_sync); of warps' loads and stores which were waited for, and which of
 * those before a before_thread_sync. A thread's operations may rely on what it knew at its last after_thread_sync. */
#include <stdlib.h>

#include "tensor_memory.h"

/* Behind the first of the extra rows. */
enum {
  COMPLETE = EMU_EXTRA_AGENT_ROWS,
  ISSUED = COMPLETE + EMU_TENSOR_AGENTS / EMU_LANES,
  WAITED = ISSUED + EMU_TENSOR_AGENTS / EMU_LANES, /* loads, stores: a warp a lane */
  FENCED = WAITED + 2
};

struct emu_tensor_use {
  emu_tensor_part part;
  emu_tensor_op op;
  bool writes;
};

static uint32_t row_of(const emu_block *block, uint32_t row)
{
  return emu_race_extra_row(block->race) + row;
}

void emu_tensor_order_start(emu_block *block)
{
  struct emu_tensor *tensor = block->tensor;
  tensor->num_uses = 0;
  memset(tensor->agents, 0, sizeof tensor->agents);
  memset(tensor->issued, 0, sizeof tensor->issued);
  memset(tensor->waited, 0, sizeof tensor->waited);
  for (uint32_t i = 0; i < EMU_MAX_WARPS * EMU_LANES; i++) {
    emu_clocks_drop(&tensor->views[i]);
  }
}

void emu_tensor_order_free(emu_block *block)
{
  for (uint32_t i = 0; i < EMU_MAX_WARPS * EMU_LANES; i++) {
    emu_clocks_drop(&block->tensor->views[i]);
  }
  free(block->tensor->uses);
}

/* ---- Operations ------------------------------------------------------------------------------------------- */

/* The thread's agent, made where it has none; EMU_TENSOR_AGENTS: none is left. */
static uint32_t agent_of(const emu_warp *warp, uint32_t lane, bool make)
{
  uint32_t *agents = warp->block->tensor->agents;
  const uint32_t thread = warp->index * EMU_LANES + lane + 1;
  for (uint32_t i = 0; i < EMU_TENSOR_AGENTS; i++) {
    if (agents[i] == 0 && make) {
      agents[i] = thread;
    }
    if (agents[i] == thread) {
      return i;
    }
  }
  return EMU_TENSOR_AGENTS;
}

uint32_t emu_tensor_agent_row(const emu_tensor_op *op)
{
  return row_of(op->warp->block, COMPLETE + op->agent / EMU_LANES);
}

bool emu_tensor_op_begin(emu_warp *warp, const emu_step *step, uint32_t lane, emu_tensor_kind kind,
                         emu_tensor_op *op_out)
{
  struct emu_tensor *tensor = warp->block->tensor;
  *op_out = (emu_tensor_op){
      .warp = warp, .step = step, .lane = lane, .kind = kind, .number = ++warp->block->cluster->tensor_operations};
  if (kind == EMU_TENSOR_LOAD || kind == EMU_TENSOR_STORE) {
    op_out->clock = ++tensor->issued[warp->index][kind - EMU_TENSOR_LOAD];
  } else if (kind != EMU_TENSOR_FREE) {
    op_out->agent = agent_of(warp, lane, true);
    if (op_out->agent == EMU_TENSOR_AGENTS) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                "more than %d threads of a block issue products and copies: one thread is enough for each",
                EMU_TENSOR_AGENTS);
      return false;
    }
    op_out->clock = emu_race_clock(warp->block->race, emu_tensor_agent_row(op_out));
  }
  return true;
}

void emu_tensor_op_end(const emu_tensor_op *op)
{
  emu_race_tick(op->warp->block->race, emu_tensor_agent_row(op));
}

bool emu_tensor_issued(emu_warp *warp, uint32_t lane, uint32_t *row_out, uint32_t *agent_lane_out, uint32_t *clock_out)
{
  const uint32_t agent = agent_of(warp, lane, false);
  if (agent == EMU_TENSOR_AGENTS) {
    return false;
  }
  *row_out = row_of(warp->block, COMPLETE + agent / EMU_LANES);
  *agent_lane_out = agent % EMU_LANES;
  *clock_out = emu_race_clock(warp->block->race, *row_out) - 1;
  return true;
}

bool emu_tensor_is_pipelined(const emu_tensor_op *a, const emu_tensor_op *b)
{
  const bool a_copies = a->kind == EMU_TENSOR_COPY || a->kind == EMU_TENSOR_COPY_4;
  switch (b->kind) {
  case EMU_TENSOR_PRODUCT:
    return a_copies || a->kind == EMU_TENSOR_SHIFT
           || (a->kind == EMU_TENSOR_PRODUCT && a->accumulator == b->accumulator && a->shape == b->shape);
  case EMU_TENSOR_COPY_4:
    return a->kind == EMU_TENSOR_SHIFT;
  case EMU_TENSOR_SHIFT:
    return a->kind == EMU_TENSOR_PRODUCT;
  default:
    return false;
  }
}

/* ---- Events ----------------------------------------------------------------------------------------------- */

void emu_tensor_happen_before(emu_tensor_event *made)
{
  emu_cluster *cluster = made->event.warp->block->cluster;
  for (emu_event *event = cluster->events; event != NULL && event != &made->event;) {
    if (event->kind == EMU_EVENT_TENSOR_PIPE && event->lanes != 0
        && emu_tensor_is_pipelined(&((emu_tensor_event *)event)->op, &made->op)) {
      emu_event_happen(cluster, event, EMU_ALL_LANES);
      event = cluster->events; /* others may have gone with it */
    } else {
      event = event->next;
    }
  }
}

/* ---- Conflicts -------------------------------------------------------------------------------------------- */

static const char *kind_words(emu_tensor_kind kind)
{
  static const char *const words[] = {"load", "store", "product", "copy", "copy", "shift", "dealloc"};
  return words[kind];
}

static bool overlaps(const emu_tensor_part *a, const emu_tensor_part *b)
{
  uint32_t lanes = 0;
  for (unsigned i = 0; i < EMU_TENSOR_WORDS; i++) {
    lanes |= a->lanes[i] & b->lanes[i];
  }
  return lanes != 0 && a->first < b->end && b->first < a->end;
}

static bool covers(const emu_tensor_part *all, const emu_tensor_part *part)
{
  uint32_t beyond = 0;
  for (unsigned i = 0; i < EMU_TENSOR_WORDS; i++) {
    beyond |= part->lanes[i] & ~all->lanes[i];
  }
  return beyond == 0 && all->first <= part->first && part->end <= all->end;
}

static bool is_move(const emu_tensor_op *op)
{
  return op->kind == EMU_TENSOR_LOAD || op->kind == EMU_TENSOR_STORE;
}

/* Whether who knows this knows that old is over, or goes before op. */
static bool knows(const emu_clocks *known, const emu_tensor_op *old, const emu_tensor_op *op, uint32_t moves_row)
{
  const emu_block *block = old->warp->block;
  if (is_move(old)) {
    const uint32_t row = row_of(block, moves_row + (old->kind == EMU_TENSOR_STORE));
    return emu_clocks_at(known, block->race, row, old->warp->index) >= old->clock;
  }
  const uint32_t row = old->agent / EMU_LANES, lane = old->agent % EMU_LANES;
  return emu_clocks_at(known, block->race, row_of(block, COMPLETE + row), lane) >= old->clock
         || (emu_tensor_is_pipelined(old, op)
             && emu_clocks_at(known, block->race, row_of(block, ISSUED + row), lane) >= old->clock);
}

/* All threads that execute op have the order: the one that issues it, or the lanes of its warp. by_view: what they knew
 * at their last after_thread_sync, else what they know now. */
static bool all_know(const emu_tensor_op *old, const emu_tensor_op *op, bool by_view)
{
  const emu_block *block = op->warp->block;
  const bool is_whole = is_move(op) || op->kind == EMU_TENSOR_FREE;
  const uint32_t end = is_whole ? EMU_LANES : op->lane + 1;
  const uint32_t moves_row = op->kind == EMU_TENSOR_FREE ? WAITED : FENCED;
  const emu_clocks *last = NULL;
  for (uint32_t lane = is_whole ? 0 : op->lane; lane < end; lane++) {
    emu_clocks *known = by_view ? emu_clocks_share(block->tensor->views[op->warp->index * EMU_LANES + lane])
                                : emu_race_view(block->race, op->warp->index, lane);
    const bool good = known != NULL && (known == last || knows(known, old, op, moves_row));
    last = known;
    emu_clocks_drop(&known);
    if (!good) {
      return false;
    }
  }
  return true;
}

static bool was_waited_for(const emu_tensor_op *move)
{
  const struct emu_tensor *tensor = move->warp->block->tensor;
  return tensor->waited[move->warp->index][move->kind == EMU_TENSOR_STORE] >= move->clock;
}

static bool is_ordered(const emu_tensor_op *old, const emu_tensor_op *op)
{
  if (old->number == op->number) {
    return true;
  }
  if (is_move(old) && old->warp == op->warp) {
    return was_waited_for(old);
  }
  if (!is_move(old) && old->warp == op->warp && old->lane == op->lane && emu_tensor_is_pipelined(old, op)) {
    return true;
  }
  return all_know(old, op, op->kind != EMU_TENSOR_FREE);
}

/* What is missing between the two, in words. */
static const char *advice(const emu_tensor_op *old, const emu_tensor_op *op)
{
  if (is_move(old) && !was_waited_for(old)) {
    return old->kind == EMU_TENSOR_LOAD ? "tcgen05.wait::ld is missing behind it"
                                        : "tcgen05.wait::st is missing behind it";
  }
  if (op->kind != EMU_TENSOR_FREE && all_know(old, op, false)) {
    return "tcgen05.fence::after_thread_sync is missing before this one";
  }
  if (is_move(old)) {
    return op->kind == EMU_TENSOR_FREE ? "a barrier is missing between its wait and this one"
                                       : "tcgen05.fence::before_thread_sync behind its wait, or a barrier, is missing";
  }
  return "its completion was not waited for (tcgen05.commit, then its mbarrier)";
}

static void report(const emu_block *block, const emu_tensor_use *old, const emu_tensor_op *op,
                   const emu_tensor_part *part, bool writes)
{
  uint32_t lane = 0;
  while (!emu_tensor_has_lane(part, lane) || !emu_tensor_has_lane(&old->part, lane)) {
    lane++;
  }
  const uint32_t column = part->first > old->part.first ? part->first : old->part.first;
  const bool is_whole = is_move(op) || op->kind == EMU_TENSOR_FREE;
  emu_fault(op->warp, op->step, is_whole ? EMU_LANES : op->lane, EMU_ILLEGAL_ADDRESS,
            "race: this %s %s tensor memory%s at lane %u, column %u, which the %s of PTX line %u (block %u, warp %u) "
            "may still %s: %s",
            kind_words(op->kind),
            op->kind == EMU_TENSOR_FREE ? "frees"
            : writes                    ? "writes"
                                        : "reads",
            block == op->warp->block ? "" : " of the peer block", lane, column, kind_words(old->op.kind),
            old->op.step->from->place.line, old->op.warp->block->linear, old->op.warp->index,
            old->writes ? "write" : "read", advice(&old->op, op));
}

static bool keep(struct emu_tensor *tensor, const emu_tensor_op *op, const emu_tensor_part *part, bool writes)
{
  if (tensor->num_uses == tensor->use_room) {
    const uint32_t room = tensor->use_room == 0 ? 64 : 2 * tensor->use_room;
    emu_tensor_use *grown = realloc(tensor->uses, room * sizeof *grown);
    if (grown == NULL) {
      emu_fault(op->warp, op->step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory to follow tensor memory");
      return false;
    }
    tensor->uses = grown;
    tensor->use_room = room;
  }
  tensor->uses[tensor->num_uses++] = (emu_tensor_use){.part = *part, .op = *op, .writes = writes};
  return true;
}

/* Who is ordered behind the new access is behind the old one too: what it covers with a write, and what the same
 * thread did there in the same way. */
static bool replaces(const emu_tensor_op *op, const emu_tensor_part *part, bool writes, const emu_tensor_use *old)
{
  const bool same_way =
      old->op.warp == op->warp && old->op.kind == op->kind
      && (is_move(op)
          || (old->op.agent == op->agent && old->op.shape == op->shape && old->op.accumulator == op->accumulator));
  return covers(part, &old->part) && (writes || (!old->writes && same_way)) && old->op.number != op->number;
}

bool emu_tensor_access(emu_block *block, const emu_tensor_op *op, const emu_tensor_part *part, bool writes)
{
  struct emu_tensor *tensor = block->tensor;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < tensor->num_uses; i++) {
    const emu_tensor_use old = tensor->uses[i];
    if ((old.writes || writes) && overlaps(&old.part, part) && !is_ordered(&old.op, op)) {
      report(block, &old, op, part, writes);
      return false;
    }
    if (!replaces(op, part, writes, &old)) {
      tensor->uses[kept++] = old;
    }
  }
  tensor->num_uses = kept;
  return op->kind == EMU_TENSOR_FREE || keep(tensor, op, part, writes);
}

void emu_tensor_forget(emu_block *block, const emu_tensor_part *part)
{
  struct emu_tensor *tensor = block->tensor;
  for (uint32_t lane = 0; lane < EMU_TENSOR_LANES; lane++) {
    if (emu_tensor_has_lane(part, lane)) {
      memset(&tensor->written[(size_t)lane * EMU_TENSOR_COLUMNS + part->first], 0, part->end - part->first);
    }
  }
}

/* ---- Waits and fences ------------------------------------------------------------------------------------- */

void emu_tensor_waited(emu_warp *warp, uint32_t which)
{
  const emu_block *block = warp->block;
  struct emu_tensor *tensor = block->tensor;
  tensor->waited[warp->index][which] = tensor->issued[warp->index][which];
  emu_race_learn_lanes(block->race, warp->index, EMU_ALL_LANES, row_of(block, WAITED + which), warp->index,
                       tensor->waited[warp->index][which]);
}

void emu_tensor_before_sync(emu_warp *warp, uint32_t lanes)
{
  const emu_block *block = warp->block;
  const struct emu_tensor *tensor = block->tensor;
  for (uint32_t which = 0; which < 2; which++) {
    emu_race_learn_lanes(block->race, warp->index, lanes, row_of(block, FENCED + which), warp->index,
                         tensor->waited[warp->index][which]);
  }
  EMU_FOR_LANES(lane, lanes)
  {
    const uint32_t agent = agent_of(warp, lane, false);
    if (agent < EMU_TENSOR_AGENTS) {
      const uint32_t row = agent / EMU_LANES;
      const uint32_t clock = emu_race_clock(block->race, row_of(block, COMPLETE + row)) - 1;
      emu_race_learn(block->race, warp->index, lane, row_of(block, ISSUED + row), agent % EMU_LANES, clock);
    }
  }
  emu_race_fence_rows(block->race, warp->index, lanes, row_of(block, COMPLETE), EMU_TENSOR_AGENT_ROWS);
}

void emu_tensor_after_sync(emu_warp *warp, uint32_t lanes)
{
  const emu_block *block = warp->block;
  EMU_FOR_LANES(lane, lanes)
  {
    emu_clocks **view = &block->tensor->views[warp->index * EMU_LANES + lane];
    emu_clocks_drop(view);
    *view = emu_race_view(block->race, warp->index, lane);
  }
}
