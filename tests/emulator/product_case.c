/* SPDX-License-Identifier: Apache-2.0 */
#include "product_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_snippet.h"

/* The data of a block: its shared memory, then its tensor memory. */
enum {
  IMAGE = 96 * 1024,
  COLUMNS = 320, /* that are shown; A is behind D */
  A_COLUMN = 288,
  LANES = 128,
  BLOCK_BYTES = IMAGE + LANES * COLUMNS * 4,
  MAX_BLOCKS = 2,
  MAX_ROWS = 256,
  MAX_K = 128,
  FIRST = 1024 /* of the image in the dynamic shared memory */
};

typedef struct image {
  uint8_t shared[IMAGE];
  uint32_t tensor[LANES][COLUMNS];
} image;

static image data[MAX_BLOCKS], before[MAX_BLOCKS];
static double a_values[MAX_ROWS][MAX_K], b_values[MAX_ROWS][MAX_K];
static uint64_t state;

static unsigned draw(unsigned limit)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)((state >> 33) % limit);
}

/* ---- Formats ---------------------------------------------------------------------------------------------- */

typedef struct format {
  unsigned bits, exponent, mantissa;
  bool has_infinity, has_nan, is_integer, is_signed;
  unsigned container; /* bits in shared memory along K, with padding */
} format;

static const format formats[4][6] = {
    {{16, 5, 10, true, true, false, true, 16}, {16, 8, 7, true, true, false, true, 16}},
    {{0}, {0}, {32, 8, 23, true, true, false, true, 32}},
    {{8, 4, 3, false, true, false, true, 8},
     {8, 5, 2, true, true, false, true, 8},
     {0},
     {6, 2, 3, false, false, false, true, 8},
     {6, 3, 2, false, false, false, true, 8},
     {4, 2, 1, false, false, false, true, 8}},
    {{8, 0, 0, false, false, true, false, 8}, {8, 0, 0, false, false, true, true, 8}}};

static double decode(const format *f, uint32_t bits)
{
  if (f->is_integer) {
    return f->is_signed ? (double)(int8_t)(uint8_t)bits : (double)bits;
  }
  const uint32_t sign = bits >> (f->exponent + f->mantissa) & 1;
  const uint32_t exponent = bits >> f->mantissa & ((1u << f->exponent) - 1);
  const uint32_t fraction = bits & ((1u << f->mantissa) - 1), top = (1u << f->exponent) - 1;
  const int bias = (1 << (f->exponent - 1)) - 1;
  double size = exponent == 0 ? ldexp(fraction, 1 - bias - (int)f->mantissa)
                              : ldexp(fraction + (double)(1u << f->mantissa), (int)exponent - bias - (int)f->mantissa);
  if (f->has_infinity && exponent == top) {
    size = fraction == 0 ? INFINITY : NAN;
  } else if (f->has_nan && !f->has_infinity && exponent == top && fraction == (1u << f->mantissa) - 1) {
    size = NAN;
  }
  return sign != 0 ? -size : size;
}

/* Mostly numbers near one; wild: now and then any bits at all. tf32's lower 13 bits are noise. */
static uint32_t draw_bits(const format *f, bool is_wild)
{
  const uint32_t any = draw(0x10000) << 16 | draw(0x10000);
  if (f->is_integer || f->bits <= 6) {
    return any & ((1u << f->bits) - 1);
  }
  if (is_wild && draw(64) == 0) {
    return f->bits == 32 ? any : any & ((1u << f->bits) - 1);
  }
  const uint32_t bias = (1u << (f->exponent - 1)) - 1;
  const uint32_t exponent = bias - 2 + draw(4);
  return (any >> 31) << (f->exponent + f->mantissa) | exponent << f->mantissa | (any & ((1u << f->mantissa) - 1));
}

/* ---- Shared memory ---------------------------------------------------------------------------------------- */

/* A coordinate's modes, and their strides in bytes. */
typedef struct mode {
  unsigned extent, stride;
} mode;

static unsigned walk(const mode *modes, unsigned index)
{
  unsigned offset = 0;
  for (; modes->extent != 0; modes++) {
    offset += index % modes->extent * modes->stride;
    index /= modes->extent;
  }
  return offset;
}

typedef struct placed {
  unsigned start, lbo, sbo; /* start: in the image */
  unsigned swizzle, pattern;
  mode rows[4], ks[4];
  unsigned step; /* bytes to the next step along K */
  unsigned end;
} placed;

