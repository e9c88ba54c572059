/* SPDX-License-Identifier: Apache-2.0 */
/* atom and red: on a thread's own word, and on one word of a whole block. */
#include "rows.h"

/* r0 what was there, r1 what is there then. */
#define ATOM(space, at, op, letter, bits)                                                                              \
  TEXT("atom." space op, "=" letter "=" letter " " letter letter,                                                      \
       "st." space "b" bits " [" at "], a0;\n$ r0, [" at "], a1;\nld." space "b" bits " r1, [" at "];")
#define RED(space, at, op, letter, bits)                                                                               \
  TEXT("red." space op, "=" letter " " letter letter,                                                                  \
       "st." space "b" bits " [" at "], a0;\n$ [" at "], a1;\nld." space "b" bits " r0, [" at "];")
#define CAS(space, at, letter, bits)                                                                                   \
  TEXT("atom." space "cas.b" bits, "=" letter "=" letter " " letter letter letter "p",                                 \
       "st." space "b" bits " [" at "], a0;\nselp.b" bits " a1, a0, a1, a3;\n$ r0, [" at "], a1, a2;\nld." space       \
       "b" bits " r1, [" at "];")
#define BOTH(space, at, op, letter, bits) ATOM(space, at, op, letter, bits), RED(space, at, op, letter, bits)
#define IN_SPACE(space, at)                                                                                            \
  BOTH(space, at, "add.u32|s32", "w", "32"), BOTH(space, at, "add.u64", "l", "64"),                                    \
      BOTH(space, at, "add.f32", "f", "32"), BOTH(space, at, "add.f64", "d", "64"),                                    \
      BOTH(space, at, "add.noftz.f16|bf16", "h", "16"), BOTH(space, at, "min|max.u32|s32", "w", "32"),                 \
      BOTH(space, at, "min|max.u64|s64", "l", "64"), BOTH(space, at, "inc|dec.u32", "w", "32"),                        \
      BOTH(space, at, "and|or|xor.b32", "w", "32"), BOTH(space, at, "and|or|xor.b64", "l", "64"),                      \
      ATOM(space, at, "exch.b32", "w", "32"), ATOM(space, at, "exch.b64", "l", "64"), CAS(space, at, "w", "32"),       \
      CAS(space, at, "l", "64"), CAS(space, at, "h", "16")

#define SHARED_WORD "setp.eq.u32 q0, thread, 0;\n@q0 st.shared.b32 [pool+8064], 1;\nbar.sync 0;\n"
#define SHARED_SUM "bar.sync 0;\nld.shared.b32 r0, [pool+8064];"

static const golden_row rows[] = {
    IN_SPACE("global.", "memory"),
    /* In global memory alone: what driver 580.159.04 makes of PTX with these in shared memory leaves the upper half as
     * it was. Documented is the sum of both. */
    BOTH("global.", "memory", "add.noftz.f16x2", "E", "32"),
    BOTH("global.", "memory", "add.noftz.bf16x2", "B", "32"),
    BOTH("", "memory", "add.noftz.f16x2", "E", "32"),
    BOTH("", "memory", "add.noftz.bf16x2", "B", "32"),
    IN_SPACE("shared.", "spot"),
    IN_SPACE("", "memory"),
    ATOM("", "memory", "relaxed|acquire|release|acq_rel.cta|cluster|gpu|sys.global.add.u32", "w", "32"),
    RED("", "memory", "relaxed|release.cta|cluster|gpu|sys.global.add.u32", "w", "32"),
    TEXT("red.shared.add|min|max.u32|s32", "=w w", SHARED_WORD "$ [pool+8064], a0;\n" SHARED_SUM),
    TEXT("red.shared.and|or|xor.b32", "=w w", SHARED_WORD "$ [pool+8064], a0;\n" SHARED_SUM),
    TEXT("red.shared.inc.u32", "=w w", SHARED_WORD "$ [pool+8064], 100;\n" SHARED_SUM),
};

TABLE(golden_atomic);
