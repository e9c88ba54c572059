/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk operations, and those of their kind (st.async, red.async): copies and reductions in the async proxy between
 * global memory, the block's shared memory and that of other blocks. One is put together from runs of bytes, then
 * issued: what it reads is read early or late, and it is written in pieces, each at a drawn time. It has an agent of
 * its own (check_race.h). */
#ifndef EMU_BULK_H
#define EMU_BULK_H

#include "async.h"

typedef struct emu_bulk_run {
  uint8_t *to;
  const uint8_t *from;
  uint32_t bytes;
} emu_bulk_run;

enum { EMU_BULK_PIECES = 4 };

typedef struct emu_bulk {
  struct emu_bulk *next; /* of the warp's, that are to be waited for by groups */
  unsigned users;        /* events, and that list */
  emu_warp *warp;        /* that issued it */
  const emu_step *step;
  unsigned lane;
  emu_agent agent; /* clock: of its reads; the clock behind it is of its writes */
  emu_bulk_run *runs;
  uint32_t num_runs, room;
  uint64_t bytes; /* of all runs */
  uint8_t *data;  /* what was read, once it was */
  bool is_read, has_barrier;
  bool is_generic;         /* not in the async proxy */
  uint8_t value[16];       /* of an operation on registers */
  uint8_t operation, type; /* of a reduction: numbers of exec_atomic.c; type 0: a copy */
  emu_mbarrier at;
  unsigned pieces_left;
  uint32_t group;
} emu_bulk;

/* NULL after emu_fault. */
emu_bulk *emu_bulk_begin(emu_warp *warp, const emu_step *step, unsigned lane);
/* A run of bytes more; false after emu_fault. */
bool emu_bulk_add(emu_bulk *op, uint8_t *to, const uint8_t *from, uint32_t bytes);
/* It will not be issued. */
void emu_bulk_abandon(emu_bulk *op);

/* Where bytes of shared memory are on the host, after the checks of an access by the operation; NULL after emu_fault.
 * is_write: EMU_RACE_WRITE or EMU_RACE_ATOMIC. */
uint8_t *emu_bulk_shared(emu_bulk *op, emu_space space, uint64_t address, uint32_t bytes, emu_race_kind kind);
/* The mbarrier of a block of the cluster that the operation completes at: used by the operation, not by the thread, so
 * that who knows the operation to be over knows that of this use. False after emu_fault. */
bool emu_bulk_barrier(emu_bulk *op, uint64_t address, emu_mbarrier *found);
/* The same of global memory: without race checks. */
uint8_t *emu_bulk_global(emu_bulk *op, uint64_t address, uint32_t bytes, bool is_write);
/* Aligned to so many bytes; false after emu_fault. what: "source", "destination". */
bool emu_bulk_aligned(emu_bulk *op, const char *what, uint64_t address, uint32_t to);

/* Takes the operation. Its bytes are taken from the mbarrier's transaction count as they arrive. False after
 * emu_fault. */
bool emu_bulk_issue(emu_bulk *op, const emu_mbarrier *at);
/* Takes the operation: it belongs to the thread's bulk group under way. */
bool emu_bulk_issue_to_group(emu_bulk *op);

/* A ctaMask of no more blocks than there are; false after emu_fault. */
bool emu_bulk_mask(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t mask);
/* The same place of another block's shared memory. */
uint64_t emu_in_block(uint64_t address, uint32_t rank);

void emu_bulks_start(emu_warp *warp);
void emu_bulks_free(emu_warp *warp);

#endif
