/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "scope.h"
#include "softmax.h"

enum {
  MAX_THREADS = 64,
  HEADS_AT_ONCE = 16, /* heads for which a KV head's rows are read once */
  ABREAST = 8         /* rows of K whose products are summed side by side */
};

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

/* What the query heads of a token and KV head share: the unmasked positions of both scopes. */
typedef struct attended {
  double *k;        /* their rows of K, less their scales, ABREAST rows side by side */
  double *k_scales; /* the rows' scales */
  double *values;   /* their rows of V */
  double *k_row;    /* room for a row of K */
  double *q;        /* the row of the query head in hand */
  double *scores;   /* its scores */
  uint32_t count;
} attended;

/* Room for that many positions. False: there is none. */
static bool attended_init(uint32_t head_dim, uint32_t out_dim, size_t most, attended *a_out)
{
  size_t rounded = (most + ABREAST - 1) / ABREAST * ABREAST;
  double *room = calloc(rounded * ((size_t)head_dim + out_dim + 2) + 2 * (size_t)head_dim, sizeof *room);
  *a_out = (attended){.k = room,
                      .k_scales = room + rounded * head_dim,
                      .scores = room + rounded * (head_dim + 1),
                      .values = room + rounded * (head_dim + 2),
                      .k_row = room + rounded * ((size_t)head_dim + out_dim + 2),
                      .q = room + rounded * ((size_t)head_dim + out_dim + 2) + head_dim};
  return room != NULL;
}

static void put_k_row(attended *a, const double *row, uint32_t head_dim)
{
  double *first = a->k + (size_t)(a->count / ABREAST) * ABREAST * head_dim + a->count % ABREAST;
  for (uint32_t d = 0; d < head_dim; d++) {
    first[(size_t)d * ABREAST] = row[d];
  }
}

static void gather(const sj_reference_scope *scope, uint32_t token, uint32_t kv_head, attended *a)
{
  uint32_t len = sj_reference_scope_len(scope, token);
  for (uint32_t j = 0; j < len; j++) {
    int64_t k_slot, v_slot;
    if (!sj_reference_position(scope, token, j, &k_slot, &v_slot)) {
      continue;
    }
    double *v = a->values + (uint64_t)a->count * scope->v.head_dim;
    double v_scale = sj_reference_pool_row(&scope->v, v_slot, kv_head, v);
    a->k_scales[a->count] = scope->has_v ? sj_reference_pool_row(&scope->k, k_slot, kv_head, a->k_row) : v_scale;
    put_k_row(a, scope->has_v ? a->k_row : v, scope->k.head_dim);
    for (uint32_t d = 0; d < scope->v.head_dim; d++) {
      v[d] *= v_scale;
    }
    a->count++;
  }
}

/* The products of q with rows side by side, each summed in the order of its elements. */
static void multiply(const double *q, const double *rows, uint32_t head_dim, double sums_out[ABREAST])
{
  double sums[ABREAST] = {0.0};
  for (uint32_t d = 0; d < head_dim; d++) {
    for (uint32_t i = 0; i < ABREAST; i++) {
      sums[i] += q[d] * rows[(size_t)d * ABREAST + i];
    }
  }
  memcpy(sums_out, sums, sizeof sums);
}

static void read_q(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token, uint32_t head,
                   double *q)
{
  int64_t head_stride = stride_or(args->q_head_stride, config->head_dim);
  int64_t token_stride = stride_or(args->q_token_stride, (int64_t)args->num_heads * config->head_dim);
  const uint16_t *row = (const uint16_t *)args->q + token * token_stride + head * head_stride;
  for (uint32_t d = 0; d < config->head_dim; d++) {
    q[d] = sj_reference_bf16(row[d]);
  }
}

static void score(const swa_jit_config *config, const swa_jit_decode_args *args, attended *a)
{
  double cap = config->soft_cap != 0 ? (double)args->soft_cap : 0.0;
  for (uint32_t j = 0; j < a->count; j += ABREAST) {
    multiply(a->q, a->k + (size_t)j * config->head_dim, config->head_dim, a->scores + j);
  }
  for (uint32_t j = 0; j < a->count; j++) {
    a->scores[j] = sj_reference_soft_cap((double)args->scale * a->k_scales[j] * a->scores[j], cap);
  }
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

/* No result agrees with NaN. */
static void give_nan(uint32_t out_dim, uint32_t num_heads, double *out, double *lse)
{
  for (size_t i = 0; i < (size_t)num_heads * out_dim; i++) {
    out[i] = NAN;
  }
  for (uint32_t i = 0; i < num_heads; i++) {
    lse[i] = NAN;
  }
}

static uint32_t heads_of_kv_head(const swa_jit_decode_args *args)
{
  return args->num_heads / (args->num_kv_heads != 0 ? args->num_kv_heads : 1);
}

/* Heads that follow each other and read the same KV head, which is then gathered once. */
static void decode_together(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                            uint32_t first_head, uint32_t num_heads, double *out, double *lse)
{
  const sj_reference_scope window = sj_reference_window(config, args);
  const sj_reference_scope extra = sj_reference_extra(config, args);
  uint32_t out_dim = sj_reference_out_dim(config);
  uint32_t kv_head = first_head / heads_of_kv_head(args);
  size_t most = (size_t)sj_reference_scope_len(&window, token) + sj_reference_scope_len(&extra, token);
  attended a;
  if (!attended_init(config->head_dim, out_dim, most, &a)) {
    give_nan(out_dim, num_heads, out, lse);
    return;
  }
  gather(&window, token, kv_head, &a);
  gather(&extra, token, kv_head, &a);
  for (uint32_t i = 0; i < num_heads; i++) {
    uint32_t head = first_head + i;
    read_q(config, args, token, head, a.q);
    score(config, args, &a);
    finish(args, &a, config->sinks != 0 && args->sinks != NULL ? &args->sinks[head] : NULL, out_dim,
           out + (size_t)i * out_dim, lse + i);
  }
  free(a.k);
}

void sj_reference_head(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token, uint32_t head,
                       double *out, double *lse)
{
  decode_together(config, args, token, head, 1, out, lse);
}

typedef struct work {
  const swa_jit_config *config;
  const swa_jit_decode_args *args;
  double *out;
  double *lse;
  atomic_uint_fast64_t next; /* the next head to take, of num_tokens * num_heads */
} work;

/* Takes up to HEADS_AT_ONCE heads of a KV head at a time. */
static void *decode_heads(void *data)
{
  work *w = data;
  const uint32_t num_heads = w->args->num_heads, kv_head_heads = heads_of_kv_head(w->args);
  const uint64_t total = (uint64_t)w->args->num_tokens * num_heads;
  uint64_t at = atomic_load(&w->next);

  while (at < total) {
    uint32_t head = (uint32_t)(at % num_heads);
    uint32_t left = kv_head_heads - head % kv_head_heads;
    uint32_t count = left < HEADS_AT_ONCE ? left : HEADS_AT_ONCE;

    if (atomic_compare_exchange_weak(&w->next, &at, at + count)) {
      decode_together(w->config, w->args, (uint32_t)(at / num_heads), head, count,
                      w->out + at * sj_reference_out_dim(w->config), w->lse + at);
      at = atomic_load(&w->next);
    }
  }
  return NULL;
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
