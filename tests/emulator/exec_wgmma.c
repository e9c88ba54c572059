/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma. A product is one operation of the four warps of a warpgroup, issued when the last of them has executed it. Its
 * reads of shared memory are entered then, in the async proxy and in the name of the warpgroup's agent, with what all
 * four warps knew when they executed it. It happens some time before it must: then it reads memory and registers and
 * writes the accumulators of all four. */
#include <stdlib.h>

#include "families.h"
#include "lanes.h"
#include "numbers.h"
#include "warpgroup.h"
#include "wgmma_math.h"

enum { ARG_N8 = 63, ARG_A_REGISTERS = 64, ARG_F16_D = 128, A_REGISTERS = 4 };

typedef struct product {
  emu_event event;
  uint64_t number; /* in the warpgroup's list */
  emu_wgmma_type a_type, b_type;
  emu_wgmma_matrix a, b;
  bool accumulates, saturates, negates_a, negates_b;
} product;

static bool a_is_in_registers(const emu_step *step)
{
  return (step->arg & ARG_A_REGISTERS) != 0;
}

static bool is_integer(emu_wgmma_type type)
{
  return type >= EMU_WGMMA_S8;
}

static uint32_t size_n(const emu_step *step)
{
  return 8u * (step->arg & ARG_N8);
}

static uint32_t size_k(emu_wgmma_type type)
{
  return type == EMU_WGMMA_B1 ? 8 * EMU_WGMMA_LINE : EMU_WGMMA_LINE / emu_wgmma_size(type);
}

/* ---- It happens ------------------------------------------------------------------------------------------- */

/* Register i of lane 4 r + c holds the c-th word of half i / 2 of the line of row r + 8 (i mod 2). */
static void gather_registers(const emu_warp *warps, const emu_step *step, uint8_t a[][EMU_WGMMA_LINE])
{
  for (uint32_t w = 0; w < EMU_GROUP_WARPS; w++) {
    for (uint32_t i = 0; i < A_REGISTERS; i++) {
      const uint32_t *from = emu_in32(&warps[w], &step->src[i]);
      for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
        memcpy(&a[16 * w + lane / 4 + i % 2 * 8][i / 2 * EMU_CHUNK + lane % 4 * 4], &from[lane], 4);
      }
    }
  }
}

/* By tiles of sixteen rows, a warp's, and eight columns, whose registers stand together. */
static void sum_floats(const emu_warp *warps, const product *made, const emu_wgmma_operands *operands)
{
  const emu_step *step = made->event.step;
  const emu_sum_rule rule = emu_wgmma_rule(made->a_type, (step->arg & ARG_F16_D) != 0);
  const uint32_t registers = rule.is_f16 ? 2 : 4;
  emu_factor a[EMU_GROUP_WARPS], b;
  for (uint32_t w = 0; w < EMU_GROUP_WARPS; w++) {
    emu_wgmma_a_tile(operands, w * EMU_MMA_M, &a[w]);
  }
  for (uint32_t tile = 0; tile < operands->n / EMU_MMA_N; tile++) {
    const emu_slot *d = &step->dst[(size_t)tile * registers];
    emu_wgmma_b_tile(operands, tile * EMU_MMA_N, &b);
    for (uint32_t w = 0; w < EMU_GROUP_WARPS; w++) {
      emu_sums sums = {{0}};
      if (made->accumulates) {
        emu_matrix_load(&warps[w], d, rule.is_f16, &sums);
      }
      emu_matrix_add(&a[w], &b, 0, size_k(made->a_type), rule, &sums);
      emu_matrix_store(&warps[w], d, rule.is_f16, &sums);
    }
  }
}

/* Register i of lane 4 r + c: row r + 8 (i / 2 mod 2), column 8 (i / 4) + 2 c + i mod 2. */
static void store_s32(const emu_warp *warps, const product *made, int32_t sums[][EMU_WGMMA_MAX_N])
{
  const emu_step *step = made->event.step;
  for (uint32_t w = 0; w < EMU_GROUP_WARPS; w++) {
    for (uint32_t i = 0; i < step->num_dst; i++) {
      int32_t *d = EMU_OUT(s32, &warps[w], &step->dst[i]);
      for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
        int64_t sum = sums[16 * w + lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2];
        sum += made->accumulates ? d[lane] : 0;
        if (made->saturates) {
          sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        }
        d[lane] = (int32_t)(uint32_t)(uint64_t)sum;
      }
    }
  }
}

