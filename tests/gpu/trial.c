/* SPDX-License-Identifier: Apache-2.0 */
#include "trial.h"

#include <stdio.h>
#include <string.h>

/* A text of the checks themselves is always readable: test_decode's grids are; a wrong one fails the check here. */
bool trial_make(gpu *g, const char *text, trial *out)
{
  decode_case which;
  const char *bad;

  memset(out, 0, sizeof *out);
  if (!decode_case_from_text(text, &which, &bad)) {
    (void)snprintf(g->message, sizeof g->message, "unreadable case at '%s'", bad);
    return false;
  }
  if (!decode_data_make(&which, &out->data)) {
    (void)snprintf(g->message, sizeof g->message, "no host memory");
    return false;
  }
  if (!decode_problem_make(&g->table, &out->data, &out->problem)) {
    decode_data_free(&out->data);
    return false;
  }
  return true;
}

void trial_free(trial *t)
{
  if (t->problem.device != NULL) {
    decode_problem_free(&t->problem);
  }
  decode_data_free(&t->data);
}

bool trial_poison(gpu *g, trial *t)
{
  static const enum decode_tensor written[] = {DECODE_OUT, DECODE_LSE};

  for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
    decode_buffer *buffer = &t->data.tensors[written[i]];

    memset(buffer->bytes, DECODE_POISON, buffer->size);
    if (!g->table.write(g, t->problem.addresses[written[i]], buffer->bytes, buffer->size)) {
      return false;
    }
  }
  return true;
}

decode_result trial_judge(gpu *g, trial *t, decode_verdict *verdict)
{
  if (!decode_problem_read(&t->problem, &t->data)) {
    return gpu_fail(verdict, g->message);
  }
  if (!decode_judge(&t->data, g->table.num_threads, verdict)) {
    return gpu_fail(verdict, "no host memory");
  }
  return verdict->num_faults == 0 ? DECODE_PASSED : DECODE_FAILED;
}

decode_result trial_run(gpu *g, trial *t, decode_verdict *verdict)
{
  swa_jit_status status = g->table.decode(g, &t->data.config, &t->problem.args);

  if (status == SWA_JIT_UNSUPPORTED) {
    return DECODE_REFUSED;
  }
  return status == SWA_JIT_OK ? trial_judge(g, t, verdict) : gpu_fail(verdict, g->message);
}
