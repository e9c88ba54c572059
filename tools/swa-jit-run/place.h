/* SPDX-License-Identifier: Apache-2.0 */
/* Where the step runs: on a GPU, on the emulator, or nowhere. */
#ifndef RUN_PLACE_H
#define RUN_PLACE_H

#include "device.h"
#include "problem.h"

typedef struct run_device {
  sj_device device;
  bool is_present;
  bool is_emulated;
  char cuda_path[4096]; /* the emulator's library */
  char no_gpu[512];     /* why there is no GPU; empty: there is one, or the emulator was asked for */
  char no_emulator[5000];
} run_device;

/* Opens what the options ask for. GOOD too where there is neither; else what is wrong is printed. */
run_outcome run_device_open(const run_options *options, run_device *device_out);

/* The libcuda for the library; NULL: its own choice. */
const char *run_device_cuda(const run_device *device, const run_options *options);

#endif
