/* SPDX-License-Identifier: Apache-2.0 */
/* cuTensorMapEncodeTiled: the rules that the driver's manual has, each broken alone; and a map that a kernel uses. */
#include <string.h>

#include "test_driver.h"

enum { U8 = 0, U16 = 1, F16 = 6, F32 = 7, BF16 = 9, U4_ALIGN8 = 13, U4_ALIGN16 = 14, U6_ALIGN16 = 15, MAJOR = 75 };

/* One call; what a test does not change is legal. */
typedef struct encode_call {
  unsigned type;
  uint32_t rank;
  uint64_t address;
  uint64_t dims[5], strides[5];
  uint32_t box[5], steps[5];
  unsigned interleave, swizzle, promotion, fill;
} encode_call;

static _Alignas(64) unsigned char map[128 + 64];

static encode_call legal(void)
{
  return (encode_call){.type = BF16,
                       .rank = 3,
                       .address = 4096,
                       .dims = {256, 100, 10, 10, 10},
                       .strides = {512, 65536, 1 << 20, 1 << 24},
                       .box = {32, 8, 2, 1, 1},
                       .steps = {1, 1, 1, 1, 1}};
}

static int encode(const encode_call *of)
{
  return cu.encode_tiled(map, of->type, of->rank, (void *)(uintptr_t)of->address, of->dims, of->strides, of->box,
                         of->steps, of->interleave, of->swizzle, of->promotion, of->fill);
}

/* The legal call with one change. */
#define WITH(wanted, ...)                                                                                              \
  do {                                                                                                                 \
    encode_call of = legal();                                                                                          \
    __VA_ARGS__;                                                                                                       \
    EXPECT(encode(&of), wanted);                                                                                       \
  } while (0)

static void check_ranks_and_types(void)
{
  const encode_call good = legal();
  OK(encode(&good));
  for (unsigned type = U8; type <= 12; type++) {
    WITH(0, of.type = type; of.box[0] = 16);
  }
  WITH(1, of.type = 16);
  for (uint32_t rank = 1; rank <= 5; rank++) {
    WITH(0, of.rank = rank);
  }
  WITH(1, of.rank = 0);
  WITH(1, of.rank = 6);
  EXPECT(cu.encode_tiled(NULL, good.type, good.rank, (void *)(uintptr_t)good.address, good.dims, good.strides, good.box,
                         good.steps, 0, 0, 0, 0),
         1);
  EXPECT(cu.encode_tiled(map + 32, good.type, good.rank, (void *)(uintptr_t)good.address, good.dims, good.strides,
                         good.box, good.steps, 0, 0, 0, 0),
         1);
}

static void check_tensors(void)
{
  WITH(1, of.address += 8);
  WITH(0, of.address += 16);
  WITH(1, of.dims[1] = 0);
  WITH(0, of.dims[1] = 1ull << 32);
  WITH(1, of.dims[1] = (1ull << 32) + 1);
  WITH(1, of.strides[0] = 520);
  WITH(0, of.strides[1] = (1ull << 40) - 16);
  WITH(1, of.strides[1] = 1ull << 40);
}

static void check_boxes(void)
{
  WITH(1, of.box[1] = 0);
  WITH(0, of.box[1] = 256);
  WITH(1, of.box[1] = 257);
  WITH(1, of.box[0] = 4); /* 8 bytes */
  WITH(1, of.box[0] = 12);
  WITH(0, of.box[0] = 8);
  WITH(1, of.steps[1] = 0);
  WITH(0, of.steps[1] = 8);
  WITH(1, of.steps[2] = 9);
}

static void check_layouts(void)
{
  for (unsigned swizzle = 1; swizzle <= 3; swizzle++) {
    WITH(0, of.swizzle = swizzle; of.box[0] = 8u << swizzle);
    WITH(1, of.swizzle = swizzle; of.box[0] = 16u << swizzle);
  }
  WITH(1, of.swizzle = 7);
  WITH(0, of.interleave = 1);
  WITH(0, of.interleave = 1; of.swizzle = 3);
  WITH(1, of.interleave = 2);
  WITH(0, of.interleave = 2; of.swizzle = 1);
  WITH(1, of.interleave = 2; of.swizzle = 1; of.address += 16);
  WITH(1, of.interleave = 2; of.swizzle = 1; of.strides[0] = 528);
  WITH(1, of.interleave = 1; of.rank = 2);
  WITH(1, of.interleave = 3);
  WITH(0, of.promotion = 3);
  WITH(1, of.promotion = 4);
  WITH(0, of.fill = 1);
  WITH(1, of.fill = 2);
  WITH(1, of.fill = 1; of.type = U16);
  WITH(0, of.fill = 1; of.type = F32);
}

