/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "obtain.h"
#include "render.h"

/* ---- Configuration -> entry with plan, source and key ------------------------------------------------------- */

/* The caller's struct as a concrete configuration. */
static swa_jit_status take_config(swa_jit_lib *lib, const swa_jit_config *given, swa_jit_config *config_out)
{
  swa_jit_status status = sj_config_take(given, config_out);
  if (status != SWA_JIT_OK || config_out->arch != SWA_JIT_ARCH_NATIVE) {
    return status;
  }
  const sj_cuda_api *cuda = NULL;
  const sj_arch *arch = NULL;
  status = sj_lib_open_cuda(lib, &cuda);
  if (status == SWA_JIT_OK) {
    status = sj_load_native_arch(cuda, sj_lib_has_flag(lib, SWA_JIT_FLAG_KEEP_PTX | SWA_JIT_FLAG_USE_PTX), &arch);
  }
  if (status == SWA_JIT_OK) {
    config_out->arch = arch->id;
  }
  return status;
}

/* The table's entry. What does not fit is refused before it, so that only what can be built takes memory. */
static swa_jit_status add_entry(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  sj_tile_plan plan;
  *kernel_out = sj_kernel_table_find(lib->table, config);
  if (*kernel_out != NULL) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = sj_tile_plan_make(config, sj_arch_find(config->arch), &plan);
  return status == SWA_JIT_OK ? sj_kernel_table_add(lib->table, config, kernel_out) : status;
}

/* The key of the kernel's image. */
static swa_jit_status make_key(const swa_jit_lib *lib, const struct swa_jit_kernel *kernel, const char *source,
                               sj_key *key_out)
{
  char storage[64];
  const char *options[SJ_MAX_COMPILE_OPTIONS];
  sj_key cubin_key;
  sj_compile_options(kernel->arch, storage, options);
  swa_jit_status status = sj_key_make(&kernel->config, source, options, &cubin_key);
  if (status != SWA_JIT_OK || !sj_lib_has_flag(lib, SWA_JIT_FLAG_USE_PTX)) {
    *key_out = cubin_key;
    return status;
  }
  status = sj_key_make_ptx(&cubin_key, key_out);
  sj_key_finish(&cubin_key);
  return status;
}

/* Under the entry's mutex. */
static swa_jit_status describe(const swa_jit_lib *lib, struct swa_jit_kernel *kernel)
{
  sj_key key;
  char *source = NULL;
  if (kernel->key.text != NULL) {
    return SWA_JIT_OK;
  }
  kernel->arch = sj_arch_find(kernel->config.arch);
  swa_jit_status status = sj_tile_plan_make(&kernel->config, kernel->arch, &kernel->plan);
  if (status == SWA_JIT_OK) {
    status = sj_render_make(&kernel->config, &kernel->plan, &source);
  }
  if (status == SWA_JIT_OK) {
    status = make_key(lib, kernel, source, &key);
  }
  if (status != SWA_JIT_OK) {
    free(source);
    return status;
  }
  kernel->key = key;
  kernel->source = source;
  return SWA_JIT_OK;
}

/* Finds or adds the entry of a concrete configuration, and returns with its mutex held when OK. */
static swa_jit_status lock_entry(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  swa_jit_status status = add_entry(lib, config, kernel_out);
  if (status != SWA_JIT_OK) {
    return status;
  }
  pthread_mutex_lock(&(*kernel_out)->mutex);
  status = describe(lib, *kernel_out);
  if (status != SWA_JIT_OK) {
    pthread_mutex_unlock(&(*kernel_out)->mutex);
  }
  return status;
}

/* ---- Load --------------------------------------------------------------------------------------------------- */

