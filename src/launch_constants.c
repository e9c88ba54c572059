/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_constants.h"

enum { WARP_THREADS = 32, BF16_BYTES = 2 };

static bool is_usual(const swa_jit_config *config)
{
  return config->kernel == SWA_JIT_KERNEL_DECODE && (config->extra_size | config->head_dim_v) == 0
         && config->kv_format <= SWA_JIT_KV_BF16;
}

static uint8_t int_bytes(uint32_t type)
{
  return type == SWA_JIT_INT64 ? 8 : 4;
}

static uint8_t scale_bytes(const swa_jit_config *config)
{
  if (config->kv_format != SWA_JIT_KV_E4M3_SLOT) {
    return 0;
  }
  return config->scale_type == SWA_JIT_BFLOAT16 ? 2 : 4;
}

sj_launch_constants sj_launch_constants_make(const sj_cuda_api *cuda, const swa_jit_config *config,
                                             const sj_tile_plan *plan)
{
  if (!is_usual(config)) {
    return (sj_launch_constants){0};
  }
  const uint32_t row_bytes = config->head_dim * (config->kv_format == SWA_JIT_KV_BF16 ? BF16_BYTES : 1);
  return (sj_launch_constants){
      .launch_kernel = cuda->launch_kernel,
      .ctx_get_id = cuda->ctx_get_id,
      .args_size = sizeof(swa_jit_decode_args),
      .shared_memory_bytes = plan->shared_memory_bytes,
      .num_threads = (uint16_t)(WARP_THREADS * plan->num_warps),
      .head_dim = (uint16_t)config->head_dim,
      .window_size = (uint16_t)config->window_size,
      .row_bytes = (uint16_t)row_bytes,
      .group_shift = (uint8_t)__builtin_ctz(config->head_group),
      .index_bytes = int_bytes(config->index_type),
      .lens_bytes = int_bytes(config->lens_type),
      .scale_bytes = scale_bytes(config),
      .token_ctas = (uint8_t)(config->cluster_size != 0 ? config->cluster_size : 1),
      .has_splits = config->splits != 0,
  };
}
