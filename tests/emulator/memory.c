/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of global memory: one reserved window, a list sorted by address, and a search that goes on from where
 * the last one ended, so that freed memory stays unallocated for as long as there is other room. */
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 512 };

typedef struct allocation {
  uint64_t base; /* of its first byte */
  size_t size;
} allocation;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static emu_global window;
static allocation *list;
static size_t count, capacity, used;
static uint64_t next_offset = ALIGNMENT;

static void *reserve(uint64_t size)
{
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

/* As much as the largest device has, or what the host's limits allow. */
static void make_window(void)
{
  for (uint64_t size = 1ull << 38; size >= 1ull << 28; size >>= 1) {
    uint8_t *data = reserve(size);
    uint8_t *states = data == NULL ? NULL : reserve(size);
    if (states != NULL) {
      window = (emu_global){data, states, size};
      return;
    }
    if (data != NULL) {
      munmap(data, size);
    }
  }
}

const emu_global *emu_global_memory(void)
{
  pthread_once(&once, make_window);
  return &window;
}

/* The index of the first allocation that ends behind the address. */
static size_t find_behind(uint64_t address)
{
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (list[middle].base + list[middle].size > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

static const allocation *find(uint64_t address)
{
  const size_t i = find_behind(address);
  return i < count && list[i].base <= address ? &list[i] : NULL;
}

/* The first gap from an offset on that holds size bytes with ALIGNMENT spare on both sides; 0 if none. */
static uint64_t find_gap(uint64_t from, uint64_t size, size_t *index_out)
{
  uint64_t offset = from;
  for (size_t i = find_behind(EMU_GLOBAL_WINDOW + from);; i++) {
    const uint64_t end = i < count ? list[i].base - EMU_GLOBAL_WINDOW : window.size;
    if (offset + size + ALIGNMENT <= end) {
      *index_out = i;
      return offset;
    }
    if (i >= count) {
      return 0;
    }
    const uint64_t behind = list[i].base - EMU_GLOBAL_WINDOW + list[i].size + 2 * ALIGNMENT - 1;
    offset = behind / ALIGNMENT * ALIGNMENT;
  }
}

static uint64_t alloc_locked(size_t size)
{
  if (size == 0 || size > window.size) {
    return 0;
  }
  if (count == capacity) {
    const size_t wanted = capacity == 0 ? 64 : 2 * capacity;
    allocation *grown = realloc(list, wanted * sizeof *grown);
    if (grown == NULL) {
      return 0;
    }
    list = grown;
    capacity = wanted;
  }
  size_t index = 0;
  uint64_t offset = find_gap(next_offset, size, &index);
  if (offset == 0) {
    offset = find_gap(ALIGNMENT, size, &index);
  }
  if (offset == 0) {
    return 0;
  }
  memmove(&list[index + 1], &list[index], (count - index) * sizeof *list);
  list[index] = (allocation){EMU_GLOBAL_WINDOW + offset, size};
  count++;
  used += size;
  next_offset = (offset + size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  memset(window.states + offset, EMU_BYTE_UNWRITTEN, size);
  return EMU_GLOBAL_WINDOW + offset;
}

uint64_t emu_alloc(size_t size)
{
  emu_global_memory();
  pthread_mutex_lock(&lock);
  const uint64_t address = alloc_locked(size);
  pthread_mutex_unlock(&lock);
  return address;
}

/* Gives whole host pages back; what is left of them reads as zero at the next use. */
static void release_pages(uint8_t *at, size_t size)
{
  const uintptr_t page = 4096;
  const uintptr_t first = ((uintptr_t)at + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)at + size) / page * page;
  if (end > first) {
    madvise((void *)first, end - first, MADV_DONTNEED);
  }
}

int emu_free(uint64_t address)
{
  if (address == 0) {
    return EMU_OK;
  }
  pthread_mutex_lock(&lock);
  const allocation *found = find(address);
  const int ok = found != NULL && found->base == address;
  if (ok) {
    const uint64_t offset = address - EMU_GLOBAL_WINDOW;
    const size_t size = found->size;
    const size_t index = (size_t)(found - list);
    memset(window.states + offset, EMU_BYTE_NONE, size);
    release_pages(window.data + offset, size);
    release_pages(window.states + offset, size);
    memmove(&list[index], &list[index + 1], (count - index - 1) * sizeof *list);
    count--;
    used -= size;
  }
  pthread_mutex_unlock(&lock);
  return ok ? EMU_OK : EMU_INVALID_VALUE;
}

int emu_range(uint64_t address, uint64_t *base_out, size_t *size_out)
{
  pthread_mutex_lock(&lock);
  const allocation *found = find(address);
  if (found != NULL) {
    *base_out = found->base;
    *size_out = found->size;
  }
  pthread_mutex_unlock(&lock);
  return found != NULL ? EMU_OK : EMU_INVALID_VALUE;
}

static int is_inside(uint64_t address, size_t size)
{
  uint64_t base = 0;
  size_t all = 0;
  return emu_range(address, &base, &all) == EMU_OK && size <= all && address - base <= all - size;
}

void *emu_host(uint64_t address, size_t size)
{
  return is_inside(address, size) ? window.data + (address - EMU_GLOBAL_WINDOW) : NULL;
}

void emu_mark_written(uint64_t address, size_t size)
{
  if (is_inside(address, size)) {
    memset(window.states + (address - EMU_GLOBAL_WINDOW), EMU_BYTE_WRITTEN, size);
  }
}

int emu_copy_in(uint64_t to, const void *from, size_t size)
{
  void *at = emu_host(to, size);
  if (at == NULL) {
    return EMU_INVALID_VALUE;
  }
  memcpy(at, from, size);
  emu_mark_written(to, size);
  return EMU_OK;
}

int emu_copy_out(void *to, uint64_t from, size_t size)
{
  const void *at = emu_host(from, size);
  if (at == NULL) {
    return EMU_INVALID_VALUE;
  }
  memcpy(to, at, size);
  return EMU_OK;
}

int emu_copy_within(uint64_t to, uint64_t from, size_t size)
{
  void *at = emu_host(to, size);
  const void *source = emu_host(from, size);
  if (at == NULL || source == NULL) {
    return EMU_INVALID_VALUE;
  }
  memmove(at, source, size);
  memmove(window.states + (to - EMU_GLOBAL_WINDOW), window.states + (from - EMU_GLOBAL_WINDOW), size);
  return EMU_OK;
}

void emu_marks_clear(uint8_t marks)
{
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; i++) {
    uint8_t *states = window.states + (list[i].base - EMU_GLOBAL_WINDOW);
    for (size_t at = 0; at < list[i].size; at++) {
      states[at] &= (uint8_t)~marks;
    }
  }
  pthread_mutex_unlock(&lock);
}

size_t emu_memory_used(void)
{
  pthread_mutex_lock(&lock);
  const size_t bytes = used;
  pthread_mutex_unlock(&lock);
  return bytes;
}
