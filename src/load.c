/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <stdlib.h>

#include "text.h"

typedef struct device {
  sj_cu_device handle;
  int major, minor;
  int shared_memory_bytes; /* dynamic, that a CTA can opt in to */
} device;

typedef struct device_list {
  device *devices;
  int count;
} device_list;

static swa_jit_status read_attribute(const sj_cuda_api *api, int attribute, sj_cu_device handle, int *value_out)
{
  int result = api->device_get_attribute(value_out, attribute, handle);
  return result == SJ_CU_SUCCESS ? SWA_JIT_OK : sj_cuda_fail(api, "cuDeviceGetAttribute", result);
}

static swa_jit_status read_capability(const sj_cuda_api *api, sj_cu_device handle, device *device_out)
{
  device_out->handle = handle;
  swa_jit_status status = read_attribute(api, SJ_CU_DEVICE_MAJOR, handle, &device_out->major);
  if (status == SWA_JIT_OK) {
    status = read_attribute(api, SJ_CU_DEVICE_MINOR, handle, &device_out->minor);
  }
  return status;
}

static swa_jit_status read_shared_memory(const sj_cuda_api *api, device *each)
{
  return read_attribute(api, SJ_CU_DEVICE_SHARED_MEMORY_OPTIN, each->handle, &each->shared_memory_bytes);
}

static swa_jit_status get_device(const sj_cuda_api *api, int ordinal, device *device_out)
{
  sj_cu_device handle;
  int result = api->device_get(&handle, ordinal);
  if (result != SJ_CU_SUCCESS) {
    return sj_cuda_fail(api, "cuDeviceGet", result);
  }
  return read_capability(api, handle, device_out);
}

/* The current context's device; *found_out false when no context is current. */
static swa_jit_status get_current_device(const sj_cuda_api *api, bool *found_out, sj_cu_device *handle_out)
{
  sj_cu_context context = NULL;
  int result = api->ctx_get_current(&context);
  if (result != SJ_CU_SUCCESS) {
    return sj_cuda_fail(api, "cuCtxGetCurrent", result);
  }
  *found_out = context != NULL;
  if (context == NULL) {
    return SWA_JIT_OK;
  }
  result = api->ctx_get_device(handle_out);
  return result == SJ_CU_SUCCESS ? SWA_JIT_OK : sj_cuda_fail(api, "cuCtxGetDevice", result);
}

static swa_jit_status fail_no_device(const sj_arch *arch, const device_list *all)
{
  sj_text names = {0};
  for (int i = 0; i < all->count; ++i) {
    const sj_arch *best = sj_arch_for_device(all->devices[i].major, all->devices[i].minor);
    sj_text_add_format(&names, "%sdevice %d of compute capability %d.%d (%s)", i > 0 ? ", " : "", i,
                       all->devices[i].major, all->devices[i].minor, best ? best->name : "not served");
  }
  swa_jit_status status =
      names.failed ? sj_fail_memory()
                   : sj_fail(SWA_JIT_NO_DEVICE,
                             "arch is %s, which no device of this process runs; there is %s: ask for a device's own "
                             "architecture, or make the device visible in CUDA_VISIBLE_DEVICES",
                             arch->name, names.data);
  sj_text_finish(&names);
  return status;
}

static swa_jit_status read_devices(const sj_cuda_api *api, device_list *all)
{
  for (int i = 0; i < api->num_devices; ++i) {
    device *each = &all->devices[i];
    swa_jit_status status = get_device(api, i, each);
    if (status == SWA_JIT_OK) {
      status = read_shared_memory(api, each);
    }
    if (status != SWA_JIT_OK) {
      return status;
    }
    all->count = i + 1;
  }
  return SWA_JIT_OK;
}

bool sj_load_runs_on(const sj_arch *arch, bool is_ptx, int major, int minor)
{
  return sj_arch_runs_on(arch, major, minor) || (is_ptx && sj_arch_ptx_runs_on(arch, major, minor));
}

static bool runs_kernel(const device *each, const sj_arch *arch, const sj_tile_plan *plan, bool is_ptx)
{
  return sj_load_runs_on(arch, is_ptx, each->major, each->minor)
         && (int64_t)each->shared_memory_bytes >= (int64_t)plan->shared_memory_bytes;
}

