/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The portable family's matrix core: mma.sync with KV fragments widened in registers from the bytes in shared
 * memory, so that no bf16 copy of a row exists anywhere. Both products use the freedom to permute: the order of
 * head_dim within a sum (scores) and the order of output columns (values) follow the bytes that one thread gets
 * from one load.
 */
#ifndef SWA_MMA_MMA_SYNC_CUH
#define SWA_MMA_MMA_SYNC_CUH

#include "../gather.cuh"
#include "../load_q.cuh"
#include "../ptx/mma_sync.cuh"
#include "../softmax.cuh"

namespace swa::mma
{
/* Where a thread's fragments lie: of its first KV row, and of its first head tile. */
struct score_addresses {
  unsigned row, q;
};

__device__ __forceinline__ score_addresses make_score_addresses(const smem_plan &smem, const score_warp &w,
                                                                unsigned shared_row)
{
  unsigned row = shared_row + w.first_column + w.g, lane = w.g * 4 + w.q;
  return score_addresses{ptx::shared_address(smem.rows) + row_unit_offset(row, w.q),
                         ptx::shared_address(smem.heads.q) + w.first_row / mma_m * q_tile_bytes + lane * 16};
}

/* A chunk's addresses, with its Q in a stage. Two chunks of a KV row are 128 bytes, within which the swizzle stays: the
 * odd one's units differ in bit 2. */
__device__ __forceinline__ score_addresses chunk_addresses(const score_addresses &at, unsigned chunk, unsigned q_stage)
{
  return score_addresses{(at.row ^ chunk % 2 * chunk_dims) + chunk / 2 * 2 * chunk_dims,
                         at.q + q_stage * q_stage_bytes};
}

/* A thread's 16 bytes of each of its KV rows, of one chunk: elements 16 q on, 4 to a k-step. */
struct row_bytes_of_chunk {
  ptx::words4 n[score_n_tiles];
};

__device__ __forceinline__ row_bytes_of_chunk load_row_bytes(const score_addresses &at, const score_warp &w)
{
  row_bytes_of_chunk bytes;
#pragma unroll
  for (unsigned n = 0; n < score_n_tiles; n++) {
    bytes.n[n] = has_columns(w, n) ? ptx::ld_shared_v4(at.row + n * mma_n * row_bytes) : ptx::words4{};
  }
  return bytes;
}

/* tiles += Q K^T of one chunk. */
__device__ __forceinline__ void multiply_chunk(const score_addresses &at, const row_bytes_of_chunk &bytes,
                                               score_tiles &tiles, unsigned &nan_bits)
{
#pragma unroll
  for (unsigned step = 0; step < 4; step++) {
    unsigned b0[score_n_tiles], b1[score_n_tiles];
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
      kv::widen(bytes.n[n].w[step], b0[n], b1[n]);
      if constexpr (kv::has_nan_codes_apart) {
        nan_bits |= kv::nan_codes(bytes.n[n].w[step]);
      }
    }
#pragma unroll
    for (unsigned m = 0; m < score_m_tiles; m++) {
      unsigned lane = at.q ^ step / 2 * q_mixed_lanes * 16;
      ptx::words4 a = ptx::ld_shared_v4(lane + m * q_tile_bytes + step * q_step_bytes);
#pragma unroll
      for (unsigned n = 0; n < score_n_tiles; n++) {
        ptx::mma_m16n8k16_f16(tiles.s[m][n], a.w[0], a.w[1], a.w[2], a.w[3], b0[n], b1[n]);
      }
    }
  }
}

__device__ __forceinline__ void clear_scores(score_tiles &tiles)
{
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
#pragma unroll
      for (unsigned i = 0; i < 4; i++) {
        tiles.s[m][n][i] = 0.0f;
      }
    }
  }
}

/* Notes NaN codes, and rows whose products are not all finite: their sum is finite only if each is. */
__device__ __forceinline__ void note_products(smem_plan &smem, const score_warp &w, const score_tiles &tiles,
                                              unsigned round, unsigned nan_bits)
{
  float sum[score_m_tiles][2], all = 0.0f;
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      sum[m][half] = 0.0f;
#pragma unroll
      for (unsigned n = 0; n < score_n_tiles; n++) {
        sum[m][half] += tiles.s[m][n][2 * half] + tiles.s[m][n][2 * half + 1];
      }
      all += sum[m][half] * 0.0f;
    }
  }
  if (all != 0.0f && round < last_possible_round) {
    atomicMax(&smem.last_round, round + 1);
#pragma unroll
    for (unsigned m = 0; m < score_m_tiles; m++) {
#pragma unroll
      for (unsigned half = 0; half < 2; half++) {
        if (sum[m][half] * 0.0f != 0.0f) {
          atomicMax(&smem.row_round[w.first_row + m * mma_m + half * 8 + w.g], round + 1);
        }
      }
    }
  }
  if (kv::has_nan_codes_apart && (nan_bits & kv::nan_code_bits) != 0) {
    atomicOr(&smem.has_nan_code, 1u);
  }
}

