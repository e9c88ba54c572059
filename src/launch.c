/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include "abi.h"
#include "launch_args.h"
#include "launch_usual.h"
#include "tensor.h"
#include "workspace.h"

enum { HOT_CODE_ALIGNMENT = 2048 }; /* bytes, more than swa_jit_decode has */
enum { FIRST_ARGS_SIZE = offsetof(swa_jit_decode_args, workspace_bytes) + sizeof(uint64_t), WARP_THREADS = 32 };

SJ_INLINE sj_launch_grid make_grid(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                   swa_params *params)
{
  return (sj_launch_grid){params->num_tokens * sj_launch_or_1(kernel->config.cluster_size), params->kv_head_groups,
                          params->num_kv_heads * params->num_splits, params, sj_launch_may_depend(kernel, args->flags)};
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

/* The cold path: why the driver refused. */
SJ_COLD static swa_jit_status fail_launch(const struct swa_jit_kernel *kernel, const sj_launch_grid *grid,
                                          swa_jit_stream stream, int result)
{
  int major = 0;
  int minor = 0;
  if (find_capability(kernel->cuda, stream, &major, &minor)
      && !sj_load_runs_on(kernel->arch, kernel->loaded.is_ptx, major, minor)) {
    const sj_arch *other = sj_arch_for_device(major, minor);
    return sj_fail(SWA_JIT_WRONG_DEVICE,
                   "the kernel is for %s, and the %s's device has compute capability %d.%d (%s): get the kernel of "
                   "that architecture, or launch on another device's stream",
                   kernel->arch->name, stream != NULL ? "stream" : "current context", major, minor,
                   other != NULL ? other->name : "not served");
  }
  return sj_cuda_fail(kernel->cuda, grid->is_dependent ? "cuLaunchKernelEx" : "cuLaunchKernel", result);
}

/* function: the kernel's in the current context, or its CUkernel handle. */
SJ_INLINE int launch_plainly(const struct swa_jit_kernel *kernel, sj_cu_function function, const sj_launch_grid *grid,
                             swa_jit_stream stream)
{
  void *params[1] = {grid->params};
  return kernel->cuda->launch_kernel(function, grid->x, grid->y, grid->z, WARP_THREADS * kernel->plan.num_warps, 1, 1,
                                     kernel->plan.shared_memory_bytes, stream, params, NULL);
}

static __attribute__((noinline)) int launch_dependent(const struct swa_jit_kernel *kernel, sj_cu_function function,
                                                      const sj_launch_grid *grid, swa_jit_stream stream)
{
  void *params[1] = {grid->params};
  sj_cu_launch_attribute attribute = {.id = SJ_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION,
                                      .value = {.programmatic_stream_serialization = 1}};
  const sj_cu_launch_config config = {.grid_x = grid->x,
                                      .grid_y = grid->y,
                                      .grid_z = grid->z,
                                      .block_x = WARP_THREADS * kernel->plan.num_warps,
                                      .block_y = 1,
                                      .block_z = 1,
                                      .shared_bytes = kernel->plan.shared_memory_bytes,
                                      .stream = stream,
                                      .attributes = &attribute,
                                      .num_attributes = 1};
  return kernel->cuda->launch_kernel_ex(&config, function, params, NULL);
}

SJ_INLINE int launch_function(const struct swa_jit_kernel *kernel, sj_cu_function function, const sj_launch_grid *grid,
                              swa_jit_stream stream)
{
  return SJ_UNLIKELY(grid->is_dependent) ? launch_dependent(kernel, function, grid, stream)
                                         : launch_plainly(kernel, function, grid, stream);
}

/* Where no function is known of the current context, or the stream is another's: the CUkernel takes the stream's
 * context, whichever is current, but costs the driver more. result: of the launch that was tried. */
SJ_COLD static swa_jit_status launch_handle(const struct swa_jit_kernel *kernel, const sj_launch_grid *grid,
                                            swa_jit_stream stream, int result)
{
  if (result == SJ_CU_ERROR_INVALID_HANDLE || result == SJ_CU_ERROR_INVALID_CONTEXT) {
    result = launch_function(kernel, (sj_cu_function)kernel->loaded.kernel, grid, stream);
  }
  return result == SJ_CU_SUCCESS ? SWA_JIT_OK : fail_launch(kernel, grid, stream, result);
}

SJ_INLINE swa_jit_status launch(const struct swa_jit_kernel *kernel, const sj_launch_grid *grid, swa_jit_stream stream)
{
  sj_cu_function function = sj_load_find_function(kernel->cuda, &kernel->loaded);
  int result = SJ_CU_ERROR_INVALID_HANDLE;
  if (function != NULL) {
    result = launch_function(kernel, function, grid, stream);
  }
  return result == SJ_CU_SUCCESS ? SWA_JIT_OK : launch_handle(kernel, grid, stream, result);
}

swa_jit_status sj_launch_kernel(const struct swa_jit_kernel *kernel, const sj_launch_grid *grid, swa_jit_stream stream)
{
  return launch(kernel, grid, stream);
}

bool sj_launch_may_depend(const struct swa_jit_kernel *kernel, uint32_t flags)
{
  return (flags & SWA_JIT_DECODE_DEPENDENT) != 0 && kernel->arch->id >= SWA_JIT_ARCH_SM_90A;
}

enum { WORKSPACE_ALIGNMENT = 16 };

/* The units of work of a launch, in splits. */
static swa_jit_status count_units(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                  uint64_t num_ctas, uint64_t *num_units_out)
{
  const uint64_t num_units = sj_workspace_units(&kernel->config, &kernel->plan, num_ctas);
  if (num_units > SJ_MAX_UNITS) {
    return sj_fail(SWA_JIT_INVALID,
                   "num_tokens %u and num_heads %u make %llu units of work: a kernel of splits=1 takes at most %d; "
                   "split the call, or get the kernel of splits=0",
                   args->num_tokens, args->num_heads, (unsigned long long)num_units, SJ_MAX_UNITS);
  }
  *num_units_out = num_units;
  return SWA_JIT_OK;
}

/* Also: where in it the parameter points. */
static __attribute__((noinline)) swa_jit_status take_workspace(const struct swa_jit_kernel *kernel,
                                                               const swa_jit_decode_args *args, swa_params *params)
{
  const uint64_t num_ctas = (uint64_t)params->num_tokens * params->kv_head_groups * params->num_kv_heads;
  uint64_t num_units = 0;
  swa_jit_status status = count_units(kernel, args, num_ctas, &num_units);
  if (status == SWA_JIT_OK) {
    status = sj_tensor_check_address("workspace", args->workspace, WORKSPACE_ALIGNMENT);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  const uint64_t bytes = sj_workspace_bytes(&kernel->config, &kernel->plan, num_units, params->num_splits);
  if (args->workspace_bytes < bytes) {
    return sj_fail(SWA_JIT_INVALID,
                   "workspace_bytes is %llu: this launch needs %llu, as swa_jit_workspace_bytes tells; pass a larger "
                   "workspace or fewer splits",
                   (unsigned long long)args->workspace_bytes, (unsigned long long)bytes);
  }
  params->workspace = (char *)args->workspace + sj_workspace_offset(num_units);
  return SWA_JIT_OK;
}

swa_jit_status sj_launch_workspace_bytes(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *counts,
                                         uint64_t *bytes_out)
{
  if (kernel == NULL || bytes_out == NULL) {
    return sj_fail(SWA_JIT_INVALID, "%s is NULL: pass %s", kernel == NULL ? "kernel" : "bytes_out",
                   kernel == NULL ? "one that swa_jit_kernel_get returned" : "an address");
  }
  uint64_t num_ctas = 0;
  uint64_t num_units = 0;
  swa_jit_status status = sj_launch_args_count(&kernel->config, counts, &num_ctas);
  if (status == SWA_JIT_OK && kernel->config.splits == 0) {
    *bytes_out = 0;
    return status;
  }
  if (status == SWA_JIT_OK) {
    status = count_units(kernel, counts, num_ctas, &num_units);
  }
  if (status == SWA_JIT_OK) {
    *bytes_out =
        sj_workspace_bytes(&kernel->config, &kernel->plan, num_units, counts->num_splits != 0 ? counts->num_splits : 1);
  }
  return status;
}

SJ_INLINE swa_jit_status launch_params(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                       swa_jit_stream stream, swa_params *params)
{
  if (SJ_UNLIKELY(kernel->config.splits != 0)) {
    const swa_jit_status status = take_workspace(kernel, args, params);
    if (status != SWA_JIT_OK) {
      return status;
    }
  }
  const sj_launch_grid grid = make_grid(kernel, args, params);
  return launch(kernel, &grid, stream);
}

/* The kernel is one of decode's; the struct is this library's, or larger with nothing behind. */
static __attribute__((noinline)) swa_jit_status decode(const struct swa_jit_kernel *kernel,
                                                       const swa_jit_decode_args *args, swa_jit_stream stream)
{
  swa_params params;
  if (args->num_tokens == 0) {
    return SWA_JIT_OK;
  }
  const swa_jit_status status = sj_launch_args_make(&kernel->config, args, &params);
  return status == SWA_JIT_OK ? launch_params(kernel, args, stream, &params) : status;
}

SJ_COLD static swa_jit_status decode_odd(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
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
  return status == SWA_JIT_OK && args != NULL ? decode(kernel, args, stream) : status;
}

/* Kernels and numbers of KV heads that are not of the usual way. */
static __attribute__((noinline)) swa_jit_status decode_unusual(const struct swa_jit_kernel *kernel,
                                                               const swa_jit_decode_args *args, swa_jit_stream stream)
{
  return kernel->config.kernel == SWA_JIT_KERNEL_DECODE && args->size == sizeof *args
             ? decode(kernel, args, stream)
             : decode_odd(kernel, args, stream);
}

/* result: of the launch that was tried. */
SJ_COLD static swa_jit_status launch_again(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                           swa_jit_stream stream, swa_params *params, int result)
{
  const sj_launch_grid grid = make_grid(kernel, args, params);
  return launch_handle(kernel, &grid, stream, result);
}

SJ_COLD static sj_cu_function find_further(const struct swa_jit_kernel *kernel, unsigned long long id)
{
  const int num_contexts = atomic_load_explicit(&kernel->loaded.num_contexts, memory_order_acquire);
  return sj_load_find_further(&kernel->loaded, num_contexts, id);
}

/* As sj_load_find_function, in fewer steps: a remembered context has an id. */
SJ_INLINE sj_cu_function find_function(const struct swa_jit_kernel *kernel)
{
  unsigned long long id;
  if (SJ_UNLIKELY(atomic_load_explicit(&kernel->loaded.num_contexts, memory_order_acquire) == 0)
      || SJ_UNLIKELY(kernel->constants.ctx_get_id(NULL, &id) != SJ_CU_SUCCESS)) {
    return NULL;
  }
  const sj_loaded_context *first = &kernel->loaded.contexts[0];
  return SJ_LIKELY(first->id == id) ? first->function : find_further(kernel, id);
}

/* The kernel's parameter is whole. */
SJ_INLINE swa_jit_status launch_usual(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                      swa_jit_stream stream, swa_params *params)
{
  const sj_launch_constants *constants = &kernel->constants;
  const sj_cu_function function = find_function(kernel);
  int result = SJ_CU_ERROR_INVALID_HANDLE;
  if (SJ_LIKELY(function != NULL)) {
    void *pointers[1] = {params};
    result =
        constants->launch_kernel(function, params->num_tokens * constants->token_ctas, params->kv_head_groups, 1,
                                 constants->num_threads, 1, 1, constants->shared_memory_bytes, stream, pointers, NULL);
  }
  return SJ_LIKELY(result == SJ_CU_SUCCESS) ? SWA_JIT_OK : launch_again(kernel, args, stream, params, result);
}

/* What the usual way has not looked at; or, where something is odd, all of it anew. False: the parameter is whole, and
 * the launch as usual. */
static __attribute__((noinline)) bool decode_rest(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                                  swa_jit_stream stream, uint64_t odd, swa_params *params,
                                                  swa_jit_status *status_out)
{
  if (odd != 0 || !sj_launch_fill_rest(&kernel->constants, &kernel->config, args, params)) {
    *status_out = decode(kernel, args, stream);
    return true;
  }
  if (args->flags != 0 || kernel->constants.has_splits != 0) {
    *status_out = launch_params(kernel, args, stream, params);
    return true;
  }
  return false;
}

/* The whole of the usual way, in code that lies within a page. */
__attribute__((aligned(HOT_CODE_ALIGNMENT))) swa_jit_status
swa_jit_decode(const struct swa_jit_kernel *kernel, const swa_jit_decode_args *args, swa_jit_stream stream)
{
  swa_params params;
  if (SJ_UNLIKELY(kernel == NULL) || SJ_UNLIKELY(args == NULL)) {
    return decode_odd(kernel, args, stream);
  }
  if (SJ_UNLIKELY(args->size != kernel->constants.args_size) || SJ_UNLIKELY(args->num_kv_heads > 1)) {
    return decode_unusual(kernel, args, stream);
  }
  const sj_usual found = sj_usual_fill(&kernel->constants, args, &params);
  if (SJ_UNLIKELY((found.odd | found.rest) != 0)) {
    swa_jit_status status;
    if (decode_rest(kernel, args, stream, found.odd, &params, &status)) {
      return status;
    }
  }
  return launch_usual(kernel, args, stream, &params);
}
