/* SPDX-License-Identifier: Apache-2.0 */
#include "warpgroup.h"

#include <stdlib.h>

/* ---- Making ----------------------------------------------------------------------------------------------- */

int emu_warpgroups_make(emu_block *block)
{
  block->warpgroups = calloc(1, sizeof *block->warpgroups);
  return block->warpgroups == NULL ? EMU_OUT_OF_MEMORY : EMU_OK;
}

static void free_products(emu_warp *warp)
{
  if (warp->products != NULL) {
    free(warp->products->registers);
    free(warp->products);
  }
  warp->products = NULL;
}

static void forget(emu_warpgroup *group, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    emu_clocks_drop(&group->list[i].known);
  }
  memmove(group->list, group->list + count, (group->count - count) * sizeof *group->list);
  group->count -= count;
  group->first += count;
}

void emu_warpgroups_start(emu_block *block)
{
  for (uint32_t w = 0; w < block->num_warps; w++) {
    free_products(&block->warps[w]);
  }
  for (uint32_t i = 0; i < EMU_MAX_WARPS / EMU_GROUP_WARPS; i++) {
    emu_warpgroup *group = &block->warpgroups->groups[i];
    if (group->count > 0) {
      forget(group, group->count);
    }
    group->first = 0;
  }
  block->warpgroups->free_registers = 0;
}

void emu_warpgroups_free(emu_block *block)
{
  if (block->warpgroups == NULL) {
    return;
  }
  emu_warpgroups_start(block);
  for (uint32_t i = 0; i < EMU_MAX_WARPS / EMU_GROUP_WARPS; i++) {
    free(block->warpgroups->groups[i].list);
  }
  free(block->warpgroups);
  block->warpgroups = NULL;
}

/* ---- The common way --------------------------------------------------------------------------------------- */

static uint32_t first_of(const emu_warp *warp)
{
  return warp->index / EMU_GROUP_WARPS * EMU_GROUP_WARPS;
}

emu_warpgroup *emu_warpgroup_of(const emu_warp *warp)
{
  return &warp->block->warpgroups->groups[warp->index / EMU_GROUP_WARPS];
}

emu_common *emu_warpgroup_at(const emu_warpgroup *group, uint64_t number)
{
  return number >= group->first && number - group->first < group->count ? &group->list[number - group->first] : NULL;
}

void emu_warpgroup_trim(emu_warpgroup *group)
{
  uint32_t count = 0;
  while (count < group->count && group->list[count].arrived == EMU_GROUP_WARPS
         && (!group->list[count].is_product || group->list[count].waited == EMU_GROUP_WARPS)) {
    count++;
  }
  if (count > 0) {
    forget(group, count);
  }
}

void emu_warpgroup_wake(emu_block *block, uint32_t first_warp, uint32_t num_warps, uint32_t wait)
{
  for (uint32_t w = first_warp; w < first_warp + num_warps; w++) {
    emu_warp *warp = &block->warps[w];
    for (uint32_t g = 0; g < warp->num_groups; g++) {
      emu_group *group = &warp->groups[g];
      if (group->state == EMU_WAITING && group->wait_barrier == wait) {
        group->state = EMU_READY;
        group->is_resumed = 1;
        group->wait_barrier = 0;
      }
    }
  }
  emu_progress(block->cluster);
}

/* The warp's state, made when it executes its first instruction of this kind; NULL after emu_fault. */
static struct emu_products *products_of(emu_warp *warp, const emu_step *step)
{
  if (warp->products == NULL) {
    warp->products = calloc(1, sizeof *warp->products);
  }
  if (warp->products == NULL) {
    emu_fault(warp, step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory for the products of a warp");
  }
  return warp->products;
}

static bool is_in_a_warpgroup(emu_warp *warp, const emu_step *step, uint32_t active)
{
  if (active != EMU_ALL_LANES) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "lanes 0x%08x execute an instruction of a warpgroup: all 32 lanes of its four warps must", active);
    return false;
  }
  if (first_of(warp) + EMU_GROUP_WARPS > warp->block->num_warps) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "warp %u is in no warpgroup: that is four warps from a multiple of four on, and the block has %u warps",
              warp->index, warp->block->num_warps);
    return false;
  }
  return true;
}

/* The others of the warpgroup can still come to what this warp is the first to execute. */
static bool others_live(emu_warp *warp, const emu_step *step)
{
  for (uint32_t w = first_of(warp); w < first_of(warp) + EMU_GROUP_WARPS; w++) {
    if (warp->block->warps[w].live == 0) {
      emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
                "warp %u of the warpgroup has ended: all four warps must execute this", w);
      return false;
    }
  }
  return true;
}

