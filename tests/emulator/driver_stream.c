/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "driver.h"

enum {
  NON_BLOCKING = 1,
  LEGACY_HANDLE = 1,
  THREAD_HANDLE = 2,
  EVENT_DISABLE_TIMING = 2,
  EVENT_KNOWN_FLAGS = 7, /* blocking sync, disable timing, interprocess */
  GREATEST_PRIORITY = -5
};

/* ---- streams ---------------------------------------------------------------------------------------------- */

emu_stream *emu_stream_find(emu_context *context, const void *handle)
{
  const uintptr_t number = (uintptr_t)handle;
  if (number == 0 || number == LEGACY_HANDLE) {
    return context->default_stream;
  }
  return number == THREAD_HANDLE ? context->thread_stream : emu_object_find(EMU_STREAM, handle);
}

emu_stream *emu_stream_make(emu_context *context)
{
  emu_stream *stream = emu_object_make(EMU_STREAM, sizeof *stream);
  if (stream != NULL) {
    stream->context = context;
    stream->end = &stream->first;
  }
  return stream;
}

void emu_stream_destroy(emu_stream *stream)
{
  while (stream->first != NULL) {
    emu_op *op = stream->first;
    stream->first = op->next;
    emu_op_free(op);
  }
  emu_object_retire(stream);
}

/* Enters, and finds the stream. */
static int enter_stream(void *handle, emu_context **context_out, emu_stream **stream_out)
{
  int result = emu_enter_context(context_out);
  if (result != EMU_OK) {
    return result;
  }
  *stream_out = emu_stream_find(*context_out, handle);
  return *stream_out != NULL ? EMU_OK : emu_leave(emu_fail(EMU_INVALID_HANDLE, "the stream %p does not exist", handle));
}

/* As enter_stream, for a call that waits: refused in a capture, which it breaks. */
static int enter_waiting(void *handle, emu_stream **stream_out)
{
  emu_context *context = NULL;
  int result = enter_stream(handle, &context, stream_out);
  if (result == EMU_OK && (*stream_out)->capture != NULL) {
    (*stream_out)->capture->is_broken = true;
    return emu_leave(EMU_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

static int create_stream(void **stream_out, unsigned flags, int priority)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  if (stream_out == NULL || (flags & ~(unsigned)NON_BLOCKING) != 0) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  emu_stream *stream = emu_stream_make(context);
  if (stream == NULL) {
    return emu_leave(EMU_OUT_OF_MEMORY);
  }
  stream->is_non_blocking = (flags & NON_BLOCKING) != 0;
  stream->priority = priority > 0 ? 0 : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
  *stream_out = stream;
  return emu_leave(EMU_OK);
}

CALL(cuStreamCreate, void **stream, unsigned flags)
{
  return create_stream(stream, flags, 0);
}

CALL(cuStreamCreateWithPriority, void **stream, unsigned flags, int priority)
{
  return create_stream(stream, flags, priority);
}

CALL(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  if (least != NULL) {
    *least = 0;
  }
  if (greatest != NULL) {
    *greatest = GREATEST_PRIORITY;
  }
  return emu_leave(EMU_OK);
}

/* What stands there still runs: a destroyed stream lives until its work has ended. */
CALL(cuStreamDestroy_v2, void *handle)
{
  emu_context *context = NULL;
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &context, &stream);
  if (result != EMU_OK) {
    return result;
  }
  if (stream == context->default_stream || stream == context->thread_stream) {
    return emu_leave(EMU_INVALID_HANDLE);
  }
  result = emu_stream_finish(stream);
  emu_stream_destroy(stream);
  return emu_leave(result);
}

CALL(cuStreamSynchronize, void *handle)
{
  emu_stream *stream = NULL;
  int result = enter_waiting(handle, &stream);
  if (result != EMU_OK) {
    return result;
  }
  return emu_leave(stream->is_default ? emu_default_finish(stream->context) : emu_stream_finish(stream));
}

/* Each question lets one operation end. */
CALL(cuStreamQuery, void *handle)
{
  emu_stream *stream = NULL;
  int result = enter_waiting(handle, &stream);
  if (result != EMU_OK) {
    return result;
  }
  if (emu_stream_run_one(stream, &result) && result == EMU_OK && stream->first != NULL) {
    result = EMU_NOT_READY;
  }
  return emu_leave(result);
}

CALL(cuStreamGetCtx, void *handle, void **context_out)
{
  emu_context *context = NULL;
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &context, &stream);
  if (result != EMU_OK) {
    return result;
  }
  if (context_out == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *context_out = stream->context;
  return emu_leave(EMU_OK);
}

CALL(cuStreamGetFlags, void *handle, unsigned *flags)
{
  emu_context *context = NULL;
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &context, &stream);
  if (result != EMU_OK) {
    return result;
  }
  if (flags == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *flags = stream->is_non_blocking ? NON_BLOCKING : 0;
  return emu_leave(EMU_OK);
}

CALL(cuStreamGetPriority, void *handle, int *priority)
{
  emu_context *context = NULL;
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &context, &stream);
  if (result != EMU_OK) {
    return result;
  }
  if (priority == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *priority = stream->priority;
  return emu_leave(EMU_OK);
}

CALL(cuLaunchHostFunc, void *handle, void (*call)(void *data), void *data)
{
  emu_context *context = NULL;
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &context, &stream);
  if (result != EMU_OK) {
    return result;
  }
  if (call == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  emu_op *op = emu_op_make(EMU_OP_HOST);
  if (op != NULL) {
    op->of.host.call = call;
    op->of.host.data = data;
  }
  return emu_leave(emu_stream_add(stream, op));
}

/* ---- events ----------------------------------------------------------------------------------------------- */

CALL(cuEventCreate, void **event_out, unsigned flags)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  if (event_out == NULL || (flags & ~(unsigned)EVENT_KNOWN_FLAGS) != 0) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  emu_event *event = emu_object_make(EMU_EVENT, sizeof *event);
  if (event == NULL) {
    return emu_leave(EMU_OUT_OF_MEMORY);
  }
  event->context = context;
  event->has_timing = (flags & EVENT_DISABLE_TIMING) == 0;
  *event_out = event;
  return emu_leave(EMU_OK);
}

