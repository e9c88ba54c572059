/* SPDX-License-Identifier: Apache-2.0 */
/* cp.async.bulk and cp.reduce.async.bulk of ranges of bytes, and their prefetch. */
#include "atomic.h"
#include "bulk.h"
#include "families.h"
#include "lanes.h"

enum { GRAIN = 16 };

/* The words of a range operation: [to], [from], bytes, and for who waits by an mbarrier [mbarrier]. */
typedef struct range {
  uint64_t to, from, barrier;
  uint32_t bytes;
} range;

static bool read_range(emu_warp *warp, const emu_step *step, unsigned lane, bool has_barrier, range *out)
{
  *out = (range){.to = emu_address(warp, step, &step->src[0], lane),
                 .from = emu_lane(warp, &step->src[1], lane) + (uint64_t)step->offset2,
                 .bytes = (uint32_t)emu_lane(warp, &step->src[2], lane)};
  if (has_barrier) {
    out->barrier = emu_lane(warp, &step->src[3], lane) + (uint64_t)step->offset3;
  }
  if (out->bytes % GRAIN != 0) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a bulk operation on %u bytes: a multiple of %d is wanted",
              out->bytes, GRAIN);
    return false;
  }
  return true;
}

static bool is_aligned(emu_bulk *op, const range *of)
{
  return emu_bulk_aligned(op, "destination", of->to, GRAIN) && emu_bulk_aligned(op, "source", of->from, GRAIN);
}

/* Runs of some whole grains each, for the pieces. */
static bool add_range(emu_bulk *op, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
  const uint32_t parts = bytes / GRAIN < EMU_BULK_PIECES ? bytes / GRAIN : EMU_BULK_PIECES;
  for (uint32_t i = 0; i < parts; i++) {
    const uint32_t first = (uint32_t)((uint64_t)bytes * i / parts) / GRAIN * GRAIN;
    const uint32_t end = (uint32_t)((uint64_t)bytes * (i + 1) / parts) / GRAIN * GRAIN;
    if (!emu_bulk_add(op, to + first, from + first, end - first)) {
      return false;
    }
  }
  return true;
}

/* ---- To shared memory, with an mbarrier ------------------------------------------------------------------- */

/* One destination of a copy from global memory. */
static bool load_one(emu_warp *warp, const emu_step *step, unsigned lane, const range *of, emu_space space)
{
  emu_mbarrier at;
  emu_bulk *op = emu_bulk_begin(warp, step, lane);
  if (op == NULL) {
    return false;
  }
  const uint8_t *from = NULL;
  uint8_t *to = NULL;
  if (is_aligned(op, of) && emu_mbarrier_find(warp, step, lane, space, of->barrier, &at)
      && (from = emu_bulk_global(op, of->from, of->bytes, false)) != NULL
      && (to = emu_bulk_shared(op, space, of->to, of->bytes, EMU_RACE_WRITE)) != NULL
      && add_range(op, to, from, of->bytes)) {
    return emu_bulk_issue(op, &at);
  }
  emu_bulk_abandon(op);
  return false;
}

bool emu_bulk_mask(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t mask)
{
  if (mask >> warp->block->cluster->num_blocks == 0) {
    return true;
  }
  emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a ctaMask of 0x%llx: the cluster has %u blocks",
            (unsigned long long)mask, warp->block->cluster->num_blocks);
  return false;
}

uint64_t emu_in_block(uint64_t address, uint32_t rank)
{
  return (address & 0xffffff) | (uint64_t)rank << 24;
}

static bool load_multicast(emu_warp *warp, const emu_step *step, unsigned lane, const range *of)
{
  const uint64_t mask = emu_lane(warp, &step->src[4], lane) & 0xffff;
  if (!emu_bulk_mask(warp, step, lane, mask)) {
    return false;
  }
  for (uint32_t rank = 0; rank < warp->block->cluster->num_blocks; rank++) {
    range one = *of;
    one.to = emu_in_block(of->to, rank);
    one.barrier = emu_in_block(of->barrier, rank);
    if ((mask >> rank & 1) != 0 && !load_one(warp, step, lane, &one, EMU_SHARED_CLUSTER)) {
      return false;
    }
  }
  return true;
}

