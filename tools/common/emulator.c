/* SPDX-License-Identifier: Apache-2.0 */
#include "emulator.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libcuda-emulator.so"
#define INSTALLED SJ_EMULATOR_FOLDER "/" LIBRARY /* absolute, or from the program's folder */
#define OF_TREE "../../tests/emulator/lib/" LIBRARY

/* The folder of the program, without a slash at its end; an empty text if it is not known. */
static void find_folder(const char *program, char folder[PATH_MAX])
{
  ssize_t length = 0;
  folder[0] = '\0';
  if (program == NULL) {
    length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[length > 0 ? length : 0] = '\0';
  } else {
    (void)snprintf(folder, PATH_MAX, "%s", program);
  }
  char *slash = strrchr(folder, '/');
  if (slash != NULL) {
    *slash = '\0';
  }
}

/* Whether a folder is that of a tool in a build tree: there each is in a folder of its own name below tools/. */
static bool is_of_tree(const char *folder)
{
  static const char part[] = "/tools/swa-jit-";
  const char *slash = strrchr(folder, '/');
  return slash != NULL && slash - folder >= 6 && strncmp(slash - 6, part, sizeof part - 1) == 0;
}

static bool try_path(const char *folder, const char *path, char *path_out, size_t path_size)
{
  int length =
      path[0] == '/' ? snprintf(path_out, path_size, "%s", path) : snprintf(path_out, path_size, "%s/%s", folder, path);
  return length > 0 && (size_t)length < path_size && access(path_out, R_OK) == 0;
}

bool sj_emulator_find(const char *program, char *path_out, size_t path_size, char *message, size_t message_size)
{
  char folder[PATH_MAX];
  find_folder(program, folder);
  const char *path = is_of_tree(folder) ? OF_TREE : INSTALLED;
  if (try_path(folder, path, path_out, path_size)) {
    return true;
  }
  (void)snprintf(message, message_size,
                 "the emulator is not at %s: install it with the tools (`meson install`), or name it by --cuda",
                 path_out);
  return false;
}

void sj_emulator_choose(const char *arch)
{
  (void)setenv("SWA_JIT_EMULATOR_DEVICE", arch, 1);
}
