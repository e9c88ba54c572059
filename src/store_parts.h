/* SPDX-License-Identifier: Apache-2.0 */
/* What store.c (folders, finding, setting aside), store_entry.c (reading), store_miss.c (why a key missed) and
 * store_publish.c (writing) share. */
#ifndef SJ_STORE_PARTS_H
#define SJ_STORE_PARTS_H

#include "store.h"

/* Names in the folder beside entries and locks: a writer's unfinished file, and an entry set aside. */
#define SJ_TEMPORARY_PREFIX ".tmp-"
#define SJ_SET_ASIDE_MARK ".bad-"
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

/* num_digits (at most SJ_TEMPORARY_DIGITS) random hexadecimal digits and a zero; false with errno. */
bool sj_store_make_random_hex(const sj_os *os, size_t num_digits, char *hex_out);

/* Which lines of the key differ from those of the entry most like it, in any folder. For an absent entry only. */
void sj_store_explain_miss(sj_store *store, const sj_key *key, char *reason, size_t reason_size);

#endif
