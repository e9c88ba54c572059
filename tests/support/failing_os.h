/* SPDX-License-Identifier: Apache-2.0 */
/* An sj_os table that counts its calls, makes the n-th one fail, cuts reads and writes short, or kills the process.
 * A table's functions carry no context, so the plan is one for the process: start it anew in each test. */
#ifndef SJ_FAILING_OS_H
#define SJ_FAILING_OS_H

#include <stdbool.h>
#include <stddef.h>

#include "os.h"

typedef enum failing_os_call {
  FAILING_OS_ANY,
  FAILING_OS_OPENAT,
  FAILING_OS_CLOSE,
  FAILING_OS_PREAD,
  FAILING_OS_WRITE,
  FAILING_OS_FSYNC,
  FAILING_OS_FTRUNCATE,
  FAILING_OS_FCHMOD,
  FAILING_OS_FCHOWN,
  FAILING_OS_FUTIMENS,
  FAILING_OS_DUP3,
  FAILING_OS_CLOCK_GETTIME,
  FAILING_OS_FSTAT,
  FAILING_OS_FSTATAT,
  FAILING_OS_MKDIRAT,
  FAILING_OS_RENAMEAT,
  FAILING_OS_UNLINKAT,
  FAILING_OS_FLOCK,
  FAILING_OS_FDOPENDIR,
  FAILING_OS_GETRANDOM,
  FAILING_OS_NUM_CALLS
} failing_os_call;

#define FAILING_OS_KILL (-1) /* as an error: the process kills itself before the call, as a crash would */

typedef struct failing_os_plan {
  failing_os_call call; /* which calls count towards nth */
  unsigned nth;         /* 1 for the first; 0: none fails */
  int error;            /* errno of the failure, or FAILING_OS_KILL */
  bool and_later;       /* every later one fails too */
  size_t most_bytes;    /* a read or write moves at most so many bytes; 0: as asked */
} failing_os_plan;

/* Sets the plan, zeroes the counts and returns the table. A close that fails has closed, as Linux does. */
const sj_os *failing_os_start(failing_os_plan plan);

unsigned failing_os_count(failing_os_call call); /* calls since start, those that failed included */
bool failing_os_has_failed(void);

#endif
