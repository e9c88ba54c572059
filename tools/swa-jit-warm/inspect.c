/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "print_entries.h"

enum { LEAST_DIGITS = 4 };

/* ---- all of them ------------------------------------------------------------------------------------------ */

static void print_json(const warm_options *options, const warm_entries *entries)
{
  sj_json json = {.file = stdout};
  warm_json_begin(&json, warm_command_names[options->command]);
  sj_json_open(&json, "entries", '[');
  for (size_t i = 0; i < entries->count; i++) {
    sj_json_open(&json, NULL, '{');
    warm_json_entry(&json, &entries->entries[i]);
    sj_json_close(&json, '}');
  }
  sj_json_close(&json, ']');
  warm_json_sums(&json, entries);
  sj_json_close(&json, '}');
}

static void print_all(const warm_options *options, const warm_entries *entries)
{
  if (options->json) {
    print_json(options, entries);
  } else if (!options->quiet) {
    warm_print_entries(entries);
  }
  warm_print_faults(entries);
}

int warm_list(const warm_options *options, swa_jit_lib *lib)
{
  warm_entries entries;
  if (!warm_entries_read(lib, 0, NULL, &entries)) {
    return WARM_EXIT_FAILED;
  }
  print_all(options, &entries);
  warm_entries_finish(&entries);
  return WARM_EXIT_GOOD;
}

int warm_verify(const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  warm_entries entries;
  const uint32_t set_aside = options->set_aside ? SWA_JIT_EACH_SET_ASIDE : 0;
  if (!warm_entries_read(lib, SWA_JIT_EACH_VERIFY | set_aside, progress, &entries)) {
    return WARM_EXIT_FAILED;
  }
  print_all(options, &entries);
  const size_t num_unreadable = warm_entries_count(&entries, SWA_JIT_ENTRY_UNREADABLE, NULL);
  const size_t num_bad = warm_entries_count(&entries, SWA_JIT_ENTRY_BAD, NULL);
  warm_entries_finish(&entries);
  return num_unreadable > 0 ? WARM_EXIT_FAILED : num_bad > 0 ? WARM_EXIT_ABSENT : WARM_EXIT_GOOD;
}

/* ---- one of them ------------------------------------------------------------------------------------------ */

static int complain(const warm_options *options, int status, const char *why)
{
  fprintf(stderr, "%s: --show \"%s\": %s\n", warm_cli.name, options->show, why);
  return status;
}

/* By its whole name, else by the beginning of its digest. *count_out: how many there are. */
static const swa_jit_entry *find(const warm_entries *entries, const char *what, size_t *count_out)
{
  const swa_jit_entry *found = NULL;
  const bool is_digest = strlen(what) >= LEAST_DIGITS && what[strspn(what, "0123456789abcdef")] == '\0';
  *count_out = 0;
  for (size_t i = 0; i < entries->count; i++) {
    const swa_jit_entry *entry = &entries->entries[i];
    if (strcmp(entry->name, what) == 0) {
      *count_out = 1;
      return entry;
    }
    if (is_digest && strncmp(warm_entry_digest(entry), what, strlen(what)) == 0
        && (found == NULL || strcmp(warm_entry_digest(found), warm_entry_digest(entry)) != 0)) {
      found = entry; /* of several folders, and of an entry and a failure that it came after, the first counts */
      (*count_out)++;
    }
  }
  return found;
}

static void print_one(const warm_options *options, const swa_jit_entry *entry)
{
  if (!options->json) {
    warm_print_entry(entry);
    return;
  }
  sj_json json = {.file = stdout};
  warm_json_begin(&json, warm_command_names[options->command]);
  sj_json_open(&json, "entry", '{');
  warm_json_entry(&json, entry);
  if (entry->state == SWA_JIT_ENTRY_FAILED) {
    sj_json_text(&json, "log", entry->log_text);
  }
  if (entry->key_text[0] != '\0') {
    sj_json_bool(&json, "is_current", entry->is_current != 0);
    warm_json_key(&json, entry->key_text);
  }
  sj_json_close(&json, '}');
  sj_json_close(&json, '}');
}

