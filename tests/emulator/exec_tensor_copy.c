/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05.cp and shift, PTX ISA 9.7.16.9, and commit, 9.7.16.12. */
#include "families.h"
#include "smem_matrix.h"
#include "tensor_memory.h"

enum { MAX_BLOCKS = 2, CHUNK_WORDS = EMU_CHUNK / 4 };

/* ---- cp --------------------------------------------------------------------------------------------------- */

enum { C128X256, C4X256, C128X128, C64X128_02_13, C64X128_01_23, C32X128 };
enum { WHOLE_BYTES, SIX_BITS, FOUR_BITS };

typedef struct copy_shape {
  uint8_t rows, chunks; /* of 16 bytes */
  uint8_t copies;       /* of each row */
} copy_shape;

static const copy_shape copy_shapes[] = {{128, 2, 1}, {4, 2, 1}, {128, 1, 1}, {64, 1, 2}, {64, 1, 2}, {32, 1, 4}};

typedef struct copy {
  emu_tensor_event head;
  emu_block *blocks[MAX_BLOCKS];
  uint32_t num_blocks;
  emu_smem_matrix from;
  uint32_t lane, column;
  uint8_t shape, format;
} copy;

/* Where a row goes, the i-th time. */
static uint32_t lane_of(const copy *made, uint32_t row, uint32_t i)
{
  switch (made->shape) {
  case C4X256:
    return made->lane + 32 * row;
  case C64X128_02_13:
    return row + 64 * i;
  case C64X128_01_23:
    return row % 32 + 64 * (row / 32) + 32 * i;
  case C32X128:
    return row + 32 * i;
  default:
    return row;
  }
}

/* 9.7.16.9.1: sixteen elements and their padding become sixteen bytes, six bits in the lower ones and four in the
 * middle. */
static void unpack(const uint8_t from[EMU_CHUNK], uint8_t format, uint32_t to[CHUNK_WORDS])
{
  uint8_t bytes[EMU_CHUNK];
  memcpy(bytes, from, sizeof bytes);
  for (unsigned i = 0; i < EMU_CHUNK && format == FOUR_BITS; i++) {
    bytes[i] = (uint8_t)((from[i / 2] >> (4 * (i % 2)) & 15) << 2);
  }
  for (unsigned i = 0; i < EMU_CHUNK && format == SIX_BITS; i++) {
    const unsigned first = 6 * i;
    const unsigned both = from[first / 8] | (unsigned)from[first / 8 + 1] << 8;
    bytes[i] = (uint8_t)(both >> (first % 8) & 63);
  }
  memcpy(to, bytes, sizeof bytes);
}

static void copy_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  copy *made = (copy *)event;
  emu_tensor_happen_before(&made->head);
  const copy_shape *shape = &copy_shapes[made->shape];
  for (uint32_t b = 0; b < made->num_blocks; b++) {
    const emu_block *block = made->blocks[b];
    for (uint32_t row = 0; row < shape->rows; row++) {
      for (uint32_t c = 0; c < shape->chunks; c++) {
        uint32_t words[CHUNK_WORDS];
        unpack(block->shared + emu_smem_matrix_chunk(&made->from, true, row, c) - EMU_SHARED_BASE, made->format, words);
        for (uint32_t i = 0; i < shape->copies; i++) {
          const size_t cell = (size_t)lane_of(made, row, i) * EMU_TENSOR_COLUMNS + made->column;
          memcpy(&block->tensor->cells[cell + (size_t)c * CHUNK_WORDS], words, sizeof words);
        }
      }
    }
  }
}

static bool enter_copy(const copy *made, emu_block *block)
{
  const emu_tensor_op *op = &made->head.op;
  const copy_shape *shape = &copy_shapes[made->shape];
  emu_tensor_part part = {.first = made->column, .end = made->column + (uint32_t)shape->chunks * CHUNK_WORDS};
  for (uint32_t row = 0; row < shape->rows; row++) {
    for (uint32_t c = 0; c < shape->chunks; c++) {
      if (!emu_tensor_read_shared(op, block, emu_smem_matrix_chunk(&made->from, true, row, c), "the source")) {
        return false;
      }
    }
    for (uint32_t i = 0; i < shape->copies; i++) {
      const uint32_t lane = lane_of(made, row, i);
      part.lanes[lane / 32] |= 1u << (lane % 32);
    }
  }
  if (!emu_tensor_owned(op->warp, op->step, op->lane, block, part.first, part.end - part.first)
      || !emu_tensor_access(block, op, &part, true)) {
    return false;
  }
  emu_tensor_mark_written(block, &part);
  return true;
}

/* The blocks that the instruction works in; arg: cta_group::2. */
static bool read_blocks(emu_warp *warp, const emu_step *step, unsigned lane, bool is_pair,
                        emu_block *blocks[MAX_BLOCKS], uint32_t *count_out)
{
  blocks[0] = warp->block;
  *count_out = is_pair ? 2 : 1;
  blocks[1] = is_pair ? emu_tensor_ready_peer(warp, step, lane) : NULL;
  return !is_pair || blocks[1] != NULL;
}

