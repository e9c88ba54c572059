/* SPDX-License-Identifier: Apache-2.0 */
/* A file that comes under its name whole, or not at all. Until then it has no name where the file system can do that,
 * so that whoever is killed leaves nothing; else one of its own beside the wanted one, which a later call removes. */
#ifndef WARM_NEW_FILE_H
#define WARM_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>

#define WARM_NEW_FILE_PREFIX ".swa-jit-export-" /* and 16 hexadecimal digits */

typedef struct warm_new_file {
  FILE *file; /* to be written to */
  char *wanted;
  char *temporary; /* NULL: the file has no name yet */
} warm_new_file;

/* wanted: where it shall come; what is there is replaced. Removes what calls like this one left in the same folder when
 * they were killed: files of this user with such a name that nobody has locked, not written to for ten minutes. False
 * with errno. */
bool warm_new_file_open(const char *wanted, warm_new_file *made_out);

/* The same, always with a name of its own. */
bool warm_new_file_open_named(const char *wanted, warm_new_file *made_out);

/* Syncs it and brings it under its name; 0, or the errno of what failed. The struct is finished in either case. */
int warm_new_file_commit(warm_new_file *made);

/* Instead of that: nothing is left. Nothing is done after a commit. */
void warm_new_file_discard(warm_new_file *made);

#endif
