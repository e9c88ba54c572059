/* SPDX-License-Identifier: Apache-2.0 */
/* The program ask as a process of its own: begun with an environment of its own, ended, and its answer read. The
 * stand-in for libnvrtc compiles for it. */
#ifndef SJ_ASK_PROCESS_H
#define SJ_ASK_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

enum { ASK_MAX_WORDS = 160 };

/* What to ask: "NAME=value" for the environment, which holds nothing else that the library reads, and ask's arguments.
 * The words are the caller's, and must live until ask_begin returns. */
typedef struct ask_question {
  const char *environment[ASK_MAX_WORDS];
  unsigned num_environment;
  const char *arguments[ASK_MAX_WORDS];
  unsigned num_arguments;
} ask_question;

typedef struct ask_process {
  pid_t pid;
  int answer_fd, log_fd;
} ask_process;

typedef struct ask_answer {
  int wait_status; /* waitpid's */
  char *text;      /* name=value lines */
  char *log;
} ask_answer;

void ask_add_environment(ask_question *question, const char *word);
void ask_add_argument(ask_question *question, const char *word);

/* They fail the test when the system fails. is_faulty: under fault-preload.so. */
void ask_begin(const ask_question *question, bool is_faulty, ask_process *process_out);
void ask_end(ask_process *process, ask_answer *answer_out);
void ask_run(const ask_question *question, bool is_faulty, ask_answer *answer_out);
void ask_answer_finish(ask_answer *answer);

/* The value of the nth (from 0) line of that name, malloc'd; NULL when there are fewer. */
char *ask_answer_value(const ask_answer *answer, const char *name, unsigned nth);

/* Whether the answer has this line, and how many it has. */
bool ask_answer_has(const ask_answer *answer, const char *line);
unsigned ask_answer_count(const ask_answer *answer, const char *line);

/* Fails the test, and shows the answer, unless the process ended with 0 and its answer has every line; the list ends
 * with NULL. */
void ask_answer_expect(const ask_answer *answer, const char *what, ...) __attribute__((sentinel));

#endif
