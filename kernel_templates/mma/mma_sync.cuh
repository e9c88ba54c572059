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
#include "factors.cuh"

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
  return score_addresses{ptx::shared_address(smem.rows) + k_layout::unit_offset(row, w.q),
                         ptx::shared_address(smem.heads.q) + w.first_row / mma_m * q_tile_bytes + lane * 16};
}

/* A chunk's addresses, with its Q in a stage. */
template <class K>
__device__ __forceinline__ score_addresses chunk_addresses(const score_addresses &at, unsigned chunk, unsigned q_stage)
{
  unsigned row = K::is_bf16 ? at.row + chunk * (2 * chunk_dims) : k_layout::chunk_address(at.row, chunk);
  return score_addresses{row, at.q + q_stage * q_stage_bytes};
}

/* A thread's 16 elements of each of its KV rows, of one chunk: of codes 16 q on, 4 to a k-step; of bf16 8 q on in
 * either half of the chunk. */
template <class K>
struct row_bytes_of_chunk {
  ptx::words4 n[score_n_tiles][K::is_bf16 ? 2 : 1];
};

template <class K>
__device__ __forceinline__ row_bytes_of_chunk<K> load_row_bytes(const score_addresses &at, const score_warp &w)
{
  row_bytes_of_chunk<K> bytes;
#pragma unroll
  for (unsigned n = 0; n < score_n_tiles; n++) {
    unsigned address = at.row + n * mma_n * row_bytes;
    bytes.n[n][0] = has_columns(w, n) ? ptx::ld_shared_v4(address) : ptx::words4{};
    if constexpr (K::is_bf16) {
      bytes.n[n][1] = has_columns(w, n) ? ptx::ld_shared_v4(address ^ chunk_dims) : ptx::words4{};
    }
  }
  return bytes;
}

/* A thread's fragments of a k-step. */
template <class K>
__device__ __forceinline__ void make_row_fragments(const row_bytes_of_chunk<K> &bytes, const chunk_factors &factors,
                                                   unsigned n, unsigned step, unsigned &b0, unsigned &b1,
                                                   [[maybe_unused]] unsigned &nan_bits)
{
  if constexpr (K::is_bf16) {
    b0 = bytes.n[n][step / 2].w[step % 2 * 2];
    b1 = bytes.n[n][step / 2].w[step % 2 * 2 + 1];
  } else {
    K::widen(bytes.n[n][0].w[step], b0, b1);
    if constexpr (K::num_groups != 0) {
      b0 = ptx::mul_f16x2(b0, factors.n[n]);
      b1 = ptx::mul_f16x2(b1, factors.n[n]);
    }
    if constexpr (k_has_nan_codes_apart) {
      nan_bits |= K::nan_codes(bytes.n[n][0].w[step]);
    }
  }
}

/* tiles += Q times a k-step's fragments. */
template <class K>
__device__ __forceinline__ void multiply_step(unsigned q_address, unsigned step, const unsigned (&b0)[score_n_tiles],
                                              const unsigned (&b1)[score_n_tiles], score_tiles &tiles)
{
#pragma unroll
  for (unsigned m = 0; m < score_m_tiles; m++) {
    unsigned lane = q_address ^ step / 2 * q_mixed_lanes * 16;
    ptx::words4 a = ptx::ld_shared_v4(lane + m * q_tile_bytes + step * q_step_bytes);
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
      ptx::mma_m16n8k16<K::is_bf16>(tiles.s[m][n], a.w[0], a.w[1], a.w[2], a.w[3], b0[n], b1[n]);
    }
  }
}

/* tiles += Q K^T of one chunk. */
template <class K>
__device__ __forceinline__ void multiply_chunk(const score_addresses &at, const row_bytes_of_chunk<K> &bytes,
                                               const chunk_factors &factors, score_tiles &tiles, score_tiles &odd,
                                               unsigned &nan_bits)
{
#pragma unroll
  for (unsigned step = 0; step < 4; step++) {
    unsigned b0[score_n_tiles], b1[score_n_tiles];
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
      make_row_fragments<K>(bytes, factors, n, step, b0[n], b1[n], nan_bits);
    }
    multiply_step<K>(at.q, step, b0, b1, step % 2 == 0 ? tiles : odd);
  }
}

