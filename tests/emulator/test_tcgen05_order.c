/* SPDX-License-Identifier: Apache-2.0 */
/* What the tcgen05 family orders by itself and what must be waited for: PTX ISA 9.7.16.6 (pipelined pairs, patterns,
 * proxies), 9.7.16.5 (issue granularity), 9.7.16.12 (commit). Every text runs with several seeds. */
#include "test_main.h"

#include <string.h>

#include "snippet.h"
#include "tensor_snippet.h"

/*
 * 512 columns; 16 KiB of zeros at %smem + 1024 that the async proxy may read; an mbarrier for one arrival at %mbar, one
 * more at %mbar + 8. %rd4: A, %rd5: B, each K-major without swizzling; %r100: bf16 to f32, M = 128, N = 64, %r101: the
 * same with N = 32; %r90: the warp's quarter; %p2: false, %p3: true. Tensor memory is not written.
 */
#define ZERO                                                                                                           \
  "mov.u32 %r0, 0;\nshl.b32 %r1, %thread, 4;\nadd.u32 %r2, %smem, 17408;\nadd.u32 %r1, %r1, %smem;\n"                  \
  "add.u32 %r1, %r1, 1024;\nmov.u32 %r6, %ntid.x;\nshl.b32 %r6, %r6, 4;\n"                                             \
  "FILL:\nst.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0};\nadd.u32 %r1, %r1, %r6;\n"                                     \
  "setp.lt.u32 %p0, %r1, %r2;\n@%p0 bra FILL;\n"
#define NAMES                                                                                                          \
  "add.u32 %mbar, %smem, 64;\n@%leader mbarrier.init.shared::cta.b64 [%mbar], 1;\n"                                    \
  "@%leader mbarrier.init.shared::cta.b64 [%mbar+8], 1;\n"                                                             \
  "add.u32 %r3, %smem, 1024;\nshr.u32 %r3, %r3, 4;\ncvt.u64.u32 %rd4, %r3;\nor.b64 %rd4, %rd4, 0x0000400800800000;\n"  \
  "add.u64 %rd5, %rd4, 512;\nmov.u32 %r100, 0x8100490;\nmov.u32 %r101, 0x8080490;\n"                                   \
  "setp.ne.u32 %p2, 0, 0;\nsetp.eq.u32 %p3, 0, 0;\nsetp.eq.u32 %p1, %thread, 32;\n"
#define SETUP                                                                                                          \
  ZERO NAMES "fence.proxy.async;\n" TENSOR_ALLOC("512") "and.b32 %r90, %warp, 3;\nshl.b32 %r90, %r90, 21;\n"           \
                                                        "add.u32 %r90, %r90, %tm;\nadd.u32 %r110, %tm, 256;\n"
#define SETUP2 ZERO NAMES "fence.proxy.async;\nmov.u32 %tm, 0;\nbar.sync 0;\n"
#define END TENSOR_FREE("512")
/* By thread 0: into the first columns, not adding to them. */
#define MMA "@%leader tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r100, %p2;\n"
#define MMA_ADD "@%leader tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r100, %p3;\n"
#define MMA_NARROW "@%leader tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r101, %p2;\n"
/* By thread 0: other zeros for A. */
#define BULK                                                                                                           \
  "@%leader mbarrier.arrive.expect_tx.shared::cta.b64 %rd9, [%mbar+8], 4096;\nadd.u32 %r9, %smem, 1024;\n"             \
  "@%leader cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%base], 4096, [%mbar+8];\n"
/* Without lanes 32 to 63. */
#define LANES_OFF                                                                                                      \
  "mov.u32 %r7, 0;\nmov.u32 %r8, -1;\n@%leader tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r100, {%r7, "    \
  "%r8, %r7, %r7}, %p2;\n"