/* Keeps in the list the devices that run arch and have the shared memory. */
static swa_jit_status choose_devices(const sj_arch *arch, const sj_tile_plan *plan, bool is_ptx, device_list *all)
{
  int num_matching = 0;
  int num_fitting = 0;
  int most_bytes = 0;
  for (int i = 0; i < all->count; ++i) {
    const device *each = &all->devices[i];
    if (sj_load_runs_on(arch, is_ptx, each->major, each->minor)) {
      ++num_matching;
      most_bytes = each->shared_memory_bytes > most_bytes ? each->shared_memory_bytes : most_bytes;
    }
  }
  if (num_matching == 0) {
    return fail_no_device(arch, all);
  }
  for (int i = 0; i < all->count; ++i) {
    const device each = all->devices[i];
    if (runs_kernel(&each, arch, plan, is_ptx)) {
      all->devices[num_fitting++] = each;
    }
  }
  if (num_fitting == 0) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "the kernel needs %u bytes of shared memory a CTA, and the %s device here allows %d: choose a "
                   "smaller head_group, kv_tile or window_size",
                   plan->shared_memory_bytes, arch->name, most_bytes);
  }
  all->count = num_fitting;
  return SWA_JIT_OK;
}

/* A failure of one of the calls that read the image, which may be looked at late, so each of them can refuse it. */
static swa_jit_status fail_load(const sj_cuda_api *api, const char *call, int result, bool *image_refused_out)
{
  *image_refused_out = result == SJ_CU_ERROR_INVALID_IMAGE || result == SJ_CU_ERROR_NO_BINARY_FOR_GPU
                       || result == SJ_CU_ERROR_INVALID_PTX || result == SJ_CU_ERROR_UNSUPPORTED_PTX_VERSION
                       || result == SJ_CU_ERROR_INVALID_SOURCE || result == SJ_CU_ERROR_NOT_FOUND;
  swa_jit_status status = sj_cuda_fail(api, call, result);
  if (*image_refused_out) {
    status = sj_fail(status,
                     "%s; the driver for CUDA %d.%d refused the image: it is damaged, or a compiler newer than the "
                     "driver made it; update the driver, or compile with this driver's NVRTC",
                     sj_message(), api->driver_version / 1000, api->driver_version % 1000 / 10);
  }
  return status;
}

/* False without a current context, and where the driver does not tell. */
static bool get_context_id(const sj_cuda_api *api, unsigned long long *id_out)
{
  return api->ctx_get_id != NULL && api->ctx_get_id(NULL, id_out) == SJ_CU_SUCCESS;
}

static const sj_loaded_context *find_context(const sj_loaded *loaded, int num_contexts, unsigned long long id)
{
  for (int i = 0; i < num_contexts; ++i) {
    if (loaded->contexts[i].id == id) {
      return &loaded->contexts[i];
    }
  }
  return NULL;
}

/* The current context, which is not remembered yet. */
static void remember_context(const sj_cuda_api *api, sj_loaded *loaded, sj_cu_function function)
{
  int num_contexts = atomic_load_explicit(&loaded->num_contexts, memory_order_relaxed);
  unsigned long long id = 0;
  if (num_contexts < SJ_MAX_LOADED_CONTEXTS && get_context_id(api, &id)) {
    loaded->contexts[num_contexts] = (sj_loaded_context){id, function};
    atomic_store_explicit(&loaded->num_contexts, num_contexts + 1, memory_order_release);
  }
}

/* Loads the kernel into the current context: a first launch that had to could not be captured. */
static swa_jit_status load_into_current(const sj_cuda_api *api, bool *image_refused_out, sj_loaded *loaded)
{
  sj_cu_function function = NULL;
  int result = api->kernel_get_function(&function, loaded->kernel);
  if (result != SJ_CU_SUCCESS) {
    return fail_load(api, "cuKernelGetFunction", result, image_refused_out);
  }
  if (api->func_load != NULL) {
    result = api->func_load(function);
  }
  if (result != SJ_CU_SUCCESS) {
    return fail_load(api, "cuFuncLoad", result, image_refused_out);
  }
  remember_context(api, loaded, function);
  return SWA_JIT_OK;
}

