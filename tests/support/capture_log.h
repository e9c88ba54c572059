/* SPDX-License-Identifier: Apache-2.0 */
/* A log that keeps its lines. Any thread may write; read when none does. */
#ifndef SJ_CAPTURE_LOG_H
#define SJ_CAPTURE_LOG_H

#include <pthread.h>
#include <stdbool.h>

#include "log.h"
#include "text.h"

typedef struct capture_log {
  sj_log log; /* for stages */
  pthread_mutex_t mutex;
  sj_text text;          /* the lines, each with a newline */
  unsigned num_lines[5]; /* by level */
} capture_log;

/* level: the highest that is kept. The struct must not move afterwards. */
void capture_log_init(capture_log *capture, uint32_t level);
void capture_log_finish(capture_log *capture);
void capture_log_clear(capture_log *capture);

/* A swa_jit_log_fn; log_data is the capture_log. */
void capture_log_write(void *log_data, uint32_t level, const char *line);

bool capture_log_has(const capture_log *capture, const char *part);
unsigned capture_log_count(const capture_log *capture, uint32_t level);

#endif
