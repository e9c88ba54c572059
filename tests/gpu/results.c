/* SPDX-License-Identifier: Apache-2.0 */
#include "results.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 8, ELEMENTS = 32, MAGIC_SIZE = 8, ROW_SIZE = 4 + 2 * ELEMENTS, CASE_HEAD = 9 };
static const char magic[MAGIC_SIZE + 1] = "swagpu01";

typedef struct result_row {
  float lse;
  uint16_t elements[ELEMENTS];
} result_row;

__attribute__((format(printf, 2, 3))) static const char *fail(results *r, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  (void)vsnprintf(r->fault, sizeof r->fault, format, list);
  va_end(list);
  return r->fault;
}

static bool read_file(const char *path, results *r)
{
  FILE *from = fopen(path, "rb");
  long size;

  if (from == NULL) {
    (void)fail(r, "%s: %s", path, strerror(errno));
    return false;
  }
  size = fseek(from, 0, SEEK_END) == 0 ? ftell(from) : 0;
  rewind(from);
  r->bytes = size > 0 ? malloc((size_t)size) : NULL;
  r->size = r->bytes != NULL ? fread(r->bytes, 1, (size_t)size, from) : 0;
  (void)fclose(from);
  r->next = MAGIC_SIZE;
  if (r->size < MAGIC_SIZE || memcmp(r->bytes, magic, MAGIC_SIZE) != 0) {
    (void)fail(r, "%s is no file of results", path);
    return false;
  }
  return true;
}

bool results_open(const char *write, const char *compare, results *results_out)
{
  results *r = results_out;

  memset(r, 0, sizeof *r);
  if (compare != NULL) {
    return read_file(compare, r);
  }
  r->to = fopen(write, "wb");
  if (r->to == NULL || fwrite(magic, 1, MAGIC_SIZE, r->to) != MAGIC_SIZE) {
    (void)fail(r, "%s: %s", write, strerror(errno));
    return false;
  }
  return true;
}

bool results_close(results *r)
{
  bool closed = r->to == NULL || fclose(r->to) == 0;

  free(r->bytes);
  r->to = NULL;
  r->bytes = NULL;
  return closed;
}

/* FNV-1a of the case's text. */
static uint64_t digest_of(const decode_case *which)
{
  char text[DECODE_CASE_TEXT_SIZE];
  uint64_t digest = 0xcbf29ce484222325u;

  decode_case_to_text(which, text);
  for (const char *at = text; *at != '\0'; at++) {
    digest = (digest ^ (uint8_t)*at) * 0x100000001b3u;
  }
  return digest;
}

static uint32_t num_rows(const decode_data *data)
{
  uint64_t heads = (uint64_t)data->which.num_tokens * data->which.num_heads;

  return heads < MOST_ROWS ? (uint32_t)heads : MOST_ROWS;
}

/* Rows at equal distances, and elements in them. */
static result_row pick_row(const decode_data *data, uint32_t index)
{
  uint64_t heads = (uint64_t)data->which.num_tokens * data->which.num_heads;
  uint64_t at = index * heads / num_rows(data);
  uint32_t token = (uint32_t)(at / data->which.num_heads), head = (uint32_t)(at % data->which.num_heads);
  const uint16_t *out = (const uint16_t *)data->args.out + decode_data_out_offset(data, token, head);
  result_row row = {.lse = data->args.lse != NULL ? data->args.lse[decode_data_lse_offset(data, token, head)] : 0};

  for (uint32_t i = 0; i < ELEMENTS; i++) {
    row.elements[i] = out[i * decode_data_out_dim(data) / ELEMENTS];
  }
  return row;
}

static void encode_row(const result_row *row, uint8_t bytes[ROW_SIZE])
{
  memcpy(bytes, &row->lse, 4);
  memcpy(bytes + 4, row->elements, sizeof row->elements);
}

