/* SPDX-License-Identifier: Apache-2.0 */
/* cp.async.bulk.tensor and its like: boxes of a tensor that a map describes, in tile mode, gather4 and scatter4. */
#include "atomic.h"
#include "bulk.h"
#include "families.h"
#include "lanes.h"
#include "tensor_map.h"

/* 128: CUDA programming guide, alignment of tensor copies in shared memory. */
enum { SHARED_ALIGNMENT = 128, LINE = 128, GRAIN = 16, NUM_ROWS = 4 };

/* What all of these instructions say. */
typedef struct box {
  emu_tensor_map map;
  uint32_t element; /* bytes */
  uint32_t counts[EMU_MAP_RANK];
  uint32_t row_bytes, num_rows; /* in shared memory */
  bool is_gather;
  int64_t at[EMU_MAP_RANK]; /* of gather4: column and four rows */
} box;

/* ---- Reading the operands --------------------------------------------------------------------------------- */

static bool refuse(emu_warp *warp, const emu_step *step, unsigned lane, const char *what)
{
  emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "tensor map: %s", what);
  return false;
}

/* What a map may be, and is not known here well enough to be done. */
static const char *unknown(const box *of)
{
  const emu_tensor_map *map = &of->map;
  if (map->interleave != EMU_MAP_INTERLEAVE_NONE) {
    return "interleaved layouts are not emulated";
  }
  if (map->type == EMU_MAP_16U4_ALIGN16 || map->type == EMU_MAP_16U6_ALIGN16) {
    return "packed elements with gaps are not emulated";
  }
  if (map->type == EMU_MAP_F32_FTZ || map->type == EMU_MAP_TF32 || map->type == EMU_MAP_TF32_FTZ) {
    return "types that a copy converts (FLOAT32_FTZ, TFLOAT32) are not emulated";
  }
  if (map->swizzle != EMU_MAP_SWIZZLE_NONE && of->row_bytes != emu_tensor_map_span(map->swizzle)) {
    return "a box narrower than its swizzle: how it lies in shared memory is not documented";
  }
  return NULL;
}

static bool read_map(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, emu_tensor_map *map_out)
{
  const uint8_t *bytes = NULL;
  emu_message reason;
  if (address % EMU_MAP_ALIGNMENT != 0) {
    emu_fault(warp, step, lane, EMU_MISALIGNED_ADDRESS, "misaligned: tensor map at 0x%llx: a multiple of %d is wanted",
              (unsigned long long)address, EMU_MAP_ALIGNMENT);
    return false;
  }
  uint64_t inside = 0;
  const emu_space space = emu_generic(address, &inside);
  if (space == EMU_SHARED_CLUSTER || space == EMU_LOCAL) {
    emu_fault(warp, step, lane, EMU_INVALID_ADDRESS_SPACE,
              "a tensor map at 0x%llx: parameters, constant or global memory are wanted", (unsigned long long)address);
    return false;
  }
  bytes = emu_access_bytes(warp, step, lane, EMU_GENERIC, address, EMU_MAP_BYTES, EMU_READ);
  if (bytes == NULL) {
    return false;
  }
  if (!emu_tensor_map_decode(bytes, map_out)) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
              "no tensor map at 0x%llx: its bytes are not as this driver encodes one", (unsigned long long)address);
    return false;
  }
  if (map_out->is_changed != 0) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
              "the tensor map at 0x%llx was changed, and no fence.proxy.tensormap::generic.acquire has followed",
              (unsigned long long)address);
    return false;
  }
  return emu_tensor_map_check(map_out, warp->block->grid->device, &reason) || refuse(warp, step, lane, reason.text);
}

/* gather4 and scatter4: rows of one element in dimension 1, of a tensor of two. */
static bool shape_rows(emu_warp *warp, const emu_step *step, unsigned lane, box *of, unsigned dim)
{
  if (dim != 2 || of->map.rank != 2 || of->map.box[1] != 1) {
    return refuse(warp, step, lane, "gather4 and scatter4 want rank 2 and a box of one row");
  }
  of->counts[0] = of->map.box[0];
  of->num_rows = NUM_ROWS;
  return true;
}

