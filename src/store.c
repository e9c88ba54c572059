/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store_parts.h"
#include "text.h"

/* ---- Trust ----------------------------------------------------------------------------------------------- */

/* A cubin is code that will run: whether another unprivileged user could have written this file or folder. */
static bool is_trusted(const struct stat *status, char reason[SJ_REASON_SIZE])
{
  if (status->st_uid != geteuid() && status->st_uid != 0) {
    snprintf(reason, SJ_REASON_SIZE, "it belongs to user %u, who is neither this process's user %u nor root",
             (unsigned)status->st_uid, (unsigned)geteuid());
    return false;
  }
  if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    snprintf(reason, SJ_REASON_SIZE, "its mode %04o lets its group or everybody write to it",
             (unsigned)status->st_mode & 07777u);
    return false;
  }
  return true;
}

/* ---- Opening the folder ---------------------------------------------------------------------------------- */

/* Opens one step of a path, and makes the folder when it is missing. Parents need only be passed through, and may be
 * links. */
static int open_step(const sj_os *os, int parent_fd, const char *name, bool is_last, bool may_create)
{
  int flags = O_DIRECTORY | (is_last ? O_RDONLY | O_NOFOLLOW : O_PATH);
  int fd = sj_os_open(os, parent_fd, name, flags, 0);
  if (fd >= 0 || errno != ENOENT || !may_create) {
    return fd;
  }
  if (os->mkdirat(parent_fd, name, 0700) != 0 && errno != EEXIST) { /* EEXIST: another process was faster */
    return -1;
  }
  return sj_os_open(os, parent_fd, name, flags, 0);
}

/* Cuts the next name off path, which has no leading slashes. False, with errno, when a name cannot be so long. */
static bool take_name(const char **path_inout, char name_out[NAME_MAX + 1])
{
  size_t length = strcspn(*path_inout, "/");
  if (length > NAME_MAX) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(name_out, *path_inout, length);
  name_out[length] = '\0';
  *path_inout += length;
  *path_inout += strspn(*path_inout, "/");
  return true;
}

/* The folder's descriptor, or -1 with errno. Step by step, so that a missing parent can be made where it is missing. */
static int open_folder(const sj_os *os, const char *path, bool may_create)
{
  int fd = sj_os_open(os, AT_FDCWD, path[0] == '/' ? "/" : ".", O_DIRECTORY | O_PATH, 0);
  path += strspn(path, "/");
  bool is_last = false;
  while (fd >= 0 && !is_last) {
    char name[NAME_MAX + 1] = ".";
    int next_fd = -1;
    if (*path == '\0' || take_name(&path, name)) {
      is_last = *path == '\0';
      next_fd = open_step(os, fd, name, is_last, may_create);
    }
    int error = errno;
    os->close(fd);
    errno = error;
    fd = next_fd;
  }
  return fd;
}

static const char *open_remedy(int error)
{
  switch (error) {
  case ENOTDIR:
  case ELOOP:
    return "a part of the path is a file, or its last part a symbolic link: name a real folder";
  case ENOENT:
    return "the folder does not exist and may not be created: name an existing one, or allow writing";
  case EMFILE:
  case ENFILE:
    return "raise the limit of open files (ulimit -n)";
  default:
    return "name a folder that this user may create and write with cache_dir or SWA_JIT_CACHE_DIR";
  }
}

