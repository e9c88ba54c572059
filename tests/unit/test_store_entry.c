/* SPDX-License-Identifier: Apache-2.0 */
/* One folder's file, read and judged; what becomes of a verdict is test_store.c's. */
#include "test_main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "store_parts.h"
#include "temp_dir.h"

static sj_verdict read_once(store_fixture *fixture, uint32_t nvrtc_version, sj_reading *reading_out)
{
  sj_entry entry = {0};
  sj_verdict verdict = sj_store_read_entry(&fixture->store, &fixture->key, nvrtc_version, &entry, reading_out);
  assert_true((verdict == SJ_VERDICT_USABLE) == (entry.bytes != NULL));
  sj_entry_finish(&entry);
  return verdict;
}

static void verdict_tells_what_is_there(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  sj_reading reading;
  assert_int_equal(read_once(fixture, 0, &reading), SJ_VERDICT_ABSENT);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(read_once(fixture, 0, &reading), SJ_VERDICT_USABLE);
  assert_int_equal(read_once(fixture, 13000, &reading), SJ_VERDICT_USABLE);
  assert_int_equal(read_once(fixture, 12090, &reading), SJ_VERDICT_OTHER_COMPILER);
  assert_int_equal(truncate(entry, 100), 0);
  assert_int_equal(read_once(fixture, 0, &reading), SJ_VERDICT_BAD);
  assert_true(reading.was_opened);
  assert_int_equal(unlink(entry), 0);
  assert_int_equal(symlink("/dev/null", entry), 0);
  assert_int_equal(read_once(fixture, 0, &reading), SJ_VERDICT_BAD);
  assert_false(reading.was_opened);
  free(entry);
}

/* Image layers and backups share equal files by hard links: who may write is what counts, not how many names. */
static void entry_with_two_names_is_usable(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  char *second = temp_dir_join(fixture->folder, "second");
  sj_reading reading;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_int_equal(link(entry, second), 0);
  assert_int_equal(read_once(fixture, 0, &reading), SJ_VERDICT_USABLE);
  free(second);
  free(entry);
}

static void unreadable_entry_is_told_from_a_bad_one(void **state)
{
  store_fixture *fixture = *state;
  sj_reading reading;
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  fixture->store.os = failing_os_start((failing_os_plan){.call = FAILING_OS_PREAD, .nth = 1, .error = EIO});
  assert_int_equal(read_once(fixture, 0, &reading), SJ_VERDICT_UNREADABLE);
  assert_string_equal(reading.reason, strerror(EIO));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(verdict_tells_what_is_there),
      TEST(entry_with_two_names_is_usable),
      TEST(unreadable_entry_is_told_from_a_bad_one),
  };
  return SJ_TEST_RUN(tests);
}