static bool shape_tile(emu_warp *warp, const emu_step *step, unsigned lane, box *of, unsigned dim)
{
  if (of->map.rank != dim) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a tensor map of rank %u for an instruction of %u dimensions",
              of->map.rank, dim);
    return false;
  }
  of->num_rows = 1;
  for (unsigned i = 0; i < dim; i++) {
    const uint32_t by = i == 0 ? 1 : of->map.steps[i];
    of->counts[i] = (of->map.box[i] + by - 1) / by;
    of->num_rows *= i == 0 ? 1 : of->counts[i];
  }
  return true;
}

/* The map at the first source behind which the coordinates stand. */
static bool read_box(emu_warp *warp, const emu_step *step, unsigned lane, unsigned map_at, uint64_t map_offset,
                     unsigned dim, bool is_gather, box *of)
{
  *of = (box){.is_gather = is_gather};
  const uint64_t address = emu_lane(warp, &step->src[map_at], lane) + map_offset;
  if (!read_map(warp, step, lane, address, &of->map)) {
    return false;
  }
  for (unsigned i = 0; i < (is_gather ? 1u + NUM_ROWS : dim); i++) {
    of->at[i] = (int32_t)(uint32_t)emu_lane(warp, &step->src[map_at + 1 + i], lane);
  }
  if (!(is_gather ? shape_rows(warp, step, lane, of, dim) : shape_tile(warp, step, lane, of, dim))) {
    return false;
  }
  const uint32_t bits = emu_tensor_map_bits(of->map.type);
  of->row_bytes = of->counts[0] * bits / 8;
  of->element = bits / 8;
  if (bits < 8) { /* pairs of elements as bytes */
    of->element = 1;
    of->at[0] = of->at[0] * bits / 8;
    of->counts[0] = of->row_bytes;
    of->map.dims[0] = of->map.dims[0] * bits / 8;
  }
  const char *what = unknown(of);
  return what == NULL || refuse(warp, step, lane, what);
}

/* ---- Rows ------------------------------------------------------------------------------------------------- */

/* A row of the box: where it lies in the tensor, and how much of it. Elements [first, end) are inside. */
typedef struct row {
  uint64_t address; /* of element first */
  uint32_t first, end;
} row;

static row find_row(const box *of, uint32_t number)
{
  row found = {.address = of->map.address};
  bool is_inside = true;
  uint32_t rest = number;
  for (unsigned i = 1; i < of->map.rank; i++) {
    int64_t coordinate = of->is_gather ? of->at[1 + number] : of->at[i];
    if (!of->is_gather) {
      coordinate += (int64_t)(rest % of->counts[i]) * of->map.steps[i];
      rest /= of->counts[i];
    }
    is_inside = is_inside && coordinate >= 0 && (uint64_t)coordinate < of->map.dims[i];
    found.address += is_inside ? (uint64_t)coordinate * of->map.strides[i - 1] : 0;
  }
  const int64_t count = of->counts[0], first = of->at[0] < 0 ? -of->at[0] : 0;
  const int64_t left = (int64_t)of->map.dims[0] - of->at[0];
  const int64_t end = left < count ? left : count;
  if (is_inside && first < end) {
    found.first = (uint32_t)first;
    found.end = (uint32_t)end;
    found.address += (uint64_t)(of->at[0] + first) * of->element;
  }
  return found;
}

/* ---- To shared memory ------------------------------------------------------------------------------------- */

/* What is filled in outside of the tensor. The bits of the NaN are not documented: all ones are one of every type. */
#define ONES_16 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
static const uint8_t fills[EMU_MAP_NUM_FILLS][LINE] = {
    [EMU_MAP_FILL_NAN] = {ONES_16, ONES_16, ONES_16, ONES_16, ONES_16, ONES_16, ONES_16, ONES_16}};

