/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the library below swa-jit-warm's parts: real ones refuse and fail too rarely. It decides by kv_tile
 * and head_group. */
#ifndef SJ_WARM_STAND_IN_H
#define SJ_WARM_STAND_IN_H

#include <stdatomic.h>
#include <stdbool.h>

enum {
  TILE_COMPILED = 16,
  TILE_HIT = 32,
  TILE_FAILS = 64,
  TILE_UNKEPT = 128, /* compiled; the store reports failure */
  GROUP_REFUSED = 128,
  GROUP_UNHELD = 8 /* compiled; the store reports nothing, and has nothing */
};

typedef struct stand_in {
  atomic_int *num_gets; /* the test's, shared with the worker processes */
  bool has_device;
  bool is_store_unwritable;
  bool is_ptx_kept; /* SWA_JIT_KEEP_PTX: the store has it of head_group 32 alone */
} stand_in;

extern stand_in warm_stand_in;

#endif
