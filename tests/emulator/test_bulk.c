/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk operations on ranges (PTX ISA, cp.async.bulk, cp.reduce.async.bulk, cp.async.bulk.prefetch,
 * cp.async.bulk.commit_group and .wait_group): what they do, and what each check says. Every text runs with several
 * seeds. */
#include "test_main.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "snippet.h"

enum { SEEDS = 8 };

typedef struct bulk_row {
  const char *what;
  const char *text;
  int result;
  const char *says; /* NULL: no fault */
  unsigned blocks;  /* 0: 1 */
  int adds;         /* when not 0: %d0 of thread t of a block is adds + t */
  const char *arch; /* NULL: sm_90a */
} bulk_row;

/* %l1: all threads' 128 bytes in global memory; %t0: shared, an mbarrier there and 4096 bytes behind 128; %t2: the
 * thread's 128 bytes of these; %p1: the block's first thread, %p0: of the cluster. */
#define BASE                                                                                                           \
  "mov.u32 %t0, shared; mov.u32 %t6, %tid.x; mad.lo.u32 %t2, %t6, 128, %t0; add.u32 %t2, %t2, 128;"                    \
  "add.u32 %t1, %t0, 128; setp.eq.u32 %p1, %t6, 0; setp.eq.u32 %p0, %thread, 0; mul.wide.u32 %l0, %thread, 128;"       \
  "sub.u64 %l1, %base, %l0; mov.u16 %h0, 3; mov.u16 %h1, 0x00ff; mov.u64 %l5, 0; mov.u32 %t7, 4096;\n"
#define INIT "@%p1 mbarrier.init.shared.b64 [%t0], 1; bar.sync 0;\n"
#define EXPECT(bytes) "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%t0], " bytes ";\n"
#define TX ".mbarrier::complete_tx::bytes"
#define LOAD "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t0+128], [%l1], 4096, [%t0];\n"
#define LOOK "LOOK: mbarrier.try_wait.parity.shared.b64 %p2, [%t0], 0; @!%p2 bra LOOK;\n"
#define GET "ld.shared.u32 %d0, [%t2];\n"
/* Sixteen bytes of each thread, and its own word first. */
#define FILL                                                                                                           \
  "add.u32 %t3, %t6, 500; st.shared.v4.u32 [%t2], {%t3, %t3, %t3, %t3}; st.shared.v4.u32 [%t2+16], {%t3, %t3, %t3, "   \
  "%t3}; st.shared.v4.u32 [%t2+32], {%t3, %t3, %t3, %t3}; st.shared.v4.u32 [%t2+48], {%t3, %t3, %t3, %t3};"            \
  "st.shared.v4.u32 [%t2+64], {%t3, %t3, %t3, %t3}; st.shared.v4.u32 [%t2+80], {%t3, %t3, %t3, %t3};"                  \
  "st.shared.v4.u32 [%t2+96], {%t3, %t3, %t3, %t3}; st.shared.v4.u32 [%t2+112], {%t3, %t3, %t3, %t3};\n"
#define FENCE "fence.proxy.async.shared::cta; bar.sync 0;\n"
#define STORE "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%l1], [%t0+128], 4096;\n"
#define COMMIT "@%p1 cp.async.bulk.commit_group;\n"
#define WAIT(words) "@%p1 cp.async.bulk.wait_group" words ";\n"
#define BACK "bar.sync 0; ld.global.u32 %d0, [%base];\n"
/* In a cluster of two: %t3 the other block, %t4 its 4096 bytes, %t5 its mbarrier. */
#define OTHER "xor.b32 %t3, %rank, 1; mapa.shared::cluster.u32 %t4, %t1, %t3; mapa.shared::cluster.u32 %t5, %t0, %t3;\n"
#define MEET "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define PAUSE "mov.u32 %t8, 0;\nPAUSE: add.u32 %t8, %t8, 1; setp.lt.u32 %p3, %t8, 50; @%p3 bra PAUSE;\n"
#define ASYNC "an asynchronous operation"

