/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05.alloc, dealloc, ld, st, wait and fence, from the PTX ISA: 9.7.16.1 and 9.7.16.7 (allocation), 9.7.16.2.3.1
 * (fragments of each shape), 9.7.16.8 (ld, st; packing; a warp's quarter), 9.7.16.6 (order). */
#include "test_main.h"

#include <stdbool.h>
#include <string.h>

#include "tensor_snippet.h"

/* A shape as strides of a bit's number: threads, then registers, each a list of (count, lanes, words); a word is one
 * column of 32 bits. "Matrix fragments for shape ...", 9.7.16.2.3.1. */
typedef struct mode {
  unsigned count, lanes, words;
} mode;

typedef struct shape {
  const char *name;
  unsigned registers; /* of x1 */
  unsigned most;      /* repeats */
  unsigned columns;   /* of x1 */
  unsigned lanes;
  mode threads[3], values[3]; /* the last value mode goes on for the repeats */
} shape;

static const shape shapes[] = {
    {"32x32b", 1, 128, 1, 32, {{32, 1, 0}}, {{128, 0, 1}}},
    {"16x64b", 1, 128, 2, 16, {{2, 8, 0}, {2, 0, 1}, {8, 1, 0}}, {{128, 0, 2}}},
    {"16x128b", 2, 64, 4, 16, {{4, 0, 1}, {8, 1, 0}}, {{2, 8, 0}, {64, 0, 4}}},
    {"16x256b", 4, 32, 8, 16, {{4, 0, 2}, {8, 1, 0}}, {{2, 0, 1}, {2, 8, 0}, {32, 0, 8}}},
};
enum { NUM_SHAPES = sizeof shapes / sizeof shapes[0], THREADS = 128, MAX_VALUES = 128 };

static void walk(const mode modes[3], unsigned index, unsigned *lane, unsigned *word)
{
  for (unsigned i = 0; i < 3 && modes[i].count != 0; i++) {
    *lane += index % modes[i].count * modes[i].lanes;
    *word += index % modes[i].count * modes[i].words;
    index /= modes[i].count;
  }
}

/* What a test puts at a place: every half tells where it is. */
static uint32_t at(unsigned lane, unsigned column)
{
  return (lane << 9 | column) + 0x10000u * (lane * 511 + column * 3 + 7);
}

static tensor_text text;
static uint32_t data[THREADS][MAX_VALUES];

static void registers(unsigned count)
{
  tensor_add(&text, "{");
  for (unsigned i = 0; i < count; i++) {
    tensor_add(&text, "%s%%r%u", i == 0 ? "" : ", ", i);
  }
  tensor_add(&text, "}");
}

/* %r180: the warp's own quarter at a column. */
static void quarter(void)
{
  tensor_add(&text, "and.b32 %%r181, %%warp, 3;\nshl.b32 %%r181, %%r181, 21;\nadd.u32 %%r180, %%tm, %%r181;\n");
}

/* Each thread's data to or from its registers. */
static void transfer(const char *format, unsigned count)
{
  tensor_add(&text, "mul.wide.u32 %%rd0, %%thread, %u;\nadd.u64 %%rd0, %%base, %%rd0;\n", MAX_VALUES * 4);
  for (unsigned i = 0; i < count; i++) {
    tensor_add(&text, format, i, 4 * i);
  }
}

/* All words of columns from the first on of the block's: each thread makes its lane's. */
static void fill(unsigned columns)
{
  for (unsigned c = 0; c < columns; c++) {
    tensor_add(&text,
               "mad.lo.u32 %%r150, %%thread, 512, %u;\nmad.lo.u32 %%r151, %%thread, 511, %u;\nshl.b32 %%r151, %%r151, "
               "16;\nadd.u32 %%r150, %%r150, %%r151;\nadd.u32 %%r152, %%r180, %u;\n"
               "tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r152], {%%r150};\n",
               c, c * 3 + 7, c);
  }
  tensor_add(&text, "tcgen05.wait::st.sync.aligned;\n");
}

static void run_text(uint64_t seed)
{
  tensor_snippet snippet = {.text = text.at, .data = data, .size = sizeof data};
  emu_configure(&(emu_settings){seed, 1});
  tensor_run(&snippet);
  if (snippet.result != EMU_OK) {
    print_message("%s\n", snippet.message.text);
  }
  assert_int_equal(snippet.result, EMU_OK);
}

static void begin(void)
{
  text.length = 0;
  tensor_add(&text, "%s", TENSOR_ALLOC("512"));
  quarter();
}

/* Loads of one shape against what stores of single columns put there. half: the upper half of the quarter. */
static void try_load(const shape *how, unsigned repeats, bool packed, unsigned half)
{
  const unsigned count = how->registers * repeats, step = packed ? 2 : 1;
  begin();
  fill(how->columns * repeats * step);
  tensor_add(&text, "add.u32 %%r153, %%r180, %u;\ntcgen05.ld.sync.aligned.%s.x%u%s.b32 ", half << 20, how->name,
             repeats, packed ? ".pack::16b" : "");
  registers(count);
  tensor_add(&text, ", [%%r153];\ntcgen05.wait::ld.sync.aligned;\n");
  transfer("st.global.u32 [%%rd0+%2$u], %%r%1$u;\n", count);
  tensor_add(&text, "%s", TENSOR_FREE("512"));
  run_text(repeats);
  for (unsigned t = 0; t < THREADS; t++) {
    for (unsigned i = 0; i < count; i++) {
      unsigned lane = t / 32 * 32 + 16 * half, word = 0;
      walk(how->threads, t % 32, &lane, &word);
      walk(how->values, i, &lane, &word);
      const uint32_t wanted = packed ? (at(lane, 2 * word) & 0xffff) | at(lane, 2 * word + 1) << 16 : at(lane, word);
      if (data[t][i] != wanted) {
        print_message("%s.x%u thread %u register %u\n", how->name, repeats, t, i);
      }
      assert_int_equal(data[t][i], wanted);
    }
  }
}

/* 9.7.16.2.3.1, and Table 49: all repeats that a shape has. */
static void loads_of_each_shape_have_the_documented_fragments(void **state)
{
  (void)state;
  for (unsigned s = 0; s < NUM_SHAPES; s++) {
    for (unsigned repeats = 1; repeats <= shapes[s].most; repeats *= 2) {
      try_load(&shapes[s], repeats, false, 0);
      if (shapes[s].lanes == 16) {
        try_load(&shapes[s], repeats, false, 1);
      }
      if (shapes[s].columns * repeats * 2 <= 512) {
        try_load(&shapes[s], repeats, true, 0);
      }
    }
  }
}

/* Stores of one shape against loads of single columns: the reverse. */
static void try_store(const shape *how, unsigned repeats, bool unpacked)
{
  const unsigned count = how->registers * repeats, step = unpacked ? 2 : 1, columns = how->columns * repeats * step;
  for (unsigned t = 0; t < THREADS; t++) {
    for (unsigned i = 0; i < count; i++) {
      data[t][i] = t << 16 | i << 4 | 0xa000000f;
    }
  }
  static uint32_t kept[THREADS][MAX_VALUES];
  memcpy(kept, data, sizeof kept);
  begin();
  fill(columns);
  transfer("ld.global.u32 %%r%1$u, [%%rd0+%2$u];\n", count);
  tensor_add(&text, "tcgen05.st.sync.aligned.%s.x%u%s.b32 [%%r180], ", how->name, repeats,
             unpacked ? ".unpack::16b" : "");
  registers(count);
  tensor_add(&text, ";\ntcgen05.wait::st.sync.aligned;\n");
  const unsigned shown = columns < MAX_VALUES ? columns : MAX_VALUES;
  tensor_add(&text, "add.u32 %%r180, %%r180, %u;\n", columns - shown);
  for (unsigned c = 0; c < shown; c++) {
    tensor_add(&text, "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%r%u}, [%%r180+%u];\n", c, c);
  }
  tensor_add(&text, "tcgen05.wait::ld.sync.aligned;\n");
  transfer("st.global.u32 [%%rd0+%2$u], %%r%1$u;\n", shown);
  tensor_add(&text, "%s", TENSOR_FREE("512"));
  run_text(repeats + 100);
  unsigned seen = 0;
  for (unsigned t = 0; t < THREADS; t++) {
    for (unsigned i = 0; i < count; i++) {
      unsigned lane = t / 32 * 32, word = 0;
      walk(how->threads, t % 32, &lane, &word);
      walk(how->values, i, &lane, &word);
      for (unsigned h = 0; h < step; h++) {
        const unsigned column = word * step + h;
        if (column < columns - shown) {
          continue;
        }
        const uint32_t got = data[lane][column - (columns - shown)];
        const uint32_t wanted = kept[t][i];
        assert_int_equal(unpacked ? got & 0xffff : got, !unpacked ? wanted : h == 0 ? wanted & 0xffff : wanted >> 16);
        seen++;
      }
    }
  }
  assert_int_equal(seen, how->lanes * 4 * shown);
}

static void stores_of_each_shape_have_the_documented_fragments(void **state)
{
  (void)state;
  for (unsigned s = 0; s < NUM_SHAPES; s++) {
    for (unsigned repeats = 1; repeats <= shapes[s].most; repeats *= 2) {
      try_store(&shapes[s], repeats, false);
      if (shapes[s].columns * repeats * 2 <= 512) {
        try_store(&shapes[s], repeats, true);
      }
    }
  }
}

/* 9.7.16.8.3: two accesses of 16x32b, the second at the address + immHalfSplitoff. */
static void the_split_shape_has_two_halves(void **state)
{
  (void)state;
  for (unsigned repeats = 1; repeats <= 128; repeats *= 4) {
    for (unsigned packed = 0; packed < 2; packed++) {
      const unsigned split = repeats + 3, step = packed != 0 ? 2 : 1;
      begin();
      fill(split + repeats * step);
      tensor_add(&text, "tcgen05.ld.sync.aligned.16x32bx2.x%u%s.b32 ", repeats, packed != 0 ? ".pack::16b" : "");
      registers(repeats);
      tensor_add(&text, ", [%%r180], %u;\ntcgen05.wait::ld.sync.aligned;\n", split);
      transfer("st.global.u32 [%%rd0+%2$u], %%r%1$u;\n", repeats);
      /* and back, elsewhere: by the same fragment */
      tensor_add(&text, "%s", TENSOR_FREE("512"));
      run_text(repeats);
      for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned i = 0; i < repeats; i++) {
          const unsigned lane = t / 32 * 32 + t % 16, column = (t % 32 < 16 ? 0 : split) + i * step;
          const uint32_t wanted =
              packed != 0 ? (at(lane, column) & 0xffff) | at(lane, column + 1) << 16 : at(lane, column);
          assert_int_equal(data[t][i], wanted);
        }
      }
    }
  }
}

