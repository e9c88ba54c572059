/* SPDX-License-Identifier: Apache-2.0 */
#include "tensors.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "reference.h"

enum {
  ROTATED_BYTES = 400 << 20, /* far above any L2 cache */
  MOST_SETS = 1000,          /* nodes of a graph */
  LEAST_SETS = 2
};

static uint64_t q_set_bytes(const bench_tensors *t, bench_step step)
{
  return (uint64_t)step.num_tokens * step.num_heads * t->head_dim * 2;
}

static uint64_t out_set_bytes(const bench_tensors *t, bench_step step)
{
  return (uint64_t)step.num_tokens * step.num_heads * t->out_dim * 2;
}

uint32_t bench_tensors_num_sets(const bench_tensors *t, bench_step step)
{
  uint64_t set_bytes = q_set_bytes(t, step) + out_set_bytes(t, step)
                       + (uint64_t)step.num_tokens * (t->window_size + t->extra_size) * sizeof(int32_t);
  uint64_t sets = (ROTATED_BYTES + set_bytes - 1) / set_bytes;
  return sets > MOST_SETS ? MOST_SETS : sets < LEAST_SETS ? LEAST_SETS : (uint32_t)sets;
}

bench_set bench_tensors_set(const bench_tensors *t, bench_step step, uint32_t set)
{
  uint64_t first = (uint64_t)set * step.num_tokens;
  bench_set addresses = {.q = t->q + set * q_set_bytes(t, step),
                         .out = t->out + set * out_set_bytes(t, step),
                         .indices = t->indices + first * t->window_size * sizeof(int32_t),
                         .extra_indices = t->extra_indices + first * t->extra_size * sizeof(int32_t),
                         .lse = t->lse + first * step.num_heads * sizeof(float)};
  return addresses;
}

uint64_t bench_tensors_traffic(const bench_tensors *t, bench_step step)
{
  uint64_t position = bench_pool_slot_bytes(&t->k) + bench_pool_slot_bytes(&t->v) + sizeof(int32_t);
  uint64_t extra_position = bench_pool_slot_bytes(&t->extra) + sizeof(int32_t);
  return q_set_bytes(t, step) + out_set_bytes(t, step)
         + step.num_tokens * (t->window_size * position + t->extra_size * extra_position);
}

/* ---- shapes ---- */

static void widen(uint64_t value, uint64_t *most)
{
  *most = value > *most ? value : *most;
}

static void add_step(bench_tensors *t, bench_step step)
{
  uint64_t sets = bench_tensors_num_sets(t, step);
  widen(sets * q_set_bytes(t, step), &t->q_bytes);
  widen(sets * out_set_bytes(t, step), &t->out_bytes);
  widen(sets * step.num_tokens, &t->num_rows);
  widen(sets * step.num_tokens * step.num_heads, &t->num_lses);
  t->most_tokens = step.num_tokens > t->most_tokens ? step.num_tokens : t->most_tokens;
  t->most_heads = step.num_heads > t->most_heads ? step.num_heads : t->most_heads;
}

void bench_tensors_plan(const bench_options *options, bench_tensors *tensors_out)
{
  const swa_jit_config *config = &options->config;
  uint32_t num_kv_heads = (uint32_t)options->num_kv_heads;
  uint32_t block_size = (uint32_t)options->block_size;
  bench_tensors *t = tensors_out;
  memset(t, 0, sizeof *t);
  t->head_dim = config->head_dim;
  t->out_dim = config->head_dim_v != 0 ? config->head_dim_v : config->head_dim;
  t->window_size = config->window_size;
  t->extra_size = config->extra_size;
  t->soft_cap = (float)options->soft_cap;
  t->has_sinks = config->sinks != 0;
  t->k = bench_pool_plan(config->kv_format, t->head_dim, num_kv_heads, block_size, options->num_slots, ROTATED_BYTES);
  if (config->head_dim_v != 0) { /* the same slots */
    t->v = bench_pool_plan(config->kv_format, t->out_dim, num_kv_heads, block_size, t->k.num_slots, 0);
  }
  if (config->extra_size != 0) {
    t->extra = bench_pool_plan(config->extra_format, t->head_dim, 1, (uint32_t)options->extra_block_size,
                               options->num_slots, ROTATED_BYTES);
  }
  t->q_bytes = t->out_bytes = ROTATED_BYTES / 2; /* for the copy to rotate over, however small the sets */
  for (uint32_t heads = 0; heads < options->num_heads.count; heads++) {
    for (uint32_t tokens = 0; tokens < options->tokens.count; tokens++) {
      add_step(t, (bench_step){options->tokens.values[tokens], options->num_heads.values[heads]});
    }
  }
}

