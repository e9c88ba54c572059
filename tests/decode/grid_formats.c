/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the general form: formats, sinks, LSE. A number after "report" names a public report of a fault in a kernel
 * of this kind, whose input the line repeats. */
#include "grid.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const format_lines[] = {
    /* e4m3: one scale for the pool */
    "kv_format=e4m3 num_tokens=14 lens=edges scores=m5 scales=random seed=1001",
    "kv_format=e4m3 num_tokens=14 num_heads=64 head_group=64 kv_tile=64 lens=edges scores=m20 scales=real seed=1002",
    "kv_format=e4m3 num_tokens=4 num_heads=8 head_group=8 kv_tile=128 slots=masked_half scores=m20 seed=1003",
    "kv_format=e4m3 num_heads=17 head_group=32 kv_tile=64 block_size=1 num_blocks=900 scales=signed lens=uniform "
    "seed=1004",
    "kv_format=e4m3 num_heads=128 head_group=128 kv_tile=128 block_size=2 num_blocks=300 slots=masked_some scores=m5 "
    "scales=real seed=1005",
    "kv_format=e4m3 num_heads=17 block_size=256 num_blocks=4 slot_gap=64 block_gap=4096 index_type=int64 seed=1006",
    "kv_format=e4m3 window_size=129 kv_tile=128 num_tokens=3 scales=random scores=m20 head_dim=64 seed=1007",
    "kv_format=e4m3 window_size=500 num_tokens=3 head_dim=256 lens=uniform scores=m5 kv_tile=64 seed=1008",
    "kv_format=e4m3 window_size=2048 num_heads=8 head_group=8 head_dim=128 lens=uniform scales=random seed=1009",
    "kv_format=e4m3 num_tokens=3 scales=special seed=1010 lens=uniform", /* a scale of 0 */
    "kv_format=e4m3 num_tokens=3 scales=special scores=m20 seed=1011",   /* a negative scale */
    "kv_format=e4m3 num_tokens=40 window_size=16 lens=one codes=all exact=1 seed=1012",
    "kv_format=e4m3 num_tokens=6 codes=nan slots=masked_some num_heads=128 head_group=128 seed=1013",
    "kv_format=e4m3 num_tokens=4 codes=null scores=m20 scales=real seed=1014",
    "kv_format=e4m3 num_tokens=3 num_blocks=0 seed=1015",
    "kv_format=e4m3 num_tokens=3 num_heads=17 scales=large q_exponent=20 lens=uniform seed=1016",

    /* bf16 */
    "kv_format=bf16 num_tokens=14 lens=edges scores=m5 seed=1101",
    "kv_format=bf16 num_tokens=14 num_heads=64 head_group=64 kv_tile=64 lens=edges scores=m20 head_dim=128 seed=1102",
    "kv_format=bf16 num_tokens=4 num_heads=8 head_group=8 kv_tile=128 slots=masked_half scores=m20 head_dim=64 "
    "seed=1103",
    "kv_format=bf16 num_heads=17 head_group=32 kv_tile=64 block_size=1 num_blocks=900 lens=uniform head_dim=96 "
    "seed=1104",
    "kv_format=bf16 num_heads=128 head_group=128 kv_tile=128 block_size=2 num_blocks=300 slots=masked_some scores=m5 "
    "seed=1105",
    "kv_format=bf16 num_heads=17 head_dim=192 block_size=256 num_blocks=4 slot_gap=48 block_gap=4112 seed=1106",
    "kv_format=bf16 window_size=129 kv_tile=128 num_tokens=3 scores=m20 seed=1107",
    "kv_format=bf16 window_size=500 num_tokens=3 head_dim=256 lens=uniform scores=p20 kv_tile=64 seed=1108",
    "kv_format=bf16 window_size=2048 num_heads=8 head_group=8 head_dim=512 lens=uniform scores=m5 seed=1109",
    "kv_format=bf16 num_tokens=4 scores=sharp num_heads=17 lens=uniform seed=1110",
    "kv_format=bf16 num_tokens=40 window_size=16 lens=one codes=all exact=1 seed=1111", /* all of a bf16's fraction */
    "kv_format=bf16 num_tokens=8 codes=all lens=uniform head_dim=128 seed=1112",
    "kv_format=bf16 num_tokens=4 bf16=large lens=uniform seed=1113",
    "kv_format=bf16 num_tokens=4 bf16=large window_size=500 head_dim=128 num_heads=64 head_group=64 seed=1114",
    "kv_format=bf16 num_tokens=4 bf16=tiny lens=uniform seed=1115",
    "kv_format=bf16 num_tokens=6 codes=nan slots=masked_some num_heads=128 head_group=128 kv_tile=64 seed=1116",
    "kv_format=bf16 num_tokens=4 codes=null scores=m20 seed=1117",
    "kv_format=bf16 num_tokens=3 num_heads=13 q_exponent=40 lens=uniform seed=1118",
    "kv_format=bf16 num_tokens=3 slots=masked_all seed=1119",

    /* footer_584: blocks of 64 slots at 37,440 and at 37,376 bytes, of 2 at 1,728 and 1,168, of 256 at 149,760 */
    "kv_format=footer_584 num_tokens=14 lens=edges scores=m5 block_gap=64 seed=1201",
    "kv_format=footer_584 num_tokens=14 num_heads=64 head_group=64 kv_tile=64 lens=edges scores=m20 seed=1202",
    /* report 18: scales of a block read as if they lay between its rows */
    "kv_format=footer_584 num_tokens=4 block_size=2 num_blocks=300 scale_bytes=near seed=1203",
    "kv_format=footer_584 num_tokens=4 num_heads=128 head_group=128 kv_tile=128 block_size=2 num_blocks=300 "
    "block_gap=560 slots=masked_some scores=m5 seed=1204",
    "kv_format=footer_584 num_tokens=4 num_heads=8 head_group=8 block_size=256 num_blocks=4 block_gap=256 "
    "slots=masked_half scores=m20 lens=uniform seed=1205",
    "kv_format=footer_584 num_heads=17 head_group=32 kv_tile=64 block_size=1 num_blocks=900 block_gap=8 "
    "scale_bytes=near seed=1206",
    "kv_format=footer_584 num_heads=17 block_size=32 num_blocks=30 window_size=129 kv_tile=128 scores=m20 seed=1207",
    "kv_format=footer_584 num_tokens=3 window_size=500 scores=m5 lens=uniform kv_tile=64 seed=1208",
    "kv_format=footer_584 num_tokens=2 window_size=2048 num_heads=8 head_group=8 scores=m5 lens=uniform seed=1209",
    "kv_format=footer_584 num_tokens=40 window_size=16 lens=one codes=all scale_bytes=one exact=1 seed=1210",
    /* report 50: scale bytes at their ends, alone and beside others */
    "kv_format=footer_584 num_tokens=300 num_heads=3 lens=one scale_bytes=all exact=1 seed=1211",
    "kv_format=footer_584 num_tokens=6 lens=uniform scale_bytes=random seed=1212",
    "kv_format=footer_584 num_tokens=3 lens=uniform scale_bytes=hollow seed=1224", /* mended: kv/mend.cuh */
    "kv_format=footer_584 num_tokens=6 scale_bytes=nan lens=uniform num_heads=64 head_group=64 seed=1213",
    "kv_format=footer_584 num_tokens=6 codes=nan slots=masked_some scale_bytes=near seed=1214",
    "kv_format=footer_584 num_tokens=4 codes=null scores=m20 seed=1215",
    "kv_format=footer_584 num_tokens=4 bf16=large lens=uniform seed=1216",
    "kv_format=footer_584 num_tokens=20 bf16=large lens=one exact=1 scale_bytes=one seed=1217",
    "kv_format=footer_584 num_tokens=20 bf16=tiny lens=one exact=1 scale_bytes=near seed=1218",
    "kv_format=footer_584 num_tokens=3 num_heads=13 q_exponent=20 lens=uniform seed=1219",
    "kv_format=footer_584 num_tokens=5 num_heads=24 block_size=53 num_blocks=13 block_gap=8 q_layout=slice "
    "out_layout=padded index_type=int64 lens_type=int64 seed=1220",
    "kv_format=footer_584 num_tokens=4 scores=sharp num_heads=127 head_group=128 kv_tile=64 seed=1221",
    "kv_format=footer_584 num_tokens=3 lens=zero seed=1222",
    "kv_format=footer_584 num_tokens=3 block_gap=1271232 scores=m5 seed=1223", /* report 36: layers between */

    /* footer_528: blocks of 32 slots at 16,896 bytes */
    "kv_format=footer_528 num_tokens=14 block_size=32 num_blocks=32 lens=edges scores=m5 seed=1301",
    "kv_format=footer_528 num_tokens=14 num_heads=64 head_group=64 kv_tile=64 lens=edges scores=m20 block_gap=512 "
    "seed=1302",
    "kv_format=footer_528 num_tokens=4 block_size=2 num_blocks=300 scale_bytes=near seed=1303", /* report 18 */
    "kv_format=footer_528 num_tokens=4 num_heads=128 head_group=128 kv_tile=128 block_size=2 num_blocks=300 "
    "block_gap=480 slots=masked_some scores=m5 seed=1304",
    "kv_format=footer_528 num_tokens=4 num_heads=8 head_group=8 block_size=256 num_blocks=4 slots=masked_half "
    "scores=m20 lens=uniform seed=1305",
    "kv_format=footer_528 num_heads=17 head_group=32 kv_tile=64 block_size=1 num_blocks=900 scale_bytes=near seed=1306",
    "kv_format=footer_528 num_heads=17 block_size=53 num_blocks=13 window_size=129 kv_tile=128 scores=m20 seed=1307",
    "kv_format=footer_528 num_tokens=3 window_size=500 scores=m5 lens=uniform kv_tile=64 seed=1308",
    "kv_format=footer_528 num_tokens=2 window_size=2048 num_heads=8 head_group=8 scores=m5 lens=uniform seed=1309",
    "kv_format=footer_528 num_tokens=40 window_size=16 lens=one codes=all scale_bytes=one exact=1 seed=1310",
    "kv_format=footer_528 num_tokens=300 num_heads=3 lens=one scale_bytes=all exact=1 seed=1311", /* report 50 */
    "kv_format=footer_528 num_tokens=6 lens=uniform scale_bytes=random seed=1312",
    "kv_format=footer_528 num_tokens=3 lens=uniform scale_bytes=hollow num_heads=64 head_group=64 seed=1318",
    "kv_format=footer_528 num_tokens=6 scale_bytes=nan lens=uniform num_heads=64 head_group=64 seed=1313",
    "kv_format=footer_528 num_tokens=6 codes=nan slots=masked_some scale_bytes=near seed=1314",
    "kv_format=footer_528 num_tokens=4 codes=null scores=m20 seed=1315",
    "kv_format=footer_528 num_tokens=3 num_heads=13 q_exponent=20 lens=uniform seed=1316",
    "kv_format=footer_528 num_tokens=5 num_heads=24 q_layout=slice out_layout=padded index_type=int64 seed=1317",
    "kv_format=footer_528 num_tokens=4 scores=sharp num_heads=127 head_group=128 kv_tile=64 seed=1318",
};

