/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of test_driver share: the driver's calls, its kernels, and how an answer is checked. */
#ifndef EMU_TEST_DRIVER_H
#define EMU_TEST_DRIVER_H

#include <stdbool.h>

#include "driver_calls.h"

enum { NUM_VALUES = 256 };

extern driver_calls cu;
extern int has_clusters;

/* add: p[i] += v, i of all threads. set: p[i] = v. shared_48k: has 48 KiB of static shared memory. few: does nothing,
 * with at most 64 threads. wild: writes to address 16. */
extern const char test_ptx[];
extern void *test_add, *test_set, *test_few, *test_wild, *test_shared_48k;
extern uint64_t test_memory; /* NUM_VALUES words */

/* Counts a check, and prints one that fails. */
bool expect_at(int line, const char *what, long long got, long long wanted);

#define EXPECT(call, wanted) expect_at(__LINE__, #call, (long long)(call), (long long)(wanted))
#define OK(call) EXPECT(call, 0)

/* Waits for the default stream; whether the first words of the memory are all value. */
bool test_holds(unsigned value, unsigned count);

/* set or add of value by so many blocks and threads. */
int test_launch(void *function, unsigned value, unsigned num_blocks, unsigned num_threads, void *stream);

/* Launches, streams, events, graphs: test_driver_work.c. */
void check_work(void);
/* test_driver_tensor.c. */
void check_tensor_maps(void);

#endif