/* A in tensor memory from column 256 on, D from column 0 on. */
#define MMA_A "@%leader tcgen05.mma.cta_group::1.kind::f16 [%tm], [%r110], %rd5, %r100, %p2;\n"
#define CP "@%leader tcgen05.cp.cta_group::1.128x256b [%r110], %rd4;\n"
#define CP4 "@%leader tcgen05.cp.cta_group::1.4x256b [%r110], %rd4;\n"
#define SHIFT "@%leader tcgen05.shift.cta_group::1.down [%r110];\n"
#define COMMIT "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar];\n"
#define WAIT(label) label ":\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar], 0;\n@!%p0 bra " label ";\n"
#define AFTER "tcgen05.fence::after_thread_sync;\n"
#define BEFORE "tcgen05.fence::before_thread_sync;\n"
#define DONE COMMIT WAIT("W") AFTER
#define ST8                                                                                                            \
  "add.u32 %r91, %r90, 256;\ntcgen05.st.sync.aligned.32x32b.x8.b32 [%r91], {%r0, %r0, %r0, %r0, %r0, %r0, %r0, "       \
  "%r0};\n"
#define LD1 "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r90];\n"
#define LD_A "add.u32 %r91, %r90, 256;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r91];\n"
#define WAIT_LD "tcgen05.wait::ld.sync.aligned;\n"
#define WAIT_ST "tcgen05.wait::st.sync.aligned;\n"
#define SYNC "bar.sync 0;\n"

/* A pair of blocks: the first one's thread 0 issues, M = 256, N = 64. %p6: it is that thread; %p7: the first block. */
#define PAIR                                                                                                           \
  ZERO NAMES "fence.proxy.async;\nmov.u32 %r102, 0x10100490;\nmov.u32 %r0, %cluster_ctarank;\n"                        \
             "setp.eq.u32 %p7, %r0, 0;\nand.pred %p6, %p7, %leader;\n@!%first bra HAVE;\n"                             \
             "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%smem], 512;\nHAVE:\nbar.sync 0;\n"             \
             "ld.shared.u32 %tm, [%smem];\nshl.b32 %r90, %warp, 21;\nadd.u32 %r90, %r90, %tm;\n" MEET
#define MEET "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
#define MMA2 "@%p6 tcgen05.mma.cta_group::2.kind::f16 [%tm], %rd4, %rd5, %r102, %p2;\n"
#define COMMIT2(mask, bar)                                                                                             \
  "mov.u16 %h0, " mask ";\n@%p6 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster"  \
  ".b64 [%mbar" bar "], %h0;\n"
#define WAIT2 "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar+8], 0;\n@!%p0 bra W2;\n"
#define END2 MEET "@!%first bra OUT;\ntcgen05.dealloc.cta_group::2.sync.aligned.b32 %tm, 512;\nOUT:\n"

