/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-warm: options -> plan -> work -> print; or options -> the store -> print. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "explain.h"
#include "inspect.h"
#include "memory.h"
#include "print.h"
#include "prune.h"
#include "stop.h"
#include "transfer.h"
#include "work.h"

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

/* Whether a command writes to the store. */
static bool is_writing(const warm_options *options)
{
  switch (options->command) {
  case WARM_COMPILE:
    return true;
  case WARM_PRUNE:
  case WARM_IMPORT:
    return !options->dry_run;
  default:
    return options->set_aside;
  }
}

/* Whether a command asks what a program would find, in the read-only folders of the environment too. */
static bool is_asking(const warm_options *options)
{
  return options->command == WARM_DRY_RUN || options->command == WARM_CHECK || options->command == WARM_EXPLAIN;
}

/* What puts nothing into the store makes no folder. For who asks what would be done a missing one holds nothing; who
 * asks what is in it is told. */
static void choose_folder(const warm_options *options, swa_jit_options *wanted)
{
  const bool is_filling = options->command == WARM_COMPILE || (options->command == WARM_IMPORT && !options->dry_run);
  wanted->cache_dir = options->cache_dir;
  wanted->flags |= is_writing(options) ? 0 : SWA_JIT_FLAG_READ_ONLY;
  wanted->flags |= is_filling ? 0 : SWA_JIT_FLAG_NO_CREATE;
  if (options->cache_dir != NULL && !is_asking(options)) { /* a layer is whole by itself, and for every user */
    wanted->flags |= SWA_JIT_FLAG_ALL_READ;
    wanted->cache_path = "";
  }
}

static bool open_library(const warm_options *options, sj_progress *progress, swa_jit_lib **lib_out)
{
  swa_jit_options wanted = SWA_JIT_OPTIONS_INIT;
  choose_folder(options, &wanted);
  wanted.flags |= options->keep_ptx ? SWA_JIT_FLAG_KEEP_PTX : 0;
  wanted.log_level = SWA_JIT_LOG_WARN;
  wanted.log = print_log;
  wanted.log_data = progress;
  wanted.nvrtc_path = options->nvrtc;
  swa_jit_status status = swa_jit_open(&wanted, lib_out);
  if (status != SWA_JIT_OK) {
    fprintf(stderr, "%s: %s (%s)\n", warm_cli.name, swa_jit_message(), swa_jit_status_name(status));
  }
  return status == SWA_JIT_OK;
}

/* ---- commands about configurations ------------------------------------------------------------------------ */

static void print_plan(const warm_plan *plan, const warm_options *options, double seconds)
{
  if (options->json) {
    warm_print_json(plan, options->command, seconds);
  } else if (options->command == WARM_CHECK) {
    warm_print_check(plan);
  } else if (!options->quiet && options->command == WARM_DRY_RUN) {
    warm_print_dry_table(plan);
  } else if (!options->quiet) {
    warm_print_table(plan, seconds);
  }
}

static int work(warm_plan *plan, const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  double start = now();
  if (!warm_plan_settle(plan, lib)) {
    return WARM_EXIT_FAILED;
  }
  if (options->command == WARM_COMPILE) {
    warm_work_check_store(plan, lib);
    progress->total = warm_plan_count(plan, WARM_WAITING);
    warm_work_compile(plan, options, lib, progress);
  } else {
    warm_work_look(plan, lib);
  }
  sj_progress_clear(progress);
  int status = warm_plan_is_good(plan) ? WARM_EXIT_GOOD : WARM_EXIT_FAILED;
  if (options->command == WARM_EXPLAIN) {
    status = warm_explain(plan, options, lib);
  } else {
    print_plan(plan, options, now() - start);
  }
  warm_print_reasons(plan, options->quiet);
  if (warm_plan_count(plan, WARM_STOPPED) > 0) {
    return WARM_EXIT_SIGNAL + warm_stop_signal();
  }
  bool is_incomplete = options->command == WARM_CHECK && warm_plan_count(plan, WARM_MISSING) > 0;
  return status == WARM_EXIT_GOOD && is_incomplete ? WARM_EXIT_ABSENT : status;
}

static int run_on_configurations(const warm_options *options)
{
  warm_plan plan;
  sj_progress progress;
  swa_jit_lib *lib = NULL;
  int status = WARM_EXIT_FAILED;
  if (!warm_plan_make(options, &plan)) {
    return WARM_EXIT_USAGE;
  }
  sj_progress_init(&progress, stderr, options->quiet, plan.num_jobs);
  bool is_ready = options->command != WARM_COMPILE || warm_work_prepare(options);
  if (is_ready && open_library(options, &progress, &lib)) {
    status = work(&plan, options, lib, &progress);
  }
  warm_plan_finish(&plan);
  swa_jit_close(&lib);
  sj_progress_finish(&progress);
  return status;
}

/* ---- commands about the store ----------------------------------------------------------------------------- */

static int run_store_command(const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  switch (options->command) {
  case WARM_LIST:
    return warm_list(options, lib);
  case WARM_VERIFY:
    return warm_verify(options, lib, progress);
  case WARM_SHOW:
    return warm_show(options, lib);
  case WARM_PRUNE:
    return warm_prune(options, lib);
  case WARM_EXPORT:
    return warm_export(options, lib, progress);
  default:
    return warm_import(options, lib, progress);
  }
}

static int run_on_store(const warm_options *options)
{
  sj_progress progress;
  swa_jit_lib *lib = NULL;
  int status = WARM_EXIT_FAILED;
  sj_progress_init(&progress, stderr, options->quiet, 0);
  if (open_library(options, &progress, &lib)) {
    status = run_store_command(options, lib, &progress);
  }
  swa_jit_close(&lib);
  sj_progress_finish(&progress);
  return status;
}

int main(int argc, char **argv)
{
  warm_options options;
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow (ulimit -f) is told as any that cannot be written */
  sj_cli_outcome outcome = warm_options_read(argc, argv, &options);
  if (outcome != SJ_CLI_RUN) {
    return outcome == SJ_CLI_SHOWN ? WARM_EXIT_GOOD : WARM_EXIT_USAGE;
  }
  int status = options.command >= WARM_LIST ? run_on_store(&options) : run_on_configurations(&options);
  if (fflush(stdout) != 0) {
    perror(warm_cli.name);
    status = WARM_EXIT_FAILED;
  }
  return status;
}
