/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's parameter for a bare launch, beside the library's own. */
#ifndef BENCH_PARAMS_H
#define BENCH_PARAMS_H

#include "swa_params.h"
#include "tensors.h"

/* args: bench_sweep_args' of the same tensors; a kernel without splits. */
void bench_params_make(const bench_tensors *tensors, const swa_jit_decode_args *args, uint32_t head_group,
                       swa_params *params_out);

#endif