static const bulk_row rows[] = {
    /* From global memory, with an mbarrier. */
    {"load", BASE INIT EXPECT("4096") LOAD LOOK GET, EMU_OK, NULL, 0, 1000, NULL},
    {"load before the expectation", BASE INIT LOAD EXPECT("4096") LOOK GET, EMU_OK, NULL, 0, 1000, NULL},
    {"load in shared::cta with a hint",
     BASE INIT EXPECT("4096") "@%p1 cp.async.bulk.shared::cta.global" TX
                              ".L2::cache_hint [%t1], [%l1], %t7, [%t0], %l5;\n" LOOK GET,
     EMU_OK, NULL, 0, 1000, NULL},
    {"two loads of one phase",
     BASE INIT EXPECT("4096") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t1], [%l1], 1024, [%t0];"
                              "@%p1 cp.async.bulk.shared::cluster.global" TX
                              ".L2::cache_hint [%t1+1024], [%l1+1024], 3072, [%t0], %l5;\n" LOOK GET,
     EMU_OK, NULL, 0, 1000, NULL},
    {"load of nothing",
     BASE INIT EXPECT("0") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t1], [%l1], 0, [%t0];\n" LOOK
                           "add.u32 %d0, %t6, 7;",
     EMU_OK, NULL, 0, 7, NULL},
    {"load not waited for", BASE INIT EXPECT("4096") LOAD "bar.sync 0;" GET, EMU_ILLEGAL_ADDRESS,
     "is not ordered with a write by " ASYNC, 0, 0, NULL},
    {"load of more than expected", BASE INIT EXPECT("4080") LOAD LOOK GET, EMU_LAUNCH_TIMEOUT,
     "looks again and again at a phase of the mbarrier at 0x400", 0, 0, NULL},
    {"load of less than expected", BASE INIT EXPECT("4112") LOAD LOOK GET, EMU_LAUNCH_TIMEOUT, "deadlock", 0, 0, NULL},
    {"load over what a thread wrote", BASE FILL INIT EXPECT("4096") LOAD LOOK GET, EMU_ILLEGAL_ADDRESS,
     "race: write of shared memory at 0x", 0, 0, NULL},
    {"the same behind the proxy's fence", BASE FILL FENCE INIT EXPECT("4096") LOAD LOOK GET, EMU_OK, NULL, 0, 1000,
     NULL},
    {"load over what a thread still reads",
     BASE FILL FENCE INIT EXPECT("4096") "@!%p1 ld.shared.u32 %t8, [%t2];" LOAD LOOK GET, EMU_ILLEGAL_ADDRESS,
     "race: ", 0, 0, NULL},
    {"load over what was read before a barrier",
     BASE FILL FENCE INIT EXPECT("4096") "ld.shared.u32 %t8, [%t2]; bar.sync 0;" LOAD LOOK GET, EMU_OK, NULL, 0, 1000,
     NULL},
    {"two loads to one place", BASE INIT EXPECT("8192") LOAD LOAD LOOK GET, EMU_ILLEGAL_ADDRESS,
     "is not ordered with a write by " ASYNC, 0, 0, NULL},
    {"write under a load", BASE INIT EXPECT("4096") LOAD "bar.sync 0; st.shared.u32 [%t2], %t6;" LOOK,
     EMU_ILLEGAL_ADDRESS, "race: write of shared memory at 0x480 is not ordered with a write by " ASYNC, 0, 0, NULL},
    {"a block that ends under a load", BASE INIT EXPECT("4096") LOAD, EMU_ILLEGAL_ADDRESS,
     "the block has ended, and its shared memory at 0x480 may still be written by " ASYNC, 0, 0, NULL},
    {"load without an mbarrier", BASE "bar.sync 0;" LOAD, EMU_ILLEGAL_INSTRUCTION,
     "no mbarrier was initialised at 0x400", 0, 0, NULL},
    {"load over an mbarrier",
     BASE INIT EXPECT("16") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t0], [%l1], 16, [%t0];" LOOK,
     EMU_ILLEGAL_ADDRESS, "race: ", 0, 0, NULL},
    {"destination misaligned",
     BASE INIT EXPECT("16") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t0+136], [%l1], 16, [%t0];",
     EMU_MISALIGNED_ADDRESS, "misaligned: the destination of a bulk operation at 0x488: a multiple of 16", 0, 0, NULL},
    {"source misaligned",
     BASE INIT EXPECT("16") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t0+128], [%l1+8], 16, [%t0];",
     EMU_MISALIGNED_ADDRESS, "misaligned: the source of a bulk operation at 0x", 0, 0, NULL},
    {"a size that is no multiple of 16",
     BASE INIT EXPECT("24") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t0+128], [%l1], 24, [%t0];",
     EMU_ILLEGAL_INSTRUCTION, "a bulk operation on 24 bytes: a multiple of 16 is wanted", 0, 0, NULL},
    {"destination out of bounds",
     BASE INIT EXPECT("4096") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t0+4112], [%l1], 4096, [%t0];",
     EMU_ILLEGAL_ADDRESS, "out of bounds: bulk operation on 4096 bytes of shared memory at 0x1410", 0, 0, NULL},
    {"source out of bounds",
     BASE INIT EXPECT("4096") "@%p1 cp.async.bulk.shared::cluster.global" TX " [%t1], [%l1+16368], 32, [%t0];",
     EMU_ILLEGAL_ADDRESS, "out of bounds: read of 32 bytes of global memory", 0, 0, NULL},
    {"a multicast to blocks that are not there",
     BASE INIT EXPECT("16") "@%p1 cp.async.bulk.shared::cluster.global" TX
                            ".multicast::cluster [%t1], [%l1], 16, [%t0], %h0;",
     EMU_ILLEGAL_INSTRUCTION, "a ctaMask of 0x3: the cluster has 1 blocks", 0, 0, NULL},
    {"an mbarrier made away with",
     BASE INIT EXPECT("4096") LOAD "@%p1 mbarrier.inval.shared.b64 [%t0]; bar.sync 0;" LOOK, EMU_ILLEGAL_INSTRUCTION,
     " mbarrier ", 0, 0, NULL},
    /* To global memory, in groups. */
    {"store", BASE FILL FENCE STORE COMMIT WAIT(" 0") BACK, EMU_OK, NULL, 0, 500, NULL},
    {"store with a hint",
     BASE FILL FENCE
     "@%p1 cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%l1], [%t1], %t7, %l5;" COMMIT WAIT(" 0") BACK,
     EMU_OK, NULL, 0, 500, NULL},
    {"store without the proxy's fence", BASE FILL "bar.sync 0;" STORE COMMIT WAIT(" 0") BACK, EMU_ILLEGAL_ADDRESS,
     "race: read of shared memory at 0x480 is not ordered with a write by warp 0", 0, 0, NULL},
    {"a fence of the issuing thread alone, which knew of the writes",
     BASE FILL "bar.sync 0; @%p1 fence.proxy.async;" STORE COMMIT WAIT(" 0") BACK, EMU_OK, NULL, 0, 500, NULL},
    {"a proxy fence of global memory alone", BASE FILL "fence.proxy.async.global; bar.sync 0;" STORE COMMIT WAIT(" 0"),
     EMU_ILLEGAL_ADDRESS, "race: read of shared memory at 0x480 is not ordered with a write by warp 0", 0, 0, NULL},
    {"the old word for the proxy's fence", BASE FILL "membar.proxy.async; bar.sync 0;" STORE COMMIT WAIT(" 0") BACK,
     EMU_OK, NULL, 0, 500, NULL},
    {"source used again too early", BASE FILL FENCE STORE COMMIT "@%p1 st.shared.u32 [%t2], %t6;" WAIT(" 0") BACK,
     EMU_ILLEGAL_ADDRESS, "race: write of shared memory at 0x480 is not ordered with a read by " ASYNC, 0, 0, NULL},
    {"source used again when it was read",
     BASE FILL FENCE STORE COMMIT WAIT(".read 0") "@%p1 st.shared.u32 [%t2], %t6;" WAIT(" 0") BACK, EMU_OK, NULL, 0,
     500, NULL},
    {"another thread's use behind the wait and a barrier",
     BASE FILL FENCE STORE COMMIT WAIT(".read 0") "bar.sync 0; st.shared.u32 [%t2], %t6;" WAIT(" 0") BACK, EMU_OK, NULL,
     0, 500, NULL},
    {"another thread waits",
     BASE FILL FENCE STORE COMMIT "@!%p1 cp.async.bulk.wait_group 0; bar.sync 0; st.shared.u32 [%t2], %t6;" WAIT(" 0"),
     EMU_ILLEGAL_ADDRESS, "is not ordered with a read by " ASYNC, 0, 0, NULL},
    {"a store that was not committed", BASE FILL FENCE STORE WAIT(" 0") "@%p1 st.shared.u32 [%t2], %t6;",
     EMU_ILLEGAL_ADDRESS, "is not ordered with a read by " ASYNC, 0, 0, NULL},
    {"all groups but the last",
     BASE FILL FENCE "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%l1], [%t1], 1024;" COMMIT
                     "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%l1+1024], [%t1+1024], 3072;" COMMIT WAIT(
                         ".read 1") "@%p1 st.shared.u32 [%t2], %t6;" WAIT(" 0") BACK,
     EMU_OK, NULL, 0, 500, NULL},
    {"the last group, while all but it are waited for",
     BASE FILL FENCE "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%l1], [%t1], 1024;" COMMIT
                     "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%l1+1024], [%t1+1024], 3072;" COMMIT WAIT(
                         ".read 1") "@%p1 st.shared.u32 [%t1+1024], %t6;" WAIT(" 0") BACK,
     EMU_ILLEGAL_ADDRESS, "race: write of shared memory at 0x880 is not ordered with a read by " ASYNC, 0, 0, NULL},
    {"a block that ends under a store", BASE FILL FENCE STORE COMMIT, EMU_ILLEGAL_ADDRESS,
     "the block has ended, and its shared memory at 0x480 may still be read by " ASYNC, 0, 0, NULL},
    {"a block that ends when the source was read", BASE FILL FENCE STORE COMMIT WAIT(".read 0"), EMU_OK, NULL, 0, 0,
     NULL},
    {"store of what was never written", BASE FENCE STORE, EMU_ILLEGAL_ADDRESS,
     "uninitialised: a bulk operation on shared memory at 0x480", 0, 0, NULL},
    {"store out of bounds", BASE FILL FENCE "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%l1+16368], [%t1], 32;",
     EMU_ILLEGAL_ADDRESS, "out of bounds: write of 32 bytes of global memory", 0, 0, NULL},
    {"what was loaded is stored, without a fence",
     BASE INIT EXPECT("4096") LOAD LOOK "@%p1 st.global.u32 [%l1], 3; bar.sync 0;" STORE COMMIT WAIT(" 0") BACK, EMU_OK,
     NULL, 0, 1000, NULL},
    {"store by a mask of bytes",
     BASE FILL FENCE "@%p1 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%l1], [%t1], 4096, %h1;" COMMIT WAIT(
         " 0") "bar.sync 0; ld.global.v4.u32 {%t8, %t9, %t10, %t11}, [%base+32]; add.u32 %t8, %t8, %t9;"
               "add.u32 %t10, %t10, %t11; sub.u32 %t8, %t8, %t10; shr.u32 %t8, %t8, 1; mov.u32 %d0, %t8;",
     EMU_OK, NULL, 0, 500, "sm_100a"},
    {"a mask and a hint",
     BASE FILL FENCE "@%p1 cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%l1], [%t1], 4096, %l5, "
                     "%h1;" COMMIT WAIT(" 0") BACK,
     EMU_OK, NULL, 0, 500, "sm_100a"},
    {"a mask before sm_100",
     BASE FILL FENCE "@%p1 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%l1], [%t1], 4096, %h1;",
     EMU_INVALID_PTX, "sm_90a does not have this instruction", 0, 0, NULL},
    {"a hint without its policy",
     BASE "@%p1 cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%l1], [%t1], 4096;", EMU_INVALID_PTX,
     "an operand is missing", 0, 0, NULL},
    /* Prefetch. */
    {"prefetch",
     BASE "cp.async.bulk.prefetch.L2.global [%l1], 4096; cp.async.bulk.prefetch.L2.global.L2::cache_hint "
          "[%l1], %t7, %l5; add.u32 %d0, %t6, 3;",
     EMU_OK, NULL, 0, 3, NULL},
    {"prefetch misaligned", BASE "cp.async.bulk.prefetch.L2.global [%l1+4], 4096;", EMU_MISALIGNED_ADDRESS,
     "misaligned: bulk prefetch from 0x", 0, 0, NULL},
    {"prefetch of no multiple of 16", BASE "cp.async.bulk.prefetch.L2.global [%l1], 8;", EMU_ILLEGAL_INSTRUCTION,
     "a bulk prefetch of 8 bytes", 0, 0, NULL},
    /* Clusters. */
    {"multicast to both blocks",
     BASE INIT EXPECT("4096") MEET "@%p0 cp.async.bulk.shared::cluster.global" TX
                                   ".multicast::cluster [%t1], [%l1], 4096, [%t0], %h0;\n" LOOK GET MEET,
     EMU_OK, NULL, 2, 1000, NULL},
    {"multicast with a hint",
     BASE INIT EXPECT("4096") MEET
     "@%p0 cp.async.bulk.shared::cluster.global" TX
     ".multicast::cluster.L2::cache_hint [%t1], [%l1], 4096, [%t0], %h0, %l5;\n" LOOK GET MEET,
     EMU_OK, NULL, 2, 1000, NULL},
    {"multicast that the other block does not wait for",
     BASE INIT EXPECT("4096") MEET
     "@%p0 cp.async.bulk.shared::cluster.global" TX ".multicast::cluster [%t1], [%l1], 4096, [%t0], %h0;\n"
     "setp.eq.u32 %p3, %rank, 1; @%p3 bra READ;\n" LOOK "READ: bar.warp.sync -1;" GET MEET,
     EMU_ILLEGAL_ADDRESS, "shared memory at 0x", 2, 0, NULL},
    {"multicast before the other block has begun",
     BASE INIT EXPECT("4096") "@%p0 cp.async.bulk.shared::cluster.global" TX
                              ".multicast::cluster [%t1], [%l1], 4096, [%t0], %h0;\n" LOOK GET MEET,
     EMU_ILLEGAL_ADDRESS, "of the cluster is not known to have begun", 2, 0, NULL},
    {"load into the other block",
     BASE OTHER INIT EXPECT("4096") MEET "@%p1 cp.async.bulk.shared::cluster.global" TX
                                         " [%t4], [%l1], 4096, [%t5];\n" LOOK GET MEET,
     EMU_OK, NULL, 2, 1000, NULL},
    {"load into the other block as shared::cta",
     BASE OTHER INIT EXPECT("4096") MEET "@%p1 cp.async.bulk.shared::cta.global" TX
                                         " [%t4], [%l1], 4096, [%t0];\n" LOOK GET MEET,
     EMU_ILLEGAL_ADDRESS, "out of bounds: bulk operation on 4096 bytes of shared memory at 0x", 2, 0, NULL},
    {"to the other block's shared memory",
     BASE OTHER "setp.lt.u32 %p3, %t6, 16; @!%p3 bra SKIP;\n" FILL "SKIP:" FENCE INIT EXPECT("2048") MEET
     "@%p1 cp.async.bulk.shared::cluster.shared::cta" TX " [%t4+2048], [%t1], 2048, [%t5];\n" LOOK
     "@%p3 add.u32 %t2, %t2, 2048; " GET "@!%p3 add.u32 %d0, %d0, 16;" MEET,
     EMU_OK, NULL, 2, 500, NULL},
    {"without the proxy's fence",
     BASE OTHER FILL INIT EXPECT("2048") MEET "@%p1 cp.async.bulk.shared::cluster.shared::cta" TX
                                              " [%t4], [%t1+2048], 2048, [%t5];\n" LOOK MEET,
     EMU_ILLEGAL_ADDRESS, "shared memory at 0x", 2, 0, NULL},
    {"the other block's words stored, with one-way fences of the proxies",
     BASE OTHER "mad.lo.u32 %t7, %t6, 128, %t4; add.u32 %t8, %t6, 500; @%p1 mbarrier.init.shared.b64 [%t0], 32;" MEET
                "st.shared::cluster.v4.u32 [%t7], {%t8, %t8, %t8, %t8}; "
                "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"
                "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%t5];\n"
                "LOOK: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p2, [%t0], 0; @!%p2 bra LOOK;"
                "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
                "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%l1], [%t1], 16;" COMMIT WAIT(" 0") MEET,
     EMU_OK, NULL, 2, 0, NULL},
    {"to the same block's shared memory",
     BASE OTHER FILL FENCE INIT EXPECT("16") MEET "@%p1 cp.async.bulk.shared::cluster.shared::cta" TX
                                                  " [%t1], [%t1+1024], 16, [%t0];\n" LOOK MEET,
     EMU_ILLEGAL_ADDRESS, "of the same block: another block's is wanted", 2, 0, NULL},
    {"a block that ends while another copies to it",
     BASE OTHER FILL FENCE INIT EXPECT("2048") MEET "@%p1 cp.async.bulk.shared::cluster.shared::cta" TX
                                                    " [%t4], [%t1+2048], 2048, [%t5];\n",
     EMU_ILLEGAL_ADDRESS, "has ended, and its shared memory", 2, 0, NULL},
};

