/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kv_formats.h"
#include "planted.h"
#include "reference.h"

typedef struct host {
  fault planted;
  const char *message;
} host;

static bool host_alloc(void *data, size_t bytes, uint64_t *address_out)
{
  (void)data;
  *address_out = (uint64_t)(uintptr_t)malloc(bytes);
  return *address_out != 0;
}

static void host_release(void *data, uint64_t address)
{
  (void)data;
  free((void *)(uintptr_t)address);
}

static bool host_write(void *data, uint64_t to, const void *from, size_t bytes)
{
  (void)data;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return true;
}

static bool host_read(void *data, void *to, uint64_t from, size_t bytes)
{
  (void)data;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return true;
}

static const char *host_message(void *data)
{
  return ((host *)data)->message;
}

static int64_t stride_or(int64_t stride, int64_t usual)
{
  return stride != 0 ? stride : usual;
}

/* ---- inputs as the fault sees them ------------------------------------------------------------------------ */

/* Lengths above any, but for the last token: memory ends with its row. int32 only. */
static void change_lens(const swa_jit_decode_args *args, const void **lens_inout, int32_t *copy)
{
  for (uint32_t i = 0; i < args->num_tokens; i++) {
    copy[i] = i + 1 < args->num_tokens ? INT32_MAX : ((const int32_t *)*lens_inout)[i];
  }
  *lens_inout = copy;
}

/* Copies what the fault changes of lens and indices; the copies are freed by the caller. */
static void change_positions(fault planted, const swa_jit_config *config, swa_jit_decode_args *args, void *copies[2])
{
  size_t positions = (size_t)args->num_tokens * config->window_size;
  int32_t *lens = malloc(args->num_tokens * sizeof *lens + 1);
  int32_t *indices = malloc(positions * sizeof *indices + 1);

  copies[0] = lens;
  copies[1] = indices;
  if (planted == FAULT_IGNORES_LEN) {
    change_lens(args, &args->lens, lens);
  } else if (planted == FAULT_IGNORES_EXTRA_LENS) {
    change_lens(args, &args->extra_lens, lens);
  } else if (planted == FAULT_CLAMPS_MASKED_SLOTS) {
    for (size_t i = 0; i < positions; i++) {
      indices[i] = ((const int32_t *)args->indices)[i] == -1 ? 0 : ((const int32_t *)args->indices)[i];
    }
    args->indices = indices;
  }
}

static void change_strides(fault planted, const swa_jit_config *config, swa_jit_decode_args *args)
{
  if (planted == FAULT_IGNORES_BLOCK_STRIDE) {
    args->block_stride_bytes = 0;
  } else if (planted == FAULT_IGNORES_Q_STRIDES) {
    args->q_token_stride = args->q_head_stride = 0;
  } else if (planted == FAULT_READS_KV_HEAD_0) {
    args->slot_stride_bytes = args->num_kv_heads * sj_reference_row_bytes(config->kv_format, config->head_dim);
    args->v_slot_stride_bytes = args->num_kv_heads * sj_reference_row_bytes(config->kv_format, config->head_dim_v);
    args->num_kv_heads = 1;
  } else if (planted == FAULT_V_BY_STRIDES_OF_K) {
    args->v_block_stride_bytes = args->block_stride_bytes;
    args->v_slot_stride_bytes = args->slot_stride_bytes;
    args->v_head_stride_bytes = args->kv_head_stride_bytes;
  } else if (planted == FAULT_EXTRA_BY_STRIDES_OF_WINDOW) {
    args->extra_block_stride_bytes = args->block_stride_bytes;
    args->extra_slot_stride_bytes = args->slot_stride_bytes;
  }
}

