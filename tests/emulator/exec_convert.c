/* SPDX-License-Identifier: Apache-2.0 */
/* cvt: from any type to any other, and to the small floating-point formats. */
#include "families.h"
#include "lanes.h"
#include "numbers.h"

/* In the order of the choices in the patterns below; 0 is none. */
enum { U8 = 1, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64 };
#define INTEGERS "u8|s8|u16|s16|u32|s32|u64|s64"

static const struct {
  uint8_t bits;
  bool is_signed;
} integers[] = {{0, false},  {8, false}, {8, true},   {16, false}, {16, true},
                {32, false}, {32, true}, {64, false}, {64, true}};

/* The value of an integer type in 64 bits, extended by its sign. */
static uint64_t take(uint64_t raw, unsigned type)
{
  const unsigned unused = 64 - integers[type].bits;
  return integers[type].is_signed ? (uint64_t)((int64_t)(raw << unused) >> unused) : raw << unused >> unused;
}

/* ---- Integer to integer ----------------------------------------------------------------------------------- */

static uint64_t clamp(uint64_t value, bool value_signed, unsigned type)
{
  const unsigned bits = integers[type].bits;
  if (integers[type].is_signed) {
    const int64_t most = (int64_t)(~0ull >> (65 - bits)), least = -most - 1;
    if (!value_signed && value > (uint64_t)most) {
      return (uint64_t)most;
    }
    const int64_t number = (int64_t)value;
    return (uint64_t)(number > most ? most : number < least ? least : number);
  }
  const uint64_t most = ~0ull >> (64 - bits);
  if (value_signed && (int64_t)value < 0) {
    return 0;
  }
  return value > most ? most : value;
}

/* A result narrower than its register is extended to it. Choices: sat, to, from. */
static emu_next int_to_int(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned to = step->mods[1], from = step->mods[2];
  EMU_FOR_LANES(lane, active)
  {
    uint64_t value = take(emu_lane(warp, &step->src[0], lane), from);
    value = step->mods[0] != 0 ? clamp(value, integers[from].is_signed, to) : value;
    emu_set_lane(warp, &step->dst[0], lane, take(value, to));
  }
  return EMU_NEXT;
}

/* The frequent ones. */
static emu_next widen(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (step->dst[0].size != 8 || step->src[0].size != 4) {
    return int_to_int(warp, step, active);
  }
  uint64_t *to = emu_out64(warp, &step->dst[0]);
  const uint32_t *from = emu_in32(warp, &step->src[0]);
  EMU_LANE_LOOP(active, { to[lane] = from[lane]; })
  return EMU_NEXT;
}

static emu_next narrow(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (step->dst[0].size != 4 || step->src[0].size != 8) {
    return int_to_int(warp, step, active);
  }
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  const uint64_t *from = emu_in64(warp, &step->src[0]);
  EMU_LANE_LOOP(active, { to[lane] = (uint32_t)from[lane]; })
  return EMU_NEXT;
}

/* ---- With floating point ---------------------------------------------------------------------------------- */

static emu_rounding rounding_of(unsigned choice)
{
  static const emu_rounding of[] = {EMU_RN, EMU_RN, EMU_RZ, EMU_RM, EMU_RP};
  return of[choice];
}

static double float_value(uint64_t raw, unsigned type, bool flush)
{
  switch (type) {
  case F16:
    return (double)emu_f16_value((uint32_t)raw & 0xffff);
  case BF16:
    return (double)emu_bf16_value((uint32_t)raw & 0xffff);
  case F32: {
    const float value = emu_float32((uint32_t)raw);
    return (double)(flush ? emu_flush(value) : value);
  }
  default:
    return emu_float64(raw);
  }
}

/* From a value in double that is exact or odd. */
static uint64_t float_bits(double value, unsigned type, emu_rounding rounding, bool flush)
{
  switch (type) {
  case F16:
    return emu_round_small(value, &emu_format_f16, rounding, false);
  case BF16:
    return emu_round_small(value, &emu_format_bf16, rounding, false);
  case F32: {
    const float result = emu_round_f32(value, rounding);
    return emu_bits32(flush ? emu_flush(result) : result);
  }
  default:
    return emu_bits64(value);
  }
}

