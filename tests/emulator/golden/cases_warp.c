/* SPDX-License-Identifier: Apache-2.0 */
/* Among the lanes of a warp, and the threads of a block. */
#include "rows.h"

#define ALL "0xffffffff"
/* The even lanes alone. */
#define EVEN "and.b32 t0, lane, 1;\nsetp.eq.u32 q0, t0, 0;\nmov.b32 r0, 7;\n@!q0 bra behind;\n"

static const golden_row rows[] = {
    TEXT("shfl.sync.up|down|bfly|idx.b32", "=w=p wLs", "$ r0|r1, a0, a1, a2, " ALL ";"),
    TEXT("shfl.sync.up|down|bfly|idx.b32", "=w w", "$ r0, a0, 6, 31, " ALL ";"),
    TEXT("shfl.sync.up|down|bfly|idx.b32", "=w w", EVEN "$ r0, a0, 2, 31, 0x55555555;\nbehind:"),
    TEXT("vote.sync.all|any|uni.pred", "=p r", "$ r0, a0, " ALL ";"),
    TEXT("vote.sync.all|any|uni.pred", "=p r", "not.pred q0, a0;\n$ r0, q0, " ALL ";"),
    TEXT("vote.sync.ballot.b32", "=w p", "$ r0, a0, " ALL ";"),
    TEXT("vote.sync.ballot.b32", "=w p", EVEN "$ r0, a0, 0x55555555;\nbehind:"),
    TEXT("match.any.sync.b32", "=w k", "$ r0, a0, " ALL ";"),
    TEXT("match.any.sync.b64", "=w K", "$ r0, a0, " ALL ";"),
    TEXT("match.all.sync.b32", "=w=p r", "selp.b32 t0, 4, 5, a0;\n$ r0|r1, t0, " ALL ";"),
    TEXT("match.all.sync.b64", "=w=p r", "selp.b64 u0, 4, 5, a0;\n$ r0|r1, u0, " ALL ";"),
    TEXT("redux.sync.add|min|max.u32|s32", "=w w", "$ r0, a0, " ALL ";"),
    TEXT("redux.sync.and|or|xor.b32", "=w w", "$ r0, a0, " ALL ";"),
    TEXT("redux.sync.and|or.b32", "=w k", "or.b32 t0, a0, 0x40;\n$ r0, t0, " ALL ";"),
    TEXT("redux.sync.add|min|max.u32|s32", "=w w", EVEN "$ r0, a0, 0x55555555;\nbehind:"),
    /* Which lane it is is not documented: one, which all name. */
    TEXT("elect.sync", "=w=p w",
         "$ t0|q0, " ALL ";\nsetp.eq.u32 q1, t0, lane;\nxor.pred r1, q0, q1;\n"
         "match.all.sync.b32 t1|q2, t0, " ALL ";\nselp.b32 r0, 1, 0, q2;"),
    TEXT("activemask.b32", "=w w", "$ r0;"),
    TEXT("bar.warp.sync", "=w w", "st.shared.b32 [row], a0;\n$ " ALL ";\nld.shared.b32 r0, [beside];"),
    TEXT("bar|barrier.sync", "=w w", "st.shared.b32 [row], a0;\n$ 0;\nld.shared.b32 r0, [across];"),
    TEXT("bar|barrier.sync", "=w w", "st.shared.b32 [row], a0;\n$ 3, 128;\nld.shared.b32 r0, [across];"),
    TEXT("bar|barrier.red.and|or.pred", "=p r", "$ r0, 1, a0;"),
    TEXT("bar|barrier.red.and|or.pred", "=p r", "not.pred q0, a0;\n$ r0, 1, q0;"),
    TEXT("bar|barrier.red.popc.u32", "=w p", "$ r0, 1, a0;"),
    TEXT("bar|barrier.arrive", "=w w",
         "st.shared.b32 [row], a0;\nmov.b32 r0, 3;\nand.b32 t0, thread, 64;\nsetp.ne.u32 q0, t0, 0;\n"
         "@q0 $ 2, 128;\n@!q0 bar.sync 2, 128;\n@!q0 ld.shared.b32 r0, [across];"),
    TEXT("membar.cta|gl|sys", "=w w", "st.global.b32 [memory], a0;\n$;\nld.global.b32 r0, [memory];"),
    TEXT("fence.sc|acq_rel?.cta|cluster|gpu|sys", "=w w",
         "st.global.b32 [memory], a0;\n$;\nld.global.b32 r0, [memory];"),
    TEXT("fence.proxy.async", "=w w", "st.global.b32 [memory], a0;\n$;\nld.global.b32 r0, [memory];"),
    TEXT("fence.proxy.async.global|shared::cta|shared::cluster", "=w w",
         "st.global.b32 [memory], a0;\n$;\nld.global.b32 r0, [memory];"),
    TEXT("fence.proxy.alias", "=w w", "st.global.b32 [memory], a0;\n$;\nld.global.b32 r0, [memory];"),
    TEXT("griddepcontrol.wait|launch_dependents", "=w w", "$;\nmov.b32 r0, a0;"),
    TEXT("nanosleep.u32", "=w w", "$ 20;\nmov.b32 r0, a0;"),
    TEXT("setmaxnreg.inc|dec.sync.aligned.u32", "=w w", "$ 64;\nmov.b32 r0, a0;"),
};

TABLE(golden_warp);
