/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles that failed, remembered for a while in the folder that is written ("<entry's name less .cubin>.failed"), so
 * that many processes do not make the same one each. Only failures that the source caused are kept: what is wrong with
 * an installation may be cured at any time. Nothing here ever fails: what cannot be kept or read is compiled again. */
#ifndef SJ_STORE_FAILURE_H
#define SJ_STORE_FAILURE_H

#include "store_parts.h"

/* Keeps it for an hour, for this key (so for this template and these options) and this NVRTC. */
void sj_store_keep_failure(sj_store *store, const sj_key *key, uint32_t nvrtc_version, const char *message,
                           const char *log);

/* COMPILE_FAILED with the kept message and where the compiler's log lies; OK when nothing is remembered. *log_out: the
 * log, malloc'd; NULL where nothing is remembered or memory is short. */
swa_jit_status sj_store_find_failure(sj_store *store, const sj_key *key, uint32_t nvrtc_version, char **log_out);

/* Reads a kept failure of that name. *bytes_out: malloc'd, what *view_out points into. *expires_s_out: when it counts
 * no more, in seconds since 1970; 0: it does not count. BAD: it is no such file, whole and unchanged. */
sj_verdict sj_store_read_failure(sj_store *store, const char *name, sj_failure_view *view_out, void **bytes_out,
                                 int64_t *expires_s_out, sj_reading *reading_out);

/* After a compile that succeeded. */
void sj_store_forget_failure(sj_store *store, const sj_key *key);

#endif
