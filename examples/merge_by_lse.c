/* SPDX-License-Identifier: Apache-2.0 */
/* Two scopes in two calls, joined by their LSE: what an engine does that keeps the window and the compressed rows in
 * pools which one call cannot reach, or that runs them on two streams. Each decode is without sinks; the merge applies
 * them, once. A token without a position in one pool, or in both, needs no care. */
#include <math.h>
#include <stdlib.h>

#include "support.h"

enum {
  TOKENS = 4,
  HEADS = 16,
  DIM = 512,
  BLOCKS = 4,
  BLOCK = 64,
  SLOTS = BLOCKS * BLOCK,
  WIDTH = 128, /* most positions in either pool */
  PARTS = 2
};

static uint16_t pools[PARTS][SLOTS * DIM]; /* the window's rows, the compressed rows */
static uint16_t q[TOKENS * HEADS * DIM], out[TOKENS * HEADS * DIM];
static float sinks[HEADS], lse[TOKENS * HEADS];
static int32_t indices[PARTS][TOKENS * WIDTH];
static const int32_t lens[PARTS][TOKENS] = {{WIDTH, 9, 1, 0}, {77, WIDTH, 0, 0}};

static void generate(void)
{
  example_fill_bf16(q, TOKENS * HEADS * DIM);
  for (int i = 0; i < PARTS; i++) {
    example_fill_bf16(pools[i], SLOTS * DIM);
    for (int j = 0; j < TOKENS * WIDTH; j++) {
      indices[i][j] = (int32_t)(example_random() % SLOTS);
    }
  }
  for (int h = 0; h < HEADS; h++) {
    sinks[h] = (float)(4.0 * example_uniform());
  }
}

/* One decode a pool; their outs and LSE are the merge's parts. */
static void decode_parts(example_run *run, uint32_t arch, swa_jit_merge_args *merge)
{
  const swa_jit_kernel *kernel = NULL;
  swa_jit_config config = SWA_JIT_CONFIG_INIT; /* head_dim 512, window 128, lse */
  config.arch = arch;
  config.kv_format = SWA_JIT_KV_BF16;
  example_expect(swa_jit_pick(TOKENS, HEADS, 0, &config));
  example_expect(swa_jit_kernel_get(run->lib, &config, &kernel));

  swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;
  args.num_tokens = TOKENS;
  args.num_heads = HEADS;
  args.scale = (float)(1.0 / sqrt(DIM));
  args.num_blocks = BLOCKS;
  args.block_size = BLOCK;
  args.q = example_upload(run, q, sizeof q);
  for (int i = 0; i < PARTS; i++) {
    args.kv = example_upload(run, pools[i], sizeof pools[i]);
    args.indices = example_upload(run, indices[i], sizeof indices[i]);
    args.lens = example_upload(run, lens[i], sizeof lens[i]);
    args.out = example_alloc(run, sizeof out);
    args.lse = example_alloc(run, sizeof lse);
    example_expect(swa_jit_decode(kernel, &args, NULL));
    merge->outs[i] = args.out;
    merge->lses[i] = args.lse;
  }
}

static void decode(example_run *run)
{
  const swa_jit_kernel *kernel = NULL;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.kernel = SWA_JIT_KERNEL_MERGE; /* one kernel for every shape */
  example_expect(swa_jit_arch_native(run->lib, &config.arch));
  example_expect(swa_jit_kernel_get(run->lib, &config, &kernel));

  swa_jit_merge_args args = SWA_JIT_MERGE_ARGS_INIT;
  decode_parts(run, config.arch, &args);
  args.num_parts = PARTS;
  args.num_tokens = TOKENS;
  args.num_heads = HEADS;
  args.head_dim = DIM;
  args.sinks = example_upload(run, sinks, sizeof sinks);
  args.out = example_alloc(run, sizeof out);
  args.lse = example_alloc(run, sizeof lse);
  example_expect(swa_jit_merge(kernel, &args, NULL)); /* the same stream: behind both decodes */
  example_download(run, args.out, out, sizeof out);
  example_download(run, args.lse, lse, sizeof lse);
}

/* Adds a pool's positions to sum = sum exp(s) and row_out = sum exp(s) v; scores are small, no maximum is needed. */
static void add_part(int part, int token, const uint16_t *q_row, double *sum, double row_out[DIM])
{
  for (int j = 0; j < lens[part][token]; j++) {
    const uint16_t *row = pools[part] + indices[part][token * WIDTH + j] * DIM;
    double dot = 0.0;
    for (int d = 0; d < DIM; d++) {
      dot += example_from_bf16(q_row[d]) * example_from_bf16(row[d]);
    }
    double weight = exp(dot / sqrt(DIM));
    *sum += weight;
    for (int d = 0; d < DIM; d++) {
      row_out[d] += weight * example_from_bf16(row[d]);
    }
  }
}

/* Against one softmax over the positions of both pools. */
static void compare(example_run *run)
{
  for (int t = 0; t < TOKENS; t++) {
    for (int h = 0; h < HEADS; h++) {
      int at = t * HEADS + h;
      double sum = 0.0, row_out[DIM] = {0.0};
      for (int i = 0; i < PARTS; i++) {
        add_part(i, t, q + at * DIM, &sum, row_out);
      }
      for (int d = 0; d < DIM; d++) {
        row_out[d] /= sum + exp((double)sinks[h]);
      }
      example_compare_row(run, out + at * DIM, row_out, DIM);
      example_compare_lse(run, lse[at], sum > 0.0 ? log(sum) : -INFINITY);
    }
  }
}

int main(void)
{
  example_run run;
  example_begin("merge_by_lse", &run);
  generate();
  decode(&run);
  compare(&run);
  return example_end(&run);
}
