/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_folder.h"
#include "store_parts.h"
#include "text.h"

/* ---- Opening the folders --------------------------------------------------------------------------------- */

swa_jit_status sj_store_open(const char *path, uint32_t flags, const sj_os *os, const sj_log *log, sj_stats *stats,
                             sj_store *store_out)
{
  sj_store store = {.os = os, .log = log, .stats = stats, .dir_fd = -1, .limit_bytes = UINT64_MAX};
  store.read_only = (flags & SWA_JIT_FLAG_READ_ONLY) != 0;
  store.may_create = (flags & (SWA_JIT_FLAG_READ_ONLY | SWA_JIT_FLAG_NO_CREATE)) == 0;
  store.trust = sj_trust_make(flags);
  swa_jit_status status = sj_folder_open(os, path, store.may_create, &store.trust, &store.dir_fd);
  if (status != SWA_JIT_OK) {
    return status;
  }
  char shown[SJ_PATH_SIZE];
  store.path = sj_text_copy(path);
  store.shown_path = sj_text_copy(sj_text_show_path(path, shown));
  store.absolute_path = sj_os_absolute_path(path);
  if (store.path == NULL || store.shown_path == NULL || store.absolute_path == NULL) {
    sj_store_close(&store);
    return sj_fail_memory();
  }
  sj_store_clear_dead_writers(&store);
  *store_out = store;
  return SWA_JIT_OK;
}

bool sj_store_folder_is_gone(const sj_store *store)
{
  struct stat status;
  return store->os->fstat(store->dir_fd, &status) == 0 && status.st_nlink == 0;
}

/* dup3 puts the new folder under the old number in one step: other threads may be using it. */
bool sj_store_make_folder_again(sj_store *store)
{
  sj_trust trust = store->trust;
  sj_kept_message kept;
  int fd = -1;
  sj_message_keep(&kept);
  if (sj_folder_open(store->os, store->absolute_path, store->may_create, &trust, &fd) != SWA_JIT_OK) {
    sj_message_restore(SWA_JIT_OK, &kept);
    errno = ENOENT;
    return false;
  }
  bool is_made = store->os->dup3(fd, store->dir_fd, O_CLOEXEC) >= 0;
  int error = errno;
  store->os->close(fd);
  errno = error;
  if (is_made) {
    sj_log_line(store->log, SWA_JIT_LOG_INFO, "store: the folder %s was removed and is made again", store->shown_path);
  }
  return is_made;
}

static swa_jit_status add_layer(sj_store *store, const char *path, uint32_t flags)
{
  sj_store *layers = realloc(store->layers, (store->num_layers + 1) * sizeof *layers);
  if (layers == NULL) {
    return sj_fail_memory();
  }
  store->layers = layers;
  swa_jit_status status = sj_store_open(path, flags | SWA_JIT_FLAG_READ_ONLY, store->os, store->log, store->stats,
                                        &layers[store->num_layers]);
  store->num_layers += status == SWA_JIT_OK;
  return status;
}

swa_jit_status sj_store_add_layers(sj_store *store, const char *paths, uint32_t flags, bool must_open)
{
  swa_jit_status status = SWA_JIT_OK;
  for (const char *at = paths; *at != '\0' && status == SWA_JIT_OK; at += *at == ':') {
    size_t length = strcspn(at, ":");
    if (length == 0) {
      continue; /* an empty name is no folder, least of all the working one */
    }
    sj_text path = {0};
    sj_text_add_bytes(&path, at, length);
    at += length;
    status = path.failed ? sj_fail_memory() : add_layer(store, path.data, flags);
    sj_text_finish(&path);
    if (status == SWA_JIT_STORE_ERROR && !must_open) {
      sj_log_line(store->log, SWA_JIT_LOG_WARN, "a folder of SWA_JIT_CACHE_PATH is passed over: %s", sj_message());
      status = SWA_JIT_OK;
    }
  }
  return status;
}

bool sj_store_is_there(const sj_store *store)
{
  return store->dir_fd >= 0 || store->num_layers > 0;
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
  for (unsigned i = 0; i < store->num_layers; i++) {
    sj_store_close(&store->layers[i]);
  }
  free(store->layers);
  if (store->dir_fd >= 0) {
    store->os->close(store->dir_fd);
  }
  free(store->path);
  free(store->shown_path);
  free(store->absolute_path);
  *store = (sj_store){.dir_fd = -1};
}

/* ---- Telling once ---------------------------------------------------------------------------------------- */

/* The bit of a name. Two names may share one: then the second is told at debug level only. */
uint32_t sj_store_tell_once(sj_store *store, const char *name)
{
  uint8_t digest[SJ_DIGEST_BYTES];
  sj_digest_make(name, strlen(name), digest);
  unsigned word = digest[0] % SJ_STORE_TOLD_WORDS;
  uint64_t bit = UINT64_C(1) << digest[1] % 64;
  bool was_told = (atomic_fetch_or_explicit(&store->told[word], bit, memory_order_relaxed) & bit) != 0;
  return was_told ? (uint32_t)SWA_JIT_LOG_DEBUG : (uint32_t)SWA_JIT_LOG_WARN;
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
    sj_log_line(store->log, sj_store_tell_once(store, name), "store: entry %s/%s is not used: %s; left in place: %s",
                store->shown_path, name, reading->reason, trouble);
    return;
  }
  sj_stats_add(store->stats->store_set_aside, 1);
  sj_log_line(store->log, SWA_JIT_LOG_WARN, "store: entry %s/%s is not used: %s; set aside as %s", store->shown_path,
              name, reading->reason, new_name);
}

