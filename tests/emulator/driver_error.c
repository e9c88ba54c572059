/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

typedef struct error_row {
  int number;
  const char *name, *text;
} error_row;

#define ROW(number, name, text)                                                                                        \
  {                                                                                                                    \
    number, "CUDA_" name, text                                                                                         \
  }

static const error_row rows[] = {
    ROW(0, "SUCCESS", "no error"),
    ROW(1, "ERROR_INVALID_VALUE", "an argument is not in its range"),
    ROW(2, "ERROR_OUT_OF_MEMORY", "out of memory"),
    ROW(3, "ERROR_NOT_INITIALIZED", "cuInit was not called"),
    ROW(34, "ERROR_STUB_LIBRARY", "this libcuda is a stub"),
    ROW(36, "ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver"),
    ROW(100, "ERROR_NO_DEVICE", "there is no device"),
    ROW(101, "ERROR_INVALID_DEVICE", "there is no device of this number"),
    ROW(200, "ERROR_INVALID_IMAGE", "the image is none"),
    ROW(201, "ERROR_INVALID_CONTEXT", "no context is current, or it is no more"),
    ROW(209, "ERROR_NO_BINARY_FOR_GPU", "the image holds no code for this device"),
    ROW(214, "ERROR_ECC_UNCORRECTABLE", "memory error"),
    ROW(218, "ERROR_INVALID_PTX", "the PTX cannot be compiled"),
    ROW(222, "ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is of a newer version than this driver knows"),
    ROW(300, "ERROR_INVALID_SOURCE", "the source of the kernel is invalid"),
    ROW(304, "ERROR_OPERATING_SYSTEM", "a call to the system failed"),
    ROW(400, "ERROR_INVALID_HANDLE", "a handle is of nothing that exists"),
    ROW(401, "ERROR_ILLEGAL_STATE", "the object is not in the state for this call"),
    ROW(500, "ERROR_NOT_FOUND", "there is nothing of this name"),
    ROW(600, "ERROR_NOT_READY", "the work has not ended yet"),
    ROW(700, "ERROR_ILLEGAL_ADDRESS", "a kernel accessed memory that is not its own"),
    ROW(701, "ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch needs more than a multiprocessor has"),
    ROW(702, "ERROR_LAUNCH_TIMEOUT", "a kernel did not end"),
    ROW(708, "ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use"),
    ROW(709, "ERROR_CONTEXT_IS_DESTROYED", "the context was destroyed"),
    ROW(714, "ERROR_HARDWARE_STACK_ERROR", "a kernel's stack is broken"),
    ROW(715, "ERROR_ILLEGAL_INSTRUCTION", "a kernel executed an illegal instruction"),
    ROW(716, "ERROR_MISALIGNED_ADDRESS", "a kernel accessed a misaligned address"),
    ROW(717, "ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address of another space"),
    ROW(718, "ERROR_INVALID_PC", "a kernel left its code"),
    ROW(719, "ERROR_LAUNCH_FAILED", "a kernel failed"),
    ROW(721, "ERROR_TENSOR_MEMORY_LEAK", "a kernel did not free its tensor memory"),
    ROW(800, "ERROR_NOT_PERMITTED", "not permitted"),
    ROW(801, "ERROR_NOT_SUPPORTED", "not supported"),
    ROW(900, "ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted while a stream is captured"),
    ROW(901, "ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was broken by an earlier call"),
    ROW(902, "ERROR_STREAM_CAPTURE_MERGE", "two captures would become one"),
    ROW(903, "ERROR_STREAM_CAPTURE_UNMATCHED", "the capture began in another stream"),
    ROW(904, "ERROR_STREAM_CAPTURE_UNJOINED", "a stream that was forked in the capture was not joined"),
    ROW(905, "ERROR_STREAM_CAPTURE_ISOLATION", "a captured stream would depend on one that is not"),
    ROW(906, "ERROR_STREAM_CAPTURE_IMPLICIT", "the default stream would become part of a capture"),
    ROW(907, "ERROR_CAPTURED_EVENT", "the event was recorded in a capture"),
    ROW(908, "ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture began in another thread"),
    ROW(910, "ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph cannot be updated so"),
    ROW(912, "ERROR_INVALID_CLUSTER_SIZE", "the device cannot run clusters of this size"),
    ROW(999, "ERROR_UNKNOWN", "unknown error"),
};

enum { NUM_ROWS = sizeof rows / sizeof rows[0], REASON_SIZE = 4096 };

static _Thread_local int reason_result;
static _Thread_local char reason[REASON_SIZE];
static _Thread_local char whole[REASON_SIZE + 128];

int emu_fail(int result, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  reason_result = result;
  return result;
}

const char *emu_fail_reason(int result)
{
  return result == reason_result ? reason : "";
}

int emu_error_is_sticky(int result)
{
  return (result >= EMU_ILLEGAL_ADDRESS && result <= 799 && result != EMU_LAUNCH_OUT_OF_RESOURCES
          && result != EMU_PRIMARY_CONTEXT_ACTIVE && result != EMU_CONTEXT_IS_DESTROYED);
}

static const error_row *find_row(int result)
{
  for (unsigned i = 0; i < NUM_ROWS; i++) {
    if (rows[i].number == result) {
      return &rows[i];
    }
  }
  return NULL;
}

CALL(cuGetErrorName, int result, const char **name)
{
  const error_row *row = find_row(result);
  if (name == NULL) {
    return EMU_INVALID_VALUE;
  }
  *name = row != NULL ? row->name : NULL;
  return row != NULL ? EMU_OK : EMU_INVALID_VALUE;
}

/* The text and the reason, which lives until this thread asks again. */
CALL(cuGetErrorString, int result, const char **text)
{
  const error_row *row = find_row(result);
  if (text == NULL) {
    return EMU_INVALID_VALUE;
  }
  *text = row != NULL ? row->text : NULL;
  if (row != NULL && emu_fail_reason(result)[0] != '\0') {
    snprintf(whole, sizeof whole, "%s: %s", row->text, reason);
    *text = whole;
  }
  return row != NULL ? EMU_OK : EMU_INVALID_VALUE;
}
