/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchange between a cluster's CTAs: the parts of a unit's scores are summed up, become weights, and go to every CTA
 * with the unit's top and sum.
 *
 * Weights are relative to the unit's own top, so that no CTA waits for another before it has sent its own. A top is
 * rounded up to a whole number of log2: what brings a unit's weights to the row's top is then a power of two, and exact
 * in f16 but for weights of no account.
 */
#ifndef SWA_CLUSTER_EXCHANGE_CUH
#define SWA_CLUSTER_EXCHANGE_CUH

#include "../column.cuh"
#include "../ptx/bar_sync.cuh"
#include "../ptx/cluster.cuh"
#include "scores.cuh"

namespace swa::cluster
{
/* Eight threads have a row's 16 positions of a unit: two each. */
constexpr unsigned row_threads = 8;

struct score_pair {
  unsigned unit, row;
  unsigned first; /* position in the unit: of 8 side by side four threads, `among` them this one, have two each */
  unsigned among;
  float score[2];
  float factor; /* that the scores are short of */
};

/* Parts whose rounds differ, brought to the last round among them. Rare. */
__device__ __forceinline__ void sum_rounds(const cta_smem &smem, unsigned parts, const float (&part)[unit_warps][2],
                                           score_pair &pair)
{
  unsigned thread = threadIdx.x % unit_threads, round[unit_warps], last = 0;
#pragma unroll
  for (unsigned i = 0; i < unit_warps; i++) {
    round[i] = (parts >> i & 1) != 0 ? smem.round[pair.unit][i][thread / 64][thread / 2 % warp_size] : 0;
    last = max(last, round[i]);
  }
  pair.score[0] = pair.score[1] = 0.0f;
#pragma unroll
  for (unsigned i = 0; i < unit_warps; i++) {
    float factor = __uint_as_float((127 - (last - round[i]) * round_exponent) << 23);
    pair.score[0] += part[i][0] * factor;
    pair.score[1] += part[i][1] * factor;
  }
  pair.factor = __uint_as_float((127 + last * round_exponent) << 23);
}

__device__ __forceinline__ score_pair sum_parts(const cta_smem &smem)
{
  unsigned thread = threadIdx.x % unit_threads;
  score_pair pair;
  pair.unit = threadIdx.x / unit_threads;
  pair.row = thread / row_threads;
  pair.among = thread / 2 % 4;
  pair.first = thread % 2 * mma_n + pair.among * 2;
  pair.score[0] = pair.score[1] = 0.0f;
  pair.factor = 1.0f;
  float part[unit_warps][2];
#pragma unroll
  for (unsigned i = 0; i < unit_warps; i++) {
    ptx::words2 x = ptx::ld_shared_v2(
        ptx::shared_address(&smem.part[pair.unit][i][thread / 64][thread / 2 % warp_size].w[thread % 2 * 2]));
    part[i][0] = __uint_as_float(x.w[0]);
    part[i][1] = __uint_as_float(x.w[1]);
    pair.score[0] += part[i][0];
    pair.score[1] += part[i][1];
  }
  unsigned parts = smem.parts_with_rounds[pair.unit];
  if (parts != 0) {
    sum_rounds(smem, parts, part, pair);
  }
  return pair;
}

/* Over the threads of a row. */
__device__ __forceinline__ float row_max(float x)
{
#pragma unroll
  for (unsigned lanes = 1; lanes < row_threads; lanes *= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, static_cast<int>(lanes)));
  }
  return x;
}

__device__ __forceinline__ float row_sum(float x)
{
#pragma unroll
  for (unsigned lanes = 1; lanes < row_threads; lanes *= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, static_cast<int>(lanes));
  }
  return x;
}

/* The weights of a row's 8 positions side by side, gathered by the four threads that have them: each sends all of them
 * to the CTA of its number. */
__device__ __forceinline__ void send(cta_smem &smem, const score_pair &pair, unsigned weights,
                                     const unit_figure &figure)
{
  unsigned unit = cta_rank() * own_units + pair.unit, lane = threadIdx.x % warp_size;
  ptx::words4 all;
#pragma unroll
  for (unsigned i = 0; i < 4; i++) {
    all.w[i] = __shfl_sync(0xffffffffu, weights, static_cast<int>((lane & ~6u) | i * 2));
  }
  unsigned mbarrier = ptx::mapa(ptx::shared_address(&smem.arrived), pair.among);
  const unsigned short *target = &smem.weights[pair.row][unit * unit_positions + pair.first / mma_n * mma_n];
  ptx::st_async_v4(ptx::mapa(ptx::shared_address(target), pair.among), all, mbarrier);
  if (pair.first < mma_n) {
    ptx::st_async_v2(ptx::mapa(ptx::shared_address(&smem.figure[pair.row][unit]), pair.among),
                     __float_as_uint(figure.top), __float_as_uint(figure.sum), mbarrier);
  }
}

/* To be called once every CTA of the cluster can receive. */
__device__ __forceinline__ void exchange_weights(const swa_params &params, cta_smem &smem)
{
  //: if with_groups
  send_factors(smem, threadIdx.x / unit_threads, threadIdx.x % unit_threads);
  //: end
  score_pair pair = sum_parts(smem);
  column_info column[2];
  float top = minus_infinity();
  //: if with_soft_cap
  float soft_cap = soft_cap_of(params);
  //: end
#pragma unroll
  for (unsigned i = 0; i < 2; i++) {
    column[i] = smem.column[pair.unit * unit_positions + pair.first + i];
    /* in this order neither masked nor small scales overflow */
    float scale = column[i].scale * pair.factor * (params.scale * log2_e), score = pair.score[i];
    //: if with_soft_cap
    score = soft_cap != 0.0f ? cap_score(score * scale, soft_cap) : score * scale;
    //: end
    pair.score[i] = fmaf(score, with_soft_cap ? 1.0f : scale, column[i].bias);
    top = fmaxf(top, pair.score[i] + column[i].log);
  }
  unit_figure figure;
  figure.top = ceilf(row_max(top));
  float subtracted = subtracted_of(figure.top);
  float p0 = ptx::ex2(pair.score[0] - subtracted), p1 = ptx::ex2(pair.score[1] - subtracted);
  figure.sum = row_sum(p0 + p1);
  bool has_position = __any_sync(0xffffffffu, column[0].bias == 0.0f || column[1].bias == 0.0f) != 0;
  figure.sum = has_position ? figure.sum : -0.0f;
  send(smem, pair, ptx::cvt_f16x2(p0 * column[0].weight_scale, p1 * column[1].weight_scale), figure);
}
} // namespace swa::cluster

#endif