static const char *const sink_lines[] = {
    "sinks=normal num_tokens=14 lens=edges seed=1401",
    "sinks=normal num_tokens=14 lens=edges scores=m5 num_heads=64 head_group=64 kv_tile=64 seed=1402",
    "sinks=normal num_tokens=14 lens=edges scores=m20 num_heads=8 head_group=8 seed=1403",
    "sinks=normal num_tokens=4 scores=p20 num_heads=128 head_group=128 kv_tile=128 seed=1404",
    "sinks=special num_tokens=14 lens=edges scores=m5 seed=1405",
    "sinks=special num_tokens=4 scores=m20 num_heads=17 slots=masked_some seed=1406",
    "sinks=special num_tokens=4 scores=p20 num_heads=64 head_group=64 lens=uniform seed=1407",
    "sinks=special num_tokens=5 lens=zero num_heads=12 seed=1408",
    "sinks=special num_tokens=5 slots=masked_all num_heads=128 head_group=128 kv_tile=64 seed=1409",
    "sinks=special num_tokens=3 lens=gaps lse_form=2 scores=m5 seed=1410",
    "sinks=special num_tokens=3 lse=null num_heads=24 lens=uniform seed=1411",
    "sinks=normal num_tokens=3 lse=none num_heads=24 scores=m5 seed=1412",
    "sinks=null num_tokens=4 lens=uniform scores=m5 seed=1413",
    /* report 46: one path without the sink. Every way through the kernel: online, rounds, NaN, few tokens */
    "sinks=normal num_tokens=2 window_size=2048 num_heads=17 scores=m20 seed=1414",
    "sinks=special num_tokens=2 window_size=1500 head_dim=256 num_heads=65 head_group=64 kv_tile=32 seed=1415",
    "sinks=normal num_tokens=4 num_heads=13 q_exponent=20 lens=uniform seed=1416",
    "sinks=special num_tokens=3 num_heads=33 head_group=32 kv_tile=64 q_exponent=60 scores=m5 seed=1417",
    "sinks=normal num_tokens=6 codes=nan lens=uniform scores=m5 seed=1418",
    "sinks=normal num_tokens=6 scales=inf lens=uniform seed=1419",
    "sinks=normal num_tokens=1 num_heads=16 scores=m20 seed=1420",
    /* report 42: sinks read past their end where heads do not fill a group */
    "sinks=normal num_tokens=3 num_heads=1 seed=1421",
    "sinks=normal num_tokens=3 num_heads=3 scores=m5 seed=1422",
    "sinks=normal num_tokens=3 num_heads=5 head_group=8 scores=m5 seed=1423",
    "sinks=normal num_tokens=3 num_heads=12 head_group=32 lens=uniform scores=m20 seed=1424",
    "sinks=normal num_tokens=3 num_heads=17 scores=m5 seed=1425",
    "sinks=normal num_tokens=3 num_heads=96 head_group=64 kv_tile=32 scores=m5 seed=1426",
    "sinks=normal num_tokens=3 num_heads=127 head_group=128 kv_tile=32 scores=m20 seed=1427",
    /* beside the formats */
    "sinks=normal kv_format=e4m3 num_tokens=4 scales=random lens=uniform scores=m5 seed=1428",
    "sinks=special kv_format=bf16 num_tokens=4 num_heads=64 head_group=64 head_dim=64 lens=uniform scores=m20 "
    "seed=1429",
    "sinks=normal kv_format=footer_584 num_tokens=4 num_heads=64 head_group=64 block_gap=64 lens=edges scores=m5 "
    "seed=1430",
    "sinks=special kv_format=footer_584 num_tokens=4 num_heads=128 head_group=128 kv_tile=64 lens=uniform seed=1431",
    "sinks=normal kv_format=footer_528 num_tokens=4 num_heads=64 head_group=64 block_size=32 lens=uniform scores=m20 "
    "seed=1432",
};

