/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05.mma: every kind, shape, layout and descriptor field, each with random data, from the PTX ISA: 9.7.16.2.1
 * (Table 39: shapes), 9.7.16.3 (canonical layouts), 9.7.16.4 (descriptors), 9.7.16.10 (types, layouts A to G,
 * instructions). */
#include "test_main.h"

#include <stdbool.h>
#include <string.h>

#include "product_case.h"

static void try_case(const product_case *how, uint64_t seed)
{
  emu_message message;
  unsigned wrong = 0;
  const int result = product_case_run(how, seed, &wrong, &message);
  if (result != EMU_OK) {
    print_message("%s: %s\n", how->what, message.text);
  }
  assert_int_equal(result, EMU_OK);
  assert_int_equal(wrong, 0);
}

static void try_all(const product_case *cases, unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
      try_case(&cases[i], seed * 100 + i);
    }
  }
}

#define TRY(list) try_all(list, sizeof(list) / sizeof((list)[0]))

/* 9.7.16.10.5: layouts A to G, with A in shared and in tensor memory. f32 sums of bf16. */
static void each_layout_puts_rows_and_columns_in_its_lanes(void **state)
{
  (void)state;
#define BF16 .kind = CASE_F16, .a_type = 1, .b_type = 1, .d_type = 1, .a_swizzle = 2, .b_swizzle = 2
  static const product_case cases[] = {
      {"layout A", BF16, .m = 256, .n = 64, .blocks = 2},
      {"layout A, A in tensor memory", BF16, .m = 256, .n = 32, .blocks = 2, .a_in_tensor = true},
      {"layout A, by the second block", BF16, .m = 256, .n = 16, .blocks = 2, .issuer = 1},
      {"layout B", BF16, .m = 128, .n = 64, .blocks = 2},
      {"layout B, A in tensor memory", BF16, .m = 128, .n = 32, .blocks = 2, .a_in_tensor = true},
      {"layout D", BF16, .m = 128, .n = 64},
      {"layout D, A in tensor memory", BF16, .m = 128, .n = 64, .a_in_tensor = true},
      {"layout D with .ws", BF16, .m = 128, .n = 64, .is_ws = true},
      {"layout E", BF16, .m = 64, .n = 128, .is_ws = true},
      {"layout E, A in tensor memory", BF16, .m = 64, .n = 64, .is_ws = true, .a_in_tensor = true},
      {"layout F at lane 0", BF16, .m = 64, .n = 64},
      {"layout F at lane 16", BF16, .m = 64, .n = 64, .d_lane = 16},
      {"layout F, A in tensor memory", BF16, .m = 64, .n = 64, .a_in_tensor = true},
      {"layout F at lane 16, A in tensor memory", BF16, .m = 64, .n = 64, .a_in_tensor = true, .d_lane = 16},
      {"layout G", BF16, .m = 32, .n = 128, .is_ws = true},
      {"layout G, A in tensor memory", BF16, .m = 32, .n = 64, .is_ws = true, .a_in_tensor = true},
      {"another column", BF16, .m = 128, .n = 64, .d_column = 37},
  };
  TRY(cases);
}

/* Table 39: all M and N of a kind. */
static void every_shape_of_a_kind_is_computed(void **state)
{
  (void)state;
  for (unsigned n = 8; n <= 256; n += 8) {
    const product_case small = {"N, M = 64", BF16, .m = 64, .n = n};
    try_case(&small, n);
    const product_case large = {"N, M = 128", BF16, .m = 128, .n = n};
    try_case(&large, n);
  }
  for (unsigned n = 16; n <= 256; n += 16) {
    const product_case pair = {"N, M = 128 of a pair", BF16, .m = 128, .n = n, .blocks = 2};
    try_case(&pair, n);
    const product_case whole = {"N, M = 256 of a pair", BF16, .m = 256, .n = n, .blocks = 2};
    try_case(&whole, n);
  }
  for (unsigned m = 32; m <= 128; m *= 2) {
    for (unsigned n = 64; n <= 256; n *= 2) {
      const product_case weights = {"with .ws", BF16, .m = m, .n = n, .is_ws = true};
      try_case(&weights, m + n);
    }
  }
}

/* 9.7.16.3.3 and 9.7.16.4.1: each swizzling mode of both directions; leading and stride offsets; steps along K inside a
 * pattern; patterns off their boundary (base offset). */
