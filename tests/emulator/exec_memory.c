/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores. What caches do, and in which order others see a write, is not modelled: memory is one. */
#include "families.h"
#include "global_race.h"
#include "lanes.h"

/* The types' bytes, in the order of TYPES, and whether a load extends the sign. */
#define TYPES "b8|u8|s8|b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64"
static const uint8_t sizes[] = {0, 1, 1, 1, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8};
static const uint8_t is_signed[] = {0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};

/* Where the words of an opcode stand among its pattern's choices: the first is the order (weak, relaxed, ...), the
 * last but one the vector, the last the type. */
enum { ORDER, SCOPE, SPACE, HINT1, HINT2, HINT3, VECTOR, TYPE };
#define ORDERS "weak|volatile|relaxed|acquire|release|mmio?"
enum { ACQUIRE = 4, RELEASE };
#define SCOPES "cta|cluster|gpu|sys?"
/* L1 eviction, L2 eviction, prefetch: no effect here. */
#define EVICTIONS                                                                                                      \
  "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate|L2::evict_last|"                \
  "L2::evict_normal|L2::evict_first|L2::cache_hint?"
#define PREFETCH "L2::64B|L2::128B|L2::256B?"
#define LOAD_CACHES "ca|cg|cs|lu|cv|nc?"
#define STORE_CACHES "wb|cg|cs|wt?"

static const uint8_t vectors[] = {1, 2, 4, 8};

/* Volatile, relaxed, acquire and release accesses do not race with each other. */
static emu_access_kind kind_of(const emu_step *step, emu_access_kind plain)
{
  return step->mods[ORDER] > 1 ? EMU_ATOMIC : plain;
}

static uint64_t extend(uint64_t value, unsigned size, bool sign)
{
  const unsigned unused = 64 - 8 * size;
  return sign ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static void read_lane(const emu_warp *warp, const emu_step *step, unsigned lane, const uint8_t *from, unsigned size)
{
  const bool sign = is_signed[step->mods[TYPE]];
  for (unsigned i = 0; i < step->num_dst; i++) {
    if (size == 4) {
      uint32_t word;
      memcpy(&word, from + (size_t)4 * i, 4);
      emu_set_lane(warp, &step->dst[i], lane, step->dst[i].size == 8 ? extend(word, 4, sign) : word);
    } else {
      uint64_t value = 0;
      memcpy(&value, from + (size_t)size * i, size);
      emu_set_lane(warp, &step->dst[i], lane, extend(value, size, sign));
    }
  }
}

static emu_next load(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned type = step->mods[TYPE], size = sizes[type], count = step->num_dst;
  if (vectors[step->mods[VECTOR]] != count) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u registers for a vector of %u", count,
                     vectors[step->mods[VECTOR]]);
  }
  const emu_space space = (emu_space)step->arg;
  const emu_access_kind kind = kind_of(step, EMU_READ);
  EMU_FOR_LANES(lane, active)
  {
    const uint8_t *from =
        emu_access(warp, step, lane, space, emu_address(warp, step, &step->src[0], lane), size * count, kind);
    if (from == NULL) {
      return EMU_FAULT;
    }
    const bool is_followed = kind == EMU_ATOMIC && emu_strong_begin(warp, from);
    if (is_followed) {
      emu_strong_read(warp, lane, from, step->mods[ORDER] == ACQUIRE);
    }
    read_lane(warp, step, lane, from, size);
    if (is_followed) {
      emu_strong_end(warp);
    }
  }
  return EMU_NEXT;
}

static emu_next store(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const unsigned size = sizes[step->mods[TYPE]], count = vectors[step->mods[VECTOR]];
  if (count + 1 > step->num_src) {
    return emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%u registers for a vector of %u",
                     step->num_src - 1u, count);
  }
  const emu_space space = (emu_space)step->arg;
  const emu_access_kind kind = kind_of(step, EMU_WRITE);
  EMU_FOR_LANES(lane, active)
  {
    uint8_t bytes[64];
    for (unsigned i = 0; i < count; i++) {
      const uint64_t value = emu_lane(warp, &step->src[i + 1], lane);
      memcpy(bytes + (size_t)size * i, &value, sizeof value);
    }
    warp->stored = bytes;
    uint8_t *to = emu_access(warp, step, lane, space, emu_address(warp, step, &step->src[0], lane), size * count,
                             kind == EMU_ATOMIC ? EMU_STRONG_WRITE : kind);
    warp->stored = NULL;
    if (to == NULL) {
      return EMU_FAULT;
    }
    const bool is_followed = kind == EMU_ATOMIC && emu_strong_begin(warp, to);
    if (is_followed) {
      emu_strong_write(warp, lane, to, step->mods[ORDER] == RELEASE, false);
    }
    memcpy(to, bytes, (size_t)size * count);
    if (is_followed) {
      emu_strong_end(warp);
    }
  }
  return EMU_NEXT;
}

/* ---- Hints ------------------------------------------------------------------------------------------------ */

static emu_next nothing(emu_warp *warp, const emu_step *step, uint32_t active)
{
  (void)warp;
  (void)step;
  (void)active;
  return EMU_NEXT;
}

/* A prefetch of an address outside of all allocations is no fault on the hardware either. */

/* ---- The table -------------------------------------------------------------------------------------------- */

#define ROW(pattern, operands, function, arg)                                                                          \
  {                                                                                                                    \
    pattern, operands, function, 0, arg, 0                                                                             \
  }
#define LOAD(op, space, which)                                                                                         \
  ROW(op ORDERS "." SCOPES "." space "." LOAD_CACHES "." EVICTIONS "." PREFETCH ".v2|v4|v8?." TYPES, "=vx a x?", load, \
      which)
#define STORE(op, space, which)                                                                                        \
  ROW(op ORDERS "." SCOPES "." space "." STORE_CACHES "." EVICTIONS ".-?.v2|v4|v8?." TYPES, "a vx x?", store, which)
#define EACH_SPACE(EACH, op)                                                                                           \
  EACH(op, "-?", EMU_GENERIC), EACH(op, "global|-", EMU_GLOBAL), EACH(op, "shared|shared::cta", EMU_SHARED),           \
      EACH(op, "shared::cluster|-", EMU_SHARED_CLUSTER), EACH(op, "local|-", EMU_LOCAL)

static const emu_row rows[] = {
    EACH_SPACE(LOAD, "ld."),
    LOAD("ld.", "param|param::entry", EMU_PARAM),
    LOAD("ld.", "const|-", EMU_CONST),
    ROW("ldu.-?.-?.global?.-?.-?.-?.v2|v4?." TYPES, "=vx a", load, EMU_GLOBAL),
    EACH_SPACE(STORE, "st."),
    ROW("prefetch.global?.L1|L2", "a", nothing, 0),
    ROW("prefetch.global.L2::evict_last|L2::evict_normal", "a", nothing, 0),
    ROW("prefetchu.L1", "a", nothing, 0),
    ROW("applypriority.global?.L2::evict_normal", "a c", nothing, 0),
    ROW("discard.global?.L2", "a c", nothing, 0),
    ROW("createpolicy.fractional.L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged.b64", "=l w?",
        nothing, 0),
};

EMU_FAMILY(emu_family_memory, rows);