static const tensor_row rows[] = {
    /* 9.7.16.6.2: the five pairs, and what is none. */
    {"mma, mma of the same accumulator and shape", SETUP MMA MMA_ADD MMA_ADD DONE LD1 WAIT_LD BEFORE END, EMU_OK, NULL,
     0, 0},
    {"mma, mma of another shape", SETUP MMA MMA_NARROW, EMU_ILLEGAL_ADDRESS,
     "race: this product writes tensor memory at lane 0, column 0, which the product of PTX line", 0, 0},
    {"cp, mma", SETUP CP MMA_A DONE LD1 WAIT_LD END, EMU_OK, NULL, 0, 0},
    {"shift, mma", SETUP ST8 WAIT_ST TENSOR_SYNC SHIFT MMA_A DONE END, EMU_OK, NULL, 0, 0},
    {"mma, shift", SETUP ST8 WAIT_ST TENSOR_SYNC MMA_A SHIFT DONE END, EMU_OK, NULL, 0, 0},
    {"shift, cp of 4 lanes", SETUP ST8 WAIT_ST TENSOR_SYNC SHIFT CP4 DONE END, EMU_OK, NULL, 0, 0},
    {"shift, cp of 128 lanes", SETUP ST8 WAIT_ST TENSOR_SYNC SHIFT CP, EMU_ILLEGAL_ADDRESS,
     "race: this copy writes tensor memory at lane", 0, 0},
    {"cp of 4 lanes, shift", SETUP ST8 WAIT_ST TENSOR_SYNC CP4 SHIFT, EMU_ILLEGAL_ADDRESS, "race: this shift", 0, 0},
    {"cp, cp", SETUP CP CP, EMU_ILLEGAL_ADDRESS, "race: this copy writes", 0, 0},
    {"mma, cp over its A", SETUP CP MMA_A CP, EMU_ILLEGAL_ADDRESS,
     "race: this copy writes tensor memory at lane 0, column 256, which the", 0, 0},
    {"mma, cp over its A, waited for",
     SETUP CP MMA_A DONE CP
     "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar+8];\n"
     "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar+8], 0;\n@!%p0 bra W2;\n" END,
     EMU_OK, NULL, 0, 0},
    {"a product of what another made",
     SETUP "@%leader tcgen05.mma.cta_group::1.kind::f16 [%r110], %rd4, %rd5, %r100, %p2;\n" MMA_A, EMU_ILLEGAL_ADDRESS,
     "race: this product reads tensor memory at lane 0, column 256", 0, 0},
    /* 9.7.16.6.4.2: the same thread. */
    {"st, mma", SETUP ST8 BEFORE SYNC AFTER MMA_A, EMU_ILLEGAL_ADDRESS, "tcgen05.wait::st is missing behind it", 0, 0},
    {"st, wait, mma of one warp", "setp.lt.u32 %p4, %thread, 32;\n" SETUP ST8 WAIT_ST "bar.sync 0;\n" MMA_A,
     EMU_ILLEGAL_ADDRESS, "column 256, which the store of PTX line", 0, 0},
    {"ld, mma", SETUP MMA DONE LD1 MMA, EMU_ILLEGAL_ADDRESS, "tcgen05.wait::ld is missing behind it", 32, 0},
    {"ld, wait, mma",
     SETUP MMA DONE LD1 WAIT_LD MMA
     "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar+8];\n"
     "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar+8], 0;\n@!%p0 bra W2;\n" END,
     EMU_OK, NULL, 32, 0},
    {"mma, ld", SETUP MMA LD1, EMU_ILLEGAL_ADDRESS, "its completion was not waited for", 32, 0},
    {"mma, commit, ld", SETUP MMA COMMIT LD1, EMU_ILLEGAL_ADDRESS, "its completion was not waited for", 32, 0},
    {"mma, commit, wait, ld", SETUP MMA COMMIT WAIT("W") LD1, EMU_ILLEGAL_ADDRESS,
     "tcgen05.fence::after_thread_sync is missing before this one", 32, 0},
    {"mma, commit, fence, wait, ld", SETUP MMA COMMIT AFTER WAIT("W") LD1, EMU_ILLEGAL_ADDRESS,
     "tcgen05.fence::after_thread_sync is missing before this one", 32, 0},
    {"a commit before the mma", SETUP COMMIT MMA WAIT("W") AFTER LD1, EMU_ILLEGAL_ADDRESS,
     "its completion was not waited for", 32, 0},
    {"another thread's commit",
     SETUP MMA "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar];\n" WAIT("W")
         AFTER LD1,
     EMU_ILLEGAL_ADDRESS, "tensor memory at lane", 0, 0},
    {"an old phase",
     SETUP MMA COMMIT "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar], 1;\n@!%p0 bra W;\n" AFTER LD1,
     EMU_ILLEGAL_ADDRESS, "its completion was not waited for", 32, 0},
    /* 9.7.16.6.4.3: pipelined, different threads. */
    {"cp, fences, mma of another thread",
     SETUP CP BEFORE SYNC AFTER
     "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%tm], [%r110], %rd5, %r100, %p2;\n"
     "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar];\n" WAIT("W") AFTER
     "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar+8];\n"
     "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar+8], 0;\n@!%p0 bra W2;\n" END,
     EMU_OK, NULL, 0, 0},
    {"cp, mma of another thread without the fence before",
     SETUP CP SYNC AFTER "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%tm], [%r110], %rd5, %r100, %p2;\n",
     EMU_ILLEGAL_ADDRESS, "race: this product reads", 0, 0},
    {"cp, mma of another thread without the fence after",
     SETUP CP BEFORE SYNC "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%tm], [%r110], %rd5, %r100, %p2;\n",
     EMU_ILLEGAL_ADDRESS, "tcgen05.fence::after_thread_sync is missing", 0, 0},
    {"cp, relaxed arrival, mma of another thread",
     SETUP CP BEFORE
     "@%leader mbarrier.arrive.relaxed.cluster.shared::cta.b64 %rd9, [%mbar+8];\n"
     "W0:\nmbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p0, [%mbar+8], 0;\n@!%p0 bra W0;\n" AFTER
     "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%tm], [%r110], %rd5, %r100, %p2;\n"
     "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar];\n" WAIT("W") AFTER LD1 WAIT_LD
     "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar+8];\n"
     "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar+8], 1;\n@!%p0 bra W2;\n" END,
     EMU_OK, NULL, 0, 0},
    /* 9.7.16.6.4.4: not pipelined, different threads. */
    {"ld of four warps, then mma",
     SETUP MMA DONE LD1 WAIT_LD BEFORE SYNC AFTER MMA
     "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar+8];\n"
     "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar+8], 0;\n@!%p0 bra W2;\n" END,
     EMU_OK, NULL, 0, 0},
    {"ld of four warps, then mma without the fence before", SETUP MMA DONE LD1 WAIT_LD SYNC AFTER MMA,
     EMU_ILLEGAL_ADDRESS, "tcgen05.fence::before_thread_sync behind its wait, or a barrier, is missing", 0, 0},
    {"ld of four warps, then mma without a barrier", SETUP MMA DONE LD1 WAIT_LD BEFORE AFTER MMA, EMU_ILLEGAL_ADDRESS,
     "", 0, 0},
    /* 9.7.16.6.5: shared memory and proxies. */
    {"A is overwritten under the product", SETUP MMA "st.shared.u32 [%smem+1024], %r0;\n", EMU_ILLEGAL_ADDRESS,
     "race: write of shared memory at 0x800 is not ordered with a read by an asynchronous operation", 1 * 32, 0},
    {"A is overwritten behind the product", SETUP MMA DONE "@%leader st.shared.u32 [%smem+1024], %r0;\n" END, EMU_OK,
     NULL, 0, 0},
    {"B is overwritten under a copy of another thread", SETUP CP SYNC "@%p1 st.shared.u32 [%smem+1040], %r0;\n",
     EMU_ILLEGAL_ADDRESS, "race: write of shared memory at 0x810", 0, 0},
    {"A is written without a fence of the proxies", SETUP "@%leader st.shared.u32 [%smem+1024], %r0;\n" MMA,
     EMU_ILLEGAL_ADDRESS, "race: read of shared memory at 0x800 is not ordered with a write by warp 0 lane 0", 0, 0},
    {"A is written with a fence of the proxies",
     SETUP "@%leader st.shared.u32 [%smem+1024], %r0;\nfence.proxy.async;\n" MMA DONE END, EMU_OK, NULL, 0, 0},
    {"A comes by a bulk copy, which is waited for",
     SETUP BULK "WB:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, "
                "[%mbar+8], 0;\n@!%p0 bra WB;\n" MMA DONE END,
     EMU_OK, NULL, 0, 0},
    {"A comes by a bulk copy, which is not waited for", SETUP BULK MMA, EMU_ILLEGAL_ADDRESS,
     "race: read of shared memory at 0x800 is not ordered with a write by an asynchronous operation", 0, 0},
    {"a bulk copy over A under the product", SETUP MMA BULK, EMU_ILLEGAL_ADDRESS, "race: ", 0, 0},
    {"a bulk copy over A behind the product",
     SETUP MMA DONE BULK "WB:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, "
                         "[%mbar+8], 0;\n@!%p0 bra WB;\n" END,
     EMU_OK, NULL, 0, 0},
    {"a copy's source is written without a fence", SETUP "@%leader st.shared.u32 [%smem+1024], %r0;\n" CP,
     EMU_ILLEGAL_ADDRESS, "race: read of shared memory at 0x800", 0, 0},
    {"A was never written", SETUP "add.u64 %rd4, %rd4, 1024;\n" MMA, EMU_ILLEGAL_ADDRESS,
     "uninitialised: A is at 0x4800 of shared memory by its descriptor, which was never written", 0, 0},
    {"A over an mbarrier", SETUP "sub.u64 %rd4, %rd4, 60;\n" MMA, EMU_ILLEGAL_ADDRESS, "which is an mbarrier", 0, 0},
    /* 9.7.16.1, 9.7.16.10.5: what is read must be there. */
    {"D was never written", SETUP MMA_ADD, EMU_ILLEGAL_ADDRESS,
     "uninitialised: read of tensor memory at lane 0, column 0 that was never written", 0, 0},
    {"A in tensor memory was never written", SETUP MMA_A, EMU_ILLEGAL_ADDRESS, "at lane 0, column 256 that was never",
     0, 0},
    {"what is shifted was never written", SETUP SHIFT, EMU_ILLEGAL_ADDRESS, "at lane 1, column 256 that was never", 0,
     0},
    {"lanes that are off stay unwritten", SETUP LANES_OFF DONE LD1 WAIT_LD, EMU_ILLEGAL_ADDRESS,
     "uninitialised: read of tensor memory at lane 32, column 0", 64, 0},
    {"lanes that are off are loaded meanwhile",
     SETUP MMA DONE "setp.eq.u32 %p5, %warp, 1;\n@!%p5 bra NOLD;\n" LD1 WAIT_LD "NOLD:\n" LANES_OFF
                    "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar+8];\n"
                    "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p0, [%mbar+8], 0;\n@!%p0 bra W2;\n" END,
     EMU_OK, NULL, 64, 0},
    {"one lane alone waits for the commit", SETUP MMA COMMIT "@!%leader bra ON;\n" WAIT("W") "ON:\n" AFTER LD1,
     EMU_ILLEGAL_ADDRESS, "its completion was not waited for", 32, 0},
    {"one lane alone waits for the commit, and the warp for it",
     SETUP MMA COMMIT "@!%leader bra ON;\n" WAIT("W") "ON:\nbar.warp.sync -1;\n" AFTER LD1 WAIT_LD END, EMU_OK, NULL,
     32, 0},
    {"freed under the product", SETUP MMA COMMIT END, EMU_ILLEGAL_ADDRESS, "race: this dealloc frees tensor memory", 0,
     0},
    {"A at another lane than D",
     SETUP CP "add.u32 %r111, %tm, 0x100000;\nmov.u32 %r100, 0x4100490;\n"
              "@%leader tcgen05.mma.cta_group::1.kind::f16 [%r111], [%r110], %rd5, %r100, %p2;\n",
     EMU_ILLEGAL_INSTRUCTION, "A is at lane 0 of tensor memory and D at lane 16: they must be equal", 0, 0},
    {"a shift from lane 16", SETUP "add.u32 %r110, %r110, 0x100000;\n" SHIFT, EMU_ILLEGAL_INSTRUCTION,
     "a shift at lane 16 of tensor memory", 0, 0},
    {"a copy to lane 32", SETUP "add.u32 %r110, %r110, 0x200000;\n" CP, EMU_ILLEGAL_INSTRUCTION,
     "a copy to lane 32 of tensor memory: it begins at lane 0", 0, 0},
    {"a copy of four lanes to lane 32", SETUP "add.u32 %r110, %r110, 0x200000;\n" CP4, EMU_ILLEGAL_INSTRUCTION,
     "4x256b begins at lane 0 to 31", 0, 0},
    {"a copy's descriptor", SETUP "mov.u64 %rd4, 0;\n" CP, EMU_ILLEGAL_INSTRUCTION,
     "the source's matrix descriptor 0x0000000000000000: bits 46 to 48 must be 0b001, not 0", 0, 0},
    /* 9.7.16.5: one thread issues. */
    {"a product by a whole warp", SETUP "tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r100, %p2;\n",
     EMU_ILLEGAL_ADDRESS, "race: this product writes tensor memory at lane 0, column 0", 32, 0},
    {"cta_group::2 without a cluster",
     SETUP2 "mov.u32 %r0, 0x10100490;\n"
            "@%leader tcgen05.mma.cta_group::2.kind::f16 [%r0], %rd4, %rd5, %r0, %p2;\n",
     EMU_ILLEGAL_INSTRUCTION, "the block has no peer", 32, 0},
    {"the peer has ended",
     SETUP2 "mov.u32 %r0, %cluster_ctarank;\nsetp.eq.u32 %p4, %r0, 1;\n"
            "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n@%p4 bra OUT;\nmov.u32 %r0, 0x10100490;\n"
            "mov.u32 %r1, 0;\nSPIN:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p5, %r1, 20000;\n@%p5 bra SPIN;\n"
            "@%leader tcgen05.mma.cta_group::2.kind::f16 [%r0], %rd4, %rd5, %r0, %p2;\nOUT:\n",
     -1, "", 32, 2},
    {"a pair", PAIR MMA2 COMMIT2("3", "") WAIT("W") AFTER LD1 WAIT_LD END2, EMU_OK, NULL, 128, 2},
    {"a pair, twice",
     PAIR MMA2 COMMIT2("3", "") WAIT("W") AFTER LD1 WAIT_LD BEFORE MEET AFTER MMA2 COMMIT2("3", "+8")
         WAIT2 AFTER LD1 WAIT_LD END2,
     EMU_OK, NULL, 128, 2},
    {"a pair, twice without a barrier",
     PAIR MMA2 COMMIT2("3", "") WAIT("W") AFTER LD1 WAIT_LD BEFORE AFTER MMA2 COMMIT2("3", "+8")
         WAIT2 AFTER LD1 WAIT_LD END2,
     EMU_ILLEGAL_ADDRESS, "race: this", 128, 2},
    {"a pair, twice without the fence before",
     PAIR MMA2 COMMIT2("3", "") WAIT("W") AFTER LD1 WAIT_LD MEET AFTER MMA2 MEET, EMU_ILLEGAL_ADDRESS,
     "tcgen05.fence::before_thread_sync behind its wait, or a barrier, is missing", 128, 2},
    {"a pair, whose peer hears of it by the cluster's barrier",
     PAIR MMA2 COMMIT2("1", "") "@!%p7 bra GO;\n" WAIT("W") "GO:\n" MEET AFTER LD1 WAIT_LD END2, EMU_OK, NULL, 128, 2},
    {"a pair, whose peer does not wait",
     PAIR MMA2 COMMIT2("1", "") "@!%p7 bra GO;\n" WAIT("W") "GO:\n" AFTER "@%p7 bra NOT;\n" LD1 WAIT_LD "NOT:\n" END2,
     EMU_ILLEGAL_ADDRESS, "", 128, 2},
    {"a pair's shared memory is overwritten in the peer",
     PAIR MMA2 COMMIT2("1", "") "@%p7 bra GO;\n"
                                "st.shared.u32 [%smem+1024], %r0;\nGO:\n" MEET,
     EMU_ILLEGAL_ADDRESS, "race: ", 32, 2},
    {"a pair's columns are not in the peer",
     PAIR "@!%first bra NOT;\n"
          "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %tm, 512;\nNOT:\n" MEET MMA2 MEET,
     EMU_ILLEGAL_ADDRESS, "is not allocated", 128, 2},
    /* 9.7.16.12 */
    {"a commit of nothing", SETUP COMMIT WAIT("W") END, EMU_OK, NULL, 0, 0},
    {"a commit by a generic address",
     SETUP MMA "cvt.u64.u32 %rd6, %mbar;\ncvta.shared.u64 %rd6, %rd6;\n"
               "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd6];\n" WAIT("W")
                   AFTER LD1 WAIT_LD END,
     EMU_OK, NULL, 0, 0},
    {"a commit to no mbarrier", SETUP "add.u32 %mbar, %mbar, 64;\n" COMMIT, EMU_ILLEGAL_INSTRUCTION,
     "no mbarrier was initialised at", 0, 0},
    {"a commit to global memory", SETUP "@%leader tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%base];\n",
     EMU_INVALID_ADDRESS_SPACE, "which is no shared memory", 0, 0},
    {"a commit to a block that is not there",
     SETUP "mov.u16 %h0, 6;\n@%leader tcgen05.commit.cta_group::1"
           ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%mbar], %h0;\n",
     EMU_ILLEGAL_INSTRUCTION, "a multicast to blocks 0x6 of a cluster of 1", 0, 0},
    {"a commit that never comes", SETUP MMA WAIT("W"), EMU_LAUNCH_TIMEOUT, "deadlock", 0, 0},
    /* What is not there is refused when the kernel is loaded. */
    {"block scaling",
     "@%leader tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%tm], %rd4, %rd5, %r100, [%r0], [%r1], %p2;\n",
     EMU_INVALID_PTX,
     "18:10: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale: the emulator for sm_100a does not know this "
     "instruction",
     0, 0},
    {"sparse", "tcgen05.mma.sp.cta_group::1.kind::f16 [%tm], %rd4, %rd5, [%r0], %r100, %p2;\n", EMU_INVALID_PTX,
     "tcgen05.mma.sp.cta_group::1.kind::f16: the emulator for sm_100a does not know", 0, 0},
    {"a shifted A", "tcgen05.mma.cta_group::1.kind::f16.ashift [%tm], [%r0], %rd5, %r100, %p2;\n", EMU_INVALID_PTX,
     "kind::f16.ashift: the emulator for sm_100a does not know", 0, 0},
    {"scale-input-d of bytes", "tcgen05.mma.cta_group::1.kind::f8f6f4 [%tm], %rd4, %rd5, %r100, %p2, 3;\n",
     EMU_INVALID_PTX, "kind::f8f6f4", 0, 0},
    {".ws of a pair", "tcgen05.mma.ws.cta_group::2.kind::f16 [%tm], %rd4, %rd5, %r100, %p2;\n", EMU_INVALID_PTX,
     "tcgen05.mma.ws.cta_group::2.kind::f16", 0, 0},
    {"a copy that is not multicast", "tcgen05.cp.cta_group::1.64x128b [%tm], %rd4;\n", EMU_INVALID_PTX,
     "tcgen05.cp.cta_group::1.64x128b", 0, 0},
    {"mixed groups",
     "tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r100, %p2;\n"
     "tcgen05.commit.cta_group::2.mbarrier::arrive::one.b64 [%rd4];\n",
     EMU_INVALID_PTX, "cta_group::2 in a kernel that has used cta_group::1", 0, 0},
};

