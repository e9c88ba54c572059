/* SPDX-License-Identifier: Apache-2.0 */
/* A capture becomes a list of operations in the order in which they were put on its streams, which keeps every order
 * that the streams and events ask for. A replay puts copies of them on a stream. */
#include <stdlib.h>

#include "driver.h"

enum { MODE_GLOBAL = 0, MODE_RELAXED = 2, STATUS_NONE = 0, STATUS_ACTIVE = 1, STATUS_INVALIDATED = 2 };

static emu_graph *make_graph(emu_kind kind)
{
  emu_graph *graph = emu_object_make(kind, sizeof *graph);
  if (graph != NULL) {
    graph->end = &graph->first;
  }
  return graph;
}

static void destroy_graph(emu_graph *graph)
{
  while (graph->first != NULL) {
    emu_op *op = graph->first;
    graph->first = op->next;
    emu_op_free(op);
  }
  emu_object_retire(graph);
}

/* ---- capture ---------------------------------------------------------------------------------------------- */

static int enter_stream(void *handle, emu_stream **stream_out)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  *stream_out = emu_stream_find(context, handle);
  return *stream_out != NULL ? EMU_OK : emu_leave(EMU_INVALID_HANDLE);
}

static int begin_capture(emu_stream *stream, int mode)
{
  if (mode < MODE_GLOBAL || mode > MODE_RELAXED) {
    return EMU_INVALID_VALUE;
  }
  if (stream->is_default) {
    return emu_fail(EMU_STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot be captured");
  }
  if (stream->capture != NULL) {
    stream->capture->is_broken = true;
    return emu_fail(EMU_STREAM_CAPTURE_UNSUPPORTED, "the stream is captured already");
  }
  stream->capture = make_graph(EMU_GRAPH);
  if (stream->capture == NULL) {
    return EMU_OUT_OF_MEMORY;
  }
  stream->capture->is_open = true;
  stream->capture->mode = mode;
  stream->capture->thread = pthread_self();
  stream->is_capture_origin = true;
  stream->num_captured = 0;
  return EMU_OK;
}

CALL(cuStreamBeginCapture_v2, void *handle, int mode)
{
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &stream);
  return result == EMU_OK ? emu_leave(begin_capture(stream, mode)) : result;
}

/* *data: whether one was found. */
static void break_capture(void *object, void *data)
{
  emu_graph *graph = object;
  const bool is_own = pthread_equal(graph->thread, pthread_self()) != 0;
  if (graph->is_open && (graph->mode == MODE_GLOBAL || (is_own && graph->mode != MODE_RELAXED))) {
    graph->is_broken = true;
    *(bool *)data = true;
  }
}

int emu_capture_guard(void)
{
  bool is_found = false;
  emu_object_each(EMU_GRAPH, break_capture, &is_found);
  return is_found ? emu_fail(EMU_STREAM_CAPTURE_UNSUPPORTED, "a capture is under way, which this call breaks") : EMU_OK;
}

typedef struct ending {
  const emu_graph *graph;
  bool is_unjoined;
} ending;

static void release_stream(void *object, void *data)
{
  emu_stream *stream = object;
  ending *self = data;
  if (stream->capture == self->graph) {
    self->is_unjoined = self->is_unjoined || (!stream->is_capture_origin && !stream->is_capture_joined);
    stream->capture = NULL;
    stream->is_capture_origin = false;
  }
}

static int end_capture(emu_stream *stream, void **graph_out)
{
  emu_graph *graph = stream->capture;
  if (graph_out == NULL) {
    return EMU_INVALID_VALUE;
  }
  if (graph == NULL) {
    return emu_fail(EMU_ILLEGAL_STATE, "the stream is not captured");
  }
  if (!stream->is_capture_origin) {
    return EMU_STREAM_CAPTURE_UNMATCHED;
  }
  ending self = {graph, false};
  emu_object_each(EMU_STREAM, release_stream, &self);
  graph->is_open = false;
  *graph_out = NULL;
  if (graph->is_broken || self.is_unjoined) {
    int result = graph->is_broken ? EMU_STREAM_CAPTURE_INVALIDATED : EMU_STREAM_CAPTURE_UNJOINED;
    destroy_graph(graph);
    return result;
  }
  *graph_out = graph;
  return EMU_OK;
}

CALL(cuStreamEndCapture, void *handle, void **graph_out)
{
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &stream);
  return result == EMU_OK ? emu_leave(end_capture(stream, graph_out)) : result;
}

static int tell_status(const emu_stream *stream, int *status, unsigned long long *id)
{
  if (status == NULL) {
    return EMU_INVALID_VALUE;
  }
  *status = stream->capture == NULL ? STATUS_NONE : stream->capture->is_broken ? STATUS_INVALIDATED : STATUS_ACTIVE;
  if (id != NULL && stream->capture != NULL) {
    *id = stream->capture->object.id;
  }
  return EMU_OK;
}

