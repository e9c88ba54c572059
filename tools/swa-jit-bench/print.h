/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as tables, CSV and JSON. */
#ifndef BENCH_PRINT_H
#define BENCH_PRINT_H

#include "host.h"
#include "sweep.h"

/* Refused and failed kernels, to standard error. */
void bench_print_missing(const bench_sweep *sweep);

/* host NULL: it was not measured. */
void bench_print_tables(const bench_sweep *sweep, const bench_host *host);

/* False: standard error says why. */
bool bench_print_csv(const bench_sweep *sweep, const char *path);
bool bench_print_json(const bench_sweep *sweep, const bench_host *host, const char *path);

#endif