static void the_split_store_is_the_reverse(void **state)
{
  (void)state;
  begin();
  fill(16);
  tensor_add(&text, "mov.u32 %%r0, %%thread;\nadd.u32 %%r1, %%thread, 1000;\n"
                    "tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%%r180], 5, {%%r0, %%r1};\n"
                    "tcgen05.wait::st.sync.aligned;\ntcgen05.ld.sync.aligned.32x32b.x8.b32 ");
  registers(8);
  tensor_add(&text, ", [%%r180];\ntcgen05.wait::ld.sync.aligned;\n");
  transfer("st.global.u32 [%%rd0+%2$u], %%r%1$u;\n", 8);
  tensor_add(&text, "%s", TENSOR_FREE("512"));
  run_text(3);
  for (unsigned lane = 0; lane < THREADS; lane++) {
    for (unsigned c = 0; c < 8; c++) {
      const bool first = c < 2, second = c >= 5 && c < 7;
      const uint32_t wanted = lane % 32 >= 16 || (!first && !second) ? at(lane, c)
                              : first                                ? lane + 1000 * c
                                                                     : lane + 16 + 1000 * (c - 5);
      assert_int_equal(data[lane][c], wanted);
    }
  }
}

/* 9.7.16.7: what a block may ask for, and that others' columns are waited for. Every grant is apart from the others. */
static void allocations_are_apart_and_inside(void **state)
{
  (void)state;
  unsigned moved = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    text.length = 0;
    tensor_add(&text, "%s",
               "@!%first bra OUT;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%smem], 128;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%smem+4], 128;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%smem+8], 64;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%smem+12], 32;\n"
               "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
               "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%smem];\n"
               "st.global.v4.u32 [%base], {%r0, %r1, %r2, %r3};\n"
               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;\n"
               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 128;\n"
               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;\n"
               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64;\nOUT:\n");
    char *generic = strstr(text.at, "[%smem+4]");
    assert_non_null(generic);
    memcpy(generic, "[%rd1]   ", 9); /* a generic address */
    static tensor_text whole;
    whole.length = 0;
    tensor_add(&whole, "cvt.u64.u32 %%rd0, %%smem;\ncvta.shared.u64 %%rd1, %%rd0;\nadd.u64 %%rd1, %%rd1, 4;\n%s",
               text.at);
    tensor_snippet snippet = {.text = whole.at, .data = data, .size = sizeof data};
    emu_configure(&(emu_settings){seed, 1});
    tensor_run(&snippet);
    if (snippet.result != EMU_OK) {
      print_message("%s\n", snippet.message.text);
    }
    assert_int_equal(snippet.result, EMU_OK);
    static const uint32_t counts[] = {128, 128, 64, 32};
    bool taken[512] = {false};
    for (unsigned i = 0; i < 4; i++) {
      const uint32_t first = data[0][i];
      assert_true(first + counts[i] <= 512 && first % counts[i] == 0);
      for (uint32_t c = first; c < first + counts[i]; c++) {
        assert_false(taken[c]);
        taken[c] = true;
      }
    }
    moved += data[0][0] != 0;
  }
  assert_true(moved > 0);
}

