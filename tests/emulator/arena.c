/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 65536, ALIGN = 16 };

typedef struct block {
  struct block *next;
  size_t used, size;
} block;

struct ptx_arena {
  block *blocks;
};

ptx_arena *ptx_arena_make(void)
{
  return calloc(1, sizeof(ptx_arena));
}

void ptx_arena_free(ptx_arena *arena)
{
  if (arena == NULL) {
    return;
  }
  for (block *each = arena->blocks; each != NULL;) {
    block *next = each->next;
    free(each);
    each = next;
  }
  free(arena);
}

static block *add_block(ptx_arena *arena, size_t size)
{
  const size_t room = size > BLOCK ? size : BLOCK;
  const size_t head = (sizeof(block) + ALIGN - 1) / ALIGN * ALIGN;
  block *made = calloc(1, head + room);
  if (made == NULL) {
    return NULL;
  }
  made->used = head;
  made->size = head + room;
  made->next = arena->blocks;
  arena->blocks = made;
  return made;
}

void *ptx_arena_get(ptx_arena *arena, size_t size)
{
  if (size > SIZE_MAX / 4) {
    return NULL;
  }
  const size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
  block *from = arena->blocks;
  if (from == NULL || from->size - from->used < rounded) {
    from = add_block(arena, rounded);
    if (from == NULL) {
      return NULL;
    }
  }
  void *given = (char *)from + from->used;
  from->used += rounded;
  return given;
}

void *ptx_arena_grow(ptx_arena *arena, const void *old, size_t old_size, size_t size)
{
  void *made = ptx_arena_get(arena, size);
  if (made != NULL && old_size > 0) {
    memcpy(made, old, old_size);
  }
  return made;
}
