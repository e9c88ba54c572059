/* SPDX-License-Identifier: Apache-2.0 */
/* ldmatrix, stmatrix and mma.sync. Products of small whole numbers are the same in any order of the sum: they show
 * where each element lies. The others show how the hardware sums, which is not documented. */
#include "rows.h"

#define MMA_16(operands) "=f=f=f=f " operands, "$ {r0, r1, r2, r3}, {a0, a1, a2, a3}, {a4, a5}, {a6, a7, a8, a9};"
#define MMA_8(operands) "=f=f=f=f " operands, "$ {r0, r1, r2, r3}, {a0, a1}, {a2}, {a3, a4, a5, a6};"
#define HALF_16(operands) "=E=E " operands, "$ {r0, r1}, {a0, a1, a2, a3}, {a4, a5}, {a6, a7};"
#define HALF_8(operands) "=E=E " operands, "$ {r0, r1}, {a0, a1}, {a2}, {a3, a4};"
#define INT_32(operands) "=w=w=w=w " operands, "$ {r0, r1, r2, r3}, {a0, a1, a2, a3}, {a4, a5}, {a6, a7, a8, a9};"
#define INT_16(operands) "=w=w=w=w " operands, "$ {r0, r1, r2, r3}, {a0, a1}, {a2}, {a3, a4, a5, a6};"
#define EXACT(pattern, ...)                                                                                            \
  {                                                                                                                    \
    "mma.sync.aligned." pattern, __VA_ARGS__,                                                                          \
    {                                                                                                                  \
      0, 0, NULL                                                                                                       \
    }                                                                                                                  \
  }

#define F16 "m16n8k16.row.col.f32.f16.f16.f32"
#define BF16 "m16n8k16.row.col.f32.bf16.bf16.f32"
#define F16_8 "m16n8k8.row.col.f32.f16.f16.f32"
#define BF16_8 "m16n8k8.row.col.f32.bf16.bf16.f32"
#define H16 "m16n8k16.row.col.f16.f16.f16.f16"
#define H16_8 "m16n8k8.row.col.f16.f16.f16.f16"
#define TF32 "m16n8k8.row.col.f32.tf32.tf32.f32"
#define TF32_4 "m16n8k4.row.col.f32.tf32.tf32.f32"
#define F8(a, b) "m16n8k32.row.col.f32." a "." b ".f32"
#define F8_16(a, b) "m16n8k16.row.col.f32." a "." b ".f32"
#define H8(a, b) "m16n8k32.row.col.f16." a "." b ".f16"
#define H8_16(a, b) "m16n8k16.row.col.f16." a "." b ".f16"

#define STORE_ROWS "st.shared.v4.b32 [row], {a0, a1, a2, a3};\nbar.warp.sync 0xffffffff;\n"
#define LOAD_ROWS "bar.warp.sync 0xffffffff;\nld.shared.v4.b32 {r0, r1, r2, r3}, [row];"
#define SPACES ".shared|shared::cta.b16"
#define TO_GENERIC "cvt.u64.u32 u1, row;\ncvta.shared.u64 u1, u1;\n"

/* Four warps: A in registers, B of 8 rows of 32 bytes in two core matrices at the pool. */
#define WGMMA(scales)                                                                                                  \
  "mov.u32 t0, pool;\nmad.lo.u32 t1, thread, 4, t0;\nst.shared.b32 [t1], a4;\nfence.proxy.async.shared::cta;\n"        \
  "bar.sync 0;\nshr.u32 t0, t0, 4;\nand.b32 t0, t0, 0x3fff;\nor.b32 t0, t0, 0x80000;\nmov.b32 t1, 0x8;\n"              \
  "mov.b64 u0, {t0, t1};\nmov.b32 r0, a5;\nmov.b32 r1, a6;\nmov.b32 r2, a7;\nmov.b32 r3, a8;\n"                        \
  "setp.eq.u32 q0, t1, 8;\nwgmma.fence.sync.aligned;\n"                                                                \
  "$ {r0, r1, r2, r3}, {a0, a1, a2, a3}, u0, q0" scales ";\n"                                                          \
  "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
#define GROUP(pattern, letters, scales)                                                                                \
  {                                                                                                                    \
    "wgmma.mma_async.sync.aligned." pattern, letters, WGMMA(scales),                                                   \
    {                                                                                                                  \
      0, 0, NULL                                                                                                       \
    }                                                                                                                  \
  }
