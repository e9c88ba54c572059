/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_os.h"
#include "temp_dir.h"

static void table_has_every_call(void **state)
{
  (void)state;
  void *const *calls = (void *const *)(const void *)sj_os_system();
  for (size_t i = 0; i < sizeof(sj_os) / sizeof(void *); i++) {
    assert_non_null(calls[i]);
  }
}

/* The life of a file through a table: the calls have POSIX's meaning. */
static void live(const sj_os *os, const char *folder)
{
  int dir_fd = os->openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
  assert_true(dir_fd >= 0);
  assert_int_equal(os->mkdirat(dir_fd, "sub", 0700), 0);
  int fd = os->openat(dir_fd, "sub/a", O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0);
  assert_int_equal(os->flock(fd, LOCK_EX | LOCK_NB), 0);
  assert_int_equal(os->write(fd, "text", 4), 4);
  assert_int_equal(os->fsync(fd), 0);
  assert_int_equal(os->fchmod(fd, 0640), 0);
  assert_int_equal(os->fchown(fd, (uid_t)-1, getegid()), 0);
  const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 7}};
  assert_int_equal(os->futimens(fd, times), 0);
  int copy = os->dup3(fd, fd + 1, O_CLOEXEC);
  assert_int_equal(copy, fd + 1);
  assert_int_equal(os->close(copy), 0);
  struct timespec now = {0};
  assert_int_equal(os->clock_gettime(CLOCK_REALTIME, &now), 0);
  assert_true(now.tv_sec > 0);
  struct stat status;
  assert_int_equal(os->fstat(fd, &status), 0);
  assert_int_equal(status.st_mode, S_IFREG | 0640);
  assert_int_equal(status.st_mtime, 7);
  assert_int_equal(status.st_size, 4);
  assert_int_equal(os->close(fd), 0);
  assert_int_equal(os->renameat(dir_fd, "sub/a", dir_fd, "b"), 0);
  fd = os->openat(dir_fd, "b", O_RDONLY, 0);
  char bytes[8] = "";
  assert_int_equal(os->pread(fd, bytes, sizeof bytes, 0), 4);
  assert_string_equal(bytes, "text");
  assert_int_equal(os->close(fd), 0);
  assert_int_equal(os->unlinkat(dir_fd, "b", 0), 0);
  assert_int_equal(os->fstatat(dir_fd, "b", &status, AT_SYMLINK_NOFOLLOW), -1);
  assert_int_equal(errno, ENOENT);
  DIR *dir = os->fdopendir(dir_fd);
  assert_non_null(dir);
  closedir(dir);
  uint64_t random[2] = {0, 0};
  assert_int_equal(os->getrandom(&random[0], 8, 0), 8);
  assert_int_equal(os->getrandom(&random[1], 8, 0), 8);
  assert_true(random[0] != random[1]);
}

static void system_calls_do_what_posix_says(void **state)
{
  live(sj_os_system(), *state);
}

static void failing_table_without_failure_does_the_same(void **state)
{
  live(failing_os_start((failing_os_plan){0}), *state);
  assert_false(failing_os_has_failed());
  assert_int_equal(failing_os_count(FAILING_OS_OPENAT), 3);
  assert_int_equal(failing_os_count(FAILING_OS_GETRANDOM), 2);
  assert_int_equal(failing_os_count(FAILING_OS_ANY), 23);
}

static void failing_table_fails_the_nth_of_a_kind_only(void **state)
{
  (void)state;
  const sj_os *os = failing_os_start((failing_os_plan){.call = FAILING_OS_GETRANDOM, .nth = 2, .error = EIO});
  char byte;
  struct stat status;
  assert_int_equal(os->fstatat(AT_FDCWD, "/", &status, 0), 0);
  assert_int_equal(os->getrandom(&byte, 1, 0), 1);
  assert_false(failing_os_has_failed());
  assert_int_equal(os->getrandom(&byte, 1, 0), -1);
  assert_int_equal(errno, EIO);
  assert_true(failing_os_has_failed());
  assert_int_equal(os->getrandom(&byte, 1, 0), 1);
}

static void failing_table_and_later_fails_all_that_follow(void **state)
{
  (void)state;
  const sj_os *os = failing_os_start((failing_os_plan){.nth = 2, .error = ENOSPC, .and_later = true});
  char byte;
  struct stat status;
  assert_int_equal(os->getrandom(&byte, 1, 0), 1);
  assert_int_equal(os->getrandom(&byte, 1, 0), -1);
  assert_int_equal(os->fstatat(AT_FDCWD, "/", &status, 0), -1);
  assert_int_equal(errno, ENOSPC);
}

/* The signal of the limit would end a process that knows nothing of it. */
static void write_beyond_the_file_size_limit_fails_and_raises_nothing(void **state)
{
  char *path = temp_dir_join(*state, "file");
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    static const char bytes[200] = "";
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
    sigset_t pending;
    setrlimit(RLIMIT_FSIZE, &limit);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    bool ok = sj_os_system()->write(fd, bytes, sizeof bytes) == 100;
    ok = ok && sj_os_system()->write(fd, bytes, sizeof bytes) == -1 && errno == EFBIG;
    ok = ok && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 0;
    _exit(ok ? 0 : 1);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
  free(path);
}

static void absolute_path_is_of_the_present_working_folder(void **state)
{
  int before = open(".", O_RDONLY | O_DIRECTORY);
  assert_int_equal(chdir(*state), 0);
  char *relative = sj_os_absolute_path("a/b");
  char *absolute = sj_os_absolute_path("/a/b");
  assert_int_equal(fchdir(before), 0);
  close(before);
  assert_null(sj_os_absolute_path(NULL));
  assert_string_equal(absolute, "/a/b");
  assert_int_equal(relative[0], '/');
  assert_string_equal(relative + strlen(relative) - 4, "/a/b");
  free(relative);
  free(absolute);
}

static void clock_after_sleep_has_moved_on(void **state)
{
  (void)state;
  uint64_t before = sj_os_now_ns();
  sj_os_sleep_ms(2);
  assert_true(sj_os_now_ns() - before >= 2000000);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(table_has_every_call),
      TEST(system_calls_do_what_posix_says),
      TEST(failing_table_without_failure_does_the_same),
      TEST(failing_table_fails_the_nth_of_a_kind_only),
      TEST(failing_table_and_later_fails_all_that_follow),
      TEST(write_beyond_the_file_size_limit_fails_and_raises_nothing),
      TEST(absolute_path_is_of_the_present_working_folder),
      TEST(clock_after_sleep_has_moved_on),
  };
  return SJ_TEST_RUN(tests);
}
