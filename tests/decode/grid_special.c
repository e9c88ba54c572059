/* SPDX-License-Identifier: Apache-2.0 */
/* A number after "report" names a public report of a fault in a kernel of this kind, whose input the line repeats. */
#include "grid.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const special_lines[] = {
    /* Lengths: tile edges, negative and extreme ones, each with scores where a counted empty position shows. Report 22:
     * a length of -1 read as 4,294,967,295; report 27: every length below the window wrong */
    "num_tokens=14 lens=edges seed=101",
    "num_tokens=14 lens=edges scores=m5 seed=102",
    "num_tokens=14 lens=edges scores=m20 seed=103",
    "num_tokens=14 lens=edges scores=p20 seed=104",
    "num_tokens=14 lens=edges lens_type=int64 index_type=int64 scores=m20 seed=105",
    "num_tokens=14 lens=edges lens_type=int64 scores=m5 kv_tile=64 head_group=32 num_heads=40 seed=106",
    "num_tokens=14 lens=edges window_size=7 scores=m20 seed=107",
    "num_tokens=14 lens=edges window_size=1 scores=m20 seed=108",
    "num_tokens=14 lens=edges window_size=500 kv_tile=128 head_dim=128 scores=m20 seed=109",
    /* reports 8, 9, 11, 28, 29: rows of no position unwritten, divided by zero, NaN or read past their length */
    "num_tokens=3 lens=gaps scores=m5 seed=110",
    "num_tokens=1500 num_heads=8 head_dim=64 window_size=128 lens=gaps seed=111",
    "num_tokens=5 lens=zero seed=112",
    "num_tokens=5 lens=zero lens_type=int64 lse=null num_heads=128 head_group=128 seed=113",
    "num_tokens=9 lens=one scores=m20 seed=114",
    /* report 25: tokens padded to a graph's size, beside tensors made for fewer. Here each is exactly as long as the
     * header says */
    "num_tokens=352 num_heads=8 head_group=8 head_dim=64 lens=gaps seed=117",
    /* reports 12, 31: no tokens */
    "num_tokens=0 seed=115",
    "num_tokens=0 num_heads=128 head_group=128 kv_tile=64 seed=116",
    /* Masked slots: -1 inside the length, out of range, all. Report 17: -1 inside the length counted with score 0;
     * report 24: -1 as an address; report 38: -2 and slots past the pool read; reports 32, 33: NaN beside rows read */
    "num_tokens=4 slots=masked_half scores=m5 seed=201",
    "num_tokens=4 slots=masked_half scores=m20 kv_tile=64 seed=202",
    "num_tokens=4 slots=masked_odd scores=m20 seed=203",
    "num_tokens=6 slots=masked_some scores=m5 lens=uniform seed=204",
    "num_tokens=6 slots=masked_some scores=m20 index_type=int64 lens=uniform seed=205",
    "num_tokens=6 slots=masked_some scores=p20 index_type=int64 lens_type=int64 seed=206",
    "num_tokens=3 slots=masked_all seed=207",
    "num_tokens=3 slots=masked_all index_type=int64 lens=one seed=208", /* report 10: one position, masked */
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
    /* Codes and scales. Report 52: 0x01 and 0x7F decoded wrongly: all codes bit for bit; report 50: zero, tiny and
     * negative scales */
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
    /* blocks and strides. Report 45: block sizes refused */
    "block_size=1 num_blocks=900 seed=501",
    "block_size=2 num_blocks=300 scales=random seed=502",
    "block_size=53 num_blocks=13 block_gap=1040 seed=503", /* report 6: block stride worked out from the slot's */
    "block_size=32 num_blocks=32 block_gap=16384 seed=504",
    "block_size=64 num_blocks=16 block_gap=32768 slots=masked_some seed=505", /* report 5: block stride ignored */
    "block_size=256 num_blocks=4 slot_gap=64 block_gap=4096 seed=506",
    "block_size=7 num_blocks=50 slot_gap=16 head_dim=96 seed=507",
    /* report 37: q's strides ignored, out addressed with them */
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
    /* report 16: other widths on another path */
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
    /* Reports 1, 3: rows past byte 2^31 and 2^32 */
    "block_size=1 num_blocks=4194816 num_tokens=3 seed=801",
    "block_size=64 num_blocks=131088 num_tokens=3 slots=ends seed=802",
    "block_size=64 num_blocks=131088 num_tokens=3 index_type=int64 scores=m5 seed=803",
    /* report 2: a packed pool of several layers, past block 2,065 */
    "block_size=64 num_blocks=2080 block_gap=1006912 num_tokens=3 seed=804",
    "block_size=64 num_blocks=4200 block_gap=1006912 num_tokens=3 slots=ends scale_type=bfloat16 seed=805",
    "block_size=2 num_blocks=1700 block_gap=1308656 num_tokens=3 head_dim=64 seed=806",
    "block_size=64 num_blocks=65537 num_tokens=3 slots=ends seed=811",  /* report 4: block 65,536 of 32,768 bytes */
    "block_size=1280 num_blocks=3300 num_tokens=3 slots=ends seed=812", /* report 34: block 3,277 of 655,360 bytes */
    "kv_format=bf16 block_size=1 num_blocks=3728400 slot_gap=128 num_tokens=3 slots=ends seed=813", /* report 35 */
    "kv_format=footer_584 block_size=64 num_blocks=115000 num_tokens=3 scores=m5 seed=814",
    "kv_format=footer_584 block_size=64 num_blocks=4200 block_gap=1002304 num_tokens=3 slots=ends num_heads=64 "
    "head_group=64 seed=815",
    "kv_format=footer_528 block_size=32 num_blocks=254300 num_tokens=3 slots=ends seed=816",
    "kv_format=bf16 head_dim=64 head_dim_v=64 num_heads=64 num_kv_heads=8 head_group=8 block_size=16 "
    "num_blocks=2200 v_block_gap=2000000 num_tokens=3 scores=m5 seed=817",
    "kv_format=footer_584 extra_format=footer_584 extra_size=512 extra_block_size=2 extra_num_blocks=4200 "
    "extra_block_gap=1038512 num_heads=64 head_group=64 num_tokens=3 lens=uniform extra_lens=uniform seed=818",
    /* report 41: tokens past 65,535; and as many heads */
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
    "num_tokens=2 num_heads=9 head_group=8 kv_format=e4m3 scales=random window_size=40 lens=uniform head_dim=128 "
    "seed=911",
    "num_tokens=2 num_heads=17 kv_format=bf16 window_size=129 sinks=special lens=uniform slots=masked_some head_dim=64 "
    "seed=912",
    "num_tokens=2 num_heads=17 kv_format=footer_584 block_size=3 num_blocks=60 block_gap=8 window_size=70 "
    "lens=uniform slots=masked_some sinks=normal seed=913",
    "num_tokens=2 num_heads=17 kv_format=footer_528 block_size=3 num_blocks=60 window_size=300 lens=uniform kv_tile=32 "
    "seed=914",
    "num_tokens=3 num_heads=12 num_kv_heads=4 head_group=8 head_dim=192 head_dim_v=128 kv_format=bf16 v_indices=own "
    "kv_layout=padded v_slot_gap=16 window_size=60 lens=uniform slots=masked_some soft_cap=30 seed=915",
    "num_tokens=3 num_heads=24 num_kv_heads=2 head_dim=64 head_dim_v=96 window_size=700 kv_layout=heads_outside "
    "lse_layout=heads_outside lse_form=7 sinks=special seed=916",
    "num_tokens=4 num_heads=9 head_group=8 kv_format=footer_584 extra_format=footer_528 extra_size=90 "
    "extra_block_size=2 "
    "extra_num_blocks=60 window_size=30 lens=gaps extra_lens=gaps block_gap=8 block_size=5 num_blocks=40 seed=917",
    "num_tokens=2 num_heads=17 head_dim=64 extra_size=600 extra_format=e4m3 window_size=100 extra_lens=uniform "
    "slots=masked_some seed=918",
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