static bool share_accumulators(const emu_step *one, const emu_step *other)
{
  for (uint32_t i = 0; i < one->num_dst; i++) {
    for (uint32_t j = 0; j < other->num_dst; j++) {
      if (one->dst[i].reg == other->dst[j].reg) {
        return true;
      }
    }
  }
  return false;
}

/* Older products of the warpgroup in the same accumulators happen first; others in any order. */
static void older_happen(emu_warp *warp, const product *made)
{
  const emu_warpgroup *group = emu_warpgroup_of(warp);
  for (uint64_t number = group->first; number < made->number; number++) {
    const emu_common *common = emu_warpgroup_at(group, number);
    if (common != NULL && common->event != NULL && share_accumulators(made->event.step, common->agreed.step)) {
      emu_event_happen(warp->block->cluster, common->event, EMU_ALL_LANES);
    }
  }
}

static void product_happens(emu_event *event, uint32_t lanes)
{
  (void)lanes;
  product *made = (product *)event;
  const emu_block *block = event->warp->block;
  const emu_warp *warps = &block->warps[event->warp->index - event->warp->index % EMU_GROUP_WARPS];
  older_happen(event->warp, made);
  emu_common *common = emu_warpgroup_at(emu_warpgroup_of(event->warp), made->number);
  if (common != NULL) {
    common->event = NULL;
  }
  static _Thread_local emu_wgmma_operands operands;
  operands.a_type = made->a_type;
  operands.b_type = made->b_type;
  operands.negates_a = made->negates_a;
  operands.negates_b = made->negates_b;
  operands.n = size_n(event->step);
  if (a_is_in_registers(event->step)) {
    gather_registers(warps, event->step, operands.a);
  } else {
    emu_wgmma_gather(&made->a, emu_wgmma_size(made->a_type), EMU_WGMMA_M, block->shared, EMU_SHARED_BASE, operands.a);
  }
  emu_wgmma_gather(&made->b, emu_wgmma_size(made->b_type), operands.n, block->shared, EMU_SHARED_BASE, operands.b);
  if (is_integer(made->a_type)) {
    static _Thread_local int32_t sums[EMU_WGMMA_M][EMU_WGMMA_MAX_N];
    emu_wgmma_integers(&operands, sums);
    store_s32(warps, made, sums);
  } else {
    sum_floats(warps, made, &operands);
  }
}

/* ---- It is issued ----------------------------------------------------------------------------------------- */

static uint32_t agent_lane(const emu_warp *warp)
{
  return warp->index / EMU_GROUP_WARPS;
}

static bool read_chunk(emu_warp *warp, const emu_step *step, const emu_common *common, const char *matrix,
                       uint32_t address)
{
  const emu_block *block = warp->block;
  const uint32_t offset = address - EMU_SHARED_BASE;
  if (address < EMU_SHARED_BASE || offset + EMU_CHUNK > block->shared_bytes) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_ADDRESS,
              "out of bounds: read of 16 bytes of shared memory at 0x%x, of %s by its descriptor", address, matrix);
    return false;
  }
  for (uint32_t i = 0; i < EMU_CHUNK; i++) {
    if (block->shared_states[offset + i] != EMU_BYTE_WRITTEN) {
      const bool is_barrier = block->shared_states[offset + i] == EMU_BYTE_BARRIER;
      emu_fault(warp, step, EMU_LANES, is_barrier ? EMU_ILLEGAL_INSTRUCTION : EMU_ILLEGAL_ADDRESS,
                is_barrier ? "a plain read of the mbarrier at 0x%x, of %s by its descriptor"
                           : "uninitialised: read of shared memory at 0x%x that was never written, of %s by its "
                             "descriptor",
                address + i, matrix);
      return false;
    }
  }
  emu_race_conflict with;
  if (common->known != NULL
      && !emu_race_access_as(block->race, emu_race_extra_row(block->race), agent_lane(warp), common->known, offset,
                             EMU_CHUNK, EMU_RACE_READ, &with)) {
    emu_report_race(warp, step, EMU_LANES, &with, address, EMU_READ);
    return false;
  }
  return true;
}

