/* SPDX-License-Identifier: Apache-2.0 */
/* Fresh data for a case, on the host. Whatever a kernel must not look at is poison: slots that no unmasked position
 * selects are NaN, their inv_scale too, gaps of q are NaN, index rows beyond len are 0x7F7F... or name some slot. */
#ifndef DECODE_DATA_H
#define DECODE_DATA_H

#include "case.h"
#include "swa_jit/swa_jit.h"

enum decode_tensor {
  DECODE_Q,
  DECODE_KV,
  DECODE_INV_SCALE,
  DECODE_INDICES,
  DECODE_LENS,
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
  swa_jit_config config;    /* arch is left at the default */
  swa_jit_decode_args args; /* host pointers */
  decode_buffer tensors[DECODE_NUM_TENSORS];
  size_t kv_mapped;        /* bytes reserved for kv */
  uint32_t num_candidates; /* slots that positions may name; the only ones initialised in a large pool */
} decode_data;

/* False: no memory. A pool may be of several GiB: only its candidates use memory. */
bool decode_data_make(const decode_case *which, decode_data *data_out);
void decode_data_free(decode_data *data);

/* Whether only the candidates' rows of kv are initialised. */
bool decode_data_is_sparse(const decode_data *data);
/* The slot of a candidate, and where its row lies in kv. */
uint64_t decode_data_candidate(const decode_data *data, uint32_t candidate);
size_t decode_data_row_offset(const decode_data *data, uint64_t slot);

/* The four strides as the launch resolves them (0 replaced). */
int64_t decode_data_out_offset(const decode_data *data, uint32_t token, uint32_t head);
int64_t decode_data_lse_offset(const decode_data *data, uint32_t token, uint32_t head);

#endif
