/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of mma.sync as an H200 makes them, to the bit: nothing of it is documented, golden/h200.golden shows it. */
#ifndef EMU_MATRIX_SUM_H
#define EMU_MATRIX_SUM_H

#include <stdbool.h>

enum { EMU_MMA_M = 16, EMU_MMA_N = 8, EMU_MMA_K = 32 };

/* sums += a[.][from ... to] b: at most 16 products a sum. All of a sum's terms are cut, towards zero, to 25 bits behind
 * the leading one of the largest, a product's leading place being where its factors' exponents put it; then added
 * exactly, and the sum is cut to f32 or rounded to f16. */
void emu_matrix_add(float a[EMU_MMA_M][EMU_MMA_K], float b[EMU_MMA_K][EMU_MMA_N], unsigned from, unsigned to,
                    bool is_f16, float sums[EMU_MMA_M][EMU_MMA_N]);

#endif
