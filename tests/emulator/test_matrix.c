/* SPDX-License-Identifier: Apache-2.0 */
/* ldmatrix, stmatrix and mma.sync: every fragment's element at its place, by the tables of "Warp Level Matrix
 * Instructions" of the PTX ISA. */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "numbers.h"
#include "snippet.h"

static emu_snippet snippet;

static void run(const char *text)
{
  snippet.text = text;
  snippet.shared = 4096;
  snippet_run(&snippet);
  if (snippet.result != EMU_OK) {
    print_message("%s: %s\n", text, snippet.message.text);
  }
  assert_int_equal(snippet.result, EMU_OK);
}

/* Lane l stores its row of 16 bytes: elements 100 l + 0 to 7. */
#define FILL                                                                                                           \
  "mov.u32 %t0, shared; mad.lo.u32 %t1, %thread, 16, %t0; st.shared.v4.u32 [%t1], {%a0, %a1, %a2, %a3};"               \
  "bar.warp.sync -1;"

static void fill_rows(void)
{
  memset(&snippet, 0, sizeof snippet);
  for (unsigned lane = 0; lane < 32; lane++) {
    for (unsigned i = 0; i < 4; i++) {
      snippet.in[lane][i] = (100 * lane + 2 * i) | (uint64_t)(100 * lane + 2 * i + 1) << 16;
    }
  }
}

static void ldmatrix_gives_rows_and_columns(void **state)
{
  (void)state;
  fill_rows();
  run(FILL "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d0, %d1, %d2, %d3}, [%t1];"
           "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%t2, %t3, %t4, %t5}, [%t1];"
           "mov.b64 %ld0, {%t2, %t3}; mov.b64 %ld1, {%t4, %t5};");
  for (unsigned lane = 0; lane < 32; lane++) {
    for (unsigned i = 0; i < 4; i++) {
      const unsigned row = 8 * i + lane / 4, column = lane % 4 * 2;
      assert_int_equal(snippet.out[lane][i], (100 * row + column) | (100 * row + column + 1) << 16);
      const unsigned first = 8 * i + lane % 4 * 2, at = lane / 4;
      const uint32_t turned = (uint32_t)(snippet.out[lane][4 + i / 2] >> (32 * (i % 2)));
      assert_int_equal(turned, (100 * first + at) | (100 * (first + 1) + at) << 16);
    }
  }
}

static void stmatrix_is_the_reverse(void **state)
{
  (void)state;
  fill_rows();
  run(FILL "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%t2, %t3, %t4, %t5}, [%t1]; bar.warp.sync -1;"
           "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%t1], {%t2, %t3, %t4, %t5}; bar.warp.sync -1;"
           "ld.shared.v4.u32 {%d0, %d1, %d2, %d3}, [%t1];");
  for (unsigned lane = 0; lane < 32; lane++) {
    for (unsigned i = 0; i < 4; i++) {
      assert_int_equal(snippet.out[lane][i], snippet.in[lane][i]);
    }
  }
}

/* ---- mma -------------------------------------------------------------------------------------------------- */

enum { M = 16, N = 8, MAX_K = 32 };

static uint32_t encode_f16(double value)
{
  return emu_to_f16((float)value);
}
static uint32_t encode_bf16(double value)
{
  return emu_to_bf16((float)value);
}
static uint32_t encode_e4m3(double value)
{
  return emu_round_small(value, &emu_format_e4m3, EMU_RN, true);
}
static uint32_t encode_e5m2(double value)
{
  return emu_round_small(value, &emu_format_e5m2, EMU_RN, true);
}
static uint32_t encode_tf32(double value)
{
  return emu_bits32((float)value);
}
static uint32_t encode_s8(double value)
{
  return (uint32_t)(int)value & 0xff;
}

typedef struct mma_case {
  const char *opcode;
  unsigned k, bits;
  uint32_t (*encode)(double value);
  int is_integer;
} mma_case;

static const mma_case cases[] = {
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 16, encode_f16, 0},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, encode_bf16, 0},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 8, 16, encode_f16, 0},
    {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 8, 16, encode_bf16, 0},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8, 32, encode_tf32, 0},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 4, 32, encode_tf32, 0},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 8, encode_e4m3, 0},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", 32, 8, encode_e5m2, 0},
    {"mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32", 16, 8, encode_e4m3, 0},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32, 8, encode_s8, 1},
    {"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", 16, 8, encode_s8, 1},
};

static uint64_t random_state = 9;
static int draw(int limit)
{
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((random_state >> 33) % (unsigned)(2 * limit + 1)) - limit;
}

/* The documents give, for an element of A, its lane and place: groupID = lane / 4, threadID = lane % 4. With words
 * of w elements: a_i of i in [0, 4 w): row groupID + 8 where i / w is odd; column threadID * w + i % w, + 4 w where
 * i >= 2 w. */
