/* SPDX-License-Identifier: Apache-2.0 */
/* Times on the device (graphs of many launches) and on the host (batches of calls), as medians. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include "device.h"

typedef struct bench_timing {
  sj_device *device;
  sj_stream stream;
  sj_event begin, end;
  unsigned num_replays;
  char message[600];
} bench_timing;

bool bench_timing_open(sj_device *device, unsigned num_replays, bench_timing *timing_out);
void bench_timing_close(bench_timing *timing);

/* Launches once on stream: the launch_index-th of a graph. False, with the reason in message, when it fails. */
typedef bool (*bench_launch)(void *data, unsigned launch_index, sj_stream stream, char *message, size_t message_size);

/* Captures num_launches launches into a graph; the median of its replays, in microseconds a launch. */
bool bench_timing_graph(bench_timing *timing, bench_launch launch, void *data, unsigned num_launches, double *us_out);

/* Nanoseconds of the monotonic clock. */
double bench_timing_now(void);

/* Reorders the values. */
double bench_timing_median(double *values, unsigned count);

#endif
