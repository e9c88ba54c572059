/* SPDX-License-Identifier: Apache-2.0 */
/* The KV formats of serving engines in plain C doubles: what a slot's bytes mean. One function reads any of them. */
#ifndef SJ_REFERENCE_KV_FORMATS_H
#define SJ_REFERENCE_KV_FORMATS_H

#include <stdint.h>

typedef enum sj_reference_format {
  SJ_REFERENCE_E4M3,       /* a row of e4m3; the scale, of the slot or of the pool, is given from outside */
  SJ_REFERENCE_BF16,       /* a row of bf16 */
  SJ_REFERENCE_FOOTER_584, /* 448 e4m3 and 64 bf16, 7 scale bytes and a pad: DeepSeek-V4, FlashMLA's "MODEL1" */
  SJ_REFERENCE_FOOTER_528  /* 512 e4m3, 16 scale bytes: DeepSeek-V4.1's window cache */
} sj_reference_format;

enum { SJ_REFERENCE_FOOTER_DIM = 512 /* the only head_dim of the footer formats */ };

/* The value of a scale byte: 2^(byte - 127), NaN for 255 (OCP Microscaling Formats 1.0, E8M0). Exact. */
double sj_reference_e8m0(uint8_t byte);

/* Bytes of a slot's row in a packed block; of a footer format without its scales, which lie behind the block's rows. */
uint32_t sj_reference_row_bytes(sj_reference_format format, uint32_t head_dim);

/* Bytes of a block without gaps. */
uint64_t sj_reference_block_bytes(sj_reference_format format, uint32_t head_dim, uint32_t block_size);

/* The head_dim values of a slot of a block. slot_stride_bytes: from row to row, 0 for packed ones; the footer formats
 * are always packed. scale: what every element of e4m3 is multiplied by; of no effect on the others. */
void sj_reference_read_row(sj_reference_format format, const uint8_t *block, uint32_t block_size,
                           uint32_t slot_in_block, int64_t slot_stride_bytes, uint32_t head_dim, double scale,
                           double *row);

#endif