/* The entry's image, given to the driver; timed. */
static swa_jit_status load_image(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel,
                                 bool *is_refused_out)
{
  uint64_t start_ns = sj_os_now_ns();
  const char *name = sj_render_kernel_name(&kernel->config);
  swa_jit_status status =
      sj_lib_has_flag(lib, SWA_JIT_FLAG_USE_PTX)
          ? sj_load_make_ptx(cuda, kernel->arch, &kernel->plan, name, kernel->cubin, is_refused_out, &kernel->loaded)
          : sj_load_make(cuda, kernel->arch, &kernel->plan, name, kernel->cubin, is_refused_out, &kernel->loaded);
  sj_stats_add(lib->stats.load_ns, status == SWA_JIT_OK ? sj_os_now_ns() - start_ns : 0);
  return status;
}

/* The kernel's PTX, which the driver compiles. why: for the log. */
static swa_jit_status load_ptx(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel,
                               const char *why)
{
  bool is_refused = false;
  uint64_t start_ns = sj_os_now_ns();
  sj_log_line(&lib->options.log, SWA_JIT_LOG_INFO, "%s %s: the driver compiles the PTX of %s, which may take seconds",
              why, kernel->arch->name, kernel->key.file_name);
  swa_jit_status status = sj_load_make_ptx(cuda, kernel->arch, &kernel->plan, sj_render_kernel_name(&kernel->config),
                                           kernel->ptx, &is_refused, &kernel->loaded);
  sj_stats_add(lib->stats.load_ns, status == SWA_JIT_OK ? sj_os_now_ns() - start_ns : 0);
  return status;
}

/* After the driver refused a cubin: the PTX that was kept beside it, if any. Without it, or when it is refused too,
 * what was said of the cubin stands. */
static swa_jit_status load_kept_ptx(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel,
                                    swa_jit_status refusal)
{
  sj_kept_message kept;
  sj_message_keep(&kept);
  if (sj_lib_has_flag(lib, SWA_JIT_FLAG_USE_PTX) || sj_obtain_ptx(lib, kernel, false) != SWA_JIT_OK) {
    sj_message_restore(SWA_JIT_OK, &kept);
    return refusal;
  }
  if (load_ptx(lib, cuda, kernel, "the driver takes no cubin for") == SWA_JIT_OK) {
    return SWA_JIT_OK;
  }
  sj_kept_message no_ptx;
  sj_message_keep(&no_ptx);
  return sj_fail(refusal, "%s. The PTX that is kept does not help: %s", kept.text, no_ptx.text);
}

/* Another image in place of the stored one that the driver refuses: one for this driver, stored or compiled, until the
 * driver takes it or none is left. A stored one that is refused although it was made for this driver is no reason to
 * make it again where there is PTX. */
static swa_jit_status load_replacement(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel)
{
  bool is_refused = true;
  uint64_t get_ns = kernel->info.get_ns;
  swa_jit_status status = SWA_JIT_CUDA_ERROR;
  while (is_refused && kernel->info.origin == SWA_JIT_ORIGIN_STORE) {
    if (kernel->replacement.bytes != NULL && load_kept_ptx(lib, cuda, kernel, status) == SWA_JIT_OK) {
      return SWA_JIT_OK;
    }
    is_refused = false;
    status = sj_obtain_replacement(lib, kernel, cuda->driver_version);
    if (status == SWA_JIT_OK) {
      kernel->info.get_ns = get_ns;
      status = load_image(lib, cuda, kernel, &is_refused);
    }
  }
  return status;
}

/* A device newer than every architecture here runs the PTX of one that is older. */
static swa_jit_status load_on_newer(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel)
{
  sj_kept_message no_device;
  sj_message_keep(&no_device);
  swa_jit_status status = sj_obtain_ptx(lib, kernel, sj_lib_has_flag(lib, SWA_JIT_FLAG_KEEP_PTX));
  if (status != SWA_JIT_OK) {
    sj_kept_message no_ptx;
    sj_message_keep(&no_ptx);
    return sj_fail(SWA_JIT_NO_DEVICE, "%s. Its PTX would run there, and cannot be had: %s", no_device.text,
                   no_ptx.text);
  }
  return load_ptx(lib, cuda, kernel, "no device runs cubins for");
}

