/* SPDX-License-Identifier: Apache-2.0 */
#include "lib.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "store_folder.h"
#include "text.h"

bool sj_lib_has_flag(const swa_jit_lib *lib, uint32_t flag)
{
  return (lib->options.flags & flag) != 0;
}

/* A HOME that does not exist is one that a system gives to users who shall have none: it is not made, even by who
 * could. */
static swa_jit_status open_own_store(const swa_jit_lib *lib, sj_stats *stats, sj_store *store_out)
{
  const sj_options *options = &lib->options;
  char shown[SJ_PATH_SIZE];
  struct stat status;
  if (options->home != NULL && lib->os->fstatat(AT_FDCWD, options->home, &status, 0) != 0 && errno == ENOENT) {
    return sj_fail(SWA_JIT_STORE_ERROR,
                   "HOME is %s, which does not exist: name a folder for the cubin store with SWA_JIT_CACHE_DIR or "
                   "swa_jit_options.cache_dir",
                   sj_text_show_path(options->home, shown));
  }
  return sj_store_open(options->cache_dir, options->flags, lib->os, &options->log, stats, store_out);
}

/* Keeps the message for whoever asks later why there is no store. */
static swa_jit_status note_trouble(swa_jit_lib *lib, swa_jit_status status)
{
  const bool is_missing = (lib->options.flags & (SWA_JIT_FLAG_NO_CREATE | SWA_JIT_FLAG_READ_ONLY)) != 0
                          && sj_folder_is_missing(lib->os, lib->options.cache_dir);
  lib->store_info.state = is_missing ? SWA_JIT_STORE_MISSING : SWA_JIT_STORE_REFUSED;
  lib->store_reason = sj_text_copy(sj_message());
  lib->store_status = status;
  return lib->store_reason != NULL ? SWA_JIT_OK : sj_fail_memory();
}

/* The folder that is written. */
static swa_jit_status open_cache_dir(swa_jit_lib *lib)
{
  const sj_options *options = &lib->options;
  lib->store_info.state = SWA_JIT_STORE_NONE;
  if (options->cache_dir == NULL || sj_lib_has_flag(lib, SWA_JIT_FLAG_NO_STORE)) {
    lib->store_reason = sj_text_copy("none is wanted, or HOME names none");
    return lib->store_reason != NULL ? SWA_JIT_OK : sj_fail_memory();
  }
  lib->store_folder = sj_os_absolute_path(options->cache_dir);
  if (lib->store_folder == NULL) {
    return sj_fail_memory();
  }
  swa_jit_status status = open_own_store(lib, &lib->stats, &lib->store);
  if (status != SWA_JIT_STORE_ERROR) {
    lib->store.limit_bytes = options->cache_limit_bytes;
    lib->store_info.state = SWA_JIT_STORE_OPEN;
    return status;
  }
  status = note_trouble(lib, status);
  if (status == SWA_JIT_OK && lib->store_info.state == SWA_JIT_STORE_MISSING
      && sj_lib_has_flag(lib, SWA_JIT_FLAG_NO_CREATE)) {
    return SWA_JIT_OK;
  }
  if (status == SWA_JIT_OK && options->cache_dir_from_call) {
    return lib->store_status;
  }
  if (status == SWA_JIT_OK) {
    sj_log_line(&options->log, SWA_JIT_LOG_WARN, "no store, kernels are kept in memory only: %s", sj_message());
  }
  return status;
}

static swa_jit_status open_store(swa_jit_lib *lib)
{
  const sj_options *options = &lib->options;
  lib->store = (sj_store){.os = lib->os, .log = &options->log, .stats = &lib->stats, .dir_fd = -1};
  swa_jit_status status = open_cache_dir(lib);
  if (status == SWA_JIT_OK && options->cache_path != NULL) {
    status = sj_store_add_layers(&lib->store, options->cache_path, options->flags, options->cache_path_from_call);
  }
  lib->store_info.size = sizeof lib->store_info;
  lib->store_info.flags = options->flags;
  lib->store_info.num_layers = lib->store.num_layers;
  lib->store_info.cache_limit_bytes = options->cache_limit_bytes;
  lib->store_info.folder = lib->store_folder != NULL ? lib->store_folder : "";
  lib->store_info.reason = lib->store_reason != NULL ? lib->store_reason : "";
  return status;
}

const swa_jit_store_info *sj_lib_store_info(const swa_jit_lib *lib)
{
  return &lib->store_info;
}

