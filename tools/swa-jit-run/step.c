/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"

enum {
  POISON = 0xFF, /* a NaN in bf16 and float32 that no arithmetic makes */
  GUARD_BYTES = 256,
  NUM_GETS = 1000,
  MOST_CLUSTER_HEADS = 16, /* what a kernel of clusters takes: docs/parameters.md */
  CLUSTER_TILE = 128
};

typedef struct stage {
  run_problem *problem;
  sj_device *device;
  const swa_jit_kernel *kernel;
  swa_jit_decode_args args; /* device pointers */
  sj_address addresses[RUN_NUM_TENSORS];
  sj_address workspace; /* 0: a kernel without splits */
  sj_stream stream;
  sj_event begin, end;
} stage;

static bool complain(const char *message)
{
  fprintf(stderr, "%s: %s\n", run_cli.name, message);
  return false;
}

static bool complain_status(swa_jit_status status)
{
  fprintf(stderr, "%s: %s (%s)\n", run_cli.name, swa_jit_message(), swa_jit_status_name(status));
  return false;
}

static double now_us(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static run_outcome complain_configuration(swa_jit_status status)
{
  complain_status(status);
  return status == SWA_JIT_INVALID ? RUN_WRONG_USE : RUN_BAD;
}

/* After the rest of the configuration, which the choice follows. */
static swa_jit_status set_num_splits(run_problem *problem, const run_options *options, uint32_t num_sms)
{
  problem->num_splits = options->num_splits;
  return options->num_splits != SJ_SPLITS_PICK
             ? SWA_JIT_OK
             : swa_jit_pick_splits(&problem->config, problem->num_tokens, problem->num_heads,
                                   problem->pools[RUN_POOL_K].num_kv_heads, num_sms, &problem->num_splits);
}

/* Over what was picked. Clusters that the user asks for take fewer heads, and one tile. */
static void set_given(const run_options *options, swa_jit_config *config)
{
  bool is_by_hand = options->head_group != 0 || options->kv_tile != 0;
  if (options->has_cluster_size || is_by_hand) {
    config->cluster_size = (uint32_t)options->cluster_size;
  }
  if (options->cluster_size != 0) {
    config->head_group = config->head_group > MOST_CLUSTER_HEADS ? MOST_CLUSTER_HEADS : config->head_group;
    config->kv_tile = CLUSTER_TILE;
  }
  config->head_group = options->head_group != 0 ? (uint32_t)options->head_group : config->head_group;
  config->kv_tile = options->kv_tile != 0 ? (uint32_t)options->kv_tile : config->kv_tile;
}

run_outcome run_step_configure(run_problem *problem, const run_options *options, uint32_t arch, uint32_t num_sms)
{
  swa_jit_config *config = &problem->config;
  config->arch = arch;
  uint32_t num_kv_heads = problem->pools[RUN_POOL_K].num_kv_heads;
  uint64_t num_tokens = (uint64_t)problem->num_tokens * num_kv_heads; /* as swa_jit_pick counts them */
  swa_jit_status status = swa_jit_pick(num_tokens < UINT32_MAX ? (uint32_t)num_tokens : UINT32_MAX,
                                       problem->num_heads / num_kv_heads, num_sms, config);
  if (status != SWA_JIT_OK) {
    return complain_configuration(status);
  }
  set_given(options, config);
  status = swa_jit_config_check(config, NULL);
  if (status == SWA_JIT_OK) {
    status = set_num_splits(problem, options, num_sms);
  }
  return status == SWA_JIT_OK ? RUN_GOOD : complain_configuration(status);
}

/* ---- device memory ---------------------------------------------------------------------------------------- */

/* Inputs as they are; results poisoned, with a guard behind them. */
static bool fill_device(stage *s)
{
  for (int i = 0; i < RUN_NUM_TENSORS; i++) {
    run_tensor tensor = s->problem->tensors[i];
    size_t guard = i >= RUN_OUT ? GUARD_BYTES : 0;
    if (tensor.bytes == 0) {
      continue;
    }
    if (!sj_device_alloc(s->device, tensor.bytes + guard, &s->addresses[i])) {
      return complain(s->device->message);
    }
    bool filled = i >= RUN_OUT ? sj_device_fill(s->device, s->addresses[i], POISON, tensor.bytes + guard)
                               : sj_device_write(s->device, s->addresses[i], tensor.data, tensor.bytes);
    if (!filled) {
      return complain(s->device->message);
    }
  }
  void *pointers[RUN_NUM_TENSORS];
  for (int i = 0; i < RUN_NUM_TENSORS; i++) {
    pointers[i] = (void *)(uintptr_t)s->addresses[i];
  }
  run_problem_args(s->problem, pointers, &s->args);
  return true;
}

/* Zeroed, with a guard behind it; after the kernel and the arguments. */
static bool make_workspace(stage *s, run_step_result *step)
{
  if (s->problem->config.splits == 0) {
    return true;
  }
  uint64_t *bytes = &s->args.workspace_bytes;
  swa_jit_status status = swa_jit_workspace_bytes(s->kernel, s->args.num_tokens, s->args.num_heads,
                                                  s->args.num_kv_heads, s->args.num_splits, bytes);
  if (status != SWA_JIT_OK) {
    return complain_status(status);
  }
  if (!sj_device_alloc(s->device, *bytes + GUARD_BYTES, &s->workspace)
      || !sj_device_fill(s->device, s->workspace, 0, *bytes)
      || !sj_device_fill(s->device, s->workspace + *bytes, POISON, GUARD_BYTES)) {
    return complain(s->device->message);
  }
  s->args.workspace = (void *)(uintptr_t)s->workspace;
  step->workspace_bytes = *bytes;
  return true;
}

static bool check_guard(stage *s, sj_address end, run_step_result *step)
{
  uint8_t guard[GUARD_BYTES];
  if (!sj_device_read(s->device, guard, end, sizeof guard)) {
    return complain(s->device->message);
  }
  for (int byte = 0; byte < GUARD_BYTES; byte++) {
    step->wrote_past_end = step->wrote_past_end || guard[byte] != POISON;
  }
  return true;
}

static bool read_results(stage *s, run_step_result *step)
{
  for (int i = RUN_OUT; i < RUN_NUM_TENSORS; i++) {
    run_tensor tensor = s->problem->tensors[i];
    if (tensor.bytes == 0) {
      continue;
    }
    if (!sj_device_read(s->device, tensor.data, s->addresses[i], tensor.bytes)) {
      return complain(s->device->message);
    }
    if (!check_guard(s, s->addresses[i] + tensor.bytes, step)) {
      return false;
    }
  }
  if (s->workspace != 0 && !check_guard(s, s->workspace + step->workspace_bytes, step)) {
    return false;
  }
  const uint16_t *out = s->problem->tensors[RUN_OUT].data;
  for (size_t i = 0; i < s->problem->tensors[RUN_OUT].bytes / sizeof *out; i++) {
    step->num_unwritten_out += out[i] == 0xFFFF;
  }
  const uint32_t *lse = s->problem->tensors[RUN_LSE].data;
  for (size_t i = 0; i < s->problem->tensors[RUN_LSE].bytes / sizeof *lse; i++) {
    step->num_unwritten_lse += lse[i] == 0xFFFFFFFF;
  }
  return true;
}

static void free_device(stage *s)
{
  for (int i = 0; i < RUN_NUM_TENSORS; i++) {
    sj_device_free(s->device, s->addresses[i]);
  }
  sj_device_free(s->device, s->workspace);
  sj_event_destroy(s->device, s->begin);
  sj_event_destroy(s->device, s->end);
  sj_stream_destroy(s->device, s->stream);
}

/* ---- kernel and launches ---------------------------------------------------------------------------------- */

static bool get_kernel(stage *s, swa_jit_lib *lib, run_step_result *step)
{
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  double start = now_us();
  swa_jit_status status = swa_jit_kernel_get(lib, &s->problem->config, &s->kernel);
  step->get_us = now_us() - start;
  if (status == SWA_JIT_OK) {
    status = swa_jit_stats_get(lib, &stats);
  }
  if (status != SWA_JIT_OK) {
    return complain_status(status);
  }
  step->load_us = (double)stats.load_ns * 1e-3;
  start = now_us();
  for (int i = 0; i < NUM_GETS; i++) {
    status = swa_jit_kernel_get(lib, &s->problem->config, &s->kernel);
    if (status != SWA_JIT_OK) {
      return complain_status(status);
    }
  }
  step->again_ns = (now_us() - start) * 1e3 / NUM_GETS;
  step->info = (swa_jit_kernel_info)SWA_JIT_KERNEL_INFO_INIT;
  status = swa_jit_kernel_get_info(s->kernel, &step->info);
  return status == SWA_JIT_OK || complain_status(status);
}

static bool launch(stage *s)
{
  swa_jit_status status = swa_jit_decode(s->kernel, &s->args, s->stream);
  return status == SWA_JIT_OK || complain_status(status);
}

static int compare_times(const void *a, const void *b)
{
  double difference = *(const double *)a - *(const double *)b;
  return (difference > 0.0) - (difference < 0.0);
}

static double median(double *times, size_t count)
{
  qsort(times, count, sizeof *times, compare_times);
  return 0.5 * (times[(count - 1) / 2] + times[count / 2]);
}

static bool time_once(stage *s, double *launch_us, double *device_us)
{
  if (!sj_event_record(s->device, s->begin, s->stream)) {
    return complain(s->device->message);
  }
  double start = now_us();
  bool launched = launch(s);
  *launch_us = now_us() - start;
  if (!launched) {
    return false;
  }
  return (sj_event_record(s->device, s->end, s->stream) && sj_event_elapsed_us(s->device, s->begin, s->end, device_us))
         || complain(s->device->message);
}

static bool time_launches(stage *s, size_t count, run_step_result *step)
{
  double *launches = sj_memory_get(count, sizeof *launches);
  double *devices = sj_memory_get(count, sizeof *devices);
  bool timed = true;
  for (size_t i = 0; i < count && timed; i++) {
    timed = time_once(s, &launches[i], &devices[i]);
  }
  if (timed) {
    step->launch_us = median(launches, count);
    step->device_us = median(devices, count);
  }
  free(launches);
  free(devices);
  return timed;
}

static bool create_handles(stage *s)
{
  return (sj_stream_create(s->device, &s->stream) && sj_event_create(s->device, &s->begin)
          && sj_event_create(s->device, &s->end))
         || complain(s->device->message);
}

static bool launch_and_wait(stage *s)
{
  return launch(s) && (sj_stream_wait(s->device, s->stream) || complain(s->device->message));
}

bool run_step_launch(run_problem *problem, swa_jit_lib *lib, sj_device *device, uint64_t repeat,
                     run_step_result *step_out)
{
  stage s = {.problem = problem, .device = device};
  run_step_result step = {.repeat = repeat};
  bool done = get_kernel(&s, lib, &step) && create_handles(&s) && fill_device(&s) && make_workspace(&s, &step)
              && launch_and_wait(&s) && read_results(&s, &step) && time_launches(&s, repeat, &step);
  free_device(&s);
  if (done) {
    *step_out = step;
  }
  return done;
}
