/* SPDX-License-Identifier: Apache-2.0 */
#include "new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

enum {
  NUM_DIGITS = 16,
  NUM_TRIES = 100,
  STALE_S = 600,
  MODE = 0644 /* what becomes code is nobody else's to write, whatever the umask */
};

/* ---- names ------------------------------------------------------------------------------------------------ */

/* The folder of a path, with its slash; "./" where the path has none. */
static char *folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash == NULL ? sj_memory_copy("./") : sj_memory_format("%.*s", (int)(slash - path) + 1, path);
}

/* A new name in that folder; NULL with errno. */
static char *make_name(const char *wanted)
{
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
    return NULL;
  }
  char *folder = folder_of(wanted);
  char *name = sj_memory_format("%s" WARM_NEW_FILE_PREFIX "%016llx", folder, (unsigned long long)number);
  free(folder);
  return name;
}

static bool is_our_name(const char *name)
{
  const size_t length = strlen(WARM_NEW_FILE_PREFIX);
  return strncmp(name, WARM_NEW_FILE_PREFIX, length) == 0 && strlen(name) == length + NUM_DIGITS
         && strspn(name + length, "0123456789abcdef") == NUM_DIGITS;
}

/* ---- what others left ------------------------------------------------------------------------------------- */

/* Whoever writes such a file has it locked, and the lock ends with the process. Where locks tell nothing its age does:
 * a writer goes on writing. */
static bool is_stale(int fd)
{
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1
         && time(NULL) - status.st_mtime > STALE_S && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_stale(const char *wanted)
{
  char *path = folder_of(wanted);
  DIR *folder = opendir(path);
  free(path);
  for (struct dirent *each = folder != NULL ? readdir(folder) : NULL; each != NULL; each = readdir(folder)) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = is_our_name(each->d_name) ? openat(dirfd(folder), each->d_name, flags) : -1;
    if (fd >= 0 && is_stale(fd)) {
      unlinkat(dirfd(folder), each->d_name, 0);
    }
    if (fd >= 0) {
      close(fd);
    }
  }
  if (folder != NULL) {
    closedir(folder);
  }
}

/* ---- opening ---------------------------------------------------------------------------------------------- */

/* Takes the descriptor and the name over; false with errno. */
static bool take(int fd, const char *wanted, char *temporary, warm_new_file *made_out)
{
  FILE *file = fdopen(fd, "wb");
  if (file == NULL) {
    const int error = errno;
    close(fd);
    if (temporary != NULL) {
      unlink(temporary);
    }
    free(temporary);
    errno = error;
    return false;
  }
  flock(fd, LOCK_EX | LOCK_NB); /* where there are no locks, is_stale goes by the time */
  *made_out = (warm_new_file){file, sj_memory_copy(wanted), temporary};
  return true;
}

bool warm_new_file_open_named(const char *wanted, warm_new_file *made_out)
{
  for (unsigned i = 0; i < NUM_TRIES; i++) {
    char *name = make_name(wanted);
    const int fd = name != NULL ? open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE) : -1;
    if (fd >= 0) {
      return take(fd, wanted, name, made_out);
    }
    const int error = errno;
    free(name);
    errno = error;
    if (error != EEXIST) {
      return false;
    }
  }
  return false;
}

static char *path_of_descriptor(int fd)
{
  return sj_memory_format("/proc/self/fd/%d", fd);
}

/* Whether the file can be named later: /proc is needed for it. */
static bool can_be_named(int fd)
{
  struct stat here, there;
  char *path = path_of_descriptor(fd);
  const bool is_same =
      fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
  free(path);
  return is_same;
}

bool warm_new_file_open(const char *wanted, warm_new_file *made_out)
{
  char *folder = folder_of(wanted);
  int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, MODE);
  free(folder);
  remove_stale(wanted);
  if (fd >= 0 && can_be_named(fd)) {
    return take(fd, wanted, NULL, made_out);
  }
  if (fd >= 0) {
    close(fd);
  }
  return warm_new_file_open_named(wanted, made_out);
}

/* ---- the end ---------------------------------------------------------------------------------------------- */

/* Gives a file without a name the wanted one, or where that is taken one of its own; 0 or errno. */
static int name_file(warm_new_file *made)
{
  char *path = path_of_descriptor(fileno(made->file));
  int error = linkat(AT_FDCWD, path, AT_FDCWD, made->wanted, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  const bool is_taken = error == EEXIST;
  for (unsigned i = 0; i < NUM_TRIES && error == EEXIST; i++) {
    free(made->temporary);
    made->temporary = make_name(made->wanted);
    error = made->temporary != NULL && linkat(AT_FDCWD, path, AT_FDCWD, made->temporary, AT_SYMLINK_FOLLOW) == 0
                ? 0
                : errno;
  }
  if (is_taken && error != 0) {
    free(made->temporary);
    made->temporary = NULL;
  }
  free(path);
  return error;
}

static void finish(warm_new_file *made)
{
  free(made->wanted);
  free(made->temporary);
  *made = (warm_new_file){0};
}

int warm_new_file_commit(warm_new_file *made)
{
  int error = fflush(made->file) != 0 || fsync(fileno(made->file)) != 0 ? errno : 0;
  if (error == 0 && made->temporary == NULL) {
    error = name_file(made);
  }
  if (fclose(made->file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && made->temporary != NULL && rename(made->temporary, made->wanted) != 0) {
    error = errno;
  }
  if (error != 0 && made->temporary != NULL) {
    unlink(made->temporary);
  }
  finish(made);
  return error;
}

void warm_new_file_discard(warm_new_file *made)
{
  if (made->file != NULL) {
    fclose(made->file);
  }
  if (made->temporary != NULL) {
    unlink(made->temporary);
  }
  finish(made);
}
