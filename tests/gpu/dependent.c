/* SPDX-License-Identifier: Apache-2.0 */
/* Programmatic dependent launches. A kernel that starts before its predecessor has ended must not read what that one
 * writes, nor write what it reads: report 48. Each check is a chain of launches in which the last one reads what those
 * before it write. It runs once one by one, and is judged; then at once and with the flag, again and again, on a stream
 * and as a graph: the same bits. In between all that is written is spoilt, with NaN where a later launch reads it. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "softmax.h"

enum { MOST_TRIALS = 3, MOST_STEPS = 4, MOST_LINKS = 6, NO_TENSOR = DECODE_NUM_TENSORS };

typedef struct step {
  const swa_jit_kernel *kernel;
  bool is_merge;
  swa_jit_decode_args decode;
  swa_jit_merge_args merge;
  trial *judged; /* whose decode this is; NULL: judged otherwise */
} step;

/* Memory that one step writes and a later one reads. */
typedef struct link {
  uint64_t address;
  size_t bytes;
} link;

typedef struct chain {
  trial trials[MOST_TRIALS];
  unsigned num_trials;
  step steps[MOST_STEPS];
  unsigned num_steps;
  link links[MOST_LINKS];
  unsigned num_links;
  uint64_t owned;  /* of the chain itself: where a merge writes, or a workspace */
  trial *last;     /* whose result counts */
  link fed;        /* what its tensor is, */
  uint32_t tensor; /* DECODE_... or NO_TENSOR, */
  unsigned source; /* once this step has ended */
} chain;

/* ---- steps ------------------------------------------------------------------------------------------------- */

static trial *add_trial(gpu *g, chain *c, const char *text)
{
  trial *t = &c->trials[c->num_trials];

  if (!trial_make(g, text, t)) {
    return NULL;
  }
  c->num_trials++;
  return t;
}

static bool add_decode(gpu *g, chain *c, trial *t)
{
  step *s = &c->steps[c->num_steps++];

  s->decode = t->problem.args;
  s->judged = t;
  return gpu_kernel(g, &t->data.config, &s->kernel) == SWA_JIT_OK;
}

static void add_link(chain *c, const void *address, size_t bytes)
{
  c->links[c->num_links++] = (link){(uint64_t)(uintptr_t)address, bytes};
}

static size_t out_bytes(const trial *t)
{
  return t->data.tensors[DECODE_OUT].size - 2 * (size_t)DECODE_GUARD_BYTES;
}

/* Makes a trial that decodes and whose out later steps read. */
static trial *add_writer(gpu *g, chain *c, const char *text)
{
  trial *t = add_trial(g, c, text);

  if (t == NULL || !add_decode(g, c, t)) {
    return NULL;
  }
  add_link(c, t->problem.args.out, out_bytes(t));
  return t;
}

/* The last trial's tensor is the latest link, as the step so far last writes it. *pointer: the tensor's argument. */
static bool feed(gpu *g, chain *c, trial *last, enum decode_tensor tensor, const void **pointer)
{
  c->last = last;
  c->fed = c->links[c->num_links - 1];
  c->tensor = tensor;
  c->source = c->num_steps - 1;
  *pointer = (const void *)(uintptr_t)c->fed.address;
  if (last->data.tensors[tensor].size != c->fed.bytes) {
    (void)snprintf(g->message, sizeof g->message, "%zu bytes are written, %zu are read", c->fed.bytes,
                   last->data.tensors[tensor].size);
    return false;
  }
  return true;
}

static bool launch_step(gpu *g, const step *s, uint32_t flags)
{
  swa_jit_decode_args decode = s->decode;
  swa_jit_merge_args merge = s->merge;
  swa_jit_status status;

  decode.flags = flags;
  merge.flags = flags;
  status = s->is_merge ? swa_jit_merge(s->kernel, &merge, g->stream) : swa_jit_decode(s->kernel, &decode, g->stream);
  if (status != SWA_JIT_OK) {
    (void)snprintf(g->message, sizeof g->message, "%s", swa_jit_message());
  }
  return status == SWA_JIT_OK;
}

/* The first step depends on nothing of the chain. */
static bool launch_all(gpu *g, const void *data)
{
  const chain *c = data;

  for (unsigned i = 0; i < c->num_steps; i++) {
    if (!launch_step(g, &c->steps[i], i > 0 ? SWA_JIT_DECODE_DEPENDENT : 0)) {
      return false;
    }
  }
  return true;
}

/* ---- a chain's run ----------------------------------------------------------------------------------------- */

