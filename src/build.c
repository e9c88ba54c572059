/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "dump.h"
#include "record.h"
#include "render.h"
#include "store_lock.h"
#include "text.h"
#include "warm_command.h"

enum { REASON_SIZE = 512 };

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
    status = sj_load_native_arch(cuda, &arch);
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

/* Under the entry's mutex. */
static swa_jit_status describe(struct swa_jit_kernel *kernel)
{
  char storage[64];
  const char *options[SJ_MAX_COMPILE_OPTIONS];
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
    sj_compile_options(kernel->arch, storage, options);
    status = sj_key_make(&kernel->config, source, options, &kernel->key);
  }
  if (status != SWA_JIT_OK) {
    free(source);
    return status;
  }
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
  status = describe(*kernel_out);
  if (status != SWA_JIT_OK) {
    pthread_mutex_unlock(&(*kernel_out)->mutex);
  }
  return status;
}

/* ---- Store ------------------------------------------------------------------------------------------------- */

static void set_cubin(struct swa_jit_kernel *kernel, uint32_t origin, const sj_cubin_view *view)
{
  kernel->cubin = view->cubin;
  kernel->cubin_bytes = view->cubin_bytes;
  kernel->info = (swa_jit_kernel_info){
      .size = sizeof kernel->info,
      .arch = kernel->config.arch,
      .origin = origin,
      .num_threads = kernel->plan.num_warps * 32,
      .shared_memory_bytes = kernel->plan.shared_memory_bytes,
      .num_registers = view->note.num_registers,
      .spill_store_bytes = view->note.spill_store_bytes,
      .spill_load_bytes = view->note.spill_load_bytes,
      .nvrtc_version = view->note.nvrtc_version,
      .cubin_bytes = view->cubin_bytes,
      .compile_ns = view->note.compile_ns,
      .file_name = kernel->key.file_name,
      .key_text = kernel->key.text,
      .miss_reason = origin == SWA_JIT_ORIGIN_COMPILED && kernel->miss_reason != NULL ? kernel->miss_reason : "",
  };
}

/* The version that a stored entry must be of; 0: any. */
static swa_jit_status find_wanted_version(swa_jit_lib *lib, const struct swa_jit_kernel *kernel, uint32_t *version_out)
{
  const sj_nvrtc_api *nvrtc = NULL;
  *version_out = 0;
  if (!sj_lib_has_flag(lib, SWA_JIT_FLAG_SAME_COMPILER)) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = sj_lib_open_nvrtc(lib, kernel->arch->min_nvrtc, &nvrtc);
  if (status == SWA_JIT_OK) {
    *version_out = nvrtc->version_code;
  }
  return status;
}

static swa_jit_status find_stored(swa_jit_lib *lib, struct swa_jit_kernel *kernel, uint32_t version, bool *found_out)
{
  char reason[REASON_SIZE] = "there is no store";
  *found_out = false;
  if (sj_store_is_there(&lib->store)) {
    swa_jit_status status =
        sj_store_find(&lib->store, &kernel->key, version, found_out, &kernel->entry, reason, sizeof reason);
    if (status != SWA_JIT_OK) {
      return status;
    }
  }
  if (*found_out) {
    sj_store_begin_use(&lib->store, &kernel->key, &kernel->use);
    set_cubin(kernel, SWA_JIT_ORIGIN_STORE, &kernel->entry.view);
    return SWA_JIT_OK;
  }
  free(kernel->miss_reason);
  kernel->miss_reason = sj_text_copy(reason);
  return kernel->miss_reason != NULL ? SWA_JIT_OK : sj_fail_memory();
}

/* A good compile is never lost for a bad disk: the failure is told and counted, and the kernel used. */
static swa_jit_status publish(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_cubin_view *view)
{
  if (lib->store_status != SWA_JIT_OK) {
    sj_stats_add(lib->stats.store_write_failures, 1);
    return lib->store_status;
  }
  if (lib->store.dir_fd < 0 || lib->store.read_only) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = sj_store_publish(&lib->store, &kernel->key, view);
  if (status == SWA_JIT_OK) {
    sj_store_begin_use(&lib->store, &kernel->key, &kernel->use);
  } else {
    sj_log_line(&lib->options.log, SWA_JIT_LOG_WARN, "%s", sj_message());
  }
  return status;
}

