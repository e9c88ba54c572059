/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "temp_dir.h"

enum { MAX_SEEN = 16 };

typedef struct seen_file {
  char name[256], reason[512], key_text[1024];
  uint32_t state;
  uint64_t file_bytes, cubin_bytes;
  bool has_view, has_bytes;
} seen_file;

typedef struct seen_files {
  seen_file files[MAX_SEEN];
  unsigned count, limit; /* limit: the walk is ended after so many; 0: never */
} seen_files;

static bool see(void *data, const sj_store_file *file)
{
  seen_files *seen = data;
  assert_true(seen->count < MAX_SEEN);
  seen_file *each = &seen->files[seen->count++];
  snprintf(each->name, sizeof each->name, "%s", file->name);
  snprintf(each->reason, sizeof each->reason, "%s", file->reason);
  each->state = file->state;
  each->file_bytes = (uint64_t)file->status.st_size;
  each->has_view = file->has_view;
  each->has_bytes = file->bytes != NULL;
  if (file->has_view) {
    snprintf(each->key_text, sizeof each->key_text, "%.*s", (int)file->view.key_bytes, file->view.key_text);
    each->cubin_bytes = file->view.cubin_bytes;
  }
  return seen->limit == 0 || seen->count < seen->limit;
}

static seen_files walk(store_fixture *fixture, uint32_t flags)
{
  seen_files seen = {0};
  assert_int_equal(sj_store_walk(&fixture->store, flags, see, &seen), SWA_JIT_OK);
  return seen;
}

/* A file of the store with some bytes. */
static void write_file(const store_fixture *fixture, const char *name, const void *bytes, size_t count)
{
  char *path = temp_dir_join(fixture->path, name);
  assert_true(temp_dir_write(path, bytes, count));
  free(path);
}

static char *with_ending(const char *name, const char *ending)
{
  char *text = NULL;
  assert_true(asprintf(&text, "%s%s", name, ending) > 0);
  return text;
}

static void publish_window(store_fixture *fixture, uint32_t window_size)
{
  sj_key key;
  assert_true(store_fixture_make_key(window_size, &key));
  assert_int_equal(store_fixture_publish(fixture, &key), SWA_JIT_OK);
  sj_key_finish(&key);
}

static void walk_of_an_empty_folder_shows_nothing(void **state)
{
  assert_int_equal(walk(*state, 0).count, 0);
}

static void walk_shows_entries_in_the_order_of_names_and_nothing_else(void **state)
{
  store_fixture *fixture = *state;
  for (uint32_t window_size = 1; window_size <= 5; window_size++) {
    publish_window(fixture, window_size);
  }
  write_file(fixture, "00112233445566778899aabbccddeeff.lock", "pid 1 on a", 10);
  write_file(fixture, "README", "x", 1);
  write_file(fixture, ".tmp-short", "x", 1);
  write_file(fixture, "other-00112233445566778899aabbccddeeff.cubin", "x", 1);
  write_file(fixture, "swa_decode-x.cubin.bad-00112233", "x", 1);
  seen_files seen = walk(fixture, 0);
  assert_int_equal(seen.count, 5);
  for (unsigned i = 0; i < seen.count; i++) {
    assert_int_equal(seen.files[i].state, SWA_JIT_ENTRY_USABLE);
    assert_string_equal(seen.files[i].reason, "");
    assert_true(seen.files[i].has_view);
    assert_false(seen.files[i].has_bytes);
    assert_int_equal(seen.files[i].cubin_bytes, sizeof fixture->cubin);
    assert_true(i == 0 || strcmp(seen.files[i - 1].name, seen.files[i].name) < 0);
  }
  assert_int_equal(fixture->stats.store_hits + fixture->stats.store_misses, 0);
}

static void verified_walk_gives_the_bytes(void **state)
{
  store_fixture *fixture = *state;
  publish_window(fixture, 128);
  seen_files seen = walk(fixture, SWA_JIT_EACH_VERIFY);
  assert_int_equal(seen.count, 1);
  assert_true(seen.files[0].has_bytes);
  assert_string_equal(seen.files[0].key_text, fixture->key.text);
}

