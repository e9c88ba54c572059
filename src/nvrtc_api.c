/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { NVRTC_SUCCESS = 0 };

/* Newest first. */
static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
enum { NUM_SONAMES = sizeof sonames / sizeof sonames[0] };
#define OLDEST_VERSION 12000u /* that one of them has */

/* Where Python keeps packages: PREFIX/lib/python3*, in site-packages or, on Debian, dist-packages. */
static const char *const python_prefixes[] = {"/usr/local", "/usr", "/opt/conda"};
enum { NUM_PYTHON_PREFIXES = sizeof python_prefixes / sizeof python_prefixes[0] };

/* Every entry is required: all are there since CUDA 11.2, older than the oldest compiler that is of use here. */
static const struct {
  const char *name;
  size_t offset;
} symbols[] = {
    {"nvrtcVersion", offsetof(sj_nvrtc_api, version)},
    {"nvrtcGetErrorString", offsetof(sj_nvrtc_api, get_error_string)},
    {"nvrtcCreateProgram", offsetof(sj_nvrtc_api, create_program)},
    {"nvrtcDestroyProgram", offsetof(sj_nvrtc_api, destroy_program)},
    {"nvrtcCompileProgram", offsetof(sj_nvrtc_api, compile_program)},
    {"nvrtcGetProgramLogSize", offsetof(sj_nvrtc_api, get_program_log_size)},
    {"nvrtcGetProgramLog", offsetof(sj_nvrtc_api, get_program_log)},
    {"nvrtcGetCUBINSize", offsetof(sj_nvrtc_api, get_cubin_size)},
    {"nvrtcGetCUBIN", offsetof(sj_nvrtc_api, get_cubin)},
    {"nvrtcGetPTXSize", offsetof(sj_nvrtc_api, get_ptx_size)},
    {"nvrtcGetPTX", offsetof(sj_nvrtc_api, get_ptx)},
    {"nvrtcGetNumSupportedArchs", offsetof(sj_nvrtc_api, get_num_supported_archs)},
    {"nvrtcGetSupportedArchs", offsetof(sj_nvrtc_api, get_supported_archs)},
};
enum { NUM_SYMBOLS = sizeof symbols / sizeof symbols[0] };

/* The name of the first symbol that is missing, NULL when the table is full. */
static const char *fill_table(sj_nvrtc_api *api)
{
  for (unsigned i = 0; i < NUM_SYMBOLS; i++) {
    void *symbol = dlsym(api->library, symbols[i].name);
    if (symbol == NULL) {
      return symbols[i].name;
    }
    memcpy((char *)api + symbols[i].offset, &symbol, sizeof symbol);
  }
  return NULL;
}

/* The file that was opened: a plain soname says nothing of where the loader found it. */
static void find_path(sj_nvrtc_api *api, const char *asked)
{
  void *address = NULL;
  Dl_info found;
  memcpy(&address, &api->version, sizeof address);
  const char *path = dladdr(address, &found) != 0 && found.dli_fname != NULL ? found.dli_fname : asked;
  snprintf(api->path, sizeof api->path, "%s", path);
}

/* Takes over library. On failure reason says why, and library is closed. */
static bool use_library(void *library, const char *name, sj_nvrtc_api *api_out, char *reason, size_t reason_size)
{
  sj_nvrtc_api api = {.library = library};
  int major = 0;
  int minor = 0;
  const char *missing = fill_table(&api);
  if (missing != NULL) {
    snprintf(reason, reason_size, "%s: it lacks the symbol %s", name, missing);
    dlclose(library);
    return false;
  }
  int result = api.version(&major, &minor);
  if (result != NVRTC_SUCCESS || major < 0 || minor < 0 || major > 1000 || minor > 99) {
    snprintf(reason, reason_size, "%s: nvrtcVersion failed with %d (version %d.%d)", name, result, major, minor);
    dlclose(library);
    return false;
  }
  api.version_code = (uint32_t)(major * 1000 + minor * 10);
  find_path(&api, name);
  *api_out = api;
  return true;
}

static bool open_file(const char *name, sj_nvrtc_api *api_out, char *reason, size_t reason_size)
{
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *error = dlerror();
    snprintf(reason, reason_size, "%.400s: %.600s", name,
             error != NULL ? sj_text_behind(error, name) : "it cannot be opened");
    return false;
  }
  return use_library(library, name, api_out, reason, reason_size);
}