/* Of compute capability 10.0 on. */
static void check_packed(void)
{
  WITH(0, of.swizzle = 4);
  WITH(0, of.swizzle = 6);
  WITH(0, of.type = U4_ALIGN8);
  WITH(1, of.type = U4_ALIGN8; of.dims[0] = 255);
  WITH(1, of.type = U4_ALIGN8; of.fill = 1);
  WITH(0, of.type = U4_ALIGN16; of.box[0] = 128);
  WITH(1, of.type = U4_ALIGN16);
  WITH(1, of.type = U4_ALIGN16; of.box[0] = 128; of.address += 16);
  WITH(1, of.type = U4_ALIGN16; of.box[0] = 128; of.dims[0] = 192);
  WITH(1, of.type = U4_ALIGN16; of.box[0] = 128; of.strides[0] = 528);
  WITH(1, of.type = U4_ALIGN16; of.box[0] = 128; of.swizzle = 6);
  WITH(0, of.type = U6_ALIGN16; of.box[0] = 128; of.swizzle = 6);
  WITH(1, of.type = U6_ALIGN16; of.box[0] = 128; of.swizzle = 2);
  WITH(1, of.type = U6_ALIGN16; of.box[0] = 128; of.interleave = 1);
}

/* A box of 4 x 64 bytes from (16, 2), to the memory behind. */
static const char tensor_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 box[256];\n.shared .align 8 .b64 bar;\n"
    ".visible .entry load(.param .align 64 .b8 map[128], .param .u64 to)\n{\n.reg .b64 %l<6>;\n.reg .b32 %r<6>;\n"
    ".reg .pred %p<3>;\nmov.b64 %l0, map;\ncvta.param.u64 %l1, %l0;\nld.param.u64 %l2, [to];\ncvta.to.global.u64 %l2, "
    "%l2;\nmov.u32 %r0, %tid.x;\nsetp.ne.u32 %p0, %r0, 0;\nmov.u32 %r1, box;\nmov.u32 %r2, bar;\n@%p0 bra WAIT;\n"
    "mbarrier.init.shared.b64 [%r2], 1;\nfence.proxy.async.shared::cta;\n"
    "mbarrier.arrive.expect_tx.shared.b64 %l3, [%r2], 256;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%l1, {16, 2}], [%r2];\n"
    "WAIT:\nbar.sync 0;\nLOOK:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;\n@!%p1 bra LOOK;\n"
    "shl.b32 %r3, %r0, 2;\nadd.u32 %r4, %r1, %r3;\nld.shared.u32 %r5, [%r4];\ncvt.u64.u32 %l4, %r3;\n"
    "add.u64 %l4, %l2, %l4;\nst.global.u32 [%l4], %r5;\nret;\n}\n";

static void check_use(void)
{
  unsigned char rows[8][128], got[256];
  uint64_t memory = 0;
  void *module = NULL, *load = NULL;
  encode_call of = {.type = U8, .rank = 2, .dims = {128, 8}, .strides = {128}, .box = {64, 4}, .steps = {1, 1}};
  for (unsigned i = 0; i < sizeof rows; i++) {
    rows[i / 128][i % 128] = (unsigned char)(i * 7 + i / 128);
  }
  OK(cu.module_load(&module, tensor_ptx));
  OK(cu.module_function(&load, module, "load"));
  OK(cu.alloc(&memory, sizeof rows + sizeof got));
  OK(cu.write(memory, rows, sizeof rows));
  of.address = memory;
  OK(encode(&of));
  uint64_t to = memory + sizeof rows;
  void *params[] = {map, &to};
  OK(cu.launch(load, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
  OK(cu.read(got, to, sizeof got));
  unsigned wrong = 0;
  for (unsigned i = 0; i < sizeof got; i++) {
    wrong += got[i] != rows[2 + i / 64][16 + i % 64];
  }
  EXPECT(wrong, 0);
  OK(cu.replace_address(map, (void *)(uintptr_t)(memory + 128)));
  EXPECT(cu.replace_address(map, (void *)(uintptr_t)(memory + 8)), 1);
  OK(cu.launch(load, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
  OK(cu.read(got, to, sizeof got));
  EXPECT(got[0], rows[3][16]);
  OK(cu.module_unload(module));
  OK(cu.release(memory));
}

void check_tensor_maps(void)
{
  int major = 0;
  OK(cu.device_attribute(&major, MAJOR, 0));
  if (major < 9) {
    const encode_call of = legal();
    EXPECT(encode(&of) != 0, 1);
    return;
  }
  check_ranks_and_types();
  check_tensors();
  check_boxes();
  check_layouts();
  if (major >= 10) {
    check_packed();
  }
  check_use();
}
