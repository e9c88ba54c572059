/* SPDX-License-Identifier: Apache-2.0 */
#include "file_lock.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>

enum { STACK_BYTES = 256 * 1024 };

typedef struct lock_attempt {
  const sj_os *os;
  int fd;
  int operation;
  pthread_mutex_t mutex;
  pthread_cond_t is_over;
  bool is_done;
  bool is_abandoned; /* nobody waits any more: the thread clears up */
  int error;
} lock_attempt;

static void destroy(lock_attempt *attempt)
{
  pthread_cond_destroy(&attempt->is_over);
  pthread_mutex_destroy(&attempt->mutex);
  free(attempt);
}

static lock_attempt *create(const sj_os *os, int fd, int operation)
{
  lock_attempt *attempt = calloc(1, sizeof *attempt);
  pthread_condattr_t attributes;
  if (attempt == NULL) {
    return NULL;
  }
  attempt->os = os;
  attempt->fd = fd;
  attempt->operation = operation;
  pthread_mutex_init(&attempt->mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&attempt->is_over, &attributes);
  pthread_condattr_destroy(&attributes);
  return attempt;
}

static void *run(void *argument)
{
  lock_attempt *attempt = argument;
  int error = attempt->os->flock(attempt->fd, attempt->operation | LOCK_NB) == 0 ? 0 : errno;
  pthread_mutex_lock(&attempt->mutex);
  attempt->error = error;
  attempt->is_done = true;
  bool is_abandoned = attempt->is_abandoned;
  pthread_cond_signal(&attempt->is_over);
  pthread_mutex_unlock(&attempt->mutex);
  if (is_abandoned) {
    attempt->os->close(attempt->fd);
    destroy(attempt);
  }
  return NULL;
}

/* With every signal blocked: the host's handlers are not for a thread of ours. */
static int start(lock_attempt *attempt, pthread_t *thread_out)
{
  sigset_t all, before;
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) {
    return error;
  }
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  error = pthread_create(thread_out, &attributes, run, attempt);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

/* True when the answer came in time. */
static bool wait_for_answer(lock_attempt *attempt, unsigned bound_ms)
{
  const uint64_t end_ns = sj_os_now_ns() + (uint64_t)bound_ms * 1000000u;
  const struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u), .tv_nsec = (long)(end_ns % 1000000000u)};
  int result = 0;
  pthread_mutex_lock(&attempt->mutex);
  while (!attempt->is_done && result == 0) {
    result = pthread_cond_timedwait(&attempt->is_over, &attempt->mutex, &end);
  }
  bool is_done = attempt->is_done;
  attempt->is_abandoned = !is_done;
  pthread_mutex_unlock(&attempt->mutex);
  return is_done;
}

/* The thread may outlive the last user of the library: its code must stay mapped. */
static void pin_code(void)
{
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) != 0 && info.dli_fname != NULL) {
    void *self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (self != NULL) {
      dlclose(self);
    }
  }
}

int sj_file_lock_try(const sj_os *os, int *fd_inout, int operation, unsigned bound_ms)
{
  pthread_t thread;
  lock_attempt *attempt = create(os, *fd_inout, operation);
  if (attempt == NULL || start(attempt, &thread) != 0) {
    if (attempt != NULL) {
      destroy(attempt);
    }
    return ENOMEM;
  }
  if (!wait_for_answer(attempt, bound_ms)) {
    pin_code();
    pthread_detach(thread);
    *fd_inout = -1;
    return ETIME;
  }
  pthread_join(thread, NULL);
  int error = attempt->error;
  destroy(attempt);
  return error;
}
