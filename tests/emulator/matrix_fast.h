/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of matrix_sum.h by vectors of eight columns, for numbers that f32 has room for. */
#ifndef EMU_MATRIX_FAST_H
#define EMU_MATRIX_FAST_H

#include "matrix_sum.h"
#include "numbers.h"

/* EMU_NO_PLACE: of 0. EMU_LEAST_PLACE: what a sum's largest place is at least taken for. */
enum { EMU_NO_PLACE = -8192, EMU_LEAST_PLACE = -500 };

/* The exponent of a finite number's leading one. */
static inline int16_t emu_place_of(float value)
{
  const uint32_t size = emu_bits32(value) & 0x7fffffff;
  const uint32_t lifted = emu_bits32(emu_float32(size) * 0x1p24f); /* what is subnormal no longer is */
  const int place = size >= 0x800000 ? (int)(size >> 23) - 127 : (int)(lifted >> 23) - 127 - 24;
  return (int16_t)(size == 0 ? EMU_NO_PLACE : place);
}

/* The result of a sum that is exact in double. */
float emu_matrix_finish(double sum, emu_sum_rule rule);

/* Of finite numbers: whether they are of such sizes that no product overflows, and none that counts is subnormal. */
bool emu_matrix_has_room(const emu_factor *a, const emu_factor *b);
/* Then emu_matrix_add. Sums are finite. */
void emu_matrix_add_fast(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                         emu_sums *sums);
/* The same as on a machine with the least of vectors, for the tests. */
void emu_matrix_add_plain(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                          emu_sums *sums);

#endif
