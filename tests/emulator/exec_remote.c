/* SPDX-License-Identifier: Apache-2.0 */
/* st.async and red.async: words for another block's shared memory, whose mbarrier hears of them. */
#include "atomic.h"
#include "bulk.h"
#include "families.h"
#include "lanes.h"

/* [to], value or vector, [mbarrier]: the last source is the mbarrier. arg: of reductions 1 + the operation. */
enum { SPACE, VECTOR, TYPE };
#define TYPES "b32|u32|s32|b64|u64|s64|f32|f64"
static const uint8_t sizes[] = {0, 4, 4, 4, 8, 8, 8, 4, 8};

typedef struct place {
  uint64_t to, barrier;
  uint32_t bytes;
} place;

static bool to_shared(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t *address)
{
  const uint64_t given = *address;
  if (step->mods[SPACE] != 0 || emu_generic(given, address) == EMU_SHARED_CLUSTER) {
    return true;
  }
  emu_fault(warp, step, lane, EMU_INVALID_ADDRESS_SPACE, "an address of 0x%llx, which is no shared memory",
            (unsigned long long)given);
  return false;
}

static bool check(emu_warp *warp, const emu_step *step, unsigned lane, place *of)
{
  if (!to_shared(warp, step, lane, &of->to) || !to_shared(warp, step, lane, &of->barrier)) {
    return false;
  }
  if (of->to >> 24 != of->barrier >> 24) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
              "0x%llx and the mbarrier at 0x%llx are in shared memory of two blocks: one block's is wanted",
              (unsigned long long)of->to, (unsigned long long)of->barrier);
    return false;
  }
  if (warp->block->cluster->num_blocks == 1 || (step->arg != 0 && of->to >> 24 == warp->block->cluster_rank)) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "0x%llx is in shared memory of %s", (unsigned long long)of->to,
              step->arg != 0 ? "the same block: another block's is wanted" : "a block without a cluster");
    return false;
  }
  return true;
}

static bool issue(emu_warp *warp, const emu_step *step, unsigned lane, const place *of, unsigned type)
{
  emu_mbarrier at;
  emu_bulk *op = emu_bulk_begin(warp, step, lane);
  if (op == NULL) {
    return false;
  }
  op->is_generic = true;
  op->operation = (uint8_t)(step->arg == 0 ? 0 : step->arg - 1);
  op->type = (uint8_t)(step->arg == 0 ? 0 : type);
  const unsigned each = sizes[type];
  for (uint32_t i = 0; i * each < of->bytes; i++) {
    const uint64_t value = emu_lane(warp, &step->src[1 + i], lane);
    memcpy(op->value + (size_t)i * each, &value, each);
  }
  uint8_t *to = NULL;
  if (emu_bulk_aligned(op, "destination", of->to, of->bytes) && emu_bulk_barrier(op, of->barrier, &at)
      && (to = emu_bulk_shared(op, EMU_SHARED_CLUSTER, of->to, of->bytes,
                               step->arg == 0 ? EMU_RACE_WRITE : EMU_RACE_ATOMIC))
             != NULL
      && emu_bulk_add(op, to, op->value, of->bytes)) {
    return emu_bulk_issue(op, &at);
  }
  emu_bulk_abandon(op);
  return false;
}

static emu_next run(emu_warp *warp, const emu_step *step, uint32_t active, unsigned type)
{
  static const uint8_t vectors[] = {1, 2, 4};
  const unsigned count = step->arg == 0 ? vectors[step->mods[VECTOR]] : 1;
  if (step->num_src != count + 2u || sizes[type] * count > 16) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u registers for a vector of %u of %u bytes",
                     step->num_src - 2u, count, sizes[type]);
  }
  EMU_FOR_LANES(lane, active)
  {
    place of = {.to = emu_address(warp, step, &step->src[0], lane),
                .barrier = emu_lane(warp, &step->src[count + 1], lane) + (uint64_t)step->offset2,
                .bytes = sizes[type] * count};
    if (!check(warp, step, lane, &of) || !issue(warp, step, lane, &of, type)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

static emu_next store(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return run(warp, step, active, step->mods[TYPE]);
}

/* Choices: space, completion, type: of TYPES' numbers, which for integers are those of atomic.h. */
static emu_next reduce(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return run(warp, step, active, step->mods[2]);
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define TX ".mbarrier::complete_tx::bytes"
#define STORE(order)                                                                                                   \
  {                                                                                                                    \
    "st.async" order ".shared::cluster?" TX ".v2|v4?." TYPES, "a vx a", store, 0, 0, 90                                \
  }
#define REDUCE(operation, types, number)                                                                               \
  {                                                                                                                    \
    "red.async.relaxed.cluster.shared::cluster?" TX "?." operation "." types, "a x a", reduce, 0, 1 + (number), 90     \
  }

static const emu_row rows[] = {
    STORE(""),
    STORE(".weak"),
    STORE(".cluster"),
    REDUCE("add", "-|u32|s32|-|u64", EMU_ATOMIC_ADD),
    REDUCE("min", "-|u32|s32", EMU_ATOMIC_MIN),
    REDUCE("max", "-|u32|s32", EMU_ATOMIC_MAX),
    REDUCE("inc", "-|u32", EMU_ATOMIC_INC),
    REDUCE("dec", "-|u32", EMU_ATOMIC_DEC),
    REDUCE("and", "b32|-", EMU_ATOMIC_AND),
    REDUCE("or", "b32|-", EMU_ATOMIC_OR),
    REDUCE("xor", "b32|-", EMU_ATOMIC_XOR),
};

EMU_FAMILY(emu_family_remote, rows);
