/* SPDX-License-Identifier: Apache-2.0 */
#include "kv_formats.h"

#include <math.h>
#include <string.h>

#include "reference.h"

/* A footer block: block_size rows, then as many scale rows. */
typedef struct footer {
  uint32_t row_bytes;
  uint32_t num_codes; /* elements in e4m3, the first of a row; bf16 follows */
  uint32_t scale_row_bytes;
  uint32_t group; /* elements that share a scale */
} footer;

static const footer footer_584 = {576, 448, 8, 64};
static const footer footer_528 = {512, 512, 16, 32};

double sj_reference_e8m0(uint8_t byte)
{
  return byte == 255 ? NAN : ldexp(1.0, byte - 127);
}

static const footer *find_footer(sj_reference_format format)
{
  return format == SJ_REFERENCE_FOOTER_584 ? &footer_584 : format == SJ_REFERENCE_FOOTER_528 ? &footer_528 : NULL;
}

uint32_t sj_reference_row_bytes(sj_reference_format format, uint32_t head_dim)
{
  const footer *f = find_footer(format);
  if (f != NULL) {
    return f->row_bytes;
  }
  return format == SJ_REFERENCE_BF16 ? 2 * head_dim : head_dim;
}

uint64_t sj_reference_block_bytes(sj_reference_format format, uint32_t head_dim, uint32_t block_size)
{
  const footer *f = find_footer(format);
  uint64_t slot_bytes = sj_reference_row_bytes(format, head_dim) + (f != NULL ? f->scale_row_bytes : 0);
  return block_size * slot_bytes;
}

static double read_bf16(const uint8_t *bytes)
{
  uint16_t bits;
  memcpy(&bits, bytes, sizeof bits);
  return sj_reference_bf16(bits);
}

static void read_footer_row(const footer *f, const uint8_t *block, uint32_t block_size, uint32_t slot, double *row)
{
  const uint8_t *codes = block + (uint64_t)slot * f->row_bytes;
  const uint8_t *scales = block + (uint64_t)block_size * f->row_bytes + (uint64_t)slot * f->scale_row_bytes;
  for (uint32_t d = 0; d < f->num_codes; d++) {
    row[d] = sj_reference_e4m3(codes[d]) * sj_reference_e8m0(scales[d / f->group]);
  }
  for (uint32_t d = f->num_codes; d < SJ_REFERENCE_FOOTER_DIM; d++) {
    row[d] = read_bf16(codes + f->num_codes + 2 * (uint64_t)(d - f->num_codes));
  }
}

void sj_reference_read_row(sj_reference_format format, const uint8_t *block, uint32_t block_size,
                           uint32_t slot_in_block, int64_t slot_stride_bytes, uint32_t head_dim, double scale,
                           double *row)
{
  const footer *f = find_footer(format);
  if (f != NULL) {
    read_footer_row(f, block, block_size, slot_in_block, row);
    return;
  }
  int64_t stride = slot_stride_bytes != 0 ? slot_stride_bytes : (int64_t)sj_reference_row_bytes(format, head_dim);
  const uint8_t *bytes = block + slot_in_block * stride;
  for (uint32_t d = 0; d < head_dim; d++) {
    row[d] = format == SJ_REFERENCE_BF16 ? read_bf16(bytes + 2 * (uint64_t)d) : sj_reference_e4m3(bytes[d]) * scale;
  }
}
