/* SPDX-License-Identifier: Apache-2.0 */
/* Every public call but swa_jit_decode: check what the stages take for granted, call the stage, log a failure once. */
#include "swa_jit/swa_jit.h"

#include <string.h>

#include "abi.h"
#include "build.h"
#include "inventory.h"
#include "launch.h"
#include "merge.h"
#include "pick.h"
#include "pick_splits.h"

enum { /* what the first release's structs had: swa_jit.h, "Structs" */
       FIRST_CONFIG_SIZE = offsetof(swa_jit_config, cluster_size) + sizeof(uint32_t),
       FIRST_INFO_SIZE = offsetof(swa_jit_kernel_info, miss_reason) + sizeof(char *),
       FIRST_STORE_INFO_SIZE = offsetof(swa_jit_store_info, reason) + sizeof(char *),
       FIRST_STATS_SIZE = offsetof(swa_jit_stats, load_ns) + sizeof(uint64_t)
};

static swa_jit_status fail_null(const char *name)
{
  return sj_fail(SWA_JIT_INVALID, "%s is NULL: pass an address", name);
}

/* The one place where a failure of a library object's call is logged. */
static swa_jit_status end(const swa_jit_lib *lib, const char *call, swa_jit_status status)
{
  if (status != SWA_JIT_OK && lib != NULL) {
    sj_log_line(&lib->options.log, SWA_JIT_LOG_ERROR, "%s: %s: %s", call, sj_status_name(status), sj_message());
  }
  return status;
}

/* For a call without its library object or without the output of that name. */
static swa_jit_status refuse(const swa_jit_lib *lib, const char *call, const char *output_name)
{
  if (lib == NULL) {
    return sj_fail(SWA_JIT_INVALID, "lib is NULL: pass an object that swa_jit_open made");
  }
  return end(lib, call, fail_null(output_name));
}

/* ---- Version, message, initialisers ------------------------------------------------------------------------- */

const char *swa_jit_version_text(void)
{
  return SWA_JIT_VERSION_TEXT;
}

const char *swa_jit_status_name(swa_jit_status status)
{
  return sj_status_name(status);
}

const char *swa_jit_message(void)
{
  return sj_message();
}

/* A size below that of the size field itself names no struct. */
static bool is_fillable(const void *out, size_t size)
{
  return out != NULL && size >= sizeof(uint32_t);
}

void swa_jit_options_init_sized(swa_jit_options *options, size_t size)
{
  static const swa_jit_options usual = SWA_JIT_OPTIONS_INIT;
  if (is_fillable(options, size)) {
    sj_abi_fill(options, size, &usual, sizeof usual);
  }
}

void swa_jit_config_init_sized(swa_jit_config *config, size_t size)
{
  swa_jit_config usual;
  if (is_fillable(config, size)) {
    sj_config_init(&usual);
    sj_abi_fill(config, size, &usual, sizeof usual);
  }
}

void swa_jit_decode_args_init_sized(swa_jit_decode_args *args, size_t size)
{
  static const swa_jit_decode_args usual = SWA_JIT_DECODE_ARGS_INIT;
  if (is_fillable(args, size)) {
    sj_abi_fill(args, size, &usual, sizeof usual);
  }
}

void swa_jit_merge_args_init_sized(swa_jit_merge_args *args, size_t size)
{
  static const swa_jit_merge_args usual = SWA_JIT_MERGE_ARGS_INIT;
  if (is_fillable(args, size)) {
    sj_abi_fill(args, size, &usual, sizeof usual);
  }
}

/* ---- Configuration ------------------------------------------------------------------------------------------ */

/* The caller's struct with a concrete architecture. */
static swa_jit_status take_concrete(const swa_jit_config *given, swa_jit_config *config_out)
{
  swa_jit_status status = sj_config_take(given, config_out);
  if (status == SWA_JIT_OK && config_out->arch == SWA_JIT_ARCH_NATIVE) {
    return sj_fail(SWA_JIT_INVALID,
                   "arch is native, which this call cannot resolve: set what swa_jit_arch_native gives, or one "
                   "of %s",
                   sj_arch_list());
  }
  return status;
}

