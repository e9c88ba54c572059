/* SPDX-License-Identifier: Apache-2.0 */
/* The KV formats in plain C doubles: what a slot's bytes mean. One function reads any swa_jit_kv_format, one writes. */
#ifndef SJ_REFERENCE_KV_FORMATS_H
#define SJ_REFERENCE_KV_FORMATS_H

#include <stdint.h>

#include "swa_jit/swa_jit.h"

enum { SJ_REFERENCE_FOOTER_DIM = 512 /* the only head_dim of the footer formats */ };

/* A footer block: block_size data rows, then as many scale rows. */
typedef struct sj_reference_footer {
  uint32_t row_bytes;
  uint32_t num_codes; /* elements in e4m3, the first of a row; bf16 follows */
  uint32_t scale_row_bytes;
  uint32_t group; /* elements that share a scale byte */
} sj_reference_footer;

/* NULL: the format has no footer. */
const sj_reference_footer *sj_reference_find_footer(uint32_t kv_format);

/* The value of a scale byte: 2^(byte - 127), NaN for 255 (OCP Microscaling Formats 1.0, E8M0). Exact. */
double sj_reference_e8m0(uint8_t byte);

/* Bytes of a slot's row in a packed block; of a footer format without its scales, which lie behind the block's rows. */
uint32_t sj_reference_row_bytes(uint32_t kv_format, uint32_t head_dim);

/* Bytes of a block without gaps. */
uint64_t sj_reference_block_bytes(uint32_t kv_format, uint32_t head_dim, uint32_t block_size);

/* The head_dim values of a slot of a block. slot_stride_bytes: from row to row, 0 for packed ones; the footer formats
 * are always packed. scale: what every element of e4m3 is multiplied by, be it the slot's or the pool's; of no effect
 * on the others. */
void sj_reference_read_row(uint32_t kv_format, const uint8_t *block, uint32_t block_size, uint32_t slot_in_block,
                           int64_t slot_stride_bytes, uint32_t head_dim, double scale, double *row);

/* ---- how engines write ---- */

/* The nearest code, ties to even; what is too large becomes 448, as quantisers saturate; NaN becomes NaN. */
uint8_t sj_reference_e4m3_from_double(double value);

/* The scale of a row or a pool of e4m3 whose largest magnitude is given, at least 1e-4: the largest becomes 448. */
double sj_reference_e4m3_scale(double largest);

/* The scale byte of a footer's group whose largest magnitude is given: of 2^ceil(log2(max(largest, 1e-4) / 448)). */
uint8_t sj_reference_scale_byte(double largest);

/* Largest magnitude of count values. */
double sj_reference_largest(const double *values, uint32_t count);

/* The reverse of sj_reference_read_row, rounded: elements of e4m3 are divided by scale first, those of a footer by what
 * their group's scale byte says, which is written too; a pad is 0. */
void sj_reference_write_row(uint32_t kv_format, uint8_t *block, uint32_t block_size, uint32_t slot_in_block,
                            int64_t slot_stride_bytes, uint32_t head_dim, double scale, const double *row);

#endif
