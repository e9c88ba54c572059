/* SPDX-License-Identifier: Apache-2.0 */
/* f32 and f64. Results that are NaN are the canonical one; the approximations are the correctly rounded values, which
 * lie within the error that the documentation grants them. */
#include <fenv.h>

#include "families.h"
#include "lanes.h"
#include "numbers.h"

/* ---- f32, to nearest: the fast ones ----------------------------------------------------------------------- */

EMU_BINARY(add_f32, f32, f32, emu_canonical(a + b))
EMU_BINARY(sub_f32, f32, f32, emu_canonical(a - b))
EMU_BINARY(mul_f32, f32, f32, emu_canonical((a)*b))
EMU_TERNARY(fma_f32, f32, f32, emu_canonical(fmaf(a, b, c)))
EMU_BINARY(div_f32, f32, f32, emu_canonical(a / b))

/* ---- f32, with rounding, flushing and saturation ---------------------------------------------------------- */

enum { ADD, SUB, MUL, FMA, DIV, RCP, SQRT };

/* In the patterns below: rounding, then ftz, then sat. */
static emu_rounding rounding_of(const emu_step *step)
{
  static const emu_rounding of[] = {EMU_RN, EMU_RN, EMU_RZ, EMU_RM, EMU_RP};
  return of[step->mods[0]];
}

/* A quotient or root in double, rounded to nearest of more than twice the bits, and its remainder's sign made odd. */
static double divide_odd(double a, double b)
{
  const double quotient = a / b;
  const double rest = fma(-quotient, b, a);
  if (!isfinite(quotient) || quotient == 0 || rest == 0 || rest != rest) {
    return quotient;
  }
  const uint64_t bits = emu_bits64(quotient);
  const bool exact_is_larger = (rest > 0) == (b > 0);
  return (bits & 1) != 0 ? quotient : emu_float64((exact_is_larger == (quotient > 0)) ? bits + 1 : bits - 1);
}

static double root_odd(double a)
{
  const double root = sqrt(a);
  const double rest = fma(-root, root, a);
  if (!isfinite(root) || root == 0 || rest == 0) {
    return root;
  }
  const uint64_t bits = emu_bits64(root);
  return (bits & 1) != 0 ? root : emu_float64(rest > 0 ? bits + 1 : bits - 1);
}

static double exact(unsigned operation, float a, float b, float c)
{
  switch (operation) {
  case ADD:
    return emu_sum_odd(a, b);
  case SUB:
    return emu_sum_odd(a, -(double)b);
  case MUL:
    return (double)a * b;
  case FMA:
    return emu_sum_odd((double)a * b, c);
  case DIV:
    return divide_odd(a, b);
  case RCP:
    return divide_odd(1, a);
  default:
    return root_odd(a);
  }
}

/* x + y is -0 where it is exactly 0 and rounded down, but for +0 + +0. */
static float zero_of(unsigned operation, emu_rounding rounding, double zero, float a, float b, float c)
{
  if (rounding != EMU_RM || operation > FMA || operation == MUL) {
    return (float)zero;
  }
  const float x = operation == FMA ? a * b : a, y = operation == FMA ? c : operation == SUB ? -b : b;
  return x == 0 && y == 0 && !signbit(x) && !signbit(y) ? 0.0f : -0.0f;
}

static emu_next general_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  float *to = EMU_OUT(f32, warp, &step->dst[0]);
  const float *in_a = EMU_IN(f32, warp, &step->src[0]);
  const float *in_b = step->num_src > 1 ? EMU_IN(f32, warp, &step->src[1]) : in_a;
  const float *in_c = step->num_src > 2 ? EMU_IN(f32, warp, &step->src[2]) : in_a;
  const emu_rounding rounding = rounding_of(step);
  const bool flush = step->mods[1] != 0, saturate = step->mods[2] != 0;
  EMU_FOR_LANES(lane, active)
  {
    const float a = flush ? emu_flush(in_a[lane]) : in_a[lane];
    const float b = flush ? emu_flush(in_b[lane]) : in_b[lane];
    const float c = flush ? emu_flush(in_c[lane]) : in_c[lane];
    const double value = exact(step->arg, a, b, c);
    float result = value == 0 ? zero_of(step->arg, rounding, value, a, b, c) : emu_round_f32(value, rounding);
    result = flush ? emu_flush_result(value, result, rounding) : result;
    to[lane] = saturate ? emu_saturate(result) : result;
  }
  return EMU_NEXT;
}

