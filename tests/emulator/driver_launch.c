/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a launch, with the driver's results, and its way to the machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum {
  /* CUlaunchAttributeID */
  ATTRIBUTE_IGNORE = 0,
  ATTRIBUTE_COOPERATIVE = 2,
  ATTRIBUTE_SYNCHRONIZATION_POLICY = 3,
  ATTRIBUTE_CLUSTER = 4,
  ATTRIBUTE_CLUSTER_POLICY = 5,
  ATTRIBUTE_DEPENDENT = 6,
  ATTRIBUTE_PRIORITY = 8,
  MOST_ATTRIBUTE = 19,
  MAX_GRID_YZ = 65535,
  MAX_BLOCK_Z = 64,
  PORTABLE_CLUSTER = 8
};

#define EXTRA_END ((void *)0)
#define EXTRA_BUFFER ((void *)1)
#define EXTRA_SIZE ((void *)2)

/* CUlaunchAttribute and CUlaunchConfig, as the vendor's manual lists their fields. */
typedef struct given_attribute {
  int id;
  char padding[4];
  union {
    int number;
    struct {
      unsigned x, y, z;
    } cluster;
    char room[64];
  } value;
} given_attribute;

typedef struct given_config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  const given_attribute *attributes;
  unsigned num_attributes;
} given_config;

/* ---- checks ----------------------------------------------------------------------------------------------- */

static int check_grid(const emu_launch *launch)
{
  const uint32_t *grid = launch->grid;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > INT32_MAX || grid[1] > MAX_GRID_YZ
      || grid[2] > MAX_GRID_YZ) {
    return emu_fail(EMU_INVALID_VALUE, "the grid is %u x %u x %u: each is at least 1, and at most %d, %d, %d", grid[0],
                    grid[1], grid[2], INT32_MAX, MAX_GRID_YZ, MAX_GRID_YZ);
  }
  return EMU_OK;
}

static int check_block(const emu_loaded_kernel *kernel, const emu_launch *launch)
{
  const emu_device *device = emu_state_device();
  const uint32_t *block = launch->block;
  const uint32_t most = device->max_threads_per_block;
  const uint64_t count = (uint64_t)block[0] * block[1] * block[2];
  if (count == 0 || block[0] > most || block[1] > most || block[2] > MAX_BLOCK_Z || count > most) {
    return emu_fail(EMU_INVALID_VALUE, "the block is %u x %u x %u: each is at least 1, and all are at most %u threads",
                    block[0], block[1], block[2], most);
  }
  if (count > kernel->info.max_threads) {
    return emu_fail(EMU_INVALID_VALUE, "the block has %llu threads, and %s is made for %u", (unsigned long long)count,
                    kernel->info.name, kernel->info.max_threads);
  }
  return EMU_OK;
}

static int check_shared(const emu_loaded_kernel *kernel, const emu_launch *launch)
{
  const int limit = emu_kernel_dynamic_limit(kernel);
  if (launch->dynamic_shared > (uint32_t)limit) {
    return emu_fail(EMU_INVALID_VALUE,
                    "%u bytes of dynamic shared memory are more than the %d that %s may have: "
                    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES allows up to %u less its static ones",
                    launch->dynamic_shared, limit, kernel->info.name, emu_state_device()->shared_per_block_optin);
  }
  return EMU_OK;
}