swa_jit_status swa_jit_config_check(const swa_jit_config *config, uint32_t *shared_memory_bytes_out)
{
  swa_jit_config concrete;
  sj_tile_plan plan;
  swa_jit_status status = take_concrete(config, &concrete);
  if (status == SWA_JIT_OK) {
    status = sj_tile_plan_make(&concrete, sj_arch_find(concrete.arch), &plan);
  }
  if (status == SWA_JIT_OK && shared_memory_bytes_out != NULL) {
    *shared_memory_bytes_out = plan.shared_memory_bytes;
  }
  return status;
}

swa_jit_status swa_jit_config_to_text(const swa_jit_config *config, char *text, size_t text_size)
{
  return sj_config_to_text(config, text, text_size);
}

swa_jit_status swa_jit_config_from_text(const char *text, swa_jit_config *config_out)
{
  if (text == NULL || config_out == NULL) {
    return fail_null(text == NULL ? "text" : "config_out");
  }
  swa_jit_config config;
  swa_jit_status status = sj_abi_check(config_out, FIRST_CONFIG_SIZE, sizeof *config_out, "swa_jit_config");
  if (status == SWA_JIT_OK) {
    status = sj_config_from_text(text, &config);
  }
  if (status == SWA_JIT_OK) {
    sj_abi_fill(config_out, config_out->size, &config, sizeof config);
  }
  return status;
}

const char *swa_jit_arch_name(uint32_t arch)
{
  const sj_arch *found = sj_arch_find(arch);
  return found != NULL ? found->name : NULL;
}

swa_jit_status swa_jit_arch_from_name(const char *name, uint32_t *arch_out)
{
  if (name == NULL || arch_out == NULL) {
    return fail_null(name == NULL ? "name" : "arch_out");
  }
  return sj_arch_read_name(name, strlen(name), arch_out);
}

/* As take_concrete, but what is to be picked may hold anything. */
static swa_jit_status take_for_pick(const swa_jit_config *given, swa_jit_config *config_out)
{
  swa_jit_config defaults;
  swa_jit_config config;
  swa_jit_status status = sj_abi_check(given, FIRST_CONFIG_SIZE, sizeof *given, "swa_jit_config");
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_config_init(&defaults);
  config = defaults;
  memcpy(&config, given, given->size < sizeof config ? given->size : sizeof config);
  config.size = sizeof config;
  config.head_group = defaults.head_group;
  config.kv_tile = defaults.kv_tile;
  config.cluster_size = defaults.cluster_size;
  return take_concrete(&config, config_out);
}

swa_jit_status swa_jit_pick(uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms, swa_jit_config *config_inout)
{
  if (config_inout == NULL) {
    return fail_null("config_inout");
  }
  if (num_tokens == 0 || num_heads == 0) {
    return sj_fail(SWA_JIT_INVALID, "%s is 0: pick for at least 1", num_tokens == 0 ? "num_tokens" : "num_heads");
  }
  swa_jit_config picked;
  swa_jit_status status = take_for_pick(config_inout, &picked);
  if (status == SWA_JIT_OK) {
    status = sj_pick_make(num_tokens, num_heads, num_sms, &picked);
  }
  if (status == SWA_JIT_OK) {
    config_inout->head_group = picked.head_group;
    config_inout->kv_tile = picked.kv_tile;
    config_inout->cluster_size = picked.cluster_size;
  }
  return status;
}

/* The counts of a launch, as its stages take them. */
static swa_jit_decode_args make_counts(uint32_t num_tokens, uint32_t num_heads, uint32_t num_kv_heads,
                                       uint32_t num_splits)
{
  swa_jit_decode_args counts = SWA_JIT_DECODE_ARGS_INIT;
  counts.num_tokens = num_tokens;
  counts.num_heads = num_heads;
  counts.num_kv_heads = num_kv_heads;
  counts.num_splits = num_splits;
  return counts;
}