//: if with_groups
/* The same with half of the registers for bytes: two steps' at a time. Barriers keep ptxas from loading ahead into
 * registers that it does not have: it would spill Q's next turn, and so wait for it. */
template <class K>
__device__ __forceinline__ void multiply_chunk_by_halves(const score_addresses &at, const score_warp &w,
                                                         const chunk_factors &factors, score_tiles &tiles,
                                                         unsigned &nan_bits)
{
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    row_bytes_of_chunk<K> bytes = {};
    __syncwarp();
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
      ptx::words2 x =
          has_columns(w, n) ? ptx::ld_shared_v2((at.row ^ half * 8) + n * mma_n * row_bytes) : ptx::words2{};
      bytes.n[n][0].w[half * 2] = x.w[0];
      bytes.n[n][0].w[half * 2 + 1] = x.w[1];
    }
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
      if (i != 0) {
        __syncwarp();
      }
      unsigned b0[score_n_tiles], b1[score_n_tiles];
#pragma unroll
      for (unsigned n = 0; n < score_n_tiles; n++) {
        make_row_fragments<K>(bytes, factors, n, half * 2 + i, b0[n], b1[n], nan_bits);
      }
      __syncwarp();
      multiply_step<K>(at.q, half * 2 + i, b0, b1, tiles);
    }
  }
}
//: end

//: if with_tail
/* tiles += Q K^T of a row's tail as kv/mend.cuh has left it, which is its last chunk. A thread's elements are 16 q on,
 * as of codes. */
template <class K>
__device__ __forceinline__ void multiply_tail_chunk(const smem_plan &smem, const score_warp &w, unsigned shared_row,
                                                    unsigned q_address, score_tiles &tiles, score_tiles &odd_tiles)
{
  unsigned none; /* or the compiler works the address out before the loop over chunks, and keeps it in a register */
  asm volatile("mov.u32 %0, 0;" : "=r"(none));
  unsigned address = kv::tail_address<K>(smem, shared_row + w.first_column + w.g + none, w.q);
#pragma unroll
  for (unsigned half = 0; half < 2; half++) {
    ptx::words2 even[score_n_tiles], odd[score_n_tiles];
#pragma unroll
    for (unsigned n = 0; n < score_n_tiles; n++) {
      unsigned from = address + n * mma_n * row_bytes + half * 8;
      even[n] = has_columns(w, n) ? ptx::ld_shared_v2(from) : ptx::words2{};
      odd[n] = has_columns(w, n) ? ptx::ld_shared_v2(from ^ 16) : ptx::words2{};
    }
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
      unsigned b0[score_n_tiles], b1[score_n_tiles];
#pragma unroll
      for (unsigned n = 0; n < score_n_tiles; n++) {
        b0[n] = ptx::prmt<0x5410>(even[n].w[i], odd[n].w[i]);
        b1[n] = ptx::prmt<0x7632>(even[n].w[i], odd[n].w[i]);
      }
      multiply_step<K>(q_address, half * 2 + i, b0, b1, i == 0 ? tiles : odd_tiles);
    }
  }
}
//: end

/* Notes NaN codes, and rows whose products are not all finite: their sum is finite only if each is. */
__device__ __forceinline__ void note_products(smem_plan &smem, const score_warp &w, const score_tiles &tiles,
                                              unsigned round, unsigned nan_bits)
{
  if (k_has_nan_codes_apart && nan_bits != 0) {
    atomicOr(&smem.has_nan_code, 1u);
  }
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
    unsigned rows = 0; /* bit i: of the row 8 i below the first */
#pragma unroll
    for (unsigned i = 0; i < 2 * score_m_tiles; i++) {
      rows |= sum[i / 2][i % 2] * 0.0f != 0.0f ? 1u << i : 0;
    }
#pragma unroll 1
    for (unsigned i = 0; i < 2 * score_m_tiles; i++) {
      if ((rows >> i & 1) != 0) {
        atomicMax(&smem.row_round[w.first_row + i * 8 + w.g], round + 1);
      }
    }
  }
}

