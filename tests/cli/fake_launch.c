/* SPDX-License-Identifier: Apache-2.0 */
/* The fake libcuda's kernels, launches and graphs. A launch has ended when its call returns. One that is captured runs
 * at each replay where FAKE_CUDA_GRAPHS is "run"; elsewhere it is only looked at: a benchmark replays often. */
#include <stdio.h>

#include "fake_call.h"
#include "fake_kernel.h"
#include "fake_merge.h"

enum { MOST_CAPTURED = 16, ATTRIBUTE_STREAM_SERIALIZATION = 6 };

/* What handles point to. */
static int library, decode_kernel, merge_kernel, other_kernel;

typedef struct fake_launch {
  const void *function;
  unsigned num_tokens; /* the grid's first dimension */
  bool is_dependent;
  union {
    swa_params decode;
    swa_merge_params merge;
  } params;
} fake_launch;

typedef struct fake_graph {
  fake_launch launches[MOST_CAPTURED];
  unsigned count;
} fake_graph;

/* ---- libraries and kernels -------------------------------------------------------------------------------- */

CALL(cuLibraryLoadData, void **library_out, const void *code, const int *jit_options, void *const *jit_values,
     unsigned num_jit_options, const int *library_options, void *const *library_values, unsigned num_library_options)
{
  (void)jit_options;
  (void)jit_values;
  (void)num_jit_options;
  (void)library_options;
  (void)library_values;
  (void)num_library_options;
  *library_out = &library;
  return memcmp(code, "\177ELF", 4) == 0 ? SUCCESS : ERROR_UNKNOWN;
}

CALL(cuLibraryUnload, void *loaded)
{
  (void)loaded;
  return SUCCESS;
}

CALL(cuLibraryGetKernel, void **kernel, void *loaded, const char *name)
{
  (void)loaded;
  *kernel = strcmp(name, "swa_decode") == 0  ? &decode_kernel
            : strcmp(name, "swa_merge") == 0 ? &merge_kernel
                                             : &other_kernel;
  return SUCCESS;
}

CALL(cuKernelGetFunction, void **function, void *kernel)
{
  *function = kernel;
  return SUCCESS;
}

CALL(cuKernelSetAttribute, int attribute, int value, void *kernel, int device)
{
  (void)attribute;
  (void)value;
  (void)kernel;
  (void)device;
  return SUCCESS;
}

CALL(cuKernelGetAttribute, int *value, int attribute, void *kernel, int device)
{
  (void)attribute;
  (void)kernel;
  (void)device;
  *value = 0;
  return SUCCESS;
}

CALL(cuFuncLoad, void *function)
{
  (void)function;
  return SUCCESS;
}

/* Of the tools' own kernels. */
CALL(cuModuleLoadData, void **module, const void *image)
{
  *module = &library;
  return memcmp(image, "\177ELF", 4) == 0 ? SUCCESS : ERROR_UNKNOWN;
}

CALL(cuModuleUnload, void *module)
{
  (void)module;
  return SUCCESS;
}

CALL(cuModuleGetFunction, void **function, void *module, const char *name)
{
  (void)module;
  (void)name;
  *function = &other_kernel;
  return SUCCESS;
}

CALL(cuFuncSetAttribute, void *function, int attribute, int value)
{
  (void)function;
  (void)attribute;
  (void)value;
  return SUCCESS;
}

/* ---- launches --------------------------------------------------------------------------------------------- */

static fake_graph *captured; /* of the stream that is being captured; NULL: none is */
static fake_launch put_off;
static bool has_put_off;

static int tell(const char *reason)
{
  if (reason != NULL) {
    fprintf(stderr, "fake libcuda: the kernel cannot be run: %s\n", reason);
  }
  return reason == NULL ? SUCCESS : ERROR_UNKNOWN;
}

static int execute(const fake_launch *launch)
{
  const char *fault = getenv("FAKE_CUDA_FAULT");
  if (launch->function == &decode_kernel) {
    return tell(fake_kernel_run(&launch->params.decode, fault != NULL ? fault : ""));
  }
  return tell(launch->function == &merge_kernel ? fake_merge_run(&launch->params.merge, launch->num_tokens)
                                                : "it is neither swa_decode nor swa_merge");
}

