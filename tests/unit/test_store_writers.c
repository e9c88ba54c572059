/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "store_parts.h"
#include "temp_dir.h"

#define LEFT_BEHIND ".tmp-0123456789abcdef0123456789abcdef"

static void put(const store_fixture *fixture, const char *name)
{
  char *path = temp_dir_join(fixture->path, name);
  assert_true(temp_dir_write(path, "x", 1));
  free(path);
}

/* A writer that is killed while it writes: its announcement and its temporary file stay. */
static void leave_dead_writer(store_fixture *fixture)
{
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    fixture->store.os =
        failing_os_start((failing_os_plan){.call = FAILING_OS_FSYNC, .nth = 1, .error = FAILING_OS_KILL});
    store_fixture_publish(fixture, &fixture->key);
    _exit(1);
  }
  int result = 0;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFSIGNALED(result));
  assert_int_equal(temp_dir_count(fixture->path, ".tmp-"), 1);
  assert_int_equal(temp_dir_count(fixture->path, ".writers"), 1);
}

static void writing_is_announced_while_it_lasts(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  sj_writing first = sj_store_begin_writing(&fixture->store);
  sj_writing second = sj_store_begin_writing(&fixture->store);
  assert_true(first.fd >= 0 && second.fd >= 0);
  assert_int_equal(temp_dir_count(fixture->path, ".writers"), 1);
  sj_store_end_writing(&fixture->store, &first);
  assert_int_equal(temp_dir_count(fixture->path, ".writers"), 1); /* the second still writes */
  sj_store_end_writing(&fixture->store, &second);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  assert_int_equal(store_fixture_count_open(), num_open);
}

static void open_after_a_dead_writer_removes_what_it_left(void **state)
{
  store_fixture *fixture = *state;
  leave_dead_writer(fixture);
  put(fixture, LEFT_BEHIND);
  put(fixture, ".tmp-not-one-of-ours");
  assert_true(store_fixture_reopen(fixture, sj_os_system(), 0));
  assert_int_equal(temp_dir_count(fixture->path, ""), 1);
  assert_int_equal(temp_dir_count(fixture->path, ".tmp-not-one-of-ours"), 1);
}

static void open_beside_a_live_writer_touches_nothing(void **state)
{
  store_fixture *fixture = *state;
  sj_writing writing = sj_store_begin_writing(&fixture->store);
  put(fixture, LEFT_BEHIND);
  sj_store other;
  sj_stats stats = {0};
  assert_int_equal(sj_store_open(fixture->path, 0, sj_os_system(), NULL, &stats, &other), SWA_JIT_OK);
  sj_store_close(&other);
  assert_int_equal(temp_dir_count(fixture->path, ".tmp-"), 1);
  writing.has_trouble = true; /* it says so itself: nobody else wrote */
  sj_store_end_writing(&fixture->store, &writing);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
}

/* How often the folder is listed by a writing beside which others begin and end, or die. */
static unsigned count_listings(store_fixture *fixture, bool has_other, bool has_dead, failing_os_plan plan)
{
  const sj_os *os = failing_os_start(plan);
  if (has_dead) {
    leave_dead_writer(fixture);
  }
  fixture->store.os = os;
  sj_writing writing = sj_store_begin_writing(&fixture->store);
  if (has_other) {
    sj_writing other = sj_store_begin_writing(&fixture->store);
    sj_store_end_writing(&fixture->store, &other);
  }
  sj_store_end_writing(&fixture->store, &writing);
  fixture->store.os = sj_os_system();
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  return failing_os_count(FAILING_OS_FDOPENDIR);
}

/* With ten thousand names a listing takes longer than the writing. */
static void writing_lists_only_where_another_may_have_died(void **state)
{
  assert_int_equal(count_listings(*state, false, false, (failing_os_plan){0}), 0);
  assert_int_equal(count_listings(*state, true, false, (failing_os_plan){0}), 1);
  assert_int_equal(count_listings(*state, false, true, (failing_os_plan){0}), 1);
  assert_int_equal(count_listings(*state, false, false, (failing_os_plan){0}), 0);
}

