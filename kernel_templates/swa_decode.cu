/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding-window attention decode: one CTA has one token and head_group query heads.
 *
 *   plan      which token and heads, how many positions
 *   gather    KV rows by slot into shared memory, asynchronously, kv_tile rows to a barrier
 *   scores    Q K^T on the tensor cores, rows widened from e4m3 in registers
 *   softmax   one exact pass where the whole window is in shared memory, online tile by tile where not
 *   values    weights times the same rows
 *   epilogue  normalise, round to bf16, store; LSE
 *
 * The formula is in swa_jit.h, section 8; docs/kernels/mma_sync.md has the schedule and its arithmetic.
 */
#include "epilogue.cuh"

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

/* With the whole window in shared memory. False: every position is masked, nothing is stored. */
__device__ __forceinline__ bool decode_exact(const swa_params &params, const cta_plan &plan, smem_plan &smem)
{
  index_type index = load_lane_index(params, plan, 0);
  q_load load; /* behind the index, which rows wait for */
  start_q(params, make_q_thread(params, plan, smem, 0), plan.num_heads, 0, load);
  score_warp sw = make_score_warp();
  mma::value_warp vw = mma::make_value_warp();
  bool has_position = false;
  store_column(smem, gather_window(params, plan, smem, index, has_position));
  if (__syncthreads_or(has_position) == 0) { /* columns are written */
    for (unsigned tile = 0; tile < num_stages; tile++) {
      wait_tile(smem, tile, 0); /* copies outlive no CTA */
    }
    return false;
  }
#pragma unroll 1
  for (unsigned round = 0;; round++) {
    score_tiles scores;
    if constexpr (q_is_resident) {
      store_q(make_q_thread(params, plan, smem, 0), 0, round, load);
      __syncthreads();
      wait_columns(smem, sw);
      mma::make_scores(smem, sw, 0, round, scores);
    } else {
      mma::make_scores_streaming_q(params, smem, sw, make_q_thread(params, plan, smem, 0), plan.num_heads, round, load,
                                   scores);
    }
    scale_scores(smem, sw, 0, params.scale * log2_e, score_factor(round), scores);
    __syncthreads();
    row_state state;
    init_rows(state);
    make_weights(smem, sw, 0, scores, state);
    publish_sums(smem, sw, state);
    __syncthreads(); /* with it all rows: each was waited for by the warps that made its scores */
    //: if with_lse
    store_lse(params, plan, smem, 0, round);
    //: end
    row_factors factors = make_row_factors(plan, smem, vw, 0, round);
#pragma unroll 1
    for (unsigned batch = 0; batch < value_slices; batch += batch_slices) {
      mma::value_tiles values;
      mma::clear_values(values);
      mma::add_values(smem, vw, 0, plan.len, batch, values);
      store_values(params, plan, vw, factors, 0, batch, values);
    }
    if (round == smem.last_round) {
      return true;
    }
    start_q(params, make_q_thread(params, plan, smem, 0), plan.num_heads, 0, load);
    __syncthreads();
  }
}

/* One pass with online softmax: tiles go round num_stages stages, and `landed` counts tiles over all passes. */
__device__ __forceinline__ void decode_online_pass(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                   unsigned first_head, unsigned round, const q_thread &q_at,
                                                   unsigned &landed, bool &has_position)
{
  score_warp sw = make_score_warp();
  mma::value_warp vw = mma::make_value_warp();
  unsigned num_live_tiles = (plan.len + kv_tile - 1) / kv_tile;
  row_state state;
  init_rows(state);
  mma::value_tiles values;
  mma::clear_values(values);

  index_type index = load_lane_index(params, plan, 0);
  q_load load;
  start_q(params, q_at, plan.num_heads - first_head, 0, load);
  unsigned gathered = 0; /* tiles of this pass whose copies have been started */
  auto gather_next = [&]() {
    if (gathered < num_live_tiles) {
      index_type next_index = load_lane_index(params, plan, (gathered + 1) * kv_tile);
      unsigned slot = slot_of(params, index);
      has_position |= slot != masked_slot;
      store_column(smem, gather_rows<kv_tile>(params, smem, slot, (landed + gathered) % num_stages * kv_tile));
      index = next_index;
      gathered++;
    }
  };
#pragma unroll 1
  for (unsigned stage = 0; stage + 1 < num_stages || stage == 0; stage++) {
    gather_next();
  }
  store_q(q_at, 0, round, load);
  __syncthreads();

#pragma unroll 1
  for (unsigned tile = 0; tile < num_live_tiles; tile++) {
    unsigned stage = (landed + tile) % num_stages, shared_row = stage * kv_tile;
    wait_tile(smem, stage, (landed + tile) / num_stages & 1);
    score_tiles scores;
    mma::make_scores(smem, sw, shared_row, round, scores);
    scale_scores(smem, sw, shared_row, params.scale * log2_e, score_factor(round), scores);
    __syncthreads();
    if constexpr (num_stages > 1) {
      gather_next(); /* into the stage of the tile before, whose values every warp has added */
    }
    make_weights(smem, sw, shared_row, scores, state);
    __syncthreads();
    mma::correct_values(smem, vw, values);
    mma::add_values(smem, vw, shared_row, min(plan.len - tile * kv_tile, kv_tile), 0, values);
    if constexpr (num_stages == 1) {
      __syncthreads();
      gather_next();
      __syncthreads();
    }
  }
  landed += num_live_tiles;

  publish_sums(smem, sw, state);
  __syncthreads();
  //: if with_lse
  store_lse(params, plan, smem, first_head, round);
  //: end
  row_factors factors = make_row_factors(plan, smem, vw, first_head, round);
  store_values(params, plan, vw, factors, first_head, 0, values);
}

/* False: every position is masked, and out is not what it should be. */
__device__ __forceinline__ bool decode_online(const swa_params &params, const cta_plan &plan, smem_plan &smem)
{
  unsigned landed = 0, first_head = 0, round = 0;
  bool has_position = false;
#pragma unroll 1
  for (;;) {
    q_thread q_at = make_q_thread(params, plan, smem, first_head);
    decode_online_pass(params, plan, smem, first_head, round, q_at, landed, has_position);
    bool is_done = round == smem.last_round;
    round = is_done ? 0 : round + 1;
    first_head += is_done ? pass_heads : 0;
    if (first_head >= plan.num_heads) {
      return __syncthreads_or(has_position) != 0;
    }
    __syncthreads(); /* every warp has read rows, sums and tops, which the next pass overwrites */
    if (is_done) {
      init_rounds(smem);
      __syncthreads();
    }
  }
}
} // namespace swa

extern "C" __global__ void __launch_bounds__(swa::num_threads, swa::min_ctas_per_sm)
    swa_decode(const __grid_constant__ swa_params params)
{
  extern __shared__ __align__(128) unsigned char shared_memory[];
  swa::smem_plan &smem = *reinterpret_cast<swa::smem_plan *>(shared_memory);
  swa::prefetch_indices(params, blockIdx.x);
  swa::cta_plan plan = swa::make_plan(params);
  swa::init_tile_barriers(smem);
  swa::init_rounds(smem);
  if (threadIdx.x == 0) {
    smem.has_nan_code = 0;
  }
  __syncthreads(); /* before len is looked at: it is still on its way */
  bool is_stored = false;
  if (plan.len != 0) {
    if constexpr (swa::exact_softmax) {
      is_stored = swa::decode_exact(params, plan, smem);
    } else {
      is_stored = swa::decode_online(params, plan, smem);
    }
  }
  if (!is_stored) {
    swa::store_empty(params, plan);
  }
}
