/* SPDX-License-Identifier: Apache-2.0 */
/* tensormap.replace, tensormap.cp_fenceproxy and fence.proxy.tensormap. A map that was changed here says so in its own
 * bytes until such a fence acquires it: a copy by it before that is a fault. */
#include "families.h"
#include "lanes.h"
#include "tensor_map.h"

enum { ADDRESS, RANK, ELEMENT_TYPE, INTERLEAVE, SWIZZLE, ATOM, FILL, BOX, DIM, STRIDE, STEP };

static emu_next refuse(emu_warp *warp, const emu_step *step, unsigned lane, const char *what, uint64_t value)
{
  return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "%s of %llu, which a tensor map does not have", what,
                   (unsigned long long)value);
}

/* The numbers of tensormap.replace, in order. */
static bool set_type(emu_tensor_map *map, uint64_t value)
{
  static const uint8_t types[] = {EMU_MAP_U8,       EMU_MAP_U16,         EMU_MAP_U32,          EMU_MAP_S32,
                                  EMU_MAP_U64,      EMU_MAP_S64,         EMU_MAP_F16,          EMU_MAP_F32,
                                  EMU_MAP_F32_FTZ,  EMU_MAP_F64,         EMU_MAP_BF16,         EMU_MAP_TF32,
                                  EMU_MAP_TF32_FTZ, EMU_MAP_16U4_ALIGN8, EMU_MAP_16U4_ALIGN16, EMU_MAP_16U6_ALIGN16};
  if (value < sizeof types) {
    map->type = types[value];
  }
  return value < sizeof types;
}

/* The mode and the atoms of the swizzle of 128 bytes are one field of a map here. */
static bool set_swizzle(emu_tensor_map *map, bool is_atom, uint64_t value)
{
  const bool has_atoms = map->swizzle >= EMU_MAP_SWIZZLE_128;
  if (value > 3 || (is_atom && value != 0 && !has_atoms)) {
    return false;
  }
  if (is_atom ? has_atoms : !(value == EMU_MAP_SWIZZLE_128 && has_atoms)) {
    map->swizzle = (uint32_t)value + (is_atom ? EMU_MAP_SWIZZLE_128 : 0);
  }
  return true;
}

static bool set_field(emu_tensor_map *map, unsigned field, uint64_t ordinal, uint64_t value)
{
  switch (field) {
  case ADDRESS:
    map->address = value;
    return true;
  case RANK:
    map->rank = (uint32_t)value + 1;
    return value < EMU_MAP_RANK;
  case ELEMENT_TYPE:
    return set_type(map, value);
  case INTERLEAVE:
    map->interleave = (uint32_t)value;
    return value < EMU_MAP_NUM_INTERLEAVES;
  case SWIZZLE:
  case ATOM:
    return set_swizzle(map, field == ATOM, value);
  case FILL:
    map->fill = (uint32_t)value;
    return value < EMU_MAP_NUM_FILLS;
  case BOX:
    map->box[ordinal] = (uint32_t)value;
    return value <= 256;
  case DIM:
    map->dims[ordinal] = value;
    return true;
  case STRIDE:
    map->strides[ordinal] = value;
    return value < 1ull << 40;
  default:
    map->steps[ordinal] = (uint32_t)value;
    return value <= 8;
  }
}

/* Choice: the space. arg: the field; those from BOX on have an ordinal. Whether the map is legal is seen at its use. */
static emu_next replace(emu_warp *warp, const emu_step *step, uint32_t active)
{
  static const emu_space spaces[] = {EMU_GENERIC, EMU_GLOBAL, EMU_SHARED, EMU_SHARED};
  EMU_FOR_LANES(lane, active)
  {
    const uint64_t address = emu_address(warp, step, &step->src[0], lane);
    const uint64_t value = emu_lane(warp, &step->src[step->num_src - 1], lane);
    const uint64_t ordinal = step->num_src > 2 ? emu_lane(warp, &step->src[1], lane) : 0;
    emu_tensor_map map;
    uint8_t *at = emu_access(warp, step, lane, spaces[step->mods[0]], address, EMU_MAP_BYTES, EMU_READ);
    if (at == NULL || emu_access(warp, step, lane, spaces[step->mods[0]], address, EMU_MAP_BYTES, EMU_WRITE) == NULL) {
      return EMU_FAULT;
    }
    if (!emu_tensor_map_decode(at, &map)) {
      return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                       "no tensor map at 0x%llx: its bytes are not as this driver encodes one",
                       (unsigned long long)address);
    }
    if (ordinal >= EMU_MAP_RANK) {
      return refuse(warp, step, lane, "an ordinal", ordinal);
    }
    if (!set_field(&map, step->arg, ordinal, value)) {
      return refuse(warp, step, lane, "a value", value);
    }
    map.is_changed = 1;
    emu_tensor_map_encode(&map, at);
  }
  return EMU_NEXT;
}

