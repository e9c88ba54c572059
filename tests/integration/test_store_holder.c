/* SPDX-License-Identifier: Apache-2.0 */
/* The holder of a key's lock is killed while others wait, or stopped; the lock service is missing or hangs. */
#include "test_main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask_process.h"
#include "temp_dir.h"

enum { NUM_WAITERS = 8, PATIENCE_MS = 60000 };

typedef struct holder_fixture {
  char *folder;
  char *cache_dir;  /* the words of an environment */
  char *count_path; /* of the file that the stand-in counts in */
  char *count;
  ask_process holder;
} holder_fixture;

static char *join_words(const char *first, const char *second)
{
  char *word = NULL;
  assert_true(asprintf(&word, "%s%s", first, second) > 0);
  return word;
}

static unsigned num_compiles(const holder_fixture *fixture)
{
  struct stat status;
  return stat(fixture->count_path, &status) == 0 ? (unsigned)status.st_size : 0;
}

static ask_question begin_question(const holder_fixture *fixture)
{
  ask_question question = {.num_environment = 0};
  ask_add_environment(&question, fixture->cache_dir);
  ask_add_environment(&question, fixture->count);
  return question;
}

/* A process in the middle of a compile that does not end. */
static int setup(void **state)
{
  holder_fixture *fixture = calloc(1, sizeof *fixture);
  void *folder = NULL;
  if (fixture == NULL || temp_dir_setup(&folder) != 0) {
    free(fixture);
    return -1;
  }
  fixture->folder = folder;
  char *store = temp_dir_join(folder, "store");
  fixture->cache_dir = join_words("SWA_JIT_CACHE_DIR=", store);
  free(store);
  fixture->count_path = temp_dir_join(folder, "compiles");
  fixture->count = join_words("FAKE_NVRTC_COUNT=", fixture->count_path);
  ask_question question = begin_question(fixture);
  ask_add_environment(&question, "FAKE_NVRTC_MS=600000");
  ask_begin(&question, false, &fixture->holder);
  for (unsigned waited = 0; num_compiles(fixture) == 0 && waited < PATIENCE_MS; waited++) {
    usleep(1000);
  }
  *state = fixture;
  return num_compiles(fixture) == 1 ? 0 : -1;
}

static void end_holder(holder_fixture *fixture)
{
  ask_answer answer;
  if (fixture->holder.pid != 0) {
    assert_int_equal(kill(fixture->holder.pid, SIGKILL), 0);
    ask_end(&fixture->holder, &answer);
    ask_answer_finish(&answer);
    fixture->holder.pid = 0;
  }
}

static int teardown(void **state)
{
  holder_fixture *fixture = *state;
  void *folder = fixture->folder;
  end_holder(fixture);
  free(fixture->cache_dir);
  free(fixture->count_path);
  free(fixture->count);
  free(fixture);
  return temp_dir_teardown(&folder);
}

/* Until the process was refused the lock once: by the log of its calls. */
static void await_refusal(const char *log)
{
  for (unsigned waited = 0; waited < PATIENCE_MS; waited++) {
    char *calls = NULL;
    size_t count = 0;
    bool is_refused = false;
    if (temp_dir_read(log, &calls, &count)) {
      const char *flock = strstr(calls, "flock ");
      is_refused = flock != NULL && strstr(flock, " -> -1\n") != NULL;
      free(calls);
    }
    if (is_refused) {
      return;
    }
    usleep(1000);
  }
  fail_msg("nobody waits for the lock");
}

