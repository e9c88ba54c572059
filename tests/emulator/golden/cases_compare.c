/* SPDX-License-Identifier: Apache-2.0 */
/* setp and set. */
#include "rows.h"

#define ORDERED "eq|ne|lt|le|gt|ge"
#define FLOATING "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"
/* With one result, with two, and with a third predicate. */
#define SETP(comparisons, mods, types, letters)                                                                        \
  ROW("setp." comparisons mods "." types, "=p " letters), ROW("setp." comparisons mods "." types, "=p=p " letters),    \
      ROW("setp." comparisons ".and|or|xor" mods "." types, "=p=p " letters "p")
#define SET(comparisons, mods, types, letters)                                                                         \
  ROW("set." comparisons mods ".u32|s32|f32." types, "=w " letters),                                                   \
      ROW("set." comparisons ".and|or|xor" mods ".u32|s32|f32." types, "=w " letters "p")
#define BOTH(comparisons, mods, types, letters)                                                                        \
  SETP(comparisons, mods, types, letters), SET(comparisons, mods, types, letters)

static const golden_row rows[] = {
    BOTH(ORDERED, "", "u16|s16", "hh"),
    BOTH(ORDERED, "", "u32|s32", "ww"),
    BOTH(ORDERED, "", "u64|s64", "ll"),
    BOTH("lo|ls|hi|hs", "", "u16", "hh"),
    BOTH("lo|ls|hi|hs", "", "u32", "ww"),
    BOTH("lo|ls|hi|hs", "", "u64", "ll"),
    BOTH("eq|ne", "", "b16", "hh"),
    BOTH("eq|ne", "", "b32", "ww"),
    BOTH("eq|ne", "", "b64", "ll"),
    BOTH(FLOATING, ".ftz?", "f32", "ff"),
    BOTH(FLOATING, "", "f64", "dd"),
    ROW("setp." FLOATING ".ftz?.f16", "=p ee"),
    ROW("setp." FLOATING ".and|or|xor.ftz?.f16", "=p eep"),
    ROW("setp." FLOATING ".bf16", "=p bb"),
    ROW("setp." FLOATING ".and|or|xor.bf16", "=p bbp"),
    ROW("setp." FLOATING ".ftz?.f16x2", "=p=p EE"),
    ROW("setp." FLOATING ".and|or|xor.ftz?.f16x2", "=p=p EEp"),
    ROW("setp." FLOATING ".bf16x2", "=p=p BB"),
    ROW("setp." FLOATING ".and|or|xor.bf16x2", "=p=p BBp"),
};

TABLE(golden_comparison);