/* The swizzles of the canonical layouts' last column, as a function of the offset from the pattern's start. */
static unsigned swizzle_offset(unsigned swizzle, unsigned offset)
{
  switch (swizzle) {
  case 1:
    return offset ^ (offset >> 7 & 3) << 5;
  case 2:
    return offset ^ (offset >> 7 & 7) << 4;
  case 4:
    return offset ^ (offset >> 7 & 3) << 4;
  case 6:
    return offset ^ (offset >> 7 & 1) << 4;
  default:
    return offset;
  }
}

/* Canonical layouts, T of them in a chunk of 16 bytes; element: bytes. Strides are as small as they can be, or not. */
static void place(const product_case *how, bool is_transposed, unsigned swizzle, unsigned rows, unsigned num_k,
                  unsigned element, placed *out)
{
  static const unsigned widths[] = {16, 128, 128, 0, 64, 0, 32};
  const unsigned t = 16 / element, width = widths[swizzle], chunks = width / 16,
                 slack = !how->far_apart ? 0
                         : swizzle == 0  ? 48
                                         : 8 * width;
  const unsigned steps = how->steps == 0 ? 1 : how->steps;
  out->swizzle = swizzle;
  if (!is_transposed && swizzle == 0) { /* ((8,m),(T,2k)):((1T,SBO),(1,LBO)) */
    out->sbo = 128 + slack;
    out->lbo = (rows + 7) / 8 * out->sbo + slack;
    memcpy(out->rows, (mode[4]){{8, 16}, {1000, out->sbo}}, sizeof out->rows);
    memcpy(out->ks, (mode[4]){{t, element}, {1000, out->lbo}}, sizeof out->ks);
    out->step = 2 * out->lbo;
    out->end = 2 * steps * out->lbo;
  } else if (!is_transposed) { /* ((8,m),(T,2k)):((8T,SBO),(1,T)) and narrower ones */
    out->sbo = 8 * width + slack;
    out->lbo = 16;
    memcpy(out->rows, (mode[4]){{8, width}, {1000, out->sbo}}, sizeof out->rows);
    memcpy(out->ks, (mode[4]){{1000, element}}, sizeof out->ks);
    out->step = 32;
    out->end = (rows + 7) / 8 * out->sbo;
  } else if (swizzle == 0) { /* ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO)) */
    out->sbo = 128 + slack;
    out->lbo = (rows / t) * out->sbo + slack;
    memcpy(out->rows, (mode[4]){{t, element}, {1000, out->sbo}}, sizeof out->rows);
    memcpy(out->ks, (mode[4]){{8, 16}, {1000, out->lbo}}, sizeof out->ks);
    out->step = num_k / 8 * out->lbo;
    out->end = (num_k * steps + 7) / 8 * out->lbo;
  } else { /* ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)) and narrower ones; four of k with 32-byte atoms */
    const unsigned group = swizzle == 1 ? 4 : 8;
    out->sbo = group * width + slack;
    out->lbo = (num_k * steps + group - 1) / group * out->sbo + slack;
    memcpy(out->rows, (mode[4]){{t, element}, {chunks, 16}, {1000, out->lbo}}, sizeof out->rows);
    memcpy(out->ks, (mode[4]){{group, width}, {1000, out->sbo}}, sizeof out->ks);
    out->step = num_k / group * out->sbo;
    out->end = (rows / t + chunks - 1) / chunks * out->lbo;
  }
}

static void put_bits(uint8_t *at, unsigned first, unsigned count, uint32_t bits)
{
  for (unsigned i = 0; i < count; i++) {
    const unsigned bit = first + i;
    at[bit / 8] = (uint8_t)((at[bit / 8] & ~(1u << (bit % 8))) | (bits >> i & 1) << (bit % 8));
  }
}

/* An element; those of 4 and 6 bits are packed in each 16 bytes of K, the rest is padding. */
static void put_element(image *to, const placed *at, const format *f, unsigned row, unsigned k, uint32_t bits)
{
  const bool is_small = f->bits < 8;
  const unsigned base = is_small ? k / 16 * 16 : k;
  const unsigned offset = walk(at->rows, row) + walk(at->ks, base);
  uint8_t *chunk = &to->shared[at->start + swizzle_offset(at->swizzle, offset)];
  put_bits(chunk, is_small ? k % 16 * f->bits : 0, f->bits, bits);
}

/* ---- The matrices ----------------------------------------------------------------------------------------- */

typedef struct made {
  const product_case *how;
  const format *a, *b;
  placed a_at, b_at;
  unsigned blocks, steps, k; /* k: of one step */
  unsigned rows, parts;      /* of D in a block */
  uint32_t off[2][4];
} made;

