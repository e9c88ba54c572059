/* SPDX-License-Identifier: Apache-2.0 */
#include "obtain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "dump.h"
#include "record.h"
#include "render.h"
#include "store_failure.h"
#include "store_lock.h"
#include "text.h"
#include "warm_command.h"

enum { REASON_SIZE = 512 };

/* The image is PTX: the kernel's key is that of its PTX, and its cubin is zero-terminated text. */
static bool uses_ptx(const swa_jit_lib *lib)
{
  return sj_lib_has_flag(lib, SWA_JIT_FLAG_USE_PTX);
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

swa_jit_status sj_obtain_wanted_version(swa_jit_lib *lib, const struct swa_jit_kernel *kernel, uint32_t *version_out)
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
static swa_jit_status publish(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_key *key,
                              const sj_cubin_view *view)
{
  if (lib->store_status != SWA_JIT_OK) {
    sj_stats_add(lib->stats.store_write_failures, 1);
    return lib->store_status;
  }
  if (lib->store.dir_fd < 0 || lib->store.read_only) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = sj_store_publish(&lib->store, key, view);
  if (status == SWA_JIT_OK) {
    sj_store_begin_use(&lib->store, key, &kernel->use);
  } else {
    sj_log_line(&lib->options.log, SWA_JIT_LOG_WARN, "%s", sj_message());
  }
  return status;
}

/* ---- Compile ------------------------------------------------------------------------------------------------ */

/* Only what the source caused: a broken compiler or a full memory may be cured before the next call. Takes the log. */
static void remember_failure(struct swa_jit_kernel *kernel, swa_jit_status status, char **log)
{
  if (kernel->failed_message == NULL) {
    kernel->failed_message = sj_text_copy(sj_message());
    kernel->failed_status = kernel->failed_message != NULL ? status : SWA_JIT_OK;
  }
  if (kernel->failed_log == NULL) {
    kernel->failed_log = *log;
    *log = NULL;
  }
}

/* Why only a compile gives what is asked for. Without a miss it is the PTX. */
static const char *find_reason(const struct swa_jit_kernel *kernel)
{
  return kernel->miss_reason != NULL ? kernel->miss_reason : "its PTX is asked for, and none is kept";
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
    sj_warm_command_make(&kernel->config, uses_ptx(lib), lib->store.dir_fd >= 0 ? lib->store.absolute_path : NULL,
                         remedy, sizeof remedy);
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
  char made[64];
  if (compiled->cubin == NULL && compiled->ptx != NULL) {
    snprintf(made, sizeof made, "%zu bytes of PTX", strlen(compiled->ptx));
  } else {
    snprintf(made, sizeof made, "%zu bytes, %u registers, %u bytes of spills", compiled->cubin_bytes,
             compiled->num_registers, compiled->spill_store_bytes);
  }
  sj_log_line(&lib->options.log, SWA_JIT_LOG_INFO, "compiled %s with NVRTC %u.%u in %llu ms: %s", kernel->key.file_name,
              compiled->nvrtc_version / 1000, compiled->nvrtc_version % 1000 / 10,
              (unsigned long long)(compiled->compile_ns / 1000000), made);
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
    if (status == SWA_JIT_COMPILE_FAILED && compiled_out->is_source_at_fault) {
      char *log = sj_text_copy(compiled_out->log);
      remember_failure(kernel, status, &log);
      free(log);
    }
    return status;
  }
  sj_stats_add(lib->stats.compiles, 1);
  sj_stats_add(lib->stats.compile_ns, compiled_out->compile_ns);
  dump(lib, kernel, ".ptx", compiled_out->ptx, compiled_out->ptx != NULL ? strlen(compiled_out->ptx) : 0);
  if (compiled_out->cubin != NULL) {
    dump(lib, kernel, ".cubin", compiled_out->cubin, compiled_out->cubin_bytes);
  }
  log_compile(lib, kernel, compiled_out);
  return SWA_JIT_OK;
}

static uint64_t wall_seconds(const sj_os *os)
{
  struct timespec now;
  return os->clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > 0 ? (uint64_t)now.tv_sec : 0;
}

/* The PTX beside the cubin, as an entry of its own. Trouble is a warning: the kernel does not need it here. */
static void publish_ptx(swa_jit_lib *lib, const struct swa_jit_kernel *kernel, const sj_cubin_view *cubin,
                        const char *ptx)
{
  sj_key key;
  sj_cubin_view view = *cubin;
  if (ptx == NULL || !sj_lib_has_flag(lib, SWA_JIT_FLAG_KEEP_PTX) || uses_ptx(lib) || lib->store.dir_fd < 0
      || sj_key_make_ptx(&kernel->key, &key) != SWA_JIT_OK) {
    return;
  }
  view.cubin = ptx;
  view.cubin_bytes = strlen(ptx);
  view.key_text = key.text;
  view.key_bytes = key.text_length;
  if (sj_store_publish(&lib->store, &key, &view) != SWA_JIT_OK) {
    sj_log_line(&lib->options.log, SWA_JIT_LOG_WARN, "the PTX is not kept: %s", sj_message());
  }
  sj_key_finish(&key);
}