#define ALLOC1(count) "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%smem], " count ";\n"
#define FREE1(count) "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, " count ";\n"
#define GOT "ld.shared.u32 %tm, [%smem];\n"
#define QUARTER "shl.b32 %r9, %warp, 21;\nadd.u32 %r9, %r9, %tm;\n"
#define ST1 "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9], {%lane};\n"
#define LD1 "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r9];\n"
#define WAIT_LD "tcgen05.wait::ld.sync.aligned;\n"
#define WAIT_ST "tcgen05.wait::st.sync.aligned;\n"
/* A second allocation of one warp. */
#define TENSOR_ALLOC2 ALLOC1("32") GOT
/* Warp 0 stores, warp 4, of the same quarter, loads. */
#define HANDED(before, after)                                                                                          \
  "and.b32 %r8, %warp, 3;\nshl.b32 %r9, %r8, 21;\nadd.u32 %r9, %r9, %tm;\n@!%first bra WAITS;\n" ST1 before            \
  "WAITS:\nbar.sync 0;\nsetp.eq.u32 %p1, %warp, 4;\n@!%p1 bra LOADED;\n" after LD1 WAIT_LD USE                         \
  "LOADED:\n" TENSOR_FREE("32")
#define PAIR_ALLOC                                                                                                     \
  "@!%first bra GOT2;\ntcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%smem], 256;\n"                        \
  "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\nGOT2:\nbar.sync 0;\nld.shared.u32 %tm, [%smem];\n"
