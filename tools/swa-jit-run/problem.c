/* SPDX-License-Identifier: Apache-2.0 */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "memory.h"
#include "reference.h"

enum { MESSAGE_SIZE = 1024 };

static size_t index_bytes(uint32_t type)
{
  return type == SWA_JIT_INT64 ? 8 : 4;
}

static size_t scale_bytes(const run_problem *problem)
{
  return problem->config.scale_type == SWA_JIT_BFLOAT16 ? 2 : 4;
}

static bool complain(const char *message)
{
  fprintf(stderr, "%s: %s\n", run_cli.name, message);
  return false;
}

/* ---- the user's files ------------------------------------------------------------------------------------- */

/* Whether dimension at of one file is wanted, which is another's or the product of two. */
static bool match(const run_options *options, const sj_npy *files, enum run_input which, unsigned at, uint64_t wanted,
                  const char *name)
{
  char shape[200];
  if (files[which].shape[at] == wanted) {
    return true;
  }
  sj_npy_shape_text(files[which].shape, files[which].num_dims, shape, sizeof shape);
  fprintf(stderr, "%s: %s: the shape is %s: its dimension %u must be %llu, the other files' %s\n", run_cli.name,
          options->inputs[which], shape, at, (unsigned long long)wanted, name);
  return false;
}

static bool match_shapes(const run_options *options, const sj_npy *files)
{
  const uint64_t *q = files[RUN_Q].shape;
  const uint64_t *kv = files[RUN_KV].shape;
  bool is_flat = files[RUN_INV_SCALE].num_dims == 1;
  if (!match(options, files, RUN_KV, 2, q[2], "head_dim") || !match(options, files, RUN_INDICES, 0, q[0], "num_tokens")
      || !match(options, files, RUN_LENS, 0, q[0], "num_tokens")) {
    return false;
  }
  if (is_flat) {
    return match(options, files, RUN_INV_SCALE, 0, kv[0] * kv[1], "num_blocks * block_size");
  }
  return match(options, files, RUN_INV_SCALE, 0, kv[0], "num_blocks")
         && match(options, files, RUN_INV_SCALE, 1, kv[1], "block_size");
}

static bool read_files(const run_options *options, sj_npy *files)
{
  static const struct {
    const char *types;
    unsigned num_dims;
  } wanted[RUN_NUM_INPUTS] = {{"u2,V2", 3}, {"u1,V1", 3}, {"f4,u2,V2", 1}, {"i4,i8", 2}, {"i4,i8", 1}};
  char message[MESSAGE_SIZE];
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    if (!sj_npy_read(options->inputs[i], &files[i], message, sizeof message)) {
      return complain(message);
    }
    unsigned num_dims = i == RUN_INV_SCALE && files[i].num_dims == 2 ? 2 : wanted[i].num_dims;
    if (!sj_npy_expect(&files[i], options->inputs[i], wanted[i].types, num_dims, message, sizeof message)) {
      return complain(message);
    }
  }
  return match_shapes(options, files);
}

/* The dimensions and types of files as if they had been given as options. */
static void describe_files(const sj_npy *files, run_options *options)
{
  options->num_tokens = files[RUN_Q].shape[0];
  options->num_heads = files[RUN_Q].shape[1];
  options->head_dim = files[RUN_Q].shape[2];
  options->num_blocks = files[RUN_KV].shape[0];
  options->block_size = files[RUN_KV].shape[1];
  options->window_size = files[RUN_INDICES].shape[1];
  options->index_type = files[RUN_INDICES].type[1] == '8' ? "int64" : "int32";
  options->lens_type = files[RUN_LENS].type[1] == '8' ? "int64" : "int32";
  options->scale_type = files[RUN_INV_SCALE].type[0] == 'f' ? "float32" : "bfloat16";
}

/* ---- the problem ------------------------------------------------------------------------------------------ */

/* Windows lie anywhere in their blocks, so each may touch one block more than it fills. */
static uint64_t usual_num_blocks(const run_options *options)
{
  return options->num_tokens * ((options->window_size + options->block_size - 1) / options->block_size + 1);
}

/* The library reads the values itself, so that names, limits and messages are its own. */
static bool make_config(const run_options *options, swa_jit_config *config_out)
{
  char text[512];
  *config_out = (swa_jit_config)SWA_JIT_CONFIG_INIT;
  snprintf(text, sizeof text, "head_dim=%llu window_size=%llu index_type=%.64s lens_type=%.64s scale_type=%.64s lse=%d",
           (unsigned long long)options->head_dim, (unsigned long long)options->window_size, options->index_type,
           options->lens_type, options->scale_type, options->no_lse ? 0 : 1);
  return swa_jit_config_from_text(text, config_out) == SWA_JIT_OK || complain(swa_jit_message());
}

static bool check_limits(const run_options *options)
{
  const struct {
    const char *name;
    uint64_t value, maximum;
  } limits[] = {{"num_tokens", options->num_tokens, INT32_MAX},
                {"num_heads", options->num_heads, 65535},
                {"block_size", options->block_size, INT32_MAX},
                {"num_blocks", options->num_blocks, INT32_MAX},
                {"num_blocks * block_size", options->num_blocks * options->block_size, INT32_MAX}};
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    if (limits[i].value < 1 || limits[i].value > limits[i].maximum) {
      fprintf(stderr, "%s: %s is %llu: it is from 1 to %llu\n", run_cli.name, limits[i].name,
              (unsigned long long)limits[i].value, (unsigned long long)limits[i].maximum);
      return false;
    }
  }
  return true;
}

