/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-run: options -> problem -> session (step -> verify -> print). */
#include <stdio.h>

#include "session.h"

int main(int argc, char **argv)
{
  run_options options;
  run_problem problem;
  sj_cli_outcome outcome = run_options_read(argc, argv, &options);
  if (outcome != SJ_CLI_RUN) {
    return outcome == SJ_CLI_SHOWN ? RUN_GOOD : RUN_WRONG_USE;
  }
  run_outcome made = run_problem_make(&options, &problem);
  if (made != RUN_GOOD) {
    return (int)made;
  }
  int result = run_session(&problem, &options);
  if (fflush(stdout) != 0) {
    perror(run_cli.name);
    result = RUN_BAD;
  }
  run_problem_finish(&problem);
  return result;
}
