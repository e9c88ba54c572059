/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "store_parts.h"
#include "store_lock.h"
#include "temp_dir.h"

enum { NUM_KEYS = 8, FIRST_WINDOW = 1000 };

/* ---- Leftovers ------------------------------------------------------------------------------------------- */

static long seen_age; /* what files other than entries seem to have, in seconds */

static int fstatat_aged(int dir_fd, const char *name, struct stat *status, int flags)
{
  int result = fstatat(dir_fd, name, status, flags);
  size_t length = strlen(name);
  bool is_entry = length > 6 && strcmp(name + length - 6, ".cubin") == 0;
  status->st_ctime -= is_entry ? 0 : seen_age;
  return result;
}

/* Of the next publishing, as if the store had just been opened with this limit. */
static void set_limit(store_fixture *fixture, uint64_t limit_bytes)
{
  fixture->store.limit_bytes = limit_bytes;
  fixture->store.looked_ns = 0;
}

static void publish_removes_old_leftovers_only(void **state)
{
  store_fixture *fixture = *state;
  static const struct {
    const char *name;
    long lifetime; /* seconds; 0: for ever */
  } files[] = {
      {".tmp-0123456789abcdef0123456789abcdef", 3600},
      {".tmp-0123456789abcdef0123456789abcde", 0},
      {".tmp-0123456789abcdef0123456789abcdeg", 0},
      {".tmp-0123456789abcdef0123456789abcdef0", 0},
      {"swa_decode-x-0123456789abcdef0123456789abcdef.cubin.bad-01234567", 7 * 24 * 3600},
      {"swa_decode-x-0123456789abcdef0123456789abcdef.ptx.bad-01234567", 7 * 24 * 3600},
      {"swa_decode-x-0123456789abcdef0123456789abcdef.cubin.bad-0123456", 0},
      {"swa_decode-x-0123456789abcdef0123456789abcdef.txt.bad-01234567", 0},
      {"swa_decode-x.cubin.bad-01234567", 0},
      {"notes.bad-01234567", 0},
      {"0123456789abcdef0123456789abcdef.lock", 0},
      {"swa_decode-x.cubin", 0},
      {"readme", 0},
  };
  static const long ages[] = {0, 3599, 3601, 7 * 24 * 3600 + 10};
  static sj_os os;
  os = *sj_os_system();
  os.fstatat = fstatat_aged;
  fixture->store.os = &os;
  for (size_t a = 0; a < sizeof ages / sizeof ages[0]; a++) {
    seen_age = ages[a];
    set_limit(fixture, UINT64_MAX);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
      char *path = temp_dir_join(fixture->path, files[i].name);
      assert_true(temp_dir_write(path, "x", 1));
      free(path);
    }
    sj_writing other = sj_store_begin_writing(&fixture->store); /* without one every temporary file is a dead one's */
    assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
      char *path = temp_dir_join(fixture->path, files[i].name);
      bool is_kept = files[i].lifetime == 0 || ages[a] <= files[i].lifetime;
      assert_int_equal(access(path, F_OK), is_kept ? 0 : -1);
      free(path);
    }
    sj_store_end_writing(&fixture->store, &other);
  }
}

/* ---- Evicting -------------------------------------------------------------------------------------------- */

typedef struct aged_store {
  store_fixture *fixture;
  sj_key keys[NUM_KEYS];
  uint64_t entry_bytes; /* of the largest */
} aged_store;

static char *path_of(const aged_store *aged, unsigned i)
{
  return store_fixture_entry_path(aged->fixture, &aged->keys[i]);
}

static bool is_there(const aged_store *aged, unsigned i)
{
  char *path = path_of(aged, i);
  bool found = access(path, F_OK) == 0;
  free(path);
  return found;
}

static void set_age(const aged_store *aged, unsigned i, time_t age_s)
{
  char *path = path_of(aged, i);
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - age_s}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
  free(path);
}

