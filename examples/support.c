/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 }; /* what test runners count as skipped */

static const double out_limit = 1e-2; /* bf16 has 8 bits of precision */
static const double lse_limit = 1e-3;

static _Noreturn void give_up(const char *reason)
{
  fprintf(stderr, "%s\n", reason);
  exit(EXIT_FAILURE);
}

static void expect_device(const example_run *run, bool done)
{
  if (!done) {
    give_up(run->device.message);
  }
}

void example_begin(const char *name, example_run *run)
{
  memset(run, 0, sizeof *run);
  run->name = name;
  sj_presence presence = sj_device_open(NULL, &run->device);
  if (presence == SJ_DEVICE_ABSENT) {
    printf("skipped: no device\n");
    exit(SKIPPED);
  }
  expect_device(run, presence == SJ_DEVICE_PRESENT);
  example_expect(swa_jit_open(NULL, &run->lib));
}

int example_end(example_run *run)
{
  bool right = run->worst_out <= out_limit && run->worst_lse <= lse_limit;
  swa_jit_close(&run->lib);
  for (size_t i = 0; i < run->num_memory; i++) {
    sj_device_free(&run->device, run->memory[i]);
  }
  printf("%s on %s: %s, error of out %.1e, of LSE %.1e\n", run->name, run->device.name, right ? "right" : "wrong",
         run->worst_out, run->worst_lse);
  sj_device_close(&run->device);
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

void example_expect(swa_jit_status status)
{
  if (status == SWA_JIT_NO_COMPILER) {
    printf("skipped: %s\n", swa_jit_message());
    exit(SKIPPED);
  }
  if (status != SWA_JIT_OK) {
    fprintf(stderr, "%s: ", swa_jit_status_name(status));
    give_up(swa_jit_message());
  }
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

void *example_alloc(example_run *run, size_t bytes)
{
  sj_address address = 0;
  if (run->num_memory == sizeof run->memory / sizeof run->memory[0]) {
    give_up("more tensors than example_run.memory holds");
  }
  expect_device(run, sj_device_alloc(&run->device, bytes, &address));
  run->memory[run->num_memory++] = address;
  expect_device(run, sj_device_fill(&run->device, address, 0xff, bytes));
  return (void *)(uintptr_t)address;
}

void *example_upload(example_run *run, const void *data, size_t bytes)
{
  void *copy = example_alloc(run, bytes);
  expect_device(run, sj_device_write(&run->device, (sj_address)(uintptr_t)copy, data, bytes));
  return copy;
}

void example_download(example_run *run, const void *from, void *to, size_t bytes)
{
  expect_device(run, sj_device_wait(&run->device));
  expect_device(run, sj_device_read(&run->device, to, (sj_address)(uintptr_t)from, bytes));
}

/* ---- numbers ---------------------------------------------------------------------------------------------- */

uint32_t example_random(void)
{
  static uint64_t state = 1; /* Knuth's linear congruential generator, its upper bits */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 32);
}

double example_uniform(void)
{
  return ldexp((double)example_random(), -31) - 1.0;
}

void example_fill_bf16(uint16_t *to, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    to[i] = example_to_bf16(example_uniform());
  }
}

/* To the nearest, ties away from zero: good for data. */
uint16_t example_to_bf16(double value)
{
  float rounded = (float)value;
  uint32_t bits = 0;
  memcpy(&bits, &rounded, sizeof bits);
  return (uint16_t)((bits + 0x8000u) >> 16);
}

double example_from_bf16(uint16_t bits)
{
  uint32_t wide = (uint32_t)bits << 16;
  float value = 0.0f;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

double example_from_e4m3(uint8_t bits)
{
  int exponent = bits >> 3 & 15, fraction = bits & 7;
  double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
  if ((bits & 0x7f) == 0x7f) {
    magnitude = NAN;
  }
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

/* ---- comparison ------------------------------------------------------------------------------------------- */

/* The larger one; a NaN counts as infinite. */
static double worse(double worst, double error)
{
  return isnan(error) ? INFINITY : fmax(worst, error);
}

void example_compare_row(example_run *run, const uint16_t *got, const double *wanted, size_t count)
{
  double error = 0.0, length = 0.0;
  for (size_t i = 0; i < count; i++) {
    double difference = example_from_bf16(got[i]) - wanted[i];
    error += difference * difference;
    length += wanted[i] * wanted[i];
  }
  run->worst_out = worse(run->worst_out, length > 0.0 ? sqrt(error / length) : sqrt(error));
}

void example_compare_lse(example_run *run, float got, double wanted)
{
  bool same_infinity = isinf(wanted) && (double)got == wanted;
  run->worst_lse = worse(run->worst_lse, same_infinity ? 0.0 : fabs((double)got - wanted));
}
