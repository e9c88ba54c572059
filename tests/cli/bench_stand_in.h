/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the library under swa-jit-bench's parts: kv_tile 64 does not fit, kv_tile 128 fails to compile, and as
 * many splits are picked as there are multiprocessors a token, and one. And what their tests share. */
#ifndef BENCH_STAND_IN_H
#define BENCH_STAND_IN_H

#include "sweep.h"

#define READ(options, ...)                                                                                             \
  bench_options_read(sizeof((char *[]){"swa-jit-bench", __VA_ARGS__}) / sizeof(char *),                                \
                     (char *[]){"swa-jit-bench", __VA_ARGS__}, options)

/* Two tokens, four kernels of which the third is refused; measured. */
void make_sweep(bench_sweep *sweep, bench_options *options, sj_device *device);

#endif
