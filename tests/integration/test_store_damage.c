/* SPDX-License-Identifier: Apache-2.0 */
/* An entry that is not what it should be, in whatever way: found, set aside, rebuilt, counted and told once; then the
 * rebuilt one is a hit. Through the public interface, with the stand-in for libnvrtc. */
#include "test_main.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "swa_jit/swa_jit.h"
#include "temp_dir.h"

#define WINDOW 128
#define OTHER_WINDOW 64

typedef struct damage_fixture {
  char *folder;
  char *store;
  char *entry;    /* path of WINDOW's */
  char *good;     /* its bytes */
  size_t count;   /* how many */
  char *expected; /* the cubin */
  size_t expected_bytes;
  unsigned num_warnings; /* since the last ask began */
} damage_fixture;

typedef struct damage_answer {
  uint32_t origin;
  swa_jit_stats stats;
  char file_name[256];
} damage_answer;

static void count_warning(void *data, uint32_t level, const char *line)
{
  damage_fixture *fixture = data;
  (void)line;
  fixture->num_warnings += level <= SWA_JIT_LOG_WARN;
}

/* A library object of its own each time, as a new process has. */
static void ask(damage_fixture *fixture, uint32_t window_size, damage_answer *answer_out)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  swa_jit_lib *lib = NULL;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  fixture->num_warnings = 0;
  options.log = count_warning;
  options.log_data = fixture;
  options.cache_dir = fixture->store;
  options.nvrtc_path = NVRTC_FAKE;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.window_size = window_size;
  assert_int_equal(swa_jit_open(&options, &lib), SWA_JIT_OK);
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, &info), SWA_JIT_OK);
  assert_int_equal(info.store_status, SWA_JIT_OK);
  *answer_out = (damage_answer){.origin = info.origin, .stats = SWA_JIT_STATS_INIT};
  snprintf(answer_out->file_name, sizeof answer_out->file_name, "%s", info.file_name);
  assert_int_equal(swa_jit_stats_get(lib, &answer_out->stats), SWA_JIT_OK);
  if (window_size == WINDOW && fixture->expected != NULL) {
    assert_int_equal(cubin_bytes, fixture->expected_bytes);
    assert_memory_equal(cubin, fixture->expected, cubin_bytes);
  } else if (window_size == WINDOW) {
    fixture->expected = malloc(cubin_bytes);
    assert_non_null(fixture->expected);
    memcpy(fixture->expected, cubin, cubin_bytes);
    fixture->expected_bytes = cubin_bytes;
  }
  swa_jit_close(&lib);
}

static int setup(void **state)
{
  damage_fixture *fixture = calloc(1, sizeof *fixture);
  void *folder = NULL;
  damage_answer answer;
  if (fixture == NULL || temp_dir_setup(&folder) != 0) {
    free(fixture);
    return -1;
  }
  fixture->folder = folder;
  fixture->store = temp_dir_join(folder, "store");
  ask(fixture, WINDOW, &answer);
  fixture->entry = temp_dir_join(fixture->store, answer.file_name);
  *state = fixture;
  return temp_dir_read(fixture->entry, &fixture->good, &fixture->count) ? 0 : -1;
}

static int teardown(void **state)
{
  damage_fixture *fixture = *state;
  void *folder = fixture->folder;
  free(fixture->store);
  free(fixture->entry);
  free(fixture->good);
  free(fixture->expected);
  free(fixture);
  return temp_dir_teardown(&folder);
}

