/* SPDX-License-Identifier: Apache-2.0 */
/* The device memory in which the CTAs that share a token's positions leave their parts: how large it is. Its layout is
 * the kernel's, kernel_templates/splits.cuh. */
#ifndef SJ_WORKSPACE_H
#define SJ_WORKSPACE_H

#include <stdint.h>

#include "tile_plan.h"

enum { SJ_MAX_SPLITS = 256 };

/* For num_ctas CTAs of the plan, each shared out to num_splits. Counts within what a launch takes: no overflow. */
uint64_t sj_workspace_bytes(const swa_jit_config *config, const sj_tile_plan *plan, uint64_t num_ctas,
                            uint32_t num_splits);

#endif
