/* SPDX-License-Identifier: Apache-2.0 */
/* large_store [--entries N] [--bytes N] [--nvrtc FILE]: fills a store with so many entries, whose cubins have so many
 * bytes, and measures how long it takes to open it, to find an entry in it, to be told that there is none, to list it
 * and to write one more. Prints median, 99th of a hundred and worst; of the slow ones also how often the thread was
 * taken off its processor or read from a disk meanwhile, and the most processor time that one took. (A hit's lock is
 * asked for by a thread of its own, so that each also waits until that one gets a processor.) Ends with 1 when a call
 * fails or the store does not hold what was put into it; it judges no time. To be used with the stand-in for libnvrtc.
 * TMPDIR decides on which disk the store lies. */
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "swa_jit/swa_jit.h"

enum {
  MIN_ENTRIES = 20,
  MAX_ENTRIES = 40000,
  NUM_OPENS = 200,
  NUM_HITS = 1000,
  NUM_MISSES = 200,
  NUM_LISTS = 10,
  NUM_WRITES = 50
};

#define SLOW_MS 0.5

typedef struct large_options {
  unsigned num_entries;
  const char *bytes;
  const char *nvrtc;
  char work[2048], store[2064];
} large_options;

static double now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare_times(const void *a, const void *b)
{
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static void print_times(const char *what, double *times, unsigned count)
{
  qsort(times, count, sizeof *times, compare_times);
  printf("%-28s median %8.3f ms, 99th %8.3f ms, worst %8.3f ms, of %u\n", what, times[count / 2],
         times[count * 99 / 100], times[count - 1], count);
}

/* What a thread has waited for, and worked. */
typedef struct thread_state {
  double cpu_ms;
  long num_preemptions;
  long num_reads; /* of a disk */
} thread_state;

static thread_state thread_now(void)
{
  struct timespec cpu;
  struct rusage used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  getrusage(RUSAGE_THREAD, &used);
  return (thread_state){(double)cpu.tv_sec * 1e3 + (double)cpu.tv_nsec / 1e6, used.ru_nivcsw, used.ru_inblock};
}

typedef struct slow_calls {
  unsigned count, num_preempted, num_read;
  double worst_cpu_ms;
} slow_calls;

static void note_call(slow_calls *slow, double ms, const thread_state *before)
{
  const thread_state now = thread_now();
  const double cpu_ms = now.cpu_ms - before->cpu_ms;
  slow->worst_cpu_ms = cpu_ms > slow->worst_cpu_ms ? cpu_ms : slow->worst_cpu_ms;
  if (ms > SLOW_MS) {
    slow->count++;
    slow->num_preempted += now.num_preemptions > before->num_preemptions;
    slow->num_read += now.num_reads > before->num_reads;
  }
}

static void print_slow(const slow_calls *slow)
{
  printf("%-28s %u above %.1f ms: %u preempted, %u read from a disk; most processor time %.3f ms\n", "", slow->count,
         SLOW_MS, slow->num_preempted, slow->num_read, slow->worst_cpu_ms);
}

static bool complain(void)
{
  fprintf(stderr, "large_store: %s\n", swa_jit_message());
  return false;
}

static bool open_lib(const large_options *asked, uint32_t flags, swa_jit_lib **lib_out)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  options.cache_dir = asked->store;
  options.nvrtc_path = asked->nvrtc;
  options.flags = flags;
  return swa_jit_open(&options, lib_out) == SWA_JIT_OK || complain();
}

/* The n-th of many different configurations. */
static swa_jit_config make_config(unsigned number)
{
  static const uint32_t groups[] = {8, 16, 32, 64, 128};
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.window_size = number % 8192 + 1;
  config.head_group = groups[number / 8192];
  return config;
}

/* Whether the n-th configuration's cubin comes from where it should. */
static bool get(swa_jit_lib *lib, unsigned number, uint32_t origin)
{
  swa_jit_config config = make_config(number);
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  if (swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, &info) != SWA_JIT_OK) {
    return complain();
  }
  if (info.origin != origin || info.store_status != SWA_JIT_OK) {
    fprintf(stderr, "large_store: configuration %u is of origin %u: %s\n", number, info.origin, info.miss_reason);
    return false;
  }
  return true;
}

/* An object for each thousand, since it keeps what it made. */
static bool fill(const large_options *asked)
{
  bool is_good = true;
  double start = now_ms();
  for (unsigned first = 0; is_good && first < asked->num_entries; first += 1000) {
    swa_jit_lib *lib = NULL;
    is_good = open_lib(asked, 0, &lib);
    for (unsigned i = first; is_good && i < first + 1000 && i < asked->num_entries; i++) {
      is_good = get(lib, i, SWA_JIT_ORIGIN_COMPILED);
    }
    swa_jit_close(&lib);
  }
  printf("%u entries with cubins of %s bytes, written in %.1f s\n", asked->num_entries, asked->bytes,
         (now_ms() - start) / 1e3);
  return is_good;
}

