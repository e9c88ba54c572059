/* SPDX-License-Identifier: Apache-2.0 */
#include "legal.h"

#include "pool.h"

enum { MOST_GRID_Y = 65535, ALIGNMENT = 16 };

static bool is_one_of(uint32_t value, const uint32_t *values, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (values[i] == value) {
      return true;
    }
  }
  return false;
}

static bool is_footer(uint32_t kv_format)
{
  return kv_format == SWA_JIT_KV_FOOTER_584 || kv_format == SWA_JIT_KV_FOOTER_528;
}

static bool is_head_dim(uint32_t value)
{
  static const uint32_t head_dims[] = {64, 96, 128, 192, 256, 512};

  return is_one_of(value, head_dims, sizeof head_dims / sizeof head_dims[0]);
}

static const char *find_range_fault(const decode_case *which)
{
  static const uint32_t head_groups[] = {8, 16, 32, 64, 128};
  static const uint32_t kv_tiles[] = {16, 32, 64, 128};

  if (!is_head_dim(which->head_dim) || (which->head_dim_v != 0 && !is_head_dim(which->head_dim_v))) {
    return "head_dim or head_dim_v is no length of a row";
  }
  if (!is_one_of(which->head_group, head_groups, 5) || !is_one_of(which->kv_tile, kv_tiles, 4)) {
    return "head_group or kv_tile is none";
  }
  if (which->window_size < 1 || which->window_size > 8192 || which->extra_size > 8192) {
    return "window_size or extra_size is out of range";
  }
  if (which->num_heads < 1 || which->num_heads > (uint64_t)MOST_GRID_Y * which->head_group) {
    return "num_heads is out of range";
  }
  if (which->num_kv_heads < 1 || which->num_heads % which->num_kv_heads != 0) {
    return "num_kv_heads does not divide num_heads";
  }
  if (which->num_splits > 256) {
    return "num_splits is out of range";
  }
  return which->lse_form > 7 ? "lse_form has an unknown bit" : NULL;
}

static bool is_for_clusters(const decode_case *which)
{
  return which->cluster_size == 4 && which->head_dim == 512 && which->head_group <= 16 && which->kv_tile == 128
         && which->window_size <= 128 && which->kv_format != SWA_JIT_KV_BF16 && which->head_dim_v == 0
         && which->extra_size == 0 && which->num_splits == 0;
}

/* Which options go together. */
static const char *find_option_fault(const decode_case *which)
{
  bool extra = which->extra_size != 0;
  bool footer = is_footer(which->kv_format) || (extra && is_footer(which->extra_format));

  if (footer && (which->head_dim != 512 || which->head_dim_v != 0 || which->num_kv_heads != 1)) {
    return "a footer has rows of 512 elements, K and V in one, and one KV head";
  }
  if (extra && (which->head_dim_v != 0 || which->num_kv_heads != 1)) {
    return "an extra scope goes with neither V's own pool nor KV heads";
  }
  if (extra && (which->kv_format == SWA_JIT_KV_BF16) != (which->extra_format == SWA_JIT_KV_BF16)) {
    return "both scopes are bf16 or neither";
  }
  if (which->scale_type == SWA_JIT_BFLOAT16 && which->kv_format != SWA_JIT_KV_E4M3_SLOT
      && !(extra && which->extra_format == SWA_JIT_KV_E4M3_SLOT)) {
    return "scale_type without inv_scale";
  }
  if (which->cluster_size != 0 && !is_for_clusters(which)) {
    return "clusters do not take this";
  }
  return NULL;
}

static const char *find_pool_fault(const decode_case *which, enum decode_pool_kind kind)
{
  decode_pool pool;

  decode_pool_plan(which, kind, &pool);
  if (pool.num_slots > INT32_MAX || pool.block_size == 0) {
    return "a pool has too many slots, or blocks of none";
  }
  if (pool.num_slots == 0) {
    return NULL;
  }
  if (pool.head_stride % ALIGNMENT != 0 || pool.slot_stride % ALIGNMENT != 0 || pool.block_stride % ALIGNMENT != 0) {
    return "a stride of a pool is no multiple of 16";
  }
  if (is_footer(pool.kv_format) && pool.slot_stride != pool.row_bytes) {
    return "a footer's rows have no gaps";
  }
  return NULL;
}

/* Fields that do nothing make a case that tests less than it says. */
static const char *find_idle_fault(const decode_case *which)
{
  bool extra = which->extra_size != 0;
  bool footer = is_footer(which->kv_format) || (extra && is_footer(which->extra_format));
  bool has_bf16 = which->kv_format == SWA_JIT_KV_BF16 || which->kv_format == SWA_JIT_KV_FOOTER_584
                  || (extra && which->extra_format == SWA_JIT_KV_FOOTER_584);
  decode_case usual;

  decode_case_init(&usual);
  if (which->scale_bytes != usual.scale_bytes && !footer) {
    return "scale_bytes without a footer";
  }
  if (which->bf16 != usual.bf16 && !has_bf16) {
    return "bf16 without bf16 elements";
  }
  if (which->head_dim_v == 0 && (which->v_indices != 0 || which->v_slot_gap != 0 || which->v_block_gap != 0)) {
    return "something of V's pool without one";
  }
  if (!extra
      && (which->extra_format != usual.extra_format || which->extra_lens != usual.extra_lens
          || which->extra_block_size != usual.extra_block_size || which->extra_num_blocks != usual.extra_num_blocks
          || which->extra_slot_gap != 0 || which->extra_block_gap != 0)) {
    return "something of the extra scope without one";
  }
  if (which->scale_bytes == DECODE_SCALE_BYTES_ALL && (extra || which->lens != DECODE_LENS_ONE)) {
    return "scale_bytes=all with more than one position";
  }
  return NULL;
}

const char *decode_case_fault(const decode_case *which)
{
  const char *fault = find_range_fault(which);

  fault = fault != NULL ? fault : find_option_fault(which);
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS && fault == NULL; kind++) {
    fault = find_pool_fault(which, kind);
  }
  return fault != NULL ? fault : find_idle_fault(which);
}
