/* SPDX-License-Identifier: Apache-2.0 */
#include "tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "memory.h"

enum {
  ROTATED_BYTES = 400 << 20, /* far above any L2 cache */
  MOST_SETS = 1000,          /* nodes of a graph */
  LEAST_SETS = 2,
  PATTERN_BYTES = 8 << 20 /* random bytes that are repeated through the large tensors */
};

static uint64_t next_random(uint64_t *state)
{
  uint64_t x = *state; /* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

/* Nearly normal, deviation 1. */
static float random_normal(uint64_t *state)
{
  uint64_t bits = next_random(state);
  double sum =
      (double)(bits & 0xFFFF) + (double)(bits >> 16 & 0xFFFF) + (double)(bits >> 32 & 0xFFFF) + (double)(bits >> 48);
  return (float)((sum / 65535.0 - 2.0) * sqrt(3.0));
}

static uint64_t q_set_bytes(const bench_tensors *t, uint32_t num_tokens)
{
  return (uint64_t)num_tokens * t->num_heads * t->head_dim * 2;
}

uint32_t bench_tensors_num_sets(const bench_tensors *t, uint32_t num_tokens)
{
  uint64_t set_bytes = 2 * q_set_bytes(t, num_tokens) + (uint64_t)num_tokens * t->window_size * sizeof(int32_t);
  uint64_t sets = (ROTATED_BYTES + set_bytes - 1) / set_bytes;
  return sets > MOST_SETS ? MOST_SETS : sets < LEAST_SETS ? LEAST_SETS : (uint32_t)sets;
}

bench_set bench_tensors_set(const bench_tensors *t, uint32_t num_tokens, uint32_t set)
{
  uint64_t first = (uint64_t)set * num_tokens;
  bench_set addresses = {.q = t->q + set * q_set_bytes(t, num_tokens),
                         .out = t->out + set * q_set_bytes(t, num_tokens),
                         .indices = t->indices + first * t->window_size * sizeof(int32_t),
                         .lse = t->lse + first * t->num_heads * sizeof(float)};
  return addresses;
}

uint64_t bench_tensors_traffic(const bench_tensors *t, uint32_t num_tokens)
{
  return 2 * q_set_bytes(t, num_tokens)
         + (uint64_t)num_tokens * t->window_size * ((uint64_t)t->head_dim + sizeof(int32_t));
}

static bool fill_repeated(sj_device *device, sj_address to, uint64_t bytes, const void *pattern, uint64_t pattern_bytes)
{
  for (uint64_t at = 0; at < bytes; at += pattern_bytes) {
    if (!sj_device_write(device, to + at, pattern, bytes - at < pattern_bytes ? bytes - at : pattern_bytes)) {
      return false;
    }
  }
  return true;
}

static bool fill_q(sj_device *device, const bench_tensors *t, uint64_t *random)
{
  size_t count = PATTERN_BYTES / sizeof(uint16_t);
  uint16_t *pattern = sj_memory_get(count, sizeof *pattern);
  for (size_t i = 0; i < count; i++) {
    pattern[i] = sj_encode_bf16(random_normal(random));
  }
  bool filled = fill_repeated(device, t->q, t->q_bytes, pattern, PATTERN_BYTES);
  free(pattern);
  return filled;
}

static bool fill_pool(sj_device *device, const bench_tensors *t, uint64_t *random)
{
  uint8_t *rows = sj_memory_get(PATTERN_BYTES, 1);
  float *scales = sj_memory_get(t->num_slots, sizeof *scales);
  for (size_t i = 0; i < PATTERN_BYTES; i++) {
    rows[i] = sj_encode_e4m3(random_normal(random));
  }
  for (uint32_t i = 0; i < t->num_slots; i++) {
    scales[i] = 0.5f + (float)(next_random(random) >> 40) * 0x1p-24f;
  }
  bool filled = fill_repeated(device, t->kv, (uint64_t)t->num_slots * t->head_dim, rows, PATTERN_BYTES)
                && sj_device_write(device, t->inv_scale, scales, t->num_slots * sizeof *scales);
  free(rows);
  free(scales);
  return filled;
}

static bool fill_integers(sj_device *device, const bench_tensors *t, uint64_t num_rows, uint32_t most_tokens,
                          uint64_t *random)
{
  size_t num_slots = num_rows * t->window_size;
  int32_t *slots = sj_memory_get(num_slots, sizeof *slots);
  int32_t *lens = sj_memory_get(most_tokens, sizeof *lens);
  for (size_t i = 0; i < num_slots; i++) {
    slots[i] = (int32_t)((next_random(random) >> 32) * t->num_slots >> 32);
  }
  for (uint32_t i = 0; i < most_tokens; i++) {
    lens[i] = (int32_t)t->window_size;
  }
  bool filled = sj_device_write(device, t->indices, slots, num_slots * sizeof *slots)
                && sj_device_write(device, t->lens, lens, most_tokens * sizeof *lens);
  free(slots);
  free(lens);
  return filled;
}

bool bench_tensors_make(sj_device *device, const bench_options *options, bench_tensors *tensors_out)
{
  bench_tensors *t = tensors_out;
  uint64_t random = 0x9E3779B97F4A7C15u;
  uint64_t num_rows = 0; /* tokens of all sets, at most */
  uint32_t most_tokens = 0;
  memset(t, 0, sizeof *t);
  t->num_heads = (uint32_t)options->num_heads;
  t->head_dim = (uint32_t)options->head_dim;
  t->window_size = (uint32_t)options->window_size;
  t->num_slots = (uint32_t)options->num_slots;
  for (uint32_t i = 0; i < options->tokens.count; i++) {
    uint32_t tokens = options->tokens.values[i];
    uint64_t rows = (uint64_t)tokens * bench_tensors_num_sets(t, tokens);
    num_rows = rows > num_rows ? rows : num_rows;
    most_tokens = tokens > most_tokens ? tokens : most_tokens;
  }
  t->q_bytes = num_rows * t->num_heads * t->head_dim * 2;
  bool made = sj_device_alloc(device, t->q_bytes, &t->q) && sj_device_alloc(device, t->q_bytes, &t->out)
              && sj_device_alloc(device, num_rows * t->window_size * sizeof(int32_t), &t->indices)
              && sj_device_alloc(device, most_tokens * sizeof(int32_t), &t->lens)
              && sj_device_alloc(device, num_rows * t->num_heads * sizeof(float), &t->lse)
              && sj_device_alloc(device, (uint64_t)t->num_slots * t->head_dim, &t->kv)
              && sj_device_alloc(device, t->num_slots * sizeof(float), &t->inv_scale) && fill_q(device, t, &random)
              && fill_pool(device, t, &random) && fill_integers(device, t, num_rows, most_tokens, &random)
              && sj_device_fill(device, t->out, 0, t->q_bytes);
  if (!made) {
    bench_tensors_free(device, t);
  }
  return made;
}

void bench_tensors_free(sj_device *device, bench_tensors *t)
{
  const sj_address all[] = {t->q, t->out, t->indices, t->lens, t->lse, t->kv, t->inv_scale};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    sj_device_free(device, all[i]);
  }
  memset(t, 0, sizeof *t);
}