static void place_a(const mma_case *how, double a[M][MAX_K], unsigned lane)
{
  const unsigned each = 32 / how->bits, words = how->k / each / 2;
  for (unsigned w = 0; w < words; w++) {
    uint32_t word = 0;
    for (unsigned j = 0; j < each; j++) {
      const unsigned i = w * each + j;
      const unsigned row = lane / 4 + (i / each % 2 != 0 ? 8 : 0);
      const unsigned column = lane % 4 * each + i % each + (i >= 2 * each ? 4 * each : 0);
      word |= (how->bits == 32 ? how->encode(a[row][column]) : how->encode(a[row][column]) << (how->bits * j));
    }
    snippet.in[lane][w] = word;
  }
}

/* b_i: row threadID * w + i % w, + 4 w where i >= w; column groupID. */
static void place_b(const mma_case *how, double b[MAX_K][N], unsigned lane)
{
  const unsigned each = 32 / how->bits, words = how->k / each / 4;
  for (unsigned w = 0; w < words; w++) {
    uint32_t word = 0;
    for (unsigned j = 0; j < each; j++) {
      const unsigned row = lane % 4 * each + j + (w > 0 ? 4 * each : 0);
      word |= (how->bits == 32 ? how->encode(b[row][lane / 4]) : how->encode(b[row][lane / 4]) << (how->bits * j));
    }
    snippet.in[lane][4 + w] = word;
  }
}

static void try_case(const mma_case *how)
{
  double a[M][MAX_K], b[MAX_K][N];
  memset(&snippet, 0, sizeof snippet);
  for (unsigned k = 0; k < how->k; k++) {
    for (unsigned m = 0; m < M; m++) {
      a[m][k] = draw(3);
    }
    for (unsigned n = 0; n < N; n++) {
      b[k][n] = draw(3);
    }
  }
  for (unsigned lane = 0; lane < 32; lane++) {
    place_a(how, a, lane);
    place_b(how, b, lane);
  }
  const unsigned words = how->k * how->bits / 64;
  char text[600];
  snprintf(text, sizeof text,
           "mov.u32 %%t0, %s; mov.u32 %%d0, %%t0; mov.u32 %%d1, %%t0; mov.u32 %%d2, %%t0; mov.u32 %%d3, %%t0;\n%s "
           "{%%d0, %%d1, %%d2, %%d3}, {%s}, {%s}, {%%d0, %%d1, %%d2, %%d3};",
           how->is_integer ? "5" : "0x40a00000", how->opcode, words == 4 ? "%a0, %a1, %a2, %a3" : "%a0, %a1",
           words == 4 ? "%a4, %a5" : "%a4");
  run(text);
  for (unsigned lane = 0; lane < 32; lane++) {
    for (unsigned i = 0; i < 4; i++) {
      const unsigned m = lane / 4 + (i >= 2 ? 8 : 0), n = lane % 4 * 2 + i % 2;
      double sum = 5;
      for (unsigned k = 0; k < how->k; k++) {
        sum += a[m][k] * b[k][n];
      }
      const uint32_t wanted = how->is_integer ? (uint32_t)(int)sum : emu_bits32((float)sum);
      if (snippet.out[lane][i] != wanted) {
        print_message("%s: lane %u register %u\n", how->opcode, lane, i);
      }
      assert_int_equal(snippet.out[lane][i], wanted);
    }
  }
}

static void mma_puts_each_element_in_its_place(void **state)
{
  (void)state;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (unsigned round = 0; round < 4; round++) {
      try_case(&cases[i]);
    }
  }
}

static void mma_carries_infinities_and_nan(void **state)
{
  (void)state;
  memset(&snippet, 0, sizeof snippet);
  for (unsigned lane = 0; lane < 32; lane++) {
    snippet.in[lane][0] = lane / 4 == 2 ? 0x7c007c00 : lane / 4 == 3 ? 0x7e000000 : 0x3c003c00; /* rows 2 and 3 */
    snippet.in[lane][4] = snippet.in[lane][5] = lane / 4 == 5 ? 0 : 0x3c003c00;                 /* column 5: zeros */
  }
  run("mov.f32 %d0, 0f00000000; mov.f32 %d1, %d0; mov.f32 %d2, %d0; mov.f32 %d3, %d0; mov.u32 %a1, 0;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a1, %a1}, {%a4, %a5},"
      "{%d0, %d1, %d2, %d3};");
  for (unsigned lane = 0; lane < 32; lane++) {
    for (unsigned i = 0; i < 2; i++) {
      const unsigned m = lane / 4, n = lane % 4 * 2 + i;
      const uint32_t wanted = m == 3             ? EMU_NAN32
                              : m == 2 && n == 5 ? EMU_NAN32
                              : m == 2           ? 0x7f800000
                              : n == 5           ? 0
                                                 : 0x41000000;
      assert_int_equal(snippet.out[lane][i], wanted);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ldmatrix_gives_rows_and_columns),
      cmocka_unit_test(stmatrix_is_the_reverse),
      cmocka_unit_test(mma_puts_each_element_in_its_place),
      cmocka_unit_test(mma_carries_infinities_and_nan),
  };
  return SJ_TEST_RUN(tests);
}