/* Bytes of a row from an offset on, cut where the swizzle parts them. from NULL: filled in. */
static bool add_part(emu_bulk *op, const box *of, uint8_t *to, uint64_t address, uint64_t offset, const uint8_t *from,
                     uint32_t bytes)
{
  const uint32_t cut = of->map.swizzle == EMU_MAP_SWIZZLE_NONE                 ? LINE
                       : of->map.swizzle == EMU_MAP_SWIZZLE_128_ATOM_32_FLIP_8 ? 8
                                                                               : GRAIN;
  for (uint32_t done = 0; done < bytes;) {
    const uint64_t at = address + offset + done;
    uint32_t part = cut - (uint32_t)(at % cut);
    part = part < bytes - done ? part : bytes - done;
    uint8_t *place = to + (emu_tensor_map_swizzle(of->map.swizzle, at) - address);
    const uint8_t *source = from == NULL ? fills[of->map.fill] : from + done;
    if (!emu_bulk_add(op, place, source, part)) {
      return false;
    }
    done += part;
  }
  return true;
}

static bool add_rows(emu_bulk *op, const box *of, uint8_t *to, uint64_t address)
{
  for (uint32_t number = 0; number < of->num_rows; number++) {
    const row found = find_row(of, number);
    const uint32_t size = of->element, inside = (found.end - found.first) * size;
    const uint64_t start = (uint64_t)number * of->row_bytes, before = (uint64_t)found.first * size;
    const uint8_t *from = inside == 0 ? NULL : emu_bulk_global(op, found.address, inside, false);
    if ((inside > 0 && from == NULL) || !add_part(op, of, to, address, start, NULL, (uint32_t)before)
        || !add_part(op, of, to, address, start + before, from, inside)
        || !add_part(op, of, to, address, start + before + inside, NULL, of->row_bytes - (uint32_t)before - inside)) {
      return false;
    }
  }
  return true;
}

static bool load_one(emu_warp *warp, const emu_step *step, unsigned lane, const box *of, emu_space space, uint64_t to,
                     uint64_t barrier)
{
  emu_mbarrier at;
  uint8_t *place = NULL;
  emu_bulk *op = emu_bulk_begin(warp, step, lane);
  if (op == NULL) {
    return false;
  }
  if (emu_bulk_aligned(op, "destination", to, SHARED_ALIGNMENT)
      && emu_mbarrier_find(warp, step, lane, EMU_SHARED_CLUSTER, barrier, &at)
      && (place = emu_bulk_shared(op, space, to, of->num_rows * of->row_bytes, EMU_RACE_WRITE)) != NULL
      && add_rows(op, of, place, to)) {
    return emu_bulk_issue(op, &at);
  }
  emu_bulk_abandon(op);
  return false;
}

/* The choices of a load, in the order of its pattern: some words may stand in front of the spaces or behind them. */
enum { DIM, GROUP, MODE, TO, MODE2, MODE3, MULTICAST, GROUP2 };

static unsigned first_of(unsigned a, unsigned b, unsigned c)
{
  return a != 0 ? a : b != 0 ? b : c;
}

/* The mbarrier of a destination: of the same block, or with cta_group::2 of the pair's block of the same parity as the
 * given one's. */
static bool barrier_of(emu_warp *warp, const emu_step *step, unsigned lane, uint32_t rank, uint64_t given,
                       uint64_t *barrier_out)
{
  const bool is_pair = first_of(step->mods[GROUP], step->mods[GROUP2], 0) == 2;
  const uint32_t there = (uint32_t)(given >> 24);
  if (step->mods[MULTICAST] != 0) {
    *barrier_out = emu_in_block(given, is_pair ? (rank & ~1u) | (there & 1) : rank);
    return true;
  }
  *barrier_out = given;
  if (there == rank || (is_pair && there == (rank ^ 1))) {
    return true;
  }
  emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
            is_pair ? "the mbarrier at 0x%llx is neither in the destination's block %u nor in its pair's"
                    : "the mbarrier at 0x%llx is not in the destination's block %u",
            (unsigned long long)given, rank);
  return false;
}

