/* SPDX-License-Identifier: Apache-2.0 */
#include "merge_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "reference.h"

enum { POISON_BF16 = 0x7fa5, GARBAGE_BF16 = 0x7fff /* NaN */ };
static const uint32_t poison_float = 0x7fa5a5a5; /* a NaN that no kernel makes */

#define BASE_2 SWA_JIT_LSE_BASE_2
#define PLUS SWA_JIT_LSE_EMPTY_PLUS_INFINITY
#define SINK SWA_JIT_LSE_WITH_SINK

const merge_case merge_cases[] = {
    {"two_parts", 2, 5, 40, 512, .spread = 2.0},
    {"one_part", 1, 4, 8, 128, .spread = 2.0, .lse_form = BASE_2},
    {"one_part_with_a_sink", 1, 4, 8, 128, .spread = 2.0, .sinks = MERGE_USUAL_SINKS, .lse_form = SINK},
    {"three_parts_with_sinks", 3, 7, 12, 192, .spread = 3.0, .sinks = MERGE_USUAL_SINKS},
    {"eight_parts", 8, 3, 16, 512, .spread = 1.0, .empty = MERGE_SOME_EMPTY, .sinks = MERGE_USUAL_SINKS},
    {"least_row", 2, 9, 3, 8, .spread = 2.0},
    {"odd_row", 2, 9, 5, 72, .spread = 2.0, .layout = MERGE_PADDED},
    {"longest_row", 2, 2, 3, 1024, .spread = 2.0},
    {"far_apart", 3, 33, 8, 64, .spread = 60.0, .empty = MERGE_SOME_EMPTY},
    {"huge", 2, 9, 8, 64, .center = 1e30, .spread = 1e30},
    {"far_below_zero", 2, 9, 8, 64, .center = -3000.0, .spread = 2.0, .sinks = MERGE_USUAL_SINKS},
    {"some_empty", 3, 33, 8, 64, .spread = 2.0, .empty = MERGE_SOME_EMPTY},
    {"last_empty", 2, 17, 8, 64, .spread = 2.0, .empty = MERGE_LAST_EMPTY, .sinks = MERGE_USUAL_SINKS},
    {"all_empty", 4, 17, 8, 64, .empty = MERGE_ALL_EMPTY},
    {"all_empty_with_sinks", 4, 17, 8, 64, .empty = MERGE_ALL_EMPTY, .sinks = MERGE_ODD_SINKS, .lse_form = SINK | PLUS},
    {"odd_sinks", 2, 17, 24, 64, .spread = 2.0, .sinks = MERGE_ODD_SINKS},
    {"odd_sinks_in_lse", 2, 17, 24, 64, .spread = 2.0, .sinks = MERGE_ODD_SINKS, .lse_form = SINK | BASE_2},
    {"nan_lse", 3, 33, 8, 64, .spread = 2.0, .has_nan = true, .empty = MERGE_SOME_EMPTY},
    {"base_2", 3, 33, 8, 64, .spread = 5.0, .parts_form = BASE_2, .lse_form = BASE_2, .sinks = MERGE_USUAL_SINKS},
    {"base_2_to_e", 3, 33, 8, 64, .spread = 5.0, .parts_form = BASE_2, .empty = MERGE_SOME_EMPTY},
    {"empty_plus_infinity", 3, 33, 8, 64, .spread = 5.0, .parts_form = BASE_2 | PLUS, .empty = MERGE_SOME_EMPTY},
    {"all_plus_infinity", 3, 5, 8, 64, .parts_form = PLUS, .lse_form = PLUS, .empty = MERGE_ALL_EMPTY},
    {"without_lse", 2, 6, 8, 128, .spread = 2.0, .is_without_lse = true, .sinks = MERGE_USUAL_SINKS},
    {"padded_out", 3, 6, 9, 128, .spread = 2.0, .out_layout = MERGE_PADDED, .empty = MERGE_SOME_EMPTY},
    {"padded_parts", 3, 6, 9, 128, .spread = 2.0, .layout = MERGE_PADDED, .empty = MERGE_SOME_EMPTY},
    {"heads_outside", 3, 6, 9, 128, .layout = MERGE_HEADS_OUTSIDE, .out_layout = MERGE_HEADS_OUTSIDE},
    {"heads_outside_in_parts", 3, 6, 9, 128, .spread = 2.0, .layout = MERGE_HEADS_OUTSIDE, .out_layout = MERGE_PADDED},
    {"in_place_of_the_first", 2, 37, 16, 512, .spread = 2.0, .in_place = 1, .sinks = MERGE_USUAL_SINKS},
    {"in_place_of_the_last", 3, 37, 5, 72, .spread = 2.0, .in_place = 3, .layout = MERGE_PADDED},
    {"one_part_in_place", 1, 8, 128, 512, .spread = 2.0, .in_place = 1, .sinks = MERGE_USUAL_SINKS},
    {"dependent", 2, 8, 8, 512, .spread = 2.0, .flags = SWA_JIT_DECODE_DEPENDENT, .sinks = MERGE_USUAL_SINKS},
    {"many_heads", 2, 2, 1000, 64, .spread = 2.0},
    {"many_tokens", 2, 70001, 3, 64, .spread = 2.0, .empty = MERGE_SOME_EMPTY, .sinks = MERGE_USUAL_SINKS},
};
const size_t num_merge_cases = sizeof merge_cases / sizeof merge_cases[0];

