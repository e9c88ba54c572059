/* SPDX-License-Identifier: Apache-2.0 */
/* Races in shared memory, found by what happens before what, not by luck. Every thread has a clock, and knows of every
 * other up to which clock its accesses are ordered before its own; barriers hand that knowledge on.
 *
 * Agents are numbered in rows of 32: row w < num_warps is warp w, one agent a lane; row num_warps + w holds the async
 * agents of warp w's lanes, that do what cp.async and its like do; the further rows are for whole operations. An
 * operation's accesses are entered when it is issued, at the clock of its agent, and are ordered only for who has heard
 * of that clock: by a wait, or by an mbarrier that the operation arrives at. */
#ifndef EMU_CHECK_RACE_H
#define EMU_CHECK_RACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emu_race emu_race;

/* What somebody knows: a clock an agent. Who holds one of several owners must not change it. */
typedef struct emu_clocks {
  uint32_t owners;
  uint32_t rows;
  uint32_t *least;  /* [row]: the least of the row */
  uint32_t *clocks; /* [row * 32 + lane] */
} emu_clocks;

typedef enum emu_race_kind {
  EMU_RACE_READ,
  EMU_RACE_WRITE,
  EMU_RACE_ATOMIC /* does not race with others of its kind */
} emu_race_kind;

typedef struct emu_race_conflict {
  uint32_t row, lane; /* of the earlier access */
  emu_race_kind kind;
} emu_race_conflict;

/* An access: by agent (row, lane), with the knowledge of thread (warp, known_lane) that issued it. In the async proxy
 * (bulk copies, wgmma, tcgen05; not cp.async) a thread's write is ordered only if a proxy fence stands between. */
typedef struct emu_race_by {
  uint32_t row, lane, warp, known_lane;
  bool is_async_proxy;
} emu_race_by;

/* rows: warps, then their async agents, then extra_rows more; with_proxy: some agents work in the async proxy, which
 * costs more. NULL: no memory. */
emu_race *emu_race_make(uint32_t num_warps, uint32_t extra_rows, bool with_proxy, uint32_t shared_bytes);
/* The first of the extra rows. */
uint32_t emu_race_extra_row(const emu_race *race);
void emu_race_free(emu_race *race);
/* A block begins. */
void emu_race_reset(emu_race *race);

/* False with what it races with. */
bool emu_race_access(emu_race *race, emu_race_by by, uint32_t offset, uint32_t size, emu_race_kind kind,
                     emu_race_conflict *conflict_out);

/* Everything that these lanes did and know goes into *into (made when NULL), and their warp's clock ticks. */
void emu_race_release(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks **into);
/* The lanes learn what is in it; NULL: nothing. */
void emu_race_acquire(emu_race *race, uint32_t warp, uint32_t lanes, emu_clocks *from);
/* All these lanes know what each of them did and knows: bar.warp.sync. */
void emu_race_sync_lanes(emu_race *race, uint32_t warp, uint32_t lanes);
/* A barrier of all live threads is complete: the accesses of threads before it are of no interest any more. */
void emu_race_forget(emu_race *race);

/* fence.proxy.async: what the lanes did and know of others' writes is ordered for the async proxy too. */
void emu_race_proxy_fence(emu_race *race, uint32_t warp, uint32_t lanes);

/* The clock of a row, at which its accesses are entered. */
uint32_t emu_race_clock(const emu_race *race, uint32_t row);
/* The row's next accesses are later than those before. */
void emu_race_tick(emu_race *race, uint32_t row);
/* Agent (row, lane) up to a clock goes into *into. */
void emu_race_publish(emu_race *race, uint32_t row, uint32_t lane, uint32_t clock, emu_clocks **into);
/* Thread (warp, lane) learns of agent (row, agent_lane) up to a clock. */
void emu_race_learn(emu_race *race, uint32_t warp, uint32_t lane, uint32_t row, uint32_t agent_lane, uint32_t clock);

/* Another owner of the same; and one less. */
emu_clocks *emu_clocks_share(emu_clocks *clocks);
void emu_clocks_drop(emu_clocks **clocks);

#endif
