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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(address_of_each_alignment_is_told_from_others),
      cmocka_unit_test(strides_wrong_are_named_with_their_limit),
      cmocka_unit_test(strides_over_one_row_may_say_anything_aligned),
      cmocka_unit_test(rows_apart_may_have_heads_or_tokens_inside),
  };
  return SJ_TEST_RUN(tests);
}
