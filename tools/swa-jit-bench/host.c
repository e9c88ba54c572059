/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "swa_params.h"

enum {
  BATCH = 64, /* launches; the driver's queue holds far more */
  ROUNDS = 1500,
  QUICK_ROUNDS = 400,
  FIND_BATCH = 2000,
  FIND_ROUNDS = 200
};

/* The same launch twice: through the library, and bare. */
typedef struct twins {
  sj_device *device;
  const swa_jit_kernel *kernel;
  swa_jit_decode_args args;
  sj_module module;
  sj_function function;
  swa_params params;
  unsigned grid[3];
  unsigned num_threads;
  unsigned shared_bytes;
  sj_stream stream;
} twins;

static swa_pool make_pool(const bench_pool *pool, const void *rows, const void *inv_scale, const void *indices)
{
  return (swa_pool){.kv = rows,
                    .inv_scale = inv_scale,
                    .indices = indices,
                    .block_stride_bytes = (long long)pool->block_bytes,
                    .slot_stride_bytes = (long long)pool->num_kv_heads * pool->row_bytes,
                    .kv_head_stride_bytes = pool->row_bytes,
                    .scale = 1.0f};
}

/* As the library fills it, of a step of one token. */
static void fill_params(const bench_tensors *tensors, uint32_t head_group, twins *t)
{
  const swa_jit_decode_args *args = &t->args;
  const bench_pool *k = &tensors->k;
  uint32_t kv_head_heads = args->num_heads / k->num_kv_heads;
  long long row = tensors->head_dim;
  long long out_row = tensors->out_dim;
  t->params = (swa_params){.q = args->q,
                           .out = args->out,
                           .lse = args->lse,
                           .sinks = args->sinks,
                           .q_token_stride = row * args->num_heads,
                           .q_head_stride = row,
                           .out_token_stride = out_row * args->num_heads,
                           .out_head_stride = out_row,
                           .lse_token_stride = args->num_heads,
                           .lse_head_stride = 1,
                           .num_tokens = args->num_tokens,
                           .num_heads = args->num_heads,
                           .num_kv_heads = k->num_kv_heads,
                           .kv_head_heads = kv_head_heads,
                           .kv_head_groups = (kv_head_heads + head_group - 1) / head_group,
                           .scale = args->scale,
                           .soft_cap = args->soft_cap};
  t->params.window = (swa_scope){.pool = make_pool(k, args->kv, args->inv_scale, args->indices),
                                 .lens = args->lens,
                                 .indices_token_stride = tensors->window_size,
                                 .block_size = k->block_size,
                                 .num_slots = k->num_slots};
  if (tensors->v.num_slots != 0) {
    t->params.v = make_pool(&tensors->v, args->v, args->v_inv_scale, args->indices);
  }
  if (tensors->extra.num_slots != 0) {
    t->params.extra =
        (swa_scope){.pool = make_pool(&tensors->extra, args->extra_kv, args->extra_inv_scale, args->extra_indices),
                    .indices_token_stride = tensors->extra_size,
                    .block_size = tensors->extra.block_size,
                    .num_slots = tensors->extra.num_slots};
  }
  t->grid[0] = args->num_tokens;
  t->grid[1] = t->params.kv_head_groups * k->num_kv_heads;
  t->grid[2] = 1;
}

static bool prepare(swa_jit_lib *lib, const bench_kernel *kernel, const bench_tensors *tensors, uint32_t num_heads,
                    twins *t, char *message, size_t message_size)
{
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  if (swa_jit_cubin_get(lib, &kernel->config, &cubin, &cubin_bytes, &info) != SWA_JIT_OK) {
    snprintf(message, message_size, "%s", swa_jit_message());
    return false;
  }
  t->kernel = kernel->kernel;
  bench_sweep_args(tensors, (bench_step){1, num_heads}, 0, false, &t->args);
  fill_params(tensors, kernel->config.head_group, t);
  t->num_threads = info.num_threads;
  t->shared_bytes = info.shared_memory_bytes;
  if (!sj_module_load(t->device, cubin, &t->module)) {
    t->module = NULL;
  } else if (sj_module_function(t->device, t->module, "swa_decode", t->shared_bytes, &t->function)
             && sj_stream_create(t->device, &t->stream)) {
    return true;
  }
  snprintf(message, message_size, "%s", t->device->message);
  return false;
}

