/* SPDX-License-Identifier: Apache-2.0 */
/* How many blocks a multiprocessor holds: the least of what threads, shared memory, registers and slots allow (CUDA
 * C++ Programming Guide, "Technical Specifications per Compute Capability"). Registers are a guess: PTX names none
 * that are real. */
#include "driver.h"

enum { WARP = 32, REGISTER_UNIT = 256 /* registers of a warp are given in */, SHARED_UNIT = 128, MOST_CLUSTERS = 16 };

static uint32_t round_up(uint32_t value, uint32_t unit)
{
  return (value + unit - 1) / unit * unit;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

static uint32_t count_blocks(const emu_loaded_kernel *kernel, uint32_t num_threads, size_t dynamic_shared)
{
  const emu_device *device = emu_state_device();
  const uint32_t warps = round_up(num_threads, WARP) / WARP;
  if (num_threads > kernel->info.max_threads || dynamic_shared > (size_t)emu_kernel_dynamic_limit(kernel)) {
    return 0;
  }
  const uint32_t shared = device->shared_reserved + kernel->info.static_shared + (uint32_t)dynamic_shared;
  const uint32_t registers = warps * round_up(kernel->info.num_registers * WARP, REGISTER_UNIT);
  uint32_t count = smaller(device->max_blocks_per_sm, device->max_threads_per_sm / (warps * WARP));
  count = shared > 0 ? smaller(count, device->shared_per_sm / round_up(shared, SHARED_UNIT)) : count;
  return registers > 0 ? smaller(count, device->registers_per_sm / registers) : count;
}

CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *count, void *function, int num_threads,
     size_t dynamic_shared, unsigned flags)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const emu_loaded_kernel *kernel = emu_function_find(function, context);
  if (kernel == NULL || count == NULL || num_threads <= 0 || flags > 1) {
    return emu_leave(kernel == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  *count = (int)count_blocks(kernel, (uint32_t)num_threads, dynamic_shared);
  return emu_leave(EMU_OK);
}

CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *count, void *function, int num_threads, size_t dynamic_shared)
{
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, num_threads, dynamic_shared, 0);
}

CALL(cuOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, void *function, int num_blocks, int num_threads)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const emu_loaded_kernel *kernel = emu_function_find(function, context);
  if (kernel == NULL || bytes == NULL || num_blocks <= 0 || num_threads <= 0) {
    return emu_leave(kernel == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  const emu_device *device = emu_state_device();
  const uint32_t share = device->shared_per_sm / (uint32_t)num_blocks / SHARED_UNIT * SHARED_UNIT;
  const uint32_t fixed = device->shared_reserved + kernel->info.static_shared;
  const uint32_t most = smaller(share, device->shared_per_block_optin + device->shared_reserved);
  *bytes = most > fixed ? most - fixed : 0;
  return emu_leave(EMU_OK);
}
