/* SPDX-License-Identifier: Apache-2.0 */
/* What wgmma multiplies: matrices in shared memory as their descriptors say ("Matrix Descriptor Format" of the PTX
 * ISA), and the sums of
 * their products. */
#ifndef EMU_WGMMA_MATH_H
#define EMU_WGMMA_MATH_H

#include <stdbool.h>
#include <stdint.h>

#include "matrix_sum.h"
#include "smem_matrix.h"

/* Of A or B: where it lies, and which way. */
typedef struct emu_wgmma_matrix {
  emu_smem_matrix place;
  bool is_mn_major;
} emu_wgmma_matrix;

/* False: bits are set that are no field's. */
bool emu_wgmma_matrix_decode(uint64_t descriptor, bool is_mn_major, emu_wgmma_matrix *matrix_out);

/* Element types. */
typedef enum emu_wgmma_type {
  EMU_WGMMA_F16,
  EMU_WGMMA_BF16,
  EMU_WGMMA_TF32,
  EMU_WGMMA_E4M3,
  EMU_WGMMA_E5M2,
  EMU_WGMMA_S8,
  EMU_WGMMA_U8,
  EMU_WGMMA_B1
} emu_wgmma_type;

enum { EMU_WGMMA_M = 64, EMU_WGMMA_MAX_N = 256, EMU_WGMMA_LINE = 32 /* bytes along K, of all types */ };

/* Bytes of an element; bits come eight in a byte. */
uint32_t emu_wgmma_size(emu_wgmma_type type);

/* A's rows and B's n columns, each a line along K, as they are in memory or registers. */
typedef struct emu_wgmma_operands {
  emu_wgmma_type a_type, b_type;
  bool negates_a, negates_b;
  uint32_t n;
  uint8_t a[EMU_WGMMA_M][EMU_WGMMA_LINE];
  uint8_t b[EMU_WGMMA_MAX_N][EMU_WGMMA_LINE];
} emu_wgmma_operands;

/* The rows of A or columns of B that a matrix in shared memory has; shared: the byte at the shared address base. */
void emu_wgmma_gather(const emu_wgmma_matrix *matrix, uint32_t element_size, uint32_t rows, const uint8_t *shared,
                      uint32_t base, uint8_t to[][EMU_WGMMA_LINE]);

/* Sixteen rows of A from a row on, eight columns of B, negated where they are to be. */
void emu_wgmma_a_tile(const emu_wgmma_operands *of, uint32_t row, emu_factor *tile);
void emu_wgmma_b_tile(const emu_wgmma_operands *of, uint32_t column, emu_factor *tile);
/* How sums of a type are made. By published models of Hopper's (arXiv 2511.10909 and 2512.07004), which agree with what
 * mma.sync gives on an H200: one addition of all products and the accumulator, in which 8-bit floats keep 13 bits. */
emu_sum_rule emu_wgmma_rule(emu_wgmma_type a_type, bool is_f16);
/* The sums of products of integers, without the accumulator. */
void emu_wgmma_integers(const emu_wgmma_operands *of, int32_t sums[EMU_WGMMA_M][EMU_WGMMA_MAX_N]);

#endif
