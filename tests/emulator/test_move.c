/* SPDX-License-Identifier: Apache-2.0 */
/* Bits, choices, comparisons, predicates, and loads and stores of each width in each space. */
#include "test_main.h"

#include <string.h>

#include "op_rows.h"
#include "snippet.h"

#define H "cvt.u16.u32 %h0, %a0; cvt.u16.u32 %h1, %a1; "
#define H_OUT " cvt.u32.u16 %d0, %h2;"
#define P_OUT " selp.u32 %d0, 1, 0, %p1;"
#define W(op) op " %p1, %a0, %a1;" P_OUT
#define L(op) op " %p1, %la0, %la1;" P_OUT
#define S(op) H op " %p1, %h0, %h1;" P_OUT

#define MINUS 0xffffffffu
enum { NAN32 = 0x7fc00000, ONE = 0x3f800000, TWO = 0x40000000 };
#define MINUS64 0xffffffffffffffffull

static const op_row rows[] = {
    {H "and.b16 %h2, %h0, %h1;" H_OUT, 0xff0f, 0x0ff0, 0, 0x0f00},
    {H "or.b16 %h2, %h0, %h1;" H_OUT, 0xf000, 0x000f, 0, 0xf00f},
    {H "xor.b16 %h2, %h0, %h1;" H_OUT, 0xff00, 0x0ff0, 0, 0xf0f0},
    {H "not.b16 %h2, %h0;" H_OUT, 0x00ff, 0, 0, 0xff00},
    {H "mov.b16 %h2, %h0;" H_OUT, 0x1ffff, 0, 0, 0xffff},
    {H "mov.u16 %h2, -2;" H_OUT, 0, 0, 0, 0xfffe},
    {H "shl.b16 %h2, %h0, %a1;" H_OUT, 0xffff, 4, 0, 0xfff0},
    {H "shl.b16 %h2, %h0, %a1;" H_OUT, 0xffff, 16, 0, 0},
    {H "shr.u16 %h2, %h0, %a1;" H_OUT, 0xffff, 4, 0, 0x0fff},
    {H "shr.s16 %h2, %h0, %a1;" H_OUT, 0x8000, 40, 0, 0xffff},
    {"setp.ne.b32 %p1, %a0, %a1; selp.u32 %d0, 1, 0, %p1;", 0x80000000, 0, 0, 1},
    {"setp.ne.b32 %p1, %a0, %a1; selp.u32 %d0, 1, 0, %p1;", 7, 7, 0, 0},
    {"mov.b64 %l0, data; cvta.param.u64 %l1, %l0; ld.u64 %l2, [%l1]; ld.param.u64 %l3, [data]; sub.u64 %ld0, %l2, %l3;",
     1, 2, 3, 0},
    {"and.b64 %ld0, %la0, %la1;", MINUS64, 0x1234567890, 0, 0x1234567890},
    {"or.b64 %ld0, %la0, %la1;", 0xf000000000000000, 1, 0, 0xf000000000000001},
    {"xor.b64 %ld0, %la0, %la1;", MINUS64, 1, 0, 0xfffffffffffffffe},
    {"not.b64 %ld0, %la0;", 1, 0, 0, 0xfffffffffffffffe},
    {"shr.u64 %ld0, %la0, %a1;", 0x8000000000000000, 63, 0, 1},
    {"shr.u64 %ld0, %la0, %a1;", 0x8000000000000000, 64, 0, 0},
    {"mul.lo.s64 %ld0, %la0, %la1;", MINUS64, 5, 0, 0xfffffffffffffffb},
    {"mad.lo.s64 %ld0, %la0, %la1, %la2;", MINUS64, 5, 6, 1},
    {"max.u32 %d0, %a0, %a1;", MINUS, 1, 0, MINUS},
    {"mov.pred %p1, -1;" P_OUT, 0, 0, 0, 1},
    {"mov.pred %p1, 0;" P_OUT, 0, 0, 0, 0},
    {"setp.ne.u32 %p2, %a0, 0; setp.ne.u32 %p3, %a1, 0; and.pred %p1, %p2, %p3;" P_OUT, 1, 0, 0, 0},
    {"setp.ne.u32 %p2, %a0, 0; setp.ne.u32 %p3, %a1, 0; or.pred %p1, %p2, %p3;" P_OUT, 1, 0, 0, 1},
    {"setp.ne.u32 %p2, %a0, 0; setp.ne.u32 %p3, %a1, 0; xor.pred %p1, %p2, %p3;" P_OUT, 1, 1, 0, 0},
    {"setp.ne.u32 %p2, %a0, 0; not.pred %p1, %p2;" P_OUT, 1, 0, 0, 0},
    {"setp.ne.u32 %p2, %a0, 0; selp.f32 %d0, %a1, %a2, %p2;", 1, ONE, TWO, ONE},
    {"setp.ne.u32 %p2, %a0, 0; selp.b32 %d0, %a1, %a2, !%p2;", 1, ONE, TWO, TWO},
    {"setp.ne.u32 %p2, %a0, 0; selp.b64 %ld0, %la1, %la2, %p2;", 0, 7, MINUS64, MINUS64},
    {"setp.ne.u32 %p2, %a2, 0; " H "selp.u16 %h2, %h0, %h1, %p2;" H_OUT, 5, 6, 0, 6},
    {W("setp.eq.b32"), 5, 5, 0, 1},
    {W("setp.eq.s32"), 5, 6, 0, 0},
    {W("setp.ne.s32"), 5, 6, 0, 1},
    {W("setp.ge.s32"), MINUS, 0, 0, 0},
    {W("setp.gt.s32"), 0, MINUS, 0, 1},
    {W("setp.le.s32"), MINUS, MINUS, 0, 1},
    {W("setp.ge.u32"), MINUS, 0, 0, 1},
    {W("setp.gt.u32"), 0, MINUS, 0, 0},
    {W("setp.le.u32"), 1, MINUS, 0, 1},
    {W("setp.hi.u32"), MINUS, 1, 0, 1},
    {W("setp.hs.u32"), 1, 1, 0, 1},
    {W("setp.ls.u32"), 2, 1, 0, 0},
    {L("setp.eq.s64"), 0x100000000, 0, 0, 0},
    {L("setp.ne.s64"), 0x100000000, 0, 0, 1},
    {L("setp.gt.s64"), 0x100000000, MINUS64, 0, 1},
    {L("setp.lt.s64"), MINUS64, 0x100000000, 0, 1},
    {L("setp.lt.u64"), MINUS64, 0x100000000, 0, 0},
    {S("setp.eq.s16"), 0x10005, 5, 0, 1},
    {S("setp.ne.s16"), 0xffff, 5, 0, 1},
    {S("setp.lt.s16"), 0xffff, 5, 0, 1},
    {S("setp.lt.u16"), 0xffff, 5, 0, 0},
    {W("setp.gt.f32"), TWO, ONE, 0, 1},
    {W("setp.gt.f32"), NAN32, ONE, 0, 0},
    {W("setp.leu.f32"), NAN32, ONE, 0, 1},
    {W("setp.leu.f32"), TWO, ONE, 0, 0},
    /* Memory: global data of a lane is its first words. */
    {"ld.global.u8 %d0, [%base+1];", 0x8182, 0, 0, 0x81},
    {"ld.global.s8 %d0, [%base+1];", 0x8182, 0, 0, 0xffffff81},
    {"ld.global.u16 %d0, [%base+2];", 0x81828384, 0, 0, 0x8182},
    {"ld.global.s16 %d0, [%base+2];", 0x81828384, 0, 0, 0xffff8182},
    {"ld.global.s32 %ld0, [%base];", 0x81828384, 0, 0, 0xffffffff81828384},
    {"ld.global.f32 %d0, [%base];", NAN32, 0, 0, NAN32},
    {"ld.global.v2.u16 {%h0, %h1}, [%base]; cvt.u32.u16 %d0, %h1;", 0x81828384, 0, 0, 0x8182},
    {"ld.global.cg.v4.u32 {%t0, %t1, %t2, %d0}, [%base];", 0, 0x700000006, 0, 7},
    {"ld.global.nc.L2::256B.v4.u32 {%t0, %t1, %d0, %t3}, [%base];", 0, 6, 0, 6},
    {"ld.global.v2.u64 {%l0, %ld0}, [%base];", 0, MINUS64, 0, MINUS64},
    {"ld.volatile.global.u32 %d0, [%base];", 77, 0, 0, 77},
    {"ld.relaxed.gpu.global.u32 %d0, [%base];", 78, 0, 0, 78},
    {"ld.acquire.sys.u32 %d0, [%base];", 79, 0, 0, 79},
    {"prefetch.global.L2 [%base]; prefetch.global.L1 [%base+8]; mov.u32 %d0, %a0;", 5, 0, 0, 5},
    {"membar.gl; membar.cta; fence.acq_rel.gpu; mov.u32 %d0, %a0;", 5, 0, 0, 5},
    {"griddepcontrol.wait; griddepcontrol.launch_dependents; mov.u32 %d0, %a0;", 5, 0, 0, 5},
    {"st.global.u8 [%base], 255; st.global.u16 [%base+2], 0x1234; ld.global.u32 %d0, [%base];", 0, 0, 0, 0x123400ff},
    {"st.global.f32 [%base], 0f3f800000; ld.global.u32 %d0, [%base];", 0, 0, 0, ONE},
    {"st.global.v2.u32 [%base], {%a1, %a2}; ld.global.u64 %ld0, [%base];", 0, 1, 2, 0x200000001},
    {"st.global.v4.u32 [%base], {1, 2, %a1, %a2}; ld.global.u64 %ld0, [%base+8];", 0, 3, 4, 0x400000003},
    {"st.global.v4.f32 [%base], {%a0, %a0, %a1, %a2}; ld.global.u64 %ld0, [%base+8];", 0, 3, 4, 0x400000003},
    {"st.release.gpu.global.u32 [%base], 9; ld.global.u32 %d0, [%base];", 0, 0, 0, 9},
    {"atom.global.inc.u32 %d0, [%base], 5; ld.global.u32 %d0, [%base];", 5, 0, 0, 0},
    {".local .align 8 .b8 room[16]; st.local.u32 [room+4], %a0; mov.u64 %l0, room; cvta.local.u64 %l1, %l0;"
     "ld.u32 %d0, [%l1+4];",
     0x77, 0, 0, 0x77},
    {"ld.param.u64 %l0, [data]; sub.u64 %ld0, %base, %l0; mul.wide.u32 %l1, %thread, 128; sub.u64 %ld0, %ld0, %l1;", 0,
     0, 0, 0},
    {"cvta.to.global.u64 %l0, %base; isspacep.global %p1, %l0;" P_OUT, 0, 0, 0, 1},
};

