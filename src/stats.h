/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a library object: atomics, one for each field of swa_jit_stats, and their snapshot. */
#ifndef SJ_STATS_H
#define SJ_STATS_H

#include <stdatomic.h>

#include "swa_jit/swa_jit.h"

typedef struct sj_stats {
  _Atomic uint64_t store_hits, store_misses, store_set_aside, store_writes, store_write_failures;
  _Atomic uint64_t store_bytes_read, store_bytes_written, lock_waits, lock_failures;
  _Atomic uint64_t compiles, compile_failures, compile_ns, loads, load_ns;
  _Atomic uint64_t layer_hits, layer_skips, evictions, evicted_bytes, failures_remembered;
} sj_stats;

#define sj_stats_add(counter, amount) atomic_fetch_add_explicit(&(counter), (amount), memory_order_relaxed)

/* Fills every field that *stats_out, of stats_out->size bytes, has. */
void sj_stats_snapshot(const sj_stats *stats, swa_jit_stats *stats_out);

#endif
