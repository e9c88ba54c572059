/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores of every type, in every space; cp.async and mbarriers. */
#include "rows.h"

#define WIDE "b64|u64|s64|f64"
#define WORD "b32|u32|s32|f32"
#define HALF "b16|u16|s16"
#define BYTE "b8|u8|s8"

/* A load of each type, into a register of its own width and into a wider one. */
#define LOADS(op, at, before)                                                                                          \
  TEXT(op "." BYTE "|" HALF, "=h l", before "$ r0, [" at "];"),                                                        \
      TEXT(op "." BYTE "|" HALF "|" WORD, "=w l", before "$ r0, [" at "];"),                                           \
      TEXT(op "." BYTE "|" HALF "|b32|u32|s32|" WIDE, "=l l", before "$ r0, [" at "];"),                               \
      TEXT(op ".v2." BYTE "|" HALF, "=h=h l", before "$ {r0, r1}, [" at "];"),                                         \
      TEXT(op ".v4." BYTE "|" HALF, "=h=h=h=h l", before "$ {r0, r1, r2, r3}, [" at "];"),                             \
      TEXT(op ".v2." WORD, "=w=w l", before "$ {r0, r1}, [" at "];"),                                                  \
      TEXT(op ".v4." WORD, "=w=w=w=w l", before "$ {r0, r1, r2, r3}, [" at "];"),                                      \
      TEXT(op ".v2." WIDE, "=l=l l", before "$ {r0, r1}, [" at "];")
/* The bytes around what is stored are read too. */
#define STORES(op, at, before, load)                                                                                   \
  TEXT(op "." BYTE "|" HALF, "=l h", before "$ [" at "], a0;\n" load " r0, [" at "];"),                                \
      TEXT(op "." BYTE "|" HALF "|" WORD, "=l w", before "$ [" at "], a0;\n" load " r0, [" at "];"),                   \
      TEXT(op "." BYTE "|" HALF "|b32|u32|s32|" WIDE, "=l l", before "$ [" at "], a0;\n" load " r0, [" at "];"),       \
      TEXT(op ".v2." BYTE "|" HALF, "=l hh", before "$ [" at "], {a0, a1};\n" load " r0, [" at "];"),                  \
      TEXT(op ".v4." BYTE "|" HALF, "=l hhhh", before "$ [" at "], {a0, a1, a2, a3};\n" load " r0, [" at "];"),        \
      TEXT(op ".v2." WORD, "=l ww", before "$ [" at "], {a0, a1};\n" load " r0, [" at "];"),                           \
      TEXT(op ".v4." WORD, "=l=l wwww",                                                                                \
           before "$ [" at "], {a0, a1, a2, a3};\n" load " r0, [" at "];\n" load " r1, [" at "+8];"),                  \
      TEXT(op ".v2." WIDE, "=l=l ll",                                                                                  \
           before "$ [" at "], {a0, a1};\n" load " r0, [" at "];\n" load " r1, [" at "+8];")

#define FILL(store, at)                                                                                                \
  "not.b64 u0, a0;\n" store " [" at "], a0;\n" store " [" at "+8], u0;\nshl.b64 u0, a0, 3;\n" store " [" at            \
  "+16], u0;\n" store " [" at "+24], u0;\n"
#define CLEAR(store, at) "mov.b64 u0, 0x1122334455667788;\n" store " [" at "], u0;\n" store " [" at "+8], u0;\n"
#define TO_GENERIC "cvt.u64.u32 u1, spot;\ncvta.shared.u64 u1, u1;\n"
/* Hints that change nothing. */
#define HINTED(op) TEXT(op ".u32", "=w l", FILL("st.global.b64", "memory") "$ r0, [memory+4];")
#define HINTED_4(op)                                                                                                   \
  TEXT(op ".v4.u32", "=w=w=w=w l", FILL("st.global.b64", "memory") "$ {r0, r1, r2, r3}, [memory+16];")
#define KEPT(op) TEXT(op ".u32", "=w w", "$ [memory+4], a0;\nld.global.u32 r0, [memory+4];")

#define MEET "bar.sync 0;\nsetp.eq.u32 q0, thread, 0;\n"
#define PHASE                                                                                                          \
  MEET "@q0 mbarrier.init.shared.b64 [pool+8064], 128;\nbar.sync 0;\nst.shared.b32 [row], a0;\n"                       \
       "mbarrier.arrive.shared.b64 u0, [pool+8064];\n"
#define SEE "ld.shared.b32 r0, [across];"
#define SOURCE "st.global.v4.b32 [memory+16], {a0, a1, a2, a3};\n"
#define COPIED "cp.async.wait_all;\nld.shared.v4.b32 {r0, r1, r2, r3}, [spot];"

