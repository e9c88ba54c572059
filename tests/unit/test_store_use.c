/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "temp_dir.h"

static void set_age(const char *path, time_t age_s)
{
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - age_s}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static time_t age_of(const char *path)
{
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return time(NULL) - status.st_mtime;
}

/* Whether another open of the file can lock it alone. */
static bool is_free(const char *path)
{
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  close(fd);
  return is_locked;
}

static void use_once(store_fixture *fixture)
{
  sj_store_use use = {0};
  sj_store_begin_use(&fixture->store, &fixture->key, &use);
  sj_store_end_use(&use);
}

static void use_moves_an_old_or_future_time_to_now(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  static const time_t moved[] = {3600, 1000000, -3600, -1000000};
  for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++) {
    set_age(entry, moved[i]);
    use_once(fixture);
    assert_true(labs((long)age_of(entry)) < 300);
  }
  set_age(entry, 400); /* a use of minutes ago is told well enough */
  use_once(fixture);
  assert_true(age_of(entry) >= 400);
  free(entry);
}

static void use_holds_the_entry_until_it_ends(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  int num_open = store_fixture_count_open();
  sj_store_use first = {0};
  sj_store_use second = {0};
  sj_store_begin_use(&fixture->store, &fixture->key, &first);
  sj_store_begin_use(&fixture->store, &fixture->key, &second);
  sj_store_begin_use(&fixture->store, &fixture->key, &first); /* held already */
  assert_int_equal(store_fixture_count_open(), num_open + 2);
  assert_false(is_free(entry));
  sj_store_end_use(&first);
  assert_false(is_free(entry));
  sj_store_end_use(&second);
  sj_store_end_use(&second);
  assert_true(is_free(entry));
  assert_int_equal(store_fixture_count_open(), num_open);
  free(entry);
}

static void use_of_nothing_or_of_a_read_only_store_does_nothing(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  sj_store_use use = {0};
  sj_store_begin_use(&fixture->store, &fixture->key, &use);
  assert_null(use.os);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  set_age(entry, 7200);
  assert_true(store_fixture_reopen(fixture, sj_os_system(), SWA_JIT_FLAG_READ_ONLY));
  sj_store_begin_use(&fixture->store, &fixture->key, &use);
  assert_null(use.os);
  assert_true(age_of(entry) >= 7200);
  free(entry);
}

/* Its second name may lie outside the store, where nothing is ours to change. */
static void use_of_an_entry_with_two_names_leaves_its_time(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  char *second = temp_dir_join(fixture->folder, "second");
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(link(entry, second), 0);
  set_age(entry, 7200);
  use_once(fixture);
  assert_true(age_of(second) >= 7200);
  free(second);
  free(entry);
}

static void use_leaves_half_of_the_descriptors_to_the_host(void **state)
{
  store_fixture *fixture = *state;
  struct rlimit before, few;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  few = before;
  int next_fd = open("/dev/null", O_RDONLY);
  close(next_fd);
  few.rlim_cur = 2 * (rlim_t)next_fd; /* the entry's descriptor will be the first of the other half */
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  sj_store_use use = {0};
  sj_store_begin_use(&fixture->store, &fixture->key, &use);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_null(use.os);
}

static void use_with_each_call_failing_leaks_nothing(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  int num_open = store_fixture_count_open();
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    set_age(entry, 7200);
    fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = EROFS});
    use_once(fixture);
    has_failed = failing_os_has_failed();
    assert_int_equal(store_fixture_count_open(), num_open);
  }
  assert_true(failing_os_count(FAILING_OS_FUTIMENS) == 1 && failing_os_count(FAILING_OS_FLOCK) == 1);
  free(entry);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(use_moves_an_old_or_future_time_to_now),
      TEST(use_holds_the_entry_until_it_ends),
      TEST(use_of_nothing_or_of_a_read_only_store_does_nothing),
      TEST(use_of_an_entry_with_two_names_leaves_its_time),
      TEST(use_leaves_half_of_the_descriptors_to_the_host),
      TEST(use_with_each_call_failing_leaks_nothing),
  };
  return SJ_TEST_RUN(tests);
}