static swa_jit_status load_first_context(const sj_cuda_api *api, const device_list *fitting, bool *image_refused_out,
                                         sj_loaded *loaded)
{
  bool found = false;
  bool fits = false;
  sj_cu_device current = 0;
  swa_jit_status status = get_current_device(api, &found, &current);
  for (int i = 0; i < fitting->count; ++i) {
    fits = fits || fitting->devices[i].handle == current;
  }
  if (status != SWA_JIT_OK || !found) {
    return status;
  }
  if (!fits) {
    remember_context(api, loaded, NULL);
    return SWA_JIT_OK;
  }
  return load_into_current(api, image_refused_out, loaded);
}

static swa_jit_status load_library(const sj_cuda_api *api, const sj_tile_plan *plan, const char *kernel_name,
                                   const void *cubin, const device_list *fitting, bool *image_refused_out,
                                   sj_loaded *loaded)
{
  int result = api->library_load_data(&loaded->library, cubin, NULL, NULL, 0, NULL, NULL, 0);
  if (result != SJ_CU_SUCCESS) {
    loaded->library = NULL;
    return fail_load(api, "cuLibraryLoadData", result, image_refused_out);
  }
  result = api->library_get_kernel(&loaded->kernel, loaded->library, kernel_name);
  if (result != SJ_CU_SUCCESS) {
    return fail_load(api, "cuLibraryGetKernel", result, image_refused_out);
  }
  for (int i = 0; i < fitting->count; ++i) {
    result = api->kernel_set_attribute(SJ_CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)plan->shared_memory_bytes,
                                       loaded->kernel, fitting->devices[i].handle);
    if (result != SJ_CU_SUCCESS) {
      return fail_load(api, "cuKernelSetAttribute", result, image_refused_out);
    }
  }
  return load_first_context(api, fitting, image_refused_out, loaded);
}

static swa_jit_status load_image(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan,
                                 const char *kernel_name, const void *image, bool is_ptx, bool *image_refused_out,
                                 sj_loaded *loaded_out)
{
  *image_refused_out = false;
  if (api->driver_version < 0 || (uint32_t)api->driver_version < arch->min_driver) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "the driver is for CUDA %d.%d, and cubins for %s need one for CUDA %u.%u or newer: update the "
                   "NVIDIA driver",
                   api->driver_version / 1000, api->driver_version % 1000 / 10, arch->name, arch->min_driver / 1000,
                   arch->min_driver % 1000 / 10);
  }
  device_list list = {calloc((size_t)api->num_devices, sizeof *list.devices), 0};
  if (list.devices == NULL) {
    return sj_fail_memory();
  }
  sj_loaded loaded = {.is_ptx = is_ptx};
  swa_jit_status status = read_devices(api, &list);
  if (status == SWA_JIT_OK) {
    status = choose_devices(arch, plan, is_ptx, &list);
  }
  if (status == SWA_JIT_OK) {
    status = load_library(api, plan, kernel_name, image, &list, image_refused_out, &loaded);
  }
  free(list.devices);
  if (status != SWA_JIT_OK) {
    sj_load_finish(api, &loaded);
    return status;
  }
  *loaded_out = loaded;
  return SWA_JIT_OK;
}

swa_jit_status sj_load_make(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan,
                            const char *kernel_name, const void *cubin, bool *image_refused_out, sj_loaded *loaded_out)
{
  return load_image(api, arch, plan, kernel_name, cubin, false, image_refused_out, loaded_out);
}

swa_jit_status sj_load_make_ptx(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan,
                                const char *kernel_name, const char *ptx, bool *image_refused_out,
                                sj_loaded *loaded_out)
{
  return load_image(api, arch, plan, kernel_name, ptx, true, image_refused_out, loaded_out);
}

