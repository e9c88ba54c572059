/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16, alone and in pairs. */
#include "test_main.h"

#include "op_rows.h"

#define W(op) op " %d0, %a0, %a1;"
#define W1(op) op " %d0, %a0;"
#define W3(op) op " %d0, %a0, %a1, %a2;"
#define H(op) "cvt.u16.u32 %h0, %a0; cvt.u16.u32 %h1, %a1; " op " %h2, %h0, %h1; cvt.u32.u16 %d0, %h2;"
#define P(op) op " %p1|%p2, %a0, %a1; selp.u32 %d0, 1, 0, %p1; selp.u32 %t0, 2, 0, %p2; or.b32 %d0, %d0, %t0;"

static const op_row rows[] = {
    {W("add.f16x2"), 0x3c007bff, 0x3c007bff, 0, 0x40007c00},
    {W("add.f16x2"), 0x3c000001, 0x10000001, 0, 0x3c000002}, /* 1 + 2^-11: a tie */
    {W("add.ftz.f16x2"), 0x00010001, 0x00018001, 0, 0},
    {W("add.sat.f16x2"), 0x3c00bc00, 0x3c000000, 0, 0x3c000000},
    {W("add.f16x2"), 0x7c007c01, 0xfc003c00, 0, 0x7fff7fff},
    {W("sub.f16x2"), 0x3c003c00, 0x3c004000, 0, 0x0000bc00},
    {W("mul.rn.f16x2"), 0x3c013c01, 0x3c013800, 0, 0x3c023801},
    {W("mul.f16x2"), 0x00010400, 0x38003800, 0, 0x00000200},
    {W("mul.f16x2"), 0x7c000000, 0x00007c00, 0, 0x7fff7fff},
    {W3("fma.rn.f16x2"), 0x3c013c00, 0x3c013c00, 0xbc020001, 0x00103c00}, /* e^2 = 2^-20 is subnormal: 16 units */
    {W3("fma.rn.relu.f16x2"), 0xbc003c00, 0x3c003c00, 0, 0x00003c00},
    {W("add.bf16x2"), 0x3f803f80, 0x3b803c00, 0, 0x3f803f81}, /* a tie, and one unit */
    {W("mul.bf16x2"), 0x3f817f7f, 0x3f814000, 0, 0x3f827f80},
    {W3("fma.rn.bf16x2"), 0x3f813f80, 0x3f813f80, 0xbf820000, 0x38803f80},
    {W3("fma.rn.bf16x2"), 0x3f803f80, 0x3f803f80, 0x00010000, 0x3f803f80},
    {W3("fma.rn.relu.bf16x2"), 0xbf807fc0, 0x3f803f80, 0, 0x00007fff},
    {W("min.f16x2"), 0x00007e00, 0x80003c00, 0, 0x80003c00},
    {W("max.f16x2"), 0x00003c00, 0x80007e00, 0, 0x00003c00},
    {W("max.NaN.f16x2"), 0x3c003c00, 0x7e004000, 0, 0x7fff4000},
    {W("max.bf16x2"), 0xbf803f80, 0x3f80bf80, 0, 0x3f803f80},
    {W("min.xorsign.abs.bf16x2"), 0xc0003f80, 0x3f80c000, 0, 0xbf80bf80},
    {W1("neg.bf16x2"), 0x3f808000, 0, 0, 0xbf800000},
    {W1("abs.f16x2"), 0xbc008001, 0, 0, 0x3c000001},
    {W1("ex2.approx.f16x2"), 0x3c00fc00, 0, 0, 0x40000000},
    {W1("ex2.approx.ftz.bf16x2"), 0x3f80ff80, 0, 0, 0x40000000},
    {W1("tanh.approx.bf16x2"), 0x7f800000, 0, 0, 0x3f800000},
    {H("add.f16"), 0x3c00, 0x3c00, 0, 0x4000},
    {H("mul.bf16"), 0x4000, 0x4040, 0, 0x40c0},
    {P("setp.lt.f16x2"), 0x3c003c00, 0x40003800, 0, 2},
    {P("setp.neu.bf16x2"), 0x7fc03f80, 0x3f803f80, 0, 2},
};

static void each_instruction_gives_its_result(void **state)
{
  (void)state;
  assert_int_equal(op_rows_run(rows, sizeof rows / sizeof rows[0]), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_instruction_gives_its_result),
  };
  return SJ_TEST_RUN(tests);
}
