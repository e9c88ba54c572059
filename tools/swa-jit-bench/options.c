/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

/* What is read before the lists are numbers. */
typedef struct raw_options {
  bench_options options;
  const char *tokens;
  const char *head_groups;
  const char *kv_tiles;
} raw_options;

#define OF(member) offsetof(raw_options, options.member)

static const sj_cli_option option_table[] = {
    {.kind = SJ_CLI_HEADING, .help = "Problem"},
    {SJ_CLI_LIST, "tokens", "LIST", offsetof(raw_options, tokens), 0, 0,
     "numbers of tokens, 1 to 65535 each (default 1,8,16,32,64,128,256,512,1024,4096; --quick: 1,16,64,256,1024)"},
    {SJ_CLI_NUMBER, "num-heads", "N", OF(num_heads), 1, 1024, "query heads (default 128)"},
    {SJ_CLI_NUMBER, "head-dim", "N", OF(head_dim), 64, 512,
     "elements of a row: 64, 96, 128, 192, 256, 512 (default 512)"},
    {SJ_CLI_NUMBER, "window-size", "N", OF(window_size), 1, 8192,
     "positions that each token attends to (default 128); the floor's rows must fit into shared memory"},
    {SJ_CLI_NUMBER, "num-slots", "N", OF(num_slots), 1, INT32_MAX, "slots of the KV pool (default 1048576)"},
    {SJ_CLI_SWITCH, "lse", NULL, OF(lse), 0, 0, "let the kernels write LSE, which the floor does not"},
    {.kind = SJ_CLI_HEADING, .help = "Kernels, every combination"},
    {SJ_CLI_LIST, "head-group", "LIST", offsetof(raw_options, head_groups), 0, 0,
     "query heads per CTA: 8, 16, 32, 64, 128 (default 16,32,64,128)"},
    {SJ_CLI_LIST, "kv-tile", "LIST", offsetof(raw_options, kv_tiles), 0, 0,
     "KV rows per pipeline stage: 16, 32, 64, 128 (default 16,32,64; --quick: 16,32)"},
    {SJ_CLI_TEXT, "cache-dir", "DIR", OF(cache_dir), 0, 0,
     "the cubin store's folder (default: SWA_JIT_CACHE_DIR, else $XDG_CACHE_HOME/swa-jit, else ~/.cache/swa-jit)"},
    {SJ_CLI_TEXT, "nvrtc", "FILE", OF(nvrtc), 0, 0, "the libnvrtc to use (default: SWA_JIT_NVRTC, else a search)"},
    {.kind = SJ_CLI_HEADING, .help = "Measurement"},
    {SJ_CLI_NUMBER, "replays", "N", OF(replays), 1, 1000,
     "replays of each graph, of which the median counts (default 12; --quick: 5)"},
    {SJ_CLI_SWITCH, "quick", NULL, OF(quick), 0, 0, "fewer tokens, tiles and replays: under 20 seconds"},
    {SJ_CLI_SWITCH, "host", NULL, OF(host), 0, 0,
     "measure also what the calls cost the host: decode beyond a bare launch, and finding a held kernel"},
    {.kind = SJ_CLI_HEADING, .help = "Output"},
    {SJ_CLI_SWITCH, "every", NULL, OF(every), 0, 0, "print every kernel, not only the best for each number of tokens"},
    {SJ_CLI_TEXT, "csv", "FILE", OF(csv), 0, 0, "write one line for each kernel and number of tokens"},
    {SJ_CLI_TEXT, "json", "FILE", OF(json), 0, 0, "write all figures as JSON"},
    {SJ_CLI_TEXT, "svg", "FILE", OF(svg), 0, 0, "draw the times over the number of tokens"},
};

static const sj_cli_exit exits[] = {
    {0, "everything was measured, less what the architecture cannot serve"},
    {1, "something failed; standard error says what"},
    {2, "the command line is wrong; nothing was measured"},
    {3, "no device: nothing was measured"},
};

static const char *const description[] = {
    "Measures decode kernels on this machine's device, and in the same run what bounds them: a copy of as many bytes, "
    "and the floor, a kernel that makes the same loads and stores with no arithmetic, with the best of 16, 32, 64 and "
    "128 heads per CTA. A ratio of the two compares between devices; microseconds do not.",
    "Each case is captured into a CUDA graph of many launches and replayed. The launches rotate over about 400 MB of "
    "q, out and indices, and the KV pool is larger than the L2 cache; slots are random and every window is full.",
    NULL,
};

static const char *const examples[] = {
    "swa-jit-bench --quick",
    "swa-jit-bench --csv decode.csv --json decode.json --svg decode.svg --host",
    "swa-jit-bench --tokens 256 --head-group 64,128 --every",
    NULL,
};

const sj_cli bench_cli = {
    .name = "swa-jit-bench",
    .purpose = "measure sliding-window attention kernels against their memory floor",
    .date = "December 1, 2026",
    .description = description,
    .examples = examples,
    .options = option_table,
    .num_options = sizeof option_table / sizeof option_table[0],
    .exits = exits,
    .num_exits = sizeof exits / sizeof exits[0],
};

static sj_cli_outcome read_list(const char *name, const char *text, uint32_t most, bench_list *list_out)
{
  const char *cursor = text;
  char element[64];
  list_out->count = 0;
  while (sj_list_next(&cursor, element, sizeof element)) {
    uint64_t number = 0;
    if (!sj_number_read(element, &number) || number < 1 || number > most) {
      return sj_cli_refuse(&bench_cli, "--%s holds \"%s\": give whole numbers from 1 to %u", name, element, most);
    }
    if (list_out->count == BENCH_MOST_VALUES) {
      return sj_cli_refuse(&bench_cli, "--%s holds more than %d numbers", name, BENCH_MOST_VALUES);
    }
    list_out->values[list_out->count++] = (uint32_t)number;
  }
  return SJ_CLI_RUN;
}

sj_cli_outcome bench_options_read(int argc, char **argv, bench_options *options_out)
{
  raw_options raw = {.options = {.num_heads = 128, .head_dim = 512, .window_size = 128, .num_slots = 1 << 20}};
  sj_cli_outcome outcome = sj_cli_read(&bench_cli, argc, argv, &raw, NULL);
  if (outcome != SJ_CLI_RUN) {
    return outcome;
  }
  bool quick = raw.options.quick;
  const char *usual_tokens = quick ? "1,16,64,256,1024" : "1,8,16,32,64,128,256,512,1024,4096";
  const char *usual_tiles = quick ? "16,32" : "16,32,64";
  *options_out = raw.options;
  if (options_out->replays == 0) {
    options_out->replays = quick ? 5 : 12;
  }
  outcome = read_list("tokens", raw.tokens != NULL ? raw.tokens : usual_tokens, 65535, &options_out->tokens);
  if (outcome == SJ_CLI_RUN) {
    outcome = read_list("head-group", raw.head_groups != NULL ? raw.head_groups : "16,32,64,128", 128,
                        &options_out->head_groups);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = read_list("kv-tile", raw.kv_tiles != NULL ? raw.kv_tiles : usual_tiles, 128, &options_out->kv_tiles);
  }
  return outcome;
}