//: if with_resident_q
/* The raw products of this warp's heads and columns, with all of Q in shared memory. Few tiles make few
 * independent chains of products: then even and odd chunks have sums of their own. */
template <class K>
__device__ __forceinline__ void make_scores(smem_plan &smem, const score_warp &w, unsigned shared_row, unsigned round,
                                            score_tiles &tiles)
{
  constexpr unsigned chains = score_m_tiles * score_n_tiles <= 4 ? 2 : 1;
  constexpr unsigned unrolled = exact_softmax * K::num_groups != 0 ? num_chunks : 1; /* factors: chunks hide chunks */
  constexpr unsigned code_chunks = (K::code_dims + chunk_dims - 1) / chunk_dims;
  score_addresses at = make_score_addresses(smem, w, shared_row);
  score_tiles odd = {};
  unsigned nan_bits = 0;
  tiles = score_tiles{};
#pragma unroll unrolled
  for (unsigned chunk = 0; chunk < code_chunks; chunk++) {
    score_addresses chunk_at = chunk_addresses<K>(at, chunk, chunk);
    multiply_chunk<K>(chunk_at, load_row_bytes<K>(chunk_at, w), load_chunk_factors<K>(smem, w, shared_row, chunk),
                      tiles, chains == 2 ? odd : tiles, nan_bits);
  }
  //: if with_tail
  if constexpr (code_chunks != num_chunks) {
    multiply_tail_chunk<K>(smem, w, shared_row, at.q + code_chunks * q_stage_bytes, tiles, chains == 2 ? odd : tiles);
  }
  //: end
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
//: end

//: if with_q_in_turns
template <class K>
constexpr bool reads_rows_late = K::num_groups != 0 && K::code_dims != head_dim &&pass_rows > 64;

/* The same, with Q in two turns of chunks: one is multiplied while the next is on its way. */
template <class K>
__device__ __forceinline__ void make_scores_streaming_q(const swa_params &params, smem_plan &smem, const score_warp &w,
                                                        const q_thread &q_at, unsigned num_heads, unsigned round,
                                                        q_load &load, score_tiles &tiles)
{
  constexpr unsigned code_chunks = (K::code_dims + chunk_dims - 1) / chunk_dims;
  constexpr unsigned unrolled = K::num_groups != 0 ? q_turn_chunks : 1;
  score_addresses at = make_score_addresses(smem, w, 0);
  unsigned nan_bits = 0;
  tiles = score_tiles{};
#pragma unroll 1
  for (unsigned first = 0; first < num_chunks; first += q_turn_chunks) {
    unsigned first_stage = first % (2 * q_turn_chunks);
    store_q(q_at, first_stage, round, load);
    if (first == 0 && round == 0) {
      settle_rows<K, 0>(smem, 0, stage_rows);
    } else {
      sync_q_group();
    }
    /* Rows are read before the next loads of Q go out: a spilled register read back behind loads from global memory
     * waits for all of them. */
    row_bytes_of_chunk<K> bytes;
    if constexpr (!reads_rows_late<K>) {
      bytes = load_row_bytes<K>(chunk_addresses<K>(at, first, first_stage), w);
    }
    if (first + q_turn_chunks < num_chunks) {
      start_q(params, q_at, num_heads, first + q_turn_chunks, load);
    }
#pragma unroll unrolled
    for (unsigned i = 0; i < q_turn_chunks; i++) {
      //: if with_tail
      if (code_chunks != num_chunks && first + i >= code_chunks) {
        constexpr unsigned stage = code_chunks % (2 * q_turn_chunks);
        multiply_tail_chunk<K>(smem, w, 0, at.q + stage * q_stage_bytes, tiles, tiles);
        continue;
      }
      //: end
      score_addresses chunk_at = chunk_addresses<K>(at, first + i, first_stage + i);
      //: if with_groups
      if constexpr (reads_rows_late<K>) {
        multiply_chunk_by_halves<K>(chunk_at, w, load_chunk_factors<K>(smem, w, 0, first + i), tiles, nan_bits);
        continue;
      }
      //: end
      if (i != 0) {
        bytes = load_row_bytes<K>(chunk_at, w);
      }
      multiply_chunk<K>(chunk_at, bytes, load_chunk_factors<K>(smem, w, 0, first + i), tiles, tiles, nan_bits);
    }
  }
  note_products(smem, w, tiles, round, nan_bits);
}
//: end

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
  tiles = value_tiles{};
}

