/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "number.h"

const char *const warm_field_names[WARM_NUM_FIELDS] = {
    [WARM_ARCH] = "arch",
    [WARM_HEAD_DIM] = "head_dim",
    [WARM_HEAD_GROUP] = "head_group",
    [WARM_KV_TILE] = "kv_tile",
    [WARM_WINDOW_SIZE] = "window_size",
    [WARM_KV_FORMAT] = "kv_format",
    [WARM_INDEX_TYPE] = "index_type",
    [WARM_LENS_TYPE] = "lens_type",
    [WARM_SCALE_TYPE] = "scale_type",
    [WARM_LSE] = "lse",
    [WARM_HEAD_DIM_V] = "head_dim_v",
    [WARM_SINKS] = "sinks",
    [WARM_SOFT_CAP] = "soft_cap",
    [WARM_EXTRA_SIZE] = "extra_size",
    [WARM_EXTRA_FORMAT] = "extra_format",
    [WARM_KERNEL] = "kernel",
    [WARM_SPLITS] = "splits",
    [WARM_CLUSTER_SIZE] = "cluster_size",
};

#define LIST(index, option_name, help_text)                                                                            \
  {                                                                                                                    \
    .kind = SJ_CLI_LIST, .name = (option_name), .value_name = "LIST",                                                  \
    .offset = offsetof(warm_options, lists[(index)]), .help = (help_text)                                              \
  }
#define TEXT(member, option_name, what, help_text)                                                                     \
  {                                                                                                                    \
    .kind = SJ_CLI_TEXT, .name = (option_name), .value_name = (what), .offset = offsetof(warm_options, member),        \
    .help = (help_text)                                                                                                \
  }
#define SWITCH(member, option_name, help_text)                                                                         \
  {                                                                                                                    \
    .kind = SJ_CLI_SWITCH, .name = (option_name), .offset = offsetof(warm_options, member), .help = (help_text)        \
  }
#define HEADING(text)                                                                                                  \
  {                                                                                                                    \
    .kind = SJ_CLI_HEADING, .help = (text)                                                                             \
  }

const char *const warm_command_names[WARM_NUM_COMMANDS] = {
    [WARM_COMPILE] = "compile", [WARM_DRY_RUN] = "dry-run", [WARM_CHECK] = "check",   [WARM_EXPLAIN] = "explain",
    [WARM_LIST] = "list",       [WARM_SHOW] = "show",       [WARM_VERIFY] = "verify", [WARM_PRUNE] = "prune",
    [WARM_EXPORT] = "export",   [WARM_IMPORT] = "import",
};

