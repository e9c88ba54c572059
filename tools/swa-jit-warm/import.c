/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "names.h"
#include "number.h"
#include "print_entries.h"
#include "stop.h"
#include "tar.h"
#include "transfer.h"

enum { LARGEST_ENTRY = 65 << 20 /* beyond what swa_jit_entry_check takes */ };

typedef struct importing {
  const warm_options *options;
  swa_jit_lib *lib;
  sj_progress *progress;
  FILE *file; /* can be read again from its start */
  warm_names names;
  warm_names held; /* usable in the folder that is written; of a dry run, and where the size limit removed some */
  size_t num_added, num_passed, num_evicted;
  uint64_t added_bytes;
} importing;

static bool complain(const importing *work, const char *what)
{
  fprintf(stderr, "%s: --import %s: %s\n", warm_cli.name, work->options->import_from, what);
  return false;
}

/* What cannot be read twice is copied to a file without a name first; what is no archive fills no disk. */
static bool copy_to_file(importing *work, FILE *from)
{
  char bytes[64 * 1024];
  size_t count = 0;
  work->file = tmpfile();
  bool is_kept = work->file != NULL;
  while (is_kept && warm_stop_count() == 0 && (count = fread(bytes, 1, sizeof bytes, from)) > 0) {
    if (ftell(work->file) == 0 && !sj_tar_may_begin(bytes, count)) {
      return complain(work, "it is no tar archive");
    }
    is_kept = fwrite(bytes, 1, count, work->file) == count;
  }
  if (!is_kept || fflush(work->file) != 0) {
    char *what = sj_memory_format("it cannot be kept in a temporary file in %s: %s: name a file that holds it",
                                  P_tmpdir, strerror(errno));
    complain(work, what);
    free(what);
    return false;
  }
  return !ferror(from) || complain(work, "it cannot be read");
}

static bool open_archive(importing *work)
{
  const bool is_standard = strcmp(work->options->import_from, "-") == 0;
  FILE *file = is_standard ? stdin : fopen(work->options->import_from, "rbe");
  if (file == NULL) {
    return complain(work, strerror(errno));
  }
  if (!is_standard && fseek(file, 0, SEEK_SET) == 0) {
    work->file = file;
    return true;
  }
  bool is_copied = copy_to_file(work, file);
  if (!is_standard) {
    fclose(file);
  }
  return is_copied;
}

/* Does something with an entry; false with the reason printed. */
typedef bool (*entry_step)(importing *work, const char *name, const void *bytes, size_t count);

static bool check(importing *work, const char *name, const void *bytes, size_t count)
{
  if (swa_jit_entry_check(name, bytes, count) != SWA_JIT_OK) {
    return complain(work, swa_jit_message());
  }
  if (warm_names_has(&work->names, name)) {
    char *what = sj_memory_format("it holds %s twice", name);
    complain(work, what);
    free(what);
    return false;
  }
  warm_names_add(&work->names, name);
  sj_progress_count(work->progress, work->names.count, 0, "verified");
  return true;
}

static bool add(importing *work, const char *name, const void *bytes, size_t count)
{
  uint32_t was_added = !warm_names_has(&work->held, name);
  if (!work->options->dry_run && swa_jit_store_add(work->lib, name, bytes, count, &was_added) != SWA_JIT_OK) {
    return complain(work, swa_jit_message());
  }
  work->num_added += was_added;
  work->num_passed++;
  sj_progress_count(work->progress, work->num_passed, work->names.count, "added or held already");
  work->added_bytes += was_added ? count : 0;
  return true;
}

static bool read_member(importing *work, sj_tar_reader *reader, const sj_tar_member *member, entry_step step)
{
  if (member->size > LARGEST_ENTRY) {
    char *what = sj_memory_format("\"%.100s\" is larger than any entry", member->name);
    complain(work, what);
    free(what);
    return false;
  }
  void *bytes = sj_memory_get((size_t)member->size, 1);
  bool is_done = sj_tar_read(reader, bytes) ? step(work, member->name, bytes, (size_t)member->size)
                                            : complain(work, reader->problem);
  free(bytes);
  return is_done;
}

