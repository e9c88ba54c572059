/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point formats and rounding. An operation is done in double so that nothing is lost: where the exact result
 * does not fit, the last bit is made odd, and a later rounding to fewer bits is then as if from the exact value. */
#ifndef EMU_NUMBERS_H
#define EMU_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum emu_rounding { EMU_RN, EMU_RZ, EMU_RM, EMU_RP, EMU_RNA } emu_rounding; /* RNA: ties away from zero */

/* A format of at most 16 bits, or f32's for what needs it: sign, exponent, mantissa. */
typedef struct emu_format {
  uint8_t exponent_bits, mantissa_bits;
  bool has_infinity; /* otherwise its patterns are numbers, and what is too large is NaN or the largest */
  bool has_nan;
  uint32_t nan;     /* the NaN that results have */
  uint32_t largest; /* bits of the largest finite number */
} emu_format;

extern const emu_format emu_format_f16, emu_format_bf16, emu_format_e4m3, emu_format_e5m2, emu_format_e2m3,
    emu_format_e3m2, emu_format_e2m1;

static inline uint32_t emu_bits32(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float emu_float32(uint32_t bits)
{
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint64_t emu_bits64(double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double emu_float64(uint64_t bits)
{
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The NaN that f32 results have. */
#define EMU_NAN32 0x7fffffffu
static inline float emu_canonical(float value)
{
  return value != value ? emu_float32(EMU_NAN32) : value;
}

static inline float emu_flush(float value)
{
  const uint32_t bits = emu_bits32(value);
  return (bits & 0x7f800000) == 0 ? emu_float32(bits & 0x80000000) : value;
}

/* To 0 ... 1; NaN becomes 0. */
static inline float emu_saturate(float value)
{
  return value > 0 ? (value < 1 ? value : 1.0f) : 0.0f;
}

/* f64 keeps a NaN's sign and payload and makes it a quiet one. */
#define EMU_QUIET64 0x0008000000000000ull
#define EMU_NAN64 0xfff8000000000000ull
static inline double emu_quiet64(double value)
{
  return emu_float64(emu_bits64(value) | EMU_QUIET64);
}
/* A result: where it is NaN, the first of b, c and a that is one, or the NaN of an invalid operation. */
static inline double emu_nan64(double result, double a, double b, double c)
{
  return result == result ? result
         : b != b         ? emu_quiet64(b)
         : c != c         ? emu_quiet64(c)
         : a != a         ? emu_quiet64(a)
                          : emu_float64(EMU_NAN64);
}

/* a + b, made odd where it does not fit. */
double emu_sum_odd(double a, double b);
/* From such a value. NaN becomes the canonical one. */
float emu_round_f32(double value, emu_rounding rounding);
/* The result of an operation with .ftz: 0 for what would be below the least normal number if exponents had no end. */
static inline float emu_flush_result(double exact, float rounded, emu_rounding rounding)
{
  const bool is_small = fabs(exact) < 0x1p-125 && fabsf(emu_round_f32(exact * 0x1p64, rounding)) < 0x1p-62f;
  return is_small ? copysignf(0.0f, rounded) : rounded;
}

/* The bits in a small format. saturates: what is too large becomes the largest finite number; NaN stays. */
uint32_t emu_round_small(double value, const emu_format *format, emu_rounding rounding, bool saturates);
double emu_small_value(uint32_t bits, const emu_format *format);

static inline float emu_f16_value(uint32_t bits)
{
  const uint32_t sign = (bits & 0x8000) << 16, size = bits & 0x7fff;
  const uint32_t wide = size << 13;
  const float normal = emu_float32(wide + (112u << 23) + (size >= 0x7c00 ? 112u << 23 : 0u));
  const float small = (float)(int32_t)size * 0x1p-24f;
  return emu_float32(emu_bits32(size >= 0x400 ? normal : small) | sign);
}

/* Its exponent and mantissa stand in f16's; e5m2 is f16's upper half. */
static inline float emu_e4m3_value(uint32_t bits)
{
  const uint32_t size = bits & 0x7f;
  const float value = emu_f16_value((bits & 0x80) << 8 | size << 7) * 0x1p8f;
  return size == 0x7f ? NAN : value;
}

static inline float emu_bf16_value(uint32_t bits)
{
  return emu_float32(bits << 16);
}

/* To nearest, ties to even. NaN becomes the canonical one. */
static inline uint32_t emu_to_bf16(float value)
{
  const uint32_t bits = emu_bits32(value);
  return value != value ? 0x7fffu : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static inline uint32_t emu_to_f16(float value)
{
  const uint32_t bits = emu_bits32(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  /* Below the least normal number the sum with 1/2 rounds, as its last bit is worth the least subnormal. */
  const uint32_t small = emu_bits32(emu_float32(size) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
  const uint32_t finite = size < 0x38800000 ? small : size >= 0x477ff000 ? 0x7c00u : normal;
  return size > 0x7f800000 ? 0x7fffu : sign | finite;
}

/* A float whose last bit is odd where it is not exact, so that rounding it again is right. */
static inline float emu_odd_f32(double value)
{
  const float nearest = (float)value;
  const double back = nearest;
  const uint32_t bits = emu_bits32(nearest);
  if (back == value || value != value || (bits & 1) != 0) {
    return nearest;
  }
  const bool outwards = (back < value) == (value > 0);
  return emu_float32(outwards ? bits + 1 : bits - 1);
}

#endif
