/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "store_parts.h"
#include "temp_dir.h"

enum { OTHER_GROUP = 12345 };

static void publish_leaves_the_entry_and_nothing_else(void **state)
{
  store_fixture *fixture = *state;
  mode_t mask = umask(0);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  umask(mask);
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  struct stat status;
  assert_int_equal(lstat(entry, &status), 0);
  assert_int_equal(status.st_mode, S_IFREG | 0644);
  assert_int_equal(temp_dir_count(fixture->path, ""), 1);
  assert_int_equal(fixture->stats.store_writes, 1);
  assert_int_equal(fixture->stats.store_bytes_written, status.st_size);
  assert_int_equal(fixture->stats.store_write_failures, 0);
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
  free(entry);
}

static void publish_syncs_file_and_folder_in_order(void **state)
{
  store_fixture *fixture = *state;
  for (unsigned nth = 1; nth <= 3; nth++) {
    fixture->store.os = failing_os_start((failing_os_plan){.call = FAILING_OS_FSYNC, .nth = nth, .error = EIO});
    swa_jit_status status = store_fixture_publish(fixture, &fixture->key);
    assert_int_equal(status, nth == 1 ? SWA_JIT_STORE_ERROR : SWA_JIT_OK); /* the folder's only costs a log line */
    assert_int_equal(failing_os_count(FAILING_OS_RENAMEAT), nth == 1 ? 0 : 1);
    assert_int_equal(failing_os_count(FAILING_OS_FSYNC), nth == 1 ? 1 : 2);
  }
}

static void publish_over_anything_but_a_folder_replaces_it(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_true(temp_dir_write(entry, "bad", 3));
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
  assert_int_equal(unlink(entry), 0);
  assert_int_equal(symlink("/dev/null", entry), 0);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
  assert_int_equal(unlink(entry), 0);
  assert_int_equal(mkdir(entry, 0700), 0);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_STORE_ERROR);
  assert_int_equal(temp_dir_count(fixture->path, ""), 1);
  free(entry);
}

static void publish_when_none_is_due_is_ok_and_writes_nothing(void **state)
{
  store_fixture *fixture = *state;
  assert_true(store_fixture_reopen(fixture, sj_os_system(), SWA_JIT_FLAG_READ_ONLY));
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  sj_store none = {.os = sj_os_system(), .stats = &fixture->stats, .dir_fd = -1};
  assert_int_equal(sj_store_publish(&none, &fixture->key, &fixture->view), SWA_JIT_OK);
  assert_int_equal(fixture->stats.store_writes, 0);
  assert_int_equal(fixture->stats.store_write_failures, 0);
}

static void publish_of_what_decode_would_refuse_is_invalid(void **state)
{
  store_fixture *fixture = *state;
  fixture->cubin[0] = 0;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_INVALID);
  assert_int_equal(fixture->stats.store_write_failures, 1);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
}

/* Without the writers' announcement, which a failing call may leave and the next open takes away. */
static int count_files(const store_fixture *fixture)
{
  return temp_dir_count(fixture->path, "") - temp_dir_count(fixture->path, ".writers");
}

/* The promise of each failure: the status with place, reason and remedy; no temporary, no half entry, no descriptor. */
static void expect_clean_failure(store_fixture *fixture, int error, int num_open)
{
  assert_non_null(strstr(sj_message(), fixture->path));
  assert_non_null(strstr(sj_message(), fixture->key.file_name));
  assert_non_null(strstr(sj_message(), strerror(error)));
  assert_int_equal(count_files(fixture), 0);
  assert_int_equal(store_fixture_count_open(), num_open);
}

static void publish_with_each_call_failing_is_clean(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  int num_open = store_fixture_count_open();
  static const int errors[] = {ENOSPC, EROFS, EACCES, EDQUOT, EIO, EMFILE};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    unsigned num_failures = 0;
    bool has_failed = true;
    for (unsigned nth = 1; has_failed; nth++) {
      uint64_t before = fixture->stats.store_write_failures;
      fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = errors[i]});
      swa_jit_status status = store_fixture_publish(fixture, &fixture->key);
      has_failed = failing_os_has_failed();
      fixture->store.os = sj_os_system();
      sj_store_clear_dead_writers(&fixture->store); /* as the next open: so that each round makes the same calls */
      assert_int_equal(fixture->stats.store_write_failures, before + (status != SWA_JIT_OK));
      if (status == SWA_JIT_STORE_ERROR) {
        num_failures++;
        expect_clean_failure(fixture, errors[i], num_open);
        continue;
      }
      assert_int_equal(status, SWA_JIT_OK); /* what failed came after the rename: the entry is there, whole */
      assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
      assert_int_equal(count_files(fixture), 1);
      assert_int_equal(store_fixture_count_open(), num_open);
      assert_int_equal(unlink(entry), 0);
    }
    assert_int_equal(num_failures, 6); /* name, create, write, sync, close, rename */
  }
  free(entry);
}

