/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kv_formats.h"
#include "softmax.h"

enum { MAX_THREADS = 64 };

double sj_reference_e4m3(uint8_t code)
{
  uint64_t exponent = code >> 3 & 15;
  uint64_t mantissa = code & 7;
  uint64_t sign = (uint64_t)(code >> 7) << 63;
  double value;

  if (exponent == 15 && mantissa == 7) {
    return NAN;
  }
  if (exponent == 0) {
    return (sign != 0 ? -0x1p-9 : 0x1p-9) * (double)mantissa;
  }
  uint64_t bits = sign | (exponent - 7 + 1023) << 52 | mantissa << 49;
  memcpy(&value, &bits, sizeof value);
  return value;
}

double sj_reference_bf16(uint16_t bits)
{
  uint32_t word = (uint32_t)bits << 16;
  float value;

  memcpy(&value, &word, sizeof value);
  return (double)value;
}

uint16_t sj_reference_bf16_from_double(double value)
{
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  double magnitude = fabs(value);
  int exponent;

  if (isnan(value)) {
    return 0x7FC0;
  }
  if (isinf(value)) {
    return (uint16_t)(sign | 0x7F80);
  }
  if (magnitude < ldexp(1.0, -126)) { /* below the normal numbers steps are 2^-133; a carry reaches 2^-126 by itself */
    return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(magnitude, 133)));
  }
  (void)frexp(magnitude, &exponent);                          /* magnitude = f * 2^exponent with f in [0.5, 1) */
  int steps = (int)nearbyint(ldexp(magnitude, 8 - exponent)); /* 128 to 256: significand with its leading one */
  int bits = ((exponent + 126) << 7) + (steps - 128);         /* 256 carries into the exponent */
  return (uint16_t)(sign | (bits > 0x7F80 ? 0x7F80 : bits));
}

static int64_t read_integer(const void *values, uint32_t type, int64_t at)
{
  return type == SWA_JIT_INT64 ? ((const int64_t *)values)[at] : ((const int32_t *)values)[at];
}

static double read_inv_scale(const swa_jit_config *config, const swa_jit_decode_args *args, int64_t slot)
{
  if (config->scale_type == SWA_JIT_BFLOAT16) {
    return sj_reference_bf16(((const uint16_t *)args->inv_scale)[slot]);
  }
  return (double)((const float *)args->inv_scale)[slot];
}

static int64_t stride_or(int64_t stride, int64_t usual)
{
  return stride != 0 ? stride : usual;
}

uint32_t sj_reference_len(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token)
{
  int64_t len = read_integer(args->lens, config->lens_type, token);

  if (len < 0) {
    return 0;
  }
  return len > config->window_size ? config->window_size : (uint32_t)len;
}

int64_t sj_reference_slot(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                          uint32_t position)
{
  int64_t row = (int64_t)token * stride_or(args->indices_token_stride, config->window_size);
  int64_t slot;

  if (position >= sj_reference_len(config, args, token)) {
    return -1;
  }
  slot = read_integer(args->indices, config->index_type, row + position);
  return slot < 0 || slot >= (int64_t)(args->num_blocks * args->block_size) ? -1 : slot;
}

/* The row's values before inv_scale, which multiplies sums of them: 0 times an infinite one is no element of a sum. */
static void read_row(const swa_jit_config *config, const swa_jit_decode_args *args, int64_t slot, double *row)
{
  int64_t slot_stride = stride_or(args->slot_stride_bytes, config->head_dim);
  int64_t block_stride = stride_or(args->block_stride_bytes, args->block_size * slot_stride);
  const uint8_t *block = (const uint8_t *)args->kv + slot / args->block_size * block_stride;
  sj_reference_read_row(SJ_REFERENCE_E4M3, block, args->block_size, (uint32_t)(slot % args->block_size), slot_stride,
                        config->head_dim, 1.0, row);
}

/* Fills scores and rows of the unmasked positions; returns their number. */
static uint32_t score_positions(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                                uint32_t head, double *scores, double *rows)
{
  int64_t token_stride = stride_or(args->q_token_stride, (int64_t)args->num_heads * config->head_dim);
  int64_t head_stride = stride_or(args->q_head_stride, config->head_dim);
  const uint16_t *q = (const uint16_t *)args->q + token * token_stride + head * head_stride;
  uint32_t len = sj_reference_len(config, args, token);
  uint32_t count = 0;

  for (uint32_t j = 0; j < len; j++) {
    int64_t slot = sj_reference_slot(config, args, token, j);
    double *row = rows + (uint64_t)count * config->head_dim;
    double sum = 0.0;

    if (slot < 0) {
      continue;
    }
    double inv_scale = read_inv_scale(config, args, slot);
    read_row(config, args, slot, row);
    for (uint32_t d = 0; d < config->head_dim; d++) {
      sum += sj_reference_bf16(q[d]) * row[d];
      row[d] *= inv_scale;
    }
    scores[count++] = (double)args->scale * inv_scale * sum;
  }
  return count;
}

void sj_reference_head(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token, uint32_t head,
                       double *out, double *lse)
{
  uint64_t len = sj_reference_len(config, args, token);
  double *scores = malloc((len + 1) * (config->head_dim + 1) * sizeof *scores);

  if (scores == NULL) { /* no result agrees with NaN */
    for (uint32_t d = 0; d < config->head_dim; d++) {
      out[d] = NAN;
    }
    *lse = NAN;
    return;
  }
  double *rows = scores + len;
  sj_reference_row row = {.scores = scores, .values = rows, .head_dim_v = config->head_dim};
  row.count = score_positions(config, args, token, head, scores, rows);
  *lse = sj_reference_softmax(&row, out);
  free(scores);
}

typedef struct work {
  const swa_jit_config *config;
  const swa_jit_decode_args *args;
  double *out;
  double *lse;
  atomic_uint_fast64_t next; /* the next head to take, of num_tokens * num_heads */
} work;

static void *decode_heads(void *data)
{
  work *w = data;
  uint64_t total = (uint64_t)w->args->num_tokens * w->args->num_heads;

  for (;;) {
    uint64_t at = atomic_fetch_add(&w->next, 1);

    if (at >= total) {
      return NULL;
    }
    sj_reference_head(w->config, w->args, (uint32_t)(at / w->args->num_heads), (uint32_t)(at % w->args->num_heads),
                      w->out + at * w->config->head_dim, w->lse + at);
  }
}

void sj_reference_decode(const swa_jit_config *config, const swa_jit_decode_args *args, unsigned num_threads,
                         double *out, double *lse)
{
  work w = {.config = config, .args = args, .out = out, .lse = lse};
  pthread_t threads[MAX_THREADS];
  unsigned started = 0;

  atomic_init(&w.next, 0);
  while (started + 1 < num_threads && started < MAX_THREADS
         && pthread_create(&threads[started], NULL, decode_heads, &w) == 0) {
    started++;
  }
  (void)decode_heads(&w);
  for (unsigned i = 0; i < started; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}
