/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-computed cases of the reference's general form, and ways in which two calls must agree. */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "kv_formats.h"
#include "reference.h"

enum { DIM = 64, WINDOW = 4, MOST_HEADS = 4, MOST_SLOTS = 8 };
enum { CODE_1 = 0x38, CODE_2 = 0x40, CODE_3 = 0x44, CODE_4 = 0x48, CODE_M1 = 0xB8 };
enum { BF16_1 = 0x3F80, BF16_2 = 0x4000, BF16_3 = 0x4040, BF16_M4 = 0xC080, BF16_HALF = 0x3F00 };

static const double ln_2 = 0.6931471805599453;
static const double ln_3 = 1.0986122886681098;

/* One token and one head that looks along element 0; scale 1, an e4m3 pool without a scale. */
typedef struct problem {
  uint16_t q[MOST_HEADS][DIM];
  uint8_t kv[MOST_SLOTS][DIM];
  int32_t indices[WINDOW];
  int32_t lens[1];
  swa_jit_config config;
  swa_jit_decode_args args;
  double out[MOST_HEADS][DIM];
  double lse[MOST_HEADS];
} problem;

static void prepare(problem *p)
{
  static const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  static const swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;
  memset(p, 0, sizeof *p);
  p->config = config;
  p->config.head_dim = DIM;
  p->config.window_size = WINDOW;
  p->config.kv_format = SWA_JIT_KV_E4M3;
  p->args = args;
  p->args.num_tokens = 1;
  p->args.num_heads = 1;
  p->args.block_size = 2;
  p->args.num_blocks = MOST_SLOTS / 2;
  p->args.q = p->q;
  p->args.kv = p->kv;
  p->args.indices = p->indices;
  p->args.lens = p->lens;
  p->q[0][0] = BF16_1;
  memset(p->out, 0x55, sizeof p->out);
}

static void decode(problem *p)
{
  sj_reference_decode(&p->config, &p->args, 1, &p->out[0][0], p->lse);
}

static void assert_near(double value, double expected)
{
  if (!(fabs(value - expected) <= 1e-14 * (1.0 + fabs(expected)))) {
    fail_msg("%.17g is not %.17g", value, expected);
  }
}

/* ---- formats ---------------------------------------------------------------------------------------------- */

/* A pool of scale 0.5: rows of 2 and -1 count as 1 and -0.5 in the score and in the value. */
static void scale_of_an_e4m3_pool_counts_in_score_and_value(void **state)
{
  problem p;
  (void)state;
  prepare(&p);
  p.args.kv_scale = 0.5f;
  p.args.inv_scale = NULL; /* not read */
  p.lens[0] = 2;
  p.indices[1] = 1;
  p.kv[0][0] = CODE_2;
  p.kv[1][0] = CODE_M1;
  decode(&p);
  double weights[2] = {exp(1.0), exp(-0.5)};
  assert_near(p.lse[0], log(weights[0] + weights[1]));
  assert_near(p.out[0][0], (weights[0] - 0.5 * weights[1]) / (weights[0] + weights[1]));
}

static void bf16_rows_are_read_by_their_strides(void **state)
{
  static uint16_t kv[4][2][80]; /* blocks of two rows of 160 bytes */
  problem p;
  (void)state;
  prepare(&p);
  p.config.kv_format = SWA_JIT_KV_BF16;
  p.args.kv = kv;
  p.args.kv_scale = 7.0f; /* of no effect */
  p.args.slot_stride_bytes = 160;
  p.args.block_stride_bytes = 320;
  p.lens[0] = 1;
  p.indices[0] = 5;
  kv[2][1][0] = BF16_3;
  kv[2][1][63] = BF16_M4;
  decode(&p);
  assert_near(p.lse[0], 3.0);
  assert_near(p.out[0][0], 3.0);
  assert_near(p.out[0][63], -4.0);
}