static bool read_copy(emu_warp *warp, const emu_step *step, unsigned lane, copy *made)
{
  const uint32_t address = (uint32_t)emu_address(warp, step, &step->src[0], lane);
  const uint64_t descriptor = emu_lane(warp, &step->src[1], lane);
  char why[160];
  made->shape = step->arg;
  made->lane = address >> 16;
  made->column = address & 0xffff;
  made->format = step->mods[1];
  if (made->shape == C4X256 ? made->lane >= 32 : made->lane != 0) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a copy to lane %u of tensor memory: %s", made->lane,
              made->shape == C4X256 ? "4x256b begins at lane 0 to 31" : "it begins at lane 0");
    return false;
  }
  if (!emu_smem_matrix_decode(descriptor, &made->from, why, sizeof why)) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "the source's matrix descriptor 0x%016llx: %s",
              (unsigned long long)descriptor, why);
    return false;
  }
  return read_blocks(warp, step, lane, step->mods[0] == 2, made->blocks, &made->num_blocks);
}

static emu_next cp(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    copy read = {0};
    const emu_tensor_kind kind = step->arg == C4X256 ? EMU_TENSOR_COPY_4 : EMU_TENSOR_COPY;
    if (!read_copy(warp, step, lane, &read) || !emu_tensor_op_begin(warp, step, lane, kind, &read.head.op)) {
      return EMU_FAULT;
    }
    for (uint32_t b = 0; b < read.num_blocks; b++) {
      if (!enter_copy(&read, read.blocks[b])) {
        return EMU_FAULT;
      }
    }
    emu_tensor_op_end(&read.head.op);
    copy *made = emu_event_add(warp, step, 1u << lane, sizeof *made, EMU_EVENT_TENSOR_PIPE, copy_happens);
    if (made == NULL) {
      return EMU_FAULT;
    }
    read.head.event = made->head.event;
    *made = read;
  }
  return EMU_NEXT;
}

/* ---- shift ------------------------------------------------------------------------------------------------ */

enum { SHIFT_COLUMNS = 8 };

typedef struct shift {
  emu_tensor_event head;
  emu_block *blocks[MAX_BLOCKS];
  uint32_t num_blocks;
  uint32_t lane, column;
} shift;

/* Each row of a warp's lanes but the last takes the 32 bytes of the next one. */
static void shift_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  shift *made = (shift *)event;
  emu_tensor_happen_before(&made->head);
  for (uint32_t b = 0; b < made->num_blocks; b++) {
    uint32_t *cells = &made->blocks[b]->tensor->cells[(size_t)made->lane * EMU_TENSOR_COLUMNS + made->column];
    for (uint32_t row = 0; row + 1 < EMU_LANES; row++) {
      uint32_t *to = cells + (size_t)row * EMU_TENSOR_COLUMNS;
      memcpy(to, to + EMU_TENSOR_COLUMNS, SHIFT_COLUMNS * sizeof *to);
    }
  }
}

static bool enter_shift(const shift *made, emu_block *block)
{
  const emu_tensor_op *op = &made->head.op;
  emu_tensor_part from = {.first = made->column, .end = made->column + SHIFT_COLUMNS}, to = from;
  from.lanes[made->lane / 32] = 0xfffffffe;
  to.lanes[made->lane / 32] = 0x7fffffff;
  if (!emu_tensor_owned(op->warp, op->step, op->lane, block, made->column, SHIFT_COLUMNS)
      || !emu_tensor_is_written(op->warp, op->step, op->lane, block, &from)
      || !emu_tensor_access(block, op, &from, false) || !emu_tensor_access(block, op, &to, true)) {
    return false;
  }
  emu_tensor_mark_written(block, &to);
  return true;
}

static emu_next shift_down(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    shift read = {0};
    const uint32_t address = (uint32_t)emu_address(warp, step, &step->src[0], lane);
    read.lane = address >> 16;
    read.column = address & 0xffff;
    if (read.lane >= EMU_TENSOR_LANES || read.lane % EMU_LANES != 0) {
      return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                       "a shift at lane %u of tensor memory: a multiple of 32 below 128 is wanted", read.lane);
    }
    if (!read_blocks(warp, step, lane, step->mods[0] == 2, read.blocks, &read.num_blocks)
        || !emu_tensor_op_begin(warp, step, lane, EMU_TENSOR_SHIFT, &read.head.op)) {
      return EMU_FAULT;
    }
    for (uint32_t b = 0; b < read.num_blocks; b++) {
      if (!enter_shift(&read, read.blocks[b])) {
        return EMU_FAULT;
      }
    }
    emu_tensor_op_end(&read.head.op);
    shift *made = emu_event_add(warp, step, 1u << lane, sizeof *made, EMU_EVENT_TENSOR_PIPE, shift_happens);
    if (made == NULL) {
      return EMU_FAULT;
    }
    read.head.event = made->head.event;
    *made = read;
  }
  return EMU_NEXT;
}

