/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
  uint8_t bits;
  bool is_float, is_packed, is_aligned16;
} types[EMU_MAP_NUM_TYPES] = {
    [EMU_MAP_U8] = {8, false, false, false},         [EMU_MAP_U16] = {16, false, false, false},
    [EMU_MAP_U32] = {32, false, false, false},       [EMU_MAP_S32] = {32, false, false, false},
    [EMU_MAP_U64] = {64, false, false, false},       [EMU_MAP_S64] = {64, false, false, false},
    [EMU_MAP_F16] = {16, true, false, false},        [EMU_MAP_F32] = {32, true, false, false},
    [EMU_MAP_F64] = {64, true, false, false},        [EMU_MAP_BF16] = {16, true, false, false},
    [EMU_MAP_F32_FTZ] = {32, true, false, false},    [EMU_MAP_TF32] = {32, true, false, false},
    [EMU_MAP_TF32_FTZ] = {32, true, false, false},   [EMU_MAP_16U4_ALIGN8] = {4, false, true, false},
    [EMU_MAP_16U4_ALIGN16] = {4, false, true, true}, [EMU_MAP_16U6_ALIGN16] = {6, false, true, true},
};

uint32_t emu_tensor_map_bits(uint32_t type)
{
  return types[type].bits;
}

uint32_t emu_tensor_map_span(uint32_t swizzle)
{
  return swizzle == EMU_MAP_SWIZZLE_NONE ? 0
         : swizzle == EMU_MAP_SWIZZLE_32 ? 32
         : swizzle == EMU_MAP_SWIZZLE_64 ? 64
                                         : 128;
}

/* The pattern goes by the bits of the address: its row is the line of 128 bytes. */
uint64_t emu_tensor_map_swizzle(uint32_t swizzle, uint64_t address)
{
  const uint64_t row = address >> 7;
  switch (swizzle) {
  case EMU_MAP_SWIZZLE_32:
    return address ^ (row & 1) << 4;
  case EMU_MAP_SWIZZLE_64:
    return address ^ (row & 3) << 4;
  case EMU_MAP_SWIZZLE_128:
    return address ^ (row & 7) << 4;
  case EMU_MAP_SWIZZLE_128_ATOM_32:
    return address ^ (row & 3) << 5;
  case EMU_MAP_SWIZZLE_128_ATOM_32_FLIP_8:
    return address ^ (row & 3) << 5 ^ (row & 1) << 3;
  case EMU_MAP_SWIZZLE_128_ATOM_64:
    return address ^ (row & 1) << 6;
  default:
    return address;
  }
}

/* ---- Rules ------------------------------------------------------------------------------------------------ */

static bool wrong(emu_message *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(emu_message *reason, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason->text, sizeof reason->text, format, arguments);
  va_end(arguments);
  return false;
}

static bool check_kinds(const emu_tensor_map *map, const emu_device *device, emu_message *reason)
{
  if (device->major < 9) {
    return wrong(reason, "%s has no tensor maps: compute capability 9.0 is the least", device->arch);
  }
  if (map->type >= EMU_MAP_NUM_TYPES || map->interleave >= EMU_MAP_NUM_INTERLEAVES
      || map->swizzle >= EMU_MAP_NUM_SWIZZLES || map->promotion >= EMU_MAP_NUM_PROMOTIONS
      || map->fill >= EMU_MAP_NUM_FILLS) {
    return wrong(
        reason, "data type %u, interleave %u, swizzle %u, L2 promotion %u, fill %u: at most %d, %d, %d, %d, %d",
        map->type, map->interleave, map->swizzle, map->promotion, map->fill, EMU_MAP_NUM_TYPES - 1,
        EMU_MAP_NUM_INTERLEAVES - 1, EMU_MAP_NUM_SWIZZLES - 1, EMU_MAP_NUM_PROMOTIONS - 1, EMU_MAP_NUM_FILLS - 1);
  }
  if (device->major < 10 && (types[map->type].is_packed || map->swizzle > EMU_MAP_SWIZZLE_128)) {
    return wrong(reason, "data type %u, swizzle %u: of compute capability 10.0 on, and %s has less", map->type,
                 map->swizzle, device->arch);
  }
  if (map->rank < (map->interleave == EMU_MAP_INTERLEAVE_NONE ? 1u : 3u) || map->rank > EMU_MAP_RANK) {
    return wrong(reason, "a rank of %u: 1 to %d, and at least 3 with an interleave", map->rank, EMU_MAP_RANK);
  }
  if (map->fill == EMU_MAP_FILL_NAN && !types[map->type].is_float) {
    return wrong(reason, "a fill with NaN of data type %u, which is no floating-point type", map->type);
  }
  return true;
}

