/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: the barrier (PTX ISA, barrier.cluster), shared memory of other blocks (mapa, shared::cluster), mbarriers
 * of other blocks (mbarrier.arrive), st.async and red.async, relaxed arrivals with fences (fence, fence.mbarrier_init),
 * and what each check says. Every text runs with several seeds, two blocks to a cluster. */
#include "test_main.h"

#include <string.h>

#include "snippet.h"

typedef struct cluster_row {
  const char *what;
  const char *text;
  int result;
  const char *says; /* NULL: no fault */
  unsigned threads; /* of a block; 0: 32 */
  int adds;         /* when not 0: thread t's %d0 is t ^ adds */
} cluster_row;

/* %t0 shared, %t1 the lane, %t2 the thread's word, %t3 the other block, %t4 its word, %t5 its shared. */
#define BASE                                                                                                           \
  "mov.u32 %t0, shared; and.b32 %t1, %thread, 31; mov.u32 %t6, %tid.x; mad.lo.u32 %t2, %t6, 4, %t0;"                   \
  "add.u32 %t2, %t2, 64; xor.b32 %t3, %rank, 1; mapa.shared::cluster.u32 %t4, %t2, %t3;"                               \
  "mapa.shared::cluster.u32 %t5, %t0, %t3; setp.eq.u32 %p0, %rank, 0; setp.eq.u32 %p1, %t6, 0;\n"
#define SYNC "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define INIT(count) "@%p1 mbarrier.init.shared.b64 [%t0], " count ";\n"
#define EXPECT(bytes) "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%t0], " bytes ";\n"
#define TX ".mbarrier::complete_tx::bytes"
#define LOOK "LOOK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%t0], 0; @!%p2 bra LOOK;\n"