/* What lies under the entry's name now is found out, and replaced by the good entry. */
static void expect_rebuilt(damage_fixture *fixture, const char *what)
{
  damage_answer answer;
  struct stat status;
  ask(fixture, WINDOW, &answer);
  if (answer.origin != SWA_JIT_ORIGIN_COMPILED || answer.stats.store_set_aside != 1 || answer.stats.store_writes != 1
      || fixture->num_warnings != 1 || temp_dir_count(fixture->store, ".bad-") != 1) {
    print_error("%s: origin %u, %llu set aside, %llu writes, %u warnings, %d files set aside\n", what, answer.origin,
                (unsigned long long)answer.stats.store_set_aside, (unsigned long long)answer.stats.store_writes,
                fixture->num_warnings, temp_dir_count(fixture->store, ".bad-"));
    fail();
  }
  ask(fixture, WINDOW, &answer);
  assert_int_equal(answer.origin, SWA_JIT_ORIGIN_STORE);
  assert_int_equal(answer.stats.store_set_aside, 0);
  assert_int_equal(fixture->num_warnings, 0);
  assert_int_equal(lstat(fixture->entry, &status), 0);
  assert_true(S_ISREG(status.st_mode));
  char *aside = temp_dir_find(fixture->store, ".bad-");
  assert_non_null(aside);
  assert_int_equal(remove(aside), 0);
  free(aside);
}

static void put(damage_fixture *fixture, const char *bytes, size_t count)
{
  assert_true(temp_dir_write(fixture->entry, bytes, count));
}

static void a_bit_flipped_in_any_byte_is_found(void **state)
{
  damage_fixture *fixture = *state;
  char what[64];
  for (size_t i = 0; i < fixture->count; i++) {
    fixture->good[i] = (char)(fixture->good[i] ^ 1 << i % 8);
    put(fixture, fixture->good, fixture->count);
    fixture->good[i] = (char)(fixture->good[i] ^ 1 << i % 8);
    snprintf(what, sizeof what, "byte %zu of %zu", i, fixture->count);
    expect_rebuilt(fixture, what);
  }
}

static void an_entry_cut_at_any_length_is_found(void **state)
{
  damage_fixture *fixture = *state;
  char what[64];
  for (size_t count = 0; count < fixture->count; count++) {
    put(fixture, fixture->good, count);
    snprintf(what, sizeof what, "%zu of %zu bytes", count, fixture->count);
    expect_rebuilt(fixture, what);
  }
}

static void bytes_behind_an_entry_are_found(void **state)
{
  damage_fixture *fixture = *state;
  char *longer = calloc(2, fixture->count);
  assert_non_null(longer);
  memcpy(longer, fixture->good, fixture->count);
  put(fixture, longer, fixture->count + 1);
  expect_rebuilt(fixture, "a zero behind it");
  memcpy(longer + fixture->count, fixture->good, fixture->count);
  put(fixture, longer, 2 * fixture->count);
  expect_rebuilt(fixture, "twice the entry");
  free(longer);
}

/* Right name, sound bytes, another key. */
static void a_swapped_entry_is_found(void **state)
{
  damage_fixture *fixture = *state;
  damage_answer answer;
  ask(fixture, OTHER_WINDOW, &answer);
  char *other = temp_dir_join(fixture->store, answer.file_name);
  assert_string_not_equal(other, fixture->entry);
  assert_int_equal(rename(other, fixture->entry), 0);
  expect_rebuilt(fixture, "another key's entry");
  free(other);
}

/* The version is not under the checksum: these are whole files of another format. */
static void an_entry_of_another_format_is_found(void **state)
{
  damage_fixture *fixture = *state;
  static const unsigned char versions[] = {0, 2, 255};
  char *changed = malloc(fixture->count);
  assert_non_null(changed);
  for (size_t i = 0; i < sizeof versions; i++) {
    memcpy(changed, fixture->good, fixture->count);
    changed[fixture->count - 16] = (char)versions[i];
    put(fixture, changed, fixture->count);
    expect_rebuilt(fixture, "another format version");
  }
  free(changed);
}

