/* SPDX-License-Identifier: Apache-2.0 */
/* The decode step in plain C doubles, as the public header's section 8 defines it: what every kernel is compared with.
 * Arguments are the public ones with host pointers; of a configuration what only says how a kernel goes about it is not
 * read: arch, head_group, kv_tile, lse, kernel. */
#ifndef SJ_REFERENCE_H
#define SJ_REFERENCE_H

#include <stdint.h>

#include "swa_jit/swa_jit.h"

/* The value of an e4m3 code (OCP 8-bit floating point, "FN": no infinity, 0x7F and 0xFF are NaN). Exact. */
double sj_reference_e4m3(uint8_t code);

double sj_reference_bf16(uint16_t bits);

/* To nearest, ties to even, in one rounding; too large becomes infinity, NaN becomes the quiet NaN 0x7FC0. */
uint16_t sj_reference_bf16_from_double(double value);

/* The slot in the window of position j of a token, or -1 when it is masked or beyond the token's length. */
int64_t sj_reference_slot(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                          uint32_t position);

/* min(max(lens[token], 0), window_size) */
uint32_t sj_reference_len(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token);

/* Elements of a row of out: head_dim_v, or head_dim where that is 0. */
uint32_t sj_reference_out_dim(const swa_jit_config *config);

/* One head of one token. out: a row, not yet rounded to bf16. lse: in args' form; without a form the natural logarithm,
 * -infinity with no unmasked position. NaN and infinities go where the formula takes them; when the largest score is
 * infinite, out is NaN and lse that infinity. Sinks and the soft cap count where the configuration has them.
 * Thread-safety: any thread. */
void sj_reference_head(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token, uint32_t head,
                       double *out, double *lse);

/* All heads of all tokens, spread over num_threads threads (at least 1; fewer when threads cannot be had).
 * out: [num_tokens, num_heads, out_dim]; lse: [num_tokens, num_heads]; both contiguous. */
void sj_reference_decode(const swa_jit_config *config, const swa_jit_decode_args *args, unsigned num_threads,
                         double *out, double *lse);

#endif
