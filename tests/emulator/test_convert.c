/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions, by each rounding and at each edge. */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "numbers.h"
#include "op_rows.h"

#define W1(op) op " %d0, %a0;"
#define W2(op) op " %d0, %a0, %a1;"
#define LW(op) op " %ld0, %a0;"
#define WL(op) op " %d0, %la0;"
/* A result of 16 bits. */
#define H(op) op " %h0, %a0; cvt.u32.u16 %d0, %h0;"
#define H2(op) op " %h0, %a0, %a1; cvt.u32.u16 %d0, %h0;"
#define FROM_H(op) "cvt.u16.u32 %h0, %a0; " op " %d0, %h0;"
#define HH(op) "cvt.u16.u32 %h0, %a0; " op " %h1, %h0; cvt.u32.u16 %d0, %h1;"

enum { ONE = 0x3f800000, INF = 0x7f800000, A_NAN = 0x7fc00001, NAN32 = 0x7fffffff };

static const op_row rows[] = {
    /* f32 to integers */
    {W1("cvt.rni.s32.f32"), 0x40200000, 0, 0, 2},          /* 2.5 */
    {W1("cvt.rni.s32.f32"), 0x40600000, 0, 0, 4},          /* 3.5 */
    {W1("cvt.rzi.s32.f32"), 0xc0200000, 0, 0, 0xfffffffe}, /* -2.5 */
    {W1("cvt.rmi.s32.f32"), 0xc0200000, 0, 0, 0xfffffffd},
    {W1("cvt.rpi.s32.f32"), 0xc0200000, 0, 0, 0xfffffffe},
    {W1("cvt.rzi.s32.f32"), 0x4f000000, 0, 0, 0x7fffffff}, /* 2^31 */
    {W1("cvt.rzi.s32.f32"), 0xcf000000, 0, 0, 0x80000000},
    {W1("cvt.rzi.u32.f32"), 0xbf800000, 0, 0, 0},
    {W1("cvt.rzi.u32.f32"), 0x4f800000, 0, 0, 0xffffffff}, /* 2^32 */
    {W1("cvt.rzi.u32.f32"), INF, 0, 0, 0xffffffff},
    {W1("cvt.rzi.s32.f32"), A_NAN, 0, 0, 0},
    {LW("cvt.rzi.s64.f32"), A_NAN, 0, 0, 0x8000000000000000},
    {LW("cvt.rzi.s64.f32"), 0x5f000000, 0, 0, 0x7fffffffffffffff}, /* 2^63 */
    {LW("cvt.rzi.u64.f32"), 0x5f800000, 0, 0, 0xffffffffffffffff},
    {W1("cvt.rzi.s8.f32"), 0x43480000, 0, 0, 0x7f}, /* 200 */
    {W1("cvt.rpi.ftz.s32.f32"), 1, 0, 0, 0},
    {W1("cvt.rpi.s32.f32"), 1, 0, 0, 1},
    /* integers to f32 */
    {W1("cvt.rn.f32.s32"), 0x01000001, 0, 0, 0x4b800000}, /* 2^24 + 1 */
    {W1("cvt.rp.f32.s32"), 0x01000001, 0, 0, 0x4b800001},
    {W1("cvt.rz.f32.s32"), 0x01000003, 0, 0, 0x4b800001},
    {W1("cvt.rm.f32.s32"), 0xfeffffff, 0, 0, 0xcb800001},
    {W1("cvt.rn.f32.u32"), 0xffffffff, 0, 0, 0x4f800000},
    {W1("cvt.rz.f32.u32"), 0xffffffff, 0, 0, 0x4f7fffff},
    {WL("cvt.rn.f32.u64"), 0xffffffffffffffff, 0, 0, 0x5f800000},
    {WL("cvt.rn.f32.s64"), 0x0080000080000001, 0, 0, 0x5b000001}, /* above a tie by one unit far below */
    {WL("cvt.rn.f32.s64"), 0x0080000080000000, 0, 0, 0x5b000000},
    {"cvt.rn.f64.u64 %ld0, %la0;", 0xffffffffffffffff, 0, 0, 0x43f0000000000000},
    {"cvt.rz.f64.u64 %ld0, %la0;", 0xffffffffffffffff, 0, 0, 0x43efffffffffffff},
    {"cvt.rp.f64.s64 %ld0, %la0;", 0x0020000000000001, 0, 0, 0x4340000000000001},
    {H("cvt.rn.f16.u32"), 65520, 0, 0, 0x7c00},
    {H("cvt.rz.f16.u32"), 65520, 0, 0, 0x7bff},
    {H("cvt.rn.f16.u32"), 65519, 0, 0, 0x7bff},
    /* floats to whole floats */
    {W1("cvt.rni.f32.f32"), 0x40200000, 0, 0, 0x40000000},
    {W1("cvt.rmi.f32.f32"), 0xbf000000, 0, 0, 0xbf800000},
    {W1("cvt.rzi.f32.f32"), 0xbf000000, 0, 0, 0x80000000},
    {W1("cvt.rpi.f32.f32"), 0x3f000000, 0, 0, ONE},
    {W1("cvt.sat.f32.f32"), 0xbf000000, 0, 0, 0},
    {W1("cvt.sat.f32.f32"), A_NAN, 0, 0, 0},
    {W1("cvt.ftz.f32.f32"), 5, 0, 0, 0},
    /* f64 and f32 */
    {WL("cvt.rn.f32.f64"), 0x3ff0000010000000, 0, 0, ONE},
    {WL("cvt.rp.f32.f64"), 0x3ff0000010000000, 0, 0, ONE + 1},
    {WL("cvt.rn.f32.f64"), 0x7ff0000000000001, 0, 0, 0x7fc00000},
    {WL("cvt.rn.f32.f64"), 0x47f0000000000000, 0, 0, INF},
    {WL("cvt.rz.f32.f64"), 0x47f0000000000000, 0, 0, 0x7f7fffff},
    {LW("cvt.f64.f32"), 0x00000001, 0, 0, 0x36a0000000000000},
    /* f16 and bf16 */
    {H("cvt.rn.f16.f32"), 0x3f801000, 0, 0, 0x3c00}, /* a tie */
    {H("cvt.rn.f16.f32"), 0x3f803000, 0, 0, 0x3c02},
    {H("cvt.rz.f16.f32"), 0x3f803000, 0, 0, 0x3c01},
    {H("cvt.rp.f16.f32"), 0x3f800001, 0, 0, 0x3c01},
    {H("cvt.rn.f16.f32"), 0x477ff000, 0, 0, 0x7c00}, /* 65520 */
    {H("cvt.rn.f16.f32"), 0x477fefff, 0, 0, 0x7bff},
    {H("cvt.rn.f16.f32"), 0x33000000, 0, 0, 0}, /* 2^-25: a tie with 0 */
    {H("cvt.rn.f16.f32"), 0x33000001, 0, 0, 1},
    {H("cvt.rn.f16.f32"), A_NAN, 0, 0, 0x7fff},
    {H("cvt.rn.bf16.f32"), 0x3f808000, 0, 0, 0x3f80},
    {H("cvt.rn.bf16.f32"), 0x3f818000, 0, 0, 0x3f82},
    {H("cvt.rz.bf16.f32"), 0x3f81ffff, 0, 0, 0x3f81},
    {H("cvt.rn.bf16.f32"), 0x7f7fffff, 0, 0, 0x7f80},
    {H("cvt.rn.bf16.f32"), 0xffffffff, 0, 0, 0x7fff},
    {H("cvt.rn.relu.bf16.f32"), 0xbf800000, 0, 0, 0},
    {FROM_H("cvt.f32.f16"), 0x0001, 0, 0, 0x33800000},
    {FROM_H("cvt.f32.f16"), 0xfc00, 0, 0, 0xff800000},
    {FROM_H("cvt.f32.f16"), 0x7c01, 0, 0, NAN32},
    {FROM_H("cvt.f32.bf16"), 0x0001, 0, 0, 0x00010000},
    {HH("cvt.rn.bf16.f16"), 0x3c01, 0, 0, 0x3f80},
    {W2("cvt.rn.f16x2.f32"), ONE, 0x40000000, 0, 0x3c004000},
    {W2("cvt.rn.bf16x2.f32"), ONE, 0x3f818000, 0, 0x3f803f82},
    {W2("cvt.rz.bf16x2.f32"), 0x7f7fffff, 0x3f81ffff, 0, 0x7f7f3f81},
    {W2("cvt.rn.relu.bf16x2.f32"), 0xbf800000, A_NAN, 0, 0x00007fff},
    /* e4m3 and e5m2 */
    {H2("cvt.rn.satfinite.e4m3x2.f32"), 0x43e00000, 0x3f800000, 0, 0x7e38}, /* 448, 1 */
    {H2("cvt.rn.satfinite.e4m3x2.f32"), 0x447a0000, 0xc47a0000, 0, 0x7efe}, /* 1000, -1000 */
    {H2("cvt.rn.satfinite.e4m3x2.f32"), A_NAN, INF, 0, 0x7f7e},
    {H2("cvt.rn.satfinite.e4m3x2.f32"), 0x3a800000, 0x3b000000, 0, 0x0001}, /* 2^-10: a tie; 2^-9 */
    {H2("cvt.rn.satfinite.e4m3x2.f32"), 0x3f880000, 0x3f980000, 0, 0x383a}, /* 1.0625, 1.1875: ties */
    {H2("cvt.rn.satfinite.relu.e4m3x2.f32"), 0xbf800000, 0x3f800000, 0, 0x0038},
    {H2("cvt.rn.satfinite.e5m2x2.f32"), 0x47600000, 0x48000000, 0, 0x7b7b}, /* 57344, 131072 */
    {FROM_H("cvt.rn.f16x2.e4m3x2"), 0x7e01, 0, 0, 0x5f001800},
    {FROM_H("cvt.rn.f16x2.e4m3x2"), 0xff7f, 0, 0, 0x7fff7fff},
    {FROM_H("cvt.rn.f16x2.e4m3x2"), 0x8008, 0, 0, 0x80002400},
    {FROM_H("cvt.rn.relu.f16x2.e4m3x2"), 0xb838, 0, 0, 0x00003c00},
    {FROM_H("cvt.rn.f16x2.e5m2x2"), 0x7c01, 0, 0, 0x7c000100},
    {H("cvt.rn.satfinite.e4m3x2.f16x2"), 0x3c00b800, 0, 0, 0x38b0},
    {W1("cvt.rna.tf32.f32"), 0x3f801000, 0, 0, 0x3f802000},
};