static const golden_row rows[] = {
    LOADS("ld.global", "memory", FILL("st.global.b64", "memory")),
    LOADS("ld.shared", "spot", FILL("st.shared.b64", "spot")),
    LOADS("ld.local", "own", FILL("st.local.b64", "own")),
    LOADS("ld", "memory", FILL("st.global.b64", "memory")),
    LOADS("ld", "u1", TO_GENERIC FILL("st.shared.b64", "spot")),
    LOADS("ld.param", "words", ""),
    LOADS("ld.const", "table", ""),
    STORES("st.global", "memory", CLEAR("st.global.b64", "memory"), "ld.global.b64"),
    STORES("st.shared", "spot", CLEAR("st.shared.b64", "spot"), "ld.shared.b64"),
    STORES("st.local", "own", CLEAR("st.local.b64", "own"), "ld.local.b64"),
    STORES("st", "memory", CLEAR("st.global.b64", "memory"), "ld.global.b64"),
    STORES("st", "u1", TO_GENERIC CLEAR("st.shared.b64", "spot"), "ld.b64"),
    HINTED("ld.global.ca|cg|cs|cv"),
    HINTED_4("ld.global.ca|cg|cs"),
    HINTED("ld.global.L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"),
    HINTED_4("ld.global.L2::64B|L2::128B|L2::256B"),
    HINTED("ld.volatile.global"),
    HINTED("ld.relaxed|acquire.cta|cluster|gpu|sys.global"),
    KEPT("st.global.wb|cg|cs|wt"),
    KEPT("st.volatile.global"),
    KEPT("st.relaxed|release.cta|cluster|gpu|sys.global"),
    TEXT("ld.global.nc.u32", "=w", "$ r0, [input];"),
    TEXT("ld.global.nc.L1::no_allocate?.L2::64B|L2::128B|L2::256B?.v4.u32", "=w=w=w=w",
         "and.b64 u0, input, -16;\n$ {r0, r1, r2, r3}, [u0];"),
    TEXT("prefetch.global.L1|L2", "=w w", "$ [memory];\nmov.b32 r0, a0;"),
    TEXT("prefetch.global.L2::evict_last|L2::evict_normal", "=w w", "$ [memory];\nmov.b32 r0, a0;"),
    TEXT("cp.async.ca.shared|shared::cta.global", "=w=w=w=w wwww",
         SOURCE "st.shared.v4.b32 [spot], {a3, a2, a1, a0};\n$ [spot+4], [memory+20], 4;\n$ [spot+8], [memory+24], "
                "8;\n" COPIED),
    TEXT("cp.async.ca|cg.shared|shared::cta.global", "=w=w=w=w wwww", SOURCE "$ [spot], [memory+16], 16;\n" COPIED),
    TEXT("cp.async.ca|cg.shared|shared::cta.global.L2::64B|L2::128B|L2::256B", "=w=w=w=w wwww",
         SOURCE "$ [spot], [memory+16], 16;\n" COPIED),
    TEXT("cp.async.ca.shared.global", "=w=w=w=w wwww",
         SOURCE "and.b32 t0, a0, 15;\n$ [spot], [memory+16], 16, t0;\n" COPIED),
    TEXT("cp.async.commit_group", "=w=w=w=w wwww",
         SOURCE "cp.async.cg.shared.global [spot], [memory+16], 16;\n$;\n$;\ncp.async.wait_group 1;\n"
                "ld.shared.v4.b32 {r0, r1, r2, r3}, [spot];"),
    TEXT("cp.async.wait_group", "=w=w=w=w wwww",
         SOURCE "cp.async.cg.shared.global [spot], [memory+16], 16;\ncp.async.commit_group;\n$ 0;\n"
                "ld.shared.v4.b32 {r0, r1, r2, r3}, [spot];"),
    TEXT("cp.async.wait_all", "=w=w=w=w wwww",
         SOURCE "cp.async.cg.shared.global [spot], [memory+16], 16;\n$;\nld.shared.v4.b32 {r0, r1, r2, r3}, [spot];"),
    TEXT("cp.async.mbarrier.arrive.noinc.shared.b64", "=w wwww",
         SOURCE MEET "@q0 mbarrier.init.shared.b64 [pool+8064], 128;\nbar.sync 0;\n"
                     "cp.async.cg.shared.global [row], [memory+16], 16;\n$ [pool+8064];\n"
                     "again:\nmbarrier.test_wait.parity.shared.b64 q1, [pool+8064], 0;\n@!q1 bra again;\n" SEE),
    TEXT("mbarrier.init.shared|shared::cta.b64", "=w w",
         MEET "@q0 $ [pool+8064], 1;\nst.shared.b32 [row], a0;\nbar.sync 0;\n"
              "@q0 mbarrier.arrive.shared.b64 u0, [pool+8064];\n"
              "again:\nmbarrier.test_wait.parity.shared.b64 q1, [pool+8064], 0;\n@!q1 bra again;\n" SEE),
    TEXT("mbarrier.arrive.shared|shared::cta.b64", "=w w",
         MEET "@q0 mbarrier.init.shared.b64 [pool+8064], 128;\nbar.sync 0;\nst.shared.b32 [row], a0;\n"
              "$ u0, [pool+8064];\nagain:\nmbarrier.test_wait.shared.b64 q1, [pool+8064], u0;\n@!q1 bra again;\n" SEE),
    TEXT("mbarrier.test_wait|try_wait.shared|shared::cta.b64", "=w w",
         PHASE "again:\n$ q1, [pool+8064], u0;\n@!q1 bra again;\n" SEE),
    TEXT("mbarrier.test_wait|try_wait.parity.shared|shared::cta.b64", "=w=p w",
         PHASE "again:\n$ q1, [pool+8064], 0;\n@!q1 bra again;\n$ r1, [pool+8064], 1;\n" SEE),
    TEXT("mbarrier.arrive.expect_tx.shared.b64", "=w w",
         MEET "@q0 mbarrier.init.shared.b64 [pool+8064], 128;\nbar.sync 0;\nst.shared.b32 [row], a0;\n"
              "$ u0, [pool+8064], 16;\nmbarrier.complete_tx.shared.b64 [pool+8064], 16;\n"
              "again:\nmbarrier.test_wait.shared.b64 q1, [pool+8064], u0;\n@!q1 bra again;\n" SEE),
    TEXT("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", "=w w",
         MEET
         "@q0 mbarrier.init.shared.b64 [pool+8064], 128;\nbar.sync 0;\nst.shared.b32 [row], a0;\n$ [pool+8064], 8;\n"
         "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [pool+8064], 8;\n"
         "mbarrier.arrive.shared.b64 u0, [pool+8064];\n"
         "again:\nmbarrier.test_wait.shared.b64 q1, [pool+8064], u0;\n@!q1 bra again;\n" SEE),
    TEXT("mbarrier.inval.shared.b64", "=w w",
         MEET "@q0 mbarrier.init.shared.b64 [pool+8064], 1;\n@q0 $ [pool+8064];\n@q0 st.shared.b32 [pool+8064], a0;\n"
              "bar.sync 0;\nld.shared.b32 r0, [pool+8064];"),
    TEXT("mbarrier.pending_count.b64", "=w w",
         "setp.ne.u32 q0, thread, 0;\nmov.b32 r0, 9;\n@q0 bra behind;\n"
         "mbarrier.init.shared.b64 [pool+8064], 5;\nmbarrier.arrive.shared.b64 u0, [pool+8064];\n"
         "mbarrier.arrive.shared.b64 u0, [pool+8064];\n$ r0, u0;\nbehind:"),
    TEXT("cp.async.bulk.shared::cluster|shared::cta.global.mbarrier::complete_tx::bytes", "=w w",
         MEET "@q0 mbarrier.init.shared.b64 [pool+8064], 1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
              "@q0 mbarrier.arrive.expect_tx.shared.b64 u0, [pool+8064], 1024;\n"
              "@q0 $ [pool], [input], 1024, [pool+8064];\n"
              "again:\nmbarrier.try_wait.parity.shared.b64 q1, [pool+8064], 0;\n@!q1 bra again;\n"
              "xor.b32 t0, thread, 65;\nmov.u32 t1, pool;\nmad.lo.u32 t0, t0, 8, t1;\nld.shared.b32 r0, [t0];"),
    TEXT("cp.async.bulk.global.shared::cta.bulk_group", "=w w",
         MEET "st.shared.b32 [row], a0;\nst.shared.b32 [row+4], a0;\nst.shared.b32 [row+8], a0;\n"
              "st.shared.b32 [row+12], a0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
              "@q0 $ [memory], [pool], 2048;\n@q0 cp.async.bulk.commit_group;\n@q0 cp.async.bulk.wait_group 0;\n"
              "bar.sync 0;\nmul.wide.u32 u1, thread, 48;\nsub.u64 u1, memory, u1;\nld.global.b32 r0, [u1];"),
    TEXT("fence.mbarrier_init.release.cluster", "=w w", "$;\nmov.b32 r0, a0;"),
};

TABLE(golden_memory);
