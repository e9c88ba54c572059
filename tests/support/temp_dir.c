/* SPDX-License-Identifier: Apache-2.0 */
#include "temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int temp_dir_setup(void **state)
{
  const char *parent = getenv("TMPDIR");
  char *path = temp_dir_join(parent == NULL || parent[0] != '/' ? "/tmp" : parent, "swa-jit-test-XXXXXX");
  if (path == NULL || mkdtemp(path) == NULL) {
    free(path);
    return -1;
  }
  *state = path;
  return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status;
  (void)type;
  (void)place;
  return remove(path);
}

/* A test may have taken write permission away from a folder: give it back, or what is inside stays for ever. */
static int open_up(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status;
  (void)place;
  return type == FTW_D || type == FTW_DNR ? chmod(path, 0700) : 0;
}

int temp_dir_teardown(void **state)
{
  char *path = *state;
  nftw(path, open_up, 16, FTW_PHYS);
  int result = nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(path);
  return result;
}

char *temp_dir_join(const char *folder, const char *name)
{
  char *path = NULL;
  return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

bool temp_dir_write(const char *path, const void *bytes, size_t count)
{
  FILE *file = fopen(path, "wb");
  if (file == NULL) {
    return false;
  }
  /* Whatever the umask: the store refuses an entry that a group may write to. */
  bool ok = fchmod(fileno(file), 0644) == 0 && (count == 0 || fwrite(bytes, 1, count, file) == count);
  return fclose(file) == 0 && ok;
}

bool temp_dir_read(const char *path, char **bytes_out, size_t *count_out)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return false;
  }
  struct stat status;
  bool ok = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  size_t count = ok ? (size_t)status.st_size : 0;
  char *bytes = ok ? calloc(1, count + 1) : NULL;
  ok = bytes != NULL && fread(bytes, 1, count, file) == count;
  fclose(file);
  if (!ok) {
    free(bytes);
    return false;
  }
  *bytes_out = bytes;
  *count_out = count;
  return true;
}

/* Counts the names that contain part; the first one's path goes to *first_out if asked for. */
static int scan(const char *folder, const char *part, char **first_out)
{
  DIR *dir = opendir(folder);
  if (dir == NULL) {
    return -1;
  }
  int count = 0;
  for (struct dirent *found = readdir(dir); found != NULL; found = readdir(dir)) {
    bool is_dots = strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0;
    if (is_dots || strstr(found->d_name, part) == NULL) {
      continue;
    }
    if (count == 0 && first_out != NULL) {
      *first_out = temp_dir_join(folder, found->d_name);
    }
    count++;
  }
  closedir(dir);
  return count;
}

int temp_dir_count(const char *folder, const char *part)
{
  return scan(folder, part, NULL);
}

char *temp_dir_find(const char *folder, const char *part)
{
  char *path = NULL;
  scan(folder, part, &path);
  return path;
}
