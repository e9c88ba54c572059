/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <pthread.h>
#include <string.h>

#include "status.h"

static void message_before_any_failure_is_empty(void **state)
{
  (void)state;
  assert_string_equal(sj_message(), "");
}

static void name_of_each_status_is_its_spelling(void **state)
{
  (void)state;
  static const char *const names[] = {
      "SWA_JIT_OK",
      "SWA_JIT_INVALID",
      "SWA_JIT_UNSUPPORTED",
      "SWA_JIT_NEWER",
      "SWA_JIT_OUT_OF_MEMORY",
      "SWA_JIT_NO_DRIVER",
      "SWA_JIT_NO_DEVICE",
      "SWA_JIT_WRONG_DEVICE",
      "SWA_JIT_NO_COMPILER",
      "SWA_JIT_COMPILE_FAILED",
      "SWA_JIT_CUDA_ERROR",
      "SWA_JIT_STORE_ERROR",
  };
  for (int i = 0; i <= SWA_JIT_STORE_ERROR; i++) {
    assert_string_equal(sj_status_name((swa_jit_status)i), names[i]);
  }
  assert_string_equal(sj_status_name((swa_jit_status)12), "unknown status");
  assert_string_equal(sj_status_name((swa_jit_status)1000), "unknown status");
}

static void fail_returns_status_and_keeps_message(void **state)
{
  (void)state;
  assert_int_equal(sj_fail(SWA_JIT_INVALID, "head_dim is %u: use %s", 7u, "64"), SWA_JIT_INVALID);
  assert_string_equal(sj_message(), "head_dim is 7: use 64");
}

static void fail_with_present_message_as_argument_quotes_it(void **state)
{
  (void)state;
  sj_fail(SWA_JIT_INVALID, "inner");
  assert_int_equal(sj_fail(SWA_JIT_STORE_ERROR, "outer (%s)", sj_message()), SWA_JIT_STORE_ERROR);
  assert_string_equal(sj_message(), "outer (inner)");
}

static void fail_with_long_message_is_cut(void **state)
{
  (void)state;
  char text[2 * SJ_MESSAGE_SIZE];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  sj_fail(SWA_JIT_INVALID, "%s", text);
  assert_int_equal(strlen(sj_message()), SJ_MESSAGE_SIZE - 1);
}

static void fail_memory_then_fail_shows_the_latest(void **state)
{
  (void)state;
  assert_int_equal(sj_fail_memory(), SWA_JIT_OUT_OF_MEMORY);
  assert_non_null(strstr(sj_message(), "memory"));
  sj_fail(SWA_JIT_INVALID, "later");
  assert_string_equal(sj_message(), "later");
}

static void *fail_in_thread(void *argument)
{
  char *seen = argument;
  strcpy(seen, sj_message());
  sj_fail(SWA_JIT_INVALID, "theirs");
  return NULL;
}

static void message_is_of_its_thread(void **state)
{
  (void)state;
  char seen[SJ_MESSAGE_SIZE] = "unset";
  sj_fail(SWA_JIT_INVALID, "ours");
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, seen), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_string_equal(seen, "");
  assert_string_equal(sj_message(), "ours");
}

static void restore_after_success_brings_the_message_back(void **state)
{
  (void)state;
  sj_kept_message kept;
  sj_fail(SWA_JIT_INVALID, "before");
  sj_message_keep(&kept);
  sj_fail_memory();
  assert_int_equal(sj_message_restore(SWA_JIT_OK, &kept), SWA_JIT_OK);
  assert_string_equal(sj_message(), "before");
}

static void restore_after_failure_leaves_the_new_message(void **state)
{
  (void)state;
  sj_kept_message kept;
  sj_fail(SWA_JIT_INVALID, "before");
  sj_message_keep(&kept);
  sj_fail(SWA_JIT_STORE_ERROR, "after");
  assert_int_equal(sj_message_restore(SWA_JIT_STORE_ERROR, &kept), SWA_JIT_STORE_ERROR);
  assert_string_equal(sj_message(), "after");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(message_before_any_failure_is_empty),
      cmocka_unit_test(name_of_each_status_is_its_spelling),
      cmocka_unit_test(fail_returns_status_and_keeps_message),
      cmocka_unit_test(fail_with_present_message_as_argument_quotes_it),
      cmocka_unit_test(fail_with_long_message_is_cut),
      cmocka_unit_test(fail_memory_then_fail_shows_the_latest),
      cmocka_unit_test(message_is_of_its_thread),
      cmocka_unit_test(restore_after_success_brings_the_message_back),
      cmocka_unit_test(restore_after_failure_leaves_the_new_message),
  };
  return SJ_TEST_RUN(tests);
}
