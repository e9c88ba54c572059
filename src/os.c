/* SPDX-License-Identifier: Apache-2.0 */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static int system_openat(int dir_fd, const char *name, int flags, mode_t mode)
{
  return openat(dir_fd, name, flags, mode);
}

const sj_os *sj_os_system(void)
{
  static const sj_os table = {
      .openat = system_openat,
      .close = close,
      .read = read,
      .write = write,
      .fsync = fsync,
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
