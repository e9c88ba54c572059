/* SPDX-License-Identifier: Apache-2.0 */
#include "inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "render.h"
#include "text.h"

enum { KNOWN_FLAGS = SWA_JIT_EACH_VERIFY | SWA_JIT_EACH_SET_ASIDE | SWA_JIT_EACH_CURRENT, CONFIG_TEXT_SIZE = 512 };

/* ---- Each ------------------------------------------------------------------------------------------------ */

typedef struct each_walk {
  sj_store *store; /* the folder under way */
  uint32_t layer;  /* its number */
  uint32_t flags;
  swa_jit_entry_fn call;
  void *data;
  swa_jit_status status;
  bool has_ended; /* the callback wants no more */
} each_walk;

/* The key that this library makes of a configuration. */
static swa_jit_status make_key(const swa_jit_config *config, const sj_tile_plan *plan, sj_key *key_out)
{
  char storage[64];
  const char *options[SJ_MAX_COMPILE_OPTIONS];
  char *source = NULL;
  swa_jit_status status = sj_render_make(config, plan, &source);
  if (status == SWA_JIT_OK) {
    sj_compile_options(sj_arch_find(config->arch), storage, options);
    status = sj_key_make(config, source, options, key_out);
  }
  free(source);
  return status;
}

/* What follows from the configuration: nothing where this library has no kernel of it. */
static swa_jit_status add_plan(const each_walk *walk, const sj_store_file *file, const swa_jit_config *config,
                               swa_jit_entry *entry)
{
  sj_tile_plan plan;
  sj_key key;
  if (sj_tile_plan_make(config, sj_arch_find(config->arch), &plan) != SWA_JIT_OK) {
    return SWA_JIT_OK;
  }
  entry->num_threads = plan.num_warps * 32;
  entry->shared_memory_bytes = plan.shared_memory_bytes;
  if ((walk->flags & SWA_JIT_EACH_CURRENT) == 0) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = make_key(config, &plan, &key);
  if (status == SWA_JIT_OK) {
    /* What stands behind it says for which driver the entry is. */
    entry->is_current =
        key.text_length <= file->view.key_bytes && memcmp(key.text, file->view.key_text, key.text_length) == 0;
    sj_key_finish(&key);
  }
  return status;
}

/* What the footer tells. key_text: a copy with a zero behind it. */
static swa_jit_status add_view(const each_walk *walk, const sj_store_file *file, char config_text[CONFIG_TEXT_SIZE],
                               char **key_text_out, swa_jit_entry *entry)
{
  const sj_cubin_view *view = &file->view;
  swa_jit_config config;
  sj_text text = {0};
  sj_text_add_bytes(&text, view->key_text, view->key_bytes);
  *key_text_out = sj_text_take(&text);
  if (*key_text_out == NULL) {
    return sj_fail_memory();
  }
  entry->key_text = *key_text_out;
  entry->cubin_bytes = view->cubin_bytes;
  entry->num_registers = view->note.num_registers;
  entry->spill_store_bytes = view->note.spill_store_bytes;
  entry->spill_load_bytes = view->note.spill_load_bytes;
  entry->nvrtc_version = view->note.nvrtc_version;
  entry->compile_ns = view->note.compile_ns;
  if (view->note.made_s != 0 && view->note.made_s <= INT64_MAX) {
    entry->made_s = (int64_t)view->note.made_s;
  }
  if (!sj_key_read_config(view->key_text, view->key_bytes, &config)
      || sj_config_to_text(&config, config_text, CONFIG_TEXT_SIZE) != SWA_JIT_OK) {
    return SWA_JIT_OK;
  }
  entry->config_text = config_text;
  entry->arch = config.arch;
  return add_plan(walk, file, &config, entry);
}

/* A remembered failure in the form of an entry's footer: it has a key, and no figures. */
static sj_store_file as_entry(const sj_store_file *file)
{
  sj_store_file entry = *file;
  entry.has_view = true;
  entry.view = (sj_cubin_view){.key_text = file->failure.key_text,
                               .key_bytes = file->failure.key_bytes,
                               .note = {.nvrtc_version = file->failure.nvrtc_version}};
  return entry;
}

/* The texts of a remembered failure, in one allocation: message and log, each with a zero. */
static swa_jit_status add_failure(const sj_store_file *file, char **texts_out, swa_jit_entry *entry)
{
  sj_text texts = {0};
  sj_text_add_bytes(&texts, file->failure.message, file->failure.message_bytes);
  sj_text_add_bytes(&texts, "", 1);
  const size_t log_at = texts.length;
  sj_text_add_bytes(&texts, file->failure.log, file->failure.log_bytes);
  *texts_out = sj_text_take(&texts);
  if (*texts_out == NULL) {
    return sj_fail_memory();
  }
  entry->reason = *texts_out;
  entry->log_text = *texts_out + log_at;
  return SWA_JIT_OK;
}

