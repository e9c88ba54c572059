/* SPDX-License-Identifier: Apache-2.0 */
/* What runs: grids, clusters, blocks, warps and groups of lanes; and what an instruction's function may use of it. A
 * cluster's blocks are run by one thread of the host, so nothing below needs a lock but global memory and the
 * report. */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include <string.h>

#include "check_race.h"
#include "instructions.h"
#include "memory.h"

enum { EMU_LANES = 32, EMU_MAX_WARPS = 32, EMU_BARRIERS = 16, EMU_MAX_CLUSTER = 16 };
#define EMU_ALL_LANES 0xffffffffu

typedef enum emu_group_state {
  EMU_READY,
  EMU_CONVERGING, /* at an aligned or member instruction, until the others are there */
  EMU_WAITING     /* for a barrier, a copy, ... : why says for what */
} emu_group_state;

/* Lanes of a warp at one instruction. */
typedef struct emu_group {
  uint32_t lanes;
  uint32_t pc;
  uint8_t state;
  uint8_t is_resumed;    /* the step that blocked is run again */
  uint32_t wait_barrier; /* what it waits for, for the report and for whoever wakes it: hardware barrier + 1 */
  uint64_t wait_address; /* mbarrier */
  uint32_t result;       /* of what it waited for */
  uint64_t spun_at;      /* 1 + the cluster's progress at its last look that found nothing */
  const char *why;       /* for the report */
} emu_group;

typedef struct emu_block emu_block;
typedef struct emu_cluster emu_cluster;
typedef struct emu_grid emu_grid;

/* A thread's cp.async groups: the clock of its async agent at the end of each committed group. */
enum { EMU_COPY_GROUPS = 64 };
/* Agents of a block for whole operations. */
enum { EMU_AGENTS = 64 };

struct emu_warp {
  uint8_t *banks[EMU_NUM_BANKS];
  uint32_t *written; /* [register]: lanes */
  emu_block *block;
  uint32_t index; /* in the block */
  uint32_t live;  /* lanes that have not ended */
  uint32_t num_groups;
  emu_group groups[EMU_LANES];
  emu_group *group; /* the one that runs */
  uint64_t steps;   /* warp instructions */
  uint64_t thread_steps;
  uint32_t carry, carry_written; /* of the condition code, by lanes */
  uint8_t is_starved;            /* of the scheduler: runs only when nobody else can */
  uint32_t cluster_arrived;      /* lanes that are at the cluster's barrier, */
  uint32_t cluster_passed;       /* and that have not waited since it completed */
  struct emu_copies *copies;     /* async.c: pending cp.async, NULL while there was none */
  const uint8_t *stored;         /* what a plain store is about to write; NULL: unknown */
  struct emu_heard *heard;       /* global_race.c: of other clusters */
  struct emu_bulks *bulks;       /* bulk.c: groups of bulk operations, NULL while there was none */
  struct emu_products *products; /* warpgroup.h: NULL while there was no wgmma or setmaxnreg */
};

typedef struct emu_barrier {
  uint32_t expected; /* threads; 0: nobody is here */
  uint32_t arrived;
  uint32_t arrived_warps; /* bits */
  uint32_t waiting_warps;
  uint32_t reduction;        /* and, or, popc so far */
  uint32_t result;           /* of the last that completed */
  struct emu_clocks *clocks; /* what those who arrived knew */
} emu_barrier;

typedef struct emu_cluster_barrier {
  struct emu_clocks *coming; /* what those who arrived knew */
  struct emu_clocks *done;   /* of the last that completed */
} emu_cluster_barrier;

struct emu_block {
  emu_grid *grid;
  emu_cluster *cluster;
  const emu_kernel *kernel;
  uint32_t id[3], cluster_rank, linear; /* linear: of the whole grid */
  uint32_t num_threads, num_warps;
  emu_warp *warps;
  uint32_t live_warps;
  uint8_t *shared, *shared_states; /* shared_bytes each, of the shared address EMU_SHARED_BASE on */
  uint32_t shared_bytes;
  uint8_t *local, *local_states; /* [thread][local_bytes] */
  emu_barrier barriers[EMU_BARRIERS];
  emu_race *race;
  struct emu_mbarriers *mbarriers;   /* async.c */
  struct emu_tensor *tensor;         /* tensor_memory.h; NULL where the kernel does not use it */
  struct emu_warpgroups *warpgroups; /* warpgroup.h */
  void *extra[4];                    /* of families to come: tensor memory, ... */
  uint32_t agents[EMU_AGENTS];       /* async.c: the last clock of each agent for whole operations */
  uint32_t next_agent;
};