/* Two trials' outs by their LSE, as the merge between them and the last trial has left them. */
static bool is_merged(const chain *c, const uint16_t *merged)
{
  const trial *parts = c->trials;
  size_t heads = (size_t)parts[0].data.which.num_tokens * parts[0].data.which.num_heads;
  uint32_t dim = decode_data_out_dim(&parts[0].data);
  double outs[2 * 512];
  double whole[512];
  double worst = 0.0;

  for (size_t head = 0; head < heads; head++) {
    const double lses[2] = {parts[0].data.args.lse[head], parts[1].data.args.lse[head]};
    double squares[2] = {0.0, 0.0};

    for (uint32_t d = 0; d < 2 * dim; d++) {
      outs[d] = sj_reference_bf16(((const uint16_t *)parts[d / dim].data.args.out)[head * dim + d % dim]);
    }
    (void)sj_reference_merge(outs, lses, 2, dim, NULL, whole);
    for (uint32_t d = 0; d < dim; d++) {
      double error = sj_reference_bf16(merged[head * dim + d]) - whole[d];

      squares[0] += error * error;
      squares[1] += whole[d] * whole[d];
    }
    worst = fmax(worst, sqrt(squares[0] / squares[1]));
    if (isnan(squares[0])) {
      return false;
    }
  }
  return worst <= DECODE_RELATIVE_LIMIT;
}

static decode_result run_step(gpu *g, chain *c, unsigned at, decode_verdict *verdict)
{
  const step *s = &c->steps[at];
  bool feeds = c->tensor != NO_TENSOR && at == c->source;
  uint8_t *bytes = feeds ? c->last->data.tensors[c->tensor].bytes : NULL;

  if (!launch_step(g, s, 0) || !gpu_wait(g) || (feeds && !g->table.read(g, bytes, c->fed.address, c->fed.bytes))) {
    return gpu_fail(verdict, g->message);
  }
  if (s->is_merge && !is_merged(c, (const uint16_t *)(const void *)bytes)) {
    return gpu_fail(verdict, "the merge is wrong");
  }
  return s->judged != NULL ? trial_judge(g, s->judged, verdict) : DECODE_PASSED;
}

/* Nothing overlaps: each launch has ended before the next. */
static decode_result run_one_by_one(gpu *g, chain *c, decode_verdict *verdict)
{
  decode_result result = DECODE_PASSED;

  for (unsigned i = 0; i < c->num_steps && result == DECODE_PASSED; i++) {
    result = run_step(g, c, i, verdict);
  }
  return result;
}

static bool fill(gpu *g, uint64_t address, uint8_t value, size_t bytes)
{
  if (!sj_device_fill(&g->device, address, value, bytes)) {
    (void)snprintf(g->message, sizeof g->message, "%s", g->device.message);
    return false;
  }
  return true;
}

static bool spoil(gpu *g, chain *c)
{
  bool done = trial_poison(g, c->last);

  for (unsigned i = 0; i < c->num_links && done; i++) {
    done = fill(g, c->links[i].address, 0xFF, c->links[i].bytes);
  }
  return done;
}

/* graph NULL: on the stream. */
static decode_result run_at_once(gpu *g, chain *c, sj_graph graph, const uint8_t *expected, decode_verdict *verdict)
{
  const decode_buffer *out = &c->last->data.tensors[DECODE_OUT];
  const decode_buffer *lse = &c->last->data.tensors[DECODE_LSE];

  for (uint64_t round = 0; round < g->rounds; round++) {
    if (!spoil(g, c) || !(graph != NULL ? gpu_replay(g, graph) : launch_all(g, c) && gpu_wait(g))
        || !decode_problem_read(&c->last->problem, &c->last->data)) {
      return gpu_fail(verdict, g->message);
    }
    if (memcmp(expected, out->bytes, out->size) != 0 || memcmp(expected + out->size, lse->bytes, lse->size) != 0) {
      return gpu_fail(verdict, graph != NULL ? "replayed, the last launch has other bits"
                                             : "launched at once, the last launch has other bits");
    }
  }
  return DECODE_PASSED;
}

static decode_result compare_ways(gpu *g, chain *c, decode_verdict *verdict)
{
  const decode_buffer *out = &c->last->data.tensors[DECODE_OUT];
  const decode_buffer *lse = &c->last->data.tensors[DECODE_LSE];
  uint8_t *expected = malloc(out->size + lse->size);
  sj_graph graph;
  decode_result result;

  if (expected == NULL) {
    return gpu_fail(verdict, "no host memory");
  }
  memcpy(expected, out->bytes, out->size);
  memcpy(expected + out->size, lse->bytes, lse->size);
  result = run_at_once(g, c, NULL, expected, verdict);
  if (result == DECODE_PASSED) {
    if (gpu_capture(g, launch_all, c, &graph)) {
      result = run_at_once(g, c, graph, expected, verdict);
      sj_graph_destroy(&g->device, graph);
    } else {
      result = gpu_fail(verdict, g->message);
    }
  }
  free(expected);
  return result;
}