/* What stands in the key of a configuration that the store has no file for. */
static void print_missing(const warm_options *options, const char *name, const char *config_text, const char *key_text)
{
  if (!options->json) {
    printf("%-20s  %s\n%-20s  %s\n%-20s  %s\n", "file", name, "state", "missing", "configuration", config_text);
    warm_print_key(key_text);
    return;
  }
  sj_json json = {.file = stdout};
  warm_json_begin(&json, warm_command_names[options->command]);
  sj_json_open(&json, "entry", '{');
  sj_json_text(&json, "file", name);
  sj_json_text(&json, "state", "missing");
  sj_json_text(&json, "configuration", config_text);
  warm_json_key(&json, key_text);
  sj_json_close(&json, '}');
  sj_json_close(&json, '}');
}

/* Whether this library asks for the entry: its key is the one made of its configuration. */
static bool is_current(swa_jit_lib *lib, const swa_jit_entry *entry)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  const char *key_text = NULL;
  return entry->config_text[0] != '\0' && swa_jit_config_from_text(entry->config_text, &config) == SWA_JIT_OK
         && swa_jit_key_text(lib, &config, &key_text) == SWA_JIT_OK && strcmp(key_text, entry->key_text) == 0;
}

static int show_named(const warm_options *options, swa_jit_lib *lib, const warm_entries *entries)
{
  size_t count = 0;
  const swa_jit_entry *found = find(entries, options->show, &count);
  if (count != 1) {
    char *why = count == 0 ? sj_memory_copy("no file of the store has this name, or a digest that begins so with 4 "
                                            "digits at least; --list shows what is there")
                           : sj_memory_format("%zu entries' digests begin so: give more digits", count);
    int status = complain(options, count == 0 ? WARM_EXIT_ABSENT : WARM_EXIT_FAILED, why);
    free(why);
    return status;
  }
  swa_jit_entry entry = *found;
  entry.is_current = is_current(lib, found);
  print_one(options, &entry);
  return WARM_EXIT_GOOD;
}

static int show_configured(const warm_options *options, swa_jit_lib *lib, const warm_entries *entries)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[512] = "";
  const char *name = NULL, *key_text = NULL;
  uint32_t is_held = 0;
  size_t count = 0;
  if (swa_jit_config_from_text(options->show, &config) != SWA_JIT_OK) {
    return complain(options, WARM_EXIT_USAGE, swa_jit_message());
  }
  if (swa_jit_store_has(lib, &config, &name, &is_held) != SWA_JIT_OK
      || swa_jit_key_text(lib, &config, &key_text) != SWA_JIT_OK
      || swa_jit_config_to_text(&config, text, sizeof text) != SWA_JIT_OK) {
    return complain(options, WARM_EXIT_FAILED, swa_jit_message());
  }
  const swa_jit_entry *found = find(entries, name, &count);
  const swa_jit_entry *failure = warm_entries_find_failure(entries, name);
  if (found == NULL && failure != NULL) {
    print_one(options, failure);
    return WARM_EXIT_ABSENT;
  }
  if (found == NULL) {
    print_missing(options, name, text, key_text);
    return WARM_EXIT_ABSENT;
  }
  swa_jit_entry entry = *found;
  entry.is_current = strcmp(key_text, found->key_text) == 0;
  print_one(options, &entry);
  return WARM_EXIT_GOOD;
}

int warm_show(const warm_options *options, swa_jit_lib *lib)
{
  warm_entries entries;
  if (!warm_entries_read(lib, 0, NULL, &entries)) {
    return WARM_EXIT_FAILED;
  }
  int status =
      strchr(options->show, '=') != NULL ? show_configured(options, lib, &entries) : show_named(options, lib, &entries);
  warm_entries_finish(&entries);
  return status;
}