/* ---- f32, approximations ---------------------------------------------------------------------------------- */

enum { EX2, LG2, SIN, COS, TANH, RSQRT, APPROX_RCP, APPROX_SQRT };

/* The hardware takes an angle in turns: a product with a rounded 1 / (2 pi), cut to f32, less whole turns. */
static double turned(double a)
{
  const double turns = (double)emu_round_f32(a * 0x1.45f306p-3, EMU_RZ);
  return copysign(turns - trunc(turns), a) * 0x1.921fb54442d18p+2;
}

static double approximate(unsigned operation, double a)
{
  switch (operation) {
  case EX2:
    return exp2(a);
  case LG2:
    return log2(a);
  case SIN:
    return sin(turned(a));
  case COS:
    return cos(turned(a));
  case TANH:
    return tanh(a);
  case RSQRT:
    return 1 / sqrt(a);
  case APPROX_RCP:
    return 1 / a;
  default:
    return sqrt(a);
  }
}

/* The pattern's one choice: ftz. */
static emu_next approx_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  float *to = EMU_OUT(f32, warp, &step->dst[0]);
  const float *from = EMU_IN(f32, warp, &step->src[0]);
  const bool flush = step->mods[0] != 0;
  EMU_FOR_LANES(lane, active)
  {
    const float a = flush ? emu_flush(from[lane]) : from[lane];
    const float result = emu_canonical((float)approximate(step->arg, a));
    to[lane] = flush ? emu_flush(result) : result;
  }
  return EMU_NEXT;
}

/* A divisor above 2^126 makes the result 0, or NaN of an infinite dividend. */
static emu_next div_approx_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  float *to = EMU_OUT(f32, warp, &step->dst[0]);
  const float *in_a = EMU_IN(f32, warp, &step->src[0]), *in_b = EMU_IN(f32, warp, &step->src[1]);
  const bool flush = step->mods[0] != 0, full = step->arg != 0;
  EMU_FOR_LANES(lane, active)
  {
    const float a = flush ? emu_flush(in_a[lane]) : in_a[lane], b = flush ? emu_flush(in_b[lane]) : in_b[lane];
    const bool huge = !full && fabsf(b) > 0x1p126f && !isinf(b) && b == b;
    const float result = emu_canonical(huge ? a * copysignf(0.0f, b) : a / b);
    to[lane] = flush ? emu_flush(result) : result;
  }
  return EMU_NEXT;
}

/* ---- Signs, least and most -------------------------------------------------------------------------------- */

static float flush_if(const emu_step *step, float value)
{
  return step->mods[0] != 0 ? emu_flush(value) : value;
}
EMU_UNARY(abs_f32, f32, f32, emu_canonical(emu_float32(emu_bits32(flush_if(step, a)) & 0x7fffffff)))
EMU_UNARY(neg_f32, f32, f32, emu_canonical(emu_float32(emu_bits32(flush_if(step, a)) ^ 0x80000000)))
/* A NaN keeps its sign. */
EMU_UNARY(abs_f64, f64, f64, a != a ? emu_quiet64(a) : fabs(a))
EMU_UNARY(neg_f64, f64, f64, a != a ? emu_quiet64(a) : -a)
EMU_BINARY(copysign_f32, u32, u32, (a & 0x80000000) | (b & 0x7fffffff))
EMU_BINARY(copysign_f64, u64, u64, (a & 0x8000000000000000) | (b & 0x7fffffffffffffff))

/* -0 is less than +0. */
static float pick32(float a, float b, bool most, bool keep_nan)
{
  if (a != a || b != b) {
    return keep_nan || (a != a && b != b) ? emu_float32(EMU_NAN32) : a != a ? b : a;
  }
  if (a == 0 && b == 0) {
    return (signbit(a) != 0) == most ? b : a;
  }
  return (a < b) == most ? b : a;
}
EMU_BINARY(min_f32, f32, f32, pick32(a, b, false, false))

/* The larger, for vectors: a where b is NaN, and of zeros the positive one. */
static float most32(float a, float b)
{
  const bool zeros = a == 0 && b == 0;
  const float larger = a > b ? a : b;
  return emu_canonical(b != b ? a : zeros ? emu_float32(emu_bits32(a) & emu_bits32(b)) : larger);
}
EMU_BINARY(max_f32, f32, f32, most32(a, b))

