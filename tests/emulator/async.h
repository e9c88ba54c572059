/* SPDX-License-Identifier: Apache-2.0 */
/* What completes later: copies, products, arrivals. Each is an event of its cluster: it happens when the cluster's
 * clock passes a drawn time, or is forced: by a wait, or when nobody else can go on. */
#ifndef EMU_ASYNC_H
#define EMU_ASYNC_H

#include "exec.h"

/* Rows of agents for whole operations (check_race.h), beyond the warps' and their lanes' own. */
/* Row 0 is of wgmma; row 1 of the launch before, its first lane, which has ended for who knows of clock 1. */
enum {
  EMU_LAUNCH_AGENT_ROW = 1,
  EMU_BULK_AGENT_ROW,

  /* global_race.h: a lane for each warp of the block */
  EMU_HEARD_ROW = EMU_BULK_AGENT_ROW + EMU_AGENTS / EMU_LANES,
  EMU_ACQUIRED_ROW,
  EMU_EXTRA_AGENT_ROWS
};

/* One of the agents in the rows from EMU_BULK_AGENT_ROW on, for one operation of a thread. What the agent did before is
 * known to the thread, so that who hears of this operation may hear of that too. clock: at which it works now; two
 * clocks are its own. */
typedef struct emu_agent {
  uint32_t row, lane, clock;
} emu_agent;

typedef struct emu_event emu_event;
struct emu_event {
  emu_event *next; /* of the cluster's list, oldest first */
  uint64_t due;
  emu_warp *warp; /* that issued it */
  const emu_step *step;
  uint32_t lanes; /* for which it is still to happen */
  uint8_t kind;   /* of the family that made it, see below */
  /* Does it for these lanes of it. Another event may be forced meanwhile. */
  void (*happen)(emu_event *event, uint32_t lanes);
  /* It will not happen: what it holds is given back. NULL: nothing. */
  void (*drop)(emu_event *event);
};

enum {
  EMU_EVENT_COPY = 1,
  EMU_EVENT_ARRIVE,
  EMU_EVENT_TENSOR_LOAD,
  EMU_EVENT_TENSOR_STORE,
  EMU_EVENT_TENSOR_PIPE,
  EMU_EVENT_TENSOR_OTHER,
  EMU_EVENT_BULK,
  EMU_EVENT_BULK_READ,
  EMU_EVENT_PRODUCT
}; /* later families go on */

emu_agent emu_agent_take(emu_warp *warp, unsigned lane);

/* Adds an event of size bytes, which begins with an emu_event; what follows is zero. Its time is drawn. NULL: no
 * memory, after emu_fault. */
void *emu_event_add(emu_warp *warp, const emu_step *step, uint32_t lanes, size_t size, uint8_t kind,
                    void (*happen)(emu_event *event, uint32_t lanes));
/* It happens now for these lanes; it is gone when it has for all. */
void emu_event_happen(emu_cluster *cluster, emu_event *event, uint32_t lanes);

int emu_async_make(emu_block *block);
void emu_async_start(emu_block *block);
/* The block is over: what is left happens. */
void emu_async_end(emu_block *block);
void emu_async_free(emu_block *block);
/* What is due happens. */
void emu_async_due(emu_cluster *cluster);
/* One drawn event happens; false when there is none. */
bool emu_async_force(emu_cluster *cluster);

/* ---- mbarriers (mbarrier.c) ------------------------------------------------------------------------------- */

typedef struct emu_mbarrier {
  emu_block *block;
  uint32_t offset;
  uint64_t *word; /* the state, in the block's shared memory */
} emu_mbarrier;

int emu_mbarriers_make(emu_block *block);
void emu_mbarriers_start(emu_block *block);
void emu_mbarriers_free(emu_block *block);

/* Those that give a bool return false after emu_fault. */
bool emu_mbarrier_init(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                       uint32_t count);
bool emu_mbarrier_inval(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address);
/* An initialised mbarrier at a shared address. */
bool emu_mbarrier_find(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                       emu_mbarrier *found);
/* What the lanes did and know is for those who wait for the phase under way. Before the arrival. */
void emu_mbarrier_release(emu_warp *warp, uint32_t lanes, const emu_mbarrier *at);
/* The same of a relaxed arrival: what they did and knew at their last fence. */
void emu_mbarrier_release_fenced(emu_warp *warp, uint32_t lanes, const emu_mbarrier *at);
/* state_out (or NULL): the state before. */
bool emu_mbarrier_arrive(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at, uint32_t count,
                         uint64_t *state_out);
/* So many fewer arrivals a phase from the next one on. */
bool emu_mbarrier_drop(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at, uint32_t count);
/* Adds to the transaction count (expect_tx), or takes from it (complete_tx, negative). */
bool emu_mbarrier_transact(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at, int64_t bytes);
/* One more arrival pending in the phase under way. */
bool emu_mbarrier_expect_arrival(emu_warp *warp, const emu_step *step, unsigned lane, const emu_mbarrier *at);
/* What agent (row, lane) did up to a clock is for those who wait for the phase under way. */
void emu_mbarrier_publish(const emu_mbarrier *at, uint32_t row, uint32_t agent_lane, uint32_t clock);
/* The same of an agent of another block than the mbarrier's. */
void emu_mbarrier_publish_of(const emu_mbarrier *at, const emu_block *actor, uint32_t row, uint32_t agent_lane,
                             uint32_t clock);
/* Whether the phase of that parity is complete: then the thread learns what was released into it; a relaxed look, at
 * its next fence. No fault. */
bool emu_mbarrier_test(emu_warp *warp, unsigned lane, const emu_mbarrier *at, bool parity, bool is_relaxed);
bool emu_mbarrier_parity(uint64_t state);
uint32_t emu_mbarrier_pending(uint64_t state);

/* ---- cp.async (exec_async.c) ------------------------------------------------------------------------------ */

void emu_copies_start(emu_warp *warp);
void emu_copies_free(emu_warp *warp);

#endif
