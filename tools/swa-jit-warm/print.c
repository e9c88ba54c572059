/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "number.h"
#include "print_entries.h"
#include "table.h"

static const char *const state_names[] = {"waiting", "hit", "compiled", "missing", "refused", "failed", "stopped"};

void warm_print_short(const char *config_text, char text_out[512])
{
  char usual[256] = "";
  swa_jit_config config;
  swa_jit_config_init(&config);
  if (swa_jit_config_to_text(&config, usual, sizeof usual) != SWA_JIT_OK) {
    usual[0] = '\0'; /* every field differs then */
  }
  const unsigned last_shown = strstr(config_text, " kernel=merge") != NULL ? WARM_ARCH : WARM_WINDOW_SIZE;
  size_t length = 0;
  const char *at = config_text;
  text_out[0] = '\0';
  for (unsigned i = 0; *at != '\0'; i++) {
    size_t count = strcspn(at, " ");
    char field[256];
    snprintf(field, sizeof field, " %.*s", (int)count, at);
    const char *found = strstr(usual, field);
    bool is_usual = found != NULL && (found[count + 1] == ' ' || found[count + 1] == '\0');
    if (i <= last_shown || !is_usual) {
      length += (size_t)snprintf(text_out + length, 512 - length, "%s", i == 0 ? field + 1 : field);
    }
    at += count;
    at += strspn(at, " ");
  }
}

char *warm_print_step(const warm_job *job)
{
  char text[512] = "";
  warm_print_short(job->text, text);
  if (job->state == WARM_COMPILED) {
    return sj_memory_format("compiled %s in %.0f ms", text, (double)job->info.compile_ns * 1e-6);
  }
  return sj_memory_format("%s %s", state_names[job->state], text);
}

static bool has_kernel(const warm_job *job)
{
  return job->state == WARM_HIT || job->state == WARM_COMPILED;
}

/* One of ptxas's figures. */
static void add_figure(sj_table *table, const swa_jit_kernel_info *info, uint32_t figure)
{
  if (info->num_registers == 0) { /* only PTX was compiled */
    sj_table_add(table, "-");
  } else {
    sj_table_add(table, "%u", figure);
  }
}

static void add_row(sj_table *table, const warm_job *job)
{
  char text[512] = "";
  warm_print_short(job->text, text);
  sj_table_add(table, "%s", text);
  if (has_kernel(job)) {
    add_figure(table, &job->info, job->info.num_registers);
    sj_table_add(table, "%u", job->info.shared_memory_bytes);
    add_figure(table, &job->info, job->info.spill_store_bytes + job->info.spill_load_bytes);
    sj_table_add(table, "%.0f", (double)job->info.compile_ns * 1e-6);
    sj_table_add(table, "%llu", (unsigned long long)job->info.cubin_bytes);
  } else {
    for (int i = 0; i < 5; i++) {
      sj_table_add(table, "-");
    }
  }
  sj_table_add(table, "%s", state_names[job->state]);
}

void warm_print_table(const warm_plan *plan, double seconds)
{
  static const sj_column columns[] = {
      {"configuration", false}, {"registers", true},   {"shared bytes", true}, {"spill bytes", true},
      {"compile ms", true},     {"cubin bytes", true}, {"result", false},
  };
  sj_table table;
  sj_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (size_t i = 0; i < plan->num_jobs; i++) {
    add_row(&table, &plan->jobs[i]);
  }
  sj_table_print(&table, stdout);
  sj_table_finish(&table);
  printf("%zu configuration%s: %zu hit, %zu compiled, %zu refused, %zu failed", plan->num_jobs,
         sj_number_ending(plan->num_jobs), warm_plan_count(plan, WARM_HIT), warm_plan_count(plan, WARM_COMPILED),
         warm_plan_count(plan, WARM_REFUSED), warm_plan_count(plan, WARM_FAILED));
  if (warm_plan_count(plan, WARM_STOPPED) > 0) {
    printf(", %zu not done: the same command goes on", warm_plan_count(plan, WARM_STOPPED));
  }
  printf("; %.1f s\n", seconds);
}