/* Choices: ftz, NaN, xorsign.abs (two words). arg: 1 max, 0 min. Two or three numbers. */
static emu_next min_max_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  float *to = EMU_OUT(f32, warp, &step->dst[0]);
  const bool flush = step->mods[0] != 0, keep_nan = step->mods[1] != 0, by_size = step->mods[2] != 0;
  EMU_FOR_LANES(lane, active)
  {
    float result = 0;
    uint32_t sign = 0;
    for (unsigned i = 0; i < step->num_src; i++) {
      float value = EMU_IN(f32, warp, &step->src[i])[lane];
      value = flush ? emu_flush(value) : value;
      sign ^= emu_bits32(value) & 0x80000000;
      value = by_size ? fabsf(value) : value;
      result = i == 0 ? value : pick32(result, value, step->arg != 0, keep_nan);
    }
    to[lane] = by_size && result == result ? emu_float32(emu_bits32(result) | sign) : emu_canonical(result);
  }
  return EMU_NEXT;
}

/* ---- f64 -------------------------------------------------------------------------------------------------- */

/* Kept from being moved out of the part where the host rounds otherwise. */
__attribute__((noinline)) static double do_f64(unsigned operation, double a, double b, double c)
{
  volatile double x = a, y = b, z = c;
  switch (operation) {
  case ADD:
    return x + y;
  case SUB:
    return x - y;
  case MUL:
    return x * y;
  case FMA:
    return fma(x, y, z);
  case DIV:
    return x / y;
  case RCP:
    return 1 / x;
  default:
    return sqrt(x);
  }
}

static emu_next general_f64(emu_warp *warp, const emu_step *step, uint32_t active)
{
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  double *to = EMU_OUT(f64, warp, &step->dst[0]);
  const double *in_a = EMU_IN(f64, warp, &step->src[0]);
  const double *in_b = step->num_src > 1 ? EMU_IN(f64, warp, &step->src[1]) : in_a;
  const double *in_c = step->num_src > 2 ? EMU_IN(f64, warp, &step->src[2]) : in_a;
  fesetround(modes[rounding_of(step)]);
  EMU_FOR_LANES(lane, active)
  {
    const double a = in_a[lane], b = in_b[lane], c = in_c[lane];
    const double result = do_f64(step->arg, a, b, c);
    const double second = step->num_src > 1 && !(step->arg == DIV && a != a) ? b : 0;
    to[lane] = emu_nan64(result, a, second, step->num_src > 2 ? c : 0);
  }
  fesetround(FE_TONEAREST);
  return EMU_NEXT;
}

static double pick64(double a, double b, bool most)
{
  if (a != a || b != b) {
    return a != a && b != b ? emu_quiet64(b) : a != a ? b : a;
  }
  if (a == 0 && b == 0) {
    return (signbit(a) != 0) == most ? b : a;
  }
  return (a < b) == most ? b : a;
}
EMU_BINARY(min_f64, f64, f64, pick64(a, b, false))
EMU_BINARY(max_f64, f64, f64, pick64(a, b, true))

/* ---- testp ------------------------------------------------------------------------------------------------ */

static bool test_class(unsigned what, uint64_t bits, unsigned mantissa, uint64_t exponents)
{
  const uint64_t exponent = bits >> mantissa & exponents, fraction = bits & ((1ull << mantissa) - 1);
  switch (what) {
  case 1: /* finite */
    return exponent != exponents;
  case 2: /* infinite */
    return exponent == exponents && fraction == 0;
  case 3: /* number */
    return exponent != exponents || fraction == 0;
  case 4: /* notanumber */
    return exponent == exponents && fraction != 0;
  case 5: /* normal, zeros too */
    return exponent != exponents && (exponent != 0 || fraction == 0);
  default: /* subnormal */
    return exponent == 0 && fraction != 0;
  }
}

static emu_next testp(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t found = 0;
  EMU_FOR_LANES(lane, active)
  {
    const uint64_t bits = emu_lane(warp, &step->src[0], lane);
    const bool holds =
        step->arg == 64 ? test_class(step->mods[0], bits, 52, 2047) : test_class(step->mods[0], bits, 23, 255);
    found |= (uint32_t)holds << lane;
  }
  emu_out_pred(warp, &step->dst[0], active, found);
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg)                                                                          \
  {                                                                                                                    \
    pattern, operands, function, 0, arg, 0                                                                             \
  }
