/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "positions.h"
#include "random.h"
#include "reference.h"
#include "rows.h"

enum { LSE_STRIDE = 3 };

enum decode_tensor decode_data_rows_tensor(enum decode_pool_kind kind)
{
  static const enum decode_tensor tensors[] = {DECODE_KV, DECODE_V, DECODE_EXTRA_KV};

  return tensors[kind];
}

static enum decode_tensor inv_scale_tensor(enum decode_pool_kind kind)
{
  static const enum decode_tensor tensors[] = {DECODE_INV_SCALE, DECODE_V_INV_SCALE, DECODE_EXTRA_INV_SCALE};

  return tensors[kind];
}

uint32_t decode_data_out_dim(const decode_data *data)
{
  return sj_reference_out_dim(&data->config);
}

/* ---- strides ---------------------------------------------------------------------------------------------- */

static void set_row_strides(const decode_case *which, uint32_t layout, int64_t dim, int64_t *token_stride,
                            int64_t *head_stride)
{
  int64_t heads = which->num_heads;

  *token_stride = 0;
  *head_stride = 0;
  if (layout == DECODE_SLICE) {
    *token_stride = 3 * heads * dim;
  } else if (layout == DECODE_PADDED) {
    *head_stride = dim + 8;
    *token_stride = heads * (dim + 8) + 24;
  } else if (layout == DECODE_HEADS_OUTSIDE) {
    *head_stride = which->num_tokens > 0 ? which->num_tokens * dim : dim;
    *token_stride = dim;
  }
}

static int64_t row_offset(int64_t packed_token, int64_t dim, int64_t token_stride, int64_t head_stride, uint32_t token,
                          uint32_t head)
{
  token_stride = token_stride != 0 ? token_stride : packed_token;
  head_stride = head_stride != 0 ? head_stride : dim;
  return token * token_stride + head * head_stride;
}

static int64_t q_offset(const decode_data *data, uint32_t token, uint32_t head)
{
  int64_t dim = data->which.head_dim;

  return row_offset(data->which.num_heads * dim, dim, data->args.q_token_stride, data->args.q_head_stride, token, head);
}

int64_t decode_data_out_offset(const decode_data *data, uint32_t token, uint32_t head)
{
  int64_t dim = decode_data_out_dim(data);

  return row_offset(data->which.num_heads * dim, dim, data->args.out_token_stride, data->args.out_head_stride, token,
                    head);
}

int64_t decode_data_lse_offset(const decode_data *data, uint32_t token, uint32_t head)
{
  int64_t head_stride = data->args.lse_head_stride != 0 ? data->args.lse_head_stride : 1;
  int64_t packed_token = data->which.num_heads * head_stride;

  return row_offset(packed_token, 1, data->args.lse_token_stride, head_stride, token, head);
}

static void set_lse_strides(const decode_case *which, swa_jit_decode_args *args)
{
  if (which->lse_layout == DECODE_LSE_HEADS_OUTSIDE) {
    args->lse_token_stride = 1;
    args->lse_head_stride = (int64_t)which->num_tokens + which->lse_gap;
    return;
  }
  int64_t head_stride = which->lse_layout == DECODE_LSE_STRIDED ? LSE_STRIDE : 1;
  args->lse_head_stride = head_stride != 1 ? head_stride : 0;
  args->lse_token_stride = which->lse_gap != 0 ? which->num_heads * head_stride + which->lse_gap : 0;
}

/* Packed pools get strides of 0. */
static int64_t given(bool packed, size_t stride)
{
  return packed ? 0 : (int64_t)stride;
}

static void set_pool_strides(const decode_data *data, swa_jit_decode_args *args)
{
  const decode_case *which = &data->which;
  const decode_pool *k = &data->pools[DECODE_POOL_K];
  const decode_pool *v = &data->pools[DECODE_POOL_V];
  const decode_pool *extra = &data->pools[DECODE_POOL_EXTRA];
  bool packed = which->kv_layout == DECODE_KV_CONTIGUOUS;

  args->kv_head_stride_bytes = given(packed, k->head_stride);
  args->slot_stride_bytes = given(packed && which->slot_gap == 0, k->slot_stride);
  args->block_stride_bytes = given(packed && which->block_gap == 0, k->block_stride);
  if (which->head_dim_v != 0) {
    args->v_head_stride_bytes = given(packed, v->head_stride);
    args->v_slot_stride_bytes = given(packed && which->v_slot_gap == 0, v->slot_stride);
    args->v_block_stride_bytes = given(packed && which->v_block_gap == 0, v->block_stride);
  }
  args->extra_slot_stride_bytes = given(which->extra_slot_gap == 0, extra->slot_stride);
  args->extra_block_stride_bytes = given(which->extra_block_gap == 0, extra->block_stride);
}

