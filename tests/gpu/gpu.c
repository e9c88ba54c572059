/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool tell(gpu *g, bool done)
{
  if (!done) {
    (void)snprintf(g->message, sizeof g->message, "%s", g->device.message);
  }
  return done;
}

static bool gpu_alloc(void *data, size_t bytes, uint64_t *address_out)
{
  gpu *g = data;

  return tell(g, sj_device_alloc(&g->device, bytes, address_out));
}

static void gpu_release(void *data, uint64_t address)
{
  gpu *g = data;

  sj_device_free(&g->device, address);
}

static bool gpu_write(void *data, uint64_t to, const void *from, size_t bytes)
{
  gpu *g = data;

  return tell(g, sj_device_write(&g->device, to, from, bytes));
}

static bool gpu_read(void *data, void *to, uint64_t from, size_t bytes)
{
  gpu *g = data;

  return tell(g, sj_device_read(&g->device, to, from, bytes));
}

static const char *gpu_message(void *data)
{
  return ((gpu *)data)->message;
}

/* Records the library's reason for a status. */
static swa_jit_status explain(gpu *g, swa_jit_status status)
{
  if (status != SWA_JIT_OK) {
    (void)snprintf(g->message, sizeof g->message, "%s: %s", swa_jit_status_name(status), swa_jit_message());
  }
  return status;
}

swa_jit_status gpu_kernel(gpu *g, const swa_jit_config *config, const swa_jit_kernel **kernel_out)
{
  swa_jit_config native = *config;
  swa_jit_status status;

  native.arch = g->arch;
  status = swa_jit_config_check(&native, NULL);
  if (status != SWA_JIT_OK) {
    return explain(g, status);
  }
  status = explain(g, swa_jit_kernel_get(g->lib, &native, kernel_out));
  return status == SWA_JIT_UNSUPPORTED ? SWA_JIT_CUDA_ERROR : status;
}

bool gpu_wait(gpu *g)
{
  return tell(g, sj_device_wait(&g->device));
}

/* Launches with a workspace of its own three times: the first token alone, then all of them twice. Each launch finds
 * the workspace as the one before has left it, also one of other counts. */
static swa_jit_status decode_in_splits(gpu *g, const swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                       swa_jit_stream stream)
{
  swa_jit_decode_args given = *args;
  uint64_t address = 0;
  swa_jit_status status = swa_jit_workspace_bytes(kernel, args->num_tokens, args->num_heads, args->num_kv_heads,
                                                  args->num_splits, &given.workspace_bytes);
  void *zeros = calloc(given.workspace_bytes + 1, 1);

  if (status != SWA_JIT_OK || zeros == NULL) {
    free(zeros);
    return status != SWA_JIT_OK ? status : SWA_JIT_OUT_OF_MEMORY;
  }
  if (!gpu_alloc(g, given.workspace_bytes, &address) || !gpu_write(g, address, zeros, given.workspace_bytes)) {
    free(zeros);
    return SWA_JIT_CUDA_ERROR;
  }
  free(zeros);
  given.workspace = (void *)(uintptr_t)address;
  for (int turn = 0; turn < 3 && status == SWA_JIT_OK; turn++) {
    given.num_tokens = turn == 0 ? 1 : args->num_tokens;
    status = swa_jit_decode(kernel, &given, stream);
  }
  if (status == SWA_JIT_OK && !gpu_wait(g)) {
    status = SWA_JIT_CUDA_ERROR;
  }
  gpu_release(g, address);
  return status;
}

/* Runs of an odd number of tokens take the default stream. */
static swa_jit_status gpu_decode(void *data, const swa_jit_config *config, const swa_jit_decode_args *args)
{
  gpu *g = data;
  const swa_jit_kernel *kernel;
  swa_jit_status status = gpu_kernel(g, config, &kernel);

  if (status != SWA_JIT_OK) {
    return status;
  }
  swa_jit_stream stream = args->num_tokens % 2 == 1 ? NULL : g->stream;
  status = config->splits != 0 && args->num_tokens != 0 ? decode_in_splits(g, kernel, args, stream)
                                                        : swa_jit_decode(kernel, args, stream);
  if (status != SWA_JIT_OK) {
    (void)explain(g, status);
    return SWA_JIT_CUDA_ERROR;
  }
  return gpu_wait(g) ? SWA_JIT_OK : SWA_JIT_CUDA_ERROR;
}

static unsigned num_processors(void)
{
  long online = sysconf(_SC_NPROCESSORS_ONLN);

  return online > 1 ? (unsigned)online : 1;
}

