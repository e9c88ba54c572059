/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_constants.h"

#include "launch_fill.h"

enum { WARP_THREADS = 32 };

static bool is_usual(const swa_jit_config *config)
{
  return config->kernel == SWA_JIT_KERNEL_DECODE && (config->extra_size | config->head_dim_v) == 0;
}

sj_launch_constants sj_launch_constants_make(const sj_cuda_api *cuda, const swa_jit_config *config,
                                             const sj_tile_plan *plan)
{
  if (!is_usual(config)) {
    return (sj_launch_constants){0};
  }
  const sj_pool_shape shape = sj_launch_shape(config->kv_format, config->head_dim, 0, 0, 1);
  const bool has_scales = config->kv_format == SWA_JIT_KV_E4M3_SLOT;
  return (sj_launch_constants){
      .launch_kernel = cuda->launch_kernel,
      .ctx_get_id = cuda->ctx_get_id,
      .args_size = sizeof(swa_jit_decode_args),
      .shared_memory_bytes = plan->shared_memory_bytes,
      .num_threads = (uint16_t)(WARP_THREADS * plan->num_warps),
      .head_dim = (uint16_t)config->head_dim,
      .window_size = (uint16_t)config->window_size,
      .row_bytes = (uint16_t)shape.row_bytes,
      .footer_bytes = (uint8_t)shape.footer_bytes,
      .group_shift = (uint8_t)__builtin_ctz(config->head_group),
      .index_bytes = (uint8_t)sj_launch_int_bytes(config->index_type),
      .lens_bytes = (uint8_t)sj_launch_int_bytes(config->lens_type),
      .scale_bytes = (uint8_t)(has_scales ? sj_launch_scale_bytes(config) : 0),
      .token_ctas = (uint8_t)sj_launch_or_1(config->cluster_size),
      .has_splits = config->splits != 0,
  };
}