swa_jit_status swa_jit_pick_splits(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads,
                                   uint32_t num_kv_heads, uint32_t num_sms, uint32_t *num_splits_out)
{
  if (num_splits_out == NULL) {
    return fail_null("num_splits_out");
  }
  swa_jit_config concrete;
  const swa_jit_decode_args counts = make_counts(num_tokens, num_heads, num_kv_heads, 0);
  swa_jit_status status = take_concrete(config, &concrete);
  return status == SWA_JIT_OK ? sj_pick_splits_make(&concrete, &counts, num_sms, num_splits_out) : status;
}

/* ---- Library ------------------------------------------------------------------------------------------------ */

swa_jit_status swa_jit_open(const swa_jit_options *options, swa_jit_lib **lib_out)
{
  return lib_out != NULL ? sj_lib_open(options, sj_os_system(), lib_out) : fail_null("lib_out");
}

void swa_jit_close(swa_jit_lib **lib)
{
  if (lib != NULL && *lib != NULL) {
    sj_lib_close(*lib);
    *lib = NULL;
  }
}

swa_jit_status swa_jit_arch_native(swa_jit_lib *lib, uint32_t *arch_out)
{
  const sj_cuda_api *cuda = NULL;
  const sj_arch *arch = NULL;
  if (lib == NULL || arch_out == NULL) {
    return refuse(lib, "swa_jit_arch_native", "arch_out");
  }
  swa_jit_status status = sj_lib_open_cuda(lib, &cuda);
  if (status == SWA_JIT_OK) {
    status = sj_load_native_arch(cuda, sj_lib_has_flag(lib, SWA_JIT_FLAG_KEEP_PTX | SWA_JIT_FLAG_USE_PTX), &arch);
  }
  if (status == SWA_JIT_OK) {
    *arch_out = arch->id;
  }
  return end(lib, "swa_jit_arch_native", status);
}

swa_jit_status swa_jit_stats_get(swa_jit_lib *lib, swa_jit_stats *stats_out)
{
  if (lib == NULL || stats_out == NULL) {
    return refuse(lib, "swa_jit_stats_get", "stats_out");
  }
  swa_jit_status status = sj_abi_check(stats_out, FIRST_STATS_SIZE, sizeof *stats_out, "swa_jit_stats");
  if (status == SWA_JIT_OK) {
    sj_stats_snapshot(&lib->stats, stats_out);
  }
  return end(lib, "swa_jit_stats_get", status);
}

/* ---- Kernels ------------------------------------------------------------------------------------------------ */

static swa_jit_status check_info(const swa_jit_kernel_info *info_out)
{
  return sj_abi_check(info_out, FIRST_INFO_SIZE, sizeof *info_out, "swa_jit_kernel_info");
}

/* What the caller's struct has room for; its size stays. */
static void copy_info(const swa_jit_kernel_info *info, swa_jit_kernel_info *info_out)
{
  sj_abi_fill(info_out, info_out->size, info, sizeof *info);
}

swa_jit_status swa_jit_kernel_get(swa_jit_lib *lib, const swa_jit_config *config, const swa_jit_kernel **kernel_out)
{
  struct swa_jit_kernel *kernel = NULL;
  if (lib == NULL || kernel_out == NULL) {
    return refuse(lib, "swa_jit_kernel_get", "kernel_out");
  }
  swa_jit_status status = sj_build_kernel(lib, config, &kernel);
  if (status == SWA_JIT_OK) {
    *kernel_out = kernel;
  }
  return end(lib, "swa_jit_kernel_get", status);
}