static bool read_matrix(emu_warp *warp, const emu_step *step, const emu_common *common, const char *name,
                        const emu_wgmma_matrix *matrix, uint32_t rows, uint32_t element_size)
{
  const bool is_k_major = !matrix->is_mn_major;
  const uint32_t outer = is_k_major ? rows : rows * element_size / EMU_CHUNK;
  const uint32_t inner = is_k_major ? EMU_WGMMA_LINE / EMU_CHUNK : EMU_WGMMA_LINE / element_size;
  for (uint32_t i = 0; i < outer; i++) {
    for (uint32_t j = 0; j < inner; j++) {
      if (!read_chunk(warp, step, common, name, emu_smem_matrix_chunk(&matrix->place, is_k_major, i, j))) {
        return false;
      }
    }
  }
  return true;
}

/* All four warps have come: its reads are entered, and its time is drawn. */
static emu_next issue(emu_warp *warp, const emu_step *step, emu_common *common, const product *wanted)
{
  emu_race *race = warp->block->race;
  const uint32_t row = emu_race_extra_row(race);
  common->clock = emu_race_clock(race, row);
  if ((!a_is_in_registers(step)
       && !read_matrix(warp, step, common, "A", &wanted->a, EMU_WGMMA_M, emu_wgmma_size(wanted->a_type)))
      || !read_matrix(warp, step, common, "B", &wanted->b, size_n(step), emu_wgmma_size(wanted->b_type))) {
    return EMU_FAULT;
  }
  emu_race_tick(race, row);
  emu_clocks_drop(&common->known);
  product *made = emu_event_add(warp, step, EMU_ALL_LANES, sizeof *made, EMU_EVENT_PRODUCT, product_happens);
  if (made == NULL) {
    return EMU_FAULT;
  }
  const emu_event event = made->event;
  *made = *wanted;
  made->event = event;
  common->event = &made->event;
  return EMU_NEXT;
}

static bool same_for_all(emu_warp *warp, const emu_step *step, const emu_slot *slot, const char *what)
{
  const uint64_t *values = emu_in64(warp, slot);
  for (uint32_t lane = 1; lane < EMU_LANES; lane++) {
    if (values[lane] != values[0]) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION,
                "the threads of a warp give different descriptors of %s: 0x%016llx and 0x%016llx", what,
                (unsigned long long)values[0], (unsigned long long)values[lane]);
      return false;
    }
  }
  return true;
}

/* One of two constants: whether it is the second. */
static bool choice(emu_warp *warp, const emu_step *step, unsigned operand, const char *name, int first, int second,
                   bool *is_second_out)
{
  const int64_t value = (int64_t)emu_lane(warp, &step->src[operand], 0);
  if (value != first && value != second) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "%s is %lld: %d or %d", name, (long long)value, first,
              second);
    return false;
  }
  *is_second_out = value == second;
  return true;
}

/* The constants behind scale-d, from a source on: those that the type has. */
static bool read_choices(emu_warp *warp, const emu_step *step, unsigned at, product *wanted, bool *trans_a,
                         bool *trans_b)
{
  const unsigned count = step->num_src - at;
  *trans_a = *trans_b = false;
  return (count < 2
          || (choice(warp, step, at, "imm-scale-a", 1, -1, &wanted->negates_a)
              && choice(warp, step, at + 1, "imm-scale-b", 1, -1, &wanted->negates_b)))
         && (count < 4 || choice(warp, step, at + 2, "imm-trans-a", 0, 1, trans_a))
         && (count < 3 || choice(warp, step, at + count - 1, "imm-trans-b", 0, 1, trans_b));
}

