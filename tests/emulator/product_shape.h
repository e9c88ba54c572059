/* SPDX-License-Identifier: Apache-2.0 */
/* What a tcgen05.mma computes: the instruction descriptor (PTX ISA 9.7.16.4.2, Table 42) against the kinds and shapes
 * of Table 39, and where its matrices are in tensor memory (9.7.16.10.5, layouts A to G). */
#ifndef EMU_PRODUCT_SHAPE_H
#define EMU_PRODUCT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_product_kind { EMU_KIND_F16, EMU_KIND_TF32, EMU_KIND_F8F6F4, EMU_KIND_I8 } emu_product_kind;

typedef enum emu_element {
  EMU_ELEMENT_F16,
  EMU_ELEMENT_BF16,
  EMU_ELEMENT_TF32,
  EMU_ELEMENT_E4M3,
  EMU_ELEMENT_E5M2,
  EMU_ELEMENT_E2M3,
  EMU_ELEMENT_E3M2,
  EMU_ELEMENT_E2M1,
  EMU_ELEMENT_U8,
  EMU_ELEMENT_S8
} emu_element;

typedef enum emu_sum { EMU_SUM_F16, EMU_SUM_F32, EMU_SUM_S32 } emu_sum;

typedef struct emu_product_shape {
  uint32_t m, n, k;
  emu_element a, b;
  emu_sum d;
  bool negates_a, negates_b, transposes_a, transposes_b, saturates;
  /* The layout: each block has rows of D, in parts of its columns that lie in different lanes. */
  uint32_t blocks, rows, parts;
  bool is_half; /* 16 of each 32 lanes */
} emu_product_shape;

/* What is wrong goes to why; false then. */
bool emu_product_decode(uint32_t bits, emu_product_kind kind, bool is_ws, uint32_t blocks, emu_product_shape *out,
                        char *why, size_t room);
/* The lane of a row of a part of the columns; base: the address's lane. */
uint32_t emu_product_lane(const emu_product_shape *shape, uint32_t row, uint32_t part, uint32_t base);
/* Elements in 16 bytes of shared memory: 4 and 6 bits are padded to 8. */
uint32_t emu_elements_per_chunk(emu_element type);
/* Element number `index` of a chunk in shared memory, of a word of tensor memory. */
float emu_element_of_chunk(const uint8_t *chunk, emu_element type, uint32_t index);
float emu_element_of_word(uint32_t word, emu_element type, uint32_t index);

#endif
