/* SPDX-License-Identifier: Apache-2.0 */
/* What moves values and chooses among them, and the way through the text. */
#include "rows.h"

static const golden_row rows[] = {
    ROW("mov.u16|s16|b16", "=h h"),
    ROW("mov.u32|s32|b32|f32", "=w w"),
    ROW("mov.u64|s64|b64|f64", "=l l"),
    ROW("mov.pred", "=p p"),
    TEXT("mov.b32", "=h=h w", "$ {r0, r1}, a0;"),
    TEXT("mov.b32", "=w hh", "$ r0, {a0, a1};"),
    TEXT("mov.b64", "=w=w l", "$ {r0, r1}, a0;"),
    TEXT("mov.b64", "=h=h=h=h l", "$ {r0, r1, r2, r3}, a0;"),
    TEXT("mov.b64", "=l ww", "$ r0, {a0, a1};"),
    TEXT("mov.b64", "=l hhhh", "$ r0, {a0, a1, a2, a3};"),
    ROW("selp.u16|s16|b16", "=h hhp"),
    ROW("selp.u32|s32|b32|f32", "=w wwp"),
    ROW("selp.u64|s64|b64|f64", "=l llp"),
    ROW("slct.b16|u16|s16.s32", "=h hhw"),
    ROW("slct.b32|u32|s32|f32.s32", "=w www"),
    ROW("slct.b64|u64|s64|f64.s32", "=l llw"),
    ROW("slct.ftz?.b32|u32|s32|f32.f32", "=w wwf"),
    ROW("slct.ftz?.b64|u64|s64|f64.f32", "=l llf"),
    ROW("prmt.b32", "=w www"),
    ROW("prmt.b32.f4e|b4e|rc8|ecl|ecr|rc16", "=w www"),
    TEXT("bra.uni?", "=w w", "mov.b32 r0, a0;\n$ behind;\nmov.b32 r0, 0;\nbehind:\nadd.u32 r0, r0, 1;"),
    TEXT("bra", "=w wp", "mov.b32 r0, a0;\n@a1 $ behind;\nnot.b32 r0, r0;\nbehind:\nadd.u32 r0, r0, 1;"),
    TEXT("bra", "=w k",
         "mov.b32 r0, 1;\nmov.b32 t0, a0;\nagain:\nmul.lo.u32 r0, r0, 3;\nsub.u32 t0, t0, 1;\n"
         "setp.ge.s32 q0, t0, 0;\n@q0 $ again;"),
    TEXT("ret|exit", "=w wp", "mov.b32 r0, 5;\nst.global.b32 [result], a0;\n@a1 $;"),
    TEXT("cvta.to.global.u64", "=w w", "$ u0, memory;\nst.global.b32 [u0+4], a0;\nld.global.b32 r0, [memory+4];"),
    TEXT("cvta.shared|shared::cta.u64", "=w w",
         "cvt.u64.u32 u1, spot;\n$ u0, u1;\nst.b32 [u0+4], a0;\nld.shared.b32 r0, [spot+4];"),
    TEXT("cvta.to.shared.u64", "=p w",
         "cvt.u64.u32 u1, spot;\ncvta.shared.u64 u0, u1;\n$ u0, u0;\nsetp.eq.u64 r0, u0, u1;"),
    TEXT("isspacep.global", "=p=p w", "cvt.u64.u32 u1, spot;\ncvta.shared.u64 u0, u1;\n$ r0, memory;\n$ r1, u0;"),
    TEXT("isspacep.shared|shared::cta|shared::cluster", "=p=p w",
         "cvt.u64.u32 u1, spot;\ncvta.shared.u64 u0, u1;\n$ r0, memory;\n$ r1, u0;"),
    TEXT("mapa.shared::cluster.u32", "=w w",
         "mov.u32 t1, 0;\n$ t0, spot, t1;\nst.shared.b32 [spot], a0;\nld.shared::cluster.b32 r0, [t0];"),
    TEXT("getctarank.shared::cluster.u32", "=w w", "$ r0, spot;"),
};

TABLE(golden_move);
