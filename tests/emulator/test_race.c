/* SPDX-License-Identifier: Apache-2.0 */
/* The race check by itself: what is ordered before what. */
#include "test_main.h"

#include "check_race.h"

enum { WARPS = 3, ASYNC = WARPS };

static emu_race_conflict conflict;

static bool touch(emu_race *race, uint32_t warp, uint32_t lane, uint32_t offset, uint32_t size, emu_race_kind kind)
{
  return emu_race_access(race, (emu_race_by){warp, lane, warp, lane, false}, offset, size, kind, &conflict);
}

static bool touch_async(emu_race *race, uint32_t row, uint32_t warp, uint32_t lane, uint32_t offset, emu_race_kind kind,
                        bool proxy)
{
  return emu_race_access(race, (emu_race_by){row, lane, warp, lane, proxy}, offset, 16, kind, &conflict);
}

static emu_race *fresh(bool with_proxy)
{
  emu_race *race = emu_race_make(WARPS, 1, with_proxy, 256);
  assert_non_null(race);
  emu_race_reset(race);
  return race;
}

/* All lanes of all warps meet. */
static void meet(emu_race *race)
{
  emu_clocks *clocks = NULL;
  for (uint32_t warp = 0; warp < WARPS; warp++) {
    emu_race_release(race, warp, ~0u, &clocks);
  }
  for (uint32_t warp = 0; warp < WARPS; warp++) {
    emu_race_acquire(race, warp, ~0u, clocks);
  }
  emu_clocks_drop(&clocks);
}

static void one_thread_never_races_with_itself(void **state)
{
  (void)state;
  emu_race *race = fresh(false);
  assert_true(touch(race, 1, 5, 0, 4, EMU_RACE_WRITE));
  assert_true(touch(race, 1, 5, 0, 16, EMU_RACE_READ));
  assert_true(touch(race, 1, 5, 2, 2, EMU_RACE_ATOMIC));
  assert_true(touch(race, 1, 5, 0, 8, EMU_RACE_WRITE));
  emu_race_free(race);
}

static void writes_race_with_everything_but_other_bytes(void **state)
{
  (void)state;
  emu_race *race = fresh(false);
  assert_true(touch(race, 0, 0, 8, 4, EMU_RACE_WRITE));
  assert_false(touch(race, 0, 1, 8, 4, EMU_RACE_READ));
  assert_int_equal(conflict.row, 0);
  assert_int_equal(conflict.lane, 0);
  assert_int_equal(conflict.kind, EMU_RACE_WRITE);
  assert_false(touch(race, 1, 0, 11, 1, EMU_RACE_WRITE));
  assert_false(touch(race, 1, 0, 0, 16, EMU_RACE_ATOMIC));
  assert_true(touch(race, 1, 0, 12, 4, EMU_RACE_WRITE));
  assert_true(touch(race, 1, 1, 4, 4, EMU_RACE_WRITE));
  emu_race_free(race);
}

static void reads_and_atomics_do_not_race_with_their_kind(void **state)
{
  (void)state;
  emu_race *race = fresh(false);
  for (uint32_t warp = 0; warp < WARPS; warp++) {
    for (uint32_t lane = 0; lane < 32; lane++) {
      assert_true(touch(race, warp, lane, 0, 16, EMU_RACE_READ));
      assert_true(touch(race, warp, lane, 16, 4, EMU_RACE_ATOMIC));
    }
  }
  assert_false(touch(race, 0, 0, 0, 4, EMU_RACE_WRITE));
  assert_false(touch(race, 0, 0, 16, 4, EMU_RACE_READ));
  meet(race);
  assert_true(touch(race, 0, 0, 0, 4, EMU_RACE_WRITE));
  emu_race_free(race);
}

