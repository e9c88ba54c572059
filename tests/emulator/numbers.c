/* SPDX-License-Identifier: Apache-2.0 */
#include "numbers.h"

const emu_format emu_format_f16 = {5, 10, true, true, 0x7fff, 0x7bff};
const emu_format emu_format_bf16 = {8, 7, true, true, 0x7fff, 0x7f7f};
const emu_format emu_format_e4m3 = {4, 3, false, true, 0x7f, 0x7e};
const emu_format emu_format_e5m2 = {5, 2, true, true, 0x7f, 0x7b};
const emu_format emu_format_e2m3 = {2, 3, false, false, 0x1f, 0x1f};
const emu_format emu_format_e3m2 = {3, 2, false, false, 0x1f, 0x1f};
const emu_format emu_format_e2m1 = {2, 1, false, false, 0x7, 0x7};

double emu_sum_odd(double a, double b)
{
  const double sum = a + b;
  if (!isfinite(sum)) {
    return sum;
  }
  const double part = sum - a;
  const double lost = (a - (sum - part)) + (b - part);
  uint64_t bits = emu_bits64(sum);
  if (lost == 0 || (bits & 1) != 0) {
    return sum;
  }
  /* The exact value lies beside the sum, on the side of what was lost: that neighbour is odd. */
  const bool outwards = (lost > 0) == (sum > 0);
  bits = outwards ? bits + 1 : bits - 1;
  return emu_float64(bits);
}

float emu_round_f32(double value, emu_rounding rounding)
{
  if (value != value) {
    return emu_float32(EMU_NAN32);
  }
  const float nearest = (float)value;
  if ((double)nearest == value || isinf(value)) {
    return nearest;
  }
  const bool above = (double)nearest > value;
  const bool toward_zero = rounding == EMU_RZ;
  if (above && (rounding == EMU_RM || (toward_zero && value > 0))) {
    return nextafterf(nearest, -INFINITY);
  }
  if (!above && (rounding == EMU_RP || (toward_zero && value < 0))) {
    return nextafterf(nearest, INFINITY);
  }
  return nearest;
}

/* value * 2^scale as a whole number, rounded. */
static uint64_t round_whole(double value, emu_rounding rounding, bool negative)
{
  const double below = floor(value);
  const double rest = value - below;
  uint64_t whole = (uint64_t)below;
  bool up = false;
  switch (rounding) {
  case EMU_RN:
    up = rest > 0.5 || (rest == 0.5 && (whole & 1) != 0);
    break;
  case EMU_RNA:
    up = rest >= 0.5;
    break;
  case EMU_RZ:
    break;
  case EMU_RM:
    up = rest > 0 && negative;
    break;
  case EMU_RP:
    up = rest > 0 && !negative;
    break;
  }
  return whole + up;
}

uint32_t emu_round_small(double value, const emu_format *format, emu_rounding rounding, bool saturates)
{
  const unsigned mantissa = format->mantissa_bits;
  const uint32_t sign = (uint32_t)(signbit(value) != 0) << (format->exponent_bits + mantissa);
  if (value != value) {
    return format->nan; /* what has no NaN takes its largest number */
  }
  const bool negative = sign != 0;
  const double size = fabs(value);
  const int bias = (1 << (format->exponent_bits - 1)) - 1;
  const uint32_t too_large = format->has_infinity ? format->largest + 1
                             : format->has_nan    ? format->nan
                                                  : format->largest;
  if (isinf(size)) {
    return sign | (saturates ? format->largest : too_large);
  }
  int exponent = size == 0 ? 1 - bias : ilogb(size);
  exponent = exponent < 1 - bias ? 1 - bias : exponent;
  uint64_t whole = round_whole(ldexp(size, (int)mantissa - exponent), rounding, negative);
  /* The mantissa's carry goes into the exponent of itself. */
  const uint64_t field = (uint64_t)(exponent + bias - 1) << mantissa;
  const uint64_t bits = field + whole;
  if (bits > format->largest) {
    const bool inwards = rounding == EMU_RZ || (rounding == EMU_RM && !negative) || (rounding == EMU_RP && negative);
    return sign | (saturates || (inwards && format->has_infinity) ? format->largest : too_large);
  }
  return sign | (uint32_t)bits;
}

double emu_small_value(uint32_t bits, const emu_format *format)
{
  const unsigned mantissa = format->mantissa_bits, all = format->exponent_bits + mantissa;
  const uint32_t size = bits & ((1u << all) - 1);
  const double sign = (bits >> all & 1) != 0 ? -1 : 1;
  if (size > format->largest) {
    return format->has_infinity && size == format->largest + 1 ? sign * INFINITY : NAN;
  }
  const int bias = (1 << (format->exponent_bits - 1)) - 1;
  const int exponent = (int)(size >> mantissa);
  const double fraction = size & ((1u << mantissa) - 1);
  return exponent == 0 ? sign * ldexp(fraction, 1 - bias - (int)mantissa)
                       : sign * ldexp(fraction + (1 << mantissa), exponent - bias - (int)mantissa);
}
