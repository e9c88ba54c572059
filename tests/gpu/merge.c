/* SPDX-License-Identifier: Apache-2.0 */
/* Merges on the device, each counted like a case: launched, and one of them captured and replayed. */
#include "merge_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

/* A case's data, where it lies on the device, and what came back. */
typedef struct problem {
  merge_data data;
  uint64_t addresses[MERGE_NUM_TENSORS];
  uint16_t *out;
  float *lse; /* NULL: the case has none */
} problem;

static void free_problem(gpu *g, problem *p)
{
  for (uint32_t i = 0; i < MERGE_NUM_TENSORS; i++) {
    if (p->addresses[i] != 0) {
      g->table.release(g, p->addresses[i]);
    }
  }
  free(p->out);
  free(p->lse);
  merge_data_free(&p->data);
}

static bool write_tensors(gpu *g, problem *p)
{
  bool done = true;

  for (uint32_t i = 0; i < MERGE_NUM_TENSORS && done; i++) {
    done = p->data.sizes[i] == 0 || g->table.write(g, p->addresses[i], p->data.tensors[i], p->data.sizes[i]);
  }
  return done;
}

static bool make_problem(gpu *g, const merge_case *which, problem *p)
{
  bool done = true;

  memset(p, 0, sizeof *p);
  if (!merge_data_make(which, &p->data)) {
    (void)snprintf(g->message, sizeof g->message, "no host memory");
    return false;
  }
  p->out = malloc(p->data.sizes[merge_out_tensor(&p->data)]);
  p->lse = which->is_without_lse ? NULL : malloc(p->data.sizes[MERGE_LSE]);
  for (uint32_t i = 0; i < MERGE_NUM_TENSORS && done; i++) {
    done = p->data.sizes[i] == 0 || g->table.alloc(g, p->data.sizes[i], &p->addresses[i]);
  }
  if (p->out == NULL || (p->lse == NULL && !which->is_without_lse)) {
    (void)snprintf(g->message, sizeof g->message, "no host memory");
    done = false;
  }
  done = done && write_tensors(g, p);
  if (!done) {
    free_problem(g, p);
  }
  return done;
}

static decode_result read_and_judge(gpu *g, problem *p, decode_verdict *verdict)
{
  const merge_tensor out = merge_out_tensor(&p->data);

  if (!g->table.read(g, p->out, p->addresses[out], p->data.sizes[out])
      || (p->lse != NULL && !g->table.read(g, p->lse, p->addresses[MERGE_LSE], p->data.sizes[MERGE_LSE]))) {
    return gpu_fail(verdict, g->message);
  }
  if (!merge_judge(&p->data, p->out, p->lse, verdict)) {
    return gpu_fail(verdict, "no host memory");
  }
  return verdict->num_faults == 0 ? DECODE_PASSED : DECODE_FAILED;
}

static bool launch(gpu *g, const swa_jit_kernel *kernel, const problem *p, sj_stream stream)
{
  const swa_jit_merge_args args = merge_args_at(&p->data, p->addresses);

  if (swa_jit_merge(kernel, &args, stream) != SWA_JIT_OK) {
    (void)snprintf(g->message, sizeof g->message, "%s", swa_jit_message());
    return false;
  }
  return true;
}

/* Cases of an odd number of tokens take the default stream. */
static decode_result check_case(gpu *g, const swa_jit_kernel *kernel, const merge_case *which, decode_verdict *verdict)
{
  problem p;
  decode_result result;

  if (!make_problem(g, which, &p)) {
    return gpu_fail(verdict, g->message);
  }
  result = launch(g, kernel, &p, which->num_tokens % 2 == 1 ? NULL : g->stream) && gpu_wait(g)
               ? read_and_judge(g, &p, verdict)
               : gpu_fail(verdict, g->message);
  free_problem(g, &p);
  return result;
}

typedef struct prepared {
  const swa_jit_kernel *kernel;
  const problem *problem;
} prepared;

static bool launch_on_stream(gpu *g, const void *data)
{
  const prepared *p = data;

  return launch(g, p->kernel, p->problem, g->stream);
}

/* In place, so that each replay must find the parts written anew. */
static decode_result check_capture(gpu *g, const swa_jit_kernel *kernel, const merge_case *which,
                                   decode_verdict *verdict)
{
  problem p;
  sj_graph graph;
  decode_result result = DECODE_PASSED;

  if (!make_problem(g, which, &p)) {
    return gpu_fail(verdict, g->message);
  }
  if (!gpu_capture(g, launch_on_stream, &(prepared){kernel, &p}, &graph)) {
    free_problem(g, &p);
    return gpu_fail(verdict, g->message);
  }
  for (int replay = 0; replay < 3 && result == DECODE_PASSED; replay++) {
    if (!write_tensors(g, &p)) {
      result = gpu_fail(verdict, g->message);
    } else if (!gpu_replay(g, graph)) {
      result = gpu_fail(verdict, g->message);
    } else {
      result = read_and_judge(g, &p, verdict);
    }
  }
  sj_graph_destroy(&g->device, graph);
  free_problem(g, &p);
  return result;
}

void gpu_check_merges(gpu *g, gpu_tally *tally)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  const swa_jit_kernel *kernel = NULL;

  config.kernel = SWA_JIT_KERNEL_MERGE;
  for (size_t i = 0; i < num_merge_cases; i++) {
    const merge_case *which = &merge_cases[i];
    decode_verdict verdict = {0};
    decode_result result;
    char text[80];

    if (gpu_kernel(g, &config, &kernel) != SWA_JIT_OK) {
      gpu_count(tally, "merge", gpu_fail(&verdict, g->message), &verdict);
      return;
    }
    if (which->in_place != MERGE_NOT_IN_PLACE) {
      (void)snprintf(text, sizeof text, "merge %s, captured", which->name);
      result = check_capture(g, kernel, which, &verdict);
      gpu_count(tally, text, result, &verdict);
      verdict = (decode_verdict){0};
    }
    (void)snprintf(text, sizeof text, "merge %s", which->name);
    result = check_case(g, kernel, which, &verdict);
    gpu_count(tally, text, result, &verdict);
  }
}
