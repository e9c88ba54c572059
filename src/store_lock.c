/* SPDX-License-Identifier: Apache-2.0 */
#include "store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "file_lock.h"
#include "store_parts.h"

enum {
  LOCK_NAME_SIZE = SJ_DIGEST_HEX_SIZE + sizeof ".lock" - 1,
  HOLDER_SIZE = 96, /* of the holder's line, always whole, so that a shorter one covers a longer one */
  LONGEST_SLEEP_MS = 50,
  LONGEST_CALL_MS = 10000, /* a call that waits for nobody and takes so long will not come back; */
  SHORTEST_CALL_MS = 1000, /* less may be a busy machine */
  NUM_TRIES = 3            /* for a lock file that a cleaner removes between open and lock */
};

/* ---- Lock files ------------------------------------------------------------------------------------------ */

int sj_store_flock(sj_store *store, int *fd_inout, int operation, unsigned bound_ms)
{
  if (atomic_load_explicit(&store->has_hung, memory_order_relaxed)) {
    return ETIME;
  }
  int error = sj_file_lock_try(store->os, fd_inout, operation, bound_ms);
  if (error == ETIME && !atomic_exchange_explicit(&store->has_hung, true, memory_order_relaxed)) {
    sj_log_line(store->log, SWA_JIT_LOG_WARN,
                "store: the locks of %s do not answer within %u ms: going on without, at the cost of possible second "
                "compiles",
                store->shown_path, bound_ms);
  }
  return error;
}

int sj_store_open_lock_file(sj_store *store, const char *name, int flags)
{
  const sj_os *os = store->os;
  const mode_t mode = sj_trust_lock_mode(&store->trust);
  char reason[SJ_REASON_SIZE];
  struct stat status;
  int fd = sj_os_open(os, store->dir_fd, name, flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0) {
    return -1;
  }
  if (os->fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1
      || !sj_trust_file(&store->trust, &status, reason)) {
    os->close(fd);
    errno = EINVAL;
    return -1;
  }
  if (status.st_uid == store->trust.user) { /* made just now, or by this user without the options of today */
    uid_t owner = 0;
    if (sj_trust_needs_owner(&store->trust, &owner) || (mode != 0600 && status.st_gid != store->trust.group)) {
      sj_store_give(store, fd);
    }
    if (mode != 0600 && (status.st_mode & 07777) != mode) {
      os->fchmod(fd, mode);
    }
  }
  return fd;
}

