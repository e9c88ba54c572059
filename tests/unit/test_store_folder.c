/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and its failures are told apart in test_store.c, through sj_store_open. */
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failing_os.h"
#include "store_folder.h"
#include "swa_jit/swa_jit.h"
#include "temp_dir.h"

static mode_t mode_of(const char *path)
{
  struct stat status;
  assert_int_equal(lstat(path, &status), 0);
  return status.st_mode;
}

/* Makes folder/new/store under a umask and takes it away again; the mode of store. */
static mode_t made_mode(const char *folder, uint32_t flags, mode_t mask)
{
  char *parent = temp_dir_join(folder, "new");
  char *path = temp_dir_join(parent, "store");
  sj_trust trust = sj_trust_make(flags);
  int fd = -1;
  mode_t before = umask(mask);
  swa_jit_status status = sj_folder_open(sj_os_system(), path, true, &trust, &fd);
  umask(before);
  assert_int_equal(status, SWA_JIT_OK);
  mode_t mode = mode_of(path);
  assert_int_equal(mode_of(parent), mode);
  assert_int_equal(close(fd), 0);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(rmdir(parent), 0);
  free(path);
  free(parent);
  return mode;
}

static void made_folders_have_the_rules_mode_whatever_the_umask(void **state)
{
  static const mode_t masks[] = {0000, 0022, 0077, 0777};
  for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
    assert_int_equal(made_mode(*state, 0, masks[i]), S_IFDIR | (0700 & ~masks[i]));
    if (masks[i] != 0777 || geteuid() == 0) { /* who may not read it cannot change its mode either */
      assert_int_equal(made_mode(*state, SWA_JIT_FLAG_ALL_READ, masks[i]), S_IFDIR | 0755);
      assert_int_equal(made_mode(*state, SWA_JIT_FLAG_GROUP_SHARED, masks[i]), S_IFDIR | 02770);
    }
  }
}

static void folder_there_keeps_its_mode(void **state)
{
  char *path = temp_dir_join(*state, "there");
  sj_trust trust = sj_trust_make(SWA_JIT_FLAG_ALL_READ);
  int fd = -1;
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(sj_folder_open(sj_os_system(), path, true, &trust, &fd), SWA_JIT_OK);
  assert_int_equal(mode_of(path), S_IFDIR | 0700);
  assert_int_equal(trust.owner, geteuid());
  close(fd);
  free(path);
}

static void folder_in_a_folder_is_made_once_and_must_be_trusted(void **state)
{
  sj_trust trust = sj_trust_make(0);
  int dir_fd = -1;
  assert_int_equal(sj_folder_open(sj_os_system(), *state, false, &trust, &dir_fd), SWA_JIT_OK);
  for (int i = 0; i < 2; i++) {
    int fd = sj_folder_open_in(sj_os_system(), dir_fd, "inner", &trust);
    assert_true(fd >= 0);
    close(fd);
  }
  char *path = temp_dir_join(*state, "inner");
  assert_int_equal(chmod(path, 0777), 0);
  assert_int_equal(sj_folder_open_in(sj_os_system(), dir_fd, "inner", &trust), -1);
  assert_int_equal(errno, EPERM);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(symlink("/tmp", path), 0);
  assert_int_equal(sj_folder_open_in(sj_os_system(), dir_fd, "inner", &trust), -1);
  close(dir_fd);
  free(path);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(made_folders_have_the_rules_mode_whatever_the_umask),
      TEST(folder_there_keeps_its_mode),
      TEST(folder_in_a_folder_is_made_once_and_must_be_trusted),
  };
  return SJ_TEST_RUN(tests);
}
