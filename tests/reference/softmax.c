/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax.h"

#include <math.h>
#include <string.h>

double sj_reference_soft_cap(double score, double cap)
{
  return cap == 0.0 ? score : cap * tanh(score / cap);
}

/* NaN if any is NaN; -infinity of none. */
static double largest_of(const double *values, uint32_t count)
{
  double largest = -INFINITY;
  for (uint32_t j = 0; j < count; j++) {
    if (isnan(values[j])) {
      return NAN;
    }
    largest = values[j] > largest ? values[j] : largest;
  }
  return largest;
}

static void add_weighted(double weight, const double *values, uint32_t dim, double *sum, double *out)
{
  *sum += weight;
  for (uint32_t d = 0; d < dim; d++) {
    out[d] += weight * values[d];
  }
}

/* Sums of weights relative to exp(largest) to out, with the sink's share; returns ln of the sum of weights. */
static double normalise(double largest, double sum, uint32_t dim, const float *sink, double *out)
{
  double lse = isinf(largest) ? largest : largest + log(sum);
  /* exp may overflow where the sink has all: then its counterpart's share is 0, as it should be. */
  double share = sink == NULL ? 1.0 : 1.0 / (1.0 + exp((double)*sink - lse));
  for (uint32_t d = 0; d < dim; d++) {
    out[d] = out[d] / sum * share;
  }
  return lse;
}

double sj_reference_softmax(const sj_reference_row *row, double *out)
{
  double largest = largest_of(row->scores, row->count);
  double sum = 0.0;
  memset(out, 0, row->head_dim_v * sizeof *out);
  if (row->count == 0) {
    return -INFINITY;
  }
  for (uint32_t j = 0; j < row->count; j++) {
    add_weighted(exp(row->scores[j] - largest), row->values + (uint64_t)j * row->head_dim_v, row->head_dim_v, &sum,
                 out);
  }
  return normalise(largest, sum, row->head_dim_v, row->sink, out);
}

/* ln(exp(a) + exp(b)) */
static double add_logarithms(double a, double b)
{
  double largest = fmax(a, b);
  if (isnan(a) || isnan(b) || isinf(largest)) {
    return isnan(a) || isnan(b) ? NAN : largest;
  }
  return largest + log1p(exp(fmin(a, b) - largest));
}

double sj_reference_lse_in_form(double lse, bool is_empty, const float *sink, sj_reference_lse_form form)
{
  if (is_empty) {
    return form.is_plus_infinity_when_empty ? INFINITY : -INFINITY;
  }
  if (form.has_sink && sink != NULL) {
    lse = add_logarithms(lse, (double)*sink);
  }
  return form.is_base_2 ? lse / log(2.0) : lse;
}

double sj_reference_merge(const double *outs, const double *lses, uint32_t num_parts, uint32_t head_dim_v,
                          const float *sink, double *out)
{
  double largest = largest_of(lses, num_parts);
  double sum = 0.0;
  memset(out, 0, head_dim_v * sizeof *out);
  if (largest == -INFINITY) {
    return -INFINITY;
  }
  for (uint32_t i = 0; i < num_parts; i++) {
    if (lses[i] != -INFINITY) { /* else its out counts for nothing, whatever it holds */
      add_weighted(exp(lses[i] - largest), outs + (uint64_t)i * head_dim_v, head_dim_v, &sum, out);
    }
  }
  return normalise(largest, sum, head_dim_v, sink, out);
}
