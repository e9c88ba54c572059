/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that the store and the record make, as one table: the seam where tests make the n-th call fail.
 * Semantics are POSIX's own. A library object holds a pointer to one table for its life. */
#ifndef SJ_OS_H
#define SJ_OS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

typedef struct sj_os {
  int (*openat)(int dir_fd, const char *name, int flags, mode_t mode);
  int (*close)(int fd);
  ssize_t (*pread)(int fd, void *bytes, size_t count, off_t offset);
  ssize_t (*write)(int fd, const void *bytes, size_t count);
  int (*fsync)(int fd);
  int (*ftruncate)(int fd, off_t bytes);
  int (*fchmod)(int fd, mode_t mode);
  int (*fchown)(int fd, uid_t user, gid_t group);
  int (*futimens)(int fd, const struct timespec times[2]);
  int (*dup3)(int fd, int new_fd, int flags);
  int (*clock_gettime)(clockid_t clock, struct timespec *time);
  int (*fstat)(int fd, struct stat *status);
  int (*fstatat)(int dir_fd, const char *name, struct stat *status, int flags);
  int (*mkdirat)(int dir_fd, const char *name, mode_t mode);
  int (*renameat)(int from_fd, const char *from, int to_fd, const char *to);
  int (*unlinkat)(int dir_fd, const char *name, int flags);
  int (*flock)(int fd, int operation);
  DIR *(*fdopendir)(int fd);
  ssize_t (*getrandom)(void *bytes, size_t count, unsigned flags);
} sj_os;

const sj_os *sj_os_system(void);

/* The calls that a signal or a short count can leave half done, gone on with until they are done; errno tells a
 * failure. sj_os_open adds O_CLOEXEC. sj_os_read_at returns the bytes read: fewer than count only at the end. */
int sj_os_open(const sj_os *os, int dir_fd, const char *name, int flags, mode_t mode);
ssize_t sj_os_read_at(const sj_os *os, int fd, void *bytes, size_t count, off_t offset);
bool sj_os_write_all(const sj_os *os, int fd, const void *bytes, size_t count);
bool sj_os_random(const sj_os *os, void *bytes, size_t count);

/* Whether a file may grow to so many bytes (RLIMIT_FSIZE); if not, errno is EFBIG. Asked before, nothing is half
 * written. The system table's write never lets the signal of that limit through. */
bool sj_os_may_write(uint64_t file_bytes);

/* Whether a descriptor of that number may be kept open for long: half of RLIMIT_NOFILE is left to the host. */
bool sj_os_may_keep(int fd);

/* path as an absolute one, as the working folder may change; a copy where the working folder is not known. NULL: out of
 * memory, or path is NULL. */
char *sj_os_absolute_path(const char *path);

/* Monotonic time; sleeping. Not part of the table: they cannot fail in a way that matters. */
uint64_t sj_os_now_ns(void);
void sj_os_sleep_ms(unsigned milliseconds);

#endif
