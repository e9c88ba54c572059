/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of matrix products as an H200 makes them: nothing of it is documented. Those of mma.sync are the H200's to
 * the bit, golden/h200.golden shows it. */
#ifndef EMU_MATRIX_SUM_H
#define EMU_MATRIX_SUM_H

#include <stdbool.h>

#include "exec.h"

enum { EMU_MMA_M = 16, EMU_MMA_N = 8, EMU_MMA_K = 32 };

typedef struct emu_sum_rule {
  bool is_f16;         /* results are rounded to f16; otherwise cut to f32 */
  uint8_t kept_bits;   /* of a term, behind the leading one of the largest */
  uint8_t result_bits; /* of the mantissa of an f32 result: 23, or fewer */
} emu_sum_rule;

/* sums += a[.][from ... to] b. All of a sum's terms are cut, towards zero, to the bits that are kept, a product's
 * leading place being where its factors' exponents put it; then added exactly, and the sum is cut or rounded. */
void emu_matrix_add(float a[EMU_MMA_M][EMU_MMA_K], float b[EMU_MMA_K][EMU_MMA_N], unsigned from, unsigned to,
                    emu_sum_rule rule, float sums[EMU_MMA_M][EMU_MMA_N]);

/* An accumulator of 16 by 8 from and to a warp's registers: four of f32, two of two f16 each. */
void emu_matrix_load(const emu_warp *warp, const emu_slot *slots, bool is_f16, float sums[EMU_MMA_M][EMU_MMA_N]);
void emu_matrix_store(const emu_warp *warp, const emu_slot *slots, bool is_f16, float sums[EMU_MMA_M][EMU_MMA_N]);

#endif
