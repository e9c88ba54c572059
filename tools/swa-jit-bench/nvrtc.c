/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

typedef struct program_handle *program; /* nvrtcProgram */

typedef struct nvrtc {
  const char *(*get_error_string)(int result);
  int (*create_program)(program *program_out, const char *source, const char *name, int num_headers,
                        const char *const *headers, const char *const *include_names);
  int (*compile_program)(program handle, int num_options, const char *const *options);
  int (*destroy_program)(program *handle);
  int (*get_log_size)(program handle, size_t *size);
  int (*get_log)(program handle, char *log);
  int (*get_cubin_size)(program handle, size_t *size);
  int (*get_cubin)(program handle, char *cubin);
  void *library;
} nvrtc;

static const struct {
  size_t offset;
  const char *symbol;
} entries[] = {
    {offsetof(nvrtc, get_error_string), "nvrtcGetErrorString"},
    {offsetof(nvrtc, create_program), "nvrtcCreateProgram"},
    {offsetof(nvrtc, compile_program), "nvrtcCompileProgram"},
    {offsetof(nvrtc, destroy_program), "nvrtcDestroyProgram"},
    {offsetof(nvrtc, get_log_size), "nvrtcGetProgramLogSize"},
    {offsetof(nvrtc, get_log), "nvrtcGetProgramLog"},
    {offsetof(nvrtc, get_cubin_size), "nvrtcGetCUBINSize"},
    {offsetof(nvrtc, get_cubin), "nvrtcGetCUBIN"},
};

static void *open_library(const char *path)
{
  /* Plain names find a copy that the library has opened from anywhere: it is loaded already. */
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                      "/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.12"};
  if (path != NULL && path[0] != '\0') {
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
      return library;
    }
  }
  return NULL;
}

static bool open_nvrtc(const char *path, nvrtc *api, char *message, size_t message_size)
{
  api->library = open_library(path != NULL ? path : secure_getenv("SWA_JIT_NVRTC"));
  if (api->library == NULL) {
    snprintf(message, message_size, "the floor kernel needs NVRTC: %s; name one with --nvrtc or SWA_JIT_NVRTC",
             dlerror());
    return false;
  }
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    void *symbol = dlsym(api->library, entries[i].symbol);
    if (symbol == NULL) {
      snprintf(message, message_size, "libnvrtc has no %s", entries[i].symbol);
      dlclose(api->library);
      return false;
    }
    memcpy((char *)api + entries[i].offset, &symbol, sizeof symbol);
  }
  return true;
}

static void tell_log(const nvrtc *api, program handle, int result, char *message, size_t message_size)
{
  size_t size = 0;
  char *log = NULL;
  if (api->get_log_size(handle, &size) == 0 && size > 1) {
    log = sj_memory_get(size + 1, 1);
    if (api->get_log(handle, log) != 0) {
      log[0] = '\0';
    }
  }
  snprintf(message, message_size, "NVRTC refused floor.cu: %s\n%s", api->get_error_string(result),
           log != NULL ? log : "");
  free(log);
}

static bool compile(const nvrtc *api, program handle, const char *const *options, int num_options, char **cubin_out,
                    char *message, size_t message_size)
{
  size_t size = 0;
  int result = api->compile_program(handle, num_options, options);
  if (result == 0) {
    result = api->get_cubin_size(handle, &size);
  }
  if (result != 0 || size == 0) {
    tell_log(api, handle, result, message, message_size);
    return false;
  }
  char *cubin = sj_memory_get(size, 1);
  result = api->get_cubin(handle, cubin);
  if (result != 0) {
    tell_log(api, handle, result, message, message_size);
    free(cubin);
    return false;
  }
  *cubin_out = cubin;
  return true;
}

bool bench_nvrtc_compile(const char *path, const char *source, const char *name, const char *const *options,
                         int num_options, char **cubin_out, char *message, size_t message_size)
{
  nvrtc api = {0};
  program handle = NULL;
  if (!open_nvrtc(path, &api, message, message_size)) {
    return false;
  }
  int result = api.create_program(&handle, source, name, 0, NULL, NULL);
  bool made = result == 0;
  if (made) {
    made = compile(&api, handle, options, num_options, cubin_out, message, message_size);
    api.destroy_program(&handle);
  } else {
    snprintf(message, message_size, "nvrtcCreateProgram: %s", api.get_error_string(result));
  }
  dlclose(api.library);
  return made;
}
