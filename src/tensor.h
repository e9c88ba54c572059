/* SPDX-License-Identifier: Apache-2.0 */
/* What a call's arguments say of a tensor: whether its addresses can be used, and where it lies. Contents are not read.
 * A launch is the hot path: the tests are inline, and the words for what fails are in tensor.c. */
#ifndef SJ_TENSOR_H
#define SJ_TENSOR_H

#include <stdbool.h>

#include "status.h"

#define SJ_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define SJ_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define SJ_COLD __attribute__((cold, noinline)) /* the way to such a call is the unlikely one */
/* A test is so short that arguments passed in memory would cost more than it does. */
#define SJ_INLINE static inline __attribute__((always_inline))

/* Rows at [tokens, heads]. By value where a call is cold, so that it is in memory only there. */
typedef struct sj_tensor {
  const char *name;                    /* of the argument; its strides are <name>_token_stride and <name>_head_stride */
  uint32_t num_tokens, num_heads;      /* 1 or more */
  long long token_stride, head_stride; /* elements; resolved: 0 is no default here */
  long long row_length;                /* elements */
  unsigned element_bytes;
  unsigned alignment; /* bytes, of the address and of each row: a power of two */
} sj_tensor;

/* Where a tensor lies: from begin to before end. */
typedef struct sj_extent {
  const char *name;
  uintptr_t begin, end;
} sj_extent;

/* ---- any tensor -------------------------------------------------------------------------------------------- */

SJ_COLD swa_jit_status sj_tensor_fail_address(const char *name, const void *address, unsigned alignment);
SJ_COLD swa_jit_status sj_tensor_fail_stride(const char *name, long long stride, unsigned multiple, unsigned alignment,
                                             long long minimum);
SJ_COLD swa_jit_status sj_tensor_fail_reach(const char *outer_name, long long outer_stride, long long num_outer,
                                            const char *inner_name, long long inner_stride, long long num_inner);

/* INVALID for NULL and for an address that is no multiple of alignment, a power of two. */
SJ_INLINE swa_jit_status sj_tensor_check_address(const char *name, const void *address, unsigned alignment)
{
  if (address != NULL && ((uintptr_t)address & (alignment - 1)) == 0) {
    return SWA_JIT_OK;
  }
  return sj_tensor_fail_address(name, address, alignment);
}

/* Over an extent of 1 only the alignment of a stride counts: nothing lies a stride further on. */
SJ_INLINE bool sj_tensor_is_stride(long long stride, unsigned multiple, long long extent, long long minimum)
{
  return ((unsigned long long)stride & (multiple - 1)) == 0 && (extent <= 1 || stride >= minimum);
}

/* The bytes from the first row's first to the last row's last. False if that is 2^63 or more: then an address of a row
 * could overflow. Strides that count are not negative. */
SJ_INLINE bool sj_tensor_find_reach(long long num_outer, long long outer_stride, long long num_inner,
                                    long long inner_stride, long long row_length, long long unit_bytes,
                                    long long *bytes_out)
{
  long long outer, inner, reach;
  return !__builtin_mul_overflow(num_outer - 1, outer_stride, &outer)
         && !__builtin_mul_overflow(num_inner - 1, inner_stride, &inner)
         && !__builtin_add_overflow(outer, inner, &reach) && !__builtin_add_overflow(reach, row_length, &reach)
         && !__builtin_mul_overflow(reach, unit_bytes, bytes_out);
}

/* Where bytes from address on lie; one that would pass the last address ends there. */
SJ_INLINE sj_extent sj_tensor_make_extent(const char *name, const void *address, long long bytes)
{
  uintptr_t begin = (uintptr_t)address;
  uintptr_t end;
  if (__builtin_add_overflow(begin, (uintptr_t)bytes, &end)) {
    end = UINTPTR_MAX;
  }
  return (sj_extent){name, begin, end};
}

/* Without branches: it is asked often, and the answer is no. */
SJ_INLINE bool sj_tensor_do_overlap(const sj_extent *a, const sj_extent *b)
{
  return (a->begin < b->end) & (b->begin < a->end);
}

/* a is the one to be moved. */
SJ_COLD swa_jit_status sj_tensor_fail_overlap(const sj_extent *a, const sj_extent *b);

/* ---- rows at [tokens, heads] ------------------------------------------------------------------------------- */

SJ_COLD swa_jit_status sj_tensor_fail_strides(sj_tensor tensor);
SJ_COLD swa_jit_status sj_tensor_fail_apart(sj_tensor tensor);

/* INVALID for strides that misalign rows, are too small, or reach past 2^63 - 1 bytes. */
SJ_INLINE swa_jit_status sj_tensor_check_strides(const sj_tensor *tensor)
{
  const unsigned multiple = tensor->alignment / tensor->element_bytes;
  long long bytes;
  if (sj_tensor_is_stride(tensor->head_stride, multiple, tensor->num_heads, tensor->row_length)
      && sj_tensor_is_stride(tensor->token_stride, multiple, tensor->num_tokens, multiple)
      && sj_tensor_find_reach(tensor->num_tokens, tensor->token_stride, tensor->num_heads, tensor->head_stride,
                              tensor->row_length, tensor->element_bytes, &bytes)) {
    return SWA_JIT_OK;
  }
  return sj_tensor_fail_strides(*tensor);
}

/* INVALID where rows overlap, as no written tensor's may. Heads may lie within tokens or tokens within heads. The
 * strides were checked. */
SJ_INLINE swa_jit_status sj_tensor_check_apart(const sj_tensor *tensor)
{
  const long long row = tensor->row_length;
  const long long last_token = ((long long)tensor->num_tokens - 1) * tensor->token_stride;
  const long long last_head = ((long long)tensor->num_heads - 1) * tensor->head_stride;
  const bool tokens_outside = tensor->num_tokens == 1 || tensor->token_stride >= last_head + row;
  const bool heads_outside = tensor->token_stride >= row && tensor->head_stride >= last_token + row;
  return tokens_outside || heads_outside ? SWA_JIT_OK : sj_tensor_fail_apart(*tensor);
}

/* Where it lies. The strides were checked. */
SJ_INLINE sj_extent sj_tensor_find_extent(const sj_tensor *tensor, const void *address)
{
  const long long last_token = ((long long)tensor->num_tokens - 1) * tensor->token_stride;
  const long long last_head = ((long long)tensor->num_heads - 1) * tensor->head_stride;
  return sj_tensor_make_extent(tensor->name, address,
                               (last_token + last_head + tensor->row_length) * tensor->element_bytes);
}

/* Whether a row of one overlaps a row of the other. Exact where both have the same strides, in bytes, so that slices of
 * one buffer are told apart; true where that cannot be told. Slow: for extents that overlap. The strides were checked.
 */
bool sj_tensor_do_rows_meet(const sj_tensor *a, uintptr_t a_address, const sj_tensor *b, uintptr_t b_address);

#endif
