/* SPDX-License-Identifier: Apache-2.0 */
/* atom and red. Blocks run on several threads of the host: a lock an address makes an operation whole. */
#include <sched.h>
#include <stdatomic.h>

#include "atomic.h"
#include "families.h"
#include "global_race.h"
#include "lanes.h"
#include "numbers.h"

enum { LOCKS = 64 };
static _Atomic unsigned char locks[LOCKS];

static void lock(unsigned index)
{
  while (atomic_exchange_explicit(&locks[index], 1, memory_order_acquire) != 0) {
    sched_yield();
  }
}

static void unlock(unsigned index)
{
  atomic_store_explicit(&locks[index], 0, memory_order_release);
}

/* The types are in the order of the choices below. */
static const uint8_t sizes[] = {0, 4, 4, 4, 8, 8, 8, 4, 8, 2, 2, 4, 4, 2};

static uint64_t add_half(uint64_t a, uint64_t b, bool is_bf16)
{
  if (is_bf16) {
    return emu_to_bf16(emu_odd_f32(emu_sum_odd(emu_bf16_value(a & 0xffff), emu_bf16_value(b & 0xffff))));
  }
  return emu_to_f16(emu_odd_f32(emu_sum_odd(emu_f16_value(a & 0xffff), emu_f16_value(b & 0xffff))));
}

static uint32_t least_half(uint32_t a, uint32_t b, bool is_bf16, bool most)
{
  const float x = is_bf16 ? emu_bf16_value(a) : emu_f16_value(a), y = is_bf16 ? emu_bf16_value(b) : emu_f16_value(b);
  if (x != x || y != y) {
    return x != x && y != y ? 0x7fff : x != x ? b : a;
  }
  const bool a_below = x < y || (x == y && signbit(x) && !signbit(y));
  return a_below == most ? b : a;
}

/* Sums in global memory are made by the cache: f32 flushes what is subnormal, f64 leaves a NaN as it is. */
static uint64_t sum_f32(float a, float b, bool in_global)
{
  const float sum = in_global ? emu_flush(emu_flush(a) + emu_flush(b)) : a + b;
  return emu_bits32(emu_canonical(sum));
}

static uint64_t sum_f64(double a, double b, bool in_global)
{
  if (in_global && (a != a || b != b)) {
    return emu_bits64(b != b ? b : a);
  }
  return emu_bits64(emu_nan64(a + b, b, a, 0));
}

static uint64_t floats(unsigned operation, unsigned type, uint64_t a, uint64_t b, bool in_global)
{
  if (type == EMU_ATOMIC_F32) {
    return sum_f32(emu_float32((uint32_t)a), emu_float32((uint32_t)b), in_global);
  }
  if (type == EMU_ATOMIC_F64) {
    return sum_f64(emu_float64(a), emu_float64(b), in_global);
  }
  const bool is_bf16 = type == EMU_ATOMIC_BF16 || type == EMU_ATOMIC_BF16X2;
  uint64_t result = 0;
  for (unsigned at = 0; at < 8u * sizes[type]; at += 16) {
    const uint64_t x = a >> at & 0xffff, y = b >> at & 0xffff;
    const uint64_t part = operation == EMU_ATOMIC_ADD
                              ? add_half(x, y, is_bf16)
                              : least_half((uint32_t)x, (uint32_t)y, is_bf16, operation == EMU_ATOMIC_MAX);
    result |= part << at;
  }
  return result;
}

static uint64_t integers(unsigned operation, unsigned type, uint64_t a, uint64_t b)
{
  const bool less = type == EMU_ATOMIC_S32   ? (int32_t)a < (int32_t)b
                    : type == EMU_ATOMIC_S64 ? (int64_t)a < (int64_t)b
                                             : a < b;
  switch (operation) {
  case EMU_ATOMIC_ADD:
    return a + b;
  case EMU_ATOMIC_MIN:
    return less ? a : b;
  case EMU_ATOMIC_MAX:
    return less ? b : a;
  case EMU_ATOMIC_INC:
    return a >= b ? 0 : a + 1;
  case EMU_ATOMIC_DEC:
    return a == 0 || a > b ? b : a - 1;
  case EMU_ATOMIC_AND:
    return a & b;
  case EMU_ATOMIC_OR:
    return a | b;
  case EMU_ATOMIC_XOR:
    return a ^ b;
  default:
    return b;
  }
}

static uint64_t apply(unsigned operation, unsigned type, uint64_t old, uint64_t b, uint64_t c, bool in_global)
{
  if (operation == EMU_ATOMIC_CAS) {
    return old == b ? c : old;
  }
  if (operation == EMU_ATOMIC_EXCH) {
    return b;
  }
  return type >= EMU_ATOMIC_F32 && type <= EMU_ATOMIC_BF16X2 ? floats(operation, type, old, b, in_global)
                                                             : integers(operation, type, old, b);
}

uint32_t emu_atomic_size(unsigned type)
{
  return sizes[type];
}

