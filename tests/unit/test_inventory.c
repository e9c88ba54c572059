/* SPDX-License-Identifier: Apache-2.0 */
/* The store's files through the public calls. */
#include "inventory.h"

#include <stdlib.h>
#include <string.h>

#include "build_fixture.h"
#include "test_main.h"

enum { MAX_SEEN = 8, TEXT_SIZE = 2048 };

typedef struct seen_entry {
  swa_jit_entry entry; /* its pointers are not valid any more: the texts are below */
  char name[256], config_text[512], key_text[TEXT_SIZE], folder[512], reason[512], log_text[512];
  void *bytes; /* copied, malloc'd */
} seen_entry;

typedef struct seen_entries {
  seen_entry entries[MAX_SEEN];
  unsigned count;
} seen_entries;

static uint32_t see(void *data, const swa_jit_entry *entry)
{
  seen_entries *seen = data;
  assert_true(seen->count < MAX_SEEN);
  assert_int_equal(entry->size, sizeof *entry);
  seen_entry *each = &seen->entries[seen->count++];
  each->entry = *entry;
  snprintf(each->name, sizeof each->name, "%s", entry->name);
  snprintf(each->config_text, sizeof each->config_text, "%s", entry->config_text);
  snprintf(each->key_text, sizeof each->key_text, "%s", entry->key_text);
  snprintf(each->reason, sizeof each->reason, "%s", entry->reason);
  snprintf(each->log_text, sizeof each->log_text, "%s", entry->log_text);
  snprintf(each->folder, sizeof each->folder, "%s", entry->folder);
  if (entry->bytes != NULL) {
    each->bytes = malloc((size_t)entry->file_bytes);
    assert_non_null(each->bytes);
    memcpy(each->bytes, entry->bytes, (size_t)entry->file_bytes);
  }
  return 0;
}

static seen_entries look(build_fixture *fixture, uint32_t flags)
{
  seen_entries seen = {0};
  assert_int_equal(swa_jit_store_each(fixture->lib, flags, see, &seen), SWA_JIT_OK);
  return seen;
}

static void finish(seen_entries *seen)
{
  for (unsigned i = 0; i < seen->count; i++) {
    free(seen->entries[i].bytes);
  }
}

static void entry_shows_what_the_kernel_s_info_says(void **state)
{
  build_fixture fixture;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  char text[512];
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(swa_jit_cubin_get(fixture.lib, &fixture.config, &cubin, &cubin_bytes, &info), SWA_JIT_OK);
  assert_int_equal(swa_jit_config_to_text(&fixture.config, text, sizeof text), SWA_JIT_OK);
  seen_entries seen = look(&fixture, SWA_JIT_EACH_CURRENT);
  assert_int_equal(seen.count, 1);
  const seen_entry *each = &seen.entries[0];
  assert_int_equal(each->entry.state, SWA_JIT_ENTRY_USABLE);
  assert_string_equal(each->name, info.file_name);
  assert_string_equal(each->key_text, info.key_text);
  assert_string_equal(each->config_text, text);
  assert_string_equal(each->folder, fixture.cache_dir);
  assert_int_equal(each->entry.arch, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(each->entry.is_current, 1);
  assert_int_equal(each->entry.num_threads, info.num_threads);
  assert_int_equal(each->entry.shared_memory_bytes, info.shared_memory_bytes);
  assert_int_equal(each->entry.num_registers, FAKE_NVRTC_REGISTERS);
  assert_int_equal(each->entry.spill_store_bytes, FAKE_NVRTC_SPILL_STORES);
  assert_int_equal(each->entry.spill_load_bytes, FAKE_NVRTC_SPILL_LOADS);
  assert_int_equal(each->entry.nvrtc_version, 13000);
  assert_int_equal(each->entry.compile_ns, info.compile_ns);
  assert_int_equal(each->entry.cubin_bytes, cubin_bytes);
  assert_true(each->entry.file_bytes > cubin_bytes);
  assert_true(each->entry.made_s > 1600000000);
  finish(&seen);
  build_fixture_close(&fixture);
}

/* An entry of the same configuration, but of another source, as an older release would have left it. */
static void entry_of_another_template_is_not_current(void **state)
{
  build_fixture fixture;
  static const char *const options[] = {"--gpu-architecture=sm_90a", NULL};
  sj_key key;
  size_t cubin_bytes = 0;
  const void *cubin = fake_nvrtc_cubin(&cubin_bytes);
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_key_make(&fixture.config, "an older source", options, &key), SWA_JIT_OK);
  const sj_cubin_view view = {
      .cubin = cubin, .cubin_bytes = cubin_bytes, .key_text = key.text, .key_bytes = key.text_length};
  assert_int_equal(sj_store_publish(&fixture.lib->store, &key, &view), SWA_JIT_OK);
  seen_entries seen = look(&fixture, SWA_JIT_EACH_CURRENT);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.entries[0].entry.state, SWA_JIT_ENTRY_USABLE);
  assert_int_equal(seen.entries[0].entry.is_current, 0);
  assert_int_equal(seen.entries[0].entry.arch, SWA_JIT_ARCH_SM_90A);
  sj_key_finish(&key);
  build_fixture_close(&fixture);
}

