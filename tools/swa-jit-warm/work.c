/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "crew.h"
#include "entries.h"
#include "memory.h"
#include "print.h"
#include "stop.h"

typedef struct warm_task {
  warm_plan *plan;
  const warm_options *options;
  swa_jit_lib *lib;
  sj_progress *progress;
} warm_task;

/* What a worker process answers, and behind it the texts, each with its zero; an empty one stands for NULL. */
typedef struct warm_reply {
  warm_state state;
  swa_jit_kernel_info info;
  size_t file_name_size, reason_size;
} warm_reply;

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

/* name: the library's. */
static void set_file_name(warm_job *job, const char *name)
{
  free(job->file_name);
  job->file_name = sj_memory_copy(name);
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

static void dump(const warm_task *task, warm_job *job)
{
  const char *text = NULL;
  swa_jit_status status = SWA_JIT_OK;
  if (task->options->dump_source != NULL) {
    status = swa_jit_source(task->lib, &job->config, &text);
    if (status != SWA_JIT_OK) {
      warm_job_fail(job, status);
      return;
    }
    write_dump(job, task->options->dump_source, ".cu", text);
  }
  if (task->options->dump_ptx != NULL && job->state != WARM_FAILED) {
    status = swa_jit_ptx(task->lib, &job->config, &text);
    if (status != SWA_JIT_OK) {
      warm_job_fail(job, status);
      return;
    }
    write_dump(job, task->options->dump_ptx, ".ptx", text);
  }
}

/* Whether PTX is kept beside cubins, by the option or the environment. */
static bool keeps_ptx(swa_jit_lib *lib)
{
  return (warm_store_info(lib).flags & (SWA_JIT_FLAG_KEEP_PTX | SWA_JIT_FLAG_USE_PTX)) == SWA_JIT_FLAG_KEEP_PTX;
}

/* Whether the store holds a job's kernel, with its PTX where that is kept. Where it does not say the job has failed. */
static bool is_held(swa_jit_lib *lib, warm_job *job)
{
  uint32_t held = 0;
  const char *name = NULL;
  swa_jit_status status = swa_jit_store_has(lib, &job->config, &name, &held);
  if (status != SWA_JIT_OK) {
    warm_job_fail(job, status);
    return false;
  }
  set_file_name(job, name);
  job->lacks_ptx = false;
  if (held != 0 && keeps_ptx(lib)) {
    status = swa_jit_store_has_ptx(lib, &job->config, &held);
    job->lacks_ptx = held == 0;
  }
  if (status != SWA_JIT_OK) {
    warm_job_fail(job, status);
  }
  return status == SWA_JIT_OK && held != 0;
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
static void check_kept(const warm_task *task, warm_job *job)
{
  bool held = is_held(task->lib, job);
  if (job->state == WARM_FAILED) {
    return;
  }
  if (job->info.store_status != SWA_JIT_OK) {
    fail(job, sj_memory_format("compiled, but the store could not keep it (%s): the warning says why",
                               swa_jit_status_name((swa_jit_status)job->info.store_status)));
  } else if (!held) {
    fail(job,
         job->lacks_ptx
             ? sj_memory_copy("compiled, but its PTX is not kept: the warning says why")
             : sj_memory_copy("compiled, but no store keeps it: unset SWA_JIT_READ_ONLY if it is set, or name a folder "
                              "that can be written with --cache-dir"));
  }
}

/* Of a kernel that the store holds: its PTX, where it is not kept yet. */
static void add_ptx(const warm_task *task, warm_job *job)
{
  const char *ptx = NULL;
  if (is_held(task->lib, job) || job->state == WARM_FAILED) {
    return;
  }
  swa_jit_status status = swa_jit_ptx(task->lib, &job->config, &ptx);
  if (status != SWA_JIT_OK) {
    warm_job_fail(job, status);
    return;
  }
  job->state = WARM_COMPILED;
}

static void get(const warm_task *task, warm_job *job)
{
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  swa_jit_status status = swa_jit_cubin_get(task->lib, &job->config, &cubin, &cubin_bytes, &job->info);
  if (status != SWA_JIT_OK) {
    warm_job_fail(job, status);
    return;
  }
  set_file_name(job, job->info.file_name);
  job->state = job->info.origin == SWA_JIT_ORIGIN_COMPILED ? WARM_COMPILED : WARM_HIT;
  if (job->state == WARM_HIT && keeps_ptx(task->lib)) {
    add_ptx(task, job);
  }
  if (job->state == WARM_COMPILED) {
    check_kept(task, job);
  }
  if (job->state != WARM_FAILED) {
    dump(task, job);
  }
}

/* ---- by worker processes ---------------------------------------------------------------------------------- */

/* A text behind the reply, cut where there is no room; returns its bytes with the zero. */
static size_t add_text(char *bytes, size_t at, const char *text)
{
  return (size_t)snprintf(bytes + at, WARM_REPLY_SIZE - at, "%s", text != NULL ? text : "") + 1;
}

static size_t work(void *data, size_t piece, void *reply)
{
  const warm_task *task = data;
  warm_job *job = &task->plan->jobs[piece];
  char *bytes = reply;
  get(task, job);
  warm_reply head = {.state = job->state, .info = job->info};
  head.info.file_name = head.info.key_text = head.info.miss_reason = NULL;
  size_t at = sizeof head;
  head.file_name_size = add_text(bytes, at, job->file_name);
  at += head.file_name_size;
  head.reason_size = add_text(bytes, at, job->reason);
  if (head.reason_size > WARM_REPLY_SIZE - at) {
    head.reason_size = WARM_REPLY_SIZE - at;
  }
  memcpy(bytes, &head, sizeof head);
  return at + head.reason_size;
}

static void tell(const warm_task *task, const warm_job *job)
{
  char *line = warm_print_step(job);
  sj_progress_step(task->progress, line);
  free(line);
}

static void take_reply(void *data, size_t piece, const void *reply, size_t reply_bytes)
{
  const warm_task *task = data;
  warm_job *job = &task->plan->jobs[piece];
  warm_reply head;
  (void)reply_bytes;
  memcpy(&head, reply, sizeof head);
  const char *file_name = (const char *)reply + sizeof head;
  const char *reason = file_name + head.file_name_size;
  char *kept_reason = *reason != '\0' ? sj_memory_copy(reason) : NULL;
  free(job->reason);
  job->reason = kept_reason;
  job->state = head.state;
  job->info = head.info;
  if (*file_name != '\0') {
    set_file_name(job, file_name);
  }
  tell(task, job);
}

static void take_death(void *data, size_t piece, const char *why)
{
  const warm_task *task = data;
  warm_job *job = &task->plan->jobs[piece];
  fail(job, sj_memory_format("%s: is memory short? The others go on; try it again with --jobs 1", why));
  tell(task, job);
}

static void tell_stop(void *data, size_t num_under_way)
{
  const warm_task *task = data;
  char *line = sj_memory_format("%s: stopping: %zu under way %s finished first; a second signal stops at once",
                                warm_cli.name, num_under_way, num_under_way == 1 ? "is" : "are");
  if (num_under_way > 0) {
    sj_progress_line(task->progress, line);
  }
  free(line);
}

void warm_work_compile(warm_plan *plan, const warm_options *options, swa_jit_lib *lib, sj_progress *progress)
{
  static const warm_crew_calls calls = {
      .work = work, .take_reply = take_reply, .take_death = take_death, .tell_stop = tell_stop};
  warm_task task = {.plan = plan, .options = options, .lib = lib, .progress = progress};
  size_t *pieces = sj_memory_get(plan->num_jobs, sizeof *pieces);
  size_t num_pieces = 0;
  for (size_t i = 0; i < plan->num_jobs; i++) {
    if (plan->jobs[i].state == WARM_WAITING) {
      pieces[num_pieces++] = i;
    }
  }
  warm_stop_begin();
  warm_crew_run((size_t)options->jobs, pieces, num_pieces, &calls, &task);
  for (size_t i = 0; i < plan->num_jobs; i++) {
    warm_job *job = &plan->jobs[i];
    job->state = job->state == WARM_WAITING ? WARM_STOPPED : job->state;
  }
  free(pieces);
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
