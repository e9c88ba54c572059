/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and modules of PTX. A module is a library that one context has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { /* CUjit_option */
       ERROR_LOG = 5,
       ERROR_LOG_BYTES = 6,
       FATBIN_MAGIC = 0x50, /* the first byte of a fat binary */
       NEWEST_PTX = 92      /* of CUDA 13.2 */
};

/* ---- images ----------------------------------------------------------------------------------------------- */

/* NULL: it may be PTX. */
static const char *find_what_else(const unsigned char *image)
{
  if (memcmp(image, "\177ELF", 4) == 0) {
    return "the image is a cubin, and the emulator executes PTX: set SWA_JIT_USE_PTX=1, or load PTX";
  }
  static const unsigned char fatbin[4] = {FATBIN_MAGIC, 0xed, 0x55, 0xba};
  return memcmp(image, fatbin, sizeof fatbin) == 0 ? "the image is a fat binary, and the emulator executes PTX" : NULL;
}

/* Gives the reason to a caller who has a buffer for it. */
static void write_log(const char *text, const int *options, void *const *values, unsigned count)
{
  char *buffer = NULL;
  size_t size = 0;
  for (unsigned i = 0; i < count; i++) {
    buffer = options[i] == ERROR_LOG ? values[i] : buffer;
    size = options[i] == ERROR_LOG_BYTES ? (size_t)(uintptr_t)values[i] : size;
  }
  if (buffer != NULL && size > 0) {
    snprintf(buffer, size, "%s", text);
  }
}

/* The version of PTX that the text's first directive names, 9.0 as 90; 0: none, which the machine tells better. */
static unsigned find_version(const char *text)
{
  const char *directive = strstr(text, ".version");
  unsigned major = 0;
  unsigned minor = 0;
  return directive != NULL && sscanf(directive + strlen(".version"), " %2u.%1u", &major, &minor) == 2
             ? 10 * major + minor
             : 0;
}

static int read_module(const char *text, emu_module **module_out)
{
  emu_message message = {""};
  const unsigned version = find_version(text);
  if (version > NEWEST_PTX) {
    return emu_fail(EMU_UNSUPPORTED_PTX_VERSION, "the PTX is of version %u.%u, and %d.%d is the newest known",
                    version / 10, version % 10, NEWEST_PTX / 10, NEWEST_PTX % 10);
  }
  int result = emu_module_load(text, strlen(text), emu_state_device(), module_out, &message);
  /* A driver's compiler refuses another target as it refuses any fault of the text. */
  return result != EMU_OK ? emu_fail(result == EMU_NO_BINARY ? EMU_INVALID_PTX : result, "%s", message.text) : EMU_OK;
}

static int load(const void *image, uint64_t context_id, emu_library **library_out)
{
  emu_module *module = NULL;
  if (image == NULL) {
    return EMU_INVALID_VALUE;
  }
  int result = emu_capture_guard();
  if (result != EMU_OK) {
    return result;
  }
  const char *other = find_what_else(image);
  if (other != NULL) {
    return emu_fail(EMU_NO_BINARY, "%s", other);
  }
  result = read_module(image, &module);
  if (result != EMU_OK) {
    return result;
  }
  emu_library *library = emu_object_make(EMU_LIBRARY, sizeof *library);
  if (library == NULL) {
    emu_module_free(module);
    return EMU_OUT_OF_MEMORY;
  }
  library->module = module;
  library->context_id = context_id;
  *library_out = library;
  return EMU_OK;
}

static int load_and_log(const void *image, uint64_t context_id, const int *options, void *const *values, unsigned count,
                        emu_library **library_out)
{
  int result = load(image, context_id, library_out);
  if (result != EMU_OK) {
    write_log(emu_fail_reason(result), options, values, count);
  }
  return result;
}

/* ---- unloading -------------------------------------------------------------------------------------------- */

static void drop_kernel(void *object, void *data)
{
  if (((emu_loaded_kernel *)object)->library == data) {
    emu_object_retire(object);
  }
}

static void drop_function(void *object, void *data)
{
  if (((emu_function *)object)->kernel->library == data) {
    emu_object_retire(object);
  }
}

