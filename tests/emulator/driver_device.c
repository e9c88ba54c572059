/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit, versions, and the one device. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { DRIVER_VERSION = 13020, WARP = 32, MEMORY_CLUSTER_ATTRIBUTE = 120 };

/* CUdevice_attribute: what the device's row says, */
static const struct {
  int attribute;
  size_t offset; /* of a uint32_t in emu_device */
} from_row[] = {
    {1, offsetof(emu_device, max_threads_per_block)},
    {2, offsetof(emu_device, max_threads_per_block)}, /* of x; 3: of y */
    {3, offsetof(emu_device, max_threads_per_block)},
    {8, offsetof(emu_device, shared_per_block)},
    {12, offsetof(emu_device, registers_per_sm)}, /* of a block; 82: of a multiprocessor */
    {82, offsetof(emu_device, registers_per_sm)},
    {13, offsetof(emu_device, clock_khz)},
    {16, offsetof(emu_device, num_sms)},
    {36, offsetof(emu_device, memory_clock_khz)},
    {37, offsetof(emu_device, memory_bus_bits)},
    {38, offsetof(emu_device, l2_bytes)},
    {39, offsetof(emu_device, max_threads_per_sm)},
    {75, offsetof(emu_device, major)},
    {76, offsetof(emu_device, minor)},
    {81, offsetof(emu_device, shared_per_sm)},
    {97, offsetof(emu_device, shared_per_block_optin)},
    {106, offsetof(emu_device, max_blocks_per_sm)},
    {111, offsetof(emu_device, shared_reserved)},
};

/* and what is the same on all of them. Attributes of textures, peers, sharing and mapping are 0: none is there. */
static const struct {
  int attribute, value;
} the_same[] = {
    {4, 64},                                     /* z of a block */
    {5, INT32_MAX},                              /* a grid's x, y, z */
    {6, 65535},     {7, 65535},      {9, 65536}, /* bytes of constant memory */
    {10, WARP},     {11, INT32_MAX},             /* pitch of a copy */
    {14, 512},                                   /* alignment of a texture */
    {31, 1},                                     /* concurrent kernels */
    {41, 1},                                     /* unified addressing */
    {78, 1},                                     /* stream priorities */
    {79, 1},                                     /* L1 caches global */
    {80, 1},                                     /* and local memory */
    {90, 1},                                     /* preemption */
    {115, 0},                                    /* no memory pools */
};

enum {
  NUM_FROM_ROW = sizeof from_row / sizeof from_row[0],
  NUM_THE_SAME = sizeof the_same / sizeof the_same[0],
  LAST_ATTRIBUTE = 147
};

CALL(cuDriverGetVersion, int *version)
{
  if (version == NULL) {
    return EMU_INVALID_VALUE;
  }
  *version = DRIVER_VERSION;
  return EMU_OK;
}

CALL(cuDeviceGetCount, int *count)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (count != NULL) {
    *count = 1;
  }
  return emu_leave(count != NULL ? EMU_OK : EMU_INVALID_VALUE);
}

CALL(cuDeviceGet, int *device, int ordinal)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (ordinal != 0 || device == NULL) {
    return emu_leave(device == NULL ? EMU_INVALID_VALUE : EMU_INVALID_DEVICE);
  }
  *device = 0;
  return emu_leave(EMU_OK);
}

/* Enters for a call about the device; pointer: where it writes to. */
static int enter_device(int device, const void *pointer)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (device != 0) {
    return emu_leave(EMU_INVALID_DEVICE);
  }
  return pointer != NULL ? EMU_OK : emu_leave(EMU_INVALID_VALUE);
}

CALL(cuDeviceGetName, char *name, int size, int device)
{
  int result = enter_device(device, name);
  if (result != EMU_OK) {
    return result;
  }
  if (size <= 0) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  strncpy(name, emu_state_device()->name, (size_t)size - 1);
  name[size - 1] = '\0';
  return emu_leave(EMU_OK);
}

/* The architecture's name, so that devices of two architectures differ. */
CALL(cuDeviceGetUuid_v2, unsigned char uuid[16], int device)
{
  int result = enter_device(device, uuid);
  if (result != EMU_OK) {
    return result;
  }
  memset(uuid, 0, 16);
  memcpy(uuid, "swa-jit", 7);
  memcpy(uuid + 8, emu_state_device()->arch, strlen(emu_state_device()->arch));
  return emu_leave(EMU_OK);
}

CALL(cuDeviceGetUuid, unsigned char uuid[16], int device)
{
  return cuDeviceGetUuid_v2(uuid, device);
}

CALL(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
  int result = enter_device(device, bytes);
  if (result != EMU_OK) {
    return result;
  }
  *bytes = emu_state_device()->total_memory;
  return emu_leave(EMU_OK);
}

static int find_attribute(int attribute)
{
  const emu_device *device = emu_state_device();
  for (int i = 0; i < NUM_FROM_ROW; i++) {
    if (from_row[i].attribute == attribute) {
      return *(const int *)((const char *)device + from_row[i].offset);
    }
  }
  for (int i = 0; i < NUM_THE_SAME; i++) {
    if (the_same[i].attribute == attribute) {
      return the_same[i].value;
    }
  }
  return attribute == MEMORY_CLUSTER_ATTRIBUTE ? device->max_cluster > 1 : 0;
}

CALL(cuDeviceGetAttribute, int *value, int attribute, int device)
{
  int result = enter_device(device, value);
  if (result != EMU_OK) {
    return result;
  }
  if (attribute < 1 || attribute > LAST_ATTRIBUTE) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *value = find_attribute(attribute);
  return emu_leave(EMU_OK);
}

CALL(cuDeviceComputeCapability, int *major, int *minor, int device)
{
  int result = enter_device(device, major != NULL ? minor : NULL);
  if (result != EMU_OK) {
    return result;
  }
  *major = emu_state_device()->major;
  *minor = emu_state_device()->minor;
  return emu_leave(EMU_OK);
}

CALL(cuDeviceGetPCIBusId, char *text, int size, int device)
{
  static const char id[] = "0000:00:00.0";
  int result = enter_device(device, text);
  if (result != EMU_OK) {
    return result;
  }
  if (size < (int)sizeof id) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  memcpy(text, id, sizeof id);
  return emu_leave(EMU_OK);
}
