/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the general form: grouped KV heads, V's own pool, the soft cap, the extra scope. A number after "report"
 * names a public report of a fault in a kernel of this kind, whose input the line repeats. */
#include "grid.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const grouped_lines[] = {
    /* models' shapes: gpt-oss, MiMo-V2, Step-3.5, Gemma 2 (two sizes), Gemma 3 and 4, Mistral, Phi-3 */
    "num_heads=64 num_kv_heads=8 head_dim=64 head_dim_v=64 kv_format=bf16 sinks=normal head_group=8 num_tokens=4 "
    "lens=uniform scores=m5 seed=2101",
    "num_heads=64 num_kv_heads=8 head_dim=64 head_dim_v=64 kv_format=bf16 sinks=special head_group=16 kv_tile=64 "
    "num_tokens=14 lens=edges seed=2102",
    "num_heads=8 num_kv_heads=1 head_dim=64 head_dim_v=64 kv_format=bf16 sinks=normal head_group=8 kv_tile=128 "
    "num_tokens=14 lens=edges scores=m20 seed=2103",
    "num_heads=64 num_kv_heads=8 head_dim=192 head_dim_v=128 kv_format=bf16 sinks=normal head_group=8 num_tokens=4 "
    "lens=uniform scores=m5 seed=2104",
    "num_heads=64 num_kv_heads=8 head_dim=192 head_dim_v=128 kv_format=e4m3 scales=random sinks=normal head_group=8 "
    "kv_tile=64 num_tokens=14 lens=edges scores=m20 seed=2105",
    "num_heads=96 num_kv_heads=8 head_dim=128 head_dim_v=128 kv_format=bf16 window_size=512 num_tokens=3 lens=uniform "
    "scores=m5 seed=2106",
    "num_heads=96 num_kv_heads=8 head_dim=128 head_dim_v=128 kv_format=bf16 window_size=512 head_group=8 kv_tile=128 "
    "num_tokens=14 lens=edges scores=m20 seed=2107",
    "num_heads=8 num_kv_heads=4 head_dim=256 head_dim_v=256 kv_format=bf16 window_size=4096 soft_cap=50 head_group=8 "
    "num_blocks=80 lens=uniform scores=m5 seed=2108",
    "num_heads=32 num_kv_heads=16 head_dim=128 head_dim_v=128 kv_format=bf16 window_size=4096 soft_cap=50 head_group=8 "
    "kv_tile=64 num_blocks=80 lens=uniform scores=m20 seed=2109",
    "num_heads=8 num_kv_heads=4 head_dim=256 head_dim_v=256 kv_format=bf16 window_size=1024 head_group=8 kv_tile=32 "
    "lens=uniform scores=m5 seed=2110",
    "num_heads=32 num_kv_heads=8 head_dim=128 head_dim_v=128 kv_format=bf16 window_size=4096 head_group=8 "
    "num_blocks=80 "
    "num_tokens=1 seed=2111",
    "num_heads=32 num_kv_heads=32 head_dim=96 head_dim_v=96 kv_format=bf16 window_size=2047 head_group=8 kv_tile=64 "
    "lens=uniform scores=m5 seed=2112",
    /* groups of 1, 3, 5, 17 and 128 query heads, beside head groups that they do not fill */
    "num_heads=5 num_kv_heads=5 head_dim=64 head_dim_v=64 head_group=8 num_tokens=3 scales=random lens=uniform "
    "scores=m5 seed=2121",
    "num_heads=12 num_kv_heads=4 head_dim=128 head_dim_v=64 num_tokens=3 scales=random lens=uniform seed=2122",
    "num_heads=10 num_kv_heads=2 head_dim=96 head_dim_v=192 head_group=32 kv_tile=64 kv_format=e4m3 scales=real "
    "num_tokens=3 seed=2123",
    "num_heads=34 num_kv_heads=2 head_dim=256 head_dim_v=64 kv_format=bf16 num_tokens=3 lens=uniform scores=m5 "
    "seed=2124",
    "num_heads=128 num_kv_heads=1 head_dim=128 head_dim_v=128 head_group=128 kv_tile=64 kv_format=bf16 num_tokens=3 "
    "lens=uniform scores=m20 seed=2125",
    "num_heads=256 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=128 kv_format=e4m3 num_tokens=3 scores=m5 "
    "seed=2126",
    /* KV heads whose rows are K and V in one */
    "num_heads=16 num_kv_heads=2 head_dim=128 head_group=8 scales=signed num_tokens=4 lens=uniform scores=m5 seed=2131",
    "num_heads=64 num_kv_heads=4 head_dim=512 kv_format=bf16 num_tokens=3 slots=masked_some scores=m20 seed=2132",
    "num_heads=24 num_kv_heads=3 head_dim=64 kv_format=e4m3 scales=random kv_layout=heads_outside head_group=8 "
    "block_size=2 num_blocks=300 num_tokens=4 seed=2133",
    /* V's slots and strides. Report 39: K's table read for V; report 36: layers or heads between the rows */
    "num_heads=16 num_kv_heads=2 head_dim=128 head_dim_v=128 head_group=8 v_indices=own num_tokens=4 lens=uniform "
    "scales=random seed=2141",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 v_indices=own slots=masked_some "
    "index_type=int64 "
    "index_gap=3 num_tokens=6 scores=m20 kv_format=bf16 seed=2142",
    "num_heads=16 num_kv_heads=4 head_dim=64 head_dim_v=128 head_group=8 kv_layout=padded slot_gap=32 block_gap=4096 "
    "v_slot_gap=64 v_block_gap=528 num_tokens=4 scores=m5 seed=2143",
    "num_heads=16 num_kv_heads=4 head_dim=192 head_dim_v=64 head_group=8 kv_layout=heads_outside block_size=32 "
    "num_blocks=30 v_block_gap=65536 kv_format=bf16 v_indices=own num_tokens=4 lens=uniform scores=m20 seed=2144",
    "num_heads=16 num_kv_heads=1 head_dim=512 head_dim_v=512 kv_format=bf16 v_indices=own block_size=1 num_blocks=900 "
    "num_tokens=4 lens=uniform seed=2145",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 num_blocks=0 num_tokens=3 seed=2146",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 v_indices=own slots=masked_all num_tokens=3 "
    "sinks=special seed=2147",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 v_indices=own slots=ends kv_format=bf16 "
    "num_tokens=3 seed=2148",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=96 out_layout=padded q_layout=slice lse_layout=heads_outside "
    "kv_format=bf16 num_tokens=5 lens=uniform seed=2149",
    /* NaN, infinity and zeros in one KV head, of K or of V, reach that head's queries only; and all codes */
    "num_heads=16 num_kv_heads=4 head_dim=64 head_dim_v=64 head_group=8 codes=nan num_tokens=12 seed=2151",
    "num_heads=16 num_kv_heads=2 head_dim=128 head_dim_v=64 head_group=8 codes=nan kv_format=bf16 v_indices=own "
    "slots=masked_some num_tokens=12 seed=2152",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 scales=nan num_tokens=12 seed=2153",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_group=8 scales=inf num_tokens=12 seed=2154",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 codes=null scores=m20 num_tokens=12 seed=2155",
    "num_heads=8 num_kv_heads=2 head_dim=256 head_dim_v=256 head_group=8 codes=all exact=1 lens=one num_tokens=40 "
    "window_size=16 seed=2156",
    "num_heads=8 num_kv_heads=2 head_dim=256 head_dim_v=64 head_group=8 kv_format=bf16 codes=all exact=1 lens=one "
    "num_tokens=40 window_size=16 seed=2157",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 scales=special num_tokens=14 lens=one "
    "seed=2158",
    "num_heads=16 num_kv_heads=2 head_dim=64 head_dim_v=64 head_group=8 kv_format=bf16 bf16=large lens=uniform "
    "num_tokens=4 seed=2159",
    "num_heads=26 num_kv_heads=2 head_dim=64 head_dim_v=128 q_exponent=20 kv_format=bf16 lens=uniform num_tokens=4 "
    "seed=2160",
    /* soft cap: scores far above it, about it and below; the kernel's cap left at 0; beside the rest */
    "soft_cap=50 num_tokens=14 lens=edges scores=m20 seed=2171",
    "soft_cap=2 num_tokens=14 lens=edges scores=m20 num_heads=64 head_group=64 kv_tile=64 seed=2172",
    "soft_cap=30 num_tokens=4 scores=p20 num_heads=17 slots=masked_half seed=2173",
    "soft_cap=none num_tokens=4 scores=m20 lens=uniform seed=2174",
    "soft_cap=2 num_tokens=4 scores=sharp num_heads=128 head_group=128 kv_tile=128 lens=uniform seed=2175",
    "soft_cap=50 num_tokens=2 window_size=2048 num_heads=8 head_group=8 scores=sharp lens=uniform seed=2176",
    "soft_cap=30 num_tokens=4 num_heads=13 q_exponent=20 lens=uniform seed=2177",
    "soft_cap=30 num_tokens=6 codes=nan lens=uniform scores=m5 seed=2178",
    "soft_cap=2 num_tokens=6 scales=nan lens=uniform seed=2179",
    "soft_cap=30 kv_format=footer_584 sinks=normal num_tokens=4 lens=uniform scores=m20 seed=2180",
    "soft_cap=2 softmax=negative scores=m20 scales=random num_tokens=4 lse_form=1 seed=2181",
};

