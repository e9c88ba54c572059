/* SPDX-License-Identifier: Apache-2.0 */
/* A token's head has the same bits whatever else is in the call: the number of heads, the number of tokens, and where
 * among them the token is. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

/* ---- heads ------------------------------------------------------------------------------------------------- */

static bool same_head(const trial *a, const trial *b, uint32_t token, uint32_t head)
{
  const uint16_t *out_a = (const uint16_t *)a->data.args.out + decode_data_out_offset(&a->data, token, head);
  const uint16_t *out_b = (const uint16_t *)b->data.args.out + decode_data_out_offset(&b->data, token, head);
  uint32_t lse_a;
  uint32_t lse_b;

  memcpy(&lse_a, a->data.args.lse + decode_data_lse_offset(&a->data, token, head), sizeof lse_a);
  memcpy(&lse_b, b->data.args.lse + decode_data_lse_offset(&b->data, token, head), sizeof lse_b);
  return memcmp(out_a, out_b, 2 * (size_t)decode_data_out_dim(&a->data)) == 0 && lse_a == lse_b;
}

/* The first heads of a token are the same bits whatever the number of heads beside them. */
static decode_result compare_first_heads(gpu *g, trial *many, uint32_t num_heads, decode_verdict *verdict)
{
  trial few;
  char text[DECODE_CASE_TEXT_SIZE];
  decode_case which = many->data.which;
  decode_result result;
  uint32_t compared = num_heads < which.num_heads ? num_heads : which.num_heads;

  which.num_heads = num_heads;
  decode_case_to_text(&which, text);
  if (!trial_make(g, text, &few)) {
    return gpu_fail(verdict, g->message);
  }
  result = trial_run(g, &few, verdict);
  for (uint32_t token = 0; token < which.num_tokens && result == DECODE_PASSED; token++) {
    for (uint32_t head = 0; head < compared; head++) {
      if (!same_head(many, &few, token, head)) {
        result = gpu_fail(verdict, "a head has other bits when other heads are beside it");
      }
    }
  }
  trial_free(&few);
  return result;
}

/* Report 43: heads that pad a group, or are left out, change the results of others. */
static decode_result compare_fewer_heads(gpu *g, const char *text, decode_verdict *verdict)
{
  static const uint32_t counts[] = {1, 3, 5, 8, 12, 17, 96, 127};
  trial many;
  decode_result result;

  if (!trial_make(g, text, &many)) {
    return gpu_fail(verdict, g->message);
  }
  result = trial_run(g, &many, verdict);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0] && result == DECODE_PASSED; i++) {
    if (counts[i] < many.data.which.num_heads) {
      result = compare_first_heads(g, &many, counts[i], verdict);
    }
  }
  trial_free(&many);
  return result;
}

static decode_result heads_of_fewer_are_the_first_of_128(gpu *g, decode_verdict *verdict)
{
  return compare_fewer_heads(g, "num_tokens=3 num_heads=128 head_group=16 lens=uniform scores=m5 seed=31", verdict);
}

static decode_result heads_of_fewer_are_the_first_of_128_with_sinks_and_an_extra_scope(gpu *g, decode_verdict *verdict)
{
  return compare_fewer_heads(g,
                             "num_tokens=3 num_heads=128 head_group=16 lens=uniform scores=m5 kv_format=footer_584 "
                             "sinks=normal extra_format=footer_584 extra_size=200 extra_lens=uniform seed=43",
                             verdict);
}

/* Of a group whose last heads are none, of a whole one, and of the first of two. */
static decode_result heads_of_fewer_are_the_first_of_32_in_clusters(gpu *g, decode_verdict *verdict)
{
  return compare_fewer_heads(g,
                             "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=32 head_group=16 "
                             "scores=m5 sinks=normal seed=44",
                             verdict);
}

/* ---- tokens ------------------------------------------------------------------------------------------------ */

static int64_t or_else(int64_t given, int64_t usual)
{
  return given != 0 ? given : usual;
}

static const void *moved(const void *pointer, int64_t bytes)
{
  return pointer != NULL ? (const char *)pointer + bytes : NULL;
}

/* The arguments of count of a trial's tokens, from first on, which become the first ones of their call. */
static swa_jit_decode_args args_of_tokens(const trial *t, uint32_t first, uint32_t count)
{
  const decode_case *which = &t->data.which;
  swa_jit_decode_args args = t->problem.args;
  int64_t index_bytes = which->index_type == SWA_JIT_INT64 ? 8 : 4;
  int64_t lens_bytes = which->lens_type == SWA_JIT_INT64 ? 8 : 4;
  int64_t row = first * or_else(args.indices_token_stride, which->window_size) * index_bytes;
  int64_t extra_row = first * or_else(args.extra_indices_token_stride, which->extra_size) * index_bytes;

  args.num_tokens = count;
  args.q = moved(args.q, 2 * first * or_else(args.q_token_stride, (int64_t)which->num_heads * which->head_dim));
  args.indices = moved(args.indices, row);
  args.v_indices = moved(args.v_indices, row);
  args.lens = moved(args.lens, first * lens_bytes);
  args.extra_indices = moved(args.extra_indices, extra_row);
  args.extra_lens = moved(args.extra_lens, first * lens_bytes);
  args.out = (uint16_t *)args.out + decode_data_out_offset(&t->data, first, 0);
  args.lse = args.lse != NULL ? args.lse + decode_data_lse_offset(&t->data, first, 0) : NULL;
  return args;
}

