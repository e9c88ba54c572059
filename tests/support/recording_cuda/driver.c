/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's side: every entry takes the mutex in begin_call and gives it back in end_call. */
#include "recording_state.h"

#include <stdint.h>

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  ATTRIBUTE_SM_COUNT = 16,
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  ATTRIBUTE_SHARED_OPTIN = 97,
  FUNCTION_LOCAL_BYTES = 3,
  FUNCTION_NUM_REGISTERS = 4,
  FUNCTION_MAX_DYNAMIC_SHARED = 8,
  ATTRIBUTE_STREAM_SERIALIZATION = 6, /* of a launch */
  SHARED_WITHOUT_OPTIN = 48 * 1024
};

static int take_fault(const char *name)
{
  if (recording.fault_nth == 0 || (recording.fault_name != NULL && strcmp(recording.fault_name, name) != 0)) {
    return SUCCESS;
  }
  if (recording.fault_nth > 1) {
    --recording.fault_nth;
    return SUCCESS;
  }
  recording.fault_nth = recording.fault_stays ? 1 : 0;
  recording.has_failed = true;
  return recording.fault_result;
}

static int begin_call(const char *name)
{
  pthread_mutex_lock(&recording_mutex);
  if (recording.num_calls < RECORDING_MAX_CALLS) {
    recording.calls[recording.num_calls] = name;
  }
  ++recording.num_calls;
  return take_fault(name);
}

/* ... for a call that needs cuInit. */
static int begin_ready_call(const char *name)
{
  int result = begin_call(name);
  return result != SUCCESS || recording.is_initialized ? result : NOT_INITIALIZED;
}

static int end_call(int result)
{
  pthread_mutex_unlock(&recording_mutex);
  return result;
}

static bool is_device(int ordinal)
{
  return ordinal >= 0 && ordinal < recording.num_devices;
}

static pretend_context *current(void)
{
  return recording_depth > 0 ? recording_stack[recording_depth - 1] : NULL;
}

EXPORT(int, cuInit, unsigned flags)
{
  int result = begin_call("cuInit");
  if (result == SUCCESS) {
    result = flags != 0 ? INVALID_VALUE : recording.num_devices == 0 ? NO_DEVICE : SUCCESS;
  }
  recording.is_initialized = recording.is_initialized || result == SUCCESS;
  return end_call(result);
}

EXPORT(int, cuDriverGetVersion, int *version)
{
  int result = begin_call("cuDriverGetVersion");
  if (result == SUCCESS) {
    *version = recording.driver_version;
  }
  return end_call(result);
}

static const char *error_name(int result)
{
  switch (result) {
  case SUCCESS:
    return "CUDA_SUCCESS";
  case INVALID_VALUE:
    return "CUDA_ERROR_INVALID_VALUE";
  case OUT_OF_MEMORY:
    return "CUDA_ERROR_OUT_OF_MEMORY";
  case NOT_INITIALIZED:
    return "CUDA_ERROR_NOT_INITIALIZED";
  case INVALID_IMAGE:
    return "CUDA_ERROR_INVALID_IMAGE";
  case INVALID_CONTEXT:
    return "CUDA_ERROR_INVALID_CONTEXT";
  case NO_BINARY_FOR_GPU:
    return "CUDA_ERROR_NO_BINARY_FOR_GPU";
  case INVALID_HANDLE:
    return "CUDA_ERROR_INVALID_HANDLE";
  case NOT_FOUND:
    return "CUDA_ERROR_NOT_FOUND";
  case 999:
    return "CUDA_ERROR_UNKNOWN";
  default:
    return NULL;
  }
}

EXPORT(int, cuGetErrorName, int error, const char **name)
{
  int result = begin_call("cuGetErrorName");
  *name = result == SUCCESS ? error_name(error) : NULL;
  return end_call(result == SUCCESS && *name == NULL ? INVALID_VALUE : result);
}

EXPORT(int, cuGetErrorString, int error, const char **text)
{
  int result = begin_call("cuGetErrorString");
  *text = result == SUCCESS && error_name(error) != NULL ? "the stand-in's reason" : NULL;
  return end_call(result == SUCCESS && *text == NULL ? INVALID_VALUE : result);
}

EXPORT(int, cuDeviceGetCount, int *count)
{
  int result = begin_ready_call("cuDeviceGetCount");
  if (result == SUCCESS) {
    *count = recording.num_devices > 0 ? recording.num_devices : 0;
  }
  return end_call(result);
}

