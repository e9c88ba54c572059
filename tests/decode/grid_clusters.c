/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the kernel whose CTAs share a token in clusters. */
#include "grid.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define CLUSTER "cluster_size=4 kv_tile=128 "

static const char *const cluster_lines[] = {
    /* lengths: the edges of units of 16 positions and of a CTA's 32, and nothing */
    CLUSTER "num_tokens=14 lens=edges seed=3101",
    CLUSTER "num_tokens=14 lens=edges scores=m20 lens_type=int64 index_type=int64 seed=3102",
    CLUSTER "num_tokens=14 lens=edges scores=p20 head_group=8 num_heads=24 seed=3103",
    CLUSTER "num_tokens=5 lens=gaps scores=m5 seed=3104",
    CLUSTER "num_tokens=3 lens=zero seed=3105",
    CLUSTER "num_tokens=3 lens=zero lse_form=4 lse=null seed=3106",
    CLUSTER "num_tokens=4 lens=one scores=m20 seed=3107",
    /* windows that leave CTAs of the cluster without a position */
    CLUSTER "window_size=1 num_tokens=3 scores=m20 seed=3111",
    CLUSTER "window_size=7 num_tokens=3 lens=uniform scores=m5 seed=3112",
    CLUSTER "window_size=16 num_tokens=3 lens=uniform seed=3113",
    CLUSTER "window_size=33 num_tokens=3 lens=full scores=m20 seed=3114",
    CLUSTER "window_size=100 num_tokens=3 lens=uniform head_group=8 seed=3115",
    CLUSTER "window_size=127 num_tokens=3 lens=full scores=p20 seed=3116",
    /* masked slots; a unit, a CTA's and all */
    CLUSTER "num_tokens=4 slots=masked_half scores=m5 seed=3121",
    CLUSTER "num_tokens=4 slots=masked_odd scores=m20 seed=3122",
    CLUSTER "num_tokens=6 slots=masked_some lens=uniform index_type=int64 seed=3123",
    CLUSTER "num_tokens=3 slots=masked_all seed=3124",
    CLUSTER "num_tokens=3 slots=masked_all head_group=8 num_heads=5 lse_form=4 seed=3125",
    CLUSTER "num_tokens=3 num_blocks=0 seed=3126",
    CLUSTER "num_tokens=3 num_blocks=1 block_size=1 slots=masked_some scores=m20 seed=3127",
    CLUSTER "num_tokens=3 slots=same seed=3128",
    CLUSTER "num_tokens=3 slots=ends lens=uniform seed=3129",
    /* NaN and infinity: exactly where arithmetic says */
    CLUSTER "num_tokens=6 codes=nan lens=uniform seed=3131",
    CLUSTER "num_tokens=6 codes=nan slots=masked_some num_heads=24 seed=3132",
    CLUSTER "num_tokens=4 scales=inf seed=3133",
    CLUSTER "num_tokens=4 scales=nan lens=uniform scale_type=bfloat16 seed=3134",
    /* q beyond f16 in odd heads, which a warp multiplies again */
    CLUSTER "num_tokens=3 num_heads=13 q_exponent=20 lens=uniform seed=3141",
    CLUSTER "num_tokens=2 num_heads=7 head_group=8 q_exponent=110 slots=masked_some seed=3142",
    CLUSTER "num_tokens=2 q_exponent=60 codes=nan lens=uniform seed=3143",
    CLUSTER "num_tokens=3 scales=large q_exponent=110 seed=3144",
    /* and in some quarters of head_dim alone, whose parts are then of another round */
    CLUSTER "num_tokens=2 q_exponent=14 scores=m20 seed=3145",
    CLUSTER "num_tokens=2 num_heads=8 head_group=8 q_exponent=28 scores=p20 seed=3146",
    /* tops of units that are far apart; what adds nothing to out and has nearly all of the weight */
    CLUSTER "num_tokens=4 scores=sharp seed=3151",
    CLUSTER "num_tokens=4 codes=null scores=m20 scales=real seed=3152",
    CLUSTER "num_tokens=4 scales=special lens=uniform seed=3153",
    CLUSTER "num_tokens=4 scales=signed scores=sharp seed=3154",
    CLUSTER "num_tokens=4 scales=random scores=m20 seed=3155",
    CLUSTER "num_tokens=4 softmax=zero scales=random seed=3156",
    CLUSTER "num_tokens=4 softmax=negative scores=m20 seed=3157",
    CLUSTER "num_tokens=8 window_size=1 codes=all exact=1 seed=3158",
    CLUSTER "num_tokens=8 codes=all scales=signed lens=uniform seed=3159",
    /* formats, KV heads, blocks and strides */
    CLUSTER "num_tokens=3 kv_format=e4m3 scales=random lens=uniform seed=3161",
    CLUSTER "num_tokens=3 kv_format=e4m3 num_heads=24 num_kv_heads=2 kv_layout=heads_outside sinks=normal seed=3162",
    CLUSTER "num_tokens=3 num_heads=12 num_kv_heads=4 head_group=8 kv_layout=padded scale_type=bfloat16 "
            "scales=real seed=3163",
    CLUSTER "block_size=53 num_blocks=13 block_gap=1040 slot_gap=64 seed=3164",
    CLUSTER "block_size=1 num_blocks=900 scales=random seed=3165",
    CLUSTER "num_tokens=3 num_heads=24 q_layout=slice out_layout=heads_outside lse_gap=3 index_gap=5 seed=3166",
    CLUSTER "num_tokens=3 num_heads=24 q_layout=heads_outside out_layout=padded lse_layout=heads_outside seed=3167",
    /* footers: scale bytes of all sizes, tails that are too large for their row's unit, hollow groups, NaN */
    CLUSTER "kv_format=footer_584 lens=uniform slots=masked_some seed=3181",
    CLUSTER "kv_format=footer_584 num_tokens=1 scale_bytes=random head_group=8 num_heads=8 seed=3182",
    CLUSTER "kv_format=footer_584 scale_bytes=hollow lens=uniform seed=3183",
    CLUSTER "kv_format=footer_584 bf16=large scale_bytes=one lens=uniform seed=3184",
    CLUSTER "kv_format=footer_584 num_tokens=1 bf16=tiny sinks=normal seed=3185",
    CLUSTER "kv_format=footer_584 num_tokens=3 num_heads=8 scale_bytes=nan lens=uniform seed=3186",
    CLUSTER "kv_format=footer_584 num_tokens=3 num_heads=8 codes=nan scale_bytes=near seed=3187",
    CLUSTER "kv_format=footer_584 num_tokens=2 num_heads=13 q_exponent=20 bf16=large lens=uniform seed=3188",
    CLUSTER "kv_format=footer_584 num_tokens=8 scale_bytes=all lens=one seed=3189",
    CLUSTER "kv_format=footer_584 block_size=3 num_blocks=60 block_gap=8 num_tokens=1 scores=m20 seed=3190",
    CLUSTER "kv_format=footer_584 window_size=33 scores=sharp sinks=special lse_form=3 seed=3191",
    CLUSTER "kv_format=footer_528 lens=uniform slots=masked_some seed=3192",
    CLUSTER "kv_format=footer_528 num_tokens=1 scale_bytes=random head_group=8 num_heads=8 seed=3193",
    CLUSTER "kv_format=footer_528 scale_bytes=hollow lens=uniform scores=m5 seed=3194",
    CLUSTER "kv_format=footer_528 num_tokens=3 num_heads=8 scale_bytes=nan lens=uniform seed=3195",
    CLUSTER "kv_format=footer_528 num_heads=8 head_group=8 slots=masked_all seed=3196",
    /* heads that do not fill a group, sinks, forms of LSE, the soft cap */
    CLUSTER "num_heads=1 seed=3171",
    CLUSTER "num_heads=9 head_group=8 lse=none seed=3172",
    CLUSTER "num_heads=17 lse=null seed=3173",
    CLUSTER "num_heads=128 num_tokens=1 sinks=normal seed=3174",
    CLUSTER "num_tokens=4 sinks=special lse_form=3 slots=masked_some lens=gaps seed=3175",
    CLUSTER "num_tokens=4 sinks=special lse_form=7 head_group=8 num_heads=11 seed=3176",
    CLUSTER "num_tokens=3 sinks=null lse_form=2 seed=3177",
    CLUSTER "num_tokens=3 soft_cap=30 sinks=normal scores=p20 lse_form=1 seed=3178",
    CLUSTER "num_tokens=3 soft_cap=2 scores=m20 seed=3179",
};

