/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-computed cases of the reference: it judges the kernels, so nothing but arithmetic on paper judges it.
 * Report 53: the test's own reference was wrong; report 52: single codes. */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "reference.h"

enum { DIM = 64, SLOTS = 8, WINDOW = 4, HEADS = 2 };

/* e4m3 codes and bf16 bits used below */
enum {
  CODE_0 = 0x00,
  CODE_1 = 0x38,
  CODE_2 = 0x40,
  CODE_M1 = 0xB8,
  CODE_NAN = 0x7F,
  BF16_1 = 0x3F80,
  BF16_2 = 0x4000,
  BF16_HALF = 0x3F00
};

/* One token: head 0 looks along element 0 only, head 1 along element 1 only; scale 1. */
typedef struct problem {
  uint16_t q[HEADS][DIM];
  uint8_t kv[SLOTS][DIM];
  float inv_scale[SLOTS];
  int32_t indices[WINDOW];
  int32_t lens[1];
  swa_jit_config config;
  swa_jit_decode_args args;
  double out[HEADS][DIM];
  double lse[HEADS];
} problem;

static void prepare(problem *p)
{
  static const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  static const swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;

  memset(p, 0, sizeof *p);
  p->config = config;
  p->config.head_dim = DIM;
  p->config.window_size = WINDOW;
  p->args = args;
  p->args.num_tokens = 1;
  p->args.num_heads = HEADS;
  p->args.block_size = 2;
  p->args.num_blocks = SLOTS / 2;
  p->args.q = p->q;
  p->args.kv = p->kv;
  p->args.inv_scale = p->inv_scale;
  p->args.indices = p->indices;
  p->args.lens = p->lens;
  p->q[0][0] = BF16_1;
  p->q[1][1] = BF16_1;
  for (int slot = 0; slot < SLOTS; slot++) {
    p->inv_scale[slot] = 1.0f;
  }
  memset(p->out, 0x55, sizeof p->out);
}

static void decode(problem *p)
{
  sj_reference_decode(&p->config, &p->args, 2, &p->out[0][0], p->lse);
}

static void assert_near(double value, double expected)
{
  assert_true(fabs(value - expected) <= 1e-14 * (1.0 + fabs(expected)));
}

static void e4m3_of_known_codes_is_exact(void **state)
{
  (void)state;
  assert_true(sj_reference_e4m3(0x00) == 0.0 && !signbit(sj_reference_e4m3(0x00)));
  assert_true(sj_reference_e4m3(0x80) == 0.0 && signbit(sj_reference_e4m3(0x80)));
  assert_true(sj_reference_e4m3(0x01) == 0.001953125);
  assert_true(sj_reference_e4m3(0x07) == 0.013671875);
  assert_true(sj_reference_e4m3(0x08) == 0.015625);
  assert_true(sj_reference_e4m3(0x38) == 1.0);
  assert_true(sj_reference_e4m3(0x39) == 1.125);
  assert_true(sj_reference_e4m3(0xB8) == -1.0);
  assert_true(sj_reference_e4m3(0x77) == 240.0);
  assert_true(sj_reference_e4m3(0x78) == 256.0);
  assert_true(sj_reference_e4m3(0x7E) == 448.0);
  assert_true(sj_reference_e4m3(0xFE) == -448.0);
  assert_true(isnan(sj_reference_e4m3(0x7F)));
  assert_true(isnan(sj_reference_e4m3(0xFF)));
}

static void e4m3_over_all_finite_codes_rises(void **state)
{
  (void)state;
  for (int code = 0; code < 0x7E; code++) {
    assert_true(sj_reference_e4m3((uint8_t)code) < sj_reference_e4m3((uint8_t)(code + 1)));
    assert_true(sj_reference_e4m3((uint8_t)(code | 0x80)) == -sj_reference_e4m3((uint8_t)code));
  }
}

static void bf16_of_every_finite_pattern_round_trips(void **state)
{
  (void)state;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    if ((bits & 0x7F80) != 0x7F80 || (bits & 0x7F) == 0) { /* all but NaN */
      assert_int_equal(sj_reference_bf16_from_double(sj_reference_bf16((uint16_t)bits)), bits);
    }
  }
}

