/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a few instructions around a tensor map, for the tests of tensor copies. */
#ifndef EMU_MAP_KERNEL_H
#define EMU_MAP_KERNEL_H

#include "snippet.h"
#include "tensor_map.h"

enum { MAP_BOX_ROOM = 16384, MAP_TENSOR_ROOM = 65536 };

/* One allocation of a test: the map, then what the kernel gives or takes, of each block. */
typedef struct map_data {
  uint8_t map[EMU_MAP_BYTES];
  uint8_t rest[128];
  uint8_t box[2][MAP_BOX_ROOM];
} map_data;

extern map_data map_kernel_data;
extern uint8_t map_tensor[MAP_TENSOR_ROOM]; /* as it was at first */
extern uint64_t map_memory;                 /* where it is in global memory */
extern emu_message map_message;

typedef struct map_case {
  const char *what;
  emu_tensor_map map; /* without address */
  int32_t at[EMU_MAP_RANK];
  const char *arch; /* NULL: sm_90a */
} map_case;

#define S1                                                                                                             \
  {                                                                                                                    \
    1, 1, 1, 1, 1                                                                                                      \
  }
/* type, dims, strides, box, steps, rank, swizzle, fill */
#define MAP(...)                                                                                                       \
  {                                                                                                                    \
    __VA_ARGS__                                                                                                        \
  }

/* A tensor of random bytes in global memory, the map of it and random bytes for the box; emu_free(map_memory) ends
 * it. */
void map_set_up(const map_case *of);
/* Prints and fails where a result is not EMU_OK. */
void map_expect_ok(const map_case *of, int result);
/* Where a byte of the box stands, which begins at a multiple of 1024: by the tables of 5.5.7. */
uint32_t map_place(uint32_t swizzle, uint32_t offset);

/* A text of instructions, in which BYTES is the box's bytes. %map: the map; %t0: an mbarrier in shared memory; %t1: the
 * box there, 1024 bytes behind; %p1: the block's first thread, %p0: the first block's; %out: the block's bytes in
 * global memory; %t3: its rank, %t4: the other's; %h0: the mask of two blocks. */
int map_run(const char *arch, const char *text, unsigned bytes, unsigned blocks, uint64_t seed);

/* Copies so many bytes between the box in shared memory and global memory. */
#define WORDS(label, get, put)                                                                                         \
  "shl.b32 %t8, %t2, 2;\n" label ": add.u32 %t9, %t1, %t8; cvt.u64.u32 %l1, %t8; add.u64 %l1, %out, %l1;" get put      \
  "add.u32 %t8, %t8, 128; setp.lt.u32 %p3, %t8, BYTES; @%p3 bra " label ";\n"
#define TO_GLOBAL WORDS("GIVE", "ld.shared.u32 %t10, [%t9];", "st.global.u32 [%l1+256], %t10;")
#define TO_SHARED WORDS("TAKE", "ld.global.u32 %t10, [%l1+256];", "st.shared.u32 [%t9], %t10;")
#define INIT                                                                                                           \
  "@%p1 mbarrier.init.shared.b64 [%t0], 1; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%t0], BYTES; bar.sync 0;\n"
#define LOOK "LOOK: mbarrier.try_wait.parity.shared.b64 %p2, [%t0], 0; @!%p2 bra LOOK;\n"
#define FENCE "fence.proxy.async; bar.sync 0;\n"
#define WAIT "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;\n"
#define MEET "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define TX ".mbarrier::complete_tx::bytes"

#endif
