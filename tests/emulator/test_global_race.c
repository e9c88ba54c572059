/* SPDX-License-Identifier: Apache-2.0 */
/* Races in global memory between blocks (PTX ISA, memory consistency model: release and acquire patterns, fence, atom):
 * what orders them, and what is told where nothing does. */
#include "test_main.h"

#include <string.h>

#include "snippet.h"

typedef struct race_row {
  const char *what;
  const char *text;
  int result;
  const char *says; /* NULL: no fault */
  unsigned blocks;  /* 0: 2 */
  unsigned is_cluster;
} race_row;

/* %l1: all threads' bytes, the count at [%l1+80]; [%base+88] is the thread's word for others, [%l2+88] that of the
 * thread of the block before (of the last for the first); %p1 the block's first thread; %p3: block 0. */
#define BASE                                                                                                           \
  "mul.wide.u32 %l0, %thread, 128; sub.u64 %l1, %base, %l0; mov.u32 %t1, %tid.x; setp.eq.u32 %p1, %t1, 0;"             \
  "setp.eq.u32 %p3, %rank, 0; mov.u32 %t2, %nctaid.x; sub.u32 %t2, %t2, 1; mov.u32 %t4, %t2; sub.u32 %t5, %rank, 1;"   \
  "selp.u32 %t4, %t2, %t5, %p3; mov.u32 %t6, %ntid.x; mad.lo.u32 %t6, %t4, %t6, %t1; mul.wide.u32 %l2, %t6, 128;"      \
  "add.u64 %l2, %l1, %l2; mov.u32 %t3, 0;\n"
#define PUT "st.global.u32 [%base+88], %thread;\n"
#define TAKE "ld.global.u32 %d0, [%l2+88];\n"
#define FENCE "membar.gl;\n"
#define COUNT(words) "@%p1 atom" words ".global.inc.u32 %t3, [%l1+80], %t2; setp.eq.u32 %p2, %t3, %t2;\n"
#define LAST "and.pred %p2, %p2, %p1; bar.red.or.pred %p2, 0, %p2;\n"
#define IF_LAST "@!%p2 bra DONE;\n"
#define RACE "race: read of global memory at 0x"

