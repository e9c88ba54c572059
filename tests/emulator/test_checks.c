/* SPDX-License-Identifier: Apache-2.0 */
/* What each check says of a fault, and that it says nothing where there is none. Every text runs with several seeds. */
#include "test_main.h"

#include <string.h>

#include "snippet.h"

typedef struct check_row {
  const char *what;
  const char *text;
  int result;
  const char *says; /* NULL: no fault */
  unsigned threads; /* 0: 32 */
} check_row;

#define S "cvt.u64.u32 %l0, %thread; shl.b64 %l1, %l0, 2; mov.u64 %l2, shared; add.u64 %l3, %l2, %l1;\n"
/* %t1: the lane; %t0: the address of shared in 32 bits. */
#define BASE "mov.u32 %t0, shared; and.b32 %t1, %thread, 31;\n"
#define FIRST "setp.eq.u32 %p0, %thread, 0; setp.ne.u32 %p1, %thread, 0;\n"
#define LEAVE FIRST "@%p1 bra DONE;\n"

static const check_row rows[] = {
    /* Bounds, in every space. */
    {"global out of bounds", "ld.global.u32 %d0, [%base+16384];", EMU_ILLEGAL_ADDRESS,
     "out of bounds: read of 4 bytes of global", 0},
    {"global before the allocation", "st.global.u32 [%base+-8192], %d0;", EMU_ILLEGAL_ADDRESS, "out of bounds: write",
     0},
    {"null pointer", "mov.u64 %l0, 0; ld.global.u32 %d0, [%l0];", EMU_ILLEGAL_ADDRESS, "out of bounds", 0},
    {"half outside", LEAVE "ld.global.v4.u32 {%d0, %d1, %d2, %d3}, [%base+16384];\nDONE:", EMU_ILLEGAL_ADDRESS,
     "16 bytes", 0},
    {"shared out of bounds", BASE "st.shared.u32 [%t0+4096], %t1;", EMU_ILLEGAL_ADDRESS, "shared memory at 0x1400", 0},
    {"shared below its base", "mov.u32 %t0, 0; ld.shared.u32 %d0, [%t0];", EMU_ILLEGAL_ADDRESS, "shared memory at 0x0",
     0},
    {"shared by a generic address", "mov.u64 %l0, shared; cvta.shared.u64 %l1, %l0; ld.u32 %d0, [%l1+4096];",
     EMU_ILLEGAL_ADDRESS, "out of bounds: read of 4 bytes of shared", 0},
    {"local out of bounds", ".local .align 4 .b8 room[8]; mov.u64 %l0, room; st.local.u32 [%l0+8], %d0;",
     EMU_ILLEGAL_ADDRESS, "local memory", 0},
    {"parameter out of bounds", "ld.param.u64 %ld0, [data+8];", EMU_ILLEGAL_ADDRESS, "parameter", 0},
    /* Alignment. */
    {"global misaligned", "ld.global.u32 %d0, [%base+2];", EMU_MISALIGNED_ADDRESS, "misaligned: read of 4 bytes", 0},
    {"shared vector misaligned", BASE "st.shared.v2.u32 [%t0+4], {%t1, %t1};", EMU_MISALIGNED_ADDRESS,
     "misaligned: write of 8", 0},
    {"copy misaligned", BASE "cp.async.cg.shared.global [%t0+8], [%base], 16;", EMU_MISALIGNED_ADDRESS,
     "misaligned: copy", 0},
    {"copy from a misaligned address", LEAVE BASE "cp.async.cg.shared.global [%t0], [%base+8], 16;\nDONE:",
     EMU_MISALIGNED_ADDRESS, "misaligned: copy of 16 bytes from", 0},
    /* What was never written. */
    {"register", "add.u32 %d0, %t5, 1;", EMU_ILLEGAL_INSTRUCTION, "register %t5 is read and was never written", 0},
    {"register of one lane", FIRST "@%p1 mov.u32 %t5, 1; add.u32 %d0, %t5, 1;", EMU_ILLEGAL_INSTRUCTION,
     "thread (0,0,0)", 0},
    {"register through mov", "mov.u32 %t6, %t5; add.u32 %d0, %t6, 1;", EMU_ILLEGAL_INSTRUCTION, "%t6", 0},
    {"register that is not chosen", FIRST "mov.u32 %t6, 3; selp.u32 %d0, %t6, %t5, %p0; @%p1 mov.u32 %d0, 1;", EMU_OK,
     NULL, 0},
    {"register that is chosen", FIRST "mov.u32 %t6, 3; selp.u32 %t7, %t6, %t5, %p0; add.u32 %d0, %t7, 1;",
     EMU_ILLEGAL_INSTRUCTION, "%t7", 0},
    {"guard", "@%p5 mov.u32 %d0, 1;", EMU_ILLEGAL_INSTRUCTION, "%p5", 0},
    {"stored register", "st.global.u32 [%base+64], %t5;", EMU_ILLEGAL_INSTRUCTION, "%t5", 0},
    {"shared", LEAVE BASE "ld.shared.u32 %d0, [%t0];\nDONE:", EMU_ILLEGAL_ADDRESS,
     "uninitialised: read of 4 bytes of shared", 0},
    {"half of a shared word", LEAVE BASE "st.shared.u16 [%t0], %h0;\nDONE:", EMU_ILLEGAL_INSTRUCTION, "%h0", 0},
    {"shared, partly", LEAVE BASE "cvt.u16.u32 %h0, %t1; st.shared.u16 [%t0], %h0; ld.shared.u32 %d0, [%t0];\nDONE:",
     EMU_ILLEGAL_ADDRESS, "never written", 0},
    {"local", ".local .align 4 .b8 room[8]; ld.local.u32 %d0, [room];", EMU_ILLEGAL_ADDRESS, "local", 0},
    {"shfl of an unwritten lane",
     FIRST "@%p1 mov.u32 %t5, 1; shfl.sync.idx.b32 %t6, %t5, 0, 31, -1; add.u32 %d0, %t6, 1;", EMU_ILLEGAL_INSTRUCTION,
     "%t6", 0},
    /* Races. */
    {"neighbours without a barrier",
     S "st.shared.u32 [%l3], %thread; xor.b64 %l4, %l1, 4; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, [%l5];",
     EMU_ILLEGAL_ADDRESS, "race: ", 0},
    {"neighbours with bar.warp.sync",
     S "st.shared.u32 [%l3], %thread; bar.warp.sync -1; xor.b64 %l4, %l1, 4; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, "
       "[%l5];",
     EMU_OK, NULL, 0},
    {"two warps with bar.warp.sync only",
     S "st.shared.u32 [%l3], %thread; bar.warp.sync -1; xor.b64 %l4, %l1, 128; add.u64 %l5, %l2, %l4; ld.shared.u32 "
       "%d0, [%l5];",
     EMU_ILLEGAL_ADDRESS, "", 64},
    {"two warps with a barrier",
     S "st.shared.u32 [%l3], %thread; bar.sync 0; xor.b64 %l4, %l1, 128; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, "
       "[%l5];",
     EMU_OK, NULL, 64},
    {"a buffer used again too early",
     S
     "st.shared.u32 [%l3], %thread; bar.sync 0; xor.b64 %l4, %l1, 128; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, [%l5];"
     "st.shared.u32 [%l3], %d0;",
     EMU_ILLEGAL_ADDRESS, "race: ", 64},
    {"a buffer used again behind a barrier",
     S
     "st.shared.u32 [%l3], %thread; bar.sync 0; xor.b64 %l4, %l1, 128; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, [%l5];"
     "bar.sync 0; st.shared.u32 [%l3], %d0;",
     EMU_OK, NULL, 64},
    {"all write one word", BASE "st.shared.u32 [%t0], %t1;", EMU_ILLEGAL_ADDRESS, "race: write", 0},
    {"all add to one word",
     LEAVE BASE "st.shared.u32 [%t0], %t1;\nDONE: bar.warp.sync -1; mov.u32 %t0, shared; red.shared.add.u32 [%t0], 1;",
     EMU_OK, NULL, 0},
    {"atomic and plain",
     LEAVE BASE "st.shared.u32 [%t0], %t1;\nDONE: mov.u32 %t0, shared; @%p1 red.shared.add.u32 [%t0], 1;",
     EMU_ILLEGAL_ADDRESS, "", 0},
    {"halves of a word", BASE "cvt.u16.u32 %h0, %t1; mad.lo.u32 %t2, %t1, 2, %t0; st.shared.u16 [%t2], %h0;", EMU_OK,
     NULL, 0},
    {"shfl orders nothing",
     S "st.shared.u32 [%l3], %thread; shfl.sync.idx.b32 %t3, %thread, 0, 31, -1; xor.b64 %l4, %l1, 4; add.u64 %l5, "
       "%l2, %l4;"
       "ld.shared.u32 %d0, [%l5];",
     EMU_ILLEGAL_ADDRESS, "race: ", 0},
    /* Copies. */
    {"copy read without a wait",
     BASE "mad.lo.u32 %t2, %t1, 16, %t0; cp.async.cg.shared.global [%t2], [%base], 16; ld.shared.u32 %d0, [%t2];",
     EMU_ILLEGAL_ADDRESS, "asynchronous operation", 0},
    {"copy committed and not waited for",
     BASE "mad.lo.u32 %t2, %t1, 16, %t0; cp.async.cg.shared.global [%t2], [%base], 16; cp.async.commit_group;"
          "cp.async.wait_group 1; ld.shared.u32 %d0, [%t2];",
     EMU_ILLEGAL_ADDRESS, "asynchronous operation", 0},
    {"copy waited for",
     BASE "mad.lo.u32 %t2, %t1, 16, %t0; cp.async.cg.shared.global [%t2], [%base], 16; cp.async.commit_group;"
          "cp.async.wait_group 0; ld.shared.u32 %d0, [%t2];",
     EMU_OK, NULL, 0},
    {"copy of another thread",
     BASE "mad.lo.u32 %t2, %t1, 16, %t0; cp.async.cg.shared.global [%t2], [%base], 16; cp.async.wait_all;"
          "xor.b32 %t3, %t2, 16; ld.shared.u32 %d0, [%t3];",
     EMU_ILLEGAL_ADDRESS, "", 0},
    {"copy of another thread behind a barrier",
     BASE "mad.lo.u32 %t2, %t1, 16, %t0; cp.async.cg.shared.global [%t2], [%base], 16; cp.async.wait_all; bar.sync 0;"
          "xor.b32 %t3, %t2, 16; ld.shared.u32 %d0, [%t3];",
     EMU_OK, NULL, 0},
    {"copy over what is still read",
     BASE "mad.lo.u32 %t2, %t1, 16, %t0; st.shared.u32 [%t2], %t1; bar.sync 0; xor.b32 %t3, %t2, 16;"
          "ld.shared.u32 %d0, [%t3]; cp.async.cg.shared.global [%t2], [%base], 16;",
     EMU_ILLEGAL_ADDRESS, "race: write", 0},
    {"copy of nothing",
     BASE "mad.lo.u32 %t2, %t1, 16, %t0; mov.u64 %l0, 0; cp.async.cg.shared.global [%t2], [%l0], 16, 0;"
          "cp.async.wait_all; ld.shared.u32 %d0, [%t2];",
     EMU_OK, NULL, 0},
    {"copy from nowhere", BASE "mov.u64 %l0, 0; cp.async.cg.shared.global [%t0], [%l0], 16;", EMU_ILLEGAL_ADDRESS,
     "out of bounds", 0},
    /* mbarriers. */
    {"mbarrier that was not made", LEAVE BASE "mbarrier.arrive.shared.b64 %ld0, [%t0];\nDONE:", EMU_ILLEGAL_INSTRUCTION,
     "no mbarrier was initialised", 0},
    {"mbarrier not seen",
     FIRST "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 32; mbarrier.arrive.shared.b64 %ld0, [%t0];",
     EMU_ILLEGAL_ADDRESS, "race: mbarrier use", 0},
    {"mbarrier for all",
     FIRST "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 32; bar.sync 0;"
           "mbarrier.arrive.shared.b64 %ld0, [%t0];\nLOOK: mbarrier.try_wait.parity.shared.b64 %p2, [%t0], 0; @!%p2 "
           "bra LOOK;",
     EMU_OK, NULL, 0},
    {"more arrive than expected",
     FIRST "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 39; bar.sync 0;"
           "mbarrier.arrive.shared.b64 %ld0, [%t0], 2;",
     EMU_ILLEGAL_INSTRUCTION, "arrivals at an mbarrier", 0},
    {"plain write over an mbarrier", LEAVE BASE "mbarrier.init.shared.b64 [%t0], 1; st.shared.u32 [%t0], %t1;\nDONE:",
     EMU_ILLEGAL_INSTRUCTION, "a plain write of the mbarrier", 0},
    {"mbarrier of no arrivals", LEAVE BASE "mbarrier.init.shared.b64 [%t0], 0;\nDONE:", EMU_ILLEGAL_INSTRUCTION,
     "an mbarrier for 0 arrivals", 0},
    {"mbarrier hands on what was written",
     FIRST S "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 64; bar.sync 0; st.shared.u32 [%l3+8], %thread;"
             "mbarrier.arrive.shared.b64 %ld0, [%t0];\nLOOK: mbarrier.test_wait.parity.shared.b64 %p2, [%t0], 0; @!%p2 "
             "bra LOOK;"
             "xor.b64 %l4, %l1, 128; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, [%l5+8];",
     EMU_OK, NULL, 64},
    {"mbarrier not waited for",
     FIRST S "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 64; bar.sync 0; st.shared.u32 [%l3+8], %thread;"
             "mbarrier.arrive.shared.b64 %ld0, [%t0]; xor.b64 %l4, %l1, 128; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, "
             "[%l5+8];",
     EMU_ILLEGAL_ADDRESS, "", 64},
    {"mbarrier with the wrong parity",
     FIRST S "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 64; bar.sync 0; st.shared.u32 [%l3+8], %thread;"
             "mbarrier.arrive.shared.b64 %ld0, [%t0];\nLOOK: mbarrier.test_wait.parity.shared.b64 %p2, [%t0], 1; @!%p2 "
             "bra LOOK;"
             "xor.b64 %l4, %l1, 128; add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, [%l5+8];",
     EMU_ILLEGAL_ADDRESS, "", 64},
    {"copies behind an mbarrier",
     FIRST "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 32; bar.sync 0; mad.lo.u32 %t2, %thread, 16, %t0;"
           "cp.async.cg.shared.global [%t2+16], [%base], 16; cp.async.mbarrier.arrive.noinc.shared.b64 [%t0];\n"
           "LOOK: mbarrier.test_wait.parity.shared.b64 %p2, [%t0], 0; @!%p2 bra LOOK; xor.b32 %t3, %t2, 16;"
           "and.b32 %t4, %thread, 30; shl.b32 %t4, %t4, 4; add.u32 %t4, %t4, %t0; ld.shared.u32 %d0, [%t4+16];",
     EMU_OK, NULL, 0},
    {"a store before an arrival of copies only",
     FIRST "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 32; bar.sync 0; mad.lo.u32 %t2, %thread, 4, %t0;"
           "st.shared.u32 [%t2+16], %thread; cp.async.mbarrier.arrive.noinc.shared.b64 [%t0];\n"
           "LOOK: mbarrier.test_wait.parity.shared.b64 %p2, [%t0], 0; @!%p2 bra LOOK; xor.b32 %t3, %thread, 1;"
           "mad.lo.u32 %t4, %t3, 4, %t0; ld.shared.u32 %d0, [%t4+16];",
     EMU_ILLEGAL_ADDRESS, "race: ", 0},
    /* Barriers and divergence. */
    {"barrier in a branch", FIRST "@%p1 bra REST; bar.sync 0;\nREST: bar.warp.sync -1;", EMU_LAUNCH_TIMEOUT, "deadlock",
     0},
    {"barrier with a guard that parts the warp", FIRST "@%p0 bar.sync 0;", EMU_ILLEGAL_INSTRUCTION,
     "the guard parts the warp", 0},
    {"barrier that one warp passes by",
     "setp.lt.u32 %p0, %thread, 32; @%p0 bra REST; bar.sync 0, 64;\nREST: bar.sync 1, 64;", EMU_LAUNCH_TIMEOUT,
     "waits for a barrier", 64},
    {"barrier after a warp has ended", "setp.lt.u32 %p0, %thread, 32; @%p0 bra DONE; bar.sync 0;\nDONE:", EMU_OK, NULL,
     64},
    {"barrier of two counts",
     "setp.lt.u32 %p0, %thread, 32; @%p0 bra ONE; bar.sync 0, 64; bra.uni DONE;\nONE: bar.sync 0, 128;\nDONE:",
     EMU_ILLEGAL_INSTRUCTION, "is for", 64},
    {"barrier of no number", "bar.sync 16;", EMU_ILLEGAL_INSTRUCTION, "barrier 16", 0},
    {"barrier of no multiple of 32", "bar.sync 0, 40;", EMU_ILLEGAL_INSTRUCTION, "a multiple of 32", 0},
    {"mbarrier nobody arrives at",
     FIRST "mov.u32 %t0, shared; @%p0 mbarrier.init.shared.b64 [%t0], 33; bar.sync 0;"
           "mbarrier.arrive.shared.b64 %ld0, [%t0];\nLOOK: mbarrier.try_wait.parity.shared.b64 %p2, [%t0], 0; @!%p2 "
           "bra LOOK;",
     EMU_LAUNCH_TIMEOUT, "looks again and again at a phase of the mbarrier at 0x400", 0},
    {"lane that is not in its mask", "shfl.sync.idx.b32 %d0, %thread, 0, 31, 0xfffffffe;", EMU_ILLEGAL_INSTRUCTION,
     "not in its own member mask", 0},
    {"lanes of different masks", FIRST "selp.b32 %t0, 0xffffffff, 0xfffffffe, %p0; bar.warp.sync %t0;",
     EMU_ILLEGAL_INSTRUCTION, "different member masks", 0},
    {"lanes meet behind a branch",
     FIRST
     "@%p0 bra ODD; mov.u32 %t2, 5; bra.uni MEET;\nODD: mov.u32 %t2, 7;\nMEET: shfl.sync.idx.b32 %d0, %t2, 0, 31, -1;",
     EMU_OK, NULL, 0},
    {"lanes pause and meet",
     FIRST "@%p0 bra FILL;\nnanosleep.u32 20; bra.uni MEET;\nFILL: bra.uni MEET;\nMEET: bar.warp.sync -1;", EMU_OK,
     NULL, 0},
    {"lanes meet in two branches",
     FIRST S "st.shared.u32 [%l3], %thread; and.b32 %t2, %thread, 1; setp.eq.u32 %p2, %t2, 0; @%p2 bra EVEN;\n"
             "bar.warp.sync -1; bra.uni MEET;\nEVEN: bar.warp.sync -1;\nMEET: xor.b64 %l4, %l1, 4;"
             "add.u64 %l5, %l2, %l4; ld.shared.u32 %d0, [%l5];",
     EMU_OK, NULL, 0},
    {"trap", LEAVE "trap;\nDONE:", EMU_LAUNCH_FAILED, "trap", 0},
};