static void leftovers_have_their_own_states(void **state)
{
  store_fixture *fixture = *state;
  void *bytes = NULL;
  size_t count = 0;
  assert_true(store_fixture_encode(fixture, &fixture->key, &bytes, &count));
  char *aside = with_ending(fixture->key.file_name, ".bad-0123abcd");
  char *aside_ptx = strdup(aside); /* its PTX, whose ending is as long as that of a cubin but for two letters */
  assert_non_null(aside_ptx);
  memcpy(strstr(aside_ptx, ".cubin"), ".ptx.bad-0123abcd", sizeof ".ptx.bad-0123abcd");
  write_file(fixture, aside, bytes, count);
  write_file(fixture, aside_ptx, bytes, count);
  write_file(fixture, ".tmp-00112233445566778899aabbccddeeff", "half", 4);
  seen_files seen = walk(fixture, SWA_JIT_EACH_VERIFY | SWA_JIT_EACH_SET_ASIDE);
  assert_int_equal(seen.count, 3);
  assert_int_equal(seen.files[2].state, SWA_JIT_ENTRY_SET_ASIDE);
  assert_int_equal(seen.files[0].state, SWA_JIT_ENTRY_TEMPORARY);
  assert_int_equal(seen.files[0].file_bytes, 4);
  assert_false(seen.files[0].has_view);
  assert_int_equal(seen.files[1].state, SWA_JIT_ENTRY_SET_ASIDE);
  assert_string_equal(seen.files[1].key_text, fixture->key.text); /* for a person: what it was */
  assert_false(seen.files[1].has_bytes);
  assert_int_equal(fixture->stats.store_set_aside, 0);
  free(aside_ptx);
  free(aside);
  free(bytes);
}

/* Every changed byte is found by a verifying walk; a listing finds what breaks the footer. */
static void changed_byte_is_bad_when_verified(void **state)
{
  store_fixture *fixture = *state;
  void *bytes = NULL;
  size_t count = 0;
  assert_true(store_fixture_encode(fixture, &fixture->key, &bytes, &count));
  for (size_t i = 0; i < count; i += 7) {
    ((uint8_t *)bytes)[i] ^= 1;
    write_file(fixture, fixture->key.file_name, bytes, count);
    seen_files seen = walk(fixture, SWA_JIT_EACH_VERIFY);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.files[0].state, SWA_JIT_ENTRY_BAD);
    assert_string_not_equal(seen.files[0].reason, "");
    assert_false(seen.files[0].has_bytes);
    ((uint8_t *)bytes)[i] ^= 1;
  }
  for (size_t cut = 0; cut < count; cut += 5) {
    write_file(fixture, fixture->key.file_name, bytes, cut);
    assert_int_equal(walk(fixture, 0).files[0].state, SWA_JIT_ENTRY_BAD);
    assert_int_equal(walk(fixture, SWA_JIT_EACH_VERIFY).files[0].state, SWA_JIT_ENTRY_BAD);
  }
  assert_int_equal(temp_dir_count(fixture->path, ".bad-"), 0); /* nobody asked to set them aside */
  free(bytes);
}

static void swapped_entry_is_bad(void **state)
{
  store_fixture *fixture = *state;
  sj_key other;
  void *bytes = NULL;
  size_t count = 0;
  assert_true(store_fixture_make_key(256, &other));
  assert_true(store_fixture_encode(fixture, &other, &bytes, &count));
  write_file(fixture, fixture->key.file_name, bytes, count);
  seen_files seen = walk(fixture, 0);
  assert_int_equal(seen.files[0].state, SWA_JIT_ENTRY_BAD);
  assert_string_equal(seen.files[0].reason, "it holds another key than its name says");
  free(bytes);
  sj_key_finish(&other);
}

