/* SPDX-License-Identifier: Apache-2.0 */
/* Integers. Operations are done on unsigned values where a signed overflow wraps. */
#include "families.h"
#include "lanes.h"

/* ---- Sums, products, quotients ---------------------------------------------------------------------------- */

EMU_BINARY(add_u16, u16, u16, a + b)
EMU_BINARY(add_u32, u32, u32, a + b)
EMU_BINARY(add_u64, u64, u64, a + b)
EMU_BINARY(sub_u16, u16, u16, a - b)
EMU_BINARY(sub_u32, u32, u32, a - b)
EMU_BINARY(sub_u64, u64, u64, a - b)

static int32_t saturate(int64_t value)
{
  return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

EMU_BINARY(add_sat_s32, s32, s32, saturate((int64_t)a + b))
EMU_BINARY(sub_sat_s32, s32, s32, saturate((int64_t)a - b))

EMU_BINARY(mul_lo_u16, u16, u16, (uint32_t)(a)*b)
EMU_BINARY(mul_lo_u32, u32, u32, (a)*b)
EMU_BINARY(mul_lo_u64, u64, u64, (a)*b)
EMU_BINARY(mul_hi_u16, u16, u16, ((uint32_t)a * b) >> 16)
EMU_BINARY(mul_hi_s16, s16, s16, ((int32_t)a * b) >> 16)
EMU_BINARY(mul_hi_u32, u32, u32, ((uint64_t)a * b) >> 32)
EMU_BINARY(mul_hi_s32, s32, s32, ((int64_t)a * b) >> 32)
EMU_BINARY(mul_wide_u16, u32, u16, (uint32_t)(a)*b)
EMU_BINARY(mul_wide_s16, s32, s16, (int32_t)(a)*b)
EMU_BINARY(mul_wide_u32, u64, u32, (uint64_t)(a)*b)
EMU_BINARY(mul_wide_s32, s64, s32, (int64_t)(a)*b)

__extension__ typedef unsigned __int128 wide_u;
__extension__ typedef __int128 wide_s;
EMU_BINARY(mul_hi_u64, u64, u64, ((wide_u)a * b) >> 64)
EMU_BINARY(mul_hi_s64, s64, s64, ((wide_s)a * b) >> 64)

EMU_TERNARY(mad_lo_u16, u16, u16, (uint32_t)(a)*b + c)
EMU_TERNARY(mad_lo_u32, u32, u32, (a)*b + c)
EMU_TERNARY(mad_lo_u64, u64, u64, (a)*b + c)
EMU_TERNARY(mad_hi_u16, u16, u16, (((uint32_t)a * b) >> 16) + c)
EMU_TERNARY(mad_hi_s16, s16, s16, (((int32_t)a * b) >> 16) + c)
EMU_TERNARY(mad_hi_u32, u32, u32, (uint32_t)(((uint64_t)a * b) >> 32) + c)
EMU_TERNARY(mad_hi_s32, s32, s32, (uint32_t)(((int64_t)a * b) >> 32) + (uint32_t)c)
EMU_TERNARY(mad_hi_sat_s32, s32, s32, saturate((((int64_t)a * b) >> 32) + c))
EMU_TERNARY(mad_hi_u64, u64, u64, (uint64_t)(((wide_u)a * b) >> 64) + c)
EMU_TERNARY(mad_hi_s64, s64, s64, (uint64_t)(((wide_s)a * b) >> 64) + (uint64_t)c)
EMU_TERNARY2(mad_wide_u16, u32, u16, u32, (uint32_t)(a)*b + c)
EMU_TERNARY2(mad_wide_s16, s32, s16, s32, (uint32_t)((int32_t)(a)*b) + (uint32_t)c)
EMU_TERNARY2(mad_wide_u32, u64, u32, u64, (uint64_t)(a)*b + c)
EMU_TERNARY2(mad_wide_s32, s64, s32, s64, (uint64_t)((int64_t)(a)*b) + (uint64_t)c)

/* 24 bits of each. */
static int32_t low24(uint32_t value)
{
  return (int32_t)(value << 8) >> 8;
}
EMU_BINARY(mul24_lo_u32, u32, u32, (a & 0xffffff) * (b & 0xffffff))
EMU_BINARY(mul24_hi_u32, u32, u32, ((uint64_t)(a & 0xffffff) * (b & 0xffffff)) >> 16)
EMU_BINARY(mul24_lo_s32, u32, u32, (int64_t)low24(a) * low24(b))
EMU_BINARY(mul24_hi_s32, u32, u32, ((int64_t)low24(a) * low24(b)) >> 16)
EMU_TERNARY(mad24_lo_u32, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c)
EMU_TERNARY(mad24_lo_s32, u32, u32, (uint32_t)((int64_t)low24(a) * low24(b)) + c)
EMU_TERNARY(mad24_hi_u32, u32, u32, (uint32_t)(((uint64_t)(a & 0xffffff) * (b & 0xffffff)) >> 16) + c)
EMU_TERNARY(mad24_hi_s32, u32, u32, (uint32_t)(((int64_t)low24(a) * low24(b)) >> 16) + c)

EMU_TERNARY(sad_u16, u16, u16, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_s16, s16, s16, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_u32, u32, u32, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_s32, s32, s32, (uint32_t)c + (a > b ? (uint32_t)a - (uint32_t)b : (uint32_t)b - (uint32_t)a))
EMU_TERNARY(sad_u64, u64, u64, c + (a > b ? a - b : b - a))
EMU_TERNARY(sad_s64, s64, s64, (uint64_t)c + (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a))

/* By zero the hardware gives all ones, as the rest too; the most negative number over -1 wraps. */
EMU_BINARY(div_u16, u16, u16, b == 0 ? 0xffff : a / b)
EMU_BINARY(div_u32, u32, u32, b == 0 ? UINT32_MAX : a / b)
EMU_BINARY(div_u64, u64, u64, b == 0 ? UINT64_MAX : a / b)
EMU_BINARY(div_s16, s16, s16, b == 0 ? -1 : a / b)
EMU_BINARY(div_s32, s32, s32, b == 0 ? -1 : (int64_t)a / b)
EMU_BINARY(div_s64, s64, s64, b == 0 ? -1 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
EMU_BINARY(rem_u16, u16, u16, b == 0 ? 0xffff : a % b)
EMU_BINARY(rem_u32, u32, u32, b == 0 ? UINT32_MAX : a % b)
EMU_BINARY(rem_u64, u64, u64, b == 0 ? UINT64_MAX : a % b)
EMU_BINARY(rem_s16, s16, s16, b == 0 ? -1 : a % b)
EMU_BINARY(rem_s32, s32, s32, b == 0 ? -1 : (int64_t)a % b)
EMU_BINARY(rem_s64, s64, s64, b == 0 ? -1 : b == -1 ? 0 : a % b)

EMU_UNARY(abs_s16, u16, s16, a < 0 ? -a : a)
EMU_UNARY(abs_s32, u32, s32, a < 0 ? 0 - (uint32_t)a : (uint32_t)a)
EMU_UNARY(abs_s64, u64, s64, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)
EMU_UNARY(neg_s16, u16, u16, 0 - a)
EMU_UNARY(neg_s32, u32, u32, 0 - a)
EMU_UNARY(neg_s64, u64, u64, 0 - a)

#define MIN_MAX(T)                                                                                                     \
  EMU_BINARY(min_##T, T, T, a < b ? a : b)                                                                             \
  EMU_BINARY(max_##T, T, T, a > b ? a : b)
MIN_MAX(u16)
MIN_MAX(s16)
MIN_MAX(u32)
MIN_MAX(s32)
MIN_MAX(u64)
MIN_MAX(s64)
EMU_BINARY(min_relu_s32, s32, s32, (a < b ? a : b) > 0 ? (a < b ? a : b) : 0)
EMU_BINARY(max_relu_s32, s32, s32, (a > b ? a : b) > 0 ? (a > b ? a : b) : 0)

/* Two numbers of 16 bits in one register. */
static uint32_t pair(uint32_t low, uint32_t high)
{
  return (low & 0xffff) | high << 16;
}
#define LOW(x) ((int16_t)(x))
#define HIGH(x) ((int16_t)((x) >> 16))
static int least(int a, int b)
{
  return a < b ? a : b;
}
static int most(int a, int b)
{
  return a > b ? a : b;
}
EMU_BINARY(add_x2, u32, u32, pair(a + b, (a >> 16) + (b >> 16)))
EMU_BINARY(min_u16x2, u32, u32, pair((a & 0xffff) < (b & 0xffff) ? a : b, a >> 16 < b >> 16 ? a >> 16 : b >> 16))
EMU_BINARY(max_u16x2, u32, u32, pair((a & 0xffff) > (b & 0xffff) ? a : b, a >> 16 > b >> 16 ? a >> 16 : b >> 16))
EMU_BINARY(min_s16x2, u32, u32, pair((uint32_t)least(LOW(a), LOW(b)), (uint32_t)least(HIGH(a), HIGH(b))))
EMU_BINARY(max_s16x2, u32, u32, pair((uint32_t)most(LOW(a), LOW(b)), (uint32_t)most(HIGH(a), HIGH(b))))
EMU_BINARY(min_relu_s16x2, u32, u32,
           pair((uint32_t)most(0, least(LOW(a), LOW(b))), (uint32_t)most(0, least(HIGH(a), HIGH(b)))))
EMU_BINARY(max_relu_s16x2, u32, u32,
           pair((uint32_t)most(0, most(LOW(a), LOW(b))), (uint32_t)most(0, most(HIGH(a), HIGH(b)))))

/* ---- Bits ------------------------------------------------------------------------------------------------- */

#define LOGIC(N)                                                                                                       \
  EMU_BINARY(and_##N, u##N, u##N, (a)&b)                                                                               \
  EMU_BINARY(or_##N, u##N, u##N, a | b)                                                                                \
  EMU_BINARY(xor_##N, u##N, u##N, a ^ b)                                                                               \
  EMU_UNARY(not_##N, u##N, u##N, ~a)                                                                                   \
  EMU_UNARY(cnot_##N, u##N, u##N, a == 0)                                                                              \
  EMU_BINARY2(shl_##N, u##N, u##N, u32, b < N ? (uint64_t)a << b : 0)                                                  \
  EMU_BINARY2(shr_u##N, u##N, u##N, u32, b < N ? a >> b : 0)                                                           \
  EMU_BINARY2(shr_s##N, s##N, s##N, u32, a >> (b < N ? b : N - 1))
LOGIC(16)
LOGIC(32)
LOGIC(64)

EMU_UNARY(popc_32, u32, u32, __builtin_popcount(a))
EMU_UNARY(popc_64, u32, u64, __builtin_popcountll(a))
EMU_UNARY(clz_32, u32, u32, a == 0 ? 32 : __builtin_clz(a))
EMU_UNARY(clz_64, u32, u64, a == 0 ? 64 : __builtin_clzll(a))

static uint64_t reverse(uint64_t value, unsigned bits)
{
  uint64_t turned = 0;
  for (unsigned i = 0; i < bits; i++) {
    turned |= (value >> i & 1) << (bits - 1 - i);
  }
  return turned;
}
EMU_UNARY(brev_32, u32, u32, reverse(a, 32))
EMU_UNARY(brev_64, u64, u64, reverse(a, 64))

/* The highest bit that differs from the sign; with shiftamt the shift that brings it to the top. */
static uint32_t find_bit(uint64_t value, unsigned bits, bool is_signed, bool shift)
{
  if (is_signed && (value >> (bits - 1) & 1) != 0) {
    value = ~value;
  }
  value = bits == 32 ? (uint32_t)value : value;
  if (value == 0) {
    return UINT32_MAX;
  }
  const uint32_t at = 63 - (uint32_t)__builtin_clzll(value);
  return shift ? bits - 1 - at : at;
}
EMU_UNARY(bfind_u32, u32, u32, find_bit(a, 32, false, step->mods[0] != 0))
EMU_UNARY(bfind_s32, u32, u32, find_bit(a, 32, true, step->mods[0] != 0))
EMU_UNARY(bfind_u64, u32, u64, find_bit(a, 64, false, step->mods[0] != 0))
EMU_UNARY(bfind_s64, u32, u64, find_bit(a, 64, true, step->mods[0] != 0))

/* A field of len bits from pos on; bits beyond the top are the sign's. pos and len are taken modulo 256. */
static uint64_t extract(uint64_t value, uint32_t at, uint32_t count, unsigned bits, bool is_signed)
{
  const uint32_t pos = at & 255, len = count & 255;
  if (len == 0) {
    return 0;
  }
  const uint32_t last = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
  const uint64_t sign = is_signed ? value >> last & 1 : 0;
  uint64_t field = pos >= bits ? 0 : value >> pos;
  const uint32_t have = pos >= bits ? 0 : bits - pos < len ? bits - pos : len;
  field &= have >= 64 ? ~0ull : (1ull << have) - 1;
  if (sign != 0) {
    field |= have >= 64 ? 0 : ~0ull << have;
  }
  return field;
}
EMU_TERNARY(bfe_u32, u32, u32, extract(a, b, c, 32, false))
EMU_TERNARY(bfe_s32, u32, u32, extract(a, b, c, 32, true))

/* Of 64 bits position and length are not cut to 8 bits, as the documentation has it and as those of 32 bits are. */
static uint64_t low_mask(uint32_t count)
{
  return count >= 64 ? ~0ull : (1ull << count) - 1;
}

static uint64_t extract_64(uint64_t value, uint32_t pos, uint32_t len, bool is_signed)
{
  const uint64_t mask = low_mask(len), spread = is_signed && value >> 63 != 0 ? ~0ull : 0;
  const uint64_t field = (pos == 0 ? value : pos >= 64 ? spread : value >> pos | spread << (64 - pos)) & mask;
  const bool negative = is_signed && len >= 1 && len <= 64 && field >> (len - 1) != 0;
  return negative ? field | ~mask : field;
}

static emu_next bfe_64(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint64_t *to = emu_out64(warp, &step->dst[0]);
  const uint64_t *from = emu_in64(warp, &step->src[0]);
  const uint32_t *pos = emu_in32(warp, &step->src[1]), *len = emu_in32(warp, &step->src[2]);
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = extract_64(from[lane], pos[lane], len[lane], step->arg != 0);
  }
  return EMU_NEXT;
}

static uint64_t insert(uint64_t field, uint64_t into, uint32_t at, uint32_t count, unsigned bits)
{
  if (bits == 64) {
    const uint64_t own = low_mask(count);
    return at >= 64 ? into : (into & ~(own << at)) | (field & own) << at;
  }
  const uint32_t pos = at & 255, len = count & 255;
  if (pos >= bits || len == 0) {
    return into;
  }
  const uint64_t mask = low_mask(len) << pos;
  return (into & ~mask) | (field << pos & mask);
}

static emu_next bfi(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *pos = emu_in32(warp, &step->src[2]), *len = emu_in32(warp, &step->src[3]);
  EMU_FOR_LANES(lane, active)
  {
    const uint64_t field = emu_lane(warp, &step->src[0], lane), into = emu_lane(warp, &step->src[1], lane);
    emu_set_lane(warp, &step->dst[0], lane, insert(field, into, pos[lane], len[lane], step->arg));
  }
  return EMU_NEXT;
}

static uint32_t mask_bits(uint32_t at, uint32_t count, bool clamp)
{
  const uint32_t pos = clamp ? at : at & 31, len = clamp ? count : count & 31;
  if (pos >= 32 || len == 0) {
    return 0;
  }
  return (len >= 32 ? UINT32_MAX : (1u << len) - 1) << pos;
}
EMU_BINARY(bmsk_b32, u32, u32, mask_bits(a, b, step->mods[0] == 1))

static uint32_t extend(uint32_t value, uint32_t count, bool clamp, bool is_signed)
{
  const uint32_t n = clamp ? (count > 32 ? 32 : count) : count & 31;
  if (n == 0) {
    return 0;
  }
  return n == 32 ? value : is_signed ? (uint32_t)((int32_t)(value << (32 - n)) >> (32 - n)) : value & ((1u << n) - 1);
}
EMU_BINARY(szext_u32, u32, u32, extend(a, b, step->mods[0] == 1, false))
EMU_BINARY(szext_s32, u32, u32, extend(a, b, step->mods[0] == 1, true))

/* l: the upper half of {b, a} << n; r: the lower half of {b, a} >> n. */
static uint32_t funnel(uint32_t low, uint32_t high, uint32_t count, bool left, bool clamp)
{
  const uint32_t n = clamp ? (count > 32 ? 32 : count) : count & 31;
  const uint64_t both = (uint64_t)high << 32 | low;
  return left ? (uint32_t)((n == 32 ? (uint64_t)low << 32 : both << n) >> 32) : (uint32_t)(both >> n);
}
EMU_TERNARY(shf_l, u32, u32, funnel(a, b, c, true, step->mods[0] == 1))
EMU_TERNARY(shf_r, u32, u32, funnel(a, b, c, false, step->mods[0] == 1))

static emu_next lop3(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  const uint32_t *a = emu_in32(warp, &step->src[0]), *b = emu_in32(warp, &step->src[1]),
                 *c = emu_in32(warp, &step->src[2]);
  const uint32_t table = (uint32_t)emu_lane(warp, &step->src[3], 0);
  uint32_t term[8];
  for (unsigned i = 0; i < 8; i++) {
    term[i] = (table >> i & 1) != 0 ? UINT32_MAX : 0;
  }
  EMU_LANE_LOOP(active, {
    const uint32_t x = a[lane], y = b[lane], z = c[lane];
    to[lane] = (~x & ~y & ~z & term[0]) | (~x & ~y & z & term[1]) | (~x & y & ~z & term[2]) | (~x & y & z & term[3])
               | (x & ~y & ~z & term[4]) | (x & ~y & z & term[5]) | (x & y & ~z & term[6]) | (x & y & z & term[7]);
  })
  return EMU_NEXT;
}

/* ---- Dot products ----------------------------------------------------------------------------------------- */

static int32_t part_of(uint32_t value, unsigned index, unsigned bits, bool is_signed)
{
  const uint32_t part = value >> (index * bits) & ((1u << bits) - 1);
  return is_signed ? (int32_t)(part << (32 - bits)) >> (32 - bits) : (int32_t)part;
}

static uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed)
{
  for (unsigned i = 0; i < 4; i++) {
    c += (uint32_t)(part_of(a, i, 8, a_signed) * part_of(b, i, 8, b_signed));
  }
  return c;
}
EMU_TERNARY(dp4a, u32, u32, dot4(a, b, c, step->mods[0] == 2, step->mods[1] == 2))

static uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed, unsigned high)
{
  for (unsigned i = 0; i < 2; i++) {
    c += (uint32_t)(part_of(a, i, 16, a_signed) * part_of(b, i + 2 * high, 8, b_signed));
  }
  return c;
}
EMU_TERNARY(dp2a, u32, u32, dot2(a, b, c, step->mods[1] == 2, step->mods[2] == 2, step->mods[0] == 2))

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function)                                                                               \
  {                                                                                                                    \
    pattern, operands, function, 0, 0, 0                                                                               \
  }
#define ROW_ARG(pattern, operands, function, arg)                                                                      \
  {                                                                                                                    \
    pattern, operands, function, 0, arg, 0                                                                             \
  }
#define THREE(op, name)                                                                                                \
  ROW(op ".u16|s16", "=h h h", name##_u16), ROW(op ".u32|s32", "=w w w", name##_u32),                                  \
      ROW(op ".u64|s64", "=l l l", name##_u64)
#define SIX(op, name)                                                                                                  \
  ROW(op ".u16", "=h h h", name##_u16), ROW(op ".s16", "=h h h", name##_s16), ROW(op ".u32", "=w w w", name##_u32),    \
      ROW(op ".s32", "=w w w", name##_s32), ROW(op ".u64", "=l l l", name##_u64), ROW(op ".s64", "=l l l", name##_s64)
#define SIX_OF_THREE(op, name)                                                                                         \
  ROW(op ".u16", "=h h h h", name##_u16), ROW(op ".s16", "=h h h h", name##_s16),                                      \
      ROW(op ".u32", "=w w w w", name##_u32), ROW(op ".s32", "=w w w w", name##_s32),                                  \
      ROW(op ".u64", "=l l l l", name##_u64), ROW(op ".s64", "=l l l l", name##_s64)
#define BITS(op, name)                                                                                                 \
  ROW(op ".b16", "=h h h", name##_16), ROW(op ".b32", "=w w w", name##_32), ROW(op ".b64", "=l l l", name##_64)

static const emu_row rows[] = {
    THREE("add", add),
    THREE("sub", sub),
    ROW("add.sat.s32", "=w w w", add_sat_s32),
    ROW("sub.sat.s32", "=w w w", sub_sat_s32),
    ROW("add.u16x2|s16x2", "=w w w", add_x2),
    ROW("mul.lo.u16|s16", "=h h h", mul_lo_u16),
    ROW("mul.lo.u32|s32", "=w w w", mul_lo_u32),
    ROW("mul.lo.u64|s64", "=l l l", mul_lo_u64),
    SIX("mul.hi", mul_hi),
    ROW("mul.wide.u16", "=w h h", mul_wide_u16),
    ROW("mul.wide.s16", "=w h h", mul_wide_s16),
    ROW("mul.wide.u32", "=l w w", mul_wide_u32),
    ROW("mul.wide.s32", "=l w w", mul_wide_s32),
    ROW("mad.lo.u16|s16", "=h h h h", mad_lo_u16),
    ROW("mad.lo.u32|s32", "=w w w w", mad_lo_u32),
    ROW("mad.lo.u64|s64", "=l l l l", mad_lo_u64),
    SIX_OF_THREE("mad.hi", mad_hi),
    ROW("mad.hi.sat.s32", "=w w w w", mad_hi_sat_s32),
    ROW("mad.wide.u16", "=w h h w", mad_wide_u16),
    ROW("mad.wide.s16", "=w h h w", mad_wide_s16),
    ROW("mad.wide.u32", "=l w w l", mad_wide_u32),
    ROW("mad.wide.s32", "=l w w l", mad_wide_s32),
    ROW("mul24.lo.u32", "=w w w", mul24_lo_u32),
    ROW("mul24.lo.s32", "=w w w", mul24_lo_s32),
    ROW("mul24.hi.u32", "=w w w", mul24_hi_u32),
    ROW("mul24.hi.s32", "=w w w", mul24_hi_s32),
    ROW("mad24.lo.u32", "=w w w w", mad24_lo_u32),
    ROW("mad24.lo.s32", "=w w w w", mad24_lo_s32),
    ROW("mad24.hi.u32", "=w w w w", mad24_hi_u32),
    ROW("mad24.hi.s32", "=w w w w", mad24_hi_s32),
    SIX_OF_THREE("sad", sad),
    SIX("div", div),
    SIX("rem", rem),
    ROW("abs.s16", "=h h", abs_s16),
    ROW("abs.s32", "=w w", abs_s32),
    ROW("abs.s64", "=l l", abs_s64),
    ROW("neg.s16", "=h h", neg_s16),
    ROW("neg.s32", "=w w", neg_s32),
    ROW("neg.s64", "=l l", neg_s64),
    SIX("min", min),
    SIX("max", max),
    ROW("min.relu.s32", "=w w w", min_relu_s32),
    ROW("max.relu.s32", "=w w w", max_relu_s32),
    ROW("min.u16x2", "=w w w", min_u16x2),
    ROW("max.u16x2", "=w w w", max_u16x2),
    ROW("min.s16x2", "=w w w", min_s16x2),
    ROW("max.s16x2", "=w w w", max_s16x2),
    ROW("min.relu.s16x2", "=w w w", min_relu_s16x2),
    ROW("max.relu.s16x2", "=w w w", max_relu_s16x2),
    BITS("and", and),
    BITS("or", or),
    BITS("xor", xor),
    ROW("not.b16", "=h h", not_16),
    ROW("not.b32", "=w w", not_32),
    ROW("not.b64", "=l l", not_64),
    ROW("cnot.b16", "=h h", cnot_16),
    ROW("cnot.b32", "=w w", cnot_32),
    ROW("cnot.b64", "=l l", cnot_64),
    ROW("shl.b16", "=h h w", shl_16),
    ROW("shl.b32", "=w w w", shl_32),
    ROW("shl.b64", "=l l w", shl_64),
    ROW("shr.b16|u16", "=h h w", shr_u16),
    ROW("shr.b32|u32", "=w w w", shr_u32),
    ROW("shr.b64|u64", "=l l w", shr_u64),
    ROW("shr.s16", "=h h w", shr_s16),
    ROW("shr.s32", "=w w w", shr_s32),
    ROW("shr.s64", "=l l w", shr_s64),
    ROW("popc.b32", "=w w", popc_32),
    ROW("popc.b64", "=w l", popc_64),
    ROW("clz.b32", "=w w", clz_32),
    ROW("clz.b64", "=w l", clz_64),
    ROW("brev.b32", "=w w", brev_32),
    ROW("brev.b64", "=l l", brev_64),
    ROW("bfind.shiftamt?.u32", "=w w", bfind_u32),
    ROW("bfind.shiftamt?.s32", "=w w", bfind_s32),
    ROW("bfind.shiftamt?.u64", "=w l", bfind_u64),
    ROW("bfind.shiftamt?.s64", "=w l", bfind_s64),
    ROW("bfe.u32", "=w w w w", bfe_u32),
    ROW("bfe.s32", "=w w w w", bfe_s32),
    ROW("bfe.u64", "=l l w w", bfe_64),
    ROW_ARG("bfe.s64", "=l l w w", bfe_64, 1),
    ROW_ARG("bfi.b32", "=w w w w w", bfi, 32),
    ROW_ARG("bfi.b64", "=l l l w w", bfi, 64),
    ROW("bmsk.clamp|wrap.b32", "=w w w", bmsk_b32),
    ROW("szext.clamp|wrap.u32", "=w w w", szext_u32),
    ROW("szext.clamp|wrap.s32", "=w w w", szext_s32),
    ROW("shf.l.clamp|wrap.b32", "=w w w w", shf_l),
    ROW("shf.r.clamp|wrap.b32", "=w w w w", shf_r),
    ROW("lop3.b32", "=w w w w c", lop3),
    ROW("dp4a.u32|s32.u32|s32", "=w w w w", dp4a),
    ROW("dp2a.lo|hi.u32|s32.u32|s32", "=w w w w", dp2a),
};

EMU_FAMILY(emu_family_integer, rows);
