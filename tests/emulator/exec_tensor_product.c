/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05.mma, PTX ISA 9.7.16.10.9. It is checked when it is issued, and computed when it happens. Products are summed
 * in double, the accumulator added, and the sum rounded once: the hardware's own order is not documented. */
#include "families.h"
#include "lanes.h"
#include "numbers.h"
#include "product_shape.h"
#include "smem_matrix.h"
#include "tensor_memory.h"

enum { MAX_ROWS = 128, MAX_N = 256, MAX_K = 32, OPERAND_WORDS = 8, OPERAND_CHUNKS = 2, MAX_BLOCKS = 2 };

/* In a row's arg. */
enum { A_IN_TENSOR = 1, HAS_LANES = 2, IS_WS = 4, HAS_SCALE = 8 };

typedef struct product {
  emu_tensor_event head;
  emu_product_shape shape;
  emu_smem_matrix a, b;
  emu_block *blocks[MAX_BLOCKS]; /* in the order of their rows */
  uint32_t a_lane, a_column, d_lane, d_column;
  uint32_t off[MAX_BLOCKS][EMU_TENSOR_WORDS]; /* lanes that are not written */
  uint32_t zero[MAX_N / 32];                  /* columns of B that count as zero */
  uint32_t shift;                             /* the first column of B */
  double factor;                              /* of D: a power of two */
  bool a_in_tensor, accumulates;
} product;

/* ---- What it computes ------------------------------------------------------------------------------------- */

/* Rows of a matrix in shared memory: to[row * row_step + k * k_step]. */
static void gather_shared(const emu_block *block, const emu_smem_matrix *matrix, bool is_k_major, emu_element type,
                          uint32_t first, uint32_t rows, uint32_t num_k, float *to, size_t row_step, size_t k_step)
{
  const uint32_t each = emu_elements_per_chunk(type);
  const uint32_t outer = is_k_major ? rows : rows / each, inner = is_k_major ? OPERAND_CHUNKS : num_k;
  for (uint32_t i = 0; i < outer; i++) {
    for (uint32_t j = 0; j < inner; j++) {
      const uint32_t address =
          emu_smem_matrix_chunk(matrix, is_k_major, i + (is_k_major ? first : first / each), j) - EMU_SHARED_BASE;
      for (uint32_t e = 0; e < each; e++) {
        const size_t row = is_k_major ? i : i * each + e, k = is_k_major ? j * each + e : j;
        to[row * row_step + k * k_step] = emu_element_of_chunk(block->shared + address, type, e);
      }
    }
  }
}

static void gather_tensor(const product *made, const emu_block *block, uint32_t part, float a[MAX_ROWS][MAX_K])
{
  const emu_product_shape *shape = &made->shape;
  const uint32_t each = emu_elements_per_chunk(shape->a) / 4;
  for (uint32_t row = 0; row < shape->rows; row++) {
    const uint32_t lane = emu_product_lane(shape, row, part, made->a_lane);
    const uint32_t *words = &block->tensor->cells[(size_t)lane * EMU_TENSOR_COLUMNS + made->a_column];
    for (uint32_t k = 0; k < shape->k; k++) {
      a[row][k] = emu_element_of_word(words[k / each], shape->a, k % each);
    }
  }
}

static void gather_b(const product *made, float b[MAX_K][MAX_N])
{
  const emu_product_shape *shape = &made->shape;
  const uint32_t columns = shape->n / shape->blocks;
  for (uint32_t i = 0; i < shape->blocks; i++) {
    gather_shared(made->blocks[i], &made->b, !shape->transposes_b, shape->b, made->shift, columns, shape->k,
                  &b[0][(size_t)i * columns], 1, MAX_N);
  }
  for (uint32_t n = 0; n < shape->n; n++) {
    const bool is_zero = (made->zero[n / 32] >> (n % 32) & 1) != 0;
    for (uint32_t k = 0; k < shape->k && (is_zero || shape->negates_b); k++) {
      b[k][n] = is_zero ? 0 : -b[k][n];
    }
  }
}

static uint32_t sum_f32(double sum, uint32_t before, const product *made)
{
  const double with = made->accumulates ? (double)emu_float32(before) * made->factor : 0;
  return emu_bits32(emu_canonical((float)(made->accumulates ? sum + with : sum)));
}