static void link_is_bad_and_unreadable_file_is_not_judged(void **state)
{
  store_fixture *fixture = *state;
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  assert_int_equal(symlink("/dev/null", entry), 0);
  seen_files seen = walk(fixture, 0);
  assert_int_equal(seen.files[0].state, SWA_JIT_ENTRY_BAD);
  assert_string_equal(seen.files[0].reason, "it is a symbolic link");
  assert_int_equal(unlink(entry), 0);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  fixture->store.os = failing_os_start((failing_os_plan){.call = FAILING_OS_PREAD, .nth = 1, .error = EIO});
  seen = walk(fixture, SWA_JIT_EACH_VERIFY | SWA_JIT_EACH_SET_ASIDE);
  assert_int_equal(seen.files[0].state, SWA_JIT_ENTRY_UNREADABLE);
  assert_string_equal(seen.files[0].reason, strerror(EIO));
  assert_int_equal(temp_dir_count(fixture->path, ".bad-"), 0);
  free(entry);
}

static void bad_entry_is_set_aside_where_that_is_asked(void **state)
{
  store_fixture *fixture = *state;
  publish_window(fixture, 256);
  write_file(fixture, fixture->key.file_name, "bad", 3);
  seen_files seen = walk(fixture, SWA_JIT_EACH_SET_ASIDE);
  assert_int_equal(seen.count, 2);
  assert_int_equal(fixture->stats.store_set_aside, 1);
  assert_int_equal(temp_dir_count(fixture->path, ".bad-"), 1);
  seen = walk(fixture, SWA_JIT_EACH_SET_ASIDE);
  assert_int_equal(seen.count, 2);
  assert_int_equal(seen.files[0].state + seen.files[1].state, SWA_JIT_ENTRY_USABLE + SWA_JIT_ENTRY_SET_ASIDE);
}

/* A key text longer than what is read at first. */
static void long_footer_is_read_whole(void **state)
{
  store_fixture *fixture = *state;
  enum { LONG = 20000 };
  char *option = malloc(LONG);
  assert_non_null(option);
  memset(option, 'x', LONG - 1);
  option[LONG - 1] = '\0';
  const char *const options[] = {option, NULL};
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key key;
  assert_int_equal(sj_key_make(&config, "source", options, &key), SWA_JIT_OK);
  assert_int_equal(store_fixture_publish(fixture, &key), SWA_JIT_OK);
  seen_files seen = walk(fixture, 0);
  assert_int_equal(seen.files[0].state, SWA_JIT_ENTRY_USABLE);
  assert_true(seen.files[0].has_view);
  sj_key_finish(&key);
  free(option);
}

static void callback_ends_the_walk(void **state)
{
  store_fixture *fixture = *state;
  publish_window(fixture, 1);
  publish_window(fixture, 2);
  seen_files seen = {.limit = 1};
  assert_int_equal(sj_store_walk(&fixture->store, 0, see, &seen), SWA_JIT_OK);
  assert_int_equal(seen.count, 1);
}

/* Each call fails once: the walk goes on or says why not, and leaves nothing open. */
static void walk_bears_the_failure_of_any_call(void **state)
{
  store_fixture *fixture = *state;
  publish_window(fixture, 1);
  publish_window(fixture, 2);
  int num_open = store_fixture_count_open();
  for (unsigned nth = 1;; nth++) {
    seen_files seen = {0};
    fixture->store.os = failing_os_start((failing_os_plan){.call = FAILING_OS_ANY, .nth = nth, .error = EIO});
    swa_jit_status status = sj_store_walk(&fixture->store, SWA_JIT_EACH_VERIFY, see, &seen);
    fixture->store.os = sj_os_system();
    assert_int_equal(store_fixture_count_open(), num_open);
    if (!failing_os_has_failed()) {
      assert_true(nth > 8);
      break;
    }
    assert_true(status == SWA_JIT_OK || status == SWA_JIT_STORE_ERROR);
    assert_true(status != SWA_JIT_OK || seen.count == 2);
  }
}

