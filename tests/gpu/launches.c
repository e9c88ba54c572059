/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of more than one launch. Each makes its own problems and returns a result like a case. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference.h"

typedef struct prepared {
  const swa_jit_kernel *kernel;
  const swa_jit_decode_args *args;
} prepared;

static bool launch(gpu *g, const void *data)
{
  const prepared *p = data;

  if (swa_jit_decode(p->kernel, p->args, g->stream) != SWA_JIT_OK) {
    (void)snprintf(g->message, sizeof g->message, "decode in a capture: %s", swa_jit_message());
    return false;
  }
  return true;
}

static decode_result replay(gpu *g, trial *t, sj_graph graph, decode_verdict *verdict)
{
  return gpu_replay(g, graph) ? trial_judge(g, t, verdict) : gpu_fail(verdict, g->message);
}

/* Captures the trial's decode in its very first launch; then replays with the data of other cases in its memory. */
static decode_result capture_and_replay(gpu *g, trial *t, const char *const *texts, size_t count,
                                        decode_verdict *verdict)
{
  prepared p = {.args = &t->problem.args};
  swa_jit_status status = gpu_kernel(g, &t->data.config, &p.kernel);
  decode_result result;
  sj_graph graph;

  if (status != SWA_JIT_OK) {
    return status == SWA_JIT_UNSUPPORTED ? DECODE_REFUSED : gpu_fail(verdict, g->message);
  }
  if (!gpu_capture(g, launch, &p, &graph)) {
    return gpu_fail(verdict, g->message);
  }
  result = replay(g, t, graph, verdict);
  for (size_t i = 0; i < count && result == DECODE_PASSED; i++) {
    decode_case which;
    const char *bad;

    decode_data_free(&t->data);
    if (!decode_case_from_text(texts[i], &which, &bad) || !decode_data_make(&which, &t->data)
        || !decode_problem_write(&t->problem, &t->data)) {
      result = gpu_fail(verdict, "the next replay's data could not be written");
      break;
    }
    result = replay(g, t, graph, verdict);
  }
  sj_graph_destroy(&g->device, graph);
  return result;
}

/* Report 55: a plan of the capture's lengths at replay. The memory is made for full rows, since indices end with the
 * last row's length. */
static decode_result captured_at_1_replayed_at_128_and_0(gpu *g, decode_verdict *verdict)
{
  static const char *const replays[] = {
      "num_tokens=6 num_heads=24 lens=full scores=m5 seed=33",
      "num_tokens=6 num_heads=24 lens=zero seed=34",
      "num_tokens=6 num_heads=24 lens=uniform slots=masked_some scores=m20 seed=35",
  };
  trial full;
  trial one;
  decode_result result;

  if (!trial_make(g, "num_tokens=6 num_heads=24 lens=full seed=32", &full)) {
    return gpu_fail(verdict, g->message);
  }
  if (!trial_make(g, "num_tokens=6 num_heads=24 lens=one scores=m20 seed=32", &one)) {
    trial_free(&full);
    return gpu_fail(verdict, g->message);
  }
  decode_data_free(&full.data);
  full.data = one.data;
  memset(&one.data, 0, sizeof one.data);
  result = decode_problem_write(&full.problem, &full.data)
               ? capture_and_replay(g, &full, replays, sizeof replays / sizeof replays[0], verdict)
               : gpu_fail(verdict, g->message);
  trial_free(&one);
  trial_free(&full);
  return result;
}

/* Report 30: captured with lengths of 0. */
static decode_result captured_with_0_replayed_with_full(gpu *g, decode_verdict *verdict)
{
  static const char *const replays[] = {"num_tokens=3 head_group=8 head_dim=64 window_size=77 lens=gaps seed=36"};
  trial t;
  decode_result result;

  if (!trial_make(g, "num_tokens=3 head_group=8 head_dim=64 window_size=77 seed=36", &t)) {
    return gpu_fail(verdict, g->message);
  }
  decode_data_free(&t.data);
  t.data = (decode_data){0};
  {
    decode_case zero;
    const char *bad;

    result =
        decode_case_from_text("num_tokens=3 head_group=8 head_dim=64 window_size=77 lens=zero seed=37", &zero, &bad)
                && decode_data_make(&zero, &t.data) && decode_problem_write(&t.problem, &t.data)
            ? capture_and_replay(g, &t, replays, 1, verdict)
            : gpu_fail(verdict, "the data could not be written");
  }
  trial_free(&t);
  return result;
}