/* Under the entry's mutex. */
static swa_jit_status load(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel)
{
  bool is_refused = false;
  swa_jit_status status = load_image(lib, cuda, kernel, &is_refused);
  if (status != SWA_JIT_OK && is_refused) {
    if (kernel->info.origin == SWA_JIT_ORIGIN_STORE) {
      status = load_replacement(lib, cuda, kernel);
    }
    status = status != SWA_JIT_OK ? load_kept_ptx(lib, cuda, kernel, status) : status;
  } else if (status == SWA_JIT_NO_DEVICE && !sj_lib_has_flag(lib, SWA_JIT_FLAG_USE_PTX)
             && sj_load_wants_ptx(cuda, kernel->arch)) {
    status = load_on_newer(lib, cuda, kernel);
  }
  if (status == SWA_JIT_OK) {
    sj_stats_add(lib->stats.loads, 1);
    kernel->cuda = cuda;
    kernel->constants = sj_launch_constants_make(cuda, &kernel->config, &kernel->plan);
  }
  return status;
}

static swa_jit_status make_kernel(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel,
                                  uint64_t start_ns)
{
  if (atomic_load_explicit(&kernel->is_loaded, memory_order_relaxed)) {
    return sj_load_add_context(cuda, kernel->arch, &kernel->plan, &kernel->loaded);
  }
  bool is_first = !atomic_load_explicit(&kernel->has_cubin, memory_order_relaxed);
  swa_jit_status status = sj_obtain_cubin(lib, kernel, start_ns);
  if (status == SWA_JIT_OK) {
    status = load(lib, cuda, kernel);
  }
  if (status == SWA_JIT_OK) {
    if (is_first) {
      kernel->info.get_ns = sj_os_now_ns() - start_ns;
    }
    atomic_store_explicit(&kernel->is_loaded, 1, memory_order_release);
  }
  return status;
}

/* ---- The calls ---------------------------------------------------------------------------------------------- */

swa_jit_status sj_build_describe(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  swa_jit_config concrete;
  struct swa_jit_kernel *kernel = NULL;
  swa_jit_status status = take_config(lib, config, &concrete);
  if (status == SWA_JIT_OK) {
    status = lock_entry(lib, &concrete, &kernel);
  }
  if (status == SWA_JIT_OK) {
    pthread_mutex_unlock(&kernel->mutex);
    *kernel_out = kernel;
  }
  return status;
}