/* ---- arguments -------------------------------------------------------------------------------------------- */

static bool has_format(const decode_case *which, uint32_t kv_format)
{
  return which->kv_format == kv_format || (which->extra_size != 0 && which->extra_format == kv_format);
}

static bool has_wide_scale_bytes(const decode_case *which)
{
  return which->scale_bytes == DECODE_SCALE_BYTES_RANDOM || which->scale_bytes == DECODE_SCALE_BYTES_ALL;
}

/* Brings rows of extreme values down to scores that are worth a softmax. */
static double softmax_unit(const decode_case *which)
{
  double unit = 1.0;

  if (has_wide_scale_bytes(which)) { /* q goes down by 2^14 too */
    unit = which->scale_bytes == DECODE_SCALE_BYTES_ALL ? 0x1p-110 : 0x1p-97;
  } else if (which->kv_format == SWA_JIT_KV_BF16 && which->codes == DECODE_CODES_ALL) {
    unit = 0x1p-60;
  } else if (which->bf16 == DECODE_BF16_LARGE) {
    unit = 0x1p-20;
  } else if (which->bf16 == DECODE_BF16_TINY && has_format(which, SWA_JIT_KV_BF16)) {
    unit = 0x1p30;
  }
  return ldexp(unit, -(int)which->q_exponent);
}

static float pick_soft_cap(const decode_case *which)
{
  static const float caps[] = {0.0f, 0.0f, 2.0f, 30.0f, 50.0f};

  return caps[which->soft_cap];
}

static void set_args(decode_data *data)
{
  static const swa_jit_decode_args usual = SWA_JIT_DECODE_ARGS_INIT;
  const decode_case *which = &data->which;
  swa_jit_decode_args *args = &data->args;
  double scale = softmax_unit(which) / sqrt(which->head_dim);

  *args = usual;
  args->num_tokens = which->num_tokens;
  args->num_heads = which->num_heads;
  args->num_kv_heads = which->num_kv_heads;
  args->block_size = which->block_size;
  args->num_blocks = which->num_blocks;
  set_row_strides(which, which->q_layout, which->head_dim, &args->q_token_stride, &args->q_head_stride);
  set_row_strides(which, which->out_layout, decode_data_out_dim(data), &args->out_token_stride, &args->out_head_stride);
  set_lse_strides(which, args);
  set_pool_strides(data, args);
  args->indices_token_stride = which->index_gap != 0 ? (int64_t)which->window_size + which->index_gap : 0;
  args->scale = which->softmax == DECODE_SOFTMAX_ZERO ? 0.0f : (float)scale;
  args->scale = which->softmax == DECODE_SOFTMAX_NEGATIVE ? -args->scale : args->scale;
  args->soft_cap = pick_soft_cap(which);
  args->lse_form = which->lse_form;
  args->num_splits = which->num_splits;
  args->kv_scale = decode_pool_scale(which, DECODE_POOL_K);
  args->v_scale = decode_pool_scale(which, DECODE_POOL_V);
  args->extra_scale = decode_pool_scale(which, DECODE_POOL_EXTRA);
  if (which->extra_size != 0) {
    args->extra_block_size = which->extra_block_size;
    args->extra_num_blocks = which->extra_num_blocks;
    args->extra_indices_token_stride = which->index_gap != 0 ? (int64_t)which->extra_size + which->index_gap : 0;
  }
}

void decode_data_point(const decode_data *data, decode_where *where, const void *context, swa_jit_decode_args *args)
{
  const struct {
    enum decode_tensor tensor;
    const void **pointer;
  } inputs[] = {
      {DECODE_Q, &args->q},
      {DECODE_KV, &args->kv},
      {DECODE_INV_SCALE, &args->inv_scale},
      {DECODE_INDICES, &args->indices},
      {DECODE_LENS, &args->lens},
      {DECODE_V, &args->v},
      {DECODE_V_INV_SCALE, &args->v_inv_scale},
      {DECODE_V_INDICES, &args->v_indices},
      {DECODE_EXTRA_KV, &args->extra_kv},
      {DECODE_EXTRA_INV_SCALE, &args->extra_inv_scale},
      {DECODE_EXTRA_INDICES, &args->extra_indices},
      {DECODE_EXTRA_LENS, &args->extra_lens},
  };

  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    *inputs[i].pointer = data->tensors[inputs[i].tensor].bytes != NULL ? where(context, inputs[i].tensor) : NULL;
  }
  args->sinks = data->tensors[DECODE_SINKS].bytes != NULL ? where(context, DECODE_SINKS) : NULL;
  args->out = (char *)(uintptr_t)where(context, DECODE_OUT) + data->tensors[DECODE_OUT].offset;
  args->lse = NULL;
  if (data->which.lse == DECODE_LSE_WRITTEN) {
    args->lse = (float *)((uintptr_t)where(context, DECODE_LSE) + data->tensors[DECODE_LSE].offset);
  }
}