enum { COUNT = sizeof rows / sizeof rows[0] };

static emu_snippet snippet;

static void start(const char *text, uint64_t seed, unsigned blocks, const char *arch)
{
  memset(&snippet, 0, sizeof snippet);
  emu_configure(&(emu_settings){seed, 1});
  snippet.text = text;
  snippet.blocks = blocks;
  snippet.arch = arch;
  snippet.shared = 4096 + 128;
  for (unsigned t = 0; t < 64; t++) {
    snippet.in[t][0] = 1000 + t % 32;
  }
}

static int is_right(const bulk_row *row)
{
  const char *text = snippet.message.text;
  if (snippet.result != row->result || (row->says == NULL ? text[0] != 0 : strstr(text, row->says) == NULL)) {
    return 0;
  }
  const unsigned threads = 32 * (row->blocks != 0 ? row->blocks : 1);
  for (unsigned t = 0; t < threads && row->adds != 0; t++) {
    if (snippet.out[t][0] != t % 32 + (unsigned)row->adds) {
      print_message("thread %u has %llu\n", t, (unsigned long long)snippet.out[t][0]);
      return 0;
    }
  }
  return 1;
}

static void each_text_does_and_says_what_it_should(void **state)
{
  (void)state;
  unsigned wrong = 0;
  for (unsigned i = 0; i < COUNT * SEEDS; i++) {
    const bulk_row *row = &rows[i / SEEDS];
    start(row->text, i % SEEDS + 1, row->blocks, row->arch);
    snippet_run(&snippet);
    if (!is_right(row)) {
      print_message("%s, seed %u: result %d instead of %d, and says:\n%s\n", row->what, i % SEEDS + 1, snippet.result,
                    row->result, snippet.message.text);
      wrong++;
    }
  }
  assert_int_equal(wrong, 0);
}