/* Entries 0 to NUM_KEYS - 2, each used a day later than the one before; the last key is for what is published then. */
static aged_store make_aged(store_fixture *fixture)
{
  aged_store aged = {.fixture = fixture};
  for (unsigned i = 0; i < NUM_KEYS; i++) {
    assert_true(store_fixture_make_key(FIRST_WINDOW + i, &aged.keys[i]));
    if (i < NUM_KEYS - 1) {
      assert_int_equal(store_fixture_publish(fixture, &aged.keys[i]), SWA_JIT_OK);
      set_age(&aged, i, (NUM_KEYS - (time_t)i) * 86400);
      char *path = path_of(&aged, i);
      struct stat status;
      assert_int_equal(stat(path, &status), 0);
      aged.entry_bytes = (uint64_t)status.st_size > aged.entry_bytes ? (uint64_t)status.st_size : aged.entry_bytes;
      free(path);
    }
  }
  return aged;
}

static void finish_aged(aged_store *aged)
{
  for (unsigned i = 0; i < NUM_KEYS; i++) {
    sj_key_finish(&aged->keys[i]);
  }
}

/* Publishes the last key's entry with room for so many entries. */
static void publish_last(aged_store *aged, unsigned num_entries)
{
  set_limit(aged->fixture, num_entries * aged->entry_bytes + aged->entry_bytes / 2);
  assert_int_equal(store_fixture_publish(aged->fixture, &aged->keys[NUM_KEYS - 1]), SWA_JIT_OK);
  assert_true(is_there(aged, NUM_KEYS - 1));
}

static void trim_without_a_limit_or_below_it_evicts_nothing(void **state)
{
  aged_store aged = make_aged(*state);
  assert_int_equal(store_fixture_publish(aged.fixture, &aged.keys[NUM_KEYS - 1]), SWA_JIT_OK);
  publish_last(&aged, NUM_KEYS);
  assert_int_equal(aged.fixture->stats.evictions, 0);
  assert_int_equal(temp_dir_count(aged.fixture->path, ""), NUM_KEYS);
  finish_aged(&aged);
}

/* How many files a publishing asks about; the first of an object looks at all of them. */
static unsigned count_asked(aged_store *aged, unsigned i)
{
  aged->fixture->store.os = failing_os_start((failing_os_plan){0});
  assert_int_equal(store_fixture_publish(aged->fixture, &aged->keys[i]), SWA_JIT_OK);
  const unsigned num_asked = failing_os_count(FAILING_OS_FSTATAT);
  aged->fixture->store.os = sj_os_system();
  return num_asked;
}

static void trim_with_much_room_looks_once_in_a_while(void **state)
{
  aged_store aged = make_aged(*state);
  sj_store *store = &aged.fixture->store;
  set_limit(aged.fixture, UINT64_C(1) << 30);
  assert_true(count_asked(&aged, 0) >= NUM_KEYS - 1);
  assert_true(count_asked(&aged, 1) < NUM_KEYS - 1);
  store->looked_ns -= UINT64_C(61000000000); /* a minute later others may have written */
  assert_true(count_asked(&aged, 2) >= NUM_KEYS - 1);
  assert_true(count_asked(&aged, 3) < NUM_KEYS - 1);
  /* Its share of the room, and no byte more, so that many who write at once stay within the limit. */
  const uint64_t share = store->room_bytes;
  assert_true(share > aged.entry_bytes && share < (UINT64_C(1) << 30) / 200);
  store->room_bytes = 2 * aged.entry_bytes;
  assert_true(count_asked(&aged, 4) < NUM_KEYS - 1);
  assert_true(count_asked(&aged, 5) < NUM_KEYS - 1);
  assert_true(count_asked(&aged, 6) >= NUM_KEYS - 1);
  /* With little room each writing looks. */
  set_limit(aged.fixture, (NUM_KEYS + 20) * aged.entry_bytes);
  for (unsigned i = 0; i < 3; i++) {
    assert_true(count_asked(&aged, i) >= NUM_KEYS - 1);
  }
  assert_int_equal(aged.fixture->stats.evictions, 0);
  finish_aged(&aged);
}

static void trim_above_the_limit_evicts_the_least_recently_used(void **state)
{
  aged_store aged = make_aged(*state);
  set_age(&aged, 0, 60); /* the first one was used again */
  publish_last(&aged, 4);
  for (unsigned i = 0; i < NUM_KEYS; i++) {
    assert_true(is_there(&aged, i) == (i == 0 || i >= 5));
  }
  assert_int_equal(aged.fixture->stats.evictions, 4);
  assert_true(aged.fixture->stats.evicted_bytes >= 3 * aged.entry_bytes);
  assert_int_equal(capture_log_count(&aged.fixture->capture, SWA_JIT_LOG_WARN), 0);
  finish_aged(&aged);
}