//: if with_online_softmax
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
//: end

/* A thread's fragments of two column tiles side by side. */
struct column_fragments {
  unsigned even0, even1, odd0, odd1;
};

/* tiles += weights times two column tiles of a k-step, the first of a slice's four and the next, or the rest. */
__device__ __forceinline__ void multiply_columns(const step_weights &weights, const column_fragments &b, unsigned s,
                                                 unsigned first_tile, value_tiles &tiles)
{
#pragma unroll
  for (unsigned part = 0; part < weight_parts; part++) {
#pragma unroll
    for (unsigned m = 0; m < value_m_tiles; m++) {
      const ptx::words4 &a = weights.fragment[part][m];
      float(&even)[4] = tiles.v[m][s][first_tile];
      float(&odd)[4] = tiles.v[m][s][first_tile + 1];
      ptx::mma_m16n8k16<v_format::is_bf16>(even, a.w[0], a.w[1], a.w[2], a.w[3], b.even0, b.even1);
      ptx::mma_m16n8k16<v_format::is_bf16>(odd, a.w[0], a.w[1], a.w[2], a.w[3], b.odd0, b.odd1);
    }
  }
}

/* tiles += weights V of one k-step and slice of codes: 16 positions x 32 elements. factor0, 1: of a thread's positions
 * 2 q, 2 q + 1 and those 8 on, where codes have them. */
template <class V>
__device__ __forceinline__ void multiply_slice(const step_weights &weights, const ptx::words4 &bytes, unsigned s,
                                               [[maybe_unused]] unsigned factor0, [[maybe_unused]] unsigned factor1,
                                               value_tiles &tiles)
{
#pragma unroll
  for (unsigned b = 0; b < 2; b++) {
    column_fragments columns;
    V::widen_v(bytes.w[2 * b], columns.even0, columns.odd0);
    V::widen_v(bytes.w[2 * b + 1], columns.even1, columns.odd1);
    if constexpr (V::num_groups != 0 && !scales_weights<V>) {
      columns.even0 = ptx::mul_f16x2(columns.even0, factor0);
      columns.odd0 = ptx::mul_f16x2(columns.odd0, factor0);
      columns.even1 = ptx::mul_f16x2(columns.even1, factor1);
      columns.odd1 = ptx::mul_f16x2(columns.odd1, factor1);
    }
    multiply_columns(weights, columns, s, 2 * b, tiles);
  }
}

/* The same of operands as they lie: rows of bf16, where column tile t of a slice is elements 8 t on, or a tail, where
 * it is as of codes. source: of the slice's first unit. */
__device__ __forceinline__ void multiply_plain_slice(const step_weights &weights, unsigned source, unsigned s,
                                                     value_tiles &tiles)
{
#pragma unroll
  for (unsigned b = 0; b < 2; b++) {
    ptx::words4 x = ptx::ldmatrix_x4_trans(source ^ b * 32);
    multiply_columns(weights, column_fragments{x.w[0], x.w[1], x.w[2], x.w[3]}, s, 2 * b, tiles);
  }
}

/* Whether a slice's operands lie in shared memory as they are multiplied. */
template <class V>
__device__ __forceinline__ bool is_plain_slice(unsigned slice)
{
  return V::is_bf16 || (V::code_dims != head_dim_v && slice >= V::code_dims / slice_dims);
}

/* The 16-byte unit of a row where a slice begins: of codes two to a slice, of plain elements four. */
template <class V>
__device__ __forceinline__ unsigned slice_unit(unsigned slice)
{
  constexpr unsigned code_slices = V::is_bf16 ? 0 : V::code_dims / slice_dims;
  return is_plain_slice<V>(slice) ? code_slices * 2 + (slice - code_slices) * 4 : slice * 2;
}

__device__ __forceinline__ unsigned value_rows_address(const smem_plan &smem)
{
  unsigned address = ptx::shared_address(smem.rows);
  //: if with_own_v
  address = ptx::shared_address(smem.v_rows);
  //: end
  return address;
}

