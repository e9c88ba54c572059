/* SPDX-License-Identifier: Apache-2.0 */
/* What may not be done around wgmma and setmaxnreg: what the emulator says of it, and that it says nothing of the same
 * text without the fault. "Asynchronous wgmma Proxy Operations", "Async Proxy" and "setmaxnreg" of the PTX ISA. Every
 * text runs with several seeds. */
#include "test_main.h"

#include <string.h>

#include "snippet.h"

enum { SHARED = 8192, SEEDS = 6 };

/* A is at shared, 64 rows of 32 bytes; B at shared + 4096, 8 columns; both K-major without a swizzle. %g: the pointer
 * to a word of its own. */
static const char head[] =
    ".version 8.4\n.target %s\n.address_size 64\n.extern .shared .align 1024 .b8 shared[];\n"
    ".visible .entry k(.param .u64 data) %s\n{\n"
    ".reg .b64 %%a, %%b, %%g, %%x, %%y;\n.reg .b32 %%id, %%warp, %%lane, %%at, %%t<8>, %%d<8>, %%e<8>, %%f<4>;\n"
    ".reg .pred %%p, %%q, %%yes, %%no;\n"
    "ld.param.u64 %%g, [data];\nmov.u32 %%id, %%tid.x;\nmul.wide.u32 %%x, %%id, 4;\nadd.u64 %%g, %%g, %%x;\n"
    "shr.u32 %%warp, %%id, 5;\nand.b32 %%lane, %%id, 31;\nsetp.eq.u32 %%yes, %%id, %%id;\n"
    "setp.ne.u32 %%no, %%id, %%id;\nmov.u32 %%t0, 0x3c003c00;\nmov.u32 %%at, shared;\nshr.u32 %%t1, %%at, 4;\n"
    "cvt.u64.u32 %%a, %%t1;\nadd.u64 %%b, %%a, 256;\n"
    "or.b64 %%a, %%a, 0x800400000;\nor.b64 %%b, %%b, 0x800080000;\nshl.b32 %%t2, %%id, 4;\nadd.u32 %%at, %%at, %%t2;\n"
    "mov.u32 %%d0, 0;\nmov.u32 %%d1, 0;\nmov.u32 %%d2, 0;\nmov.u32 %%d3, 0;\n"
    "mov.u32 %%f0, 0;\nmov.u32 %%f1, 0;\nmov.u32 %%f2, 0;\nmov.u32 %%f3, 0;\n";

typedef struct rule {
  const char *what, *text;
  int result;
  const char *says;      /* NULL: no fault */
  unsigned threads;      /* 0: 128 */
  const char *directive; /* of the kernel */
  const char *arch;      /* NULL: sm_90a */
} rule;

#define WRITE "st.shared.v4.b32 [%at], {%t0, %t0, %t0, %t0};\nst.shared.v4.b32 [%at+4096], {%t0, %t0, %t0, %t0};\n"
#define BACK "sub.u32 %at, %at, 2048;\n" /* of a fifth warp: to where the first writes */
#define COPY "cp.async.ca.shared.global [%at], [%g], 4;\n"
#define LATER "mov.u32 %t5, 0;\nLOOP:\nadd.u32 %t5, %t5, 1;\nsetp.lt.u32 %p, %t5, 300;\n@%p bra LOOP;\n"
#define PROXY "fence.proxy.async.shared::cta;\n"
#define BAR "bar.sync 0;\n"
#define READY WRITE PROXY BAR
#define FENCE "wgmma.fence.sync.aligned;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT "wgmma.wait_group.sync.aligned 0;\n"
#define WAIT1 "wgmma.wait_group.sync.aligned 1;\n"
#define OP "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
#define D "{%d0, %d1, %d2, %d3}"
#define E "{%e0, %e1, %e2, %e3}"
#define F "{%f0, %f1, %f2, %f3}"
#define MMA OP D ", %a, %b, %yes, 1, 1, 0, 0;\n"
#define MMA_NEW(registers) OP registers ", %a, %b, %no, 1, 1, 0, 0;\n"
#define MMA_F OP D ", " F ", %b, %yes, 1, 1, 0;\n" /* A in registers */
#define USE "st.global.b32 [%g], %d0;\n"
#define USE_E "st.global.b32 [%g], %e0;\n"
#define DONE COMMIT WAIT USE
#define BAD EMU_ILLEGAL_INSTRUCTION

