/* SPDX-License-Identifier: Apache-2.0 */
/* What lanes do together: exchanges, votes, reductions, barriers with results, atomics, special registers. */
#include "test_main.h"

#include <string.h>

#include "snippet.h"

static emu_snippet snippet;

static void run(const char *text, unsigned threads)
{
  snippet.text = text;
  snippet.threads = threads;
  snippet.shared = 4096;
  snippet_run(&snippet);
  if (snippet.result != EMU_OK) {
    print_message("%s: %s\n", text, snippet.message.text);
  }
  assert_int_equal(snippet.result, EMU_OK);
}

static uint32_t out(unsigned thread, unsigned word)
{
  return (uint32_t)snippet.out[thread][word];
}

static void fill(void)
{
  memset(&snippet, 0, sizeof snippet);
  for (unsigned lane = 0; lane < 128; lane++) {
    snippet.in[lane][0] = 100 + lane;
    snippet.in[lane][1] = lane * 7 % 5;
  }
}

static void shfl_reads_the_lane_that_it_should(void **state)
{
  (void)state;
  fill();
  run("shfl.sync.idx.b32 %d0|%p0, %a0, 9, 31, -1; shfl.sync.bfly.b32 %d1, %a0, 1, 31, -1;"
      "shfl.sync.up.b32 %d2|%p1, %a0, 3, 0, -1; shfl.sync.down.b32 %d3|%p2, %a0, 3, 31, -1;"
      "selp.u32 %t0, 1, 0, %p0; selp.u32 %t1, 2, 0, %p1; selp.u32 %t2, 4, 0, %p2; or.b32 %t0, %t0, %t1;"
      "or.b32 %t0, %t0, %t2; cvt.u64.u32 %ld0, %t0;",
      32);
  for (unsigned lane = 0; lane < 32; lane++) {
    assert_int_equal(out(lane, 0), 109);
    assert_int_equal(out(lane, 1), 100 + (lane ^ 1));
    assert_int_equal(out(lane, 2), 100 + (lane >= 3 ? lane - 3 : lane));
    assert_int_equal(out(lane, 3), 100 + (lane <= 28 ? lane + 3 : lane));
    assert_int_equal(out(lane, 4), 1u | (lane >= 3 ? 2u : 0u) | (lane <= 28 ? 4u : 0u));
  }
}

static void shfl_stays_in_its_segment(void **state)
{
  (void)state;
  fill();
  /* Segments of eight lanes: mask 0x18, clamp 31 or 0. */
  run("shfl.sync.idx.b32 %d0, %a0, 2, 0x181f, -1; shfl.sync.down.b32 %d1|%p0, %a0, 6, 0x181f, -1;"
      "shfl.sync.up.b32 %d2, %a0, 6, 0x1800, -1; shfl.sync.bfly.b32 %d3, %a0, 9, 0x181f, -1;",
      32);
  for (unsigned lane = 0; lane < 32; lane++) {
    const unsigned first = lane / 8 * 8, at = lane % 8;
    assert_int_equal(out(lane, 0), 100 + first + 2);
    assert_int_equal(out(lane, 1), 100 + (at + 6 < 8 ? lane + 6 : lane));
    assert_int_equal(out(lane, 2), 100 + (at >= 6 ? lane - 6 : lane));
    assert_int_equal(out(lane, 3), 100 + ((lane ^ 9) < first + 8 ? (lane ^ 9) : lane));
  }
}