static sj_presence open_library(const char *cache_dir, gpu *g)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;

  options.cache_dir = cache_dir;
  options.flags = cache_dir == NULL ? SWA_JIT_FLAG_NO_STORE : 0;
  if (explain(g, swa_jit_open(&options, &g->lib)) != SWA_JIT_OK
      || explain(g, swa_jit_arch_native(g->lib, &g->arch)) != SWA_JIT_OK
      || !tell(g, sj_stream_create(&g->device, &g->stream))) {
    gpu_close(g);
    return SJ_DEVICE_BROKEN;
  }
  return SJ_DEVICE_PRESENT;
}

static const char *gpu_seen(void *data, const decode_data *left)
{
  gpu *g = data;

  return g->results != NULL ? results_take(g->results, left) : NULL;
}

sj_presence gpu_open(const char *cache_dir, gpu *gpu_out)
{
  sj_presence presence;

  memset(gpu_out, 0, sizeof *gpu_out);
  presence = sj_device_open(NULL, &gpu_out->device);
  if (presence != SJ_DEVICE_PRESENT) {
    (void)tell(gpu_out, false);
    return presence;
  }
  gpu_out->table = (decode_device){.data = gpu_out,
                                   .alloc = gpu_alloc,
                                   .release = gpu_release,
                                   .write = gpu_write,
                                   .read = gpu_read,
                                   .decode = gpu_decode,
                                   .message = gpu_message,
                                   .seen = gpu_seen,
                                   .num_threads = num_processors()};
  return open_library(cache_dir, gpu_out);
}

void gpu_close(gpu *g)
{
  if (g->stream != NULL) {
    sj_stream_destroy(&g->device, g->stream);
    g->stream = NULL;
  }
  swa_jit_close(&g->lib);
  sj_device_close(&g->device);
}

bool gpu_capture(gpu *g, bool (*launch)(gpu *g, const void *data), const void *data, sj_graph *graph_out)
{
  bool launched;
  bool ended;

  if (!tell(g, sj_graph_begin(&g->device, g->stream))) {
    return false;
  }
  launched = launch(g, data);
  ended = sj_graph_end(&g->device, g->stream, graph_out);
  if (launched) {
    (void)tell(g, ended);
  } else if (ended) {
    sj_graph_destroy(&g->device, *graph_out);
  }
  return launched && ended;
}

bool gpu_replay(gpu *g, sj_graph graph)
{
  return tell(g, sj_graph_launch(&g->device, graph, g->stream)) && tell(g, sj_stream_wait(&g->device, g->stream));
}

typedef struct preparation {
  gpu *gpu;
  const decode_case *cases;
  size_t count;
  atomic_size_t next;
} preparation;

static void *prepare_cases(void *data)
{
  preparation *p = data;

  for (;;) {
    size_t at = atomic_fetch_add(&p->next, 1);
    swa_jit_config config;
    const swa_jit_kernel *kernel;

    if (at >= p->count) {
      return NULL;
    }
    decode_case_config(&p->cases[at], &config);
    config.arch = p->gpu->arch;
    (void)swa_jit_kernel_get(p->gpu->lib, &config, &kernel);
  }
}

void gpu_prepare(gpu *g, const decode_case *cases, size_t count, unsigned num_threads)
{
  preparation p = {.gpu = g, .cases = cases, .count = count};
  pthread_t threads[64];
  unsigned started = 0;

  atomic_init(&p.next, 0);
  while (started < num_threads && started < 64 && pthread_create(&threads[started], NULL, prepare_cases, &p) == 0) {
    started++;
  }
  for (unsigned i = 0; i < started; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

static double larger(double a, double b)
{
  return a > b ? a : b;
}

void gpu_count(gpu_tally *tally, const char *text, decode_result result, const decode_verdict *verdict)
{
  tally->worst_relative = larger(tally->worst_relative, verdict->worst_relative);
  tally->worst_step = larger(tally->worst_step, verdict->worst_step);
  tally->worst_lse = larger(tally->worst_lse, verdict->worst_lse);
  if (result == DECODE_PASSED) {
    tally->passed++;
  } else if (result == DECODE_REFUSED) {
    tally->refused++;
  } else {
    tally->failed++;
    printf("FAILED %s\n  %s (%llu faults; worst relative %.3g, LSE %.3g)\n", text, verdict->fault,
           (unsigned long long)verdict->num_faults, verdict->worst_relative, verdict->worst_lse);
    (void)fflush(stdout);
  }
}

decode_result gpu_fail(decode_verdict *verdict, const char *reason)
{
  verdict->num_faults++;
  (void)snprintf(verdict->fault, sizeof verdict->fault, "%.*s", (int)sizeof verdict->fault - 1, reason);
  return DECODE_FAILED;
}

void gpu_run_checks(gpu *g, const gpu_check *checks, size_t count, gpu_tally *tally)
{
  for (size_t i = 0; i < count; i++) {
    decode_verdict verdict = {0};
    decode_result result = checks[i].check(g, &verdict);

    gpu_count(tally, checks[i].name, result, &verdict);
  }
}
