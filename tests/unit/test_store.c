/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "temp_dir.h"

/* A table whose files seem to be another's: what fstat tells is changed by these. */
static uid_t seen_uid;
static ino_t seen_ino_change;

static int fstat_changed(int fd, struct stat *status)
{
  int result = fstat(fd, status);
  status->st_uid = seen_uid;
  status->st_ino += seen_ino_change;
  return result;
}

static const sj_os *changed_os(uid_t uid, ino_t ino_change)
{
  static sj_os table;
  table = *sj_os_system();
  table.fstat = fstat_changed;
  seen_uid = uid;
  seen_ino_change = ino_change;
  return &table;
}

static swa_jit_status open_at(const char *path, bool read_only, const sj_os *os)
{
  static sj_stats stats;
  sj_store store = {.dir_fd = -2};
  swa_jit_status status = sj_store_open(path, read_only ? SWA_JIT_FLAG_READ_ONLY : 0u, os, NULL, &stats, &store);
  if (status == SWA_JIT_OK) {
    assert_true(store.dir_fd >= 0);
    assert_string_equal(store.path, path);
    sj_store_close(&store);
    assert_int_equal(store.dir_fd, -1);
  } else {
    assert_int_equal(store.dir_fd, -2);
  }
  return status;
}

static mode_t mode_of(const char *path)
{
  struct stat status;
  assert_int_equal(lstat(path, &status), 0);
  return status.st_mode;
}

/* ---- Opening --------------------------------------------------------------------------------------------- */

static void open_of_missing_folder_makes_it_and_its_parents_private(void **state)
{
  store_fixture *fixture = *state;
  mode_t mask = umask(0);
  char *path = temp_dir_join(fixture->folder, "a/b c/d\xc3\xa9//e/");
  assert_int_equal(open_at(path, false, sj_os_system()), SWA_JIT_OK);
  umask(mask);
  char *parent = temp_dir_join(fixture->folder, "a");
  assert_int_equal(mode_of(parent), S_IFDIR | 0700);
  path[strlen(path) - 1] = '\0';
  assert_int_equal(mode_of(path), S_IFDIR | 0700);
  assert_int_equal(open_at(path, true, sj_os_system()), SWA_JIT_OK);
  free(parent);
  free(path);
}

static void open_of_relative_path_is_from_the_working_folder(void **state)
{
  store_fixture *fixture = *state;
  int before = open(".", O_RDONLY | O_DIRECTORY);
  assert_int_equal(chdir(fixture->folder), 0);
  swa_jit_status first = open_at("x/../x/./y", false, sj_os_system());
  swa_jit_status second = open_at("x/y", true, sj_os_system());
  swa_jit_status here = open_at(".", true, sj_os_system());
  assert_int_equal(fchdir(before), 0);
  close(before);
  assert_int_equal(first, SWA_JIT_OK);
  assert_int_equal(second, SWA_JIT_OK);
  assert_int_equal(here, SWA_JIT_OK);
}

static void open_of_what_is_no_folder_is_store_error(void **state)
{
  store_fixture *fixture = *state;
  char *file = temp_dir_join(fixture->folder, "file");
  char *below = temp_dir_join(fixture->folder, "file/store");
  char *link = temp_dir_join(fixture->folder, "link");
  char *missing = temp_dir_join(fixture->folder, "missing/store");
  assert_true(temp_dir_write(file, "", 0));
  assert_int_equal(symlink(fixture->path, link), 0);
  const char *const paths[] = {file, below, link, ""};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    assert_int_equal(open_at(paths[i], false, sj_os_system()), SWA_JIT_STORE_ERROR);
    assert_non_null(strstr(sj_message(), paths[i]));
  }
  assert_int_equal(open_at(missing, true, sj_os_system()), SWA_JIT_STORE_ERROR);
  assert_int_equal(temp_dir_count(fixture->folder, "missing"), 0);
  free(file);
  free(below);
  free(link);
  free(missing);
}

static void open_through_a_linked_parent_is_ok(void **state)
{
  store_fixture *fixture = *state;
  char *link = temp_dir_join(fixture->folder, "link");
  char *path = temp_dir_join(link, "store");
  assert_int_equal(symlink(fixture->folder, link), 0);
  assert_int_equal(open_at(path, false, sj_os_system()), SWA_JIT_OK);
  free(link);
  free(path);
}

static void open_of_too_long_name_is_store_error(void **state)
{
  store_fixture *fixture = *state;
  char name[400];
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = '\0';
  char *path = temp_dir_join(fixture->folder, name);
  assert_int_equal(open_at(path, false, sj_os_system()), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), strerror(ENAMETOOLONG)));
  free(path);
}

