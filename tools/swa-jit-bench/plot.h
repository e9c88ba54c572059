/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as an SVG drawing: microseconds over tokens, both axes logarithmic. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include "sweep.h"

/* The best of each head_group, the floor and the copy. False: standard error says why. */
bool bench_plot_write(const bench_sweep *sweep, const char *path);

#endif
