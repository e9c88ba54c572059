/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call that a process makes for the store fails, is interrupted, moves half of its bytes, loses its folder,
 * or is the last one before or after which the process is killed. Whatever happened, the kernel was given if the
 * process lived, and the next process finds a store that it can trust. */
#include "test_main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask_process.h"
#include "temp_dir.h"

/* What lies in the store before the process that meets the fault. */
typedef enum store_start {
  ABSENT,
  WARM,
  DAMAGED,       /* cut in half */
  LAYERED,       /* absent, and there in a read-only layer */
  LAYER_DAMAGED, /* absent, and cut in half in a read-only layer */
  NUM_STARTS
} store_start;
enum { EVERY_START = (1 << NUM_STARTS) - 1 };

typedef struct fault_trial {
  const char *folder;
  char *store, *layer;
  char *log;                 /* of the calls */
  char *entry, *layer_entry; /* paths */
  char *good;                /* its bytes */
  size_t num_good;           /* how many */
  char cubin[32];            /* "cubin=..." of the right answer */
} fault_trial;

static char *join_words(const char *first, const char *second)
{
  char *word = NULL;
  assert_true(asprintf(&word, "%s%s", first, second) > 0);
  return word;
}

/* Asks by the environment, as there trouble with the store is never an error. fault: "NAME=value" words, NULL-ended, or
 * NULL for none. */
static void ask_store(const fault_trial *trial, const char *const *fault, ask_answer *answer_out)
{
  ask_question question = {.num_environment = 0};
  char *cache_dir = join_words("SWA_JIT_CACHE_DIR=", trial->store);
  char *cache_path = join_words("SWA_JIT_CACHE_PATH=", trial->layer);
  ask_add_environment(&question, cache_dir);
  ask_add_environment(&question, cache_path);
  for (const char *const *word = fault; word != NULL && *word != NULL; word++) {
    ask_add_environment(&question, *word);
  }
  ask_run(&question, fault != NULL, answer_out);
  free(cache_dir);
  free(cache_path);
}

static void remove_tree(const char *path)
{
  for (char *file = temp_dir_find(path, ""); file != NULL; file = temp_dir_find(path, "")) {
    assert_int_equal(remove(file), 0);
    free(file);
  }
  rmdir(path);
}

static void begin_trial(fault_trial *trial_out, char *folder)
{
  fault_trial begun = {.folder = folder,
                       .store = temp_dir_join(folder, "store"),
                       .layer = temp_dir_join(folder, "layer"),
                       .log = temp_dir_join(folder, "calls")};
  ask_answer answer;
  assert_int_equal(mkdir(begun.layer, 0755), 0);
  ask_store(&begun, NULL, &answer);
  ask_answer_expect(&answer, "the first process", "status=SWA_JIT_OK", "origin=compiled", "writes=1", NULL);
  char *name = ask_answer_value(&answer, "file_name", 0);
  char *cubin = ask_answer_value(&answer, "cubin", 0);
  assert_true(name != NULL && cubin != NULL);
  snprintf(begun.cubin, sizeof begun.cubin, "cubin=%s", cubin);
  begun.entry = temp_dir_join(begun.store, name);
  begun.layer_entry = temp_dir_join(begun.layer, name);
  assert_true(temp_dir_read(begun.entry, &begun.good, &begun.num_good));
  free(name);
  free(cubin);
  ask_answer_finish(&answer);
  *trial_out = begun;
}

static void end_trial(fault_trial *trial)
{
  free(trial->store);
  free(trial->layer);
  free(trial->log);
  free(trial->entry);
  free(trial->layer_entry);
  free(trial->good);
}

static void lay_out(const fault_trial *trial, store_start start)
{
  const size_t half = trial->num_good / 2;
  remove_tree(trial->store);
  unlink(trial->layer_entry);
  if (start == WARM || start == DAMAGED) {
    assert_int_equal(mkdir(trial->store, 0700), 0);
    assert_true(temp_dir_write(trial->entry, trial->good, start == WARM ? trial->num_good : half));
  } else if (start == LAYERED || start == LAYER_DAMAGED) {
    assert_true(temp_dir_write(trial->layer_entry, trial->good, start == LAYERED ? trial->num_good : half));
  }
}

