/* SPDX-License-Identifier: Apache-2.0 */
#include "product_shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "numbers.h"

static uint32_t field(uint32_t bits, unsigned first, unsigned count)
{
  return bits >> first & ((1u << count) - 1);
}

typedef struct check {
  uint32_t bits;
  emu_product_kind kind;
  bool is_ws;
  char *why;
  size_t room;
} check;

static bool wrong(const check *of, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(const check *of, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(of->why, of->room, format, arguments);
  va_end(arguments);
  return false;
}

static const char *const kind_names[] = {"f16", "tf32", "f8f6f4", "i8"};

/* ---- Types ------------------------------------------------------------------------------------------------ */

static bool element_type(const check *of, const char *which, uint32_t code, emu_element *out)
{
  static const int8_t f8f6f4[] = {EMU_ELEMENT_E4M3, EMU_ELEMENT_E5M2, -1, EMU_ELEMENT_E2M3,
                                  EMU_ELEMENT_E3M2, EMU_ELEMENT_E2M1, -1, -1};
  int found = -1;
  switch (of->kind) {
  case EMU_KIND_F16:
    found = code == 0 ? EMU_ELEMENT_F16 : code == 1 ? EMU_ELEMENT_BF16 : -1;
    break;
  case EMU_KIND_TF32:
    found = code == 2 ? EMU_ELEMENT_TF32 : -1;
    break;
  case EMU_KIND_F8F6F4:
    found = f8f6f4[code];
    break;
  case EMU_KIND_I8:
    found = code == 0 ? EMU_ELEMENT_U8 : code == 1 ? EMU_ELEMENT_S8 : -1;
    break;
  }
  if (found < 0) {
    return wrong(of, "%stype %u is none of kind::%s", which, code, kind_names[of->kind]);
  }
  *out = (emu_element)found;
  return true;
}

static bool is_byte(emu_element type)
{
  return type == EMU_ELEMENT_E4M3 || type == EMU_ELEMENT_E5M2 || type >= EMU_ELEMENT_U8;
}

static bool read_types(const check *of, emu_product_shape *out)
{
  const uint32_t code = field(of->bits, 4, 2);
  if (!element_type(of, "a", field(of->bits, 7, 3), &out->a)
      || !element_type(of, "b", field(of->bits, 10, 3), &out->b)) {
    return false;
  }
  const bool wants_s32 = of->kind == EMU_KIND_I8, may_f16 = of->kind == EMU_KIND_F16 || of->kind == EMU_KIND_F8F6F4;
  if (wants_s32 ? code != 2 : code > 1 || (code == 0 && !may_f16)) {
    return wrong(of, "dtype %u is none of kind::%s", code, kind_names[of->kind]);
  }
  out->d = (emu_sum)code;
  if (code == 0 && of->kind == EMU_KIND_F16 && (out->a != EMU_ELEMENT_F16 || out->b != EMU_ELEMENT_F16)) {
    return wrong(of, "dtype f16 with bf16 operands");
  }
  return true;
}

static bool read_flags(const check *of, emu_product_shape *out)
{
  out->saturates = field(of->bits, 3, 1) != 0;
  out->negates_a = field(of->bits, 13, 1) != 0;
  out->negates_b = field(of->bits, 14, 1) != 0;
  out->transposes_a = field(of->bits, 15, 1) != 0;
  out->transposes_b = field(of->bits, 16, 1) != 0;
  if (field(of->bits, 2, 1) != 0 || field(of->bits, 0, 2) != 0) {
    return wrong(of, "bits 0 to 2 are 0x%x: sparsity, and the instruction is no mma.sp", field(of->bits, 0, 3));
  }
  if (field(of->bits, 6, 1) != 0 || field(of->bits, 23, 1) != 0 || field(of->bits, 29, 1) != 0) {
    return wrong(of, "bits 6, 23 and 29 are reserved and must be 0");
  }
  if (field(of->bits, 30, 2) != 0 && !of->is_ws) {
    return wrong(of, "a maximum shift of %u, which is for mma.ws", field(of->bits, 30, 2));
  }
  if (of->kind == EMU_KIND_I8 ? out->negates_a || out->negates_b : out->saturates) {
    return wrong(of, "kind::%s does not %s", kind_names[of->kind], of->kind == EMU_KIND_I8 ? "negate" : "saturate");
  }
  const bool small_a = out->a >= EMU_ELEMENT_E2M3 && out->a <= EMU_ELEMENT_E2M1;
  const bool small_b = out->b >= EMU_ELEMENT_E2M3 && out->b <= EMU_ELEMENT_E2M1;
  if ((small_a && out->transposes_a) || (small_b && out->transposes_b)) {
    return wrong(of, "%s of 4 or 6 bits is transposed", small_a && out->transposes_a ? "A" : "B");
  }
  return true;
}

/* ---- Shapes ----------------------------------------------------------------------------------------------- */

static bool good_n(const check *of, const emu_product_shape *out, uint32_t n)
{
  const bool bytes_across = out->transposes_b && is_byte(out->b); /* Table 52 */
  const uint32_t step = 8 * out->blocks;
  if (n < step || n > 256) {
    return false;
  }
  if (of->is_ws) {
    return n == 64 || n == 128 || n == 256;
  }
  if (of->kind == EMU_KIND_I8) {
    return n % (out->blocks == 2 || bytes_across ? 16 * out->blocks : n > 32 ? 16 : 8) == 0;
  }
  return n % (bytes_across ? 2 * step : step) == 0;
}

static bool read_shape(const check *of, emu_product_shape *out)
{
  const uint32_t m = field(of->bits, 24, 5) << 4, n = field(of->bits, 17, 6) << 3;
  const bool good_m = of->is_ws          ? m == 32 || m == 64 || m == 128
                      : out->blocks == 1 ? m == 64 || m == 128
                                         : m == 128 || m == 256;
  if (!good_m) {
    return wrong(of, "M = %u: %s", m,
                 of->is_ws          ? "32, 64 or 128 with .ws"
                 : out->blocks == 1 ? "64 or 128 with cta_group::1"
                                    : "128 or 256 with cta_group::2");
  }
  if (!good_n(of, out, n)) {
    return wrong(of, "N = %u is none of kind::%s with cta_group::%u%s%s", n, kind_names[of->kind], out->blocks,
                 of->is_ws ? " and .ws" : "", out->transposes_b && is_byte(out->b) ? " and B of bytes transposed" : "");
  }
  out->m = m;
  out->n = n;
  out->rows = m / out->blocks;
  out->is_half = m == 64 && !of->is_ws;
  out->parts = out->is_half ? 1 : 128 / out->rows;
  return true;
}

bool emu_product_decode(uint32_t bits, emu_product_kind kind, bool is_ws, uint32_t blocks, emu_product_shape *out,
                        char *why, size_t room)
{
  const check of = {bits, kind, is_ws, why, room};
  static const uint8_t ks[] = {16, 8, 32, 32};
  *out = (emu_product_shape){.k = ks[kind], .blocks = blocks};
  return read_types(&of, out) && read_flags(&of, out) && read_shape(&of, out);
}

uint32_t emu_product_lane(const emu_product_shape *shape, uint32_t row, uint32_t part, uint32_t base)
{
  return shape->is_half ? row / 16 * 32 + row % 16 + base : row + part * shape->rows;
}

/* ---- Elements --------------------------------------------------------------------------------------------- */

uint32_t emu_elements_per_chunk(emu_element type)
{
  return type == EMU_ELEMENT_TF32 ? 4 : type <= EMU_ELEMENT_BF16 ? 8 : 16;
}

/* bits: of one element, the smaller ones already apart. */
static float value_of(uint32_t bits, emu_element type)
{
  switch (type) {
  case EMU_ELEMENT_F16:
    return emu_f16_value(bits & 0xffff);
  case EMU_ELEMENT_BF16:
    return emu_bf16_value(bits & 0xffff);
  case EMU_ELEMENT_TF32:
    return emu_float32(bits & ~0x1fffu);
  case EMU_ELEMENT_E4M3:
    return (float)emu_small_value(bits & 0xff, &emu_format_e4m3);
  case EMU_ELEMENT_E5M2:
    return (float)emu_small_value(bits & 0xff, &emu_format_e5m2);
  case EMU_ELEMENT_E2M3:
    return (float)emu_small_value(bits & 0x3f, &emu_format_e2m3);
  case EMU_ELEMENT_E3M2:
    return (float)emu_small_value(bits & 0x3f, &emu_format_e3m2);
  case EMU_ELEMENT_E2M1:
    return (float)emu_small_value(bits & 0xf, &emu_format_e2m1);
  case EMU_ELEMENT_U8:
    return (float)(bits & 0xff);
  default:
    return (float)(int8_t)(uint8_t)bits;
  }
}

float emu_element_of_chunk(const uint8_t *chunk, emu_element type, uint32_t index)
{
  const uint32_t size = type == EMU_ELEMENT_E2M1                               ? 4
                        : type == EMU_ELEMENT_E2M3 || type == EMU_ELEMENT_E3M2 ? 6
                                                                               : 128 / emu_elements_per_chunk(type);
  const uint32_t first = index * size;
  uint64_t bits = 0;
  memcpy(&bits, chunk + first / 8, size <= 8 ? (first % 8 + size + 7) / 8 : size / 8);
  return value_of((uint32_t)(bits >> first % 8), type);
}

/* In tensor memory 6 bits are the lower ones of a byte, 4 bits the middle ones. */
float emu_element_of_word(uint32_t word, emu_element type, uint32_t index)
{
  const uint32_t size = 128 / emu_elements_per_chunk(type);
  const uint32_t bits = size == 32 ? word : word >> (index * size);
  return value_of(type == EMU_ELEMENT_E2M1 ? bits >> 2 : bits, type);
}
