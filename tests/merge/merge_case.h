/* SPDX-License-Identifier: Apache-2.0 */
/* Merges to try on whatever can run them: their data from fixed seeds, and the comparison of what came back with the
 * reference in doubles. */
#ifndef MERGE_CASE_H
#define MERGE_CASE_H

#include "compare.h"

enum { MERGE_MAX_PARTS = 8, MERGE_NOT_IN_PLACE = 0 };

typedef enum merge_layout {
  MERGE_PACKED,
  MERGE_PADDED,       /* gaps behind rows and behind tokens */
  MERGE_HEADS_OUTSIDE /* the tokens of a head side by side */
} merge_layout;

typedef enum merge_empty { MERGE_NONE_EMPTY, MERGE_SOME_EMPTY, MERGE_LAST_EMPTY, MERGE_ALL_EMPTY } merge_empty;

/* Of sinks: none; near the LSEs; or infinities, NaN and +-3e38 in turn. */
typedef enum merge_sinks { MERGE_NO_SINKS, MERGE_USUAL_SINKS, MERGE_ODD_SINKS } merge_sinks;

typedef struct merge_case {
  const char *name;
  uint32_t num_parts, num_tokens, num_heads, head_dim;
  uint32_t parts_form, lse_form, flags;
  merge_layout layout;     /* of the parts */
  merge_layout out_layout; /* of out and lse; in place that of the parts */
  merge_empty empty;
  merge_sinks sinks;
  double center, spread; /* of the parts' LSE, as natural logarithms */
  bool is_without_lse;
  bool has_nan;      /* a row in eight has a NaN among its parts' LSE */
  uint32_t in_place; /* k: out is part k - 1's tensor; MERGE_NOT_IN_PLACE */
} merge_case;

extern const merge_case merge_cases[];
extern const size_t num_merge_cases;

typedef enum merge_tensor {
  MERGE_OUTS = 0,
  MERGE_LSES = MERGE_MAX_PARTS,
  MERGE_OUT = 2 * MERGE_MAX_PARTS,
  MERGE_LSE,
  MERGE_SINKS,
  MERGE_NUM_TENSORS
} merge_tensor;

typedef struct merge_data {
  merge_case which;
  size_t sizes[MERGE_NUM_TENSORS];  /* bytes; 0: the tensor is not there */
  void *tensors[MERGE_NUM_TENSORS]; /* as before the merge: out and lse poisoned; in place OUT is not there */
  swa_jit_merge_args args;          /* counts, forms and strides; no addresses */
} merge_data;

/* False: no memory. */
bool merge_data_make(const merge_case *which, merge_data *data_out);
void merge_data_free(merge_data *data);

/* The element at which a row begins. */
size_t merge_place(int64_t token_stride, int64_t head_stride, uint32_t token, uint32_t head);

/* The tensor that out is: MERGE_OUT, or a part's. */
merge_tensor merge_out_tensor(const merge_data *data);

/* args with the addresses of tensors that lie elsewhere. */
swa_jit_merge_args merge_args_at(const merge_data *data, const uint64_t addresses[MERGE_NUM_TENSORS]);

/* out, lse: the tensors after the merge; lse NULL where there is none. False: no memory. */
bool merge_judge(const merge_data *data, const uint16_t *out, const float *lse, decode_verdict *verdict_out);

#endif
