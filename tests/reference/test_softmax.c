/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-computed cases of the reference's softmax in its general form. */
#include "test_main.h"

#include <math.h>

#include "softmax.h"

static const double ln_2 = 0.6931471805599453;
static const double ln_3 = 1.0986122886681098;

static void assert_near(double value, double expected)
{
  assert_true(fabs(value - expected) <= 1e-14 * (1.0 + fabs(expected)));
}

/* Two positions of weights 1 and 2 with values 3 and 6 (and their negatives). */
static const double scores[2] = {-700.0, -700.0 + 0.6931471805599453};
static const double values[2][2] = {{3.0, -3.0}, {6.0, -6.0}};

static double attend(const float *sink, double out[2])
{
  const sj_reference_row row = {scores, &values[0][0], 2, 2, sink};
  return sj_reference_softmax(&row, out);
}

static void softmax_of_two_is_their_weighted_mean(void **state)
{
  double out[2];
  (void)state;
  assert_near(attend(NULL, out), -700.0 + ln_3);
  assert_near(out[0], 5.0);
  assert_near(out[1], -5.0);
}

/* A sink of weight 3 beside 1 and 2 takes half; LSE leaves it out. */
static void sink_takes_its_share_and_stays_out_of_lse(void **state)
{
  double out[2];
  float sink = (float)(-700.0 + 1.0986122886681098);
  (void)state;
  double lse = attend(&sink, out);
  assert_near(lse, -700.0 + ln_3);
  assert_near(out[0], 5.0 / (1.0 + exp((double)sink - lse)));
  assert_true(fabs(out[0] - 2.5) < 1e-4); /* the sink is a float: near -698.9 its steps are 6e-5 */
}

static void sinks_at_the_ends_are_defined(void **state)
{
  double out[2];
  const float none = -INFINITY, all = INFINITY, huge = 3e38f, nan = NAN;
  (void)state;
  assert_near(attend(&none, out), -700.0 + ln_3);
  assert_near(out[0], 5.0);
  assert_near(attend(&all, out), -700.0 + ln_3);
  assert_true(out[0] == 0.0 && out[1] == 0.0);
  assert_near(attend(&huge, out), -700.0 + ln_3);
  assert_true(out[0] == 0.0 && out[1] == 0.0);
  assert_near(attend(&nan, out), -700.0 + ln_3);
  assert_true(isnan(out[0]) && isnan(out[1]));
}

static void row_without_a_position_is_zero_whatever_the_sink(void **state)
{
  static const float sinks[4] = {0.0f, INFINITY, -INFINITY, NAN};
  (void)state;
  for (int i = 0; i < 4; i++) {
    double out[2] = {NAN, NAN};
    const sj_reference_row row = {NULL, NULL, 0, 2, &sinks[i]};
    assert_true(sj_reference_softmax(&row, out) == -INFINITY);
    assert_true(out[0] == 0.0 && out[1] == 0.0);
  }
}

static void soft_cap_bounds_a_score_and_zero_caps_nothing(void **state)
{
  (void)state;
  assert_true(sj_reference_soft_cap(123.0, 0.0) == 123.0);
  assert_near(sj_reference_soft_cap(25.0 * ln_3, 50.0), 50.0 * 0.5); /* tanh(ln 3 / 2) = 1/2 */
  assert_near(sj_reference_soft_cap(-1e30, 50.0), -50.0);
}

static void lse_has_the_form_that_is_asked_for(void **state)
{
  const float sink = 0.0f;
  (void)state;
  const sj_reference_lse_form base_2 = {.is_base_2 = true};
  const sj_reference_lse_form with_sink = {.has_sink = true};
  const sj_reference_lse_form both = {.is_base_2 = true, .has_sink = true};
  const sj_reference_lse_form plus = {.is_plus_infinity_when_empty = true};
  assert_near(sj_reference_lse_in_form(3 * ln_2, false, &sink, base_2), 3.0);
  assert_near(sj_reference_lse_in_form(ln_2, false, &sink, with_sink), ln_3);
  assert_near(sj_reference_lse_in_form(ln_3, false, &sink, both), 2.0);
  assert_near(sj_reference_lse_in_form(ln_3, false, NULL, with_sink), ln_3);
  assert_true(sj_reference_lse_in_form(-INFINITY, true, &sink, both) == -INFINITY);
  assert_true(sj_reference_lse_in_form(-INFINITY, true, &sink, plus) == INFINITY);
  assert_near(sj_reference_lse_in_form(ln_2, false, NULL, plus), ln_2);
}

/* The two positions as parts of their own: the merge is the softmax of both, and the sink counts once. */
static void merge_of_parts_is_the_whole(void **state)
{
  double whole[2], merged[2];
  const float sink = -699.0f;
  (void)state;
  assert_near(sj_reference_merge(&values[0][0], scores, 2, 2, NULL, merged), attend(NULL, whole));
  assert_near(merged[0], whole[0]);
  assert_near(sj_reference_merge(&values[0][0], scores, 2, 2, &sink, merged), attend(&sink, whole));
  assert_near(merged[0], whole[0]);
  assert_near(merged[1], whole[1]);
}

static void merge_passes_over_empty_parts(void **state)
{
  static const double outs[3] = {NAN, 7.0, NAN};
  static const double lses[3] = {-INFINITY, 2.0, -INFINITY};
  const float sink = -INFINITY;
  double out = NAN;
  (void)state;
  assert_near(sj_reference_merge(outs, lses, 3, 1, &sink, &out), 2.0);
  assert_near(out, 7.0);
}

static void merge_of_empty_parts_alone_is_empty(void **state)
{
  static const double outs[2] = {NAN, NAN};
  static const double lses[2] = {-INFINITY, -INFINITY};
  static const float sinks[3] = {-INFINITY, INFINITY, NAN};
  (void)state;
  for (int i = 0; i < 3; i++) {
    double out = NAN;
    assert_true(sj_reference_merge(outs, lses, 2, 1, &sinks[i], &out) == -INFINITY);
    assert_true(out == 0.0);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(softmax_of_two_is_their_weighted_mean),
      cmocka_unit_test(sink_takes_its_share_and_stays_out_of_lse),
      cmocka_unit_test(sinks_at_the_ends_are_defined),
      cmocka_unit_test(row_without_a_position_is_zero_whatever_the_sink),
      cmocka_unit_test(soft_cap_bounds_a_score_and_zero_caps_nothing),
      cmocka_unit_test(lse_has_the_form_that_is_asked_for),
      cmocka_unit_test(merge_of_parts_is_the_whole),
      cmocka_unit_test(merge_passes_over_empty_parts),
      cmocka_unit_test(merge_of_empty_parts_alone_is_empty),
  };
  return SJ_TEST_RUN(tests);
}
