/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <float.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

/* What is read before the lists are numbers. */
typedef struct raw_options {
  bench_options options;
  const char *tokens;
  const char *num_heads;
  const char *head_groups;
  const char *kv_tiles;
  const char *num_splits;
  const char *cluster_sizes;
} raw_options;

#define OF(member) offsetof(raw_options, options.member)

static const sj_cli_option option_table[] = {
    {.kind = SJ_CLI_HEADING, .help = "Problem"},
    {SJ_CLI_LIST, "tokens", "LIST", offsetof(raw_options, tokens), 0, 0,
     "numbers of tokens, 1 to 65535 each (default 1,8,16,32,64,128,256,512,1024,4096; --quick: 1,16,64,256,1024)"},
    {SJ_CLI_LIST, "num-heads", "LIST", offsetof(raw_options, num_heads), 0, 0,
     "numbers of query heads, 1 to 1024 each (default 128)"},
    {SJ_CLI_NUMBER, "num-kv-heads", "N", OF(num_kv_heads), 1, 1024,
     "KV heads, of which each serves as many query heads (default 1)"},
    {SJ_CLI_NUMBER, "head-dim", "N", OF(head_dim), 64, 512,
     "elements of a row: 64, 96, 128, 192, 256, 512 (default 512)"},
    {SJ_CLI_NUMBER, "head-dim-v", "N", OF(head_dim_v), 0, 512,
     "elements of a row of V's own pool, a value that --head-dim takes; 0: V is K's row (default 0)"},
    {SJ_CLI_TEXT, "kv-format", "NAME", OF(kv_format), 0, 0,
     "how a KV row is stored: e4m3_slot, e4m3, bf16, footer_584, footer_528 (default e4m3_slot)"},
    {SJ_CLI_NUMBER, "window-size", "N", OF(window_size), 1, 8192,
     "positions that each token attends to in the window (default 128)"},
    {SJ_CLI_NUMBER, "block-size", "N", OF(block_size), 1, 4096, "slots of a block of the window's pools (default 64)"},
    {SJ_CLI_NUMBER, "extra-size", "N", OF(extra_size), 0, 8192,
     "positions that each token attends to in the extra scope; 0: no such scope (default 0)"},
    {SJ_CLI_TEXT, "extra-format", "NAME", OF(extra_format), 0, 0,
     "how a row of the extra scope is stored (default: as --kv-format says)"},
    {SJ_CLI_NUMBER, "extra-block-size", "N", OF(extra_block_size), 1, 4096,
     "slots of a block of the extra scope's pool (default 64)"},
    {SJ_CLI_NUMBER, "num-slots", "N", OF(num_slots), 1, INT32_MAX,
     "slots of each pool, less what makes no whole block (default: the least power of two that makes 400 MB)"},
    {SJ_CLI_NUMBER, "sinks", "0|1", OF(sinks), 0, 1, "1: every head has a sink (default 0)"},
    {SJ_CLI_REAL, "soft-cap", "CAP", OF(soft_cap), 0, 0, "cap scores at CAP; 0: no cap (default 0)"},
    {SJ_CLI_SWITCH, "lse", NULL, OF(lse), 0, 0, "let the kernels write LSE, which the floor does not"},
    {.kind = SJ_CLI_HEADING, .help = "Kernels, every combination"},
    {SJ_CLI_LIST, "head-group", "LIST", offsetof(raw_options, head_groups), 0, 0,
     "query heads per CTA: 8, 16, 32, 64, 128 (default 16,32,64,128, and 8 where a KV head has 16 query heads or "
     "fewer); of those that hold all query heads of a KV head only the least is measured"},
    {SJ_CLI_LIST, "kv-tile", "LIST", offsetof(raw_options, kv_tiles), 0, 0,
     "KV rows per pipeline stage: 16, 32, 64, 128 (default 16,32,64; --quick: 16,32)"},
    {SJ_CLI_LIST, "num-splits", "LIST", offsetof(raw_options, num_splits), 0, 0,
     "CTAs that share a token's positions, 1 to 256 each; pick: as swa_jit_pick_splits picks for the number of tokens; "
     "0: a kernel without splits (default 0)"},
    {SJ_CLI_LIST, "cluster-size", "LIST", offsetof(raw_options, cluster_sizes), 0, 0,
     "CTAs of a cluster that share a token's heads: 0, 4; of 4 are the combinations with --head-group 8 and 16, "
     "--kv-tile 128 and --num-splits 0 (default 0)"},
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
    "and the floor, a kernel that makes the same loads and stores with no arithmetic, with the best number of heads "
    "per "
    "CTA and, where a token attends to more than 256 positions, of CTAs that share them, printed as \"heads / CTAs\". "
    "A ratio of the two compares "
    "between devices; microseconds do not.",
    "Each case is captured into a CUDA graph of many launches and replayed. The launches rotate over about 400 MB of "
    "q, out and indices, and each KV pool is larger than the L2 cache; slots are random, and window and extra scope "
    "are "
    "full. Splits' workspace is the same memory for all launches.",
    NULL,
};