swa_jit_status sj_store_open(const char *path, bool read_only, const sj_os *os, const sj_log *log, sj_stats *stats,
                             sj_store *store_out)
{
  if (path[0] == '\0') {
    return sj_fail(SWA_JIT_STORE_ERROR, "the cubin store's path is empty: name a folder");
  }
  int fd = open_folder(os, path, !read_only);
  if (fd < 0) {
    int error = errno;
    return sj_fail(SWA_JIT_STORE_ERROR, "cannot open the cubin store %s: %s; %s", path, strerror(error),
                   open_remedy(error));
  }
  struct stat status;
  char reason[SJ_REASON_SIZE];
  if (os->fstat(fd, &status) != 0) {
    snprintf(reason, sizeof reason, "%s", strerror(errno));
  } else if (is_trusted(&status, reason)) {
    char *path_copy = sj_text_copy(path);
    if (path_copy == NULL) {
      os->close(fd);
      return sj_fail_memory();
    }
    *store_out = (sj_store){os, log, stats, fd, read_only, path_copy};
    return SWA_JIT_OK;
  }
  os->close(fd);
  return sj_fail(
      SWA_JIT_STORE_ERROR,
      "the cubin store %s is not used: %s. Kernels come from it: make it your own with chown and chmod go-w, or "
      "name another folder with cache_dir or SWA_JIT_CACHE_DIR",
      path, reason);
}

