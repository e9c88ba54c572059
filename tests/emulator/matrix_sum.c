/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix_sum.h"

#include "lanes.h"
#include "numbers.h"

enum { M = EMU_MMA_M, N = EMU_MMA_N, MANTISSA_BITS = 23, NOTHING = -8192, LEAST_PLACE = -500 };

/* The exponent's field less f32's bias; of subnormal numbers by their leading one, of what is not finite NOTHING. */
static int16_t place_of(float value)
{
  const uint32_t bits = emu_bits32(value), field = bits >> 23 & 255, fraction = bits & 0x7fffff;
  if (field == 255 || (field == 0 && fraction == 0)) {
    return NOTHING;
  }
  return (int16_t)(field != 0 ? (int)field - 127 : -118 - __builtin_clz(fraction));
}

static bool find_places(const float *values, unsigned count, int16_t *places)
{
  bool finite = true;
  for (unsigned i = 0; i < count; i++) {
    places[i] = place_of(values[i]);
    finite = finite && isfinite(values[i]);
  }
  return finite;
}

static double power_of_two(int exponent)
{
  return emu_float64((uint64_t)(exponent + 1023) << 52);
}

/* A double cut to f32; too large a sum is infinite. */
static float cut(double value)
{
  return fabs(value) < 0x1p-126 || fabs(value) >= 0x1p128
             ? emu_round_f32(value, fabs(value) >= 0x1p128 ? EMU_RN : EMU_RZ)
             : (float)emu_float64(emu_bits64(value) & ~0x1fffffffull);
}

static void finish(const double *totals, const double *scales, emu_sum_rule rule, float *sums)
{
  const uint32_t left_out = (1u << (MANTISSA_BITS - rule.result_bits)) - 1;
  for (unsigned n = 0; n < N; n++) {
    const double sum = totals[n] / scales[n];
    sums[n] = rule.is_f16 ? emu_f16_value(emu_to_f16(emu_odd_f32(sum))) : emu_float32(emu_bits32(cut(sum)) & ~left_out);
  }
}

static void add_row(const float *a, const int16_t *a_places, float b[][N], int16_t b_places[][N], unsigned from,
                    unsigned to, emu_sum_rule rule, float *sums)
{
  int16_t places[N];
  double scales[N], totals[N];
  (void)find_places(sums, N, places);
  for (unsigned k = from; k < to; k++) {
    for (unsigned n = 0; n < N; n++) {
      const int16_t place = (int16_t)(a_places[k] + b_places[k][n]);
      places[n] = place > places[n] ? place : places[n];
    }
  }
  for (unsigned n = 0; n < N; n++) {
    scales[n] = power_of_two(rule.kept_bits - (places[n] > LEAST_PLACE ? places[n] : LEAST_PLACE));
    totals[n] = (double)(int32_t)((double)sums[n] * scales[n]);
  }
  for (unsigned k = from; k < to; k++) {
    const double factor = (double)a[k];
    for (unsigned n = 0; n < N; n++) {
      totals[n] += (double)(int32_t)(factor * (double)b[k][n] * scales[n]);
    }
  }
  finish(totals, scales, rule, sums);
}

static float finite_or_zero(float value)
{
  return isfinite(value) ? value : 0;
}

/* Sums that have an infinity or a NaN in them are that in any order; the others of the row are as ever. */
static void add_special_row(const float *a, float b[][N], unsigned from, unsigned to, emu_sum_rule rule, float *sums)
{
  float finite_a[EMU_MMA_K], finite_b[EMU_MMA_K][N];
  int16_t a_places[EMU_MMA_K], b_places[EMU_MMA_K][N];
  double plain[N];
  for (unsigned n = 0; n < N; n++) {
    plain[n] = (double)sums[n];
    sums[n] = finite_or_zero(sums[n]);
  }
  for (unsigned k = from; k < to; k++) {
    finite_a[k] = finite_or_zero(a[k]);
    a_places[k] = place_of(a[k]);
    for (unsigned n = 0; n < N; n++) {
      plain[n] += (double)a[k] * (double)b[k][n];
      finite_b[k][n] = finite_or_zero(b[k][n]);
      b_places[k][n] = place_of(b[k][n]);
    }
  }
  add_row(finite_a, a_places, finite_b, b_places, from, to, rule, sums);
  for (unsigned n = 0; n < N; n++) {
    sums[n] = isfinite(plain[n]) ? sums[n] : emu_canonical((float)plain[n]);
  }
}

void emu_matrix_add(float a[M][EMU_MMA_K], float b[EMU_MMA_K][N], unsigned from, unsigned to, emu_sum_rule rule,
                    float sums[M][N])
{
  int16_t a_places[EMU_MMA_K], b_places[EMU_MMA_K][N];
  bool b_finite = true;
  for (unsigned k = from; k < to; k++) {
    b_finite = find_places(b[k], N, b_places[k]) && b_finite;
  }
  for (unsigned m = 0; m < M; m++) {
    int16_t ignored[N];
    const bool finite = find_places(a[m] + from, to - from, a_places + from) && b_finite;
    if (finite && find_places(sums[m], N, ignored)) {
      add_row(a[m], a_places, b, b_places, from, to, rule, sums[m]);
    } else {
      add_special_row(a[m], b, from, to, rule, sums[m]);
    }
  }
}

/* Register i of lane 4 r + c: row r + 8 (i / 2), column 2 c + i mod 2; of 16 bits two columns to a register. */
void emu_matrix_load(const emu_warp *warp, const emu_slot *slots, bool is_f16, float sums[M][N])
{
  for (unsigned i = 0; i < (is_f16 ? 2 : 4); i++) {
    const uint32_t *from = emu_in32(warp, &slots[i]);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
      if (is_f16) {
        sums[lane / 4 + 8 * i][2 * (lane % 4)] = emu_f16_value(from[lane] & 0xffff);
        sums[lane / 4 + 8 * i][2 * (lane % 4) + 1] = emu_f16_value(from[lane] >> 16);
      } else {
        sums[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2] = emu_float32(from[lane]);
      }
    }
  }
}

void emu_matrix_store(const emu_warp *warp, const emu_slot *slots, bool is_f16, float sums[M][N])
{
  for (unsigned i = 0; i < (is_f16 ? 2 : 4); i++) {
    uint32_t *to = emu_out32(warp, &slots[i]);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
      const float *pair = &sums[lane / 4 + 8 * (is_f16 ? i : i / 2)][2 * (lane % 4)];
      to[lane] = is_f16 ? emu_to_f16(pair[0]) | emu_to_f16(pair[1]) << 16 : emu_bits32(emu_canonical(pair[i % 2]));
    }
  }
}