/* Every file of the archive, from its start. False where one failed, or a signal came. */
static bool walk(importing *work, entry_step step)
{
  sj_tar_reader reader = {.file = work->file};
  sj_tar_member member;
  sj_tar_result result = SJ_TAR_END;
  rewind(work->file);
  while (warm_stop_count() == 0 && (result = sj_tar_next(&reader, &member)) == SJ_TAR_MEMBER) {
    if (!read_member(work, &reader, &member, step)) {
      return false;
    }
  }
  return warm_stop_count() == 0 && (result == SJ_TAR_END || complain(work, reader.problem));
}

static bool find_held(importing *work, uint32_t flags)
{
  warm_entries entries;
  if (!warm_entries_read(work->lib, flags, (flags & SWA_JIT_EACH_VERIFY) != 0 ? work->progress : NULL, &entries)) {
    return false;
  }
  warm_entries_drop_layers(&entries);
  for (size_t i = 0; i < entries.count; i++) {
    if (entries.entries[i].state == SWA_JIT_ENTRY_USABLE) {
      warm_names_add(&work->held, entries.entries[i].name);
    }
  }
  warm_entries_finish(&entries);
  return true;
}

/* Only a dry run asks: else the library looks itself. */
static bool prepare(importing *work)
{
  return !work->options->dry_run || warm_store_info(work->lib).state == SWA_JIT_STORE_MISSING
         || find_held(work, SWA_JIT_EACH_VERIFY);
}

/* Whether all entries of the archive are still there: the store's size limit may have removed some for others. */
static bool check_kept(importing *work)
{
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  if (swa_jit_stats_get(work->lib, &stats) != SWA_JIT_OK || stats.evictions == 0) {
    return true;
  }
  if (!find_held(work, 0)) {
    return false;
  }
  for (size_t i = 0; i < work->names.capacity; i++) {
    work->num_evicted += work->names.slots[i] != NULL && !warm_names_has(&work->held, work->names.slots[i]);
  }
  return true;
}

static void tell(const importing *work, bool is_stopped)
{
  char size[SJ_NUMBER_TEXT_SIZE];
  const warm_options *options = work->options;
  const size_t num_held = work->names.count - work->num_added;
  sj_number_write_bytes(work->added_bytes, size);
  if (options->json) {
    sj_json json = {.file = stdout};
    warm_json_begin(&json, warm_command_names[WARM_IMPORT]);
    sj_json_text(&json, "archive", options->import_from);
    sj_json_bool(&json, "dry_run", options->dry_run);
    sj_json_number(&json, "entries", work->names.count);
    sj_json_number(&json, "added", work->num_added);
    sj_json_number(&json, "added_bytes", work->added_bytes);
    sj_json_number(&json, "evicted", work->num_evicted);
    sj_json_bool(&json, "stopped", is_stopped);
    sj_json_close(&json, '}');
  } else if (!options->quiet && !is_stopped) {
    printf("%zu of %zu entr%s %s, of %s; %zu held already\n", work->num_added, work->names.count,
           work->names.count == 1 ? "y" : "ies", options->dry_run ? "would be added" : "added", size, num_held);
  }
  if (work->num_evicted > 0) {
    fprintf(stderr,
            "%s: --import %s: %zu of %zu entries are gone again, as the store's size limit has no room for all: raise "
            "SWA_JIT_CACHE_LIMIT\n",
            warm_cli.name, options->import_from, work->num_evicted, work->names.count);
  }
  if (is_stopped) {
    fprintf(stderr, "%s: stopped by a signal: %zu of %zu entries were added; the same command goes on\n", warm_cli.name,
            work->num_added, work->names.count);
  }
}

int warm_import(const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  importing work = {.options = options, .lib = lib, .progress = progress};
  warm_stop_begin();
  bool is_done = open_archive(&work) && walk(&work, check) && prepare(&work) && walk(&work, add) && check_kept(&work);
  const bool is_stopped = warm_stop_count() > 0;
  sj_progress_clear(progress);
  if (is_done || is_stopped) {
    tell(&work, is_stopped);
  } else {
    fprintf(stderr, "%s: %zu entr%s added\n", warm_cli.name, work.num_added,
            work.num_added == 1 ? "y was" : "ies were");
  }
  if (work.file != NULL) {
    fclose(work.file);
  }
  warm_names_finish(&work.names);
  warm_names_finish(&work.held);
  if (is_stopped) {
    return WARM_EXIT_SIGNAL + warm_stop_signal();
  }
  return is_done && work.num_evicted == 0 ? WARM_EXIT_GOOD : WARM_EXIT_FAILED;
}
