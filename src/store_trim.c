/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "store_parts.h"
#include "text.h"

#define TRIM_LOCK_NAME "trim.lock" /* one process at a time evicts: two would both make the same room */

enum {
  HOUR = 3600,
  DAY = 24 * HOUR,
  WEEK = 7 * DAY,
  NUM_WRITERS = 256, /* that may write at once before each looks again: together they stay within the limit */
  LOOK_PERIOD_S = 60,
  LOCK_WAIT_MS = 2000,
  BOUND_MS = 1000,
  LOCK_NAME_SIZE = SJ_DIGEST_HEX_SIZE + sizeof ".lock" - 1
};

typedef struct trim_file {
  char *name;
  uint64_t bytes;
  struct timespec used;
  bool is_set_aside; /* of no use to anybody but a curious person: goes first */
} trim_file;

typedef struct trim_list {
  trim_file *files;
  size_t count, capacity;
  uint64_t total_bytes; /* temporaries and files that could not be added included */
} trim_list;

/* ---- What is there --------------------------------------------------------------------------------------- */

static bool is_hex(const char *text, size_t num_digits)
{
  return strlen(text) == num_digits && strspn(text, "0123456789abcdef") == num_digits;
}

bool sj_store_is_temporary(const char *name)
{
  return strncmp(name, SJ_TEMPORARY_PREFIX, strlen(SJ_TEMPORARY_PREFIX)) == 0
         && is_hex(name + strlen(SJ_TEMPORARY_PREFIX), SJ_TEMPORARY_DIGITS);
}

static bool ends_with(const char *name, const char *ending)
{
  const size_t length = strlen(name);
  return length > strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0;
}

/* Whether a name would be an entry's if it ended as one: so is that of its failed compile. */
static bool is_like_entry(const char *name, const char *ending)
{
  char entry_name[SJ_FILE_NAME_SIZE];
  if (!ends_with(name, ending) || strlen(name) - strlen(ending) + sizeof ".cubin" > sizeof entry_name) {
    return false;
  }
  snprintf(entry_name, sizeof entry_name, "%.*s.cubin", (int)(strlen(name) - strlen(ending)), name);
  return sj_key_is_file_name(entry_name);
}

bool sj_store_is_failure(const char *name)
{
  return is_like_entry(name, SJ_FAILURE_ENDING);
}

bool sj_store_is_set_aside(const char *name)
{
  char whole[SJ_FILE_NAME_SIZE];
  const char *mark = strstr(name, SJ_SET_ASIDE_MARK);
  const size_t length = mark != NULL ? (size_t)(mark - name) : 0;
  if (mark == NULL || length >= sizeof whole || !is_hex(mark + strlen(SJ_SET_ASIDE_MARK), SJ_SET_ASIDE_DIGITS)) {
    return false;
  }
  memcpy(whole, name, length);
  whole[length] = '\0';
  return sj_key_is_file_name(whole);
}

/* How many seconds a file of this name stays at most; 0: for ever. No writer takes an hour, a failed compile counts
 * for one, and a week is time to look at a bad entry. */
static long lifetime(const char *name)
{
  return sj_store_is_temporary(name) ? HOUR : sj_store_is_failure(name) ? DAY : sj_store_is_set_aside(name) ? WEEK : 0;
}

/* A file with holes takes less of the disk than its length says. */
static uint64_t bytes_of(const struct stat *status)
{
  const uint64_t length = (uint64_t)status->st_size;
  const uint64_t on_disk = (uint64_t)status->st_blocks * 512;
  return on_disk != 0 && on_disk < length ? on_disk : length;
}

static bool add_file(trim_list *list, const char *name, const struct stat *status)
{
  list->total_bytes += bytes_of(status);
  if (sj_store_is_temporary(name)) {
    return true; /* somebody writes it */
  }
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity != 0 ? 2 * list->capacity : 256;
    trim_file *files = reallocarray(list->files, capacity, sizeof *files);
    if (files == NULL) {
      return false;
    }
    list->files = files;
    list->capacity = capacity;
  }
  trim_file *file = &list->files[list->count];
  *file = (trim_file){sj_text_copy(name), bytes_of(status), status->st_mtim, sj_store_is_set_aside(name)};
  list->count += file->name != NULL;
  return file->name != NULL;
}

static void finish(trim_list *list)
{
  for (size_t i = 0; i < list->count; i++) {
    free(list->files[i].name);
  }
  free(list->files);
  *list = (trim_list){0};
}

/* Lists the store's own files, and removes those whose time is over. now: by the file system's clock. False when it
 * cannot be done. */