/* Swizzles and interleaves that go together, and with the type. */
static bool check_swizzle(const emu_tensor_map *map, emu_message *reason)
{
  const uint32_t swizzle = map->swizzle;
  if (map->interleave == EMU_MAP_INTERLEAVE_32 && swizzle != EMU_MAP_SWIZZLE_32) {
    return wrong(reason, "swizzle %u with an interleave of 32 bytes, which wants that of 32 bytes", swizzle);
  }
  if (map->type == EMU_MAP_16U6_ALIGN16 && map->interleave != EMU_MAP_INTERLEAVE_NONE) {
    return wrong(reason, "interleave %u with packed elements of 6 bits", map->interleave);
  }
  const bool is_common =
      swizzle == EMU_MAP_SWIZZLE_NONE || swizzle == EMU_MAP_SWIZZLE_128 || swizzle == EMU_MAP_SWIZZLE_128_ATOM_32;
  if ((map->type == EMU_MAP_16U4_ALIGN16 && !is_common)
      || (map->type == EMU_MAP_16U6_ALIGN16 && !is_common && swizzle != EMU_MAP_SWIZZLE_128_ATOM_64)) {
    return wrong(reason, "swizzle %u with data type %u", swizzle, map->type);
  }
  const uint64_t inner = (uint64_t)map->box[0] * types[map->type].bits / 8;
  if (map->interleave == EMU_MAP_INTERLEAVE_NONE && swizzle != EMU_MAP_SWIZZLE_NONE
      && inner > emu_tensor_map_span(swizzle)) {
    return wrong(reason, "a box of %llu bytes in dimension 0, more than the %u that swizzle %u permutes",
                 (unsigned long long)inner, emu_tensor_map_span(swizzle), swizzle);
  }
  return true;
}

static bool check_tensor(const emu_tensor_map *map, emu_message *reason)
{
  const bool is_wide = map->interleave == EMU_MAP_INTERLEAVE_32 || types[map->type].is_aligned16;
  const uint32_t alignment = is_wide ? 32 : 16;
  if (map->address % alignment != 0) {
    return wrong(reason, "an address of 0x%llx: a multiple of %u is wanted", (unsigned long long)map->address,
                 alignment);
  }
  for (uint32_t i = 0; i < map->rank; i++) {
    if (map->dims[i] == 0 || map->dims[i] > 1ull << 32) {
      return wrong(reason, "dimension %u has %llu elements: 1 to 2^32", i, (unsigned long long)map->dims[i]);
    }
  }
  const uint32_t multiple = types[map->type].is_aligned16 ? 128 : map->type == EMU_MAP_16U4_ALIGN8 ? 2 : 1;
  if (map->dims[0] % multiple != 0) {
    return wrong(reason, "dimension 0 has %llu elements: a multiple of %u is wanted", (unsigned long long)map->dims[0],
                 multiple);
  }
  for (uint32_t i = 0; i + 1 < map->rank; i++) {
    if (map->strides[i] % alignment != 0 || map->strides[i] >= 1ull << 40) {
      return wrong(reason, "a stride of %llu bytes in dimension %u: a multiple of %u below 2^40 is wanted",
                   (unsigned long long)map->strides[i], i + 1, alignment);
    }
  }
  return true;
}

