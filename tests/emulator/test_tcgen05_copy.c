/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05.cp and shift move the right bytes: every shape, multicast, swizzling and format, for one block and for a
 * pair, PTX ISA 9.7.16.9. */
#include "test_main.h"

#include <stdbool.h>
#include <string.h>

#include "tensor_snippet.h"

/* A block's data: what its shared memory is filled with, and the first columns of its tensor memory. */
enum { IMAGE = 16384, COLUMNS = 32, LANES = 128, FIRST_COLUMN = 5, BLOCK_BYTES = IMAGE + LANES * COLUMNS * 4 };

typedef struct block_data {
  uint8_t shared[IMAGE];
  uint32_t tensor[LANES][COLUMNS];
} block_data;

static block_data data[2], before[2];
static tensor_text text;

static void fill_data(uint64_t seed)
{
  uint64_t state = seed;
  uint8_t *bytes = (uint8_t *)before;
  for (size_t i = 0; i < sizeof before; i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    bytes[i] = (uint8_t)(state >> 56);
  }
  memcpy(data, before, sizeof data);
}

static void move_tensor(bool is_load)
{
  tensor_add(&text, is_load ? "tcgen05.ld.sync.aligned.32x32b.x32.b32 {" : "mov.u32 %%r32, 0;\n");
  for (unsigned i = 0; i < COLUMNS; i++) {
    if (is_load) {
      tensor_add(&text, "%s%%r%u", i == 0 ? "" : ", ", i);
    } else {
      tensor_add(&text, "ld.global.u32 %%r%u, [%%rd20+%u];\n", i, IMAGE + 4 * i);
    }
  }
  tensor_add(&text, is_load ? "}, [%%r90];\ntcgen05.wait::ld.sync.aligned;\n"
                            : "tcgen05.st.sync.aligned.32x32b.x32.b32 [%%r90], {");
  for (unsigned i = 0; i < COLUMNS; i++) {
    if (is_load) {
      tensor_add(&text, "st.global.u32 [%%rd20+%u], %%r%u;\n", IMAGE + 4 * i, i);
    } else {
      tensor_add(&text, "%s%%r%u", i == 0 ? "" : ", ", i);
    }
  }
  tensor_add(&text, "%s", is_load ? "" : "};\ntcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\n");
}

