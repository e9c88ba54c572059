/* SPDX-License-Identifier: Apache-2.0 */
/* flock that ends. LOCK_NB does not wait for another holder, but the call itself can wait for ever for a lock service
 * that does not answer (a network file system, a FUSE mount), so a thread of its own makes it. */
#ifndef SJ_FILE_LOCK_H
#define SJ_FILE_LOCK_H

#include "os.h"

/* One flock(*fd_inout, operation | LOCK_NB) within bound_ms. 0; EWOULDBLOCK (another holds it); ETIME: no answer, and
 * the descriptor is no longer the caller's but that thread's, which closes it when it gets one: *fd_inout is -1; else
 * flock's errno, or ENOMEM when there is no thread to be had (not EAGAIN, which is EWOULDBLOCK: nobody holds it). */
int sj_file_lock_try(const sj_os *os, int *fd_inout, int operation, unsigned bound_ms);

#endif
