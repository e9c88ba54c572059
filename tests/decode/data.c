/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "random.h"
#include "reference.h"

enum { MOST_CANDIDATES = 16384, LARGE_POOL_BYTES = 1 << 28 };
enum { FOR_LENS = 1, FOR_SLOTS, FOR_STALE, FOR_ROWS, FOR_SCALES, FOR_Q, FOR_BASE };

static uint64_t num_slots(const decode_case *which)
{
  return (uint64_t)which->block_size * which->num_blocks;
}

bool decode_data_is_sparse(const decode_data *data)
{
  return data->tensors[DECODE_KV].size > LARGE_POOL_BYTES;
}

uint64_t decode_data_candidate(const decode_data *data, uint32_t candidate)
{
  uint64_t slots = num_slots(&data->which);
  bool low_half = candidate < data->num_candidates / 2;

  return low_half || slots == data->num_candidates ? candidate : slots - data->num_candidates + candidate;
}

/* The reverse; slot must be a candidate. */
static uint32_t candidate_of(const decode_data *data, uint64_t slot)
{
  uint64_t above = num_slots(&data->which) - data->num_candidates;

  return (uint32_t)(slot < data->num_candidates / 2 || above == 0 ? slot : slot - above);
}

size_t decode_data_row_offset(const decode_data *data, uint64_t slot)
{
  size_t slot_stride = data->which.head_dim + data->which.slot_gap;
  size_t block_stride = data->which.block_size * slot_stride + data->which.block_gap;

  return slot / data->which.block_size * block_stride + slot % data->which.block_size * slot_stride;
}