/* Report 54: a module loaded during capture. No case has this window: the kernel has never been launched when its
 * stream is captured. */
static decode_result first_decode_inside_a_capture(gpu *g, decode_verdict *verdict)
{
  trial t;
  decode_result result;

  if (!trial_make(g, "num_tokens=4 num_heads=20 window_size=131 kv_tile=32 lens=uniform scores=m5 seed=38", &t)) {
    return gpu_fail(verdict, g->message);
  }
  result = capture_and_replay(g, &t, NULL, 0, verdict);
  trial_free(&t);
  return result;
}

/* A graph keeps the cluster's grid; lengths are read at replay. */
static decode_result clusters_captured_at_128_replayed_at_0_and_others(gpu *g, decode_verdict *verdict)
{
  static const char *const replays[] = {
      "cluster_size=4 kv_tile=128 lens=zero seed=44",
      "cluster_size=4 kv_tile=128 lens=uniform slots=masked_some scores=m5 seed=45",
  };
  trial t;
  decode_result result;

  if (!trial_make(g, "cluster_size=4 kv_tile=128 scores=m20 seed=43", &t)) {
    return gpu_fail(verdict, g->message);
  }
  result = capture_and_replay(g, &t, replays, sizeof replays / sizeof replays[0], verdict);
  trial_free(&t);
  return result;
}

static bool launch_both(gpu *g, trial *const trials[2], const sj_stream streams[2])
{
  for (int i = 0; i < 2; i++) {
    const swa_jit_kernel *kernel;

    if (gpu_kernel(g, &trials[i]->data.config, &kernel) != SWA_JIT_OK) {
      return false;
    }
    for (int repeat = 0; repeat < 20; repeat++) {
      if (swa_jit_decode(kernel, &trials[i]->problem.args, streams[i]) != SWA_JIT_OK) {
        (void)snprintf(g->message, sizeof g->message, "%s", swa_jit_message());
        return false;
      }
    }
  }
  return gpu_wait(g);
}

static decode_result two_kernels_on_two_streams(gpu *g, decode_verdict *verdict)
{
  trial a;
  trial b;
  trial *const trials[2] = {&a, &b};
  sj_stream streams[2] = {g->stream, NULL};
  decode_result result = DECODE_FAILED;

  if (!sj_stream_create(&g->device, &streams[1])) {
    return gpu_fail(verdict, g->device.message);
  }
  if (!trial_make(g, "num_tokens=64 num_heads=64 lens=uniform scores=m5 seed=39", &a)) {
    sj_stream_destroy(&g->device, streams[1]);
    return gpu_fail(verdict, g->message);
  }
  if (!trial_make(g, "num_tokens=64 num_heads=64 head_group=64 head_dim=128 index_type=int64 seed=40", &b)) {
    result = gpu_fail(verdict, g->message);
  } else {
    result = launch_both(g, trials, streams) ? trial_judge(g, &a, verdict) : gpu_fail(verdict, g->message);
    if (result == DECODE_PASSED) {
      result = trial_judge(g, &b, verdict);
    }
  }
  trial_free(&b);
  trial_free(&a);
  sj_stream_destroy(&g->device, streams[1]);
  return result;
}

/* The second launch finds what the first wrote into out: nothing may be added to it. */
static decode_result decode_twice_gives_the_same_bits(gpu *g, decode_verdict *verdict)
{
  trial t;
  decode_result result;
  uint16_t first[3 * 16 * 512];

  if (!trial_make(g, "num_tokens=3 lens=uniform scores=m5 seed=41", &t)) {
    return gpu_fail(verdict, g->message);
  }
  result = trial_run(g, &t, verdict);
  if (result == DECODE_PASSED) {
    memcpy(first, t.data.args.out, sizeof first);
    result = trial_run(g, &t, verdict);
  }
  if (result == DECODE_PASSED && memcmp(first, t.data.args.out, sizeof first) != 0) {
    result = gpu_fail(verdict, "the second launch gave other bits than the first");
  }
  trial_free(&t);
  return result;
}

