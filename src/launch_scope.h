/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch attends to: the arguments of the window, of V's own pool and of the extra scope -> their part of the
 * kernel's parameter, checked. */
#ifndef SJ_LAUNCH_SCOPE_H
#define SJ_LAUNCH_SCOPE_H

#include "swa_params.h"
#include "tensor.h"

enum { SJ_ROW_ALIGNMENT = 16 }; /* bytes: rows are read and written 16 bytes at a time */
enum { SJ_MAX_INPUTS = 13 };    /* q; rows, scales and indices of three pools; two lens; sinks */

/* One launch's work. Inputs are noted as they are checked, for the outputs must not overlap them. */
typedef struct sj_launch_call {
  const swa_jit_config *config;
  const swa_jit_decode_args *args;
  swa_params *params;
  unsigned num_inputs;
  sj_extent inputs[SJ_MAX_INPUTS];
} sj_launch_call;

SJ_INLINE void sj_launch_note_input(sj_launch_call *call, const char *name, const void *begin, long long bytes)
{
  call->inputs[call->num_inputs++] = sj_tensor_make_extent(name, begin, bytes);
}

SJ_INLINE long long sj_launch_stride_or(int64_t given, long long packed)
{
  return given != 0 ? given : packed;
}

/* Counts are checked, and num_tokens and num_kv_heads of the parameter set. INVALID. */
swa_jit_status sj_launch_take_window(sj_launch_call *call);
/* head_dim_v is not 0; after the window. */
swa_jit_status sj_launch_take_v(sj_launch_call *call);
/* extra_size is not 0. */
swa_jit_status sj_launch_take_extra(sj_launch_call *call);

#endif