static bool read_matrix_descriptor(emu_warp *warp, const emu_step *step, const emu_slot *slot, const char *name,
                                   bool is_mn_major, uint64_t *descriptor_out, emu_wgmma_matrix *matrix_out)
{
  *descriptor_out = emu_lane(warp, slot, 0);
  if (!same_for_all(warp, step, slot, name)) {
    return false;
  }
  if (!emu_wgmma_matrix_decode(*descriptor_out, is_mn_major, matrix_out)) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "the descriptor of %s, 0x%016llx, has bits set that are no field's", name,
              (unsigned long long)*descriptor_out);
    return false;
  }
  return true;
}

static bool read_operands(emu_warp *warp, const emu_step *step, product *wanted, emu_agreed *agreed)
{
  const bool in_registers = a_is_in_registers(step);
  const unsigned b = in_registers ? A_REGISTERS : 1;
  bool trans_a = false, trans_b = false;
  if (!read_choices(warp, step, b + 2, wanted, &trans_a, &trans_b)
      || (!in_registers && !read_matrix_descriptor(warp, step, &step->src[0], "A", trans_a, &agreed->a, &wanted->a))
      || !read_matrix_descriptor(warp, step, &step->src[b], "B", trans_b, &agreed->b, &wanted->b)) {
    return false;
  }
  const uint32_t scale_d = emu_in_pred(warp, &step->src[b + 1]);
  if (scale_d != 0 && scale_d != EMU_ALL_LANES) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "the threads of a warp give different scale-d: 0x%08x",
              scale_d);
    return false;
  }
  wanted->accumulates = agreed->accumulates = scale_d != 0;
  return true;
}

/* Operands that are neither D nor A's fragments. */
static bool others_are_written(emu_warp *warp, const emu_step *step)
{
  for (unsigned i = a_is_in_registers(step) ? A_REGISTERS : 0; i < step->num_src; i++) {
    if (warp->written[step->src[i].reg] != EMU_ALL_LANES) {
      emu_unwritten(warp, step, ~warp->written[step->src[i].reg], &step->src[i]);
      return false;
    }
  }
  return true;
}

static emu_next multiply(emu_warp *warp, const emu_step *step, uint32_t active, emu_wgmma_type a_type,
                         emu_wgmma_type b_type)
{
  product wanted = {.a_type = a_type, .b_type = b_type};
  emu_agreed agreed = {.step = step};
  if (active != EMU_ALL_LANES) {
    emu_warpgroup_arrive(warp, &agreed, true, active); /* which refuses it */
    return EMU_FAULT;
  }
  wanted.saturates = is_integer(a_type) && (step->mods[0] != 0 || step->mods[3] != 0);
  if (!others_are_written(warp, step) || !read_operands(warp, step, &wanted, &agreed)) {
    return EMU_FAULT;
  }
  const emu_product_use use = {.d = step->dst,
                               .a = step->src,
                               .num_d = step->num_dst,
                               .num_a = a_is_in_registers(step) ? A_REGISTERS : 0,
                               .shape = size_n(step) | size_k(a_type) << 16 | (uint32_t)(step->arg & ARG_F16_D) << 8,
                               .accumulates = wanted.accumulates};
  emu_common *common = emu_products_use(warp, step, &use) ? emu_warpgroup_arrive(warp, &agreed, true, active) : NULL;
  if (common == NULL) {
    return EMU_FAULT;
  }
  common->group = warp->products->committed + 1;
  wanted.number = warp->products->position - 1;
  return common->arrived == EMU_GROUP_WARPS ? issue(warp, step, common, &wanted) : EMU_NEXT;
}

/* Choices: f16|bf16, of A and B. */
static emu_next mma_16(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const emu_wgmma_type type = step->mods[0] == 2 ? EMU_WGMMA_BF16 : EMU_WGMMA_F16;
  return multiply(warp, step, active, type, type);
}

static emu_next mma_tf32(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return multiply(warp, step, active, EMU_WGMMA_TF32, EMU_WGMMA_TF32);
}

/* Choices: e4m3|e5m2 of A, of B. */
static emu_next mma_f8(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return multiply(warp, step, active, step->mods[0] == 1 ? EMU_WGMMA_E4M3 : EMU_WGMMA_E5M2,
                  step->mods[1] == 1 ? EMU_WGMMA_E4M3 : EMU_WGMMA_E5M2);
}

