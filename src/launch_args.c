/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_args.h"

#include <float.h>
#include <limits.h>

#include "launch_scope.h"
#include "workspace.h"

/* ---- counts ------------------------------------------------------------------------------------------------ */

static swa_jit_status check_slots(const char *prefix, uint64_t num_blocks, uint32_t block_size)
{
  uint64_t num_slots;
  if (block_size < 1) {
    return sj_fail(SWA_JIT_INVALID, "%sblock_size is 0: a block has 1 slot or more; set it", prefix);
  }
  if (__builtin_mul_overflow(num_blocks, block_size, &num_slots) || num_slots > INT_MAX) {
    return sj_fail(SWA_JIT_INVALID,
                   "%snum_blocks %llu times %sblock_size %u is too many slots: the most is 2^31 - 1; split the pool",
                   prefix, (unsigned long long)num_blocks, prefix, block_size);
  }
  return SWA_JIT_OK;
}

/* More than one, each of which has CTAs of its own along z. */
static swa_jit_status check_kv_heads(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  uint32_t heads = args->num_heads;
  uint32_t kv_heads = args->num_kv_heads;
  if (heads % kv_heads != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "num_kv_heads is %u: it must divide num_heads, %u, as every KV head has as many query heads",
                   kv_heads, heads);
  }
  if (config->kv_format == SWA_JIT_KV_FOOTER_584 || config->kv_format == SWA_JIT_KV_FOOTER_528) {
    return sj_fail(SWA_JIT_INVALID,
                   "num_kv_heads is %u, and the kernel's kv_format a footer one, whose blocks have one KV head: pass 0 "
                   "or 1, or make a call for each KV head",
                   kv_heads);
  }
  if (config->extra_size != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "num_kv_heads is %u, and the kernel has an extra scope, where there is one KV head: pass 0 or 1, or "
                   "make a call for each KV head",
                   kv_heads);
  }
  if (kv_heads > SJ_MAX_GRID_YZ) {
    return sj_fail(SWA_JIT_INVALID, "num_kv_heads is %u: the most is %d; split the heads into several calls", kv_heads,
                   SJ_MAX_GRID_YZ);
  }
  return SWA_JIT_OK;
}

/* The grid's x is of 31 bits. */
static swa_jit_status check_num_tokens(const swa_jit_config *config, uint32_t num_tokens)
{
  if (num_tokens > INT_MAX) {
    return sj_fail(SWA_JIT_INVALID, "num_tokens is %u: the most is 2^31 - 1; split the call", num_tokens);
  }
  if (config->cluster_size != 0 && num_tokens > INT_MAX / config->cluster_size) {
    return sj_fail(SWA_JIT_INVALID,
                   "num_tokens is %u: the most is %u with the kernel's cluster_size of %u, whose CTAs are 2^31 - 1 at "
                   "most; split the call, or get the kernel of cluster_size=0",
                   num_tokens, INT_MAX / config->cluster_size, config->cluster_size);
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_counts(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  swa_jit_status status = check_num_tokens(config, args->num_tokens);
  if (status != SWA_JIT_OK) {
    return status;
  }
  if (args->num_heads < 1 || args->num_heads > (uint64_t)SJ_MAX_GRID_YZ * config->head_group) {
    return sj_fail(SWA_JIT_INVALID, "num_heads is %u: use 1 to %llu, which is %d times this kernel's head_group of %u",
                   args->num_heads, (unsigned long long)SJ_MAX_GRID_YZ * config->head_group, SJ_MAX_GRID_YZ,
                   config->head_group);
  }
  status = check_slots("", args->num_blocks, args->block_size);
  if (status == SWA_JIT_OK && args->num_kv_heads > 1) {
    status = check_kv_heads(config, args);
  }
  if (status == SWA_JIT_OK && config->extra_size != 0) {
    status = check_slots("extra_", args->extra_num_blocks, args->extra_block_size);
  }
  return status;
}

/* ---- q, out, lse ------------------------------------------------------------------------------------------- */

static sj_tensor q_of(const sj_launch_call *call)
{
  return (sj_tensor){
      .name = "q",
      .num_tokens = call->args->num_tokens,
      .num_heads = call->args->num_heads,
      .token_stride = call->params->q_token_stride,
      .head_stride = call->params->q_head_stride,
      .row_length = call->config->head_dim,
      .element_bytes = SJ_BF16_BYTES,
      .alignment = SJ_ROW_ALIGNMENT,
  };
}

static sj_tensor out_of(const sj_launch_call *call)
{
  return (sj_tensor){
      .name = "out",
      .num_tokens = call->args->num_tokens,
      .num_heads = call->args->num_heads,
      .token_stride = call->params->out_token_stride,
      .head_stride = call->params->out_head_stride,
      .row_length = sj_launch_out_dim(call->config),
      .element_bytes = SJ_BF16_BYTES,
      .alignment = SJ_ROW_ALIGNMENT,
  };
}

static sj_tensor lse_of(const sj_launch_call *call)
{
  return (sj_tensor){
      .name = "lse",
      .num_tokens = call->args->num_tokens,
      .num_heads = call->args->num_heads,
      .token_stride = call->params->lse_token_stride,
      .head_stride = call->params->lse_head_stride,
      .row_length = 1,
      .element_bytes = sizeof(float),
      .alignment = sizeof(float),
  };
}

static swa_jit_status check_tensor(const sj_tensor *tensor, const void *address, sj_extent *extent_out)
{
  swa_jit_status status = sj_tensor_check_address(tensor->name, address, tensor->alignment);
  if (status == SWA_JIT_OK) {
    status = sj_tensor_check_strides(tensor);
  }
  if (status == SWA_JIT_OK) {
    *extent_out = sj_tensor_find_extent(tensor, address);
  }
  return status;
}

/* Different CTAs write the rows: they must not overlap. */
static swa_jit_status check_written(const sj_tensor *tensor, const void *address, sj_extent *extent_out)
{
  swa_jit_status status = check_tensor(tensor, address, extent_out);
  return status == SWA_JIT_OK ? sj_tensor_check_apart(tensor) : status;
}

enum { Q_INPUT = 0 }; /* check_q notes the first */

static swa_jit_status check_q(sj_launch_call *call)
{
  const sj_tensor q = q_of(call);
  call->num_inputs = Q_INPUT + 1;
  return check_tensor(&q, call->args->q, &call->inputs[Q_INPUT]);
}

static swa_jit_status check_out(const sj_launch_call *call, sj_extent *extent_out)
{
  const sj_tensor out = out_of(call);
  return check_written(&out, call->args->out, extent_out);
}

static swa_jit_status check_lse(const sj_launch_call *call, sj_extent *extent_out)
{
  const sj_tensor lse = lse_of(call);
  *extent_out = (sj_extent){.name = "lse"}; /* nowhere */
  if (call->args->lse == NULL) {
    return SWA_JIT_OK;
  }
  if (call->config->lse == 0) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "lse is given, but the kernel was compiled with lse=0: pass NULL, or get the kernel of lse=1");
  }
  return check_written(&lse, call->args->lse, extent_out);
}

