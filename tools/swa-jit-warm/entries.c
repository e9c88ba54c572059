/* SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "options.h"

static const char *const state_names[WARM_NUM_STATES] = {
    [SWA_JIT_ENTRY_USABLE] = "usable",         [SWA_JIT_ENTRY_BAD] = "bad",
    [SWA_JIT_ENTRY_UNREADABLE] = "unreadable", [SWA_JIT_ENTRY_SET_ASIDE] = "set-aside",
    [SWA_JIT_ENTRY_TEMPORARY] = "temporary",   [SWA_JIT_ENTRY_FAILED] = "failed",
};

void warm_entries_add(warm_entries *entries, const swa_jit_entry *entry)
{
  if (entries->count == entries->capacity) {
    entries->capacity = entries->capacity != 0 ? 2 * entries->capacity : 256;
    entries->entries = sj_memory_grow(entries->entries, entries->capacity, sizeof *entries->entries);
  }
  swa_jit_entry *copy = &entries->entries[entries->count++];
  *copy = *entry;
  copy->folder = sj_memory_copy(entry->folder);
  copy->name = sj_memory_copy(entry->name);
  copy->config_text = sj_memory_copy(entry->config_text);
  copy->key_text = sj_memory_copy(entry->key_text);
  copy->reason = sj_memory_copy(entry->reason);
  copy->log_text = sj_memory_copy(entry->log_text);
  copy->bytes = NULL;
}

typedef struct reading {
  warm_entries entries;
  sj_progress *progress;
} reading;

static uint32_t add(void *entry_data, const swa_jit_entry *entry)
{
  reading *read = entry_data;
  warm_entries_add(&read->entries, entry);
  if (read->progress != NULL) {
    warm_entries_tell(read->progress, entry, "verified");
  }
  return 0;
}

void warm_entries_tell(sj_progress *progress, const swa_jit_entry *entry, const char *what)
{
  char *text = entry->layer == 0 ? sj_memory_copy(what) : sj_memory_format("%s in layer %u", what, entry->layer);
  sj_progress_count(progress, (size_t)entry->file_idx + 1, entry->num_files, text);
  free(text);
}

swa_jit_store_info warm_store_info(swa_jit_lib *lib)
{
  swa_jit_store_info info = SWA_JIT_STORE_INFO_INIT;
  swa_jit_store_get_info(lib, &info); /* it cannot fail */
  return info;
}

bool warm_entries_read(swa_jit_lib *lib, uint32_t flags, sj_progress *progress, warm_entries *entries_out)
{
  reading read = {.progress = progress};
  swa_jit_status status = swa_jit_store_each(lib, flags, add, &read);
  if (progress != NULL) {
    sj_progress_clear(progress);
  }
  if (status != SWA_JIT_OK) {
    fprintf(stderr, "%s: %s (%s)\n", warm_cli.name, swa_jit_message(), swa_jit_status_name(status));
    warm_entries_finish(&read.entries);
    return false;
  }
  *entries_out = read.entries;
  return true;
}

static void free_text(const char *text)
{
  free((void *)(uintptr_t)text);
}

static void finish_entry(const swa_jit_entry *entry)
{
  free_text(entry->folder);
  free_text(entry->name);
  free_text(entry->config_text);
  free_text(entry->key_text);
  free_text(entry->reason);
  free_text(entry->log_text);
}

void warm_entries_drop_layers(warm_entries *entries)
{
  size_t count = 0;
  for (size_t i = 0; i < entries->count; i++) {
    if (entries->entries[i].layer == 0) {
      entries->entries[count++] = entries->entries[i];
    } else {
      finish_entry(&entries->entries[i]);
    }
  }
  entries->count = count;
}

void warm_entries_finish(warm_entries *entries)
{
  for (size_t i = 0; i < entries->count; i++) {
    finish_entry(&entries->entries[i]);
  }
  free(entries->entries);
  *entries = (warm_entries){0};
}

const char *warm_entry_state_name(uint32_t state)
{
  return state < WARM_NUM_STATES ? state_names[state] : "?";
}

int64_t warm_entry_last_use(const swa_jit_entry *entry)
{
  return entry->used_s > 0 ? entry->used_s : entry->made_s;
}

static bool is_ending(const char *text)
{
  return strcmp(text, ".cubin") == 0 || strcmp(text, ".ptx") == 0 || strcmp(text, ".failed") == 0;
}

const char *warm_entry_digest(const swa_jit_entry *entry)
{
  enum { NUM_DIGITS = 32 };
  const char *dash = strrchr(entry->name, '-');
  if (entry->state == SWA_JIT_ENTRY_SET_ASIDE || dash == NULL || strspn(dash + 1, "0123456789abcdef") != NUM_DIGITS
      || !is_ending(dash + 1 + NUM_DIGITS)) {
    return "";
  }
  return dash + 1;
}

const swa_jit_entry *warm_entries_find_failure(const warm_entries *entries, const char *name)
{
  const size_t stem = strlen(name) - strlen(strrchr(name, '.'));
  for (size_t i = 0; i < entries->count; i++) {
    const swa_jit_entry *entry = &entries->entries[i];
    if (entry->state == SWA_JIT_ENTRY_FAILED && entry->key_text[0] != '\0' && entry->layer == 0
        && strncmp(entry->name, name, stem) == 0 && entry->name[stem] == '.') {
      return entry;
    }
  }
  return NULL;
}

size_t warm_entries_count(const warm_entries *entries, uint32_t state, uint64_t *bytes_out)
{
  size_t count = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < entries->count; i++) {
    if (state == WARM_NUM_STATES || entries->entries[i].state == state) {
      count++;
      bytes += entries->entries[i].file_bytes;
    }
  }
  if (bytes_out != NULL) {
    *bytes_out = bytes;
  }
  return count;
}
