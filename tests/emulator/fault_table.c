/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

/* Small cases. Exact softmax, one pass; */
#define EXACT "num_tokens=2 num_heads=17 head_dim=128 window_size=129 lens=uniform slots=masked_some scores=m5 seed=11"
#define EDGES "num_tokens=14 num_heads=3 head_dim=64 window_size=24 lens=edges scores=m20 seed=12"
#define SHARP "num_tokens=2 num_heads=16 head_dim=64 window_size=64 scores=sharp seed=13"
#define SCALED "num_tokens=2 num_heads=16 head_dim=64 window_size=64 scales=random lens=uniform seed=14"
#define STRIDED                                                                                                        \
  "num_tokens=3 num_heads=9 head_group=8 head_dim=64 window_size=16 out_layout=padded lse_gap=3 index_gap=5 "          \
  "block_size=5 num_blocks=9 block_gap=1040 seed=15"
#define LARGE_Q "num_tokens=2 num_heads=13 head_dim=64 window_size=16 q_exponent=20 lens=uniform seed=16"
#define NAN_CODES "num_tokens=4 num_heads=4 head_dim=64 window_size=16 codes=nan lens=uniform seed=17"
/* with Q in two turns; */
#define TURNS "num_tokens=1 num_heads=64 head_group=64 kv_tile=64 window_size=128 seed=18"
#define TURNS_FOOTER "num_tokens=1 num_heads=64 head_group=64 kv_format=footer_584 kv_tile=64 window_size=64 seed=23"
/* online softmax: an extra scope, several tiles in several stages, several passes, splits; */
#define ONLINE                                                                                                         \
  "num_tokens=2 num_heads=8 head_group=8 head_dim=64 kv_format=e4m3 scales=random window_size=70 lens=uniform "        \
  "extra_size=90 extra_format=e4m3 extra_block_size=2 extra_num_blocks=60 extra_lens=uniform scores=m5 seed=21"
#define PASSES                                                                                                         \
  "num_tokens=1 num_heads=128 head_group=128 head_dim=64 kv_format=e4m3 window_size=40 extra_size=40 "                 \
  "extra_format=e4m3 extra_num_blocks=4 seed=22"
#define SPLITS ONLINE " num_splits=3"
/* footers, sinks, a cap, KV heads and V's own pool; */
#define FOOTER                                                                                                         \
  "num_tokens=2 num_heads=9 head_group=16 kv_format=footer_584 window_size=40 block_size=3 num_blocks=60 block_gap=8 " \
  "seed=31"
#define DOUBTFUL FOOTER " scale_bytes=random"
#define HOLLOW FOOTER " scale_bytes=hollow"
#define LARGE_TAIL FOOTER " bf16=large scale_bytes=one"
#define SINKS EXACT " sinks=normal"
#define CAPPED "num_tokens=2 num_heads=8 head_group=8 head_dim=64 window_size=32 soft_cap=30 seed=33"
#define GROUPED                                                                                                        \
  "num_tokens=3 num_heads=12 num_kv_heads=4 head_group=8 head_dim=96 head_dim_v=64 kv_format=bf16 v_indices=own "      \
  "kv_layout=padded v_slot_gap=16 window_size=60 lens=uniform slots=masked_some seed=34"

/* and clusters: scales and masks, tops of units that are far apart, q beyond f16 in some parts and in all, nothing. */
#define CLUSTER                                                                                                        \
  "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=13 kv_format=e4m3 scales=real slots=masked_odd scores=m5 seed=41"
#define CLUSTER_SHARP                                                                                                  \
  "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=8 head_group=8 scores=sharp sinks=normal seed=42"
#define CLUSTER_ROUNDS "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=13 q_exponent=14 scores=m20 seed=46"
#define CLUSTER_LARGE_Q "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=13 q_exponent=20 seed=43"
#define CLUSTER_FOOTER                                                                                                 \
  "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=5 head_group=8 kv_format=footer_584 scale_bytes=near seed=47"
