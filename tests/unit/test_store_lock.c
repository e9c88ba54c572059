/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "store_lock.h"
#include "temp_dir.h"

static char *lock_path(const store_fixture *fixture)
{
  char digest[SJ_DIGEST_HEX_SIZE], name[SJ_DIGEST_HEX_SIZE + 8];
  sj_digest_hex(fixture->key.digest, digest);
  snprintf(name, sizeof name, "%s.lock", digest);
  return temp_dir_join(fixture->path, name);
}

static sj_store_lock take(store_fixture *fixture, unsigned wait_ms, bool *waited_out)
{
  sj_store_lock lock = {.fd = -2};
  *waited_out = true;
  sj_store_lock_take(&fixture->store, &fixture->key, wait_ms, &lock, waited_out);
  assert_true(lock.fd >= -1);
  return lock;
}

/* Takes it at once or fails the test, and gives it back. */
static void expect_free(store_fixture *fixture)
{
  bool waited = true;
  sj_store_lock lock = take(fixture, 0, &waited);
  assert_true(lock.fd >= 0);
  assert_false(waited);
  sj_store_lock_release(&fixture->store, &lock);
}

/* A child that takes the lock, says so through a pipe, and holds it for hold_ms. */
static pid_t start_holder(store_fixture *fixture, unsigned hold_ms)
{
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    bool waited = false;
    sj_store_lock lock;
    sj_store_lock_take(&fixture->store, &fixture->key, 0, &lock, &waited);
    char word = lock.fd >= 0 ? 'h' : 'n';
    if (write(ends[1], &word, 1) != 1) {
      _exit(1);
    }
    sj_os_sleep_ms(hold_ms);
    sj_store_lock_release(&fixture->store, &lock);
    _exit(0);
  }
  char word = 0;
  close(ends[1]);
  assert_int_equal(read(ends[0], &word, 1), 1);
  close(ends[0]);
  assert_int_equal(word, 'h');
  return child;
}

static void stop(pid_t child)
{
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void take_of_free_lock_names_its_holder(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  bool waited = true;
  sj_store_lock lock = take(fixture, 1000, &waited);
  assert_true(lock.fd >= 0);
  assert_false(waited);
  char *path = lock_path(fixture);
  struct stat status;
  assert_int_equal(lstat(path, &status), 0);
  assert_int_equal(status.st_mode, S_IFREG | 0600);
  char *text = NULL, expected[32], host[65] = "";
  size_t count = 0;
  assert_true(temp_dir_read(path, &text, &count));
  assert_int_equal(gethostname(host, sizeof host - 1), 0);
  snprintf(expected, sizeof expected, "pid %ld on ", (long)getpid());
  assert_ptr_equal(strstr(text, expected), text);
  assert_ptr_equal(strstr(text, host), text + strlen(expected));
  sj_store_lock_release(&fixture->store, &lock);
  assert_int_equal(lock.fd, -1);
  sj_store_lock_release(&fixture->store, &lock);
  assert_int_equal(store_fixture_count_open(), num_open);
  expect_free(fixture);
  assert_int_equal(fixture->stats.lock_waits, 0);
  assert_int_equal(fixture->stats.lock_failures, 0);
  free(text);
  free(path);
}

static void take_of_held_lock_waits_for_its_release(void **state)
{
  store_fixture *fixture = *state;
  pid_t holder = start_holder(fixture, 60);
  uint64_t before = sj_os_now_ns();
  bool waited = false;
  sj_store_lock lock = take(fixture, 10000, &waited);
  assert_true(lock.fd >= 0);
  assert_true(waited);
  assert_true(sj_os_now_ns() - before < UINT64_C(5000000000));
  assert_int_equal(fixture->stats.lock_waits, 1);
  assert_int_equal(fixture->stats.lock_failures, 0);
  sj_store_lock_release(&fixture->store, &lock);
  stop(holder);
}

static void take_of_another_keys_lock_does_not_wait(void **state)
{
  store_fixture *fixture = *state;
  pid_t holder = start_holder(fixture, 10000);
  sj_key key = fixture->key;
  assert_true(store_fixture_make_key(256, &fixture->key));
  expect_free(fixture);
  sj_key_finish(&fixture->key);
  fixture->key = key;
  stop(holder);
}

static void take_of_lock_held_too_long_goes_on_and_says_for_whom_it_waited(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  pid_t holder = start_holder(fixture, 20000);
  bool waited = false;
  uint64_t before = sj_os_now_ns();
  sj_store_lock lock = take(fixture, 1100, &waited);
  uint64_t elapsed_ms = (sj_os_now_ns() - before) / 1000000;
  assert_int_equal(lock.fd, -1);
  assert_true(waited);
  assert_in_range(elapsed_ms, 1100, 10000);
  assert_int_equal(fixture->stats.lock_waits, 1);
  assert_int_equal(fixture->stats.lock_failures, 1);
  char name[32];
  snprintf(name, sizeof name, "pid %ld on ", (long)holder);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_INFO), 1);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), 1);
  assert_true(capture_log_has(&fixture->capture, name));
  assert_true(capture_log_has(&fixture->capture, "waiting"));
  assert_true(capture_log_has(&fixture->capture, "still holds the lock"));
  assert_int_equal(store_fixture_count_open(), num_open);
  stop(holder);
}