/* Where scales by group take registers that 64 heads need: on sm_100 and later ptxas 13.0 would spill. */
#if __CUDA_ARCH__ >= 1000
constexpr bool has_few_registers = num_groups != 0 && pass_rows <= 64;
#else
constexpr bool has_few_registers = false;
#endif

/* Of steps, unrolled: few heads have little to do, and short code is there sooner. */
constexpr unsigned most_steps = q_is_resident || has_few_registers ? 2 : 4, span_steps = span_positions / mma_k;
constexpr unsigned step_group = span_steps % most_steps == 0 ? most_steps : span_steps % 2 == 0 ? 2 : 1;
constexpr unsigned plain_group = span_steps % 2 == 0 && (q_is_resident || !has_few_registers) ? 2 : 1;

__device__ __forceinline__ step_weights load_step_weights(unsigned source)
{
  step_weights weights;
#pragma unroll
  for (unsigned part = 0; part < weight_parts; part++) {
#pragma unroll
    for (unsigned m = 0; m < value_m_tiles; m++) {
      weights.fragment[part][m] = ptx::ldmatrix_x4(source + (part * pass_rows + m * mma_m) * weight_row_elems * 2);
    }
  }
  return weights;
}

/* tiles += weights V over the first `positions` positions of the span, for the slices from warp_slice(w, batch) on, all
 * of codes or all plain. Rows and weights past the last position are zeros. */
template <class V, bool is_plain, unsigned group>
__device__ __forceinline__ void add_slices(const smem_plan &smem, const value_warp &w, unsigned shared_row,
                                           unsigned positions, unsigned batch, value_tiles &tiles)
{
  unsigned row = shared_row + w.lane % 16;
  unsigned weights_source =
      first_weight_unit(ptx::shared_address(smem.heads.weights[0][w.first_row + w.lane % 16]), w.lane, w.lane / 16);
  unsigned source[batch_slices];
#pragma unroll
  for (unsigned s = 0; s < batch_slices; s++) {
    source[s] =
        value_rows_address(smem) + v_layout::unit_offset(row, slice_unit<V>(warp_slice(w, batch + s)) + w.lane / 16);
  }
#pragma unroll 1
  for (unsigned first = 0; first < positions; first += group * mma_k) {
#pragma unroll
    for (unsigned step = 0; step < group; step++) {
      unsigned position = first + step * mma_k;
      step_weights weights = load_step_weights(weight_unit(weights_source, position));
      unsigned factor0 = 0, factor1 = 0;
      //: if with_groups
      if constexpr (!is_plain && scales_weights<V>) {
        load_slice_factors<V>(smem, warp_slice(w, batch), shared_row + position + 2 * w.q, factor0, factor1);
        scale_weights(factor0, factor1, weights);
      }
      //: end
#pragma unroll
      for (unsigned s = 0; s < batch_slices; s++) {
        if (num_slices % value_warps_n == 0 || warp_slice(w, batch + s) < num_slices) {
          unsigned from = source[s] + position * v_layout::stride_bytes;
          if constexpr (is_plain) {
            multiply_plain_slice(weights, from, s, tiles);
          } else {
            //: if with_groups
            if constexpr (!scales_weights<V>) {
              load_slice_factors<V>(smem, warp_slice(w, batch + s), shared_row + position + 2 * w.q, factor0, factor1);
            }
            //: end
            multiply_slice<V>(weights, ptx::ldmatrix_x4_trans(from), s, factor0, factor1, tiles);
          }
        }
      }
    }
  }
}

template <class V>
__device__ __forceinline__ void add_values(const smem_plan &smem, const value_warp &w, unsigned shared_row,
                                           unsigned positions, unsigned batch, value_tiles &tiles)
{
  //: if with_tail
  if (V::code_dims != head_dim_v && is_plain_slice<V>(warp_slice(w, batch))) {
    add_slices<V, true, plain_group>(smem, w, shared_row, positions, batch, tiles);
    return;
  }
  //: end
  add_slices<V, V::is_bf16, step_group>(smem, w, shared_row, positions, batch, tiles);
}
} // namespace swa::mma

#endif
