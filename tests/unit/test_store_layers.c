/* SPDX-License-Identifier: Apache-2.0 */
/* Read-only folders behind the one that is written. */
#include "test_main.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "temp_dir.h"

/* folder/name with an entry of key in it; the store of the fixture stays empty. The path, malloc'd. */
static char *make_layer(store_fixture *fixture, const char *name, const sj_key *key)
{
  char *path = temp_dir_join(fixture->folder, name);
  sj_stats stats = {0};
  sj_store layer;
  assert_int_equal(sj_store_open(path, SWA_JIT_FLAG_ALL_READ, sj_os_system(), NULL, &stats, &layer), SWA_JIT_OK);
  sj_cubin_view view = fixture->view;
  view.key_text = key->text;
  view.key_bytes = key->text_length;
  assert_int_equal(sj_store_publish(&layer, key, &view), SWA_JIT_OK);
  sj_store_close(&layer);
  return path;
}

static void add_layers(store_fixture *fixture, const char *paths)
{
  assert_int_equal(sj_store_add_layers(&fixture->store, paths, 0, true), SWA_JIT_OK);
}

static void find_in_a_layer_is_a_hit_that_copies_nothing(void **state)
{
  store_fixture *fixture = *state;
  char reason[512];
  char *layer = make_layer(fixture, "layer", &fixture->key);
  add_layers(fixture, layer);
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "");
  assert_int_equal(fixture->stats.store_hits, 1);
  assert_int_equal(fixture->stats.layer_hits, 1);
  assert_int_equal(fixture->stats.store_misses, 0);
  assert_int_equal(temp_dir_count(fixture->path, ".cubin"), 0);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  assert_int_equal(fixture->stats.store_hits, 2);
  assert_int_equal(fixture->stats.layer_hits, 1);
  free(layer);
}

static void find_without_a_written_folder_searches_the_layers(void **state)
{
  store_fixture *fixture = *state;
  char reason[512];
  char *layer = make_layer(fixture, "layer", &fixture->key);
  const sj_log *log = fixture->store.log;
  sj_store_close(&fixture->store);
  fixture->store = (sj_store){.os = sj_os_system(), .log = log, .stats = &fixture->stats, .dir_fd = -1};
  assert_false(sj_store_is_there(&fixture->store));
  add_layers(fixture, layer);
  assert_true(sj_store_is_there(&fixture->store));
  assert_true(sj_store_has(&fixture->store, &fixture->key, 0));
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  sj_key other;
  assert_true(store_fixture_make_key(256, &other));
  assert_false(store_fixture_find(fixture, &other, reason));
  assert_non_null(strstr(reason, "window_size 128 -> 256"));
  sj_key_finish(&other);
  free(layer);
}

static void layers_are_searched_in_their_order(void **state)
{
  store_fixture *fixture = *state;
  char *first = make_layer(fixture, "first", &fixture->key);
  char *second = make_layer(fixture, "second", &fixture->key);
  char *paths = NULL;
  assert_true(asprintf(&paths, ":%s::%s:", first, second) > 0);
  add_layers(fixture, paths);
  assert_int_equal(fixture->store.num_layers, 2);
  char reason[512];
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  assert_true(capture_log_has(&fixture->capture, "/first"));
  assert_false(capture_log_has(&fixture->capture, "/second"));
  free(paths);
  free(first);
  free(second);
}

static void bad_entry_of_a_layer_is_passed_over_and_told_once(void **state)
{
  store_fixture *fixture = *state;
  char *bad = make_layer(fixture, "bad", &fixture->key);
  char *entry = temp_dir_join(bad, fixture->key.file_name);
  assert_true(temp_dir_write(entry, "bad", 3));
  add_layers(fixture, bad);
  char reason[512];
  for (int i = 0; i < 3; i++) {
    assert_false(store_fixture_find(fixture, &fixture->key, reason));
    assert_non_null(strstr(reason, "cannot be used"));
  }
  assert_int_equal(fixture->stats.layer_skips, 1);
  assert_int_equal(fixture->stats.store_set_aside, 0);
  assert_int_equal(fixture->stats.store_misses, 3);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), 1);
  assert_int_equal(access(entry, F_OK), 0);
  assert_int_equal(store_fixture_publish(fixture, &fixture->key), SWA_JIT_OK);
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  char *good = make_layer(fixture, "good", &fixture->key);
  add_layers(fixture, good);
  char *own = store_fixture_entry_path(fixture, &fixture->key);
  assert_int_equal(unlink(own), 0);
  assert_true(store_fixture_find(fixture, &fixture->key, reason)); /* the next layer has a good one */
  assert_int_equal(fixture->stats.layer_hits, 1);
  free(own);
  free(good);
  free(entry);
  free(bad);
}