static void publish_with_all_calls_failing_from_each_on_shows_no_half_entry(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    fixture->store.os =
        failing_os_start((failing_os_plan){.nth = nth, .error = EIO, .and_later = true, .most_bytes = 50});
    swa_jit_status status = store_fixture_publish(fixture, &fixture->key);
    has_failed = failing_os_has_failed();
    fixture->store.os = sj_os_system();
    assert_true(status == SWA_JIT_OK || status == SWA_JIT_STORE_ERROR);
    assert_true(sj_store_has(&fixture->store, &fixture->key, 0) == (status == SWA_JIT_OK));
    assert_int_equal(access(entry, F_OK), status == SWA_JIT_OK ? 0 : -1);
    unlink(entry);
  }
  free(entry);
}

static void publish_with_short_and_interrupted_calls_succeeds(void **state)
{
  store_fixture *fixture = *state;
  static const failing_os_call calls[] = {FAILING_OS_OPENAT, FAILING_OS_WRITE, FAILING_OS_FSYNC, FAILING_OS_CLOSE,
                                          FAILING_OS_GETRANDOM};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    bool has_failed = true;
    for (unsigned nth = 1; has_failed; nth++) {
      fixture->store.os =
          failing_os_start((failing_os_plan){.call = calls[i], .nth = nth, .error = EINTR, .most_bytes = 100});
      assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
      assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
      has_failed = failing_os_has_failed();
    }
    assert_true(failing_os_count(calls[i]) > 0);
  }
}

static void publish_into_a_removed_folder_makes_it_again(void **state)
{
  store_fixture *fixture = *state;
  char reason[512];
  for (int i = 0; i < 2; i++) {
    char *entry = store_fixture_entry_path(fixture, &fixture->key);
    unlink(entry);
    free(entry);
    assert_int_equal(rmdir(fixture->path), 0);
    assert_false(store_fixture_find(fixture, &fixture->key, reason));
    assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
    assert_true(store_fixture_find(fixture, &fixture->key, reason));
    assert_int_equal(temp_dir_count(fixture->path, ""), 1);
  }
  assert_int_equal(fixture->stats.store_writes, 2);
}

/* The store was opened by a relative path, and the host's working folder is another one by now. */
static void publish_after_a_chdir_makes_the_folder_where_it_was(void **state)
{
  store_fixture *fixture = *state;
  sj_store store;
  int before = open(".", O_RDONLY | O_DIRECTORY);
  assert_int_equal(chdir(fixture->folder), 0);
  assert_int_equal(sj_store_open("relative/store", 0, sj_os_system(), NULL, &fixture->stats, &store), SWA_JIT_OK);
  assert_int_equal(fchdir(before), 0);
  close(before);
  assert_int_equal(sj_store_publish(&store, &fixture->key, &fixture->view), SWA_JIT_OK);
  char *path = temp_dir_join(fixture->folder, "relative/store");
  char *entry = temp_dir_join(path, fixture->key.file_name);
  assert_int_equal(unlink(entry), 0);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(sj_store_publish(&store, &fixture->key, &fixture->view), SWA_JIT_OK);
  assert_int_equal(access(entry, F_OK), 0);
  sj_store_close(&store);
  free(entry);
  free(path);
}

/* In a folder that does not pass its group on, too: else members would refuse each other's entries. */
static void publish_in_a_groups_folder_gives_the_folders_group(void **state)
{
  store_fixture *fixture = *state;
  const gid_t group = geteuid() == 0 ? OTHER_GROUP : getegid();
  struct stat status;
  assert_int_equal(chown(fixture->path, (uid_t)-1, group), 0);
  assert_int_equal(chmod(fixture->path, 0770), 0);
  assert_true(store_fixture_reopen(fixture, failing_os_start((failing_os_plan){0}), SWA_JIT_FLAG_GROUP_SHARED));
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(failing_os_count(FAILING_OS_FCHOWN) > 0, 1);
  char *path = store_fixture_entry_path(fixture, &fixture->key);
  assert_int_equal(stat(path, &status), 0);
  assert_int_equal(status.st_gid, group);
  assert_int_equal(status.st_mode & 07777, 0664);
  free(path);
  /* Nothing of it where nothing is shared. */
  assert_int_equal(chmod(fixture->path, 0700), 0);
  assert_true(store_fixture_reopen(fixture, failing_os_start((failing_os_plan){0}), 0));
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(failing_os_count(FAILING_OS_FCHOWN), 0);
}

