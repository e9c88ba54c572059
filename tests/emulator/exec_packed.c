/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16, one or two in a register, and pairs of f32 in 64 bits. */
#include "families.h"
#include "lanes.h"
#include "numbers.h"

/* What a row's arg says: the operation, and the format. */
enum { ADD, SUB, MUL, FMA, MIN, MAX, TANH, EX2, ABS, NEG, OPERATIONS = 15, IS_BF16 = 16, IS_PAIR = 32 };

/* ---- One number ------------------------------------------------------------------------------------------- */

typedef struct emu_how {
  unsigned operation;
  bool is_bf16, flush, saturate, relu, keep_nan, by_size;
} emu_how;

static float value_of(const emu_how *how, uint32_t bits)
{
  const float value = how->is_bf16 ? emu_bf16_value(bits) : emu_f16_value(bits);
  return how->flush && !how->is_bf16 && (bits & 0x7c00) == 0 ? copysignf(0.0f, value) : value;
}

static bool is_nan(const emu_how *how, uint32_t bits)
{
  return (bits & 0x7fff) > (how->is_bf16 ? 0x7f80u : 0x7c00u);
}

static double exact(unsigned operation, double a, double b, double c)
{
  switch (operation) {
  case ADD:
    return emu_sum_odd(a, b);
  case SUB:
    return emu_sum_odd(a, -b);
  case MUL:
    return a * b;
  case FMA:
    return emu_sum_odd(a * b, c);
  case TANH:
    return tanh(a);
  default:
    return exp2(a);
  }
}

/* Least and most keep the bits of what they choose. */
static uint32_t choose(const emu_how *how, uint32_t a, uint32_t b)
{
  const uint32_t size_a = a & 0x7fff, size_b = b & 0x7fff, infinity = how->is_bf16 ? 0x7f80 : 0x7c00;
  if (size_a > infinity || size_b > infinity) {
    return how->keep_nan || (size_a > infinity && size_b > infinity) ? 0x7fff : size_a > infinity ? b : a;
  }
  /* Numbers in the order of their bits, -0 below +0. */
  const int32_t order_a = (a & 0x8000) != 0 ? -(int32_t)size_a - 1 : (int32_t)size_a;
  const int32_t order_b = (b & 0x8000) != 0 ? -(int32_t)size_b - 1 : (int32_t)size_b;
  return (order_a < order_b) == (how->operation == MAX) ? b : a;
}

static uint32_t extreme(const emu_how *how, uint32_t a, uint32_t b)
{
  if (how->flush && !how->is_bf16) {
    a = (a & 0x7c00) == 0 ? a & 0x8000 : a;
    b = (b & 0x7c00) == 0 ? b & 0x8000 : b;
  }
  if (!how->by_size) {
    return choose(how, a, b);
  }
  const uint32_t chosen = choose(how, a & 0x7fff, b & 0x7fff);
  return chosen == 0x7fff ? chosen : chosen | ((a ^ b) & 0x8000);
}

static uint32_t finish(const emu_how *how, double result)
{
  const float near = emu_odd_f32(result);
  uint32_t bits = how->is_bf16 ? emu_to_bf16(near) : emu_to_f16(near);
  /* As if exponents had no end: what rounding made the least normal number alone is 0 too. */
  if (how->flush && !how->is_bf16 && fabs(result) < 0x1p-13
      && (emu_to_f16(emu_odd_f32(result * 16)) & 0x7fff) < 0x1400) {
    bits &= 0x8000;
  }
  if (how->operation == EX2 && how->is_bf16 && (bits & 0x7f80) == 0) {
    bits = 0; /* it has .ftz only */
  }
  const bool nan = result != result;
  if (how->saturate) {
    const uint32_t one = how->is_bf16 ? 0x3f80 : 0x3c00;
    bits = nan || (bits & 0x8000) != 0 ? 0 : bits > one ? one : bits;
  }
  if (how->relu) {
    bits = nan ? 0x7fff : (bits & 0x8000) != 0 ? 0 : bits;
  }
  return bits;
}

