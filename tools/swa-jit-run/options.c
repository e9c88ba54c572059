/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stddef.h>
#include <string.h>

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
#define SWITCH(member, option_name, help_text)                                                                         \
  {                                                                                                                    \
    .kind = SJ_CLI_SWITCH, .name = (option_name), .offset = offsetof(run_options, member), .help = (help_text)         \
  }
#define HEADING(text)                                                                                                  \
  {                                                                                                                    \
    .kind = SJ_CLI_HEADING, .help = (text)                                                                             \
  }

enum { FIRST_GENERATED = 1, NUM_GENERATED = 10 }; /* places in the table */

static const sj_cli_option option_table[] = {
    HEADING("Generated data"),
    NUMBER(num_tokens, "num-tokens", 1, 1000000, "query tokens of the step (default 64)"),
    NUMBER(num_heads, "num-heads", 1, 65535, "query heads (default 128)"),
    NUMBER(head_dim, "head-dim", 1, 65535, "elements of a row: 64, 96, 128, 192, 256 or 512 (default 512)"),
    NUMBER(window_size, "window-size", 1, 65535, "most positions that a token attends to: 1 to 8192 (default 128)"),
    NUMBER(block_size, "block-size", 1, 1000000, "slots of a block (default 64)"),
    NUMBER(num_blocks, "num-blocks", 1, 2147483647, "blocks of the KV pool (default: what the tokens' windows need)"),
    TEXT(index_type, "index-type", "TYPE", "type of indices: int32 or int64 (default int32)"),
    TEXT(lens_type, "lens-type", "TYPE", "type of lens: int32 or int64 (default int32)"),
    TEXT(scale_type, "scale-type", "TYPE", "type of inv_scale: float32 or bfloat16 (default float32)"),
    NUMBER(seed, "seed", 1, UINT32_MAX, "another number, other data (default 1)"),
    HEADING("Your data: five .npy files in C order, little-endian, in place of generated data"),
    TEXT(inputs[RUN_Q], "q", "FILE", "queries, bf16 as raw uint16: [num_tokens, num_heads, head_dim]"),
    TEXT(inputs[RUN_KV], "kv", "FILE", "KV pool, e4m3 codes as uint8: [num_blocks, block_size, head_dim]"),
    TEXT(inputs[RUN_INV_SCALE], "inv-scale", "FILE",
         "one scale a slot, float32 or bf16 as raw uint16: [num_blocks * block_size] or [num_blocks, block_size]"),
    TEXT(inputs[RUN_INDICES], "indices", "FILE",
         "slots that each token attends to, int32 or int64: [num_tokens, window_size]; a slot outside the pool is "
         "masked"),
    TEXT(inputs[RUN_LENS], "lens", "FILE", "how many of them count, int32 or int64: [num_tokens]"),
    HEADING("Kernel"),
    TEXT(arch, "arch", "ARCH",
         "sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a or native (default: native, or sm_100a without a device)"),
    NUMBER(head_group, "head-group", 1, 65535, "query heads per CTA: 8, 16, 32, 64 or 128 (default: swa_jit_pick's)"),
    NUMBER(kv_tile, "kv-tile", 1, 65535, "KV rows per pipeline stage: 16, 32, 64 or 128 (default: swa_jit_pick's)"),
    SWITCH(no_lse, "no-lse", "a kernel that cannot write LSE"),
    {.kind = SJ_CLI_REAL,
     .name = "scale",
     .value_name = "X",
     .offset = offsetof(run_options, scale),
     .help = "softmax scale (default 1 / sqrt(head_dim))"},
    HEADING("Results"),
    TEXT(out, "out", "FILE", "write out, bf16 as raw uint16, as a .npy file: [num_tokens, num_heads, head_dim]"),
    TEXT(lse, "lse", "FILE", "write LSE, float32, as a .npy file: [num_tokens, num_heads]"),
    SWITCH(no_check, "no-check", "do not compare with the float64 reference, which takes seconds for many tokens"),
    NUMBER(repeat, "repeat", 1, 100000, "launches that are timed (default 20)"),
    SWITCH(json, "json", "print JSON"),
    HEADING("Files"),
    TEXT(cache_dir, "cache-dir", "DIR",
         "the cubin store's folder (default: SWA_JIT_CACHE_DIR, else $XDG_CACHE_HOME/swa-jit, else ~/.cache/swa-jit)"),
    TEXT(nvrtc, "nvrtc", "FILE", "the libnvrtc to use (default: SWA_JIT_NVRTC, else a search)"),
    TEXT(cuda, "cuda", "FILE", "the libcuda to use (default: SWA_JIT_CUDA, else a search)"),
};
enum { NUM_OPTIONS = sizeof option_table / sizeof option_table[0] };

