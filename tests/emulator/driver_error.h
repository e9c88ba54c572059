/* SPDX-License-Identifier: Apache-2.0 */
/* CUresult: the vendor's numbers, cuda.h of CUDA 13.0, of those that are returned here and not by the machine too. */
#ifndef EMU_DRIVER_ERROR_H
#define EMU_DRIVER_ERROR_H

#include "machine.h"

enum {
  EMU_NOT_INITIALIZED = 3,
  EMU_NO_DEVICE = 100,
  EMU_INVALID_DEVICE = 101,
  EMU_INVALID_IMAGE = 200,
  EMU_INVALID_CONTEXT = 201,
  EMU_UNSUPPORTED_PTX_VERSION = 222,
  EMU_INVALID_HANDLE = 400,
  EMU_ILLEGAL_STATE = 401,
  EMU_NOT_READY = 600,
  EMU_PRIMARY_CONTEXT_ACTIVE = 708,
  EMU_CONTEXT_IS_DESTROYED = 709,
  EMU_HARDWARE_STACK_ERROR = 714,
  EMU_INVALID_PC = 718,
  EMU_NOT_PERMITTED = 800,
  EMU_NOT_SUPPORTED = 801,
  EMU_STREAM_CAPTURE_UNSUPPORTED = 900,
  EMU_STREAM_CAPTURE_INVALIDATED = 901,
  EMU_STREAM_CAPTURE_MERGE = 902,
  EMU_STREAM_CAPTURE_UNMATCHED = 903,
  EMU_STREAM_CAPTURE_UNJOINED = 904,
  EMU_STREAM_CAPTURE_ISOLATION = 905,
  EMU_STREAM_CAPTURE_IMPLICIT = 906,
  EMU_CAPTURED_EVENT = 907,
  EMU_STREAM_CAPTURE_WRONG_THREAD = 908,
  EMU_UNKNOWN = 999
};

/* Returns result with a reason of this thread, which cuGetErrorString appends to the result's text until another
 * failure gives its own. */
int emu_fail(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The reason of the last emu_fail of that result in this thread; "". */
const char *emu_fail_reason(int result);
/* Whether this is an error of a kernel, which stays with its context. */
int emu_error_is_sticky(int result);

#endif
