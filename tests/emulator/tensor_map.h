/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: what cuTensorMapEncodeTiled is given, its rules, and the 128 bytes that stand for it. Hardware has an
 * encoding of its own, which nobody describes; this one is ours, and tells when it is not. */
#ifndef EMU_TENSOR_MAP_H
#define EMU_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

enum { EMU_MAP_BYTES = 128, EMU_MAP_RANK = 5, EMU_MAP_ALIGNMENT = 64 };

/* The numbers of CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle and CUtensorMapFloatOOBfill. */
typedef enum emu_map_type {
  EMU_MAP_U8,
  EMU_MAP_U16,
  EMU_MAP_U32,
  EMU_MAP_S32,
  EMU_MAP_U64,
  EMU_MAP_S64,
  EMU_MAP_F16,
  EMU_MAP_F32,
  EMU_MAP_F64,
  EMU_MAP_BF16,
  EMU_MAP_F32_FTZ,
  EMU_MAP_TF32,
  EMU_MAP_TF32_FTZ,
  EMU_MAP_16U4_ALIGN8,
  EMU_MAP_16U4_ALIGN16,
  EMU_MAP_16U6_ALIGN16,
  EMU_MAP_NUM_TYPES
} emu_map_type;
enum { EMU_MAP_INTERLEAVE_NONE, EMU_MAP_INTERLEAVE_16, EMU_MAP_INTERLEAVE_32, EMU_MAP_NUM_INTERLEAVES };
enum {
  EMU_MAP_SWIZZLE_NONE,
  EMU_MAP_SWIZZLE_32,
  EMU_MAP_SWIZZLE_64,
  EMU_MAP_SWIZZLE_128,
  EMU_MAP_SWIZZLE_128_ATOM_32,
  EMU_MAP_SWIZZLE_128_ATOM_32_FLIP_8,
  EMU_MAP_SWIZZLE_128_ATOM_64,
  EMU_MAP_NUM_SWIZZLES
};
enum { EMU_MAP_FILL_ZERO, EMU_MAP_FILL_NAN, EMU_MAP_NUM_FILLS, EMU_MAP_NUM_PROMOTIONS = 4 };

/* Of dimension 0, the innermost, on; what lies behind the rank is zero. */
typedef struct emu_tensor_map {
  uint64_t address;
  uint64_t dims[EMU_MAP_RANK];    /* elements */
  uint64_t strides[EMU_MAP_RANK]; /* bytes; of dimension 1 on, at [0] */
  uint32_t box[EMU_MAP_RANK], steps[EMU_MAP_RANK];
  uint32_t type, rank, interleave, swizzle, promotion, fill;
  uint32_t is_changed; /* by a kernel, and no fence has acquired it */
} emu_tensor_map;

/* The rules of cuTensorMapEncodeTiled; false with the reason. */
bool emu_tensor_map_check(const emu_tensor_map *map, const emu_device *device, emu_message *reason);
void emu_tensor_map_encode(const emu_tensor_map *map, uint8_t to[EMU_MAP_BYTES]);
/* False: the bytes are none that were encoded here, or were changed since. */
bool emu_tensor_map_decode(const uint8_t from[EMU_MAP_BYTES], emu_tensor_map *map_out);

/* Bits of an element in global memory. */
uint32_t emu_tensor_map_bits(uint32_t type);
/* Bytes that a swizzle permutes within; 0: none. */
uint32_t emu_tensor_map_span(uint32_t swizzle);
/* A shared address as the swizzle permutes it. */
uint64_t emu_tensor_map_swizzle(uint32_t swizzle, uint64_t address);

#endif
