/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "number.h"
#include "swa_jit/swa_jit.h"

#define NUMBER(member, option_name, least, most, help_text)                                                            \
  {                                                                                                                    \
    .kind = SJ_CLI_NUMBER, .name = (option_name), .value_name = "N", .offset = offsetof(run_options, member),          \
    .minimum = (least), .maximum = (most), .help = (help_text)                                                         \
  }
#define TEXT(member, option_name, what, help_text)                                                                     \
  {                                                                                                                    \
    .kind = SJ_CLI_TEXT, .name = (option_name), .value_name = (what), .offset = offsetof(run_options, member),         \
    .help = (help_text)                                                                                                \
  }
#define REAL(member, option_name, help_text)                                                                           \
  {                                                                                                                    \
    .kind = SJ_CLI_REAL, .name = (option_name), .value_name = "X", .offset = offsetof(run_options, member),            \
    .help = (help_text)                                                                                                \
  }
#define SWITCH(member, option_name, help_text)                                                                         \
  {                                                                                                                    \
    .kind = SJ_CLI_SWITCH, .name = (option_name), .offset = offsetof(run_options, member), .help = (help_text)         \
  }
#define HEADING(text)                                                                                                  \
  {                                                                                                                    \
    .kind = SJ_CLI_HEADING, .help = (text)                                                                             \
  }