static bool check_box(const emu_tensor_map *map, emu_message *reason)
{
  for (uint32_t i = 0; i < map->rank; i++) {
    if (map->box[i] == 0 || map->box[i] > 256) {
      return wrong(reason, "a box of %u elements in dimension %u: 1 to 256", map->box[i], i);
    }
    const bool is_ignored = i == 0 && map->interleave == EMU_MAP_INTERLEAVE_NONE;
    if (!is_ignored && (map->steps[i] == 0 || map->steps[i] > 8)) {
      return wrong(reason, "an element stride of %u in dimension %u: 1 to 8", map->steps[i], i);
    }
  }
  if (types[map->type].is_aligned16 && map->box[0] != 128) {
    return wrong(reason, "a box of %u elements in dimension 0: 128 for data type %u", map->box[0], map->type);
  }
  if (map->interleave == EMU_MAP_INTERLEAVE_NONE && map->box[0] * types[map->type].bits % 128 != 0) {
    return wrong(reason, "a box of %u elements in dimension 0, no multiple of 16 bytes", map->box[0]);
  }
  return true;
}

bool emu_tensor_map_check(const emu_tensor_map *map, const emu_device *device, emu_message *reason)
{
  return check_kinds(map, device, reason) && check_tensor(map, reason) && check_box(map, reason)
         && check_swizzle(map, reason);
}

/* ---- The bytes -------------------------------------------------------------------------------------------- */

/* Fields one behind the other, each with as many bytes as it needs, between a mark and a checksum. */
static const uint8_t mark[8] = {'e', 'm', 'u', 'T', 'i', 'l', 'e', 1};
enum { CHECKSUM_AT = EMU_MAP_BYTES - 8 };

static uint64_t checksum(const uint8_t *bytes)
{
  uint64_t sum = 0xcbf29ce484222325ull;
  for (unsigned i = 0; i < CHECKSUM_AT; i++) {
    sum = (sum ^ bytes[i]) * 0x100000001b3ull;
  }
  return sum;
}

static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
  for (unsigned i = 0; i < bytes; i++) {
    at[i] = (uint8_t)(value >> 8 * i);
  }
  return at + bytes;
}

static const uint8_t *get(const uint8_t *at, unsigned bytes, uint64_t *value_out)
{
  *value_out = 0;
  for (unsigned i = 0; i < bytes; i++) {
    *value_out |= (uint64_t)at[i] << 8 * i;
  }
  return at + bytes;
}

static const uint8_t *get32(const uint8_t *at, unsigned bytes, uint32_t *value_out)
{
  uint64_t value;
  at = get(at, bytes, &value);
  *value_out = (uint32_t)value;
  return at;
}

void emu_tensor_map_encode(const emu_tensor_map *map, uint8_t to[EMU_MAP_BYTES])
{
  memset(to, 0, EMU_MAP_BYTES);
  memcpy(to, mark, sizeof mark);
  uint8_t *at = put(to + sizeof mark, map->address, 8);
  const uint32_t kinds[] = {map->type,      map->rank, map->interleave, map->swizzle,
                            map->promotion, map->fill, map->is_changed};
  for (unsigned i = 0; i < 7; i++) {
    at = put(at, kinds[i], 1);
  }
  for (unsigned i = 0; i < EMU_MAP_RANK; i++) {
    at = put(at, map->dims[i], 5);
    at = put(at, map->strides[i], 6);
    at = put(at, map->box[i], 2);
    at = put(at, map->steps[i], 1);
  }
  put(to + CHECKSUM_AT, checksum(to), 8);
}

bool emu_tensor_map_decode(const uint8_t from[EMU_MAP_BYTES], emu_tensor_map *map_out)
{
  uint64_t sum;
  get(from + CHECKSUM_AT, 8, &sum);
  if (memcmp(from, mark, sizeof mark) != 0 || sum != checksum(from)) {
    return false;
  }
  const uint8_t *at = get(from + sizeof mark, 8, &map_out->address);
  uint32_t *kinds[] = {&map_out->type,      &map_out->rank, &map_out->interleave, &map_out->swizzle,
                       &map_out->promotion, &map_out->fill, &map_out->is_changed};
  for (unsigned i = 0; i < 7; i++) {
    at = get32(at, 1, kinds[i]);
  }
  for (unsigned i = 0; i < EMU_MAP_RANK; i++) {
    at = get(at, 5, &map_out->dims[i]);
    at = get(at, 6, &map_out->strides[i]);
    at = get32(at, 2, &map_out->box[i]);
    at = get32(at, 1, &map_out->steps[i]);
  }
  return true;
}
