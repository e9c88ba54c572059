/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { LEAST_LAUNCHES = 8, MOST_THREADS = 16 };

/* ---- kernels ---- */

typedef struct getting {
  swa_jit_lib *lib;
  bench_sweep *sweep;
  atomic_uint next;
} getting;

static void get_kernel(swa_jit_lib *lib, bench_kernel *kernel)
{
  swa_jit_status status = swa_jit_config_check(&kernel->config, NULL);
  kernel->state = status == SWA_JIT_UNSUPPORTED ? BENCH_REFUSED : BENCH_FAILED;
  if (status == SWA_JIT_OK) {
    status = swa_jit_kernel_get(lib, &kernel->config, &kernel->kernel);
  }
  if (status == SWA_JIT_OK) {
    kernel->state = BENCH_HELD;
  } else {
    snprintf(kernel->message, sizeof kernel->message, "%s", swa_jit_message());
  }
}

static void *get_kernels(void *data)
{
  getting *g = data;
  for (unsigned at = atomic_fetch_add(&g->next, 1); at < g->sweep->num_kernels; at = atomic_fetch_add(&g->next, 1)) {
    get_kernel(g->lib, &g->sweep->kernels[at]);
  }
  return NULL;
}

static void get_all(swa_jit_lib *lib, bench_sweep *sweep)
{
  getting g = {.lib = lib, .sweep = sweep};
  pthread_t threads[MOST_THREADS];
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  long started = 0;
  atomic_init(&g.next, 0);
  while (started < online - 1 && started < MOST_THREADS
         && pthread_create(&threads[started], NULL, get_kernels, &g) == 0) {
    started++;
  }
  get_kernels(&g); /* this thread has the context: what it gets is loaded into it at once */
  for (long i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
  }
}

static void add_kernel(const bench_sweep *sweep, uint32_t arch, const uint32_t values[4], uint32_t *num)
{
  bench_kernel *kernel = &sweep->kernels[*num];
  if (values[3] != 0 && !bench_options_do_cluster(values[0], values[1], values[2])) {
    return;
  }
  kernel->config = sweep->options->config;
  kernel->config.arch = arch;
  kernel->config.head_group = values[0];
  kernel->config.kv_tile = values[1];
  kernel->num_splits = values[2];
  kernel->config.splits = kernel->num_splits != 0;
  kernel->config.cluster_size = values[3];
  ++*num;
}

/* Those that differ in num_splits alone are one of the library's, which it gets once. */
static void list_kernels(uint32_t arch, bench_sweep *sweep)
{
  const bench_options *options = sweep->options;
  const bench_list *const lists[] = {&options->head_groups, &options->kv_tiles, &options->num_splits,
                                     &options->cluster_sizes};
  uint32_t most = 1;
  for (int k = 0; k < 4; k++) {
    most *= lists[k]->count;
  }
  sweep->kernels = sj_memory_get(most, sizeof *sweep->kernels);
  for (uint32_t i = 0; i < most; i++) {
    uint32_t values[4], rest = i;
    for (int k = 3; k >= 0; k--) { /* the last list's values change fastest */
      values[k] = lists[k]->values[rest % lists[k]->count];
      rest /= lists[k]->count;
    }
    add_kernel(sweep, arch, values, &sweep->num_kernels);
  }
}

bool bench_sweep_prepare(sj_device *device, swa_jit_lib *lib, uint32_t arch, const bench_options *options,
                         bench_sweep *sweep_out)
{
  uint32_t num_held = 0;
  bool sound = true;
  memset(sweep_out, 0, sizeof *sweep_out);
  sweep_out->device = device;
  sweep_out->options = options;
  sweep_out->arch = swa_jit_arch_name(arch);
  list_kernels(arch, sweep_out);
  get_all(lib, sweep_out);
  for (uint32_t i = 0; i < sweep_out->num_kernels; i++) {
    num_held += sweep_out->kernels[i].state == BENCH_HELD;
    sound = sound && sweep_out->kernels[i].state != BENCH_FAILED;
  }
  return sound && num_held > 0;
}