/* NVRTC opens its builtins library by bare name at its first compile and does not look beside itself. Once the file is
 * loaded by its full path, the loader answers the bare name with it. Where it is not beside libnvrtc the loader's own
 * search may still find it, so that a failure here is no error. */
static void open_builtins(sj_nvrtc_api *api)
{
  const char *slash = strrchr(api->path, '/');
  char path[sizeof api->path + 64];
  if (slash == NULL) {
    return;
  }
  int folder_length = (int)(slash - api->path);
  snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%u.%u", folder_length, api->path, api->version_code / 1000,
           api->version_code % 1000 / 10);
  api->builtins_library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* RTLD_NODELETE: NVRTC may keep data that is freed when a thread which compiled ends; that code must still be there.
 * Only the copy that is taken gets it: one that was passed over leaves the process again. */
static void keep(sj_nvrtc_api *api, const char *name)
{
  void *again = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (again != NULL) {
    dlclose(again);
  }
  open_builtins(api);
}

/* One copy can stand at several places: a link beside its folder, a plain name for what is loaded. */
static void pass_over(sj_nvrtc_search *search, const char *reason)
{
  char line[1200];
  snprintf(line, sizeof line, "%s\n", reason);
  if (search->tried.data == NULL || strstr(search->tried.data, line) == NULL) {
    sj_log_line(search->log, SWA_JIT_LOG_DEBUG, "nvrtc: passed over %s", reason);
    sj_text_add(&search->tried, line);
  }
}

static bool try_file(const char *name, sj_nvrtc_search *search, sj_nvrtc_api *api_out)
{
  sj_nvrtc_api api = {0};
  char reason[1024];
  if (!open_file(name, &api, reason, sizeof reason)) {
    pass_over(search, reason);
    return false;
  }
  if (api.version_code < search->min_version) {
    snprintf(reason, sizeof reason, "%s: version %u.%u is too old", api.path, api.version_code / 1000,
             api.version_code % 1000 / 10);
    search->found_old = true;
    sj_nvrtc_api_close(&api);
    pass_over(search, reason);
    return false;
  }
  keep(&api, name);
  *api_out = api;
  return true;
}

/* A folder's name may hold what glob(3) takes for a pattern. */
static void add_escaped(sj_text *places, const char *folder)
{
  for (const char *c = folder; *c != '\0'; c++) {
    if (strchr("*?[]\\", *c) != NULL) {
      sj_text_add_bytes(places, "\\", 1);
    }
    sj_text_add_bytes(places, c, 1);
  }
}

static void add_wheels(sj_text *places, const char *prefix)
{
  static const char *const endings[] = {"nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"};
  for (unsigned i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    add_escaped(places, prefix);
    sj_text_add_format(places, "/lib/python3*/*-packages/%s\n", endings[i]);
  }
}

void sj_nvrtc_add_places(const char *virtual_env, sj_text *places)
{
  for (unsigned i = 0; i < NUM_SONAMES; i++) {
    sj_text_add_format(places, "%s\n", sonames[i]);
  }
  for (unsigned i = 0; i < NUM_SONAMES; i++) {
    sj_text_add_format(places, "/usr/local/cuda*/lib64/%s\n", sonames[i]);
    sj_text_add_format(places, "/usr/local/cuda*/targets/*/lib/%s\n", sonames[i]);
  }
  if (virtual_env != NULL && virtual_env[0] == '/') {
    add_wheels(places, virtual_env);
  }
  for (unsigned i = 0; i < NUM_PYTHON_PREFIXES; i++) {
    add_wheels(places, python_prefixes[i]);
  }
}

/* By the numbers in the names, so that cuda-12.10 is newer than cuda-12.9. */
static int compare_newest_first(const void *a, const void *b)
{
  return strverscmp(*(char *const *)b, *(char *const *)a);
}