static void finish(twins *t)
{
  if (t->stream != NULL) {
    sj_stream_destroy(t->device, t->stream);
  }
  if (t->module != NULL) {
    sj_module_unload(t->device, t->module);
  }
}

static bool time_decode(twins *t, double *ns_out)
{
  bool launched = true;
  double begin = bench_timing_now();
  for (int i = 0; i < BATCH; i++) {
    launched &= swa_jit_decode(t->kernel, &t->args, t->stream) == SWA_JIT_OK;
  }
  *ns_out = (bench_timing_now() - begin) / BATCH;
  return launched && sj_stream_wait(t->device, t->stream);
}

static bool time_bare(twins *t, double *ns_out)
{
  void *params[] = {&t->params};
  bool launched = true;
  double begin = bench_timing_now();
  for (int i = 0; i < BATCH; i++) {
    launched &= sj_function_launch(t->device, t->function, t->grid, t->num_threads, t->shared_bytes, t->stream, params);
  }
  *ns_out = (bench_timing_now() - begin) / BATCH;
  return launched && sj_stream_wait(t->device, t->stream);
}

/* Batches of both, neighbours in time and each first in half of the rounds, so that what drifts cancels out. */
static bool measure_launches(twins *t, unsigned rounds, bench_host *host_out)
{
  double *decode = sj_memory_get(rounds, sizeof *decode);
  double *bare = sj_memory_get(rounds, sizeof *bare);
  double *beyond = sj_memory_get(rounds, sizeof *beyond);
  double warm = 0.0;
  bool timed = time_decode(t, &warm) && time_bare(t, &warm);
  for (unsigned i = 0; i < rounds && timed; i++) {
    timed = i % 2 == 0 ? time_decode(t, &decode[i]) && time_bare(t, &bare[i])
                       : time_bare(t, &bare[i]) && time_decode(t, &decode[i]);
    beyond[i] = decode[i] - bare[i];
  }
  if (timed) {
    host_out->ns_decode = bench_timing_median(decode, rounds);
    host_out->ns_launch = bench_timing_median(bare, rounds);
    host_out->ns_beyond = bench_timing_median(beyond, rounds);
  }
  free(decode);
  free(bare);
  free(beyond);
  return timed;
}

static bool measure_find(swa_jit_lib *lib, const swa_jit_config *config, double *ns_out)
{
  double times[FIND_ROUNDS];
  const swa_jit_kernel *kernel = NULL;
  bool found = true;
  for (int round = 0; round < FIND_ROUNDS && found; round++) {
    double begin = bench_timing_now();
    for (int i = 0; i < FIND_BATCH; i++) {
      found &= swa_jit_kernel_get(lib, config, &kernel) == SWA_JIT_OK;
    }
    times[round] = (bench_timing_now() - begin) / FIND_BATCH;
  }
  *ns_out = found ? bench_timing_median(times, FIND_ROUNDS) : 0.0;
  return found;
}

bool bench_host_measure(sj_device *device, swa_jit_lib *lib, const bench_kernel *kernel, const bench_tensors *tensors,
                        uint32_t num_heads, bool quick, bench_host *host_out, char *message, size_t message_size)
{
  twins t = {.device = device};
  bool measured = prepare(lib, kernel, tensors, num_heads, &t, message, message_size);
  if (measured && !measure_launches(&t, quick ? QUICK_ROUNDS : ROUNDS, host_out)) {
    snprintf(message, message_size, "a launch failed: %s %s", swa_jit_message(), device->message);
    measured = false;
  }
  if (measured && !measure_find(lib, &kernel->config, &host_out->ns_find)) {
    snprintf(message, message_size, "%s", swa_jit_message());
    measured = false;
  }
  finish(&t);
  return measured;
}