/* There is no cubin. */
static void take_ptx_for_cubin(sj_compiled *compiled)
{
  compiled->cubin = compiled->ptx;
  compiled->cubin_bytes = strlen(compiled->ptx);
  compiled->ptx = NULL;
}

static void take_compiled(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_key *key, sj_compiled *compiled)
{
  if (uses_ptx(lib)) {
    take_ptx_for_cubin(compiled);
  }
  sj_cubin_view view = {
      .cubin = compiled->cubin,
      .cubin_bytes = compiled->cubin_bytes,
      .key_text = key->text,
      .key_bytes = key->text_length,
      .note = {compiled->nvrtc_version, compiled->num_registers, compiled->spill_store_bytes,
               compiled->spill_load_bytes, compiled->compile_ns, wall_seconds(lib->os)},
  };
  swa_jit_status store_status = publish(lib, kernel, key, &view);
  publish_ptx(lib, kernel, &view, compiled->ptx);
  set_cubin(kernel, SWA_JIT_ORIGIN_COMPILED, &view);
  kernel->info.store_status = store_status;
  kernel->compiled_cubin = compiled->cubin;
  kernel->log_text = compiled->log;
  compiled->cubin = NULL;
  compiled->log = NULL;
  if (kernel->ptx == NULL) {
    kernel->ptx = compiled->ptx;
    compiled->ptx = NULL;
  }
}

/* Compiles, publishes under key, and makes the result the kernel's cubin. A failure that the source caused is kept for
 * the other processes. */
static swa_jit_status compile_cubin(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_key *key,
                                    const sj_nvrtc_api *nvrtc)
{
  sj_compiled compiled;
  const bool wants_ptx = lib->options.dump_dir != NULL || sj_lib_has_flag(lib, SWA_JIT_FLAG_KEEP_PTX);
  const sj_compile_ptx ptx = uses_ptx(lib) ? SJ_COMPILE_PTX_ALONE
                             : wants_ptx   ? SJ_COMPILE_PTX_WISHED
                                           : SJ_COMPILE_PTX_NONE;
  swa_jit_status status = compile(lib, kernel, nvrtc, ptx, &compiled);
  if (status == SWA_JIT_OK) {
    take_compiled(lib, kernel, key, &compiled);
    sj_store_forget_failure(&lib->store, &kernel->key);
  } else if (status == SWA_JIT_COMPILE_FAILED && compiled.is_source_at_fault) {
    sj_store_keep_failure(&lib->store, &kernel->key, nvrtc->version_code, sj_message(), compiled.log);
  }
  sj_compiled_finish(&compiled);
  return status;
}

/* A compile that failed in another process a while ago would fail here, too. */
static swa_jit_status check_failed_before(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_nvrtc_api *nvrtc)
{
  char *log = NULL;
  swa_jit_status status = sj_store_find_failure(&lib->store, &kernel->key, nvrtc->version_code, &log);
  if (status == SWA_JIT_COMPILE_FAILED) {
    sj_stats_add(lib->stats.failures_remembered, 1);
    remember_failure(kernel, status, &log);
  }
  free(log);
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
    status = check_failed_before(lib, kernel, nvrtc);
  }
  if (status == SWA_JIT_OK && !found) {
    status = compile_cubin(lib, kernel, &kernel->key, nvrtc);
  }
  if (lib->store.dir_fd >= 0) {
    sj_store_lock_release(&lib->store, &lock);
  }
  return status;
}

swa_jit_status sj_obtain_cubin(swa_jit_lib *lib, struct swa_jit_kernel *kernel, uint64_t start_ns)
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
  swa_jit_status status = sj_obtain_wanted_version(lib, kernel, &version);
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

/* ---- In place of a cubin that the driver refuses -------------------------------------------------------------- */

/* Looks for one that was made for this driver before. *found_out false too when it was this one that is refused, which
 * no driver but this one would be given: that one is set aside. */
static swa_jit_status find_replacement(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_key *key,
                                       bool *found_out)
{
  char reason[REASON_SIZE];
  *found_out = false;
  if (kernel->replacement.bytes != NULL) {
    sj_store_set_aside(&lib->store, key, "the driver that it was made for refuses it");
    return SWA_JIT_OK;
  }
  if (!sj_store_is_there(&lib->store)) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = sj_store_find(&lib->store, key, 0, found_out, &kernel->replacement, reason, sizeof reason);
  if (status == SWA_JIT_OK && *found_out) {
    sj_store_end_use(&kernel->use);
    sj_store_begin_use(&lib->store, key, &kernel->use);
    set_cubin(kernel, SWA_JIT_ORIGIN_STORE, &kernel->replacement.view);
  }
  return status;
}