static void each_canonical_layout_is_read(void **state)
{
  (void)state;
#define F16_OF(rows) .kind = CASE_F16, .d_type = 1, .m = rows
#define F16 F16_OF(128), .n = 96
#define E4M3 .kind = CASE_F8F6F4, .d_type = 1, .m = 128, .n = 96
#define TF32 .kind = CASE_TF32, .a_type = 2, .b_type = 2, .d_type = 1, .m = 128, .n = 64
#define BOTH(code) .a_swizzle = code, .b_swizzle = code
#define TURNED .transposes_a = true, .transposes_b = true
  static const product_case cases[] = {
      {"K-major, none", F16, BOTH(0), .steps = 2},
      {"K-major, none, far", F16_OF(128), BOTH(0), .steps = 2, .far_apart = true, .n = 32},
      {"K-major, 32", F16, BOTH(6)},
      {"K-major, 32, far", F16, BOTH(6), .far_apart = true},
      {"K-major, 64", F16, BOTH(4), .steps = 2},
      {"K-major, 64, far", F16, BOTH(4), .steps = 2, .far_apart = true},
      {"K-major, 128", F16, BOTH(2), .steps = 4},
      {"K-major, 128, far", F16, BOTH(2), .steps = 4, .far_apart = true},
      {"K-major, 128 with 32-byte atoms", F16, BOTH(1), .steps = 4},
      {"K-major, each its own", F16, .a_swizzle = 0, .b_swizzle = 2, .steps = 2},
      {"MN-major, none", F16, BOTH(0), TURNED, .steps = 2},
      {"MN-major, none, far", F16_OF(128), BOTH(0), TURNED, .far_apart = true, .n = 64},
      {"MN-major, 32", F16, BOTH(6), TURNED, .steps = 2},
      {"MN-major, 32, far", F16, BOTH(6), TURNED, .far_apart = true},
      {"MN-major, 64", F16, BOTH(4), TURNED, .steps = 2},
      {"MN-major, 64, far", F16, BOTH(4), TURNED, .far_apart = true, .steps = 2},
      {"MN-major, 128", F16, BOTH(2), TURNED, .steps = 2},
      {"MN-major, 128, far", F16, BOTH(2), TURNED, .far_apart = true, .steps = 2},
      {"A alone MN-major", F16, BOTH(2), .transposes_a = true},
      {"B alone MN-major", F16, BOTH(2), .transposes_b = true},
      {"bytes, K-major, none", E4M3, BOTH(0), .steps = 2},
      {"bytes, K-major, 128", E4M3, BOTH(2), .steps = 4},
      {"bytes, MN-major, none", E4M3, BOTH(0), TURNED},
      {"bytes, MN-major, 32", E4M3, BOTH(6), TURNED},
      {"bytes, MN-major, 64", E4M3, BOTH(4), TURNED, .steps = 2},
      {"bytes, MN-major, 128", E4M3, BOTH(2), TURNED, .steps = 2},
      {"tf32, K-major, none", TF32, BOTH(0), .steps = 2},
      {"tf32, K-major, 32", TF32, BOTH(6)},
      {"tf32, K-major, 128", TF32, BOTH(2), .steps = 4},
      {"tf32, MN-major, 128 with 32-byte atoms", TF32, BOTH(1), TURNED, .steps = 2},
      {"tf32, MN-major, 128 with 32-byte atoms, far", TF32, BOTH(1), TURNED, .far_apart = true},
      {"base offset 1 of 128", F16, BOTH(2), .pattern_offset = 1},
      {"base offset 5 of 128", F16, BOTH(2), .pattern_offset = 5, .steps = 2},
      {"base offset 7 of 128, MN-major", F16, BOTH(2), TURNED, .pattern_offset = 7},
      {"base offset 3 of 64", F16, BOTH(4), .pattern_offset = 3},
      {"base offset 1 of 32", F16, BOTH(6), .pattern_offset = 1},
  };
  TRY(cases);
}

