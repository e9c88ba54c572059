/* SPDX-License-Identifier: Apache-2.0 */
/* One lane's access to memory: which memory, whether it is there, aligned, written, and in no race. */
#include <stdio.h>

#include "global_race.h"

static const char *kind_words(emu_access_kind kind)
{
  return kind == EMU_READ           ? "read"
         : kind == EMU_WRITE        ? "write"
         : kind == EMU_ATOMIC       ? "atomic access"
         : kind == EMU_STRONG_WRITE ? "write"
                                    : "mbarrier use";
}

emu_space emu_generic(uint64_t address, uint64_t *address_out)
{
  static const struct {
    uint64_t base;
    emu_space space;
  } windows[] = {{EMU_SHARED_WINDOW, EMU_SHARED_CLUSTER}, {EMU_LOCAL_WINDOW, EMU_LOCAL}, {EMU_PARAM_WINDOW, EMU_PARAM}};
  for (unsigned i = 0; i < 3; i++) {
    if (address >= windows[i].base && address - windows[i].base < EMU_WINDOW_BYTES) {
      *address_out = address - windows[i].base;
      return windows[i].space;
    }
  }
  *address_out = address;
  return EMU_GLOBAL;
}

static uint8_t *out_of_bounds(emu_warp *warp, const emu_step *step, unsigned lane, const char *what, uint64_t address,
                              uint32_t size, emu_access_kind kind)
{
  emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS, "out of bounds: %s of %u bytes of %s memory at 0x%llx",
            kind_words(kind), size, what, (unsigned long long)address);
  return NULL;
}

static uint8_t *never_written(emu_warp *warp, const emu_step *step, unsigned lane, const char *what, uint64_t address,
                              uint32_t size)
{
  emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
            "uninitialised: read of %u bytes of %s memory at 0x%llx that were never written", size, what,
            (unsigned long long)address);
  return NULL;
}

/* Of a launch in a chain: false after emu_fault, where the launch before does with a byte what this one may not see or
 * disturb yet. Leaves the marks of this one. */
static bool mark_chain(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, uint8_t *states,
                       uint32_t size, emu_access_kind kind)
{
  const emu_launch *launch = warp->block->grid->launch;
  const unsigned own = launch->chain % 2 == 1 ? 0 : 2, other = 2 - own;
  const unsigned bad = (kind == EMU_READ ? EMU_MARK_WRITTEN + 0u : EMU_MARKS) << other;
  const unsigned made = (kind == EMU_READ ? EMU_MARK_READ + 0u : EMU_MARK_WRITTEN) << own;
  for (uint32_t i = 0; i < size; i++) {
    if (launch->chain > 1 && (states[i] & bad) != 0 && !emu_grid_has_waited(warp, lane)) {
      const bool was_written = (states[i] & EMU_MARK_WRITTEN << other) != 0;
      emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
                "%s of global memory at 0x%llx, which the launch before %s: it may not have ended, and no "
                "griddepcontrol.wait has come before",
                kind_words(kind), (unsigned long long)(address + i), was_written ? "writes" : "reads");
      return false;
    }
    states[i] |= launch->is_followed ? (uint8_t)made : 0;
  }
  return true;
}

static uint8_t *access_global(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, uint32_t size,
                              emu_access_kind kind)
{
  const emu_global *memory = emu_global_memory();
  const uint64_t offset = address - EMU_GLOBAL_WINDOW;
  if (offset >= memory->size || size > memory->size - offset) {
    return out_of_bounds(warp, step, lane, "global", address, size, kind);
  }
  uint8_t *states = memory->states + offset;
  const bool is_chained = warp->block->grid->launch->chain != 0;
  const bool is_write = kind == EMU_WRITE || kind == EMU_STRONG_WRITE;
  const bool is_followed = warp->block->grid->races != NULL;
  if (!is_chained && !is_followed && emu_all_state(states, size, EMU_BYTE_WRITTEN)) {
    return memory->data + offset;
  }
  for (uint32_t i = 0; i < size; i++) {
    if ((states[i] & EMU_BYTE_STATE) == EMU_BYTE_NONE) {
      return out_of_bounds(warp, step, lane, "global", address, size, kind);
    }
    if (!is_write && (states[i] & EMU_BYTE_STATE) != EMU_BYTE_WRITTEN) {
      return never_written(warp, step, lane, "global", address, size);
    }
  }
  if (is_followed && !emu_global_race_access(warp, step, lane, address, size, kind)) {
    return NULL;
  }
  if (is_chained && !mark_chain(warp, step, lane, address, states, size, kind)) {
    return NULL;
  }
  for (uint32_t i = 0; i < size && is_write; i++) {
    states[i] = (uint8_t)((states[i] & ~EMU_BYTE_STATE) | EMU_BYTE_WRITTEN);
  }
  return memory->data + offset;
}