/* Blocks of two slots: 1152 bytes of data, then 16 of scales; the default stride adds both to 1168. */
static void footer_584_blocks_have_their_scales_behind_their_rows(void **state)
{
  enum { BLOCK = 1168, WIDE = 1728 };
  static uint8_t kv[2 * WIDE];
  static uint16_t q[512];
  double out[512];
  problem p;
  (void)state;
  for (int i = 0; i < 2; i++) {
    int stride = i == 0 ? BLOCK : WIDE;
    prepare(&p);
    memset(kv, 0, sizeof kv);
    p.config.head_dim = 512;
    p.config.kv_format = SWA_JIT_KV_FOOTER_584;
    p.args.q = q;
    p.args.kv = kv;
    p.args.num_blocks = 2;
    p.args.block_stride_bytes = i == 0 ? 0 : WIDE;
    p.lens[0] = 1;
    p.indices[0] = 3;
    q[64] = BF16_1;
    q[511] = BF16_2;
    kv[stride + 576 + 64] = CODE_3;                 /* second slot of block 1: the first of the second group, */
    kv[stride + 1152 + 8 + 1] = 128;                /* whose scale is 2; */
    memcpy(&kv[stride + 576 + 574], "\x80\xBF", 2); /* its last element is -1 */
    sj_reference_decode(&p.config, &p.args, 1, out, p.lse);
    assert_near(p.lse[0], 4.0);
    assert_near(out[64], 6.0);
    assert_near(out[511], -1.0);
  }
}

/* A block of 3 slots: 1536 bytes of data, 48 of scales. A scale byte of 255 is NaN in the whole row's score. */
static void footer_528_scale_bytes_count_for_32_elements(void **state)
{
  static uint8_t kv[3 * 528];
  static uint16_t q[512];
  double out[512];
  problem p;
  (void)state;
  prepare(&p);
  memset(kv + 1536, 127, 48);
  p.config.head_dim = 512;
  p.config.kv_format = SWA_JIT_KV_FOOTER_528;
  p.args.q = q;
  p.args.kv = kv;
  p.args.block_size = 3;
  p.args.num_blocks = 1;
  p.lens[0] = 1;
  p.indices[0] = 2;
  q[31] = q[32] = BF16_1;
  kv[1024 + 31] = CODE_1;
  kv[1024 + 32] = CODE_1;
  kv[1536 + 32 + 1] = 124; /* 1/8 */
  sj_reference_decode(&p.config, &p.args, 1, out, p.lse);
  assert_near(p.lse[0], 1.125);
  assert_near(out[31], 1.0);
  assert_near(out[32], 0.125);
  kv[1536 + 32 + 15] = 255;
  sj_reference_decode(&p.config, &p.args, 1, out, p.lse);
  assert_true(isnan(p.lse[0]) && isnan(out[31]));
}

/* ---- sinks, soft cap, LSE --------------------------------------------------------------------------------- */

/* Two positions of score 0 and a sink of ln 2 halve the mean of their values. */
static void sink_takes_its_share(void **state)
{
  const float sinks[1] = {(float)0.6931471805599453};
  problem p;
  (void)state;
  prepare(&p);
  p.args.sinks = sinks;
  p.lens[0] = 2;
  p.indices[1] = 1;
  p.kv[0][1] = CODE_2;
  p.kv[1][1] = CODE_4;
  decode(&p);
  assert_near(p.out[0][1], 3.0); /* a configuration without sinks takes none */
  p.config.sinks = 1;
  decode(&p);
  assert_near(p.out[0][1], 3.0 * 2.0 / (2.0 + exp((double)sinks[0])));
  assert_true(fabs(p.out[0][1] - 1.5) < 1e-7);
  assert_near(p.lse[0], ln_2);
  p.args.lse_form = SWA_JIT_LSE_WITH_SINK | SWA_JIT_LSE_BASE_2;
  decode(&p);
  assert_true(fabs(p.lse[0] - 2.0) < 1e-7);
  p.args.sinks = NULL;
  decode(&p);
  assert_near(p.out[0][1], 3.0);
  assert_near(p.lse[0], 1.0);
}

