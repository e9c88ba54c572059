/* SPDX-License-Identifier: Apache-2.0 */
/* Each fault of fault_table.c alone in its kernel, on the machine: the check that it names must catch it, and the same
 * case must pass without it. The last words say how many were caught.
 *   test_faults [--page FILE] [--write FILE] [--seed N] [--only TEXT]
 * --page: FILE must have the table of results, as --write puts it there. --only: faults with TEXT in what they are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

enum { SKIPPED = 77, SECONDS = 200, ROW_SIZE = 600, MAX_PROCESSES = 64 };

typedef enum job_state { JOB_NEW, JOB_DONE, JOB_SKIPPED, JOB_DIED } job_state;

typedef struct job {
  const fault *fault;
  bool is_planted;
  job_state state;
  fault_outcome outcome;
} job;

typedef struct options {
  const char *page, *write, *only;
  unsigned long long seed;
} options;

/* ---- Running ---------------------------------------------------------------------------------------------- */

static void run_job(job *j, unsigned long long seed)
{
  (void)alarm(SECONDS);
  j->state = fault_try(j->fault, j->is_planted, seed, &j->outcome) == FAULT_RUN_DONE ? JOB_DONE : JOB_SKIPPED;
}

/* One process a job, for a machine has its state by process, and so that a job that dies is that job alone. */
static bool run_jobs(job *jobs, size_t count, unsigned long long seed)
{
  struct {
    pid_t process;
    size_t job;
  } running[MAX_PROCESSES];
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const size_t most = online < 1 ? 1 : online > MAX_PROCESSES ? MAX_PROCESSES : (size_t)online;
  size_t next = 0, num_running = 0;
  (void)fflush(NULL);
  while (next < count || num_running > 0) {
    if (next < count && num_running < most) {
      const pid_t process = fork();
      if (process == 0) {
        run_job(&jobs[next], seed);
        _exit(0);
      }
      if (process < 0) {
        return false;
      }
      running[num_running].process = process;
      running[num_running++].job = next++;
      continue;
    }
    const pid_t ended = wait(NULL);
    for (size_t i = 0; i < num_running; i++) {
      if (running[i].process == ended) {
        job *j = &jobs[running[i].job];
        j->state = j->state == JOB_NEW ? JOB_DIED : j->state;
        running[i] = running[--num_running];
        break;
      }
    }
  }
  return true;
}

/* ---- Judging ---------------------------------------------------------------------------------------------- */

/* NULL: as it should be. */
static const char *find_problem(const job *j)
{
  if (j->state == JOB_DIED) {
    return "the run died, or took too long";
  }
  if (!j->outcome.is_sound) {
    return "the fault is not what it says";
  }
  if (!j->is_planted) {
    return j->outcome.check == FAULT_UNCAUGHT ? NULL : "the case fails without the fault";
  }
  if (j->outcome.check == j->fault->check
      || (j->outcome.check == j->fault->other && j->outcome.check != FAULT_UNCAUGHT)) {
    return NULL;
  }
  return j->fault->check == FAULT_UNCAUGHT    ? "it is caught by now: name the check"
         : j->outcome.check == FAULT_UNCAUGHT ? "NOT CAUGHT"
                                              : "another check caught it";
}

static void print_job(const job *j, const char *problem)
{
  const size_t first_line = strcspn(j->outcome.message, "\n");
  if (problem == NULL && !j->is_planted) {
    printf("passes without a fault: %s %s\n", fault_arch(j->fault), j->fault->line);
    return;
  }
  printf("%s %s: %s: %s\n", problem == NULL ? "ok" : "FAILED", j->fault->part,
         j->is_planted ? j->fault->what : "no fault", fault_check_name(j->outcome.check));
  if (problem != NULL) {
    printf("  %s; expected: %s\n  %s %s\n%s\n", problem, j->is_planted ? fault_check_name(j->fault->check) : "to pass",
           fault_arch(j->fault), j->fault->line, j->outcome.message);
  } else if (first_line != 0) {
    printf("  %.*s\n", (int)first_line, j->outcome.message);
  }
}

static size_t judge(const job *jobs, size_t count)
{
  size_t failures = 0;
  for (size_t i = 0; i < count; i++) {
    const char *problem = find_problem(&jobs[i]);
    print_job(&jobs[i], problem);
    failures += problem != NULL;
  }
  return failures;
}

/* ---- The page --------------------------------------------------------------------------------------------- */