/* The raw products of this warp's heads and columns, with all of Q in shared memory. Few tiles make few
 * independent chains of products: then even and odd chunks have sums of their own. */
__device__ __forceinline__ void make_scores(smem_plan &smem, const score_warp &w, unsigned shared_row, unsigned round,
                                            score_tiles &tiles)
{
  constexpr unsigned chains = score_m_tiles * score_n_tiles <= 4 ? 2 : 1;
  score_addresses at = make_score_addresses(smem, w, shared_row);
  score_tiles odd;
  unsigned nan_bits = 0;
  clear_scores(tiles);
  clear_scores(odd);
#pragma unroll 1
  for (unsigned pair = 0; 2 * pair + 1 < num_chunks; pair++) {
    score_addresses even_at = chunk_addresses(at, 2 * pair, 2 * pair);
    score_addresses odd_at = chunk_addresses(at, 2 * pair + 1, 2 * pair + 1);
    multiply_chunk(even_at, load_row_bytes(even_at, w), tiles, nan_bits);
    multiply_chunk(odd_at, load_row_bytes(odd_at, w), chains == 2 ? odd : tiles, nan_bits);
  }
  if constexpr (num_chunks % 2 != 0) {
    score_addresses last_at = chunk_addresses(at, num_chunks - 1, num_chunks - 1);
    multiply_chunk(last_at, load_row_bytes(last_at, w), tiles, nan_bits);
  }
#pragma unroll
  for (unsigned m = 0; chains == 2 && m < score_m_tiles; m++) {
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
#pragma unroll
      for (unsigned i = 0; i < 4; i++) {
        tiles.s[m][n][i] += odd.s[m][n][i];
      }
    }
  }
  note_products(smem, w, tiles, round, nan_bits);
}

/* The same, with Q in two turns of chunks: one is multiplied while the next is on its way. */
__device__ __forceinline__ void make_scores_streaming_q(const swa_params &params, smem_plan &smem, const score_warp &w,
                                                        const q_thread &q_at, unsigned num_heads, unsigned round,
                                                        q_load &load, score_tiles &tiles)
{
  score_addresses at = make_score_addresses(smem, w, 0);
  unsigned nan_bits = 0;
  clear_scores(tiles);
#pragma unroll 1
  for (unsigned first = 0; first < num_chunks; first += q_turn_chunks) {
    unsigned first_stage = first % (2 * q_turn_chunks);
    store_q(q_at, first_stage, round, load);
    /* Rows are read before the next loads of Q go out, but for the first turn, which would wait for rows first: a
     * spilled register read back behind loads from global memory waits for all of them. */
    row_bytes_of_chunk bytes;
    if (first != 0) {
      bytes = load_row_bytes(chunk_addresses(at, first, first_stage), w);
    }
    if (first + q_turn_chunks < num_chunks) {
      start_q(params, q_at, num_heads, first + q_turn_chunks, load);
    }
    if (first == 0) {
      wait_columns(smem, w);
      bytes = load_row_bytes(chunk_addresses(at, first, first_stage), w);
    }
    sync_q_group();
#pragma unroll 1
    for (unsigned i = 0; i < q_turn_chunks; i++) {
      score_addresses chunk_at = chunk_addresses(at, first + i, first_stage + i);
      if (i != 0) {
        bytes = load_row_bytes(chunk_at, w);
      }
      multiply_chunk(chunk_at, bytes, tiles, nan_bits);
    }
  }
  note_products(smem, w, tiles, round, nan_bits);
}

/* Sums of the values: for each head tile and slice of 32 elements of head_dim, four column tiles. Column tile 2 b
 * + e of a slice holds elements 16 b + 2 column + e. */
struct value_tiles {
  float v[value_m_tiles][batch_slices][4][4];
};

struct value_warp {
  unsigned first_row; /* of the pass's heads */
  unsigned n;         /* index among the warps that share the rows */
  unsigned lane, g, q;
};

