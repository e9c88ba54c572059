/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations. What belongs to which context and is pinned on the host is known here; the bytes are the machine's. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

typedef struct allocation {
  uint64_t address, bytes;
  uint64_t context_id;
  bool is_host; /* pinned */
  struct allocation *next;
} allocation;

static allocation *allocations;

enum {
  ATTRIBUTE_CONTEXT = 1,
  ATTRIBUTE_MEMORY_TYPE = 2,
  ATTRIBUTE_DEVICE_POINTER = 3,
  ATTRIBUTE_HOST_POINTER = 4,
  ATTRIBUTE_BUFFER_ID = 7,
  ATTRIBUTE_IS_MANAGED = 8,
  ATTRIBUTE_DEVICE_ORDINAL = 9,
  ATTRIBUTE_RANGE_START = 11,
  ATTRIBUTE_RANGE_SIZE = 12,
  MEMORY_HOST = 1,
  MEMORY_DEVICE = 2,
  HOST_KNOWN_FLAGS = 7,
  HOST_ALIGNMENT = 4096
};

/* ---- what there is ---------------------------------------------------------------------------------------- */

static allocation *find(uint64_t address)
{
  for (allocation *each = allocations; each != NULL; each = each->next) {
    if (address >= each->address && address - each->address < each->bytes) {
      return each;
    }
  }
  return NULL;
}

static bool has(uint64_t address, size_t bytes, bool is_host)
{
  const allocation *found = find(address);
  return found != NULL && found->is_host == is_host && bytes <= found->bytes - (address - found->address);
}

bool emu_memory_has(uint64_t address, size_t bytes)
{
  return has(address, bytes, false);
}

bool emu_memory_is_pinned(const void *host, size_t bytes)
{
  return has((uint64_t)(uintptr_t)host, bytes, true);
}

static int add(uint64_t address, size_t bytes, uint64_t context_id, bool is_host)
{
  allocation *made = malloc(sizeof *made);
  if (made == NULL) {
    return EMU_OUT_OF_MEMORY;
  }
  *made = (allocation){address, bytes, context_id, is_host, allocations};
  allocations = made;
  return EMU_OK;
}

static void let_go(const allocation *ended)
{
  if (ended->is_host) {
    free((void *)(uintptr_t)ended->address);
  } else {
    emu_free(ended->address);
  }
}

static bool drop(uint64_t address, bool is_host)
{
  for (allocation **place = &allocations; *place != NULL; place = &(*place)->next) {
    allocation *each = *place;
    if (each->address == address && each->is_host == is_host) {
      *place = each->next;
      let_go(each);
      free(each);
      return true;
    }
  }
  return false;
}

void emu_memory_drop_context(uint64_t context_id)
{
  allocation **place = &allocations;
  while (*place != NULL) {
    allocation *each = *place;
    if (each->context_id == context_id) {
      *place = each->next;
      let_go(each);
      free(each);
    } else {
      place = &each->next;
    }
  }
}

/* ---- device memory ---------------------------------------------------------------------------------------- */

static int allocate(const emu_context *context, uint64_t *address_out, size_t bytes)
{
  if (address_out == NULL || bytes == 0) {
    return EMU_INVALID_VALUE;
  }
  int result = emu_capture_guard();
  if (result != EMU_OK) {
    return result;
  }
  const uint64_t room = emu_state_device()->total_memory;
  const size_t used = emu_memory_used();
  uint64_t address = bytes <= room - used ? emu_alloc(bytes) : 0;
  if (address == 0) {
    return emu_fail(EMU_OUT_OF_MEMORY, "%zu bytes are asked for; of the device's %llu bytes %zu are in use", bytes,
                    (unsigned long long)room, used);
  }
  result = add(address, bytes, context->object.id, false);
  if (result != EMU_OK) {
    emu_free(address);
    return result;
  }
  *address_out = address;
  return EMU_OK;
}

CALL(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK ? emu_leave(allocate(context, address, bytes)) : result;
}

/* Waits for the device, as memory that goes may still be used. */
static int release(emu_context *context, uint64_t address)
{
  int result = emu_capture_guard();
  if (result == EMU_OK) {
    result = emu_context_finish(context);
  }
  if (result == EMU_OK && address != 0 && !drop(address, false)) {
    result = emu_fail(EMU_INVALID_VALUE, "0x%llx is no address that cuMemAlloc gave", (unsigned long long)address);
  }
  return result;
}

CALL(cuMemFree_v2, uint64_t address)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK ? emu_leave(release(context, address)) : result;
}

CALL(cuMemAllocAsync, uint64_t *address, size_t bytes, void *stream)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  return emu_leave(emu_stream_find(context, stream) != NULL ? allocate(context, address, bytes) : EMU_INVALID_HANDLE);
}