static const sj_cli_option option_table[] = {
    HEADING("Configurations, every combination of the lists"), /* the lists follow it, in the order of the fields */
    LIST(WARM_ARCH, "arch",
         "architectures: sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a; native: the device's (default sm_100a)"),
    LIST(WARM_HEAD_DIM, "head-dim", "elements of a row: 64, 96, 128, 192, 256, 512 (default 512)"),
    LIST(WARM_HEAD_GROUP, "head-group", "query heads per CTA: 8, 16, 32, 64, 128 (default 16)"),
    LIST(WARM_KV_TILE, "kv-tile", "KV rows per pipeline stage: 16, 32, 64, 128 (default 16)"),
    LIST(WARM_WINDOW_SIZE, "window-size",
         "most positions that a token attends to in the window: 1 to 8192 (default 128)"),
    LIST(WARM_KV_FORMAT, "kv-format",
         "how a KV row is stored: e4m3_slot, e4m3, bf16, footer_584, footer_528 (default e4m3_slot)"),
    LIST(WARM_INDEX_TYPE, "index-type", "type of indices: int32, int64 (default int32)"),
    LIST(WARM_LENS_TYPE, "lens-type", "type of lens: int32, int64 (default int32)"),
    LIST(WARM_SCALE_TYPE, "scale-type", "type of inv_scale: float32, bfloat16 (default float32)"),
    LIST(WARM_LSE, "lse", "1: the kernel can write LSE; 0: it cannot (default 1)"),
    LIST(WARM_HEAD_DIM_V, "head-dim-v",
         "elements of a row of V's own pool, values that --head-dim takes; 0: V is K's row (default 0)"),
    LIST(WARM_SINKS, "sinks", "1: the kernel takes a sink a head; 0: it does not (default 0)"),
    LIST(WARM_SOFT_CAP, "soft-cap", "1: the kernel caps scores; 0: it does not (default 0)"),
    LIST(WARM_EXTRA_SIZE, "extra-size",
         "most positions of a token in the extra scope: 1 to 8192; 0: no such scope (default 0)"),
    LIST(WARM_EXTRA_FORMAT, "extra-format",
         "how a row of the extra scope is stored, values that --kv-format takes; of no effect where --extra-size is 0 "
         "(default e4m3_slot)"),
    LIST(WARM_KERNEL, "kernel",
         "decode: a step of attention; merge: partial results to one, a kernel for every shape, for which no other "
         "list but --arch counts (default decode)"),
    LIST(WARM_SPLITS, "splits",
         "1: several CTAs may share a token's positions, as num_splits of a launch says; 0: they may not (default 0)"),
    LIST(WARM_CLUSTER_SIZE, "cluster-size",
         "4: a cluster of four CTAs shares a token's heads, of any format but bf16, with --head-group 8 or 16, "
         "--kv-tile "
         "128 and windows up to 128, from sm_90a on; 0: each CTA works by itself (default 0)"),
    TEXT(preset, "preset", "NAME",
         "the kernels of a model's layers, their heads on 1 to 16 devices, with every head_group, kv_tile and "
         "cluster_size that swa_jit_pick chooses, and with splits where swa_jit_pick_splits asks for them: "
         "deepseek-v4, deepseek-v4-pro, "
         "deepseek-v4-flash, deepseek-v4.1, gpt-oss, mimo-v2, "
         "gemma2, gemma3, gemma4, mistral, phi3, step3. --kv-format replaces the model's format; --arch, --index-type, "
         "--lens-type, --scale-type, --lse and --kernel apply, the lists of other fields do not go with it"),
    TEXT(from, "from", "FILE",
         "the configurations of a file, one a line as \"arch=sm_100a head_dim=512\", such as the file that "
         "SWA_JIT_RECORD named; # begins a comment; - reads standard input. --arch replaces each line's architecture; "
         "no other list and no preset goes with it"),
    HEADING("Work"),
    {.kind = SJ_CLI_NUMBER,
     .name = "jobs",
     .value_name = "N",
     .offset = offsetof(warm_options, jobs),
     .minimum = 1,
     .maximum = 1024,
     .help = "compiles at once (default: the online processors)"},
    TEXT(cache_dir, "cache-dir", "DIR",
         "the cubin store's folder (default: SWA_JIT_CACHE_DIR, else $XDG_CACHE_HOME/swa-jit, else ~/.cache/swa-jit)"),
    SWITCH(
        keep_ptx, "keep-ptx",
        "keep each kernel's PTX beside its cubin, for devices and drivers that run no cubin of the store; entries that "
        "lack it get it, and count as missing until then (default: SWA_JIT_KEEP_PTX)"),
    TEXT(nvrtc, "nvrtc", "FILE", "the libnvrtc to use (default: SWA_JIT_NVRTC, else a search)"),
    HEADING("Instead of compiling the configurations, one of"),
    SWITCH(
        dry_run, "dry-run",
        "compile nothing: say each entry's file name and whether the store holds it; a missing one is no failure. With "
        "--prune and --import: say what would be done"),
    SWITCH(
        check, "check",
        "compile nothing: list what a start-up that asks for these configurations would have to compile; exit status 3 "
        "if there is any"),
    SWITCH(
        explain, "explain",
        "compile nothing: of each configuration that the store does not hold, tell the nearest entry and the fields of "
        "the key that differ"),
    HEADING("Or, of all that the store holds, one of"),
    SWITCH(list, "list", "list the entries with their figures, sizes and ages, and what was set aside or left over"),
    TEXT(show, "show", "WHAT",
         "show one entry with its whole key: by its file's name, by the digest in the name or the beginning of it, or "
         "by "
         "its configuration as \"arch=sm_100a head_dim=512\""),
    SWITCH(verify, "verify", "read and check every byte of each entry; exit status 3 if one cannot be used"),
    SWITCH(set_aside, "set-aside", "with --verify: rename what cannot be used, so that it is compiled anew"),
    SWITCH(
        prune, "prune",
        "remove what no program uses: entries that cannot be used, those set aside, and what writers that died an hour "
        "ago or earlier left over; and entries by the next three, but for those whose kernel a running program has "
        "got"),
    TEXT(max_age_text, "max-age", "AGE",
         "with --prune: entries neither used nor made in this time, as 90min, 12h or 30d"),
    SWITCH(outdated, "outdated",
           "with --prune: entries that this release does not ask for, as its template or options are others"),
    TEXT(max_bytes_text, "max-bytes", "SIZE",
         "with --prune: entries until the rest has at most so many bytes, as 500M or 2G; the one unused for longest "
         "first"),
    TEXT(export_to, "export", "FILE",
         "write the entries to a tar archive, each verified; - writes standard output. What is no "
         "plain file, such as a pipe or a device, is written as it is; a file is replaced once the whole archive is "
         "there, and whoever is killed before leaves nothing beside it"),
    TEXT(import_from, "import", "FILE",
         "add the entries of such an archive that the store does not hold; all are verified before the first is added; "
         "- "
         "reads standard input"),
    HEADING("Output"),
    TEXT(dump_source, "dump-source", "DIR", "write each rendered source to DIR, which is made if missing"),
    TEXT(dump_ptx, "dump-ptx", "DIR", "write each kernel's PTX to DIR, which is made if missing; compiles once more"),
    SWITCH(json, "json", "print JSON instead of the table"),
    SWITCH(quiet, "quiet", "print no table and no progress, only warnings and what failed"),
};