static void take_after_the_holder_was_killed_succeeds(void **state)
{
  store_fixture *fixture = *state;
  stop(start_holder(fixture, 20000));
  expect_free(fixture);
}

/* A child forked by the holder has the same open file: the lock outlives the holder, and the wait must end all the
 * same. */
static void take_of_lock_kept_by_a_dead_holders_child_ends(void **state)
{
  store_fixture *fixture = *state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t holder = fork();
  assert_true(holder >= 0);
  if (holder == 0) {
    bool waited = false;
    sj_store_lock lock;
    sj_store_lock_take(&fixture->store, &fixture->key, 0, &lock, &waited);
    pid_t child = fork();
    if (child == 0) {
      sj_os_sleep_ms(20000);
      _exit(0);
    }
    bool told = write(ends[1], &child, sizeof child) == (ssize_t)sizeof child;
    kill(getpid(), told ? SIGKILL : SIGTERM);
  }
  pid_t child = 0;
  assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
  close(ends[0]);
  close(ends[1]);
  waitpid(holder, NULL, 0);
  bool waited = false;
  sj_store_lock lock = take(fixture, 50, &waited);
  assert_int_equal(lock.fd, -1);
  assert_true(waited);
  assert_int_equal(fixture->stats.lock_failures, 1);
  kill(child, SIGKILL);
  lock = take(fixture, 10000, &waited);
  assert_true(lock.fd >= 0);
  sj_store_lock_release(&fixture->store, &lock);
}

static void release_with_a_forked_child_alive_frees_the_lock(void **state)
{
  store_fixture *fixture = *state;
  bool waited = false;
  sj_store_lock lock = take(fixture, 0, &waited);
  assert_true(lock.fd >= 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    sj_os_sleep_ms(20000);
    _exit(0);
  }
  sj_store_lock_release(&fixture->store, &lock);
  expect_free(fixture);
  stop(child);
}

static void take_where_locks_do_not_work_goes_on_at_once(void **state)
{
  store_fixture *fixture = *state;
  static const int errors[] = {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL, EIO, ESTALE, EBUSY};
  int num_open = store_fixture_count_open();
  for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    fixture->store.os =
        failing_os_start((failing_os_plan){.call = FAILING_OS_FLOCK, .nth = 1, .error = errors[i], .and_later = true});
    bool waited = true;
    sj_store_lock lock = take(fixture, 60000, &waited);
    assert_int_equal(lock.fd, -1);
    assert_false(waited);
    assert_int_equal(fixture->stats.lock_failures, i + 1);
    assert_int_equal(failing_os_count(FAILING_OS_FLOCK), 1);
    assert_int_equal(store_fixture_count_open(), num_open);
  }
  assert_int_equal(fixture->stats.lock_waits, 0);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), 1); /* once, not for each key */
}

/* ---- A lock service that does not answer --------------------------------------------------------------------- */

static int hang_pipe[2];
static _Atomic unsigned num_back; /* calls that came back */

static int flock_hanging(int fd, int operation)
{
  char byte = 0;
  ssize_t count = read(hang_pipe[0], &byte, 1); /* until the test ends */
  (void)count;
  num_back++;
  return flock(fd, operation);
}