CALL(cuMemFreeAsync, uint64_t address, void *stream)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  return emu_leave(emu_stream_find(context, stream) != NULL ? release(context, address) : EMU_INVALID_HANDLE);
}

CALL(cuMemGetInfo_v2, size_t *free_bytes, size_t *total_bytes)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  if (free_bytes == NULL || total_bytes == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *total_bytes = emu_state_device()->total_memory;
  *free_bytes = *total_bytes - emu_memory_used();
  return emu_leave(EMU_OK);
}

CALL(cuMemGetAddressRange_v2, uint64_t *base, size_t *bytes, uint64_t address)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const allocation *found = find(address);
  if (found == NULL) {
    return emu_leave(EMU_NOT_FOUND);
  }
  if (base != NULL) {
    *base = found->address;
  }
  if (bytes != NULL) {
    *bytes = found->bytes;
  }
  return emu_leave(EMU_OK);
}

/* ---- pinned host memory ----------------------------------------------------------------------------------- */

static int allocate_host(const emu_context *context, void **host_out, size_t bytes)
{
  if (host_out == NULL || bytes == 0) {
    return EMU_INVALID_VALUE;
  }
  void *host = aligned_alloc(HOST_ALIGNMENT, (bytes + HOST_ALIGNMENT - 1) / HOST_ALIGNMENT * HOST_ALIGNMENT);
  if (host == NULL || add((uint64_t)(uintptr_t)host, bytes, context->object.id, true) != EMU_OK) {
    free(host);
    return EMU_OUT_OF_MEMORY;
  }
  *host_out = host;
  return EMU_OK;
}

CALL(cuMemHostAlloc, void **host, size_t bytes, unsigned flags)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  return emu_leave(flags <= HOST_KNOWN_FLAGS ? allocate_host(context, host, bytes) : EMU_INVALID_VALUE);
}

CALL(cuMemAllocHost_v2, void **host, size_t bytes)
{
  return cuMemHostAlloc(host, bytes, 0);
}

CALL(cuMemFreeHost, void *host)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  result = emu_context_finish(context);
  if (result == EMU_OK && !drop((uint64_t)(uintptr_t)host, true)) {
    result = EMU_INVALID_VALUE;
  }
  return emu_leave(result);
}

/* ---- attributes ------------------------------------------------------------------------------------------- */

static int tell(const allocation *found, int attribute, uint64_t address, void *data)
{
  switch (attribute) {
  case ATTRIBUTE_CONTEXT:
    *(void **)data = emu_object_find_id(EMU_CONTEXT, found->context_id);
    return EMU_OK;
  case ATTRIBUTE_MEMORY_TYPE:
    *(unsigned *)data = found->is_host ? MEMORY_HOST : MEMORY_DEVICE;
    return EMU_OK;
  case ATTRIBUTE_DEVICE_POINTER:
    *(uint64_t *)data = address;
    return found->is_host ? EMU_INVALID_VALUE : EMU_OK;
  case ATTRIBUTE_HOST_POINTER:
    *(uint64_t *)data = found->is_host ? address : 0;
    return found->is_host ? EMU_OK : EMU_INVALID_VALUE;
  case ATTRIBUTE_BUFFER_ID:
    *(uint64_t *)data = found->address;
    return EMU_OK;
  case ATTRIBUTE_IS_MANAGED:
    *(uint8_t *)data = 0;
    return EMU_OK;
  case ATTRIBUTE_DEVICE_ORDINAL:
    *(int *)data = 0;
    return EMU_OK;
  case ATTRIBUTE_RANGE_START:
    *(uint64_t *)data = found->address;
    return EMU_OK;
  case ATTRIBUTE_RANGE_SIZE:
    *(size_t *)data = found->bytes;
    return EMU_OK;
  default:
    return emu_fail(EMU_NOT_SUPPORTED, "pointer attribute %d", attribute);
  }
}

CALL(cuPointerGetAttribute, void *data, int attribute, uint64_t address)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const allocation *found = find(address);
  if (data == NULL || found == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  return emu_leave(tell(found, attribute, address, data));
}

/* An address that is none gives zeros, and no error. */
CALL(cuPointerGetAttributes, unsigned count, const int *attributes, void **data, uint64_t address)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const allocation *found = find(address);
  if (attributes == NULL || data == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  for (unsigned i = 0; i < count && found != NULL && result == EMU_OK; i++) {
    result = tell(found, attributes[i], address, data[i]);
    result = result == EMU_INVALID_VALUE ? EMU_OK : result;
  }
  return emu_leave(result);
}
