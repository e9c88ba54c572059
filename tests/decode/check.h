/* SPDX-License-Identifier: Apache-2.0 */
/* One case on one device: data, launch, comparison. The body is the same for every device; a device is a table. */
#ifndef DECODE_CHECK_H
#define DECODE_CHECK_H

#include "compare.h"

/* Calls return false with the reason in message(). */
typedef struct decode_device {
  void *data; /* handed to each call */
  bool (*alloc)(void *data, size_t bytes, uint64_t *address_out);
  void (*release)(void *data, uint64_t address);
  bool (*write)(void *data, uint64_t to, const void *from, size_t bytes);
  bool (*read)(void *data, void *to, uint64_t from, size_t bytes);
  /* Launches and waits. UNSUPPORTED: the configuration does not fit the device's architecture, which is no failure. */
  swa_jit_status (*decode)(void *data, const swa_jit_config *config, const swa_jit_decode_args *args);
  const char *(*message)(void *data);
  /* May be NULL: is shown what a launch left in out and LSE. Returns NULL, or why that is a fault. */
  const char *(*seen)(void *data, const decode_data *left);
  unsigned num_threads; /* for the reference */
} decode_device;

/* A case's tensors in device memory. */
typedef struct decode_problem {
  const decode_device *device;
  uint64_t addresses[DECODE_NUM_TENSORS];
  size_t sizes[DECODE_NUM_TENSORS];
  swa_jit_decode_args args; /* device pointers */
} decode_problem;

bool decode_problem_make(const decode_device *device, const decode_data *data, decode_problem *problem_out);
void decode_problem_free(decode_problem *problem);
/* Writes another case's data of the same dimensions, poison included, to the same addresses. */
bool decode_problem_write(decode_problem *problem, const decode_data *data);
/* Reads out and lse back into data, with their guards. */
bool decode_problem_read(const decode_problem *problem, decode_data *data);

/* The reference of data, then the comparison of what decode_problem_read brought. False: no memory. */
bool decode_judge(const decode_data *data, unsigned num_threads, decode_verdict *verdict_out);

typedef enum decode_result {
  DECODE_PASSED,
  DECODE_FAILED, /* verdict->fault says why; also a device or memory that failed */
  DECODE_REFUSED /* the configuration does not fit the architecture */
} decode_result;

decode_result decode_check(const decode_device *device, const decode_case *which, decode_verdict *verdict_out);

#endif
