/* SPDX-License-Identifier: Apache-2.0 */
/* ldmatrix, stmatrix and mma.sync. */
#include "families.h"
#include "lanes.h"
#include "matrix_sum.h"
#include "numbers.h"

/* ---- ldmatrix, stmatrix ----------------------------------------------------------------------------------- */

/* Eight rows of sixteen bytes a matrix; lane 8 i + r has the address of row r of matrix i. */
static bool find_rows(emu_warp *warp, const emu_step *step, unsigned count, emu_access_kind kind, uint8_t *rows[32])
{
  for (unsigned lane = 0; lane < 8 * count; lane++) {
    const uint64_t address = emu_address(warp, step, &step->src[0], lane);
    rows[lane] = emu_access(warp, step, lane, step->arg == 0 ? EMU_GENERIC : EMU_SHARED, address, 16, kind);
    if (rows[lane] == NULL) {
      return false;
    }
  }
  return true;
}

/* Choices: x1|x2|x4, trans. */
static emu_next ldmatrix(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)active;
  const unsigned count = 1u << (step->mods[0] - 1);
  uint8_t *rows[32];
  if (step->num_dst != count) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u registers for %u matrices", step->num_dst,
                     count);
  }
  if (!find_rows(warp, step, count, EMU_READ, rows)) {
    return EMU_FAULT;
  }
  for (unsigned i = 0; i < count; i++) {
    uint32_t *to = emu_out32(warp, &step->dst[i]);
    uint8_t *const *own = &rows[(size_t)8 * i];
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
      const unsigned row = lane / 4, pair = lane % 4;
      if (step->mods[1] == 0) {
        memcpy(&to[lane], own[row] + (size_t)4 * pair, 4);
      } else {
        uint16_t low, high;
        memcpy(&low, own[2 * pair] + (size_t)2 * row, 2);
        memcpy(&high, own[2 * pair + 1] + (size_t)2 * row, 2);
        to[lane] = low | (uint32_t)high << 16;
      }
    }
  }
  return EMU_NEXT;
}

static emu_next stmatrix(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)active;
  const unsigned count = 1u << (step->mods[0] - 1);
  uint8_t *rows[32];
  if (step->num_src != count + 1) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u registers for %u matrices", step->num_src - 1u,
                     count);
  }
  if (!find_rows(warp, step, count, EMU_WRITE, rows)) {
    return EMU_FAULT;
  }
  for (unsigned i = 0; i < count; i++) {
    const uint32_t *from = emu_in32(warp, &step->src[i + 1]);
    uint8_t *const *own = &rows[(size_t)8 * i];
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
      const unsigned row = lane / 4, pair = lane % 4;
      if (step->mods[1] == 0) {
        memcpy(own[row] + (size_t)4 * pair, &from[lane], 4);
      } else {
        const uint16_t low = (uint16_t)from[lane], high = (uint16_t)(from[lane] >> 16);
        memcpy(own[2 * pair] + (size_t)2 * row, &low, 2);
        memcpy(own[2 * pair + 1] + (size_t)2 * row, &high, 2);
      }
    }
  }
  return EMU_NEXT;
}

/* ---- mma.sync of floats ----------------------------------------------------------------------------------- */

/* Of 16 and 8 bits; tf32 is f32 with the lower bits left out. */
enum { IN_F16, IN_BF16, IN_E4M3, IN_E5M2, IN_TF32 };
enum { M = EMU_MMA_M, N = EMU_MMA_N };

/* Element j of each word, of one type. */
#define CONVERT(expression)                                                                                            \
  for (unsigned i = 0; i < EMU_LANES; i++) {                                                                           \
    const uint32_t bits = words[i] >> shift;                                                                           \
    to[i] = expression;                                                                                                \
  }                                                                                                                    \
  break

static void convert(const uint32_t words[EMU_LANES], unsigned j, unsigned type, float to[EMU_LANES])
{
  const unsigned shift = type == IN_TF32 ? 0 : type <= IN_BF16 ? 16 * j : 8 * j;
  switch (type) {
  case IN_F16:
    CONVERT(emu_f16_value(bits & 0xffff));
  case IN_BF16:
    CONVERT(emu_bf16_value(bits & 0xffff));
  case IN_E4M3:
    CONVERT(emu_e4m3_value(bits & 0xff));
  case IN_E5M2:
    CONVERT(emu_f16_value(bits << 8 & 0xffff));
  default:
    CONVERT(emu_float32(bits & ~0x1fffu));
  }
}

static unsigned per_word(unsigned type)
{
  return type == IN_TF32 ? 1 : type <= IN_BF16 ? 2 : 4;
}

/* Which four of a row's elements are the j-th ones of the four words of a half: the order of a sum's terms is of no
 * interest. Of bytes, which are multiplied in two steps, the first two of each word belong to the first. */
static unsigned four_of(unsigned half, unsigned j, unsigned each, unsigned k)
{
  return each < 4 ? half * each + j : j / 2 * (k / 8) + 2 * half + j % 2;
}