static const rule rules[] = {
    {"a product", READY FENCE MMA DONE, EMU_OK, NULL, 0, NULL, NULL},
    {"a product of registers", READY FENCE MMA_F DONE, EMU_OK, NULL, 0, NULL, NULL},
    {"products of one shape, one behind the other", READY FENCE MMA MMA COMMIT MMA DONE, EMU_OK, NULL, 0, NULL, NULL},
    {"two warpgroups", READY FENCE MMA DONE, EMU_OK, NULL, 256, NULL, NULL},

    /* wgmma.fence */
    {"no fence", READY MMA DONE, BAD, "no wgmma.fence before the first wgmma.mma_async", 0, NULL, NULL},
    {"an accumulator written behind the fence", READY FENCE "mov.u32 %d2, 0;\n" MMA DONE, BAD,
     "register %d2 of D was accessed since the last wgmma.fence", 0, NULL, NULL},
    {"an accumulator read behind the fence", READY FENCE "mov.u32 %t5, %d3;\n" MMA DONE, BAD,
     "register %d3 of D was accessed since the last wgmma.fence", 0, NULL, NULL},
    {"A written behind the fence", READY FENCE "mov.u32 %f1, 0;\n" MMA_F DONE, BAD,
     "register %f1 of A was accessed since the last wgmma.fence", 0, NULL, NULL},
    {"A written by one thread behind the fence",
     READY FENCE "setp.eq.u32 %p, %id, 77;\n@%p mov.u32 %f1, 0;\n" MMA_F DONE, BAD, "register %f1 of A was accessed", 0,
     NULL, NULL},
    {"a result used, and again without a fence", READY FENCE MMA COMMIT WAIT USE MMA DONE, BAD,
     "register %d0 of D was accessed since the last wgmma.fence", 0, NULL, NULL},
    {"a result used, and again with a fence", READY FENCE MMA COMMIT WAIT USE FENCE MMA DONE, EMU_OK, NULL, 0, NULL,
     NULL},
    {"no access, no fence", READY FENCE MMA COMMIT WAIT MMA DONE, EMU_OK, NULL, 0, NULL, NULL},
    {"another shape without a fence",
     READY FENCE MMA COMMIT WAIT "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " D ", %a, %b, %yes, 1, 1;\n" DONE,
     BAD, "register %d0 of D was an accumulator of another shape since the last wgmma.fence", 0, NULL, NULL},
    {"another shape with a fence",
     READY FENCE MMA COMMIT WAIT FENCE "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " D
                                       ", %a, %b, %yes, 1, 1;\n" DONE,
     EMU_OK, NULL, 0, NULL, NULL},
    {"another shape in flight",
     READY FENCE MMA FENCE "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " D ", %a, %b, %yes, 1, 1;\n" DONE, BAD,
     "register %d0 of D is an accumulator of a product of another shape in flight", 0, NULL, NULL},
    {"a result as A without a fence", READY FENCE MMA_NEW(E) COMMIT WAIT OP D ", " E ", %b, %yes, 1, 1, 0;\n" DONE, BAD,
     "register %e0 of A was an accumulator since the last wgmma.fence", 0, NULL, NULL},
    {"a result as A with a fence", READY FENCE MMA_NEW(E) COMMIT WAIT FENCE OP D ", " E ", %b, %yes, 1, 1, 0;\n" DONE,
     EMU_OK, NULL, 0, NULL, NULL},
    {"A as a result without a fence", READY FENCE MMA_F COMMIT WAIT MMA_NEW(F) DONE, BAD,
     "register %f0 of D held A since the last wgmma.fence", 0, NULL, NULL},

    /* wgmma.commit_group, wgmma.wait_group */
    {"a result without a wait", READY FENCE MMA COMMIT USE, BAD,
     "register %d0 is an accumulator of a product in flight: no wgmma.wait_group has waited for its group", 0, NULL,
     NULL},
    {"a result without a commit", READY FENCE MMA WAIT USE, BAD, "%d0 is an accumulator of a product in flight", 0,
     NULL, NULL},
    {"a result of the group that is left", READY FENCE MMA COMMIT WAIT1 USE, BAD,
     "%d0 is an accumulator of a product in flight", 0, NULL, NULL},
    {"the older of two groups", READY FENCE MMA COMMIT MMA_NEW(E) COMMIT WAIT1 USE WAIT USE_E, EMU_OK, NULL, 0, NULL,
     NULL},
    {"the younger of two groups", READY FENCE MMA COMMIT MMA_NEW(E) COMMIT WAIT1 USE_E, BAD,
     "%e0 is an accumulator of a product in flight", 0, NULL, NULL},
    {"an empty group counts", READY FENCE MMA COMMIT COMMIT WAIT1 USE, EMU_OK, NULL, 0, NULL, NULL},
    {"an accumulator written in flight", READY FENCE MMA "mov.u32 %d1, 0;\n" DONE, BAD, "%d1 is an accumulator", 0,
     NULL, NULL},
    {"A written in flight", READY FENCE MMA_F "mov.u32 %f3, 0;\n" DONE, BAD,
     "register %f3 holds A of a product in flight: no wgmma.wait_group", 0, NULL, NULL},
    {"A read in flight", READY FENCE MMA_F COMMIT "mov.u32 %t5, %f2;\n" WAIT USE, BAD, "%f2 holds A", 0, NULL, NULL},
    {"A of two products", READY FENCE MMA_F OP E ", " F ", %b, %no, 1, 1, 0;\n" COMMIT WAIT USE USE_E, EMU_OK, NULL, 0,
     NULL, NULL},
    {"A that is an accumulator in flight", READY FENCE MMA_NEW(E) FENCE OP D ", " E ", %b, %yes, 1, 1, 0;\n" DONE, BAD,
     "register %e0 of A is an accumulator of a product in flight", 0, NULL, NULL},
    {"an accumulator that is A in flight", READY FENCE MMA_F FENCE MMA_NEW(F) DONE, BAD,
     "register %f0 of D holds A of a product in flight", 0, NULL, NULL},
    {"a register of both", READY FENCE OP F ", " F ", %b, %yes, 1, 1, 0;\n" DONE, BAD, "register %f0 of D holds A", 0,
     NULL, NULL},
    {"a register twice", READY FENCE MMA_NEW("{%d0, %d1, %d0, %d3}") DONE, BAD, "register %d0 is twice in D", 0, NULL,
     NULL},
    {"an unwritten accumulator", READY FENCE OP E ", %a, %b, %yes, 1, 1, 0, 0;\n" DONE, BAD,
     "register %e0 is read and was never written", 0, NULL, NULL},
    {"an unwritten accumulator that is not read", READY FENCE MMA_NEW(E) COMMIT WAIT USE_E, EMU_OK, NULL, 0, NULL,
     NULL},
    {"an unwritten A", READY FENCE OP D ", {%f0, %f1, %e2, %f3}, %b, %yes, 1, 1, 0;\n" DONE, BAD,
     "register %e2 is read and was never written", 0, NULL, NULL},
    {"an unwritten descriptor", READY FENCE OP D ", %y, %b, %yes, 1, 1, 0, 0;\n" DONE, BAD, "register %y is read", 0,
     NULL, NULL},
    {"nobody waits at all", READY FENCE MMA_NEW(E) COMMIT, EMU_ILLEGAL_ADDRESS, "has ended", 0, NULL, NULL},

    /* "Async Proxy", and races */
    {"no proxy fence", WRITE BAR FENCE MMA DONE, EMU_ILLEGAL_ADDRESS, ": no fence.proxy.async stands between", 0, NULL,
     NULL},
    {"a proxy fence before the writes", PROXY WRITE BAR FENCE MMA DONE, EMU_ILLEGAL_ADDRESS, "race: read", 0, NULL,
     NULL},
    {"a proxy fence by those who read", WRITE BAR PROXY FENCE MMA DONE, EMU_OK, NULL, 0, NULL, NULL},
    {"a proxy fence by one of the warps", WRITE BAR "setp.eq.u32 %p, %warp, 1;\n@%p " PROXY FENCE MMA DONE,
     EMU_ILLEGAL_ADDRESS, "race: read", 0, NULL, NULL},
    {"no barrier", WRITE PROXY FENCE MMA DONE, EMU_ILLEGAL_ADDRESS, "race: read", 0, NULL, NULL},
    {"a wgmma.fence is no barrier", WRITE PROXY FENCE FENCE MMA DONE, EMU_ILLEGAL_ADDRESS, "race: read", 0, NULL, NULL},
    {"overwritten in flight", READY FENCE MMA COMMIT WRITE WAIT USE, EMU_ILLEGAL_ADDRESS, "race: ", 0, NULL, NULL},
    {"overwritten in flight behind a barrier", READY FENCE MMA COMMIT BAR WRITE WAIT USE, EMU_ILLEGAL_ADDRESS,
     "is not ordered with a read by a product of warpgroup 0", 0, NULL, NULL},
    {"overwritten in flight of the younger group", READY FENCE MMA COMMIT MMA_NEW(E) COMMIT WAIT1 BAR WRITE WAIT USE,
     EMU_ILLEGAL_ADDRESS, "is not ordered with a read by a product of warpgroup 0", 0, NULL, NULL},
    {"overwritten behind the wait", READY FENCE MMA COMMIT WAIT WRITE USE, EMU_OK, NULL, 0, NULL, NULL},
    {"overwritten by a warp that knows nothing of the wait",
     READY "setp.ge.u32 %p, %warp, 4;\n@%p bra OTHER;\n" FENCE MMA COMMIT WAIT USE "bra END;\nOTHER:\n" BACK WRITE
           "END:\n",
     EMU_ILLEGAL_ADDRESS, "race: ", 160, NULL, NULL},
    {"overwritten by a warp that the waiters met",
     "setp.ge.u32 %p, %warp, 4;\n@!%p bra OWN;\n" BAR BAR BACK WRITE
     "bra END;\nOWN:\n" READY FENCE MMA COMMIT WAIT USE BAR "END:\n",
     EMU_OK, NULL, 160, NULL, NULL},
    {"copied over in flight", READY FENCE MMA COMMIT COPY WAIT "cp.async.wait_all;\n" USE, EMU_ILLEGAL_ADDRESS,
     "race: ", 0, NULL, NULL},

    {"copied without a proxy fence", READY COPY "cp.async.wait_all;\n" BAR FENCE MMA DONE, EMU_ILLEGAL_ADDRESS,
     ": no fence.proxy.async stands between", 0, NULL, NULL},
    {"copied with a proxy fence before the wait", READY COPY PROXY "cp.async.wait_all;\n" BAR FENCE MMA DONE,
     EMU_ILLEGAL_ADDRESS, "is not ordered with a write by an asynchronous operation of warp", 0, NULL, NULL},
    {"copied with a proxy fence", READY COPY "cp.async.wait_all;\n" PROXY BAR FENCE MMA DONE, EMU_OK, NULL, 0, NULL,
     NULL},

    /* Shared memory */
    {"unwritten", PROXY BAR FENCE MMA DONE, EMU_ILLEGAL_ADDRESS, "of A by its descriptor", 0, NULL, NULL},
    {"B unwritten", "st.shared.v4.b32 [%at], {%t0, %t0, %t0, %t0};\n" PROXY BAR FENCE MMA DONE, EMU_ILLEGAL_ADDRESS,
     "uninitialised: read of shared memory at 0x1400 that was never written, of B by its descriptor", 0, NULL, NULL},
    {"out of bounds by the start", READY "add.u64 %b, %b, 384;\n" FENCE MMA DONE, EMU_ILLEGAL_ADDRESS,
     "out of bounds: read of 16 bytes of shared memory at 0x2c00, of B by its descriptor", 0, NULL, NULL},
    {"out of bounds by an offset", READY "or.b64 %b, %b, 0x1000000;\n" FENCE MMA DONE, EMU_ILLEGAL_ADDRESS,
     "out of bounds: read of 16 bytes of shared memory at 0x2480", 0, NULL, NULL},
    {"below shared memory", READY "and.b64 %a, %a, 0xffffffffffffc000;\n" FENCE MMA DONE, EMU_ILLEGAL_ADDRESS,
     "shared memory at 0x0", 0, NULL, NULL},
    {"an mbarrier among the rows",
     WRITE BAR "setp.eq.u32 %p, %id, 0;\n@%p mbarrier.init.shared.b64 [shared+64], 1;\n" PROXY BAR FENCE MMA DONE, BAD,
     "a plain read of the mbarrier at 0x440, of A by its descriptor", 0, NULL, NULL},
    {"bits of no field", READY "or.b64 %a, %a, 0x400000000000;\n" FENCE MMA DONE, BAD,
     "the descriptor of A, 0x0000400800400040, has bits set that are no field's", 0, NULL, NULL},

    /* Warpgroups */
    {"half a warpgroup", READY FENCE MMA DONE, BAD,
     "is in no warpgroup: that is four warps from a multiple of four on, and the block has 2 warps", 64, NULL, NULL},
    {"a fifth warp", READY FENCE MMA DONE, BAD, "warp 4 is in no warpgroup", 160, NULL, NULL},
    {"three warps of four", READY "setp.eq.u32 %p, %warp, 2;\n@%p bra END;\n" FENCE MMA DONE "END:\n", BAD, "warp", 0,
     NULL, NULL},
    {"three warps issue", READY FENCE "setp.eq.u32 %p, %warp, 2;\n@%p bra END;\n" MMA DONE "END:\nmov.u32 %t5, 0;\n",
     BAD, "warp", 0, NULL, NULL},
    {"half a warp", READY "setp.ge.u32 %p, %lane, 16;\n@%p bra END;\n" FENCE MMA DONE "END:\n", BAD,
     "lanes 0x0000ffff execute an instruction of a warpgroup: all 32 lanes of its four warps must", 0, NULL, NULL},
    {"a guard that parts the warp", READY "setp.ge.u32 %p, %lane, 16;\n@%p " FENCE MMA DONE, BAD, "the guard parts", 0,
     NULL, NULL},
    {"other qualifiers",
     READY FENCE "setp.eq.u32 %p, %warp, 3;\n@%p bra OTHER;\n" MMA "bra BOTH;\nOTHER:\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " D ", %a, %b, %yes, 1, 1, 0, 0;\nBOTH:\n" DONE,
     BAD, "the warps of a warpgroup must execute the same instruction: warp", 0, NULL, NULL},
    {"the same at another place",
     READY FENCE MMA "setp.eq.u32 %p, %warp, 3;\n@%p bra OTHER;\n" COMMIT WAIT "bra BOTH;\nOTHER:\n" COMMIT WAIT
                     "BOTH:\n" USE,
     BAD, "the warps of a warpgroup must execute the same instruction: warp", 0, NULL, NULL},
    {"another descriptor in a warp", READY "setp.eq.u32 %p, %warp, 1;\n@%p add.u64 %b, %b, 1;\n" FENCE MMA DONE, BAD,
     "the warps of a warpgroup give different descriptors of B", 0, NULL, NULL},
    {"another descriptor in a thread", READY "setp.eq.u32 %p, %id, 9;\n@%p add.u64 %a, %a, 1;\n" FENCE MMA DONE, BAD,
     "the threads of a warp give different descriptors of A", 0, NULL, NULL},
    {"another scale-d in a warp", READY FENCE "setp.ne.u32 %p, %warp, 1;\n" OP D ", %a, %b, %p, 1, 1, 0, 0;\n" DONE,
     BAD, "the warps of a warpgroup give different scale-d", 0, NULL, NULL},
    {"another scale-d in a thread", READY FENCE "setp.ne.u32 %p, %id, 33;\n" OP D ", %a, %b, %p, 1, 1, 0, 0;\n" DONE,
     BAD, "the threads of a warp give different scale-d: 0xfffffffd", 0, NULL, NULL},
    {"a warp that does not come", READY FENCE "setp.eq.u32 %p, %warp, 2;\n@%p bra END;\n" MMA DONE "END:\n" BAR,
     EMU_LAUNCH_TIMEOUT, "waits for the other warps of its warpgroup at wgmma.mma_async", 0, NULL, NULL},

    /* Constants */
    {"a negation by 2", READY FENCE OP D ", %a, %b, %yes, 2, 1, 0, 0;\n" DONE, BAD, "imm-scale-a is 2: 1 or -1", 0,
     NULL, NULL},
    {"a negation by 0", READY FENCE OP D ", %a, %b, %yes, 1, 0, 0, 0;\n" DONE, BAD, "imm-scale-b is 0: 1 or -1", 0,
     NULL, NULL},
    {"a major of 2", READY FENCE OP D ", %a, %b, %yes, 1, 1, 2, 0;\n" DONE, BAD, "imm-trans-a is 2: 0 or 1", 0, NULL,
     NULL},
    {"a major of -1", READY FENCE OP D ", %a, %b, %yes, 1, 1, 0, -1;\n" DONE, BAD, "imm-trans-b is -1: 0 or 1", 0, NULL,
     NULL},
    {"scale-d as a number", READY FENCE OP D ", %a, %b, 1, 1, 1, 0, 0;\n" DONE, EMU_OK, NULL, 0, NULL, NULL},
    {"a register too few", READY FENCE OP "{%d0, %d1, %d2}, %a, %b, %yes, 1, 1, 0, 0;\n" DONE, EMU_INVALID_PTX,
     "4 values in braces are wanted here, not 3", 0, NULL, NULL},
    {"a major for bytes",
     READY FENCE "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 " D ", %a, %b, %yes, 1, 1, 0, 0;\n" DONE,
     EMU_INVALID_PTX, "", 0, NULL, NULL},
    {"a sparse A",
     READY FENCE "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " D ", %a, %b, %t0, 0, %yes, 1, 1, 0, 0;\n" DONE,
     EMU_INVALID_PTX, "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16: the emulator for sm_90a does not know", 0,
     NULL, NULL},
    {"on Blackwell", READY FENCE MMA DONE, EMU_INVALID_PTX, "wgmma.fence.sync.aligned: sm_100a does not have", 0, NULL,
     "sm_100a"},

    /* setmaxnreg: 384 threads have 168 registers each. */
    {"registers from one warpgroup to two",
     "setp.lt.u32 %p, %warp, 4;\n@%p bra GIVE;\nsetmaxnreg.inc.sync.aligned.u32 232;\nbra END;\nGIVE:\n"
     "setmaxnreg.dec.sync.aligned.u32 40;\nEND:\n",
     EMU_OK, NULL, 384, ".maxntid 384, 1, 1", NULL},
    {"more than is there",
     "setp.lt.u32 %p, %warp, 4;\n@%p bra GIVE;\nsetmaxnreg.inc.sync.aligned.u32 240;\nbra END;\nGIVE:\n"
     "setmaxnreg.dec.sync.aligned.u32 40;\nEND:\n",
     EMU_LAUNCH_TIMEOUT, "waits for registers of the block's pool", 384, ".maxntid 384, 1, 1", NULL},
    {"nobody gives", "setmaxnreg.inc.sync.aligned.u32 200;\n", EMU_LAUNCH_TIMEOUT, "registers of the block's pool", 384,
     ".maxntid 384, 1, 1", NULL},
    {"not told how many", "setmaxnreg.inc.sync.aligned.u32 200;\n", EMU_OK, NULL, 384, NULL, NULL},
    {"told by .maxnreg", "setmaxnreg.inc.sync.aligned.u32 80;\n", BAD,
     "the warp has 96 registers a thread: no increase", 0, ".maxnreg 96", NULL},
    {"told by .minnctapersm", "setmaxnreg.dec.sync.aligned.u32 96;\n", BAD,
     "the warp has 80 registers a thread: no decrease to 96", 384, ".maxntid 384, 1, 1 .minnctapersm 2", NULL},
    {"too few", "setmaxnreg.dec.sync.aligned.u32 16;\n", BAD, "16 registers: a multiple of 8 from 24 to 256 is wanted",
     0, ".maxnreg 96", NULL},
    {"too many", "setmaxnreg.inc.sync.aligned.u32 264;\n", BAD, "a multiple of 8 from 24 to 256 is wanted", 0,
     ".maxnreg 96", NULL},
    {"no multiple of 8", "setmaxnreg.dec.sync.aligned.u32 36;\n", BAD, "36 registers", 0, ".maxnreg 96", NULL},
    {"one warp alone", "setp.eq.u32 %p, %warp, 0;\n@!%p bra END;\nsetmaxnreg.dec.sync.aligned.u32 40;\nEND:\n", BAD,
     "warp", 0, ".maxnreg 96", NULL},
    {"twice without meeting", "setmaxnreg.dec.sync.aligned.u32 64;\nsetmaxnreg.dec.sync.aligned.u32 40;\n", BAD,
     "have not met since their last setmaxnreg", 0, ".maxnreg 96", NULL},
    {"twice without meeting, long after",
     "setmaxnreg.dec.sync.aligned.u32 64;\nmov.u32 %t5, 0;\nLOOP:\nadd.u32 %t5, %t5, 1;\nsetp.lt.u32 %p, %t5, 30000;\n"
     "@%p bra LOOP;\nsetmaxnreg.dec.sync.aligned.u32 40;\n",
     BAD, "have not met since their last setmaxnreg", 0, ".maxnreg 96", NULL},
    {"twice", "setmaxnreg.dec.sync.aligned.u32 64;\n" BAR "setmaxnreg.dec.sync.aligned.u32 40;\n", EMU_OK, NULL, 0,
     ".maxnreg 96", NULL},
    {"outside of a warpgroup", "setmaxnreg.dec.sync.aligned.u32 40;\n", BAD, "warp 4 is in no warpgroup", 160,
     ".maxnreg 96", NULL},
    {"on Blackwell", "setmaxnreg.dec.sync.aligned.u32 40;\n", EMU_OK, NULL, 0, ".maxnreg 96", "sm_100a"},
    {"on Ampere", "setmaxnreg.dec.sync.aligned.u32 40;\n", EMU_INVALID_PTX, "sm_80 does not have this instruction", 0,
     ".maxnreg 96", "sm_80"},
};
enum { COUNT = sizeof rules / sizeof rules[0] };

