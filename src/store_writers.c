/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "store_parts.h"

/* What a dead writer left must be found when a store is opened, and listing ten thousand names to find nothing takes
 * longer than the whole opening may. So while there are writers there is a file, which each of them has locked; the
 * last one removes it. If it is there and nobody holds its lock, a writer died. Who finds it there makes it a byte
 * long, which needs no space on the disk: as long as it is empty there was one writer alone, who knows whether it
 * left anything. */
#define WRITERS_NAME ".writers"

enum { BOUND_MS = 1000, NUM_TRIES = 8 };

/* Whether it is empty; false where that cannot be told. */
static bool is_empty(const sj_store *store, int fd)
{
  struct stat status;
  return store->os->fstat(fd, &status) == 0 && status.st_size == 0;
}

/* The file, made by this writer or found; -1 with errno. */
static int make_or_find(sj_store *store, bool *is_made_out)
{
  int fd = sj_store_open_lock_file(store, WRITERS_NAME, O_CREAT | O_EXCL);
  *is_made_out = fd >= 0;
  return fd >= 0 || errno != EEXIST ? fd : sj_store_open_lock_file(store, WRITERS_NAME, O_CREAT);
}

sj_writing sj_store_begin_writing(sj_store *store)
{
  for (unsigned i = 0; i < NUM_TRIES; i++) {
    bool is_made = false;
    int fd = make_or_find(store, &is_made);
    if (fd < 0) {
      break;
    }
    int error = sj_store_flock(store, &fd, LOCK_SH, BOUND_MS);
    if (error == 0 && sj_store_is_named(store, fd, WRITERS_NAME)) {
      if (!is_made && is_empty(store, fd) && sj_os_may_write(1)) { /* else the entry will not be written either */
        store->os->ftruncate(fd, 1);
      }
      return (sj_writing){.fd = fd};
    }
    if (fd >= 0) {
      store->os->close(fd);
    }
    if (error == EWOULDBLOCK) {
      sj_os_sleep_ms(5); /* somebody clears up after a dead one */
    } else if (error != 0 && error != EINTR) {
      break;
    }
  }
  return (sj_writing){.fd = -1}; /* without it only the age of what a crash leaves tells */
}

/* Every temporary file: under the lock no writer is alive. */
static void remove_temporaries(sj_store *store)
{
  DIR *listing = sj_store_list(store);
  if (listing == NULL) {
    return;
  }
  for (struct dirent *file = readdir(listing); file != NULL; file = readdir(listing)) {
    if (sj_store_is_temporary(file->d_name) && store->os->unlinkat(store->dir_fd, file->d_name, 0) == 0) {
      sj_log_line(store->log, SWA_JIT_LOG_DEBUG, "store: removed %s, which a writer that died left", file->d_name);
    }
  }
  closedir(listing);
}

void sj_store_end_writing(sj_store *store, sj_writing *writing)
{
  if (writing->fd < 0) {
    return;
  }
  int error = sj_store_flock(store, &writing->fd, LOCK_EX, BOUND_MS);
  if (error == 0 && sj_store_is_named(store, writing->fd, WRITERS_NAME)) {
    if (writing->has_trouble
        || !is_empty(store, writing->fd)) { /* of one that died while this one wrote: soon nobody will look for them */
      remove_temporaries(store);
    }
    store->os->unlinkat(store->dir_fd, WRITERS_NAME, 0);
  }
  if (writing->fd >= 0) {
    store->os->close(writing->fd);
  }
  writing->fd = -1;
}

void sj_store_clear_dead_writers(sj_store *store)
{
  struct stat status;
  if (store->read_only || store->os->fstatat(store->dir_fd, WRITERS_NAME, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  int fd = sj_store_open_lock_file(store, WRITERS_NAME, 0);
  if (fd < 0) {
    return;
  }
  sj_writing writing = {.fd = fd};
  if (sj_store_flock(store, &writing.fd, LOCK_EX, BOUND_MS) == 0
      && sj_store_is_named(store, writing.fd, WRITERS_NAME)) {
    remove_temporaries(store);
    store->os->unlinkat(store->dir_fd, WRITERS_NAME, 0);
  }
  if (writing.fd >= 0) {
    store->os->close(writing.fd);
  }
}
