/* SPDX-License-Identifier: Apache-2.0 */
/* What is plainly right is right: launch_args's checks, one by one, are the judge. */
#include <math.h>
#include <string.h>

#include "test_main.h"

#include "config.h"
#include "launch_args.h"
#include "launch_args_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static launch_args_fixture fixture;

static const char *const configs[] = {
    "",
    "lse=0",
    "kv_format=e4m3 sinks=1",
    "kv_format=bf16 head_dim=64 head_group=8 soft_cap=1 index_type=int64 lens_type=int64",
    "scale_type=bfloat16 splits=1",
    "kv_format=footer_584 extra_size=512 extra_format=footer_584 sinks=1 splits=1",
    "kv_format=footer_584",
    "kv_format=footer_528 splits=1",
    "extra_size=2048 extra_format=bf16 index_type=int64",
    "kv_format=bf16 head_dim=192 head_dim_v=128",
    "head_dim=128 head_dim_v=64 lens_type=int64",
    "kv_tile=128 cluster_size=4",
};

/* Right for the configuration, at addresses as a device has them. */
static launch_args_fixture *begin(const char *config_text)
{
  static const size_t addresses[] = {
      offsetof(swa_jit_decode_args, q),          offsetof(swa_jit_decode_args, kv),
      offsetof(swa_jit_decode_args, inv_scale),  offsetof(swa_jit_decode_args, indices),
      offsetof(swa_jit_decode_args, lens),       offsetof(swa_jit_decode_args, out),
      offsetof(swa_jit_decode_args, lse),        offsetof(swa_jit_decode_args, sinks),
      offsetof(swa_jit_decode_args, v),          offsetof(swa_jit_decode_args, v_inv_scale),
      offsetof(swa_jit_decode_args, extra_kv),   offsetof(swa_jit_decode_args, extra_inv_scale),
      offsetof(swa_jit_decode_args, extra_lens), offsetof(swa_jit_decode_args, extra_indices),
  };
  launch_args_begin(&fixture, config_text);
  for (size_t i = 0; i < COUNT(addresses); i++) {
    void *address = NULL;
    memcpy(&address, (char *)&fixture.args + addresses[i], sizeof address);
    if (address != NULL) {
      address = launch_args_address(0x7f0000000000 + (i << 32));
      launch_args_set(&fixture, addresses[i], &address, sizeof address);
    }
  }
  if (fixture.config.splits != 0) {
    fixture.args.num_splits = 4;
    fixture.args.workspace = launch_args_address(0x7e0000000000);
    fixture.args.workspace_bytes = 1u << 30;
  }
  return &fixture;
}

/* Whether it is plain, and so right. */
static bool is_plain(const launch_args_fixture *f)
{
  swa_params params;
  memset(&params, 0x5a, sizeof params);
  if (!sj_launch_fill_plain(&f->config, &f->args, &params)) {
    return false;
  }
  launch_args_assert_right(f, &params);
  return true;
}

static void right_arguments_of_every_configuration_are_plain(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(configs); i++) {
    assert_true(is_plain(begin(configs[i])));
  }
}

static void options_and_strides_that_are_right_are_plain(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("sinks=1 soft_cap=1 splits=1");
  f->args.flags = SWA_JIT_DECODE_DEPENDENT;
  f->args.lse_form = SWA_JIT_LSE_BASE_2 | SWA_JIT_LSE_WITH_SINK;
  f->args.soft_cap = 30.0f;
  f->args.num_splits = 256;
  f->args.num_kv_heads = 8;
  f->args.q_head_stride = f->args.out_head_stride = 520;
  f->args.q_token_stride = f->args.out_token_stride = 40 * 520;
  f->args.slot_stride_bytes = 8 * 528;
  f->args.kv_head_stride_bytes = 528;
  f->args.block_stride_bytes = 64 * 8 * 528 + 16;
  f->args.indices_token_stride = 130;
  f->args.lse_head_stride = 2;
  assert_true(is_plain(f));
  f = begin("extra_size=64");
  f->args.extra_num_blocks = 0;
  f->args.extra_kv = NULL;
  f->args.extra_inv_scale = NULL;
  f->args.extra_lens = NULL;
  assert_true(is_plain(f));
}

