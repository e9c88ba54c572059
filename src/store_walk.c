/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_failure.h"
#include "store_parts.h"
#include "text.h"

enum { END_BYTES = 4096 /* read of a listed file: a usual key and note many times over */ };

/* ---- Names ----------------------------------------------------------------------------------------------- */

static bool is_hex(const char *text, size_t num_digits)
{
  return strlen(text) == num_digits && strspn(text, "0123456789abcdef") == num_digits;
}

/* Whether name is an entry's, or of what was or will be one; and the state that the name alone tells. */
static bool read_name(const char *name, uint32_t *state_out)
{
  if (strncmp(name, SJ_TEMPORARY_PREFIX, strlen(SJ_TEMPORARY_PREFIX)) == 0) {
    *state_out = SWA_JIT_ENTRY_TEMPORARY;
    return is_hex(name + strlen(SJ_TEMPORARY_PREFIX), SJ_TEMPORARY_DIGITS);
  }
  *state_out = sj_store_is_set_aside(name) ? SWA_JIT_ENTRY_SET_ASIDE
               : sj_store_is_failure(name) ? SWA_JIT_ENTRY_FAILED
                                           : SWA_JIT_ENTRY_USABLE;
  return *state_out != SWA_JIT_ENTRY_USABLE || sj_key_is_file_name(name);
}

typedef struct name_list {
  char **names;
  size_t count, capacity;
} name_list;

static bool add_name(name_list *list, const char *name)
{
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity != 0 ? 2 * list->capacity : 256;
    char **names = reallocarray(list->names, capacity, sizeof *names);
    if (names == NULL) {
      return false;
    }
    list->names = names;
    list->capacity = capacity;
  }
  list->names[list->count] = sj_text_copy(name);
  return list->names[list->count] != NULL && ++list->count > 0;
}

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void finish_names(name_list *list)
{
  for (size_t i = 0; i < list->count; i++) {
    free(list->names[i]);
  }
  free(list->names);
}

/* All of them before the first is looked at: a callback may add and remove files, of which a listing under way may or
 * may not tell. */
static swa_jit_status list_names(sj_store *store, name_list *list_out)
{
  DIR *listing = sj_store_list(store);
  if (listing == NULL) {
    return sj_fail(SWA_JIT_STORE_ERROR, "cannot list the cubin store %s: %s", store->shown_path, strerror(errno));
  }
  swa_jit_status status = SWA_JIT_OK;
  errno = 0;
  for (struct dirent *file = readdir(listing); file != NULL; file = readdir(listing)) {
    uint32_t state = 0;
    if (read_name(file->d_name, &state) && !add_name(list_out, file->d_name)) {
      status = sj_fail_memory();
      break;
    }
    errno = 0;
  }
  if (status == SWA_JIT_OK && errno != 0) {
    status = sj_fail(SWA_JIT_STORE_ERROR, "cannot list the cubin store %s to its end: %s", store->shown_path,
                     strerror(errno));
  }
  closedir(listing);
  if (list_out->count > 0) {
    qsort(list_out->names, list_out->count, sizeof *list_out->names, compare_names);
  }
  return status;
}

/* ---- One file -------------------------------------------------------------------------------------------- */

/* The last of the file's bytes, at most limit of them. */
static sj_verdict read_end(sj_store *store, int fd, size_t limit, void **end_out, size_t *count_out,
                           sj_reading *reading)
{
  const size_t file_bytes = (size_t)reading->status.st_size;
  const size_t count = file_bytes < limit ? file_bytes : limit;
  void *end = malloc(count == 0 ? 1 : count);
  if (end == NULL) {
    return SJ_VERDICT_NO_MEMORY;
  }
  const ssize_t done = sj_os_read_at(store->os, fd, end, count, (off_t)(file_bytes - count));
  if (done == (ssize_t)count) {
    *end_out = end;
    *count_out = count;
    return SJ_VERDICT_USABLE;
  }
  sj_verdict verdict = done < 0 ? sj_store_judge(reading, SJ_VERDICT_UNREADABLE, strerror(errno))
                                : sj_store_judge(reading, SJ_VERDICT_BAD, "it became shorter while it was read");
  free(end);
  return verdict;
}

