/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const special_lines[] = {
    /* lengths: tile edges, negative and extreme ones, each with scores where a counted empty position shows */
    "num_tokens=14 lens=edges seed=101",
    "num_tokens=14 lens=edges scores=m5 seed=102",
    "num_tokens=14 lens=edges scores=m20 seed=103",
    "num_tokens=14 lens=edges scores=p20 seed=104",
    "num_tokens=14 lens=edges lens_type=int64 index_type=int64 scores=m20 seed=105",
    "num_tokens=14 lens=edges lens_type=int64 scores=m5 kv_tile=64 head_group=32 num_heads=40 seed=106",
    "num_tokens=14 lens=edges window_size=7 scores=m20 seed=107",
    "num_tokens=14 lens=edges window_size=1 scores=m20 seed=108",
    "num_tokens=14 lens=edges window_size=500 kv_tile=128 head_dim=128 scores=m20 seed=109",
    "num_tokens=3 lens=gaps scores=m5 seed=110",
    "num_tokens=1500 num_heads=8 head_dim=64 window_size=128 lens=gaps seed=111",
    "num_tokens=5 lens=zero seed=112",
    "num_tokens=5 lens=zero lens_type=int64 lse=null num_heads=128 head_group=128 seed=113",
    "num_tokens=9 lens=one scores=m20 seed=114",
    "num_tokens=0 seed=115",
    "num_tokens=0 num_heads=128 head_group=128 kv_tile=64 seed=116",
    /* masked slots: -1 inside the length, out of range, all */
    "num_tokens=4 slots=masked_half scores=m5 seed=201",
    "num_tokens=4 slots=masked_half scores=m20 kv_tile=64 seed=202",
    "num_tokens=4 slots=masked_odd scores=m20 seed=203",
    "num_tokens=6 slots=masked_some scores=m5 lens=uniform seed=204",
    "num_tokens=6 slots=masked_some scores=m20 index_type=int64 lens=uniform seed=205",
    "num_tokens=6 slots=masked_some scores=p20 index_type=int64 lens_type=int64 seed=206",
    "num_tokens=3 slots=masked_all seed=207",
    "num_tokens=3 slots=masked_all index_type=int64 lens=one seed=208",
    "num_tokens=3 num_blocks=0 seed=209",
    "num_tokens=3 num_blocks=1 block_size=1 slots=masked_some scores=m20 seed=210",
    "num_tokens=4 slots=same seed=211",
    "num_tokens=4 slots=ends lens=uniform seed=212",
    "num_tokens=4 slots=masked_some window_size=2048 scores=m5 seed=213",
    /* NaN and infinity: exactly where arithmetic says */
    "num_tokens=6 codes=nan lens=uniform seed=301",
    "num_tokens=6 codes=nan slots=masked_some num_heads=128 head_group=128 seed=302",
    "num_tokens=6 codes=nan window_size=1 seed=303",
    "num_tokens=6 scales=inf seed=304",
    "num_tokens=6 scales=nan lens=uniform seed=305",
    "num_tokens=6 scales=nan scale_type=bfloat16 slots=masked_half seed=306",
    "num_tokens=6 scales=inf scale_type=bfloat16 lens=one seed=307",
    /* q beyond f16 in odd heads, which a kernel of f16 products takes up again: exact and online, one pass and more */
    "num_tokens=4 num_heads=13 q_exponent=20 lens=uniform seed=351",
    "num_tokens=3 num_heads=33 head_group=32 kv_tile=64 q_exponent=40 slots=masked_some seed=352",
    "num_tokens=3 num_heads=70 head_group=64 kv_tile=128 q_exponent=20 lens=uniform seed=353",
    "num_tokens=3 num_heads=127 head_group=128 kv_tile=128 q_exponent=100 scores=m5 seed=354",
    "num_tokens=2 num_heads=17 window_size=2048 q_exponent=20 lens=uniform seed=355",
    "num_tokens=2 num_heads=65 head_group=64 head_dim=256 window_size=1500 kv_tile=32 q_exponent=60 seed=356",
    "num_tokens=3 num_heads=16 q_exponent=100 slots=masked_all seed=357",
    /* a position that adds nothing to out and has nearly all of the weight; scales beyond f16 */
    "num_tokens=4 codes=null scores=m20 seed=361",
    "num_tokens=4 codes=null scores=m20 scales=real num_heads=128 head_group=128 kv_tile=128 seed=362",
    "num_tokens=2 codes=null scores=m20 window_size=2048 seed=363",
    "num_tokens=4 scales=large lens=uniform q_exponent=16 seed=364",
    "num_tokens=3 scales=large q_exponent=110 num_heads=64 head_group=64 kv_tile=128 seed=365",
    "num_tokens=2 scales=large q_exponent=120 window_size=1500 seed=366",
    /* codes and scales: all codes bit for bit, zero, tiny and negative scales */
    "num_tokens=40 window_size=1 head_dim=256 codes=all exact=1 seed=401",
    "num_tokens=40 window_size=16 lens=one codes=all exact=1 scale_type=bfloat16 seed=402",
    "num_tokens=8 codes=all lens=uniform seed=403",
    "num_tokens=8 codes=all scales=signed num_heads=24 seed=404",
    "num_tokens=8 scales=special lens=uniform seed=405",
    "num_tokens=14 scales=special codes=all lens=one seed=406",
    "num_tokens=8 scales=special scale_type=bfloat16 seed=407",
    "num_tokens=8 scales=random scores=m20 seed=408",
    "num_tokens=8 scales=random lens=one seed=409",
    "num_tokens=8 scales=signed scores=sharp seed=410",
    "num_tokens=8 scales=real lens=edges seed=411",
    "num_tokens=8 scales=real scale_type=bfloat16 scores=m5 seed=412",
    "num_tokens=4 scores=sharp seed=413",
    "num_tokens=4 softmax=zero scales=random seed=414",
    "num_tokens=4 softmax=negative scores=m20 seed=415",
    /* blocks and strides */
    "block_size=1 num_blocks=900 seed=501",
    "block_size=2 num_blocks=300 scales=random seed=502",
    "block_size=53 num_blocks=13 block_gap=1040 seed=503",
    "block_size=32 num_blocks=32 block_gap=16384 seed=504",
    "block_size=64 num_blocks=16 block_gap=32768 slots=masked_some seed=505",
    "block_size=256 num_blocks=4 slot_gap=64 block_gap=4096 seed=506",
    "block_size=7 num_blocks=50 slot_gap=16 head_dim=96 seed=507",
    "num_tokens=5 num_heads=24 q_layout=slice out_layout=contiguous seed=508",
    "num_tokens=5 num_heads=24 q_layout=contiguous out_layout=slice seed=509",
    "num_tokens=5 num_heads=24 q_layout=padded out_layout=heads_outside lse_gap=3 index_gap=5 seed=510",
    "num_tokens=5 num_heads=24 q_layout=heads_outside out_layout=padded index_type=int64 index_gap=1 seed=511",
    "num_tokens=5 num_heads=13 q_layout=slice out_layout=padded lse=null head_group=8 seed=512",
    "num_tokens=5 num_heads=24 lse=none seed=513",
    "num_tokens=5 lse=none head_group=64 num_heads=64 lens=edges seed=514",
    /* heads that do not fill a group */
    "num_heads=1 seed=601",
    "num_heads=1 head_group=128 kv_tile=64 seed=602",
    "num_heads=3 seed=603",
    "num_heads=5 head_group=8 seed=604",
    "num_heads=12 head_group=32 lens=uniform seed=605",
    "num_heads=17 seed=606",
    "num_heads=96 head_group=64 kv_tile=32 seed=607",
    "num_heads=127 head_group=128 kv_tile=32 seed=608",
    "num_heads=129 head_group=128 kv_tile=16 scores=m5 seed=609",
    /* windows */
    "window_size=1 num_tokens=3 scores=m20 seed=701",
    "window_size=7 num_tokens=3 lens=uniform scores=m5 seed=702",
    "window_size=16 num_tokens=3 lens=uniform seed=703",
    "window_size=100 num_tokens=3 lens=uniform scores=m5 seed=704",
    "window_size=128 num_tokens=3 lens=uniform scores=m20 kv_tile=128 seed=705",
    "window_size=129 num_tokens=3 lens=full scores=m20 kv_tile=128 seed=706",
    "window_size=136 num_tokens=3 lens=full seed=707",
    "window_size=192 num_tokens=3 kv_tile=64 lens=uniform seed=708",
    "window_size=256 num_tokens=3 kv_tile=32 lens=uniform seed=709",
    "window_size=500 num_tokens=3 lens=uniform scores=m5 seed=710",
    "window_size=2048 num_tokens=2 num_heads=8 lens=uniform scores=m5 seed=711",
    "window_size=2048 head_dim=64 num_heads=64 head_group=64 kv_tile=64 scores=p20 seed=712",
    "window_size=8192 head_dim=64 num_heads=16 lens=full seed=713",
    "window_size=8192 head_dim=512 num_heads=8 num_blocks=160 lens=uniform scores=m5 kv_tile=64 seed=714",
};

