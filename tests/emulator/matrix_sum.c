/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix_sum.h"

#include "lanes.h"
#include "matrix_fast.h"
#include "numbers.h"

enum { M = EMU_MMA_M, N = EMU_MMA_N, MANTISSA_BITS = 23, LEAST_PLACE = EMU_LEAST_PLACE };

/* A double cut to f32; too large a sum is infinite. */
static float cut(double value)
{
  return fabs(value) < 0x1p-126 || fabs(value) >= 0x1p128
             ? emu_round_f32(value, fabs(value) >= 0x1p128 ? EMU_RN : EMU_RZ)
             : (float)emu_float64(emu_bits64(value) & ~0x1fffffffull);
}

float emu_matrix_finish(double sum, emu_sum_rule rule)
{
  const uint32_t left_out = (1u << (MANTISSA_BITS - rule.result_bits)) - 1;
  return rule.is_f16 ? emu_f16_value(emu_to_f16(emu_odd_f32(sum))) : emu_float32(emu_bits32(cut(sum)) & ~left_out);
}

/* ---- Any finite numbers ----------------------------------------------------------------------------------- */

static double power_of_two(int exponent)
{
  return emu_float64((uint64_t)(exponent + 1023) << 52);
}

static void add_row(const emu_factor *a, const emu_factor *b, unsigned m, unsigned from, unsigned to, emu_sum_rule rule,
                    float *sums)
{
  for (unsigned n = 0; n < N; n++) {
    int most = emu_place_of(sums[n]);
    for (unsigned k = from; k < to; k++) {
      const int place = emu_place_of(a->values[emu_factor_a(m, k)]) + emu_place_of(b->values[k * N + n]);
      most = place > most ? place : most;
    }
    const double scale = power_of_two(rule.kept_bits - (most > LEAST_PLACE ? most : LEAST_PLACE));
    double total = (double)(int32_t)((double)sums[n] * scale);
    for (unsigned k = from; k < to; k++) {
      total += (double)(int32_t)((double)a->values[emu_factor_a(m, k)] * (double)b->values[k * N + n] * scale);
    }
    sums[n] = emu_matrix_finish(total / scale, rule);
  }
}

static void add_finite(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                       emu_sums *sums)
{
  if (emu_matrix_has_room(a, b)) {
    emu_matrix_add_fast(a, b, from, to, rule, sums);
    return;
  }
  for (unsigned m = 0; m < M; m++) {
    add_row(a, b, m, from, to, rule, &sums->at[(size_t)m * N]);
  }
}

/* ---- Infinities and NaN ----------------------------------------------------------------------------------- */

/* Whether it had none. */
static bool clear_not_finite(float *values, unsigned count)
{
  unsigned cleared = 0;
  for (unsigned i = 0; i < count; i++) {
    const bool is_finite = fabsf(values[i]) < INFINITY;
    cleared |= (unsigned)!is_finite;
    values[i] = is_finite ? values[i] : 0;
  }
  return cleared == 0;
}

static const emu_factor *finite_part(const emu_factor *factor, unsigned count, emu_factor *room)
{
  if (factor->is_finite) {
    return factor;
  }
  memcpy(room, factor, sizeof *room);
  clear_not_finite(room->values, count);
  emu_factor_look(room, count);
  return room;
}

/* Sums that have an infinity or a NaN in them are that in any order; the others are as ever. */
static void add_special(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, const emu_sums *before,
                        emu_sums *sums)
{
  for (unsigned m = 0; m < M; m++) {
    double plain[N];
    for (unsigned n = 0; n < N; n++) {
      plain[n] = (double)before->at[m * N + n];
    }
    for (unsigned k = from; k < to; k++) {
      const double factor = (double)a->values[emu_factor_a(m, k)];
      for (unsigned n = 0; n < N; n++) {
        plain[n] += factor * (double)b->values[k * N + n];
      }
    }
    for (unsigned n = 0; n < N; n++) {
      float *sum = &sums->at[m * N + n];
      *sum = fabs(plain[n]) < (double)INFINITY ? *sum : emu_canonical((float)plain[n]);
    }
  }
}

void emu_matrix_add(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                    emu_sums *sums)
{
  const emu_sums before = *sums;
  const bool is_finite = clear_not_finite(sums->at, M * N);
  if (is_finite && a->is_finite && b->is_finite) {
    add_finite(a, b, from, to, rule, sums);
    return;
  }
  emu_factor room[2];
  add_finite(finite_part(a, M * to, &room[0]), finite_part(b, N * to, &room[1]), from, to, rule, sums);
  add_special(a, b, from, to, &before, sums);
}

/* ---- Registers -------------------------------------------------------------------------------------------- */

/* Register i of lane 4 r + c: row r + 8 (i / 2), column 2 c + i mod 2; of 16 bits two columns to a register. */
static void load_f16(const uint32_t *from, unsigned first, emu_sums *sums)
{
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    float *fours = &sums->at[(first + lane / 4) * N + lane % 4];
    fours[0] = emu_f16_value(from[lane] & 0xffff);
    fours[4] = emu_f16_value(from[lane] >> 16);
  }
}

void emu_matrix_load(const emu_warp *warp, const emu_slot *slots, bool is_f16, emu_sums *sums)
{
  if (is_f16) {
    load_f16(emu_in32(warp, &slots[0]), 0, sums);
    load_f16(emu_in32(warp, &slots[1]), M / 2, sums);
    return;
  }
  for (unsigned i = 0; i < 4; i++) {
    const uint32_t *from = emu_in32(warp, &slots[i]);
    for (unsigned r = 0; r < M / 2; r++) {
      memcpy(&sums->at[(size_t)(r + M / 2 * (i / 2)) * N + (size_t)4 * (i % 2)], &from[(size_t)4 * r],
             4 * sizeof *from);
    }
  }
}

static void store_f16(const emu_sums *sums, unsigned first, uint32_t *to)
{
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    const float *fours = &sums->at[(first + lane / 4) * N + lane % 4];
    to[lane] = emu_to_f16(fours[0]) | emu_to_f16(fours[4]) << 16;
  }
}

void emu_matrix_store(const emu_warp *warp, const emu_slot *slots, bool is_f16, const emu_sums *sums)
{
  if (is_f16) {
    store_f16(sums, 0, emu_out32(warp, &slots[0]));
    store_f16(sums, M / 2, emu_out32(warp, &slots[1]));
    return;
  }
  for (unsigned i = 0; i < 4; i++) {
    float *to = EMU_OUT(f32, warp, &slots[i]);
    for (unsigned r = 0; r < M / 2; r++) {
      const float *fours = &sums->at[(size_t)(r + M / 2 * (i / 2)) * N + (size_t)4 * (i % 2)];
      for (unsigned c = 0; c < 4; c++) {
        to[4 * r + c] = emu_canonical(fours[c]);
      }
    }
  }
}
