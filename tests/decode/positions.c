/* SPDX-License-Identifier: Apache-2.0 */
#include "positions.h"

#include <string.h>

#include "random.h"

/* A tensor of indices and what its values name. */
typedef struct index_rows {
  enum decode_tensor tensor;
  enum decode_pool_kind kind;
  enum random_purpose slots;
  enum random_purpose stale;
  uint32_t size; /* of the scope */
} index_rows;

static void write_integer(decode_buffer *buffer, uint32_t type, size_t at, int64_t value)
{
  if (type == SWA_JIT_INT64) {
    ((int64_t *)(void *)buffer->bytes)[at] = value;
  } else {
    ((int32_t *)(void *)buffer->bytes)[at] = (int32_t)value;
  }
}

/* ---- lengths ---------------------------------------------------------------------------------------------- */

static int64_t pick_edge(int64_t size, bool wide, uint32_t token)
{
  const int64_t edges[] = {0,
                           1,
                           2,
                           15,
                           16,
                           17,
                           size - 1,
                           size,
                           size + 1,
                           -1,
                           wide ? INT64_MIN : INT32_MIN,
                           wide ? INT64_MAX : INT32_MAX,
                           wide ? (int64_t)1 << 32 : 127,
                           wide ? -((int64_t)1 << 32) + 5 : 128}; /* cut to 32 bits they would be 0 and 5 */

  return edges[token % (sizeof edges / sizeof edges[0])];
}

static int64_t pick_len(const decode_data *data, bool extra, uint32_t token)
{
  const decode_case *which = &data->which;
  uint32_t size = extra ? which->extra_size : which->window_size;
  random_stream random = random_start(which->seed, extra ? RANDOM_FOR_EXTRA_LENS : RANDOM_FOR_LENS, token);

  switch (extra ? which->extra_lens : which->lens) {
  case DECODE_LENS_UNIFORM:
    return random_below(&random, size + 1);
  case DECODE_LENS_ONE:
    return 1;
  case DECODE_LENS_ZERO:
    return 0;
  case DECODE_LENS_EDGES: /* other edges than the window's beside it */
    return pick_edge(size, which->lens_type == SWA_JIT_INT64, extra ? 5 * token + 3 : token);
  case DECODE_LENS_GAPS:
    return (extra ? token / 2 : token) % 2 == 0 ? 0 : size;
  default:
    return size;
  }
}

static void fill_lens(decode_data *data, bool extra)
{
  decode_buffer *lens = &data->tensors[extra ? DECODE_EXTRA_LENS : DECODE_LENS];

  for (uint32_t token = 0; token < data->which.num_tokens && lens->bytes != NULL; token++) {
    write_integer(lens, data->which.lens_type, token, pick_len(data, extra, token));
  }
}

/* ---- indices ---------------------------------------------------------------------------------------------- */

static int64_t pick_masked(const decode_data *data, const decode_pool *pool, random_stream *random)
{
  int64_t slots = (int64_t)pool->num_slots;
  const int64_t masked[] = {-1,        -2,
                            INT32_MIN, slots,
                            slots + 1, INT32_MAX,
                            INT64_MIN, (int64_t)1 << 32 /* cut to 32 bits: slot 0 */,
                            INT64_MAX, -((int64_t)1 << 32) + 1};

  return masked[random_below(random, data->which.index_type == SWA_JIT_INT64 ? 10 : 6)];
}

static int64_t pick_slot(const decode_data *data, const index_rows *rows, uint32_t position, random_stream *random)
{
  const decode_pool *pool = &data->pools[rows->kind];
  uint32_t slots = data->which.slots;
  bool masks = slots >= DECODE_SLOTS_MASKED_SOME && slots <= DECODE_SLOTS_MASKED_ALL;
  uint32_t candidate;

  if (slots == DECODE_SLOTS_MASKED_ALL || (slots == DECODE_SLOTS_MASKED_SOME && random_below(random, 4) == 0)
      || pool->num_candidates == 0) {
    return pick_masked(data, pool, random);
  }
  if ((slots == DECODE_SLOTS_MASKED_HALF && position < rows->size / 2)
      || (slots == DECODE_SLOTS_MASKED_ODD && position % 2 == 1)) {
    return -1;
  }
  if (slots == DECODE_SLOTS_ENDS) {
    return position % 2 == 0 ? 0 : (int64_t)pool->num_slots - 1;
  }
  do { /* slot 0 stays poison where a -1 may be clamped to it */
    candidate = random_below(random, pool->num_candidates);
  } while (decode_pool_is_special(&data->which, pool, candidate)
           || (masks && candidate == 0 && pool->num_candidates > 1));
  return (int64_t)decode_pool_slot(pool, candidate);
}