/* ---- places ------------------------------------------------------------------------------------------------ */

/* Strides of rows of that length and their tensor's elements. */
static size_t lay_out(const merge_case *which, merge_layout layout, int64_t row, int64_t unit, int64_t *token_stride,
                      int64_t *head_stride)
{
  const int64_t gap = layout == MERGE_PADDED ? unit : 0;

  if (layout == MERGE_HEADS_OUTSIDE) {
    *token_stride = row;
    *head_stride = which->num_tokens * row;
  } else {
    *head_stride = row + gap;
    *token_stride = which->num_heads * *head_stride + 2 * gap;
  }
  return (size_t)((which->num_tokens - 1) * *token_stride + (which->num_heads - 1) * *head_stride + row + unit);
}

size_t merge_place(int64_t token_stride, int64_t head_stride, uint32_t token, uint32_t head)
{
  return (size_t)(token * token_stride + head * head_stride);
}

merge_tensor merge_out_tensor(const merge_data *data)
{
  return data->which.in_place == MERGE_NOT_IN_PLACE ? MERGE_OUT : (merge_tensor)(data->which.in_place - 1);
}

/* ---- data -------------------------------------------------------------------------------------------------- */

static bool is_part_empty(const merge_case *which, uint32_t part, random_stream *stream)
{
  const bool drawn = random_below(stream, 3) == 0;

  return which->empty == MERGE_ALL_EMPTY || (which->empty == MERGE_SOME_EMPTY && drawn)
         || (which->empty == MERGE_LAST_EMPTY && part + 1 == which->num_parts);
}

/* A part's LSE in its form. Empty ones of FlashMLA's form are +infinity, and now and then -infinity, which means it in
 * any form. */
static float draw_lse(const merge_case *which, bool is_empty, random_stream *stream)
{
  const double normal = random_normal(stream);
  const bool is_odd = random_below(stream, 8) == 0;

  if (is_empty) {
    return (which->parts_form & PLUS) != 0 && !is_odd ? INFINITY : -INFINITY;
  }
  if (which->has_nan && is_odd) {
    return NAN;
  }
  return (float)((which->center + which->spread * normal) / ((which->parts_form & BASE_2) != 0 ? log(2.0) : 1.0));
}

static void fill_part_row(merge_data *data, uint32_t part, uint32_t token, uint32_t head)
{
  const uint64_t at = ((uint64_t)part * data->which.num_tokens + token) * data->which.num_heads + head;
  random_stream stream = random_start(1, RANDOM_FOR_ROWS, at);
  const bool is_empty = is_part_empty(&data->which, part, &stream);
  const swa_jit_merge_args *args = &data->args;
  uint16_t *row = (uint16_t *)data->tensors[MERGE_OUTS + part]
                  + merge_place(args->outs_token_stride, args->outs_head_stride, token, head);
  float *lse = (float *)data->tensors[MERGE_LSES + part]
               + merge_place(args->lses_token_stride, args->lses_head_stride, token, head);

  *lse = draw_lse(&data->which, is_empty, &stream);
  for (uint32_t d = 0; d < data->which.head_dim; d++) {
    row[d] = is_empty ? (uint16_t)GARBAGE_BF16 : sj_reference_bf16_from_double(random_normal(&stream));
  }
}

static void fill_sinks(merge_data *data)
{
  static const float odd[] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 0.0f};
  float *sinks = data->tensors[MERGE_SINKS];

  for (uint32_t head = 0; head < data->which.num_heads; head++) {
    random_stream stream = random_start(1, RANDOM_FOR_SINKS, head);

    sinks[head] = data->which.sinks == MERGE_ODD_SINKS ? odd[head % (sizeof odd / sizeof odd[0])]
                                                       : (float)(data->which.center + 2.0 * random_normal(&stream));
  }
}

