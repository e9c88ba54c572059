/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

enum { MOST_DIM = 512 };
#define BF16_LEAST 0x1p-133
#define LEAST_OUT_STEPS 0x1p-92 /* 2^-100 of the largest |v|, as swa_jit.h, section 8, says */

static const uint32_t minus_infinity_bits = 0xFF800000;
static const uint32_t infinity_bits = 0x7F800000;

/* What all heads of a token and KV head share. */
typedef struct group_facts {
  uint32_t token;
  uint32_t num_unmasked;
  double step; /* bf16's at the largest |v| */
} group_facts;

__attribute__((format(printf, 4, 5))) static void add_fault(decode_verdict *verdict, uint32_t token, uint32_t head,
                                                            const char *format, ...)
{
  va_list list;
  int used;

  if (verdict->num_faults++ > 0) {
    return;
  }
  used = snprintf(verdict->fault, sizeof verdict->fault, "token %u head %u: ", token, head);
  va_start(list, format);
  (void)vsnprintf(verdict->fault + used, sizeof verdict->fault - (size_t)used, format, list);
  va_end(list);
}

/* The distance of neighbours in the binade of a bf16 value; subnormals have the least one. */
static double bf16_step(double magnitude)
{
  int exponent;

  if (magnitude < 0x1p-126) {
    return BF16_LEAST;
  }
  (void)frexp(magnitude, &exponent);
  return ldexp(1.0, exponent - 8);
}

static double largest_element(const sj_reference_pool *pool, int64_t slot, uint32_t kv_head)
{
  double row[MOST_DIM];
  double scale = fabs(sj_reference_pool_row(pool, slot, kv_head, row));
  double largest = 0.0;

  for (uint32_t d = 0; d < pool->head_dim; d++) {
    double element = fabs(row[d]) * scale;

    largest = isfinite(element) && element > largest ? element : largest; /* NaN compares false */
  }
  return largest;
}

static void add_scope(const sj_reference_scope *scope, uint32_t kv_head, group_facts *facts, double *largest)
{
  uint32_t len = sj_reference_scope_len(scope, facts->token);

  for (uint32_t j = 0; j < len; j++) {
    int64_t k_slot, v_slot;

    if (sj_reference_position(scope, facts->token, j, &k_slot, &v_slot)) {
      facts->num_unmasked++;
      *largest = fmax(*largest, largest_element(&scope->v, v_slot, kv_head));
    }
  }
}

static group_facts gather_facts(const decode_data *data, uint32_t token, uint32_t kv_head)
{
  const sj_reference_scope window = sj_reference_window(&data->config, &data->args);
  const sj_reference_scope extra = sj_reference_extra(&data->config, &data->args);
  group_facts facts = {token, 0, 0.0};
  double largest = 0.0;

  add_scope(&window, kv_head, &facts, &largest);
  add_scope(&extra, kv_head, &facts, &largest);
  facts.step = bf16_step(largest);
  return facts;
}

/* Elements that must be what arithmetic says: not finite, or beyond bf16. */
static bool same_special(double reference, uint16_t bits)
{
  double value = sj_reference_bf16(bits);

  return isnan(reference) ? isnan(value) : value == sj_reference_bf16(sj_reference_bf16_from_double(reference));
}

static bool is_special(double reference)
{
  return (sj_reference_bf16_from_double(reference) & 0x7F80) == 0x7F80;
}

static void compare_zero(const decode_data *data, const group_facts *facts, uint32_t head, const uint16_t *out,
                         decode_verdict *verdict)
{
  for (uint32_t d = 0; d < decode_data_out_dim(data); d++) {
    if (out[d] != 0) {
      add_fault(verdict, facts->token, head, "no unmasked position, but out[%u] is 0x%04x, not 0", d, out[d]);
      return;
    }
  }
}

/* Beside a row's largest elements those of a footer format are exact down to 2^-23 of them: step is 2^-8 or 2^-7. */
static double exact_tolerance(const decode_data *data, double step)
{
  return data->which.kv_format >= SWA_JIT_KV_FOOTER_584 ? step * 0x1p-15 : 0.0;
}

/* One element; adds to the sums of squares unless it is special. Returns whether it is as it should be. */
static bool compare_element(const decode_data *data, double step, double reference, uint16_t bits, double squares[2],
                            decode_verdict *verdict)
{
  double difference;

  if (is_special(reference)) {
    return same_special(reference, bits);
  }
  difference = sj_reference_bf16(bits) - reference;
  squares[0] += difference * difference;
  squares[1] += reference * reference;
  if (fabs(difference) / step > verdict->worst_step) {
    verdict->worst_step = fabs(difference) / step;
  }
  if (data->which.exact != 0 && fabs(difference) > exact_tolerance(data, step)
      && sj_reference_bf16(bits) != sj_reference_bf16(sj_reference_bf16_from_double(reference))) {
    return false; /* the two zeros are equal */
  }
  return fabs(difference) <= step; /* false for NaN */
}

