/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills. A call that waits runs on the default stream; of pageable memory also one that does not wait
 * copies in its call, since the caller may change or free it after that. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* ---- executing -------------------------------------------------------------------------------------------- */

int emu_copy_execute(const emu_op_copy *copy)
{
  if (copy->from_host != NULL && copy->to_host != NULL) {
    memmove(copy->to_host, copy->from_host, copy->bytes);
    return EMU_OK;
  }
  if (copy->from_host != NULL) {
    return emu_copy_in(copy->to, copy->from_host, copy->bytes);
  }
  return copy->to_host != NULL ? emu_copy_out(copy->to_host, copy->from, copy->bytes)
                               : emu_copy_within(copy->to, copy->from, copy->bytes);
}

int emu_fill_execute(const emu_op_copy *fill)
{
  uint8_t *bytes = emu_host(fill->to, fill->bytes);
  if (bytes == NULL) {
    return EMU_INVALID_VALUE;
  }
  for (size_t at = 0; at < fill->bytes; at += fill->width) {
    memcpy(bytes + at, &fill->value, fill->width); /* little-endian, as the device is */
  }
  emu_mark_written(fill->to, fill->bytes);
  return EMU_OK;
}

/* ---- putting on a stream ---------------------------------------------------------------------------------- */

static int refuse(uint64_t address, size_t bytes)
{
  return emu_fail(EMU_INVALID_VALUE, "%zu bytes at 0x%llx do not lie in one allocation", bytes,
                  (unsigned long long)address);
}

static int check(const emu_op_copy *copy)
{
  if (copy->to_host == NULL && !emu_memory_has(copy->to, copy->bytes)) {
    return refuse(copy->to, copy->bytes);
  }
  if (copy->width == 0 && copy->from_host == NULL && !emu_memory_has(copy->from, copy->bytes)) {
    return refuse(copy->from, copy->bytes);
  }
  return EMU_OK;
}

static bool is_pageable(const emu_op_copy *copy)
{
  return (copy->from_host != NULL && !emu_memory_is_pinned(copy->from_host, copy->bytes))
         || (copy->to_host != NULL && !emu_memory_is_pinned(copy->to_host, copy->bytes));
}

/* Keeps what is on the caller's side of a copy to the device. */
static emu_op *make_op(const emu_op_copy *copy)
{
  emu_op *op = emu_op_make(copy->width != 0 ? EMU_OP_FILL : EMU_OP_COPY);
  if (op == NULL) {
    return NULL;
  }
  op->of.copy = *copy;
  if (copy->from_host != NULL && is_pageable(copy)) {
    op->owned = malloc(copy->bytes);
    if (op->owned == NULL) {
      emu_op_free(op);
      return NULL;
    }
    memcpy(op->owned, copy->from_host, copy->bytes);
    op->of.copy.from_host = op->owned;
  }
  return op;
}

/* waits: the call returns when all is done. */
static int put(emu_context *context, emu_stream *stream, const emu_op_copy *copy, bool waits)
{
  if (stream == NULL) {
    return EMU_INVALID_HANDLE;
  }
  if (copy->bytes == 0) {
    return EMU_OK;
  }
  int result = check(copy);
  if (result == EMU_OK && waits) {
    result = emu_capture_guard();
  }
  if (result == EMU_OK) {
    result = emu_stream_add(stream, make_op(copy));
  }
  if (result != EMU_OK || stream->capture != NULL) {
    return result;
  }
  if (waits) {
    return emu_default_finish(context);
  }
  return copy->to_host != NULL && is_pageable(copy) ? emu_stream_finish(stream) : EMU_OK;
}

static int copy_now(const emu_op_copy *copy, bool waits)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK ? emu_leave(put(context, context->default_stream, copy, waits)) : result;
}

static int copy_on(const emu_op_copy *copy, void *stream)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK ? emu_leave(put(context, emu_stream_find(context, stream), copy, false)) : result;
}

/* ---- copies ----------------------------------------------------------------------------------------------- */

static emu_op_copy in(uint64_t to, const void *from, size_t bytes)
{
  return (emu_op_copy){.to = to, .from_host = from, .bytes = bytes};
}

