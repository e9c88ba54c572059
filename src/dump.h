/* SPDX-License-Identifier: Apache-2.0 */
/* Files for people beside a compile, in the folder of the dump_dir option. */
#ifndef SJ_DUMP_H
#define SJ_DUMP_H

#include "key.h"
#include "log.h"
#include "os.h"

/* Writes folder/<the entry's file name with ending in place of .cubin>. Trouble is a warning in the log, never a
 * failure. folder NULL: nothing is wanted; bytes NULL: nothing is there. */
void sj_dump_write(const sj_os *os, const sj_log *log, const char *folder, const sj_key *key, const char *ending,
                   const void *bytes, size_t count);

#endif