/* The last value that is plain and the first that is not, of which the checks accept some. */
static void limits_of_what_is_plain_are_where_they_are_said_to_be(void **state)
{
  (void)state;
  static const struct {
    size_t offset;
    uint64_t plain, odd;
  } rows[] = {
      {offsetof(swa_jit_decode_args, q_token_stride), (1u << 28) - 8, 1u << 28},
      {offsetof(swa_jit_decode_args, out_token_stride), (1u << 28) - 8, 1u << 28},
      {offsetof(swa_jit_decode_args, indices_token_stride), (1u << 28) - 1, 1u << 28},
      {offsetof(swa_jit_decode_args, lse_token_stride), (1u << 28) - 1, 1u << 28},
      {offsetof(swa_jit_decode_args, block_stride_bytes), (1u << 31) - 16, UINT64_C(1) << 31},
      {offsetof(swa_jit_decode_args, q), (UINT64_C(1) << 62) - 16, UINT64_C(1) << 62},
      {offsetof(swa_jit_decode_args, kv), (UINT64_C(1) << 62) - 16, UINT64_C(1) << 62},
      {offsetof(swa_jit_decode_args, lens), (UINT64_C(1) << 62) - 4, UINT64_C(1) << 62},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    launch_args_fixture *f = begin("");
    f->args.num_blocks = 2;
    launch_args_set(f, rows[i].offset, &rows[i].plain, sizeof rows[i].plain);
    assert_true(is_plain(f));
    launch_args_set(f, rows[i].offset, &rows[i].odd, sizeof rows[i].odd);
    assert_false(is_plain(f));
    launch_args_make(f); /* legal, but not plainly */
  }
}

static void tokens_of_more_clusters_than_a_grid_has_are_left_to_the_checks(void **state)
{
  (void)state;
  for (uint32_t cluster_size = 0; cluster_size <= 4; cluster_size += 4) {
    launch_args_fixture *f = begin("kv_tile=128 lse=0");
    f->config.cluster_size = cluster_size;
    f->args.num_heads = 1;
    f->args.indices_token_stride = 1;
    f->args.q = launch_args_address(UINT64_C(1) << 50); /* far from the others: so many rows are long */
    f->args.out = launch_args_address(UINT64_C(1) << 51);
    f->args.indices = launch_args_address(UINT64_C(1) << 52);
    f->args.lens = launch_args_address(UINT64_C(1) << 53);
    f->args.lse = NULL;
    f->args.num_tokens = INT32_MAX / 4;
    assert_true(is_plain(f));
    f->args.num_tokens++;
    assert_int_equal(is_plain(f), cluster_size == 0);
  }
}

static void what_is_legal_but_odd_is_left_to_the_checks(void **state)
{
  (void)state;
  launch_args_fixture *f = begin("");
  f->args.num_blocks = 0;
  f->args.kv = f->args.inv_scale = NULL;
  assert_false(is_plain(f));
  launch_args_make(f);
  f = begin("");
  f->args.out_head_stride = 5 * 512; /* tokens within heads */
  f->args.out_token_stride = 512;
  assert_false(is_plain(f));
  launch_args_make(f);
  f = begin("");
  f->args.q_token_stride = f->args.out_token_stride = 2 * 40 * 512; /* out beside q in one buffer */
  f->args.out = (char *)launch_args_address((uintptr_t)f->args.q) + 2 * 40 * 512;
  assert_false(is_plain(f));
  launch_args_make(f);
}

/* ---- at random ------------------------------------------------------------------------------------------------ */

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (random_state >> 33) % below;
}

/* Of 4 or 8 bytes. */
typedef struct word {
  size_t offset, bytes;
} word;

#define WORD(field)                                                                                                    \
  {                                                                                                                    \
    offsetof(swa_jit_decode_args, field), sizeof(((swa_jit_decode_args *)NULL)->field)                                 \
  }

