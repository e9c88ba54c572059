/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma on a device: a sample of cases on a libcuda, the vendor's or the emulator's, against their exact sums and, bit
 * by bit, against the machine. Prints for each case the error as a part of its terms' magnitudes and how many registers
 * of D have the machine's bits. Fails where an error is above the bound of the machine's rule of sums: the documents
 * give none. On the emulator's libcuda all bits must be the same.
 * Usage: test_wgmma_device LIBCUDA [write FILE | compare FILE | raw FILE]. write: a line a case, with a digest of D;
 * compare: all must be as in such a file; raw: the words of D, for who looks for the rule. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_calls.h"
#include "snippet.h"
#include "wgmma_case.h"

enum { SKIPPED = 77, MAX_DYNAMIC_SHARED = 8, MAJOR = 75, MINOR = 76, NO_DEVICE = 100 };

static driver_calls cu;
static uint64_t memory;

static bool find_calls(const char *path)
{
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  bool found = library != NULL;
  void *address;
#define FIND(member, symbol, parameters)                                                                               \
  address = found ? dlsym(library, #symbol) : NULL;                                                                    \
  memcpy(&cu.member, &address, sizeof address);                                                                        \
  found = found && address != NULL;
  DRIVER_CALLS(FIND)
#undef FIND
  return found;
}

static bool worked(const char *call, int result)
{
  const char *reason = NULL;
  if (result != 0 && (cu.error_string(result, &reason) != 0 || reason == NULL)) {
    reason = "a status without a text";
  }
  if (result != 0) {
    printf("%s: %d, %s\n", call, result, reason);
  }
  return result == 0;
}
#define WORKED(call, ...) worked(#call, cu.call(__VA_ARGS__))

/* 0, or SKIPPED where there is no device of sm_90. */
static int open_device(const char *path)
{
  void *context;
  int device = 0, major = 0, minor = 0;
  char name[100] = "";
  if (!find_calls(path) || cu.init(0) == NO_DEVICE) {
    printf("skipped: no device, or no driver, by %s\n", path);
    return SKIPPED;
  }
  if (!WORKED(device_get, &device, 0) || !WORKED(device_attribute, &major, MAJOR, device)
      || !WORKED(device_attribute, &minor, MINOR, device) || !WORKED(device_name, name, sizeof name, device)) {
    return 1;
  }
  if (major != 9 || minor != 0) {
    printf("skipped: %s is no sm_90\n", name);
    return SKIPPED;
  }
  printf("%s\n", name);
  return WORKED(primary_retain, &context, device) && WORKED(ctx_set, context) && WORKED(alloc, &memory, WGMMA_DATA) ? 0
                                                                                                                    : 1;
}

static bool run_on_device(const char *text, const wgmma_case *of, uint8_t *data)
{
  void *module, *function, *parameters[] = {&memory};
  if (!WORKED(module_load, &module, text)) {
    return false;
  }
  const bool good = WORKED(module_function, &function, module, "snippet")
                    && WORKED(func_set, function, MAX_DYNAMIC_SHARED, (int)of->used)
                    && WORKED(write, memory, data, WGMMA_DATA)
                    && WORKED(launch, function, 1, 1, 1, WGMMA_THREADS, 1, 1, of->used, NULL, parameters, NULL)
                    && worked("ctx_wait", cu.ctx_wait()) && WORKED(read, data, memory, WGMMA_DATA);
  return WORKED(module_unload, module) && good;
}

/* Terms cut at 2^-25 of the largest, of 8-bit floats at 2^-13, and the sum at 2^-23 or 2^-13 of itself. */
static double bound_of(const wgmma_case *of)
{
  return of->a_type == E4M3 || of->a_type == E5M2 ? 34 * 0x1p-13 : 19 * 0x1p-25;
}

static unsigned num_same(const wgmma_case *of, const uint8_t *one, const uint8_t *other, unsigned *count_out)
{
  const unsigned words = of->d_type == F16 ? of->n / 4 : of->n / 2;
  unsigned same = 0;
  for (unsigned i = 0; i < WGMMA_THREADS * words; i++) {
    const size_t at = WGMMA_AT_D + (size_t)(i / words) * WGMMA_D_BYTES + (size_t)(i % words) * 4;
    same += memcmp(one + at, other + at, 4) == 0;
  }
  *count_out = WGMMA_THREADS * words;
  return same;
}

typedef struct places {
  FILE *write, *compare, *raw; /* NULL: not asked for */
} places;

/* FNV-1a of D, thread by thread; the words to a file. */
static unsigned long long digest_of(const wgmma_case *of, const uint8_t *data, FILE *raw)
{
  const unsigned words = of->d_type == F16 ? of->n / 4 : of->n / 2;
  unsigned long long digest = 0xcbf29ce484222325ull;
  for (unsigned thread = 0; thread < WGMMA_THREADS; thread++) {
    const uint8_t *row = data + WGMMA_AT_D + (size_t)thread * WGMMA_D_BYTES;
    for (unsigned i = 0; i < 4 * words; i++) {
      digest = (digest ^ row[i]) * 0x100000001b3ull;
    }
    if (raw != NULL) {
      (void)fwrite(row, 4, words, raw);
    }
  }
  return digest;
}

/* The case's line goes to the one file, and must be the next of the other. */
static bool record(const wgmma_case *of, const char *what, const uint8_t *data, const places *files)
{
  char line[256], wanted[256] = "";
  (void)snprintf(line, sizeof line, "%016llx %s\n", digest_of(of, data, files->raw), what);
  if (files->write != NULL) {
    (void)fputs(line, files->write);
  }
  return files->compare == NULL || (fgets(wanted, sizeof wanted, files->compare) != NULL && strcmp(line, wanted) == 0);
}

static bool run_both(const wgmma_case *of, uint8_t *on_device, uint8_t *on_machine)
{
  static char text[WGMMA_TEXT];
  static emu_message message;
  wgmma_case_text(of, text, sizeof text);
  wgmma_case_data(of, on_device);
  memcpy(on_machine, on_device, WGMMA_DATA);
  if (snippet_run_kernel("sm_90a", text, on_machine, WGMMA_DATA, 1, WGMMA_THREADS, of->used, &message) != EMU_OK) {
    printf("%s\n", message.text);
    return false;
  }
  return run_on_device(text, of, on_device);
}

static bool try_case(const wgmma_case *of, const char *about, bool is_emulator, const places *files)
{
  static uint8_t on_device[WGMMA_DATA], on_machine[WGMMA_DATA];
  char opcode[128], what[200];
  wgmma_case_opcode(of, opcode, sizeof opcode);
  (void)snprintf(what, sizeof what, "%s%s, %s", opcode + strlen("wgmma.mma_async.sync.aligned."),
                 of->a_in_registers ? " (registers)" : "", about);
  if (!run_both(of, on_device, on_machine)) {
    printf("failed: %s\n", what);
    return false;
  }
  unsigned place = 0, count = 0;
  const double error = wgmma_case_error(of, on_device, &place), bound = bound_of(of);
  const unsigned same = num_same(of, on_device, on_machine, &count);
  const bool as_recorded = record(of, what, on_device, files);
  const bool good = error <= bound && (!is_emulator || same == count) && as_recorded;
  printf("%s: error 2^%.1f (bound 2^%.1f) at row %u column %u, %u of %u registers the same%s: %s\n",
         good ? "passed" : "failed", error == 0 ? -INFINITY : log2(error), log2(bound), place / 256, place % 256, same,
         count, as_recorded ? "" : ", not as recorded", what);
  return good;
}

static bool open_file(const char *what, const char *path, places *files)
{
  FILE **to = strcmp(what, "write") == 0     ? &files->write
              : strcmp(what, "compare") == 0 ? &files->compare
              : strcmp(what, "raw") == 0     ? &files->raw
                                             : NULL;
  if (to != NULL) {
    *to = fopen(path, to == &files->compare ? "r" : "wb");
  }
  return to != NULL && *to != NULL;
}

static bool close_file(FILE *file)
{
  const bool failed = file != NULL && ferror(file) != 0;
  return (file == NULL || fclose(file) == 0) && !failed;
}

int main(int argc, char **argv)
{
  places files = {NULL, NULL, NULL};
  bool good = argc >= 2 && argc % 2 == 0;
  for (int i = 2; i + 1 < argc && good; i += 2) {
    good = open_file(argv[i], argv[i + 1], &files);
  }
  if (!good) {
    printf("failed: wants the path of a libcuda, then write, compare or raw and a file that can be opened\n");
    return 1;
  }
  const int status = open_device(argv[1]);
  if (status != 0) {
    return status;
  }
  wgmma_case of;
  const char *about;
  unsigned failures = 0, count = 0;
  for (; wgmma_sample(count, &of, &about); count++) {
    failures += try_case(&of, about, strstr(argv[1], "emulator") != NULL, &files) ? 0 : 1;
  }
  printf("%u cases, %u failed\n", count, failures);
  good = close_file(files.write);
  good = close_file(files.raw) && good;
  good = close_file(files.compare) && good;
  return good && failures == 0 && count > 0 ? 0 : 1;
}