decode_lines decode_grid_clusters(void)
{
  return (decode_lines){cluster_lines, COUNT(cluster_lines)};
}

/* Of the general form, what clusters take. */
void decode_grid_random_clusters(uint32_t seed, decode_case *which_out)
{
  static const uint32_t formats[] = {SWA_JIT_KV_E4M3_SLOT, SWA_JIT_KV_E4M3, SWA_JIT_KV_FOOTER_584,
                                     SWA_JIT_KV_FOOTER_584, SWA_JIT_KV_FOOTER_528};
  static const uint32_t scale_bytes[] = {DECODE_SCALE_BYTES_REAL, DECODE_SCALE_BYTES_REAL,   DECODE_SCALE_BYTES_NEAR,
                                         DECODE_SCALE_BYTES_ONE,  DECODE_SCALE_BYTES_RANDOM, DECODE_SCALE_BYTES_NAN};
  random_stream random = random_start(seed, RANDOM_FOR_GRID, 2);
  decode_case drawn;

  decode_grid_random(seed, which_out);
  decode_grid_random_general(seed, &drawn);
  which_out->sinks = drawn.sinks;
  which_out->soft_cap = drawn.soft_cap;
  which_out->lse_form = drawn.lse_form;
  which_out->lse_layout = drawn.lse_layout;
  which_out->cluster_size = 4;
  which_out->head_dim = 512;
  which_out->head_group = 8u << random_below(&random, 2);
  which_out->kv_tile = 128;
  which_out->window_size = random_below(&random, 2) == 0 ? 128 : 1 + random_below(&random, 128);
  which_out->num_tokens = 1 + random_below(&random, 6);
  which_out->kv_format = formats[random_below(&random, COUNT(formats))];
  if (which_out->kv_format != SWA_JIT_KV_E4M3_SLOT) {
    which_out->scale_type = SWA_JIT_FLOAT32;
  }
  if (which_out->kv_format >= SWA_JIT_KV_FOOTER_584) { /* rows without gaps, blocks at multiples of 16 bytes */
    which_out->scales = DECODE_SCALES_ONE;
    which_out->scale_bytes = scale_bytes[random_below(&random, COUNT(scale_bytes))];
    which_out->slot_gap = 0;
    which_out->block_gap += which_out->kv_format == SWA_JIT_KV_FOOTER_584 ? which_out->block_size * 8 % 16 : 0;
  }
  which_out->codes = random_below(&random, 8) == 0 ? DECODE_CODES_NAN : DECODE_CODES_NORMAL;
}
