/* SPDX-License-Identifier: Apache-2.0 */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "temp_dir.h"
#include "test_main.h"

typedef bool (*open_fn)(const char *wanted, warm_new_file *made_out);
static const open_fn opens[] = {warm_new_file_open, warm_new_file_open_named};
enum { NUM_OPENS = sizeof opens / sizeof opens[0] };

static char *join(void **state, const char *name)
{
  return temp_dir_join(*state, name);
}

static void expect_content(const char *path, const char *expected)
{
  char *bytes = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(path, &bytes, &count));
  assert_int_equal(count, strlen(expected));
  assert_memory_equal(bytes, expected, count);
  free(bytes);
}

static void file_comes_whole_and_replaces_what_is_there(void **state)
{
  char *path = join(state, "archive");
  for (unsigned i = 0; i < NUM_OPENS; i++) {
    for (int is_there = 0; is_there < 2; is_there++) {
      warm_new_file made;
      struct stat status;
      const mode_t before = umask(is_there ? 027 : 0);
      assert_true(opens[i](path, &made));
      assert_true(fputs(is_there ? "second" : "first", made.file) >= 0);
      assert_int_equal(access(path, F_OK), is_there ? 0 : -1);
      assert_int_equal(warm_new_file_commit(&made), 0);
      umask(before);
      expect_content(path, is_there ? "second" : "first");
      assert_int_equal(stat(path, &status), 0);
      assert_int_equal(status.st_mode & 0777, is_there ? 0640 : 0644); /* what becomes code is written by no others */
      assert_int_equal(temp_dir_count(*state, ""), 1);
      warm_new_file_discard(&made); /* does nothing any more */
    }
    assert_int_equal(unlink(path), 0);
  }
  free(path);
}

static void discarded_file_leaves_nothing(void **state)
{
  char *path = join(state, "archive");
  assert_true(temp_dir_write(path, "old", 3));
  for (unsigned i = 0; i < NUM_OPENS; i++) {
    warm_new_file made;
    assert_true(opens[i](path, &made));
    assert_true(fputs("new", made.file) >= 0);
    warm_new_file_discard(&made);
    expect_content(path, "old");
    assert_int_equal(temp_dir_count(*state, ""), 1);
  }
  free(path);
}

static void commit_that_fails_leaves_nothing_and_says_why(void **state)
{
  char *path = join(state, "folder");
  char *inner = join(state, "folder/inner");
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(mkdir(inner, 0700), 0);
  for (unsigned i = 0; i < NUM_OPENS; i++) {
    warm_new_file made;
    assert_true(opens[i](path, &made));
    assert_int_equal(warm_new_file_commit(&made), EISDIR);
    assert_int_equal(temp_dir_count(*state, ""), 1);
  }
  free(inner);
  free(path);
}

static void open_in_a_folder_that_is_not_there_fails(void **state)
{
  char *path = join(state, "none/archive");
  for (unsigned i = 0; i < NUM_OPENS; i++) {
    warm_new_file made;
    errno = 0;
    assert_false(opens[i](path, &made));
    assert_int_equal(errno, ENOENT);
  }
  free(path);
}

/* A process that is killed leaves nothing, or what the next one removes once it is old. */
static void file_of_a_killed_process_goes(void **state)
{
  char *path = join(state, "archive");
  for (unsigned i = 0; i < NUM_OPENS; i++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      warm_new_file made;
      if (opens[i](path, &made) && fputs("half", made.file) >= 0 && fflush(made.file) == 0) {
        raise(SIGKILL);
      }
      _exit(1);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(temp_dir_count(*state, WARM_NEW_FILE_PREFIX) <= (int)i, 1); /* the named one alone */
  }
  warm_new_file made;
  assert_true(warm_new_file_open(path, &made)); /* it may be somebody's who could not lock it: it is fresh */
  warm_new_file_discard(&made);
  assert_int_equal(temp_dir_count(*state, WARM_NEW_FILE_PREFIX), 1);
  char *left = temp_dir_find(*state, WARM_NEW_FILE_PREFIX);
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 700}};
  assert_int_equal(utimensat(AT_FDCWD, left, times, 0), 0);
  assert_true(warm_new_file_open(path, &made));
  warm_new_file_discard(&made);
  assert_int_equal(temp_dir_count(*state, ""), 0);
  free(left);
  free(path);
}

/* Old files of other names, of others, in use, and what is no file. */
static void what_is_not_left_over_stays(void **state)
{
  static const char *const names[] = {
      "archive.sha256",
      ".swa-jit-export-notes",
      ".swa-jit-export-0123456789abcdeg",
      ".swa-jit-export-0123456789abcdef0",
      ".swa-jit-export-1111111111111111", /* locked */
      ".swa-jit-export-2222222222222222", /* with a second name */
      ".swa-jit-export-3333333333333333", /* of another user, where that can be made */
  };
  enum { NUM_NAMES = sizeof names / sizeof names[0], LOCKED = 4, LINKED = 5, FOREIGN = 6 };
  char *path = join(state, "archive");
  char *other = join(state, "other-name");
  char *folder = join(state, ".swa-jit-export-4444444444444444");
  char *link = join(state, ".swa-jit-export-5555555555555555");
  int fd = -1;
  for (unsigned i = 0; i < NUM_NAMES; i++) {
    char *each = join(state, names[i]);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 7000}};
    assert_true(temp_dir_write(each, "x", 1));
    assert_int_equal(utimensat(AT_FDCWD, each, times, 0), 0);
    if (i == LOCKED) {
      fd = open(each, O_RDONLY);
      assert_int_equal(flock(fd, LOCK_EX), 0);
    }
    assert_true(i != LINKED || linkat(AT_FDCWD, each, AT_FDCWD, other, 0) == 0);
    const bool is_foreign = i == FOREIGN && geteuid() == 0 && chown(each, 65534, 65534) == 0;
    assert_true(i != FOREIGN || is_foreign || unlink(each) == 0);
    free(each);
  }
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(symlink("archive.sha256", link), 0);
  const int num_before = temp_dir_count(*state, "");
  warm_new_file made;
  assert_true(warm_new_file_open(path, &made));
  warm_new_file_discard(&made);
  assert_int_equal(temp_dir_count(*state, ""), num_before);
  close(fd);
  free(link);
  free(folder);
  free(other);
  free(path);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(file_comes_whole_and_replaces_what_is_there),
      TEST(discarded_file_leaves_nothing),
      TEST(commit_that_fails_leaves_nothing_and_says_why),
      TEST(open_in_a_folder_that_is_not_there_fails),
      TEST(file_of_a_killed_process_goes),
      TEST(what_is_not_left_over_stays),
  };
  return SJ_TEST_RUN(tests);
}
