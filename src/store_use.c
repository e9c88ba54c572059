/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/file.h>

#include "store_parts.h"

enum {
  TOUCH_PERIOD_S = 15 * 60, /* so that the ranks of a job that start together write a time once, not each */
  BOUND_MS = 1000
};

/* The file's change of content is its publishing alone, so its modification time is free to tell the last use. An
 * access time would not do: mounts without it never move it, and whoever lists or copies the store would. */
static void touch(sj_store *store, int fd, const struct stat *status)
{
  struct timespec now;
  if (store->os->clock_gettime(CLOCK_REALTIME, &now) != 0) {
    return;
  }
  const int64_t age_s = (int64_t)now.tv_sec - (int64_t)status->st_mtime;
  const bool is_recent = age_s < TOUCH_PERIOD_S && age_s > -TOUCH_PERIOD_S; /* a clock may be set back */
  if (!is_recent && status->st_nlink == 1) { /* another name of the file may lie outside the store */
    store->os->futimens(fd, NULL);
  }
}

void sj_store_begin_use(sj_store *store, const sj_key *key, sj_store_use *use_inout)
{
  sj_reading reading = {0};
  int fd = -1;
  if (store->dir_fd < 0 || store->read_only || use_inout->os != NULL
      || sj_store_open_entry(store, key->file_name, &fd, &reading) != SJ_VERDICT_USABLE) {
    return;
  }
  touch(store, fd, &reading.status);
  /* It may have been evicted between the opening and the lock. */
  if (sj_os_may_keep(fd) && sj_store_flock(store, &fd, LOCK_SH, BOUND_MS) == 0
      && sj_store_is_named(store, fd, key->file_name)) {
    *use_inout = (sj_store_use){store->os, fd};
    return;
  }
  if (fd >= 0) {
    store->os->close(fd);
  }
}

void sj_store_end_use(sj_store_use *use)
{
  if (use->os != NULL) {
    use->os->close(use->fd);
  }
  *use = (sj_store_use){0};
}