/* What the upper half of a word becomes is not documented: it stays. */
static uint32_t sum_f16(double sum, uint32_t before, const product *made)
{
  const double with = made->accumulates ? (double)emu_f16_value(before & 0xffff) * made->factor : 0;
  return (before & 0xffff0000) | emu_to_f16(emu_odd_f32(emu_sum_odd(sum, with)));
}

static uint32_t sum_s32(double sum, uint32_t before, const product *made)
{
  int64_t whole = (int64_t)sum + (made->accumulates ? (int32_t)before : 0);
  if (made->shape.saturates) {
    whole = whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole;
  }
  return (uint32_t)(uint64_t)whole;
}

/* One row of a part of D's columns. */
static void multiply_row(const product *made, const float a[MAX_K], float b[MAX_K][MAX_N], uint32_t first, uint32_t *to)
{
  const emu_product_shape *shape = &made->shape;
  const uint32_t columns = shape->n / shape->parts;
  double sums[MAX_N] = {0};
  const double sign = shape->negates_a ? -1 : 1;
  for (uint32_t k = 0; k < shape->k; k += 4) { /* four at a time, in their order */
    const double a0 = sign * (double)a[k], a1 = sign * (double)a[k + 1];
    const double a2 = sign * (double)a[k + 2], a3 = sign * (double)a[k + 3];
    const float *b0 = &b[k][first], *b1 = b0 + MAX_N, *b2 = b1 + MAX_N, *b3 = b2 + MAX_N;
    for (uint32_t n = 0; n < columns; n++) {
      sums[n] = sums[n] + a0 * (double)b0[n] + a1 * (double)b1[n] + a2 * (double)b2[n] + a3 * (double)b3[n];
    }
  }
  for (uint32_t n = 0; n < columns; n++) {
    to[n] = shape->d == EMU_SUM_F32   ? sum_f32(sums[n], to[n], made)
            : shape->d == EMU_SUM_F16 ? sum_f16(sums[n], to[n], made)
                                      : sum_s32(sums[n], to[n], made);
  }
}

static void product_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  product *made = (product *)event;
  emu_tensor_happen_before(&made->head);
  const emu_product_shape *shape = &made->shape;
  float a[MAX_ROWS][MAX_K], b[MAX_K][MAX_N];
  gather_b(made, b);
  for (uint32_t i = 0; i < shape->blocks; i++) {
    const emu_block *block = made->blocks[i];
    for (uint32_t part = 0; part < shape->parts; part++) {
      if (made->a_in_tensor) {
        gather_tensor(made, block, part, a);
      } else if (part == 0) {
        gather_shared(block, &made->a, !shape->transposes_a, shape->a, 0, shape->rows, shape->k, &a[0][0], MAX_K, 1);
      }
      for (uint32_t row = 0; row < shape->rows; row++) {
        const uint32_t lane = emu_product_lane(shape, row, part, made->d_lane);
        if ((made->off[i][lane / 32] >> (lane % 32) & 1) == 0) {
          multiply_row(made, a[row], b, part * (shape->n / shape->parts),
                       &block->tensor->cells[(size_t)lane * EMU_TENSOR_COLUMNS + made->d_column]);
        }
      }
    }
  }
}

/* ---- Checks ----------------------------------------------------------------------------------------------- */

typedef struct issue {
  emu_warp *warp;
  const emu_step *step;
  unsigned lane;
  emu_tensor_op op;
} issue;

static bool read_descriptor(const issue *by, const char *which, uint64_t bits, emu_smem_matrix *out)
{
  char why[160];
  if (!emu_smem_matrix_decode(bits, out, why, sizeof why)) {
    emu_fault(by->warp, by->step, by->lane, EMU_ILLEGAL_INSTRUCTION, "%s's matrix descriptor 0x%016llx: %s", which,
              (unsigned long long)bits, why);
    return false;
  }
  return true;
}

/* Table 54: which swizzling a matrix of this type and direction may have. */
static bool good_swizzle(const issue *by, const char *which, const emu_smem_matrix *matrix, emu_element type,
                         bool is_transposed)
{
  const bool has_atom_32 = matrix->swizzle == EMU_SWIZZLE_128_ATOM_32;
  if (is_transposed && has_atom_32 != (type == EMU_ELEMENT_TF32)) {
    emu_fault(by->warp, by->step, by->lane, EMU_ILLEGAL_INSTRUCTION, "%s is transposed with a swizzling mode of %u: %s",
              which, (unsigned)matrix->swizzle,
              has_atom_32 ? "32-byte atoms are for tf32 alone" : "tf32 needs 128 bytes with 32-byte atoms (1)");
    return false;
  }
  return true;
}

