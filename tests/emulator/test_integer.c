/* SPDX-License-Identifier: Apache-2.0 */
/* Integers, at their edges: one instruction a row, two or three operands, the result. */
#include "test_main.h"

#include "op_rows.h"

#define W(op) op " %d0, %a0, %a1;"
#define W1(op) op " %d0, %a0;"
#define W3(op) op " %d0, %a0, %a1, %a2;"
#define L(op) op " %ld0, %la0, %la1;"
#define L3(op) op " %ld0, %la0, %la1, %la2;"
/* 16 bits in the lower half of %a. */
#define H(op) "cvt.u16.u32 %h0, %a0; cvt.u16.u32 %h1, %a1; " op " %h2, %h0, %h1; cvt.u32.u16 %d0, %h2;"
#define HW(op) "cvt.u16.u32 %h0, %a0; cvt.u16.u32 %h1, %a1; " op " %d0, %h0, %h1;"
#define LW(op) op " %ld0, %la0, %a1;"

static const op_row rows[] = {
    {W("add.u32"), 0xffffffff, 2, 0, 1},
    {W("add.sat.s32"), 0x7fffffff, 1, 0, 0x7fffffff},
    {W("add.sat.s32"), 0x80000000, 0xffffffff, 0, 0x80000000},
    {W("sub.sat.s32"), 0x80000000, 1, 0, 0x80000000},
    {W("sub.s32"), 0, 1, 0, 0xffffffff},
    {H("add.u16"), 0xffff, 3, 0, 2},
    {H("sub.s16"), 0, 1, 0, 0xffff},
    {L("add.s64"), 0xffffffffffffffff, 1, 0, 0},
    {W("add.u16x2"), 0xffff0001, 0x00020003, 0, 0x00010004},
    {W("mul.lo.s32"), 0x10001, 0x10001, 0, 0x20001},
    {W("mul.hi.s32"), 0x80000000, 0x80000000, 0, 0x40000000},
    {W("mul.hi.u32"), 0xffffffff, 0xffffffff, 0, 0xfffffffe},
    {L("mul.hi.u64"), 0xffffffffffffffff, 0xffffffffffffffff, 0, 0xfffffffffffffffe},
    {L("mul.hi.s64"), 0x8000000000000000, 2, 0, 0xffffffffffffffff},
    {"mul.wide.s32 %ld0, %a0, %a1;", 0xffffffff, 5, 0, 0xfffffffffffffffb},
    {"mul.wide.u32 %ld0, %a0, %a1;", 0xffffffff, 5, 0, 0x4fffffffb},
    {HW("mul.wide.s16"), 0xffff, 7, 0, 0xfffffff9},
    {HW("mul.wide.u16"), 0xffff, 7, 0, 0x6fff9},
    {W3("mad.lo.u32"), 7, 0xffffffff, 9, 2},
    {W3("mad.hi.s32"), 0xffffffff, 1, 5, 4},
    {W3("mad.hi.sat.s32"), 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff},
    {"mad.wide.s32 %ld0, %a0, %a1, %la2;", 0xffffffff, 3, 2, 0xffffffffffffffff},
    {W("mul24.lo.s32"), 0x00ffffff, 2, 0, 0xfffffffe},
    {W("mul24.hi.u32"), 0x00ffffff, 0x00ffffff, 0, 0xfffffe00},
    {W3("sad.s32"), 0x80000000, 0x7fffffff, 1, 0},
    {W("div.u32"), 7, 2, 0, 3},
    {W("div.u32"), 7, 0, 0, 0xffffffff},
    {W("div.s32"), 0xfffffff9, 2, 0, 0xfffffffd},
    {W("div.s32"), 0x80000000, 0xffffffff, 0, 0x80000000},
    {W("rem.s32"), 0xfffffff9, 2, 0, 0xffffffff},
    {W("rem.s32"), 0x80000000, 0xffffffff, 0, 0},
    {W("rem.u32"), 7, 0, 0, 0xffffffff},
    {L("div.s64"), 0x8000000000000000, 0xffffffffffffffff, 0, 0x8000000000000000},
    {L("rem.s64"), 0x8000000000000000, 0xffffffffffffffff, 0, 0},
    {H("div.s16"), 0x8000, 0xffff, 0, 0x8000},
    {W1("abs.s32"), 0x80000000, 0, 0, 0x80000000},
    {W1("neg.s32"), 0x80000000, 0, 0, 0x80000000},
    {W("min.s32"), 0xffffffff, 1, 0, 0xffffffff},
    {W("min.u32"), 0xffffffff, 1, 0, 1},
    {W("max.s32"), 0xffffffff, 1, 0, 1},
    {H("max.s16"), 0x8000, 1, 0, 1},
    {H("max.u16"), 0x8000, 1, 0, 0x8000},
    {W("max.relu.s32"), 0xffffffff, 0xfffffffe, 0, 0},
    {W("min.s16x2"), 0x7fff8000, 0x8000ffff, 0, 0x80008000},
    {W("shl.b32"), 1, 31, 0, 0x80000000},
    {W("shl.b32"), 1, 32, 0, 0},
    {W("shl.b32"), 1, 0xffffffff, 0, 0},
    {W("shr.s32"), 0x80000000, 31, 0, 0xffffffff},
    {W("shr.s32"), 0x80000000, 0xffffffff, 0, 0xffffffff},
    {W("shr.u32"), 0x80000000, 32, 0, 0},
    {LW("shl.b64"), 1, 63, 0, 0x8000000000000000},
    {LW("shl.b64"), 1, 64, 0, 0},
    {LW("shr.s64"), 0x8000000000000000, 200, 0, 0xffffffffffffffff},
    {W1("not.b32"), 0xf0f0f0f0, 0, 0, 0x0f0f0f0f},
    {W1("cnot.b32"), 0, 0, 0, 1},
    {W1("popc.b32"), 0xf0f0f0f0, 0, 0, 16},
    {"popc.b64 %d0, %la0;", 0xf0f0f0f0f0f0f0f0, 0, 0, 32},
    {W1("clz.b32"), 0, 0, 0, 32},
    {W1("clz.b32"), 1, 0, 0, 31},
    {"clz.b64 %d0, %la0;", 0, 0, 0, 64},
    {W1("brev.b32"), 0x00000001, 0, 0, 0x80000000},
    {W1("bfind.u32"), 0, 0, 0, 0xffffffff},
    {W1("bfind.s32"), 0xffffffff, 0, 0, 0xffffffff},
    {W1("bfind.s32"), 0xfffffffb, 0, 0, 2},
    {W1("bfind.shiftamt.u32"), 1, 0, 0, 31},
    {W3("bfe.u32"), 0x12345678, 8, 8, 0x56},
    {W3("bfe.s32"), 0x00008000, 8, 8, 0xffffff80},
    {W3("bfe.s32"), 0x80000000, 28, 8, 0xfffffff8},
    {W3("bfe.s32"), 0x80000000, 40, 8, 0xffffffff},
    {W3("bfe.u32"), 0x80000000, 40, 8, 0},
    {W3("bfe.u32"), 0xffffffff, 0, 0, 0},
    {W3("bfe.u32"), 0xffffffff, 0, 255, 0xffffffff},
    {"bfi.b32 %d0, %a0, %a1, 8, 4;", 0xf, 0, 0, 0xf00},
    {"bfi.b32 %d0, %a0, %a1, 32, 4;", 0xf, 7, 0, 7},
    {"bfi.b64 %ld0, %la0, %la1, 60, 8;", 0xff, 1, 0, 0xf000000000000001},
    {W("bmsk.clamp.b32"), 30, 8, 0, 0xc0000000},
    {W("bmsk.wrap.b32"), 33, 1, 0, 2},
    {W("szext.clamp.s32"), 0x80, 8, 0, 0xffffff80},
    {W("szext.wrap.u32"), 0xffffffff, 36, 0, 0xf},
    {W3("shf.l.wrap.b32"), 0x80000000, 1, 33, 3},
    {W3("shf.l.clamp.b32"), 0x80000000, 1, 33, 0x80000000},
    {W3("shf.r.wrap.b32"), 0, 1, 1, 0x80000000},
    {W3("shf.r.clamp.b32"), 5, 9, 40, 9},
    {"lop3.b32 %d0, %a0, %a1, %a2, 0x96;", 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96969696},
    {"lop3.b32 %d0, %a0, %a1, %a2, 0xe8;", 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0xe8e8e8e8},
    {W3("prmt.b32"), 0x33221100, 0x77665544, 0x6540, 0x66554400},
    {W3("prmt.b32"), 0x00008000, 0, 0x9999, 0xffffffff},
    {"prmt.b32.rc16 %d0, %a0, %a1, %a2;", 0x33221100, 0, 1, 0x33223322},
    {"dp4a.s32.s32 %d0, %a0, %a1, %a2;", 0xff02ff02, 0x01010101, 10, 12},
    {"dp4a.u32.u32 %d0, %a0, %a1, %a2;", 0xff02ff02, 0x01010101, 10, 524},
    {"dp2a.hi.s32.s32 %d0, %a0, %a1, %a2;", 0xffff0002, 0x03010000, 0, 0xffffffff},
    {"cvt.s32.s8 %d0, %a0;", 0x180, 0, 0, 0xffffff80},
    {"cvt.u32.u8 %d0, %a0;", 0x180, 0, 0, 0x80},
    {"cvt.sat.u8.s32 %d0, %a0;", 0xffffffff, 0, 0, 0},
    {"cvt.sat.s8.s32 %d0, %a0;", 300, 0, 0, 127},
    {"cvt.sat.u32.s64 %d0, %la0;", 0x100000000, 0, 0, 0xffffffff},
    {"cvt.s64.s32 %ld0, %a0;", 0x80000000, 0, 0, 0xffffffff80000000},
    {"cvt.u64.u32 %ld0, %a0;", 0x80000000, 0, 0, 0x80000000},
    {"cvt.u32.u64 %d0, %la0;", 0x123456789, 0, 0, 0x23456789},
    {"setp.lt.s32 %p0, %a0, %a1; selp.u32 %d0, 1, 0, %p0;", 0xffffffff, 0, 0, 1},
    {"setp.lo.u32 %p0, %a0, %a1; selp.u32 %d0, 1, 0, %p0;", 0xffffffff, 0, 0, 0},
    {"setp.ne.and.u32 %p0|%p1, %a0, %a1, %p0; selp.u32 %d0, 1, 0, %p1;", 1, 2, 0, 0},
    {"set.eq.u32.u32 %d0, %a0, %a1;", 4, 4, 0, 0xffffffff},
    {"set.eq.f32.s32 %d0, %a0, %a1;", 4, 4, 0, 0x3f800000},
    {"slct.u32.s32 %d0, %a0, %a1, %a2;", 1, 2, 0x80000000, 2},
    {"mov.b64 {%t0, %t1}, %la0; mov.b64 %ld0, {%t1, %t0};", 0x1111111122222222, 0, 0, 0x2222222211111111},
    {"mov.b32 {%h0, %h1}, %a0; mov.b32 %d0, {%h1, %h0};", 0x11112222, 0, 0, 0x22221111},
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
