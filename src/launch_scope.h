/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch attends to: whether the arguments of the window, of V's own pool and of the extra scope are right, with
 * the words for what is not. */
#ifndef SJ_LAUNCH_SCOPE_H
#define SJ_LAUNCH_SCOPE_H

#include "launch_fill.h"

enum { SJ_MAX_INPUTS = 13 }; /* q; rows, scales and indices of three pools; two lens; sinks */

/* One launch's work. Inputs are noted as they are checked, for the outputs must not overlap them. */
typedef struct sj_launch_call {
  const swa_jit_config *config;
  const swa_jit_decode_args *args;
  const swa_params *params; /* as sj_launch_fill made it */
  unsigned num_inputs;
  sj_extent inputs[SJ_MAX_INPUTS];
} sj_launch_call;

SJ_INLINE void sj_launch_note_input(sj_launch_call *call, const char *name, const void *begin, long long bytes)
{
  call->inputs[call->num_inputs++] = sj_tensor_make_extent(name, begin, bytes);
}

/* Counts are checked. INVALID. */
swa_jit_status sj_launch_check_window(sj_launch_call *call);
/* head_dim_v is not 0; after the window. */
swa_jit_status sj_launch_check_v(sj_launch_call *call);
/* extra_size is not 0. */
swa_jit_status sj_launch_check_extra(sj_launch_call *call);

#endif