/* The chunks are there, written, and in no race. */
static bool enter_shared(const issue *by, emu_block *block, const char *which, const emu_smem_matrix *matrix,
                         bool is_k_major, emu_element type, uint32_t first, uint32_t rows, uint32_t num_k)
{
  const uint32_t each = is_k_major ? 1 : emu_elements_per_chunk(type);
  const uint32_t inner = is_k_major ? OPERAND_CHUNKS : num_k;
  for (uint32_t i = 0; i < rows / each; i++) {
    for (uint32_t j = 0; j < inner; j++) {
      const uint32_t address = emu_smem_matrix_chunk(matrix, is_k_major, first / each + i, j);
      if (!emu_tensor_read_shared(&by->op, block, address, which)) {
        return false;
      }
    }
  }
  return true;
}

static emu_tensor_part part_of(const product *made, uint32_t lane, uint32_t column, uint32_t columns)
{
  emu_tensor_part part = {.first = column, .end = column + columns};
  for (unsigned i = 0; i < EMU_TENSOR_WORDS; i++) {
    part.lanes[i] = made->shape.is_half ? 0xffffu << lane : ~0u;
  }
  return part;
}

static bool enter_a(const issue *by, const product *made, emu_block *block)
{
  const emu_product_shape *shape = &made->shape;
  if (!made->a_in_tensor) {
    return enter_shared(by, block, "A", &made->a, !shape->transposes_a, shape->a, 0, shape->rows, shape->k);
  }
  const emu_tensor_part part = part_of(made, made->a_lane, made->a_column, OPERAND_WORDS);
  return emu_tensor_owned(by->warp, by->step, by->lane, block, part.first, OPERAND_WORDS)
         && emu_tensor_is_written(by->warp, by->step, by->lane, block, &part)
         && emu_tensor_access(block, &by->op, &part, false);
}

static bool enter_d(const issue *by, const product *made, uint32_t i)
{
  const emu_product_shape *shape = &made->shape;
  emu_block *block = made->blocks[i];
  const uint32_t columns = shape->n / shape->parts;
  emu_tensor_part part = part_of(made, made->d_lane, made->d_column, columns);
  for (unsigned w = 0; w < EMU_TENSOR_WORDS; w++) {
    part.lanes[w] &= ~made->off[i][w];
  }
  if (!emu_tensor_owned(by->warp, by->step, by->lane, block, part.first, columns)
      || (made->accumulates && !emu_tensor_is_written(by->warp, by->step, by->lane, block, &part))
      || !emu_tensor_access(block, &by->op, &part, true)) {
    return false;
  }
  emu_tensor_mark_written(block, &part);
  return true;
}

static bool enter_all(const issue *by, const product *made)
{
  const emu_product_shape *shape = &made->shape;
  for (uint32_t i = 0; i < shape->blocks; i++) {
    if (!enter_a(by, made, made->blocks[i])
        || !enter_shared(by, made->blocks[i], "B", &made->b, !shape->transposes_b, shape->b, made->shift,
                         shape->n / shape->blocks, shape->k)
        || !enter_d(by, made, i)) {
      return false;
    }
  }
  return true;
}

/* Lanes of D and of A in tensor memory, "Tensor Memory Datapath Lane Alignment" of 9.7.16.10.5. */
static bool good_lanes(const issue *by, const product *made)
{
  const emu_product_shape *shape = &made->shape;
  const bool good = made->d_lane == 0 || (shape->is_half && made->d_lane == 16);
  if (!good) {
    emu_fault(by->warp, by->step, by->lane, EMU_ILLEGAL_INSTRUCTION, "D is at lane %u of tensor memory: %s",
              made->d_lane, shape->is_half ? "0 or 16 with M = 64" : "it begins at lane 0");
    return false;
  }
  if (made->a_in_tensor && made->a_lane != made->d_lane) {
    emu_fault(by->warp, by->step, by->lane, EMU_ILLEGAL_INSTRUCTION,
              "A is at lane %u of tensor memory and D at lane %u: they must be equal", made->a_lane, made->d_lane);
    return false;
  }
  return true;
}

