/* SPDX-License-Identifier: Apache-2.0 */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "generate.h"
#include "kv_formats.h"
#include "memory.h"
#include "scope.h"

enum { ROW_ALIGNMENT = 16, MOST_USUAL_EXTRA_SLOTS = 65536 };

static size_t int_bytes(uint32_t type)
{
  return type == SWA_JIT_INT64 ? 8 : 4;
}

static bool complain(const char *message)
{
  fprintf(stderr, "%s: %s\n", run_cli.name, message);
  return false;
}

/* ---- pools ------------------------------------------------------------------------------------------------ */

enum run_input run_pool_rows(enum run_pool_kind kind)
{
  static const enum run_input rows[RUN_NUM_POOLS] = {RUN_KV, RUN_V, RUN_EXTRA_KV};
  return rows[kind];
}

enum run_input run_pool_scales(enum run_pool_kind kind)
{
  static const enum run_input scales[RUN_NUM_POOLS] = {RUN_INV_SCALE, RUN_V_INV_SCALE, RUN_EXTRA_INV_SCALE};
  return scales[kind];
}

uint64_t run_pool_block_bytes(const run_pool *pool)
{
  return pool->num_kv_heads * sj_reference_block_bytes(pool->kv_format, pool->head_dim, pool->block_size);
}

static uint64_t slot_scale_bytes(const run_pool *pool, uint32_t scale_type)
{
  size_t scale_bytes = scale_type == SWA_JIT_BFLOAT16 ? 2 : 4;
  return pool->kv_format == SWA_JIT_KV_E4M3_SLOT ? pool->num_kv_heads * scale_bytes : 0;
}

uint64_t run_pool_slot_bytes(const run_pool *pool, uint32_t scale_type)
{
  return run_pool_block_bytes(pool) / pool->block_size + slot_scale_bytes(pool, scale_type);
}

static bool check_pool(const run_pool *pool, const char *block_size_name)
{
  uint64_t bytes = run_pool_block_bytes(pool);
  if (pool->num_blocks > 1 && bytes % ROW_ALIGNMENT != 0) {
    fprintf(stderr,
            "%s: %s is %u: its packed blocks of %llu bytes do not begin at multiples of %d; use an even number of "
            "slots\n",
            run_cli.name, block_size_name, pool->block_size, (unsigned long long)bytes, ROW_ALIGNMENT);
    return false;
  }
  return true;
}

/* ---- the problem ------------------------------------------------------------------------------------------ */

/* Runs of positions lie anywhere in their blocks, so each may touch one block more than it fills. */
static uint64_t needed_blocks(uint64_t num_tokens, uint64_t size, uint64_t block_size)
{
  return num_tokens * ((size + block_size - 1) / block_size + 1);
}

static void set_usual_blocks(run_options *options)
{
  if (options->num_blocks == 0) {
    options->num_blocks = needed_blocks(options->num_tokens, options->window_size, options->block_size);
  }
  if (options->extra_size != 0 && options->extra_num_blocks == 0) { /* compressed KV may be long: tokens share it */
    uint64_t needed = needed_blocks(options->num_tokens, options->extra_size, options->extra_block_size);
    uint64_t most = (MOST_USUAL_EXTRA_SLOTS + options->extra_block_size - 1) / options->extra_block_size;
    options->extra_num_blocks = needed < most ? needed : most;
  }
}

/* The library reads the values itself, so that names, limits and messages are its own. */
static bool make_config(const run_options *options, swa_jit_config *config_out)
{
  char text[1024];
  *config_out = (swa_jit_config)SWA_JIT_CONFIG_INIT;
  int length = snprintf(text, sizeof text,
                        "head_dim=%llu head_dim_v=%llu window_size=%llu kv_format=%.64s index_type=%.64s "
                        "lens_type=%.64s scale_type=%.64s lse=%d sinks=%d soft_cap=%d splits=%d extra_size=%llu",
                        (unsigned long long)options->head_dim, (unsigned long long)options->head_dim_v,
                        (unsigned long long)options->window_size, options->kv_format, options->index_type,
                        options->lens_type, options->scale_type, options->no_lse ? 0 : 1, options->with_sinks ? 1 : 0,
                        options->soft_cap > 0.0 ? 1 : 0, options->num_splits != 0 ? 1 : 0,
                        (unsigned long long)options->extra_size);
  if (options->extra_format != NULL) {
    snprintf(text + length, sizeof text - (size_t)length, " extra_format=%.64s", options->extra_format);
  }
  return swa_jit_config_from_text(text, config_out) == SWA_JIT_OK || complain(swa_jit_message());
}

