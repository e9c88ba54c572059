/* SPDX-License-Identifier: Apache-2.0 */
/* How a CTA is cut for a configuration: the figures that the template's loops and shared memory are laid out by. Made
 * here once, rendered as named constants, asserted by the template (smem_plan.cuh), used by validation and launch. */
#ifndef SJ_TILE_PLAN_H
#define SJ_TILE_PLAN_H

#include "arch.h"
#include "swa_jit/swa_jit.h"

typedef struct sj_tile_plan {
  uint32_t exact_softmax; /* 1: the whole score row is held on chip; 0: online softmax, tile by tile */
  uint32_t num_warps;
  uint32_t min_ctas_per_sm; /* for __launch_bounds__: how many CTAs the registers are cut for */
  uint32_t score_warps_m;   /* scores: warps along heads x warps along positions */
  uint32_t score_warps_n;
  uint32_t value_warps_m; /* values: warps along heads x warps along head_dim */
  uint32_t value_warps_n;
  uint32_t pass_heads;          /* heads that share one sweep over the window (<= head_group, a multiple of 16 or 8) */
  uint32_t num_stages;          /* tiles of KV rows that shared memory holds */
  uint32_t q_stages;            /* chunks of 64 elements of Q that shared memory holds: all of head_dim, or two turns */
  uint32_t padded_window;       /* window_size rounded up to whole warps' shares */
  uint32_t row_bytes;           /* of a KV row in shared memory */
  uint32_t v_row_bytes;         /* of a row of V's own pool; 0: V is K's row */
  uint32_t shared_memory_bytes; /* dynamic, of a CTA */
} sj_tile_plan;

/* Most heads of an online pass whose sums leave registers for two CTAs of a multiprocessor. */
enum { SJ_TWO_CTA_HEADS = 32 };

/* config: concrete, legal. Of the merge kernel's plan all but num_warps is 0. OK, or UNSUPPORTED with the figure that
 * does not fit. */
swa_jit_status sj_tile_plan_make(const swa_jit_config *config, const sj_arch *arch, sj_tile_plan *plan_out);

#endif