static void compare_out(const decode_data *data, const group_facts *facts, uint32_t head, const double *reference,
                        const uint16_t *out, decode_verdict *verdict)
{
  uint32_t dim = decode_data_out_dim(data);
  double squares[2] = {0.0, 0.0};
  double relative;
  double least;

  for (uint32_t d = 0; d < dim; d++) {
    if (!compare_element(data, facts->step, reference[d], out[d], squares, verdict)) {
      add_fault(verdict, facts->token, head, "out[%u] is %.9g (0x%04x), not %.9g; a step is %.3g", d,
                sj_reference_bf16(out[d]), out[d], reference[d], facts->step);
      return;
    }
  }
  if (squares[1] == 0.0) {
    if (squares[0] != 0.0) {
      add_fault(verdict, facts->token, head, "out is 0 by arithmetic, but not all of it is");
    }
    return;
  }
  least = fmax(BF16_LEAST, facts->step * LEAST_OUT_STEPS);
  if (squares[0] <= dim * least * least) {
    return; /* a sink has nearly all: the header allows 0 for what is left */
  }
  relative = sqrt(squares[0] / squares[1]);
  verdict->worst_relative = relative > verdict->worst_relative ? relative : verdict->worst_relative;
  if (!(relative <= DECODE_RELATIVE_LIMIT)) {
    add_fault(verdict, facts->token, head, "relative error %.3g is above %.3g", relative, DECODE_RELATIVE_LIMIT);
  }
}

/* The limit is absolute; beside an LSE of thousands a float has not so many digits. */
static double lse_limit(double reference)
{
  return fmax(DECODE_LSE_LIMIT, fabs(reference) * 0x1p-22);
}

/* scores_overflow: of the scores themselves the largest is infinite, so infinity minus infinity on the way is allowed;
 * the LSE of an infinite sink is infinite. */
static void compare_lse(const decode_data *data, const group_facts *facts, uint32_t head, double reference,
                        bool scores_overflow, float lse, decode_verdict *verdict)
{
  uint32_t bits;
  double difference = fabs((double)lse - reference);
  bool right;

  memcpy(&bits, &lse, sizeof bits);
  if (facts->num_unmasked == 0) {
    right =
        bits == ((data->which.lse_form & SWA_JIT_LSE_EMPTY_PLUS_INFINITY) != 0 ? infinity_bits : minus_infinity_bits);
  } else if (isnan(reference)) {
    right = isnan(lse);
  } else if (isinf((float)reference)) {
    right = (isnan(lse) && scores_overflow) || lse == (float)reference;
  } else {
    difference *= DECODE_LSE_LIMIT / lse_limit(reference);
    right = difference <= DECODE_LSE_LIMIT;
    verdict->worst_lse = difference > verdict->worst_lse ? difference : verdict->worst_lse;
  }
  if (!right) {
    add_fault(verdict, facts->token, head, "LSE is %.9g (0x%08x), not %.9g", (double)lse, bits, reference);
  }
}

static void compare_head(const decode_data *data, const group_facts *facts, uint32_t head, const double *reference_out,
                         double reference_lse, decode_verdict *verdict)
{
  uint32_t token = facts->token;
  const uint16_t *row = (const uint16_t *)data->args.out + decode_data_out_offset(data, token, head);

  verdict->num_heads++;
  if (facts->num_unmasked == 0) {
    compare_zero(data, facts, head, row, verdict);
  } else {
    compare_out(data, facts, head, reference_out, row, verdict);
  }
  if (data->which.lse == DECODE_LSE_WRITTEN) {
    compare_lse(data, facts, head, reference_lse, isnan(reference_out[0]),
                data->args.lse[decode_data_lse_offset(data, token, head)], verdict);
  }
}

static void compare_heads(const decode_data *data, const double *reference_out, const double *reference_lse,
                          decode_verdict *verdict)
{
  const decode_case *which = &data->which;
  uint32_t dim = decode_data_out_dim(data);
  uint32_t kv_head_heads = which->num_heads / which->num_kv_heads;

  for (uint32_t token = 0; token < which->num_tokens; token++) {
    group_facts facts = {0};

    for (uint32_t head = 0; head < which->num_heads; head++) {
      size_t at = (size_t)token * which->num_heads + head;

      if (head % kv_head_heads == 0) {
        facts = gather_facts(data, token, head / kv_head_heads);
      }
      compare_head(data, &facts, head, reference_out + at * dim, reference_lse[at], verdict);
    }
  }
}

/* All bytes of a buffer but the rows must still be poison. */
static bool check_gaps(const decode_data *data, enum decode_tensor tensor, decode_verdict *verdict)
{
  const decode_case *which = &data->which;
  const decode_buffer *buffer = &data->tensors[tensor];
  bool out = tensor == DECODE_OUT;
  size_t row_bytes = out ? (size_t)decode_data_out_dim(data) * 2 : 4;
  uint8_t *written = calloc(buffer->size + 1, 1);

  if (written == NULL) {
    return false;
  }
  for (uint32_t token = 0; token < which->num_tokens && (out || which->lse == DECODE_LSE_WRITTEN); token++) {
    for (uint32_t head = 0; head < which->num_heads; head++) {
      int64_t at = out ? 2 * decode_data_out_offset(data, token, head) : 4 * decode_data_lse_offset(data, token, head);

      memset(written + buffer->offset + at, 1, row_bytes);
    }
  }
  for (size_t i = 0; i < buffer->size; i++) {
    if (written[i] == 0 && buffer->bytes[i] != DECODE_POISON) {
      if (verdict->num_faults++ == 0) {
        (void)snprintf(verdict->fault, sizeof verdict->fault,
                       "%s: byte %lld from its start was written, outside its rows", out ? "out" : "lse",
                       (long long)i - (long long)buffer->offset);
      }
      break;
    }
  }
  free(written);
  return true;
}

bool decode_compare(const decode_data *data, const double *reference_out, const double *reference_lse,
                    decode_verdict *verdict_out)
{
  memset(verdict_out, 0, sizeof *verdict_out);
  compare_heads(data, reference_out, reference_lse, verdict_out);
  return check_gaps(data, DECODE_OUT, verdict_out) && check_gaps(data, DECODE_LSE, verdict_out);
}
