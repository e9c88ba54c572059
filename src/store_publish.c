/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_parts.h"

enum {
  TEMPORARY_NAME_SIZE = sizeof SJ_TEMPORARY_PREFIX + SJ_TEMPORARY_DIGITS,
  PROBE_BYTES = 64 * 1024 /* a usual entry's, so that a full disk tells */
};

/* ---- Failing --------------------------------------------------------------------------------------------- */

static const char *remedy(int error)
{
  switch (error) {
  case ENOSPC:
    return "free space on its disk, or name a folder on another one";
  case EDQUOT:
    return "raise this user's quota, or name a folder on another disk";
  case EROFS:
    return "it is mounted read-only: name a writable folder";
  case EACCES:
  case EPERM:
    return "this user may not write there: name a folder of its own";
  case EFBIG:
    return "raise the limit of file sizes (ulimit -f)";
  case ENOENT:
    return "the folder, or the file being written, was removed meanwhile: open the library anew";
  case EMFILE:
  case ENFILE:
    return "raise the limit of open files (ulimit -n)";
  case EISDIR:
  case ENOTEMPTY:
    return "a folder has the entry's name: remove it";
  default:
    return "see whether the disk works";
  }
}

static swa_jit_status fail(const sj_store *store, const sj_key *key, const char *step, int error)
{
  bool is_forbidden = error == EROFS || error == EACCES || error == EPERM;
  return sj_fail(SWA_JIT_STORE_ERROR,
                 "cannot %s entry %s in the cubin store %s: %s; the kernel works and is not kept: %s%s", step,
                 key->file_name, store->shown_path, strerror(error), remedy(error),
                 is_forbidden ? ", or ask for a read-only store (SWA_JIT_READ_ONLY=1)" : "");
}

/* ---- Writing --------------------------------------------------------------------------------------------- */