static emu_op_copy out(void *to, uint64_t from, size_t bytes)
{
  return (emu_op_copy){.to_host = to, .from = from, .bytes = bytes};
}

static emu_op_copy within(uint64_t to, uint64_t from, size_t bytes)
{
  return (emu_op_copy){.to = to, .from = from, .bytes = bytes};
}

CALL(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
  const emu_op_copy copy = in(to, from, bytes);
  return from != NULL || bytes == 0 ? copy_now(&copy, true) : EMU_INVALID_VALUE;
}

CALL(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *stream)
{
  const emu_op_copy copy = in(to, from, bytes);
  return from != NULL || bytes == 0 ? copy_on(&copy, stream) : EMU_INVALID_VALUE;
}

CALL(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
  const emu_op_copy copy = out(to, from, bytes);
  return to != NULL || bytes == 0 ? copy_now(&copy, true) : EMU_INVALID_VALUE;
}

CALL(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream)
{
  const emu_op_copy copy = out(to, from, bytes);
  return to != NULL || bytes == 0 ? copy_on(&copy, stream) : EMU_INVALID_VALUE;
}

/* Between two places of the device nobody waits. */
CALL(cuMemcpyDtoD_v2, uint64_t to, uint64_t from, size_t bytes)
{
  const emu_op_copy copy = within(to, from, bytes);
  return copy_now(&copy, false);
}

CALL(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *stream)
{
  const emu_op_copy copy = within(to, from, bytes);
  return copy_on(&copy, stream);
}

/* By what the addresses are: one that is no device memory is the host's. */
static emu_op_copy find_kinds(uint64_t to, uint64_t from, size_t bytes)
{
  emu_op_copy copy = within(to, from, bytes);
  if (!emu_memory_has(to, 1)) {
    copy.to_host = (void *)(uintptr_t)to;
  }
  if (!emu_memory_has(from, 1)) {
    copy.from_host = (const void *)(uintptr_t)from;
  }
  return copy;
}

CALL(cuMemcpy, uint64_t to, uint64_t from, size_t bytes)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const emu_op_copy copy = find_kinds(to, from, bytes);
  return emu_leave(put(context, context->default_stream, &copy, true));
}

CALL(cuMemcpyAsync, uint64_t to, uint64_t from, size_t bytes, void *stream)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  const emu_op_copy copy = find_kinds(to, from, bytes);
  return emu_leave(put(context, emu_stream_find(context, stream), &copy, false));
}

/* ---- fills ------------------------------------------------------------------------------------------------ */

static emu_op_copy fill(uint64_t to, uint32_t value, unsigned width, size_t count)
{
  return (emu_op_copy){
      .to = to, .value = value, .width = width, .bytes = count <= SIZE_MAX / 4 ? count * width : SIZE_MAX};
}

CALL(cuMemsetD8_v2, uint64_t to, unsigned char value, size_t count)
{
  const emu_op_copy copy = fill(to, value, 1, count);
  return copy_now(&copy, false);
}

CALL(cuMemsetD8Async, uint64_t to, unsigned char value, size_t count, void *stream)
{
  const emu_op_copy copy = fill(to, value, 1, count);
  return copy_on(&copy, stream);
}

CALL(cuMemsetD16_v2, uint64_t to, unsigned short value, size_t count)
{
  const emu_op_copy copy = fill(to, value, 2, count);
  return to % 2 == 0 ? copy_now(&copy, false) : EMU_INVALID_VALUE;
}

CALL(cuMemsetD16Async, uint64_t to, unsigned short value, size_t count, void *stream)
{
  const emu_op_copy copy = fill(to, value, 2, count);
  return to % 2 == 0 ? copy_on(&copy, stream) : EMU_INVALID_VALUE;
}

CALL(cuMemsetD32_v2, uint64_t to, unsigned value, size_t count)
{
  const emu_op_copy copy = fill(to, value, 4, count);
  return to % 4 == 0 ? copy_now(&copy, false) : EMU_INVALID_VALUE;
}

CALL(cuMemsetD32Async, uint64_t to, unsigned value, size_t count, void *stream)
{
  const emu_op_copy copy = fill(to, value, 4, count);
  return to % 4 == 0 ? copy_on(&copy, stream) : EMU_INVALID_VALUE;
}