static const cluster_row rows[] = {
    {"a word for the other block", BASE SYNC "st.shared::cluster.u32 [%t4], %thread;" SYNC "ld.shared.u32 %d0, [%t2];",
     EMU_OK, NULL, 0, 32},
    {"two warps a block", BASE SYNC "st.shared::cluster.u32 [%t4], %thread;" SYNC "ld.shared.u32 %d0, [%t2];", EMU_OK,
     NULL, 64, 64},
    {"a word of the other block", BASE "st.shared.u32 [%t2], %thread;" SYNC "ld.shared::cluster.u32 %d0, [%t4];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"generic addresses",
     BASE "mov.u64 %l0, shared; cvta.shared.u64 %l1, %l0; mapa.u64 %l2, %l1, %t3; cvt.u64.u32 %l3, %t1;"
          "mad.lo.u64 %l2, %l3, 4, %l2; st.shared.u32 [%t2+-64], %thread;" SYNC "ld.u32 %d0, [%l2];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"atomics on a word of block 0",
     BASE "setp.eq.u32 %p3, %thread, 0; @%p3 st.shared.u32 [%t2], 0;" SYNC "mapa.shared::cluster.u32 %t7, %t0, 0;"
          "red.shared::cluster.add.u32 [%t7+64], 1;" SYNC "ld.shared::cluster.u32 %t8, [%t7+64];"
          "xor.b32 %t8, %t8, 64; xor.b32 %d0, %thread, %t8;" SYNC,
     EMU_OK, NULL, 0, 0},
    {"arrival by lanes apart",
     BASE "setp.lt.u32 %p3, %t1, 7; st.shared.u32 [%t2], %thread; @%p3 bra LOW; barrier.cluster.arrive; bra.uni "
          "MEET;\nLOW: barrier.cluster.arrive.release;\nMEET: barrier.cluster.wait.acquire;"
          "ld.shared::cluster.u32 %d0, [%t4];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"threads that have ended are not waited for",
     BASE "setp.eq.u32 %p3, %rank, 1; @%p3 bra DONE; barrier.cluster.arrive; barrier.cluster.wait;\nDONE:", EMU_OK,
     NULL, 0, 0},
    {"a relaxed arrival behind a fence",
     BASE "st.shared.u32 [%t2], %thread; fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned;"
          "barrier.cluster.wait.aligned; ld.shared::cluster.u32 %d0, [%t4];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"a relaxed arrival",
     BASE "st.shared.u32 [%t2], %thread; barrier.cluster.arrive.relaxed.aligned;"
          "barrier.cluster.wait.aligned; ld.shared::cluster.u32 %d0, [%t4];" SYNC,
     EMU_ILLEGAL_ADDRESS, "race: read of shared memory at 0x", 0, 0},
    {"written between arrival and wait",
     BASE SYNC "barrier.cluster.arrive.aligned; st.shared::cluster.u32 [%t4], %thread; barrier.cluster.wait.aligned;"
               "ld.shared.u32 %d0, [%t2];",
     EMU_ILLEGAL_ADDRESS, " of the cluster", 0, 0},
    {"no barrier behind a write",
     BASE SYNC "@%p0 st.shared::cluster.u32 [%t4], %thread; @!%p0 ld.shared.u32 %d0, [%t2];" SYNC, EMU_ILLEGAL_ADDRESS,
     "shared memory at 0x", 0, 0},
    {"a barrier of the block orders nothing between blocks",
     BASE "st.shared.u32 [%t2], %thread;" SYNC "st.shared.u32 [%t2], %t1; bar.sync 0; ld.shared::cluster.u32 %d0, "
          "[%t4];" SYNC,
     EMU_ILLEGAL_ADDRESS, "race: ", 64, 0},
    {"before the other block is known to have begun", BASE "st.shared::cluster.u32 [%t4], %thread;" SYNC,
     EMU_ILLEGAL_ADDRESS, "of the cluster is not known to have begun", 0, 0},
    {"a relaxed arrival says that the block has begun",
     BASE "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned; st.shared::cluster.u32 [%t4], "
          "%thread;" SYNC "ld.shared.u32 %d0, [%t2];",
     EMU_OK, NULL, 0, 32},
    {"a block that ends while its memory is read",
     BASE "st.shared.u32 [%t2], %thread;" SYNC "@%p0 ld.shared::cluster.u32 %d0, [%t4];", EMU_ILLEGAL_ADDRESS,
     " has ended, and its shared memory", 0, 0},
    {"a block that ends while its memory is written", BASE SYNC "@%p0 st.shared::cluster.u32 [%t4], %thread;",
     EMU_ILLEGAL_ADDRESS, " has ended, and its shared memory", 0, 0},
    {"no such block", BASE "mapa.shared::cluster.u32 %t7, %t0, 2;" SYNC "ld.shared::cluster.u32 %d0, [%t7];",
     EMU_ILLEGAL_INSTRUCTION, "the cluster has 2 blocks, none of rank 2", 0, 0},
    {"another block's address as shared::cta", BASE SYNC "st.shared.u32 [%t4], %thread;" SYNC, EMU_ILLEGAL_ADDRESS,
     "out of bounds: write of 4 bytes of shared memory at 0x", 0, 0},
    {"arrives twice", BASE "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;", EMU_ILLEGAL_INSTRUCTION,
     "arrives at the cluster's barrier again without having waited", 0, 0},
    {"waits without an arrival", BASE "barrier.cluster.wait.aligned;", EMU_ILLEGAL_INSTRUCTION,
     "waits at the cluster's barrier without having arrived", 0, 0},
    {"an aligned barrier in a branch",
     BASE "setp.lt.u32 %p3, %t1, 3; @%p3 bra LOW; barrier.cluster.arrive.aligned;\nLOW: bar.warp.sync -1;",
     EMU_LAUNCH_TIMEOUT, "deadlock", 0, 0},
    {"a block that does not arrive",
     BASE INIT("1") "@%p0 bra STUCK;" SYNC "bra.uni DONE;\nSTUCK: bar.warp.sync -1;" LOOK "DONE:", EMU_LAUNCH_TIMEOUT,
     "waits for the barrier of its cluster", 0, 0},
    /* mbarriers of the other block. */
    {"an arrival at the other block's mbarrier",
     BASE INIT("32") SYNC "st.shared::cluster.u32 [%t4], %thread;"
                          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t5];" LOOK
                          "ld.shared.u32 %d0, [%t2];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"a relaxed arrival at the other block's mbarrier",
     BASE INIT("32") SYNC "st.shared::cluster.u32 [%t4], %thread;"
                          "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%t5];" LOOK
                          "ld.shared.u32 %d0, [%t2];" SYNC,
     EMU_ILLEGAL_ADDRESS, "race: ", 0, 0},
    {"the same behind a fence, and a relaxed look before one",
     BASE INIT("32") SYNC "st.shared::cluster.u32 [%t4], %thread; fence.acq_rel.cluster;"
                          "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%t5];\n"
                          "LOOK: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p2, [%t0], 0; @!%p2 bra "
                          "LOOK; fence.acq_rel.cluster; ld.shared.u32 %d0, [%t2];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"the same with fences of shared memory alone",
     BASE INIT("32") SYNC "st.shared::cluster.u32 [%t4], %thread; fence.release.sync_restrict::shared::cta.cluster;"
                          "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%t5];\n"
                          "LOOK: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p2, [%t0], 0; @!%p2 bra "
                          "LOOK; fence.acquire.sync_restrict::shared::cluster.cluster; ld.shared.u32 %d0, [%t2];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"a relaxed look and no fence",
     BASE INIT("32") SYNC "st.shared::cluster.u32 [%t4], %thread;"
                          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t5];\n"
                          "LOOK: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p2, [%t0], 0; @!%p2 bra "
                          "LOOK; ld.shared.u32 %d0, [%t2];" SYNC,
     EMU_ILLEGAL_ADDRESS, "race: ", 0, 0},
    {"an mbarrier that the other block has not made",
     BASE SYNC "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t5];" SYNC, EMU_ILLEGAL_INSTRUCTION,
     "no mbarrier was initialised at 0x", 0, 0},
    {"mbarriers made before a relaxed arrival with their fence",
     BASE INIT("32") "fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed.aligned;"
                     "barrier.cluster.wait.acquire.aligned;"
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t5];" LOOK SYNC,
     EMU_OK, NULL, 0, 0},
    {"mbarriers made before a relaxed arrival without their fence",
     BASE INIT("32") "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;"
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t5];" LOOK SYNC,
     EMU_ILLEGAL_ADDRESS, "race: mbarrier use of shared memory at 0x", 0, 0},
    {"a block that ends before its mbarrier is arrived at",
     BASE INIT("32") SYNC "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t5];", EMU_ILLEGAL_ADDRESS,
     " has ended, and its shared memory", 0, 0},
    /* st.async and red.async. */
    {"st.async to the other block",
     BASE INIT("1") EXPECT("128") SYNC "st.async.weak.shared::cluster" TX ".u32 [%t4], %thread, [%t5];" LOOK
                                       "ld.shared.u32 %d0, [%t2];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"st.async of vectors by generic addresses",
     BASE INIT("1") EXPECT("512") SYNC "mov.u64 %l0, shared; cvta.shared.u64 %l1, %l0; mapa.u64 %l2, %l1, %t3;"
                                       "cvt.u64.u32 %l3, %t1; mad.lo.u64 %l4, %l3, 16, %l2; st.async" TX
                                       ".v4.b32 [%l4+128], {%t1, %t1, %t1, %thread}, [%l2];" LOOK
                                       "mad.lo.u32 %t7, %t1, 16, %t0; ld.shared.u32 %d0, [%t7+140];" SYNC,
     EMU_OK, NULL, 0, 32},
    {"st.async not waited for",
     BASE INIT("1") EXPECT("128") SYNC "st.async.shared::cluster" TX ".u32 [%t4], %thread, [%t5];" SYNC
                                       "ld.shared.u32 %d0, [%t2];" SYNC,
     EMU_ILLEGAL_ADDRESS, "is not ordered with a write by an asynchronous operation", 0, 0},
    {"st.async with an mbarrier of another block",
     BASE INIT("1") EXPECT("128") SYNC "st.async.shared::cluster" TX ".u32 [%t4], %thread, [%t0];" LOOK SYNC,
     EMU_ILLEGAL_INSTRUCTION, "are in shared memory of two blocks", 0, 0},
    {"a block that ends when its mbarrier has heard of the other's st.async",
     BASE INIT("1") EXPECT("128") SYNC "st.async.shared::cluster" TX ".u32 [%t4], %thread, [%t5];" LOOK
                                       "ld.shared.u32 %d0, [%t2];",
     EMU_OK, NULL, 0, 32},
    {"a block that ends before its mbarrier has heard of the other's st.async",
     BASE INIT("1") EXPECT("128") SYNC "st.async.shared::cluster" TX ".u32 [%t4], %thread, [%t5];", EMU_ILLEGAL_ADDRESS,
     " has ended, and its shared memory", 0, 0},
    {"st.async misaligned",
     BASE INIT("1") EXPECT("128") SYNC "st.async.shared::cluster" TX ".v2.u32 [%t5+68], {%t1, %t1}, [%t5];" SYNC,
     EMU_MISALIGNED_ADDRESS, "misaligned: the destination", 0, 0},
    {"red.async adds in the other block",
     BASE INIT("1") EXPECT("128") "@%p1 st.shared.u32 [%t2], 0;" SYNC "red.async.relaxed.cluster.shared::cluster" TX
                                  ".add.u32 [%t5+64], 3, [%t5];" LOOK
                                  "ld.shared.u32 %t7, [%t0+64]; sub.u32 %t7, %t7, 64; xor.b32 %d0, %thread, %t7;" SYNC,
     EMU_OK, NULL, 0, 32},
    {"red.async keeps the least and the bits",
     BASE INIT("1") EXPECT(
         "512") "@%p1 st.shared.v4.u32 [%t0+64], {99, 0, 0, 0};" SYNC
                "add.u32 %t8, %t1, 32; red.async.relaxed.cluster.shared::cluster" TX ".min.u32 [%t5+64], %t8, [%t5];"
                "red.async.relaxed.cluster.shared::cluster" TX ".or.b32 [%t5+68], %t8, [%t5];"
                "red.async.relaxed.cluster.shared::cluster" TX ".max.s32 [%t5+72], %t8, [%t5];"
                "red.async.relaxed.cluster.shared::cluster" TX ".inc.u32 [%t5+76], 64, [%t5];" LOOK
                "ld.shared.v4.u32 {%t7, %t8, %t9, %t10}, [%t0+64]; xor.b32 %t7, %t7, %t8; xor.b32 %t7, %t7, %t9;"
                "xor.b32 %t7, %t7, %t10; xor.b32 %d0, %thread, %t7; xor.b32 %d0, %d0, 32;" SYNC,
     EMU_OK, NULL, 0, 32},
    {"red.async in the same block",
     BASE INIT("1") EXPECT("128") "@%p1 st.shared.u32 [%t2], 0;" SYNC "red.async.relaxed.cluster.shared::cluster" TX
                                  ".add.u32 [%t0+64], 3, [%t0];" SYNC,
     EMU_ILLEGAL_INSTRUCTION, "of the same block: another block's is wanted", 0, 0},
};

