/* SPDX-License-Identifier: Apache-2.0 */
/* cvt. */
#include "rows.h"

#define TO_INTEGERS(from, letter)                                                                                      \
  ROW("cvt.rni|rzi|rmi|rpi.sat?.u8|s8|u16|s16|u32|s32." from, "=w " letter),                                           \
      ROW("cvt.rni|rzi|rmi|rpi.sat?.u64|s64." from, "=l " letter)
#define OF_INTEGERS(to, letter)                                                                                        \
  ROW("cvt.rn|rz|rm|rp." to ".u8|s8|u16|s16", "=" letter " h"),                                                        \
      ROW("cvt.rn|rz|rm|rp." to ".u32|s32", "=" letter " w"), ROW("cvt.rn|rz|rm|rp." to ".u64|s64", "=" letter " l")

static const golden_row rows[] = {
    ROW("cvt.u8|s8|u16|s16|u32|s32.u8|s8|u16|s16", "=w h"),
    ROW("cvt.u64|s64.u8|s8|u16|s16", "=l h"),
    ROW("cvt.u8|s8|u16|s16|u32|s32.u32|s32", "=w w"),
    ROW("cvt.u64|s64.u32|s32", "=l w"),
    ROW("cvt.u8|s8|u16|s16|u32|s32.u64|s64", "=w l"),
    ROW("cvt.u64|s64.u64|s64", "=l l"),
    /* Where the result cannot hold all that there is. */
    ROW("cvt.sat.u8.s8|u16|s16", "=w h"),
    ROW("cvt.sat.s8.u8|u16|s16", "=w h"),
    ROW("cvt.sat.u16|u32.s8|s16", "=w h"),
    ROW("cvt.sat.s16.u16", "=w h"),
    ROW("cvt.sat.u64.s8|s16", "=l h"),
    ROW("cvt.sat.u8|s8|u16|s16.u32|s32", "=w w"),
    ROW("cvt.sat.u32.s32", "=w w"),
    ROW("cvt.sat.s32.u32", "=w w"),
    ROW("cvt.sat.u64.s32", "=l w"),
    ROW("cvt.sat.u8|s8|u16|s16|u32|s32.u64|s64", "=w l"),
    ROW("cvt.sat.u64.s64", "=l l"),
    ROW("cvt.sat.s64.u64", "=l l"),
    TO_INTEGERS("f16", "e"),
    TO_INTEGERS("f32", "f"),
    TO_INTEGERS("f64", "d"),
    ROW("cvt.rni|rzi|rmi|rpi.u16|s16.bf16", "=h b"),
    ROW("cvt.rni|rzi|rmi|rpi.u32|s32.bf16", "=w b"),
    ROW("cvt.rni|rzi|rmi|rpi.u64|s64.bf16", "=l b"),
    ROW("cvt.rni|rzi|rmi|rpi.ftz.sat?.u8|s8|u16|s16|u32|s32.f32", "=w f"),
    ROW("cvt.rni|rzi|rmi|rpi.ftz.sat?.u64|s64.f32", "=l f"),
    OF_INTEGERS("f16", "e"),
    OF_INTEGERS("f32", "f"),
    OF_INTEGERS("f64", "d"),
    ROW("cvt.rn|rz|rm|rp.bf16.u16|s16", "=b h"),
    ROW("cvt.rn|rz|rm|rp.bf16.u32|s32", "=b w"),
    ROW("cvt.rn|rz|rm|rp.bf16.u64|s64", "=b l"),
    ROW("cvt.ftz?.sat?.f32.f16", "=f e"),
    ROW("cvt.sat?.f64.f16", "=d e"),
    ROW("cvt.ftz?.sat?.f64.f32", "=d f"),
    ROW("cvt.ftz?.f32.bf16", "=f b"),
    ROW("cvt.rn|rz|rm|rp.ftz?.sat?.f16.f32", "=e f"),
    ROW("cvt.rn|rz|rm|rp.sat?.f16.f64", "=e d"),
    ROW("cvt.rn|rz|rm|rp.ftz?.sat?.f32.f64", "=f d"),
    ROW("cvt.rn|rz|rm|rp.bf16.f32", "=b f"),
    ROW("cvt.rn|rz|rm|rp.bf16.f64", "=b d"),
    ROW("cvt.rn|rz|rm|rp.bf16.f16", "=b e"),
    ROW("cvt.rn|rz|rm|rp.f16.bf16", "=e b"),
    ROW("cvt.f64.bf16", "=d b"),
    ROW("cvt.rni|rzi|rmi|rpi.sat?.f16.f16", "=e e"),
    ROW("cvt.rni|rzi|rmi|rpi.ftz?.sat?.f32.f32", "=f f"),
    ROW("cvt.rni|rzi|rmi|rpi.sat?.f64.f64", "=d d"),
    ROW("cvt.rni|rzi|rmi|rpi.bf16.bf16", "=b b"),
    ROW("cvt.ftz.sat?.f32.f32", "=f f"),
    ROW("cvt.sat.f32.f32", "=f f"),
    ROW("cvt.sat?.f16.f16", "=e e"),
    ROW("cvt.sat?.f64.f64", "=d d"),
    ROW("cvt.rn|rz.relu.f16.f32", "=e f"),
    ROW("cvt.rn|rz.satfinite.f16.f32", "=e f"),
    ROW("cvt.rn|rz.relu.satfinite.f16.f32", "=e f"),
    ROW("cvt.rn|rz.relu.bf16.f32", "=b f"),
    ROW("cvt.rn|rz.satfinite.bf16.f32", "=b f"),
    ROW("cvt.rn|rz.relu.satfinite.bf16.f32", "=b f"),
    ROW("cvt.rn|rz.relu?.satfinite?.f16x2.f32", "=E ff"),
    ROW("cvt.rn|rz.relu?.satfinite?.bf16x2.f32", "=B ff"),
    ROW("cvt.rn.satfinite.relu?.e4m3x2|e5m2x2.f32", "=h ff"),
    ROW("cvt.rn.satfinite.relu?.e4m3x2|e5m2x2.f16x2", "=h E"),
    ROW("cvt.rn.relu?.f16x2.e4m3x2|e5m2x2", "=E h"),
    ROW("cvt.rna.tf32.f32", "=w f"),
    ROW("cvt.rn|rz.relu?.tf32.f32", "=w f"),
};

TABLE(golden_convert);
