/* SPDX-License-Identifier: Apache-2.0 */
/* The families of instructions, a file each. */
#ifndef EMU_FAMILIES_H
#define EMU_FAMILIES_H

#include "instructions.h"

extern const emu_family emu_family_integer;  /* exec_integer.c */
extern const emu_family emu_family_carry;    /* exec_carry.c */
extern const emu_family emu_family_float;    /* exec_float.c */
extern const emu_family emu_family_packed;   /* exec_packed.c: f16, bf16 and their pairs */
extern const emu_family emu_family_convert;  /* exec_convert.c */
extern const emu_family emu_family_move;     /* exec_move.c: mov, selp, prmt, predicates */
extern const emu_family emu_family_memory;   /* exec_memory.c */
extern const emu_family emu_family_atomic;   /* exec_atomic.c */
extern const emu_family emu_family_control;  /* exec_control.c */
extern const emu_family emu_family_warp;     /* exec_warp.c */
extern const emu_family emu_family_barrier;  /* exec_barrier.c */
extern const emu_family emu_family_cluster;  /* exec_cluster.c */
extern const emu_family emu_family_matrix;   /* exec_matrix.c */
extern const emu_family emu_family_mbarrier; /* exec_mbarrier.c */
extern const emu_family emu_family_async;    /* exec_async.c */
extern const emu_family emu_family_columns;  /* exec_tensor_alloc.c: tcgen05 */
extern const emu_family emu_family_tensor;   /* exec_tensor_move.c */
extern const emu_family emu_family_bulk;     /* exec_bulk.c */
extern const emu_family emu_family_groups;   /* bulk.c */
extern const emu_family emu_family_maps;     /* exec_map.c: copies by tensor maps */
extern const emu_family emu_family_changes;  /* exec_map_change.c: tensormap.replace */
extern const emu_family emu_family_remote;   /* exec_remote.c: st.async, red.async */
extern const emu_family emu_family_product;  /* exec_tensor_product.c */
extern const emu_family emu_family_copies;   /* exec_tensor_copy.c */
extern const emu_family emu_family_wgmma;    /* exec_wgmma.c */
extern const emu_family emu_family_budget;   /* exec_setmaxnreg.c */

#endif