static void publish_where_the_folder_cannot_be_made_again_says_so(void **state)
{
  store_fixture *fixture = *state;
  assert_int_equal(rmdir(fixture->path), 0);
  assert_true(temp_dir_write(fixture->path, "", 0)); /* a file has its name now */
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), "removed meanwhile"));
}

/* A cleaner on another machine, whose locks this one does not see, takes the file before it gets its name. */
static unsigned num_taken;

static int renameat_taken(int from_fd, const char *from, int to_fd, const char *to)
{
  if (num_taken > 0) {
    num_taken--;
    unlinkat(from_fd, from, 0);
  }
  return renameat(from_fd, from, to_fd, to);
}

static void publish_of_a_file_that_was_taken_writes_it_again(void **state)
{
  store_fixture *fixture = *state;
  static sj_os os;
  os = *sj_os_system();
  os.renameat = renameat_taken;
  fixture->store.os = &os;
  num_taken = 1;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  num_taken = 2;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_STORE_ERROR);
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
}

/* ---- Asking beforehand ----------------------------------------------------------------------------------- */

static void check_leaves_nothing_and_counts_nothing(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  assert_int_equal(sj_store_check(&fixture->store), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  assert_int_equal(store_fixture_count_open(), num_open);
  assert_int_equal(fixture->stats.store_writes, 0);
  assert_int_equal(fixture->stats.store_write_failures, 0);
}

static void check_of_a_read_only_store_fails_and_writes_nothing(void **state)
{
  store_fixture *fixture = *state;
  assert_true(store_fixture_reopen(fixture, failing_os_start((failing_os_plan){0}), SWA_JIT_FLAG_READ_ONLY));
  unsigned num_calls = failing_os_count(FAILING_OS_ANY);
  assert_int_equal(sj_store_check(&fixture->store), SWA_JIT_STORE_ERROR);
  assert_int_equal(failing_os_count(FAILING_OS_ANY), num_calls);
  assert_non_null(strstr(sj_message(), fixture->path));
  assert_non_null(strstr(sj_message(), "unset SWA_JIT_READ_ONLY"));
}

static void check_with_each_call_failing_tells_place_reason_and_remedy(void **state)
{
  static const struct {
    int error;
    const char *remedy;
  } cases[] = {
      {EACCES, "name a folder of its own"},
      {EROFS, "mounted read-only: name a writable folder"},
      {ENOSPC, "free space on its disk"},
      {EMFILE, "ulimit -n"},
  };
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    unsigned num_failures = 0;
    bool has_failed = true;
    for (unsigned nth = 1; has_failed; nth++) {
      fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = cases[i].error});
      swa_jit_status status = sj_store_check(&fixture->store);
      has_failed = failing_os_has_failed();
      fixture->store.os = sj_os_system();
      sj_store_clear_dead_writers(&fixture->store);
      assert_true(status == SWA_JIT_OK || has_failed);
      assert_int_equal(store_fixture_count_open(), num_open);
      if (status != SWA_JIT_OK) {
        assert_int_equal(status, SWA_JIT_STORE_ERROR);
        num_failures++;
        assert_non_null(strstr(sj_message(), fixture->path));
        assert_non_null(strstr(sj_message(), strerror(cases[i].error)));
        assert_non_null(strstr(sj_message(), cases[i].remedy));
        assert_null(strstr(sj_message(), "SWA_JIT_READ_ONLY"));
      }
    }
    assert_int_equal(num_failures, 6); /* name, create, write, sync, close, remove; modes and announcing are wishes */
    assert_int_equal(count_files(fixture), 0); /* what could not be removed went with the announcement */
  }
}

/* ---- In other processes: a child tells by its exit status, since it must not run the rest of the tests ------ */

static int wait_for(pid_t child)
{
  int result = 0;
  while (waitpid(child, &result, 0) < 0 && errno == EINTR) {
  }
  return result;
}

