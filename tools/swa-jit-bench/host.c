/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "params.h"

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
  bench_params_make(tensors, &t->args, kernel->config.head_group, &t->params);
  t->grid[0] = t->params.num_tokens;
  t->grid[1] = t->params.kv_head_groups;
  t->grid[2] = t->params.num_kv_heads;
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
  sj_launch_call *launch = sj_device_launch_call(t->device);
  void *params[] = {&t->params};
  bool launched = true;
  double begin = bench_timing_now();
  for (int i = 0; i < BATCH; i++) {
    launched &= launch(t->function, t->grid[0], t->grid[1], t->grid[2], t->num_threads, 1, 1, t->shared_bytes,
                       t->stream, params, NULL)
                == 0;
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
