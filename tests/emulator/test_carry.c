/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products of more bits than a register has. */
#include "test_main.h"

#include <string.h>

#include "op_rows.h"
#include "snippet.h"

static const op_row rows[] = {
    {"add.cc.u32 %t0, %a0, %a1; addc.u32 %d0, 5, 6;", 0xffffffff, 1, 0, 12},
    {"add.cc.u32 %t0, %a0, %a1; addc.u32 %d0, 5, 6;", 0xfffffffe, 1, 0, 11},
    {"sub.cc.u32 %t0, %a0, %a1; subc.u32 %d0, 9, 3;", 0, 1, 0, 5},
    {"sub.cc.u32 %t0, %a0, %a1; subc.u32 %d0, 9, 3;", 1, 1, 0, 6},
    {"add.cc.u64 %l0, %la0, %la1; addc.u64 %ld0, 0, 0;", 0xffffffffffffffff, 1, 0, 1},
    {"sub.cc.s64 %l0, %la0, %la1; subc.cc.s64 %l1, 0, 0; subc.s64 %ld0, 0, 0;", 0, 1, 0, 0xffffffffffffffff},
    {"add.cc.u32 %t0, -1, 1; addc.cc.u32 %t1, %a0, 0; addc.u32 %d0, 0, 0;", 0xffffffff, 0, 0, 1},
    {"mad.lo.cc.u32 %t0, %a0, %a1, %a2; madc.hi.u32 %d0, %a0, %a1, 0;", 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
    {"mad.hi.cc.s32 %d0, %a0, %a1, 7; addc.u32 %t0, 0, 0; add.u32 %d0, %d0, %t0;", 0xffffffff, 1, 0, 7},
    {"mad.lo.cc.u64 %l0, %la0, %la1, %la2; madc.hi.u64 %ld0, %la0, %la1, 1;", 0xffffffffffffffff, 2, 2, 3},
    {"mad.hi.cc.u64 %l0, %la0, %la1, %la2; addc.u64 %ld0, 0, 0;", 0xffffffffffffffff, 2, 0xffffffffffffffff, 1},
};

static void the_carry_goes_on(void **state)
{
  (void)state;
  assert_int_equal(op_rows_run(rows, sizeof rows / sizeof rows[0]), 0);
}

static void a_carry_that_was_never_made_is_a_fault(void **state)
{
  (void)state;
  static emu_snippet snippet;
  snippet.text = "addc.u32 %d0, 1, 1;";
  snippet_run(&snippet);
  assert_int_equal(snippet.result, EMU_ILLEGAL_INSTRUCTION);
  assert_non_null(strstr(snippet.message.text, "the carry is read and was never written"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_carry_goes_on),
      cmocka_unit_test(a_carry_that_was_never_made_is_a_fault),
  };
  return SJ_TEST_RUN(tests);
}