static void take_files(run_problem *problem)
{
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    problem->inputs[i].bytes = problem->files[i].data_bytes;
    problem->inputs[i].data = (void *)(uintptr_t)problem->files[i].data;
  }
}

static void measure_inputs(run_problem *problem)
{
  size_t num_slots = problem->num_blocks * problem->block_size;
  size_t num_tokens = problem->num_tokens;
  problem->inputs[RUN_Q].bytes = num_tokens * problem->num_heads * problem->config.head_dim * 2;
  problem->inputs[RUN_KV].bytes = num_slots * problem->config.head_dim;
  problem->inputs[RUN_INV_SCALE].bytes = num_slots * scale_bytes(problem);
  problem->inputs[RUN_INDICES].bytes =
      num_tokens * problem->config.window_size * index_bytes(problem->config.index_type);
  problem->inputs[RUN_LENS].bytes = num_tokens * index_bytes(problem->config.lens_type);
}

run_outcome run_problem_make(const run_options *given, run_problem *problem_out)
{
  run_options options = *given;
  run_problem problem = {0};
  bool has_files = options.inputs[0] != NULL;
  run_outcome failure = has_files ? RUN_BAD : RUN_WRONG_USE;
  bool made = !has_files || read_files(&options, problem.files);
  if (made && has_files) {
    describe_files(problem.files, &options);
  } else if (made && options.num_blocks == 0) {
    options.num_blocks = usual_num_blocks(&options);
  }
  made = made && check_limits(&options) && make_config(&options, &problem.config);
  if (!made) {
    run_problem_finish(&problem);
    return failure;
  }
  problem.num_tokens = (uint32_t)options.num_tokens;
  problem.num_heads = (uint32_t)options.num_heads;
  problem.block_size = (uint32_t)options.block_size;
  problem.num_blocks = options.num_blocks;
  problem.scale = (float)(options.has_scale ? options.scale : 1.0 / sqrt((double)options.head_dim));
  problem.seed = has_files ? 0 : options.seed;
  if (has_files) {
    take_files(&problem);
  } else {
    measure_inputs(&problem);
  }
  *problem_out = problem;
  return RUN_GOOD;
}

void run_problem_generate(run_problem *problem)
{
  if (problem->seed == 0) {
    return;
  }
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    problem->inputs[i].data = sj_memory_get(problem->inputs[i].bytes, 1);
  }
  run_generate(problem);
}

void run_problem_make_results(run_problem *problem)
{
  size_t num_rows = (size_t)problem->num_tokens * problem->num_heads;
  problem->out.bytes = num_rows * problem->config.head_dim * 2;
  problem->out.data = sj_memory_get(problem->out.bytes, 1);
  if (problem->config.lse != 0) {
    problem->lse.bytes = num_rows * 4;
    problem->lse.data = sj_memory_get(problem->lse.bytes, 1);
  }
}

void run_problem_args(const run_problem *problem, swa_jit_decode_args *args_out)
{
  swa_jit_decode_args_init(args_out);
  args_out->num_tokens = problem->num_tokens;
  args_out->num_heads = problem->num_heads;
  args_out->block_size = problem->block_size;
  args_out->num_blocks = problem->num_blocks;
  args_out->q = problem->inputs[RUN_Q].data;
  args_out->kv = problem->inputs[RUN_KV].data;
  args_out->inv_scale = problem->inputs[RUN_INV_SCALE].data;
  args_out->indices = problem->inputs[RUN_INDICES].data;
  args_out->lens = problem->inputs[RUN_LENS].data;
  args_out->out = problem->out.data;
  args_out->lse = problem->lse.data;
  args_out->scale = problem->scale;
}

double run_problem_bytes_moved(const run_problem *problem)
{
  swa_jit_decode_args args;
  uint64_t num_positions = 0;
  uint64_t num_rows = 0;
  run_problem_args(problem, &args);
  for (uint32_t token = 0; token < problem->num_tokens; token++) {
    uint32_t len = sj_reference_len(&problem->config, &args, token);
    num_positions += len;
    for (uint32_t position = 0; position < len; position++) {
      num_rows += sj_reference_slot(&problem->config, &args, token, position) >= 0;
    }
  }
  return (double)problem->inputs[RUN_Q].bytes + (double)problem->out.bytes + (double)problem->lse.bytes
         + (double)problem->inputs[RUN_LENS].bytes + (double)(num_positions * index_bytes(problem->config.index_type))
         + (double)(num_rows * (problem->config.head_dim + scale_bytes(problem)));
}

void run_problem_finish(run_problem *problem)
{
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    if (problem->seed != 0) {
      free(problem->inputs[i].data);
    }
    sj_npy_finish(&problem->files[i]);
  }
  free(problem->out.data);
  free(problem->lse.data);
  *problem = (run_problem){0};
}