/* Device handles are not ordinals, so that mixing them up shows. */
enum { DEVICE_HANDLE_BASE = 70 };

EXPORT(int, cuDeviceGet, int *device, int ordinal)
{
  int result = begin_ready_call("cuDeviceGet");
  if (result == SUCCESS && !is_device(ordinal)) {
    result = INVALID_DEVICE;
  }
  if (result == SUCCESS) {
    *device = DEVICE_HANDLE_BASE + ordinal;
  }
  return end_call(result);
}

EXPORT(int, cuDeviceGetAttribute, int *value, int attribute, int device)
{
  int result = begin_ready_call("cuDeviceGetAttribute");
  int ordinal = device - DEVICE_HANDLE_BASE;
  if (result != SUCCESS || !is_device(ordinal)) {
    return end_call(result != SUCCESS ? result : INVALID_DEVICE);
  }
  switch (attribute) {
  case ATTRIBUTE_SM_COUNT:
    *value = 132;
    break;
  case ATTRIBUTE_MAJOR:
    *value = recording.devices[ordinal].major;
    break;
  case ATTRIBUTE_MINOR:
    *value = recording.devices[ordinal].minor;
    break;
  case ATTRIBUTE_SHARED_OPTIN:
    *value = recording.devices[ordinal].shared_bytes;
    break;
  default:
    result = INVALID_VALUE;
  }
  return end_call(result);
}

EXPORT(int, cuCtxGetCurrent, void **context)
{
  int result = begin_ready_call("cuCtxGetCurrent");
  if (result == SUCCESS) {
    *context = current();
  }
  return end_call(result);
}

EXPORT(int, cuCtxGetDevice, int *device)
{
  int result = begin_ready_call("cuCtxGetDevice");
  if (result == SUCCESS && current() == NULL) {
    result = INVALID_CONTEXT;
  }
  if (result == SUCCESS) {
    *device = DEVICE_HANDLE_BASE + current()->ordinal;
  }
  return end_call(result);
}

EXPORT(int, cuStreamGetCtx, void *stream, void **context)
{
  int result = begin_ready_call("cuStreamGetCtx");
  if (result == SUCCESS) {
    *context = stream != NULL ? &recording_contexts[((pretend_context *)stream)->ordinal] : current();
    result = *context != NULL ? SUCCESS : INVALID_CONTEXT;
  }
  return end_call(result);
}

EXPORT(int, cuCtxPushCurrent_v2, void *context)
{
  int result = begin_ready_call("cuCtxPushCurrent_v2");
  if (result == SUCCESS && (context == NULL || recording_depth == MAX_DEPTH)) {
    result = INVALID_CONTEXT;
  }
  if (result == SUCCESS) {
    recording_stack[recording_depth++] = context;
  }
  return end_call(result);
}

EXPORT(int, cuCtxPopCurrent_v2, void **context)
{
  int result = begin_ready_call("cuCtxPopCurrent_v2");
  if (result == SUCCESS && recording_depth == 0) {
    result = INVALID_CONTEXT;
  }
  if (result == SUCCESS) {
    *context = recording_stack[--recording_depth];
  }
  return end_call(result);
}

#if RECORDING_RELEASE >= 12000

/* NULL: the current one's. */
EXPORT(int, cuCtxGetId, void *context, unsigned long long *id)
{
  int result = begin_ready_call("cuCtxGetId");
  const pretend_context *asked = context != NULL ? context : current();
  if (result == SUCCESS && asked == NULL) {
    result = INVALID_CONTEXT;
  }
  if (result == SUCCESS) {
    *id = asked->id;
  }
  return end_call(result);
}

EXPORT(int, cuLibraryLoadData, void **library, const void *code, int *jit_options, void **jit_values,
       unsigned num_jit_options, int *library_options, void **library_values, unsigned num_library_options)
{
  int result = begin_ready_call("cuLibraryLoadData");
  bool has_options = jit_options != NULL || jit_values != NULL || library_options != NULL || library_values != NULL;
  if (result == SUCCESS && (has_options || num_jit_options != 0 || num_library_options != 0 || code == NULL)) {
    result = INVALID_VALUE;
  }
  /* A cubin, or PTX, which begins with a comment or a directive and ends with a zero. */
  if (result == SUCCESS && memcmp(code, "\177ELF", 4) != 0 && memcmp(code, "//", 2) != 0
      && memcmp(code, ".version", 8) != 0) {
    result = INVALID_IMAGE;
  }
  if (result == SUCCESS && (memcmp(code, "\177ELF", 4) == 0 ? recording.refuses_cubins : recording.refuses_ptx)) {
    result = NO_BINARY_FOR_GPU;
  }
  pretend_library *made = &recording.libraries[recording.next_library % MAX_LIBRARIES];
  if (result == SUCCESS && made->is_live) {
    result = OUT_OF_MEMORY;
  }
  if (result == SUCCESS) {
    *made = (pretend_library){.is_live = true, .image_major = recording.image_major, .kernel = {.library = made}};
    ++recording.next_library;
    ++recording.num_loads;
    *library = made;
  }
  return end_call(result);
}

