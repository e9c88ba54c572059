/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* The slot of a name, or the free one where it belongs. FNV-1a. */
static size_t find_slot(const warm_names *names, const char *name)
{
  uint64_t hash = UINT64_C(14695981039346656037);
  for (const char *c = name; *c != '\0'; c++) {
    hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
  }
  size_t slot = (size_t)hash & (names->capacity - 1);
  while (names->slots[slot] != NULL && strcmp(names->slots[slot], name) != 0) {
    slot = (slot + 1) & (names->capacity - 1);
  }
  return slot;
}

static void grow(warm_names *names)
{
  const warm_names old = *names;
  names->capacity = old.capacity != 0 ? 2 * old.capacity : 64;
  names->slots = sj_memory_get(names->capacity, sizeof *names->slots);
  for (size_t i = 0; i < old.capacity; i++) {
    if (old.slots[i] != NULL) {
      names->slots[find_slot(names, old.slots[i])] = old.slots[i];
    }
  }
  free(old.slots);
}

bool warm_names_has(const warm_names *names, const char *name)
{
  return names->count > 0 && names->slots[find_slot(names, name)] != NULL;
}

void warm_names_add(warm_names *names, const char *name)
{
  if (2 * (names->count + 1) > names->capacity) {
    grow(names);
  }
  names->slots[find_slot(names, name)] = sj_memory_copy(name);
  names->count++;
}

void warm_names_finish(warm_names *names)
{
  for (size_t i = 0; i < names->capacity; i++) {
    free(names->slots[i]);
  }
  free(names->slots);
  *names = (warm_names){0};
}
