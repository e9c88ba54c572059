/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "scope.h"
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

uint32_t sj_reference_len(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token)
{
  sj_reference_scope window = sj_reference_window(config, args);
  return sj_reference_scope_len(&window, token);
}

int64_t sj_reference_slot(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                          uint32_t position)
{
  sj_reference_scope window = sj_reference_window(config, args);
  int64_t k_slot, v_slot;
  return sj_reference_position(&window, token, position, &k_slot, &v_slot) ? k_slot : -1;
}

uint32_t sj_reference_out_dim(const swa_jit_config *config)
{
  return config->head_dim_v != 0 ? config->head_dim_v : config->head_dim;
}

static int64_t stride_or(int64_t stride, int64_t usual)
{
  return stride != 0 ? stride : usual;
}

/* One query head and what it has met so far. */
typedef struct attended {
  const uint16_t *q;
  uint32_t kv_head;
  double scale;
  double cap;
  double *k;      /* room for a row of K where V has rows of its own */
  double *scores; /* of the unmasked positions */
  double *values; /* their rows of V */
  uint32_t count;
} attended;

/* Of the position in hand; k is a row less its scale. */
static double score_row(const attended *a, const double *k, uint32_t head_dim, double k_scale)
{
  double sum = 0.0;
  for (uint32_t d = 0; d < head_dim; d++) {
    sum += sj_reference_bf16(a->q[d]) * k[d];
  }
  return sj_reference_soft_cap(a->scale * k_scale * sum, a->cap);
}

static void attend(const sj_reference_scope *scope, uint32_t token, attended *a)
{
  uint32_t len = sj_reference_scope_len(scope, token);
  for (uint32_t j = 0; j < len; j++) {
    int64_t k_slot, v_slot;
    if (!sj_reference_position(scope, token, j, &k_slot, &v_slot)) {
      continue;
    }
    double *v = a->values + (uint64_t)a->count * scope->v.head_dim;
    double v_scale = sj_reference_pool_row(&scope->v, v_slot, a->kv_head, v);
    double k_scale = scope->has_v ? sj_reference_pool_row(&scope->k, k_slot, a->kv_head, a->k) : v_scale;
    a->scores[a->count] = score_row(a, scope->has_v ? a->k : v, scope->k.head_dim, k_scale);
    for (uint32_t d = 0; d < scope->v.head_dim; d++) {
      v[d] *= v_scale;
    }
    a->count++;
  }
}

static const uint16_t *find_q(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                              uint32_t head)
{
  int64_t head_stride = stride_or(args->q_head_stride, config->head_dim);
  int64_t token_stride = stride_or(args->q_token_stride, (int64_t)args->num_heads * config->head_dim);
  return (const uint16_t *)args->q + token * token_stride + head * head_stride;
}

static void finish(const swa_jit_decode_args *args, const attended *a, const float *sink, uint32_t out_dim, double *out,
                   double *lse)
{
  const sj_reference_row row = {a->scores, a->values, a->count, out_dim, sink};
  const sj_reference_lse_form form = {
      .is_base_2 = (args->lse_form & SWA_JIT_LSE_BASE_2) != 0,
      .has_sink = (args->lse_form & SWA_JIT_LSE_WITH_SINK) != 0,
      .is_plus_infinity_when_empty = (args->lse_form & SWA_JIT_LSE_EMPTY_PLUS_INFINITY) != 0,
  };
  double plain = sj_reference_softmax(&row, out);
  *lse = sj_reference_lse_in_form(plain, a->count == 0, sink, form);
}

void sj_reference_head(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token, uint32_t head,
                       double *out, double *lse)
{
  const sj_reference_scope window = sj_reference_window(config, args);
  const sj_reference_scope extra = sj_reference_extra(config, args);
  uint32_t out_dim = sj_reference_out_dim(config);
  uint64_t most = (uint64_t)sj_reference_scope_len(&window, token) + sj_reference_scope_len(&extra, token);
  double *room = malloc((config->head_dim + most * (out_dim + 1)) * sizeof *room);

  if (room == NULL) { /* no result agrees with NaN */
    for (uint32_t d = 0; d < out_dim; d++) {
      out[d] = NAN;
    }
    *lse = NAN;
    return;
  }
  attended a = {.q = find_q(config, args, token, head),
                .kv_head = head / (args->num_heads / window.k.num_kv_heads),
                .scale = (double)args->scale,
                .cap = config->soft_cap != 0 ? (double)args->soft_cap : 0.0,
                .k = room,
                .scores = room + config->head_dim,
                .values = room + config->head_dim + most};
  attend(&window, token, &a);
  attend(&extra, token, &a);
  finish(args, &a, config->sinks != 0 && args->sinks != NULL ? &args->sinks[head] : NULL, out_dim, out, lse);
  free(room);
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
                      w->out + at * sj_reference_out_dim(w->config), w->lse + at);
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
