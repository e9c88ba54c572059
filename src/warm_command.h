/* SPDX-License-Identifier: Apache-2.0 */
/* What to type where an entry is missing: the swa-jit-warm command that makes it. Pure. */
#ifndef SJ_WARM_COMMAND_H
#define SJ_WARM_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "swa_jit/swa_jit.h"

#define SJ_WARM_COMMAND_SIZE 3072 /* of a message, in which other words stand, too */

/* "Make it with: echo 'arch=... head_dim=...' | swa-jit-warm --from - --cache-dir '...'", quoted for a POSIX shell;
 * is_ptx: with SWA_JIT_USE_PTX=1 before the tool. folder: absolute; NULL: there is none to write to, and the text says
 * where one is named. A folder that does not fit in text_size is left out, as a command that was cut would do something
 * else. */
void sj_warm_command_make(const swa_jit_config *config, bool is_ptx, const char *folder, char *text, size_t text_size);

#endif
