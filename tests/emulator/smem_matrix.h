/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in shared memory: the descriptor of tcgen05 (PTX ISA 9.7.16.4.1; wgmma_math.h has that of wgmma), and where
 * an element is, by the canonical layouts of 9.7.16.3.3 and 9.7.15.5.1.2. A matrix is rows (M or N) by K, in chunks of
 * 16 bytes: K-major they lie along K, MN-major along the rows. */
#ifndef EMU_SMEM_MATRIX_H
#define EMU_SMEM_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_swizzle {
  EMU_SWIZZLE_NONE = 0,
  EMU_SWIZZLE_128_ATOM_32 = 1, /* of 32 bytes, not of 16 */
  EMU_SWIZZLE_128 = 2,
  EMU_SWIZZLE_64 = 4,
  EMU_SWIZZLE_32 = 6
} emu_swizzle;

typedef struct emu_smem_matrix {
  uint32_t start, leading, stride; /* bytes */
  uint32_t base_offset;            /* 128-byte rows that the pattern's first is behind its boundary */
  emu_swizzle swizzle;
} emu_smem_matrix;

enum { EMU_CHUNK = 16 };

/* What is wrong with the bits goes to why; false then. */
bool emu_smem_matrix_decode(uint64_t bits, emu_smem_matrix *out, char *why, size_t room);
/* The address, within the block's window, of a chunk: K-major of row `at` the chunk number `inner`, MN-major of the
 * rows' chunk number `at` the k `inner`. */
uint32_t emu_smem_matrix_chunk(const emu_smem_matrix *matrix, bool is_k_major, uint32_t at, uint32_t inner);

#endif