/* With three choices always: rounding, ftz, sat. Where a pattern has none of a kind, a word that no opcode has. */
#define GENERAL(op, operands, arg) ROW(op ".rn|rz|rm|rp?.ftz?.sat?.f32", operands, general_f32, arg)
#define ROUNDED(op, operands, arg) ROW(op ".rn|rz|rm|rp.ftz?.f32", operands, general_f32, arg)

static const emu_row rows[] = {
    ROW("add.f32", "=w w w", add_f32, 0),
    ROW("add.rn.f32", "=w w w", add_f32, 0),
    GENERAL("add", "=w w w", ADD),
    ROW("sub.f32", "=w w w", sub_f32, 0),
    ROW("sub.rn.f32", "=w w w", sub_f32, 0),
    GENERAL("sub", "=w w w", SUB),
    ROW("mul.f32", "=w w w", mul_f32, 0),
    ROW("mul.rn.f32", "=w w w", mul_f32, 0),
    GENERAL("mul", "=w w w", MUL),
    ROW("fma.rn.f32", "=w w w w", fma_f32, 0),
    GENERAL("fma", "=w w w w", FMA),
    GENERAL("mad", "=w w w w", FMA),
    ROW("div.rn.f32", "=w w w", div_f32, 0),
    ROUNDED("div", "=w w w", DIV),
    ROUNDED("rcp", "=w w", RCP),
    ROUNDED("sqrt", "=w w", SQRT),
    ROW("div.approx.ftz?.f32", "=w w w", div_approx_f32, 0),
    ROW("div.full.ftz?.f32", "=w w w", div_approx_f32, 1),
    ROW("rcp.approx.ftz?.f32", "=w w", approx_f32, APPROX_RCP),
    ROW("sqrt.approx.ftz?.f32", "=w w", approx_f32, APPROX_SQRT),
    ROW("rsqrt.approx.ftz?.f32", "=w w", approx_f32, RSQRT),
    ROW("ex2.approx.ftz?.f32", "=w w", approx_f32, EX2),
    ROW("lg2.approx.ftz?.f32", "=w w", approx_f32, LG2),
    ROW("sin.approx.ftz?.f32", "=w w", approx_f32, SIN),
    ROW("cos.approx.ftz?.f32", "=w w", approx_f32, COS),
    ROW("tanh.approx.f32", "=w w", approx_f32, TANH),
    ROW("abs.ftz?.f32", "=w w", abs_f32, 0),
    ROW("neg.ftz?.f32", "=w w", neg_f32, 0),
    ROW("copysign.f32", "=w w w", copysign_f32, 0),
    ROW("min.f32", "=w w w", min_f32, 0),
    ROW("max.f32", "=w w w", max_f32, 0),
    ROW("min.ftz?.NaN?.xorsign?.abs?.f32", "=w w w w?", min_max_f32, 0),
    ROW("max.ftz?.NaN?.xorsign?.abs?.f32", "=w w w w?", min_max_f32, 1),
    ROW("add.rn|rz|rm|rp?.f64", "=l l l", general_f64, ADD),
    ROW("sub.rn|rz|rm|rp?.f64", "=l l l", general_f64, SUB),
    ROW("mul.rn|rz|rm|rp?.f64", "=l l l", general_f64, MUL),
    ROW("fma.rn|rz|rm|rp.f64", "=l l l l", general_f64, FMA),
    ROW("mad.rn|rz|rm|rp.f64", "=l l l l", general_f64, FMA),
    ROW("div.rn|rz|rm|rp.f64", "=l l l", general_f64, DIV),
    ROW("rcp.rn|rz|rm|rp.f64", "=l l", general_f64, RCP),
    ROW("sqrt.rn|rz|rm|rp.f64", "=l l", general_f64, SQRT),
    ROW("abs.f64", "=l l", abs_f64, 0),
    ROW("neg.f64", "=l l", neg_f64, 0),
    ROW("copysign.f64", "=l l l", copysign_f64, 0),
    ROW("min.f64", "=l l l", min_f64, 0),
    ROW("max.f64", "=l l l", max_f64, 0),
    ROW("testp.finite|infinite|number|notanumber|normal|subnormal.f32", "=p w", testp, 32),
    ROW("testp.finite|infinite|number|notanumber|normal|subnormal.f64", "=p l", testp, 64),
};

EMU_FAMILY(emu_family_float, rows);
