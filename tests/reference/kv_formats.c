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

/* ---- how engines write ---- */

uint8_t sj_reference_e4m3_from_double(double value)
{
  uint8_t sign = signbit(value) ? 0x80 : 0;
  double magnitude = fabs(value);
  int exponent = 0;
  if (isnan(value)) {
    return 0x7F;
  }
  if (magnitude >= 448.0) {
    return sign | 0x7E;
  }
  if (magnitude < 0x1p-6) { /* subnormal: steps of 2^-9; 8 steps are the smallest normal number's code */
    return sign | (uint8_t)rint(magnitude * 0x1p9);
  }
  (void)frexp(magnitude, &exponent);                            /* magnitude = f * 2^exponent with f in [0.5, 1) */
  int steps = (int)rint(ldexp(magnitude, 4 - exponent));        /* 8 to 16: significand with its leading one */
  return sign | (uint8_t)(((exponent + 6) << 3) + (steps - 8)); /* 16 carries into the exponent */
}

double sj_reference_e4m3_scale(double largest)
{
  return fmax(largest, 1e-4) / 448.0;
}

uint8_t sj_reference_scale_byte(double largest)
{
  return (uint8_t)(127.0 + ceil(log2(fmax(largest, 1e-4) / 448.0)));
}

double sj_reference_largest(const double *values, uint32_t count)
{
  double largest = 0.0;
  for (uint32_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs(values[i]));
  }
  return largest;
}

static void write_codes(uint8_t *codes, const double *values, uint32_t count, double scale)
{
  for (uint32_t i = 0; i < count; i++) {
    codes[i] = sj_reference_e4m3_from_double(values[i] / scale);
  }
}

static void write_bf16(uint8_t *bytes, const double *values, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    uint16_t bits = sj_reference_bf16_from_double(values[i]);
    memcpy(bytes + 2 * (uint64_t)i, &bits, sizeof bits);
  }
}

static void write_footer_row(const sj_reference_footer *f, uint8_t *block, uint32_t block_size, uint32_t slot,
                             const double *row)
{
  uint8_t *codes = block + (uint64_t)slot * f->row_bytes;
  uint8_t *scales = block + (uint64_t)block_size * f->row_bytes + (uint64_t)slot * f->scale_row_bytes;
  memset(scales, 0, f->scale_row_bytes);
  for (uint32_t d = 0; d < f->num_codes; d += f->group) {
    uint8_t byte = sj_reference_scale_byte(sj_reference_largest(row + d, f->group));
    scales[d / f->group] = byte;
    write_codes(codes + d, row + d, f->group, sj_reference_e8m0(byte));
  }
  write_bf16(codes + f->num_codes, row + f->num_codes, SJ_REFERENCE_FOOTER_DIM - f->num_codes);
}

void sj_reference_write_row(uint32_t kv_format, uint8_t *block, uint32_t block_size, uint32_t slot_in_block,
                            int64_t slot_stride_bytes, uint32_t head_dim, double scale, const double *row)
{
  const sj_reference_footer *f = sj_reference_find_footer(kv_format);
  if (f != NULL) {
    write_footer_row(f, block, block_size, slot_in_block, row);
    return;
  }
  int64_t stride = slot_stride_bytes != 0 ? slot_stride_bytes : (int64_t)sj_reference_row_bytes(kv_format, head_dim);
  uint8_t *bytes = block + slot_in_block * stride;
  if (kv_format == SWA_JIT_KV_BF16) {
    write_bf16(bytes, row, head_dim);
  } else {
    write_codes(bytes, row, head_dim, scale);
  }
}
