/* SPDX-License-Identifier: Apache-2.0 */
/* Races in global memory, between threads of different blocks of a launch. Within a cluster what check_race.h knows is
 * asked; between clusters order comes of fences and strong accesses (atomics, volatile, relaxed, acquire, release) to
 * one address: what the releasing thread had fenced, or knew to be fenced by its block, goes with the address to who
 * reads it there and fences behind. Rows EMU_HEARD_ROW and EMU_ACQUIRED_ROW of a block say which threads know of which
 * of the block's such readings, so that barriers hand it on. */
#ifndef EMU_GLOBAL_RACE_H
#define EMU_GLOBAL_RACE_H

#include "exec.h"

typedef struct emu_global_race emu_global_race;

/* Of a launch; NULL: no memory. */
emu_global_race *emu_global_race_make(void);
void emu_global_race_free(emu_global_race *race);

/* A plain or strong access to bytes of global memory; false after emu_fault. */
bool emu_global_race_access(emu_warp *warp, const emu_step *step, unsigned lane, uint64_t address, uint32_t size,
                            emu_access_kind kind);

/* Around a strong access: nobody else makes one of this launch meanwhile. at: on the host. False, and without effect,
 * where it is no global memory, or races are not followed. */
bool emu_strong_begin(emu_warp *warp, const uint8_t *at);
/* It reads: what was released there is heard of; is_acquire: at once, otherwise from the next fence on. */
void emu_strong_read(emu_warp *warp, unsigned lane, const uint8_t *at, bool is_acquire);
/* It writes. is_update: an atomic, which adds to what was released there before. */
void emu_strong_write(emu_warp *warp, unsigned lane, const uint8_t *at, bool is_release, bool is_update);
void emu_strong_end(emu_warp *warp);
/* A fence that reaches other clusters: what was heard of counts from now on. */
void emu_strong_fence(emu_warp *warp, uint32_t lanes);

/* A block begins, and ends. */
void emu_heard_start(emu_block *block);

#endif