/* How many calls a process makes when nothing fails. */
static unsigned count_calls(const fault_trial *trial, store_start start, const char *most)
{
  ask_answer answer;
  char *log = join_words("FAULT_LOG=", trial->log);
  unlink(trial->log);
  lay_out(trial, start);
  ask_store(trial, (const char *const[]){log, most, NULL}, &answer);
  ask_answer_expect(&answer, "counting", "status=SWA_JIT_OK", trial->cubin, "write_failures=0", NULL);
  ask_answer_finish(&answer);
  free(log);
  char *text = NULL;
  size_t count = 0;
  unsigned num_calls = 0;
  assert_true(temp_dir_read(trial->log, &text, &count));
  for (size_t i = 0; i < count; i++) {
    num_calls += text[i] == '\n';
  }
  free(text);
  assert_true(num_calls > 5); /* else the interposed library counts nothing */
  return num_calls;
}

/* The store after the fault: a clean process gets the right bytes, from one whole entry, and nothing bad is left but
 * what had been damaged before. */
static void expect_sound(const fault_trial *trial, store_start start, const char *what)
{
  ask_answer answer;
  ask_store(trial, NULL, &answer);
  ask_answer_expect(&answer, what, "status=SWA_JIT_OK", trial->cubin, "store_status=SWA_JIT_OK", "write_failures=0",
                    "lock_waits=0", NULL);
  if (start != DAMAGED) {
    ask_answer_expect(&answer, what, "set_aside=0", NULL);
    assert_int_equal(temp_dir_count(trial->store, ".bad-"), 0);
  }
  ask_answer_finish(&answer);
  if (temp_dir_count(trial->store, ".tmp-") != 0 || temp_dir_count(trial->store, ".writers") != 0) {
    print_error("%s: a leftover is there after the next open\n", what);
    fail();
  }
  ask_store(trial, NULL, &answer);
  ask_answer_expect(&answer, what, "origin=store", trial->cubin, "set_aside=0", NULL);
  ask_answer_finish(&answer);
  assert_true(start == LAYERED || access(trial->entry, F_OK) == 0);
  assert_int_equal(temp_dir_count(trial->layer, ""), start == LAYERED || start == LAYER_DAMAGED);
}

/* One process with the nth call gone wrong. */
static void meet_fault(const fault_trial *trial, unsigned nth, const char *action, const char *most,
                       ask_answer *answer_out)
{
  char number[32], what[64], *folder = join_words("FAULT_FOLDER=", trial->store);
  snprintf(number, sizeof number, "FAULT_NTH=%u", nth);
  snprintf(what, sizeof what, "FAULT_ACTION=%s", action);
  ask_store(trial, (const char *const[]){number, what, folder, most, NULL}, answer_out);
  free(folder);
  if (strstr(answer_out->log, "fault: call") == NULL) {
    print_error("%s: call %u was never made\n%s", action, nth, answer_out->log);
    fail();
  }
}

/* Whether the log says that the fault met a call of that name. */
static bool has_met(const ask_answer *answer, const char *name)
{
  char text[64];
  const char *fault = strstr(answer->log, "fault: call");
  snprintf(text, sizeof text, ", %s\n", name);
  const char *found = strstr(fault, text);
  return found != NULL && found < fault + strcspn(fault, "\n");
}

/* A call that Linux interrupts, and that must therefore be gone on with as if nothing had been. */
static bool can_be_interrupted(const ask_answer *answer)
{
  static const char *const names[] = {"openat", "write", "read", "pread", "fsync", "close", "flock", "getrandom"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (has_met(answer, names[i])) {
      return true;
    }
  }
  return false;
}

/* The kernel came, and if it is in no store, that was said. */
static void expect_kernel(const fault_trial *trial, const ask_answer *answer, const char *what)
{
  ask_answer_expect(answer, what, "status=SWA_JIT_OK", trial->cubin, "message=", NULL);
  if (!ask_answer_has(answer, "origin=store") && !ask_answer_has(answer, "writes=1")) {
    ask_answer_expect(answer, what, "store_status=SWA_JIT_STORE_ERROR", "write_failures=1", NULL);
    assert_non_null(strstr(answer->log, "log 2 "));
  }
}

/* Every call in turn, from every start. */
static void fail_each_call(char *folder, unsigned starts, const char *action)
{
  fault_trial trial;
  begin_trial(&trial, folder);
  for (unsigned start = 0; start < NUM_STARTS; start++) {
    unsigned num_calls = (starts & 1u << start) != 0 ? count_calls(&trial, start, NULL) : 0;
    for (unsigned nth = 1; nth <= num_calls; nth++) {
      char what[64];
      ask_answer answer;
      snprintf(what, sizeof what, "%s at call %u from start %u", action, nth, start);
      lay_out(&trial, start);
      meet_fault(&trial, nth, action, NULL, &answer);
      expect_kernel(&trial, &answer, what);
      if (strcmp(action, "short") == 0 || (strcmp(action, "EINTR") == 0 && can_be_interrupted(&answer))) {
        ask_answer_expect(&answer, what, start == WARM || start == LAYERED ? "origin=store" : "writes=1",
                          "write_failures=0", NULL);
      }
      ask_answer_finish(&answer);
      expect_sound(&trial, start, what);
    }
  }
  end_trial(&trial);
}

