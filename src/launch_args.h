/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments -> the kernel's parameter: defaults resolved, every rule of swa_jit.h checked. The hot path: allocates
 * nothing, takes no lock, makes no system call. */
#ifndef SJ_LAUNCH_ARGS_H
#define SJ_LAUNCH_ARGS_H

#include "launch_plain.h"

/* Step by step: what is not plainly right (launch_plain.h) may be right yet. INVALID; UNSUPPORTED: what the kernel was
 * compiled without. *params_out is undefined on failure. */
SJ_COLD swa_jit_status sj_launch_args_check(const swa_jit_config *config, const swa_jit_decode_args *args,
                                            swa_params *params_out);

/* config: the kernel's. args: of this library's size or larger, num_tokens >= 1. Returns: as sj_launch_args_check. */
SJ_INLINE swa_jit_status sj_launch_args_make(const swa_jit_config *config, const swa_jit_decode_args *args,
                                             swa_params *params_out)
{
  return sj_launch_fill_plain(config, args, params_out) ? SWA_JIT_OK : sj_launch_args_check(config, args, params_out);
}

/* The counts alone, checked as above: how many CTAs a launch has before splits. INVALID; UNSUPPORTED. */
swa_jit_status sj_launch_args_count(const swa_jit_config *config, const swa_jit_decode_args *args,
                                    uint64_t *num_ctas_out);

#endif
