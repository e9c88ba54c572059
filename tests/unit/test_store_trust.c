/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store_trust.h"
#include "swa_jit/swa_jit.h"

enum { ME = 1000, OTHER = 2000, THIRD = 3000, NO_GROUP = 64999 /* none of this process's */ };

static struct stat status_of(uid_t owner, gid_t group, mode_t mode)
{
  return (struct stat){.st_uid = owner, .st_gid = group, .st_mode = mode};
}

static sj_trust rules_of(uint32_t flags)
{
  sj_trust trust = sj_trust_make(flags);
  assert_int_equal(trust.user, geteuid());
  trust.user = ME;
  return trust;
}

static bool is_folder_trusted(uint32_t flags, uid_t owner, gid_t group, mode_t mode, char reason[SJ_REASON_SIZE])
{
  sj_trust trust = rules_of(flags);
  struct stat status = status_of(owner, group, S_IFDIR | mode);
  reason[0] = '\0';
  bool is_trusted = sj_trust_folder(&trust, &status, reason);
  assert_true(is_trusted == (reason[0] == '\0'));
  return is_trusted;
}

static void folder_of_own_or_root_is_trusted_unless_others_write(void **state)
{
  (void)state;
  char reason[SJ_REASON_SIZE];
  static const uid_t owners[] = {ME, 0};
  for (size_t i = 0; i < 2; i++) {
    assert_true(is_folder_trusted(0, owners[i], getegid(), 0700, reason));
    assert_true(is_folder_trusted(0, owners[i], getegid(), 0755, reason));
    assert_true(is_folder_trusted(0, owners[i], getegid(), 0555, reason));
    assert_false(is_folder_trusted(0, owners[i], getegid(), 0770, reason));
    assert_non_null(strstr(reason, "mode 0770"));
    assert_non_null(strstr(reason, "SWA_JIT_GROUP_SHARED=1"));
    assert_false(is_folder_trusted(0, owners[i], getegid(), 01777, reason));
    assert_false(is_folder_trusted(SWA_JIT_FLAG_GROUP_SHARED, owners[i], getegid(), 01777, reason));
    assert_false(is_folder_trusted(SWA_JIT_FLAG_FOREIGN_OWNER, owners[i], getegid(), 0702, reason));
    assert_non_null(strstr(reason, "chmod o-w"));
  }
}

static void folder_of_another_user_needs_the_option_that_its_refusal_names(void **state)
{
  (void)state;
  char reason[SJ_REASON_SIZE];
  assert_false(is_folder_trusted(0, OTHER, NO_GROUP, 0755, reason));
  assert_non_null(strstr(reason, "user 2000"));
  assert_non_null(strstr(reason, "user 1000"));
  assert_non_null(strstr(reason, "SWA_JIT_FLAG_FOREIGN_OWNER"));
  assert_non_null(strstr(reason, "SWA_JIT_FOREIGN_OWNER=1"));
  assert_false(is_folder_trusted(SWA_JIT_FLAG_GROUP_SHARED, OTHER, NO_GROUP, 0755, reason));
  assert_true(is_folder_trusted(SWA_JIT_FLAG_FOREIGN_OWNER, OTHER, NO_GROUP, 0755, reason));
  assert_false(is_folder_trusted(SWA_JIT_FLAG_FOREIGN_OWNER, OTHER, NO_GROUP, 0775, reason));
}

static void folder_of_a_group_needs_the_option_and_the_membership(void **state)
{
  (void)state;
  char reason[SJ_REASON_SIZE];
  assert_true(is_folder_trusted(SWA_JIT_FLAG_GROUP_SHARED, ME, getegid(), 02770, reason));
  assert_true(is_folder_trusted(SWA_JIT_FLAG_GROUP_SHARED, OTHER, getegid(), 02770, reason));
  assert_false(is_folder_trusted(SWA_JIT_FLAG_GROUP_SHARED, ME, NO_GROUP, 02770, reason));
  assert_non_null(strstr(reason, "its group is none of this process's"));
  assert_false(is_folder_trusted(SWA_JIT_FLAG_GROUP_SHARED, OTHER, NO_GROUP, 02770, reason));
}

static void expect_file(uint32_t flags, const struct stat *folder, uid_t owner, gid_t group, mode_t mode, bool expected)
{
  sj_trust trust = rules_of(flags);
  char reason[SJ_REASON_SIZE] = "";
  assert_true(sj_trust_folder(&trust, folder, reason));
  struct stat file = status_of(owner, group, S_IFREG | mode);
  assert_true(sj_trust_file(&trust, &file, reason) == expected);
  assert_true(expected == (reason[0] == '\0'));
}