static bool try_pattern(const char *pattern, sj_nvrtc_search *search, sj_nvrtc_api *api_out)
{
  glob_t matches = {0};
  bool is_open = false;
  if (glob(pattern, GLOB_NOSORT, NULL, &matches) != 0) {
    sj_text_add_format(&search->tried, "%s: no such file\n", pattern);
    globfree(&matches);
    return false;
  }
  qsort(matches.gl_pathv, matches.gl_pathc, sizeof matches.gl_pathv[0], compare_newest_first);
  for (size_t i = 0; i < matches.gl_pathc && !is_open; i++) {
    is_open = try_file(matches.gl_pathv[i], search, api_out);
  }
  globfree(&matches);
  return is_open;
}

bool sj_nvrtc_api_open_place(const char *places, sj_nvrtc_search *search, sj_nvrtc_api *api_out)
{
  bool is_open = false;
  for (const char *line = places; *line != '\0' && !is_open;) {
    char place[1024];
    size_t length = strcspn(line, "\n");
    snprintf(place, sizeof place, "%.*s", (int)(length < sizeof place ? length : sizeof place - 1), line);
    line += length + (line[length] == '\n');
    is_open = strchr(place, '/') != NULL ? try_pattern(place, search, api_out) : try_file(place, search, api_out);
  }
  return is_open;
}

/* A copy that the program already uses comes first: two compilers in one process would only cost memory. */
static bool open_loaded(sj_nvrtc_search *search, sj_nvrtc_api *api_out)
{
  bool is_open = false;
  for (unsigned i = 0; i < NUM_SONAMES && !is_open; i++) {
    void *library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library != NULL) {
      is_open = try_file(sonames[i], search, api_out);
      dlclose(library);
    }
  }
  return is_open;
}

static swa_jit_status fail_search(const sj_nvrtc_search *search)
{
  uint32_t needed = search->min_version > OLDEST_VERSION ? search->min_version : OLDEST_VERSION;
  return sj_fail(search->found_old ? SWA_JIT_UNSUPPORTED : SWA_JIT_NO_COMPILER,
                 "libnvrtc %u.%u or newer was not found: install NVRTC, or name the file with nvrtc_path or "
                 "SWA_JIT_NVRTC. Tried:\n%s",
                 needed / 1000, needed % 1000 / 10, search->tried.data != NULL ? search->tried.data : "");
}

static swa_jit_status open_found(const char *virtual_env, uint32_t min_version, const sj_log *log,
                                 sj_nvrtc_api *api_out)
{
  sj_nvrtc_search search = {.min_version = min_version, .log = log};
  sj_text places = {0};
  swa_jit_status status = SWA_JIT_OK;
  if (!open_loaded(&search, api_out)) {
    sj_nvrtc_add_places(virtual_env, &places);
    if (places.failed) {
      status = sj_fail_memory();
    } else if (!sj_nvrtc_api_open_place(places.data, &search, api_out)) {
      status = fail_search(&search);
    }
  }
  sj_text_finish(&places);
  sj_text_finish(&search.tried);
  return status;
}

static swa_jit_status open_explicit(const char *path, sj_nvrtc_api *api_out)
{
  char reason[1024];
  if (!open_file(path, api_out, reason, sizeof reason)) {
    return sj_fail(
        SWA_JIT_NO_COMPILER,
        "the libnvrtc that nvrtc_path or SWA_JIT_NVRTC names cannot be used: %s. No other is tried: correct the "
        "path, or leave it out for a search",
        reason);
  }
  keep(api_out, path);
  return SWA_JIT_OK;
}

swa_jit_status sj_nvrtc_api_open(const char *path, const char *virtual_env, uint32_t min_version, const sj_log *log,
                                 sj_nvrtc_api *api_out)
{
  sj_nvrtc_api api = {0};
  swa_jit_status status = path != NULL ? open_explicit(path, &api) : open_found(virtual_env, min_version, log, &api);
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_log_line(log, SWA_JIT_LOG_DEBUG, "nvrtc: %s, version %u.%u, builtins %s", api.path, api.version_code / 1000,
              api.version_code % 1000 / 10, api.builtins_library != NULL ? "beside it" : "left to the loader");
  *api_out = api;
  return SWA_JIT_OK;
}

void sj_nvrtc_api_close(sj_nvrtc_api *api)
{
  if (api->builtins_library != NULL) {
    dlclose(api->builtins_library);
  }
  if (api->library != NULL) {
    dlclose(api->library);
  }
  *api = (sj_nvrtc_api){0};
}