static const void *where_on_host(const void *context, enum decode_tensor tensor)
{
  return ((const decode_data *)context)->tensors[tensor].bytes;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static size_t integer_size(uint32_t type)
{
  return type == SWA_JIT_INT64 ? 8 : 4;
}

/* Of bf16 rows, from the first to the end of the last. */
static size_t rows_size(const decode_data *data, int64_t last_row, uint32_t dim)
{
  return data->which.num_tokens == 0 ? 0 : ((size_t)last_row + dim) * 2;
}

static void set_sizes(decode_data *data)
{
  const decode_case *which = &data->which;
  size_t tokens = which->num_tokens;
  uint32_t last_token = which->num_tokens - (tokens > 0);
  uint32_t last_head = which->num_heads - 1;
  size_t guards = 2 * (size_t)DECODE_GUARD_BYTES;
  size_t index_bytes = integer_size(which->index_type);
  decode_buffer *b = data->tensors;

  b[DECODE_Q].size = rows_size(data, q_offset(data, last_token, last_head), which->head_dim);
  b[DECODE_INDICES].size = tokens * (which->window_size + which->index_gap) * index_bytes;
  b[DECODE_V_INDICES].size = which->v_indices == DECODE_V_INDICES_OWN ? b[DECODE_INDICES].size : 0;
  b[DECODE_EXTRA_INDICES].size = tokens * (which->extra_size + which->index_gap) * index_bytes;
  b[DECODE_LENS].size = tokens * integer_size(which->lens_type);
  b[DECODE_EXTRA_LENS].size = b[DECODE_LENS].size;
  b[DECODE_SINKS].size = which->num_heads * sizeof(float);
  b[DECODE_OUT].size =
      rows_size(data, decode_data_out_offset(data, last_token, last_head), decode_data_out_dim(data)) + guards;
  b[DECODE_LSE].size = guards;
  if (tokens > 0) {
    b[DECODE_LSE].size += ((size_t)decode_data_lse_offset(data, last_token, last_head) + 1 + which->lse_gap) * 4;
  }
  b[DECODE_OUT].offset = DECODE_GUARD_BYTES;
  b[DECODE_LSE].offset = DECODE_GUARD_BYTES;
}

/* Whether the case passes a pointer; out and LSE have a buffer, and guards, in any case. */
static bool has_tensor(const decode_case *which, enum decode_tensor tensor)
{
  switch (tensor) {
  case DECODE_SINKS:
    return which->sinks >= DECODE_SINKS_NORMAL;
  case DECODE_V_INDICES:
    return which->v_indices == DECODE_V_INDICES_OWN;
  case DECODE_EXTRA_INDICES:
    return which->extra_size != 0;
  case DECODE_EXTRA_LENS:
    return which->extra_size != 0 && which->extra_lens != DECODE_LENS_NULL;
  default:
    return true;
  }
}

static bool is_of_pool(enum decode_tensor tensor)
{
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
    if (tensor == decode_data_rows_tensor(kind) || tensor == inv_scale_tensor(kind)) {
      return true;
    }
  }
  return false;
}

static bool allocate_pools(decode_data *data)
{
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
    decode_pool *pool = &data->pools[kind];
    decode_buffer *rows = &data->tensors[decode_data_rows_tensor(kind)];
    decode_buffer *inv_scale = &data->tensors[inv_scale_tensor(kind)];

    if (!decode_pool_allocate(pool)) {
      return false;
    }
    rows->size = pool->bytes;
    rows->bytes = pool->num_slots != 0 ? pool->rows : NULL;
    inv_scale->size = decode_pool_inv_scale_bytes(&data->which, pool);
    inv_scale->bytes = inv_scale->size != 0 ? pool->inv_scale : NULL;
  }
  return true;
}

static bool allocate(decode_data *data)
{
  set_sizes(data);
  for (unsigned i = 0; i < DECODE_NUM_TENSORS; i++) {
    decode_buffer *buffer = &data->tensors[i];

    if (is_of_pool(i)) {
      continue;
    }
    if (!has_tensor(&data->which, i)) {
      buffer->size = 0;
    } else if ((buffer->bytes = malloc(buffer->size + 16)) == NULL) {
      return false;
    }
  }
  return allocate_pools(data);
}

