/* SPDX-License-Identifier: Apache-2.0 */
/* Every form of the tcgen05 family that PTX ISA 9.7.16 has for sm_100a, block scaling, sparsity and .ashift left out,
 * is known by its name and takes its operands, as ptxas 13.0 takes all of them; what is no form is refused with its
 * line. */
#include "test_main.h"

#include <stdbool.h>
#include <string.h>

#include "machine.h"
#include "tensor_snippet.h"

typedef struct form {
  const char *opcode;
  enum { PLAIN, LOAD, LOAD_SPLIT, STORE, STORE_SPLIT, MMA, MMA_WS } kind;
  unsigned registers;   /* of loads and stores */
  const char *operands; /* of plain ones */
} form;

static const form forms[] = {
    {"tcgen05.ld.sync.aligned.16x64b.x1.b32", LOAD, 1, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x1.pack::16b.b32", LOAD, 1, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x1.b32", STORE, 1, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x1.unpack::16b.b32", STORE, 1, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x2.b32", LOAD, 2, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32", LOAD, 2, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x2.b32", STORE, 2, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x2.unpack::16b.b32", STORE, 2, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x4.b32", LOAD, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x4.pack::16b.b32", LOAD, 4, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x4.b32", STORE, 4, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x4.unpack::16b.b32", STORE, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x8.b32", LOAD, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32", LOAD, 8, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x8.b32", STORE, 8, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x8.unpack::16b.b32", STORE, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x16.b32", LOAD, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x16.pack::16b.b32", LOAD, 16, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x16.b32", STORE, 16, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x16.unpack::16b.b32", STORE, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x32.b32", LOAD, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x32.pack::16b.b32", LOAD, 32, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x32.b32", STORE, 32, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x32.unpack::16b.b32", STORE, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x64.b32", LOAD, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x64.pack::16b.b32", LOAD, 64, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x64.b32", STORE, 64, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x64.unpack::16b.b32", STORE, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x128.b32", LOAD, 128, NULL},
    {"tcgen05.ld.sync.aligned.16x64b.x128.pack::16b.b32", LOAD, 128, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x128.b32", STORE, 128, NULL},
    {"tcgen05.st.sync.aligned.16x64b.x128.unpack::16b.b32", STORE, 128, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x1.b32", LOAD, 2, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x1.pack::16b.b32", LOAD, 2, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x1.b32", STORE, 2, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x1.unpack::16b.b32", STORE, 2, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x2.b32", LOAD, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x2.pack::16b.b32", LOAD, 4, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x2.b32", STORE, 4, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x2.unpack::16b.b32", STORE, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x4.b32", LOAD, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x4.pack::16b.b32", LOAD, 8, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x4.b32", STORE, 8, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x4.unpack::16b.b32", STORE, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x8.b32", LOAD, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x8.pack::16b.b32", LOAD, 16, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x8.b32", STORE, 16, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x8.unpack::16b.b32", STORE, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x16.b32", LOAD, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x16.pack::16b.b32", LOAD, 32, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x16.b32", STORE, 32, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x16.unpack::16b.b32", STORE, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x32.b32", LOAD, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x32.pack::16b.b32", LOAD, 64, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x32.b32", STORE, 64, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x32.unpack::16b.b32", STORE, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x64.b32", LOAD, 128, NULL},
    {"tcgen05.ld.sync.aligned.16x128b.x64.pack::16b.b32", LOAD, 128, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x64.b32", STORE, 128, NULL},
    {"tcgen05.st.sync.aligned.16x128b.x64.unpack::16b.b32", STORE, 128, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x1.b32", LOAD, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x1.pack::16b.b32", LOAD, 4, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x1.b32", STORE, 4, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x1.unpack::16b.b32", STORE, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x2.b32", LOAD, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x2.pack::16b.b32", LOAD, 8, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x2.b32", STORE, 8, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x2.unpack::16b.b32", STORE, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x4.b32", LOAD, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x4.pack::16b.b32", LOAD, 16, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x4.b32", STORE, 16, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x4.unpack::16b.b32", STORE, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x8.b32", LOAD, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x8.pack::16b.b32", LOAD, 32, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x8.b32", STORE, 32, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x8.unpack::16b.b32", STORE, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x16.b32", LOAD, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x16.pack::16b.b32", LOAD, 64, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x16.b32", STORE, 64, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x16.unpack::16b.b32", STORE, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x32.b32", LOAD, 128, NULL},
    {"tcgen05.ld.sync.aligned.16x256b.x32.pack::16b.b32", LOAD, 128, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x32.b32", STORE, 128, NULL},
    {"tcgen05.st.sync.aligned.16x256b.x32.unpack::16b.b32", STORE, 128, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x1.b32", LOAD, 1, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32", LOAD, 1, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x1.b32", STORE, 1, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32", STORE, 1, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x2.b32", LOAD, 2, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32", LOAD, 2, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x2.b32", STORE, 2, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32", STORE, 2, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x4.b32", LOAD, 4, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32", LOAD, 4, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x4.b32", STORE, 4, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32", STORE, 4, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x8.b32", LOAD, 8, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x8.pack::16b.b32", LOAD, 8, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x8.b32", STORE, 8, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x8.unpack::16b.b32", STORE, 8, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x16.b32", LOAD, 16, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x16.pack::16b.b32", LOAD, 16, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x16.b32", STORE, 16, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x16.unpack::16b.b32", STORE, 16, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x32.b32", LOAD, 32, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x32.pack::16b.b32", LOAD, 32, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x32.b32", STORE, 32, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x32.unpack::16b.b32", STORE, 32, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x64.b32", LOAD, 64, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x64.pack::16b.b32", LOAD, 64, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x64.b32", STORE, 64, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x64.unpack::16b.b32", STORE, 64, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x128.b32", LOAD, 128, NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x128.pack::16b.b32", LOAD, 128, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x128.b32", STORE, 128, NULL},
    {"tcgen05.st.sync.aligned.32x32b.x128.unpack::16b.b32", STORE, 128, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x1.b32", LOAD_SPLIT, 1, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x1.pack::16b.b32", LOAD_SPLIT, 1, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x1.b32", STORE_SPLIT, 1, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x1.unpack::16b.b32", STORE_SPLIT, 1, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x2.b32", LOAD_SPLIT, 2, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x2.pack::16b.b32", LOAD_SPLIT, 2, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x2.b32", STORE_SPLIT, 2, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x2.unpack::16b.b32", STORE_SPLIT, 2, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x4.b32", LOAD_SPLIT, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x4.pack::16b.b32", LOAD_SPLIT, 4, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x4.b32", STORE_SPLIT, 4, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x4.unpack::16b.b32", STORE_SPLIT, 4, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x8.b32", LOAD_SPLIT, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x8.pack::16b.b32", LOAD_SPLIT, 8, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x8.b32", STORE_SPLIT, 8, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x8.unpack::16b.b32", STORE_SPLIT, 8, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x16.b32", LOAD_SPLIT, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x16.pack::16b.b32", LOAD_SPLIT, 16, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x16.b32", STORE_SPLIT, 16, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x16.unpack::16b.b32", STORE_SPLIT, 16, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x32.b32", LOAD_SPLIT, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x32.pack::16b.b32", LOAD_SPLIT, 32, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x32.b32", STORE_SPLIT, 32, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x32.unpack::16b.b32", STORE_SPLIT, 32, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x64.b32", LOAD_SPLIT, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x64.pack::16b.b32", LOAD_SPLIT, 64, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x64.b32", STORE_SPLIT, 64, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x64.unpack::16b.b32", STORE_SPLIT, 64, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x128.b32", LOAD_SPLIT, 128, NULL},
    {"tcgen05.ld.sync.aligned.16x32bx2.x128.pack::16b.b32", LOAD_SPLIT, 128, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x128.b32", STORE_SPLIT, 128, NULL},
    {"tcgen05.st.sync.aligned.16x32bx2.x128.unpack::16b.b32", STORE_SPLIT, 128, NULL},
    {"tcgen05.alloc.cta_group::1.sync.aligned.b32", PLAIN, 0, " [%rd1], 32"},
    {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", PLAIN, 0, " [%smem], 32"},
    {"tcgen05.dealloc.cta_group::1.sync.aligned.b32", PLAIN, 0, " %tm, 32"},
    {"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", PLAIN, 0, ""},
    {"tcgen05.alloc.cta_group::2.sync.aligned.b32", PLAIN, 0, " [%rd1], 32"},
    {"tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32", PLAIN, 0, " [%smem], 32"},
    {"tcgen05.dealloc.cta_group::2.sync.aligned.b32", PLAIN, 0, " %tm, 32"},
    {"tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned", PLAIN, 0, ""},
    {"tcgen05.wait::ld.sync.aligned", PLAIN, 0, ""},
    {"tcgen05.wait::st.sync.aligned", PLAIN, 0, ""},
    {"tcgen05.fence::before_thread_sync", PLAIN, 0, ""},
    {"tcgen05.fence::after_thread_sync", PLAIN, 0, ""},
    {"tcgen05.cp.cta_group::1.128x256b", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.128x256b.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.4x256b", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.4x256b.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.4x256b.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.128x128b", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.64x128b.warpx2::02_13", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.64x128b.warpx2::01_23", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.32x128b.warpx4", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.shift.cta_group::1.down", PLAIN, 0, " [%tm]"},
    {"tcgen05.shift.down.cta_group::1", PLAIN, 0, " [%tm]"},
    {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64", PLAIN, 0, " [%rd1]"},
    {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64", PLAIN, 0, " [%rd1], %h0"},
    {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64", PLAIN, 0, " [%mbar]"},
    {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64", PLAIN, 0,
     " [%mbar], %h0"},
    {"tcgen05.cp.cta_group::2.128x256b", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.128x256b.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.128x256b.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.4x256b", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.4x256b.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.4x256b.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.128x128b", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.128x128b.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.128x128b.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.64x128b.warpx2::02_13", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.64x128b.warpx2::02_13.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.64x128b.warpx2::02_13.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.64x128b.warpx2::01_23", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.64x128b.warpx2::01_23.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.64x128b.warpx2::01_23.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.32x128b.warpx4", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.32x128b.warpx4.b8x16.b6x16_p32", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.cp.cta_group::2.32x128b.warpx4.b8x16.b4x16_p64", PLAIN, 0, " [%tm], %rd2"},
    {"tcgen05.shift.cta_group::2.down", PLAIN, 0, " [%tm]"},
    {"tcgen05.shift.down.cta_group::2", PLAIN, 0, " [%tm]"},
    {"tcgen05.commit.cta_group::2.mbarrier::arrive::one.b64", PLAIN, 0, " [%rd1]"},
    {"tcgen05.commit.cta_group::2.mbarrier::arrive::one.multicast::cluster.b64", PLAIN, 0, " [%rd1], %h0"},
    {"tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64", PLAIN, 0, " [%mbar]"},
    {"tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64", PLAIN, 0,
     " [%mbar], %h0"},
    {"tcgen05.mma.cta_group::1.kind::f16", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f16.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f16.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f16.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::tf32", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::tf32.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::tf32.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::tf32.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::tf32.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::i8", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::i8.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::i8.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::i8.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::1.kind::i8.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f16", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f16.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f16.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f16.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f16.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::tf32", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::tf32.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::tf32.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::tf32.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::tf32.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f8f6f4", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f8f6f4.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f8f6f4.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f8f6f4.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::f8f6f4.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::i8", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::i8.collector::a::fill", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::i8.collector::a::use", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::i8.collector::a::lastuse", MMA, 0, NULL},
    {"tcgen05.mma.cta_group::2.kind::i8.collector::a::discard", MMA, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b2::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b2::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b2::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b2::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b3::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b3::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b3::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b3::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b0::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b0::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b0::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b0::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b1::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b1::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b1::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b1::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b2::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b2::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b2::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b2::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b3::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b3::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b3::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b3::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b0::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b0::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b0::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b0::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b1::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b1::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b1::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b1::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b2::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b2::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b2::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b2::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b3::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b3::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b3::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b3::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b0::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b0::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b0::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b0::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b1::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b1::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b1::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b1::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b2::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b2::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b2::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b2::discard", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b3::fill", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b3::use", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b3::lastuse", MMA_WS, 0, NULL},
    {"tcgen05.mma.ws.cta_group::1.kind::i8.collector::b3::discard", MMA_WS, 0, NULL},
};

static tensor_text text;

static void add_registers(unsigned count)
{
  tensor_add(&text, "{");
  for (unsigned i = 0; i < count; i++) {
    tensor_add(&text, "%s%%r%u", i == 0 ? "" : ", ", i);
  }
  tensor_add(&text, "}");
}

/* With each choice of operands: A in shared or tensor memory, lanes off, a scale of D. */
static void add_mma(const form *of)
{
  const bool is_pair = strstr(of->opcode, "cta_group::2") != NULL;
  const bool may_scale = strstr(of->opcode, "kind::f16") != NULL || strstr(of->opcode, "kind::tf32") != NULL;
  for (unsigned i = 0; i < 8; i++) {
    if ((i & 4) != 0 && !may_scale) {
      continue;
    }
    tensor_add(&text, "%s [%%tm], %s, %%rd3, %%r9, ", of->opcode, (i & 1) != 0 ? "[%r8]" : "%rd2");
    if ((i & 2) != 0) {
      add_registers(is_pair ? 8 : 4);
      tensor_add(&text, ", ");
    }
    tensor_add(&text, "%%p2%s;\n", (i & 4) != 0 ? ", 3" : "");
  }
}

static void add_form(const form *of)
{
  switch (of->kind) {
  case PLAIN:
    tensor_add(&text, "%s%s;\n", of->opcode, of->operands);
    break;
  case LOAD:
  case LOAD_SPLIT:
    tensor_add(&text, "%s ", of->opcode);
    add_registers(of->registers);
    tensor_add(&text, ", [%%tm]%s;\n", of->kind == LOAD ? "" : ", 16");
    break;
  case STORE:
  case STORE_SPLIT:
    tensor_add(&text, "%s [%%tm], %s", of->opcode, of->kind == STORE ? "" : "16, ");
    add_registers(of->registers);
    tensor_add(&text, ";\n");
    break;
  case MMA:
    add_mma(of);
    break;
  case MMA_WS:
    for (unsigned i = 0; i < 4; i++) {
      tensor_add(&text, "%s [%%tm], %s, %%rd3, %%r9, %%p2%s;\n", of->opcode, (i & 1) != 0 ? "[%r8]" : "%rd2",
                 (i & 2) != 0 ? ", %rd4" : "");
    }
    break;
  }
}

static void every_form_is_known(void **state)
{
  (void)state;
  for (unsigned group = 1; group <= 2; group++) {
    text.length = 0;
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
      if (strstr(forms[i].opcode, group == 1 ? "cta_group::2" : "cta_group::1") == NULL) {
        add_form(&forms[i]);
      }
    }
    emu_message message;
    const int result = tensor_load(text.at, &message);
    if (result != EMU_OK) {
      print_message("%s\n", message.text);
    }
    assert_int_equal(result, EMU_OK);
    assert_string_equal(message.text, "");
  }
}

static void what_is_no_form_is_refused(void **state)
{
  (void)state;
  static const char *const texts[] = {
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cluster.b32 [%smem], 32;",
      "tcgen05.alloc.cta_group::3.sync.aligned.b32 [%rd1], 32;",
      "tcgen05.alloc.sync.aligned.b32 [%rd1], 32;",
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [%tm], 32;",
      "tcgen05.ld.sync.aligned.32x64b.x1.b32 {%r0}, [%tm];",
      "tcgen05.ld.sync.aligned.32x32b.x3.b32 {%r0, %r1, %r2}, [%tm];",
      "tcgen05.ld.sync.aligned.32x32b.x1.unpack::16b.b32 {%r0}, [%tm];",
      "tcgen05.ld.aligned.32x32b.x1.b32 {%r0}, [%tm];",
      "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r0}, [%tm];",
      "tcgen05.st.sync.aligned.32x32b.x1.pack::16b.b32 [%tm], {%r0};",
      "tcgen05.wait::cp.sync.aligned;",
      "tcgen05.wait::ld;",
      "tcgen05.fence::thread_sync;",
      "tcgen05.cp.cta_group::1.128x64b [%tm], %rd2;",
      "tcgen05.cp.cta_group::1.32x128b [%tm], %rd2;",
      "tcgen05.cp.cta_group::1.32x128b.warpx2::02_13 [%tm], %rd2;",
      "tcgen05.cp.cta_group::1.128x256b.b6x16_p32 [%tm], %rd2;",
      "tcgen05.cp.cta_group::1.128x256b [%tm], %r0;",
      "tcgen05.shift.cta_group::1.up [%tm];",
      "tcgen05.commit.cta_group::1.mbarrier::arrive::two.b64 [%rd1];",
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%rd1];",
      "tcgen05.mma.cta_group::1.kind::f32 [%tm], %rd2, %rd3, %r9, %p2;",
      "tcgen05.mma.cta_group::1.kind::f16 %tm, %rd2, %rd3, %r9, %p2;",
      "tcgen05.mma.cta_group::1.kind::f16 [%tm], %r8, %rd3, %r9, %p2;",
      "tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd2, [%r8], %r9, %p2;",
      "tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd2, %rd3, %r9;",
      "tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd2, %rd3, %r9, {%r0, %r1}, %p2;",
      "tcgen05.mma.cta_group::2.kind::f16 [%tm], %rd2, %rd3, %r9, {%r0, %r1, %r2, %r3}, %p2;",
      "tcgen05.mma.cta_group::1.kind::f16.collector::b0::fill [%tm], %rd2, %rd3, %r9, %p2;",
      "tcgen05.mma.ws.cta_group::1.kind::f16.collector::a::fill [%tm], %rd2, %rd3, %r9, %p2;",
      "tcgen05.mma.ws.cta_group::1.kind::f16 [%tm], %rd2, %rd3, %r9, {%r0, %r1, %r2, %r3}, %p2;",
      /* From here on ptxas takes them: the text allows no scale of i8, and the rest is not there yet. */
      "tcgen05.mma.cta_group::1.kind::i8 [%tm], %rd2, %rd3, %r9, %p2, 1;",
      "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%tm], %rd2, %rd3, %r9, [%r0], [%r1], %p2;",
      "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%tm], %rd2, %rd3, [%r0], %r9, %p2;",
  };
  for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    emu_message message;
    const int result = tensor_load(texts[i], &message);
    if (result != EMU_INVALID_PTX || strncmp(message.text, "18:", 3) != 0) {
      print_message("%s: %d %s\n", texts[i], result, message.text);
    }
    assert_int_equal(result, EMU_INVALID_PTX);
    assert_int_equal(strncmp(message.text, "18:", 3), 0);
    assert_non_null(strstr(message.text, "tcgen05."));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form_is_known),
      cmocka_unit_test(what_is_no_form_is_refused),
  };
  return SJ_TEST_RUN(tests);
}