static bool load_lane(emu_warp *warp, const emu_step *step, unsigned lane)
{
  box of;
  const bool is_gather = first_of(step->mods[MODE], step->mods[MODE2], step->mods[MODE3]) == 2;
  const unsigned dim = step->mods[DIM], behind = 2 + (is_gather ? 1u + NUM_ROWS : dim);
  const uint64_t to = emu_address(warp, step, &step->src[0], lane);
  const uint64_t given = emu_lane(warp, &step->src[behind], lane) + (uint64_t)step->offset3;
  const emu_space space = step->mods[TO] == 2 ? EMU_SHARED : EMU_SHARED_CLUSTER;
  uint64_t barrier = 0;
  if (!read_box(warp, step, lane, 1, (uint64_t)step->offset2, dim, is_gather, &of)) {
    return false;
  }
  if (step->mods[MULTICAST] == 0) {
    return barrier_of(warp, step, lane, (uint32_t)(to >> 24), given, &barrier)
           && load_one(warp, step, lane, &of, space, to, barrier);
  }
  const uint64_t mask = emu_lane(warp, &step->src[behind + 1], lane) & 0xffff;
  if (!emu_bulk_mask(warp, step, lane, mask)) {
    return false;
  }
  for (uint32_t rank = 0; rank < warp->block->cluster->num_blocks; rank++) {
    if ((mask >> rank & 1) != 0
        && (!barrier_of(warp, step, lane, rank, given, &barrier)
            || !load_one(warp, step, lane, &of, space, emu_in_block(to, rank), barrier))) {
      return false;
    }
  }
  return true;
}

/* Coordinates that are not as many as the dimensions shift the operands. arg: sources beside the coordinates. */
static bool has_coordinates(emu_warp *warp, const emu_step *step, unsigned wanted)
{
  const unsigned have = step->num_src - step->arg;
  if (step->num_src < step->arg || have != wanted) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u coordinates where %u are wanted", have, wanted);
    return false;
  }
  return true;
}

static emu_next load(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const bool is_gather = first_of(step->mods[MODE], step->mods[MODE2], step->mods[MODE3]) == 2;
  if (!has_coordinates(warp, step, is_gather ? 1u + NUM_ROWS : step->mods[DIM])) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    if (!load_lane(warp, step, lane)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- To global memory ------------------------------------------------------------------------------------- */

static bool store_part(emu_bulk *op, const box *of, uint8_t *to, uint64_t address, uint32_t bytes)
{
  const uint32_t cut = of->map.swizzle == EMU_MAP_SWIZZLE_128_ATOM_32_FLIP_8 ? 8 : GRAIN;
  for (uint32_t done = 0; done < bytes;) {
    const uint64_t at = address + done;
    uint32_t part = cut - (uint32_t)(at % cut);
    part = part < bytes - done ? part : bytes - done;
    const uint8_t *from =
        emu_bulk_shared(op, EMU_SHARED, emu_tensor_map_swizzle(of->map.swizzle, at), part, EMU_RACE_READ);
    if (from == NULL || !emu_bulk_add(op, to + done, from, part)) {
      return false;
    }
    done += part;
  }
  return true;
}

/* The part of the box that lies in the tensor; the rest is not read. */
static bool store_rows(emu_bulk *op, const box *of, uint64_t from)
{
  for (uint32_t number = 0; number < of->num_rows; number++) {
    const row found = find_row(of, number);
    const uint32_t bytes = (found.end - found.first) * of->element;
    uint8_t *to = bytes == 0 ? NULL : emu_bulk_global(op, found.address, bytes, op->type == 0);
    if (bytes > 0
        && (to == NULL
            || !store_part(op, of, to, from + (uint64_t)number * of->row_bytes + (uint64_t)found.first * of->element,
                           bytes))) {
      return false;
    }
  }
  return true;
}

static bool coordinates_are_positive(emu_warp *warp, const emu_step *step, unsigned lane, const box *of)
{
  for (unsigned i = 0; i < EMU_MAP_RANK; i++) {
    if (of->at[i] < 0) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a box to global memory begins at coordinate %lld",
                (long long)of->at[i]);
      return false;
    }
  }
  return true;
}