emu_block *emu_shared_find(emu_warp *warp, emu_space space, uint64_t address, uint32_t size, uint32_t *offset_out)
{
  emu_block *block = warp->block;
  const uint64_t rank = address >> 24;
  const uint64_t at = address & 0xffffff;
  if (space == EMU_SHARED && rank != block->cluster_rank) {
    return NULL;
  }
  if (rank >= block->cluster->num_blocks || at < EMU_SHARED_BASE) {
    return NULL;
  }
  block = &block->cluster->blocks[rank];
  const uint64_t offset = at - EMU_SHARED_BASE;
  if (offset > block->shared_bytes || size > block->shared_bytes - offset) {
    return NULL;
  }
  *offset_out = (uint32_t)offset;
  return block;
}

void emu_report_race(emu_warp *warp, const emu_step *step, unsigned lane, const emu_race_conflict *with,
                     uint64_t address, emu_access_kind kind)
{
  const uint32_t warps = warp->block->num_warps;
  const char *done = with->kind == EMU_RACE_READ    ? "a read"
                     : with->kind == EMU_RACE_WRITE ? "a write"
                                                    : "an atomic access";
  const bool is_async = with->row >= warps;
  char by[96];
  if (with->row >= 2 * warps) {
    const uint32_t first = 4 * with->lane;
    const bool is_product = with->row == 2 * warps && first < warps && warp->block->warps[first].products != NULL;
    snprintf(by, sizeof by, is_product ? "a product of warpgroup %u" : "an asynchronous operation", with->lane);
  } else {
    snprintf(by, sizeof by, "%swarp %u lane %u", is_async ? "an asynchronous operation of " : "", with->row % warps,
             with->lane);
  }
  char of[48] = "";
  if (with->block != warp->block->cluster_rank) {
    snprintf(of, sizeof of, " of block %u of the cluster", with->block);
  }
  emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
            "race: %s of shared memory at 0x%llx is not ordered with %s by %s%s%s", kind_words(kind),
            (unsigned long long)address, done, by, of,
            with->lacks_proxy_fence ? ": no fence.proxy.async stands between" : "");
}

/* Whether the bytes are in the state that the kind of access needs; a write leaves them written. */
static bool shared_state(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, uint8_t *states,
                         uint32_t size, emu_access_kind kind)
{
  const uint8_t wanted = kind == EMU_BARRIER_USE ? EMU_BYTE_BARRIER : EMU_BYTE_WRITTEN;
  if (emu_all_state(states, size, wanted)) {
    if (kind == EMU_BARRIER_INIT) {
      memset(states, EMU_BYTE_BARRIER, size);
    }
    return true;
  }
  if (kind == EMU_BARRIER_USE) {
    emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "no mbarrier was initialised at 0x%llx",
              (unsigned long long)address);
    return false;
  }
  for (uint32_t i = 0; i < size && kind != EMU_BARRIER_INIT; i++) {
    if (states[i] == EMU_BYTE_BARRIER) {
      emu_fault(warp, step, lane, EMU_ILLEGAL_INSTRUCTION, "a plain %s of the mbarrier at 0x%llx", kind_words(kind),
                (unsigned long long)address);
      return false;
    }
  }
  if (kind == EMU_READ || kind == EMU_ATOMIC) {
    never_written(warp, step, lane, "shared", address, size);
    return false;
  }
  memset(states, kind == EMU_BARRIER_INIT ? EMU_BYTE_BARRIER : EMU_BYTE_WRITTEN, size);
  return true;
}