static const sj_cli_option option_table[] = {
    HEADING("Problem"),
    TEXT(kv_format, "kv-format", "NAME",
         "how a KV row is stored: e4m3_slot, e4m3, bf16, footer_584 or footer_528 (default e4m3_slot)"),
    TEXT(extra_format, "extra-format", "NAME", "how a row of the extra scope is stored (default: as --kv-format says)"),
    REAL(scale, "scale", "softmax scale (default 1 / sqrt(head_dim))"),
    REAL(soft_cap, "soft-cap", "cap scores at X; 0: no cap (default 0)"),
    {.kind = SJ_CLI_LIST,
     .name = "lse-form",
     .value_name = "LIST",
     .offset = offsetof(run_options, lse_form_names),
     .help = "how LSE is written, of base_2, with_sink and empty_plus_infinity (default: natural logarithm, without "
             "the sink, -infinity where no position is unmasked)"},
    HEADING("Generated data"),
    NUMBER(num_tokens, "num-tokens", 1, 1000000, "query tokens of the step (default 64)"),
    NUMBER(num_heads, "num-heads", 1, 65535, "query heads (default 128)"),
    NUMBER(num_kv_heads, "num-kv-heads", 1, 65535, "KV heads, a divisor of --num-heads (default 1)"),
    NUMBER(head_dim, "head-dim", 1, 65535, "elements of a row: 64, 96, 128, 192, 256 or 512 (default 512)"),
    NUMBER(head_dim_v, "head-dim-v", 0, 65535,
           "elements of a row of V's own pool, a value that --head-dim takes; 0: V is K's row (default 0)"),
    NUMBER(window_size, "window-size", 1, 65535, "most positions of a token in the window: 1 to 8192 (default 128)"),
    NUMBER(block_size, "block-size", 1, 1000000, "slots of a block of the window's pools (default 64)"),
    NUMBER(num_blocks, "num-blocks", 1, 2147483647, "blocks of each of them (default: what the tokens' windows need)"),
    NUMBER(extra_size, "extra-size", 0, 65535,
           "most positions of a token in the extra scope: 1 to 8192; 0: no such scope (default 0)"),
    NUMBER(extra_block_size, "extra-block-size", 1, 1000000, "slots of a block of the extra scope's pool (default 64)"),
    NUMBER(extra_num_blocks, "extra-num-blocks", 1, 2147483647,
           "blocks of it (default: what the tokens' extra scopes need, up to 65,536 slots)"),
    SWITCH(with_sinks, "with-sinks", "every head has a sink"),
    TEXT(index_type, "index-type", "TYPE", "type of indices: int32 or int64 (default int32)"),
    TEXT(lens_type, "lens-type", "TYPE", "type of lens: int32 or int64 (default int32)"),
    TEXT(scale_type, "scale-type", "TYPE", "type of inv_scale: float32 or bfloat16 (default float32)"),
    NUMBER(seed, "seed", 1, UINT32_MAX, "another number, other data (default 1)"),
    HEADING("Your data: .npy files in C order, little-endian, in place of generated data"),
    TEXT(inputs[RUN_Q], "q", "FILE", "queries, bf16 as raw uint16: [num_tokens, num_heads, head_dim]"),
    TEXT(inputs[RUN_KV], "kv", "FILE",
         "K's pool: [num_blocks, block_size, head_dim] or [num_blocks, block_size, num_kv_heads, head_dim], e4m3 codes "
         "as uint8 or bf16 as raw uint16; of a footer format [num_blocks, block_size, 584 or 528] bytes as uint8, each "
         "block its data rows and then its scale rows"),
    TEXT(inputs[RUN_INV_SCALE], "inv-scale", "FILE",
         "of e4m3_slot, one scale a slot and KV head, float32 or bf16 as raw uint16: [num_blocks * block_size] or "
         "[num_blocks, block_size], and num_kv_heads where the pool's shape has it"),
    TEXT(inputs[RUN_INDICES], "indices", "FILE",
         "slots that each token attends to, int32 or int64: [num_tokens, window_size]; a slot outside the pool is "
         "masked"),
    TEXT(inputs[RUN_LENS], "lens", "FILE", "how many of them count, int32 or int64: [num_tokens]"),
    TEXT(inputs[RUN_SINKS], "sinks", "FILE", "a logit a head, float32: [num_heads] (default: no sinks)"),
    TEXT(inputs[RUN_V], "v", "FILE", "V's own pool, as --kv with head_dim_v elements a row (default: V is K's row)"),
    TEXT(inputs[RUN_V_INV_SCALE], "v-inv-scale", "FILE", "as --inv-scale, of V's pool"),
    TEXT(inputs[RUN_V_INDICES], "v-indices", "FILE", "as --indices, of V's pool (default: the same slots)"),
    TEXT(inputs[RUN_EXTRA_KV], "extra-kv", "FILE",
         "the extra scope's pool, as --kv with one KV head, in blocks of its own size (default: no extra scope)"),
    TEXT(inputs[RUN_EXTRA_INV_SCALE], "extra-inv-scale", "FILE", "as --inv-scale, of the extra scope's pool"),
    TEXT(inputs[RUN_EXTRA_INDICES], "extra-indices", "FILE",
         "as --indices, and of the same type, in the extra scope: [num_tokens, extra_size]"),
    TEXT(inputs[RUN_EXTRA_LENS], "extra-lens", "FILE",
         "as --lens, and of the same type, in the extra scope (default: all count)"),
    REAL(kv_scale, "kv-scale", "of e4m3, the scale of K's pool (default 1)"),
    REAL(v_scale, "v-scale", "of e4m3, the scale of V's pool (default 1)"),
    REAL(extra_scale, "extra-scale", "of e4m3, the scale of the extra scope's pool (default 1)"),
    HEADING("Writing a pool, in place of a step"),
    TEXT(write_pool, "write-pool", "FILE",
         "write the rows of --from as a pool of --kv-format, a .npy file as --kv reads it, quantised as engines do"),
    TEXT(from, "from", "FILE",
         "rows as float32 or bf16 as raw uint16, a .npy file: [num_slots, head_dim], in blocks of --block-size slots, "
         "[num_blocks, block_size, head_dim] or [num_blocks, block_size, num_kv_heads, head_dim]"),
    TEXT(write_inv_scale, "write-inv-scale", "FILE",
         "of e4m3_slot, write the scales, of --scale-type, as --inv-scale reads them"),
    HEADING("Kernel"),
    TEXT(device, "device", "NAME",
         "where it runs: gpu, or emulator[:ARCH] with ARCH of sm_80, sm_90a and sm_100a (default: a GPU, else the "
         "emulator of --arch, which is sm_100a unless given)"),
    TEXT(arch, "arch", "ARCH",
         "sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a or native (default: native, or sm_100a without a GPU)"),
    NUMBER(head_group, "head-group", 1, 65535, "query heads per CTA: 8, 16, 32, 64 or 128 (default: swa_jit_pick's)"),
    NUMBER(kv_tile, "kv-tile", 1, 65535, "KV rows per pipeline stage: 16, 32, 64 or 128 (default: swa_jit_pick's)"),
    {SJ_CLI_NUMBER, "cluster-size", "0|4", offsetof(run_options, cluster_size), 0, 65535,
     "4: a cluster of four CTAs shares a token's heads, of any format but bf16 and windows up to 128, from sm_90a "
     "on, with a head_group of 16 at most and a kv_tile of 128 unless given; 0: each CTA works by itself "
     "(default: swa_jit_pick's, and 0 with --head-group or --kv-tile)"},
    TEXT(
        num_splits_text, "num-splits", "N|pick",
        "CTAs that share a token's positions, 1 to 256; pick: as swa_jit_pick_splits picks; 0: a kernel without splits "
        "(default 0)"),
    SWITCH(no_lse, "no-lse", "a kernel that cannot write LSE"),
    SWITCH(dependent, "dependent", "launch with programmatic dependent launch"),
    HEADING("Results"),
    TEXT(out, "out", "FILE",
         "write out, bf16 as raw uint16, as a .npy file: [num_tokens, num_heads, head_dim or head_dim_v]"),
    TEXT(lse, "lse", "FILE", "write LSE, float32, as a .npy file: [num_tokens, num_heads]"),
    SWITCH(no_check, "no-check", "do not compare with the float64 reference, which takes seconds for many tokens"),
    NUMBER(repeat, "repeat", 1, 100000, "launches that are timed (default 20, on the emulator 1)"),
    SWITCH(json, "json", "print JSON"),
    HEADING("Files"),
    TEXT(cache_dir, "cache-dir", "DIR",
         "the cubin store's folder (default: SWA_JIT_CACHE_DIR, else $XDG_CACHE_HOME/swa-jit, else ~/.cache/swa-jit)"),
    TEXT(nvrtc, "nvrtc", "FILE", "the libnvrtc to use (default: SWA_JIT_NVRTC, else a search)"),
    TEXT(cuda, "cuda", "FILE",
         "the libcuda to use, with --device emulator that of the emulator (default: SWA_JIT_CUDA, else a search)"),
};
enum { NUM_OPTIONS = sizeof option_table / sizeof option_table[0] };