static const char *const large_lines[] = {
    /* the row at byte 2^31 and the one at 2^32; a packed pool of several layers */
    "block_size=1 num_blocks=4194816 num_tokens=3 seed=801",
    "block_size=64 num_blocks=131088 num_tokens=3 slots=ends seed=802",
    "block_size=64 num_blocks=131088 num_tokens=3 index_type=int64 scores=m5 seed=803",
    "block_size=64 num_blocks=2080 block_gap=1006912 num_tokens=3 seed=804",
    "block_size=64 num_blocks=4200 block_gap=1006912 num_tokens=3 slots=ends scale_type=bfloat16 seed=805",
    "block_size=2 num_blocks=1700 block_gap=1308656 num_tokens=3 head_dim=64 seed=806",
    /* tokens and heads past 65,535 */
    "num_tokens=65536 num_heads=1 head_dim=64 head_group=8 window_size=7 lens=uniform seed=807",
    "num_tokens=70000 num_heads=3 head_dim=64 head_group=8 window_size=7 lens=edges scores=m5 seed=808",
    "num_tokens=70000 num_heads=1 head_dim=128 head_group=16 window_size=16 lens=gaps seed=809",
    "num_tokens=1 num_heads=524280 head_dim=64 head_group=8 window_size=7 seed=810",
};

