/* SPDX-License-Identifier: Apache-2.0 */
/* crowd [--processes N] [--configs N] [--nvrtc FILE]: so many processes open one empty store and ask it for
 * the same configurations at the same time, each beginning at another one. Prints how many compiles that took. Ends
 * with 1 unless it was one a configuration, every process got every cubin, and all got the same bytes. Without --nvrtc
 * the library finds its compiler. The store lies in a folder of its own under TMPDIR. */
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "swa_jit/swa_jit.h"

enum { MAX_PROCESSES = 1024, MAX_CONFIGS = 32 };

typedef struct crowd_options {
  unsigned num_processes, num_configs;
  const char *nvrtc;
  char work[2048]; /* this run's folder */
  char store[2064];
} crowd_options;

/* What one process got; in memory that all share. */
typedef struct member {
  unsigned num_ok;
  unsigned long long sums[MAX_CONFIGS]; /* of the cubins' bytes */
  swa_jit_stats stats;
} member;

static unsigned long long now_us(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000u + (unsigned long long)now.tv_nsec / 1000u;
}

static unsigned long long sum_of(const void *bytes, size_t count)
{
  unsigned long long sum = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < count; i++) {
    sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  }
  return sum;
}

static void log_warning(void *data, uint32_t level, const char *line)
{
  (void)data;
  (void)level;
  fprintf(stderr, "%ld: %s\n", (long)getpid(), line);
}

static void take_part(const crowd_options *crowd, unsigned number, member *self)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_lib *lib = NULL;
  options.log = log_warning;
  options.log_level = SWA_JIT_LOG_WARN;
  options.cache_dir = crowd->store;
  options.nvrtc_path = crowd->nvrtc;
  config.arch = SWA_JIT_ARCH_SM_90A;
  if (swa_jit_open(&options, &lib) != SWA_JIT_OK) {
    return;
  }
  for (unsigned i = 0; i < crowd->num_configs; i++) {
    unsigned which = (number + i) % crowd->num_configs;
    const void *cubin = NULL;
    size_t cubin_bytes = 0;
    config.window_size = 32 * (which + 1);
    if (swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL) != SWA_JIT_OK) {
      fprintf(stderr, "%ld: %s\n", (long)getpid(), swa_jit_message());
      continue;
    }
    self->num_ok++;
    self->sums[which] = sum_of(cubin, cubin_bytes);
  }
  self->stats = (swa_jit_stats)SWA_JIT_STATS_INIT;
  swa_jit_stats_get(lib, &self->stats);
  swa_jit_close(&lib);
}

/* A process waits until the pipe's other end is closed, so that all begin at once. */
static bool start_all(const crowd_options *crowd, member *members)
{
  int gate[2];
  if (pipe(gate) != 0) {
    return false;
  }
  for (unsigned i = 0; i < crowd->num_processes; i++) {
    pid_t child = fork();
    if (child == 0) {
      char byte = 0;
      close(gate[1]);
      while (read(gate[0], &byte, 1) > 0) {
      }
      take_part(crowd, i, &members[i]);
      _exit(0);
    }
    if (child < 0) {
      return false;
    }
  }
  close(gate[0]);
  close(gate[1]);
  return true;
}

/* Whether everybody got everything, and the same. */
static bool check(const crowd_options *crowd, const member *members, unsigned long long *compiles_out,
                  unsigned long long *waits_out)
{
  bool is_good = true;
  *compiles_out = 0;
  *waits_out = 0;
  for (unsigned i = 0; i < crowd->num_processes; i++) {
    *compiles_out += members[i].stats.compiles;
    *waits_out += members[i].stats.lock_waits;
    is_good = is_good && members[i].num_ok == crowd->num_configs && members[i].stats.lock_failures == 0
              && members[i].stats.store_set_aside == 0
              && memcmp(members[i].sums, members[0].sums, sizeof members[0].sums) == 0;
  }
  return is_good && *compiles_out == crowd->num_configs;
}

/* What the stand-in counted by itself, one byte a compile; the processes' own count where no stand-in was used. */
static unsigned long long count_by_stand_in(const char *path, unsigned long long own_count)
{
  struct stat status;
  return stat(path, &status) == 0 ? (unsigned long long)status.st_size : own_count;
}

static int run(const crowd_options *crowd)
{
  char count_path[sizeof crowd->work + 16];
  snprintf(count_path, sizeof count_path, "%s/compiles", crowd->work);
  setenv("FAKE_NVRTC_COUNT", count_path, 1);
  member *members =
      mmap(NULL, sizeof *members * crowd->num_processes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (members == MAP_FAILED) {
    perror("crowd: mmap");
    return 1;
  }
  unsigned long long start_us = now_us();
  bool is_good = start_all(crowd, members);
  while (wait(NULL) > 0) {
  }
  unsigned long long end_us = now_us();
  unsigned long long compiles = 0, waits = 0;
  is_good = check(crowd, members, &compiles, &waits) && is_good;
  is_good = count_by_stand_in(count_path, compiles) == compiles && is_good;
  printf("%u processes x %u configurations: %llu compiles, %llu waits for another's, %.2f s: %s\n",
         crowd->num_processes, crowd->num_configs, compiles, waits, (double)(end_us - start_us) / 1e6,
         is_good ? "as it should be" : "WRONG");
  return is_good ? 0 : 1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status;
  (void)type;
  (void)place;
  return remove(path);
}

static bool read_options(int argc, char **argv, crowd_options *crowd_out)
{
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--processes") == 0) {
      crowd_out->num_processes = (unsigned)atoi(value);
    } else if (strcmp(argv[i], "--configs") == 0) {
      crowd_out->num_configs = (unsigned)atoi(value);
    } else if (strcmp(argv[i], "--nvrtc") == 0) {
      crowd_out->nvrtc = value;
    } else {
      return false;
    }
  }
  return crowd_out->num_processes > 0 && crowd_out->num_processes <= MAX_PROCESSES && crowd_out->num_configs > 0
         && crowd_out->num_configs <= MAX_CONFIGS;
}

int main(int argc, char **argv)
{
  crowd_options crowd = {.num_processes = 64, .num_configs = 8};
  const char *parent = getenv("TMPDIR");
  if (!read_options(argc, argv, &crowd)) {
    fprintf(stderr, "usage: crowd [--processes 1..%d] [--configs 1..%d] [--nvrtc FILE]\n", (int)MAX_PROCESSES,
            (int)MAX_CONFIGS);
    return 2;
  }
  snprintf(crowd.work, sizeof crowd.work, "%s/swa-jit-crowd-XXXXXX",
           parent != NULL && parent[0] == '/' ? parent : "/tmp");
  if (mkdtemp(crowd.work) == NULL) {
    perror(crowd.work);
    return 1;
  }
  snprintf(crowd.store, sizeof crowd.store, "%s/store", crowd.work);
  int result = run(&crowd);
  nftw(crowd.work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  return result;
}
