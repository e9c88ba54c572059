/* SPDX-License-Identifier: Apache-2.0 */
/* fault-preload.so, for LD_PRELOAD: stands between libswajit and the C library, counts the system calls that libswajit
 * makes (nobody else's), writes them down, and does at the n-th what its environment says:
 *   FAULT_NTH     1 for the first call; unset: nothing happens
 *   FAULT_CALL    only calls of this name count towards FAULT_NTH; unset: all
 *   FAULT_ACTION  ENOSPC, EIO, EMFILE, EINTR: the call fails; kill-before, kill-after: the process kills itself;
 *                 short: a read or write moves half of its bytes; remove: FAULT_FOLDER is removed before the call;
 *                 hang: the call never returns; stop: the process stops itself before the call (SIGSTOP)
 *   FAULT_LATER   set: every later call fails too
 *   FAULT_MOST    a read or write moves at most so many bytes
 *   FAULT_AGE     "PREFIX:SECONDS": files whose name begins so look so much older (negative: as after a clock that was
 *                 set back)
 *   FAULT_CLOCK   so many seconds later than it is (negative: earlier) are told as the time of day
 *   FAULT_LOG     a file that gets one line a call: its name, its arguments, "->", its result
 * What happened is told in one line on standard error, so that a test knows. */
#undef _FILE_OFFSET_BITS /* both names of each call are defined here, with and without 64 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
  KILL_BEFORE = -1,
  KILL_AFTER = -2,
  SHORT = -3,
  REMOVE = -4,
  HANG = -5,
  STOP = -6
}; /* actions; above 0: an errno; 0: none */

static struct {
  uintptr_t library_begin, library_end; /* where libswajit lies */
  unsigned nth;
  int action;
  bool and_later;
  const char *call;
  const char *folder;
  size_t most_bytes;
  const char *age_prefix;
  size_t age_prefix_length;
  long age_seconds;
  long clock_seconds;
  int log_fd;
} plan = {.log_fd = -1};

static _Atomic unsigned num_calls;

/* ---- The plan -------------------------------------------------------------------------------------------- */

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
  (void)size;
  (void)data;
  if (strstr(info->dlpi_name, "libswajit.so") == NULL) {
    return 0;
  }
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
      plan.library_begin = info->dlpi_addr + segment->p_vaddr;
      plan.library_end = plan.library_begin + segment->p_memsz;
    }
  }
  return 1;
}

static int read_action(const char *text)
{
  static const struct {
    const char *name;
    int action;
  } actions[] = {
      {"ENOSPC", ENOSPC},         {"EIO", EIO},     {"EMFILE", EMFILE}, {"EINTR", EINTR}, {"kill-before", KILL_BEFORE},
      {"kill-after", KILL_AFTER}, {"short", SHORT}, {"remove", REMOVE}, {"hang", HANG},   {"stop", STOP}};
  for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
    if (strcmp(text, actions[i].name) == 0) {
      return actions[i].action;
    }
  }
  fprintf(stderr, "fault: no action is called \"%s\"\n", text);
  _exit(3);
}

static void read_age(const char *text)
{
  const char *colon = text != NULL ? strchr(text, ':') : NULL;
  if (colon != NULL) {
    plan.age_prefix = text;
    plan.age_prefix_length = (size_t)(colon - text);
    plan.age_seconds = atol(colon + 1);
  }
}