/* An entry with its cubin; its mutex is held when there is an entry, OK or not. */
static swa_jit_status obtain_locked(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  uint64_t start_ns = sj_os_now_ns();
  swa_jit_config concrete;
  struct swa_jit_kernel *kernel = NULL;
  swa_jit_status status = take_config(lib, config, &concrete);
  if (status == SWA_JIT_OK) {
    status = lock_entry(lib, &concrete, &kernel);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  *kernel_out = kernel;
  return sj_obtain_cubin(lib, kernel, start_ns);
}

swa_jit_status sj_build_cubin(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  struct swa_jit_kernel *kernel = NULL;
  sj_kept_message kept;
  sj_message_keep(&kept);
  swa_jit_status status = obtain_locked(lib, config, &kernel);
  if (kernel != NULL) {
    pthread_mutex_unlock(&kernel->mutex);
  }
  if (status == SWA_JIT_OK) {
    *kernel_out = kernel;
  }
  return sj_message_restore(status, &kept);
}

swa_jit_status sj_build_log(swa_jit_lib *lib, const swa_jit_config *config, const char **log_out)
{
  struct swa_jit_kernel *kernel = NULL;
  sj_kept_message kept;
  sj_message_keep(&kept);
  swa_jit_status status = obtain_locked(lib, config, &kernel);
  if (status == SWA_JIT_OK) {
    *log_out = kernel->log_text != NULL ? kernel->log_text : "";
  } else if (status == SWA_JIT_COMPILE_FAILED && kernel != NULL && kernel->failed_log != NULL) {
    *log_out = kernel->failed_log;
    status = SWA_JIT_OK;
  }
  if (kernel != NULL) {
    pthread_mutex_unlock(&kernel->mutex);
  }
  return sj_message_restore(status, &kept);
}

/* Not the hot path's, so that the hot path touches no 4 KiB of stack. */
static __attribute__((noinline)) swa_jit_status build_kernel(swa_jit_lib *lib, const swa_jit_config *config,
                                                             struct swa_jit_kernel **kernel_out)
{
  uint64_t start_ns = sj_os_now_ns();
  const sj_cuda_api *cuda = NULL;
  struct swa_jit_kernel *kernel = NULL;
  sj_kept_message kept;
  sj_message_keep(&kept);
  swa_jit_status status = sj_lib_open_cuda(lib, &cuda);
  if (status == SWA_JIT_OK) {
    status = lock_entry(lib, config, &kernel);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = make_kernel(lib, cuda, kernel, start_ns);
  pthread_mutex_unlock(&kernel->mutex);
  if (status == SWA_JIT_OK) {
    *kernel_out = kernel;
  }
  return sj_message_restore(status, &kept);
}

/* Only a kernel that the current context has too, as far as it can have it. */
static bool find_loaded(const swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  struct swa_jit_kernel *kernel = sj_kernel_table_find(lib->table, config);
  if (kernel == NULL || !atomic_load_explicit(&kernel->is_loaded, memory_order_acquire)
      || sj_load_lacks_context(kernel->cuda, &kernel->loaded)) {
    return false;
  }
  *kernel_out = kernel;
  return true;
}

swa_jit_status sj_build_kernel(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  swa_jit_config concrete;
  /* A held kernel's configuration was found legal once: one that is equal to it needs no second look. */
  if (config != NULL && config->size == sizeof *config && find_loaded(lib, config, kernel_out)) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = take_config(lib, config, &concrete);
  if (status != SWA_JIT_OK || find_loaded(lib, &concrete, kernel_out)) {
    return status;
  }
  return build_kernel(lib, &concrete, kernel_out);
}

swa_jit_status sj_build_ptx(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  swa_jit_config concrete;
  struct swa_jit_kernel *kernel = NULL;
  swa_jit_status status = take_config(lib, config, &concrete);
  if (status == SWA_JIT_OK) {
    status = lock_entry(lib, &concrete, &kernel);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = sj_obtain_ptx(lib, kernel, true);
  pthread_mutex_unlock(&kernel->mutex);
  if (status == SWA_JIT_OK) {
    *kernel_out = kernel;
  }
  return status;
}

swa_jit_status sj_build_is_stored(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out,
                                  bool *held_out)
{
  uint32_t version = 0;
  struct swa_jit_kernel *kernel = NULL;
  sj_kept_message kept;
  sj_message_keep(&kept);
  swa_jit_status status = sj_build_describe(lib, config, &kernel);
  if (status == SWA_JIT_OK) {
    status = sj_obtain_wanted_version(lib, kernel, &version);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  *held_out = sj_store_has(&lib->store, &kernel->key, version);
  *kernel_out = kernel;
  return sj_message_restore(status, &kept);
}

swa_jit_status sj_build_is_ptx_stored(swa_jit_lib *lib, const swa_jit_config *config, bool *held_out)
{
  struct swa_jit_kernel *kernel = NULL;
  sj_kept_message kept;
  sj_key key;
  sj_message_keep(&kept);
  swa_jit_status status = sj_build_describe(lib, config, &kernel);
  if (status == SWA_JIT_OK && sj_lib_has_flag(lib, SWA_JIT_FLAG_USE_PTX)) {
    *held_out = sj_store_has(&lib->store, &kernel->key, 0);
    return sj_message_restore(status, &kept);
  }
  if (status == SWA_JIT_OK) {
    status = sj_key_make_ptx(&kernel->key, &key);
  }
  if (status == SWA_JIT_OK) {
    *held_out = sj_store_has(&lib->store, &key, 0);
    sj_key_finish(&key);
  }
  return sj_message_restore(status, &kept);
}