/* A store that nobody waits for is there for some seeds, and not for others. */
static void a_store_may_be_late(void **state)
{
  (void)state;
  unsigned there = 0, runs = 40;
  for (unsigned seed = 1; seed <= runs; seed++) {
    start(BASE FILL FENCE STORE COMMIT PAUSE BACK WAIT(" 0"), seed, 0, NULL);
    snippet_run(&snippet);
    assert_int_equal(snippet.result, EMU_OK);
    there += snippet.out[5][0] == 505;
  }
  assert_in_range(there, 1, runs - 1);
}

/* Pieces of one copy arrive apart: a phase that expects a part of it may end before the rest is there. */
static void a_load_arrives_in_pieces(void **state)
{
  (void)state;
  unsigned ends = 0, runs = 60;
  for (unsigned seed = 1; seed <= runs; seed++) {
    start(BASE INIT EXPECT("2048") LOAD LOOK EXPECT("2048") "LOOK2: mbarrier.try_wait.parity.shared.b64 %p2, [%t0], 1;"
                                                            "@!%p2 bra LOOK2;" GET,
          seed, 0, NULL);
    snippet_run(&snippet);
    assert_true(snippet.result == EMU_OK || snippet.result == EMU_LAUNCH_TIMEOUT);
    ends += snippet.result == EMU_OK;
  }
  assert_in_range(ends, 1, runs - 1);
}

