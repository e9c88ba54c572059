/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake libcuda's files share: results, the way a call is declared, and the fault that is asked for. */
#ifndef FAKE_CALL_H
#define FAKE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, ERROR_MEMORY = 2, ERROR_CAPTURE = 901, ERROR_UNKNOWN = 999, ERROR_LAUNCH = 719 };

/* Declares, for the compiler's sake, and begins the definition of a driver call. */
#define CALL(name, ...)                                                                                                \
  __attribute__((visibility("default"))) int name(__VA_ARGS__);                                                        \
  int name(__VA_ARGS__)

static inline bool has_fault(const char *name)
{
  const char *fault = getenv("FAKE_CUDA_FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

/* Runs what the fault "early" has put off: before anything looks at its results. */
void fake_launch_finish(void);

#endif