#define GROUP_16(type, ab, c) GROUP("m64n8k16.f32." type "." type, "=f=f=f=f " ab ab ab ab ab c c c c, ", 1, 1, 0")
#define GROUP_8(a_type, b_type, a, b, c)                                                                               \
  GROUP("m64n8k32.f32." a_type "." b_type, "=f=f=f=f " a a a a b c c c c, ", 1, 1")
#define GROUP_4(ab, c) GROUP("m64n8k8.f32.tf32.tf32", "=f=f=f=f " ab ab ab ab ab c c c c, ", 1, 1")

static const golden_row rows[] = {
    TEXT("ldmatrix.sync.aligned.m8n8.x1.trans?" SPACES, "=w wwww", STORE_ROWS "$ {r0}, [row];"),
    TEXT("ldmatrix.sync.aligned.m8n8.x2.trans?" SPACES, "=w=w wwww", STORE_ROWS "$ {r0, r1}, [row];"),
    TEXT("ldmatrix.sync.aligned.m8n8.x4.trans?" SPACES, "=w=w=w=w wwww", STORE_ROWS "$ {r0, r1, r2, r3}, [row];"),
    TEXT("stmatrix.sync.aligned.m8n8.x1.trans?" SPACES, "=w=w=w=w wwww", STORE_ROWS "$ [row], {a0};\n" LOAD_ROWS),
    TEXT("stmatrix.sync.aligned.m8n8.x2.trans?" SPACES, "=w=w=w=w wwww", STORE_ROWS "$ [row], {a1, a2};\n" LOAD_ROWS),
    TEXT("stmatrix.sync.aligned.m8n8.x4.trans?" SPACES, "=w=w=w=w wwww",
         STORE_ROWS "$ [row], {a3, a0, a2, a1};\n" LOAD_ROWS),
    TEXT("ldmatrix.sync.aligned.m8n8.x4.trans?.b16", "=w=w=w=w wwww",
         STORE_ROWS TO_GENERIC "$ {r0, r1, r2, r3}, [u1];"),
    TEXT("stmatrix.sync.aligned.m8n8.x4.trans?.b16", "=w=w=w=w wwww",
         STORE_ROWS TO_GENERIC "$ [u1], {a3, a0, a2, a1};\n" LOAD_ROWS),
    EXACT(F16, MMA_16("iiiiiiIIII")),
    EXACT(BF16, MMA_16("jjjjjjIIII")),
    EXACT(F16_8, MMA_8("iiiIIII")),
    EXACT(BF16_8, MMA_8("jjjIIII")),
    EXACT(H16, HALF_16("iiiiiiii")),
    EXACT(H16_8, HALF_8("iiiii")),
    EXACT(TF32, MMA_16("IIIIIIIIII")),
    EXACT(TF32_4, MMA_8("IIIIIII")),
    EXACT(F8("e4m3", "e4m3"), MMA_16("yyyyyyIIII")),
    EXACT(F8("e4m3", "e5m2"), MMA_16("yyyyzzIIII")),
    EXACT(F8("e5m2", "e4m3"), MMA_16("zzzzyyIIII")),
    EXACT(F8("e5m2", "e5m2"), MMA_16("zzzzzzIIII")),
    EXACT(F8_16("e4m3", "e4m3"), MMA_8("yyyIIII")),
    EXACT(F8_16("e4m3", "e5m2"), MMA_8("yyzIIII")),
    EXACT(F8_16("e5m2", "e4m3"), MMA_8("zzyIIII")),
    EXACT(F8_16("e5m2", "e5m2"), MMA_8("zzzIIII")),
    EXACT(H8("e4m3", "e4m3"), HALF_16("yyyyyyii")),
    EXACT(H8("e4m3", "e5m2"), HALF_16("yyyyzzii")),
    EXACT(H8("e5m2", "e4m3"), HALF_16("zzzzyyii")),
    EXACT(H8("e5m2", "e5m2"), HALF_16("zzzzzzii")),
    EXACT(H8_16("e4m3", "e4m3"), HALF_8("yyyii")),
    EXACT(H8_16("e4m3", "e5m2"), HALF_8("yyzii")),
    EXACT(H8_16("e5m2", "e4m3"), HALF_8("zzyii")),
    EXACT(H8_16("e5m2", "e5m2"), HALF_8("zzzii")),
    /* Now and then an infinity or a NaN. */
    EXACT(F16, MMA_16("UUUUUUIIII")),
    EXACT(BF16, MMA_16("XXXXXXIIII")),
    EXACT(H16, HALF_16("UUUUUUii")),
    EXACT(F8("e4m3", "e4m3"), MMA_16("YYYYYYIIII")),
    EXACT(F8("e5m2", "e5m2"), MMA_16("ZZZZZZIIII")),
    /* Subnormal numbers. */
    EXACT(F16, MMA_16("VVVViiOOOO")),
    EXACT(BF16, MMA_16("WWWWjjOOOO")),
    EXACT(H16, HALF_16("VVVViiVV")),
    /* Numbers of about 1. */
    EXACT(F16, MMA_16("MMMMMMgggg")),
    EXACT(BF16, MMA_16("NNNNNNgggg")),
    EXACT(F16_8, MMA_8("MMMgggg")),
    EXACT(BF16_8, MMA_8("NNNgggg")),
    EXACT(H16, HALF_16("MMMMMMMM")),
    EXACT(H16_8, HALF_8("MMMMM")),
    EXACT(TF32, MMA_16("gggggggggg")),
    EXACT(TF32_4, MMA_8("ggggggg")),
    EXACT(F8("e4m3", "e4m3"), MMA_16("PPPPPPgggg")),
    EXACT(F8("e5m2", "e5m2"), MMA_16("QQQQQQgggg")),
    EXACT(H8("e4m3", "e4m3"), HALF_16("PPPPPPMM")),
    EXACT(H8("e5m2", "e5m2"), HALF_16("QQQQQQMM")),
    EXACT(F8_16("e4m3", "e4m3"), MMA_8("PPPgggg")),
    EXACT(F8_16("e5m2", "e5m2"), MMA_8("QQQgggg")),
    EXACT(H8_16("e4m3", "e4m3"), HALF_8("PPPMM")),
    EXACT(H8_16("e5m2", "e5m2"), HALF_8("QQQMM")),
    /* Numbers far apart, up to sums that are too large. */
    EXACT(F16, MMA_16("AAAAAAHHHH")),
    EXACT(BF16, MMA_16("CCCCCCHHHH")),
    EXACT(BF16, MMA_16("JJJJJJHHHH")),
    EXACT(H16, HALF_16("AAAAAAAA")),
    EXACT(TF32, MMA_16("HHHHHHHHHH")),
    EXACT(F8("e4m3", "e4m3"), MMA_16("FFFFFFHHHH")),
    EXACT(F8("e5m2", "e5m2"), MMA_16("GGGGGGHHHH")),
    EXACT(H8("e5m2", "e4m3"), HALF_16("GGGGFFAA")),
    EXACT("m16n8k32.row.col.satfinite?.s32.u8|s8.u8|s8.s32", INT_32("DDDDDDDDDD")),
    EXACT("m16n8k16.row.col.satfinite?.s32.u8|s8.u8|s8.s32", INT_16("DDDDDDD")),
    GROUP_16("f16", "i", "I"),
    GROUP_16("f16", "M", "g"),
    GROUP_16("f16", "A", "H"),
    GROUP_16("f16", "U", "I"),
    GROUP_16("bf16", "j", "I"),
    GROUP_16("bf16", "N", "g"),
    GROUP_16("bf16", "C", "H"),
    GROUP_16("bf16", "J", "H"),
    GROUP_16("bf16", "X", "I"),
    GROUP_4("I", "I"),
    GROUP_4("g", "g"),
    GROUP_4("H", "H"),
    GROUP_8("e4m3", "e4m3", "y", "y", "I"),
    GROUP_8("e4m3", "e5m2", "y", "z", "I"),
    GROUP_8("e5m2", "e4m3", "z", "y", "I"),
    GROUP_8("e5m2", "e5m2", "z", "z", "I"),
    GROUP_8("e4m3", "e4m3", "P", "P", "g"),
    GROUP_8("e5m2", "e5m2", "Q", "Q", "g"),
    GROUP_8("e4m3", "e4m3", "F", "F", "H"),
    GROUP_8("e5m2", "e5m2", "G", "G", "H"),
    GROUP_8("e4m3", "e4m3", "Y", "Y", "I"),
    GROUP_8("e5m2", "e5m2", "Z", "Z", "I"),
    GROUP("m64n8k32.s32.u8|s8.u8|s8", "=w=w=w=w DDDDDDDDD", ""),
};

TABLE(golden_matrix);
