/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"
#include "pool.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const uint32_t head_dims[] = {64, 96, 128, 192, 256, 512};
static const uint32_t head_groups[] = {8, 16, 32, 64, 128};
static const uint32_t kv_tiles[] = {16, 32, 64, 128};
static const uint32_t block_sizes[] = {1, 2, 16, 32, 53, 64, 256};

static uint32_t pick(random_stream *random, const uint32_t *values, size_t count)
{
  return values[random_below(random, (uint32_t)count)];
}

/* Keeps the reference affordable: tokens * heads * window * head_dim. */
static void limit_work(decode_case *which)
{
  const uint64_t most = 48u << 20;
  uint64_t row = (uint64_t)which->window_size * which->head_dim;

  while (which->num_tokens > 1 && row * which->num_heads * which->num_tokens > most) {
    which->num_tokens--;
  }
  while (which->num_heads > 1 && row * which->num_heads > most) {
    which->num_heads = which->num_heads / 2;
  }
}

static void draw_shape(random_stream *random, decode_case *which)
{
  static const uint32_t heads[] = {1, 3, 8, 12, 16, 24, 32, 64, 65, 96, 127, 128};
  static const uint32_t windows[] = {1, 7, 16, 100, 127, 128, 128, 128, 129, 192, 256, 500, 1024, 2048};

  which->head_dim = pick(random, head_dims, COUNT(head_dims));
  which->head_group = pick(random, head_groups, COUNT(head_groups));
  which->kv_tile = pick(random, kv_tiles, COUNT(kv_tiles));
  which->window_size =
      random_below(random, 4) == 0 ? 1 + random_below(random, 600) : pick(random, windows, COUNT(windows));
  which->num_heads = pick(random, heads, COUNT(heads));
  which->num_tokens = 1 + random_below(random, 40);
  which->block_size = pick(random, block_sizes, COUNT(block_sizes));
  which->num_blocks = 1 + (200 + random_below(random, 2000)) / which->block_size;
  limit_work(which);
}

void decode_grid_random(uint32_t seed, decode_case *which_out)
{
  static const uint32_t lens[] = {DECODE_LENS_FULL, DECODE_LENS_UNIFORM, DECODE_LENS_UNIFORM, DECODE_LENS_EDGES,
                                  DECODE_LENS_GAPS};
  static const uint32_t slots[] = {DECODE_SLOTS_RANDOM, DECODE_SLOTS_RANDOM, DECODE_SLOTS_MASKED_SOME,
                                   DECODE_SLOTS_MASKED_HALF, DECODE_SLOTS_SAME};
  static const uint32_t scales[] = {DECODE_SCALES_ONE, DECODE_SCALES_RANDOM, DECODE_SCALES_SIGNED, DECODE_SCALES_REAL,
                                    DECODE_SCALES_REAL};
  random_stream random = random_start(seed, RANDOM_FOR_GRID, 0);

  decode_case_init(which_out);
  draw_shape(&random, which_out);
  which_out->lens = pick(&random, lens, COUNT(lens));
  which_out->slots = pick(&random, slots, COUNT(slots));
  which_out->scales = pick(&random, scales, COUNT(scales));
  which_out->scores = random_below(&random, 5);
  which_out->index_type = random_below(&random, 2);
  which_out->lens_type = random_below(&random, 2);
  which_out->scale_type = random_below(&random, 2);
  which_out->lse = random_below(&random, 8) == 0 ? 1 + random_below(&random, 2) : DECODE_LSE_WRITTEN;
  which_out->q_layout = random_below(&random, 4);
  which_out->out_layout = random_below(&random, 4);
  which_out->slot_gap = random_below(&random, 4) == 0 ? 16 * (1 + random_below(&random, 8)) : 0;
  which_out->block_gap = random_below(&random, 3) == 0 ? 16 * (1 + random_below(&random, 400)) : 0;
  which_out->index_gap = random_below(&random, 2) * random_below(&random, 9);
  which_out->lse_gap = random_below(&random, 2) * random_below(&random, 9);
  which_out->seed = seed;
}

/* ---- the general form ------------------------------------------------------------------------------------- */

static bool is_footer(uint32_t kv_format)
{
  return kv_format == SWA_JIT_KV_FOOTER_584 || kv_format == SWA_JIT_KV_FOOTER_528;
}

static bool one_in(random_stream *random, uint32_t count)
{
  return random_below(random, count) == 0;
}

static void draw_grouped(random_stream *random, decode_case *which)
{
  static const uint32_t counts[] = {1, 2, 3, 4, 8};
  static const uint32_t groups[] = {1, 2, 3, 4, 5, 8, 8, 12, 16, 17};

  which->kv_format = random_below(random, 3);
  which->num_kv_heads = pick(random, counts, COUNT(counts));
  which->num_heads = which->num_kv_heads * pick(random, groups, COUNT(groups));
  which->kv_layout = random_below(random, 3);
  if (one_in(random, 4)) {
    return;
  }
  which->head_dim_v = one_in(random, 2) ? which->head_dim : pick(random, head_dims, COUNT(head_dims));
  which->v_indices = random_below(random, 2);
  which->v_slot_gap = one_in(random, 4) ? 16 * (1 + random_below(random, 8)) : 0;
  which->v_block_gap = one_in(random, 3) ? 16 * (1 + random_below(random, 400)) : 0;
}

