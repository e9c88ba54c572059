/* SPDX-License-Identifier: Apache-2.0 */
#include "crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "stop.h"

enum {
  POLL_MS = 200,  /* a signal can come just before a wait begins */
  GRACE_MS = 5000 /* for what is under way, once a signal came: some supervisors kill after ten seconds */
};

typedef struct worker {
  pid_t pid;
  int fd; /* this process's end; -1: none */
  bool is_busy;
  size_t piece;
} worker;

typedef struct crew {
  worker *workers;
  size_t num_workers;
  const size_t *pieces;
  size_t num_pieces, next;
  const warm_crew_calls *calls;
  void *data;
  char *reply; /* WARM_REPLY_SIZE bytes */
  bool is_stop_told;
  long long stop_ms; /* when the first signal was seen */
} crew;

static long long now_ms(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* ---- a worker --------------------------------------------------------------------------------------------- */

static ssize_t receive(int fd, void *bytes, size_t size)
{
  ssize_t count = -1;
  do {
    count = recv(fd, bytes, size, 0);
  } while (count < 0 && errno == EINTR);
  return count;
}

static bool give(int fd, const void *bytes, size_t count)
{
  ssize_t sent = -1;
  do {
    sent = send(fd, bytes, count, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)count;
}

/* Ends with its parent: an end of the socket is then closed. Signals from a terminal reach it too, and are the parent's
 * to heed. */
static void serve(crew *all, int fd)
{
  size_t piece = 0;
  warm_stop_ignore();
  while (receive(fd, &piece, sizeof piece) == (ssize_t)sizeof piece) {
    const size_t count = all->calls->work(all->data, piece, all->reply);
    if (!give(fd, all->reply, count)) {
      break;
    }
  }
  _exit(0); /* buffers and handlers are the parent's */
}

/* ---- this process ----------------------------------------------------------------------------------------- */

static bool start(crew *all, worker *new_worker)
{
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return false;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    for (size_t i = 0; i < all->num_workers; i++) {
      if (all->workers[i].fd >= 0) {
        close(all->workers[i].fd); /* else it would keep another's socket open when the parent is gone */
      }
    }
    close(ends[0]);
    serve(all, ends[1]);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return false;
  }
  *new_worker = (worker){.pid = pid, .fd = ends[0]};
  return true;
}

/* How a worker ended. Where this process's parent ignores SIGCHLD, no one can tell. */
static void reap(worker *gone, char *why, size_t why_size)
{
  int status = 0;
  pid_t pid = -1;
  close(gone->fd);
  gone->fd = -1;
  do {
    pid = waitpid(gone->pid, &status, 0);
  } while (pid < 0 && errno == EINTR);
  if (pid == gone->pid && WIFSIGNALED(status)) {
    snprintf(why, why_size, "its worker process was ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  } else if (pid == gone->pid) {
    snprintf(why, why_size, "its worker process ended with status %d and no answer", WEXITSTATUS(status));
  } else {
    snprintf(why, why_size, "its worker process ended without an answer");
  }
}

static bool has_pieces(const crew *all)
{
  return all->next < all->num_pieces && warm_stop_count() == 0;
}

/* The next piece to a worker that has none, which is started first where it is gone. */
static void hand_out(crew *all)
{
  for (size_t i = 0; i < all->num_workers && has_pieces(all); i++) {
    worker *each = &all->workers[i];
    if (each->is_busy || (each->fd < 0 && !start(all, each))) {
      continue;
    }
    each->piece = all->pieces[all->next];
    if (give(each->fd, &each->piece, sizeof each->piece)) {
      each->is_busy = true;
      all->next++;
    } else { /* it died with no piece; the piece goes to another */
      char why[128];
      reap(each, why, sizeof why);
    }
  }
}

static size_t count_busy(const crew *all)
{
  size_t count = 0;
  for (size_t i = 0; i < all->num_workers; i++) {
    count += all->workers[i].is_busy;
  }
  return count;
}

static void take(crew *all, worker *from)
{
  const ssize_t count = receive(from->fd, all->reply, WARM_REPLY_SIZE);
  from->is_busy = false;
  if (count > 0) {
    all->calls->take_reply(all->data, from->piece, all->reply, (size_t)count);
    return;
  }
  char why[128];
  reap(from, why, sizeof why);
  if (warm_stop_count() < 2) {
    all->calls->take_death(all->data, from->piece, why);
  }
}

static void wait_for_replies(crew *all, struct pollfd *polled)
{
  for (size_t i = 0; i < all->num_workers; i++) { /* a negative descriptor is passed over */
    polled[i] = (struct pollfd){.fd = all->workers[i].is_busy ? all->workers[i].fd : -1, .events = POLLIN};
  }
  if (poll(polled, all->num_workers, POLL_MS) <= 0) {
    return;
  }
  for (size_t i = 0; i < all->num_workers; i++) {
    if (polled[i].revents != 0) {
      take(all, &all->workers[i]);
    }
  }
}

/* True when what is under way is not waited for any longer. */
static bool is_over(crew *all)
{
  if (warm_stop_count() == 0) {
    return false;
  }
  if (!all->is_stop_told) {
    all->is_stop_told = true;
    all->stop_ms = now_ms();
    all->calls->tell_stop(all->data, count_busy(all));
  }
  return warm_stop_count() > 1 || now_ms() - all->stop_ms > GRACE_MS;
}

static void dismiss(crew *all)
{
  for (size_t i = 0; i < all->num_workers; i++) {
    worker *each = &all->workers[i];
    char why[128];
    if (each->fd >= 0) {
      if (each->is_busy) { /* of a stop alone: the store bears a writer's death */
        kill(each->pid, SIGKILL);
      }
      shutdown(each->fd, SHUT_RDWR);
      reap(each, why, sizeof why);
    }
  }
}

/* What is left where the system gives no process. */
static void work_alone(crew *all)
{
  while (has_pieces(all)) {
    const size_t piece = all->pieces[all->next++];
    const size_t count = all->calls->work(all->data, piece, all->reply);
    all->calls->take_reply(all->data, piece, all->reply, count);
  }
}

void warm_crew_run(size_t num_workers, const size_t *pieces, size_t num_pieces, const warm_crew_calls *calls,
                   void *data)
{
  signal(SIGCHLD, SIG_DFL); /* ignored by a parent, it would hide how a worker ended */
  crew all = {.num_workers = num_workers < num_pieces ? num_workers : num_pieces,
              .pieces = pieces,
              .num_pieces = num_pieces,
              .calls = calls,
              .data = data};
  all.workers = sj_memory_get(all.num_workers, sizeof *all.workers);
  all.reply = sj_memory_get(WARM_REPLY_SIZE, 1);
  struct pollfd *polled = sj_memory_get(all.num_workers, sizeof *polled);
  for (size_t i = 0; i < all.num_workers; i++) {
    all.workers[i].fd = -1;
  }
  hand_out(&all);
  while (count_busy(&all) > 0 && !is_over(&all)) {
    wait_for_replies(&all, polled);
    hand_out(&all);
  }
  dismiss(&all);
  work_alone(&all);
  free(polled);
  free(all.reply);
  free(all.workers);
}
