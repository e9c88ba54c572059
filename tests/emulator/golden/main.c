/* SPDX-License-Identifier: Apache-2.0 */
/* golden: instructions on a device against what the H200 made of the same operands, and the capture of that. Needs the
 * C library alone. Status: 0 all the same, 1 not, 2 wrong use, 77 no device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "kernel.h"
#include "record.h"
#include "values.h"

enum { SKIPPED = 77, BATCH = 64, MOST_PRINTED = 200 };

typedef struct options {
  const char *library, *write, *compare, *only, *ptx;
  bool all, list, bounds;
} options;

typedef struct run {
  options asked;
  golden_case *cases;
  size_t count;
  golden_device device;
  golden_file file;
  FILE *to;
  uint64_t *words, *results;
  size_t num_run, num_failed;
  unsigned long long num_results;
} run;

static bool is_meant(const run *r, const golden_case *one)
{
  return r->asked.only == NULL || strstr(one->opcode, r->asked.only) != NULL;
}

/* One case of the module. */
static bool run_case(run *r, size_t number)
{
  const golden_case *one = &r->cases[number];
  double worst = 0;
  golden_fill(one, r->words);
  if (!golden_run(&r->device, one, number, r->words, r->results)) {
    printf("%s %s: %s: %s\n", one->opcode, one->row->operands, r->device.fault, r->device.reason);
    r->num_failed++;
    return false;
  }
  for (size_t i = 0; i < one->num_results; i++) {
    const unsigned bytes = golden_bytes(one->results[i]), threads = golden_num_threads(one);
    const uint64_t mask = bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
    for (size_t k = i * threads; k < (i + 1) * threads; k++) {
      r->results[k] &= mask;
    }
    r->num_results += threads;
  }
  r->num_run++;
  if (r->to != NULL && !golden_write(r->to, one, r->results, r->asked.all)) {
    return false;
  }
  if (r->asked.compare != NULL) {
    r->num_failed += golden_compare(&r->file, one, r->words, r->results, &worst) != GOLDEN_SAME;
    if (r->asked.bounds && !golden_is_exact(one)) {
      printf("%s: at most %.3f of its bound of %u steps or 2^%d\n", one->opcode, worst, one->row->bound.steps,
             one->row->bound.absolute);
    }
  }
  return true;
}

static bool load(run *r, size_t from, size_t to)
{
  static char text[BATCH * GOLDEN_KERNEL_ROOM + GOLDEN_KERNEL_ROOM];
  size_t length = (size_t)snprintf(text, sizeof text, "%s", golden_module_head);
  for (size_t i = from; i < to; i++) {
    if (is_meant(r, &r->cases[i])) {
      length += golden_kernel(&r->cases[i], i, text + length);
    }
  }
  return golden_load(&r->device, text);
}

/* A module that the driver refuses is loaded kernel by kernel, to know which it is. */
static bool run_batch(run *r, size_t from, size_t to)
{
  const bool together = load(r, from, to);
  for (size_t i = from; i < to; i++) {
    if (!is_meant(r, &r->cases[i])) {
      continue;
    }
    if (!together && !load(r, i, i + 1)) {
      printf("%s %s: %s: %s\n", r->cases[i].opcode, r->cases[i].row->operands, r->device.fault, r->device.reason);
      r->num_failed++;
    } else if (!run_case(r, i) && r->to != NULL) {
      return false;
    }
  }
  return true;
}

static int run_all(run *r)
{
  switch (golden_open(r->asked.library, &r->device)) {
  case 0:
    break;
  case GOLDEN_NO_DEVICE:
    printf("skipped: no device (%s: %s)\n", r->device.fault, r->device.reason);
    return SKIPPED;
  default:
    printf("golden: %s: %s\n", r->device.fault, r->device.reason);
    return 1;
  }
  for (size_t from = 0; from < r->count; from += BATCH) {
    if (!run_batch(r, from, from + BATCH < r->count ? from + BATCH : r->count)) {
      break;
    }
  }
  golden_close(&r->device);
  if (r->asked.compare != NULL && r->asked.only == NULL && r->file.num_records != r->count) {
    printf("golden: %zu records on file, of %zu cases: capture anew\n", r->file.num_records, r->count);
    r->num_failed++;
  }
  printf("golden on %s (sm_%d): %zu of %zu cases, %llu results; %zu failed\n", r->device.name, r->device.arch,
         r->num_run, r->count, r->num_results, r->num_failed);
  return r->num_failed == 0 && r->num_run > 0 ? 0 : 1;
}

