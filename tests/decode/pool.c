/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kv_formats.h"
#include "random.h"
#include "reference.h"
#include "rows.h"

enum { MOST_CANDIDATES = 16384, CANDIDATES_OF_LARGE = 2048, LARGE_POOL_BYTES = 1 << 28 };
enum { HEAD_GAP = 16, V_HEAD_GAP = 48 };

/* ---- geometry --------------------------------------------------------------------------------------------- */

static void set_strides(decode_pool *pool, uint32_t layout, size_t slot_gap, size_t block_gap)
{
  size_t head_gap = layout != DECODE_KV_PADDED ? 0 : pool->kind == DECODE_POOL_V ? V_HEAD_GAP : HEAD_GAP;

  if (layout == DECODE_KV_HEADS_OUTSIDE) {
    pool->slot_stride = pool->row_bytes + slot_gap;
    pool->head_stride = pool->block_size * pool->slot_stride;
    pool->block_stride = pool->num_kv_heads * pool->head_stride + block_gap;
    return;
  }
  pool->head_stride = pool->row_bytes + head_gap;
  pool->slot_stride = pool->num_kv_heads * pool->head_stride + slot_gap;
  pool->block_stride = pool->block_size * (pool->slot_stride + pool->scale_row_bytes) + block_gap;
}

static void set_extent(decode_pool *pool, uint64_t num_blocks)
{
  pool->num_slots = pool->block_size * num_blocks;
  pool->num_candidates = pool->num_slots > MOST_CANDIDATES ? CANDIDATES_OF_LARGE : (uint32_t)pool->num_slots;
  if (pool->num_slots == 0) {
    pool->bytes = 0;
  } else if (pool->scale_row_bytes != 0) {
    pool->bytes = decode_pool_scale_row_offset(pool, pool->num_slots - 1) + pool->scale_row_bytes;
  } else {
    pool->bytes = decode_pool_row_offset(pool, pool->num_slots - 1, pool->num_kv_heads - 1) + pool->row_bytes;
  }
}

void decode_pool_plan(const decode_case *which, enum decode_pool_kind kind, decode_pool *pool_out)
{
  bool extra = kind == DECODE_POOL_EXTRA;
  bool v = kind == DECODE_POOL_V;
  bool exists = extra ? which->extra_size != 0 : !v || which->head_dim_v != 0;
  uint32_t kv_format = extra ? which->extra_format : which->kv_format;
  uint32_t head_dim = v ? which->head_dim_v : which->head_dim;
  const sj_reference_footer *footer = sj_reference_find_footer(kv_format);

  *pool_out = (decode_pool){
      .kind = kind,
      .kv_format = kv_format,
      .head_dim = head_dim,
      .num_kv_heads = extra ? 1 : which->num_kv_heads,
      .block_size = extra ? which->extra_block_size : which->block_size,
      .row_bytes = sj_reference_row_bytes(kv_format, head_dim),
      .scale_row_bytes = footer != NULL ? footer->scale_row_bytes : 0,
  };
  set_strides(pool_out, extra ? DECODE_KV_CONTIGUOUS : which->kv_layout,
              extra ? which->extra_slot_gap
              : v   ? which->v_slot_gap
                    : which->slot_gap,
              extra ? which->extra_block_gap
              : v   ? which->v_block_gap
                    : which->block_gap);
  set_extent(pool_out, !exists ? 0 : extra ? which->extra_num_blocks : which->num_blocks);
}

size_t decode_pool_inv_scale_bytes(const decode_case *which, const decode_pool *pool)
{
  size_t scale_bytes = which->scale_type == SWA_JIT_BFLOAT16 ? 2 : 4;

  return pool->kv_format == SWA_JIT_KV_E4M3_SLOT ? pool->num_slots * pool->num_kv_heads * scale_bytes : 0;
}

bool decode_pool_is_sparse(const decode_pool *pool)
{
  return pool->bytes > LARGE_POOL_BYTES;
}

uint64_t decode_pool_slot(const decode_pool *pool, uint32_t candidate)
{
  bool low_half = candidate < pool->num_candidates / 2;

  return low_half ? candidate : pool->num_slots - pool->num_candidates + candidate;
}

uint32_t decode_pool_candidate(const decode_pool *pool, uint64_t slot)
{
  uint64_t above = pool->num_slots - pool->num_candidates;

  return (uint32_t)(slot < pool->num_candidates / 2 ? slot : slot - above);
}

size_t decode_pool_row_offset(const decode_pool *pool, uint64_t slot, uint32_t kv_head)
{
  return slot / pool->block_size * pool->block_stride + slot % pool->block_size * pool->slot_stride
         + kv_head * pool->head_stride;
}

