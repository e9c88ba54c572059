/* SPDX-License-Identifier: Apache-2.0 */
#include "pick_splits.h"

#include "arch.h"
#include "launch_args.h"
#include "status.h"
#include "tile_plan.h"
#include "workspace.h"

/* What the rule is fitted by. */
enum {
  LEAST_POSITIONS = 128 /* of a split, in whole tiles: with fewer, what a CTA costs beside them is more than they do */
};

static uint64_t divide_up(uint64_t value, uint64_t divisor)
{
  return (value + divisor - 1) / divisor;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* The most splits with which all CTAs of the launch run at once; 0 where they do not even without. */
static uint64_t splits_of_device(const sj_tile_plan *plan, uint64_t num_ctas, uint32_t num_sms)
{
  return (uint64_t)num_sms * plan->min_ctas_per_sm / num_ctas;
}

/* Of several numbers with which the longest share is the same, the least: the others have CTAs without a tile. */
static uint64_t drop_idle(uint64_t num_tiles, uint64_t num_splits)
{
  return divide_up(num_tiles, divide_up(num_tiles, num_splits));
}

swa_jit_status sj_pick_splits_make(const swa_jit_config *config, const swa_jit_decode_args *counts, uint32_t num_sms,
                                   uint32_t *num_splits_out)
{
  if (config->kernel != SWA_JIT_KERNEL_DECODE) {
    return sj_fail(SWA_JIT_INVALID, "kernel is merge, which has no splits to pick: use it as it is");
  }
  const sj_arch *arch = sj_arch_find(config->arch);
  sj_tile_plan plan;
  uint64_t num_ctas = 0;
  swa_jit_status status = sj_tile_plan_make(config, arch, &plan);
  if (status == SWA_JIT_OK) {
    status = sj_launch_args_count(config, counts, &num_ctas);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  *num_splits_out = 1;
  if (config->splits == 0 || num_ctas == 0) {
    return SWA_JIT_OK;
  }
  const uint64_t num_tiles =
      divide_up(config->window_size, config->kv_tile) + divide_up(config->extra_size, config->kv_tile);
  uint64_t most = smaller(SJ_MAX_SPLITS, num_tiles / divide_up(LEAST_POSITIONS, config->kv_tile));
  most = smaller(most, SJ_MAX_GRID_YZ / (counts->num_kv_heads != 0 ? counts->num_kv_heads : 1));
  most = smaller(most, splits_of_device(&plan, num_ctas, num_sms != 0 ? num_sms : arch->usual_num_sms));
  if (most > 1) {
    *num_splits_out = (uint32_t)drop_idle(num_tiles, most);
  }
  return SWA_JIT_OK;
}
