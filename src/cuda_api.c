/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

typedef struct candidate {
  const char *name;
  bool loaded_only; /* counts only if the process has it already */
} candidate;

/* In order. The forward-compatibility folder comes last: its libcuda serves only some devices. */
static const candidate candidates[] = {
    {"libcuda.so.1", true},
    {"libcuda.so", true},
    {"libcuda.so.1", false},
    {"libcuda.so", false},
    {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", false},
    {"/usr/lib/aarch64-linux-gnu/libcuda.so.1", false},
    {"/usr/lib64/libcuda.so.1", false},
    {"/usr/lib/wsl/lib/libcuda.so.1", false},
    {"/usr/local/nvidia/lib64/libcuda.so.1", false},
    {"/run/opengl-driver/lib/libcuda.so.1", false},
    {"/usr/local/cuda/compat/libcuda.so.1", false},
};

typedef struct entry_point {
  const char *symbol; /* with the version suffix that cuda.h of CUDA 13.0 maps the name to */
  size_t offset;      /* in sj_cuda_api */
  bool required;
} entry_point;

#define REQUIRED(member, symbol)                                                                                       \
  {                                                                                                                    \
    symbol, offsetof(sj_cuda_api, member), true                                                                        \
  }
#define OPTIONAL(member, symbol)                                                                                       \
  {                                                                                                                    \
    symbol, offsetof(sj_cuda_api, member), false                                                                       \
  }

static const entry_point entry_points[] = {
    REQUIRED(init, "cuInit"),
    REQUIRED(driver_get_version, "cuDriverGetVersion"),
    REQUIRED(get_error_name, "cuGetErrorName"),
    REQUIRED(get_error_string, "cuGetErrorString"),
    REQUIRED(device_get_count, "cuDeviceGetCount"),
    REQUIRED(device_get, "cuDeviceGet"),
    REQUIRED(device_get_attribute, "cuDeviceGetAttribute"),
    REQUIRED(ctx_get_current, "cuCtxGetCurrent"),
    OPTIONAL(ctx_get_id, "cuCtxGetId"),
    REQUIRED(ctx_get_device, "cuCtxGetDevice"),
    REQUIRED(stream_get_ctx, "cuStreamGetCtx"),
    REQUIRED(ctx_push_current, "cuCtxPushCurrent_v2"),
    REQUIRED(ctx_pop_current, "cuCtxPopCurrent_v2"),
    REQUIRED(library_load_data, "cuLibraryLoadData"),
    REQUIRED(library_unload, "cuLibraryUnload"),
    REQUIRED(library_get_kernel, "cuLibraryGetKernel"),
    REQUIRED(kernel_get_function, "cuKernelGetFunction"),
    REQUIRED(kernel_set_attribute, "cuKernelSetAttribute"),
    REQUIRED(kernel_get_attribute, "cuKernelGetAttribute"),
    OPTIONAL(func_load, "cuFuncLoad"),
    REQUIRED(launch_kernel, "cuLaunchKernel"),
    REQUIRED(launch_kernel_ex, "cuLaunchKernelEx"),
};

enum { NUM_CANDIDATES = sizeof candidates / sizeof candidates[0] };
enum { NUM_ENTRY_POINTS = sizeof entry_points / sizeof entry_points[0] };

/* What a person can do about a driver's error; "" where only the driver's own reason helps. */
static const char *remedy(int result)
{
  switch (result) {
  case SJ_CU_ERROR_OUT_OF_MEMORY:
    return ": free device memory";
  case SJ_CU_ERROR_INVALID_CONTEXT:
    return ": make a context current in this thread, or pass a stream of a live one";
  case SJ_CU_ERROR_INVALID_HANDLE:
    return ": the stream or the kernel no longer exists, or the process has forked since";
  case 700: /* CUDA_ERROR_ILLEGAL_ADDRESS, and the others that an earlier kernel leaves in its context */
  case 702:
  case 709:
  case 714:
  case 715:
  case 716:
  case 717:
  case 718:
  case 719:
    return ": an earlier kernel of this context may have failed; run under compute-sanitizer, then make a new context";
  case 803: /* CUDA_ERROR_SYSTEM_DRIVER_MISMATCH */
    return ": libcuda and the kernel module are of different releases; reinstall the driver or restart the machine";
  case 804: /* CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE */
    return ": take the forward-compatibility libcuda out of the library path";
  default:
    return "";
  }
}

swa_jit_status sj_cuda_fail(const sj_cuda_api *api, const char *call, int result)
{
  const char *name = NULL;
  const char *text = NULL;
  if (api->get_error_name(result, &name) != SJ_CU_SUCCESS) {
    name = NULL;
  }
  if (api->get_error_string(result, &text) != SJ_CU_SUCCESS) {
    text = NULL;
  }
  return sj_fail(SWA_JIT_CUDA_ERROR, "%s failed: %s (%d, %s)%s", call, name ? name : "an error without a name", result,
                 text ? text : "the driver gives no text", remedy(result));
}

/* Where the open library's code lies; its name as given if the loader does not know. Longer paths are cut. */
static void find_path(void *library, const char *name, char path_out[512])
{
  Dl_info info;
  void *symbol = dlsym(library, entry_points[0].symbol);
  if (symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL) {
    name = info.dli_fname;
  }
  size_t length = strnlen(name, 511);
  memcpy(path_out, name, length);
  path_out[length] = '\0';
}

/* NULL with a line added to tried. RTLD_NODELETE: the driver's threads and exit handlers must not lose their code. */
static void *open_candidate(const char *name, bool loaded_only, sj_text *tried, char path_out[512])
{
  int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (loaded_only ? RTLD_NOLOAD : 0);
  void *library = dlopen(name, flags);
  if (library == NULL) {
    const char *reason = loaded_only ? NULL : dlerror();
    sj_text_add_format(tried, "\n  %s: %s", name,
                       reason != NULL ? sj_text_behind(reason, name) : "not loaded yet by this process");
    return NULL;
  }
  find_path(library, name, path_out);
  if (strstr(path_out, "/stubs/") != NULL) {
    sj_text_add_format(tried, "\n  %s: %s is the toolkit's stub, made for linking only", name, path_out);
    dlclose(library);
    return NULL;
  }
  return library;
}

static swa_jit_status open_library(const char *path, sj_cuda_api *api)
{
  sj_text tried = {0};
  if (path != NULL) {
    api->library = open_candidate(path, false, &tried, api->path);
  }
  for (size_t i = 0; path == NULL && api->library == NULL && i < NUM_CANDIDATES; ++i) {
    api->library = open_candidate(candidates[i].name, candidates[i].loaded_only, &tried, api->path);
  }
  swa_jit_status status = SWA_JIT_OK;
  if (api->library == NULL) {
    status = tried.failed ? sj_fail_memory()
                          : sj_fail(SWA_JIT_NO_DRIVER,
                                    "libcuda cannot be opened: install the NVIDIA driver, or name the file in "
                                    "swa_jit_options.cuda_path or SWA_JIT_CUDA; tried:%s",
                                    tried.data);
  }
  sj_text_finish(&tried);
  return status;
}

static swa_jit_status fill_table(sj_cuda_api *api)
{
  for (size_t i = 0; i < NUM_ENTRY_POINTS; ++i) {
    void *symbol = dlsym(api->library, entry_points[i].symbol);
    if (symbol == NULL && entry_points[i].required) {
      return sj_fail(SWA_JIT_NO_DRIVER,
                     "%s has no %s: it is no libcuda, or one older than CUDA 12.0; update the NVIDIA driver to 525 or "
                     "newer",
                     api->path, entry_points[i].symbol);
    }
    /* ISO C has no cast from an object pointer to a function pointer; POSIX promises the same representation. */
    memcpy((char *)api + entry_points[i].offset, &symbol, sizeof symbol);
  }
  return SWA_JIT_OK;
}

static swa_jit_status start_driver(sj_cuda_api *api)
{
  int result = api->init(0);
  if (result == SJ_CU_ERROR_NO_DEVICE) {
    return sj_fail(SWA_JIT_NO_DEVICE,
                   "the driver (%s) finds no device: check nvidia-smi, CUDA_VISIBLE_DEVICES and what "
                   "the container was given",
                   api->path);
  }
  if (result == SJ_CU_ERROR_STUB_LIBRARY) {
    return sj_fail(SWA_JIT_NO_DRIVER,
                   "%s is the toolkit's stub, made for linking only: install the NVIDIA driver, or "
                   "take the stubs folder out of the library path",
                   api->path);
  }
  if (result != SJ_CU_SUCCESS) {
    return sj_cuda_fail(api, "cuInit", result);
  }
  result = api->driver_get_version(&api->driver_version);
  if (result != SJ_CU_SUCCESS) {
    return sj_cuda_fail(api, "cuDriverGetVersion", result);
  }
  result = api->device_get_count(&api->num_devices);
  if (result != SJ_CU_SUCCESS) {
    return sj_cuda_fail(api, "cuDeviceGetCount", result);
  }
  if (api->num_devices < 1) {
    return sj_fail(SWA_JIT_NO_DEVICE,
                   "the driver (%s) counts %d devices: check CUDA_VISIBLE_DEVICES and what the "
                   "container was given",
                   api->path, api->num_devices);
  }
  return SWA_JIT_OK;
}

swa_jit_status sj_cuda_api_open(const char *path, const sj_log *log, sj_cuda_api *api_out)
{
  sj_cuda_api api = {0};
  swa_jit_status status = open_library(path, &api);
  if (status == SWA_JIT_OK) {
    status = fill_table(&api);
  }
  if (status == SWA_JIT_OK) {
    status = start_driver(&api);
  }
  if (status != SWA_JIT_OK) {
    sj_cuda_api_close(&api);
    return status;
  }
  sj_log_line(log, SWA_JIT_LOG_DEBUG, "opened %s: driver for CUDA %d.%d, %d devices", api.path,
              api.driver_version / 1000, api.driver_version % 1000 / 10, api.num_devices);
  *api_out = api;
  return SWA_JIT_OK;
}

void sj_cuda_api_close(sj_cuda_api *api)
{
  if (api->library != NULL) {
    dlclose(api->library);
  }
  *api = (sj_cuda_api){0};
}