static uint32_t one(const emu_how *how, uint32_t a, uint32_t b, uint32_t c)
{
  switch (how->operation) {
  case MIN:
  case MAX:
    return extreme(how, a, b);
  case ABS:
    return is_nan(how, a) ? 0x7fff : (how->flush && !how->is_bf16 && (a & 0x7c00) == 0 ? 0 : a) & 0x7fff;
  case NEG:
    return is_nan(how, a) ? 0x7fff : (how->flush && !how->is_bf16 && (a & 0x7c00) == 0 ? a & 0x8000 : a) ^ 0x8000;
  default:
    return finish(how, exact(how->operation, value_of(how, a), value_of(how, b), value_of(how, c)));
  }
}

/* ---- All lanes -------------------------------------------------------------------------------------------- */

/* Choices: ftz, sat, relu, NaN, xorsign, abs; what an instruction lacks is a word that no opcode has there. */
static emu_how how_of(const emu_step *step)
{
  const unsigned operation = step->arg & OPERATIONS;
  const bool extremes = operation == MIN || operation == MAX;
  return (emu_how){.operation = operation,
                   .is_bf16 = (step->arg & IS_BF16) != 0,
                   .flush = step->mods[0] != 0,
                   .saturate = !extremes && step->mods[1] != 0,
                   .relu = !extremes && step->mods[2] != 0,
                   .keep_nan = extremes && step->mods[1] != 0,
                   .by_size = extremes && step->mods[2] != 0};
}

static emu_next packed(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const emu_how how = how_of(step);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  const uint32_t *a = emu_in32(warp, &step->src[0]);
  const uint32_t *b = step->num_src > 1 ? emu_in32(warp, &step->src[1]) : a;
  const uint32_t *c = step->num_src > 2 ? emu_in32(warp, &step->src[2]) : a;
  const bool is_pair = (step->arg & IS_PAIR) != 0;
  EMU_FOR_LANES(lane, active)
  {
    const uint32_t low = one(&how, a[lane] & 0xffff, b[lane] & 0xffff, c[lane] & 0xffff);
    const uint32_t high = is_pair ? one(&how, a[lane] >> 16, b[lane] >> 16, c[lane] >> 16) : 0;
    to[lane] = low | high << 16;
  }
  return EMU_NEXT;
}

/* The frequent ones, for vectors: a product of two is exact in f32. */
static uint32_t product_f16(uint32_t a, uint32_t b)
{
  return emu_to_f16(emu_f16_value(a & 0xffff) * emu_f16_value(b & 0xffff));
}
static uint32_t product_bf16(uint32_t a, uint32_t b)
{
  return emu_to_bf16(emu_bf16_value(a & 0xffff) * emu_bf16_value(b & 0xffff));
}
EMU_BINARY(mul_f16x2, u32, u32, product_f16(a, b) | product_f16(a >> 16, b >> 16) << 16)
EMU_BINARY(mul_bf16x2, u32, u32, product_bf16(a, b) | product_bf16(a >> 16, b >> 16) << 16)

/* A product of two bf16 is exact in f32; the sum in double, made odd where it is not. */
static uint32_t fused_bf16(uint32_t a, uint32_t b, uint32_t c)
{
  const double product = (double)(emu_bf16_value(a & 0xffff) * (double)emu_bf16_value(b & 0xffff));
  return emu_to_bf16(emu_odd_f32(emu_sum_odd(product, emu_bf16_value(c & 0xffff))));
}
EMU_TERNARY(fma_bf16x2, u32, u32, fused_bf16(a, b, c) | fused_bf16(a >> 16, b >> 16, c >> 16) << 16)

/* ---- Pairs of f32 ----------------------------------------------------------------------------------------- */

static float one_f32(unsigned operation, emu_rounding rounding, bool flush, float a, float b, float c)
{
  if (flush) {
    a = emu_flush(a);
    b = emu_flush(b);
    c = emu_flush(c);
  }
  const double value = exact(operation, a, b, c);
  float result = emu_round_f32(value, rounding);
  if (value == 0 && rounding == EMU_RM && operation != MUL) {
    const float x = operation == FMA ? a * b : a, y = operation == FMA ? c : operation == SUB ? -b : b;
    result = x == 0 && y == 0 && !signbit(x) && !signbit(y) ? 0.0f : -0.0f;
  }
  return flush ? emu_flush_result(value, result, rounding) : result;
}