static const char *const extra_lines[] = {
    /* DeepSeek-V4: 64 heads and 512 positions beside the window, 128 and 1024, blocks of 64 and of 2 */
    "kv_format=footer_584 extra_format=footer_584 extra_size=512 num_heads=64 head_group=64 kv_tile=64 sinks=normal "
    "block_size=64 block_gap=64 extra_block_gap=64 lens=uniform extra_lens=uniform scores=m5 num_tokens=3 seed=2201",
    "kv_format=footer_584 extra_format=footer_584 extra_size=512 num_heads=64 head_group=64 kv_tile=64 sinks=normal "
    "extra_block_size=2 extra_num_blocks=400 extra_block_gap=560 extra_lens=edges scores=m20 num_tokens=14 lens=edges "
    "seed=2202",
    "kv_format=footer_584 extra_format=footer_584 extra_size=1024 num_heads=128 head_group=128 kv_tile=64 "
    "sinks=special extra_lens=null scores=m5 num_tokens=2 seed=2203",
    "kv_format=footer_584 extra_format=footer_584 extra_size=1024 num_heads=16 extra_lens=uniform scores=m20 "
    "num_tokens=1 seed=2204",
    "kv_format=footer_584 extra_format=footer_584 extra_size=512 num_heads=8 head_group=8 extra_block_size=1 "
    "extra_num_blocks=900 extra_block_gap=8 lens=gaps extra_lens=gaps num_tokens=8 scale_bytes=near seed=2205",
    /* DeepSeek-V4.1, and formats beside each other */
    "kv_format=footer_528 extra_format=footer_528 extra_size=512 num_heads=64 head_group=64 block_size=32 "
    "num_blocks=32 extra_block_size=256 extra_num_blocks=8 lens=uniform extra_lens=uniform scores=m5 num_tokens=3 "
    "seed=2211",
    "kv_format=footer_528 extra_format=footer_584 extra_size=300 num_heads=17 kv_tile=32 extra_block_size=53 "
    "extra_block_gap=8 slots=masked_some scores=m20 num_tokens=3 seed=2212",
    "kv_format=footer_584 extra_format=e4m3 extra_size=200 num_heads=17 head_group=32 extra_slot_gap=16 "
    "extra_block_gap=1040 lens=uniform extra_lens=uniform scores=m5 num_tokens=4 seed=2213",
    "kv_format=e4m3 extra_format=footer_528 extra_size=129 num_heads=24 extra_lens=uniform scores=m20 num_tokens=4 "
    "seed=2214",
    "extra_format=footer_584 extra_size=129 num_heads=24 scale_type=bfloat16 scales=random extra_lens=uniform "
    "num_tokens=4 seed=2215",
    "kv_format=e4m3 extra_size=257 extra_format=e4m3_slot scale_type=bfloat16 scales=random head_dim=256 num_heads=24 "
    "num_tokens=4 scores=m5 seed=2216",
    "kv_format=e4m3 extra_format=e4m3 scales=random extra_size=64 head_dim=64 num_heads=8 head_group=8 kv_tile=128 "
    "lens=edges extra_lens=edges scores=m20 num_tokens=14 seed=2217",
    "extra_size=512 scales=random num_heads=128 head_group=128 kv_tile=128 extra_block_size=32 lens=uniform "
    "extra_lens=uniform scores=m5 num_tokens=3 seed=2218",
    "kv_format=bf16 extra_format=bf16 extra_size=512 num_heads=64 head_group=64 extra_block_size=32 "
    "extra_num_blocks=30 extra_slot_gap=64 lens=uniform extra_lens=uniform scores=m20 num_tokens=3 seed=2219",
    "kv_format=bf16 extra_format=bf16 extra_size=100 head_dim=128 num_heads=17 lens=gaps extra_lens=gaps scores=m5 "
    "num_tokens=8 seed=2220",
    /* either scope empty, or without a pool */
    "extra_size=200 lens=zero extra_lens=uniform scores=m20 num_tokens=4 seed=2231",
    "extra_size=200 lens=uniform extra_lens=zero scores=m20 num_tokens=4 seed=2232",
    "extra_size=200 lens=zero extra_lens=zero sinks=special num_tokens=4 lse_form=4 seed=2233",
    "extra_size=200 extra_num_blocks=0 scores=m5 num_tokens=4 seed=2234",
    "extra_size=200 num_blocks=0 extra_lens=null scores=m5 num_tokens=4 seed=2235",
    "extra_size=300 slots=masked_all num_tokens=3 sinks=normal seed=2236",
    "extra_size=300 slots=masked_half extra_lens=uniform scores=m20 num_tokens=4 num_heads=64 head_group=64 seed=2237",
    "kv_format=footer_584 extra_format=footer_584 extra_size=512 lens=zero extra_lens=null num_heads=64 head_group=64 "
    "scores=m20 num_tokens=3 seed=2238",
    "extra_size=64 num_tokens=0 seed=2239",
    /* widths: below a tile, one over it, the widest; beside windows of 1, 192 and 256 */
    "extra_size=1 window_size=1 scores=m20 num_tokens=4 seed=2241",
    "extra_size=7 window_size=129 kv_tile=128 lens=uniform extra_lens=uniform scores=m5 num_tokens=6 seed=2242",
    "extra_size=64 window_size=192 scores=m5 num_heads=64 head_group=64 kv_format=footer_584 "
    "extra_format=footer_584 num_tokens=3 seed=2243",
    "extra_size=513 window_size=256 kv_tile=64 lens=uniform extra_lens=uniform scores=m20 num_tokens=3 seed=2244",
    "extra_size=8192 extra_num_blocks=160 num_heads=8 head_group=8 num_tokens=1 extra_lens=uniform scores=m5 seed=2245",
    "extra_size=8192 extra_num_blocks=160 head_dim=64 num_heads=64 head_group=64 num_tokens=2 extra_lens=null "
    "window_size=2048 seed=2246",
    /* what must be told apart in the second scope too */
    "extra_size=300 codes=nan lens=uniform extra_lens=uniform num_tokens=8 slots=masked_some seed=2251",
    "extra_size=300 scales=inf num_tokens=8 num_heads=17 seed=2252",
    "kv_format=footer_584 extra_format=footer_528 extra_size=100 scale_bytes=nan num_tokens=8 seed=2253",
    "extra_size=300 codes=null scores=m20 num_tokens=8 seed=2254",
    "kv_format=footer_584 extra_format=footer_584 extra_size=100 bf16=large num_tokens=3 lens=uniform seed=2255",
    "kv_format=footer_528 extra_format=footer_584 extra_size=100 scale_bytes=random num_tokens=4 seed=2256",
    "extra_size=512 num_heads=13 q_exponent=20 lens=uniform extra_lens=uniform num_tokens=4 seed=2257",
    "extra_size=200 soft_cap=30 scores=m20 sinks=normal lse_form=3 num_tokens=4 seed=2258",
    "extra_size=200 index_type=int64 lens_type=int64 index_gap=5 slots=masked_some lens=edges extra_lens=edges "
    "num_tokens=14 scores=m20 seed=2259",
    "extra_size=200 q_layout=slice out_layout=heads_outside lse_layout=heads_outside lse_gap=2 lse_form=4 lens=gaps "
    "extra_lens=gaps num_tokens=8 num_heads=24 seed=2260",
    "extra_size=512 scores=p20 slots=same num_tokens=3 seed=2261",
    "extra_size=512 slots=ends extra_lens=uniform lse=null num_tokens=3 num_heads=127 head_group=128 seed=2262",
};