EXPORT(int, cuLibraryUnload, void *library)
{
  int result = begin_ready_call("cuLibraryUnload");
  if (result == SUCCESS && (library == NULL || !((pretend_library *)library)->is_live)) {
    result = INVALID_HANDLE;
  }
  if (result == SUCCESS) {
    ((pretend_library *)library)->is_live = false;
  }
  return end_call(result);
}

EXPORT(int, cuLibraryGetKernel, void **kernel, void *library, const char *name)
{
  int result = begin_ready_call("cuLibraryGetKernel");
  if (result == SUCCESS && !((pretend_library *)library)->is_live) {
    result = INVALID_HANDLE;
  }
  if (result == SUCCESS && strcmp(name, "swa_decode") != 0 && strcmp(name, "swa_merge") != 0) {
    result = NOT_FOUND;
  }
  if (result == SUCCESS) {
    *kernel = &((pretend_library *)library)->kernel;
  }
  return end_call(result);
}

EXPORT(int, cuKernelGetFunction, void **function, void *kernel)
{
  int result = begin_ready_call("cuKernelGetFunction");
  if (result == SUCCESS && recording_find_kernel(kernel) == NULL) {
    result = INVALID_HANDLE;
  }
  if (result == SUCCESS && current() == NULL) {
    result = INVALID_CONTEXT;
  }
  if (result == SUCCESS) {
    pretend_function *made = &((pretend_kernel *)kernel)->functions[current()->ordinal];
    if (made->context_id != current()->id) {
      *made = (pretend_function){.context_id = current()->id};
    }
    *function = made;
  }
  return end_call(result);
}

EXPORT(int, cuKernelSetAttribute, int attribute, int value, void *kernel, int device)
{
  int result = begin_ready_call("cuKernelSetAttribute");
  pretend_kernel *found = recording_find_kernel(kernel);
  int ordinal = device - DEVICE_HANDLE_BASE;
  if (result == SUCCESS && found == NULL) {
    result = INVALID_HANDLE;
  }
  if (result == SUCCESS && !is_device(ordinal)) {
    result = INVALID_DEVICE;
  }
  if (result == SUCCESS
      && (attribute != FUNCTION_MAX_DYNAMIC_SHARED || value < 0 || value > recording.devices[ordinal].shared_bytes)) {
    result = INVALID_VALUE;
  }
  if (result == SUCCESS) {
    found->shared_limit[ordinal] = value;
  }
  return end_call(result);
}

EXPORT(int, cuKernelGetAttribute, int *value, int attribute, void *kernel, int device)
{
  int result = begin_ready_call("cuKernelGetAttribute");
  pretend_kernel *found = recording_find_kernel(kernel);
  int ordinal = device - DEVICE_HANDLE_BASE;
  if (result != SUCCESS || found == NULL || !is_device(ordinal)) {
    return end_call(result != SUCCESS ? result : found == NULL ? INVALID_HANDLE : INVALID_DEVICE);
  }
  switch (attribute) {
  case FUNCTION_LOCAL_BYTES:
    *value = 0;
    break;
  case FUNCTION_NUM_REGISTERS:
    *value = 128;
    break;
  case FUNCTION_MAX_DYNAMIC_SHARED:
    *value = found->shared_limit[ordinal];
    break;
  default:
    result = INVALID_VALUE;
  }
  return end_call(result);
}

#endif

#if RECORDING_RELEASE >= 12040

EXPORT(int, cuFuncLoad, void *function)
{
  int result = begin_ready_call("cuFuncLoad");
  int ordinal = -1;
  if (result == SUCCESS && recording_find_function(function, &ordinal) == NULL) {
    result = INVALID_HANDLE;
  }
  if (result == SUCCESS && (current() == NULL || current()->ordinal != ordinal)) {
    result = INVALID_CONTEXT;
  }
  if (result == SUCCESS) {
    ((pretend_function *)function)->is_loaded = true;
  }
  return end_call(result);
}