#define PAIR_FREE "@!%first bra OUT2;\ntcgen05.dealloc.cta_group::2.sync.aligned.b32 %tm, 256;\nOUT2:\n"
#define USE "add.u32 %r1, %r0, 1;\n"

static const tensor_row rows[] = {
    /* 9.7.16.7.1 */
    {"alloc and dealloc", ALLOC1("512") GOT FREE1("512"), EMU_OK, NULL, 32, 0},
    {"all columns again and again",
     ALLOC1("512") GOT FREE1("512") ALLOC1("256") GOT FREE1("256") ALLOC1("256") GOT FREE1("256"), EMU_OK, NULL, 32, 0},
    {"alloc of no power of two", ALLOC1("96"), EMU_ILLEGAL_INSTRUCTION, "96 columns of tensor memory", 32, 0},
    {"alloc of too few", ALLOC1("16"), EMU_ILLEGAL_INSTRUCTION, "a power of two from 32 to 512", 32, 0},
    {"alloc of too many", ALLOC1("1024"), EMU_ILLEGAL_INSTRUCTION, "1024 columns", 32, 0},
    {"alloc of more than before", ALLOC1("32") GOT ALLOC1("64"), EMU_ILLEGAL_INSTRUCTION,
     "alloc of 64 columns after one of 32", 32, 0},
    {"alloc after relinquish", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" ALLOC1("32"),
     EMU_ILLEGAL_INSTRUCTION, "alloc after the block's relinquish_alloc_permit", 32, 0},
    {"not freed", ALLOC1("64") GOT, EMU_ILLEGAL_INSTRUCTION, "tensor memory not freed", 32, 0},
    {"freed in part", ALLOC1("64") GOT FREE1("32"), EMU_ILLEGAL_INSTRUCTION, "dealloc of 32 columns at 0x", 32, 0},
    {"freed elsewhere", ALLOC1("64") GOT "add.u32 %tm, %tm, 32;\n" FREE1("64"), EMU_ILLEGAL_INSTRUCTION,
     "which no alloc of the block gave", 32, 0},
    {"freed twice", ALLOC1("64") GOT FREE1("64") FREE1("64"), EMU_ILLEGAL_INSTRUCTION, "which no alloc", 32, 0},
    {"more than there is", ALLOC1("512") ALLOC1("32"), EMU_LAUNCH_TIMEOUT, "waits for columns of tensor memory", 32, 0},
    {"another warp frees what one waits for",
     "@!%first bra OTHER;\n" ALLOC1(
         "512") "bar.sync 0;\nadd.u32 %smem, %smem, 16;\nbra DONE;\nOTHER:\nbar.sync 0;\n" GOT
         FREE1("512") "DONE:\n"
                      "@!%first bra OUT;\n" ALLOC1("512") GOT FREE1("512") "OUT:\n",
     EMU_OK, NULL, 64, 0},
    {"alloc by half a warp", "setp.lt.u32 %p0, %lane, 16;\n@%p0 " ALLOC1("64"), EMU_ILLEGAL_INSTRUCTION,
     "the guard parts the warp", 32, 0},
    {"alloc where a lane has ended", "setp.eq.u32 %p0, %lane, 7;\n@%p0 exit;\n" ALLOC1("64"), EMU_ILLEGAL_INSTRUCTION,
     "all 32 lanes of the warp are wanted here: 0xffffff7f", 32, 0},
    {"alloc of different counts", "mad.lo.u32 %r0, %lane, 32, 32;\n" ALLOC1("%r0"), EMU_ILLEGAL_INSTRUCTION,
     "lanes give different operands: 0x20 and 0x40", 32, 0},
    {"alloc to global memory", "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%base], 32;\n", EMU_INVALID_ADDRESS_SPACE,
     "which is no shared memory", 32, 0},
    {"the address without a barrier", "@!%first bra OTHER;\n" ALLOC1("32") "OTHER:\n" GOT, EMU_ILLEGAL_ADDRESS, "", 64,
     0},
    {"mixed groups", ALLOC1("32") GOT "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %tm, 32;\n", EMU_INVALID_PTX,
     "cta_group::2 in a kernel that has used cta_group::1", 32, 0},
    /* 9.7.16.8.1: a warp's quarter; 9.7.16.1.1: addresses. */
    {"another quarter", TENSOR_ALLOC("32") "mov.u32 %r9, %tm;\n" ST1, EMU_ILLEGAL_ADDRESS,
     "lane 0 of tensor memory is outside of the warp's quarter: warp", 64, 0},
    {"beyond the lanes", TENSOR_ALLOC("32") "add.u32 %r9, %tm, 0x800000;\n" ST1, EMU_ILLEGAL_ADDRESS,
     "lane 128 of tensor memory is outside", 32, 0},
    {"across a quarter's lanes",
     TENSOR_ALLOC("32") "add.u32 %r9, %tm, 0x180000;\ntcgen05.st.sync.aligned.16x64b.x1.b32 [%r9], {%lane};\n",
     EMU_ILLEGAL_ADDRESS, "16x64b begins at lane 0 or 16 behind it", 32, 0},
    {"columns that are not allocated",
     TENSOR_ALLOC("32") "add.u32 %r9, %tm, 31;\n"
                        "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%lane, %lane};\n",
     EMU_ILLEGAL_ADDRESS, "out of bounds: columns", 32, 0},
    {"columns that are not there",
     TENSOR_ALLOC("512") "add.u32 %r9, %tm, 511;\n"
                         "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%lane, %lane};\n",
     EMU_ILLEGAL_ADDRESS, "out of bounds: columns 511 to 512 of tensor memory, which has 512", 32, 0},
    {"used after free", TENSOR_ALLOC("32") FREE1("32") QUARTER ST1, EMU_ILLEGAL_ADDRESS, "is not allocated", 32, 0},
    {"different addresses", TENSOR_ALLOC("64") "add.u32 %r9, %tm, %lane;\n" ST1, EMU_ILLEGAL_INSTRUCTION,
     "lanes give different tensor memory addresses", 32, 0},
    {"too few registers", TENSOR_ALLOC("64") QUARTER "tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r0, %r1}, [%r9];\n",
     EMU_ILLEGAL_INSTRUCTION, "2 registers for 16x256b.x1, which has 4", 32, 0},
    {"never written", TENSOR_ALLOC("32") QUARTER LD1, EMU_ILLEGAL_ADDRESS,
     "uninitialised: read of tensor memory at lane 0, column", 32, 0},
    {"written by another block's time", TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST FREE1("32") TENSOR_ALLOC2 QUARTER LD1,
     EMU_ILLEGAL_ADDRESS, "uninitialised", 32, 0},
    /* 9.7.16.6.4.2: not pipelined, same thread. */
    {"st, wait, ld, wait", TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST LD1 WAIT_LD USE TENSOR_FREE("32"), EMU_OK, NULL, 128,
     0},
    {"ld right behind st", TENSOR_ALLOC("32") QUARTER ST1 LD1 WAIT_LD, EMU_ILLEGAL_ADDRESS,
     "tcgen05.wait::st is missing behind it", 32, 0},
    {"st right behind st", TENSOR_ALLOC("32") QUARTER ST1 ST1, EMU_ILLEGAL_ADDRESS, "race: this store writes", 32, 0},
    {"st behind ld", TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST LD1 ST1, EMU_ILLEGAL_ADDRESS,
     "tcgen05.wait::ld is missing behind it", 32, 0},
    {"wait::ld is not wait::st", TENSOR_ALLOC("32") QUARTER ST1 WAIT_LD LD1, EMU_ILLEGAL_ADDRESS,
     "tcgen05.wait::st is missing", 32, 0},
    {"ld, ld", TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST LD1 LD1 WAIT_LD USE TENSOR_FREE("32"), EMU_OK, NULL, 32, 0},
    {"used before the wait", TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST LD1 USE, EMU_ILLEGAL_INSTRUCTION,
     "register %r0 is read before tcgen05.wait::ld: the load of PTX line", 32, 0},
    {"an old register, used before the wait", TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST "mov.u32 %r0, 5;\n" LD1 USE,
     EMU_ILLEGAL_INSTRUCTION, "register %r0 is read before tcgen05.wait::ld: the load of PTX line", 32, 0},
    {"stored before the wait",
     TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST LD1 "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9+1], {%r0};\n",
     EMU_ILLEGAL_INSTRUCTION, "register %r0 is read before tcgen05.wait::ld", 32, 0},
    {"freed while a store is under way", TENSOR_ALLOC("32") QUARTER ST1 FREE1("32"), EMU_ILLEGAL_ADDRESS,
     "race: this dealloc frees tensor memory", 32, 0},
    {"freed while another warp loads",
     TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST LD1 WAIT_LD "@!%first bra OUT;\n" FREE1("32") "OUT:\n", EMU_ILLEGAL_ADDRESS,
     "", 128, 0},
    /* 9.7.16.6.4.4: not pipelined, different threads: two warps of one quarter. */
    {"another warp with both fences",
     TENSOR_ALLOC("32") HANDED(WAIT_ST "tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"),
     EMU_OK, NULL, 160, 0},
    {"another warp without the wait",
     TENSOR_ALLOC("32") HANDED("tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"),
     EMU_ILLEGAL_ADDRESS, "tcgen05.wait::st is missing behind it", 160, 0},
    {"another warp without the fence before", TENSOR_ALLOC("32") HANDED(WAIT_ST, "tcgen05.fence::after_thread_sync;\n"),
     EMU_ILLEGAL_ADDRESS, "tcgen05.fence::before_thread_sync behind its wait", 160, 0},
    {"another warp without the fence after",
     TENSOR_ALLOC("32") HANDED(WAIT_ST "tcgen05.fence::before_thread_sync;\n", ""), EMU_ILLEGAL_ADDRESS,
     "tcgen05.fence::after_thread_sync is missing", 160, 0},
    /* Divergence, and other devices. */
    {"ld by half a warp", TENSOR_ALLOC("32") QUARTER "setp.lt.u32 %p0, %lane, 16;\n@%p0 " LD1, EMU_ILLEGAL_INSTRUCTION,
     "the guard parts the warp", 32, 0},
    {"ld where lanes have ended",
     TENSOR_ALLOC("32") QUARTER ST1 WAIT_ST "setp.lt.u32 %p0, %lane, 16;\n@%p0 exit;\n" LD1, EMU_ILLEGAL_INSTRUCTION,
     "all 32 lanes of the warp are wanted here", 32, 0},
    {"a reduction",
     TENSOR_ALLOC("32") QUARTER "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%r0, %r1}, %r2, [%r9];\n",
     EMU_INVALID_PTX, "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32: the emulator for sm_100a does not know", 32, 0},
    /* 9.7.16.5: pairs of blocks. */
    {"a pair", PAIR_ALLOC PAIR_FREE, EMU_OK, NULL, 64, 2},
    {"two pairs", PAIR_ALLOC PAIR_FREE, EMU_OK, NULL, 64, 4},
    {"one block of a pair",
     "mov.u32 %r0, %cluster_ctarank;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra OUT;\n" PAIR_ALLOC "OUT:\n", -1, "peer block",
     32, 2},
    {"no peer", PAIR_ALLOC, EMU_ILLEGAL_INSTRUCTION, "the block has no peer", 32, 0},
    {"different counts",
     "mov.u32 %r0, %cluster_ctarank;\nadd.u32 %r0, %r0, 1;\nshl.b32 %r0, %r0, 5;\n"
     "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%smem], %r0;\n",
     EMU_ILLEGAL_INSTRUCTION, "the peer block's warp is at PTX line", 32, 2},
    {"pairs are not freed", PAIR_ALLOC, EMU_ILLEGAL_INSTRUCTION, "tensor memory not freed", 64, 2},
};