static bool check_limits(const run_options *options)
{
  bool has_extra = options->extra_size != 0;
  const struct {
    const char *name;
    uint64_t value, maximum;
  } limits[] = {{"num_tokens", options->num_tokens, INT32_MAX},
                {"num_heads", options->num_heads, 65535},
                {"num_kv_heads", options->num_kv_heads, 65535},
                {"block_size", options->block_size, INT32_MAX},
                {"num_blocks", options->num_blocks, INT32_MAX},
                {"num_blocks * block_size", options->num_blocks * options->block_size, INT32_MAX},
                {"extra_block_size", options->extra_block_size, INT32_MAX},
                {"extra_num_blocks", has_extra ? options->extra_num_blocks : 1, INT32_MAX},
                {"extra_num_blocks * extra_block_size",
                 has_extra ? options->extra_num_blocks * options->extra_block_size : 1, INT32_MAX}};
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    if (limits[i].value < 1 || limits[i].value > limits[i].maximum) {
      fprintf(stderr, "%s: %s is %llu: it is from 1 to %llu\n", run_cli.name, limits[i].name,
              (unsigned long long)limits[i].value, (unsigned long long)limits[i].maximum);
      return false;
    }
  }
  if (options->num_heads % options->num_kv_heads != 0) {
    fprintf(stderr, "%s: num_heads is %llu, and num_kv_heads %llu: use a multiple of num_kv_heads\n", run_cli.name,
            (unsigned long long)options->num_heads, (unsigned long long)options->num_kv_heads);
    return false;
  }
  return true;
}

/* What a launch would refuse, said before anything is compiled. */
static bool check_together(const run_problem *problem)
{
  const run_pool *k = &problem->pools[RUN_POOL_K];
  const char *why = problem->config.extra_size != 0                  ? "an extra scope"
                    : sj_reference_find_footer(k->kv_format) != NULL ? "a footer format"
                                                                     : NULL;
  if (k->num_kv_heads > 1 && why != NULL) {
    fprintf(stderr, "%s: num_kv_heads is %u: with %s there is 1 KV head; use one\n", run_cli.name, k->num_kv_heads,
            why);
    return false;
  }
  return check_pool(k, "block_size")
         && (problem->config.extra_size == 0 || check_pool(&problem->pools[RUN_POOL_EXTRA], "extra_block_size"));
}

static void make_pools(const run_options *options, run_problem *problem)
{
  const swa_jit_config *config = &problem->config;
  run_pool k = {.kv_format = config->kv_format,
                .head_dim = config->head_dim,
                .num_kv_heads = (uint32_t)options->num_kv_heads,
                .block_size = (uint32_t)options->block_size,
                .num_blocks = options->num_blocks,
                .scale = (float)options->kv_scale};
  problem->pools[RUN_POOL_K] = k;
  if (config->head_dim_v != 0) {
    problem->pools[RUN_POOL_V] = k;
    problem->pools[RUN_POOL_V].head_dim = config->head_dim_v;
    problem->pools[RUN_POOL_V].scale = (float)options->v_scale;
  }
  if (config->extra_size != 0) {
    problem->pools[RUN_POOL_EXTRA] = (run_pool){.kv_format = config->extra_format,
                                                .head_dim = config->head_dim,
                                                .num_kv_heads = 1,
                                                .block_size = (uint32_t)options->extra_block_size,
                                                .num_blocks = options->extra_num_blocks,
                                                .scale = (float)options->extra_scale};
  }
}

static void take_files(run_problem *problem)
{
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    problem->tensors[i].bytes = problem->files[i].data_bytes;
    problem->tensors[i].data = (void *)(uintptr_t)problem->files[i].data;
  }
}