static void open_of_folder_that_others_write_is_refused(void **state)
{
  store_fixture *fixture = *state;
  static const mode_t modes[] = {0770, 0720, 0702, 0777, 01777};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_int_equal(chmod(fixture->path, modes[i]), 0);
    assert_int_equal(open_at(fixture->path, false, sj_os_system()), SWA_JIT_STORE_ERROR);
    assert_int_equal(open_at(fixture->path, true, sj_os_system()), SWA_JIT_STORE_ERROR);
    assert_non_null(strstr(sj_message(), "chmod go-w"));
  }
  assert_int_equal(chmod(fixture->path, 0755), 0);
  assert_int_equal(open_at(fixture->path, false, sj_os_system()), SWA_JIT_OK);
}

static void open_of_another_users_folder_is_refused(void **state)
{
  store_fixture *fixture = *state;
  assert_int_equal(open_at(fixture->path, false, changed_os(geteuid() + 1, 0)), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), "belongs to user"));
  assert_int_equal(open_at(fixture->path, false, changed_os(0, 0)), SWA_JIT_OK);
  assert_int_equal(open_at(fixture->path, false, changed_os(geteuid(), 0)), SWA_JIT_OK);
}

static void open_with_each_call_failing_is_store_error_and_leaks_nothing(void **state)
{
  store_fixture *fixture = *state;
  int before = store_fixture_count_open();
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    char name[32];
    snprintf(name, sizeof name, "new%u/store", nth);
    char *path = temp_dir_join(fixture->folder, name);
    const sj_os *os = failing_os_start((failing_os_plan){.nth = nth, .error = EACCES});
    swa_jit_status status = open_at(path, false, os);
    has_failed = failing_os_has_failed();
    bool is_close = has_failed && failing_os_count(FAILING_OS_CLOSE) > 0 && status == SWA_JIT_OK;
    assert_int_equal(status, has_failed && !is_close ? SWA_JIT_STORE_ERROR : SWA_JIT_OK);
    assert_int_equal(store_fixture_count_open(), before);
    free(path);
  }
  bool is_ok =
      open_at(fixture->path, false, failing_os_start((failing_os_plan){.nth = 1, .error = EINTR})) == SWA_JIT_OK;
  assert_true(is_ok);
}

/* ---- Finding --------------------------------------------------------------------------------------------- */

static void find_of_published_entry_gives_it_back(void **state)
{
  store_fixture *fixture = *state;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  bool found = false;
  sj_entry entry;
  char reason[64] = "unset";
  assert_int_equal(sj_store_find(&fixture->store, &fixture->key, 13000, &found, &entry, reason, sizeof reason),
                   SWA_JIT_OK);
  assert_true(found);
  assert_string_equal(reason, "");
  assert_int_equal(entry.view.cubin_bytes, sizeof fixture->cubin);
  assert_memory_equal(entry.view.cubin, fixture->cubin, sizeof fixture->cubin);
  assert_int_equal(entry.view.note.num_registers, 64);
  assert_int_equal(fixture->stats.store_hits, 1);
  assert_int_equal(fixture->stats.store_misses, 0);
  assert_int_equal(fixture->stats.store_bytes_read, entry.count);
  sj_entry_finish(&entry);
  assert_null(entry.bytes);
}

static void find_of_absent_entry_is_a_counted_miss(void **state)
{
  store_fixture *fixture = *state;
  char reason[512];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "the store is empty");
  assert_int_equal(fixture->stats.store_misses, 1);
  assert_int_equal(fixture->stats.store_hits, 0);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), 0);
}

static void find_without_a_store_is_an_uncounted_miss(void **state)
{
  store_fixture *fixture = *state;
  sj_store none = {.os = sj_os_system(), .stats = &fixture->stats, .dir_fd = -1};
  bool found = true;
  sj_entry entry;
  char reason[64];
  assert_int_equal(sj_store_find(&none, &fixture->key, 0, &found, &entry, reason, sizeof reason), SWA_JIT_OK);
  assert_false(found);
  assert_non_null(strstr(reason, "memory only"));
  assert_int_equal(fixture->stats.store_misses, 0);
  assert_false(sj_store_has(&none, &fixture->key, 0));
  sj_store_close(&none);
}

/* Puts bytes in the entry's place; finds; expects a miss that set them aside, and a usable store. */
static void expect_set_aside(store_fixture *fixture, const char *entry, const void *bytes, size_t count)
{
  uint64_t before = fixture->stats.store_set_aside;
  char reason[512];
  assert_true(temp_dir_write(entry, bytes, count));
  assert_false(sj_store_has(&fixture->store, &fixture->key, 0));
  assert_int_equal(fixture->stats.store_set_aside, before);
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_non_null(strstr(reason, "cannot be used"));
  assert_int_equal(fixture->stats.store_set_aside, before + 1);
  assert_int_not_equal(access(entry, F_OK), 0);
  char *aside = temp_dir_find(fixture->path, ".cubin.bad-");
  assert_non_null(aside);
  assert_int_equal(unlink(aside), 0);
  free(aside);
}

