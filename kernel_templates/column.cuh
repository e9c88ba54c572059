/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A position's column of scores: what its scales and its mask do to a score and to a weight.
 *
 * A weight is p * inv_scale, inv_scale may be anything, and weights are f16. What a row's scores are reduced by
 * cancels in out and is added back in LSE, so it is chosen to bring the row's largest weight, not its largest p, to
 * f16's top: the row's top less weight_exponent, top being the maximum of score + log2 inv_scale. The logarithm is
 * bounded, so that p fits a float. A row whose every position is masked has top -infinity; it is replaced by 0 where it
 * is subtracted.
 */
#ifndef SWA_COLUMN_CUH
#define SWA_COLUMN_CUH

#include "ptx/convert.cuh"
#include "swa_params.h"

namespace swa
{
constexpr float log2_e = 1.4426950408889634f;
constexpr float ln_2 = 0.6931471805599453f;
constexpr float weight_exponent = 14.0f; /* leaves room for the rounding of top where scores are huge */
constexpr float least_scale_log = -98.0f, largest_scale_log = 128.0f;

/* What a position's column of scores is multiplied by. */
struct alignas(16) column_info {
  float scale;        /* of K's row; 0 where masked */
  float bias;         /* 0, or -infinity where masked */
  float log;          /* log2 of weight_scale's magnitude, bounded */
  float weight_scale; /* of V's row; 0 where masked */
};

__device__ __forceinline__ float minus_infinity()
{
  return -__int_as_float(0x7f800000);
}

/* Of a row with those scales. */
__device__ __forceinline__ column_info make_column(float scale, float weight_scale, bool is_masked)
{
  column_info column;
  column.scale = is_masked ? 0.0f : scale;
  column.bias = is_masked ? -__int_as_float(0x7f800000) : 0.0f;
  column.weight_scale = is_masked ? 0.0f : weight_scale;
  column.log = fminf(fmaxf(ptx::lg2(fabsf(column.weight_scale)), least_scale_log), largest_scale_log);
  return column;
}

/* What a row's scores are reduced by. */
__device__ __forceinline__ float subtracted_of(float top)
{
  return top == minus_infinity() ? 0.0f : top - weight_exponent;
}

/* In units of log2, kept finite; 0: none. */
__device__ __forceinline__ float soft_cap_of(const swa_params &params)
{
  return fminf(params.soft_cap * log2_e, 3.4e38f);
}

//: if with_soft_cap
/* cap * tanh(score / cap), both in units of log2. tanh(x) = 1 - 2 / (1 + exp(2 x)) loses small x, where the series to
 * x^5 is right to a float. */
__device__ __forceinline__ float cap_score(float score, float cap)
{
  float x = score / cap, square = x * x;
  float series = score * (1.0f + square * (-1.0f / 3.0f + square * (2.0f / 15.0f)));
  float whole = cap - 2.0f * cap * ptx::rcp(1.0f + ptx::ex2(x * (2.0f * log2_e)));
  return fabsf(x) < 0.04f ? series : whole;
}
//: end
} // namespace swa

#endif