static void draw_extra(random_stream *random, decode_case *which)
{
  static const uint32_t sizes[] = {1, 7, 64, 100, 128, 300, 512, 512, 513, 1024};
  static const uint32_t lens[] = {DECODE_LENS_NULL,  DECODE_LENS_FULL, DECODE_LENS_UNIFORM, DECODE_LENS_UNIFORM,
                                  DECODE_LENS_EDGES, DECODE_LENS_GAPS, DECODE_LENS_ZERO};
  static const uint32_t coded[] = {SWA_JIT_KV_E4M3_SLOT, SWA_JIT_KV_E4M3, SWA_JIT_KV_FOOTER_584, SWA_JIT_KV_FOOTER_528};

  which->extra_size = pick(random, sizes, COUNT(sizes));
  which->extra_lens = pick(random, lens, COUNT(lens));
  which->kv_format = random_below(random, 5);
  which->extra_format =
      one_in(random, 2) || which->kv_format == SWA_JIT_KV_BF16 ? which->kv_format : pick(random, coded, COUNT(coded));
  which->extra_block_size = pick(random, block_sizes, COUNT(block_sizes));
  which->extra_num_blocks = 1 + (200 + random_below(random, 2000)) / which->extra_block_size;
  which->extra_block_gap = one_in(random, 3) ? 16 * (1 + random_below(random, 400)) : 0;
}

/* Patterns of what rows hold, by the formats that there are. */
static void draw_contents(random_stream *random, decode_case *which)
{
  static const uint32_t scale_bytes[] = {DECODE_SCALE_BYTES_REAL, DECODE_SCALE_BYTES_REAL,   DECODE_SCALE_BYTES_NEAR,
                                         DECODE_SCALE_BYTES_ONE,  DECODE_SCALE_BYTES_RANDOM, DECODE_SCALE_BYTES_NAN};
  bool extra = which->extra_size != 0;
  bool footer = is_footer(which->kv_format) || (extra && is_footer(which->extra_format));
  bool slot_scales = which->kv_format == SWA_JIT_KV_E4M3_SLOT || (extra && which->extra_format == SWA_JIT_KV_E4M3_SLOT);

  if (footer || which->kv_format == SWA_JIT_KV_BF16) { /* REAL ones are made up for in q, for all rows */
    which->scales = DECODE_SCALES_ONE;
  }
  which->scale_type = slot_scales ? which->scale_type : SWA_JIT_FLOAT32;
  which->scale_bytes = footer ? pick(random, scale_bytes, COUNT(scale_bytes)) : DECODE_SCALE_BYTES_REAL;
  which->bf16 = which->kv_format == SWA_JIT_KV_BF16 && one_in(random, 4) ? DECODE_BF16_LARGE : DECODE_BF16_NORMAL;
  which->codes = one_in(random, 8) ? DECODE_CODES_NAN : DECODE_CODES_NORMAL;
}

/* A footer has rows of 512 elements without gaps, and blocks at multiples of 16 bytes. */
static void fit_footers(decode_case *which)
{
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
    bool extra = kind == DECODE_POOL_EXTRA;
    decode_pool pool;

    decode_pool_plan(which, kind, &pool);
    if (pool.num_slots == 0 || !is_footer(pool.kv_format)) {
      continue;
    }
    which->head_dim = 512;
    *(extra ? &which->extra_slot_gap : &which->slot_gap) = 0;
    decode_pool_plan(which, kind, &pool);
    *(extra ? &which->extra_block_gap : &which->block_gap) += (uint32_t)(-pool.block_stride % 16);
  }
}

static void limit_general_work(decode_case *which)
{
  const uint64_t most = 48u << 20;

  for (;;) {
    uint64_t rows = (uint64_t)which->window_size + which->extra_size;
    uint64_t work = rows * (which->head_dim + which->head_dim_v) * which->num_heads * which->num_tokens;

    if (work <= most) {
      return;
    }
    if (which->num_tokens > 1) {
      which->num_tokens--;
    } else {
      which->window_size = (which->window_size + 1) / 2;
      which->extra_size = (which->extra_size + 1) / 2;
    }
  }
}

void decode_grid_random_general(uint32_t seed, decode_case *which_out)
{
  static const uint32_t sinks[] = {DECODE_SINKS_NONE,   DECODE_SINKS_NONE,   DECODE_SINKS_NULL,
                                   DECODE_SINKS_NORMAL, DECODE_SINKS_NORMAL, DECODE_SINKS_SPECIAL};
  random_stream random = random_start(seed, RANDOM_FOR_GRID, 1);

  decode_grid_random(seed, which_out);
  switch (random_below(&random, 3)) {
  case 0:
    which_out->kv_format = random_below(&random, 5);
    break;
  case 1:
    draw_grouped(&random, which_out);
    break;
  default:
    draw_extra(&random, which_out);
    break;
  }
  draw_contents(&random, which_out);
  which_out->sinks = pick(&random, sinks, COUNT(sinks));
  which_out->soft_cap = one_in(&random, 4) ? 1 + random_below(&random, 4) : DECODE_CAP_OFF;
  which_out->lse_form = random_below(&random, 8);
  which_out->lse_layout = random_below(&random, 3);
  fit_footers(which_out);
  limit_general_work(which_out);
}
