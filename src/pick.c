/* SPDX-License-Identifier: Apache-2.0 */
#include "pick.h"

#include <string.h>

#include "arch.h"
#include "config.h"
#include "status.h"
#include "tile_plan.h"

/* One row: on arch, up to max_token_heads pairs of token and head for num_sms
 * multiprocessors, head_group and kv_tile were the fastest. An architecture's
 * rows ascend and end with SJ_PICK_NO_LIMIT; a load between those of two rows
 * takes the larger one's choice. */
#define SJ_PICK_NO_LIMIT UINT32_MAX

typedef struct pick_row {
  uint32_t arch, num_sms, max_token_heads, head_group, kv_tile;
} pick_row;

static const pick_row rows[] = {
#include "pick_table.inc"
};
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

/* An architecture without measurements uses the rows of the table's first one,
 * scaled by its number of multiprocessors. */
static uint32_t measured_arch(uint32_t arch)
{
  for (unsigned i = 0; i < NUM_ROWS; i++) {
    if (rows[i].arch == arch) {
      return arch;
    }
  }
  return rows[0].arch;
}

static const pick_row *find_row(uint32_t arch, uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms)
{
  const uint32_t measured = measured_arch(arch);
  /* Above any limit of the table the exact load does not matter, and the
   * products below must not wrap. */
  const uint64_t most = UINT64_C(1) << 40;
  const uint64_t product = (uint64_t)num_tokens * num_heads;
  const uint64_t token_heads = product < most ? product : most;
  const pick_row *found = &rows[0];
  for (unsigned i = 0; i < NUM_ROWS; i++) {
    if (rows[i].arch == measured) {
      found = &rows[i];
      if (found->max_token_heads == SJ_PICK_NO_LIMIT
          || token_heads * found->num_sms <= (uint64_t)found->max_token_heads * num_sms) {
        break;
      }
    }
  }
  return found;
}

/* The least legal value that is >= needed, but at most chosen: a group wider
 * than the heads there are, or a tile longer than either scope, only computes
 * what is thrown away. */
static uint32_t cap_value(const sj_config_field *field, uint32_t chosen, uint32_t needed)
{
  for (unsigned i = 0; i < field->num_values; i++) {
    if (field->values[i] >= needed || field->values[i] == chosen) {
      return field->values[i];
    }
  }
  return chosen;
}

/* Whether a tile's rows arrive while those of the one before, or those of another CTA, are worked on. A pass that has
 * the multiprocessor to itself was measured to gain more by long tiles. */
static bool is_worth_its_tile(const sj_tile_plan *plan)
{
  return plan->exact_softmax != 0 || plan->num_stages >= 2 || plan->pass_heads > SJ_TWO_CTA_HEADS;
}

/* The choice, else the nearest smaller one that fits the architecture: a
 * smaller tile first, as it changes less. A tile of which only one fits makes
 * way for a smaller one of which two do. */
static swa_jit_status fit(const sj_arch *arch, const sj_config_field *group, const sj_config_field *tile,
                          swa_jit_config *config)
{
  swa_jit_status status = SWA_JIT_OK;
  const uint32_t head_group = config->head_group;
  const uint32_t kv_tile = config->kv_tile;
  for (unsigned g = group->num_values; g > 0; g--) {
    uint32_t single_tile = 0;
    for (unsigned t = tile->num_values; t > 0; t--) {
      if (group->values[g - 1] > head_group || tile->values[t - 1] > kv_tile) {
        continue;
      }
      sj_tile_plan plan;
      config->head_group = group->values[g - 1];
      config->kv_tile = tile->values[t - 1];
      status = sj_tile_plan_make(config, arch, &plan);
      if (status != SWA_JIT_UNSUPPORTED && (status != SWA_JIT_OK || is_worth_its_tile(&plan))) {
        return status;
      }
      single_tile = status == SWA_JIT_OK && single_tile == 0 ? config->kv_tile : single_tile;
    }
    if (single_tile != 0) {
      config->kv_tile = single_tile;
      return SWA_JIT_OK;
    }
  }
  return status;
}

swa_jit_status sj_pick_make(uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms, swa_jit_config *config_inout)
{
  if (num_tokens == 0 || num_heads == 0) {
    return sj_fail(SWA_JIT_INVALID, "num_tokens is %u and num_heads is %u: both must be at least 1", num_tokens,
                   num_heads);
  }
  swa_jit_config config = *config_inout;
  if (config.kernel != SWA_JIT_KERNEL_DECODE) {
    return sj_fail(SWA_JIT_INVALID, "kernel is merge, which has no head_group and kv_tile to pick: use it as it is");
  }
  const sj_arch *arch = sj_arch_find(config.arch);
  if (arch == NULL) {
    return sj_fail(SWA_JIT_INVALID, "arch is native: ask swa_jit_arch_native first, or use one of %s", sj_arch_list());
  }
  const sj_config_field *group = sj_config_field_find("head_group", strlen("head_group"));
  const sj_config_field *tile = sj_config_field_find("kv_tile", strlen("kv_tile"));
  const pick_row *row = find_row(config.arch, num_tokens, num_heads, num_sms != 0 ? num_sms : arch->usual_num_sms);
  config.head_group = cap_value(group, row->head_group, num_heads);
  config.kv_tile =
      cap_value(tile, row->kv_tile, config.window_size > config.extra_size ? config.window_size : config.extra_size);
  sj_kept_message kept; /* what did not fit on the way is no failure of this call */
  sj_message_keep(&kept);
  const swa_jit_status status = fit(arch, group, tile, &config);
  if (status == SWA_JIT_OK) {
    *config_inout = config;
  }
  return sj_message_restore(status, &kept);
}