static void each_head_has_its_own_sink(void **state)
{
  static const float sinks[4] = {-INFINITY, INFINITY, 3e38f, NAN};
  problem p;
  (void)state;
  prepare(&p);
  p.config.sinks = 1;
  p.args.num_heads = 4;
  p.args.sinks = sinks;
  p.lens[0] = 1;
  p.kv[0][0] = CODE_1;
  decode(&p);
  assert_near(p.out[0][0], 1.0);
  assert_true(p.out[1][0] == 0.0 && p.out[2][0] == 0.0);
  assert_true(isnan(p.out[3][0]));
  assert_near(p.lse[0], 1.0);
  assert_near(p.lse[3], 0.0); /* head 3 has no q */
  p.lens[0] = 0;
  decode(&p);
  for (int head = 0; head < 4; head++) {
    assert_true(p.out[head][0] == 0.0 && p.lse[head] == -INFINITY);
  }
  p.args.lse_form = SWA_JIT_LSE_EMPTY_PLUS_INFINITY | SWA_JIT_LSE_WITH_SINK;
  decode(&p);
  assert_true(p.lse[0] == INFINITY && p.lse[3] == INFINITY);
}

/* tanh(ln 3 / 2) = 1/2: a score of ln 3 under a cap of 2 is 1. It is capped after the scale. */
static void soft_cap_bends_scores(void **state)
{
  problem p;
  (void)state;
  prepare(&p);
  p.args.scale = (float)1.0986122886681098;
  p.args.soft_cap = 2.0f;
  p.lens[0] = 1;
  p.kv[0][0] = CODE_1;
  decode(&p);
  assert_near(p.lse[0], (double)p.args.scale);
  p.config.soft_cap = 1;
  decode(&p);
  assert_near(p.lse[0], 2.0 * tanh((double)p.args.scale / 2.0));
  assert_true(fabs(p.lse[0] - 1.0) < 1e-7);
  p.args.soft_cap = 0.0f;
  decode(&p);
  assert_near(p.lse[0], (double)p.args.scale);
}

/* ---- grouped queries and V's own pool --------------------------------------------------------------------- */

/* Four heads, two KV heads: slot s, KV head g is row 2 s + g, and so is its scale. */
static void query_heads_read_their_group(void **state)
{
  static float inv_scale[MOST_SLOTS] = {1, 1, 1, 1, 1, 1, 2.0f, 0.5f};
  problem p;
  (void)state;
  prepare(&p);
  p.config.kv_format = SWA_JIT_KV_E4M3_SLOT;
  p.args.inv_scale = inv_scale;
  p.args.num_heads = 4;
  p.args.num_kv_heads = 2;
  p.args.num_blocks = 2;
  p.lens[0] = 1;
  p.indices[0] = 3;
  p.kv[6][1] = CODE_3;
  p.kv[7][1] = CODE_1;
  decode(&p);
  assert_near(p.out[0][1], 6.0);
  assert_near(p.out[1][1], 6.0);
  assert_near(p.out[2][1], 0.5);
  assert_near(p.out[3][1], 0.5);
}

/* Heads outside slots: KV head 1 lies 2 rows behind KV head 0 of a block of two slots. */
static void kv_heads_may_lie_outside_slots(void **state)
{
  problem p;
  (void)state;
  prepare(&p);
  p.args.num_heads = 2;
  p.args.num_kv_heads = 2;
  p.args.num_blocks = 2;
  p.args.kv_head_stride_bytes = 2 * DIM;
  p.args.slot_stride_bytes = DIM;
  p.args.block_stride_bytes = 4 * DIM;
  p.lens[0] = 1;
  p.indices[0] = 3;
  p.kv[5][0] = CODE_2;
  p.kv[7][0] = CODE_4;
  decode(&p);
  assert_near(p.out[0][0], 2.0);
  assert_near(p.out[1][0], 4.0);
}

/* K rows of 64 and V rows of 96 elements; V has its own slots, strides and scale. */
static void v_comes_from_its_own_pool(void **state)
{
  static uint8_t v[4][2][112];
  static const int32_t v_indices[WINDOW] = {5, 0, MOST_SLOTS, 2};
  double out[96];
  problem p;
  (void)state;
  prepare(&p);
  p.config.head_dim_v = 96;
  p.args.v = v;
  p.args.v_slot_stride_bytes = 112;
  p.args.v_indices = v_indices;
  p.args.v_scale = 0.5f;
  p.lens[0] = 4;
  p.indices[0] = 0;
  p.indices[1] = 1;
  p.indices[2] = 2;  /* masked by V */
  p.indices[3] = -1; /* masked by K */
  p.kv[1][0] = CODE_1;
  p.kv[2][0] = CODE_4;
  v[2][1][95] = CODE_2;
  v[0][0][95] = CODE_4;
  sj_reference_decode(&p.config, &p.args, 1, out, p.lse);
  assert_near(p.lse[0], log(1.0 + exp(1.0)));
  assert_near(out[95], (1.0 + 2.0 * exp(1.0)) / (1.0 + exp(1.0)));
  p.args.v_indices = NULL; /* as K's: slots 0, 1 and 2 */
  v[0][1][95] = CODE_2;
  sj_reference_decode(&p.config, &p.args, 1, out, p.lse);
  assert_near(p.lse[0], log(1.0 + exp(1.0) + exp(4.0)));
  assert_near(out[95], (2.0 + exp(1.0)) / (1.0 + exp(1.0) + exp(4.0)));
}