static void take_where_locks_hang_goes_on_after_one_bounded_wait(void **state)
{
  store_fixture *fixture = *state;
  static sj_os os;
  os = *sj_os_system();
  os.flock = flock_hanging;
  fixture->store.os = &os;
  assert_int_equal(pipe(hang_pipe), 0);
  int num_open = store_fixture_count_open();
  bool waited = true;
  sj_store_lock lock = take(fixture, 50, &waited);
  assert_int_equal(lock.fd, -1);
  assert_false(waited);
  assert_int_equal(store_fixture_count_open(), num_open + 1); /* the descriptor that the hanging call has */
  assert_int_equal(take(fixture, 60000, &waited).fd, -1);     /* at once, or this test would not end in time */
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(fixture->stats.lock_failures, 2);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), 1);
  assert_true(capture_log_has(&fixture->capture, "do not answer"));
  close(hang_pipe[1]); /* every hanging call comes back and gives its descriptor back */
  for (unsigned i = 0; store_fixture_count_open() != num_open - 1 && i < 2000; i++) {
    sj_os_sleep_ms(5);
  }
  assert_int_equal(store_fixture_count_open(), num_open - 1);
  assert_true(num_back > 0); /* and so has done with the pipe */
  close(hang_pipe[0]);
}

static void take_with_each_call_failing_is_never_an_error(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  static const int errors[] = {EIO, EACCES, EMFILE, EINTR, ENOSPC};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    bool has_failed = true;
    for (unsigned nth = 1; has_failed; nth++) {
      uint64_t before = fixture->stats.lock_failures;
      fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = errors[i]});
      bool waited = false;
      sj_store_lock lock = take(fixture, 100, &waited);
      assert_int_equal(fixture->stats.lock_failures, before + (lock.fd < 0));
      assert_false(waited);
      sj_store_lock_release(&fixture->store, &lock);
      has_failed = failing_os_has_failed();
      assert_int_equal(store_fixture_count_open(), num_open);
      fixture->store.os = sj_os_system();
      expect_free(fixture);
    }
  }
}

static void take_of_lock_file_that_is_no_plain_file_goes_on_without(void **state)
{
  store_fixture *fixture = *state;
  char *path = lock_path(fixture);
  char *target = temp_dir_join(fixture->folder, "target");
  bool waited = true;
  assert_true(temp_dir_write(target, "kept", 4));
  assert_int_equal(symlink(target, path), 0);
  assert_int_equal(take(fixture, 100, &waited).fd, -1);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(take(fixture, 100, &waited).fd, -1);
  assert_int_equal(fixture->stats.lock_failures, 2);
  char *text = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(target, &text, &count));
  assert_string_equal(text, "kept");
  free(text);
  free(target);
  free(path);
}

/* A lock's holder writes its name into the file: a second name of it, somewhere else, must not be written to. */
static void take_of_lock_file_with_a_second_name_writes_nothing(void **state)
{
  store_fixture *fixture = *state;
  char *path = lock_path(fixture);
  char *target = temp_dir_join(fixture->folder, "target");
  bool waited = true;
  assert_true(temp_dir_write(target, "kept", 4));
  assert_int_equal(link(target, path), 0);
  assert_int_equal(take(fixture, 100, &waited).fd, -1);
  char *text = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(target, &text, &count));
  assert_int_equal(count, 4);
  assert_string_equal(text, "kept");
  assert_int_equal(unlink(target), 0);
  assert_int_equal(chmod(path, 0666), 0); /* everybody could pretend to hold it */
  assert_int_equal(take(fixture, 100, &waited).fd, -1);
  assert_int_equal(fixture->stats.lock_failures, 2);
  free(text);
  free(target);
  free(path);
}

/* ---- A cleaner of old files removes lock files at the worst instant: between open and lock ------------------- */

static const char *removed_path;
static unsigned num_removals;

static int flock_after_removal(int fd, int operation)
{
  if (num_removals > 0 && (operation & LOCK_EX) != 0) {
    num_removals--;
    unlink(removed_path);
  }
  return flock(fd, operation);
}

static void take_of_removed_lock_file_locks_the_one_that_is_there(void **state)
{
  store_fixture *fixture = *state;
  char *path = lock_path(fixture);
  static sj_os os;
  os = *sj_os_system();
  os.flock = flock_after_removal;
  fixture->store.os = &os;
  removed_path = path;
  num_removals = 2;
  bool waited = true;
  sj_store_lock lock = take(fixture, 1000, &waited);
  assert_true(lock.fd >= 0);
  struct stat locked, named;
  assert_int_equal(fstat(lock.fd, &locked), 0);
  assert_int_equal(lstat(path, &named), 0);
  assert_true(locked.st_ino == named.st_ino);
  sj_store_lock_release(&fixture->store, &lock);
  num_removals = 100;
  assert_int_equal(take(fixture, 1000, &waited).fd, -1); /* a file that never stays: not for ever */
  assert_int_equal(fixture->stats.lock_failures, 1);
  num_removals = 0;
  free(path);
}

