/* SPDX-License-Identifier: Apache-2.0 */
/* What moves values and compares them: mov, selp, prmt, predicates, cvta. */
#include "families.h"
#include "lanes.h"
#include "numbers.h"

/* ---- mov -------------------------------------------------------------------------------------------------- */

EMU_UNARY(mov_32, u32, u32, a)
EMU_UNARY(mov_64, u64, u64, a)

static emu_next mov_pred(emu_warp *warp, const emu_step *step, uint32_t active)
{
  emu_out_pred(warp, &step->dst[0], active, emu_in_pred(warp, &step->src[0]));
  return EMU_NEXT;
}

/* mov.b32 {h, h}, w and its like in both directions: bits in order, the first the lowest. */
static emu_next mov_vector(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    uint64_t words[2] = {0, 0};
    unsigned at = 0;
    for (unsigned i = 0; i < step->num_src; i++) {
      const unsigned bits = step->num_src == 1 ? 64 : step->arg / step->num_src;
      words[at / 64] |= emu_lane(warp, &step->src[i], lane) << at % 64;
      at += bits;
    }
    at = 0;
    for (unsigned i = 0; i < step->num_dst; i++) {
      const unsigned bits = step->arg / step->num_dst;
      const uint64_t part = words[at / 64] >> at % 64;
      emu_set_lane(warp, &step->dst[i], lane, bits < 64 ? part & ((1ull << bits) - 1) : part);
      at += bits;
    }
  }
  return EMU_NEXT;
}

/* ---- Choosing --------------------------------------------------------------------------------------------- */

/* The written mask of the chosen side alone counts. */
static emu_next unchosen(emu_warp *warp, const emu_step *step, uint32_t active, uint32_t first)
{
  const uint32_t *written = warp->written;
  const uint32_t chosen = (written[step->src[0].reg] & first) | (written[step->src[1].reg] & ~first);
  const uint32_t good = chosen & written[step->src[2].reg];
  uint32_t *result = &warp->written[step->dst[0].reg];
  *result = (*result & ~active) | (good & active);
  return EMU_NEXT;
}

#define SELECT(N)                                                                                                      \
  static emu_next selp_##N(emu_warp *warp, const emu_step *step, uint32_t active)                                      \
  {                                                                                                                    \
    uint##N##_t *to = emu_out##N(warp, &step->dst[0]);                                                                 \
    const uint##N##_t *a = emu_in##N(warp, &step->src[0]), *b = emu_in##N(warp, &step->src[1]);                        \
    const uint32_t first = emu_in_pred(warp, &step->src[2]);                                                           \
    unchosen(warp, step, active, first);                                                                               \
    EMU_LANE_LOOP(active, { to[lane] = (first >> lane & 1) != 0 ? a[lane] : b[lane]; })                                \
    return EMU_NEXT;                                                                                                   \
  }
SELECT(32)
SELECT(64)

/* slct: a where c >= 0, else b. arg: 1 for a float c. Choice: ftz of it, then types. */
static emu_next slct(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    const uint32_t c = (uint32_t)emu_lane(warp, &step->src[2], lane);
    const float number = emu_float32(c);
    const bool first = step->arg == 0 ? (int32_t)c >= 0 : (step->mods[0] != 0 ? emu_flush(number) : number) >= 0;
    emu_set_lane(warp, &step->dst[0], lane, emu_lane(warp, &step->src[first ? 0 : 1], lane));
  }
  return EMU_NEXT;
}

/* ---- prmt ------------------------------------------------------------------------------------------------- */

/* Four selectors of four bits: which of eight bytes, and whether its sign is spread over the byte. */
static uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors)
{
  const uint64_t all = (uint64_t)b << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; i++) {
    const uint32_t selector = selectors >> (4 * i) & 15;
    uint32_t byte = (uint32_t)(all >> (8 * (selector & 7))) & 0xff;
    if ((selector & 8) != 0) {
      byte = (byte & 0x80) != 0 ? 0xff : 0;
    }
    result |= byte << (8 * i);
  }
  return result;
}
EMU_TERNARY(prmt, u32, u32, permute(a, b, c))

