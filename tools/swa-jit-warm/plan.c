/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "number.h"
#include "presets.h"

enum { MAX_JOBS = 4096, ELEMENT_SIZE = 64, MOST_TOKENS = 100000 /* that presets pick for */ };

static bool complain(const char *what, const char *why)
{
  fprintf(stderr, "%s: %s: %s\n", warm_cli.name, what, why);
  return false;
}

static bool add_job(warm_plan *plan, const warm_job *job)
{
  if (plan->num_jobs == MAX_JOBS) {
    return complain("too many configurations", "4096 are the most at once: use shorter lists");
  }
  if (plan->num_jobs == plan->capacity) {
    plan->capacity = plan->capacity != 0 ? 2 * plan->capacity : 64;
    plan->jobs = sj_memory_grow(plan->jobs, plan->capacity, sizeof *plan->jobs);
  }
  plan->jobs[plan->num_jobs++] = *job;
  return true;
}

static bool add_config(warm_plan *plan, const swa_jit_config *config, uint32_t picks_heads, bool is_demanded)
{
  const warm_job job = {
      .config = *config, .picks_heads = picks_heads, .is_demanded = is_demanded, .info = SWA_JIT_KERNEL_INFO_INIT};
  return add_job(plan, &job);
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

/* The configuration of a text, less what its lists are not meant for: of a merge all but arch, and extra_format where
 * there is no extra scope. */
static bool add_combination(warm_plan *plan, uint32_t picks_heads, const char *text)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_config usual = SWA_JIT_CONFIG_INIT;
  if (swa_jit_config_from_text(text, &config) != SWA_JIT_OK) {
    return complain(text, swa_jit_message());
  }
  if (config.kernel == SWA_JIT_KERNEL_MERGE) {
    usual.arch = config.arch;
    usual.kernel = config.kernel;
    config = usual;
    picks_heads = 0;
  }
  if (config.extra_size == 0) {
    config.extra_format = usual.extra_format;
  }
  return add_config(plan, &config, picks_heads, false);
}

/* Adds every combination of the lists from field on; text holds the fields before it. */
static bool add_product(warm_plan *plan, const char *const lists[WARM_NUM_FIELDS], uint32_t picks_heads, unsigned field,
                        const char *text)
{
  if (field == WARM_NUM_FIELDS) {
    return add_combination(plan, picks_heads, text);
  }
  if (lists[field] == NULL) {
    return add_product(plan, lists, picks_heads, field + 1, text);
  }
  char element[ELEMENT_SIZE];
  const char *at = lists[field];
  bool added = true;
  while (added && sj_list_next(&at, element, sizeof element)) {
    char *longer = sj_memory_format("%s %s=%s", text, warm_field_names[field], element);
    added = add_product(plan, lists, picks_heads, field + 1, longer);
    free(longer);
  }
  return added;
}

/* ---- presets ---------------------------------------------------------------------------------------------- */

static bool refuse_preset(const char *name)
{
  char option[ELEMENT_SIZE + 32];
  char known[512] = "";
  const char *last = "";
  size_t length = 0;
  const warm_shape *shape = NULL;
  for (unsigned i = 0; (shape = warm_shape_at(i)) != NULL && length < sizeof known; i++) {
    if (strcmp(shape->preset, last) != 0) {
      length +=
          (size_t)snprintf(known + length, sizeof known - length, "%s%s", i == 0 ? "use one of " : ", ", shape->preset);
    }
    last = shape->preset;
  }
  snprintf(option, sizeof option, "--preset is \"%.*s\"", ELEMENT_SIZE, name);
  return complain(option, known);
}

static bool add_shape(warm_plan *plan, const warm_options *options, const warm_shape *shape)
{
  uint32_t heads[WARM_NUM_PARALLEL];
  char format[ELEMENT_SIZE];
  const char *formats = options->lists[WARM_KV_FORMAT] != NULL ? options->lists[WARM_KV_FORMAT] : shape->kv_format;
  const char *lists[WARM_NUM_FIELDS];
  bool added = true;
  warm_shape_heads(shape, heads);
  memcpy(lists, options->lists, sizeof lists);
  while (added && sj_list_next(&formats, format, sizeof format)) {
    lists[WARM_KV_FORMAT] = format;
    lists[WARM_EXTRA_FORMAT] = strstr(shape->fields, "extra_size=") != NULL ? format : NULL;
    if (shape->num_heads == 0) {
      added = add_product(plan, lists, 0, 0, shape->fields);
    }
    for (int i = WARM_NUM_PARALLEL; i > 0 && added; i--) { /* fewest heads first */
      added = heads[i - 1] == 0 || add_product(plan, lists, heads[i - 1], 0, shape->fields);
    }
  }
  return added;
}

