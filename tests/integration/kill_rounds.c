/* SPDX-License-Identifier: Apache-2.0 */
/* kill_rounds [--rounds N] [--seed N] [--nvrtc FILE]: in each round some processes write and read the entries of one
 * store, and all of them are killed (SIGKILL) at a random instant; then a process that nobody kills reads every entry.
 * Prints how many reads there were, how many gave wrong bytes or an entry that had to be set aside, and how many files
 * of killed writers the next open left. Ends with 1 unless there was none. To be used with the stand-in for libnvrtc,
 * whose compile takes no time. */
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "swa_jit/swa_jit.h"

enum { NUM_WRITERS = 4, NUM_CONFIGS = 8, CUBIN_BYTES = 200000 };

/* In memory that all processes share. */
typedef struct tally {
  unsigned long long expected[NUM_CONFIGS]; /* sums of the cubins' bytes */
  _Atomic unsigned long long num_reads, num_writes, num_wrong, num_refused, num_leftovers;
} tally;

typedef struct kill_options {
  unsigned num_rounds;
  unsigned long long seed;
  const char *nvrtc;
  char work[2048], store[2064];
} kill_options;

static unsigned long long next_random(unsigned long long *state)
{
  *state += 0x9e3779b97f4a7c15u;
  unsigned long long mixed = (*state ^ *state >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return mixed ^ mixed >> 31;
}

static unsigned long long sum_of(const void *bytes, size_t count)
{
  unsigned long long sum = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < count; i++) {
    sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  }
  return sum;
}

static unsigned long long now_us(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000u + (unsigned long long)now.tv_nsec / 1000u;
}

static void sleep_us(unsigned long long us)
{
  struct timespec left = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
  nanosleep(&left, NULL);
}

static bool get(swa_jit_lib *lib, unsigned which, unsigned long long *sum_out, uint32_t *origin_out)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.window_size = 32 * (which + 1);
  if (swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, &info) != SWA_JIT_OK) {
    fprintf(stderr, "%s\n", swa_jit_message());
    return false;
  }
  *sum_out = sum_of(cubin, cubin_bytes);
  *origin_out = info.origin;
  return true;
}

static swa_jit_lib *open_lib(const kill_options *asked, uint32_t flags)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_lib *lib = NULL;
  options.cache_dir = asked->store;
  options.nvrtc_path = asked->nvrtc;
  options.flags = flags;
  if (swa_jit_open(&options, &lib) != SWA_JIT_OK) {
    fprintf(stderr, "%s\n", swa_jit_message());
  }
  return lib;
}

/* Asks once for every configuration, beginning anywhere, and counts. */
static bool ask_all(const kill_options *asked, unsigned first, tally *counted)
{
  swa_jit_lib *lib = open_lib(asked, 0);
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  bool is_good = lib != NULL;
  for (unsigned i = 0; is_good && i < NUM_CONFIGS; i++) {
    unsigned which = (first + i) % NUM_CONFIGS;
    unsigned long long sum = 0;
    uint32_t origin = 0;
    is_good = get(lib, which, &sum, &origin);
    counted->num_reads += origin == SWA_JIT_ORIGIN_STORE;
    counted->num_writes += origin == SWA_JIT_ORIGIN_COMPILED;
    counted->num_wrong += is_good && sum != counted->expected[which];
  }
  if (is_good && swa_jit_stats_get(lib, &stats) == SWA_JIT_OK) {
    counted->num_refused += stats.store_set_aside;
  }
  swa_jit_close(&lib);
  return is_good;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status;
  (void)type;
  (void)place;
  return remove(path);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status;
  (void)place;
  return type == FTW_F && strstr(path, ".cubin") != NULL && strstr(path, ".bad-") == NULL ? unlink(path) : 0;
}

/* Until it is killed. An entry goes now and then, so that there is always something to write. */
static void write_for_ever(const kill_options *asked, unsigned number, unsigned long long random, tally *counted)
{
  while (ask_all(asked, (unsigned)(next_random(&random) % NUM_CONFIGS), counted)) {
    if (number == 0) {
      nftw(asked->store, remove_entry, 16, FTW_PHYS);
    }
  }
  _exit(1); /* a process that lives has to get its kernel */
}

static unsigned count_leftovers(const kill_options *asked)
{
  unsigned count = 0;
  DIR *listing = opendir(asked->store);
  for (struct dirent *file = NULL; listing != NULL && (file = readdir(listing)) != NULL;) {
    count += strncmp(file->d_name, ".tmp-", 5) == 0 || strcmp(file->d_name, ".writers") == 0;
  }
  if (listing != NULL) {
    closedir(listing);
  }
  return count;
}