/* ---- chains ------------------------------------------------------------------------------------------------ */

/* 64 tokens of 8 heads: as many rows as READER has slots. All of its CTAs run at once, so that none has stored its rows
 * when the next kernel may start. */
#define WRITER "num_tokens=64 num_heads=8 head_group=8 head_dim=128 kv_format=bf16 window_size=256 scores=m5 "
#define READER "num_tokens=6 head_dim=128 kv_format=bf16 block_size=64 num_blocks=8 "

/* A step whose window is what the step before wrote, with q = 0: out is the mean of the rows. */
static bool pool_of_the_step_before(gpu *g, chain *c)
{
  trial *reader;
  decode_buffer *q;

  if (add_writer(g, c, WRITER "seed=71") == NULL || (reader = add_trial(g, c, READER "lens=uniform seed=72")) == NULL) {
    return false;
  }
  q = &reader->data.tensors[DECODE_Q];
  memset(q->bytes, 0, q->size);
  return g->table.write(g, reader->problem.addresses[DECODE_Q], q->bytes, q->size)
         && feed(g, c, reader, DECODE_KV, &reader->problem.args.kv) && add_decode(g, c, reader);
}

static bool queries_of_the_step_before(gpu *g, chain *c)
{
  trial *reader;

  return add_writer(g, c, WRITER "seed=73") != NULL
         && (reader = add_trial(g, c, "num_tokens=64 num_heads=8 head_dim=128 lens=uniform seed=74")) != NULL
         && feed(g, c, reader, DECODE_Q, &reader->problem.args.q) && add_decode(g, c, reader);
}

static bool extra_scope_of_the_step_before(gpu *g, chain *c)
{
  trial *reader;

  return add_writer(g, c, WRITER "seed=75") != NULL
         && (reader = add_trial(g, c,
                                "num_tokens=5 head_dim=128 kv_format=bf16 sinks=normal extra_format=bf16 "
                                "extra_size=200 extra_block_size=2 extra_num_blocks=256 lens=uniform "
                                "extra_lens=uniform seed=76"))
                != NULL
         && feed(g, c, reader, DECODE_EXTRA_KV, &reader->problem.args.extra_kv) && add_decode(g, c, reader);
}

static bool values_of_the_step_before(gpu *g, chain *c)
{
  trial *reader;

  return add_writer(g, c, WRITER "seed=77") != NULL
         && (reader = add_trial(g, c, READER "head_dim_v=128 v_indices=own lens=uniform slots=masked_some seed=78"))
                != NULL
         && feed(g, c, reader, DECODE_V, &reader->problem.args.v) && add_decode(g, c, reader);
}

/* The step between has nothing to do, and still ends only after its own predecessor. */
static bool pool_of_the_step_before_an_empty_one(gpu *g, chain *c)
{
  trial *writer = add_writer(g, c, WRITER "seed=79");
  trial *empty = writer != NULL ? add_trial(g, c, "num_tokens=3 head_dim=128 lens=zero seed=80") : NULL;
  trial *reader = empty != NULL ? add_trial(g, c, READER "lens=uniform seed=81") : NULL;

  return reader != NULL && feed(g, c, reader, DECODE_KV, &reader->problem.args.kv) && add_decode(g, c, empty)
         && add_decode(g, c, reader);
}

/* The third step writes the pool anew, which must wait for the second one's reads. */
static bool pool_written_again_behind_its_reader(gpu *g, chain *c)
{
  trial *writer = add_writer(g, c, WRITER "seed=82");
  trial *reader = writer != NULL ? add_trial(g, c, READER "seed=83") : NULL;
  trial *again = reader != NULL ? add_trial(g, c, WRITER "lens=one seed=84") : NULL;
  step *last = &c->steps[2];

  if (again == NULL || !feed(g, c, reader, DECODE_KV, &reader->problem.args.kv) || !add_decode(g, c, reader)
      || !add_decode(g, c, again)) {
    return false;
  }
  last->decode.out = writer->problem.args.out;
  last->judged = NULL; /* its out is not where the trial's is */
  return true;
}

