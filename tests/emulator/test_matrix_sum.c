/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products by vectors of any kind, and those made one by one, are the same bits. That these are an H200's is
 * for golden/. */
#include "test_main.h"

#include "matrix_fast.h"

enum { M = EMU_MMA_M, N = EMU_MMA_N, K = 16, ROUNDS = 400 };

static uint64_t state_of_random = 1;

static uint32_t random_below(uint32_t limit)
{
  state_of_random = state_of_random * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(state_of_random >> 33) % limit;
}

/* significant bits behind the leading one, at any of 2^first ... 2^(first + places - 1); an eighth is 0. */
static float number(int first, uint32_t places, unsigned significant)
{
  const double size = ldexp(1 + ldexp(random_below(1u << significant), -(int)significant), first);
  const double sign = random_below(2) == 0 ? 1 : -1;
  return random_below(8) == 0 ? 0 : (float)(sign * ldexp(size, (int)random_below(places)));
}

typedef struct sizes {
  int a, b, c;
  uint32_t places, specials; /* specials: of so many numbers one is infinite or NaN; 0: none */
} sizes;

static float special(const sizes *of, float value)
{
  static const float some[] = {INFINITY, -INFINITY, NAN};
  return of->specials != 0 && random_below(of->specials) == 0 ? some[random_below(3)] : value;
}

static void make(const sizes *of, emu_factor *a, emu_factor *b, emu_sums *c)
{
  for (unsigned i = 0; i < M * K; i++) {
    a->values[i] = special(of, number(of->a, of->places, 7 + 3 * random_below(2)));
  }
  for (unsigned i = 0; i < N * K; i++) {
    b->values[i] = special(of, number(of->b, of->places, 7 + 3 * random_below(2)));
  }
  for (unsigned i = 0; i < M * N; i++) {
    c->at[i] = special(of, number(of->c, of->places, 23));
  }
  emu_factor_look(a, M * K);
  emu_factor_look(b, N * K);
}

/* How many of the rounds had room for vectors. */
static unsigned compare(const sizes *of, emu_sum_rule rule)
{
  unsigned num_fast = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    emu_factor a, b;
    emu_sums one_by_one, made, plain;
    make(of, &a, &b, &one_by_one);
    made = plain = one_by_one;
    const bool is_fast = emu_matrix_has_room(&a, &b);
    num_fast += is_fast;
    emu_matrix_add(&a, &b, 0, K, rule, &made);
    if (is_fast) {
      emu_matrix_add_plain(&a, &b, 0, K, rule, &plain);
      assert_memory_equal(&plain, &made, sizeof made);
    }
    a.most = INT16_MAX; /* no room for vectors, it says */
    emu_matrix_add(&a, &b, 0, K, rule, &one_by_one);
    assert_memory_equal(&one_by_one, &made, sizeof made);
  }
  return num_fast;
}

static const emu_sum_rule f32 = {.kept_bits = 25, .result_bits = 23}, f16 = {true, 25, 23}, few = {false, 13, 13};

static unsigned compare_all(sizes of)
{
  return compare(&of, f32) + compare(&of, f16) + compare(&of, few);
}

static void sums_of_numbers_of_one_size_are_the_same(void **state)
{
  (void)state;
  assert_int_equal(compare_all((sizes){.a = -1, .b = -1, .c = 0, .places = 3}), 3 * ROUNDS);
  assert_int_equal(compare_all((sizes){.a = -20, .b = 2, .c = -18, .places = 30}), 3 * ROUNDS);
}

static void sums_at_the_limits_of_what_has_room_are_the_same(void **state)
{
  (void)state;
  assert_int_equal(compare_all((sizes){.a = 45, .b = 45, .c = 90, .places = 5}), 3 * ROUNDS);
  assert_int_equal(compare_all((sizes){.a = -49, .b = -49, .c = -130, .places = 20}), 3 * ROUNDS);
  assert_int_equal(compare_all((sizes){.a = -10, .b = -10, .c = 119, .places = 9}), 3 * ROUNDS);
  assert_int_equal(compare_all((sizes){.a = 46, .b = 46, .c = 124, .places = 4}), 3 * ROUNDS);
  assert_int_equal(compare_all((sizes){.a = -40, .b = -58, .c = -149, .places = 1}), 3 * ROUNDS);
}

static void sums_of_numbers_too_far_apart_are_the_same(void **state)
{
  (void)state;
  assert_int_equal(compare_all((sizes){.a = 60, .b = 60, .c = 120, .places = 8}), 0);
  assert_int_equal(compare_all((sizes){.a = -130, .b = -20, .c = -149, .places = 40}), 0);
  assert_int_equal(compare_all((sizes){.a = -133, .b = 90, .c = -40, .places = 7}), 0);
}

/* The sum in double, which is infinite or NaN where a term is. */
static double plain_sum(const emu_factor *a, const emu_factor *b, const emu_sums *c, unsigned m, unsigned n)
{
  double sum = (double)c->at[m * N + n];
  for (unsigned k = 0; k < K; k++) {
    sum += (double)a->values[emu_factor_a(m, k)] * (double)b->values[k * N + n];
  }
  return sum;
}

static void clear_specials(float *values, unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    values[i] = isfinite(values[i]) ? values[i] : 0;
  }
}

static void try_specials(const sizes *of)
{
  emu_factor a, b, finite_a, finite_b;
  emu_sums before, made, finite;
  make(of, &a, &b, &before);
  made = finite = before;
  finite_a = a;
  finite_b = b;
  clear_specials(finite_a.values, M * K);
  clear_specials(finite_b.values, N * K);
  clear_specials(finite.at, M * N);
  emu_factor_look(&finite_a, M * K);
  emu_factor_look(&finite_b, N * K);
  emu_matrix_add(&a, &b, 0, K, f32, &made);
  emu_matrix_add(&finite_a, &finite_b, 0, K, f32, &finite);
  for (unsigned i = 0; i < M * N; i++) {
    const double plain = plain_sum(&a, &b, &before, i / N, i % N);
    const float wanted = isfinite(plain) ? finite.at[i] : emu_canonical((float)plain);
    assert_int_equal(emu_bits32(made.at[i]), emu_bits32(wanted));
  }
}

static void infinities_and_nan_go_where_they_are_a_term(void **state)
{
  (void)state;
  for (unsigned round = 0; round < ROUNDS; round++) {
    try_specials(&(sizes){.a = -1, .b = -1, .c = 0, .places = 3, .specials = 200});
    try_specials(&(sizes){.a = -1, .b = -1, .c = 0, .places = 3, .specials = 20});
    try_specials(&(sizes){.a = 60, .b = 60, .c = 0, .places = 3, .specials = 50});
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_of_numbers_of_one_size_are_the_same),
      cmocka_unit_test(sums_at_the_limits_of_what_has_room_are_the_same),
      cmocka_unit_test(sums_of_numbers_too_far_apart_are_the_same),
      cmocka_unit_test(infinities_and_nan_go_where_they_are_a_term),
  };
  return SJ_TEST_RUN(tests);
}
