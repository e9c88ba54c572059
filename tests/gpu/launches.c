/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of more than one launch. Each makes its own problems and returns a result like a case. */
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference.h"

typedef struct trial { /* a case with its data and its problem */
  decode_data data;
  decode_problem problem;
} trial;

static decode_result fail(decode_verdict *verdict, const char *reason)
{
  verdict->num_faults++;
  (void)snprintf(verdict->fault, sizeof verdict->fault, "%.*s", (int)sizeof verdict->fault - 1, reason);
  return DECODE_FAILED;
}

/* A text of the checks themselves is always readable: test_decode's grids are; a wrong one fails the check here. */
static bool make_trial(gpu *g, const char *text, trial *out)
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

static void free_trial(trial *t)
{
  if (t->problem.device != NULL) {
    decode_problem_free(&t->problem);
  }
  decode_data_free(&t->data);
}

static decode_result read_and_judge(gpu *g, trial *t, decode_verdict *verdict)
{
  if (!decode_problem_read(&t->problem, &t->data)) {
    return fail(verdict, g->message);
  }
  if (!decode_judge(&t->data, g->table.num_threads, verdict)) {
    return fail(verdict, "no host memory");
  }
  return verdict->num_faults == 0 ? DECODE_PASSED : DECODE_FAILED;
}

static decode_result run_trial(gpu *g, trial *t, decode_verdict *verdict)
{
  swa_jit_status status = g->table.decode(g, &t->data.config, &t->problem.args);

  if (status == SWA_JIT_UNSUPPORTED) {
    return DECODE_REFUSED;
  }
  return status == SWA_JIT_OK ? read_and_judge(g, t, verdict) : fail(verdict, g->message);
}

static bool same_head(const trial *a, const trial *b, uint32_t token, uint32_t head)
{
  const uint16_t *out_a = (const uint16_t *)a->data.args.out + decode_data_out_offset(&a->data, token, head);
  const uint16_t *out_b = (const uint16_t *)b->data.args.out + decode_data_out_offset(&b->data, token, head);
  uint32_t lse_a;
  uint32_t lse_b;

  memcpy(&lse_a, a->data.args.lse + decode_data_lse_offset(&a->data, token, head), sizeof lse_a);
  memcpy(&lse_b, b->data.args.lse + decode_data_lse_offset(&b->data, token, head), sizeof lse_b);
  return memcmp(out_a, out_b, 2 * (size_t)decode_data_out_dim(&a->data)) == 0 && lse_a == lse_b;
}

/* The first heads of a token are the same bits whatever the number of heads beside them. */
static decode_result compare_first_heads(gpu *g, trial *many, uint32_t num_heads, decode_verdict *verdict)
{
  trial few;
  char text[DECODE_CASE_TEXT_SIZE];
  decode_case which = many->data.which;
  decode_result result;
  uint32_t compared = num_heads < which.num_heads ? num_heads : which.num_heads;

  which.num_heads = num_heads;
  decode_case_to_text(&which, text);
  if (!make_trial(g, text, &few)) {
    return fail(verdict, g->message);
  }
  result = run_trial(g, &few, verdict);
  for (uint32_t token = 0; token < which.num_tokens && result == DECODE_PASSED; token++) {
    for (uint32_t head = 0; head < compared; head++) {
      if (!same_head(many, &few, token, head)) {
        result = fail(verdict, "a head has other bits when other heads are beside it");
      }
    }
  }
  free_trial(&few);
  return result;
}

/* Report 43: heads that pad a group, or are left out, change the results of others. */
static decode_result compare_fewer_heads(gpu *g, const char *text, decode_verdict *verdict)
{
  static const uint32_t counts[] = {1, 3, 5, 8, 12, 17, 96, 127};
  trial many;
  decode_result result;

  if (!make_trial(g, text, &many)) {
    return fail(verdict, g->message);
  }
  result = run_trial(g, &many, verdict);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0] && result == DECODE_PASSED; i++) {
    result = compare_first_heads(g, &many, counts[i], verdict);
  }
  free_trial(&many);
  return result;
}

static decode_result heads_of_fewer_are_the_first_of_128(gpu *g, decode_verdict *verdict)
{
  return compare_fewer_heads(g, "num_tokens=3 num_heads=128 head_group=16 lens=uniform scores=m5 seed=31", verdict);
}