void emu_library_release(emu_library *library)
{
  if (library->is_unloaded && library->num_users == 0) {
    emu_module_free(library->module);
    emu_object_retire(library);
  }
}

/* Its handles are gone at once, its code when no launch needs it any more. */
static void unload(emu_library *library)
{
  emu_object_each(EMU_FUNCTION, drop_function, library);
  emu_object_each(EMU_KERNEL, drop_kernel, library);
  library->is_unloaded = true;
  emu_library_release(library);
}

static void drop_module(void *object, void *data)
{
  emu_library *library = object;
  if (library->context_id == *(const uint64_t *)data && !library->is_unloaded) {
    unload(library);
  }
}

void emu_module_drop_context(uint64_t context_id)
{
  emu_object_each(EMU_LIBRARY, drop_module, &context_id);
}

static emu_library *find_library(const void *handle, bool is_module)
{
  emu_library *library = emu_object_find(EMU_LIBRARY, handle);
  return library != NULL && !library->is_unloaded && (library->context_id != 0) == is_module ? library : NULL;
}

/* ---- kernels and functions -------------------------------------------------------------------------------- */

typedef struct kernel_search {
  const emu_library *library;
  const emu_kernel *kernel;
  uint64_t context_id;
  void *found;
} kernel_search;

static void match_kernel(void *object, void *data)
{
  emu_loaded_kernel *each = object;
  kernel_search *search = data;
  if (each->library == search->library && each->kernel == search->kernel) {
    search->found = each;
  }
}

static void match_function(void *object, void *data)
{
  emu_function *each = object;
  kernel_search *search = data;
  if (each->kernel->kernel == search->kernel && each->context_id == search->context_id) {
    search->found = each;
  }
}

static int find_kernel(emu_library *library, const char *name, emu_loaded_kernel **kernel_out)
{
  const emu_kernel *kernel = name != NULL ? emu_module_kernel(library->module, name) : NULL;
  if (kernel == NULL) {
    return name == NULL ? EMU_INVALID_VALUE : emu_fail(EMU_NOT_FOUND, "the PTX has no kernel %s", name);
  }
  kernel_search search = {.library = library, .kernel = kernel};
  emu_object_each(EMU_KERNEL, match_kernel, &search);
  if (search.found == NULL) {
    emu_loaded_kernel *made = emu_object_make(EMU_KERNEL, sizeof *made);
    if (made == NULL) {
      return EMU_OUT_OF_MEMORY;
    }
    made->library = library;
    made->kernel = kernel;
    made->info = *emu_kernel_get_info(kernel);
    made->dynamic_shared_limit = -1;
    made->carveout = -1;
    search.found = made;
  }
  *kernel_out = search.found;
  return EMU_OK;
}

static int find_function(emu_loaded_kernel *kernel, uint64_t context_id, emu_function **function_out)
{
  kernel_search search = {.kernel = kernel->kernel, .context_id = context_id};
  emu_object_each(EMU_FUNCTION, match_function, &search);
  if (search.found == NULL) {
    emu_function *made = emu_object_make(EMU_FUNCTION, sizeof *made);
    if (made == NULL) {
      return EMU_OUT_OF_MEMORY;
    }
    made->kernel = kernel;
    made->context_id = context_id;
    search.found = made;
  }
  *function_out = search.found;
  return EMU_OK;
}

emu_loaded_kernel *emu_function_find(const void *handle, const emu_context *context)
{
  const emu_function *function = emu_object_find(EMU_FUNCTION, handle);
  if (function == NULL) {
    return emu_object_find(EMU_KERNEL, handle);
  }
  return function->context_id == context->object.id ? function->kernel : NULL;
}

/* ---- libraries -------------------------------------------------------------------------------------------- */

CALL(cuLibraryLoadData, void **library_out, const void *code, const int *jit_options, void *const *jit_values,
     unsigned num_jit_options, const int *library_options, void *const *library_values, unsigned num_library_options)
{
  emu_library *library = NULL;
  int result = emu_enter();
  (void)library_options;
  (void)library_values;
  if (result != EMU_OK) {
    return result;
  }
  if (library_out == NULL || num_library_options != 0) {
    return emu_leave(library_out == NULL ? EMU_INVALID_VALUE : EMU_NOT_SUPPORTED);
  }
  result = load_and_log(code, 0, jit_options, jit_values, num_jit_options, &library);
  if (result == EMU_OK) {
    *library_out = library;
  }
  return emu_leave(result);
}

