/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <limits.h>

#include "abi.h"
#include "swa_params.h"

_Static_assert(sizeof(swa_params) == 328, "both sides lay the parameter out alike, without padding");

enum {
  FIRST_ARGS_SIZE = offsetof(swa_jit_decode_args, extra_scale) + sizeof(float),
  MAX_GRID_Y = 65535, /* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" */
  ROW_ALIGNMENT = 16, /* bytes: rows are read and written 16 bytes at a time */
  BF16_BYTES = 2,
  WARP_THREADS = 32
};

static swa_jit_status check_pointer(const char *name, const void *pointer, unsigned alignment)
{
  if (pointer == NULL) {
    return sj_fail(SWA_JIT_INVALID, "%s is NULL: pass the tensor's device address", name);
  }
  if (((uintptr_t)pointer & (alignment - 1)) != 0) {
    return sj_fail(SWA_JIT_INVALID, "%s is %p: the address must be a multiple of %u bytes; align the tensor", name,
                   pointer, alignment);
  }
  return SWA_JIT_OK;
}

/* Over an extent of 1 only the alignment of a stride counts. */
static swa_jit_status check_stride(const char *name, long long stride, unsigned multiple, uint64_t extent,
                                   long long minimum)
{
  if (((unsigned long long)stride & (multiple - 1)) != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "%s is %lld: it must be a multiple of %u, so that every row begins at a multiple of %d bytes; pad "
                   "the rows, or pass 0 for packed ones",
                   name, stride, multiple, ROW_ALIGNMENT);
  }
  if (extent > 1 && stride < minimum) {
    return sj_fail(SWA_JIT_INVALID, "%s is %lld: the least is %lld; correct it, or pass 0 for packed rows", name,
                   stride, minimum);
  }
  return SWA_JIT_OK;
}

/* Whether the last byte of outer x inner rows lies within 2^63 bytes of the first: then no address overflows. */
static bool is_addressable(uint64_t outer, long long outer_stride, uint64_t inner, long long inner_stride,
                           long long row_length, long long unit_bytes)
{
  long long outer_reach;
  long long inner_reach;
  long long reach;
  return !__builtin_mul_overflow(outer - 1, outer_stride, &outer_reach)
         && !__builtin_mul_overflow(inner - 1, inner_stride, &inner_reach)
         && !__builtin_add_overflow(outer_reach, inner_reach, &reach)
         && !__builtin_add_overflow(reach, row_length, &reach) && !__builtin_mul_overflow(reach, unit_bytes, &reach);
}

static swa_jit_status fail_reach(const char *outer_name, long long outer_stride, uint64_t outer, const char *inner_name,
                                 long long inner_stride, uint64_t inner)
{
  return sj_fail(SWA_JIT_INVALID,
                 "%s %lld over an extent of %llu and %s %lld over %llu reach past 2^63 - 1 bytes: correct the strides",
                 outer_name, outer_stride, (unsigned long long)outer, inner_name, inner_stride,
                 (unsigned long long)inner);
}