static const char *const reduced_lines[] = {
    "num_tokens=2 num_heads=17 window_size=129 lens=uniform slots=masked_some scores=m5 seed=901",
    "num_tokens=3 num_heads=5 head_group=8 head_dim=64 window_size=100 kv_tile=32 lens=edges seed=902",
    "num_tokens=3 num_heads=20 head_dim=96 head_group=32 kv_tile=64 lens=uniform q_layout=slice out_layout=padded "
    "seed=903",
    "num_tokens=2 num_heads=70 head_dim=128 head_group=64 kv_tile=16 index_type=int64 lens_type=int64 lens=gaps "
    "seed=904",
    "num_tokens=2 num_heads=130 head_group=128 kv_tile=32 scale_type=bfloat16 scales=random window_size=128 seed=905",
    "num_tokens=2 num_heads=16 head_dim=192 kv_tile=128 window_size=300 lse=null block_size=3 num_blocks=99 seed=906",
    "num_tokens=2 num_heads=16 head_dim=256 kv_tile=32 window_size=500 codes=nan block_gap=512 seed=907",
    "num_tokens=4 num_heads=8 head_group=8 lens=zero seed=908",
    "num_tokens=2 num_heads=9 head_group=8 head_dim=64 window_size=1 slots=ends lse=none seed=909",
    "num_tokens=2 num_heads=16 head_dim=64 window_size=700 kv_tile=64 slots=masked_all seed=910",
};

decode_lines decode_grid_special(void)
{
  return (decode_lines){special_lines, COUNT(special_lines)};
}

decode_lines decode_grid_large(void)
{
  return (decode_lines){large_lines, COUNT(large_lines)};
}

decode_lines decode_grid_reduced(void)
{
  return (decode_lines){reduced_lines, COUNT(reduced_lines)};
}

static const uint32_t head_dims[] = {64, 96, 128, 192, 256, 512};
static const uint32_t head_groups[] = {8, 16, 32, 64, 128};
static const uint32_t kv_tiles[] = {16, 32, 64, 128};

size_t decode_grid_num_tilings(void)
{
  return COUNT(head_dims) * COUNT(head_groups) * COUNT(kv_tiles);
}

void decode_grid_tiling(size_t at, decode_case *which_out)
{
  static const uint32_t windows[] = {128, 100, 129, 7, 256, 16, 500};
  static const uint32_t lens[] = {DECODE_LENS_UNIFORM, DECODE_LENS_FULL, DECODE_LENS_GAPS};
  static const uint32_t slots[] = {DECODE_SLOTS_RANDOM, DECODE_SLOTS_MASKED_SOME};

  decode_case_init(which_out);
  which_out->kv_tile = kv_tiles[at % COUNT(kv_tiles)];
  which_out->head_group = head_groups[at / COUNT(kv_tiles) % COUNT(head_groups)];
  which_out->head_dim = head_dims[at / COUNT(kv_tiles) / COUNT(head_groups)];
  which_out->num_tokens = 3;
  which_out->num_heads = which_out->head_group + 1; /* a full group and a nearly empty one */
  which_out->window_size = windows[at % COUNT(windows)];
  which_out->lens = lens[at / 2 % COUNT(lens)];
  which_out->slots = slots[at % COUNT(slots)];
  which_out->scores = (uint32_t)(at % 5);
  which_out->scales = (uint32_t)(at % 3);
  which_out->index_type = (uint32_t)(at % 2);
  which_out->lens_type = (uint32_t)(at / 2 % 2);
  which_out->scale_type = (uint32_t)(at / 3 % 2);
  which_out->seed = (uint32_t)at + 2000;
}

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
  static const uint32_t block_sizes[] = {1, 2, 16, 32, 53, 64, 256};

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
  random_stream random = random_start(seed, 0, 0);

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
