/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kv_formats.h"
#include "memory.h"
#include "reference.h"

enum { ALIGNMENT = 16, LEAST_SCALE_BYTE = 122, NUM_SCALE_BYTES = 3 };

uint64_t bench_random_next(uint64_t *state)
{
  uint64_t x = *state; /* Marsaglia, "Xorshift RNGs", 2003 */
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

float bench_random_normal(uint64_t *state)
{
  uint64_t bits = bench_random_next(state);
  double sum =
      (double)(bits & 0xFFFF) + (double)(bits >> 16 & 0xFFFF) + (double)(bits >> 32 & 0xFFFF) + (double)(bits >> 48);
  return (float)((sum / 65535.0 - 2.0) * sqrt(3.0));
}

uint64_t bench_pool_slot_bytes(const bench_pool *pool)
{
  return (uint64_t)pool->num_kv_heads * pool->row_bytes + pool->scale_row_bytes;
}

bench_pool bench_pool_plan(uint32_t kv_format, uint32_t head_dim, uint32_t num_kv_heads, uint32_t block_size,
                           uint64_t num_slots, uint64_t least_bytes)
{
  const sj_reference_footer *footer = sj_reference_find_footer(kv_format);
  bench_pool pool = {.kv_format = kv_format,
                     .head_dim = head_dim,
                     .num_kv_heads = num_kv_heads,
                     .block_size = block_size,
                     .row_bytes = sj_reference_row_bytes(kv_format, head_dim),
                     .scale_row_bytes = footer != NULL ? footer->scale_row_bytes : 0};
  if (num_slots == 0) {
    for (num_slots = 1; num_slots * bench_pool_slot_bytes(&pool) < least_bytes; num_slots *= 2) {
    }
  }
  uint64_t num_blocks = num_slots < block_size ? 1 : num_slots / block_size;
  pool.num_slots = (uint32_t)(num_blocks * block_size);
  pool.block_bytes = (bench_pool_slot_bytes(&pool) * block_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return pool;
}

bool bench_pool_repeat(sj_device *device, sj_address to, uint64_t bytes, const void *pattern, uint64_t pattern_bytes)
{
  for (uint64_t at = 0; at < bytes; at += pattern_bytes) {
    if (!sj_device_write(device, to + at, pattern, bytes - at < pattern_bytes ? bytes - at : pattern_bytes)) {
      return false;
    }
  }
  return true;
}

static void write_bf16(uint8_t *to, size_t count, uint64_t *random)
{
  for (size_t i = 0; i < count; i++) {
    uint16_t bits = sj_reference_bf16_from_double((double)bench_random_normal(random));
    memcpy(to + 2 * i, &bits, sizeof bits);
  }
}

static void write_codes(uint8_t *to, size_t count, uint64_t *random)
{
  for (size_t i = 0; i < count; i++) {
    to[i] = sj_reference_e4m3_from_double((double)bench_random_normal(random));
  }
}

/* One block; what pads it is left alone. */
static void write_block(const bench_pool *pool, uint8_t *block, uint64_t *random)
{
  const sj_reference_footer *footer = sj_reference_find_footer(pool->kv_format);
  size_t rows_bytes = (size_t)pool->block_size * pool->num_kv_heads * pool->row_bytes;
  if (pool->kv_format == SWA_JIT_KV_BF16) {
    write_bf16(block, rows_bytes / 2, random);
  } else if (footer == NULL) {
    write_codes(block, rows_bytes, random);
  } else {
    for (uint32_t slot = 0; slot < pool->block_size; slot++) {
      uint8_t *row = block + (size_t)slot * pool->row_bytes;
      uint8_t *scales = block + rows_bytes + (size_t)slot * pool->scale_row_bytes;
      write_codes(row, footer->num_codes, random);
      write_bf16(row + footer->num_codes, (pool->row_bytes - footer->num_codes) / 2, random);
      for (uint32_t i = 0; i < footer->num_codes / footer->group; i++) {
        scales[i] = (uint8_t)(LEAST_SCALE_BYTE + bench_random_next(random) % NUM_SCALE_BYTES);
      }
    }
  }
}

static bool fill_rows(sj_device *device, const bench_pool *pool, uint64_t *random)
{
  uint64_t num_blocks = pool->num_slots / pool->block_size;
  uint64_t most = BENCH_PATTERN_BYTES / pool->block_bytes;
  uint64_t pattern_blocks = most < 1 ? 1 : most < num_blocks ? most : num_blocks;
  uint8_t *pattern = sj_memory_get(pattern_blocks, pool->block_bytes);
  for (uint64_t i = 0; i < pattern_blocks; i++) {
    write_block(pool, pattern + i * pool->block_bytes, random);
  }
  bool filled = bench_pool_repeat(device, pool->rows, num_blocks * pool->block_bytes, pattern,
                                  pattern_blocks * pool->block_bytes);
  free(pattern);
  return filled;
}

static bool fill_scales(sj_device *device, const bench_pool *pool, uint64_t *random)
{
  size_t count = (size_t)pool->num_slots * pool->num_kv_heads;
  float *scales = sj_memory_get(count, sizeof *scales);
  for (size_t i = 0; i < count; i++) {
    scales[i] = 0.5f + (float)(bench_random_next(random) >> 40) * 0x1p-24f;
  }
  bool filled = sj_device_write(device, pool->inv_scale, scales, count * sizeof *scales);
  free(scales);
  return filled;
}

bool bench_pool_make(sj_device *device, bench_pool *pool, uint64_t *random)
{
  if (pool->num_slots == 0) {
    return true;
  }
  uint64_t num_blocks = pool->num_slots / pool->block_size;
  if (!sj_device_alloc(device, num_blocks * pool->block_bytes, &pool->rows) || !fill_rows(device, pool, random)) {
    return false;
  }
  uint64_t scales = (uint64_t)pool->num_slots * pool->num_kv_heads;
  return pool->kv_format != SWA_JIT_KV_E4M3_SLOT
         || (sj_device_alloc(device, scales * sizeof(float), &pool->inv_scale) && fill_scales(device, pool, random));
}

void bench_pool_free(sj_device *device, bench_pool *pool)
{
  sj_device_free(device, pool->rows);
  sj_device_free(device, pool->inv_scale);
  pool->rows = pool->inv_scale = 0;
}
