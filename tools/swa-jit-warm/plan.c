/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "number.h"

enum { MAX_JOBS = 4096, ELEMENT_SIZE = 64 };

/* What swa_jit_pick chooses for head_dim 512, window 128 and 8 to 128 heads (a test walks it over this), and the
 * library's defaults. */
static const struct {
  const char *head_group, *kv_tile;
} deepseek_v4[] = {
    {"16", "16"}, {"8", "128"}, {"16", "128"}, {"32", "128"}, {"64", "128"}, {"128", "128"},
};

static bool complain(const char *what, const char *why)
{
  fprintf(stderr, "%s: %s: %s\n", warm_cli.name, what, why);
  return false;
}

static bool add_job(warm_plan *plan, const swa_jit_config *config, bool is_demanded)
{
  if (plan->num_jobs == MAX_JOBS) {
    return complain("too many configurations", "4096 are the most at once: use shorter lists");
  }
  if (plan->num_jobs == plan->capacity) {
    plan->capacity = plan->capacity != 0 ? 2 * plan->capacity : 64;
    plan->jobs = sj_memory_grow(plan->jobs, plan->capacity, sizeof *plan->jobs);
  }
  warm_job *job = &plan->jobs[plan->num_jobs++];
  *job = (warm_job){.config = *config, .is_demanded = is_demanded, .info = SWA_JIT_KERNEL_INFO_INIT};
  return true;
}

/* ---- lists ------------------------------------------------------------------------------------------------ */

/* A list's value through the library's own reader, so that names and limits are written once. */
static bool check_element(int field, const char *element)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[ELEMENT_SIZE + 32];
  char option[ELEMENT_SIZE + 32];
  snprintf(text, sizeof text, "%s=%s", warm_field_names[field], element);
  snprintf(option, sizeof option, "--%s", warm_option_name(field));
  if (strpbrk(element, " \t\r\n") != NULL) {
    return complain(option, "a blank stands in a value: part values by commas alone");
  }
  return swa_jit_config_from_text(text, &config) == SWA_JIT_OK || complain(option, swa_jit_message());
}

static bool check_lists(const char *const lists[WARM_NUM_FIELDS])
{
  char element[ELEMENT_SIZE];
  for (int i = 0; i < WARM_NUM_FIELDS; i++) {
    const char *at = lists[i];
    while (at != NULL && sj_list_next(&at, element, sizeof element)) {
      if (!check_element(i, element)) {
        return false;
      }
    }
  }
  return true;
}

/* The configuration of a text. Of a merge the other lists are not meant: combined with it they give the same one. */
static bool add_combination(warm_plan *plan, const char *text)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_config merge = SWA_JIT_CONFIG_INIT;
  if (swa_jit_config_from_text(text, &config) != SWA_JIT_OK) {
    return complain(text, swa_jit_message());
  }
  merge.arch = config.arch;
  merge.kernel = config.kernel;
  return add_job(plan, config.kernel == SWA_JIT_KERNEL_MERGE ? &merge : &config, false);
}

/* Adds every combination of the lists from field on; text holds the fields before it. */
static bool add_product(warm_plan *plan, const char *const lists[WARM_NUM_FIELDS], unsigned field, const char *text)
{
  if (field == WARM_NUM_FIELDS) {
    return add_combination(plan, text);
  }
  if (lists[field] == NULL) {
    return add_product(plan, lists, field + 1, text);
  }
  char element[ELEMENT_SIZE];
  const char *at = lists[field];
  bool added = true;
  while (added && sj_list_next(&at, element, sizeof element)) {
    char *longer = sj_memory_format("%s %s=%s", text, warm_field_names[field], element);
    added = add_product(plan, lists, field + 1, longer);
    free(longer);
  }
  return added;
}

static bool add_preset(warm_plan *plan, const warm_options *options)
{
  const char *lists[WARM_NUM_FIELDS];
  memcpy(lists, options->lists, sizeof lists);
  if (strcmp(options->preset, "deepseek-v4") != 0) {
    char option[ELEMENT_SIZE + 32];
    snprintf(option, sizeof option, "--preset is \"%.*s\"", ELEMENT_SIZE, options->preset);
    return complain(option, "there is one preset, deepseek-v4");
  }
  lists[WARM_HEAD_DIM] = "512";
  lists[WARM_WINDOW_SIZE] = "128";
  for (size_t i = 0; i < sizeof deepseek_v4 / sizeof deepseek_v4[0]; i++) {
    lists[WARM_HEAD_GROUP] = deepseek_v4[i].head_group;
    lists[WARM_KV_TILE] = deepseek_v4[i].kv_tile;
    if (!add_product(plan, lists, 0, "")) {
      return false;
    }
  }
  return true;
}

/* ---- file ------------------------------------------------------------------------------------------------- */