__attribute__((constructor)) static void read_plan(void)
{
  const char *nth = getenv("FAULT_NTH");
  const char *most = getenv("FAULT_MOST");
  const char *action = getenv("FAULT_ACTION");
  const char *clock = getenv("FAULT_CLOCK");
  const char *log = getenv("FAULT_LOG");
  dl_iterate_phdr(find_library, NULL);
  plan.nth = nth != NULL ? (unsigned)atoi(nth) : 0;
  plan.action = action != NULL ? read_action(action) : 0;
  plan.and_later = getenv("FAULT_LATER") != NULL;
  plan.call = getenv("FAULT_CALL");
  plan.folder = getenv("FAULT_FOLDER");
  plan.most_bytes = most != NULL ? (size_t)atoi(most) : 0;
  read_age(getenv("FAULT_AGE"));
  plan.clock_seconds = clock != NULL ? atol(clock) : 0;
  if (log != NULL) {
    plan.log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
}

/* ---- One call -------------------------------------------------------------------------------------------- */

static void say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(int fd, const char *format, ...)
{
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (fd >= 0 && length > 0) {
    size_t count = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    syscall(SYS_write, fd, line, count);
  }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status;
  (void)type;
  (void)place;
  return remove(path);
}

/* What shall happen at this call: an action or 0. What happens before the call has happened on return. */
static int begin(const char *name, const void *caller)
{
  uintptr_t at = (uintptr_t)caller;
  if (at < plan.library_begin || at >= plan.library_end || plan.nth == 0
      || (plan.call != NULL && strcmp(plan.call, name) != 0)) {
    return 0;
  }
  unsigned number = atomic_fetch_add(&num_calls, 1) + 1;
  if (number != plan.nth && !(plan.and_later && number > plan.nth)) {
    return 0;
  }
  say(STDERR_FILENO, "fault: call %u, %s\n", number, name);
  if (plan.action == KILL_BEFORE) {
    kill(getpid(), SIGKILL);
  }
  while (plan.action == HANG) {
    pause();
  }
  if (plan.action == STOP) {
    raise(SIGSTOP);
  }
  if (plan.action == REMOVE && plan.folder != NULL) {
    nftw(plan.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }
  return plan.action;
}

/* After the call: writes it down, then kills. errno stays. */
static void end(int action, const void *caller, long long result, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void end(int action, const void *caller, long long result, const char *format, ...)
{
  int error = errno;
  uintptr_t at = (uintptr_t)caller;
  if (plan.log_fd >= 0 && at >= plan.library_begin && at < plan.library_end) {
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(plan.log_fd, "%s -> %lld\n", text, result);
  }
  if (action == KILL_AFTER) {
    kill(getpid(), SIGKILL);
  }
  errno = error;
}

static bool fails(int action)
{
  if (action > 0) {
    errno = action;
  }
  return action > 0;
}

static size_t shortened(int action, size_t count)
{
  size_t most = action == SHORT ? count / 2 : plan.most_bytes;
  return most != 0 && count > most ? most : count;
}

static void age(const char *name, struct stat *status)
{
  if (plan.age_prefix != NULL && strncmp(name, plan.age_prefix, plan.age_prefix_length) == 0) {
    status->st_atim.tv_sec -= plan.age_seconds;
    status->st_mtim.tv_sec -= plan.age_seconds;
    status->st_ctim.tv_sec -= plan.age_seconds;
  }
}

/* The C library's own function of that name, into a pointer to function. */
static void find_real(const char *name, void *function_out)
{
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    say(STDERR_FILENO, "fault: the C library has no %s\n", name);
    _exit(3);
  }
  memcpy(function_out, &found, sizeof found);
}

#define REAL(name)                                                                                                     \
  __typeof__(&(name)) real = NULL;                                                                                     \
  find_real(#name, &real)
#define CALLER __builtin_return_address(0)
#define ENDS_WITH_SEMICOLON _Static_assert(1, "")

/* ---- The calls ------------------------------------------------------------------------------------------- */

/* A call that is passed on as it is or fails. */
#define PASSED_ON(result_type, name, log_name, failure, parameters, arguments, ...)                                    \
  EXPORT result_type name parameters                                                                                   \
  {                                                                                                                    \
    REAL(name);                                                                                                        \
    int action = begin(log_name, CALLER);                                                                              \
    result_type result = fails(action) ? (failure) : real arguments;                                                   \
    end(action, CALLER, (long long)(intptr_t)result, log_name __VA_ARGS__);                                            \
    return result;                                                                                                     \
  }                                                                                                                    \
  ENDS_WITH_SEMICOLON

PASSED_ON(int, fsync, "fsync", -1, (int fd), (fd), " %d", fd);
PASSED_ON(int, fdatasync, "fsync", -1, (int fd), (fd), " %d", fd);
PASSED_ON(int, flock, "flock", -1, (int fd, int operation), (fd, operation), " %d %d", fd, operation);
PASSED_ON(int, mkdirat, "mkdirat", -1, (int fd, const char *name, mode_t mode), (fd, name, mode), " %d %s", fd, name);
PASSED_ON(int, unlinkat, "unlinkat", -1, (int fd, const char *name, int flags), (fd, name, flags), " %d %s", fd, name);
PASSED_ON(int, renameat, "renameat", -1, (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to),
          " %d %s %d %s", fd, from, to_fd, to);
PASSED_ON(int, linkat, "linkat", -1, (int fd, const char *from, int to_fd, const char *to, int flags),
          (fd, from, to_fd, to, flags), " %d %s %d %s", fd, from, to_fd, to);
PASSED_ON(int, utimensat, "utimensat", -1, (int fd, const char *name, const struct timespec times[2], int flags),
          (fd, name, times, flags), " %d %s", fd, name);
PASSED_ON(int, futimens, "futimens", -1, (int fd, const struct timespec times[2]), (fd, times), " %d", fd);
PASSED_ON(int, dup3, "dup3", -1, (int fd, int new_fd, int flags), (fd, new_fd, flags), " %d %d", fd, new_fd);
PASSED_ON(int, ftruncate, "ftruncate", -1, (int fd, off_t bytes), (fd, bytes), " %d", fd);
PASSED_ON(int, ftruncate64, "ftruncate", -1, (int fd, off64_t bytes), (fd, bytes), " %d", fd);
PASSED_ON(int, fchmod, "fchmod", -1, (int fd, mode_t mode), (fd, mode), " %d", fd);
PASSED_ON(int, fchown, "fchown", -1, (int fd, uid_t user, gid_t group), (fd, user, group), " %d", fd);
PASSED_ON(DIR *, fdopendir, "fdopendir", NULL, (int fd), (fd), " %d", fd);
PASSED_ON(struct dirent *, readdir, "readdir", NULL, (DIR * listing), (listing), "%s", "");
PASSED_ON(struct dirent64 *, readdir64, "readdir", NULL, (DIR * listing), (listing), "%s", "");
PASSED_ON(ssize_t, getrandom, "getrandom", -1, (void *bytes, size_t count, unsigned flags), (bytes, count, flags),
          " %zu", count);

/* A call that moves bytes: it may also move fewer. */
#define MOVES_BYTES(name, log_name, parameters, arguments)                                                             \
  EXPORT ssize_t name parameters                                                                                       \
  {                                                                                                                    \
    REAL(name);                                                                                                        \
    int action = begin(log_name, CALLER);                                                                              \
    count = shortened(action, count);                                                                                  \
    ssize_t result = fails(action) ? -1 : real arguments;                                                              \
    end(action, CALLER, result, log_name " %d %zu", fd, count);                                                        \
    return result;                                                                                                     \
  }                                                                                                                    \
  ENDS_WITH_SEMICOLON

MOVES_BYTES(write, "write", (int fd, const void *bytes, size_t count), (fd, bytes, count));
MOVES_BYTES(read, "read", (int fd, void *bytes, size_t count), (fd, bytes, count));
MOVES_BYTES(pread, "pread", (int fd, void *bytes, size_t count, off_t offset), (fd, bytes, count, offset));
MOVES_BYTES(pread64, "pread", (int fd, void *bytes, size_t count, off64_t offset), (fd, bytes, count, offset));

/* A call that tells a file's status, whose times may be changed. */
#define TELLS_STATUS(name, log_name, parameters, arguments, file_name, ...)                                            \
  EXPORT int name parameters                                                                                           \
  {                                                                                                                    \
    REAL(name);                                                                                                        \
    int action = begin(log_name, CALLER);                                                                              \
    int result = fails(action) ? -1 : real arguments;                                                                  \
    if (result == 0) {                                                                                                 \
      age(file_name, (struct stat *)status);                                                                           \
    }                                                                                                                  \
    end(action, CALLER, result, log_name __VA_ARGS__);                                                                 \
    return result;                                                                                                     \
  }                                                                                                                    \
  ENDS_WITH_SEMICOLON

TELLS_STATUS(fstat, "fstat", (int fd, struct stat *status), (fd, status), "", " %d", fd);
TELLS_STATUS(fstat64, "fstat", (int fd, struct stat64 *status), (fd, status), "", " %d", fd);
TELLS_STATUS(fstatat, "fstatat", (int fd, const char *name, struct stat *status, int flags), (fd, name, status, flags),
             name, " %d %s", fd, name);
TELLS_STATUS(fstatat64, "fstatat", (int fd, const char *name, struct stat64 *status, int flags),
             (fd, name, status, flags), name, " %d %s", fd, name);

/* Variadic for the mode. */
#define OPENS(name)                                                                                                    \
  EXPORT int name(int fd, const char *path, int flags, ...)                                                            \
  {                                                                                                                    \
    REAL(name);                                                                                                        \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;                                     \
    va_end(rest);                                                                                                      \
    int action = begin("openat", CALLER);                                                                              \
    int result = fails(action) ? -1 : real(fd, path, flags, mode);                                                     \
    end(action, CALLER, result, "openat %d %s", fd, path);                                                             \
    return result;                                                                                                     \
  }                                                                                                                    \
  ENDS_WITH_SEMICOLON

OPENS(openat);
OPENS(openat64);

/* What fails to close has closed, as on Linux. */
#define CLOSES(name, parameters, arguments, ...)                                                                       \
  EXPORT int name parameters                                                                                           \
  {                                                                                                                    \
    REAL(name);                                                                                                        \
    int action = begin("close", CALLER);                                                                               \
    int result = real arguments;                                                                                       \
    if (fails(action)) {                                                                                               \
      result = -1;                                                                                                     \
    }                                                                                                                  \
    end(action, CALLER, result, "close" __VA_ARGS__);                                                                  \
    return result;                                                                                                     \
  }                                                                                                                    \
  ENDS_WITH_SEMICOLON

CLOSES(close, (int fd), (fd), " %d", fd);
CLOSES(closedir, (DIR * listing), (listing), "%s", "");

/* Not counted: it is no call that fails. */
EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
  REAL(clock_gettime);
  int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) {
    now->tv_sec += plan.clock_seconds;
  }
  return result;
}
