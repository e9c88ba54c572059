/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_failure.h"
#include "store_fixture.h"
#include "temp_dir.h"

static void keep(store_fixture *fixture)
{
  sj_store_keep_failure(&fixture->store, &fixture->key, 13000, "refused, for a reason", "the whole log");
}

/* A log comes with each failure that is found, and with no other answer. */
static swa_jit_status find_for(sj_store *store, const sj_key *key, uint32_t nvrtc_version)
{
  char *log = NULL;
  swa_jit_status status = sj_store_find_failure(store, key, nvrtc_version, &log);
  assert_int_equal(log != NULL, status == SWA_JIT_COMPILE_FAILED);
  if (log != NULL) {
    assert_string_equal(log, "the whole log");
  }
  free(log);
  return status;
}

static swa_jit_status find(store_fixture *fixture)
{
  return find_for(&fixture->store, &fixture->key, 13000);
}

static void set_age(const store_fixture *fixture, time_t age_s)
{
  char *path = temp_dir_find(fixture->path, ".failed");
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - age_s}};
  assert_non_null(path);
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
  free(path);
}

static void failure_kept_is_found_with_its_message_and_log(void **state)
{
  store_fixture *fixture = *state;
  assert_int_equal(find(fixture), SWA_JIT_OK);
  keep(fixture);
  assert_int_equal(find(fixture), SWA_JIT_COMPILE_FAILED);
  assert_non_null(strstr(sj_message(), "refused, for a reason\n(remembered: "));
  char *path = temp_dir_find(fixture->path, ".failed");
  assert_non_null(path);
  assert_non_null(strstr(sj_message(), path));
  char *bytes = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(path, &bytes, &count));
  assert_non_null(strstr(bytes, "the whole log"));
  assert_int_equal(temp_dir_count(fixture->path, ""), 1);
  sj_store_forget_failure(&fixture->store, &fixture->key);
  assert_int_equal(find(fixture), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  free(bytes);
  free(path);
}

static void failure_of_another_compiler_or_key_does_not_count(void **state)
{
  store_fixture *fixture = *state;
  sj_key other;
  keep(fixture);
  assert_int_equal(find_for(&fixture->store, &fixture->key, 13010), SWA_JIT_OK);
  assert_true(store_fixture_make_key(256, &other));
  assert_int_equal(find_for(&fixture->store, &other, 13000), SWA_JIT_OK);
  snprintf(other.file_name, sizeof other.file_name, "%s", fixture->key.file_name); /* a swapped file */
  assert_int_equal(find_for(&fixture->store, &other, 13000), SWA_JIT_OK);
  sj_key_finish(&other);
}

static void failure_counts_for_an_hour(void **state)
{
  store_fixture *fixture = *state;
  keep(fixture);
  set_age(fixture, 3000);
  assert_int_equal(find(fixture), SWA_JIT_COMPILE_FAILED);
  set_age(fixture, 4000);
  assert_int_equal(find(fixture), SWA_JIT_OK);
  set_age(fixture, -3000); /* a file server's clock may be ahead: else each of its clients would compile */
  assert_int_equal(find(fixture), SWA_JIT_COMPILE_FAILED);
  assert_non_null(strstr(sj_message(), "failed 0 s ago"));
  set_age(fixture, -4000); /* a clock was set back: who knows how old it is */
  assert_int_equal(find(fixture), SWA_JIT_OK);
}

static void failure_changed_or_untrusted_does_not_count(void **state)
{
  store_fixture *fixture = *state;
  keep(fixture);
  char *path = temp_dir_find(fixture->path, ".failed");
  assert_int_equal(chmod(path, 0666), 0);
  assert_int_equal(find(fixture), SWA_JIT_OK);
  assert_true(temp_dir_write(path, "changed", 7));
  assert_int_equal(find(fixture), SWA_JIT_OK);
  keep(fixture); /* replaces it */
  assert_int_equal(find(fixture), SWA_JIT_COMPILE_FAILED);
  free(path);
}

static void failure_without_a_folder_to_write_is_not_kept(void **state)
{
  store_fixture *fixture = *state;
  assert_true(store_fixture_reopen(fixture, sj_os_system(), SWA_JIT_FLAG_READ_ONLY));
  keep(fixture);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  sj_store none = {.os = sj_os_system(), .stats = &fixture->stats, .dir_fd = -1};
  sj_store_keep_failure(&none, &fixture->key, 13000, "m", NULL);
  sj_store_forget_failure(&none, &fixture->key);
  assert_int_equal(find_for(&none, &fixture->key, 13000), SWA_JIT_OK);
}

static void failure_with_each_call_failing_is_well(void **state)
{
  store_fixture *fixture = *state;
  int num_open = store_fixture_count_open();
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = ENOSPC});
    keep(fixture);
    find(fixture);
    sj_store_forget_failure(&fixture->store, &fixture->key);
    has_failed = failing_os_has_failed();
    fixture->store.os = sj_os_system();
    assert_int_equal(store_fixture_count_open(), num_open);
    sj_store_forget_failure(&fixture->store, &fixture->key);
    assert_int_equal(temp_dir_count(fixture->path, ".failed"), 0);
  }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(failure_kept_is_found_with_its_message_and_log),
      TEST(failure_of_another_compiler_or_key_does_not_count),
      TEST(failure_counts_for_an_hour),
      TEST(failure_changed_or_untrusted_does_not_count),
      TEST(failure_without_a_folder_to_write_is_not_kept),
      TEST(failure_with_each_call_failing_is_well),
  };
  return SJ_TEST_RUN(tests);
}
