/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "failing_os.h"
#include "store_fixture.h"
#include "temp_dir.h"

enum { REASON_BYTES = 512 };

/* Publishes the default configuration but for these fields (0: the default). */
static void publish_other(store_fixture *fixture, uint32_t window_size, uint32_t head_dim, uint32_t kv_tile)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.window_size = window_size != 0 ? window_size : config.window_size;
  config.head_dim = head_dim != 0 ? head_dim : config.head_dim;
  config.kv_tile = kv_tile != 0 ? kv_tile : config.kv_tile;
  const char *const options[] = {"--gpu-architecture=sm_100a", NULL};
  sj_key key;
  assert_int_equal(sj_key_make(&config, "source", options, &key), SWA_JIT_OK);
  assert_int_equal(store_fixture_publish(fixture, &key), SWA_JIT_OK);
  sj_key_finish(&key);
}

static void reason_in_empty_store_says_so(void **state)
{
  store_fixture *fixture = *state;
  char *other = temp_dir_join(fixture->path, "other-sm_100a.cubin");
  char *cut = temp_dir_join(fixture->path, "swa_decode-sm_100a.cubin.bad-01234567");
  assert_true(temp_dir_write(other, "x", 1));
  assert_true(temp_dir_write(cut, "x", 1));
  char reason[REASON_BYTES];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "the store is empty");
  free(other);
  free(cut);
}

static void reason_names_the_field_that_differs(void **state)
{
  store_fixture *fixture = *state;
  publish_other(fixture, 256, 0, 0);
  char reason[REASON_BYTES];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "no entry has this key; the nearest of 1 differs in window_size 256 -> 128");
}

static void reason_is_of_the_nearest_of_many(void **state)
{
  store_fixture *fixture = *state;
  for (uint32_t window_size = 1; window_size <= 80; window_size++) {
    publish_other(fixture, window_size, 64, 32);
    if (window_size == 40) { /* amid the others, whichever way the folder lists them */
      publish_other(fixture, 0, 0, 64);
    }
  }
  publish_other(fixture, 512, 256, 0);
  char reason[REASON_BYTES];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "no entry has this key; the nearest of 82 differs in kv_tile 64 -> 16");
}

/* The name says less than the key: an older release's entry differs in one word of it, and in source and options. */
static void reason_is_of_the_nearest_key_not_the_nearest_name(void **state)
{
  store_fixture *fixture = *state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.kv_tile = 32;
  const char *const options[] = {"--gpu-architecture=sm_100a", "--older", NULL};
  sj_key key;
  assert_int_equal(sj_key_make(&config, "older source", options, &key), SWA_JIT_OK);
  assert_int_equal(store_fixture_publish(fixture, &key), SWA_JIT_OK);
  sj_key_finish(&key);
  publish_other(fixture, 256, 0, 64);
  char reason[REASON_BYTES];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_non_null(strstr(reason, "window_size 256 -> 128"));
  assert_non_null(strstr(reason, "kv_tile 64 -> 16"));
  assert_null(strstr(reason, "older"));
}

static void reason_with_unreadable_neighbours_passes_over_them(void **state)
{
  store_fixture *fixture = *state;
  static const struct {
    const char *name, *bytes;
  } files[] = {
      {"swa_decode-sm_100a-hd512-hg16-kt16-w128-x.cubin", ""},
      {"swa_decode-sm_100a-hd512-hg16-kt16-w128-y.cubin",
       "no trailer, but longer than one: 0123456789012345678901234567"},
  };
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char *path = temp_dir_join(fixture->path, files[i].name);
    assert_true(temp_dir_write(path, files[i].bytes, strlen(files[i].bytes)));
    free(path);
  }
  char reason[REASON_BYTES];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "no entry has this key; none of the 2 others could be read");
  publish_other(fixture, 64, 0, 0);
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "no entry has this key; the nearest of 3 differs in window_size 64 -> 128");
  assert_int_equal(fixture->stats.store_set_aside, 0);
}

static void reason_with_a_huge_key_nearby_does_not_read_it(void **state)
{
  store_fixture *fixture = *state;
  static char text[60000];
  memset(text, 'k', sizeof text - 1);
  sj_key key = {.text = text, .text_length = sizeof text - 1};
  snprintf(key.file_name, sizeof key.file_name, "swa_decode-sm_100a-hd512-huge.cubin");
  assert_int_equal(store_fixture_publish(fixture, &key), SWA_JIT_OK);
  char reason[REASON_BYTES];
  assert_false(store_fixture_find(fixture, &fixture->key, reason));
  assert_string_equal(reason, "no entry has this key; none of the 1 others could be read");
}

static void reason_longer_than_its_buffer_is_cut(void **state)
{
  store_fixture *fixture = *state;
  publish_other(fixture, 256, 0, 0);
  char reason[10];
  bool found = true;
  sj_entry entry;
  assert_int_equal(sj_store_find(&fixture->store, &fixture->key, 0, &found, &entry, reason, sizeof reason), SWA_JIT_OK);
  assert_false(found);
  assert_string_equal(reason, "no entry ");
}

static void reason_with_each_call_failing_is_still_given(void **state)
{
  store_fixture *fixture = *state;
  publish_other(fixture, 256, 0, 0);
  publish_other(fixture, 64, 0, 0);
  int num_open = store_fixture_count_open();
  bool has_failed = true;
  for (unsigned nth = 1; has_failed; nth++) {
    fixture->store.os = failing_os_start((failing_os_plan){.nth = nth, .error = EIO});
    char reason[REASON_BYTES] = "";
    assert_false(store_fixture_find(fixture, &fixture->key, reason));
    has_failed = failing_os_has_failed();
    assert_true(reason[0] != '\0');
    assert_int_equal(store_fixture_count_open(), num_open);
  }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(reason_in_empty_store_says_so),
      TEST(reason_names_the_field_that_differs),
      TEST(reason_is_of_the_nearest_of_many),
      TEST(reason_is_of_the_nearest_key_not_the_nearest_name),
      TEST(reason_with_unreadable_neighbours_passes_over_them),
      TEST(reason_with_a_huge_key_nearby_does_not_read_it),
      TEST(reason_longer_than_its_buffer_is_cut),
      TEST(reason_with_each_call_failing_is_still_given),
  };
  return SJ_TEST_RUN(tests);
}
