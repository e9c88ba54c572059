/* SPDX-License-Identifier: Apache-2.0 */
/* Work shared out to processes of this program. Not threads: two threads that compile in one process take turns at
 * times, and did 1.4 times the work of one. A worker that dies costs the piece that it had, and no more. */
#ifndef WARM_CREW_H
#define WARM_CREW_H

#include <stddef.h>

enum { WARM_REPLY_SIZE = 16 * 1024 };

typedef struct warm_crew_calls {
  /* In a worker: does a piece, and fills the reply; returns its bytes, 1 to WARM_REPLY_SIZE. */
  size_t (*work)(void *data, size_t piece, void *reply);
  /* In this process, whenever a piece is done. */
  void (*take_reply)(void *data, size_t piece, const void *reply, size_t reply_bytes);
  /* In this process: the worker that had the piece is gone; why tells how. */
  void (*take_death)(void *data, size_t piece, const char *why);
  /* In this process, once, when a signal came (stop.h) and pieces are under way. */
  void (*tell_stop)(void *data, size_t num_under_way);
} warm_crew_calls;

/* Does the pieces, in their order, by num_workers processes, or in this one where the system gives none. After a signal
 * no piece is begun; those under way are waited for, unless it takes five seconds or another signal comes. Pieces that
 * were not begun, or that a stop cut short, get no call. The caller has no other thread. */
void warm_crew_run(size_t num_workers, const size_t *pieces, size_t num_pieces, const warm_crew_calls *calls,
                   void *data);

#endif
