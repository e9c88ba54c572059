/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of matrix products as an H200 makes them: nothing of it is documented. Those of mma.sync are the H200's to
 * the bit, golden/h200.golden shows it. */
#ifndef EMU_MATRIX_SUM_H
#define EMU_MATRIX_SUM_H

#include <stdbool.h>

#include "exec.h"

enum { EMU_MMA_M = 16, EMU_MMA_N = 8, EMU_MMA_K = 32, EMU_MMA_FOUR = 4 };

typedef struct emu_sum_rule {
  bool is_f16;         /* results are rounded to f16; otherwise cut to f32 */
  uint8_t kept_bits;   /* of a term, behind the leading one of the largest */
  uint8_t result_bits; /* of the mantissa of an f32 result: 23, or fewer */
} emu_sum_rule;

/* A, 16 rows, or B, 8 columns: elements of at most eleven significant bits, in the order in which a warp's registers
 * have them, so that they need not be moved. A: by fours of k, then by rows. B: by k, then the even columns before the
 * odd ones, in which order an accumulator's columns are too. */
typedef struct emu_factor {
  _Alignas(32) float values[EMU_MMA_K * EMU_MMA_M];
  _Alignas(32) int16_t places[EMU_MMA_K * EMU_MMA_M]; /* of the leading ones */
  int16_t least, most;                                /* of these; least of what is not 0 */
  bool is_finite;
} emu_factor;

static inline unsigned emu_factor_a(unsigned m, unsigned k)
{
  return (k / EMU_MMA_FOUR * EMU_MMA_M + m) * EMU_MMA_FOUR + k % EMU_MMA_FOUR;
}

static inline unsigned emu_factor_b(unsigned k, unsigned n)
{
  return k * EMU_MMA_N + n % 2 * (EMU_MMA_N / 2) + n / 2;
}

/* An accumulator of 16 by 8. */
typedef struct emu_sums {
  _Alignas(32) float at[EMU_MMA_M * EMU_MMA_N]; /* by rows */
} emu_sums;

/* When the first count of its values are there. */
void emu_factor_look(emu_factor *factor, unsigned count);

/* sums += a b, for k in from ... to, multiples of four. All of a sum's terms are cut, towards zero, to the bits that
 * are kept, a product's leading place being where its factors' exponents put it; then added exactly, and the sum is cut
 * or rounded. */
void emu_matrix_add(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                    emu_sums *sums);

/* From and to a warp's registers: four of f32, two of two f16 each. */
void emu_matrix_load(const emu_warp *warp, const emu_slot *slots, bool is_f16, emu_sums *sums);
void emu_matrix_store(const emu_warp *warp, const emu_slot *slots, bool is_f16, const emu_sums *sums);

#endif