static const char *write_case(results *r, const decode_data *data)
{
  uint64_t digest = digest_of(&data->which);
  uint8_t head[CASE_HEAD];
  uint8_t bytes[ROW_SIZE];
  bool written;

  memcpy(head, &digest, sizeof digest);
  head[8] = (uint8_t)num_rows(data);
  written = fwrite(head, 1, sizeof head, r->to) == sizeof head;
  for (uint32_t i = 0; written && i < num_rows(data); i++) {
    result_row row = pick_row(data, i);

    encode_row(&row, bytes);
    written = fwrite(bytes, 1, sizeof bytes, r->to) == sizeof bytes;
  }
  return written ? NULL : fail(r, "the results cannot be written: %s", strerror(errno));
}

/* Cases lie in the order of the run that wrote them. The search begins behind the last that was found. */
static const uint8_t *find_case(results *r, const decode_data *data)
{
  uint64_t digest = digest_of(&data->which);

  for (unsigned turn = 0; turn < 2; turn++) {
    size_t at = turn == 0 ? r->next : MAGIC_SIZE;

    while (r->size - at >= CASE_HEAD && r->size - at - CASE_HEAD >= (size_t)r->bytes[at + 8] * ROW_SIZE) {
      size_t size = CASE_HEAD + (size_t)r->bytes[at + 8] * ROW_SIZE;

      if (memcmp(r->bytes + at, &digest, sizeof digest) == 0 && r->bytes[at + 8] == num_rows(data)) {
        r->next = at + size;
        return r->bytes + at + CASE_HEAD;
      }
      at += size;
    }
  }
  return NULL;
}

static float value_of(uint16_t bits)
{
  uint32_t wide = (uint32_t)bits << 16;
  float value;

  memcpy(&value, &wide, sizeof value);
  return value;
}

static double step_at(const result_row *row)
{
  double largest = 0x1p-126;
  int exponent;

  for (uint32_t i = 0; i < ELEMENTS; i++) {
    double size = fabs((double)value_of(row->elements[i]));

    largest = isfinite(size) && size > largest ? size : largest;
  }
  (void)frexp(largest, &exponent);
  return ldexp(1.0, exponent - 8);
}

static bool same_kind(double got, double wanted)
{
  return isfinite(got) ? isfinite(wanted) : isnan(got) ? isnan(wanted) : got == wanted;
}

static const char *compare_row(results *r, uint32_t index, const result_row *got, const result_row *wanted)
{
  double step = step_at(wanted);
  double lse = (double)got->lse, other = (double)wanted->lse;
  double apart = isfinite(lse) && isfinite(other) ? fabs(lse - other) / fmax(1.0, fabs(other)) : 0;

  if (!same_kind(lse, other) || apart > RESULTS_LSE_LIMIT) {
    return fail(r, "row %u: LSE %.9g, on file %.9g", index, lse, other);
  }
  r->worst_lse = fmax(r->worst_lse, apart);
  for (uint32_t i = 0; i < ELEMENTS; i++) {
    double a = (double)value_of(got->elements[i]), b = (double)value_of(wanted->elements[i]);
    double steps = isfinite(a) && isfinite(b) ? fabs(a - b) / step : 0;

    r->num_elements++;
    r->num_different += a != b && isfinite(a);
    if (!same_kind(a, b) || steps > RESULTS_STEPS_LIMIT) {
      return fail(r, "row %u, element %u kept: %.6g, on file %.6g, %.2f bf16 steps apart", index, i, a, b, steps);
    }
    r->worst_steps = fmax(r->worst_steps, steps);
  }
  return NULL;
}

static const char *compare_case(results *r, const decode_data *data)
{
  const uint8_t *bytes = find_case(r, data);
  const char *fault = NULL;

  if (bytes == NULL) {
    r->num_missing++;
    return NULL;
  }
  for (uint32_t i = 0; fault == NULL && i < num_rows(data); i++) {
    result_row got = pick_row(data, i), wanted;

    memcpy(&wanted.lse, bytes + (size_t)i * ROW_SIZE, 4);
    memcpy(wanted.elements, bytes + (size_t)i * ROW_SIZE + 4, sizeof wanted.elements);
    fault = compare_row(r, i, &got, &wanted);
  }
  return fault;
}

const char *results_take(results *r, const decode_data *data)
{
  r->num_cases++;
  return r->to != NULL ? write_case(r, data) : compare_case(r, data);
}