/* Table 42: types of A, B and D, negation; 9.7.16.10.4: packing of 4 and 6 bits. */
static void each_type_is_read(void **state)
{
  (void)state;
  static const product_case cases[] = {
      {"f16 to f16", .kind = CASE_F16, .m = 128, .n = 64, .a_swizzle = 2, .b_swizzle = 2},
      {"f16 to f16, wild", .kind = CASE_F16, .m = 128, .n = 64, .is_wild = true},
      {"f16 to f32, wild", .kind = CASE_F16, .d_type = 1, .m = 128, .n = 64, .is_wild = true},
      {"bf16 to f32, wild", .kind = CASE_F16, .a_type = 1, .b_type = 1, .d_type = 1, .m = 64, .n = 64, .is_wild = true},
      {"bf16 and f16", .kind = CASE_F16, .a_type = 1, .b_type = 0, .d_type = 1, .m = 64, .n = 64},
      {"tf32, wild", TF32, .is_wild = true},
      {"tf32, A in tensor memory", TF32, .a_in_tensor = true},
      {"negated A", F16, .negates_a = true},
      {"negated B", F16, .negates_b = true},
      {"both negated", TF32, .negates_a = true, .negates_b = true},
      {"u8", .kind = CASE_I8, .d_type = 2, .m = 128, .n = 64},
      {"s8", .kind = CASE_I8, .a_type = 1, .b_type = 1, .d_type = 2, .m = 64, .n = 48},
      {"u8 and s8, saturated", .kind = CASE_I8, .a_type = 0, .b_type = 1, .d_type = 2, .m = 128, .n = 32,
       .saturates = true},
      {"s8, A in tensor memory", .kind = CASE_I8, .a_type = 1, .d_type = 2, .m = 128, .n = 32, .a_in_tensor = true},
  };
  TRY(cases);
  static const unsigned codes[] = {0, 1, 3, 4, 5};
  for (unsigned a = 0; a < 5; a++) {
    for (unsigned b = 0; b < 5; b++) {
      product_case how = {
          "f8f6f4",           .kind = CASE_F8F6F4,   .m = 128,       .n = 32,          .a_type = codes[a],
          .b_type = codes[b], .d_type = (a + b) % 2, .a_swizzle = 2, .is_wild = a < 2, .steps = 2};
      try_case(&how, 10 * a + b);
      how.a_in_tensor = true;
      how.steps = 1;
      try_case(&how, 10 * a + b);
    }
  }
}

/* 9.7.16.10.9.1: enable-input-d, scale-input-d, disable-output-lane, collectors; 9.7.16.10.9.3: .ws and its columns. */
static void each_operand_does_what_it_says(void **state)
{
  (void)state;
#define WS .kind = CASE_F16, .d_type = 1, .is_ws = true, .a_swizzle = 2, .b_swizzle = 2, .has_zero_columns = true
#define ZEROS(nonzero, skip, use, shift)                                                                               \
  ((uint64_t)(nonzero) << 39 | (uint64_t)(skip) << 40 | (uint64_t)(use) << 48 | (uint64_t)(shift) << 56)
  static const product_case cases[] = {
      {"D is overwritten", F16, .overwrites = true},
      {"D is overwritten, then added to", F16, .overwrites = true, .steps = 2},
      {"D scaled by 1/8", F16, .scale = 3},
      {"D scaled by 2^-15, twice", TF32, .scale = 15, .steps = 2},
      {"f16 D scaled", .kind = CASE_F16, .m = 128, .n = 64, .scale = 2},
      {"lanes off", F16, .has_lanes_off = true},
      {"lanes off, scaled", F16, .has_lanes_off = true, .scale = 1},
      {"lanes off with M = 64", .kind = CASE_F16, .d_type = 1, .m = 64, .n = 32, .has_lanes_off = true, .d_lane = 16},
      {"lanes off in a pair", BF16, .m = 256, .n = 32, .blocks = 2, .has_lanes_off = true},
      {"lanes off in a pair, layout B, scaled", BF16, .m = 128, .n = 32, .blocks = 2, .has_lanes_off = true,
       .scale = 4},
      {"A is kept", F16, .between = ".collector::a::fill"},
      {"A is used", F16, .between = ".collector::a::use"},
      {"A is used last", F16, .between = ".collector::a::lastuse"},
      {"A is not kept", F16, .between = ".collector::a::discard"},
      {"B is kept", WS, .m = 64, .n = 64, .between = ".collector::b0::fill"},
      {"B is used", WS, .m = 64, .n = 64, .between = ".collector::b3::use"},
      {"B is used last", WS, .m = 32, .n = 64, .between = ".collector::b2::lastuse"},
      {"B is not kept", WS, .m = 128, .n = 64, .between = ".collector::b1::discard"},
      {"no column is zero", WS, .m = 128, .n = 64},
      {"example 1: the mask is not generated", WS, .m = 128, .n = 64, .zero_columns = ZEROS(0, 4, 3, 0)},
      {"example 2: M = 128", WS, .m = 128, .n = 64, .zero_columns = ZEROS(1, 2, 3, 0)},
      {"example 3: M = 64", WS, .m = 64, .n = 128, .zero_columns = ZEROS(1, 2, 3, 0) | 1ull << 32},
      {"example 4: M = 32", WS, .m = 32, .n = 128, .zero_columns = ZEROS(1, 2, 3, 2) | 3ull << 32 | 0x01020100},
      {"a shift of 32 columns", WS, .m = 128, .n = 64, .zero_columns = ZEROS(0, 0, 0, 32)},
  };
  TRY(cases);
}

