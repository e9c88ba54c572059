/* SPDX-License-Identifier: Apache-2.0 */
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kv_formats.h"
#include "memory.h"
#include "reference.h"
#include "write_row.h"

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
static double uniform(generator *g)
{
  return ((double)(next(g) >> 41) + 0.5) * 0x1p-23;
}

/* Normal, scaled to a root mean square of 1 as an RMS norm leaves a row. */
static void make_row(generator *g, double *row, uint32_t head_dim)
{
  double sum = 0.0;
  for (uint32_t i = 0; i < head_dim; i += 2) { /* head_dim is even; two numbers at a time (Box and Muller, 1958) */
    double radius = sqrt(-2.0 * log(uniform(g)));
    double angle = 6.283185307179586 * uniform(g);
    row[i] = radius * cos(angle);
    row[i + 1] = radius * sin(angle);
    sum += row[i] * row[i] + row[i + 1] * row[i + 1];
  }
  double factor = 1.0 / sqrt(sum / head_dim);
  for (uint32_t i = 0; i < head_dim; i++) {
    row[i] *= factor;
  }
}

/* ---- tensors ---------------------------------------------------------------------------------------------- */

static void make_queries(run_problem *problem, double *row)
{
  uint16_t *q = problem->tensors[RUN_Q].data;
  uint32_t head_dim = problem->config.head_dim;
  uint64_t num_rows = (uint64_t)problem->num_tokens * problem->num_heads;
  for (uint64_t i = 0; i < num_rows; i++) {
    generator g = start(problem, RUN_Q, i);
    make_row(&g, row, head_dim);
    for (uint32_t d = 0; d < head_dim; d++) {
      q[i * head_dim + d] = sj_reference_bf16_from_double(row[d]);
    }
  }
}

/* About the size of LSE: neither without effect nor all that counts. */
static void make_sinks(run_problem *problem)
{
  float *sinks = problem->tensors[RUN_SINKS].data;
  generator g = start(problem, RUN_SINKS, 0);
  uint32_t positions = problem->config.window_size + problem->config.extra_size;
  for (uint32_t i = 0; i < problem->num_heads && sinks != NULL; i++) {
    sinks[i] = (float)(log(positions) + 4.0 * uniform(&g) - 2.0);
  }
}

/* A row of a pool, numbered by slot and KV head. */
static void make_pool_row(const run_problem *problem, enum run_pool_kind kind, uint64_t number, double *row)
{
  generator g = start(problem, run_pool_rows(kind), number);
  make_row(&g, row, problem->pools[kind].head_dim);
}

/* The scale of a pool of e4m3: of its largest element. */
static void choose_scale(run_problem *problem, enum run_pool_kind kind, double *row)
{
  run_pool *pool = &problem->pools[kind];
  double largest = 0.0;
  for (uint64_t i = 0; i < pool->num_blocks * pool->block_size * pool->num_kv_heads; i++) {
    make_pool_row(problem, kind, i, row);
    largest = fmax(largest, sj_reference_largest(row, pool->head_dim));
  }
  pool->scale = (float)sj_reference_e4m3_scale(largest);
}

static void make_pool(run_problem *problem, enum run_pool_kind kind, double *row)
{
  run_pool *pool = &problem->pools[kind];
  const run_tensor *scales = &problem->tensors[run_pool_scales(kind)];
  if (pool->kv_format == SWA_JIT_KV_E4M3) {
    choose_scale(problem, kind, row);
  }
  for (uint64_t slot = 0; slot < pool->num_blocks * pool->block_size; slot++) {
    for (uint32_t kv_head = 0; kv_head < pool->num_kv_heads; kv_head++) {
      uint64_t number = slot * pool->num_kv_heads + kv_head;
      make_pool_row(problem, kind, number, row);
      run_write_row(pool, problem->tensors[run_pool_rows(kind)].data, scales->data, problem->config.scale_type, slot,
                    kv_head, row);
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
static uint32_t *make_block_table(const run_problem *problem, enum run_input indices, const run_pool *pool)
{
  uint32_t *blocks = sj_memory_get(pool->num_blocks, sizeof *blocks);
  generator g = start(problem, indices, UINT64_MAX);
  for (uint32_t i = 0; i < pool->num_blocks; i++) {
    uint32_t other = (uint32_t)below(&g, (uint64_t)i + 1);
    blocks[i] = blocks[other];
    blocks[other] = i;
  }
  return blocks;
}

/* Each token is another sequence: its positions are a run over the next blocks of the table, and begin anywhere in the
 * first of them. Every fourth token is young: it has fewer. */
static void make_positions(run_problem *problem, enum run_input indices, enum run_input lens, const run_pool *pool,
                           uint32_t size)
{
  uint64_t block_size = pool->block_size;
  uint64_t blocks_per_token = (size + block_size - 1) / block_size + 1;
  uint32_t *blocks = make_block_table(problem, indices, pool);
  for (uint32_t token = 0; token < problem->num_tokens; token++) {
    generator g = start(problem, indices, token);
    uint64_t first = below(&g, block_size);
    uint64_t len = token % 4 == 3 ? 1 + below(&g, size) : size;
    for (uint32_t i = 0; i < size; i++) {
      uint64_t position = first + i;
      uint64_t block = blocks[(token * blocks_per_token + position / block_size) % pool->num_blocks];
      store_integer(problem->tensors[indices].data, problem->config.index_type, (uint64_t)token * size + i,
                    block * block_size + position % block_size);
    }
    store_integer(problem->tensors[lens].data, problem->config.lens_type, token, len);
  }
  free(blocks);
}

void run_generate(run_problem *problem)
{
  const swa_jit_config *config = &problem->config;
  double *row =
      sj_memory_get(config->head_dim > config->head_dim_v ? config->head_dim : config->head_dim_v, sizeof *row);
  make_queries(problem, row);
  make_sinks(problem);
  for (enum run_pool_kind kind = 0; kind < RUN_NUM_POOLS; kind++) {
    if (problem->pools[kind].num_blocks != 0) {
      make_pool(problem, kind, row);
    }
  }
  make_positions(problem, RUN_INDICES, RUN_LENS, &problem->pools[RUN_POOL_K], config->window_size);
  if (config->extra_size != 0) {
    make_positions(problem, RUN_EXTRA_INDICES, RUN_EXTRA_LENS, &problem->pools[RUN_POOL_EXTRA], config->extra_size);
  }
  free(row);
}