static void bad_entry_of_the_written_folder_is_set_aside_for_a_layers(void **state)
{
  store_fixture *fixture = *state;
  char *layer = make_layer(fixture, "layer", &fixture->key);
  char *own = store_fixture_entry_path(fixture, &fixture->key);
  assert_true(temp_dir_write(own, "bad", 3));
  add_layers(fixture, layer);
  char reason[512];
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  assert_int_equal(fixture->stats.store_set_aside, 1);
  assert_int_equal(fixture->stats.layer_hits, 1);
  assert_int_equal(fixture->stats.store_misses, 0);
  free(own);
  free(layer);
}

static void untrusted_entry_of_a_layer_is_passed_over(void **state)
{
  store_fixture *fixture = *state;
  char *layer = make_layer(fixture, "layer", &fixture->key);
  char *entry = temp_dir_join(layer, fixture->key.file_name);
  assert_int_equal(chmod(entry, 0666), 0);
  add_layers(fixture, layer);
  char reason[512];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_non_null(strstr(reason, "everybody write"));
  assert_int_equal(fixture->stats.layer_skips, 1);
  free(entry);
  free(layer);
}

static void layer_that_cannot_be_used_fails_or_is_passed_over(void **state)
{
  store_fixture *fixture = *state;
  char *missing = temp_dir_join(fixture->folder, "missing");
  char *open_to_all = temp_dir_join(fixture->folder, "open");
  char *good = make_layer(fixture, "good", &fixture->key);
  char *paths = NULL;
  assert_int_equal(mkdir(open_to_all, 0700), 0);
  assert_int_equal(chmod(open_to_all, 0777), 0);
  assert_true(asprintf(&paths, "%s:%s:%s", missing, open_to_all, good) > 0);
  assert_int_equal(sj_store_add_layers(&fixture->store, paths, 0, true), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), missing));
  assert_int_equal(sj_store_add_layers(&fixture->store, paths, 0, false), SWA_JIT_OK);
  assert_int_equal(fixture->store.num_layers, 1);
  assert_int_equal(capture_log_count(&fixture->capture, SWA_JIT_LOG_WARN), 2);
  assert_int_equal(access(missing, F_OK), -1);
  char reason[512];
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  free(paths);
  free(good);
  free(open_to_all);
  free(missing);
}

/* A layer on a read-only mount takes no write at all: every call that would make one fails. */
static void find_in_a_layer_makes_no_writing_call(void **state)
{
  store_fixture *fixture = *state;
  char *layer = make_layer(fixture, "layer", &fixture->key);
  add_layers(fixture, layer);
  fixture->store.layers[0].os = failing_os_start((failing_os_plan){0});
  char reason[512];
  assert_true(store_fixture_find(fixture, &fixture->key, reason));
  static const failing_os_call writing[] = {FAILING_OS_WRITE,    FAILING_OS_FSYNC,    FAILING_OS_MKDIRAT,
                                            FAILING_OS_RENAMEAT, FAILING_OS_UNLINKAT, FAILING_OS_FLOCK,
                                            FAILING_OS_FCHMOD,   FAILING_OS_FCHOWN,   FAILING_OS_FUTIMENS};
  for (size_t i = 0; i < sizeof writing / sizeof writing[0]; i++) {
    assert_int_equal(failing_os_count(writing[i]), 0);
  }
  assert_true(failing_os_count(FAILING_OS_PREAD) > 0);
  fixture->store.layers[0].os = sj_os_system();
  free(layer);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(find_in_a_layer_is_a_hit_that_copies_nothing),
      TEST(find_without_a_written_folder_searches_the_layers),
      TEST(layers_are_searched_in_their_order),
      TEST(bad_entry_of_a_layer_is_passed_over_and_told_once),
      TEST(bad_entry_of_the_written_folder_is_set_aside_for_a_layers),
      TEST(untrusted_entry_of_a_layer_is_passed_over),
      TEST(layer_that_cannot_be_used_fails_or_is_passed_over),
      TEST(find_in_a_layer_makes_no_writing_call),
  };
  return SJ_TEST_RUN(tests);
}