static void set_strides(const decode_case *which, uint32_t layout, int64_t *token_stride, int64_t *head_stride)
{
  int64_t dim = which->head_dim;
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

static int64_t row_offset(const decode_data *data, int64_t token_stride, int64_t head_stride, uint32_t token,
                          uint32_t head)
{
  int64_t dim = data->which.head_dim;

  token_stride = token_stride != 0 ? token_stride : data->which.num_heads * dim;
  head_stride = head_stride != 0 ? head_stride : dim;
  return token * token_stride + head * head_stride;
}

static int64_t q_offset(const decode_data *data, uint32_t token, uint32_t head)
{
  return row_offset(data, data->args.q_token_stride, data->args.q_head_stride, token, head);
}

int64_t decode_data_out_offset(const decode_data *data, uint32_t token, uint32_t head)
{
  return row_offset(data, data->args.out_token_stride, data->args.out_head_stride, token, head);
}

int64_t decode_data_lse_offset(const decode_data *data, uint32_t token, uint32_t head)
{
  int64_t stride = data->args.lse_token_stride != 0 ? data->args.lse_token_stride : data->which.num_heads;

  return token * stride + head;
}

static void set_config(decode_data *data)
{
  static const swa_jit_config usual = SWA_JIT_CONFIG_INIT;
  const decode_case *which = &data->which;

  data->config = usual;
  data->config.head_dim = which->head_dim;
  data->config.head_group = which->head_group;
  data->config.kv_tile = which->kv_tile;
  data->config.window_size = which->window_size;
  data->config.index_type = which->index_type;
  data->config.lens_type = which->lens_type;
  data->config.scale_type = which->scale_type;
  data->config.lse = which->lse != DECODE_LSE_NONE;
}

static void set_args(decode_data *data)
{
  static const swa_jit_decode_args usual = SWA_JIT_DECODE_ARGS_INIT;
  const decode_case *which = &data->which;
  swa_jit_decode_args *args = &data->args;
  double scale = 1.0 / sqrt(which->head_dim);

  *args = usual;
  args->num_tokens = which->num_tokens;
  args->num_heads = which->num_heads;
  args->block_size = which->block_size;
  args->num_blocks = which->num_blocks;
  set_strides(which, which->q_layout, &args->q_token_stride, &args->q_head_stride);
  set_strides(which, which->out_layout, &args->out_token_stride, &args->out_head_stride);
  if (which->slot_gap != 0) {
    args->slot_stride_bytes = which->head_dim + which->slot_gap;
  }
  if (which->block_gap != 0) {
    args->block_stride_bytes = (int64_t)which->block_size * (which->head_dim + which->slot_gap) + which->block_gap;
  }
  args->indices_token_stride = which->index_gap != 0 ? (int64_t)which->window_size + which->index_gap : 0;
  args->lse_token_stride = which->lse_gap != 0 ? (int64_t)which->num_heads + which->lse_gap : 0;
  args->scale = which->softmax == DECODE_SOFTMAX_ZERO ? 0.0f : (float)ldexp(scale, -(int)which->q_exponent);
  args->scale = which->softmax == DECODE_SOFTMAX_NEGATIVE ? -args->scale : args->scale;
}

static size_t integer_size(uint32_t type)
{
  return type == SWA_JIT_INT64 ? 8 : 4;
}

static size_t rows_size(const decode_data *data, int64_t last_row)
{
  return data->which.num_tokens == 0 ? 0 : ((size_t)last_row + data->which.head_dim) * 2;
}

static bool allocate(decode_data *data)
{
  const decode_case *which = &data->which;
  size_t tokens = which->num_tokens;
  uint32_t last_token = which->num_tokens - (tokens > 0);
  uint64_t slots = num_slots(which);
  size_t guards = 2 * (size_t)DECODE_GUARD_BYTES;
  decode_buffer *b = data->tensors;

  b[DECODE_Q].size = rows_size(data, q_offset(data, last_token, which->num_heads - 1));
  b[DECODE_KV].size = slots == 0 ? 0 : decode_data_row_offset(data, slots - 1) + which->head_dim;
  b[DECODE_INV_SCALE].size = slots * (which->scale_type == SWA_JIT_BFLOAT16 ? 2 : 4);
  b[DECODE_INDICES].size = tokens * (which->window_size + which->index_gap) * integer_size(which->index_type);
  b[DECODE_LENS].size = tokens * integer_size(which->lens_type);
  b[DECODE_OUT].size = rows_size(data, decode_data_out_offset(data, last_token, which->num_heads - 1)) + guards;
  b[DECODE_LSE].size = tokens * (which->num_heads + which->lse_gap) * 4 + guards;
  b[DECODE_OUT].offset = DECODE_GUARD_BYTES;
  b[DECODE_LSE].offset = DECODE_GUARD_BYTES;
  for (int i = 0; i < DECODE_NUM_TENSORS; i++) {
    if (i != DECODE_KV && (b[i].bytes = malloc(b[i].size + 16)) == NULL) {
      return false;
    }
  }
  data->kv_mapped = b[DECODE_KV].size + 16;
  b[DECODE_KV].bytes =
      mmap(NULL, data->kv_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (b[DECODE_KV].bytes == MAP_FAILED) {
    b[DECODE_KV].bytes = NULL;
    return false;
  }
  return true;
}

static void set_pointers(decode_data *data)
{
  decode_buffer *b = data->tensors;

  data->args.q = b[DECODE_Q].bytes;
  data->args.kv = num_slots(&data->which) == 0 ? NULL : b[DECODE_KV].bytes;
  data->args.inv_scale = b[DECODE_INV_SCALE].bytes;
  data->args.indices = b[DECODE_INDICES].bytes;
  data->args.lens = b[DECODE_LENS].bytes;
  data->args.out = b[DECODE_OUT].bytes + b[DECODE_OUT].offset;
  data->args.lse =
      data->which.lse == DECODE_LSE_WRITTEN ? (float *)(void *)(b[DECODE_LSE].bytes + b[DECODE_LSE].offset) : NULL;
}

static void write_integer(decode_buffer *buffer, uint32_t type, size_t at, int64_t value)
{
  if (type == SWA_JIT_INT64) {
    ((int64_t *)(void *)buffer->bytes)[at] = value;
  } else {
    ((int32_t *)(void *)buffer->bytes)[at] = (int32_t)value;
  }
}

static int64_t pick_len(const decode_data *data, uint32_t token)
{
  int64_t window = data->which.window_size;
  bool wide = data->which.lens_type == SWA_JIT_INT64;
  const int64_t edges[] = {0,
                           1,
                           2,
                           15,
                           16,
                           17,
                           window - 1,
                           window,
                           window + 1,
                           -1,
                           wide ? INT64_MIN : INT32_MIN,
                           wide ? INT64_MAX : INT32_MAX,
                           wide ? (int64_t)1 << 32 : 127,
                           wide ? -((int64_t)1 << 32) + 5 : 128}; /* cut to 32 bits they would be 0 and 5 */
  random_stream random = random_start(data->which.seed, FOR_LENS, token);

  switch (data->which.lens) {
  case DECODE_LENS_UNIFORM:
    return random_below(&random, (uint32_t)window + 1);
  case DECODE_LENS_ONE:
    return 1;
  case DECODE_LENS_ZERO:
    return 0;
  case DECODE_LENS_EDGES:
    return edges[token % (sizeof edges / sizeof edges[0])];
  case DECODE_LENS_GAPS:
    return token % 2 == 0 ? 0 : window;
  default:
    return window;
  }
}

static int64_t pick_masked(const decode_data *data, random_stream *random)
{
  int64_t slots = (int64_t)num_slots(&data->which);
  const int64_t masked[] = {-1,        -2,
                            INT32_MIN, slots,
                            slots + 1, INT32_MAX,
                            INT64_MIN, (int64_t)1 << 32 /* cut to 32 bits: slot 0 */,
                            INT64_MAX, -((int64_t)1 << 32) + 1};

  return masked[random_below(random, data->which.index_type == SWA_JIT_INT64 ? 10 : 6)];
}

static bool has_special(const decode_data *data)
{
  const decode_case *which = &data->which;

  return data->num_candidates >= 16
         && (which->codes == DECODE_CODES_NAN || which->codes == DECODE_CODES_NULL || which->scales == DECODE_SCALES_INF
             || which->scales == DECODE_SCALES_NAN);
}

/* Special candidates carry the case's NaN, infinity or zeros: odd tokens select them once, even ones never. */
static bool is_special(const decode_data *data, uint32_t candidate)
{
  return has_special(data) && candidate % 16 == 15;
}

static int64_t pick_slot(const decode_data *data, uint32_t position, random_stream *random)
{
  uint32_t slots = data->which.slots;
  bool masks = slots >= DECODE_SLOTS_MASKED_SOME && slots <= DECODE_SLOTS_MASKED_ALL;
  uint32_t candidate;

  if (slots == DECODE_SLOTS_MASKED_ALL || (slots == DECODE_SLOTS_MASKED_SOME && random_below(random, 4) == 0)
      || data->num_candidates == 0) {
    return pick_masked(data, random);
  }
  if ((slots == DECODE_SLOTS_MASKED_HALF && position < data->which.window_size / 2)
      || (slots == DECODE_SLOTS_MASKED_ODD && position % 2 == 1)) {
    return -1;
  }
  if (slots == DECODE_SLOTS_ENDS) {
    return position % 2 == 0 ? 0 : (int64_t)num_slots(&data->which) - 1;
  }
  do { /* slot 0 stays poison where a -1 may be clamped to it */
    candidate = random_below(random, data->num_candidates);
  } while (is_special(data, candidate) || (masks && candidate == 0 && data->num_candidates > 1));
  return (int64_t)decode_data_candidate(data, candidate);
}

static void fill_index_row(decode_data *data, uint32_t token)
{
  const decode_case *which = &data->which;
  decode_buffer *indices = &data->tensors[DECODE_INDICES];
  size_t row = (size_t)token * (which->window_size + which->index_gap);
  uint32_t len = sj_reference_len(&data->config, &data->args, token);
  random_stream random = random_start(which->seed, FOR_SLOTS, token);
  random_stream stale = random_start(which->seed, FOR_STALE, token);
  int64_t same = pick_slot(data, 0, &random);

  for (uint32_t j = 0; j < len; j++) {
    int64_t slot = which->slots == DECODE_SLOTS_SAME ? same : pick_slot(data, j, &random);

    write_integer(indices, which->index_type, row + j, slot);
  }
  if (has_special(data) && token % 2 == 1 && len > 0) {
    uint32_t sixteenth = random_below(&random, data->num_candidates / 16) * 16 + 15;

    write_integer(indices, which->index_type, row + random_below(&random, len),
                  (int64_t)decode_data_candidate(data, sixteenth));
  }
  for (uint32_t j = len; j < which->window_size && token % 2 == 1 && data->num_candidates > 0; j++) {
    uint32_t candidate = random_below(&stale, data->num_candidates);

    write_integer(indices, which->index_type, row + j, (int64_t)decode_data_candidate(data, candidate));
  }
}

static void fill_lens_and_indices(decode_data *data)
{
  const decode_case *which = &data->which;
  decode_buffer *indices = &data->tensors[DECODE_INDICES];

  memset(indices->bytes, 0x7F, indices->size);
  for (uint32_t token = 0; token < which->num_tokens; token++) {
    write_integer(&data->tensors[DECODE_LENS], which->lens_type, token, pick_len(data, token));
  }
  for (uint32_t token = 0; token < which->num_tokens; token++) {
    fill_index_row(data, token);
  }
  if (which->num_tokens > 0) { /* a row is read up to len only: the last one ends there */
    size_t last = (size_t)(which->num_tokens - 1) * (which->window_size + which->index_gap);
    uint32_t len = sj_reference_len(&data->config, &data->args, which->num_tokens - 1);

    indices->size = (last + len) * integer_size(which->index_type);
  }
}

/* bytes[candidate] = 1 where an unmasked position selects it. */
static void mark_selected(const decode_data *data, uint8_t *selected)
{
  for (uint32_t token = 0; token < data->which.num_tokens; token++) {
    uint32_t len = sj_reference_len(&data->config, &data->args, token);

    for (uint32_t j = 0; j < len; j++) {
      int64_t slot = sj_reference_slot(&data->config, &data->args, token, j);

      if (slot >= 0) {
        selected[candidate_of(data, (uint64_t)slot)] = 1;
      }
    }
  }
}

/* The nearest finite code. */
static uint8_t encode_e4m3(double value)
{
  double magnitude = fabs(value);
  uint8_t low = 0;
  uint8_t high = 0x7E;

  while (low < high) { /* the first code that is not below the magnitude */
    uint8_t middle = (uint8_t)((low + high) / 2);

    if (sj_reference_e4m3(middle) < magnitude) {
      low = (uint8_t)(middle + 1);
    } else {
      high = middle;
    }
  }
  if (low > 0 && magnitude - sj_reference_e4m3((uint8_t)(low - 1)) < sj_reference_e4m3(low) - magnitude) {
    low--;
  }
  return value < 0 ? (uint8_t)(low | 0x80) : low;
}

static double regime_mean(const decode_case *which)
{
  return which->scores == DECODE_SCORES_M5    ? -5.0
         : which->scores == DECODE_SCORES_M20 ? -20.0
         : which->scores == DECODE_SCORES_P20 ? 20.0
                                              : 0.0;
}

static void fill_row(decode_data *data, uint32_t candidate, const double *base)
{
  const decode_case *which = &data->which;
  uint8_t *row = data->tensors[DECODE_KV].bytes + decode_data_row_offset(data, decode_data_candidate(data, candidate));
  random_stream random = random_start(which->seed, FOR_ROWS, candidate);
  bool has_base = regime_mean(which) != 0.0;

  for (uint32_t d = 0; d < which->head_dim; d++) {
    uint8_t code = (uint8_t)(d + 77 * candidate);

    if (which->codes == DECODE_CODES_ALL) {
      row[d] = (code & 0x7F) == 0x7F ? 0 : code;
    } else {
      row[d] = encode_e4m3(random_normal(&random) + (has_base ? base[d] : 0.0));
    }
  }
  if (which->codes == DECODE_CODES_NULL && is_special(data, candidate)) {
    memset(row, 0, which->head_dim);
  }
  if (which->codes == DECODE_CODES_NAN && is_special(data, candidate)) {
    row[random_below(&random, which->head_dim)] = candidate % 32 == 15 ? 0x7F : 0xFF;
  }
}

static double pick_scale(const decode_data *data, uint32_t candidate)
{
  static const double special[] = {1.5, 0x1p-126, 0.0, -0.75, 0x1p-127, 1.0, -0.0};
  random_stream random = random_start(data->which.seed, FOR_SCALES, candidate);
  double spread = exp2((double)random_below(&random, 1 << 24) / (1 << 22) - 2.0); /* 1/4 to 4 */

  switch (data->which.scales) {
  case DECODE_SCALES_RANDOM:
    return spread;
  case DECODE_SCALES_SIGNED:
    return random_below(&random, 2) == 0 ? spread : -spread;
  case DECODE_SCALES_REAL:
    return spread / 100.0;
  case DECODE_SCALES_LARGE:
    return spread * 50000.0;
  case DECODE_SCALES_SPECIAL:
    return special[candidate % 7];
  case DECODE_SCALES_INF:
    return is_special(data, candidate) ? (double)INFINITY : spread;
  case DECODE_SCALES_NAN:
    return is_special(data, candidate) ? (double)NAN : spread;
  default:
    return 1.0;
  }
}

static void write_scale(decode_data *data, uint64_t slot, double value)
{
  if (data->which.scale_type == SWA_JIT_BFLOAT16) {
    ((uint16_t *)(void *)data->tensors[DECODE_INV_SCALE].bytes)[slot] = sj_reference_bf16_from_double(value);
  } else {
    ((float *)(void *)data->tensors[DECODE_INV_SCALE].bytes)[slot] = (float)value;
  }
}

static bool fill_pool(decode_data *data, const double *base)
{
  decode_buffer *kv = &data->tensors[DECODE_KV];
  uint8_t *selected = calloc((size_t)data->num_candidates + 1, 1);

  if (selected == NULL) {
    return false;
  }
  mark_selected(data, selected);
  memset(data->tensors[DECODE_INV_SCALE].bytes, 0xFF, data->tensors[DECODE_INV_SCALE].size); /* NaN */
  if (!decode_data_is_sparse(data)) {
    memset(kv->bytes, 0xFF, kv->size);
  }
  for (uint32_t i = 0; i < data->num_candidates; i++) {
    uint64_t slot = decode_data_candidate(data, i);

    if (selected[i] != 0) {
      fill_row(data, i, base);
      write_scale(data, slot, pick_scale(data, i));
    } else {
      memset(kv->bytes + decode_data_row_offset(data, slot), 0x7F, data->which.head_dim);
    }
  }
  free(selected);
  return true;
}

static void fill_q(decode_data *data, const double *base)
{
  const decode_case *which = &data->which;
  uint16_t *q = (uint16_t *)(void *)data->tensors[DECODE_Q].bytes;
  double deviation = which->scores == DECODE_SCORES_SHARP ? 8.0 : 1.0;
  double unit = which->scales == DECODE_SCALES_REAL    ? 100.0
                : which->scales == DECODE_SCALES_LARGE ? 1.0 / 50000.0
                                                       : 1.0;
  double mean = regime_mean(which) / sqrt(which->head_dim);

  unit /= which->codes == DECODE_CODES_ALL ? 128.0 : 1.0; /* about the root mean square of the codes */
  memset(q, 0xFF, data->tensors[DECODE_Q].size);
  for (uint32_t token = 0; token < which->num_tokens; token++) {
    for (uint32_t head = 0; head < which->num_heads; head++) {
      random_stream random = random_start(which->seed, FOR_Q, (uint64_t)token << 32 | head);
      uint16_t *row = q + q_offset(data, token, head);
      double head_unit = ldexp(unit, head % 2 != 0 ? (int)which->q_exponent : 0);

      for (uint32_t d = 0; d < which->head_dim; d++) {
        double value = deviation * random_normal(&random) + mean * base[d];

        row[d] = sj_reference_bf16_from_double(head_unit * value);
      }
    }
  }
}

bool decode_data_make(const decode_case *which, decode_data *data_out)
{
  uint64_t slots = num_slots(which);
  random_stream random = random_start(which->seed, FOR_BASE, 0);
  double base[512];

  memset(data_out, 0, sizeof *data_out);
  data_out->which = *which;
  data_out->num_candidates = slots > MOST_CANDIDATES ? 2048 : (uint32_t)slots;
  set_config(data_out);
  set_args(data_out);
  if (!allocate(data_out)) {
    decode_data_free(data_out);
    return false;
  }
  set_pointers(data_out);
  for (int d = 0; d < 512; d++) {
    base[d] = random_normal(&random);
  }
  fill_lens_and_indices(data_out);
  fill_q(data_out, base);
  memset(data_out->tensors[DECODE_OUT].bytes, DECODE_POISON, data_out->tensors[DECODE_OUT].size);
  memset(data_out->tensors[DECODE_LSE].bytes, DECODE_POISON, data_out->tensors[DECODE_LSE].size);
  if (!fill_pool(data_out, base)) {
    decode_data_free(data_out);
    return false;
  }
  return true;
}

void decode_data_free(decode_data *data)
{
  for (int i = 0; i < DECODE_NUM_TENSORS; i++) {
    if (i != DECODE_KV) {
      free(data->tensors[i].bytes);
    }
  }
  if (data->tensors[DECODE_KV].bytes != NULL) {
    (void)munmap(data->tensors[DECODE_KV].bytes, data->kv_mapped);
  }
  memset(data, 0, sizeof *data);
}