static bool is_whole(emu_warp *warp, const emu_step *step, const emu_slot *size)
{
  if (emu_lane(warp, size, 0) == EMU_MAP_BYTES) {
    return true;
  }
  emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "a size of %llu: %d, of a tensor map, is wanted",
            (unsigned long long)emu_lane(warp, size, 0), EMU_MAP_BYTES);
  return false;
}

/* [to], [from], 128: all lanes together, for each its own operands; lanes mostly give the same. */
static emu_next copy_and_fence(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (!is_whole(warp, step, &step->src[2])) {
    return EMU_FAULT;
  }
  uint8_t bytes[EMU_MAP_BYTES];
  const uint32_t lane = (uint32_t)__builtin_ctz(active);
  const uint64_t to = emu_address(warp, step, &step->src[0], lane);
  const uint64_t from = emu_lane(warp, &step->src[1], lane) + (uint64_t)step->offset2;
  const uint8_t *source = emu_access(warp, step, lane, EMU_SHARED, from, EMU_MAP_BYTES, EMU_READ);
  uint8_t *place = source == NULL ? NULL : emu_access(warp, step, lane, EMU_GLOBAL, to, EMU_MAP_BYTES, EMU_WRITE);
  if (place == NULL) {
    return EMU_FAULT;
  }
  memcpy(bytes, source, sizeof bytes);
  memcpy(place, bytes, sizeof bytes);
  return EMU_NEXT;
}

/* acquire [map], 128: copies by it may follow. */
static emu_next acquire(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (!is_whole(warp, step, &step->src[1])) {
    return EMU_FAULT;
  }
  EMU_FOR_LANES(lane, active)
  {
    emu_tensor_map map;
    uint8_t *at = emu_access(warp, step, lane, EMU_GENERIC, emu_address(warp, step, &step->src[0], lane), EMU_MAP_BYTES,
                             EMU_READ);
    if (at == NULL) {
      return EMU_FAULT;
    }
    if (emu_tensor_map_decode(at, &map) && map.is_changed != 0) {
      map.is_changed = 0;
      emu_tensor_map_encode(&map, at);
    }
  }
  return EMU_NEXT;
}

static emu_next release(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  emu_race_fence(warp->block->race, warp->index, active);
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define FIELD(field, type, operands, number)                                                                           \
  {                                                                                                                    \
    "tensormap.replace.tile." field ".global|shared|shared::cta?.b1024." type, operands, replace, 0, number, 90        \
  }

static const emu_row rows[] = {
    FIELD("global_address", "b64", "a l", ADDRESS),
    FIELD("rank", "b32", "a w", RANK),
    FIELD("elemtype", "b32", "a c", ELEMENT_TYPE),
    FIELD("interleave_layout", "b32", "a c", INTERLEAVE),
    FIELD("swizzle_mode", "b32", "a c", SWIZZLE),
    {"tensormap.replace.tile.swizzle_atomicity.global|shared|shared::cta?.b1024.b32", "a c", replace, 0, ATOM, 100},
    FIELD("fill_mode", "b32", "a c", FILL),
    FIELD("box_dim", "b32", "a c w", BOX),
    FIELD("global_dim", "b32", "a c w", DIM),
    FIELD("global_stride", "b64", "a c l", STRIDE),
    FIELD("element_stride", "b32", "a c w", STEP),
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.cta|cluster|gpu|sys.sync.aligned", "a a c",
     copy_and_fence, EMU_ROW_ALIGNED, 0, 90},
    {"fence.proxy.tensormap::generic.acquire.cta|cluster|gpu|sys", "a c", acquire, 0, 0, 90},
    {"fence.proxy.tensormap::generic.release.cta|cluster|gpu|sys", "", release, 0, 0, 90},
};

EMU_FAMILY(emu_family_changes, rows);
