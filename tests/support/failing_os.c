/* SPDX-License-Identifier: Apache-2.0 */
#include "failing_os.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static failing_os_plan current;
static _Atomic unsigned counts[FAILING_OS_NUM_CALLS];
static _Atomic bool has_failed;

/* Counts the call; true, with errno set, when it has to fail. */
static bool fails(failing_os_call call)
{
  unsigned number_of_any = atomic_fetch_add(&counts[FAILING_OS_ANY], 1) + 1;
  unsigned number_of_call = atomic_fetch_add(&counts[call], 1) + 1;
  if (current.nth == 0 || (current.call != FAILING_OS_ANY && current.call != call)) {
    return false;
  }
  unsigned number = current.call == FAILING_OS_ANY ? number_of_any : number_of_call;
  if (number != current.nth && !(current.and_later && number > current.nth)) {
    return false;
  }
  if (current.error == FAILING_OS_KILL) {
    kill(getpid(), SIGKILL);
  }
  atomic_store(&has_failed, true);
  errno = current.error;
  return true;
}

static size_t shortened(size_t count)
{
  return current.most_bytes != 0 && count > current.most_bytes ? current.most_bytes : count;
}

static int failing_openat(int dir_fd, const char *name, int flags, mode_t mode)
{
  return fails(FAILING_OS_OPENAT) ? -1 : sj_os_system()->openat(dir_fd, name, flags, mode);
}

static int failing_close(int fd)
{
  bool has_to_fail = fails(FAILING_OS_CLOSE);
  int error = errno;
  int result = sj_os_system()->close(fd);
  if (has_to_fail) {
    errno = error;
    return -1;
  }
  return result;
}

static ssize_t failing_pread(int fd, void *bytes, size_t count, off_t offset)
{
  return fails(FAILING_OS_PREAD) ? -1 : sj_os_system()->pread(fd, bytes, shortened(count), offset);
}

static ssize_t failing_write(int fd, const void *bytes, size_t count)
{
  return fails(FAILING_OS_WRITE) ? -1 : sj_os_system()->write(fd, bytes, shortened(count));
}

static int failing_fsync(int fd)
{
  return fails(FAILING_OS_FSYNC) ? -1 : sj_os_system()->fsync(fd);
}

static int failing_ftruncate(int fd, off_t bytes)
{
  return fails(FAILING_OS_FTRUNCATE) ? -1 : sj_os_system()->ftruncate(fd, bytes);
}

static int failing_fchmod(int fd, mode_t mode)
{
  return fails(FAILING_OS_FCHMOD) ? -1 : sj_os_system()->fchmod(fd, mode);
}

static int failing_fchown(int fd, uid_t user, gid_t group)
{
  return fails(FAILING_OS_FCHOWN) ? -1 : sj_os_system()->fchown(fd, user, group);
}

static int failing_futimens(int fd, const struct timespec times[2])
{
  return fails(FAILING_OS_FUTIMENS) ? -1 : sj_os_system()->futimens(fd, times);
}

static int failing_dup3(int fd, int new_fd, int flags)
{
  return fails(FAILING_OS_DUP3) ? -1 : sj_os_system()->dup3(fd, new_fd, flags);
}

static int failing_clock_gettime(clockid_t clock, struct timespec *time)
{
  return fails(FAILING_OS_CLOCK_GETTIME) ? -1 : sj_os_system()->clock_gettime(clock, time);
}

static int failing_fstat(int fd, struct stat *status)
{
  return fails(FAILING_OS_FSTAT) ? -1 : sj_os_system()->fstat(fd, status);
}

static int failing_fstatat(int dir_fd, const char *name, struct stat *status, int flags)
{
  return fails(FAILING_OS_FSTATAT) ? -1 : sj_os_system()->fstatat(dir_fd, name, status, flags);
}

static int failing_mkdirat(int dir_fd, const char *name, mode_t mode)
{
  return fails(FAILING_OS_MKDIRAT) ? -1 : sj_os_system()->mkdirat(dir_fd, name, mode);
}

static int failing_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
  return fails(FAILING_OS_RENAMEAT) ? -1 : sj_os_system()->renameat(from_fd, from, to_fd, to);
}

static int failing_unlinkat(int dir_fd, const char *name, int flags)
{
  return fails(FAILING_OS_UNLINKAT) ? -1 : sj_os_system()->unlinkat(dir_fd, name, flags);
}

static int failing_flock(int fd, int operation)
{
  return fails(FAILING_OS_FLOCK) ? -1 : sj_os_system()->flock(fd, operation);
}

static DIR *failing_fdopendir(int fd)
{
  return fails(FAILING_OS_FDOPENDIR) ? NULL : sj_os_system()->fdopendir(fd);
}

static ssize_t failing_getrandom(void *bytes, size_t count, unsigned flags)
{
  return fails(FAILING_OS_GETRANDOM) ? -1 : sj_os_system()->getrandom(bytes, count, flags);
}

const sj_os *failing_os_start(failing_os_plan plan)
{
  static const sj_os table = {
      .openat = failing_openat,
      .close = failing_close,
      .pread = failing_pread,
      .write = failing_write,
      .fsync = failing_fsync,
      .ftruncate = failing_ftruncate,
      .fchmod = failing_fchmod,
      .fchown = failing_fchown,
      .futimens = failing_futimens,
      .dup3 = failing_dup3,
      .clock_gettime = failing_clock_gettime,
      .fstat = failing_fstat,
      .fstatat = failing_fstatat,
      .mkdirat = failing_mkdirat,
      .renameat = failing_renameat,
      .unlinkat = failing_unlinkat,
      .flock = failing_flock,
      .fdopendir = failing_fdopendir,
      .getrandom = failing_getrandom,
  };
  current = plan;
  atomic_store(&has_failed, false);
  for (unsigned i = 0; i < FAILING_OS_NUM_CALLS; i++) {
    atomic_store(&counts[i], 0);
  }
  return &table;
}

unsigned failing_os_count(failing_os_call call)
{
  return atomic_load(&counts[call]);
}

bool failing_os_has_failed(void)
{
  return atomic_load(&has_failed);
}