typedef struct fault {
  product_case how;
  int result;
  const char *says;
} fault;

static const fault faults[] = {
    /* Table 42 */
    {{"sparse", F16, .idesc_flip = 1u << 2}, EMU_ILLEGAL_INSTRUCTION, "sparsity, and the instruction is no mma.sp"},
    {{"sparsity selector", F16, .idesc_flip = 1}, EMU_ILLEGAL_INSTRUCTION, "bits 0 to 2 are 0x1"},
    {{"saturated f16", F16, .idesc_flip = 1u << 3}, EMU_ILLEGAL_INSTRUCTION, "kind::f16 does not saturate"},
    {{"dtype", F16, .idesc_flip = 3u << 4}, EMU_ILLEGAL_INSTRUCTION, "dtype 2 is none of kind::f16"},
    {{"dtype of tf32", TF32, .idesc_flip = 1u << 4}, EMU_ILLEGAL_INSTRUCTION, "dtype 0 is none of kind::tf32"},
    {{"dtype f16 of bf16", BF16, .m = 128, .n = 64, .idesc_flip = 1u << 4},
     EMU_ILLEGAL_INSTRUCTION,
     "dtype f16 with bf16 operands"},
    {{"bit 6", F16, .idesc_flip = 1u << 6}, EMU_ILLEGAL_INSTRUCTION, "bits 6, 23 and 29 are reserved"},
    {{"bit 23", F16, .idesc_flip = 1u << 23}, EMU_ILLEGAL_INSTRUCTION, "reserved and must be 0"},
    {{"bit 29", F16, .idesc_flip = 1u << 29}, EMU_ILLEGAL_INSTRUCTION, "reserved and must be 0"},
    {{"atype", F16, .idesc_flip = 2u << 7}, EMU_ILLEGAL_INSTRUCTION, "atype 2 is none of kind::f16"},
    {{"btype", E4M3, .idesc_flip = 2u << 10}, EMU_ILLEGAL_INSTRUCTION, "btype 2 is none of kind::f8f6f4"},
    {{"negated i8", .kind = CASE_I8, .d_type = 2, .m = 128, .n = 64, .idesc_flip = 1u << 13},
     EMU_ILLEGAL_INSTRUCTION,
     "kind::i8 does not negate"},
    {{"transposed 4 bits", E4M3, .a_type = 5, .idesc_flip = 1u << 15},
     EMU_ILLEGAL_INSTRUCTION,
     "A of 4 or 6 bits is transposed"},
    {{"N = 0", F16, .idesc_flip = 96u / 8 << 17},
     EMU_ILLEGAL_INSTRUCTION,
     "N = 0 is none of kind::f16 with cta_group::1"},
    {{"N = 24 of a pair", BF16, .m = 256, .n = 16, .blocks = 2, .idesc_flip = 1u << 17},
     EMU_ILLEGAL_INSTRUCTION,
     "N = 24 is none of kind::f16 with cta_group::2"},
    {{"N = 40 of i8", .kind = CASE_I8, .d_type = 2, .m = 128, .n = 32, .idesc_flip = 1u << 17},
     EMU_ILLEGAL_INSTRUCTION,
     "N = 40 is none of kind::i8"},
    {{"N of bytes transposed", E4M3, .transposes_b = true, .idesc_flip = 1u << 17},
     EMU_ILLEGAL_INSTRUCTION,
     "B of bytes transposed"},
    {{"N = 72 with .ws", WS, .m = 64, .n = 64, .idesc_flip = 1u << 17}, EMU_ILLEGAL_INSTRUCTION, "and .ws"},
    {{"M = 192", F16, .idesc_flip = 4u << 24}, EMU_ILLEGAL_INSTRUCTION, "M = 192: 64 or 128 with cta_group::1"},
    {{"M = 64 of a pair", BF16, .m = 128, .n = 32, .blocks = 2, .idesc_flip = 12u << 24},
     EMU_ILLEGAL_INSTRUCTION,
     "M = 64: 128 or 256 with cta_group::2"},
    {{"M = 256 with .ws", WS, .m = 128, .n = 64, .idesc_flip = 24u << 24},
     EMU_ILLEGAL_INSTRUCTION,
     "M = 256: 32, 64 or 128 with .ws"},
    {{"maximum shift", F16, .idesc_flip = 1u << 30}, EMU_ILLEGAL_INSTRUCTION, "a maximum shift of 1"},
    /* Table 40 */
    {{"address beyond 18 bits", F16, .a_flip = 1ull << 14}, EMU_ILLEGAL_INSTRUCTION, "A's matrix descriptor 0x"},
    {{"stride beyond 18 bits", F16, .b_flip = 1ull << 30}, EMU_ILLEGAL_INSTRUCTION, "B's matrix descriptor 0x"},
    {{"bits 46 to 48", F16, .a_flip = 1ull << 46}, EMU_ILLEGAL_INSTRUCTION, "bits 46 to 48 must be 0b001, not 0"},
    {{"bit 52", F16, .b_flip = 1ull << 52}, EMU_ILLEGAL_INSTRUCTION, "for sm_103a alone"},
    {{"bits 53 to 60", F16, .a_flip = 4ull << 53}, EMU_ILLEGAL_INSTRUCTION, "bits 53 to 60 must be 0, not 0x4"},
    {{"swizzling mode", F16, .b_flip = 3ull << 61}, EMU_ILLEGAL_INSTRUCTION, "a swizzling mode of 3"},
    {{"base offset without swizzling", F16, .a_flip = 2ull << 49}, EMU_ILLEGAL_INSTRUCTION, "a base offset of 2"},
    /* Table 54 */
    {{"transposed tf32", TF32, TURNED, BOTH(2)}, EMU_ILLEGAL_INSTRUCTION, "A is transposed with a swizzling mode of 2"},
    {{"32-byte atoms", F16, .transposes_b = true, .b_swizzle = 1}, EMU_ILLEGAL_INSTRUCTION, "B is transposed with"},
    /* Where the matrices are. */
    {{"A outside", F16, .a_flip = 0x2000}, EMU_ILLEGAL_ADDRESS, "out of bounds: A is at 0x"},
    {{"lane 16", F16, .d_lane = 16}, EMU_ILLEGAL_INSTRUCTION, "D is at lane 16 of tensor memory: it begins at lane 0"},
    {{"columns outside", F16, .d_column = 480}, EMU_ILLEGAL_ADDRESS, "out of bounds: columns 480 to 575"},
    {{"scale", F16, .scale = 16}, EMU_ILLEGAL_INSTRUCTION, "scale-input-d of 16: 0 to 15"},
    {{"A in tensor memory transposed", F16, .a_in_tensor = true, .idesc_flip = 1u << 15},
     EMU_ILLEGAL_INSTRUCTION,
     "A in tensor memory is transposed"},
    {{"shift of columns", WS, .m = 32, .n = 64, .zero_columns = ZEROS(0, 0, 0, 17)},
     EMU_ILLEGAL_INSTRUCTION,
     "the zero-column mask descriptor"},
    /* 9.7.16.6 */
    {{"no proxy fence", F16, .no_proxy_fence = true}, EMU_ILLEGAL_ADDRESS, "race: read of shared memory at 0x"},
    {{"the commit is not waited for", F16, .no_commit_wait = true}, EMU_ILLEGAL_ADDRESS, "race: this"},
    {{"no fence behind the wait", F16, .no_after_fence = true},
     EMU_ILLEGAL_ADDRESS,
     "tcgen05.fence::after_thread_sync is missing"},
    {{"a pair: no proxy fence", BF16, .m = 256, .n = 32, .blocks = 2, .no_proxy_fence = true},
     EMU_ILLEGAL_ADDRESS,
     "race: read of shared memory at 0x"},
    {{"a pair: the commit is not waited for", BF16, .m = 256, .n = 32, .blocks = 2, .no_commit_wait = true},
     EMU_ILLEGAL_ADDRESS,
     "race: this"},
};

static void each_fault_is_told(void **state)
{
  (void)state;
  for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
      emu_message message;
      unsigned wrong = 0;
      const int result = product_case_run(&faults[i].how, seed, &wrong, &message);
      if (result != faults[i].result || strstr(message.text, faults[i].says) == NULL) {
        print_message("%s: result %d, %s\n", faults[i].how.what, result, message.text);
      }
      assert_int_equal(result, faults[i].result);
      assert_non_null(strstr(message.text, faults[i].says));
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_layout_puts_rows_and_columns_in_its_lanes),
      cmocka_unit_test(every_shape_of_a_kind_is_computed),
      cmocka_unit_test(each_canonical_layout_is_read),
      cmocka_unit_test(each_type_is_read),
      cmocka_unit_test(each_operand_does_what_it_says),
      cmocka_unit_test(each_fault_is_told),
  };
  return SJ_TEST_RUN(tests);
}
