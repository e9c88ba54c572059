/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "memory.h"

static void alloc_of_nothing_or_too_much_is_refused(void **state)
{
  (void)state;
  assert_int_equal(emu_alloc(0), 0);
  assert_int_equal(emu_alloc(SIZE_MAX), 0);
  assert_int_equal(emu_alloc(SIZE_MAX / 2), 0);
}

static void alloc_is_aligned_apart_and_bounded(void **state)
{
  (void)state;
  const uint64_t a = emu_alloc(1000), b = emu_alloc(1);
  assert_true(a != 0 && b != 0);
  assert_int_equal(a % 512, 0);
  assert_int_equal(b % 512, 0);
  assert_true(b >= a + 1000 + 256 || a >= b + 1 + 256);
  assert_non_null(emu_host(a, 1000));
  assert_non_null(emu_host(a + 999, 1));
  assert_null(emu_host(a, 1001));
  assert_null(emu_host(a + 1000, 1));
  assert_null(emu_host(a - 1, 1));
  assert_null(emu_host(a + 1, SIZE_MAX));
  uint64_t base = 0;
  size_t size = 0;
  assert_int_equal(emu_range(a + 17, &base, &size), EMU_OK);
  assert_true(base == a && size == 1000);
  assert_int_equal(emu_range(a + 1000, &base, &size), EMU_INVALID_VALUE);
  assert_int_equal(emu_free(b), EMU_OK);
  assert_int_equal(emu_free(a), EMU_OK);
}

static void free_of_what_is_no_allocation_is_refused(void **state)
{
  (void)state;
  const uint64_t a = emu_alloc(64);
  assert_int_equal(emu_free(a + 1), EMU_INVALID_VALUE);
  assert_int_equal(emu_free(a), EMU_OK);
  assert_int_equal(emu_free(a), EMU_INVALID_VALUE);
  assert_int_equal(emu_free(0), EMU_OK);
}

static void freed_memory_is_not_given_again_at_once(void **state)
{
  (void)state;
  const uint64_t a = emu_alloc(4096);
  assert_int_equal(emu_free(a), EMU_OK);
  const uint64_t b = emu_alloc(4096);
  assert_true(b != a);
  const emu_global *memory = emu_global_memory();
  assert_true(emu_all_state(memory->states + (a - EMU_GLOBAL_WINDOW), 4096, EMU_BYTE_NONE));
  assert_true(emu_all_state(memory->states + (b - EMU_GLOBAL_WINDOW), 4096, EMU_BYTE_UNWRITTEN));
  assert_int_equal(emu_free(b), EMU_OK);
}

static void copies_carry_bytes_and_whether_they_were_written(void **state)
{
  (void)state;
  const size_t before = emu_memory_used();
  const uint64_t a = emu_alloc(16), b = emu_alloc(16);
  assert_int_equal(emu_memory_used(), before + 32);
  assert_int_equal(emu_copy_in(a + 4, "abcd", 4), EMU_OK);
  assert_int_equal(emu_copy_in(a + 13, "abcd", 4), EMU_INVALID_VALUE);
  assert_int_equal(emu_copy_within(b, a, 16), EMU_OK);
  assert_int_equal(emu_copy_within(b + 1, a, 16), EMU_INVALID_VALUE);
  char out[4];
  assert_int_equal(emu_copy_out(out, b + 4, 4), EMU_OK);
  assert_memory_equal(out, "abcd", 4);
  assert_int_equal(emu_copy_out(out, b + 13, 4), EMU_INVALID_VALUE);
  const uint8_t *states = emu_global_memory()->states + (b - EMU_GLOBAL_WINDOW);
  assert_true(emu_all_state(states, 4, EMU_BYTE_UNWRITTEN));
  assert_true(emu_all_state(states + 4, 4, EMU_BYTE_WRITTEN));
  assert_true(emu_all_state(states + 8, 8, EMU_BYTE_UNWRITTEN));
  emu_free(a);
  emu_free(b);
  assert_int_equal(emu_memory_used(), before);
}

static void many_allocations_in_any_order_never_overlap(void **state)
{
  (void)state;
  uint64_t at[200];
  for (unsigned round = 0; round < 20; round++) {
    for (unsigned i = 0; i < 200; i++) {
      at[i] = emu_alloc(1 + (i * 7919u + round) % 5000);
      assert_true(at[i] != 0);
    }
    for (unsigned i = 0; i < 200; i++) {
      assert_int_equal(emu_free(at[(i * 73) % 200]), EMU_OK);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(alloc_of_nothing_or_too_much_is_refused),
      cmocka_unit_test(alloc_is_aligned_apart_and_bounded),
      cmocka_unit_test(free_of_what_is_no_allocation_is_refused),
      cmocka_unit_test(freed_memory_is_not_given_again_at_once),
      cmocka_unit_test(copies_carry_bytes_and_whether_they_were_written),
      cmocka_unit_test(many_allocations_in_any_order_never_overlap),
  };
  return SJ_TEST_RUN(tests);
}
