/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSeek-V4 as it is served through FlashMLA's sparse decode: the cache of 584 bytes a token, a window and an extra
 * scope of compressed rows under one softmax, sinks, and FlashMLA's LSE: natural, without the sink, +infinity where a
 * token has no position, laid out [heads, tokens]. Few tokens with many positions: CTAs share a token's in splits, by
 * way of a workspace. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum {
  TOKENS = 3,
  HEADS = 64,
  DIM = 512,
  WINDOW = 128,
  EXTRA = 512,
  DATA_ROW = 576,          /* 448 e4m3, 64 bf16 */
  SCALE_ROW = 8,           /* an e8m0 byte for each 64 of the 448, and a pad */
  BLOCK_ALIGNMENT = 576,   /* FlashMLA and vLLM round a block up to it: 37,440 bytes at 64 slots */
  MAX_BYTES = 3 * 64 * 640 /* of a pool here */
};

typedef struct pool {
  uint32_t num_blocks, block_size, block_stride;
  uint8_t bytes[MAX_BYTES];
} pool;

typedef struct scope {
  pool *pool;
  const int32_t *indices;
  const int32_t *lens;
  int width;
} scope;

static pool window_pool = {.num_blocks = 3, .block_size = 64};
static pool extra_pool = {.num_blocks = 40, .block_size = 2};
static uint16_t q[TOKENS * HEADS * DIM], out[TOKENS * HEADS * DIM];
static float sinks[HEADS], lse[HEADS * TOKENS];
static int32_t window_indices[TOKENS * WINDOW], extra_indices[TOKENS * EXTRA];
static const int32_t window_lens[TOKENS] = {WINDOW, 20, 0}; /* a long context, a short one, a row of padding */
static const int32_t extra_lens[TOKENS] = {500, 0, 0};

static uint8_t *find_row(pool *from, uint32_t slot)
{
  return from->bytes + (size_t)(slot / from->block_size) * from->block_stride + slot % from->block_size * DATA_ROW;
}

/* The scale rows lie behind all data rows of the block. */
static uint8_t *find_scales(pool *from, uint32_t slot)
{
  uint8_t *block = from->bytes + (size_t)(slot / from->block_size) * from->block_stride;
  return block + from->block_size * DATA_ROW + slot % from->block_size * SCALE_ROW;
}

