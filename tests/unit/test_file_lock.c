/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_os.h"
#include "file_lock.h"
#include "temp_dir.h"

enum { LONG_MS = 60000, NOBODY = 65534 };

static int open_file(const char *folder)
{
  char *path = temp_dir_join(folder, "lock");
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  free(path);
  return fd;
}

static void try_takes_a_free_lock_and_tells_a_held_one(void **state)
{
  int first = open_file(*state);
  int second = open_file(*state);
  assert_int_equal(sj_file_lock_try(sj_os_system(), &first, LOCK_EX, LONG_MS), 0);
  assert_int_equal(sj_file_lock_try(sj_os_system(), &second, LOCK_EX, LONG_MS), EWOULDBLOCK);
  assert_int_equal(sj_file_lock_try(sj_os_system(), &second, LOCK_SH, LONG_MS), EWOULDBLOCK);
  assert_int_equal(sj_file_lock_try(sj_os_system(), &first, LOCK_SH, LONG_MS), 0);
  assert_int_equal(sj_file_lock_try(sj_os_system(), &second, LOCK_SH, LONG_MS), 0);
  assert_int_equal(sj_file_lock_try(sj_os_system(), &first, LOCK_UN, LONG_MS), 0);
  assert_int_equal(sj_file_lock_try(sj_os_system(), &second, LOCK_EX, LONG_MS), 0);
  assert_true(first >= 0 && second >= 0);
  close(first);
  close(second);
}

static void try_gives_flocks_own_error(void **state)
{
  int fd = open_file(*state);
  const sj_os *os = failing_os_start((failing_os_plan){.call = FAILING_OS_FLOCK, .nth = 1, .error = ENOLCK});
  assert_int_equal(sj_file_lock_try(os, &fd, LOCK_EX, LONG_MS), ENOLCK);
  assert_true(fd >= 0);
  close(fd);
}

static int hang_pipe[2];
static _Atomic int closed_fd;

static int flock_hanging(int fd, int operation)
{
  char byte = 0;
  ssize_t count = read(hang_pipe[0], &byte, 1);
  (void)count;
  return flock(fd, operation);
}

static int close_noting(int fd)
{
  int result = close(fd);
  closed_fd = fd;
  return result;
}

static void try_of_a_call_that_hangs_ends_and_leaves_it_the_descriptor(void **state)
{
  static sj_os os;
  os = *sj_os_system();
  os.flock = flock_hanging;
  os.close = close_noting;
  int fd = open_file(*state);
  const int given = fd;
  closed_fd = -1;
  assert_int_equal(pipe(hang_pipe), 0);
  assert_int_equal(sj_file_lock_try(&os, &fd, LOCK_EX, 20), ETIME);
  assert_int_equal(fd, -1);
  assert_int_equal(closed_fd, -1);
  assert_true(fcntl(given, F_GETFD) >= 0);
  close(hang_pipe[1]); /* an answer, much too late */
  for (unsigned i = 0; closed_fd != given && i < 2000; i++) {
    sj_os_sleep_ms(5);
  }
  assert_int_equal(closed_fd, given);
  close(hang_pipe[0]);
}

static _Atomic int num_signals;

static void count_signal(int number)
{
  (void)number;
  num_signals++;
}

static int flock_raising(int fd, int operation)
{
  sigset_t blocked;
  int result = flock(fd, operation);
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  errno = sigismember(&blocked, SIGUSR1) == 1 ? EDOM : ERANGE;
  return result == 0 ? -1 : result;
}

static void try_lets_no_handler_of_the_host_run_in_its_thread(void **state)
{
  static sj_os os;
  os = *sj_os_system();
  os.flock = flock_raising;
  struct sigaction action = {.sa_handler = count_signal}, before;
  assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
  int fd = open_file(*state);
  assert_int_equal(sj_file_lock_try(&os, &fd, LOCK_EX, LONG_MS), EDOM);
  assert_int_equal(raise(SIGUSR1), 0); /* the caller's own mask is as it was */
  assert_int_equal(num_signals, 1);
  sigaction(SIGUSR1, &before, NULL);
  close(fd);
}

/* In a process that may have no further thread: the lock is not had, which is not the same as held by another. */
static int try_without_a_thread(int fd)
{
  const struct rlimit none = {0, 0};
  if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) { /* the limit is none for root */
    return 2;
  }
  if (setrlimit(RLIMIT_NPROC, &none) != 0) {
    return 3;
  }
  int error = sj_file_lock_try(sj_os_system(), &fd, LOCK_EX, LONG_MS);
  return error == ENOMEM && fd >= 0 ? 0 : 4;
}

static void try_without_a_thread_to_be_had_says_so(void **state)
{
  int fd = open_file(*state);
  int status = -1;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    _exit(try_without_a_thread(fd));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  close(fd);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(try_takes_a_free_lock_and_tells_a_held_one),
      TEST(try_gives_flocks_own_error),
      TEST(try_of_a_call_that_hangs_ends_and_leaves_it_the_descriptor),
      TEST(try_without_a_thread_to_be_had_says_so),
      TEST(try_lets_no_handler_of_the_host_run_in_its_thread),
  };
  return SJ_TEST_RUN(tests);
}