/* Each lane has 64 bytes of shared memory at %t0, and their generic address in %l0. */
#define SHARED "mov.u32 %t0, shared; mad.lo.u32 %t0, %thread, 64, %t0; cvt.u64.u32 %l0, %t0; cvta.shared.u64 %l0, %l0;"

static const op_row shared_rows[] = {
    {SHARED "st.shared.u32 [%t0], %a0; ld.shared.u32 %d0, [%t0];", 5, 0, 0, 5},
    {SHARED "st.shared.f32 [%t0], %a0; ld.shared.f32 %d0, [%t0];", ONE, 0, 0, ONE},
    {SHARED "st.shared.v2.u32 [%t0+8], {%a0, %a1}; ld.shared.v2.u32 {%t1, %d0}, [%t0+8];", 5, 6, 0, 6},
    {SHARED "st.shared.v4.f32 [%t0+16], {%a0, %a0, %a1, %a2}; ld.shared.v4.f32 {%t1, %t2, %t3, %d0}, [%t0+16];", 5, 6,
     7, 7},
    {SHARED "cvt.u16.u32 %h0, %a0; st.shared.u16 [%t0+2], %h0; ld.shared.u16 %d0, [%t0+2];", 0x12345, 0, 0, 0x2345},
    {SHARED "st.u32 [%l0], %a0; ld.u32 %d0, [%l0];", 5, 0, 0, 5},
    {SHARED "isspacep.shared %p1, %l0;" P_OUT, 0, 0, 0, 1},
    {SHARED "st.shared.u32 [%t0], %a0; atom.shared.max.u32 %d0, [%t0], %a1; ld.shared.u32 %d0, [%t0];", 5, MINUS, 0,
     MINUS},
    {SHARED "st.shared.u32 [%t0], %a0; atom.add.u32 %d0, [%l0], 3; ld.shared.u32 %d0, [%t0];", 5, 0, 0, 8},
};

