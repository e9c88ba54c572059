/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05.ld and st, their waits, and the fences, PTX ISA 9.7.16.8 and 9.7.16.11. A warp reaches a quarter of the
 * lanes. A load's registers count as unwritten until wait::ld. */
#include <stdlib.h>

#include "families.h"
#include "tensor_memory.h"

enum { S16X64, S16X128, S16X256, S32X32, S16X32X2, MAX_REGISTERS = 128 };

static const char *const shape_names[] = {"16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2"};
/* Columns that a repetition has, and registers that it takes. */
static const uint8_t shape_columns[] = {2, 4, 8, 1, 1};
static const uint8_t shape_registers[] = {1, 2, 4, 1, 1};

typedef struct move_shape {
  unsigned shape, repeats;
  unsigned registers;
  unsigned step;  /* columns a 32-bit word: 2 where words are packed */
  uint32_t split; /* of 16x32bx2: columns to the second half */
  uint32_t lane, column;
} move_shape;

typedef struct move {
  emu_tensor_event head;
  move_shape shape;
  uint32_t data[]; /* of stores: [register][lane] */
} move;

/* Where register i of thread t is, relative to the address. "Matrix fragments for shape ..." of 9.7.16.2.3.1. */
static void place(const move_shape *how, unsigned i, unsigned t, uint32_t *lane_out, uint32_t *column_out)
{
  uint32_t lane = t, word = i, extra = 0;
  switch (how->shape) {
  case S16X64:
    lane = t / 4 + 8 * (t % 2);
    word = 2 * i + t / 2 % 2;
    break;
  case S16X128:
    lane = t / 4 + 8 * (i % 2);
    word = 4 * (i / 2) + t % 4;
    break;
  case S16X256:
    lane = t / 4 + 8 * (i / 2 % 2);
    word = 8 * (i / 4) + 2 * (t % 4) + i % 2;
    break;
  case S16X32X2:
    lane = t % 16;
    extra = t < 16 ? 0 : how->split;
    break;
  default:
    break;
  }
  *lane_out = how->lane + lane;
  *column_out = how->column + extra + word * how->step;
}

/* ---- What an instruction asks for ------------------------------------------------------------------------- */

static bool same_address(emu_warp *warp, const emu_step *step, uint32_t *address_out)
{
  const uint32_t first = (uint32_t)emu_address(warp, step, &step->src[0], 0);
  for (uint32_t lane = 1; lane < EMU_LANES; lane++) {
    const uint32_t address = (uint32_t)emu_address(warp, step, &step->src[0], lane);
    if (address != first) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                "lanes give different tensor memory addresses: 0x%08x and 0x%08x", first, address);
      return false;
    }
  }
  *address_out = first;
  return true;
}

/* The lanes are in the warp's quarter. */
static bool good_lanes(emu_warp *warp, const emu_step *step, const move_shape *how)
{
  const uint32_t first = warp->index % 4 * 32;
  const bool whole = how->shape == S32X32;
  if (how->lane / 32 * 32 != first) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_ADDRESS,
              "lane %u of tensor memory is outside of the warp's quarter: warp %u has lanes %u to %u", how->lane,
              warp->index, first, first + 31);
    return false;
  }
  if (how->lane % (whole ? 32 : 16) != 0) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_ADDRESS,
              "lane %u of tensor memory: %s begins at lane %u%s of the warp's quarter", how->lane,
              shape_names[how->shape], first, whole ? "" : " or 16 behind it");
    return false;
  }
  return true;
}

/* arg: 1 for 16x32bx2. registers: as many as the instruction names. */
static bool read_shape(emu_warp *warp, const emu_step *step, uint32_t active, unsigned registers, unsigned split_source,
                       move_shape *how)
{
  uint32_t address = 0;
  if (active != EMU_ALL_LANES) {
    emu_fault(warp, step, (unsigned)__builtin_ctz(~active), EMU_ILLEGAL_INSTRUCTION,
              "all 32 lanes of the warp are wanted here: 0x%08x are", active);
    return false;
  }
  if (!same_address(warp, step, &address)) {
    return false;
  }
  const uint8_t *mods = step->arg == 1 ? step->mods : step->mods + 1;
  *how = (move_shape){.shape = step->arg == 1 ? S16X32X2 : step->mods[0] - 1u,
                      .repeats = 1u << (mods[0] - 1),
                      .step = mods[1] != 0 ? 2 : 1,
                      .lane = address >> 16,
                      .column = address & 0xffff};
  how->registers = how->repeats * shape_registers[how->shape];
  how->split = step->arg == 1 ? (uint32_t)emu_lane(warp, &step->src[split_source], 0) : 0;
  if (how->registers != registers || registers > MAX_REGISTERS) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u registers for %s.x%u, which has %u%s", registers,
              shape_names[how->shape], how->repeats, how->registers,
              how->registers > MAX_REGISTERS ? ": too many" : "");
    return false;
  }
  return good_lanes(warp, step, how);
}