static int write_ptx(const run *r)
{
  static char text[GOLDEN_KERNEL_ROOM];
  FILE *to = fopen(r->asked.ptx, "w");
  if (to == NULL) {
    printf("golden: %s cannot be written\n", r->asked.ptx);
    return 1;
  }
  fputs(golden_module_head, to);
  for (size_t i = 0; i < r->count; i++) {
    if (is_meant(r, &r->cases[i])) {
      golden_kernel(&r->cases[i], i, text);
      fputs(text, to);
    }
  }
  return fclose(to) == 0 ? 0 : 1;
}

static int start(run *r)
{
  r->words = malloc((size_t)8 * GOLDEN_MAX_SOURCES * GOLDEN_MAX_THREADS);
  r->results = malloc((size_t)8 * GOLDEN_MAX_RESULTS * GOLDEN_MAX_THREADS);
  if (r->words == NULL || r->results == NULL) {
    printf("golden: no memory\n");
    return 1;
  }
  if (r->asked.compare != NULL && !golden_read(r->asked.compare, &r->file)) {
    return 1;
  }
  if (r->asked.write != NULL) {
    r->to = fopen(r->asked.write, "wb");
    if (r->to == NULL || !golden_write_head(r->to, r->count)) {
      printf("golden: %s cannot be written\n", r->asked.write);
      return 1;
    }
  }
  int status = run_all(r);
  if (r->to != NULL && fclose(r->to) != 0) {
    printf("golden: %s cannot be written\n", r->asked.write);
    status = 1;
  }
  golden_release(&r->file);
  return status;
}

static bool read_options(int argc, char **argv, options *o)
{
  for (int i = 1; i < argc; i++) {
    const char **text = strcmp(argv[i], "--write") == 0     ? &o->write
                        : strcmp(argv[i], "--compare") == 0 ? &o->compare
                        : strcmp(argv[i], "--only") == 0    ? &o->only
                        : strcmp(argv[i], "--ptx") == 0     ? &o->ptx
                                                            : NULL;
    bool *flag = strcmp(argv[i], "--all") == 0      ? &o->all
                 : strcmp(argv[i], "--list") == 0   ? &o->list
                 : strcmp(argv[i], "--bounds") == 0 ? &o->bounds
                                                    : NULL;
    if (text != NULL && i + 1 < argc) {
      *text = argv[++i];
    } else if (flag != NULL) {
      *flag = true;
    } else if (argv[i][0] != '-' && o->library == NULL) {
      o->library = argv[i];
    } else {
      return false;
    }
  }
  return o->library != NULL ? o->write != NULL || o->compare != NULL : o->list || o->ptx != NULL;
}

static const char usage[] =
    "usage: golden LIBCUDA [--write FILE [--all]] [--compare FILE [--bounds]] [--only TEXT]\n"
    "       golden --list | --ptx FILE [--only TEXT]\n"
    "  --write FILE    keeps the results; --all: each one, not digests of the exact ones\n"
    "  --compare FILE  compares them with a file's; --bounds: prints how much of each bound is used\n"
    "  --only TEXT     opcodes with this text in them\n"
    "  --list          the opcodes, one a line\n"
    "  --ptx FILE      the kernels, for ptxas\n";

int main(int argc, char **argv)
{
  static run r;
  int status = 2;
  if (!read_options(argc, argv, &r.asked)) {
    fputs(usage, stdout);
    return 2;
  }
  r.cases = golden_cases(&r.count);
  if (r.cases == NULL) {
    printf("golden: no memory\n");
    return 1;
  }
  if (r.asked.list) {
    for (size_t i = 0; i < r.count; i++) {
      puts(r.cases[i].opcode);
    }
    status = 0;
  } else {
    status = r.asked.ptx != NULL ? write_ptx(&r) : start(&r);
  }
  free(r.cases);
  free(r.words);
  free(r.results);
  return status;
}
