/* SPDX-License-Identifier: Apache-2.0 */
/* A driver, the vendor's or the emulator's, and cases run on it. */
#ifndef GOLDEN_DEVICE_H
#define GOLDEN_DEVICE_H

#include "cases.h"

typedef struct golden_device {
  char name[100];
  int arch; /* 90 */
  void *library;
  uint64_t operands, results, memory; /* room for any case */
  void *module;
  const char *fault; /* what failed last, the call's name; and the driver's word for it */
  const char *reason;
} golden_device;

enum { GOLDEN_MAX_THREADS = 65536 };

/* 0: open; otherwise fault and reason are set. NO_DEVICE: there is none. */
enum { GOLDEN_NO_DEVICE = 100 };
int golden_open(const char *path, golden_device *device_out);
void golden_close(golden_device *device);

/* The PTX of some kernels becomes the device's module, in place of the last one. */
bool golden_load(golden_device *device, const char *ptx);
/* Runs kernel "case<number>" of the module. */
bool golden_run(golden_device *device, const golden_case *one, size_t number, const uint64_t *words,
                uint64_t *results_out);

#endif