static void a_killed_holder_is_followed_at_once_by_one_of_those_who_wait(void **state)
{
  holder_fixture *fixture = *state;
  ask_process waiters[NUM_WAITERS];
  unsigned num_compiled = 0;
  for (unsigned i = 0; i < NUM_WAITERS; i++) {
    char name[32];
    snprintf(name, sizeof name, "calls%u", i);
    char *log = temp_dir_join(fixture->folder, name);
    char *word = join_words("FAULT_LOG=", log);
    ask_question question = begin_question(fixture);
    ask_add_environment(&question, word);
    ask_begin(&question, true, &waiters[i]);
    await_refusal(log);
    free(word);
    free(log);
  }
  end_holder(fixture);
  for (unsigned i = 0; i < NUM_WAITERS; i++) {
    ask_answer answer;
    ask_end(&waiters[i], &answer);
    ask_answer_expect(&answer, "a waiter", "status=SWA_JIT_OK", "lock_waits=1", "lock_failures=0", NULL);
    assert_null(strstr(answer.log, "log 2 "));
    num_compiled += ask_answer_has(&answer, "origin=compiled");
    ask_answer_finish(&answer);
  }
  assert_int_equal(num_compiled, 1);
  assert_int_equal(num_compiles(fixture), 2); /* the killed one's too */
}

/* It lives, and does not end: the wait does, with a warning that names it. */
static void a_holder_that_does_not_end_costs_a_bounded_wait_and_one_compile(void **state)
{
  holder_fixture *fixture = *state;
  ask_answer answer;
  char holder[32];
  snprintf(holder, sizeof holder, "pid %ld", (long)fixture->holder.pid);
  assert_int_equal(kill(fixture->holder.pid, SIGSTOP), 0);
  ask_question question = begin_question(fixture);
  ask_add_argument(&question, "--lock-wait-ms");
  ask_add_argument(&question, "300");
  ask_run(&question, false, &answer);
  ask_answer_expect(&answer, "who waited", "status=SWA_JIT_OK", "origin=compiled", "writes=1", "lock_waits=1",
                    "lock_failures=1", NULL);
  assert_non_null(strstr(answer.log, holder));
  ask_answer_finish(&answer);
  ask_run(&question, false, &answer);
  ask_answer_expect(&answer, "the next one", "status=SWA_JIT_OK", "origin=store", "lock_waits=0", NULL);
  ask_answer_finish(&answer);
}

/* As NFS without a lock service says it: every call fails. */
static void a_missing_lock_service_costs_one_compile(void **state)
{
  holder_fixture *fixture = *state;
  ask_answer answer;
  ask_question question = begin_question(fixture);
  ask_add_environment(&question, "FAULT_CALL=flock");
  ask_add_environment(&question, "FAULT_NTH=1");
  ask_add_environment(&question, "FAULT_LATER=1");
  ask_add_environment(&question, "FAULT_ACTION=EIO");
  ask_run(&question, true, &answer);
  ask_answer_expect(&answer, "without locks", "status=SWA_JIT_OK", "origin=compiled", "writes=1", "lock_failures=1",
                    NULL);
  ask_answer_finish(&answer);
  assert_int_equal(num_compiles(fixture), 2);
}

/* The call that must not wait waits for ever, as on a mount whose server is gone. */
static void a_lock_service_that_hangs_costs_a_bounded_wait_and_one_compile(void **state)
{
  holder_fixture *fixture = *state;
  ask_answer answer;
  ask_question question = begin_question(fixture);
  ask_add_environment(&question, "FAULT_CALL=flock");
  ask_add_environment(&question, "FAULT_NTH=1");
  ask_add_environment(&question, "FAULT_LATER=1");
  ask_add_environment(&question, "FAULT_ACTION=hang");
  ask_add_argument(&question, "--lock-wait-ms");
  ask_add_argument(&question, "300");
  ask_run(&question, true, &answer);
  ask_answer_expect(&answer, "with a lock call that hangs", "status=SWA_JIT_OK", "origin=compiled", "writes=1",
                    "lock_failures=1", NULL);
  assert_non_null(strstr(answer.log, "log 2 "));
  ask_answer_finish(&answer);
  assert_int_equal(num_compiles(fixture), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_killed_holder_is_followed_at_once_by_one_of_those_who_wait),
      TEST(a_holder_that_does_not_end_costs_a_bounded_wait_and_one_compile),
      TEST(a_missing_lock_service_costs_one_compile),
      TEST(a_lock_service_that_hangs_costs_a_bounded_wait_and_one_compile),
  };
  return SJ_TEST_RUN(tests);
}
