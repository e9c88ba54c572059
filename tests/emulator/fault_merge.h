/* SPDX-License-Identifier: Apache-2.0 */
/* A merge of tests/merge on the machine. */
#ifndef FAULT_MERGE_H
#define FAULT_MERGE_H

#include "kernel_machine.h"

/* name: of the case. As decode_check. */
decode_result fault_run_merge(kernel_machine *m, const char *name, decode_verdict *verdict_out);

#endif