static void each_fault_is_told_and_nothing_else(void **state)
{
  (void)state;
  assert_int_equal(tensor_rows_run(rows, sizeof rows / sizeof rows[0]), 0);
}

static void a_report_names_the_place(void **state)
{
  (void)state;
  tensor_snippet snippet = {.text = TENSOR_ALLOC("32") QUARTER LD1, .data = data, .size = sizeof data, .threads = 32};
  emu_configure(&(emu_settings){5, 1});
  tensor_run(&snippet);
  assert_int_equal(snippet.result, EMU_ILLEGAL_ADDRESS);
  assert_non_null(strstr(snippet.message.text, "column 1: tcgen05.ld.sync.aligned.32x32b.x1.b32"));
  assert_non_null(strstr(snippet.message.text, "in snippet, block (0,0,0), warp 0"));
  assert_non_null(strstr(snippet.message.text, "seed 5"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loads_of_each_shape_have_the_documented_fragments),
      cmocka_unit_test(stores_of_each_shape_have_the_documented_fragments),
      cmocka_unit_test(the_split_shape_has_two_halves),
      cmocka_unit_test(the_split_store_is_the_reverse),
      cmocka_unit_test(allocations_are_apart_and_inside),
      cmocka_unit_test(each_fault_is_told_and_nothing_else),
      cmocka_unit_test(a_report_names_the_place),
  };
  return SJ_TEST_RUN(tests);
}
