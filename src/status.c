/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include <stdio.h>
#include <string.h>

/* The only writable data of the library. text is this thread's last message; is_memory says that the static one
 * counts. */
static _Thread_local struct {
  int is_memory;
  char text[SJ_MESSAGE_SIZE];
} message;

const char *sj_status_name(swa_jit_status status)
{
  switch (status) {
  case SWA_JIT_OK:
    return "SWA_JIT_OK";
  case SWA_JIT_INVALID:
    return "SWA_JIT_INVALID";
  case SWA_JIT_UNSUPPORTED:
    return "SWA_JIT_UNSUPPORTED";
  case SWA_JIT_NEWER:
    return "SWA_JIT_NEWER";
  case SWA_JIT_OUT_OF_MEMORY:
    return "SWA_JIT_OUT_OF_MEMORY";
  case SWA_JIT_NO_DRIVER:
    return "SWA_JIT_NO_DRIVER";
  case SWA_JIT_NO_DEVICE:
    return "SWA_JIT_NO_DEVICE";
  case SWA_JIT_WRONG_DEVICE:
    return "SWA_JIT_WRONG_DEVICE";
  case SWA_JIT_NO_COMPILER:
    return "SWA_JIT_NO_COMPILER";
  case SWA_JIT_COMPILE_FAILED:
    return "SWA_JIT_COMPILE_FAILED";
  case SWA_JIT_CUDA_ERROR:
    return "SWA_JIT_CUDA_ERROR";
  case SWA_JIT_STORE_ERROR:
    return "SWA_JIT_STORE_ERROR";
  }
  return "unknown status";
}

swa_jit_status sj_fail(swa_jit_status status, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  sj_fail_va(status, format, arguments);
  va_end(arguments);
  return status;
}

swa_jit_status sj_fail_va(swa_jit_status status, const char *format, va_list arguments)
{
  /* Formatted aside first: an argument may be this thread's present message, which the new one quotes. */
  char text[SJ_MESSAGE_SIZE];
  if (vsnprintf(text, sizeof text, format, arguments) < 0) {
    text[0] = '\0';
  }
  memcpy(message.text, text, strlen(text) + 1);
  message.is_memory = 0;
  return status;
}

swa_jit_status sj_fail_memory(void)
{
  message.is_memory = 1;
  return SWA_JIT_OUT_OF_MEMORY;
}

const char *sj_message(void)
{
  return message.is_memory ? "out of host memory: an allocation failed; free memory and call again" : message.text;
}

void sj_message_keep(sj_kept_message *kept)
{
  const char *text = sj_message();
  memcpy(kept->text, text, strlen(text) + 1);
}

swa_jit_status sj_message_restore(swa_jit_status status, const sj_kept_message *kept)
{
  if (status == SWA_JIT_OK) {
    memcpy(message.text, kept->text, strlen(kept->text) + 1);
    message.is_memory = 0;
  }
  return status;
}
