/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of kernels and functions. Both handles of a kernel share them. */
#include "driver.h"

enum { /* CUfunction_attribute */
       MAX_THREADS = 0,
       STATIC_SHARED = 1,
       CONST_BYTES = 2,
       LOCAL_BYTES = 3,
       NUM_REGISTERS = 4,
       PTX_VERSION = 5,
       BINARY_VERSION = 6,
       CACHE_MODE = 7,
       MAX_DYNAMIC_SHARED = 8,
       CARVEOUT = 9,
       CLUSTER_MUST_BE_SET = 10,
       CLUSTER_WIDTH = 11,
       CLUSTER_HEIGHT = 12,
       CLUSTER_DEPTH = 13,
       LARGE_CLUSTERS = 14,
       CLUSTER_POLICY = 15
};

/* ---- attributes ------------------------------------------------------------------------------------------- */

int emu_kernel_dynamic_limit(const emu_loaded_kernel *kernel)
{
  const int room = (int)emu_state_device()->shared_per_block - (int)kernel->info.static_shared;
  return kernel->dynamic_shared_limit >= 0 ? kernel->dynamic_shared_limit : room > 0 ? room : 0;
}

static int get_attribute(const emu_loaded_kernel *kernel, int attribute, int *value)
{
  const emu_device *device = emu_state_device();
  const emu_kernel_info *info = &kernel->info;
  const int values[] = {
      [MAX_THREADS] = (int)info->max_threads,
      [STATIC_SHARED] = (int)info->static_shared,
      [CONST_BYTES] = (int)info->constant_bytes,
      [LOCAL_BYTES] = (int)info->local_bytes,
      [NUM_REGISTERS] = (int)info->num_registers,
      [PTX_VERSION] = 10 * device->major + device->minor,
      [BINARY_VERSION] = 10 * device->major + device->minor,
      [CACHE_MODE] = 0,
      [MAX_DYNAMIC_SHARED] = emu_kernel_dynamic_limit(kernel),
      [CARVEOUT] = kernel->carveout,
      [CLUSTER_MUST_BE_SET] = 0,
      [CLUSTER_WIDTH] = (int)info->required_cluster[0],
      [CLUSTER_HEIGHT] = (int)info->required_cluster[1],
      [CLUSTER_DEPTH] = (int)info->required_cluster[2],
      [LARGE_CLUSTERS] = kernel->allows_large_clusters,
      [CLUSTER_POLICY] = 0,
  };
  if (attribute < 0 || (size_t)attribute >= sizeof values / sizeof values[0] || value == NULL) {
    return EMU_INVALID_VALUE;
  }
  *value = values[attribute];
  return EMU_OK;
}

static int set_dynamic_shared(emu_loaded_kernel *kernel, int value)
{
  const emu_device *device = emu_state_device();
  if (value < 0 || (uint64_t)value + kernel->info.static_shared > device->shared_per_block_optin) {
    return emu_fail(EMU_INVALID_VALUE, "%d bytes of dynamic and %u of static shared memory are more than the %u of %s",
                    value, kernel->info.static_shared, device->shared_per_block_optin, device->name);
  }
  kernel->dynamic_shared_limit = value;
  return EMU_OK;
}

static int set_attribute(emu_loaded_kernel *kernel, int attribute, int value)
{
  switch (attribute) {
  case MAX_DYNAMIC_SHARED:
    return set_dynamic_shared(kernel, value);
  case CARVEOUT:
    if (value < -1 || value > 100) {
      return EMU_INVALID_VALUE;
    }
    kernel->carveout = value;
    return EMU_OK;
  case LARGE_CLUSTERS:
    kernel->allows_large_clusters = value != 0;
    return EMU_OK;
  case CLUSTER_POLICY:
    return EMU_OK;
  default:
    return EMU_INVALID_VALUE;
  }
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

CALL(cuKernelGetAttribute, int *value, int attribute, void *handle, int device)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  const emu_loaded_kernel *kernel = emu_object_find(EMU_KERNEL, handle);
  if (kernel == NULL || device != 0) {
    return emu_leave(kernel == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_DEVICE);
  }
  return emu_leave(get_attribute(kernel, attribute, value));
}

CALL(cuKernelSetAttribute, int attribute, int value, void *handle, int device)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  emu_loaded_kernel *kernel = emu_object_find(EMU_KERNEL, handle);
  if (kernel == NULL || device != 0) {
    return emu_leave(kernel == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_DEVICE);
  }
  return emu_leave(set_attribute(kernel, attribute, value));
}

/* As emu_function_find, entered. */
static int enter_function(void *handle, emu_loaded_kernel **kernel_out)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  *kernel_out = emu_function_find(handle, context);
  return *kernel_out != NULL ? EMU_OK : emu_leave(EMU_INVALID_HANDLE);
}

CALL(cuFuncGetAttribute, int *value, int attribute, void *handle)
{
  emu_loaded_kernel *kernel = NULL;
  int result = enter_function(handle, &kernel);
  return result == EMU_OK ? emu_leave(get_attribute(kernel, attribute, value)) : result;
}

CALL(cuFuncSetAttribute, void *handle, int attribute, int value)
{
  emu_loaded_kernel *kernel = NULL;
  int result = enter_function(handle, &kernel);
  return result == EMU_OK ? emu_leave(set_attribute(kernel, attribute, value)) : result;
}

CALL(cuFuncSetCacheConfig, void *handle, int config)
{
  emu_loaded_kernel *kernel = NULL;
  int result = enter_function(handle, &kernel);
  return result == EMU_OK ? emu_leave(config >= 0 && config <= 3 ? EMU_OK : EMU_INVALID_VALUE) : result;
}

/* All is loaded with the library. */
CALL(cuFuncLoad, void *handle)
{
  emu_loaded_kernel *kernel = NULL;
  int result = enter_function(handle, &kernel);
  return result == EMU_OK ? emu_leave(EMU_OK) : result;
}

CALL(cuFuncIsLoaded, int *state, void *handle)
{
  emu_loaded_kernel *kernel = NULL;
  int result = enter_function(handle, &kernel);
  if (result != EMU_OK) {
    return result;
  }
  if (state != NULL) {
    *state = 1;
  }
  return emu_leave(state != NULL ? EMU_OK : EMU_INVALID_VALUE);
}

CALL(cuFuncGetName, const char **name, void *handle)
{
  emu_loaded_kernel *kernel = NULL;
  int result = enter_function(handle, &kernel);
  if (result != EMU_OK) {
    return result;
  }
  if (name != NULL) {
    *name = kernel->info.name;
  }
  return emu_leave(name != NULL ? EMU_OK : EMU_INVALID_VALUE);
}

CALL(cuFuncGetParamInfo, void *handle, size_t at, size_t *offset, size_t *bytes)
{
  emu_loaded_kernel *kernel = NULL;
  int result = enter_function(handle, &kernel);
  if (result != EMU_OK) {
    return result;
  }
  if (at >= kernel->info.num_params || offset == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *offset = kernel->info.params[at].offset;
  if (bytes != NULL) {
    *bytes = kernel->info.params[at].size;
  }
  return emu_leave(EMU_OK);
}
