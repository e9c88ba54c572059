/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: cuTensorMapEncodeTiled and its like. */
#include <string.h>

#include "driver.h"
#include "tensor_map.h"

static int encode(void *to, const emu_tensor_map *map)
{
  emu_message reason = {""};
  if (to == NULL || (uintptr_t)to % EMU_MAP_ALIGNMENT != 0) {
    return emu_fail(EMU_INVALID_VALUE, "a tensor map at %p: a multiple of %d is wanted", to, EMU_MAP_ALIGNMENT);
  }
  if (!emu_tensor_map_check(map, emu_state_device(), &reason)) {
    return emu_fail(EMU_INVALID_VALUE, "tensor map: %s", reason.text);
  }
  emu_tensor_map_encode(map, to);
  return EMU_OK;
}

CALL(cuTensorMapEncodeTiled, void *to, unsigned type, uint32_t rank, void *address, const uint64_t *dims,
     const uint64_t *strides, const uint32_t *box, const uint32_t *steps, unsigned interleave, unsigned swizzle,
     unsigned promotion, unsigned fill)
{
  const int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (rank == 0 || rank > EMU_MAP_RANK || dims == NULL || (strides == NULL && rank > 1) || box == NULL
      || steps == NULL) {
    return emu_leave(
        emu_fail(EMU_INVALID_VALUE, "tensor map: a rank of %u, 1 to %d, and its four arrays", rank, EMU_MAP_RANK));
  }
  emu_tensor_map map = {.address = (uint64_t)(uintptr_t)address,
                        .type = type,
                        .rank = rank,
                        .interleave = interleave,
                        .swizzle = swizzle,
                        .promotion = promotion,
                        .fill = fill};
  for (uint32_t i = 0; i < rank; i++) {
    map.dims[i] = dims[i];
    map.strides[i] = i + 1 < rank ? strides[i] : 0;
    map.box[i] = box[i];
    map.steps[i] = steps[i];
  }
  return emu_leave(encode(to, &map));
}

CALL(cuTensorMapReplaceAddress, void *to, void *address)
{
  const int result = emu_enter();
  emu_tensor_map map;
  if (result != EMU_OK) {
    return result;
  }
  if (to == NULL || !emu_tensor_map_decode(to, &map)) {
    return emu_leave(emu_fail(EMU_INVALID_VALUE, "%p is no tensor map of this driver", to));
  }
  map.address = (uint64_t)(uintptr_t)address;
  return emu_leave(encode(to, &map));
}

static int refuse(const char *what)
{
  const int result = emu_enter();
  return result == EMU_OK ? emu_leave(emu_fail(EMU_NOT_SUPPORTED, "%s: im2col is not emulated", what)) : result;
}

CALL(cuTensorMapEncodeIm2col, void)
{
  return refuse("cuTensorMapEncodeIm2col");
}

CALL(cuTensorMapEncodeIm2colWide, void)
{
  return refuse("cuTensorMapEncodeIm2colWide");
}
