/* SPDX-License-Identifier: Apache-2.0 */
#include "store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* A new folder with the mode that the rules say, which no umask has a part in. A file system without modes keeps its
 * own. */
static int make_folder(const sj_os *os, int parent_fd, const char *name, int flags, const sj_trust *trust)
{
  const mode_t mode = sj_trust_folder_mode(trust);
  const bool is_made = os->mkdirat(parent_fd, name, 0700) == 0;
  if (!is_made && errno != EEXIST) { /* EEXIST: another process was faster */
    return -1;
  }
  int fd = sj_os_open(os, parent_fd, name, flags, 0);
  if (fd < 0 || !is_made || mode == 0700) {
    return fd;
  }
  int mode_fd = sj_os_open(os, parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0); /* O_PATH changes no mode */
  if (mode_fd >= 0) {
    os->fchmod(mode_fd, mode);
    os->close(mode_fd);
  }
  return fd;
}

/* Opens one step of a path, and makes the folder when it is missing. Parents need only be passed through, and may be
 * links. */
static int open_step(const sj_os *os, int parent_fd, const char *name, bool is_last, bool may_create,
                     const sj_trust *trust)
{
  int flags = O_DIRECTORY | (is_last ? O_RDONLY | O_NOFOLLOW : O_PATH);
  int fd = sj_os_open(os, parent_fd, name, flags, 0);
  if (fd >= 0 || errno != ENOENT || !may_create) {
    return fd;
  }
  return make_folder(os, parent_fd, name, flags, trust);
}

/* Cuts the next name off path, which has no leading slashes. False, with errno, when a name cannot be so long. */
static bool take_name(const char **path_inout, char name_out[NAME_MAX + 1])
{
  size_t length = strcspn(*path_inout, "/");
  if (length > NAME_MAX) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(name_out, *path_inout, length);
  name_out[length] = '\0';
  *path_inout += length;
  *path_inout += strspn(*path_inout, "/");
  return true;
}

/* The folder's descriptor, or -1 with errno. Step by step, so that a missing parent can be made where it is missing. */
static int open_steps(const sj_os *os, const char *path, bool may_create, const sj_trust *trust)
{
  int fd = sj_os_open(os, AT_FDCWD, path[0] == '/' ? "/" : ".", O_DIRECTORY | O_PATH, 0);
  path += strspn(path, "/");
  bool is_last = false;
  while (fd >= 0 && !is_last) {
    char name[NAME_MAX + 1] = ".";
    int next_fd = -1;
    if (*path == '\0' || take_name(&path, name)) {
      is_last = *path == '\0';
      next_fd = open_step(os, fd, name, is_last, may_create, trust);
    }
    int error = errno;
    os->close(fd);
    errno = error;
    fd = next_fd;
  }
  return fd;
}

static const char *open_remedy(int error)
{
  switch (error) {
  case ENOTDIR:
  case ELOOP:
    return "a part of the path is a file, or its last part a symbolic link: name a real folder with "
           "cache_dir or SWA_JIT_CACHE_DIR";
  case ENOENT:
    return "the folder does not exist and may not be created: name an existing one with cache_dir or "
           "SWA_JIT_CACHE_DIR, or allow writing";
  case EMFILE:
  case ENFILE:
    return "raise the limit of open files (ulimit -n)";
  default:
    return "name a folder that this user may create and write with cache_dir or SWA_JIT_CACHE_DIR";
  }
}

swa_jit_status sj_folder_open(const sj_os *os, const char *path, bool may_create, sj_trust *trust_inout, int *fd_out)
{
  if (path[0] == '\0') {
    return sj_fail(SWA_JIT_STORE_ERROR, "the cubin store's path is empty: name a folder");
  }
  char shown[SJ_PATH_SIZE];
  int fd = open_steps(os, path, may_create, trust_inout);
  if (fd < 0) {
    int error = errno;
    return sj_fail(SWA_JIT_STORE_ERROR, "cannot open the cubin store %s: %s; %s", sj_text_show_path(path, shown),
                   strerror(error), open_remedy(error));
  }
  struct stat status;
  char reason[SJ_REASON_SIZE];
  if (os->fstat(fd, &status) != 0) {
    snprintf(reason, sizeof reason, "%s", strerror(errno));
  } else if (sj_trust_folder(trust_inout, &status, reason)) {
    *fd_out = fd;
    return SWA_JIT_OK;
  }
  os->close(fd);
  return sj_fail(
      SWA_JIT_STORE_ERROR,
      "the cubin store %s is not used: %s. Kernels come from it: make it your own with chown and chmod go-w, or "
      "name another folder with cache_dir or SWA_JIT_CACHE_DIR",
      sj_text_show_path(path, shown), reason);
}

bool sj_folder_is_missing(const sj_os *os, const char *path)
{
  int fd = open_steps(os, path, false, NULL);
  const bool is_missing = fd < 0 && errno == ENOENT;
  if (fd >= 0) {
    os->close(fd);
  }
  return is_missing;
}

int sj_folder_open_in(const sj_os *os, int dir_fd, const char *name, const sj_trust *trust)
{
  int fd = open_step(os, dir_fd, name, true, true, trust);
  struct stat status;
  char reason[SJ_REASON_SIZE];
  if (fd < 0 || (os->fstat(fd, &status) == 0 && sj_trust_file(trust, &status, reason))) {
    return fd;
  }
  os->close(fd);
  errno = EPERM;
  return -1;
}