enum { COUNT = sizeof rows / sizeof rows[0], SEEDS = 5 };

static void run(const check_row *row, uint64_t seed)
{
  static emu_snippet snippet;
  memset(&snippet, 0, sizeof snippet);
  emu_configure(&(emu_settings){seed, 1});
  snippet.text = row->text;
  snippet.threads = row->threads;
  snippet.shared = 4096;
  snippet_run(&snippet);
  const int right =
      snippet.result == row->result
      && (row->says == NULL ? snippet.message.text[0] == 0 : strstr(snippet.message.text, row->says) != NULL);
  if (!right) {
    print_message("%s, seed %llu: result %d instead of %d, and says:\n%s\n", row->what, (unsigned long long)seed,
                  snippet.result, row->result, snippet.message.text);
    fail();
  }
}

static void each_fault_is_told_and_nothing_else(void **state)
{
  (void)state;
  for (unsigned i = 0; i < COUNT; i++) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      run(&rows[i], seed);
    }
  }
}

static void a_report_names_the_place(void **state)
{
  (void)state;
  static emu_snippet snippet;
  emu_configure(&(emu_settings){77, 1});
  snippet.text =
      "setp.ne.u32 %p0, %thread, 5;\n@%p0 bra DONE;\nadd.u64 %l0, %base, 1;\nld.global.u32 %d0, [%l0];\nDONE:";
  snippet_run(&snippet);
  assert_int_equal(snippet.result, EMU_MISALIGNED_ADDRESS);
  assert_non_null(strstr(snippet.message.text, "misaligned: read of 4 bytes at 0x"));
  assert_non_null(strstr(snippet.message.text, "column 1: ld.global.u32"));
  assert_non_null(strstr(snippet.message.text, "in snippet, block (0,0,0), thread (5,0,0)"));
  assert_non_null(strstr(snippet.message.text, "seed 77"));
}

