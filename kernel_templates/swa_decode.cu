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
/* Until every tile that this warp's columns lie in has landed. */
__device__ __forceinline__ void wait_columns(smem_plan &smem, const score_warp &w)
{
  unsigned end = min(w.first_column + score_n_tiles * mma_n, padded_window);
  for (unsigned tile = w.first_column / kv_tile; tile * kv_tile < end; tile++) {
    wait_tile(smem, tile, 0);
  }
}

/* With the whole window in shared memory. load: the first of Q, already on its way. */
__device__ __forceinline__ void decode_exact(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                             q_load &load)
{
  score_warp sw = make_score_warp();
  pending_column pending = gather_window(params, plan, smem);
  score_tiles scores;
  if constexpr (q_is_resident) {
    store_q(smem, make_q_thread(params, plan, smem, 0), 0, load);
  }
  store_column(smem, pending);
#pragma unroll 1
  for (;;) {
    if constexpr (q_is_resident) {
      __syncthreads(); /* columns and Q are written */
      wait_columns(smem, sw);
      mma::make_scores(smem, sw, 0, scores);
    } else {
      wait_columns(smem, sw);
      mma::make_scores_streaming_q(params, smem, sw, make_q_thread(params, plan, smem, 0), plan.num_heads, load,
                                   scores);
    }
    if (smem.q_is_wide) {
      restore_wide_products(smem, sw, scores);
    }
    if constexpr (!q_is_resident) {
      __syncthreads(); /* columns are written, by warps that this one has not met yet */
    }
    scale_scores(smem, sw, 0, params.scale * log2_e, scores);
    __syncthreads();
    if (smem.q_is_wide || !smem.has_infinite_product) {
      break;
    }
    __syncthreads();
    measure_wide_q(params, plan, smem, 0);
    q_thread q_at = make_q_thread(params, plan, smem, 0);
    start_q(params, q_at, plan.num_heads, 0, load);
    __syncthreads();
    if constexpr (q_is_resident) {
      store_q(smem, q_at, 0, load);
    }
  }
  row_state state;
  init_rows(state);
  make_weights(smem, sw, 0, scores, state);
  publish_sums(smem, sw, state);
  for (unsigned tile = 0; tile < num_stages; tile++) {
    wait_tile(smem, tile, 0); /* a warp's scores may have needed only some of the rows that its values read */
  }
  __syncthreads();
  finish_rows(params, plan, smem, 0);
  mma::value_warp vw = mma::make_value_warp();
  mma::held_weights held;
  mma::hold_weights(smem, vw, held);
#pragma unroll 1
  for (unsigned batch = 0; batch < value_slices; batch += batch_slices) {
    mma::value_tiles values;
    mma::clear_values(values);
    mma::add_values(smem, vw, 0, plan.len, batch, held, values);
    if (batch == 0) {
      __syncthreads(); /* rows are finished */
    }
    store_values(params, plan, smem, vw, 0, batch, values);
  }
}

/* One pass with online softmax: tiles go round num_stages stages, and `landed` counts tiles over all passes. */
__device__ __forceinline__ void decode_online_pass(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                                   unsigned first_head, const q_thread &q_at, q_load &load,
                                                   unsigned &landed)
{
  score_warp sw = make_score_warp();
  mma::value_warp vw = mma::make_value_warp();
  unsigned num_live_tiles = (plan.len + kv_tile - 1) / kv_tile;
  row_state state;
  init_rows(state);
  mma::value_tiles values;
  mma::clear_values(values);

  unsigned slot = load_lane_slot(params, plan, 0);
  unsigned gathered = 0; /* tiles of this pass whose copies have been started */
  auto gather_next = [&]() {
    if (gathered < num_live_tiles) {
      unsigned next_slot = load_lane_slot(params, plan, (gathered + 1) * kv_tile);
      store_column(smem, gather_rows<kv_tile>(params, smem, slot, (landed + gathered) % num_stages * kv_tile));
      slot = next_slot;
      gathered++;
    }
  };
  for (unsigned stage = 0; stage + 1 < num_stages || stage == 0; stage++) {
    gather_next();
  }
  store_q(smem, q_at, 0, load);
  __syncthreads();

#pragma unroll 1
  for (unsigned tile = 0; tile < num_live_tiles; tile++) {
    unsigned stage = (landed + tile) % num_stages, shared_row = stage * kv_tile;
    wait_tile(smem, stage, (landed + tile) / num_stages & 1);
    score_tiles scores;
    mma::make_scores(smem, sw, shared_row, scores);
    if (smem.q_is_wide) {
      restore_wide_products(smem, sw, scores);
    }
    scale_scores(smem, sw, shared_row, params.scale * log2_e, scores);
    __syncthreads();
    if constexpr (num_stages > 1) {
      gather_next(); /* into the stage of the tile before, whose values every warp has added */
    }
    make_weights(smem, sw, shared_row, scores, state);
    __syncthreads();
    mma::correct_values(smem, vw, values);
    mma::held_weights held;
    mma::hold_weights(smem, vw, held);
    mma::add_values(smem, vw, shared_row, min(plan.len - tile * kv_tile, kv_tile), 0, held, values);
    if constexpr (num_stages == 1) {
      __syncthreads();
      gather_next();
      __syncthreads();
    }
  }
  landed += num_live_tiles;

  __syncthreads();
  publish_sums(smem, sw, state);
  __syncthreads();
  finish_rows(params, plan, smem, first_head);
  __syncthreads();
  if (smem.q_is_wide || !smem.has_infinite_product) {
    store_values(params, plan, smem, vw, first_head, 0, values);
  }
  __syncthreads(); /* before the next pass overwrites rows, sums and maxima */
}

__device__ __forceinline__ void decode_online(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                              q_load &load)
{
  unsigned landed = 0;
#pragma unroll 1
  for (unsigned pass = 0; pass < num_passes && pass * pass_heads < plan.num_heads; pass++) {
    unsigned first_head = pass * pass_heads;
#pragma unroll 1
    for (bool is_again = pass != 0;; is_again = true) {
      q_thread q_at = make_q_thread(params, plan, smem, first_head);
      if (is_again) {
        start_q(params, q_at, plan.num_heads - first_head, 0, load);
      }
      decode_online_pass(params, plan, smem, first_head, q_at, load, landed);
      bool is_done = smem.q_is_wide || !smem.has_infinite_product;
      __syncthreads(); /* every thread has read the flags */
      if (is_done) {
        break;
      }
      measure_wide_q(params, plan, smem, first_head);
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      smem.has_infinite_product = smem.q_is_wide = 0;
    }
    __syncthreads();
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
  swa::q_load load;
  swa::start_q(params, swa::make_q_thread(params, plan, smem, 0), plan.num_heads, 0, load);
  swa::init_tile_barriers(smem);
  if (threadIdx.x == 0) {
    smem.has_nan_code = smem.has_infinite_product = smem.q_is_wide = 0;
  }
  __syncthreads(); /* before len is looked at: it is still on its way */
  if (plan.len == 0) {
    swa::store_empty(params, plan);
    return;
  }
  if constexpr (swa::exact_softmax) {
    swa::decode_exact(params, plan, smem, load);
  } else {
    swa::decode_online(params, plan, smem, load);
  }
}