/* Choices: satfinite, s8|u8 of A, of B, satfinite: the documents have it in both places. */
static emu_next mma_8(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return multiply(warp, step, active, step->mods[1] == 1 ? EMU_WGMMA_S8 : EMU_WGMMA_U8,
                  step->mods[2] == 1 ? EMU_WGMMA_S8 : EMU_WGMMA_U8);
}

static emu_next mma_b1(emu_warp *warp, const emu_step *step, uint32_t active)
{
  return multiply(warp, step, active, EMU_WGMMA_B1, EMU_WGMMA_B1);
}

/* ---- Around it -------------------------------------------------------------------------------------------- */

static bool arrive(emu_warp *warp, const emu_step *step, uint32_t active)
{
  const emu_agreed agreed = {.step = step};
  if (emu_warpgroup_arrive(warp, &agreed, false, active) == NULL) {
    return false;
  }
  emu_warpgroup_trim(emu_warpgroup_of(warp));
  return true;
}

static emu_next fence(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (!arrive(warp, step, active)) {
    return EMU_FAULT;
  }
  struct emu_products *products = warp->products;
  if (products->registers == NULL) {
    products->registers = calloc(warp->block->kernel->num_written, sizeof *products->registers);
  }
  if (products->registers == NULL) {
    return emu_fault(warp, step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory for what products use of a warp");
  }
  products->fences++;
  return EMU_NEXT;
}

static emu_next commit_group(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (!arrive(warp, step, active)) {
    return EMU_FAULT;
  }
  warp->products->committed++;
  return EMU_NEXT;
}

/* The groups up to one happen, and the warp knows of them; false: not all warps have issued all. */
static bool wait_until(emu_warp *warp, uint32_t last_group)
{
  emu_warpgroup *group = emu_warpgroup_of(warp);
  for (uint32_t i = 0; i < group->count; i++) {
    const emu_common *common = &group->list[i];
    if (common->is_product && common->group <= last_group && common->arrived < EMU_GROUP_WARPS) {
      return false;
    }
  }
  uint32_t clock = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    emu_common *common = &group->list[i];
    if (!common->is_product || common->group > last_group || common->group <= warp->products->waited) {
      continue;
    }
    if (common->event != NULL) {
      emu_event_happen(warp->block->cluster, common->event, EMU_ALL_LANES);
    }
    common->waited++;
    clock = common->clock;
  }
  emu_race *race = warp->block->race;
  emu_clocks *heard = NULL;
  if (clock != 0) {
    emu_race_publish(race, emu_race_extra_row(race), agent_lane(warp), clock, &heard);
    emu_race_acquire(race, warp->index, EMU_ALL_LANES, heard);
    emu_clocks_drop(&heard);
  }
  emu_warpgroup_trim(group);
  return true;
}

