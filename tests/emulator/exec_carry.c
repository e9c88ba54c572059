/* SPDX-License-Identifier: Apache-2.0 */
/* Sums with the condition code's carry, which a thread keeps between instructions. */
#include "families.h"
#include "lanes.h"

__extension__ typedef unsigned __int128 wide_u;
__extension__ typedef __int128 wide_s;

/* A row's arg: what is added, whether the carry is taken, and the half of a product. */
enum { SUB = 1, TAKES = 2, MAD_LO = 4, MAD_HI = 8, IS_64 = 16, IS_SIGNED = 32 };

/* The product's half, in the width of the operands. */
static uint64_t product_half(unsigned arg, uint64_t a, uint64_t b)
{
  if ((arg & MAD_LO) != 0) {
    return a * b;
  }
  if ((arg & IS_64) != 0) {
    return (arg & IS_SIGNED) != 0 ? (uint64_t)((wide_s)(int64_t)a * (int64_t)b >> 64) : (uint64_t)((wide_u)a * b >> 64);
  }
  return (arg & IS_SIGNED) != 0 ? (uint64_t)((int64_t)(int32_t)a * (int32_t)b >> 32) : a * b >> 32;
}

/* A difference is the sum with all bits of b turned over and one more: its carry means that nothing was borrowed, as an
 * addc behind it sees. Choice: cc, the carry is kept. */
static emu_next sum(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned arg = step->arg, bits = (arg & IS_64) != 0 ? 64 : 32;
  const bool product = (arg & (MAD_LO | MAD_HI)) != 0;
  const uint64_t mask = bits == 64 ? ~0ull : 0xffffffffu;
  const uint32_t unknown = (arg & TAKES) != 0 ? active & ~warp->carry_written : 0;
  uint32_t carry = 0;
  if (unknown != 0) {
    return emu_fault(warp, step, (unsigned)__builtin_ctz(unknown), EMU_ILLEGAL_INSTRUCTION,
                     "the carry is read and was never written");
  }
  EMU_FOR_LANES(lane, active)
  {
    uint64_t a = emu_lane(warp, &step->src[0], lane);
    uint64_t b = emu_lane(warp, &step->src[1], lane);
    if (product) {
      a = product_half(arg, a, b) & mask;
      b = emu_lane(warp, &step->src[2], lane);
    }
    const unsigned in = (arg & TAKES) != 0 ? warp->carry >> lane & 1 : (arg & SUB) != 0;
    const wide_u all = (wide_u)a + ((arg & SUB) != 0 ? ~b & mask : b) + in;
    emu_set_lane(warp, &step->dst[0], lane, (uint64_t)all & mask);
    carry |= (uint32_t)(all >> bits & 1) << lane;
  }
  if (step->mods[0] != 0) {
    warp->carry = (warp->carry & ~active) | carry;
    warp->carry_written |= active;
  }
  return EMU_NEXT;
}

#define ROW(pattern, operands, arg)                                                                                    \
  {                                                                                                                    \
    pattern, operands, sum, 0, arg, 0                                                                                  \
  }
#define SUMS(op, arg) ROW(op ".u32|s32|b32", "=w w w", arg), ROW(op ".u64|s64|b64", "=l l l", (arg) | IS_64)
#define PRODUCTS(op, arg)                                                                                              \
  ROW(op ".u32", "=w w w w", arg), ROW(op ".s32", "=w w w w", (arg) | IS_SIGNED),                                      \
      ROW(op ".u64", "=l l l l", (arg) | IS_64), ROW(op ".s64", "=l l l l", (arg) | IS_64 | IS_SIGNED)

/* "cc|-" counts as a choice where the word must be there. */
static const emu_row rows[] = {
    SUMS("add.cc|-", 0),
    SUMS("addc.cc?", TAKES),
    SUMS("sub.cc|-", SUB),
    SUMS("subc.cc?", SUB | TAKES),
    ROW("mad.lo.cc|-.u32|s32", "=w w w w", MAD_LO),
    ROW("mad.lo.cc|-.u64|s64", "=l l l l", MAD_LO | IS_64),
    ROW("madc.lo.cc?.u32|s32", "=w w w w", MAD_LO | TAKES),
    ROW("madc.lo.cc?.u64|s64", "=l l l l", MAD_LO | TAKES | IS_64),
    PRODUCTS("mad.hi.cc|-", MAD_HI),
    PRODUCTS("madc.hi.cc?", MAD_HI | TAKES),
};

EMU_FAMILY(emu_family_carry, rows);