/* A[m][k]: register i of lane 4 r + c has row r + 8 (i mod 2) and the c-th word of half i / 2 of the row, a half
 * having four words. A k of four words only has no second half. */
static void gather_a(const emu_warp *warp, const emu_slot *slots, unsigned k, unsigned type, emu_factor *to)
{
  const unsigned each = per_word(type), registers = k / each / 2;
  for (unsigned i = 0; i < registers; i++) {
    for (unsigned j = 0; j < each; j++) {
      const unsigned first = emu_factor_a(M / 2 * (i % 2), EMU_MMA_FOUR * four_of(i / 2, j, each, k));
      convert(emu_in32(warp, &slots[i]), j, type, &to->values[first]);
    }
  }
  emu_factor_look(to, k * M);
}

/* B[k][n]: register i of lane 4 n + c has the c-th word of half i of column n. */
static void gather_b(const emu_warp *warp, const emu_slot *slots, unsigned k, unsigned type, emu_factor *to)
{
  const unsigned each = per_word(type), registers = k / each / 4;
  for (unsigned i = 0; i < registers; i++) {
    const uint32_t *from = emu_in32(warp, &slots[i]);
    uint32_t words[EMU_LANES];
    for (unsigned n = 0; n < N; n++) {
      for (unsigned c = 0; c < EMU_MMA_FOUR; c++) {
        words[emu_factor_b(c, n)] = from[EMU_MMA_FOUR * n + c];
      }
    }
    for (unsigned j = 0; j < each; j++) {
      convert(words, j, type, &to->values[emu_factor_b(EMU_MMA_FOUR * four_of(i, j, each, k), 0)]);
    }
  }
  emu_factor_look(to, k * N);
}

/* sums += with, each rounded to nearest. */
static void add_rounded(emu_sums *sums, const emu_sums *with, bool is_f16)
{
  for (unsigned i = 0; i < M * N; i++) {
    const float sum = sums->at[i] + with->at[i];
    sums->at[i] = is_f16 ? emu_f16_value(emu_to_f16(sum)) : sum;
  }
}

typedef struct mma_shape {
  uint8_t k, a_type, b_type;
  bool f16_result;
} mma_shape;

/* Bytes become f16 and are multiplied in two steps from 0 on; the accumulator is added at the end. */
static void multiply(mma_shape shape, const emu_factor *a, const emu_factor *b, emu_sums *c)
{
  const emu_sum_rule rule = {.is_f16 = shape.f16_result, .kept_bits = 25, .result_bits = 23};
  if (per_word(shape.a_type) < 4) {
    emu_matrix_add(a, b, 0, shape.k, rule, c);
    return;
  }
  emu_sums sums = {{0}};
  for (unsigned from = 0; from < shape.k; from += shape.k / 2) {
    emu_matrix_add(a, b, from, from + shape.k / 2, rule, &sums);
  }
  add_rounded(c, &sums, shape.f16_result);
}

static emu_next product(emu_warp *warp, const emu_step *step, mma_shape shape)
{
  emu_factor a, b;
  emu_sums c;
  const unsigned a_registers = shape.k / per_word(shape.a_type) / 2, b_registers = a_registers / 2;
  const emu_slot *b_slots = step->src + a_registers;
  gather_a(warp, step->src, shape.k, shape.a_type, &a);
  gather_b(warp, b_slots, shape.k, shape.b_type, &b);
  emu_matrix_load(warp, b_slots + b_registers, shape.f16_result, &c);
  multiply(shape, &a, &b, &c);
  emu_matrix_store(warp, step->dst, shape.f16_result, &c);
  return EMU_NEXT;
}

/* arg: k / 4; + 64: 16-bit results, + 128: tf32. Choices: f16|bf16 of A. */
static emu_next mma_f16(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)active;
  const uint8_t k = (uint8_t)((step->arg & 31) * 4);
  const bool small = (step->arg & 64) != 0, tf32 = (step->arg & 128) != 0;
  const uint8_t type = tf32 ? IN_TF32 : !small && step->mods[0] == 2 ? IN_BF16 : IN_F16;
  return product(warp, step, (mma_shape){k, type, type, small});
}

/* Choices: e4m3|e5m2 of A, then of B. */
static emu_next mma_f8(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)active;
  const uint8_t a = step->mods[0] == 1 ? IN_E4M3 : IN_E5M2, b = step->mods[1] == 1 ? IN_E4M3 : IN_E5M2;
  return product(warp, step, (mma_shape){(uint8_t)((step->arg & 31) * 4), a, b, (step->arg & 64) != 0});
}

/* ---- mma.sync of bytes ------------------------------------------------------------------------------------ */

static int32_t byte_of(uint32_t word, unsigned index, bool is_signed)
{
  const uint8_t byte = (uint8_t)(word >> (8 * index));
  return is_signed ? (int8_t)byte : byte;
}