static double whole_value(double value, unsigned choice)
{
  switch (choice) {
  case 2:
    return trunc(value);
  case 3:
    return floor(value);
  case 4:
    return ceil(value);
  default:
    return rint(value);
  }
}

/* Out of range: the nearest that there is; NaN: 0, but the top bit alone in a result of 64 bits and in any from f64. */
static uint64_t to_integer(double value, unsigned choice, unsigned type, bool from_f64)
{
  const unsigned bits = integers[type].bits;
  const bool is_signed = integers[type].is_signed;
  if (value != value) {
    return bits == 64 || from_f64 ? 1ull << (bits - 1) : 0;
  }
  const double whole = whole_value(value, choice);
  const double above = ldexp(1, (int)bits - (is_signed ? 1 : 0)), least = is_signed ? -above : 0;
  if (whole >= above) {
    return is_signed ? ~0ull >> (65 - bits) : ~0ull >> (64 - bits);
  }
  if (whole <= least) {
    return is_signed ? (uint64_t)0 - (1ull << (bits - 1)) : 0;
  }
  return is_signed ? (uint64_t)(int64_t)whole : (uint64_t)whole;
}

/* Choices: rni|rzi|rmi|rpi, ftz, sat, to, from (f16, bf16, f32, f64). */
static emu_next float_to_int(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned to = step->mods[3], from = step->mods[4] + F16 - 1u;
  EMU_FOR_LANES(lane, active)
  {
    const double value = float_value(emu_lane(warp, &step->src[0], lane), from, step->mods[1] != 0);
    emu_set_lane(warp, &step->dst[0], lane, take(to_integer(value, step->mods[0], to, from == F64), to));
  }
  return EMU_NEXT;
}

/* 64 bits do not fit a double: the rest makes its last bit odd, but for a result of f64, which is rounded here. */
static double int_value(uint64_t raw, unsigned type, unsigned to, emu_rounding rounding)
{
  const bool negative = integers[type].is_signed && (int64_t)raw < 0;
  uint64_t size = negative ? 0 - raw : raw;
  const unsigned length = size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
  if (length > 53) {
    const unsigned lost = length - 53;
    const uint64_t rest = size & ((1ull << lost) - 1), half = 1ull << (lost - 1);
    size >>= lost;
    bool up = (rest != 0 && (size & 1) == 0); /* odd */
    if (to == F64) {
      up = rounding == EMU_RN   ? rest > half || (rest == half && (size & 1) != 0)
           : rounding == EMU_RZ ? false
                                : rest != 0 && (rounding == EMU_RM) == negative;
    }
    const double value = ldexp((double)(size + up), (int)lost);
    return negative ? -value : value;
  }
  return negative ? -(double)size : (double)size;
}

/* Choices: rounding, sat, to (f16, bf16, f32, f64), from. */
static emu_next int_to_float(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned to = step->mods[2] + F16 - 1u, from = step->mods[3];
  const emu_rounding rounding = rounding_of(step->mods[0]);
  EMU_FOR_LANES(lane, active)
  {
    double value = int_value(take(emu_lane(warp, &step->src[0], lane), from), from, to, rounding);
    value = step->mods[1] == 0 ? value : value > 1 ? 1 : value < 0 ? 0 : value;
    emu_set_lane(warp, &step->dst[0], lane, float_bits(value, to, rounding, false));
  }
  return EMU_NEXT;
}

/* A NaN's sign and payload are kept to and from f64, and from bf16 to f32, where nothing but its place changes. */
static uint64_t nan_bits(uint64_t raw, unsigned from, unsigned to, bool flush)
{
  static const struct {
    uint8_t bits, mantissa;
  } formats[] = {[F16] = {16, 10}, [BF16] = {16, 7}, [F32] = {32, 23}, [F64] = {64, 52}};
  static const uint32_t canonical[] = {[F16] = 0x7fff, [BF16] = 0x7fff, [F32] = EMU_NAN32, [F64] = 0};
  const unsigned bits = formats[to].bits, mantissa = formats[to].mantissa;
  if (from == BF16 && to == F32 && !flush) {
    return raw << 16;
  }
  raw = flush && from == F32 ? EMU_NAN32 : raw;
  if (from != F64 && to != F64) {
    return canonical[to];
  }
  const uint64_t sign = raw >> (formats[from].bits - 1) & 1, payload = raw << (64 - formats[from].mantissa);
  const uint64_t quiet = (1ull << (bits - mantissa)) - 1; /* the exponent and the first bit of the payload */
  return sign << (bits - 1) | quiet << (mantissa - 1) | payload >> (64 - mantissa);
}