/* The zero-column mask descriptor, 9.7.16.4.3, as its examples have it: runs of "use span" + 1 columns that count and
 * of "skip span" + 1 that do not take turns. */
static bool read_zero_columns(const issue *by, product *made, uint64_t bits)
{
  const emu_product_shape *shape = &made->shape;
  const uint32_t zeros = (uint32_t)(bits >> 40 & 0xff) + 1, used = (uint32_t)(bits >> 48 & 0xff) + 1;
  const uint32_t columns = shape->n / shape->parts;
  made->shift = (uint32_t)(bits >> 56 & 0x3f);
  const uint32_t most = shape->m == 32 ? 16 : 32, step = shape->transposes_b ? emu_elements_per_chunk(shape->b) : 1;
  if ((bits >> 36 & 7) != 0 || (bits >> 62) != 0 || made->shift > most || made->shift % step != 0) {
    emu_fault(by->warp, by->step, by->lane, EMU_ILLEGAL_INSTRUCTION,
              "the zero-column mask descriptor 0x%016llx: reserved bits, or a shift of %u columns (multiples of %u, at "
              "most %u)",
              (unsigned long long)bits, made->shift, step, most);
    return false;
  }
  for (uint32_t n = 0; n < shape->n && (bits >> 39 & 1) != 0; n++) {
    const uint32_t part = n / columns;
    const bool begins_with_zeros = (bits >> (32 + part) & 1) != 0;
    const uint32_t at = (n % columns + (uint32_t)(bits >> (8 * part) & 0xff)) % (zeros + used);
    const bool is_zero = begins_with_zeros ? at < zeros : at >= used;
    made->zero[n / 32] |= (uint32_t)is_zero << (n % 32);
  }
  return true;
}

/* ---- Operands --------------------------------------------------------------------------------------------- */

/* Behind idesc: lanes that are off, the predicate, a scale or a mask of columns. */
static bool read_rest(const issue *by, product *made, unsigned at)
{
  const emu_step *step = by->step;
  if ((step->arg & HAS_LANES) != 0) {
    for (unsigned i = 0; i < EMU_TENSOR_WORDS * made->shape.blocks; i++) {
      made->off[i / EMU_TENSOR_WORDS][i % EMU_TENSOR_WORDS] = emu_in32(by->warp, &step->src[at++])[by->lane];
    }
  }
  made->factor = 1;
  made->accumulates = (emu_in_pred(by->warp, &step->src[at++]) >> by->lane & 1) != 0;
  if (at == step->num_src) {
    return true;
  }
  const uint64_t value = emu_lane(by->warp, &step->src[at], by->lane);
  if ((step->arg & IS_WS) != 0) {
    return read_zero_columns(by, made, value);
  }
  if (value > 15) {
    emu_fault(by->warp, step, by->lane, EMU_ILLEGAL_INSTRUCTION, "scale-input-d of %llu: 0 to 15",
              (unsigned long long)value);
    return false;
  }
  made->factor = ldexp(1, -(int)value);
  return true;
}

static bool read_blocks(const issue *by, product *made, uint32_t blocks)
{
  emu_block *own = by->warp->block;
  made->blocks[0] = own;
  if (blocks == 1) {
    return true;
  }
  emu_block *peer = emu_tensor_ready_peer(by->warp, by->step, by->lane);
  if (peer == NULL) {
    return false;
  }
  made->blocks[own->cluster_rank & 1] = own;
  made->blocks[peer->cluster_rank & 1] = peer;
  return true;
}

