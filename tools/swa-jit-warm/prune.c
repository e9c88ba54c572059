/* SPDX-License-Identifier: Apache-2.0 */
#include "prune.h"

#include <stdlib.h>
#include <time.h>

#include "memory.h"
#include "number.h"
#include "print_entries.h"
#include "stop.h"
#include "table.h"

enum { WRITER_S = 3600 /* no writer takes an hour */ };

typedef struct candidate {
  const swa_jit_entry *entry;
  const char *why; /* NULL: it stays */
  bool is_in_use;  /* it stays all the same */
  char *trouble;   /* why it could not be removed; malloc'd */
} candidate;

typedef struct prune_plan {
  const warm_options *options;
  candidate *candidates;
  size_t count;
  bool is_stopped; /* by a signal: what was marked and not reached stays */
} prune_plan;

static bool is_older(const swa_jit_entry *entry, int64_t now_s, uint64_t age_s)
{
  const int64_t then_s = warm_entry_last_use(entry);
  return then_s < now_s && (uint64_t)(now_s - then_s) > age_s;
}

/* Why a file goes, whatever the size of the store; NULL: it stays. What cannot be read may be good. */
static const char *judge(const warm_options *options, const swa_jit_entry *entry, int64_t now_s)
{
  switch (entry->state) {
  case SWA_JIT_ENTRY_BAD:
    return "it cannot be used";
  case SWA_JIT_ENTRY_SET_ASIDE:
    return "it was set aside";
  case SWA_JIT_ENTRY_TEMPORARY:
    return is_older(entry, now_s, WRITER_S) ? "its writer died" : NULL;
  case SWA_JIT_ENTRY_FAILED:
    if (entry->expires_s == 0) {
      return "its compile failed, and that counts no more";
    }
    break;
  case SWA_JIT_ENTRY_USABLE:
    break;
  default:
    return NULL;
  }
  if (options->outdated && entry->is_current == 0 && entry->config_text[0] != '\0') { /* else: of a later release */
    return "this release does not ask for it";
  }
  return is_older(entry, now_s, options->max_age_s) ? "it was not used for so long" : NULL;
}

static int compare_use(const void *a, const void *b)
{
  const int64_t a_s = warm_entry_last_use((*(candidate *const *)a)->entry);
  const int64_t b_s = warm_entry_last_use((*(candidate *const *)b)->entry);
  return a_s < b_s ? -1 : a_s > b_s;
}

/* Marks usable entries, the one unused for longest first, until what stays fits. */
static void shrink(prune_plan *pruning)
{
  uint64_t bytes = 0;
  size_t count = 0;
  candidate **oldest = sj_memory_get(pruning->count, sizeof(candidate *));
  for (size_t i = 0; i < pruning->count; i++) {
    candidate *each = &pruning->candidates[i];
    if (each->why == NULL) {
      bytes += each->entry->file_bytes;
      oldest[count] = each;
      count += each->entry->state == SWA_JIT_ENTRY_USABLE;
    }
  }
  qsort(oldest, count, sizeof(candidate *), compare_use);
  for (size_t i = 0; i < count && bytes > pruning->options->max_bytes; i++) {
    oldest[i]->why = "the store is too large";
    bytes -= oldest[i]->entry->file_bytes;
  }
  free(oldest);
}

static void remove_marked(prune_plan *pruning, swa_jit_lib *lib)
{
  for (size_t i = 0; i < pruning->count; i++) {
    candidate *each = &pruning->candidates[i];
    uint32_t was_removed = 1;
    if (warm_stop_count() > 0) {
      pruning->is_stopped = pruning->is_stopped || each->why != NULL;
      each->why = NULL;
      continue;
    }
    if (each->why != NULL && swa_jit_store_remove(lib, each->entry->name, &was_removed) != SWA_JIT_OK) {
      each->trouble = sj_memory_copy(swa_jit_message());
    }
    each->is_in_use = was_removed == 0;
  }
}

/* ---- telling ---------------------------------------------------------------------------------------------- */

typedef struct prune_sums {
  size_t removed, kept, in_use, failed;
  uint64_t removed_bytes, kept_bytes;
} prune_sums;

static prune_sums add_up(const prune_plan *pruning)
{
  prune_sums found = {0};
  for (size_t i = 0; i < pruning->count; i++) {
    const candidate *each = &pruning->candidates[i];
    if (each->why != NULL && each->trouble == NULL && !each->is_in_use) {
      found.removed++;
      found.removed_bytes += each->entry->file_bytes;
    } else {
      found.kept++;
      found.kept_bytes += each->entry->file_bytes;
      found.failed += each->trouble != NULL;
      found.in_use += each->is_in_use;
    }
  }
  return found;
}

