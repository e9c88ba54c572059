/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stddef.h>
#include <unistd.h>

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
    TEXT(preset, "preset", "NAME",
         "the kernels of a model's layers, their heads on 1 to 16 devices, with every head_group and kv_tile that "
         "swa_jit_pick chooses, and with splits where swa_jit_pick_splits asks for them: deepseek-v4, deepseek-v4-pro, "
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
    TEXT(nvrtc, "nvrtc", "FILE", "the libnvrtc to use (default: SWA_JIT_NVRTC, else a search)"),
    SWITCH(dry_run, "dry-run",
           "compile nothing: say each entry's file name and whether the store holds it; a missing one is no failure"),
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
        "standard output or the device of --arch native cannot be used"},
    {2, "the command line or the file of --from is wrong; nothing was compiled"},
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
    "to standard error.",
    NULL,
};

static const char *const examples[] = {
    "swa-jit-warm --preset deepseek-v4 --arch sm_90a,sm_100a --cache-dir /opt/app/cubins",
    "swa-jit-warm --preset gpt-oss --arch native --kv-format bf16,e4m3",
    "swa-jit-warm --kv-format footer_584 --sinks 0,1 --extra-size 0,512 --extra-format footer_584 --kv-tile 64",
    "swa-jit-warm --kv-format bf16 --head-dim 128 --head-dim-v 128 --window-size 4096 --splits 0,1",
    "swa-jit-warm --head-group 16,32,64 --kv-tile 16,64 --dry-run",
    "SWA_JIT_RECORD=wanted.txt app; swa-jit-warm --from wanted.txt --arch sm_100a",
    NULL,
};

const sj_cli warm_cli = {
    .name = "swa-jit-warm",
    .purpose = "compile sliding-window attention kernels into the cubin store",
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
         || (field >= WARM_HEAD_DIM_V && field <= WARM_EXTRA_FORMAT) || field == WARM_SPLITS;
}

sj_cli_outcome warm_options_read(int argc, char **argv, warm_options *options_out)
{
  warm_options options = {0};
  sj_cli_outcome outcome = sj_cli_read(&warm_cli, argc, argv, &options, NULL);
  if (outcome != SJ_CLI_RUN) {
    return outcome;
  }
  if (options.from != NULL && options.preset != NULL) {
    return sj_cli_refuse(&warm_cli, "--from and --preset exclude each other: run the tool once for each");
  }
  for (int i = WARM_HEAD_DIM; i < WARM_NUM_FIELDS; i++) {
    if (options.lists[i] != NULL && options.from != NULL) {
      return sj_cli_refuse(&warm_cli, "--from excludes --%s: its lines name it", warm_option_name(i));
    }
    if (options.lists[i] != NULL && options.preset != NULL && is_set_by_preset(i)) {
      return sj_cli_refuse(&warm_cli, "--preset excludes --%s: it sets it", warm_option_name(i));
    }
  }
  if (options.jobs == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    options.jobs = online > 0 ? (uint64_t)online : 1;
  }
  *options_out = options;
  return SJ_CLI_RUN;
}