static const word counts[] = {
    WORD(num_tokens), WORD(num_heads),        WORD(block_size),      WORD(num_kv_heads),
    WORD(num_splits), WORD(extra_block_size), WORD(lse_form),        WORD(flags),
    WORD(num_blocks), WORD(extra_num_blocks), WORD(workspace_bytes),
};
static const word strides[] = {
    WORD(q_token_stride),          WORD(q_head_stride),
    WORD(block_stride_bytes),      WORD(slot_stride_bytes),
    WORD(kv_head_stride_bytes),    WORD(indices_token_stride),
    WORD(out_token_stride),        WORD(out_head_stride),
    WORD(lse_token_stride),        WORD(lse_head_stride),
    WORD(v_block_stride_bytes),    WORD(v_slot_stride_bytes),
    WORD(v_head_stride_bytes),     WORD(extra_block_stride_bytes),
    WORD(extra_slot_stride_bytes), WORD(extra_indices_token_stride),
};
static const word pointers[] = {
    WORD(q),
    WORD(kv),
    WORD(inv_scale),
    WORD(indices),
    WORD(lens),
    WORD(out),
    WORD(lse),
    WORD(sinks),
    WORD(v),
    WORD(v_inv_scale),
    WORD(v_indices),
    WORD(extra_kv),
    WORD(extra_inv_scale),
    WORD(extra_indices),
    WORD(extra_lens),
    WORD(workspace),
};

static uint64_t get(const launch_args_fixture *f, word field)
{
  uint64_t value = 0;
  memcpy(&value, (const char *)&f->args + field.offset, field.bytes);
  return value;
}

/* Near a power of two, or anything. */
static uint64_t draw_number(void)
{
  const uint64_t power = UINT64_C(1) << draw(64);
  return draw(4) == 0 ? draw(4096) : power + 16 * draw(3) - 16;
}

/* A new value for one field, near others' values often enough to touch. */
static void disturb(launch_args_fixture *f)
{
  const uint64_t kind = draw(3);
  const word field = kind == 0   ? counts[draw(COUNT(counts))]
                     : kind == 1 ? strides[draw(COUNT(strides))]
                                 : pointers[draw(COUNT(pointers))];
  uint64_t value = draw_number();
  if (kind == 2 && draw(8) != 0) {
    value = get(f, pointers[draw(COUNT(pointers))]) + 16 * draw(8192) - 16 * draw(8192) + (draw(8) == 0 ? draw(16) : 0);
  } else if (draw(2) == 0) {
    value = kind == 0 ? draw(70) : 16 * draw(8192);
  }
  launch_args_set(f, field.offset, &value, field.bytes);
}

static void whatever_is_plain_is_right(void **state)
{
  (void)state;
  enum { ROUNDS = 500000 };
  static const float caps[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, NAN};
  unsigned num_usual = 0, num_plain = 0, num_right = 0, num_refused = 0;
  random_state = 20261202;
  for (unsigned i = 0; i < ROUNDS; i++) {
    launch_args_fixture *f = begin(configs[draw(COUNT(configs))]);
    swa_params params;
    f->args.soft_cap = draw(8) == 0 ? caps[draw(COUNT(caps))] : 0.0f;
    for (uint64_t times = draw(4); times > 0; times--) {
      disturb(f);
    }
    if (f->args.num_tokens == 0) {
      continue; /* launches nothing: not asked */
    }
    num_usual += launch_args_is_usual(f);
    if (is_plain(f)) {
      num_plain++;
    } else if (sj_launch_args_check(&f->config, &f->args, &params) == SWA_JIT_OK) {
      num_right++;
    } else {
      num_refused++;
    }
  }
  /* each of them often, and most of what is right plainly so */
  assert_true(num_refused > ROUNDS / 10);
  assert_true(num_plain > ROUNDS / 10);
  assert_true(num_right > ROUNDS / 1000);
  assert_true(num_plain > 2 * num_right);
  assert_true(num_usual > ROUNDS / 10);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_arguments_of_every_configuration_are_plain),
      cmocka_unit_test(options_and_strides_that_are_right_are_plain),
      cmocka_unit_test(limits_of_what_is_plain_are_where_they_are_said_to_be),
      cmocka_unit_test(tokens_of_more_clusters_than_a_grid_has_are_left_to_the_checks),
      cmocka_unit_test(what_is_legal_but_odd_is_left_to_the_checks),
      cmocka_unit_test(whatever_is_plain_is_right),
  };
  return SJ_TEST_RUN(tests);
}