static bool make_tensor(merge_data *data, uint32_t tensor, size_t count, size_t element_bytes)
{
  data->sizes[tensor] = count * element_bytes;
  data->tensors[tensor] = malloc(data->sizes[tensor]);
  for (size_t i = 0; data->tensors[tensor] != NULL && i < count; i++) {
    if (element_bytes == sizeof(uint16_t)) {
      ((uint16_t *)data->tensors[tensor])[i] = POISON_BF16;
    } else {
      ((uint32_t *)data->tensors[tensor])[i] = poison_float;
    }
  }
  return data->tensors[tensor] != NULL;
}

static bool make_parts(merge_data *data)
{
  const merge_case *which = &data->which;
  swa_jit_merge_args *args = &data->args;
  const size_t row_count =
      lay_out(which, which->layout, which->head_dim, 8, &args->outs_token_stride, &args->outs_head_stride);
  const size_t lse_count = lay_out(which, which->layout, 1, 1, &args->lses_token_stride, &args->lses_head_stride);
  bool made = true;

  for (uint32_t i = 0; i < which->num_parts && made; i++) {
    made = make_tensor(data, MERGE_OUTS + i, row_count, sizeof(uint16_t))
           && make_tensor(data, MERGE_LSES + i, lse_count, sizeof(float));
  }
  return made;
}

static bool make_tensors(merge_data *data)
{
  const merge_case *which = &data->which;
  swa_jit_merge_args *args = &data->args;
  const merge_layout layout = which->in_place == MERGE_NOT_IN_PLACE ? which->out_layout : which->layout;
  const size_t row_count = lay_out(which, layout, which->head_dim, 8, &args->out_token_stride, &args->out_head_stride);
  const size_t lse_count = lay_out(which, layout, 1, 1, &args->lse_token_stride, &args->lse_head_stride);
  bool made = make_parts(data);

  if (made && which->in_place == MERGE_NOT_IN_PLACE) {
    made = make_tensor(data, MERGE_OUT, row_count, sizeof(uint16_t));
  }
  if (made && !which->is_without_lse) {
    made = make_tensor(data, MERGE_LSE, lse_count, sizeof(float));
  }
  if (made && which->sinks != MERGE_NO_SINKS) {
    made = make_tensor(data, MERGE_SINKS, which->num_heads, sizeof(float));
  }
  return made;
}

bool merge_data_make(const merge_case *which, merge_data *data_out)
{
  merge_data data = {.which = *which, .args = SWA_JIT_MERGE_ARGS_INIT};

  data.args.num_parts = which->num_parts;
  data.args.num_tokens = which->num_tokens;
  data.args.num_heads = which->num_heads;
  data.args.head_dim = which->head_dim;
  data.args.parts_form = which->parts_form;
  data.args.lse_form = which->lse_form;
  data.args.flags = which->flags;
  if (!make_tensors(&data)) {
    merge_data_free(&data);
    return false;
  }
  for (uint32_t part = 0; part < which->num_parts; part++) {
    for (uint32_t token = 0; token < which->num_tokens; token++) {
      for (uint32_t head = 0; head < which->num_heads; head++) {
        fill_part_row(&data, part, token, head);
      }
    }
  }
  if (which->sinks != MERGE_NO_SINKS) {
    fill_sinks(&data);
  }
  *data_out = data;
  return true;
}

void merge_data_free(merge_data *data)
{
  for (uint32_t i = 0; i < MERGE_NUM_TENSORS; i++) {
    free(data->tensors[i]);
  }
  *data = (merge_data){0};
}

swa_jit_merge_args merge_args_at(const merge_data *data, const uint64_t addresses[MERGE_NUM_TENSORS])
{
  swa_jit_merge_args args = data->args;

  for (uint32_t i = 0; i < data->which.num_parts; i++) {
    args.outs[i] = (const void *)(uintptr_t)addresses[MERGE_OUTS + i];
    args.lses[i] = (const float *)(uintptr_t)addresses[MERGE_LSES + i];
  }
  args.out = (void *)(uintptr_t)addresses[merge_out_tensor(data)];
  args.lse = (float *)(uintptr_t)(data->sizes[MERGE_LSE] != 0 ? addresses[MERGE_LSE] : 0);
  args.sinks = (const float *)(uintptr_t)(data->sizes[MERGE_SINKS] != 0 ? addresses[MERGE_SINKS] : 0);
  return args;
}