static int enter_event(void *handle, emu_event **event_out)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  *event_out = emu_object_find(EMU_EVENT, handle);
  return *event_out != NULL ? EMU_OK : emu_leave(emu_fail(EMU_INVALID_HANDLE, "the event %p does not exist", handle));
}

CALL(cuEventDestroy_v2, void *handle)
{
  emu_event *event = NULL;
  int result = enter_event(handle, &event);
  if (result != EMU_OK) {
    return result;
  }
  emu_object_retire(event);
  return emu_leave(EMU_OK);
}

static int record(emu_event *event, emu_stream *stream)
{
  if (stream->context != event->context) {
    return emu_fail(EMU_INVALID_HANDLE, "the event and the stream are of two contexts");
  }
  emu_op *op = emu_op_make(EMU_OP_RECORD);
  if (op != NULL) {
    op->of.mark.event_id = event->object.id;
  }
  int result = emu_stream_add(stream, op);
  if (result == EMU_OK) {
    event->is_recorded = stream->capture == NULL;
    event->stream_id = stream->object.id;
    event->capture_id = stream->capture != NULL ? stream->capture->object.id : 0;
    event->order = stream->capture != NULL ? stream->num_captured : op->order;
  }
  return result;
}

CALL(cuEventRecord, void *handle, void *stream_handle)
{
  emu_event *event = NULL;
  int result = enter_event(handle, &event);
  if (result != EMU_OK) {
    return result;
  }
  emu_stream *stream = emu_stream_find(emu_current(), stream_handle);
  return emu_leave(stream != NULL ? record(event, stream) : EMU_INVALID_HANDLE);
}

CALL(cuEventRecordWithFlags, void *handle, void *stream, unsigned flags)
{
  return flags == 0 ? cuEventRecord(handle, stream) : EMU_NOT_SUPPORTED;
}

/* Runs until the event has happened. */
static int finish_event(emu_event *event)
{
  emu_stream *stream = event->stream_id != 0 ? emu_object_find_id(EMU_STREAM, event->stream_id) : NULL;
  return stream != NULL ? emu_stream_run_to(stream, event->order) : EMU_OK;
}

