/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_kernel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kv_formats.h"
#include "reference.h"

/* ---- what the parameter was made of ----------------------------------------------------------------------- */

static bool has_strides(const swa_pool *pool, uint32_t kv_format, int64_t head_dim, int64_t block_size,
                        int64_t num_kv_heads)
{
  int64_t row = sj_reference_row_bytes(kv_format, (uint32_t)head_dim);
  int64_t block = (int64_t)sj_reference_block_bytes(kv_format, (uint32_t)head_dim, (uint32_t)block_size);
  if (pool->slot_stride_bytes != num_kv_heads * row) {
    return false;
  }
  if (sj_reference_find_footer(kv_format) != NULL) {
    return head_dim == SJ_REFERENCE_FOOTER_DIM && num_kv_heads == 1 && pool->block_stride_bytes >= block;
  }
  return pool->block_stride_bytes == num_kv_heads * block
         && (kv_format == SWA_JIT_KV_BF16 || (pool->inv_scale != NULL) == (kv_format == SWA_JIT_KV_E4M3_SLOT));
}

/* False: the strides are no format's. */
static bool find_format(const swa_pool *pool, int64_t head_dim, int64_t block_size, int64_t num_kv_heads,
                        uint32_t *kv_format_out)
{
  for (uint32_t format = SWA_JIT_KV_E4M3_SLOT; format <= SWA_JIT_KV_FOOTER_528; format++) {
    if (has_strides(pool, format, head_dim, block_size, num_kv_heads)) {
      *kv_format_out = format;
      return true;
    }
  }
  return false;
}

static const char *read_extra(const swa_params *params, swa_jit_config *config, swa_jit_decode_args *args)
{
  const swa_scope *extra = &params->extra;
  if (extra->pool.indices == NULL) {
    return NULL;
  }
  config->extra_size = (uint32_t)extra->indices_token_stride;
  args->extra_kv = extra->pool.kv;
  args->extra_block_stride_bytes = extra->pool.block_stride_bytes;
  args->extra_slot_stride_bytes = extra->pool.slot_stride_bytes;
  args->extra_inv_scale = extra->pool.inv_scale;
  args->extra_indices = extra->pool.indices;
  args->extra_lens = extra->lens;
  args->extra_block_size = extra->block_size;
  args->extra_num_blocks = extra->num_slots / extra->block_size;
  args->extra_scale = extra->pool.scale;
  return find_format(&extra->pool, config->head_dim, extra->block_size, 1, &config->extra_format)
             ? NULL
             : "the extra pool's strides are no format's";
}

static const char *read_v(const swa_params *params, swa_jit_config *config, swa_jit_decode_args *args)
{
  const swa_pool *v = &params->v;
  if (v->indices == NULL) {
    return NULL;
  }
  config->head_dim_v = (uint32_t)params->out_head_stride;
  args->v = v->kv;
  args->v_block_stride_bytes = v->block_stride_bytes;
  args->v_slot_stride_bytes = v->slot_stride_bytes;
  args->v_head_stride_bytes = v->kv_head_stride_bytes;
  args->v_inv_scale = v->inv_scale;
  args->v_indices = v->indices;
  args->v_scale = v->scale;
  return has_strides(v, config->kv_format, config->head_dim_v, args->block_size, args->num_kv_heads)
             ? NULL
             : "V's strides are not those of K's format";
}

static void read_window(const swa_params *params, swa_jit_decode_args *args)
{
  const swa_scope *window = &params->window;
  args->kv = window->pool.kv;
  args->block_stride_bytes = window->pool.block_stride_bytes;
  args->slot_stride_bytes = window->pool.slot_stride_bytes;
  args->kv_head_stride_bytes = window->pool.kv_head_stride_bytes;
  args->inv_scale = window->pool.inv_scale;
  args->indices = window->pool.indices;
  args->lens = window->lens;
  args->block_size = window->block_size;
  args->num_blocks = window->num_slots / window->block_size;
  args->kv_scale = window->pool.scale;
  args->num_kv_heads = params->num_kv_heads;
}

static void read_rest(const swa_params *params, swa_jit_decode_args *args)
{
  args->num_tokens = params->num_tokens;
  args->num_heads = params->num_heads;
  args->q = params->q;
  args->q_token_stride = params->q_token_stride;
  args->q_head_stride = params->q_head_stride;
  args->out = params->out;
  args->out_token_stride = params->out_token_stride;
  args->out_head_stride = params->out_head_stride;
  args->lse = params->lse;
  args->lse_token_stride = params->lse_token_stride;
  args->lse_head_stride = params->lse_head_stride;
  args->lse_form = params->lse_form;
  args->scale = params->scale;
  args->soft_cap = params->soft_cap;
  args->sinks = params->sinks;
}

