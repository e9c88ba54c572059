/* SPDX-License-Identifier: Apache-2.0 */
#include "wgmma_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "numbers.h"

enum { M = 64, MAX_N = 256, MAX_K = 256, LINE = 32, ROW_STEP = 5 };

static const char *const names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1", "f32", "s32"};

static unsigned bits_of(wgmma_type type)
{
  return type == TF32 ? 32 : type <= BF16 ? 16 : type == B1 ? 1 : 8;
}

static unsigned k_of(const wgmma_case *of)
{
  return 8 * LINE / bits_of(of->a_type);
}

static bool is_integer(const wgmma_case *of)
{
  return of->d_type == S32;
}

static unsigned d_registers(const wgmma_case *of)
{
  return of->d_type == F16 ? of->n / 4 : of->n / 2;
}

/* ---- Places ----------------------------------------------------------------------------------------------- */

/* "Canonical Layouts": modes of M or N and of K, each a size and a stride, in elements of at least eight bits. The last
 * mode of each has no end. */
typedef struct layout {
  unsigned mn_size[3], mn_stride[3], k_size[2], k_stride[2];
} layout;

static layout layout_of(const wgmma_place *place, unsigned element)
{
  static const unsigned widths[4] = {1, 8, 4, 2};
  const unsigned t = 16 / element, w = widths[place->swizzle];
  const unsigned leading = place->leading / element, stride = place->stride / element;
  if (place->is_mn_major) {
    return place->swizzle == 0 ? (layout){{t, 1, ~0u}, {1, t, stride}, {8, ~0u}, {t, leading}}
                               : (layout){{t, w, ~0u}, {1, t, leading}, {8, ~0u}, {w * t, stride}};
  }
  return place->swizzle == 0 ? (layout){{8, 1, ~0u}, {t, 0, stride}, {t, ~0u}, {1, leading}}
                             : (layout){{8, 1, ~0u}, {w * t, 0, stride}, {t, ~0u}, {1, t}};
}

static unsigned along(const unsigned *size, const unsigned *stride, unsigned modes, unsigned at)
{
  unsigned offset = 0;
  for (unsigned i = 0; i < modes; i++) {
    offset += at % size[i] * stride[i];
    at /= size[i];
  }
  return offset;
}

/* The table's second half: Swizzle<B, 4, 3> takes B bits from bit 7 on to the bits from 4 on. */
static unsigned swizzled(unsigned offset, unsigned swizzle)
{
  static const unsigned bits[4] = {0, 3, 2, 1};
  return offset ^ (offset >> 7 & ((1u << bits[swizzle]) - 1)) << 4;
}

/* The byte of an element, from the beginning of shared memory. */
static unsigned place_of(const wgmma_place *place, unsigned element, unsigned mn, unsigned k)
{
  const layout in = layout_of(place, element);
  const unsigned offset = along(in.mn_size, in.mn_stride, 3, mn) + along(in.k_size, in.k_stride, 2, k);
  return place->start + swizzled(offset * element, place->swizzle);
}

static unsigned element_bytes(wgmma_type type)
{
  return type == B1 ? 1 : bits_of(type) / 8;
}

/* The descriptor; its start is where the first element of this step lies. */
static uint64_t descriptor(const wgmma_place *place, wgmma_type type)
{
  const unsigned element = element_bytes(type), k = LINE / element;
  const layout in = layout_of(place, element);
  const unsigned start = place->start + along(in.k_size, in.k_stride, 2, place->step * k) * element;
  /* Bits 51-49: for a pattern that does not start at a boundary of its size. */
  static const unsigned boundary[4] = {16, 1024, 512, 256};
  const uint64_t base = place->start % boundary[place->swizzle] == 0 ? 0 : place->start >> 7 & 7;
  return start >> 4 | (uint64_t)(place->leading >> 4) << 16 | (uint64_t)(place->stride >> 4) << 32 | base << 49
         | (uint64_t)place->swizzle << 62;
}

