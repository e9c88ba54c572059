/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "os.h"
#include "status.h"
#include "text.h"

#define DEFAULT_LIMIT_BYTES (UINT64_C(4) << 30)

enum {
  KNOWN_FLAGS = SWA_JIT_FLAG_NO_COMPILE | SWA_JIT_FLAG_READ_ONLY | SWA_JIT_FLAG_SAME_COMPILER | SWA_JIT_FLAG_NO_STORE
                | SWA_JIT_FLAG_FOREIGN_OWNER | SWA_JIT_FLAG_GROUP_SHARED | SWA_JIT_FLAG_ALL_READ | SWA_JIT_FLAG_KEEP_PTX
                | SWA_JIT_FLAG_USE_PTX | SWA_JIT_FLAG_NO_CREATE,
  DEFAULT_LOCK_WAIT_MS = 60000,
  FIRST_SIZE = offsetof(swa_jit_options, record_path) + sizeof(char *)
};

/* NULL when unset, empty, or in a set-user-id program, whose environment is another user's. */
static const char *read_variable(const char *name)
{
  const char *value = secure_getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

/* A switch: 1 is on, 0 is off. Anything else is taken for what does less harm: a restriction as on, a permission as
 * off. */
static bool read_switch(const char *name, bool if_unclear, const sj_log *log)
{
  const char *value = read_variable(name);
  if (value == NULL || strcmp(value, "0") == 0) {
    return false;
  }
  if (strcmp(value, "1") == 0) {
    return true;
  }
  sj_log_line(log, SWA_JIT_LOG_WARN, "%s is \"%s\": use 1 or 0; taken as %d", name, value, if_unclear);
  return if_unclear;
}

static uint32_t read_switches(const sj_log *log)
{
  static const struct {
    const char *name;
    uint32_t flag;
    bool if_unclear;
  } switches[] = {
      {"SWA_JIT_NO_COMPILE", SWA_JIT_FLAG_NO_COMPILE, true},
      {"SWA_JIT_READ_ONLY", SWA_JIT_FLAG_READ_ONLY, true},
      {"SWA_JIT_FOREIGN_OWNER", SWA_JIT_FLAG_FOREIGN_OWNER, false},
      {"SWA_JIT_GROUP_SHARED", SWA_JIT_FLAG_GROUP_SHARED, false},
      {"SWA_JIT_KEEP_PTX", SWA_JIT_FLAG_KEEP_PTX, true},
      {"SWA_JIT_USE_PTX", SWA_JIT_FLAG_USE_PTX, false},
  };
  uint32_t flags = 0;
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
    flags |= read_switch(switches[i].name, switches[i].if_unclear, log) ? switches[i].flag : 0;
  }
  return flags;
}

/* *copy_out: a copy of value, NULL for NULL. */
static swa_jit_status copy(const char *value, char **copy_out)
{
  *copy_out = sj_text_copy(value);
  return value != NULL && *copy_out == NULL ? sj_fail_memory() : SWA_JIT_OK;
}

/* The field, else its variable, else NULL. */
static swa_jit_status choose(const char *given, const char *field, const char *variable, char **chosen_out)
{
  if (given != NULL && *given == '\0') {
    return sj_fail(SWA_JIT_INVALID, "swa_jit_options.%s is \"\": give a path, or NULL for the default", field);
  }
  return copy(given != NULL ? given : read_variable(variable), chosen_out);
}

/* folder/rest, when folder is an absolute path: the XDG base directory specification ignores others. */
static swa_jit_status choose_below(const char *folder, const char *rest, char **chosen_out)
{
  if (folder == NULL || folder[0] != '/') {
    return SWA_JIT_OK;
  }
  sj_text text = {0};
  sj_text_add(&text, strcmp(folder, "/") == 0 ? "" : folder);
  sj_text_add(&text, rest);
  *chosen_out = sj_text_take(&text);
  return *chosen_out == NULL ? sj_fail_memory() : SWA_JIT_OK;
}