static void global_memory_is_followed_to_the_byte(void **state)
{
  (void)state;
  static const char text[] = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
                             ".reg .b64 %l<3>; .reg .b32 %r<3>;\nld.param.u64 %l0, [p]; ld.global.u64 %l1, [%l0];\n"
                             "ld.global.u32 %r0, [%l1+4];\nret;\n}\n";
  emu_message message;
  for (unsigned written = 0; written <= 8; written++) {
    const uint64_t other = emu_alloc(8);
    uint64_t data = other;
    assert_int_equal(emu_copy_in(other, "12345678", written), EMU_OK);
    const int result = snippet_run_kernel("sm_90a", text, &data, sizeof data, 1, 1, 0, &message);
    assert_int_equal(result, written == 8 ? EMU_OK : EMU_ILLEGAL_ADDRESS);
    assert_true(written == 8 || strstr(message.text, "uninitialised: read of 4 bytes of global") != NULL);
    emu_free(other);
    assert_int_equal(snippet_run_kernel("sm_90a", text, &data, sizeof data, 1, 1, 0, &message), EMU_ILLEGAL_ADDRESS);
    assert_non_null(strstr(message.text, "out of bounds"));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(global_memory_is_followed_to_the_byte),
      cmocka_unit_test(each_fault_is_told_and_nothing_else),
      cmocka_unit_test(a_report_names_the_place),
  };
  return SJ_TEST_RUN(tests);
}