swa_jit_status swa_jit_cubin_get(swa_jit_lib *lib, const swa_jit_config *config, const void **cubin_out,
                                 size_t *cubin_bytes_out, swa_jit_kernel_info *info_out)
{
  struct swa_jit_kernel *kernel = NULL;
  if (lib == NULL || cubin_out == NULL || cubin_bytes_out == NULL) {
    return refuse(lib, "swa_jit_cubin_get", cubin_out == NULL ? "cubin_out" : "cubin_bytes_out");
  }
  swa_jit_status status = info_out != NULL ? check_info(info_out) : SWA_JIT_OK;
  if (status == SWA_JIT_OK) {
    status = sj_build_cubin(lib, config, &kernel);
  }
  if (status == SWA_JIT_OK) {
    pthread_mutex_lock(&kernel->mutex);
    *cubin_out = kernel->cubin;
    *cubin_bytes_out = kernel->cubin_bytes;
    if (info_out != NULL) {
      copy_info(&kernel->info, info_out);
    }
    pthread_mutex_unlock(&kernel->mutex);
  }
  return end(lib, "swa_jit_cubin_get", status);
}

swa_jit_status swa_jit_kernel_get_info(const swa_jit_kernel *kernel, swa_jit_kernel_info *info_out)
{
  if (kernel == NULL) {
    return sj_fail(SWA_JIT_INVALID, "kernel is NULL: pass one that swa_jit_kernel_get returned");
  }
  swa_jit_status status = check_info(info_out);
  if (status == SWA_JIT_OK) {
    copy_info(&kernel->info, info_out);
  }
  return status;
}

/* ---- For people --------------------------------------------------------------------------------------------- */

swa_jit_status swa_jit_source(swa_jit_lib *lib, const swa_jit_config *config, const char **source_out)
{
  struct swa_jit_kernel *kernel = NULL;
  if (lib == NULL || source_out == NULL) {
    return refuse(lib, "swa_jit_source", "source_out");
  }
  swa_jit_status status = sj_build_describe(lib, config, &kernel);
  if (status == SWA_JIT_OK) {
    *source_out = kernel->source;
  }
  return end(lib, "swa_jit_source", status);
}

swa_jit_status swa_jit_key_text(swa_jit_lib *lib, const swa_jit_config *config, const char **key_text_out)
{
  struct swa_jit_kernel *kernel = NULL;
  if (lib == NULL || key_text_out == NULL) {
    return refuse(lib, "swa_jit_key_text", "key_text_out");
  }
  swa_jit_status status = sj_build_describe(lib, config, &kernel);
  if (status == SWA_JIT_OK) {
    *key_text_out = kernel->key.text;
  }
  return end(lib, "swa_jit_key_text", status);
}

swa_jit_status swa_jit_ptx(swa_jit_lib *lib, const swa_jit_config *config, const char **ptx_out)
{
  struct swa_jit_kernel *kernel = NULL;
  if (lib == NULL || ptx_out == NULL) {
    return refuse(lib, "swa_jit_ptx", "ptx_out");
  }
  swa_jit_status status = sj_build_ptx(lib, config, &kernel);
  if (status == SWA_JIT_OK) {
    *ptx_out = kernel->ptx;
  }
  return end(lib, "swa_jit_ptx", status);
}

swa_jit_status swa_jit_log_text(swa_jit_lib *lib, const swa_jit_config *config, const char **log_text_out)
{
  if (lib == NULL || log_text_out == NULL) {
    return refuse(lib, "swa_jit_log_text", "log_text_out");
  }
  return end(lib, "swa_jit_log_text", sj_build_log(lib, config, log_text_out));
}

swa_jit_status swa_jit_store_has(swa_jit_lib *lib, const swa_jit_config *config, const char **file_name_out,
                                 uint32_t *held_out)
{
  struct swa_jit_kernel *kernel = NULL;
  bool is_held = false;
  if (lib == NULL || file_name_out == NULL || held_out == NULL) {
    return refuse(lib, "swa_jit_store_has", file_name_out == NULL ? "file_name_out" : "held_out");
  }
  swa_jit_status status = sj_build_is_stored(lib, config, &kernel, &is_held);
  if (status == SWA_JIT_OK) {
    *file_name_out = kernel->key.file_name;
    *held_out = is_held;
  }
  return end(lib, "swa_jit_store_has", status);
}