/* Choices: rounding (rn rz rm rp rni rzi rmi rpi), ftz, sat, to, from (f16, bf16, f32, f64). */
static emu_next float_to_float(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned to = step->mods[3] + F16 - 1u, from = step->mods[4] + F16 - 1u, mode = step->mods[0];
  const bool flush = step->mods[1] != 0;
  EMU_FOR_LANES(lane, active)
  {
    const uint64_t raw = emu_lane(warp, &step->src[0], lane);
    double value = float_value(raw, from, flush && to != F16);
    if (value != value && step->mods[2] == 0) {
      const bool is_move = from == F64 && to == F64 && mode == 0;
      emu_set_lane(warp, &step->dst[0], lane, is_move ? raw : nan_bits(raw, from, to, flush));
      continue;
    }
    value = mode > 4 ? whole_value(value, mode - 4) : value;
    if (step->mods[2] != 0) {
      value = value > 0 ? (value < 1 ? value : 1) : 0;
    }
    const emu_rounding rounding = mode > 4 ? EMU_RN : rounding_of(mode);
    emu_set_lane(warp, &step->dst[0], lane, float_bits(value, to, rounding, flush));
  }
  return EMU_NEXT;
}

/* ---- Two floats to a register ----------------------------------------------------------------------------- */

static const emu_format *const small_formats[] = {&emu_format_f16,  &emu_format_bf16, &emu_format_e4m3,
                                                  &emu_format_e5m2, &emu_format_e2m3, &emu_format_e3m2,
                                                  &emu_format_e2m1};
enum { TO_F16, TO_BF16, TO_E4M3, TO_E5M2, TO_E2M3, TO_E3M2, TO_E2M1 };

static uint32_t to_small(double value, unsigned format, emu_rounding rounding, bool saturates, bool relu)
{
  if (relu && !(value > 0) && value == value) {
    value = 0;
  }
  return emu_round_small(value, small_formats[format], rounding, saturates);
}

static unsigned small_width(unsigned format)
{
  return format <= TO_BF16 ? 16 : format == TO_E2M1 ? 4 : 8;
}

/* a goes to the upper half. Choices: rounding (rn, rz), then satfinite and relu, but of 16 bits relu and satfinite.
 * arg: the format. */
static emu_next pack_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const float *a = EMU_IN(f32, warp, &step->src[0]), *b = EMU_IN(f32, warp, &step->src[1]);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  const emu_rounding rounding = step->mods[0] == 2 ? EMU_RZ : EMU_RN;
  const unsigned width = small_width(step->arg);
  const bool relu = step->mods[width == 16 ? 1 : 2] != 0;
  const bool saturates = step->mods[width == 16 ? 2 : 1] != 0;
  if (width == 16 && rounding == EMU_RN && !relu && !saturates) {
    if (step->arg == TO_BF16) {
      EMU_LANE_LOOP(active, { to[lane] = emu_to_bf16(a[lane]) << 16 | emu_to_bf16(b[lane]); })
    } else {
      EMU_LANE_LOOP(active, { to[lane] = emu_to_f16(a[lane]) << 16 | emu_to_f16(b[lane]); })
    }
    return EMU_NEXT;
  }
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = to_small((double)a[lane], step->arg, rounding, saturates, relu) << width
               | to_small((double)b[lane], step->arg, rounding, saturates, relu);
  }
  return EMU_NEXT;
}

/* One f32 to one bf16 or f16 with relu or satfinite. Choices: rounding, relu, satfinite. */
static emu_next one_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const float *from = EMU_IN(f32, warp, &step->src[0]);
  const emu_rounding rounding = step->mods[0] == 2 ? EMU_RZ : EMU_RN;
  EMU_FOR_LANES(lane, active)
  {
    emu_set_lane(warp, &step->dst[0], lane,
                 to_small((double)from[lane], step->arg, rounding, step->mods[2] != 0, step->mods[1] != 0));
  }
  return EMU_NEXT;
}

