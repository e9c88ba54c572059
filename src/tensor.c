/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <stdbool.h>

swa_jit_status sj_tensor_check_address(const char *name, const void *address, unsigned alignment)
{
  if (address == NULL) {
    return sj_fail(SWA_JIT_INVALID, "%s is NULL: pass the tensor's device address", name);
  }
  if (((uintptr_t)address & (alignment - 1)) != 0) {
    return sj_fail(SWA_JIT_INVALID, "%s is %p: the address must be a multiple of %u bytes; align the tensor", name,
                   address, alignment);
  }
  return SWA_JIT_OK;
}

/* Over an extent of 1 only the alignment of a stride counts. */
static swa_jit_status check_stride(const sj_tensor *tensor, const char *axis, long long stride, uint32_t extent,
                                   long long minimum)
{
  const unsigned multiple = tensor->alignment / tensor->element_bytes;
  if (((unsigned long long)stride & (multiple - 1)) != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "%s_%s_stride is %lld: it must be a multiple of %u, so that every row begins at a multiple of %u "
                   "bytes; pad the rows, or pass 0 for packed ones",
                   tensor->name, axis, stride, multiple, tensor->alignment);
  }
  if (extent > 1 && stride < minimum) {
    return sj_fail(SWA_JIT_INVALID, "%s_%s_stride is %lld: the least is %lld; correct it, or pass 0 for packed rows",
                   tensor->name, axis, stride, minimum);
  }
  return SWA_JIT_OK;
}

/* Whether the last byte lies within 2^63 bytes of the first: then no address overflows. */
static bool is_addressable(const sj_tensor *tensor)
{
  long long token_reach;
  long long head_reach;
  long long reach;
  return !__builtin_mul_overflow((long long)tensor->num_tokens - 1, tensor->token_stride, &token_reach)
         && !__builtin_mul_overflow((long long)tensor->num_heads - 1, tensor->head_stride, &head_reach)
         && !__builtin_add_overflow(token_reach, head_reach, &reach)
         && !__builtin_add_overflow(reach, tensor->row_length, &reach)
         && !__builtin_mul_overflow(reach, (long long)tensor->element_bytes, &reach);
}

swa_jit_status sj_tensor_check_strides(const sj_tensor *tensor)
{
  const long long least = tensor->alignment / tensor->element_bytes;
  /* Heads first: a token stride that was left out follows the head stride. */
  swa_jit_status status = check_stride(tensor, "head", tensor->head_stride, tensor->num_heads, tensor->row_length);
  if (status == SWA_JIT_OK) {
    status = check_stride(tensor, "token", tensor->token_stride, tensor->num_tokens, least);
  }
  if (status == SWA_JIT_OK && !is_addressable(tensor)) {
    return sj_fail(SWA_JIT_INVALID,
                   "%s_token_stride %lld over an extent of %u and %s_head_stride %lld over %u reach past 2^63 - 1 "
                   "bytes: correct the strides",
                   tensor->name, tensor->token_stride, tensor->num_tokens, tensor->name, tensor->head_stride,
                   tensor->num_heads);
  }
  return status;
}

swa_jit_status sj_tensor_check_apart(const sj_tensor *tensor)
{
  const long long row = tensor->row_length;
  const long long last_token = ((long long)tensor->num_tokens - 1) * tensor->token_stride;
  const long long last_head = ((long long)tensor->num_heads - 1) * tensor->head_stride;
  const bool tokens_outside = tensor->num_tokens == 1 || tensor->token_stride >= last_head + row;
  const bool heads_outside = tensor->token_stride >= row && tensor->head_stride >= last_token + row;
  if (!tokens_outside && !heads_outside) {
    return sj_fail(SWA_JIT_INVALID,
                   "%s rows overlap: %s_token_stride is %lld and %s_head_stride %lld, for %u tokens and %u heads of "
                   "%lld elements; %s_token_stride must be %lld or more (or %s_head_stride %lld or more, with the "
                   "tokens of a head side by side)",
                   tensor->name, tensor->name, tensor->token_stride, tensor->name, tensor->head_stride,
                   tensor->num_tokens, tensor->num_heads, row, tensor->name, last_head + row, tensor->name,
                   last_token + row);
  }
  return SWA_JIT_OK;
}