void emu_atomic_reduce(uint8_t *at, unsigned operation, unsigned type, uint64_t value)
{
  const unsigned which = (unsigned)((uintptr_t)at / 16 % LOCKS), size = sizes[type];
  uint64_t old = 0;
  lock(which);
  memcpy(&old, at, size);
  const uint64_t made = apply(operation, type, old, value, 0, true);
  memcpy(at, &made, size);
  unlock(which);
}

/* Choices: order, scope, space, [noftz,] type. arg: the operation. */
static emu_next run(emu_warp *warp, const emu_step *step, uint32_t active, emu_space space)
{
  const unsigned operation = step->arg & 15u, type = step->mods[4], size = sizes[type];
  EMU_FOR_LANES(lane, active)
  {
    const uint64_t address = emu_address(warp, step, &step->src[0], lane);
    uint8_t *at = emu_access(warp, step, lane, space, address, size, EMU_ATOMIC);
    if (at == NULL) {
      return EMU_FAULT;
    }
    const uint64_t mask = size == 8 ? ~0ull : (1ull << 8 * size) - 1;
    const uint64_t b = emu_lane(warp, &step->src[1], lane) & mask;
    const uint64_t c = operation == EMU_ATOMIC_CAS ? emu_lane(warp, &step->src[2], lane) & mask : 0;
    const unsigned which = (unsigned)((uintptr_t)at / 16 % LOCKS);
    const bool is_followed = emu_strong_begin(warp, at);
    if (is_followed) {
      /* Order: relaxed, acquire, release, acq_rel. */
      emu_strong_read(warp, lane, at, step->mods[0] == 2 || step->mods[0] == 4);
      emu_strong_write(warp, lane, at, step->mods[0] >= 3, true);
    }
    lock(which);
    uint64_t old = 0;
    memcpy(&old, at, size);
    uint64_t inside;
    const bool in_global = (space == EMU_GENERIC ? emu_generic(address, &inside) : space) == EMU_GLOBAL;
    const uint64_t made = apply(operation, type, old, b, c, in_global);
    memcpy(at, &made, size);
    unlock(which);
    if (is_followed) {
      emu_strong_end(warp);
    }
    if (step->num_dst > 0) {
      emu_set_lane(warp, &step->dst[0], lane, old);
    }
  }
  return EMU_NEXT;
}

#define IN_SPACE(name, space)                                                                                          \
  static emu_next name(emu_warp *warp, const emu_step *step, uint32_t active)                                          \
  {                                                                                                                    \
    return run(warp, step, active, space);                                                                             \
  }
IN_SPACE(in_generic, EMU_GENERIC)
IN_SPACE(in_global, EMU_GLOBAL)
IN_SPACE(in_shared, EMU_SHARED)
IN_SPACE(in_cluster, EMU_SHARED_CLUSTER)

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ORDERS ".relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?."
/* The types that an operation has, written so that each keeps its number. */
#define ROW(op, space, function, operation, operands, types, arg)                                                      \
  {                                                                                                                    \
    op ORDERS space "." operation ".noftz?." types, operands, function, 0, arg, 0                                      \
  }
#define SPACES(op, operation, operands, types, arg)                                                                    \
  ROW(op, "-?", in_generic, operation, operands, types, arg),                                                          \
      ROW(op, "global|-", in_global, operation, operands, types, arg),                                                 \
      ROW(op, "shared|shared::cta", in_shared, operation, operands, types, arg),                                       \
      ROW(op, "shared::cluster|-", in_cluster, operation, operands, types, arg)
#define BOTH(operation, types, arg)                                                                                    \
  SPACES("atom", operation, "=x a x", types, arg), SPACES("red", operation, "a x", types, arg)

static const emu_row rows[] = {
    BOTH("add", "-|u32|s32|-|u64|s64|f32|f64|f16|bf16|f16x2|bf16x2", EMU_ATOMIC_ADD),
    BOTH("min", "-|u32|s32|-|u64|s64|-|-|f16|bf16|f16x2|bf16x2", EMU_ATOMIC_MIN),
    BOTH("max", "-|u32|s32|-|u64|s64|-|-|f16|bf16|f16x2|bf16x2", EMU_ATOMIC_MAX),
    BOTH("inc", "-|u32", EMU_ATOMIC_INC),
    BOTH("dec", "-|u32", EMU_ATOMIC_DEC),
    BOTH("and", "b32|-|-|b64", EMU_ATOMIC_AND),
    BOTH("or", "b32|-|-|b64", EMU_ATOMIC_OR),
    BOTH("xor", "b32|-|-|b64", EMU_ATOMIC_XOR),
    SPACES("atom", "exch", "=x a x", "b32|-|-|b64", EMU_ATOMIC_EXCH),
    SPACES("atom", "cas", "=x a x x", "b32|-|-|b64|-|-|-|-|-|-|-|-|b16", EMU_ATOMIC_CAS),
};

EMU_FAMILY(emu_family_atomic, rows);
