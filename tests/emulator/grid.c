/* SPDX-License-Identifier: Apache-2.0 */
/* A launch: its checks, and its clusters shared among threads of the host. */
#include "global_race.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_settings settings = {1, 0};

void emu_configure(const emu_settings *wanted)
{
  pthread_mutex_lock(&lock);
  settings = *wanted;
  pthread_mutex_unlock(&lock);
}

static emu_settings current_settings(void)
{
  pthread_mutex_lock(&lock);
  const emu_settings copy = settings;
  pthread_mutex_unlock(&lock);
  return copy;
}

/* ---- Checks ----------------------------------------------------------------------------------------------- */

static void cluster_of(const emu_launch *launch, uint32_t out[3])
{
  const uint32_t *required = launch->kernel->info.required_cluster;
  for (unsigned i = 0; i < 3; i++) {
    out[i] = launch->cluster[0] != 0 ? launch->cluster[i] : required[0] != 0 ? required[i] : 1;
  }
}

static int check_block(const emu_device *device, const emu_launch *launch, emu_message *message)
{
  const ptx_kernel *from = launch->kernel->from;
  const uint32_t *size = launch->block;
  const uint64_t threads = (uint64_t)size[0] * size[1] * size[2];
  char *text = message->text;
  if (threads == 0 || size[0] > 1024 || size[1] > 1024 || size[2] > 64 || threads > device->max_threads_per_block) {
    snprintf(text, sizeof message->text, "a block of %u x %u x %u threads; 1 to %u, at most 1024 x 1024 x 64", size[0],
             size[1], size[2], device->max_threads_per_block);
    return EMU_INVALID_VALUE;
  }
  if (from->is_exact && memcmp(size, from->max_threads, sizeof from->max_threads) != 0) {
    snprintf(text, sizeof message->text, "a block of %u x %u x %u threads; the kernel is for %u x %u x %u", size[0],
             size[1], size[2], from->max_threads[0], from->max_threads[1], from->max_threads[2]);
    return EMU_INVALID_VALUE;
  }
  if (threads > launch->kernel->info.max_threads) {
    snprintf(text, sizeof message->text, "a block of %llu threads; the kernel is for at most %u",
             (unsigned long long)threads, launch->kernel->info.max_threads);
    return EMU_INVALID_VALUE;
  }
  const uint64_t shared = (uint64_t)launch->kernel->info.static_shared + launch->dynamic_shared;
  if (shared > device->shared_per_block_optin) {
    snprintf(text, sizeof message->text, "%llu bytes of shared memory; %s has %u a block", (unsigned long long)shared,
             device->arch, device->shared_per_block_optin);
    return EMU_INVALID_VALUE;
  }
  return EMU_OK;
}

static int check_grid(const emu_device *device, const emu_launch *launch, emu_message *message)
{
  const uint32_t *size = launch->grid;
  uint32_t cluster[3];
  cluster_of(launch, cluster);
  char *text = message->text;
  if (size[0] == 0 || size[1] == 0 || size[2] == 0 || size[0] > 0x7fffffff || size[1] > 65535 || size[2] > 65535) {
    snprintf(text, sizeof message->text, "a grid of %u x %u x %u blocks; 1 to 2147483647 x 65535 x 65535", size[0],
             size[1], size[2]);
    return EMU_INVALID_VALUE;
  }
  const uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];
  if (blocks == 0 || blocks > device->max_cluster || cluster[0] > 16 || cluster[1] > 16 || cluster[2] > 16) {
    snprintf(text, sizeof message->text, "a cluster of %u x %u x %u blocks; %s has at most %u", cluster[0], cluster[1],
             cluster[2], device->arch, device->max_cluster);
    return EMU_INVALID_CLUSTER_SIZE;
  }
  const uint32_t *required = launch->kernel->info.required_cluster;
  if (required[0] != 0 && memcmp(required, cluster, sizeof cluster) != 0) {
    snprintf(text, sizeof message->text, "a cluster of %u x %u x %u blocks; the kernel is for %u x %u x %u", cluster[0],
             cluster[1], cluster[2], required[0], required[1], required[2]);
    return EMU_INVALID_CLUSTER_SIZE;
  }
  for (unsigned i = 0; i < 3; i++) {
    if (size[i] % cluster[i] != 0) {
      snprintf(text, sizeof message->text, "%u blocks are no multiple of a cluster's %u", size[i], cluster[i]);
      return EMU_INVALID_CLUSTER_SIZE;
    }
  }
  return EMU_OK;
}