static void change_numbers(fault planted, swa_jit_decode_args *args)
{
  if (planted == FAULT_IGNORES_POOL_SCALE) {
    args->kv_scale = args->v_scale = args->extra_scale = 1.0f;
  } else if (planted == FAULT_IGNORES_SINKS) {
    args->sinks = NULL;
  } else if (planted == FAULT_SINK_IN_LSE) {
    args->lse_form |= SWA_JIT_LSE_WITH_SINK;
  } else if (planted == FAULT_IGNORES_SOFT_CAP) {
    args->soft_cap = 0.0f;
  } else if (planted == FAULT_IGNORES_LSE_FORM) {
    args->lse_form = 0;
  } else if (planted == FAULT_V_BY_INDICES_OF_K) {
    args->v_indices = NULL;
  }
}

/* In the device's memory, for a window of packed footer blocks. */
static void change_scale_rows(fault planted, const swa_jit_config *config, const swa_jit_decode_args *args)
{
  const sj_reference_footer *footer = sj_reference_find_footer(config->kv_format);

  if (footer == NULL) {
    return;
  }
  for (uint64_t block = 0; block < args->num_blocks; block++) {
    size_t packed = args->block_size * (size_t)(footer->row_bytes + footer->scale_row_bytes);
    uint8_t *scales = (uint8_t *)(uintptr_t)args->kv + block * packed + args->block_size * (size_t)footer->row_bytes;

    for (uint32_t i = 0; i < args->block_size * footer->scale_row_bytes; i++) {
      if (planted == FAULT_READS_FIRST_SCALE_ROW) {
        scales[i] = scales[i % footer->scale_row_bytes];
      } else if (planted == FAULT_TAKES_255_AS_A_POWER && scales[i] == 255) {
        scales[i] = 127;
      }
    }
  }
}

static void change_cut_indices(const swa_jit_config *config, swa_jit_decode_args *args)
{
  int64_t *indices = (int64_t *)(uintptr_t)args->indices;

  for (uint32_t token = 0; token < args->num_tokens; token++) {
    uint32_t len = sj_reference_len(config, args, token);

    for (uint32_t j = 0; j < len; j++) {
      indices[(size_t)token * config->window_size + j] = (int32_t)indices[(size_t)token * config->window_size + j];
    }
  }
}

/* ---- results as the fault has them ------------------------------------------------------------------------ */

static bool has_empty_positions(const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token)
{
  return sj_reference_len(config, args, token) < config->window_size;
}

/* Changes one head's exact result in the way of the fault. */
static void change_head(fault planted, const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                        uint32_t head, double *out, double *lse)
{
  bool empty = isinf(*lse) && *lse < 0;
  double extra = config->window_size - (double)sj_reference_len(config, args, token);

  for (uint32_t d = 0; d < sj_reference_out_dim(config); d++) {
    if (planted == FAULT_COUNTS_EMPTY_POSITIONS && has_empty_positions(config, args, token)) {
      out[d] = empty ? 0.0 : out[d] / (1.0 + extra * exp(-*lse));
    } else if (planted == FAULT_NAN_FOR_EMPTY_ROWS && empty) {
      out[d] = NAN;
    } else if (planted == FAULT_DIVIDES_BY_THE_SINK_ALONE && empty && args->sinks != NULL) {
      out[d] = 0.0 * exp((double)args->sinks[head]);
    } else if (planted == FAULT_SWALLOWS_NAN && isnan(out[d])) {
      out[d] = 0.0;
    } else if (planted == FAULT_SPREADS_NAN && token == 0) {
      out[d] = NAN;
    } else if (planted == FAULT_SLIGHTLY_TOO_LARGE) {
      out[d] *= 1.003;
    }
  }
  if (planted == FAULT_ONE_ELEMENT && token == 1) {
    out[config->head_dim - 1] += 0.05;
  } else if (planted == FAULT_LSE_TO_BASE_2) {
    *lse /= log(2.0);
  } else if (planted == FAULT_LSE_POSITIVE_INFINITY && empty) {
    *lse = INFINITY;
  }
}