/* Odd tokens select a special candidate once: of the window and of the extra scope in turn. */
static bool selects_special(const decode_data *data, const index_rows *rows, uint32_t token)
{
  bool turn = data->which.extra_size == 0 || (rows->kind == DECODE_POOL_EXTRA) == (token % 4 == 3);

  return token % 2 == 1 && turn && decode_pool_has_special(&data->which, &data->pools[rows->kind]);
}

static void fill_index_row(decode_data *data, const index_rows *rows, size_t row, uint32_t token, uint32_t len)
{
  const decode_case *which = &data->which;
  const decode_pool *pool = &data->pools[rows->kind];
  decode_buffer *indices = &data->tensors[rows->tensor];
  random_stream random = random_start(which->seed, rows->slots, token);
  random_stream stale = random_start(which->seed, rows->stale, token);
  int64_t same = pick_slot(data, rows, 0, &random);

  for (uint32_t j = 0; j < len; j++) {
    int64_t slot = which->slots == DECODE_SLOTS_SAME ? same : pick_slot(data, rows, j, &random);

    write_integer(indices, which->index_type, row + j, slot);
  }
  if (selects_special(data, rows, token) && len > 0) {
    uint32_t sixteenth = random_below(&random, pool->num_candidates / 16) * 16 + 15;

    write_integer(indices, which->index_type, row + random_below(&random, len),
                  (int64_t)decode_pool_slot(pool, sixteenth));
  }
  for (uint32_t j = len; j < rows->size && token % 2 == 1 && pool->num_candidates > 0; j++) {
    uint32_t candidate = random_below(&stale, pool->num_candidates);

    write_integer(indices, which->index_type, row + j, (int64_t)decode_pool_slot(pool, candidate));
  }
}

static sj_reference_scope scope_of(const decode_data *data, enum decode_pool_kind kind)
{
  return kind == DECODE_POOL_EXTRA ? sj_reference_extra(&data->config, &data->args)
                                   : sj_reference_window(&data->config, &data->args);
}

static void fill_indices(decode_data *data, const index_rows *rows)
{
  const decode_case *which = &data->which;
  decode_buffer *indices = &data->tensors[rows->tensor];
  sj_reference_scope scope = scope_of(data, rows->kind);
  size_t stride = (size_t)rows->size + which->index_gap;

  if (indices->bytes == NULL) {
    return;
  }
  memset(indices->bytes, 0x7F, indices->size);
  for (uint32_t token = 0; token < which->num_tokens; token++) {
    fill_index_row(data, rows, token * stride, token, sj_reference_scope_len(&scope, token));
  }
  if (which->num_tokens > 0) {
    size_t last = (which->num_tokens - 1) * stride;

    indices->size =
        (last + sj_reference_scope_len(&scope, which->num_tokens - 1)) * (which->index_type == SWA_JIT_INT64 ? 8 : 4);
  }
}

void decode_positions_fill(decode_data *data)
{
  const decode_case *which = &data->which;
  const index_rows rows[] = {
      {DECODE_INDICES, DECODE_POOL_K, RANDOM_FOR_SLOTS, RANDOM_FOR_STALE, which->window_size},
      {DECODE_V_INDICES, DECODE_POOL_V, RANDOM_FOR_V_SLOTS, RANDOM_FOR_V_STALE, which->window_size},
      {DECODE_EXTRA_INDICES, DECODE_POOL_EXTRA, RANDOM_FOR_EXTRA_SLOTS, RANDOM_FOR_EXTRA_STALE, which->extra_size},
  };

  fill_lens(data, false);
  fill_lens(data, true);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fill_indices(data, &rows[i]);
  }
}

void decode_positions_mark(const decode_data *data, enum decode_pool_kind kind, uint8_t *selected)
{
  const decode_pool *pool = &data->pools[kind];
  sj_reference_scope scope = scope_of(data, kind);

  for (uint32_t token = 0; token < data->which.num_tokens && pool->num_slots > 0; token++) {
    uint32_t len = sj_reference_scope_len(&scope, token);

    for (uint32_t j = 0; j < len; j++) {
      int64_t slots[2];

      if (sj_reference_position(&scope, token, j, &slots[0], &slots[1])) {
        selected[decode_pool_candidate(pool, (uint64_t)slots[kind == DECODE_POOL_V])] = 1;
      }
    }
  }
}