static const char *const examples[] = {
    "swa-jit-bench --quick",
    "swa-jit-bench --csv decode.csv --json decode.json --svg decode.svg --host",
    "swa-jit-bench --tokens 256 --head-group 64,128 --every",
    "swa-jit-bench --kv-format footer_584 --sinks 1 --num-heads 64,128 --extra-size 512 --csv extra.csv",
    "for size in 512 1024; do swa-jit-bench --kv-format footer_584 --sinks 1 --extra-size $size --kv-tile 64,128 "
    "--tokens 1,2,4,8,16,32,64,128,256 --num-splits 0,1,2,4,8,16,pick --every --csv extra-$size.csv; done",
    "swa-jit-bench --kv-format bf16 --head-dim 64 --head-dim-v 64 --num-heads 64 --num-kv-heads 8 --sinks 1",
    NULL,
};

const sj_cli bench_cli = {
    .name = "swa-jit-bench",
    .purpose = "measure sliding-window attention kernels against their memory floor",
    .date = "December 2, 2026",
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

static sj_cli_outcome read_num_splits(const char *text, bench_list *list_out)
{
  char element[64];
  list_out->count = 0;
  while (sj_list_next(&text, element, sizeof element)) {
    if (list_out->count == BENCH_MOST_VALUES) {
      return sj_cli_refuse(&bench_cli, "--num-splits holds more than %d values", BENCH_MOST_VALUES);
    }
    if (!sj_splits_read(element, &list_out->values[list_out->count++])) {
      return sj_cli_refuse(&bench_cli, "--num-splits holds \"%s\": give whole numbers from 0 to %d, or pick", element,
                           SJ_SPLITS_MOST);
    }
  }
  return SJ_CLI_RUN;
}

static sj_cli_outcome read_cluster_sizes(const char *text, bench_list *list_out)
{
  char element[64];
  list_out->count = 0;
  while (sj_list_next(&text, element, sizeof element)) {
    uint64_t number = 0;
    if (!sj_number_read(element, &number) || (number != 0 && number != 4)) {
      return sj_cli_refuse(&bench_cli, "--cluster-size holds \"%s\": use 0 and 4", element);
    }
    if (list_out->count == BENCH_MOST_VALUES) {
      return sj_cli_refuse(&bench_cli, "--cluster-size holds more than %d numbers", BENCH_MOST_VALUES);
    }
    list_out->values[list_out->count++] = (uint32_t)number;
  }
  return SJ_CLI_RUN;
}

/* Of each list the value, else the usual one. */
static sj_cli_outcome read_lists(const raw_options *raw, bench_options *options)
{
  bool quick = options->quick;
  const char *usual_tokens = quick ? "1,16,64,256,1024" : "1,8,16,32,64,128,256,512,1024,4096";
  sj_cli_outcome outcome =
      read_list("tokens", raw->tokens != NULL ? raw->tokens : usual_tokens, 65535, &options->tokens);
  if (outcome == SJ_CLI_RUN) {
    outcome = read_list("num-heads", raw->num_heads != NULL ? raw->num_heads : "128", 1024, &options->num_heads);
  }
  const char *usual_groups = "16,32,64,128";
  for (uint32_t i = 0; i < options->num_heads.count && outcome == SJ_CLI_RUN; i++) {
    uint32_t num_heads = options->num_heads.values[i];
    if (num_heads % options->num_kv_heads != 0) {
      return sj_cli_refuse(&bench_cli, "--num-heads holds %u, and --num-kv-heads is %llu: give a multiple of it",
                           num_heads, (unsigned long long)options->num_kv_heads);
    }
    usual_groups = num_heads / options->num_kv_heads <= 16 ? "8,16,32,64,128" : usual_groups;
  }
  if (outcome == SJ_CLI_RUN) {
    outcome =
        read_list("head-group", raw->head_groups != NULL ? raw->head_groups : usual_groups, 128, &options->head_groups);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = read_list("kv-tile",
                        raw->kv_tiles != NULL ? raw->kv_tiles
                        : quick               ? "16,32"
                                              : "16,32,64",
                        128, &options->kv_tiles);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = read_num_splits(raw->num_splits != NULL ? raw->num_splits : "0", &options->num_splits);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = read_cluster_sizes(raw->cluster_sizes != NULL ? raw->cluster_sizes : "0", &options->cluster_sizes);
  }
  return outcome;
}

/* The library knows the names. */
static sj_cli_outcome read_format(const char *option, const char *name, uint32_t *format_out)
{
  char text[64];
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  int length = snprintf(text, sizeof text, "kv_format=%s", name);
  if ((size_t)length >= sizeof text || strpbrk(name, " \t\r\n") != NULL
      || swa_jit_config_from_text(text, &config) != SWA_JIT_OK) {
    return sj_cli_refuse(&bench_cli, "--%s is \"%s\": use e4m3_slot, e4m3, bf16, footer_584 or footer_528", option,
                         name);
  }
  *format_out = config.kv_format;
  return SJ_CLI_RUN;
}

static sj_cli_outcome make_config(bench_options *options)
{
  swa_jit_config *config = &options->config;
  swa_jit_config_init(config);
  config->head_dim = (uint32_t)options->head_dim;
  config->head_dim_v = (uint32_t)options->head_dim_v;
  config->window_size = (uint32_t)options->window_size;
  config->sinks = (uint32_t)options->sinks;
  config->soft_cap = options->soft_cap > 0.0;
  config->extra_size = (uint32_t)options->extra_size;
  sj_cli_outcome outcome = read_format("kv-format", options->kv_format, &config->kv_format);
  if (outcome == SJ_CLI_RUN && options->extra_format != NULL) {
    outcome = read_format("extra-format", options->extra_format, &config->extra_format);
  }
  if (outcome == SJ_CLI_RUN && swa_jit_config_check(config, NULL) == SWA_JIT_INVALID) {
    outcome = sj_cli_refuse(&bench_cli, "%s", swa_jit_message());
  }
  return outcome;
}

static bool holds(const bench_list *list, uint32_t value)
{
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->values[i] == value) {
      return true;
    }
  }
  return false;
}