/* What a failed compile leaves: its message, log and time; damaged it is still listed, and counts for nothing. */
static void failed_compile_is_shown_until_it_is_removed(void **state)
{
  build_fixture fixture;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  uint32_t was_removed = 7;
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.call = FAKE_NVRTC_COMPILE_PROGRAM,
                                                 .nth = 1,
                                                 .result = 6,
                                                 .log = "x(1): error: a reason\nand more\n"});
  assert_int_equal(swa_jit_cubin_get(fixture.lib, &fixture.config, &cubin, &cubin_bytes, NULL), SWA_JIT_COMPILE_FAILED);
  for (int is_damaged = 0; is_damaged < 2; is_damaged++) {
    if (is_damaged != 0) {
      char *path = temp_dir_find(fixture.cache_dir, ".failed");
      assert_true(temp_dir_write(path, "x", 1));
      free(path);
    }
    seen_entries seen = look(&fixture, SWA_JIT_EACH_CURRENT | SWA_JIT_EACH_VERIFY | SWA_JIT_EACH_SET_ASIDE);
    assert_int_equal(seen.count, 1);
    const seen_entry *each = &seen.entries[0];
    assert_int_equal(each->entry.state, SWA_JIT_ENTRY_FAILED);
    assert_non_null(strstr(each->reason, is_damaged ? "damaged" : "a reason"));
    assert_string_equal(each->log_text, is_damaged ? "" : "x(1): error: a reason\nand more\n");
    assert_int_equal(each->entry.arch, is_damaged ? 0 : SWA_JIT_ARCH_SM_90A);
    assert_int_equal(each->entry.is_current, !is_damaged);
    assert_int_equal(each->entry.nvrtc_version, is_damaged ? 0 : 13000);
    assert_true(each->entry.expires_s == (is_damaged ? 0 : each->entry.made_s + 3600));
    assert_true(each->entry.used_s == 0);
    assert_int_equal(each->entry.file_idx, 0);
    assert_int_equal(each->entry.num_files, 1);
    assert_null(each->bytes);
    if (is_damaged) {
      assert_int_equal(swa_jit_store_remove(fixture.lib, each->name, &was_removed), SWA_JIT_OK);
    }
    finish(&seen);
  }
  assert_int_equal(was_removed, 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".failed"), 0);
  build_fixture_close(&fixture);
}

static void added_entry_is_a_hit_elsewhere(void **state)
{
  build_fixture from, to;
  uint32_t added = 7, removed = 7;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  char *other = temp_dir_join(*state, "elsewhere");
  build_fixture_warm(*state);
  build_fixture_open(&from, *state, 0, NULL);
  seen_entries seen = look(&from, SWA_JIT_EACH_VERIFY);
  assert_int_equal(seen.count, 1);
  const seen_entry *each = &seen.entries[0];
  const size_t count = (size_t)each->entry.file_bytes;
  build_fixture_open(&to, other, SWA_JIT_FLAG_NO_COMPILE, NULL);
  assert_int_equal(swa_jit_store_add(to.lib, each->name, each->bytes, count, &added), SWA_JIT_OK);
  assert_int_equal(added, 1);
  assert_int_equal(swa_jit_store_add(to.lib, each->name, each->bytes, count, &added), SWA_JIT_OK);
  assert_int_equal(added, 0);
  assert_int_equal(swa_jit_cubin_get(to.lib, &to.config, &cubin, &cubin_bytes, NULL), SWA_JIT_OK);
  seen_entries copied = look(&to, SWA_JIT_EACH_VERIFY);
  assert_int_equal(copied.entries[0].entry.file_bytes, count);
  assert_memory_equal(copied.entries[0].bytes, each->bytes, count);
  assert_int_equal(swa_jit_store_remove(from.lib, each->name, &removed), SWA_JIT_OK);
  assert_int_equal(removed, 1);
  assert_int_equal(swa_jit_store_remove(from.lib, each->name, &removed), SWA_JIT_OK);
  assert_int_equal(removed, 1); /* gone already */
  assert_int_equal(look(&from, 0).count, 0);
  assert_int_equal(swa_jit_store_remove(to.lib, each->name, &removed), SWA_JIT_OK);
  assert_int_equal(removed, 0); /* to has got its kernel */
  assert_int_equal(look(&to, 0).count, 1);
  finish(&copied);
  finish(&seen);
  build_fixture_close(&to);
  build_fixture_close(&from);
  free(other);
}