static bool measure_opens(const large_options *asked)
{
  static double times[NUM_OPENS];
  for (unsigned i = 0; i < NUM_OPENS; i++) {
    swa_jit_lib *lib = NULL;
    double start = now_ms();
    if (!open_lib(asked, 0, &lib)) {
      return false;
    }
    times[i] = now_ms() - start;
    swa_jit_close(&lib);
  }
  print_times("open", times, NUM_OPENS);
  return true;
}

/* count different entries, spread over the store. */
static bool measure_gets(const large_options *asked, const char *what, unsigned first, unsigned count, uint32_t origin)
{
  static double times[NUM_HITS];
  slow_calls slow = {0};
  swa_jit_lib *lib = NULL;
  bool is_good = open_lib(asked, 0, &lib);
  unsigned stride = origin == SWA_JIT_ORIGIN_STORE && asked->num_entries > count ? asked->num_entries / count : 1;
  for (unsigned i = 0; is_good && i < count; i++) {
    const thread_state before = thread_now();
    double start = now_ms();
    is_good = get(lib, first + i * stride, origin);
    times[i] = now_ms() - start;
    note_call(&slow, times[i], &before);
  }
  swa_jit_close(&lib);
  print_times(what, times, count);
  print_slow(&slow);
  return is_good;
}

/* A miss where nothing may be compiled: only the reason is found. */
static bool measure_misses(const large_options *asked)
{
  static double times[NUM_MISSES];
  swa_jit_lib *lib = NULL;
  bool is_good = open_lib(asked, SWA_JIT_FLAG_NO_COMPILE, &lib);
  for (unsigned i = 0; is_good && i < NUM_MISSES; i++) {
    swa_jit_config config = make_config(asked->num_entries + i);
    const void *cubin = NULL;
    size_t cubin_bytes = 0;
    double start = now_ms();
    is_good = swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL) == SWA_JIT_NO_COMPILER;
    times[i] = now_ms() - start;
  }
  swa_jit_close(&lib);
  print_times("miss, with its reason", times, NUM_MISSES);
  return is_good || complain();
}

static uint32_t count_entry(void *data, const swa_jit_entry *entry)
{
  *(unsigned *)data += entry->state == SWA_JIT_ENTRY_USABLE;
  return 0;
}

static bool measure_lists(const large_options *asked)
{
  static double times[NUM_LISTS];
  swa_jit_lib *lib = NULL;
  bool is_good = open_lib(asked, 0, &lib);
  for (unsigned i = 0; is_good && i < NUM_LISTS; i++) {
    unsigned num_usable = 0;
    double start = now_ms();
    is_good = swa_jit_store_each(lib, 0, count_entry, &num_usable) == SWA_JIT_OK || complain();
    times[i] = now_ms() - start;
    if (num_usable != asked->num_entries) {
      fprintf(stderr, "large_store: %u of %u entries are listed as usable\n", num_usable, asked->num_entries);
      is_good = false;
    }
  }
  swa_jit_close(&lib);
  print_times("list", times, NUM_LISTS);
  return is_good;
}

static bool run(const large_options *asked)
{
  const unsigned num_hits = asked->num_entries < NUM_HITS ? asked->num_entries : (unsigned)NUM_HITS;
  return fill(asked) && measure_opens(asked)
         && measure_gets(asked, "hit, in an open library", 0, num_hits, SWA_JIT_ORIGIN_STORE)
         && measure_gets(asked, "the same hits again", 0, num_hits, SWA_JIT_ORIGIN_STORE) && measure_misses(asked)
         && measure_lists(asked)
         && measure_gets(asked, "compile (stand-in) and write", asked->num_entries, NUM_WRITES,
                         SWA_JIT_ORIGIN_COMPILED);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status;
  (void)type;
  (void)place;
  return remove(path);
}

static bool read_options(int argc, char **argv, large_options *asked_out)
{
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--entries") == 0) {
      asked_out->num_entries = (unsigned)atoi(value);
    } else if (strcmp(argv[i], "--bytes") == 0) {
      asked_out->bytes = value;
    } else if (strcmp(argv[i], "--nvrtc") == 0) {
      asked_out->nvrtc = value;
    } else {
      return false;
    }
  }
  return asked_out->num_entries >= MIN_ENTRIES && asked_out->num_entries <= MAX_ENTRIES;
}

int main(int argc, char **argv)
{
  static large_options asked = {.num_entries = 10000, .bytes = "60000"};
  const char *parent = getenv("TMPDIR");
  if (!read_options(argc, argv, &asked)) {
    fprintf(stderr, "usage: large_store [--entries %d..%d] [--bytes N] [--nvrtc FILE]\n", (int)MIN_ENTRIES,
            (int)MAX_ENTRIES);
    return 2;
  }
  setenv("FAKE_NVRTC_BYTES", asked.bytes, 1);
  snprintf(asked.work, sizeof asked.work, "%s/swa-jit-large-XXXXXX",
           parent != NULL && parent[0] == '/' ? parent : "/tmp");
  if (mkdtemp(asked.work) == NULL) {
    perror(asked.work);
    return 1;
  }
  snprintf(asked.store, sizeof asked.store, "%s/store", asked.work);
  int result = run(&asked) ? 0 : 1;
  nftw(asked.work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  return result;
}
