/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma's results: each type, size, layout and operand by "Asynchronous Warpgroup Level Matrix Instructions" of the
 * PTX ISA. Integers are exact. Floats are, to the bit, what the rule of sums gives, which the documents leave open; and
 * no further from the exact sums than it allows: 17 terms cut at 2^-25 of the largest, and the sum at 2^-23; of 8-bit
 * floats 33 terms and the sum at 2^-13. */
#include "test_main.h"

#include <string.h>

#include "snippet.h"
#include "wgmma_case.h"

static uint8_t data[WGMMA_DATA];
static char text[WGMMA_TEXT];
static emu_message message;

static double bound_of(const wgmma_case *of)
{
  return of->a_type == E4M3 || of->a_type == E5M2 ? 34 * 0x1p-13 : 19 * 0x1p-25;
}

static void run(const wgmma_case *of)
{
  char opcode[128];
  wgmma_case_opcode(of, opcode, sizeof opcode);
  wgmma_case_text(of, text, sizeof text);
  wgmma_case_data(of, data);
  const int result = snippet_run_kernel("sm_90a", text, data, sizeof data, 1, WGMMA_THREADS, of->used, &message);
  if (result != EMU_OK) {
    print_message("%s: %s\n", opcode, message.text);
  }
  assert_int_equal(result, EMU_OK);
  unsigned place = 0;
  const double error = wgmma_case_error(of, data, &place);
  if (error > bound_of(of)) {
    print_message("%s: row %u, column %u is wrong by %g of its terms\n", opcode, place / 256, place % 256, error);
  }
  assert_true(error <= bound_of(of));
  assert_int_equal(wgmma_case_differs(of, data), 0);
}

/* Pairs of types that the syntax of wgmma.mma_async has. */
static const struct {
  wgmma_type a, b, d;
} types[] = {
    {F16, F16, F32},   {F16, F16, F16},   {BF16, BF16, F32}, {TF32, TF32, F32}, {E4M3, E4M3, F32}, {E4M3, E5M2, F32},
    {E5M2, E4M3, F32}, {E5M2, E5M2, F32}, {E4M3, E4M3, F16}, {E4M3, E5M2, F16}, {E5M2, E4M3, F16}, {E5M2, E5M2, F16},
    {S8, S8, S32},     {U8, U8, S32},     {S8, U8, S32},     {U8, S8, S32},     {B1, B1, S32},
};
enum { NUM_TYPES = sizeof types / sizeof types[0] };

static void every_type_with_a_in_memory_and_in_registers(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_TYPES; i++) {
    for (unsigned way = 0; way < 4; way++) {
      wgmma_case of = wgmma_case_of(types[i].a, types[i].b, types[i].d, 32);
      of.a_in_registers = way % 2 != 0;
      of.accumulates = way < 2;
      of.seed = i + 1;
      run(&of);
    }
  }
}

/* "Matrix Shape". */
static void every_size_of_n(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_TYPES; i++) {
    for (unsigned n = 8; n <= 256; n += 8) {
      const bool is_there = types[i].d != S32 || n <= 32 || n % 16 == 0;
      wgmma_case of = wgmma_case_of(types[i].a, types[i].b, types[i].d, n);
      if (is_there) {
        run(&of);
        continue;
      }
      wgmma_case_text(&of, text, sizeof text);
      wgmma_case_data(&of, data);
      assert_int_equal(snippet_run_kernel("sm_90a", text, data, sizeof data, 1, WGMMA_THREADS, of.used, &message),
                       EMU_INVALID_PTX);
      assert_non_null(strstr(message.text, "does not know this instruction"));
    }
  }
}

/* "Canonical Layouts" and the strides' definitions: K-major for all types, MN-major for those of 16 bits; the second
 * and third product along K start inside of the swizzle's pattern. */
static void every_layout(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_TYPES; i++) {
    for (unsigned way = 0; way < 96; way++) {
      const unsigned swizzle = way % 4, majors = way / 4 % 4, step = way / 32;
      const bool has_majors = types[i].a == F16 || types[i].a == BF16;
      static const unsigned steps[4] = {3, 4, 2, 1}; /* what a K-major pattern holds */
      if ((!has_majors && majors != 0) || (majors != 3 && step >= steps[swizzle])) {
        continue;
      }
      wgmma_case of = wgmma_case_of(types[i].a, types[i].b, types[i].d, way % 3 == 0 ? 24 : 40);
      of.n = types[i].d == S32 && of.n == 40 ? 48 : of.n;
      wgmma_case_place(&of, majors % 2 != 0, majors / 2 != 0, swizzle, way / 16 % 2 != 0, step);
      of.seed = way + 1;
      run(&of);
      of.a_in_registers = true;
      if (step == 0) {
        run(&of);
      }
    }
  }
}

static void wide_matrices_in_every_layout(void **state)
{
  (void)state;
  for (unsigned way = 0; way < 16; way++) {
    wgmma_case of = wgmma_case_of(BF16, BF16, F32, 256);
    wgmma_case_place(&of, way / 4 % 2 != 0, way / 8 != 0, way % 4, true, 0);
    of.seed = way + 77;
    run(&of);
  }
}

