/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu: the kernels on this machine's device against the reference. Needs no test framework, so that it builds
 * wherever a device is. Status: 0 all passed, 1 something failed, 2 wrong arguments, 77 no device. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "gpu.h"
#include "grid.h"
#include "number.h"

enum { SKIPPED = 77, LARGE_MEMORY_GIB = 12, MOST_FAILURES = 30 };

typedef struct options {
  const char *sets;
  const char *one;
  const char *cache_dir;
  const char *write;
  const char *compare;
  uint64_t cases;
  uint64_t seed;
  uint64_t jobs;
  uint64_t rounds;
  uint64_t limit; /* seconds a case may take */
} options;

static const sj_cli_option option_table[] = {
    {SJ_CLI_LIST, "sets", "LIST", offsetof(options, sets), 0, 0,
     "of launches, dependent, independence, merge, reduced, special, formats, sinks, lse_forms, grouped, extra, "
     "splits, clusters, tilings, random, random_general, random_clusters, large (default: all)"},
    {SJ_CLI_NUMBER, "cases", "N", offsetof(options, cases), 0, 100000, "number of random cases of a set (default: 60)"},
    {SJ_CLI_NUMBER, "seed", "S", offsetof(options, seed), 0, UINT32_MAX, "of the first random case (default: 1)"},
    {SJ_CLI_TEXT, "case", "TEXT", offsetof(options, one), 0, 0, "one case only, as a failure prints it"},
    {SJ_CLI_NUMBER, "jobs", "N", offsetof(options, jobs), 1, 64, "compiles at a time (default: 16)"},
    {SJ_CLI_NUMBER, "rounds", "N", offsetof(options, rounds), 1, 100000,
     "repetitions of each of the set dependent's chains, as launches and as a graph (default: 10)"},
    {SJ_CLI_NUMBER, "limit", "S", offsetof(options, limit), 1, 3600,
     "seconds after which a case counts as hanging and ends the run (default: 60)"},
    {SJ_CLI_TEXT, "cache-dir", "DIR", offsetof(options, cache_dir), 0, 0, "store for the kernels (default: none)"},
    {SJ_CLI_TEXT, "write", "FILE", offsetof(options, write), 0, 0, "keep some of each case's results"},
    {SJ_CLI_TEXT, "compare", "FILE", offsetof(options, compare), 0, 0,
     "compare them with what another device of this architecture wrote"},
};

static const char *const description[] = {"Compares the kernels on this machine's device with a reference in doubles.",
                                          NULL};
static const char *const examples[] = {"test_gpu --sets reduced,launches", NULL};
static const sj_cli_exit exits[] = {
    {0, "all cases passed"}, {1, "a case failed"}, {2, "the arguments are wrong"}, {SKIPPED, "there is no device"}};
static const sj_cli cli = {.name = "test_gpu",
                           .purpose = "check the kernels on a device",
                           .date = "December 1, 2026",
                           .description = description,
                           .examples = examples,
                           .options = option_table,
                           .num_options = sizeof option_table / sizeof option_table[0],
                           .exits = exits,
                           .num_exits = sizeof exits / sizeof exits[0]};

/* Sets of checks that make their own problems, in the order in which they run. Launches come first: no kernel of theirs
 * has been launched yet. */
static const struct {
  const char *name;
  void (*check)(gpu *g, gpu_tally *tally);
} check_sets[] = {
    {"launches", gpu_check_launches},
    {"dependent", gpu_check_dependent},
    {"independence", gpu_check_independence},
    {"merge", gpu_check_merges},
};

enum { NUM_CHECKS = sizeof check_sets / sizeof check_sets[0] };

/* The cases of a run. */
typedef struct plan {
  decode_case *cases;
  size_t count;
  size_t capacity;
  bool checks[NUM_CHECKS]; /* which of check_sets */
} plan;

static bool add_case(plan *p, const decode_case *which)
{
  if (p->count == p->capacity) {
    size_t capacity = p->capacity == 0 ? 256 : 2 * p->capacity;
    decode_case *grown = realloc(p->cases, capacity * sizeof *grown);

    if (grown == NULL) {
      fprintf(stderr, "test_gpu: no memory for %zu cases\n", capacity);
      return false;
    }
    p->cases = grown;
    p->capacity = capacity;
  }
  p->cases[p->count++] = *which;
  return true;
}

static bool add_text(plan *p, const char *text)
{
  decode_case which;
  const char *bad;

  if (!decode_case_from_text(text, &which, &bad)) {
    fprintf(stderr, "test_gpu: unreadable case at \"%s\"\n", bad);
    return false;
  }
  return add_case(p, &which);
}

