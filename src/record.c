/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

enum { LINE_SIZE = 512 };

/* One write, so that lines of several processes do not mix; NULL, or what went wrong. */
static const char *append(const sj_os *os, int fd, const char *line, size_t length)
{
  struct stat status;
  if (os->fstat(fd, &status) != 0) {
    return strerror(errno);
  }
  if (S_ISREG(status.st_mode) && !sj_os_may_write((uint64_t)status.st_size + length)) {
    return "the limit of file sizes (ulimit -f) is reached";
  }
  ssize_t count = -1;
  do {
    count = os->write(fd, line, length);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return strerror(errno);
  }
  return (size_t)count < length ? "the line was cut: is the disk full?" : NULL;
}

void sj_record_add(const sj_os *os, const sj_log *log, const char *path, const swa_jit_config *config)
{
  char text[LINE_SIZE - 1], line[LINE_SIZE];
  sj_kept_message kept;
  sj_message_keep(&kept);
  if (sj_config_to_text(config, text, sizeof text) != SWA_JIT_OK) {
    sj_log_line(log, SWA_JIT_LOG_WARN, "record: a configuration is not recorded: %s", sj_message());
    sj_message_restore(SWA_JIT_OK, &kept);
    return;
  }
  snprintf(line, sizeof line, "%s\n", text);
  /* Not blocking: the path of a pipe that nobody reads must not stop the caller. */
  int fd = sj_os_open(os, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0644);
  const char *trouble = fd < 0 ? strerror(errno) : append(os, fd, line, strlen(line));
  if (fd >= 0 && os->close(fd) != 0 && trouble == NULL && errno != EINTR) {
    trouble = strerror(errno);
  }
  if (trouble != NULL) {
    sj_log_line(log, SWA_JIT_LOG_WARN,
                "record: cannot add a line to %s: %s; name a writable file with record_path or SWA_JIT_RECORD", path,
                trouble);
  }
}