static void trim_never_evicts_what_is_in_use(void **state)
{
  aged_store aged = make_aged(*state);
  sj_store_use use = {0};
  sj_store_begin_use(&aged.fixture->store, &aged.keys[1], &use);
  set_age(&aged, 1, 100 * 86400); /* used long ago, and by a program that still runs */
  publish_last(&aged, 2);
  assert_true(is_there(&aged, 1));
  assert_int_equal(aged.fixture->stats.evictions, NUM_KEYS - 2);
  set_limit(aged.fixture, 1);
  assert_int_equal(store_fixture_publish(aged.fixture, &aged.keys[NUM_KEYS - 1]), SWA_JIT_OK);
  assert_int_equal(store_fixture_publish(aged.fixture, &aged.keys[NUM_KEYS - 1]), SWA_JIT_OK);
  assert_true(is_there(&aged, 1) && is_there(&aged, NUM_KEYS - 1)); /* nor what was just published */
  assert_int_equal(capture_log_count(&aged.fixture->capture, SWA_JIT_LOG_WARN), 1);
  assert_true(capture_log_has(&aged.fixture->capture, "SWA_JIT_CACHE_LIMIT"));
  sj_store_end_use(&use);
  assert_int_equal(store_fixture_publish(aged.fixture, &aged.keys[NUM_KEYS - 1]), SWA_JIT_OK);
  assert_false(is_there(&aged, 1));
  finish_aged(&aged);
}

static void trim_spares_what_a_builder_is_replacing(void **state)
{
  aged_store aged = make_aged(*state);
  sj_store_lock lock;
  bool has_waited = false;
  sj_store_lock_take(&aged.fixture->store, &aged.keys[0], 0, &lock, &has_waited);
  assert_true(lock.fd >= 0);
  publish_last(&aged, 2);
  assert_true(is_there(&aged, 0));
  assert_false(is_there(&aged, 1));
  sj_store_lock_release(&aged.fixture->store, &lock);
  finish_aged(&aged);
}

static void trim_takes_what_was_set_aside_first_and_locks_along(void **state)
{
  aged_store aged = make_aged(*state);
  char *old = path_of(&aged, NUM_KEYS - 2);
  char *aside = NULL;
  assert_true(asprintf(&aside, "%s.bad-01234567", old) > 0);
  assert_int_equal(rename(old, aside), 0);
  sj_store_lock lock;
  bool has_waited = false;
  sj_store_lock_take(&aged.fixture->store, &aged.keys[0], 0, &lock, &has_waited);
  sj_store_lock_release(&aged.fixture->store, &lock);
  assert_int_equal(temp_dir_count(aged.fixture->path, ".lock"), 1);
  publish_last(&aged, NUM_KEYS - 2);
  assert_int_equal(access(aside, F_OK), -1);
  assert_false(is_there(&aged, 0));
  assert_true(is_there(&aged, 1));
  char digest[SJ_DIGEST_HEX_SIZE];
  sj_digest_hex(aged.keys[0].digest, digest);
  assert_int_equal(temp_dir_count(aged.fixture->path, digest), 0);
  free(aside);
  free(old);
  finish_aged(&aged);
}

/* Without locks nobody can say that an entry is in use: what was used within the hour counts as that. */
static void trim_without_locks_goes_by_the_last_use(void **state)
{
  aged_store aged = make_aged(*state);
  set_age(&aged, 0, 600);
  set_age(&aged, 1, 600);
  aged.fixture->store.os =
      failing_os_start((failing_os_plan){.call = FAILING_OS_FLOCK, .nth = 1, .error = ENOLCK, .and_later = true});
  publish_last(&aged, 1);
  aged.fixture->store.os = sj_os_system();
  for (unsigned i = 0; i < NUM_KEYS; i++) {
    assert_true(is_there(&aged, i) == (i < 2 || i == NUM_KEYS - 1));
  }
  finish_aged(&aged);
}

