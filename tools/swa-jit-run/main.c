/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-run: options -> problem -> session (step -> verify -> print); or options -> write_pool. */
#include <signal.h>
#include <stdio.h>

#include "session.h"
#include "write_pool.h"

static int run(const run_options *options)
{
  run_problem problem;
  run_outcome made = run_problem_make(options, &problem);
  if (made != RUN_GOOD) {
    return (int)made;
  }
  int result = run_session(&problem, options);
  run_problem_finish(&problem);
  return result;
}

int main(int argc, char **argv)
{
  run_options options;
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow (ulimit -f) is told as any that cannot be written */
  sj_cli_outcome outcome = run_options_read(argc, argv, &options);
  if (outcome != SJ_CLI_RUN) {
    return outcome == SJ_CLI_SHOWN ? RUN_GOOD : RUN_WRONG_USE;
  }
  int result = options.mode == RUN_WRITE_POOL ? (int)run_write_pool(&options) : run(&options);
  if (fflush(stdout) != 0) {
    perror(run_cli.name);
    result = RUN_BAD;
  }
  return result;
}
