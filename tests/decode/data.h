/* SPDX-License-Identifier: Apache-2.0 */
/* Fresh data for a case, on the host. Whatever a kernel must not look at is poison: slots that no unmasked position
 * selects are NaN, their scales too, gaps of q are NaN, index rows beyond len are 0x7F7F... or name some slot. */
#ifndef DECODE_DATA_H
#define DECODE_DATA_H

#include "pool.h"
#include "scope.h"

enum decode_tensor {
  DECODE_Q,
  DECODE_KV,
  DECODE_INV_SCALE,
  DECODE_INDICES,
  DECODE_LENS,
  DECODE_SINKS,
  DECODE_V,
  DECODE_V_INV_SCALE,
  DECODE_V_INDICES,
  DECODE_EXTRA_KV,
  DECODE_EXTRA_INV_SCALE,
  DECODE_EXTRA_INDICES,
  DECODE_EXTRA_LENS,
  DECODE_OUT,
  DECODE_LSE,
  DECODE_NUM_TENSORS
};

enum {
  DECODE_GUARD_BYTES = 1024, /* before and after out and lse, inside their buffers */
  DECODE_POISON = 0xA5       /* every byte of out and lse before a launch; a small finite number in both types */
};

typedef struct decode_buffer {
  uint8_t *bytes;
  size_t size;   /* exactly as large as the contract says, for a checker of memory accesses */
  size_t offset; /* where the tensor begins */
} decode_buffer;

typedef struct decode_data {
  decode_case which;
  swa_jit_config config;                     /* arch is left at the default */
  swa_jit_decode_args args;                  /* host pointers */
  decode_buffer tensors[DECODE_NUM_TENSORS]; /* bytes NULL: the case has no such tensor, or passes no pointer */
  decode_pool pools[DECODE_NUM_POOLS];
} decode_data;

/* False: no memory. A pool may be of several GiB: only its candidates use memory. */
bool decode_data_make(const decode_case *which, decode_data *data_out);
void decode_data_free(decode_data *data);

/* The tensor of a pool's rows. */
enum decode_tensor decode_data_rows_tensor(enum decode_pool_kind kind);

/* Sets the pointers of args to where() of each tensor that the case has. */
typedef const void *decode_where(const void *context, enum decode_tensor tensor);
void decode_data_point(const decode_data *data, decode_where *where, const void *context, swa_jit_decode_args *args);

/* Elements of a row of out. */
uint32_t decode_data_out_dim(const decode_data *data);

/* Where out's rows and LSE's elements lie, in elements, with strides of 0 resolved. */
int64_t decode_data_out_offset(const decode_data *data, uint32_t token, uint32_t head);
int64_t decode_data_lse_offset(const decode_data *data, uint32_t token, uint32_t head);

#endif
