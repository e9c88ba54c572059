/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../driver_calls.h"
#include "kernel.h"
#include "values.h"

static driver_calls cu;

enum {
  ROOM_OPERANDS = GOLDEN_MAX_SOURCES * GOLDEN_MAX_THREADS * 8,
  ROOM_RESULTS = GOLDEN_MAX_RESULTS * GOLDEN_MAX_THREADS * 8
};
enum { ROOM_MEMORY = GOLDEN_THREAD_MEMORY * GOLDEN_MAX_THREADS, POISON = 0x5aa5, MAJOR = 75, MINOR = 76 };

static bool find_calls(void *library)
{
  bool found = true;
  void *address;
#define FIND(member, symbol, parameters)                                                                               \
  address = dlsym(library, #symbol);                                                                                   \
  memcpy(&cu.member, &address, sizeof address);                                                                        \
  found = found && address != NULL;
  DRIVER_CALLS(FIND)
#undef FIND
  return found;
}

static bool worked(golden_device *device, const char *call, int result)
{
  if (result == 0) {
    return true;
  }
  device->fault = call;
  device->reason = NULL;
  if (cu.error_string == NULL || cu.error_string(result, &device->reason) != 0 || device->reason == NULL) {
    device->reason = "a status without a text";
  }
  return false;
}
#define WORKED(call, ...) worked(device, #call, cu.call(__VA_ARGS__))

static bool prepare(golden_device *device)
{
  void *context;
  int ordinal, minor = 0;
  if (!WORKED(device_get, &ordinal, 0) || !WORKED(device_name, device->name, sizeof device->name, ordinal)
      || !WORKED(device_attribute, &device->arch, MAJOR, ordinal) || !WORKED(device_attribute, &minor, MINOR, ordinal)
      || !WORKED(primary_retain, &context, ordinal) || !WORKED(ctx_set, context)) {
    return false;
  }
  device->arch = 10 * device->arch + minor;
  return WORKED(alloc, &device->operands, ROOM_OPERANDS) && WORKED(alloc, &device->results, ROOM_RESULTS)
         && WORKED(alloc, &device->memory, ROOM_MEMORY);
}

int golden_open(const char *path, golden_device *device_out)
{
  golden_device *device = device_out;
  memset(device, 0, sizeof *device);
  device->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  device->fault = path;
  if (device->library == NULL) {
    device->reason = dlerror();
    return GOLDEN_NO_DEVICE;
  }
  if (!find_calls(device->library)) {
    device->reason = "an entry point is missing";
    return 1;
  }
  const int started = cu.init(0);
  if (!worked(device, "cuInit", started)) {
    return started == GOLDEN_NO_DEVICE ? GOLDEN_NO_DEVICE : 1;
  }
  return prepare(device) ? 0 : 1;
}

void golden_close(golden_device *device)
{
  if (device->module != NULL) {
    (void)cu.module_unload(device->module);
  }
  (void)cu.release(device->operands);
  (void)cu.release(device->results);
  (void)cu.release(device->memory);
  (void)cu.primary_release(0);
  dlclose(device->library);
}

bool golden_load(golden_device *device, const char *ptx)
{
  if (device->module != NULL && !WORKED(module_unload, device->module)) {
    return false;
  }
  device->module = NULL;
  return WORKED(module_load, &device->module, ptx);
}

bool golden_run(golden_device *device, const golden_case *one, size_t number, const uint64_t *words,
                uint64_t *results_out)
{
  static const uint32_t table[8] = {0x89abcdef, 0x01234567, 0xf0e1d2c3, 0x7f808182,
                                    0x3f800000, 0xc0490fdb, 0x80000001, 0x7ff00000};
  const unsigned threads = golden_num_threads(one);
  uint32_t eight[8];
  void *parameters[] = {&device->operands, &device->results, &device->memory, eight};
  void *function;
  char name[32];
  memcpy(eight, table, sizeof eight);
  snprintf(name, sizeof name, "case%zu", number);
  if (!WORKED(module_function, &function, device->module, name)) {
    return false;
  }
  if (one->num_sources > 0 && !WORKED(write, device->operands, words, (size_t)8 * threads * one->num_sources)) {
    return false;
  }
  if (!WORKED(fill16, device->results, POISON, (size_t)4 * threads * one->num_results)
      || !WORKED(fill8, device->memory, 0, (size_t)GOLDEN_THREAD_MEMORY * threads)) {
    return false;
  }
  return WORKED(launch, function, threads / GOLDEN_BLOCK, 1, 1, GOLDEN_BLOCK, 1, 1, 0, NULL, parameters, NULL)
         && worked(device, "ctx_wait", cu.ctx_wait())
         && WORKED(read, results_out, device->results, (size_t)8 * threads * one->num_results);
}