static void a_barrier_orders_what_was_before_it(void **state)
{
  (void)state;
  emu_race *race = fresh(false);
  assert_true(touch(race, 0, 3, 0, 4, EMU_RACE_WRITE));
  meet(race);
  assert_true(touch(race, 2, 7, 0, 4, EMU_RACE_READ));
  assert_true(touch(race, 1, 7, 0, 4, EMU_RACE_READ));
  assert_false(touch(race, 0, 3, 0, 4, EMU_RACE_WRITE)); /* still read by others */
  meet(race);
  emu_race_forget(race);
  assert_true(touch(race, 0, 3, 0, 4, EMU_RACE_WRITE));
  assert_false(touch(race, 1, 0, 0, 4, EMU_RACE_READ));
  emu_race_free(race);
}

static void order_goes_through_a_third_thread(void **state)
{
  (void)state;
  emu_race *race = fresh(false);
  emu_clocks *first = NULL, *second = NULL;
  assert_true(touch(race, 0, 0, 0, 4, EMU_RACE_WRITE));
  emu_race_release(race, 0, 1u, &first);
  assert_true(touch(race, 0, 0, 16, 4, EMU_RACE_WRITE)); /* behind the release */
  emu_race_acquire(race, 1, 1u << 9, first);
  emu_race_release(race, 1, 1u << 9, &second);
  emu_race_acquire(race, 2, 1u << 4, second);
  assert_true(touch(race, 2, 4, 0, 4, EMU_RACE_WRITE));
  assert_false(touch(race, 2, 4, 16, 4, EMU_RACE_READ));
  assert_false(touch(race, 2, 5, 0, 4, EMU_RACE_READ));
  emu_clocks_drop(&first);
  emu_clocks_drop(&second);
  emu_race_free(race);
}

static void lanes_that_meet_know_each_other_and_no_one_else(void **state)
{
  (void)state;
  emu_race *race = fresh(false);
  assert_true(touch(race, 0, 0, 0, 4, EMU_RACE_WRITE));
  assert_true(touch(race, 0, 1, 4, 4, EMU_RACE_WRITE));
  emu_race_sync_lanes(race, 0, 0xffff);
  assert_true(touch(race, 0, 15, 0, 8, EMU_RACE_READ));
  assert_false(touch(race, 0, 16, 0, 4, EMU_RACE_READ));
  emu_race_free(race);
}

static void an_async_write_is_unordered_until_it_is_heard_of(void **state)
{
  (void)state;
  emu_race *race = fresh(false);
  const uint32_t clock = emu_race_clock(race, ASYNC);
  assert_true(touch_async(race, ASYNC, 0, 6, 0, EMU_RACE_WRITE, false));
  emu_race_tick(race, ASYNC);
  assert_false(touch(race, 0, 6, 0, 4, EMU_RACE_READ)); /* its own thread's */
  meet(race);
  emu_race_forget(race);
  assert_false(touch(race, 0, 6, 0, 4, EMU_RACE_READ)); /* a barrier says nothing of it */
  emu_race_learn(race, 0, 6, ASYNC, 6, clock);
  assert_true(touch(race, 0, 6, 0, 4, EMU_RACE_READ));
  assert_false(touch(race, 0, 7, 0, 4, EMU_RACE_READ));
  emu_clocks *heard = NULL;
  emu_race_publish(race, ASYNC, 6, clock, &heard);
  emu_race_acquire(race, 1, 1u, heard);
  assert_true(touch(race, 1, 0, 0, 4, EMU_RACE_READ));
  emu_clocks_drop(&heard);
  emu_race_free(race);
}