/* f16x2 to e4m3x2 and e5m2x2: from the lower half to the lower byte. Choice: relu. */
static emu_next pack_f16x2(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *from = emu_in32(warp, &step->src[0]);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_FOR_LANES(lane, active)
  {
    const double low = (double)emu_f16_value(from[lane] & 0xffff), high = (double)emu_f16_value(from[lane] >> 16);
    to[lane] = to_small(high, step->arg, EMU_RN, true, step->mods[0] != 0) << 8
               | to_small(low, step->arg, EMU_RN, true, step->mods[0] != 0);
  }
  return EMU_NEXT;
}

static uint32_t small_to_f16(uint32_t bits, unsigned format, bool relu)
{
  const double value = emu_small_value(bits, small_formats[format]);
  return to_small(value, TO_F16, EMU_RN, false, relu);
}

/* e4m3 to f16 by its bits: all its numbers are numbers of f16. */
static uint32_t e4m3_to_f16(uint32_t bits)
{
  const uint32_t size = bits & 0x7f, sign = (bits & 0x80) << 8;
  const uint32_t subnormal = emu_to_f16((float)(int32_t)size * 0x1p-9f);
  const uint32_t value = size < 8 ? subnormal : (size << 7) + (8u << 10);
  return size == 0x7f ? 0x7fffu : sign | value;
}

static emu_next unpack_e4m3x2(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *from = emu_in32(warp, &step->src[0]);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_LANE_LOOP(active, { to[lane] = e4m3_to_f16(from[lane]) | e4m3_to_f16(from[lane] >> 8) << 16; })
  return EMU_NEXT;
}

static emu_next unpack_small(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *from = emu_in32(warp, &step->src[0]);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  const unsigned width = small_width(step->arg);
  const uint32_t mask = (1u << width) - 1;
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = small_to_f16(from[lane] & mask, step->arg, step->mods[0] != 0)
               | small_to_f16(from[lane] >> width & mask, step->arg, step->mods[0] != 0) << 16;
  }
  return EMU_NEXT;
}

/* ue8m0: powers of two. Choices: rz|rp, satfinite. */
static uint32_t to_ue8m0(double value, bool up, bool saturates)
{
  if (value != value) {
    return 0xff;
  }
  const double size = fabs(value);
  if (isinf(size)) {
    return saturates ? 0xfe : 0xff;
  }
  int exponent = size == 0 ? -127 : ilogb(size);
  if (up && size > 0 && ldexp(1, exponent) != size) {
    exponent++;
  }
  exponent = exponent < -127 ? -127 : exponent;
  return exponent > 127 ? (saturates ? 0xfeu : 0xffu) : (uint32_t)(exponent + 127);
}

static emu_next pack_ue8m0(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const float *a = EMU_IN(f32, warp, &step->src[0]), *b = EMU_IN(f32, warp, &step->src[1]);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = to_ue8m0((double)a[lane], step->mods[0] == 2, step->mods[1] != 0) << 8
               | to_ue8m0((double)b[lane], step->mods[0] == 2, step->mods[1] != 0);
  }
  return EMU_NEXT;
}

static uint32_t ue8m0_to_bf16(uint32_t bits)
{
  return bits == 0xff ? 0x7fff : bits == 0 ? 0x0040 : bits << 7;
}

static emu_next unpack_ue8m0(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *from = emu_in32(warp, &step->src[0]);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = ue8m0_to_bf16(from[lane] & 0xff) | ue8m0_to_bf16(from[lane] >> 8 & 0xff) << 16;
  }
  return EMU_NEXT;
}

/* Choice: relu. arg: the rounding. */
static emu_next to_tf32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *from = emu_in32(warp, &step->src[0]);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_FOR_LANES(lane, active)
  {
    const uint32_t bits = from[lane], odd = bits >> 13 & 1;
    const bool special = (bits & 0x7f800000) == 0x7f800000;
    const uint32_t half = step->arg == EMU_RNA ? 0x1000 : step->arg == EMU_RN ? 0xfff + odd : 0;
    const uint32_t rounded = special ? bits : (bits + half) & ~0x1fffu;
    const bool nan = special && (bits & 0x7fffff) != 0;
    const uint32_t nan_of = step->arg == EMU_RNA ? bits & ~0x1fffu : EMU_NAN32 & ~0x1fffu;
    to[lane] = nan ? nan_of : step->mods[0] != 0 && bits >> 31 != 0 ? 0 : rounded;
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg, arch)                                                                    \
  {                                                                                                                    \
    pattern, operands, function, 0, arg, arch                                                                          \
  }