swa_jit_status swa_jit_store_has_ptx(swa_jit_lib *lib, const swa_jit_config *config, uint32_t *held_out)
{
  bool is_held = false;
  if (lib == NULL || held_out == NULL) {
    return refuse(lib, "swa_jit_store_has_ptx", "held_out");
  }
  swa_jit_status status = sj_build_is_ptx_stored(lib, config, &is_held);
  if (status == SWA_JIT_OK) {
    *held_out = is_held;
  }
  return end(lib, "swa_jit_store_has_ptx", status);
}

swa_jit_status swa_jit_store_get_info(swa_jit_lib *lib, swa_jit_store_info *info_out)
{
  if (lib == NULL || info_out == NULL) {
    return refuse(lib, "swa_jit_store_get_info", "info_out");
  }
  swa_jit_status status = sj_abi_check(info_out, FIRST_STORE_INFO_SIZE, sizeof *info_out, "swa_jit_store_info");
  if (status == SWA_JIT_OK) {
    sj_abi_fill(info_out, info_out->size, sj_lib_store_info(lib), sizeof *info_out);
  }
  return end(lib, "swa_jit_store_get_info", status);
}

swa_jit_status swa_jit_store_check(swa_jit_lib *lib)
{
  sj_kept_message kept;
  if (lib == NULL) {
    return refuse(NULL, "swa_jit_store_check", "lib");
  }
  sj_message_keep(&kept);
  return end(lib, "swa_jit_store_check", sj_message_restore(sj_lib_check_store(lib), &kept));
}

/* ---- Decode and merge --------------------------------------------------------------------------------------- */

swa_jit_status swa_jit_workspace_bytes(const swa_jit_kernel *kernel, uint32_t num_tokens, uint32_t num_heads,
                                       uint32_t num_kv_heads, uint32_t num_splits, uint64_t *bytes_out)
{
  const swa_jit_decode_args counts = make_counts(num_tokens, num_heads, num_kv_heads, num_splits);
  return sj_launch_workspace_bytes(kernel, &counts, bytes_out);
}

/* swa_jit_decode itself is in launch.c: a call more would be a cache line more on the hot path. */

swa_jit_status swa_jit_merge(const swa_jit_kernel *kernel, const swa_jit_merge_args *args, swa_jit_stream stream)
{
  return sj_merge_launch(kernel, args, stream);
}

/* ---- The store's files -------------------------------------------------------------------------------------- */

swa_jit_status swa_jit_store_each(swa_jit_lib *lib, uint32_t flags, swa_jit_entry_fn call, void *entry_data)
{
  if (lib == NULL || call == NULL) {
    return refuse(lib, "swa_jit_store_each", "call");
  }
  return end(lib, "swa_jit_store_each", sj_inventory_each(lib, flags, call, entry_data));
}

swa_jit_status swa_jit_entry_check(const char *name, const void *bytes, size_t num_bytes)
{
  if (name == NULL || bytes == NULL) {
    return fail_null(name == NULL ? "name" : "bytes");
  }
  return sj_inventory_check(name, bytes, num_bytes);
}

swa_jit_status swa_jit_store_add(swa_jit_lib *lib, const char *name, const void *bytes, size_t num_bytes,
                                 uint32_t *added_out)
{
  bool was_added = false;
  if (lib == NULL || name == NULL || bytes == NULL || added_out == NULL) {
    return refuse(lib, "swa_jit_store_add", name == NULL ? "name" : bytes == NULL ? "bytes" : "added_out");
  }
  swa_jit_status status = sj_inventory_add(lib, name, bytes, num_bytes, &was_added);
  if (status == SWA_JIT_OK) {
    *added_out = was_added;
  }
  return end(lib, "swa_jit_store_add", status);
}

swa_jit_status swa_jit_store_remove(swa_jit_lib *lib, const char *name, uint32_t *removed_out)
{
  bool was_removed = false;
  if (lib == NULL || name == NULL || removed_out == NULL) {
    return refuse(lib, "swa_jit_store_remove", name == NULL ? "name" : "removed_out");
  }
  swa_jit_status status = sj_inventory_remove(lib, name, &was_removed);
  if (status == SWA_JIT_OK) {
    *removed_out = was_removed;
  }
  return end(lib, "swa_jit_store_remove", status);
}