/* "512M", "20G", a number of bytes, or "none"; false for anything else. */
static bool read_size(const char *text, uint64_t *bytes_out)
{
  static const char units[] = "KMGT";
  size_t length = strspn(text, "0123456789");
  const char *unit = text[length] != '\0' ? strchr(units, text[length]) : NULL;
  uint64_t count = 0;
  if (strcmp(text, "none") == 0) {
    *bytes_out = UINT64_MAX;
    return true;
  }
  if (!sj_text_read_u64(text, length, &count) || count == 0
      || (text[length] != '\0' && (unit == NULL || text[length + 1] != '\0'))) {
    return false;
  }
  const unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;
  *bytes_out = count <= UINT64_MAX >> shift ? count << shift : UINT64_MAX;
  return true;
}

static uint64_t choose_limit(uint64_t given, const sj_log *log)
{
  const char *value = read_variable("SWA_JIT_CACHE_LIMIT");
  uint64_t bytes = DEFAULT_LIMIT_BYTES;
  if (given != 0) {
    return given;
  }
  if (value != NULL && !read_size(value, &bytes)) {
    sj_log_line(log, SWA_JIT_LOG_WARN,
                "SWA_JIT_CACHE_LIMIT is \"%s\": use a number of bytes above 0, with K, M, G or T behind it for their "
                "powers of 1024, or none; taken as 4G",
                value);
  }
  return bytes;
}

static swa_jit_status choose_cache_dir(const swa_jit_options *given, sj_options *options)
{
  if ((options->flags & SWA_JIT_FLAG_NO_STORE) != 0) {
    return SWA_JIT_OK;
  }
  options->cache_dir_from_call = given->cache_dir != NULL;
  swa_jit_status status = choose(given->cache_dir, "cache_dir", "SWA_JIT_CACHE_DIR", &options->cache_dir);
  if (status == SWA_JIT_OK && options->cache_dir == NULL) {
    status = choose_below(read_variable("XDG_CACHE_HOME"), "/swa-jit", &options->cache_dir);
  }
  if (status == SWA_JIT_OK && options->cache_dir == NULL) {
    const char *home = read_variable("HOME");
    status = choose_below(home, "/.cache/swa-jit", &options->cache_dir);
    if (status == SWA_JIT_OK && options->cache_dir != NULL) {
      status = copy(home, &options->home);
    }
  }
  if (status == SWA_JIT_OK && options->cache_dir == NULL) {
    sj_log_line(
        &options->log, SWA_JIT_LOG_WARN,
        "no folder for the cubin store, kernels are kept in memory only: HOME is unset or no absolute path; set "
        "SWA_JIT_CACHE_DIR or swa_jit_options.cache_dir");
  }
  return status;
}

/* "" in the call is an answer here: no such folders, whatever the environment says. */
static swa_jit_status choose_cache_path(const swa_jit_options *given, sj_options *options)
{
  options->cache_path_from_call = given->cache_path != NULL;
  if ((options->flags & SWA_JIT_FLAG_NO_STORE) != 0 || (given->cache_path != NULL && given->cache_path[0] == '\0')) {
    return SWA_JIT_OK;
  }
  return choose(given->cache_path, "cache_path", "SWA_JIT_CACHE_PATH", &options->cache_path);
}

/* choose, for what is opened later, when the working folder may be another: a relative path becomes absolute. Not a
 * name without a slash that the loader looks for, nor a path that would be longer than a system call takes. */
static swa_jit_status choose_lasting(const char *given, const char *field, const char *variable, bool is_searched,
                                     char **chosen_out)
{
  char *chosen = NULL;
  swa_jit_status status = choose(given, field, variable, &chosen);
  if (status != SWA_JIT_OK || chosen == NULL || (is_searched && strchr(chosen, '/') == NULL)) {
    *chosen_out = chosen;
    return status;
  }
  char *absolute = sj_os_absolute_path(chosen);
  if (absolute == NULL) {
    free(chosen);
    return sj_fail_memory();
  }
  const bool is_too_long = strlen(absolute) >= PATH_MAX;
  *chosen_out = is_too_long ? chosen : absolute;
  free(is_too_long ? absolute : chosen);
  return SWA_JIT_OK;
}

