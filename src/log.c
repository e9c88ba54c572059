/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "status.h"

/* A whole message and the words around it. Longer text is cut. */
#define LINE_SIZE (SJ_MESSAGE_SIZE + 512)

static bool is_written(const sj_log *log, uint32_t level)
{
  return log != NULL && log->write != NULL && level <= log->level;
}

/* The callback receives one line a call: text that carries newlines (a compiler's report) becomes several calls. */
static void write_lines(const sj_log *log, uint32_t level, char *text)
{
  for (char *line = text; line != NULL;) {
    char *newline = strchr(line, '\n');
    if (newline != NULL) {
      *newline = '\0';
    }
    log->write(log->data, level, line);
    line = newline == NULL || newline[1] == '\0' ? NULL : newline + 1;
  }
}

void sj_log_line(const sj_log *log, uint32_t level, const char *format, ...)
{
  if (!is_written(log, level)) {
    return;
  }
  char text[LINE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length >= 0) {
    write_lines(log, level, text);
  }
}

void sj_log_source(const sj_log *log, const char *source, unsigned line_number, unsigned context)
{
  if (!is_written(log, SWA_JIT_LOG_ERROR)) {
    return;
  }
  unsigned first = line_number > context ? line_number - context : 1;
  unsigned number = 1;
  for (const char *line = source; *line != '\0'; number++) {
    size_t length = strcspn(line, "\n");
    bool is_near = number >= first && (number <= line_number || number - line_number <= context);
    if (is_near) {
      int shown = length > SJ_MESSAGE_SIZE ? SJ_MESSAGE_SIZE : (int)length;
      sj_log_line(log, SWA_JIT_LOG_ERROR, "%s%5u | %.*s", number == line_number ? ">" : " ", number, shown, line);
    }
    line += length + (line[length] == '\n');
  }
}
