/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed at once. */
#ifndef EMU_ARENA_H
#define EMU_ARENA_H

#include <stddef.h>

typedef struct ptx_arena ptx_arena;

ptx_arena *ptx_arena_make(void);
void ptx_arena_free(ptx_arena *arena);
/* Zeroed, aligned for anything; NULL when there is no memory. */
void *ptx_arena_get(ptx_arena *arena, size_t size);
/* A larger copy of what arena_get gave; the old one stays until the end. */
void *ptx_arena_grow(ptx_arena *arena, const void *old, size_t old_size, size_t size);

#endif