static const op_row newer[] = {
    {H2("cvt.rp.satfinite.ue8m0x2.f32"), 0x40400000, 0x3f800000, 0, 0x817f}, /* 3, 1 */
    {H2("cvt.rz.satfinite.ue8m0x2.f32"), 0x40400000, A_NAN, 0, 0x80ff},
    {FROM_H("cvt.rn.bf16x2.ue8m0x2"), 0x7f80, 0, 0, 0x3f804000},
};

static void each_conversion_gives_its_result(void **state)
{
  (void)state;
  assert_int_equal(op_rows_run(rows, sizeof rows / sizeof rows[0]), 0);
  assert_int_equal(op_rows_run_on("sm_100a", newer, sizeof newer / sizeof newer[0]), 0);
}

/* The quick ways and the general one agree, for every pattern. */
static void quick_conversions_agree_with_the_general_one(void **state)
{
  (void)state;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const double half = emu_small_value(bits, &emu_format_f16), brain = emu_small_value(bits, &emu_format_bf16);
    const float quick_half = emu_f16_value(bits), quick_brain = emu_bf16_value(bits);
    assert_true(half == (double)quick_half || (half != half && quick_half != quick_half));
    assert_true(brain == (double)quick_brain || (brain != brain && quick_brain != quick_brain));
    assert_true((signbit(half) != 0) == (signbit(quick_half) != 0) || half != half);
  }
  uint64_t seed = 1;
  for (unsigned i = 0; i < 1000000; i++) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    const float value = emu_float32((uint32_t)(seed >> 32));
    assert_int_equal(emu_to_f16(value), emu_round_small((double)value, &emu_format_f16, EMU_RN, false));
    assert_int_equal(emu_to_bf16(value), emu_round_small((double)value, &emu_format_bf16, EMU_RN, false));
  }
}