static decode_result heads_of_fewer_are_the_first_of_128_with_sinks_and_an_extra_scope(gpu *g, decode_verdict *verdict)
{
  return compare_fewer_heads(g,
                             "num_tokens=3 num_heads=128 head_group=16 lens=uniform scores=m5 kv_format=footer_584 "
                             "sinks=normal extra_format=footer_584 extra_size=200 extra_lens=uniform seed=43",
                             verdict);
}

/* Captures one decode of a trial into a graph. The kernel must have been got. */
static bool capture(gpu *g, trial *t, const swa_jit_kernel *kernel, sj_graph *graph_out)
{
  swa_jit_status status;
  bool ended;

  if (!sj_graph_begin(&g->device, g->stream)) {
    (void)snprintf(g->message, sizeof g->message, "%s", g->device.message);
    return false;
  }
  status = swa_jit_decode(kernel, &t->problem.args, g->stream);
  if (status != SWA_JIT_OK) {
    (void)snprintf(g->message, sizeof g->message, "decode in a capture: %s", swa_jit_message());
  }
  ended = sj_graph_end(&g->device, g->stream, graph_out);
  if (status == SWA_JIT_OK && !ended) {
    (void)snprintf(g->message, sizeof g->message, "%s", g->device.message);
  }
  if (status != SWA_JIT_OK && ended) {
    sj_graph_destroy(&g->device, *graph_out);
  }
  return status == SWA_JIT_OK && ended;
}

static decode_result replay(gpu *g, trial *t, sj_graph graph, decode_verdict *verdict)
{
  if (!sj_graph_launch(&g->device, graph, g->stream) || !sj_stream_wait(&g->device, g->stream)) {
    return fail(verdict, g->device.message);
  }
  return read_and_judge(g, t, verdict);
}

