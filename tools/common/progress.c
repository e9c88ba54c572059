/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

static const char clear_line[] = "\r\033[K";

static int terminal_width(FILE *file)
{
  struct winsize size;
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col < 20) {
    return 80;
  }
  return size.ws_col;
}

void sj_progress_init(sj_progress *progress, FILE *file, bool is_silent, size_t total)
{
  *progress = (sj_progress){.file = file, .is_silent = is_silent, .total = total};
  progress->is_terminal = isatty(fileno(file)) == 1;
  pthread_mutex_init(&progress->mutex, NULL);
}

void sj_progress_step(sj_progress *progress, const char *text)
{
  pthread_mutex_lock(&progress->mutex);
  progress->done++;
  if (progress->is_silent) {
    pthread_mutex_unlock(&progress->mutex);
    return;
  }
  char count[48];
  int used = snprintf(count, sizeof count, "[%zu/%zu] ", progress->done, progress->total);
  if (progress->is_terminal) {
    /* One column less than there are: a full line would wrap and stay. */
    int room = terminal_width(progress->file) - used - 1;
    fprintf(progress->file, "%s%s%.*s", clear_line, count, room > 0 ? room : 0, text);
  } else {
    fprintf(progress->file, "%s%s\n", count, text);
  }
  fflush(progress->file);
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