enum { COUNT = sizeof rows / sizeof rows[0], SEEDS = 6 };

static int is_right(const emu_snippet *snippet, const cluster_row *row)
{
  const char *text = snippet->message.text;
  if (snippet->result != row->result || (row->says == NULL ? text[0] != 0 : strstr(text, row->says) == NULL)) {
    return 0;
  }
  const unsigned threads = 2 * (row->threads != 0 ? row->threads : 32);
  for (unsigned t = 0; t < threads && row->adds != 0; t++) {
    if (snippet->out[t][0] != (t ^ (unsigned)row->adds)) {
      print_message("thread %u has %llu\n", t, (unsigned long long)snippet->out[t][0]);
      return 0;
    }
  }
  return 1;
}

static void each_text_does_and_says_what_it_should(void **state)
{
  (void)state;
  static emu_snippet snippet;
  unsigned wrong = 0;
  for (unsigned i = 0; i < COUNT * SEEDS; i++) {
    const cluster_row *row = &rows[i / SEEDS];
    memset(&snippet, 0, sizeof snippet);
    emu_configure(&(emu_settings){i % SEEDS + 1, 1});
    snippet.text = row->text;
    snippet.threads = row->threads;
    snippet.blocks = 2;
    snippet.shared = 4096;
    snippet_run(&snippet);
    if (!is_right(&snippet, row)) {
      print_message("%s, seed %u: result %d instead of %d, and says:\n%s\n", row->what, i % SEEDS + 1, snippet.result,
                    row->result, snippet.message.text);
      wrong++;
    }
  }
  assert_int_equal(wrong, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_text_does_and_says_what_it_should),
  };
  return SJ_TEST_RUN(tests);
}