void warm_print_dry_table(const warm_plan *plan)
{
  static const sj_column columns[] = {{"configuration", false}, {"result", false}, {"file", false}};
  sj_table table;
  sj_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (size_t i = 0; i < plan->num_jobs; i++) {
    const warm_job *job = &plan->jobs[i];
    char text[512] = "";
    warm_print_short(job->text, text);
    sj_table_add(&table, "%s", text);
    sj_table_add(&table, "%s", job->state == WARM_HIT ? "held" : state_names[job->state]);
    sj_table_add(&table, "%s", job->file_name != NULL ? job->file_name : "-");
  }
  sj_table_print(&table, stdout);
  sj_table_finish(&table);
  printf("%zu configuration%s: %zu held, %zu missing, %zu refused, %zu failed; dry run, nothing was compiled\n",
         plan->num_jobs, sj_number_ending(plan->num_jobs), warm_plan_count(plan, WARM_HIT),
         warm_plan_count(plan, WARM_MISSING), warm_plan_count(plan, WARM_REFUSED), warm_plan_count(plan, WARM_FAILED));
}

void warm_print_check(const warm_plan *plan)
{
  size_t num_missing = warm_plan_count(plan, WARM_MISSING);
  for (size_t i = 0; i < plan->num_jobs; i++) {
    if (plan->jobs[i].state == WARM_MISSING) {
      printf("%s\n", plan->jobs[i].text);
    }
  }
  printf("%s%zu of %zu configuration%s would have to be compiled%s\n", num_missing > 0 ? "# " : "", num_missing,
         plan->num_jobs, sj_number_ending(plan->num_jobs),
         num_missing > 0 ? ": the same command without --check does it" : "");
}

void warm_json_open_job(sj_json *json, const warm_job *job)
{
  sj_json_open(json, NULL, '{');
  sj_json_text(json, "configuration", job->text);
  sj_json_text(json, "result", state_names[job->state]);
  sj_json_text(json, "file", job->file_name);
  if (has_kernel(job) && job->info.num_threads != 0) { /* a dry run has looked no further than the name */
    sj_json_number(json, "registers", job->info.num_registers);
    sj_json_number(json, "threads", job->info.num_threads);
    sj_json_number(json, "shared_memory_bytes", job->info.shared_memory_bytes);
    sj_json_number(json, "spill_store_bytes", job->info.spill_store_bytes);
    sj_json_number(json, "spill_load_bytes", job->info.spill_load_bytes);
    sj_json_number(json, "compile_ns", job->info.compile_ns);
    sj_json_number(json, "get_ns", job->info.get_ns);
    sj_json_number(json, "cubin_bytes", job->info.cubin_bytes);
    sj_json_number(json, "nvrtc_version", job->info.nvrtc_version);
  }
  if (job->reason != NULL) {
    sj_json_text(json, "reason", job->reason);
  }
}

void warm_json_counts(sj_json *json, const warm_plan *plan)
{
  for (warm_state state = WARM_HIT; state <= WARM_STOPPED; state++) {
    sj_json_number(json, state_names[state], warm_plan_count(plan, state));
  }
}

void warm_print_json(const warm_plan *plan, warm_command command, double seconds)
{
  sj_json json = {.file = stdout};
  warm_json_begin(&json, warm_command_names[command]);
  sj_json_open(&json, "configurations", '[');
  for (size_t i = 0; i < plan->num_jobs; i++) {
    warm_json_open_job(&json, &plan->jobs[i]);
    sj_json_close(&json, '}');
  }
  sj_json_close(&json, ']');
  warm_json_counts(&json, plan);
  sj_json_real(&json, "seconds", seconds);
  sj_json_close(&json, '}');
}

/* Whether an earlier job told the same reason: one compiler error can fail them all. */
static bool is_told(const warm_plan *plan, size_t index)
{
  for (size_t i = 0; i < index; i++) {
    if (plan->jobs[i].reason != NULL && strcmp(plan->jobs[i].reason, plan->jobs[index].reason) == 0) {
      return true;
    }
  }
  return false;
}

void warm_print_reasons(const warm_plan *plan, bool is_quiet)
{
  for (size_t i = 0; i < plan->num_jobs; i++) {
    const warm_job *job = &plan->jobs[i];
    if (job->reason != NULL && (!is_quiet || job->state == WARM_FAILED || job->is_demanded)) {
      fprintf(stderr, "%s: %s: %s: %s\n", warm_cli.name, state_names[job->state], job->text,
              is_told(plan, i) ? "the same reason as above" : job->reason);
    }
  }
}