/* Choices: rounding, ftz. */
static emu_next pair_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  static const emu_rounding roundings[] = {EMU_RN, EMU_RN, EMU_RZ, EMU_RM, EMU_RP};
  const emu_rounding rounding = roundings[step->mods[0]];
  const bool flush = step->mods[1] != 0;
  uint64_t *to = emu_out64(warp, &step->dst[0]);
  const uint64_t *a = emu_in64(warp, &step->src[0]), *b = emu_in64(warp, &step->src[1]);
  const uint64_t *c = step->num_src > 2 ? emu_in64(warp, &step->src[2]) : a;
  EMU_FOR_LANES(lane, active)
  {
    uint64_t result = 0;
    for (unsigned half = 0; half < 64; half += 32) {
      const float value = one_f32(step->arg, rounding, flush, emu_float32((uint32_t)(a[lane] >> half)),
                                  emu_float32((uint32_t)(b[lane] >> half)), emu_float32((uint32_t)(c[lane] >> half)));
      result |= (uint64_t)emu_bits32(value) << half;
    }
    to[lane] = result;
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg, arch)                                                                    \
  {                                                                                                                    \
    pattern, operands, function, 0, arg, arch                                                                          \
  }
/* One of each format, one or two in a register. The patterns are made of whole words, so that the words between the
 * operation and the format stand at the choices' places. */
#define FOUR(op, mods_f16, mods_bf16, one_operands, pair_operands, arg, bf16_arch)                                     \
  ROW(op mods_f16 ".f16", one_operands, packed, arg, 53),                                                              \
      ROW(op mods_f16 ".f16x2", pair_operands, packed, (arg) | IS_PAIR, 53),                                           \
      ROW(op mods_bf16 ".bf16", one_operands, packed, (arg) | IS_BF16, bf16_arch),                                     \
      ROW(op mods_bf16 ".bf16x2", pair_operands, packed, (arg) | IS_BF16 | IS_PAIR, bf16_arch)

static const emu_row rows[] = {
    ROW("mul.rn?.f16x2", "=w w w", mul_f16x2, 0, 53),
    ROW("mul.rn?.bf16x2", "=w w w", mul_bf16x2, 0, 90),
    ROW("fma.rn.bf16x2", "=w w w w", fma_bf16x2, 0, 80),
    FOUR("add", ".ftz?.sat?", "", "=h h h", "=w w w", ADD, 90),
    FOUR("add.rn", ".ftz?.sat?", "", "=h h h", "=w w w", ADD, 90),
    FOUR("sub", ".ftz?.sat?", "", "=h h h", "=w w w", SUB, 90),
    FOUR("sub.rn", ".ftz?.sat?", "", "=h h h", "=w w w", SUB, 90),
    FOUR("mul", ".ftz?.sat?", "", "=h h h", "=w w w", MUL, 90),
    FOUR("mul.rn", ".ftz?.sat?", "", "=h h h", "=w w w", MUL, 90),
    FOUR("fma.rn", ".ftz?.sat?.relu?", ".-?.-?.relu?", "=h h h h", "=w w w w", FMA, 80),
    FOUR("min", ".ftz?.NaN?.xorsign?.abs?", ".-?.NaN?.xorsign?.abs?", "=h h h", "=w w w", MIN, 80),
    FOUR("max", ".ftz?.NaN?.xorsign?.abs?", ".-?.NaN?.xorsign?.abs?", "=h h h", "=w w w", MAX, 80),
    FOUR("abs", ".ftz?", "", "=h h", "=w w", ABS, 80),
    FOUR("neg", ".ftz?", "", "=h h", "=w w", NEG, 80),
    FOUR("tanh.approx", "", "", "=h h", "=w w", TANH, 90),
    ROW("ex2.approx.-?.f16", "=h h", packed, EX2, 75),
    ROW("ex2.approx.-?.f16x2", "=w w", packed, EX2 | IS_PAIR, 75),
    ROW("ex2.approx.ftz.bf16", "=h h", packed, EX2 | IS_BF16, 90),
    ROW("ex2.approx.ftz.bf16x2", "=w w", packed, EX2 | IS_BF16 | IS_PAIR, 90),
    ROW("add.rn|rz|rm|rp?.ftz?.f32x2", "=l l l", pair_f32, ADD, 100),
    ROW("sub.rn|rz|rm|rp?.ftz?.f32x2", "=l l l", pair_f32, SUB, 100),
    ROW("mul.rn|rz|rm|rp?.ftz?.f32x2", "=l l l", pair_f32, MUL, 100),
    ROW("fma.rn|rz|rm|rp.ftz?.f32x2", "=l l l l", pair_f32, FMA, 100),
};

EMU_FAMILY(emu_family_packed, rows);
