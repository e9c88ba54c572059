/* SPDX-License-Identifier: Apache-2.0 */
/* What a usual launch needs of its kernel, worked out once: side by side, so that a launch reads one cache line. */
#ifndef SJ_LAUNCH_CONSTANTS_H
#define SJ_LAUNCH_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_api.h"
#include "tile_plan.h"

enum { SJ_CACHE_LINE_BYTES = 64 };

/* Zeros: no launch is usual. */
typedef struct sj_launch_constants {
  sj_cu_launch_kernel launch_kernel;
  sj_cu_ctx_get_id ctx_get_id; /* not NULL where a context is remembered */
  uint32_t shared_memory_bytes;
  uint32_t has_splits;
  uint16_t args_size; /* of swa_jit_decode_args; 0: no launch of this kernel is usual */
  uint16_t num_threads;
  uint16_t head_dim;
  uint16_t window_size;
  uint16_t row_bytes;   /* of the pool's rows */
  uint8_t footer_bytes; /* of a slot's scale row behind the block's data rows; 0: there is none */
  uint8_t group_shift;  /* head_group is 2 to its power */
  uint8_t index_bytes;
  uint8_t lens_bytes;
  uint8_t scale_bytes; /* of a slot's scale; 0: slots have none */
  uint8_t token_ctas;  /* CTAs that share a token's head group */
} sj_launch_constants;

/* config: concrete, legal. Usual is a decode kernel of one pool. */
sj_launch_constants sj_launch_constants_make(const sj_cuda_api *cuda, const swa_jit_config *config,
                                             const sj_tile_plan *plan);

#endif