/* ---- the extra scope -------------------------------------------------------------------------------------- */

typedef struct extra_pool {
  uint8_t kv[3][DIM];
  float inv_scale[3];
  int32_t indices[5];
  int32_t lens[1];
} extra_pool;

static void add_extra(problem *p, extra_pool *extra)
{
  memset(extra, 0, sizeof *extra);
  p->config.extra_size = 5;
  p->config.extra_format = SWA_JIT_KV_E4M3_SLOT;
  p->args.extra_kv = extra->kv;
  p->args.extra_inv_scale = extra->inv_scale;
  p->args.extra_indices = extra->indices;
  p->args.extra_lens = extra->lens;
  p->args.extra_num_blocks = 3;
  p->args.extra_block_size = 1;
}

/* One position of score 0 and value 1 in the window, two of weight 3 in the extra scope, all in one softmax. */
static void extra_scope_joins_the_softmax(void **state)
{
  problem p;
  extra_pool extra;
  (void)state;
  prepare(&p);
  add_extra(&p, &extra);
  p.args.scale = (float)1.0986122886681098;
  p.lens[0] = 1;
  p.kv[0][1] = CODE_1;
  extra.lens[0] = 3;
  extra.indices[0] = 2;
  extra.indices[1] = 3; /* masked */
  extra.indices[2] = 2;
  extra.kv[2][0] = CODE_2;
  extra.kv[2][1] = CODE_4;
  extra.inv_scale[2] = 0.5f;
  decode(&p);
  double three = exp((double)p.args.scale);
  assert_near(p.lse[0], log(1.0 + 2.0 * three));
  assert_near(p.out[0][1], (1.0 + 2.0 * three * 2.0) / (1.0 + 2.0 * three));
  assert_true(fabs(p.lse[0] - log(7.0)) < 1e-7);
  p.lens[0] = 0; /* the extra scope alone */
  decode(&p);
  assert_near(p.out[0][1], 2.0);
  extra.lens[0] = -1; /* nothing */
  decode(&p);
  assert_true(p.out[0][1] == 0.0 && p.lse[0] == -INFINITY);
}

static void extra_scope_without_lens_is_full(void **state)
{
  problem p;
  extra_pool extra;
  (void)state;
  prepare(&p);
  add_extra(&p, &extra);
  p.args.extra_lens = NULL;
  extra.kv[0][1] = CODE_3;
  extra.inv_scale[0] = 1.0f;
  decode(&p);
  assert_near(p.lse[0], log(5.0));
  assert_near(p.out[0][1], 3.0);
  extra.lens[0] = 3;
  p.args.extra_lens = extra.lens;
  decode(&p);
  assert_near(p.lse[0], ln_3);
}

/* ---- two ways --------------------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t at)
{
  uint32_t x = (at + 1) * 2654435761u;
  return (x ^ x >> 15) * 2246822519u >> 16;
}

/* Finite codes and q of moderate size. */
static void fill(problem *p)
{
  for (uint32_t i = 0; i < MOST_SLOTS * DIM; i++) {
    p->kv[i / DIM][i % DIM] = (uint8_t)(0x28 + mix(i) % 24 + (mix(i) & 0x80));
  }
  for (uint32_t i = 0; i < MOST_HEADS * DIM; i++) {
    p->q[i / DIM][i % DIM] = (uint16_t)(0x3E00 + mix(i + 7777) % 256 + (mix(i + 7777) & 0x8000));
  }
}