/* Lane of a row of D, and of A in tensor memory: layouts A to G. */
static unsigned lane_of(const made *of, unsigned row, unsigned part)
{
  if (of->how->m == 64 && !of->how->is_ws) { /* F */
    return row / 16 * 32 + row % 16 + of->how->d_lane;
  }
  return row + part * of->rows;
}

static void make_a(made *of)
{
  const product_case *how = of->how;
  for (unsigned m = 0; m < how->m; m++) {
    image *to = &before[m / of->rows];
    const unsigned row = m % of->rows;
    for (unsigned k = 0; k < of->k * of->steps; k++) {
      const uint32_t bits = draw_bits(of->a, how->is_wild);
      a_values[m][k] = decode(of->a, of->a->bits == 32 ? bits & ~0x1fffu : bits) * (how->negates_a ? -1 : 1);
      if (!how->a_in_tensor) {
        put_element(to, &of->a_at, of->a, row, k, bits);
        continue;
      }
      const unsigned size = of->a->container, first = k * size;
      for (unsigned part = 0; part < of->parts; part++) { /* each part of D's columns reads A in its own lanes */
        uint32_t *word = &to->tensor[lane_of(of, row, part)][A_COLUMN + first / 32];
        put_bits((uint8_t *)word, first % 32, size, of->a->bits == 4 ? bits << 2 : bits);
      }
    }
  }
}

static bool is_zero_column(const made *of, unsigned n)
{
  const product_case *how = of->how;
  if (!how->has_zero_columns || (how->zero_columns >> 39 & 1) == 0) {
    return false;
  }
  const unsigned part = n / (how->n / of->parts), zeros = (unsigned)(how->zero_columns >> 40 & 255) + 1;
  const unsigned used = (unsigned)(how->zero_columns >> 48 & 255) + 1;
  bool zero = (how->zero_columns >> (32 + part) & 1) != 0;
  unsigned left = zero ? zeros : used;
  /* Run by run: first what is skipped, then up to this column. */
  for (unsigned at = 0; at < n % (how->n / of->parts) + (unsigned)(how->zero_columns >> (8 * part) & 255); at++) {
    if (--left == 0) {
      zero = !zero;
      left = zero ? zeros : used;
    }
  }
  return zero;
}

static void make_b(made *of)
{
  const product_case *how = of->how;
  const unsigned columns = how->n / of->blocks, shift = (unsigned)(how->zero_columns >> 56 & 63);
  for (unsigned row = 0; row < how->n + shift; row++) {
    image *to = &before[row / columns < of->blocks ? row / columns : 0];
    for (unsigned k = 0; k < of->k * of->steps; k++) {
      const uint32_t bits = draw_bits(of->b, how->is_wild);
      put_element(to, &of->b_at, of->b, of->blocks == 1 ? row : row % columns, k, bits);
      if (row >= shift) {
        const double value = decode(of->b, of->b->bits == 32 ? bits & ~0x1fffu : bits);
        b_values[row - shift][k] = is_zero_column(of, row - shift) ? 0 : how->negates_b ? -value : value;
      }
    }
  }
}

static void begin(const product_case *how, made *of)
{
  static const unsigned ks[] = {16, 8, 32, 32};
  *of = (made){.how = how, .a = &formats[how->kind][how->a_type], .b = &formats[how->kind][how->b_type]};
  of->blocks = how->blocks == 0 ? 1 : how->blocks;
  of->steps = how->steps == 0 ? 1 : how->steps;
  of->k = ks[how->kind];
  of->rows = how->m / of->blocks;
  of->parts = how->m == 64 && !how->is_ws ? 1 : 128 / of->rows;
  place(how, how->transposes_a, how->a_swizzle, of->rows, of->k, of->a->container / 8, &of->a_at);
  place(how, how->transposes_b, how->b_swizzle, how->n / of->blocks + 32, of->k, of->b->container / 8, &of->b_at);
  of->a_at.start = of->a_at.pattern = 128 * how->pattern_offset;
  of->b_at.start = (of->a_at.start + of->a_at.end + 1023) / 1024 * 1024 + 128 * how->pattern_offset;
  if (of->b_at.start + of->b_at.end > IMAGE) {
    printf("%s: the matrices take %u bytes\n", how->what, of->b_at.start + of->b_at.end);
    abort();
  }
  for (unsigned b = 0; b < MAX_BLOCKS; b++) {
    for (unsigned i = 0; i < IMAGE; i++) {
      before[b].shared[i] = (uint8_t)draw(256);
    }
    for (unsigned lane = 0; lane < LANES; lane++) {
      for (unsigned c = 0; c < COLUMNS; c++) {
        const float value = (float)((int)draw(2001) - 1000) / 256;
        uint32_t bits = 0;
        memcpy(&bits, &value, 4);
        before[b].tensor[lane][c] = how->d_type == 1   ? bits
                                    : how->d_type == 2 ? draw(0x10000) << 16 | draw(0x10000)
                                                       : draw(0x10000) << 16 | draw_bits(&formats[0][0], false);
      }
      of->off[b][lane / 32] |= (uint32_t)(how->has_lanes_off && draw(3) == 0) << (lane % 32);
    }
  }
  make_a(of);
  make_b(of);
  memcpy(data, before, sizeof data);
}

