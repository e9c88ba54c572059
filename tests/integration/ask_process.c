/* SPDX-License-Identifier: Apache-2.0 */
#include "ask_process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_main.h"

void ask_add_environment(ask_question *question, const char *word)
{
  assert_true(question->num_environment < ASK_MAX_WORDS);
  question->environment[question->num_environment++] = word;
}

void ask_add_argument(ask_question *question, const char *word)
{
  assert_true(question->num_arguments < ASK_MAX_WORDS);
  question->arguments[question->num_arguments++] = word;
}

/* In the child. Nothing of this process's environment reaches the library, but where shared libraries are. */
static void become_ask(const ask_question *question, bool is_faulty, const ask_process *process)
{
  const char *environment[ASK_MAX_WORDS + 4] = {"SWA_JIT_NVRTC=" NVRTC_FAKE, "SWA_JIT_CUDA=/nonexistent/libcuda.so"};
  const char *arguments[ASK_MAX_WORDS + 2] = {ASK_PROGRAM};
  unsigned count = 2;
  if (is_faulty) {
    environment[count++] = "LD_PRELOAD=" FAULT_PRELOAD;
  }
  memcpy(environment + count, question->environment, question->num_environment * sizeof environment[0]);
  memcpy(arguments + 1, question->arguments, question->num_arguments * sizeof arguments[0]);
  if (dup2(process->answer_fd, STDOUT_FILENO) >= 0 && dup2(process->log_fd, STDERR_FILENO) >= 0) {
    execve(ASK_PROGRAM, (char *const *)arguments, (char *const *)environment);
  }
  _exit(99);
}

void ask_begin(const ask_question *question, bool is_faulty, ask_process *process_out)
{
  ask_process process = {.answer_fd = memfd_create("answer", MFD_CLOEXEC), .log_fd = memfd_create("log", MFD_CLOEXEC)};
  assert_true(process.answer_fd >= 0 && process.log_fd >= 0);
  process.pid = fork();
  assert_true(process.pid >= 0);
  if (process.pid == 0) {
    become_ask(question, is_faulty, &process);
  }
  *process_out = process;
}

static char *read_whole(int fd)
{
  struct stat status;
  assert_int_equal(fstat(fd, &status), 0);
  size_t count = (size_t)status.st_size;
  char *text = calloc(1, count + 1);
  assert_non_null(text);
  assert_int_equal(pread(fd, text, count, 0), count);
  close(fd);
  return text;
}

void ask_end(ask_process *process, ask_answer *answer_out)
{
  assert_int_equal(waitpid(process->pid, &answer_out->wait_status, 0), process->pid);
  answer_out->text = read_whole(process->answer_fd);
  answer_out->log = read_whole(process->log_fd);
}

void ask_run(const ask_question *question, bool is_faulty, ask_answer *answer_out)
{
  ask_process process;
  ask_begin(question, is_faulty, &process);
  ask_end(&process, answer_out);
}

void ask_answer_finish(ask_answer *answer)
{
  free(answer->text);
  free(answer->log);
  *answer = (ask_answer){0};
}

/* The start of the nth line that begins with text, or NULL. */
static const char *find_line(const char *lines, const char *text, unsigned nth)
{
  size_t length = strlen(text);
  for (const char *line = lines; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
    if (strncmp(line, text, length) == 0 && nth-- == 0) {
      return line;
    }
  }
  return NULL;
}

char *ask_answer_value(const ask_answer *answer, const char *name, unsigned nth)
{
  char beginning[64];
  snprintf(beginning, sizeof beginning, "%s=", name);
  const char *line = find_line(answer->text, beginning, nth);
  return line != NULL ? strndup(line + strlen(beginning), strcspn(line, "\n") - strlen(beginning)) : NULL;
}

unsigned ask_answer_count(const ask_answer *answer, const char *line)
{
  unsigned count = 0;
  size_t length = strlen(line);
  const char *found = NULL;
  for (unsigned nth = 0; (found = find_line(answer->text, line, nth)) != NULL; nth++) {
    count += found[length] == '\n' || found[length] == '\0';
  }
  return count;
}

bool ask_answer_has(const ask_answer *answer, const char *line)
{
  return ask_answer_count(answer, line) > 0;
}

void ask_answer_expect(const ask_answer *answer, const char *what, ...)
{
  bool is_good = WIFEXITED(answer->wait_status) && WEXITSTATUS(answer->wait_status) == 0;
  va_list lines;
  va_start(lines, what);
  for (const char *line = va_arg(lines, const char *); line != NULL; line = va_arg(lines, const char *)) {
    if (!ask_answer_has(answer, line)) {
      print_error("%s: no line \"%s\"\n", what, line);
      is_good = false;
    }
  }
  va_end(lines);
  if (!is_good) {
    print_error("%s: wait status %#x, and this answer:\n%s%s", what, (unsigned)answer->wait_status, answer->text,
                answer->log);
    fail();
  }
}
