/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-warm: options -> plan -> work -> print. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"
#include "work.h"

enum { EXIT_GOOD = 0, EXIT_SOME_FAILED = 1, EXIT_USAGE = 2 };

/* Warnings of the library. Its errors are not repeated: the calls that failed tell them. */
static void print_log(void *log_data, uint32_t level, const char *line)
{
  if (level == SWA_JIT_LOG_WARN) {
    char *text = sj_memory_format("%s: warning: %s", warm_cli.name, line);
    sj_progress_line(log_data, text);
    free(text);
  }
}

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A dry run creates no folder: one that is missing holds nothing. */
static uint32_t dry_run_flags(const warm_options *options)
{
  bool is_missing = options->cache_dir != NULL && access(options->cache_dir, F_OK) != 0 && errno == ENOENT;
  return is_missing ? SWA_JIT_FLAG_NO_STORE : SWA_JIT_FLAG_READ_ONLY;
}

static bool open_library(const warm_options *options, sj_progress *progress, swa_jit_lib **lib_out)
{
  swa_jit_options wanted = SWA_JIT_OPTIONS_INIT;
  wanted.flags = options->dry_run ? dry_run_flags(options) : 0;
  wanted.log_level = SWA_JIT_LOG_WARN;
  wanted.log = print_log;
  wanted.log_data = progress;
  wanted.cache_dir = options->cache_dir;
  if (options->cache_dir != NULL && !options->dry_run) { /* a layer is whole by itself, and for every user */
    wanted.flags |= SWA_JIT_FLAG_ALL_READ;
    wanted.cache_path = "";
  }
  wanted.nvrtc_path = options->nvrtc;
  swa_jit_status status = swa_jit_open(&wanted, lib_out);
  if (status != SWA_JIT_OK) {
    fprintf(stderr, "%s: %s (%s)\n", warm_cli.name, swa_jit_message(), swa_jit_status_name(status));
  }
  return status == SWA_JIT_OK;
}

static int work(warm_plan *plan, const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  double start = now();
  if (!warm_plan_settle(plan, lib)) {
    return EXIT_SOME_FAILED;
  }
  if (!options->dry_run) {
    warm_work_check_store(plan, lib);
  }
  progress->total = warm_plan_count(plan, WARM_WAITING);
  if (options->dry_run) {
    warm_work_look(plan, lib);
  } else {
    warm_work_compile(plan, options, lib, progress);
  }
  sj_progress_clear(progress);
  if (options->json) {
    warm_print_json(plan, now() - start);
  } else if (!options->quiet && options->dry_run) {
    warm_print_dry_table(plan);
  } else if (!options->quiet) {
    warm_print_table(plan, now() - start);
  }
  warm_print_reasons(plan, options->quiet);
  return warm_plan_is_good(plan) ? EXIT_GOOD : EXIT_SOME_FAILED;
}

int main(int argc, char **argv)
{
  warm_options options;
  warm_plan plan;
  sj_progress progress;
  swa_jit_lib *lib = NULL;
  sj_cli_outcome outcome = warm_options_read(argc, argv, &options);
  if (outcome != SJ_CLI_RUN) {
    return outcome == SJ_CLI_SHOWN ? EXIT_GOOD : EXIT_USAGE;
  }
  if (!warm_plan_make(&options, &plan)) {
    return EXIT_USAGE;
  }
  sj_progress_init(&progress, stderr, options.quiet, plan.num_jobs);
  int status = EXIT_SOME_FAILED;
  if (warm_work_prepare(&options) && open_library(&options, &progress, &lib)) {
    status = work(&plan, &options, lib, &progress);
  }
  if (fflush(stdout) != 0) {
    perror(warm_cli.name);
    status = EXIT_SOME_FAILED;
  }
  warm_plan_finish(&plan);
  swa_jit_close(&lib);
  sj_progress_finish(&progress);
  return status;
}