struct emu_cluster {
  emu_grid *grid;
  uint32_t number; /* in the launch */
  emu_block *blocks;
  uint32_t num_blocks;
  uint64_t random;
  uint64_t progress;  /* rises with everything that can end a wait */
  uint64_t clock;     /* steps of all warps */
  uint64_t next_due;  /* the clock at which an event may happen of itself */
  uint32_t num_warps; /* of all blocks */
  emu_warp **warps;
  uint8_t *room;              /* of all blocks' registers and memories */
  struct emu_event *events;   /* async.c: what completes later, in no order */
  uint64_t tensor_operations; /* begun so far */
  emu_cluster_barrier barrier;
};

struct emu_grid {
  const emu_device *device;
  const emu_launch *launch;
  const emu_kernel *kernel;
  uint32_t cluster[3];
  uint64_t seed;
  uint8_t *params;    /* param_bytes */
  _Atomic int result; /* EMU_OK until the first fault */
  emu_message *report;
  struct emu_global_race *races;     /* global_race.c; NULL: not followed */
  _Atomic int lets_dependents_begin; /* griddepcontrol.launch_dependents was met */
  _Atomic uint64_t next_cluster, warp_steps, thread_steps;
};

/* ---- Operands --------------------------------------------------------------------------------------------- */

static inline const uint32_t *emu_in32(const emu_warp *warp, const emu_slot *slot)
{
  return (const uint32_t *)(const void *)(warp->banks[slot->bank] + slot->offset);
}

static inline const uint64_t *emu_in64(const emu_warp *warp, const emu_slot *slot)
{
  return (const uint64_t *)(const void *)(warp->banks[slot->bank] + slot->offset);
}

static inline uint32_t *emu_out32(const emu_warp *warp, const emu_slot *slot)
{
  return (uint32_t *)(void *)(warp->banks[EMU_BANK_REGISTERS] + slot->offset);
}

static inline uint64_t *emu_out64(const emu_warp *warp, const emu_slot *slot)
{
  return (uint64_t *)(void *)(warp->banks[EMU_BANK_REGISTERS] + slot->offset);
}

/* Lanes for which a predicate holds. */
static inline uint32_t emu_in_pred(const emu_warp *warp, const emu_slot *slot)
{
  return *emu_in32(warp, slot) ^ (slot->negated ? EMU_ALL_LANES : 0u);
}

static inline void emu_out_pred(const emu_warp *warp, const emu_slot *slot, uint32_t active, uint32_t lanes)
{
  uint32_t *to = emu_out32(warp, slot);
  *to = (*to & ~active) | (lanes & active);
}

/* One lane of an operand of any width. */
static inline uint64_t emu_lane(const emu_warp *warp, const emu_slot *slot, unsigned lane)
{
  return slot->size == 8 ? emu_in64(warp, slot)[lane] : emu_in32(warp, slot)[lane];
}

/* The upper bits beyond the register's width are dropped. */
static inline void emu_set_lane(const emu_warp *warp, const emu_slot *slot, unsigned lane, uint64_t value)
{
  if (slot->size == 8) {
    emu_out64(warp, slot)[lane] = value;
  } else {
    emu_out32(warp, slot)[lane] = slot->size == 2 ? (uint16_t)value : (uint32_t)value;
  }
}

/* The address of an 'a' operand. */
static inline uint64_t emu_address(const emu_warp *warp, const emu_step *step, const emu_slot *slot, unsigned lane)
{
  return emu_lane(warp, slot, lane) + (uint64_t)step->offset;
}