static void store_head(fault planted, const swa_jit_config *config, const swa_jit_decode_args *args, uint32_t token,
                       uint32_t head, const double *out, double lse)
{
  uint32_t dim = sj_reference_out_dim(config);
  int64_t token_stride = stride_or(args->out_token_stride, (int64_t)args->num_heads * dim);
  int64_t head_stride = stride_or(args->out_head_stride, dim);
  bool packed_lse = planted == FAULT_IGNORES_LSE_STRIDES;
  int64_t lse_head_stride = packed_lse ? 1 : stride_or(args->lse_head_stride, 1);
  int64_t lse_token_stride =
      packed_lse ? args->num_heads : stride_or(args->lse_token_stride, args->num_heads * lse_head_stride);
  uint16_t *row = (uint16_t *)args->out + token * token_stride + head * head_stride;

  if ((planted == FAULT_LEAVES_EMPTY_ROWS && isinf(lse))
      || (planted == FAULT_LEAVES_LAST_HEAD && head + 1 == args->num_heads)) {
    return;
  }
  for (uint32_t d = 0; d < dim; d++) {
    row[d] = sj_reference_bf16_from_double(out[d]);
  }
  if (planted == FAULT_ONE_BIT && head == 3) {
    row[5] ^= 1;
  } else if (planted == FAULT_WRITES_BEHIND_A_ROW) {
    row[dim] = 0;
  } else if (planted == FAULT_WRITES_BEFORE_OUT && token + head == 0) {
    row[-1] = 0;
  }
  if (args->lse != NULL) {
    float *at = args->lse + token * lse_token_stride + head * lse_head_stride;

    *at = (float)lse;
    if (planted == FAULT_WRITES_LSE_GAP && head + 1 == args->num_heads) {
      at[1] = (float)lse;
    }
  }
}

static swa_jit_status host_decode(void *data, const swa_jit_config *config, const swa_jit_decode_args *args)
{
  fault planted = ((host *)data)->planted;
  swa_jit_config changed_config = *config;
  swa_jit_decode_args changed = *args;
  void *copies[2];
  double out[512];
  double lse;

  if (config->head_dim == 192) {
    return SWA_JIT_UNSUPPORTED; /* this device knows no such rows */
  }
  if (planted == FAULT_CUTS_INDICES_TO_32_BITS) {
    change_cut_indices(config, &changed);
  } else if (planted == FAULT_IGNORES_EXTRA) {
    changed_config.extra_size = 0;
  }
  change_positions(planted, config, &changed, copies);
  change_strides(planted, config, &changed);
  change_numbers(planted, &changed);
  change_scale_rows(planted, config, &changed);
  for (uint32_t token = 0; token < args->num_tokens; token++) {
    for (uint32_t head = 0; head < args->num_heads; head++) {
      sj_reference_head(&changed_config, &changed, token, head, out, &lse);
      change_head(planted, config, args, token, head, out, &lse);
      store_head(planted, config, args, token, head, out, lse);
    }
  }
  free(copies[0]);
  free(copies[1]);
  return SWA_JIT_OK;
}

decode_result planted_run(fault planted, const char *text, decode_verdict *verdict)
{
  host memory = {planted, "host memory"};
  const decode_device device = {.data = &memory,
                                .alloc = host_alloc,
                                .release = host_release,
                                .write = host_write,
                                .read = host_read,
                                .decode = host_decode,
                                .message = host_message,
                                .num_threads = 2};
  decode_case which;
  const char *bad;

  assert_true(decode_case_from_text(text, &which, &bad));
  return decode_check(&device, &which, verdict);
}

void assert_found(fault planted, const char *text, const char *words)
{
  decode_verdict verdict;

  assert_int_equal(planted_run(FAULT_NONE, text, &verdict), DECODE_PASSED);
  assert_int_equal(planted_run(planted, text, &verdict), DECODE_FAILED);
  assert_true(verdict.num_faults > 0);
  if (strstr(verdict.fault, words) == NULL) {
    fail_msg("'%s' does not say '%s'", verdict.fault, words);
  }
}