static emu_common *append(emu_warp *warp, const emu_agreed *agreed, bool is_product)
{
  emu_warpgroup *group = emu_warpgroup_of(warp);
  if (!others_live(warp, agreed->step)) {
    return NULL;
  }
  if (group->count == group->room) {
    const uint32_t room = group->room == 0 ? 32 : 2 * group->room;
    emu_common *grown = realloc(group->list, room * sizeof *grown);
    if (grown == NULL) {
      emu_fault(warp, agreed->step, EMU_LANES, EMU_OUT_OF_MEMORY, "no memory for the products of a warpgroup");
      return NULL;
    }
    group->list = grown;
    group->room = room;
  }
  emu_common *made = &group->list[group->count++];
  *made = (emu_common){.agreed = *agreed, .first_warp = warp->index, .is_product = is_product};
  return made;
}

static bool agrees(emu_warp *warp, const emu_agreed *agreed, const emu_common *with)
{
  const emu_step *step = agreed->step, *other = with->agreed.step;
  if (step != other) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "the warps of a warpgroup must execute the same instruction: warp %u executed %.*s of PTX line %u",
              with->first_warp, (int)(other->from->opcode.length < 80 ? other->from->opcode.length : 80),
              other->from->opcode.at, other->from->place.line);
    return false;
  }
  if (agreed->a != with->agreed.a || agreed->b != with->agreed.b) {
    const bool is_a = agreed->a != with->agreed.a;
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "the warps of a warpgroup give different descriptors of %s: 0x%016llx, and warp %u 0x%016llx",
              is_a ? "A" : "B", (unsigned long long)(is_a ? agreed->a : agreed->b), with->first_warp,
              (unsigned long long)(is_a ? with->agreed.a : with->agreed.b));
    return false;
  }
  if (agreed->accumulates != with->agreed.accumulates) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "the warps of a warpgroup give different scale-d: %d, and warp %u %d", agreed->accumulates,
              with->first_warp, with->agreed.accumulates);
    return false;
  }
  return true;
}

/* What all who have arrived know is what this warp's lanes know together, as far as the others do. */
static void know(emu_warp *warp, emu_common *common)
{
  emu_clocks *own = NULL;
  emu_race_release(warp->block->race, warp->index, EMU_ALL_LANES, &own);
  if (common->arrived == 0) {
    common->known = own;
    return;
  }
  if (own != NULL && common->known != NULL) {
    emu_clocks_meet(common->known, own);
  }
  emu_clocks_drop(&own);
}

emu_common *emu_warpgroup_arrive(emu_warp *warp, const emu_agreed *agreed, bool is_product, uint32_t active)
{
  const emu_step *step = agreed->step;
  struct emu_products *products = is_in_a_warpgroup(warp, step, active) ? products_of(warp, step) : NULL;
  if (products == NULL) {
    return NULL;
  }
  emu_common *common = emu_warpgroup_at(emu_warpgroup_of(warp), products->position);
  if (common == NULL) {
    common = append(warp, agreed, is_product);
  } else if (!agrees(warp, agreed, common)) {
    common = NULL;
  }
  if (common == NULL) {
    return NULL;
  }
  if (is_product) {
    know(warp, common);
  }
  common->arrived++;
  products->position++;
  if (common->arrived == EMU_GROUP_WARPS) {
    emu_warpgroup_wake(warp->block, first_of(warp), EMU_GROUP_WARPS, EMU_WAIT_PRODUCT);
  }
  return common;
}

void emu_warpgroup_warp_ended(emu_warp *warp, const emu_step *step)
{
  const emu_warpgroup *group = emu_warpgroup_of(warp);
  const uint64_t position = warp->products == NULL ? 0 : warp->products->position;
  const emu_common *next = emu_warpgroup_at(group, position);
  if (next != NULL) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION,
              "the warp ends without %.*s of PTX line %u, which warp %u of its warpgroup has executed",
              (int)(next->agreed.step->from->opcode.length < 80 ? next->agreed.step->from->opcode.length : 80),
              next->agreed.step->from->opcode.at, next->agreed.step->from->place.line, next->first_warp);
  }
}

/* ---- Registers -------------------------------------------------------------------------------------------- */

static bool refuse(emu_warp *warp, const emu_step *step, const emu_slot *slot, const char *why)
{
  const ptx_name name = emu_register_name(warp->block->kernel, slot->reg);
  emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "register %.*s %s", (int)name.length, name.at, why);
  return false;
}

