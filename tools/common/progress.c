/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

static const char clear_line[] = "\r\033[K";

static int terminal_width(FILE *file)
{
  struct winsize size;
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col < 20) {
    return 80;
  }
  return size.ws_col;
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void sj_progress_init(sj_progress *progress, FILE *file, bool is_silent, size_t total)
{
  *progress = (sj_progress){.file = file, .is_silent = is_silent, .total = total, .told_ns = now_ns()};
  progress->is_terminal = isatty(fileno(file)) == 1;
  progress->period_ns = progress->is_terminal ? NS_PER_S / 10 : 10 * NS_PER_S;
  pthread_mutex_init(&progress->mutex, NULL);
}

/* Under the mutex. On a terminal one column less than there are: a full line would wrap and stay. */
static void print_step(const sj_progress *progress, const char *count, const char *text)
{
  if (progress->is_terminal) {
    const int room = terminal_width(progress->file) - (int)strlen(count) - 1;
    fprintf(progress->file, "%s%s%.*s", clear_line, count, room > 0 ? room : 0, text);
  } else {
    fprintf(progress->file, "%s%s\n", count, text);
  }
  fflush(progress->file);
}

void sj_progress_step(sj_progress *progress, const char *text)
{
  char count[48];
  pthread_mutex_lock(&progress->mutex);
  progress->done++;
  snprintf(count, sizeof count, "[%zu/%zu] ", progress->done, progress->total);
  if (!progress->is_silent) {
    print_step(progress, count, text);
  }
  pthread_mutex_unlock(&progress->mutex);
}

void sj_progress_count(sj_progress *progress, size_t done, size_t total, const char *text)
{
  char count[48];
  pthread_mutex_lock(&progress->mutex);
  const uint64_t now = now_ns();
  if (!progress->is_silent && now - progress->told_ns >= progress->period_ns) {
    progress->told_ns = now;
    if (total > 0) {
      snprintf(count, sizeof count, "[%zu/%zu] ", done, total);
    } else {
      snprintf(count, sizeof count, "[%zu] ", done);
    }
    print_step(progress, count, text);
  }
  pthread_mutex_unlock(&progress->mutex);
}

void sj_progress_line(sj_progress *progress, const char *text)
{
  pthread_mutex_lock(&progress->mutex);
  fprintf(progress->file, "%s%s\n", progress->is_terminal ? clear_line : "", text);
  fflush(progress->file);
  pthread_mutex_unlock(&progress->mutex);
}

void sj_progress_clear(sj_progress *progress)
{
  if (progress->is_terminal && !progress->is_silent) {
    fputs(clear_line, progress->file);
    fflush(progress->file);
  }
}

void sj_progress_finish(sj_progress *progress)
{
  pthread_mutex_destroy(&progress->mutex);
}