static void bf16_from_double_rounds_ties_to_even(void **state)
{
  (void)state;
  assert_int_equal(sj_reference_bf16_from_double(1.0 + 0x1p-8), 0x3F80);           /* tie, down to even */
  assert_int_equal(sj_reference_bf16_from_double(1.0 + 0x1p-7 + 0x1p-8), 0x3F82);  /* tie, up to even */
  assert_int_equal(sj_reference_bf16_from_double(1.0 + 0x1p-8 + 0x1p-40), 0x3F81); /* a float in between would tie */
  assert_int_equal(sj_reference_bf16_from_double(-(2.0 - 0x1p-9)), 0xC000);        /* carries into the exponent */
  assert_int_equal(sj_reference_bf16_from_double(0x1p-134), 0x0000);               /* half the least step */
  assert_int_equal(sj_reference_bf16_from_double(0x1.8p-133), 0x0002);
  assert_int_equal(sj_reference_bf16_from_double(0x1.ffp-127), 0x0080); /* carries into the normal numbers */
  assert_int_equal(sj_reference_bf16_from_double(0x1.fep127), 0x7F7F);
  assert_int_equal(sj_reference_bf16_from_double(0x1.ffp127), 0x7F80);
  assert_int_equal(sj_reference_bf16_from_double(-1e300), 0xFF80);
  assert_int_equal(sj_reference_bf16_from_double((double)NAN), 0x7FC0);
}

static void one_position_gives_its_row(void **state)
{
  problem p;

  (void)state;
  prepare(&p);
  p.lens[0] = 1;
  p.indices[0] = 5;
  p.kv[5][0] = CODE_2;
  p.kv[5][7] = CODE_M1;
  p.inv_scale[5] = 1.5f;
  decode(&p);
  assert_near(p.out[0][0], 3.0);
  assert_near(p.out[0][7], -1.5);
  assert_true(p.out[0][1] == 0.0);
  assert_near(p.lse[0], 3.0); /* q . k */
  assert_near(p.lse[1], 0.0);
}

static void two_positions_weigh_by_exp_of_scaled_scores(void **state)
{
  problem p;
  const double e = 2.718281828459045;

  (void)state;
  prepare(&p);
  p.args.scale = 0.5f;
  p.lens[0] = 2;
  p.indices[0] = 0;
  p.indices[1] = 3;
  p.kv[0][0] = CODE_2; /* head 0 scores 1 and -0.5 * 2 * 2 = -2 after the scales below; head 1 scores 0 and 0 */
  p.kv[3][0] = CODE_M1;
  p.inv_scale[3] = 4.0f;
  decode(&p);
  assert_near(p.out[0][0], (2.0 * e - 4.0 / (e * e)) / (e + 1.0 / (e * e)));
  assert_near(p.lse[0], log(e + 1.0 / (e * e)));
  assert_near(p.out[1][0], -1.0);
  assert_near(p.lse[1], log(2.0));
}

static void masked_positions_have_no_effect(void **state)
{
  static const int32_t masked[] = {-1, -2, INT32_MIN, SLOTS, SLOTS + 1, INT32_MAX};
  problem p;

  (void)state;
  for (size_t i = 0; i < sizeof masked / sizeof masked[0]; i++) {
    prepare(&p);
    p.lens[0] = 3;
    p.indices[0] = masked[i];
    p.indices[1] = 2;
    p.indices[2] = masked[i];
    p.indices[3] = 4; /* beyond the length */
    p.kv[2][0] = CODE_M1;
    p.kv[4][0] = CODE_NAN;
    p.inv_scale[0] = NAN; /* where a clamped -1 would land */
    decode(&p);
    assert_near(p.out[0][0], -1.0);
    assert_near(p.lse[0], -1.0);
  }
}

static void no_unmasked_position_gives_zero_and_minus_infinity(void **state)
{
  static const int32_t lens[] = {0, -1, INT32_MIN, 2};
  problem p;

  (void)state;
  for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
    prepare(&p);
    p.lens[0] = lens[i];
    p.indices[0] = -1;
    p.indices[1] = SLOTS;
    p.indices[2] = 1;
    decode(&p);
    for (int d = 0; d < DIM; d++) {
      assert_true(p.out[0][d] == 0.0 && p.out[1][d] == 0.0);
    }
    assert_true(isinf(p.lse[0]) && p.lse[0] < 0);
    assert_true(isinf(p.lse[1]) && p.lse[1] < 0);
  }
}

