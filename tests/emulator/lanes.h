/* SPDX-License-Identifier: Apache-2.0 */
/* One function for all lanes of an instruction, from an expression for one. Compiled without strict aliasing: the
 * lanes of a register are what the instruction says they are. */
#ifndef EMU_LANES_H
#define EMU_LANES_H

#include <math.h>

#include "exec.h"

/* The C type of a PTX type, and of the array element that holds it. */
typedef uint16_t emu_u16;
typedef int16_t emu_s16;
typedef uint32_t emu_u32;
typedef int32_t emu_s32;
typedef uint64_t emu_u64;
typedef int64_t emu_s64;
typedef float emu_f32;
typedef double emu_f64;
typedef uint32_t emu_cell_u16;
typedef uint32_t emu_cell_s16;
typedef uint32_t emu_cell_u32;
typedef int32_t emu_cell_s32;
typedef uint64_t emu_cell_u64;
typedef int64_t emu_cell_s64;
typedef float emu_cell_f32;
typedef double emu_cell_f64;
/* What a result becomes in its element: 16 bits leave the upper ones zero. */
#define EMU_KEEP_u16(value) ((uint32_t)(uint16_t)(value))
#define EMU_KEEP_s16(value) ((uint32_t)(uint16_t)(value))
#define EMU_KEEP_u32(value) ((uint32_t)(value))
#define EMU_KEEP_s32(value) ((int32_t)(value))
#define EMU_KEEP_u64(value) ((uint64_t)(value))
#define EMU_KEEP_s64(value) ((int64_t)(value))
#define EMU_KEEP_f32(value) (value)
#define EMU_KEEP_f64(value) (value)

#define EMU_IN(T, warp, slot) ((const emu_cell_##T *)(const void *)((warp)->banks[(slot)->bank] + (slot)->offset))
#define EMU_OUT(T, warp, slot) ((emu_cell_##T *)(void *)((warp)->banks[EMU_BANK_REGISTERS] + (slot)->offset))

#if defined(__clang__)
#define EMU_LANES_ARE_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define EMU_LANES_ARE_APART _Pragma("GCC ivdep")
#endif

/* The body for each active lane; all of them in a loop that the compiler turns into vectors. */
#define EMU_LANE_LOOP(active, ...)                                                                                     \
  if ((active) == EMU_ALL_LANES) {                                                                                     \
    EMU_LANES_ARE_APART for (uint32_t lane = 0; lane < EMU_LANES; lane++) __VA_ARGS__                                  \
  } else {                                                                                                             \
    EMU_FOR_LANES(lane, active) __VA_ARGS__                                                                            \
  }

/* name: the function; TD: the result's type; T: the sources'; expression: of a, b, c. */
#define EMU_UNARY(name, TD, T, expression)                                                                             \
  static emu_next name(emu_warp *warp, const emu_step *step, uint32_t active)                                          \
  {                                                                                                                    \
    emu_cell_##TD *to = EMU_OUT(TD, warp, &step->dst[0]);                                                              \
    const emu_cell_##T *in_a = EMU_IN(T, warp, &step->src[0]);                                                         \
    EMU_LANE_LOOP(active, {                                                                                            \
      const emu_##T a = (emu_##T)in_a[lane];                                                                           \
      to[lane] = EMU_KEEP_##TD(expression);                                                                            \
    })                                                                                                                 \
    return EMU_NEXT;                                                                                                   \
  }

#define EMU_BINARY2(name, TD, T, TB, expression)                                                                       \
  static emu_next name(emu_warp *warp, const emu_step *step, uint32_t active)                                          \
  {                                                                                                                    \
    emu_cell_##TD *to = EMU_OUT(TD, warp, &step->dst[0]);                                                              \
    const emu_cell_##T *in_a = EMU_IN(T, warp, &step->src[0]);                                                         \
    const emu_cell_##TB *in_b = EMU_IN(TB, warp, &step->src[1]);                                                       \
    EMU_LANE_LOOP(active, {                                                                                            \
      const emu_##T a = (emu_##T)in_a[lane];                                                                           \
      const emu_##TB b = (emu_##TB)in_b[lane];                                                                         \
      to[lane] = EMU_KEEP_##TD(expression);                                                                            \
    })                                                                                                                 \
    return EMU_NEXT;                                                                                                   \
  }
#define EMU_BINARY(name, TD, T, expression) EMU_BINARY2(name, TD, T, T, expression)

#define EMU_TERNARY2(name, TD, T, TC, expression)                                                                      \
  static emu_next name(emu_warp *warp, const emu_step *step, uint32_t active)                                          \
  {                                                                                                                    \
    emu_cell_##TD *to = EMU_OUT(TD, warp, &step->dst[0]);                                                              \
    const emu_cell_##T *in_a = EMU_IN(T, warp, &step->src[0]);                                                         \
    const emu_cell_##T *in_b = EMU_IN(T, warp, &step->src[1]);                                                         \
    const emu_cell_##TC *in_c = EMU_IN(TC, warp, &step->src[2]);                                                       \
    EMU_LANE_LOOP(active, {                                                                                            \
      const emu_##T a = (emu_##T)in_a[lane];                                                                           \
      const emu_##T b = (emu_##T)in_b[lane];                                                                           \
      const emu_##TC c = (emu_##TC)in_c[lane];                                                                         \
      to[lane] = EMU_KEEP_##TD(expression);                                                                            \
    })                                                                                                                 \
    return EMU_NEXT;                                                                                                   \
  }
#define EMU_TERNARY(name, TD, T, expression) EMU_TERNARY2(name, TD, T, T, expression)

/* The lanes for which a condition of a and b holds. */
#define EMU_COMPARE(name, T, condition)                                                                                \
  static uint32_t name(const emu_warp *warp, const emu_slot *slots, uint32_t active)                                   \
  {                                                                                                                    \
    const emu_cell_##T *in_a = EMU_IN(T, warp, &slots[0]);                                                             \
    const emu_cell_##T *in_b = EMU_IN(T, warp, &slots[1]);                                                             \
    uint32_t found = 0;                                                                                                \
    for (uint32_t lane = 0; lane < EMU_LANES; lane++) {                                                                \
      const emu_##T a = (emu_##T)in_a[lane];                                                                           \
      const emu_##T b = (emu_##T)in_b[lane];                                                                           \
      found |= (uint32_t)(condition) << lane;                                                                          \
    }                                                                                                                  \
    return found & active;                                                                                             \
  }

#endif
