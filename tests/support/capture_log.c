/* SPDX-License-Identifier: Apache-2.0 */
#include "capture_log.h"

#include <string.h>

void capture_log_init(capture_log *capture, uint32_t level)
{
  memset(capture, 0, sizeof *capture);
  pthread_mutex_init(&capture->mutex, NULL);
  capture->log = (sj_log){.write = capture_log_write, .data = capture, .level = level};
}

void capture_log_finish(capture_log *capture)
{
  pthread_mutex_destroy(&capture->mutex);
  sj_text_finish(&capture->text);
}

void capture_log_clear(capture_log *capture)
{
  sj_text_finish(&capture->text);
  memset(capture->num_lines, 0, sizeof capture->num_lines);
}

void capture_log_write(void *log_data, uint32_t level, const char *line)
{
  capture_log *capture = log_data;
  pthread_mutex_lock(&capture->mutex);
  sj_text_add(&capture->text, line);
  sj_text_add(&capture->text, "\n");
  if (level < sizeof capture->num_lines / sizeof capture->num_lines[0]) {
    capture->num_lines[level]++;
  }
  pthread_mutex_unlock(&capture->mutex);
}

bool capture_log_has(const capture_log *capture, const char *part)
{
  return capture->text.data != NULL && strstr(capture->text.data, part) != NULL;
}

unsigned capture_log_count(const capture_log *capture, uint32_t level)
{
  return level < sizeof capture->num_lines / sizeof capture->num_lines[0] ? capture->num_lines[level] : 0;
}