static sj_verdict decode(const void *bytes, size_t count, bool verify, sj_store_file *file, sj_reading *reading)
{
  const uint64_t file_bytes = (uint64_t)reading->status.st_size;
  if (verify) {
    if (sj_cubin_file_decode(bytes, count, &file->view) != SWA_JIT_OK) {
      return sj_store_judge(reading, SJ_VERDICT_BAD, sj_message());
    }
    file->bytes = bytes;
  } else if (!sj_cubin_file_read_end(bytes, count, file_bytes, &file->view)) {
    return sj_store_judge(reading, SJ_VERDICT_BAD,
                          "it does not end with the footer of an entry of this library's format");
  }
  file->has_view = true;
  return SJ_VERDICT_USABLE;
}

/* Reads an opened file: all of it, or its end, and once more where key and note are longer than usual. */
static sj_verdict read_file(sj_store *store, int fd, bool verify, sj_store_file *file, void **bytes_out,
                            sj_reading *reading)
{
  size_t limit = verify ? SJ_CUBIN_FILE_MAX_BYTES : (size_t)END_BYTES;
  size_t count = 0;
  sj_verdict verdict = read_end(store, fd, limit, bytes_out, &count, reading);
  if (verdict == SJ_VERDICT_USABLE) {
    verdict = decode(*bytes_out, count, verify, file, reading);
  }
  if (verdict == SJ_VERDICT_BAD && count == END_BYTES && !verify) {
    free(*bytes_out);
    *bytes_out = NULL;
    limit = SJ_CUBIN_FILE_MAX_KEY + SJ_CUBIN_FILE_MAX_NOTE + SJ_CUBIN_FILE_TRAILER_BYTES;
    verdict = read_end(store, fd, limit, bytes_out, &count, reading);
    if (verdict == SJ_VERDICT_USABLE) {
      verdict = decode(*bytes_out, count, verify, file, reading);
    }
  }
  return verdict;
}

static sj_verdict read_entry(sj_store *store, bool verify, sj_store_file *file, void **bytes_out, sj_reading *reading)
{
  int fd = -1;
  sj_verdict verdict = sj_store_open_entry(store, file->name, &fd, reading);
  if (verdict != SJ_VERDICT_USABLE) {
    return verdict;
  }
  verdict = read_file(store, fd, verify, file, bytes_out, reading);
  store->os->close(fd);
  if (verdict == SJ_VERDICT_USABLE && file->state == SWA_JIT_ENTRY_USABLE
      && !sj_key_fits_file_name(file->view.key_text, file->view.key_bytes, file->name)) {
    return sj_store_judge(reading, SJ_VERDICT_BAD, "it holds another key than its name says");
  }
  return verdict;
}

/* A remembered failure. What is damaged, or cannot be read, counts for nothing, and is no fault of the store. */
static sj_verdict look_at_failure(sj_store *store, sj_store_file *file, void **bytes_out, sj_reading *reading)
{
  sj_verdict verdict = sj_store_read_failure(store, file->name, &file->failure, bytes_out, &file->expires_s, reading);
  file->has_failure = verdict == SJ_VERDICT_USABLE;
  return verdict == SJ_VERDICT_ABSENT || verdict == SJ_VERDICT_NO_MEMORY ? verdict : SJ_VERDICT_USABLE;
}