static const sj_cli_exit exits[] = {
    {0, "the step ran and its results passed, or the pool was written"},
    {1, "the check failed, or something went wrong: the message says what"},
    {2, "the command line is wrong"},
    {3, "no GPU and no emulator in its place: the kernel was compiled and stored, nothing was launched or written"},
};

static const char *const description[] = {
    "Runs one decode step of sliding-window attention through the public interface of libswajit, by default of the "
    "shape that DeepSeek-V4 has: 128 heads, head_dim 512, a window of 128, blocks of 64 slots.",
    "Generated data has rows of unit root mean square, in e4m3 with one scale a slot (the row's maximum / 448) or as "
    "--kv-format says, bf16 queries of unit root mean square, blocks in random order, and full scopes but for every "
    "fourth token, whose lengths are random.",
    "Every element of the results is checked to have been written, and is compared with a reference in double "
    "precision: for each head ||out - reference|| / ||reference|| is at most 3e-3, and LSE is within 1e-3. Then the "
    "step is launched again to be timed; its data is in the L2 cache by then, if it fits there. Bytes per second count "
    "queries, results, indices and the rows attended to, once a token.",
    "Where a kernel has splits, its workspace is zeroed once, before the first launch.",
    "Where there is no GPU the step runs on the emulator, a libcuda that executes the kernel's PTX on the CPU, and the "
    "tool says so. Its times say nothing of a GPU. Its PTX goes to no store but one that --cache-dir names.",
    "With --device gpu and no GPU, and where the emulator is not installed or has no such architecture, the kernel is "
    "compiled and stored all the same, and the tool prints \"no device: compiled for sm_100a and stored, launch "
    "skipped\".",
    "A pool is written as engines quantise: an e4m3 scale is the largest magnitude of its row or pool / 448, a "
    "footer's "
    "scale byte is of 2^ceil(log2(largest of the group / 448)), where the largest counts as 1e-4 at least. Of e4m3 the "
    "pool's scale is printed, for --kv-scale.",
    NULL,
};