/* A token's positions shared out: more splits than tiles, empty ones, rounds, every kind of row. Report 46: one path
 * without the sink, of which the splits' last CTA is one. */
static const char *const split_lines[] = {
    "num_splits=1 num_tokens=3 lens=uniform seed=2301",
    "num_splits=2 num_tokens=14 lens=edges scores=m20 seed=2302",
    "num_splits=8 kv_tile=16 num_tokens=3 num_heads=17 window_size=129 lens=uniform scores=m5 slots=masked_some "
    "seed=2303",
    "num_splits=5 kv_tile=64 num_tokens=4 num_heads=128 head_group=128 window_size=500 lens=gaps scores=p20 seed=2304",
    "num_splits=3 num_tokens=3 slots=masked_all lse_form=4 seed=2305",
    "num_splits=3 num_tokens=4 slots=masked_half kv_tile=32 sinks=special lse_form=3 scores=m5 seed=2306",
    "num_splits=7 num_tokens=6 codes=nan window_size=200 lens=uniform seed=2307",
    "num_splits=4 num_tokens=3 num_heads=13 q_exponent=20 window_size=300 lens=uniform seed=2308",
    "num_splits=16 num_tokens=2 kv_tile=64 kv_format=footer_584 extra_format=footer_584 extra_size=1024 sinks=normal "
    "lens=uniform extra_lens=uniform seed=2309",
    "num_splits=8 num_tokens=2 num_heads=64 head_group=64 kv_tile=32 kv_format=footer_528 extra_format=footer_584 "
    "extra_size=300 scale_bytes=random seed=2310",
    "num_splits=4 num_tokens=3 num_heads=16 num_kv_heads=4 head_group=8 kv_format=bf16 head_dim=128 head_dim_v=128 "
    "window_size=2048 lens=uniform sinks=normal lse_form=1 seed=2311",
    "num_splits=256 num_tokens=1 num_heads=8 head_group=8 kv_tile=16 extra_size=4096 extra_num_blocks=160 seed=2312",
    "num_splits=6 num_tokens=3 lse=null out_layout=padded q_layout=slice window_size=400 lens=gaps scales=signed "
    "seed=2313",
};

decode_lines decode_grid_splits(void)
{
  return (decode_lines){split_lines, COUNT(split_lines)};
}

decode_lines decode_grid_grouped(void)
{
  return (decode_lines){grouped_lines, COUNT(grouped_lines)};
}

decode_lines decode_grid_extra(void)
{
  return (decode_lines){extra_lines, COUNT(extra_lines)};
}