static int check_cluster(const emu_loaded_kernel *kernel, const emu_launch *launch)
{
  const emu_device *device = emu_state_device();
  const uint32_t *given = launch->cluster;
  const uint32_t *needed = kernel->info.required_cluster;
  const uint32_t *cluster = given[0] != 0 ? given : needed;
  if (cluster[0] == 0) {
    return EMU_OK;
  }
  if (needed[0] != 0 && memcmp(given, needed, 3 * sizeof *given) != 0 && given[0] != 0) {
    return emu_fail(EMU_INVALID_VALUE, "the cluster is %u x %u x %u, and %s is made for %u x %u x %u", given[0],
                    given[1], given[2], kernel->info.name, needed[0], needed[1], needed[2]);
  }
  for (int i = 0; i < 3; i++) {
    if (cluster[i] == 0 || launch->grid[i] % cluster[i] != 0) {
      return emu_fail(EMU_INVALID_VALUE, "the grid of %u x %u x %u is no multiple of the cluster of %u x %u x %u",
                      launch->grid[0], launch->grid[1], launch->grid[2], cluster[0], cluster[1], cluster[2]);
    }
  }
  const uint64_t count = (uint64_t)cluster[0] * cluster[1] * cluster[2];
  const uint32_t portable = device->max_cluster < PORTABLE_CLUSTER ? device->max_cluster : (uint32_t)PORTABLE_CLUSTER;
  const uint32_t most = kernel->allows_large_clusters ? device->max_cluster : portable;
  if (count > most) {
    return emu_fail(EMU_INVALID_CLUSTER_SIZE, "a cluster of %llu blocks is more than the %u of %s%s",
                    (unsigned long long)count, most, device->name,
                    most < device->max_cluster ? " without CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED" : "");
  }
  return EMU_OK;
}

static int check_registers(const emu_loaded_kernel *kernel, const emu_launch *launch)
{
  const emu_device *device = emu_state_device();
  const uint64_t threads = ((uint64_t)launch->block[0] * launch->block[1] * launch->block[2] + 31) / 32 * 32;
  if (threads * kernel->info.num_registers > device->registers_per_sm && kernel->info.max_threads < threads) {
    return emu_fail(EMU_LAUNCH_OUT_OF_RESOURCES, "%llu threads of %u registers are more than the %u of %s",
                    (unsigned long long)threads, kernel->info.num_registers, device->registers_per_sm, device->name);
  }
  return EMU_OK;
}

static int check(const emu_loaded_kernel *kernel, const emu_launch *launch)
{
  int result = check_grid(launch);
  if (result == EMU_OK) {
    result = check_block(kernel, launch);
  }
  if (result == EMU_OK) {
    result = check_shared(kernel, launch);
  }
  if (result == EMU_OK) {
    result = check_cluster(kernel, launch);
  }
  return result == EMU_OK ? check_registers(kernel, launch) : result;
}

/* ---- parameters ------------------------------------------------------------------------------------------- */

static int pack_extra(const emu_kernel_info *info, void **extra, uint8_t *bytes)
{
  const void *buffer = NULL;
  size_t size = 0;
  for (; *extra != EXTRA_END; extra += 2) {
    if (*extra == EXTRA_BUFFER) {
      buffer = extra[1];
    } else if (*extra == EXTRA_SIZE) {
      size = *(const size_t *)extra[1];
    } else {
      return EMU_INVALID_VALUE;
    }
  }
  if (buffer == NULL || size > info->param_bytes) {
    return EMU_INVALID_VALUE;
  }
  memcpy(bytes, buffer, size);
  return EMU_OK;
}

static int pack_params(const emu_kernel_info *info, void **params, void **extra, uint8_t *bytes)
{
  if (extra != NULL) {
    return params == NULL ? pack_extra(info, extra, bytes) : EMU_INVALID_VALUE;
  }
  if (info->num_params > 0 && params == NULL) {
    return emu_fail(EMU_INVALID_VALUE, "%s has %u parameters, and none is given", info->name, info->num_params);
  }
  for (unsigned i = 0; i < info->num_params; i++) {
    if (params[i] == NULL) {
      return emu_fail(EMU_INVALID_VALUE, "parameter %u of %s is NULL", i, info->name);
    }
    memcpy(bytes + info->params[i].offset, params[i], info->params[i].size);
  }
  return EMU_OK;
}

/* ---- launching -------------------------------------------------------------------------------------------- */

static emu_op *make_op(emu_loaded_kernel *kernel, const emu_launch *launch, bool is_dependent)
{
  emu_op *op = emu_op_make(EMU_OP_LAUNCH);
  if (op == NULL) {
    return NULL;
  }
  op->owned = calloc(1, (size_t)kernel->info.param_bytes + 1);
  if (op->owned == NULL) {
    emu_op_free(op);
    return NULL;
  }
  op->of.launch = (emu_op_launch){.library = kernel->library, .launch = *launch, .is_dependent = is_dependent};
  op->of.launch.launch.params = op->owned;
  op->of.launch.launch.params_size = kernel->info.param_bytes;
  kernel->library->num_users++;
  return op;
}

