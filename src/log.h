/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's log: level tested before formatting, one finished line a call. Stages log at debug level; warnings are
 * for what succeeded all the same; api.c logs a failure once. */
#ifndef SJ_LOG_H
#define SJ_LOG_H

#include "swa_jit/swa_jit.h"

typedef struct sj_log {
  swa_jit_log_fn write; /* NULL: silence */
  void *data;
  uint32_t level; /* the highest level that is written */
} sj_log;

/* log may be NULL. */
void sj_log_line(const sj_log *log, uint32_t level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints the lines of source around line_number (1-based), numbered, at error level. */
void sj_log_source(const sj_log *log, const char *source, unsigned line_number, unsigned context);

#endif