static void measure_inputs(run_problem *problem)
{
  const swa_jit_config *config = &problem->config;
  run_tensor *tensors = problem->tensors;
  size_t num_tokens = problem->num_tokens;
  tensors[RUN_Q].bytes = num_tokens * problem->num_heads * config->head_dim * 2;
  tensors[RUN_INDICES].bytes = num_tokens * config->window_size * int_bytes(config->index_type);
  tensors[RUN_LENS].bytes = num_tokens * int_bytes(config->lens_type);
  tensors[RUN_SINKS].bytes = config->sinks != 0 ? problem->num_heads * sizeof(float) : 0;
  for (enum run_pool_kind kind = 0; kind < RUN_NUM_POOLS; kind++) {
    const run_pool *pool = &problem->pools[kind];
    tensors[run_pool_rows(kind)].bytes = pool->num_blocks * run_pool_block_bytes(pool);
    tensors[run_pool_scales(kind)].bytes =
        pool->num_blocks * pool->block_size * slot_scale_bytes(pool, config->scale_type);
  }
  if (config->extra_size != 0) {
    tensors[RUN_EXTRA_INDICES].bytes = num_tokens * config->extra_size * int_bytes(config->index_type);
    tensors[RUN_EXTRA_LENS].bytes = num_tokens * int_bytes(config->lens_type);
  }
}

run_outcome run_problem_make(const run_options *given, run_problem *problem_out)
{
  run_options options = *given;
  run_problem problem = {0};
  bool has_files = options.mode == RUN_FILES;
  run_outcome failure = has_files ? RUN_BAD : RUN_WRONG_USE;
  bool made = !has_files || run_files_read(&options, problem.files);
  if (made && !has_files) {
    set_usual_blocks(&options);
  }
  made = made && check_limits(&options) && make_config(&options, &problem.config);
  if (made) {
    problem.num_tokens = (uint32_t)options.num_tokens;
    problem.num_heads = (uint32_t)options.num_heads;
    make_pools(&options, &problem);
    made = check_together(&problem);
  }
  if (!made) {
    run_problem_finish(&problem);
    return failure;
  }
  problem.scale = (float)(options.has_scale ? options.scale : 1.0 / sqrt((double)options.head_dim));
  problem.soft_cap = (float)options.soft_cap;
  problem.lse_form = options.lse_form;
  problem.flags = options.dependent ? SWA_JIT_DECODE_DEPENDENT : 0;
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
    if (problem->tensors[i].bytes != 0) {
      problem->tensors[i].data = sj_memory_get(problem->tensors[i].bytes, 1);
    }
  }
  run_generate(problem);
}

uint32_t run_problem_out_dim(const run_problem *problem)
{
  return problem->config.head_dim_v != 0 ? problem->config.head_dim_v : problem->config.head_dim;
}

void run_problem_make_results(run_problem *problem)
{
  size_t num_rows = (size_t)problem->num_tokens * problem->num_heads;
  problem->tensors[RUN_OUT].bytes = num_rows * run_problem_out_dim(problem) * 2;
  problem->tensors[RUN_LSE].bytes = problem->config.lse != 0 ? num_rows * sizeof(float) : 0;
  for (int i = RUN_OUT; i < RUN_NUM_TENSORS; i++) {
    problem->tensors[i].data = problem->tensors[i].bytes != 0 ? sj_memory_get(problem->tensors[i].bytes, 1) : NULL;
  }
}

/* ---- arguments -------------------------------------------------------------------------------------------- */

static void set_pointers(void *const *pointers, swa_jit_decode_args *args)
{
  args->q = pointers[RUN_Q];
  args->kv = pointers[RUN_KV];
  args->inv_scale = pointers[RUN_INV_SCALE];
  args->indices = pointers[RUN_INDICES];
  args->lens = pointers[RUN_LENS];
  args->sinks = pointers[RUN_SINKS];
  args->v = pointers[RUN_V];
  args->v_inv_scale = pointers[RUN_V_INV_SCALE];
  args->v_indices = pointers[RUN_V_INDICES];
  args->extra_kv = pointers[RUN_EXTRA_KV];
  args->extra_inv_scale = pointers[RUN_EXTRA_INV_SCALE];
  args->extra_indices = pointers[RUN_EXTRA_INDICES];
  args->extra_lens = pointers[RUN_EXTRA_LENS];
  args->out = pointers[RUN_OUT];
  args->lse = pointers[RUN_LSE];
}