static swa_jit_status check_counts(const swa_jit_config *config, const swa_jit_decode_args *args)
{
  uint64_t num_slots;
  if (args->num_tokens > INT_MAX) {
    return sj_fail(SWA_JIT_INVALID, "num_tokens is %u: the most is 2^31 - 1; split the call", args->num_tokens);
  }
  if (args->num_heads < 1 || args->num_heads > (uint64_t)MAX_GRID_Y * config->head_group) {
    return sj_fail(SWA_JIT_INVALID, "num_heads is %u: use 1 to %llu, which is %d times this kernel's head_group of %u",
                   args->num_heads, (unsigned long long)MAX_GRID_Y * config->head_group, MAX_GRID_Y,
                   config->head_group);
  }
  if (args->block_size < 1) {
    return sj_fail(SWA_JIT_INVALID, "block_size is 0: a block has 1 slot or more; set it");
  }
  if (__builtin_mul_overflow(args->num_blocks, args->block_size, &num_slots) || num_slots > INT_MAX) {
    return sj_fail(SWA_JIT_INVALID,
                   "num_blocks %llu times block_size %u is too many slots: the most is 2^31 - 1; split the pool",
                   (unsigned long long)args->num_blocks, args->block_size);
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_q(const swa_jit_config *config, const swa_jit_decode_args *args, const swa_params *block)
{
  uint64_t tokens = args->num_tokens;
  uint64_t heads = args->num_heads;
  swa_jit_status status = check_pointer("q", args->q, ROW_ALIGNMENT);
  if (status == SWA_JIT_OK) {
    status = check_stride("q_token_stride", block->q_token_stride, ROW_ALIGNMENT / BF16_BYTES, tokens,
                          ROW_ALIGNMENT / BF16_BYTES);
  }
  if (status == SWA_JIT_OK) {
    status = check_stride("q_head_stride", block->q_head_stride, ROW_ALIGNMENT / BF16_BYTES, heads, config->head_dim);
  }
  if (status == SWA_JIT_OK
      && !is_addressable(tokens, block->q_token_stride, heads, block->q_head_stride, config->head_dim, BF16_BYTES)) {
    status = fail_reach("q_token_stride", block->q_token_stride, tokens, "q_head_stride", block->q_head_stride, heads);
  }
  return status;
}

/* Different CTAs write the rows, so they must not overlap. Heads may lie within tokens or tokens within heads. */
static swa_jit_status check_out_rows(const swa_jit_config *config, const swa_params *block)
{
  long long head_dim = config->head_dim;
  long long last_token = ((long long)block->num_tokens - 1) * block->out_token_stride;
  long long last_head = ((long long)block->num_heads - 1) * block->out_head_stride;
  bool tokens_outside = block->num_tokens == 1 || block->out_token_stride >= last_head + head_dim;
  bool heads_outside = block->out_token_stride >= head_dim && block->out_head_stride >= last_token + head_dim;
  if (!tokens_outside && !heads_outside) {
    return sj_fail(SWA_JIT_INVALID,
                   "out rows overlap: out_token_stride is %lld and out_head_stride %lld, for %u tokens and %u heads of "
                   "%lld elements; out_token_stride must be %lld or more (or out_head_stride %lld or more, with the "
                   "tokens of a head side by side)",
                   block->out_token_stride, block->out_head_stride, block->num_tokens, block->num_heads, head_dim,
                   last_head + head_dim, last_token + head_dim);
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_out(const swa_jit_config *config, const swa_jit_decode_args *args, const swa_params *block)
{
  uint64_t tokens = args->num_tokens;
  uint64_t heads = args->num_heads;
  swa_jit_status status = check_pointer("out", args->out, ROW_ALIGNMENT);
  if (status == SWA_JIT_OK) {
    status =
        check_stride("out_token_stride", block->out_token_stride, ROW_ALIGNMENT / BF16_BYTES, tokens, config->head_dim);
  }
  if (status == SWA_JIT_OK) {
    status =
        check_stride("out_head_stride", block->out_head_stride, ROW_ALIGNMENT / BF16_BYTES, heads, config->head_dim);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  if (!is_addressable(tokens, block->out_token_stride, heads, block->out_head_stride, config->head_dim, BF16_BYTES)) {
    return fail_reach("out_token_stride", block->out_token_stride, tokens, "out_head_stride", block->out_head_stride,
                      heads);
  }
  return check_out_rows(config, block);
}

static swa_jit_status check_kv(const swa_jit_config *config, const swa_jit_decode_args *args, const swa_params *block)
{
  uint64_t blocks = args->num_blocks;
  uint64_t slots = args->block_size;
  unsigned scale_bytes = config->scale_type == SWA_JIT_BFLOAT16 ? 2 : 4;
  swa_jit_status status = SWA_JIT_OK;
  if (blocks == 0) {
    return status; /* no slot exists: nothing of the pool is read */
  }
  status = check_pointer("kv", args->kv, ROW_ALIGNMENT);
  if (status == SWA_JIT_OK) {
    status = check_pointer("inv_scale", args->inv_scale, scale_bytes);
  }
  if (status == SWA_JIT_OK) {
    status =
        check_stride("slot_stride_bytes", block->window.pool.slot_stride_bytes, ROW_ALIGNMENT, slots, config->head_dim);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  if (!is_addressable(blocks, block->window.pool.block_stride_bytes, slots, block->window.pool.slot_stride_bytes,
                      config->head_dim, 1)) {
    return fail_reach("block_stride_bytes", block->window.pool.block_stride_bytes, blocks, "slot_stride_bytes",
                      block->window.pool.slot_stride_bytes, slots);
  }
  return check_stride("block_stride_bytes", block->window.pool.block_stride_bytes, ROW_ALIGNMENT, blocks,
                      ((long long)slots - 1) * block->window.pool.slot_stride_bytes + config->head_dim);
}

static swa_jit_status check_indices(const swa_jit_config *config, const swa_jit_decode_args *args,
                                    const swa_params *block)
{
  unsigned index_bytes = config->index_type == SWA_JIT_INT64 ? 8 : 4;
  unsigned lens_bytes = config->lens_type == SWA_JIT_INT64 ? 8 : 4;
  swa_jit_status status = check_pointer("indices", args->indices, index_bytes);
  if (status == SWA_JIT_OK) {
    status = check_stride("indices_token_stride", block->window.indices_token_stride, 1, args->num_tokens, 1);
  }
  if (status == SWA_JIT_OK
      && !is_addressable(args->num_tokens, block->window.indices_token_stride, 1, 0, config->window_size,
                         index_bytes)) {
    status = fail_reach("indices_token_stride", block->window.indices_token_stride, args->num_tokens, "window_size", 1,
                        config->window_size);
  }
  return status == SWA_JIT_OK ? check_pointer("lens", args->lens, lens_bytes) : status;
}

static swa_jit_status check_lse(const swa_jit_config *config, const swa_jit_decode_args *args, const swa_params *block)
{
  if (args->lse == NULL) {
    return SWA_JIT_OK;
  }
  if (config->lse == 0) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "lse is given, but the kernel was compiled with lse=0: pass NULL, or get the kernel of lse=1");
  }
  swa_jit_status status = check_pointer("lse", args->lse, sizeof(float));
  if (status == SWA_JIT_OK) {
    status = check_stride("lse_token_stride", block->lse_token_stride, 1, args->num_tokens, args->num_heads);
  }
  if (status == SWA_JIT_OK
      && !is_addressable(args->num_tokens, block->lse_token_stride, 1, 0, args->num_heads, sizeof(float))) {
    status = fail_reach("lse_token_stride", block->lse_token_stride, args->num_tokens, "num_heads", 1, args->num_heads);
  }
  return status;
}

static long long stride_or(int64_t given, long long packed)
{
  return given != 0 ? given : packed;
}

/* The parameter, with zero strides resolved. A packed block stride that overflows becomes the largest multiple of
 * 16, which check_kv refuses wherever it counts. */
static void fill_block(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *block)
{
  long long head_dim = config->head_dim;
  long long packed_token = args->num_heads * head_dim;
  long long packed_block;
  *block = (swa_params){0};
  block->window.pool.slot_stride_bytes = stride_or(args->slot_stride_bytes, head_dim);
  if (__builtin_mul_overflow(args->block_size, block->window.pool.slot_stride_bytes, &packed_block)) {
    packed_block = LLONG_MAX - (ROW_ALIGNMENT - 1);
  }
  block->q = args->q;
  block->window.pool.kv = args->kv;
  block->window.pool.inv_scale = args->inv_scale;
  block->window.pool.indices = args->indices;
  block->window.lens = args->lens;
  block->out = args->out;
  block->lse = args->lse;
  block->q_token_stride = stride_or(args->q_token_stride, packed_token);
  block->q_head_stride = stride_or(args->q_head_stride, head_dim);
  block->window.pool.block_stride_bytes = stride_or(args->block_stride_bytes, packed_block);
  block->window.indices_token_stride = stride_or(args->indices_token_stride, config->window_size);
  block->out_token_stride = stride_or(args->out_token_stride, packed_token);
  block->out_head_stride = stride_or(args->out_head_stride, head_dim);
  block->lse_token_stride = stride_or(args->lse_token_stride, args->num_heads);
  block->num_tokens = args->num_tokens;
  block->num_heads = args->num_heads;
  block->num_kv_heads = args->num_kv_heads != 0 ? args->num_kv_heads : 1;
  block->kv_head_heads = args->num_heads / block->num_kv_heads;
  block->kv_head_groups = (unsigned)(((uint64_t)block->kv_head_heads + config->head_group - 1) / config->head_group);
  block->lse_head_stride = stride_or(args->lse_head_stride, 1);
  block->window.pool.scale = args->kv_scale;
  block->window.block_size = args->block_size;
  block->window.num_slots = (unsigned)(args->num_blocks * args->block_size);
  block->scale = args->scale;
}

static swa_jit_status make_block(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *block_out)
{
  swa_jit_status status = check_counts(config, args);
  if (status != SWA_JIT_OK) {
    return status;
  }
  fill_block(config, args, block_out);
  status = check_q(config, args, block_out);
  if (status == SWA_JIT_OK) {
    status = check_kv(config, args, block_out);
  }
  if (status == SWA_JIT_OK) {
    status = check_indices(config, args, block_out);
  }
  if (status == SWA_JIT_OK) {
    status = check_out(config, args, block_out);
  }
  return status == SWA_JIT_OK ? check_lse(config, args, block_out) : status;
}

/* The compute capability of the device that stream belongs to (NULL: the current context's). False when unknown. */
static bool find_capability(const sj_cuda_api *cuda, swa_jit_stream stream, int *major_out, int *minor_out)
{
  sj_cu_context context = NULL;
  sj_cu_device device;
  if (cuda->stream_get_ctx(stream, &context) != SJ_CU_SUCCESS || context == NULL) {
    return false;
  }
  if (cuda->ctx_push_current(context) != SJ_CU_SUCCESS) {
    return false;
  }
  bool is_found = cuda->ctx_get_device(&device) == SJ_CU_SUCCESS;
  cuda->ctx_pop_current(&context);
  return is_found && cuda->device_get_attribute(major_out, SJ_CU_DEVICE_MAJOR, device) == SJ_CU_SUCCESS
         && cuda->device_get_attribute(minor_out, SJ_CU_DEVICE_MINOR, device) == SJ_CU_SUCCESS;
}

/* The cold path: why cuLaunchKernel refused. */
static swa_jit_status fail_launch(const struct swa_jit_kernel *kernel, swa_jit_stream stream, int result)
{
  int major = 0;
  int minor = 0;
  if (find_capability(kernel->cuda, stream, &major, &minor) && !sj_arch_runs_on(kernel->arch, major, minor)) {
    const sj_arch *other = sj_arch_for_device(major, minor);
    return sj_fail(SWA_JIT_WRONG_DEVICE,
                   "the kernel is for %s, and the %s's device has compute capability %d.%d (%s): get the kernel of "
                   "that architecture, or launch on another device's stream",
                   kernel->arch->name, stream != NULL ? "stream" : "current context", major, minor,
                   other != NULL ? other->name : "not served");
  }
  return sj_cuda_fail(kernel->cuda, "cuLaunchKernel", result);
}

/* function: the kernel's in the current context, or its CUkernel handle. */
static int launch_function(const struct swa_jit_kernel *kernel, sj_cu_function function, const sj_launch_grid *grid,
                           swa_jit_stream stream)
{
  void *params[1] = {grid->params};
  return kernel->cuda->launch_kernel(function, grid->x, grid->y, 1, WARP_THREADS * kernel->plan.num_warps, 1, 1,
                                     kernel->plan.shared_memory_bytes, stream, params, NULL);
}

/* The CUkernel takes the stream's context, whichever is current, but costs the driver more than the context's function.
 * A function is refused on a stream of another context: then it is the CUkernel's turn. */
swa_jit_status sj_launch_kernel(const struct swa_jit_kernel *kernel, const sj_launch_grid *grid, swa_jit_stream stream)
{
  sj_cu_function function = sj_load_find_function(kernel->cuda, &kernel->loaded);
  int result = SJ_CU_ERROR_INVALID_HANDLE;
  if (function != NULL) {
    result = launch_function(kernel, function, grid, stream);
  }
  if (result == SJ_CU_ERROR_INVALID_HANDLE || result == SJ_CU_ERROR_INVALID_CONTEXT) {
    result = launch_function(kernel, (sj_cu_function)kernel->loaded.kernel, grid, stream);
  }
  return result == SJ_CU_SUCCESS ? SWA_JIT_OK : fail_launch(kernel, stream, result);
}

swa_jit_status sj_launch_decode(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                swa_jit_stream stream)
{
  if (kernel == NULL) {
    return sj_fail(SWA_JIT_INVALID, "kernel is NULL: pass one that swa_jit_kernel_get returned");
  }
  if (kernel->config.kernel != SWA_JIT_KERNEL_DECODE) {
    return sj_fail(SWA_JIT_INVALID, "the kernel is one of kernel=merge: pass it to swa_jit_merge, or get one of "
                                    "kernel=decode");
  }
  swa_jit_status status = sj_abi_check(args, FIRST_ARGS_SIZE, sizeof *args, "swa_jit_decode_args");
  if (status != SWA_JIT_OK) {
    return status;
  }
  if (args->reserved != 0) {
    return sj_fail(SWA_JIT_INVALID, "reserved is %u: it must be 0; begin with swa_jit_decode_args_init",
                   args->reserved);
  }
  if (args->num_tokens == 0) {
    return SWA_JIT_OK;
  }
  swa_params block;
  status = make_block(&kernel->config, args, &block);
  if (status != SWA_JIT_OK) {
    return status;
  }
  const sj_launch_grid grid = {block.num_tokens, block.num_kv_heads * block.kv_head_groups, &block};
  return sj_launch_kernel(kernel, &grid, stream);
}