static bool look(sj_store *store, time_t now, trim_list *list_out)
{
  const sj_os *os = store->os;
  DIR *listing = sj_store_list(store);
  if (listing == NULL) {
    return false;
  }
  bool is_whole = true;
  for (struct dirent *file = readdir(listing); file != NULL && is_whole; file = readdir(listing)) {
    const long seconds = lifetime(file->d_name);
    const bool is_counted = store->limit_bytes != UINT64_MAX && (seconds != 0 || sj_key_is_file_name(file->d_name));
    struct stat status;
    if ((seconds == 0 && !is_counted) || os->fstatat(store->dir_fd, file->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (seconds != 0 && now - status.st_ctime > seconds && os->unlinkat(store->dir_fd, file->d_name, 0) == 0) {
      sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: removed the leftover %s", file->d_name);
    } else if (is_counted) {
      is_whole = add_file(list_out, file->d_name, &status);
    }
  }
  closedir(listing);
  return is_whole;
}

/* ---- Evicting -------------------------------------------------------------------------------------------- */

static int compare_files(const void *a, const void *b)
{
  const trim_file *first = a;
  const trim_file *second = b;
  if (first->is_set_aside != second->is_set_aside) {
    return first->is_set_aside ? -1 : 1;
  }
  if (first->used.tv_sec != second->used.tv_sec) {
    return first->used.tv_sec < second->used.tv_sec ? -1 : 1;
  }
  if (first->used.tv_nsec != second->used.tv_nsec) {
    return first->used.tv_nsec < second->used.tv_nsec ? -1 : 1;
  }
  return strcmp(first->name, second->name);
}

/* Whether the opened file is still what was listed: it may have been replaced, or used, since. */
static bool is_as_listed(sj_store *store, const trim_file *file, int fd)
{
  struct stat status;
  return store->os->fstat(fd, &status) == 0 && status.st_mtim.tv_sec == file->used.tv_sec
         && status.st_mtim.tv_nsec == file->used.tv_nsec && sj_store_is_named(store, fd, file->name);
}

/* Users hold a shared lock. Where locks tell nothing, what was used within the hour counts as used now. */
static bool is_in_use(sj_store *store, const trim_file *file, int *fd_inout, time_t now)
{
  const int error = sj_store_flock(store, fd_inout, LOCK_EX, BOUND_MS);
  return error == EWOULDBLOCK || (error != 0 && now - file->used.tv_sec < HOUR);
}

/* The file, if nobody uses it. The kernel of whoever is reading it stays whole: only the name goes. 0, EWOULDBLOCK when
 * it is in use, or unlink's errno. */
static int remove_unused(sj_store *store, const trim_file *file, time_t now)
{
  const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  int fd = sj_os_open(store->os, store->dir_fd, file->name, flags | O_RDWR, 0); /* a network lock wants to write */
  if (fd < 0) {
    fd = sj_os_open(store->os, store->dir_fd, file->name, flags | O_RDONLY, 0);
  }
  if (fd < 0) {
    int error = errno == ENOENT ? 0 : errno;
    return error == ELOOP && store->os->unlinkat(store->dir_fd, file->name, 0) == 0 ? 0 : error;
  }
  const bool is_free = !is_in_use(store, file, &fd, now) && (fd < 0 || is_as_listed(store, file, fd));
  int error = is_free ? 0 : EWOULDBLOCK;
  if (is_free && store->os->unlinkat(store->dir_fd, file->name, 0) != 0) {
    error = errno == ENOENT ? 0 : errno;
  }
  if (fd >= 0) {
    store->os->close(fd);
  }
  return error;
}

/* "<digest>.lock" of an entry's name; "" for what is no entry. */
static void make_lock_name(const trim_file *file, char name_out[LOCK_NAME_SIZE])
{
  name_out[0] = '\0';
  if (sj_key_is_file_name(file->name)) {
    snprintf(name_out, LOCK_NAME_SIZE, "%.*s.lock", SJ_DIGEST_HEX_SIZE - 1, sj_key_find_digest(file->name));
  }
}

/* As remove_unused, under the key's lock, so that no builder is just replacing the entry. The lock's file goes too. */
static int evict(sj_store *store, const trim_file *file, time_t now)
{
  char lock_name[LOCK_NAME_SIZE];
  make_lock_name(file, lock_name);
  int lock_fd = lock_name[0] != '\0' ? sj_store_open_lock_file(store, lock_name, O_CREAT) : -1;
  int result = EWOULDBLOCK;
  if (lock_fd < 0) {
    return remove_unused(store, file, now);
  }
  const int error = sj_store_flock(store, &lock_fd, LOCK_EX, BOUND_MS);
  if (error != EWOULDBLOCK) {
    result = remove_unused(store, file, now);
  }
  if (error == 0) {
    if (sj_store_is_named(store, lock_fd, lock_name)) {
      store->os->unlinkat(store->dir_fd, lock_name, 0);
    }
    sj_store_flock(store, &lock_fd, LOCK_UN, BOUND_MS);
  }
  if (lock_fd >= 0) {
    store->os->close(lock_fd);
  }
  return result;
}

int sj_store_evict(sj_store *store, char *name, const struct stat *status)
{
  struct timespec now = status->st_mtim;
  const trim_file file = {name, bytes_of(status), status->st_mtim, sj_store_is_set_aside(name)};
  store->os->clock_gettime(CLOCK_REALTIME, &now);
  return evict(store, &file, now.tv_sec);
}

static void evict_oldest(sj_store *store, trim_list *list, const char *new_entry, time_t now)
{
  uint64_t num_evicted = 0, evicted_bytes = 0;
  if (list->count > 0) {
    qsort(list->files, list->count, sizeof *list->files, compare_files);
  }
  for (size_t i = 0; i < list->count && list->total_bytes - evicted_bytes > store->limit_bytes; i++) {
    const trim_file *file = &list->files[i];
    if (strcmp(file->name, new_entry) != 0 && evict(store, file, now) == 0) {
      num_evicted++;
      evicted_bytes += file->bytes;
      sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: evicted %s, %llu bytes", file->name,
                  (unsigned long long)file->bytes);
    }
  }
  sj_stats_add(store->stats->evictions, num_evicted);
  sj_stats_add(store->stats->evicted_bytes, evicted_bytes);
  const uint64_t left_bytes = list->total_bytes - evicted_bytes;
  sj_log_line(store->log, SWA_JIT_LOG_INFO, "store: evicted %llu files of %llu bytes; %llu are left of at most %llu",
              (unsigned long long)num_evicted, (unsigned long long)evicted_bytes, (unsigned long long)left_bytes,
              (unsigned long long)store->limit_bytes);
  if (left_bytes > store->limit_bytes) {
    sj_log_line(store->log, sj_store_tell_once(store, "limit"),
                "store: %s holds %llu bytes, which is above its limit of %llu, as all of them are in use: raise "
                "cache_limit_bytes or SWA_JIT_CACHE_LIMIT",
                store->shown_path, (unsigned long long)left_bytes, (unsigned long long)store->limit_bytes);
  }
}

/* The lock of those who evict; -1 without one. *is_ours_out false: another does it, for longer than it should take. */
static int take_trim_lock(sj_store *store, bool *is_ours_out)
{
  const uint64_t end_ns = sj_os_now_ns() + (uint64_t)LOCK_WAIT_MS * 1000000u;
  *is_ours_out = true;
  int fd = sj_store_open_lock_file(store, TRIM_LOCK_NAME, O_CREAT);
  int error = fd < 0 ? errno : EWOULDBLOCK;
  while (fd >= 0 && (error = sj_store_flock(store, &fd, LOCK_EX, BOUND_MS)) == EWOULDBLOCK && sj_os_now_ns() < end_ns) {
    sj_os_sleep_ms(5);
  }
  *is_ours_out = error != EWOULDBLOCK;
  if (error != 0 && fd >= 0) {
    store->os->close(fd);
    fd = -1;
  }
  return fd;
}

static void trim(sj_store *store, const char *new_entry, time_t now)
{
  trim_list list = {0};
  bool is_ours = false;
  int fd = take_trim_lock(store, &is_ours);
  if (is_ours && look(store, now, &list) && list.total_bytes > store->limit_bytes) { /* anew: others evicted too */
    evict_oldest(store, &list, new_entry, now);
  }
  finish(&list);
  if (fd >= 0) {
    sj_store_flock(store, &fd, LOCK_UN, BOUND_MS);
  }
  if (fd >= 0) {
    store->os->close(fd);
  }
}

/* A look lists the whole folder, which takes tens of milliseconds where there are ten thousand files. So this object
 * writes its share of the room that its last look found before it looks again. */
static bool may_skip(sj_store *store, uint64_t entry_bytes)
{
  const uint64_t looked_ns = atomic_load_explicit(&store->looked_ns, memory_order_acquire);
  uint64_t room_bytes = atomic_load_explicit(&store->room_bytes, memory_order_relaxed);
  if (looked_ns == 0 || sj_os_now_ns() - looked_ns >= LOOK_PERIOD_S * UINT64_C(1000000000)) {
    return false;
  }
  while (room_bytes >= entry_bytes) {
    if (atomic_compare_exchange_weak_explicit(&store->room_bytes, &room_bytes, room_bytes - entry_bytes,
                                              memory_order_relaxed, memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

static void note_look(sj_store *store, uint64_t total_bytes)
{
  const uint64_t room_bytes = total_bytes < store->limit_bytes ? store->limit_bytes - total_bytes : 0;
  atomic_store_explicit(&store->room_bytes, room_bytes / NUM_WRITERS, memory_order_relaxed);
  atomic_store_explicit(&store->looked_ns, sj_os_now_ns(), memory_order_release);
}

void sj_store_trim(sj_store *store, const char *new_entry, uint64_t entry_bytes)
{
  trim_list list = {0};
  struct stat newest;
  if (may_skip(store, entry_bytes) || store->os->fstatat(store->dir_fd, new_entry, &newest, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  const bool is_whole = look(store, newest.st_ctime, &list);
  const bool is_above = is_whole && list.total_bytes > store->limit_bytes;
  if (is_whole) {
    note_look(store, list.total_bytes);
  }
  finish(&list);
  if (is_above) {
    trim(store, new_entry, newest.st_ctime);
  }
}