/* ---- The kernel ------------------------------------------------------------------------------------------- */

static tensor_text text;

static void move_tensor(bool is_load)
{
  tensor_add(&text, "and.b32 %%r190, %%warp, 3;\nshl.b32 %%r190, %%r190, 21;\nadd.u32 %%r190, %%r190, %%tm;\n");
  tensor_add(&text, "mul.wide.u32 %%rd20, %%thread, %u;\nadd.u64 %%rd20, %%rd20, %%rd30;\n", COLUMNS * 4);
  for (unsigned first = 0; first < COLUMNS; first += 32) {
    for (unsigned i = 0; i < 32 && !is_load; i++) {
      tensor_add(&text, "ld.global.u32 %%r%u, [%%rd20+%u];\n", i, IMAGE + 4 * (first + i));
    }
    tensor_add(&text, is_load ? "tcgen05.ld.sync.aligned.32x32b.x32.b32 {" : "tcgen05.st.sync.aligned.32x32b.x32.b32 ");
    if (!is_load) {
      tensor_add(&text, "[%%r190+%u], {", first);
    }
    for (unsigned i = 0; i < 32; i++) {
      tensor_add(&text, "%s%%r%u", i == 0 ? "" : ", ", i);
    }
    tensor_add(&text, is_load ? "}, [%%r190+%u];\ntcgen05.wait::ld.sync.aligned;\n" : "};\n", first);
    for (unsigned i = 0; i < 32 && is_load; i++) {
      tensor_add(&text, "st.global.u32 [%%rd20+%u], %%r%u;\n", IMAGE + 4 * (first + i), i);
    }
  }
}

static void add_descriptor(const char *to, const placed *at, unsigned step, unsigned pattern_offset, uint64_t flip)
{
  uint64_t bits =
      (uint64_t)(at->lbo / 16) << 16 | (uint64_t)(at->sbo / 16) << 32 | 1ull << 46 | (uint64_t)at->swizzle << 61;
  if (at->swizzle != 0) {
    bits |= (uint64_t)(pattern_offset & 7) << 49;
  }
  tensor_add(&text, "add.u32 %%r195, %%smem, %u;\nand.b32 %%r195, %%r195, 0x3ffff;\nshr.u32 %%r195, %%r195, 4;\n",
             FIRST + at->start + step * at->step);
  tensor_add(&text, "cvt.u64.u32 %s, %%r195;\nor.b64 %s, %s, 0x%llx;\nxor.b64 %s, %s, 0x%llx;\n", to, to, to,
             (unsigned long long)bits, to, to, (unsigned long long)flip);
}

static uint32_t instruction_descriptor(const product_case *how)
{
  return (uint32_t)how->saturates << 3 | how->d_type << 4 | how->a_type << 7 | how->b_type << 10
         | (uint32_t)how->negates_a << 13 | (uint32_t)how->negates_b << 14 | (uint32_t)how->transposes_a << 15
         | (uint32_t)how->transposes_b << 16 | how->n / 8 << 17 | how->m / 16 << 24;
}

