/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <string.h>

static uint64_t get(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

void sj_stats_snapshot(const sj_stats *stats, swa_jit_stats *stats_out)
{
  swa_jit_stats snapshot = {
      .size = stats_out->size,
      .store_hits = get(&stats->store_hits),
      .store_misses = get(&stats->store_misses),
      .store_set_aside = get(&stats->store_set_aside),
      .store_writes = get(&stats->store_writes),
      .store_write_failures = get(&stats->store_write_failures),
      .store_bytes_read = get(&stats->store_bytes_read),
      .store_bytes_written = get(&stats->store_bytes_written),
      .lock_waits = get(&stats->lock_waits),
      .lock_failures = get(&stats->lock_failures),
      .compiles = get(&stats->compiles),
      .compile_failures = get(&stats->compile_failures),
      .compile_ns = get(&stats->compile_ns),
      .loads = get(&stats->loads),
      .load_ns = get(&stats->load_ns),
      .layer_hits = get(&stats->layer_hits),
      .layer_skips = get(&stats->layer_skips),
      .evictions = get(&stats->evictions),
      .evicted_bytes = get(&stats->evicted_bytes),
      .failures_remembered = get(&stats->failures_remembered),
  };
  /* An older caller's struct is shorter; a newer one's tail was checked to be zero, which is what we know of it. */
  size_t count = stats_out->size < sizeof snapshot ? stats_out->size : sizeof snapshot;
  memcpy(stats_out, &snapshot, count);
}