static const char *const examples[] = {
    "swa-jit-run",
    "swa-jit-run --device emulator:sm_100a --num-tokens 1",
    "swa-jit-run --num-tokens 256 --head-group 64 --kv-tile 64 --json",
    "swa-jit-run --kv-format footer_584 --with-sinks --extra-size 512 --num-heads 64",
    "swa-jit-run --kv-format footer_584 --with-sinks --extra-size 1024 --num-tokens 1 --num-splits pick",
    "swa-jit-run --kv-format bf16 --head-dim 64 --head-dim-v 64 --num-heads 64 --num-kv-heads 8 --with-sinks",
    "swa-jit-run --q q.npy --kv kv.npy --inv-scale s.npy --indices i.npy --lens n.npy --out out.npy --lse lse.npy",
    "swa-jit-run --write-pool kv.npy --kv-format footer_584 --from rows.npy --block-size 64",
    NULL,
};

const sj_cli run_cli = {
    .name = "swa-jit-run",
    .purpose = "run and check one decode step of sliding-window attention",
    .date = "December 2, 2026",
    .description = description,
    .examples = examples,
    .options = option_table,
    .num_options = NUM_OPTIONS,
    .exits = exits,
    .num_exits = sizeof exits / sizeof exits[0],
};

/* ---- what goes together ----------------------------------------------------------------------------------- */

#define PLACE(member) offsetof(run_options, member)

/* Places of the values of options, in the order of the table's groups. */
static bool is_generated(size_t place)
{
  return place >= PLACE(num_tokens) && place <= PLACE(seed);
}

static bool is_input(size_t place)
{
  return place >= PLACE(inputs) && place < PLACE(kv_scale);
}

static bool is_pool_scale(size_t place)
{
  return place >= PLACE(kv_scale) && place <= PLACE(extra_scale);
}

static bool is_of_writing(size_t place)
{
  return (place >= PLACE(write_pool) && place <= PLACE(write_inv_scale)) || place == PLACE(kv_format)
         || place == PLACE(block_size) || place == PLACE(scale_type);
}

/* The name of the first option given whose place is of a kind; NULL: none. */
static const char *find_given(const bool *given, bool (*is_kind)(size_t place))
{
  for (size_t i = 0; i < NUM_OPTIONS; i++) {
    if (given[i] && is_kind(option_table[i].offset)) {
      return option_table[i].name;
    }
  }
  return NULL;
}

static const char *name_of(enum run_input input)
{
  for (size_t i = 0; i < NUM_OPTIONS; i++) {
    if (option_table[i].kind == SJ_CLI_TEXT && option_table[i].offset == PLACE(inputs) + input * sizeof(const char *)) {
      return option_table[i].name;
    }
  }
  return "";
}

static bool is_not_of_writing(size_t place)
{
  return !is_of_writing(place);
}

static bool has_slot_scales(const char *format)
{
  return format != NULL && strcmp(format, "e4m3_slot") == 0;
}

static sj_cli_outcome check_writing(const run_options *options, const bool *given)
{
  const char *other = find_given(given, is_not_of_writing);
  if (options->write_pool == NULL) {
    return sj_cli_refuse(&run_cli, "--%s is for --write-pool: name the pool to write",
                         options->from != NULL ? "from" : "write-inv-scale");
  }
  if (options->from == NULL) {
    return sj_cli_refuse(&run_cli, "--write-pool is given without --from: name the rows' file");
  }
  if (other != NULL) {
    return sj_cli_refuse(&run_cli, "--%s is for a step, and --write-pool makes none: drop one of them", other);
  }
  if (has_slot_scales(options->kv_format) != (options->write_inv_scale != NULL)) {
    return options->write_inv_scale == NULL
               ? sj_cli_refuse(&run_cli, "--kv-format e4m3_slot has a scale a slot: name their file by "
                                         "--write-inv-scale")
               : sj_cli_refuse(&run_cli, "--write-inv-scale is for --kv-format e4m3_slot, and it is %s: drop it",
                               options->kv_format);
  }
  return SJ_CLI_RUN;
}

/* An input is given exactly where it is needed. */
static sj_cli_outcome check_needed(const run_options *options, enum run_input input, bool is_needed, const char *why)
{
  if ((options->inputs[input] != NULL) == is_needed) {
    return SJ_CLI_RUN;
  }
  return is_needed
             ? sj_cli_refuse(&run_cli, "--%s is missing: %s needs it", name_of(input), why)
             : sj_cli_refuse(&run_cli, "--%s is given, but there is no %s: drop it, or give that", name_of(input), why);
}