/* The parts that it covers: one, or the two halves. */
static unsigned parts_of(const move_shape *how, emu_tensor_part parts[2])
{
  const uint32_t lanes = how->shape == S32X32 ? ~0u : 0xffffu << (how->lane % 32);
  const uint32_t columns = how->repeats * shape_columns[how->shape] * how->step;
  parts[0] = (emu_tensor_part){.first = how->column, .end = how->column + columns};
  parts[0].lanes[how->lane / 32] = lanes;
  parts[1] = parts[0];
  parts[1].first += how->split;
  parts[1].end += how->split;
  return how->shape == S16X32X2 ? 2 : 1;
}

static bool enter(emu_warp *warp, const emu_step *step, const move_shape *how, const emu_tensor_op *op)
{
  emu_tensor_part parts[2];
  const unsigned count = parts_of(how, parts);
  const bool writes = op->kind == EMU_TENSOR_STORE;
  for (unsigned i = 0; i < count; i++) {
    const emu_tensor_part *part = &parts[i];
    if (!emu_tensor_owned(warp, step, EMU_LANES, warp->block, part->first, part->end - part->first)
        || (!writes && !emu_tensor_is_written(warp, step, EMU_LANES, warp->block, part))
        || !emu_tensor_access(warp->block, op, part, writes)) {
      return false;
    }
    if (writes) {
      emu_tensor_mark_written(warp->block, part);
    }
  }
  return true;
}

/* ---- ld --------------------------------------------------------------------------------------------------- */

static void load_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  const move *made = (const move *)event;
  const emu_step *step = event->step;
  const uint32_t *cells = event->warp->block->tensor->cells;
  for (unsigned i = 0; i < made->shape.registers; i++) {
    uint32_t *to = emu_out32(event->warp, &step->dst[i]);
    for (uint32_t t = 0; t < EMU_LANES; t++) {
      uint32_t lane, column;
      place(&made->shape, i, t, &lane, &column);
      const uint32_t *from = &cells[(size_t)lane * EMU_TENSOR_COLUMNS + column];
      to[t] = made->shape.step == 1 ? from[0] : (from[0] & 0xffff) | from[1] << 16;
    }
  }
}

static bool keep_pending(emu_warp *warp, const emu_step *step)
{
  emu_tensor_loads *loads = &warp->block->tensor->loads[warp->index];
  if (loads->count == loads->room) {
    const uint32_t room = loads->room == 0 ? 16 : 2 * loads->room;
    const emu_step **grown = realloc(loads->steps, room * sizeof *grown);
    if (grown == NULL) {
      emu_fault(warp, step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory for loads of tensor memory");
      return false;
    }
    loads->steps = grown;
    loads->room = room;
  }
  loads->steps[loads->count++] = step;
  return true;
}

static emu_next load(emu_warp *warp, const emu_step *step, uint32_t active)
{
  move_shape how;
  emu_tensor_op op;
  if ((active & ~warp->written[step->src[0].reg]) != 0) {
    return emu_unwritten(warp, step, active & ~warp->written[step->src[0].reg], &step->src[0]);
  }
  if (!read_shape(warp, step, active, step->num_dst, 1, &how)
      || !emu_tensor_op_begin(warp, step, 0, EMU_TENSOR_LOAD, &op) || !enter(warp, step, &how, &op)
      || !keep_pending(warp, step)) {
    return EMU_FAULT;
  }
  move *made = emu_event_add(warp, step, EMU_ALL_LANES, sizeof *made, EMU_EVENT_TENSOR_LOAD, load_happens);
  if (made == NULL) {
    return EMU_FAULT;
  }
  made->head.op = op;
  made->shape = how;
  for (unsigned i = 0; i < step->num_dst; i++) {
    warp->written[step->dst[i].reg] = 0;
  }
  return EMU_NEXT;
}

/* ---- st --------------------------------------------------------------------------------------------------- */

static void store_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  const move *made = (const move *)event;
  uint32_t *cells = event->warp->block->tensor->cells;
  for (unsigned i = 0; i < made->shape.registers; i++) {
    for (uint32_t t = 0; t < EMU_LANES; t++) {
      uint32_t lane, column;
      place(&made->shape, i, t, &lane, &column);
      uint32_t *to = &cells[(size_t)lane * EMU_TENSOR_COLUMNS + column];
      const uint32_t value = made->data[i * EMU_LANES + t];
      if (made->shape.step == 1) {
        to[0] = value;
      } else { /* what the upper halves become is not documented: they stay */
        to[0] = (to[0] & 0xffff0000) | (value & 0xffff);
        to[1] = (to[1] & 0xffff0000) | value >> 16;
      }
    }
  }
}

