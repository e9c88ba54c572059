/* SPDX-License-Identifier: Apache-2.0 */
/* What the lanes of a warp do together. All lanes of the member mask are at the instruction when it runs. */
#include "families.h"
#include "lanes.h"
#include "numbers.h"

enum { UP, DOWN, BFLY, IDX };

/* The lane that a lane reads, itself where that one is outside of its segment. */
static uint32_t source_lane(unsigned mode, uint32_t lane, uint32_t b, uint32_t c, bool *inside_out)
{
  const uint32_t segment = c >> 8 & 31, clamp = c & 31, offset = b & 31;
  const int32_t last = (int32_t)((lane & segment) | (clamp & ~segment)), first = (int32_t)(lane & segment);
  int32_t from = 0;
  switch (mode) {
  case UP:
    from = (int32_t)lane - (int32_t)offset;
    *inside_out = from >= last;
    break;
  case DOWN:
    from = (int32_t)(lane + offset);
    *inside_out = from <= last;
    break;
  case BFLY:
    from = (int32_t)(lane ^ offset);
    *inside_out = from <= last;
    break;
  default:
    from = first | (int32_t)(offset & ~segment);
    *inside_out = from <= last;
    break;
  }
  return *inside_out ? (uint32_t)from : lane;
}

/* A value of a lane that does not take part, or that was never written, leaves the result unwritten. */
static emu_next shfl(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *a = emu_in32(warp, &step->src[0]), *b = emu_in32(warp, &step->src[1]),
                 *c = emu_in32(warp, &step->src[2]);
  const uint32_t have = active & warp->written[step->src[0].reg];
  const uint32_t steered = warp->written[step->src[1].reg] & warp->written[step->src[2].reg];
  uint32_t result[EMU_LANES], inside = 0, good = 0;
  EMU_FOR_LANES(lane, active)
  {
    bool in = false;
    const uint32_t from = source_lane(step->arg, lane, b[lane], c[lane], &in);
    result[lane] = a[from];
    inside |= (uint32_t)in << lane;
    good |= (have >> from & 1) << lane;
  }
  good &= steered;
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = result[lane];
  }
  emu_out_pred(warp, &step->dst[1], active, inside);
  uint32_t *written = warp->written;
  written[step->dst[0].reg] = (written[step->dst[0].reg] & ~active) | good;
  written[step->dst[1].reg] = (written[step->dst[1].reg] & ~active) | (steered & active);
  return EMU_NEXT;
}

enum { ALL, ANY, UNI, BALLOT };

static emu_next vote(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t holds = emu_in_pred(warp, &step->src[0]) & active;
  if (step->arg == BALLOT) {
    uint32_t *to = emu_out32(warp, &step->dst[0]);
    EMU_LANE_LOOP(active, { to[lane] = holds; })
    return EMU_NEXT;
  }
  const bool result = step->arg == ALL   ? holds == active
                      : step->arg == ANY ? holds != 0
                                         : holds == active || holds == 0;
  emu_out_pred(warp, &step->dst[0], active, result ? EMU_ALL_LANES : 0);
  return EMU_NEXT;
}

static emu_next activemask(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_LANE_LOOP(active, { to[lane] = active; })
  return EMU_NEXT;
}

/* arg: 1 all, 0 any. */
static emu_next match(emu_warp *warp, const emu_step *step, uint32_t active)
{
  uint32_t same[EMU_LANES];
  EMU_FOR_LANES(lane, active)
  {
    same[lane] = 0;
    EMU_FOR_LANES(other, active)
    {
      const bool equal = emu_lane(warp, &step->src[0], lane) == emu_lane(warp, &step->src[0], other);
      same[lane] |= (uint32_t)equal << other;
    }
  }
  const bool all = step->arg != 0;
  const bool agree = same[__builtin_ctz(active)] == active;
  EMU_FOR_LANES(lane, active)
  {
    emu_out32(warp, &step->dst[0])[lane] = !all ? same[lane] : agree ? active : 0;
  }
  if (all) {
    emu_out_pred(warp, &step->dst[1], active, agree ? EMU_ALL_LANES : 0);
  }
  return EMU_NEXT;
}

enum { ADD, MIN, MAX, AND, OR, XOR };

/* Choice: u32|s32 for the first three. */
static emu_next redux(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint32_t *from = emu_in32(warp, &step->src[0]);
  const bool is_signed = step->mods[0] == 2;
  uint32_t result = from[__builtin_ctz(active)];
  EMU_FOR_LANES(lane, active & (active - 1))
  {
    const uint32_t value = from[lane];
    const bool less = is_signed ? (int32_t)value < (int32_t)result : value < result;
    result = step->arg == ADD   ? result + value
             : step->arg == MIN ? (less ? value : result)
             : step->arg == MAX ? (less ? result : value)
             : step->arg == AND ? result & value
             : step->arg == OR  ? result | value
                                : result ^ value;
  }
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_LANE_LOOP(active, { to[lane] = result; })
  return EMU_NEXT;
}