static bool sync_again(const sj_os *os, int fd)
{
  int result = 0;
  do {
    result = os->fsync(fd);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

/* Fills and syncs the opened file and closes it; NULL, or the step that failed, with errno. A network file system may
 * tell only at the close that it had no room. */
static const char *fill_file(const sj_os *os, int fd, const void *bytes, size_t count)
{
  const char *step = NULL;
  if (!sj_os_write_all(os, fd, bytes, count)) {
    step = "write";
  } else if (!sync_again(os, fd)) {
    step = "sync";
  }
  int error = errno;
  if (os->close(fd) != 0 && step == NULL && errno != EINTR) { /* EINTR: Linux has closed it all the same */
    return "close";
  }
  errno = error;
  return step;
}

/* After a failure, whose errno it keeps. */
static void remove_temporary(sj_store *store, const char *temporary)
{
  int error = errno;
  store->os->unlinkat(store->dir_fd, temporary, 0);
  errno = error;
}

void sj_store_give(const sj_store *store, int fd)
{
  gid_t group = 0;
  uid_t owner = 0;
  const bool has_group = sj_trust_needs_group(&store->trust, &group);
  const bool has_owner = sj_trust_needs_owner(&store->trust, &owner);
  if (has_group || has_owner) { /* a file system without owners has its own */
    store->os->fchown(fd, has_owner ? owner : (uid_t)-1, has_group ? group : (gid_t)-1);
  }
}

/* Puts whole bytes into a new temporary file, whose name it makes; NULL, or the step that failed, with errno and no
 * temporary left. */
static const char *write_temporary(sj_store *store, const void *bytes, size_t count,
                                   char temporary[TEMPORARY_NAME_SIZE])
{
  const sj_os *os = store->os;
  snprintf(temporary, TEMPORARY_NAME_SIZE, "%s", SJ_TEMPORARY_PREFIX);
  if (!sj_os_may_write(count)) {
    return "write";
  }
  if (!sj_store_make_random_hex(os, SJ_TEMPORARY_DIGITS, temporary + strlen(SJ_TEMPORARY_PREFIX))) {
    return "name";
  }
  int fd = sj_os_open(os, store->dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return "create";
  }
  sj_store_give(store, fd);
  os->fchmod(fd, sj_trust_entry_mode(&store->trust)); /* a file system without modes has its own */
  const char *step = fill_file(os, fd, bytes, count);
  if (step != NULL) {
    remove_temporary(store, temporary);
  }
  return step;
}

const char *sj_store_write_file(sj_store *store, const char *name, const void *bytes, size_t count)
{
  char temporary[TEMPORARY_NAME_SIZE];
  const char *step = write_temporary(store, bytes, count, temporary);
  if (step == NULL && store->os->renameat(store->dir_fd, temporary, store->dir_fd, name) != 0) {
    remove_temporary(store, temporary);
    step = "rename";
  }
  return step;
}

/* ---- Publishing ------------------------------------------------------------------------------------------ */

/* The folder is made again where it is gone. NULL, or the step that failed, with errno. */
static const char *try_again(sj_store *store, const char *name, const void *bytes, size_t count,
                             sj_writing *writing_inout, const char *step)
{
  if (sj_store_folder_is_gone(store)) {
    sj_store_end_writing(store, writing_inout);
    if (!sj_store_make_folder_again(store)) {
      return step;
    }
    *writing_inout = sj_store_begin_writing(store);
  }
  return sj_store_write_file(store, name, bytes, count);
}

static swa_jit_status publish(sj_store *store, const sj_key *key, const sj_cubin_view *view)
{
  void *bytes = NULL;
  size_t count = 0;
  swa_jit_status status = sj_cubin_file_encode(view, &bytes, &count);
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_writing writing = sj_store_begin_writing(store);
  const char *step = sj_store_write_file(store, key->file_name, bytes, count);
  if (step != NULL && errno == ENOENT) { /* a cleaner took the file, or somebody the folder: once more */
    step = try_again(store, key->file_name, bytes, count, &writing, step);
  }
  int error = errno;
  writing.has_trouble = step != NULL;
  sj_store_end_writing(store, &writing);
  free(bytes);
  if (step != NULL) {
    return fail(store, key, step, error);
  }
  /* Readers have the whole entry from here on. Without this sync a power cut can only take the name away again. */
  if (!sync_again(store->os, store->dir_fd)) {
    sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: cannot sync the folder %s: %s", store->shown_path,
                strerror(errno));
  }
  sj_stats_add(store->stats->store_writes, 1);
  sj_stats_add(store->stats->store_bytes_written, count);
  sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: published %s, %zu bytes", key->file_name, count);
  sj_store_trim(store, key->file_name, count);
  return SWA_JIT_OK;
}

swa_jit_status sj_store_publish(sj_store *store, const sj_key *key, const sj_cubin_view *view)
{
  if (store->dir_fd < 0 || store->read_only) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = publish(store, key, view);
  if (status != SWA_JIT_OK) {
    sj_stats_add(store->stats->store_write_failures, 1);
  }
  return status;
}

/* ---- Asking beforehand ----------------------------------------------------------------------------------- */

swa_jit_status sj_store_check(sj_store *store)
{
  if (store->read_only) {
    return sj_fail(SWA_JIT_STORE_ERROR,
                   "the cubin store %s is read-only: unset SWA_JIT_READ_ONLY, or clear SWA_JIT_FLAG_READ_ONLY",
                   store->shown_path);
  }
  void *bytes = calloc(1, PROBE_BYTES);
  if (bytes == NULL) {
    return sj_fail_memory();
  }
  char temporary[TEMPORARY_NAME_SIZE];
  sj_writing writing = sj_store_begin_writing(store);
  const char *step = write_temporary(store, bytes, PROBE_BYTES, temporary);
  free(bytes);
  if (step == NULL && store->os->unlinkat(store->dir_fd, temporary, 0) != 0 && errno != ENOENT) {
    step = "remove"; /* and so could not rename either */
  }
  int error = errno;
  writing.has_trouble = step != NULL;
  sj_store_end_writing(store, &writing);
  if (step != NULL) {
    return sj_fail(SWA_JIT_STORE_ERROR, "cannot %s a file in the cubin store %s: %s; %s", step, store->shown_path,
                   strerror(error), remedy(error));
  }
  return SWA_JIT_OK;
}
