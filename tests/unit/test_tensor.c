/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "test_main.h"

#include "tensor.h"

/* 5 tokens of 40 heads of 512 bf16, packed. */
static const sj_tensor packed = {.name = "out",
                                 .num_tokens = 5,
                                 .num_heads = 40,
                                 .token_stride = 40 * 512,
                                 .head_stride = 512,
                                 .row_length = 512,
                                 .element_bytes = 2,
                                 .alignment = 16};

static void assert_message_has(const char *part)
{
  if (strstr(sj_message(), part) == NULL) {
    fail_msg("no \"%s\" in: %s", part, sj_message());
  }
}

static void address_of_each_alignment_is_told_from_others(void **state)
{
  (void)state;
  for (unsigned alignment = 1; alignment <= 16; alignment *= 2) {
    for (uintptr_t address = 0x1000; address < 0x1010; address++) {
      const bool is_aligned = address % alignment == 0;
      assert_int_equal(sj_tensor_check_address("q", (const void *)address, alignment),
                       is_aligned ? SWA_JIT_OK : SWA_JIT_INVALID);
    }
  }
  assert_int_equal(sj_tensor_check_address("q", (const void *)0x1008, 16), SWA_JIT_INVALID);
  assert_message_has("q is 0x1008: the address must be a multiple of 16 bytes; align the tensor");
  assert_int_equal(sj_tensor_check_address("q", NULL, 4), SWA_JIT_INVALID);
  assert_message_has("q is NULL: pass the tensor's device address");
}

typedef struct stride_case {
  long long token_stride, head_stride;
  const char *message; /* NULL: legal */
} stride_case;

static void strides_wrong_are_named_with_their_limit(void **state)
{
  (void)state;
  static const stride_case cases[] = {
      {40 * 512, 512, NULL},
      {8, 512, NULL}, /* of a tensor that is read, tokens may overlap */
      {40 * 512 + 8, 520, NULL},
      {40 * 512 + 4, 512, "out_token_stride is 20484: it must be a multiple of 8"},
      {40 * 512, 516, "out_head_stride is 516: it must be a multiple of 8"},
      {0, 512, "out_token_stride is 0: the least is 8"},
      {-8, 512, "out_token_stride is -8: the least is 8"},
      {40 * 512, 504, "out_head_stride is 504: the least is 512"},
      {40 * 512, -512, "out_head_stride is -512: the least is 512"},
      {INT64_MAX - 7, 512, "past 2^63 - 1 bytes"},
      {INT64_MAX / 8 - 7, 512, "past 2^63 - 1 bytes"}, /* as bytes, not as elements */
      {40 * 512, INT64_MAX / 64 / 8 * 8, "past 2^63 - 1 bytes"},
      {INT64_MAX / 16 / 8 * 8, INT64_MAX / 128 / 8 * 8, "past 2^63 - 1 bytes"}, /* together */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    sj_tensor tensor = packed;
    tensor.token_stride = cases[i].token_stride;
    tensor.head_stride = cases[i].head_stride;
    const swa_jit_status status = sj_tensor_check_strides(&tensor);
    assert_int_equal(status, cases[i].message == NULL ? SWA_JIT_OK : SWA_JIT_INVALID);
    if (cases[i].message != NULL) {
      assert_message_has(cases[i].message);
    }
  }
}

/* A stride over an extent of 1 leads nowhere; its alignment counts all the same. */
static void strides_over_one_row_may_say_anything_aligned(void **state)
{
  (void)state;
  sj_tensor one = packed;
  one.num_tokens = one.num_heads = 1;
  one.token_stride = one.head_stride = INT64_MIN;
  assert_int_equal(sj_tensor_check_strides(&one), SWA_JIT_OK);
  assert_int_equal(sj_tensor_check_apart(&one), SWA_JIT_OK);
  one.head_stride = 4;
  assert_int_equal(sj_tensor_check_strides(&one), SWA_JIT_INVALID);
  assert_message_has("out_head_stride is 4");
}

static void rows_apart_may_have_heads_or_tokens_inside(void **state)
{
  (void)state;
  sj_tensor tensor = packed;
  assert_int_equal(sj_tensor_check_apart(&tensor), SWA_JIT_OK);
  tensor.head_stride = 1024;
  tensor.token_stride = 39 * 1024 + 512; /* the least */
  assert_int_equal(sj_tensor_check_apart(&tensor), SWA_JIT_OK);
  tensor.token_stride -= 8;
  assert_int_equal(sj_tensor_check_apart(&tensor), SWA_JIT_INVALID);
  assert_message_has("out rows overlap");
  assert_message_has("out_token_stride must be 40448 or more");
  tensor.token_stride = 512;
  tensor.head_stride = 4 * 512 + 512;
  assert_int_equal(sj_tensor_check_apart(&tensor), SWA_JIT_OK);
  tensor.head_stride -= 8;
  assert_int_equal(sj_tensor_check_apart(&tensor), SWA_JIT_INVALID);
  assert_message_has("out_head_stride 2560 or more");
  tensor.num_heads = 1;
  tensor.token_stride = 504;
  assert_int_equal(sj_tensor_check_apart(&tensor), SWA_JIT_INVALID);
}