static swa_jit_status choose_paths(const swa_jit_options *given, sj_options *options)
{
  swa_jit_status status = choose_cache_dir(given, options);
  if (status == SWA_JIT_OK) {
    status = choose_cache_path(given, options);
  }
  if (status == SWA_JIT_OK) {
    status = choose_lasting(given->nvrtc_path, "nvrtc_path", "SWA_JIT_NVRTC", true, &options->nvrtc_path);
  }
  if (status == SWA_JIT_OK) {
    status = choose_lasting(given->cuda_path, "cuda_path", "SWA_JIT_CUDA", true, &options->cuda_path);
  }
  if (status == SWA_JIT_OK) {
    status = choose_lasting(given->dump_dir, "dump_dir", "SWA_JIT_DUMP_DIR", false, &options->dump_dir);
  }
  if (status == SWA_JIT_OK) {
    status = choose_lasting(given->record_path, "record_path", "SWA_JIT_RECORD", false, &options->record_path);
  }
  if (status == SWA_JIT_OK) {
    status = choose_lasting(NULL, "virtual_env", "VIRTUAL_ENV", false, &options->virtual_env);
  }
  return status;
}

/* *full_out: the caller's struct, whatever its size, with defaults for what it does not have. */
static swa_jit_status take_given(const swa_jit_options *given, swa_jit_options *full_out)
{
  *full_out = (swa_jit_options)SWA_JIT_OPTIONS_INIT;
  if (given == NULL) {
    return SWA_JIT_OK;
  }
  const swa_jit_status status = sj_abi_check(given, FIRST_SIZE, sizeof *given, "swa_jit_options");
  if (status != SWA_JIT_OK) {
    return status;
  }
  memcpy(full_out, given, given->size < sizeof *full_out ? given->size : sizeof *full_out);
  if ((full_out->flags & ~(uint32_t)KNOWN_FLAGS) != 0) {
    return sj_fail(SWA_JIT_INVALID, "swa_jit_options.flags is 0x%x: this library knows the bits 0x%x; clear the others",
                   full_out->flags, (unsigned)KNOWN_FLAGS);
  }
  if (full_out->log_level > SWA_JIT_LOG_DEBUG) {
    return sj_fail(SWA_JIT_INVALID, "swa_jit_options.log_level is %u: use 0 (the default) to %u", full_out->log_level,
                   (unsigned)SWA_JIT_LOG_DEBUG);
  }
  return SWA_JIT_OK;
}

swa_jit_status sj_options_make(const swa_jit_options *given, sj_options *options_out)
{
  swa_jit_options full;
  swa_jit_status status = take_given(given, &full);
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_options options = {.flags = full.flags};
  options.log.write = full.log;
  options.log.data = full.log_data;
  options.log.level = full.log_level == SWA_JIT_LOG_DEFAULT ? (uint32_t)SWA_JIT_LOG_INFO : full.log_level;
  options.lock_wait_ms = full.lock_wait_ms == 0 ? (uint32_t)DEFAULT_LOCK_WAIT_MS : full.lock_wait_ms;
  options.flags |= read_switches(&options.log);
  options.cache_limit_bytes = choose_limit(full.cache_limit_bytes, &options.log);
  status = choose_paths(&full, &options);
  if (status != SWA_JIT_OK) {
    sj_options_finish(&options);
    return status;
  }
  *options_out = options;
  return SWA_JIT_OK;
}

void sj_options_finish(sj_options *options)
{
  free(options->cache_dir);
  free(options->home);
  free(options->cache_path);
  free(options->nvrtc_path);
  free(options->cuda_path);
  free(options->dump_dir);
  free(options->record_path);
  free(options->virtual_env);
  *options = (sj_options){0};
}