static void remove_takes_only_names_of_the_store(void **state)
{
  store_fixture *fixture = *state;
  bool was_removed = false;
  static const char *const wrong[] = {"",
                                      ".",
                                      "..",
                                      "README",
                                      "../swa_decode-00112233445566778899aabbccddeeff.cubin",
                                      "swa_x/../swa_decode-00112233445566778899aabbccddeeff.cubin",
                                      "00112233445566778899aabbccddeeff.lock",
                                      ".tmp-../00112233445566778899aabbccdde"};
  for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(sj_store_remove(&fixture->store, wrong[i], &was_removed), SWA_JIT_INVALID);
  }
  publish_window(fixture, 128);
  assert_int_equal(sj_store_remove(&fixture->store, fixture->key.file_name, &was_removed), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  assert_int_equal(sj_store_remove(&fixture->store, fixture->key.file_name, &was_removed),
                   SWA_JIT_OK); /* gone: another was faster */
}

static void remove_that_may_not_or_cannot_says_so(void **state)
{
  store_fixture *fixture = *state;
  bool was_removed = false;
  publish_window(fixture, 128);
  fixture->store.os =
      failing_os_start((failing_os_plan){.call = FAILING_OS_UNLINKAT, .nth = 1, .error = EACCES, .and_later = true});
  assert_int_equal(sj_store_remove(&fixture->store, fixture->key.file_name, &was_removed), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), strerror(EACCES)));
  assert_true(store_fixture_reopen(fixture, sj_os_system(), SWA_JIT_FLAG_READ_ONLY));
  assert_int_equal(sj_store_remove(&fixture->store, fixture->key.file_name, &was_removed), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), "read-only"));
  assert_int_equal(temp_dir_count(fixture->path, ".cubin"), 1);
}

static void remove_takes_leftovers_and_links(void **state)
{
  store_fixture *fixture = *state;
  static const char temporary[] = ".tmp-00112233445566778899aabbccddeeff";
  char *aside = with_ending(fixture->key.file_name, ".bad-0123abcd");
  char *entry = store_fixture_entry_path(fixture, &fixture->key);
  bool was_removed = false;
  write_file(fixture, temporary, "half", 4);
  write_file(fixture, aside, "bad", 3);
  assert_int_equal(symlink("/dev/null", entry), 0);
  assert_int_equal(sj_store_remove(&fixture->store, temporary, &was_removed), SWA_JIT_OK);
  assert_int_equal(sj_store_remove(&fixture->store, aside, &was_removed), SWA_JIT_OK);
  assert_int_equal(sj_store_remove(&fixture->store, fixture->key.file_name, &was_removed), SWA_JIT_OK);
  assert_true(was_removed);
  assert_int_equal(temp_dir_count(fixture->path, ""), 0);
  assert_int_equal(access("/dev/null", F_OK), 0);
  free(aside);
  free(entry);
}

#define IN_STORE(test) cmocka_unit_test_setup_teardown(test, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      IN_STORE(walk_of_an_empty_folder_shows_nothing),
      IN_STORE(walk_shows_entries_in_the_order_of_names_and_nothing_else),
      IN_STORE(verified_walk_gives_the_bytes),
      IN_STORE(leftovers_have_their_own_states),
      IN_STORE(changed_byte_is_bad_when_verified),
      IN_STORE(swapped_entry_is_bad),
      IN_STORE(link_is_bad_and_unreadable_file_is_not_judged),
      IN_STORE(bad_entry_is_set_aside_where_that_is_asked),
      IN_STORE(long_footer_is_read_whole),
      IN_STORE(callback_ends_the_walk),
      IN_STORE(walk_bears_the_failure_of_any_call),
      IN_STORE(remove_takes_only_names_of_the_store),
      IN_STORE(remove_that_may_not_or_cannot_says_so),
      IN_STORE(remove_takes_leftovers_and_links),
  };
  return SJ_TEST_RUN(tests);
}
