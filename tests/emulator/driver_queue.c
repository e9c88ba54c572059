/* SPDX-License-Identifier: Apache-2.0 */
/* Work runs in the order of its stream when somebody waits for it. A stream that blocks also keeps its order with the
 * default stream: each operation there runs behind all that were put on such streams before it, and before all that
 * come after it. Streams that do not block keep no order but what events ask for. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { MOST_CHAIN = 8 };

static uint64_t last_order;

/* ---- operations ------------------------------------------------------------------------------------------- */

emu_op *emu_op_make(emu_op_kind kind)
{
  emu_op *op = calloc(1, sizeof *op);
  if (op != NULL) {
    op->kind = kind;
  }
  return op;
}

emu_op *emu_op_copy_of(const emu_op *op)
{
  emu_op *copy = malloc(sizeof *copy);
  const size_t bytes = op->kind == EMU_OP_LAUNCH ? op->of.launch.launch.params_size : op->of.copy.bytes;
  if (copy == NULL) {
    return NULL;
  }
  *copy = *op;
  copy->next = NULL;
  if (op->owned != NULL) {
    copy->owned = malloc(bytes + 1);
    if (copy->owned == NULL) {
      free(copy);
      return NULL;
    }
    memcpy(copy->owned, op->owned, bytes);
    if (op->kind == EMU_OP_LAUNCH) {
      copy->of.launch.launch.params = copy->owned;
    } else {
      copy->of.copy.from_host = copy->owned;
    }
  }
  if (op->kind == EMU_OP_LAUNCH) {
    copy->of.launch.library->num_users++;
  }
  return copy;
}

void emu_op_free(emu_op *op)
{
  if (op != NULL && op->kind == EMU_OP_LAUNCH && op->of.launch.library != NULL) {
    op->of.launch.library->num_users--;
    emu_library_release(op->of.launch.library);
  }
  if (op != NULL) {
    free(op->owned);
    free(op);
  }
}

/* Puts it behind the others of a list. */
static void append(emu_op ***end, emu_op *op)
{
  op->next = NULL;
  **end = op;
  *end = &op->next;
}

static int add_to_graph(emu_stream *stream, emu_op *op)
{
  if (stream->capture->is_broken) {
    emu_op_free(op);
    return EMU_STREAM_CAPTURE_INVALIDATED;
  }
  append(&stream->capture->end, op);
  stream->num_captured++;
  stream->is_capture_joined = false;
  return EMU_OK;
}

int emu_stream_add(emu_stream *stream, emu_op *op)
{
  if (op == NULL) {
    return EMU_OUT_OF_MEMORY;
  }
  if (stream->capture != NULL) {
    return add_to_graph(stream, op);
  }
  op->order = ++last_order;
  append(&stream->end, op);
  return EMU_OK;
}

/* ---- running ---------------------------------------------------------------------------------------------- */

static void record(uint64_t event_id, uint64_t order)
{
  emu_event *event = emu_object_find_id(EMU_EVENT, event_id);
  if (event != NULL && event->order == order) {
    event->ns = emu_now_ns();
    event->stream_id = 0;
  }
}

static int execute(emu_op *const *chain, unsigned count)
{
  emu_op *op = chain[0];
  switch (op->kind) {
  case EMU_OP_LAUNCH:
    return emu_launch_execute(chain, count);
  case EMU_OP_COPY:
    return emu_copy_execute(&op->of.copy);
  case EMU_OP_FILL:
    return emu_fill_execute(&op->of.copy);
  case EMU_OP_RECORD:
    record(op->of.mark.event_id, op->order);
    return EMU_OK;
  case EMU_OP_HOST:
    op->of.host.call(op->of.host.data);
    return EMU_OK;
  default:
    return EMU_OK;
  }
}

static emu_op *take_first(emu_stream *stream)
{
  emu_op *op = stream->first;
  stream->first = op->next;
  if (stream->first == NULL) {
    stream->end = &stream->first;
  }
  return op;
}

/* The first operation, and the launches behind it that may begin before the one before them has ended. */
static unsigned take_chain(emu_stream *stream, emu_op *chain[MOST_CHAIN])
{
  unsigned count = 0;
  do {
    chain[count++] = take_first(stream);
  } while (count < MOST_CHAIN && chain[0]->kind == EMU_OP_LAUNCH && stream->first != NULL
           && stream->first->kind == EMU_OP_LAUNCH && stream->first->of.launch.is_dependent);
  return count;
}

typedef struct ordering {
  const emu_context *context;
  uint64_t order;
  int result;
} ordering;

/* Runs what stands on a blocking stream before an order. */
static void run_blocking(void *object, void *data)
{
  emu_stream *stream = object;
  ordering *self = data;
  if (stream->context == self->context && !stream->is_default && !stream->is_non_blocking && self->result == EMU_OK) {
    self->result = emu_stream_run_to(stream, self->order);
  }
}

/* Runs what has to come before an operation of the stream. */
static int run_before(emu_stream *stream, const emu_op *op)
{
  int result = EMU_OK;
  if (stream->is_default) {
    ordering self = {stream->context, op->order - 1, EMU_OK};
    emu_object_each(EMU_STREAM, run_blocking, &self);
    result = self.result;
  } else if (!stream->is_non_blocking) {
    result = emu_stream_run_to(stream->context->default_stream, op->order - 1);
  }
  emu_stream *awaited =
      op->kind == EMU_OP_WAIT && result == EMU_OK ? emu_object_find_id(EMU_STREAM, op->of.mark.stream_id) : NULL;
  return awaited != NULL && awaited != stream ? emu_stream_run_to(awaited, op->of.mark.order) : result;
}

bool emu_stream_run_one(emu_stream *stream, int *result_out)
{
  emu_op *chain[MOST_CHAIN];
  if (stream->first == NULL) {
    return false;
  }
  *result_out = run_before(stream, stream->first);
  if (*result_out != EMU_OK || stream->first == NULL) {
    return true;
  }
  const unsigned count = take_chain(stream, chain);
  /* After a fault nothing runs in the context any more. */
  *result_out = stream->context->error == EMU_OK ? execute(chain, count) : stream->context->error;
  if (emu_error_is_sticky(*result_out) && stream->context->error == EMU_OK) {
    stream->context->error = *result_out;
    strncpy(stream->context->report, emu_fail_reason(*result_out), sizeof stream->context->report - 1);
  }
  for (unsigned i = 0; i < count; i++) {
    emu_op_free(chain[i]);
  }
  return true;
}

int emu_stream_run_to(emu_stream *stream, uint64_t order)
{
  int result = EMU_OK;
  while (result == EMU_OK && stream->first != NULL && stream->first->order <= order) {
    emu_stream_run_one(stream, &result);
  }
  return result;
}

int emu_stream_finish(emu_stream *stream)
{
  return emu_stream_run_to(stream, UINT64_MAX);
}

static void finish_each(void *object, void *data)
{
  emu_stream *stream = object;
  ordering *self = data;
  if (stream->context == self->context && self->result == EMU_OK) {
    self->result = emu_stream_finish(stream);
  }
}

int emu_context_finish(emu_context *context)
{
  ordering self = {context, UINT64_MAX, EMU_OK};
  emu_object_each(EMU_STREAM, finish_each, &self);
  return self.result;
}

int emu_default_finish(emu_context *context)
{
  ordering self = {context, UINT64_MAX, EMU_OK};
  emu_object_each(EMU_STREAM, run_blocking, &self);
  return self.result == EMU_OK ? emu_stream_finish(context->default_stream) : self.result;
}
