/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a merge -> checks, parameter, grid, launch. The hot path: allocates nothing, takes no lock, makes no
 * system call of its own. */
#ifndef SJ_MERGE_H
#define SJ_MERGE_H

#include "kernel_table.h"

swa_jit_status sj_merge_launch(const struct swa_jit_kernel *kernel, const swa_jit_merge_args *args,
                               swa_jit_stream stream);

#endif
