/* SPDX-License-Identifier: Apache-2.0 */
/* One builder per key across processes: an advisory flock on "<digest>.lock" in the store's folder, which the kernel
 * releases when its holder dies. The holder's pid and host stand in the file, so that a waiter can say for whom. */
#ifndef SJ_STORE_LOCK_H
#define SJ_STORE_LOCK_H

#include "store.h"

typedef struct sj_store_lock {
  int fd; /* -1: not held; work goes on and may compile twice */
} sj_store_lock;

/* Waits at most wait_ms; says for whom it waits (info after 1 s, warning when it gives up). Never an error: a lock that
 * cannot be had costs a duplicate compile and is counted. waited_out: another process held it meanwhile, so look
 * in the store again. Uses nothing when the store is absent or read-only. */
void sj_store_lock_take(sj_store *store, const sj_key *key, unsigned wait_ms, sj_store_lock *lock_out,
                        bool *waited_out);
void sj_store_lock_release(sj_store *store, sj_store_lock *lock);

#endif