static bool add_lines(plan *p, decode_lines lines)
{
  for (size_t i = 0; i < lines.count; i++) {
    if (!add_text(p, lines.lines[i])) {
      return false;
    }
  }
  return true;
}

static bool add_tilings(plan *p, const gpu *g, const options *o)
{
  decode_case which;

  (void)g;
  (void)o;
  for (size_t i = 0; i < decode_grid_num_tilings(); i++) {
    decode_grid_tiling(i, &which);
    if (!add_case(p, &which)) {
      return false;
    }
  }
  return true;
}

/* Seeds whose configuration does not fit this architecture are passed over. */
static bool add_drawn(plan *p, const gpu *g, const options *o, void (*draw)(uint32_t seed, decode_case *which_out))
{
  uint32_t seed = (uint32_t)o->seed;

  for (uint64_t added = 0; added < o->cases; seed++) {
    swa_jit_config config;
    decode_case which;

    draw(seed, &which);
    decode_case_config(&which, &config);
    config.arch = g->arch;
    if (swa_jit_config_check(&config, NULL) == SWA_JIT_OK) {
      if (!add_case(p, &which)) {
        return false;
      }
      added++;
    } else if (seed - (uint32_t)o->seed > 100 * (o->cases + 10)) {
      fprintf(stderr, "test_gpu: hardly any configuration fits this architecture: %s\n", swa_jit_message());
      return false;
    }
  }
  return true;
}

static bool add_random(plan *p, const gpu *g, const options *o)
{
  return add_drawn(p, g, o, decode_grid_random);
}

static bool add_random_general(plan *p, const gpu *g, const options *o)
{
  return add_drawn(p, g, o, decode_grid_random_general);
}

/* Whether this architecture has clusters; says so where it has none. */
static bool has_clusters(const gpu *g)
{
  if (g->arch < SWA_JIT_ARCH_SM_90A) {
    printf("left out: clusters come with sm_90a\n");
    return false;
  }
  return true;
}

static bool add_clusters(plan *p, const gpu *g, const options *o)
{
  (void)o;
  return !has_clusters(g) || add_lines(p, decode_grid_clusters());
}

static bool add_random_clusters(plan *p, const gpu *g, const options *o)
{
  return !has_clusters(g) || add_drawn(p, g, o, decode_grid_random_clusters);
}

static bool add_large(plan *p, const gpu *g, const options *o)
{
  (void)o;
  if (g->device.memory_bytes >> 30 < LARGE_MEMORY_GIB) {
    printf("left out: the large cases need %d GiB of device memory\n", LARGE_MEMORY_GIB);
    return true;
  }
  return add_lines(p, decode_grid_large());
}

/* A set is lines, or is made otherwise. */
static const struct {
  const char *name;
  decode_lines (*lines)(void);
  bool (*add)(plan *p, const gpu *g, const options *o);
} sets[] = {
    {"reduced", decode_grid_reduced, NULL},
    {"special", decode_grid_special, NULL},
    {"formats", decode_grid_formats, NULL},
    {"sinks", decode_grid_sinks, NULL},
    {"lse_forms", decode_grid_lse_forms, NULL},
    {"grouped", decode_grid_grouped, NULL},
    {"extra", decode_grid_extra, NULL},
    {"splits", decode_grid_splits, NULL},
    {"clusters", NULL, add_clusters},
    {"tilings", NULL, add_tilings},
    {"random", NULL, add_random},
    {"random_general", NULL, add_random_general},
    {"random_clusters", NULL, add_random_clusters},
    {"large", NULL, add_large},
};

static bool add_set(plan *p, const gpu *g, const options *o, const char *name)
{
  bool all = strcmp(name, "all") == 0;
  bool known = all;

  for (size_t i = 0; i < NUM_CHECKS; i++) {
    if (all || strcmp(name, check_sets[i].name) == 0) {
      known = true;
      p->checks[i] = true;
    }
  }
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
    if (all || strcmp(name, sets[i].name) == 0) {
      known = true;
      if (!(sets[i].lines != NULL ? add_lines(p, sets[i].lines()) : sets[i].add(p, g, o))) {
        return false;
      }
    }
  }
  if (!known) {
    fprintf(stderr, "test_gpu: --sets knows no \"%s\"\n", name);
  }
  return known;
}

static bool make_plan(plan *p, const gpu *g, const options *o)
{
  const char *cursor = o->sets;
  char name[64];

  if (o->one != NULL) {
    return add_text(p, o->one);
  }
  while (sj_list_next(&cursor, name, sizeof name)) {
    if (!add_set(p, g, o, name)) {
      return false;
    }
  }
  return true;
}