static uint32_t data[1024];
static emu_message message;

static int run(const rule *of, uint64_t seed)
{
  static char text[16384];
  const char *arch = of->arch != NULL ? of->arch : "sm_90a";
  size_t at = (size_t)snprintf(text, sizeof text, head, arch, of->directive != NULL ? of->directive : "");
  (void)snprintf(text + at, sizeof text - at, "%s\nret;\n}\n", of->text);
  emu_configure(&(emu_settings){seed, 1});
  memset(data, 0, sizeof data);
  memset(&message, 0, sizeof message);
  return snippet_run_kernel(arch, text, data, sizeof data, 1, of->threads != 0 ? of->threads : 128, SHARED, &message);
}

static unsigned try_rule(const rule *of, uint64_t seed)
{
  const int result = run(of, seed);
  const int right =
      result == of->result && (of->says == NULL ? message.text[0] == 0 : strstr(message.text, of->says) != NULL);
  if (!right) {
    print_message("%s, seed %llu: result %d instead of %d, and says:\n%s\n", of->what, (unsigned long long)seed, result,
                  of->result, message.text);
  }
  return right ? 0 : 1;
}

static void each_rule_is_checked_and_nothing_else(void **state)
{
  (void)state;
  unsigned all = 0;
  for (unsigned i = 0; i < COUNT; i++) {
    unsigned wrong = 0;
    for (uint64_t seed = 1; seed <= SEEDS && wrong == 0; seed++) {
      wrong = try_rule(&rules[i], seed);
    }
    all += wrong;
  }
  assert_int_equal(all, 0);
}

