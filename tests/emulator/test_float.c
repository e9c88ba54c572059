/* SPDX-License-Identifier: Apache-2.0 */
/* f32 and f64 at their edges: rounding in each direction, subnormals, infinities, NaN, saturation. */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "op_rows.h"
#include "snippet.h"

#define W(op) op " %d0, %a0, %a1;"
#define W1(op) op " %d0, %a0;"
#define W3(op) op " %d0, %a0, %a1, %a2;"
#define L(op) op " %ld0, %la0, %la1;"
#define L1(op) op " %ld0, %la0;"
#define L3(op) op " %ld0, %la0, %la1, %la2;"
#define P(op) op " %p1, %a0, %a1; selp.u32 %d0, 1, 0, %p1;"

enum {
  ONE = 0x3f800000,
  TWO = 0x40000000,
  HALF = 0x3f000000,
  INF = 0x7f800000,
  NAN32 = 0x7fffffff,
  A_NAN = 0x7f800001,
  MAX = 0x7f7fffff,
  TINY = 1, /* the least subnormal */
  NORMAL = 0x00800000
};
#define NEG(x) ((uint32_t)(x) | 0x80000000u)
#define EPS 0x33800000u /* 2^-24: half of the last place of 1 */

static const op_row rows[] = {
    {W("add.f32"), ONE, EPS, 0, ONE},
    {W("add.rz.f32"), ONE, EPS, 0, ONE},
    {W("add.rp.f32"), ONE, EPS, 0, ONE + 1},
    {W("add.rm.f32"), ONE, EPS, 0, ONE},
    {W("add.rm.f32"), ONE, NEG(TINY), 0, ONE - 1},
    {W("add.rz.f32"), ONE, NEG(TINY), 0, ONE - 1},
    {W("add.rn.f32"), ONE, NEG(TINY), 0, ONE},
    {W("add.rp.f32"), NEG(ONE), TINY, 0, NEG(ONE) - 1},
    {W("sub.f32"), ONE, ONE, 0, 0},
    {W("sub.rm.f32"), ONE, ONE, 0, 0x80000000},
    {W("add.rm.f32"), 0, 0, 0, 0},
    {W("add.f32"), 0x80000000, 0x80000000, 0, 0x80000000},
    {W("add.f32"), INF, NEG(INF), 0, NAN32},
    {W("add.f32"), A_NAN, ONE, 0, NAN32},
    {W("add.f32"), MAX, MAX, 0, INF},
    {W("add.rz.f32"), MAX, MAX, 0, MAX},
    {W("add.rp.f32"), NEG(MAX), NEG(MAX), 0, NEG(MAX)},
    {W("add.f32"), TINY, TINY, 0, 2},
    {W("add.ftz.f32"), TINY, TINY, 0, 0},
    {W("add.ftz.f32"), NEG(TINY), NEG(TINY), 0, 0x80000000},
    {W("add.ftz.f32"), NORMAL + 1, NEG(NORMAL), 0, 0},
    {W("add.sat.f32"), ONE, ONE, 0, ONE},
    {W("add.sat.f32"), NEG(ONE), 0, 0, 0},
    {W("add.sat.f32"), A_NAN, ONE, 0, 0},
    {W("mul.f32"), NORMAL, HALF, 0, 0x00400000},
    {W("mul.ftz.f32"), NORMAL, HALF, 0, 0},
    {W("mul.f32"), TINY, HALF, 0, 0},
    {W("mul.rp.f32"), TINY, HALF, 0, TINY},
    {W("mul.rm.f32"), NEG(TINY), HALF, 0, NEG(TINY)},
    {W("mul.f32"), 0, INF, 0, NAN32},
    {W("mul.f32"), 0x3fc00000, 0x3f800001, 0, 0x3fc00002},
    {W("mul.rz.f32"), 0x3fc00000, 0x3f800001, 0, 0x3fc00001},
    {W3("fma.rn.f32"), 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000}, /* (1 + e)^2 - 1 - 2e = e^2, lost without */
    {W3("fma.rn.f32"), INF, 0, ONE, NAN32},
    {W3("fma.rn.f32"), MAX, TWO, NEG(MAX), MAX},
    {W3("fma.rz.f32"), ONE, ONE, NEG(TINY), ONE - 1},
    {W3("fma.rp.f32"), ONE, ONE, TINY, ONE + 1},
    {W3("fma.rm.f32"), ONE, ONE, NEG(ONE), 0x80000000},
    {W3("fma.rn.sat.f32"), TWO, TWO, ONE, ONE},
    {W3("fma.rn.ftz.f32"), TINY, ONE, NORMAL, NORMAL},
    {W3("mad.rn.f32"), TWO, TWO, ONE, 0x40a00000},
    {W("div.rn.f32"), ONE, 0x40400000, 0, 0x3eaaaaab},
    {W("div.rz.f32"), ONE, 0x40400000, 0, 0x3eaaaaaa},
    {W("div.rp.f32"), ONE, 0x40400000, 0, 0x3eaaaaab},
    {W("div.rm.f32"), NEG(ONE), 0x40400000, 0, 0xbeaaaaab},
    {W("div.rn.f32"), ONE, 0, 0, INF},
    {W("div.rn.f32"), 0, 0, 0, NAN32},
    {W("div.rn.f32"), TINY, TWO, 0, 0},
    {W("div.rp.f32"), TINY, TWO, 0, TINY},
    {W("div.approx.f32"), ONE, 0x7f000000, 0, 0}, /* 2^127 */
    {W("div.approx.f32"), INF, 0x7f000000, 0, NAN32},
    {W("div.full.f32"), ONE, TWO, 0, HALF},
    {W1("rcp.rn.f32"), 0x40400000, 0, 0, 0x3eaaaaab},
    {W1("rcp.rz.f32"), 0x40400000, 0, 0, 0x3eaaaaaa},
    {W1("rcp.approx.ftz.f32"), TINY, 0, 0, INF},
    {W1("rcp.approx.ftz.f32"), NEG(0), 0, 0, NEG(INF)},
    {W1("rcp.approx.f32"), NEG(INF), 0, 0, 0x80000000},
    {W1("sqrt.rn.f32"), TWO, 0, 0, 0x3fb504f3},
    {W1("sqrt.rp.f32"), TWO, 0, 0, 0x3fb504f4},
    {W1("sqrt.rn.f32"), NEG(ONE), 0, 0, NAN32},
    {W1("sqrt.rn.f32"), 0x80000000, 0, 0, 0x80000000},
    {W1("rsqrt.approx.f32"), 0x40800000, 0, 0, HALF},
    {W1("ex2.approx.f32"), 0, 0, 0, ONE},
    {W1("ex2.approx.ftz.f32"), NEG(INF), 0, 0, 0},
    {W1("ex2.approx.ftz.f32"), 0xc3000000, 0, 0, 0}, /* 2^-128 is subnormal */
    {W1("ex2.approx.f32"), 0xc3000000, 0, 0, 0x00200000},
    {W1("ex2.approx.f32"), A_NAN, 0, 0, NAN32},
    {W1("lg2.approx.f32"), 0x41000000, 0, 0, 0x40400000},
    {W1("lg2.approx.f32"), 0, 0, 0, NEG(INF)},
    {W1("lg2.approx.f32"), NEG(ONE), 0, 0, NAN32},
    {W1("sin.approx.f32"), 0, 0, 0, 0},
    {W1("cos.approx.f32"), 0, 0, 0, ONE},
    {W1("tanh.approx.f32"), INF, 0, 0, ONE},
    {W1("abs.f32"), NEG(TINY), 0, 0, TINY},
    {W1("abs.ftz.f32"), NEG(TINY), 0, 0, 0},
    {W1("neg.f32"), 0, 0, 0, 0x80000000},
    {W("copysign.f32"), NEG(ONE), TWO, 0, NEG(TWO)},
    {W("min.f32"), 0, 0x80000000, 0, 0x80000000},
    {W("max.f32"), 0, 0x80000000, 0, 0},
    {W("max.f32"), 0x80000000, 0, 0, 0},
    {W("min.f32"), A_NAN, ONE, 0, ONE},
    {W("max.f32"), ONE, A_NAN, 0, ONE},
    {W("max.f32"), A_NAN, A_NAN, 0, NAN32},
    {W("max.f32"), NEG(INF), NEG(ONE), 0, NEG(ONE)},
    {W("max.NaN.f32"), ONE, A_NAN, 0, NAN32},
    {W("min.ftz.f32"), NEG(TINY), ONE, 0, 0x80000000},
    {W("max.xorsign.abs.f32"), NEG(TWO), ONE, 0, NEG(TWO)},
    {W("min.xorsign.abs.f32"), NEG(TWO), NEG(ONE), 0, ONE},
    {P("setp.eq.f32"), 0, 0x80000000, 0, 1},
    {P("setp.eq.f32"), A_NAN, A_NAN, 0, 0},
    {P("setp.ne.f32"), A_NAN, ONE, 0, 0},
    {P("setp.neu.f32"), A_NAN, ONE, 0, 1},
    {P("setp.equ.f32"), A_NAN, ONE, 0, 1},
    {P("setp.ltu.f32"), A_NAN, ONE, 0, 1},
    {P("setp.lt.f32"), A_NAN, ONE, 0, 0},
    {P("setp.geu.f32"), ONE, TWO, 0, 0},
    {P("setp.num.f32"), ONE, TWO, 0, 1},
    {P("setp.nan.f32"), ONE, A_NAN, 0, 1},
    {P("setp.gt.ftz.f32"), TINY, 0, 0, 0},
    {"testp.subnormal.f32 %p1, %a0; selp.u32 %d0, 1, 0, %p1;", TINY, 0, 0, 1},
    {"testp.normal.f32 %p1, %a0; selp.u32 %d0, 1, 0, %p1;", 0, 0, 0, 1},
    {"testp.infinite.f32 %p1, %a0; selp.u32 %d0, 1, 0, %p1;", NEG(INF), 0, 0, 1},
    {"testp.notanumber.f64 %p1, %la0; selp.u32 %d0, 1, 0, %p1;", 0x7ff0000000000001, 0, 0, 1},
    {L("add.rn.f64"), 0x3ff0000000000000, 0x3ca0000000000000, 0, 0x3ff0000000000000},
    {L("add.rp.f64"), 0x3ff0000000000000, 0x3ca0000000000000, 0, 0x3ff0000000000001},
    {L("mul.rz.f64"), 0x3ff0000000000001, 0x3ff8000000000000, 0, 0x3ff8000000000001},
    {L3("fma.rn.f64"), 0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002, 0x3970000000000000},
    {L("div.rm.f64"), 0x3ff0000000000000, 0x4008000000000000, 0, 0x3fd5555555555555},
    {L1("sqrt.rn.f64"), 0x4000000000000000, 0, 0, 0x3ff6a09e667f3bcd},
    {L("min.f64"), 0x7ff8000000000000, 0x3ff0000000000000, 0, 0x3ff0000000000000},
    {L1("neg.f64"), 0, 0, 0, 0x8000000000000000},
};

