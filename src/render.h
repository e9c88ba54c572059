/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration + tile plan + template parts -> one source text with #line for each part. Pure. The parts are embedded
 * by tools/embed-templates at build time (templates.h). */
#ifndef SJ_RENDER_H
#define SJ_RENDER_H

#include "swa_jit/swa_jit.h"
#include "tile_plan.h"

#define SJ_KERNEL_NAME "swa_decode" /* the extern "C" kernel in every rendered source */

/* source_out: zero-terminated, malloc'd, the caller's. The same inputs give the same bytes. OK or OUT_OF_MEMORY. */
swa_jit_status sj_render_make(const swa_jit_config *config, const sj_tile_plan *plan, char **source_out);

#endif
