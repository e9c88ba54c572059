/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples share, so that each shows the calls and little else: a device with its memory (the tools'
 * device.h), generated numbers, bf16 and e4m3, and the comparison. A failure ends the program with its reason. */
#ifndef EXAMPLES_SUPPORT_H
#define EXAMPLES_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "swa_jit/swa_jit.h"

typedef struct example_run {
  const char *name;
  sj_device device;
  swa_jit_lib *lib;
  sj_address memory[16];
  size_t num_memory;
  double worst_out; /* of the rows compared: the error's length over the wanted row's */
  double worst_lse;
} example_run;

/* Opens device 0 and the library. Prints "skipped: no device" and ends the program with 77 where there is none. */
void example_begin(const char *name, example_run *run);
/* Frees all; prints one line. Returns what main returns: 1 if a comparison failed. */
int example_end(example_run *run);
/* Ends the program unless status is OK: with 77 where there is no compiler, else with 1. */
void example_expect(swa_jit_status status);

/* Device memory until example_end: a copy of data, or all bytes 0xff, so that what is never written is NaN. */
void *example_upload(example_run *run, const void *data, size_t bytes);
void *example_alloc(example_run *run, size_t bytes);
/* Waits for the kernels, then copies. */
void example_download(example_run *run, const void *from, void *to, size_t bytes);

uint32_t example_random(void); /* the same sequence in each run */
double example_uniform(void);  /* in [-1, 1) */
void example_fill_bf16(uint16_t *to, size_t count);
uint16_t example_to_bf16(double value);
double example_from_bf16(uint16_t bits);
double example_from_e4m3(uint8_t bits);

/* Compares a row of out, and an LSE: both infinite of one sign, or close. */
void example_compare_row(example_run *run, const uint16_t *got, const double *wanted, size_t count);
void example_compare_lse(example_run *run, float got, double wanted);

#endif