DIR *sj_store_list(sj_store *store)
{
  int fd = sj_os_open(store->os, store->dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
  DIR *listing = fd < 0 ? NULL : store->os->fdopendir(fd);
  if (listing == NULL && fd >= 0) {
    int error = errno;
    store->os->close(fd);
    errno = error;
  }
  return listing;
}

void sj_store_close(sj_store *store)
{
  if (store->dir_fd >= 0) {
    store->os->close(store->dir_fd);
  }
  free(store->path);
  *store = (sj_store){.dir_fd = -1};
}

/* ---- Reading an entry ------------------------------------------------------------------------------------ */

static sj_verdict judge(sj_reading *reading_out, sj_verdict verdict, const char *reason)
{
  snprintf(reading_out->reason, sizeof reading_out->reason, "%s", reason);
  return verdict;
}

/* Opens without following a link and without waiting for a pipe's other end. */
sj_verdict sj_store_open_entry(sj_store *store, const char *name, int *fd_out, sj_reading *reading_out)
{
  int fd = sj_os_open(store->os, store->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0) {
    if (errno == ENOENT) {
      return SJ_VERDICT_ABSENT;
    }
    return errno == ELOOP ? judge(reading_out, SJ_VERDICT_BAD, "it is a symbolic link")
                          : judge(reading_out, SJ_VERDICT_UNREADABLE, strerror(errno));
  }
  sj_verdict verdict = SJ_VERDICT_USABLE;
  if (store->os->fstat(fd, &reading_out->status) != 0) {
    verdict = judge(reading_out, SJ_VERDICT_UNREADABLE, strerror(errno));
  } else {
    reading_out->was_opened = true;
    if (!S_ISREG(reading_out->status.st_mode)) {
      verdict = judge(reading_out, SJ_VERDICT_BAD, "it is not a regular file");
    } else if (!is_trusted(&reading_out->status, reading_out->reason)) {
      verdict = SJ_VERDICT_BAD;
    } else if ((uint64_t)reading_out->status.st_size > SJ_CUBIN_FILE_MAX_BYTES) {
      verdict = judge(reading_out, SJ_VERDICT_BAD, "it is larger than any entry");
    }
  }
  if (verdict != SJ_VERDICT_USABLE) {
    store->os->close(fd);
    return verdict;
  }
  *fd_out = fd;
  return SJ_VERDICT_USABLE;
}

static sj_verdict read_bytes(sj_store *store, int fd, size_t count, void **bytes_out, sj_reading *reading_out)
{
  void *bytes = malloc(count == 0 ? 1 : count);
  if (bytes == NULL) {
    return SJ_VERDICT_NO_MEMORY;
  }
  ssize_t done = sj_os_read_at(store->os, fd, bytes, count, 0);
  if (done == (ssize_t)count) {
    *bytes_out = bytes;
    return SJ_VERDICT_USABLE;
  }
  sj_verdict verdict = done < 0 ? judge(reading_out, SJ_VERDICT_UNREADABLE, strerror(errno))
                                : judge(reading_out, SJ_VERDICT_BAD, "it became shorter while it was read");
  free(bytes);
  return verdict;
}

/* Whether whole bytes are the entry of this key. The digest in the name finds a file; the key in the file says what it
 * is. */
static sj_verdict check_entry(const sj_key *key, uint32_t nvrtc_version, sj_entry *entry, sj_reading *reading_out)
{
  sj_kept_message kept;
  sj_message_keep(&kept);
  if (sj_cubin_file_decode(entry->bytes, entry->count, &entry->view) != SWA_JIT_OK) {
    sj_verdict verdict = judge(reading_out, SJ_VERDICT_BAD, sj_message());
    sj_message_restore(SWA_JIT_OK, &kept);
    return verdict;
  }
  if (entry->view.key_bytes != key->text_length || memcmp(entry->view.key_text, key->text, key->text_length) != 0) {
    return judge(reading_out, SJ_VERDICT_BAD, "it holds another key than its name says");
  }
  if (nvrtc_version != 0 && entry->view.note.nvrtc_version != nvrtc_version) {
    uint32_t made_by = entry->view.note.nvrtc_version;
    snprintf(reading_out->reason, sizeof reading_out->reason, "NVRTC %u.%u made it, and %u.%u is wanted",
             made_by / 1000, made_by % 1000 / 10, nvrtc_version / 1000, nvrtc_version % 1000 / 10);
    return SJ_VERDICT_OTHER_COMPILER;
  }
  return SJ_VERDICT_USABLE;
}

static sj_verdict read_entry(sj_store *store, const sj_key *key, uint32_t nvrtc_version, sj_entry *entry_out,
                             sj_reading *reading_out)
{
  *reading_out = (sj_reading){0};
  int fd = -1;
  sj_verdict verdict = sj_store_open_entry(store, key->file_name, &fd, reading_out);
  if (verdict != SJ_VERDICT_USABLE) {
    return verdict;
  }
  sj_entry entry = {.count = (size_t)reading_out->status.st_size};
  verdict = read_bytes(store, fd, entry.count, &entry.bytes, reading_out);
  store->os->close(fd);
  if (verdict == SJ_VERDICT_USABLE) {
    verdict = check_entry(key, nvrtc_version, &entry, reading_out);
  }
  if (verdict != SJ_VERDICT_USABLE) {
    sj_entry_finish(&entry);
    return verdict;
  }
  *entry_out = entry;
  return SJ_VERDICT_USABLE;
}

void sj_entry_finish(sj_entry *entry)
{
  free(entry->bytes);
  *entry = (sj_entry){0};
}

/* ---- Setting aside --------------------------------------------------------------------------------------- */

/* Random, not a process id: two containers that share a folder have the same ones. */
bool sj_store_make_random_hex(const sj_os *os, size_t num_digits, char *hex_out)
{
  uint8_t bytes[SJ_TEMPORARY_DIGITS];
  if (!sj_os_random(os, bytes, num_digits)) {
    return false;
  }
  for (size_t i = 0; i < num_digits; i++) {
    hex_out[i] = "0123456789abcdef"[bytes[i] & 15];
  }
  hex_out[num_digits] = '\0';
  return true;
}

/* Whether name is still the file that was read: a writer may have replaced it meanwhile by a good one. */
static bool is_still(sj_store *store, const char *name, const sj_reading *reading)
{
  struct stat now;
  return !reading->was_opened
         || (store->os->fstatat(store->dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0
             && now.st_dev == reading->status.st_dev && now.st_ino == reading->status.st_ino);
}

void sj_store_set_aside_file(sj_store *store, const char *name, const sj_reading *reading)
{
  char new_name[SJ_FILE_NAME_SIZE + sizeof SJ_SET_ASIDE_MARK + SJ_SET_ASIDE_DIGITS];
  int length = snprintf(new_name, sizeof new_name, "%s" SJ_SET_ASIDE_MARK, name);
  const char *trouble = NULL;
  if (store->read_only) {
    trouble = "the store is read-only";
  } else if (!is_still(store, name, reading)) {
    trouble = "it was replaced or renamed meanwhile";
  } else if (!sj_store_make_random_hex(store->os, SJ_SET_ASIDE_DIGITS, new_name + length)
             || store->os->renameat(store->dir_fd, name, store->dir_fd, new_name) != 0) {
    trouble = strerror(errno);
  }
  if (trouble != NULL) {
    sj_log_line(store->log, SWA_JIT_LOG_WARN, "store: entry %s/%s is not used: %s; left in place: %s", store->path,
                name, reading->reason, trouble);
    return;
  }
  sj_stats_add(store->stats->store_set_aside, 1);
  sj_log_line(store->log, SWA_JIT_LOG_WARN, "store: entry %s/%s is not used: %s; set aside as %s", store->path, name,
              reading->reason, new_name);
}

void sj_store_set_aside(sj_store *store, const sj_key *key, const char *reason)
{
  sj_reading reading = {0};
  judge(&reading, SJ_VERDICT_BAD, reason);
  if (store->dir_fd >= 0) {
    sj_store_set_aside_file(store, key->file_name, &reading);
  }
}

/* ---- Finding --------------------------------------------------------------------------------------------- */

static void note_miss(sj_store *store, const sj_key *key, sj_verdict verdict, const sj_reading *reading,
                      char *miss_reason, size_t reason_size)
{
  sj_stats_add(store->stats->store_misses, 1);
  switch (verdict) {
  case SJ_VERDICT_BAD:
    snprintf(miss_reason, reason_size, "the stored entry cannot be used: %s", reading->reason);
    sj_store_set_aside_file(store, key->file_name, reading);
    break;
  case SJ_VERDICT_UNREADABLE:
    snprintf(miss_reason, reason_size, "the stored entry cannot be read: %s", reading->reason);
    sj_log_line(store->log, SWA_JIT_LOG_WARN, "store: cannot read entry %s/%s: %s", store->path, key->file_name,
                reading->reason);
    break;
  case SJ_VERDICT_OTHER_COMPILER:
    snprintf(miss_reason, reason_size, "the stored entry is another compiler's: %s", reading->reason);
    break;
  default:
    sj_store_explain_miss(store, key, miss_reason, reason_size);
    break;
  }
}

swa_jit_status sj_store_find(sj_store *store, const sj_key *key, uint32_t nvrtc_version, bool *found_out,
                             sj_entry *entry_out, char *miss_reason, size_t reason_size)
{
  if (store->dir_fd < 0) {
    *found_out = false;
    snprintf(miss_reason, reason_size, "there is no cubin store: memory only");
    return SWA_JIT_OK;
  }
  sj_reading reading;
  sj_verdict verdict = read_entry(store, key, nvrtc_version, entry_out, &reading);
  if (verdict == SJ_VERDICT_NO_MEMORY) {
    return sj_fail_memory();
  }
  *found_out = verdict == SJ_VERDICT_USABLE;
  if (!*found_out) {
    note_miss(store, key, verdict, &reading, miss_reason, reason_size);
    return SWA_JIT_OK;
  }
  snprintf(miss_reason, reason_size, "%s", "");
  sj_stats_add(store->stats->store_hits, 1);
  sj_stats_add(store->stats->store_bytes_read, entry_out->count);
  sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: found %s, %zu bytes", key->file_name, entry_out->count);
  return SWA_JIT_OK;
}

bool sj_store_has(sj_store *store, const sj_key *key, uint32_t nvrtc_version)
{
  sj_reading reading;
  sj_entry entry;
  if (store->dir_fd < 0 || read_entry(store, key, nvrtc_version, &entry, &reading) != SJ_VERDICT_USABLE) {
    return false;
  }
  sj_entry_finish(&entry);
  return true;
}
