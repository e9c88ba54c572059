/* SPDX-License-Identifier: Apache-2.0 */
/* What a call's arguments say of a tensor [tokens, heads] of rows: whether its addresses can be used. Pure; contents
 * are not read. */
#ifndef SJ_TENSOR_H
#define SJ_TENSOR_H

#include "status.h"

typedef struct sj_tensor {
  const char *name;                    /* of the argument; its strides are <name>_token_stride and <name>_head_stride */
  uint32_t num_tokens, num_heads;      /* 1 or more */
  long long token_stride, head_stride; /* elements; resolved: 0 is no default here */
  long long row_length;                /* elements */
  unsigned element_bytes;
  unsigned alignment; /* bytes, of the address and of each row: a power of two */
} sj_tensor;

/* INVALID for NULL and for an address that is no multiple of alignment, a power of two. */
swa_jit_status sj_tensor_check_address(const char *name, const void *address, unsigned alignment);

/* INVALID for strides that misalign rows, are too small, or reach past 2^63 - 1 bytes. */
swa_jit_status sj_tensor_check_strides(const sj_tensor *tensor);

/* INVALID where rows overlap, as no written tensor's may. Heads may lie within tokens or tokens within heads. The
 * strides were checked. */
swa_jit_status sj_tensor_check_apart(const sj_tensor *tensor);

#endif