/* Every number of a small format is itself after any rounding, and what lies between two goes to one of them. */
static void small_formats_keep_their_numbers(void **state)
{
  (void)state;
  const emu_format *const formats[] = {&emu_format_e4m3, &emu_format_e5m2, &emu_format_e2m3, &emu_format_e3m2,
                                       &emu_format_e2m1};
  for (unsigned f = 0; f < 5; f++) {
    const emu_format *format = formats[f];
    for (uint32_t bits = 0; bits <= format->largest; bits++) {
      const double value = emu_small_value(bits, format);
      for (emu_rounding rounding = EMU_RN; rounding <= EMU_RNA; rounding++) {
        assert_int_equal(emu_round_small(value, format, rounding, true), bits);
      }
      if (bits < format->largest) {
        const double next = emu_small_value(bits + 1, format), middle = (value + next) / 2;
        assert_int_equal(emu_round_small(middle, format, EMU_RN, true), bits + (bits & 1));
        assert_int_equal(emu_round_small(middle, format, EMU_RNA, true), bits + 1);
        assert_int_equal(emu_round_small(nextafter(middle, 0), format, EMU_RN, true), bits);
        assert_int_equal(emu_round_small(nextafter(middle, next), format, EMU_RN, true), bits + 1);
        assert_int_equal(emu_round_small(middle, format, EMU_RZ, true), bits);
        assert_int_equal(emu_round_small(middle, format, EMU_RP, true), bits + 1);
      }
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_conversion_gives_its_result),
      cmocka_unit_test(quick_conversions_agree_with_the_general_one),
      cmocka_unit_test(small_formats_keep_their_numbers),
  };
  return SJ_TEST_RUN(tests);
}