void bench_sweep_finish(bench_sweep *sweep)
{
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    free(sweep->points[i].us_ours);
  }
  if (sweep->workspace != 0) {
    sj_device_free(sweep->device, sweep->workspace);
  }
  free(sweep->points);
  free(sweep->kernels);
  memset(sweep, 0, sizeof *sweep);
}

bool bench_sweep_serves(const bench_sweep *sweep, const bench_kernel *kernel, bench_step step)
{
  const bench_list *groups = &sweep->options->head_groups;
  uint64_t kv_head_heads = step.num_heads / sweep->options->num_kv_heads;
  bool is_wide = false;
  for (uint32_t i = 0; i < groups->count; i++) {
    is_wide = is_wide || (groups->values[i] >= kv_head_heads && groups->values[i] < kernel->config.head_group);
  }
  return kernel->state == BENCH_HELD && !is_wide;
}

static const bench_kernel *find_best(const bench_sweep *sweep, const bench_point *point, uint32_t head_group,
                                     bool is_plain, double *us_out)
{
  const bench_kernel *best = NULL;
  for (uint32_t i = 0; i < sweep->num_kernels; i++) {
    const bench_kernel *kernel = &sweep->kernels[i];
    if (point->us_ours[i] > 0.0 && (head_group == 0 || kernel->config.head_group == head_group)
        && !(is_plain && (kernel->num_splits != 0 || kernel->config.cluster_size != 0))
        && (best == NULL || point->us_ours[i] < *us_out)) {
      best = kernel;
      *us_out = point->us_ours[i];
    }
  }
  return best;
}

const bench_kernel *bench_sweep_best(const bench_sweep *sweep, const bench_point *point, uint32_t head_group,
                                     double *us_out)
{
  return find_best(sweep, point, head_group, false, us_out);
}

const bench_kernel *bench_sweep_best_plain(const bench_sweep *sweep, const bench_point *point)
{
  double us = 0.0;
  return find_best(sweep, point, 0, true, &us);
}

uint32_t bench_sweep_num_splits(const bench_sweep *sweep, const bench_kernel *kernel, bench_step step)
{
  uint32_t num_splits = 1; /* where there is nothing to pick: the launch then says why */
  if (kernel->num_splits != SJ_SPLITS_PICK) {
    return kernel->num_splits;
  }
  (void)swa_jit_pick_splits(&kernel->config, step.num_tokens, step.num_heads, (uint32_t)sweep->options->num_kv_heads,
                            (uint32_t)sweep->device->num_sms, &num_splits);
  return num_splits;
}

/* ---- launches ---- */

/* What a launch needs besides its number. */
typedef struct launching {
  sj_device *device;
  const bench_tensors *tensors;
  const bench_kernels *own;
  const swa_jit_kernel *kernel;
  bench_floor floor;
  bench_step step;
  uint32_t num_sets;
  bool lse;
  uint32_t num_splits;
  sj_address workspace;
  uint64_t workspace_bytes;
} launching;

static const void *pointer_to(sj_address address)
{
  return (const void *)(uintptr_t)address;
}

static void point_to_pools(const bench_tensors *tensors, swa_jit_decode_args *args)
{
  args->block_size = tensors->k.block_size;
  args->num_blocks = tensors->k.num_slots / tensors->k.block_size;
  args->kv = pointer_to(tensors->k.rows);
  args->inv_scale = pointer_to(tensors->k.inv_scale);
  args->block_stride_bytes = (int64_t)tensors->k.block_bytes;
  args->num_kv_heads = tensors->k.num_kv_heads;
  if (tensors->v.num_slots != 0) {
    args->v = pointer_to(tensors->v.rows);
    args->v_inv_scale = pointer_to(tensors->v.inv_scale);
    args->v_block_stride_bytes = (int64_t)tensors->v.block_bytes;
  }
  if (tensors->extra.num_slots != 0) {
    args->extra_block_size = tensors->extra.block_size;
    args->extra_num_blocks = tensors->extra.num_slots / tensors->extra.block_size;
    args->extra_kv = pointer_to(tensors->extra.rows);
    args->extra_inv_scale = pointer_to(tensors->extra.inv_scale);
    args->extra_block_stride_bytes = (int64_t)tensors->extra.block_bytes;
  }
}