static void votes_matches_and_reductions_agree(void **state)
{
  (void)state;
  fill();
  run("setp.eq.u32 %p0, %a1, 2; vote.sync.ballot.b32 %d0, %p0, -1; vote.sync.any.pred %p1, %p0, -1;"
      "vote.sync.all.pred %p2, !%p0, -1; vote.sync.uni.pred %p3, %p0, -1; selp.u32 %t0, 1, 0, %p1;"
      "selp.u32 %t1, 2, 0, %p2; selp.u32 %t2, 4, 0, %p3; or.b32 %t0, %t0, %t1; or.b32 %d1, %t0, %t2;"
      "match.any.sync.b32 %d2, %a1, -1; redux.sync.add.u32 %d3, %a0, -1; redux.sync.max.s32 %t3, %a1, -1;"
      "match.all.sync.b32 %t4|%p4, %t3, -1; mov.b64 %ld0, {%t3, %t4};",
      32);
  uint32_t holds = 0, sum = 0;
  for (unsigned lane = 0; lane < 32; lane++) {
    holds |= (uint32_t)(lane * 7 % 5 == 2) << lane;
    sum += 100 + lane;
  }
  for (unsigned lane = 0; lane < 32; lane++) {
    uint32_t same = 0;
    for (unsigned other = 0; other < 32; other++) {
      same |= (uint32_t)(other * 7 % 5 == lane * 7 % 5) << other;
    }
    assert_int_equal(out(lane, 0), holds);
    assert_int_equal(out(lane, 1), 1);
    assert_int_equal(out(lane, 2), same);
    assert_int_equal(out(lane, 3), sum);
    assert_true(snippet.out[lane][4] == (0xffffffff00000000 | 4));
  }
}

static void elect_chooses_one_of_the_mask(void **state)
{
  (void)state;
  fill();
  for (uint64_t seed = 1; seed < 20; seed++) {
    emu_configure(&(emu_settings){seed, 1});
    run("setp.lt.u32 %p1, %thread, 8; @%p1 bra FEW; mov.u32 %d0, 99; mov.u32 %d1, 0; bra.uni DONE;\n"
        "FEW: elect.sync %d0|%p0, 0xff; selp.u32 %d1, 1, 0, %p0;\nDONE:",
        32);
    unsigned count = 0;
    for (unsigned lane = 0; lane < 8; lane++) {
      assert_true(out(lane, 0) < 8);
      assert_int_equal(out(lane, 0), out(0, 0));
      assert_int_equal(out(lane, 1), lane == out(0, 0));
      count += out(lane, 1);
    }
    assert_int_equal(count, 1);
  }
}

static void barriers_reduce(void **state)
{
  (void)state;
  fill();
  run("setp.eq.u32 %p0, %thread, 70; bar.red.or.pred %p1, 0, %p0; bar.red.and.pred %p2, 0, %p0;"
      "setp.lt.u32 %p3, %thread, 45; bar.red.popc.u32 %d1, 1, %p3; selp.u32 %t0, 1, 0, %p1;"
      "selp.u32 %t1, 2, 0, %p2; or.b32 %d0, %t0, %t1; barrier.cta.sync.aligned 3, 128;",
      128);
  for (unsigned thread = 0; thread < 128; thread++) {
    assert_int_equal(out(thread, 0), 1);
    assert_int_equal(out(thread, 1), 45);
  }
}

static void atomics_of_all_threads_add_up(void **state)
{
  (void)state;
  fill();
  run("mov.u32 %t0, shared; setp.eq.u32 %p0, %thread, 0; @%p0 st.shared.v4.u32 [%t0], {0, 1000, 7, 0};\n"
      "bar.sync 0; atom.shared.add.u32 %t1, [%t0], 1; atom.shared.min.u32 %t2, [%t0+4], %a0;"
      "atom.shared.inc.u32 %t3, [%t0+8], 9; atom.shared.or.b32 %t4, [%t0+12], %thread; bar.sync 0;"
      "ld.shared.u32 %d0, [%t0]; ld.shared.u32 %d1, [%t0+4]; ld.shared.u32 %d2, [%t0+8]; ld.shared.u32 %d3, [%t0+12];"
      "cvt.u64.u32 %ld0, %t1;",
      128);
  unsigned seen[128] = {0};
  for (unsigned thread = 0; thread < 128; thread++) {
    assert_int_equal(out(thread, 0), 128);
    assert_int_equal(out(thread, 1), 100);
    assert_int_equal(out(thread, 2), (7 + 128) % 10);
    assert_int_equal(out(thread, 3), 127);
    seen[snippet.out[thread][4]]++;
  }
  for (unsigned i = 0; i < 128; i++) {
    assert_int_equal(seen[i], 1);
  }
}

