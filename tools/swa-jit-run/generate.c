/* SPDX-License-Identifier: Apache-2.0 */
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "memory.h"
#include "reference.h"

/* ---- random numbers --------------------------------------------------------------------------------------- */

/* PCG-RXS-M-XS 64 (O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms for random
 * number generation", 2014). Each row has a generator of its own, so that its data does not depend on the rows
 * before it. */
typedef struct generator {
  uint64_t state;
} generator;

static uint64_t next(generator *g)
{
  uint64_t word = g->state;
  g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  word = ((word >> ((word >> 59) + 5)) ^ word) * UINT64_C(12605985483714917081);
  return (word >> 43) ^ word;
}

static generator start(const run_problem *problem, unsigned tensor, uint64_t row)
{
  generator g = {.state = problem->seed};
  g.state = next(&g) + tensor;
  g.state = next(&g) + row;
  (void)next(&g);
  return g;
}

/* 0 to limit - 1; limit is below 2^32 */
static uint64_t below(generator *g, uint64_t limit)
{
  return ((next(g) >> 32) * limit) >> 32;
}

/* In (0, 1). */
static float uniform(generator *g)
{
  return ((float)(next(g) >> 41) + 0.5f) * 0x1p-23f;
}

/* Normal, scaled to a root mean square of 1 as an RMS norm leaves a row. */
static void make_row(generator *g, float *row, uint32_t head_dim)
{
  double sum = 0.0;
  for (uint32_t i = 0; i < head_dim; i += 2) { /* head_dim is even; two numbers at a time (Box and Muller, 1958) */
    float radius = sqrtf(-2.0f * logf(uniform(g)));
    float angle = 6.2831853f * uniform(g);
    row[i] = radius * cosf(angle);
    row[i + 1] = radius * sinf(angle);
    sum += (double)(row[i] * row[i]) + (double)(row[i + 1] * row[i + 1]);
  }
  float factor = (float)(1.0 / sqrt(sum / head_dim));
  for (uint32_t i = 0; i < head_dim; i++) {
    row[i] *= factor;
  }
}

/* ---- tensors ---------------------------------------------------------------------------------------------- */

static void make_queries(run_problem *problem, float *row)
{
  uint16_t *q = problem->inputs[RUN_Q].data;
  uint32_t head_dim = problem->config.head_dim;
  uint64_t num_rows = (uint64_t)problem->num_tokens * problem->num_heads;
  for (uint64_t i = 0; i < num_rows; i++) {
    generator g = start(problem, RUN_Q, i);
    make_row(&g, row, head_dim);
    for (uint32_t d = 0; d < head_dim; d++) {
      q[i * head_dim + d] = sj_encode_bf16(row[d]);
    }
  }
}

/* The scale as it will be read, so that the codes fit it: maximum / 448, the largest e4m3 number. */
static float store_scale(run_problem *problem, uint64_t slot, float scale)
{
  if (problem->config.scale_type == SWA_JIT_BFLOAT16) {
    uint16_t bits = sj_encode_bf16(scale);
    ((uint16_t *)problem->inputs[RUN_INV_SCALE].data)[slot] = bits;
    return (float)sj_reference_bf16(bits);
  }
  ((float *)problem->inputs[RUN_INV_SCALE].data)[slot] = scale;
  return scale;
}

static void make_pool(run_problem *problem, float *row)
{
  uint8_t *kv = problem->inputs[RUN_KV].data;
  uint32_t head_dim = problem->config.head_dim;
  uint64_t num_slots = problem->num_blocks * problem->block_size;
  for (uint64_t slot = 0; slot < num_slots; slot++) {
    generator g = start(problem, RUN_KV, slot);
    float largest = 0.0f;
    make_row(&g, row, head_dim);
    for (uint32_t d = 0; d < head_dim; d++) {
      largest = fmaxf(largest, fabsf(row[d]));
    }
    float scale = store_scale(problem, slot, largest / 448.0f);
    for (uint32_t d = 0; d < head_dim; d++) {
      kv[slot * head_dim + d] = sj_encode_e4m3(row[d] / scale);
    }
  }
}

static void store_integer(void *data, uint32_t type, uint64_t at, uint64_t value)
{
  if (type == SWA_JIT_INT64) {
    ((int64_t *)data)[at] = (int64_t)value;
  } else {
    ((int32_t *)data)[at] = (int32_t)value;
  }
}

/* The pool's blocks in random order, as a server's allocator leaves them. */
static uint32_t *make_block_table(run_problem *problem)
{
  uint32_t *blocks = sj_memory_get(problem->num_blocks, sizeof *blocks);
  generator g = start(problem, RUN_INDICES, UINT64_MAX);
  for (uint32_t i = 0; i < problem->num_blocks; i++) {
    uint32_t other = (uint32_t)below(&g, (uint64_t)i + 1);
    blocks[i] = blocks[other];
    blocks[other] = i;
  }
  return blocks;
}

/* Each token is another sequence: its window is a run of positions over the next blocks of the table, and begins
 * anywhere in the first of them. Every fourth token is young: its window is not full yet. */
static void make_windows(run_problem *problem)
{
  uint32_t window_size = problem->config.window_size;
  uint64_t block_size = problem->block_size;
  uint64_t blocks_per_token = (window_size + block_size - 1) / block_size + 1;
  uint32_t *blocks = make_block_table(problem);
  for (uint32_t token = 0; token < problem->num_tokens; token++) {
    generator g = start(problem, RUN_INDICES, token);
    uint64_t first = below(&g, block_size);
    uint64_t len = token % 4 == 3 ? 1 + below(&g, window_size) : window_size;
    for (uint32_t i = 0; i < window_size; i++) {
      uint64_t position = first + i;
      uint64_t block = blocks[(token * blocks_per_token + position / block_size) % problem->num_blocks];
      store_integer(problem->inputs[RUN_INDICES].data, problem->config.index_type, (uint64_t)token * window_size + i,
                    block * block_size + position % block_size);
    }
    store_integer(problem->inputs[RUN_LENS].data, problem->config.lens_type, token, len);
  }
  free(blocks);
}

void run_generate(run_problem *problem)
{
  float *row = sj_memory_get(problem->config.head_dim, sizeof *row);
  make_queries(problem, row);
  make_pool(problem, row);
  make_windows(problem);
  free(row);
}