static int put(const emu_context *context, emu_loaded_kernel *kernel, emu_stream *stream, emu_launch *launch,
               bool is_dependent, void **params, void **extra)
{
  if (kernel == NULL || stream == NULL || stream->context != context) {
    return emu_fail(EMU_INVALID_HANDLE, "%s",
                    kernel == NULL ? "the function does not exist in the current context"
                                   : "the stream does not exist in the current context");
  }
  launch->kernel = kernel->kernel;
  int result = check(kernel, launch);
  if (result != EMU_OK) {
    return result;
  }
  emu_op *op = make_op(kernel, launch, is_dependent);
  if (op == NULL) {
    return EMU_OUT_OF_MEMORY;
  }
  result = pack_params(&kernel->info, params, extra, op->owned);
  if (result != EMU_OK) {
    emu_op_free(op);
    return result;
  }
  return emu_stream_add(stream, op);
}

static int launch_on(void *function, void *stream, emu_launch *launch, bool is_dependent, void **params, void **extra)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK ? emu_leave(put(context, emu_function_find(function, context),
                                          emu_stream_find(context, stream), launch, is_dependent, params, extra))
                          : result;
}

CALL(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
     unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params, void **extra)
{
  emu_launch launch = {
      .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .dynamic_shared = shared_bytes};
  return launch_on(function, stream, &launch, false, params, extra);
}

static int read_attributes(const given_config *config, emu_launch *launch, bool *is_dependent_out)
{
  for (unsigned i = 0; i < config->num_attributes; i++) {
    const given_attribute *given = &config->attributes[i];
    if (given->id == ATTRIBUTE_CLUSTER) {
      launch->cluster[0] = given->value.cluster.x;
      launch->cluster[1] = given->value.cluster.y;
      launch->cluster[2] = given->value.cluster.z;
      if (launch->cluster[0] == 0 || launch->cluster[1] == 0 || launch->cluster[2] == 0) {
        return emu_fail(EMU_INVALID_VALUE, "a cluster has at least one block in each dimension");
      }
    } else if (given->id == ATTRIBUTE_DEPENDENT) {
      *is_dependent_out = given->value.number != 0;
    } else if (given->id == ATTRIBUTE_COOPERATIVE && given->value.number != 0) {
      return emu_fail(EMU_NOT_SUPPORTED, "cooperative launches");
    } else if (given->id < 0 || given->id > MOST_ATTRIBUTE) {
      return emu_fail(EMU_INVALID_VALUE, "launch attribute %d", given->id);
    }
  }
  return EMU_OK;
}

CALL(cuLaunchKernelEx, const given_config *config, void *function, void **params, void **extra)
{
  emu_launch launch = {0};
  bool is_dependent = false;
  if (config == NULL || (config->num_attributes > 0 && config->attributes == NULL)) {
    return EMU_INVALID_VALUE;
  }
  memcpy(launch.grid, config->grid, sizeof launch.grid);
  memcpy(launch.block, config->block, sizeof launch.block);
  launch.dynamic_shared = config->shared_bytes;
  int result = read_attributes(config, &launch, &is_dependent);
  return result == EMU_OK ? launch_on(function, config->stream, &launch, is_dependent, params, extra) : result;
}

/* ---- running ---------------------------------------------------------------------------------------------- */

int emu_launch_execute(emu_op *const *chain, unsigned count)
{
  emu_message report = {""};
  int result = EMU_OK;
  for (unsigned i = 0; i < count && result == EMU_OK; i++) {
    emu_launch launch = chain[i]->of.launch.launch;
    launch.chain = count > 1 ? i + 1 : 0;
    launch.is_followed = i + 1 < count;
    result = emu_run(emu_state_device(), &launch, NULL, &report);
  }
  if (result != EMU_OK) {
    fprintf(stderr, "libcuda-emulator: %s\n", report.text);
    emu_fail(result, "%s", report.text);
  }
  return result;
}
