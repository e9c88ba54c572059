/* SPDX-License-Identifier: Apache-2.0 */
/* What store.c (folders, finding, setting aside), store_entry.c (reading), store_miss.c (why a key missed) and
 * store_publish.c (writing) share. */
#ifndef SJ_STORE_PARTS_H
#define SJ_STORE_PARTS_H

#include "store.h"

/* Names in the folder beside entries and locks: a writer's unfinished file, and an entry set aside. */
#define SJ_TEMPORARY_PREFIX ".tmp-"
#define SJ_SET_ASIDE_MARK ".bad-"
#define SJ_FAILURE_ENDING ".failed"                         /* in place of .cubin: a compile that failed */
enum { SJ_TEMPORARY_DIGITS = 32, SJ_SET_ASIDE_DIGITS = 8 }; /* random hexadecimal digits in these names */

typedef enum sj_verdict {
  SJ_VERDICT_USABLE,
  SJ_VERDICT_ABSENT,
  SJ_VERDICT_BAD,            /* there, and not what it should be: to be set aside */
  SJ_VERDICT_UNREADABLE,     /* the system would not say what is there */
  SJ_VERDICT_OTHER_COMPILER, /* valid, and not asked for */
  SJ_VERDICT_NO_MEMORY
} sj_verdict;

typedef struct sj_reading {
  bool was_opened;
  struct stat status;          /* of the opened file */
  char reason[SJ_REASON_SIZE]; /* when not usable */
} sj_reading;

/* Opens a file of the folder for reading if it is one that an entry could be. reading_out: zeroed by the caller. */
sj_verdict sj_store_open_entry(sj_store *store, const char *name, int *fd_out, sj_reading *reading_out);

/* Reads what the key's name means in one folder, and verifies it. */
sj_verdict sj_store_read_entry(sj_store *store, const sj_key *key, uint32_t nvrtc_version, sj_entry *entry_out,
                               sj_reading *reading_out);

/* Sets the reason and returns the verdict. */
sj_verdict sj_store_judge(sj_reading *reading_out, sj_verdict verdict, const char *reason);

/* The level for a line about a name: a warning the first time, debug afterwards. */
uint32_t sj_store_tell_once(sj_store *store, const char *name);

/* Renames what cannot be used, so that it is rebuilt and a person can look at it. Trouble leaves it: publish will
 * replace it. */
void sj_store_set_aside_file(sj_store *store, const char *name, const sj_reading *reading);

/* A listing of the folder, with a position of its own; closedir it. NULL with errno. */
DIR *sj_store_list(sj_store *store);

/* Brings whole bytes under a name in one step; NULL, or the step that failed, with errno and no temporary left. */
const char *sj_store_write_file(sj_store *store, const char *name, const void *bytes, size_t count);

/* Gives a file that this process made to whom the folder's rules say: its group, where a group shares the store; its
 * owner, where root makes files in another user's folder. */
void sj_store_give(const sj_store *store, int fd);

/* Whether a file of that name is a writer's unfinished one. */
bool sj_store_is_temporary(const char *name);

/* One attempt at a lock of an opened file of the store: sj_file_lock_try, and once a lock service did not answer, ETIME
 * at once ever after, so that it costs one wait. Tells it once. */
int sj_store_flock(sj_store *store, int *fd_inout, int operation, unsigned bound_ms);

/* Whether a file of that name is an entry that was set aside. */
bool sj_store_is_set_aside(const char *name);

/* Whether a file of that name is a remembered failure of a compile. */
bool sj_store_is_failure(const char *name);

/* Opens a file that is there to be locked (flags: O_CREAT or 0), if it is a plain one that only those may write whom
 * the store trusts, and has no second name: what is written to it must not reach another file. -1 with errno. */
int sj_store_open_lock_file(sj_store *store, const char *name, int flags);

/* Whether the opened file still has that name: a cleaner may have removed it. True when that cannot be told. */
bool sj_store_is_named(sj_store *store, int fd, const char *name);

/* Removes an entry, set aside or not, as trimming does: its lock goes with it. status: of the file that is meant. 0,
 * EWOULDBLOCK when it is in use, being built or another one by now, or the errno of what forbids it. */
int sj_store_evict(sj_store *store, char *name, const struct stat *status);

/* Whether the folder was removed under this program, and making it anew under the same descriptor: false with errno. */
bool sj_store_folder_is_gone(const sj_store *store);
bool sj_store_make_folder_again(sj_store *store);

/* While a writer has a temporary file. Nothing here is needed for a write to succeed. */
typedef struct sj_writing {
  int fd;           /* -1: not announced */
  bool has_trouble; /* to be set by whoever may have left a temporary file */
} sj_writing;
sj_writing sj_store_begin_writing(sj_store *store);
void sj_store_end_writing(sj_store *store, sj_writing *writing);

/* Removes the temporary files that dead writers left, if any did. */
void sj_store_clear_dead_writers(sj_store *store);

/* After an entry of so many bytes was published: removes what crashed writers left and what was set aside long ago, and
 * evicts the least recently used files while all of them are above limit_bytes. The new entry tells the time: its
 * change time is the file system's clock, which need not be this machine's. Does nothing while a look at the folder was
 * made lately and found room for much more. Trouble is left to the next writer. */
void sj_store_trim(sj_store *store, const char *new_entry, uint64_t entry_bytes);

/* num_digits (at most SJ_TEMPORARY_DIGITS) random hexadecimal digits and a zero; false with errno. */
bool sj_store_make_random_hex(const sj_os *os, size_t num_digits, char *hex_out);

/* Which lines of the key differ from those of the entry most like it, in any folder. For an absent entry only. */
void sj_store_explain_miss(sj_store *store, const sj_key *key, char *reason, size_t reason_size);

#endif