/* ---- data ---- */

static bool fill_q(sj_device *device, const bench_tensors *t, uint64_t *random)
{
  size_t count = BENCH_PATTERN_BYTES / sizeof(uint16_t);
  uint16_t *pattern = sj_memory_get(count, sizeof *pattern);
  for (size_t i = 0; i < count; i++) {
    pattern[i] = sj_reference_bf16_from_double((double)bench_random_normal(random));
  }
  bool filled = bench_pool_repeat(device, t->q, t->q_bytes, pattern, BENCH_PATTERN_BYTES);
  free(pattern);
  return filled;
}

static bool fill_indices(sj_device *device, sj_address to, size_t count, uint32_t num_slots, uint64_t *random)
{
  int32_t *slots = sj_memory_get(count, sizeof *slots);
  for (size_t i = 0; i < count; i++) {
    slots[i] = (int32_t)((bench_random_next(random) >> 32) * num_slots >> 32);
  }
  bool filled = sj_device_write(device, to, slots, count * sizeof *slots);
  free(slots);
  return filled;
}

static bool fill_lens(sj_device *device, const bench_tensors *t)
{
  int32_t *lens = sj_memory_get(t->most_tokens, sizeof *lens);
  for (uint32_t i = 0; i < t->most_tokens; i++) {
    lens[i] = (int32_t)t->window_size;
  }
  bool filled = sj_device_write(device, t->lens, lens, t->most_tokens * sizeof *lens);
  free(lens);
  return filled;
}

static bool fill_sinks(sj_device *device, const bench_tensors *t, uint64_t *random)
{
  float *sinks = sj_memory_get(t->most_heads, sizeof *sinks);
  for (uint32_t i = 0; i < t->most_heads; i++) {
    sinks[i] = bench_random_normal(random);
  }
  bool filled = sj_device_write(device, t->sinks, sinks, t->most_heads * sizeof *sinks);
  free(sinks);
  return filled;
}

static bool make_extra(sj_device *device, bench_tensors *t, uint64_t *random)
{
  size_t count = (size_t)t->num_rows * t->extra_size;
  return count == 0
         || (bench_pool_make(device, &t->extra, random)
             && sj_device_alloc(device, count * sizeof(int32_t), &t->extra_indices)
             && fill_indices(device, t->extra_indices, count, t->extra.num_slots, random));
}

bool bench_tensors_make(sj_device *device, bench_tensors *t)
{
  uint64_t random = 0x9E3779B97F4A7C15u;
  size_t num_indices = (size_t)t->num_rows * t->window_size;
  bool made = sj_device_alloc(device, t->q_bytes, &t->q) && sj_device_alloc(device, t->out_bytes, &t->out)
              && sj_device_alloc(device, num_indices * sizeof(int32_t), &t->indices)
              && sj_device_alloc(device, t->most_tokens * sizeof(int32_t), &t->lens)
              && sj_device_alloc(device, t->num_lses * sizeof(float), &t->lse)
              && sj_device_alloc(device, t->most_heads * sizeof(float), &t->sinks) && fill_q(device, t, &random)
              && bench_pool_make(device, &t->k, &random) && bench_pool_make(device, &t->v, &random)
              && fill_indices(device, t->indices, num_indices, t->k.num_slots, &random) && fill_lens(device, t)
              && fill_sinks(device, t, &random) && make_extra(device, t, &random)
              && sj_device_fill(device, t->out, 0, t->out_bytes);
  if (!made) {
    bench_tensors_free(device, t);
  }
  return made;
}

void bench_tensors_free(sj_device *device, bench_tensors *t)
{
  const sj_address all[] = {t->q, t->out, t->indices, t->extra_indices, t->lens, t->lse, t->sinks};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    sj_device_free(device, all[i]);
  }
  bench_pool_free(device, &t->k);
  bench_pool_free(device, &t->v);
  bench_pool_free(device, &t->extra);
  memset(t, 0, sizeof *t);
}
