/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial results of attention to one: a CTA has a share of one token's rows, a thread 16 bytes of a row, in every part
 * and in out. The formula is in swa_jit.h, section 9.
 *
 * A thread has read all that it needs of the parts before it stores, so that out may be a part's own tensor; which is
 * also why the loads are plain ones and not through the non-coherent path.
 */
#include "swa_merge_params.h"
#include "ptx/load_store.cuh"
#include "ptx/convert.cuh"
#include "ptx/griddepcontrol.cuh"

#ifndef SWA_RENDERED
namespace swa
{
constexpr unsigned num_warps = 4;
} // namespace swa
#endif

namespace swa
{
constexpr unsigned num_threads = num_warps * 32;
constexpr unsigned max_parts = SWA_MERGE_MAX_PARTS;
constexpr unsigned unit_bytes = 16;
constexpr unsigned unit_elems = 8;
constexpr float log2_e = 1.4426950408889634f;
constexpr float ln_2 = 0.6931471805599453f;

static_assert(sizeof(swa_merge_params) == 248, "swa_merge_params.h differs from the host's");

/* What a thread reads. */
struct row_parts {
  float sink;           /* -infinity, which adds nothing: there is none */
  float lse[max_parts]; /* natural logarithms; -infinity: the part is empty, or there is none */
  ptx::words4 unit[max_parts];
};

struct row_sums {
  float top;   /* largest LSE of the parts */
  float total; /* of exp(LSE - top) */
  bool is_empty;
  float value[unit_elems]; /* weighted */
};

__device__ __forceinline__ float minus_infinity()
{
  return -__int_as_float(0x7f800000);
}

/* All is asked for before anything is looked at, an empty part's row too, so that it is one trip to memory. */
__device__ __forceinline__ void load_parts(const swa_merge_params &params, unsigned token, unsigned head, unsigned unit,
                                           row_parts &parts)
{
  long long row = token * params.outs_token_stride + head * params.outs_head_stride;
  long long lse = token * params.lses_token_stride + head * params.lses_head_stride;
  parts.sink = params.sinks != nullptr ? params.sinks[head] : minus_infinity();
#pragma unroll
  for (unsigned i = 0; i < max_parts; i++) {
    parts.lse[i] = minus_infinity();
    if (i < params.num_parts) {
      const char *address = static_cast<const char *>(params.outs[i]) + row * 2 + unit * unit_bytes;
      parts.lse[i] = params.lses[i][lse];
      parts.unit[i] = *reinterpret_cast<const ptx::words4 *>(address);
    }
  }
#pragma unroll
  for (unsigned i = 0; i < max_parts; i++) {
    bool is_empty = parts.lse[i] == params.parts_empty_lse;
    parts.lse[i] = is_empty ? minus_infinity() : parts.lse[i] * params.parts_lse_factor;
  }
}

__device__ __forceinline__ void add_unit(const ptx::words4 &unit, float weight, row_sums &sums)
{
#pragma unroll
  for (unsigned w = 0; w < 4; w++) {
    float low = __uint_as_float(unit.w[w] << 16), high = __uint_as_float(unit.w[w] & 0xffff0000u);
    sums.value[2 * w] = fmaf(weight, low, sums.value[2 * w]);
    sums.value[2 * w + 1] = fmaf(weight, high, sums.value[2 * w + 1]);
  }
}

/* An empty part is left out, not multiplied by 0: its row may hold anything. NaN in an LSE is no maximum, and makes the
 * weight NaN. */
__device__ __forceinline__ void sum_parts(const row_parts &parts, row_sums &sums)
{
  sums = row_sums{minus_infinity(), 0.0f, true, {}};
#pragma unroll
  for (unsigned i = 0; i < max_parts; i++) {
    sums.top = fmaxf(sums.top, parts.lse[i]);
  }
#pragma unroll
  for (unsigned i = 0; i < max_parts; i++) {
    if (parts.lse[i] != minus_infinity()) {
      float weight = ptx::ex2((parts.lse[i] - sums.top) * log2_e);
      sums.total += weight;
      sums.is_empty = false;
      add_unit(parts.unit[i], weight, sums);
    }
  }
}

/* ln(exp(a) + exp(b)), a finite: a difference that overflows leaves the larger one. */
__device__ __forceinline__ float add_logarithms(float a, float b)
{
  return fmaxf(a, b) + ptx::lg2(1.0f + ptx::ex2(-fabsf(a - b) * log2_e)) * ln_2;
}

__device__ __forceinline__ float merged_lse(const swa_merge_params &params, const row_sums &sums, float sink)
{
  if (sums.is_empty) {
    return params.empty_lse;
  }
  float lse = sums.top + ptx::lg2(sums.total) * ln_2;
  return (params.lse_with_sink != 0 ? add_logarithms(lse, sink) : lse) * params.lse_factor;
}

/* With every part empty out is 0, whatever the sink. */
__device__ __forceinline__ void store_unit(const swa_merge_params &params, const row_sums &sums, float sink,
                                           unsigned token, unsigned head, unsigned unit)
{
  long long row = token * params.out_token_stride + head * params.out_head_stride;
  float factor = sums.is_empty ? 0.0f : ptx::rcp(sums.total + ptx::ex2((sink - sums.top) * log2_e));
  ptx::words4 packed;
#pragma unroll
  for (unsigned w = 0; w < 4; w++) {
    packed.w[w] = ptx::cvt_bf16x2(sums.value[2 * w] * factor, sums.value[2 * w + 1] * factor);
  }
  ptx::st_global_v4(static_cast<char *>(params.out) + row * 2 + unit * unit_bytes, packed);
}
} // namespace swa

extern "C" __global__ void __launch_bounds__(swa::num_threads)
    swa_merge(const __grid_constant__ swa_merge_params params)
{
  unsigned index = blockIdx.y * swa::num_threads + threadIdx.x; /* among the token's units */
  if (index >= params.num_heads * params.row_units) {
    return;
  }
  unsigned token = blockIdx.x, head = index / params.row_units, unit = index % params.row_units;
  swa::ptx::griddepcontrol_wait(); /* before anything is read that a kernel before may have written */
  swa::row_parts parts;
  swa::row_sums sums;
  swa::load_parts(params, token, head, unit, parts);
  swa::ptx::griddepcontrol_launch_dependents();
  swa::sum_parts(parts, sums);
  if (unit == 0 && params.lse != nullptr) {
    params.lse[token * params.lse_token_stride + head * params.lse_head_stride] =
        swa::merged_lse(params, sums, parts.sink);
  }
  swa::store_unit(params, sums, parts.sink, token, head, unit);
}
