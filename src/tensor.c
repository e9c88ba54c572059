/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <stdio.h>

/* ---- any tensor -------------------------------------------------------------------------------------------- */

swa_jit_status sj_tensor_fail_address(const char *name, const void *address, unsigned alignment)
{
  if (address == NULL) {
    return sj_fail(SWA_JIT_INVALID, "%s is NULL: pass the tensor's device address", name);
  }
  return sj_fail(SWA_JIT_INVALID, "%s is %p: the address must be a multiple of %u bytes; align the tensor", name,
                 address, alignment);
}

swa_jit_status sj_tensor_fail_stride(const char *name, long long stride, unsigned multiple, unsigned alignment,
                                     long long minimum)
{
  if (((unsigned long long)stride & (multiple - 1)) != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "%s is %lld: it must be a multiple of %u, so that every row begins at a multiple of %u bytes; pad "
                   "the rows, or pass 0 for packed ones",
                   name, stride, multiple, alignment);
  }
  return sj_fail(SWA_JIT_INVALID, "%s is %lld: the least is %lld; correct it, or pass 0 for packed rows", name, stride,
                 minimum);
}

swa_jit_status sj_tensor_fail_reach(const char *outer_name, long long outer_stride, long long num_outer,
                                    const char *inner_name, long long inner_stride, long long num_inner)
{
  if (inner_name == NULL) {
    return sj_fail(SWA_JIT_INVALID, "%s %lld over an extent of %lld reaches past 2^63 - 1 bytes: correct the stride",
                   outer_name, outer_stride, num_outer);
  }
  return sj_fail(SWA_JIT_INVALID,
                 "%s %lld over an extent of %lld and %s %lld over %lld reach past 2^63 - 1 bytes: correct the strides",
                 outer_name, outer_stride, num_outer, inner_name, inner_stride, num_inner);
}

swa_jit_status sj_tensor_fail_overlap(const sj_extent *a, const sj_extent *b)
{
  return sj_fail(SWA_JIT_INVALID,
                 "%s overlaps %s: %s lies from %#llx to %#llx and %s from %#llx to %#llx; give %s memory of its own",
                 a->name, b->name, a->name, (unsigned long long)a->begin, (unsigned long long)a->end, b->name,
                 (unsigned long long)b->begin, (unsigned long long)b->end, a->name);
}

/* ---- rows at [tokens, heads] ------------------------------------------------------------------------------- */

/* Heads first: a token stride that was left out follows the head stride. */
swa_jit_status sj_tensor_fail_strides(sj_tensor tensor)
{
  const unsigned multiple = tensor.alignment / tensor.element_bytes;
  char token_name[32], head_name[32];
  snprintf(token_name, sizeof token_name, "%s_token_stride", tensor.name);
  snprintf(head_name, sizeof head_name, "%s_head_stride", tensor.name);
  if (!sj_tensor_is_stride(tensor.head_stride, multiple, tensor.num_heads, tensor.row_length)) {
    return sj_tensor_fail_stride(head_name, tensor.head_stride, multiple, tensor.alignment, tensor.row_length);
  }
  if (!sj_tensor_is_stride(tensor.token_stride, multiple, tensor.num_tokens, multiple)) {
    return sj_tensor_fail_stride(token_name, tensor.token_stride, multiple, tensor.alignment, multiple);
  }
  return sj_tensor_fail_reach(token_name, tensor.token_stride, tensor.num_tokens, head_name, tensor.head_stride,
                              tensor.num_heads);
}

swa_jit_status sj_tensor_fail_apart(sj_tensor tensor)
{
  const long long row = tensor.row_length;
  const long long last_token = ((long long)tensor.num_tokens - 1) * tensor.token_stride;
  const long long last_head = ((long long)tensor.num_heads - 1) * tensor.head_stride;
  return sj_fail(SWA_JIT_INVALID,
                 "%s rows overlap: %s_token_stride is %lld and %s_head_stride %lld, for %u tokens and %u heads of "
                 "%lld elements; %s_token_stride must be %lld or more (or %s_head_stride %lld or more, with the "
                 "tokens of a head side by side)",
                 tensor.name, tensor.name, tensor.token_stride, tensor.name, tensor.head_stride, tensor.num_tokens,
                 tensor.num_heads, row, tensor.name, last_head + row, tensor.name, last_token + row);
}

/* ---- rows of two tensors ----------------------------------------------------------------------------------- */

enum { NUM_LEVELS = 2 };

/* Bytes, the wider stride first. A level of one row comes before all: its stride leads nowhere. */
typedef struct levels {
  long long num[NUM_LEVELS];
  long long stride[NUM_LEVELS];
  long long row;
} levels;

static levels make_levels(const sj_tensor *tensor)
{
  const bool is_token_first =
      tensor->num_tokens == 1 || (tensor->num_heads > 1 && tensor->token_stride >= tensor->head_stride);
  const int token = is_token_first ? 0 : 1;
  levels made = {.row = tensor->row_length * tensor->element_bytes};
  made.num[token] = tensor->num_tokens;
  made.num[1 - token] = tensor->num_heads;
  made.stride[token] = tensor->num_tokens > 1 ? tensor->token_stride * tensor->element_bytes : 0;
  made.stride[1 - token] = tensor->num_heads > 1 ? tensor->head_stride * tensor->element_bytes : 0;
  return made;
}

/* Bytes of what lies at one place of the level above. */
static long long reach(const levels *tensor, int level)
{
  return level == NUM_LEVELS ? tensor->row
                             : (tensor->num[level] - 1) * tensor->stride[level] + reach(tensor, level + 1);
}

/* b begins offset bytes behind a. At a common stride, the parts of b that can meet a part of a are those of the two
 * steps around the offset. */
static bool do_levels_meet(const levels *a, const levels *b, int level, long long offset)
{
  if (offset >= reach(a, level) || -offset >= reach(b, level)) {
    return false;
  }
  if (level == NUM_LEVELS) {
    return true;
  }
  if (a->num[level] == 1 && b->num[level] == 1) {
    return do_levels_meet(a, b, level + 1, offset);
  }
  const long long stride = a->stride[level];
  if (stride <= 0 || stride != b->stride[level] || reach(a, level + 1) > stride || reach(b, level + 1) > stride) {
    return true;
  }
  const long long first = offset / stride - (offset % stride < 0 ? 1 : 0);
  for (long long step = first; step <= first + 1; step++) {
    const bool is_there = step < a->num[level] && -step < b->num[level];
    if (is_there && do_levels_meet(a, b, level + 1, offset - step * stride)) {
      return true;
    }
  }
  return false;
}

bool sj_tensor_do_rows_meet(const sj_tensor *a, uintptr_t a_address, const sj_tensor *b, uintptr_t b_address)
{
  const levels a_levels = make_levels(a);
  const levels b_levels = make_levels(b);
  const bool is_behind = b_address >= a_address;
  const uintptr_t distance = is_behind ? b_address - a_address : a_address - b_address;
  if (distance > (uintptr_t)INTPTR_MAX) {
    return false; /* further than any reach */
  }
  return do_levels_meet(&a_levels, &b_levels, 0, is_behind ? (long long)distance : -(long long)distance);
}
