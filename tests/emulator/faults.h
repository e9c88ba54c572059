/* SPDX-License-Identifier: Apache-2.0 */
/* Deliberate faults of the kernel templates: what is changed, and which check must catch it. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* What catches a fault: the compiler, a check of the machine, or the comparison with the reference. */
typedef enum fault_check {
  FAULT_UNCAUGHT,
  FAULT_COMPILER,
  FAULT_RACE,
  FAULT_UNINITIALISED,
  FAULT_BOUNDS,
  FAULT_MISALIGNED,
  FAULT_DEADLOCK,
  FAULT_RESULT,
  FAULT_OTHER, /* another check of the machine */
  FAULT_NUM_CHECKS
} fault_check;

typedef struct fault {
  const char *what;
  const char *part;  /* below kernel_templates/ */
  const char *was;   /* stands in the part once */
  const char *now;   /* in its place */
  const char *line;  /* the case of tests/decode; for swa_merge.cu the name of one of tests/merge */
  fault_check check; /* UNCAUGHT: why says why it cannot be seen */
  fault_check other; /* may be the one that catches it, by who comes first; UNCAUGHT: none */
  const char *why;
  const char *arch; /* NULL: sm_100a */
} fault;

extern const fault faults[];
extern const size_t num_faults;

const char *fault_check_name(fault_check check);
const char *fault_arch(const fault *f);

typedef struct fault_outcome {
  bool is_sound; /* the text stands in the part once, the change is in the source, the case fits */
  fault_check check;
  char message[1600];
} fault_outcome;

/* Runs the case of a fault, with the fault in the kernel or without. SKIPPED: there is no NVRTC, message says so. */
typedef enum fault_run { FAULT_RUN_DONE, FAULT_RUN_SKIPPED } fault_run;
fault_run fault_try(const fault *f, bool is_planted, unsigned long long seed, fault_outcome *outcome_out);

#endif