static const op_row pairs[] = {
    {L("add.rn.f32x2"), 0x3f80000040000000, 0x3f80000040000000, 0, 0x4000000040800000},
    {L("mul.rn.ftz.f32x2"), 0x0080000040000000, 0x3f0000003f800000, 0, 0x0000000040000000},
    {L3("fma.rn.f32x2"), 0x3f80000140000000, 0x3f80000140000000, 0xbf8000023f800000, 0x2880000040a00000},
    {L3("fma.rz.f32x2"), 0x3f8000003f800000, 0x3f8000003f800000, 0x8000000100000001, 0x3f7fffff3f800000},
};

static void each_instruction_gives_its_result(void **state)
{
  (void)state;
  assert_int_equal(op_rows_run(rows, sizeof rows / sizeof rows[0]), 0);
  assert_int_equal(op_rows_run_on("sm_100a", pairs, sizeof pairs / sizeof pairs[0]), 0);
}

static uint32_t draw(uint64_t *state)
{
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 32);
}

/* Each rounding of random numbers is one of the two neighbours of the exact result, the right one: for sums and
 * products that long double holds exactly. */
static void rounding_of_random_numbers_is_the_neighbour_asked_for(void **state)
{
  (void)state;
  static const char *const names[] = {"rn", "rz", "rm", "rp"};
  static emu_snippet snippet;
  uint64_t seed = 5;
  for (unsigned mode = 0; mode < 4; mode++) {
    char text[256];
    snprintf(text, sizeof text, "mul.%s.f32 %%d0, %%a0, %%a1; add.%s.f32 %%d1, %%a0, %%a1;", names[mode], names[mode]);
    for (unsigned round = 0; round < 50; round++) {
      memset(&snippet, 0, sizeof snippet);
      snippet.text = text;
      for (unsigned lane = 0; lane < 32; lane++) {
        /* exponents near each other: the sum fits 64 bits */
        snippet.in[lane][0] = (draw(&seed) & 0x80ffffff) | 0x3f000000;
        snippet.in[lane][1] = (draw(&seed) & 0x80ffffff) | 0x3f000000;
      }
      snippet_run(&snippet);
      assert_int_equal(snippet.result, EMU_OK);
      for (unsigned lane = 0; lane < 32; lane++) {
        float a, b, results[2];
        memcpy(&a, &snippet.in[lane][0], 4);
        memcpy(&b, &snippet.in[lane][1], 4);
        memcpy(&results[0], &snippet.out[lane][0], 4);
        memcpy(&results[1], &snippet.out[lane][1], 4);
        const long double exact[2] = {(long double)a * b, (long double)a + b};
        for (unsigned i = 0; i < 2; i++) {
          const long double error = (long double)results[i] - exact[i];
          const long double place = (long double)nextafterf(fabsf(results[i]), INFINITY) - fabsf(results[i]);
          assert_true(fabsl(error) < place);
          assert_true(mode != 0 || fabsl(error) <= place / 2);
          assert_true(mode != 1 || fabsl((long double)results[i]) <= fabsl(exact[i]));
          assert_true(mode != 2 || error <= 0);
          assert_true(mode != 3 || error >= 0);
        }
      }
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_instruction_gives_its_result),
      cmocka_unit_test(rounding_of_random_numbers_is_the_neighbour_asked_for),
  };
  return SJ_TEST_RUN(tests);
}