static void fill_pool(pool *to)
{
  uint32_t packed = to->block_size * (DATA_ROW + SCALE_ROW);
  to->block_stride = (packed + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
  for (uint32_t slot = 0; slot < to->num_blocks * to->block_size; slot++) {
    uint8_t *row = find_row(to, slot);
    for (int d = 0; d < 448; d++) {
      row[d] = (uint8_t)(example_random() % 0x38 | (example_random() & 0x80)); /* magnitudes below 1 */
    }
    uint16_t tail[64];
    example_fill_bf16(tail, 64);
    memcpy(row + 448, tail, sizeof tail);
    for (int i = 0; i < 7; i++) {
      find_scales(to, slot)[i] = (uint8_t)(126 + example_random() % 3); /* 1/2, 1 or 2 */
    }
  }
}

static void read_row(pool *from, uint32_t slot, double row[DIM])
{
  uint16_t tail[64];
  const uint8_t *bytes = find_row(from, slot);
  memcpy(tail, bytes + 448, sizeof tail);
  for (int d = 0; d < 448; d++) {
    row[d] = example_from_e4m3(bytes[d]) * ldexp(1.0, find_scales(from, slot)[d / 64] - 127);
  }
  for (int d = 448; d < DIM; d++) {
    row[d] = example_from_bf16(tail[d - 448]);
  }
}

/* Adds a scope's positions to sum = sum exp(s) and row_out = sum exp(s) v; scores are small, no maximum is needed. */
static void add_scope(const scope *from, int token, const uint16_t *q_row, double *sum, double row_out[DIM])
{
  double row[DIM];
  for (int j = 0; j < from->lens[token]; j++) {
    int32_t slot = from->indices[token * from->width + j];
    if (slot < 0) {
      continue;
    }
    double dot = 0.0;
    read_row(from->pool, (uint32_t)slot, row);
    for (int d = 0; d < DIM; d++) {
      dot += example_from_bf16(q_row[d]) * row[d];
    }
    double weight = exp(dot / sqrt(DIM));
    *sum += weight;
    for (int d = 0; d < DIM; d++) {
      row_out[d] += weight * row[d];
    }
  }
}

static void compare(example_run *run)
{
  const scope scopes[2] = {{&window_pool, window_indices, window_lens, WINDOW},
                           {&extra_pool, extra_indices, extra_lens, EXTRA}};
  for (int t = 0; t < TOKENS; t++) {
    for (int h = 0; h < HEADS; h++) {
      int at = (t * HEADS + h) * DIM;
      double sum = 0.0, row_out[DIM] = {0.0};
      add_scope(&scopes[0], t, q + at, &sum, row_out);
      add_scope(&scopes[1], t, q + at, &sum, row_out);
      for (int d = 0; d < DIM; d++) {
        row_out[d] /= sum + exp((double)sinks[h]);
      }
      example_compare_row(run, out + at, row_out, DIM);
      example_compare_lse(run, lse[h * TOKENS + t], sum > 0.0 ? log(sum) : INFINITY);
    }
  }
}

static void generate(void)
{
  fill_pool(&window_pool);
  fill_pool(&extra_pool);
  example_fill_bf16(q, TOKENS * HEADS * DIM);
  for (int h = 0; h < HEADS; h++) {
    sinks[h] = (float)(4.0 * example_uniform());
  }
  for (int i = 0; i < TOKENS * WINDOW; i++) {
    window_indices[i] = (int32_t)(example_random() % (3 * 64));
  }
  for (int i = 0; i < TOKENS * EXTRA; i++) {
    extra_indices[i] = i % 8 == 7 ? -1 : (int32_t)(example_random() % (40 * 2)); /* -1: masked */
  }
}

/* Its first launch finds the workspace zeroed; every launch leaves it so that the next finds it as it wants it. */
static void take_workspace(example_run *run, const swa_jit_kernel *kernel, swa_jit_decode_args *args)
{
  example_expect(swa_jit_workspace_bytes(kernel, TOKENS, HEADS, 1, args->num_splits, &args->workspace_bytes));
  void *zeros = calloc(1, args->workspace_bytes);
  if (zeros == NULL) {
    abort();
  }
  args->workspace = example_upload(run, zeros, args->workspace_bytes);
  free(zeros);
}

static void decode(example_run *run)
{
  const swa_jit_kernel *kernel = NULL;
  swa_jit_config config = SWA_JIT_CONFIG_INIT; /* head_dim 512, window 128 */
  config.kv_format = SWA_JIT_KV_FOOTER_584;
  config.extra_format = SWA_JIT_KV_FOOTER_584;
  config.extra_size = EXTRA;
  config.sinks = 1;
  config.splits = 1;
  example_expect(swa_jit_arch_native(run->lib, &config.arch));
  example_expect(swa_jit_pick(TOKENS, HEADS, 0, &config));
  example_expect(swa_jit_kernel_get(run->lib, &config, &kernel));

  swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;
  args.num_tokens = TOKENS;
  args.num_heads = HEADS;
  args.scale = (float)(1.0 / sqrt(DIM));
  args.q = example_upload(run, q, sizeof q);
  args.kv = example_upload(run, window_pool.bytes, sizeof window_pool.bytes);
  args.num_blocks = window_pool.num_blocks;
  args.block_size = window_pool.block_size;
  args.block_stride_bytes = window_pool.block_stride;
  args.indices = example_upload(run, window_indices, sizeof window_indices);
  args.lens = example_upload(run, window_lens, sizeof window_lens);
  args.extra_kv = example_upload(run, extra_pool.bytes, sizeof extra_pool.bytes);
  args.extra_num_blocks = extra_pool.num_blocks;
  args.extra_block_size = extra_pool.block_size;
  args.extra_block_stride_bytes = extra_pool.block_stride;
  args.extra_indices = example_upload(run, extra_indices, sizeof extra_indices);
  args.extra_lens = example_upload(run, extra_lens, sizeof extra_lens);
  args.sinks = example_upload(run, sinks, sizeof sinks);
  example_expect(swa_jit_pick_splits(&config, TOKENS, HEADS, 1, 0, &args.num_splits));
  take_workspace(run, kernel, &args);
  args.out = example_alloc(run, sizeof out);
  args.lse = example_alloc(run, sizeof lse);
  args.lse_form = SWA_JIT_LSE_EMPTY_PLUS_INFINITY;
  args.lse_token_stride = 1; /* [heads, tokens] */
  args.lse_head_stride = TOKENS;
  example_expect(swa_jit_decode(kernel, &args, NULL));
  example_download(run, args.out, out, sizeof out);
  example_download(run, args.lse, lse, sizeof lse);
}

int main(void)
{
  example_run run;
  example_begin("flashmla_like", &run);
  generate();
  decode(&run);
  compare(&run);
  return example_end(&run);
}