static const sj_cli_exit exits[] = {
    {0, "every configuration is in the store, or was looked for with --dry-run, less those that the lists combine and "
        "an architecture cannot serve"},
    {1, "some configuration failed, is a refused line of --from, or all are refused; or the store, a folder of a dump, "
        "an archive, standard output or the device of --arch native cannot be used"},
    {2, "the command line or the file of --from is wrong; nothing was done"},
    {3, "--check: some configuration would have to be compiled; --verify, --export: some entry cannot be used, and is "
        "not in the archive; --show: there is no such entry"},
    {130, "stopped by SIGINT where nothing was half done (143: by SIGTERM, 129: by SIGHUP); the same command goes on"},
};

static const char *const description[] = {
    "Compiles the kernel of each configuration asked for and keeps them in the cubin store, so that a program "
    "that asks for one finds it there and needs no compiler. No GPU and no driver are needed, unless --arch is native.",
    "What the store holds already is not compiled again. A combination that its architecture cannot serve, for want of "
    "shared memory say, is listed as refused with the reason.",
    "Whether the store can be written is tried before the first compile. If it cannot, nothing is compiled: what it "
    "holds is a hit, the rest fails with the reason. --dry-run needs no writing.",
    "Standard output gets a table: configuration, registers of a thread, shared memory of a CTA, spilled bytes of a "
    "thread, compile time, size of the cubin, and whether it was a hit or compiled. Progress, warnings and reasons go "
    "to standard error. Where standard error is no terminal each step has a line of its own; of --verify, --export and "
    "--import, which have many, a line each ten seconds.",
    "Other options look at the store instead: what is in it, whether it is whole, what it lacks, why; or clear and "
    "ship "
    "it. With --json each prints one object, whose fields docs/swa-jit-warm-json.md lists.",
    NULL,
};