static void take_without_a_writable_store_makes_nothing(void **state)
{
  store_fixture *fixture = *state;
  bool waited = true;
  assert_true(store_fixture_reopen(fixture, sj_os_system(), SWA_JIT_FLAG_READ_ONLY));
  assert_int_equal(take(fixture, 100, &waited).fd, -1);
  assert_false(waited);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  sj_store none = {.os = sj_os_system(), .stats = &fixture->stats, .dir_fd = -1};
  sj_store_lock lock = {.fd = -2};
  sj_store_lock_take(&none, &fixture->key, 100, &lock, &waited);
  assert_int_equal(lock.fd, -1);
  assert_int_equal(fixture->stats.lock_failures, 0);
}

/* Whoever lost the folder under its feet locks in the new one, where the others do. */
static void take_in_a_removed_folder_locks_in_the_one_made_again(void **state)
{
  store_fixture *fixture = *state;
  bool waited = true;
  assert_int_equal(rmdir(fixture->path), 0);
  sj_store_lock lock = take(fixture, 100, &waited);
  assert_true(lock.fd >= 0);
  assert_int_equal(temp_dir_count(fixture->path, ".lock"), 1);
  assert_int_equal(fixture->stats.lock_failures, 0);
  sj_store_lock_release(&fixture->store, &lock);
  char *path = lock_path(fixture);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(fixture->path), 0);
  assert_true(temp_dir_write(fixture->path, "", 0)); /* a file has its name now */
  assert_int_equal(take(fixture, 100, &waited).fd, -1);
  assert_int_equal(fixture->stats.lock_failures, 1);
  assert_true(capture_log_has(&fixture->capture, strerror(ENOENT)));
  free(path);
}

/* Each process adds one to a number in a file, reading and writing apart: without the lock, additions are lost. */
static int add_often(store_fixture *fixture, const char *path)
{
  for (unsigned i = 0; i < 20; i++) {
    bool waited = false;
    sj_store_lock lock;
    sj_store_lock_take(&fixture->store, &fixture->key, 60000, &lock, &waited);
    unsigned number = 0;
    int fd = open(path, O_RDWR);
    bool ok = lock.fd >= 0 && pread(fd, &number, sizeof number, 0) == (ssize_t)sizeof number;
    sj_os_sleep_ms(1);
    number++;
    ok = ok && pwrite(fd, &number, sizeof number, 0) == (ssize_t)sizeof number;
    close(fd);
    sj_store_lock_release(&fixture->store, &lock);
    if (!ok) {
      return 1;
    }
  }
  return 0;
}

static void take_from_many_processes_excludes(void **state)
{
  store_fixture *fixture = *state;
  char *path = temp_dir_join(fixture->folder, "number");
  unsigned number = 0;
  assert_true(temp_dir_write(path, &number, sizeof number));
  pid_t children[4];
  for (unsigned i = 0; i < 4; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      _exit(add_often(fixture, path));
    }
  }
  for (unsigned i = 0; i < 4; i++) {
    int result = -1;
    assert_int_equal(waitpid(children[i], &result, 0), children[i]);
    assert_int_equal(result, 0);
  }
  char *bytes = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(path, &bytes, &count));
  memcpy(&number, bytes, sizeof number);
  assert_int_equal(number, 80);
  free(bytes);
  free(path);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(take_of_free_lock_names_its_holder),
      TEST(take_of_held_lock_waits_for_its_release),
      TEST(take_of_another_keys_lock_does_not_wait),
      TEST(take_of_lock_held_too_long_goes_on_and_says_for_whom_it_waited),
      TEST(take_after_the_holder_was_killed_succeeds),
      TEST(take_of_lock_kept_by_a_dead_holders_child_ends),
      TEST(release_with_a_forked_child_alive_frees_the_lock),
      TEST(take_where_locks_do_not_work_goes_on_at_once),
      TEST(take_with_each_call_failing_is_never_an_error),
      TEST(take_of_lock_file_that_is_no_plain_file_goes_on_without),
      TEST(take_where_locks_hang_goes_on_after_one_bounded_wait),
      TEST(take_of_lock_file_with_a_second_name_writes_nothing),
      TEST(take_of_removed_lock_file_locks_the_one_that_is_there),
      TEST(take_in_a_removed_folder_locks_in_the_one_made_again),
      TEST(take_without_a_writable_store_makes_nothing),
      TEST(take_from_many_processes_excludes),
  };
  return SJ_TEST_RUN(tests);
}
