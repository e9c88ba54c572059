/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_merge.h"
#include "kernel_machine.h"
#include "render.h"

static const char *const check_names[FAULT_NUM_CHECKS] = {
    "not caught", "the compiler", "race",         "uninitialised", "out of bounds",
    "misaligned", "deadlock",     "wrong result", "another check",
};

const char *fault_check_name(fault_check check)
{
  return check_names[check];
}

const char *fault_arch(const fault *f)
{
  return f->arch != NULL ? f->arch : "sm_100a";
}

/* ---- The change ------------------------------------------------------------------------------------------- */

static const sj_template_part *find_part(const char *name)
{
  char whole[128];
  (void)snprintf(whole, sizeof whole, "kernel_templates/%s", name);
  for (unsigned i = 0; i < sj_num_template_parts; i++) {
    if (strcmp(sj_template_parts[i].name, whole) == 0) {
      return &sj_template_parts[i];
    }
  }
  return NULL;
}

/* text with the one place of was exchanged for now; NULL: there is none, or another one. */
static char *exchange(const char *text, const char *was, const char *now)
{
  const char *at = strstr(text, was);
  if (at == NULL || strstr(at + 1, was) != NULL) {
    return NULL;
  }
  const size_t before = (size_t)(at - text), size = strlen(text) - strlen(was) + strlen(now) + 1;
  char *changed = malloc(size);
  if (changed != NULL) {
    (void)snprintf(changed, size, "%.*s%s%s", (int)before, text, now, at + strlen(was));
  }
  return changed;
}

/* A part as it stands in the rendered source; NULL: no memory, or a wrong marker. */
static char *render_part(const sj_template_part *part, const swa_jit_config *config, const sj_tile_plan *plan)
{
  sj_text text = {0};
  if (sj_render_part(part, config, plan, &text) != SWA_JIT_OK || text.failed) {
    sj_text_finish(&text);
    return NULL;
  }
  return sj_text_take(&text);
}

/* The source with the fault; NULL with the reason in message. */
static char *plant(const fault *f, kernel_machine *m, const swa_jit_config *config, const sj_tile_plan *plan,
                   const char *source)
{
  const sj_template_part *part = find_part(f->part);
  char *bytes = part == NULL ? NULL : exchange(part->bytes, f->was, f->now);
  if (bytes == NULL) {
    (void)snprintf(m->message, sizeof m->message,
                   "the text does not stand once in kernel_templates/%s: change the fault with it", f->part);
    return NULL;
  }
  const sj_template_part changed = {part->name, bytes, (unsigned)strlen(bytes)};
  char *good = render_part(part, config, plan), *bad = render_part(&changed, config, plan);
  char *planted = good == NULL || bad == NULL || strcmp(good, bad) == 0 ? NULL : exchange(source, good, bad);
  if (planted == NULL) {
    (void)snprintf(m->message, sizeof m->message, "the case's source does not have the text: choose another case");
  }
  free(bytes);
  free(good);
  free(bad);
  return planted;
}

/* kernel_machine's. */
static char *change(kernel_machine *m, const swa_jit_config *config, const sj_tile_plan *plan, char *source)
{
  char *planted = plant(m->change_data, m, config, plan, source);
  m->was_unsound = planted == NULL;
  free(source);
  return planted;
}

/* ---- What catches it -------------------------------------------------------------------------------------- */

static fault_check classify(const kernel_machine *m)
{
  static const struct {
    const char *words;
    fault_check check;
  } reports[] = {{"race:", FAULT_RACE},
                 {"uninitialised:", FAULT_UNINITIALISED},
                 {"and was never written", FAULT_UNINITIALISED},
                 {"out of bounds:", FAULT_BOUNDS},
                 {"misaligned:", FAULT_MISALIGNED},
                 {"deadlock", FAULT_DEADLOCK}};
  if (m->was_refused) {
    return FAULT_COMPILER;
  }
  if (!m->was_faulted) {
    return FAULT_RESULT;
  }
  for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
    if (strstr(m->message, reports[i].words) != NULL) {
      return reports[i].check;
    }
  }
  return FAULT_OTHER;
}

static decode_result run_decode(kernel_machine *m, const char *line, decode_verdict *verdict)
{
  const decode_device device = kernel_machine_device(m, 1);
  decode_case which;
  const char *bad = NULL;
  if (!decode_case_from_text(line, &which, &bad)) {
    (void)snprintf(m->message, sizeof m->message, "unreadable case at \"%s\"", bad);
    m->was_unsound = true;
    return DECODE_FAILED;
  }
  return decode_check(&device, &which, verdict);
}

fault_run fault_try(const fault *f, bool is_planted, unsigned long long seed, fault_outcome *outcome_out)
{
  kernel_machine m;
  decode_verdict verdict = {0};
  if (!kernel_machine_open(&m, fault_arch(f), seed, 1)) {
    (void)snprintf(outcome_out->message, sizeof outcome_out->message, "%.1500s", m.message);
    return FAULT_RUN_SKIPPED;
  }
  m.change = is_planted ? change : NULL;
  m.change_data = f;
  const decode_result result =
      strcmp(f->part, "swa_merge.cu") == 0 ? fault_run_merge(&m, f->line, &verdict) : run_decode(&m, f->line, &verdict);
  outcome_out->is_sound = !m.was_unsound && result != DECODE_REFUSED;
  outcome_out->check = result == DECODE_FAILED ? classify(&m) : FAULT_UNCAUGHT;
  const char *message = result == DECODE_PASSED                           ? ""
                        : m.was_refused || m.was_faulted || m.was_unsound ? m.message
                                                                          : verdict.fault;
  (void)snprintf(outcome_out->message, sizeof outcome_out->message, "%.1500s", message);
  kernel_machine_close(&m);
  return FAULT_RUN_DONE;
}