static emu_next store(emu_warp *warp, const emu_step *step, uint32_t active)
{
  move_shape how;
  emu_tensor_op op;
  const unsigned first = step->arg == 1 ? 2 : 1;
  if (!read_shape(warp, step, active, step->num_src - first, 1, &how)
      || !emu_tensor_op_begin(warp, step, 0, EMU_TENSOR_STORE, &op) || !enter(warp, step, &how, &op)) {
    return EMU_FAULT;
  }
  const size_t size = sizeof(move) + (size_t)how.registers * EMU_LANES * sizeof(uint32_t);
  move *made = emu_event_add(warp, step, EMU_ALL_LANES, size, EMU_EVENT_TENSOR_STORE, store_happens);
  if (made == NULL) {
    return EMU_FAULT;
  }
  made->head.op = op;
  made->shape = how;
  for (unsigned i = 0; i < how.registers; i++) {
    memcpy(&made->data[(size_t)i * EMU_LANES], emu_in32(warp, &step->src[first + i]), EMU_LANES * sizeof(uint32_t));
  }
  return EMU_NEXT;
}

/* ---- Waits and fences ------------------------------------------------------------------------------------- */

static void happen_all(emu_warp *warp, uint8_t kind)
{
  emu_cluster *cluster = warp->block->cluster;
  for (emu_event *event = cluster->events; event != NULL;) {
    emu_event *next = event->next;
    if (event->warp == warp && event->kind == kind) {
      emu_event_happen(cluster, event, EMU_ALL_LANES);
    }
    event = next;
  }
}

static emu_next wait_load(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  (void)active;
  emu_tensor_loads *loads = &warp->block->tensor->loads[warp->index];
  happen_all(warp, EMU_EVENT_TENSOR_LOAD);
  for (uint32_t i = 0; i < loads->count; i++) {
    for (unsigned d = 0; d < loads->steps[i]->num_dst; d++) {
      warp->written[loads->steps[i]->dst[d].reg] = EMU_ALL_LANES;
    }
  }
  loads->count = 0;
  emu_tensor_waited(warp, 0);
  return EMU_NEXT;
}

static emu_next wait_store(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  (void)active;
  happen_all(warp, EMU_EVENT_TENSOR_STORE);
  emu_tensor_waited(warp, 1);
  return EMU_NEXT;
}

static emu_next before_sync(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  emu_tensor_before_sync(warp, active);
  return EMU_NEXT;
}

static emu_next after_sync(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  emu_tensor_after_sync(warp, active);
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, flags, arg)                                                                   \
  {                                                                                                                    \
    pattern, operands, function, EMU_ROW_TENSOR | (flags), arg, 100 | 128                                              \
  }
#define SHAPES "16x64b|16x128b|16x256b|32x32b"
#define REPEATS "x1|x2|x4|x8|x16|x32|x64|x128"

static const emu_row rows[] = {
    ROW("tcgen05.ld.sync.aligned." SHAPES "." REPEATS ".pack::16b?.b32", "=vw a", load, EMU_ROW_ALIGNED | EMU_ROW_OWN,
        0),
    ROW("tcgen05.ld.sync.aligned.16x32bx2." REPEATS ".pack::16b?.b32", "=vw a c", load, EMU_ROW_ALIGNED | EMU_ROW_OWN,
        1),
    ROW("tcgen05.st.sync.aligned." SHAPES "." REPEATS ".unpack::16b?.b32", "a vw", store, EMU_ROW_ALIGNED, 0),
    ROW("tcgen05.st.sync.aligned.16x32bx2." REPEATS ".unpack::16b?.b32", "a c vw", store, EMU_ROW_ALIGNED, 1),
    ROW("tcgen05.wait::ld.sync.aligned", "", wait_load, EMU_ROW_ALIGNED, 0),
    ROW("tcgen05.wait::st.sync.aligned", "", wait_store, EMU_ROW_ALIGNED, 0),
    ROW("tcgen05.fence::before_thread_sync", "", before_sync, 0, 0),
    ROW("tcgen05.fence::after_thread_sync", "", after_sync, 0, 0),
};

EMU_FAMILY(emu_family_tensor, rows);
