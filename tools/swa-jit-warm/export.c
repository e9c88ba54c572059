/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "names.h"
#include "new_file.h"
#include "number.h"
#include "print_entries.h"
#include "stop.h"
#include "tar.h"
#include "transfer.h"

typedef struct exporting {
  const warm_options *options;
  sj_progress *progress;
  FILE *file;
  warm_new_file made; /* made.file is NULL: what is no plain file is written as it is */
  bool is_file;       /* made: a plain file */
  warm_names names;
  warm_entries left_out;
  uint64_t bytes;
  int error; /* errno of a failed write; 0: none */
} exporting;

static int complain(const exporting *work, const char *what, int error)
{
  fprintf(stderr, "%s: --export %s: %s: %s\n", warm_cli.name, work->options->export_to, what, strerror(error));
  return WARM_EXIT_FAILED;
}

/* What is no plain file, such as standard output, a pipe or a device: renaming would put a file in its place. */
static bool open_as_it_is(exporting *work)
{
  const bool is_standard = strcmp(work->options->export_to, "-") == 0;
  work->file = is_standard ? stdout : fopen(work->options->export_to, "wbe");
  if (work->file == NULL) {
    complain(work, "cannot be opened", errno);
  }
  return work->file != NULL;
}

static bool open_archive(exporting *work)
{
  const char *path = work->options->export_to;
  struct stat status;
  const bool is_there = strcmp(path, "-") != 0 && stat(path, &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) {
    complain(work, "cannot be written", EISDIR);
    return false;
  }
  if (strcmp(path, "-") == 0 || (is_there && !S_ISREG(status.st_mode))) {
    return open_as_it_is(work);
  }
  char *real = is_there ? realpath(path, NULL) : NULL; /* a link to a file stays one */
  const bool is_open = warm_new_file_open(real != NULL ? real : path, &work->made);
  if (!is_open) {
    complain(work, "cannot be made", errno);
  }
  free(real);
  work->file = work->made.file;
  work->is_file = is_open;
  return is_open;
}

static uint32_t add(void *data, const swa_jit_entry *entry)
{
  exporting *work = data;
  if (warm_stop_count() > 0) {
    return 1;
  }
  if (entry->state == SWA_JIT_ENTRY_BAD || entry->state == SWA_JIT_ENTRY_UNREADABLE) {
    warm_entries_add(&work->left_out, entry);
  }
  if (entry->bytes == NULL || warm_names_has(&work->names, entry->name)) {
    return 0; /* no entry; or one that a folder searched earlier has too */
  }
  if (!sj_tar_write(work->file, entry->name, entry->made_s, entry->bytes, (size_t)entry->file_bytes)) {
    work->error = errno != 0 ? errno : EIO;
    return 1;
  }
  warm_entries_tell(work->progress, entry, "exported");
  warm_names_add(&work->names, entry->name);
  work->bytes += entry->file_bytes;
  return 0;
}

/* Brings the whole archive under its name; the errno of what failed, or 0. */
static int close_archive(exporting *work)
{
  int error = sj_tar_write_end(work->file) && fflush(work->file) == 0 ? 0 : errno;
  if (error != 0 || work->file == stdout) {
    return error;
  }
  FILE *file = work->file;
  work->file = NULL;
  if (work->made.file != NULL) {
    return warm_new_file_commit(&work->made);
  }
  return fclose(file) != 0 ? errno : 0;
}

static void discard(exporting *work)
{
  if (work->made.file != NULL) {
    warm_new_file_discard(&work->made);
  } else if (work->file != NULL && work->file != stdout) {
    fclose(work->file);
  }
}

static void print_json(const exporting *work)
{
  sj_json json = {.file = stdout};
  warm_json_begin(&json, warm_command_names[WARM_EXPORT]);
  sj_json_text(&json, "archive", work->options->export_to);
  sj_json_number(&json, "exported", work->names.count);
  sj_json_number(&json, "bytes", work->bytes);
  sj_json_open(&json, "left_out", '[');
  for (size_t i = 0; i < work->left_out.count; i++) {
    sj_json_open(&json, NULL, '{');
    warm_json_entry(&json, &work->left_out.entries[i]);
    sj_json_close(&json, '}');
  }
  sj_json_close(&json, ']');
  sj_json_close(&json, '}');
}

static int tell(const exporting *work)
{
  char size[SJ_NUMBER_TEXT_SIZE];
  const size_t count = work->names.count;
  sj_number_write_bytes(work->bytes, size);
  if (work->options->json) {
    print_json(work);
  } else if (!work->options->quiet) { /* standard output may be the archive */
    fprintf(work->is_file ? stdout : stderr, "%zu entr%s of %s written to %s\n", count, count == 1 ? "y" : "ies", size,
            work->options->export_to);
  }
  warm_print_faults(&work->left_out);
  return work->left_out.count > 0 ? WARM_EXIT_ABSENT : WARM_EXIT_GOOD;
}

int warm_export(const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  exporting work = {.options = options, .progress = progress};
  int status = WARM_EXIT_FAILED;
  warm_stop_begin();
  if (!open_archive(&work)) {
    return WARM_EXIT_FAILED;
  }
  errno = 0;
  swa_jit_status walked = swa_jit_store_each(lib, SWA_JIT_EACH_VERIFY, add, &work);
  sj_progress_clear(progress);
  if (walked != SWA_JIT_OK) {
    fprintf(stderr, "%s: %s\n", warm_cli.name, swa_jit_message());
  } else if (warm_stop_count() > 0) {
    fprintf(stderr, "%s: stopped by a signal: %s\n", warm_cli.name,
            work.is_file ? "no archive was written" : "the archive is cut");
    status = WARM_EXIT_SIGNAL + warm_stop_signal();
  } else {
    work.error = work.error != 0 ? work.error : close_archive(&work);
    status = work.error != 0 ? complain(&work, "cannot be written", work.error) : tell(&work);
  }
  if (status != WARM_EXIT_GOOD && status != WARM_EXIT_ABSENT) {
    discard(&work);
  }
  warm_names_finish(&work.names);
  warm_entries_finish(&work.left_out);
  return status;
}