static void find_of_each_cut_entry_sets_it_aside(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  void *bytes = NULL;
  size_t count = 0;
  assert_true(store_fixture_encode(fixture, &fixture->key, &bytes, &count));
  for (size_t cut = 0; cut < count; cut++) {
    expect_set_aside(fixture, entry, bytes, cut);
  }
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), count);
  assert_true(temp_dir_write(entry, bytes, count));
  char reason[512];
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  free(bytes);
  free(entry);
}

static void find_of_each_changed_entry_sets_it_aside(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  void *bytes = NULL;
  size_t count = 0;
  assert_true(store_fixture_encode(fixture, &fixture->key, &bytes, &count));
  for (size_t i = 0; i < count; i++) {
    ((uint8_t *)bytes)[i] ^= 0x20;
    expect_set_aside(fixture, entry, bytes, count);
    ((uint8_t *)bytes)[i] ^= 0x20;
  }
  free(bytes);
  free(entry);
}

static void find_of_another_keys_entry_sets_it_aside(void **state)
{
  store_fixture *fixture = *state;
  sj_key other;
  assert_true(store_fixture_make_key(256, &other));
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  void *bytes = NULL;
  size_t count = 0;
  assert_true(store_fixture_encode(fixture, &other, &bytes, &count));
  expect_set_aside(fixture, entry, bytes, count);
  assert_true(capture_log_has(&fixture->capture, "holds another key"));
  free(bytes);
  free(entry);
  sj_key_finish(&other);
}

static void expect_refused(store_fixture *fixture, const char *why)
{
  uint64_t before = fixture->stats.store_set_aside;
  char reason[512];
  assert_false(sj_store_has(&fixture->store, &fixture->key, 0));
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_non_null(strstr(reason, why));
  assert_int_equal(fixture->stats.store_set_aside, before + 1);
  assert_int_equal(temp_dir_count(fixture->path, ".bad-"), before + 1);
}

static void find_of_what_is_no_plain_file_refuses_it(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  char *elsewhere = temp_dir_join(fixture->folder, "elsewhere");
  void *bytes = NULL;
  size_t count = 0;
  assert_true(store_fixture_encode(fixture, &fixture->key, &bytes, &count));
  assert_true(temp_dir_write(elsewhere, bytes, count));
  assert_int_equal(symlink(elsewhere, entry), 0);
  expect_refused(fixture, "symbolic link");
  assert_int_equal(mkfifo(entry, 0600), 0);
  expect_refused(fixture, "not a regular file");
  assert_int_equal(mkdir(entry, 0700), 0);
  expect_refused(fixture, "not a regular file");
  free(bytes);
  free(entry);
  free(elsewhere);
}

static void find_of_entry_that_others_could_write_refuses_it(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  static const mode_t modes[] = {0664, 0646, 0620};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
    assert_int_equal(chmod(entry, modes[i]), 0);
    expect_refused(fixture, "lets its group or everybody write");
  }
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  fixture->store.os = changed_os(geteuid() + 1, 0);
  expect_refused(fixture, "belongs to user");
  free(entry);
}

static void find_of_too_large_entry_does_not_read_it(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_true(temp_dir_write(entry, "x", 1));
  assert_int_equal(truncate(entry, (off_t)SJ_CUBIN_FILE_MAX_BYTES + 1), 0);
  fixture->store.os = failing_os_start((failing_os_plan){0});
  expect_refused(fixture, "larger than any entry");
  assert_int_equal(failing_os_count(FAILING_OS_PREAD), 0);
  free(entry);
}

static void find_in_read_only_store_leaves_a_bad_entry(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_true(temp_dir_write(entry, "bad", 3));
  assert_true(store_fixture_reopen(fixture, sj_os_system(), SWA_JIT_FLAG_READ_ONLY));
  char reason[512];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_int_equal(access(entry, F_OK), 0);
  assert_int_equal(fixture->stats.store_set_aside, 0);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), 1);
  assert_true(capture_log_has(&fixture->capture, "read-only"));
  free(entry);
}

static void find_of_bad_entry_that_was_replaced_leaves_the_new_one(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_true(temp_dir_write(entry, "bad", 3));
  fixture->store.os = changed_os(geteuid(), 1); /* what was opened is another file than the name's */
  char reason[512];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_int_equal(access(entry, F_OK), 0);
  assert_int_equal(fixture->stats.store_set_aside, 0);
  assert_true(capture_log_has(&fixture->capture, "replaced"));
  free(entry);
}