/* ---- options ----------------------------------------------------------------------------------------------- */

static swa_jit_status check_sinks(sj_launch_call *call)
{
  if (call->args->sinks == NULL) {
    return SWA_JIT_OK;
  }
  if (call->config->sinks == 0) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "sinks is given, but the kernel was compiled with sinks=0: pass NULL, or get the kernel of sinks=1");
  }
  sj_launch_note_input(call, "sinks", call->args->sinks, (long long)call->args->num_heads * (long long)sizeof(float));
  return sj_tensor_check_address("sinks", call->args->sinks, sizeof(float));
}

static swa_jit_status check_splits(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  const uint32_t splits = args->num_splits;
  if (splits <= 1) {
    return SWA_JIT_OK;
  }
  if (config->splits == 0) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "num_splits is %u, but the kernel was compiled with splits=0: pass 0 or 1, or get the kernel of "
                   "splits=1",
                   splits);
  }
  if (splits > SJ_MAX_SPLITS
      || (uint64_t)splits * (args->num_kv_heads != 0 ? args->num_kv_heads : 1) > SJ_MAX_GRID_YZ) {
    return sj_fail(SWA_JIT_INVALID,
                   "num_splits is %u, for %u KV heads: the most is %d, and %d over all KV heads; pass fewer", splits,
                   args->num_kv_heads != 0 ? args->num_kv_heads : 1, SJ_MAX_SPLITS, SJ_MAX_GRID_YZ);
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_options(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  if ((args->lse_form & ~(uint32_t)SJ_LSE_FORM_BITS) != 0) {
    return sj_fail(SWA_JIT_INVALID, "lse_form is %#x: the bits known are %#x; or SWA_JIT_LSE_ constants, or pass 0",
                   args->lse_form, SJ_LSE_FORM_BITS);
  }
  if ((args->flags & ~(uint32_t)SWA_JIT_DECODE_DEPENDENT) != 0) {
    return sj_fail(SWA_JIT_INVALID, "flags is %#x: the bits known are %#x; or SWA_JIT_DECODE_ constants, or pass 0",
                   args->flags, SWA_JIT_DECODE_DEPENDENT);
  }
  if (!(args->soft_cap >= 0.0f && args->soft_cap <= FLT_MAX)) {
    return sj_fail(SWA_JIT_INVALID, "soft_cap is %g: use a finite number above 0, or 0 for no cap",
                   (double)args->soft_cap);
  }
  if (args->soft_cap > 0.0f && config->soft_cap == 0) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "soft_cap is %g, but the kernel was compiled with soft_cap=0: pass 0, or get the kernel of "
                   "soft_cap=1",
                   (double)args->soft_cap);
  }
  return check_splits(config, args);
}

/* ---- overlaps ---------------------------------------------------------------------------------------------- */

