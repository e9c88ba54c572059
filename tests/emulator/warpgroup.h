/* SPDX-License-Identifier: Apache-2.0 */
/* Warpgroups: four warps from a multiple of four on, which must execute the same wgmma and setmaxnreg instructions in
 * the same order. Each runs on its own; what a product needs of all four is there when the last has come. Also what
 * products in flight forbid of registers: "Asynchronous wgmma Proxy Operations" of the PTX ISA. */
#ifndef EMU_WARPGROUP_H
#define EMU_WARPGROUP_H

#include "async.h"

enum { EMU_GROUP_WARPS = 4 };
/* emu_group.wait_barrier of who waits for what is not a barrier. */
enum { EMU_WAIT_PRODUCT = EMU_BARRIERS + 1, EMU_WAIT_REGISTERS };

/* What the warps of a warpgroup must agree on. */
typedef struct emu_agreed {
  const emu_step *step;
  uint64_t a, b;    /* descriptors; a is 0 where A is in registers */
  bool accumulates; /* scale-d */
} emu_agreed;

/* An instruction that a warp of the warpgroup has executed. */
typedef struct emu_common {
  emu_agreed agreed;
  uint32_t first_warp;     /* that executed it */
  uint8_t arrived, waited; /* warps */
  bool is_product;
  emu_event *event;  /* of a product that all have issued and that is still to happen */
  uint32_t group;    /* of a product: the group that it is committed to, counted from 1 */
  uint32_t clock;    /* of its agent */
  emu_clocks *known; /* what all who arrived know */
} emu_common;

typedef struct emu_warpgroup {
  emu_common *list; /* what not all have executed, and products that not all have waited for */
  uint32_t count, room;
  uint64_t first; /* the number of the list's first */
} emu_warpgroup;

struct emu_warpgroups {
  emu_warpgroup groups[EMU_MAX_WARPS / EMU_GROUP_WARPS];
  uint32_t free_registers; /* setmaxnreg's pool */
};

/* A register of a warp, as products see it. */
typedef struct emu_watched {
  uint32_t touched;            /* 1 + the fences before the last access by threads */
  uint32_t d_fences, a_fences; /* 1 + the fences before its last use as D, as A */
  uint32_t d_group, a_group;   /* the groups of these */
  uint32_t d_shape;
  uint64_t d_product;
} emu_watched;

/* A warp's. */
struct emu_products {
  uint64_t position;          /* instructions of its warpgroup that it has executed */
  uint32_t fences;            /* wgmma.fence */
  uint32_t committed, waited; /* groups */
  emu_watched *registers;     /* [written mask]; NULL before the first wgmma */
  uint32_t num_registers;     /* of setmaxnreg; 0 before the first */
  uint64_t last_setmaxnreg;   /* 1 + its position */
  uint32_t setmaxnreg_clock;  /* the warp's clock then */
};

/* The warp executes an instruction of its warpgroup: what is known of it, until the next call. NULL: after
 * emu_fault. */
emu_common *emu_warpgroup_arrive(emu_warp *warp, const emu_agreed *agreed, bool is_product, uint32_t active);
emu_warpgroup *emu_warpgroup_of(const emu_warp *warp);
/* The instruction of a number; NULL where all have executed it and it is forgotten. */
emu_common *emu_warpgroup_at(const emu_warpgroup *group, uint64_t number);
/* Forgets what nobody needs any more. */
void emu_warpgroup_trim(emu_warpgroup *group);
/* Those of some warps that wait for this look again. */
void emu_warpgroup_wake(emu_block *block, uint32_t first_warp, uint32_t num_warps, uint32_t wait);
/* The running warp has ended: the others of its warpgroup must not have gone further. */
void emu_warpgroup_warp_ended(emu_warp *warp, const emu_step *step);

/* A step is about to use its registers: false after emu_fault. */
bool emu_products_touch(emu_warp *warp, const emu_step *step);

/* The same of a product. */
typedef struct emu_product_use {
  const emu_slot *d, *a;
  uint32_t num_d, num_a; /* num_a 0: A is in shared memory */
  uint32_t shape;
  bool accumulates;
} emu_product_use;
bool emu_products_use(emu_warp *warp, const emu_step *step, const emu_product_use *use);

int emu_warpgroups_make(emu_block *block);
void emu_warpgroups_start(emu_block *block);
void emu_warpgroups_free(emu_block *block);

#endif
