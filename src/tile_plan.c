/* SPDX-License-Identifier: Apache-2.0 */
#include "tile_plan.h"

#include <string.h>

#include "status.h"

/* Why these cuts: docs/kernels/mma_sync.md. */

enum {
  MMA_M = 16,
  MMA_N = 8,
  CHUNK_DIMS = 64,        /* of head_dim, see swa_config.cuh */
  COLUMN_INFO_BYTES = 16, /* see smem_plan.cuh */
  MAX_EXACT_SCORES = 64,  /* registers a thread gives to the scores of a whole window */
  CLUSTER_POSITIONS = 128,
  CLUSTER_SIZE = 4,          /* see cluster/smem.cuh */
  MERGE_WARPS = 4,           /* 128 threads: what the longest row of a merge needs, see merge.c */
  MAX_STAGES = 4,            /* of online softmax: more hide nothing more */
  SYSTEM_SHARED_BYTES = 1024 /* that CUDA keeps of a CTA's share; CUDA C++ programming guide, compute capabilities */
};

static uint32_t round_up(uint32_t value, uint32_t multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

static uint32_t divide_up(uint32_t value, uint32_t divisor)
{
  return (value + divisor - 1) / divisor;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
  return a > b ? a : b;
}

static bool is_bf16(uint32_t format)
{
  return format == SWA_JIT_KV_BF16;
}

/* Of a row in shared memory: whole chunks, so laid that the kernel's swizzle spreads them (smem_plan.cuh). */
static uint32_t row_bytes(uint32_t format, uint32_t dims)
{
  if (format == SWA_JIT_KV_FOOTER_584) {
    return 576;
  }
  return is_bf16(format) ? round_up(dims, CHUNK_DIMS) * 2 : round_up(dims, 128);
}

static uint32_t num_groups(uint32_t format)
{
  return format == SWA_JIT_KV_FOOTER_584 ? 7 : format == SWA_JIT_KV_FOOTER_528 ? 16 : 0;
}

/* Of the scopes' formats. */
static uint32_t most_groups(const swa_jit_config *config)
{
  uint32_t groups = num_groups(config->kv_format);
  if (config->extra_size != 0) {
    groups = larger(groups, num_groups(config->extra_format));
  }
  return groups;
}

/* Mirrors struct smem_plan of kernel_templates/smem_plan.cuh, which asserts that the sizes are equal. */
static uint32_t shared_bytes(const sj_tile_plan *plan, const swa_jit_config *config)
{
  uint32_t stage_rows = plan->num_stages * config->kv_tile;
  uint32_t pass_rows = round_up(plan->pass_heads, MMA_M);
  uint32_t span = plan->exact_softmax ? plan->padded_window : config->kv_tile;
  uint32_t q_bytes = plan->q_stages * pass_rows * CHUNK_DIMS * 2;
  bool swizzles_weights = pass_rows > 64 && span % 64 == 0;
  uint32_t weight_bytes = pass_rows * (span + (swizzles_weights ? 0 : 8)) * 2 * (is_bf16(config->kv_format) ? 2 : 1);
  uint32_t groups = most_groups(config);
  uint32_t head_bytes = pass_rows * 2 * round_up(plan->score_warps_n * 4, 16);
  uint32_t mend_bytes = groups == 0 ? 0 : stage_rows * (divide_up(groups, 4) * 4 + 4);
  uint32_t bytes = stage_rows * (plan->row_bytes + plan->v_row_bytes);
  bytes += plan->exact_softmax ? larger(q_bytes, weight_bytes) : q_bytes + weight_bytes;
  bytes = round_up(bytes, 16) + stage_rows * COLUMN_INFO_BYTES;
  bytes += plan->exact_softmax ? round_up(larger(head_bytes, mend_bytes), 16) : head_bytes + mend_bytes;
  bytes += stage_rows * groups * 2;
  bytes += (1u + (plan->exact_softmax == 0) + (config->sinks != 0)) * pass_rows * 4;
  bytes += groups != 0 ? 16 : 12;
  return round_up(bytes, 128);
}

static uint32_t score_registers(const sj_tile_plan *plan, uint32_t span)
{
  uint32_t m_tiles = divide_up(plan->pass_heads, MMA_M) / plan->score_warps_m;
  return m_tiles * divide_up(span / MMA_N, plan->score_warps_n) * 4;
}

static void set_warps(sj_tile_plan *plan, uint32_t score_m, uint32_t score_n, uint32_t value_m, uint32_t value_n)
{
  plan->num_warps = score_m * score_n;
  plan->score_warps_m = score_m;
  plan->score_warps_n = score_n;
  plan->value_warps_m = value_m;
  plan->value_warps_n = value_n;
}

static void cut_exact(sj_tile_plan *plan, const swa_jit_config *config)
{
  uint32_t num_chunks = divide_up(config->head_dim, CHUNK_DIMS);
  plan->exact_softmax = 1;
  plan->pass_heads = config->head_group;
  plan->padded_window = round_up(config->window_size, config->kv_tile);
  plan->num_stages = plan->padded_window / config->kv_tile;
  plan->q_stages = config->head_group <= 32 ? num_chunks : smaller(num_chunks, config->head_group <= 64 ? 4 : 2);
  if (config->head_group <= 32) {
    set_warps(plan, 1, 8, 1, 8);
  } else if (config->head_group <= 64) {
    set_warps(plan, 2, 4, 1, 8);
  } else {
    set_warps(plan, 2, 4, 2, 4);
  }
}

/* Heads in passes of at most max_heads: the running sums of all of head_dim stay in registers. */
static void cut_online(sj_tile_plan *plan, const swa_jit_config *config, uint32_t max_heads)
{
  plan->exact_softmax = 0;
  plan->pass_heads = smaller(config->head_group, max_heads);
  plan->padded_window = round_up(config->window_size, config->kv_tile);
  plan->q_stages = divide_up(config->head_dim, CHUNK_DIMS);
  if (plan->pass_heads <= 16) {
    set_warps(plan, 1, 8, 1, 8);
  } else {
    set_warps(plan, 2, 4, 1, 8);
  }
}

static bool fits_twice(const sj_tile_plan *plan, const sj_arch *arch)
{
  return arch->shared_memory_per_sm / (plan->shared_memory_bytes + SYSTEM_SHARED_BYTES) >= 2;
}

static void set_occupancy(sj_tile_plan *plan, const sj_arch *arch)
{
  plan->min_ctas_per_sm = fits_twice(plan, arch) ? 2 : 1;
  if (plan->exact_softmax == 0 && plan->pass_heads > SJ_TWO_CTA_HEADS) {
    plan->min_ctas_per_sm = 1;
  }
  /* why: with the 128 registers that two CTAs leave a thread, ptxas 13.0 spills for sm_100 and later, not for sm_90. */
  if (arch->id >= SWA_JIT_ARCH_SM_100A && plan->exact_softmax && plan->pass_heads > 64) {
    plan->min_ctas_per_sm = 1;
  }
}

static bool plan_exact(sj_tile_plan *plan, const swa_jit_config *config, const sj_arch *arch)
{
  cut_exact(plan, config);
  if (config->extra_size != 0 || config->splits != 0) {
    return false;
  }
  if (score_registers(plan, plan->padded_window) > MAX_EXACT_SCORES) {
    return false;
  }
  plan->shared_memory_bytes = shared_bytes(plan, config);
  if (plan->shared_memory_bytes > arch->shared_memory_bytes && config->head_group == 64 && plan->q_stages > 2) {
    plan->q_stages = 2; /* turns of one chunk, as 128 heads have */
    plan->shared_memory_bytes = shared_bytes(plan, config);
  }
  return plan->shared_memory_bytes <= arch->shared_memory_bytes;
}

/* As many stages as fit: of two or more with which two CTAs fit, if there are and registers are left for two. */
static bool fit_stages(sj_tile_plan *plan, const swa_jit_config *config, const sj_arch *arch)
{
  uint32_t most = 0;
  for (plan->num_stages = MAX_STAGES; plan->num_stages >= 1; plan->num_stages--) {
    plan->shared_memory_bytes = shared_bytes(plan, config);
    if (plan->shared_memory_bytes > arch->shared_memory_bytes) {
      continue;
    }
    most = larger(most, plan->num_stages);
    if (plan->num_stages >= 2 && plan->pass_heads <= SJ_TWO_CTA_HEADS && fits_twice(plan, arch)) {
      return true;
    }
  }
  plan->num_stages = larger(most, 1);
  plan->shared_memory_bytes = shared_bytes(plan, config);
  return most != 0;
}

/* A cluster's CTA has whole rows of a quarter of the positions, and of all a quarter. Mirrors struct cta_smem of
 * kernel_templates/cluster/smem.cuh, which asserts that the sizes are equal. */
static uint32_t cluster_shared_bytes(const sj_tile_plan *plan, const swa_jit_config *config)
{
  const uint32_t own_positions = CLUSTER_POSITIONS / CLUSTER_SIZE, num_units = CLUSTER_POSITIONS / MMA_M;
  const uint32_t groups = num_groups(config->kv_format);
  const uint32_t factors = round_up(groups, CLUSTER_SIZE); /* a tail has one */
  uint32_t bytes = own_positions * plan->row_bytes;
  bytes += CLUSTER_POSITIONS * (config->head_dim / CLUSTER_SIZE + plan->row_bytes - config->head_dim);
  bytes += MMA_M * (CLUSTER_POSITIONS + 8) * 2 + MMA_M * (num_units + 2) * 8; /* weights and figures */
  bytes += plan->num_warps * 64 * (16 + 1);                                   /* parts and their rounds */
  if (groups != 0) {
    bytes += factors * own_positions * 2 + factors / CLUSTER_SIZE * CLUSTER_POSITIONS * 2;
    bytes += own_positions * (factors + 1);
  }
  bytes += config->sinks != 0 ? MMA_M * 4 : 0;
  bytes += own_positions * COLUMN_INFO_BYTES + 16; /* the mbarrier, and two words */
  return round_up(bytes, 128);
}

static swa_jit_status plan_cluster(sj_tile_plan *plan, const swa_jit_config *config, const sj_arch *arch)
{
  if (arch->id < SWA_JIT_ARCH_SM_90A) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "cluster_size %u on %s: thread block clusters come with sm_90a; set cluster_size to 0",
                   config->cluster_size, arch->name);
  }
  cut_exact(plan, config);
  plan->shared_memory_bytes = cluster_shared_bytes(plan, config);
  plan->min_ctas_per_sm = fits_twice(plan, arch) ? 2 : 1;
  return SWA_JIT_OK;
}