/* arg: the destination's space; choice in front: multicast::cluster. */
static emu_next load(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    range of;
    if (!read_range(warp, step, lane, true, &of)
        || !(step->mods[0] != 0 ? load_multicast(warp, step, lane, &of)
                                : load_one(warp, step, lane, &of, (emu_space)step->arg))) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* Of one block's shared memory to another's: a copy, or a reduction. */
static bool exchange_one(emu_warp *warp, const emu_step *step, unsigned lane, unsigned operation, unsigned type)
{
  range of;
  emu_mbarrier at;
  if (!read_range(warp, step, lane, true, &of)) {
    return false;
  }
  if (of.to >> 24 == warp->block->cluster_rank) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
              "a bulk operation from shared memory to 0x%llx of the same block: another block's is wanted",
              (unsigned long long)of.to);
    return false;
  }
  emu_bulk *op = emu_bulk_begin(warp, step, lane);
  if (op == NULL) {
    return false;
  }
  op->operation = (uint8_t)operation;
  op->type = (uint8_t)type;
  const uint8_t *from = NULL;
  uint8_t *to = NULL;
  if (is_aligned(op, &of) && emu_bulk_barrier(op, of.barrier, &at)
      && (from = emu_bulk_shared(op, EMU_SHARED, of.from, of.bytes, EMU_RACE_READ)) != NULL
      && (to = emu_bulk_shared(op, EMU_SHARED_CLUSTER, of.to, of.bytes, type == 0 ? EMU_RACE_WRITE : EMU_RACE_ATOMIC))
             != NULL
      && add_range(op, to, from, of.bytes)) {
    return emu_bulk_issue(op, &at);
  }
  emu_bulk_abandon(op);
  return false;
}