static void make_row(const fault *f, char row[ROW_SIZE])
{
  const bool has_other = f->other != FAULT_UNCAUGHT;
  (void)snprintf(row, ROW_SIZE, "| %s | `%s` | %s%s%s%s%s |\n", f->what, f->part, fault_check_name(f->check),
                 has_other ? " or " : "", has_other ? fault_check_name(f->other) : "", f->why != NULL ? ": " : "",
                 f->why != NULL ? f->why : "");
}

static bool write_page(const char *path)
{
  char row[ROW_SIZE], date[32] = "";
  size_t num_caught = 0;
  const time_t now = time(NULL);
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    return false;
  }
  (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
  for (size_t i = 0; i < num_faults; i++) {
    num_caught += faults[i].check != FAULT_UNCAUGHT;
  }
  (void)fprintf(
      file,
      "# Deliberate faults\n\n"
      "Each fault is put into the kernel templates alone, compiled by NVRTC and run on the emulator; the same "
      "case passes\nwithout it. `tests/emulator/fault_table.c` has the texts and the cases. The test "
      "`emulator-faults` runs them all and fails\nwhere another check than the one here catches a fault, or "
      "none; `build/tests/emulator/test_faults --write\ndocs/faults.md` wrote this page on %s: %zu of %zu "
      "faults are caught.\n\n"
      "| fault | part | caught by |\n| --- | --- | --- |\n",
      date, num_caught, num_faults);
  for (size_t i = 0; i < num_faults; i++) {
    make_row(&faults[i], row);
    (void)fputs(row, file);
  }
  return fclose(file) == 0;
}

/* Rows that the page lacks. */
static size_t check_page(const char *path)
{
  static char text[200000];
  char row[ROW_SIZE];
  size_t missing = 0;
  FILE *file = fopen(path, "r");
  const size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
  text[length] = '\0';
  if (file != NULL) {
    (void)fclose(file);
  }
  for (size_t i = 0; i < num_faults; i++) {
    make_row(&faults[i], row);
    if (strstr(text, row) == NULL) {
      missing++;
      printf("FAILED %s lacks: %s", path, row);
    }
  }
  return missing;
}

/* ---- All -------------------------------------------------------------------------------------------------- */

static bool is_case_new(const fault *f)
{
  for (const fault *before = faults; before < f; before++) {
    if (strcmp(before->line, f->line) == 0 && strcmp(fault_arch(before), fault_arch(f)) == 0) {
      return false;
    }
  }
  return true;
}

static size_t make_jobs(const options *o, job *jobs)
{
  size_t count = 0;
  for (size_t i = 0; i < num_faults; i++) {
    if (o->only == NULL ? is_case_new(&faults[i]) : strstr(faults[i].what, o->only) != NULL) {
      jobs[count++] = (job){.fault = &faults[i], .is_planted = false};
    }
  }
  for (size_t i = 0; i < num_faults; i++) {
    if (o->only == NULL || strstr(faults[i].what, o->only) != NULL) {
      jobs[count++] = (job){.fault = &faults[i], .is_planted = true};
    }
  }
  return count;
}

static int run(const options *o)
{
  const size_t size = 2 * num_faults * sizeof(job);
  job *jobs = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (jobs == MAP_FAILED) {
    perror("test_faults");
    return 1;
  }
  const size_t count = make_jobs(o, jobs);
  if (count == 0 || !run_jobs(jobs, count, o->seed)) {
    printf("failed: %s\n", count == 0 ? "no such fault" : "no process");
    return 1;
  }
  for (size_t i = 0; i < count; i++) {
    if (jobs[i].state == JOB_SKIPPED) {
      printf("skipped: %s\n", jobs[i].outcome.message);
      return SKIPPED;
    }
  }
  size_t failures = judge(jobs, count);
  if (o->write != NULL && failures == 0) {
    failures += !write_page(o->write);
  }
  failures += o->page == NULL ? 0 : check_page(o->page);
  printf("%zu cases and faults, %zu failed\n", count, failures);
  return failures == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
  options o = {.seed = 1};
  for (int i = 1; i + 1 < argc; i += 2) {
    const char *name = argv[i], *value = argv[i + 1];
    if (strcmp(name, "--page") == 0) {
      o.page = value;
    } else if (strcmp(name, "--write") == 0) {
      o.write = value;
    } else if (strcmp(name, "--only") == 0) {
      o.only = value;
    } else if (strcmp(name, "--seed") == 0) {
      o.seed = strtoull(value, NULL, 10);
    } else {
      printf("failed: unknown %s\n", name);
      return 1;
    }
  }
  return run(&o);
}
