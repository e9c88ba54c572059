/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of plain files in the pax interchange format (POSIX.1-2017, pax), which tar, bsdtar and Python read: ustar
 * headers, and an extended one before a name longer than 100 bytes. The reader also takes GNU's long names. It takes
 * no links, folders, devices or sparse files, and no archive without its end. */
#ifndef SJ_TAR_H
#define SJ_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SJ_TAR_NAME_SIZE = 1024, SJ_TAR_PROBLEM_SIZE = 256 };

/* One file, of mode 0644 and nobody's name. The name: at most SJ_TAR_NAME_SIZE - 1 bytes. False when file has an
 * error. */
bool sj_tar_write(FILE *file, const char *name, int64_t made_s, const void *bytes, size_t count);
/* What stands behind the last file. */
bool sj_tar_write_end(FILE *file);

typedef struct sj_tar_reader { /* zero but for file */
  FILE *file;
  uint64_t left;                     /* bytes of the present file that were not read */
  unsigned padding;                  /* behind them */
  char problem[SJ_TAR_PROBLEM_SIZE]; /* what is wrong with the archive */
} sj_tar_reader;

typedef struct sj_tar_member {
  char name[SJ_TAR_NAME_SIZE];
  uint64_t size;
} sj_tar_member;

typedef enum sj_tar_result {
  SJ_TAR_MEMBER, /* a file: read it, or go on to the next */
  SJ_TAR_END,    /* the archive's end, and nothing but zeros behind it */
  SJ_TAR_WRONG   /* reader->problem says what */
} sj_tar_result;

sj_tar_result sj_tar_next(sj_tar_reader *reader, sj_tar_member *member_out);

/* Whether an archive may begin with these bytes. Of fewer than a header's it is not known: true. */
bool sj_tar_may_begin(const void *bytes, size_t count);

/* The whole of the present file: member.size bytes. False, with a problem, where the archive ends before. */
bool sj_tar_read(sj_tar_reader *reader, void *bytes);

#endif