/* Whether all were killed as meant, and a process that nobody kills gets everything. */
static bool run_round(const kill_options *asked, unsigned long long *random, unsigned long long most_us, tally *counted)
{
  pid_t writers[NUM_WRITERS];
  bool is_good = true;
  unsigned long long wait_us = next_random(random) % most_us;
  for (unsigned i = 0; i < NUM_WRITERS; i++) {
    unsigned long long own = next_random(random);
    writers[i] = fork();
    if (writers[i] == 0) {
      write_for_ever(asked, i, own, counted);
    }
    is_good = is_good && writers[i] > 0;
  }
  sleep_us(wait_us);
  for (unsigned i = 0; i < NUM_WRITERS; i++) {
    int status = 0;
    is_good = is_good && kill(writers[i], SIGKILL) == 0 && waitpid(writers[i], &status, 0) == writers[i]
              && WIFSIGNALED(status);
  }
  is_good = is_good && ask_all(asked, 0, counted) && ask_all(asked, 0, counted); /* the second one only reads */
  counted->num_leftovers += count_leftovers(asked);
  return is_good;
}

/* What every cubin should be, from an object without a store; and how long a whole round of asking takes. */
static bool learn(const kill_options *asked, tally *counted, unsigned long long *us_out)
{
  swa_jit_lib *lib = open_lib(asked, SWA_JIT_FLAG_NO_STORE);
  bool is_good = lib != NULL;
  for (unsigned which = 0; is_good && which < NUM_CONFIGS; which++) {
    uint32_t origin = 0;
    is_good = get(lib, which, &counted->expected[which], &origin);
  }
  swa_jit_close(&lib);
  unsigned long long start_us = now_us();
  is_good = is_good && ask_all(asked, 0, counted);
  *us_out = now_us() - start_us;
  return is_good;
}

static int run(const kill_options *asked)
{
  tally *counted = mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  unsigned long long once_us = 0;
  unsigned long long random = asked->seed;
  if (counted == MAP_FAILED || !learn(asked, counted, &once_us)) {
    return 1;
  }
  bool is_good = true;
  for (unsigned i = 0; i < asked->num_rounds && is_good; i++) {
    is_good = run_round(asked, &random, 3 * once_us, counted);
  }
  is_good = is_good && counted->num_wrong == 0 && counted->num_refused == 0 && counted->num_leftovers == 0
            && counted->num_reads > 0;
  printf("%u rounds, seed %llu: %llu entries written, %llu read, %llu of them with wrong bytes, %llu set aside, %llu "
         "leftovers of killed writers: %s\n",
         asked->num_rounds, asked->seed, (unsigned long long)counted->num_writes,
         (unsigned long long)counted->num_reads, (unsigned long long)counted->num_wrong,
         (unsigned long long)counted->num_refused, (unsigned long long)counted->num_leftovers,
         is_good ? "as it should be" : "WRONG");
  return is_good ? 0 : 1;
}

static bool read_options(int argc, char **argv, kill_options *asked_out)
{
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--rounds") == 0) {
      asked_out->num_rounds = (unsigned)atoi(value);
    } else if (strcmp(argv[i], "--seed") == 0) {
      asked_out->seed = strtoull(value, NULL, 10);
    } else if (strcmp(argv[i], "--nvrtc") == 0) {
      asked_out->nvrtc = value;
    } else {
      return false;
    }
  }
  return asked_out->num_rounds > 0;
}

int main(int argc, char **argv)
{
  static kill_options asked = {.num_rounds = 200, .seed = 1};
  const char *parent = getenv("TMPDIR");
  char bytes[32];
  if (!read_options(argc, argv, &asked)) {
    fprintf(stderr, "usage: kill_rounds [--rounds N] [--seed N] [--nvrtc FILE]\n");
    return 2;
  }
  snprintf(bytes, sizeof bytes, "%d", (int)CUBIN_BYTES);
  setenv("FAKE_NVRTC_BYTES", bytes, 1); /* an entry takes a while to write */
  snprintf(asked.work, sizeof asked.work, "%s/swa-jit-kills-XXXXXX",
           parent != NULL && parent[0] == '/' ? parent : "/tmp");
  if (mkdtemp(asked.work) == NULL) {
    perror(asked.work);
    return 1;
  }
  snprintf(asked.store, sizeof asked.store, "%s/store", asked.work);
  int result = run(&asked);
  nftw(asked.work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  return result;
}
