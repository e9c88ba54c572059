/* SPDX-License-Identifier: Apache-2.0 */
/* Races in shared memory, found by what happens before what, not by luck. Every thread has a clock, and knows of every
 * other up to which clock its accesses are ordered before its own; barriers hand that knowledge on.
 *
 * The blocks of a cluster are followed together, each with rows of its own: what happened in one is ordered for the
 * other by the cluster's barrier or by an mbarrier.
 *
 * Agents are numbered in rows of 32: row w < num_warps is warp w, one agent a lane; row num_warps + w holds the async
 * agents of warp w's lanes, that do what cp.async and its like do; the further rows are for whole operations. An
 * operation's accesses are entered when it is issued, at the clock of its agent, and are ordered only for who has heard
 * of that clock: by a wait, or by an mbarrier that the operation arrives at. */
#ifndef EMU_CHECK_RACE_H
#define EMU_CHECK_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "race_clocks.h"

typedef struct emu_race emu_race;

typedef enum emu_race_kind {
  EMU_RACE_READ,
  EMU_RACE_WRITE,
  EMU_RACE_ATOMIC /* does not race with others of its kind */
} emu_race_kind;

typedef struct emu_race_conflict {
  uint32_t block;     /* of the earlier access: its rank in the cluster */
  uint32_t row, lane; /* there */
  emu_race_kind kind;
  bool lacks_proxy_fence; /* alone: otherwise it is ordered */
} emu_race_conflict;

/* An access: by agent (row, lane), with the knowledge of thread (warp, known_lane) that issued it. In the async proxy
 * (bulk copies, wgmma, tcgen05; not cp.async) a write by a thread or cp.async is ordered only if a proxy fence stands
 * between. */
typedef struct emu_race_by {
  uint32_t row, lane, warp, known_lane;
  bool is_async_proxy;
} emu_race_by;

/* rows: warps, then their async agents, then extra_rows more; with_proxy: some agents work in the async proxy, which
 * costs more. NULL: no memory. */
emu_race *emu_race_make(uint32_t num_warps, uint32_t extra_rows, bool with_proxy, uint32_t shared_bytes);
/* The same for the blocks of a cluster, which are followed together: made_out[num_blocks]. */
bool emu_race_make_all(emu_race **made_out, uint32_t num_blocks, uint32_t num_warps, uint32_t extra_rows,
                       bool with_proxy, uint32_t shared_bytes);
/* The first of the extra rows. */
uint32_t emu_race_extra_row(const emu_race *race);
void emu_race_free(emu_race *race);
/* A cluster begins: for one of its blocks, it stands for all. */
void emu_race_reset(emu_race *race);

/* False with what it races with. */
bool emu_race_access(emu_race *race, emu_race_by by, uint32_t offset, uint32_t size, emu_race_kind kind,
                     emu_race_conflict *conflict_out);
/* The same by an agent of another block: rows are the actor's. */
bool emu_race_access_of(emu_race *memory, const emu_race *actor, emu_race_by by, uint32_t offset, uint32_t size,
                        emu_race_kind kind, emu_race_conflict *conflict_out);
/* The same in the async proxy, by agent (row, lane), with this knowledge instead of a thread's. The agent's operations
 * are over in their order. */
bool emu_race_access_as(emu_race *race, uint32_t row, uint32_t lane, const emu_clocks *known, uint32_t offset,
                        uint32_t size, emu_race_kind kind, emu_race_conflict *conflict_out);

/* A read by an agent of another block, whose operations are only waited for in order: the last one stands for those
 * before it. */
bool emu_race_read_in_order(emu_race *memory, const emu_race *actor, emu_race_by by, uint32_t offset, uint32_t size,
                            emu_race_conflict *conflict_out);

/* Everything that these lanes did and know goes into *into (made when NULL), and their warp's clock ticks. */
void emu_race_release(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks **into);
/* The lanes learn what is in it; NULL: nothing. */
void emu_race_acquire(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks *from);
/* All these lanes know what each of them did and knows: bar.warp.sync. */
void emu_race_sync_lanes(emu_race *race, uint32_t warp, uint32_t lanes);
/* A barrier of all threads of a block without a cluster is complete: the accesses of threads before it are of no
 * interest any more. */
void emu_race_forget(emu_race *race);

/* fence.proxy.async: what the lanes did and know of others' writes is ordered for the async proxy too. */
void emu_race_proxy_fence(emu_race *race, uint32_t warp, uint32_t lanes);

/* A fence: what lanes release without order of their own (relaxed) is what they did and knew at their last fence. */
void emu_race_fence(emu_race *race, uint32_t warp, uint32_t lanes);
void emu_race_release_fenced(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks **into);
/* Whether the thread knows that another block of the cluster has begun. */
bool emu_race_has_begun(const emu_race *race, uint32_t warp, uint32_t lane, const emu_race *other);
/* The lane's next fence makes it learn what is in from. */
void emu_race_hear(emu_race *race, uint32_t warp, uint32_t lane, const emu_clocks *from);

/* Whether somebody outside a block may still use its shared memory when its last thread ends: a thread of another
 * block, or an operation in one of the further rows, that no thread of the block knows to be over. Then where, who. */
bool emu_race_used_at_end(emu_race *memory, uint32_t *offset_out, emu_race_conflict *conflict_out);

/* The clock of a row, at which its accesses are entered. */
uint32_t emu_race_clock(const emu_race *race, uint32_t row);
/* The row's next accesses are later than those before. */
void emu_race_tick(emu_race *race, uint32_t row);
/* Agent (row, lane) up to a clock goes into *into. */
void emu_race_publish(emu_race *race, uint32_t row, uint32_t lane, uint32_t clock, emu_clocks **into);
/* Thread (warp, lane) learns of agent (row, agent_lane) up to a clock. */
void emu_race_learn(emu_race *race, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane, uint32_t clock);

/* ---- Rows of a kind of memory of its own (race_views.c) ---------------------------------------------------- */

/* emu_race_learn for several lanes. */
void emu_race_learn_lanes(emu_race *race, uint32_t warp, uint32_t lanes, uint32_t row, uint32_t agent_lane,
                          uint32_t clock);
/* What a thread knows as it is now, and has heard of without a fence of its own kind: with an owner more. */
emu_clocks *emu_race_view(emu_race *race, uint32_t warp, uint32_t lane);
/* Lanes' relaxed arrivals release what they know of these rows of all blocks. */
void emu_race_fence_rows(emu_race *race, uint32_t warp, uint32_t lanes, uint32_t first_row, uint32_t count);
/* What is known of a block's agent. */
uint32_t emu_clocks_at(const emu_clocks *clocks, const emu_race *race, uint32_t row, uint32_t agent_lane);

/* The same of the agent of any block of the cluster. */
bool emu_race_knows_any(const emu_race *race, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane,
                        uint32_t clock);
bool emu_race_knows(const emu_race *race, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane,
                    uint32_t clock);

#endif
