/* SPDX-License-Identifier: Apache-2.0 */
#include "store_failure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIFETIME_S = 3600 };

static void make_name(const sj_key *key, char name_out[SJ_FILE_NAME_SIZE])
{
  const int stem = (int)(strrchr(key->file_name, '.') - key->file_name);
  snprintf(name_out, SJ_FILE_NAME_SIZE, "%.*s" SJ_FAILURE_ENDING, stem, key->file_name);
}

static bool is_kept(const sj_store *store)
{
  return store->dir_fd >= 0 && !store->read_only;
}

void sj_store_keep_failure(sj_store *store, const sj_key *key, uint32_t nvrtc_version, const char *message,
                           const char *log)
{
  char name[SJ_FILE_NAME_SIZE];
  sj_text text = {0};
  if (!is_kept(store)) {
    return;
  }
  make_name(key, name);
  sj_failure_file_encode(&(sj_failure_view){.nvrtc_version = nvrtc_version,
                                            .key_text = key->text,
                                            .key_bytes = key->text_length,
                                            .message = message,
                                            .message_bytes = strlen(message),
                                            .log = log != NULL ? log : "",
                                            .log_bytes = log != NULL ? strlen(log) : 0},
                         &text);
  if (!text.failed) {
    sj_writing writing = sj_store_begin_writing(store);
    const char *step = sj_store_write_file(store, name, text.data, text.length);
    const int error = errno;
    writing.has_trouble = step != NULL;
    sj_store_end_writing(store, &writing);
    sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: %s %s%s%s", step == NULL ? "keeps" : "cannot keep", name,
                step == NULL ? "" : ": ", step == NULL ? "" : strerror(error));
  }
  sj_text_finish(&text);
}

/* How long ago the failure was kept; negative when its time is over. A file server's clock may be ahead of this
 * machine's; a time further in the future than it may lie in the past tells of a clock that was set back. */
static int64_t age_of(const sj_store *store, const struct stat *status)
{
  struct timespec now;
  if (store->os->clock_gettime(CLOCK_REALTIME, &now) != 0) {
    return -1;
  }
  const int64_t age_s = (int64_t)now.tv_sec - (int64_t)status->st_mtime;
  const bool is_over = age_s >= LIFETIME_S || age_s <= -LIFETIME_S;
  return is_over ? -1 : age_s < 0 ? 0 : age_s;
}

static sj_verdict read_bytes(sj_store *store, int fd, size_t count, void **bytes_out, sj_reading *reading)
{
  if (count > SJ_FAILURE_FILE_MAX_BYTES) {
    return sj_store_judge(reading, SJ_VERDICT_BAD, "it is larger than any remembered failure");
  }
  void *bytes = malloc(count + 1);
  if (bytes == NULL) {
    return SJ_VERDICT_NO_MEMORY;
  }
  const ssize_t done = sj_os_read_at(store->os, fd, bytes, count, 0);
  if (done == (ssize_t)count) {
    *bytes_out = bytes;
    return SJ_VERDICT_USABLE;
  }
  sj_verdict verdict = done < 0 ? sj_store_judge(reading, SJ_VERDICT_UNREADABLE, strerror(errno))
                                : sj_store_judge(reading, SJ_VERDICT_BAD, "it became shorter while it was read");
  free(bytes);
  return verdict;
}

sj_verdict sj_store_read_failure(sj_store *store, const char *name, sj_failure_view *view_out, void **bytes_out,
                                 int64_t *expires_s_out, sj_reading *reading_out)
{
  int fd = -1;
  void *bytes = NULL;
  sj_verdict verdict = sj_store_open_entry(store, name, &fd, reading_out);
  if (verdict != SJ_VERDICT_USABLE) {
    return verdict;
  }
  const size_t count = (size_t)reading_out->status.st_size;
  verdict = read_bytes(store, fd, count, &bytes, reading_out);
  store->os->close(fd);
  if (verdict == SJ_VERDICT_USABLE && !sj_failure_file_decode(bytes, count, view_out)) {
    verdict = sj_store_judge(reading_out, SJ_VERDICT_BAD, "it is damaged");
  }
  if (verdict != SJ_VERDICT_USABLE) {
    free(bytes);
    return verdict;
  }
  *expires_s_out = age_of(store, &reading_out->status) >= 0 ? (int64_t)reading_out->status.st_mtime + LIFETIME_S : 0;
  *bytes_out = bytes;
  return SJ_VERDICT_USABLE;
}

static char *copy_text(const char *bytes, size_t count)
{
  sj_text text = {0};
  sj_text_add_bytes(&text, bytes, count);
  return sj_text_take(&text);
}

swa_jit_status sj_store_find_failure(sj_store *store, const sj_key *key, uint32_t nvrtc_version, char **log_out)
{
  char name[SJ_FILE_NAME_SIZE];
  sj_failure_view view;
  sj_reading reading = {0};
  void *bytes = NULL;
  int64_t expires_s = 0;
  *log_out = NULL;
  if (!is_kept(store)) {
    return SWA_JIT_OK;
  }
  make_name(key, name);
  if (sj_store_read_failure(store, name, &view, &bytes, &expires_s, &reading) != SJ_VERDICT_USABLE) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = SWA_JIT_OK;
  if (expires_s != 0 && view.nvrtc_version == nvrtc_version && view.key_bytes == key->text_length
      && memcmp(view.key_text, key->text, key->text_length) == 0) {
    *log_out = copy_text(view.log, view.log_bytes);
    status = sj_fail(SWA_JIT_COMPILE_FAILED,
                     "%.*s\n(remembered: this compile failed %lld s ago and is not tried again within the hour; the "
                     "compiler's log is in %s/%s, and without that file the compile is tried anew)",
                     (int)view.message_bytes, view.message, (long long)age_of(store, &reading.status),
                     store->shown_path, name);
  }
  free(bytes);
  return status;
}

void sj_store_forget_failure(sj_store *store, const sj_key *key)
{
  char name[SJ_FILE_NAME_SIZE];
  if (is_kept(store)) {
    make_name(key, name);
    store->os->unlinkat(store->dir_fd, name, 0);
  }
}
