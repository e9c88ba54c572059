/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two times eleven bits are exact in f32, and stay so when they are multiplied by a power of two to become
 * whole numbers: below 2^27, so that sixteen have room in 32 bits. */
#include "matrix_fast.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* LEAST: below the place of each product that has room, and a scale by it is still a float. */
enum { M = EMU_MMA_M, N = EMU_MMA_N, FOUR = EMU_MMA_FOUR, ROOM = 100, LEAST = -102 };

typedef float floats __attribute__((vector_size(4 * N)));
typedef int32_t words __attribute__((vector_size(4 * N)));
typedef int16_t shorts __attribute__((vector_size(2 * N)));

#define EMU_INLINE static inline __attribute__((always_inline))

/* ---- Factors ---------------------------------------------------------------------------------------------- */

EMU_INLINE void look(emu_factor *factor, unsigned count)
{
  uint32_t most = 0, least = UINT32_MAX; /* as bits; least less 1, so that 0 is none */
  for (unsigned i = 0; i < count; i++) {
    const uint32_t size = emu_bits32(factor->values[i]) & 0x7fffffff;
    factor->places[i] = (int16_t)(size < 0x800000 ? EMU_NO_PLACE : (int32_t)(size >> 23) - 127);
    most = size > most ? size : most;
    least = size - 1 < least ? size - 1 : least;
  }
  factor->most = (int16_t)((int32_t)(most >> 23) - 127);
  factor->least = (int16_t)(least < 0x7fffff ? EMU_NO_PLACE : (int32_t)(least >> 23) - 127);
  factor->is_finite = most < 0x7f800000;
}

bool emu_matrix_has_room(const emu_factor *a, const emu_factor *b)
{
  return a->most + b->most <= ROOM && a->least + b->least >= -ROOM;
}

/* ---- Sums ------------------------------------------------------------------------------------------------- */

/* Of each sum the largest place, and the whole numbers added, without the accumulator's. */
typedef struct work {
  _Alignas(32) int16_t places[M * N];
  _Alignas(32) int32_t wholes[M * N];
} work;

EMU_INLINE shorts larger(shorts x, shorts y)
{
#if defined(__SSE2__)
  return (shorts)_mm_max_epi16((__m128i)x, (__m128i)y);
#else
  const shorts is_x = x > y;
  return (x & is_x) | (y & ~is_x);
#endif
}

EMU_INLINE void find_places(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, work *w)
{
  for (unsigned m = 0; m < M; m++) {
    shorts most, place;
    memcpy(&most, &w->places[m * N], sizeof most);
    for (unsigned k = from; k < to; k += FOUR) {
      const int16_t *with = &a->places[emu_factor_a(m, k)], *column = &b->places[(size_t)k * N];
      for (unsigned c = 0; c < FOUR; c++) {
        memcpy(&place, column + (size_t)c * N, sizeof place);
        most = larger(most, place + with[c]);
      }
    }
    memcpy(&w->places[m * N], &most, sizeof most);
  }
}

EMU_INLINE void add_products(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, int kept_bits,
                             work *w)
{
  for (unsigned m = 0; m < M; m++) {
    shorts place;
    memcpy(&place, &w->places[m * N], sizeof place);
    place = larger(place, place - place + LEAST);
    const words exponent = (kept_bits + 127 - __builtin_convertvector(place, words)) << 23;
    const floats scale = (floats)exponent;
    words sum = exponent - exponent;
    for (unsigned k = from; k < to; k += FOUR) {
      const float *with = &a->values[emu_factor_a(m, k)], *column = &b->values[(size_t)k * N];
      for (unsigned c = 0; c < FOUR; c++) {
        floats value;
        memcpy(&value, column + (size_t)c * N, sizeof value);
        sum += __builtin_convertvector(value * with[c] * scale, words);
      }
    }
    memcpy(&w->wholes[m * N], &sum, sizeof sum);
  }
}

/* The sums as they are before they are cut. Whether one is out of what f32's normal numbers are. */
EMU_INLINE bool add_accumulator(const work *w, int kept_bits, const float *sums, double *exact)
{
  unsigned outside = 0;
  for (unsigned i = 0; i < M * N; i++) {
    const int place = w->places[i] > EMU_LEAST_PLACE ? w->places[i] : EMU_LEAST_PLACE;
    const double scale = emu_float64((uint64_t)(int64_t)(kept_bits - place + 1023) << 52);
    const double back = emu_float64((uint64_t)(int64_t)(place - kept_bits + 1023) << 52);
    const double whole = (double)(int32_t)((double)sums[i] * scale) + (double)w->wholes[i];
    exact[i] = whole * back;
    outside |= (unsigned)(fabs(exact[i]) >= 0x1p128) | (unsigned)((fabs(exact[i]) < 0x1p-126) & (whole != 0));
  }
  return outside != 0;
}

EMU_INLINE void add(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                    emu_sums *sums)
{
  work w;
  double exact[M * N];
  float *at = sums->at;
  for (unsigned i = 0; i < M * N; i++) {
    w.places[i] = emu_place_of(at[i]);
  }
  find_places(a, b, from, to, &w);
  add_products(a, b, from, to, rule.kept_bits, &w);
  if (add_accumulator(&w, rule.kept_bits, at, exact) || rule.is_f16) {
    for (unsigned i = 0; i < M * N; i++) {
      at[i] = emu_matrix_finish(exact[i], rule);
    }
    return;
  }
  const uint64_t kept = ~((1ull << (52 - rule.result_bits)) - 1);
  for (unsigned i = 0; i < M * N; i++) {
    at[i] = (float)emu_float64(emu_bits64(exact[i]) & kept);
  }
}

/* ---- With the vectors that the machine has ---------------------------------------------------------------- */

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void look_avx2(emu_factor *factor, unsigned count)
{
  look(factor, count);
}

__attribute__((target("avx2"))) static void add_avx2(const emu_factor *a, const emu_factor *b, unsigned from,
                                                     unsigned to, emu_sum_rule rule, emu_sums *sums)
{
  add(a, b, from, to, rule, sums);
}
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define HAS_AVX2 false
#define look_avx2 look
#define add_avx2 add
#endif

void emu_factor_look(emu_factor *factor, unsigned count)
{
  if (HAS_AVX2) {
    look_avx2(factor, count);
  } else {
    look(factor, count);
  }
}

void emu_matrix_add_plain(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                          emu_sums *sums)
{
  add(a, b, from, to, rule, sums);
}

void emu_matrix_add_fast(const emu_factor *a, const emu_factor *b, unsigned from, unsigned to, emu_sum_rule rule,
                         emu_sums *sums)
{
  if (HAS_AVX2) {
    add_avx2(a, b, from, to, rule, sums);
  } else {
    emu_matrix_add_plain(a, b, from, to, rule, sums);
  }
}