static void meet(unsigned blocks)
{
  tensor_add(&text, "%s",
             blocks == 1 ? "bar.sync 0;\n" : "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
}

/* Shared and tensor memory are filled, thread 0 of a block issues the instructions, and tensor memory is shown. */
static void run_instructions(unsigned blocks, unsigned issuer, const char *instructions, uint64_t seed)
{
  text.length = 0;
  tensor_add(&text,
             "mov.u32 %%r170, %%cluster_ctarank;\nmul.wide.u32 %%rd29, %%r170, %u;\nadd.u64 %%rd30, %%base, %%rd29;\n"
             "add.u32 %%mbar, %%smem, 64;\n@%%leader mbarrier.init.shared::cta.b64 [%%mbar], 1;\n@!%%first bra HAVE;\n"
             "tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%%smem], 512;\nHAVE:\n"
             "mul.wide.u32 %%rd21, %%thread, 16;\nadd.u64 %%rd21, %%rd21, %%rd30;\nshl.b32 %%r91, %%thread, 4;\n"
             "add.u32 %%r91, %%r91, %%smem;\nmov.u32 %%r92, 0;\n"
             "COPY:\nld.global.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%rd21];\n"
             "st.shared.v4.u32 [%%r91+1024], {%%r0, %%r1, %%r2, %%r3};\nadd.u64 %%rd21, %%rd21, 2048;\n"
             "add.u32 %%r91, %%r91, 2048;\nadd.u32 %%r92, %%r92, 1;\nsetp.lt.u32 %%p0, %%r92, %u;\n@%%p0 bra COPY;\n"
             "fence.proxy.async;\nbar.sync 0;\nld.shared.u32 %%tm, [%%smem];\nand.b32 %%r90, %%warp, 3;\n"
             "shl.b32 %%r90, %%r90, 21;\nadd.u32 %%r90, %%r90, %%tm;\nmul.wide.u32 %%rd20, %%thread, %u;\n"
             "add.u64 %%rd20, %%rd20, %%rd30;\nadd.u32 %%r93, %%smem, 1024;\nshr.u32 %%r93, %%r93, 4;\n"
             "cvt.u64.u32 %%rd3, %%r93;\n",
             BLOCK_BYTES, blocks, IMAGE / 2048, COLUMNS * 4);
  move_tensor(false);
  meet(blocks);
  tensor_add(&text,
             "tcgen05.fence::after_thread_sync;\nsetp.eq.and.u32 %%p1, %%r170, %u, %%leader;\n@!%%p1 bra OUT;\n%s",
             issuer, instructions);
  tensor_add(&text,
             "mov.b16 %%h0, %u;\ntcgen05.commit.cta_group::%u.mbarrier::arrive::one.shared::cluster"
             ".multicast::cluster.b64 [%%mbar], %%h0;\nOUT:\n",
             (1u << blocks) - 1, blocks);
  tensor_add(&text, "W:\nmbarrier.try_wait.parity.shared::cta.b64 %%p2, [%%mbar], 0;\n@!%%p2 bra W;\n"
                    "tcgen05.fence::after_thread_sync;\n");
  move_tensor(true);
  meet(blocks);
  tensor_add(&text, "@!%%first bra FREED;\ntcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%tm, 512;\nFREED:\n",
             blocks);
  tensor_snippet snippet = {.text = text.at, .data = data, .size = sizeof data, .blocks = blocks == 2 ? 2 : 0};
  emu_configure(&(emu_settings){seed, 1});
  tensor_run(&snippet);
  if (snippet.result != EMU_OK) {
    print_message("%s%s\n", instructions, snippet.message.text);
  }
  assert_int_equal(snippet.result, EMU_OK);
}

/* ---- cp --------------------------------------------------------------------------------------------------- */

enum { C128X256, C128X128, C4X256, C64_02_13, C64_01_23, C32X128, NUM_SHAPES };

static const struct {
  const char *name;
  unsigned rows, chunks;
} shapes[NUM_SHAPES] = {{"128x256b", 128, 2},
                        {"128x128b", 128, 1},
                        {"4x256b", 4, 2},
                        {"64x128b.warpx2::02_13", 64, 1},
                        {"64x128b.warpx2::01_23", 64, 1},
                        {"32x128b.warpx4", 32, 1}};

/* The row that a lane gets, -1 if none: warps 0 and 2, 1 and 3 are pairs, or 0 and 1, 2 and 3. */
static int row_of(unsigned shape, unsigned lane, unsigned first)
{
  const unsigned warp = lane / 32;
  switch (shape) {
  case C4X256:
    return lane % 32 == first ? (int)warp : -1;
  case C64_02_13:
    return (int)(warp % 2 * 32 + lane % 32);
  case C64_01_23:
    return (int)(warp / 2 * 32 + lane % 32);
  case C32X128:
    return (int)(lane % 32);
  default:
    return (int)lane;
  }
}

/* K-major canonical layouts, 9.7.16.3.3: the chunk's bytes in shared memory. */
static const uint8_t *chunk_of(const block_data *from, unsigned swizzle, unsigned row, unsigned chunk, unsigned lbo)
{
  const unsigned width = swizzle == 0 ? 16 : swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128;
  const unsigned offset = row % 8 * width + row / 8 * 8 * width + chunk * (swizzle == 0 ? lbo : 16);
  const unsigned mask = swizzle == 6 ? 1 : swizzle == 4 ? 3 : swizzle == 2 ? 7 : 0;
  return &from->shared[offset ^ (offset >> 7 & mask) << 4];
}

/* 9.7.16.9.1: six bits go to the lower ones of a byte, four to the middle. */
static uint8_t byte_of(const uint8_t *chunk, unsigned format, unsigned index)
{
  unsigned bits = 0;
  const unsigned size = format == 0 ? 8 : format == 1 ? 6 : 4;
  for (unsigned i = 0; i < size; i++) {
    const unsigned bit = index * size + i;
    bits |= (chunk[bit / 8] >> bit % 8 & 1u) << i;
  }
  return (uint8_t)(format == 2 ? bits << 2 : bits);
}

static void try_copy(unsigned shape, unsigned swizzle, unsigned format, unsigned blocks, unsigned issuer)
{
  static const char *const formats[] = {"", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"};
  const unsigned first = shape == C4X256 ? 29 : 0, lbo = shapes[shape].rows * 16 + 128;
  const unsigned width = swizzle == 0 ? 16 : swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128;
  char instructions[400];
  snprintf(instructions, sizeof instructions,
           "or.b64 %%rd4, %%rd3, 0x%llx;\nadd.u32 %%r94, %%tm, 0x%x;\ntcgen05.cp.cta_group::%u.%s%s [%%r94], %%rd4;\n",
           (unsigned long long)((uint64_t)(lbo / 16) << 16 | (uint64_t)(8 * width / 16) << 32 | 1ull << 46
                                | (uint64_t)swizzle << 61),
           FIRST_COLUMN | first << 16, blocks, shapes[shape].name, formats[format]);
  fill_data(shape * 100 + swizzle * 10 + format);
  run_instructions(blocks, issuer, instructions, shape + swizzle + format);
  for (unsigned b = 0; b < 2; b++) {
    for (unsigned lane = 0; lane < LANES; lane++) {
      const int row = b < blocks ? row_of(shape, lane, first) : -1;
      for (unsigned c = 0; c < COLUMNS; c++) {
        const bool is_copied = row >= 0 && c >= FIRST_COLUMN && c < FIRST_COLUMN + 4 * shapes[shape].chunks;
        uint32_t wanted = before[b].tensor[lane][c];
        for (unsigned i = 0; i < 4 && is_copied; i++) {
          const unsigned at = 4 * (c - FIRST_COLUMN) + i;
          const uint8_t byte = byte_of(chunk_of(&before[b], swizzle, (unsigned)row, at / 16, lbo), format, at % 16);
          wanted = (wanted & ~(0xffu << (8 * i))) | (uint32_t)byte << (8 * i);
        }
        if (data[b].tensor[lane][c] != wanted) {
          print_message("%s swizzle %u format %u block %u lane %u column %u\n", shapes[shape].name, swizzle, format, b,
                        lane, c);
        }
        assert_int_equal(data[b].tensor[lane][c], wanted);
      }
    }
  }
}

static void each_shape_copies_to_its_lanes(void **state)
{
  (void)state;
  static const unsigned swizzles[] = {0, 6, 4, 2};
  for (unsigned shape = 0; shape < NUM_SHAPES; shape++) {
    for (unsigned i = 0; i < 4; i++) {
      try_copy(shape, swizzles[i], 0, 1, 0);
    }
    try_copy(shape, 0, 0, 2, shape % 2);
  }
}

static void small_formats_become_bytes(void **state)
{
  (void)state;
  for (unsigned shape = 0; shape < NUM_SHAPES; shape++) {
    try_copy(shape, 0, 1, 1, 0);
    try_copy(shape, 2, 2, 1, 0);
  }
}

/* ---- shift ------------------------------------------------------------------------------------------------ */

/* 9.7.16.9.3: 32 bytes of each of 32 lanes but the last. */
static void try_shift(const char *opcode, unsigned lane, unsigned blocks)
{
  char instructions[200];
  snprintf(instructions, sizeof instructions, "add.u32 %%r94, %%tm, 0x%x;\n%s [%%r94];\n", 7 | lane << 16, opcode);
  fill_data(lane);
  run_instructions(blocks, 0, instructions, lane);
  for (unsigned b = 0; b < 2; b++) {
    for (unsigned row = 0; row < LANES; row++) {
      for (unsigned c = 0; c < COLUMNS; c++) {
        const bool moves = b < blocks && row >= lane && row < lane + 31 && c >= 7 && c < 15;
        assert_int_equal(data[b].tensor[row][c], before[b].tensor[row + moves][c]);
      }
    }
  }
}

static void a_shift_moves_rows_of_a_quarter(void **state)
{
  (void)state;
  for (unsigned lane = 0; lane < LANES; lane += 32) {
    try_shift("tcgen05.shift.cta_group::1.down", lane, 1);
  }
  try_shift("tcgen05.shift.down.cta_group::1", 32, 1);
  try_shift("tcgen05.shift.cta_group::2.down", 64, 2);
}

/* 9.7.16.6.2: a copy of four lanes happens behind the shift before it, and fills the row that the shift leaves. */
static void a_copy_of_four_lanes_follows_the_shift(void **state)
{
  (void)state;
  for (unsigned seed = 1; seed <= 10; seed++) {
    fill_data(seed);
    run_instructions(1, 0,
                     "or.b64 %rd4, %rd3, 0x0000400800080000;\nadd.u32 %r94, %tm, 5;\nadd.u32 %r95, %tm, 0x1f0005;\n"
                     "tcgen05.shift.cta_group::1.down [%r94];\ntcgen05.cp.cta_group::1.4x256b [%r95], %rd4;\n",
                     seed);
    for (unsigned row = 0; row < LANES; row++) {
      for (unsigned c = 5; c < 13; c++) {
        uint32_t wanted = before[0].tensor[row < 31 ? row + 1 : row][c];
        if (row % 32 == 31) {
          memcpy(&wanted, chunk_of(&before[0], 0, row / 32, (c - 5) / 4, 128) + (size_t)(c - 5) % 4 * 4, 4);
        }
        assert_int_equal(data[0].tensor[row][c], wanted);
      }
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_shape_copies_to_its_lanes),
      cmocka_unit_test(small_formats_become_bytes),
      cmocka_unit_test(a_shift_moves_rows_of_a_quarter),
      cmocka_unit_test(a_copy_of_four_lanes_follows_the_shift),
  };
  return SJ_TEST_RUN(tests);
}