#define CLUSTER_TAIL                                                                                                   \
  "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=5 head_group=8 kv_format=footer_584 bf16=large scale_bytes=one "  \
  "seed=48"
#define CLUSTER_HOLLOW                                                                                                 \
  "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=5 head_group=8 kv_format=footer_584 scale_bytes=hollow seed=49"
#define CLUSTER_EMPTY "cluster_size=4 kv_tile=128 num_tokens=1 num_heads=13 num_blocks=0 seed=44"

#define FAULT(what_, part_, was_, now_, line_, check_)                                                                 \
  {                                                                                                                    \
    .what = (what_), .part = (part_), .was = (was_), .now = (now_), .line = (line_), .check = (check_)                 \
  }

/* What is not ordered is a race, or is read before it is written: which of the two comes first is the schedule's. */
#define UNORDERED(what_, part_, was_, now_, line_)                                                                     \
  {                                                                                                                    \
    .what = (what_), .part = (part_), .was = (was_), .now = (now_), .line = (line_), .check = FAULT_RACE,              \
    .other = FAULT_UNINITIALISED                                                                                       \
  }

const fault faults[] = {
    /* ---- barriers ---- */
    UNORDERED("no barrier between the flags' first values and their use", "swa_decode.cu",
              "__syncthreads(); /* before len is looked at: it is still on its way */", "", EXACT),
    UNORDERED("no barrier between copies and their use by other warps", "gather.cuh",
              "most_pending>();\n  __syncthreads();\n  //: if with_groups", "most_pending>();\n  //: if with_groups",
              EXACT),
    UNORDERED("no barrier between tops and weights, exact", "swa_decode.cu",
              "scores);\n  __syncthreads();\n  row_state state;", "scores);\n  row_state state;", EXACT),
    UNORDERED("no barrier between weights and values, exact", "swa_decode.cu",
              "publish_sums(smem, sw, state);\n  __syncthreads();\n  //: if with_lse",
              "publish_sums(smem, sw, state);\n  //: if with_lse", EXACT),
    UNORDERED("no barrier between the rounds of large queries", "swa_decode.cu",
              "plan.num_heads, 0, load);\n    __syncthreads();\n  }", "plan.num_heads, 0, load);\n  }", LARGE_Q),
    UNORDERED("no barrier between tops and weights, online", "swa_decode.cu",
              "    __syncthreads();\n    if constexpr (num_stages > 1) {", "    if constexpr (num_stages > 1) {",
              ONLINE),
    UNORDERED("no barrier between weights and values, online", "swa_decode.cu",
              "scores, state);\n    __syncthreads();\n    mma::correct_values",
              "scores, state);\n    mma::correct_values", ONLINE),
    UNORDERED("no barrier between sums and the epilogue, online", "swa_decode.cu",
              "publish_sums(smem, sw, state);\n  __syncthreads();\n  //: if with_splits",
              "publish_sums(smem, sw, state);\n  //: if with_splits", ONLINE),
    UNORDERED(
        "no barrier between two passes", "swa_decode.cu",
        "__syncthreads(); /* every warp has read rows, sums and tops, which the next pass overwrites, and stored its "
        "out "
        "*/",
        "", PASSES),
    UNORDERED("no barrier between the turns of Q", "mma/mma_sync.cuh", "    } else {\n      sync_q_group();\n    }",
              "    }", TURNS),
    FAULT("a barrier waits for twice its warps", "load_q.cuh", "q_group_threads, q_group_threads);",
          "q_group_threads, 2 * q_group_threads);", TURNS, FAULT_DEADLOCK),
    FAULT("each warp waits at a barrier of its own", "load_q.cuh", "ptx::bar_sync(1 + threadIdx.x / q_group_threads",
          "ptx::bar_sync(1 + threadIdx.x / warp_size", TURNS, FAULT_DEADLOCK),
    UNORDERED("a barrier that one warp passes by", "swa_decode.cu",
              "publish_sums(smem, sw, state);\n  __syncthreads();\n  //: if with_lse",
              "publish_sums(smem, sw, state);\n  if (threadIdx.x >= warp_size) {\n    __syncthreads();\n  }\n  //: if "
              "with_lse",
              EXACT),
    UNORDERED("no `__syncwarp` before tails are read", "kv/mend.cuh",
              "__syncwarp(); /* what the other lanes copied and stored is there */", "", FOOTER),
    UNORDERED("no `__syncwarp` before tails are overwritten", "kv/mend.cuh",
              "__syncwarp(); /* every lane has read what others write */", "", FOOTER),
    UNORDERED("no barrier between mending and its mark's end", "kv/mend.cuh",
              "    __syncthreads();\n    if (threadIdx.x == 0) {", "    if (threadIdx.x == 0) {", DOUBTFUL),

    /* ---- asynchronous copies ---- */
    UNORDERED("copies are not waited for", "gather.cuh", "ptx::cp_async_wait_group<most_pending>();", "", EXACT),
    UNORDERED("copies are waited for by one group too few", "swa_decode.cu", "settle_rows<K, gather_lead - 1>",
              "settle_rows<K, gather_lead>", ONLINE),
    UNORDERED("copies are committed to no group", "gather.cuh", "index), first);\n  ptx::cp_async_commit_group();",
              "index), first);", EXACT),
    UNORDERED("tails are committed with the codes", "gather.cuh", "shared_row);\n    ptx::cp_async_commit_group();",
              "shared_row);", TURNS_FOOTER),
    FAULT("a tile is gathered into the stage that is read", "swa_decode.cu",
          "shared_row = (tile - tiles.first) % num_stages * kv_tile;\n    lane_index index",
          "shared_row = (tile - tiles.first + 1) % num_stages * kv_tile;\n    lane_index index", ONLINE,
          FAULT_UNINITIALISED),
    UNORDERED("one stage fewer is gathered into than is read", "swa_decode.cu",
              "shared_row = (tile - tiles.first) % num_stages * kv_tile;\n    lane_index index",
              "shared_row = (tile - tiles.first) % (num_stages - 1) * kv_tile;\n    lane_index index", ONLINE),
    FAULT("a copy from 8 bytes on", "gather.cuh", "row_source + unit * 16,", "row_source + unit * 16 + 8,", EXACT,
          FAULT_MISALIGNED),
    UNORDERED("rows of one copy to one place", "gather.cuh",
              "Layout::unit_offset(shared_row + row_in_copy * num_warps + warp, unit)",
              "Layout::unit_offset(shared_row + warp, unit)", EXACT),
    FAULT("a masked row is copied like the others", "gather.cuh",
          "is_padding || (masked_rows >> from % warp_size & 1) != 0 ? 0 : 16", "is_padding ? 0 : 16",
          "num_tokens=2 num_heads=8 head_dim=64 window_size=16 num_blocks=0 seed=19", FAULT_BOUNDS),

    /* ---- shared memory ---- */
    FAULT("the plan has a row too few", "smem_plan.cuh", "rows[stage_rows][row_bytes]; /* KV",
          "rows[stage_rows - 1][row_bytes]; /* KV", EXACT, FAULT_COMPILER),
    FAULT("the window's end is not looked at", "softmax.cuh",
          "return span_positions % (mma_n * score_warps_n) == 0 || w.first_column + n * mma_n < span_positions;",
          "return true;", EXACT, FAULT_UNINITIALISED),
    FAULT("has_position has no first value", "swa_decode.cu", "    smem.has_position = 0;\n", "", EXACT,
          FAULT_UNINITIALISED),
    FAULT("rounds have no first value", "swa_decode.cu", "smem.row_round[threadIdx.x] = 0;", ";", EXACT,
          FAULT_UNINITIALISED),
    FAULT("the swizzle of odd chunks is added instead of flipped", "row_layout.cuh", "(address ^ chunk % 2 * 64)",
          "(address + chunk % 2 * 64)", EXACT, FAULT_RESULT),
    FAULT("values are read unswizzled", "mma/mma_sync.cuh", "v_layout::unit_offset(row, slice_unit",
          "v_layout::unit_offset(0, slice_unit", EXACT, FAULT_RESULT),
    FAULT("the mixed lanes of Q are read unmixed", "mma/mma_sync.cuh", "q_address ^ step / 2 * q_mixed_lanes * 16",
          "q_address", EXACT, FAULT_RESULT),

    /* ---- products ---- */
    FAULT("values are read without transposing", "mma/mma_sync.cuh", "ptx::ldmatrix_x4_trans(from), s, factor0",
          "ptx::ldmatrix_x4(from), s, factor0", EXACT, FAULT_RESULT),
    FAULT("bytes of two rows are paired in another order", "ptx/convert.cuh", "prmt.b32 even_odd, %2, 0, 0x3120;",
          "prmt.b32 even_odd, %2, 0, 0x3210;", EXACT, FAULT_RESULT),
    FAULT("the last k-step of values is left out", "mma/mma_sync.cuh", "first < positions; first += group * mma_k",
          "first + group * mma_k < positions; first += group * mma_k", EXACT, FAULT_RESULT),
    FAULT("the products of odd chunks are not added", "mma/mma_sync.cuh", "tiles.s[m][n][i] += odd.s[m][n][i];", ";",
          EXACT, FAULT_RESULT),

    /* ---- masks, lengths and addresses ---- */
    FAULT("len is not clamped to the window", "plan.cuh",
          "len >= static_cast<lens_type>(size) ? size : static_cast<unsigned>(len)", "static_cast<unsigned>(len)",
          EDGES, FAULT_BOUNDS),
    FAULT("a negative len is not 0", "plan.cuh", "return len <= 0 ? 0 : len >= static_cast<lens_type>(size)",
          "return static_cast<unsigned>(len) >= static_cast<unsigned>(size)", EDGES, FAULT_RESULT),
    FAULT("positions past len are read", "plan.cuh", "return position < len ? row[position] : -1;",
          "return row[position];", EDGES, FAULT_BOUNDS),
    FAULT("a slot one past the pool is read", "plan.cuh", "index >= static_cast<index_type>(scope.num_slots)",
          "index > static_cast<index_type>(scope.num_slots)", EXACT, FAULT_BOUNDS),
    FAULT("negative slots are read", "plan.cuh", "return index < 0 || index", "return index == -1 || index", EXACT,
          FAULT_BOUNDS),
    FAULT("a masked position counts", "column.cuh", "column.bias = is_masked ? -__int_as_float(0x7f800000) : 0.0f;",
          "column.bias = 0.0f;", EXACT, FAULT_RESULT),
    FAULT("no position is noted as unmasked", "gather.cuh", "atomicOr(&smem.has_position, 1u);", ";", EXACT,
          FAULT_RESULT),
    FAULT("blocks are taken for packed", "plan.cuh", "block * pool.block_stride_bytes",
          "block * scope.block_size * pool.slot_stride_bytes", STRIDED, FAULT_RESULT),
    FAULT("rows of indices are taken for packed", "plan.cuh",
          "static_cast<const index_type *>(pool.indices) + token * scope.indices_token_stride;",
          "static_cast<const index_type *>(pool.indices) + token * window_size;", STRIDED, FAULT_RESULT),
    FAULT("a block's number is the estimate", "plan.cuh", "? block : block + 1;", "? block : block;", STRIDED,
          FAULT_RESULT),
    FAULT("every KV head has the first one's rows", "plan.cuh", " + plan.kv_head * pool.kv_head_stride_bytes;", ";",
          GROUPED, FAULT_RESULT),
    FAULT("V's rows are found by K's slots", "gather.cuh", "params.v, plan, slots.v, at)",
          "params.v, plan, slots.k, at)", GROUPED, FAULT_RESULT),
    FAULT("out has half its stride", "epilogue.cuh", "out += 16 * params.out_head_stride;",
          "out += 8 * params.out_head_stride;", EXACT, FAULT_RESULT),
    FAULT("heads past the last are stored", "epilogue.cuh", "return (first_head + row < plan.num_heads) & (",
          "return (", EXACT, FAULT_RACE),
    FAULT("LSE is stored as if packed", "heads.cuh", "plan.token * params.lse_token_stride",
          "plan.token * params.num_heads", STRIDED, FAULT_RESULT),

    /* ---- softmax and scales ---- */
    FAULT("the row's scale is left out of scores", "column.cuh", "column.scale = is_masked ? 0.0f : scale;",
          "column.scale = is_masked ? 0.0f : 1.0f;", SCALED, FAULT_RESULT),
    FAULT("the row's scale is left out of weights", "softmax.cuh", "p0 * scale0, p1 * scale1", "p0, p1", SCALED,
          FAULT_RESULT),
    FAULT("a row's top is not that of all its lanes", "softmax.cuh",
          "x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));", "", SHARP, FAULT_RESULT),
    FAULT("a row's sum is not that of all its lanes", "softmax.cuh", "sum += __shfl_xor_sync(0xffffffffu, sum, 2);", "",
          EXACT, FAULT_RESULT),
    FAULT("sums are not brought to a new top", "softmax.cuh", "row_sum *= correction;", "", ONLINE, FAULT_RESULT),
    FAULT("values are not brought to a new top", "softmax.cuh", "smem.row_correction[row] = correction;",
          "smem.row_correction[row] = 1.0f;", ONLINE, FAULT_RESULT),
    FAULT("LSE stays in units of log2", "epilogue.cuh", "ptx::lg2(row_total(smem, row))) * ln_2;",
          "ptx::lg2(row_total(smem, row)));", EXACT, FAULT_RESULT),
    FAULT("sinks are left out", "epilogue.cuh",
          "total += ptx::ex2(smem.sink[row] - subtracted_of(row_top_of(smem, row)));", "", SINKS, FAULT_RESULT),
    FAULT("the cap has another sign", "column.cuh", "cap - 2.0f * cap * ptx::rcp", "cap + 2.0f * cap * ptx::rcp",
          CAPPED, FAULT_RESULT),
    FAULT("a query that is too large for f16 is not tried again", "mma/mma_sync.cuh",
          "atomicMax(&smem.last_round, round + 1);", "", LARGE_Q, FAULT_RESULT),
    {.what = "NaN codes are not noted, where they need to be",
     .part = "mma/mma_sync.cuh",
     .was = "atomicOr(&smem.has_nan_code, 1u);",
     .now = "",
     .line = NAN_CODES,
     .check = FAULT_RESULT,
     .arch = "sm_80"},

    /* ---- footers ---- */
    FAULT("scale bytes are looked for a slot further", "kv/e8m0.cuh", "(scale_rows)[at.slot_in_block]",
          "(scale_rows)[at.slot_in_block + 1]", FOOTER, FAULT_RESULT),
    FAULT("factors of positions 8 on are those of 6 on", "mma/factors.cuh", "factor1 = pairs[4];",
          "factor1 = pairs[3];", FOOTER, FAULT_RESULT),
    FAULT("scale bytes that are far apart are not mended", "kv/mend.cuh",
          "!has_near_groups<K>(scales, row_byte) && !is_masked", "false", HOLLOW, FAULT_RESULT),
    FAULT("tails that are too large are not mended", "kv/mend.cuh",
          "smem.figures.of_rows.tail_factor[tail.row] = -tail.factor;\n", "\n", LARGE_TAIL, FAULT_RESULT),
    FAULT("the factor of a hollow group is not bounded", "kv/e8m0.cuh", "-30), 1);", "-30), 15);", HOLLOW,
          FAULT_RESULT),
    FAULT("weights have the factors of other positions", "mma/factors.cuh", "i < 2 ? factor0 : factor1",
          "i < 2 ? factor1 : factor0", FOOTER, FAULT_RESULT),
    FAULT("a row is mended by its largest byte", "kv/row_byte.cuh", "(word & 0x7f7f7f7fu) == 0 || byte", "byte", HOLLOW,
          FAULT_RESULT),

    /* ---- splits ---- */
    FAULT("the last split but one adds up", "splits.cuh", "params.num_splits - 1) == params.num_splits - 1;",
          "params.num_splits - 1) == params.num_splits - 2;", SPLITS, FAULT_RACE),
    FAULT("the count of splits does not return to 0", "splits.cuh", "atomicInc(at.count, params.num_splits - 1)",
          "atomicInc(at.count, ~0u)", SPLITS, FAULT_RESULT),
    FAULT("a split's share lacks a tile", "swa_decode.cu", "min(tiles.first + share, tiles.end)",
          "min(tiles.first + share - 1, tiles.end)", SPLITS, FAULT_RESULT),
    FAULT("tiles that do not divide among splits are left out", "swa_decode.cu",
          "(tiles.end + params.num_splits - 1) / params.num_splits", "tiles.end / params.num_splits", SPLITS,
          FAULT_RESULT),
    FAULT("another split's sums are read", "splits.cuh", "at.rows[split * pass_rows + row]",
          "at.rows[(split + 1) * pass_rows + row]", SPLITS, FAULT_RACE),
    FAULT("sums of other warps are left where splits are added", "splits.cuh",
          "smem.figures.of_heads.sum[row].of[n] = 0.0f;", ";", SPLITS, FAULT_RESULT),
    FAULT("no barrier before a split is counted", "splits.cuh", "__syncthreads();\n  bool is_last = false;",
          "bool is_last = false;", SPLITS, FAULT_RACE),
    FAULT("no fence before a split is counted", "splits.cuh",
          "__threadfence(); /* what was stored, before the count */", "", SPLITS, FAULT_RACE),

    /* ---- clusters ---- */
    FAULT("no cluster barrier before stores to other CTAs", "swa_decode_cluster.cu",
          "ptx::barrier_cluster_wait();\n  exchange_weights(params, smem);",
          "exchange_weights(params, smem);\n  ptx::barrier_cluster_wait();", CLUSTER, FAULT_OTHER),
    UNORDERED("no fence between an mbarrier's first value and other CTAs", "ptx/cluster.cuh",
              "asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");", "", CLUSTER),
    UNORDERED("no barrier between a CTA's copied rows and their scores", "swa_decode_cluster.cu",
              "ptx::cp_async_wait_group<1>();\n  __syncthreads();", "ptx::cp_async_wait_group<1>();", CLUSTER),
    UNORDERED("copies of a CTA's rows are not waited for", "swa_decode_cluster.cu", "ptx::cp_async_wait_group<1>();",
              "", CLUSTER),
    UNORDERED("no barrier between parts of scores and their sum", "swa_decode_cluster.cu",
              "ptx::bar_sync(1 + w.unit, unit_threads);", "", CLUSTER),
    FAULT("units of scores wait at one barrier", "swa_decode_cluster.cu", "ptx::bar_sync(1 + w.unit, unit_threads);",
          "ptx::bar_sync(1 + w.part, unit_threads);", CLUSTER, FAULT_DEADLOCK),
    UNORDERED("no barrier between copied columns and values", "swa_decode_cluster.cu",
              "ptx::cp_async_wait_group<0>();\n  __syncthreads();", "ptx::cp_async_wait_group<0>();", CLUSTER),
    UNORDERED("copies of columns are not waited for", "swa_decode_cluster.cu", "ptx::cp_async_wait_group<0>();", "",
              CLUSTER),
    UNORDERED("weights of other CTAs are not waited for", "swa_decode_cluster.cu",
              "ptx::mbarrier_wait_cluster(ptx::shared_address(&smem.arrived));", "", CLUSTER),
    UNORDERED("fewer bytes are expected than arrive", "cluster/smem.cuh",
              "pass_rows * (positions * 2 + num_units * sizeof(unit_figure))", "pass_rows * (positions * 2)", CLUSTER),
    FAULT("more bytes are expected than arrive", "cluster/smem.cuh",
          "pass_rows * (positions * 2 + num_units * sizeof(unit_figure))",
          "pass_rows * (positions * 2 + (num_units + 1) * sizeof(unit_figure))", CLUSTER, FAULT_DEADLOCK),
    FAULT("weights go to another CTA than their mbarrier", "cluster/exchange.cuh",
          "ptx::st_async_v4(ptx::mapa(ptx::shared_address(target), pair.among), all",
          "ptx::st_async_v4(ptx::mapa(ptx::shared_address(target), pair.among ^ 1), all", CLUSTER, FAULT_OTHER),
    FAULT("every CTA has the first one's units", "cluster/exchange.cuh",
          "unsigned unit = cta_rank() * own_units + pair.unit", "unsigned unit = pair.unit", CLUSTER, FAULT_RACE),
    FAULT("weights of a row's other threads are left out", "cluster/exchange.cuh",
          "static_cast<int>((lane & ~6u) | i * 2)", "static_cast<int>(lane)", CLUSTER, FAULT_RESULT),
    FAULT("every CTA has scores of the first one's positions", "cluster/gather.cuh",
          "cta_rank() * own_positions + lane_row()", "lane_row()", CLUSTER, FAULT_RESULT),
    FAULT("every CTA has the first one's columns", "cluster/gather.cuh", "unsigned offset = cta_rank() * own_dims;",
          "unsigned offset = 0;", CLUSTER, FAULT_RESULT),
    FAULT("every CTA's out is the first one's", "cluster/values.cuh", "2 * (cta_rank() * own_dims + warp", "2 * (warp",
          CLUSTER, FAULT_RACE),
    FAULT("LSE is without what scores are reduced by", "cluster/values.cuh",
          "totals.subtracted[half] + ptx::lg2(totals.sum[half])", "ptx::lg2(totals.sum[half])", CLUSTER, FAULT_RESULT),
    FAULT("a warp has another part of Q than of rows", "cluster/scores.cuh", " + w.part * (warp_chunks * chunk_dims),",
          ",", CLUSTER, FAULT_RESULT),
    FAULT("queries past the last head are read", "cluster/scores.cuh", "half * 8 < head_group && head < plan.num_heads",
          "half * 8 < head_group", CLUSTER, FAULT_BOUNDS),
    FAULT("masked rows of a CTA, or their columns, are copied", "cluster/gather.cuh",
          "(masked_lanes >> from & 1) != 0 ? 0 : 16", "16", CLUSTER_EMPTY, FAULT_BOUNDS),
    FAULT("a unit without a position counts", "cluster/exchange.cuh", "figure.sum = has_position ? figure.sum : -0.0f;",
          "", CLUSTER_EMPTY, FAULT_RESULT),
    FAULT("positions of odd number count for none", "cluster/exchange.cuh",
          "column[0].bias == 0.0f || column[1].bias == 0.0f", "column[1].bias == 0.0f", CLUSTER, FAULT_RESULT),
    FAULT("zeros are stored past the last head", "swa_decode_cluster.cu",
          "first < plan.num_heads ? min(heads, plan.num_heads - first) : 0", "heads", CLUSTER_EMPTY, FAULT_BOUNDS),
    {.what = "a unit's top is not rounded to a power of two",
     .part = "cluster/exchange.cuh",
     .was = "ceilf(row_max(top))",
     .now = "row_max(top)",
     .line = CLUSTER,
     .check = FAULT_UNCAUGHT,
     .why = "its weights' factor is then rounded to f16, which is an eighth of out's own rounding"},
    FAULT("weights are not brought to the row's top", "cluster/values.cuh",
          "ptx::mul_f16x2(a.w[k], totals.factor[k % 2][unit])", "a.w[k]", CLUSTER_SHARP, FAULT_RESULT),
    FAULT("sums are not brought to the row's top", "cluster/values.cuh", "figure[u].sum * factor", "figure[u].sum",
          CLUSTER_SHARP, FAULT_RESULT),
    FAULT("a cluster's sinks are not brought to the row's top", "cluster/values.cuh",
          "smem.sink[lane / 4 + half * 8] - totals.subtracted[half]", "smem.sink[lane / 4 + half * 8]", CLUSTER_SHARP,
          FAULT_RESULT),
    FAULT("parts with rounds have no first value", "swa_decode_cluster.cu", "smem.parts_with_rounds[threadIdx.x] = 0;",
          ";", CLUSTER, FAULT_UNINITIALISED),
    FAULT("rounds of a part are not noted", "cluster/scores.cuh",
          "atomicOr(&smem.parts_with_rounds[w.unit], 1u << w.part);", "", CLUSTER_LARGE_Q, FAULT_RESULT),
    FAULT("parts are added in their own rounds", "cluster/exchange.cuh", "127 - (last - round[i]) * round_exponent",
          "127", CLUSTER_ROUNDS, FAULT_RESULT),
    FAULT("rounds are left out of scores", "cluster/exchange.cuh", "127 + last * round_exponent", "127",
          CLUSTER_LARGE_Q, FAULT_RESULT),
    FAULT("factors of groups are sent for another CTA's groups", "cluster/groups.cuh", "rank = group / own_factors",
          "rank = cluster_ctas - 1 - group / own_factors", CLUSTER_FOOTER, FAULT_RESULT),
    FAULT("factors of groups are left out of values", "cluster/values.cuh", "ptx::mul_f16x2(b[1][k], factors.of[k])",
          "b[1][k]", CLUSTER_FOOTER, FAULT_RESULT),
    FAULT("a tail's factor is its neighbour's", "cluster/groups.cuh", "(254 - row_byte) << 7", "(253 - row_byte) << 7",
          CLUSTER_FOOTER, FAULT_RESULT),
    FAULT("a tail that is too large is not seen", "cluster/scores.cuh", "seen = kv::note_too_large(b, seen);", "",
          CLUSTER_TAIL, FAULT_RESULT),
    FAULT("rows with hollow groups are not mended", "cluster/groups.cuh",
          "!kv::has_near_groups<k_format>(scales, row_byte) && !is_masked ? 1 : 0", "0", CLUSTER_HOLLOW, FAULT_RESULT),
    UNORDERED("no barrier between mending and another pass", "cluster/groups.cuh",
              "ptx::bar_sync(1 + unit, unit_threads);", "", CLUSTER_HOLLOW),

    /* ---- merges ---- */
    FAULT("one part too many is read", "swa_merge.cu", "if (i < params.num_parts)", "if (i <= params.num_parts)",
          "three_parts_with_sinks", FAULT_BOUNDS),
    FAULT("threads past the last unit go on", "swa_merge.cu", "if (index >= params.num_heads * params.row_units) {",
          "if (false) {", "odd_row", FAULT_RACE),
    FAULT("an empty part counts", "swa_merge.cu", "parts.lse[i] == params.parts_empty_lse", "false",
          "empty_plus_infinity", FAULT_RESULT),
    FAULT("parts' LSE in base 2 is taken for natural", "swa_merge.cu", "parts.lse[i] * params.parts_lse_factor",
          "parts.lse[i]", "base_2_to_e", FAULT_RESULT),
    FAULT("the largest LSE is not subtracted", "swa_merge.cu", "sums.top = fmaxf(sums.top, parts.lse[i]);",
          "sums.top = 0.0f;", "far_below_zero", FAULT_RESULT),
    FAULT("sinks are left out of a merge", "swa_merge.cu", "sums.total + ptx::ex2((sink - sums.top) * log2_e)",
          "sums.total", "three_parts_with_sinks", FAULT_RESULT),
    FAULT("rows of parts are taken for packed", "swa_merge.cu", "head * params.outs_head_stride;",
          "head * params.row_units * unit_elems;", "padded_parts", FAULT_RESULT),
};
const size_t num_faults = sizeof faults / sizeof faults[0];