static const race_row rows[] = {
    {"who comes last reads", BASE PUT FENCE "bar.sync 0;" COUNT("") LAST FENCE IF_LAST TAKE "DONE:", EMU_OK, NULL, 0,
     0},
    {"who comes last of five reads", BASE PUT FENCE "bar.sync 0;" COUNT("") LAST FENCE IF_LAST TAKE "DONE:", EMU_OK,
     NULL, 4, 0},
    {"no fence before the count", BASE PUT "bar.sync 0;" COUNT("") LAST FENCE IF_LAST TAKE "DONE:", EMU_ILLEGAL_ADDRESS,
     RACE, 0, 0},
    {"no fence behind the count", BASE PUT FENCE "bar.sync 0;" COUNT("") LAST IF_LAST TAKE "DONE:", EMU_ILLEGAL_ADDRESS,
     "is not ordered with a write by warp 0 lane 0 of block 0 of cluster 0", 0, 0},
    {"a fence of the block alone",
     BASE PUT FENCE "bar.sync 0;" COUNT("") LAST "fence.acq_rel.cta;" IF_LAST TAKE "DONE:", EMU_ILLEGAL_ADDRESS, RACE,
     0, 0},
    {"no barrier before the count", BASE PUT FENCE COUNT("") LAST FENCE IF_LAST TAKE "DONE:", EMU_ILLEGAL_ADDRESS, RACE,
     0, 0},
    {"the count handed on without a barrier",
     BASE PUT FENCE "bar.sync 0;" COUNT(
         "") "shfl.sync.idx.b32 %t3, %t3, 0, 31, -1; setp.eq.u32 %p2, %t3, %t2;" FENCE IF_LAST TAKE "DONE:",
     EMU_ILLEGAL_ADDRESS, RACE, 0, 0},
    {"fences of the counting thread alone",
     BASE PUT "bar.sync 0; @%p1 fence.acq_rel.gpu;" COUNT("") "@%p1 fence.acq_rel.gpu;" LAST IF_LAST TAKE "DONE:",
     EMU_OK, NULL, 0, 0},
    {"an atomic that acquires and releases",
     BASE PUT "bar.sync 0;" COUNT(".acq_rel.gpu") LAST IF_LAST TAKE "DONE:", EMU_OK, NULL, 0, 0},
    {"an atomic that only releases",
     BASE PUT "bar.sync 0;" COUNT(".release.gpu") LAST IF_LAST TAKE "DONE:", EMU_ILLEGAL_ADDRESS, RACE, 0, 0},
    {"an atomic that only acquires",
     BASE PUT "bar.sync 0;" COUNT(".acquire.gpu") LAST IF_LAST TAKE "DONE:", EMU_ILLEGAL_ADDRESS, RACE, 0, 0},
    {"written behind the release",
     BASE "bar.sync 0;" COUNT(".acq_rel.gpu") PUT LAST IF_LAST TAKE "DONE:", EMU_ILLEGAL_ADDRESS, RACE, 0, 0},
    {"a flag that is released and acquired",
     BASE "@%p3 bra GIVE; ld.acquire.gpu.global.u32 %t3, [%l2+84]; setp.eq.u32 %p2, %t3, 1; @!%p2 bra DONE;" TAKE
          "bra.uni DONE;\nGIVE: " PUT "st.release.gpu.global.u32 [%base+84], 1;\nDONE:",
     EMU_OK, NULL, 0, 0},
    {"a flag that is released and read relaxed",
     BASE "@%p3 bra GIVE; ld.relaxed.gpu.global.u32 %t3, [%l2+84]; setp.eq.u32 %p2, %t3, 1; @!%p2 bra DONE;" TAKE
          "bra.uni DONE;\nGIVE: " PUT "st.release.gpu.global.u32 [%base+84], 1;\nDONE:",
     EMU_ILLEGAL_ADDRESS, RACE, 0, 0},
    {"a volatile flag with fences",
     BASE
     "@%p3 bra GIVE; ld.volatile.global.u32 %t3, [%l2+84]; membar.gl; setp.eq.u32 %p2, %t3, 1; @!%p2 bra DONE;" TAKE
     "bra.uni DONE;\nGIVE: " PUT "membar.gl; st.volatile.global.u32 [%base+84], 1;\nDONE:",
     EMU_OK, NULL, 0, 0},
    {"a plain flag with fences",
     BASE "@%p3 bra GIVE; ld.global.u32 %t3, [%l2+84]; membar.gl; bra.uni DONE;\nGIVE: " PUT
          "membar.gl; st.global.u32 [%base+84], 1;\nDONE:",
     EMU_ILLEGAL_ADDRESS, RACE, 0, 0},
    {"from the first to the third by way of the second",
     BASE "@!%p3 bra NEXT;" PUT "@%p1 st.global.u32 [%l1+92], 77;\nNEXT: setp.eq.u32 %p4, %rank, 2; bar.sync 0;"
          "@%p3 fence.acq_rel.gpu; @%p1 atom.global.add.u32 %t3, [%l1+80], 1; @!%p3 fence.acq_rel.gpu; bar.sync 0;"
          "@%p4 ld.global.u32 %d0, [%l1+92];",
     EMU_OK, NULL, 3, 0},
    {"one writes what the other reads", BASE "@%p3 " TAKE "@!%p3 " PUT, EMU_ILLEGAL_ADDRESS,
     "race: write of global memory at 0x", 0, 0},
    {"both write a word", BASE "@%p1 st.global.u32 [%l1+92], %thread;", EMU_ILLEGAL_ADDRESS,
     "is not ordered with a write by warp 0 lane 0 of block 0 of cluster 0", 0, 0},
    {"both write the same to a word", BASE "@%p1 st.global.u32 [%l1+92], 5;", EMU_OK, NULL, 0, 0},
    {"the same is written, and read", BASE "@%p1 st.global.u32 [%l1+92], 5; @!%p3 ld.global.u32 %d0, [%l1+92];",
     EMU_ILLEGAL_ADDRESS, RACE, 0, 0},
    {"halves of a word",
     BASE "cvt.u16.u32 %h0, %rank; mul.wide.u32 %l3, %rank, 2; add.u64 %l3, %l1, %l3;"
          "@%p1 st.global.u16 [%l3+92], %h0;",
     EMU_OK, NULL, 0, 0},
    {"both add to a word", BASE "red.global.add.u32 [%l1+92], 1;", EMU_OK, NULL, 0, 0},
    {"one adds, the other reads", BASE "@%p3 red.global.add.u32 [%l1+92], 1; @!%p3 ld.global.u32 %d0, [%l1+92];",
     EMU_ILLEGAL_ADDRESS, "is not ordered with a strong access by warp 0 lane 0", 0, 0},
    {"both read", BASE "ld.global.u32 %d0, [%l1+92];", EMU_OK, NULL, 0, 0},
    {"a cluster's blocks with its barrier",
     BASE PUT "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" TAKE, EMU_OK, NULL, 0, 1},
    {"a cluster's blocks without it",
     BASE PUT "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" TAKE, EMU_ILLEGAL_ADDRESS, RACE,
     0, 1},
};

enum { NUM_ROWS = sizeof rows / sizeof rows[0], SEEDS = 4 };

static emu_snippet snippet;

static void start(const race_row *row, uint64_t seed, unsigned threads)
{
  memset(&snippet, 0, sizeof snippet);
  emu_configure(&(emu_settings){seed, threads});
  snippet.text = row->text;
  snippet.blocks = row->blocks != 0 ? row->blocks : 2;
  snippet.apart = !row->is_cluster;
  snippet_run(&snippet);
}

static void each_text_does_and_says_what_it_should(void **state)
{
  (void)state;
  unsigned wrong = 0;
  for (unsigned i = 0; i < NUM_ROWS * SEEDS; i++) {
    const race_row *row = &rows[i / SEEDS];
    start(row, i % SEEDS + 1, 1);
    const char *said = snippet.message.text;
    if (snippet.result != row->result || (row->says == NULL ? said[0] != 0 : strstr(said, row->says) == NULL)) {
      print_message("%s, seed %u: result %d instead of %d, and says:\n%s\n", row->what, i % SEEDS + 1, snippet.result,
                    row->result, said);
      wrong++;
    }
  }
  assert_int_equal(wrong, 0);
}

/* Blocks on several threads of the host, in any order: what is right is never called a race. */
static void what_is_ordered_is_no_race_on_several_threads(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 40; i++) {
    start(&rows[1], i + 1, 4);
    if (snippet.result != EMU_OK) {
      fail_msg("%s", snippet.message.text);
    }
    unsigned last = 0;
    for (unsigned t = 0; t < 128; t++) {
      last += snippet.out[t][0] == (t + 128 - 32) % 128;
    }
    assert_int_equal(last, 32);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_text_does_and_says_what_it_should),
      cmocka_unit_test(what_is_ordered_is_no_race_on_several_threads),
  };
  return SJ_TEST_RUN(tests);
}