/* ---- extents ----------------------------------------------------------------------------------------------- */

static void *address_of(uintptr_t value)
{
  return (void *)value;
}

static void reach_is_exact_up_to_the_last_byte(void **state)
{
  (void)state;
  long long bytes = 0;
  assert_true(sj_tensor_find_reach(3, 100, 5, 7, 4, 2, &bytes));
  assert_int_equal(bytes, (2 * 100 + 4 * 7 + 4) * 2);
  assert_true(sj_tensor_find_reach(2, INT64_MAX - 4, 1, -7, 4, 1, &bytes));
  assert_true(bytes == INT64_MAX);
  assert_false(sj_tensor_find_reach(2, INT64_MAX - 4, 1, -7, 5, 1, &bytes));
  assert_int_equal(sj_tensor_fail_reach("block_stride_bytes", 16, 3, "slot_stride_bytes", 32, 4), SWA_JIT_INVALID);
  assert_message_has("block_stride_bytes 16 over an extent of 3 and slot_stride_bytes 32 over 4 reach past 2^63 - 1");
  assert_int_equal(sj_tensor_fail_reach("indices_token_stride", 16, 3, NULL, 0, 1), SWA_JIT_INVALID);
  assert_message_has("indices_token_stride 16 over an extent of 3 reaches past 2^63 - 1 bytes: correct the stride");
}

static void extent_ends_behind_the_last_row(void **state)
{
  (void)state;
  const sj_extent extent = sj_tensor_find_extent(&packed, address_of(0x1000));
  assert_string_equal(extent.name, "out");
  assert_true(extent.begin == 0x1000 && extent.end == 0x1000 + 5 * 40 * 1024);
  const sj_extent last = sj_tensor_make_extent("q", address_of(UINTPTR_MAX - 0xf), 0x20);
  assert_true(last.end == UINTPTR_MAX); /* where the addresses end */
}

