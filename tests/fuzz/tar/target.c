/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an archive: any bytes are refused with a problem or give files whose names are whole and whose contents
 * lie inside them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

/* Makes the sums of what looks like headers right: no fuzzer guesses them, and what lies behind is to be reached. */
static void seal(uint8_t *bytes, size_t count)
{
  for (size_t at = 0; at + 512 <= count; at += 512) {
    uint8_t *header = bytes + at;
    unsigned sum = 0;
    if (memcmp(header + 257, "ustar", 5) != 0) {
      continue;
    }
    memset(header + 148, ' ', 8);
    for (unsigned i = 0; i < 512; i++) {
      sum += header[i];
    }
    snprintf((char *)header + 148, 7, "%06o", sum);
  }
}

static void read_all(const uint8_t *bytes, size_t count)
{
  sj_tar_reader reader = {.file = fmemopen((void *)(uintptr_t)bytes, count, "r")};
  sj_tar_member member;
  sj_tar_result result = SJ_TAR_END;
  uint64_t total = 0;
  demand(reader.file != NULL);
  while ((result = sj_tar_next(&reader, &member)) == SJ_TAR_MEMBER) {
    demand(memchr(member.name, '\0', sizeof member.name) != NULL);
    if (member.size > count) { /* more than there is: passed over, which must fail */
      continue;
    }
    void *content = malloc(member.size != 0 ? (size_t)member.size : 1);
    demand(content != NULL);
    if (sj_tar_read(&reader, content)) {
      total += member.size;
    }
    free(content);
  }
  demand(total <= count && (result == SJ_TAR_WRONG) == (reader.problem[0] != '\0'));
  fclose(reader.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  if (count == 0) {
    return 0;
  }
  uint8_t *sealed = malloc(count);
  demand(sealed != NULL);
  memcpy(sealed, bytes, count);
  read_all(sealed, count);
  seal(sealed, count);
  read_all(sealed, count);
  free(sealed);
  return 0;
}
