/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge kernel's one launch parameter. Plain C, included by the host (src/merge.c) and by the kernel, so that both
 * sides agree by construction; sizes are asserted on both.
 */
#ifndef SWA_MERGE_PARAMS_H
#define SWA_MERGE_PARAMS_H

#define SWA_MERGE_MAX_PARTS 8

typedef struct swa_merge_params {
  const void *outs[SWA_MERGE_MAX_PARTS];  /* bf16 [num_tokens, num_heads, head_dim] each */
  const float *lses[SWA_MERGE_MAX_PARTS]; /* [num_tokens, num_heads] each */
  void *out;                              /* bf16 [num_tokens, num_heads, head_dim] */
  float *lse;                             /* [num_tokens, num_heads], or null */
  const float *sinks;                     /* [num_heads], or null */
  long long outs_token_stride;            /* elements, as all strides */
  long long outs_head_stride;
  long long lses_token_stride;
  long long lses_head_stride;
  long long out_token_stride;
  long long out_head_stride;
  long long lse_token_stride;
  long long lse_head_stride;
  unsigned int num_parts;
  unsigned int num_heads;
  unsigned int row_units;     /* of 16 bytes: head_dim / 8 */
  unsigned int lse_with_sink; /* 1: LSE of the sum with the sink */
  float parts_lse_factor;     /* from the parts' LSE to natural logarithms */
  float lse_factor;           /* from natural logarithms to LSE */
  float parts_empty_lse;      /* -infinity or +infinity: a part without positions; -infinity always is one */
  float empty_lse;            /* -infinity or +infinity: LSE where every part is empty */
} swa_merge_params;

#endif