wgmma_case wgmma_case_of(wgmma_type a_type, wgmma_type b_type, wgmma_type d_type, unsigned n)
{
  wgmma_case made = {.a_type = a_type, .b_type = b_type, .d_type = d_type, .n = n, .accumulates = true, .seed = 1};
  wgmma_case_place(&made, false, false, 0, false, 0);
  return made;
}

static unsigned place_one(wgmma_place *place, unsigned element, unsigned rows, unsigned start, bool padded)
{
  static const unsigned widths[4] = {16, 128, 64, 32};
  const unsigned width = widths[place->swizzle], pattern = 8 * width, gap = padded ? pattern : 0;
  const unsigned k = (place->step + 1) * LINE / element;
  place->start = (start + 1023) / 1024 * 1024;
  if (!place->is_mn_major) {
    const unsigned patterns = rows / 8;
    place->stride = place->swizzle != 0 ? pattern + gap : 128 + gap;
    place->leading = place->swizzle != 0 ? 16 : patterns * place->stride + gap;
    return place->start + patterns * place->stride + 2 * (place->step + 1) * place->leading + 4096;
  }
  const unsigned across = (rows * element + width - 1) / width, down = (k + 7) / 8;
  const unsigned inner = pattern + gap, outer = down * inner + gap;
  place->leading = place->swizzle != 0 ? outer : inner;
  place->stride = place->swizzle != 0 ? inner : outer;
  return place->start + across * outer + down * inner;
}

void wgmma_case_place(wgmma_case *of, bool a_mn_major, bool b_mn_major, unsigned swizzle, bool padded, unsigned step)
{
  of->a = (wgmma_place){.is_mn_major = a_mn_major, .swizzle = swizzle, .step = step};
  of->b = (wgmma_place){.is_mn_major = b_mn_major, .swizzle = swizzle, .step = step};
  const unsigned end = place_one(&of->a, element_bytes(of->a_type), M, 0, padded);
  const unsigned all = place_one(&of->b, element_bytes(of->b_type), of->n, end, padded);
  of->used = (all + 2047) / 2048 * 2048;
}

/* ---- The kernel ------------------------------------------------------------------------------------------- */

void wgmma_case_opcode(const wgmma_case *of, char *to, size_t room)
{
  (void)snprintf(to, room, "wgmma.mma_async.sync.aligned.m64n%uk%u%s.%s.%s.%s%s", of->n, k_of(of),
                 of->saturates ? ".satfinite" : "", names[of->d_type], names[of->a_type], names[of->b_type],
                 of->a_type == B1 ? ".and.popc" : "");
}

static size_t add_registers(char *to, size_t room, const char *name, unsigned count)
{
  size_t at = 0;
  for (unsigned i = 0; i < count; i++) {
    at += (size_t)snprintf(to + at, room - at, "%s%s%u", i == 0 ? "{" : ", ", name, i);
  }
  return at + (size_t)snprintf(to + at, room - at, "}");
}

/* Every thread copies each 128th chunk of shared memory and loads its registers. */
static const char head[] =
    ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 shared[];\n"
    ".visible .entry snippet(.param .u64 data)\n{\n"
    ".reg .b64 %%l<8>, %%desc_a, %%desc_b;\n.reg .b32 %%t<8>, %%a<4>, %%d<128>;\n.reg .pred %%p<3>;\n"
    "ld.param.u64 %%l0, [data];\nmov.u32 %%t0, %%tid.x;\nmov.u32 %%t1, shared;\n"
    "ld.global.u64 %%desc_a, [%%l0+%d];\nld.global.u64 %%desc_b, [%%l0+%d];\n"
    "and.b32 %%t2, %%t1, 0x3ffff;\nshr.u32 %%t2, %%t2, 4;\ncvt.u64.u32 %%l1, %%t2;\n"
    "add.u64 %%desc_a, %%desc_a, %%l1;\nadd.u64 %%desc_b, %%desc_b, %%l1;\n"
    "mul.wide.u32 %%l2, %%t0, 16;\nadd.u64 %%l3, %%l0, %%l2;\nshl.b32 %%t3, %%t0, 4;\nadd.u32 %%t3, %%t3, %%t1;\n"
    "mov.u32 %%t4, 0;\nCOPY:\nld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%l3];\n"
    "st.shared.v4.b32 [%%t3], {%%a0, %%a1, %%a2, %%a3};\nadd.u64 %%l3, %%l3, 2048;\nadd.u32 %%t3, %%t3, 2048;\n"
    "add.u32 %%t4, %%t4, 2048;\nsetp.lt.u32 %%p0, %%t4, %u;\n@%%p0 bra COPY;\n"
    "add.u64 %%l4, %%l0, %%l2;\nld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%l4+%d];\n"
    "mul.wide.u32 %%l5, %%t0, %d;\nadd.u64 %%l5, %%l5, %%l0;\n";