void sj_store_set_aside(sj_store *store, const sj_key *key, const char *reason)
{
  sj_reading reading = {0};
  sj_store_judge(&reading, SJ_VERDICT_BAD, reason);
  if (store->dir_fd >= 0) {
    sj_store_set_aside_file(store, key->file_name, &reading);
  }
}

/* ---- Finding --------------------------------------------------------------------------------------------- */

/* What is wrong in the folder that is written. The miss is counted by the caller. */
static void note_trouble(sj_store *store, const sj_key *key, sj_verdict verdict, const sj_reading *reading)
{
  if (verdict == SJ_VERDICT_BAD) {
    sj_store_set_aside_file(store, key->file_name, reading);
  } else if (verdict == SJ_VERDICT_UNREADABLE) {
    sj_log_line(store->log, sj_store_tell_once(store, key->file_name), "store: cannot read entry %s/%s: %s",
                store->shown_path, key->file_name, reading->reason);
  }
}

/* An entry of a read-only folder stays as it is, and is made anew in the one that is written. */
static void note_layer_trouble(sj_store *layer, const sj_key *key, sj_verdict verdict, const sj_reading *reading)
{
  if (verdict != SJ_VERDICT_BAD && verdict != SJ_VERDICT_UNREADABLE) {
    return;
  }
  uint32_t level = sj_store_tell_once(layer, key->file_name);
  sj_stats_add(layer->stats->layer_skips, level == SWA_JIT_LOG_WARN);
  sj_log_line(layer->log, level, "store: entry %s/%s of a read-only folder is passed over: %s", layer->shown_path,
              key->file_name, reading->reason);
}

static void give_reason(sj_store *store, const sj_key *key, sj_verdict verdict, const sj_reading *reading,
                        char *miss_reason, size_t reason_size)
{
  switch (verdict) {
  case SJ_VERDICT_BAD:
    snprintf(miss_reason, reason_size, "the stored entry cannot be used: %s", reading->reason);
    break;
  case SJ_VERDICT_UNREADABLE:
    snprintf(miss_reason, reason_size, "the stored entry cannot be read: %s", reading->reason);
    break;
  case SJ_VERDICT_OTHER_COMPILER:
    snprintf(miss_reason, reason_size, "the stored entry is another compiler's: %s", reading->reason);
    break;
  default:
    sj_store_explain_miss(store, key, miss_reason, reason_size);
    break;
  }
}

/* Reads from the folder that is written, then from the others in order. *reading_out: of the first folder that has the
 * entry and cannot give it. */
static sj_verdict read_first(sj_store *store, const sj_key *key, uint32_t nvrtc_version, sj_store **from_out,
                             sj_entry *entry_out, sj_reading *reading_out)
{
  sj_verdict first = SJ_VERDICT_ABSENT;
  *reading_out = (sj_reading){0};
  for (unsigned i = store->dir_fd >= 0 ? 0 : 1; i <= store->num_layers; i++) {
    sj_reading reading;
    *from_out = i == 0 ? store : &store->layers[i - 1];
    sj_verdict verdict = sj_store_read_entry(*from_out, key, nvrtc_version, entry_out, &reading);
    if (verdict == SJ_VERDICT_USABLE || verdict == SJ_VERDICT_NO_MEMORY) {
      return verdict;
    }
    if (i == 0) {
      note_trouble(store, key, verdict, &reading);
    } else {
      note_layer_trouble(*from_out, key, verdict, &reading);
    }
    if (first == SJ_VERDICT_ABSENT) {
      first = verdict;
      *reading_out = reading;
    }
  }
  return first;
}

swa_jit_status sj_store_find(sj_store *store, const sj_key *key, uint32_t nvrtc_version, bool *found_out,
                             sj_entry *entry_out, char *miss_reason, size_t reason_size)
{
  if (!sj_store_is_there(store)) {
    *found_out = false;
    snprintf(miss_reason, reason_size, "there is no cubin store: memory only");
    return SWA_JIT_OK;
  }
  sj_reading reading;
  sj_store *from = NULL;
  sj_verdict verdict = read_first(store, key, nvrtc_version, &from, entry_out, &reading);
  if (verdict == SJ_VERDICT_NO_MEMORY) {
    return sj_fail_memory();
  }
  *found_out = verdict == SJ_VERDICT_USABLE;
  if (!*found_out) {
    sj_stats_add(store->stats->store_misses, 1);
    give_reason(store, key, verdict, &reading, miss_reason, reason_size);
    return SWA_JIT_OK;
  }
  snprintf(miss_reason, reason_size, "%s", "");
  sj_stats_add(store->stats->store_hits, 1);
  sj_stats_add(store->stats->layer_hits, from != store);
  sj_stats_add(store->stats->store_bytes_read, entry_out->count);
  sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: found %s in %s, %zu bytes", key->file_name, from->shown_path,
              entry_out->count);
  return SWA_JIT_OK;
}

static bool holds(sj_store *folder, const sj_key *key, uint32_t nvrtc_version)
{
  sj_reading reading;
  sj_entry entry;
  if (sj_store_read_entry(folder, key, nvrtc_version, &entry, &reading) != SJ_VERDICT_USABLE) {
    return false;
  }
  sj_entry_finish(&entry);
  return true;
}

bool sj_store_has_own(sj_store *store, const sj_key *key, uint32_t nvrtc_version)
{
  return store->dir_fd >= 0 && holds(store, key, nvrtc_version);
}

bool sj_store_has(sj_store *store, const sj_key *key, uint32_t nvrtc_version)
{
  bool is_held = sj_store_has_own(store, key, nvrtc_version);
  for (unsigned i = 0; i < store->num_layers && !is_held; i++) {
    is_held = holds(&store->layers[i], key, nvrtc_version);
  }
  return is_held;
}