static void overlap_of_neighbours_is_none(void **state)
{
  (void)state;
  const sj_extent a = {"out", 0x100, 0x200};
  const struct {
    uintptr_t begin, end;
    bool overlaps;
  } rows[] = {{0x200, 0x300, false}, {0x0, 0x100, false}, {0x1ff, 0x300, true}, {0x0, 0x101, true},
              {0x120, 0x130, true},  {0x0, 0x300, true},  {0, 0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const sj_extent b = {"q", rows[i].begin, rows[i].end};
    assert_int_equal(sj_tensor_do_overlap(&a, &b), rows[i].overlaps);
    assert_int_equal(sj_tensor_do_overlap(&b, &a), rows[i].overlaps);
  }
  const sj_extent b = {"q", 0x1f0, 0x2f0};
  assert_int_equal(sj_tensor_fail_overlap(&a, &b), SWA_JIT_INVALID);
  assert_message_has("out overlaps q: out lies from 0x100 to 0x200 and q from 0x1f0 to 0x2f0; give out memory of its "
                     "own");
}

/* ---- small tensors, byte by byte --------------------------------------------------------------------------- */

enum { ROOM = 4096 };

static unsigned next_random(unsigned *seed, unsigned below)
{
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % below;
}

static sj_tensor random_tensor(unsigned *seed)
{
  sj_tensor tensor = {.name = "small", .alignment = 1, .element_bytes = 1};
  tensor.num_tokens = 1 + next_random(seed, 4);
  tensor.num_heads = 1 + next_random(seed, 4);
  tensor.row_length = 1 + next_random(seed, 6);
  tensor.token_stride = 1 + next_random(seed, 40);
  tensor.head_stride = 1 + next_random(seed, 40);
  return tensor;
}

static bool are_apart(const sj_tensor *tensor)
{
  return sj_tensor_check_strides(tensor) == SWA_JIT_OK && sj_tensor_check_apart(tensor) == SWA_JIT_OK;
}

/* Counts a row at each of its bytes; the most that a byte has got. */
static int mark(const sj_tensor *tensor, unsigned begin, unsigned char *bytes)
{
  int most = 0;
  for (uint32_t t = 0; t < tensor->num_tokens; t++) {
    for (uint32_t h = 0; h < tensor->num_heads; h++) {
      const long long row = begin + t * tensor->token_stride + h * tensor->head_stride;
      for (long long b = row; b < row + tensor->row_length; b++) {
        assert_true(b < ROOM);
        most = ++bytes[b] > most ? bytes[b] : most;
      }
    }
  }
  return most;
}

static bool do_share(const sj_tensor *a, unsigned a_begin, const sj_tensor *b, unsigned b_begin)
{
  unsigned char a_bytes[ROOM] = {0};
  unsigned char b_bytes[ROOM] = {0};
  mark(a, a_begin, a_bytes);
  mark(b, b_begin, b_bytes);
  for (int i = 0; i < ROOM; i++) {
    if (a_bytes[i] != 0 && b_bytes[i] != 0) {
      return true;
    }
  }
  return false;
}

static void rows_said_to_be_apart_share_no_byte(void **state)
{
  (void)state;
  unsigned seed = 1;
  unsigned num_apart = 0;
  for (int i = 0; i < 20000; i++) {
    unsigned char bytes[ROOM] = {0};
    const sj_tensor tensor = random_tensor(&seed);
    if (are_apart(&tensor)) {
      assert_int_equal(mark(&tensor, 0, bytes), 1);
      num_apart++;
    }
  }
  assert_true(num_apart > 2000);
}

static void rows_that_share_bytes_are_said_to_meet(void **state)
{
  (void)state;
  unsigned seed = 2;
  unsigned num_free = 0;
  for (int i = 0; i < 20000; i++) {
    const sj_tensor a = random_tensor(&seed);
    const sj_tensor b = random_tensor(&seed);
    const unsigned a_begin = next_random(&seed, 300);
    const unsigned b_begin = next_random(&seed, 300);
    const bool meet = sj_tensor_do_rows_meet(&a, a_begin, &b, b_begin);
    assert_int_equal(sj_tensor_do_rows_meet(&b, b_begin, &a, a_begin), meet);
    assert_false(!meet && do_share(&a, a_begin, &b, b_begin));
    num_free += meet ? 0 : 1;
  }
  assert_true(num_free > 2000);
}

/* Slices of one buffer: as many rows of each, at the same strides, and each tensor's own rows apart. */
static void rows_at_common_strides_meet_exactly_where_they_share_bytes(void **state)
{
  (void)state;
  unsigned seed = 3;
  unsigned num_interleaved = 0;
  unsigned num_sharing = 0;
  for (int i = 0; i < 20000; i++) {
    const sj_tensor a = random_tensor(&seed);
    sj_tensor b = a;
    b.row_length = 1 + next_random(&seed, 6);
    const unsigned a_begin = next_random(&seed, 100);
    const unsigned b_begin = next_random(&seed, 100);
    if (!are_apart(&a) || !are_apart(&b)) {
      continue;
    }
    const bool share = do_share(&a, a_begin, &b, b_begin);
    assert_int_equal(sj_tensor_do_rows_meet(&a, a_begin, &b, b_begin), share);
    const sj_extent a_extent = sj_tensor_find_extent(&a, address_of(a_begin));
    const sj_extent b_extent = sj_tensor_find_extent(&b, address_of(b_begin));
    num_interleaved += !share && sj_tensor_do_overlap(&a_extent, &b_extent) ? 1 : 0;
    num_sharing += share ? 1 : 0;
  }
  assert_true(num_interleaved > 500);
  assert_true(num_sharing > 500);
}

/* Elements of other widths count in bytes. */
static void rows_of_other_elements_meet_by_bytes(void **state)
{
  (void)state;
  const sj_tensor rows = {"out", 5, 40, 40 * 520, 520, 512, 2, 16};
  const sj_tensor words = {"lse", 5, 40, 40 * 260, 260, 1, 4, 4};
  assert_false(sj_tensor_do_rows_meet(&rows, 0x1000, &words, 0x1000 + 1024));
  assert_false(sj_tensor_do_rows_meet(&rows, 0x1000, &words, 0x1000 - 4));
  assert_true(sj_tensor_do_rows_meet(&rows, 0x1000, &words, 0x1000 + 1022));
  assert_true(sj_tensor_do_rows_meet(&rows, 0x1000, &words, 0x1000 + 1040 - 2));
}

static void rows_at_the_ends_of_the_address_space_do_not_meet(void **state)
{
  (void)state;
  const sj_tensor tensor = {"out", 2, 2, 32, 16, 16, 1, 16};
  assert_false(sj_tensor_do_rows_meet(&tensor, 0x10, &tensor, UINTPTR_MAX - 0xff));
  assert_false(sj_tensor_do_rows_meet(&tensor, UINTPTR_MAX - 0xff, &tensor, 0x10));
  assert_true(sj_tensor_do_rows_meet(&tensor, UINTPTR_MAX - 0xff, &tensor, UINTPTR_MAX - 0xff));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(address_of_each_alignment_is_told_from_others),
      cmocka_unit_test(strides_wrong_are_named_with_their_limit),
      cmocka_unit_test(strides_over_one_row_may_say_anything_aligned),
      cmocka_unit_test(rows_apart_may_have_heads_or_tokens_inside),
      cmocka_unit_test(reach_is_exact_up_to_the_last_byte),
      cmocka_unit_test(extent_ends_behind_the_last_row),
      cmocka_unit_test(overlap_of_neighbours_is_none),
      cmocka_unit_test(rows_said_to_be_apart_share_no_byte),
      cmocka_unit_test(rows_that_share_bytes_are_said_to_meet),
      cmocka_unit_test(rows_at_common_strides_meet_exactly_where_they_share_bytes),
      cmocka_unit_test(rows_of_other_elements_meet_by_bytes),
      cmocka_unit_test(rows_at_the_ends_of_the_address_space_do_not_meet),
  };
  return SJ_TEST_RUN(tests);
}