static emu_next exchange(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    if (!exchange_one(warp, step, lane, 0, 0)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- To global memory, in groups -------------------------------------------------------------------------- */

/* Bytes of each grain whose bit is set, run by run. */
static bool add_masked(emu_bulk *op, const range *of, const uint8_t *from, uint32_t mask)
{
  for (uint32_t at = 0; at < of->bytes; at++) {
    uint32_t count = 0;
    while (at + count < of->bytes && (mask >> (at + count) % GRAIN & 1) != 0) {
      count++;
    }
    uint8_t *to = count == 0 ? NULL : emu_bulk_global(op, of->to + at, count, true);
    if (count > 0 && (to == NULL || !emu_bulk_add(op, to, from + at, count))) {
      return false;
    }
    at += count;
  }
  return true;
}

static bool store_one(emu_warp *warp, const emu_step *step, unsigned lane, unsigned operation, unsigned type,
                      uint32_t mask)
{
  range of;
  emu_bulk *op = read_range(warp, step, lane, false, &of) ? emu_bulk_begin(warp, step, lane) : NULL;
  if (op == NULL) {
    return false;
  }
  op->operation = (uint8_t)operation;
  op->type = (uint8_t)type;
  const uint8_t *from = is_aligned(op, &of) ? emu_bulk_shared(op, EMU_SHARED, of.from, of.bytes, EMU_RACE_READ) : NULL;
  uint8_t *to = NULL;
  bool good = from != NULL;
  if (good && mask != 0xffff) {
    good = add_masked(op, &of, from, mask);
  } else if (good) {
    to = emu_bulk_global(op, of.to, of.bytes, type == 0);
    good = to != NULL && add_range(op, to, from, of.bytes);
  }
  if (!good) {
    emu_bulk_abandon(op);
    return false;
  }
  return emu_bulk_issue_to_group(op);
}

/* arg: 1 with a byte mask, the last operand. */
static emu_next store(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    const uint32_t mask = step->arg == 0 ? 0xffffu : (uint32_t)emu_lane(warp, &step->src[step->num_src - 1], lane);
    if (!store_one(warp, step, lane, 0, 0, mask & 0xffff)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- Reductions ------------------------------------------------------------------------------------------- */

/* arg: the operation; the last choice, of all types in the order of atomic.h: the type. */
static emu_next reduce(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    if (!store_one(warp, step, lane, step->arg, step->mods[0], 0xffff)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

static emu_next reduce_exchange(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    if (!exchange_one(warp, step, lane, step->arg, step->mods[0])) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- Prefetch --------------------------------------------------------------------------------------------- */

/* A hint: its operands have rules, and that is all. */
static emu_next prefetch(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    const uint64_t from = emu_address(warp, step, &step->src[0], lane);
    const uint32_t bytes = (uint32_t)emu_lane(warp, &step->src[1], lane);
    if (from % GRAIN != 0) {
      return emu_fault(warp, step, lane, EMU_MISALIGNED_ADDRESS, "misaligned: bulk prefetch from 0x%llx",
                       (unsigned long long)from);
    }
    if (bytes % GRAIN != 0) {
      return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                       "a bulk prefetch of %u bytes: a multiple of %d is wanted", bytes, GRAIN);
    }
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg, arch)                                                                    \
  {                                                                                                                    \
    pattern, operands, function, EMU_ROW_ASYNC, arg, arch                                                              \
  }
#define HINT ".L2::cache_hint"
#define TX ".mbarrier::complete_tx::bytes"
#define LOAD "cp.async.bulk.shared::cluster.global" TX
#define LOAD_CTA "cp.async.bulk.shared::cta.global" TX
#define STORE "cp.async.bulk.global.shared::cta.bulk_group"
/* With a choice in front of the last word, so that the type is choice 0. */
#define REDUCE(operation, types, number)                                                                               \
  ROW("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation "." types, "a a w", reduce, number, 90),         \
      ROW("cp.reduce.async.bulk.global.shared::cta.bulk_group" HINT "." operation "." types, "a a w l", reduce,        \
          number, 90)
#define REDUCE_EXCHANGE(operation, types, number)                                                                      \
  ROW("cp.reduce.async.bulk.shared::cluster.shared::cta" TX "." operation "." types, "a a w a", reduce_exchange,       \
      number, 90)

static const emu_row rows[] = {
    ROW(LOAD, "a a w a", load, EMU_SHARED_CLUSTER, 90),
    ROW(LOAD HINT, "a a w a l", load, EMU_SHARED_CLUSTER, 90),
    ROW(LOAD ".multicast::cluster|-", "a a w a h", load, EMU_SHARED_CLUSTER, 90),
    ROW(LOAD ".multicast::cluster|-" HINT, "a a w a h l", load, EMU_SHARED_CLUSTER, 90),
    ROW(LOAD_CTA, "a a w a", load, EMU_SHARED, 90),
    ROW(LOAD_CTA HINT, "a a w a l", load, EMU_SHARED, 90),
    ROW("cp.async.bulk.shared::cluster.shared::cta" TX, "a a w a", exchange, 0, 90),
    ROW(STORE, "a a w", store, 0, 90),
    ROW(STORE HINT, "a a w l", store, 0, 90),
    ROW(STORE ".cp_mask", "a a w h", store, 1, 100),
    ROW(STORE HINT ".cp_mask", "a a w l h", store, 1, 100),
    ROW("cp.async.bulk.prefetch.L2.global", "a w", prefetch, 0, 90),
    ROW("cp.async.bulk.prefetch.L2.global" HINT, "a w l", prefetch, 0, 90),
    REDUCE("add", "-|u32|s32|-|u64|-|f32|f64", EMU_ATOMIC_ADD),
    REDUCE("add.noftz", "-|-|-|-|-|-|-|-|f16|bf16", EMU_ATOMIC_ADD),
    REDUCE("min", "-|u32|s32|-|u64|s64|-|-|f16|bf16", EMU_ATOMIC_MIN),
    REDUCE("max", "-|u32|s32|-|u64|s64|-|-|f16|bf16", EMU_ATOMIC_MAX),
    REDUCE("inc", "-|u32", EMU_ATOMIC_INC),
    REDUCE("dec", "-|u32", EMU_ATOMIC_DEC),
    REDUCE("and", "b32|-|-|b64", EMU_ATOMIC_AND),
    REDUCE("or", "b32|-|-|b64", EMU_ATOMIC_OR),
    REDUCE("xor", "b32|-|-|b64", EMU_ATOMIC_XOR),
    REDUCE_EXCHANGE("add", "-|u32|s32|-|u64", EMU_ATOMIC_ADD),
    REDUCE_EXCHANGE("min", "-|u32|s32", EMU_ATOMIC_MIN),
    REDUCE_EXCHANGE("max", "-|u32|s32", EMU_ATOMIC_MAX),
    REDUCE_EXCHANGE("inc", "-|u32", EMU_ATOMIC_INC),
    REDUCE_EXCHANGE("dec", "-|u32", EMU_ATOMIC_DEC),
    REDUCE_EXCHANGE("and", "b32|-", EMU_ATOMIC_AND),
    REDUCE_EXCHANGE("or", "b32|-", EMU_ATOMIC_OR),
    REDUCE_EXCHANGE("xor", "b32|-", EMU_ATOMIC_XOR),
};

EMU_FAMILY(emu_family_bulk, rows);