static void the_async_proxy_needs_a_fence_for_writes(void **state)
{
  (void)state;
  emu_race *race = fresh(true);
  const uint32_t row = emu_race_extra_row(race);
  assert_true(touch(race, 0, 0, 0, 4, EMU_RACE_WRITE));
  meet(race);
  emu_race_forget(race);
  assert_false(touch_async(race, row, 1, 0, 0, EMU_RACE_READ, true));   /* no fence */
  assert_true(touch_async(race, row, 1, 0, 16, EMU_RACE_READ, true));   /* other bytes */
  assert_true(touch_async(race, ASYNC, 1, 0, 0, EMU_RACE_READ, false)); /* not in the proxy */
  emu_race_proxy_fence(race, 0, 1u);
  assert_false(touch_async(race, row, 1, 0, 0, EMU_RACE_READ, true)); /* not heard of */
  meet(race);
  assert_true(touch_async(race, row, 1, 0, 0, EMU_RACE_READ, true));
  assert_true(touch(race, 0, 0, 32, 4, EMU_RACE_WRITE));
  meet(race);
  assert_false(touch_async(race, row, 1, 0, 32, EMU_RACE_READ, true)); /* written behind the fence */
  emu_race_proxy_fence(race, 1, 1u);                                   /* by the one who knew of it */
  assert_true(touch_async(race, row, 1, 0, 32, EMU_RACE_READ, true));
  assert_true(touch(race, 2, 0, 48, 4, EMU_RACE_READ));
  meet(race);
  assert_true(touch_async(race, row, 1, 0, 48, EMU_RACE_WRITE, true)); /* a read needs order alone */
  emu_race_free(race);
}

static void a_copy_in_the_generic_proxy_needs_the_fence_too(void **state)
{
  (void)state;
  emu_race *race = fresh(true);
  const uint32_t row = emu_race_extra_row(race), clock = emu_race_clock(race, ASYNC);
  assert_true(touch_async(race, ASYNC, 0, 6, 0, EMU_RACE_WRITE, false)); /* cp.async by warp 0, lane 6 */
  emu_race_tick(race, ASYNC);
  emu_race_proxy_fence(race, 0, 1u << 6); /* before its end is known */
  emu_race_learn(race, 0, 6, ASYNC, 6, clock);
  assert_false(touch_async(race, row, 0, 6, 0, EMU_RACE_READ, true));
  emu_race_proxy_fence(race, 0, 1u << 6);
  assert_true(touch_async(race, row, 0, 6, 0, EMU_RACE_READ, true));
  assert_false(touch_async(race, row, 1, 0, 0, EMU_RACE_READ, true)); /* not heard of */
  emu_race_free(race);
}

static void an_operation_of_several_knows_what_all_of_them_know(void **state)
{
  (void)state;
  emu_race *race = fresh(true);
  const uint32_t row = emu_race_extra_row(race);
  assert_true(touch(race, 0, 0, 0, 4, EMU_RACE_WRITE));
  emu_race_proxy_fence(race, 0, 1u);
  emu_clocks *first = NULL, *second = NULL;
  emu_race_release(race, 0, ~0u, &first);
  emu_race_release(race, 1, ~0u, &second);
  assert_true(emu_race_access_as(race, row, 0, first, 0, 16, EMU_RACE_READ, &conflict));
  assert_false(emu_race_access_as(race, row, 0, second, 0, 16, EMU_RACE_READ, &conflict));
  emu_clocks_meet(first, second);
  assert_false(emu_race_access_as(race, row, 0, first, 0, 16, EMU_RACE_READ, &conflict));
  assert_int_equal(conflict.row, 0);
  meet(race);
  emu_clocks_drop(&second);
  emu_race_release(race, 1, 1u, &second);
  assert_true(emu_race_access_as(race, row, 0, second, 0, 16, EMU_RACE_READ, &conflict));
  assert_false(touch(race, 0, 0, 0, 4, EMU_RACE_WRITE)); /* while it may read */
  emu_clocks_drop(&first);
  emu_clocks_drop(&second);
  emu_race_free(race);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_thread_never_races_with_itself),
      cmocka_unit_test(writes_race_with_everything_but_other_bytes),
      cmocka_unit_test(reads_and_atomics_do_not_race_with_their_kind),
      cmocka_unit_test(a_barrier_orders_what_was_before_it),
      cmocka_unit_test(order_goes_through_a_third_thread),
      cmocka_unit_test(lanes_that_meet_know_each_other_and_no_one_else),
      cmocka_unit_test(an_async_write_is_unordered_until_it_is_heard_of),
      cmocka_unit_test(the_async_proxy_needs_a_fence_for_writes),
      cmocka_unit_test(a_copy_in_the_generic_proxy_needs_the_fence_too),
      cmocka_unit_test(an_operation_of_several_knows_what_all_of_them_know),
  };
  return SJ_TEST_RUN(tests);
}