/* Calls of 1, 2, 3, 5, 8, ... tokens, so that each token but the first has another place among others in number. */
static bool decode_in_parts(gpu *g, trial *t)
{
  uint32_t count = 1;
  uint32_t next = 2;

  for (uint32_t first = 0; first < t->data.which.num_tokens;) {
    uint32_t left = t->data.which.num_tokens - first;
    uint32_t taken = count < left ? count : left;
    swa_jit_decode_args args = args_of_tokens(t, first, taken);

    if (g->table.decode(g, &t->data.config, &args) != SWA_JIT_OK) {
      return false;
    }
    first += taken;
    next += count;
    count = next - count;
  }
  return true;
}

/* What the call of all tokens left, guards included, and what the calls of parts leave in its place. */
static decode_result compare_parts(gpu *g, trial *t, decode_verdict *verdict)
{
  const decode_buffer *out = &t->data.tensors[DECODE_OUT];
  const decode_buffer *lse = &t->data.tensors[DECODE_LSE];
  uint8_t *whole = malloc(out->size + lse->size);
  decode_result result = DECODE_PASSED;

  if (whole == NULL) {
    return gpu_fail(verdict, "no host memory");
  }
  memcpy(whole, out->bytes, out->size);
  memcpy(whole + out->size, lse->bytes, lse->size);
  if (!trial_poison(g, t) || !decode_in_parts(g, t) || !decode_problem_read(&t->problem, &t->data)) {
    result = gpu_fail(verdict, g->message);
  } else if (memcmp(whole, out->bytes, out->size) != 0 || memcmp(whole + out->size, lse->bytes, lse->size) != 0) {
    result = gpu_fail(verdict, "a token has other bits in a call of other tokens");
  }
  free(whole);
  return result;
}

static decode_result compare_tokens(gpu *g, const char *text, decode_verdict *verdict)
{
  trial t;
  decode_result result;

  if (!trial_make(g, text, &t)) {
    return gpu_fail(verdict, g->message);
  }
  result = trial_run(g, &t, verdict);
  if (result == DECODE_PASSED) {
    result = compare_parts(g, &t, verdict);
  }
  trial_free(&t);
  return result;
}

static decode_result tokens_alone_have_the_bits_of_many(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g, "num_tokens=14 num_heads=24 lens=edges slots=masked_some scores=m5 seed=61", verdict);
}

/* More CTAs than a device holds at once. */
static decode_result tokens_alone_have_the_bits_of_thousands(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g,
                        "num_tokens=5000 num_heads=9 head_group=8 head_dim=64 window_size=20 lens=uniform scores=m5 "
                        "seed=62",
                        verdict);
}

static decode_result tokens_alone_have_the_bits_of_many_with_sinks_and_an_extra_scope(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g,
                        "num_tokens=11 num_heads=24 kv_format=footer_584 block_gap=64 sinks=normal "
                        "extra_format=footer_584 extra_size=200 extra_block_size=2 extra_num_blocks=200 lens=uniform "
                        "extra_lens=uniform slots=masked_some scores=m5 seed=63",
                        verdict);
}

static decode_result tokens_alone_have_the_bits_of_many_of_all_heads_in_a_group(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g,
                        "num_tokens=9 num_heads=64 head_group=64 kv_tile=64 kv_format=footer_528 sinks=special "
                        "block_size=32 num_blocks=32 lens=uniform scores=m20 seed=64",
                        verdict);
}

static decode_result tokens_alone_have_the_bits_of_many_with_own_v(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g,
                        "num_tokens=12 num_heads=24 num_kv_heads=2 head_dim=192 head_dim_v=128 head_group=8 "
                        "kv_format=bf16 v_indices=own sinks=normal lens=uniform slots=masked_some scores=m5 seed=65",
                        verdict);
}

static decode_result tokens_alone_have_the_bits_of_many_of_a_long_bf16_window(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g,
                        "num_tokens=6 num_heads=8 head_group=8 head_dim=128 kv_format=bf16 window_size=1500 "
                        "soft_cap=30 lens=uniform scores=m5 seed=66",
                        verdict);
}

static decode_result tokens_alone_have_the_bits_of_many_in_splits(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g,
                        "num_splits=5 num_tokens=9 num_heads=24 kv_format=footer_584 sinks=normal "
                        "extra_format=footer_584 extra_size=300 lens=uniform extra_lens=uniform scores=m5 seed=67",
                        verdict);
}

static decode_result tokens_alone_have_the_bits_of_many_in_clusters(gpu *g, decode_verdict *verdict)
{
  return compare_tokens(g,
                        "cluster_size=4 kv_tile=128 num_tokens=4 num_heads=13 kv_format=e4m3 scales=real lens=uniform "
                        "slots=masked_some scores=m5 seed=68",
                        verdict);
}

void gpu_check_independence(gpu *g, gpu_tally *tally)
{
#define CHECK(name)                                                                                                    \
  {                                                                                                                    \
#name, name                                                                                                        \
  }
  static const gpu_check checks[] = {
      CHECK(heads_of_fewer_are_the_first_of_128),
      CHECK(heads_of_fewer_are_the_first_of_128_with_sinks_and_an_extra_scope),
      CHECK(heads_of_fewer_are_the_first_of_32_in_clusters),
      CHECK(tokens_alone_have_the_bits_of_many),
      CHECK(tokens_alone_have_the_bits_of_thousands),
      CHECK(tokens_alone_have_the_bits_of_many_with_sinks_and_an_extra_scope),
      CHECK(tokens_alone_have_the_bits_of_many_of_all_heads_in_a_group),
      CHECK(tokens_alone_have_the_bits_of_many_with_own_v),
      CHECK(tokens_alone_have_the_bits_of_many_of_a_long_bf16_window),
      CHECK(tokens_alone_have_the_bits_of_many_in_splits),
      CHECK(tokens_alone_have_the_bits_of_many_in_clusters),
  };

  gpu_run_checks(g, checks, sizeof checks / sizeof checks[0], tally);
}
