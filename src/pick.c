/* SPDX-License-Identifier: Apache-2.0 */
#include "pick.h"

#include <string.h>

#include "arch.h"
#include "config.h"
#include "status.h"
#include "tile_plan.h"

/* One row: on arch, up to max_token_heads pairs of token and head for num_sms
 * multiprocessors, head_group, kv_tile and cluster_size were the fastest. An
 * architecture's rows of clusters come first, for whom they serve; those
 * without end with SJ_PICK_NO_LIMIT. Both ascend; a load between those of two
 * rows takes the larger one's choice. */
#define SJ_PICK_NO_LIMIT UINT32_MAX

typedef struct pick_row {
  uint32_t arch, num_sms, max_token_heads, head_group, kv_tile, cluster_size;
} pick_row;

typedef struct pick_table {
  const pick_row *rows;
  unsigned num_rows;
} pick_table;

static const pick_row rows[] = {
#include "pick_table.inc"
};
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

static const pick_table measured = {rows, NUM_ROWS};

/* A problem, and the architecture whose rows it takes. */
typedef struct pick_load {
  uint32_t num_tokens, num_heads, num_sms, arch;
} pick_load;

/* Above any limit of a table the exact load does not matter, and the products
 * that it goes into must not wrap. */
static uint64_t token_heads_of(uint32_t num_tokens, uint64_t num_heads)
{
  const uint64_t most = UINT64_C(1) << 40;
  const uint64_t product = (uint64_t)num_tokens * num_heads;
  return product < most ? product : most;
}

/* An architecture without measurements uses the rows of the table's first one,
 * scaled by its number of multiprocessors. */
static uint32_t measured_arch(const pick_table *table, uint32_t arch)
{
  for (unsigned i = 0; i < table->num_rows; i++) {
    if (table->rows[i].arch == arch) {
      return arch;
    }
  }
  return table->rows[0].arch;
}

static pick_load make_load(const pick_table *table, const sj_arch *arch, uint32_t num_tokens, uint32_t num_heads,
                           uint32_t num_sms)
{
  return (pick_load){.num_tokens = num_tokens,
                     .num_heads = num_heads,
                     .num_sms = num_sms != 0 ? num_sms : arch->usual_num_sms,
                     .arch = measured_arch(table, arch->id)};
}

static bool does_hold(const pick_row *row, const pick_load *load, uint64_t token_heads)
{
  return row->arch == load->arch
         && (row->max_token_heads == SJ_PICK_NO_LIMIT
             || token_heads * row->num_sms <= (uint64_t)row->max_token_heads * load->num_sms);
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

/* A row of clusters holds as many as it was measured with: a group of fewer heads is a cluster all the same. */
static bool does_hold_clusters(const pick_row *row, const pick_load *load, uint32_t head_group)
{
  const uint64_t num_groups = (load->num_heads + (uint64_t)head_group - 1) / head_group;
  return does_hold(row, load, token_heads_of(load->num_tokens, num_groups * row->head_group));
}

/* The first row's of clusters that holds the load, where the rest of the configuration takes it. Its tile is not
 * capped: clusters come in one size. */
static bool is_cluster_set(const pick_table *table, const pick_load *load, const sj_arch *arch, swa_jit_config *config)
{
  const sj_config_field *group = sj_config_field_find("head_group", strlen("head_group"));
  for (unsigned i = 0; i < table->num_rows; i++) {
    const pick_row *row = &table->rows[i];
    const uint32_t head_group = cap_value(group, row->head_group, load->num_heads);
    if (row->cluster_size != 0 && does_hold_clusters(row, load, head_group)) {
      swa_jit_config tried = *config, taken;
      sj_tile_plan plan;
      tried.head_group = head_group;
      tried.kv_tile = row->kv_tile;
      tried.cluster_size = row->cluster_size;
      if (sj_config_take(&tried, &taken) != SWA_JIT_OK || sj_tile_plan_make(&taken, arch, &plan) != SWA_JIT_OK) {
        return false;
      }
      *config = taken;
      return true;
    }
  }
  return false;
}

static const pick_row *find_unclustered(const pick_table *table, const pick_load *load)
{
  const uint64_t token_heads = token_heads_of(load->num_tokens, load->num_heads);
  for (unsigned i = 0; i + 1 < table->num_rows; i++) {
    if (table->rows[i].cluster_size == 0 && does_hold(&table->rows[i], load, token_heads)) {
      return &table->rows[i];
    }
  }
  return &table->rows[table->num_rows - 1];
}

static swa_jit_status choose(const pick_table *table, const pick_load *load, const sj_arch *arch,
                             swa_jit_config *config)
{
  config->cluster_size = 0;
  if (is_cluster_set(table, load, arch, config)) {
    return SWA_JIT_OK;
  }
  const sj_config_field *group = sj_config_field_find("head_group", strlen("head_group"));
  const sj_config_field *tile = sj_config_field_find("kv_tile", strlen("kv_tile"));
  const pick_row *row = find_unclustered(table, load);
  config->head_group = cap_value(group, row->head_group, load->num_heads);
  config->kv_tile = cap_value(tile, row->kv_tile,
                              config->window_size > config->extra_size ? config->window_size : config->extra_size);
  return fit(arch, group, tile, config);
}

static swa_jit_status pick_of(const pick_table *table, uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms,
                              swa_jit_config *config_inout)
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
  const pick_load load = make_load(table, arch, num_tokens, num_heads, num_sms);
  sj_kept_message kept; /* what did not fit on the way is no failure of this call */
  sj_message_keep(&kept);
  const swa_jit_status status = choose(table, &load, arch, &config);
  if (status == SWA_JIT_OK) {
    *config_inout = config;
  }
  return sj_message_restore(status, &kept);
}

swa_jit_status sj_pick_make(uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms, swa_jit_config *config_inout)
{
  return pick_of(&measured, num_tokens, num_heads, num_sms, config_inout);
}
