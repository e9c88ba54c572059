/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes that do their work, die, are stopped, or cannot be had. Each case runs in a process of its own, as a
 * signal that came once stays noted. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crew.h"
#include "stop.h"
#include "test_main.h"

enum { MOST_PIECES = 64, DIES = 7 /* the piece whose worker does */, LONG = 1 /* the piece that takes long_ms */ };

/* Shared by all processes. */
typedef struct board {
  atomic_int num_done[MOST_PIECES]; /* by workers */
  atomic_int num_workers, last_pid;
  atomic_int long_ms;
  atomic_int kill_signal; /* with which the worker of DIES ends itself; 0: it goes on */
} board;
static board *shared;

/* What this process was told. */
typedef struct told {
  int num_replies[MOST_PIECES], num_deaths, num_stops;
  size_t under_way;
  int stop_after;  /* replies; then raise stop_signals */
  int num_signals; /* raised at once */
  int count;
  char why[128];
} told;

static void sleep_ms(int milliseconds)
{
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

static size_t work(void *data, size_t piece, void *reply)
{
  (void)data;
  if (atomic_exchange(&shared->last_pid, (int)getpid()) != (int)getpid()) {
    atomic_fetch_add(&shared->num_workers, 1);
  }
  if (piece == DIES && shared->kill_signal != 0) {
    raise(shared->kill_signal);
  }
  sleep_ms(piece == LONG ? shared->long_ms : 0);
  atomic_fetch_add(&shared->num_done[piece], 1);
  memcpy(reply, &piece, sizeof piece);
  return sizeof piece;
}

static void take_reply(void *data, size_t piece, const void *reply, size_t reply_bytes)
{
  told *all = data;
  if (reply_bytes != sizeof piece || memcmp(reply, &piece, sizeof piece) != 0) {
    _exit(10);
  }
  all->num_replies[piece]++;
  all->count++;
  for (int i = 0; all->count == all->stop_after && i < all->num_signals; i++) {
    raise(SIGTERM);
  }
}

static void take_death(void *data, size_t piece, const char *why)
{
  told *all = data;
  if (piece != DIES) {
    _exit(11);
  }
  all->num_deaths++;
  snprintf(all->why, sizeof all->why, "%s", why);
}

static void tell_stop(void *data, size_t num_under_way)
{
  told *all = data;
  all->num_stops++;
  all->under_way = num_under_way;
}

static void run(size_t num_workers, size_t num_pieces, told *all)
{
  static const warm_crew_calls calls = {work, take_reply, take_death, tell_stop};
  size_t pieces[MOST_PIECES];
  for (size_t i = 0; i < num_pieces; i++) {
    pieces[i] = i;
  }
  warm_stop_begin();
  warm_crew_run(num_workers, pieces, num_pieces, &calls, all);
}

/* Whether the case holds in a process of its own. */
static bool holds(bool (*check)(void))
{
  int status = -1;
  memset(shared, 0, sizeof *shared);
  pid_t pid = fork();
  if (pid == 0) {
    _exit(check() ? 0 : 1);
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Each piece but except was done and answered once. */
static bool is_each_done(const told *all, size_t num_pieces, size_t except)
{
  for (size_t i = 0; i < num_pieces; i++) {
    const int expected = i != except;
    if (all->num_replies[i] != expected || shared->num_done[i] != expected) {
      return false;
    }
  }
  return true;
}

/* No process of this one is left: waitpid has none. */
static bool is_alone(void)
{
  return waitpid(-1, NULL, 0) < 0 && errno == ECHILD;
}

static bool each_number_of_workers(void)
{
  static const size_t numbers[] = {1, 2, 5, 64, 1000};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    told all = {0};
    memset(shared, 0, sizeof *shared);
    run(numbers[i], MOST_PIECES, &all);
    if (!is_each_done(&all, MOST_PIECES, MOST_PIECES) || all.num_stops != 0 || !is_alone()) {
      return false;
    }
  }
  told none = {0};
  run(4, 0, &none);
  return none.count == 0;
}

static void every_piece_is_done_once(void **state)
{
  (void)state;
  assert_true(holds(each_number_of_workers));
}

static bool one_dies(void)
{
  told all = {0};
  run(2, 20, &all);
  return is_each_done(&all, 20, DIES) && all.num_deaths == 1 && strstr(all.why, "ended by signal 9") != NULL
         && is_alone();
}

static bool killed(void)
{
  shared->kill_signal = SIGKILL;
  return one_dies();
}

static bool killed_alone(void)
{
  told all = {0};
  shared->kill_signal = SIGKILL;
  run(1, 20, &all);
  return is_each_done(&all, 20, DIES) && all.num_deaths == 1;
}

/* A parent's SIG_IGN survives exec: then the system keeps no word of how a child ended. */
static bool killed_under_a_parent_that_ignores_children(void)
{
  signal(SIGCHLD, SIG_IGN);
  return killed();
}

static void worker_that_dies_costs_its_piece_alone(void **state)
{
  (void)state;
  assert_true(holds(killed));
  assert_true(holds(killed_alone));
  assert_true(holds(killed_under_a_parent_that_ignores_children));
}

static bool no_descriptors(void)
{
  told all = {.stop_after = 12, .num_signals = 1};
  const struct rlimit limit = {3, 3};
  setrlimit(RLIMIT_NOFILE, &limit);
  run(4, 20, &all);
  /* All by this process, and a signal ends it between two pieces. */
  return all.count == 12 && shared->num_workers == 1 && shared->last_pid == (int)getpid();
}

static void without_processes_the_work_is_done_here(void **state)
{
  (void)state;
  assert_true(holds(no_descriptors));
}

static bool one_signal(void)
{
  told all = {.stop_after = 5, .num_signals = 1};
  shared->long_ms = 1000; /* it is under way when the signal comes */
  run(3, MOST_PIECES, &all);
  int num_done = 0;
  for (size_t i = 0; i < MOST_PIECES; i++) {
    num_done += shared->num_done[i];
    if (shared->num_done[i] != all.num_replies[i]) {
      return false;
    }
  }
  return num_done >= 5 && num_done <= 8 && shared->num_done[LONG] == 1 && all.num_stops == 1 && all.num_deaths == 0
         && warm_stop_signal() == SIGTERM && is_alone();
}

static bool two_signals(void)
{
  told all = {.stop_after = 1, .num_signals = 2};
  shared->kill_signal = SIGSTOP; /* hangs: nothing would come of it */
  const size_t pieces[] = {DIES, 0};
  static const warm_crew_calls calls = {work, take_reply, take_death, tell_stop};
  warm_stop_begin();
  warm_crew_run(2, pieces, 2, &calls, &all);
  return all.count == 1 && all.num_deaths == 0 && is_alone();
}

static bool nohup(void)
{
  told all = {.stop_after = 5, .num_signals = 1};
  signal(SIGTERM, SIG_IGN);
  run(2, 20, &all);
  return is_each_done(&all, 20, MOST_PIECES) && warm_stop_count() == 0;
}

static void signal_finishes_what_is_under_way_and_a_second_one_does_not(void **state)
{
  (void)state;
  assert_true(holds(one_signal));
  assert_true(holds(two_signals));
  assert_true(holds(nohup));
}

static void workers_end_with_their_parent(void **state)
{
  told all = {0};
  (void)state;
  memset(shared, 0, sizeof *shared);
  shared->long_ms = 500;
  pid_t pid = fork();
  if (pid == 0) {
    run(2, MOST_PIECES, &all);
    _exit(0);
  }
  while (shared->last_pid == 0) {
    sleep_ms(1);
  }
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  const pid_t orphan = shared->last_pid;
  for (int i = 0; i < 10000 && kill(orphan, 0) == 0; i++) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)orphan);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
      size_t count = fread(text, 1, sizeof text - 1, file);
      fclose(file);
      text[count] = '\0';
    }
    if (strstr(text, ") Z ") != NULL) {
      return; /* ended, and nobody has asked for it */
    }
    sleep_ms(1);
  }
  assert_int_equal(kill(orphan, 0), -1);
}

int main(void)
{
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_piece_is_done_once),
      cmocka_unit_test(worker_that_dies_costs_its_piece_alone),
      cmocka_unit_test(without_processes_the_work_is_done_here),
      cmocka_unit_test(signal_finishes_what_is_under_way_and_a_second_one_does_not),
      cmocka_unit_test(workers_end_with_their_parent),
  };
  return SJ_TEST_RUN(tests);
}