static bool plan_online(sj_tile_plan *plan, const swa_jit_config *config, const sj_arch *arch)
{
  for (uint32_t max_heads = 64; max_heads >= 16; max_heads /= 2) {
    cut_online(plan, config, max_heads);
    if (fit_stages(plan, config, arch)) {
      return true;
    }
  }
  return false;
}

swa_jit_status sj_tile_plan_make(const swa_jit_config *config, const sj_arch *arch, sj_tile_plan *plan_out)
{
  sj_tile_plan plan;
  memset(&plan, 0, sizeof plan);
  if (config->kernel == SWA_JIT_KERNEL_MERGE) { /* each thread works by itself, and nothing is shared */
    plan.num_warps = MERGE_WARPS;
    *plan_out = plan;
    return SWA_JIT_OK;
  }
  plan.row_bytes = row_bytes(config->kv_format, config->head_dim);
  if (config->cluster_size != 0) {
    const swa_jit_status status = plan_cluster(&plan, config, arch);
    *plan_out = status == SWA_JIT_OK ? plan : *plan_out;
    return status;
  }
  if (config->extra_size != 0) {
    plan.row_bytes = larger(plan.row_bytes, row_bytes(config->extra_format, config->head_dim));
  }
  plan.v_row_bytes = config->head_dim_v != 0 ? row_bytes(config->kv_format, config->head_dim_v) : 0;
  if (!plan_exact(&plan, config, arch) && !plan_online(&plan, config, arch)) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "head_dim %u with kv_tile %u needs %u bytes of shared memory; %s has %u: use a smaller kv_tile",
                   config->head_dim, config->kv_tile, plan.shared_memory_bytes, arch->name, arch->shared_memory_bytes);
  }
  set_occupancy(&plan, arch);
  *plan_out = plan;
  return SWA_JIT_OK;
}
