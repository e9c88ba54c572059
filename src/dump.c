/* SPDX-License-Identifier: Apache-2.0 */
#include "dump.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "text.h"

static void write_file(const sj_os *os, const sj_log *log, const char *path, const void *bytes, size_t count)
{
  int fd = sj_os_open(os, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0644);
  bool is_written = fd >= 0 && sj_os_may_write(count) && sj_os_write_all(os, fd, bytes, count);
  int error = errno;
  if (fd >= 0 && os->close(fd) != 0 && is_written) {
    error = errno; /* a network file system tells of a full disk here */
    is_written = false;
  }
  if (!is_written) {
    char reason[128];
    sj_log_line(log, SWA_JIT_LOG_WARN,
                "%s could not be written: %s; dump_dir or SWA_JIT_DUMP_DIR must name an existing folder with room",
                path, strerror_r(error, reason, sizeof reason));
  }
}

void sj_dump_write(const sj_os *os, const sj_log *log, const char *folder, const sj_key *key, const char *ending,
                   const void *bytes, size_t count)
{
  if (folder == NULL || bytes == NULL) {
    return;
  }
  const char *dot = strrchr(key->file_name, '.');
  size_t stem_length = dot != NULL ? (size_t)(dot - key->file_name) : strlen(key->file_name);
  sj_text path = {0};
  sj_text_add_format(&path, "%s/%.*s%s", folder, (int)stem_length, key->file_name, ending);
  if (!path.failed) {
    write_file(os, log, path.data, bytes, count);
  }
  sj_text_finish(&path);
}