CALL(cuLibraryUnload, void *handle)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  emu_library *library = find_library(handle, false);
  if (library == NULL) {
    return emu_leave(EMU_INVALID_HANDLE);
  }
  unload(library);
  return emu_leave(EMU_OK);
}

CALL(cuLibraryGetKernel, void **kernel_out, void *handle, const char *name)
{
  emu_loaded_kernel *kernel = NULL;
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  emu_library *library = find_library(handle, false);
  if (library == NULL || kernel_out == NULL) {
    return emu_leave(library == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  result = find_kernel(library, name, &kernel);
  if (result == EMU_OK) {
    *kernel_out = kernel;
  }
  return emu_leave(result);
}

CALL(cuLibraryGetKernelCount, unsigned *count, void *handle)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  const emu_library *library = find_library(handle, false);
  if (library == NULL || count == NULL) {
    return emu_leave(library == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  *count = emu_module_num_kernels(library->module);
  return emu_leave(EMU_OK);
}

/* The place of a variable, of a library's handle or a module's. */
static int get_global(uint64_t *address, size_t *bytes, void *handle, bool is_module, const char *name)
{
  emu_context *context = NULL;
  uint64_t found = 0;
  size_t size = 0;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const emu_library *library = find_library(handle, is_module);
  if (library == NULL || name == NULL) {
    return emu_leave(library == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  result = emu_module_global(library->module, name, &found, &size);
  if (result == EMU_OK && address != NULL) {
    *address = found;
  }
  if (result == EMU_OK && bytes != NULL) {
    *bytes = size;
  }
  return emu_leave(result);
}

CALL(cuLibraryGetGlobal, uint64_t *address, size_t *bytes, void *handle, const char *name)
{
  return get_global(address, bytes, handle, false, name);
}

CALL(cuKernelGetFunction, void **function_out, void *handle)
{
  emu_context *context = NULL;
  emu_function *function = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  emu_loaded_kernel *kernel = emu_object_find(EMU_KERNEL, handle);
  if (kernel == NULL || function_out == NULL) {
    return emu_leave(kernel == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  result = find_function(kernel, context->object.id, &function);
  if (result == EMU_OK) {
    *function_out = function;
  }
  return emu_leave(result);
}

CALL(cuKernelGetName, const char **name, void *handle)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  const emu_loaded_kernel *kernel = emu_object_find(EMU_KERNEL, handle);
  if (kernel == NULL || name == NULL) {
    return emu_leave(kernel == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  *name = kernel->info.name;
  return emu_leave(EMU_OK);
}

/* ---- modules ---------------------------------------------------------------------------------------------- */

CALL(cuModuleLoadDataEx, void **module_out, const void *image, unsigned num_options, const int *options, void **values)
{
  emu_context *context = NULL;
  emu_library *library = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  if (module_out == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  result = load_and_log(image, context->object.id, options, values, num_options, &library);
  if (result == EMU_OK) {
    *module_out = library;
  }
  return emu_leave(result);
}

CALL(cuModuleLoadData, void **module, const void *image)
{
  return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CALL(cuModuleUnload, void *handle)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  emu_library *library = find_library(handle, true);
  if (library == NULL) {
    return emu_leave(EMU_INVALID_HANDLE);
  }
  unload(library);
  return emu_leave(EMU_OK);
}

CALL(cuModuleGetFunction, void **function_out, void *handle, const char *name)
{
  emu_context *context = NULL;
  emu_loaded_kernel *kernel = NULL;
  emu_function *function = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  emu_library *library = find_library(handle, true);
  if (library == NULL || function_out == NULL) {
    return emu_leave(library == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  result = find_kernel(library, name, &kernel);
  if (result == EMU_OK) {
    result = find_function(kernel, library->context_id, &function);
  }
  if (result == EMU_OK) {
    *function_out = function;
  }
  return emu_leave(result);
}

CALL(cuModuleGetGlobal_v2, uint64_t *address, size_t *bytes, void *handle, const char *name)
{
  return get_global(address, bytes, handle, true, name);
}