bool bench_options_do_cluster(uint32_t head_group, uint32_t kv_tile, uint32_t num_splits)
{
  return (head_group == 8 || head_group == 16) && kv_tile == 128 && num_splits == 0;
}

/* That the problem goes with clusters, and that these alone leave something to measure. */
static sj_cli_outcome check_clusters(const bench_options *options)
{
  swa_jit_config config = options->config;
  config.head_group = 16;
  config.kv_tile = 128;
  config.cluster_size = 4;
  if (!holds(&options->cluster_sizes, config.cluster_size)) {
    return SJ_CLI_RUN;
  }
  if (swa_jit_config_check(&config, NULL) == SWA_JIT_INVALID) {
    return sj_cli_refuse(&bench_cli, "%s", swa_jit_message());
  }
  bool is_any = holds(&options->cluster_sizes, 0);
  for (uint32_t i = 0; i < options->head_groups.count; i++) {
    is_any = is_any
             || bench_options_do_cluster(options->head_groups.values[i], holds(&options->kv_tiles, 128) ? 128 : 0,
                                         holds(&options->num_splits, 0) ? 0 : 1);
  }
  return is_any ? SJ_CLI_RUN
                : sj_cli_refuse(&bench_cli, "--cluster-size 4 is of --head-group 8 and 16, --kv-tile 128 and "
                                            "--num-splits 0, and not all are there: add them, or --cluster-size 0");
}

/* What a launch would refuse. */
static sj_cli_outcome check_together(const bench_options *options)
{
  uint32_t format = options->config.kv_format;
  if (!(options->soft_cap >= 0.0 && options->soft_cap <= FLT_MAX)) {
    return sj_cli_refuse(&bench_cli, "--soft-cap is %g: give a number from 0 to %g", options->soft_cap,
                         (double)FLT_MAX);
  }
  if (options->num_kv_heads > 1
      && (options->extra_size > 0 || format == SWA_JIT_KV_FOOTER_584 || format == SWA_JIT_KV_FOOTER_528)) {
    return sj_cli_refuse(&bench_cli, "--num-kv-heads is %llu: with %s there is 1 KV head; leave it at 1",
                         (unsigned long long)options->num_kv_heads,
                         options->extra_size > 0 ? "an extra scope" : "a footer format");
  }
  if (options->host && !holds(&options->num_splits, 0)) {
    return sj_cli_refuse(&bench_cli, "--host is of a kernel without splits, and --num-splits holds no 0: add it");
  }
  if (options->host && !holds(&options->cluster_sizes, 0)) {
    return sj_cli_refuse(&bench_cli, "--host is of a kernel without clusters, and --cluster-size holds no 0: add it");
  }
  if (options->svg != NULL && options->num_heads.count > 1) {
    return sj_cli_refuse(&bench_cli, "--svg draws one number of heads, and --num-heads holds %u: give one",
                         options->num_heads.count);
  }
  return check_clusters(options);
}

sj_cli_outcome bench_options_read(int argc, char **argv, bench_options *options_out)
{
  raw_options raw = {.options = {.num_kv_heads = 1,
                                 .head_dim = 512,
                                 .window_size = 128,
                                 .block_size = 64,
                                 .extra_block_size = 64,
                                 .kv_format = "e4m3_slot"}};
  sj_cli_outcome outcome = sj_cli_read(&bench_cli, argc, argv, &raw, NULL);
  if (outcome != SJ_CLI_RUN) {
    return outcome;
  }
  *options_out = raw.options;
  if (options_out->replays == 0) {
    options_out->replays = options_out->quick ? 5 : 12;
  }
  if (options_out->extra_size > 0 && options_out->extra_format == NULL) {
    options_out->extra_format = options_out->kv_format;
  }
  outcome = read_lists(&raw, options_out);
  if (outcome == SJ_CLI_RUN) {
    outcome = make_config(options_out);
  }
  return outcome == SJ_CLI_RUN ? check_together(options_out) : outcome;
}