/* The c-th word of a row's or column's half: registers as above. */
static int64_t dot_of(const emu_warp *warp, const emu_step *step, unsigned words, unsigned m, unsigned n)
{
  const bool a_signed = step->mods[1] == 2, b_signed = step->mods[2] == 2;
  const unsigned a_registers = words / 2;
  int64_t sum = 0;
  for (unsigned w = 0; w < words; w++) {
    const uint32_t a = emu_in32(warp, &step->src[m / 8 + 2 * (w / 4)])[4 * (m % 8) + w % 4];
    const uint32_t b = emu_in32(warp, &step->src[a_registers + w / 4])[4 * n + w % 4];
    for (unsigned j = 0; j < 4; j++) {
      sum += byte_of(a, j, a_signed) * byte_of(b, j, b_signed);
    }
  }
  return sum;
}

/* Choices: satfinite, u8|s8 of A, of B. */
static emu_next mma_s8(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)active;
  const unsigned words = step->arg;
  const emu_slot *c = step->src + words / 2 + words / 4;
  int32_t results[4][EMU_LANES];
  for (unsigned i = 0; i < 4; i++) {
    const int32_t *with = EMU_IN(s32, warp, &c[i]);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
      int64_t sum = dot_of(warp, step, words, lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2) + with[lane];
      if (step->mods[0] != 0) {
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      }
      results[i][lane] = (int32_t)(uint32_t)(uint64_t)sum;
    }
  }
  for (unsigned i = 0; i < 4; i++) {
    memcpy(EMU_OUT(s32, warp, &step->dst[i]), results[i], sizeof results[i]);
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg, arch)                                                                    \
  {                                                                                                                    \
    pattern, operands, function, EMU_ROW_ALIGNED, arg, arch                                                            \
  }
#define MMA "mma.sync.aligned."

static const emu_row rows[] = {
    ROW("ldmatrix.sync.aligned.m8n8.x1|x2|x4.trans?.shared.b16", "=vw a", ldmatrix, 1, 75),
    ROW("ldmatrix.sync.aligned.m8n8.x1|x2|x4.trans?.shared::cta.b16", "=vw a", ldmatrix, 1, 75),
    ROW("ldmatrix.sync.aligned.m8n8.x1|x2|x4.trans?.b16", "=vw a", ldmatrix, 0, 75),
    ROW("stmatrix.sync.aligned.m8n8.x1|x2|x4.trans?.shared.b16", "a vw", stmatrix, 1, 90),
    ROW("stmatrix.sync.aligned.m8n8.x1|x2|x4.trans?.shared::cta.b16", "a vw", stmatrix, 1, 90),
    ROW("stmatrix.sync.aligned.m8n8.x1|x2|x4.trans?.b16", "a vw", stmatrix, 0, 90),
    ROW(MMA "m16n8k16.row.col.f32.f16|-.f16.f32", "=v4w v4w v2w v4w", mma_f16, 4, 80),
    ROW(MMA "m16n8k16.row.col.f32.-|bf16.bf16.f32", "=v4w v4w v2w v4w", mma_f16, 4, 80),
    ROW(MMA "m16n8k8.row.col.f32.f16|-.f16.f32", "=v4w v2w v1w v4w", mma_f16, 2, 75),
    ROW(MMA "m16n8k8.row.col.f32.-|bf16.bf16.f32", "=v4w v2w v1w v4w", mma_f16, 2, 80),
    ROW(MMA "m16n8k16.row.col.f16.f16.f16.f16", "=v2w v4w v2w v2w", mma_f16, 4 | 64, 80),
    ROW(MMA "m16n8k8.row.col.f16.f16.f16.f16", "=v2w v2w v1w v2w", mma_f16, 2 | 64, 75),
    ROW(MMA "m16n8k8.row.col.f32.tf32.tf32.f32", "=v4w v4w v2w v4w", mma_f16, 2 | 128, 80),
    ROW(MMA "m16n8k4.row.col.f32.tf32.tf32.f32", "=v4w v2w v1w v4w", mma_f16, 1 | 128, 80),
    ROW(MMA "m16n8k32.row.col.f32.e4m3|e5m2.e4m3|e5m2.f32", "=v4w v4w v2w v4w", mma_f8, 8, 89),
    ROW(MMA "m16n8k16.row.col.f32.e4m3|e5m2.e4m3|e5m2.f32", "=v4w v2w v1w v4w", mma_f8, 4, 89),
    ROW(MMA "m16n8k32.row.col.f16.e4m3|e5m2.e4m3|e5m2.f16", "=v2w v4w v2w v2w", mma_f8, 8 | 64, 89),
    ROW(MMA "m16n8k16.row.col.f16.e4m3|e5m2.e4m3|e5m2.f16", "=v2w v2w v1w v2w", mma_f8, 4 | 64, 89),
    ROW(MMA "m16n8k32.row.col.satfinite?.s32.u8|s8.u8|s8.s32", "=v4w v4w v2w v4w", mma_s8, 8, 80),
    ROW(MMA "m16n8k16.row.col.satfinite?.s32.u8|s8.u8|s8.s32", "=v4w v2w v1w v4w", mma_s8, 4, 80),
};

EMU_FAMILY(emu_family_matrix, rows);