/* ---- commit ----------------------------------------------------------------------------------------------- */

typedef struct commit {
  emu_event event;
  uint32_t lane, row, agent_lane, clock;
  bool has_agent;
  uint32_t count;
  emu_mbarrier at[EMU_MAX_CLUSTER];
} commit;

/* All that the thread issued before it. */
static void happen_before(const commit *made)
{
  emu_cluster *cluster = made->event.warp->block->cluster;
  for (emu_event *event = cluster->events; event != NULL && event != &made->event;) {
    const emu_tensor_op *op = &((emu_tensor_event *)event)->op;
    if (event->kind == EMU_EVENT_TENSOR_PIPE && event->lanes != 0 && op->warp == made->event.warp
        && op->lane == made->lane) {
      emu_event_happen(cluster, event, EMU_ALL_LANES);
      event = cluster->events; /* others may have gone with it */
    } else {
      event = event->next;
    }
  }
}

static void commit_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  commit *made = (commit *)event;
  happen_before(made);
  for (uint32_t i = 0; i < made->count; i++) {
    if (made->has_agent) {
      emu_mbarrier_publish_of(&made->at[i], event->warp->block, made->row, made->agent_lane, made->clock);
    }
    if (!emu_mbarrier_arrive(event->warp, event->step, made->lane, &made->at[i], 1, NULL)) {
      return;
    }
  }
}

/* The mbarriers: one, or with a mask that of each of its blocks at the same place. */
static bool read_mbarriers(emu_warp *warp, const emu_step *step, unsigned lane, commit *made)
{
  uint64_t address = emu_address(warp, step, &step->src[0], lane);
  if (step->mods[1] == 0 && emu_generic(address, &address) != EMU_SHARED_CLUSTER) {
    emu_fault(warp, step, lane, EMU_INVALID_ADDRESS_SPACE, "an mbarrier at 0x%llx, which is no shared memory",
              (unsigned long long)address);
    return false;
  }
  if (step->num_src == 1) {
    made->count = 1;
    return emu_mbarrier_find(warp, step, lane, EMU_SHARED_CLUSTER, address, &made->at[0]);
  }
  const uint32_t mask = (uint32_t)emu_lane(warp, &step->src[1], lane) & 0xffff;
  if (mask == 0 || mask >> warp->block->cluster->num_blocks != 0) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a multicast to blocks 0x%x of a cluster of %u", mask,
              warp->block->cluster->num_blocks);
    return false;
  }
  EMU_FOR_LANES(rank, mask)
  {
    const uint64_t there = (address & 0xffffff) | (uint64_t)rank << 24;
    if (!emu_mbarrier_find(warp, step, lane, EMU_SHARED_CLUSTER, there, &made->at[made->count++])) {
      return false;
    }
  }
  return true;
}

static emu_next commits(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    commit read = {.lane = lane};
    read.has_agent = emu_tensor_issued(warp, lane, &read.row, &read.agent_lane, &read.clock);
    if (!read_mbarriers(warp, step, lane, &read)) {
      return EMU_FAULT;
    }
    commit *made = emu_event_add(warp, step, 1u << lane, sizeof *made, EMU_EVENT_TENSOR_OTHER, commit_happens);
    if (made == NULL) {
      return EMU_FAULT;
    }
    read.event = made->event;
    *made = read;
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, flags, arg)                                                                   \
  {                                                                                                                    \
    pattern, operands, function, EMU_ROW_TENSOR | (flags), arg, 100 | 128                                              \
  }
#define CP(shape, arg)                                                                                                 \
  ROW("tcgen05.cp.cta_group::1|cta_group::2." shape ".-?", "a l", cp, EMU_ROW_ASYNC, arg),                             \
      ROW("tcgen05.cp.cta_group::1|cta_group::2." shape ".b8x16.b6x16_p32|b4x16_p64", "a l", cp, EMU_ROW_ASYNC, arg)
#define COMMIT "tcgen05.commit.cta_group::1|cta_group::2.mbarrier::arrive::one.shared::cluster?."

static const emu_row rows[] = {
    CP("128x256b", C128X256),
    CP("4x256b", C4X256),
    CP("128x128b", C128X128),
    CP("64x128b.warpx2::02_13", C64X128_02_13),
    CP("64x128b.warpx2::01_23", C64X128_01_23),
    CP("32x128b.warpx4", C32X128),
    ROW("tcgen05.shift.down.cta_group::1|cta_group::2", "a", shift_down, 0, 0),
    ROW("tcgen05.shift.cta_group::1|cta_group::2.down", "a", shift_down, 0, 0),
    ROW(COMMIT "b64", "a", commits, 0, 0),
    ROW(COMMIT "multicast::cluster.b64", "a h", commits, 0, 0),
};

EMU_FAMILY(emu_family_copies, rows);