bool emu_shared_alive(emu_warp *warp, const emu_step *step, unsigned lane, const emu_block *block, uint64_t address)
{
  const bool has_begun = emu_race_has_begun(warp->block->race, warp->index, lane, block->race);
  if (has_begun && block->live_warps > 0) {
    return true;
  }
  emu_fault(warp, step, lane, EMU_ILLEGAL_ADDRESS,
            has_begun
                ? "use of shared memory at 0x%llx: block %u of the cluster has ended, and its shared memory with it"
                : "use of shared memory at 0x%llx: block %u of the cluster is not known to have begun",
            (unsigned long long)address, block->cluster_rank);
  return false;
}

static uint8_t *access_shared(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                              uint32_t size, emu_access_kind kind)
{
  uint32_t offset = 0;
  emu_block *block = emu_shared_find(warp, space, address, size, &offset);
  if (block == NULL) {
    return out_of_bounds(warp, step, lane, "shared", address, size, kind);
  }
  if (!emu_shared_alive(warp, step, lane, block, address)) {
    return NULL;
  }
  const emu_race_kind seen = kind == EMU_READ                                ? EMU_RACE_READ
                             : kind == EMU_WRITE || kind == EMU_BARRIER_INIT ? EMU_RACE_WRITE
                                                                             : EMU_RACE_ATOMIC;
  emu_race_conflict with;
  if (!emu_race_access_of(block->race, warp->block->race, (emu_race_by){warp->index, lane, warp->index, lane, false},
                          offset, size, seen, &with)) {
    emu_report_race(warp, step, lane, &with, address, kind);
    return NULL;
  }
  if (!shared_state(warp, step, lane, address, block->shared_states + offset, size, kind)) {
    return NULL;
  }
  return block->shared + offset;
}

static uint8_t *access_local(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, uint32_t size,
                             emu_access_kind kind)
{
  const emu_block *block = warp->block;
  const uint32_t bytes = block->kernel->info.local_bytes;
  if (address < EMU_LOCAL_BASE || address > bytes || size > bytes - address) {
    return out_of_bounds(warp, step, lane, "local", address, size, kind);
  }
  const size_t at = ((size_t)warp->index * EMU_LANES + lane) * bytes + address;
  if (kind == EMU_WRITE || kind == EMU_STRONG_WRITE) {
    memset(block->local_states + at, EMU_BYTE_WRITTEN, size);
  } else if (!emu_all_state(block->local_states + at, size, EMU_BYTE_WRITTEN)) {
    return never_written(warp, step, lane, "local", address, size);
  }
  return block->local + at;
}

static uint8_t *access_param(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, uint32_t size,
                             emu_access_kind kind)
{
  const uint32_t bytes = warp->block->kernel->info.param_bytes;
  if (kind != EMU_READ || address > bytes || size > bytes - address) {
    return out_of_bounds(warp, step, lane, "parameter", address, size, kind);
  }
  return warp->block->grid->params + address;
}

uint8_t *emu_access(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                    uint32_t size, emu_access_kind kind)
{
  if ((address & (size - 1)) != 0) {
    emu_fault(warp, step, lane, EMU_MISALIGNED_ADDRESS, "misaligned: %s of %u bytes at 0x%llx", kind_words(kind), size,
              (unsigned long long)address);
    return NULL;
  }
  return emu_access_bytes(warp, step, lane, space, address, size, kind);
}

uint8_t *emu_access_bytes(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                          uint32_t size, emu_access_kind kind)
{
  if (space == EMU_GENERIC) {
    space = emu_generic(address, &address);
  }
  switch (space) {
  case EMU_SHARED:
  case EMU_SHARED_CLUSTER:
    return access_shared(warp, step, lane, space, address, size, kind);
  case EMU_LOCAL:
    return access_local(warp, step, lane, address, size, kind);
  case EMU_PARAM:
    return access_param(warp, step, lane, address, size, kind);
  default:
    return access_global(warp, step, lane, address, size, kind);
  }
}