#define FLOATS "f16|bf16|f32|f64"

static const emu_row rows[] = {
    ROW("cvt.u64.u32", "=x x", widen, 0, 0),
    ROW("cvt.u32.u64", "=x x", narrow, 0, 0),
    ROW("cvt.sat?." INTEGERS "." INTEGERS, "=x x", int_to_int, 0, 0),
    ROW("cvt.rni|rzi|rmi|rpi.ftz?.sat?." INTEGERS "." FLOATS, "=x x", float_to_int, 0, 0),
    ROW("cvt.rn|rz|rm|rp.sat?." FLOATS "." INTEGERS, "=x x", int_to_float, 0, 0),
    ROW("cvt.rn|rz|rm|rp|rni|rzi|rmi|rpi?.ftz?.sat?." FLOATS "." FLOATS, "=x x", float_to_float, 0, 0),
    ROW("cvt.rn|rz.relu?.satfinite?.f16x2.f32", "=w w w", pack_f32, TO_F16, 80),
    ROW("cvt.rn|rz.relu?.satfinite?.bf16x2.f32", "=w w w", pack_f32, TO_BF16, 80),
    ROW("cvt.rn|rz.relu|-.satfinite?.f16.f32", "=h w", one_f32, TO_F16, 80),
    ROW("cvt.rn|rz.relu|-.satfinite?.bf16.f32", "=h w", one_f32, TO_BF16, 80),
    ROW("cvt.rn|rz.-?.satfinite|-.f16.f32", "=h w", one_f32, TO_F16, 80),
    ROW("cvt.rn|rz.-?.satfinite|-.bf16.f32", "=h w", one_f32, TO_BF16, 80),
    ROW("cvt.rn|-.satfinite?.relu?.e4m3x2.f32", "=h w w", pack_f32, TO_E4M3, 89),
    ROW("cvt.rn|-.satfinite?.relu?.e5m2x2.f32", "=h w w", pack_f32, TO_E5M2, 89),
    ROW("cvt.rn|-.satfinite?.relu?.e2m3x2.f32", "=h w w", pack_f32, TO_E2M3, 100 | 128),
    ROW("cvt.rn|-.satfinite?.relu?.e3m2x2.f32", "=h w w", pack_f32, TO_E3M2, 100 | 128),
    ROW("cvt.rn.satfinite.relu?.e4m3x2.f16x2", "=h w", pack_f16x2, TO_E4M3, 89),
    ROW("cvt.rn.satfinite.relu?.e5m2x2.f16x2", "=h w", pack_f16x2, TO_E5M2, 89),
    ROW("cvt.rn.f16x2.e4m3x2", "=w h", unpack_e4m3x2, 0, 89),
    ROW("cvt.rn.relu?.f16x2.e4m3x2", "=w h", unpack_small, TO_E4M3, 89),
    ROW("cvt.rn.relu?.f16x2.e5m2x2", "=w h", unpack_small, TO_E5M2, 89),
    ROW("cvt.rn.relu?.f16x2.e2m3x2", "=w h", unpack_small, TO_E2M3, 100 | 128),
    ROW("cvt.rn.relu?.f16x2.e3m2x2", "=w h", unpack_small, TO_E3M2, 100 | 128),
    ROW("cvt.rz|rp.satfinite?.ue8m0x2.f32", "=h w w", pack_ue8m0, 0, 100 | 128),
    ROW("cvt.rn.bf16x2.ue8m0x2", "=w h", unpack_ue8m0, 0, 100 | 128),
    ROW("cvt.rna.-?.tf32.f32", "=w w", to_tf32, EMU_RNA, 80),
    ROW("cvt.rn.relu?.tf32.f32", "=w w", to_tf32, EMU_RN, 90),
    ROW("cvt.rz.relu?.tf32.f32", "=w w", to_tf32, EMU_RZ, 90),
};

EMU_FAMILY(emu_family_convert, rows);
