/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <math.h>
#include <string.h>

#include "kv_formats.h"
#include "reference.h"

enum { MOST_DIM = 512, CODE_NAN = 0x7F, CODE_MINUS_NAN = 0xFF, BF16_NAN = 0x7FC0, BYTE_NAN = 255 };

double row_mean_score(const decode_case *which)
{
  return which->scores == DECODE_SCORES_M5    ? -5.0
         : which->scores == DECODE_SCORES_M20 ? -20.0
         : which->scores == DECODE_SCORES_P20 ? 20.0
                                              : 0.0;
}

/* ---- elements --------------------------------------------------------------------------------------------- */

static uint8_t code_in_turn(uint32_t number, uint32_t d)
{
  uint8_t code = (uint8_t)(d + 77 * number);

  return (code & 0x7F) == CODE_NAN ? 0 : code;
}

/* All signs and fractions, exponents around 1: beside codes those that codes have. */
static uint16_t bf16_in_turn(const row_place *place, uint32_t d)
{
  uint32_t at = d + 77 * place->number;
  uint32_t exponent = place->kv_format == SWA_JIT_KV_BF16 ? 64 + at % 127 : 118 + at % 17;

  return (uint16_t)((at & 1) << 15 | exponent << 7 | (at * 37 & 0x7F));
}

static void write_bf16(uint8_t *bytes, uint32_t at, uint16_t bits)
{
  memcpy(bytes + 2 * (size_t)at, &bits, sizeof bits);
}

static double bf16_unit(const decode_case *which)
{
  return which->bf16 == DECODE_BF16_LARGE ? 0x1p20 : which->bf16 == DECODE_BF16_TINY ? 0x1p-30 : 1.0;
}

static void write_bf16_elements(const decode_case *which, const row_place *place, uint8_t *bytes, const double *values,
                                uint32_t count)
{
  for (uint32_t d = 0; d < count; d++) {
    write_bf16(bytes, d,
               which->codes == DECODE_CODES_ALL ? bf16_in_turn(place, d)
                                                : sj_reference_bf16_from_double(values[d] * bf16_unit(which)));
  }
}

static void write_codes(const decode_case *which, const row_place *place, const double *values, uint32_t count)
{
  for (uint32_t d = 0; d < count; d++) {
    place->row[d] =
        which->codes == DECODE_CODES_ALL ? code_in_turn(place->number, d) : sj_reference_e4m3_from_double(values[d]);
  }
}

/* ---- footers ---------------------------------------------------------------------------------------------- */

static uint8_t pick_scale_byte(const decode_case *which, uint32_t at, const double *values, uint32_t count,
                               random_stream *random)
{
  switch (which->scale_bytes) {
  case DECODE_SCALE_BYTES_ONE:
    return 127;
  case DECODE_SCALE_BYTES_NEAR:
    return (uint8_t)(123 + random_below(random, 9));
  case DECODE_SCALE_BYTES_RANDOM:
    return (uint8_t)random_below(random, 241);
  case DECODE_SCALE_BYTES_ALL: /* 448 times the largest one of codes in turn fits bf16 */
    return (uint8_t)(at % (which->codes == DECODE_CODES_ALL ? 246 : 255));
  default:
    return sj_reference_scale_byte(sj_reference_largest(values, count));
  }
}

/* What a code is multiplied by to give its value, less the scale byte. Values of 3 and more times 2^127 do not fit. */
static double code_unit(const decode_case *which, uint8_t byte)
{
  bool from_values = which->scale_bytes == DECODE_SCALE_BYTES_REAL || which->scale_bytes == DECODE_SCALE_BYTES_NAN
                     || which->scale_bytes == DECODE_SCALE_BYTES_HOLLOW;

  return from_values ? sj_reference_e8m0(byte) : byte > 245 ? 8.0 : 1.0;
}

/* A row whose scale must not follow its largest byte, which no element uses. */
static void make_hollow(const row_place *place, const sj_reference_footer *footer)
{
  uint32_t g = (uint32_t)(place->number % (footer->num_codes / footer->group));

  memset(place->row + (size_t)g * footer->group, 0, footer->group);
  place->scales[g] = 200;
}

static void write_footer_row(const decode_case *which, const row_place *place, double *values, random_stream *random)
{
  const sj_reference_footer *footer = sj_reference_find_footer(place->kv_format);
  uint32_t num_groups = footer->num_codes / footer->group;

  memset(place->scales, BYTE_NAN, footer->scale_row_bytes); /* the pad counts for nothing */
  for (uint32_t g = 0; g < num_groups; g++) {
    double *group = values + (size_t)g * footer->group;
    uint8_t byte = pick_scale_byte(which, place->number * num_groups + g, group, footer->group, random);

    place->scales[g] = byte;
    for (uint32_t d = 0; d < footer->group; d++) {
      group[d] /= code_unit(which, byte);
    }
  }
  write_codes(which, place, values, footer->num_codes);
  write_bf16_elements(which, place, place->row + footer->num_codes, values + footer->num_codes,
                      SJ_REFERENCE_FOOTER_DIM - footer->num_codes);
  if (which->scale_bytes == DECODE_SCALE_BYTES_HOLLOW) {
    make_hollow(place, footer);
  }
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static void write_special(const decode_case *which, const row_place *place, random_stream *random)
{
  const sj_reference_footer *footer = sj_reference_find_footer(place->kv_format);
  uint32_t num_codes = footer != NULL ? footer->num_codes : place->kv_format == SWA_JIT_KV_BF16 ? 0 : place->head_dim;

  if (which->codes == DECODE_CODES_NULL) {
    memset(place->row, 0, sj_reference_row_bytes(place->kv_format, place->head_dim));
  }
  if (which->codes == DECODE_CODES_NAN) {
    uint32_t at = random_below(random, place->head_dim);

    if (at < num_codes) {
      place->row[at] = place->number % 32 == 15 ? CODE_NAN : CODE_MINUS_NAN;
    } else {
      write_bf16(place->row + num_codes, at - num_codes, BF16_NAN);
    }
  }
  if (which->scale_bytes == DECODE_SCALE_BYTES_NAN && footer != NULL) {
    place->scales[random_below(random, footer->num_codes / footer->group)] = BYTE_NAN;
  }
}

void row_write(const decode_case *which, const row_place *place, random_stream *random, const double *base)
{
  double values[MOST_DIM];
  bool has_base = row_mean_score(which) != 0.0;

  for (uint32_t d = 0; d < place->head_dim; d++) {
    values[d] = random_normal(random) + (has_base ? base[d] : 0.0);
  }
  if (sj_reference_find_footer(place->kv_format) != NULL) {
    write_footer_row(which, place, values, random);
  } else if (place->kv_format == SWA_JIT_KV_BF16) {
    write_bf16_elements(which, place, place->row, values, place->head_dim);
  } else {
    write_codes(which, place, values, place->head_dim);
  }
  if (place->special) {
    write_special(which, place, random);
  }
}