/* The mark of a second writer takes no space. */
static void writing_beside_another_is_known_on_a_full_disk(void **state)
{
  const failing_os_plan full = {.call = FAILING_OS_WRITE, .nth = 1, .error = ENOSPC, .and_later = true};
  assert_int_equal(count_listings(*state, true, false, full), 1);
}

/* The one that died told nobody: with the file gone no open would look for what it left. */
static void the_last_writer_removes_what_a_dead_one_left(void **state)
{
  store_fixture *fixture = *state;
  sj_writing first = sj_store_begin_writing(&fixture->store);
  sj_writing second = sj_store_begin_writing(&fixture->store);
  put(fixture, LEFT_BEHIND);
  put(fixture, ".tmp-not-one-of-ours");
  sj_store_end_writing(&fixture->store, &first);
  assert_int_equal(temp_dir_count(fixture->path, ".tmp-"), 2); /* it may be the second's */
  sj_store_end_writing(&fixture->store, &second);
  assert_int_equal(temp_dir_count(fixture->path, ""), 1);
  assert_int_equal(temp_dir_count(fixture->path, ".tmp-not-one-of-ours"), 1);
}

static void open_of_a_read_only_store_removes_nothing(void **state)
{
  store_fixture *fixture = *state;
  leave_dead_writer(fixture);
  assert_true(store_fixture_reopen(fixture, sj_os_system(), SWA_JIT_FLAG_READ_ONLY));
  assert_int_equal(temp_dir_count(fixture->path, ""), 2);
}

/* One that nobody died in costs one call, not a listing. */
static void open_of_a_clean_store_lists_nothing(void **state)
{
  store_fixture *fixture = *state;
  sj_store store;
  sj_stats stats = {0};
  const sj_os *os = failing_os_start((failing_os_plan){0});
  assert_int_equal(sj_store_open(fixture->path, 0, os, NULL, &stats, &store), SWA_JIT_OK);
  assert_int_equal(failing_os_count(FAILING_OS_FDOPENDIR), 0);
  assert_int_equal(failing_os_count(FAILING_OS_FLOCK), 0);
  sj_store_close(&store);
}

static void open_after_a_dead_writer_with_each_call_failing_is_well(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    leave_dead_writer(fixture);
    fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = EIO});
    sj_store_clear_dead_writers(&fixture->store);
    has_failed = failing_os_has_failed();
    fixture->store.os = sj_os_system();
    assert_int_equal(store_fixture_count_open(), num_open);
    sj_store_clear_dead_writers(&fixture->store);
    assert_int_equal(temp_dir_count(fixture->path, ".writers"), 0);
    char *left = temp_dir_find(fixture->path, ".tmp-");
    assert_true(left == NULL || unlink(left) == 0); /* the listing failed: its age removes it later */
    free(left);
  }
}

static void writing_with_each_call_failing_is_well(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = EACCES});
    sj_writing writing = sj_store_begin_writing(&fixture->store);
    sj_store_end_writing(&fixture->store, &writing);
    has_failed = failing_os_has_failed();
    assert_int_equal(writing.fd, -1);
    assert_int_equal(store_fixture_count_open(), num_open);
  }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(writing_is_announced_while_it_lasts),          TEST(open_after_a_dead_writer_removes_what_it_left),
      TEST(open_beside_a_live_writer_touches_nothing),    TEST(writing_lists_only_where_another_may_have_died),
      TEST(open_beside_a_live_writer_touches_nothing),    TEST(writing_beside_another_is_known_on_a_full_disk),
      TEST(the_last_writer_removes_what_a_dead_one_left), TEST(open_of_a_read_only_store_removes_nothing),
      TEST(open_of_a_clean_store_lists_nothing),          TEST(open_after_a_dead_writer_with_each_call_failing_is_well),
      TEST(writing_with_each_call_failing_is_well),
  };
  return SJ_TEST_RUN(tests);
}
