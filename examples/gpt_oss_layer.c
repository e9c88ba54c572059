/* SPDX-License-Identifier: Apache-2.0 */
/* A sliding-window layer of gpt-oss: 64 query heads of 64 elements over 8 KV heads, K and V in bf16 pools of their own,
 * a window of 128 positions that includes the token itself, and a sink a head. The slots come from a block table, as an
 * engine's scheduler keeps it. */
#include <math.h>
#include <stdlib.h>

#include "support.h"

enum {
  TOKENS = 4,
  HEADS = 64,
  KV_HEADS = 8,
  DIM = 64,
  WINDOW = 128,
  BLOCK = 16,
  BLOCKS = 64,
  TABLE = 16, /* blocks of a sequence: 256 positions */
  POOL = BLOCKS * BLOCK * KV_HEADS * DIM
};

static uint16_t k_pool[POOL], v_pool[POOL]; /* [blocks, slots of a block, KV heads, elements] */
static uint16_t q[TOKENS * HEADS * DIM], out[TOKENS * HEADS * DIM];
static float sinks[HEADS];
static int32_t block_table[TOKENS * TABLE];
static const int32_t positions[TOKENS] = {0, 40, 127, 250}; /* of the new tokens, one in each of four sequences */
static int32_t indices[TOKENS * WINDOW], lens[TOKENS];

/* The latest positions, at most WINDOW of them, as slots. Indices behind lens are not read: any value will do. */
static void make_indices(void)
{
  for (int t = 0; t < TOKENS; t++) {
    int32_t first = positions[t] < WINDOW ? 0 : positions[t] - WINDOW + 1;
    lens[t] = positions[t] - first + 1;
    for (int32_t j = 0; j < lens[t]; j++) {
      int32_t position = first + j;
      indices[t * WINDOW + j] = block_table[t * TABLE + position / BLOCK] * BLOCK + position % BLOCK;
    }
  }
}

static void generate(void)
{
  example_fill_bf16(k_pool, POOL);
  example_fill_bf16(v_pool, POOL);
  example_fill_bf16(q, TOKENS * HEADS * DIM);
  for (int h = 0; h < HEADS; h++) {
    sinks[h] = (float)(4.0 * example_uniform());
  }
  for (int i = 0; i < TOKENS * TABLE; i++) {
    block_table[i] = i * 27 % BLOCKS; /* all blocks, in a scattered order */
  }
  make_indices();
}

static void decode(example_run *run)
{
  const swa_jit_kernel *kernel = NULL;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.head_dim = DIM;
  config.head_dim_v = DIM; /* not 0: V has its own pool */
  config.window_size = WINDOW;
  config.kv_format = SWA_JIT_KV_BF16;
  config.sinks = 1;
  config.lse = 0;
  example_expect(swa_jit_arch_native(run->lib, &config.arch));
  example_expect(swa_jit_pick(TOKENS * KV_HEADS, HEADS / KV_HEADS, 0, &config));
  example_expect(swa_jit_kernel_get(run->lib, &config, &kernel));

  swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;
  args.num_tokens = TOKENS;
  args.num_heads = HEADS;
  args.num_kv_heads = KV_HEADS;
  args.scale = (float)(1.0 / sqrt(DIM));
  args.q = example_upload(run, q, sizeof q);
  args.kv = example_upload(run, k_pool, sizeof k_pool); /* strides of 0: packed */
  args.v = example_upload(run, v_pool, sizeof v_pool);
  args.num_blocks = BLOCKS;
  args.block_size = BLOCK;
  args.indices = example_upload(run, indices, sizeof indices); /* V's too, as v_indices is NULL */
  args.lens = example_upload(run, lens, sizeof lens);
  args.sinks = example_upload(run, sinks, sizeof sinks);
  args.out = example_alloc(run, sizeof out);
  example_expect(swa_jit_decode(kernel, &args, NULL));
  example_download(run, args.out, out, sizeof out);
}

static void compare(example_run *run)
{
  for (int t = 0; t < TOKENS; t++) {
    for (int h = 0; h < HEADS; h++) {
      const uint16_t *q_row = q + (t * HEADS + h) * DIM;
      double sum = exp((double)sinks[h]), row_out[DIM] = {0.0};
      for (int j = 0; j < lens[t]; j++) {
        int row = (indices[t * WINDOW + j] * KV_HEADS + h / (HEADS / KV_HEADS)) * DIM;
        double dot = 0.0;
        for (int d = 0; d < DIM; d++) {
          dot += example_from_bf16(q_row[d]) * example_from_bf16(k_pool[row + d]);
        }
        double weight = exp(dot / sqrt(DIM));
        sum += weight;
        for (int d = 0; d < DIM; d++) {
          row_out[d] += weight * example_from_bf16(v_pool[row + d]);
        }
      }
      for (int d = 0; d < DIM; d++) {
        row_out[d] /= sum;
      }
      example_compare_row(run, out + (t * HEADS + h) * DIM, row_out, DIM);
    }
  }
}

int main(void)
{
  example_run run;
  example_begin("gpt_oss_layer", &run);
  generate();
  decode(&run);
  compare(&run);
  return example_end(&run);
}
