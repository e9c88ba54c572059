/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants that a rendered kernel is specialised by. The renderer writes the first block from the
 * configuration and from the host's tile plan (src/tile_plan.h says what each figure means); the values here are
 * the seed's, so that every part also parses by itself. Below them: what follows from the configuration, computed
 * once, and what must hold.
 */
#ifndef SWA_CONFIG_CUH
#define SWA_CONFIG_CUH

#include "swa_params.h"

#ifndef SWA_RENDERED
namespace swa
{
constexpr unsigned head_dim = 512;
constexpr unsigned head_group = 16;
constexpr unsigned kv_tile = 16;
constexpr unsigned window_size = 128;
constexpr unsigned head_dim_v = 512;
constexpr unsigned extra_size = 0;
constexpr bool has_own_v = false;
using index_type = int;
using lens_type = int;
constexpr bool scale_is_bf16 = false;
constexpr bool with_lse = true;
constexpr bool with_soft_cap = false;
constexpr bool with_sinks = false;
constexpr bool with_splits = false;
constexpr unsigned cluster_ctas = 1;
constexpr unsigned exact_softmax = 1;
constexpr unsigned num_warps = 8;
constexpr unsigned min_ctas_per_sm = 1;
constexpr unsigned score_warps_m = 1;
constexpr unsigned score_warps_n = 8;
constexpr unsigned value_warps_m = 1;
constexpr unsigned value_warps_n = 8;
constexpr unsigned pass_heads = 16;
constexpr unsigned num_stages = 8;
constexpr unsigned q_stages = 8;
constexpr unsigned padded_window = 128;
constexpr unsigned row_bytes = 512;
constexpr unsigned v_row_bytes = 0;
constexpr unsigned shared_memory_bytes = 85120;
} // namespace swa

namespace swa
{
namespace kv
{
template <unsigned dims>
struct e4m3_slot;
}
using k_format = kv::e4m3_slot<head_dim>;
using v_format = kv::e4m3_slot<head_dim_v>;
using extra_format = kv::e4m3_slot<head_dim>;
} // namespace swa
#endif

namespace swa
{
constexpr unsigned warp_size = 32;
constexpr unsigned num_threads = num_warps * warp_size;

/* mma.sync m16n8k16: heads x positions x head_dim for the scores, heads x head_dim x positions for the values. */
constexpr unsigned mma_m = 16;
constexpr unsigned mma_n = 8;
constexpr unsigned mma_k = 16;

/* A thread takes 16 elements of a KV row at a time: four threads of a quad make a chunk of 64 elements. */
constexpr unsigned chunk_dims = 64;
constexpr unsigned num_chunks = (head_dim + chunk_dims - 1) / chunk_dims;

/* Positions whose scores are held at once: the whole window, or one tile. */
constexpr unsigned span_positions = exact_softmax ? padded_window : kv_tile;
constexpr unsigned num_passes = (head_group + pass_heads - 1) / pass_heads;
constexpr unsigned pass_rows = (pass_heads + mma_m - 1) / mma_m * mma_m;
constexpr unsigned stage_rows = num_stages * kv_tile;

constexpr unsigned score_m_tiles = pass_rows / mma_m / score_warps_m;
constexpr unsigned score_n_tiles = (span_positions / mma_n + score_warps_n - 1) / score_warps_n;
constexpr unsigned value_m_tiles = pass_rows / mma_m / value_warps_m;
constexpr unsigned slice_dims = 32; /* of head_dim: what one transposing load of a warp covers */
constexpr unsigned num_slices = head_dim_v / slice_dims;
constexpr unsigned value_slices = (num_slices + value_warps_n - 1) / value_warps_n;
/* Slices whose sums a warp holds at once: online softmax must hold all of its own. */
constexpr unsigned batch_slices = !exact_softmax || value_m_tiles * value_slices <= 4 ? value_slices
                                  : value_m_tiles <= 2 && value_slices % 2 == 0       ? 2
                                                                                      : 1;

/* Q goes through shared memory chunk by chunk: all of it stays, or two chunks take turns. */
constexpr bool q_is_resident = q_stages >= num_chunks;
constexpr unsigned q_turn_chunks = q_is_resident ? num_chunks : q_stages / 2;
constexpr unsigned q_tile_chunk_words = mma_m * chunk_dims / 2;

static_assert(head_dim % slice_dims == 0 && head_dim_v % slice_dims == 0, "rows must be whole slices");
static_assert(kv_tile % mma_k == 0, "kv_tile must be a multiple of 16");
static_assert(padded_window % kv_tile == 0 && padded_window >= window_size, "the padded window is whole tiles");
static_assert(exact_softmax ? num_stages * kv_tile == padded_window : num_stages >= 1, "an exact row holds every tile");
static_assert(num_warps == score_warps_m * score_warps_n, "every warp makes scores");
static_assert(num_warps == value_warps_m * value_warps_n, "every warp makes values");
static_assert(pass_rows % (mma_m * score_warps_m) == 0 && pass_rows % (mma_m * value_warps_m) == 0,
              "heads divide among warps");
static_assert(!exact_softmax || num_passes == 1, "exact softmax is one pass");
static_assert(q_is_resident || exact_softmax, "online softmax meets Q once a tile");
#ifdef SWA_RENDERED
//: if with_resident_q
static_assert(q_is_resident, "src/render.c takes Q for resident");
//: end
//: if with_q_in_turns
static_assert(!q_is_resident, "src/render.c takes Q for one in turns");
//: end
#endif
static_assert(num_chunks % q_turn_chunks == 0, "a turn is whole");
static_assert(kv_tile % num_warps == 0, "every warp gathers an equal share of a tile");
static_assert(extra_size == 0 || (!exact_softmax && !has_own_v), "an extra scope goes tile by tile");
static_assert(sizeof(swa_params) == 344, "swa_params.h differs from the host's");
} // namespace swa

#endif