void wgmma_case_text(const wgmma_case *of, char *to, size_t room)
{
  const unsigned count = d_registers(of);
  size_t at = (size_t)snprintf(to, room, head, WGMMA_AT_DESCRIPTORS, WGMMA_AT_DESCRIPTORS + 8, of->used, WGMMA_AT_A,
                               WGMMA_D_BYTES);
  for (unsigned i = 0; i < count && of->accumulates; i++) {
    at += (size_t)snprintf(to + at, room - at, "ld.global.b32 %%d%u, [%%l5+%u];\n", i, WGMMA_AT_D + 4 * i);
  }
  char opcode[128];
  wgmma_case_opcode(of, opcode, sizeof opcode);
  at += (size_t)snprintf(to + at, room - at,
                         "setp.%s.u32 %%p1, %%t1, %%t1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
                         "wgmma.fence.sync.aligned;\n%s\n  ",
                         of->accumulates ? "eq" : "ne", opcode);
  at += add_registers(to + at, room - at, "%d", count);
  at += (size_t)snprintf(to + at, room - at, ",\n  ");
  at += of->a_in_registers ? add_registers(to + at, room - at, "%a", 4)
                           : (size_t)snprintf(to + at, room - at, "%%desc_a");
  at += (size_t)snprintf(to + at, room - at, ", %%desc_b, %%p1");
  if (!is_integer(of)) {
    at += (size_t)snprintf(to + at, room - at, ", %d, %d", of->negates_a ? -1 : 1, of->negates_b ? -1 : 1);
  }
  if (of->a_type <= BF16 && !of->a_in_registers) {
    at += (size_t)snprintf(to + at, room - at, ", %d", of->a.is_mn_major);
  }
  if (of->a_type <= BF16) {
    at += (size_t)snprintf(to + at, room - at, ", %d", of->b.is_mn_major);
  }
  at += (size_t)snprintf(to + at, room - at, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
  for (unsigned i = 0; i < count; i++) {
    at += (size_t)snprintf(to + at, room - at, "st.global.b32 [%%l5+%u], %%d%u;\n", WGMMA_AT_D + 4 * i, i);
  }
  (void)snprintf(to + at, room - at, "ret;\n}\n");
}

/* ---- Operands --------------------------------------------------------------------------------------------- */

static uint32_t draw(uint64_t *state)
{
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

typedef struct operands {
  uint32_t a[M][MAX_K], b[MAX_N][MAX_K]; /* bits */
  uint32_t d[M][MAX_N];
} operands;

/* Of a float with so many bits of exponent and mantissa: mostly of middling size, now and then subnormal or zero. */
static uint32_t draw_float(uint64_t *state, unsigned exponent_bits, unsigned mantissa_bits, bool has_specials)
{
  const uint32_t sign = draw(state) & 1, mantissa = draw(state) & ((1u << mantissa_bits) - 1), kind = draw(state) % 64;
  const uint32_t bias = (1u << (exponent_bits - 1)) - 1, top = (1u << exponent_bits) - 1;
  uint32_t exponent = bias - 3 + draw(state) % 6;
  uint32_t kept = mantissa;
  if (kind < 4) {
    exponent = 0; /* subnormal, or zero */
    kept = kind == 0 ? 0 : mantissa;
  } else if (has_specials && kind == 4 && draw(state) % 8 == 0) {
    exponent = top;
    kept = draw(state) % 4 == 0 ? (1u << mantissa_bits) - 1 : 0; /* NaN, or infinity where the type has it */
  }
  return (sign << exponent_bits | exponent) << mantissa_bits | kept;
}

static uint32_t draw_element(uint64_t *state, wgmma_type type, bool has_specials)
{
  switch (type) {
  case F16:
    return draw_float(state, 5, 10, has_specials);
  case BF16:
    return draw_float(state, 8, 7, has_specials);
  case TF32: /* the lower 13 bits are to be left out */
  case F32:
    return draw_float(state, 8, 23, has_specials);
  case E4M3:
    return draw_float(state, 4, 3, has_specials);
  case E5M2:
    return draw_float(state, 5, 2, has_specials);
  case B1:
    return draw(state) & 1;
  case S32:
    return draw(state) % 3 == 0 ? 0x7ffffff0u + draw(state) % 32 : draw(state) % 200000;
  default:
    return draw(state) & 0xff;
  }
}

static void draw_operands(const wgmma_case *of, operands *made)
{
  uint64_t state = of->seed * 0x9e3779b97f4a7c15ull + of->n;
  for (unsigned i = 0; i < 4; i++) {
    (void)draw(&state);
  }
  for (unsigned k = 0; k < k_of(of); k++) {
    for (unsigned m = 0; m < M; m++) {
      made->a[m][k] = draw_element(&state, of->a_type, of->has_specials);
    }
    for (unsigned n = 0; n < of->n; n++) {
      made->b[n][k] = draw_element(&state, of->b_type, of->has_specials);
    }
  }
  for (unsigned m = 0; m < M; m++) {
    for (unsigned n = 0; n < of->n; n++) {
      made->d[m][n] = draw_element(&state, of->d_type, of->has_specials);
    }
  }
}

static void put(uint8_t *at, uint32_t bits, unsigned size)
{
  memcpy(at, &bits, size);
}

static void place_matrix(uint8_t *shared, const wgmma_place *place, wgmma_type type, unsigned rows,
                         uint32_t from[][MAX_K])
{
  const unsigned element = element_bytes(type), k = LINE / element;
  for (unsigned row = 0; row < rows; row++) {
    for (unsigned i = 0; i < k; i++) {
      uint32_t bits = from[row][i];
      for (unsigned j = 0; type == B1 && j < 8; j++) {
        bits = j == 0 ? from[row][8 * i] : bits | from[row][8 * i + j] << j;
      }
      put(shared + place_of(place, element, row, place->step * k + i), bits, element);
    }
  }
}

/* "Register Fragments": a_i of a thread. With w elements in a register: row lane / 4, + 8 where i / w is odd; column
 * lane % 4 * w + i % w, + 4 w where i >= 2 w. */
static void place_fragments(uint8_t *to, wgmma_type type, uint32_t a[M][MAX_K])
{
  const unsigned w = 32 / bits_of(type);
  for (unsigned thread = 0; thread < WGMMA_THREADS; thread++) {
    const unsigned lane = thread % 32;
    for (unsigned r = 0; r < 4; r++) {
      uint32_t word = 0;
      for (unsigned j = 0; j < w; j++) {
        const unsigned i = r * w + j;
        const unsigned row = thread / 32 * 16 + lane / 4 + (i / w % 2 != 0 ? 8 : 0);
        word |= a[row][lane % 4 * w + i % w + (i >= 2 * w ? 4 * w : 0)] << (w == 1 ? 0 : j * bits_of(type));
      }
      put(to + (size_t)16 * thread + (size_t)4 * r, word, 4);
    }
  }
}

/* The same of D: d_i is in row lane / 4, + 8 where i / 2 is odd, and column 8 (i / 4) + lane % 4 * 2 + i % 2. Two of 16
 * bits are in a register. */
static size_t d_place(const wgmma_case *of, unsigned m, unsigned n)
{
  const unsigned thread = m / 16 * 32 + m % 8 * 4 + n % 8 / 2, i = n / 8 * 4 + (m % 16 / 8) * 2 + n % 2;
  return (size_t)thread * WGMMA_D_BYTES + (size_t)i * (of->d_type == F16 ? 2 : 4);
}

static uint32_t d_bits(const wgmma_case *of, const uint8_t *data, unsigned m, unsigned n)
{
  uint32_t bits = 0;
  memcpy(&bits, data + WGMMA_AT_D + d_place(of, m, n), of->d_type == F16 ? 2 : 4);
  return bits;
}

void wgmma_case_data(const wgmma_case *of, uint8_t data[WGMMA_DATA])
{
  static operands made;
  uint64_t state = of->seed;
  draw_operands(of, &made);
  for (unsigned i = 0; i < WGMMA_DATA; i++) {
    data[i] = (uint8_t)draw(&state);
  }
  if (!of->a_in_registers) {
    place_matrix(data, &of->a, of->a_type, M, made.a);
  }
  place_matrix(data, &of->b, of->b_type, of->n, made.b);
  place_fragments(data + WGMMA_AT_A, of->a_type, made.a);
  for (unsigned m = 0; m < M; m++) {
    for (unsigned n = 0; n < of->n; n++) {
      put(data + WGMMA_AT_D + d_place(of, m, n), made.d[m][n], of->d_type == F16 ? 2 : 4);
    }
  }
  const uint64_t descriptors[2] = {descriptor(&of->a, of->a_type), descriptor(&of->b, of->b_type)};
  memcpy(data + WGMMA_AT_DESCRIPTORS, descriptors, sizeof descriptors);
}

/* ---- Results ---------------------------------------------------------------------------------------------- */

static double value_of(uint32_t bits, wgmma_type type)
{
  switch (type) {
  case F16:
    return emu_small_value(bits, &emu_format_f16);
  case BF16:
    return emu_small_value(bits, &emu_format_bf16);
  case TF32:
    return (double)emu_float32(bits & ~0x1fffu);
  case F32:
    return (double)emu_float32(bits);
  case E4M3:
    return emu_small_value(bits, &emu_format_e4m3);
  case E5M2:
    return emu_small_value(bits, &emu_format_e5m2);
  case S8:
    return (int8_t)bits;
  case S32:
    return (int32_t)bits;
  default:
    return bits;
  }
}

/* The operands as numbers, negated where they are to be; d is 0 where the product begins anew. */
typedef struct values {
  double a[M][MAX_K], b[MAX_N][MAX_K], d[M][MAX_N];
} values;

static const values *draw_values(const wgmma_case *of)
{
  static operands made;
  static values drawn;
  draw_operands(of, &made);
  for (unsigned k = 0; k < k_of(of); k++) {
    for (unsigned m = 0; m < M; m++) {
      drawn.a[m][k] = value_of(made.a[m][k], of->a_type) * (of->negates_a ? -1 : 1);
    }
    for (unsigned n = 0; n < of->n; n++) {
      drawn.b[n][k] = value_of(made.b[n][k], of->b_type) * (of->negates_b ? -1 : 1);
    }
  }
  for (unsigned m = 0; m < M; m++) {
    for (unsigned n = 0; n < of->n; n++) {
      drawn.d[m][n] = of->accumulates ? value_of(made.d[m][n], of->d_type) : 0;
    }
  }
  return &drawn;
}

static double integer_error(const wgmma_case *of, double sum, uint32_t got)
{
  int64_t whole = (int64_t)sum;
  if (of->saturates) {
    whole = whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole;
  }
  return (uint32_t)(uint64_t)whole == got ? 0 : INFINITY;
}

/* Infinity stands for what is too large: from half a unit above the largest number on. */
static double float_error(const wgmma_case *of, double sum, double magnitude, uint32_t bits)
{
  const double got = value_of(bits, of->d_type);
  const double too_large = of->d_type == F16 ? 65520 : 0x1.ffffffp127;
  const double unit = of->d_type == F16 ? 0x1p-11 : 0x1p-24, least = of->d_type == F16 ? 0x1p-25 : 0x1p-150;
  if (isnan(sum) || isnan(got)) {
    return isnan(sum) && isnan(got) ? 0 : INFINITY;
  }
  if (isinf(sum)) {
    return got == sum ? 0 : INFINITY;
  }
  double off = fabs(got - sum) - unit * fabs(sum) - least;
  if (isinf(got)) {
    off = (got > 0) == (sum > 0) ? too_large - fabs(sum) : INFINITY;
  }
  return off <= 0 ? 0 : off / magnitude;
}

/* Terms cut to so many bits behind the largest's leading place, added, and the sum cut or rounded. */
static uint32_t sum_by_rule(const wgmma_case *of, const double *a, const double *b, double d)
{
  const bool is_byte = of->a_type == E4M3 || of->a_type == E5M2;
  const int kept = is_byte ? 13 : 25;
  double plain = d, sum = 0;
  int most = d != 0 && isfinite(d) ? ilogb(d) : -400;
  for (unsigned k = 0; k < k_of(of); k++) {
    plain += a[k] * b[k];
    if (a[k] * b[k] != 0 && isfinite(a[k] * b[k]) && ilogb(a[k]) + ilogb(b[k]) > most) {
      most = ilogb(a[k]) + ilogb(b[k]);
    }
  }
  if (!isfinite(plain)) {
    return of->d_type == F16 ? emu_round_small(plain, &emu_format_f16, EMU_RN, false)
                             : emu_bits32(emu_canonical((float)plain));
  }
  for (unsigned k = 0; k < k_of(of); k++) {
    sum += trunc(ldexp(a[k] * b[k], kept - most));
  }
  sum = ldexp(sum + trunc(ldexp(d, kept - most)), most - kept);
  if (of->d_type == F16) {
    return emu_round_small(sum, &emu_format_f16, EMU_RN, false);
  }
  const int digits = (is_byte ? 13 : 23) - (sum == 0 ? 0 : ilogb(sum) < -126 ? -126 : ilogb(sum));
  return emu_bits32((float)ldexp(trunc(ldexp(sum, digits)), -digits));
}

unsigned wgmma_case_differs(const wgmma_case *of, const uint8_t data[WGMMA_DATA])
{
  const values *drawn = draw_values(of);
  unsigned count = 0;
  for (unsigned m = (unsigned)of->seed % ROW_STEP; m < M && of->d_type != S32; m += ROW_STEP) {
    for (unsigned n = 0; n < of->n; n++) {
      count += sum_by_rule(of, drawn->a[m], drawn->b[n], drawn->d[m][n]) != d_bits(of, data, m, n);
    }
  }
  return count;
}

double wgmma_case_error(const wgmma_case *of, const uint8_t data[WGMMA_DATA], unsigned *place_out)
{
  const values *drawn = draw_values(of);
  double worst = 0;
  for (unsigned m = 0; m < M; m++) {
    for (unsigned n = 0; n < of->n; n++) {
      double sum = drawn->d[m][n], magnitude = fabs(sum);
      for (unsigned k = 0; k < k_of(of); k++) {
        const double term = drawn->a[m][k] * drawn->b[n][k];
        sum += term;
        magnitude += fabs(term);
      }
      const uint32_t got = d_bits(of, data, m, n);
      const double error = of->d_type == S32 ? integer_error(of, sum, got) : float_error(of, sum, magnitude, got);
      if (error > worst) {
        worst = error;
        *place_out = m * MAX_N + n;
      }
    }
  }
  return worst;
}