static void each_instruction_gives_its_result(void **state)
{
  (void)state;
  assert_int_equal(op_rows_run(rows, sizeof rows / sizeof rows[0]), 0);
  assert_int_equal(op_rows_run(shared_rows, sizeof shared_rows / sizeof shared_rows[0]), 0);
}

/* A struct of parameters, read by its offsets and through a register. */
static void parameters_are_read_where_they_lie(void **state)
{
  (void)state;
  static const char text[] =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 8 .b8 s[40])\n{\n"
      ".reg .b64 %l<4>; .reg .b32 %r<8>; .reg .f32 %f<4>;\nmov.b64 %l0, s; ld.param.u64 %l1, [s];\n"
      "ld.param.u32 %r0, [%l0+8]; ld.param.f32 %f0, [s+12]; .pragma \"used_bytes_mask 15\";\n"
      "ld.param.v2.u32 {%r1, %r2}, [s+16]; ld.param.v2.f32 {%f1, %f2}, [%l0+24]; add.u64 %l2, %l0, 40;\n"
      "ld.param.u32 %r3, [%l2+-8]; st.global.v4.u32 [%l1], {%r0, %r1, %r2, %r3};\n"
      "st.global.v4.f32 [%l1+16], {%f0, %f1, %f2, %f0};\nret;\n}\n";
  struct {
    uint64_t to;
    uint32_t word;
    float number;
    uint32_t pair[2];
    float numbers[2];
    uint32_t last, pad;
  } params = {emu_alloc(32), 11, 1.5f, {12, 13}, {2.5f, 3.5f}, 14, 0};
  _Static_assert(sizeof params == 40, "as the text says");
  emu_module *module = NULL;
  emu_message message;
  assert_int_equal(emu_module_load(text, strlen(text), emu_device_find("sm_90a"), &module, &message), EMU_OK);
  const emu_launch launch = {.kernel = emu_module_kernel(module, "k"),
                             .grid = {1, 1, 1},
                             .block = {1, 1, 1},
                             .params = &params,
                             .params_size = sizeof params};
  assert_int_equal(emu_run(emu_device_find("sm_90a"), &launch, NULL, &message), EMU_OK);
  uint32_t words[4];
  float numbers[4];
  assert_int_equal(emu_copy_out(words, params.to, sizeof words), EMU_OK);
  assert_int_equal(emu_copy_out(numbers, params.to + 16, sizeof numbers), EMU_OK);
  assert_true(words[0] == 11 && words[1] == 12 && words[2] == 13 && words[3] == 14);
  assert_true(numbers[0] == 1.5f && numbers[1] == 2.5f && numbers[2] == 3.5f);
  emu_module_free(module);
  emu_free(params.to);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_instruction_gives_its_result),
      cmocka_unit_test(parameters_are_read_where_they_lie),
  };
  return SJ_TEST_RUN(tests);
}