bool sj_load_wants_ptx(const sj_cuda_api *api, const sj_arch *arch)
{
  for (int i = 0; i < api->num_devices; ++i) {
    device each = {0};
    sj_kept_message kept;
    sj_message_keep(&kept);
    if (get_device(api, i, &each) != SWA_JIT_OK) {
      sj_message_restore(SWA_JIT_OK, &kept);
    } else if (sj_arch_for_device(each.major, each.minor) == NULL
               && sj_arch_ptx_runs_on(arch, each.major, each.minor)) {
      return true;
    }
  }
  return false;
}

swa_jit_status sj_load_add_context(const sj_cuda_api *api, const sj_arch *arch, const sj_tile_plan *plan,
                                   sj_loaded *loaded)
{
  bool found = false;
  bool is_refused = false;
  device current = {0};
  int num_contexts = atomic_load_explicit(&loaded->num_contexts, memory_order_relaxed);
  unsigned long long id = 0;
  if (num_contexts == SJ_MAX_LOADED_CONTEXTS) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = get_current_device(api, &found, &current.handle);
  if (status != SWA_JIT_OK || !found || !get_context_id(api, &id) || find_context(loaded, num_contexts, id) != NULL) {
    return status;
  }
  status = read_capability(api, current.handle, &current);
  if (status == SWA_JIT_OK) {
    status = read_shared_memory(api, &current);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  if (!runs_kernel(&current, arch, plan, loaded->is_ptx)) {
    remember_context(api, loaded, NULL);
    return SWA_JIT_OK;
  }
  return load_into_current(api, &is_refused, loaded);
}

bool sj_load_lacks_context(const sj_cuda_api *api, const sj_loaded *loaded)
{
  int num_contexts = atomic_load_explicit(&loaded->num_contexts, memory_order_acquire);
  unsigned long long id = 0;
  sj_cu_context context = NULL;
  if (num_contexts == SJ_MAX_LOADED_CONTEXTS || api->ctx_get_id == NULL) {
    return false;
  }
  /* Asked for the id of no context the driver fails, which tools that watch its calls report as the program's fault. */
  return api->ctx_get_current(&context) == SJ_CU_SUCCESS && context != NULL && get_context_id(api, &id)
         && find_context(loaded, num_contexts, id) == NULL;
}

sj_cu_function sj_load_find_further(const sj_loaded *loaded, int num_contexts, unsigned long long id)
{
  const sj_loaded_context *context = find_context(loaded, num_contexts, id);
  return context != NULL ? context->function : NULL;
}

void sj_load_finish(const sj_cuda_api *api, sj_loaded *loaded)
{
  if (loaded->library != NULL) {
    api->library_unload(loaded->library);
  }
  *loaded = (sj_loaded){0};
}

/* For a device that no cubin is for. */
static swa_jit_status find_newer_arch(const sj_cuda_api *api, bool is_current, bool with_ptx, device *native,
                                      const sj_arch **arch_out)
{
  swa_jit_status status = read_shared_memory(api, native);
  if (status != SWA_JIT_OK) {
    return status;
  }
  const uint32_t shared_memory_bytes = native->shared_memory_bytes > 0 ? (uint32_t)native->shared_memory_bytes : 0;
  const sj_arch *newer = sj_arch_for_newer_device(native->major, native->minor, shared_memory_bytes);
  if (newer == NULL || !with_ptx) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "%s has compute capability %d.%d, which no architecture here serves (%s): use another device%s",
                   is_current ? "the current context's device" : "device 0", native->major, native->minor,
                   sj_arch_list(),
                   newer != NULL ? ", or let it run the PTX of an older one (SWA_JIT_FLAG_KEEP_PTX)" : "");
  }
  *arch_out = newer;
  return SWA_JIT_OK;
}

swa_jit_status sj_load_native_arch(const sj_cuda_api *api, bool with_ptx, const sj_arch **arch_out)
{
  bool found = false;
  device native = {0};
  swa_jit_status status = get_current_device(api, &found, &native.handle);
  if (status == SWA_JIT_OK) {
    status = found ? read_capability(api, native.handle, &native) : get_device(api, 0, &native);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  const sj_arch *arch = sj_arch_for_device(native.major, native.minor);
  if (arch == NULL) {
    return find_newer_arch(api, found, with_ptx, &native, arch_out);
  }
  *arch_out = arch;
  return SWA_JIT_OK;
}
