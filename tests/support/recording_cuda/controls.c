/* SPDX-License-Identifier: Apache-2.0 */
/* The test's side: the state, and the table that steers it and reads it. */
#include "recording_state.h"

recording_state recording;
pthread_mutex_t recording_mutex = PTHREAD_MUTEX_INITIALIZER;
pretend_context recording_contexts[RECORDING_MAX_DEVICES];
pretend_context recording_streams[RECORDING_MAX_DEVICES];
_Thread_local pretend_context *recording_stack[MAX_DEPTH];
_Thread_local int recording_depth;

pretend_kernel *recording_find_kernel(const void *handle)
{
  for (int i = 0; i < MAX_LIBRARIES; ++i) {
    if (handle == &recording.libraries[i].kernel) {
      return recording.libraries[i].is_live ? &recording.libraries[i].kernel : NULL;
    }
  }
  return NULL;
}

pretend_kernel *recording_find_function(const void *handle, int *ordinal_out)
{
  for (int i = 0; i < MAX_LIBRARIES; ++i) {
    pretend_library *library = &recording.libraries[i];
    for (int ordinal = 0; ordinal < RECORDING_MAX_DEVICES; ++ordinal) {
      const pretend_function *each = &library->kernel.functions[ordinal];
      if (handle == each) {
        *ordinal_out = ordinal;
        return library->is_live && each->context_id == recording_contexts[ordinal].id ? &library->kernel : NULL;
      }
    }
  }
  return NULL;
}

static void make_context(int ordinal)
{
  static unsigned long long last_id;
  recording_contexts[ordinal] = (pretend_context){ordinal, ++last_id};
}

/* Also when the library is opened, for a test that needs nothing else. */
__attribute__((constructor)) static void reset(void)
{
  pthread_mutex_lock(&recording_mutex);
  memset(&recording, 0, sizeof recording);
  recording.num_devices = 1;
  recording.driver_version = RECORDING_RELEASE;
  for (int i = 0; i < RECORDING_MAX_DEVICES; ++i) {
    recording.devices[i] = (pretend_device){9, 0, 232448};
    make_context(i);
    recording_streams[i].ordinal = i;
  }
  recording_depth = 0;
  pthread_mutex_unlock(&recording_mutex);
}

static void set_num_devices(int count)
{
  recording.num_devices = count;
}

static void set_device(int ordinal, int major, int minor, int shared_memory_bytes)
{
  recording.devices[ordinal] = (pretend_device){major, minor, shared_memory_bytes};
}

static void set_driver_version(int version)
{
  recording.driver_version = version;
}

static void set_image_major(int major)
{
  recording.image_major = major;
}

static void refuse_images(bool cubins, bool ptx)
{
  recording.refuses_cubins = cubins;
  recording.refuses_ptx = ptx;
}

static void set_params_bytes(size_t count)
{
  recording.params_bytes = count <= RECORDING_PARAMS_BYTES ? count : RECORDING_PARAMS_BYTES;
}

static void set_current(int ordinal)
{
  recording_depth = ordinal < 0 ? 0 : 1;
  recording_stack[0] = ordinal < 0 ? NULL : &recording_contexts[ordinal];
}

static void *get_stream(int ordinal)
{
  return &recording_streams[ordinal];
}

static void renew_context(int ordinal)
{
  pthread_mutex_lock(&recording_mutex);
  make_context(ordinal);
  pthread_mutex_unlock(&recording_mutex);
}

static void set_fault(const char *name, unsigned nth, int result, bool stays)
{
  pthread_mutex_lock(&recording_mutex);
  recording.fault_name = name;
  recording.fault_nth = nth;
  recording.fault_result = result;
  recording.fault_stays = stays;
  recording.has_failed = false;
  pthread_mutex_unlock(&recording_mutex);
}

static void fail_call(unsigned nth, int result)
{
  set_fault(NULL, nth, result, false);
}

static void fail_from(unsigned nth, int result)
{
  set_fault(NULL, nth, result, true);
}

static void fail_function(const char *name, unsigned nth, int result)
{
  set_fault(name, nth, result, false);
}

static bool has_failed(void)
{
  return recording.has_failed;
}

static unsigned num_calls(const char *name)
{
  if (name == NULL) {
    return recording.num_calls;
  }
  unsigned count = 0;
  for (unsigned i = 0; i < recording.num_calls && i < RECORDING_MAX_CALLS; ++i) {
    count += strcmp(recording.calls[i], name) == 0 ? 1 : 0;
  }
  return count;
}

static const char *get_call(unsigned index)
{
  return index < recording.num_calls && index < RECORDING_MAX_CALLS ? recording.calls[index] : NULL;
}

static unsigned num_loaded(void)
{
  unsigned count = 0;
  for (int i = 0; i < MAX_LIBRARIES; ++i) {
    count += recording.libraries[i].is_live ? 1 : 0;
  }
  return count;
}

static unsigned num_loads(void)
{
  return recording.num_loads;
}

static unsigned num_launches(void)
{
  return recording.num_launches;
}

static const recorded_launch *get_launch(unsigned index)
{
  return index < recording.num_launches && index < RECORDING_MAX_LAUNCHES ? &recording.launches[index] : NULL;
}

static int get_shared_limit(const void *kernel, int ordinal)
{
  const pretend_kernel *found = recording_find_kernel(kernel);
  return found != NULL ? found->shared_limit[ordinal] : -1;
}

static bool is_function_loaded(const void *kernel, int ordinal)
{
  const pretend_kernel *found = recording_find_kernel(kernel);
  return found != NULL && found->functions[ordinal].context_id == recording_contexts[ordinal].id
         && found->functions[ordinal].is_loaded;
}

static const void *get_function(const void *kernel, int ordinal)
{
  const pretend_kernel *found = recording_find_kernel(kernel);
  return found != NULL ? &found->functions[ordinal] : NULL;
}

static int get_depth(void)
{
  return recording_depth;
}

EXPORT(const recording_cuda *, recording_cuda_controls, void)
{
  static const recording_cuda controls = {
      reset,
      set_num_devices,
      set_device,
      set_driver_version,
      set_image_major,
      refuse_images,
      set_params_bytes,
      set_current,
      get_stream,
      renew_context,
      fail_call,
      fail_from,
      fail_function,
      has_failed,
      num_calls,
      get_call,
      num_loaded,
      num_loads,
      num_launches,
      get_launch,
      get_shared_limit,
      is_function_loaded,
      get_function,
      get_depth,
  };
  return &controls;
}
