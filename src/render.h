/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration + tile plan + template parts -> one source text with #line for each part. Pure. The parts are embedded
 * by tools/embed-templates at build time (templates.h). Three things of a part are not copied, and leave an empty line
 * so that numbers stay true:
 *   #include "..."                     the rendered source is one file
 *   //: if with_lse ... //: end        the markers; and what is between them when that is not so */
#ifndef SJ_RENDER_H
#define SJ_RENDER_H

#include "swa_jit/swa_jit.h"
#include "templates.h"
#include "text.h"
#include "tile_plan.h"

/* The extern "C" kernel in a configuration's rendered source: "swa_decode" or "swa_merge". */
const char *sj_render_kernel_name(const swa_jit_config *config);

/* source_out: zero-terminated, malloc'd, the caller's. The same inputs give the same bytes. OK or OUT_OF_MEMORY; or
 * COMPILE_FAILED for a part with a wrong marker, which a library that passed its tests does not have. */
swa_jit_status sj_render_make(const swa_jit_config *config, const sj_tile_plan *plan, char **source_out);

/* One part, its #line first; nothing of another kernel or of a KV format that config does not choose. For
 * sj_render_make and the tests. */
swa_jit_status sj_render_part(const sj_template_part *part, const swa_jit_config *config, const sj_tile_plan *plan,
                              sj_text *text);

#endif