static void a_full_disk_at_each_call_costs_no_kernel(void **state)
{
  fail_each_call(*state, 1 << ABSENT | 1 << DAMAGED, "ENOSPC");
}

static void an_io_error_at_each_call_costs_no_kernel(void **state)
{
  fail_each_call(*state, EVERY_START, "EIO");
}

static void too_many_open_files_at_each_call_cost_no_kernel(void **state)
{
  fail_each_call(*state, EVERY_START, "EMFILE");
}

static void a_signal_at_each_call_costs_nothing(void **state)
{
  fail_each_call(*state, EVERY_START, "EINTR");
}

static void half_of_the_bytes_at_each_call_cost_nothing(void **state)
{
  fail_each_call(*state, 1 << ABSENT | 1 << WARM | 1 << LAYERED, "short");
}

static void a_folder_removed_at_each_call_costs_no_kernel(void **state)
{
  fail_each_call(*state, 1 << ABSENT | 1 << WARM, "remove");
}

/* Writes of 300 bytes, so that there are instants within an entry. */
static void kill_at_each_call(char *folder, unsigned starts, const char *action)
{
  static const char most[] = "FAULT_MOST=300";
  fault_trial trial;
  begin_trial(&trial, folder);
  for (unsigned start = 0; start < NUM_STARTS; start++) {
    unsigned num_calls = (starts & 1u << start) != 0 ? count_calls(&trial, start, most) : 0;
    for (unsigned nth = 1; nth <= num_calls; nth++) {
      char what[64];
      ask_answer answer;
      snprintf(what, sizeof what, "%s of call %u from start %u", action, nth, start);
      lay_out(&trial, start);
      meet_fault(&trial, nth, action, most, &answer);
      assert_true(WIFSIGNALED(answer.wait_status) && WTERMSIG(answer.wait_status) == SIGKILL);
      ask_answer_finish(&answer);
      expect_sound(&trial, start, what);
    }
  }
  end_trial(&trial);
}

static void a_kill_before_each_call_leaves_a_sound_store(void **state)
{
  kill_at_each_call(*state, 1 << ABSENT | 1 << DAMAGED | 1 << LAYER_DAMAGED, "kill-before");
}

static void a_kill_after_each_call_leaves_a_sound_store(void **state)
{
  kill_at_each_call(*state, 1 << ABSENT, "kill-after");
}

/* ---- Writers that die while others write, and clocks ----------------------------------------------------- */

/* A writer of another key dies while this one is in the middle of its write; this one ends well. */
static void a_writer_that_dies_while_another_writes_leaves_nothing(void **state)
{
  fault_trial trial;
  ask_answer answer;
  begin_trial(&trial, *state);
  lay_out(&trial, ABSENT);
  char *cache_dir = join_words("SWA_JIT_CACHE_DIR=", trial.store);
  ask_process writers[2];
  int status = 0;
  for (unsigned i = 0; i < 2; i++) {
    ask_question question = {.num_environment = 0};
    ask_add_environment(&question, cache_dir);
    ask_add_environment(&question, "FAULT_CALL=renameat");
    ask_add_environment(&question, "FAULT_NTH=1");
    ask_add_environment(&question, "FAULT_ACTION=stop");
    ask_add_argument(&question, "--config");
    ask_add_argument(&question, i == 0 ? "arch=sm_90a" : "arch=sm_90a window_size=64");
    ask_begin(&question, true, &writers[i]);
    assert_int_equal(waitpid(writers[i].pid, &status, WUNTRACED), writers[i].pid);
    assert_true(WIFSTOPPED(status));
  }
  assert_int_equal(temp_dir_count(trial.store, ".tmp-"), 2);
  assert_int_equal(kill(writers[1].pid, SIGKILL), 0);
  ask_end(&writers[1], &answer);
  ask_answer_finish(&answer);
  assert_int_equal(kill(writers[0].pid, SIGCONT), 0);
  ask_end(&writers[0], &answer);
  ask_answer_expect(&answer, "the writer that lives", "status=SWA_JIT_OK", "writes=1", trial.cubin, NULL);
  ask_answer_finish(&answer);
  expect_sound(&trial, WARM, "after both");
  free(cache_dir);
  end_trial(&trial);
}