size_t decode_pool_scale_row_offset(const decode_pool *pool, uint64_t slot)
{
  return slot / pool->block_size * pool->block_stride + pool->block_size * (size_t)pool->row_bytes
         + slot % pool->block_size * pool->scale_row_bytes;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static size_t mapped_bytes(const decode_pool *pool)
{
  return pool->bytes + 16;
}

bool decode_pool_allocate(decode_pool *pool)
{
  void *rows =
      mmap(NULL, mapped_bytes(pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  pool->rows = rows == MAP_FAILED ? NULL : rows;
  pool->inv_scale = malloc(pool->num_slots * pool->num_kv_heads * sizeof(float) + 16);
  return pool->rows != NULL && pool->inv_scale != NULL;
}

void decode_pool_free(decode_pool *pool)
{
  if (pool->rows != NULL) {
    (void)munmap(pool->rows, mapped_bytes(pool));
    pool->rows = NULL;
  }
  free(pool->inv_scale);
  pool->inv_scale = NULL;
}

/* ---- what rows hold --------------------------------------------------------------------------------------- */

static bool has_special_scales(const decode_case *which)
{
  return which->scales == DECODE_SCALES_INF || which->scales == DECODE_SCALES_NAN;
}

bool decode_pool_has_special(const decode_case *which, const decode_pool *pool)
{
  return pool->num_candidates >= 16
         && (which->codes == DECODE_CODES_NAN || which->codes == DECODE_CODES_NULL || has_special_scales(which)
             || which->scale_bytes == DECODE_SCALE_BYTES_NAN);
}

bool decode_pool_is_special(const decode_case *which, const decode_pool *pool, uint32_t candidate)
{
  return decode_pool_has_special(which, pool) && candidate % 16 == 15;
}

/* Which of a special candidate's rows is the special one: of one KV head only, so that the others must stay clean, and
 * of K or of V where they lie apart. */
static bool is_special_row(const decode_case *which, const decode_pool *pool, uint32_t candidate, uint32_t kv_head)
{
  bool apart = which->head_dim_v != 0;
  bool here = !apart || (pool->kind == DECODE_POOL_K) == (candidate % 32 == 15);

  return decode_pool_is_special(which, pool, candidate) && here && kv_head == candidate / 32 % pool->num_kv_heads;
}

static double draw_scale(const decode_case *which, random_stream *random, uint32_t at, bool special)
{
  static const double specials[] = {1.5, 0x1p-126, 0.0, -0.75, 0x1p-127, 1.0, -0.0};
  double spread = exp2((double)random_below(random, 1 << 24) / (1 << 22) - 2.0); /* 1/4 to 4 */

  switch (which->scales) {
  case DECODE_SCALES_RANDOM:
    return spread;
  case DECODE_SCALES_SIGNED:
    return random_below(random, 2) == 0 ? spread : -spread;
  case DECODE_SCALES_REAL:
    return spread / 100.0;
  case DECODE_SCALES_LARGE:
    return spread * 50000.0;
  case DECODE_SCALES_SPECIAL:
    return specials[at % 7];
  case DECODE_SCALES_INF:
    return special ? (double)INFINITY : spread;
  case DECODE_SCALES_NAN:
    return special ? (double)NAN : spread;
  default:
    return 1.0;
  }
}

float decode_pool_scale(const decode_case *which, enum decode_pool_kind kind)
{
  random_stream random = random_start(which->seed, RANDOM_FOR_POOL_SCALES, kind);

  return (float)draw_scale(which, &random, which->seed + kind, false);
}

static void write_scale(const decode_case *which, decode_pool *pool, uint64_t at, double value)
{
  if (which->scale_type == SWA_JIT_BFLOAT16) {
    ((uint16_t *)pool->inv_scale)[at] = sj_reference_bf16_from_double(value);
  } else {
    ((float *)pool->inv_scale)[at] = (float)value;
  }
}

static void poison_row(decode_pool *pool, uint64_t slot, uint32_t kv_head)
{
  bool has_bf16 = pool->kv_format == SWA_JIT_KV_BF16 || pool->kv_format == SWA_JIT_KV_FOOTER_584;
  int byte = has_bf16 ? 0xFF : 0x7F; /* NaN; the rest of the pool is the negative one */
  uint8_t *row = pool->rows + decode_pool_row_offset(pool, slot, kv_head);

  memset(row, byte, pool->row_bytes);
  if (pool->scale_row_bytes != 0) {
    memset(pool->rows + decode_pool_scale_row_offset(pool, slot), 0xFF, pool->scale_row_bytes);
  }
}

static void fill_slot(const decode_case *which, decode_pool *pool, uint32_t candidate, uint32_t kv_head,
                      const double *base)
{
  static const uint32_t row_purposes[] = {RANDOM_FOR_ROWS, RANDOM_FOR_V_ROWS, RANDOM_FOR_EXTRA_ROWS};
  static const uint32_t scale_purposes[] = {RANDOM_FOR_SCALES, RANDOM_FOR_V_SCALES, RANDOM_FOR_EXTRA_SCALES};
  uint64_t slot = decode_pool_slot(pool, candidate);
  uint64_t at = (uint64_t)kv_head << 32 | candidate;
  bool special = is_special_row(which, pool, candidate, kv_head);
  random_stream random = random_start(which->seed, row_purposes[pool->kind], at);
  random_stream scales = random_start(which->seed, scale_purposes[pool->kind], at);
  const row_place place = {.row = pool->rows + decode_pool_row_offset(pool, slot, kv_head),
                           .scales = pool->rows + decode_pool_scale_row_offset(pool, slot),
                           .kv_format = pool->kv_format,
                           .head_dim = pool->head_dim,
                           .number = candidate,
                           .special = special};

  row_write(which, &place, &random, base);
  if (pool->kv_format == SWA_JIT_KV_E4M3_SLOT) {
    write_scale(which, pool, slot * pool->num_kv_heads + kv_head, draw_scale(which, &scales, candidate, special));
  }
}

void decode_pool_fill(const decode_case *which, decode_pool *pool, const uint8_t *selected, const double *base)
{
  memset(pool->inv_scale, 0xFF, decode_pool_inv_scale_bytes(which, pool)); /* NaN */
  if (!decode_pool_is_sparse(pool)) {
    memset(pool->rows, 0xFF, pool->bytes);
  }
  for (uint32_t i = 0; i < pool->num_candidates; i++) {
    for (uint32_t kv_head = 0; kv_head < pool->num_kv_heads; kv_head++) {
      if (selected[i] != 0) {
        fill_slot(which, pool, i, kv_head, base);
      } else {
        poison_row(pool, decode_pool_slot(pool, i), kv_head);
      }
    }
  }
}