/* Captures the trial's decode in its very first launch; then replays with the data of other cases in its memory. */
static decode_result capture_and_replay(gpu *g, trial *t, const char *const *texts, size_t count,
                                        decode_verdict *verdict)
{
  const swa_jit_kernel *kernel;
  swa_jit_status status = gpu_kernel(g, &t->data.config, &kernel);
  decode_result result;
  sj_graph graph;

  if (status != SWA_JIT_OK) {
    return status == SWA_JIT_UNSUPPORTED ? DECODE_REFUSED : fail(verdict, g->message);
  }
  if (!capture(g, t, kernel, &graph)) {
    return fail(verdict, g->message);
  }
  result = replay(g, t, graph, verdict);
  for (size_t i = 0; i < count && result == DECODE_PASSED; i++) {
    decode_case which;
    const char *bad;

    decode_data_free(&t->data);
    if (!decode_case_from_text(texts[i], &which, &bad) || !decode_data_make(&which, &t->data)
        || !decode_problem_write(&t->problem, &t->data)) {
      result = fail(verdict, "the next replay's data could not be written");
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

  if (!make_trial(g, "num_tokens=6 num_heads=24 lens=full seed=32", &full)) {
    return fail(verdict, g->message);
  }
  if (!make_trial(g, "num_tokens=6 num_heads=24 lens=one scores=m20 seed=32", &one)) {
    free_trial(&full);
    return fail(verdict, g->message);
  }
  decode_data_free(&full.data);
  full.data = one.data;
  memset(&one.data, 0, sizeof one.data);
  result = decode_problem_write(&full.problem, &full.data)
               ? capture_and_replay(g, &full, replays, sizeof replays / sizeof replays[0], verdict)
               : fail(verdict, g->message);
  free_trial(&one);
  free_trial(&full);
  return result;
}

/* Report 30: captured with lengths of 0. */
static decode_result captured_with_0_replayed_with_full(gpu *g, decode_verdict *verdict)
{
  static const char *const replays[] = {"num_tokens=3 head_group=8 head_dim=64 window_size=77 lens=gaps seed=36"};
  trial t;
  decode_result result;

  if (!make_trial(g, "num_tokens=3 head_group=8 head_dim=64 window_size=77 seed=36", &t)) {
    return fail(verdict, g->message);
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
            : fail(verdict, "the data could not be written");
  }
  free_trial(&t);
  return result;
}

/* Report 54: a module loaded during capture. No case has this window: the kernel has never been launched when its
 * stream is captured. */
static decode_result first_decode_inside_a_capture(gpu *g, decode_verdict *verdict)
{
  trial t;
  decode_result result;

  if (!make_trial(g, "num_tokens=4 num_heads=20 window_size=131 kv_tile=32 lens=uniform scores=m5 seed=38", &t)) {
    return fail(verdict, g->message);
  }
  result = capture_and_replay(g, &t, NULL, 0, verdict);
  free_trial(&t);
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
  if (!sj_device_wait(&g->device)) {
    (void)snprintf(g->message, sizeof g->message, "%s", g->device.message);
    return false;
  }
  return true;
}

static decode_result two_kernels_on_two_streams(gpu *g, decode_verdict *verdict)
{
  trial a;
  trial b;
  trial *const trials[2] = {&a, &b};
  sj_stream streams[2] = {g->stream, NULL};
  decode_result result = DECODE_FAILED;

  if (!sj_stream_create(&g->device, &streams[1])) {
    return fail(verdict, g->device.message);
  }
  if (!make_trial(g, "num_tokens=64 num_heads=64 lens=uniform scores=m5 seed=39", &a)) {
    sj_stream_destroy(&g->device, streams[1]);
    return fail(verdict, g->message);
  }
  if (!make_trial(g, "num_tokens=64 num_heads=64 head_group=64 head_dim=128 index_type=int64 seed=40", &b)) {
    result = fail(verdict, g->message);
  } else {
    result = launch_both(g, trials, streams) ? read_and_judge(g, &a, verdict) : fail(verdict, g->message);
    if (result == DECODE_PASSED) {
      result = read_and_judge(g, &b, verdict);
    }
  }
  free_trial(&b);
  free_trial(&a);
  sj_stream_destroy(&g->device, streams[1]);
  return result;
}

/* The second launch finds what the first wrote into out: nothing may be added to it. */
static decode_result decode_twice_gives_the_same_bits(gpu *g, decode_verdict *verdict)
{
  trial t;
  decode_result result;
  uint16_t first[3 * 16 * 512];

  if (!make_trial(g, "num_tokens=3 lens=uniform scores=m5 seed=41", &t)) {
    return fail(verdict, g->message);
  }
  result = run_trial(g, &t, verdict);
  if (result == DECODE_PASSED) {
    memcpy(first, t.data.args.out, sizeof first);
    result = run_trial(g, &t, verdict);
  }
  if (result == DECODE_PASSED && memcmp(first, t.data.args.out, sizeof first) != 0) {
    result = fail(verdict, "the second launch gave other bits than the first");
  }
  free_trial(&t);
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

  if (!make_trial(g, "num_tokens=3 num_heads=16 scores=m5 seed=42", &t)) {
    return fail(verdict, g->message);
  }
  sj_reference_decode(&t.data.config, &t.data.args, g->table.num_threads, whole, whole_lse);
  if (!run_halves(g, &t, (uint16_t *[2]){outs[0], outs[1]}, (float *[2]){lses[0], lses[1]}, HEADS)) {
    free_trial(&t);
    return fail(verdict, g->message);
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
  free_trial(&t);
  return worst <= DECODE_RELATIVE_LIMIT ? DECODE_PASSED : fail(verdict, "two merged halves differ from the whole");
}

void gpu_check_launches(gpu *g, gpu_tally *tally)
{
  static const struct {
    const char *name;
    decode_result (*check)(gpu *g, decode_verdict *verdict);
  } checks[] = {
      {"first_decode_inside_a_capture", first_decode_inside_a_capture},
      {"captured_at_1_replayed_at_128_and_0", captured_at_1_replayed_at_128_and_0},
      {"captured_with_0_replayed_with_full", captured_with_0_replayed_with_full},
      {"heads_of_fewer_are_the_first_of_128", heads_of_fewer_are_the_first_of_128},
      {"heads_of_fewer_are_the_first_of_128_with_sinks_and_an_extra_scope",
       heads_of_fewer_are_the_first_of_128_with_sinks_and_an_extra_scope},
      {"two_kernels_on_two_streams", two_kernels_on_two_streams},
      {"decode_twice_gives_the_same_bits", decode_twice_gives_the_same_bits},
      {"halves_merge_by_lse", halves_merge_by_lse},
  };

  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    decode_verdict verdict = {0};
    decode_result result = checks[i].check(g, &verdict);

    gpu_count(tally, checks[i].name, result, &verdict);
  }
}