void bench_sweep_args(const bench_tensors *tensors, bench_step step, uint32_t set, bool lse,
                      swa_jit_decode_args *args_out)
{
  bench_set addresses = bench_tensors_set(tensors, step, set);
  swa_jit_decode_args_init(args_out);
  args_out->num_tokens = step.num_tokens;
  args_out->num_heads = step.num_heads;
  args_out->q = pointer_to(addresses.q);
  args_out->indices = pointer_to(addresses.indices);
  args_out->lens = pointer_to(tensors->lens);
  args_out->out = (void *)(uintptr_t)addresses.out;
  args_out->lse = lse ? (float *)(uintptr_t)addresses.lse : NULL;
  args_out->scale = (float)(1.0 / sqrt(tensors->head_dim));
  args_out->sinks = tensors->has_sinks ? pointer_to(tensors->sinks) : NULL;
  args_out->soft_cap = tensors->soft_cap;
  point_to_pools(tensors, args_out);
  if (tensors->extra.num_slots != 0) { /* without lens: all of extra_size */
    args_out->extra_indices = pointer_to(addresses.extra_indices);
  }
}

static bool launch_ours(void *data, unsigned launch_index, sj_stream stream, char *message, size_t message_size)
{
  const launching *l = data;
  swa_jit_decode_args args;
  bench_sweep_args(l->tensors, l->step, launch_index % l->num_sets, l->lse, &args);
  args.num_splits = l->num_splits;
  args.workspace = (void *)(uintptr_t)l->workspace;
  args.workspace_bytes = l->workspace_bytes;
  if (swa_jit_decode(l->kernel, &args, stream) != SWA_JIT_OK) {
    snprintf(message, message_size, "%s", swa_jit_message());
    return false;
  }
  return true;
}

static bool launch_floor(void *data, unsigned launch_index, sj_stream stream, char *message, size_t message_size)
{
  const launching *l = data;
  if (!bench_kernels_floor(l->device, l->own, l->tensors, l->step, launch_index % l->num_sets, l->floor, stream)) {
    snprintf(message, message_size, "floor: %s", l->device->message);
    return false;
  }
  return true;
}

/* Copies half the traffic, so that bytes read and written together are as many; wraps within q and out. */
static bool launch_copy(void *data, unsigned launch_index, sj_stream stream, char *message, size_t message_size)
{
  const launching *l = data;
  const bench_tensors *t = l->tensors;
  uint64_t held = t->q_bytes < t->out_bytes ? t->q_bytes : t->out_bytes;
  uint64_t bytes = bench_tensors_traffic(t, l->step) / 2 & ~(uint64_t)15;
  uint64_t places = held > bytes ? held / bytes : 1;
  uint64_t at = launch_index % places * bytes;
  bytes = bytes > held ? held : bytes;
  if (!bench_kernels_copy(l->device, l->own, t->q + at, t->out + at, bytes, stream)) {
    snprintf(message, message_size, "copy: %s", l->device->message);
    return false;
  }
  return true;
}

/* ---- measurement ---- */

static bool measure_floor(bench_point *point, launching *l, unsigned num_launches, bench_timing *timing)
{
  double us = 0.0;
  if (!bench_kernels_has_floor(l->device, l->own, l->tensors, l->step, l->floor)) {
    return true;
  }
  if (!bench_timing_graph(timing, launch_floor, l, num_launches, &us)) {
    return false;
  }
  if (us < point->us_floor) {
    point->us_floor = us;
    point->floor = l->floor;
  }
  return true;
}

static bool measure_floors(bench_point *point, launching *l, unsigned num_launches, bench_timing *timing)
{
  point->us_floor = INFINITY;
  for (uint32_t group = 0; group < BENCH_NUM_GROUPS; group++) {
    for (uint32_t ctas = 1; ctas <= BENCH_MOST_CTAS; ctas++) {
      for (uint32_t splits = 1; splits <= BENCH_MOST_SPLITS; splits *= 2) {
        l->floor = (bench_floor){.group = group, .ctas = ctas, .num_splits = splits};
        if (!measure_floor(point, l, num_launches, timing)) {
          return false;
        }
      }
    }
  }
  return true;
}

