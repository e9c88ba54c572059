/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "abi.h"
#include "launch.h"
#include "swa_merge_params.h"
#include "tensor.h"

_Static_assert(sizeof(swa_merge_params) == 248, "both sides lay the parameter out alike, without padding");
_Static_assert(SWA_MERGE_MAX_PARTS == sizeof((swa_jit_merge_args){0}.outs) / sizeof(void *), "as many parts as fit");

enum {
  FIRST_ARGS_SIZE = offsetof(swa_jit_merge_args, sinks) + sizeof(float *),
  MAX_HEADS = 65535,   /* with the longest row a CTA each along y, whose most this is */
  MAX_HEAD_DIM = 1024, /* 128 threads of 8 elements: a CTA */
  UNIT_BYTES = 16,     /* that a thread reads and writes */
  BF16_BYTES = 2,
  UNIT_ELEMENTS = UNIT_BYTES / BF16_BYTES,
  WARP_THREADS = 32,
  NO_PART = SWA_MERGE_MAX_PARTS,
  INDEXED_SIZE = 16 /* of "outs[7]" */
};

static const float log2_e = 1.44269504088896340736f;
static const float ln_2 = 0.693147180559945309417f;

/* ---- checks ----------------------------------------------------------------------------------------------- */

static swa_jit_status check_kernel(const struct swa_jit_kernel *kernel)
{
  if (kernel == NULL) {
    return sj_fail(SWA_JIT_INVALID, "kernel is NULL: pass one that swa_jit_kernel_get returned");
  }
  if (kernel->config.kernel != SWA_JIT_KERNEL_MERGE) {
    return sj_fail(SWA_JIT_INVALID, "the kernel is one of kernel=decode: pass it to swa_jit_decode, or get one of "
                                    "kernel=merge");
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_counts(const swa_jit_merge_args *args)
{
  if (args->num_parts < 1 || args->num_parts > SWA_MERGE_MAX_PARTS) {
    return sj_fail(SWA_JIT_INVALID, "num_parts is %u: use 1 to %d; merge more in several calls, sinks in the last",
                   args->num_parts, SWA_MERGE_MAX_PARTS);
  }
  if (args->num_tokens > INT_MAX) {
    return sj_fail(SWA_JIT_INVALID, "num_tokens is %u: the most is 2^31 - 1; split the call", args->num_tokens);
  }
  if (args->num_heads < 1 || args->num_heads > MAX_HEADS) {
    return sj_fail(SWA_JIT_INVALID, "num_heads is %u: use 1 to %d; split the call", args->num_heads, MAX_HEADS);
  }
  if (args->head_dim < UNIT_ELEMENTS || args->head_dim > MAX_HEAD_DIM || args->head_dim % UNIT_ELEMENTS != 0) {
    return sj_fail(SWA_JIT_INVALID, "head_dim is %u: use a multiple of %d from %d to %d; pad the rows", args->head_dim,
                   UNIT_ELEMENTS, UNIT_ELEMENTS, MAX_HEAD_DIM);
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_bits(const char *name, uint32_t given, uint32_t known)
{
  return (given & ~known) == 0
             ? SWA_JIT_OK
             : sj_fail(SWA_JIT_INVALID,
                       "%s is %u: the bits that it may have are %u; begin with swa_jit_merge_args_init", name, given,
                       known);
}

static swa_jit_status check_forms(const swa_jit_merge_args *args)
{
  const uint32_t parts_known = SWA_JIT_LSE_BASE_2 | SWA_JIT_LSE_EMPTY_PLUS_INFINITY;
  swa_jit_status status = check_bits("flags", args->flags, SWA_JIT_DECODE_DEPENDENT);
  if (status == SWA_JIT_OK && (args->parts_form & SWA_JIT_LSE_WITH_SINK) != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "parts_form is %u, with SWA_JIT_LSE_WITH_SINK: the sink would count once a part; make the parts "
                   "without sinks and give sinks to the merge",
                   args->parts_form);
  }
  if (status == SWA_JIT_OK) {
    status = check_bits("parts_form", args->parts_form, parts_known);
  }
  return status == SWA_JIT_OK ? check_bits("lse_form", args->lse_form, parts_known | SWA_JIT_LSE_WITH_SINK) : status;
}

static swa_jit_status check_part_address(const char *name, unsigned part, const void *address, unsigned alignment)
{
  if (address != NULL && ((uintptr_t)address & (alignment - 1)) == 0) {
    return SWA_JIT_OK; /* its name need not be written */
  }
  char indexed[INDEXED_SIZE];
  snprintf(indexed, sizeof indexed, "%s[%u]", name, part);
  return sj_tensor_check_address(indexed, address, alignment);
}

static sj_tensor make_scalars(const swa_jit_merge_args *args, const char *name, long long token_stride,
                              long long head_stride)
{
  return (sj_tensor){
      .name = name,
      .num_tokens = args->num_tokens,
      .num_heads = args->num_heads,
      .token_stride = token_stride,
      .head_stride = head_stride,
      .row_length = 1,
      .element_bytes = sizeof(float),
      .alignment = sizeof(float),
  };
}

static sj_tensor make_rows(const swa_jit_merge_args *args, const char *name, long long token_stride,
                           long long head_stride)
{
  sj_tensor rows = make_scalars(args, name, token_stride, head_stride);
  rows.row_length = args->head_dim;
  rows.element_bytes = BF16_BYTES;
  rows.alignment = UNIT_BYTES;
  return rows;
}

/* The parts' tensors are alike. */
typedef struct tensors {
  sj_tensor outs, lses, out, lse, sinks;
} tensors;

static tensors make_tensors(const swa_jit_merge_args *args, const swa_merge_params *params)
{
  tensors all = {
      .outs = make_rows(args, "outs", params->outs_token_stride, params->outs_head_stride),
      .lses = make_scalars(args, "lses", params->lses_token_stride, params->lses_head_stride),
      .out = make_rows(args, "out", params->out_token_stride, params->out_head_stride),
      .lse = make_scalars(args, "lse", params->lse_token_stride, params->lse_head_stride),
      .sinks = make_scalars(args, "sinks", 0, 1),
  };
  all.sinks.num_tokens = 1;
  return all;
}

static swa_jit_status check_parts(const swa_jit_merge_args *args, const tensors *all)
{
  swa_jit_status status = SWA_JIT_OK;
  for (unsigned i = 0; i < args->num_parts && status == SWA_JIT_OK; i++) {
    status = check_part_address("outs", i, args->outs[i], UNIT_BYTES);
    if (status == SWA_JIT_OK) {
      status = check_part_address("lses", i, args->lses[i], sizeof(float));
    }
  }
  if (status == SWA_JIT_OK) {
    status = sj_tensor_check_strides(&all->outs);
  }
  return status == SWA_JIT_OK ? sj_tensor_check_strides(&all->lses) : status;
}

static swa_jit_status check_written(const sj_tensor *tensor, const void *address)
{
  swa_jit_status status = sj_tensor_check_address(tensor->name, address, tensor->alignment);
  if (status == SWA_JIT_OK) {
    status = sj_tensor_check_strides(tensor);
  }
  return status == SWA_JIT_OK ? sj_tensor_check_apart(tensor) : status;
}

static swa_jit_status check_tensors(const swa_jit_merge_args *args, const tensors *all)
{
  swa_jit_status status = check_parts(args, all);
  if (status == SWA_JIT_OK) {
    status = check_written(&all->out, args->out);
  }
  if (status == SWA_JIT_OK && args->lse != NULL) {
    status = check_written(&all->lse, args->lse);
  }
  return status == SWA_JIT_OK && args->sinks != NULL ? sj_tensor_check_address("sinks", args->sinks, sizeof(float))
                                                     : status;
}

/* ---- overlaps --------------------------------------------------------------------------------------------- */

static bool do_meet(const sj_tensor *a, const void *a_address, const sj_tensor *b, const void *b_address)
{
  const sj_extent a_extent = sj_tensor_find_extent(a, a_address);
  const sj_extent b_extent = sj_tensor_find_extent(b, b_address);
  return sj_tensor_do_overlap(&a_extent, &b_extent)
         && sj_tensor_do_rows_meet(a, (uintptr_t)a_address, b, (uintptr_t)b_address);
}

/* part: of a part's tensor, or NO_PART. */
SJ_COLD static swa_jit_status fail_overlap(const sj_tensor *written, const void *address, sj_tensor read,
                                           const void *read_address, unsigned part)
{
  char indexed[INDEXED_SIZE];
  if (part != NO_PART) {
    snprintf(indexed, sizeof indexed, "%s[%u]", read.name, part);
    read.name = indexed;
  }
  const sj_extent written_extent = sj_tensor_find_extent(written, address);
  const sj_extent read_extent = sj_tensor_find_extent(&read, read_address);
  return sj_tensor_fail_overlap(&written_extent, &read_extent);
}

/* A thread reads all of the parts that it needs before it writes in their place: the same place, so the strides that
 * count must be the same. */
static swa_jit_status check_in_place(const swa_jit_merge_args *args, const tensors *all, unsigned part)
{
  const sj_tensor *out = &all->out, *outs = &all->outs;
  const bool is_token = args->num_tokens > 1 && out->token_stride != outs->token_stride;
  if (is_token || (args->num_heads > 1 && out->head_stride != outs->head_stride)) {
    const char *axis = is_token ? "token" : "head";
    return sj_fail(SWA_JIT_INVALID,
                   "out is outs[%u], and out_%s_stride is %lld where outs_%s_stride is %lld: in place the strides must "
                   "be the same; correct them, or use another tensor",
                   part, axis, is_token ? out->token_stride : out->head_stride, axis,
                   is_token ? outs->token_stride : outs->head_stride);
  }
  return SWA_JIT_OK;
}

/* What is written must be nothing that another thread still has to read. */
static swa_jit_status check_overlap_of(const swa_jit_merge_args *args, const tensors *all, const sj_tensor *written,
                                       const void *address)
{
  for (unsigned i = 0; i < args->num_parts; i++) {
    if (written == &all->out && address == args->outs[i]) {
      const swa_jit_status status = check_in_place(args, all, i);
      if (status != SWA_JIT_OK) {
        return status;
      }
    } else if (do_meet(written, address, &all->outs, args->outs[i])) {
      return fail_overlap(written, address, all->outs, args->outs[i], i);
    }
    if (do_meet(written, address, &all->lses, args->lses[i])) {
      return fail_overlap(written, address, all->lses, args->lses[i], i);
    }
  }
  if (args->sinks != NULL && do_meet(written, address, &all->sinks, args->sinks)) {
    return fail_overlap(written, address, all->sinks, args->sinks, NO_PART);
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_overlap(const swa_jit_merge_args *args, const tensors *all)
{
  swa_jit_status status = check_overlap_of(args, all, &all->out, args->out);
  if (status != SWA_JIT_OK || args->lse == NULL) {
    return status;
  }
  if (do_meet(&all->lse, args->lse, &all->out, args->out)) {
    return fail_overlap(&all->lse, args->lse, all->out, args->out, NO_PART);
  }
  return check_overlap_of(args, all, &all->lse, args->lse);
}

/* ---- the parameter ---------------------------------------------------------------------------------------- */

static long long stride_or(int64_t given, long long packed)
{
  return given != 0 ? given : packed;
}

/* A packed token stride that overflows is refused wherever it counts: as one that reaches too far. */
static long long token_stride_or(int64_t given, uint32_t num_heads, long long head_stride)
{
  long long packed;
  if (__builtin_mul_overflow((long long)num_heads, head_stride, &packed)) {
    packed = LLONG_MAX - (UNIT_ELEMENTS - 1);
  }
  return stride_or(given, packed);
}

static float empty_value(uint32_t form)
{
  return (form & SWA_JIT_LSE_EMPTY_PLUS_INFINITY) != 0 ? INFINITY : -INFINITY;
}

static void fill_params(const swa_jit_merge_args *args, swa_merge_params *params)
{
  *params = (swa_merge_params){.out = args->out, .lse = args->lse, .sinks = args->sinks};
  for (unsigned i = 0; i < args->num_parts; i++) {
    params->outs[i] = args->outs[i];
    params->lses[i] = args->lses[i];
  }
  params->outs_head_stride = stride_or(args->outs_head_stride, args->head_dim);
  params->outs_token_stride = token_stride_or(args->outs_token_stride, args->num_heads, params->outs_head_stride);
  params->lses_head_stride = stride_or(args->lses_head_stride, 1);
  params->lses_token_stride = token_stride_or(args->lses_token_stride, args->num_heads, params->lses_head_stride);
  params->out_head_stride = stride_or(args->out_head_stride, args->head_dim);
  params->out_token_stride = token_stride_or(args->out_token_stride, args->num_heads, params->out_head_stride);
  params->lse_head_stride = stride_or(args->lse_head_stride, 1);
  params->lse_token_stride = token_stride_or(args->lse_token_stride, args->num_heads, params->lse_head_stride);
  params->num_parts = args->num_parts;
  params->num_heads = args->num_heads;
  params->row_units = args->head_dim / UNIT_ELEMENTS;
  params->lse_with_sink = (args->lse_form & SWA_JIT_LSE_WITH_SINK) != 0;
  params->parts_lse_factor = (args->parts_form & SWA_JIT_LSE_BASE_2) != 0 ? ln_2 : 1.0f;
  params->lse_factor = (args->lse_form & SWA_JIT_LSE_BASE_2) != 0 ? log2_e : 1.0f;
  params->parts_empty_lse = empty_value(args->parts_form);
  params->empty_lse = empty_value(args->lse_form);
}

swa_jit_status sj_merge_launch(const struct swa_jit_kernel *kernel, const swa_jit_merge_args *args,
                               swa_jit_stream stream)
{
  swa_merge_params params;
  swa_jit_status status = check_kernel(kernel);
  if (status == SWA_JIT_OK) {
    status = sj_abi_check(args, FIRST_ARGS_SIZE, sizeof *args, "swa_jit_merge_args");
  }
  if (status != SWA_JIT_OK || args->num_tokens == 0) {
    return status;
  }
  status = check_counts(args);
  if (status == SWA_JIT_OK) {
    status = check_forms(args);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  fill_params(args, &params);
  const tensors all = make_tensors(args, &params);
  status = check_tensors(args, &all);
  if (status == SWA_JIT_OK) {
    status = check_overlap(args, &all);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  const unsigned num_threads = WARP_THREADS * kernel->plan.num_warps;
  const unsigned token_units = params.num_heads * params.row_units;
  const sj_launch_grid grid = {args->num_tokens, (token_units + num_threads - 1) / num_threads, 1, &params,
                               sj_launch_may_depend(kernel, args->flags)};
  return sj_launch_kernel(kernel, &grid, stream);
}