static const char *const examples[] = {
    "swa-jit-warm --preset deepseek-v4 --arch sm_90a,sm_100a --cache-dir /opt/app/cubins",
    "swa-jit-warm --preset gpt-oss --arch native --kv-format bf16,e4m3",
    "swa-jit-warm --kv-format footer_584 --sinks 0,1 --extra-size 0,512 --extra-format footer_584 --kv-tile 64",
    "swa-jit-warm --kv-format bf16 --head-dim 128 --head-dim-v 128 --window-size 4096 --splits 0,1",
    "swa-jit-warm --head-group 16,32,64 --kv-tile 16,64 --dry-run",
    "SWA_JIT_RECORD=wanted.txt app; swa-jit-warm --from wanted.txt --arch sm_100a",
    "swa-jit-warm --check --from wanted.txt || swa-jit-warm --explain --from wanted.txt",
    "swa-jit-warm --list --cache-dir /opt/app/cubins",
    "swa-jit-warm --prune --outdated --max-age 30d --max-bytes 2G --dry-run",
    "swa-jit-warm --export layer.tar; swa-jit-warm --import layer.tar --cache-dir /opt/app/cubins",
    NULL,
};

const sj_cli warm_cli = {
    .name = "swa-jit-warm",
    .purpose = "compile sliding-window attention kernels into the cubin store, and look after it",
    .date = "December 2, 2026",
    .description = description,
    .examples = examples,
    .options = option_table,
    .num_options = sizeof option_table / sizeof option_table[0],
    .exits = exits,
    .num_exits = sizeof exits / sizeof exits[0],
};

const char *warm_option_name(int field)
{
  return option_table[1 + field].name;
}

/* What tells a model's layers from each other. */
static bool is_set_by_preset(int field)
{
  return (field >= WARM_HEAD_DIM && field <= WARM_WINDOW_SIZE)
         || (field >= WARM_HEAD_DIM_V && field <= WARM_EXTRA_FORMAT) || field == WARM_SPLITS
         || field == WARM_CLUSTER_SIZE;
}

/* ---- what goes together ----------------------------------------------------------------------------------- */

enum {
  /* Any call that compiles can be asked first what it would do: all its options are taken. */
  ON_CONFIGURATIONS = 1u << WARM_COMPILE | 1u << WARM_DRY_RUN | 1u << WARM_CHECK | 1u << WARM_EXPLAIN,
  ON_ALL = (1u << WARM_NUM_COMMANDS) - 1
};

/* The commands that an option goes with, those of a configuration's fields left out. */
static const struct {
  const char *name;
  unsigned commands;
} company[] = {
    {"preset", ON_CONFIGURATIONS},    {"from", ON_CONFIGURATIONS},
    {"jobs", ON_CONFIGURATIONS},      {"nvrtc", ON_CONFIGURATIONS},
    {"keep-ptx", ON_CONFIGURATIONS},  {"dump-source", ON_CONFIGURATIONS},
    {"dump-ptx", ON_CONFIGURATIONS},  {"dry-run", 1u << WARM_DRY_RUN | 1u << WARM_PRUNE | 1u << WARM_IMPORT},
    {"set-aside", 1u << WARM_VERIFY}, {"max-age", 1u << WARM_PRUNE},
    {"max-bytes", 1u << WARM_PRUNE},  {"outdated", 1u << WARM_PRUNE},
};

static unsigned commands_of(const sj_cli_option *option)
{
  for (size_t i = 0; i < sizeof company / sizeof company[0]; i++) {
    if (strcmp(company[i].name, option->name) == 0) {
      return company[i].commands;
    }
  }
  return option->kind == SJ_CLI_LIST ? ON_CONFIGURATIONS : ON_ALL;
}