SJ_COLD static swa_jit_status check_overlap_slowly(const sj_launch_call *call, const sj_extent *out,
                                                   const sj_extent *lse)
{
  const sj_tensor q = q_of(call);
  const sj_tensor tensors[] = {out_of(call), lse_of(call)};
  const sj_extent *const outputs[] = {out, lse};
  for (unsigned o = 0; o < 2; o++) {
    for (unsigned i = 0; i < call->num_inputs; i++) {
      const sj_extent *input = &call->inputs[i];
      if (sj_tensor_do_overlap(outputs[o], input)
          && (i != Q_INPUT || sj_tensor_do_rows_meet(&tensors[o], outputs[o]->begin, &q, input->begin))) {
        return sj_tensor_fail_overlap(outputs[o], input);
      }
    }
  }
  if (sj_tensor_do_overlap(out, lse) && sj_tensor_do_rows_meet(&tensors[0], out->begin, &tensors[1], lse->begin)) {
    return sj_tensor_fail_overlap(out, lse);
  }
  return SWA_JIT_OK;
}

/* Pools and other inputs as wholes; q, out and lse also by their rows, which may be slices of one buffer. */
static swa_jit_status check_overlap(const sj_launch_call *call, const sj_extent *out, const sj_extent *lse)
{
  bool is_any = sj_tensor_do_overlap(out, lse);
  for (unsigned i = 0; i < call->num_inputs; i++) {
    is_any |= sj_tensor_do_overlap(out, &call->inputs[i]);
    is_any |= sj_tensor_do_overlap(lse, &call->inputs[i]);
  }
  return is_any ? check_overlap_slowly(call, out, lse) : SWA_JIT_OK;
}

/* The kernel writes there too. How much of it a launch needs is checked later, with the plan. */
static swa_jit_status check_workspace(const sj_launch_call *call, const sj_extent *out, const sj_extent *lse)
{
  const uint64_t bytes = call->args->workspace_bytes;
  const sj_extent workspace =
      sj_tensor_make_extent("workspace", call->args->workspace, bytes < LLONG_MAX ? (long long)bytes : LLONG_MAX);
  const sj_extent *const outputs[] = {out, lse};
  for (unsigned i = 0; i < call->num_inputs + 2; i++) {
    const sj_extent *other = i < 2 ? outputs[i] : &call->inputs[i - 2];
    if (sj_tensor_do_overlap(&workspace, other)) {
      return sj_tensor_fail_overlap(&workspace, other);
    }
  }
  return SWA_JIT_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------- */

swa_jit_status sj_launch_args_count(const swa_jit_config *config, const swa_jit_decode_args *args,
                                    uint64_t *num_ctas_out)
{
  swa_jit_status status = check_counts(config, args);
  if (status == SWA_JIT_OK) {
    status = check_splits(config, args);
  }
  if (status == SWA_JIT_OK) {
    const uint32_t kv_heads = args->num_kv_heads != 0 ? args->num_kv_heads : 1;
    const uint64_t groups = (args->num_heads / kv_heads - 1) / config->head_group + 1;
    *num_ctas_out = (uint64_t)args->num_tokens * groups * kv_heads;
  }
  return status;
}

static void fill(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params)
{
  sj_fill_window(config, args, sj_launch_window_shape(config, args), &params->window);
  params->extra = (swa_scope){0};
  params->v = (swa_pool){0};
  if (config->extra_size != 0) {
    sj_fill_extra(config, args, sj_launch_extra_shape(config, args), &params->extra);
  }
  if (config->head_dim_v != 0) {
    sj_fill_v(args, sj_launch_v_shape(config, args), &params->v);
  }
  sj_fill_q(config, args, params);
  sj_fill_out(config, args, params);
  sj_fill_lse(args, params);
  sj_fill_counts(config, args, params);
  sj_fill_options(args, params);
}

swa_jit_status sj_launch_args_check(const swa_jit_config *config, const swa_jit_decode_args *args,
                                    swa_params *params_out)
{
  sj_launch_call call = {.config = config, .args = args, .params = params_out};
  sj_extent out, lse;
  fill(config, args, params_out);
  swa_jit_status status = check_counts(config, args);
  if (status == SWA_JIT_OK) {
    status = check_options(config, args);
  }
  if (status == SWA_JIT_OK) {
    status = check_q(&call);
  }
  if (status == SWA_JIT_OK) {
    status = sj_launch_check_window(&call);
  }
  if (status == SWA_JIT_OK && config->head_dim_v != 0) {
    status = sj_launch_check_v(&call);
  }
  if (status == SWA_JIT_OK && config->extra_size != 0) {
    status = sj_launch_check_extra(&call);
  }
  if (status == SWA_JIT_OK) {
    status = check_sinks(&call);
  }
  if (status == SWA_JIT_OK) {
    status = check_out(&call, &out);
  }
  if (status == SWA_JIT_OK) {
    status = check_lse(&call, &lse);
  }
  if (status == SWA_JIT_OK) {
    status = check_overlap(&call, &out, &lse);
  }
  return status == SWA_JIT_OK && config->splits != 0 ? check_workspace(&call, &out, &lse) : status;
}