static emu_next wait_group(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (!warp->group->is_resumed && !arrive(warp, step, active)) {
    return EMU_FAULT;
  }
  struct emu_products *products = warp->products;
  const uint64_t left = emu_lane(warp, &step->src[0], 0);
  const uint32_t last = products->committed > left ? products->committed - (uint32_t)left : 0;
  if (last <= products->waited) {
    return EMU_NEXT;
  }
  if (!wait_until(warp, last)) {
    warp->group->state = EMU_WAITING;
    warp->group->wait_barrier = EMU_WAIT_PRODUCT;
    warp->group->why = "the other warps of its warpgroup at wgmma.mma_async";
    return EMU_BLOCK;
  }
  products->waited = last;
  return EMU_NEXT;
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define SM_90A (90 | 128)
#define ROW(pattern, operands, function, flags, arg)                                                                   \
  {                                                                                                                    \
    "wgmma." pattern, operands, function, EMU_ROW_ALIGNED | (flags), arg, SM_90A                                       \
  }
#define MMA(n, rest, registers, operands, function, arg)                                                               \
  ROW("mma_async.sync.aligned.m64n" #n rest, "=v" #registers "w " operands, function,                                  \
      EMU_ROW_OWN | EMU_ROW_ASYNC | EMU_ROW_PRODUCT, (n) / 8 | (arg))
/* A in shared memory and in registers; choices: the constants behind scale-d. */
#define BOTH(n, rest, registers, choices, function, arg)                                                               \
  MMA(n, rest, registers, "l l p" choices, function, arg),                                                             \
      MMA(n, rest, registers, "v4w l p" choices, function, (arg) | ARG_A_REGISTERS)
#define BOTH_16(n, rest, registers, arg)                                                                               \
  MMA(n, rest, registers, "l l p c c c c", mma_16, arg),                                                               \
      MMA(n, rest, registers, "v4w l p c c c", mma_16, (arg) | ARG_A_REGISTERS)

/* half: the registers of D in 32 bits, quarter: in 16. */
#define FLOATS(n, half, quarter)                                                                                       \
  BOTH_16(n, "k16.f32.f16|-.f16", half, 0), BOTH_16(n, "k16.f32.-|bf16.bf16", half, 0),                                \
      BOTH_16(n, "k16.f16.f16.f16", quarter, ARG_F16_D), BOTH(n, "k8.f32.tf32.tf32", half, " c c", mma_tf32, 0),       \
      BOTH(n, "k32.f32.e4m3|e5m2.e4m3|e5m2", half, " c c", mma_f8, 0),                                                 \
      BOTH(n, "k32.f16.e4m3|e5m2.e4m3|e5m2", quarter, " c c", mma_f8, ARG_F16_D)
#define INTEGERS(n, half)                                                                                              \
  BOTH(n, "k32.satfinite?.s32.s8|u8.s8|u8.satfinite?", half, "", mma_8, 0),                                            \
      BOTH(n, "k256.s32.b1.b1.and.popc", half, "", mma_b1, 0)

static const emu_row rows[] = {
    ROW("fence.sync.aligned", "", fence, 0, 0),
    ROW("commit_group.sync.aligned", "", commit_group, 0, 0),
    ROW("wait_group.sync.aligned", "c", wait_group, 0, 0),
    FLOATS(8, 4, 2),
    FLOATS(16, 8, 4),
    FLOATS(24, 12, 6),
    FLOATS(32, 16, 8),
    FLOATS(40, 20, 10),
    FLOATS(48, 24, 12),
    FLOATS(56, 28, 14),
    FLOATS(64, 32, 16),
    FLOATS(72, 36, 18),
    FLOATS(80, 40, 20),
    FLOATS(88, 44, 22),
    FLOATS(96, 48, 24),
    FLOATS(104, 52, 26),
    FLOATS(112, 56, 28),
    FLOATS(120, 60, 30),
    FLOATS(128, 64, 32),
    FLOATS(136, 68, 34),
    FLOATS(144, 72, 36),
    FLOATS(152, 76, 38),
    FLOATS(160, 80, 40),
    FLOATS(168, 84, 42),
    FLOATS(176, 88, 44),
    FLOATS(184, 92, 46),
    FLOATS(192, 96, 48),
    FLOATS(200, 100, 50),
    FLOATS(208, 104, 52),
    FLOATS(216, 108, 54),
    FLOATS(224, 112, 56),
    FLOATS(232, 116, 58),
    FLOATS(240, 120, 60),
    FLOATS(248, 124, 62),
    FLOATS(256, 128, 64),
    INTEGERS(8, 4),
    INTEGERS(16, 8),
    INTEGERS(24, 12),
    INTEGERS(32, 16),
    INTEGERS(48, 24),
    INTEGERS(64, 32),
    INTEGERS(80, 40),
    INTEGERS(96, 48),
    INTEGERS(112, 56),
    INTEGERS(128, 64),
    INTEGERS(144, 72),
    INTEGERS(160, 80),
    INTEGERS(176, 88),
    INTEGERS(192, 96),
    INTEGERS(208, 104),
    INTEGERS(224, 112),
    INTEGERS(240, 120),
    INTEGERS(256, 128),
};

EMU_FAMILY(emu_family_wgmma, rows);