/* What is in a file whose name already told its state. Of one that is no entry now, only what it is and how large. */
static sj_verdict look(sj_store *store, uint32_t flags, sj_store_file *file, void **bytes_out, sj_reading *reading)
{
  const bool is_entry = file->state == SWA_JIT_ENTRY_USABLE;
  if (file->state == SWA_JIT_ENTRY_FAILED) {
    return look_at_failure(store, file, bytes_out, reading);
  }
  if (file->state != SWA_JIT_ENTRY_TEMPORARY) {
    sj_verdict verdict = read_entry(store, is_entry && (flags & SWA_JIT_EACH_VERIFY) != 0, file, bytes_out, reading);
    if (is_entry || verdict == SJ_VERDICT_ABSENT || verdict == SJ_VERDICT_NO_MEMORY) {
      return verdict;
    }
  }
  if (!reading->was_opened
      && store->os->fstatat(store->dir_fd, file->name, &reading->status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? SJ_VERDICT_ABSENT : sj_store_judge(reading, SJ_VERDICT_UNREADABLE, strerror(errno));
  }
  reading->reason[0] = '\0';
  return SJ_VERDICT_USABLE;
}

static void note_verdict(sj_verdict verdict, sj_store_file *file)
{
  if (verdict == SJ_VERDICT_BAD) {
    file->state = SWA_JIT_ENTRY_BAD;
  } else if (verdict != SJ_VERDICT_USABLE) {
    file->state = SWA_JIT_ENTRY_UNREADABLE;
  }
  if (verdict != SJ_VERDICT_USABLE) {
    file->bytes = NULL;
  }
}

/* Sets *go_on false when the callback wants no more. */
static swa_jit_status visit(sj_store *store, uint32_t flags, const name_list *list, size_t idx, sj_store_file_fn call,
                            void *data, bool *go_on)
{
  const char *name = list->names[idx];
  sj_store_file file = {.name = name, .idx = (uint32_t)idx, .num_files = (uint32_t)list->count};
  sj_reading reading = {0};
  void *bytes = NULL;
  sj_kept_message kept;
  sj_message_keep(&kept);
  read_name(name, &file.state);
  const sj_verdict verdict = look(store, flags, &file, &bytes, &reading);
  sj_message_restore(SWA_JIT_OK, &kept);
  if (verdict == SJ_VERDICT_NO_MEMORY) {
    return sj_fail_memory();
  }
  if (verdict != SJ_VERDICT_ABSENT) {
    note_verdict(verdict, &file);
    if (!reading.was_opened && reading.status.st_mode == 0) { /* a link, say: what can be known without opening it */
      store->os->fstatat(store->dir_fd, name, &reading.status, AT_SYMLINK_NOFOLLOW);
    }
    file.status = reading.status;
    file.reason = reading.reason;
    if (file.state == SWA_JIT_ENTRY_BAD && (flags & SWA_JIT_EACH_SET_ASIDE) != 0) {
      sj_store_set_aside_file(store, name, &reading);
    }
    *go_on = call(data, &file);
  }
  free(bytes);
  return SWA_JIT_OK;
}

/* ---- All of them ----------------------------------------------------------------------------------------- */

swa_jit_status sj_store_walk(sj_store *store, uint32_t flags, sj_store_file_fn call, void *data)
{
  name_list list = {0};
  swa_jit_status status = list_names(store, &list);
  bool go_on = true;
  for (size_t i = 0; i < list.count && status == SWA_JIT_OK && go_on; i++) {
    status = visit(store, flags, &list, i, call, data, &go_on);
  }
  finish_names(&list);
  return status;
}

/* 0, EWOULDBLOCK when it stays, or what forbids it. */
static int remove_file(sj_store *store, const char *name, bool is_temporary)
{
  struct stat status;
  char own_name[SJ_FILE_NAME_SIZE + sizeof SJ_SET_ASIDE_MARK + SJ_SET_ASIDE_DIGITS]; /* what read_name takes fits */
  int result = 0;
  if (is_temporary) {
    result = store->os->unlinkat(store->dir_fd, name, 0);
  } else {
    result = store->os->fstatat(store->dir_fd, name, &status, AT_SYMLINK_NOFOLLOW);
    if (result == 0) {
      snprintf(own_name, sizeof own_name, "%s", name);
      return sj_store_evict(store, own_name, &status);
    }
  }
  return result == 0 || errno == ENOENT ? 0 : errno;
}

swa_jit_status sj_store_remove(sj_store *store, const char *name, bool *removed_out)
{
  uint32_t state = 0;
  if (strchr(name, '/') != NULL || !read_name(name, &state)) {
    char shown[SJ_QUOTE_SIZE];
    sj_text_quote(name, strlen(name), shown);
    return sj_fail(SWA_JIT_INVALID,
                   "\"%s\" names no file that the store makes: pass a name that swa_jit_store_each gave", shown);
  }
  if (store->read_only) {
    return sj_fail(SWA_JIT_STORE_ERROR,
                   "%s is not removed from the cubin store %s, which is read-only: unset SWA_JIT_READ_ONLY, or clear "
                   "SWA_JIT_FLAG_READ_ONLY",
                   name, store->shown_path);
  }
  const int error = remove_file(store, name, state == SWA_JIT_ENTRY_TEMPORARY);
  if (error != 0 && error != EWOULDBLOCK) {
    return sj_fail(SWA_JIT_STORE_ERROR, "cannot remove %s from the cubin store %s: %s", name, store->shown_path,
                   strerror(error));
  }
  *removed_out = error == 0;
  return SWA_JIT_OK;
}
