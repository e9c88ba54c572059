/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's one launch parameter. Plain C, included by the host (src/launch.c) and by the kernel, so that both
 * sides agree by construction; sizes are asserted on both. NVRTC has no <stdint.h>: built-in types only.
 */
#ifndef SWA_PARAMS_H
#define SWA_PARAMS_H

/* A pool of KV rows and how a position finds its row there. */
typedef struct swa_pool {
  const void *kv;        /* rows by block and slot */
  const void *inv_scale; /* [num_slots, num_kv_heads] */
  const void *indices;   /* [num_tokens, the scope's size] */
  long long block_stride_bytes;
  long long slot_stride_bytes;
  long long kv_head_stride_bytes;
  float scale; /* of a pool of one scale */
  unsigned int reserved;
} swa_pool;

/* What a token attends to: the window, or the extra scope. */
typedef struct swa_scope {
  swa_pool pool;
  const void *lens;               /* [num_tokens]; of the extra scope null: its size */
  long long indices_token_stride; /* elements */
  unsigned int block_size;
  unsigned int num_slots; /* num_blocks * block_size: a slot at or above it is masked */
} swa_scope;

typedef struct swa_params {
  swa_scope window;
  swa_scope extra;
  swa_pool v;                 /* V's own pool, beside the window's */
  const void *q;              /* bf16 [num_tokens, num_heads, head_dim] */
  void *out;                  /* bf16 [num_tokens, num_heads, head_dim_v] */
  float *lse;                 /* [num_tokens, num_heads], or null */
  const float *sinks;         /* [num_heads], or null */
  long long q_token_stride;   /* elements */
  long long q_head_stride;    /* elements */
  long long out_token_stride; /* elements */
  long long out_head_stride;  /* elements */
  long long lse_token_stride; /* elements */
  long long lse_head_stride;  /* elements */
  void *workspace;            /* of splits, see splits.cuh */
  unsigned int num_splits;    /* CTAs that share a token's tiles */
  unsigned int reserved;
  unsigned int num_tokens;
  unsigned int num_heads;
  unsigned int num_kv_heads;
  unsigned int kv_head_heads;  /* query heads of a KV head: num_heads / num_kv_heads */
  unsigned int kv_head_groups; /* CTAs of a KV head: kv_head_heads / head_group, rounded up */
  unsigned int lse_form;       /* bits as in swa_jit.h */
  float scale;                 /* softmax scale */
  float soft_cap;              /* 0: none */
} swa_params;

#endif