static void add_product(const made *of, unsigned step)
{
  static const char *const kinds[] = {"f16", "tf32", "f8f6f4", "i8"};
  const product_case *how = of->how;
  add_descriptor("%rd4", &of->a_at, step, how->pattern_offset, how->a_flip);
  add_descriptor("%rd5", &of->b_at, step, how->pattern_offset, how->b_flip);
  tensor_add(&text, "add.u32 %%r196, %%tm, %u;\nadd.u32 %%r198, %%tm, %u;\nmov.u32 %%r197, 0x%x;\n",
             how->d_column | how->d_lane << 16, A_COLUMN + 8 * step + (how->d_lane << 16),
             instruction_descriptor(how) ^ how->idesc_flip);
  tensor_add(&text, "setp.ne.u32 %%p2, %u, 0;\n", !how->overwrites || step > 0);
  for (unsigned i = 0; i < 4 * of->blocks && how->has_lanes_off; i++) {
    tensor_add(&text, "mov.u32 %%r%u, 0x%x;\n", 180 + i, of->off[i / 4][i % 4]);
  }
  tensor_add(&text, "tcgen05.mma%s.cta_group::%u.kind::%s%s [%%r196], %s, %%rd5, %%r197, ", how->is_ws ? ".ws" : "",
             of->blocks, kinds[how->kind], how->between != NULL ? how->between : "",
             how->a_in_tensor ? "[%r198]" : "%rd4");
  if (how->has_lanes_off) {
    tensor_add(&text, of->blocks == 1 ? "{%%r180, %%r181, %%r182, %%r183}, "
                                      : "{%%r180, %%r181, %%r182, %%r183, %%r184, %%r185, %%r186, %%r187}, ");
  }
  tensor_add(&text, "%%p2");
  if (how->scale != 0) {
    tensor_add(&text, ", %d", how->scale);
  } else if (how->has_zero_columns) {
    tensor_add(&text, ", %%rd6");
  }
  tensor_add(&text, ";\n");
}