static bool add_with_archs(warm_plan *plan, swa_jit_config *config, const char *archs)
{
  char element[ELEMENT_SIZE];
  if (archs == NULL) {
    return add_job(plan, config, true);
  }
  while (sj_list_next(&archs, element, sizeof element)) {
    if (swa_jit_arch_from_name(element, &config->arch) != SWA_JIT_OK) {
      return complain("--arch", swa_jit_message());
    }
    if (!add_job(plan, config, true)) {
      return false;
    }
  }
  return true;
}

static bool add_line(warm_plan *plan, const warm_options *options, const char *line, size_t number)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  if (line[strspn(line, " \t")] == '\0') {
    return true;
  }
  if (swa_jit_config_from_text(line, &config) != SWA_JIT_OK) {
    fprintf(stderr, "%s: %s, line %zu: %s\n", warm_cli.name, options->from, number, swa_jit_message());
    return false;
  }
  return add_with_archs(plan, &config, options->lists[WARM_ARCH]);
}

static bool add_lines(warm_plan *plan, const warm_options *options, FILE *file)
{
  char *line = NULL;
  size_t size = 0;
  size_t number = 0;
  bool added = true;
  ssize_t length = 0;
  while (added && (length = getline(&line, &size, file)) >= 0) {
    number++;
    if (strlen(line) != (size_t)length) {
      added = complain(options->from, "holds a zero byte: it is no text file");
      continue;
    }
    line[strcspn(line, "#\r\n")] = '\0';
    added = add_line(plan, options, line, number);
  }
  if (added && ferror(file)) {
    added = complain(options->from, "cannot be read");
  }
  free(line);
  return added;
}

static bool add_file(warm_plan *plan, const warm_options *options)
{
  if (strcmp(options->from, "-") == 0) {
    return add_lines(plan, options, stdin);
  }
  FILE *file = fopen(options->from, "re");
  if (file == NULL) {
    return complain(options->from, strerror(errno));
  }
  bool added = add_lines(plan, options, file);
  fclose(file);
  return added;
}

/* ---- the plan --------------------------------------------------------------------------------------------- */

bool warm_plan_make(const warm_options *options, warm_plan *plan_out)
{
  warm_plan plan = {0};
  bool made = check_lists(options->lists);
  if (made) {
    made = options->from != NULL     ? add_file(&plan, options)
           : options->preset != NULL ? add_preset(&plan, options)
                                     : add_product(&plan, options->lists, 0, "");
  }
  if (made && plan.num_jobs == 0) {
    made = complain(options->from, "holds no configuration");
  }
  if (!made) {
    warm_plan_finish(&plan);
    return false;
  }
  *plan_out = plan;
  return true;
}

static warm_job *find_equal(warm_plan *plan, size_t num_jobs, const warm_job *wanted)
{
  for (size_t i = 0; i < num_jobs; i++) {
    if (strcmp(plan->jobs[i].text, wanted->text) == 0) {
      return &plan->jobs[i];
    }
  }
  return NULL;
}

static void settle_job(warm_job *job)
{
  if (swa_jit_config_to_text(&job->config, job->text, sizeof job->text) != SWA_JIT_OK
      || swa_jit_config_check(&job->config, NULL) != SWA_JIT_OK) {
    job->state = WARM_REFUSED;
    job->reason = sj_memory_copy(swa_jit_message());
  }
}

bool warm_plan_settle(warm_plan *plan, swa_jit_lib *lib)
{
  uint32_t native = SWA_JIT_ARCH_NATIVE;
  size_t kept = 0;
  for (size_t i = 0; i < plan->num_jobs; i++) {
    warm_job job = plan->jobs[i];
    if (job.config.arch == SWA_JIT_ARCH_NATIVE && native == SWA_JIT_ARCH_NATIVE
        && swa_jit_arch_native(lib, &native) != SWA_JIT_OK) {
      complain("no device to take the architecture from, name it as in --arch sm_100a", swa_jit_message());
      return false;
    }
    job.config.arch = job.config.arch == SWA_JIT_ARCH_NATIVE ? native : job.config.arch;
    settle_job(&job);
    warm_job *equal = find_equal(plan, kept, &job);
    if (equal == NULL) {
      plan->jobs[kept++] = job;
    } else {
      free(job.reason);
    }
  }
  plan->num_jobs = kept;
  return true;
}

size_t warm_plan_count(const warm_plan *plan, warm_state state)
{
  size_t count = 0;
  for (size_t i = 0; i < plan->num_jobs; i++) {
    count += plan->jobs[i].state == state;
  }
  return count;
}

bool warm_plan_is_good(const warm_plan *plan)
{
  bool is_good = warm_plan_count(plan, WARM_FAILED) == 0 && warm_plan_count(plan, WARM_REFUSED) < plan->num_jobs;
  for (size_t i = 0; i < plan->num_jobs; i++) {
    is_good = is_good && !(plan->jobs[i].state == WARM_REFUSED && plan->jobs[i].is_demanded);
  }
  return is_good;
}

void warm_plan_finish(warm_plan *plan)
{
  for (size_t i = 0; i < plan->num_jobs; i++) {
    free(plan->jobs[i].reason);
  }
  free(plan->jobs);
  *plan = (warm_plan){0};
}