/* Choices: abs, NaN. */
static emu_next redux_f32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const float *from = EMU_IN(f32, warp, &step->src[0]);
  float result = 0;
  bool any = false, nan = false;
  EMU_FOR_LANES(lane, active)
  {
    const float value = step->mods[0] != 0 ? fabsf(from[lane]) : from[lane];
    if (value != value) {
      nan = true;
    } else if (!any
               || (step->arg == MIN ? value < result || (value == result && signbit(value))
                                    : value > result || (value == result && !signbit(value)))) {
      result = value;
      any = true;
    }
  }
  const bool is_nan = !any || (nan && step->mods[1] != 0);
  float *to = EMU_OUT(f32, warp, &step->dst[0]);
  EMU_FOR_LANES(lane, active)
  {
    to[lane] = is_nan ? emu_float32(EMU_NAN32) : result;
  }
  return EMU_NEXT;
}

/* Any lane may be the one, but of the same mask always the same: drawn from the seed. */
static emu_next elect(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const uint64_t mixed = (active + warp->block->grid->seed) * 0x9e3779b97f4a7c15ull;
  unsigned skip = (unsigned)(mixed >> 40) % (unsigned)__builtin_popcount(active);
  uint32_t rest = active;
  while (skip-- > 0) {
    rest &= rest - 1;
  }
  const uint32_t leader = (uint32_t)__builtin_ctz(rest);
  uint32_t *to = emu_out32(warp, &step->dst[0]);
  EMU_LANE_LOOP(active, { to[lane] = leader; })
  emu_out_pred(warp, &step->dst[1], active, 1u << leader);
  return EMU_NEXT;
}

static emu_next warp_sync(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)step;
  emu_race_sync_lanes(warp->block->race, warp->index, active);
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, flags, arg, arch)                                                             \
  {                                                                                                                    \
    pattern, operands, function, EMU_ROW_MEMBERS | (flags), arg, arch                                                  \
  }

static const emu_row rows[] = {
    ROW("shfl.sync.up.b32", "=w|p w w w w", shfl, EMU_ROW_OWN, UP, 0),
    ROW("shfl.sync.down.b32", "=w|p w w w w", shfl, EMU_ROW_OWN, DOWN, 0),
    ROW("shfl.sync.bfly.b32", "=w|p w w w w", shfl, EMU_ROW_OWN, BFLY, 0),
    ROW("shfl.sync.idx.b32", "=w|p w w w w", shfl, EMU_ROW_OWN, IDX, 0),
    ROW("vote.sync.all.pred", "=p p w", vote, 0, ALL, 0),
    ROW("vote.sync.any.pred", "=p p w", vote, 0, ANY, 0),
    ROW("vote.sync.uni.pred", "=p p w", vote, 0, UNI, 0),
    ROW("vote.sync.ballot.b32", "=w p w", vote, 0, BALLOT, 0),
    {"activemask.b32", "=w", activemask, 0, 0, 0},
    ROW("match.any.sync.b32", "=w w w", match, 0, 0, 70),
    ROW("match.any.sync.b64", "=w l w", match, 0, 0, 70),
    ROW("match.all.sync.b32", "=w|p w w", match, 0, 1, 70),
    ROW("match.all.sync.b64", "=w|p l w", match, 0, 1, 70),
    ROW("redux.sync.add.u32|s32", "=w w w", redux, 0, ADD, 80),
    ROW("redux.sync.min.u32|s32", "=w w w", redux, 0, MIN, 80),
    ROW("redux.sync.max.u32|s32", "=w w w", redux, 0, MAX, 80),
    ROW("redux.sync.and.b32", "=w w w", redux, 0, AND, 80),
    ROW("redux.sync.or.b32", "=w w w", redux, 0, OR, 80),
    ROW("redux.sync.xor.b32", "=w w w", redux, 0, XOR, 80),
    ROW("redux.sync.min.abs?.NaN?.f32", "=w w w", redux_f32, 0, MIN, 100 | 128),
    ROW("redux.sync.max.abs?.NaN?.f32", "=w w w", redux_f32, 0, MAX, 100 | 128),
    ROW("elect.sync", "=w|p w", elect, 0, 0, 90),
    ROW("bar.warp.sync", "w", warp_sync, EMU_ROW_ANYWHERE, 0, 0),
};

EMU_FAMILY(emu_family_warp, rows);
