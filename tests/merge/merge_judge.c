/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge_case.h"
#include "reference.h"
#include "softmax.h"

/* One rounding to bf16's 8 digits, and what sums and approximate functions in float leave. */
static const double rounding = 0x1p-8, float_error = 4e-6;
static const double lse_error = 1e-5, lse_relative_error = 1e-6;

/* One row: what it is made of, and what must come of it. */
typedef struct judged_row {
  double *values; /* [num_parts, head_dim] */
  double *out;    /* [head_dim] */
  double largest; /* |value| of a part that is not empty */
  double lse;
} judged_row;

__attribute__((format(printf, 2, 3))) static void add_fault(decode_verdict *verdict, const char *format, ...)
{
  va_list list;

  if (verdict->num_faults++ == 0) {
    va_start(list, format);
    (void)vsnprintf(verdict->fault, sizeof verdict->fault, format, list);
    va_end(list);
  }
}

/* As natural logarithm; -infinity: empty. */
static double read_lse(const merge_case *which, float given)
{
  const bool is_empty =
      given == -INFINITY || ((which->parts_form & SWA_JIT_LSE_EMPTY_PLUS_INFINITY) != 0 && given == INFINITY);

  return is_empty                                        ? -INFINITY
         : (which->parts_form & SWA_JIT_LSE_BASE_2) != 0 ? (double)given * log(2.0)
                                                         : (double)given;
}

static void make_row(const merge_data *data, uint32_t token, uint32_t head, const float *sink, judged_row *row)
{
  const merge_case *which = &data->which;
  const size_t row_place = merge_place(data->args.outs_token_stride, data->args.outs_head_stride, token, head);
  const size_t lse_place = merge_place(data->args.lses_token_stride, data->args.lses_head_stride, token, head);
  const sj_reference_lse_form form = {.is_base_2 = (which->lse_form & SWA_JIT_LSE_BASE_2) != 0,
                                      .has_sink = (which->lse_form & SWA_JIT_LSE_WITH_SINK) != 0,
                                      .is_plus_infinity_when_empty =
                                          (which->lse_form & SWA_JIT_LSE_EMPTY_PLUS_INFINITY) != 0};
  double lses[MERGE_MAX_PARTS];
  bool is_empty = true;

  row->largest = 0.0;
  for (uint32_t i = 0; i < which->num_parts; i++) {
    const uint16_t *given = (const uint16_t *)data->tensors[MERGE_OUTS + i] + row_place;

    lses[i] = read_lse(which, ((const float *)data->tensors[MERGE_LSES + i])[lse_place]);
    is_empty = is_empty && lses[i] == -INFINITY;
    for (uint32_t d = 0; d < which->head_dim; d++) {
      const double value = sj_reference_bf16(given[d]);

      row->values[(size_t)i * which->head_dim + d] = value;
      row->largest = lses[i] == -INFINITY ? row->largest : fmax(row->largest, fabs(value));
    }
  }
  row->lse = sj_reference_merge(row->values, lses, which->num_parts, which->head_dim, sink, row->out);
  row->lse = sj_reference_lse_in_form(row->lse, is_empty, sink, form);
}

static void judge_out(const merge_case *which, const judged_row *row, const uint16_t *got, const char *where,
                      decode_verdict *verdict)
{
  double squares[2] = {0.0, 0.0};

  for (uint32_t d = 0; d < which->head_dim; d++) {
    const double value = sj_reference_bf16(got[d]);
    const double wanted = row->out[d];
    const double error = fabs(value - wanted);

    if (isnan(wanted) ? !isnan(value) : !(error <= rounding * fabs(wanted) + float_error * row->largest)) {
      add_fault(verdict, "%s: out[%u] is %.9g (0x%04x), not %.9g", where, d, value, got[d], wanted);
      return;
    }
    squares[0] += isnan(wanted) ? 0.0 : error * error;
    squares[1] += isnan(wanted) ? 0.0 : wanted * wanted;
  }
  if (squares[1] > 1e-30) { /* a sink that has nearly all leaves subnormal numbers */
    verdict->worst_relative = fmax(verdict->worst_relative, sqrt(squares[0] / squares[1]));
  }
}

