/* SPDX-License-Identifier: Apache-2.0 */
/* A case as a PTX kernel: each thread loads its operands, the case's text works on them, and it stores its results. */
#ifndef GOLDEN_KERNEL_H
#define GOLDEN_KERNEL_H

#include "cases.h"

enum { GOLDEN_BLOCK = 128, GOLDEN_THREAD_MEMORY = 64, GOLDEN_KERNEL_ROOM = 8192 };

/* What stands before the kernels of a module. */
extern const char golden_module_head[];

/* The kernel "case<number>" of four parameters: operands and results of the .u64 addresses, [operand][thread] of eight
 * bytes each; the threads' memory; eight words. Returns the length; the room is GOLDEN_KERNEL_ROOM. */
size_t golden_kernel(const golden_case *one, size_t number, char *to);

#endif
