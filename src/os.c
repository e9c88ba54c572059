/* SPDX-License-Identifier: Apache-2.0 */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int system_openat(int dir_fd, const char *name, int flags, mode_t mode)
{
  return openat(dir_fd, name, flags, mode);
}

/* A write beyond the limit of file sizes raises SIGXFSZ, which ends a process that does not expect it. It is raised in
 * the writing thread, so that it can be held back there and taken away, and the write only fails. */
static ssize_t system_write(int fd, const void *bytes, size_t count)
{
  static const struct timespec at_once = {0, 0};
  sigset_t limit, before, pending;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  sigemptyset(&pending);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  ssize_t done = write(fd, bytes, count);
  int error = errno;
  if (done < 0 && error == EFBIG && sigismember(&pending, SIGXFSZ) == 0) {
    sigtimedwait(&limit, NULL, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return done;
}

const sj_os *sj_os_system(void)
{
  static const sj_os table = {
      .openat = system_openat,
      .close = close,
      .pread = pread,
      .write = system_write,
      .fsync = fsync,
      .ftruncate = ftruncate,
      .fchmod = fchmod,
      .fchown = fchown,
      .futimens = futimens,
      .dup3 = dup3,
      .clock_gettime = clock_gettime,
      .fstat = fstat,
      .fstatat = fstatat,
      .mkdirat = mkdirat,
      .renameat = renameat,
      .unlinkat = unlinkat,
      .flock = flock,
      .fdopendir = fdopendir,
      .getrandom = getrandom,
  };
  return &table;
}

int sj_os_open(const sj_os *os, int dir_fd, const char *name, int flags, mode_t mode)
{
  int fd = -1;
  do {
    fd = os->openat(dir_fd, name, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

ssize_t sj_os_read_at(const sj_os *os, int fd, void *bytes, size_t count, off_t offset)
{
  size_t done = 0;
  while (done < count) {
    ssize_t step = os->pread(fd, (char *)bytes + done, count - done, offset + (off_t)done);
    if (step == 0) {
      break;
    }
    if (step > 0) {
      done += (size_t)step;
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return (ssize_t)done;
}

bool sj_os_write_all(const sj_os *os, int fd, const void *bytes, size_t count)
{
  size_t done = 0;
  while (done < count) {
    ssize_t step = os->write(fd, (const char *)bytes + done, count - done);
    if (step > 0) {
      done += (size_t)step;
    } else if (step == 0) {
      errno = EIO; /* a file that takes no byte and tells no error would be tried for ever */
      return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool sj_os_random(const sj_os *os, void *bytes, size_t count)
{
  size_t done = 0;
  while (done < count) {
    ssize_t step = os->getrandom((char *)bytes + done, count - done, 0);
    if (step > 0) {
      done += (size_t)step;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool sj_os_may_write(uint64_t file_bytes)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && file_bytes > limit.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  return true;
}

bool sj_os_may_keep(int fd)
{
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || (rlim_t)fd < limit.rlim_cur / 2);
}

char *sj_os_absolute_path(const char *path)
{
  char *here = path == NULL || path[0] == '/' ? NULL : getcwd(NULL, 0);
  const bool has_end = here != NULL && strcmp(here, "/") != 0;
  const size_t size = (path != NULL ? strlen(path) : 0) + (here != NULL ? strlen(here) : 0) + 2;
  char *absolute = path != NULL ? malloc(size) : NULL;
  if (absolute != NULL) {
    snprintf(absolute, size, "%s%s%s", here != NULL ? here : "", has_end ? "/" : "", path);
  }
  free(here);
  return absolute;
}

uint64_t sj_os_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sj_os_sleep_ms(unsigned milliseconds)
{
  struct timespec left = {.tv_sec = (time_t)(milliseconds / 1000), .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}
