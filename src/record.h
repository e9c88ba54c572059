/* SPDX-License-Identifier: Apache-2.0 */
/* The configurations an application asked for, one text line each (swa_jit_config_to_text), appended to a file with one
 * O_APPEND write a line, so that processes may share it. swa-jit-warm --from reads it. */
#ifndef SJ_RECORD_H
#define SJ_RECORD_H

#include "log.h"
#include "os.h"
#include "status.h"

/* Appends config's line. Trouble is a warning in the log, never a failure. */
void sj_record_add(const sj_os *os, const sj_log *log, const char *path, const swa_jit_config *config);

#endif
