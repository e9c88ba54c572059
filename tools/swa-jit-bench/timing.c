/* SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"

enum { WARM_REPLAYS = 2 };

static bool tell(bench_timing *timing, bool done)
{
  if (!done) {
    snprintf(timing->message, sizeof timing->message, "%s", timing->device->message);
  }
  return done;
}

bool bench_timing_open(sj_device *device, unsigned num_replays, bench_timing *timing_out)
{
  memset(timing_out, 0, sizeof *timing_out);
  timing_out->device = device;
  timing_out->num_replays = num_replays;
  if (tell(timing_out, sj_stream_create(device, &timing_out->stream) && sj_event_create(device, &timing_out->begin)
                           && sj_event_create(device, &timing_out->end))) {
    return true;
  }
  bench_timing_close(timing_out);
  return false;
}

void bench_timing_close(bench_timing *timing)
{
  if (timing->end != NULL) {
    sj_event_destroy(timing->device, timing->end);
  }
  if (timing->begin != NULL) {
    sj_event_destroy(timing->device, timing->begin);
  }
  if (timing->stream != NULL) {
    sj_stream_destroy(timing->device, timing->stream);
  }
  timing->stream = NULL;
  timing->begin = NULL;
  timing->end = NULL;
}

static bool capture(bench_timing *timing, bench_launch launch, void *data, unsigned num_launches, sj_graph *graph_out)
{
  bool launched = true;
  if (!tell(timing, sj_graph_begin(timing->device, timing->stream))) {
    return false;
  }
  for (unsigned i = 0; i < num_launches && launched; i++) {
    launched = launch(data, i, timing->stream, timing->message, sizeof timing->message);
  }
  if (!sj_graph_end(timing->device, timing->stream, graph_out)) {
    return launched ? tell(timing, false) : false;
  }
  if (!launched) {
    sj_graph_destroy(timing->device, *graph_out);
  }
  return launched;
}

static bool replay(bench_timing *timing, sj_graph graph, double *us_out)
{
  return tell(timing, sj_event_record(timing->device, timing->begin, timing->stream)
                          && sj_graph_launch(timing->device, graph, timing->stream)
                          && sj_event_record(timing->device, timing->end, timing->stream)
                          && sj_event_elapsed_us(timing->device, timing->begin, timing->end, us_out));
}

bool bench_timing_graph(bench_timing *timing, bench_launch launch, void *data, unsigned num_launches, double *us_out)
{
  sj_graph graph = NULL;
  if (!capture(timing, launch, data, num_launches, &graph)) {
    return false;
  }
  double *times = sj_memory_get(timing->num_replays, sizeof *times);
  bool timed = true;
  for (unsigned i = 0; i < WARM_REPLAYS + timing->num_replays && timed; i++) {
    double us = 0.0;
    timed = replay(timing, graph, &us);
    if (i >= WARM_REPLAYS) {
      times[i - WARM_REPLAYS] = us / num_launches;
    }
  }
  if (timed) {
    *us_out = bench_timing_median(times, timing->num_replays);
  }
  free(times);
  sj_graph_destroy(timing->device, graph);
  return timed;
}

double bench_timing_now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_timing_median(double *values, unsigned count)
{
  qsort(values, count, sizeof *values, compare);
  return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