static bool touch(emu_warp *warp, const emu_step *step, const emu_slot *slot)
{
  const struct emu_products *products = warp->products;
  emu_watched *watched = &products->registers[slot->reg];
  if (watched->d_group > products->waited) {
    return refuse(warp, step, slot,
                  "is an accumulator of a product in flight: no wgmma.wait_group has waited for its group");
  }
  if (watched->a_group > products->waited) {
    return refuse(warp, step, slot, "holds A of a product in flight: no wgmma.wait_group has waited for its group");
  }
  watched->touched = products->fences + 1;
  return true;
}

bool emu_products_touch(emu_warp *warp, const emu_step *step)
{
  for (unsigned i = 0; i < step->num_dst; i++) {
    if (step->dst[i].reg != 0 && !touch(warp, step, &step->dst[i])) {
      return false;
    }
  }
  for (unsigned i = 0; i < step->num_src; i++) {
    if (step->src[i].reg != 0 && !touch(warp, step, &step->src[i])) {
      return false;
    }
  }
  return true;
}

static bool is_written(emu_warp *warp, const emu_step *step, const emu_slot *slot)
{
  const uint32_t missing = ~warp->written[slot->reg];
  return missing == 0 || emu_unwritten(warp, step, missing, slot) != EMU_FAULT;
}

#define NEEDS_FENCE ": a wgmma.fence must stand between"

static bool use_a(emu_warp *warp, const emu_step *step, const emu_slot *slot)
{
  const struct emu_products *products = warp->products;
  emu_watched *watched = &products->registers[slot->reg];
  const uint32_t now = products->fences + 1;
  if (watched->touched == now) {
    return refuse(warp, step, slot, "of A was accessed since the last wgmma.fence" NEEDS_FENCE);
  }
  if (watched->d_group > products->waited) {
    return refuse(warp, step, slot, "of A is an accumulator of a product in flight");
  }
  if (watched->d_fences == now) {
    return refuse(warp, step, slot, "of A was an accumulator since the last wgmma.fence" NEEDS_FENCE);
  }
  watched->a_fences = now;
  watched->a_group = products->committed + 1;
  return is_written(warp, step, slot);
}

/* Products of one shape may follow each other in the same accumulators. */
static bool use_d(emu_warp *warp, const emu_step *step, const emu_slot *slot, const emu_product_use *use)
{
  const struct emu_products *products = warp->products;
  emu_watched *watched = &products->registers[slot->reg];
  const uint32_t now = products->fences + 1;
  if (watched->touched == now) {
    return refuse(warp, step, slot, "of D was accessed since the last wgmma.fence" NEEDS_FENCE);
  }
  if (watched->a_group > products->waited) {
    return refuse(warp, step, slot, "of D holds A of a product in flight");
  }
  if (watched->a_fences == now) {
    return refuse(warp, step, slot, "of D held A since the last wgmma.fence" NEEDS_FENCE);
  }
  if (watched->d_group > products->waited && watched->d_shape != use->shape) {
    return refuse(warp, step, slot, "of D is an accumulator of a product of another shape in flight");
  }
  if (watched->d_fences == now && watched->d_shape != use->shape) {
    return refuse(warp, step, slot, "of D was an accumulator of another shape since the last wgmma.fence" NEEDS_FENCE);
  }
  if (watched->d_product == products->position + 1) {
    return refuse(warp, step, slot, "is twice in D");
  }
  if (use->accumulates && !is_written(warp, step, slot)) {
    return false;
  }
  watched->d_fences = now;
  watched->d_group = products->committed + 1;
  watched->d_shape = use->shape;
  watched->d_product = products->position + 1;
  warp->written[slot->reg] = EMU_ALL_LANES;
  return true;
}

bool emu_products_use(emu_warp *warp, const emu_step *step, const emu_product_use *use)
{
  if (warp->products == NULL || warp->products->fences == 0) {
    emu_fault(warp, step, EMU_LANES, EMU_ILLEGAL_INSTRUCTION, "no wgmma.fence before the first wgmma.mma_async");
    return false;
  }
  for (uint32_t i = 0; i < use->num_a; i++) {
    if (!use_a(warp, step, &use->a[i])) {
      return false;
    }
  }
  for (uint32_t i = 0; i < use->num_d; i++) {
    if (!use_d(warp, step, &use->d[i], use)) {
      return false;
    }
  }
  return true;
}
