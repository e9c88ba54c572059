/* SPDX-License-Identifier: Apache-2.0 */
#include "wgmma_case.h"

static const struct {
  wgmma_type a, b, d;
} types[] = {
    {F16, F16, F32},   {F16, F16, F16},   {BF16, BF16, F32}, {TF32, TF32, F32}, {E4M3, E4M3, F32},
    {E4M3, E5M2, F32}, {E5M2, E4M3, F32}, {E5M2, E5M2, F32}, {E4M3, E4M3, F16}, {E5M2, E5M2, F16},
    {S8, S8, S32},     {U8, U8, S32},     {S8, U8, S32},     {U8, S8, S32},     {B1, B1, S32},
};
enum { NUM_TYPES = sizeof types / sizeof types[0] };

/* What is tried with each type. */
typedef struct variant {
  const char *about;
  unsigned n, swizzle, step;
  bool padded, in_registers, starts_anew, negates, saturates, has_specials, a_mn, b_mn;
  unsigned line; /* of 128 bytes, at which the pattern starts */
} variant;

static const variant variants[] = {
    {.about = "no swizzle", .n = 8},
    {.about = "no swizzle", .n = 24, .padded = true},
    {.about = "no swizzle", .n = 256, .starts_anew = true},
    {.about = "A in registers", .n = 64, .in_registers = true},
    {.about = "A in registers", .n = 32, .in_registers = true, .starts_anew = true, .swizzle = 1},
    {.about = "128 bytes", .n = 128, .swizzle = 1},
    {.about = "128 bytes", .n = 96, .swizzle = 1, .padded = true, .step = 1},
    {.about = "64 bytes", .n = 64, .swizzle = 2, .padded = true},
    {.about = "64 bytes", .n = 32, .swizzle = 2, .step = 1},
    {.about = "32 bytes", .n = 48, .swizzle = 3, .padded = true},
    {.about = "negation", .n = 16, .negates = true},
    {.about = "saturation", .n = 64, .saturates = true},
    {.about = "infinities and NaN", .n = 128, .has_specials = true},
    {.about = "MN-major, no swizzle", .n = 40, .a_mn = true, .b_mn = true, .padded = true},
    {.about = "MN-major, 128 bytes", .n = 256, .swizzle = 1, .a_mn = true, .b_mn = true, .padded = true},
    {.about = "MN-major, 64 bytes", .n = 72, .swizzle = 2, .a_mn = true, .b_mn = true, .step = 1},
    {.about = "MN-major, 32 bytes", .n = 24, .swizzle = 3, .a_mn = true, .padded = true},
    {.about = "MN-major B, A in registers", .n = 64, .swizzle = 1, .in_registers = true, .b_mn = true},
    {.about = "base offset 1, 128 bytes", .n = 64, .swizzle = 1, .line = 1},
    {.about = "base offset 5, 128 bytes", .n = 64, .swizzle = 1, .line = 5, .a_mn = true, .b_mn = true},
    {.about = "base offset 2, 64 bytes", .n = 64, .swizzle = 2, .line = 2},
    {.about = "base offset 1, 32 bytes", .n = 64, .swizzle = 3, .line = 1},
};
enum { NUM_VARIANTS = sizeof variants / sizeof variants[0] };

static bool fits(unsigned type, const variant *way)
{
  const bool is_integer = types[type].d == S32, has_majors = types[type].a <= BF16;
  return (has_majors || (!way->a_mn && !way->b_mn)) && (!is_integer || (!way->negates && !way->has_specials))
         && (!way->saturates || (is_integer && types[type].a != B1));
}

static wgmma_case make(unsigned type, unsigned which)
{
  const variant *way = &variants[which];
  wgmma_case made = wgmma_case_of(types[type].a, types[type].b, types[type].d, way->n);
  wgmma_case_place(&made, way->a_mn, way->b_mn, way->swizzle, way->padded, way->step);
  made.a_in_registers = way->in_registers;
  made.accumulates = !way->starts_anew;
  made.negates_a = way->negates;
  made.saturates = way->saturates;
  made.has_specials = way->has_specials;
  made.seed = 1000 * type + which;
  if (way->line != 0) {
    made.a.start += 128 * way->line;
    made.b.start += 1024 + 128 * way->line;
    made.used += 4096;
  }
  return made;
}

bool wgmma_sample(unsigned index, wgmma_case *of_out, const char **about_out)
{
  for (unsigned i = 0; i < NUM_TYPES * NUM_VARIANTS; i++) {
    const unsigned type = i / NUM_VARIANTS, which = i % NUM_VARIANTS;
    if (!fits(type, &variants[which])) {
      continue;
    }
    if (index-- == 0) {
      *of_out = make(type, which);
      *about_out = variants[which].about;
      return true;
    }
  }
  return false;
}
