/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <pthread.h>
#include <string.h>

#include "stats.h"

/* The counters in the public struct's order, each with a value of its own. */
static void fill(sj_stats *stats)
{
  _Atomic uint64_t *const counters[] = {
      &stats->store_hits,
      &stats->store_misses,
      &stats->store_set_aside,
      &stats->store_writes,
      &stats->store_write_failures,
      &stats->store_bytes_read,
      &stats->store_bytes_written,
      &stats->lock_waits,
      &stats->lock_failures,
      &stats->compiles,
      &stats->compile_failures,
      &stats->compile_ns,
      &stats->loads,
      &stats->load_ns,
      &stats->layer_hits,
      &stats->layer_skips,
      &stats->evictions,
      &stats->evicted_bytes,
      &stats->failures_remembered,
  };
  assert_int_equal(sizeof counters / sizeof counters[0], sizeof *stats / sizeof(uint64_t));
  for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
    sj_stats_add(*counters[i], 100 + i);
  }
}

static void snapshot_has_each_counter_in_its_field(void **state)
{
  (void)state;
  sj_stats stats = {0};
  fill(&stats);
  swa_jit_stats snapshot = SWA_JIT_STATS_INIT;
  sj_stats_snapshot(&stats, &snapshot);
  assert_int_equal(snapshot.size, sizeof snapshot);
  assert_int_equal(snapshot.reserved, 0);
  const uint64_t *fields = &snapshot.store_hits;
  size_t num_fields = (sizeof snapshot - offsetof(swa_jit_stats, store_hits)) / sizeof(uint64_t);
  assert_int_equal(num_fields, sizeof stats / sizeof(uint64_t));
  for (size_t i = 0; i < num_fields; i++) {
    assert_int_equal(fields[i], 100 + i);
  }
}

static void snapshot_into_smaller_struct_stays_inside(void **state)
{
  (void)state;
  sj_stats stats = {0};
  fill(&stats);
  swa_jit_stats snapshot;
  memset(&snapshot, 0xa5, sizeof snapshot);
  snapshot.size = offsetof(swa_jit_stats, store_writes);
  sj_stats_snapshot(&stats, &snapshot);
  assert_int_equal(snapshot.size, offsetof(swa_jit_stats, store_writes));
  assert_int_equal(snapshot.store_set_aside, 102);
  assert_true(snapshot.store_writes == UINT64_C(0xa5a5a5a5a5a5a5a5));
}

static void snapshot_into_larger_struct_leaves_its_tail(void **state)
{
  (void)state;
  sj_stats stats = {0};
  fill(&stats);
  struct {
    swa_jit_stats known;
    uint64_t tail;
  } larger = {.known = SWA_JIT_STATS_INIT, .tail = 0};
  larger.known.size = sizeof larger;
  sj_stats_snapshot(&stats, &larger.known);
  assert_int_equal(larger.known.size, sizeof larger);
  assert_int_equal(larger.known.layer_skips, 115);
  assert_int_equal(larger.tail, 0);
}

static void *add_often(void *argument)
{
  sj_stats *stats = argument;
  for (int i = 0; i < 10000; i++) {
    sj_stats_add(stats->compiles, 1);
  }
  return NULL;
}

static void add_from_threads_loses_nothing(void **state)
{
  (void)state;
  sj_stats stats = {0};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, add_often, &stats), 0);
  }
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  swa_jit_stats snapshot = SWA_JIT_STATS_INIT;
  sj_stats_snapshot(&stats, &snapshot);
  assert_int_equal(snapshot.compiles, 40000);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(snapshot_has_each_counter_in_its_field),
      cmocka_unit_test(snapshot_into_smaller_struct_stays_inside),
      cmocka_unit_test(snapshot_into_larger_struct_leaves_its_tail),
      cmocka_unit_test(add_from_threads_loses_nothing),
  };
  return SJ_TEST_RUN(tests);
}