void run_problem_args(const run_problem *problem, void *const *pointers, swa_jit_decode_args *args_out)
{
  const run_pool *k = &problem->pools[RUN_POOL_K];
  const run_pool *extra = &problem->pools[RUN_POOL_EXTRA];
  void *host[RUN_NUM_TENSORS];
  for (int i = 0; i < RUN_NUM_TENSORS; i++) {
    host[i] = problem->tensors[i].data;
  }
  swa_jit_decode_args_init(args_out);
  args_out->num_tokens = problem->num_tokens;
  args_out->num_heads = problem->num_heads;
  args_out->num_kv_heads = k->num_kv_heads;
  args_out->block_size = k->block_size;
  args_out->num_blocks = k->num_blocks;
  args_out->kv_scale = k->scale;
  args_out->v_scale = problem->pools[RUN_POOL_V].scale;
  if (extra->num_blocks != 0) {
    args_out->extra_block_size = extra->block_size;
    args_out->extra_num_blocks = extra->num_blocks;
    args_out->extra_scale = extra->scale;
  }
  args_out->scale = problem->scale;
  args_out->soft_cap = problem->soft_cap;
  args_out->lse_form = problem->lse_form;
  args_out->flags = problem->flags;
  args_out->num_splits = problem->num_splits;
  set_pointers(pointers != NULL ? pointers : host, args_out);
}

/* ---- bytes ------------------------------------------------------------------------------------------------ */

/* Of a scope's rows and indices. */
static double scope_bytes(const run_problem *problem, const sj_reference_scope *scope, uint64_t slot_bytes,
                          size_t num_tables)
{
  uint64_t num_positions = 0;
  uint64_t num_rows = 0;
  int64_t slot = 0;
  int64_t v_slot = 0;
  for (uint32_t token = 0; token < problem->num_tokens; token++) {
    uint32_t len = sj_reference_scope_len(scope, token);
    num_positions += len;
    for (uint32_t position = 0; position < len; position++) {
      num_rows += sj_reference_position(scope, token, position, &slot, &v_slot);
    }
  }
  return (double)(num_positions * num_tables * int_bytes(problem->config.index_type)) + (double)(num_rows * slot_bytes);
}

double run_problem_bytes_moved(const run_problem *problem)
{
  static const int whole[] = {RUN_Q, RUN_LENS, RUN_SINKS, RUN_EXTRA_LENS, RUN_OUT, RUN_LSE};
  uint32_t scale_type = problem->config.scale_type;
  swa_jit_decode_args args;
  double bytes = 0.0;
  run_problem_args(problem, NULL, &args);
  for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
    bytes += (double)problem->tensors[whole[i]].bytes;
  }
  sj_reference_scope window = sj_reference_window(&problem->config, &args);
  uint64_t slot_bytes = run_pool_slot_bytes(&problem->pools[RUN_POOL_K], scale_type);
  if (problem->config.head_dim_v != 0) {
    slot_bytes += run_pool_slot_bytes(&problem->pools[RUN_POOL_V], scale_type);
  }
  bytes += scope_bytes(problem, &window, slot_bytes, problem->tensors[RUN_V_INDICES].bytes != 0 ? 2 : 1);
  if (problem->config.extra_size != 0) {
    sj_reference_scope extra = sj_reference_extra(&problem->config, &args);
    bytes += scope_bytes(problem, &extra, run_pool_slot_bytes(&problem->pools[RUN_POOL_EXTRA], scale_type), 1);
  }
  return bytes;
}

void run_problem_finish(run_problem *problem)
{
  for (int i = 0; i < RUN_NUM_TENSORS; i++) {
    if (problem->seed != 0 || i >= RUN_NUM_INPUTS) {
      free(problem->tensors[i].data);
    }
  }
  for (int i = 0; i < RUN_NUM_INPUTS; i++) {
    sj_npy_finish(&problem->files[i]);
  }
  *problem = (run_problem){0};
}