void decode_data_free(decode_data *data)
{
  for (unsigned i = 0; i < DECODE_NUM_TENSORS; i++) {
    if (!is_of_pool(i)) {
      free(data->tensors[i].bytes);
    }
  }
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
    decode_pool_free(&data->pools[kind]);
  }
  memset(data, 0, sizeof *data);
}

/* ---- contents --------------------------------------------------------------------------------------------- */

static bool fill_pools(decode_data *data, const double *base)
{
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
    decode_pool *pool = &data->pools[kind];
    uint8_t *selected = calloc((size_t)pool->num_candidates + 1, 1);

    if (selected == NULL) {
      return false;
    }
    decode_positions_mark(data, kind, selected);
    decode_pool_fill(&data->which, pool, selected, base);
    free(selected);
  }
  return true;
}

/* What q is multiplied by where the rows' elements are not about 1. */
static double q_unit(const decode_case *which)
{
  double unit = which->scales == DECODE_SCALES_REAL    ? 100.0
                : which->scales == DECODE_SCALES_LARGE ? 1.0 / 50000.0
                                                       : 1.0;

  if (has_wide_scale_bytes(which)) {
    unit *= 0x1p-14;
  } else if (which->codes == DECODE_CODES_ALL && which->kv_format != SWA_JIT_KV_BF16) {
    unit /= 128.0; /* about the root mean square of the codes */
  }
  return unit;
}

static void fill_q(decode_data *data, const double *base)
{
  const decode_case *which = &data->which;
  uint16_t *q = (uint16_t *)(void *)data->tensors[DECODE_Q].bytes;
  double deviation = which->scores == DECODE_SCORES_SHARP ? 8.0 : 1.0;
  double unit = q_unit(which);
  double mean = row_mean_score(which) / sqrt(which->head_dim);

  memset(q, 0xFF, data->tensors[DECODE_Q].size);
  for (uint32_t token = 0; token < which->num_tokens; token++) {
    for (uint32_t head = 0; head < which->num_heads; head++) {
      random_stream random = random_start(which->seed, RANDOM_FOR_Q, (uint64_t)token << 32 | head);
      uint16_t *row = q + q_offset(data, token, head);
      double head_unit = ldexp(unit, head % 2 != 0 ? (int)which->q_exponent : 0);

      for (uint32_t d = 0; d < which->head_dim; d++) {
        double value = deviation * random_normal(&random) + mean * base[d];

        row[d] = sj_reference_bf16_from_double(head_unit * value);
      }
    }
  }
}

/* A normal sink has about the weight of a window. */
static void fill_sinks(decode_data *data)
{
  const decode_case *which = &data->which;
  const double specials[] = {0.0, (double)INFINITY, -(double)INFINITY, 3e38, -3e38, (double)NAN};
  float *sinks = (float *)(void *)data->tensors[DECODE_SINKS].bytes;

  for (uint32_t head = 0; head < which->num_heads && sinks != NULL; head++) {
    random_stream random = random_start(which->seed, RANDOM_FOR_SINKS, head);
    double normal = row_mean_score(which) + log(which->window_size) + 2.0 * random_normal(&random);

    sinks[head] = (float)(which->sinks == DECODE_SINKS_SPECIAL && head % 6 != 0 ? specials[head % 6] : normal);
  }
}

bool decode_data_make(const decode_case *which, decode_data *data_out)
{
  random_stream random = random_start(which->seed, RANDOM_FOR_BASE, 0);
  double base[512];

  memset(data_out, 0, sizeof *data_out);
  data_out->which = *which;
  decode_case_config(which, &data_out->config);
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
    decode_pool_plan(which, kind, &data_out->pools[kind]);
  }
  set_args(data_out);
  if (!allocate(data_out)) {
    decode_data_free(data_out);
    return false;
  }
  decode_data_point(data_out, where_on_host, data_out, &data_out->args);
  for (int d = 0; d < 512; d++) {
    base[d] = random_normal(&random);
  }
  decode_positions_fill(data_out);
  fill_q(data_out, base);
  fill_sinks(data_out);
  memset(data_out->tensors[DECODE_OUT].bytes, DECODE_POISON, data_out->tensors[DECODE_OUT].size);
  memset(data_out->tensors[DECODE_LSE].bytes, DECODE_POISON, data_out->tensors[DECODE_LSE].size);
  if (!fill_pools(data_out, base)) {
    decode_data_free(data_out);
    return false;
  }
  return true;
}