static void len_above_the_window_counts_as_the_window(void **state)
{
  problem p;

  (void)state;
  prepare(&p);
  p.lens[0] = INT32_MAX;
  for (int j = 0; j < WINDOW; j++) {
    p.indices[j] = j;
    p.kv[j][5] = j == 0 ? CODE_2 : CODE_0;
  }
  decode(&p);
  assert_near(p.out[0][5], 0.5);
  assert_near(p.lse[0], log(4.0));
}

static void nan_in_an_unmasked_row_reaches_what_arithmetic_says(void **state)
{
  problem p;

  (void)state;
  prepare(&p);
  p.lens[0] = 2;
  p.indices[0] = 0;
  p.indices[1] = 1;
  p.kv[1][9] = CODE_NAN; /* 0 * NaN in every head's score */
  decode(&p);
  for (int d = 0; d < DIM; d++) {
    assert_true(isnan(p.out[0][d]) && isnan(p.out[1][d]));
  }
  assert_true(isnan(p.lse[0]) && isnan(p.lse[1]));
}

static void infinite_inv_scale_gives_infinite_scores(void **state)
{
  problem p;

  (void)state;
  prepare(&p);
  p.lens[0] = 1;
  p.kv[0][0] = CODE_1;
  p.inv_scale[0] = INFINITY;
  decode(&p);
  assert_true(isnan(p.out[0][0]));
  assert_true(isinf(p.lse[0]) && p.lse[0] > 0);
  assert_true(isnan(p.lse[1])); /* infinity * 0 */
}

static void strides_and_64_bit_types_are_followed(void **state)
{
  enum { BLOCK_STRIDE = 4096, SLOT_STRIDE = 128 };
  static uint8_t kv[4 * BLOCK_STRIDE];
  static uint16_t q[4 * 80];
  static uint16_t inv_scale[SLOTS];
  static int64_t indices[2 * 7];
  static int64_t lens[2];
  problem p;
  double out[2][HEADS][DIM];
  double lse[2][HEADS];

  (void)state;
  prepare(&p);
  p.config.index_type = SWA_JIT_INT64;
  p.config.lens_type = SWA_JIT_INT64;
  p.config.scale_type = SWA_JIT_BFLOAT16;
  p.args.num_tokens = 2;
  p.args.q = q;
  p.args.q_head_stride = 160; /* heads outside, tokens inside */
  p.args.q_token_stride = 80;
  p.args.kv = kv;
  p.args.block_stride_bytes = BLOCK_STRIDE;
  p.args.slot_stride_bytes = SLOT_STRIDE;
  p.args.inv_scale = inv_scale;
  p.args.indices = indices;
  p.args.indices_token_stride = 7;
  p.args.lens = lens;
  lens[0] = INT64_MIN;
  lens[1] = INT64_MAX;
  indices[7] = 5; /* block 2, second slot */
  indices[8] = (int64_t)1 << 32;
  indices[9] = INT64_MIN;
  indices[10] = -1;
  inv_scale[5] = BF16_HALF;
  kv[2 * BLOCK_STRIDE + SLOT_STRIDE + 3] = CODE_2;
  q[160 + 80 + 3] = BF16_2; /* head 1 of token 1 */
  sj_reference_decode(&p.config, &p.args, 1, &out[0][0][0], &lse[0][0]);
  assert_true(out[0][0][3] == 0.0 && isinf(lse[0][0]));
  assert_near(out[1][0][3], 1.0);
  assert_near(lse[1][0], 0.0);
  assert_near(out[1][1][3], 1.0);
  assert_near(lse[1][1], 2.0);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(e4m3_of_known_codes_is_exact),
      cmocka_unit_test(e4m3_over_all_finite_codes_rises),
      cmocka_unit_test(bf16_of_every_finite_pattern_round_trips),
      cmocka_unit_test(bf16_from_double_rounds_ties_to_even),
      cmocka_unit_test(one_position_gives_its_row),
      cmocka_unit_test(two_positions_weigh_by_exp_of_scaled_scores),
      cmocka_unit_test(masked_positions_have_no_effect),
      cmocka_unit_test(no_unmasked_position_gives_zero_and_minus_infinity),
      cmocka_unit_test(len_above_the_window_counts_as_the_window),
      cmocka_unit_test(nan_in_an_unmasked_row_reaches_what_arithmetic_says),
      cmocka_unit_test(infinite_inv_scale_gives_infinite_scores),
      cmocka_unit_test(strides_and_64_bit_types_are_followed),
  };

  return SJ_TEST_RUN(tests);
}
