/* SPDX-License-Identifier: Apache-2.0 */
#include "wgmma_math.h"

#include <string.h>

#include "numbers.h"

enum { LINE = EMU_WGMMA_LINE, MAX_N = EMU_WGMMA_MAX_N, M = EMU_WGMMA_M };

/* ---- Matrices in shared memory ---------------------------------------------------------------------------- */

static uint32_t field(uint64_t descriptor, unsigned first, unsigned bits)
{
  return (uint32_t)(descriptor >> first) & ((1u << bits) - 1);
}

bool emu_wgmma_matrix_decode(uint64_t descriptor, bool is_mn_major, emu_wgmma_matrix *matrix_out)
{
  static const emu_swizzle swizzles[4] = {EMU_SWIZZLE_NONE, EMU_SWIZZLE_128, EMU_SWIZZLE_64, EMU_SWIZZLE_32};
  matrix_out->place = (emu_smem_matrix){.start = field(descriptor, 0, 14) * EMU_CHUNK,
                                        .leading = field(descriptor, 16, 14) * EMU_CHUNK,
                                        .stride = field(descriptor, 32, 14) * EMU_CHUNK,
                                        .base_offset = field(descriptor, 49, 3),
                                        .swizzle = swizzles[field(descriptor, 62, 2)]};
  matrix_out->is_mn_major = is_mn_major;
  const uint64_t fields = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 3ull << 62;
  return (descriptor & ~fields) == 0;
}

static void gather_mn_major(const emu_wgmma_matrix *matrix, uint32_t size, uint32_t rows, const uint8_t *shared,
                            uint32_t base, uint8_t to[][LINE])
{
  const uint32_t in_chunk = EMU_CHUNK / size;
  for (uint32_t k = 0; k < LINE / size; k++) {
    for (uint32_t first = 0; first < rows; first += in_chunk) {
      const uint8_t *from = shared + (emu_smem_matrix_chunk(&matrix->place, false, first / in_chunk, k) - base);
      for (uint32_t i = 0; i < in_chunk; i++) {
        memcpy(&to[first + i][(size_t)k * size], from + (size_t)i * size, size);
      }
    }
  }
}

void emu_wgmma_gather(const emu_wgmma_matrix *matrix, uint32_t element_size, uint32_t rows, const uint8_t *shared,
                      uint32_t base, uint8_t to[][LINE])
{
  if (matrix->is_mn_major) {
    gather_mn_major(matrix, element_size, rows, shared, base, to);
    return;
  }
  for (uint32_t line = 0; line < rows; line++) {
    for (uint32_t chunk = 0; chunk < LINE / EMU_CHUNK; chunk++) {
      memcpy(&to[line][(size_t)chunk * EMU_CHUNK],
             shared + (emu_smem_matrix_chunk(&matrix->place, true, line, chunk) - base), EMU_CHUNK);
    }
  }
}

/* ---- Sums ------------------------------------------------------------------------------------------------- */

uint32_t emu_wgmma_size(emu_wgmma_type type)
{
  return type == EMU_WGMMA_TF32 ? 4 : type <= EMU_WGMMA_BF16 ? 2 : 1;
}

/* The k-th element of a line. */
static float float_at(const uint8_t *line, uint32_t k, emu_wgmma_type type)
{
  uint16_t half;
  uint32_t word;
  switch (type) {
  case EMU_WGMMA_F16:
    memcpy(&half, line + (size_t)2 * k, sizeof half);
    return emu_f16_value(half);
  case EMU_WGMMA_BF16:
    memcpy(&half, line + (size_t)2 * k, sizeof half);
    return emu_bf16_value(half);
  case EMU_WGMMA_TF32:
    memcpy(&word, line + (size_t)4 * k, sizeof word);
    return emu_float32(word & ~0x1fffu);
  default:
    return type == EMU_WGMMA_E4M3 ? emu_e4m3_value(line[k]) : emu_f16_value((uint32_t)line[k] << 8);
  }
}

void emu_wgmma_a_tile(const emu_wgmma_operands *of, uint32_t row, emu_factor *tile)
{
  const uint32_t num_k = LINE / emu_wgmma_size(of->a_type);
  for (uint32_t m = 0; m < EMU_MMA_M; m++) {
    for (uint32_t k = 0; k < num_k; k++) {
      const float value = float_at(of->a[row + m], k, of->a_type);
      tile->values[emu_factor_a(m, k)] = of->negates_a ? -value : value;
    }
  }
  emu_factor_look(tile, EMU_MMA_M * num_k);
}

void emu_wgmma_b_tile(const emu_wgmma_operands *of, uint32_t column, emu_factor *tile)
{
  const uint32_t num_k = LINE / emu_wgmma_size(of->b_type);
  for (uint32_t n = 0; n < EMU_MMA_N; n++) {
    for (uint32_t k = 0; k < num_k; k++) {
      const float value = float_at(of->b[column + n], k, of->b_type);
      tile->values[emu_factor_b(k, n)] = of->negates_b ? -value : value;
    }
  }
  emu_factor_look(tile, EMU_MMA_N * num_k);
}

emu_sum_rule emu_wgmma_rule(emu_wgmma_type a_type, bool is_f16)
{
  const bool is_byte = emu_wgmma_size(a_type) == 1;
  return (emu_sum_rule){.is_f16 = is_f16, .kept_bits = is_byte ? 13 : 25, .result_bits = is_byte ? 13 : 23};
}

static int32_t integer_product(uint8_t a, uint8_t b, emu_wgmma_type a_type, emu_wgmma_type b_type)
{
  if (a_type == EMU_WGMMA_B1) {
    return __builtin_popcount(a & b);
  }
  const int32_t left = a_type == EMU_WGMMA_S8 ? (int8_t)a : a, right = b_type == EMU_WGMMA_S8 ? (int8_t)b : b;
  return left * right;
}

void emu_wgmma_integers(const emu_wgmma_operands *of, int32_t sums[M][MAX_N])
{
  for (uint32_t m = 0; m < M; m++) {
    for (uint32_t j = 0; j < of->n; j++) {
      int32_t sum = 0;
      for (uint32_t k = 0; k < LINE; k++) {
        sum += integer_product(of->a[m][k], of->b[j][k], of->a_type, of->b_type);
      }
      sums[m][j] = sum;
    }
  }
}
