/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "print.h"

typedef struct warm_crew {
  warm_plan *plan;
  const warm_options *options;
  swa_jit_lib *lib;
  sj_progress *progress;
  _Atomic size_t next;
} warm_crew;

static bool make_folder(const char *path)
{
  if (path == NULL || mkdir(path, 0777) == 0 || errno == EEXIST) {
    return true;
  }
  fprintf(stderr, "%s: %s: cannot be made: %s\n", warm_cli.name, path, strerror(errno));
  return false;
}

bool warm_work_prepare(const warm_options *options)
{
  return make_folder(options->dump_source) && make_folder(options->dump_ptx);
}

static void fail(warm_job *job, char *reason)
{
  job->state = WARM_FAILED;
  job->reason = reason;
}

/* DIR/<entry's name with suffix in place of .cubin> */
static void write_dump(warm_job *job, const char *folder, const char *suffix, const char *text)
{
  const char *dot = strrchr(job->file_name, '.');
  int stem = dot != NULL ? (int)(dot - job->file_name) : (int)strlen(job->file_name);
  char *path = sj_memory_format("%s/%.*s%s", folder, stem, job->file_name, suffix);
  FILE *file = fopen(path, "we");
  bool written = file != NULL && fputs(text, file) >= 0 && fflush(file) == 0;
  int reason = errno;
  if (file != NULL && fclose(file) != 0 && written) {
    reason = errno;
    written = false;
  }
  if (!written) {
    fail(job, sj_memory_format("%s: cannot be written: %s", path, strerror(reason)));
  }
  free(path);
}

static void dump(const warm_crew *crew, warm_job *job)
{
  const char *text = NULL;
  swa_jit_status status = SWA_JIT_OK;
  if (crew->options->dump_source != NULL) {
    status = swa_jit_source(crew->lib, &job->config, &text);
    if (status != SWA_JIT_OK) {
      warm_job_fail(job, status);
      return;
    }
    write_dump(job, crew->options->dump_source, ".cu", text);
  }
  if (crew->options->dump_ptx != NULL && job->state != WARM_FAILED) {
    status = swa_jit_ptx(crew->lib, &job->config, &text);
    if (status != SWA_JIT_OK) {
      warm_job_fail(job, status);
      return;
    }
    write_dump(job, crew->options->dump_ptx, ".ptx", text);
  }
}

/* Whether the store holds a job's kernel; where it does not say, the job has failed. */
static bool is_held(swa_jit_lib *lib, warm_job *job)
{
  uint32_t held = 0;
  swa_jit_status status = swa_jit_store_has(lib, &job->config, &job->file_name, &held);
  if (status != SWA_JIT_OK) {
    warm_job_fail(job, status);
  }
  return held != 0;
}

void warm_work_check_store(warm_plan *plan, swa_jit_lib *lib)
{
  swa_jit_status store_status = swa_jit_store_check(lib);
  if (store_status == SWA_JIT_OK) {
    return;
  }
  char *reason = sj_memory_format("not compiled, as it could not be kept: %s (%s)", swa_jit_message(),
                                  swa_jit_status_name(store_status));
  for (size_t i = 0; i < plan->num_jobs; i++) {
    warm_job *job = &plan->jobs[i];
    if (job->state == WARM_WAITING && !is_held(lib, job) && job->state != WARM_FAILED) {
      fail(job, sj_memory_copy(reason));
    }
  }
  free(reason);
}

/* What was compiled must be found again: otherwise warming was in vain, whatever the reason. */
static void check_kept(const warm_crew *crew, warm_job *job)
{
  bool held = is_held(crew->lib, job);
  if (job->state == WARM_FAILED) {
    return;
  }
  if (job->info.store_status != SWA_JIT_OK) {
    fail(job, sj_memory_format("compiled, but the store could not keep it (%s): the warning says why",
                               swa_jit_status_name((swa_jit_status)job->info.store_status)));
  } else if (!held) {
    fail(job, sj_memory_copy("compiled, but no store keeps it: unset SWA_JIT_READ_ONLY if it is set, or name a folder "
                             "that can be written with --cache-dir"));
  }
}

static void get(const warm_crew *crew, warm_job *job)
{
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  swa_jit_status status = swa_jit_cubin_get(crew->lib, &job->config, &cubin, &cubin_bytes, &job->info);
  if (status != SWA_JIT_OK) {
    warm_job_fail(job, status);
    return;
  }
  job->file_name = job->info.file_name;
  job->state = job->info.origin == SWA_JIT_ORIGIN_COMPILED ? WARM_COMPILED : WARM_HIT;
  if (job->state == WARM_COMPILED) {
    check_kept(crew, job);
  }
  if (job->state != WARM_FAILED) {
    dump(crew, job);
  }
}

static void *run(void *argument)
{
  warm_crew *crew = argument;
  for (;;) {
    size_t index = atomic_fetch_add(&crew->next, 1);
    if (index >= crew->plan->num_jobs) {
      return NULL;
    }
    warm_job *job = &crew->plan->jobs[index];
    if (job->state == WARM_WAITING) {
      get(crew, job);
      char *line = warm_print_step(job);
      sj_progress_step(crew->progress, line);
      free(line);
    }
  }
}

void warm_work_compile(warm_plan *plan, const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  warm_crew crew = {.plan = plan, .options = options, .lib = lib, .progress = progress};
  size_t num_threads = options->jobs < plan->num_jobs ? (size_t)options->jobs : plan->num_jobs;
  pthread_t *threads = sj_memory_get(num_threads, sizeof *threads);
  size_t started = 0;
  /* This thread is one of them, so that work goes on where no other can be had. */
  while (started + 1 < num_threads && pthread_create(&threads[started], NULL, run, &crew) == 0) {
    started++;
  }
  run(&crew);
  for (size_t i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
  }
  free(threads);
}

void warm_work_look(warm_plan *plan, swa_jit_lib *lib)
{
  for (size_t i = 0; i < plan->num_jobs; i++) {
    warm_job *job = &plan->jobs[i];
    if (job->state == WARM_WAITING) {
      bool held = is_held(lib, job);
      job->state = job->state == WARM_FAILED ? WARM_FAILED : held ? WARM_HIT : WARM_MISSING;
    }
  }
}
