/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token's tiles shared out to several CTAs, for few tokens with many positions. Each leaves its sums in a workspace;
 * the one that comes last adds them up, in the order of the splits whichever it is, and stores the results. The count
 * of those that came returns to 0 by itself, so a captured launch may be replayed.
 *
 * A unit is what one CTA without splits would do in one pass. The workspace has, for each unit: a count; for each split
 * and row, top and sum; for each split, a thread's sums of values as they lie in its registers.
 */
#ifndef SWA_SPLITS_CUH
#define SWA_SPLITS_CUH

#include "epilogue.cuh"

namespace swa
{
//: if with_splits
struct alignas(16) split_row {
  float top, sum;
  unsigned has_position; /* any of the split's positions is unmasked */
  unsigned unused;
};

constexpr unsigned thread_quads = value_m_tiles * batch_slices * 4; /* a thread's sums, four at a time */

struct split_unit {
  unsigned *count;
  split_row *rows;    /* [split][pass_rows] */
  ptx::words4 *quads; /* [split][thread_quads][num_threads] */
};

__device__ __forceinline__ split_unit make_split_unit(const swa_params &params, const cta_plan &plan,
                                                      unsigned first_head)
{
  unsigned long long num_ctas = static_cast<unsigned long long>(gridDim.x) * gridDim.y * params.num_kv_heads;
  unsigned long long cta =
      (static_cast<unsigned long long>(plan.kv_head) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned long long unit = cta * num_passes + first_head / pass_heads, num_units = num_ctas * num_passes;
  char *counts = static_cast<char *>(params.workspace);
  char *rows = counts + (num_units * sizeof(unsigned) + 15) / 16 * 16;
  char *quads = rows + num_units * params.num_splits * (pass_rows * sizeof(split_row));
  split_unit at;
  at.count = reinterpret_cast<unsigned *>(counts) + unit;
  at.rows = reinterpret_cast<split_row *>(rows) + unit * params.num_splits * pass_rows;
  at.quads = reinterpret_cast<ptx::words4 *>(quads) + unit * params.num_splits * thread_quads * num_threads;
  return at;
}

/* A column tile's four sums, which lie in registers side by side: an order of another kind costs spills. */
__device__ __forceinline__ ptx::words4 *thread_quad(const split_unit &at, unsigned split, unsigned m, unsigned s,
                                                    unsigned tile)
{
  ptx::words4 *first = at.quads + (split * (thread_quads * num_threads) + threadIdx.x);
  return first + ((m * batch_slices + s) * 4 + tile) * num_threads;
}

/* The first two sums are of one row, the others of another. */
__device__ __forceinline__ void store_quad(ptx::words4 *target, const float (&sums)[4], const bool (&stores)[2])
{
  unsigned w[4] = {__float_as_uint(sums[0]), __float_as_uint(sums[1]), __float_as_uint(sums[2]),
                   __float_as_uint(sums[3])};
  if (stores[0] && stores[1]) {
    ptx::st_global_v4(target, ptx::words4{{w[0], w[1], w[2], w[3]}});
  } else if (stores[0]) {
    ptx::st_global_v2(target, w[0], w[1]);
  } else if (stores[1]) {
    ptx::st_global_v2(target->w + 2, w[2], w[3]);
  }
}

/* What this round has of the rows that it is right for. */
__device__ __forceinline__ void store_split(const split_unit &at, const cta_plan &plan, const smem_plan &smem,
                                            const mma::value_warp &w, unsigned round, bool has_position,
                                            const mma::value_tiles &values)
{
  unsigned row = threadIdx.x;
  if (row < pass_rows && (!has_rounds || smem.row_round[row] == round)) {
    split_row state = {row_top_of(smem, row), row_total(smem, row), has_position, 0};
    at.rows[plan.split * pass_rows + row] = state;
  }
#pragma unroll
  for (unsigned m = 0; m < value_m_tiles; m++) {
    bool stores[2];
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
      stores[half] = !has_rounds || smem.row_round[w.first_row + m * mma_m + half * 8 + w.g] == round;
    }
#pragma unroll
    for (unsigned s = 0; s < batch_slices; s++) {
#pragma unroll
      for (unsigned tile = 0; tile < 4; tile++) {
        store_quad(thread_quad(at, plan.split, m, s, tile), values.v[m][s][tile], stores);
      }
    }
  }
}

__device__ __forceinline__ split_row load_split_row(const split_unit &at, unsigned split, unsigned row)
{
  ptx::words4 words = ptx::ld_global_cg_v4(&at.rows[split * pass_rows + row]);
  return split_row{__uint_as_float(words.w[0]), __uint_as_float(words.w[1]), words.w[2], words.w[3]};
}

/* Whether this CTA is the last of the unit's; to all its threads the same. */
__device__ __forceinline__ bool is_last_split(const swa_params &params, const split_unit &at)
{
  __threadfence(); /* what was stored, before the count */
  __syncthreads();
  bool is_last = false;
  if (threadIdx.x == 0) {
    is_last = atomicInc(at.count, params.num_splits - 1) == params.num_splits - 1;
  }
  is_last = __syncthreads_or(is_last) != 0;
  __threadfence(); /* the count, before what the others stored */
  return is_last;
}

/* All splits' rows to shared memory, as one CTA would have left them; true if any position is unmasked. */
__device__ __forceinline__ bool add_split_rows(const swa_params &params, const split_unit &at, smem_plan &smem)
{
  bool has_position = false;
  unsigned row = threadIdx.x;
  if (row < pass_rows) {
    float top = minus_infinity(), sum = 0.0f;
    for (unsigned split = 0; split < params.num_splits; split++) {
      split_row state = load_split_row(at, split, row);
      float larger = fmaxf(top, state.top);
      float base = larger == minus_infinity() ? 0.0f : larger;
      sum = sum * ptx::ex2(top - base) + state.sum * ptx::ex2(state.top - base);
      top = larger;
      has_position |= state.has_position != 0;
    }
    smem.figures.of_heads.top[row].of[0] = top;
    smem.figures.of_heads.sum[row].of[0] = sum;
#pragma unroll
    for (unsigned n = 1; n < score_warps_n; n++) {
      smem.figures.of_heads.sum[row].of[n] = 0.0f;
    }
    smem.row_round[row] = 0; /* all rows are stored */
  }
  return __syncthreads_or(has_position) != 0;
}

/* All splits' values, brought to the common tops. */
__device__ __forceinline__ void add_split_values(const swa_params &params, const split_unit &at, const smem_plan &smem,
                                                 const mma::value_warp &w, mma::value_tiles &values)
{
  mma::clear_values(values);
#pragma unroll 1
  for (unsigned split = 0; split < params.num_splits; split++) {
#pragma unroll
    for (unsigned m = 0; m < value_m_tiles; m++) {
      float factor[2];
#pragma unroll
      for (unsigned half = 0; half < 2; half++) {
        unsigned row = w.first_row + m * mma_m + half * 8 + w.g;
        float top = smem.figures.of_heads.top[row].of[0];
        factor[half] = ptx::ex2(load_split_row(at, split, row).top - (top == minus_infinity() ? 0.0f : top));
      }
#pragma unroll
      for (unsigned s = 0; s < batch_slices; s++) {
#pragma unroll
        for (unsigned tile = 0; tile < 4; tile++) {
          ptx::words4 quad = ptx::ld_global_cg_v4(thread_quad(at, split, m, s, tile));
          float(&sums)[4] = values.v[m][s][tile];
#pragma unroll
          for (unsigned i = 0; i < 4; i++) {
            sums[i] = fmaf(__uint_as_float(quad.w[i]), factor[i / 2], sums[i]);
          }
        }
      }
    }
  }
}

/* The unit's results, by the CTA that came last. */
__device__ __forceinline__ void store_unit(const swa_params &params, const cta_plan &plan, smem_plan &smem,
                                           unsigned first_head, const split_unit &at)
{
  mma::value_warp w = mma::make_value_warp();
  bool has_position = add_split_rows(params, at, smem);
  if (!has_position) {
    store_empty(params, plan, first_head, min(plan.num_heads - first_head, pass_heads));
    return;
  }
  //: if with_lse
  store_lse(params, plan, smem, first_head, 0);
  //: end
  mma::value_tiles values;
  add_split_values(params, at, smem, w, values);
  store_values(params, plan, w, make_row_factors(plan, smem, w, first_head, 0), first_head, 0, values);
}
//: end
} // namespace swa

#endif