static void publish_beyond_the_file_size_limit_fails_and_lives(void **state)
{
  store_fixture *fixture = *state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    bool ok = store_fixture_publish(fixture, &fixture->key) == SWA_JIT_STORE_ERROR
              && strstr(sj_message(), "ulimit -f") != NULL && temp_dir_count(fixture->path, "") == 0;
    _exit(ok ? 0 : 1);
  }
  assert_int_equal(wait_for(child), 0);
}

static void publish_killed_before_each_call_leaves_a_usable_store(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  unsigned num_without = 0, num_with = 0;
  bool was_killed = true;
  for (unsigned nth = 1; was_killed; nth++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = FAILING_OS_KILL, .most_bytes = 150});
      _exit(store_fixture_publish(fixture, &fixture->key) == SWA_JIT_OK ? 0 : 1);
    }
    int result = wait_for(child);
    was_killed = WIFSIGNALED(result);
    assert_true(was_killed ? WTERMSIG(result) == SIGKILL : WEXITSTATUS(result) == 0);
    bool is_there = access(entry, F_OK) == 0;
    num_with += is_there;
    num_without += !is_there;
    assert_true(sj_store_has(&fixture->store, &fixture->key, 0) == is_there);
    assert_true(temp_dir_count(fixture->path, ".tmp-") <= 1);
    assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
    assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
    assert_int_equal(unlink(entry), 0);
    char *left = temp_dir_find(fixture->path, ".tmp-");
    assert_true(left == NULL || unlink(left) == 0);
    free(left);
  }
  assert_true(num_without >= 8 && num_with >= 2);
  free(entry);
}

/* A writer publishes other bytes each time; a reader that saw a whole entry must see one each time. */
static int write_often(store_fixture *fixture, unsigned writer)
{
  for (unsigned i = 0; i < 30; i++) {
    fixture->view.note.compile_ns = 1000 * writer + i;
    if (sj_store_publish(&fixture->store, &fixture->key, &fixture->view) != SWA_JIT_OK) {
      return 1;
    }
  }
  return 0;
}

static int read_often(store_fixture *fixture)
{
  bool was_found = false;
  for (unsigned i = 0; i < 1500; i++) {
    char reason[512];
    bool found = store_fixture_find(fixture, &fixture->key, reason);
    if (was_found && !found) {
      return 1;
    }
    was_found = found;
  }
  return fixture->stats.store_set_aside == 0 ? 0 : 2;
}

/* Report 57. */
static void publish_and_find_from_many_processes_agree(void **state)
{
  enum { NUM_WRITERS = 4, NUM_READERS = 3 };
  store_fixture *fixture = *state;
  pid_t children[NUM_WRITERS + NUM_READERS];
  for (unsigned i = 0; i < NUM_WRITERS + NUM_READERS; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      _exit(i < NUM_WRITERS ? write_often(fixture, i) : read_often(fixture));
    }
  }
  for (unsigned i = 0; i < NUM_WRITERS + NUM_READERS; i++) {
    assert_int_equal(wait_for(children[i]), 0);
  }
  assert_int_equal(temp_dir_count(fixture->path, ""), 1);
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(publish_leaves_the_entry_and_nothing_else),
      TEST(publish_syncs_file_and_folder_in_order),
      TEST(publish_over_anything_but_a_folder_replaces_it),
      TEST(publish_when_none_is_due_is_ok_and_writes_nothing),
      TEST(publish_of_what_decode_would_refuse_is_invalid),
      TEST(publish_with_each_call_failing_is_clean),
      TEST(publish_with_all_calls_failing_from_each_on_shows_no_half_entry),
      TEST(publish_with_short_and_interrupted_calls_succeeds),
      TEST(publish_into_a_removed_folder_makes_it_again),
      TEST(publish_after_a_chdir_makes_the_folder_where_it_was),
      TEST(publish_in_a_groups_folder_gives_the_folders_group),
      TEST(publish_where_the_folder_cannot_be_made_again_says_so),
      TEST(publish_of_a_file_that_was_taken_writes_it_again),
      TEST(check_leaves_nothing_and_counts_nothing),
      TEST(check_of_a_read_only_store_fails_and_writes_nothing),
      TEST(check_with_each_call_failing_tells_place_reason_and_remedy),
      TEST(publish_beyond_the_file_size_limit_fails_and_lives),
      TEST(publish_killed_before_each_call_leaves_a_usable_store),
      TEST(publish_and_find_from_many_processes_agree),
  };
  return SJ_TEST_RUN(tests);
}