CALL(cuEventSynchronize, void *handle)
{
  emu_event *event = NULL;
  int result = enter_event(handle, &event);
  if (result != EMU_OK) {
    return result;
  }
  return emu_leave(event->capture_id != 0 ? EMU_CAPTURED_EVENT : finish_event(event));
}

CALL(cuEventQuery, void *handle)
{
  emu_event *event = NULL;
  int result = enter_event(handle, &event);
  if (result != EMU_OK) {
    return result;
  }
  if (event->capture_id != 0) {
    return emu_leave(EMU_CAPTURED_EVENT);
  }
  emu_stream *stream = event->stream_id != 0 ? emu_object_find_id(EMU_STREAM, event->stream_id) : NULL;
  if (stream != NULL && emu_stream_run_one(stream, &result) && result == EMU_OK && event->stream_id != 0) {
    result = EMU_NOT_READY;
  }
  return emu_leave(result);
}

static int measure(float *milliseconds, const emu_event *begin, const emu_event *end)
{
  if (begin == NULL || end == NULL || milliseconds == NULL) {
    return milliseconds != NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE;
  }
  if (!begin->has_timing || !end->has_timing || !begin->is_recorded || !end->is_recorded) {
    return emu_fail(EMU_INVALID_HANDLE, "an event was not recorded, or was made without timing");
  }
  if (begin->stream_id != 0 || end->stream_id != 0) {
    return EMU_NOT_READY;
  }
  *milliseconds = 1e-6f * (float)((double)end->ns - (double)begin->ns);
  return EMU_OK;
}

CALL(cuEventElapsedTime, float *milliseconds, void *begin, void *end)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK
             ? emu_leave(measure(milliseconds, emu_object_find(EMU_EVENT, begin), emu_object_find(EMU_EVENT, end)))
             : result;
}

CALL(cuEventElapsedTime_v2, float *milliseconds, void *begin, void *end)
{
  return cuEventElapsedTime(milliseconds, begin, end);
}

/* ---- what a stream waits for ------------------------------------------------------------------------------ */

/* A stream that waits for an event of a capture becomes part of it. */
static int wait_in_capture(emu_stream *stream, const emu_event *event)
{
  emu_graph *graph = emu_object_find_id(EMU_GRAPH, event->capture_id);
  if (graph == NULL || !graph->is_open) {
    return emu_fail(EMU_CAPTURED_EVENT, "the capture has ended");
  }
  if (stream->capture != NULL && stream->capture != graph) {
    return emu_fail(EMU_STREAM_CAPTURE_MERGE, "the event is of another capture than the stream");
  }
  emu_stream *awaited = emu_object_find_id(EMU_STREAM, event->stream_id);
  if (stream->capture == NULL) {
    stream->capture = graph;
    stream->num_captured = 0;
    stream->is_capture_joined = false;
  } else if (awaited != NULL && awaited->num_captured == event->order) {
    awaited->is_capture_joined = true;
  }
  return EMU_OK;
}

static int wait_for(emu_stream *stream, const emu_event *event)
{
  if (event->capture_id != 0) {
    return wait_in_capture(stream, event);
  }
  if (stream->capture != NULL) {
    stream->capture->is_broken = true;
    return emu_fail(EMU_STREAM_CAPTURE_ISOLATION, "the event was recorded outside the capture");
  }
  if (!event->is_recorded || event->stream_id == 0) {
    return EMU_OK;
  }
  emu_op *op = emu_op_make(EMU_OP_WAIT);
  if (op != NULL) {
    op->of.mark.stream_id = event->stream_id;
    op->of.mark.order = event->order;
  }
  return emu_stream_add(stream, op);
}

CALL(cuStreamWaitEvent, void *handle, void *event_handle, unsigned flags)
{
  emu_context *context = NULL;
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &context, &stream);
  if (result != EMU_OK) {
    return result;
  }
  const emu_event *event = emu_object_find(EMU_EVENT, event_handle);
  if (event == NULL || flags > 1) {
    return emu_leave(event == NULL ? EMU_INVALID_HANDLE : EMU_INVALID_VALUE);
  }
  return emu_leave(wait_for(stream, event));
}