__device__ __forceinline__ value_warp make_value_warp()
{
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  value_warp w;
  w.first_row = warp / value_warps_n * value_m_tiles * mma_m;
  w.n = warp % value_warps_n;
  w.lane = lane;
  w.g = lane / 4;
  w.q = lane % 4;
  return w;
}

/* The slice that is a warp's i-th; at or past num_slices: none. */
__device__ __forceinline__ unsigned warp_slice(const value_warp &w, unsigned i)
{
  return w.n * value_slices + i;
}

__device__ __forceinline__ void clear_values(value_tiles &tiles)
{
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
#pragma unroll
    for (unsigned s = 0; s < batch_slices; s++) {
#pragma unroll
      for (unsigned i = 0; i < 16; i++) {
        tiles.v[m][s][i / 4][i % 4] = 0.0f;
      }
    }
  }
}

/* Online softmax: the sums so far, brought to the new maximum. */
__device__ __forceinline__ void correct_values(const smem_plan &smem, const value_warp &w, value_tiles &tiles)
{
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
    float correction[2] = {smem.row_correction[w.first_row + m * mma_m + w.g],
                           smem.row_correction[w.first_row + m * mma_m + 8 + w.g]};
#pragma unroll
    for (unsigned s = 0; s < batch_slices; s++) {
#pragma unroll
      for (unsigned i = 0; i < 16; i++) {
        tiles.v[m][s][i / 4][i % 4] *= correction[i % 4 / 2];
      }
    }
  }
}

struct step_weights {
  ptx::words4 fragment[value_m_tiles];
};

/* tiles += weights V of one k-step and slice: 16 positions x 32 elements. */
__device__ __forceinline__ void multiply_slice(const step_weights &weights, const ptx::words4 &bytes, unsigned s,
                                               value_tiles &tiles)
{
#pragma unroll
  for (unsigned b = 0; b < 2; b++) {
    unsigned even0, even1, odd0, odd1;
    kv::widen(ptx::prmt<0x3120>(bytes.w[2 * b]), even0, odd0);
    kv::widen(ptx::prmt<0x3120>(bytes.w[2 * b + 1]), even1, odd1);
#pragma unroll
    for (unsigned m = 0; m < value_m_tiles; m++) {
      const ptx::words4 &a = weights.fragment[m];
      ptx::mma_m16n8k16_f16(tiles.v[m][s][2 * b], a.w[0], a.w[1], a.w[2], a.w[3], even0, even1);
      ptx::mma_m16n8k16_f16(tiles.v[m][s][2 * b + 1], a.w[0], a.w[1], a.w[2], a.w[3], odd0, odd1);
    }
  }
}

/* tiles += weights V over the first `positions` positions of the span, for the slices from warp_slice(w, batch) on.
 * Rows and weights past the last position are zeros. */
__device__ __forceinline__ void add_values(const smem_plan &smem, const value_warp &w, unsigned shared_row,
                                           unsigned positions, unsigned batch, value_tiles &tiles)
{
  /* Of steps, unrolled: few heads have little to do, and short code is there sooner. */
  constexpr unsigned most = q_is_resident ? 2 : 4, steps = span_positions / mma_k;
  constexpr unsigned group = steps % most == 0 ? most : steps % 2 == 0 ? 2 : 1;
  unsigned row = shared_row + w.lane % 16;
  unsigned weights_source = ptx::shared_address(&smem.heads.weights[w.first_row + w.lane % 16][w.lane / 16 * 8]);
  unsigned source[batch_slices];
#pragma unroll
  for (unsigned s = 0; s < batch_slices; s++) {
    source[s] = ptx::shared_address(smem.rows) + row_unit_offset(row, warp_slice(w, batch + s) * 2 + w.lane / 16);
  }
#pragma unroll 1
  for (unsigned first = 0; first < positions; first += group * mma_k) {
#pragma unroll
    for (unsigned step = 0; step < group; step++) {
      step_weights weights;
#pragma unroll
      for (unsigned m = 0; m < value_m_tiles; m++) {
        weights.fragment[m] =
            ptx::ldmatrix_x4(weights_source + (first + step * mma_k) * 2 + m * mma_m * weight_row_elems * 2);
      }
#pragma unroll
      for (unsigned s = 0; s < batch_slices; s++) {
        if (num_slices % value_warps_n == 0 || warp_slice(w, batch + s) < num_slices) {
          multiply_slice(weights, ptx::ldmatrix_x4_trans(source[s] + (first + step * mma_k) * row_bytes), s, tiles);
        }
      }
    }
  }
}
} // namespace swa::mma

#endif