static void entries_of_layers_come_after_the_own_and_stay(void **state)
{
  build_fixture fixture;
  swa_jit_lib *lib = NULL;
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  seen_entries seen = {0};
  char *own = temp_dir_join(*state, "own");
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, 0, NULL);
  options.cache_dir = own;
  options.cache_path = fixture.cache_dir;
  assert_int_equal(swa_jit_open(&options, &lib), SWA_JIT_OK);
  seen_entries from = look(&fixture, SWA_JIT_EACH_VERIFY);
  uint32_t added = 7, removed = 7;
  assert_int_equal(swa_jit_store_add(lib, from.entries[0].name, from.entries[0].bytes,
                                     (size_t)from.entries[0].entry.file_bytes, &added),
                   SWA_JIT_OK);
  assert_int_equal(added, 1); /* a layer's does not count: what is added is to be in the folder that is written */
  assert_int_equal(swa_jit_store_each(lib, 0, see, &seen), SWA_JIT_OK);
  assert_int_equal(seen.count, 2);
  assert_int_equal(seen.entries[0].entry.layer, 0);
  assert_string_equal(seen.entries[0].folder, own);
  assert_int_equal(seen.entries[1].entry.layer, 1);
  assert_string_equal(seen.entries[1].folder, fixture.cache_dir);
  assert_string_equal(seen.entries[0].name, seen.entries[1].name);
  char *path = temp_dir_join(fixture.cache_dir, seen.entries[1].name);
  assert_true(temp_dir_write(path, "bad", 3));
  seen.count = 0;
  assert_int_equal(swa_jit_store_each(lib, SWA_JIT_EACH_SET_ASIDE, see, &seen), SWA_JIT_OK);
  assert_int_equal(seen.entries[1].entry.state, SWA_JIT_ENTRY_BAD);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".bad-"), 0);
  assert_int_equal(swa_jit_store_remove(lib, seen.entries[0].name, &removed), SWA_JIT_OK);
  seen.count = 0;
  assert_int_equal(swa_jit_store_each(lib, 0, see, &seen), SWA_JIT_OK);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.entries[0].entry.layer, 1);
  finish(&from);
  swa_jit_close(&lib);
  build_fixture_close(&fixture);
  free(path);
  free(own);
}

static void bytes_that_are_no_entry_are_not_added(void **state)
{
  build_fixture fixture;
  uint32_t added = 7;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, 0, NULL);
  seen_entries seen = look(&fixture, SWA_JIT_EACH_VERIFY);
  seen_entry *each = &seen.entries[0];
  const size_t count = (size_t)each->entry.file_bytes;
  build_fixture_empty_store(&fixture);
  char renamed[256];
  memcpy(renamed, each->name, sizeof renamed);
  renamed[strlen("swa_decode-sm_")] = '8';
  assert_int_equal(swa_jit_entry_check(each->name, each->bytes, count), SWA_JIT_OK);
  assert_int_equal(swa_jit_entry_check(renamed, each->bytes, count), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_entry_check(each->name, each->bytes, count - 1), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_entry_check(NULL, each->bytes, count), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_entry_check(each->name, NULL, count), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_add(fixture.lib, renamed, each->bytes, count, &added), SWA_JIT_INVALID);
  assert_non_null(strstr(swa_jit_message(), "another key than its name says"));
  assert_int_equal(swa_jit_store_add(fixture.lib, "../evil.cubin", each->bytes, count, &added), SWA_JIT_INVALID);
  assert_non_null(strstr(swa_jit_message(), "does not have an entry's name"));
  assert_int_equal(swa_jit_store_add(fixture.lib, each->name, each->bytes, count - 1, &added), SWA_JIT_INVALID);
  ((uint8_t *)each->bytes)[100] ^= 1;
  assert_int_equal(swa_jit_store_add(fixture.lib, each->name, each->bytes, count, &added), SWA_JIT_INVALID);
  assert_non_null(strstr(swa_jit_message(), "checksum"));
  assert_int_equal(added, 7);
  assert_int_equal(look(&fixture, 0).count, 0);
  finish(&seen);
  build_fixture_close(&fixture);
}