#endif

/* The kernel that handle stands for in the context where: its own handle in any, a function only in its context. */
static pretend_kernel *find_launched(const void *handle, const pretend_context *where)
{
  int ordinal = -1;
  pretend_kernel *kernel = recording_find_kernel(handle);
  if (kernel == NULL) {
    kernel = recording_find_function(handle, &ordinal);
    kernel = kernel != NULL && where != NULL && where->ordinal == ordinal ? kernel : NULL;
  }
  return kernel;
}

/* Why the driver would refuse a launch. */
static int check_launch(const pretend_kernel *kernel, const pretend_context *where, const recorded_launch *launch)
{
  if (where == NULL) {
    return INVALID_CONTEXT;
  }
  if (kernel == NULL) {
    return INVALID_HANDLE;
  }
  if (kernel->library->image_major != 0 && kernel->library->image_major != recording.devices[where->ordinal].major) {
    return NO_BINARY_FOR_GPU;
  }
  unsigned limit = (unsigned)kernel->shared_limit[where->ordinal];
  if (launch->shared_bytes > (limit > SHARED_WITHOUT_OPTIN ? limit : SHARED_WITHOUT_OPTIN)) {
    return INVALID_VALUE;
  }
  const unsigned *grid = launch->grid;
  const unsigned *block = launch->block;
  bool is_grid_legal =
      grid[0] >= 1 && grid[0] <= INT32_MAX && grid[1] >= 1 && grid[1] <= 65535 && grid[2] >= 1 && grid[2] <= 65535;
  bool is_block_legal = block[0] >= 1 && block[1] == 1 && block[2] == 1 && block[0] <= 1024;
  return is_grid_legal && is_block_legal ? SUCCESS : INVALID_VALUE;
}

/* Inside a call that began. launch: but for its kernel and device. */
static int record_launch(int result, recorded_launch *launch, void *function, void **params)
{
  const pretend_context *where = launch->stream != NULL ? launch->stream : current();
  const pretend_kernel *kernel = find_launched(function, where);
  launch->kernel = kernel;
  launch->function = function;
  launch->device = where != NULL ? where->ordinal : -1;
  if (result == SUCCESS) {
    result = check_launch(kernel, where, launch);
  }
  if (result == SUCCESS) {
    memcpy(launch->params, params[0], recording.params_bytes);
    if (recording.num_launches < RECORDING_MAX_LAUNCHES) {
      recording.launches[recording.num_launches] = *launch;
    }
    ++recording.num_launches;
  }
  return result;
}

EXPORT(int, cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params, void **extra)
{
  int result = begin_ready_call("cuLaunchKernel");
  recorded_launch launch = {.grid = {grid_x, grid_y, grid_z},
                            .block = {block_x, block_y, block_z},
                            .shared_bytes = shared_bytes,
                            .stream = stream,
                            .has_extra = extra != NULL};
  return end_call(record_launch(result, &launch, function, params));
}

#if RECORDING_RELEASE >= 11080

/* CUlaunchConfig and CUlaunchAttribute as the vendor's manual lists their fields. */
typedef struct given_attribute {
  int id;
  char padding[4];
  union {
    int number;
    char room[64];
  } value;
} given_attribute;

typedef struct given_config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  const given_attribute *attributes;
  unsigned num_attributes;
} given_config;

EXPORT(int, cuLaunchKernelEx, const given_config *config, void *function, void **params, void **extra)
{
  int result = begin_ready_call("cuLaunchKernelEx");
  recorded_launch launch = {
      .shared_bytes = config->shared_bytes, .stream = config->stream, .has_extra = extra != NULL, .is_extended = true};
  memcpy(launch.grid, config->grid, sizeof launch.grid);
  memcpy(launch.block, config->block, sizeof launch.block);
  for (unsigned i = 0; i < config->num_attributes && result == SUCCESS; ++i) {
    const given_attribute *given = &config->attributes[i];
    result = given->id == ATTRIBUTE_STREAM_SERIALIZATION ? SUCCESS : INVALID_VALUE;
    launch.is_dependent = given->value.number != 0;
  }
  return end_call(record_launch(result, &launch, function, params));
}

#endif
