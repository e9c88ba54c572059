/* SPDX-License-Identifier: Apache-2.0 */
#include "smem_matrix.h"

#include <stdio.h>

static uint32_t field(uint64_t bits, unsigned first, unsigned count)
{
  return (uint32_t)(bits >> first & ((1ull << count) - 1));
}

static bool wrong(char *why, size_t room, const char *what, uint32_t value)
{
  snprintf(why, room, what, value);
  return false;
}

bool emu_smem_matrix_decode(uint64_t bits, emu_smem_matrix *out, char *why, size_t room)
{
  const uint32_t swizzle = field(bits, 61, 3);
  if (field(bits, 14, 2) != 0 || field(bits, 30, 2) != 0) {
    return wrong(why, room, "bits 14, 15, 30 and 31 must be 0: an address or offset beyond 18 bits (0x%x)",
                 field(bits, 14, 2) | field(bits, 30, 2) << 2);
  }
  if (field(bits, 46, 3) != 1) {
    return wrong(why, room, "bits 46 to 48 must be 0b001, not %u", field(bits, 46, 3));
  }
  if (field(bits, 52, 1) != 0) {
    return wrong(why, room, "bit 52 is %u: a leading dimension by its address is for sm_103a alone", 1);
  }
  if (field(bits, 53, 8) != 0) {
    return wrong(why, room, "bits 53 to 60 must be 0, not 0x%x", field(bits, 53, 8));
  }
  if (swizzle == 3 || swizzle == 5 || swizzle == 7) {
    return wrong(why, room, "a swizzling mode of %u: 0, 1, 2, 4 or 6", swizzle);
  }
  *out = (emu_smem_matrix){.start = field(bits, 0, 14) * EMU_CHUNK,
                           .leading = field(bits, 16, 14) * EMU_CHUNK,
                           .stride = field(bits, 32, 14) * EMU_CHUNK,
                           .base_offset = field(bits, 49, 3),
                           .swizzle = (emu_swizzle)swizzle};
  if (swizzle == EMU_SWIZZLE_NONE && out->base_offset != 0) {
    return wrong(why, room, "a base offset of %u without swizzling", out->base_offset);
  }
  return true;
}

/* Bytes of a row of the pattern; without swizzling the patterns are eight rows of one chunk. */
static uint32_t width_of(emu_swizzle swizzle)
{
  return swizzle == EMU_SWIZZLE_NONE ? 16 : swizzle == EMU_SWIZZLE_32 ? 32 : swizzle == EMU_SWIZZLE_64 ? 64 : 128;
}

static uint32_t k_major(const emu_smem_matrix *matrix, uint32_t row, uint32_t chunk)
{
  const uint32_t in_groups = row % 8 * width_of(matrix->swizzle) + row / 8 * matrix->stride;
  return in_groups + chunk * (matrix->swizzle == EMU_SWIZZLE_NONE ? matrix->leading : EMU_CHUNK);
}

static uint32_t mn_major(const emu_smem_matrix *matrix, uint32_t chunk, uint32_t k)
{
  if (matrix->swizzle == EMU_SWIZZLE_NONE) {
    return chunk * matrix->stride + k % 8 * EMU_CHUNK + k / 8 * matrix->leading;
  }
  const uint32_t width = width_of(matrix->swizzle), chunks = width / EMU_CHUNK;
  const uint32_t group = matrix->swizzle == EMU_SWIZZLE_128_ATOM_32 ? 4 : 8; /* of k */
  return chunk % chunks * EMU_CHUNK + chunk / chunks * matrix->leading + k % group * width + k / group * matrix->stride;
}

/* The chunks of a row of 128 bytes change places by the row's number in the pattern. */
static uint32_t swizzled(const emu_smem_matrix *matrix, uint32_t address)
{
  const uint32_t row = (address >> 7) - matrix->base_offset;
  switch (matrix->swizzle) {
  case EMU_SWIZZLE_32:
    return address ^ (row & 1) << 4;
  case EMU_SWIZZLE_64:
    return address ^ (row & 3) << 4;
  case EMU_SWIZZLE_128:
    return address ^ (row & 7) << 4;
  case EMU_SWIZZLE_128_ATOM_32:
    return address ^ (row & 3) << 5;
  default:
    return address;
  }
}

uint32_t emu_smem_matrix_chunk(const emu_smem_matrix *matrix, bool is_k_major, uint32_t at, uint32_t inner)
{
  const uint32_t offset = is_k_major ? k_major(matrix, at, inner) : mn_major(matrix, at, inner);
  return swizzled(matrix, (matrix->start + offset) & 0x3ffff);
}
