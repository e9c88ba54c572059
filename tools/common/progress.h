/* SPDX-License-Identifier: Apache-2.0 */
/* How far a tool is: one line that is overwritten on a terminal, a plain line a step elsewhere. Several threads
 * may step. */
#ifndef SJ_PROGRESS_H
#define SJ_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct sj_progress {
  FILE *file;
  pthread_mutex_t mutex;
  bool is_terminal;
  bool is_silent; /* steps print nothing; lines still do */
  size_t done, total;
  uint64_t period_ns; /* between two that sj_progress_count prints */
  uint64_t told_ns;   /* when it printed, or the start */
} sj_progress;

void sj_progress_init(sj_progress *progress, FILE *file, bool is_silent, size_t total);
/* One more is done: "[3/8] text". */
void sj_progress_step(sj_progress *progress, const char *text);
/* So many of many small ones are done (total 0: nobody knows of how many): "[300/4000] text", but only now and then,
 * ten times a second on a terminal and each ten seconds elsewhere: what is done sooner prints nothing. */
void sj_progress_count(sj_progress *progress, size_t done, size_t total, const char *text);
/* A line that stays: a warning, say. */
void sj_progress_line(sj_progress *progress, const char *text);
/* Removes the passing line from the terminal. */
void sj_progress_clear(sj_progress *progress);
void sj_progress_finish(sj_progress *progress);

#endif