/* ---- Compile ------------------------------------------------------------------------------------------------ */

/* Only what the source caused is remembered: a broken compiler or a full memory may be cured before the next call. */
static void remember_failure(struct swa_jit_kernel *kernel, swa_jit_status status)
{
  if (status == SWA_JIT_COMPILE_FAILED && kernel->failed_message == NULL) {
    kernel->failed_message = sj_text_copy(sj_message());
    kernel->failed_status = kernel->failed_message != NULL ? status : SWA_JIT_OK;
  }
}

/* Why only a compile gives what is asked for. Without a miss it is the PTX. */
static const char *find_reason(const struct swa_jit_kernel *kernel)
{
  return kernel->miss_reason != NULL ? kernel->miss_reason : "its PTX is asked for, which no store keeps";
}

static swa_jit_status check_allowed(const swa_jit_lib *lib, const struct swa_jit_kernel *kernel, const char *remedy)
{
  if (kernel->failed_status != SWA_JIT_OK) {
    return sj_fail(kernel->failed_status, "%s\n(remembered: a library object compiles a key that failed only once)",
                   kernel->failed_message);
  }
  if (sj_lib_has_flag(lib, SWA_JIT_FLAG_NO_COMPILE)) {
    return sj_fail(SWA_JIT_NO_COMPILER,
                   "compiling is switched off (SWA_JIT_FLAG_NO_COMPILE or SWA_JIT_NO_COMPILE), and %s needs it: %s. %s",
                   kernel->key.file_name, find_reason(kernel), remedy);
  }
  return SWA_JIT_OK;
}

/* libnvrtc for what the store does not give: the reader needs both halves of the trouble. */
static swa_jit_status open_compiler(swa_jit_lib *lib, const struct swa_jit_kernel *kernel, const sj_nvrtc_api **api_out)
{
  char remedy[SJ_WARM_COMMAND_SIZE] = "Allow compiling";
  if (kernel->miss_reason != NULL) {
    sj_warm_command_make(&kernel->config, lib->store.dir_fd >= 0 ? lib->store.path : NULL, remedy, sizeof remedy);
  }
  swa_jit_status status = check_allowed(lib, kernel, remedy);
  if (status == SWA_JIT_OK) {
    status = sj_lib_open_nvrtc(lib, kernel->arch->min_nvrtc, api_out);
    if (status == SWA_JIT_NO_COMPILER || status == SWA_JIT_UNSUPPORTED) {
      status = sj_fail(status, "%s must be compiled (%s), and there is no compiler here. %s. %s", kernel->key.file_name,
                       find_reason(kernel), remedy, sj_message());
    }
  }
  return status;
}

static void log_compile(const swa_jit_lib *lib, const struct swa_jit_kernel *kernel, const sj_compiled *compiled)
{
  sj_log_line(&lib->options.log, SWA_JIT_LOG_INFO,
              "compiled %s with NVRTC %u.%u in %llu ms: %zu bytes, %u registers, %u bytes of spills",
              kernel->key.file_name, compiled->nvrtc_version / 1000, compiled->nvrtc_version % 1000 / 10,
              (unsigned long long)(compiled->compile_ns / 1000000), compiled->cubin_bytes, compiled->num_registers,
              compiled->spill_store_bytes);
}

static void dump(const swa_jit_lib *lib, const struct swa_jit_kernel *kernel, const char *ending, const void *bytes,
                 size_t count)
{
  sj_dump_write(lib->os, &lib->options.log, lib->options.dump_dir, &kernel->key, ending, bytes, count);
}

/* One compile of the entry's source, counted, logged and dumped. *compiled_out is to be finished in every case. */
static swa_jit_status compile(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_nvrtc_api *nvrtc,
                              sj_compile_ptx ptx, sj_compiled *compiled_out)
{
  dump(lib, kernel, ".cu", kernel->source, strlen(kernel->source));
  swa_jit_status status = sj_compile_run(nvrtc, kernel->arch, sj_render_kernel_name(&kernel->config), kernel->source,
                                         ptx, &lib->options.log, compiled_out);
  dump(lib, kernel, ".log", compiled_out->log, compiled_out->log != NULL ? strlen(compiled_out->log) : 0);
  if (status != SWA_JIT_OK) {
    sj_stats_add(lib->stats.compile_failures, status != SWA_JIT_UNSUPPORTED);
    remember_failure(kernel, status);
    return status;
  }
  sj_stats_add(lib->stats.compiles, 1);
  sj_stats_add(lib->stats.compile_ns, compiled_out->compile_ns);
  dump(lib, kernel, ".ptx", compiled_out->ptx, compiled_out->ptx != NULL ? strlen(compiled_out->ptx) : 0);
  dump(lib, kernel, ".cubin", compiled_out->cubin, compiled_out->cubin_bytes);
  log_compile(lib, kernel, compiled_out);
  return SWA_JIT_OK;
}