/* type: of a reduction, 0 for a copy. */
static bool store_box(emu_warp *warp, const emu_step *step, unsigned lane, const box *of, unsigned source,
                      unsigned operation, unsigned type)
{
  const uint64_t from = emu_lane(warp, &step->src[source], lane) + (uint64_t)step->offset2;
  emu_bulk *op = coordinates_are_positive(warp, step, lane, of) ? emu_bulk_begin(warp, step, lane) : NULL;
  if (op == NULL) {
    return false;
  }
  op->operation = (uint8_t)operation;
  op->type = (uint8_t)type;
  if (!emu_bulk_aligned(op, "source", from, SHARED_ALIGNMENT) || !store_rows(op, of, from)) {
    emu_bulk_abandon(op);
    return false;
  }
  return emu_bulk_issue_to_group(op);
}

/* Choices: dimensions, mode: tile or scatter4. */
static emu_next store(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned dim = step->mods[0], mode = first_of(step->mods[1], step->mods[2], step->mods[3]);
  const bool is_scatter = mode == 2;
  const unsigned count = is_scatter ? 1u + NUM_ROWS : dim;
  if (!has_coordinates(warp, step, count)) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    box of;
    if (!read_box(warp, step, lane, 0, (uint64_t)step->offset, dim, is_scatter, &of)
        || !store_box(warp, step, lane, &of, 1 + count, 0, 0)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- Reductions ------------------------------------------------------------------------------------------- */

/* The type of atomic.h that an operation works on, by the table of cp.reduce.async.bulk.tensor; 0: none. */
static unsigned reduction_type(unsigned operation, unsigned type)
{
  static const uint8_t numbers[EMU_MAP_NUM_TYPES] = {
      [EMU_MAP_U32] = EMU_ATOMIC_U32,  [EMU_MAP_S32] = EMU_ATOMIC_S32, [EMU_MAP_U64] = EMU_ATOMIC_U64,
      [EMU_MAP_S64] = EMU_ATOMIC_S64,  [EMU_MAP_F16] = EMU_ATOMIC_F16, [EMU_MAP_F32] = EMU_ATOMIC_F32,
      [EMU_MAP_BF16] = EMU_ATOMIC_BF16};
  const unsigned number = numbers[type];
  const bool is_float = number >= EMU_ATOMIC_F32;
  switch (operation) {
  case EMU_ATOMIC_ADD:
    return number == EMU_ATOMIC_S64 ? 0 : number;
  case EMU_ATOMIC_MIN:
  case EMU_ATOMIC_MAX:
    return number == EMU_ATOMIC_F32 ? 0 : number;
  case EMU_ATOMIC_INC:
  case EMU_ATOMIC_DEC:
    return number == EMU_ATOMIC_U32 ? number : 0;
  default:
    return is_float ? 0 : number;
  }
}

/* Choices: dimensions, operation in the order of atomic.h. */
static emu_next reduce(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned dim = step->mods[0], operation = step->mods[1] - 1u;
  if (!has_coordinates(warp, step, dim)) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    box of;
    if (!read_box(warp, step, lane, 0, (uint64_t)step->offset, dim, false, &of)) {
      return EMU_FAULT;
    }
    const unsigned type = reduction_type(operation, of.map.type);
    if (type == 0) {
      return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                       "tensor map: data type %u does not have this reduction", of.map.type);
    }
    if (!store_box(warp, step, lane, &of, 1 + dim, operation, type)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- Hints ------------------------------------------------------------------------------------------------ */

/* Choices: dimensions, mode. */
static emu_next prefetch(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned dim = step->mods[0];
  const bool is_gather = step->mods[1] == 2;
  if (!has_coordinates(warp, step, is_gather ? 1u + NUM_ROWS : dim)) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    box of;
    if (!read_box(warp, step, lane, 0, (uint64_t)step->offset, dim, is_gather, &of)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

static emu_next prefetch_map(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    emu_tensor_map map;
    uint64_t address = emu_address(warp, step, &step->src[0], lane);
    address += step->mods[0] == 2 ? EMU_PARAM_WINDOW : 0;
    if (!read_map(warp, step, lane, address, &map)) {
      return EMU_FAULT;
    }
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, others, arch)                                                                 \
  {                                                                                                                    \
    pattern, operands, function, EMU_ROW_ASYNC, others, arch                                                           \
  }
#define HINT ".L2::cache_hint"
#define DIMS "1d|2d|3d|4d|5d"
/* The manual has the mode behind the spaces, its examples and others elsewhere; arch: of gather4 and cta_group. */
#define LOAD(group, mode, multicast, hint, operands, others, arch)                                                     \
  ROW("cp.async.bulk.tensor." DIMS group mode ".shared::cluster|shared::cta.global" mode                               \
      ".mbarrier::complete_tx::bytes" mode multicast group hint,                                                       \
      operands, load, others, arch)
#define LOADS(group, mode, arch)                                                                                       \
  LOAD(group, mode, ".-?", "", "a A a", 3, arch), LOAD(group, mode, ".-?", HINT, "a A a l", 4, arch),                  \
      LOAD(group, mode, ".multicast::cluster|-", "", "a A a h", 4, arch),                                              \
      LOAD(group, mode, ".multicast::cluster|-", HINT, "a A a h l", 5, arch)
#define STORE(mode, hint, operands, others, arch)                                                                      \
  ROW("cp.async.bulk.tensor." DIMS mode ".global.shared::cta" mode ".bulk_group" mode hint, operands, store, others,   \
      arch)
#define REDUCE(hint, operands, others)                                                                                 \
  ROW("cp.reduce.async.bulk.tensor." DIMS ".global.shared::cta.add|min|max|inc|dec|and|or|xor.tile?.bulk_group" hint,  \
      operands, reduce, others, 90)
#define PREFETCH(mode, hint, operands, others, arch)                                                                   \
  ROW("cp.async.bulk.prefetch.tensor." DIMS ".L2.global" mode hint, operands, prefetch, others, arch)
#define ONLY_100 (100 | 128)

static const emu_row rows[] = {
    LOADS(".-?", ".tile?", 90),
    LOADS(".cta_group::1|cta_group::2?", ".tile|tile::gather4?", ONLY_100),
    STORE(".tile?", "", "A a", 2, 90),
    STORE(".tile?", HINT, "A a l", 3, 90),
    STORE(".tile|tile::scatter4?", "", "A a", 2, ONLY_100),
    STORE(".tile|tile::scatter4?", HINT, "A a l", 3, ONLY_100),
    REDUCE("", "A a", 2),
    REDUCE(HINT, "A a l", 3),
    PREFETCH(".tile?", "", "A", 1, 90),
    PREFETCH(".tile?", HINT, "A l", 2, 90),
    PREFETCH(".tile|tile::gather4?", "", "A", 1, ONLY_100),
    PREFETCH(".tile|tile::gather4?", HINT, "A l", 2, ONLY_100),
    ROW("prefetch.const|param?.tensormap", "a", prefetch_map, 0, 90),
};

EMU_FAMILY(emu_family_maps, rows);