/* Two steps, the merge of them, and a step whose window is what that one wrote. */
static bool pool_of_the_merge_before(gpu *g, chain *c)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_merge_args merge = SWA_JIT_MERGE_ARGS_INIT;
  trial *first = add_writer(g, c, WRITER "seed=85");
  trial *second = first != NULL ? add_writer(g, c, WRITER "lens=one seed=86") : NULL;
  trial *reader = second != NULL ? add_trial(g, c, READER "lens=uniform seed=87") : NULL;
  step *s = &c->steps[c->num_steps];

  config.kernel = SWA_JIT_KERNEL_MERGE;
  if (reader == NULL || gpu_kernel(g, &config, &s->kernel) != SWA_JIT_OK
      || !g->table.alloc(g, out_bytes(first), &c->owned)) {
    return false;
  }
  merge.num_parts = 2;
  merge.num_tokens = first->data.which.num_tokens;
  merge.num_heads = first->data.which.num_heads;
  merge.head_dim = first->data.which.head_dim;
  for (unsigned i = 0; i < 2; i++) {
    const trial *part = &c->trials[i];

    merge.outs[i] = part->problem.args.out;
    merge.lses[i] = part->problem.args.lse;
    add_link(c, part->problem.args.lse, (size_t)merge.num_tokens * merge.num_heads * sizeof(float));
  }
  merge.out = (void *)(uintptr_t)c->owned;
  s->is_merge = true;
  s->merge = merge;
  c->num_steps++;
  add_link(c, merge.out, out_bytes(first));
  return feed(g, c, reader, DECODE_KV, &reader->problem.args.kv) && add_decode(g, c, reader);
}

/* One workspace for all: its counts must be 0 again before the next step counts. */
static bool steps_in_splits_with_one_workspace(gpu *g, chain *c)
{
  trial *t = add_trial(g, c, "num_splits=4 num_tokens=9 num_heads=24 window_size=500 lens=uniform scores=m5 seed=88");
  const swa_jit_kernel *kernel;
  swa_jit_decode_args *args;

  if (t == NULL || gpu_kernel(g, &t->data.config, &kernel) != SWA_JIT_OK) {
    return false;
  }
  args = &t->problem.args;
  c->last = t;
  if (swa_jit_workspace_bytes(kernel, args->num_tokens, args->num_heads, args->num_kv_heads, args->num_splits,
                              &args->workspace_bytes)
      != SWA_JIT_OK) {
    (void)snprintf(g->message, sizeof g->message, "%s", swa_jit_message());
    return false;
  }
  if (!g->table.alloc(g, args->workspace_bytes, &c->owned) || !fill(g, c->owned, 0, args->workspace_bytes)) {
    return false;
  }
  args->workspace = (void *)(uintptr_t)c->owned;
  for (int i = 0; i < 3; i++) {
    if (!add_decode(g, c, t)) {
      return false;
    }
  }
  return true;
}

static decode_result check_chain(gpu *g, bool (*make)(gpu *g, chain *c), decode_verdict *verdict)
{
  chain c = {.tensor = NO_TENSOR};
  decode_result result = make(g, &c) ? DECODE_PASSED : gpu_fail(verdict, g->message);

  if (result == DECODE_PASSED && !spoil(g, &c)) {
    result = gpu_fail(verdict, g->message);
  }
  if (result == DECODE_PASSED) {
    result = run_one_by_one(g, &c, verdict);
  }
  if (result == DECODE_PASSED) {
    result = compare_ways(g, &c, verdict);
  }
  for (unsigned i = 0; i < c.num_trials; i++) {
    trial_free(&c.trials[i]);
  }
  g->table.release(g, c.owned);
  return result;
}

void gpu_check_dependent(gpu *g, gpu_tally *tally)
{
#define CHAIN(name)                                                                                                    \
  {                                                                                                                    \
    "dependent: " #name, name                                                                                          \
  }
  static const struct {
    const char *name;
    bool (*make)(gpu *g, chain *c);
  } chains[] = {
      CHAIN(pool_of_the_step_before),
      CHAIN(queries_of_the_step_before),
      CHAIN(extra_scope_of_the_step_before),
      CHAIN(values_of_the_step_before),
      CHAIN(pool_of_the_step_before_an_empty_one),
      CHAIN(pool_written_again_behind_its_reader),
      CHAIN(pool_of_the_merge_before),
      CHAIN(steps_in_splits_with_one_workspace),
  };

  for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
    decode_verdict verdict = {0};
    decode_result result = check_chain(g, chains[i].make, &verdict);

    gpu_count(tally, chains[i].name, result, &verdict);
  }
}