static void add_begin(const made *of)
{
  tensor_add(&text,
             "mov.u32 %%r170, %%cluster_ctarank;\nmul.wide.u32 %%rd29, %%r170, %u;\n"
             "add.u64 %%rd30, %%base, %%rd29;\n",
             BLOCK_BYTES);
  tensor_add(&text,
             "add.u32 %%mbar, %%smem, 64;\n@%%leader mbarrier.init.shared::cta.b64 [%%mbar], 1;\n"
             "@!%%first bra HAVE;\ntcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%%smem], 512;\nHAVE:\n",
             of->blocks);
  tensor_add(
      &text,
      "mul.wide.u32 %%rd20, %%thread, 16;\nadd.u64 %%rd20, %%rd20, %%rd30;\nshl.b32 %%r191, %%thread, 4;\n"
      "add.u32 %%r191, %%r191, %%smem;\nadd.u32 %%r191, %%r191, %u;\nmov.u32 %%r192, 0;\nCOPY:\n"
      "ld.global.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%rd20];\nst.shared.v4.u32 [%%r191], {%%r0, %%r1, %%r2, %%r3};\n"
      "add.u64 %%rd20, %%rd20, 2048;\nadd.u32 %%r191, %%r191, 2048;\nadd.u32 %%r192, %%r192, 1;\n"
      "setp.lt.u32 %%p3, %%r192, %u;\n@%%p3 bra COPY;\n%s",
      FIRST, IMAGE / 2048, of->how->no_proxy_fence ? "" : "fence.proxy.async.shared::cta;\n");
  tensor_add(&text, "bar.sync 0;\nld.shared.u32 %%tm, [%%smem];\n");
  move_tensor(false);
  tensor_add(&text, "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\n");
  tensor_add(&text,
             of->blocks == 1 ? "bar.sync 0;\n" : "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
  tensor_add(&text, "tcgen05.fence::after_thread_sync;\n");
}

static void make_text(const made *of)
{
  const product_case *how = of->how;
  text.length = 0;
  add_begin(of);
  tensor_add(&text, "setp.eq.and.u32 %%p4, %%r170, %u, %%leader;\n@!%%p4 bra ISSUED;\nmov.b64 %%rd6, 0x%llx;\n",
             how->issuer, (unsigned long long)how->zero_columns);
  for (unsigned step = 0; step < of->steps; step++) {
    add_product(of, step);
  }
  tensor_add(&text, of->blocks == 1
                        ? "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%%mbar];\n"
                        : "mov.b16 %%h0, 3;\ntcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
                          ".multicast::cluster.b64 [%%mbar], %%h0;\n");
  tensor_add(&text, "ISSUED:\n");
  if (!how->no_commit_wait) {
    tensor_add(&text, "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %%p5, [%%mbar], 0;\n@!%%p5 bra WAIT;\n");
  }
  tensor_add(&text, how->no_after_fence ? "" : "tcgen05.fence::after_thread_sync;\n");
  move_tensor(true);
  tensor_add(&text, "tcgen05.fence::before_thread_sync;\n");
  tensor_add(&text,
             of->blocks == 1 ? "bar.sync 0;\n" : "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
  tensor_add(&text, "@!%%first bra FREED;\ntcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%tm, 512;\nFREED:\n",
             of->blocks);
}

/* ---- The comparison --------------------------------------------------------------------------------------- */

static double as_double(uint32_t word, unsigned d_type)
{
  float value;
  memcpy(&value, &word, 4);
  return d_type == 1 ? (double)value : d_type == 2 ? (double)(int32_t)word : decode(&formats[0][0], word & 0xffff);
}

/* The sum, and the bound of what rounding may make of it: half a unit of the last place a step, and less inside. */
static double reference(const made *of, unsigned m, unsigned n, double d, double *bound_out)
{
  const product_case *how = of->how;
  double sum = how->overwrites ? 0 : ldexp(d, -how->scale), size = fabs(sum);
  for (unsigned step = 0; step < of->steps; step++) {
    sum = step > 0 ? ldexp(sum, -how->scale) : sum;
    for (unsigned k = step * of->k; k < (step + 1) * of->k; k++) {
      sum += a_values[m][k] * b_values[n][k];
      size += fabs(a_values[m][k] * b_values[n][k]);
    }
    if (how->d_type == 0 && fabs(sum) >= 65520) { /* rounds to infinity */
      sum = sum > 0 ? INFINITY : -INFINITY;
    }
    if (how->saturates) {
      sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    }
  }
  *bound_out = how->d_type == 2   ? 0
               : how->d_type == 1 ? of->steps * size * 0x1p-24 + 0x1p-149
                                  : of->steps * size * 0x1p-11 + 0x1p-25;
  return how->d_type == 2 && !how->saturates ? (double)(int32_t)(uint32_t)(uint64_t)(int64_t)sum : sum;
}

static bool is_right(const made *of, double got, double wanted, double bound)
{
  if (wanted != wanted) {
    return got != got;
  }
  const double most = of->how->d_type == 0 ? 65520 : 0x1.ffffffp127;
  if (fabs(wanted) >= most && of->how->d_type != 2) { /* infinite, or becomes so */
    return isinf(got) && (got > 0) == (wanted > 0);
  }
  return fabs(got - wanted) <= bound;
}

static unsigned compare(const made *of)
{
  static bool is_d[MAX_BLOCKS][LANES][COLUMNS];
  const product_case *how = of->how;
  const unsigned columns = how->n / of->parts;
  unsigned wrong = 0;
  memset(is_d, 0, sizeof is_d);
  for (unsigned m = 0; m < how->m; m++) {
    for (unsigned n = 0; n < how->n; n++) {
      const unsigned b = m / of->rows, lane = lane_of(of, m % of->rows, n / columns);
      const unsigned column = how->d_column + n % columns;
      if ((of->off[b][lane / 32] >> (lane % 32) & 1) != 0) {
        continue;
      }
      is_d[b][lane][column] = true;
      double bound;
      const double wanted = reference(of, m, n, as_double(before[b].tensor[lane][column], how->d_type), &bound);
      const double got = as_double(data[b].tensor[lane][column], how->d_type);
      if (!is_right(of, got, wanted, bound) && wrong++ < 5) {
        printf("%s: D[%u][%u] is %.9g instead of %.9g +- %.3g\n", how->what, m, n, got, wanted, bound);
      }
    }
  }
  for (unsigned b = 0; b < of->blocks; b++) {
    for (unsigned lane = 0; lane < LANES; lane++) {
      for (unsigned c = 0; c < COLUMNS; c++) {
        const bool same = data[b].tensor[lane][c] == before[b].tensor[lane][c];
        if (!is_d[b][lane][c] && !same && wrong++ < 5) {
          printf("%s: lane %u column %u of block %u was changed\n", how->what, lane, c, b);
        }
      }
    }
  }
  return wrong;
}

int product_case_run(const product_case *how, uint64_t seed, unsigned *wrong_out, emu_message *message)
{
  made of;
  state = seed * 0x9e3779b97f4a7c15ull + 7;
  begin(how, &of);
  make_text(&of);
  const emu_settings settings = {seed, 1};
  emu_configure(&settings);
  tensor_snippet snippet = {
      .text = text.at, .data = data, .size = sizeof data, .blocks = of.blocks == 2 ? 2 : 0, .shared = FIRST + IMAGE};
  tensor_run(&snippet);
  *message = snippet.message;
  *wrong_out = snippet.result == EMU_OK ? compare(&of) : 0;
  return snippet.result;
}