static void order_is_what_the_documentation_gives(void **state)
{
  (void)state;
  assert_int_equal(tensor_rows_run(rows, sizeof rows / sizeof rows[0]), 0);
}

static void a_report_names_the_place(void **state)
{
  (void)state;
  static uint8_t data[4096];
  tensor_snippet snippet = {.text = SETUP MMA MMA_NARROW, .data = data, .size = sizeof data};
  emu_configure(&(emu_settings){9, 1});
  tensor_run(&snippet);
  assert_int_equal(snippet.result, EMU_ILLEGAL_ADDRESS);
  assert_non_null(strstr(snippet.message.text, "column 10: tcgen05.mma.cta_group::1.kind::f16"));
  assert_non_null(strstr(snippet.message.text, "in snippet, block (0,0,0), thread (0,0,0)"));
  assert_non_null(strstr(snippet.message.text, "(block 0, warp 0) may still write"));
  assert_non_null(strstr(snippet.message.text, "seed 9"));
}

static void other_devices_do_not_have_it(void **state)
{
  (void)state;
  static emu_snippet snippet;
  snippet.text = "tcgen05.wait::ld.sync.aligned;";
  snippet_run(&snippet);
  assert_int_equal(snippet.result, EMU_INVALID_PTX);
  assert_non_null(strstr(snippet.message.text, "tcgen05.wait::ld.sync.aligned: sm_90a does not have this instruction"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(order_is_what_the_documentation_gives),
      cmocka_unit_test(a_report_names_the_place),
      cmocka_unit_test(other_devices_do_not_have_it),
  };
  return SJ_TEST_RUN(tests);
}