static uint32_t permute_mode(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
  static const uint16_t tables[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
      {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
      {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
      {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
      {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
      {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
  };
  return permute(a, b, tables[mode - 1][c & 3]);
}
EMU_TERNARY(prmt_mode, u32, u32, permute_mode(a, b, c, step->mods[0]))

/* ---- Comparisons ------------------------------------------------------------------------------------------ */

#define ORDERED(T)                                                                                                     \
  EMU_COMPARE(eq_##T, T, a == b)                                                                                       \
  EMU_COMPARE(ne_##T, T, a != b)                                                                                       \
  EMU_COMPARE(lt_##T, T, a < b)                                                                                        \
  EMU_COMPARE(le_##T, T, a <= b)                                                                                       \
  EMU_COMPARE(gt_##T, T, a > b)                                                                                        \
  EMU_COMPARE(ge_##T, T, a >= b)
#define UNORDERED(T)                                                                                                   \
  EMU_COMPARE(equ_##T, T, !(a < b || a > b))                                                                           \
  EMU_COMPARE(neu_##T, T, a != b)                                                                                      \
  EMU_COMPARE(ltu_##T, T, !(a >= b))                                                                                   \
  EMU_COMPARE(leu_##T, T, !(a > b))                                                                                    \
  EMU_COMPARE(gtu_##T, T, !(a <= b))                                                                                   \
  EMU_COMPARE(geu_##T, T, !(a < b))                                                                                    \
  EMU_COMPARE(num_##T, T, a == a && b == b)                                                                            \
  EMU_COMPARE(nan_##T, T, a != a || b != b)
/* A float's != is true of NaN: ne is the ordered one. */
EMU_COMPARE(one_f32, f32, a<b || a> b)
EMU_COMPARE(one_f64, f64, a<b || a> b)
ORDERED(u16)
ORDERED(s16)
ORDERED(u32)
ORDERED(s32)
ORDERED(u64)
ORDERED(s64)
EMU_COMPARE(eq_f32, f32, a == b)
EMU_COMPARE(lt_f32, f32, a < b)
EMU_COMPARE(le_f32, f32, a <= b)
EMU_COMPARE(gt_f32, f32, a > b)
EMU_COMPARE(ge_f32, f32, a >= b)
EMU_COMPARE(eq_f64, f64, a == b)
EMU_COMPARE(lt_f64, f64, a < b)
EMU_COMPARE(le_f64, f64, a <= b)
EMU_COMPARE(gt_f64, f64, a > b)
EMU_COMPARE(ge_f64, f64, a >= b)
UNORDERED(f32)
UNORDERED(f64)

typedef uint32_t (*comparison)(const emu_warp *warp, const emu_slot *slots, uint32_t active);
#define LIST(T) eq_##T, ne_##T, lt_##T, le_##T, gt_##T, ge_##T
#define UNLIST(T) equ_##T, neu_##T, ltu_##T, leu_##T, gtu_##T, geu_##T, num_##T, nan_##T
/* In the order of COMPARISONS; lo, ls, hi and hs are the unsigned lt, le, gt, ge. */
#define COMPARISONS "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"
#define FLOAT_COMPARISONS "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"
enum { T_U16, T_S16, T_U32, T_S32, T_U64, T_S64, T_F32, T_F64 };
static const comparison comparisons[][14] = {
    {LIST(u16), lt_u16, le_u16, gt_u16, ge_u16},
    {LIST(s16), lt_u16, le_u16, gt_u16, ge_u16},
    {LIST(u32), lt_u32, le_u32, gt_u32, ge_u32},
    {LIST(s32), lt_u32, le_u32, gt_u32, ge_u32},
    {LIST(u64), lt_u64, le_u64, gt_u64, ge_u64},
    {LIST(s64), lt_u64, le_u64, gt_u64, ge_u64},
    {eq_f32, one_f32, lt_f32, le_f32, gt_f32, ge_f32, UNLIST(f32)},
    {eq_f64, one_f64, lt_f64, le_f64, gt_f64, ge_f64, UNLIST(f64)},
};

enum { AND = 1, OR, XOR };

static uint32_t combine(unsigned operation, uint32_t a, uint32_t b)
{
  return operation == AND ? a & b : operation == OR ? a | b : operation == XOR ? a ^ b : a;
}

/* .ftz flushes what is compared. */
static uint32_t compare(emu_warp *warp, const emu_step *step, uint32_t active, unsigned flush)
{
  const comparison run = comparisons[step->arg][step->mods[0] - 1];
  if (flush == 0) {
    return run(warp, step->src, active);
  }
  float flushed[2][EMU_LANES];
  for (unsigned i = 0; i < 2; i++) {
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
      flushed[i][lane] = emu_flush(EMU_IN(f32, warp, &step->src[i])[lane]);
    }
  }
  emu_warp stand_in;
  stand_in.banks[0] = (uint8_t *)flushed;
  const emu_slot slots[2] = {{.offset = 0}, {.offset = sizeof flushed[0]}};
  return run(&stand_in, slots, active);
}

/* Choices: comparison, and|or|xor, ftz. Results p and q: of the comparison and of its opposite. */
static emu_next setp(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t holds = compare(warp, step, active, step->mods[2]);
  const uint32_t with = step->num_src > 2 ? emu_in_pred(warp, &step->src[2]) : 0;
  emu_out_pred(warp, &step->dst[0], active, combine(step->mods[1], holds, with));
  emu_out_pred(warp, &step->dst[1], active, combine(step->mods[1], ~holds & active, with));
  return EMU_NEXT;
}

/* Choices: comparison, and|or|xor, ftz, then u32|s32|f32: all ones or zero, 1.0 or 0. */
static emu_next set(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t holds = compare(warp, step, active, step->mods[2]);
  const uint32_t with = step->num_src > 2 ? emu_in_pred(warp, &step->src[2]) : 0;
  const uint32_t result = combine(step->mods[1], holds, with);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  const uint32_t yes = step->mods[3] == 3 ? 0x3f800000u : UINT32_MAX;
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = (result >> lane & 1) != 0 ? yes : 0;
  }
  return EMU_NEXT;
}

/* setp of f16 and bf16, one or two in a register: p for the lower or only one, q for the upper or its opposite. */
static bool holds_half(unsigned which, float a, float b)
{
  const bool nan = a != a || b != b;
  const bool results[] = {a == b, a < b || a > b, a<b, a <= b, a> b, a >= b};
  if (which > 12) {
    return (which == 14) == nan;
  }
  return which <= 6 ? results[which - 1] : nan || results[which - 7];
}

/* Choices: comparison, and|or|xor, ftz. arg: 1 bf16, 2 pair. */
static emu_next setp_half(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *a = emu_in32(warp, &step->src[0]), *b = emu_in32(warp, &step->src[1]);
  const uint32_t with = step->num_src > 2 ? emu_in_pred(warp, &step->src[2]) : 0;
  uint32_t found[2] = {0, 0};
  EMU_FOR_LANES(lane, active)
  {
    for (unsigned half = 0; half < 2; half++) {
      const uint32_t x = a[lane] >> (16 * half) & 0xffff, y = b[lane] >> (16 * half) & 0xffff;
      float u = (step->arg & 1) != 0 ? emu_bf16_value(x) : emu_f16_value(x);
      float v = (step->arg & 1) != 0 ? emu_bf16_value(y) : emu_f16_value(y);
      if (step->mods[2] != 0) {
        u = (x & 0x7c00) == 0 ? 0 : u;
        v = (y & 0x7c00) == 0 ? 0 : v;
      }
      found[half] |= (uint32_t)holds_half(step->mods[0], u, v) << lane;
    }
  }
  const uint32_t second = (step->arg & 2) != 0 ? found[1] : ~found[0];
  emu_out_pred(warp, &step->dst[0], active, combine(step->mods[1], found[0], with));
  emu_out_pred(warp, &step->dst[1], active, combine(step->mods[1], second & active, with));
  return EMU_NEXT;
}

/* ---- Predicates ------------------------------------------------------------------------------------------- */

enum { NOT };

static emu_next pred_logic(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t a = emu_in_pred(warp, &step->src[0]);
  const uint32_t result = step->arg == NOT ? ~a : combine(step->arg, a, emu_in_pred(warp, &step->src[1]));
  emu_out_pred(warp, &step->dst[0], active, result);
  return EMU_NEXT;
}

/* ---- Address spaces --------------------------------------------------------------------------------------- */

static uint64_t window_of(emu_space space)
{
  return space == EMU_SHARED || space == EMU_SHARED_CLUSTER ? EMU_SHARED_WINDOW
         : space == EMU_LOCAL                               ? EMU_LOCAL_WINDOW
         : space == EMU_PARAM                               ? EMU_PARAM_WINDOW
                                                            : 0;
}

/* arg: the space; + 128: from generic to it. */
static emu_next cvta(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint64_t window = window_of((emu_space)(step->arg & 127));
  const uint64_t add = (step->arg & 128) != 0 ? 0 - window : window;
  EMU_FOR_LANES(lane, active)
  {
    emu_set_lane(warp, &step->dst[0], lane, emu_lane(warp, &step->src[0], lane) + add);
  }
  return EMU_NEXT;
}

static emu_next isspacep(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const emu_space wanted = (emu_space)step->arg;
  uint32_t found = 0;
  EMU_FOR_LANES(lane, active)
  {
    uint64_t inside = 0;
    const emu_space space = emu_generic(emu_lane(warp, &step->src[0], lane), &inside);
    const bool own = inside >> 24 == warp->block->cluster_rank;
    const bool holds = wanted == EMU_SHARED ? space == EMU_SHARED_CLUSTER && own : space == wanted;
    found |= (uint32_t)holds << lane;
  }
  emu_out_pred(warp, &step->dst[0], active, found);
  return EMU_NEXT;
}

/* mapa: a shared address as it is in another block of the cluster. */
static emu_next mapa(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    const uint64_t address = emu_lane(warp, &step->src[0], lane);
    const uint64_t rank = emu_lane(warp, &step->src[1], lane);
    if (rank >= warp->block->cluster->num_blocks) {
      return emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "the cluster has %u blocks, none of rank %llu",
                       warp->block->cluster->num_blocks, (unsigned long long)rank);
    }
    emu_set_lane(warp, &step->dst[0], lane, (address & ~0xff000000ull) | rank << 24);
  }
  return EMU_NEXT;
}

static emu_next getctarank(emu_warp *warp, const emu_step *step, uint32_t active)
{
  EMU_FOR_LANES(lane, active)
  {
    emu_set_lane(warp, &step->dst[0], lane, emu_lane(warp, &step->src[0], lane) >> 24 & 0xff);
  }
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, flags, arg)                                                                   \
  {                                                                                                                    \
    pattern, operands, function, flags, arg, 0                                                                         \
  }
#define SETP(type, operand, which)                                                                                     \
  ROW("setp." COMPARISONS ".and|or|xor?.-?." type, "=p|p " operand " " operand " p?", setp, 0, which),                 \
      ROW("set." COMPARISONS ".and|or|xor?.-?.u32|s32|f32." type, "=w " operand " " operand " p?", set, 0, which)
#define SETP_FLOAT(type, operand, which)                                                                               \
  ROW("setp." FLOAT_COMPARISONS ".and|or|xor?.ftz?." type, "=p|p " operand " " operand " p?", setp, 0, which),         \
      ROW("set." FLOAT_COMPARISONS ".and|or|xor?.ftz?.u32|s32|f32." type, "=w " operand " " operand " p?", set, 0,     \
          which)
#define SETP_HALF(type, operand, which, least)                                                                         \
  {                                                                                                                    \
    "setp." FLOAT_COMPARISONS ".and|or|xor?.ftz?." type, "=p|p " operand " " operand " p?", setp_half, 0, which, least \
  }
#define CVTA(space, which)                                                                                             \
  ROW("cvta." space ".u64", "=l l", cvta, 0, which), ROW("cvta." space ".u32", "=w w", cvta, 0, which),                \
      ROW("cvta.to." space ".u64", "=l l", cvta, 0, (which) | 128)

static const emu_row rows[] = {
    ROW("mov.u32|s32|b32|f32", "=w w", mov_32, EMU_ROW_LAX, 0),
    ROW("mov.u64|s64|b64|f64", "=l l", mov_64, EMU_ROW_LAX, 0),
    ROW("mov.u16|s16|b16|f16|bf16", "=h h", mov_32, EMU_ROW_LAX, 0),
    ROW("mov.pred", "=p p", mov_pred, EMU_ROW_LAX, 0),
    ROW("mov.b32", "=v2h w", mov_vector, EMU_ROW_LAX, 32),
    ROW("mov.b32", "=w v2h", mov_vector, EMU_ROW_LAX, 32),
    ROW("mov.b64", "=v2w l", mov_vector, EMU_ROW_LAX, 64),
    ROW("mov.b64", "=v4h l", mov_vector, EMU_ROW_LAX, 64),
    ROW("mov.b64", "=l v2w", mov_vector, EMU_ROW_LAX, 64),
    ROW("mov.b64", "=l v4h", mov_vector, EMU_ROW_LAX, 64),
    ROW("selp.u32|s32|b32|f32", "=w w w p", selp_32, EMU_ROW_OWN, 0),
    ROW("selp.u16|s16|b16|f16|bf16", "=h h h p", selp_32, EMU_ROW_OWN, 0),
    ROW("selp.u64|s64|b64|f64", "=l l l p", selp_64, EMU_ROW_OWN, 0),
    ROW("slct.-?.b16|u16|s16.s32", "=h h h w", slct, 0, 0),
    ROW("slct.-?.b32|u32|s32|f32.s32", "=w w w w", slct, 0, 0),
    ROW("slct.-?.b64|u64|s64|f64.s32", "=l l l w", slct, 0, 0),
    ROW("slct.ftz?.b32|u32|s32|f32.f32", "=w w w w", slct, 0, 1),
    ROW("slct.ftz?.b64|u64|s64|f64.f32", "=l l l w", slct, 0, 1),
    ROW("prmt.b32", "=w w w w", prmt, 0, 0),
    ROW("prmt.b32.f4e|b4e|rc8|ecl|ecr|rc16", "=w w w w", prmt_mode, 0, 0),
    SETP("u16|b16", "h", T_U16),
    SETP("s16", "h", T_S16),
    SETP("u32|b32", "w", T_U32),
    SETP("s32", "w", T_S32),
    SETP("u64|b64", "l", T_U64),
    SETP("s64", "l", T_S64),
    SETP_FLOAT("f32", "w", T_F32),
    SETP_FLOAT("f64", "l", T_F64),
    SETP_HALF("f16", "h", 0, 53),
    SETP_HALF("bf16", "h", 1, 90),
    SETP_HALF("f16x2", "w", 2, 53),
    SETP_HALF("bf16x2", "w", 3, 90),
    ROW("and.pred", "=p p p", pred_logic, 0, AND),
    ROW("or.pred", "=p p p", pred_logic, 0, OR),
    ROW("xor.pred", "=p p p", pred_logic, 0, XOR),
    ROW("not.pred", "=p p", pred_logic, 0, NOT),
    CVTA("global", EMU_GLOBAL),
    CVTA("shared", EMU_SHARED),
    CVTA("shared::cta", EMU_SHARED),
    CVTA("shared::cluster", EMU_SHARED_CLUSTER),
    CVTA("local", EMU_LOCAL),
    CVTA("const", EMU_CONST),
    CVTA("param", EMU_PARAM),
    ROW("isspacep.global", "=p l", isspacep, 0, EMU_GLOBAL),
    ROW("isspacep.shared", "=p l", isspacep, 0, EMU_SHARED),
    ROW("isspacep.shared::cta", "=p l", isspacep, 0, EMU_SHARED),
    ROW("isspacep.shared::cluster", "=p l", isspacep, 0, EMU_SHARED_CLUSTER),
    ROW("isspacep.local", "=p l", isspacep, 0, EMU_LOCAL),
    ROW("isspacep.param", "=p l", isspacep, 0, EMU_PARAM),
    {"mapa.shared::cluster.u32", "=w w w", mapa, 0, 0, 90},
    {"mapa.shared::cluster.u64", "=l l w", mapa, 0, 0, 90},
    {"mapa.u64", "=l l w", mapa, 0, 0, 90},
    {"getctarank.shared::cluster.u32", "=w w", getctarank, 0, 0, 90},
    {"getctarank.shared::cluster.u64", "=w l", getctarank, 0, 0, 90},
    {"getctarank.u64", "=w l", getctarank, 0, 0, 90},
};

EMU_FAMILY(emu_family_move, rows);