bool sj_store_is_named(sj_store *store, int fd, const char *name)
{
  const sj_os *os = store->os;
  struct stat opened, named;
  return os->fstat(fd, &opened) != 0
         || (os->fstatat(store->dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && opened.st_dev == named.st_dev
             && opened.st_ino == named.st_ino);
}

/* ---- The lock of a key ----------------------------------------------------------------------------------- */

/* One take: what it waits for and since when. */
typedef struct lock_taking {
  sj_store *store;
  const sj_key *key;
  char name[LOCK_NAME_SIZE];
  uint64_t start_ns;
  unsigned wait_ms;
  unsigned told_ms; /* the wait was last logged at; 0: not yet */
  bool was_held;    /* another process held it meanwhile */
} lock_taking;

static unsigned elapsed_ms(const lock_taking *taking)
{
  uint64_t elapsed = (sj_os_now_ns() - taking->start_ns) / 1000000;
  return elapsed > UINT_MAX ? UINT_MAX : (unsigned)elapsed;
}

/* Whoever wrote its line last: the holder, but for the instant between its lock and its line. */
static void read_holder(const lock_taking *taking, int fd, char holder_out[HOLDER_SIZE])
{
  ssize_t count = sj_os_read_at(taking->store->os, fd, holder_out, HOLDER_SIZE - 1, 0);
  size_t length = 0;
  while (count > 0 && length < (size_t)count && holder_out[length] > ' ' - 1 && holder_out[length] < 127) {
    length++;
  }
  while (length > 0 && holder_out[length - 1] == ' ') {
    length--;
  }
  holder_out[length] = '\0';
  if (length == 0) {
    snprintf(holder_out, HOLDER_SIZE, "an unknown process");
  }
}

static void write_holder(const lock_taking *taking, int fd)
{
  char host[64] = "";
  if (gethostname(host, sizeof host) != 0) {
    host[0] = '\0';
  }
  host[sizeof host - 1] = '\0';
  char line[HOLDER_SIZE];
  int length = snprintf(line, sizeof line, "pid %ld on %s", (long)getpid(), host);
  memset(line + length, ' ', sizeof line - (size_t)length);
  line[sizeof line - 1] = '\n';
  if (sj_os_may_write(sizeof line)) {
    sj_os_write_all(taking->store->os, fd, line, sizeof line); /* without it a waiter's message names nobody */
  }
}

/* After a second, and every ten: a wait without a word looks like a hang. */
static void tell_wait(lock_taking *taking, int fd, unsigned waited_ms)
{
  if (waited_ms < 1000 || (taking->told_ms != 0 && waited_ms - taking->told_ms < 10000)) {
    return;
  }
  taking->told_ms = waited_ms;
  char holder[HOLDER_SIZE];
  read_holder(taking, fd, holder);
  sj_log_line(taking->store->log, SWA_JIT_LOG_INFO, "store: waiting %u ms of at most %u ms for %s, which makes %s",
              waited_ms, taking->wait_ms, holder, taking->key->file_name);
}

static unsigned left_ms(const lock_taking *taking)
{
  unsigned waited_ms = elapsed_ms(taking);
  return waited_ms < taking->wait_ms ? taking->wait_ms - waited_ms : 0;
}

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Polls rather than blocks: a lock whose holder died can live on in a forked child of it, so each wait must end. 0,
 * ETIMEDOUT, or what sj_store_flock says. */
static int wait_for_lock(lock_taking *taking, int *fd_inout)
{
  unsigned sleep_ms = 1;
  for (;;) {
    unsigned bound_ms = least(SHORTEST_CALL_MS + left_ms(taking), LONGEST_CALL_MS);
    int error = sj_store_flock(taking->store, fd_inout, LOCK_EX, bound_ms);
    if (error != EWOULDBLOCK && error != EINTR) {
      return error;
    }
    if (error == EWOULDBLOCK && !taking->was_held) {
      taking->was_held = true;
      sj_stats_add(taking->store->stats->lock_waits, 1);
    }
    if (left_ms(taking) == 0) {
      return ETIMEDOUT;
    }
    tell_wait(taking, *fd_inout, elapsed_ms(taking));
    sj_os_sleep_ms(least(sleep_ms, left_ms(taking)));
    sleep_ms = least(2 * sleep_ms, LONGEST_SLEEP_MS);
  }
}

/* A folder that was removed under this program is made again: others that lost it lock there, too. */
static int open_lock(const lock_taking *taking)
{
  sj_store *store = taking->store;
  int fd = sj_store_open_lock_file(store, taking->name, O_CREAT);
  if (fd < 0 && errno == ENOENT) {
    if (sj_store_folder_is_gone(store) && sj_store_make_folder_again(store)) {
      return sj_store_open_lock_file(store, taking->name, O_CREAT);
    }
    errno = ENOENT;
  }
  return fd;
}

/* The locked descriptor; -1 with *error_out. */
static int take(lock_taking *taking, int *error_out)
{
  for (unsigned i = 0; i < NUM_TRIES; i++) {
    int fd = open_lock(taking);
    if (fd < 0) {
      *error_out = errno;
      return -1;
    }
    *error_out = wait_for_lock(taking, &fd);
    if (*error_out == 0 && sj_store_is_named(taking->store, fd, taking->name)) {
      write_holder(taking, fd);
      return fd;
    }
    if (*error_out == ETIMEDOUT) {
      char holder[HOLDER_SIZE];
      read_holder(taking, fd, holder);
      sj_log_line(taking->store->log, SWA_JIT_LOG_WARN,
                  "store: %s still holds the lock of %s after %u ms (if it has died, a child that it forked may keep "
                  "the lock): "
                  "going on without, at the cost of a second compile",
                  holder, taking->key->file_name, elapsed_ms(taking));
    }
    if (fd >= 0) {
      taking->store->os->close(fd);
    }
    if (*error_out != 0) {
      return -1;
    }
    *error_out = ESTALE;
  }
  return -1;
}

void sj_store_lock_take(sj_store *store, const sj_key *key, unsigned wait_ms, sj_store_lock *lock_out, bool *waited_out)
{
  lock_out->fd = -1;
  *waited_out = false;
  if (store->dir_fd < 0 || store->read_only) {
    return;
  }
  lock_taking taking = {.store = store, .key = key, .start_ns = sj_os_now_ns(), .wait_ms = wait_ms};
  char digest[SJ_DIGEST_HEX_SIZE];
  sj_digest_hex(key->digest, digest);
  snprintf(taking.name, sizeof taking.name, "%s.lock", digest);
  int error = 0;
  lock_out->fd = take(&taking, &error);
  *waited_out = taking.was_held;
  if (lock_out->fd >= 0) {
    return;
  }
  sj_stats_add(store->stats->lock_failures, 1);
  if (error != ETIMEDOUT && error != ETIME) { /* those were warnings */
    sj_log_line(store->log, sj_store_tell_once(store, "locks"),
                "store: no lock for %s in %s: %s%s; going on without, at the cost of a possible second compile",
                key->file_name, store->shown_path, strerror(error),
                error == ENOMEM ? ", or no thread to ask for it: raise the limit of processes (ulimit -u, pids.max)"
                                : "");
  }
}

void sj_store_lock_release(sj_store *store, sj_store_lock *lock)
{
  if (lock->fd < 0) {
    return;
  }
  /* Unlocked before it is closed: a child forked meanwhile has the same open file and would keep the lock. */
  sj_store_flock(store, &lock->fd, LOCK_UN, LONGEST_CALL_MS);
  if (lock->fd >= 0) {
    store->os->close(lock->fd);
  }
  lock->fd = -1;
}
