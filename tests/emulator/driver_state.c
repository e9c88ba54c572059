/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

enum { MAX_DEPTH = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const emu_device *device; /* NULL before cuInit */
static emu_object *objects;
static uint64_t last_id;

/* By number, so that a context that was destroyed is noticed. */
static _Thread_local uint64_t context_stack[MAX_DEPTH];
static _Thread_local int context_depth;

/* ---- calls ------------------------------------------------------------------------------------------------ */

static int leave_at_once(int result)
{
  pthread_mutex_unlock(&mutex);
  return result;
}

int emu_enter(void)
{
  pthread_mutex_lock(&mutex);
  return device != NULL ? EMU_OK : leave_at_once(EMU_NOT_INITIALIZED);
}

int emu_enter_context(emu_context **context_out)
{
  int result = emu_enter();
  if (result != EMU_OK) {
    return result;
  }
  *context_out = emu_current();
  if (*context_out == NULL) {
    return leave_at_once(context_depth > 0 && context_stack[context_depth - 1] != 0 ? EMU_CONTEXT_IS_DESTROYED
                                                                                    : EMU_INVALID_CONTEXT);
  }
  if ((*context_out)->error != EMU_OK) {
    return leave_at_once(emu_fail((*context_out)->error, "%s", (*context_out)->report));
  }
  return EMU_OK;
}

int emu_leave(int result)
{
  return leave_at_once(result);
}

static uint64_t read_number(const char *name, uint64_t if_none)
{
  const char *text = getenv(name);
  return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : if_none;
}

CALL(cuInit, unsigned flags)
{
  int result = EMU_OK;
  pthread_mutex_lock(&mutex);
  if (flags != 0) {
    result = EMU_INVALID_VALUE;
  } else if (device == NULL) {
    const char *name = getenv("SWA_JIT_EMULATOR_DEVICE");
    name = name != NULL && *name != '\0' ? name : "sm_90a";
    device = emu_device_find(name);
    if (device == NULL) {
      result = emu_fail(EMU_NO_DEVICE, "SWA_JIT_EMULATOR_DEVICE is \"%s\": use sm_80, sm_90a, sm_100a or sm_190", name);
    } else {
      const emu_settings settings = {read_number("SWA_JIT_EMULATOR_SEED", 1),
                                     (unsigned)read_number("SWA_JIT_EMULATOR_THREADS", 0)};
      emu_configure(&settings);
    }
  }
  return leave_at_once(result);
}

const emu_device *emu_state_device(void)
{
  return device;
}

/* ---- objects ---------------------------------------------------------------------------------------------- */

void *emu_object_make(emu_kind kind, size_t size)
{
  emu_object *made = calloc(1, size);
  if (made != NULL) {
    *made = (emu_object){kind, ++last_id, objects};
    objects = made;
  }
  return made;
}

void *emu_object_find(emu_kind kind, const void *handle)
{
  for (emu_object *each = objects; each != NULL && handle != NULL; each = each->next) {
    if (each == handle) {
      return each->kind == kind ? each : NULL;
    }
  }
  return NULL;
}

void *emu_object_find_id(emu_kind kind, uint64_t id)
{
  for (emu_object *each = objects; each != NULL; each = each->next) {
    if (each->id == id) {
      return each->kind == kind ? each : NULL;
    }
  }
  return NULL;
}

void emu_object_retire(void *object)
{
  for (emu_object **place = &objects; *place != NULL; place = &(*place)->next) {
    if (*place == object) {
      *place = (*place)->next;
      free(object);
      return;
    }
  }
}

void emu_object_each(emu_kind kind, void (*each)(void *object, void *data), void *data)
{
  emu_object *next = NULL;
  for (emu_object *at = objects; at != NULL; at = next) {
    next = at->next;
    if (at->kind == kind) {
      each(at, data);
    }
  }
}

/* ---- the thread's contexts -------------------------------------------------------------------------------- */

emu_context *emu_current(void)
{
  return context_depth > 0 ? emu_object_find_id(EMU_CONTEXT, context_stack[context_depth - 1]) : NULL;
}

int emu_current_push(emu_context *context)
{
  if (context_depth == MAX_DEPTH) {
    return emu_fail(EMU_OUT_OF_MEMORY, "%d contexts are on this thread's stack already", MAX_DEPTH);
  }
  context_stack[context_depth++] = context != NULL ? context->object.id : 0;
  return EMU_OK;
}

int emu_current_set(emu_context *context)
{
  if (context_depth > 0) {
    context_depth--;
  }
  return context != NULL ? emu_current_push(context) : EMU_OK;
}

emu_context *emu_current_pop(void)
{
  emu_context *context = emu_current();
  if (context != NULL) {
    context_depth--;
  }
  return context;
}

/* ---- odds ------------------------------------------------------------------------------------------------- */

uint64_t emu_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
