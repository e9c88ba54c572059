/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_parts.h"
#include "text.h"

sj_verdict sj_store_judge(sj_reading *reading_out, sj_verdict verdict, const char *reason)
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
    return errno == ELOOP ? sj_store_judge(reading_out, SJ_VERDICT_BAD, "it is a symbolic link")
                          : sj_store_judge(reading_out, SJ_VERDICT_UNREADABLE, strerror(errno));
  }
  sj_verdict verdict = SJ_VERDICT_USABLE;
  if (store->os->fstat(fd, &reading_out->status) != 0) {
    verdict = sj_store_judge(reading_out, SJ_VERDICT_UNREADABLE, strerror(errno));
  } else {
    reading_out->was_opened = true;
    if (!S_ISREG(reading_out->status.st_mode)) {
      verdict = sj_store_judge(reading_out, SJ_VERDICT_BAD, "it is not a regular file");
    } else if (!sj_trust_file(&store->trust, &reading_out->status, reading_out->reason)) {
      verdict = SJ_VERDICT_BAD;
    } else if ((uint64_t)reading_out->status.st_size > SJ_CUBIN_FILE_MAX_BYTES) {
      verdict = sj_store_judge(reading_out, SJ_VERDICT_BAD, "it is larger than any entry");
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
  sj_verdict verdict = done < 0 ? sj_store_judge(reading_out, SJ_VERDICT_UNREADABLE, strerror(errno))
                                : sj_store_judge(reading_out, SJ_VERDICT_BAD, "it became shorter while it was read");
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
    sj_verdict verdict = sj_store_judge(reading_out, SJ_VERDICT_BAD, sj_message());
    sj_message_restore(SWA_JIT_OK, &kept);
    return verdict;
  }
  if (entry->view.key_bytes != key->text_length || memcmp(entry->view.key_text, key->text, key->text_length) != 0) {
    return sj_store_judge(reading_out, SJ_VERDICT_BAD, "it holds another key than its name says");
  }
  const bool wants_ptx = sj_key_is_ptx_name(key->file_name);
  if (entry->view.is_ptx != wants_ptx) {
    return sj_store_judge(reading_out, SJ_VERDICT_BAD, wants_ptx ? "it holds no PTX" : "it holds PTX and no cubin");
  }
  if (nvrtc_version != 0 && entry->view.note.nvrtc_version != nvrtc_version) {
    uint32_t made_by = entry->view.note.nvrtc_version;
    snprintf(reading_out->reason, sizeof reading_out->reason, "NVRTC %u.%u made it, and %u.%u is wanted",
             made_by / 1000, made_by % 1000 / 10, nvrtc_version / 1000, nvrtc_version % 1000 / 10);
    return SJ_VERDICT_OTHER_COMPILER;
  }
  return SJ_VERDICT_USABLE;
}

/* PTX is given on as a string. */
static sj_verdict end_text(sj_entry *entry)
{
  sj_text text = {0};
  sj_text_add_bytes(&text, entry->view.cubin, entry->view.cubin_bytes);
  entry->text = sj_text_take(&text);
  entry->view.cubin = entry->text;
  return entry->text != NULL ? SJ_VERDICT_USABLE : SJ_VERDICT_NO_MEMORY;
}

sj_verdict sj_store_read_entry(sj_store *store, const sj_key *key, uint32_t nvrtc_version, sj_entry *entry_out,
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
  if (verdict == SJ_VERDICT_USABLE && entry.view.is_ptx) {
    verdict = end_text(&entry);
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
  free(entry->text);
  *entry = (sj_entry){0};
}