const char *fake_kernel_read(const swa_params *params, swa_jit_config *config_out, swa_jit_decode_args *args_out)
{
  static const swa_jit_config usual_config = SWA_JIT_CONFIG_INIT;
  static const swa_jit_decode_args usual_args = SWA_JIT_DECODE_ARGS_INIT;
  *config_out = usual_config;
  *args_out = usual_args;
  config_out->head_dim = (uint32_t)params->q_head_stride;
  config_out->window_size = (uint32_t)params->window.indices_token_stride;
  config_out->sinks = params->sinks != NULL;
  config_out->soft_cap = params->soft_cap != 0.0f;
  read_window(params, args_out);
  read_rest(params, args_out);
  if (!find_format(&params->window.pool, config_out->head_dim, args_out->block_size, args_out->num_kv_heads,
                   &config_out->kv_format)) {
    return "the pool's strides are no format's";
  }
  const char *fault = read_v(params, config_out, args_out);
  return fault != NULL ? fault : read_extra(params, config_out, args_out);
}

/* ---- results ---------------------------------------------------------------------------------------------- */

static uint16_t *find_row(const swa_jit_decode_args *args, uint64_t at)
{
  int64_t token = (int64_t)(at / args->num_heads), head = (int64_t)(at % args->num_heads);
  return (uint16_t *)args->out + token * args->out_token_stride + head * args->out_head_stride;
}

static float *find_lse(const swa_jit_decode_args *args, uint64_t at)
{
  int64_t token = (int64_t)(at / args->num_heads), head = (int64_t)(at % args->num_heads);
  return args->lse + token * args->lse_token_stride + head * args->lse_head_stride;
}

static void write_results(const swa_jit_decode_args *args, uint32_t dim, const double *out, const double *lse,
                          const char *fault)
{
  uint64_t num_rows = (uint64_t)args->num_tokens * args->num_heads;
  for (uint64_t at = 0; at < num_rows; at++) {
    uint32_t written = at + 1 == num_rows && strcmp(fault, "unwritten") == 0 ? dim - 1 : dim;
    for (uint32_t d = 0; d < written; d++) {
      find_row(args, at)[d] = sj_reference_bf16_from_double(out[at * dim + d]);
    }
    if (args->lse != NULL) {
      *find_lse(args, at) = (float)lse[at];
    }
  }
  if (strcmp(fault, "wrong") == 0) {
    find_row(args, args->num_heads)[0] = 0x4000;
  }
  if (strcmp(fault, "alone") == 0 && args->num_tokens == 1) {
    find_row(args, 0)[0] ^= 1;
  }
  if (strcmp(fault, "lse") == 0 && args->lse != NULL) {
    *find_lse(args, args->num_heads) += 0.5f;
  }
  if (strcmp(fault, "past") == 0) {
    find_row(args, num_rows - 1)[dim] = 0;
  }
}

/* Its counts, of which there is one at least, are zeros. */
static bool has_workspace(const swa_params *params)
{
  static const char zeros[16];
  return params->workspace != NULL && memcmp(params->workspace, zeros, sizeof zeros) == 0;
}

static const char *read_runnable(const swa_params *params, swa_jit_config *config_out, swa_jit_decode_args *args_out)
{
  return params->num_splits > 1 && !has_workspace(params) ? "splits have no workspace, or one that is not zeroed"
                                                          : fake_kernel_read(params, config_out, args_out);
}

const char *fake_kernel_check(const swa_params *params)
{
  swa_jit_config config;
  swa_jit_decode_args args;
  return read_runnable(params, &config, &args);
}

const char *fake_kernel_run(const swa_params *params, const char *fault)
{
  swa_jit_config config;
  swa_jit_decode_args args;
  const char *reason = read_runnable(params, &config, &args);
  if (reason != NULL) {
    return reason;
  }
  uint32_t dim = sj_reference_out_dim(&config);
  size_t num_rows = (size_t)args.num_tokens * args.num_heads;
  double *out = calloc(num_rows * dim, sizeof *out);
  double *lse = calloc(num_rows, sizeof *lse);
  if (out != NULL && lse != NULL) {
    sj_reference_decode(&config, &args, 1, out, lse);
    write_results(&args, dim, out, lse, fault);
  } else {
    reason = "no memory";
  }
  free(out);
  free(lse);
  return reason;
}