static sj_cli_outcome check_inputs(const run_options *options, const bool *given)
{
  static const enum run_input always[] = {RUN_Q, RUN_KV, RUN_INDICES, RUN_LENS};
  const char *const *inputs = options->inputs;
  const char *generated = find_given(given, is_generated);
  if (generated != NULL) {
    return sj_cli_refuse(&run_cli, "--%s is for generated data: your files say it", generated);
  }
  for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
    if (inputs[always[i]] == NULL) {
      return sj_cli_refuse(&run_cli, "--%s is given without --%s: give all files, or none for generated data",
                           find_given(given, is_input), name_of(always[i]));
    }
  }
  const struct {
    enum run_input input;
    bool is_needed;
    const char *why;
  } rules[] = {
      {RUN_INV_SCALE, has_slot_scales(options->kv_format), "--kv-format e4m3_slot"},
      {RUN_V_INV_SCALE, inputs[RUN_V] != NULL && has_slot_scales(options->kv_format), "--v of e4m3_slot"},
      {RUN_EXTRA_INDICES, inputs[RUN_EXTRA_KV] != NULL, "--extra-kv"},
      {RUN_EXTRA_INV_SCALE, inputs[RUN_EXTRA_KV] != NULL && has_slot_scales(options->extra_format),
       "--extra-kv of e4m3_slot"},
      {RUN_V_INDICES, inputs[RUN_V] != NULL && inputs[RUN_V_INDICES] != NULL, "--v"},
      {RUN_EXTRA_LENS, inputs[RUN_EXTRA_KV] != NULL && inputs[RUN_EXTRA_LENS] != NULL, "--extra-kv"},
  };
  sj_cli_outcome outcome = SJ_CLI_RUN;
  for (size_t i = 0; i < sizeof rules / sizeof rules[0] && outcome == SJ_CLI_RUN; i++) {
    outcome = check_needed(options, rules[i].input, rules[i].is_needed, rules[i].why);
  }
  return outcome;
}

static sj_cli_outcome check_generated(const bool *given)
{
  const char *scale = find_given(given, is_pool_scale);
  return scale == NULL ? SJ_CLI_RUN
                       : sj_cli_refuse(&run_cli, "--%s is for your files: generated data has its own", scale);
}

static sj_cli_outcome read_lse_form(run_options *options)
{
  static const struct {
    const char *name;
    uint32_t bit;
  } forms[] = {{"base_2", SWA_JIT_LSE_BASE_2},
               {"with_sink", SWA_JIT_LSE_WITH_SINK},
               {"empty_plus_infinity", SWA_JIT_LSE_EMPTY_PLUS_INFINITY}};
  const char *cursor = options->lse_form_names;
  char name[64];
  while (cursor != NULL && sj_list_next(&cursor, name, sizeof name)) {
    uint32_t bit = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
      bit = strcmp(name, forms[i].name) == 0 ? forms[i].bit : bit;
    }
    if (bit == 0) {
      return sj_cli_refuse(&run_cli, "--lse-form holds \"%s\": use base_2, with_sink and empty_plus_infinity", name);
    }
    options->lse_form |= bit;
  }
  return SJ_CLI_RUN;
}

static sj_cli_outcome check_results(const run_options *options)
{
  if (options->no_lse && (options->lse != NULL || options->lse_form != 0)) {
    return sj_cli_refuse(&run_cli, "--%s asks for what --no-lse leaves out: drop one of them",
                         options->lse != NULL ? "lse" : "lse-form");
  }
  if (!(options->soft_cap >= 0.0 && options->soft_cap <= FLT_MAX)) {
    return sj_cli_refuse(&run_cli, "--soft-cap is %g: give a number from 0 to %g", options->soft_cap, (double)FLT_MAX);
  }
  return SJ_CLI_RUN;
}

static sj_cli_outcome read_num_splits(run_options *options)
{
  const char *text = options->num_splits_text;
  return text == NULL || sj_splits_read(text, &options->num_splits)
             ? SJ_CLI_RUN
             : sj_cli_refuse(&run_cli, "--num-splits is \"%s\": give a whole number from 0 to %d, or pick", text,
                             SJ_SPLITS_MOST);
}

static bool has_emulator(const char *arch)
{
  return strcmp(arch, "sm_80") == 0 || strcmp(arch, "sm_90a") == 0 || strcmp(arch, "sm_100a") == 0;
}

