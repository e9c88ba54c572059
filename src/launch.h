/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments -> checks, parameter block, grid, cuLaunchKernel. The hot path: allocates nothing, takes no lock, makes no
 * system call of its own. */
#ifndef SJ_LAUNCH_H
#define SJ_LAUNCH_H

#include "kernel_table.h"

swa_jit_status sj_launch_decode(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                swa_jit_stream stream);

#endif