static uint64_t wall_seconds(const sj_os *os)
{
  struct timespec now;
  return os->clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > 0 ? (uint64_t)now.tv_sec : 0;
}

/* Compiles, publishes, and makes the result the entry's cubin. A stored one that the driver refused is set aside only
 * now: without a compile it stays, as another machine's driver may take it. */
static swa_jit_status compile_cubin(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_nvrtc_api *nvrtc)
{
  sj_compiled compiled;
  sj_compile_ptx ptx = lib->options.dump_dir != NULL ? SJ_COMPILE_PTX_WISHED : SJ_COMPILE_PTX_NONE;
  swa_jit_status status = compile(lib, kernel, nvrtc, ptx, &compiled);
  if (status == SWA_JIT_OK) {
    sj_cubin_view view = {
        .cubin = compiled.cubin,
        .cubin_bytes = compiled.cubin_bytes,
        .key_text = kernel->key.text,
        .key_bytes = kernel->key.text_length,
        .note = {compiled.nvrtc_version, compiled.num_registers, compiled.spill_store_bytes, compiled.spill_load_bytes,
                 compiled.compile_ns, wall_seconds(lib->os)},
    };
    if (kernel->info.origin == SWA_JIT_ORIGIN_STORE) {
      sj_store_set_aside(&lib->store, &kernel->key, "the driver refuses it");
    }
    swa_jit_status store_status = publish(lib, kernel, &view);
    set_cubin(kernel, SWA_JIT_ORIGIN_COMPILED, &view);
    kernel->info.store_status = store_status;
    kernel->compiled_cubin = compiled.cubin;
    kernel->log_text = compiled.log;
    compiled.cubin = NULL;
    compiled.log = NULL;
    if (kernel->ptx == NULL) {
      kernel->ptx = compiled.ptx;
      compiled.ptx = NULL;
    }
  }
  sj_compiled_finish(&compiled);
  return status;
}

/* One builder per key across processes: whoever had to wait, or came just too late, finds the entry in the store. */
static swa_jit_status compile_once(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_nvrtc_api *nvrtc,
                                   uint32_t version)
{
  sj_store_lock lock = {.fd = -1};
  bool has_waited = false;
  bool found = false;
  swa_jit_status status = SWA_JIT_OK;
  if (lib->store.dir_fd >= 0) {
    sj_store_lock_take(&lib->store, &kernel->key, lib->options.lock_wait_ms, &lock, &has_waited);
    if (has_waited || sj_store_has(&lib->store, &kernel->key, version)) {
      status = find_stored(lib, kernel, version, &found);
    }
  }
  if (status == SWA_JIT_OK && !found) {
    status = compile_cubin(lib, kernel, nvrtc);
  }
  if (lib->store.dir_fd >= 0) {
    sj_store_lock_release(&lib->store, &lock);
  }
  return status;
}

/* Under the entry's mutex: one flight per key in this process. */
static swa_jit_status make_cubin(swa_jit_lib *lib, struct swa_jit_kernel *kernel, uint64_t start_ns)
{
  const sj_nvrtc_api *nvrtc = NULL;
  uint32_t version = 0;
  bool found = false;
  if (lib->options.record_path != NULL && !kernel->is_recorded) {
    kernel->is_recorded = true;
    sj_record_add(lib->os, &lib->options.log, lib->options.record_path, &kernel->config);
  }
  if (atomic_load_explicit(&kernel->has_cubin, memory_order_relaxed)) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = find_wanted_version(lib, kernel, &version);
  if (status == SWA_JIT_OK) {
    status = find_stored(lib, kernel, version, &found);
  }
  if (status == SWA_JIT_OK && !found) {
    status = open_compiler(lib, kernel, &nvrtc);
    if (status == SWA_JIT_OK) {
      status = compile_once(lib, kernel, nvrtc, version);
    }
  }
  if (status == SWA_JIT_OK) {
    kernel->info.get_ns = sj_os_now_ns() - start_ns;
    atomic_store_explicit(&kernel->has_cubin, 1, memory_order_release);
  }
  return status;
}

