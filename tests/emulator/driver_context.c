/* SPDX-License-Identifier: Apache-2.0 */
/* A context holds streams, events, modules and allocations, and the error that a kernel left in it. */
#include <string.h>

#include "driver.h"

enum { API_VERSION = 3020 };

static emu_context *primary;

/* ---- making and destroying -------------------------------------------------------------------------------- */

emu_context *emu_context_make(unsigned flags)
{
  emu_context *context = emu_object_make(EMU_CONTEXT, sizeof *context);
  if (context == NULL) {
    return NULL;
  }
  context->flags = flags;
  context->default_stream = emu_stream_make(context);
  context->thread_stream = emu_stream_make(context);
  if (context->default_stream == NULL || context->thread_stream == NULL) {
    emu_context_destroy(context);
    return NULL;
  }
  context->default_stream->is_default = true;
  return context;
}

static void destroy_stream(void *object, void *data)
{
  emu_stream *stream = object;
  if (stream->context == data) {
    emu_stream_destroy(stream);
  }
}

static void destroy_event(void *object, void *data)
{
  if (((emu_event *)object)->context == data) {
    emu_object_retire(object);
  }
}

int emu_context_destroy(emu_context *context)
{
  int result = context->error == EMU_OK ? emu_context_finish(context) : EMU_OK;
  emu_object_each(EMU_STREAM, destroy_stream, context);
  emu_object_each(EMU_EVENT, destroy_event, context);
  emu_module_drop_context(context->object.id);
  emu_memory_drop_context(context->object.id);
  emu_object_retire(context);
  return emu_error_is_sticky(result) ? EMU_OK : result;
}

static int create(void **context_out, unsigned flags, int device)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (device != 0) {
    return emu_leave(EMU_INVALID_DEVICE);
  }
  if (context_out == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  emu_context *context = emu_context_make(flags);
  if (context == NULL) {
    return emu_leave(EMU_OUT_OF_MEMORY);
  }
  *context_out = context;
  return emu_leave(emu_current_push(context));
}

CALL(cuCtxCreate_v2, void **context, unsigned flags, int device)
{
  return create(context, flags, device);
}

CALL(cuCtxCreate_v3, void **context, const void *affinity, int num_affinities, unsigned flags, int device)
{
  return affinity == NULL && num_affinities == 0 ? create(context, flags, device) : EMU_NOT_SUPPORTED;
}

CALL(cuCtxCreate_v4, void **context, const void *params, unsigned flags, int device)
{
  return params == NULL ? create(context, flags, device) : EMU_NOT_SUPPORTED;
}

CALL(cuCtxDestroy_v2, void *handle)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  emu_context *context = emu_object_find(EMU_CONTEXT, handle);
  if (context == NULL || context->is_primary) {
    return emu_leave(EMU_INVALID_CONTEXT);
  }
  if (context == emu_current()) {
    emu_current_pop();
  }
  return emu_leave(emu_context_destroy(context));
}

/* ---- the primary one -------------------------------------------------------------------------------------- */

CALL(cuDevicePrimaryCtxRetain, void **context, int device)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (device != 0 || context == NULL) {
    return emu_leave(device != 0 ? EMU_INVALID_DEVICE : EMU_INVALID_VALUE);
  }
  if (primary == NULL) {
    primary = emu_context_make(0);
    if (primary == NULL) {
      return emu_leave(EMU_OUT_OF_MEMORY);
    }
    primary->is_primary = true;
  }
  primary->num_retained++;
  *context = primary;
  return emu_leave(EMU_OK);
}

static int end_primary(void)
{
  emu_context *ended = primary;
  primary = NULL;
  return ended != NULL ? emu_context_destroy(ended) : EMU_OK;
}

CALL(cuDevicePrimaryCtxRelease_v2, int device)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (device != 0) {
    return emu_leave(EMU_INVALID_DEVICE);
  }
  if (primary == NULL) {
    return emu_leave(EMU_INVALID_CONTEXT);
  }
  return emu_leave(--primary->num_retained == 0 ? end_primary() : EMU_OK);
}

CALL(cuDevicePrimaryCtxReset_v2, int device)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  return emu_leave(device != 0 ? EMU_INVALID_DEVICE : end_primary());
}

CALL(cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *is_active)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (device != 0 || flags == NULL || is_active == NULL) {
    return emu_leave(device != 0 ? EMU_INVALID_DEVICE : EMU_INVALID_VALUE);
  }
  *flags = primary != NULL ? primary->flags : 0;
  *is_active = primary != NULL;
  return emu_leave(EMU_OK);
}

/* ---- the current one -------------------------------------------------------------------------------------- */

static int change_current(void *handle, int (*change)(emu_context *context))
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  emu_context *context = emu_object_find(EMU_CONTEXT, handle);
  if (handle != NULL && context == NULL) {
    return emu_leave(EMU_INVALID_CONTEXT);
  }
  return emu_leave(change(context));
}

CALL(cuCtxSetCurrent, void *context)
{
  return change_current(context, emu_current_set);
}

CALL(cuCtxPushCurrent_v2, void *context)
{
  return context != NULL ? change_current(context, emu_current_push) : EMU_INVALID_CONTEXT;
}

CALL(cuCtxPopCurrent_v2, void **context_out)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  emu_context *context = emu_current_pop();
  if (context != NULL && context_out != NULL) {
    *context_out = context;
  }
  return emu_leave(context != NULL ? EMU_OK : EMU_INVALID_CONTEXT);
}

CALL(cuCtxGetCurrent, void **context)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (context == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *context = emu_current();
  return emu_leave(EMU_OK);
}

CALL(cuCtxGetId, void *handle, unsigned long long *id)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  const emu_context *context = handle != NULL ? emu_object_find(EMU_CONTEXT, handle) : emu_current();
  if (context == NULL) {
    return emu_leave(handle != NULL ? EMU_CONTEXT_IS_DESTROYED : EMU_INVALID_CONTEXT);
  }
  if (id == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *id = context->object.id;
  return emu_leave(EMU_OK);
}

CALL(cuCtxGetDevice, int *device)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  if (emu_current() == NULL || device == NULL) {
    return emu_leave(device != NULL ? EMU_INVALID_CONTEXT : EMU_INVALID_VALUE);
  }
  *device = 0;
  return emu_leave(EMU_OK);
}

CALL(cuCtxGetApiVersion, void *handle, unsigned *version)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  const emu_context *context = handle != NULL ? emu_object_find(EMU_CONTEXT, handle) : emu_current();
  if (context == NULL || version == NULL) {
    return emu_leave(context == NULL ? EMU_INVALID_CONTEXT : EMU_INVALID_VALUE);
  }
  *version = API_VERSION;
  return emu_leave(EMU_OK);
}

CALL(cuCtxGetFlags, unsigned *flags)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  if (flags == NULL) {
    return emu_leave(EMU_INVALID_VALUE);
  }
  *flags = context->flags;
  return emu_leave(EMU_OK);
}

CALL(cuCtxSynchronize, void)
{
  emu_context *context = NULL;
  int result = emu_enter_context(&context);
  if (result != EMU_OK) {
    return result;
  }
  result = emu_capture_guard();
  return emu_leave(result == EMU_OK ? emu_context_finish(context) : result);
}