static void judge_lse(double wanted, float got, const char *where, decode_verdict *verdict)
{
  const float nearest = (float)wanted; /* beyond floats it is an infinity */
  const bool is_same = (isnan(nearest) && isnan(got)) || nearest == got;
  const double error = fabs((double)got - wanted);

  if (!is_same && !(error <= lse_error + lse_relative_error * fabs(wanted))) {
    add_fault(verdict, "%s: LSE is %.9g, not %.9g", where, (double)got, wanted);
  } else if (!is_same && fabs(wanted) < 1000.0) {
    verdict->worst_lse = fmax(verdict->worst_lse, error);
  }
}

/* Marks a row's bytes as written; the rest must be as before. */
typedef struct coverage {
  const unsigned char *before, *after;
  unsigned char *is_written; /* one a byte */
  size_t size;
} coverage;

static bool start_coverage(const merge_data *data, merge_tensor tensor, const void *after, coverage *out)
{
  *out = (coverage){data->tensors[tensor], after, calloc(data->sizes[tensor], 1), data->sizes[tensor]};
  return out->is_written != NULL;
}

static void cover(coverage *c, size_t place, size_t bytes, const char *where, decode_verdict *verdict)
{
  if (c->is_written != NULL) {
    memset(c->is_written + place, 1, bytes);
    if (memcmp(c->before + place, c->after + place, bytes) == 0) {
      add_fault(verdict, "%s: it was not written", where);
    }
  }
}

static void end_coverage(coverage *c, const char *name, decode_verdict *verdict)
{
  for (size_t i = 0; c->is_written != NULL && i < c->size; i++) {
    if (c->is_written[i] == 0 && c->before[i] != c->after[i]) {
      add_fault(verdict, "%s: byte %zu lies in no row and was written", name, i);
      break;
    }
  }
  free(c->is_written);
}

static void judge_rows(const merge_data *data, const uint16_t *out, const float *lse, coverage covered[2],
                       judged_row *row, decode_verdict *verdict)
{
  const merge_case *which = &data->which;
  const swa_jit_merge_args *args = &data->args;

  for (uint32_t token = 0; token < which->num_tokens; token++) {
    for (uint32_t head = 0; head < which->num_heads; head++) {
      const size_t row_place = merge_place(args->out_token_stride, args->out_head_stride, token, head);
      const size_t lse_place = merge_place(args->lse_token_stride, args->lse_head_stride, token, head);
      const float *sinks = data->tensors[MERGE_SINKS];
      char where[64];

      (void)snprintf(where, sizeof where, "token %u head %u", token, head);
      make_row(data, token, head, sinks == NULL ? NULL : sinks + head, row);
      verdict->num_heads++;
      if (which->in_place == MERGE_NOT_IN_PLACE) { /* else what stays may be right */
        cover(&covered[0], 2 * row_place, 2 * (size_t)which->head_dim, where, verdict);
      } else {
        memset(covered[0].is_written + 2 * row_place, 1, 2 * (size_t)which->head_dim);
      }
      judge_out(which, row, out + row_place, where, verdict);
      if (lse != NULL) {
        cover(&covered[1], sizeof *lse * lse_place, sizeof *lse, where, verdict);
        judge_lse(row->lse, lse[lse_place], where, verdict);
      }
    }
  }
}

bool merge_judge(const merge_data *data, const uint16_t *out, const float *lse, decode_verdict *verdict_out)
{
  const size_t dim = data->which.head_dim;
  judged_row row = {.values = malloc(data->which.num_parts * dim * sizeof(double)),
                    .out = malloc(dim * sizeof(double))};
  coverage covered[2] = {{0}};
  bool is_judged = row.values != NULL && row.out != NULL
                   && start_coverage(data, merge_out_tensor(data), out, &covered[0])
                   && (lse == NULL || start_coverage(data, MERGE_LSE, lse, &covered[1]));

  *verdict_out = (decode_verdict){0};
  if (is_judged) {
    judge_rows(data, out, lse, covered, &row, verdict_out);
    end_coverage(&covered[0], "out", verdict_out);
    end_coverage(&covered[1], "lse", verdict_out);
  } else {
    free(covered[0].is_written);
    free(covered[1].is_written);
  }
  free(row.values);
  free(row.out);
  return is_judged;
}