static void a_foreign_file_is_found(void **state)
{
  damage_fixture *fixture = *state;
  static const char text[] = "This file has nothing to do with kernels.\n";
  put(fixture, text, strlen(text));
  expect_rebuilt(fixture, "a text");
  put(fixture, fixture->expected, fixture->expected_bytes);
  expect_rebuilt(fixture, "a cubin without a footer");
  char *large = calloc(1, 1 << 20);
  assert_non_null(large);
  put(fixture, large, 1 << 20);
  free(large);
  expect_rebuilt(fixture, "a file of zeros");
  assert_int_equal(truncate(fixture->entry, (off_t)1 << 28), 0);
  expect_rebuilt(fixture, "a file with a hole, larger than any entry");
}

static void what_is_no_file_is_found_and_hangs_nobody(void **state)
{
  damage_fixture *fixture = *state;
  assert_int_equal(unlink(fixture->entry), 0);
  assert_int_equal(mkfifo(fixture->entry, 0644), 0);
  expect_rebuilt(fixture, "a pipe");
  assert_int_equal(unlink(fixture->entry), 0);
  assert_int_equal(mkdir(fixture->entry, 0700), 0);
  expect_rebuilt(fixture, "a folder");
  if (getuid() == 0) {
    assert_int_equal(unlink(fixture->entry), 0);
    assert_int_equal(mknod(fixture->entry, S_IFCHR | 0644, makedev(1, 5)), 0); /* endless zeros */
    expect_rebuilt(fixture, "a device");
  }
}

/* A link is never followed, even to the good entry; where it points stays as it is. */
static void a_symbolic_link_is_found(void **state)
{
  damage_fixture *fixture = *state;
  char *outside = temp_dir_join(fixture->folder, "outside");
  char *bytes = NULL;
  size_t count = 0;
  const char *const targets[] = {outside, "/dev/zero", "nowhere"};
  assert_true(temp_dir_write(outside, fixture->good, fixture->count));
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    assert_int_equal(unlink(fixture->entry), 0);
    assert_int_equal(symlink(targets[i], fixture->entry), 0);
    expect_rebuilt(fixture, targets[i]);
  }
  assert_true(temp_dir_read(outside, &bytes, &count));
  assert_int_equal(count, fixture->count);
  assert_memory_equal(bytes, fixture->good, count);
  free(bytes);
  free(outside);
}

/* The other name of a file keeps its bytes: nothing is ever written in place. */
static void a_hard_link_to_another_file_is_found_and_the_file_is_untouched(void **state)
{
  damage_fixture *fixture = *state;
  static const char text[] = "precious";
  char *outside = temp_dir_join(fixture->folder, "outside");
  char *bytes = NULL;
  size_t count = 0;
  assert_true(temp_dir_write(outside, text, strlen(text)));
  assert_int_equal(unlink(fixture->entry), 0);
  assert_int_equal(link(outside, fixture->entry), 0);
  expect_rebuilt(fixture, "a hard link");
  assert_true(temp_dir_read(outside, &bytes, &count));
  assert_string_equal(bytes, text);
  free(bytes);
  free(outside);
}

static void an_entry_that_others_may_write_is_found(void **state)
{
  damage_fixture *fixture = *state;
  static const mode_t modes[] = {0664, 0646, 0666, 0777};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_int_equal(chmod(fixture->entry, modes[i]), 0);
    expect_rebuilt(fixture, "a mode");
  }
  if (getuid() == 0) {
    assert_int_equal(chown(fixture->entry, 12345, 12345), 0);
    expect_rebuilt(fixture, "another owner");
  }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_bit_flipped_in_any_byte_is_found),
      TEST(an_entry_cut_at_any_length_is_found),
      TEST(bytes_behind_an_entry_are_found),
      TEST(a_swapped_entry_is_found),
      TEST(an_entry_of_another_format_is_found),
      TEST(a_foreign_file_is_found),
      TEST(what_is_no_file_is_found_and_hangs_nobody),
      TEST(a_symbolic_link_is_found),
      TEST(a_hard_link_to_another_file_is_found_and_the_file_is_untouched),
      TEST(an_entry_that_others_may_write_is_found),
  };
  return SJ_TEST_RUN(tests);
}