/* A call of two KV heads is two calls of one, whose pool has the other head's rows between its own. */
static void grouped_call_equals_a_call_for_each_group(void **state)
{
  problem both, one;
  (void)state;
  prepare(&both);
  fill(&both);
  both.args.num_heads = 4;
  both.args.num_kv_heads = 2;
  both.args.num_blocks = 2;
  both.lens[0] = 3;
  both.indices[0] = 3;
  both.indices[1] = 0;
  both.indices[2] = 2;
  decode(&both);
  for (int group = 0; group < 2; group++) {
    one = both;
    one.args.indices = one.indices;
    one.args.lens = one.lens;
    one.args.q = one.q[2 * group];
    one.args.kv = one.kv[group];
    one.args.num_heads = 2;
    one.args.num_kv_heads = 1;
    one.args.slot_stride_bytes = 2 * DIM;
    decode(&one);
    assert_memory_equal(one.out[0], both.out[2 * group], sizeof one.out[0] * 2);
    assert_memory_equal(one.lse, &both.lse[2 * group], sizeof one.lse[0] * 2);
  }
}

/* The window's first two positions and the extra scope's two, of the same pool, are a window of four. */
static void extra_scope_of_the_same_pool_equals_a_longer_window(void **state)
{
  static const float sinks[MOST_HEADS] = {0.5f, -3.0f, INFINITY, 2.0f};
  problem longer, parted;
  (void)state;
  prepare(&longer);
  fill(&longer);
  longer.config.sinks = 1;
  longer.args.sinks = sinks;
  longer.args.num_heads = 4;
  longer.args.kv_scale = 0.25f;
  longer.lens[0] = 4;
  longer.indices[0] = 7;
  longer.indices[1] = -1;
  longer.indices[2] = 1;
  longer.indices[3] = 4;
  decode(&longer);
  parted = longer;
  parted.lens[0] = 2;
  parted.args.lens = parted.lens;
  parted.config.extra_size = 2;
  parted.config.extra_format = SWA_JIT_KV_E4M3;
  parted.args.extra_kv = longer.kv;
  parted.args.extra_scale = 0.25f;
  parted.args.extra_indices = &longer.indices[2];
  parted.args.extra_num_blocks = 4;
  parted.args.extra_block_size = 2;
  decode(&parted);
  assert_memory_equal(parted.out, longer.out, sizeof longer.out);
  assert_memory_equal(parted.lse, longer.lse, sizeof longer.lse);
}

/* V's own pool with K's bytes is V in K's row. */
static void v_pool_with_the_bytes_of_k_equals_shared_rows(void **state)
{
  problem shared, own;
  (void)state;
  prepare(&shared);
  fill(&shared);
  shared.args.kv_scale = shared.args.v_scale = 0.5f;
  shared.args.num_heads = 4;
  shared.lens[0] = 3;
  shared.indices[0] = 6;
  shared.indices[1] = 3;
  shared.indices[2] = MOST_SLOTS;
  decode(&shared);
  own = shared;
  own.config.head_dim_v = DIM;
  own.args.v = shared.kv;
  decode(&own);
  assert_memory_equal(own.out, shared.out, sizeof own.out);
  assert_memory_equal(own.lse, shared.lse, sizeof own.lse);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(scale_of_an_e4m3_pool_counts_in_score_and_value),
      cmocka_unit_test(bf16_rows_are_read_by_their_strides),
      cmocka_unit_test(footer_584_blocks_have_their_scales_behind_their_rows),
      cmocka_unit_test(footer_528_scale_bytes_count_for_32_elements),
      cmocka_unit_test(sink_takes_its_share),
      cmocka_unit_test(each_head_has_its_own_sink),
      cmocka_unit_test(soft_cap_bends_scores),
      cmocka_unit_test(query_heads_read_their_group),
      cmocka_unit_test(kv_heads_may_lie_outside_slots),
      cmocka_unit_test(v_comes_from_its_own_pool),
      cmocka_unit_test(extra_scope_joins_the_softmax),
      cmocka_unit_test(extra_scope_without_lens_is_full),
      cmocka_unit_test(grouped_call_equals_a_call_for_each_group),
      cmocka_unit_test(extra_scope_of_the_same_pool_equals_a_longer_window),
      cmocka_unit_test(v_pool_with_the_bytes_of_k_equals_shared_rows),
  };
  return SJ_TEST_RUN(tests);
}
