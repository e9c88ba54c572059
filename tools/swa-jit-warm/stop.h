/* SPDX-License-Identifier: Apache-2.0 */
/* A signal that asks the tool to stop (SIGINT, SIGTERM, SIGHUP) is noted, and heeded where nothing is half done. */
#ifndef WARM_STOP_H
#define WARM_STOP_H

/* From here on those signals no longer end the process. One that was ignored stays ignored, as under nohup. */
void warm_stop_begin(void);

/* In a worker process: they are the parent's to heed. */
void warm_stop_ignore(void);

/* How many came, and the first of them; 0: none. */
int warm_stop_count(void);
int warm_stop_signal(void);

#endif