/* ---- Reductions ------------------------------------------------------------------------------------------- */

typedef struct reduction {
  const char *words; /* redOp.type */
  unsigned bits;
  uint64_t there, with, result;
} reduction;

static const reduction reductions[] = {
    {"add.u32", 32, 0xfffffffe, 5, 3},
    {"add.s32", 32, 0xfffffff0, 5, 0xfffffff5},
    {"add.u64", 64, 0xffffffffull, 1, 0x100000000ull},
    {"add.f32", 32, 0x3f800000, 0x40000000, 0x40400000}, /* 1 + 2 */
    {"add.f32", 32, 0x00000001, 0x00000001, 0x00000000}, /* subnormal numbers are flushed */
    {"add.f32", 32, 0x80000001, 0x80000002, 0x80000000}, /* their signs are kept */
    {"add.f64", 64, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000},
    {"add.noftz.f16", 16, 0x3c00, 0x0001, 0x3c00},
    {"add.noftz.f16", 16, 0x0001, 0x0001, 0x0002}, /* subnormal numbers are kept */
    {"add.noftz.bf16", 16, 0x3f80, 0x4000, 0x4040},
    {"min.u32", 32, 7, 0xffffffff, 7},
    {"min.s32", 32, 7, 0xffffffff, 0xffffffff},
    {"min.u64", 64, 7, ~0ull, 7},
    {"min.s64", 64, 7, ~0ull, ~0ull},
    {"min.f16", 16, 0x3c00, 0xbc00, 0xbc00},
    {"min.bf16", 16, 0x3f80, 0xbf80, 0xbf80},
    {"max.u32", 32, 7, 0xffffffff, 0xffffffff},
    {"max.s32", 32, 7, 0xffffffff, 7},
    {"max.u64", 64, 7, ~0ull, ~0ull},
    {"max.s64", 64, 7, ~0ull, 7},
    {"max.f16", 16, 0x3c00, 0xbc00, 0x3c00},
    {"max.bf16", 16, 0x3f80, 0xbf80, 0x3f80},
    {"inc.u32", 32, 4, 5, 5},
    {"inc.u32", 32, 5, 5, 0},
    {"dec.u32", 32, 0, 5, 5},
    {"dec.u32", 32, 4, 5, 3},
    {"and.b32", 32, 0xff00ff00, 0x0ff00ff0, 0x0f000f00},
    {"or.b32", 32, 0xff00ff00, 0x0ff00ff0, 0xfff0fff0},
    {"xor.b32", 32, 0xff00ff00, 0x0ff00ff0, 0xf0f0f0f0},
    {"and.b64", 64, ~0ull, 0x123456789abcdef0, 0x123456789abcdef0},
    {"or.b64", 64, 1ull << 40, 1, 1ull << 40 | 1},
    {"xor.b64", 64, ~0ull, 0xff, ~0xffull},
};

