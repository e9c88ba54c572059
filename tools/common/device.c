/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

typedef struct CUctx_st *cu_context;
typedef struct CUgraph_st *cu_graph;

enum { /* the vendor's numbers, cuda.h of CUDA 13.0 */
       CU_SUCCESS = 0,
       CU_ERROR_STUB_LIBRARY = 34,
       CU_ERROR_NO_DEVICE = 100,
       CU_DEVICE_SM_COUNT = 16,
       CU_DEVICE_L2_BYTES = 38,
       CU_DEVICE_MAJOR = 75,
       CU_DEVICE_MINOR = 76,
       CU_DEVICE_SHARED_OPTIN = 97,
       CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
       CU_STREAM_NON_BLOCKING = 1,
       CU_CAPTURE_THREAD_LOCAL = 1
};

struct sj_device_api {
  int (*init)(unsigned flags);
  int (*driver_get_version)(int *version);
  int (*get_error_name)(int result, const char **name);
  int (*get_error_string)(int result, const char **text);
  int (*device_get_count)(int *count);
  int (*device_get)(int *device, int ordinal);
  int (*device_get_name)(char *name, int size, int device);
  int (*device_total_mem)(size_t *bytes, int device);
  int (*device_get_attribute)(int *value, int attribute, int device);
  int (*primary_ctx_retain)(cu_context *context, int device);
  int (*primary_ctx_release)(int device);
  int (*ctx_set_current)(cu_context context);
  int (*ctx_synchronize)(void);
  int (*mem_alloc)(sj_address *address, size_t bytes);
  int (*mem_free)(sj_address address);
  int (*memcpy_htod)(sj_address to, const void *from, size_t bytes);
  int (*memcpy_dtoh)(void *to, sj_address from, size_t bytes);
  int (*memset_d8)(sj_address to, unsigned char value, size_t bytes);
  int (*stream_create)(sj_stream *stream, unsigned flags);
  int (*stream_destroy)(sj_stream stream);
  int (*stream_synchronize)(sj_stream stream);
  int (*stream_begin_capture)(sj_stream stream, int mode);
  int (*stream_end_capture)(sj_stream stream, cu_graph *graph);
  int (*event_create)(sj_event *event, unsigned flags);
  int (*event_destroy)(sj_event event);
  int (*event_record)(sj_event event, sj_stream stream);
  int (*event_synchronize)(sj_event event);
  int (*event_elapsed_time)(float *milliseconds, sj_event begin, sj_event end);
  int (*graph_instantiate)(sj_graph *exec, cu_graph graph, unsigned long long flags);
  int (*graph_launch)(sj_graph exec, sj_stream stream);
  int (*graph_exec_destroy)(sj_graph exec);
  int (*graph_destroy)(cu_graph graph);
  int (*module_load_data)(sj_module *module, const void *image);
  int (*module_unload)(sj_module module);
  int (*module_get_function)(sj_function *function, sj_module module, const char *name);
  int (*func_set_attribute)(sj_function function, int attribute, int value);
  sj_launch_call *launch_kernel;
  void *library;
};

#define ENTRY(member, symbol)                                                                                          \
  {                                                                                                                    \
    offsetof(struct sj_device_api, member), symbol                                                                     \
  }