/* "Matrix Descriptor Format", bits 51-49: patterns that start at any line of 128 bytes. */
static void patterns_off_their_boundary(void **state)
{
  (void)state;
  for (unsigned way = 0; way < 7 * 3 * 4; way++) {
    const unsigned line = way % 7 + 1, swizzle = way / 7 % 3 + 1, majors = way / 21;
    wgmma_case of = wgmma_case_of(F16, F16, F32, 16);
    wgmma_case_place(&of, majors % 2 != 0, majors / 2 != 0, swizzle, true, 0);
    of.a.start += 128 * line;
    of.b.start += 1024 + 128 * (8 - line);
    of.used += 4096;
    of.seed = way + 5;
    run(&of);
  }
}

static void negated_operands(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_TYPES; i++) {
    for (unsigned way = 1; way < 4 && types[i].d != S32; way++) {
      wgmma_case of = wgmma_case_of(types[i].a, types[i].b, types[i].d, 16);
      of.negates_a = way % 2 != 0;
      of.negates_b = way / 2 != 0;
      run(&of);
      of.a_in_registers = true;
      run(&of);
    }
  }
}

static void infinities_and_nan(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_TYPES; i++) {
    for (unsigned seed = 1; seed <= 8 && types[i].d != S32; seed++) {
      wgmma_case of = wgmma_case_of(types[i].a, types[i].b, types[i].d, 64);
      of.has_specials = true;
      of.seed = seed;
      run(&of);
    }
  }
}

/* "The .satfinite qualifier": otherwise the sum wraps. The data hold accumulators near the largest. */
static void integers_saturate_or_wrap(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_TYPES; i++) {
    for (unsigned way = 0; way < 4 && types[i].d == S32 && types[i].a != B1; way++) {
      wgmma_case of = wgmma_case_of(types[i].a, types[i].b, S32, 64);
      of.saturates = way % 2 != 0;
      of.a_in_registers = way / 2 != 0;
      of.seed = way + 3;
      run(&of);
    }
  }
}

/* The examples of the documents have .satfinite at the end. */
static void satfinite_at_the_end_is_the_same(void **state)
{
  (void)state;
  wgmma_case of = wgmma_case_of(S8, U8, S32, 8);
  of.saturates = true;
  wgmma_case_text(&of, text, sizeof text);
  char *at = strstr(text, "k32.satfinite.s32.s8.u8");
  assert_non_null(at);
  memcpy(at, "k32.s32.s8.u8.satfinite", 23);
  wgmma_case_data(&of, data);
  assert_int_equal(snippet_run_kernel("sm_90a", text, data, sizeof data, 1, WGMMA_THREADS, of.used, &message), EMU_OK);
  unsigned place = 0;
  assert_true(wgmma_case_error(&of, data, &place) <= bound_of(&of));
}

/* Only what the descriptor says is looked at: a descriptor with another field gives another result. */
static void each_field_of_the_descriptor_counts(void **state)
{
  (void)state;
  static const struct {
    unsigned first, bits;
    uint64_t change;
  } fields[] = {{0, 14, 1}, {16, 14, 8}, {32, 14, 8}, {49, 3, 1}, {62, 2, 3}};
  for (unsigned which = 0; which < 2; which++) {
    for (unsigned i = 0; i < 5; i++) {
      wgmma_case of = wgmma_case_of(F16, F16, F32, 128);
      /* MN-major, 64 bytes: two patterns across for A, and both offsets have a meaning. */
      wgmma_case_place(&of, true, true, 2, true, 0);
      wgmma_case_text(&of, text, sizeof text);
      wgmma_case_data(&of, data);
      uint64_t descriptors[2];
      memcpy(descriptors, data + WGMMA_AT_DESCRIPTORS, sizeof descriptors);
      descriptors[which] ^= fields[i].change << fields[i].first;
      memcpy(data + WGMMA_AT_DESCRIPTORS, descriptors, sizeof descriptors);
      assert_int_equal(snippet_run_kernel("sm_90a", text, data, sizeof data, 1, WGMMA_THREADS, of.used, &message),
                       EMU_OK);
      unsigned place = 0;
      assert_true(wgmma_case_error(&of, data, &place) > 0x1p-4);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_with_a_in_memory_and_in_registers),
      cmocka_unit_test(every_size_of_n),
      cmocka_unit_test(every_layout),
      cmocka_unit_test(wide_matrices_in_every_layout),
      cmocka_unit_test(patterns_off_their_boundary),
      cmocka_unit_test(negated_operands),
      cmocka_unit_test(infinities_and_nan),
      cmocka_unit_test(integers_saturate_or_wrap),
      cmocka_unit_test(satfinite_at_the_end_is_the_same),
      cmocka_unit_test(each_field_of_the_descriptor_counts),
  };
  return SJ_TEST_RUN(tests);
}
