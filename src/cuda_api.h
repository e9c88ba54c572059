/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda, opened at run time: one table of pointers, required and optional entries marked in cuda_api.c. The table
 * is the seam for the recording stand-in, for fault injection and for the emulator. Types are spelled here: cuda.h
 * is not needed. */
#ifndef SJ_CUDA_API_H
#define SJ_CUDA_API_H

#include <stddef.h>

#include "log.h"
#include "status.h"

typedef struct CUctx_st *sj_cu_context;
typedef struct CUlib_st *sj_cu_library;
typedef struct CUkern_st *sj_cu_kernel;
typedef struct CUfunc_st *sj_cu_function;
typedef int sj_cu_device;

/* CUlaunchAttribute: of the union of values only what is used here. */
typedef struct sj_cu_launch_attribute {
  int id;
  int padding;
  union {
    int programmatic_stream_serialization;
    char room[64];
  } value;
} sj_cu_launch_attribute;

/* CUlaunchConfig */
typedef struct sj_cu_launch_config {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  swa_jit_stream stream;
  sj_cu_launch_attribute *attributes;
  unsigned num_attributes;
} sj_cu_launch_config;

_Static_assert(sizeof(sj_cu_launch_attribute) == 72 && sizeof(sj_cu_launch_config) == 56, "as cuda.h lays them out");

/* The vendor's numbers, cuda.h of CUDA 13.0. */
enum {
  SJ_CU_SUCCESS = 0,
  SJ_CU_ERROR_INVALID_VALUE = 1,
  SJ_CU_ERROR_OUT_OF_MEMORY = 2,
  SJ_CU_ERROR_STUB_LIBRARY = 34,
  SJ_CU_ERROR_NO_DEVICE = 100,
  SJ_CU_ERROR_INVALID_IMAGE = 200,
  SJ_CU_ERROR_INVALID_CONTEXT = 201,
  SJ_CU_ERROR_NO_BINARY_FOR_GPU = 209,
  SJ_CU_ERROR_INVALID_PTX = 218,
  SJ_CU_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  SJ_CU_ERROR_INVALID_SOURCE = 300,
  SJ_CU_ERROR_INVALID_HANDLE = 400,
  SJ_CU_ERROR_NOT_FOUND = 500,
  SJ_CU_DEVICE_SM_COUNT = 16,
  SJ_CU_DEVICE_MAJOR = 75,
  SJ_CU_DEVICE_MINOR = 76,
  SJ_CU_DEVICE_SHARED_MEMORY_OPTIN = 97,
  SJ_CU_FUNCTION_LOCAL_BYTES = 3,
  SJ_CU_FUNCTION_NUM_REGISTERS = 4,
  SJ_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
  SJ_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};

typedef int (*sj_cu_ctx_get_id)(sj_cu_context context, unsigned long long *id);
typedef int (*sj_cu_launch_kernel)(sj_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   swa_jit_stream stream, void **params, void **extra);

typedef struct sj_cuda_api {
  /* hot: called by each launch and lookup */
  sj_cu_ctx_get_id ctx_get_id; /* optional: CUDA 12.0; NULL: the current one */
  int (*ctx_get_current)(sj_cu_context *context);
  sj_cu_launch_kernel launch_kernel;
  int (*launch_kernel_ex)(const sj_cu_launch_config *config, sj_cu_function function, void **params, void **extra);
  /* the rest */
  int (*init)(unsigned flags);
  int (*driver_get_version)(int *version);
  int (*get_error_name)(int result, const char **name);
  int (*get_error_string)(int result, const char **text);
  int (*device_get_count)(int *count);
  int (*device_get)(sj_cu_device *device, int ordinal);
  int (*device_get_attribute)(int *value, int attribute, sj_cu_device device);
  int (*ctx_get_device)(sj_cu_device *device);
  int (*stream_get_ctx)(swa_jit_stream stream, sj_cu_context *context);
  int (*ctx_push_current)(sj_cu_context context);
  int (*ctx_pop_current)(sj_cu_context *context);
  int (*library_load_data)(sj_cu_library *library, const void *code, const int *jit_options, void *const *jit_values,
                           unsigned num_jit_options, const int *library_options, void *const *library_values,
                           unsigned num_library_options);
  int (*library_unload)(sj_cu_library library);
  int (*library_get_kernel)(sj_cu_kernel *kernel, sj_cu_library library, const char *name);
  int (*kernel_get_function)(sj_cu_function *function, sj_cu_kernel kernel);
  int (*kernel_set_attribute)(int attribute, int value, sj_cu_kernel kernel, sj_cu_device device);
  int (*kernel_get_attribute)(int *value, int attribute, sj_cu_kernel kernel, sj_cu_device device);
  int (*func_load)(sj_cu_function function); /* optional: CUDA 12.4 */
  void *library;                             /* dlopen handle */
  char path[512];
  int driver_version;
  int num_devices;
} sj_cuda_api;

/* Opens libcuda (path, else an already loaded copy, libcuda.so.1, libcuda.so, usual folders; never the toolkit's
 * stub), fills the table and calls init. The table is whole or untouched. NO_DRIVER with what was tried, or the
 * missing symbol; NO_DEVICE; CUDA_ERROR. */
swa_jit_status sj_cuda_api_open(const char *path, const sj_log *log, sj_cuda_api *api_out);
/* Lets go of libcuda and zeroes the table. The driver's code stays mapped: its threads may still be running it. */
void sj_cuda_api_close(sj_cuda_api *api);

/* "cuLaunchKernel failed: CUDA_ERROR_... (text)" and a remedy where one is known, as a CUDA_ERROR with this thread's
 * message; call is the function's name. */
swa_jit_status sj_cuda_fail(const sj_cuda_api *api, const char *call, int result);

#endif