static const sj_cli_exit exits[] = {
    {0, "the step ran and its results passed"},
    {1, "the check failed, or something went wrong: the message says what"},
    {2, "the command line is wrong"},
    {3, "no device: the kernel was compiled and stored, nothing was launched or written"},
};

static const char *const description[] = {
    "Runs one decode step of sliding-window attention through the public interface of libswajit, by default of the "
    "shape "
    "that DeepSeek-V4 has: 128 heads, head_dim 512, a window of 128, blocks of 64 slots.",
    "Generated data has rows of unit root mean square in e4m3 with one scale a slot (the row's maximum / 448), bf16 "
    "queries "
    "of unit root mean square, blocks in random order, and full windows but for every fourth token, whose length is "
    "random.",
    "Every element of the results is checked to have been written, and is compared with a reference in double "
    "precision: "
    "for each head ||out - reference|| / ||reference|| is at most 3e-3, and LSE is within 1e-3. Then the step is "
    "launched "
    "again to be timed; its data is in the L2 cache by then, if it fits there. Bytes per second count queries, "
    "results, "
    "indices and the rows attended to, once a token.",
    "Without a device the kernel is compiled and stored all the same, and the tool prints \"no device: compiled for "
    "sm_100a "
    "and stored, launch skipped\".",
    NULL,
};

static const char *const examples[] = {
    "swa-jit-run",
    "swa-jit-run --num-tokens 256 --head-group 64 --kv-tile 64 --json",
    "swa-jit-run --q q.npy --kv kv.npy --inv-scale s.npy --indices i.npy --lens n.npy --out out.npy --lse lse.npy",
    NULL,
};

const sj_cli run_cli = {
    .name = "swa-jit-run",
    .purpose = "run and check one decode step of sliding-window attention",
    .date = "December 1, 2026",
    .description = description,
    .examples = examples,
    .options = option_table,
    .num_options = NUM_OPTIONS,
    .exits = exits,
    .num_exits = sizeof exits / sizeof exits[0],
};

static sj_cli_outcome check_inputs(const run_options *options, const bool *given)
{
  const char *present = NULL;
  const char *missing = NULL;
  for (size_t i = 0; i < NUM_OPTIONS; i++) {
    size_t at = option_table[i].offset;
    if (at >= offsetof(run_options, inputs) && at < offsetof(run_options, inputs) + sizeof options->inputs
        && option_table[i].kind == SJ_CLI_TEXT) {
      *(given[i] ? &present : &missing) = option_table[i].name;
    }
  }
  if (present == NULL) {
    return SJ_CLI_RUN;
  }
  if (missing != NULL) {
    return sj_cli_refuse(&run_cli, "--%s is given without --%s: give all five files, or none for generated data",
                         present, missing);
  }
  for (size_t i = FIRST_GENERATED; i < FIRST_GENERATED + NUM_GENERATED; i++) {
    if (given[i]) {
      return sj_cli_refuse(&run_cli, "--%s is for generated data: your files say it", option_table[i].name);
    }
  }
  return SJ_CLI_RUN;
}

sj_cli_outcome run_options_read(int argc, char **argv, run_options *options_out)
{
  run_options options = {.num_tokens = 64,
                         .num_heads = 128,
                         .head_dim = 512,
                         .window_size = 128,
                         .block_size = 64,
                         .index_type = "int32",
                         .lens_type = "int32",
                         .scale_type = "float32",
                         .seed = 1,
                         .repeat = 20};
  bool given[NUM_OPTIONS] = {false};
  sj_cli_outcome outcome = sj_cli_read(&run_cli, argc, argv, &options, given);
  if (outcome == SJ_CLI_RUN) {
    outcome = check_inputs(&options, given);
  }
  if (outcome != SJ_CLI_RUN) {
    return outcome;
  }
  for (size_t i = 0; i < NUM_OPTIONS; i++) {
    options.has_scale = options.has_scale || (given[i] && option_table[i].kind == SJ_CLI_REAL);
  }
  if (options.no_lse && options.lse != NULL) {
    return sj_cli_refuse(&run_cli, "--lse asks for what --no-lse leaves out: drop one of them");
  }
  *options_out = options;
  return SJ_CLI_RUN;
}
