/* SPDX-License-Identifier: Apache-2.0 */
/* Status names and this thread's message. Called by every stage that can fail. */
#ifndef SJ_STATUS_H
#define SJ_STATUS_H

#include <stdarg.h>

#include "swa_jit/swa_jit.h"

/* swa_jit_status_name. */
const char *sj_status_name(swa_jit_status status);

/* Records the message for this thread and returns status, so that code and reason cannot part:
 *   return sj_fail(SWA_JIT_INVALID, "head_dim is %u: use one of ...", head_dim);
 * The message says the value, the limit and the remedy. Longer ones are cut at SJ_MESSAGE_SIZE - 1 bytes. */
#define SJ_MESSAGE_SIZE 4096
swa_jit_status sj_fail(swa_jit_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
swa_jit_status sj_fail_va(swa_jit_status status, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Out of memory has a static message and allocates nothing. */
swa_jit_status sj_fail_memory(void);

/* The thread's message; never NULL. */
const char *sj_message(void);

/* A call that succeeds leaves the message, also when a stage of it failed and was overcome: such a call keeps the
 * message at its start and restores it at its end, which is done when status is OK. Returns status. */
typedef struct sj_kept_message {
  char text[SJ_MESSAGE_SIZE];
} sj_kept_message;
void sj_message_keep(sj_kept_message *kept);
swa_jit_status sj_message_restore(swa_jit_status status, const sj_kept_message *kept);

#endif