static void atomics_have_each_operation(void **state)
{
  (void)state;
  fill();
  run("atom.global.exch.b32 %d0, [%base], 5; atom.global.cas.b32 %d1, [%base], 5, 9; atom.global.cas.b32 %d2, [%base], "
      "5, 1;"
      "atom.global.add.f32 %t0, [%base+8], 0f3f800000; ld.global.u32 %d3, [%base+8]; atom.global.dec.u32 %t1, [%base], "
      "4;"
      "ld.global.u32 %t2, [%base]; cvt.u64.u32 %ld0, %t2; atom.global.max.s32 %t3, [%base+16], -4;"
      "atom.add.noftz.f16x2 %t4, [%base+24], 0x3c003c00; ld.global.u32 %t5, [%base+24]; cvt.u64.u32 %ld1, %t5;"
      "red.global.xor.b64 [%base+32], 0xff; ld.global.u64 %ld2, [%base+32];",
      32);
  for (unsigned lane = 0; lane < 32; lane++) {
    assert_int_equal(out(lane, 0), 100 + lane);
    assert_int_equal(out(lane, 1), 5);
    assert_int_equal(out(lane, 2), 9);
    assert_int_equal(out(lane, 3), 0x3f800000); /* the integer there is a subnormal */
    assert_int_equal(out(lane, 4), 4);
    assert_int_equal(out(lane, 5), 0x3c003c00);
    assert_int_equal(out(lane, 6), 0xff);
  }
}

static void special_registers_say_who_a_thread_is(void **state)
{
  (void)state;
  fill();
  run("mov.u32 %d0, %laneid; mov.u32 %d1, %warpid; mov.u32 %d2, %lanemask_lt; mov.u32 %d3, %ntid.x;"
      "mov.u32 %t0, %ctaid.y; mov.u32 %t1, %nctaid.x; mov.b64 %ld0, {%t0, %t1}; mov.u64 %l0, %clock64;"
      "mov.u64 %l1, %clock64; sub.u64 %l2, %l1, %l0; setp.gt.u64 %p0, %l2, 0; selp.u64 %ld1, 1, 0, %p0;"
      "mov.u32 %t2, %dynamic_smem_size; cvt.u64.u32 %ld2, %t2; activemask.b32 %t3; cvt.u64.u32 %ld3, %t3;",
      128);
  for (unsigned thread = 0; thread < 128; thread++) {
    assert_int_equal(out(thread, 0), thread % 32);
    assert_int_equal(out(thread, 1), thread / 32);
    assert_int_equal(out(thread, 2), (1u << thread % 32) - 1);
    assert_int_equal(out(thread, 3), 128);
    assert_true(snippet.out[thread][4] == 0x100000000);
    assert_int_equal(snippet.out[thread][5], 1);
    assert_int_equal(snippet.out[thread][6], 4096);
    assert_int_equal(snippet.out[thread][7], 0xffffffff);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shfl_reads_the_lane_that_it_should),
      cmocka_unit_test(shfl_stays_in_its_segment),
      cmocka_unit_test(votes_matches_and_reductions_agree),
      cmocka_unit_test(elect_chooses_one_of_the_mask),
      cmocka_unit_test(barriers_reduce),
      cmocka_unit_test(atomics_of_all_threads_add_up),
      cmocka_unit_test(atomics_have_each_operation),
      cmocka_unit_test(special_registers_say_who_a_thread_is),
  };
  return SJ_TEST_RUN(tests);
}