/* Runs the trial's window of 128 as two calls of 64 positions; copies out and LSE of each half. */
static bool run_halves(gpu *g, trial *t, uint16_t *outs[2], float *lses[2], size_t heads)
{
  const char *indices = t->problem.args.indices;
  const int32_t half[3] = {64, 64, 64};

  if (!g->table.write(g, t->problem.addresses[DECODE_LENS], half, sizeof half)) {
    return false;
  }
  t->problem.args.indices_token_stride = 128;
  for (int i = 0; i < 2; i++) {
    t->problem.args.indices = indices + (size_t)i * 64 * sizeof(int32_t);
    if (g->table.decode(g, &t->data.config, &t->problem.args) != SWA_JIT_OK
        || !decode_problem_read(&t->problem, &t->data)) {
      return false;
    }
    memcpy(outs[i], t->data.args.out, heads * 512 * sizeof *outs[i]);
    memcpy(lses[i], t->data.args.lse, heads * sizeof *lses[i]);
  }
  return true;
}

/* Two calls merge by their LSE to what one call gives: the use that LSE is written for. Report 47. */
static decode_result halves_merge_by_lse(gpu *g, decode_verdict *verdict)
{
  enum { HEADS = 3 * 16, DIM = 512 };
  static uint16_t outs[2][HEADS * DIM];
  static float lses[2][HEADS];
  static double whole[HEADS * DIM];
  static double whole_lse[HEADS];
  trial t;
  double worst = 0.0;

  if (!trial_make(g, "num_tokens=3 num_heads=16 scores=m5 seed=42", &t)) {
    return gpu_fail(verdict, g->message);
  }
  sj_reference_decode(&t.data.config, &t.data.args, g->table.num_threads, whole, whole_lse);
  if (!run_halves(g, &t, (uint16_t *[2]){outs[0], outs[1]}, (float *[2]){lses[0], lses[1]}, HEADS)) {
    trial_free(&t);
    return gpu_fail(verdict, g->message);
  }
  for (size_t head = 0; head < HEADS; head++) {
    double lse = (double)lses[0][head] + log1p(exp((double)lses[1][head] - (double)lses[0][head]));
    double squares[2] = {0.0, 0.0};

    for (size_t d = 0; d < DIM; d++) {
      size_t at = head * DIM + d;
      double merged = exp((double)lses[0][head] - lse) * sj_reference_bf16(outs[0][at])
                      + exp((double)lses[1][head] - lse) * sj_reference_bf16(outs[1][at]);

      squares[0] += (merged - whole[at]) * (merged - whole[at]);
      squares[1] += whole[at] * whole[at];
    }
    worst = fmax(worst, sqrt(squares[0] / squares[1]));
    worst = fmax(worst, fabs(lse - whole_lse[head]));
  }
  trial_free(&t);
  return worst <= DECODE_RELATIVE_LIMIT ? DECODE_PASSED : gpu_fail(verdict, "two merged halves differ from the whole");
}

void gpu_check_launches(gpu *g, gpu_tally *tally)
{
  static const gpu_check checks[] = {
      {"first_decode_inside_a_capture", first_decode_inside_a_capture},
      {"captured_at_1_replayed_at_128_and_0", captured_at_1_replayed_at_128_and_0},
      {"captured_with_0_replayed_with_full", captured_with_0_replayed_with_full},
      {"clusters_captured_at_128_replayed_at_0_and_others", clusters_captured_at_128_replayed_at_0_and_others},
      {"two_kernels_on_two_streams", two_kernels_on_two_streams},
      {"decode_twice_gives_the_same_bits", decode_twice_gives_the_same_bits},
      {"halves_merge_by_lse", halves_merge_by_lse},
  };

  gpu_run_checks(g, checks, sizeof checks / sizeof checks[0], tally);
}
