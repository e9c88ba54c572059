/* SPDX-License-Identifier: Apache-2.0 */
#include "kv_formats.h"

#include <math.h>
#include <string.h>

#include "reference.h"

static const sj_reference_footer footer_584 = {576, 448, 8, 64};
static const sj_reference_footer footer_528 = {512, 512, 16, 32};

double sj_reference_e8m0(uint8_t byte)
{
  return byte == 255 ? NAN : ldexp(1.0, byte - 127);
}

const sj_reference_footer *sj_reference_find_footer(uint32_t kv_format)
{
  return kv_format == SWA_JIT_KV_FOOTER_584 ? &footer_584 : kv_format == SWA_JIT_KV_FOOTER_528 ? &footer_528 : NULL;
}

uint32_t sj_reference_row_bytes(uint32_t kv_format, uint32_t head_dim)
{
  const sj_reference_footer *f = sj_reference_find_footer(kv_format);
  if (f != NULL) {
    return f->row_bytes;
  }
  return kv_format == SWA_JIT_KV_BF16 ? 2 * head_dim : head_dim;
}

uint64_t sj_reference_block_bytes(uint32_t kv_format, uint32_t head_dim, uint32_t block_size)
{
  const sj_reference_footer *f = sj_reference_find_footer(kv_format);
  uint64_t slot_bytes = sj_reference_row_bytes(kv_format, head_dim) + (f != NULL ? f->scale_row_bytes : 0);
  return block_size * slot_bytes;
}

static double read_bf16(const uint8_t *bytes)
{
  uint16_t bits;
  memcpy(&bits, bytes, sizeof bits);
  return sj_reference_bf16(bits);
}

static void read_footer_row(const sj_reference_footer *f, const uint8_t *block, uint32_t block_size, uint32_t slot,
                            double *row)
{
  const uint8_t *codes = block + (uint64_t)slot * f->row_bytes;
  const uint8_t *scales = block + (uint64_t)block_size * f->row_bytes + (uint64_t)slot * f->scale_row_bytes;
  double scale = 0.0;
  for (uint32_t d = 0; d < f->num_codes; d++) {
    scale = d % f->group == 0 ? sj_reference_e8m0(scales[d / f->group]) : scale;
    row[d] = sj_reference_e4m3(codes[d]) * scale;
  }
  for (uint32_t d = f->num_codes; d < SJ_REFERENCE_FOOTER_DIM; d++) {
    row[d] = read_bf16(codes + f->num_codes + 2 * (uint64_t)(d - f->num_codes));
  }
}

void sj_reference_read_row(uint32_t kv_format, const uint8_t *block, uint32_t block_size, uint32_t slot_in_block,
                           int64_t slot_stride_bytes, uint32_t head_dim, double scale, double *row)
{
  const sj_reference_footer *f = sj_reference_find_footer(kv_format);
  if (f != NULL) {
    read_footer_row(f, block, block_size, slot_in_block, row);
    return;
  }
  int64_t stride = slot_stride_bytes != 0 ? slot_stride_bytes : (int64_t)sj_reference_row_bytes(kv_format, head_dim);
  const uint8_t *bytes = block + slot_in_block * stride;
  for (uint32_t d = 0; d < head_dim; d++) {
    row[d] = kv_format == SWA_JIT_KV_BF16 ? read_bf16(bytes + 2 * (uint64_t)d) : sj_reference_e4m3(bytes[d]) * scale;
  }
}