swa_jit_status sj_lib_check_store(swa_jit_lib *lib)
{
  const sj_options *options = &lib->options;
  if (lib->store.dir_fd >= 0) {
    return sj_store_check(&lib->store);
  }
  if (sj_lib_has_flag(lib, SWA_JIT_FLAG_NO_STORE)) {
    return sj_fail(SWA_JIT_STORE_ERROR, "there is no cubin store: clear SWA_JIT_FLAG_NO_STORE");
  }
  if (options->cache_dir == NULL) {
    return sj_fail(SWA_JIT_STORE_ERROR, "there is no folder for the cubin store, as HOME is unset or no absolute path: "
                                        "set SWA_JIT_CACHE_DIR or swa_jit_options.cache_dir");
  }
  /* It was a warning when the library was opened; tried once more, for the reason. */
  sj_store store;
  swa_jit_status status = open_own_store(lib, &lib->stats, &store);
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_store_close(&store);
  char shown[SJ_PATH_SIZE];
  return sj_fail(SWA_JIT_STORE_ERROR,
                 "the cubin store %s could not be opened earlier and can be now: open the library "
                 "anew",
                 sj_text_show_path(options->cache_dir, shown));
}

static swa_jit_status open_parts(swa_jit_lib *lib, const swa_jit_options *given)
{
  swa_jit_status status = sj_options_make(given, &lib->options);
  if (status == SWA_JIT_OK) {
    status = sj_kernel_table_create(&lib->table);
  }
  return status == SWA_JIT_OK ? open_store(lib) : status;
}

swa_jit_status sj_lib_open(const swa_jit_options *given, const sj_os *os, swa_jit_lib **lib_out)
{
  sj_kept_message kept;
  sj_message_keep(&kept);
  swa_jit_lib *lib = calloc(1, sizeof *lib);
  if (lib == NULL || pthread_mutex_init(&lib->vendor_mutex, NULL) != 0) {
    free(lib);
    return sj_fail_memory();
  }
  lib->os = os;
  lib->store.dir_fd = -1;
  swa_jit_status status = open_parts(lib, given);
  if (status != SWA_JIT_OK) {
    sj_log log = lib->options.log;
    sj_log_line(&log, SWA_JIT_LOG_ERROR, "swa_jit_open: %s", sj_message());
    sj_lib_close(lib);
    return status;
  }
  *lib_out = lib;
  return sj_message_restore(status, &kept);
}

void sj_lib_close(swa_jit_lib *lib)
{
  sj_kernel_table_destroy(lib->table);
  if (lib->has_cuda) {
    sj_cuda_api_close(&lib->cuda);
  }
  while (lib->nvrtc != NULL) {
    sj_opened_nvrtc *next = lib->nvrtc->next;
    sj_nvrtc_api_close(&lib->nvrtc->api);
    free(lib->nvrtc);
    lib->nvrtc = next;
  }
  sj_store_close(&lib->store);
  free(lib->store_folder);
  free(lib->store_reason);
  sj_options_finish(&lib->options);
  pthread_mutex_destroy(&lib->vendor_mutex);
  free(lib);
}

static swa_jit_status add_nvrtc(const sj_options *options, uint32_t min_version, sj_opened_nvrtc **added_out)
{
  sj_opened_nvrtc *added = calloc(1, sizeof *added);
  if (added == NULL) {
    return sj_fail_memory();
  }
  swa_jit_status status =
      sj_nvrtc_api_open(options->nvrtc_path, options->virtual_env, min_version, &options->log, &added->api);
  if (status != SWA_JIT_OK) {
    free(added);
    return status;
  }
  *added_out = added;
  return SWA_JIT_OK;
}

swa_jit_status sj_lib_open_nvrtc(swa_jit_lib *lib, uint32_t min_version, const sj_nvrtc_api **api_out)
{
  const bool is_named = lib->options.nvrtc_path != NULL;
  swa_jit_status status = SWA_JIT_OK;
  pthread_mutex_lock(&lib->vendor_mutex);
  sj_opened_nvrtc **place = &lib->nvrtc;
  while (*place != NULL && !is_named && (*place)->api.version_code < min_version) {
    place = &(*place)->next;
  }
  if (*place == NULL) {
    status = add_nvrtc(&lib->options, min_version, place);
  }
  if (status == SWA_JIT_OK) {
    *api_out = &(*place)->api;
  }
  pthread_mutex_unlock(&lib->vendor_mutex);
  return status;
}

swa_jit_status sj_lib_open_cuda(swa_jit_lib *lib, const sj_cuda_api **api_out)
{
  swa_jit_status status = SWA_JIT_OK;
  if (!atomic_load_explicit(&lib->has_cuda, memory_order_acquire)) {
    pthread_mutex_lock(&lib->vendor_mutex);
    if (!lib->has_cuda) {
      status = sj_cuda_api_open(lib->options.cuda_path, &lib->options.log, &lib->cuda);
      atomic_store_explicit(&lib->has_cuda, status == SWA_JIT_OK, memory_order_release);
    }
    pthread_mutex_unlock(&lib->vendor_mutex);
  }
  *api_out = &lib->cuda;
  return status;
}