static bool read_operands(const issue *by, product *made)
{
  emu_warp *warp = by->warp;
  const emu_step *step = by->step;
  const bool is_ws = (step->arg & IS_WS) != 0;
  const uint32_t d = (uint32_t)emu_address(warp, step, &step->src[0], by->lane);
  const uint32_t idesc = emu_in32(warp, &step->src[3])[by->lane];
  const emu_product_kind kind = (emu_product_kind)(step->mods[is_ws ? 0 : 1] - 1);
  char why[160];
  if (!emu_product_decode(idesc, kind, is_ws, is_ws ? 1 : step->mods[0], &made->shape, why, sizeof why)) {
    emu_fault(warp, step, by->lane, EMU_ILLEGAL_INSTRUCTION, "the instruction descriptor 0x%08x: %s", idesc, why);
    return false;
  }
  made->d_lane = d >> 16;
  made->d_column = d & 0xffff;
  made->a_in_tensor = (step->arg & A_IN_TENSOR) != 0;
  if (made->a_in_tensor) {
    const uint32_t a = (uint32_t)(emu_lane(warp, &step->src[1], by->lane) + (uint64_t)step->offset2);
    made->a_lane = a >> 16;
    made->a_column = a & 0xffff;
    if (made->shape.transposes_a) {
      emu_fault(warp, step, by->lane, EMU_ILLEGAL_INSTRUCTION, "A in tensor memory is transposed");
      return false;
    }
  } else if (!read_descriptor(by, "A", emu_lane(warp, &step->src[1], by->lane), &made->a)
             || !good_swizzle(by, "A", &made->a, made->shape.a, made->shape.transposes_a)) {
    return false;
  }
  return read_descriptor(by, "B", emu_lane(warp, &step->src[2], by->lane), &made->b)
         && good_swizzle(by, "B", &made->b, made->shape.b, made->shape.transposes_b)
         && read_blocks(by, made, made->shape.blocks) && read_rest(by, made, 4) && good_lanes(by, made);
}

static emu_next mma(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    issue by = {.warp = warp, .step = step, .lane = lane};
    product read = {0};
    if (!read_operands(&by, &read) || !emu_tensor_op_begin(warp, step, lane, EMU_TENSOR_PRODUCT, &by.op)) {
      return EMU_FAULT;
    }
    by.op.accumulator = read.d_lane << 16 | read.d_column;
    by.op.shape = read.shape.m | read.shape.n << 10 | read.shape.k << 20 | (uint32_t)(step->arg & IS_WS) << 28;
    if (!enter_all(&by, &read)) {
      return EMU_FAULT;
    }
    emu_tensor_op_end(&by.op);
    product *made = emu_event_add(warp, step, 1u << lane, sizeof *made, EMU_EVENT_TENSOR_PIPE, product_happens);
    if (made == NULL) {
      return EMU_FAULT;
    }
    read.head.event = made->head.event;
    read.head.op = by.op;
    *made = read;
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, arg)                                                                                    \
  {                                                                                                                    \
    pattern, operands, mma, EMU_ROW_TENSOR | EMU_ROW_ASYNC, arg, 100 | 128                                             \
  }
#define MMA "tcgen05.mma.cta_group::1|cta_group::2."
#define FEW "tcgen05.mma.cta_group::1|-."
#define MANY "tcgen05.mma.-|cta_group::2."
#define WS "tcgen05.mma.ws.cta_group::1."
#define KINDS "kind::f16|kind::tf32|kind::f8f6f4|kind::i8."
#define SCALED "kind::f16|kind::tf32."
#define OF_A "collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard?"
#define OF_BUFFER(b) "collector::" b "::fill|collector::" b "::use|collector::" b "::lastuse|collector::" b "::discard"
#define OF_B OF_BUFFER("b0") "|" OF_BUFFER("b1") "|" OF_BUFFER("b2") "|" OF_BUFFER("b3") "?"
/* a: the letter of A's operand. */
#define EACH(a, arg)                                                                                                   \
  ROW(MMA KINDS OF_A, "a " a " l w p", arg), ROW(FEW KINDS OF_A, "a " a " l w v4w p", (arg) | HAS_LANES),              \
      ROW(MANY KINDS OF_A, "a " a " l w v8w p", (arg) | HAS_LANES),                                                    \
      ROW(MMA SCALED OF_A, "a " a " l w p c", (arg) | HAS_SCALE),                                                      \
      ROW(FEW SCALED OF_A, "a " a " l w v4w p c", (arg) | HAS_LANES | HAS_SCALE),                                      \
      ROW(MANY SCALED OF_A, "a " a " l w v8w p c", (arg) | HAS_LANES | HAS_SCALE),                                     \
      ROW(WS KINDS OF_B, "a " a " l w p l?", (arg) | IS_WS)

static const emu_row rows[] = {EACH("l", 0), EACH("a", A_IN_TENSOR)};

EMU_FAMILY(emu_family_product, rows);