/* Every symbol is in drivers since CUDA 11.4. */
static const struct {
  size_t offset;
  const char *symbol;
} entries[] = {
    ENTRY(init, "cuInit"),
    ENTRY(driver_get_version, "cuDriverGetVersion"),
    ENTRY(get_error_name, "cuGetErrorName"),
    ENTRY(get_error_string, "cuGetErrorString"),
    ENTRY(device_get_count, "cuDeviceGetCount"),
    ENTRY(device_get, "cuDeviceGet"),
    ENTRY(device_get_name, "cuDeviceGetName"),
    ENTRY(device_total_mem, "cuDeviceTotalMem_v2"),
    ENTRY(device_get_attribute, "cuDeviceGetAttribute"),
    ENTRY(primary_ctx_retain, "cuDevicePrimaryCtxRetain"),
    ENTRY(primary_ctx_release, "cuDevicePrimaryCtxRelease_v2"),
    ENTRY(ctx_set_current, "cuCtxSetCurrent"),
    ENTRY(ctx_synchronize, "cuCtxSynchronize"),
    ENTRY(mem_alloc, "cuMemAlloc_v2"),
    ENTRY(mem_free, "cuMemFree_v2"),
    ENTRY(memcpy_htod, "cuMemcpyHtoD_v2"),
    ENTRY(memcpy_dtoh, "cuMemcpyDtoH_v2"),
    ENTRY(memset_d8, "cuMemsetD8_v2"),
    ENTRY(stream_create, "cuStreamCreate"),
    ENTRY(stream_destroy, "cuStreamDestroy_v2"),
    ENTRY(stream_synchronize, "cuStreamSynchronize"),
    ENTRY(stream_begin_capture, "cuStreamBeginCapture_v2"),
    ENTRY(stream_end_capture, "cuStreamEndCapture"),
    ENTRY(event_create, "cuEventCreate"),
    ENTRY(event_destroy, "cuEventDestroy_v2"),
    ENTRY(event_record, "cuEventRecord"),
    ENTRY(event_synchronize, "cuEventSynchronize"),
    ENTRY(event_elapsed_time, "cuEventElapsedTime"),
    ENTRY(graph_instantiate, "cuGraphInstantiateWithFlags"),
    ENTRY(graph_launch, "cuGraphLaunch"),
    ENTRY(graph_exec_destroy, "cuGraphExecDestroy"),
    ENTRY(graph_destroy, "cuGraphDestroy"),
    ENTRY(module_load_data, "cuModuleLoadData"),
    ENTRY(module_unload, "cuModuleUnload"),
    ENTRY(module_get_function, "cuModuleGetFunction"),
    ENTRY(func_set_attribute, "cuFuncSetAttribute"),
    ENTRY(launch_kernel, "cuLaunchKernel"),
};

/* True for success; else the message names the call and the driver's reason. */
static bool check(sj_device *device, int result, const char *call)
{
  const char *name = NULL;
  const char *text = NULL;
  if (result == CU_SUCCESS) {
    return true;
  }
  if (device->api->get_error_name(result, &name) != CU_SUCCESS || name == NULL) {
    name = "unknown error";
  }
  if (device->api->get_error_string(result, &text) != CU_SUCCESS || text == NULL) {
    text = "no text";
  }
  snprintf(device->message, sizeof device->message, "%s: %s, %d (%s)", call, name, result, text);
  return false;
}

static void *open_library(const char *path, sj_device *device)
{
  static const char *const names[] = {
      "libcuda.so.1",
      "libcuda.so",
      "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
      "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
      "/usr/lib64/libcuda.so.1",
      "/usr/lib/wsl/lib/libcuda.so.1",
      "/usr/local/nvidia/lib64/libcuda.so.1",
      "/run/opengl-driver/lib/libcuda.so.1",
      "/usr/local/cuda/compat/libcuda.so.1",
  }; /* the library's list (src/cuda_api.c) */
  if (path != NULL && path[0] != '\0') {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      snprintf(device->message, sizeof device->message, "cannot open libcuda: %s", dlerror());
    }
    return library;
  }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
      return library;
    }
  }
  snprintf(device->message, sizeof device->message,
           "no CUDA driver: libcuda is neither on the loader's path nor in a usual folder");
  return NULL;
}

static bool fill_table(sj_device *device, void *library)
{
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    void *symbol = dlsym(library, entries[i].symbol);
    if (symbol == NULL) {
      snprintf(device->message, sizeof device->message, "libcuda has no %s: CUDA 11.4's driver or newer is needed",
               entries[i].symbol);
      return false;
    }
    memcpy((char *)device->api + entries[i].offset, &symbol, sizeof symbol);
  }
  return true;
}