static void file_is_trusted_by_the_rules_of_its_folder(void **state)
{
  (void)state;
  const gid_t mine = getegid();
  const struct stat own = status_of(ME, mine, 0755);
  const struct stat foreign = status_of(OTHER, mine, 0755);
  const struct stat shared = status_of(OTHER, mine, 02770);
  expect_file(0, &own, ME, mine, 0644, true);
  expect_file(0, &own, 0, NO_GROUP, 0644, true);
  expect_file(0, &own, OTHER, mine, 0644, false);
  expect_file(0, &own, ME, mine, 0664, false);
  expect_file(0, &own, ME, mine, 0646, false);
  expect_file(SWA_JIT_FLAG_FOREIGN_OWNER, &foreign, OTHER, NO_GROUP, 0644, true);
  expect_file(SWA_JIT_FLAG_FOREIGN_OWNER, &foreign, THIRD, NO_GROUP, 0644, false);
  expect_file(SWA_JIT_FLAG_FOREIGN_OWNER, &foreign, OTHER, mine, 0664, false);
  expect_file(SWA_JIT_FLAG_GROUP_SHARED, &shared, THIRD, mine, 0664, true);
  expect_file(SWA_JIT_FLAG_GROUP_SHARED, &shared, THIRD, NO_GROUP, 0664, false);
  expect_file(SWA_JIT_FLAG_GROUP_SHARED, &shared, ME, NO_GROUP, 0664, false);
  expect_file(SWA_JIT_FLAG_GROUP_SHARED, &shared, ME, NO_GROUP, 0644, true);
  expect_file(SWA_JIT_FLAG_GROUP_SHARED, &shared, ME, mine, 0666, false);
}

static void group_is_needed_where_one_shares_the_store(void **state)
{
  (void)state;
  const struct stat folder = status_of(ME, getegid(), 0755);
  const struct stat others = status_of(ME, NO_GROUP, 0755);
  char reason[SJ_REASON_SIZE];
  gid_t group = NO_GROUP;
  sj_trust shared = rules_of(SWA_JIT_FLAG_GROUP_SHARED);
  sj_trust own = rules_of(0);
  assert_true(sj_trust_folder(&shared, &folder, reason));
  assert_true(sj_trust_needs_group(&shared, &group));
  assert_int_equal(group, getegid());
  assert_true(sj_trust_folder(&shared, &others, reason));
  assert_false(sj_trust_needs_group(&shared, &group));
  assert_true(sj_trust_folder(&own, &folder, reason));
  assert_false(sj_trust_needs_group(&own, &group));
}

static void modes_follow_the_flags(void **state)
{
  (void)state;
  const sj_trust own = rules_of(0);
  const sj_trust layer = rules_of(SWA_JIT_FLAG_ALL_READ);
  const sj_trust shared = rules_of(SWA_JIT_FLAG_GROUP_SHARED | SWA_JIT_FLAG_ALL_READ);
  assert_int_equal(sj_trust_folder_mode(&own), 0700);
  assert_int_equal(sj_trust_entry_mode(&own), 0644);
  assert_int_equal(sj_trust_lock_mode(&own), 0600);
  assert_int_equal(sj_trust_folder_mode(&layer), 0755);
  assert_int_equal(sj_trust_folder_mode(&shared), 02770);
  assert_int_equal(sj_trust_entry_mode(&shared), 0664);
  assert_int_equal(sj_trust_lock_mode(&shared), 0660);
}

static void owner_gets_what_root_makes_in_a_foreign_folder(void **state)
{
  (void)state;
  static const struct {
    uint32_t flags;
    uid_t user, owner;
    bool is_given;
  } rows[] = {{SWA_JIT_FLAG_FOREIGN_OWNER, 0, 1000, true},
              {SWA_JIT_FLAG_FOREIGN_OWNER, 0, 0, false},
              {SWA_JIT_FLAG_FOREIGN_OWNER, 1001, 1000, false},
              {0, 0, 1000, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const sj_trust trust = {.flags = rows[i].flags, .user = rows[i].user, .owner = rows[i].owner};
    uid_t owner = 7;
    assert_int_equal(sj_trust_needs_owner(&trust, &owner), rows[i].is_given);
    assert_true(!rows[i].is_given || owner == rows[i].owner);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folder_of_own_or_root_is_trusted_unless_others_write),
      cmocka_unit_test(folder_of_another_user_needs_the_option_that_its_refusal_names),
      cmocka_unit_test(folder_of_a_group_needs_the_option_and_the_membership),
      cmocka_unit_test(file_is_trusted_by_the_rules_of_its_folder),
      cmocka_unit_test(group_is_needed_where_one_shares_the_store),
      cmocka_unit_test(modes_follow_the_flags),
      cmocka_unit_test(owner_gets_what_root_makes_in_a_foreign_folder),
  };
  return SJ_TEST_RUN(tests);
}