static char running[DECODE_CASE_TEXT_SIZE + 32]; /* what the alarm names */

/* Reports 22, 31, 49: a launch that never ends. */
static void end_hanging(int signal_number)
{
  static const char words[] = "test_gpu: it hangs: ";

  (void)signal_number;
  (void)!write(STDOUT_FILENO, words, sizeof words - 1);
  (void)!write(STDOUT_FILENO, running, strlen(running));
  (void)!write(STDOUT_FILENO, "\n", 1);
  _exit(1);
}

static void run_plan(gpu *g, const plan *p, unsigned limit, gpu_tally *tally)
{
  (void)signal(SIGALRM, end_hanging);
  for (size_t i = 0; i < NUM_CHECKS; i++) {
    if (p->checks[i]) {
      (void)snprintf(running, sizeof running, "--sets %s", check_sets[i].name);
      (void)alarm(2 * limit);
      check_sets[i].check(g, tally);
    }
  }
  for (size_t i = 0; i < p->count && tally->failed < MOST_FAILURES; i++) {
    decode_verdict verdict;
    decode_result result;

    decode_case_to_text(&p->cases[i], running);
    (void)alarm(limit);
    result = decode_check(&g->table, &p->cases[i], &verdict);
    gpu_count(tally, running, result, &verdict);
  }
  (void)alarm(0);
  if (tally->failed >= MOST_FAILURES) {
    printf("stopped after %d failures\n", MOST_FAILURES);
  }
}

static double seconds(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int run(gpu *g, const options *o)
{
  plan p = {0};
  gpu_tally tally = {0};
  double begin = seconds();
  double prepared;
  bool planned = make_plan(&p, g, o);

  if (planned) {
    gpu_prepare(g, p.cases, p.count, (unsigned)o->jobs);
    prepared = seconds();
    run_plan(g, &p, (unsigned)o->limit, &tally);
    printf("test_gpu on %s: %llu passed, %llu failed, %llu do not fit %s; worst relative %.2e, step %.2f, LSE %.1e; "
           "%.1f s, %.1f of them compiling\n",
           g->device.name, (unsigned long long)tally.passed, (unsigned long long)tally.failed,
           (unsigned long long)tally.refused, swa_jit_arch_name(g->arch), tally.worst_relative, tally.worst_step,
           tally.worst_lse, seconds() - begin, prepared - begin);
  }
  free(p.cases);
  if (!planned) {
    return 2;
  }
  return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}

/* The run with results of another device beside it, or kept for one. */
static int run_beside(gpu *g, const options *o)
{
  results beside;
  int status;

  if (o->write == NULL && o->compare == NULL) {
    return run(g, o);
  }
  if (!results_open(o->write, o->compare, &beside)) {
    printf("test_gpu: %s\n", beside.fault);
    return 1;
  }
  g->results = &beside;
  status = run(g, o);
  printf("%llu cases %s", (unsigned long long)beside.num_cases, o->write != NULL ? "kept\n" : "compared; ");
  if (o->write == NULL) {
    printf("%llu newer than the file; %llu of %llu elements differ, by at most %.2f bf16 steps; LSE by %.1e\n",
           (unsigned long long)beside.num_missing, (unsigned long long)beside.num_different,
           (unsigned long long)beside.num_elements, beside.worst_steps, beside.worst_lse);
  }
  if (!results_close(&beside)) {
    printf("test_gpu: %s cannot be written\n", o->write);
    return 1;
  }
  if (10 * beside.num_missing > beside.num_cases) {
    printf("test_gpu: too many cases are newer than %s: write it anew on a device\n", o->compare);
    return 1;
  }
  return beside.num_cases > 0 ? status : 1;
}

int main(int argc, char **argv)
{
  options o = {.sets = "all", .cases = 60, .seed = 1, .jobs = 16, .rounds = 10, .limit = 60};
  sj_cli_outcome outcome = sj_cli_read(&cli, argc, argv, &o, NULL);
  gpu g;
  int status;

  if (outcome != SJ_CLI_RUN) {
    return outcome == SJ_CLI_SHOWN ? 0 : 2;
  }
  if (o.write != NULL && o.compare != NULL) {
    fprintf(stderr, "test_gpu: --write and --compare do not go together\n");
    return 2;
  }
  switch (gpu_open(o.cache_dir, &g)) {
  case SJ_DEVICE_PRESENT:
    break;
  case SJ_DEVICE_ABSENT:
    printf("skipped: no device (%s)\n", g.message);
    return SKIPPED;
  default:
    printf("test_gpu: %s\n", g.message);
    return 1;
  }
  g.rounds = o.rounds;
  status = run_beside(&g, &o);
  gpu_close(&g);
  return status;
}