static bool describe(sj_device *device)
{
  struct sj_device_api *api = device->api;
  int handle = 0;
  if (!check(device, api->device_get(&handle, 0), "cuDeviceGet")) {
    return false;
  }
  device->ordinal = handle;
  const struct {
    int attribute;
    int *value;
  } wanted[] = {{CU_DEVICE_SM_COUNT, &device->num_sms},
                {CU_DEVICE_L2_BYTES, &device->l2_bytes},
                {CU_DEVICE_MAJOR, &device->major},
                {CU_DEVICE_MINOR, &device->minor},
                {CU_DEVICE_SHARED_OPTIN, &device->shared_bytes}};
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    if (!check(device, api->device_get_attribute(wanted[i].value, wanted[i].attribute, handle),
               "cuDeviceGetAttribute")) {
      return false;
    }
  }
  return check(device, api->device_get_name(device->name, (int)sizeof device->name, handle), "cuDeviceGetName")
         && check(device, api->device_total_mem(&device->memory_bytes, handle), "cuDeviceTotalMem");
}

static bool enter_context(sj_device *device)
{
  cu_context context = NULL;
  if (!check(device, device->api->primary_ctx_retain(&context, device->ordinal), "cuDevicePrimaryCtxRetain")) {
    return false;
  }
  if (check(device, device->api->ctx_set_current(context), "cuCtxSetCurrent")) {
    return true;
  }
  device->api->primary_ctx_release(device->ordinal);
  return false;
}

static sj_presence start(sj_device *device)
{
  struct sj_device_api *api = device->api;
  int count = 0;
  int result = api->init(0);
  if (result == CU_ERROR_NO_DEVICE || result == CU_ERROR_STUB_LIBRARY) {
    (void)check(device, result, "cuInit");
    return SJ_DEVICE_ABSENT;
  }
  if (!check(device, result, "cuInit") || !check(device, api->device_get_count(&count), "cuDeviceGetCount")
      || !check(device, api->driver_get_version(&device->driver_version), "cuDriverGetVersion")) {
    return SJ_DEVICE_BROKEN;
  }
  if (count == 0) {
    snprintf(device->message, sizeof device->message, "the CUDA driver reports no device");
    return SJ_DEVICE_ABSENT;
  }
  return describe(device) && enter_context(device) ? SJ_DEVICE_PRESENT : SJ_DEVICE_BROKEN;
}

sj_presence sj_device_open(const char *cuda_path, sj_device *device)
{
  memset(device, 0, sizeof *device);
  const char *path = cuda_path != NULL ? cuda_path : secure_getenv("SWA_JIT_CUDA");
  void *library = open_library(path, device);
  if (library == NULL) {
    return path != NULL && path[0] != '\0' ? SJ_DEVICE_BROKEN : SJ_DEVICE_ABSENT;
  }
  sj_presence presence = SJ_DEVICE_BROKEN;
  device->api = calloc(1, sizeof *device->api);
  if (device->api == NULL) {
    snprintf(device->message, sizeof device->message, "out of memory");
  } else if (fill_table(device, library)) {
    presence = start(device);
  }
  if (presence != SJ_DEVICE_PRESENT) {
    free(device->api);
    device->api = NULL;
    dlclose(library);
    return presence;
  }
  device->api->library = library;
  return presence;
}

void sj_device_close(sj_device *device)
{
  if (device->api == NULL) {
    return;
  }
  device->api->ctx_set_current(NULL);
  device->api->primary_ctx_release(device->ordinal);
  dlclose(device->api->library);
  free(device->api);
  device->api = NULL;
}

bool sj_device_wait(sj_device *device)
{
  return check(device, device->api->ctx_synchronize(), "cuCtxSynchronize");
}

bool sj_device_alloc(sj_device *device, size_t bytes, sj_address *address_out)
{
  if (check(device, device->api->mem_alloc(address_out, bytes), "cuMemAlloc")) {
    return true;
  }
  size_t used = strlen(device->message);
  snprintf(device->message + used, sizeof device->message - used, " for %zu byte%s", bytes, sj_number_ending(bytes));
  return false;
}

void sj_device_free(sj_device *device, sj_address address)
{
  if (address != 0) {
    device->api->mem_free(address);
  }
}

bool sj_device_write(sj_device *device, sj_address to, const void *from, size_t bytes)
{
  return bytes == 0
         || (check(device, device->api->memcpy_htod(to, from, bytes), "cuMemcpyHtoD") && sj_device_wait(device));
}