static void trim_with_each_call_failing_costs_no_entry_in_use(void **state)
{
  store_fixture *fixture = *state;
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    aged_store aged = make_aged(fixture);
    char *last = path_of(&aged, NUM_KEYS - 1);
    unlink(last);
    free(last);
    sj_store_use use = {0};
    sj_store_begin_use(&fixture->store, &aged.keys[0], &use);
    int num_open = store_fixture_count_open();
    set_limit(fixture, 2 * aged.entry_bytes);
    fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = EIO});
    swa_jit_status status = store_fixture_publish(fixture, &aged.keys[NUM_KEYS - 1]);
    has_failed = failing_os_has_failed();
    fixture->store.os = sj_os_system();
    assert_true(status == SWA_JIT_OK || has_failed);
    assert_int_equal(store_fixture_count_open(), num_open);
    assert_true(is_there(&aged, NUM_KEYS - 1) == (status == SWA_JIT_OK));
    assert_true(is_there(&aged, 0));
    sj_store_end_use(&use);
    set_limit(fixture, UINT64_MAX);
    finish_aged(&aged);
  }
}

/* Writers with a limit and readers, all at once: whatever is found is right, and at the end the limit holds. */
static int write_and_read(store_fixture *fixture, unsigned seed)
{
  sj_key keys[NUM_KEYS];
  for (unsigned i = 0; i < NUM_KEYS; i++) {
    if (!store_fixture_make_key(FIRST_WINDOW + i, &keys[i])) {
      return 1;
    }
  }
  for (unsigned i = 0; i < 60; i++) {
    const sj_key *key = &keys[(seed * 5 + i * 3) % NUM_KEYS];
    char reason[512];
    sj_store_use use = {0};
    sj_store_lock lock;
    bool has_waited = false;
    if (!store_fixture_find(fixture, key, reason)) {
      sj_store_lock_take(&fixture->store, key, 60000, &lock, &has_waited);
      if (!sj_store_has(&fixture->store, key, 0) && store_fixture_publish(fixture, key) != SWA_JIT_OK) {
        return 2;
      }
      sj_store_lock_release(&fixture->store, &lock);
    }
    sj_store_begin_use(&fixture->store, key, &use);
    if (use.os != NULL && !sj_store_has(&fixture->store, key, 0)) {
      return 3; /* it was held, and evicted all the same */
    }
    sj_store_end_use(&use);
  }
  return fixture->stats.store_set_aside == 0 ? 0 : 4;
}

static void trim_by_many_processes_at_once_keeps_the_limit(void **state)
{
  enum { NUM_CHILDREN = 6 };
  aged_store aged = make_aged(*state);
  store_fixture *fixture = aged.fixture;
  pid_t children[NUM_CHILDREN];
  set_limit(fixture, 3 * aged.entry_bytes + 16);
  for (unsigned i = 0; i < NUM_CHILDREN; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      _exit(write_and_read(fixture, i));
    }
  }
  for (unsigned i = 0; i < NUM_CHILDREN; i++) {
    int result = -1;
    while (waitpid(children[i], &result, 0) < 0 && errno == EINTR) {
    }
    assert_int_equal(result, 0);
  }
  assert_int_equal(store_fixture_publish(fixture, &aged.keys[0]), SWA_JIT_OK);
  assert_true(temp_dir_count(fixture->path, ".cubin") <= 3);
  assert_int_equal(temp_dir_count(fixture->path, ".tmp-"), 0);
  finish_aged(&aged);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(publish_removes_old_leftovers_only),
      TEST(trim_without_a_limit_or_below_it_evicts_nothing),
      TEST(trim_with_much_room_looks_once_in_a_while),
      TEST(trim_above_the_limit_evicts_the_least_recently_used),
      TEST(trim_never_evicts_what_is_in_use),
      TEST(trim_spares_what_a_builder_is_replacing),
      TEST(trim_takes_what_was_set_aside_first_and_locks_along),
      TEST(trim_without_locks_goes_by_the_last_use),
      TEST(trim_with_each_call_failing_costs_no_entry_in_use),
      TEST(trim_by_many_processes_at_once_keeps_the_limit),
  };
  return SJ_TEST_RUN(tests);
}