CALL(cuStreamIsCapturing, void *handle, int *status)
{
  emu_stream *stream = NULL;
  int result = enter_stream(handle, &stream);
  return result == EMU_OK ? emu_leave(tell_status(stream, status, NULL)) : result;
}

CALL(cuStreamGetCaptureInfo_v2, void *handle, int *status, unsigned long long *id, void **graph,
     const void *const **dependencies, size_t *num_dependencies)
{
  emu_stream *stream = NULL;
  if (graph != NULL || dependencies != NULL || num_dependencies != NULL) {
    return EMU_NOT_SUPPORTED;
  }
  int result = enter_stream(handle, &stream);
  return result == EMU_OK ? emu_leave(tell_status(stream, status, id)) : result;
}

/* Captures are told by their stream, so that the mode changes nothing. */
CALL(cuThreadExchangeStreamCaptureMode, int *mode)
{
  static _Thread_local int current = MODE_GLOBAL;
  if (mode == NULL || *mode < MODE_GLOBAL || *mode > MODE_RELAXED) {
    return EMU_INVALID_VALUE;
  }
  const int before = current;
  current = *mode;
  *mode = before;
  return EMU_OK;
}

/* ---- graphs ----------------------------------------------------------------------------------------------- */

static bool copy_ops(const emu_graph *from, emu_graph *to)
{
  for (const emu_op *op = from->first; op != NULL; op = op->next) {
    emu_op *copy = emu_op_copy_of(op);
    if (copy == NULL) {
      return false;
    }
    *to->end = copy;
    to->end = &copy->next;
  }
  return true;
}

static int instantiate(void **exec_out, const emu_graph *graph)
{
  if (graph == NULL || exec_out == NULL) {
    return EMU_INVALID_VALUE;
  }
  emu_graph *exec = make_graph(EMU_GRAPH_EXEC);
  if (exec == NULL || !copy_ops(graph, exec)) {
    if (exec != NULL) {
      destroy_graph(exec);
    }
    return EMU_OUT_OF_MEMORY;
  }
  *exec_out = exec;
  return EMU_OK;
}

CALL(cuGraphInstantiateWithFlags, void **exec_out, void *graph, unsigned long long flags)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  (void)flags; /* of uploads, priorities and launches by kernels */
  return result == EMU_OK ? emu_leave(instantiate(exec_out, emu_object_find(EMU_GRAPH, graph))) : result;
}

static int launch(const emu_graph *exec, emu_stream *stream)
{
  int result = exec != NULL && stream != NULL ? EMU_OK : EMU_INVALID_HANDLE;
  bool is_first = true;
  for (const emu_op *op = result == EMU_OK ? exec->first : NULL; op != NULL && result == EMU_OK; op = op->next) {
    emu_op *copy = emu_op_copy_of(op);
    if (copy != NULL && is_first && copy->kind == EMU_OP_LAUNCH) {
      copy->of.launch.is_dependent = false; /* what stands before it is no part of the graph */
    }
    is_first = false;
    result = emu_stream_add(stream, copy);
  }
  return result;
}

CALL(cuGraphLaunch, void *exec, void *stream)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK ? emu_leave(launch(emu_object_find(EMU_GRAPH_EXEC, exec), emu_stream_find(context, stream)))
                          : result;
}

CALL(cuGraphUpload, void *exec, void *stream)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  return result == EMU_OK
             ? emu_leave(emu_object_find(EMU_GRAPH_EXEC, exec) != NULL && emu_stream_find(context, stream) != NULL
                             ? EMU_OK
                             : EMU_INVALID_HANDLE)
             : result;
}

static int destroy(emu_kind kind, void *handle)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  emu_graph *graph = emu_object_find(kind, handle);
  if (graph == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  destroy_graph(graph);
  return emu_leave(EMU_OK);
}

CALL(cuGraphDestroy, void *graph)
{
  return destroy(EMU_GRAPH, graph);
}

CALL(cuGraphExecDestroy, void *exec)
{
  return destroy(EMU_GRAPH_EXEC, exec);
}

CALL(cuGraphGetNodes, void *handle, void **nodes, size_t *num_nodes)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  const emu_graph *graph = emu_object_find(EMU_GRAPH, handle);
  if (graph == NULL || num_nodes == NULL || nodes != NULL) {
    return emu_leave(nodes != NULL ? EMU_NOT_SUPPORTED : EMU_INVALID_VALUE);
  }
  *num_nodes = 0;
  for (const emu_op *op = graph->first; op != NULL; op = op->next) {
    *num_nodes += op->kind != EMU_OP_RECORD && op->kind != EMU_OP_WAIT;
  }
  return emu_leave(EMU_OK);
}