static bool add_preset(warm_plan *plan, const warm_options *options)
{
  bool is_known = false;
  const warm_shape *shape = NULL;
  for (unsigned i = 0; (shape = warm_shape_at(i)) != NULL; i++) {
    if (strcmp(shape->preset, options->preset) == 0) {
      is_known = true;
      if (!add_shape(plan, options, shape)) {
        return false;
      }
    }
  }
  return is_known || refuse_preset(options->preset);
}

/* ---- file ------------------------------------------------------------------------------------------------- */

static bool add_with_archs(warm_plan *plan, swa_jit_config *config, const char *archs)
{
  char element[ELEMENT_SIZE];
  if (archs == NULL) {
    return add_config(plan, config, 0, true);
  }
  while (sj_list_next(&archs, element, sizeof element)) {
    if (swa_jit_arch_from_name(element, &config->arch) != SWA_JIT_OK) {
      return complain("--arch", swa_jit_message());
    }
    if (!add_config(plan, config, 0, true)) {
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

void warm_job_fail(warm_job *job, swa_jit_status status)
{
  job->state = WARM_FAILED;
  job->reason = sj_memory_format("%s (%s)", swa_jit_message(), swa_jit_status_name(status));
}

/* ---- the plan --------------------------------------------------------------------------------------------- */

bool warm_plan_make(const warm_options *options, warm_plan *plan_out)
{
  warm_plan plan = {0};
  bool made = check_lists(options->lists);
  if (made) {
    made = options->from != NULL     ? add_file(&plan, options)
           : options->preset != NULL ? add_preset(&plan, options)
                                     : add_product(&plan, options->lists, 0, 0, "");
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

static bool is_held(const warm_plan *plan, const warm_job *wanted)
{
  for (size_t i = 0; i < plan->num_jobs; i++) {
    if (strcmp(plan->jobs[i].text, wanted->text) == 0) {
      return true;
    }
  }
  return false;
}

/* Adds a job with its text, unless an equal one is there. */
static bool settle_job(warm_plan *plan, const warm_job *wanted)
{
  warm_job job = *wanted;
  if (swa_jit_config_to_text(&job.config, job.text, sizeof job.text) != SWA_JIT_OK) {
    job.state = WARM_REFUSED;
  }
  if (is_held(plan, &job)) {
    return true;
  }
  if (job.state == WARM_REFUSED || swa_jit_config_check(&job.config, NULL) != SWA_JIT_OK) {
    job.state = WARM_REFUSED;
    job.reason = sj_memory_copy(swa_jit_message());
  }
  return add_job(plan, &job);
}

/* Whether a launch for so many tokens wants a kernel like this: one of splits wants more than one. */
static bool is_wanted(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads)
{
  uint32_t num_splits = 0;
  return config->splits == 0
         || (swa_jit_pick_splits(config, num_tokens, num_heads, 0, 0, &num_splits) == SWA_JIT_OK && num_splits > 1);
}

/* Every choice for any number of tokens; the configuration as it is where none fits, so that its refusal is told. */
static bool settle_picks(warm_plan *plan, const warm_job *open)
{
  warm_job job = *open;
  bool added = true;
  job.picks_heads = 0;
  for (uint32_t num_tokens = 1; num_tokens < MOST_TOKENS && added; num_tokens += 1 + num_tokens / 8) {
    swa_jit_status status = swa_jit_pick(num_tokens, open->picks_heads, 0, &job.config);
    if (status != SWA_JIT_OK || is_wanted(&job.config, num_tokens, open->picks_heads)) {
      added = settle_job(plan, &job);
    }
    if (status != SWA_JIT_OK) {
      break;
    }
  }
  return added;
}

bool warm_plan_settle(warm_plan *plan, swa_jit_lib *lib)
{
  uint32_t native = SWA_JIT_ARCH_NATIVE;
  warm_plan settled = {0};
  bool added = true;
  for (size_t i = 0; i < plan->num_jobs && added; i++) {
    warm_job job = plan->jobs[i];
    if (job.config.arch == SWA_JIT_ARCH_NATIVE && native == SWA_JIT_ARCH_NATIVE
        && swa_jit_arch_native(lib, &native) != SWA_JIT_OK) {
      added = complain("no device to take the architecture from, name it as in --arch sm_100a", swa_jit_message());
      break;
    }
    job.config.arch = job.config.arch == SWA_JIT_ARCH_NATIVE ? native : job.config.arch;
    added = job.picks_heads != 0 ? settle_picks(&settled, &job) : settle_job(&settled, &job);
  }
  if (!added) {
    warm_plan_finish(&settled);
    return false;
  }
  warm_plan_finish(plan);
  *plan = settled;
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
    free(plan->jobs[i].file_name);
  }
  free(plan->jobs);
  *plan = (warm_plan){0};
}