/* An entry of its own, that can be listed, shipped and removed. */
static void ptx_is_an_entry_like_another(void **state)
{
  build_fixture fixture;
  const void *image = NULL;
  size_t image_bytes = 0;
  uint32_t done = 7;
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_USE_PTX, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(swa_jit_cubin_get(fixture.lib, &fixture.config, &image, &image_bytes, NULL), SWA_JIT_OK);
  build_fixture_close(&fixture);
  build_fixture_open(&fixture, *state, 0, NULL);
  seen_entries seen = look(&fixture, SWA_JIT_EACH_VERIFY | SWA_JIT_EACH_CURRENT);
  assert_int_equal(seen.count, 1);
  seen_entry *each = &seen.entries[0];
  const size_t count = (size_t)each->entry.file_bytes;
  assert_int_equal(each->entry.state, SWA_JIT_ENTRY_USABLE);
  assert_int_equal(each->entry.is_current, 1);
  assert_int_equal(each->entry.cubin_bytes, strlen(FAKE_NVRTC_PTX));
  assert_int_equal(swa_jit_store_remove(fixture.lib, each->name, &done), SWA_JIT_OK);
  assert_int_equal(done, 1);
  assert_int_equal(look(&fixture, 0).count, 0);
  assert_int_equal(swa_jit_store_add(fixture.lib, each->name, each->bytes, count, &done), SWA_JIT_OK);
  assert_int_equal(done, 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".ptx"), 1);
  char renamed[256]; /* what a cubin's name promises */
  snprintf(renamed, sizeof renamed, "%.*s.cubin", (int)(strlen(each->name) - strlen(".ptx")), each->name);
  assert_int_equal(swa_jit_entry_check(renamed, each->bytes, count), SWA_JIT_INVALID);
  assert_non_null(strstr(swa_jit_message(), "PTX and no cubin"));
  finish(&seen);
  build_fixture_close(&fixture);
}

static void without_a_store_or_to_a_read_only_one_nothing_is_done(void **state)
{
  build_fixture fixture;
  seen_entries seen = {0};
  uint32_t added = 7, removed = 7;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_READ_ONLY, NULL);
  seen = look(&fixture, SWA_JIT_EACH_VERIFY);
  const seen_entry *each = &seen.entries[0];
  const size_t count = (size_t)each->entry.file_bytes;
  assert_int_equal(swa_jit_store_add(fixture.lib, each->name, each->bytes, count, &added), SWA_JIT_STORE_ERROR);
  assert_int_equal(swa_jit_store_remove(fixture.lib, each->name, &removed), SWA_JIT_STORE_ERROR);
  build_fixture_close(&fixture);
  build_fixture_open(&fixture, NULL, SWA_JIT_FLAG_NO_STORE, NULL);
  assert_int_equal(swa_jit_store_each(fixture.lib, 0, see, &seen), SWA_JIT_STORE_ERROR);
  assert_int_equal(swa_jit_store_add(fixture.lib, each->name, each->bytes, count, &added), SWA_JIT_STORE_ERROR);
  assert_int_equal(swa_jit_store_remove(fixture.lib, each->name, &removed), SWA_JIT_STORE_ERROR);
  assert_int_equal(added, 7);
  finish(&seen);
  build_fixture_close(&fixture);
}

static void wrong_arguments_are_refused(void **state)
{
  build_fixture fixture;
  uint32_t added = 0, removed = 7;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(swa_jit_store_each(NULL, 0, see, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_each(fixture.lib, 0, NULL, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_each(fixture.lib, 8, see, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_add(NULL, "x", "x", 1, &added), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_add(fixture.lib, NULL, "x", 1, &added), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_add(fixture.lib, "x", NULL, 1, &added), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_add(fixture.lib, "x", "x", 1, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_remove(NULL, "x", &removed), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_remove(fixture.lib, NULL, &removed), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_remove(fixture.lib, "x", NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_remove(fixture.lib, "x", &removed), SWA_JIT_INVALID);
  assert_int_equal(removed, 7);
  build_fixture_close(&fixture);
}

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      IN_TEMP_DIR(entry_shows_what_the_kernel_s_info_says),
      IN_TEMP_DIR(entry_of_another_template_is_not_current),
      IN_TEMP_DIR(failed_compile_is_shown_until_it_is_removed),
      IN_TEMP_DIR(added_entry_is_a_hit_elsewhere),
      IN_TEMP_DIR(entries_of_layers_come_after_the_own_and_stay),
      IN_TEMP_DIR(bytes_that_are_no_entry_are_not_added),
      IN_TEMP_DIR(ptx_is_an_entry_like_another),
      IN_TEMP_DIR(without_a_store_or_to_a_read_only_one_nothing_is_done),
      IN_TEMP_DIR(wrong_arguments_are_refused),
  };
  return SJ_TEST_RUN(tests);
}