static swa_jit_status compile_replacement(swa_jit_lib *lib, struct swa_jit_kernel *kernel, const sj_key *key)
{
  const sj_nvrtc_api *nvrtc = NULL;
  free(kernel->miss_reason);
  kernel->miss_reason = sj_text_copy("the driver refused the stored entry");
  swa_jit_status status = open_compiler(lib, kernel, &nvrtc);
  if (status == SWA_JIT_OK) {
    sj_store_end_use(&kernel->use);
    status = compile_cubin(lib, kernel, key, nvrtc);
  }
  return status;
}

swa_jit_status sj_obtain_replacement(swa_jit_lib *lib, struct swa_jit_kernel *kernel, int driver_version)
{
  sj_kept_message refusal;
  sj_key key;
  bool found = false;
  sj_message_keep(&refusal);
  sj_log_line(&lib->options.log, SWA_JIT_LOG_WARN,
              "the driver refuses the stored entry %s, which stays for others; another is needed here: %s",
              kernel->key.file_name, sj_message());
  swa_jit_status status = sj_key_make_for_driver(&kernel->key, driver_version, &key);
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = find_replacement(lib, kernel, &key, &found);
  if (status == SWA_JIT_OK && !found) {
    status = sj_lib_has_flag(lib, SWA_JIT_FLAG_NO_COMPILE) ? sj_fail(SWA_JIT_CUDA_ERROR, "%s", refusal.text)
                                                           : compile_replacement(lib, kernel, &key);
  }
  sj_key_finish(&key);
  return status;
}

/* ---- PTX ------------------------------------------------------------------------------------------------------ */

static swa_jit_status find_ptx(swa_jit_lib *lib, struct swa_jit_kernel *kernel)
{
  sj_key key;
  sj_entry entry = {0};
  bool found = false;
  char reason[REASON_SIZE];
  if (!sj_store_is_there(&lib->store)) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = sj_key_make_ptx(&kernel->key, &key);
  if (status != SWA_JIT_OK) {
    return status;
  }
  if (sj_store_has(&lib->store, &key, 0)) { /* to look for what is seldom there counts no miss */
    status = sj_store_find(&lib->store, &key, 0, &found, &entry, reason, sizeof reason);
  }
  if (found) {
    kernel->ptx = entry.text;
    entry.text = NULL;
    sj_entry_finish(&entry);
  }
  sj_key_finish(&key);
  return status;
}

static swa_jit_status compile_ptx(swa_jit_lib *lib, struct swa_jit_kernel *kernel)
{
  const sj_nvrtc_api *nvrtc = NULL;
  sj_compiled compiled;
  swa_jit_status status = open_compiler(lib, kernel, &nvrtc);
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = compile(lib, kernel, nvrtc, SJ_COMPILE_PTX_ALONE, &compiled);
  if (status == SWA_JIT_OK) {
    const sj_cubin_view view = {.note = {.nvrtc_version = compiled.nvrtc_version,
                                         .num_registers = kernel->info.num_registers, /* of the cubin, if made */
                                         .spill_store_bytes = kernel->info.spill_store_bytes,
                                         .spill_load_bytes = kernel->info.spill_load_bytes,
                                         .compile_ns = compiled.compile_ns,
                                         .made_s = wall_seconds(lib->os)}};
    publish_ptx(lib, kernel, &view, compiled.ptx);
    kernel->ptx = compiled.ptx;
    compiled.ptx = NULL;
  }
  sj_compiled_finish(&compiled);
  return status;
}

/* The kernel's image is what is wanted. */
static swa_jit_status copy_image(swa_jit_lib *lib, struct swa_jit_kernel *kernel)
{
  swa_jit_status status = sj_obtain_cubin(lib, kernel, sj_os_now_ns());
  if (status != SWA_JIT_OK) {
    return status;
  }
  kernel->ptx = sj_text_copy(kernel->cubin);
  return kernel->ptx != NULL ? SWA_JIT_OK : sj_fail_memory();
}

swa_jit_status sj_obtain_ptx(swa_jit_lib *lib, struct swa_jit_kernel *kernel, bool may_compile)
{
  if (uses_ptx(lib) && kernel->ptx == NULL) {
    return copy_image(lib, kernel);
  }
  swa_jit_status status = kernel->ptx == NULL ? find_ptx(lib, kernel) : SWA_JIT_OK;
  if (status != SWA_JIT_OK || kernel->ptx != NULL) {
    return status;
  }
  return may_compile ? compile_ptx(lib, kernel)
                     : sj_fail(SWA_JIT_NO_COMPILER,
                               "the store keeps no PTX of %s: set SWA_JIT_FLAG_KEEP_PTX or SWA_JIT_KEEP_PTX=1",
                               kernel->key.file_name);
}
