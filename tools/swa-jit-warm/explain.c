/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#include "key_text.h"
#include "number.h"
#include "print.h"
#include "print_entries.h"

/* Why the store does not give a configuration's kernel. */
typedef struct warm_miss {
  const swa_jit_entry *own;     /* a file of the very name is there, and cannot be used; else NULL */
  const swa_jit_entry *failure; /* a compile of it failed, and that counts still; else NULL */
  const swa_jit_entry *nearest; /* NULL: there is none of this kernel */
  const char *key_text;
  size_t num_compared;
} warm_miss;

/* Both names begin with the kernel's, "swa_decode-". */
static bool is_same_kernel(const swa_jit_entry *entry, const char *name)
{
  const size_t length = strcspn(name, "-") + 1;
  return strncmp(entry->name, name, length) == 0;
}

static warm_miss find_miss(const warm_entries *entries, const char *name, const char *key_text)
{
  warm_miss found = {.key_text = key_text};
  unsigned least = UINT_MAX;
  found.failure = warm_entries_find_failure(entries, name);
  if (found.failure != NULL && found.failure->expires_s == 0) {
    found.failure = NULL;
  }
  for (size_t i = 0; i < entries->count; i++) {
    const swa_jit_entry *entry = &entries->entries[i];
    if (strcmp(entry->name, name) == 0) {
      found.own = entry;
      continue;
    }
    if (entry->state != SWA_JIT_ENTRY_USABLE || !is_same_kernel(entry, name)) {
      continue;
    }
    const unsigned count = warm_key_compare(entry->key_text, key_text, NULL, NULL);
    found.num_compared++;
    if (count < least) {
      least = count;
      found.nearest = entry;
    }
  }
  return found;
}

/* Why a file of the right name does not serve. A listing finds less than a hit's check. */
static const char *own_reason(const warm_job *job, const swa_jit_entry *own)
{
  return job->lacks_ptx           ? "its PTX is not kept"
         : own->reason[0] != '\0' ? own->reason
                                  : "it is damaged, made by another compiler, or came just now; see --verify";
}

/* ---- text ------------------------------------------------------------------------------------------------- */

static void print_difference(void *data, const char *name, const char *stored, const char *wanted)
{
  (void)data;
  if (strcmp(name, "source") == 0) {
    printf("  differs in the template alone: that entry is of another release\n");
    return;
  }
  printf("  %s: %s is there, %s is asked for\n", name, stored != NULL ? stored : "none",
         wanted != NULL ? wanted : "none");
}

static void print_miss(const warm_job *job, const warm_miss *miss)
{
  char text[512];
  warm_print_short(job->text, text);
  printf("missing: %s\n", text);
  if (miss->failure != NULL) {
    char remainder[WARM_REMAINDER_SIZE];
    warm_write_remainder(miss->failure, time(NULL), remainder);
    printf("  its compile failed, and is %s with NVRTC %u.%u; --show \"%s\" has the log\n", remainder,
           miss->failure->nvrtc_version / 1000, miss->failure->nvrtc_version % 1000 / 10, miss->failure->name);
  }
  if (miss->own != NULL) {
    printf("  its entry is there and does not serve: %s\n", own_reason(job, miss->own));
  } else if (miss->nearest == NULL) {
    printf("  the store holds no entry of this kernel\n");
  } else {
    printf("  nearest of %zu: %s\n", miss->num_compared, miss->nearest->name);
    warm_key_compare(miss->nearest->key_text, miss->key_text, print_difference, NULL);
  }
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void json_difference(void *data, const char *name, const char *stored, const char *wanted)
{
  sj_json *json = data;
  sj_json_open(json, NULL, '{');
  sj_json_text(json, "field", name);
  sj_json_text(json, "stored", stored);
  sj_json_text(json, "wanted", wanted);
  sj_json_close(json, '}');
}

static void json_miss(sj_json *json, const warm_job *job, const warm_miss *miss)
{
  if (miss->failure != NULL) {
    sj_json_text(json, "failure", miss->failure->reason);
  }
  if (miss->own != NULL) {
    sj_json_text(json, "unusable", own_reason(job, miss->own));
  }
  if (miss->nearest == NULL) {
    sj_json_text(json, "nearest", NULL);
    return;
  }
  sj_json_open(json, "nearest", '{');
  warm_json_entry(json, miss->nearest);
  sj_json_open(json, "differences", '[');
  warm_key_compare(miss->nearest->key_text, miss->key_text, json_difference, json);
  sj_json_close(json, ']');
  sj_json_close(json, '}');
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

/* Of each missing job its key is asked for: a job that has none has failed. */
static const char *get_key(swa_jit_lib *lib, warm_job *job)
{
  const char *key_text = NULL;
  swa_jit_status status = swa_jit_key_text(lib, &job->config, &key_text);
  if (status != SWA_JIT_OK) {
    warm_job_fail(job, status);
  }
  return key_text;
}

static void print_job(sj_json *json, const warm_entries *entries, swa_jit_lib *lib, warm_job *job)
{
  const char *key_text = job->state == WARM_MISSING ? get_key(lib, job) : NULL;
  warm_miss found = {0};
  if (key_text != NULL) {
    found = find_miss(entries, job->file_name, key_text);
  }
  if (json != NULL) {
    warm_json_open_job(json, job);
    if (key_text != NULL) {
      json_miss(json, job, &found);
    }
    sj_json_close(json, '}');
  } else if (key_text != NULL) {
    print_miss(job, &found);
  }
}

/* A folder that is not there holds nothing, which the answer says. */
static bool read_entries(swa_jit_lib *lib, warm_entries *entries_out)
{
  const swa_jit_store_info info = warm_store_info(lib);
  if (info.state == SWA_JIT_STORE_MISSING && info.num_layers == 0) {
    *entries_out = (warm_entries){0};
    return true;
  }
  return warm_entries_read(lib, 0, NULL, entries_out);
}

int warm_explain(warm_plan *plan, const warm_options *options, swa_jit_lib *lib)
{
  warm_entries entries;
  sj_json json = {.file = stdout};
  if (!read_entries(lib, &entries)) {
    return WARM_EXIT_FAILED;
  }
  if (options->json) {
    warm_json_begin(&json, warm_command_names[WARM_EXPLAIN]);
    sj_json_open(&json, "configurations", '[');
  }
  for (size_t i = 0; i < plan->num_jobs; i++) {
    print_job(options->json ? &json : NULL, &entries, lib, &plan->jobs[i]);
  }
  if (options->json) {
    sj_json_close(&json, ']');
    warm_json_counts(&json, plan);
    sj_json_close(&json, '}');
  } else {
    printf("%zu configuration%s: %zu held, %zu missing, %zu refused, %zu failed\n", plan->num_jobs,
           sj_number_ending(plan->num_jobs), warm_plan_count(plan, WARM_HIT), warm_plan_count(plan, WARM_MISSING),
           warm_plan_count(plan, WARM_REFUSED), warm_plan_count(plan, WARM_FAILED));
  }
  warm_entries_finish(&entries);
  return warm_plan_is_good(plan) ? WARM_EXIT_GOOD : WARM_EXIT_FAILED;
}