static void print_table(const prune_plan *pruning, const prune_sums *sums)
{
  static const sj_column columns[] = {{"size", true}, {"unused for", true}, {"why", false}, {"file", false}};
  char size[SJ_NUMBER_TEXT_SIZE], rest[SJ_NUMBER_TEXT_SIZE], age[SJ_NUMBER_TEXT_SIZE];
  const int64_t now_s = time(NULL);
  sj_table table;
  sj_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (size_t i = 0; i < pruning->count; i++) {
    const candidate *each = &pruning->candidates[i];
    const int64_t then_s = warm_entry_last_use(each->entry);
    if (each->why == NULL || each->trouble != NULL || each->is_in_use) {
      continue;
    }
    sj_number_write_bytes(each->entry->file_bytes, size);
    sj_number_write_seconds(now_s > then_s ? (uint64_t)(now_s - then_s) : 0, age);
    sj_table_add(&table, "%s", size);
    sj_table_add(&table, "%s", age);
    sj_table_add(&table, "%s", each->why);
    sj_table_add(&table, "%s", each->entry->name);
  }
  if (table.num_cells > 0) {
    sj_table_print(&table, stdout);
  }
  sj_table_finish(&table);
  sj_number_write_bytes(sums->removed_bytes, size);
  sj_number_write_bytes(sums->kept_bytes, rest);
  printf("%zu file%s of %s %s; %zu of %s stay", sums->removed, sj_number_ending(sums->removed), size,
         pruning->options->dry_run ? "would be removed" : "removed", sums->kept, rest);
  if (sums->in_use > 0) {
    printf(", of which running programs use %zu", sums->in_use);
  }
  printf("%s\n", pruning->is_stopped ? "; stopped by a signal: the same command goes on" : "");
}

static void print_json(const prune_plan *pruning, const prune_sums *sums)
{
  sj_json json = {.file = stdout};
  warm_json_begin(&json, warm_command_names[WARM_PRUNE]);
  sj_json_bool(&json, "dry_run", pruning->options->dry_run);
  sj_json_open(&json, "entries", '[');
  for (size_t i = 0; i < pruning->count; i++) {
    const candidate *each = &pruning->candidates[i];
    if (each->why != NULL) {
      sj_json_open(&json, NULL, '{');
      warm_json_entry(&json, each->entry);
      sj_json_text(&json, "why", each->why);
      sj_json_bool(&json, "is_in_use", each->is_in_use);
      sj_json_text(&json, "trouble", each->trouble);
      sj_json_close(&json, '}');
    }
  }
  sj_json_close(&json, ']');
  sj_json_number(&json, "removed", sums->removed);
  sj_json_number(&json, "removed_bytes", sums->removed_bytes);
  sj_json_number(&json, "kept", sums->kept);
  sj_json_number(&json, "kept_bytes", sums->kept_bytes);
  sj_json_number(&json, "in_use", sums->in_use);
  sj_json_number(&json, "failed", sums->failed);
  sj_json_bool(&json, "stopped", pruning->is_stopped);
  sj_json_close(&json, '}');
}

static void tell(const prune_plan *pruning, const prune_sums *sums)
{
  if (pruning->options->json) {
    print_json(pruning, sums);
  } else if (!pruning->options->quiet) {
    print_table(pruning, sums);
  }
  for (size_t i = 0; i < pruning->count; i++) {
    if (pruning->candidates[i].trouble != NULL) {
      fprintf(stderr, "%s: %s\n", warm_cli.name, pruning->candidates[i].trouble);
    }
  }
}

int warm_prune(const warm_options *options, swa_jit_lib *lib)
{
  warm_entries entries;
  const swa_jit_store_info info = warm_store_info(lib);
  if (info.state != SWA_JIT_STORE_OPEN) { /* what lies in other folders is not removed */
    fprintf(stderr, "%s: %s\n", warm_cli.name, info.reason);
    return WARM_EXIT_FAILED;
  }
  warm_stop_begin();
  if (!warm_entries_read(lib, options->outdated ? SWA_JIT_EACH_CURRENT : 0, NULL, &entries)) {
    return WARM_EXIT_FAILED;
  }
  warm_entries_drop_layers(&entries);
  const int64_t now_s = time(NULL);
  prune_plan pruning = {.options = options, .count = entries.count};
  pruning.candidates = sj_memory_get(entries.count, sizeof *pruning.candidates);
  for (size_t i = 0; i < entries.count; i++) {
    const swa_jit_entry *entry = &entries.entries[i];
    pruning.candidates[i] = (candidate){.entry = entry, .why = judge(options, entry, now_s)};
  }
  shrink(&pruning);
  if (!options->dry_run) {
    remove_marked(&pruning, lib);
  }
  const prune_sums sums = add_up(&pruning);
  tell(&pruning, &sums);
  for (size_t i = 0; i < pruning.count; i++) {
    free(pruning.candidates[i].trouble);
  }
  free(pruning.candidates);
  warm_entries_finish(&entries);
  if (pruning.is_stopped) {
    return WARM_EXIT_SIGNAL + warm_stop_signal();
  }
  return sums.failed > 0 ? WARM_EXIT_FAILED : WARM_EXIT_GOOD;
}