/* for (each lane of a mask) */
#define EMU_FOR_LANES(lane, mask)                                                                                      \
  for (uint32_t lane##_rest = (mask), lane = 0; lane##_rest != 0 && (lane = (uint32_t)__builtin_ctz(lane##_rest), 1);  \
       lane##_rest &= lane##_rest - 1)

/* ---- Memory (access.c) ------------------------------------------------------------------------------------ */

typedef enum emu_space {
  EMU_GENERIC,
  EMU_GLOBAL,
  EMU_SHARED,         /* shared::cta */
  EMU_SHARED_CLUSTER, /* shared::cluster */
  EMU_LOCAL,
  EMU_PARAM,
  EMU_CONST
} emu_space;

typedef enum emu_access_kind {
  EMU_READ,
  EMU_WRITE,
  EMU_ATOMIC,       /* reads and writes; does not race with other atomics */
  EMU_STRONG_WRITE, /* does not race with atomics either */
  EMU_BARRIER_USE,  /* an mbarrier's eight bytes, which nothing else may touch */
  EMU_BARRIER_INIT  /* makes eight bytes an mbarrier */
} emu_access_kind;

/* Where size bytes are on the host, after all checks that the kind asks for; NULL after emu_fault. */
uint8_t *emu_access(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                    uint32_t size, emu_access_kind kind);
/* The same for any size, without regard to alignment. */
uint8_t *emu_access_bytes(emu_warp *warp, const emu_step *step, unsigned lane, emu_space space, uint64_t address,
                          uint32_t size, emu_access_kind kind);
/* The fault of emu_race_access. */
void emu_report_race(emu_warp *warp, const emu_step *step, unsigned lane, const emu_race_conflict *with,
                     uint64_t address, emu_access_kind kind);
/* The block and the offset that a shared address means; NULL if it is none. Size 0: no check of the end. */
emu_block *emu_shared_find(emu_warp *warp, emu_space space, uint64_t address, uint32_t size, uint32_t *offset_out);
/* Whether the shared memory of a block of the cluster may be touched now: its threads have begun, and not all have
 * ended. False after emu_fault. */
bool emu_shared_alive(emu_warp *warp, const emu_step *step, unsigned lane, const emu_block *block, uint64_t address);
/* What a generic address is; the address in that space. */
emu_space emu_generic(uint64_t address, uint64_t *address_out);

/* ---- The warp's way (warp.c) ------------------------------------------------------------------------------ */

/* The fault of a register that these lanes read and never wrote. */
emu_next emu_unwritten(emu_warp *warp, const emu_step *step, uint32_t lanes, const emu_slot *slot);
/* Moves lanes of the running group to a step; the rest of it goes on behind this step. */
void emu_branch(emu_warp *warp, uint32_t lanes, uint32_t target);
void emu_exit_lanes(emu_warp *warp, uint32_t lanes);
/* The name of a register by the index of its written mask. */
ptx_name emu_register_name(const emu_kernel *kernel, uint32_t reg);
/* Something happened that may end a wait: spinning groups look again. What an asynchronous operation stores is none: an
 * mbarrier tells of it, or everybody looks once nothing else runs. */
void emu_progress(emu_cluster *cluster);
/* Runs the warp's groups for some steps; false when none can run. */
bool emu_warp_run(emu_warp *warp, unsigned budget, bool spinners_too);
bool emu_group_is_spinning(const emu_warp *warp, const emu_group *group);
uint64_t emu_random(emu_cluster *cluster);
static inline unsigned emu_random_below(emu_cluster *cluster, unsigned limit)
{
  return (unsigned)((emu_random(cluster) >> 33) % limit);
}

/* ---- Barriers (barrier.c) --------------------------------------------------------------------------------- */

/* Barriers may be complete now that a warp has ended. */
void emu_barriers_warp_ended(emu_block *block);

/* Whether the thread, or who it has heard of, has waited for the launch before (griddepcontrol.wait). */
bool emu_grid_has_waited(const emu_warp *warp, unsigned lane);
/* A cluster begins or ends. */
void emu_cluster_barrier_start(emu_cluster *cluster);
/* The cluster's barrier may be complete now that lanes have ended. */
void emu_cluster_barrier_lanes_ended(emu_cluster *cluster);
/* A block's last threads end: whether nobody may still use its shared memory. False after emu_fault. */
bool emu_block_may_end(emu_warp *warp, const emu_step *step);

/* ---- Faults (report.c) ------------------------------------------------------------------------------------ */

/* The first fault of a grid is its report; the others are dropped. lane >= EMU_LANES: of the whole warp. */
emu_next emu_fault(emu_warp *warp, const emu_step *step, unsigned lane, int result, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Nobody can run any more: who waits for what. */
void emu_report_deadlock(emu_cluster *cluster);

/* ---- Blocks (block.c) ------------------------------------------------------------------------------------- */

int emu_cluster_make(emu_grid *grid, emu_cluster *cluster);
void emu_cluster_start(emu_cluster *cluster, uint64_t number);
void emu_cluster_run(emu_cluster *cluster);
void emu_cluster_free(emu_cluster *cluster);

#endif