/* The emulator's device: that of --device, else of --arch, else sm_100a. */
static sj_cli_outcome read_emulator_arch(run_options *options, const char *given)
{
  bool is_native = options->arch == NULL || strcmp(options->arch, "native") == 0;
  const char *arch = given != NULL ? given : is_native ? "sm_100a" : options->arch;
  if (!has_emulator(arch)) {
    return options->place != RUN_ON_EMULATOR
               ? SJ_CLI_RUN
               : sj_cli_refuse(&run_cli, "the emulator has no \"%s\": use sm_80, sm_90a or sm_100a", arch);
  }
  if (!is_native && strcmp(options->arch, arch) != 0) {
    return sj_cli_refuse(&run_cli, "--arch %s does not run on --device emulator:%s: drop one of them", options->arch,
                         arch);
  }
  options->emulator_arch = arch;
  return SJ_CLI_RUN;
}

static sj_cli_outcome read_device(run_options *options)
{
  static const char emulator[] = "emulator";
  const char *text = options->device, *given = NULL;
  size_t length = sizeof emulator - 1;
  if (text != NULL && strcmp(text, "gpu") == 0) {
    options->place = RUN_ON_GPU;
    return SJ_CLI_RUN;
  }
  if (text != NULL) {
    if (strncmp(text, emulator, length) != 0 || (text[length] != '\0' && text[length] != ':')) {
      return sj_cli_refuse(&run_cli, "--device is \"%s\": use gpu, emulator or emulator:ARCH", text);
    }
    options->place = RUN_ON_EMULATOR;
    given = text[length] == ':' ? text + length + 1 : NULL;
  }
  return read_emulator_arch(options, given);
}

/* ---- all -------------------------------------------------------------------------------------------------- */

static bool is_scale(size_t place)
{
  return place == PLACE(scale);
}

static bool is_cluster_size(size_t place)
{
  return place == PLACE(cluster_size);
}

static sj_cli_outcome settle(run_options *options, const bool *given)
{
  bool is_writing = options->write_pool != NULL || options->from != NULL || options->write_inv_scale != NULL;
  options->mode = is_writing ? RUN_WRITE_POOL : find_given(given, is_input) != NULL ? RUN_FILES : RUN_GENERATED;
  options->has_scale = find_given(given, is_scale) != NULL;
  options->has_cluster_size = find_given(given, is_cluster_size) != NULL;
  bool has_extra = options->mode == RUN_FILES ? options->inputs[RUN_EXTRA_KV] != NULL : options->extra_size != 0;
  if (!has_extra && options->extra_format != NULL) {
    return sj_cli_refuse(&run_cli, "--extra-format is given, but there is no extra scope: give --extra-size or "
                                   "--extra-kv, or drop it");
  }
  options->extra_format = has_extra && options->extra_format == NULL ? options->kv_format : options->extra_format;
  sj_cli_outcome outcome = options->mode == RUN_WRITE_POOL ? check_writing(options, given)
                           : options->mode == RUN_FILES    ? check_inputs(options, given)
                                                           : check_generated(given);
  if (outcome == SJ_CLI_RUN) {
    outcome = read_lse_form(options);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = read_num_splits(options);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = read_device(options);
  }
  return outcome == SJ_CLI_RUN ? check_results(options) : outcome;
}

sj_cli_outcome run_options_read(int argc, char **argv, run_options *options_out)
{
  run_options options = {.kv_format = "e4m3_slot",
                         .num_tokens = 64,
                         .num_heads = 128,
                         .num_kv_heads = 1,
                         .head_dim = 512,
                         .window_size = 128,
                         .block_size = 64,
                         .extra_block_size = 64,
                         .index_type = "int32",
                         .lens_type = "int32",
                         .scale_type = "float32",
                         .seed = 1,
                         .kv_scale = 1.0,
                         .v_scale = 1.0,
                         .extra_scale = 1.0};
  bool given[NUM_OPTIONS] = {false};
  sj_cli_outcome outcome = sj_cli_read(&run_cli, argc, argv, &options, given);
  if (outcome == SJ_CLI_RUN) {
    outcome = settle(&options, given);
  }
  if (outcome == SJ_CLI_RUN) {
    *options_out = options;
  }
  return outcome;
}
