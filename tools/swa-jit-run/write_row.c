/* SPDX-License-Identifier: Apache-2.0 */
#include "write_row.h"

#include "kv_formats.h"
#include "reference.h"

/* Returns the scale as it will be read, so that the codes fit it. */
static double store_scale(void *scales, uint32_t scale_type, uint64_t at, double scale)
{
  if (scale_type == SWA_JIT_BFLOAT16) {
    uint16_t bits = sj_reference_bf16_from_double(scale);
    ((uint16_t *)scales)[at] = bits;
    return sj_reference_bf16(bits);
  }
  ((float *)scales)[at] = (float)scale;
  return (double)(float)scale;
}

void run_write_row(const run_pool *pool, void *rows, void *scales, uint32_t scale_type, uint64_t slot, uint32_t kv_head,
                   const double *row)
{
  uint32_t row_bytes = sj_reference_row_bytes(pool->kv_format, pool->head_dim);
  uint8_t *block = (uint8_t *)rows + slot / pool->block_size * run_pool_block_bytes(pool);
  double scale = (double)pool->scale;
  if (pool->kv_format == SWA_JIT_KV_E4M3_SLOT) {
    scale = store_scale(scales, scale_type, slot * pool->num_kv_heads + kv_head,
                        sj_reference_e4m3_scale(sj_reference_largest(row, pool->head_dim)));
  }
  sj_reference_write_row(pool->kv_format, block + (uint64_t)kv_head * row_bytes, pool->block_size,
                         (uint32_t)(slot % pool->block_size), (int64_t)pool->num_kv_heads * row_bytes, pool->head_dim,
                         scale, row);
}