/* Every file looks as if it had been made tomorrow. */
static void a_clock_set_back_a_day_changes_nothing(void **state)
{
  static const char *const back[] = {"FAULT_AGE=:-86400", "FAULT_CLOCK=-86400", NULL};
  fault_trial trial;
  ask_answer answer;
  begin_trial(&trial, *state);
  for (unsigned start = 0; start < NUM_STARTS; start++) {
    lay_out(&trial, start);
    ask_store(&trial, back, &answer);
    ask_answer_expect(&answer, "the clock was set back", "status=SWA_JIT_OK", trial.cubin, "write_failures=0",
                      start == WARM || start == LAYERED ? "origin=store" : "writes=1", NULL);
    ask_answer_finish(&answer);
    expect_sound(&trial, start, "after the clock was set back");
  }
  lay_out(&trial, ABSENT);
  ask_store(&trial, (const char *const[]){"FAULT_CALL=renameat", "FAULT_NTH=1", "FAULT_ACTION=kill-before", NULL},
            &answer);
  ask_answer_finish(&answer);
  assert_int_equal(temp_dir_count(trial.store, ".tmp-"), 1);
  ask_store(&trial, back, &answer);
  ask_answer_expect(&answer, "after a crash tomorrow", "status=SWA_JIT_OK", trial.cubin, "writes=1", NULL);
  ask_answer_finish(&answer);
  assert_int_equal(temp_dir_count(trial.store, ".tmp-"), 0);
  end_trial(&trial);
}

/* ---- A power cut, as far as the order of the calls shows it ---------------------------------------------- */

/* The first line that begins so; NULL when there is none, or from is NULL. from is the start of a line. */
static const char *find_call(const char *from, const char *beginning)
{
  for (const char *line = from; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, beginning, strlen(beginning)) == 0) {
      return line;
    }
  }
  return NULL;
}

static void an_entry_is_synced_before_its_rename_and_the_folder_after(void **state)
{
  fault_trial trial;
  ask_answer answer;
  begin_trial(&trial, *state);
  lay_out(&trial, ABSENT);
  char *log = join_words("FAULT_LOG=", trial.log);
  ask_store(&trial, (const char *const[]){log, "FAULT_MOST=300", NULL}, &answer);
  ask_answer_expect(&answer, "the writer", "writes=1", NULL);
  ask_answer_finish(&answer);
  char *calls = NULL;
  size_t count = 0;
  assert_true(temp_dir_read(trial.log, &calls, &count));

  int folder = -1, file = -1;
  char temporary[64], line[600];
  const char *created = strstr(calls, " .tmp-");
  assert_non_null(created);
  while (created > calls && created[-1] != '\n') {
    created--;
  }
  assert_int_equal(sscanf(created, "openat %d %63s -> %d", &folder, temporary, &file), 3);
  snprintf(line, sizeof line, "renameat %d %s %d %s -> 0", folder, temporary, folder, strrchr(trial.entry, '/') + 1);
  const char *renamed = find_call(created, line);
  assert_non_null(renamed);
  snprintf(line, sizeof line, "write %d ", file);
  const char *last_write = NULL;
  for (const char *each = find_call(created, line); each != NULL; each = find_call(each + 1, line)) {
    last_write = each;
  }
  assert_true(last_write != NULL && last_write < renamed);
  snprintf(line, sizeof line, "fsync %d -> 0", file);
  const char *file_synced = find_call(last_write, line);
  assert_true(file_synced != NULL && file_synced < renamed);
  snprintf(line, sizeof line, "fsync %d -> 0", folder);
  assert_non_null(find_call(renamed, line));
  free(calls);
  free(log);
  end_trial(&trial);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_full_disk_at_each_call_costs_no_kernel),
      TEST(an_io_error_at_each_call_costs_no_kernel),
      TEST(too_many_open_files_at_each_call_cost_no_kernel),
      TEST(a_signal_at_each_call_costs_nothing),
      TEST(half_of_the_bytes_at_each_call_cost_nothing),
      TEST(a_folder_removed_at_each_call_costs_no_kernel),
      TEST(a_kill_before_each_call_leaves_a_sound_store),
      TEST(a_kill_after_each_call_leaves_a_sound_store),
      TEST(a_writer_that_dies_while_another_writes_leaves_nothing),
      TEST(a_clock_set_back_a_day_changes_nothing),
      TEST(an_entry_is_synced_before_its_rename_and_the_folder_after),
  };
  return SJ_TEST_RUN(tests);
}