int emu_launch_check(const emu_device *device, const emu_launch *launch, emu_message *message)
{
  message->text[0] = 0;
  if (launch->params_size != launch->kernel->info.param_bytes) {
    snprintf(message->text, sizeof message->text, "%zu bytes of parameters; the kernel takes %u", launch->params_size,
             launch->kernel->info.param_bytes);
    return EMU_INVALID_VALUE;
  }
  const int result = check_block(device, launch, message);
  return result != EMU_OK ? result : check_grid(device, launch, message);
}

/* ---- Running ---------------------------------------------------------------------------------------------- */

static void no_memory(emu_grid *grid)
{
  int none = EMU_OK;
  pthread_mutex_lock(&lock);
  if (atomic_compare_exchange_strong(&grid->result, &none, EMU_OUT_OF_MEMORY)) {
    snprintf(grid->report->text, sizeof grid->report->text, "no memory to run a block");
  }
  pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
  emu_grid *grid = argument;
  const emu_launch *launch = grid->launch;
  uint64_t count = 1;
  for (unsigned i = 0; i < 3; i++) {
    count *= launch->grid[i] / grid->cluster[i];
  }
  emu_cluster cluster;
  if (emu_cluster_make(grid, &cluster) != EMU_OK) {
    no_memory(grid);
    return NULL;
  }
  for (;;) {
    const uint64_t number = atomic_fetch_add(&grid->next_cluster, 1);
    if (number >= count || atomic_load(&grid->result) != EMU_OK) {
      break;
    }
    emu_cluster_start(&cluster, number);
    emu_cluster_run(&cluster);
    for (uint32_t w = 0; w < cluster.num_warps; w++) {
      atomic_fetch_add(&grid->warp_steps, cluster.warps[w]->steps);
      atomic_fetch_add(&grid->thread_steps, cluster.warps[w]->thread_steps);
    }
  }
  emu_cluster_free(&cluster);
  return NULL;
}

static unsigned num_threads(const emu_grid *grid, unsigned wanted)
{
  const long processors = wanted != 0 ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t clusters = 1;
  for (unsigned i = 0; i < 3; i++) {
    clusters *= grid->launch->grid[i] / grid->cluster[i];
  }
  const uint64_t most = clusters < MAX_THREADS ? clusters : MAX_THREADS;
  return processors < 1 ? 1 : (uint64_t)processors < most ? (unsigned)processors : (unsigned)most;
}

static void run_threads(emu_grid *grid, unsigned count)
{
  pthread_t threads[MAX_THREADS];
  unsigned started = 0;
  while (started + 1 < count && pthread_create(&threads[started], NULL, work, grid) == 0) {
    started++;
  }
  work(grid);
  for (unsigned i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
  }
}

int emu_run(const emu_device *device, const emu_launch *launch, emu_run_stats *stats, emu_message *report)
{
  const int checked = emu_launch_check(device, launch, report);
  if (checked != EMU_OK) {
    return checked;
  }
  const emu_settings now = current_settings();
  emu_grid grid = {.device = device, .launch = launch, .kernel = launch->kernel, .seed = now.seed, .report = report};
  cluster_of(launch, grid.cluster);
  grid.params = malloc(launch->params_size + 64);
  if (grid.params == NULL) {
    snprintf(report->text, sizeof report->text, "no memory for the parameters");
    return EMU_OUT_OF_MEMORY;
  }
  if (launch->params_size > 0) {
    memcpy(grid.params, launch->params, launch->params_size);
  }
  if ((uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] > 1) {
    grid.races = emu_global_race_make();
  }
  if (launch->chain > 1) {
    emu_marks_clear(launch->chain % 2 == 1 ? EMU_MARKS : EMU_MARKS << 2); /* of the last but one, which has ended */
  }
  run_threads(&grid, num_threads(&grid, now.threads));
  if (launch->chain != 0
      && (!launch->is_followed || !atomic_load(&grid.lets_dependents_begin) || atomic_load(&grid.result) != EMU_OK)) {
    emu_marks_clear(EMU_MARKS | EMU_MARKS << 2);
  }
  emu_global_race_free(grid.races);
  free(grid.params);
  if (stats != NULL) {
    *stats = (emu_run_stats){atomic_load(&grid.warp_steps), atomic_load(&grid.thread_steps)};
  }
  return atomic_load(&grid.result);
}
