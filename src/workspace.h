/* SPDX-License-Identifier: Apache-2.0 */
/* The device memory in which the CTAs that share a token's positions leave their parts: how large it is, and where in
 * it a launch's part begins. What lies there is the kernel's, kernel_templates/splits.cuh: a count for each unit of
 * work, then the parts. Counts end at the same place whatever the launch, and the parts of no launch lie where counts
 * may lie: so launches of any counts, one after another, find their own counts at 0. */
#ifndef SJ_WORKSPACE_H
#define SJ_WORKSPACE_H

#include <stdint.h>

#include "tile_plan.h"

enum { SJ_MAX_SPLITS = 256, SJ_MAX_UNITS = 65536 /* of a launch: there is room for so many counts */ };

/* What num_ctas CTAs of the plan do: each in passes over its heads. */
uint64_t sj_workspace_units(const swa_jit_config *config, const sj_tile_plan *plan, uint64_t num_ctas);

/* For num_units units, each shared out to num_splits CTAs. Counts within what a launch takes: no overflow. */
uint64_t sj_workspace_bytes(const swa_jit_config *config, const sj_tile_plan *plan, uint64_t num_units,
                            uint32_t num_splits);

/* Bytes of a workspace before the counts of a launch of num_units, at most SJ_MAX_UNITS. */
uint64_t sj_workspace_offset(uint64_t num_units);

#endif
