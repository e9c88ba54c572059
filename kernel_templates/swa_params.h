/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's one launch parameter. Plain C, included by the host (src/launch.c) and by the kernel, so that both
 * sides agree by construction; sizes are asserted on both. NVRTC has no <stdint.h>: built-in types only.
 */
#ifndef SWA_PARAMS_H
#define SWA_PARAMS_H

typedef struct swa_params {
  const void *q;            /* bf16 [num_tokens, num_heads, head_dim] */
  const void *kv;           /* KV rows by block and slot */
  const void *inv_scale;    /* [num_slots] */
  const void *indices;      /* [num_tokens, window_size] */
  const void *lens;         /* [num_tokens] */
  void *out;                /* bf16 [num_tokens, num_heads, head_dim] */
  float *lse;               /* [num_tokens, num_heads], or null */
  long long q_token_stride; /* elements */
  long long q_head_stride;  /* elements */
  long long block_stride_bytes;
  long long slot_stride_bytes;
  long long indices_token_stride; /* elements */
  long long out_token_stride;     /* elements */
  long long out_head_stride;      /* elements */
  long long lse_token_stride;     /* elements */
  unsigned int num_tokens;
  unsigned int num_heads;
  unsigned int block_size;
  unsigned int num_slots; /* num_blocks * block_size: a slot at or above it is masked */
  float scale;            /* softmax scale */
  unsigned int reserved;
} swa_params;

#endif