void fake_launch_finish(void)
{
  if (has_put_off) {
    has_put_off = false;
    (void)execute(&put_off);
  }
}

/* With the fault "early" a launch ends as late as it may, and a dependent one does not wait for that. */
static int run(const fake_launch *launch)
{
  if (!has_fault("early") || (launch->is_dependent && has_put_off)) {
    return execute(launch);
  }
  fake_launch_finish();
  put_off = *launch;
  has_put_off = true;
  return SUCCESS;
}

static int capture(const fake_launch *launch)
{
  const char *graphs = getenv("FAKE_CUDA_GRAPHS");
  if (launch->function == &decode_kernel && tell(fake_kernel_check(&launch->params.decode)) != SUCCESS) {
    return ERROR_UNKNOWN;
  }
  if (graphs == NULL || strcmp(graphs, "run") != 0) {
    return SUCCESS;
  }
  if (captured->count == MOST_CAPTURED) {
    return ERROR_CAPTURE;
  }
  captured->launches[captured->count++] = *launch;
  return SUCCESS;
}

static int launch_or_capture(const void *function, unsigned num_tokens, bool is_dependent, void **params)
{
  fake_launch launch = {.function = function, .num_tokens = num_tokens, .is_dependent = is_dependent};
  if (has_fault("launch")) {
    return ERROR_LAUNCH;
  }
  if (function == &merge_kernel) {
    memcpy(&launch.params.merge, params[0], sizeof launch.params.merge);
  } else if (function == &decode_kernel) {
    memcpy(&launch.params.decode, params[0], sizeof launch.params.decode);
  }
  return captured != NULL ? capture(&launch) : run(&launch);
}

CALL(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
     unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params, void **extra)
{
  (void)grid_y;
  (void)grid_z;
  (void)block_x;
  (void)block_y;
  (void)block_z;
  (void)shared_bytes;
  (void)stream;
  (void)extra;
  return launch_or_capture(function, grid_x, false, params);
}

/* CUlaunchConfig and CUlaunchAttribute as the vendor's manual lists their fields. */
typedef struct given_attribute {
  int id;
  char padding[4];
  union {
    int number;
    char room[64];
  } value;
} given_attribute;

typedef struct given_config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  const given_attribute *attributes;
  unsigned num_attributes;
} given_config;

CALL(cuLaunchKernelEx, const given_config *config, void *function, void **params, void **extra)
{
  bool is_dependent = false;
  (void)extra;
  for (unsigned i = 0; i < config->num_attributes; i++) {
    const given_attribute *given = &config->attributes[i];
    is_dependent = is_dependent || (given->id == ATTRIBUTE_STREAM_SERIALIZATION && given->value.number != 0);
  }
  return launch_or_capture(function, config->grid[0], is_dependent, params);
}

/* ---- graphs ----------------------------------------------------------------------------------------------- */

CALL(cuStreamBeginCapture_v2, void *stream, int mode)
{
  (void)stream;
  (void)mode;
  captured = captured == NULL ? calloc(1, sizeof *captured) : NULL;
  return captured != NULL ? SUCCESS : ERROR_CAPTURE;
}

CALL(cuStreamEndCapture, void *stream, void **graph)
{
  (void)stream;
  *graph = captured;
  captured = NULL;
  return *graph != NULL ? SUCCESS : ERROR_CAPTURE;
}

CALL(cuGraphInstantiateWithFlags, void **exec, const void *graph, unsigned long long flags)
{
  (void)flags;
  *exec = malloc(sizeof(fake_graph));
  if (*exec == NULL) {
    return ERROR_MEMORY;
  }
  memcpy(*exec, graph, sizeof(fake_graph));
  return SUCCESS;
}

CALL(cuGraphLaunch, const void *exec, void *stream)
{
  const fake_graph *graph = exec;
  int result = SUCCESS;
  (void)stream;
  for (unsigned i = 0; i < graph->count && result == SUCCESS; i++) {
    result = run(&graph->launches[i]);
  }
  return result;
}

CALL(cuGraphExecDestroy, void *exec)
{
  free(exec);
  return SUCCESS;
}

CALL(cuGraphDestroy, void *graph)
{
  free(graph);
  return SUCCESS;
}