/* Each 16 bytes of the thread's input are the elements that are there, or those to reduce with. */
static void fill_with(uint64_t *words, const reduction *of, uint64_t value)
{
  uint64_t all = of->bits == 64 ? value : 0;
  for (unsigned at = 0; at < 64 && of->bits < 64; at += of->bits) {
    all |= value << at;
  }
  words[0] = words[1] = all;
}

static void reduce(const reduction *of, const char *text, unsigned blocks, uint64_t seed)
{
  start(text, seed, blocks, NULL);
  for (unsigned t = 0; t < 64; t++) {
    fill_with(&snippet.in[t][0], of, of->with);
    fill_with(&snippet.in[t][2], of, of->there);
  }
  snippet_run(&snippet);
  uint64_t wanted[2];
  fill_with(wanted, of, of->result);
  if (snippet.result != EMU_OK || snippet.out[0][4] != wanted[0] || snippet.out[0][5] != wanted[1]) {
    print_message("%s: result %d, %llx instead of %llx\n%s\n", text, snippet.result,
                  (unsigned long long)snippet.out[0][4], (unsigned long long)wanted[0], snippet.message.text);
    fail();
  }
}

static void reductions_into_global_memory(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 2 * sizeof reductions / sizeof reductions[0]; i++) {
    const bool hint = i % 2 != 0;
    char text[4096];
    snprintf(text, sizeof text,
             "%s@%%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group%s.%s [%%l1+16], [%%t1], 16%s;%s",
             BASE "st.shared.v2.u64 [%t2], {%la0, %la1};" FENCE, hint ? ".L2::cache_hint" : "", reductions[i / 2].words,
             hint ? ", %l5" : "",
             COMMIT "@%p1 cp.async.bulk.wait_group 0; ld.global.u64 %ld0, [%base+16]; ld.global.u64 %ld1, [%base+24];");
    reduce(&reductions[i / 2], text, 0, i + 1);
  }
}

