/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor memory of a block: 128 lanes of 512 columns of 32 bits, which columns are the block's own, what was written,
 * and which operation may still be under way where. An address is lane << 16 | column. PTX ISA 9.7.16. */
#ifndef EMU_TENSOR_MEMORY_H
#define EMU_TENSOR_MEMORY_H

#include "async.h"

enum { EMU_TENSOR_LANES = 128, EMU_TENSOR_COLUMNS = 512, EMU_TENSOR_UNIT = 32, EMU_TENSOR_WORDS = 4 };

/* Some lanes of some columns. */
typedef struct emu_tensor_part {
  uint32_t lanes[EMU_TENSOR_WORDS];
  uint32_t first, end; /* columns */
} emu_tensor_part;

/* What works on tensor memory. */
typedef enum emu_tensor_kind {
  EMU_TENSOR_LOAD,
  EMU_TENSOR_STORE,
  EMU_TENSOR_PRODUCT,
  EMU_TENSOR_COPY,
  EMU_TENSOR_COPY_4, /* of four lanes: 4x256b */
  EMU_TENSOR_SHIFT,
  EMU_TENSOR_FREE
} emu_tensor_kind;

typedef struct emu_tensor_op {
  emu_warp *warp;
  const emu_step *step;
  uint64_t number; /* of the cluster's operations */
  uint32_t lane;   /* that issued it; of loads and stores the whole warp did */
  uint32_t agent;  /* of products, copies, shifts: stands for the thread */
  uint32_t clock;
  uint32_t accumulator, shape; /* of products: equal ones happen in order */
  emu_tensor_kind kind;
} emu_tensor_op;

typedef struct emu_tensor_use emu_tensor_use;

/* Columns that tcgen05.alloc gave. */
typedef struct emu_tensor_grant {
  uint32_t first, count;
  emu_warp *warp;
  const emu_step *step;
} emu_tensor_grant;

enum { EMU_TENSOR_AGENTS = 64, EMU_TENSOR_UNITS = EMU_TENSOR_COLUMNS / EMU_TENSOR_UNIT };

/* A warp's loads that wait::ld was not called for. */
typedef struct emu_tensor_loads {
  const emu_step **steps;
  uint32_t count, room;
} emu_tensor_loads;

/* A warp at a collective instruction of a pair of blocks. */
typedef struct emu_tensor_pair {
  emu_warp *warp; /* NULL: nobody is there */
  const emu_step *step;
  uint32_t first, count;
  bool is_done; /* by the peer's warp */
} emu_tensor_pair;

struct emu_tensor {
  uint32_t *cells;  /* [lane * 512 + column] */
  uint8_t *written; /* the same */
  /* Who has which columns: a bit 32 of them. */
  uint32_t owned, neighbour; /* a neighbour: another block on the same SM, which lets them go some time */
  emu_tensor_grant grants[EMU_TENSOR_UNITS];
  uint32_t num_grants;
  uint32_t last_count; /* columns of the last grant; 0: none yet */
  bool neighbour_drawn, relinquished;
  emu_tensor_pair pair;
  /* Of order (tensor_order.c). */
  emu_tensor_use *uses;
  uint32_t num_uses, use_room;
  uint32_t agents[EMU_TENSOR_AGENTS];                          /* 1 + thread that the agent stands for */
  uint32_t issued[EMU_MAX_WARPS][2], waited[EMU_MAX_WARPS][2]; /* loads, stores */
  emu_clocks *views[EMU_MAX_WARPS * EMU_LANES];                /* what threads knew at their last after_thread_sync */
  emu_tensor_loads loads[EMU_MAX_WARPS];
};

/* A block's, where its kernel uses it. EMU_OUT_OF_MEMORY. */
int emu_tensor_make(emu_block *block);
void emu_tensor_start(emu_block *block);
/* The block is over: a fault where columns were not freed. */
void emu_tensor_end(emu_block *block);
void emu_tensor_free(emu_block *block);

/* The other block of the pair; NULL where the cluster has none. */
emu_block *emu_tensor_peer(const emu_block *block);

/* Columns first to first + count of these lanes are the block's own; false after emu_fault. */
bool emu_tensor_owned(emu_warp *warp, const emu_step *step, unsigned lane, emu_block *block, uint32_t first_column,
                      uint32_t count);
/* All of the part was written; false after emu_fault. */
bool emu_tensor_is_written(emu_warp *warp, const emu_step *step, unsigned lane, emu_block *block,
                           const emu_tensor_part *part);
void emu_tensor_mark_written(emu_block *block, const emu_tensor_part *part);

/* 16 bytes of a block's shared memory that an operation reads: there, written, in no race. which: the matrix. False
 * after emu_fault. */
bool emu_tensor_read_shared(const emu_tensor_op *op, emu_block *block, uint32_t address, const char *which);
/* The peer, which must be there and must not have ended; NULL after emu_fault. */
emu_block *emu_tensor_ready_peer(emu_warp *warp, const emu_step *step, unsigned lane);

static inline bool emu_tensor_has_lane(const emu_tensor_part *part, uint32_t lane)
{
  return (part->lanes[lane / 32] >> (lane % 32) & 1) != 0;
}

/* The load whose result a register still waits for, NULL. */
const emu_step *emu_tensor_pending_load(const emu_warp *warp, const emu_slot *slot);

/* ---- Order (tensor_order.c) ------------------------------------------------------------------------------- */

/* Rows of agents that a block with tensor memory has beyond the others' (check_race.h). */
enum { EMU_TENSOR_AGENT_ROWS = 8 };

/* An operation of a thread or, for loads and stores, of a warp. False after emu_fault. */
bool emu_tensor_op_begin(emu_warp *warp, const emu_step *step, uint32_t lane, emu_tensor_kind kind,
                         emu_tensor_op *op_out);
/* The agent's row and lane in the block's race check. */
uint32_t emu_tensor_agent_row(const emu_tensor_op *op);
/* All accesses of the operation are entered. */
void emu_tensor_op_end(const emu_tensor_op *op);
/* The operation's access is ordered behind all it conflicts with, and is kept; false after emu_fault. */
bool emu_tensor_access(emu_block *block, const emu_tensor_op *op, const emu_tensor_part *part, bool writes);
/* Whether the documentation has b follow a when both are issued in this order. */
bool emu_tensor_is_pipelined(const emu_tensor_op *a, const emu_tensor_op *b);
/* A thread's products, copies and shifts so far: their agent and clock, for tcgen05.commit. False: there are none. */
bool emu_tensor_issued(emu_warp *warp, uint32_t lane, uint32_t *row_out, uint32_t *agent_lane_out, uint32_t *clock_out);
/* tcgen05.wait of loads (0) or stores (1); the two fences. */
void emu_tensor_waited(emu_warp *warp, uint32_t which);
void emu_tensor_before_sync(emu_warp *warp, uint32_t lanes);
void emu_tensor_after_sync(emu_warp *warp, uint32_t lanes);
/* The columns are no longer the block's: what was done there is of no interest. */
void emu_tensor_forget(emu_block *block, const emu_tensor_part *part);
void emu_tensor_order_start(emu_block *block);
void emu_tensor_order_free(emu_block *block);

/* ---- Events ----------------------------------------------------------------------------------------------- */

/* A pending operation: begins an event of a kind EMU_EVENT_TENSOR_... */
typedef struct emu_tensor_event {
  emu_event event;
  emu_tensor_op op;
} emu_tensor_event;

/* What must happen before this one does. Called by each operation's event when it happens. */
void emu_tensor_happen_before(emu_tensor_event *event);

#endif
