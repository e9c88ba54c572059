/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding-window attention decode: one CTA has one token and head_group query heads.
 *
 *   plan      which token and heads, how many positions of each scope
 *   gather    KV rows by slot into shared memory, asynchronously
 *   scores    Q K^T on the tensor cores, rows widened from e4m3 in registers
 *   softmax   one exact pass where the whole window is in shared memory, online tile by tile where not
 *   values    weights times the same rows
 *   epilogue  normalise, round to bf16, store; LSE
 *
 * The formula is in swa_jit.h, section 8; docs/kernels/mma_sync.md has the schedule and its arithmetic.
 */
#include "epilogue.cuh"
#include "ptx/griddepcontrol.cuh"
#include "splits.cuh"

namespace swa
{
__device__ __forceinline__ void init_rounds(smem_plan &smem)
{
  if (threadIdx.x < pass_rows) {
    smem.row_round[threadIdx.x] = 0;
  }
  if (threadIdx.x == 0) {
    smem.last_round = 0;
  }
}

/* A cycle that is entered at two places is no loop to the compiler, whose search for what does not change in it takes a
 * tenth of a compile and finds what costs registers: a token without a position enters the rounds at their end. Not so
 * where ptxas would spill: 32 and 128 heads, 64 with scales by group, sums of 64. */
constexpr bool rounds_are_no_loop =
    exact_softmax ? pass_rows <= 16 || (pass_rows > 32 && pass_rows <= 64 && num_groups == 0) : pass_rows < 64;

//: if with_exact_softmax
/* Rows of the window on their way, scales here, and Q's first turn on its way. */
__device__ __forceinline__ void start_exact(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                            q_load &load)
{
  lane_index index = load_lane_index(params, plan, 0);
  /* behind the index, which rows wait for */
  start_q(params, make_q_thread(params, plan, smem, 0), plan.num_heads, 0, load);
  pending_column<k_format, v_format> column = gather_window(params, plan, smem, index);
  //: if with_sinks
  float sink = load_sink(params, plan, threadIdx.x);
  //: end
  store_column(smem, column);
  //: if with_sinks
  store_sink(smem, sink);
  //: end
}

/* Of heads that Q, as this round scales it, is right for. False: every position is masked, nothing is stored. */
__device__ __forceinline__ bool decode_exact_round(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                   unsigned round, const score_warp &sw, const mma::value_warp &vw,
                                                   q_load &load)
{
  score_tiles scores;
  //: if with_resident_q
  store_q(make_q_thread(params, plan, smem, 0), 0, round, load);
  if (round == 0) {
    settle_rows<k_format, 0>(smem, 0, stage_rows);
  } else {
    __syncthreads();
  }
  mma::make_scores<k_format>(smem, sw, 0, round, scores);
  //: end
  //: if with_q_in_turns
  mma::make_scores_streaming_q<k_format>(params, smem, sw, make_q_thread(params, plan, smem, 0), plan.num_heads, round,
                                         load, scores);
  //: end
  if (smem.has_position == 0) {
    return false;
  }
  scale_scores(smem, sw, 0, params.scale * log2_e, score_factor(round), soft_cap_of(params), scores);
  __syncthreads();
  row_state state;
  init_rows(state);
  make_weights(smem, sw, 0, scores, state);
  publish_sums(smem, sw, state);
  __syncthreads();
  //: if with_lse
  store_lse(params, plan, smem, 0, round);
  //: end
  row_factors factors = make_row_factors(plan, smem, vw, 0, round);
#pragma unroll 1
  for (unsigned batch = 0; batch < value_slices; batch += batch_slices) {
    mma::value_tiles values;
    mma::clear_values(values);
    mma::add_values<v_format>(smem, vw, 0, plan.len, batch, values);
    store_values(params, plan, vw, factors, 0, batch, values);
  }
  return true;
}

/* With the whole window in shared memory. False: no position, or every one is masked, and nothing is stored. */
__device__ __forceinline__ bool decode_exact(const swa_params &params, const cta_plan &plan, smem_plan &smem)
{
  q_load load;
  score_warp sw;
  mma::value_warp vw;
  unsigned round = 0;
  if (plan.len == 0) {
    if (!rounds_are_no_loop) {
      return false;
    }
    goto round_done;
  }
  start_exact(params, plan, smem, load);
  sw = make_score_warp();
  vw = mma::make_value_warp();
#pragma unroll 1
  for (;; round++) {
    if (!decode_exact_round(params, plan, smem, round, sw, vw, load)) {
      return false;
    }
  round_done:
    if (!has_rounds || round == smem.last_round) {
      return !rounds_are_no_loop || plan.len != 0;
    }
    start_q(params, make_q_thread(params, plan, smem, 0), plan.num_heads, 0, load);
    __syncthreads();
  }
}
//: end

//: if with_online_softmax
/* The tiles of both scopes in one row: first the window's, then the extra scope's. This CTA's are `first` on. */
struct tile_row {
  unsigned num_window_tiles, first, end;
};

__device__ __forceinline__ tile_row make_tile_row([[maybe_unused]] const swa_params &params, const cta_plan &plan)
{
  tile_row tiles;
  tiles.num_window_tiles = (plan.len + kv_tile - 1) / kv_tile;
  tiles.first = 0;
  tiles.end = tiles.num_window_tiles + (plan.extra_len + kv_tile - 1) / kv_tile;
  //: if with_splits
  unsigned share = (tiles.end + params.num_splits - 1) / params.num_splits;
  tiles.first = min(plan.split * share, tiles.end);
  tiles.end = min(tiles.first + share, tiles.end);
  //: end
  return tiles;
}

/* Both scopes' rows are read by the same code. */
constexpr bool is_one_format = extra_size == 0 || kv::is_same<k_format, extra_format>;

/* Tiles that are on their way while one is worked on. */
constexpr unsigned gather_lead = num_stages > 1 ? num_stages - 1 : 1;

/* What of a tile is gathered next, while the tile before is worked on. */
struct tile_gather {
  unsigned next; /* tile of the row */
  lane_index index;
  pending_column<k_format, v_format> column; /* of the tile that is on its way */
};

__device__ __forceinline__ lane_index load_tile_index(const swa_params &params, const cta_plan &plan,
                                                      [[maybe_unused]] const tile_row &tiles, unsigned tile)
{
  //: if with_extra
  if (tile >= tiles.num_window_tiles) {
    unsigned position =
        (tile - tiles.num_window_tiles) * kv_tile + threadIdx.x % warp_size * num_warps + threadIdx.x / warp_size;
    index_type index = load_index(index_row(params.extra, params.extra.pool, plan.token), plan.extra_len, position);
    return lane_index{index, index};
  }
  //: end
  return load_lane_index(params, plan, tile * kv_tile);
}

template <class K, class V>
__device__ __forceinline__ pending_column<K, V> gather_tile(const swa_params &params, const swa_scope &scope,
                                                            const cta_plan &plan, smem_plan &smem,
                                                            const lane_index &index, unsigned shared_row)
{
  return gather_rows<K, V, kv_tile>(params, scope, plan, smem, slots_of(scope, index), shared_row);
}

/* Starts the copies of the row's next tile into its stage, a group of each thread's, of nothing behind the last. Its
 * columns are closed later, when their scales have arrived. */
__device__ __forceinline__ void gather_next(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                            const tile_row &tiles, tile_gather &gather)
{
  gather.column.column = no_column;
  if (gather.next < tiles.end) {
    unsigned tile = gather.next++, shared_row = (tile - tiles.first) % num_stages * kv_tile;
    lane_index index = gather.index;
    gather.index = load_tile_index(params, plan, tiles, tile + 1);
    //: if with_extra
    bool is_extra = tile >= tiles.num_window_tiles;
    if (is_one_format) {
      swa_scope scope = is_extra ? params.extra : params.window;
      gather.column = gather_tile<k_format, v_format>(params, scope, plan, smem, index, shared_row);
    } else if (is_extra) {
      store_column(smem, gather_tile<extra_format, extra_format>(params, params.extra, plan, smem, index, shared_row));
    } else
    //: end
    {
      gather.column = gather_tile<k_format, v_format>(params, params.window, plan, smem, index, shared_row);
    }
  }
  ptx::cp_async_commit_group();
}

/* Scores of a tile of either scope. */
template <class K>
__device__ __forceinline__ void score_tile(const swa_params &params, smem_plan &smem, const score_warp &sw,
                                           unsigned shared_row, unsigned round, score_tiles &scores)
{
  settle_rows<K, gather_lead - 1>(smem, shared_row, kv_tile);
  mma::make_scores<K>(smem, sw, shared_row, round, scores);
  scale_scores(smem, sw, shared_row, params.scale * log2_e, score_factor(round), soft_cap_of(params), scores);
}

/* One pass with online softmax: tiles go round num_stages stages. */
__device__ __forceinline__ void decode_online_pass(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                   unsigned first_head, unsigned round, const q_thread &q_at)
{
  score_warp sw = make_score_warp();
  mma::value_warp vw = mma::make_value_warp();
  tile_row tiles = make_tile_row(params, plan);
  row_state state;
  init_rows(state);
  mma::value_tiles values;
  mma::clear_values(values);

  tile_gather gather = {tiles.first, load_tile_index(params, plan, tiles, tiles.first), {}};
  q_load load;
  start_q(params, q_at, plan.num_heads - first_head, 0, load);
  //: if with_sinks
  float sink = load_sink(params, plan, first_head + threadIdx.x);
  //: end
#pragma unroll 1
  for (unsigned lead = 0; lead < gather_lead; lead++) {
    gather_next(params, plan, smem, tiles, gather);
    store_column(smem, gather.column);
  }
  //: if with_sinks
  store_sink(smem, sink);
  //: end
  store_q(q_at, 0, round, load);

#pragma unroll 1
  for (unsigned tile = tiles.first; tile < tiles.end; tile++) {
    unsigned shared_row = (tile - tiles.first) % num_stages * kv_tile;
    unsigned positions = plan.len - tile * kv_tile;
    score_tiles scores;
    //: if with_extra
    bool is_extra = tile >= tiles.num_window_tiles, is_other = is_extra && !is_one_format;
    if (is_extra) {
      positions = plan.extra_len - (tile - tiles.num_window_tiles) * kv_tile;
    }
    if (is_other) {
      score_tile<extra_format>(params, smem, sw, shared_row, round, scores);
    } else
    //: end
    {
      score_tile<k_format>(params, smem, sw, shared_row, round, scores);
    }
    __syncthreads();
    if constexpr (num_stages > 1) {
      /* into the stage of the tile before, whose values every warp has added */
      gather_next(params, plan, smem, tiles, gather);
    }
    make_weights(smem, sw, shared_row, scores, state);
    __syncthreads();
    mma::correct_values(smem, vw, values);
    //: if with_extra
    if (is_other) {
      mma::add_values<extra_format>(smem, vw, shared_row, min(positions, kv_tile), 0, values);
    } else
    //: end
    {
      mma::add_values<v_format>(smem, vw, shared_row, min(positions, kv_tile), 0, values);
    }
    if constexpr (num_stages == 1) {
      __syncthreads();
      gather_next(params, plan, smem, tiles, gather);
    }
    store_column(smem, gather.column);
  }

  publish_sums(smem, sw, state);
  __syncthreads();
  //: if with_splits
  store_split(make_split_unit(params, plan, first_head), plan, smem, vw, round, smem.has_position != 0, values);
  //: end
  //: if without_splits
  //: if with_lse
  store_lse(params, plan, smem, first_head, round);
  //: end
  row_factors factors = make_row_factors(plan, smem, vw, first_head, round);
  store_values(params, plan, vw, factors, first_head, 0, values);
  //: end
}

/* A round of a pass; whether it was the last. */
__device__ __forceinline__ bool decode_online_round(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                    unsigned first_head, unsigned round)
{
  decode_online_pass(params, plan, smem, first_head, round, make_q_thread(params, plan, smem, first_head));
  bool is_done = !has_rounds || round == smem.last_round;
  //: if with_splits
  if (is_done) {
    split_unit unit = make_split_unit(params, plan, first_head);
    if (is_last_split(params, unit)) {
      store_unit(params, plan, smem, first_head, unit);
    }
  }
  //: end
  return is_done;
}

/* False: every position is masked, and out is not what it should be. */
__device__ __forceinline__ bool decode_online(const swa_params &params, const cta_plan &plan, smem_plan &smem)
{
  unsigned first_head = 0, round = 0;
  bool is_done = true, is_empty = plan.len == 0 && plan.extra_len == 0;
  if (is_empty) {
    if (!rounds_are_no_loop) {
      return false;
    }
    first_head = plan.num_heads;
    goto pass_done;
  }
#pragma unroll 1
  for (;;) {
    is_done = decode_online_round(params, plan, smem, first_head, round);
  pass_done:
    round = is_done ? 0 : round + 1;
    first_head += is_done ? pass_heads : 0;
    __syncthreads(); /* every warp has read rows, sums and tops, which the next pass overwrites, and stored its out */
    if (first_head >= plan.num_heads) {
      return !is_empty && (with_splits || smem.has_position != 0); /* splits store what is masked too */
    }
    if (is_done) {
      init_rounds(smem);
      __syncthreads();
    }
  }
}
//: end
} // namespace swa

extern "C" __global__ void __launch_bounds__(swa::num_threads, swa::min_ctas_per_sm)
    swa_decode(const __grid_constant__ swa_params params)
{
  extern __shared__ __align__(128) unsigned char shared_memory[];
  swa::smem_plan &smem = *reinterpret_cast<swa::smem_plan *>(shared_memory);
  swa::ptx::griddepcontrol_wait(); /* before anything is read that a kernel before may have written */
  swa::prefetch_indices(params, swa::cta_token());
  swa::cta_plan plan = swa::make_plan(params);
  swa::init_rounds(smem);
  if (threadIdx.x == 0) {
    smem.has_nan_code = 0;
    smem.has_position = 0;
    //: if with_groups
    smem.needs_mending = 0;
    //: end
  }
  __syncthreads(); /* before len is looked at: it is still on its way */
  swa::ptx::griddepcontrol_launch_dependents();
  bool is_stored = false;
  //: if with_exact_softmax
  is_stored = swa::decode_exact(params, plan, smem);
  //: end
  //: if with_online_softmax
  is_stored = swa::decode_online(params, plan, smem);
  //: end
  if (!is_stored) {
    swa::store_empty(params, plan, 0, plan.num_heads);
  }
}