/* The types that shared memory has, by the table of cp.reduce.async.bulk. */
static bool has_exchange(const char *words)
{
  static const char *const known[] = {"add.u32", "add.s32", "add.u64", "min.u32", "max.u32", "min.s32",
                                      "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32",  "xor.b32"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(known[i], words) == 0) {
      return true;
    }
  }
  return false;
}

static void reductions_into_another_block(void **state)
{
  (void)state;
  for (unsigned i = 0; i < sizeof reductions / sizeof reductions[0]; i++) {
    char text[4096];
    snprintf(text, sizeof text,
             "%s@%%p1 cp.reduce.async.bulk.shared::cluster.shared::cta" TX ".%s [%%t4+16], [%%t1], 16, [%%t5];%s",
             BASE OTHER
             "st.shared.v2.u64 [%t2], {%la0, %la1}; st.shared.v2.u64 [%t2+16], {%la2, %la3};" FENCE INIT EXPECT("16")
                 MEET,
             reductions[i].words, LOOK "ld.shared.v2.u64 {%ld0, %ld1}, [%t2+16];" MEET);
    if (has_exchange(reductions[i].words)) {
      reduce(&reductions[i], text, 2, i + 1);
      continue;
    }
    start(text, 1, 2, NULL);
    snippet_run(&snippet);
    assert_int_equal(snippet.result, EMU_INVALID_PTX);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_text_does_and_says_what_it_should),
      cmocka_unit_test(a_store_may_be_late),
      cmocka_unit_test(a_load_arrives_in_pieces),
      cmocka_unit_test(reductions_into_global_memory),
      cmocka_unit_test(reductions_into_another_block),
  };
  return SJ_TEST_RUN(tests);
}