static const char *const lse_form_lines[] = {
    /* report 11: what an empty row gives; report 47: the base, and where the elements lie */
    "lse_form=1 num_tokens=14 lens=edges scores=m5 seed=1501",
    "lse_form=1 num_tokens=4 num_heads=64 head_group=64 kv_tile=64 scores=m20 lens=gaps seed=1502",
    "lse_form=4 num_tokens=14 lens=edges scores=m20 seed=1503",
    "lse_form=4 num_tokens=4 num_heads=17 slots=masked_all seed=1504",
    "lse_form=5 num_tokens=6 num_heads=128 head_group=128 lens=gaps seed=1505",
    "lse_form=2 num_tokens=4 lens=gaps scores=m5 seed=1506", /* with a sink that is none */
    "lse_form=2 sinks=null num_tokens=4 lens=gaps scores=m5 seed=1507",
    "lse_form=2 sinks=normal num_tokens=14 lens=edges scores=m20 seed=1508",
    "lse_form=3 sinks=normal num_tokens=4 num_heads=64 head_group=64 lens=uniform scores=p20 seed=1509",
    "lse_form=3 sinks=special num_tokens=4 num_heads=24 lens=uniform scores=m5 seed=1510",
    "lse_form=6 sinks=special num_tokens=4 num_heads=12 lens=gaps scores=m20 seed=1511",
    "lse_form=7 sinks=special num_tokens=14 num_heads=18 lens=edges seed=1512",
    "lse_form=7 sinks=normal num_tokens=2 window_size=2048 num_heads=8 head_group=8 scores=m5 seed=1513",
    "lse_form=1 num_tokens=4 num_heads=13 q_exponent=20 lens=uniform seed=1514",
    "lse_form=4 lse_layout=heads_outside num_tokens=5 num_heads=64 head_group=64 lens=gaps scores=m5 seed=1515",
    "lse_form=3 lse_layout=heads_outside lse_gap=3 sinks=normal num_tokens=5 num_heads=17 lens=uniform seed=1516",
    "lse_layout=strided num_tokens=5 num_heads=24 lens=uniform scores=m5 seed=1517",
    "lse_layout=strided lse_gap=5 lse_form=1 num_tokens=5 num_heads=127 head_group=128 lens=edges seed=1518",
    "lse_layout=heads_outside num_tokens=1 num_heads=16 seed=1519",
    "lse_layout=heads_outside num_tokens=14 num_heads=5 lens=edges kv_format=footer_584 lse_form=4 seed=1520",
};

decode_lines decode_grid_formats(void)
{
  return (decode_lines){format_lines, COUNT(format_lines)};
}

decode_lines decode_grid_sinks(void)
{
  return (decode_lines){sink_lines, COUNT(sink_lines)};
}

decode_lines decode_grid_lse_forms(void)
{
  return (decode_lines){lse_form_lines, COUNT(lse_form_lines)};
}
