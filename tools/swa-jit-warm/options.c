/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stddef.h>
#include <unistd.h>

const char *const warm_field_names[WARM_NUM_FIELDS] = {
    "arch",       "head_dim",  "head_group", "kv_tile", "window_size", "kv_format",
    "index_type", "lens_type", "scale_type", "lse",     "kernel",
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
    LIST(0, "arch",
         "architectures: sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a; native: the device's (default sm_100a)"),
    LIST(1, "head-dim", "elements of a row: 64, 96, 128, 192, 256, 512 (default 512)"),
    LIST(2, "head-group", "query heads per CTA: 8, 16, 32, 64, 128 (default 16)"),
    LIST(3, "kv-tile", "KV rows per pipeline stage: 16, 32, 64, 128 (default 16)"),
    LIST(4, "window-size", "most positions that a token attends to: 1 to 8192 (default 128)"),
    LIST(5, "kv-format", "how a KV row is stored: e4m3_slot (default e4m3_slot)"),
    LIST(6, "index-type", "type of indices: int32, int64 (default int32)"),
    LIST(7, "lens-type", "type of lens: int32, int64 (default int32)"),
    LIST(8, "scale-type", "type of inv_scale: float32, bfloat16 (default float32)"),
    LIST(9, "lse", "1: the kernel can write LSE; 0: it cannot (default 1)"),
    LIST(
        10, "kernel",
        "decode: a step of attention; merge: partial results to one, a kernel for every shape, for which no other list "
        "but --arch counts (default decode)"),
    TEXT(preset, "preset", "NAME",
         "deepseek-v4: head_dim 512 and window_size 128 with every head_group and kv_tile that swa_jit_pick chooses "
         "for them, and the defaults; the remaining lists apply"),
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
    if (options.lists[i] != NULL && options.preset != NULL && i <= WARM_WINDOW_SIZE) {
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