/* ---- Load --------------------------------------------------------------------------------------------------- */

/* An entry that verifies and that the driver refuses all the same: compiled once, and replaced. */
static swa_jit_status replace_refused(swa_jit_lib *lib, struct swa_jit_kernel *kernel)
{
  const sj_nvrtc_api *nvrtc = NULL;
  uint64_t get_ns = kernel->info.get_ns;
  sj_log_line(&lib->options.log, SWA_JIT_LOG_WARN,
              "the driver refuses the stored entry %s, which must be compiled anew: %s", kernel->key.file_name,
              sj_message());
  free(kernel->miss_reason);
  kernel->miss_reason = sj_text_copy("the driver refused the stored entry");
  swa_jit_status status = open_compiler(lib, kernel, &nvrtc);
  if (status == SWA_JIT_OK) {
    status = compile_cubin(lib, kernel, nvrtc);
    kernel->info.get_ns = get_ns;
  }
  return status;
}

/* Under the entry's mutex. */
static swa_jit_status load(swa_jit_lib *lib, const sj_cuda_api *cuda, struct swa_jit_kernel *kernel)
{
  bool is_refused = false;
  uint64_t start_ns = sj_os_now_ns();
  const char *kernel_name = sj_render_kernel_name(&kernel->config);
  swa_jit_status status =
      sj_load_make(cuda, kernel->arch, &kernel->plan, kernel_name, kernel->cubin, &is_refused, &kernel->loaded);
  if (status != SWA_JIT_OK && is_refused && kernel->info.origin == SWA_JIT_ORIGIN_STORE
      && !sj_lib_has_flag(lib, SWA_JIT_FLAG_NO_COMPILE)) {
    status = replace_refused(lib, kernel);
    start_ns = sj_os_now_ns();
    if (status == SWA_JIT_OK) {
      status =
          sj_load_make(cuda, kernel->arch, &kernel->plan, kernel_name, kernel->cubin, &is_refused, &kernel->loaded);
    }
  }
  if (status == SWA_JIT_OK) {
    sj_stats_add(lib->stats.loads, 1);
    sj_stats_add(lib->stats.load_ns, sj_os_now_ns() - start_ns);
    kernel->cuda = cuda;
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
  swa_jit_status status = make_cubin(lib, kernel, start_ns);
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

swa_jit_status sj_build_cubin(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out)
{
  uint64_t start_ns = sj_os_now_ns();
  swa_jit_config concrete;
  struct swa_jit_kernel *kernel = NULL;
  sj_kept_message kept;
  swa_jit_status status = take_config(lib, config, &concrete);
  if (status == SWA_JIT_OK) {
    sj_message_keep(&kept);
    status = lock_entry(lib, &concrete, &kernel);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = make_cubin(lib, kernel, start_ns);
  pthread_mutex_unlock(&kernel->mutex);
  if (status == SWA_JIT_OK) {
    *kernel_out = kernel;
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

/* Under the entry's mutex. */
static swa_jit_status make_ptx(swa_jit_lib *lib, struct swa_jit_kernel *kernel)
{
  const sj_nvrtc_api *nvrtc = NULL;
  sj_compiled compiled;
  if (kernel->ptx != NULL) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = open_compiler(lib, kernel, &nvrtc);
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = compile(lib, kernel, nvrtc, SJ_COMPILE_PTX_NEEDED, &compiled);
  if (status == SWA_JIT_OK) {
    kernel->ptx = compiled.ptx;
    compiled.ptx = NULL;
  }
  sj_compiled_finish(&compiled);
  return status;
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
  status = make_ptx(lib, kernel);
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
    status = find_wanted_version(lib, kernel, &version);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  *held_out = sj_store_has(&lib->store, &kernel->key, version);
  *kernel_out = kernel;
  return sj_message_restore(status, &kept);
}