static bool measure_point(bench_sweep *sweep, bench_point *point, launching *l, bench_timing *timing)
{
  unsigned num_launches = l->num_sets > LEAST_LAUNCHES ? l->num_sets : LEAST_LAUNCHES;
  if (!bench_timing_graph(timing, launch_copy, l, num_launches, &point->us_copy)
      || !measure_floors(point, l, num_launches, timing)) {
    return false;
  }
  for (uint32_t i = 0; i < sweep->num_kernels; i++) {
    l->kernel = sweep->kernels[i].kernel;
    l->num_splits = bench_sweep_num_splits(sweep, &sweep->kernels[i], l->step);
    if (bench_sweep_serves(sweep, &sweep->kernels[i], l->step)
        && !bench_timing_graph(timing, launch_ours, l, num_launches, &point->us_ours[i])) {
      return false;
    }
  }
  return true;
}

/* The steps of options: numbers of tokens within numbers of heads. */
static void list_points(const bench_tensors *tensors, bench_sweep *sweep)
{
  const bench_list *heads = &sweep->options->num_heads;
  const bench_list *tokens = &sweep->options->tokens;
  sweep->points = sj_memory_get((size_t)heads->count * tokens->count, sizeof *sweep->points);
  for (uint32_t i = 0; i < heads->count * tokens->count; i++) {
    bench_point *point = &sweep->points[sweep->num_points++];
    point->step = (bench_step){tokens->values[i % tokens->count], heads->values[i / tokens->count]};
    point->traffic = bench_tensors_traffic(tensors, point->step);
    point->us_ours = sj_memory_get(sweep->num_kernels, sizeof *point->us_ours);
  }
}

/* One workspace for whatever is measured, zeroed once. */
static bool make_workspace(bench_sweep *sweep, bench_timing *timing)
{
  uint32_t num_kv_heads = (uint32_t)sweep->options->num_kv_heads;
  for (uint32_t i = 0; i < sweep->num_points * sweep->num_kernels; i++) {
    const bench_kernel *kernel = &sweep->kernels[i % sweep->num_kernels];
    bench_step step = sweep->points[i / sweep->num_kernels].step;
    uint64_t bytes = 0;
    if (bench_sweep_serves(sweep, kernel, step)
        && swa_jit_workspace_bytes(kernel->kernel, step.num_tokens, step.num_heads, num_kv_heads,
                                   bench_sweep_num_splits(sweep, kernel, step), &bytes)
               != SWA_JIT_OK) {
      snprintf(timing->message, sizeof timing->message, "%s", swa_jit_message());
      return false;
    }
    sweep->workspace_bytes = bytes > sweep->workspace_bytes ? bytes : sweep->workspace_bytes;
  }
  if (sweep->workspace_bytes != 0
      && (!sj_device_alloc(sweep->device, sweep->workspace_bytes, &sweep->workspace)
          || !sj_device_fill(sweep->device, sweep->workspace, 0, sweep->workspace_bytes))) {
    snprintf(timing->message, sizeof timing->message, "a workspace of %llu bytes: %s: give fewer tokens or splits",
             (unsigned long long)sweep->workspace_bytes, sweep->device->message);
    return false;
  }
  return true;
}

bool bench_sweep_measure(bench_sweep *sweep, const bench_kernels *own, const bench_tensors *tensors,
                         bench_timing *timing)
{
  list_points(tensors, sweep);
  if (!make_workspace(sweep, timing)) {
    return false;
  }
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    bench_point *point = &sweep->points[i];
    launching l = {.device = sweep->device,
                   .tensors = tensors,
                   .own = own,
                   .step = point->step,
                   .num_sets = bench_tensors_num_sets(tensors, point->step),
                   .lse = sweep->options->lse,
                   .workspace = sweep->workspace,
                   .workspace_bytes = sweep->workspace_bytes};
    if (!measure_point(sweep, point, &l, timing)) {
      return false;
    }
  }
  return true;
}