/* Each product adds 16 to every element, or begins with 16; B's elements are ones, as A's. */
static void products_in_the_same_accumulators_are_in_order(void **state)
{
  (void)state;
  static const rule of = {.text = READY FENCE MMA MMA COMMIT MMA_NEW(D) MMA_NEW(E) COMMIT MMA OP E
                          ", %a, %b, %yes, -1, 1, 0, 0;\n" COMMIT WAIT1 USE "add.u64 %g, %g, 2048;\n" WAIT USE_E};
  for (uint64_t seed = 1; seed <= 40; seed++) {
    assert_int_equal(run(&of, seed), EMU_ILLEGAL_INSTRUCTION); /* D is of the last group too */
    assert_non_null(strstr(message.text, "%d0 is an accumulator"));
  }
  static const rule good = {.text = READY FENCE MMA MMA COMMIT MMA_NEW(D) MMA_NEW(E) COMMIT MMA COMMIT OP E
                            ", %a, %b, %yes, -1, 1, 0, 0;\n" COMMIT LATER WAIT1 USE
                            "add.u64 %g, %g, 2048;\n" WAIT USE_E};
  for (uint64_t seed = 1; seed <= 40; seed++) {
    assert_int_equal(run(&good, seed), EMU_OK);
    for (unsigned thread = 0; thread < 128; thread++) {
      assert_int_equal(data[thread], 0x42000000); /* 16 + 16 */
      assert_int_equal(data[512 + thread], 0);    /* 16 - 16 */
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_rule_is_checked_and_nothing_else),
      cmocka_unit_test(products_in_the_same_accumulators_are_in_order),
  };
  return SJ_TEST_RUN(tests);
}