bool sj_device_read(sj_device *device, void *to, sj_address from, size_t bytes)
{
  return bytes == 0 || check(device, device->api->memcpy_dtoh(to, from, bytes), "cuMemcpyDtoH");
}

bool sj_device_fill(sj_device *device, sj_address to, uint8_t value, size_t bytes)
{
  return bytes == 0
         || (check(device, device->api->memset_d8(to, value, bytes), "cuMemsetD8") && sj_device_wait(device));
}

bool sj_stream_create(sj_device *device, sj_stream *stream_out)
{
  return check(device, device->api->stream_create(stream_out, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

void sj_stream_destroy(sj_device *device, sj_stream stream)
{
  if (stream != NULL) {
    device->api->stream_destroy(stream);
  }
}

bool sj_stream_wait(sj_device *device, sj_stream stream)
{
  return check(device, device->api->stream_synchronize(stream), "cuStreamSynchronize");
}

bool sj_event_create(sj_device *device, sj_event *event_out)
{
  return check(device, device->api->event_create(event_out, 0), "cuEventCreate");
}

void sj_event_destroy(sj_device *device, sj_event event)
{
  if (event != NULL) {
    device->api->event_destroy(event);
  }
}

bool sj_event_record(sj_device *device, sj_event event, sj_stream stream)
{
  return check(device, device->api->event_record(event, stream), "cuEventRecord");
}

bool sj_event_elapsed_us(sj_device *device, sj_event begin, sj_event end, double *us_out)
{
  float milliseconds = 0.0f;
  if (!check(device, device->api->event_synchronize(end), "cuEventSynchronize")
      || !check(device, device->api->event_elapsed_time(&milliseconds, begin, end), "cuEventElapsedTime")) {
    return false;
  }
  *us_out = 1e3 * (double)milliseconds;
  return true;
}

bool sj_graph_begin(sj_device *device, sj_stream stream)
{
  return check(device, device->api->stream_begin_capture(stream, CU_CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture");
}

bool sj_graph_end(sj_device *device, sj_stream stream, sj_graph *graph_out)
{
  cu_graph graph = NULL;
  if (!check(device, device->api->stream_end_capture(stream, &graph), "cuStreamEndCapture")) {
    return false;
  }
  bool made = check(device, device->api->graph_instantiate(graph_out, graph, 0), "cuGraphInstantiateWithFlags");
  device->api->graph_destroy(graph);
  return made;
}

bool sj_graph_launch(sj_device *device, sj_graph graph, sj_stream stream)
{
  return check(device, device->api->graph_launch(graph, stream), "cuGraphLaunch");
}

void sj_graph_destroy(sj_device *device, sj_graph graph)
{
  if (graph != NULL) {
    device->api->graph_exec_destroy(graph);
  }
}

bool sj_module_load(sj_device *device, const void *image, sj_module *module_out)
{
  return check(device, device->api->module_load_data(module_out, image), "cuModuleLoadData");
}

void sj_module_unload(sj_device *device, sj_module module)
{
  if (module != NULL) {
    device->api->module_unload(module);
  }
}

bool sj_module_function(sj_device *device, sj_module module, const char *name, unsigned dynamic_shared_bytes,
                        sj_function *function_out)
{
  sj_function function = NULL;
  if (!check(device, device->api->module_get_function(&function, module, name), "cuModuleGetFunction")
      || !check(device,
                device->api->func_set_attribute(function, CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)dynamic_shared_bytes),
                "cuFuncSetAttribute")) {
    return false;
  }
  *function_out = function;
  return true;
}

bool sj_function_launch(sj_device *device, sj_function function, const unsigned grid[3], unsigned num_threads,
                        unsigned dynamic_shared_bytes, sj_stream stream, void **params)
{
  return check(device,
               device->api->launch_kernel(function, grid[0], grid[1], grid[2], num_threads, 1, 1, dynamic_shared_bytes,
                                          stream, params, NULL),
               "cuLaunchKernel");
}

sj_launch_call *sj_device_launch_call(const sj_device *device)
{
  return device->api->launch_kernel;
}