static void find_of_another_compilers_entry_misses_only_when_asked(void **state)
{
  store_fixture *fixture = *state;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  bool found = true;
  sj_entry entry;
  char reason[128];
  assert_int_equal(sj_store_find(&fixture->store, &fixture->key, 12080, &found, &entry, reason, sizeof reason),
                   SWA_JIT_OK);
  assert_false(found);
  assert_non_null(strstr(reason, "NVRTC 13.0 made it, and 12.8 is wanted"));
  assert_int_equal(fixture->stats.store_set_aside, 0);
  assert_false(sj_store_has(&fixture->store, &fixture->key, 12080));
  assert_true(sj_store_has(&fixture->store, &fixture->key, 13000));
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
  assert_int_equal(fixture->stats.store_hits, 0);
  assert_int_equal(fixture->stats.store_misses, 1);
}

static void find_that_overcomes_a_failure_leaves_the_message(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_true(temp_dir_write(entry, "bad", 3));
  sj_fail(SWA_JIT_INVALID, "the caller's own");
  char reason[512];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(sj_message(), "the caller's own");
  free(entry);
}

static void find_with_each_call_failing_is_a_miss_that_spares_the_entry(void **state)
{
  store_fixture *fixture = *state;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  int before = store_fixture_count_open();
  static const int errors[] = {EIO, EACCES, ESTALE, EMFILE};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    bool has_failed = true;
    for (unsigned nth = 1; has_failed; nth++) {
      fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = errors[i]});
      char reason[512] = "";
      bool found = store_fixture_find(fixture, &fixture->key, reason);
      has_failed = failing_os_has_failed();
      bool is_close = failing_os_count(FAILING_OS_CLOSE) == 1 && found;
      assert_true(found == (!has_failed || is_close));
      assert_true(found || strstr(reason, strerror(errors[i])) != NULL);
      assert_int_equal(store_fixture_count_open(), before);
      assert_int_equal(temp_dir_count(fixture->path, ".bad-"), 0);
      fixture->store.os = sj_os_system();
      assert_true(store_fixture_find(fixture, &fixture->key, reason));
    }
  }
}

static void find_of_bad_entry_with_each_call_failing_stays_a_miss(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  int before = store_fixture_count_open();
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    assert_true(temp_dir_write(entry, "bad", 3));
    fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = EROFS, .and_later = true});
    char reason[512] = "";
    assert_false(store_fixture_find(fixture, &fixture->key, reason));
    has_failed = failing_os_has_failed();
    assert_true(reason[0] != '\0');
    assert_int_equal(store_fixture_count_open(), before);
    assert_int_equal(access(entry, F_OK), has_failed ? 0 : -1);
  }
  free(entry);
}

static void find_with_short_and_interrupted_reads_succeeds(void **state)
{
  store_fixture *fixture = *state;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  char reason[512];
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    fixture->store.os =
        failing_os_start((failing_os_plan){.call = FAILING_OS_PREAD, .nth = nth, .error = EINTR, .most_bytes = 100});
    assert_true(store_fixture_find(fixture, &fixture->key, reason));
    has_failed = failing_os_has_failed();
  }
  assert_true(failing_os_count(FAILING_OS_PREAD) > 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(open_of_missing_folder_makes_it_and_its_parents_private),
      TEST(open_of_relative_path_is_from_the_working_folder),
      TEST(open_of_what_is_no_folder_is_store_error),
      TEST(open_through_a_linked_parent_is_ok),
      TEST(open_of_too_long_name_is_store_error),
      TEST(open_of_folder_that_others_write_is_refused),
      TEST(open_of_another_users_folder_is_refused),
      TEST(open_with_each_call_failing_is_store_error_and_leaks_nothing),
      TEST(find_of_published_entry_gives_it_back),
      TEST(find_of_absent_entry_is_a_counted_miss),
      TEST(find_without_a_store_is_an_uncounted_miss),
      TEST(find_of_each_cut_entry_sets_it_aside),
      TEST(find_of_each_changed_entry_sets_it_aside),
      TEST(find_of_another_keys_entry_sets_it_aside),
      TEST(find_of_what_is_no_plain_file_refuses_it),
      TEST(find_of_entry_that_others_could_write_refuses_it),
      TEST(find_of_too_large_entry_does_not_read_it),
      TEST(find_in_read_only_store_leaves_a_bad_entry),
      TEST(find_of_bad_entry_that_was_replaced_leaves_the_new_one),
      TEST(find_of_another_compilers_entry_misses_only_when_asked),
      TEST(find_that_overcomes_a_failure_leaves_the_message),
      TEST(find_with_each_call_failing_is_a_miss_that_spares_the_entry),
      TEST(find_of_bad_entry_with_each_call_failing_stays_a_miss),
      TEST(find_with_short_and_interrupted_reads_succeeds),
  };
  return SJ_TEST_RUN(tests);
}