/* The one command that is asked for. --dry-run is one where no other is. */
static sj_cli_outcome choose_command(warm_options *options)
{
  const bool asked[WARM_NUM_COMMANDS] = {
      [WARM_CHECK] = options->check,
      [WARM_EXPLAIN] = options->explain,
      [WARM_LIST] = options->list,
      [WARM_SHOW] = options->show != NULL,
      [WARM_VERIFY] = options->verify,
      [WARM_PRUNE] = options->prune,
      [WARM_EXPORT] = options->export_to != NULL,
      [WARM_IMPORT] = options->import_from != NULL,
  };
  for (unsigned i = 0; i < WARM_NUM_COMMANDS; i++) {
    if (asked[i] && options->command != WARM_COMPILE) {
      return sj_cli_refuse(&warm_cli, "--%s and --%s exclude each other: run the tool once for each",
                           warm_command_names[options->command], warm_command_names[i]);
    }
    options->command = asked[i] ? (warm_command)i : options->command;
  }
  if (options->command == WARM_COMPILE && options->dry_run) {
    options->command = WARM_DRY_RUN;
  }
  return SJ_CLI_RUN;
}

static sj_cli_outcome check_company(const warm_options *options, const bool *given)
{
  for (size_t i = 0; i < sizeof option_table / sizeof option_table[0]; i++) {
    const sj_cli_option *option = &option_table[i];
    const unsigned commands = given[i] ? commands_of(option) : (unsigned)ON_ALL;
    if ((commands & 1u << options->command) != 0) {
      continue;
    }
    if (options->command != WARM_COMPILE) {
      return sj_cli_refuse(&warm_cli, "--%s does not go with --%s", option->name, warm_command_names[options->command]);
    }
    return sj_cli_refuse(&warm_cli, "--%s goes with --%s only", option->name,
                         (commands & 1u << WARM_PRUNE) != 0 ? "prune" : "verify");
  }
  return SJ_CLI_RUN;
}

static sj_cli_outcome check_configurations(const warm_options *options)
{
  if (options->from != NULL && options->preset != NULL) {
    return sj_cli_refuse(&warm_cli, "--from and --preset exclude each other: run the tool once for each");
  }
  for (int i = WARM_HEAD_DIM; i < WARM_NUM_FIELDS; i++) {
    if (options->lists[i] != NULL && options->from != NULL) {
      return sj_cli_refuse(&warm_cli, "--from excludes --%s: its lines name it", warm_option_name(i));
    }
    if (options->lists[i] != NULL && options->preset != NULL && is_set_by_preset(i)) {
      return sj_cli_refuse(&warm_cli, "--preset excludes --%s: it sets it", warm_option_name(i));
    }
  }
  return SJ_CLI_RUN;
}

static sj_cli_outcome read_limits(warm_options *options)
{
  options->max_bytes = UINT64_MAX;
  options->max_age_s = UINT64_MAX;
  if (options->max_bytes_text != NULL && !sj_number_read_bytes(options->max_bytes_text, &options->max_bytes)) {
    return sj_cli_refuse(&warm_cli, "--max-bytes is \"%s\": give a whole number, with K, M, G or T for powers of 1024",
                         options->max_bytes_text);
  }
  if (options->max_age_text != NULL && !sj_number_read_seconds(options->max_age_text, &options->max_age_s)) {
    return sj_cli_refuse(&warm_cli, "--max-age is \"%s\": give a whole number with s, min, h or d, as in 30d",
                         options->max_age_text);
  }
  if (options->export_to != NULL && strcmp(options->export_to, "-") == 0 && options->json) {
    return sj_cli_refuse(&warm_cli, "--export - and --json both want standard output: name a file for the archive");
  }
  return SJ_CLI_RUN;
}

sj_cli_outcome warm_options_read(int argc, char **argv, warm_options *options_out)
{
  warm_options options = {0};
  bool given[sizeof option_table / sizeof option_table[0]];
  sj_cli_outcome outcome = sj_cli_read(&warm_cli, argc, argv, &options, given);
  if (outcome == SJ_CLI_RUN) {
    outcome = choose_command(&options);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = check_company(&options, given);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = check_configurations(&options);
  }
  if (outcome == SJ_CLI_RUN) {
    outcome = read_limits(&options);
  }
  if (outcome != SJ_CLI_RUN) {
    return outcome;
  }
  if (options.jobs == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    options.jobs = online > 0 ? (uint64_t)online : 1;
  }
  *options_out = options;
  return SJ_CLI_RUN;
}