static bool show(void *data, const sj_store_file *given)
{
  const sj_store_file as_shown = given->has_failure ? as_entry(given) : *given;
  const sj_store_file *file = &as_shown;
  each_walk *walk = data;
  char config_text[CONFIG_TEXT_SIZE] = "";
  char *key_text = NULL;
  char *texts = NULL;
  sj_kept_message kept;
  swa_jit_entry entry = {
      .size = sizeof entry,
      .state = file->state,
      .layer = walk->layer,
      .file_bytes = (uint64_t)file->status.st_size,
      .made_s = file->status.st_mtime,
      .used_s = file->state != SWA_JIT_ENTRY_FAILED ? file->status.st_mtime : 0, /* store_use.c keeps it there */
      .folder = walk->store->path,
      .name = file->name,
      .config_text = "",
      .key_text = "",
      .reason = file->reason,
      .bytes = file->bytes,
      .expires_s = file->expires_s,
      .log_text = "",
      .file_idx = file->idx,
      .num_files = file->num_files,
  };
  sj_message_keep(&kept);
  walk->status = file->has_view ? add_view(walk, file, config_text, &key_text, &entry) : SWA_JIT_OK;
  if (walk->status == SWA_JIT_OK && file->has_failure) {
    walk->status = add_failure(file, &texts, &entry);
  }
  sj_message_restore(walk->status, &kept);
  walk->has_ended = walk->status != SWA_JIT_OK || walk->call(walk->data, &entry) != 0;
  free(key_text);
  free(texts);
  return !walk->has_ended;
}

swa_jit_status sj_inventory_each(swa_jit_lib *lib, uint32_t flags, swa_jit_entry_fn call, void *entry_data)
{
  if ((flags & ~(uint32_t)KNOWN_FLAGS) != 0) {
    return sj_fail(SWA_JIT_INVALID, "flags is 0x%x: this library knows the bits 0x%x; clear the others", flags,
                   (unsigned)KNOWN_FLAGS);
  }
  if (!sj_store_is_there(&lib->store)) {
    return sj_lib_check_store(lib); /* it knows why there is none */
  }
  each_walk walk = {.flags = flags, .call = call, .data = entry_data};
  swa_jit_status status = SWA_JIT_OK;
  for (uint32_t i = lib->store.dir_fd >= 0 ? 0 : 1; i <= lib->store.num_layers && !walk.has_ended; i++) {
    walk.store = i == 0 ? &lib->store : &lib->store.layers[i - 1];
    walk.layer = i;
    status = sj_store_walk(walk.store, i == 0 ? flags : flags & ~(uint32_t)SWA_JIT_EACH_SET_ASIDE, show, &walk);
    walk.has_ended = walk.has_ended || status != SWA_JIT_OK;
  }
  return status != SWA_JIT_OK ? status : walk.status;
}

/* ---- Adding and removing --------------------------------------------------------------------------------- */

static swa_jit_status refuse_bytes(const char *name, const char *reason)
{
  char shown[SJ_QUOTE_SIZE];
  sj_text_quote(name, strlen(name), shown);
  return sj_fail(SWA_JIT_INVALID, "\"%s\" is no entry of a cubin store: %s", sj_key_is_file_name(name) ? name : shown,
                 reason);
}

static swa_jit_status check_bytes(const char *name, const void *bytes, size_t num_bytes, sj_cubin_view *view_out)
{
  if (!sj_key_is_file_name(name)) {
    return refuse_bytes(name, "it does not have an entry's name");
  }
  if (sj_cubin_file_decode(bytes, num_bytes, view_out) != SWA_JIT_OK) {
    sj_kept_message why;
    sj_message_keep(&why);
    return refuse_bytes(name, why.text);
  }
  if (!sj_key_fits_file_name(view_out->key_text, view_out->key_bytes, name)) {
    return refuse_bytes(name, "it holds another key than its name says");
  }
  if (view_out->is_ptx != sj_key_is_ptx_name(name)) {
    return refuse_bytes(name, view_out->is_ptx ? "it holds PTX and no cubin" : "it holds no PTX");
  }
  return SWA_JIT_OK;
}

swa_jit_status sj_inventory_check(const char *name, const void *bytes, size_t num_bytes)
{
  sj_cubin_view view;
  sj_kept_message kept;
  sj_message_keep(&kept);
  return sj_message_restore(check_bytes(name, bytes, num_bytes, &view), &kept);
}

/* The key as the store's calls take it, without a configuration: name and text are all that they read. */
static swa_jit_status copy_key(const char *name, const sj_cubin_view *view, sj_key *key_out)
{
  sj_text text = {0};
  sj_key key = {.text_length = view->key_bytes};
  sj_text_add_bytes(&text, view->key_text, view->key_bytes);
  key.text = sj_text_take(&text);
  if (key.text == NULL) {
    return sj_fail_memory();
  }
  sj_digest_make(key.text, key.text_length, key.digest);
  snprintf(key.file_name, sizeof key.file_name, "%s", name);
  *key_out = key;
  return SWA_JIT_OK;
}

swa_jit_status sj_inventory_add(swa_jit_lib *lib, const char *name, const void *bytes, size_t num_bytes,
                                bool *added_out)
{
  sj_cubin_view view = {0};
  sj_key key;
  swa_jit_status status = check_bytes(name, bytes, num_bytes, &view);
  if (status == SWA_JIT_OK && (lib->store.dir_fd < 0 || lib->store.read_only)) {
    return sj_lib_check_store(lib);
  }
  if (status == SWA_JIT_OK) {
    status = copy_key(name, &view, &key);
  }
  if (status != SWA_JIT_OK) {
    return status;
  }
  const bool is_held = sj_store_has_own(&lib->store, &key, 0);
  if (!is_held) {
    status = sj_store_publish(&lib->store, &key, &view);
  }
  sj_key_finish(&key);
  if (status == SWA_JIT_OK) {
    *added_out = !is_held;
  }
  return status;
}

swa_jit_status sj_inventory_remove(swa_jit_lib *lib, const char *name, bool *removed_out)
{
  return lib->store.dir_fd >= 0 ? sj_store_remove(&lib->store, name, removed_out) : sj_lib_check_store(lib);
}
