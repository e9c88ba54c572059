/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of the folders named on the command line: the corpus as a plain test, in any
 * build. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* False when the file cannot be read. The block is exactly as large as the file, so that a sanitizer sees a read past
 * it. */
static int run_file(const char *path)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return 0;
  }
  long count = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  uint8_t *bytes = count < 0 ? NULL : malloc(count == 0 ? 1 : (size_t)count);
  int ok = bytes != NULL && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, (size_t)count, file) == (size_t)count;
  fclose(file);
  if (ok) {
    LLVMFuzzerTestOneInput(bytes, (size_t)count);
  }
  free(bytes);
  return ok;
}

/* The number of inputs run; -1 when one cannot be read. */
static int run_folder(const char *folder)
{
  DIR *listing = opendir(folder);
  if (listing == NULL) {
    return -1;
  }
  int num_inputs = 0;
  struct dirent *found = NULL;
  while (num_inputs >= 0 && (found = readdir(listing)) != NULL) {
    char path[4096];
    if (found->d_name[0] == '.') {
      continue;
    }
    int length = snprintf(path, sizeof path, "%s/%s", folder, found->d_name);
    num_inputs = length < (int)sizeof path && run_file(path) ? num_inputs + 1 : -1;
  }
  closedir(listing);
  return num_inputs;
}

int main(int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    int num_inputs = run_folder(argv[i]);
    if (num_inputs <= 0) {
      fprintf(stderr, "%s: no inputs, or one that cannot be read\n", argv[i]);
      return 1;
    }
    printf("%s: %d inputs\n", argv[i], num_inputs);
  }
  return argc > 1 ? 0 : 1;
}
